/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of versions, each with the answer of blang/semver v4.0.0 for the versions below. */
#include <check.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "api/semver.h"
#include "test/support/suite.h"

static const char *const versions[] = {"1.2.3",        "1.0.0",   "1.0.5", "2.0.0", "0.9.0",
                                       "2.0.3-beta.2", "1.0.0-x", "1.3.0", "0.0.0"};

static const struct {
    const char *range;
    const char *within; /* a digit for each version; NULL where the range does not parse */
} rows[] = {
    {">=1.0.0 <2.0.0", "111000010"},
    {"<2.0.0 || >=3.0.0", "111010111"},
    {">1.0.0 <3.0.0 !2.0.3-beta.2", "101100010"},
    {"1.2.3", "100000000"},
    {"=1.2.3", "100000000"},
    {"==1.2.3", "100000000"},
    {"!=1.2.3", "011111111"},
    {"! 1.2.3", "100000000"},
    {">= 1.0.0 < 2.0.0", "111000010"},
    {"1.2.x", "100000000"},
    {"1.x", "111000010"},
    {"1.x.x", "011000000"},
    {">1.2.x", "000101010"},
    {"<=1.2.x", "111010101"},
    {"<1.2.x", "011010101"},
    {">=1.2.x", "100101010"},
    {"!=1.2.x", "000000000"},
    {"~1.x", "010000000"},
    {">=1.0.0-x", "111101110"},
    {"=1.0.0-x", NULL},
    {"", NULL},
    {" ", NULL},
    {"||", NULL},
    {"1.2.3 ||", NULL},
    {"|| 1.2.3", NULL},
    {"1.2.3 || 2.0.0", "100100000"},
    {"1.2.3||2.0.0", NULL},
    {">=v1.0.0", NULL},
    {">=1.0", NULL},
    {"x", NULL},
    {"1 1.2.3", "100000000"},
    {">\t1.0.0", "101101010"},
    {"<1.0.0-alpha", "000010001"},
    {">=01.0.0", NULL},
    {"  >=1.0.0   <1.3.0  ", "111000000"},
    {">=1.0.0, <2.0.0", NULL},
    {"^1.2.0", NULL},
    {">=1.2.3+build", "100101010"},
    {"<2.0.0 2", "111010111"},
    {"9223372036854775807.x", NULL},
    {"1.2.3 x", "100000000"},
    {"<1.2.3 1.x || 2.0.0", "011100000"},
    /* Not as the source: a part without a condition makes the source fail as it is used. */
    {"1.2.3 || || 2.0.0", NULL},
    {">=1.0.0 \xc3\xa9", NULL},
};

START_TEST(ranges_hold_as_in_the_source)
{
    const char *range = rows[_i].range, *within = rows[_i].within;

    for (size_t i = 0; i < EK_ARRAY_SIZE(versions); i++) {
        struct ek_semver version;
        bool holds = false;
        ck_assert_int_eq(ek_semver_parse(ek_str_from(versions[i]), EK_SEMVER_STRICT, &version), 0);
        int rc = ek_semver_within(ek_str_from(range), &version, &holds);
        ck_assert_msg(rc == (within ? 0 : EK_E_PARSE), "\"%s\" gives %d", range, rc);
        ck_assert_msg(!within || holds == (within[i] == '1'), "\"%s\" of %s is %d", range,
                      versions[i], holds);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("semver_range");

    tcase_add_loop_test(tcase, ranges_hold_as_in_the_source, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("semver_range", tcase);
}
