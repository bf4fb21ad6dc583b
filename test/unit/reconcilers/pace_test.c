/* SPDX-License-Identifier: Apache-2.0 */
/* The pace of a subject: when a change is observed, by row. */
#include <check.h>

#include "api/base/mem.h"
#include "reconcilers/pace.h"
#include "test/support/suite.h"

#define MS INT64_C(1000000) /* ns */

static const struct {
    const char *name;
    struct ek_pace pace;
    int64_t took_ns, want_ms;
} gaps[] = {
    {"none", {0}, 7 * MS, 0},
    {"fixed", {.gap_ms = 250}, 7 * MS, 250},
    {"fixed, for a run that took no time", {.gap_ms = 250}, 0, 250},
    {"a share of the run", {.share = 10, .max_gap_ms = 5000}, 7 * MS, 70},
    {"a share of less than a millisecond", {.share = 10, .max_gap_ms = 5000}, MS / 2, 5},
    {"a share, at most", {.share = 10, .max_gap_ms = 5000}, 501 * MS, 5000},
    {"a share, at least", {.gap_ms = 250, .share = 10, .max_gap_ms = 5000}, 24 * MS, 250},
    {"a share above the least", {.gap_ms = 250, .share = 10, .max_gap_ms = 5000}, 26 * MS, 260},
    {"the most without a share says nothing", {.max_gap_ms = 5000}, 501 * MS, 0},
};

START_TEST(gap)
{
    int64_t got = ek_pace_gap_ms(&gaps[_i].pace, gaps[_i].took_ns);
    ck_assert_msg(got == gaps[_i].want_ms, "%s: %ld", gaps[_i].name, (long)got);
}
END_TEST

static const struct {
    const char *name;
    struct ek_pace pace;
    int64_t now_ms, next_ms, want_ms;
} delays[] = {
    {"at once", {0}, 1000, 0, 0},
    {"the gap is over", {0}, 1000, 1000, 0},
    {"the rest of the gap", {0}, 1000, 1249, 249},
    {"what changes with it settles", {.settle_ms = 5}, 1000, 0, 5},
    {"it settles within the gap", {.settle_ms = 5}, 1000, 1249, 249},
    {"it settles after the gap", {.settle_ms = 5}, 1000, 1004, 5},
    {"both end at once", {.settle_ms = 5}, 1000, 1005, 5},
};

START_TEST(delay)
{
    int64_t got = ek_pace_delay_ms(&delays[_i].pace, delays[_i].now_ms, delays[_i].next_ms);
    ck_assert_msg(got == delays[_i].want_ms, "%s: %ld", delays[_i].name, (long)got);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pace");

    tcase_add_loop_test(tc, gap, 0, EK_ARRAY_SIZE(gaps));
    tcase_add_loop_test(tc, delay, 0, EK_ARRAY_SIZE(delays));
    return ek_test_run("pace", tc);
}
