/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/engine.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/support/mutation_world.h"
#include "test/support/suite.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define APPLY(e)    "{'patchType':'ApplyConfiguration','applyConfiguration':{'expression':'" e "'}}"
#define PATCH(e)    "{'patchType':'JSONPatch','jsonPatch':{'expression':'" e "'}}"
#define LABEL(k, v) "Object{metadata: Object.metadata{labels: {`" k "`: " v "}}}"
#define DATA(k, v)  "Object{data: {`" k "`: " v "}}"
#define APPEND(v)   DATA("log", "object.data.?log.orValue(``) + " v)

#define LIKE "{'matchExpressions':[{'key':'a','operator':'Like'}]}"
#define RULE(of)                                                                                   \
    "{'operations':['CREATE'],'apiGroups':[''],'apiVersions':['v1'],'resources':['" of "']}"
#define CONFIGMAPS RULE("configmaps")
#define PODS       "'resourceRules':[" RULE("pods") "]"

static struct test_mutation_world w;
static struct ek_arena *arena;
static struct ek_mutation_outcome outcome;
static yyjson_doc *request_doc;

static void setup(void)
{
    test_mutation_open(&w);
    arena = ek_arena_new(ARENA_LIMIT);
}

static void teardown(void)
{
    ek_mutation_outcome_done(&outcome);
    yyjson_doc_free(request_doc);
    request_doc = NULL;
    ek_arena_free(arena);
    test_mutation_close(&w);
}

/* Runs the policies on a request; members as test_mutation_request takes them. */
static void run(const char *members)
{
    struct ek_admission_request request;

    ek_mutation_outcome_done(&outcome);
    yyjson_doc_free(request_doc);
    request_doc = test_mutation_request(members, &request);
    ck_assert_int_eq(
        ek_engine_run(&w.set, &request, &w.world, &(struct ek_engine_options){0}, arena, &outcome),
        0);
}

/* The result's member at a.b, "-" when it has none. */
static const char *result(const char *a, const char *b)
{
    const char *s = ek_json_str(yyjson_doc_get_root(outcome.result), a, b, NULL);

    return s ? s : "-";
}

static const char *patch_text(void)
{
    static char text[4096];
    char *json = outcome.patch ? yyjson_mut_write(outcome.patch, 0, NULL) : NULL;

    snprintf(text, sizeof text, "%s", json ? json : "none");
    free(json);
    return text;
}

/* ---- One policy ---- */

static const struct {
    const char *name, *spec, *binding, *request;
    const char *log; /* data.log of the result; NULL: denied */
    const char *message;
} rows[] = {
    {"a mutation", "'mutations':[" APPLY(APPEND("`a`")) "]", "", "", "a", NULL},
    {"mutations in order", "'mutations':[" APPLY(APPEND("`a`")) "," APPLY(APPEND("`b`")) "]", "",
     "", "ab", NULL},
    {"a JSON patch",
     "'mutations':[" PATCH("[JSONPatch{op: `add`, path: `/data/log`, value: `p`}]") "]", "", "",
     "p", NULL},
    {"reinvoked once", "'reinvocationPolicy':'IfNeeded','mutations':[" APPLY(APPEND("`a`")) "]", "",
     "", "aa", NULL},
    {"a condition that is false",
     "'matchConditions':[{'name':'c','expression':'false'}],'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", "-", NULL},
    {"a false condition beats an error",
     "'matchConditions':[{'name':'c','expression':'object.no == 1'},{'name':'d','expression':"
     "'false'}],'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", "-", NULL},
    {"conditions see no namespace",
     "'matchConditions':[{'name':'c','expression':'namespaceObject == null'}],'mutations':[" APPLY(
         APPEND("`a`")) "]",
     "", "", "a", NULL},
    {"mutations see the namespace",
     "'mutations':[" APPLY(APPEND("namespaceObject.metadata.labels.team")) "]", "", "", "a", NULL},
    {"variables are computed for each mutation",
     "'variables':[{'name':'l','expression':'object.data.?log.orValue(``) + "
     "`x`'}],'mutations':[" APPLY(DATA("log", "variables.l")) "," APPLY(
         DATA("log", "variables.l")) "]",
     "", "", "xx", NULL},
    {"an error denies", "'mutations':[" APPLY(DATA("log", "object.data.none")) "]", "", "", NULL,
     "policy 'p' with binding 'p' denied request: expression 'Object{data: {'log': "
     "object.data.none}}' resulted in error: no such key: none"},
    {"an error is ignored, what follows runs",
     "'failurePolicy':'Ignore','mutations':[" APPLY(DATA("log", "object.data.none")) "," APPLY(
         APPEND("`b`")) "]",
     "", "", "b", NULL},
    {"what went before an ignored error stays",
     "'failurePolicy':'Ignore','mutations':[" APPLY(APPEND("`a`")) "," APPLY("Object{spec: 1}") "]",
     "", "", "a", NULL},
    {"an unknown field denies", "'mutations':[" APPLY("Object{spec: Object.spec{a: 1}}") "]", "",
     "", NULL,
     "policy 'p' with binding 'p' denied request: error applying patch: failed to convert patch "
     "object to typed object: .spec: field not declared in schema"},
    {"budget",
     "'mutations':[" APPLY(
         APPEND("string([1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all("
                "b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, "
                "[1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a + b "
                "+ c + d + e + f > 0)))))))")) "]",
     "", "", NULL, "operation cancelled: actual cost limit exceeded"},
    {"a policy for other resources",
     "'matchConstraints':{'resourceRules':[{'operations':['CREATE'],'apiGroups':[''],"
     "'apiVersions':['v1'],'resources':['pods']}]},'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", "-", NULL},
    {"a namespace with other labels", "'mutations':[" APPLY(APPEND("`a`")) "]",
     "'matchResources':{'namespaceSelector':{'matchLabels':{'team':'b'}}}", "", "-", NULL},
    {"policies see no policies", "'mutations':[" APPLY(APPEND("`a`")) "]", "",
     "'resource':{'group':'admissionregistration.k8s.io','version':'v1',"
     "'resource':'mutatingadmissionpolicies'}",
     "-", NULL},
    {"nor reviews of access", "'mutations':[" APPLY(APPEND("`a`")) "]", "",
     "'resource':{'group':'authorization.k8s.io','version':'v1',"
     "'resource':'subjectaccessreviews'}",
     "-", NULL},
    {"nor deletions", "'mutations':[" APPLY(APPEND("`a`")) "]", "", "'operation':'DELETE'", "-",
     NULL},
    {"a policy that does not compile", "'mutations':[" APPLY("Object{") "]", "", "", NULL,
     "Syntax error"},
    {"a binding with a label that is none", "'mutations':[" APPLY(APPEND("`a`")) "]",
     "'matchResources':{'objectSelector':{'matchLabels':{'a b':'c'}}}", "", NULL,
     "policy 'p' with binding 'p' denied request: failed to configure binding: objectSelector: "},
    {"a binding with an operator that is none", "'mutations':[" APPLY(APPEND("`a`")) "]",
     "'matchResources':{'namespaceSelector':" LIKE "}", "", NULL,
     "policy 'p' with binding 'p' denied request: failed to configure binding: namespaceSelector: "
     "matchExpressions[0]: operator: \"Like\" is not one of In, NotIn, Exists, DoesNotExist; "
     "correct "
     "the selector in spec.matchResources of the binding"},
    {"such a binding, failures ignored",
     "'failurePolicy':'Ignore','mutations':[" APPLY(APPEND("`a`")) "]",
     "'matchResources':{'namespaceSelector':" LIKE "}", "", "-", NULL},
    {"such a binding for other resources", "'mutations':[" APPLY(APPEND("`a`")) "]",
     "'matchResources':{'objectSelector':" LIKE "," PODS "}", "", "-", NULL},
    {"a policy with an operator that is none",
     "'matchConstraints':{'objectSelector':" LIKE ",'resourceRules':[" CONFIGMAPS
     "]},'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", NULL,
     "policy \"p\" denied request: failed to configure policy: objectSelector: "
     "matchExpressions[0]: operator: \"Like\" is not one of In, NotIn, Exists, DoesNotExist; "
     "correct "
     "the selector in spec.matchConstraints of the policy"},
    {"such a policy, failures ignored",
     "'failurePolicy':'Ignore','matchConstraints':{'namespaceSelector':" LIKE
     ",'resourceRules':[" CONFIGMAPS "]},'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", "-", NULL},
    {"such a policy for other resources",
     "'matchConstraints':{'namespaceSelector':" LIKE "," PODS
     "},'mutations':[" APPLY(APPEND("`a`")) "]",
     "", "", "-", NULL},
    {"a policy without constraints",
     "'matchConstraints':null,'mutations':[" APPLY(APPEND("`a`")) "]", "", "", NULL,
     "policy \"p\" denied request: failed to configure policy: policy contained no match "
     "constraints, a required field"},
};

START_TEST(test_rows)
{
    test_mutation_add(&w, "p", rows[_i].spec, rows[_i].binding);
    run(rows[_i].request);
    ck_assert_msg(!outcome.pending, "%s: pending", rows[_i].name);
    if (rows[_i].log) {
        ck_assert_msg(outcome.allowed, "%s: denied: %s", rows[_i].name, outcome.message);
        ck_assert_msg(!strcmp(result("data", "log"), rows[_i].log), "%s: log is %s", rows[_i].name,
                      result("data", "log"));
        return;
    }
    ck_assert_msg(!outcome.allowed && outcome.code == 403, "%s: allowed", rows[_i].name);
    ck_assert_str_eq(outcome.reason,
                     strstr(rows[_i].message, "failed to configure") ? "Forbidden" : "Invalid");
    ck_assert_msg(strstr(outcome.message, rows[_i].message), "%s: says %s", rows[_i].name,
                  outcome.message);
}
END_TEST

/* ---- Params ---- */

#define PARAM(name, namespace, value)                                                              \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name                              \
    "','namespace':'" namespace "','labels':{'l':'x'}},'data':{'v':'" value "'}}"

static const struct {
    const char *name, *ref, *cluster_kind, *unknown_kind;
    const char *log; /* NULL: denied */
    const char *message;
} param_rows[] = {
    {"by name", "'name':'one'", NULL, NULL, "1", NULL},
    {"by name elsewhere", "'name':'one','namespace':'other'", NULL, NULL, "9", NULL},
    {"by labels, in the order of the world", "'selector':{'matchLabels':{'l':'x'}}", NULL, NULL,
     "12", NULL},
    {"everything", "'selector':{}", NULL, NULL, "12", NULL},
    {"none, denied", "'name':'three'", NULL, NULL, NULL,
     "failed to configure binding: no params found for policy binding with `Deny` "
     "parameterNotFoundAction"},
    {"none, allowed", "'name':'three','parameterNotFoundAction':'Allow'", NULL, NULL, "-", NULL},
    {"none of these labels", "'selector':{'matchLabels':{'l':'y'}}", NULL, NULL, NULL,
     "no params found"},
    {"a namespace for a kind without", "'name':'one','namespace':'shop'", "ConfigMap", NULL, NULL,
     "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"},
    {"a selector that cannot be read", "'selector':" LIKE, NULL, NULL, NULL,
     "policy 'p' with binding 'p' denied request: failed to configure binding: paramRef.selector: "
     "matchExpressions[0]: operator: \"Like\" is not one of In, NotIn, Exists, DoesNotExist; "
     "correct "
     "spec.paramRef of the binding"},
    {"a selector that cannot be read, none needed",
     "'selector':" LIKE ",'parameterNotFoundAction':'Allow'", NULL, NULL, NULL,
     "failed to configure binding: paramRef.selector: "},
    {"a name and a selector", "'name':'one','selector':{}", NULL, NULL, NULL,
     "paramRef.name and paramRef.selector are mutually exclusive"},
    {"neither", "'parameterNotFoundAction':'Allow'", NULL, NULL, NULL,
     "one of name or selector must be provided"},
    {"an unknown kind", "'name':'one'", NULL, "ConfigMap", NULL,
     "paramKind kind `v1, Kind=ConfigMap` not known"},
};

START_TEST(test_params)
{
    char *binding = ek_xasprintf("'paramRef':{%s}", param_rows[_i].ref);

    test_mutation_set_params(&w, "[" PARAM("one", "shop", "1") "," PARAM(
                                     "two", "shop", "2") "," PARAM("one", "other", "9") "]");
    w.cluster_kind = param_rows[_i].cluster_kind;
    w.unknown_kind = param_rows[_i].unknown_kind;
    test_mutation_add(&w, "p",
                      "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'},'mutations':[" APPLY(
                          APPEND("params.data.v")) "]",
                      binding);
    ek_free(binding);
    run("");
    if (param_rows[_i].log)
        ck_assert_msg(outcome.allowed && !strcmp(result("data", "log"), param_rows[_i].log),
                      "%s: %s %s", param_rows[_i].name, result("data", "log"),
                      outcome.message ? outcome.message : "");
    else
        ck_assert_msg(!outcome.allowed && strstr(outcome.message, param_rows[_i].message), "%s: %s",
                      param_rows[_i].name, outcome.message ? outcome.message : "allowed");
}
END_TEST

START_TEST(test_binding_without_params)
{
    test_mutation_add(&w, "p",
                      "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'},'mutations':[" APPLY(
                          APPEND("string(params == null)")) "]",
                      "");
    run("");
    ck_assert_str_eq(result("data", "log"), "true");
}
END_TEST

START_TEST(test_namespaced_params_of_cluster_objects)
{
    test_mutation_add(&w, "p",
                      "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'},'mutations':[" APPLY(
                          APPEND("params.data.v")) "]",
                      "'paramRef':{'name':'one'}");
    run("'namespace':''");
    ck_assert(!outcome.allowed);
    ck_assert_ptr_nonnull(strstr(outcome.message, "cannot use namespaced paramRef"));
}
END_TEST

/* ---- Several policies ---- */

START_TEST(test_order_is_that_of_the_set)
{
    test_mutation_apply(&w, "z", APPEND("`z`"));
    test_mutation_apply(&w, "a", APPEND("`a`"));
    run("");
    ck_assert_str_eq(result("data", "log"), "za");
    ck_assert_str_eq(patch_text(), "[{\"op\":\"add\",\"path\":\"/data/log\",\"value\":\"za\"}]");
    ck_assert_uint_eq(outcome.passes, 2);
}
END_TEST

/* The second pass runs what ran in the first; a policy that was skipped there stays out. */
START_TEST(test_reinvocation)
{
    test_mutation_add(&w, "late",
                      "'reinvocationPolicy':'IfNeeded','matchConditions':[{'name':'c','expression':"
                      "'has(object.data.flag)'}],'mutations':[" APPLY(APPEND("`L`")) "]",
                      "");
    test_mutation_add(&w, "first",
                      "'reinvocationPolicy':'IfNeeded','mutations':[" APPLY(APPEND("`f`")) "]", "");
    test_mutation_apply(&w, "never", "Object{data: {`flag`: `on`}}");
    run("");
    ck_assert_str_eq(result("data", "log"), "ff");
    ck_assert_str_eq(result("data", "flag"), "on");
}
END_TEST

START_TEST(test_denials_are_all_told)
{
    test_mutation_apply(&w, "a", DATA("x", "object.data.one"));
    test_mutation_apply(&w, "b", DATA("x", "object.data.two"));
    run("");
    ck_assert(!outcome.allowed && !outcome.result && !outcome.patch);
    ck_assert_uint_eq(outcome.n_causes, 2);
    ck_assert_str_eq(outcome.message, outcome.causes[0]);
    ck_assert_ptr_nonnull(strstr(outcome.causes[1], "no such key: two"));
}
END_TEST

START_TEST(test_observed_policies_change_nothing)
{
    test_mutation_apply(&w, "label", APPEND("`o`"))->apply = false;
    test_mutation_apply(&w, "fails", DATA("x", "object.data.none"))->apply = false;
    test_mutation_add(&w, "breaks",
                      "'mutations':[" PATCH("[JSONPatch{op: `add`, path: `/bogus`, value: 1}]") "]",
                      "")
        ->apply = false;
    run("");
    ck_assert_msg(outcome.allowed, "%s", outcome.message);
    ck_assert_str_eq(result("data", "log"), "-");
    ck_assert_str_eq(patch_text(), "none");
    ck_assert_uint_eq(outcome.n_steps, 3);
    ck_assert_int_eq(outcome.steps[0].result, EK_STEP_OBSERVED);
    ck_assert_int_eq(outcome.steps[1].result, EK_STEP_DENIED);
    ck_assert_int_eq(outcome.steps[2].result, EK_STEP_DENIED);
    ck_assert_ptr_nonnull(strstr(outcome.steps[2].message, "unknown field \"bogus\""));
}
END_TEST

START_TEST(test_steps)
{
    test_mutation_apply(&w, "applied", APPEND("`a`"));
    test_mutation_add(&w, "ignored",
                      "'failurePolicy':'Ignore','mutations':[" APPLY(DATA("x", "object.none")) "]",
                      "");
    run("");
    ck_assert_uint_ge(outcome.n_steps, 2);
    ck_assert_int_eq(outcome.steps[0].result, EK_STEP_APPLIED);
    ck_assert_uint_gt(outcome.steps[0].cost, 0);
    ck_assert_int_eq(outcome.steps[1].result, EK_STEP_IGNORED);
    ck_assert_int_eq(outcome.steps[1].error, EK_STEP_INVALID_ERROR);
    ck_assert_ptr_nonnull(outcome.steps[1].message);
}
END_TEST

/* ---- What is not known yet ---- */

START_TEST(test_pending_starts_over)
{
    bool *const pending[] = {&w.pending_namespace, &w.pending_schema, &w.pending_params,
                             &w.pending_authorize};

    test_mutation_set_params(&w, "[" PARAM("one", "shop", "1") "]");
    test_mutation_apply(&w, "a", APPEND("`a`"));
    test_mutation_add(&w, "b",
                      "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'},'mutations':[" APPLY(
                          APPEND("params.data.v + string(authorizer.path(`/x`).check(`get`)"
                                 ".allowed())")) "]",
                      "'paramRef':{'name':'one'}");
    w.allow = true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(pending); i++) {
        *pending[i] = true;
        run("");
        ck_assert_msg(outcome.pending, "question %zu was not asked", i);
        ck_assert_ptr_null(outcome.result);
        run("");
        ck_assert(!outcome.pending && outcome.allowed);
        ck_assert_str_eq(result("data", "log"), "a1true");
    }
}
END_TEST

START_TEST(test_missing_namespace)
{
    test_mutation_apply(&w, "a", APPEND("`a`"));
    run("'namespace':'gone'");
    ck_assert(!outcome.allowed);
    ck_assert_int_eq(outcome.code, 404);
    ck_assert_str_eq(outcome.message, "namespaces \"gone\" not found");
}
END_TEST

/* That it could not be read is no proof that it is not there: each policy's failurePolicy says what
 * follows. */
START_TEST(test_unreadable_namespace)
{
#define SELECT                                                                                     \
    "'matchConstraints':{'namespaceSelector':{'matchLabels':{'team':'a'}},'resourceRules':[{"      \
    "'apiGroups':['*'],'apiVersions':['*'],'operations':['*'],'resources':['*']}]},"
    static const struct {
        const char *name, *spec;
        bool observe;
        int code; /* 0: allowed, and not mutated */
    } cases[] = {
        {"Fail", "'failurePolicy':'Fail',", false, 500},
        {"Ignore", "'failurePolicy':'Ignore',", false, 0},
        {"observed", "'failurePolicy':'Fail',", true, 0},
        {"a selector, Fail", SELECT "'failurePolicy':'Fail',", false, 500},
        {"a selector, Ignore", SELECT "'failurePolicy':'Ignore',", false, 0},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        teardown();
        outcome = (struct ek_mutation_outcome){0};
        setup();
        w.broken_namespace = true;
        EK_AUTOFREE char *spec =
            ek_xasprintf("%s'mutations':[%s]", cases[i].spec, APPLY(APPEND("`a`")));
        test_mutation_add(&w, "a", spec, "")->apply = !cases[i].observe;
        run("");
        ck_assert_msg(outcome.allowed == !cases[i].code && outcome.code == cases[i].code, "%s: %d",
                      cases[i].name, outcome.code);
        if (cases[i].code)
            ck_assert_str_eq(outcome.message,
                             "policy 'a' cannot read namespace \"shop\": connection refused");
        else
            ck_assert_str_eq(result("data", "log"), "-");
    }
    run("'kind':{'group':'','version':'v1','kind':'Namespace'},'resource':{'group':'',"
        "'version':'v1','resource':'namespaces'},'name':'shop'");
    ck_assert(outcome.allowed); /* a Namespace needs no other */
}
END_TEST

START_TEST(test_missing_schema)
{
    test_mutation_add(&w, "a", "'failurePolicy':'Ignore','mutations':[" APPLY(APPEND("`a`")) "]",
                      "");
    run("'kind':{'group':'example.com','version':'v1','kind':'Missing'}");
    ck_assert(!outcome.allowed); /* whatever the failurePolicy says */
    ck_assert_int_eq(outcome.code, 503);
    ck_assert_ptr_nonnull(strstr(outcome.message, "Resource kind example.com/v1, Kind=Missing not "
                                                  "found."));
}
END_TEST

START_TEST(test_small_arena)
{
    struct ek_admission_request request;
    struct ek_arena *small = ek_arena_new(2048);

    test_mutation_apply(&w, "a", APPEND("`a`"));
    yyjson_doc *doc = test_mutation_request("", &request);
    ck_assert_int_eq(
        ek_engine_run(&w.set, &request, &w.world, &(struct ek_engine_options){0}, small, &outcome),
        EK_E_LIMIT);
    ek_arena_free(small);
    yyjson_doc_free(doc);
}
END_TEST

/* ---- Kinds ---- */

#define DEPLOYMENT                                                                                 \
    "'kind':{'group':'apps','version':'v1','kind':'Deployment'},'resource':{'group':'apps',"       \
    "'version':'v1','resource':'deployments'},'object':{'apiVersion':'apps/v1','kind':"            \
    "'Deployment','metadata':{'name':'d','namespace':'shop'},'spec':{'replicas':2}}"
#define WIDGET                                                                                     \
    "'kind':{'group':'example.com','version':'v1','kind':'Widget'},'resource':{'group':"           \
    "'example.com','version':'v1','resource':'widgets'},'object':{'apiVersion':'example.com/v1',"  \
    "'kind':'Widget','metadata':{'name':'d','namespace':'shop'},'spec':{'size':5}}"

static const struct {
    const char *name, *request, *mutations;
    const char *patch; /* or, of what is denied: */
    const char *message;
} kind_rows[] = {
    {"false of a plain boolean vanishes", DEPLOYMENT,
     APPLY("Object{spec: Object.spec{paused: false}}"), "none", NULL},
    {"a whole fraction is a number", DEPLOYMENT, APPLY("Object{spec: Object.spec{replicas: 3.0}}"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]", NULL},
    {"a fraction is none", DEPLOYMENT, APPLY("Object{spec: Object.spec{replicas: 3.5}}"), NULL,
     "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to "
     "int32"},
    {"32 bits", DEPLOYMENT, APPLY("Object{spec: Object.spec{replicas: 4294967297}}"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":1}]", NULL},
    {"what does not decode", DEPLOYMENT,
     PATCH("[JSONPatch{op: `add`, path: `/spec/replicas`, value: `x`}]"), NULL,
     "Internal error occurred: json: cannot unmarshal string into Go struct field "
     "DeploymentSpec.spec.replicas of type int32"},
    {"an unknown field", DEPLOYMENT,
     PATCH("[JSONPatch{op: `add`, path: `/spec/bogus`, value: `x`}]"), NULL,
     "Internal error occurred: strict decoding error: unknown field \"spec.bogus\""},
    {"an empty map vanishes", DEPLOYMENT,
     PATCH("[JSONPatch{op: `add`, path: `/metadata/labels`, value: {}}]"), "none", NULL},
    {"another kind", DEPLOYMENT, PATCH("[JSONPatch{op: `replace`, path: `/kind`, value: `Pod`}]"),
     NULL, "no kind \"Pod\" is registered for version \"apps/v1\""},
    {"a kind taken away", DEPLOYMENT, PATCH("[JSONPatch{op: `remove`, path: `/kind`}]"), "none",
     NULL},
    {"a default comes back", WIDGET, PATCH("[JSONPatch{op: `remove`, path: `/spec/size`}]"),
     "[{\"op\":\"replace\",\"path\":\"/spec/size\",\"value\":3}]", NULL},
    {"an unknown field of a custom resource", WIDGET,
     PATCH("[JSONPatch{op: `add`, path: `/spec/more`, value: 1}]"),
     "[{\"op\":\"add\",\"path\":\"/spec/more\",\"value\":1}]", NULL},
};

START_TEST(test_kinds)
{
    char *spec = ek_xasprintf("'mutations':[%s]", kind_rows[_i].mutations);

    test_mutation_add(&w, "p", spec, "");
    ek_free(spec);
    run(kind_rows[_i].request);
    if (kind_rows[_i].message)
        ck_assert_msg(!outcome.allowed && strstr(outcome.message, kind_rows[_i].message), "%s: %s",
                      kind_rows[_i].name, outcome.message ? outcome.message : "allowed");
    else
        ck_assert_msg(outcome.allowed && !strcmp(patch_text(), kind_rows[_i].patch), "%s: %s %s",
                      kind_rows[_i].name, patch_text(), outcome.message ? outcome.message : "");
}
END_TEST

/* A failure after the object was changed leaves no trace of the change. */
START_TEST(test_failed_conversion_is_undone)
{
    test_mutation_add(
        &w, "p",
        "'failurePolicy':'Ignore','mutations':[" APPLY(
            "Object{metadata: Object.metadata{labels: {`a`: `b`}}, spec: "
            "Object.spec{replicas: 2.5}}") "," APPLY("Object{metadata: "
                                                     "Object.metadata{annotations: {`n`: "
                                                     "string(object.spec.replicas) + "
                                                     "string(has(object.metadata.labels))}}}") "]",
        "");
    run(DEPLOYMENT);
    ck_assert_str_eq(patch_text(), "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{"
                                   "\"n\":\"2false\"}}]");
}
END_TEST

/* Policies for another version see the object in that one; the last version wins. */
START_TEST(test_equivalent_versions)
{
    test_mutation_add(
        &w, "two",
        "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':["
        "'example.com'],'apiVersions':['v2'],'resources':['widgets']}]},'mutations':[" APPLY(
            "Object{spec: Object.spec{title: object.apiVersion + ` ` + "
            "request.kind.version + request.requestResource.version}}") "]",
        "");
    run(WIDGET);
    ck_assert_msg(outcome.allowed, "%s", outcome.message);
    ck_assert_str_eq(result("spec", "title"), "example.com/v2 v2v1");
    ck_assert_str_eq(ek_json_str(yyjson_doc_get_root(outcome.result), "apiVersion", NULL),
                     "example.com/v1");
    test_mutation_add(&w, "one",
                      "'matchConstraints':{'matchPolicy':'Exact','resourceRules':[{"
                      "'operations':['*'],'apiGroups':['example.com'],'apiVersions':["
                      "'v1'],'resources':['widgets']}]},'mutations':[" APPLY(
                          "Object{spec: Object.spec{size: 7}}") "]",
                      "");
    run(WIDGET);
    ck_assert_str_eq(result("spec", "title"), "-");
}
END_TEST

/* ---- Memory ---- */

static bool take(void *ctx, size_t n)
{
    size_t *taken = ctx;

    if (*taken + n > (size_t)1 << 20)
        return false;
    *taken += n;
    return true;
}

static void give(void *ctx, size_t n)
{
    *(size_t *)ctx -= n;
}

/* Patches are counted where the arena is, until they are released; one that is too large ends the
 * run. */
START_TEST(patches_are_counted)
{
    static const size_t sizes[] = {100000, 600000};
    size_t taken = 0;

    ek_arena_set_meter(arena, &(struct ek_arena_meter){take, give, &taken});
    test_mutation_add(
        &w, "p",
        "'mutations':[" PATCH("[JSONPatch{op: `add`, path: `/metadata/annotations`, "
                              "value: {`a`: object.data.a, `b`: object.data.a}}]") "]",
        "");
    for (size_t i = 0; i < EK_ARRAY_SIZE(sizes); i++) {
        struct ek_admission_request request;
        EK_AUTOFREE char *text = ek_xalloc(sizes[i] + 1);
        memset(text, 'x', sizes[i]);
        EK_AUTOFREE char *members =
            ek_xasprintf("'object':{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c',"
                         "'namespace':'shop'},'data':{'a':'%s'}}",
                         text);
        ek_arena_reset(arena);
        yyjson_doc_free(request_doc);
        request_doc = test_mutation_request(members, &request);
        int rc = ek_engine_run(&w.set, &request, &w.world, &(struct ek_engine_options){0}, arena,
                               &outcome);
        ck_assert_int_eq(rc, i ? EK_E_NOMEM : 0);
        ck_assert_int_eq(ek_arena_starved(arena), i > 0);
        size_t before = taken;
        ek_mutation_outcome_done(&outcome);
        ck_assert_uint_ge(before - taken, i ? 0 : 2 * sizes[i]);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("engine");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_rows, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, test_params, 0, (int)EK_ARRAY_SIZE(param_rows));
    tcase_add_loop_test(tc, test_kinds, 0, (int)EK_ARRAY_SIZE(kind_rows));
    tcase_add_test(tc, test_binding_without_params);
    tcase_add_test(tc, test_namespaced_params_of_cluster_objects);
    tcase_add_test(tc, test_order_is_that_of_the_set);
    tcase_add_test(tc, test_reinvocation);
    tcase_add_test(tc, test_denials_are_all_told);
    tcase_add_test(tc, test_observed_policies_change_nothing);
    tcase_add_test(tc, test_steps);
    tcase_add_test(tc, test_pending_starts_over);
    tcase_add_test(tc, test_missing_namespace);
    tcase_add_test(tc, test_unreadable_namespace);
    tcase_add_test(tc, test_missing_schema);
    tcase_add_test(tc, test_small_arena);
    tcase_add_test(tc, test_failed_conversion_is_undone);
    tcase_add_test(tc, test_equivalent_versions);
    tcase_add_test(tc, patches_are_counted);
    return ek_test_run("mutation_engine", tc);
}
