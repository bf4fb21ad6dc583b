/* SPDX-License-Identifier: Apache-2.0 */
/* CompatibilityPlans: verdicts by row, the status against the schema of deploy/crd, Events, and
 * which change of the cluster makes new plans. */
#include "reconcilers/plan/compat.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "test/support/skew_facts.h"
#include "test/support/statustest.h"
#include "test/support/suite.h"

#define ALL                                                                                        \
    "\"acceptedUnknowns\":[\"api-use\",\"beyond-data\",\"flags-unread\",\"objects-failed\","       \
    "\"objects-unread\",\"version-assumed\"]"
#define FLAGS "\"acceptedUnknowns\":[\"flags-unread\",\"api-use\",\"objects-unread\"]"
#define TO(v) "{\"targetVersion\":\"" v "\"," FLAGS "}"

/* One API server of 1.36 that emulates 1.35, and what goes with it. */
#define SERVER "peer a 1.36.2/1.35/1.34\n"
#define CONTROLLERS                                                                                \
    "inst kube-controller-manager k 1.36.2/1.35\ninst kube-scheduler s 1.36.2/1.35\n"
#define NODES   "group kubelet v1.35.1 2 n1,n2\n"
#define CLUSTER SERVER CONTROLLERS NODES

static struct statustest schema;
static struct ek_plan_data data;

/* Objects were read, and nothing was found. */
static const struct ek_plan_seen nothing = {.at_ms = EK_TEST_NOW, .n_objects = 12};

static void open_all(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    statustest_load(&schema, "evenkeel.dev_compatibilityplans.yaml", "CompatibilityPlan");
}

static void close_all(void)
{
    statustest_free(&schema);
    ek_plan_data_done(&data);
}

/* A plan object; status may be NULL. Owned. */
static struct ek_obj *make_plan(const char *name, const char *made, const char *spec,
                                const char *status)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"CompatibilityPlan\","
                     "\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"7\","
                     "\"generation\":3,\"creationTimestamp\":\"%s\"},\"spec\":%s%s%s}",
                     name, name, made, spec, status ? ",\"status\":" : "", status ? status : "");
    struct ek_obj *obj = NULL;

    ck_assert_msg(ek_obj_parse(text, strlen(text), &obj, NULL) == 0, "%s", text);
    return obj;
}

static struct ek_plan_world *make_world(const char *script, const char *control_plane)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    EK_AUTO(ek_test_facts) facts;
    struct ek_obj *obj = NULL;
    struct ek_skew_spec spec;

    ek_test_facts_init(&facts, script);
    for (size_t i = 0; i < facts.facts.n_groups; i++) /* nodes do not emulate */
        facts.facts.groups[i].versions.emulation = facts.facts.groups[i].versions.binary;
    if (control_plane)
        ck_assert_int_eq(ek_obj_parse(control_plane, strlen(control_plane), &obj, NULL), 0);
    ek_skew_spec_parse(obj, arena, &spec);
    struct ek_plan_world *world = ek_plan_world_new(&facts.facts, &spec, &data);
    ek_obj_unref(obj);
    ek_arena_free(arena);
    return world; /* the facts are gone: the world has copies and references */
}

/* ---- Verdicts ---- */

static const struct {
    const char *name, *facts, *spec;
    enum ek_compat_verdict verdict;
    const char *reason, *message; /* message: a part of it */
    const char *next;             /* summary of the next step; NULL: there is none */
    int can_be_undone;            /* of the next step; -1: absent */
    int steps;                    /* -1: absent; -2: some */
    const char *target;
} rows[] = {
    {"the emulation version is next", CLUSTER, TO("1.36"), EK_COMPAT_SAFE, "Safe",
     "nothing blocks the 5 steps from 1.35 to 1.36; accepted by spec.acceptedUnknowns: ",
     "kube-apiserver a: emulation version 1.35 to 1.36", true, 5, "1.36"},
    {"without a target: the upgrade that was begun", CLUSTER, "{" FLAGS "}", EK_COMPAT_SAFE, "Safe",
     "5 steps from 1.35 to 1.36", "kube-apiserver a: emulation version 1.35 to 1.36", true, 5,
     "1.36"},
    {"without a spec: nothing is accepted", CLUSTER, "{}", EK_COMPAT_UNKNOWN, "Unknown",
     "kube-apiserver a: the flags of the API server cannot be read: a feature gate",
     "kube-apiserver a: emulation version 1.35 to 1.36", true, 5, "1.36"},
    {"a rule that cannot be accepted", "peer a 1.36.2/1.35/1.34\n" NODES,
     "{\"acceptedUnknowns\":[\"flags-unread\",\"objects-unread\",\"version-unknown\"]}",
     EK_COMPAT_UNKNOWN, "Unknown",
     "kube-controller-manager: the version is not known: no instance was seen: evenkeel check "
     "reports what could not be read (and 1 more)",
     NULL, -1, -1, "1.36"},
    {"all is there",
     "peer a 1.36.2/1.36/1.35\ninst kube-controller-manager k 1.36.2/1.36\ninst "
     "kube-scheduler s 1.36.2/1.36\ngroup kubelet v1.36.0 1 n1\n",
     TO("1.36"), EK_COMPAT_SAFE, "Safe", "all components are at 1.36", NULL, -1, 0, "1.36"},
    {"the last way back ends",
     "peer a 1.36.2/1.36/1.34\ninst kube-controller-manager k "
     "1.36.2/1.36\ninst kube-scheduler s 1.36.2/1.36\ngroup kubelet "
     "v1.36.0 1 n1\n",
     TO("1.36"), EK_COMPAT_SAFE, "Safe", "nothing blocks the 1 step from 1.36 to 1.36",
     "kube-apiserver a: minimum compatibility version 1.34 to 1.35", false, 1, "1.36"},
    {"objects are not read", CLUSTER, "{\"acceptedUnknowns\":[\"flags-unread\",\"api-use\"]}",
     EK_COMPAT_UNKNOWN, "Unknown", "check their manifests: evenkeel plan --to 1.36 -f",
     "kube-apiserver a: emulation version 1.35 to 1.36", true, 5, "1.36"},
    {"a node outside of the rules", CLUSTER "group kubelet v1.29.9 1 old\n", TO("1.36"),
     EK_COMPAT_BLOCKED, "Blocked",
     "kubelet v1.29.9 (1): the rule KubeletRange is violated before the first step: evenkeel check "
     "reports the violation",
     NULL, -1, -1, "1.36"},
    {"the API server is newer than the target", CLUSTER, TO("1.34"), EK_COMPAT_BLOCKED, "Blocked",
     "kube-apiserver a: the API server is newer than the target: plan a newer target", NULL, -1, -1,
     "1.34"},
    {"a gate that the next version does not have",
     "peer a 1.35.2/1.35/1.34\nflags a Gone=on\n"
     "inst kube-controller-manager k 1.35.2/1.35\n"
     "inst kube-scheduler s 1.35.2/1.35\n" NODES,
     TO("1.36"), EK_COMPAT_BLOCKED, "Blocked", "unrecognized feature gate: Gone",
     "kube-apiserver a: binary 1.35 to 1.36", true, 8, "1.36"},
    {"beyond the data", CLUSTER, TO("1.37"), EK_COMPAT_UNKNOWN, "Unknown",
     "the data covers 1.33 to 1.36", "kube-apiserver a: binary 1.36 to 1.37", true, -2, "1.37"},
    {"beyond the data, accepted", CLUSTER, "{\"targetVersion\":\"1.37\"," ALL "}", EK_COMPAT_SAFE,
     "Safe", "accepted", "kube-apiserver a: binary 1.36 to 1.37", true, -2, "1.37"},
    {"no API server", CONTROLLERS NODES, "{" FLAGS "}", EK_COMPAT_UNKNOWN, "Unknown",
     "the version of no API server is known", NULL, -1, -1, ""},
    {"foreign text is made printable", "peer a\x1b[31m 1.36.2/1.35/1.34\n" CONTROLLERS NODES, "{}",
     EK_COMPAT_UNKNOWN, "Unknown", "kube-apiserver a?[31m: the flags",
     "kube-apiserver a?[31m: emulation version 1.35 to 1.36", true, 5, "1.36"},

    {"a patch version", CLUSTER, TO("1.36.2"), EK_COMPAT_UNKNOWN, "InvalidTarget",
     "spec.targetVersion: \"1.36.2\" is not a minor version such as 1.37", NULL, -1, -1, ""},
    {"a v", CLUSTER, TO("v1.36"), EK_COMPAT_UNKNOWN, "InvalidTarget", "\"v1.36\"", NULL, -1, -1,
     ""},
    {"a zero before", CLUSTER, TO("1.036"), EK_COMPAT_UNKNOWN, "InvalidTarget", "\"1.036\"", NULL,
     -1, -1, ""},
    {"another major version", CLUSTER, TO("2.36"), EK_COMPAT_UNKNOWN, "InvalidTarget", "\"2.36\"",
     NULL, -1, -1, ""},
    {"no version at all", CLUSTER, TO("next"), EK_COMPAT_UNKNOWN, "InvalidTarget", "\"next\"", NULL,
     -1, -1, ""},
    {"an empty version", CLUSTER, TO(""), EK_COMPAT_UNKNOWN, "InvalidTarget", "\"\"", NULL, -1, -1,
     ""},
    {"a number", CLUSTER, "{\"targetVersion\":1.36}", EK_COMPAT_UNKNOWN, "InvalidTarget", "\"\"",
     NULL, -1, -1, ""},
    {"the farthest target", CLUSTER, TO("1.43"), EK_COMPAT_UNKNOWN, "Unknown", "the data covers",
     "kube-apiserver a: binary 1.36 to 1.38", false, -2, "1.43"},
    {"a target that is too far", CLUSTER, TO("1.44"), EK_COMPAT_UNKNOWN, "InvalidTarget",
     "more than 8 minor versions above 1.35", NULL, -1, -1, "1.44"},
};

static yyjson_val *safe_of(const struct ek_compat *compat)
{
    return ek_cond_find(ek_json_get(ek_obj_root(compat->status), "conditions", NULL), "Safe");
}

static void check_schema(const char *row, const struct ek_compat *compat)
{
    statustest_schema(&schema, row, yyjson_val_mut_copy(schema.doc, ek_obj_root(compat->status)));
}

static void check_step(const char *row, yyjson_val *status, const char *next, int can_be_undone,
                       int steps)
{
    yyjson_val *step = ek_json_get(status, "nextStep", NULL), *n = yyjson_obj_get(status, "steps");
    yyjson_val *undo = yyjson_obj_get(step, "canBeUndone");

    ck_assert_msg((step != NULL) == (next != NULL), "%s", row);
    ck_assert_msg(!next || !strcmp(ek_json_text(step, "summary"), next), "%s: %s", row,
                  ek_json_text(step, "summary"));
    ck_assert_msg((undo ? (int)yyjson_get_bool(undo) : -1) == can_be_undone, "%s", row);
    ck_assert_msg(steps == -2 ? yyjson_get_int(n) > 8 : (n ? (int)yyjson_get_int(n) : -1) == steps,
                  "%s: %d steps", row, n ? (int)yyjson_get_int(n) : -1);
}

START_TEST(verdicts)
{
    static const char *const conditions[] = {"Unknown", "True", "False"};
    const char *row = rows[_i].name;
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(rows[_i].facts, NULL);
    struct ek_obj *plan = make_plan("next", "2026-11-22T10:00:00Z", rows[_i].spec, NULL);
    struct ek_compat compat, again;

    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    yyjson_val *status = ek_obj_root(compat.status), *safe = safe_of(&compat);
    ck_assert_msg(compat.verdict == rows[_i].verdict, "%s: %s: %s", row,
                  ek_compat_verdict_name(compat.verdict), ek_json_text(safe, "message"));
    ck_assert_str_eq(ek_json_text(status, "verdict"), ek_compat_verdict_name(compat.verdict));
    ck_assert_str_eq(ek_json_text(safe, "status"), conditions[compat.verdict]);
    ck_assert_msg(!strcmp(ek_json_text(safe, "reason"), rows[_i].reason), "%s: %s", row,
                  ek_json_text(safe, "reason"));
    ck_assert_msg(strstr(ek_json_text(safe, "message"), rows[_i].message) != NULL, "%s: %s", row,
                  ek_json_text(safe, "message"));
    ck_assert_msg(!strcmp(ek_json_text(status, "target"), rows[_i].target), "%s: %s", row,
                  ek_json_text(status, "target"));
    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(status, "observedGeneration")), 3);
    check_step(row, status, rows[_i].next, rows[_i].can_be_undone, rows[_i].steps);
    check_schema(row, &compat);

    /* Later, with nothing else changed, the status is the same. */
    char *text = yyjson_val_write(status, 0, NULL);
    struct ek_obj *later = make_plan("next", "2026-11-22T10:00:00Z", rows[_i].spec, text);
    ek_compat_judge(later, world, &nothing, NULL, EK_TEST_NOW + 60000, &again);
    ck_assert_msg(ek_json_equal(status, ek_obj_root(again.status)), "%s", row);
    free(text);
    ek_compat_done(&again);
    ek_compat_done(&compat);
    ek_obj_unref(later);
    ek_obj_unref(plan);
}
END_TEST

/* Lists have a bound, and the status says what was left out. */
START_TEST(many_findings)
{
    struct ek_compat compat;
    EK_AUTO(ek_buf) script;

    ek_buf_init(&script, (size_t)1 << 20);
    for (int i = 0; i < 20; i++)
        ek_buf_printf(&script, "peer p%02d 1.35.2/1.35/1.34\nflags p%02d Gone=on\n", i, i);
    ek_buf_puts(&script, "inst kube-controller-manager k 1.35.2/1.35\n"
                         "inst kube-scheduler s 1.35.2/1.35\ngroup kubelet v1.35.1 2 n1,n2\n");
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(ek_buf_str(&script), NULL);
    struct ek_obj *plan = make_plan("next", "", "{\"targetVersion\":\"1.36\"}", NULL);
    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    yyjson_val *status = ek_obj_root(compat.status);
    ck_assert_int_eq(compat.verdict, EK_COMPAT_BLOCKED);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(status, "blockers")), EK_COMPAT_FINDINGS_MAX);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(status, "unknowns")), EK_COMPAT_FINDINGS_MAX);
    ck_assert_int_eq(yyjson_get_int(ek_json_get(status, "summary", "blockers", NULL)), 20);
    ck_assert_int_eq(yyjson_get_int(ek_json_get(status, "omitted", "blockers", NULL)), 4);
    ck_assert_int_ge(yyjson_get_int(ek_json_get(status, "omitted", "unknowns", NULL)), 4);
    ck_assert_ptr_nonnull(strstr(ek_json_text(safe_of(&compat), "message"), " (and 19 more)"));
    check_schema("many", &compat);
    ek_compat_done(&compat);
    ek_obj_unref(plan);
}
END_TEST

/* As many API servers and minors as there may be: the search ends at its bound, and says so. */
START_TEST(the_largest_cluster)
{
    struct ek_compat compat;
    EK_AUTO(ek_buf) script;

    ek_buf_init(&script, (size_t)1 << 20);
    for (int i = 0; i < 120; i++)
        ek_buf_printf(&script, "peer p%03d 1.36.2/1.%d/1.34\n", i, i % 2 ? 35 : 36);
    ek_buf_puts(&script, CONTROLLERS NODES);
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(ek_buf_str(&script), NULL);
    struct ek_obj *plan = make_plan("far", "", "{\"targetVersion\":\"1.43\"," ALL "}", NULL);
    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    ck_assert_int_eq(compat.verdict, EK_COMPAT_UNKNOWN);
    ck_assert_str_eq(
        ek_json_text(safe_of(&compat), "message"),
        "the search for the order of steps found no end: plan a target that is nearer");
    check_schema("large", &compat);
    ek_compat_done(&compat);
    ek_obj_unref(plan);
}
END_TEST

/* ---- Worlds ---- */

static const struct {
    const char *name, *facts, *control_plane;
    bool same;
} worlds[] = {
    {"the same", CLUSTER, NULL, true},
    {"ages alone", "peer a 1.36.2/1.35/1.34 age=9 lease=x\n" CONTROLLERS NODES, NULL, true},
    {"a server that is gone", CLUSTER "peer b ?/?/? dead\n", NULL, true},
    {"an API that stays", CLUSTER "serves a apps/v1/deployments networking.k8s.io/v1/ingresses\n",
     NULL, false /* discovery is known now */},
    {"another emulation version", "peer a 1.36.2/1.36/1.34\n" CONTROLLERS NODES, NULL, false},
    {"another minimum compatibility version", "peer a 1.36.2/1.35/1.35\n" CONTROLLERS NODES, NULL,
     false},
    {"another controller",
     SERVER NODES "inst kube-controller-manager k 1.36.2/1.35\ninst "
                  "kube-scheduler t 1.36.2/1.35\n",
     NULL, false},
    {"one more node", SERVER CONTROLLERS "group kubelet v1.35.1 3 n1,n2\n", NULL, false},
    {"a flag", CLUSTER "flags a GangScheduling=on\n", NULL, false},
    {"not enumerated", CLUSTER "unlisted forbidden\n", NULL, false},
    {"not enumerated for another reason", CLUSTER "unlisted why\n", NULL, false},
    {"another policy", CLUSTER,
     "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"skewPolicy\":{\"maxAPIServerSkew\":2}}}",
     false},
};

START_TEST(changes)
{
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *a = make_world(CLUSTER, NULL);
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *b =
        make_world(worlds[_i].facts, worlds[_i].control_plane);

    ck_assert_msg(ek_plan_world_equal(a, b) == worlds[_i].same, "%s", worlds[_i].name);
    ck_assert(!ek_plan_world_equal(NULL, b));
}
END_TEST

START_TEST(served_resources_count)
{
    static const char with[] = CLUSTER "serves a networking.k8s.io/v1beta1/ipaddresses\n";
    static const char without[] = CLUSTER "serves a apps/v1/deployments\n";
    static const char other[] = CLUSTER "serves a apps/v1/daemonsets\n";
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *a = make_world(with, NULL);
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *b = make_world(without, NULL);
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *c = make_world(other, NULL);

    ck_assert(!ek_plan_world_equal(a, b));
    ck_assert(ek_plan_world_equal(b, c));
}
END_TEST

/* ---- Events ---- */

static const struct {
    const char *was, *facts, *reason; /* reason: NULL for no Event */
    bool warning;
} events[] = {
    {NULL, CLUSTER, "PlanSafe", false},
    {"Safe", CLUSTER, NULL, false},
    {"Unknown", CLUSTER, "PlanSafe", false},
    {"Blocked", CLUSTER, "PlanSafe", false},
    {NULL, CLUSTER "group kubelet v1.29.9 1 old\n", "PlanBlocked", true},
    {"Safe", CLUSTER "group kubelet v1.29.9 1 old\n", "PlanBlocked", true},
    {"Unknown", CLUSTER "group kubelet v1.29.9 1 old\n", "PlanBlocked", true},
    {"Blocked", CLUSTER "group kubelet v1.29.9 1 old\n", NULL, false},
    {NULL, CLUSTER "unlisted why\n", NULL, false},
    {"Safe", CLUSTER "unlisted why\n", "PlanUnknown", false},
    {"Unknown", CLUSTER "unlisted why\n", NULL, false},
    {"Blocked", CLUSTER "unlisted why\n", "PlanUnknown", false},
};

START_TEST(events_of_changes)
{
    EK_AUTOFREE char *status =
        events[_i].was ? ek_xasprintf("{\"verdict\":\"%s\"}", events[_i].was) : NULL;
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(events[_i].facts, NULL);
    struct ek_obj *plan = make_plan("next", "", TO("1.36"), status);
    struct ek_compat compat;
    EK_AUTO(ek_intents) intents;

    ek_intents_init(&intents);
    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    ek_compat_intents(plan, &compat, &intents);
    ck_assert_uint_eq(intents.n, events[_i].reason ? 2 : 1);
    ck_assert_int_eq(intents.items[0].verb, EK_APPLY_STATUS);
    ck_assert_str_eq(intents.items[0].name, "next");
    ck_assert_str_eq(intents.items[0].uid, "u-next");
    if (events[_i].reason) {
        const struct ek_intent *event = &intents.items[1];
        ck_assert_int_eq(event->verb, EK_EVENT);
        ck_assert(event->depends);
        ck_assert_str_eq(event->event.reason, events[_i].reason);
        ck_assert_int_eq(event->event.warning, events[_i].warning);
        ck_assert_str_eq(event->event.note, ek_json_text(safe_of(&compat), "message"));
        ck_assert_str_eq(event->event.regarding.name, "next");
    }
    ek_compat_done(&compat);
    ek_obj_unref(plan);
}
END_TEST

/* An equal status is not written. */
START_TEST(an_equal_status_rests)
{
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(CLUSTER, NULL);
    struct ek_obj *plan = make_plan("next", "", TO("1.36"), NULL);
    struct ek_compat compat, again;
    EK_AUTO(ek_intents) intents;

    ek_intents_init(&intents);
    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    char *text = yyjson_val_write(ek_obj_root(compat.status), 0, NULL);
    struct ek_obj *later = make_plan("next", "", TO("1.36"), text);
    ek_compat_judge(later, world, &nothing, NULL, EK_TEST_NOW + 1, &again);
    ek_compat_intents(later, &again, &intents);
    ck_assert_uint_eq(intents.n, 0);
    free(text);
    ek_compat_done(&compat);
    ek_compat_done(&again);
    ek_obj_unref(later);
    ek_obj_unref(plan);
}
END_TEST

/* ---- Objects ---- */

#define ACCEPT(rules) "{\"targetVersion\":\"1.37\",\"acceptedUnknowns\":[" rules "]}"
#define USUAL         "\"flags-unread\",\"objects-unread\",\"beyond-data\""

/* What objects do to a verdict. seen: the findings, or NULL before the first reading. */
static const struct {
    const char *name, *spec;
    bool read;
    struct ek_plan_finding found[2];
    const char *unread;
    size_t n_more;
    struct ek_minor from; /* of the reading */
    enum ek_compat_verdict verdict;
    const char *message;
} seen_rows[] = {
    {"not read yet: nothing accepts that", ACCEPT(USUAL ",\"api-use\""), false, .found = {{0}},
     .verdict = EK_COMPAT_UNKNOWN,
     .message = "objects of the cluster: the objects of the cluster are being read: wait"},
    {"nothing is found", ACCEPT(USUAL ",\"api-use\""), true, .verdict = EK_COMPAT_SAFE,
     .message = "nothing blocks"},
    {"fields and expressions are not read", ACCEPT("\"flags-unread\",\"beyond-data\",\"api-use\""),
     true, .verdict = EK_COMPAT_UNKNOWN,
     .message = "does not read the fields and expressions of objects, the Services of conversion "
                "webhooks, "},
    {"an error blocks, whatever is accepted", ACCEPT(USUAL ",\"api-use\""), true,
     .found = {{.severity = EK_PLAN_ERROR,
                .rule = "rule-version",
                .object = "a/v1 Hook h",
                .field = "webhooks[0]",
                .message = "why",
                .remedy = "do"}},
     .verdict = EK_COMPAT_BLOCKED, .message = "a/v1 Hook h webhooks[0]: why: do"},
    {"a warning does not", ACCEPT(USUAL ",\"api-use\""), true,
     .found = {{.severity = EK_PLAN_WARNING, .rule = "apiservice", .message = "why"}},
     .verdict = EK_COMPAT_SAFE, .message = "nothing blocks"},
    {"read for a newer version to start from", ACCEPT(USUAL ",\"api-use\""), true,
     .from = {true, 1, 37}, .verdict = EK_COMPAT_UNKNOWN,
     .message = "the objects of the cluster are being read"},
    {"a client that wrote is unknown", ACCEPT(USUAL), true,
     .found = {{.severity = EK_PLAN_UNKNOWN,
                .rule = "api-written",
                .object = "v1 A a",
                .message = "ctl wrote 3 objects",
                .remedy = "do"}},
     .verdict = EK_COMPAT_UNKNOWN, .message = "v1 A a: ctl wrote 3 objects: do"},
    {"accepted with the use of APIs", ACCEPT(USUAL ",\"api-use\""), true,
     .found = {{.severity = EK_PLAN_UNKNOWN, .rule = "api-written", .message = "why"}},
     .verdict = EK_COMPAT_SAFE, .message = "nothing blocks"},
    {"a rule of RBAC beyond the data", ACCEPT(USUAL ",\"api-use\""), true,
     .found = {{.severity = EK_PLAN_UNKNOWN, .rule = "rbac-rule", .message = "why"}},
     .verdict = EK_COMPAT_SAFE, .message = "nothing blocks"},
    {"what may not be read is named", ACCEPT("\"flags-unread\",\"beyond-data\",\"api-use\""), true,
     .unread = "roles.rbac.authorization.k8s.io: forbidden", .verdict = EK_COMPAT_UNKNOWN,
     .message = "(and 1 more)"},
    {"what cannot be read is not accepted with what a plan never reads",
     ACCEPT(USUAL ",\"api-use\""), true, .unread = "roles.rbac.authorization.k8s.io: forbidden",
     .verdict = EK_COMPAT_UNKNOWN,
     .message = "objects of the cluster: 1 resource cannot be read to find who uses what goes: "
                "roles.rbac.authorization.k8s.io: forbidden: "},
    {"accepted by its own name", ACCEPT(USUAL ",\"api-use\",\"objects-failed\""), true,
     .unread = "roles.rbac.authorization.k8s.io: forbidden", .verdict = EK_COMPAT_SAFE,
     .message = "accepted by spec.acceptedUnknowns: "},
    {"what has no room is counted", ACCEPT(USUAL ",\"api-use\""), true, .n_more = 5,
     .verdict = EK_COMPAT_UNKNOWN, .message = "5 more findings about objects are left out"},
};

/* A cluster of 1.36 in which nothing is left to do before 1.37. */
#define AT_136                                                                                     \
    "peer a 1.36.2/1.36/1.35\ninst kube-controller-manager k 1.36.2/1.36\ninst kube-scheduler s "  \
    "1.36.2/1.36\ngroup kubelet v1.36.0 1 n1\n"

START_TEST(objects_of_the_cluster)
{
    const char *row = seen_rows[_i].name;
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(AT_136, NULL);
    struct ek_obj *plan = make_plan("next", "", seen_rows[_i].spec, NULL);
    const char *unread[] = {seen_rows[_i].unread};
    struct ek_plan_seen seen = {.from = seen_rows[_i].from,
                                .at_ms = EK_TEST_NOW - 60000,
                                .n_objects = 7,
                                .n_more = seen_rows[_i].n_more,
                                .unread = unread,
                                .n_unread = seen_rows[_i].unread != NULL};
    struct ek_plan_finding found[2];
    struct ek_compat compat;

    memcpy(found, seen_rows[_i].found, sizeof found);
    for (size_t i = 0; i < EK_ARRAY_SIZE(found); i++) {
        found[i].object = found[i].object ? found[i].object : "";
        found[i].field = found[i].field ? found[i].field : "";
        seen.report.n += found[i].rule != NULL;
    }
    seen.report.list = found;
    ek_compat_judge(plan, world, seen_rows[_i].read ? &seen : NULL, NULL, EK_TEST_NOW, &compat);
    yyjson_val *status = ek_obj_root(compat.status), *objects = yyjson_obj_get(status, "objects");
    const char *message = ek_json_text(safe_of(&compat), "message");
    ck_assert_msg(compat.verdict == seen_rows[_i].verdict, "%s: %s: %s", row,
                  ek_compat_verdict_name(compat.verdict), message);
    ck_assert_msg(strstr(message, seen_rows[_i].message) != NULL, "%s: %s", row, message);
    ck_assert_msg((objects != NULL) == seen_rows[_i].read, "%s", row);
    ck_assert_msg(!compat.held, "%s", row);
    if (objects) {
        char at[EK_TIME_SIZE];
        ck_assert_str_eq(ek_json_text(objects, "readAt"), ek_time_format(seen.at_ms, at));
        ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(objects, "count")), 7);
        ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(objects, "unread")), seen.n_unread);
    }
    check_schema(row, &compat);
    ek_compat_done(&compat);
    ek_obj_unref(plan);
}
END_TEST

/* Before the first reading of a process, a verdict for which objects were read is not taken back;
 * one for another target, or without objects, is. */
static const struct {
    const char *status, *more;
    bool held;
} held_rows[] = {
    {NULL, "", false},
    {"{\"verdict\":\"Blocked\",\"target\":\"1.37\"}", "", false},
    {"{\"verdict\":\"Blocked\",\"target\":\"1.37\",\"objects\":{\"readAt\":\"a\"}}", "", true},
    {"{\"verdict\":\"Blocked\",\"target\":\"1.38\",\"objects\":{\"readAt\":\"a\"}}", "", false},
    /* what blocks without the objects is not held back */
    {"{\"verdict\":\"Safe\",\"target\":\"1.37\",\"objects\":{\"readAt\":\"a\"}}",
     "group kubelet v1.29.9 1 old\n", false},
};

START_TEST(a_restart_takes_no_verdict_back)
{
    EK_AUTOFREE char *script = ek_xasprintf("%s%s", AT_136, held_rows[_i].more);
    EK_AUTOPTR(ek_plan_world, ek_plan_world_free) *world = make_world(script, NULL);
    struct ek_obj *plan = make_plan("next", "", ACCEPT(USUAL), held_rows[_i].status);
    struct ek_compat compat;

    ek_compat_judge(plan, world, NULL, NULL, EK_TEST_NOW, &compat);
    ck_assert_int_eq(compat.held, held_rows[_i].held);
    ek_compat_done(&compat);
    ek_compat_judge(plan, world, &nothing, NULL, EK_TEST_NOW, &compat);
    ck_assert(!compat.held);
    ek_compat_done(&compat);
    ek_obj_unref(plan);
}
END_TEST

/* ---- Which plans ---- */

START_TEST(the_oldest_come_first)
{
    struct ek_obj *plans[] = {make_plan("new", "2026-11-22T10:00:02Z", "{}", NULL),
                              make_plan("b", "2026-11-22T10:00:01Z", "{}", NULL),
                              make_plan("a", "2026-11-22T10:00:01Z", "{}", NULL),
                              make_plan("old", "2025-12-31T23:59:59Z", "{}", NULL)};
    static const char *const want[] = {"old", "a", "b", "new"};

    ek_compat_sort(plans, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(ek_obj_name(plans[i]), want[i]);
        ek_obj_unref(plans[i]);
    }
    ek_compat_sort(NULL, 0);
}
END_TEST

/* One too many: said once for each generation, and a verdict of before is withdrawn. */
START_TEST(one_too_many)
{
    struct ek_obj *plan = make_plan("late", "", "{}", "{\"verdict\":\"Safe\"}");
    EK_AUTO(ek_intents) intents;
    EK_AUTO(ek_intents) none;

    ek_intents_init(&intents);
    ek_intents_init(&none);
    ek_compat_refuse(plan, EK_TEST_NOW, &intents);
    ck_assert_uint_eq(intents.n, 2);
    ck_assert_str_eq(intents.items[1].event.reason, "PlanUnknown");
    yyjson_mut_val *status = yyjson_mut_obj_get(intents.items[0].content, "status");
    statustest_schema(&schema, "late", yyjson_mut_val_mut_copy(schema.doc, status));
    char *text = yyjson_mut_val_write(status, 0, NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"TooManyPlans\""));
    ck_assert_ptr_nonnull(strstr(text, "\"status\":\"Unknown\""));
    struct ek_obj *said = make_plan("late", "", "{}", text);
    ek_compat_refuse(said, EK_TEST_NOW + 1, &none);
    ck_assert_uint_eq(none.n, 0);
    free(text);
    ek_obj_unref(said);
    ek_obj_unref(plan);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("compat");

    tcase_add_unchecked_fixture(tc, open_all, close_all);
    tcase_add_loop_test(tc, verdicts, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, many_findings);
    tcase_add_test(tc, the_largest_cluster);
    tcase_add_loop_test(tc, changes, 0, EK_ARRAY_SIZE(worlds));
    tcase_add_test(tc, served_resources_count);
    tcase_add_loop_test(tc, events_of_changes, 0, EK_ARRAY_SIZE(events));
    tcase_add_test(tc, an_equal_status_rests);
    tcase_add_loop_test(tc, objects_of_the_cluster, 0, EK_ARRAY_SIZE(seen_rows));
    tcase_add_loop_test(tc, a_restart_takes_no_verdict_back, 0, EK_ARRAY_SIZE(held_rows));
    tcase_add_test(tc, the_oldest_come_first);
    tcase_add_test(tc, one_too_many);
    return ek_test_run("compat", tc);
}
