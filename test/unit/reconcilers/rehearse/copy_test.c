/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a live cluster as they are stored: keys, values, the selection. */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/rehearse/copy.h"
#include "test/support/suite.h"

#define LONG  "0123456789012345678901234567890123456789012345678901234567890123"
#define LONGS LONG LONG LONG LONG LONG LONG LONG LONG

static const struct {
    const char *object;
    bool namespaced;
    const char *key; /* NULL: none */
} keys[] = {
    {"{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"}}", true, "/registry/pods/shop/web"},
    {"{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"}}", false, "/registry/pods/web"},
    {"{\"metadata\":{\"name\":\"system:node\"}}", false, "/registry/pods/system:node"},
    {"{\"metadata\":{\"name\":\"web\"}}", true, NULL},
    {"{\"metadata\":{\"name\":\"\",\"namespace\":\"shop\"}}", true, NULL},
    {"{\"metadata\":{\"name\":\"..\",\"namespace\":\"shop\"}}", true, NULL},
    {"{\"metadata\":{\"name\":\"web\",\"namespace\":\".\"}}", true, NULL},
    {"{\"metadata\":{\"name\":\"a/b\"}}", false, NULL},
    {"{\"metadata\":{\"name\":\"a%2f\"}}", false, NULL},
    {"{\"metadata\":{\"name\":\"a\\nb\"}}", false, NULL},
    {"{\"metadata\":{\"name\":\"a b\"}}", false, NULL},
    {"{\"metadata\":{\"name\":1}}", false, NULL},
    {"{\"metadata\":{\"name\":\"" LONGS LONGS LONGS LONGS "\"}}", false, NULL},
    {"[]", false, NULL},
};

START_TEST(key_row)
{
    yyjson_doc *doc = ek_json_parse(keys[_i].object, strlen(keys[_i].object), NULL);
    char key[EK_REHEARSE_KEY_SIZE] = "";
    bool good = ek_rehearse_copy_key("/registry", "pods", keys[_i].namespaced,
                                     yyjson_doc_get_root(doc), key);

    ck_assert_msg(good == (keys[_i].key != NULL), "%s", keys[_i].object);
    if (good)
        ck_assert_str_eq(key, keys[_i].key);
    yyjson_doc_free(doc);
}
END_TEST

static const struct ek_rehearse_type deployments = {"apps", "v1", "deployments", "Deployment", true,
                                                    true,   true, true,          "",           ""};
static const struct ek_rehearse_type secrets = {"",   "v1", "secrets", "Secret", true,
                                                true, true, true,      "",       ""};
static const struct ek_rehearse_type others = {"example.com", "v1", "secrets", "Secret", true,
                                               true,          true, true,      "",       ""};

static const struct {
    const char *name;
    const struct ek_rehearse_type *type;
    bool values;
    const char *object, *text;
} texts[] = {
    {"what the API gave stays, but the resource version", &deployments, false,
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"selfLink\":\"/x\","
     "\"ownerReferences\":[{\"uid\":\"o\"}]},\"status\":{\"replicas\":1}}",
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"ownerReferences\":[{\"uid\":\"o\"}]},"
     "\"status\":{\"replicas\":1},\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}"},
    {"another version and kind are replaced", &secrets, true,
     "{\"kind\":\"X\",\"apiVersion\":\"v2\",\"apiVersion\":\"v3\"}",
     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}"},
    {"values of a Secret", &secrets, false,
     "{\"metadata\":{\"annotations\":{\"a\":\"b\",\"kubectl.kubernetes.io/"
     "last-applied-configuration\":\"{secret}\"}},\"data\":{\"a\":\"c2VjcmV0cw==\",\"b\":\"\","
     "\"c\":\"c2VjcmV0\",\".dockerconfigjson\":\"c2VjcmV0\",\"d\":\"c2V\",\"e\":7},"
     "\"stringData\":{\"a\":\"secret\"},\"type\":\"Opaque\"}",
     "{\"metadata\":{},\"type\":\"Opaque\",\"apiVersion\":\"v1\","
     "\"kind\":\"Secret\",\"data\":{\"a\":\"AAAAAAAAAA==\",\"b\":\"\",\"c\":\"AAAAAAAA\","
     "\".dockerconfigjson\":\"e30=\",\"d\":\"\",\"e\":\"\"}}"},
    {"annotations of a Secret", &secrets, false,
     "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"objectset.rio.cattle.io/applied\":\"H4s\","
     "\"kubernetes.io/service-account.name\":\"default\",\"kubernetes.io/service-account.uid\":"
     "\"u\",\"kubernetes.io/service-account.names\":\"x\"},\"uid\":\"v\"}}",
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"v\",\"annotations\":{"
     "\"kubernetes.io/service-account.name\":\"default\",\"kubernetes.io/service-account.uid\":"
     "\"u\"}},\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{}}"},
    {"annotations of a Secret that are no texts", &secrets, false,
     "{\"metadata\":{\"annotations\":{\"kubernetes.io/service-account.uid\":{\"a\":1}}}}",
     "{\"metadata\":{},\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{}}"},
    {"annotations of another kind", &deployments, false,
     "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}",
     "{\"metadata\":{\"annotations\":{\"a\":\"b\"}},\"apiVersion\":\"apps/v1\","
     "\"kind\":\"Deployment\"}"},
    {"values of a Secret that are wanted", &secrets, true, "{\"data\":{\"a\":\"c2VjcmV0\"}}",
     "{\"data\":{\"a\":\"c2VjcmV0\"},\"apiVersion\":\"v1\",\"kind\":\"Secret\"}"},
    {"another kind of that name", &others, false, "{\"data\":{\"a\":\"c2VjcmV0\"}}",
     "{\"data\":{\"a\":\"c2VjcmV0\"},\"apiVersion\":\"example.com/v1\",\"kind\":\"Secret\"}"},
};

START_TEST(text_row)
{
    yyjson_doc *doc = ek_json_parse(texts[_i].object, strlen(texts[_i].object), NULL);
    EK_AUTOFREE char *text =
        ek_rehearse_copy_text(texts[_i].type, yyjson_doc_get_root(doc), texts[_i].values);

    ck_assert_msg(!strcmp(text, texts[_i].text), "%s: %s", texts[_i].name, text);
    yyjson_doc_free(doc);
}
END_TEST

static const struct {
    const char *list;
    bool has;
    const char *unknown; /* among deployments.apps alone */
} lists[] = {
    {"", true, NULL},
    {"deployments", true, NULL},
    {"deployments.apps", true, NULL},
    {"pods,deployments.apps", true, "pods"},
    {"deployments.apps,pods", true, "pods"},
    {"deployments.", false, "deployments."},
    {"deployments.app", false, "deployments.app"},
    {"deployments.appsx", false, "deployments.appsx"},
    {"deployment", false, "deployment"},
    {",", false, ""},
};

START_TEST(list_row)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_rehearse_type type = deployments;
    struct ek_rehearse_view view = {.arena = arena, .types = &type, .n_types = 1};
    const char *unknown = ek_rehearse_copy_unknown(lists[_i].list, &view, arena);

    ck_assert_msg(ek_rehearse_copy_has(lists[_i].list, &type) == lists[_i].has, "%s",
                  lists[_i].list);
    ck_assert_pstr_eq(unknown, lists[_i].unknown);
    type.can_create = false;
    ck_assert(!*lists[_i].list || ek_rehearse_copy_unknown(lists[_i].list, &view, arena));
    ek_arena_free(arena);
}
END_TEST

static const struct {
    const char *group, *resource;
    bool defines;
} definitions[] = {
    {"apiextensions.k8s.io", "customresourcedefinitions", true},
    {"apiregistration.k8s.io", "apiservices", true},
    {"example.com", "customresourcedefinitions", false},
    {"example.com", "apiservices", false},
    {"", "apiservices", false},
    {"apiextensions.k8s.io", "apiservices", false},
    {"apiregistration.k8s.io", "customresourcedefinitions", false},
};

START_TEST(definition_row)
{
    struct ek_rehearse_type type = {.group = definitions[_i].group,
                                    .resource = definitions[_i].resource};

    ck_assert(ek_rehearse_copy_defines(&type) == definitions[_i].defines);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("copy");

    tcase_add_loop_test(tcase, key_row, 0, EK_ARRAY_SIZE(keys));
    tcase_add_loop_test(tcase, text_row, 0, EK_ARRAY_SIZE(texts));
    tcase_add_loop_test(tcase, list_row, 0, EK_ARRAY_SIZE(lists));
    tcase_add_loop_test(tcase, definition_row, 0, EK_ARRAY_SIZE(definitions));
    return ek_test_run("rehearse copy", tcase);
}
