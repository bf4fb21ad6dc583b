/* SPDX-License-Identifier: Apache-2.0 */
/* The guard for the way back: when it is needed, writes by row, what is registered, and stored
 * objects. */
#include "reconcilers/plan/guard.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/webhooks/compare.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)16 << 20)

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

static yyjson_doc *read_yaml(const char *text)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(text, strlen(text), ARENA_MAX, &doc, &err) == 0, "%s: %s", text,
                  err.message);
    return doc;
}

/* ---- When ---- */

/* servers: minors of binary, emulation and minimum compatibility. to: 0 without a target. want:
 * "reason way-back" of a guard that is needed with "+". */
static const struct {
    const char *name, *spec;
    struct {
        unsigned binary, emulation, min_compat;
    } servers[2];
    unsigned to;
    bool was_on;
    const char *want;
} needs[] = {
    {"off by default", "{}", {{36, 36, 35}}, 36, false, "Off 1.35"},
    {"off", "{guard: \"Off\"}", {{36, 36, 35}}, 36, true, "Off 1.35"},
    {"a mode that there is not", "{guard: Other}", {{36, 36, 35}}, 36, false, "Off 1.35"},
    {"before the first step", "{guard: Warn}", {{35, 35, 34}}, 36, false, "NoStepTaken 1.34"},
    {"the new binary emulates the version before",
     "{guard: Warn}",
     {{36, 35, 34}},
     36,
     false,
     "+StepTaken 1.34"},
    {"one of two servers has the new binary",
     "{guard: Warn}",
     {{35, 35, 34}, {36, 35, 34}},
     36,
     false,
     "+StepTaken 1.34"},
    {"servers of two versions at rest",
     "{guard: Warn}",
     {{35, 35, 34}, {36, 36, 35}},
     37,
     false,
     "+StepTaken 1.35"},
    {"all steps are taken, and none is confirmed",
     "{guard: Deny}",
     {{36, 36, 35}},
     36,
     false,
     "+StepTaken 1.35"},
    {"the target is further on, and the guard was on",
     "{guard: Warn}",
     {{36, 36, 35}},
     37,
     true,
     "+StepTaken 1.35"},
    {"the target is further on", "{guard: Warn}", {{36, 36, 35}}, 37, false, "NoStepTaken 1.35"},
    {"no target is known", "{guard: Warn}", {{36, 36, 35}}, 0, false, "NoStepTaken 1.35"},
    {"the highest minimum compatibility version counts",
     "{guard: Warn}",
     {{36, 35, 33}, {36, 35, 34}},
     36,
     false,
     "+StepTaken 1.34"},
    {"confirmed",
     "{guard: Warn, confirmedVersion: \"1.36\"}",
     {{36, 36, 35}},
     36,
     true,
     "Confirmed 1.36"},
    {"confirmed for less",
     "{guard: Warn, confirmedVersion: \"1.35\"}",
     {{36, 35, 33}},
     36,
     false,
     "+StepTaken 1.35"},
    {"confirmed for what is lower than the way back",
     "{guard: Warn, confirmedVersion: \"1.30\"}",
     {{36, 36, 35}},
     36,
     false,
     "+StepTaken 1.35"},
    {"confirmed with a text that is no version",
     "{guard: Warn, confirmedVersion: x}",
     {{36, 36, 35}},
     36,
     false,
     "+StepTaken 1.35"},
    {"there is no way back", "{guard: Warn}", {{36, 36, 36}}, 36, false, "Confirmed 1.36"},
    {"older than the data", "{guard: Warn}", {{33, 33, 32}}, 33, false, "BeyondData 1.32"},
    {"newer than the data", "{guard: Warn}", {{37, 37, 36}}, 37, false, "BeyondData 1.36"},
    {"no server is known", "{guard: Warn}", {{0, 0, 0}}, 36, true, "VersionsUnknown "},
};

START_TEST(when_it_is_needed)
{
    yyjson_doc *spec = read_yaml(needs[_i].spec);
    struct ek_part parts[2];
    struct ek_plan_cluster cluster = {.parts = parts};
    const struct ek_minor to = needs[_i].to ? EK_MINOR(1, needs[_i].to) : EK_MINOR_UNKNOWN;
    char at[EK_MINOR_SIZE], got[64];
    struct ek_guard guard;

    for (size_t i = 0; i < 2 && needs[_i].servers[i].binary; i++)
        parts[cluster.n++] = (struct ek_part){.component = EK_KUBE_APISERVER,
                                              .name = "a",
                                              .count = 1,
                                              .at = {EK_MINOR(1, needs[_i].servers[i].binary),
                                                     EK_MINOR(1, needs[_i].servers[i].emulation),
                                                     EK_MINOR(1, needs[_i].servers[i].min_compat)}};
    ek_guard_find(yyjson_doc_get_root(spec), &cluster, &data, to, needs[_i].was_on, &guard);
    snprintf(got, sizeof got, "%s%s %s", guard.needed ? "+" : "", guard.reason,
             ek_minor_format(guard.way_back, at));
    ck_assert_msg(!strcmp(got, needs[_i].want), "%s: %s, want %s", needs[_i].name, got,
                  needs[_i].want);
    yyjson_doc_free(spec);
}
END_TEST

/* ---- Writes ---- */

#define POD(spec)    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {" spec "}\n"
#define PLAIN        POD("containers: [{name: a}]")
#define NEW          POD("containers: [{name: a}], schedulingGroup: {podGroupName: g}")
#define RULES(names) "containers: [" names "]"
#define RESTART(n)   "{name: " n ", restartPolicyRules: [{action: Restart}]}"
#define CLAIM                                                                                      \
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec: {devices: {}" \
    "}\n"
#define CRD(rule)                                                                                  \
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"   \
    "spec: {versions: [{name: v1, schema: {openAPIV3Schema: {type: object, "                       \
    "x-kubernetes-validations: [{rule: \"" rule "\"}]}}}]}\n"
#define DRIVER(value)                                                                              \
    "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: a}\n"                        \
    "spec: {preventPodSchedulingIfMissing: " value "}\n"
#define SORT  "self.a.sort().size() > 0"
#define ADMIN "{username: alice, groups: [\"system:authenticated\"]}"
#define KCM                                                                                        \
    "{username: \"system:serviceaccount:kube-system:replicaset-controller\", groups: "             \
    "[\"system:serviceaccounts\", \"system:serviceaccounts:kube-system\"]}"

/* warn, deny: minors; 0: none. old: NULL for CREATE. want: "result: text", of which the text may
 * end before the first warning or the message does. */
static const struct {
    const char *name;
    unsigned warn, deny;
    const char *user, *old, *object, *want;
} writes[] = {
    {"nothing new", 35, 0, ADMIN, NULL, PLAIN, "clean: "},
    {"a field", 35, 0, ADMIN, NULL, NEW,
     "warned: spec.schedulingGroup: Kubernetes 1.35 does not know the field, which came with 1.36, "
     "and drops it after a way back (CompatibilityPlan w keeps the way back to 1.35 open)"},
    {"the version before knew the field", 35, 0, ADMIN, NULL, POD("containers: [" RESTART("a") "]"),
     "clean: "},
    {"and the one before did not", 33, 0, ADMIN, NULL, POD("containers: [" RESTART("a") "]"),
     "warned: spec.containers[0].restartPolicyRules: Kubernetes 1.33 does not know the field, "
     "which "
     "came with 1.34"},
    {"denied", 0, 35, ADMIN, NULL, NEW,
     "denied: CompatibilityPlan d keeps the way back to 1.35 open: spec.schedulingGroup: "
     "Kubernetes "
     "1.35 does not know the field, which came with 1.36, and drops it after a way back. When "
     "nobody will go back, set spec.confirmedVersion of the plan to 1.36"},
    {"a field that API servers default", 0, 35, ADMIN, NULL, DRIVER("false"), "clean: "},
    {"the same field, when it is used", 0, 35, ADMIN, NULL, DRIVER("true"),
     "denied: CompatibilityPlan d keeps the way back to 1.35 open: "
     "spec.preventPodSchedulingIfMissing: "},
    {"denied where another plan warns", 33, 35, ADMIN, NULL, NEW, "denied: CompatibilityPlan d"},
    {"warned of what the plan that denies allows", 33, 35, ADMIN, NULL,
     POD("containers: [" RESTART("a") "]"), "warned: spec.containers[0].restartPolicyRules"},
    {"the control plane is warned", 0, 35, KCM, NULL, NEW, "warned: spec.schedulingGroup"},
    {"a name that only looks like it", 0, 35, "{username: \"system:serviceaccount:kube-system:x\"}",
     NULL, NEW, "denied: "},
    {"nodes", 0, 35, "{username: \"system:node:n\", groups: [\"system:nodes\"]}", NULL, NEW,
     "warned: "},
    {"without a user", 0, 35, "{}", NULL, NEW, "denied: "},
    /* Updates */
    {"the object had the field", 0, 35, ADMIN, NEW, NEW, "clean: "},
    {"the field is added", 0, 35, ADMIN, PLAIN, NEW, "denied: "},
    {"the field is taken away", 0, 35, ADMIN, NEW, PLAIN, "clean: "},
    {"the same in one more container", 0, 33, ADMIN, POD(RULES(RESTART("a"))),
     POD(RULES(RESTART("a") ", " RESTART("b"))),
     "denied: CompatibilityPlan d keeps the way back to 1.33 open: "
     "spec.containers[0].restartPolicyRules: Kubernetes 1.33 does not know the field, which came "
     "with 1.34, and drops it after a way back (and 1 more places)"},
    {"containers in another order", 0, 33, ADMIN, POD(RULES("{name: b}, " RESTART("a"))),
     POD(RULES(RESTART("a") ", {name: b}")), "clean: "},
    {"an object that is being deleted", 0, 35, ADMIN, PLAIN,
     "apiVersion: v1\nkind: Pod\nmetadata: {name: a, deletionTimestamp: x}\nspec: "
     "{schedulingGroup: {}}\n",
     "clean: "},
    {"the status", 33, 0, ADMIN, NULL,
     "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {declaredFeatures: [a]}\n",
     "clean: "},
    /* API versions */
    {"an API version", 33, 0, ADMIN, NULL, CLAIM,
     "warned: Kubernetes 1.33 does not serve resource.k8s.io/v1 ResourceClaim, which came with "
     "1.34 "},
    {"which the version before had", 35, 0, ADMIN, NULL, CLAIM, "clean: "},
    {"an alpha version without a lifecycle", 35, 0, ADMIN, NULL,
     "apiVersion: scheduling.k8s.io/v1alpha2\nkind: Workload\nmetadata: {name: a}\n",
     "warned: Kubernetes 1.35 does not serve scheduling.k8s.io/v1alpha2 Workload, which came with "
     "1.36 "},
    {"denied when the object is made", 0, 33, ADMIN, NULL, CLAIM, "denied: "},
    {"an update with an API version is never denied", 0, 33, ADMIN, CLAIM, CLAIM, "clean: "},
    /* Expressions */
    {"an expression", 34, 0, ADMIN, NULL, CRD(SORT),
     "warned: spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Kubernetes "
     "1.34 runs the expression where it is stored, and refuses the expression in a new object: "},
    {"an expression that the version runs is not denied", 0, 34, ADMIN, NULL, CRD(SORT),
     "warned: spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Kubernetes "
     "1.34 runs the expression "},
    {"an expression that the version does not run", 0, 33, ADMIN, NULL, CRD(SORT),
     "denied: CompatibilityPlan d keeps the way back to 1.33 open: "
     "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Kubernetes 1.33 "
     "refuses the expression: "},
    {"which the version before compiles", 35, 0, ADMIN, NULL, CRD(SORT), "clean: "},
    {"an expression of all versions", 34, 0, ADMIN, NULL, CRD("self.a.size() > 0"), "clean: "},
    {"an expression that no version compiles", 34, 0, ADMIN, NULL, CRD("("), "clean: "},
    {"the expression was there", 0, 34, ADMIN, CRD(SORT), CRD(SORT), "clean: "},
    {"custom resources", 33, 33, ADMIN, NULL,
     "apiVersion: example.com/v1\nkind: Widget\nspec: {schedulingGroup: {}}\n", "clean: "},
};

static struct ek_guard_rules rules_of(unsigned warn, unsigned deny)
{
    struct ek_guard_rules rules = {.newest = EK_MINOR_UNKNOWN};
    const struct ek_guard none = {EK_GUARD_OFF, false, "", EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN};

    ek_guard_merge(&rules, &none, "none");
    if (warn)
        ek_guard_merge(
            &rules, &(struct ek_guard){EK_GUARD_WARN, true, "", EK_MINOR(1, warn), EK_MINOR(1, 36)},
            "w");
    if (deny)
        ek_guard_merge(
            &rules, &(struct ek_guard){EK_GUARD_DENY, true, "", EK_MINOR(1, deny), EK_MINOR(1, 36)},
            "d");
    return rules;
}

struct write {
    yyjson_doc *user, *old, *object;
    struct ek_admission_request request;
    struct ek_admission_response response;
    struct ek_arena *arena;
};

static void open_write(struct write *w, const char *user, const char *old, const char *object)
{
    *w = (struct write){.user = read_yaml(user),
                        .old = old ? read_yaml(old) : NULL,
                        .object = read_yaml(object),
                        .arena = ek_arena_new(ARENA_MAX)};
    w->request = (struct ek_admission_request){.operation = old ? "UPDATE" : "CREATE",
                                               .subresource = "",
                                               .user_info = yyjson_doc_get_root(w->user),
                                               .object = yyjson_doc_get_root(w->object),
                                               .old_object = yyjson_doc_get_root(w->old)};
}

static void close_write(struct write *w)
{
    yyjson_doc_free(w->user);
    yyjson_doc_free(w->old);
    yyjson_doc_free(w->object);
    ek_arena_free(w->arena);
}

START_TEST(writes_by_row)
{
    const struct ek_guard_rules rules = rules_of(writes[_i].warn, writes[_i].deny);
    const char *want = writes[_i].want;
    struct write w;

    open_write(&w, writes[_i].user, writes[_i].old, writes[_i].object);
    enum ek_guard_result result =
        ek_guard_review(&rules, &data, &w.request, w.arena, NULL, &w.response);
    const char *text = w.response.message      ? w.response.message
                       : w.response.n_warnings ? w.response.warnings[0]
                                               : "";
    EK_AUTOFREE char *got = ek_xasprintf("%s: %s", ek_guard_result_name(result), text);
    ck_assert_msg(!strncmp(got, want, strlen(want)) &&
                      (result != EK_GUARD_CLEAN || !strcmp(got, want)),
                  "%s: %s, want %s", writes[_i].name, got, want);
    ck_assert_int_eq(w.response.allowed, result != EK_GUARD_DENIED);
    ck_assert_int_eq(w.response.code, result == EK_GUARD_DENIED ? 403 : 0);
    close_write(&w);
}
END_TEST

/* A subresource is none of the guard's business. */
START_TEST(a_subresource)
{
    const struct ek_guard_rules rules = rules_of(0, 35);
    struct write w;

    open_write(&w, ADMIN, NULL, NEW);
    w.request.subresource = "status";
    ck_assert_int_eq(ek_guard_review(&rules, &data, &w.request, w.arena, NULL, &w.response),
                     EK_GUARD_CLEAN);
    close_write(&w);
}
END_TEST

/* ---- Limits ---- */

static bool is_over(void *arg)
{
    unsigned *left = arg;

    return *left == 0 || --*left == 0;
}

/* A write that takes too long is answered all the same. */
START_TEST(no_time)
{
    static const struct {
        unsigned warn, deny;
        const char *user;
        bool allowed;
    } cases[] = {{34, 0, ADMIN, true}, {0, 34, ADMIN, false}, {0, 34, KCM, true}};
    const struct ek_guard_rules rules = rules_of(cases[_i].warn, cases[_i].deny);
    unsigned looks = 1;
    struct ek_work work = {.is_over = is_over, .arg = &looks};
    struct write w;

    open_write(&w, cases[_i].user, NULL, CRD(SORT));
    ck_assert_int_eq(ek_guard_review(&rules, &data, &w.request, w.arena, &work, &w.response),
                     EK_GUARD_UNDECIDED);
    ck_assert_int_eq(w.response.allowed, cases[_i].allowed);
    ck_assert_int_eq(w.response.n_warnings, cases[_i].allowed);
    ck_assert_int_eq(w.response.code, cases[_i].allowed ? 0 : 403);
    close_write(&w);
}
END_TEST

/* What an object may have in thousands of places is one warning. */
START_TEST(many_places)
{
    const struct ek_guard_rules rules = rules_of(33, 0);
    EK_AUTO(ek_buf) text;
    struct write w;

    ek_buf_init(&text, (size_t)4 << 20);
    ek_buf_puts(&text, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n");
    for (int i = 0; i < 3000; i++)
        ek_buf_printf(&text, "  - {name: c%d, restartPolicyRules: [{action: Restart}]}\n", i);
    open_write(&w, ADMIN, NULL, ek_buf_str(&text));
    ck_assert_int_eq(ek_guard_review(&rules, &data, &w.request, w.arena, NULL, &w.response),
                     EK_GUARD_WARNED);
    ck_assert_uint_eq(w.response.n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(w.response.warnings[0], "(and 2999 more places)"));
    close_write(&w);
}
END_TEST

/* ---- What is registered ---- */

static void put_resource(void *ctx, const struct ek_api_row *row)
{
    ek_buf_printf(ctx, "%s/%s ", row->group, row->resource);
}

#define PODS "/pods /podtemplates /replicationcontrollers "
#define WORKLOADS                                                                                  \
    "apps/daemonsets apps/deployments apps/replicasets apps/statefulsets batch/cronjobs "          \
    "batch/jobs "

START_TEST(resources)
{
    EK_AUTO(ek_buf) webhooks, all;

    ek_buf_init(&webhooks, EK_BUF_SMALL_MAX);
    ek_buf_init(&all, EK_BUF_SMALL_MAX);
    ek_guard_resources(&data, EK_MINOR(1, 35), true, put_resource, &webhooks);
    ek_guard_resources(&data, EK_MINOR(1, 35), false, put_resource, &all);
    ck_assert_str_eq(ek_buf_str(&webhooks),
                     PODS "apiextensions.k8s.io/customresourcedefinitions " WORKLOADS
                          "certificates.k8s.io/podcertificaterequests "
                          "resource.k8s.io/deviceclasses resource.k8s.io/resourceclaims "
                          "resource.k8s.io/resourceclaimtemplates resource.k8s.io/resourceslices "
                          "resource.k8s.io/devicetaintrules "
                          "resource.k8s.io/resourcepoolstatusrequests "
                          "scheduling.k8s.io/podgroups scheduling.k8s.io/workloads "
                          "storage.k8s.io/csidrivers ");
    /* API servers call no webhooks for these: only a list finds them. */
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&all), "admissionregistration.k8s.io/validatingadmissionpolicies "));
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&all), "admissionregistration.k8s.io/mutatingwebhookconfigurations "));
}
END_TEST

START_TEST(registration)
{
    static const struct ek_webhooks_options options = {
        .service_namespace = "e", .service_name = "s", .own_namespace = "e"};
    const struct ek_guard_rules on = rules_of(0, 35), off = rules_of(0, 0);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *content = ek_guard_registration(&on, &data, &options, doc);
    yyjson_mut_val *hook = yyjson_mut_arr_get_first(yyjson_mut_obj_get(content, "webhooks"));

    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(content, "webhooks")), 1);
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(hook, "failurePolicy")), "Ignore");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(hook, "matchPolicy")), "Exact");
    ck_assert_int_eq(yyjson_mut_get_int(yyjson_mut_obj_get(hook, "timeoutSeconds")), 3);
    ck_assert_uint_gt(yyjson_mut_arr_size(yyjson_mut_obj_get(hook, "rules")), 10);
    ck_assert_ptr_nonnull(yyjson_mut_obj_get(hook, "namespaceSelector"));
    ck_assert(!ek_webhooks_compare(content, NULL, NULL, false).current);
    /* Without a plan that needs the guard, the webhook goes; there is nothing to write then. */
    content = ek_guard_registration(&off, &data, &options, doc);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(content, "webhooks")), 0);
    ck_assert(ek_webhooks_compare(content, NULL, NULL, false).current);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* ---- Plans ---- */

START_TEST(guards_of_several_plans)
{
    struct ek_guard_rules rules = rules_of(35, 0), none = rules_of(0, 0);

    ck_assert(ek_guard_is_on(&rules));
    ek_guard_merge(&rules,
                   &(struct ek_guard){EK_GUARD_WARN, true, "", EK_MINOR(1, 33), EK_MINOR(1, 36)},
                   "lower");
    ek_guard_merge(&rules,
                   &(struct ek_guard){EK_GUARD_WARN, true, "", EK_MINOR(1, 34), EK_MINOR(1, 36)},
                   "between");
    ck_assert_str_eq(rules.warn.plan, "lower");
    ck_assert_int_eq(ek_minor_cmp(ek_guard_lowest(&rules), EK_MINOR(1, 33)), 0);
    ck_assert(!rules.deny.back.known);
    ck_assert(!ek_guard_is_on(&none));
    ck_assert(!ek_guard_lowest(&none).known);
}
END_TEST

/* ---- Stored objects ---- */

START_TEST(stored_objects)
{
    static const struct {
        unsigned back;
        const char *object, *want;
    } cases[] = {
        {35, PLAIN, ""},
        {35, NEW, "error field-rollback v1 Pod a spec.schedulingGroup"},
        /* No webhook sees these kinds: they are found when they are stored, and not before. */
        {35,
         "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: "
         "{name: m}\n",
         "error api-rollback admissionregistration.k8s.io/v1 MutatingAdmissionPolicy m "},
        {34,
         "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: "
         "{name: v}\nspec: {validations: [{expression: 'object.a.sort().size() > 0'}]}\n",
         "warning expression-rollback admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy v "
         "spec.validations[0].expression"},
        {34,
         "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
         "metadata: {name: w}\nwebhooks: [{name: a, matchConditions: [{name: b, expression: "
         "'object.a.sort().size() > 0'}]}]\n",
         "warning expression-rollback admissionregistration.k8s.io/v1 "
         "ValidatingWebhookConfiguration w webhooks[0].matchConditions[0].expression"},
        {33,
         "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: "
         "{name: v}\nspec: {validations: [{expression: 'object.a.sort().size() > 0'}]}\n",
         "error expression-rollback admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy v "
         "spec.validations[0].expression"},
    };
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    const struct ek_plan_target target = {&data, EK_MINOR(1, cases[_i].back), EK_MINOR(1, 36)};
    yyjson_doc *doc = read_yaml(cases[_i].object);

    ek_guard_check(&target, yyjson_doc_get_root(doc), &report);
    yyjson_doc_free(doc);
    ck_assert_uint_eq(report.n, *cases[_i].want ? 1 : 0);
    if (report.n) {
        const struct ek_plan_finding *f = &report.list[0];
        EK_AUTOFREE char *got = ek_xasprintf("%s %s %s %s", ek_plan_severity_name(f->severity),
                                             f->rule, f->object, f->field);
        ck_assert_str_eq(got, cases[_i].want);
    }
    ek_arena_free(report.arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("guard");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, when_it_is_needed, 0, EK_ARRAY_SIZE(needs));
    tcase_add_loop_test(tcase, writes_by_row, 0, EK_ARRAY_SIZE(writes));
    tcase_add_test(tcase, a_subresource);
    tcase_add_loop_test(tcase, no_time, 0, 3);
    tcase_add_test(tcase, many_places);
    tcase_add_test(tcase, resources);
    tcase_add_test(tcase, registration);
    tcase_add_test(tcase, guards_of_several_plans);
    tcase_add_loop_test(tcase, stored_objects, 0, 6);
    return ek_test_run("guard", tcase);
}
