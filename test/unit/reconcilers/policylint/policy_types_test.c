/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds a policy is checked against, by the resources that its rules name, and when. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/policylint/policy_types.h"
#include "test/support/suite.h"

/* ---- Schemas ---- */

/* A kind with one field of spec. */
#define KIND(group, version, kind, field)                                                          \
    "\"" group "." kind "\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","   \
    "\"properties\":{\"" field "\":{\"type\":\"integer\"}}}},\"x-kubernetes-group-version-kind\":" \
    "[{\"group\":\"" group "\",\"version\":\"" version "\",\"kind\":\"" kind "\"}]}"
#define DOCUMENT(kinds) "{\"components\":{\"schemas\":{" kinds "}}}"

static const struct {
    const char *group, *version, *document;
} documents[] = {
    {"apps", "v1",
     DOCUMENT(KIND("apps", "v1", "Deployment", "x") "," KIND("apps", "v1", "Gateway", "x") "," KIND(
         "meta", "v1", "Options", "x"))},
    {"apps", "v2", DOCUMENT(KIND("apps", "v2", "Deployment", "y"))},
    {"net", "v1",
     DOCUMENT(
         KIND("net", "v1", "Ingress", "x") "," KIND("net", "v1", "NetworkPolicy", "x") "," KIND(
             "net", "v1", "Endpoints", "x") "," KIND("net", "v1", "Params", "x"))},
};

#define N_DOCUMENTS EK_ARRAY_SIZE(documents)

static struct ek_schema *compiled[N_DOCUMENTS];
static struct ek_types_schema items[N_DOCUMENTS];
static struct ek_types_schemas schemas = {.items = items, .n = N_DOCUMENTS, .version = 1};

static void setup(void)
{
    struct ek_err err = {0};

    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        yyjson_doc *doc = yyjson_read(documents[i].document, strlen(documents[i].document), 0);
        ck_assert_ptr_nonnull(doc);
        ck_assert_msg(!ek_schema_compile(yyjson_doc_get_root(doc), &compiled[i], &err), "%s",
                      err.message);
        items[i] = (struct ek_types_schema){documents[i].group, documents[i].version, compiled[i]};
        yyjson_doc_free(doc);
    }
    schemas.version = 1;
}

static void teardown(void)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++)
        ek_schema_unref(compiled[i]);
}

/* ---- Rows ---- */

static const struct row {
    const char *name;
    const char *groups, *versions, *resources; /* JSON lists */
    const char *text;                          /* the condition; NULL: object.spec.z == 1 */
    const char *params;                        /* apiVersion and kind of paramKind; NULL: none */
    bool unchecked;
    const char *want; /* the kinds that a finding is about, or a part of its message */
} rows[] = {
    {"its kind", "['apps']", "['v1']", "['deployments']", NULL, NULL, false, "Deployment"},
    {"by any group", "['*']", "['v1']", "['deployments']", NULL, NULL, false, "apps/v1 Deployment"},
    {"by any version", "['apps']", "['*']", "['deployments']", "object.spec.x == 1", NULL, false,
     "apps/v2 Deployment"},
    {"another version", "['apps']", "['v2']", "['deployments']", "object.spec.y == 1", NULL, false,
     ""},
    {"another group", "['batch']", "['v1']", "['deployments']", NULL, NULL, true, ""},
    {"any resource is no kind", "['apps']", "['v1']", "['*']", NULL, NULL, true, ""},
    {"a subresource is no kind", "['apps']", "['v1']", "['deployments/scale']", NULL, NULL, true,
     ""},
    {"a plural in -es", "['net']", "['v1']", "['ingresses']", NULL, NULL, false, "Ingress"},
    {"a plural in -ies", "['net']", "['v1']", "['networkpolicies']", NULL, NULL, false,
     "NetworkPolicy"},
    {"a plural that is the kind", "['net']", "['v1']", "['endpoints']", NULL, NULL, false,
     "Endpoints"},
    {"a guess as Kubernetes makes it", "['apps']", "['v1']", "['gatewaies']", NULL, NULL, false,
     "Gateway"},
    {"which is not every plural", "['apps']", "['v1']", "['gateways']", NULL, NULL, true, ""},
    {"kinds of other groups in a document", "['*']", "['v1']", "['optionses']", NULL, NULL, true,
     ""},
    {"a field that is there", "['apps']", "['v1']", "['deployments']", "object.spec.x == 1", NULL,
     false, ""},
    {"params", "['apps']", "['v1']", "['deployments']", NULL, "net/v1 Params", false, "Deployment"},
    {"a misspelt field of params", "['apps']", "['v1']", "['deployments']", "params.spec.q == 1",
     "net/v1 Params", false, "\"spec\" has no field \"q\""},
    {"params of a kind that is not known", "['apps']", "['v1']", "['deployments']",
     "params.spec.q == 1", "net/v2 Params", false, ""},
};

static const struct ek_policy *make_policy(const struct row *row)
{
    char text[2048], params[128] = "";
    struct ek_err err = {0};
    struct ek_obj *obj = NULL;

    if (row->params)
        snprintf(params, sizeof params, "'paramKind':{'apiVersion':'%.*s','kind':'%s'},",
                 (int)strcspn(row->params, " "), row->params, strchr(row->params, ' ') + 1);
    snprintf(text, sizeof text,
             "{'apiVersion':'evenkeel.dev/v1alpha1','kind':'MutatingAdmissionPolicy','metadata':"
             "{'name':'p'},'spec':{%s'reinvocationPolicy':'Never','matchConstraints':{"
             "'resourceRules':[{'operations':['CREATE'],'apiGroups':%s,'apiVersions':%s,"
             "'resources':%s}]},'variables':[{'name':'v','expression':'%s'}],'mutations':[{"
             "'patchType':'ApplyConfiguration','applyConfiguration':{'expression':'Object{}'}}]}}",
             params, row->groups, row->versions, row->resources,
             row->text ? row->text : "object.spec.z == 1");
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    ck_assert_msg(!ek_obj_parse(text, strlen(text), &obj, &err), "%s: %s", row->name, err.message);
    const struct ek_policy *policy = ek_policy_new(obj, 0);
    ck_assert_msg(policy->n_problems == 0, "%s: %s", row->name,
                  policy->n_problems ? policy->problems[0] : "");
    ek_obj_unref(obj);
    return policy;
}

START_TEST(checks)
{
    const struct row *row = &rows[_i];
    const struct ek_policy *policy = make_policy(row);
    struct ek_policy_types types = {0};

    ek_policy_types_check(policy, &schemas, &types);
    ck_assert(types.made);
    ck_assert_msg(types.checked == !row->unchecked, "%s: checked", row->name);
    ck_assert_msg((types.n_findings > 0) == (*row->want != '\0'), "%s: %zu findings, %s", row->name,
                  types.n_findings, types.n_findings ? types.findings[0].message : "");
    if (types.n_findings)
        ck_assert_msg(strstr(types.findings[0].kind, row->want) ||
                          strstr(types.findings[0].message, row->want),
                      "%s: %s: %s", row->name, types.findings[0].kind, types.findings[0].message);
    ek_policy_types_done(&types);
    ek_policy_unref(policy);
}
END_TEST

/* A finding for some of the kinds alone is a warning. */
START_TEST(warnings)
{
    static const struct row one = {
        "one", "['apps']", "['v2']", "['deployments']", "object.spec.x == 1", NULL, false, ""};
    static const struct row two = {
        "two", "['apps']", "['*']", "['deployments']", "object.spec.x == 1", NULL, false, ""};
    const struct ek_policy *policies[] = {make_policy(&one), make_policy(&two)};

    for (int i = 0; i < 2; i++) {
        struct ek_policy_types types = {0};
        ek_policy_types_check(policies[i], &schemas, &types);
        ck_assert_uint_eq(types.n_findings, 1);
        ck_assert(types.findings[0].warning == (i == 1));
        ek_policy_types_done(&types);
        ek_policy_unref(policies[i]);
    }
}
END_TEST

/* A policy for more kinds than are checked is checked against the first of them. */
START_TEST(kinds_are_bounded)
{
    enum { MANY = EK_TYPECHECK_KINDS_MAX + 6 };
    struct ek_types_schema item = {"many", "v1", NULL};
    const struct ek_types_schemas all = {.items = &item, .n = 1, .version = 1};
    struct row row = {.name = "many", .groups = "['many']", .versions = "['v1']"};
    struct ek_policy_types types = {0};
    struct ek_err err = {0};
    struct ek_schema *schema = NULL;
    EK_AUTO(ek_buf) document, resources;

    ek_buf_init(&document, 1 << 16);
    ek_buf_init(&resources, 1 << 16);
    ek_buf_puts(&document, "{\"components\":{\"schemas\":{");
    for (int i = 0; i < MANY; i++) {
        ek_buf_printf(&document,
                      "%s\"many.K%02d\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
                      "\"object\",\"properties\":{\"%s\":{\"type\":\"integer\"}}}},"
                      "\"x-kubernetes-group-version-kind\":[{\"group\":\"many\",\"version\":\"v1\","
                      "\"kind\":\"K%02d\"}]}",
                      i ? "," : "", i, i < EK_TYPECHECK_KINDS_MAX ? "z" : "x", i);
        ek_buf_printf(&resources, "%s'k%02ds'", i ? "," : "[", i);
    }
    ek_buf_puts(&document, "}}}");
    ek_buf_puts(&resources, "]");
    row.resources = ek_buf_str(&resources);
    yyjson_doc *doc = yyjson_read(document.data, document.len, 0);
    ck_assert_msg(!ek_schema_compile(yyjson_doc_get_root(doc), &schema, &err), "%s", err.message);
    item.schema = schema;
    const struct ek_policy *policy = make_policy(&row);
    ek_policy_types_check(policy, &all, &types);
    ck_assert(types.checked);
    /* Only kinds beyond the bound do not have spec.z. */
    ck_assert_uint_eq(types.n_findings, 0);
    ek_policy_types_done(&types);
    ek_policy_unref(policy);
    ek_schema_unref(schema);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(is_due)
{
    static const struct {
        const char *name;
        struct ek_policy_types types;
        unsigned long version;
        bool due;
    } due_rows[] = {
        {"never made", {0}, 0, true},
        {"of these schemas", {.made = true, .version = 3}, 3, false},
        {"of these, without a schema", {.made = true, .version = 0}, 0, false},
        {"of older ones", {.made = true, .checked = true, .version = 2}, 3, true},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(due_rows); i++)
        ck_assert_msg(ek_policy_types_are_due(&due_rows[i].types, due_rows[i].version) ==
                          due_rows[i].due,
                      "%s", due_rows[i].name);
}
END_TEST

/* A result is replaced as a whole when the schemas change. */
START_TEST(made_anew)
{
    const struct ek_policy *policy = make_policy(&rows[0]);
    struct ek_policy_types types = {0};

    ek_policy_types_check(policy, &schemas, &types);
    ck_assert_uint_eq(types.n_findings, 1);
    ck_assert_uint_eq(types.version, 1);
    struct ek_types_schemas none = {.items = items, .n = 0, .version = 2};
    ck_assert(ek_policy_types_are_due(&types, none.version));
    ek_policy_types_check(policy, &none, &types);
    ck_assert(types.made && !types.checked);
    ck_assert_uint_eq(types.n_findings, 0);
    ck_assert_uint_eq(types.version, 2);
    ek_policy_types_done(&types);
    ek_policy_unref(policy);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, checks, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(t, warnings);
    tcase_add_test(t, kinds_are_bounded);
    tcase_add_test(t, is_due);
    tcase_add_test(t, made_anew);
    return ek_test_run("policy_types", t);
}
