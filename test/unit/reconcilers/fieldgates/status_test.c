/* SPDX-License-Identifier: Apache-2.0 */
/* The status of CustomFeatureGates: conditions by row, and all of it against the schema in
 * deploy/crd. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cond.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/status.h"
#include "test/support/statustest.h"
#include "test/support/suite.h"

#define NOW_MS 1760000000000

static struct statustest schema;

static void setup(void)
{
    statustest_load(&schema, "evenkeel.dev_customfeaturegates.yaml", "CustomFeatureGates");
}

static void teardown(void)
{
    statustest_free(&schema);
}

/* ---- Conditions ---- */

#define OFF   "{name: A, preRelease: alpha, fieldPaths: [.spec.a]}"
#define OPEN  "{name: B, preRelease: beta, fieldPaths: [.spec.b]}"
#define OLD   "{name: D, preRelease: deprecated, default: true, fieldPaths: [.spec.d]}"
#define WRONG "{name: W, preRelease: GA, fieldPaths: [.spec.w]}"

static const struct ek_gate_count count = {"A", 7, 1};

static const char *const exempt[] = {"evenkeel-system", "kube-system", "kube-node-lease"};

/* What the CRD comes to: finding is of the first gate's first path. */
enum crd { NO_CRD, STARTING, PLAIN, MISSING, UNSURE, HARMFUL, KEYED, LISTED, LACKING };

/* Conditions in the order Accepted, CRDFound, PathsResolved, Enforced. */
static const struct row {
    const char *name, *gates;
    enum crd crd;
    struct ek_gates_facts facts;
    const char *statuses, *reason, *message; /* of all; of Enforced; within Enforced's */
} rows[] = {
#define UP .serving = true, .registered = true
    {"all is well", OFF, PLAIN, {UP, .canary = EK_CANARY_ANSWERED}, "TTTT", "Enforced", "call"},
    {"which servers call",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED, .canary_message = "cp-a and cp-b do"},
     "TTTT",
     "Enforced",
     "cp-a and cp-b do"},
    {"counts",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED, .counts = &count, .n_counts = 1},
     "TTTT",
     "Enforced",
     ""},
    {"not everywhere",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED, .exempt = exempt, .n_exempt = 3},
     "TTTT",
     "Enforced",
     "; objects in namespaces evenkeel-system, kube-system and kube-node-lease are not gated"},
    {"not in one namespace",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED, .exempt = exempt, .n_exempt = 1},
     "TTTT",
     "Enforced",
     "; objects in namespace evenkeel-system are not gated"},
    {"nowhere yet", OFF, PLAIN, {UP, .exempt = exempt, .n_exempt = 3}, "TTTU", "CanaryPending", ""},
    {"no CRD",
     OFF,
     NO_CRD,
     {UP},
     "TFUF",
     "CRDNotFound",
     "there is no CustomResourceDefinition crontabs.stable.example.com"},
    {"not looked at",
     OFF,
     NO_CRD,
     {UP, .crd_problem = "crontabs.stable.example.com has 64 versions"},
     "TUUF",
     "CRDNotRead",
     "has 64 versions"},
    {"not established", OFF, STARTING, {UP}, "TFTF", "CRDNotEstablished", "its conditions have"},
    {"no such field", OFF, MISSING, {UP, .canary = EK_CANARY_ANSWERED}, "TTFT", "Enforced", ""},
    {"a key of a map", OFF, KEYED, {UP, .canary = EK_CANARY_ANSWERED}, "TTFT", "Enforced", ""},
    {"within a list", OFF, LISTED, {UP, .canary = EK_CANARY_ANSWERED}, "TTFT", "Enforced", ""},
    {"not to be told", OFF, UNSURE, {UP, .canary = EK_CANARY_ANSWERED}, "TTTT", "Enforced", ""},
    {"a version lacks it: enforced by denials",
     OFF,
     LACKING,
     {UP, .canary = EK_CANARY_ANSWERED},
     "TTFT",
     "UpdatesDenied",
     "the API servers call the webhook; gate A: make it optional"},
    {"a version lacks it, and the canary is on its way",
     OFF,
     LACKING,
     {UP},
     "TTFU",
     "CanaryPending",
     ""},
    {"refused",
     OFF,
     HARMFUL,
     {UP, .canary = EK_CANARY_ANSWERED},
     "TTTF",
     "Refused",
     "gate A: make it optional"},
    {"no such stage",
     WRONG ", " OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED},
     "FTTF",
     "Invalid",
     "preRelease: Unsupported value: \"GA\""},
    {"two things are wrong",
     WRONG ", {name: X, fieldPaths: [.spec.x]}",
     PLAIN,
     {UP},
     "FTTF",
     "Invalid",
     "(and 1 more)"},
    {"nobody takes requests", OFF, PLAIN, {.registered = true}, "TTTF", "NotServing", ""},
    {"not registered",
     OFF,
     PLAIN,
     {.serving = true},
     "TTTF",
     "NotRegistered",
     "not registered yet"},
    {"why not",
     OFF,
     PLAIN,
     {.serving = true, .registration_message = "forbidden"},
     "TTTF",
     "NotRegistered",
     "forbidden"},
    {"the canary is on its way", OFF, PLAIN, {UP}, "TTTU", "CanaryPending", "not proven yet"},
    {"the canary is dead",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_FAILED, .canary_message = "cp-b: connection refused"},
     "TTTF",
     "CanaryFailed",
     "cp-b: connection refused"},
    {"all is open", OPEN, PLAIN, {.serving = false}, "TTTT", "NothingToDo", "no gate is off"},
    {"no gates", "", PLAIN, {.serving = false}, "TTTT", "NothingToDo", ""},
    {"deprecated and on is work", OLD, PLAIN, {.serving = false}, "TTTF", "NotServing", ""},
    {"an annotation",
     OFF,
     PLAIN,
     {UP, .canary = EK_CANARY_ANSWERED, .import_message = "the annotation differs"},
     "TTTT",
     "Enforced",
     ""},
};

static const struct ek_gates *make_gates(const char *list)
{
    char text[8192];
    yyjson_doc *parsed = NULL;

    int len = snprintf(text, sizeof text,
                       "apiVersion: evenkeel.dev/v1alpha1\nkind: CustomFeatureGates\n"
                       "metadata: {name: crontabs.stable.example.com, generation: 3}\n"
                       "spec: {featureGates: [%s]}\n",
                       list);
    ck_assert_int_eq(ek_yaml_parse(text, (size_t)len, 1 << 20, &parsed, NULL), 0);
    const struct ek_gates *gates = ek_gates_new(yyjson_doc_get_root(parsed), NULL, 0);
    yyjson_doc_free(parsed);
    return gates;
}

static const char *const served[] = {"v1", "v2"};

/* A resolution in the caller's storage. */
static const struct ek_gates_resolution *resolve(enum crd kind, const struct ek_gates *gates,
                                                 struct ek_gates_resolution *r,
                                                 struct ek_gate_finding *f, const char **refused)
{
    static const enum ek_gate_finding_kind kinds[] = {
        [MISSING] = EK_GATE_PATH_UNRESOLVED, [UNSURE] = EK_GATE_PATH_UNVERIFIED,
        [HARMFUL] = EK_GATE_PATH_REQUIRED,   [KEYED] = EK_GATE_PATH_KEY,
        [LISTED] = EK_GATE_PATH_IN_LIST,     [LACKING] = EK_GATE_PATH_NOT_IN_VERSION,
    };

    if (kind == NO_CRD)
        return NULL;
    *r = (struct ek_gates_resolution){.crd = {.kind = "CronTab",
                                              .storage = "v1",
                                              .established = kind != STARTING,
                                              .served = served,
                                              .n_served = 2}};
    if (kind < MISSING)
        return r;
    *f = (struct ek_gate_finding){kinds[kind],    &gates->gates[0],   &gates->gates[0].paths[0],
                                  "v1",           "make it optional", kind == HARMFUL,
                                  kind == LACKING};
    r->findings = f;
    r->n_findings = 1;
    *refused = gates->gates[0].name;
    r->refused = refused;
    r->n_refused = kind == HARMFUL;
    return r;
}

static const char *const types[] = {"Accepted", "CRDFound", "PathsResolved", "Enforced", NULL};

static void check_conditions(const struct row *row, yyjson_val *status)
{
    yyjson_val *enforced = ek_cond_find(yyjson_obj_get(status, "conditions"), "Enforced");

    statustest_conditions(&(struct statustest_want){row->name, types, row->statuses, "Enforced",
                                                    row->reason, row->message},
                          status);
    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(status, "observedGeneration")), 3);
    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(enforced, "observedGeneration")), 3);
}

START_TEST(status_row)
{
    const struct row *row = &rows[_i];
    struct ek_gates_facts facts = row->facts;
    struct ek_gates_resolution r;
    struct ek_gate_finding finding;
    const char *refused;

    facts.gates = make_gates(row->gates);
    facts.resolution = resolve(row->crd, facts.gates, &r, &finding, &refused);
    yyjson_mut_val *made = ek_gates_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    yyjson_doc *first = yyjson_mut_val_imut_copy(made, NULL);
    check_conditions(row, yyjson_doc_get_root(first));
    statustest_schema(&schema, row->name, made);
    made = ek_gates_status(&facts, yyjson_doc_get_root(first), NOW_MS + 60000, schema.arena,
                           schema.doc);
    statustest_same(row->name, yyjson_doc_get_root(first), made);
    yyjson_doc_free(first);
    ek_gates_unref(facts.gates);
}
END_TEST

/* ---- The census ---- */

static const struct ek_gates_census_state counted = {
    .generation = 3, .known = true, .result = {.objects = 9, .held = {4, 5}}, .at_ms = NOW_MS};
static const struct ek_gates_census_state counted_before = {
    .generation = 2, .known = true, .result = {.objects = 8, .held = {1, 1}}, .at_ms = NOW_MS};
static const struct ek_gates_census_state uncounted = {.generation = 3,
                                                       .message = "crontabs is forbidden"};

#define CENSUS "{\"observedTime\":\"2025-10-09T08:53:20Z\",\"objects\":9}"
#define OLD_STATUS(generation)                                                                     \
    "{\"observedGeneration\": " generation ", \"gates\": [{\"name\": \"A\", "                      \
    "\"storedObjects\": 7}], \"census\": {\"objects\": 6}}"

static const struct census_row {
    const char *name, *gates;
    const struct ek_gates_census_state *census;
    const char *old;         /* status */
    const char *census_json; /* "": there is none */
    int64_t first, second;   /* storedObjects; -1: there is none */
} census_rows[] = {
    {"none", OFF, NULL, "{}", "", -1, -1},
    {"counted", OFF, &counted, "{}", CENSUS, 4, -1},
    {"gates that are on are not counted", OPEN ", " OLD, &counted, "{}", CENSUS, -1, 5},
    {"all are on", OPEN, &counted, OLD_STATUS("3"), "", -1, -1},
    {"of earlier gates", OFF, &counted_before, "{}", "", -1, -1},
    {"by another replica", OFF, NULL, OLD_STATUS("3"), "{\"objects\":6}", 7, -1},
    {"by another replica, of earlier gates", OFF, NULL, OLD_STATUS("2"), "{\"objects\":6}", -1, -1},
    {"not permitted", OFF, &uncounted, "{}", "{\"message\":\"crontabs is forbidden\"}", -1, -1},
};

static int64_t stored_objects(yyjson_val *status, const char *pointer)
{
    yyjson_val *v = yyjson_ptr_get(status, pointer);
    return v ? yyjson_get_sint(v) : -1;
}

START_TEST(census_row)
{
    const struct census_row *row = &census_rows[_i];
    struct ek_gates_facts facts = {.gates = make_gates(row->gates), .census = row->census};
    yyjson_doc *old = yyjson_read(row->old, strlen(row->old), 0);
    yyjson_mut_val *made =
        ek_gates_status(&facts, yyjson_doc_get_root(old), NOW_MS, schema.arena, schema.doc);
    yyjson_doc *status = yyjson_mut_val_imut_copy(made, NULL);
    yyjson_val *root = yyjson_doc_get_root(status), *census = yyjson_obj_get(root, "census");
    char *text = census ? yyjson_val_write(census, 0, NULL) : NULL;

    statustest_schema(&schema, row->name, made);
    ck_assert_msg(!strcmp(text ? text : "", row->census_json), "%s: %s", row->name,
                  text ? text : "nothing");
    ck_assert_int_eq(stored_objects(root, "/gates/0/storedObjects"), row->first);
    ck_assert_int_eq(stored_objects(root, "/gates/1/storedObjects"), row->second);
    free(text);
    yyjson_doc_free(status);
    yyjson_doc_free(old);
    ek_gates_unref(facts.gates);
}
END_TEST

/* ---- The rest of it ---- */

/* The status of gates without a CRD, or with the resolution of kind. Owned. */
static yyjson_doc *status_of(const char *gates, enum crd kind)
{
    struct ek_gates_facts facts = {.gates = make_gates(gates), .counts = &count, .n_counts = 1};
    struct ek_gates_resolution r;
    struct ek_gate_finding finding;
    const char *refused;

    facts.resolution = resolve(kind, facts.gates, &r, &finding, &refused);
    yyjson_doc *ret = yyjson_mut_val_imut_copy(
        ek_gates_status(&facts, NULL, NOW_MS, schema.arena, schema.doc), NULL);
    ek_gates_unref(facts.gates);
    return ret;
}

/* A member of the status, by JSON pointer, as JSON. */
static const struct part_row {
    const char *name, *gates;
    enum crd crd;
    const char *pointer, *json; /* "": it is absent */
} part_rows[] = {
    {"gates", OFF ", " OPEN, PLAIN, "/summary",
     "{\"gates\":2,\"on\":1,\"paths\":2,\"unresolved\":0,\"refused\":0,\"findings\":0,"
     "\"suppressed\":7,\"deprecatedUses\":1}"},
    {"without a CRD less is known", OFF, NO_CRD, "/summary",
     "{\"gates\":1,\"on\":0,\"paths\":1,\"suppressed\":7,\"deprecatedUses\":1}"},
    {"a gate that is off", OFF, PLAIN, "/gates/0",
     "{\"name\":\"A\",\"preRelease\":\"alpha\",\"state\":\"Off\",\"rule\":6,\"reason\":\"*\","
     "\"paths\":[{\"path\":\".spec.a\",\"resolved\":true}],\"suppressed\":7,\"deprecatedUses\":1}"},
    {"a path without a CRD", OFF, NO_CRD, "/gates/0/paths/0", "{\"path\":\".spec.a\"}"},
    {"a path that leads nowhere", OFF, MISSING, "/gates/0/paths/0",
     "{\"path\":\".spec.a\",\"resolved\":false}"},
    {"a path that cannot be told", OFF, UNSURE, "/gates/0/paths/0", "{\"path\":\".spec.a\"}"},
    {"a path that a version lacks", OFF, LACKING, "/gates/0/paths/0",
     "{\"path\":\".spec.a\",\"resolved\":false}"},
    {"a finding that denies updates", OFF, LACKING, "/findings/0",
     "{\"gate\":\"A\",\"path\":\".spec.a\",\"type\":\"NotInVersion\",\"version\":\"v1\","
     "\"updatesDenied\":true,\"message\":\"make it optional\"}"},
    {"a gate that is refused", OFF, HARMFUL, "/gates/0/refused", "true"},
    {"a gate that is not", OFF, PLAIN, "/gates/0/refused", ""},
    {"a finding", OFF, HARMFUL, "/findings/0",
     "{\"gate\":\"A\",\"path\":\".spec.a\",\"type\":\"Required\",\"version\":\"v1\","
     "\"refused\":true,\"message\":\"make it optional\"}"},
    {"the CRD", OFF, PLAIN, "/crd",
     "{\"kind\":\"CronTab\",\"storageVersion\":\"v1\",\"servedVersions\":[\"v1\",\"v2\"],"
     "\"conversion\":\"None\"}"},
    {"no CRD", OFF, NO_CRD, "/crd", ""},
    {"stable ignores enabled",
     "{name: S, preRelease: stable, enabled: false, fieldPaths: [.spec.s]}", PLAIN, "/notes/0",
     "\"gate S: enabled: false is ignored, because stable gates are always on\""},
    {"and says so", "{name: S, preRelease: stable, enabled: false, fieldPaths: [.spec.s]}", PLAIN,
     "/conditions/0/reason", "\"EnabledIgnored\""},
    {"and is on by rule 1", "{name: S, preRelease: stable, enabled: false, fieldPaths: [.spec.s]}",
     PLAIN, "/gates/0/rule", "1"},
    {"enabled is rule 2", "{name: S, preRelease: alpha, enabled: true, fieldPaths: [.spec.s]}",
     PLAIN, "/gates/0/rule", "2"},
    {"of gates without a name of their own the first",
     OFF ", {name: A, fieldPaths: [.spec.y]}, {name: A, fieldPaths: [.spec.z]}", PLAIN, "/gates/2",
     ""},
    {"no problems", OFF, PLAIN, "/problems", ""},
    {"nothing left out", OFF, PLAIN, "/omitted", ""},
};

START_TEST(part_row)
{
    const struct part_row *row = &part_rows[_i];
    yyjson_doc *status = status_of(row->gates, row->crd), *want = NULL;
    yyjson_val *got = yyjson_ptr_get(yyjson_doc_get_root(status), row->pointer);

    ck_assert_msg((got != NULL) == (*row->json != '\0'), "%s", row->name);
    if (got) {
        char *text = yyjson_val_write(got, 0, NULL);
        char *star = strstr(row->json, "\"*\"") ? strstr(text, "\"reason\":") : NULL;
        want = yyjson_read(row->json, strlen(row->json), 0);
        /* The rule's words are the gates' business: only that there are some. */
        if (star)
            ck_assert_msg(star[10] != '"', "%s: no reason", row->name);
        else
            ck_assert_msg(ek_json_equal(got, yyjson_doc_get_root(want)), "%s: %s", row->name, text);
        free(text);
    }
    yyjson_doc_free(want);
    yyjson_doc_free(status);
}
END_TEST

/* A status stays small, whatever is found. */
START_TEST(lists_are_bounded)
{
    enum { MANY = 200 };
    struct ek_gate_finding findings[MANY];
    struct ek_gates_facts facts = {.gates = make_gates(OFF)};
    struct ek_gates_resolution r;
    const char *refused, *versions[MANY];

    facts.resolution = resolve(HARMFUL, facts.gates, &r, &findings[0], &refused);
    for (size_t i = 1; i < MANY; i++)
        findings[i] = findings[0];
    r.n_findings = MANY;
    for (size_t i = 0; i < MANY; i++)
        versions[i] = "v1";
    r.crd.served = versions;
    r.crd.n_served = 32; /* as many as are listed */
    yyjson_mut_val *status = ek_gates_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(status, "findings")),
                      EK_GATES_STATUS_FINDINGS_MAX);
    yyjson_mut_val *omitted = yyjson_mut_obj_get(status, "omitted");
    ck_assert_uint_eq(yyjson_mut_get_uint(yyjson_mut_obj_get(omitted, "findings")),
                      MANY - EK_GATES_STATUS_FINDINGS_MAX);
    ck_assert_ptr_null(yyjson_mut_obj_get(omitted, "servedVersions"));
    statustest_schema(&schema, "many", status);
    r.crd.n_served++;
    status = ek_gates_status(&facts, NULL, NOW_MS, schema.arena, schema.doc);
    omitted = yyjson_mut_ptr_get(status, "/omitted/servedVersions");
    ck_assert_uint_eq(yyjson_mut_get_uint(omitted), 1);
    ek_gates_unref(facts.gates);
}
END_TEST

/* The types of findings are those that the schema takes. */
START_TEST(types_of_findings)
{
    yyjson_val *list = yyjson_ptr_get(
        yyjson_doc_get_root(schema.crd),
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/findings/items/"
        "properties/type/enum");
    ck_assert_uint_eq(yyjson_arr_size(list), EK_GATE_FINDINGS_MAX);
    for (int kind = 0; kind < EK_GATE_FINDINGS_MAX; kind++)
        ck_assert_str_eq(yyjson_get_str(yyjson_arr_get(list, (size_t)kind)),
                         ek_gate_finding_name((enum ek_gate_finding_kind)kind));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("status");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, status_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, census_row, 0, EK_ARRAY_SIZE(census_rows));
    tcase_add_loop_test(tcase, part_row, 0, (int)EK_ARRAY_SIZE(part_rows));
    tcase_add_test(tcase, lists_are_bounded);
    tcase_add_test(tcase, types_of_findings);
    return ek_test_run("gates_status", tcase);
}
