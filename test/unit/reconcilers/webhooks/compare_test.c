/* SPDX-License-Identifier: Apache-2.0 */
/* A webhook configuration as it should be beside that of the cluster, by row. */
#include <check.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/webhooks/compare.h"
#include "test/support/suite.h"

static yyjson_doc *parse(const char *yaml)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(yaml, strlen(yaml), 1 << 20, &doc, &err) == 0, "%s: %s", yaml,
                  err.message);
    return doc;
}

/* "UEVN" is "PEM". */
#define HOOK(name, more)                                                                           \
    "{name: " name ", clientConfig: {caBundle: UEVN, url: 'https://a'}, failurePolicy: Fail, "     \
    "namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 5" more "}"
#define META             "metadata: {labels: {a: b}}"
#define CONTENT(hooks)   "{" META ", webhooks: [" hooks "]}"
#define ONE              CONTENT(HOOK("x", ""))
#define TWO              CONTENT(HOOK("x", "") ", " HOOK("z", ""))
#define TURNED           CONTENT(HOOK("z", "") ", " HOOK("x", ""))
#define WITH(name, more) CONTENT(HOOK(name, more))
#define COND             ", matchConditions: [{name: c, expression: 'true'}]"

static const struct {
    const char *name, *content, *live; /* YAML; live NULL: there is none */
    bool in_order, current;
} rows[] = {
    {"the same", ONE, ONE, true, true},
    {"the same, in any order", TWO, TWO, false, true},
    {"not there", ONE, NULL, true, false},
    {"nothing is required, nothing there", CONTENT(""), NULL, true, true},
    {"nothing is required, an empty one", CONTENT(""), CONTENT(""), true, true},
    {"nothing is required, no list", CONTENT(""), "{metadata: {}}", true, true},
    {"nothing is required, but there", CONTENT(""), ONE, true, false},
    {"another order, which counts", TWO, TURNED, true, false},
    {"another order, which does not", TWO, TURNED, false, true},
    {"one too few", TWO, ONE, false, false},
    {"one too many", ONE, TWO, false, false},
    {"one too many, in order", ONE, TWO, true, false},
    {"another in its place", ONE, CONTENT(HOOK("z", "")), false, false},
    {"twice the same", TWO, CONTENT(HOOK("x", "") ", " HOOK("x", "")), false, false},
    {"what servers add", ONE,
     "{apiVersion: v1, " META
     ", webhooks: [" HOOK("x", ", matchPolicy: Equivalent, rules: [1]") "]}",
     true, true},
    {"labels of others", ONE, "{metadata: {labels: {a: b, c: d}}, webhooks: [" HOOK("x", "") "]}",
     true, true},
    {"another label", ONE, "{metadata: {labels: {a: c}}, webhooks: [" HOOK("x", "") "]}", true,
     false},
    {"no label", ONE, "{metadata: {}, webhooks: [" HOOK("x", "") "]}", true, false},
    {"another number", WITH("x", ", n: 1"), WITH("x", ", n: 2"), true, false},
    {"another type", WITH("x", ", n: 1"), WITH("x", ", n: '1'"), true, false},
    {"another bool", WITH("x", ", n: true"), WITH("x", ", n: false"), true, false},
    {"another text", WITH("x", ", n: a"), WITH("x", ", n: b"), true, false},
    {"a list with an item more", WITH("x", ", n: [1]"), WITH("x", ", n: [1, 2]"), true, false},
    {"a list in another order", WITH("x", ", n: [1, 2]"), WITH("x", ", n: [2, 1]"), true, false},
    {"a condition of somebody else", ONE, WITH("x", COND), true, false},
    {"a condition that is gone", WITH("x", COND), ONE, true, false},
    {"a selector of somebody else", ONE,
     CONTENT("{name: x, clientConfig: {caBundle: UEVN, url: 'https://a'}, failurePolicy: Fail, "
             "namespaceSelector: {}, objectSelector: {matchLabels: {a: b}}, timeoutSeconds: 5}"),
     true, false},
    {"namespaces of somebody else", ONE,
     CONTENT("{name: x, clientConfig: {caBundle: UEVN, url: 'https://a'}, failurePolicy: Fail, "
             "namespaceSelector: {matchLabels: {a: b}}, objectSelector: {}, timeoutSeconds: 5}"),
     false, false},
    {"no object", ONE, "7", true, false},
    {"no list", ONE, "{" META ", webhooks: 7}", false, false},
};

START_TEST(compares)
{
    yyjson_doc *wanted = parse(rows[_i].content);
    yyjson_doc *live = rows[_i].live ? parse(rows[_i].live) : NULL;
    yyjson_mut_doc *content = yyjson_doc_mut_copy(wanted, &ek_json_xalc);
    struct ek_webhooks_standing got = ek_webhooks_compare(
        yyjson_mut_doc_get_root(content), yyjson_doc_get_root(live), "PEM", rows[_i].in_order);

    ck_assert_msg(got.current == rows[_i].current, "%s", rows[_i].name);
    ck_assert_msg(got.empty == !strcmp(rows[_i].content, CONTENT("")), "%s: empty", rows[_i].name);
    yyjson_mut_doc_free(content);
    yyjson_doc_free(live);
    yyjson_doc_free(wanted);
}
END_TEST

#define CARRIES(bundle) "{name: x, clientConfig: {" bundle "}}"

static const struct {
    const char *name, *live, *bundle;
    bool carries;
} bundles[] = {
    {"all", CONTENT(HOOK("x", "") ", " HOOK("z", "")), "PEM", true},
    {"another", CONTENT(HOOK("x", "")), "PEM2", false},
    {"one with another", CONTENT(HOOK("x", "") ", " CARRIES("caBundle: eA==")), "PEM", false},
    {"one with none", CONTENT(HOOK("x", "") ", " CARRIES("")), "PEM", false},
    {"no webhooks", CONTENT(""), "PEM", true},
    {"no configuration", NULL, "PEM", true},
    {"nothing to carry", CONTENT(HOOK("x", "")), NULL, true},
};

START_TEST(looks_for_the_bundle)
{
    yyjson_doc *live = bundles[_i].live ? parse(bundles[_i].live) : NULL;
    struct ek_webhooks_standing got =
        ek_webhooks_compare(NULL, yyjson_doc_get_root(live), bundles[_i].bundle, false);

    ck_assert_msg(got.carries == bundles[_i].carries, "%s", bundles[_i].name);
    yyjson_doc_free(live);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, compares, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, looks_for_the_bundle, 0, EK_ARRAY_SIZE(bundles));
    return ek_test_run("webhook comparison", tc);
}
