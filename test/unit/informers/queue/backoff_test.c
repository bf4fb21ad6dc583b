/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "informers/queue/backoff.h"
#include "test/support/suite.h"

/* The reflector's sequence without its random part: 0.8 s, x2, at most 30 s. */
static const int64_t sequence[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000};

START_TEST(delays_double_up_to_the_cap)
{
    struct ek_backoff_config config = EK_BACKOFF_REFLECTOR;
    struct ek_backoff backoff;

    config.jitter = 0;
    ek_backoff_init(&backoff, &config, 1, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(sequence); i++)
        ck_assert_int_eq(ek_backoff_next(&backoff, 0), sequence[i]);
    ek_backoff_reset(&backoff);
    ck_assert_int_eq(ek_backoff_next(&backoff, 0), 800);
}
END_TEST

START_TEST(jitter_lengthens_by_up_to_its_factor)
{
    struct ek_backoff_config config = EK_BACKOFF_REFLECTOR;
    int64_t low = INT64_MAX, high = 0;

    for (uint64_t seed = 0; seed < 500; seed++) {
        struct ek_backoff backoff;
        ek_backoff_init(&backoff, &config, seed, 0);
        for (size_t i = 0; i < EK_ARRAY_SIZE(sequence); i++) {
            int64_t delay = ek_backoff_next(&backoff, 0);
            ck_assert_int_ge(delay, sequence[i]);
            ck_assert_int_lt(delay, 2 * sequence[i]);
            if (i == 8) {
                low = delay < low ? delay : low;
                high = delay > high ? delay : high;
            }
        }
    }
    ck_assert_int_lt(low, 31000); /* spread over all of [30 s, 60 s) */
    ck_assert_int_gt(high, 59000);
}
END_TEST

static const struct {
    const char *name;
    int64_t pause_ms; /* between the third and the fourth use */
    int64_t fourth;
} pauses[] = {
    {"at once", 0, 6400},
    {"two minutes", 120000, 6400},
    {"more than two minutes", 120001, 800},
};

START_TEST(a_long_pause_starts_anew)
{
    struct ek_backoff_config config = EK_BACKOFF_REFLECTOR;
    struct ek_backoff backoff;

    config.jitter = 0;
    ek_backoff_init(&backoff, &config, 1, 5000);
    for (int i = 0; i < 3; i++)
        ek_backoff_next(&backoff, 6000);
    int64_t fourth = ek_backoff_next(&backoff, 6000 + pauses[_i].pause_ms);
    ck_assert_msg(fourth == pauses[_i].fourth, "%s: %lld", pauses[_i].name, (long long)fourth);
}
END_TEST

START_TEST(other_numbers)
{
    struct ek_backoff_config config = {.initial_ms = 5, .max_ms = 1000000, .factor = 2};
    struct ek_backoff backoff;
    int64_t expected = 5;

    ek_backoff_init(&backoff, &config, 1, 0);
    for (int i = 0; i < 18; i++, expected *= 2)
        ck_assert_int_eq(ek_backoff_next(&backoff, (int64_t)i * 1000000), expected);
    ck_assert_int_eq(ek_backoff_next(&backoff, 0), 1000000);
}
END_TEST

/* The same seed gives the same numbers; units stay in [0, 1). */
START_TEST(the_generator_repeats)
{
    struct ek_rand a = {7}, b = {7}, c = {8};
    int same = 0;

    for (int i = 0; i < 1000; i++) {
        double x = ek_rand_unit(&a), y = ek_rand_unit(&b);
        ck_assert(x == y && x >= 0 && x < 1);
        same += x == ek_rand_unit(&c);
    }
    ck_assert_int_eq(same, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("backoff");

    tcase_add_test(tcase, delays_double_up_to_the_cap);
    tcase_add_test(tcase, jitter_lengthens_by_up_to_its_factor);
    tcase_add_loop_test(tcase, a_long_pause_starts_anew, 0, (int)EK_ARRAY_SIZE(pauses));
    tcase_add_test(tcase, other_numbers);
    tcase_add_test(tcase, the_generator_repeats);
    return ek_test_run("backoff", tcase);
}
