/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that releases know, against the objects that they serialised. */
#include "reconcilers/plan/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

/* Makes the place that a path names ("spec.list[].map{}.x"), with what is on the way. */
static void put_path(yyjson_mut_doc *doc, yyjson_mut_val *at, const char *path)
{
    while (*path) {
        char name[256];
        size_t len = strcspn(path, ".[{");
        snprintf(name, sizeof name, "%.*s", (int)len, path);
        path += len;
        bool list = !strncmp(path, "[]", 2), map = !strncmp(path, "{}", 2);
        yyjson_mut_val *next = yyjson_mut_obj_get(at, name);
        if (next && list && !yyjson_mut_is_arr(next)) { /* named before without its elements */
            yyjson_mut_obj_remove_key(at, name);
            next = NULL;
        }
        if (!next) {
            next = list ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
            yyjson_mut_obj_add(at, yyjson_mut_strcpy(doc, name), next);
        }
        while (list || map) {
            yyjson_mut_val *inner =
                list ? yyjson_mut_arr_get_first(next) : yyjson_mut_obj_get(next, "key");
            path += 2;
            bool next_list = !strncmp(path, "[]", 2);
            if (!inner) {
                inner = next_list ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
                if (list)
                    yyjson_mut_arr_append(next, inner);
                else
                    yyjson_mut_obj_add_val(doc, next, "key", inner);
            }
            next = inner;
            list = next_list;
            map = !strncmp(path, "{}", 2);
        }
        at = next;
        path += *path == '.';
    }
}

struct found {
    char paths[512][512];
    size_t n;
};

static void note(void *ctx, const struct ek_field_unknown *field)
{
    struct found *found = ctx;
    char *out = found->paths[found->n++];

    ck_assert_uint_lt(found->n, 512);
    for (const char *p = field->path; *p; p++) {
        if (!strncmp(p, "[0]", 3)) {
            strncat(out, "[]", 3);
            p += 2;
        } else if (!strncmp(p, "[key]", 5)) {
            strncat(out, "{}", 3);
            p += 4;
        } else {
            size_t len = strlen(out);
            out[len] = *p;
            out[len + 1] = '\0';
        }
    }
}

/* True when the release lacks the path, by the recording. */
static bool lacks(yyjson_val *record, const char *path, struct ek_minor release)
{
    const char *since = ek_json_str(yyjson_obj_get(record, "since"), path, NULL);
    const char *last = ek_json_str(yyjson_obj_get(record, "last_in"), path, NULL);

    return (since && ek_minor_cmp(ek_minor_parse(since), release) > 0) ||
           (last && ek_minor_cmp(ek_minor_parse(last), release) < 0);
}

/* The same for a field around path. */
static bool lacks_parent(yyjson_val *record, const char *path, struct ek_minor release)
{
    for (const char *p = path; (p = strpbrk(p, ".[{")); p++) {
        char parent[512];
        snprintf(parent, sizeof parent, "%.*s", (int)(p - path), path);
        if (lacks(record, parent, release))
            return true;
        if (*p != '.') { /* the elements have the path with the brackets */
            snprintf(parent, sizeof parent, "%.*s", (int)(p - path + 2), path);
            if (strlen(parent) < strlen(path) && lacks(record, parent, release))
                return true;
        }
    }
    return false;
}

static void check_path(yyjson_val *record, const char *path, struct ek_minor release,
                       const struct found *found, size_t *expected)
{
    bool want = lacks(record, path, release) && !lacks_parent(record, path, release), got = false;

    for (size_t i = 0; i < found->n; i++)
        got |= !strcmp(found->paths[i], path);
    ck_assert_msg(want == got, "%s %s, %s at 1.%u: recorded %s",
                  ek_json_str(record, "apiVersion", NULL), ek_json_str(record, "kind", NULL), path,
                  (unsigned)release.minor, want ? "unknown" : "known");
    *expected += want;

    struct ek_field_unknown field;
    bool alone = ek_fields_find(&data, ek_json_str(record, "apiVersion", NULL),
                                ek_json_str(record, "kind", NULL), path, release, &field);
    ck_assert_msg(alone == lacks(record, path, release), "%s at 1.%u", path,
                  (unsigned)release.minor);
    if (alone && field.went)
        ck_assert_ptr_nonnull(yyjson_obj_get(yyjson_obj_get(record, "last_in"), path));
    else if (alone)
        ck_assert_str_eq(ek_minor_format(field.at, (char[EK_MINOR_SIZE]){0}),
                         ek_json_str(yyjson_obj_get(record, "since"), path, NULL));
}

static void check_release(yyjson_val *record, yyjson_val *object, struct ek_minor release)
{
    struct found *found = calloc(1, sizeof *found);
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    yyjson_val *path, *value;
    size_t i, n, expected = 0;

    ek_fields_unknown(&data, object, release, arena, note, found);
    yyjson_arr_foreach(yyjson_obj_get(record, "fields_at_first"), i, n, path)
    {
        check_path(record, yyjson_get_str(path), release, found, &expected);
    }
    ek_json_each_member(yyjson_obj_get(record, "since"), i, n, path, value)
    {
        check_path(record, yyjson_get_str(path), release, found, &expected);
    }
    ck_assert_uint_eq(expected, found->n);
    ek_arena_free(arena);
    free(found);
}

static void check_record(void *ctx, size_t line, yyjson_val *record)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    const char *api_version = ek_json_str(record, "apiVersion", NULL);
    const char *kind = ek_json_str(record, "kind", NULL);
    yyjson_val *path, *value, *releases = yyjson_obj_get(record, "releases");
    size_t i, n;

    (void)ctx;
    (void)line;
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", api_version);
    yyjson_mut_obj_add_str(doc, root, "kind", kind);
    yyjson_arr_foreach(yyjson_obj_get(record, "fields_at_first"), i, n, path)
    {
        if (strcmp(yyjson_get_str(path), "apiVersion") != 0 &&
            strcmp(yyjson_get_str(path), "kind") != 0)
            put_path(doc, root, yyjson_get_str(path));
    }
    ek_json_each_member(yyjson_obj_get(record, "since"), i, n, path, value)
    {
        put_path(doc, root, yyjson_get_str(path));
    }
    yyjson_doc *object = yyjson_mut_doc_imut_copy(doc, NULL);
    for (uint64_t minor = 33; minor <= 36; minor++) {
        struct ek_minor release = EK_MINOR(1, minor);
        char text[EK_MINOR_SIZE];
        bool has = false;
        yyjson_arr_foreach(releases, i, n, value)
        {
            has |= yyjson_equals_str(value, ek_minor_format(release, text));
        }
        if (has)
            check_release(record, yyjson_doc_get_root(object), release);
    }
    yyjson_doc_free(object);
    yyjson_mut_doc_free(doc);
}

START_TEST(fields_are_those_of_the_releases)
{
    ck_assert_uint_gt(jsonlines_read(EK_SHARED_DATA "/versions/fields.jsonl", check_record, NULL),
                      10);
}
END_TEST

START_TEST(beyond_the_data_nothing_is_said)
{
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"schedulingGroup\":{}}}";
    yyjson_doc *doc = yyjson_read(text, sizeof text - 1, 0);
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct found *found = calloc(1, sizeof *found);

    ek_fields_unknown(&data, yyjson_doc_get_root(doc), EK_MINOR(1, 32), arena, note, found);
    ek_fields_unknown(&data, yyjson_doc_get_root(doc), EK_MINOR(1, 36), arena, note, found);
    ck_assert_uint_eq(found->n, 0);
    ek_fields_unknown(&data, yyjson_doc_get_root(doc), EK_MINOR(1, 35), arena, note, found);
    ck_assert_uint_eq(found->n, 1);
    ck_assert_str_eq(found->paths[0], "spec.schedulingGroup");
    free(found);
    ek_arena_free(arena);
    yyjson_doc_free(doc);
}
END_TEST

static void count(void *ctx, const struct ek_field_unknown *field)
{
    size_t *n = ctx;

    n[!strncmp(field->path, "spec.initContainers", 19)]++;
}

/* Many places of one path do not hide those of another path. */
START_TEST(each_path_has_its_own_limit)
{
    EK_AUTO(ek_buf) text;
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    size_t n[2] = {0};

    ek_buf_init(&text, (size_t)8 << 20);
    ek_buf_puts(&text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{}");
    for (int i = 0; i < 5000; i++)
        ek_buf_puts(&text, ",{\"restartPolicyRules\":[]}");
    ek_buf_puts(&text, "],\"initContainers\":[{\"restartPolicyRules\":[]}]}}");
    yyjson_doc *doc = yyjson_read(ek_buf_str(&text), text.len, 0);
    ck_assert_ptr_nonnull(doc);
    ek_fields_unknown(&data, yyjson_doc_get_root(doc), EK_MINOR(1, 33), arena, count, n);
    ck_assert_uint_eq(n[0], 4096);
    ck_assert_uint_eq(n[1], 1);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("fields");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_test(tcase, fields_are_those_of_the_releases);
    tcase_add_test(tcase, beyond_the_data_nothing_is_said);
    tcase_add_test(tcase, each_path_has_its_own_limit);
    return ek_test_run("fields", tcase);
}
