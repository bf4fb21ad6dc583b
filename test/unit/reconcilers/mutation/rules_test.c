/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/rules.h"
#include "test/support/suite.h"

#define RULE(operations, groups, versions, resources)                                              \
    "{\"operations\":[" operations "],\"apiGroups\":[" groups "],\"apiVersions\":[" versions       \
    "],\"resources\":[" resources "]}"
#define DEPLOYMENTS RULE("\"CREATE\"", "\"apps\"", "\"v1\"", "\"deployments\"")
#define ALL         RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\"")
#define REQUEST(group, version, resource, sub, ns, op, more)                                       \
    "{\"kind\":{\"group\":\"" group "\",\"version\":\"" version "\",\"kind\":\"K\"},"              \
    "\"resource\":{\"group\":\"" group "\",\"version\":\"" version "\",\"resource\":\"" resource   \
    "\"},\"subResource\":\"" sub "\",\"namespace\":\"" ns                                          \
    "\",\"name\":\"web\",\"operation\":\"" op "\"" more "}"
#define CREATE_WEB(more) REQUEST("apps", "v1", "deployments", "", "prod", "CREATE", more)
#define LABELLED(labels) ",\"object\":{\"metadata\":{\"labels\":" labels "}}"
#define LIKE             "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}"
#define PROD             "{\"metadata\":{\"name\":\"prod\",\"labels\":{\"env\":\"prod\"}}}"

static const struct {
    const char *name, *rules, *request, *namespace;
    enum ek_rules_answer want;
} rows[] = {
    {"nothing said is everything", NULL, CREATE_WEB(""), PROD, EK_RULES_YES},
    {"empty is everything", "{}", CREATE_WEB(""), PROD, EK_RULES_YES},
    {"a rule", "{\"resourceRules\":[" DEPLOYMENTS "]}", CREATE_WEB(""), PROD, EK_RULES_YES},
    {"another operation", "{\"resourceRules\":[" DEPLOYMENTS "]}",
     REQUEST("apps", "v1", "deployments", "", "prod", "UPDATE", ""), PROD, EK_RULES_NO},
    {"another group", "{\"resourceRules\":[" DEPLOYMENTS "]}",
     REQUEST("extensions", "v1", "deployments", "", "prod", "CREATE", ""), PROD, EK_RULES_NO},
    {"another version", "{\"resourceRules\":[" DEPLOYMENTS "],\"matchPolicy\":\"Exact\"}",
     REQUEST("apps", "v1beta1", "deployments", "", "prod", "CREATE", ""), PROD, EK_RULES_NO},
    {"another resource", "{\"resourceRules\":[" DEPLOYMENTS "]}",
     REQUEST("apps", "v1", "daemonsets", "", "prod", "CREATE", ""), PROD, EK_RULES_NO},
    {"a subresource is not its resource", "{\"resourceRules\":[" DEPLOYMENTS "]}",
     REQUEST("apps", "v1", "deployments", "scale", "prod", "CREATE", ""), PROD, EK_RULES_NO},
    {"the second rule",
     "{\"resourceRules\":[" RULE("\"*\"", "\"\"", "\"v1\"", "\"pods\"") "," DEPLOYMENTS "]}",
     CREATE_WEB(""), PROD, EK_RULES_YES},
    {"a star leaves subresources out",
     "{\"resourceRules\":[" RULE("\"*\"", "\"*\"", "\"*\"", "\"*\"") "]}",
     REQUEST("", "v1", "pods", "status", "prod", "UPDATE", ""), PROD, EK_RULES_NO},
    {"a star takes resources", "{\"resourceRules\":[" RULE("\"*\"", "\"*\"", "\"*\"", "\"*\"") "]}",
     REQUEST("", "v1", "pods", "", "prod", "UPDATE", ""), PROD, EK_RULES_YES},
    {"star/star takes both", "{\"resourceRules\":[" ALL "]}",
     REQUEST("", "v1", "pods", "status", "prod", "UPDATE", ""), PROD, EK_RULES_YES},
    {"pods/star takes pods too",
     "{\"resourceRules\":[" RULE("\"*\"", "\"*\"", "\"*\"", "\"pods/*\"") "]}",
     REQUEST("", "v1", "pods", "", "prod", "UPDATE", ""), PROD, EK_RULES_YES},
    {"star/status", "{\"resourceRules\":[" RULE("\"*\"", "\"*\"", "\"*\"", "\"*/status\"") "]}",
     REQUEST("", "v1", "pods", "status", "prod", "UPDATE", ""), PROD, EK_RULES_YES},
    {"star/status is not scale",
     "{\"resourceRules\":[" RULE("\"*\"", "\"*\"", "\"*\"", "\"*/status\"") "]}",
     REQUEST("", "v1", "pods", "scale", "prod", "UPDATE", ""), PROD, EK_RULES_NO},
    {"excluded", "{\"resourceRules\":[" ALL "],\"excludeResourceRules\":[" DEPLOYMENTS "]}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"excluded for another operation",
     "{\"resourceRules\":[" ALL "],\"excludeResourceRules\":[" RULE(
         "\"DELETE\"", "\"apps\"", "\"v1\"", "\"deployments\"") "]}",
     CREATE_WEB(""), PROD, EK_RULES_YES},
    {"excluded, and no other rule", "{\"excludeResourceRules\":[" DEPLOYMENTS "]}", CREATE_WEB(""),
     PROD, EK_RULES_NO},
    {"not excluded, and no other rule", "{\"excludeResourceRules\":[" DEPLOYMENTS "]}",
     REQUEST("", "v1", "pods", "", "prod", "UPDATE", ""), PROD, EK_RULES_YES},
    {"named",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],\"apiVersions\":"
     "[\"*\"],\"resources\":[\"*\"],\"resourceNames\":[\"api\",\"web\"]}]}",
     CREATE_WEB(""), PROD, EK_RULES_YES},
    {"named otherwise",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],"
     "\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"resourceNames\":[\"api\"]}]}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"scope Namespaced",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],"
     "\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"scope\":\"Namespaced\"}]}",
     CREATE_WEB(""), PROD, EK_RULES_YES},
    {"scope Cluster",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],"
     "\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"scope\":\"Cluster\"}]}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"a Namespace is cluster-scoped",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],"
     "\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"scope\":\"Cluster\"}]}",
     REQUEST("", "v1", "namespaces", "", "prod", "CREATE", ""), NULL, EK_RULES_YES},
    {"a Namespace is not namespaced",
     "{\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],"
     "\"apiVersions\":[\"*\"],\"resources\":[\"*\"],\"scope\":\"Namespaced\"}]}",
     REQUEST("", "v1", "namespaces", "", "prod", "CREATE", ""), NULL, EK_RULES_NO},
    {"namespace labels fit", "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"prod\"}}}",
     CREATE_WEB(""), PROD, EK_RULES_YES},
    {"namespace labels don't fit", "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"a cluster-scoped object passes every namespace selector",
     "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}",
     REQUEST("", "v1", "nodes", "", "", "UPDATE", ""), NULL, EK_RULES_YES},
    {"a new Namespace by its own labels",
     "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}",
     REQUEST("", "v1", "namespaces", "", "prod", "UPDATE", LABELLED("{\"env\":\"dev\"}")), PROD,
     EK_RULES_YES},
    {"a namespace that is not known", "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}",
     CREATE_WEB(""), NULL, EK_RULES_ERROR},
    {"a namespace that is not known, for a request of no interest",
     "{\"resourceRules\":[" DEPLOYMENTS
     "],\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}}}",
     REQUEST("", "v1", "pods", "", "prod", "CREATE", ""), NULL, EK_RULES_NO},
    {"object labels fit", "{\"objectSelector\":{\"matchLabels\":{\"app\":\"web\"}}}",
     CREATE_WEB(LABELLED("{\"app\":\"web\"}")), PROD, EK_RULES_YES},
    {"object labels don't fit", "{\"objectSelector\":{\"matchLabels\":{\"app\":\"web\"}}}",
     CREATE_WEB(LABELLED("{\"app\":\"api\"}")), PROD, EK_RULES_NO},
    {"the old object's labels fit", "{\"objectSelector\":{\"matchLabels\":{\"app\":\"web\"}}}",
     CREATE_WEB(LABELLED("{}") ",\"oldObject\":{\"metadata\":{\"labels\":{\"app\":\"web\"}}}"),
     PROD, EK_RULES_YES},
    {"no object, no labels", "{\"objectSelector\":{\"matchLabels\":{\"app\":\"web\"}}}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"an operator that is none", "{\"namespaceSelector\":" LIKE "}", CREATE_WEB(""), PROD,
     EK_RULES_ERROR},
    {"a label that is none", "{\"objectSelector\":{\"matchLabels\":{\"a b\":\"c\"}}}",
     CREATE_WEB(""), PROD, EK_RULES_ERROR},
    {"a selector of another type", "{\"objectSelector\":[]}", CREATE_WEB(""), PROD, EK_RULES_ERROR},
    {"an operator that is none, for an object in no namespace", "{\"namespaceSelector\":" LIKE "}",
     REQUEST("", "v1", "nodes", "", "", "UPDATE", ""), NULL, EK_RULES_YES},
    {"an operator that is none, for a request of no interest",
     "{\"resourceRules\":[" DEPLOYMENTS "],\"objectSelector\":" LIKE "}",
     REQUEST("", "v1", "pods", "", "prod", "CREATE", ""), PROD, EK_RULES_NO},
    {"an operator that is none, for what is excluded",
     "{\"excludeResourceRules\":[" DEPLOYMENTS "],\"objectSelector\":" LIKE "}", CREATE_WEB(""),
     PROD, EK_RULES_NO},
    {"an operator that is none, in another namespace",
     "{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"dev\"}},\"objectSelector\":" LIKE "}",
     CREATE_WEB(""), PROD, EK_RULES_NO},
    {"an operator that is none, for other objects",
     "{\"namespaceSelector\":" LIKE ",\"objectSelector\":{\"matchLabels\":{\"app\":\"web\"}}}",
     CREATE_WEB(LABELLED("{\"app\":\"api\"}")), PROD, EK_RULES_NO},
};

static yyjson_doc *parse(const char *json)
{
    return json ? ek_json_parse(json, strlen(json), NULL) : NULL;
}

START_TEST(requests_are_matched)
{
    yyjson_doc *rules_doc = parse(rows[_i].rules), *request_doc = parse(rows[_i].request);
    yyjson_doc *namespace_doc = parse(rows[_i].namespace);
    EK_AUTOPTR(ek_rules, ek_rules_free) *rules = ek_rules_new(yyjson_doc_get_root(rules_doc));
    struct ek_admission_request request;
    struct ek_gvr resource;
    struct ek_gvk kind;

    ck_assert_msg(!rows[_i].rules || rules_doc, "%s: the rules are no JSON", rows[_i].name);
    ck_assert_msg(!ek_admission_request_read(yyjson_doc_get_root(request_doc), &request, NULL),
                  "%s: the request is none", rows[_i].name);
    yyjson_doc_free(rules_doc); /* rules keep what they need */
    enum ek_rules_answer got = ek_rules_match(rules, &request, yyjson_doc_get_root(namespace_doc),
                                              NULL, &resource, &kind, NULL);
    ck_assert_msg(got == rows[_i].want, "%s: %d instead of %d", rows[_i].name, (int)got,
                  (int)rows[_i].want);
    yyjson_doc_free(request_doc);
    yyjson_doc_free(namespace_doc);
}
END_TEST

static void beta_deployments(void *arg, const struct ek_gvr *resource, const char *subresource,
                             bool (*fn)(void *fn_arg, const struct ek_gvr *other,
                                        const struct ek_gvk *kind),
                             void *fn_arg)
{
    static const struct ek_gvr others[] = {{"apps", "v1beta1", "deployments"},
                                           {"apps", "v1", "deployments"}};
    static const struct ek_gvk kinds[] = {{"apps", "v1beta1", "Deployment"},
                                          {"apps", "v1", "Deployment"}};

    (void)arg;
    ck_assert_str_eq(resource->group, "extensions");
    ck_assert_str_eq(subresource, "");
    for (size_t i = 0; i < EK_ARRAY_SIZE(others); i++)
        if (fn(fn_arg, &others[i], &kinds[i]))
            return;
}

START_TEST(equivalent_resources_match_unless_exact)
{
    static const char *const texts[] = {"{\"resourceRules\":[" DEPLOYMENTS "]}",
                                        "{\"resourceRules\":[" DEPLOYMENTS
                                        "],\"matchPolicy\":\"Exact\"}"};
    static const struct ek_equivalents equivalents = {beta_deployments, NULL};
    yyjson_doc *request_doc =
        parse(REQUEST("extensions", "v1beta1", "deployments", "", "prod", "CREATE", ""));
    struct ek_admission_request request;

    ck_assert_int_eq(ek_admission_request_read(yyjson_doc_get_root(request_doc), &request, NULL),
                     0);
    for (size_t i = 0; i < 2; i++) {
        yyjson_doc *doc = parse(texts[i]);
        EK_AUTOPTR(ek_rules, ek_rules_free) *rules = ek_rules_new(yyjson_doc_get_root(doc));
        struct ek_gvr resource;
        struct ek_gvk kind;
        yyjson_doc_free(doc);
        enum ek_rules_answer got =
            ek_rules_match(rules, &request, NULL, &equivalents, &resource, &kind, NULL);
        ck_assert_int_eq(got, i == 0 ? EK_RULES_YES : EK_RULES_NO);
        if (i == 0) {
            ck_assert_str_eq(resource.version, "v1");
            ck_assert_str_eq(kind.group, "apps");
        }
    }
    yyjson_doc_free(request_doc);
}
END_TEST

/* What a match fails with: rules (NULL: no matchConstraints) and a request. */
static void expect_error(const struct ek_rules *rules, const char *want)
{
    yyjson_doc *request_doc = parse(CREATE_WEB("")), *namespace_doc = parse(PROD);
    struct ek_admission_request request;
    struct ek_gvr resource;
    struct ek_gvk kind;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_admission_request_read(yyjson_doc_get_root(request_doc), &request, NULL),
                     0);
    ck_assert_int_eq(ek_rules_match(rules, &request, yyjson_doc_get_root(namespace_doc), NULL,
                                    &resource, &kind, &err),
                     EK_RULES_ERROR);
    ck_assert_int_eq(err.code, EK_E_INVAL);
    ck_assert_msg(strstr(err.message, want) == err.message, "%s", err.message);
    yyjson_doc_free(request_doc);
    yyjson_doc_free(namespace_doc);
}

START_TEST(a_bad_selector_is_named)
{
    yyjson_doc *doc = parse("{\"namespaceSelector\":{\"matchLabels\":{\"env\":\"prod\"}},"
                            "\"objectSelector\":" LIKE "}");
    EK_AUTOPTR(ek_rules, ek_rules_free) *rules = ek_rules_new(yyjson_doc_get_root(doc));

    yyjson_doc_free(doc);
    expect_error(rules, "objectSelector: matchExpressions[0]: operator: ");
    expect_error(NULL, "policy contained no match constraints, a required field");
    /* No configuration of webhooks may have it. */
    ck_assert_ptr_null(yyjson_obj_get(ek_rules_root(rules), "objectSelector"));
    ck_assert_ptr_nonnull(yyjson_obj_get(ek_rules_root(rules), "namespaceSelector"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rules");
    tcase_add_loop_test(tc, requests_are_matched, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, equivalent_resources_match_unless_exact);
    tcase_add_test(tc, a_bad_selector_is_named);
    return ek_test_run("rules", tc);
}
