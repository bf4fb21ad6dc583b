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
#include "test/support/subjectbench.h"
#include "test/support/suite.h"

#define OLM     "/apis/operators.coreos.com/v1alpha1/namespaces/ns/"
#define REPORTS "/apis/evenkeel.dev/v1alpha1/namespaces/ns/failforwardstatuses"
#define GROUPS  "/apis/operators.coreos.com/v1/namespaces/ns/operatorgroups"
#define SUB     OLM "subscriptions/op"
#define PLAN    OLM "installplans/p2"
#define EVENTS  "/apis/events.k8s.io/v1/namespaces/ns/events"
#define POLICY                                                                                     \
    "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"%s\",\"graceSeconds\":0,"           \
    "\"olmVersions\":\"%s\"}}"

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

static void install(const char *group, const char *plural, const char *kind, const char *version)
{
    EK_AUTOFREE char *crd = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s.%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"%s\",\"names\":"
        "{\"plural\":\"%s\",\"singular\":\"x%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"%s\","
        "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":"
        "true}}}]}}",
        plural, group, group, strcmp(kind, "FailForwardPolicy") == 0 ? "Cluster" : "Namespaced",
        plural, plural, kind, version);
    post(SUBJECTBENCH_CRDS, crd);
}

static void install_olm(void)
{
    static const char *const kinds[][3] = {
        {"subscriptions", "Subscription", "v1alpha1"},
        {"installplans", "InstallPlan", "v1alpha1"},
        {"clusterserviceversions", "ClusterServiceVersion", "v1alpha1"},
        {"catalogsources", "CatalogSource", "v1alpha1"},
        {"operatorgroups", "OperatorGroup", "v1"},
        {"operatorconditions", "OperatorCondition", "v2"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        install("operators.coreos.com", kinds[i][0], kinds[i][1], kinds[i][2]);
}

static void install_reports(void)
{
    install("evenkeel.dev", "failforwardpolicies", "FailForwardPolicy", "v1alpha1");
    install("evenkeel.dev", "failforwardstatuses", "FailForwardStatus", "v1alpha1");
}

static void patch(const char *path, const char *body)
{
    int status = apiworld_request(&bench.world, "PATCH", path, body, NULL);
    ck_assert_msg(status == 200, "%s: %d", path, status);
}

/* Version 2 failed at the webhook of version 1. */
static void make_failure(void)
{
    post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns\"}}");
    post(GROUPS, "{\"metadata\":{\"name\":\"og\"}}");
    post(OLM "clusterserviceversions", "{\"metadata\":{\"name\":\"v1\"}}");
    post(OLM "clusterserviceversions",
         "{\"metadata\":{\"name\":\"v2\"},\"spec\":{\"replaces\":\"v1\"}}");
    patch(OLM "clusterserviceversions/v1/status", "{\"status\":{\"phase\":\"Replacing\"}}");
    patch(OLM "clusterserviceversions/v2/status",
          "{\"status\":{\"phase\":\"Pending\",\"reason\":\"RequirementsNotMet\"}}");
    post(OLM "installplans", "{\"metadata\":{\"name\":\"p2\"},\"spec\":{\"generation\":2,"
                             "\"clusterServiceVersionNames\":[\"v2\"]}}");
    patch(PLAN "/status", "{\"status\":{\"phase\":\"Failed\",\"message\":\"failed calling webhook "
                          "x\",\"startTime\":\"2026-11-20T10:00:00Z\"}}");
    post(OLM "subscriptions", "{\"metadata\":{\"name\":\"op\"},\"spec\":{\"name\":\"op\",\"source\""
                              ":\"cat\",\"sourceNamespace\":\"ns\"}}");
    patch(SUB "/status", "{\"status\":{\"currentCSV\":\"v2\",\"installedCSV\":\"v2\"}}");
}

static void consent(const char *mode, const char *versions)
{
    EK_AUTOFREE char *policy = ek_xasprintf(POLICY, mode, versions);
    post("/apis/evenkeel.dev/v1alpha1/failforwardpolicies", policy);
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
    install_olm();
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
    install_olm();
    install_reports();
    make_failure();
    start();
    subjectbench_wait_for_debug(&bench,
                                "\"namespaces\":1,\"namespacesTooLarge\":0,\"withConsent\":0");
    patch(SUB, "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Observe\"}}}");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"class\":\"F2\"");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"name\":\"op\",\"uid\":");
    apiworld_wait_for(&bench.world, EVENTS, "\"reason\":\"OperatorFailing\"");
    subjectbench_wait_for_metrics(
        &bench, "evenkeel_failforward_failing{subscription_namespace=\"ns\",subscription="
                "\"op\",class=\"F2\"} 1");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    patch(SUB, "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/mode\":\"Off\"}}}");
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"mode\":\"Off\"");
    check_absent(PLAN, "\"phase\":\"Installing\"");
    end();
}
END_TEST

START_TEST(a_step_is_carried_out_and_remembered)
{
    begin(NULL);
    install_olm();
    install_reports();
    make_failure();
    consent("Assist", "Any");
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
    install_olm();
    install_reports();
    make_failure();
    consent("Assist", "Tried");
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
    install_olm();
    install_reports();
    make_failure();
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
        patch(cases[_i].path, cases[_i].body);
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
    install_olm();
    install_reports();
    make_failure();
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
    install_olm();
    install_reports();
    make_failure();
    consent("Assist", "Any");
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
    patch(REPORTS "/op/status",
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

/* A namespace with 201 Subscriptions is not judged; with 200 of them it is. */
START_TEST(a_large_namespace)
{
    begin(NULL);
    install_olm();
    install_reports();
    make_failure();
    for (int i = 0; i < 200; i++) {
        EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"s%d\"}}", i);
        post(OLM "subscriptions", body);
    }
    consent("Observe", "Any");
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
    install_olm();
    install_reports();
    for (int i = 0; i < 65; i++) {
        EK_AUTOFREE char *space = ek_xasprintf("{\"metadata\":{\"name\":\"n%d\"}}", i);
        EK_AUTOFREE char *path =
            ek_xasprintf("/apis/operators.coreos.com/v1alpha1/namespaces/n%d/subscriptions", i);
        post("/api/v1/namespaces", space);
        post(path, "{\"metadata\":{\"name\":\"op\"}}");
    }
    consent("Observe", "Any");
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
    install_olm();
    install_reports();
    make_failure();
    post(OLM "catalogsources",
         "{\"metadata\":{\"name\":\"cat\"},\"spec\":{\"address\":\"127.0.0.1:1\"}}");
    consent("Observe", "Any");
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
    install_olm();
    install_reports();
    post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns\"}}");
    post(GROUPS, "{\"metadata\":{\"name\":\"og\",\"annotations\":{\"" EK_FF_SWITCH_MARK
                 "\":\"1\"}},\"spec\":{\"upgradeStrategy\":\"TechPreviewUnsafeFailForward\"}}");
    post(OLM "clusterserviceversions", "{\"metadata\":{\"name\":\"v2\"}}");
    patch(OLM "clusterserviceversions/v2/status",
          "{\"status\":{\"phase\":\"Failed\",\"message\":\"" EK_FF_PIN_MESSAGE "\"}}");
    start();
    subjectbench_wait_for_debug(&bench, "OLM is watched");
    for (int i = 0; !is_default; i++) { /* each change is a search, where its time has come */
        EK_AUTOFREE char *label = ek_xasprintf("{\"metadata\":{\"labels\":{\"n\":\"%d\"}}}", i);
        subjectbench_now += 31000;
        patch("/api/v1/namespaces/ns", label);
        ck_assert_int_eq(apiworld_request(&bench.world, "GET", GROUPS "/og", NULL, &group), 200);
        is_default = strstr(group, "\"Default\"") != NULL;
        ck_assert(!is_default || !strstr(group, EK_FF_SWITCH_MARK));
        ek_free(group);
    }
    apiworld_wait_for(&bench.world, OLM "clusterserviceversions/v2", "\"phase\":\"Pending\"");
    end();
}
END_TEST

/* A right of the mode Assist that is missing blocks the step, and the report says so. */
START_TEST(a_missing_right_is_reported)
{
    static const struct {
        const char *cause, *strategy, *resource, *write;
    } cases[] = {
        {"failed calling webhook x", "Default", "installplans", "Retry"},
        {"C is invalid: x", "Default", "operatorgroups", "SwitchOn"},
        {"C is invalid: x", "TechPreviewUnsafeFailForward", "clusterserviceversions", "Hold"},
    };
    EK_AUTOFREE char *cause = ek_xasprintf("{\"status\":{\"message\":\"%s\"}}", cases[_i].cause);
    EK_AUTOFREE char *strategy =
        ek_xasprintf("{\"spec\":{\"upgradeStrategy\":\"%s\"}}", cases[_i].strategy);
    EK_AUTOFREE char *count = ek_xasprintf(
        "evenkeel_failforward_actions_total{action=\"%s\",result=\"denied\"} 1", cases[_i].write);

    begin("get,list,watch *;create,patch failforwardstatuses;patch failforwardstatuses/status;"
          "create,patch events");
    install_olm();
    install_reports();
    make_failure();
    patch(PLAN "/status", cause);
    patch(GROUPS "/og", strategy);
    post(OLM "catalogsources", "{\"metadata\":{\"name\":\"cat\"}}");
    patch(OLM "catalogsources/cat/status",
          "{\"status\":{\"connectionState\":{\"lastObservedState\":\"READY\"}}}");
    consent("Assist", "Any");
    start();
    apiworld_wait_for(&bench.world, REPORTS "/op", "\"reason\":\"ActionNotAllowed\"");
    apiworld_wait_for(&bench.world, REPORTS "/op", cases[_i].resource);
    subjectbench_wait_for_metrics(&bench, count);
    check_absent(PLAN, "\"phase\":\"Installing\"");
    end();
}
END_TEST

static const char *const read_kinds[] = {"subscriptions",
                                         "installplans",
                                         "clusterserviceversions",
                                         "operatorgroups",
                                         "operatorconditions",
                                         "catalogsources",
                                         "namespaces",
                                         "failforwardpolicies",
                                         "failforwardstatuses",
                                         "validatingwebhookconfigurations",
                                         "mutatingwebhookconfigurations"};

/* A kind that may not be read is named. */
START_TEST(a_kind_that_may_not_be_read)
{
    EK_AUTO(ek_buf) rules;
    bool named = false, is_blind;

    ek_buf_init(&rules, 4096);
    for (int i = 0; i < (int)EK_ARRAY_SIZE(read_kinds); i++)
        if (i != _i)
            ek_buf_printf(&rules, "list,watch %s;", read_kinds[i]);
    ek_buf_puts(&rules, "create,patch failforwardstatuses");
    begin(ek_buf_str(&rules));
    install_olm();
    install_reports();
    start();
    while (!named) {
        const struct ek_watchset *set = ek_controller_watchset(bench.slots[0].controller);
        EK_AUTOFREE char *problem = ek_watchset_problem(set, &is_blind);
        named = problem && !strncmp(problem, read_kinds[_i], strlen(read_kinds[_i]));
        ck_assert_msg(!problem || named, "%s: %s", read_kinds[_i], problem);
        subjectbench_turn(&bench);
    }
    end();
}
END_TEST

/* Without a right to report, the run fails with the right in its error. */
START_TEST(a_report_that_may_not_be_written)
{
    static const char *const cases[][2] = {
        {"patch failforwardstatuses/status;create,patch events", "cannot create resource"},
        {"create failforwardstatuses;create,patch events", "cannot patch resource"},
    };
    EK_AUTOFREE char *rules = ek_xasprintf("list,watch *;%s", cases[_i][0]);

    begin(rules);
    install_olm();
    install_reports();
    make_failure();
    consent("Observe", "Any");
    start();
    subjectbench_wait_for_debug(&bench, cases[_i][1]);
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
    tcase_add_test(tc, a_large_namespace);
    tcase_add_test(tc, no_namespace_starves);
    tcase_add_test(tc, a_catalog_is_deleted);
    tcase_add_test(tc, what_a_deleted_subscription_left);
    tcase_add_loop_test(tc, a_missing_right_is_reported, 0, 3);
    tcase_add_loop_test(tc, a_kind_that_may_not_be_read, 0, EK_ARRAY_SIZE(read_kinds));
    tcase_add_loop_test(tc, a_report_that_may_not_be_written, 0, 2);
    return ek_test_run("failforward", tc);
}
