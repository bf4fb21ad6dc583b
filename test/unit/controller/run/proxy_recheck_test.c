/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_recheck.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

/* Steps "TIME EVENT", where w is something that is wanted, g all once more, and t the timer. The
 * result has each look and, behind "+", the milliseconds to the next call. */
static const struct {
    const char *label, *steps, *expected;
} rows[] = {
    {"the first look is at all", "0w", "0all"},
    {"at any time of the clock", "-5000w", "-5000all"},
    {"nothing is wanted", "0t 5000t", ""},
    {"a second want soon", "0w 10w", "0all 10+240"},
    {"the absent ones when it is due, all a second after the last", "0w 10w 250t 1000t",
     "0all 10+240 250absent+750 1000all"},
    {"wants in between count once", "0w 10w 20w 30w 250t 1000t",
     "0all 10+240 20+230 30+220 250absent+750 1000all"},
    {"wants at each millisecond of the gap end in one look", "0w 249w 250w 251w",
     "0all 249+1 250absent+750 251+249"},
    {"a flood: four looks at the absent ones for one at all",
     "0w 1w 250t 251w 500t 501w 750t 751w 1000t 1001w",
     "0all 1+249 250absent+750 251+249 500absent+500 501+249 750absent+250 751+249 1000all "
     "1001+249"},
    {"a late want", "0w 400w", "0all 400absent+600"},
    {"after the gap: all", "0w 1000w", "0all 1000all"},
    {"long after", "0w 90000w", "0all 90000all"},
    {"all once more, without the absent ones", "0w 0g 250t 1000t", "0all 0+1000 250+750 1000all"},
    {"a timer that comes early", "0w 10w 200t 250t", "0all 10+240 200+50 250absent+750"},
    {"a timer that comes late does both in one", "0w 10w 1500t", "0all 10+240 1500all"},
    {"quiet ends it", "0w 10w 250t 1000t 2000t", "0all 10+240 250absent+750 1000all"},
};

static void step(struct ek_proxy_recheck *recheck, long long now_ms, char event, char *out,
                 size_t size)
{
    static const char *const names[] = {"", "absent", "all"};
    size_t len = strlen(out);
    int64_t in_ms;

    if (event == 'w')
        ek_proxy_recheck_want(recheck);
    else if (event == 'g')
        ek_proxy_recheck_want_again(recheck);
    enum ek_proxy_look look = ek_proxy_recheck_next(recheck, now_ms, &in_ms);
    if (look == EK_PROXY_LOOK_NONE && in_ms < 0)
        return;
    len += (size_t)snprintf(out + len, size - len, "%s%lld%s", len ? " " : "", now_ms, names[look]);
    if (in_ms >= 0)
        snprintf(out + len, size - len, "+%lld", (long long)in_ms);
}

START_TEST(looks)
{
    struct ek_proxy_recheck recheck = {0};
    char out[512] = "";
    char *end;

    for (const char *at = rows[_i].steps; *at; at = end + 1 + (end[1] == ' ')) {
        long long now_ms = strtoll(at, &end, 10);
        step(&recheck, now_ms, *end, out, sizeof out);
    }
    ck_assert_msg(!strcmp(out, rows[_i].expected), "%s: %s", rows[_i].label, out);
}
END_TEST

/* However many requests miss an API server in however short a time: the looks of a minute are
 * bounded, and no want is later than the gap. */
START_TEST(no_storm)
{
    struct ek_proxy_recheck recheck = {0};
    size_t n_all = 0, n_absent = 0;
    int64_t last_ms = 0;

    for (int64_t now_ms = 0; now_ms < 60000; now_ms++) {
        int64_t in_ms;
        ek_proxy_recheck_want(&recheck);
        enum ek_proxy_look look = ek_proxy_recheck_next(&recheck, now_ms, &in_ms);
        n_all += look == EK_PROXY_LOOK_ALL;
        n_absent += look == EK_PROXY_LOOK_ABSENT;
        if (look != EK_PROXY_LOOK_NONE)
            last_ms = now_ms;
        ck_assert_int_lt(now_ms - last_ms, EK_PROXY_RECHECK_ABSENT_MS);
        ck_assert_int_le(in_ms, EK_PROXY_RECHECK_ALL_MS);
    }
    ck_assert_uint_eq(n_all, 60);
    ck_assert_uint_eq(n_absent, 60 * 3);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("recheck");

    tcase_add_loop_test(tcase, looks, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, no_storm);
    return ek_test_run("proxy_recheck", tcase);
}
