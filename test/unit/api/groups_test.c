/* SPDX-License-Identifier: Apache-2.0 */
#include "api/groups.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

static const struct ek_api_version *version_of(const struct ek_api_group *group, const char *name)
{
    for (size_t i = 0; i < group->n; i++)
        if (!strcmp(group->versions[i].name, name))
            return &group->versions[i];
    return NULL;
}

#define DATA "cluster/peers/cp-a/discovery/"

static struct ek_api_groups *read_text(const char *json, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(json, strlen(json), NULL);

    ck_assert_ptr_nonnull(doc);
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, err);
    yyjson_doc_free(doc);
    return groups;
}

#define IN_RESOURCE(member) "{\"items\":[{\"versions\":[{\"resources\":[{" member "}]}]}]}"

/* The first value that does not fit, in the words of encoding/json. */
static const struct {
    const char *json, *message;
} bad[] = {
    {"[]", "json: cannot unmarshal array into Go value of type v2.APIGroupDiscoveryList"},
    {"{\"items\":{}}", "json: cannot unmarshal object into Go struct field "
                       "APIGroupDiscoveryList.items of type []v2.APIGroupDiscovery"},
    {"{\"items\":[1]}", "json: cannot unmarshal number into Go struct field "
                        "APIGroupDiscoveryList.items of type v2.APIGroupDiscovery"},
    {"{\"items\":[{\"metadata\":{\"name\":true}}]}",
     "json: cannot unmarshal bool into Go struct field ObjectMeta.items.metadata.name of type "
     "string"},
    {"{\"items\":[{\"versions\":\"v1\"}]}",
     "json: cannot unmarshal string into Go struct field APIGroupDiscovery.items.versions of type "
     "[]v2.APIVersionDiscovery"},
    {IN_RESOURCE("\"verbs\":\"get\""),
     "json: cannot unmarshal string into Go struct field "
     "APIResourceDiscovery.items.versions.resources.verbs of type []string"},
    {IN_RESOURCE("\"verbs\":[1]"),
     "json: cannot unmarshal number into Go struct field "
     "APIResourceDiscovery.items.versions.resources.verbs of type string"},
    {IN_RESOURCE("\"responseKind\":[]"),
     "json: cannot unmarshal array into Go struct field "
     "APIResourceDiscovery.items.versions.resources.responseKind of type v1.GroupVersionKind"},
    {IN_RESOURCE("\"scope\":1"), "json: cannot unmarshal number into Go struct field "
                                 "APIResourceDiscovery.items.versions.resources.scope of type "
                                 "v2.ResourceScope"},
    {IN_RESOURCE("\"subresources\":[1]"),
     "json: cannot unmarshal number into Go struct field "
     "APIResourceDiscovery.items.versions.resources.subresources of type "
     "v2.APISubresourceDiscovery"},
    {"{\"items\":[{\"versions\":[{\"freshness\":1}]}]}",
     "json: cannot unmarshal number into Go struct field APIVersionDiscovery.items.versions."
     "freshness of type v2.DiscoveryFreshness"},
    {"{\"metadata\":5,\"items\":[]}", "json: cannot unmarshal number into Go struct field "
                                      "APIGroupDiscoveryList.metadata of type v1.ListMeta"},
    {"{\"metadata\":{\"remainingItemCount\":\"a\"}}",
     "json: cannot unmarshal string into Go struct field ListMeta.metadata.remainingItemCount of "
     "type int64"},
    {"{\"items\":[{\"kind\":5}]}", "json: cannot unmarshal number into Go struct field "
                                   "APIGroupDiscovery.items.TypeMeta.kind of type string"},
    {"{\"items\":[{\"metadata\":{\"uid\":5}}]}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.items.metadata.uid of type "
     "types.UID"},
    {"{\"items\":[{\"metadata\":{\"labels\":[]}}]}",
     "json: cannot unmarshal array into Go struct field ObjectMeta.items.metadata.labels of type "
     "map[string]string"},
    {"{\"items\":[{\"metadata\":{\"finalizers\":[5]}}]}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.items.metadata.finalizers of "
     "type string"},
    {"{\"items\":[{\"metadata\":{\"generation\":18446744073709551615}}]}",
     "json: cannot unmarshal number 18446744073709551615 into Go struct field "
     "ObjectMeta.items.metadata.generation of type int64"},
    {"{\"items\":[{\"metadata\":{\"creationTimestamp\":\"x\"}}]}",
     "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse it"},
    {IN_RESOURCE("\"resource\":\"a\\u0000b\""),
     "items.versions.resources.resource contains a NUL character"},
};

START_TEST(bad_row)
{
    struct ek_err err = {0};

    ck_assert_ptr_null(read_text(bad[_i].json, &err));
    ck_assert_int_eq(err.code, EK_E_PARSE);
    ck_assert_str_eq(err.message, bad[_i].message);
}
END_TEST

/* What is written of a document; NULL: the same text. */
static const struct {
    const char *label, *json, *written;
} written[] = {
    {"null", "null", "{\"metadata\":{},\"items\":null}"},
    {"no items", "{}", "{\"metadata\":{},\"items\":null}"},
    {"empty", "{\"metadata\":{},\"items\":[]}", NULL},
    {"a null group", "{\"items\":[null]}", "{\"metadata\":{},\"items\":[{\"metadata\":{}}]}"},
    {"other members are dropped",
     "{\"items\":[{\"metadata\":{\"name\":\"a\",\"other\":1,\"creationTimestamp\":null},\"x\":{},"
     "\"versions\":[]}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}"},
    {"metadata in the order of Go",
     "{\"items\":[{\"metadata\":{\"labels\":{\"b\":\"2\",\"a\":\"1\"},\"generation\":3,"
     "\"finalizers\":[\"f\"],\"name\":\"a\",\"uid\":\"\"}}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\",\"generation\":3,\"labels\":{"
     "\"a\":\"1\",\"b\":\"2\"},\"finalizers\":[\"f\"]}}]}"},
    {"the type of an item", "{\"items\":[{\"kind\":\"K\",\"apiVersion\":\"g/v\",\"metadata\":{}}]}",
     "{\"metadata\":{},\"items\":[{\"kind\":\"K\",\"apiVersion\":\"g/v\",\"metadata\":{}}]}"},
    {"times in UTC, and a pointer to 0",
     "{\"items\":[{\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05.5+02:00\","
     "\"deletionGracePeriodSeconds\":0,\"generation\":0}}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{\"creationTimestamp\":\"2026-01-02T01:04:05Z\","
     "\"deletionGracePeriodSeconds\":0}}]}"},
    {"absent lists",
     "{\"items\":[{\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"r\","
     "\"shortNames\":[],\"subresources\":[{\"subresource\":\"s\"}]}]}]}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":"
     "[{"
     "\"resource\":\"r\",\"scope\":\"\",\"singularResource\":\"\",\"verbs\":null,\"subresources\":["
     "{"
     "\"subresource\":\"s\",\"verbs\":null}]}]}]}]}"},
    {"escapes",
     "{\"items\":[{\"versions\":[{\"version\":\"<&>"
     "\\u2028\\u2029\\u0001\\b\\f\\n\\r\\t\\\"\\\\\\u00e9/\"}]}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{},\"versions\":[{\"version\":"
     "\"\\u003c\\u0026\\u003e\\u2028\\u2029\\u0001\\b\\f\\n\\r\\t\\\"\\\\\xc3\xa9/\"}]}]}"},
};

START_TEST(written_row)
{
    struct ek_err err = {0};
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups = read_text(written[_i].json, &err);
    struct ek_buf out;

    ck_assert_msg(groups != NULL, "%s: %s", written[_i].label, err.message);
    ek_buf_init(&out, 10000);
    ck_assert_int_eq(ek_api_write_aggregated(&out, &groups->list, NULL), 0);
    ck_assert_msg(
        !strcmp(ek_buf_str(&out), written[_i].written ? written[_i].written : written[_i].json),
        "%s: %s", written[_i].label, ek_buf_str(&out));
    ek_buf_done(&out);
}
END_TEST

/* ---- Recorded documents of one server, in both forms ---- */

static yyjson_doc *recorded(const char *name, struct ek_buf *ret_text)
{
    char *path = ek_xasprintf("%s/" DATA "%s", EK_TEST_DATA, name);
    FILE *file = fopen(path, "r");
    char chunk[4096];
    struct ek_err err = {0};

    ck_assert_msg(file != NULL, "%s", path);
    ek_buf_init(ret_text, 1 << 20);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        ek_buf_append(ret_text, chunk, n);
    fclose(file);
    ek_free(path);
    yyjson_doc *doc = ek_json_parse(ek_buf_str(ret_text), ret_text->len, &err);
    ck_assert_msg(doc != NULL, "%s", err.message);
    return doc;
}

static struct ek_api_groups *recorded_groups(const char *name)
{
    struct ek_buf text;
    yyjson_doc *doc = recorded(name, &text);
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, NULL);

    ck_assert_ptr_nonnull(groups);
    yyjson_doc_free(doc);
    ek_buf_done(&text);
    return groups;
}

/* The text without storageVersionHash, which aggregated documents do not have. */
static char *without_hashes(const char *text)
{
    static const char member[] = ",\"storageVersionHash\":\"";
    struct ek_buf out;

    ek_buf_init(&out, 1 << 20);
    for (const char *at; (at = strstr(text, member));) {
        ek_buf_append(&out, text, (size_t)(at - text));
        text = strchr(at + sizeof member - 1, '"') + 1;
    }
    ek_buf_puts(&out, text);
    return ek_buf_steal(&out);
}

static const struct ek_api_group *group_of(const struct ek_api_groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->list.n; i++)
        if (!strcmp(groups->list.groups[i].name, name))
            return &groups->list.groups[i];
    ck_abort_msg("no group %s", name);
    return NULL;
}

static const struct {
    const char *aggregated, *group, *version, *plain;
} plains[] = {
    {"api.v2.nopeer.json", "", "v1", "api_v1.legacy.json"},
    {"apis.v2.nopeer.json", "apps", "v1", "apis_apps_v1.legacy.json"},
    {"apis.v2.nopeer.json", "autoscaling", "v2", "apis_autoscaling_v2.legacy.json"},
};

/* The plain list that is made of an aggregated document is the one that the server itself gives. */
START_TEST(plain_row)
{
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups = recorded_groups(plains[_i].aggregated);
    const struct ek_api_group *group = group_of(groups, plains[_i].group);
    struct ek_buf text, out;

    yyjson_doc_free(recorded(plains[_i].plain, &text));
    char *expected = without_hashes(ek_buf_str(&text));
    ek_buf_init(&out, 1 << 20);
    ek_api_write_resources(&out, group, version_of(group, plains[_i].version));
    ek_buf_puts(&out, "\n");
    ck_assert_str_eq(ek_buf_str(&out), expected);
    ek_free(expected);
    ek_buf_done(&out);
    ek_buf_done(&text);
}
END_TEST

START_TEST(writes_the_lists_of_a_server)
{
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups = recorded_groups("apis.v2.nopeer.json");
    struct ek_buf text, out;

    yyjson_doc_free(recorded("apis_coordination.k8s.io.legacy.json", &text));
    ek_buf_init(&out, 1 << 20);
    ek_api_write_group(&out, group_of(groups, "coordination.k8s.io"));
    ek_buf_puts(&out, "\n");
    ck_assert_str_eq(ek_buf_str(&out), ek_buf_str(&text));
    ek_buf_done(&text);
    ek_buf_reset(&out);
    /* The group list of a server also names what only APIServices name: here they agree. */
    yyjson_doc_free(recorded("apis.legacy.json", &text));
    ek_api_write_group_list(&out, &groups->list);
    ek_buf_puts(&out, "\n");
    ck_assert_str_eq(ek_buf_str(&out), ek_buf_str(&text));
    ek_buf_done(&text);
    ek_buf_done(&out);
}
END_TEST

/* A server without aggregated discovery: its lists become the document that it would give. */
START_TEST(converts_plain_lists)
{
    struct ek_api_legacy *legacy = ek_api_legacy_new();
    struct ek_buf text, out, expected;

    for (size_t i = 0; i < 2; i++) {
        yyjson_doc *doc = recorded(i ? "apis.legacy.json" : "api.legacy.json", &text);
        ck_assert_int_eq(ek_api_legacy_add_index(legacy, yyjson_doc_get_root(doc), NULL), 0);
        yyjson_doc_free(doc);
        ek_buf_done(&text);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(plains); i++) {
        yyjson_doc *doc = recorded(plains[i].plain, &text);
        ck_assert_int_eq(ek_api_legacy_add_resources(legacy, yyjson_doc_get_root(doc), NULL), 0);
        yyjson_doc_free(doc);
        ek_buf_done(&text);
    }
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *core = ek_api_legacy_finish(legacy, true, NULL);
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups =
        ek_api_legacy_finish(legacy, false, NULL);
    ek_api_legacy_free(legacy);
    /* Of the groups only those whose lists were given. */
    ck_assert_uint_eq(groups->list.n, 2);
    ek_buf_init(&out, 1 << 20);
    ek_buf_init(&expected, 1 << 20);
    for (size_t i = 0; i < EK_ARRAY_SIZE(plains); i++) {
        EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *own = recorded_groups(plains[i].aggregated);
        const struct ek_api_group *given = group_of(own, plains[i].group);
        const struct ek_api_group *made =
            group_of(*plains[i].group ? groups : core, plains[i].group);
        const struct ek_api_version *a = version_of(given, plains[i].version);
        const struct ek_api_version *b = version_of(made, plains[i].version);
        ck_assert_str_eq(made->metadata, given->metadata);
        ck_assert_uint_eq(a->n, b->n);
        for (size_t r = 0; r < a->n; r++)
            ck_assert_msg(ek_api_resource_equal(&a->resources[r], &b->resources[r]), "%s/%s",
                          plains[i].group, a->resources[r].name);
    }
    ek_buf_done(&out);
    ek_buf_done(&expected);
}
END_TEST

static const struct {
    const char *label, *index, *list, *document;
} legacies[] = {
    {"a subresource without a parent",
     "{\"groups\":[{\"name\":\"g\",\"versions\":[{\"version\":\"v1\"}]}]}",
     "{\"groupVersion\":\"g/v1\",\"resources\":[{\"name\":\"b/"
     "status\",\"kind\":\"B\",\"namespaced\":"
     "true,\"verbs\":[\"get\"]}]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v1\","
     "\"resources\":[{\"resource\":\"b\",\"scope\":\"Namespaced\",\"singularResource\":\"\","
     "\"verbs\":"
     "null,\"subresources\":[{\"subresource\":\"status\",\"responseKind\":{\"group\":\"\","
     "\"version\":"
     "\"\",\"kind\":\"B\"},\"verbs\":[\"get\"]}]}],\"freshness\":\"Current\"}]}]}"},
    {"a list that no index names",
     "{\"groups\":[{\"name\":\"g\",\"versions\":[{\"version\":\"v1\"}]}]}",
     "{\"groupVersion\":\"other/v1\",\"resources\":[]}", "{\"metadata\":{},\"items\":[]}"},
    {"an empty list", "{\"groups\":[{\"name\":\"g\",\"versions\":[{\"version\":\"v1\"}]}]}",
     "{\"groupVersion\":\"g/v1\",\"resources\":[]}",
     "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v1\","
     "\"freshness\":\"Current\"}]}]}"},
};

START_TEST(legacy_row)
{
    struct ek_api_legacy *legacy = ek_api_legacy_new();
    struct ek_buf out;
    yyjson_doc *index = ek_json_parse(legacies[_i].index, strlen(legacies[_i].index), NULL);
    yyjson_doc *list = ek_json_parse(legacies[_i].list, strlen(legacies[_i].list), NULL);

    ck_assert_int_eq(ek_api_legacy_add_index(legacy, yyjson_doc_get_root(index), NULL), 0);
    ck_assert_int_eq(ek_api_legacy_add_resources(legacy, yyjson_doc_get_root(list), NULL), 0);
    EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups =
        ek_api_legacy_finish(legacy, false, NULL);
    ek_buf_init(&out, 10000);
    ek_api_write_aggregated(&out, &groups->list, NULL);
    ck_assert_msg(!strcmp(ek_buf_str(&out), legacies[_i].document), "%s: %s", legacies[_i].label,
                  ek_buf_str(&out));
    ek_buf_done(&out);
    yyjson_doc_free(index);
    yyjson_doc_free(list);
    ek_api_legacy_free(legacy);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("groups");

    tcase_add_loop_test(tcase, bad_row, 0, EK_ARRAY_SIZE(bad));
    tcase_add_loop_test(tcase, written_row, 0, EK_ARRAY_SIZE(written));
    tcase_add_loop_test(tcase, plain_row, 0, EK_ARRAY_SIZE(plains));
    tcase_add_test(tcase, writes_the_lists_of_a_server);
    tcase_add_test(tcase, converts_plain_lists);
    tcase_add_loop_test(tcase, legacy_row, 0, EK_ARRAY_SIZE(legacies));
    return ek_test_run("groups", tcase);
}
