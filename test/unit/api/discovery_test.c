/* SPDX-License-Identifier: Apache-2.0 */
#include "api/discovery.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

static void write_entries(const struct ek_discovery *set, struct ek_buf *out)
{
    size_t n;
    const struct ek_discovery_entry *e = ek_discovery_entries(set, &n);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "%s/%s/%s%s\n", e[i].group, e[i].version, e[i].resource,
                      e[i].stale ? " stale" : "");
}

static const struct {
    const char *name, *document, *expected;
    int code;
} aggregated[] = {
    {"one resource with a subresource",
     "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"apps\"},"
     "\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"deployments\","
     "\"responseKind\":{\"kind\":\"Deployment\"},\"subresources\":[{\"subresource\":\"scale\"}]}]}]"
     "}]}",
     "apps/v1/deployments\napps/v1/deployments/scale\n", 0},
    {"core group, stale version, kind absent",
     "{\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\","
     "\"resources\":[{\"resource\":\"pods\",\"responseKind\":{}}]}]}]}",
     "/v1/pods stale\n", 0},
    {"no responseKind: the subresource alone",
     "{\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v1\",\"resources\":["
     "{\"resource\":\"a\",\"subresources\":[{\"subresource\":\"b\"}]}]}]}]}",
     "g/v1/a/b\n", 0},
    {"a group version that was never read",
     "{\"items\":[{\"metadata\":{\"name\":\"m.io\"},\"versions\":[{\"version\":\"v1\","
     "\"freshness\":"
     "\"Stale\"},{\"version\":\"v2\",\"freshness\":\"Current\"},{\"version\":\"v3\",\"freshness\":"
     "\"Stale\",\"resources\":[]}]}]}",
     "m.io/v1/ stale\nm.io/v3/ stale\n", 0},
    {"twice the same",
     "{\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v1\",\"resources\":["
     "{\"resource\":\"a\",\"responseKind\":{}},{\"resource\":\"a\",\"responseKind\":{}}]}]}]}",
     "g/v1/a\n", 0},
    {"junk members",
     "{\"items\":[null,3,{\"versions\":[7,{\"version\":4},{\"version\":\"v1\",\"resources\":[{}]}]}"
     "]}",
     "", 0},
    {"empty", "{\"items\":[]}", "", 0},
    {"another kind", "{\"kind\":\"Status\",\"items\":[]}", "", EK_E_PARSE},
    {"legacy list", "{\"kind\":\"APIGroupList\",\"groups\":[]}", "", EK_E_UNSUPPORTED},
    {"legacy core list", "{\"kind\":\"APIVersions\",\"versions\":[]}", "", EK_E_UNSUPPORTED},
    {"not an object", "[1]", "", EK_E_PARSE},
};

static bool has_group_version(const struct ek_discovery *set, const char *group,
                              const char *version)
{
    size_t n;
    const struct ek_discovery_entry *e = ek_discovery_entries(set, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(e[i].group, group) && !strcmp(e[i].version, version))
            return true;
    return false;
}

START_TEST(reads_aggregated_documents)
{
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *set = ek_discovery_new();
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};
    const char *json = aggregated[_i].document;
    yyjson_doc *doc = ek_json_parse(json, strlen(json), &err);

    ek_buf_init(&out, 4096);
    ck_assert_ptr_nonnull(doc);
    int rc = ek_discovery_add_aggregated(set, yyjson_doc_get_root(doc), NULL, &err);
    yyjson_doc_free(doc);
    ek_discovery_seal(set);
    write_entries(set, &out);
    ck_assert_msg(rc == aggregated[_i].code, "%s: %d", aggregated[_i].name, rc);
    ck_assert_msg(!strcmp(ek_buf_str(&out), aggregated[_i].expected), "%s: got %s",
                  aggregated[_i].name, ek_buf_str(&out));
}
END_TEST

static yyjson_doc *recorded(const char *name)
{
    EK_AUTOFREE char *path =
        ek_xasprintf("%s/cluster/peers/cp-a/discovery/%s", EK_SHARED_DATA, name);
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
    ck_assert_msg(doc != NULL, "%s", path);
    return doc;
}

static void collect_path(void *ctx, const char *path)
{
    ek_buf_printf(ctx, "%s\n", path);
}

/* A server's aggregated document and its legacy lists say the same of each group version. */
START_TEST(legacy_and_aggregated_agree)
{
    static const char *const lists[] = {"api_v1.legacy.json", "apis_apps_v1.legacy.json",
                                        "apis_autoscaling_v2.legacy.json",
                                        "apis_coordination.k8s.io_v1.legacy.json"};
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *full = ek_discovery_new();
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *legacy = ek_discovery_new();
    enum ek_discovery_form form;
    size_t n_full, n_legacy, n_same = 0;

    static const char *const documents[] = {"api.v2.nopeer.json", "apis.v2.nopeer.json"};
    for (size_t i = 0; i < 2; i++) {
        yyjson_doc *doc = recorded(documents[i]);
        ck_assert_int_eq(ek_discovery_add_aggregated(full, yyjson_doc_get_root(doc), &form, NULL),
                         0);
        ck_assert_int_eq(form, EK_DISCOVERY_V2);
        yyjson_doc_free(doc);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(lists); i++) {
        yyjson_doc *doc = recorded(lists[i]);
        ck_assert_int_eq(ek_discovery_add_resource_list(legacy, yyjson_doc_get_root(doc), NULL), 0);
        yyjson_doc_free(doc);
    }
    ek_discovery_seal(full);
    ek_discovery_seal(legacy);
    const struct ek_discovery_entry *e = ek_discovery_entries(legacy, &n_legacy);
    ck_assert_uint_gt(n_legacy, 50);
    for (size_t i = 0; i < n_legacy; i++)
        ck_assert_msg(ek_discovery_has(full, e[i].group, e[i].version, e[i].resource),
                      "%s/%s/%s is missing", e[i].group, e[i].version, e[i].resource);
    const struct ek_discovery_entry *old = e;
    e = ek_discovery_entries(full, &n_full);
    for (size_t i = 0, k = 0; i < n_legacy; i++) {
        while (strcmp(old[i].group, e[k].group) != 0 || strcmp(old[i].version, e[k].version) != 0 ||
               strcmp(old[i].resource, e[k].resource) != 0)
            k++;
        for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
            ck_assert_msg(old[i].facets[f] == e[k].facets[f], "%s/%s/%s: facet %zu", e[k].group,
                          e[k].version, e[k].resource, f);
    }
    for (size_t i = 0; i < n_full; i++)
        if (has_group_version(legacy, e[i].group, e[i].version))
            n_same++;
    ck_assert_uint_eq(n_same, n_legacy);
}
END_TEST

START_TEST(names_the_paths_of_legacy_lists)
{
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};
    yyjson_doc *core = recorded("api.legacy.json"), *groups = recorded("apis.legacy.json");

    ek_buf_init(&out, 8192);
    ck_assert_int_eq(ek_discovery_legacy_paths(yyjson_doc_get_root(core), collect_path, &out, &err),
                     0);
    ck_assert_str_eq(ek_buf_str(&out), "/api/v1\n");
    ck_assert_int_eq(
        ek_discovery_legacy_paths(yyjson_doc_get_root(groups), collect_path, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "\n/apis/apps/v1\n"));
    yyjson_doc_free(core);
    yyjson_doc_free(groups);
    yyjson_doc *bad = yyjson_read("{}", 2, 0);
    ck_assert_int_eq(ek_discovery_legacy_paths(yyjson_doc_get_root(bad), collect_path, &out, &err),
                     EK_E_PARSE);
    yyjson_doc_free(bad);
}
END_TEST

START_TEST(carries_over_one_half)
{
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *set = ek_discovery_new();
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *half = ek_discovery_new();
    const char *json =
        "{\"items\":[{\"metadata\":{\"name\":\"\"},\"versions\":[{\"version\":\"v1\","
        "\"resources\":[{\"resource\":\"pods\",\"responseKind\":{}}]}]},"
        "{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v2\","
        "\"resources\":[{\"resource\":\"things\",\"responseKind\":{}}]}]}]}";
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    size_t n;

    ck_assert_int_eq(ek_discovery_add_aggregated(set, yyjson_doc_get_root(doc), NULL, NULL), 0);
    yyjson_doc_free(doc);
    ek_discovery_seal(set);
    ck_assert_int_eq(ek_discovery_add_from(half, set, true, NULL), 0);
    ek_discovery_seal(half);
    ek_discovery_entries(half, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert(ek_discovery_has(half, "", "v1", "pods"));
    ck_assert(!ek_discovery_has(half, "g", "v2", "things"));
    ck_assert(!has_group_version(half, "g", "v2"));
}
END_TEST

/* What takes memory without naming a resource is bounded as well: an arena that is driven far
 * beyond its limit ends the process. */
START_TEST(survives_names_without_resources)
{
    static const struct {
        const char *name, *before, *piece, *after;
        size_t n;
        int expected; /* after eight documents */
    } rows[] = {
        {"groups that are none", "{\"items\":[0", ",0", "]}", 1000000, 0},
        {"versions that are none", "{\"items\":[0", ",{\"versions\":[0]}", "]}", 600000,
         EK_E_LIMIT},
        {"a huge group", "{\"resources\":[],\"groupVersion\":\"", "xxxxxxxx", "/v1\"}", 1500000, 0},
    };

    EK_AUTOPTR(ek_discovery, ek_discovery_free) *set = ek_discovery_new();
    EK_AUTO(ek_buf) json;
    int rc = 0;
    ek_buf_init(&json, 1u << 30);
    ek_buf_puts(&json, rows[_i].before);
    for (size_t i = 0; i < rows[_i].n; i++)
        ek_buf_puts(&json, rows[_i].piece);
    ek_buf_puts(&json, rows[_i].after);
    yyjson_doc *doc = ek_json_parse(json.data, json.len, NULL);
    ck_assert_msg(doc != NULL, "%s", rows[_i].name);
    yyjson_val *root = yyjson_doc_get_root(doc);
    for (int i = 0; i < 8 && !rc; i++)
        rc = yyjson_obj_get(root, "items") ? ek_discovery_add_aggregated(set, root, NULL, NULL)
                                           : ek_discovery_add_resource_list(set, root, NULL);
    yyjson_doc_free(doc);
    ck_assert_msg(rc == rows[_i].expected, "%s: %d", rows[_i].name, rc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discovery");
    tcase_add_loop_test(tc, reads_aggregated_documents, 0, EK_ARRAY_SIZE(aggregated));
    tcase_add_test(tc, carries_over_one_half);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, survives_names_without_resources, 0, 3);
    if (access(EK_SHARED_DATA "/cluster", R_OK) == 0) {
        tcase_add_test(tc, legacy_and_aggregated_agree);
        tcase_add_test(tc, names_the_paths_of_legacy_lists);
    } else {
        printf("no recorded cluster in %s: its cases are not run\n", EK_SHARED_DATA);
    }
    return ek_test_run("discovery", tc);
}
