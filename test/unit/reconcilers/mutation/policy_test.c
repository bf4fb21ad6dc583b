/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/policy.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/mutation_world.h"
#include "test/support/suite.h"

#define RULES                                                                                      \
    "'matchConstraints':{'resourceRules':[{'operations':['CREATE'],'apiGroups':[''],"              \
    "'apiVersions':['v1'],'resources':['pods']}]}"
#define MUTATE                                                                                     \
    "'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':{'expression':"           \
    "'Object{}'}}]"
#define NEVER "'reinvocationPolicy':'Never'"

static struct ek_obj *object(const char *kind, const char *metadata, const char *spec)
{
    char *text = ek_xasprintf("{'apiVersion':'admissionregistration.k8s.io/v1','kind':'%s',"
                              "'metadata':{'name':'p'%s},'spec':{%s}}",
                              kind, metadata, spec);
    yyjson_doc *doc = test_mutation_json(text);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));

    yyjson_doc_free(doc);
    ek_free(text);
    return obj;
}

static const struct ek_policy *policy(const char *metadata, const char *spec)
{
    struct ek_obj *obj = object("MutatingAdmissionPolicy", metadata, spec);
    const struct ek_policy *p = ek_policy_new(obj, 0);

    ek_obj_unref(obj);
    return p;
}

static const struct ek_binding *binding(const char *spec)
{
    struct ek_obj *obj = object("MutatingAdmissionPolicyBinding", "", spec);
    const struct ek_binding *b = ek_binding_new(obj);

    ek_obj_unref(obj);
    return b;
}

/* ---- What is wrong with policies ---- */

static const struct {
    const char *name, *spec;
    const char *problems[3]; /* starts of them; none: it is fine */
} rows[] = {
    {"fine", RULES "," MUTATE "," NEVER, {NULL}},
    {"nothing in it",
     "",
     {"spec.matchConstraints: Required value", "spec.mutations: Required value",
      "spec.reinvocationPolicy: Required value"}},
    {"no rules",
     "'matchConstraints':{}," MUTATE "," NEVER,
     {"spec.matchConstraints.resourceRules: Required value"}},
    {"deletions",
     "'matchConstraints':{'resourceRules':[{'operations':['DELETE'],'apiGroups':[''],"
     "'apiVersions':['v1'],'resources':['pods']}]}," MUTATE "," NEVER,
     {"spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\""}},
    {"a failure policy that is none",
     RULES "," MUTATE "," NEVER ",'failurePolicy':'Warn'",
     {"spec.failurePolicy: Unsupported value: \"Warn\""}},
    {"an expression that is none",
     RULES "," NEVER ",'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':"
           "{'expression':'Object{'}}]",
     {"spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object{\": compilation "
      "failed: ERROR: <input>:1:8: Syntax error"}},
    {"an expression of another type",
     RULES "," NEVER ",'mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':'1'}}]",
     {"spec.mutations[0].jsonPatch.expression: Invalid value: \"1\": must evaluate to "
      "list(JSONPatch) but got int"}},
    {"params that are not declared",
     RULES "," NEVER ",'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':"
           "{'expression':'Object{spec: params.x}'}}]",
     {"spec.mutations[0].applyConfiguration.expression: Invalid value"}},
    {"a variable that is a keyword",
     RULES "," MUTATE "," NEVER ",'variables':[{'name':'for','expression':'1'}]",
     {"spec.variables[0].name: Invalid value: \"for\""}},
    {"a later variable",
     RULES "," MUTATE "," NEVER ",'variables':[{'name':'a','expression':'variables.b'},"
           "{'name':'b','expression':'1'}]",
     {"spec.variables[0].expression: Invalid value: \"variables.b\""}},
    {"the same condition twice",
     RULES "," MUTATE "," NEVER ",'matchConditions':[{'name':'a','expression':'true'},"
           "{'name':'a','expression':'true'}]",
     {"spec.matchConditions[1].name: Duplicate value: \"a\""}},
    {"variables in a condition",
     RULES "," MUTATE "," NEVER ",'variables':[{'name':'a','expression':'1'}],'matchConditions':["
           "{'name':'a','expression':'variables.a == 1'}]",
     {"spec.matchConditions[0].expression: Invalid value"}},
    {"a patch type without its patch",
     RULES "," NEVER ",'mutations':[{'patchType':'JSONPatch'}]",
     {"spec.mutations[0].jsonPatch: Required value"}},
};

START_TEST(test_problems)
{
    const struct ek_policy *p = policy("", rows[_i].spec);
    size_t n = 0;

    for (; n < EK_ARRAY_SIZE(rows[_i].problems) && rows[_i].problems[n]; n++)
        ck_assert_msg(n < p->n_problems && !strncmp(p->problems[n], rows[_i].problems[n],
                                                    strlen(rows[_i].problems[n])),
                      "%s: problem %zu is %s", rows[_i].name, n,
                      n < p->n_problems ? p->problems[n] : "not there");
    ck_assert_msg(n > 0 || p->n_problems == 0, "%s: %s", rows[_i].name,
                  p->n_problems ? p->problems[0] : "");
    ek_policy_unref(p);
}
END_TEST

/* A policy with something wrong in it is still read as far as it goes. */
START_TEST(test_reading)
{
    const struct ek_policy *p =
        policy(",'uid':'u','generation':7,'annotations':{'evenkeel.dev/behaviour':'Extended',"
               "'evenkeel.dev/enforcement':'Observe'}",
               RULES ",'failurePolicy':'Ignore','reinvocationPolicy':'IfNeeded','paramKind':{"
                     "'apiVersion':'v1','kind':'ConfigMap'},'variables':[{'name':'a','expression':"
                     "'params.data.x'}],'matchConditions':[{'name':'c','expression':'true'}],"
                     "'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':"
                     "{'expression':'Object{}'}},{'patchType':'JSONPatch','jsonPatch':"
                     "{'expression':'nonsense('}}]");

    ck_assert_str_eq(p->name, "p");
    ck_assert_str_eq(p->uid, "u");
    ck_assert_int_eq(p->generation, 7);
    ck_assert(p->native && p->ignore_failures && p->reinvoke && p->has_params);
    ck_assert_int_eq(p->behaviour, EK_POLICY_EXTENDED);
    ck_assert_int_eq(p->enforcement, EK_POLICY_OBSERVE);
    ck_assert_str_eq(p->param_kind, "ConfigMap");
    ck_assert_uint_eq(p->n_variables, 1);
    ck_assert_uint_eq(p->n_conditions, 1);
    ck_assert_uint_eq(p->n_mutations, 2);
    ck_assert_ptr_nonnull(p->mutations[0].expression.program);
    ck_assert_ptr_null(p->mutations[1].expression.program);
    ck_assert_ptr_nonnull(p->mutations[1].expression.error);
    ck_assert_uint_eq(p->n_problems, 1);
    ck_assert_ptr_nonnull(p->rules);
    ek_policy_unref(ek_policy_ref(p));
    ek_policy_unref(p);
}
END_TEST

START_TEST(test_defaults)
{
    const struct ek_policy *p = policy("", RULES "," MUTATE "," NEVER);

    ck_assert(!p->ignore_failures && !p->reinvoke && !p->has_params);
    ck_assert_int_eq(p->behaviour, EK_POLICY_IN_TREE);
    ck_assert_int_eq(p->enforcement, EK_POLICY_AUTO);
    ek_policy_unref(p);
    ek_policy_unref(NULL);
}
END_TEST

/* ---- Bindings ---- */

static const struct {
    const char *name, *spec;
    const char *problem; /* the start of the first; NULL: it is fine */
} binding_rows[] = {
    {"fine", "'policyName':'p'", NULL},
    {"no policy", "", "spec.policyName: Required value"},
    {"a name that is none", "'policyName':'A_b'", "spec.policyName: Invalid value: \"A_b\""},
    {"params by name", "'policyName':'p','paramRef':{'name':'a','parameterNotFoundAction':'Deny'}",
     NULL},
    {"params by name and selector",
     "'policyName':'p','paramRef':{'name':'a','selector':{},'parameterNotFoundAction':'Deny'}",
     "spec.paramRef.name: Forbidden"},
    {"labels that are none",
     "'policyName':'p','matchResources':{'objectSelector':{'matchLabels':{'a b':'c'}}}",
     "spec.matchResources.objectSelector.matchLabels: Invalid value: \"a b\""},
    {"params by nothing", "'policyName':'p','paramRef':{'parameterNotFoundAction':'Deny'}",
     "spec.paramRef: Required value"},
    {"no action", "'policyName':'p','paramRef':{'name':'a'}",
     "spec.paramRef.parameterNotFoundAction: Required value"},
};

START_TEST(test_bindings)
{
    const struct ek_binding *b = binding(binding_rows[_i].spec);
    const char *problem = binding_rows[_i].problem;

    if (problem)
        ck_assert_msg(b->n_problems > 0 && !strncmp(b->problems[0], problem, strlen(problem)),
                      "%s: %s", binding_rows[_i].name, b->n_problems ? b->problems[0] : "none");
    else
        ck_assert_msg(b->n_problems == 0, "%s: %s", binding_rows[_i].name, b->problems[0]);
    ck_assert_ptr_nonnull(b->rules);
    ek_binding_unref(b);
}
END_TEST

START_TEST(test_binding_fields)
{
    const struct ek_binding *b =
        binding("'policyName':'p','paramRef':{'namespace':'n','selector':{'matchLabels':{'a':'b'}},"
                "'parameterNotFoundAction':'Allow'}");

    ck_assert_str_eq(b->policy_name, "p");
    ck_assert(b->has_param_ref && b->allow_missing_params);
    ck_assert_str_eq(b->param_name, "");
    ck_assert_str_eq(b->param_namespace, "n");
    ck_assert_ptr_nonnull(b->param_selector);
    ek_binding_unref(ek_binding_ref(b));
    ek_binding_unref(b);
}
END_TEST

/* ---- What an API server answers ---- */

START_TEST(test_validation)
{
    struct ek_obj *bad = object("MutatingAdmissionPolicy", "", RULES "," NEVER ",'extra':1");
    const char *reason = NULL;
    struct ek_buf out;

    ek_buf_init(&out, 65536);
    ck_assert_int_eq(ek_policy_validate(bad, false, 36, &out, &reason), 422);
    ck_assert_str_eq(reason, "Invalid");
    ck_assert_str_eq(ek_buf_str(&out),
                     "MutatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: "
                     "spec.mutations: Required value: mutations must contain at least one item");
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_policy_validate(bad, true, 36, &out, &reason), 400);
    ck_assert_str_eq(reason, "BadRequest");
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "unknown field \"spec.extra\""));
    ek_buf_done(&out);
    ek_obj_unref(bad);
}
END_TEST

/* What kube-apiserver 1.36.2 answered to a policy and a binding with this metadata. */
static const struct {
    const char *metadata;
    int code;
    const char *want; /* a part of the message */
} name_rows[] = {
    {"{'name':'p'}", 0, ""},
    {"{'generateName':'p-'}", 0, ""},
    {"{'generateName':'p-.-'}", 0, ""},
    {"{}", 422,
     " \"\" is invalid: metadata.name: Required value: name or generateName is required"},
    {"{'name':''}", 422,
     " \"\" is invalid: metadata.name: Required value: name or generateName is required"},
    {"{'generateName':'P_'}", 422,
     "metadata.generateName: Invalid value: \"P_\": a lowercase RFC 1123 subdomain must consist"},
    {"{'generateName':'p.'}", 422,
     "metadata.generateName: Invalid value: \"p.\": a lowercase RFC 1123 subdomain must consist"},
    {"{'name':'A_b'}", 422,
     " \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123"},
    {"{'name':1}", 400,
     " in version \"v1\" cannot be handled as a MutatingAdmissionPolicy: json: cannot unmarshal "
     "number into Go struct field ObjectMeta.metadata.name of type string"},
};

START_TEST(test_names)
{
    const char *reason = NULL;
    EK_AUTO(ek_buf) out;
    EK_AUTOFREE char *text = ek_xasprintf("{'apiVersion':'admissionregistration.k8s.io/v1','kind':"
                                          "'MutatingAdmissionPolicy','metadata':%s,'spec':{%s}}",
                                          name_rows[_i].metadata, RULES "," MUTATE "," NEVER);
    yyjson_doc *doc = test_mutation_json(text);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));

    ek_buf_init(&out, 65536);
    int code = ek_policy_validate(obj, false, 36, &out, &reason);
    ck_assert_msg(code == name_rows[_i].code && strstr(ek_buf_str(&out), name_rows[_i].want),
                  "%s: %d: %s", name_rows[_i].metadata, code, ek_buf_str(&out));
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
}
END_TEST

#define OWN    "evenkeel.dev/v1alpha1"
#define NATIVE "admissionregistration.k8s.io/v1"

/* The kind of evenkeel.dev has fields of its own; nobody else has them, and it has no others. */
static const struct {
    const char *name, *api_version, *kind, *spec;
    const char *unknown; /* the fields; NULL: accepted */
} field_rows[] = {
    {"behaviour and enforcement", OWN, "MutatingAdmissionPolicy",
     RULES "," MUTATE "," NEVER ",'behaviour':'Extended','enforcement':'Observe'", NULL},
    {"not in tree", NATIVE, "MutatingAdmissionPolicy",
     RULES "," MUTATE "," NEVER ",'behaviour':'Extended','enforcement':'Observe'",
     "unknown field \"spec.behaviour\", unknown field \"spec.enforcement\""},
    {"safety and atomics", OWN, "MutatingAdmissionPolicy",
     RULES "," NEVER ",'behaviour':'Extended','mutations':[{'patchType':'ApplyConfiguration',"
           "'applyConfiguration':{'expression':'Object{}'},'atomics':'Replace','safety':{'type':"
           "'Condition','expression':'true'}}]",
     NULL},
    {"not in tree, either", NATIVE, "MutatingAdmissionPolicy",
     RULES "," NEVER ",'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':{"
           "'expression':'Object{}'},'atomics':'Replace','safety':{'type':'Exact'}}]",
     "unknown field \"spec.mutations[0].atomics\", unknown field \"spec.mutations[0].safety\""},
    {"what neither has", OWN, "MutatingAdmissionPolicy",
     RULES "," NEVER ",'order':1,'mutations':[{'patchType':'ApplyConfiguration',"
           "'applyConfiguration':{'expression':'Object{}'},'safety':{'type':'Exact','kind':1}}]",
     "unknown field \"spec.order\", unknown field \"spec.mutations[0].safety.kind\""},
    {"not of a mutation", OWN, "MutatingAdmissionPolicy",
     RULES "," MUTATE "," NEVER ",'atomics':'Replace'", "unknown field \"spec.atomics\""},
    {"a binding", OWN, "MutatingAdmissionPolicyBinding", "'policyName':'p'", NULL},
    {"a binding has none", OWN, "MutatingAdmissionPolicyBinding",
     "'policyName':'p','behaviour':'Extended'", "unknown field \"spec.behaviour\""},
};

START_TEST(test_own_fields)
{
    const char *reason = NULL;
    EK_AUTO(ek_buf) out;
    EK_AUTOFREE char *text =
        ek_xasprintf("{'apiVersion':'%s','kind':'%s','metadata':{'name':'p'},'spec':{%s}}",
                     field_rows[_i].api_version, field_rows[_i].kind, field_rows[_i].spec);
    yyjson_doc *doc = test_mutation_json(text);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));

    ek_buf_init(&out, 65536);
    int code = ek_policy_validate(obj, true, 36, &out, &reason);
    const char *unknown = strstr(ek_buf_str(&out), "unknown field");
    ck_assert_msg(code == (field_rows[_i].unknown ? 400 : 0), "%s: %d: %s", field_rows[_i].name,
                  code, ek_buf_str(&out));
    if (field_rows[_i].unknown)
        ck_assert_str_eq(unknown ? unknown : "", field_rows[_i].unknown);
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
}
END_TEST

#define RULE(member) "'matchConstraints':{'resourceRules':[{'" member "':["

/* Policies with a million elements that can be decoded: they are refused, in a bounded time and
 * memory. */
static const struct {
    const char *name, *start, *element, *end;
    const char *want; /* a part of the message */
} long_rows[] = {
    {"operations", RULE("operations"), "'',", "'']}]}", "operations[7]: Unsupported value"},
    {"versions", RULE("apiVersions"), "'',", "'']}]}", "apiVersions[7]: Required value"},
    {"resource names", RULE("resourceNames"), "'a',", "'a']}]}",
     "resourceNames[7]: Duplicate value: \"a\""},
    {"resources", RULE("resources"), "'a/*',", "'a/*']}]}",
     "resources[7]: Invalid value: \"a/*\": if 'a/*' is present"},
    {"rules", "'matchConstraints':{'resourceRules':[", "{},", "{}]}",
     "resourceRules[7].operations: Required value"},
    {"requirements", "'matchConstraints':{'objectSelector':{'matchExpressions':[", "{},", "{}]}}",
     "matchExpressions[7].operator: Invalid value"},
    {"conditions", "'matchConditions':[", "{},", "{}]",
     "matchConditions: Too many: 1000001: must have at most 64 items"},
    {"variables", "'variables':[", "{},", "{}]",
     "variables: Too many: 1000001: must have at most 50000 items"},
    {"mutations", "'mutations':[", "{},", "{}]",
     "mutations: Too many: 1000001: must have at most 50000 items"},
};

START_TEST(test_long_lists)
{
    const char *reason = NULL;
    EK_AUTO(ek_buf) text;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&text, (size_t)64 << 20);
    ek_buf_puts(&text, "{'apiVersion':'" NATIVE "','kind':'MutatingAdmissionPolicy','metadata':"
                       "{'name':'p'},'spec':{");
    ek_buf_puts(&text, long_rows[_i].start);
    for (int i = 0; i < 1000000; i++)
        ek_buf_puts(&text, long_rows[_i].element);
    ek_buf_printf(&text, "%s}}", long_rows[_i].end);
    yyjson_doc *doc = test_mutation_json(ek_buf_str(&text));
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    ek_buf_init(&out, (size_t)1 << 20);
    int code = ek_policy_validate(obj, false, 36, &out, &reason);
    ck_assert_msg(code == 422 && strstr(ek_buf_str(&out), long_rows[_i].want), "%s: %d: %.400s",
                  long_rows[_i].name, code, ek_buf_str(&out));
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(test_own_group_is_told)
{
    yyjson_doc *doc = test_mutation_json("{'apiVersion':'evenkeel.dev/v1alpha1','kind':"
                                         "'MutatingAdmissionPolicyBinding','metadata':{'name':'b'},"
                                         "'spec':{}}");
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    const char *reason = NULL;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    ck_assert_int_eq(ek_policy_validate(obj, true, 36, &out, &reason), 422);
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&out), "MutatingAdmissionPolicyBinding.evenkeel.dev \"b\" is invalid"));
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("policy");

    tcase_add_loop_test(tc, test_problems, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, test_reading);
    tcase_add_test(tc, test_defaults);
    tcase_add_loop_test(tc, test_bindings, 0, (int)EK_ARRAY_SIZE(binding_rows));
    tcase_add_test(tc, test_binding_fields);
    tcase_add_test(tc, test_validation);
    tcase_add_loop_test(tc, test_names, 0, (int)EK_ARRAY_SIZE(name_rows));
    tcase_add_loop_test(tc, test_own_fields, 0, (int)EK_ARRAY_SIZE(field_rows));
    tcase_add_loop_test(tc, test_long_lists, 0, EK_ARRAY_SIZE(long_rows));
    tcase_add_test(tc, test_own_group_is_told);
    return ek_test_run("mutation_policy", tc);
}
