/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CompatibilityPlans in the frame, against the built-in API server: what is written when facts or
 * plans change, what other replicas show, and what happens where the kind is not served.
 */
#include <stdio.h>
#include <string.h>

#include "controller/plan/subject.h"
#include "reconcilers/plan/compat.h"
#include "reconcilers/plan/guard.h"
#include "reconcilers/skew/spec.h"
#include "test/support/skew_facts.h"
#include "test/support/subjectbench.h"
#include "test/support/suite.h"

#define PLANS "/apis/evenkeel.dev/v1alpha1/compatibilityplans"
#define NEXT  PLANS "/next"
#define GUARD "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" EK_GUARD_NAME

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

static struct subjectbench bench;
static struct ek_controller *controller;

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
    struct ek_subject_env env = subjectbench_env(&bench, 0);

    env.now_ms = now_ms;
    controller = subjectbench_run(&bench, 0, &env);
}

static void begin(const char *rules, bool served)
{
    static const struct ek_subject *const subjects[] = {&ek_plan_subject};

    subjectbench_start(&bench, rules, subjects, 1);
    uv_check_init(&bench.world.bench.loop, &turns);
    uv_check_start(&turns, on_turn);
    uv_unref((uv_handle_t *)&turns);
    if (served)
        subjectbench_post(&bench, SUBJECTBENCH_CRDS, kind);
}

static void end(void)
{
    uv_close((uv_handle_t *)&turns, NULL);
    subjectbench_stop(&bench);
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
    subjectbench_post(&bench, PLANS, body);
}

static void check_absent(const char *path, const char *piece)
{
    subjectbench_check_absent(&bench, path, piece);
}

static char *version_of(const char *path)
{
    char *body = NULL;

    ck_assert_int_eq(apiworld_request(&bench.world, "GET", path, NULL, &body), 200);
    char *at = strstr(body, "\"resourceVersion\":\"");
    ck_assert_ptr_nonnull(at);
    char *ret = ek_xstrdup(at);
    ret[strcspn(ret, ",}")] = '\0';
    ek_free(body);
    return ret;
}

/* ---- Tests ---- */

/* What an earlier process has registered, as server-side apply of Evenkeel leaves it. */
static void register_guard(void)
{
    static const char body[] =
        "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"
        "\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"" EK_GUARD_NAME "\"},"
        "\"webhooks\":[{\"name\":\"guard.evenkeel.dev\",\"sideEffects\":\"None\","
        "\"admissionReviewVersions\":[\"v1\"],\"clientConfig\":{\"url\":\"https://a\"}}]}";
    const struct ek_request request = {.method = "PATCH",
                                       .path = GUARD "?fieldManager=evenkeel&force=true",
                                       .content_type = "application/apply-patch+yaml",
                                       .body = body,
                                       .body_size = sizeof body - 1};
    struct outcome out = {0};

    ek_client_send(bench.world.admin, &request, outcome_keep, &out);
    clientbench_run_until(&bench.world.bench, &out.n_done);
    ck_assert_msg(out.status == 201, "%d %s", out.status, out.body ? out.body : "");
    outcome_done(&out);
}

/* Where there can be no plan, no guard is left. */
START_TEST(a_guard_of_an_earlier_process_is_withdrawn)
{
    begin(NULL, false);
    register_guard();
    start();
    apiworld_wait_for(&bench.world, GUARD, "\"webhooks\":[]");
    end();
}
END_TEST

START_TEST(the_kind_is_not_served)
{
    begin(NULL, false);
    start();
    subjectbench_wait_for_debug(&bench, "CompatibilityPlan is not served");
    publish(SAFE);
    subjectbench_wait_for_debug(&bench, "\"plans\":0");
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
    subjectbench_wait_for_debug(&bench, "the control plane was not observed yet");
    check_absent(NEXT, "\"verdict\"");
    publish(SAFE);
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Safe\"");
    apiworld_wait_for(&bench.world, NEXT, "\"observedGeneration\":1");
    apiworld_wait_for(&bench.world, SUBJECTBENCH_EVENTS, "\"reason\":\"PlanSafe\"");
    subjectbench_wait_for_metrics(&bench,
                                  "evenkeel_plan_verdict{plan=\"next\",verdict=\"Safe\"} 1");
    publish(BLOCKED);
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Blocked\"");
    apiworld_wait_for(&bench.world, NEXT, "kubelet v1.29.9 (1): the rule KubeletRange is violated");
    apiworld_wait_for(&bench.world, SUBJECTBENCH_EVENTS, "\"reason\":\"PlanBlocked\"");
    subjectbench_wait_for_metrics(&bench,
                                  "evenkeel_plan_verdict{plan=\"next\",verdict=\"Blocked\"} 1");
    subjectbench_wait_for_metrics(&bench,
                                  "evenkeel_plan_verdict{plan=\"next\",verdict=\"Safe\"} 0");
    subjectbench_wait_for_debug(&bench, "\"safe\":0,\"blocked\":1");
    EK_AUTOFREE char *before = version_of(NEXT);
    publish(BLOCKED);
    make_plan("other", "{\"targetVersion\":\"x\"}");
    apiworld_wait_for(&bench.world, PLANS "/other", "\"reason\":\"InvalidTarget\"");
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
    subjectbench_wait_for_metrics(&bench, "plan=\"next\",verdict=\"Safe\"} 1");
    ck_assert_int_eq(apiworld_request(&bench.world, "DELETE", NEXT, NULL, NULL), 200);
    subjectbench_wait_for_debug(&bench, "\"plans\":0");
    EK_AUTO(ek_buf) out;
    ek_buf_init(&out, SUBJECTBENCH_TEXT_MAX);
    subjectbench_metrics(&bench, &out);
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "plan=\"next\""));
    end();
}
END_TEST

/* A replica that does not lead shows metrics and writes nothing, until it leads. */
START_TEST(only_the_leader_writes)
{
    begin(NULL, true);
    make_plan("next", SPEC);
    bench.slots[0].leads = false;
    start();
    publish(SAFE);
    subjectbench_wait_for_metrics(&bench, "plan=\"next\",verdict=\"Safe\"} 1");
    check_absent(NEXT, "\"verdict\"");
    bench.slots[0].leads = true;
    ek_controller_elected(controller);
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Safe\"");
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
    apiworld_wait_for(&bench.world, PLANS "/p00", "\"verdict\":\"Safe\"");
    subjectbench_wait_for_debug(&bench, "\"plans\":23,\"notEvaluated\":3,\"safe\":20");
    ck_assert_uint_lt(max_reads, EK_COMPAT_PLANS_MAX);
    for (bool found = false; !found;) {
        char *body = NULL, *at;
        int n = 0;
        apiworld_request(&bench.world, "GET", PLANS, NULL, &body);
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
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Safe\"");
    apiworld_wait_for(&bench.world, NEXT, "\"readAt\":\"20");
    check_absent(NEXT, "\"unread\"");
    check_absent(NEXT, "objects-pending");
    subjectbench_wait_for_metrics(&bench, "plan=\"next\",verdict=\"Safe\"} 1");
    subjectbench_post(&bench, HOOKS, HOOK("v1beta1"));
    make_plan("other", NEXT_137(""));
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Blocked\"");
    apiworld_wait_for(&bench.world, NEXT, "\"reason\":\"rule-version\"");
    apiworld_wait_for(&bench.world, NEXT,
                      "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration h "
                      "webhooks[0].rules[0]: networking.k8s.io/v1beta1 servicecidrs is removed in "
                      "1.37");
    apiworld_wait_for(&bench.world, SUBJECTBENCH_EVENTS, "\"reason\":\"PlanBlocked\"");
    subjectbench_wait_for_metrics(&bench, "plan=\"next\",verdict=\"Blocked\"} 1");
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
    apiworld_wait_for(&bench.world, NEXT, "\"reason\":\"objects-failed\"");
    apiworld_wait_for(&bench.world, NEXT, "\"verdict\":\"Unknown\"");
    apiworld_wait_for(&bench.world, NEXT, "\"clusterroles.rbac.authorization.k8s.io: ");
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
    subjectbench_wait_for_metrics(
        &bench, "controller_runtime_reconcile_errors_total{controller=\"compatibilityplan\"}");
    check_absent(NEXT, "\"verdict\"");
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan");

    tcase_add_test(tc, the_kind_is_not_served);
    tcase_add_test(tc, a_guard_of_an_earlier_process_is_withdrawn);
    tcase_add_test(tc, a_plan_follows_the_cluster);
    tcase_add_test(tc, a_plan_that_is_deleted_has_no_metric);
    tcase_add_test(tc, only_the_leader_writes);
    tcase_add_test(tc, many_plans);
    tcase_add_test(tc, objects_turn_a_plan);
    tcase_add_test(tc, objects_may_not_be_read);
    tcase_add_test(tc, a_missing_right_fails_the_run);
    return ek_test_run("plan", tc);
}
