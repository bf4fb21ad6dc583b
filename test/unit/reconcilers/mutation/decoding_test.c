/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/decoding.h"

#include <check.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "test/support/suite.h"

/* Members of an object, and what kube-apiserver 1.36.2 answered to the whole of it. */
static const struct {
    bool binding;
    const char *members; /* JSON in single quotes */
    const char *want;    /* "" for an object that was decoded */
} rows[] = {
    {false, "{'metadata': {'name': 1}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"},
    {false, "{'metadata': 'x'}",
     "json: cannot unmarshal string into Go struct field MutatingAdmissionPolicy.metadata of type "
     "v1.ObjectMeta"},
    {false, "{'metadata': {'labels': []}}",
     "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type "
     "map[string]string"},
    {false, "{'metadata': {'labels': {'a': 1}}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
     "string"},
    {false, "{'metadata': {'annotations': 'x'}}",
     "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.annotations of type "
     "map[string]string"},
    {false, "{'spec': 'x'}",
     "json: cannot unmarshal string into Go struct field MutatingAdmissionPolicy.spec of type "
     "v1.MutatingAdmissionPolicySpec"},
    {false, "{'spec': []}",
     "json: cannot unmarshal array into Go struct field MutatingAdmissionPolicy.spec of type "
     "v1.MutatingAdmissionPolicySpec"},
    {false, "{'spec': 1}",
     "json: cannot unmarshal number into Go struct field MutatingAdmissionPolicy.spec of type "
     "v1.MutatingAdmissionPolicySpec"},
    {false, "{'spec': {'failurePolicy': 1}}",
     "json: cannot unmarshal number into Go struct field "
     "MutatingAdmissionPolicySpec.spec.failurePolicy of type v1.FailurePolicyType"},
    {false, "{'spec': {'failurePolicy': true}}",
     "json: cannot unmarshal bool into Go struct field "
     "MutatingAdmissionPolicySpec.spec.failurePolicy of type v1.FailurePolicyType"},
    {false, "{'spec': {'reinvocationPolicy': {}}}",
     "json: cannot unmarshal object into Go struct field "
     "MutatingAdmissionPolicySpec.spec.reinvocationPolicy of type v1.ReinvocationPolicyType"},
    {false, "{'spec': {'matchConstraints': []}}",
     "json: cannot unmarshal array into Go struct field "
     "MutatingAdmissionPolicySpec.spec.matchConstraints of type v1.MatchResources"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': {}}}}",
     "json: cannot unmarshal object into Go struct field "
     "MatchResources.spec.matchConstraints.resourceRules of type []v1.NamedRuleWithOperations"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': 'x'}}}",
     "json: cannot unmarshal string into Go struct field "
     "MatchResources.spec.matchConstraints.resourceRules of type []v1.NamedRuleWithOperations"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': ['x']}}}",
     "json: cannot unmarshal string into Go struct field "
     "MatchResources.spec.matchConstraints.resourceRules of type v1.NamedRuleWithOperations"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': [{'operations': 'CREATE'}]}}}",
     "json: cannot unmarshal string into Go struct field "
     "NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.operations of "
     "type []v1.OperationType"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': [{'operations': [1]}]}}}",
     "json: cannot unmarshal number into Go struct field "
     "NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.operations of "
     "type v1.OperationType"},
    {false, "{'spec': {'matchConstraints': {'resourceRules': [{'apiGroups': [null]}]}}}", ""},
    {false, "{'spec': {'matchConstraints': {'resourceRules': [{'scope': 1}]}}}",
     "json: cannot unmarshal number into Go struct field "
     "NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule.scope of "
     "type v1.ScopeType"},
    {false, "{'spec': {'matchConstraints': {'namespaceSelector': 'x'}}}",
     "json: cannot unmarshal string into Go struct field "
     "MatchResources.spec.matchConstraints.namespaceSelector of type v1.LabelSelector"},
    {false, "{'spec': {'matchConstraints': {'namespaceSelector': {'matchLabels': {'a': 1}}}}}",
     "json: cannot unmarshal number into Go struct field "
     "LabelSelector.spec.matchConstraints.namespaceSelector.matchLabels of type string"},
    {false,
     "{'spec': {'matchConstraints': {'namespaceSelector': {'matchExpressions': [{'key': 1}]}}}}",
     "json: cannot unmarshal number into Go struct field "
     "LabelSelectorRequirement.spec.matchConstraints.namespaceSelector.matchExpressions.key of "
     "type string"},
    {false, "{'spec': {'variables': {}}}",
     "json: cannot unmarshal object into Go struct field "
     "MutatingAdmissionPolicySpec.spec.variables of type []v1.Variable"},
    {false, "{'spec': {'variables': ['x']}}",
     "json: cannot unmarshal string into Go struct field "
     "MutatingAdmissionPolicySpec.spec.variables of type v1.Variable"},
    {false, "{'spec': {'variables': [{'expression': 1}]}}",
     "json: cannot unmarshal number into Go struct field Variable.spec.variables.expression of "
     "type string"},
    {false, "{'spec': {'variables': [{'name': []}]}}",
     "json: cannot unmarshal array into Go struct field Variable.spec.variables.name of type "
     "string"},
    {false, "{'spec': {'matchConditions': [{'expression': true}]}}",
     "json: cannot unmarshal bool into Go struct field "
     "MatchCondition.spec.matchConditions.expression of type string"},
    {false, "{'spec': {'mutations': {}}}",
     "json: cannot unmarshal object into Go struct field "
     "MutatingAdmissionPolicySpec.spec.mutations of type []v1.Mutation"},
    {false, "{'spec': {'mutations': [1]}}",
     "json: cannot unmarshal number into Go struct field "
     "MutatingAdmissionPolicySpec.spec.mutations of type v1.Mutation"},
    {false, "{'spec': {'mutations': [{'patchType': 1}]}}",
     "json: cannot unmarshal number into Go struct field Mutation.spec.mutations.patchType of type "
     "v1.PatchType"},
    {false, "{'spec': {'mutations': [{'jsonPatch': 'x'}]}}",
     "json: cannot unmarshal string into Go struct field Mutation.spec.mutations.jsonPatch of type "
     "v1.JSONPatch"},
    {false, "{'spec': {'mutations': [{'jsonPatch': {'expression': {}}}]}}",
     "json: cannot unmarshal object into Go struct field "
     "JSONPatch.spec.mutations.jsonPatch.expression of type string"},
    {false, "{'spec': {'mutations': [{'applyConfiguration': 'x'}]}}",
     "json: cannot unmarshal string into Go struct field "
     "Mutation.spec.mutations.applyConfiguration of type v1.ApplyConfiguration"},
    {false, "{'spec': {'paramKind': 'x'}}",
     "json: cannot unmarshal string into Go struct field "
     "MutatingAdmissionPolicySpec.spec.paramKind of type v1.ParamKind"},
    {false, "{'spec': {'paramKind': {'kind': 1}}}",
     "json: cannot unmarshal number into Go struct field ParamKind.spec.paramKind.kind of type "
     "string"},
    {false, "{'metadata': {'generation': 'x'}}",
     "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type "
     "int64"},
    {false, "{'metadata': {'generation': 1.5}}",
     "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of "
     "type int64"},
    {false, "{'metadata': {'finalizers': 'x'}}",
     "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type "
     "[]string"},
    {false, "{'metadata': {'ownerReferences': {}}}",
     "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of "
     "type []v1.OwnerReference"},
    {false, "{'metadata': {'creationTimestamp': 5}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of "
     "type string"},
    {true, "{'spec': 'x'}",
     "json: cannot unmarshal string into Go struct field MutatingAdmissionPolicyBinding.spec of "
     "type v1.MutatingAdmissionPolicyBindingSpec"},
    {true, "{'spec': {'policyName': 1}}",
     "json: cannot unmarshal number into Go struct field "
     "MutatingAdmissionPolicyBindingSpec.spec.policyName of type string"},
    {true, "{'spec': {'paramRef': 'x'}}",
     "json: cannot unmarshal string into Go struct field "
     "MutatingAdmissionPolicyBindingSpec.spec.paramRef of type v1.ParamRef"},
    {true, "{'spec': {'paramRef': {'name': 1}}}",
     "json: cannot unmarshal number into Go struct field ParamRef.spec.paramRef.name of type "
     "string"},
    {true, "{'spec': {'paramRef': {'selector': 'x'}}}",
     "json: cannot unmarshal string into Go struct field ParamRef.spec.paramRef.selector of type "
     "v1.LabelSelector"},
    {true, "{'spec': {'paramRef': {'parameterNotFoundAction': 1}}}",
     "json: cannot unmarshal number into Go struct field "
     "ParamRef.spec.paramRef.parameterNotFoundAction of type v1.ParameterNotFoundActionType"},
    {true, "{'spec': {'matchResources': 1}}",
     "json: cannot unmarshal number into Go struct field "
     "MutatingAdmissionPolicyBindingSpec.spec.matchResources of type v1.MatchResources"},
    {true, "{'spec': {'matchResources': {'objectSelector': 1}}}",
     "json: cannot unmarshal number into Go struct field "
     "MatchResources.spec.matchResources.objectSelector of type v1.LabelSelector"},
    {true, "{'spec': {'matchResources': {'objectSelector': {'matchLabels': 'x'}}}}",
     "json: cannot unmarshal string into Go struct field "
     "LabelSelector.spec.matchResources.objectSelector.matchLabels of type map[string]string"},
};

static yyjson_doc *read_quoted(const char *members, const char *api_version)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)64 << 20);
    ek_buf_printf(&text, "{\"apiVersion\": \"%s\", %s", api_version, members + 1);
    for (char *p = text.data; *p; p++)
        if (*p == '\'')
            *p = '"';
    yyjson_doc *doc = yyjson_read(text.data, text.len, 0);
    ck_assert_msg(doc != NULL, "%s", text.data);
    return doc;
}

START_TEST(wrong_types_are_reported_as_the_server_does)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_doc *doc = read_quoted(rows[_i].members, "admissionregistration.k8s.io/v1");
    const struct ek_decoding_problem *list;
    size_t n =
        ek_decoding_problems(yyjson_doc_get_root(doc), rows[_i].binding, false, arena, &list);

    ck_assert_msg(n == (*rows[_i].want != '\0'), "%s: %zu problems", rows[_i].members, n);
    if (n)
        ck_assert_str_eq(list[0].message, rows[_i].want);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

static const struct {
    const char *members, *api_version;
    bool own;
    const char *want; /* "field: message" each */
} more_rows[] = {
    {"{'spec': {'matchCondition': []}}", "admissionregistration.k8s.io/v1", false,
     "spec.matchCondition: unknown field \"spec.matchCondition\"; "},
    {"{'spec': {'mutations': [{}, {'name': 'x'}]}, 'metadata': {'label': {}}}",
     "admissionregistration.k8s.io/v1", false,
     "spec.mutations[1].name: unknown field \"spec.mutations[1].name\"; "
     "metadata.label: unknown field \"metadata.label\"; "},
    {"{'spec': {'behaviour': 'Extended'}}", "admissionregistration.k8s.io/v1", false,
     "spec.behaviour: unknown field \"spec.behaviour\"; "},
    {"{'spec': {'behaviour': 'Extended', 'mutations': [{'safety': {'type': 'Exact'}}]}}",
     "evenkeel.dev/v1alpha1", true, ""},
    {"{'spec': {'mutations': [{'patchType': 1}]}}", "admissionregistration.k8s.io/v1beta1", false,
     "spec.mutations[0].patchType: json: cannot unmarshal number into Go struct field "
     "Mutation.spec.mutations.patchType of type v1beta1.PatchType; "},
    {"{'metadata': {'labels': {'a': null}}, 'spec': {'variables': [null]}}",
     "admissionregistration.k8s.io/v1", false, ""},
};

START_TEST(fields_that_there_are_not_are_found)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_doc *doc = read_quoted(more_rows[_i].members, more_rows[_i].api_version);
    const struct ek_decoding_problem *list;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 4096);
    size_t n =
        ek_decoding_problems(yyjson_doc_get_root(doc), false, more_rows[_i].own, arena, &list);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&got, "%s: %s; ", list[i].field, list[i].message);
    ck_assert_str_eq(ek_buf_str(&got), more_rows[_i].want);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

/* Objects with a million elements: a problem has its path, an element has none. */
static const struct {
    const char *name, *start, *element, *end;
    size_t want; /* problems */
} long_rows[] = {
    {"elements of another type",
     "{'spec': {'matchConstraints': {'resourceRules': [{'operations': [", "1,", "1]}]}}}", 200},
    {"elements of the type", "{'spec': {'matchConstraints': {'resourceRules': [{'operations': [",
     "'',", "'']}]}}}", 0},
    {"objects", "{'spec': {'mutations': [", "{},", "{}]}}", 0},
    {"objects for lists", "{'spec': {'mutations': [", "[],", "[]]}}", 200},
    {"a field again", "{'spec': {", "'failurePolicy':'',", "'mutations': []}}", 0},
    {"fields that there are not", "{'spec': {", "'x':0,", "'y': 0}}", 199},
    {"a type behind fields that there are not", "{'spec': {", "'x':0,", "'failurePolicy': 1}}",
     200},
    {"values of a map", "{'metadata': {'labels': {", "'a':0,", "'b': 0}}}", 200},
    {"values of a map that are right", "{'metadata': {'labels': {", "'a':'',", "'b': ''}}}", 0},
};

START_TEST(long_lists_need_little_memory)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    const struct ek_decoding_problem *list;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)64 << 20);
    ek_buf_puts(&text, long_rows[_i].start);
    for (int i = 0; i < 1000000; i++)
        ek_buf_puts(&text, long_rows[_i].element);
    ek_buf_puts(&text, long_rows[_i].end);
    yyjson_doc *doc = read_quoted(ek_buf_str(&text), "admissionregistration.k8s.io/v1");
    size_t n = ek_decoding_problems(yyjson_doc_get_root(doc), false, false, arena, &list);
    ck_assert_msg(n == long_rows[_i].want && ek_arena_used(arena) < 512 * 1024,
                  "%s: %zu problems in %zu octets", long_rows[_i].name, n, ek_arena_used(arena));
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

/* A name may be as long as an object: it is written for the field and for the message. */
START_TEST(long_names_are_written_twice)
{
    struct ek_arena *arena = ek_arena_new((size_t)8 << 20);
    const struct ek_decoding_problem *list;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)8 << 20);
    ek_buf_puts(&text, "{'spec': {'mutations': [{'");
    for (int i = 0; i < 3000000; i++)
        ek_buf_append(&text, "x", 1);
    ek_buf_puts(&text, "': 1}]}}");
    yyjson_doc *doc = read_quoted(ek_buf_str(&text), "admissionregistration.k8s.io/v1");
    ck_assert_uint_eq(ek_decoding_problems(yyjson_doc_get_root(doc), false, false, arena, &list),
                      1);
    ck_assert_uint_eq(strlen(list[0].field), 3000000 + strlen("spec.mutations[0]."));
    ck_assert(!ek_arena_exhausted(arena));
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("decoding");
    tcase_add_loop_test(tc, wrong_types_are_reported_as_the_server_does, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, fields_that_there_are_not_are_found, 0, EK_ARRAY_SIZE(more_rows));
    tcase_add_loop_test(tc, long_lists_need_little_memory, 0, EK_ARRAY_SIZE(long_rows));
    tcase_add_test(tc, long_names_are_written_twice);
    return ek_test_run("decoding", tc);
}
