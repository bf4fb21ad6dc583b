/* SPDX-License-Identifier: Apache-2.0 */
/* A cap of octets in time, with a clock in the test's hand. */
#include "api/base/mem.h"
#include "controller/proxy/cap.h"
#include "test/support/suite.h"

/* Octets that move one after the other, and how long the next one waits. */
static const struct {
    int64_t rate, at_ms;
    size_t n;
    int64_t later_ms, wait_ms;
} rows[] = {
    {0, 0, (size_t)1 << 40, 0, 0},    /* no cap */
    {1000, 0, 100, 0, 0},             /* a tenth of a second's worth at once */
    {1000, 0, 101, 0, 1},             /* more than that waits */
    {1000, 0, 1100, 0, 1000},         /* */
    {1000, 0, 1100, 999, 1},          /* the time pays */
    {1000, 0, 1100, 1000, 0},         /* */
    {1000, 0, 1100, 1000000, 0},      /* what was not used is not kept */
    {3, 0, 1, 0, 234},                /* rounded up */
    {1000, 5000000, 1100, 0, 1000},   /* at any time */
    {1000000000, 0, 1 << 30, 0, 974}, /* 2^30 thousandths of octets and more */
};

START_TEST(waits)
{
    struct ek_cap cap = {.rate = rows[_i].rate};

    ck_assert_int_eq(ek_cap_wait(&cap, rows[_i].at_ms), 0);
    ek_cap_count(&cap, rows[_i].n, rows[_i].at_ms);
    ck_assert_int_eq(ek_cap_wait(&cap, rows[_i].at_ms + rows[_i].later_ms), rows[_i].wait_ms);
}
END_TEST

/* Pieces whenever they may: in ten seconds as many octets as the rate gives, and the burst. */
START_TEST(holds_the_rate)
{
    struct ek_cap cap = {.rate = 100000};
    size_t moved = 0;

    for (int64_t now_ms = 1000; now_ms < 11000; now_ms++)
        while (ek_cap_wait(&cap, now_ms) == 0) {
            ek_cap_count(&cap, 1000, now_ms);
            moved += 1000;
        }
    ck_assert_uint_ge(moved, 1000000);
    ck_assert_uint_le(moved, 1000000 + 10000 + 1000);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cap");

    tcase_add_loop_test(tcase, waits, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, holds_the_rate);
    return ek_test_run("cap", tcase);
}
