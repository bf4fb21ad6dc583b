/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "api/yaml.h"
#include "reconcilers/policylint/lint.h"
#include "test/support/suite.h"

#define TEXT_MAX 4096
#define RULES                                                                                      \
    "  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: "     \
    "[CREATE], resources: [deployments]}]}\n"
#define HEAD(name)                                                                                 \
    "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: "  \
    "{name: " name "}\nspec:\n" RULES
#define APPLY(text)                                                                                \
    "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: '" text "'}}\n"
#define PATCH(text) "  - {patchType: JSONPatch, jsonPatch: {expression: '" text "'}}\n"
#define BINDING(name, more)                                                                        \
    "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\n"     \
    "metadata: {name: " name "}\nspec: {policyName: " name more "}\n"
#define NEVER              "  reinvocationPolicy: Never\n"
#define POLICY(name, text) HEAD(name) NEVER "  mutations:\n" APPLY(text) BINDING(name, "")
#define CONDITION(text)                                                                            \
    HEAD("a")                                                                                      \
    NEVER "  matchConditions: [{name: c, expression: '" text                                       \
          "'}]\n  mutations:\n" APPLY("Object{}") BINDING("a", "")
#define PATCHES(more, text) HEAD("a") NEVER more "  mutations:\n" PATCH(text) BINDING("a", "")
#define ADD(path)           "[JSONPatch{op: \"add\", path: \"" path "\", value: dyn(object.kind)}]"
/* A condition as policies guard labels with, and the label. */
#define GUARD(label)                                                                               \
    "  matchConditions: [{name: c, expression: '!has(object.metadata.labels) || !(\"" label        \
    "\" in "                                                                                       \
    "object.metadata.labels)'}]\n"
#define LABEL(label) "Object{metadata: Object.metadata{labels: {\"" label "\": \"x\"}}}"
#define REPLICAS(n)  "Object{spec: Object.spec{replicas: " n "}}"

static const struct {
    const char *name, *yaml;
    const char *want; /* "severity rule place" each */
    int minor;        /* 36 when 0 */
    bool restless;    /* the policies change their own results */
} rows[] = {
    {"nothing", POLICY("a", "Object{}"), "", 0, false},
    {"no binding", HEAD("a") NEVER "  mutations:\n" APPLY("Object{}"), "info no-binding a; ", 0,
     false},
    {"no bindings at all",
     HEAD("a") NEVER "  mutations:\n" APPLY("Object{}") "---\n" HEAD("b") NEVER
     "  mutations:\n" APPLY("Object{}"),
     "info no-binding a; ", 0, false},
    {"no binding for one of two",
     POLICY("a", "Object{}") "---\n" HEAD("b") NEVER "  mutations:\n" APPLY("Object{}"),
     "info no-binding b; ", 0, false},
    {"a binding to nothing", BINDING("b", ""), "warning no-policy b; ", 0, false},
    {"a mistake in CEL", POLICY("a", "Object{spec: }"), "error compile a; ", 0, false},
    {"not what is wanted", POLICY("a", "1"), "error compile a; ", 0, false},
    {"a member that is missing", HEAD("a") "  mutations:\n" APPLY("Object{}") BINDING("a", ""),
     "error invalid a; ", 0, false},
    {"a misspelt field", POLICY("a", "Object{spec: Object.spec{replcas: 1}}"),
     "error unknown-field a 1:26; ", 0, false},
    {"an atomic map", POLICY("a", "Object{spec: Object.spec{selector: Object.spec.selector{}}}"),
     "error atomic a 1:26; ", 0, false},
    {"a constant condition", CONDITION("1 > 2"), "warning never-true a 1:1; ", 0, false},
    {"a condition that decides nothing", CONDITION("true || false"), "info always-true a 1:1; ", 0,
     false},
    {"an operation that is not matched", CONDITION("request.operation == \"UPDATE\""),
     "warning never-true a 1:1; ", 0, false},
    {"the only kind", CONDITION("request.kind.kind == \"Deployment\""), "info always-true a 1:1; ",
     0, false},
    {"a condition on data", CONDITION("request.name == \"x\""), "", 0, false},
    {"one path, one value", POLICY("a", REPLICAS("1")) POLICY("b", REPLICAS("1")), "", 0, false},
    {"one path, two values", POLICY("a", REPLICAS("1")) POLICY("b", REPLICAS("2")),
     "warning same-path b 1:36; ", 0, false},
    {"a path above another",
     POLICY("a", REPLICAS("1")) HEAD("b") NEVER
     "  mutations:\n" PATCH("[JSONPatch{op: \"remove\", path: \"/spec\"}]") BINDING("b", ""),
     "warning same-path b 1:32; ", 0, false},
    {"two paths",
     POLICY("a", REPLICAS("1")) POLICY("b", "Object{spec: Object.spec{minReadySeconds: 2}}"), "", 0,
     false},
    {"ignored failures",
     HEAD("a") NEVER "  failurePolicy: Ignore\n  mutations:\n" APPLY("Object{}") BINDING("a", ""),
     "info ignored-failures a; ", 0, false},
    {"failures ignored by half",
     HEAD("a") NEVER "  failurePolicy: Ignore\n  mutations:\n" APPLY("Object{}") APPLY("Object{}")
         BINDING("a", ""),
     "warning ignored-failures a; ", 0, false},
    {"runs again",
     HEAD("a") "  reinvocationPolicy: IfNeeded\n  mutations:\n" APPLY("Object{}") BINDING("a", ""),
     "warning not-idempotent a; ", 0, true},
    {"changes again", POLICY("a", "Object{}"), "warning not-idempotent a; ", 0, true},
    {"a misspelt field of the policy",
     HEAD("a") NEVER "  matchCondition: []\n  mutations:\n" APPLY("Object{}") BINDING("a", ""),
     "error unknown-field a; ", 0, false},
    {"another type",
     HEAD("a") NEVER "  failurePolicy: 1\n  mutations:\n" APPLY("Object{}") BINDING("a", ""),
     "error type-mismatch a; ", 0, false},
    {"a misspelt field of a binding",
     HEAD("a") NEVER "  mutations:\n" APPLY("Object{}") BINDING("a", ", policyname: a"),
     "error unknown-field a; ", 0, false},
    {"another type in a binding",
     HEAD("a") NEVER "  mutations:\n" APPLY("Object{}") BINDING("a", ", matchResources: []"),
     "error type-mismatch a; ", 0, false},
    {"a test that never holds", PATCHES("", "[JSONPatch{op: \"test\", path: \"/\", value: {}}]"),
     "", 0, false},
    {"a test of a misspelt field", PATCHES("", "[JSONPatch{op: \"test\", path: \"/sepc\"}]"),
     "error unknown-field a 1:30; ", 0, false},
    {"below what may be absent", PATCHES("", ADD("/metadata/annotations/a")),
     "warning absent-parent a 1:29; ", 0, false},
    {"below a list that may be absent", PATCHES("", ADD("/spec/template/spec/volumes/0/name")),
     "warning absent-parent a 1:29; ", 0, false},
    {"a key of data below what may be absent",
     PATCHES("", "[JSONPatch{op: \"add\", path: \"/metadata/annotations/\" + "
                 "jsonpatch.escapeKey(\"a/b\"), value: \"c\"}]"),
     "warning absent-parent a 1:54; ", 0, false},
    {"below what is there", PATCHES("", ADD("/spec/template/spec/nodeName")), "", 0, false},
    {"the parent itself",
     PATCHES("", "[JSONPatch{op: \"add\", path: \"/metadata/annotations\", "
                 "value: {\"a\": \"b\"}}]"),
     "", 0, false},
    {"the parent is tested",
     PATCHES("  matchConditions: [{name: c, expression: has(object.metadata.annotations)}]\n",
             ADD("/metadata/annotations/a")),
     "", 0, false},
    {"the parent is added",
     PATCHES("",
             "[JSONPatch{op: \"add\", path: \"/metadata/annotations\", value: {}}, JSONPatch{op: "
             "\"add\", path: \"/metadata/annotations/a\", value: \"b\"}]"),
     "", 0, false},
    {"labels of objects with labels",
     "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: "
     "{name: a}\nspec:\n  matchConstraints: {objectSelector: {matchLabels: {a: b}}, resourceRules: "
     "[{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: "
     "[deployments]}]}\n" NEVER "  mutations:\n" PATCH(ADD("/metadata/labels/a")) BINDING("a", ""),
     "", 0, false},
    {"an item on each run", PATCHES("", ADD("/spec/template/spec/containers/-")),
     "warning not-idempotent a 1:29; ", 0, false},
    {"an item unless there is one",
     PATCHES("  matchConditions: [{name: c, expression: "
             "object.spec.template.spec.containers.size() == 1}]\n",
             ADD("/spec/template/spec/containers/-")),
     "", 0, false},
    {"each reads what the other writes",
     POLICY("a", REPLICAS("object.spec.minReadySeconds"))
         POLICY("b", "Object{spec: Object.spec{minReadySeconds: object.spec.replicas}}"),
     "warning cycle a; ", 0, false},
    {"one after the other",
     POLICY("a", REPLICAS("object.spec.minReadySeconds"))
         POLICY("b", "Object{spec: Object.spec{minReadySeconds: 1}}"),
     "", 0, false},
    {"three in a circle",
     POLICY("a", REPLICAS("object.spec.minReadySeconds"))
         POLICY("b", "Object{spec: Object.spec{minReadySeconds: object.spec.revisionHistoryLimit}}")
             POLICY("c", "Object{spec: Object.spec{revisionHistoryLimit: object.spec.replicas}}"),
     "warning cycle a; ", 0, false},
    {"labels that each adds where there are none",
     HEAD("a") NEVER GUARD("a") "  mutations:\n" APPLY(LABEL("a")) BINDING("a", "") HEAD("b")
         NEVER GUARD("b") "  mutations:\n" APPLY(LABEL("b")) BINDING("b", ""),
     "", 0, false},
    {"labels of which each needs the other",
     POLICY("a", "Object{metadata: Object.metadata{labels: {\"a\": object.metadata.labels.b}}}")
         POLICY("b",
                "Object{metadata: Object.metadata{labels: {\"b\": object.metadata.labels.a}}}"),
     "warning cycle a; ", 0, false},
    {"a paramKind alone",
     HEAD("a") NEVER "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  mutations:\n" APPLY(
         "Object{}") BINDING("a", ""),
     "warning no-param-ref a; ", 0, false},
    {"a paramRef alone",
     HEAD("a") NEVER "  mutations:\n" APPLY("Object{}")
         BINDING("a", ", paramRef: {name: x, parameterNotFoundAction: Deny}"),
     "warning no-param-kind a; ", 0, false},
    {"new enough", POLICY("a", REPLICAS("semver(\"1.2.3\").major()")), "info version a; ", 0,
     false},
    {"too new", POLICY("a", REPLICAS("semver(\"1.2.3\").major()")),
     "error compile a; error version a; ", 33, false},
};

struct scene {
    yyjson_doc *doc;
    struct ek_obj *objects[8];
    const struct ek_obj *binding_objects[8];
    struct ek_lint_policy policies[8];
    const struct ek_binding *bindings[8];
    size_t n_objects;
    struct ek_lint_input input;
};

static const struct ek_gvk deployment = {"apps", "v1", "Deployment"};
static const struct ek_gvr deployments = {"apps", "v1", "deployments"};

static void read_scene(struct scene *s, int row, const struct ek_typecheck_kind *kind)
{
    int minor = rows[row].minor ? rows[row].minor : 36;
    struct ek_err err = {0};
    yyjson_val *v;
    size_t i, n;

    ck_assert_msg(
        !ek_yaml_parse_all(rows[row].yaml, strlen(rows[row].yaml), TEXT_MAX, &s->doc, &err),
        "%s: %s", rows[row].name, err.message);
    yyjson_arr_foreach(yyjson_doc_get_root(s->doc), i, n, v)
    {
        struct ek_obj *obj = s->objects[s->n_objects++] = ek_obj_from_val(v);
        if (strstr(ek_obj_kind(obj), "Binding")) {
            s->binding_objects[s->input.n_bindings] = obj;
            s->bindings[s->input.n_bindings++] = ek_binding_new(obj);
            continue;
        }
        struct ek_lint_policy *p = &s->policies[s->input.n_policies++];
        *p = (struct ek_lint_policy){.policy = ek_policy_new(obj, minor - 1),
                                     .object = obj,
                                     .kinds = kind,
                                     .restless_on = rows[row].restless ? "x" : NULL};
        p->n_kinds = ek_lint_covers(p->policy, &deployments, "");
    }
    s->input.policies = s->policies;
    s->input.bindings = s->bindings;
    s->input.binding_objects = s->binding_objects;
    s->input.kubernetes_minor = minor;
}

static void scene_done(struct scene *s)
{
    for (size_t i = 0; i < s->input.n_policies; i++)
        ek_policy_unref(s->policies[i].policy);
    for (size_t i = 0; i < s->input.n_bindings; i++)
        ek_binding_unref(s->bindings[i]);
    for (size_t i = 0; i < s->n_objects; i++)
        ek_obj_unref(s->objects[i]);
    yyjson_doc_free(s->doc);
}

START_TEST(policies_are_looked_at)
{
    struct scene scene = {0};
    struct ek_schema *schema = NULL;
    struct ek_arena *arena = ek_arena_new(64 << 20);
    struct ek_lint_report report;
    struct ek_typecheck_kind kind = {deployment, NULL};
    char got[TEXT_MAX] = "";

    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    kind.schema = schema;
    read_scene(&scene, _i, &kind);
    ck_assert_int_eq(ek_lint(&scene.input, arena, &report), 0);
    for (size_t i = 0; i < report.n; i++) {
        const struct ek_lint_finding *f = &report.list[i];
        size_t n = strlen(got);
        char place[32] = "";
        if (f->line)
            snprintf(place, sizeof place, " %u:%u", f->line, f->column);
        snprintf(got + n, sizeof got - n, "%s %s %s%s; ", ek_lint_severity_name(f->severity),
                 f->rule, f->policy, place);
    }
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: got %s instead of %s (%s)", rows[_i].name, got,
                  rows[_i].want, report.n ? report.list[0].message : "");
    scene_done(&scene);
    ek_schema_unref(schema);
    ek_arena_free(arena);
}
END_TEST

static void show(const struct ek_lint_report *report, struct ek_buf *out)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ek_lint_finding *f = &report->list[i];
        ek_buf_printf(out, "%s %s %s %s %u:%u %s\n", ek_lint_severity_name(f->severity), f->rule,
                      f->policy, f->field, f->line, f->column, f->message);
    }
}

/* Each allocation fails in turn: it is said, or nothing is missing and nothing is made up. */
START_TEST(memory_may_end)
{
    struct scene scene = {0};
    struct ek_schema *schema = NULL;
    struct ek_typecheck_kind kind = {deployment, NULL};
    struct ek_lint_report report;
    EK_AUTO(ek_buf) want;
    bool met = true;

    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    kind.schema = schema;
    read_scene(&scene, _i, &kind);
    ek_buf_init(&want, EK_BUF_SMALL_MAX);
    /* There are thousands; of the later ones not each. */
    for (long n = 0; met; n += 1 + n / 32) {
        struct ek_arena *arena = ek_arena_new(64 << 20);
        EK_AUTO(ek_buf) got;
        ek_buf_init(&got, EK_BUF_SMALL_MAX);
        ek_alloc_fail_after(n);
        int rc = ek_lint(&scene.input, arena, &report);
        met = n == 0 || !ek_alloc_unfailed();
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == 0 || (n && (rc == EK_E_LIMIT || rc == EK_E_NOMEM)), "%s: %ld: %d",
                      rows[_i].name, n, rc);
        if (!rc)
            show(&report, n ? &got : &want);
        ck_assert_msg(rc || !n || !strcmp(ek_buf_str(&got), ek_buf_str(&want)),
                      "%s: allocation %ld failed, and it says\n%sinstead of\n%s", rows[_i].name, n,
                      ek_buf_str(&got), ek_buf_str(&want));
        ek_arena_free(arena);
    }
    scene_done(&scene);
    ek_schema_unref(schema);
}
END_TEST

static const struct {
    const char *resources, *group, *version, *resource, *sub;
    bool want;
} cover_rows[] = {
    {"[pods]", "apps", "v1", "pods", "", true},
    {"[pods]", "apps", "v1", "pods", "status", false},
    {"[pods]", "", "v1", "pods", "", false},
    {"[pods]", "apps", "v2", "pods", "", false},
    {"[pods/status]", "apps", "v1", "pods", "status", true},
    {"[pods/status]", "apps", "v1", "pods", "", false},
    {"['pods/*']", "apps", "v1", "pods", "", true},
    {"['*']", "apps", "v1", "pods", "", true},
    {"['*']", "apps", "v1", "pods", "status", false},
    {"['*/*']", "apps", "v1", "pods", "status", true},
    {"['*/status']", "apps", "v1", "pods", "status", true},
    {"['*/status']", "apps", "v1", "pods", "scale", false},
    {"[podss, pods]", "apps", "v1", "pods", "", true},
};

START_TEST(rules_cover_resources)
{
    char yaml[512];
    yyjson_doc *doc = NULL;
    const struct ek_gvr resource = {cover_rows[_i].group, cover_rows[_i].version,
                                    cover_rows[_i].resource};

    snprintf(yaml, sizeof yaml,
             "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, spec: "
             "{matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], "
             "operations: ['*'], resources: %s}]}}}",
             cover_rows[_i].resources);
    ck_assert_int_eq(ek_yaml_parse(yaml, strlen(yaml), TEXT_MAX, &doc, NULL), 0);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    const struct ek_policy *policy = ek_policy_new(obj, 0);
    ck_assert_msg(ek_lint_covers(policy, &resource, cover_rows[_i].sub) == cover_rows[_i].want,
                  "%s, %s/%s", cover_rows[_i].resources, cover_rows[_i].resource,
                  cover_rows[_i].sub);
    ek_policy_unref(policy);
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("lint");
    tcase_add_loop_test(tc, policies_are_looked_at, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, memory_may_end, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, rules_cover_resources, 0, EK_ARRAY_SIZE(cover_rows));
    return ek_test_run("lint", tc);
}
