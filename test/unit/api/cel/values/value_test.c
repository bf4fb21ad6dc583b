/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/values/account.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"
#include "test/support/deep.h"
#include "test/support/suite.h"

#define PLENTY ((size_t)256 * 1024 * 1024)

static struct ek_cel_eval eval;

static void start(void)
{
    eval = (struct ek_cel_eval){.arena = ek_arena_new(PLENTY)};
}

static void stop(void)
{
    ek_arena_free(eval.arena);
}

static struct ek_cel_val text(const char *s)
{
    return ek_cel_string(s, strlen(s));
}

static yyjson_doc *parse(const char *json)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);

    ck_assert_msg(doc != NULL, "%s", json);
    return doc;
}

static void check_format(const char *name, const struct ek_cel_val *value, const char *want)
{
    struct ek_buf out;

    ek_buf_init(&out, 100000);
    ek_cel_format(value, &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), want), "%s: %s, not %s", name, ek_buf_str(&out), want);
    ek_buf_done(&out);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

START_TEST(appended_lists_share_but_never_change)
{
    struct ek_cel_val a = ek_cel_list_new(&eval, 0), b, c, item;

    for (int64_t i = 0; i < 3; i++) {
        item = ek_cel_int(i);
        ck_assert(ek_cel_list_append(&eval, &a, &item));
    }
    b = c = a;
    item = text("b");
    ck_assert(ek_cel_list_append(&eval, &b, &item));
    ck_assert_ptr_eq(a.items, b.items); /* the longest holder extends in place */
    item = text("c");
    ck_assert(ek_cel_list_append(&eval, &c, &item));
    ck_assert_ptr_ne(b.items, c.items);
    check_format("a", &a, "[0, 1, 2]");
    check_format("b", &b, "[0, 1, 2, \"b\"]");
    check_format("c", &c, "[0, 1, 2, \"c\"]");
    ck_assert(ek_cel_list_extend(&eval, &b, &b));
    check_format("b twice", &b, "[0, 1, 2, \"b\", 0, 1, 2, \"b\"]");
}
END_TEST

START_TEST(constants_are_copied_when_extended)
{
    struct {
        struct ek_cel_items items;
        struct ek_cel_val v[2];
    } fixed = {.items = {.used = 1, .cap = 0}, .v = {ek_cel_int(1)}};
    struct ek_cel_val a = {.kind = EK_CEL_LIST, .n = 1, .items = &fixed.items}, b = a;
    struct ek_cel_val item = ek_cel_int(2);

    ck_assert(ek_cel_list_append(&eval, &b, &item));
    ck_assert(b.items != &fixed.items && fixed.items.used == 1);
    check_format("copy", &b, "[1, 2]");
}
END_TEST

START_TEST(lists_of_documents_can_be_extended)
{
    yyjson_doc *doc = parse("[1, \"a\", [2], {\"k\": null}]");
    struct ek_cel_val list = ek_cel_from_json(yyjson_doc_get_root(doc)), more = list;
    struct ek_cel_val item = ek_cel_bool(true);

    ck_assert(ek_cel_list_append(&eval, &list, &item));
    ck_assert(ek_cel_list_extend(&eval, &list, &more));
    check_format("extended", &list,
                 "[1, \"a\", [2], {\"k\": null}, true, 1, \"a\", [2], {\"k\": null}]");
    item = ek_cel_list_at(&more, 3);
    check_format("at", &item, "{\"k\": null}");
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(many_appends_take_memory_in_proportion)
{
    struct ek_cel_val list = ek_cel_list_new(&eval, 0);

    for (int64_t i = 0; i < 100000; i++) {
        struct ek_cel_val item = ek_cel_int(i);
        ck_assert(ek_cel_list_append(&eval, &list, &item));
    }
    ck_assert_uint_eq(list.n, 100000);
    ck_assert_uint_le(ek_arena_used(eval.arena), 5 * sizeof(struct ek_cel_val) * 100000);
    struct ek_cel_val last = ek_cel_list_at(&list, 99999);
    ck_assert_int_eq(last.i, 99999);
}
END_TEST

/* ---- Maps ------------------------------------------------------------------------------------ */

static struct ek_cel_val number_key(int64_t i)
{
    switch (i % 4) {
    case 0:
        return ek_cel_int(i);
    case 1:
        return ek_cel_uint((uint64_t)i);
    case 2:
        return ek_cel_double((double)i + 0.5);
    default:
        return ek_cel_duration(i);
    }
}

START_TEST(large_maps_find_each_of_their_keys)
{
    struct ek_cel_val map = ek_cel_map_new(&eval, 0), value, key;
    char names[2000][8];

    for (int64_t i = 0; i < 2000; i++) {
        snprintf(names[i], sizeof names[i], "k%d", (int)i);
        key = i % 2 ? text(names[i]) : number_key(i / 2);
        value = ek_cel_int(i);
        ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    }
    ck_assert_uint_eq(map.n, 2000);
    for (int64_t i = 0; i < 2000; i++) {
        key = i % 2 ? text(names[i]) : number_key(i / 2);
        ck_assert_msg(ek_cel_map_find(&map, &key, &value) == 1 && value.i == i, "%d", (int)i);
    }
    key = text("k2000");
    ck_assert_int_eq(ek_cel_map_find(&map, &key, &value), 0);
}
END_TEST

START_TEST(numbers_of_other_kinds_find_keys)
{
    struct ek_cel_val map = ek_cel_map_new(&eval, 0), value = text("x");
    struct ek_cel_val keys[] = {ek_cel_int(1), ek_cel_uint(2), ek_cel_int(-3), ek_cel_bool(true),
                                ek_cel_uint(UINT64_MAX)};
    const struct {
        const char *name;
        struct ek_cel_val key;
        int found;
    } rows[] = {
        {"uint finds int", ek_cel_uint(1), 1},
        {"int finds uint", ek_cel_int(2), 1},
        {"double finds int", ek_cel_double(1.0), 1},
        {"double finds uint", ek_cel_double(2.0), 1},
        {"negative double finds int", ek_cel_double(-3.0), 1},
        {"2 to 64 is none", ek_cel_double(0x1p64), 0},
        {"fraction", ek_cel_double(1.5), 0},
        {"NaN", ek_cel_double(NAN), 0},
        {"negative int is no uint", ek_cel_int(-1), 0},
        {"large uint is no int", ek_cel_uint((uint64_t)-3), 0},
        {"text", text("1"), 0},
        {"truth", ek_cel_bool(false), 0},
        {"null", ek_cel_null(), 0},
    };

    for (size_t i = 0; i < 5; i++)
        ek_cel_map_put(&eval, &map, &keys[i], &value, false);
    ck_assert_uint_eq(map.n, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(ek_cel_map_find(&map, &rows[i].key, &value) == rows[i].found, "%s",
                      rows[i].name);
}
END_TEST

START_TEST(maps_are_put_together_by_their_rules)
{
    struct ek_cel_val map = ek_cel_map_new(&eval, 0), before, key = ek_cel_int(1), value;

    value = text("a");
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    before = map;
    key = ek_cel_uint(1); /* another key to a literal, the same to a look-up */
    value = text("b");
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, false), 0);
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    check_format("both", &map, "{1: \"a\", 1u: \"b\"}");
    check_format("before", &before, "{1: \"a\"}");
    value = text("c");
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    check_format("replaced", &map, "{1: \"a\", 1u: \"c\"}");
    key = ek_cel_double(NAN); /* never the same as another */
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    ck_assert_int_eq(ek_cel_map_put(&eval, &map, &key, &value, true), 1);
    ck_assert_uint_eq(map.n, 4);
}
END_TEST

START_TEST(large_objects_are_indexed_once)
{
    static char json[200000];
    size_t len = (size_t)snprintf(json, sizeof json, "{");
    struct ek_cel_val value;

    for (int i = 0; i < 5000; i++)
        len += (size_t)snprintf(json + len, sizeof json - len, "%s\"key-%d\": [%d]", i ? "," : "",
                                i, i);
    snprintf(json + len, sizeof json - len, "}");
    yyjson_doc *doc = parse(json);
    struct ek_cel_val map = ek_cel_from_json(yyjson_doc_get_root(doc));
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "key-%d", i);
        struct ek_cel_val key = text(name), first;
        ck_assert_msg(ek_cel_map_get(&eval, &map, &key, &value) == 1, "%s", name);
        first = ek_cel_list_at(&value, 0);
        ck_assert_int_eq(first.i, i);
    }
    struct ek_cel_val key = text("key-"), other = ek_cel_int(1);
    ck_assert_int_eq(ek_cel_map_get(&eval, &map, &key, &value), 0);
    ck_assert_int_eq(ek_cel_map_get(&eval, &map, &other, &value), 0);
    ck_assert(eval.indexes && !eval.indexes->next);
    yyjson_doc_free(doc);
}
END_TEST

static int host_get(void *arg, const char *name, size_t len, struct ek_cel_val *ret_value,
                    uint64_t *ret_cost)
{
    *ret_value = ek_cel_int((int64_t)len);
    *ret_cost = 7;
    return arg && len && *name == 'a' ? 1 : 0;
}

START_TEST(host_maps_are_asked)
{
    struct ek_cel_host host = {.get = host_get, .arg = &host};
    struct ek_cel_val map = ek_cel_host_map(&host), key = text("abc"), value, other = ek_cel_int(1);
    struct ek_cel_iter iter;

    ck_assert(ek_cel_map_find(&map, &key, &value) == 1 && value.i == 3);
    ck_assert_int_eq(ek_cel_map_find(&map, &other, &value), 0);
    ek_cel_iter_init(&iter, &map);
    ck_assert(!ek_cel_iter_next(&iter));
    ck_assert(!ek_cel_equal(&map, &map));
    check_format("host", &map, "{...}");
}
END_TEST

/* ---- Documents ------------------------------------------------------------------------------- */

static const struct {
    const char *json, *want;
} documents[] = {
    {"null", "null"},
    {"true", "true"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "9223372036854776000.0"},
    {"-0", "0"},
    {"1.0", "1.0"},
    {"1e3", "1000.0"},
    {"\"a\\u0000\\n\"", "\"a\\x00\\n\""},
    {"[]", "[]"},
    {"{}", "{}"},
    {"{\"a\": {\"b\": [1, {\"c\": \"d\"}]}, \"e\": 2.5}",
     "{\"a\": {\"b\": [1, {\"c\": \"d\"}]}, \"e\": 2.5}"},
};

START_TEST(documents_are_read_in_place)
{
    yyjson_doc *doc = parse(documents[_i].json);
    struct ek_cel_val v = ek_cel_from_json(yyjson_doc_get_root(doc));

    check_format(documents[_i].json, &v, documents[_i].want);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(code_points_are_counted)
{
    static const char s[] = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80";

    ck_assert_uint_eq(ek_cel_runes(s, 0), 0);
    ck_assert_uint_eq(ek_cel_runes(s, sizeof s - 1), 4);
    for (size_t repeat = 0; repeat < 40; repeat++) { /* across all alignments of words */
        char long_text[500] = "";
        for (size_t i = 0; i < repeat; i++)
            memcpy(long_text + i * (sizeof s - 1), s, sizeof s);
        for (size_t skip = 0; skip < 9 && skip <= repeat; skip++)
            ck_assert_uint_eq(ek_cel_runes(long_text + skip * (sizeof s - 1),
                                           strlen(long_text) - skip * (sizeof s - 1)),
                              4 * (repeat - skip));
        memset(long_text, 'a', repeat);
        ck_assert_uint_eq(ek_cel_runes(long_text, repeat), repeat);
    }
}
END_TEST

/* ---- Depth and size -------------------------------------------------------------------------- */

static struct ek_cel_val wrap(struct ek_cel_val inner, enum ek_cel_kind kind)
{
    struct ek_cel_val outer, key = text("k");

    if (kind == EK_CEL_OPTIONAL)
        return ek_cel_optional(&eval, &inner);
    if (kind == EK_CEL_MAP) {
        outer = ek_cel_map_new(&eval, 1);
        ek_cel_map_put(&eval, &outer, &key, &inner, true);
    } else {
        outer = ek_cel_list_new(&eval, 1);
        ek_cel_list_append(&eval, &outer, &inner);
    }
    return outer;
}

static int deep_row;

static int deep_values_body(void *ctx)
{
    (void)ctx;
    static const enum ek_cel_kind kinds[] = {EK_CEL_LIST, EK_CEL_MAP, EK_CEL_OPTIONAL};
    struct ek_cel_val a = ek_cel_int(1), b = a, error;
    struct ek_buf out;

    for (int i = 0; i < 100000; i++) {
        a = wrap(a, kinds[deep_row]);
        b = wrap(b, kinds[deep_row]);
    }
    ck_assert(!ek_cel_equal(&a, &b));
    ck_assert_int_eq(ek_cel_try_equal(&eval, &a, &b, &error), -1);
    ck_assert_str_eq(error.fault->message, "values are too large to compare");
    ek_buf_init(&out, 10000000);
    ck_assert_int_eq(ek_cel_format(&a, &out), 0);
    ek_buf_done(&out);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    for (enum ek_cel_json_rules rules = EK_CEL_JSON_PLAIN; rules <= EK_CEL_JSON_JSONPATCH; rules++)
        ck_assert(!ek_cel_to_json(&a, rules, doc, NULL, NULL));
    yyjson_mut_doc_free(doc);
    ek_cel_cost_size(&a);
    return 0;
}

START_TEST(deep_values_end_in_errors)
{
    deep_row = _i;
    EK_DEEP(deep_values_body);
}
END_TEST

START_TEST(values_that_share_themselves_are_bounded)
{
    struct ek_cel_val a = ek_cel_int(1), b = a, error;
    struct ek_err err;
    struct ek_buf out;

    for (int i = 0; i < 60; i++) { /* 2 to 60 numbers */
        a = wrap(a, EK_CEL_LIST);
        b = wrap(b, EK_CEL_LIST);
        struct ek_cel_val first = ek_cel_list_at(&a, 0), second = ek_cel_list_at(&b, 0);
        ek_cel_list_append(&eval, &a, &first);
        ek_cel_list_append(&eval, &b, &second);
    }
    ck_assert_int_eq(ek_cel_try_equal(&eval, &a, &b, &error), -1);
    ek_buf_init(&out, 100000);
    ck_assert_int_ne(ek_cel_format(&a, &out), 0); /* the buffer is full */
    ek_buf_done(&out);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    ck_assert(!ek_cel_to_json(&a, EK_CEL_JSON_PLAIN, doc, NULL, &err));
    ck_assert_msg(strstr(err.message, "too large") != NULL, "%s", err.message);
    yyjson_mut_doc_free(doc);
}
END_TEST

static bool build_some(size_t limit)
{
    struct ek_cel_eval small = {.arena = ek_arena_new(limit)};
    struct ek_cel_val list = ek_cel_list_new(&small, 0), map = ek_cel_map_new(&small, 4), key, v;
    struct ek_cel_text t;
    bool fine = list.kind == EK_CEL_LIST && map.kind == EK_CEL_MAP;

    for (int64_t i = 0; i < 100 && fine; i++) {
        key = ek_cel_int(i);
        fine = ek_cel_list_append(&small, &list, &key) &&
               ek_cel_map_put(&small, &map, &key, &list, false) > 0;
    }
    ek_cel_text_init(&t, &small);
    for (int i = 0; i < 100; i++)
        ek_cel_text_printf(&t, "%d and %s", i, "what makes a long line of text");
    v = ek_cel_text_take(&t);
    fine = fine && v.kind == EK_CEL_STRING;
    v = ek_cel_fail(&small, "%0*d", 5000, 7);
    ck_assert_int_eq(v.kind, EK_CEL_ERROR);
    fine = fine && v.fault->kind == EK_CEL_E_EVAL && strlen(v.fault->message) < 4096;
    v = ek_cel_no_overload(&small, "f", &list, 1);
    ck_assert_int_eq(v.kind, EK_CEL_ERROR);
    if (!fine) {
        ck_assert(small.ended && small.final.kind == EK_CEL_E_MEMORY);
        v = ek_cel_no_memory(&small);
        ck_assert(v.kind == EK_CEL_ERROR && v.fault == &small.final);
    }
    ek_arena_free(small.arena);
    return fine;
}

START_TEST(little_memory_ends_in_its_error)
{
    size_t limit = 0;

    while (!build_some(limit))
        limit += limit / 8 + 16;
    ck_assert_uint_ge(limit, 10000);
}
END_TEST

START_TEST(messages_name_the_types_of_arguments)
{
    struct ek_cel_val args[] = {ek_cel_int(1), ek_cel_null(), ek_cel_duration(1)};
    struct ek_cel_val v = ek_cel_no_overload(&eval, "f", args, 3);

    ck_assert_str_eq(v.fault->message,
                     "no such overload: f(int, null_type, google.protobuf.Duration)");
    v = ek_cel_no_overload(&eval, NULL, NULL, 0);
    ck_assert_str_eq(v.fault->message, "no such overload");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cel_value");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, appended_lists_share_but_never_change);
    tcase_add_test(tcase, constants_are_copied_when_extended);
    tcase_add_test(tcase, lists_of_documents_can_be_extended);
    tcase_add_test(tcase, many_appends_take_memory_in_proportion);
    tcase_add_test(tcase, large_maps_find_each_of_their_keys);
    tcase_add_test(tcase, numbers_of_other_kinds_find_keys);
    tcase_add_test(tcase, maps_are_put_together_by_their_rules);
    tcase_add_test(tcase, large_objects_are_indexed_once);
    tcase_add_test(tcase, host_maps_are_asked);
    tcase_add_loop_test(tcase, documents_are_read_in_place, 0,
                        sizeof documents / sizeof *documents);
    tcase_add_test(tcase, code_points_are_counted);
    tcase_add_loop_test(tcase, deep_values_end_in_errors, 0, 3);
    tcase_add_test(tcase, values_that_share_themselves_are_bounded);
    tcase_add_test(tcase, little_memory_ends_in_its_error);
    tcase_add_test(tcase, messages_name_the_types_of_arguments);
    return ek_test_run("cel_value", tcase);
}
