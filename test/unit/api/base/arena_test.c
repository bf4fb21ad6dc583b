/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/arena_hold.h"
#include "api/base/mem.h"
#include "test/support/suite.h"

START_TEST(memory_is_zeroed_aligned_and_apart)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    unsigned char *before = NULL;

    for (size_t size = 1; size < 300; size += 7) {
        unsigned char *p = ek_arena_alloc(arena, size);
        ck_assert_uint_eq((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(p[i], 0);
        memset(p, 0xff, size);
        ck_assert_ptr_ne(p, before);
        before = p;
    }
    ek_arena_free(arena);
    ek_arena_free(NULL);
}
END_TEST

START_TEST(blocks_of_any_size_work)
{
    struct ek_arena *arena = ek_arena_new(10 << 20);
    char *small = ek_arena_strdup(arena, "small");
    char *large = ek_arena_alloc(arena, 3 << 20);

    memset(large, 'x', 3 << 20);
    char *after = ek_arena_strdup(arena, "after");
    ck_assert_str_eq(small, "small");
    ck_assert_str_eq(after, "after");
    ck_assert_uint_ge(ek_arena_used(arena), 3 << 20);
    ek_arena_free(arena);
}
END_TEST

START_TEST(strings_are_copied)
{
    struct ek_arena *arena = ek_arena_new(1 << 16);
    char text[] = "abcdef";

    char *whole = ek_arena_strdup(arena, text), *part = ek_arena_strndup(arena, text, 3);
    text[0] = 'X';
    ck_assert_str_eq(whole, "abcdef");
    ck_assert_str_eq(part, "abc");
    ck_assert_str_eq(ek_arena_strndup(arena, NULL, 0), "");
    ck_assert_ptr_null(ek_arena_strdup(arena, NULL));
    ck_assert_str_eq(ek_arena_printf(arena, "%s-%d", "x", 42), "x-42");
    ek_arena_free(arena);
}
END_TEST

START_TEST(the_limit_is_reported_and_memory_still_given)
{
    struct ek_arena *arena = ek_arena_new(1024);

    ck_assert_ptr_nonnull(ek_arena_alloc(arena, 1024));
    ck_assert(!ek_arena_exhausted(arena));
    char *more = ek_arena_alloc(arena, 512);
    memset(more, 'x', 512);
    ck_assert(ek_arena_exhausted(arena));
    ck_assert_uint_eq(ek_arena_used(arena), 1536);
    ek_arena_free(arena);
}
END_TEST

START_TEST(twice_the_limit_aborts)
{
    struct ek_arena *arena = ek_arena_new(1024);
    ek_arena_alloc(arena, 4096);
}
END_TEST

static size_t metered, meter_limit;

static bool take(void *ctx, size_t n)
{
    (void)ctx;
    if (n > meter_limit - metered)
        return false;
    metered += n;
    return true;
}

static void give(void *ctx, size_t n)
{
    (void)ctx;
    metered -= n;
}

/* What an arena holds is counted, and refused where there is no room, until the reset. */
START_TEST(meter)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);

    metered = 0;
    meter_limit = 100000;
    ek_arena_set_meter(arena, &(struct ek_arena_meter){.take = take, .give = give});
    ck_assert_ptr_nonnull(ek_arena_try(arena, 50000));
    ck_assert_uint_ge(metered, 50000);
    ck_assert(!ek_arena_starved(arena));
    ck_assert_ptr_null(ek_arena_try(arena, 80000));
    ck_assert(ek_arena_starved(arena));
    ck_assert_ptr_null(ek_arena_try(arena, 70000));      /* what was refused once is void anyway */
    ck_assert_ptr_nonnull(ek_arena_alloc(arena, 80000)); /* there is no way to refuse this */
    ck_assert_uint_le(metered, meter_limit);
    ek_arena_reset(arena);
    ck_assert(!ek_arena_starved(arena));
    ck_assert_uint_le(metered, meter_limit);
    ek_arena_free(arena);
    ck_assert_uint_eq(metered, 0);
}
END_TEST

/* What its owner has besides is counted in the same way. */
START_TEST(held_outside)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);

    metered = 0;
    meter_limit = 100000;
    ck_assert(!ek_arena_is_metered(arena) && ek_arena_hold(arena, 200000));
    ek_arena_give(arena, 200000);
    ek_arena_set_meter(arena, &(struct ek_arena_meter){.take = take, .give = give});
    ck_assert(ek_arena_is_metered(arena) && ek_arena_hold(arena, 60000));
    ck_assert_uint_eq(metered, 60000);
    ck_assert(!ek_arena_starved(arena) && !ek_arena_hold(arena, 60000));
    ck_assert(ek_arena_starved(arena) && !ek_arena_hold(arena, 1));
    ek_arena_give(arena, 60000);
    ek_arena_reset(arena);
    ck_assert(ek_arena_hold(arena, 100000));
    ek_arena_give(arena, 100000);
    ek_arena_free(arena);
    ck_assert_uint_eq(metered, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("arena");

    tcase_add_test(tcase, memory_is_zeroed_aligned_and_apart);
    tcase_add_test(tcase, blocks_of_any_size_work);
    tcase_add_test(tcase, strings_are_copied);
    tcase_add_test(tcase, the_limit_is_reported_and_memory_still_given);
    tcase_add_test(tcase, meter);
    tcase_add_test(tcase, held_outside);
    tcase_add_test_raise_signal(tcase, twice_the_limit_aborts, SIGABRT);
    return ek_test_run("arena", tcase);
}
