/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CompatibilityPlans in the frame, against the built-in API server: what is written when facts or
 * plans change, what other replicas show, and what happens where the kind is not served.
 */
#include <stdio.h>
#include <string.h>

#include "controller/debug/debug.h"
#include "controller/plan/subject.h"
#include "reconcilers/plan/compat.h"
#include "reconcilers/skew/spec.h"
#include "test/support/apiworld.h"
#include "test/support/skew_facts.h"
#include "test/support/suite.h"

#define CRDS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define PLANS  "/apis/evenkeel.dev/v1alpha1/compatibilityplans"
#define NEXT   PLANS "/next"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"

#define SAFE                                                                                       \
    "peer a 1.36.2/1.36/1.35\ninst kube-controller-manager k 1.36.2/1.36\ninst kube-scheduler s "  \
    "1.36.2/1.36\ngroup kubelet v1.36.0 1 n1\n"
#define BLOCKED SAFE "group kubelet v1.29.9 1 old\n"
#define SPEC                                                                                       \
    "{\"targetVersion\":\"1.36\",\"acceptedUnknowns\":[\"flags-unread\",\"objects-unread\"]}"

static const char kind[] =
    "{\"metadata\":{\"name\":\"compatibilityplans.evenkeel.dev\"},\"spec\":{\"group\":"
    "\"evenkeel.dev\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"compatibilityplans\","
    "\"singular\":\"compatibilityplan\",\"kind\":\"CompatibilityPlan\"},\"versions\":[{\"name\":"
    "\"v1alpha1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static struct apiworld world;
static struct ek_metrics *metrics;
static struct ek_standard_metrics standard;
static struct ek_registry *registry;
static struct ek_recorder *recorder;
static struct ek_controller_row row;
static struct ek_controller *controller;
static bool leads;

static bool may_write(void *ctx)
{
    (void)ctx;
    return leads;
}

/* Reads of the clock in one turn of the loop: one for each plan that is judged, at least. */
static uv_check_t turns;
static unsigned n_reads, max_reads;

static void on_turn(uv_check_t *check)
{
    (void)check;
    n_reads = 0;
}

static int64_t now_ms(void)
{
    n_reads++;
    max_reads = n_reads > max_reads ? n_reads : max_reads;
    return EK_TEST_NOW;
}

/* ---- The process ---- */

static void start(void)
{
    struct ek_runnable watch, runner;
    struct ek_err err = {0};
    const struct ek_subject_env env = {.loop = &world.bench.loop,
                                       .client = world.bench.client,
                                       .metrics = metrics,
                                       .recorder = recorder,
                                       .now_ms = now_ms,
                                       .may_write = may_write,
                                       .observer = ek_registry_observer(registry, 0),
                                       .queue = ek_registry_queue(registry, 0)};

    controller = ek_controller_new(&ek_plan_subject, &env);
    ek_registry_set(registry, 0, controller);
    ek_controller_runnables(controller, &watch, &runner);
    ck_assert_int_eq(watch.start(watch.ctx, &err), 0);
    ck_assert_int_eq(runner.start(runner.ctx, &err), 0);
}

static void begin(const char *rules, bool served)
{
    apiworld_start(&world, rules);
    uv_check_init(&world.bench.loop, &turns);
    uv_check_start(&turns, on_turn);
    uv_unref((uv_handle_t *)&turns);
    leads = true;
    metrics = ek_metrics_new();
    ek_standard_metrics_init(&standard, metrics);
    recorder = ek_recorder_new(&world.bench.loop,
                               &(struct ek_recorder_config){.client = world.bench.client,
                                                            .instance = "test",
                                                            .may_record = may_write});
    row = ek_subject_registry_row(&ek_plan_subject);
    registry = ek_registry_new(&row, 1, &standard, NULL);
    if (served)
        ck_assert_int_eq(apiworld_request(&world, "POST", CRDS, kind, NULL), 201);
}

static void end(void)
{
    ek_controller_close(controller, NULL, NULL);
    ek_recorder_close(recorder, NULL, NULL);
    uv_close((uv_handle_t *)&turns, NULL);
    apiworld_stop(&world);
    ek_metrics_free(metrics);
    ek_registry_free(registry);
}

/* The skew subject publishes facts, which are gone after the call. */
static void publish(const char *script)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    EK_AUTO(ek_test_facts) facts;
    struct ek_skew_spec spec;

    ek_test_facts_init(&facts, script);
    for (size_t i = 0; i < facts.facts.n_groups; i++) /* nodes do not emulate */
        facts.facts.groups[i].versions.emulation = facts.facts.groups[i].versions.binary;
    ek_skew_spec_parse(NULL, arena, &spec);
    ek_controller_facts(controller, &facts.facts, &spec);
    ek_arena_free(arena);
}

static void make_plan(const char *name, const char *spec)
{
    EK_AUTOFREE char *body =
        ek_xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec);
    ck_assert_int_eq(apiworld_request(&world, "POST", PLANS, body, NULL), 201);
}

/* Turns the loop, by requests, until text that write makes has piece in it. */
static void wait_for_text(void (*write)(struct ek_buf *out), const char *piece)
{
    for (bool found = false; !found;) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
        write(&out);
        found = strstr(ek_buf_str(&out), piece) != NULL;
        if (!found)
            apiworld_request(&world, "GET", "/version", NULL, NULL);
    }
}

static void write_metrics(struct ek_buf *out)
{
    ek_registry_collect(registry);
    ck_assert_int_eq(ek_metrics_write(metrics, EK_METRICS_TEXT, out), 0);
}

static void write_debug(struct ek_buf *out)
{
    const struct ek_debug debug = {.registry = registry};
    const struct ek_debug_now now = {0};

    ek_debug_answer(&debug, "all", 3, &now, NULL, out);
}

static void check_absent(const char *path, const char *piece)
{
    char *body = NULL;

    apiworld_request(&world, "GET", path, NULL, &body);
    ck_assert_msg(!strstr(body, piece), "%s: %s", path, body);
    ek_free(body);
}

static char *version_of(const char *path)
{
    char *body = NULL;

    ck_assert_int_eq(apiworld_request(&world, "GET", path, NULL, &body), 200);
    char *at = strstr(body, "\"resourceVersion\":\"");
    ck_assert_ptr_nonnull(at);
    char *ret = ek_xstrdup(at);
    ret[strcspn(ret, ",}")] = '\0';
    ek_free(body);
    return ret;
}

/* ---- Tests ---- */

START_TEST(the_kind_is_not_served)
{
    begin(NULL, false);
    start();
    wait_for_text(write_debug, "CompatibilityPlan is not served");
    publish(SAFE);
    wait_for_text(write_debug, "\"plans\":0");
    end();
}
END_TEST

/* The verdict follows the facts, with Events and metrics; facts that say the same change nothing.
 */
START_TEST(a_plan_follows_the_cluster)
{
    begin(NULL, true);
    make_plan("next", SPEC);
    start();
    wait_for_text(write_debug, "the control plane was not observed yet");
    check_absent(NEXT, "\"verdict\"");
    publish(SAFE);
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Safe\"");
    apiworld_wait_for(&world, NEXT, "\"observedGeneration\":1");
    apiworld_wait_for(&world, EVENTS, "\"reason\":\"PlanSafe\"");
    wait_for_text(write_metrics, "evenkeel_plan_verdict{plan=\"next\",verdict=\"Safe\"} 1");
    publish(BLOCKED);
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Blocked\"");
    apiworld_wait_for(&world, NEXT, "kubelet v1.29.9 (1): the rule KubeletRange is violated");
    apiworld_wait_for(&world, EVENTS, "\"reason\":\"PlanBlocked\"");
    wait_for_text(write_metrics, "evenkeel_plan_verdict{plan=\"next\",verdict=\"Blocked\"} 1");
    wait_for_text(write_metrics, "evenkeel_plan_verdict{plan=\"next\",verdict=\"Safe\"} 0");
    wait_for_text(write_debug, "\"safe\":0,\"blocked\":1");
    EK_AUTOFREE char *before = version_of(NEXT);
    publish(BLOCKED);
    make_plan("other", "{\"targetVersion\":\"x\"}");
    apiworld_wait_for(&world, PLANS "/other", "\"reason\":\"InvalidTarget\"");
    EK_AUTOFREE char *after = version_of(NEXT);
    ck_assert_str_eq(before, after);
    end();
}
END_TEST

START_TEST(a_plan_that_is_deleted_has_no_metric)
{
    begin(NULL, true);
    make_plan("next", SPEC);
    start();
    publish(SAFE);
    wait_for_text(write_metrics, "plan=\"next\",verdict=\"Safe\"} 1");
    ck_assert_int_eq(apiworld_request(&world, "DELETE", NEXT, NULL, NULL), 200);
    wait_for_text(write_debug, "\"plans\":0");
    EK_AUTO(ek_buf) out;
    ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
    write_metrics(&out);
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "plan=\"next\""));
    end();
}
END_TEST

/* A replica that does not lead shows metrics and writes nothing, until it leads. */
START_TEST(only_the_leader_writes)
{
    begin(NULL, true);
    make_plan("next", SPEC);
    leads = false;
    start();
    publish(SAFE);
    wait_for_text(write_metrics, "plan=\"next\",verdict=\"Safe\"} 1");
    check_absent(NEXT, "\"verdict\"");
    leads = true;
    ek_controller_elected(controller);
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Safe\"");
    end();
}
END_TEST

/* The number of plans that are evaluated has a bound; the others say so. The loop goes on between
 * two plans. */
START_TEST(many_plans)
{
    char name[32];

    begin(NULL, true);
    for (int i = 0; i < 23; i++) {
        snprintf(name, sizeof name, "p%02d", i);
        make_plan(name, SPEC);
    }
    start();
    max_reads = 0;
    publish(SAFE);
    apiworld_wait_for(&world, PLANS "/p00", "\"verdict\":\"Safe\"");
    wait_for_text(write_debug, "\"plans\":23,\"notEvaluated\":3,\"safe\":20");
    ck_assert_uint_lt(max_reads, EK_COMPAT_PLANS_MAX);
    for (bool found = false; !found;) {
        char *body = NULL, *at;
        int n = 0;
        apiworld_request(&world, "GET", PLANS, NULL, &body);
        for (at = body; (at = strstr(at, "\"TooManyPlans\"")); at++)
            n++;
        ck_assert_int_le(n, 3);
        found = n == 3;
        ek_free(body);
    }
    end();
}
END_TEST

#define HOOKS "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define HOOK(version)                                                                              \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                                \
    "\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"h\"},\"webhooks\":[{\"name\":"    \
    "\"h.example.com\",\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\","             \
    "\"clientConfig\":{\"url\":\"https://h.example.com/\"},\"rules\":[{\"apiGroups\":["            \
    "\"networking.k8s.io\"],\"apiVersions\":[\"" version                                           \
    "\"],\"operations\":[\"CREATE\"],\"resources\":[\"servicecidrs\"]}]}]}"
#define NEXT_137(more)                                                                             \
    "{\"targetVersion\":\"1.37\",\"acceptedUnknowns\":[\"flags-unread\",\"objects-unread\","       \
    "\"beyond-data\",\"api-use\"]" more "}"

/* The objects are read before there is a verdict, and again when a plan changes: one that turns
 * blocked because of an object has the Event and the metric of which alerts are made. */
START_TEST(objects_turn_a_plan)
{
    begin(NULL, true);
    start();
    publish(SAFE);
    make_plan("next", NEXT_137(""));
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Safe\"");
    apiworld_wait_for(&world, NEXT, "\"readAt\":\"20");
    check_absent(NEXT, "\"unread\"");
    check_absent(NEXT, "objects-pending");
    wait_for_text(write_metrics, "plan=\"next\",verdict=\"Safe\"} 1");
    ck_assert_int_eq(apiworld_request(&world, "POST", HOOKS, HOOK("v1beta1"), NULL), 201);
    make_plan("other", NEXT_137(""));
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Blocked\"");
    apiworld_wait_for(&world, NEXT, "\"reason\":\"rule-version\"");
    apiworld_wait_for(&world, NEXT,
                      "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration h "
                      "webhooks[0].rules[0]: networking.k8s.io/v1beta1 servicecidrs is removed in "
                      "1.37");
    apiworld_wait_for(&world, EVENTS, "\"reason\":\"PlanBlocked\"");
    wait_for_text(write_metrics, "plan=\"next\",verdict=\"Blocked\"} 1");
    end();
}
END_TEST

/* What may not be listed is named, and unknown. */
START_TEST(objects_may_not_be_read)
{
    begin("get,list,watch compatibilityplans;get,list roles;patch *;create,patch events", true);
    make_plan("next", NEXT_137(""));
    start();
    publish(SAFE);
    apiworld_wait_for(&world, NEXT, "\"verdict\":\"Safe\"");
    apiworld_wait_for(&world, NEXT, "\"clusterroles.rbac.authorization.k8s.io: ");
    check_absent(NEXT, "\"roles.rbac.authorization.k8s.io: ");
    end();
}
END_TEST

START_TEST(a_missing_right_fails_the_run)
{
    begin("get,list,watch *;create,patch events", true);
    make_plan("next", SPEC);
    start();
    publish(SAFE);
    wait_for_text(write_metrics,
                  "controller_runtime_reconcile_errors_total{controller=\"compatibilityplan\"}");
    check_absent(NEXT, "\"verdict\"");
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan");

    tcase_add_test(tc, the_kind_is_not_served);
    tcase_add_test(tc, a_plan_follows_the_cluster);
    tcase_add_test(tc, a_plan_that_is_deleted_has_no_metric);
    tcase_add_test(tc, only_the_leader_writes);
    tcase_add_test(tc, many_plans);
    tcase_add_test(tc, objects_turn_a_plan);
    tcase_add_test(tc, objects_may_not_be_read);
    tcase_add_test(tc, a_missing_right_fails_the_run);
    return ek_test_run("plan", tc);
}
