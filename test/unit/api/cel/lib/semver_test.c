/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of Kubernetes 1.36. */
static const struct ek_celtest_row rows[] = {
    {"release", "semver('1.2.3')", "kubernetes.Semver(1.2.3) cost 1"},
    {"everything", "semver('1.2.3-alpha.1+build.5')",
     "kubernetes.Semver(1.2.3-alpha.1+build.5) cost 3"},
    {"v", "semver('v1.2.3')", "eval: Invalid character(s) found in major number \"v1\""},
    {"v, normalised", "semver('v01.2', true)", "kubernetes.Semver(1.2.0) cost 1"},
    {"normalised on request", "semver('v1.2.3', false)",
     "eval: Invalid character(s) found in major number \"v1\""},
    {"zeros, normalised", "semver('00.010.00-rc', true)", "kubernetes.Semver(0.10.0-rc) cost 2"},
    {"blank, normalised", "semver(' 1.2.3', true)",
     "eval: Invalid character(s) found in major number \"0 1\""},
    {"short, normalised", "semver('1-rc', true)",
     "eval: short version cannot contain PreRelease/Build meta data"},
    {"short", "semver('1.2')", "eval: No Major.Minor.Patch elements found"},
    {"empty", "semver('')", "eval: Version string empty"},
    {"empty, normalised", "semver('', true)",
     "eval: strconv.ParseUint: parsing \"\": invalid syntax"},
    {"too large", "semver('18446744073709551616.0.0')",
     "eval: strconv.ParseUint: parsing \"18446744073709551616\": value out of range"},
    {"numbers wrap", "semver('18446744073709551615.0.0').major()", "-1 cost 4"},
    {"is one", "[isSemver('1.2.3'), isSemver('1.2'), isSemver('1.2', true)]",
     "[true, false, true] cost 13"},
    {"parts",
     "[semver('1.2.3-4+5').major(), semver('1.2.3-4+5').minor(), semver('1.2.3-4+5').patch()]",
     "[1, 2, 3] cost 16"},
    {"equal but for the build", "semver('1.2.3+a') == semver('1.2.3+b')", "true cost 3"},
    {"pre-release before release", "semver('1.2.3-rc').compareTo(semver('1.2.3'))", "-1 cost 3"},
    {"numbers before words", "semver('1.2.3-99').compareTo(semver('1.2.3-a'))", "-1 cost 3"},
    {"numbers by value", "semver('1.2.3-9').compareTo(semver('1.2.3-10'))", "-1 cost 3"},
    {"words by octets", "semver('1.2.3-a').compareTo(semver('1.2.3-B'))", "1 cost 3"},
    {"longer after its start", "semver('1.2.3-a.b').compareTo(semver('1.2.3-a'))", "1 cost 3"},
    {"longer word after its start", "semver('1.2.3-alpha').isLessThan(semver('1.2.3-alphabet'))",
     "true cost 5"},
    {"greater", "semver('1.10.0').isGreaterThan(semver('1.9.9'))", "true cost 3"},
    {"patch decides", "semver('1.2.4').isGreaterThan(semver('1.2.3'))", "true cost 3"},
    {"less", "semver('2.0.0').isLessThan(semver('1.0.0'))", "false cost 3"},
    {"no key of a map", "dyn(semver('1.2.3')) in dyn({1: 1})",
     "eval: internal error: hash of unhashable type kubernetes.Semver"},
    {"text to compare with", "semver('1.2.3').compareTo(dyn('1.2.3'))",
     "eval: no such overload: compareTo(kubernetes.Semver, string)"},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_MUTATION, &rows[_i], NULL);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "semver('v1.2', true).compareTo(semver('1.2.3'))");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, starved);
    return ek_test_run("cel_semver", tcase);
}
