/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/registration.h"
#include "reconcilers/webhooks/compare.h"
#include "test/support/suite.h"

/* A policy and its binding in a row; what is "" is left out. */
#define POLICY(name, spec, annotations)                                                            \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\","              \
    "\"metadata\":{\"name\":\"" name "\",\"annotations\":{" annotations "}},\"spec\":{" spec       \
    ",\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"               \
    "\"expression\":\"Object{metadata: Object.metadata{labels: {'a': 'b'}}}\"}}]}}"
#define NATIVE(name, spec, annotations)                                                            \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"MutatingAdmissionPolicy\","    \
    "\"metadata\":{\"name\":\"" name "\",\"annotations\":{" annotations "}},\"spec\":{" spec       \
    ",\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"               \
    "\"expression\":\"Object{metadata: Object.metadata{labels: {'a': 'b'}}}\"}}]}}"
#define SAFE(name, spec, type)                                                                     \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\","              \
    "\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec                                         \
    ",\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"safety\":{\"type\":\"" type           \
    "\"},\"applyConfiguration\":{"                                                                 \
    "\"expression\":\"Object{metadata: Object.metadata{labels: {'a': 'b'}}}\"}}]}}"
#define AGAIN(rules)                                                                               \
    "\"reinvocationPolicy\":\"IfNeeded\",\"matchConstraints\":{\"resourceRules\":[" rules "]}"
#define BINDING(spec)                                                                              \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicyBinding\","       \
    "\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\"" spec "}}"
#define RULE(group, version, resource, operations)                                                 \
    "{\"apiGroups\":[\"" group "\"],\"apiVersions\":[\"" version "\"],\"resources\":[\"" resource  \
    "\"],\"operations\":[" operations "]}"
#define MATCH(rules, more)                                                                         \
    "\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{\"resourceRules\":[" rules "]" more "}"
#define CONFIGMAPS      RULE("", "v1", "configmaps", "\"CREATE\"")
#define DEPLOYMENTS     RULE("apps", "v1", "deployments", "\"CREATE\",\"UPDATE\"")
#define OLD_DEPLOYMENTS RULE("apps", "v1beta1", "deployments", "\"CREATE\",\"UPDATE\"")
#define EVERYTHING      RULE("*", "*", "*", "\"*\"")
#define CONDITION(expression)                                                                      \
    ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"" expression "\"}]"

#define BOUND_MAX 4

struct row {
    const char *name;
    const char *policies[BOUND_MAX];
    const char *binding; /* of all; NULL: a plain one */
    const char *entries; /* their names */
    const char *pointer; /* into the content */
    const char *want;    /* JSON there; NULL: nothing is */
};

/* Of the mutating configuration. */
static const struct row rows[] = {
    {"nothing", {NULL}, NULL, "", "/webhooks", "[]"},
    {"one policy",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/rules",
     "[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
     "\"resources\":[\"configmaps\"],\"scope\":\"*\"}]"},
    {"its name",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/name",
     "\"fail.mutation.evenkeel.dev\""},
    {"its path",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/clientConfig/service",
     "{\"name\":\"evenkeel-webhook\",\"namespace\":\"evenkeel-system\",\"path\":\"/mutate/fail\","
     "\"port\":443}"},
    {"fails",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/failurePolicy",
     "\"Fail\""},
    {"what may be left out is apart",
     {POLICY("p", MATCH(CONFIGMAPS, ""), ""),
      POLICY("p", "\"failurePolicy\":\"Ignore\"," MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail ignore",
     "/webhooks/1/failurePolicy",
     "\"Ignore\""},
    {"so is what runs again",
     {POLICY(
          "p",
          "\"reinvocationPolicy\":\"IfNeeded\",\"matchConstraints\":{\"resourceRules\":[" CONFIGMAPS
          "]}",
          ""),
      POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail fail-again",
     "/webhooks/1/reinvocationPolicy",
     "\"IfNeeded\""},
    {"and what matches exactly",
     {POLICY("p", MATCH(CONFIGMAPS, ",\"matchPolicy\":\"Exact\""), "")},
     NULL,
     "fail-exact",
     "/webhooks/0/matchPolicy",
     "\"Exact\""},
    {"and another version",
     {POLICY("p", MATCH(DEPLOYMENTS, ""), ""), POLICY("p", MATCH(OLD_DEPLOYMENTS, ""), ""),
      POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail fail-2",
     "/webhooks/1/rules/0/apiVersions",
     "[\"v1beta1\"]"},
    {"rules are joined",
     {POLICY("p", MATCH(RULE("apps", "v1", "deployments", "\"CREATE\""), ""), ""),
      POLICY("p", MATCH(RULE("apps", "v1", "statefulsets", "\"CREATE\""), ""), "")},
     NULL,
     "fail",
     "/webhooks/0/rules",
     "[{\"apiGroups\":[\"apps\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
     "\"resources\":[\"deployments\",\"statefulsets\"],\"scope\":\"*\"}]"},
    {"once",
     {POLICY("p", MATCH(CONFIGMAPS, ""), ""), POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/rules/1",
     NULL},
    {"deletions are never asked about",
     {POLICY("p", MATCH(EVERYTHING, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/rules/0/operations",
     "[\"CREATE\",\"UPDATE\",\"CONNECT\"]"},
    {"a binding that narrows",
     {POLICY("p", MATCH(EVERYTHING, ""), "")},
     BINDING(",\"matchResources\":{\"resourceRules\":[" CONFIGMAPS "]}"),
     "fail",
     "/webhooks/0/rules/0/resources",
     "[\"configmaps\"]"},
    {"a binding for all groups does not",
     {POLICY("p", MATCH(EVERYTHING, ""), "")},
     BINDING(",\"matchResources\":{\"resourceRules\":[" RULE("*", "v1", "configmaps",
                                                             "\"CREATE\"") "]}"),
     "fail",
     "/webhooks/0/rules/0/resources",
     "[\"*\"]"},
    {"deletions alone need no webhook",
     {POLICY("p", MATCH(RULE("", "v1", "configmaps", "\"DELETE\""), ""), "")},
     NULL,
     "fail",
     "/webhooks",
     "[]"},
    {"all resources and some are not joined",
     {POLICY("p", MATCH(RULE("apps", "v1", "*", "\"CREATE\""), ""), ""),
      POLICY("p", MATCH(RULE("apps", "v1", "deployments", "\"CREATE\""), ""), "")},
     NULL,
     "fail",
     "/webhooks/0/rules/1/resources",
     "[\"deployments\"]"},
    {"our namespace and the control plane's stay out",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/namespaceSelector",
     "{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\","
     "\"values\":[\"evenkeel-system\",\"kube-system\",\"kube-node-lease\"]}]}"},
    {"beside what all policies select",
     {POLICY("p", MATCH(CONFIGMAPS, ",\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), "")},
     NULL,
     "fail",
     "/webhooks/0/namespaceSelector/matchLabels",
     "{\"a\":\"b\"}"},
    {"objects that all select",
     {POLICY("p", MATCH(CONFIGMAPS, ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), ""),
      POLICY("q", MATCH(CONFIGMAPS, ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), "")},
     NULL,
     "fail",
     "/webhooks/0/objectSelector",
     "{\"matchLabels\":{\"a\":\"b\"}}"},
    {"or their bindings",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     BINDING(",\"matchResources\":{\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}}"),
     "fail",
     "/webhooks/0/objectSelector",
     "{\"matchLabels\":{\"a\":\"b\"}}"},
    {"not those that cannot be read",
     {POLICY("p", MATCH(CONFIGMAPS, ",\"objectSelector\":{\"matchLabels\":{\"a b\":\"c\"}}"), "")},
     BINDING(",\"matchResources\":{\"objectSelector\":{\"matchLabels\":{\"a b\":\"c\"}}}"),
     "fail",
     "/webhooks/0/objectSelector",
     "{}"},
    {"not those that one does",
     {POLICY("p", MATCH(CONFIGMAPS, ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), ""),
      POLICY("q", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/objectSelector",
     "{}"},
    {"we do not ask ourselves",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions",
     "[{\"name\":\"not-evenkeel\",\"expression\":\"!('system:serviceaccounts:evenkeel-system' in "
     "request.userInfo.groups)\"}]"},
    {"nor about reviews",
     {POLICY("p", MATCH(EVERYTHING, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1/expression",
     "\"!(request.resource.group in ['admissionregistration.k8s.io', 'authentication.k8s.io', "
     "'authorization.k8s.io', 'evenkeel.dev'])\""},
    {"nor about policies of evenkeel.dev",
     {POLICY("p",
             MATCH(RULE("evenkeel.dev", "v1alpha1", "mutatingadmissionpolicies", "\"CREATE\""), ""),
             "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1/name",
     "\"not-policies-or-reviews\""},
    {"a policy's own conditions",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("object.metadata.name == 'x'"), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1/expression",
     "\"((object.metadata.name == 'x'\\n))\""},
    {"two policies': either's",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("1 < 2 // yes"), ""),
      POLICY("q", MATCH(CONFIGMAPS, "") CONDITION("2 < 3"), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1/expression",
     "\"((1 < 2 // yes\\n)) || ((2 < 3\\n))\""},
    {"none when one has none",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("1 < 2"), ""),
      POLICY("q", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1",
     NULL},
    {"none that a webhook cannot evaluate",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("namespaceObject != null"), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1",
     NULL},
    {"not even behind a word that ends so",
     {POLICY("p",
             MATCH(CONFIGMAPS, "") CONDITION(
                 "'aNamespaceObject' != '' && 'xnamespaceObject' != '' && namespaceObject != null"),
             "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1",
     NULL},
    {"but what only ends so",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("'xparams' != ''"), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1/expression",
     "\"(('xparams' != ''\\n))\""},
    {"none that does not compile",
     {POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("1 +"), "")},
     NULL,
     "fail",
     "/webhooks/0/matchConditions/1",
     NULL},
    {"what API servers enforce needs no calls",
     {NATIVE("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "",
     "/webhooks",
     "[]"},
    {"what is to be observed does, and fails nobody",
     {NATIVE("p", MATCH(CONFIGMAPS, ""), "\"evenkeel.dev/enforcement\":\"Observe\"")},
     NULL,
     "ignore",
     "/webhooks/0/failurePolicy",
     "\"Ignore\""},
    {"it goes when our namespace does",
     {NULL},
     NULL,
     "",
     "/metadata/ownerReferences",
     "[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"name\":\"evenkeel-system\",\"uid\":\"u-1\"}"
     "]"},
    {"side effects",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/sideEffects",
     "\"None\""},
    {"time",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/timeoutSeconds",
     "10"},
    {"bundle",
     {POLICY("p", MATCH(CONFIGMAPS, ""), "")},
     NULL,
     "fail",
     "/webhooks/0/clientConfig/caBundle",
     "\"UEVN\""},
    {"one that is checked and that API servers run",
     {NATIVE("p", MATCH(CONFIGMAPS, ""), "\"evenkeel.dev/safety\":\"Exact\"")},
     NULL,
     "",
     "/webhooks",
     "[]"},
};

/* Of the validating one. */
static const struct row check_rows[] = {
    {"nothing to check",
     {POLICY("p", MATCH(CONFIGMAPS, ""), ""), SAFE("q", MATCH(CONFIGMAPS, ""), "Overwritable")},
     NULL,
     "",
     "/webhooks",
     "[]"},
    {"what is Exact is checked",
     {SAFE("p", MATCH(CONFIGMAPS, ""), "Exact"), POLICY("q", MATCH(DEPLOYMENTS, ""), "")},
     NULL,
     "safety-fail",
     "/webhooks/0/rules",
     "[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
     "\"resources\":[\"configmaps\"],\"scope\":\"*\"}]"},
    {"where it is checked",
     {SAFE("p", MATCH(CONFIGMAPS, ""), "Exact")},
     NULL,
     "safety-fail",
     "/webhooks/0/clientConfig/service/path",
     "\"/validate/safety-fail\""},
    {"checks are made once",
     {SAFE("p", AGAIN(CONFIGMAPS), "Exact")},
     NULL,
     "safety-fail",
     "/webhooks/0/reinvocationPolicy",
     NULL},
    {"a policy that may be left out",
     {SAFE("p", MATCH(CONFIGMAPS, "") ",\"failurePolicy\":\"Ignore\"", "Exact"),
      SAFE("q", MATCH(CONFIGMAPS, ""), "Exact")},
     NULL,
     "safety-fail safety-ignore",
     "/webhooks/1/failurePolicy",
     "\"Ignore\""},
    {"one that API servers run is checked",
     {NATIVE("p", MATCH(CONFIGMAPS, ""), "\"evenkeel.dev/safety\":\"Exact\"")},
     NULL,
     "safety-fail",
     "/webhooks/0/failurePolicy",
     "\"Fail\""},
    {"one that is observed is not",
     {NATIVE("p", MATCH(CONFIGMAPS, ""),
             "\"evenkeel.dev/safety\":\"Exact\",\"evenkeel.dev/enforcement\":\"Observe\"")},
     NULL,
     "",
     "/webhooks",
     "[]"},
    {"checks and mutations keep the same away",
     {SAFE("p", MATCH(CONFIGMAPS, ""), "Exact")},
     NULL,
     "safety-fail",
     "/webhooks/0/namespaceSelector",
     "{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\","
     "\"values\":[\"evenkeel-system\",\"kube-system\",\"kube-node-lease\"]}]}"},
};

static const struct ek_webhooks_options options = {.service_namespace = "evenkeel-system",
                                                   .service_name = "evenkeel-webhook",
                                                   .ca_bundle = "PEM",
                                                   .own_namespace = "evenkeel-system",
                                                   .own_namespace_uid = "u-1"};

struct scene {
    struct ek_bound bound[BOUND_MAX];
    size_t n;
    struct ek_registration plan;
    yyjson_mut_doc *doc;
    yyjson_mut_val *content;
};

static struct ek_obj *parse(const char *json)
{
    struct ek_obj *obj = NULL;
    ck_assert_msg(!ek_obj_parse(json, strlen(json), &obj, NULL), "%s", json);
    return obj;
}

static void scene_init(struct scene *s, const char *const *policies, const char *binding,
                       const struct ek_webhooks_options *how, enum ek_registration_kind kind)
{
    *s = (struct scene){.doc = ek_json_doc_new()};
    for (size_t i = 0; i < BOUND_MAX && policies[i]; i++) {
        struct ek_obj *p = parse(policies[i]), *b = parse(binding ? binding : BINDING(""));
        s->bound[s->n].policy = ek_policy_new(p, 0);
        s->bound[s->n].binding = ek_binding_new(b);
        /* As the decision for a cluster whose servers all run the plug-in. */
        s->bound[s->n].apply = !s->bound[s->n].policy->native;
        s->n++;
        ek_obj_unref(p);
        ek_obj_unref(b);
    }
    ek_registration_plan(kind, s->bound, s->n, &s->plan);
    s->content = ek_registration_write(&s->plan, s->bound, how, s->doc);
    yyjson_mut_doc_set_root(s->doc, s->content);
}

static void scene_done(struct scene *s)
{
    for (size_t i = 0; i < s->n; i++) {
        ek_policy_unref(s->bound[i].policy);
        ek_binding_unref(s->bound[i].binding);
    }
    ek_registration_done(&s->plan);
    yyjson_mut_doc_free(s->doc);
}

static bool is_current(yyjson_mut_val *content, yyjson_val *live)
{
    return ek_webhooks_compare(content, live, options.ca_bundle, true).current;
}

static void expect_row(const struct row *row, enum ek_registration_kind kind)
{
    char names[256] = "";
    struct scene s;

    scene_init(&s, row->policies, row->binding, &options, kind);
    for (size_t i = 0; i < s.plan.n_entries; i++) {
        strncat(names, i ? " " : "", sizeof names - strlen(names) - 1);
        strncat(names, s.plan.entries[i].name, sizeof names - strlen(names) - 1);
    }
    ck_assert_msg(!strcmp(names, row->entries), "%s: entries %s", row->name, names);
    yyjson_mut_val *v = yyjson_mut_ptr_get(s.content, row->pointer);
    char *got = v ? yyjson_mut_val_write(v, 0, NULL) : NULL;
    ck_assert_msg((!got && !row->want) || (got && row->want && !strcmp(got, row->want)), "%s: %s",
                  row->name, got ? got : "nothing");
    free(got);
    scene_done(&s);
}

START_TEST(says)
{
    expect_row(&rows[_i], EK_REGISTRATION_MUTATING);
}
END_TEST

START_TEST(has_checked)
{
    expect_row(&check_rows[_i], EK_REGISTRATION_VALIDATING);
}
END_TEST

/* Policies and bindings of evenkeel.dev are checked when they are written, whatever is bound. */
START_TEST(checks_definitions)
{
    static const struct {
        const char *pointer, *want;
    } wants[] = {
        {"/webhooks/1", NULL},
        {"/webhooks/0/name", "\"definition.mutation.evenkeel.dev\""},
        {"/webhooks/0/failurePolicy", "\"Fail\""},
        {"/webhooks/0/clientConfig/service/path", "\"/policy-definition\""},
        {"/webhooks/0/clientConfig/caBundle", "\"UEVN\""},
        {"/webhooks/0/namespaceSelector", "{}"},
        {"/webhooks/0/matchConditions/1", NULL},
        {"/webhooks/0/rules",
         "[{\"apiGroups\":[\"evenkeel.dev\"],\"apiVersions\":[\"v1alpha1\"],\"operations\":["
         "\"CREATE\",\"UPDATE\"],\"resources\":[\"mutatingadmissionpolicies\","
         "\"mutatingadmissionpolicybindings\"],\"scope\":\"Cluster\"}]"},
    };
    static const char *const none[BOUND_MAX] = {NULL};
    struct ek_webhooks_options with = options;
    struct scene s, mutating;

    with.with_definitions = true;
    scene_init(&s, none, NULL, &with, EK_REGISTRATION_VALIDATING);
    for (size_t i = 0; i < EK_ARRAY_SIZE(wants); i++) {
        yyjson_mut_val *v = yyjson_mut_ptr_get(s.content, wants[i].pointer);
        char *got = v ? yyjson_mut_val_write(v, 0, NULL) : NULL;
        ck_assert_msg(wants[i].want ? got && !strcmp(got, wants[i].want) : !got, "%s: %s",
                      wants[i].pointer, got ? got : "nothing");
        free(got);
    }
    struct ek_obj *live = ek_obj_from_mut(s.content);
    ck_assert(is_current(s.content, ek_obj_root(live)));
    ck_assert(!is_current(s.content, NULL));
    scene_init(&mutating, none, NULL, &with, EK_REGISTRATION_MUTATING);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(mutating.content, "webhooks")), 0);
    ek_obj_unref(live);
    scene_done(&mutating);
    scene_done(&s);
}
END_TEST

/* What was written is current, also with what a server adds; any difference of ours is not. */
START_TEST(knows_itself)
{
    static const char *const policies[BOUND_MAX] = {POLICY("p", MATCH(CONFIGMAPS, ""), "")};
    static const char *const selective[BOUND_MAX] = {
        POLICY("p", MATCH(CONFIGMAPS, ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}"), "")};
    static const char *const none[BOUND_MAX] = {NULL};
    struct ek_webhooks_options other = options;
    struct scene s, t, empty;

    other.ca_bundle = "PEM2";
    scene_init(&s, policies, NULL, &options, EK_REGISTRATION_MUTATING);
    scene_init(&empty, none, NULL, &options, EK_REGISTRATION_MUTATING);
    yyjson_mut_obj_add_str(s.doc, s.content, "kind", "MutatingWebhookConfiguration");
    struct ek_obj *live = ek_obj_from_mut(s.content);
    yyjson_mut_obj_remove_key(s.content, "kind");
    ck_assert(is_current(s.content, ek_obj_root(live)));
    ck_assert(!is_current(s.content, NULL));
    ck_assert(is_current(empty.content, NULL));
    ck_assert(!is_current(empty.content, ek_obj_root(live)));
    scene_init(&t, policies, NULL, &other, EK_REGISTRATION_MUTATING);
    ck_assert(!is_current(t.content, ek_obj_root(live)));
    scene_done(&t);
    scene_init(&t, selective, NULL, &options, EK_REGISTRATION_MUTATING);
    struct ek_obj *narrow = ek_obj_from_mut(t.content);
    ck_assert(!is_current(t.content, ek_obj_root(live)));
    ck_assert(!is_current(s.content, ek_obj_root(narrow)));
    scene_done(&t);
    ek_obj_unref(narrow);
    ek_obj_unref(live);
    scene_done(&empty);
    scene_done(&s);
}
END_TEST

/* Policies that all want another version have an entry each, up to the bound; the rest is counted.
 */
START_TEST(is_bounded)
{
    enum { MANY = EK_REGISTRATION_ENTRIES_MAX + 3 };
    struct ek_bound bound[MANY];
    struct ek_registration plan;
    struct ek_obj *binding = parse(BINDING(""));

    for (size_t i = 0; i < MANY; i++) {
        EK_AUTOFREE char *version = ek_xasprintf("\"v%zu\"", i + 1);
        EK_AUTOFREE char *json =
            ek_xstrdup(POLICY("p", MATCH(RULE("", "~~~~~~", "configmaps", "\"CREATE\""), ""), ""));
        struct ek_obj *policy;
        char *at = strstr(json, "\"~~~~~~\"");
        memset(at, ' ', 8);
        for (size_t k = 0; version[k]; k++)
            at[k] = version[k];
        policy = parse(json);
        bound[i] = (struct ek_bound){
            .policy = ek_policy_new(policy, 0), .binding = ek_binding_new(binding), .apply = true};
        ek_obj_unref(policy);
    }
    ek_registration_plan(EK_REGISTRATION_MUTATING, bound, MANY, &plan);
    ck_assert_uint_eq(plan.n_entries, EK_REGISTRATION_ENTRIES_MAX);
    ck_assert_uint_eq(plan.left_out, 3);
    ck_assert_str_eq(plan.entries[1].name, "fail-2");
    ek_registration_done(&plan);
    for (size_t i = 0; i < MANY; i++) {
        ek_policy_unref(bound[i].policy);
        ek_binding_unref(bound[i].binding);
    }
    ek_obj_unref(binding);
}
END_TEST

START_TEST(takes_choices)
{
    static const char *const policies[BOUND_MAX] = {
        POLICY("p", MATCH(CONFIGMAPS, "") CONDITION("1 < 2"), "")};
    const struct ek_webhooks_options choices = {.url = "https://10.0.0.7:9443",
                                                .with_kube_system = true,
                                                .without_conditions = true,
                                                .timeout_s = 3};
    struct scene s;

    scene_init(&s, policies, NULL, &choices, EK_REGISTRATION_MUTATING);
    yyjson_mut_val *hook = yyjson_mut_ptr_get(s.content, "/webhooks/0");
    ck_assert(yyjson_mut_equals_str(yyjson_mut_ptr_get(hook, "/clientConfig/url"),
                                    "https://10.0.0.7:9443/mutate/fail"));
    ck_assert(!yyjson_mut_ptr_get(hook, "/clientConfig/caBundle"));
    ck_assert_uint_eq(yyjson_mut_obj_size(yyjson_mut_obj_get(hook, "namespaceSelector")), 0);
    ck_assert(!yyjson_mut_obj_get(hook, "matchConditions"));
    ck_assert_int_eq(yyjson_mut_get_int(yyjson_mut_obj_get(hook, "timeoutSeconds")), 3);
    scene_done(&s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");

    tcase_add_loop_test(t, says, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(t, has_checked, 0, EK_ARRAY_SIZE(check_rows));
    tcase_add_test(t, knows_itself);
    tcase_add_test(t, checks_definitions);
    tcase_add_test(t, is_bounded);
    tcase_add_test(t, takes_choices);
    return ek_test_run("registration", t);
}
