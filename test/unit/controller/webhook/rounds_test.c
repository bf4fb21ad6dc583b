/* SPDX-License-Identifier: Apache-2.0 */
/* Policies in the admission webhook: rounds of questions to the API server, and the check of what
 * was set. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "test/support/suite.h"
#include "test/support/webhook_answers.h"

static struct webhook_fixture fixture;

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    memset(&fixture, 0, sizeof fixture);
}

static char *review_in(const char *target, const char *namespace)
{
    return webhook_ask(&fixture, target, namespace);
}

/* ---- Safety ---- */

/* A review of a Widget that has labels when mutation is over: members of a JSON text. */
static char *review_labelled(const char *target, const char *labels)
{
    EK_AUTOFREE char *plain = webhook_review("ns", "u-1");
    const char *at = strstr(plain, "},\"spec\"");
    EK_AUTOFREE char *body =
        ek_xasprintf("%.*s,\"labels\":{%s}%s", (int)(at - plain), plain, labels, at);

    return webhook_exchange(&fixture, target, body);
}

#define FAILING "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.nothing == 1\"}]"

START_TEST(safety)
{
    static const struct {
        const char *name, *extra, *labels;
        size_t n;
        bool allowed;
        const char *want;
    } rows[] = {
        {"no policy", NULL, "", 0, true, ""},
        {"what was set is there", NULL, "\"p0\":\"x\"", 1, true, ""},
        {"it is gone", NULL, "", 1, false,
         "policy 'p0' with binding 'b0' denied request: spec.mutations[0]: what it set has been "
         "changed (safety Exact): /metadata/labels/p0: expected \"x\", found nothing"},
        {"another value", NULL, "\"p0\":\"y\"", 1, false,
         "/metadata/labels/p0: expected \"x\", found \"y\""},
        {"that of the second", NULL, "\"p0\":\"x\"", 2, false, "policy 'p1' with binding 'b1'"},
        {"a condition that is false",
         "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"false\"}]", "", 1, true, ""},
        {"a check that fails", FAILING, "", 1, false, "its safety cannot be checked"},
        {"failures ignored", "\"failurePolicy\":\"Ignore\"," FAILING, "", 1, true, ""},
    };

    webhook_fixture_start(&fixture, 2, true, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        webhook_fixture_publish(&fixture, webhook_snapshot(rows[i].n, rows[i].extra));
        EK_AUTOFREE char *answer = review_labelled("/validate?timeout=30s", rows[i].labels);
        webhook_expect_review(answer, rows[i].allowed, rows[i].want);
    }
    EK_AUTOFREE char *unknown = review_in("/validate/other", "ns");
    ck_assert_int_eq(webhook_status(unknown), 503);
    webhook_expect_metric(
        &fixture,
        "controller_runtime_webhook_requests_total{webhook=\"/validate\",code=\"200\"} 8");
    webhook_expect_metric(&fixture,
                          "evenkeel_mutating_admission_policy_safety_denials_total{policy=\"p0\","
                          "policy_binding=\"b0\"} 3");
    webhook_expect_metric(&fixture,
                          "evenkeel_mutating_admission_policy_safety_denials_total{policy=\"p1\","
                          "policy_binding=\"b1\"} 1");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Questions ---- */

static const char *refuse(const char *path, const char *body, int *ret_status)
{
    (void)path;
    (void)body;
    (void)ret_status;
    return "{\"status\":{\"allowed\":false}}";
}

static const char *break_down(const char *path, const char *body, int *ret_status)
{
    (void)path;
    (void)body;
    *ret_status = 500;
    return NULL;
}

START_TEST(access_is_asked_for)
{
    static const struct {
        const char *name;
        const char *(*answer)(const char *path, const char *body, int *ret_status);
        const char *want;
        unsigned asked; /* for three requests */
    } rows[] = {
        {"allowed", webhook_allow, "p0", 1},
        {"refused", refuse, "", 1},
        {"errors are not remembered", break_down, "", 3},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        setup();
        fixture.answer = rows[i].answer;
        webhook_fixture_start(&fixture, 1, true, 0);
        webhook_fixture_publish(&fixture, webhook_snapshot(1, WEBHOOK_MAY_GET));
        for (int n = 0; n < 3; n++) {
            EK_AUTOFREE char *answer = review_in("/mutate", "ns");
            webhook_expect_review(answer, true, rows[i].want);
        }
        ck_assert_msg(atomic_load(&fixture.asked) == rows[i].asked, "%s: asked %u times",
                      rows[i].name, atomic_load(&fixture.asked));
        webhook_fixture_stop(&fixture);
    }
}
END_TEST

/* Two checks, one after the other, which the second policy asks for as well; and once more, from
 * memory, in the other endpoint. */
START_TEST(rounds)
{
    fixture.answer = webhook_allow;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(
        &fixture, webhook_snapshot(2, "\"matchConditions\":[{\"name\":\"c\",\"expression\":"
                                      "\"['a','b'].all(n, authorizer.group(n).resource('pods')"
                                      ".namespace('ns').check('get').allowed())\"}]"));
    EK_AUTOFREE char *checked = review_labelled("/validate", "\"p0\":\"x\"");
    webhook_expect_review(checked, false, "policy 'p1'");
    ck_assert_uint_eq(atomic_load(&fixture.asked), 2);
    EK_AUTOFREE char *answer = review_in("/mutate", "ns");
    webhook_expect_review(answer, true, "p1");
    ck_assert_uint_eq(atomic_load(&fixture.asked), 2);
    webhook_fixture_stop(&fixture);
}
END_TEST

static const char *find_namespace(const char *path, const char *body, int *ret_status)
{
    (void)body;
    if (!strcmp(path, "/api/v1/namespaces/new"))
        return "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"new\"}}";
    *ret_status = 404;
    return NULL;
}

START_TEST(namespaces_are_fetched)
{
    fixture.answer = find_namespace;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    EK_AUTOFREE char *known = review_in("/mutate", "ns");
    webhook_expect_review(known, true, "p0");
    ck_assert_uint_eq(atomic_load(&fixture.asked), 0);
    EK_AUTOFREE char *fetched = review_in("/mutate", "new");
    webhook_expect_review(fetched, true, "p0");
    EK_AUTOFREE char *absent = review_in("/mutate", "absent");
    webhook_expect_review(absent, false, "namespaces \"absent\" not found");
    ck_assert_uint_eq(atomic_load(&fixture.asked), 2);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* A Namespace that cannot be read is an error of ours, not one that is not there; and it is asked
 * for again the next time. */
START_TEST(unreadable_namespace)
{
    fixture.answer = break_down;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    for (unsigned i = 1; i <= 2; i++) {
        EK_AUTOFREE char *answer = review_in("/mutate", "new");
        webhook_expect_review(answer, false, "policy 'p0' cannot read namespace \"new\"");
        ck_assert_ptr_nonnull(strstr(answer, "\"code\":500"));
        ck_assert_uint_eq(atomic_load(&fixture.asked), i);
    }
    webhook_fixture_publish(&fixture, webhook_snapshot(1, "\"failurePolicy\":\"Ignore\""));
    EK_AUTOFREE char *ignored = review_in("/mutate", "new");
    webhook_expect_review(ignored, true, "");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* What will be there soon is worth another try, which API servers make; what is not is an error. */
START_TEST(schemas_that_are_being_read)
{
    struct ek_webhook_snapshot *early = webhook_snapshot_early(1, NULL);
    struct ek_webhook_snapshot *enough = webhook_snapshot(1, NULL);

    ek_webhook_snapshot_set_loading(early);
    ek_webhook_snapshot_set_loading(enough);
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, early);
    EK_AUTOFREE char *again = review_in("/mutate", "ns");
    ck_assert_int_eq(webhook_status(again), 503);
    ck_assert_ptr_nonnull(strstr(again, "\r\nRetry-After: 1\r\n"));
    EK_AUTOFREE char *check = review_in("/validate", "ns");
    ck_assert_int_eq(webhook_status(check), 503);
    webhook_fixture_publish(&fixture, enough);
    EK_AUTOFREE char *known = review_in("/mutate", "ns");
    webhook_expect_review(known, true, "p0");
    webhook_fixture_publish(&fixture, webhook_snapshot_early(1, NULL));
    EK_AUTOFREE char *unknown = review_in("/mutate", "ns");
    webhook_expect_review(unknown, false, "Kind=Widget not found");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* Equal questions of several requests travel together, and a client that has left does no harm. */
START_TEST(questions_are_shared)
{
    struct webhook_client clients[4];
    EK_AUTOFREE char *review = webhook_review("ns", "u-1");
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     strlen(review), review);

    webhook_fixture_start(&fixture, 2, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, WEBHOOK_MAY_GET));
    for (size_t i = 0; i < EK_ARRAY_SIZE(clients); i++) {
        ck_assert(webhook_connect(&fixture, &clients[i]));
        ck_assert(webhook_send(&clients[i], request, strlen(request)));
    }
    webhook_fixture_wait_held(&fixture, 1);
    webhook_disconnect(&clients[0]);
    for (size_t i = 1; i < EK_ARRAY_SIZE(clients);) {
        /* Whoever comes late asks again, or finds the answer. */
        webhook_fixture_answer_held(&fixture, 200, "{\"status\":{\"allowed\":true}}");
        char c;
        if (recv(clients[i].fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
            continue;
        EK_AUTOFREE char *answer = webhook_receive(&clients[i]);
        webhook_expect_review(answer, true, "p0");
        webhook_disconnect(&clients[i++]);
    }
    ck_assert_uint_le(atomic_load(&fixture.asked), 4);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* The API server takes its time, which begins before it is asked anything. */
static const char *answer_late(const char *path, const char *body, int *ret_status)
{
    (void)path;
    (void)body;
    for (uint64_t end = uv_hrtime() + 3000000; uv_hrtime() < end;)
        sched_yield();
    *ret_status = 200;
    return "{\"status\":{\"allowed\":true}}";
}

/* An answer that comes in time says what becomes of a request whose policies have not run: what
 * their own failurePolicy says. */
START_TEST(time_is_over)
{
    static const struct {
        const char *policy;
        bool allowed;
        const char *want, *metric;
    } rows[] = {
        {WEBHOOK_MAY_GET, false, "cannot run the mutating policies: the time for the request",
         "evenkeel_webhook_undecided_total{webhook=\"/mutate\",reason=\"timeout\",answer="
         "\"denied\"} 1"},
        {WEBHOOK_MAY_GET ",\"failurePolicy\":\"Ignore\"", true,
         "\"auditAnnotations\":{\"undecided\":\"the time for the request is over\"}",
         "evenkeel_webhook_undecided_total{webhook=\"/mutate\",reason=\"timeout\",answer="
         "\"allowed\"} 1"},
    };
    struct webhook_client client;
    EK_AUTOFREE char *review = webhook_review("ns", "u-1");

    fixture.answer = answer_late;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, rows[_i].policy));
    ck_assert(webhook_connect(&fixture, &client));
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /mutate?timeout=1ms HTTP/1.1\r\nHost: x\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(review), review);
    ck_assert(webhook_send(&client, request, strlen(request)));
    EK_AUTOFREE char *answer = webhook_receive(&client);
    ck_assert_int_eq(webhook_status(answer), 200);
    webhook_expect_review(answer, rows[_i].allowed, rows[_i].allowed ? "" : rows[_i].want);
    ck_assert_msg(strstr(answer, rows[_i].want), "%s", answer);
    webhook_expect_metric(&fixture, rows[_i].metric);
    webhook_disconnect(&client);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Definitions ---- */

/* A policy that takes params of kind, or with NULL none, written by a user who may read some
 * ConfigMaps, not all. */
static char *define(const char *kind)
{
    EK_AUTOFREE char *params =
        kind ? ek_xasprintf("\"paramKind\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"%s\"},",
                            kind)
             : ek_xstrdup("");
    EK_AUTOFREE char *body = ek_xasprintf(
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"
        "\"u-1\",\"kind\":{\"group\":\"evenkeel.dev\",\"version\":\"v1alpha1\",\"kind\":"
        "\"MutatingAdmissionPolicy\"},\"resource\":{\"group\":\"evenkeel.dev\",\"version\":"
        "\"v1alpha1\",\"resource\":\"mutatingadmissionpolicies\"},\"name\":\"p\",\"operation\":"
        "\"CREATE\",\"userInfo\":{\"username\":\"alice\",\"groups\":[\"g\"]},\"object\":{"
        "\"apiVersion\":\"evenkeel.dev/"
        "v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\",\"metadata\":"
        "{\"name\":\"p\"},\"spec\":{%s"
        "\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":"
        "[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"pods\"]}]},"
        "\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"
        "\"expression\":\"Object{}\"}}]}}}}",
        params);

    return webhook_exchange(&fixture, "/policy-definition?timeout=10s", body);
}

/* Gets may be had of gadgets, and of nothing else; two resources are of kind Double. */
static const char *know_gadgets(const char *path, const char *body, int *ret_status)
{
    if (!strcmp(path, "/apis/example.com/v1"))
        return "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"widgets\",\"kind\":"
               "\"Widget\"},{\"name\":\"gadgets/status\",\"kind\":\"Gadget\"},{\"name\":"
               "\"gadgets\",\"kind\":\"Gadget\"},{\"name\":\"a\",\"kind\":\"Double\"},{"
               "\"name\":\"b\",\"kind\":\"Double\"}]}";
    if (!body || !strstr(body, "\"user\":\"alice\"") || !strstr(body, "\"groups\":[\"g\"]")) {
        *ret_status = 404;
        return NULL;
    }
    return strstr(body, "\"resourceAttributes\":{\"verb\":\"get\",\"group\":\"example.com\","
                        "\"version\":\"*\",\"resource\":\"gadgets\",\"namespace\":\"*\","
                        "\"name\":\"*\"}")
               ? "{\"status\":{\"allowed\":true}}"
               : "{\"status\":{\"allowed\":false}}";
}

START_TEST(authors_are_asked_for)
{
    static const struct {
        const char *kind;
        bool allowed;
    } rows[] = {{"Gadget", true}, {"Widget", false}, {"Double", false}, {"Nothing", false}};

    fixture.answer = know_gadgets;
    webhook_fixture_start(&fixture, 1, true, 0);
    /* Without a snapshot, too: whoever writes policies need not wait for those that there are. */
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOFREE char *answer = define(rows[i].kind);
        EK_AUTOFREE char *want =
            ek_xasprintf("MutatingAdmissionPolicy.evenkeel.dev \"p\" is invalid: spec.paramKind: "
                         "Forbidden: user &{alice  [g] map[]} must have \"get\" permission on all "
                         "objects of the referenced paramKind (kind=%s, apiVersion=example.com/v1)",
                         rows[i].kind);
        webhook_expect_review(answer, rows[i].allowed, rows[i].allowed ? "" : want);
    }
    EK_AUTOFREE char *other = review_in("/policy-definition", "ns");
    ck_assert_int_eq(webhook_status(other), 404);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* An API server that does not answer is no permission. */
START_TEST(authors_without_an_answer)
{
    fixture.answer = break_down;
    webhook_fixture_start(&fixture, 1, true, 0);
    EK_AUTOFREE char *answer = define("Gadget");
    webhook_expect_review(answer, false, "spec.paramKind: Forbidden: SubjectAccessReview: ");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Callers ---- */

static atomic_uint n_judged, n_checked;

static void judged(void *ctx, const struct ek_admission_request *request,
                   const struct ek_mutation_outcome *outcome)
{
    (void)ctx;
    (void)request;
    (void)outcome;
    atomic_fetch_add(&n_judged, 1);
}

static void checked(void *ctx, const struct ek_admission_request *request,
                    const struct ek_safety_outcome *outcome)
{
    (void)ctx;
    (void)request;
    (void)outcome;
    atomic_fetch_add(&n_checked, 1);
}

static void observe(struct ek_webhook *webhook)
{
    ek_webhook_set_observer(webhook,
                            &(struct ek_webhook_observer){.judged = judged, .checked = checked});
}

static void set_callers(const char *prefix)
{
    struct ek_webhook_callers *callers = ek_webhook_callers_new();

    ck_assert_int_eq(ek_webhook_callers_add(callers, prefix), 0);
    ek_webhook_set_callers(fixture.webhook, callers);
}

/* What may be forged is answered, and leaves no trace but one of its own. */
START_TEST(forged_reviews_count_nothing)
{
    atomic_store(&n_judged, 0);
    atomic_store(&n_checked, 0);
    fixture.prepare = observe;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    set_callers("192.0.2.0/24");
    EK_AUTOFREE char *forged = review_in("/mutate", "ns");
    webhook_expect_review(forged, true, "p0");
    EK_AUTOFREE char *violated = review_labelled("/validate", "");
    webhook_expect_review(violated, false, "what it set has been changed");
    ck_assert_uint_eq(atomic_load(&n_judged) + atomic_load(&n_checked), 0);
    webhook_expect_metric(&fixture,
                          "evenkeel_webhook_unproven_requests_total{webhook=\"/mutate\"} 1");
    webhook_expect_metric(&fixture,
                          "evenkeel_webhook_unproven_requests_total{webhook=\"/validate\"} 1");
    set_callers("127.0.0.0/8");
    EK_AUTOFREE char *real = review_in("/mutate", "ns");
    webhook_expect_review(real, true, "p0");
    EK_AUTOFREE char *seen = review_labelled("/validate", "");
    webhook_expect_review(seen, false, "what it set has been changed");
    ck_assert_uint_eq(atomic_load(&n_judged), 1);
    ck_assert_uint_eq(atomic_load(&n_checked), 1);
    /* Of the two of each kind, one. */
    webhook_expect_metric(&fixture, "evenkeel_mutating_admission_policy_check_total{policy=\"p0\","
                                    "policy_binding=\"b0\",error_type=\"no_error\"} 1");
    webhook_expect_metric(&fixture,
                          "evenkeel_mutating_admission_policy_safety_denials_total{policy=\"p0\","
                          "policy_binding=\"b0\"} 1");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* Nor does it ask the API server what a user may do. */
START_TEST(forged_reviews_ask_nothing)
{
    fixture.answer = know_gadgets;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, WEBHOOK_MAY_GET));
    set_callers("192.0.2.0/24");
    EK_AUTOFREE char *definition = define("Gadget");
    webhook_expect_review(definition, false, "");
    ck_assert_ptr_nonnull(strstr(definition, "access is reviewed for verified API servers only"));
    EK_AUTOFREE char *without_params = define(NULL);
    webhook_expect_review(without_params, true, "");
    EK_AUTOFREE char *condition = review_in("/mutate", "ns");
    webhook_expect_review(condition, true, "");
    ck_assert_uint_eq(atomic_load(&fixture.asked), 0);
    set_callers("127.0.0.0/8");
    EK_AUTOFREE char *real = define("Gadget");
    webhook_expect_review(real, true, "");
    ck_assert_uint_ge(atomic_load(&fixture.asked), 2);
    webhook_fixture_stop(&fixture);
}
END_TEST

START_TEST(unproven_callers_are_refused)
{
    fixture.refuse_unproven = true;
    webhook_fixture_start(&fixture, 1, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    set_callers("192.0.2.0/24");
    EK_AUTOFREE char *refused = webhook_exchange(&fixture, "/mutate", "not even read");
    ck_assert_int_eq(webhook_status(refused), 403);
    set_callers("127.0.0.1");
    EK_AUTOFREE char *real = review_in("/mutate", "ns");
    webhook_expect_review(real, true, "p0");
    webhook_fixture_stop(&fixture);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_rounds");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, safety);
    tcase_add_test(tcase, access_is_asked_for);
    tcase_add_test(tcase, rounds);
    tcase_add_test(tcase, namespaces_are_fetched);
    tcase_add_test(tcase, unreadable_namespace);
    tcase_add_test(tcase, schemas_that_are_being_read);
    tcase_add_test(tcase, questions_are_shared);
    tcase_add_loop_test(tcase, time_is_over, 0, 2);
    tcase_add_test(tcase, authors_are_asked_for);
    tcase_add_test(tcase, authors_without_an_answer);
    tcase_add_test(tcase, forged_reviews_count_nothing);
    tcase_add_test(tcase, forged_reviews_ask_nothing);
    tcase_add_test(tcase, unproven_callers_are_refused);
    return ek_test_run("webhook_rounds", tcase);
}
