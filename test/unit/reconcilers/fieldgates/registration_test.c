/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered for gated kinds, and when its match conditions hold: by row, with our own CEL
 * in the place of the API server's. */
#include <check.h>
#include <stdio.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/registration.h"
#include "reconcilers/webhooks/compare.h"
#include "test/support/gates_registration.h"
#include "test/support/json_text.h"
#include "test/support/suite.h"

/* lacking: versions without .spec.a, which gate A gates, up to a NULL. */
static void make_lacking(const char *gates, const char *const *lacking, const char *bundle,
                         struct test_registration *m)
{
    const struct ek_gates *made = test_registration_gates("crontabs.stable.example.com", gates);
    struct ek_gates_crd crd = test_registration_crontabs();
    struct ek_gates_lack lacks[4];

    for (; lacking && lacking[crd.shape.n_lacks]; crd.shape.n_lacks++)
        lacks[crd.shape.n_lacks] = (struct ek_gates_lack){
            .version = lacking[crd.shape.n_lacks], .gate = "A", .path = ".spec.a"};
    crd.shape.lacks = lacks;
    test_registration_make(&(struct ek_gates_registered){.gates = made, .crd = &crd}, 1, bundle, m);
    ek_gates_unref(made);
}

static void make(const char *gates, const char *bundle, struct test_registration *m)
{
    make_lacking(gates, NULL, bundle, m);
}

/* ---- Contents ---- */

/* No list above a field. */
#define NO_LIST_SPEC                                                                               \
    "type(object.?spec.orValue(0)) == list || type(oldObject.?spec.orValue(0)) == list"
#define GUARD NO_LIST_SPEC " ? object.?spec != oldObject.?spec : "
#define GUARD_2                                                                                    \
    NO_LIST_SPEC " || type(object.?spec.?a.orValue(0)) == list || "                                \
                 "type(oldObject.?spec.?a.orValue(0)) == list ? "                                  \
                 "object.?spec != oldObject.?spec : "

static const struct {
    const char *name, *gates;
    bool validating;
    const char *pointer;
    const char *want; /* YAML */
} contents[] = {
    {"no gates", "", false, "/webhooks", "[]"},
    {"nothing is closed", BETA("A", ".spec.a"), false, "/webhooks", "[]"},
    {"definitions are validated all the same", "", true, "/webhooks/0/name",
     "definition.registration.evenkeel.dev"},
    {"and that may fail", "", true, "/webhooks/0/failurePolicy", "Ignore"},
    {"a name of its own", ALPHA("A", ".spec.a"), false, "/webhooks/0/name",
     "fail.crontabs.stable.example.com.gates.evenkeel.dev"},
    {"the same in the backstop", ALPHA("A", ".spec.a"), true, "/webhooks/0/name",
     "fail.crontabs.stable.example.com.gates.evenkeel.dev"},
    {"a path of its own", ALPHA("A", ".spec.a"), false, "/webhooks/0/clientConfig/service/path",
     "/gates/crontabs.stable.example.com"},
    {"another in the backstop", ALPHA("A", ".spec.a"), true,
     "/webhooks/0/clientConfig/service/path", "/gates-verify/crontabs.stable.example.com"},
    {"the resource", ALPHA("A", ".spec.a"), false, "/webhooks/0/rules",
     "[{apiGroups: [stable.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], "
     "resources: [crontabs], scope: Namespaced}]"},
    {"status is written apart", ALPHA("A", ".status.a"), false, "/webhooks/0/rules/0/resources",
     "[crontabs/status]"},
    {"scale writes replicas, too", ALPHA("A", ".spec.replicas"), false,
     "/webhooks/0/rules/0/resources", "[crontabs, crontabs/scale]"},
    {"also below a gated field", ALPHA("A", ".spec"), false, "/webhooks/0/rules/0/resources",
     "[crontabs, crontabs/scale]"},
    {"all of them", ALPHA("A", ".spec.replicas, .status.a"), false, "/webhooks/0/rules/0/resources",
     "[crontabs, crontabs/status, crontabs/scale]"},
    {"failing", ALPHA("A", ".spec.a"), false, "/webhooks/0/failurePolicy", "Fail"},
    {"two entries for two policies", ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"), false,
     "/webhooks/1/name", "ignore.crontabs.stable.example.com.gates.evenkeel.dev"},
    {"which may fail", ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"), false,
     "/webhooks/1/failurePolicy", "Ignore"},
    {"each for its own fields", ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"), false,
     "/webhooks/1/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD "object.?spec.?b != oldObject.?spec.?b\"}]"},
    {"and the other", ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"), false,
     "/webhooks/0/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD "object.?spec.?a != oldObject.?spec.?a\"}]"},
    {"a child that must not be ignored counts by itself",
     IGNORE("A", ".spec.a") "," ALPHA("B", ".spec.a.b"), false, "/webhooks/0/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD_2
     "object.?spec.?a.?b != oldObject.?spec.?a.?b\"}]"},
    {"a child of the same policy does not", ALPHA("A", ".spec.a") "," ALPHA("B", ".spec.a.b"),
     false, "/webhooks/0/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD "object.?spec.?a != oldObject.?spec.?a\"}]"},
    {"a deprecated field is warned about, if we can be asked", OLD("A", ".spec.a"), false,
     "/webhooks/0/name", "ignore.crontabs.stable.example.com.gates.evenkeel.dev"},
    {"also beside what must not be ignored", ALPHA("A", ".spec.a") "," OLD("B", ".spec.b"), false,
     "/webhooks/1/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD "object.?spec.?b != oldObject.?spec.?b\"}]"},
    {"which does not ask for it", ALPHA("A", ".spec.a") "," OLD("B", ".spec.b"), false,
     "/webhooks/0/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD "object.?spec.?a != oldObject.?spec.?a\"}]"},
    {"a closed field below a deprecated one must not be ignored",
     OLD("A", ".spec.a") "," ALPHA("B", ".spec.a.b"), false, "/webhooks/0/matchConditions",
     "[{name: gated-fields, expression: \"" GUARD_2
     "object.?spec.?a.?b != oldObject.?spec.?a.?b\"}]"},
    {"and not held against the final object", OLD("A", ".spec.a"), true, "/webhooks/0/name",
     "definition.registration.evenkeel.dev"},
    {"namespaces", ALPHA("A", ".spec.a"), false, "/webhooks/0/namespaceSelector",
     "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: "
     "[evenkeel-system, kube-system, kube-node-lease]}]}"},
    {"also in the backstop", ALPHA("A", ".spec.a"), true, "/webhooks/0/namespaceSelector",
     "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: "
     "[evenkeel-system, kube-system, kube-node-lease]}]}"},
    {"all objects", ALPHA("A", ".spec.a"), false, "/webhooks/0/objectSelector", "{}"},
    {"the canary is in no namespace", ALPHA("A", ".spec.a"), false, "/webhooks/1/namespaceSelector",
     "{}"},
    {"called late, and again", ALPHA("A", ".spec.a"), false, "/webhooks/0/reinvocationPolicy",
     "IfNeeded"},
    {"converted", ALPHA("A", ".spec.a"), false, "/webhooks/0/matchPolicy", "Equivalent"},
    {"in time", ALPHA("A", ".spec.a"), false, "/webhooks/0/timeoutSeconds", "5"},
    {"without side effects", ALPHA("A", ".spec.a"), false, "/webhooks/0/sideEffects", "None"},
    {"the canary", ALPHA("A", ".spec.a"), false, "/webhooks/1/name",
     "canary.registration.evenkeel.dev"},
    {"tells why it is not answered", ALPHA("A", ".spec.a"), false, "/webhooks/1/failurePolicy",
     "Fail"},
    {"goes with the namespace", ALPHA("A", ".spec.a"), true, "/metadata/ownerReferences",
     "[{apiVersion: v1, kind: Namespace, name: evenkeel-system, uid: u-1}]"},
};

START_TEST(writes_contents)
{
    struct test_registration m;
    yyjson_val *got;

    make(contents[_i].gates, NULL, &m);
    got = yyjson_ptr_get(ek_obj_root(m.contents[contents[_i].validating]), contents[_i].pointer);
    yyjson_doc *want = test_registration_yaml(contents[_i].want);
    EK_AUTOFREE char *text = got ? yyjson_val_write(got, 0, NULL) : NULL;
    ck_assert_msg(got && ek_json_equal(got, yyjson_doc_get_root(want)), "%s: %s", contents[_i].name,
                  text ? text : "nothing");
    yyjson_doc_free(want);
    test_registration_done(&m);
}
END_TEST

START_TEST(quotes_names)
{
    struct test_registration m;

    make(ALPHA("A", "\".spec['k8s.io/x'].for['it\\\\'s']\""), NULL, &m);
    const char *got = yyjson_get_str(
        yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/0/matchConditions/0/expression"));
    const char *fine = strstr(got, " : ");
    ck_assert_ptr_nonnull(fine);
    ck_assert_str_eq(fine, " : object.?spec[?'k8s.io/x'][?'for'][?'it\\'s'] != "
                           "oldObject.?spec[?'k8s.io/x'][?'for'][?'it\\'s']");
    test_registration_done(&m);
}
END_TEST

START_TEST(quotes_names_that_are_no_identifiers)
{
    struct test_registration m;

    make(ALPHA("A", "\".spec['1a'].b2\""), NULL, &m);
    const char *got = yyjson_get_str(
        yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/0/matchConditions/0/expression"));
    ck_assert_msg(strstr(got, "object.?spec[?'1a'].?b2 != ") != NULL, "%s", got);
    test_registration_done(&m);
}
END_TEST

/* ---- Conditions ---- */

#define FOO ALPHA("A", ".spec.foo.bar, .status.note, .spec.replicas")

static const struct {
    const char *name, *gates, *subresource;
    const char *object, *old; /* YAML; old "null" for a create */
    bool want;
} conditions[] = {
    {"created without", FOO, "", "{spec: {a: 1}}", "null", false},
    {"created with", FOO, "", "{spec: {foo: {bar: 1}}}", "null", true},
    {"created without a spec", FOO, "", "{metadata: {}}", "null", false},
    {"created with a null spec", FOO, "", "{spec: null}", "null", false},
    {"created with null, which is there", FOO, "", "{spec: {foo: {bar: null}}}", "null", true},
    {"created with a null above", FOO, "", "{spec: {foo: null}}", "null", false},
    {"created with a scalar above", FOO, "", "{spec: {foo: 7}}", "null", false},
    {"created with a list above: better once too often", FOO, "", "{spec: {foo: [1]}}", "null",
     true},
    {"created with a list for spec", FOO, "", "{spec: [1]}", "null", true},
    {"a list above, unchanged", FOO, "", "{metadata: {a: 1}, spec: {foo: [1]}}",
     "{spec: {foo: [1]}}", false},
    {"a list above, before", FOO, "", "{spec: {foo: {bar: 1}}}", "{spec: {foo: [1]}}", true},
    {"two names that begin alike", ALPHA("A", ".spec.a.b, .spec.a.c, .spec.d"), "",
     "{spec: {a: [1], d: 2}}", "{spec: {a: [1], d: 2}}", false},
    {"unchanged", FOO, "", "{spec: {foo: {bar: 1}}}", "{spec: {foo: {bar: 1}}}", false},
    {"unchanged number", FOO, "", "{spec: {foo: {bar: 1}}}", "{spec: {foo: {bar: 1.0}}}", false},
    {"unchanged map", FOO, "", "{spec: {foo: {bar: {a: 1, b: [2]}}}}",
     "{spec: {foo: {bar: {b: [2], a: 1}}}}", false},
    {"only labels", FOO, "", "{metadata: {labels: {a: b}}, spec: {foo: {bar: 1}}}",
     "{spec: {foo: {bar: 1}}}", false},
    {"something beside it", FOO, "", "{spec: {foo: {bar: 1, baz: 2}}}",
     "{spec: {foo: {bar: 1, baz: 1}}}", false},
    {"changed", FOO, "", "{spec: {foo: {bar: 2}}}", "{spec: {foo: {bar: 1}}}", true},
    {"changed in type", FOO, "", "{spec: {foo: {bar: '1'}}}", "{spec: {foo: {bar: 1}}}", true},
    {"changed deep inside", FOO, "", "{spec: {foo: {bar: {a: [1, {b: 2}]}}}}",
     "{spec: {foo: {bar: {a: [1, {b: 3}]}}}}", true},
    {"added", FOO, "", "{spec: {foo: {bar: 2}}}", "{spec: {}}", true},
    {"removed", FOO, "", "{spec: {foo: {}}}", "{spec: {foo: {bar: 1}}}", true},
    {"removed with what is above it", FOO, "", "{}", "{spec: {foo: {bar: 1}}}", true},
    {"made null", FOO, "", "{spec: {foo: {bar: null}}}", "{spec: {foo: {bar: 1}}}", true},
    {"status is not written with the object", FOO, "", "{status: {note: b}}", "{status: {note: a}}",
     false},
    {"but by itself", FOO, "status", "{status: {note: b}}", "{status: {note: a}}", true},
    {"where the rest is not", FOO, "status", "{spec: {foo: {bar: 2}}}", "{spec: {foo: {bar: 1}}}",
     false},
    {"other status", FOO, "status", "{status: {note: a, b: 1}}", "{status: {note: a}}", false},
    {"scaled", FOO, "scale", "{spec: {replicas: 2}}", "{spec: {replicas: 1}}", true},
    {"scaled to the same", FOO, "scale", "{spec: {replicas: 1}}", "{spec: {replicas: 1}}", false},
    {"scaled first", FOO, "scale", "{spec: {replicas: 1}}", "{spec: {replicas: -2147483648}}",
     true},
    {"a gate that is on", BETA("B", ".spec.b") "," ALPHA("A", ".spec.a"), "", "{spec: {b: 1}}",
     "null", false},
    {"a deprecated one that is on", OLD("B", ".spec.b") "," IGNORE("A", ".spec.a"), "",
     "{spec: {b: 1}}", "null", true},
    {"odd names", ALPHA("A", "\".spec['k8s.io/x'].in\""), "", "{spec: {k8s.io/x: {in: 1}}}", "null",
     true},
    {"odd names, unchanged", ALPHA("A", "\".spec['k8s.io/x'].in\""), "",
     "{spec: {k8s.io/x: {in: 1}}}", "{spec: {k8s.io/x: {in: 1}}}", false},
};

static bool holds(const char *name, const char *text, int compat, yyjson_val *object,
                  yyjson_val *old, yyjson_val *request)
{
    const struct ek_cel_env_options options = {.mode = EK_CEL_NEW, .compat_minor = compat};
    struct ek_err err = {0};
    struct ek_cel_env *env = ek_cel_env_new(&options, &err);
    struct ek_cel_issues issues = {0};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_cel_val vars[] = {ek_cel_from_json(object), ek_cel_from_json(old),
                                ek_cel_from_json(request)};
    struct ek_cel_result result;

    ek_cel_env_declare(env, "object", "dyn", &err);
    ek_cel_env_declare(env, "oldObject", "dyn", &err);
    ek_cel_env_declare(env, "request", "dyn", &err);
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), "bool", &issues);
    ck_assert_msg(program != NULL, "%s: %s: %s", name, text,
                  issues.len ? issues.list[0].message : "");
    bool fine =
        ek_cel_eval(program, vars, arena,
                    &(struct ek_cel_limits){.cost = EK_CEL_MATCH_CONDITION_BUDGET}, &result);
    ck_assert_msg(fine && result.value.kind == EK_CEL_BOOL, "%s: %s fails", name, text);
    bool is = result.value.b;
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    ek_cel_issues_done(&issues);
    ek_arena_free(arena);
    return is;
}

/* ---- Versions without a gated field ---- */

static const struct {
    const char *name, *gates, *version, *subresource;
    const char *object, *old; /* YAML */
    bool want;
} guarded[] = {
    {"an update through a version that lacks the field", ALPHA("A", ".spec.a"), "v2", "",
     "{spec: {b: 1}}", "{spec: {b: 1}}", true},
    {"through another such version", ALPHA("A", ".spec.a"), "v3", "", "{}", "{}", true},
    {"through a version that has the field", ALPHA("A", ".spec.a"), "v1", "", "{}", "{}", false},
    {"a create erases nothing", ALPHA("A", ".spec.a"), "v2", "", "{}", "null", false},
    {"an object that is deleted may lose its finalizers", ALPHA("A", ".spec.a"), "v2", "",
     "{metadata: {deletionTimestamp: now}}", "{metadata: {deletionTimestamp: now}}", false},
    {"an update of the status erases the field", ALPHA("A", ".spec.a"), "v2", "status",
     "{status: {b: 1}}", "{}", true},
    {"an update of the scale erases the field", ALPHA("A", ".spec.a"), "v2", "scale",
     "{spec: {replicas: 1}}", "{spec: {replicas: 2}}", true},
    {"the status of a version that has the field", ALPHA("A", ".spec.a"), "v1", "status",
     "{status: {b: 1}}", "{}", false},
};

START_TEST(needs_us_for_versions_that_lack_a_field)
{
    static const char *const lacking[] = {"v2", "v3", NULL};
    EK_AUTOFREE char *request_text =
        ek_xasprintf("{subResource: '%s', requestResource: {version: %s}}", guarded[_i].subresource,
                     guarded[_i].version);
    yyjson_doc *object = test_registration_yaml(guarded[_i].object),
               *old = test_registration_yaml(guarded[_i].old);
    yyjson_doc *request = test_registration_yaml(request_text);
    struct test_registration m;

    make_lacking(guarded[_i].gates, lacking, NULL, &m);
    yyjson_val *hook = yyjson_ptr_get(ek_obj_root(m.contents[1]), "/webhooks/0");
    const char *text = yyjson_get_str(yyjson_ptr_get(hook, "/matchConditions/0/expression"));
    ck_assert_uint_eq(yyjson_arr_size(yyjson_ptr_get(hook, "/rules/0/resources")), 3);
    bool is = holds(guarded[_i].name, text, 33, yyjson_doc_get_root(object),
                    yyjson_doc_get_root(old), yyjson_doc_get_root(request));
    ck_assert_msg(is == guarded[_i].want, "%s: %s", guarded[_i].name, text);
    yyjson_doc_free(object);
    yyjson_doc_free(old);
    yyjson_doc_free(request);
    test_registration_done(&m);
}
END_TEST

#define OF_A "/webhooks/0/rules/"
#define OF_B "/webhooks/1/rules/"

/* API servers call no webhook of the stored version for a subresource that it lacks. */
static const struct {
    const char *pointer, *want; /* NULL: nothing is there */
} texts[] = {
    {"/webhooks/0/failurePolicy", "Fail"},
    {"/webhooks/1/failurePolicy", "Ignore"},
    {OF_A "0/apiVersions/0", "v1"},
    {OF_A "0/resources/0", "crontabs"},
    {OF_A "0/resources/1", NULL},
    {OF_A "1/apiVersions/0", "v2"},
    {OF_A "1/resources/0", "crontabs/status"},
    {OF_A "1/resources/1", NULL},
    {OF_A "2/apiVersions/0", "v4"},
    {OF_A "2/resources/0", "crontabs/status"},
    {OF_A "2/resources/1", "crontabs/scale"},
    {OF_A "3/apiVersions/0", NULL},
    {OF_B "1/apiVersions/0", "v2"},
    {OF_B "1/resources/0", "crontabs/status"},
    {OF_B "2/apiVersions/0", NULL},
};

START_TEST(subresources_of_a_version_that_lacks_a_field_are_registered)
{
    const struct ek_gates *gates = test_registration_gates(
        "crontabs.stable.example.com", ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"));
    const struct ek_gates_lack lacks[] = {
        {.version = "v2", .gate = "A", .path = ".spec.a", .status = true},
        {.version = "v2", .gate = "B", .path = ".spec.b", .status = true},
        {.version = "v3", .gate = "A", .path = ".spec.a"},
        {.version = "v4", .gate = "A", .path = ".spec.a", .status = true, .scale = true}};
    struct ek_gates_crd crd = test_registration_crontabs();
    struct test_registration m;

    crd.shape = (struct ek_gates_shape){.lacks = lacks, .n_lacks = EK_ARRAY_SIZE(lacks)};
    test_registration_make(&(struct ek_gates_registered){.gates = gates, .crd = &crd}, 1, NULL, &m);
    yyjson_val *mutating = ek_obj_root(m.contents[0]), *backstop = ek_obj_root(m.contents[1]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++) {
        const char *got = yyjson_get_str(yyjson_ptr_get(backstop, texts[i].pointer));
        ck_assert_msg(texts[i].want ? got && !strcmp(got, texts[i].want) : !got, "%s: %s",
                      texts[i].pointer, got ? got : "nothing");
    }
    ck_assert_ptr_nonnull(yyjson_ptr_get(mutating, "/webhooks/0/rules/0"));
    ck_assert_ptr_null(yyjson_ptr_get(mutating, "/webhooks/0/rules/1"));
    test_registration_done(&m);
    ek_gates_unref(gates);
}
END_TEST

/* The mutating webhook, and the backstop of other gates, have nothing to do with it. */
START_TEST(only_the_backstop_of_the_gate_guards)
{
    static const char *const lacking[] = {"v2", NULL};
    struct test_registration m;

    make_lacking(IGNORE("A", ".spec.a") "," ALPHA("B", ".spec.b"), lacking, NULL, &m);
    static const char *const pointers[] = {"/webhooks/0", "/webhooks/1"};
    for (size_t k = 0; k < 4; k++) {
        yyjson_val *hook = yyjson_ptr_get(ek_obj_root(m.contents[k / 2]), pointers[k % 2]);
        const char *text = yyjson_get_str(yyjson_ptr_get(hook, "/matchConditions/0/expression"));
        ck_assert_msg((strstr(text, "'v2'") != NULL) == (k == 3), "%zu: %s", k, text);
    }
    test_registration_done(&m);
}
END_TEST

START_TEST(needs_us_where_gated_paths_differ)
{
    static const int compats[] = {29, 33, 36};
    struct test_registration m;
    EK_AUTOFREE char *asks =
        *conditions[_i].subresource
            ? ek_xasprintf("{subResource: %s, dryRun: false}", conditions[_i].subresource)
            : ek_xstrdup("{dryRun: false}");
    yyjson_doc *object = test_registration_yaml(conditions[_i].object),
               *old = test_registration_yaml(conditions[_i].old);
    yyjson_doc *request = test_registration_yaml(asks);

    make(conditions[_i].gates, NULL, &m);
    const char *text = yyjson_get_str(
        yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/0/matchConditions/0/expression"));
    for (size_t i = 0; i < EK_ARRAY_SIZE(compats); i++)
        ck_assert_msg(holds(conditions[_i].name, text, compats[i], yyjson_doc_get_root(object),
                            yyjson_doc_get_root(old),
                            yyjson_doc_get_root(request)) == conditions[_i].want,
                      "%s: %s", conditions[_i].name, text);
    yyjson_doc_free(object);
    yyjson_doc_free(old);
    yyjson_doc_free(request);
    test_registration_done(&m);
}
END_TEST

static const struct {
    const char *object, *request;
    bool want;
} canaries[] = {
    {"{metadata: {annotations: {evenkeel.dev/canary: ''}}}", "{dryRun: true}", true},
    {"{metadata: {annotations: {evenkeel.dev/canary: ''}}}", "{dryRun: false}", false},
    {"{metadata: {annotations: {evenkeel.dev/canary: ''}}}", "{}", false},
    {"{metadata: {annotations: {a: b}}}", "{dryRun: true}", false},
    {"{metadata: {}}", "{dryRun: true}", false},
};

START_TEST(matches_canaries_alone)
{
    struct test_registration m;
    yyjson_doc *object = test_registration_yaml(canaries[_i].object),
               *request = test_registration_yaml(canaries[_i].request);
    yyjson_doc *old = test_registration_yaml("null");

    make(ALPHA("A", ".spec.a"), NULL, &m);
    const char *text = yyjson_get_str(
        yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/1/matchConditions/0/expression"));
    ck_assert_int_eq(holds("canary", text, 33, yyjson_doc_get_root(object),
                           yyjson_doc_get_root(old), yyjson_doc_get_root(request)),
                     canaries[_i].want);
    yyjson_doc_free(object);
    yyjson_doc_free(request);
    yyjson_doc_free(old);
    test_registration_done(&m);
}
END_TEST

/* ---- Comparing ---- */

static bool is_current(yyjson_mut_val *content, yyjson_val *live)
{
    return ek_webhooks_compare(content, live, NULL, false).current;
}

START_TEST(compares_in_any_order)
{
    struct test_registration m, other;
    yyjson_mut_doc *doc = ek_json_doc_new();

    make(ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b"), NULL, &m);
    make(ALPHA("A", ".spec.a"), NULL, &other);
    ck_assert(is_current(m.mutating, ek_obj_root(m.contents[0])));
    ck_assert(!is_current(m.mutating, NULL));
    ck_assert(!is_current(m.mutating, ek_obj_root(other.contents[0])));
    ck_assert(!is_current(other.mutating, ek_obj_root(m.contents[0])));

    yyjson_mut_val *turned = yyjson_mut_val_mut_copy(doc, m.mutating);
    yyjson_mut_val *hooks = yyjson_mut_obj_get(turned, "webhooks");
    yyjson_mut_arr_append(hooks, yyjson_mut_arr_remove_first(hooks));
    struct ek_obj *live = ek_obj_from_mut(turned);
    ck_assert(is_current(m.mutating, ek_obj_root(live)));
    ek_obj_unref(live);
    yyjson_mut_doc_free(doc);
    test_registration_done(&m);
    test_registration_done(&other);
}
END_TEST

START_TEST(nothing_is_as_good_as_empty)
{
    struct test_registration m;

    make("", NULL, &m);
    ck_assert(is_current(m.mutating, NULL));
    ck_assert(is_current(m.mutating, ek_obj_root(m.contents[0])));
    ck_assert_str_eq(m.hash, "");
    test_registration_done(&m);
}
END_TEST

static uint64_t digest(const char *gates, const char *bundle, char hash[32])
{
    struct test_registration m;

    make(gates, bundle, &m);
    uint64_t is =
        ek_gates_registration_digest(m.mutating, m.validating, "crontabs.stable.example.com");
    snprintf(hash, 32, "%s", m.hash);
    test_registration_done(&m);
    return is;
}

START_TEST(tells_registrations_apart)
{
    char a[32], b[32];
    uint64_t first = digest(ALPHA("A", ".spec.a"), "one", a);

    ck_assert(first != 0);
    /* A new bundle has to be proven anew, but puts no kind in doubt. */
    ck_assert(digest(ALPHA("A", ".spec.a"), "two", b) == first);
    ck_assert_str_ne(a, b);
    ck_assert(digest(ALPHA("A", ".spec.a"), "one", b) == first);
    ck_assert_str_eq(a, b);
    ck_assert(digest(ALPHA("A", ".spec.b"), "one", b) != first);
    ck_assert_str_ne(a, b);
    ck_assert(digest(IGNORE("A", ".spec.a"), "one", b) != first);
    ck_assert(digest(BETA("A", ".spec.a"), "one", b) == 0);
}
END_TEST

/* ---- Limits ---- */

START_TEST(cuts_long_conditions)
{
    EK_AUTO(ek_buf) gates;
    struct test_registration m;

    ek_buf_init(&gates, 1 << 20);
    for (int g = 0; g < 30; g++) {
        ek_buf_printf(&gates, "%s{name: g%d, preRelease: alpha, fieldPaths: [", g ? "," : "", g);
        for (int i = 0; i < 16; i++)
            ek_buf_printf(&gates, "%s.spec.aVeryLongNameOfAField%d.andAnother%d", i ? "," : "", g,
                          i);
        ek_buf_puts(&gates, "]}");
    }
    make(ek_buf_str(&gates), NULL, &m);
    ck_assert_str_eq(yyjson_get_str(yyjson_ptr_get(ek_obj_root(m.contents[0]),
                                                   "/webhooks/0/matchConditions/0/expression")),
                     "object.?spec != oldObject.?spec");
    test_registration_done(&m);
}
END_TEST

/* Without the subresource, status is a field of the object as others are. */
START_TEST(asks_for_no_status_that_is_not_served)
{
    const struct ek_gates *gates =
        test_registration_gates("crontabs.stable.example.com", ALPHA("A", ".status.note"));
    struct ek_gates_crd crd = test_registration_crontabs();
    const struct ek_gates_registered kind = {.gates = gates, .crd = &crd};
    struct test_registration m;

    crd.shape.has_status = false;
    test_registration_make(&kind, 1, NULL, &m);
    yyjson_val *list = yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/0/rules/0/resources");
    ck_assert_uint_eq(yyjson_arr_size(list), 1);
    ck_assert_str_eq(yyjson_get_str(yyjson_arr_get_first(list)), "crontabs");
    test_registration_done(&m);
    /* Nor is a kind of our own registered, whatever its gates are called. */
    crd.group = "evenkeel.dev";
    ck_assert(!ek_gates_need_registration(&kind));
    ek_gates_unref(gates);
}
END_TEST

START_TEST(never_gates_itself)
{
    const struct ek_gates *gates =
        test_registration_gates("customfeaturegates.evenkeel.dev", ALPHA("A", ".spec.a"));
    struct ek_gates_crd crd = test_registration_crontabs();
    struct test_registration m;

    crd.group = "evenkeel.dev";
    crd.plural = "customfeaturegates";
    const struct ek_gates_registered kind = {.gates = gates, .crd = &crd};
    test_registration_make(&kind, 1, NULL, &m);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(m.mutating, "webhooks")), 0);
    ck_assert(!ek_gates_need_registration(&kind));
    ek_gates_unref(gates);
    test_registration_done(&m);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, writes_contents, 0, EK_ARRAY_SIZE(contents));
    tcase_add_test(tc, quotes_names);
    tcase_add_loop_test(tc, needs_us_where_gated_paths_differ, 0, EK_ARRAY_SIZE(conditions));
    tcase_add_loop_test(tc, matches_canaries_alone, 0, EK_ARRAY_SIZE(canaries));
    tcase_add_test(tc, compares_in_any_order);
    tcase_add_test(tc, nothing_is_as_good_as_empty);
    tcase_add_test(tc, tells_registrations_apart);
    tcase_add_test(tc, cuts_long_conditions);
    tcase_add_test(tc, quotes_names_that_are_no_identifiers);
    tcase_add_test(tc, asks_for_no_status_that_is_not_served);
    tcase_add_test(tc, never_gates_itself);
    tcase_add_loop_test(tc, needs_us_for_versions_that_lack_a_field, 0, EK_ARRAY_SIZE(guarded));
    tcase_add_test(tc, only_the_backstop_of_the_gate_guards);
    tcase_add_test(tc, subresources_of_a_version_that_lacks_a_field_are_registered);
    return ek_test_run("gates registration", tc);
}
