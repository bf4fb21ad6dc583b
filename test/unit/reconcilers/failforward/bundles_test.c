/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions that a catalog brings, and how far its edges lead. */
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/failforward/bundles.h"
#include "test/support/suite.h"

#define LIMIT ((size_t)1 << 20)

#define CRD(version)                                                                               \
    "{\"apiVersion\":\"apiextensions.k8s.io/" version "\",\"kind\":\"CustomResourceDefinition\","  \
    "\"metadata\":{\"name\":\"things.g.test\"},\"spec\":{\"versions\":[{\"name\":\"v1\","          \
    "\"served\":true},{\"name\":\"v2\",\"served\":false}]}}"

/* Of a bundle: its objects (NULL ends), and what is known of it. */
static const struct {
    const char *name, *objects[3], *unknown;
    size_t n_definitions;
} rows[] = {
    {"a definition", {CRD("v1"), NULL}, NULL, 1},
    {"two, and a CSV", {CRD("v1"), "{\"kind\":\"ClusterServiceVersion\"}", CRD("v1")}, NULL, 2},
    {"no definition", {"{\"kind\":\"ClusterServiceVersion\"}", NULL}, NULL, 0},
    {"no object",
     {NULL},
     "the catalog does not have the objects of the bundle (olm.bundle.object)",
     0},
    {"another version",
     {CRD("v1beta1"), NULL},
     "the bundle has a definition of another version than v1",
     0},
    {"no JSON", {"kind: x", NULL}, "an object of the bundle is no JSON", 0},
};

static struct ek_ff_bundles *read(const char *text, int rc)
{
    struct ek_ff_bundles *bundles = NULL;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_ff_bundles_read(text, strlen(text), LIMIT, &bundles, &err), rc);
    ck_assert(!rc == (bundles != NULL));
    return bundles;
}

START_TEST(definitions_are_read)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, LIMIT);
    ek_buf_puts(&text,
                "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p.v1\",\"properties\":["
                "{\"type\":\"olm.package\",\"value\":{\"version\":\"1.0.0\"}}");
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows[_i].objects) && rows[_i].objects[i]; i++) {
        EK_AUTOFREE char *data = ek_base64_encode(rows[_i].objects[i], strlen(rows[_i].objects[i]));
        ek_buf_printf(&text, ",{\"type\":\"olm.bundle.object\",\"value\":{\"data\":\"%s\"}}", data);
    }
    ek_buf_puts(&text, "]}");
    struct ek_ff_bundles *bundles = read(ek_buf_str(&text), 0);
    const struct ek_ff_bundle *bundle = ek_ff_bundles_find(bundles, "p", "p.v1");
    ck_assert_ptr_nonnull(bundle);
    ck_assert_msg(!rows[_i].unknown == !bundle->unknown, "%s", rows[_i].name);
    ck_assert_pstr_eq(bundle->unknown, rows[_i].unknown);
    ck_assert_uint_eq(bundle->n_definitions, rows[_i].n_definitions);
    ck_assert_ptr_null(ek_ff_bundles_find(bundles, "q", "p.v1"));
    for (size_t i = 0; i < bundle->n_definitions; i++) {
        ck_assert(ek_ff_serves(bundle->definitions[i], "v1"));
        ck_assert(!ek_ff_serves(bundle->definitions[i], "v2"));
        ck_assert(!ek_ff_serves(bundle->definitions[i], "v3"));
    }
    ek_ff_bundles_free(bundles);
}
END_TEST

/* Names with blanks are not those of another pair; of two of one name the last one counts. */
START_TEST(bundles_are_found_by_package_and_name)
{
    struct ek_ff_bundles *bundles = read(
        "{\"schema\":\"olm.bundle\",\"package\":\"a 1\",\"name\":\"b\"}"
        "{\"schema\":\"olm.bundle\",\"package\":\"a\",\"name\":\"c\",\"properties\":[{\"type\":"
        "\"olm.bundle.object\",\"value\":{\"data\":\"e30=\"}}]}"
        "{\"schema\":\"olm.bundle\",\"package\":\"a\",\"name\":\"c\"}",
        0);

    ck_assert_ptr_null(ek_ff_bundles_find(bundles, "a", "1 b"));
    ck_assert_ptr_nonnull(ek_ff_bundles_find(bundles, "a 1", "b"));
    ck_assert_ptr_nonnull(ek_ff_bundles_find(bundles, "a", "c")->unknown);
    ek_ff_bundles_free(bundles);
}
END_TEST

START_TEST(bad_texts_are_errors)
{
    read("{\"schema\":", EK_E_PARSE);
    struct ek_ff_bundles *bundles = NULL;
    ck_assert_int_eq(ek_ff_bundles_read("{\"a\":1}", 7, 6, &bundles, NULL), EK_E_LIMIT);
    EK_AUTOFREE char *data = ek_base64_encode(CRD("v1"), strlen(CRD("v1")));
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"a\",\"properties\":[{\"type\":"
        "\"olm.bundle.object\",\"value\":{\"data\":\"%s\"}},{\"type\":\"olm.bundle.object\","
        "\"value\":{\"data\":\"%s\"}}]}",
        data, data);
    /* The text fits, the two objects together do not. */
    ck_assert_int_eq(
        ek_ff_bundles_read(text, strlen(text), 2 * strlen(CRD("v1")) - 1, &bundles, NULL),
        EK_E_LIMIT);
}
END_TEST

#define CHANNEL(entries)                                                                           \
    "schema: olm.package\nname: p\ndefaultChannel: c\n---\nschema: olm.channel\npackage: "         \
    "p\nname: "                                                                                    \
    "c\nentries: [" entries "]\n"

static const struct {
    const char *entries, *from, *route;
} routes[] = {
    {"{name: v1}, {name: v2, replaces: v1}, {name: v3, replaces: v2}", "v1", "v2 v3"},
    {"{name: v1}, {name: v2, replaces: v1}, {name: v3, replaces: v2}", "v3", ""},
    {"{name: v1}, {name: v2, replaces: v1}, {name: v3, replaces: v1, skips: [v2]}", "v2", "v3"},
    {"{name: v1}, {name: v2, replaces: v1}", "v0", ""},
};

START_TEST(edges_are_followed)
{
    EK_AUTOFREE char *text = ek_xasprintf(CHANNEL("%s"), routes[_i].entries);
    struct ek_ff_graph *graph = ek_ff_graph_new(LIMIT);
    const struct ek_ff_from from = {
        .package = EK_STR("p"), .channel = EK_STR("c"), .name = ek_str_from(routes[_i].from)};
    struct ek_ff_route route;
    EK_AUTO(ek_buf) way;

    ek_buf_init(&way, EK_BUF_SMALL_MAX);
    ck_assert_int_eq(ek_ff_graph_read(graph, text, strlen(text), NULL), 0);
    ck_assert_int_eq(ek_ff_route_find(graph, &from, &route), 0);
    for (size_t i = 0; i < route.n; i++)
        ek_buf_printf(&way, "%s%s", i ? " " : "", route.hops[i]);
    ck_assert_str_eq(ek_buf_str(&way), routes[_i].route);
    ck_assert(!route.is_cut);
    ek_ff_graph_free(graph);
}
END_TEST

START_TEST(a_long_way_is_cut)
{
    EK_AUTO(ek_buf) entries;
    struct ek_ff_graph *graph = ek_ff_graph_new(LIMIT);
    const struct ek_ff_from from = {
        .package = EK_STR("p"), .channel = EK_STR("c"), .name = EK_STR("v0")};
    struct ek_ff_route route;

    ek_buf_init(&entries, LIMIT);
    ek_buf_puts(&entries, "{name: v0}");
    for (int i = 1; i <= EK_FF_HOPS_MAX + 1; i++)
        ek_buf_printf(&entries, ", {name: v%d, replaces: v%d}", i, i - 1);
    EK_AUTOFREE char *text = ek_xasprintf(CHANNEL("%s"), ek_buf_str(&entries));
    ck_assert_int_eq(ek_ff_graph_read(graph, text, strlen(text), NULL), 0);
    ck_assert_int_eq(ek_ff_route_find(graph, &from, &route), 0);
    ck_assert_uint_eq(route.n, EK_FF_HOPS_MAX);
    ck_assert(route.is_cut);
    ek_ff_graph_free(graph);
}
END_TEST

START_TEST(stored_versions_are_kept)
{
    yyjson_doc *crd = ek_json_parse(CRD("v1"), strlen(CRD("v1")), NULL);
    yyjson_doc *good = ek_json_parse("[\"v1\",\"v2\"]", 11, NULL);
    yyjson_doc *bad = ek_json_parse("[\"v1\",\"v0\"]", 11, NULL);

    ck_assert_ptr_null(ek_ff_lost_version(yyjson_doc_get_root(good), yyjson_doc_get_root(crd)));
    ck_assert_str_eq(ek_ff_lost_version(yyjson_doc_get_root(bad), yyjson_doc_get_root(crd)), "v0");
    ck_assert_ptr_null(ek_ff_lost_version(NULL, yyjson_doc_get_root(crd)));
    yyjson_doc_free(crd);
    yyjson_doc_free(good);
    yyjson_doc_free(bad);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("bundles");

    tcase_add_loop_test(tcase, definitions_are_read, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, bundles_are_found_by_package_and_name);
    tcase_add_test(tcase, bad_texts_are_errors);
    tcase_add_loop_test(tcase, edges_are_followed, 0, EK_ARRAY_SIZE(routes));
    tcase_add_test(tcase, a_long_way_is_cut);
    tcase_add_test(tcase, stored_versions_are_kept);
    return ek_test_run("bundles", tcase);
}
