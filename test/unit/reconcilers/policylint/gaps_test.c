/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that the schemas have, and API servers of a version do not. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "api/yaml.h"
#include "reconcilers/policylint/lint.h"
#include "test/support/suite.h"

#define TEXT_MAX 4096

static const struct ek_gvk deployment = {"apps", "v1", "Deployment"};
static const struct ek_gvk pod = {"", "v1", "Pod"};

/* Of Deployments and Pods; of a Deployment the path begins with spec.template. */
static const struct {
    const char *path;
    struct ek_type_gap gap;
} gaps[] = {
    {"spec.schedulingGroup", {EK_MINOR(1, 36), EK_TYPE_GAP_LATER}},
    {"spec.schedulingGroup.podGroupName", {EK_MINOR(1, 36), EK_TYPE_GAP_LATER}},
    {"spec.containers[].restartPolicyRules", {EK_MINOR(1, 34), EK_TYPE_GAP_BACK}},
    {"spec.containers[].restartPolicyRules[].action", {EK_MINOR(1, 34), EK_TYPE_GAP_BACK}},
    {"spec.containers[].resources.limits{}", {EK_MINOR(1, 35), EK_TYPE_GAP_LATER}}, /* no field */
    {"spec.hostUsers", {EK_MINOR(1, 36), EK_TYPE_GAP_GONE}},
};

static bool find(void *ctx, const struct ek_gvk *kind, const char *path,
                 struct ek_type_gap *ret_gap)
{
    (void)ctx;
    if (!strcmp(kind->kind, "Deployment")) {
        if (strncmp(path, "spec.template.", 14) != 0)
            return false;
        path += 14;
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(gaps); i++)
        if (!strcmp(gaps[i].path, path)) {
            *ret_gap = gaps[i].gap;
            return true;
        }
    return false;
}

#define CONDITION(text)  "  matchConditions: [{name: c, expression: '" text "'}]\n"
#define SPEC(text)       "Object{spec: Object.spec{" text "}}"
#define GROUP            "schedulingGroup: Object.spec.schedulingGroup{podGroupName: \"a\"}"
#define CONTAINERS(text) "containers: [Object.spec.containers{name: \"a\", " text "}]"
#define RULES            "restartPolicyRules: [Object.spec.containers.restartPolicyRules{action: \"Restart\"}]"

static const struct {
    const char *name;
    const char *more;  /* of the spec */
    const char *patch; /* else apply */
    const char *apply;
    const char *want; /* "severity rule column" each */
    bool two;         /* Deployments as well */
} rows[] = {
    {"a field that all have", "", NULL, SPEC("nodeName: \"a\""), "", false},
    {"a newer field is set", "", NULL, SPEC(GROUP), "error field-unknown 26; ", false},
    {"of one kind of two", "", NULL, SPEC(GROUP), "warning field-unknown 26; ", true},
    {"a field that is gone", "", NULL, SPEC("hostUsers: true"), "error field-gone 26; ", false},
    {"the version before", "", NULL, SPEC(CONTAINERS(RULES)), "warning field-rollback 73; ", false},
    {"set by a patch", "",
     "[JSONPatch{op: \"add\", path: \"/spec/schedulingGroup/podGroupName\", value: \"a\"}]", NULL,
     "error field-unknown 29; ", false},
    {"in an item, by a patch", "",
     "[JSONPatch{op: \"replace\", path: \"/spec/containers/0/restartPolicyRules\", value: []}]",
     NULL, "warning field-rollback 33; ", false},
    {"removed by a patch", "", "[JSONPatch{op: \"remove\", path: \"/spec/schedulingGroup\"}]", NULL,
     "", false},
    {"removed", "", NULL, "Object{spec: Object.spec{?schedulingGroup: optional.none()}}", "",
     false},
    {"is asked for", CONDITION("has(object.spec.schedulingGroup)"), NULL, "Object{}", "", false},
    {"is asked for otherwise", CONDITION("object.spec.?schedulingGroup.hasValue()"), NULL,
     "Object{}", "", false},
    {"is read", CONDITION("object.spec.schedulingGroup.podGroupName == \"a\""), NULL, "Object{}",
     "warning field-unknown 12; ", false},
    {"is read in a loop",
     CONDITION("object.spec.containers.all(c, c.restartPolicyRules.size() > 0)"), NULL, "Object{}",
     "", false},
    {"is read by name", CONDITION("object.spec[\"schedulingGroup\"] != null"), NULL, "Object{}",
     "warning field-unknown 13; ", false},
    {"the value of a map is no field", "", NULL,
     SPEC(CONTAINERS("resources: Object.spec.containers.resources{limits: {\"cpu\": \"1\"}}")), "",
     false},
};

static const struct ek_policy *make(int row, const struct ek_obj **ret_object)
{
    char text[TEXT_MAX];
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    snprintf(
        text, sizeof text,
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\n"
        "metadata: {name: a}\nspec:\n  reinvocationPolicy: Never\n  matchConstraints: "
        "{resourceRules: [{apiGroups: [\"*\"], apiVersions: [v1], operations: [CREATE], "
        "resources: [pods]}]}\n%s  mutations:\n  - patchType: %s\n    %s: {expression: '%s'}\n",
        rows[row].more, rows[row].patch ? "JSONPatch" : "ApplyConfiguration",
        rows[row].patch ? "jsonPatch" : "applyConfiguration",
        rows[row].patch ? rows[row].patch : rows[row].apply);
    ck_assert_msg(!ek_yaml_parse(text, strlen(text), TEXT_MAX, &doc, &err), "%s: %s", text,
                  err.message);
    *ret_object = ek_obj_from_val(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return ek_policy_new(*ret_object, 35);
}

/* Only the findings about such fields. */
static void show(const struct ek_lint_report *report, char *got)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ek_lint_finding *f = &report->list[i];
        size_t n = strlen(got);
        if (!strncmp(f->rule, "field-", 6))
            snprintf(got + n, TEXT_MAX - n, "%s %s %u; ", ek_lint_severity_name(f->severity),
                     f->rule, f->column);
        else
            ck_assert_str_ne(f->rule, "compile");
    }
}

static void check(int row, const struct ek_type_gaps *source, const char *want)
{
    struct ek_schema *schema = NULL;
    struct ek_arena *arena = ek_arena_new(16 << 20);
    const struct ek_obj *object;
    const struct ek_policy *policy = make(row, &object);
    struct ek_lint_report report;
    char got[TEXT_MAX] = "";

    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    const struct ek_typecheck_kind kinds[] = {{pod, schema}, {deployment, schema}};
    const struct ek_lint_policy one = {
        .policy = policy, .object = object, .kinds = kinds, .n_kinds = 1 + rows[row].two};
    const struct ek_lint_input input = {
        .policies = &one, .n_policies = 1, .kubernetes_minor = 35, .gaps = source};
    ck_assert_int_eq(ek_lint(&input, arena, &report), 0);
    if (rows[row].two) /* the expression is of a Pod */
        ck_assert_uint_gt(report.n, 0);
    show(&report, got);
    ck_assert_msg(!strcmp(got, want), "%s: got %s instead of %s", rows[row].name, got, want);
    ek_schema_unref(schema);
    ek_policy_unref(policy);
    ek_obj_unref((struct ek_obj *)(uintptr_t)object);
    ek_arena_free(arena);
}

START_TEST(fields_are_those_of_the_version)
{
    const struct ek_type_gaps source = {find, NULL};

    check(_i, &source, rows[_i].want);
    check(_i, NULL, "");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("gaps");

    tcase_add_loop_test(tcase, fields_are_those_of_the_version, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("gaps", tcase);
}
