/* SPDX-License-Identifier: Apache-2.0 */
/* The PolicyStatus: its conditions by row, and all of it against the schema of deploy/crd. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "reconcilers/mutation/status.h"
#include "test/support/policies.h"
#include "test/support/statustest.h"
#include "test/support/suite.h"

#define NOW_MS 1760000000000

static struct statustest schema;

static void setup(void)
{
    statustest_load(&schema, "evenkeel.dev_policystatuses.yaml", "PolicyStatus");
}

static void teardown(void)
{
    statustest_free(&schema);
}

static const struct ek_policy_finding misspelt = {
    .field = "spec.mutations[0].applyConfiguration.expression",
    .kind = "example.com/v1, Kind=Widget",
    .message = "\"spec\" has no field \"colour\"; did you mean \"color\"?"};
static const struct ek_policy_finding two_misspelt[] = {{.field = "a", .message = "b"},
                                                        {.field = "c", .message = "d"}};
static const struct ek_policy_finding warning = {
    .field = "spec.mutations[0].applyConfiguration.expression", .message = "w", .warning = true};
static const struct ek_fight_party parties[] = {{"p", "0123abcd"}, {"q", ""}};
static const struct ek_fight_seen fight = {.path = "/spec/color",
                                           .kind = "example.com/v1, Kind=Widget",
                                           .parties = parties,
                                           .n_parties = 2,
                                           .since_ms = NOW_MS};

static const struct ek_policy_refusal refusal = {33, 35, (char *)(uintptr_t) "spec.x: too new"};
static const struct ek_refusal_server two_servers[] = {{(char *)(uintptr_t) "cp-a", 35},
                                                       {(char *)(uintptr_t) "cp-b", 33}};
static const struct ek_refusal_servers servers = {
    (struct ek_refusal_server *)(uintptr_t)two_servers, 2, 33};

/* Facts: the type check, who enforces, bindings, and what else there is to say. */
#define F(types_, enforcer_, n_, ...)                                                              \
    {                                                                                              \
        .after = "o", .types = EK_TYPES_##types_, .enforcer = EK_ENFORCER_##enforcer_,             \
        .n_bindings = (n_), __VA_ARGS__                                                            \
    }

/* Conditions in the order Ready, Compiled, TypesChecked, Bound, Enforced, Converging. */
static const struct row {
    const char *name;
    struct ek_policy_facts facts; /* n_bindings alone says whether there is one */
    bool broken;
    const char *statuses, *reason, *message; /* of all; of Ready; within Ready's */
} rows[] = {
    {"all is well", F(CHECKED, EVENKEEL, 1, .findings = NULL), false, "TTTTTT",
     "EnforcedByEvenkeel", "Evenkeel enforces the policy"},
    {"it does not compile", F(CHECKED, EVENKEEL, 1, .findings = NULL), true, "FFTTTT", "Invalid",
     "compilation failed"},
    {"nor is it bound", F(CHECKED, EVENKEEL, 0, .findings = NULL), true, "FFTFTT", "Invalid",
     "compilation failed"},
    {"two findings", F(CHECKED, EVENKEEL, 1, .findings = two_misspelt, .n_findings = 2), false,
     "FTFTTT", "Mismatch", "(and more, see findings)"},
    {"no binding", F(CHECKED, EVENKEEL, 0, .findings = NULL), false, "FTTFTT", "NoBinding",
     "no binding"},
    {"types not checked yet", F(PENDING, EVENKEEL, 1, .types_message = "no schema"), false,
     "TTUTTT", "EnforcedByEvenkeel", ""},
    {"a finding", F(CHECKED, EVENKEEL, 1, .findings = &misspelt, .n_findings = 1), false, "FTFTTT",
     "Mismatch", "did you mean \"color\"?"},
    {"a warning", F(CHECKED, EVENKEEL, 1, .findings = &warning, .n_findings = 1), false, "TTTTTT",
     "EnforcedByEvenkeel", ""},
    {"not known who", F(CHECKED, UNKNOWN, 1, .findings = NULL), false, "UTTTUT", "NotKnown", ""},
    {"nobody", F(CHECKED, NOBODY, 1, .findings = NULL), false, "FTTTFT", "NotEnforced", ""},
    {"servers", F(CHECKED, API_SERVERS, 1, .findings = NULL), false, "TTTTTT",
     "EnforcedByAPIServers", ""},
    {"both", F(CHECKED, MIXED, 1, .enforcer_message = "cp-a does"), false, "TTTTTT",
     "EnforcedByBoth", "cp-a does"},
    {"blocked",
     F(CHECKED, EVENKEEL, 1,
       .block = {"ParamsForbidden", "params: forbidden; requests are denied"}),
     false, "FTTTFT", "ParamsForbidden", "params: forbidden; requests are denied"},
    {"blocked on a mixed control plane",
     F(CHECKED, MIXED, 1, .block = {"NeverRests", "it changes its own result"}), false, "FTTTFT",
     "NeverRests", "it changes its own result"},
    {"blocked here, and the API servers do it", F(CHECKED, API_SERVERS, 1, .block = {"X", "y"}),
     false, "TTTTTT", "EnforcedByAPIServers", ""},
    {"blocked, and not known who",
     F(CHECKED, UNKNOWN, 1, .block = {"ParamsNotFound", "there is no ConfigMap"}), false, "FTTTFT",
     "ParamsNotFound", "there is no ConfigMap"},
    {"no webhook",
     F(CHECKED, EVENKEEL, 1, .unregistered = {.reason = "NotRegistered", .message = "no webhook"}),
     false, "FTTTFT", "NotRegistered", "no webhook"},
    {"no webhook yet",
     F(CHECKED, EVENKEEL, 1, .unregistered = {"NotRegistered", "no webhook", true}), false,
     "UTTTUT", "NotRegistered", "no webhook"},
    {"no webhook for safety, and the API servers enforce it",
     F(CHECKED, API_SERVERS, 1,
       .unregistered = {.reason = "TooManyWebhooks", .message = "no room"}),
     false, "FTTTFT", "TooManyWebhooks", "no room"},
    {"no webhook and no params",
     F(CHECKED, EVENKEEL, 1, .block = {"ParamsNotFound", "there is no ConfigMap"},
       .unregistered = {.reason = "NotRegistered", .message = "no webhook"}),
     false, "FTTTFT", "NotRegistered", "no webhook"},
    {"a fight", F(CHECKED, EVENKEEL, 1, .fights = &fight, .n_fights = 1), false, "FTTTTF",
     "Fighting", "/spec/color of example.com/v1, Kind=Widget: p, q"},
    {"counts", F(CHECKED, EVENKEEL, 1, .counts = {.known = true, .applied = 7}), false, "TTTTTT",
     "EnforcedByEvenkeel", ""},
    {"refused by one", F(CHECKED, EVENKEEL, 1, .refusal = &refusal, .servers = &servers), false,
     "TTTTTT", "EnforcedByEvenkeel", ""},
    {"a native policy of the same name", F(CHECKED, EVENKEEL, 1, .shadows_native = true), false,
     "TTTTTT", "EnforcedByEvenkeel", ""},
};

/* Of policies that say Observe. */
static const struct row observed_rows[] = {
    {"observed", F(CHECKED, NOBODY, 1, .findings = NULL), false, "FTTTFT", "ObservedOnly",
     "the policy is evaluated and not applied"},
    {"observed, and the API servers enforce it", F(CHECKED, API_SERVERS, 1, .findings = NULL),
     false, "TTTTTT", "EnforcedByAPIServers", ""},
};

static const char *const types[] = {"Ready",      "Compiled", "TypesChecked", "Bound", "Enforced",
                                    "Converging", NULL};

static void check_conditions(const struct row *row, yyjson_val *status)
{
    statustest_conditions(&(struct statustest_want){row->name, types, row->statuses, "Ready",
                                                    row->reason, row->message},
                          status);
    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(status, "observedGeneration")), 3);
}

static void check_row(const struct row *row, bool observed)
{
    const struct ek_policy_row policy_row = {
        .name = "p",
        .expression =
            row->broken ? "Object{spec: }" : "Object{spec: Object.spec{color: object.x}}"};
    struct ek_obj *obj = ek_policy_row_obj(&policy_row);
    const struct ek_binding binding = {.name = "b"}, *bindings[] = {&binding};
    struct ek_policy_facts facts = row->facts;

    struct ek_policy policy = *(facts.policy = ek_policy_new(obj, 0));
    const struct ek_policy *owned = facts.policy;
    if (observed)
        policy.enforcement = EK_POLICY_OBSERVE;
    facts.policy = &policy;
    facts.bindings = bindings;
    yyjson_mut_val *made = ek_policy_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    yyjson_doc *first = yyjson_mut_val_imut_copy(made, NULL);
    check_conditions(row, yyjson_doc_get_root(first));
    statustest_schema(&schema, row->name, made);
    made = ek_policy_status(&facts, yyjson_doc_get_root(first), NOW_MS + 60000, schema.arena,
                            schema.doc);
    statustest_same(row->name, yyjson_doc_get_root(first), made);
    yyjson_doc_free(first);
    ek_policy_unref(owned);
    ek_obj_unref(obj);
}

START_TEST(status_row)
{
    check_row(&rows[_i], false);
}
END_TEST

START_TEST(observed_row)
{
    check_row(&observed_rows[_i], true);
}
END_TEST

/* A status stays small, whatever is found. */
START_TEST(lists_are_bounded)
{
    enum { MANY = 200 };
    const struct ek_policy_row policy_row = {.name = "p", .expression = "Object{}"};
    struct ek_obj *obj = ek_policy_row_obj(&policy_row);
    const struct ek_binding binding = {.name = "b"}, *bindings[MANY];
    struct ek_policy_finding findings[MANY];
    struct ek_fight_seen fights[MANY];
    struct ek_policy_facts facts =
        F(CHECKED, EVENKEEL, 1, .policy = ek_policy_new(obj, 0), .bindings = bindings);

    for (size_t i = 0; i < MANY; i++) {
        bindings[i] = &binding;
        findings[i] = misspelt;
        fights[i] = fight;
    }
    facts.n_bindings = facts.n_findings = facts.n_fights = MANY;
    facts.findings = findings;
    facts.fights = fights;
    yyjson_mut_val *status = ek_policy_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(status, "fights")),
                      EK_POLICY_STATUS_FIGHTS_MAX);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(status, "findings")),
                      EK_POLICY_STATUS_FINDINGS_MAX);
    yyjson_mut_val *omitted = yyjson_mut_obj_get(status, "omitted");
    ck_assert_uint_eq(yyjson_mut_get_uint(yyjson_mut_obj_get(omitted, "bindings")),
                      MANY - EK_POLICY_STATUS_BINDINGS_MAX);
    statustest_schema(&schema, "many", status);
    ek_policy_unref(facts.policy);
    ek_obj_unref(obj);
}
END_TEST

/* A binding that makes an error of each request that it matches is none that binds. */
static const struct {
    const char *spec;                      /* beside policyName */
    bool ignore, params;                   /* of the policy */
    const char *status, *reason, *message; /* of Bound */
} binding_rows[] = {
    {"\"matchResources\":{}", false, false, "True", "Bound", "1 binding"},
    {"\"matchResources\":{\"objectSelector\":{\"matchLabels\":{\"a b\":\"c\"}}}", false, false,
     "False", "InvalidBinding", "binding b: objectSelector: "},
    {"\"matchResources\":{\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"a\","
     "\"operator\":\"Foo\"}]}}",
     false, false, "False", "InvalidBinding",
     "; matching requests are denied; correct the selector in spec.matchResources of the binding"},
    {"\"matchResources\":{\"objectSelector\":{\"matchLabels\":{\"a b\":\"c\"}}}", true, false,
     "False", "InvalidBinding",
     "; matching requests are answered without the policy; correct the "},
    {"\"matchResources\":{\"resourceRules\":[{\"operations\":[\"DELETE\"],\"apiGroups\":[\"\"],"
     "\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}]}",
     false, false, "True", "InvalidBinding", "binding b: spec.matchResources.resourceRules"},
    {"\"matchResources\":{\"resourceRules\":[{\"operations\":[\"DELETE\"],\"apiGroups\":[\"\"],"
     "\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}]}",
     false, false, "True", "InvalidBinding", "; correct the field"},
    {"\"paramRef\":{\"selector\":{\"matchLabels\":{\"a b\":\"c\"}},"
     "\"parameterNotFoundAction\":\"Deny\"}",
     false, false, "True", "InvalidBinding", "binding b: spec.paramRef.selector"},
    {"\"paramRef\":{\"selector\":{\"matchLabels\":{\"a b\":\"c\"}},"
     "\"parameterNotFoundAction\":\"Deny\"}",
     false, true, "False", "InvalidBinding", "binding b: paramRef.selector: "},
    {"\"paramRef\":{\"selector\":{\"matchLabels\":{\"a b\":\"c\"}},"
     "\"parameterNotFoundAction\":\"Deny\"}",
     false, true, "False", "InvalidBinding",
     "; matching requests are denied; correct spec.paramRef of the binding"},
};

START_TEST(invalid_bindings_do_not_bind)
{
    const struct ek_policy_row policy_row = {.name = "p", .expression = "Object{}"};
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_policy_row_obj(&policy_row);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *of_binding = NULL;
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicyBinding\","
        "\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\",%s}}",
        binding_rows[_i].spec);
    struct ek_policy_facts facts = F(CHECKED, EVENKEEL, 1, .findings = NULL);

    ck_assert_int_eq(ek_obj_parse(text, strlen(text), &of_binding, NULL), 0);
    const struct ek_binding *binding = ek_binding_new(of_binding);
    const struct ek_policy *made = ek_policy_new(obj, 0);
    struct ek_policy policy = *made;
    policy.ignore_failures = binding_rows[_i].ignore;
    policy.has_params = binding_rows[_i].params;
    facts.policy = &policy;
    facts.bindings = &binding;
    yyjson_mut_val *status = ek_policy_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    yyjson_doc *doc = yyjson_mut_val_imut_copy(status, NULL);
    yyjson_val *bound = yyjson_arr_get(yyjson_obj_get(yyjson_doc_get_root(doc), "conditions"), 3);
    ck_assert_str_eq(ek_json_text(bound, "type"), "Bound");
    ck_assert_str_eq(ek_json_text(bound, "status"), binding_rows[_i].status);
    ck_assert_str_eq(ek_json_text(bound, "reason"), binding_rows[_i].reason);
    ck_assert_msg(strstr(ek_json_text(bound, "message"), binding_rows[_i].message), "%s",
                  ek_json_text(bound, "message"));
    yyjson_doc_free(doc);
    ek_binding_unref(binding);
    ek_policy_unref(made);
}
END_TEST

/* The servers that refuse a policy are listed, and the first is named. */
START_TEST(refusals_are_named)
{
    const struct ek_policy_row policy_row = {.name = "p", .expression = "Object{}"};
    struct ek_obj *obj = ek_policy_row_obj(&policy_row);
    struct ek_policy_facts facts =
        F(CHECKED, EVENKEEL, 0, .refusal = &refusal, .servers = &servers);

    facts.policy = ek_policy_new(obj, 0);
    yyjson_mut_val *made = ek_policy_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    yyjson_doc *doc = yyjson_mut_val_imut_copy(made, NULL);
    yyjson_val *status = yyjson_doc_get_root(doc), *list = yyjson_obj_get(status, "refusedBy");
    ck_assert_uint_eq(yyjson_arr_size(list), 1);
    ck_assert_str_eq(ek_json_text(yyjson_arr_get(list, 0), "server"), "cp-b");
    ck_assert_str_eq(ek_json_text(yyjson_arr_get(list, 0), "minCompatibilityVersion"), "1.33");
    yyjson_val *compiled = yyjson_arr_get(yyjson_obj_get(status, "conditions"), 1);
    ck_assert_str_eq(ek_json_text(compiled, "reason"), "RefusedBySome");
    ck_assert_str_eq(ek_json_text(compiled, "message"),
                     "all expressions compile, but the API server cp-b, of the minimum "
                     "compatibility version 1.33, refuses a request that writes the policy; the "
                     "policy needs 1.35: spec.x: too new");
    yyjson_doc_free(doc);
    ek_policy_unref(facts.policy);
    ek_obj_unref(obj);
}
END_TEST

/* A mutation that demands something of the final object is listed. */
START_TEST(safety_is_listed)
{
    static const char *const wanted[][2] = {
        {NULL, NULL}, {"Exact", "Exact"}, {"Overwritable", "Overwritable"}, {"true", "Condition"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(wanted); i++) {
        const struct ek_policy_row policy_row = {
            .name = "p", .expression = "Object{}", .safety = wanted[i][0]};
        struct ek_obj *obj = ek_policy_row_obj(&policy_row);
        struct ek_policy_facts facts = F(CHECKED, EVENKEEL, 0, .findings = NULL);

        facts.policy = ek_policy_new(obj, 0);
        yyjson_mut_val *made = ek_policy_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
        yyjson_mut_val *list = yyjson_mut_obj_get(made, "safety");
        yyjson_mut_val *first = yyjson_mut_arr_get_first(list);
        const char *type = yyjson_mut_get_str(yyjson_mut_obj_get(first, "type"));
        ck_assert_pstr_eq(type, wanted[i][1]);
        ck_assert_pstr_eq(yyjson_mut_get_str(yyjson_mut_obj_get(first, "field")),
                          wanted[i][1] ? "spec.mutations[0]" : NULL);
        statustest_schema(&schema, "safety", made);
        ek_policy_unref(facts.policy);
        ek_obj_unref(obj);
    }
}
END_TEST

/* ---- The fields of our own kind, and the annotations that stand for them ---- */

static const struct fields_row {
    const char *name, *annotations, *spec, *mutation; /* members, JSON without the braces */
    const char *problem;                              /* within the first; NULL for none */
    enum ek_policy_behaviour behaviour;
    enum ek_policy_enforcement enforcement;
    enum ek_mutation_safety safety;
    bool replace;
} fields_rows[] = {
    {"none", "", "", "", NULL, EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_NONE, false},
    {"all", "", "\"behaviour\":\"Extended\",\"enforcement\":\"Observe\",",
     ",\"atomics\":\"Replace\",\"safety\":{\"type\":\"Exact\"}", NULL, EK_POLICY_EXTENDED,
     EK_POLICY_OBSERVE, EK_SAFETY_EXACT, true},
    {"a condition", "", "", ",\"safety\":{\"type\":\"Condition\",\"expression\":\"true\"}", NULL,
     EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_CONDITION, false},
    {"annotations are not for our kind", "\"evenkeel.dev/behaviour\":\"Extended\"", "", "", NULL,
     EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_NONE, false},
    {"unknown behaviour", "", "\"behaviour\":\"X\",", "",
     "spec.behaviour: Unsupported value: \"X\": supported values: \"InTree\", \"Extended\"",
     EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_NONE, false},
    {"atomics in tree", "", "", ",\"atomics\":\"Replace\"",
     "spec.mutations[0].atomics: Forbidden: Replace needs behaviour Extended", EK_POLICY_IN_TREE,
     EK_POLICY_AUTO, EK_SAFETY_NONE, false},
    {"no condition", "", "", ",\"safety\":{\"type\":\"Condition\"}",
     "spec.mutations[0].safety.expression: Required value", EK_POLICY_IN_TREE, EK_POLICY_AUTO,
     EK_SAFETY_CONDITION, false},
    {"a condition too many", "", "", ",\"safety\":{\"type\":\"Exact\",\"expression\":\"true\"}",
     "spec.mutations[0].safety.expression: Forbidden", EK_POLICY_IN_TREE, EK_POLICY_AUTO,
     EK_SAFETY_EXACT, false},
    {"a condition that is no bool", "", "",
     ",\"safety\":{\"type\":\"Condition\",\"expression\":\"1\"}", "must evaluate to bool",
     EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_CONDITION, false},
    {"annotations",
     "\"evenkeel.dev/behaviour\":\"Extended\",\"evenkeel.dev/enforcement\":\"Enforce\","
     "\"evenkeel.dev/atomics\":\"Replace\",\"evenkeel.dev/safety\":\"has(object.spec)\"",
     NULL, "", NULL, EK_POLICY_EXTENDED, EK_POLICY_ENFORCE, EK_SAFETY_CONDITION, true},
    {"an unknown value", "\"evenkeel.dev/enforcement\":\"X\"", NULL, "",
     "metadata.annotations[evenkeel.dev/enforcement]: Unsupported value", EK_POLICY_IN_TREE,
     EK_POLICY_AUTO, EK_SAFETY_NONE, false},
    {"fields are not for the cluster's kind", "", NULL, ",\"safety\":{\"type\":\"Exact\"}", NULL,
     EK_POLICY_IN_TREE, EK_POLICY_AUTO, EK_SAFETY_NONE, false},
};

START_TEST(fields_row)
{
    const struct fields_row *row = &fields_rows[_i];
    char text[4096];
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    int len = snprintf(
        text, sizeof text,
        "{\"apiVersion\":\"%s\",\"kind\":\"MutatingAdmissionPolicy\",\"metadata\":{\"name\":\"p\","
        "\"annotations\":{%s}},\"spec\":{%s\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{"
        "\"resourceRules\":[{\"operations\":[\"CREATE\"],\"apiGroups\":[\"\"],\"apiVersions\":["
        "\"v1\"],\"resources\":[\"pods\"]}]},\"mutations\":[{\"patchType\":\"ApplyConfiguration\","
        "\"applyConfiguration\":{\"expression\":\"Object{}\"}%s}]}}",
        row->spec ? "evenkeel.dev/v1alpha1" : "admissionregistration.k8s.io/v1", row->annotations,
        row->spec ? row->spec : "", row->mutation);
    ck_assert_msg(!ek_obj_parse(text, (size_t)len, &obj, &err), "%s: %s", row->name, err.message);
    const struct ek_policy *policy = ek_policy_new(obj, 0);
    ck_assert_msg((policy->n_problems == 0) == !row->problem, "%s: %s", row->name,
                  policy->n_problems ? policy->problems[0] : "no problem");
    ck_assert_msg(!row->problem || strstr(policy->problems[0], row->problem), "%s: %s", row->name,
                  policy->n_problems ? policy->problems[0] : "");
    ck_assert_msg(policy->behaviour == row->behaviour, "%s: behaviour", row->name);
    ck_assert_msg(policy->enforcement == row->enforcement, "%s: enforcement", row->name);
    ck_assert_msg(policy->mutations[0].safety == row->safety, "%s: safety", row->name);
    ck_assert_msg(policy->mutations[0].replace_atomics == row->replace, "%s: atomics", row->name);
    ek_policy_unref(policy);
    ek_obj_unref(obj);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, status_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, observed_row, 0, (int)EK_ARRAY_SIZE(observed_rows));
    tcase_add_loop_test(tcase, fields_row, 0, (int)EK_ARRAY_SIZE(fields_rows));
    tcase_add_test(tcase, lists_are_bounded);
    tcase_add_loop_test(tcase, invalid_bindings_do_not_bind, 0, EK_ARRAY_SIZE(binding_rows));
    tcase_add_test(tcase, refusals_are_named);
    tcase_add_test(tcase, safety_is_listed);
    return ek_test_run("policy_status", tcase);
}
