/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/semver.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    const char *text;
    const char *strict, *tolerant; /* as printed; where it does not parse, "!" and why */
} rows[] = {
    {"release", "1.36.2", "1.36.2", "1.36.2"},
    {"v", "v1.36.2", "!Invalid character(s) found in major number \"v1\"", "1.36.2"},
    {"two v", "vv1.36.2", "!Invalid character(s) found in major number \"vv1\"",
     "!Invalid character(s) found in major number \"0v1\""},
    {"short", "1.36", "!No Major.Minor.Patch elements found", "1.36.0"},
    {"shorter", "v1", "!No Major.Minor.Patch elements found", "1.0.0"},
    {"short with more", "1.36-rc", "!No Major.Minor.Patch elements found",
     "!Short version cannot contain PreRelease/Build meta data"},
    {"empty", "", "!Version string empty", "!strconv.ParseUint: parsing \"\": invalid syntax"},
    {"zeros in front", "01.036.002", "!Major number must not contain leading zeroes \"01\"",
     "1.36.2"},
    {"zeros only", "0.00.000", "!Minor number must not contain leading zeroes \"00\"", "0.0.0"},
    {"zeros before a pre-release", "1.2.00-rc.1",
     "!Patch number must not contain leading zeroes \"00\"", "1.2.0-rc.1"},
    {"no patch but a pre-release", "1.2.-rc", "!strconv.ParseUint: parsing \"\": invalid syntax",
     "1.2.0-rc"},
    {"blanks of all kinds", "\xe2\x80\x83\v 1.36.2\xc2\x85\n",
     "!Invalid character(s) found in major number \"\\u2003\\v 1\"", "1.36.2"},
    {"four parts", "1.2.3.4", "!Invalid character(s) found in patch number \"3.4\"",
     "!Invalid character(s) found in patch number \"3.4\""},
    {"everything", "1.2.3-alpha.1+b.07", "1.2.3-alpha.1+b.07", "1.2.3-alpha.1+b.07"},
    {"build with a dash", "1.2.3+a-b", "1.2.3+a-b", "1.2.3+a-b"},
    {"empty pre-release", "1.2.3-+b", "!Prerelease is empty", "!Prerelease is empty"},
    {"empty identifier", "1.2.3-a..b", "!Prerelease is empty", "!Prerelease is empty"},
    {"zero in a pre-release", "1.2.3-01",
     "!Numeric PreRelease version must not contain leading zeroes \"01\"",
     "!Numeric PreRelease version must not contain leading zeroes \"01\""},
    {"pre-release too large", "1.2.3-18446744073709551616",
     "!strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
     "!strconv.ParseUint: parsing \"18446744073709551616\": value out of range"},
    {"bad pre-release", "1.2.3-a_b", "!Invalid character(s) found in prerelease \"a_b\"",
     "!Invalid character(s) found in prerelease \"a_b\""},
    {"empty build", "1.2.3+", "!Build meta data is empty", "!Build meta data is empty"},
    {"bad build", "1.2.3+a+b", "!Invalid character(s) found in build meta data \"a+b\"",
     "!Invalid character(s) found in build meta data \"a+b\""},
};

static void check_form(const char *name, const char *text, enum ek_semver_form form,
                       const char *want)
{
    EK_AUTO(ek_buf) got;
    struct ek_semver v;

    ek_buf_init(&got, 1000);
    int rc = ek_semver_parse(ek_str_from(text), form, &v);
    if (rc)
        ek_buf_puts(&got, "!");
    ck_assert_int_eq(ek_semver_explain(ek_str_from(text), form, &got), 0);
    if (!rc)
        ck_assert_int_eq(ek_semver_format(&v, &got), 0);
    ck_assert_msg(!strcmp(ek_buf_str(&got), want), "%s, form %d: %s, not %s", name, form,
                  ek_buf_str(&got), want);
}

START_TEST(texts_parse_by_each_form)
{
    check_form(rows[_i].name, rows[_i].text, EK_SEMVER_STRICT, rows[_i].strict);
    check_form(rows[_i].name, rows[_i].text, EK_SEMVER_TOLERANT, rows[_i].tolerant);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("semver");

    tcase_add_loop_test(tcase, texts_parse_by_each_form, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("semver", tcase);
}
