/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/field.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

/* Rows of Kubernetes 1.36, apiserver/pkg/cel/escaping_test.go: TestEscaping, and names that are not
 * at hand as C strings. */
static const struct {
    const char *name;
    const char *want; /* NULL: expressions cannot have the name */
} rows[] = {
    {"a", "a"},
    {"namespace", "__namespace__"},
    {"in", "__in__"},
    {"if", "__if__"},
    {"self", "self"},
    {"int", "int"},
    {"", NULL},
    {"4a", NULL},
    {"a4", "a4"},
    {"_if", "_if"},
    {"__if__", "__underscores__if__underscores__"},
    {"___", "__underscores___"},
    {"a.b", "a__dot__b"},
    {"a-b", "a__dash__b"},
    {"a/b", "a__slash__b"},
    {"-", "__dash__"},
    {"a__b", "a__underscores__b"},
    {"a b", NULL},
    {"a$", NULL},
    {"\xc3\xa9", NULL},
};

START_TEST(names_are_escaped)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    char text[64];

    /* What follows the name is not looked at. */
    memset(text, '_', sizeof text);
    memcpy(text, rows[_i].name, strlen(rows[_i].name));
    const char *got = ek_cel_escaped_name((struct ek_str){text, strlen(rows[_i].name)}, arena);
    ck_assert_msg((!got && !rows[_i].want) || (got && rows[_i].want && !strcmp(got, rows[_i].want)),
                  "%s: %s", rows[_i].name, got ? got : "(none)");
    ek_arena_free(arena);
}
END_TEST

/* No name is cut, however long. */
START_TEST(long_names_are_whole)
{
    static char name[100000];
    struct ek_arena *arena = ek_arena_new((size_t)4 << 20);

    memset(name, '-', sizeof name);
    const char *got = ek_cel_escaped_name((struct ek_str){name, sizeof name}, arena);
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(strlen(got), sizeof name * strlen("__dash__"));
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("field");

    tcase_add_loop_test(tcase, names_are_escaped, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, long_names_are_whole);
    return ek_test_run("field", tcase);
}
