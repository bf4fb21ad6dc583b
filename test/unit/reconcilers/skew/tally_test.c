/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/tally.h"
#include "test/support/suite.h"

#include <check.h>
#include <stdlib.h>

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)

/* Many keys stay apart; names are the first ones, whatever order they come in. */
START_TEST(tallies)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_tally tally;

    ek_tally_init(&tally, arena, 2000);
    for (int i = 0; i < 2000; i++)
        ek_tally_add(&tally, ek_arena_printf(arena, "key-%d", i % 1000),
                     ek_arena_printf(arena, "name-%04d", 9999 - i));
    ck_assert_uint_eq(tally.n, 1000);
    for (size_t i = 0; i < tally.n; i++)
        ck_assert_uint_eq(tally.entries[i].count, 2);
    ck_assert_str_eq(tally.entries[0].names[0], "name-8999");
    ck_assert_str_eq(tally.entries[0].names[1], "name-9999");

    struct ek_tally one;
    ek_tally_init(&one, arena, 5);
    for (const char *const *name = (const char *const[]){"c", "e", "a", "d", "b", NULL}; *name;
         name++)
        ek_tally_add(&one, "key", *name);
    ck_assert_uint_eq(one.entries[0].n_names, 3);
    ck_assert_str_eq(one.entries[0].names[0], "a");
    ck_assert_str_eq(one.entries[0].names[1], "b");
    ck_assert_str_eq(one.entries[0].names[2], "c");
    ek_tally_fold(&tally, "key-0", &one.entries[0]);
    ck_assert_uint_eq(tally.entries[0].count, 7);
    ck_assert_str_eq(tally.entries[0].names[2], "c");
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, tallies);
    return ek_test_run("tally", tc);
}
