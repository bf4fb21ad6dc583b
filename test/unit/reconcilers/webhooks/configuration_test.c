/* SPDX-License-Identifier: Apache-2.0 */
/* What every entry of every subject gets, by row; and the same for the entries of all subjects. */
#include <check.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/registration.h"
#include "reconcilers/mutation/registration.h"
#include "reconcilers/plan/guard.h"
#include "test/support/suite.h"

#define OWN .own_namespace = "evenkeel-system"
#define EXEMPT(names)                                                                              \
    "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [" names "]}" \
    "]}"

static yyjson_doc *parse(const char *yaml)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(yaml, strlen(yaml), 1 << 20, &doc, &err) == 0, "%s: %s", yaml,
                  err.message);
    return doc;
}

static void expect(const char *name, yyjson_mut_val *content, const char *pointer, const char *want)
{
    struct ek_obj *obj = ek_obj_from_mut(content);
    yyjson_val *got = yyjson_ptr_get(ek_obj_root(obj), pointer);
    EK_AUTOFREE char *text = got ? yyjson_val_write(got, 0, NULL) : NULL;

    if (want) {
        yyjson_doc *doc = parse(want);
        ck_assert_msg(got && ek_json_equal(got, yyjson_doc_get_root(doc)), "%s: %s: %s", name,
                      pointer, text ? text : "nothing");
        yyjson_doc_free(doc);
    } else {
        ck_assert_msg(!got, "%s: %s: %s", name, pointer, text ? text : "nothing");
    }
    ek_obj_unref(obj);
}

static const struct {
    const char *name;
    struct ek_webhooks_options options;
    struct ek_webhooks_entry entry;
    const char *namespaces, *objects; /* selectors of the entry, in YAML; NULL: none */
    const char *pointer;
    const char *want; /* YAML; NULL: nothing is there */
} rows[] = {
    {"ours and the system's",
     {OWN},
     {0},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     EXEMPT("evenkeel-system, kube-system, kube-node-lease")},
    {"the system's where ours is not known",
     {0},
     {0},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     EXEMPT("kube-system, kube-node-lease")},
    {"ours always",
     {OWN, .with_kube_system = true},
     {0},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     EXEMPT("evenkeel-system")},
    {"each once",
     {.own_namespace = "kube-system"},
     {0},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     EXEMPT("kube-system, kube-node-lease")},
    {"ours in kube-system stays exempt",
     {.own_namespace = "kube-system", .with_kube_system = true},
     {0},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     EXEMPT("kube-system")},
    {"none", {.with_kube_system = true}, {0}, NULL, NULL, "/webhooks/0/namespaceSelector", "{}"},
    {"none for what is in no namespace",
     {OWN},
     {.everywhere = true},
     NULL,
     NULL,
     "/webhooks/0/namespaceSelector",
     "{}"},
    {"beside the entry's own",
     {OWN, .with_kube_system = true},
     {0},
     "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}",
     NULL,
     "/webhooks/0/namespaceSelector",
     "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}, {key: "
     "kubernetes.io/metadata.name, operator: NotIn, values: [evenkeel-system]}]}"},
    {"all objects", {0}, {0}, NULL, NULL, "/webhooks/0/objectSelector", "{}"},
    {"some objects",
     {0},
     {0},
     NULL,
     "{matchLabels: {a: b}}",
     "/webhooks/0/objectSelector",
     "{matchLabels: {a: b}}"},
    {"by the Service",
     {.service_name = "s", .service_namespace = "ns"},
     {.path = "/p"},
     NULL,
     NULL,
     "/webhooks/0/clientConfig",
     "{service: {name: s, namespace: ns, path: /p, port: 443}}"},
    {"at its port",
     {.service_port = 9443},
     {.path = "/p"},
     NULL,
     NULL,
     "/webhooks/0/clientConfig/service/port",
     "9443"},
    {"by URL",
     {.url = "https://10.0.0.7:9443"},
     {.path = "/p"},
     NULL,
     NULL,
     "/webhooks/0/clientConfig",
     "{url: 'https://10.0.0.7:9443/p'}"},
    {"with the bundle",
     {.url = "https://a", .ca_bundle = "PEM"},
     {.path = "/p"},
     NULL,
     NULL,
     "/webhooks/0/clientConfig/caBundle",
     "UEVN"},
    {"failing", {0}, {0}, NULL, NULL, "/webhooks/0/failurePolicy", "Fail"},
    {"or not", {0}, {.ignore_failures = true}, NULL, NULL, "/webhooks/0/failurePolicy", "Ignore"},
    {"converted", {0}, {0}, NULL, NULL, "/webhooks/0/matchPolicy", "Equivalent"},
    {"or not converted", {0}, {.exact = true}, NULL, NULL, "/webhooks/0/matchPolicy", "Exact"},
    {"again",
     {0},
     {.reinvocation = "IfNeeded"},
     NULL,
     NULL,
     "/webhooks/0/reinvocationPolicy",
     "IfNeeded"},
    {"validating", {0}, {0}, NULL, NULL, "/webhooks/0/reinvocationPolicy", NULL},
    {"no conditions", {0}, {0}, NULL, NULL, "/webhooks/0/matchConditions", NULL},
    {"the entry's time", {0}, {.timeout_s = 7}, NULL, NULL, "/webhooks/0/timeoutSeconds", "7"},
    {"or the options'",
     {.timeout_s = 3},
     {.timeout_s = 7},
     NULL,
     NULL,
     "/webhooks/0/timeoutSeconds",
     "3"},
    {"without side effects", {0}, {0}, NULL, NULL, "/webhooks/0/sideEffects", "None"},
    {"of version 1", {0}, {0}, NULL, NULL, "/webhooks/0/admissionReviewVersions", "[v1]"},
    {"labelled",
     {0},
     {0},
     NULL,
     NULL,
     "/metadata/labels",
     "{app.kubernetes.io/name: evenkeel, app.kubernetes.io/managed-by: evenkeel}"},
    {"owned",
     {OWN, .own_namespace_uid = "u-1"},
     {0},
     NULL,
     NULL,
     "/metadata/ownerReferences",
     "[{apiVersion: v1, kind: Namespace, name: evenkeel-system, uid: u-1}]"},
    {"not owned while the namespace is not known",
     {OWN},
     {0},
     NULL,
     NULL,
     "/metadata/ownerReferences",
     NULL},
};

static yyjson_mut_val *value(yyjson_mut_doc *doc, const char *yaml)
{
    yyjson_doc *parsed = yaml ? parse(yaml) : NULL;
    yyjson_mut_val *v = parsed ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed)) : NULL;

    yyjson_doc_free(parsed);
    return v;
}

START_TEST(writes_entries)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_webhooks_entry entry = rows[_i].entry;
    struct ek_webhooks w;

    entry.name = "a.b.c";
    entry.path = entry.path ? entry.path : "/";
    entry.namespaces = value(doc, rows[_i].namespaces);
    entry.objects = value(doc, rows[_i].objects);
    entry.rules =
        ek_webhooks_rules(doc, &(struct ek_webhooks_rule){.group = "g", .version = "v", "*"});
    ek_webhooks_begin(&w, &rows[_i].options, doc);
    ek_webhooks_add(&w, &entry);
    ek_webhooks_end(&w);
    expect(rows[_i].name, w.content, rows[_i].pointer, rows[_i].want);
    yyjson_mut_doc_free(doc);
}
END_TEST

static const struct {
    struct ek_webhooks_rule rule;
    const char *want;
} rules[] = {
    {{"g", "v1", "Cluster", false, {"a"}},
     "[{apiGroups: [g], apiVersions: [v1], operations: [CREATE], resources: [a], scope: Cluster}]"},
    {{"g", "v1", "Namespaced", true, {NULL, "a/status", "a/scale"}},
     "[{apiGroups: [g], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [a/status, "
     "a/scale], scope: Namespaced}]"},
};

START_TEST(writes_rules)
{
    yyjson_mut_doc *doc = ek_json_doc_new();

    expect("rule", ek_webhooks_rules(doc, &rules[_i].rule), "", rules[_i].want);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* ---- All subjects ---- */

static yyjson_mut_val *write_policies(const struct ek_webhooks_options *options,
                                      enum ek_registration_kind kind, yyjson_mut_doc *doc)
{
    static const char policy[] =
        "{apiVersion: evenkeel.dev/v1alpha1, kind: MutatingAdmissionPolicy, metadata: {name: p, "
        "annotations: {evenkeel.dev/safety: Exact}}, spec: {reinvocationPolicy: Never, "
        "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: "
        "[CREATE], resources: [configmaps]}]}, mutations: [{patchType: ApplyConfiguration, safety: "
        "{type: Exact}, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: "
        "{\"a\": \"b\"}}}'}}]}}";
    static const char binding[] =
        "{apiVersion: evenkeel.dev/v1alpha1, kind: MutatingAdmissionPolicyBinding, metadata: "
        "{name: b}, spec: {policyName: p}}";
    yyjson_doc *docs[] = {parse(policy), parse(binding)};
    struct ek_obj *objects[] = {ek_obj_from_val(yyjson_doc_get_root(docs[0])),
                                ek_obj_from_val(yyjson_doc_get_root(docs[1]))};
    struct ek_bound bound = {.policy = ek_policy_new(objects[0], 0),
                             .binding = ek_binding_new(objects[1]),
                             .apply = true};
    struct ek_registration plan;

    ek_registration_plan(kind, &bound, 1, &plan);
    yyjson_mut_val *content = ek_registration_write(&plan, &bound, options, doc);
    ek_registration_done(&plan);
    ek_policy_unref(bound.policy);
    ek_binding_unref(bound.binding);
    for (size_t i = 0; i < 2; i++) {
        ek_obj_unref(objects[i]);
        yyjson_doc_free(docs[i]);
    }
    return content;
}

static yyjson_mut_val *write_gates(const struct ek_webhooks_options *options, bool validating,
                                   yyjson_mut_doc *doc)
{
    yyjson_doc *parsed =
        parse("{metadata: {name: crontabs.stable.example.com}, spec: {featureGates: [{name: A, "
              "preRelease: alpha, fieldPaths: [.spec.a]}]}}");
    const struct ek_gates *gates = ek_gates_new(yyjson_doc_get_root(parsed), NULL, 0);
    const struct ek_gates_crd crd = {.group = "stable.example.com",
                                     .plural = "crontabs",
                                     .kind = "CronTab",
                                     .storage = "v1",
                                     .namespaced = true};
    yyjson_mut_val *contents[2];
    const char *hash;

    ek_gates_registration_write(&(struct ek_gates_registered){.gates = gates, .crd = &crd}, 1,
                                options, doc, &contents[0], &contents[1], &hash);
    ek_gates_unref(gates);
    yyjson_doc_free(parsed);
    return contents[validating];
}

static yyjson_mut_val *write_guard(const struct ek_webhooks_options *options, yyjson_mut_doc *doc)
{
    const struct ek_guard guard = {EK_GUARD_DENY, true, "", EK_MINOR(1, 35), EK_MINOR(1, 36)};
    struct ek_guard_rules guarded = {.newest = EK_MINOR_UNKNOWN};
    struct ek_plan_data data;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    ek_guard_merge(&guarded, &guard, "next");
    yyjson_mut_val *content = ek_guard_registration(&guarded, &data, options, doc);
    ek_plan_data_done(&data);
    return content;
}

static const struct {
    const char *name;
    struct ek_webhooks_options options;
    const char *want; /* namespaceSelector */
} drift[] = {
    {"by default", {OWN}, EXEMPT("evenkeel-system, kube-system, kube-node-lease")},
    {"with the system's", {OWN, .with_kube_system = true}, EXEMPT("evenkeel-system")},
};

/* No subject may leave out, or take in, a namespace that another one does not. */
START_TEST(exempts_the_same_for_all_subjects)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    const struct ek_webhooks_options *o = &drift[_i].options;

    expect("policies", write_policies(o, EK_REGISTRATION_MUTATING, doc),
           "/webhooks/0/namespaceSelector", drift[_i].want);
    expect("checks", write_policies(o, EK_REGISTRATION_VALIDATING, doc),
           "/webhooks/0/namespaceSelector", drift[_i].want);
    expect("gates", write_gates(o, false, doc), "/webhooks/0/namespaceSelector", drift[_i].want);
    expect("backstop", write_gates(o, true, doc), "/webhooks/0/namespaceSelector", drift[_i].want);
    expect("guard", write_guard(o, doc), "/webhooks/0/namespaceSelector", drift[_i].want);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* ---- The apply ---- */

START_TEST(applies_a_copy)
{
    static const struct ek_resource resource = {.group = "admissionregistration.k8s.io",
                                                .version = "v1",
                                                .resource = "validatingwebhookconfigurations",
                                                .kind = "ValidatingWebhookConfiguration"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    EK_AUTO(ek_intents) intents;

    ek_intents_init(&intents);
    yyjson_mut_obj_add_int(doc, content, "webhooks", 0);
    const struct ek_intent *intent = ek_webhooks_apply(&intents, &resource, "ours", content);
    yyjson_mut_obj_add_int(doc, content, "later", 1);
    yyjson_mut_doc_free(doc);
    ck_assert_uint_eq(intents.n, 1);
    ck_assert_int_eq(intent->verb, EK_APPLY);
    ck_assert_str_eq(intent->name, "ours");
    ck_assert_str_eq(intent->resource.resource, resource.resource);
    ck_assert_uint_eq(yyjson_mut_obj_size(intent->content), 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, writes_entries, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, writes_rules, 0, EK_ARRAY_SIZE(rules));
    tcase_add_loop_test(tc, exempts_the_same_for_all_subjects, 0, EK_ARRAY_SIZE(drift));
    tcase_add_test(tc, applies_a_copy);
    return ek_test_run("webhook configurations", tc);
}
