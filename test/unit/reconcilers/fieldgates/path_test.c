/* SPDX-License-Identifier: Apache-2.0 */
/* Field paths, by row. */
#include "reconcilers/fieldgates/path.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/patch/pointer.h"
#include "test/support/suite.h"

/* ---- What is a path ---- */

static const struct {
    const char *text, *canonical, *pointer;
} good[] = {
    {".spec", ".spec", "/spec"},
    {".spec.replicas", ".spec.replicas", "/spec/replicas"},
    {".spec['replicas']", ".spec.replicas", "/spec/replicas"},
    {"['spec'].replicas", ".spec.replicas", "/spec/replicas"},
    {"['spec']['replicas']", ".spec.replicas", "/spec/replicas"},
    {".spec['k8s.io/tier'].mode", ".spec['k8s.io/tier'].mode", "/spec/k8s.io~1tier/mode"},
    {".spec['a~b']", ".spec['a~b']", "/spec/a~0b"},
    {".spec['it\\'s']", ".spec['it\\'s']", "/spec/it's"},
    {".spec['a\\\\b']", ".spec['a\\\\b']", "/spec/a\\b"},
    {".spec['a-b']", ".spec['a-b']", "/spec/a-b"},
    {".spec['7']", ".spec['7']", "/spec/7"},
    {".spec['[0]']", ".spec['[0]']", "/spec/[0]"},
    {"['my-data']", "['my-data']", "/my-data"},
    {".spec.in.true", ".spec['in']['true']", "/spec/in/true"},
    {".spec['gr\xc3\xb6\xc3\x9f"
     "e']",
     ".spec['gr\xc3\xb6\xc3\x9f"
     "e']",
     "/spec/gr\xc3\xb6\xc3\x9f"
     "e"},
    {"._a9", "._a9", "/_a9"},
    {".spec.template.metadata.name", ".spec.template.metadata.name",
     "/spec/template/metadata/name"},
    {".metadataX", ".metadataX", "/metadataX"},
    {".status.phase", ".status.phase", "/status/phase"},
    {".spec.ports[*].name", ".spec.ports[*].name", "/spec/ports//name"},
    {".spec['a'][*]['b']", ".spec.a[*].b", "/spec/a//b"},
    {".a[*][*][*].b", ".a[*][*][*].b", "/a////b"},
    {".spec['*'].a", ".spec['*'].a", "/spec/*/a"},
};

START_TEST(test_good)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_field_path path, again;
    struct ek_err err = {0};
    EK_AUTO(ek_buf) pointer;

    ek_buf_init(&pointer, 4096);
    ck_assert_msg(!ek_field_path_parse(good[_i].text, arena, &path, &err), "%s: %s", good[_i].text,
                  err.message);
    ck_assert_str_eq(path.text, good[_i].canonical);
    for (size_t i = 0; i < path.n; i++)
        ek_pointer_push(&pointer, path.names[i]);
    ck_assert_str_eq(ek_buf_str(&pointer), good[_i].pointer);
    ck_assert_int_eq(ek_field_path_parse(path.text, arena, &again, &err), 0);
    ck_assert_str_eq(again.text, path.text);
    ck_assert(ek_field_path_covers(&path, &again) && ek_field_path_covers(&again, &path));
    ek_arena_free(arena);
}
END_TEST

/* ---- What is none ---- */

#define ONE_BY_ONE                                                                                 \
    "offset 2: the items of a list cannot be gated one by one: gate the list, or fields of all "   \
    "items below [*]"

static const struct {
    const char *text;
    int code;
    const char *message;
} bad[] = {
    {"", EK_E_PARSE, "offset 0: a path is expected"},
    {".", EK_E_PARSE, "offset 1: a name is missing after '.'"},
    {"spec.a", EK_E_PARSE, "offset 0: a path starts with '.'"},
    {"..a", EK_E_PARSE, "offset 1: a name is missing after '.'"},
    {".a.", EK_E_PARSE, "offset 3: a name is missing after '.'"},
    {".a[", EK_E_PARSE, "offset 3: a name in single quotes is expected after '['"},
    {".a['x]", EK_E_PARSE, "offset 2: the quote is not closed"},
    {".a['x'", EK_E_PARSE, "offset 6: ']' is missing"},
    {".a[0]", EK_E_PARSE, ONE_BY_ONE},
    {".a[*]", EK_E_PARSE,
     "offset 2: a path ends at a field: gate the list or the map, or fields below [*]"},
    {".a[*][*]", EK_E_PARSE,
     "offset 5: a path ends at a field: gate the list or the map, or fields below [*]"},
    {"[*].a", EK_E_PARSE, "offset 0: a path starts with the name of a field"},
    {".a[*", EK_E_PARSE, ONE_BY_ONE},
    {".a[**].b", EK_E_PARSE, ONE_BY_ONE},
    {".a[*]b", EK_E_PARSE, "offset 5: '.', '[' or the end is expected after ']'"},
    {".a[*].b[*].c[*].d[*].e", EK_E_LIMIT, "offset 17: more than 3 [*]"},
    {".a[-1]", EK_E_PARSE, ONE_BY_ONE},
    {".a[?(@.b)]", EK_E_PARSE, ONE_BY_ONE},
    {"$.a", EK_E_PARSE, "offset 0: a path starts with '.', and is not a JSONPath template"},
    {"{.a}", EK_E_PARSE, "offset 0: a path starts with '.', and is not a JSONPath template"},
    {".a[\"x\"]", EK_E_PARSE, "offset 3: a name in single quotes is expected after '['"},
    {".a['']", EK_E_PARSE, "offset 4: a name is missing between the quotes"},
    {".a['\\n']", EK_E_PARSE, "offset 4: only \\' and \\\\ are escapes in a name"},
    {".a['x\n']", EK_E_PARSE, "offset 5: a name must not have control characters"},
    {".a['\xff']", EK_E_PARSE, "offset 4: a name must be valid UTF-8"},
    {".a-b", EK_E_PARSE, "offset 2: '-' can be in a name in brackets only, as in ['my-name']"},
    {".a b", EK_E_PARSE,
     "offset 2: such a character can be in a name in brackets only, as in ['k8s.io/x']"},
    {".a['b']c", EK_E_PARSE, "offset 7: '.', '[' or the end is expected after ']'"},
    {".a.*", EK_E_PARSE, "offset 3: a name is missing after '.'"},
    {".9", EK_E_PARSE, "offset 1: a name is missing after '.'"},
    {".metadata", EK_E_INVAL, "offset 0: metadata cannot be gated"},
    {".metadata.labels['x']", EK_E_INVAL, "offset 0: metadata cannot be gated"},
    {"['metadata'].name", EK_E_INVAL, "offset 0: metadata cannot be gated"},
    {".apiVersion", EK_E_INVAL, "offset 0: apiVersion cannot be gated"},
    {".kind", EK_E_INVAL, "offset 0: kind cannot be gated"},
};

START_TEST(test_bad)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_field_path path = {.text = "untouched"};
    struct ek_err err = {0};

    ck_assert_int_eq(ek_field_path_parse(bad[_i].text, arena, &path, &err), bad[_i].code);
    ck_assert_str_eq(err.message, bad[_i].message);
    ck_assert_str_eq(path.text, "untouched");
    ek_arena_free(arena);
}
END_TEST

/* A path of n names of one letter; or of one name of n letters. */
static int parse_deep(struct ek_arena *arena, size_t n, struct ek_field_path *path,
                      struct ek_err *err)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    for (size_t i = 0; i < n; i++)
        ek_buf_puts(&text, ".a");
    return ek_field_path_parse(ek_buf_str(&text), arena, path, err);
}

static int parse_long(struct ek_arena *arena, size_t n, struct ek_field_path *path,
                      struct ek_err *err)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    ek_buf_puts(&text, ".");
    for (size_t i = 0; i < n; i++)
        ek_buf_puts(&text, "a");
    return ek_field_path_parse(ek_buf_str(&text), arena, path, err);
}

START_TEST(test_limits)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_field_path path;
    struct ek_err err = {0};

    ck_assert_int_eq(parse_long(arena, EK_FIELD_PATH_MAX - 1, &path, NULL), 0);
    ck_assert_int_eq(parse_long(arena, EK_FIELD_PATH_MAX, &path, &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "offset 1024: longer than 1024 octets");
    ck_assert_int_eq(parse_deep(arena, EK_FIELD_PATH_NAMES_MAX, &path, NULL), 0);
    ck_assert_uint_eq(path.n, EK_FIELD_PATH_NAMES_MAX);
    ck_assert_int_eq(parse_deep(arena, EK_FIELD_PATH_NAMES_MAX + 1, &path, &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "offset 64: more than 32 names");
    ek_arena_free(arena);
}
END_TEST

/* ---- One in another ---- */

static const struct {
    const char *a, *b;
    bool covers;
} covers[] = {
    {".spec", ".spec.foo", true},
    {".spec.foo", ".spec.foo", true},
    {".spec.foo.bar", ".spec.foo", false},
    {".spec.foo", ".spec.foobar", false},
    {".spec.foobar", ".spec.foo.bar", false},
    {".spec['a.b']", ".spec.a.b", false},
};

START_TEST(test_covers)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_field_path a, b;

    ck_assert_int_eq(ek_field_path_parse(covers[_i].a, arena, &a, NULL), 0);
    ck_assert_int_eq(ek_field_path_parse(covers[_i].b, arena, &b, NULL), 0);
    ck_assert(ek_field_path_covers(&a, &b) == covers[_i].covers);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_good, 0, EK_ARRAY_SIZE(good));
    tcase_add_loop_test(tcase, test_bad, 0, EK_ARRAY_SIZE(bad));
    tcase_add_test(tcase, test_limits);
    tcase_add_loop_test(tcase, test_covers, 0, EK_ARRAY_SIZE(covers));
    return ek_test_run("gates_path", tcase);
}
