/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward in the frame, against the built-in API server: what is read, what is written with
 * and without consent, and what another replica knows. The objects are those of an upgrade whose
 * plan failed while a webhook was down: S1 retries the plan.
 */
#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/subject.h"
#include "controller/failforward/watch.h"
#include "reconcilers/failforward/report.h"
#include "test/support/ff_cluster.h"
#include "test/support/suite.h"

#define OLM     FF_CLUSTER_OLM
#define REPORTS FF_CLUSTER_REPORTS
#define GROUPS  FF_CLUSTER_GROUPS
#define SUB     OLM "subscriptions/op"
#define PLAN    OLM "installplans/p2"
#define EVENTS  "/apis/events.k8s.io/v1/namespaces/ns/events"

static struct subjectbench bench;
static const struct ek_subject *subject = &ek_failforward_subject;
static bool is_held; /* what was judged is not written yet; see held_stage */
static unsigned n_held;
static unsigned n_observed; /* see busy_observe */
static int64_t last_again_ms;

/* ---- The cluster ---- */

static void post(const char *path, const char *body)
{
    subjectbench_post(&bench, path, body);
}

/* ---- The process ---- */

static void begin(const char *rules)
{
    subjectbench_start(&bench, rules, &subject, 1);
}

static void start(void)
{
    subjectbench_run(&bench, 0, NULL);
}

static void end(void)
{
    subjectbench_stop(&bench);
}

static void check_absent(const char *path, const char *piece)
{
    subjectbench_check_absent(&bench, path, piece);
}

/* Reads until a text is gone. */
static void wait_without(const char *path, const char *piece)
{
    for (bool found = true; found;) {
        char *body = NULL;
        ck_assert_int_eq(apiworld_request(&bench.world, "GET", path, NULL, &body), 200);
        found = strstr(body, piece) != NULL;
        ek_free(body);
    }
}

/* ---- Between the judgement and its writes ---- */

/* While held, a write of no meaning after the other is carried out, as for verdicts before. */
static bool held_stage(void *data, int64_t now, struct ek_arena *arena, struct ek_intents *intents)
{
    const struct ek_resource maps = {.group = "",
                                     .version = "v1",
                                     .resource = "configmaps",
                                     .kind = "ConfigMap",
                                     .namespace = "ns"};
    const struct ek_apply_target target = {.resource = &maps, .name = "held"};

    if (!is_held)
        return ek_failforward_subject.stages[0](data, now, arena, intents);
    n_held++;
    ek_intents_apply(intents, &target, NULL);
    return true;
}

static void held_answered(void *data, const struct ek_intent *intent, const struct ek_obj *obj,
                          struct ek_err *err)
{
    ck_assert(!err->code || intent->tag);
    if (intent->tag)
        ek_failforward_subject.answered(data, intent, obj, err);
}

/* Turns the loop, by requests, until the process has seen the object at path as it is now. */
static void wait_until_seen(enum ek_ff_row watched, const char *path)
{
    const struct ek_store *store =
        ek_watchset_store(ek_controller_watchset(bench.slots[0].controller), (size_t)watched);
    char *body = NULL;
    struct ek_obj *obj;

    ck_assert_int_eq(apiworld_request(&bench.world, "GET", path, NULL, &body), 200);
    ck_assert_int_eq(ek_obj_parse(body, strlen(body), &obj, NULL), 0);
    while (!ek_store_has_reached(store, ek_obj_resource_version(obj)))
        subjectbench_turn(&bench);
    ek_obj_unref(obj);
    ek_free(body);
}

/* ---- Tests ---- */

START_TEST(a_cluster_without_olm)
{
    begin(NULL);
    start();
    subjectbench_wait_for_debug(&bench, "OLM v0 is not installed");
    end();
}
END_TEST

START_TEST(a_cluster_without_our_kinds)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    start();
    subjectbench_wait_for_debug(&bench, "apply deploy/overlays/failforward");
    subjectbench_wait_for_debug(&bench, "\"namespaces\":0");
    end();
}
END_TEST

/* Without consent nothing is written; the annotation is consent; withdrawal ends it. */
START_TEST(consent_decides)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    start();
    subjectbench_wait_for_debug(&bench,
                                "\"namespaces\":1,\"namespacesTooLarge\":0,\"withConsent\":0");
    ff_cluster_patch(
        &bench, SUB,
        "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Observe\"}}}");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"class\":\"F2\"");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"name\":\"op\",\"uid\":");
    apiworld_wait_for(&bench.world, EVENTS, "\"reason\":\"OperatorFailing\"");
    subjectbench_wait_for_metrics(
        &bench, "evenkeel_failforward_failing{subscription_namespace=\"ns\",subscription="
                "\"op\",class=\"F2\"} 1");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    ff_cluster_patch(
        &bench, SUB,
        "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Off\"}}}");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"mode\":\"Off\"");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    end();
}
END_TEST

START_TEST(a_step_is_carried_out_and_remembered)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    ff_cluster_consent(&bench, "Assist", "Any", "");
    start();
    apiworld_wait_for(&bench.world, PLAN, "\"phase\":\"Installing\"");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"writes\":[{\"name\":\"Retry\",\"count\":1");
    apiworld_wait_for(&bench.world, EVENTS, "\"reason\":\"Retry\"");
    subjectbench_wait_for_metrics(
        &bench, "evenkeel_failforward_actions_total{action=\"Retry\",result=\"done\"} 1");
    end();
}
END_TEST

/* The version of OLM is not known: the mode is Observe. It is known later. */
START_TEST(the_version_of_olm_is_a_gate)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    ff_cluster_consent(&bench, "Assist", "Tried", "");
    start();
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"reason\":\"UntriedOLM\"");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"olm\"}}");
    post("/apis/operators.coreos.com/v1alpha1/namespaces/olm/clusterserviceversions",
         "{\"metadata\":{\"name\":\"packageserver\"},\"spec\":{\"version\":\"0.46.0\"}}");
    apiworld_wait_for(&bench.world, PLAN, "\"phase\":\"Installing\"");
    end();
}
END_TEST

/* Consent ends after the judgement, while other writes are under way: the step is not taken. */
START_TEST(consent_ends_before_the_write)
{
    static const struct {
        enum ek_ff_row row;
        const char *path, *body; /* a merge patch; */
        const char *in;          /* not NULL: an object is created, here */
        const char *then;        /* in the debug document */
    } cases[] = {
        {EK_FF_SUBSCRIPTIONS, SUB,
         "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Off\"}}}", NULL,
         "\"withConsent\":0"},
        {EK_FF_SUBSCRIPTIONS, OLM "subscriptions/other",
         "{\"metadata\":{\"name\":\"other\",\"annotations\":{"
         "\"failforward.evenkeel.dev/mode\":\"Off\"}}}",
         OLM "subscriptions", "\"blocked\":1"},
        {EK_FF_POLICIES, "/apis/evenkeel.dev/v1alpha1/failforwardpolicies/cluster",
         "{\"spec\":{\"mode\":\"Off\"}}", NULL, "\"withConsent\":0"},
        {EK_FF_NAMESPACES, "/api/v1/namespaces/ns", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}",
         NULL, "\"withConsent\":0"},
    };
    struct ek_subject held = ek_failforward_subject;

    held.stages[0] = held_stage;
    held.answered = held_answered;
    subject = &held;
    is_held = true;
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    post("/apis/evenkeel.dev/v1alpha1/failforwardpolicies",
         "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Assist\",\"graceSeconds\":0,"
         "\"olmVersions\":\"Any\",\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"x\","
         "\"operator\":\"DoesNotExist\"}]}}}");
    start();
    while (!n_held)
        subjectbench_turn(&bench);
    if (cases[_i].in)
        post(cases[_i].in, cases[_i].body);
    else
        ff_cluster_patch(&bench, cases[_i].path, cases[_i].body);
    wait_until_seen(cases[_i].row, cases[_i].path);
    is_held = false;
    subjectbench_wait_for_debug(&bench, cases[_i].then);
    check_absent(PLAN, "\"phase\":\"Installing\"");
    end();
    subject = &ek_failforward_subject;
    n_held = 0;
}
END_TEST

/* Between the memory and the step: what the watches have not shown yet. */
static const struct withdrawal {
    const char *method, *path, *body;
    bool allows; /* the step is taken all the same */
} withdrawals[] = {
    {"PATCH", SUB, "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Off\"}}}",
     false},
    {"PATCH", SUB,
     "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Observe\"}}}", false},
    {"PATCH", "/apis/evenkeel.dev/v1alpha1/failforwardpolicies/cluster",
     "{\"spec\":{\"mode\":\"Off\"}}", false},
    {"PATCH", "/apis/evenkeel.dev/v1alpha1/failforwardpolicies/cluster",
     "{\"spec\":{\"allowedActions\":[\"S2\"]}}", false},
    {"PATCH", "/api/v1/namespaces/ns", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", false},
    {"POST", OLM "subscriptions",
     "{\"metadata\":{\"name\":\"other\",\"annotations\":{\"failforward.evenkeel.dev/"
     "mode\":\"Off\"}}}",
     false},
    {"DELETE", SUB, NULL, false},
    {"PATCH", SUB, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", true},
};
static const struct withdrawal *withdrawal; /* NULL: it is done */

static void withdrawing_answered(void *data, const struct ek_intent *intent,
                                 const struct ek_obj *obj, struct ek_err *err)
{
    if (withdrawal && !err->code && ek_ff_tag_kind(intent->tag) == EK_FF_TAG_STATUS) {
        const struct ek_apiserver_request request = {
            .method = withdrawal->method,
            .path = withdrawal->path,
            .content_type = !strcmp(withdrawal->method, "POST") ? "application/json"
                                                                : "application/merge-patch+json",
            .authorization = "Bearer root",
            .body = withdrawal->body ? ek_str_from(withdrawal->body) : (struct ek_str){0}};
        struct ek_apiserver_response response = {0};
        ek_apiserver_handle(ek_apiserver_find_peer(bench.world.core, "cp-a"), &request,
                            subjectbench_now, &response);
        ck_assert_msg(response.status && response.status < 300, "%d: %s", response.status,
                      ek_buf_str(&response.body));
        ek_apiserver_response_done(&response);
        withdrawal = NULL;
    }
    ek_failforward_subject.answered(data, intent, obj, err);
}

static enum ek_observed counted_observe(void *data, struct ek_arena *arena, int64_t *ret_again_ms)
{
    n_observed++;
    return ek_failforward_subject.observe(data, arena, ret_again_ms);
}

/* A withdrawal that the API server has stored counts, also where the watches have not shown it. */
START_TEST(consent_is_read_again_before_a_step)
{
    struct ek_subject withdrawing = ek_failforward_subject;

    withdrawing.answered = withdrawing_answered;
    withdrawing.observe = counted_observe;
    subject = &withdrawing;
    withdrawal = &withdrawals[_i];
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    post("/apis/evenkeel.dev/v1alpha1/failforwardpolicies",
         "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Assist\",\"graceSeconds\":0,"
         "\"olmVersions\":\"Any\",\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"x\","
         "\"operator\":\"DoesNotExist\"}]}}}");
    start();
    while (withdrawal)
        subjectbench_turn(&bench);
    if (withdrawals[_i].allows) {
        apiworld_wait_for(&bench.world, PLAN, "\"phase\":\"Installing\"");
    } else {
        unsigned n = n_observed;
        while (n_observed == n)
            subjectbench_turn(&bench);
        check_absent(PLAN, "\"phase\":\"Installing\"");
    }
    end();
    subject = &ek_failforward_subject;
    n_observed = 0;
}
END_TEST

/* A step of an earlier leader is known to the next one, which does not do it again. */
START_TEST(another_replica_goes_on)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    ff_cluster_consent(&bench, "Assist", "Any", "");
    bench.slots[0].leads = false;
    start();
    subjectbench_wait_for_metrics(&bench,
                                  "evenkeel_failforward_failing{subscription_namespace=\"ns\"");
    check_absent(REPORTS, "\"name\":\"op\"");
    char *sub = NULL;
    apiworld_request(&bench.world, "GET", SUB, NULL, &sub);
    char *uid = strstr(sub, "\"uid\":\"");
    ck_assert_ptr_nonnull(uid);
    EK_AUTOFREE char *report = ek_xasprintf(
        "{\"metadata\":{\"name\":\"op\",\"ownerReferences\":[{\"apiVersion\":"
        "\"operators.coreos.com/v1alpha1\",\"kind\":\"Subscription\",\"name\":\"op\",%.44s}]}}",
        uid);
    ek_free(sub);
    post(REPORTS, report);
    ff_cluster_patch(
        &bench, REPORTS "/op/status",
        "{\"status\":{\"episode\":{\"failing\":\"v2\",\"since\":\"2026-11-20T10:00:00Z\","
        "\"writes\":[{\"name\":\"Retry\",\"count\":3,\"lastTime\":\"2026-11-20T10:59:59Z\"}]}}}");
    bench.slots[0].leads = true;
    ek_controller_elected(bench.slots[0].controller);
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"class\":\"F2\"");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"name\":\"Retry\",\"count\":3");
    end();
}
END_TEST

/* A namespace with 200 Subscriptions is judged with 1000 InstallPlans, CSVs and so on. */
START_TEST(a_namespace_with_many_objects)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    for (int i = 0; i < 199; i++) {
        EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"s%d\"}}", i);
        post(OLM "subscriptions", body);
    }
    for (int i = 0; i < 1001; i++) {
        EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"x%d\"}}", i);
        post(i % 2 ? OLM "installplans" : OLM "clusterserviceversions", body);
    }
    ff_cluster_consent(&bench, "Observe", "Any", "");
    start();
    subjectbench_wait_for_debug(&bench,
                                "\"namespaces\":1,\"namespacesTooLarge\":1,\"withConsent\":0");
    check_absent(REPORTS, "\"name\":\"op\"");
    for (int i = 0; i < 20; i++) {
        EK_AUTOFREE char *path = ek_xasprintf(OLM "subscriptions/s%d", i);
        ck_assert_int_eq(apiworld_request(&bench.world, "DELETE", path, NULL, NULL), 200);
    }
    subjectbench_wait_for_debug(&bench, "\"namespacesTooLarge\":0,\"withConsent\":180");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"class\":\"F2\"");
    end();
}
END_TEST

/* A namespace with 201 Subscriptions is not judged; with 200 of them it is. */
START_TEST(a_large_namespace)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    for (int i = 0; i < 200; i++) {
        EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"s%d\"}}", i);
        post(OLM "subscriptions", body);
    }
    ff_cluster_consent(&bench, "Observe", "Any", "");
    start();
    subjectbench_wait_for_debug(&bench,
                                "\"namespaces\":1,\"namespacesTooLarge\":1,\"withConsent\":0");
    subjectbench_wait_for_metrics(&bench, "evenkeel_failforward_namespaces_not_judged 1\n");
    check_absent(REPORTS, "\"name\":\"op\"");
    ck_assert_int_eq(apiworld_request(&bench.world, "DELETE", OLM "subscriptions/s0", NULL, NULL),
                     200);
    subjectbench_wait_for_debug(&bench, "\"namespacesTooLarge\":0,\"withConsent\":200");
    subjectbench_wait_for_metrics(&bench, "evenkeel_failforward_namespaces_not_judged 0\n");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"class\":\"F2\"");
    end();
}
END_TEST

/* Every run finds every namespace due. */
static enum ek_observed busy_observe(void *data, struct ek_arena *arena, int64_t *ret_again_ms)
{
    ek_ff_on_change(data, NULL, false);
    enum ek_observed observed = ek_failforward_subject.observe(data, arena, ret_again_ms);
    if (observed == EK_OBSERVED_ALL) {
        n_observed++;
        last_again_ms = *ret_again_ms;
    }
    return observed;
}

/* One namespace does not fit into a run. The next run judges this namespace although all others are
 * due again, and keeps the pace. */
START_TEST(no_namespace_starves)
{
    struct ek_subject busy = ek_failforward_subject;

    busy.observe = busy_observe;
    subject = &busy;
    begin(NULL);
    bench.slots[0].leads = false;
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    for (int i = 0; i < 65; i++) {
        EK_AUTOFREE char *space = ek_xasprintf("{\"metadata\":{\"name\":\"n%d\"}}", i);
        EK_AUTOFREE char *path =
            ek_xasprintf("/apis/operators.coreos.com/v1alpha1/namespaces/n%d/subscriptions", i);
        post("/api/v1/namespaces", space);
        post(path, "{\"metadata\":{\"name\":\"op\"}}");
    }
    ff_cluster_consent(&bench, "Observe", "Any", "");
    start();
    while (n_observed < 1)
        subjectbench_turn(&bench);
    ck_assert_int_eq(last_again_ms, ek_failforward_subject.pace.gap_ms);
    while (n_observed < 2)
        subjectbench_turn(&bench);
    EK_AUTO(ek_buf) out;
    ek_buf_init(&out, SUBJECTBENCH_TEXT_MAX);
    subjectbench_debug(&bench, &out);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "\"withConsent\":65"));
    end();
    subject = &ek_failforward_subject;
}
END_TEST

/* A CatalogSource is deleted under a Subscription with consent: its error goes with it. */
START_TEST(a_catalog_is_deleted)
{
    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    ff_cluster_make_failure(&bench);
    post(OLM "catalogsources",
         "{\"metadata\":{\"name\":\"cat\"},\"spec\":{\"address\":\"127.0.0.1:1\"}}");
    ff_cluster_consent(&bench, "Observe", "Any", "");
    start();
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"catalogError\":\"registry 127.0.0.1:1");
    ck_assert_int_eq(apiworld_request(&bench.world, "DELETE", OLM "catalogsources/cat", NULL, NULL),
                     200);
    wait_without(REPORTS "/op", "catalogError");
    end();
}
END_TEST

/* A Subscription was deleted, and its report with it, after S2 and S3a: both are taken back. */
START_TEST(what_a_deleted_subscription_left)
{
    char *group = NULL;
    bool is_default = false;

    begin(NULL);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns\"}}");
    post(GROUPS, "{\"metadata\":{\"name\":\"og\",\"annotations\":{\"" EK_FF_SWITCH_MARK
                 "\":\"1\"}},\"spec\":{\"upgradeStrategy\":\"TechPreviewUnsafeFailForward\"}}");
    post(OLM "clusterserviceversions", "{\"metadata\":{\"name\":\"v2\"}}");
    ff_cluster_patch(&bench, OLM "clusterserviceversions/v2/status",
                     "{\"status\":{\"phase\":\"Failed\",\"message\":\"" EK_FF_PIN_MESSAGE "\"}}");
    start();
    subjectbench_wait_for_debug(&bench, "OLM is watched");
    for (int i = 0; !is_default; i++) { /* each change is a search, where its time has come */
        EK_AUTOFREE char *label = ek_xasprintf("{\"metadata\":{\"labels\":{\"n\":\"%d\"}}}", i);
        subjectbench_now += 31000;
        ff_cluster_patch(&bench, "/api/v1/namespaces/ns", label);
        ck_assert_int_eq(apiworld_request(&bench.world, "GET", GROUPS "/og", NULL, &group), 200);
        is_default = strstr(group, "\"Default\"") != NULL;
        ck_assert(!is_default || !strstr(group, EK_FF_SWITCH_MARK));
        ek_free(group);
    }
    apiworld_wait_for(&bench.world, OLM "clusterserviceversions/v2", "\"phase\":\"Pending\"");
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("failforward");

    tcase_add_test(tc, a_cluster_without_olm);
    tcase_add_test(tc, a_cluster_without_our_kinds);
    tcase_add_test(tc, consent_decides);
    tcase_add_test(tc, a_step_is_carried_out_and_remembered);
    tcase_add_test(tc, the_version_of_olm_is_a_gate);
    tcase_add_loop_test(tc, consent_ends_before_the_write, 0, 4);
    tcase_add_loop_test(tc, consent_is_read_again_before_a_step, 0, EK_ARRAY_SIZE(withdrawals));
    tcase_add_test(tc, another_replica_goes_on);
    tcase_add_test(tc, a_namespace_with_many_objects);
    tcase_add_test(tc, a_large_namespace);
    tcase_add_test(tc, no_namespace_starves);
    tcase_add_test(tc, a_catalog_is_deleted);
    tcase_add_test(tc, what_a_deleted_subscription_left);
    return ek_test_run("failforward", tc);
}
