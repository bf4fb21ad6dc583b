/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "test/support/json_text.h"
#include "test/support/suite.h"

static const char pod[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
    "\"uid\":\"u-1\",\"resourceVersion\":\"42\",\"generation\":7,\"labels\":{\"l\":\"x\",\"n\":1},"
    "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"k\":\"v\"},"
    "\"managedFields\":[{\"manager\":\"m\"}]},\"spec\":{\"n\":1.5,\"list\":[1,2]}}";

static struct ek_obj *parse(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    int rc = ek_obj_parse(json, strlen(json), &obj, &err);
    ck_assert_msg(rc == 0, "%s", err.message);
    return obj;
}

START_TEST(metadata_is_at_hand)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(pod);

    ck_assert_str_eq(ek_obj_api_version(obj), "v1");
    ck_assert_str_eq(ek_obj_kind(obj), "Pod");
    ck_assert_str_eq(ek_obj_name(obj), "a");
    ck_assert_str_eq(ek_obj_namespace(obj), "ns");
    ck_assert_str_eq(ek_obj_uid(obj), "u-1");
    ck_assert_str_eq(ek_obj_resource_version(obj), "42");
    ck_assert_int_eq(ek_obj_generation(obj), 7);
    ck_assert_str_eq(ek_obj_key(obj), "ns/a");
    ck_assert_str_eq(ek_obj_label(obj, "l"), "x");
    ck_assert_ptr_null(ek_obj_label(obj, "n"));
    ck_assert_ptr_null(ek_obj_label(obj, "absent"));
    ck_assert_str_eq(ek_obj_annotation(obj, "k"), "v");
}
END_TEST

static const struct {
    const char *name;
    const char *json;
    const char *key;
} odd_rows[] = {
    {"empty", "{}", ""},
    {"cluster-scoped", "{\"metadata\":{\"name\":\"a\"}}", "a"},
    {"wrong types", "{\"metadata\":{\"name\":1,\"namespace\":[],\"generation\":\"x\"}}", ""},
    {"metadata no object", "{\"metadata\":[1]}", ""},
    {"no object", "[1,2]", ""},
    {"scalar", "17", ""},
};

START_TEST(odd_objects_have_empty_metadata)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(odd_rows[_i].json);

    ck_assert_msg(!strcmp(ek_obj_key(obj), odd_rows[_i].key), "%s: %s", odd_rows[_i].name,
                  ek_obj_key(obj));
    ck_assert_str_eq(ek_obj_kind(obj), "");
    ck_assert_str_eq(ek_obj_uid(obj), "");
    ck_assert_int_eq(ek_obj_generation(obj), 0);
    ck_assert_ptr_null(ek_obj_label(obj, "l"));
}
END_TEST

static const struct {
    const char *name;
    const char *json;
    const char *message;
} bad_rows[] = {
    {"empty", "", "malformed JSON at line 1 column 1"},
    {"open", "{\"a\":", "malformed JSON at line 1 column 6"},
    {"second line", "{\n  \"a\" 1}", "malformed JSON at line 2 column 7"},
    {"more behind", "{} x", "malformed JSON at line 1 column 4"},
    {"comma at the end", "[1,]", "malformed JSON at line 1 column"},
    {"broken UTF-8", "\"\xff\"", "malformed JSON at line 1 column"},
    {"lone surrogate", "\"\\ud800\"", "malformed JSON at line 1 column"},
    {"no number", "NaN", "malformed JSON at line 1 column 1"},
};

START_TEST(malformed_input_is_located)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    int rc = ek_obj_parse(bad_rows[_i].json, strlen(bad_rows[_i].json), &obj, &err);
    ck_assert_msg(rc == EK_E_PARSE && err.code == rc, "%s: %d", bad_rows[_i].name, rc);
    ck_assert_msg(strstr(err.message, bad_rows[_i].message) != NULL, "%s: %s", bad_rows[_i].name,
                  err.message);
    ck_assert_ptr_null(obj);
}
END_TEST

/* Lists within lists, with text in the middle that must not be counted. */
static char *nested(size_t depth)
{
    static const char inside[] = "\"[{\\\"[\"";
    char *json = ek_xalloc(2 * depth + sizeof inside);

    memset(json, '[', depth);
    memcpy(json + depth, inside, sizeof inside - 1);
    memset(json + depth + sizeof inside - 1, ']', depth);
    return json;
}

START_TEST(depth_is_bounded)
{
    EK_AUTOFREE char *most = nested(EK_JSON_DEPTH_MAX), *more = nested(EK_JSON_DEPTH_MAX + 1);
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    ek_obj_unref(parse(most));
    ck_assert_int_eq(ek_obj_parse(more, strlen(more), &obj, &err), EK_E_LIMIT);
    ck_assert_int_eq(err.code, EK_E_LIMIT);
}
END_TEST

/* As objects stand in reviews, lists and watch events. */
START_TEST(envelopes_have_levels_of_their_own)
{
    EK_AUTOFREE char *most = nested(EK_JSON_DEPTH_MAX + EK_JSON_ENVELOPE_MAX);
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse_envelope(most, strlen(most), EK_JSON_ENVELOPE_MAX, &err);

    ck_assert_msg(doc != NULL, "%s", err.message);
    yyjson_doc_free(doc);
    ck_assert_ptr_null(ek_json_parse_envelope(most, strlen(most), EK_JSON_ENVELOPE_MAX - 1, &err));
    ck_assert_str_eq(err.message, "JSON nests deeper than 10001 levels");
}
END_TEST

/* What Go's map[string]interface{} holds of the text. */
static const struct {
    const char *name;
    const char *json, *want;
    const char *twins; /* the paths of those that go */
} twice_rows[] = {
    {"the last one", "{\"a\":1,\"a\":2}", "{\"a\":2}", "a;"},
    {"whole, not merged", "{\"a\":{\"x\":1,\"y\":[2]},\"b\":[],\"a\":{\"z\":3}}",
     "{\"b\":[],\"a\":{\"z\":3}}", "a;"},
    {"three times", "[{\"a\":[1,2],\"a\":{},\"a\":\"x\"},7]", "[{\"a\":\"x\"},7]", "[0].a;[0].a;"},
    {"as written, not as spelt", "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}", "a;"},
    {"in what goes itself", "{\"a\":{\"b\":1,\"b\":2},\"a\":{\"c\":[{\"d\":1,\"d\":[]}]}}",
     "{\"a\":{\"c\":[{\"d\":[]}]}}", "a;a.b;a.c[0].d;"},
    {"empty names", "{\"\":1,\"a\":2,\"\":{\"\":3}}", "{\"a\":2,\"\":{\"\":3}}", ";"},
    {"text with NUL", "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"a\\u0000b\":3}",
     "{\"a\\u0000c\":2,\"a\\u0000b\":3}", "a;"},
    {"case differs", "{\"a\":1,\"A\":2}", "{\"a\":1,\"A\":2}", ""},
    {"one fingerprint, other names", "{\"abbcd\":1,\"acbbd\":2,\"abbbd\":3}",
     "{\"abbcd\":1,\"acbbd\":2,\"abbbd\":3}", ""},
};

static bool put_twin(void *ctx, const char *path)
{
    ek_buf_printf(ctx, "%s;", path);
    return true;
}

/* The first alone. */
static bool put_first(void *ctx, const char *path)
{
    put_twin(ctx, path);
    return false;
}

START_TEST(names_that_stand_twice_are_reported)
{
    const char *json = twice_rows[_i].json, *twins = twice_rows[_i].twins;
    EK_AUTO(ek_buf) all = {0};
    EK_AUTO(ek_buf) first = {0};

    ek_buf_init(&all, EK_BUF_SMALL_MAX);
    ek_buf_init(&first, EK_BUF_SMALL_MAX);
    yyjson_doc_free(ek_json_parse_twins(json, strlen(json), put_twin, &all, NULL));
    ck_assert_msg(!strcmp(ek_buf_str(&all), twins), "%s: %s", twice_rows[_i].name,
                  ek_buf_str(&all));
    yyjson_doc_free(ek_json_parse_twins(json, strlen(json), put_first, &first, NULL));
    ck_assert_uint_eq(first.len, strchr(twins, ';') ? (size_t)(strchr(twins, ';') + 1 - twins) : 0);
}
END_TEST

START_TEST(of_a_name_that_stands_twice_the_last_counts)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(twice_rows[_i].json);
    EK_AUTOFREE char *json = test_json_text(obj, NULL);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *copy = ek_obj_from_val(ek_obj_root(obj));
    EK_AUTOFREE char *copied = test_json_text(copy, NULL);

    ck_assert_msg(!strcmp(json, twice_rows[_i].want), "%s: %s", twice_rows[_i].name, json);
    ck_assert_str_eq(copied, json);
}
END_TEST

/* {"k<order(0)>":0,"k<order(1)>":1,...} of n names, then the first a time. */
static char *many(size_t n, size_t factor)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&out, "%c\"k%05zu\":%zu", i ? ',' : '{', i * factor % n, i);
    ek_buf_printf(&out, ",\"k%05zu\":[1,{\"x\":{}}]}", (n / 2) * factor % n);
    return ek_xstrdup(ek_buf_str(&out));
}

/* Few or many members, in order or not. */
/* Documents in the memory of those before them: shorter and longer ones, and two at a time. */
START_TEST(documents_follow_each_other_in_a_scratch)
{
    struct ek_json_scratch scratch = {0};
    struct ek_err err = {0};

    for (size_t n = 1; n < 3 * EK_JSON_SCRATCH_MAX; n = n < 64 ? n + 1 : n * 5) {
        EK_AUTOFREE char *json = ek_xalloc(n + 8);
        memset(json, ' ', n);
        memcpy(json + n, "[1,{}]", 6);
        ck_assert_ptr_null(ek_json_parse_scratch(&scratch, json, n + 5, &err));
        yyjson_doc *doc = ek_json_parse_scratch(&scratch, json, n + 6, &err);
        yyjson_doc *other = ek_json_parse_scratch(&scratch, "[\"text\"]", 8, &err);
        ck_assert_msg(doc && other, "%zu: %s", n, err.message);
        ck_assert_uint_eq(yyjson_arr_size(yyjson_doc_get_root(doc)), 2);
        ck_assert_str_eq(yyjson_get_str(yyjson_arr_get_first(yyjson_doc_get_root(other))), "text");
        yyjson_doc_free(doc);
        yyjson_doc_free(other);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(scratch.parts); i++)
        ck_assert(!scratch.parts[i].lent && scratch.parts[i].size <= EK_JSON_SCRATCH_MAX);
    ek_json_scratch_done(&scratch);
}
END_TEST

START_TEST(names_are_found_among_many)
{
    static const size_t sizes[] = {2, 31, 32, 33, 1000}, factors[] = {1, 7};

    for (size_t i = 0; i < EK_ARRAY_SIZE(sizes) * EK_ARRAY_SIZE(factors); i++) {
        size_t n = sizes[i / 2], factor = factors[i % 2];
        EK_AUTOFREE char *json = many(n, factor);
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(json);
        char name[32];

        snprintf(name, sizeof name, "k%05zu", (n / 2) * factor % n);
        ck_assert_uint_eq(yyjson_obj_size(ek_obj_root(obj)), n);
        ck_assert(yyjson_is_arr(yyjson_obj_get(ek_obj_root(obj), name)));
        for (size_t k = 0; k < n; k++) {
            snprintf(name, sizeof name, "k%05zu", k);
            ck_assert_ptr_nonnull(yyjson_obj_get(ek_obj_root(obj), name));
        }
    }
}
END_TEST

START_TEST(references_count)
{
    struct ek_obj *obj = parse(pod), *other = ek_obj_ref(obj);

    ck_assert_ptr_eq(obj, other);
    ek_obj_unref(obj);
    ck_assert_str_eq(ek_obj_name(other), "a");
    ek_obj_unref(other);
    ck_assert_ptr_null(ek_obj_ref(NULL));
    ek_obj_unref(NULL);
}
END_TEST

START_TEST(copies_live_alone)
{
    struct ek_obj *list = parse("{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}");
    yyjson_val *item = yyjson_arr_get_first(ek_json_get(ek_obj_root(list), "items", NULL));
    EK_AUTOPTR(ek_obj, ek_obj_unref) *copy = ek_obj_from_val(item);

    ek_obj_unref(list);
    ck_assert_str_eq(ek_obj_name(copy), "a");
    ck_assert_str_eq(ek_obj_kind(copy), "");
}
END_TEST

START_TEST(items_lose_what_nobody_reads)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *whole = parse(pod);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *item = ek_obj_from_item(ek_obj_root(whole), "v2", "Other");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *bare = parse("{\"metadata\":{\"name\":\"a\"}}");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *named = ek_obj_from_item(ek_obj_root(bare), "v2", "Other");

    ck_assert_ptr_null(ek_json_get(ek_obj_root(item), "metadata", "managedFields", NULL));
    ck_assert_ptr_null(ek_obj_annotation(item, "kubectl.kubernetes.io/last-applied-configuration"));
    ck_assert_str_eq(ek_obj_annotation(item, "k"), "v");
    ck_assert_str_eq(ek_obj_api_version(item), "v1");
    ck_assert_str_eq(ek_obj_kind(item), "Pod");
    ck_assert_int_eq(yyjson_arr_size(ek_json_get(ek_obj_root(item), "spec", "list", NULL)), 2);
    ck_assert_str_eq(ek_obj_api_version(named), "v2");
    ck_assert_str_eq(ek_obj_kind(named), "Other");
}
END_TEST

START_TEST(objects_are_written)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(" { \"a\" : [ 1 , \"\\u00e4\" ] } ");
    size_t len;
    EK_AUTOFREE char *json = test_json_text(obj, &len);

    ck_assert_str_eq(json, "{\"a\":[1,\"\xc3\xa4\"]}");
    ck_assert_uint_eq(len, strlen(json));
}
END_TEST

START_TEST(mutable_values_become_objects)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_str(doc, root, "kind", "Lease");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    ck_assert_str_eq(ek_obj_kind(obj), "Lease");
}
END_TEST

START_TEST(values_are_reached_by_name)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse(pod);
    yyjson_val *root = ek_obj_root(obj);

    ck_assert_ptr_eq(ek_json_get(root, NULL), root);
    ck_assert_str_eq(ek_json_str(root, "metadata", "uid", NULL), "u-1");
    ck_assert_ptr_null(ek_json_str(root, "metadata", NULL));
    ck_assert_ptr_null(ek_json_get(root, "metadata", "uid", "deeper", NULL));
    ck_assert_ptr_null(ek_json_get(root, "absent", "deeper", NULL));
    ck_assert_ptr_null(ek_json_get(NULL, "metadata", NULL));
}
END_TEST

static const struct {
    const char *name;
    const char *a, *b;
    bool want;
} equal_rows[] = {
    {"order of members", "{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
    {"order of items", "[1,2]", "[2,1]", false},
    {"number by value", "1.0", "1", true},
    {"numbers", "[1,-1]", "[1,-2]", false},
    {"large numbers", "9007199254740993", "9007199254740992", false},
    {"number and text", "1", "\"1\"", false},
    {"null and absent", "{\"a\":null}", "{}", false},
    {"null and false", "null", "false", false},
    {"one member more", "{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"another name", "{\"a\":1}", "{\"b\":1}", false},
    {"one item more", "[1]", "[1,1]", false},
    {"empty containers", "[]", "{}", false},
    {"deep", "[{\"a\":[{\"b\":null}]}]", "[{\"a\":[{\"b\":null}]}]", true},
    {"text with NUL", "\"a\\u0000b\"", "\"a\\u0000c\"", false},
};

START_TEST(values_are_compared)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *a = parse(equal_rows[_i].a);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *b = parse(equal_rows[_i].b);

    ck_assert_msg(ek_json_equal(ek_obj_root(a), ek_obj_root(b)) == equal_rows[_i].want, "%s",
                  equal_rows[_i].name);
    ck_assert_msg(ek_json_equal(ek_obj_root(b), ek_obj_root(a)) == equal_rows[_i].want,
                  "%s, reversed", equal_rows[_i].name);
    ck_assert(ek_json_equal(NULL, NULL));
    ck_assert(!ek_json_equal(ek_obj_root(a), NULL));
}
END_TEST

START_TEST(whole_numbers_are_written_as_integers)
{
    static const char text[] =
        "{\"a\":[1.0,-3e2,0.5,7,1e19,-1e19],\"1.0\":\"2.0\",\"b\":{\"c\":-0.0}}";
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);

    ek_json_write_whole(doc);
    EK_AUTOFREE char *written = yyjson_write_opts(doc, 0, &ek_json_xalc, NULL, NULL);
    /* Beyond 64 bits they stay as they are, in the notation of yyjson. */
    ck_assert_str_eq(written,
                     "{\"a\":[1,-300,0.5,7,10000000000000000000.0,-10000000000000000000.0],"
                     "\"1.0\":\"2.0\",\"b\":{\"c\":0}}");
    yyjson_doc_free(doc);
    ek_json_write_whole(NULL);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("obj");

    tcase_add_test(tcase, metadata_is_at_hand);
    tcase_add_loop_test(tcase, odd_objects_have_empty_metadata, 0, EK_ARRAY_SIZE(odd_rows));
    tcase_add_loop_test(tcase, malformed_input_is_located, 0, EK_ARRAY_SIZE(bad_rows));
    tcase_add_test(tcase, depth_is_bounded);
    tcase_add_test(tcase, envelopes_have_levels_of_their_own);
    tcase_add_loop_test(tcase, of_a_name_that_stands_twice_the_last_counts, 0,
                        EK_ARRAY_SIZE(twice_rows));
    tcase_add_loop_test(tcase, names_that_stand_twice_are_reported, 0, EK_ARRAY_SIZE(twice_rows));
    tcase_add_test(tcase, documents_follow_each_other_in_a_scratch);
    tcase_add_test(tcase, names_are_found_among_many);
    tcase_add_test(tcase, references_count);
    tcase_add_test(tcase, copies_live_alone);
    tcase_add_test(tcase, items_lose_what_nobody_reads);
    tcase_add_test(tcase, objects_are_written);
    tcase_add_test(tcase, mutable_values_become_objects);
    tcase_add_test(tcase, values_are_reached_by_name);
    tcase_add_loop_test(tcase, values_are_compared, 0, EK_ARRAY_SIZE(equal_rows));
    tcase_add_test(tcase, whole_numbers_are_written_as_integers);
    return ek_test_run("obj", tcase);
}
