/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patch/jsondiff.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsonpatch.h"
#include "test/support/deep.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

static yyjson_doc *read_doc(const char *json)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(json, strlen(json), &err);

    ck_assert_msg(doc != NULL, "%s: %s", json, err.message);
    return doc;
}

static const struct {
    const char *name, *from, *to, *want;
} rows[] = {
    {"nothing", "{\"a\":[1,{\"b\":null}]}", "{\"a\":[1,{\"b\":null}]}", "[]"},
    {"numbers by value, members in any order", "{\"a\":1,\"b\":2.0}", "{\"b\":2,\"a\":1.0}", "[]"},
    {"a member more", "{\"a\":1}", "{\"a\":1,\"b\":{\"c\":2}}",
     "[{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":2}}]"},
    {"a member less", "{\"a\":1,\"b\":2}", "{\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]"},
    {"another value, escaped",
     "{\"x/y\":{\"~\":\"a\",\"k\":\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"}}",
     "{\"x/y\":{\"~\":\"b\",\"k\":\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"}}",
     "[{\"op\":\"replace\",\"path\":\"/x~1y/~0\",\"value\":\"b\"}]"},
    {"null is a value", "{\"a\":1}", "{\"a\":null}",
     "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":null}]"},
    {"another kind", "{\"a\":[]}", "{\"a\":{}}",
     "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{}}]"},
    {"the whole document", "[1]", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]"},
    {"an item in front", "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"b\"]",
     "[\"n\",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"b\"]",
     "[{\"op\":\"add\",\"path\":\"/0\",\"value\":\"n\"}]"},
    {"an item at the end", "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"b\"]",
     "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"b\",\"n\"]",
     "[{\"op\":\"add\",\"path\":\"/2\",\"value\":\"n\"}]"},
    {"items out of the middle and the front",
     "[\"a\",\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\"c\",\"d\","
     "\"eeeeeeeeeeeeeeeeeeee\"]",
     "[\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\"d\",\"eeeeeeeeeeeeeeeeeeee\"]",
     "[{\"op\":\"remove\",\"path\":\"/0\"},{\"op\":\"remove\",\"path\":\"/1\"}]"},
    {"short lists are replaced", "[[1,2,3]]", "[[3,4,5]]",
     "[{\"op\":\"replace\",\"path\":\"/0\",\"value\":[3,4,5]}]"},
    {"one of named items changed, one new",
     "{\"containers\":[{\"name\":\"app\",\"image\":\"app:1\",\"command\":[\"/bin/"
     "app\",\"--verbose\"]},"
     "{\"name\":\"log\",\"image\":\"log:1\",\"command\":[\"/bin/log\",\"--everything\"]}]}",
     "{\"containers\":[{\"name\":\"mesh\",\"image\":\"mesh:1\"},{\"name\":\"app\",\"image\":\"app:"
     "2\","
     "\"command\":[\"/bin/app\",\"--verbose\"]},{\"name\":\"log\",\"image\":\"log:1\",\"command\":["
     "\"/bin/log\",\"--everything\"]}]}",
     "[{\"op\":\"add\",\"path\":\"/containers/"
     "0\",\"value\":{\"name\":\"mesh\",\"image\":\"mesh:1\"}},"
     "{\"op\":\"replace\",\"path\":\"/containers/1/image\",\"value\":\"app:2\"}]"},
    {"two of named items changed places",
     "[{\"name\":\"a\",\"v\":\"a\"},{\"name\":\"b\",\"v\":"
     "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}]",
     "[{\"name\":\"b\",\"v\":"
     "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"},{\"name\":\"a\","
     "\"v\":\"a\"}]",
     "[{\"op\":\"remove\",\"path\":\"/0\"},{\"op\":\"add\",\"path\":\"/"
     "1\",\"value\":{\"name\":\"a\",\"v\":"
     "\"a\"}}]"},
};

/* The patch that makes to of from, as text; checks that it does. */
static char *difference(yyjson_val *from, yyjson_val *to, const char *name)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *want = yyjson_val_mut_copy(doc, to), *tree = yyjson_val_mut_copy(doc, from);
    yyjson_mut_val *patch = NULL;
    struct ek_jsonpatch_op *ops = NULL;
    struct ek_err err = {0};
    size_t n = 0;

    ck_assert_msg(ek_jsondiff(from, want, doc, NULL, &patch, &err) == 0, "%s: %s", name,
                  err.message);
    char *text = jsonlines_mut_text(patch);
    yyjson_doc *read = yyjson_mut_val_imut_copy(patch, NULL);
    ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(read), doc, &ops, &n, &err), 0);
    ck_assert_msg(ek_jsonpatch_apply(doc, &tree, ops, n, 0, NULL, NULL, &err) == 0, "%s: %s: %s",
                  name, text, err.message);
    ck_assert_msg(ek_jsondiff_equal(to, tree, NULL), "%s: %s", name, text);
    ck_assert_int_eq(n == 0, ek_jsondiff_equal(from, want, NULL));
    ek_free(ops);
    yyjson_doc_free(read);
    yyjson_mut_doc_free(doc);
    return text;
}

START_TEST(differences)
{
    yyjson_doc *from = read_doc(rows[_i].from), *to = read_doc(rows[_i].to);
    char *got = difference(yyjson_doc_get_root(from), yyjson_doc_get_root(to), rows[_i].name);

    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: got %s", rows[_i].name, got);
    free(got);
    yyjson_doc_free(from);
    yyjson_doc_free(to);
}
END_TEST

static uint64_t seed;

static unsigned draw(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static yyjson_mut_val *random_scalar(yyjson_mut_doc *doc)
{
    static const char *const words[] = {"", "a", "b", "~", "x/y", "a longer piece of text"};

    switch (draw(5)) {
    case 0:
        return yyjson_mut_null(doc);
    case 1:
        return yyjson_mut_bool(doc, draw(2));
    case 2:
        return yyjson_mut_sint(doc, (int64_t)draw(4) - 1);
    case 3:
        return yyjson_mut_real(doc, draw(3) / 2.0);
    default:
        return yyjson_mut_str(doc, words[draw(EK_ARRAY_SIZE(words))]);
    }
}

static yyjson_mut_val *random_value(yyjson_mut_doc *doc, int depth)
{
    static const char *const names[] = {"name", "a", "b", "", "m~n", "x/y", "k", "0"};
    unsigned n = draw(40) == 0 ? 40 : draw(5), first = draw(8);
    char more[16];

    if (depth == 0 || draw(3) == 0)
        return random_scalar(doc);
    if (draw(2)) {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        for (unsigned i = 0; i < n; i++)
            yyjson_mut_arr_append(list, random_value(doc, n > 8 ? 1 : depth - 1));
        return list;
    }
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    for (unsigned i = 0; i < n; i++) {
        snprintf(more, sizeof more, "n%u", i);
        const char *name = i < 8 ? names[(first + i) % 8] : more;
        yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, name),
                           random_value(doc, n > 8 ? 1 : depth - 1));
    }
    return object;
}

/* Changes some places of a tree. */
static void disturb(yyjson_mut_doc *doc, yyjson_mut_val *value)
{
    size_t n = yyjson_mut_is_obj(value) ? yyjson_mut_obj_size(value) : yyjson_mut_arr_size(value);
    size_t i, max;
    yyjson_mut_val *key, *val;

    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        if (draw(3))
            disturb(doc, val);
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        if (draw(3))
            disturb(doc, val);
    }
    if (yyjson_mut_is_arr(value) && draw(2)) {
        yyjson_mut_arr_insert(value, random_value(doc, 2), draw((unsigned)n + 1));
        if (draw(2))
            yyjson_mut_arr_remove(value, draw((unsigned)n + 1));
        if (draw(3) == 0)
            yyjson_mut_arr_rotate(value, draw((unsigned)n + 1));
    } else if (yyjson_mut_is_obj(value) && draw(2)) {
        yyjson_mut_obj_put(value, yyjson_mut_str(doc, "new"), random_value(doc, 2));
        if (draw(2))
            yyjson_mut_obj_remove_key(value, draw(2) ? "a" : "b");
        if (draw(3) == 0 && n > 1)
            yyjson_mut_obj_rotate(value, draw((unsigned)n));
    } else if (!unsafe_yyjson_is_ctn(value) && draw(8) == 0) {
        yyjson_mut_set_sint(value, draw(100));
    }
}

START_TEST(any_difference_can_be_applied)
{
    seed = 20260101 + (uint64_t)_i;
    for (int i = 0; i < 2000; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *from = yyjson_mut_arr(doc), *to = yyjson_mut_arr(doc);
        yyjson_mut_val *value = random_value(doc, 5);
        yyjson_mut_arr_append(to, yyjson_mut_val_mut_copy(doc, value));
        yyjson_mut_arr_append(from, value);
        if (draw(5) == 0)
            yyjson_mut_arr_replace(to, 0, random_value(doc, 5));
        else
            disturb(doc, to);
        yyjson_doc *one = yyjson_mut_val_imut_copy(from, NULL);
        yyjson_doc *two = yyjson_mut_val_imut_copy(to, NULL);
        char name[32];
        snprintf(name, sizeof name, "seed %d, %d", _i, i);
        free(difference(yyjson_doc_get_root(one), yyjson_doc_get_root(two), name));
        yyjson_doc_free(one);
        yyjson_doc_free(two);
        yyjson_mut_doc_free(doc);
    }
}
END_TEST

/* Arrays too long to be aligned, names in the reverse order, deep chains of lists: bounded work. */
START_TEST(large_values_take_bounded_work)
{
    enum { N = 30000 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *from = yyjson_mut_obj(doc), *to = yyjson_mut_obj(doc);
    yyjson_mut_val *list = yyjson_mut_arr(doc), *names = yyjson_mut_obj(doc);
    yyjson_mut_val *list_to = yyjson_mut_arr(doc), *names_to = yyjson_mut_obj(doc);
    char text[16];

    for (int i = 0; i < N; i++) {
        yyjson_mut_arr_add_int(doc, list, i);
        yyjson_mut_arr_add_int(doc, list_to, i * 7 % N);
        snprintf(text, sizeof text, "n%d", i);
        yyjson_mut_obj_add(names, yyjson_mut_strcpy(doc, text), yyjson_mut_int(doc, i));
        snprintf(text, sizeof text, "n%d", N - i);
        yyjson_mut_obj_add(names_to, yyjson_mut_strcpy(doc, text), yyjson_mut_int(doc, N - i));
    }
    yyjson_mut_obj_add_val(doc, from, "list", list);
    yyjson_mut_obj_add_val(doc, to, "list", list_to);
    yyjson_mut_obj_add_val(doc, from, "names", names);
    yyjson_mut_obj_add_val(doc, to, "names", names_to);
    yyjson_doc *one = yyjson_mut_val_imut_copy(from, NULL),
               *two = yyjson_mut_val_imut_copy(to, NULL);
    char *patch = difference(yyjson_doc_get_root(one), yyjson_doc_get_root(two), "large");
    ck_assert_ptr_nonnull(strstr(patch, "{\"op\":\"remove\",\"path\":\"/names/n0\"}"));
    ck_assert_ptr_nonnull(strstr(patch, "{\"op\":\"add\",\"path\":\"/names/n30000\""));
    ck_assert_ptr_nonnull(
        strstr(patch, "{\"op\":\"replace\",\"path\":\"/list\",\"value\":[0,7,14,"));
    free(patch);
    yyjson_doc_free(one);
    yyjson_doc_free(two);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* A long name over many changes would make a patch much larger than the value. */
START_TEST(long_paths_do_not_add_up)
{
    enum { LEN = 20000, N = 2000 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *from = yyjson_mut_obj(doc), *to = yyjson_mut_obj(doc);
    yyjson_mut_val *a = yyjson_mut_arr(doc), *b = yyjson_mut_arr(doc);
    EK_AUTOFREE char *name = ek_xalloc(LEN + 1);

    memset(name, 'n', LEN);
    for (int i = 0; i < N; i++) {
        yyjson_mut_arr_add_int(doc, a, 2 * i);
        yyjson_mut_arr_add_int(doc, b, 2 * i + 1);
    }
    yyjson_mut_obj_add_val(doc, from, name, a);
    yyjson_mut_obj_add_val(doc, to, name, b);
    yyjson_doc *one = yyjson_mut_val_imut_copy(from, NULL),
               *two = yyjson_mut_val_imut_copy(to, NULL);
    char *patch = difference(yyjson_doc_get_root(one), yyjson_doc_get_root(two), "long name");
    ck_assert_uint_lt(strlen(patch), 2 * LEN);
    free(patch);
    yyjson_doc_free(one);
    yyjson_doc_free(two);
    yyjson_mut_doc_free(doc);
}
END_TEST

static int depth_is_bounded_body(void *unused)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *from = yyjson_mut_int(doc, 1), *to = yyjson_mut_int(doc, 2), *patch = NULL;
    struct ek_err err = {0};

    (void)unused;
    for (int i = 0; i <= EK_JSON_DEPTH_MAX; i++) {
        yyjson_mut_val *outer = yyjson_mut_arr(doc), *outer_to = yyjson_mut_arr(doc);
        yyjson_mut_arr_append(outer, from);
        yyjson_mut_arr_append(outer_to, to);
        from = outer;
        to = outer_to;
    }
    yyjson_doc *one = yyjson_mut_val_imut_copy(from, NULL);
    ck_assert_int_eq(ek_jsondiff(yyjson_doc_get_root(one), to, doc, NULL, &patch, &err),
                     EK_E_LIMIT);
    ck_assert_str_eq(err.message, "a value nests deeper than 10000 levels");
    ck_assert(!ek_jsondiff_equal(yyjson_doc_get_root(one), from, NULL));
    yyjson_doc_free(one);
    yyjson_mut_doc_free(doc);
    return 0;
}

START_TEST(depth_is_bounded)
{
    EK_DEEP(depth_is_bounded_body);
}
END_TEST

START_TEST(memory_may_end)
{
    yyjson_doc *from = read_doc("{\"a\":[1,2,{\"name\":\"x\"},3],\"b\":1}");
    yyjson_doc *to = read_doc("{\"b\":{\"c\":[]},\"a\":[2,{\"name\":\"x\",\"y\":\"z\"},4,3]}");
    int rc = EK_E_NOMEM;

    for (long k = 1; rc && k < 200; k++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc), *other = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *tree = yyjson_val_mut_copy(other, yyjson_doc_get_root(to)), *patch = NULL;
        ek_alloc_fail_after(k);
        rc = ek_jsondiff(yyjson_doc_get_root(from), tree, doc, NULL, &patch, NULL);
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == 0 || rc == EK_E_NOMEM, "%ld: %d", k, rc);
        ck_assert_int_eq(rc == 0, patch != NULL);
        yyjson_mut_doc_free(doc);
        yyjson_mut_doc_free(other);
    }
    ck_assert_int_eq(rc, 0);
    yyjson_doc_free(from);
    yyjson_doc_free(to);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("jsondiff");

    tcase_add_loop_test(t, differences, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(t, any_difference_can_be_applied, 0, 10);
    tcase_add_test(t, large_values_take_bounded_work);
    tcase_add_test(t, long_paths_do_not_add_up);
    tcase_add_test(t, depth_is_bounded);
    tcase_add_test(t, memory_may_end);
    return ek_test_run("jsondiff", t);
}
