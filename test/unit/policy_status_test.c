/* SPDX-License-Identifier: Apache-2.0 */
/* The PolicyStatus: its conditions by row, and all of it against the schema of deploy/crd. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cond.h"
#include "api/mem.h"
#include "api/obj.h"
#include "api/schema/merge.h"
#include "api/time.h"
#include "api/yaml.h"
#include "reconcilers/mutation/status.h"
#include "test/support/policies.h"

#define NOW_MS 1760000000000

static struct ek_schema *schema;

static void load_schema(void)
{
    static char text[1 << 17];
    struct ek_err err = {0};
    yyjson_doc *crd = NULL;
    FILE *file = fopen(EK_TEST_DATA "/../../deploy/crd/evenkeel.dev_policystatuses.yaml", "r");

    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    ck_assert_msg(!ek_yaml_parse(text, len, 1 << 20, &crd, &err), "%s", err.message);
    ck_assert_msg(!ek_schema_compile_crd(yyjson_doc_get_root(crd), "v1alpha1", &schema, &err), "%s",
                  err.message);
    yyjson_doc_free(crd);
}

static void free_schema(void)
{
    ek_schema_unref(schema);
}

/* Fields, types and lists of the status are those of the schema. */
static void check_schema(const char *name, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    EK_AUTO(ek_buf) text;
    uint32_t type;
    yyjson_mut_val *object = yyjson_mut_obj(doc);

    ek_buf_init(&text, 1 << 16);
    yyjson_mut_obj_add_val(doc, object, "status", status);
    ck_assert_int_eq(
        ek_schema_find_kind(schema, "evenkeel.dev", "v1alpha1", "PolicyStatus", &type, NULL), 0);
    int rc = ek_merge_validate(schema, type, object, 0, &text, NULL);
    ck_assert_msg(rc == 0, "%s: %s", name, ek_buf_str(&text));
}

static const struct ek_policy_finding misspelt = {
    .field = "spec.mutations[0].applyConfiguration.expression",
    .kind = "example.com/v1, Kind=Widget",
    .message = "\"spec\" has no field \"colour\"; did you mean \"color\"?"};
static const struct ek_policy_finding warning = {
    .field = "spec.mutations[0].applyConfiguration.expression", .message = "w", .warning = true};
static const struct ek_fight_party parties[] = {{"p", "\"red\""}, {"q", ""}};
static const struct ek_fight_seen fight = {.path = "/spec/color",
                                           .kind = "example.com/v1, Kind=Widget",
                                           .parties = parties,
                                           .n_parties = 2,
                                           .since_ms = NOW_MS};

/* Facts: the type check, who enforces, bindings, and what else there is to say. */
#define F(types_, enforcer_, n_, ...)                                                              \
    {                                                                                              \
        .order = 2, .orders = 5, .types = EK_TYPES_##types_, .enforcer = EK_ENFORCER_##enforcer_,  \
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
     "EnforcedByEvenkeel", "Evenkeel enforces it"},
    {"it does not compile", F(CHECKED, EVENKEEL, 1, .findings = NULL), true, "FFTTTT", "Invalid",
     "compilation failed"},
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
    {"a fight", F(CHECKED, EVENKEEL, 1, .fights = &fight, .n_fights = 1), false, "FTTTTF",
     "Fighting", "/spec/color of example.com/v1, Kind=Widget: p sets \"red\", q sets nothing"},
    {"counts", F(CHECKED, EVENKEEL, 1, .counts = {.known = true, .applied = 7}), false, "TTTTTT",
     "EnforcedByEvenkeel", ""},
    {"a native policy of the same name", F(CHECKED, EVENKEEL, 1, .shadows_native = true), false,
     "TTTTTT", "EnforcedByEvenkeel", ""},
};

static const char *const types[] = {"Ready", "Compiled", "TypesChecked",
                                    "Bound", "Enforced", "Converging"};

static void check_conditions(const struct row *row, yyjson_val *status)
{
    static const char letters[] = "UFT";
    yyjson_val *conditions = yyjson_obj_get(status, "conditions");
    yyjson_val *ready = ek_cond_find(conditions, "Ready");
    char got[8] = "";

    for (size_t i = 0; i < EK_ARRAY_SIZE(types); i++)
        got[i] = letters[ek_cond_status(conditions, types[i])];
    ck_assert_msg(strcmp(got, row->statuses) == 0, "%s: %s, not %s", row->name, got, row->statuses);
    ck_assert_msg(strcmp(ek_json_str(ready, "reason", NULL), row->reason) == 0, "%s: %s, not %s",
                  row->name, ek_json_str(ready, "reason", NULL), row->reason);
    ck_assert_msg(strstr(ek_json_str(ready, "message", NULL), row->message) != NULL, "%s: %s",
                  row->name, ek_json_str(ready, "message", NULL));
    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(status, "observedGeneration")), 3);
}

START_TEST(status_row)
{
    const struct row *row = &rows[_i];
    const struct ek_policy_row policy_row = {
        .name = "p",
        .expression =
            row->broken ? "Object{spec: }" : "Object{spec: Object.spec{color: object.x}}"};
    struct ek_obj *obj = ek_policy_row_obj(&policy_row);
    const struct ek_binding binding = {.name = "b"}, *bindings[] = {&binding};
    struct ek_policy_facts facts = row->facts;
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_mut_doc *doc = ek_json_doc_new();

    load_schema();
    facts.policy = ek_policy_new(obj, 0);
    facts.bindings = bindings;
    yyjson_mut_val *made = ek_policy_status(&facts, NULL, NOW_MS, arena, doc);
    yyjson_doc *first = yyjson_mut_val_imut_copy(made, NULL);
    check_conditions(row, yyjson_doc_get_root(first));
    check_schema(row->name, doc, made);
    made = ek_policy_status(&facts, yyjson_doc_get_root(first), NOW_MS + 60000, arena, doc);
    yyjson_doc *second = yyjson_mut_val_imut_copy(made, NULL);
    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(first), yyjson_doc_get_root(second)),
                  "%s: it moves with the clock", row->name);
    yyjson_doc_free(first);
    yyjson_doc_free(second);
    yyjson_mut_doc_free(doc);
    ek_policy_unref(facts.policy);
    ek_obj_unref(obj);
    ek_arena_free(arena);
    free_schema();
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
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_mut_doc *doc = ek_json_doc_new();

    load_schema();
    for (size_t i = 0; i < MANY; i++) {
        bindings[i] = &binding;
        findings[i] = misspelt;
        fights[i] = fight;
    }
    facts.n_bindings = facts.n_findings = facts.n_fights = MANY;
    facts.findings = findings;
    facts.fights = fights;
    yyjson_mut_val *status = ek_policy_status(&facts, NULL, NOW_MS, arena, doc);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(status, "fights")),
                      EK_POLICY_STATUS_FIGHTS_MAX);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(status, "findings")),
                      EK_POLICY_STATUS_FINDINGS_MAX);
    yyjson_mut_val *omitted = yyjson_mut_obj_get(status, "omitted");
    ck_assert_uint_eq(yyjson_mut_get_uint(yyjson_mut_obj_get(omitted, "bindings")),
                      MANY - EK_POLICY_STATUS_BINDINGS_MAX);
    check_schema("many", doc, status);
    yyjson_mut_doc_free(doc);
    ek_policy_unref(facts.policy);
    ek_obj_unref(obj);
    ek_arena_free(arena);
    free_schema();
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
    Suite *suite = suite_create("policy_status");
    TCase *tcase = tcase_create("rows");
    SRunner *runner = srunner_create(suite);

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, status_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, fields_row, 0, (int)EK_ARRAY_SIZE(fields_rows));
    tcase_add_test(tcase, lists_are_bounded);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
