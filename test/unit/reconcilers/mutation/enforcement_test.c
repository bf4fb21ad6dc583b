/* SPDX-License-Identifier: Apache-2.0 */
/* Who enforces, and what is done where nobody can tell whether a server already has. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/schema/schema.h"
#include "reconcilers/mutation/confirm.h"
#include "reconcilers/mutation/enforcement.h"
#include "test/support/suite.h"

/* ---- Servers ---- */

#define LIST(version)                                                                              \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"admissionregistration.k8s.io/" version       \
    "\",\"resources\":[{\"name\":\"mutatingadmissionpolicies\",\"kind\":"                          \
    "\"MutatingAdmissionPolicy\",\"verbs\":[\"list\"]}]}"
#define NODES                                                                                      \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"nodes\","    \
    "\"kind\":\"Node\",\"verbs\":[\"list\"]}]}"

enum gate { UNSEEN, OTHERS, OFF, ON };

static const struct {
    const char *name, *discovery; /* NULL: not answered */
    enum gate gate;
    enum ek_plugin want;
    const char *version;
} servers[] = {
    {"1.36 as it comes", LIST("v1"), ON, EK_PLUGIN_RUNS, "v1"},
    {"1.36 with the gate off", LIST("v1"), OFF, EK_PLUGIN_ABSENT, "v1"},
    {"1.36 that hides its gates", LIST("v1"), UNSEEN, EK_PLUGIN_RUNS, "v1"},
    {"1.34 with beta and gate", LIST("v1beta1"), ON, EK_PLUGIN_RUNS, "v1beta1"},
    {"1.34 with beta alone", LIST("v1beta1"), OFF, EK_PLUGIN_ABSENT, "v1beta1"},
    {"1.34 with beta that hides its gates", LIST("v1beta1"), UNSEEN, EK_PLUGIN_UNKNOWN, "v1beta1"},
    {"1.34 as it comes", NODES, OFF, EK_PLUGIN_ABSENT, NULL},
    {"1.30, which has no such gate", NODES, OTHERS, EK_PLUGIN_ABSENT, NULL},
    {"one that serves none and hides its gates", NODES, UNSEEN, EK_PLUGIN_ABSENT, NULL},
    {"a gate without a resource", NODES, ON, EK_PLUGIN_ABSENT, NULL},
    {"one that has told its gates alone", NULL, ON, EK_PLUGIN_UNKNOWN, NULL},
    {"one that has told nothing", NULL, UNSEEN, EK_PLUGIN_UNKNOWN, NULL},
};

static struct ek_probe *make_probe(const char *discovery, enum gate gate)
{
    struct ek_probe *probe = ek_probe_new();

    if (discovery) {
        yyjson_doc *doc = ek_json_parse(discovery, strlen(discovery), NULL);
        probe->discovery = ek_discovery_new();
        ck_assert(
            !ek_discovery_add_resource_list(probe->discovery, yyjson_doc_get_root(doc), NULL));
        ek_discovery_seal(probe->discovery);
        yyjson_doc_free(doc);
    }
    if (gate != UNSEEN) {
        probe->gates = ek_xalloc(2 * sizeof *probe->gates);
        probe->gates[probe->n_gates++] =
            (struct ek_feature_gate){.name = ek_xstrdup("AAA"), .stage = ek_xstrdup("")};
        if (gate != OTHERS)
            probe->gates[probe->n_gates++] =
                (struct ek_feature_gate){.name = ek_xstrdup("MutatingAdmissionPolicy"),
                                         .stage = ek_xstrdup(""),
                                         .enabled = gate == ON};
    }
    return probe;
}

START_TEST(judges_servers)
{
    struct ek_probe *probe = make_probe(servers[_i].discovery, servers[_i].gate);
    const char *version = ek_plugin_version(probe);

    ck_assert_msg(ek_plugin_of(probe) == servers[_i].want, "%s: %d", servers[_i].name,
                  ek_plugin_of(probe));
    ck_assert_msg(version == servers[_i].version || !strcmp(version, servers[_i].version), "%s: %s",
                  servers[_i].name, version);
    ek_probe_unref(probe);
    ck_assert(ek_plugin_of(NULL) == EK_PLUGIN_UNKNOWN);
}
END_TEST

/* ---- Decisions ---- */

static const struct {
    const char *name;
    bool native;
    enum ek_policy_enforcement asked;
    struct ek_plugin_census census;
    bool apply, confirm;
    enum ek_enforcer enforcer;
} decisions[] = {
    {"all run it", true, EK_POLICY_AUTO, {3, 0, 0, true}, false, false, EK_ENFORCER_API_SERVERS},
    {"none runs it", true, EK_POLICY_AUTO, {0, 3, 0, true}, true, false, EK_ENFORCER_EVENKEEL},
    {"some do", true, EK_POLICY_AUTO, {1, 2, 0, true}, true, true, EK_ENFORCER_MIXED},
    {"one is not known", true, EK_POLICY_AUTO, {0, 2, 1, true}, true, true, EK_ENFORCER_UNKNOWN},
    {"one is not known, others run it",
     true,
     EK_POLICY_AUTO,
     {2, 0, 1, true},
     true,
     true,
     EK_ENFORCER_MIXED},
    {"there may be others", true, EK_POLICY_AUTO, {3, 0, 0, false}, true, true, EK_ENFORCER_MIXED},
    {"none is known", true, EK_POLICY_AUTO, {0, 0, 0, true}, true, true, EK_ENFORCER_UNKNOWN},
    {"enforced anyway", true, EK_POLICY_ENFORCE, {1, 2, 0, true}, true, false, EK_ENFORCER_MIXED},
    {"enforced by us alone",
     true,
     EK_POLICY_ENFORCE,
     {0, 2, 0, true},
     true,
     false,
     EK_ENFORCER_EVENKEEL},
    {"observed", true, EK_POLICY_OBSERVE, {0, 2, 0, true}, false, false, EK_ENFORCER_NOBODY},
    {"observed, which servers don't know",
     true,
     EK_POLICY_OBSERVE,
     {2, 0, 0, true},
     false,
     false,
     EK_ENFORCER_API_SERVERS},
    {"ours", false, EK_POLICY_AUTO, {3, 0, 0, true}, true, false, EK_ENFORCER_EVENKEEL},
    {"ours, whoever there is",
     false,
     EK_POLICY_AUTO,
     {0, 0, 0, false},
     true,
     false,
     EK_ENFORCER_EVENKEEL},
    {"ours, observed", false, EK_POLICY_OBSERVE, {3, 0, 0, true}, false, false, EK_ENFORCER_NOBODY},
};

START_TEST(decides)
{
    const struct ek_policy policy = {.native = decisions[_i].native,
                                     .enforcement = decisions[_i].asked};
    struct ek_enforcement got;

    ek_enforcement_decide(&policy, &decisions[_i].census, &got);
    ck_assert_msg(got.apply == decisions[_i].apply, "%s: apply", decisions[_i].name);
    ck_assert_msg(got.confirm == decisions[_i].confirm, "%s: confirm", decisions[_i].name);
    ck_assert_msg(got.enforcer == decisions[_i].enforcer, "%s: %d", decisions[_i].name,
                  got.enforcer);
}
END_TEST

/* ---- Confirming ---- */

#define JSON_PATCH(expression)                                                                     \
    "{\"patchType\":\"JSONPatch\",\"jsonPatch\":{\"expression\":\"" expression "\"}}"
#define APPLY(expression)                                                                          \
    "{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{\"expression\":\"" expression   \
    "\"}}"
#define POLICY(mutation, more)                                                                     \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"MutatingAdmissionPolicy\","    \
    "\"metadata\":{\"name\":\"p\"},\"spec\":{\"reinvocationPolicy\":\"Never\","                    \
    "\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],"     \
    "\"operations\":[\"CREATE\"],\"resources\":[\"configmaps\"]}]},\"mutations\":[" mutation       \
    "]" more "}}"
#define BINDING                                                                                    \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                                \
    "\"MutatingAdmissionPolicyBinding\",\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":"   \
    "\"p\"}}"
#define LABEL APPLY("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
/* Appends a letter each time that it runs. */
#define GROW JSON_PATCH("[JSONPatch{op: 'replace', path: '/data/x', value: object.data.x + 'x'}]")
#define ONCE(mutation)                                                                             \
    POLICY(mutation, ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.data.x == "    \
                     "'x'\"}]")
#define X(value) "{\"x\":\"" value "\"}"

static const struct {
    const char *name;
    const char *policies[2];
    const char *data, *labels; /* of the object that comes */
    const char *want;          /* the value of data.x, or a label, afterwards; NULL: denied */
    const char *pointer;
} requests[] = {
    {"a label, where no server has set it",
     {POLICY(LABEL, "")},
     X("x"),
     "{}",
     "b",
     "/metadata/labels/a"},
    {"a label that a server has set",
     {POLICY(LABEL, "")},
     X("x"),
     "{\"a\":\"b\"}",
     "b",
     "/metadata/labels/a"},
    {"a label that another mutator has changed",
     {POLICY(LABEL, "")},
     X("x"),
     "{\"a\":\"c\"}",
     "b",
     "/metadata/labels/a"},
    {"what grows each time, maybe grown already", {POLICY(GROW, "")}, X("x"), "{}", NULL, NULL},
    {"the same, to be left out",
     {POLICY(GROW, ",\"failurePolicy\":\"Ignore\"")},
     X("x"),
     "{}",
     "x",
     "/data/x"},
    {"others run without it",
     {POLICY(GROW, ",\"failurePolicy\":\"Ignore\""), POLICY(LABEL, "")},
     X("x"),
     "{}",
     "b",
     "/metadata/labels/a"},
    {"what grows once, by its condition", {ONCE(GROW)}, X("x"), "{}", "xx", "/data/x"},
    {"and has grown already", {ONCE(GROW)}, X("xx"), "{}", "xx", "/data/x"},
};

static enum ek_world_answer get_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                          struct ek_err *err)
{
    (void)name;
    (void)err;
    *ret_object = arg;
    return EK_WORLD_FOUND;
}

static const struct ek_schema *schema;

static enum ek_world_answer get_schema(void *arg, const struct ek_gvk *kind,
                                       const struct ek_schema **ret_schema, struct ek_err *err)
{
    (void)arg;
    (void)kind;
    (void)err;
    *ret_schema = schema;
    return EK_WORLD_FOUND;
}

#define DOCUMENT                                                                                   \
    "{\"components\":{\"schemas\":{\"io.k8s.api.core.v1.ConfigMap\":{\"type\":\"object\","         \
    "\"properties\":{\"apiVersion\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},"         \
    "\"metadata\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"            \
    "\"namespace\":{\"type\":\"string\"},"                                                         \
    "\"labels\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}}},"           \
    "\"data\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}},"              \
    "\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"kind\":\"ConfigMap\","                 \
    "\"version\":\"v1\"}]}}}}"

static struct ek_obj *parse(const char *json)
{
    struct ek_obj *obj = NULL;
    ck_assert_msg(!ek_obj_parse(json, strlen(json), &obj, NULL), "%s", json);
    return obj;
}

static void check_outcome(const struct ek_mutation_outcome *outcome, int i)
{
    if (!requests[i].want) {
        ck_assert_msg(!outcome->allowed, "%s: allowed", requests[i].name);
        ck_assert_int_eq(outcome->code, 403);
        ck_assert(strstr(outcome->message, "policy 'p' denied request: "));
        size_t denied = 0;
        for (size_t k = 0; k < outcome->n_steps; k++) {
            const struct ek_step *step = &outcome->steps[k];
            bool is_p = !strcmp(step->bound->policy->name, "p");
            ck_assert_msg(!is_p || step->result != EK_STEP_APPLIED, "%s", requests[i].name);
            denied += is_p && step->result == EK_STEP_DENIED && step->message &&
                      step->error == EK_STEP_RESTLESS;
        }
        ck_assert_uint_gt(denied, 0);
        return;
    }
    ck_assert_msg(outcome->allowed, "%s: %s", requests[i].name, outcome->message);
    yyjson_val *got = yyjson_ptr_get(yyjson_doc_get_root(outcome->result), requests[i].pointer);
    ck_assert_msg(yyjson_equals_str(got, requests[i].want), "%s: %s", requests[i].name,
                  yyjson_get_str(got));
}

START_TEST(confirms)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"uid\":\"1\",\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"ConfigMap\"},"
        "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"configmaps\"},"
        "\"name\":\"c\",\"namespace\":\"n\",\"operation\":\"CREATE\",\"userInfo\":{},"
        "\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
        "\"namespace\":\"n\",\"labels\":%s},\"data\":%s}}",
        requests[_i].labels, requests[_i].data);
    struct ek_obj *review = parse(json), *space = parse("{\"metadata\":{\"name\":\"n\"}}");
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    struct ek_obj *document = parse(DOCUMENT);
    struct ek_mutation_world world = {
        .namespace = get_namespace, .schema = get_schema, .arg = ek_obj_root(space)};
    struct ek_bound bound[2];
    struct ek_admission_request request;
    struct ek_mutation_outcome outcome;
    struct ek_engine_options engine = {0};
    struct ek_schema *compiled = NULL;
    size_t n = 0;

    ck_assert(!ek_schema_compile(ek_obj_root(document), &compiled, NULL));
    schema = compiled;
    for (; n < 2 && requests[_i].policies[n]; n++) {
        struct ek_obj *p = parse(requests[_i].policies[n]), *b = parse(BINDING);
        bound[n] = (struct ek_bound){.policy = ek_policy_new(p, 0),
                                     .binding = ek_binding_new(b),
                                     .apply = true,
                                     .confirm = true};
        ek_obj_unref(p);
        ek_obj_unref(b);
    }
    ck_assert(!ek_admission_request_read(ek_obj_root(review), &request, NULL));
    struct ek_policy_set set = {bound, n};
    ck_assert(!ek_confirm_run(&set, &request, &world, &engine, arena, &outcome));
    check_outcome(&outcome, _i);
    ek_mutation_outcome_done(&outcome);
    while (n--) {
        ek_policy_unref(bound[n].policy);
        ek_binding_unref(bound[n].binding);
    }
    ek_schema_unref(compiled);
    ek_arena_free(arena);
    ek_obj_unref(document);
    ek_obj_unref(space);
    ek_obj_unref(review);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");

    tcase_add_loop_test(t, judges_servers, 0, EK_ARRAY_SIZE(servers));
    tcase_add_loop_test(t, decides, 0, EK_ARRAY_SIZE(decisions));
    tcase_add_loop_test(t, confirms, 0, EK_ARRAY_SIZE(requests));
    return ek_test_run("enforcement", t);
}
