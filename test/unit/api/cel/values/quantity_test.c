/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/values/account.h"
#include "api/cel/values/quantity.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of Kubernetes 1.36. */
static const struct ek_celtest_row rows[] = {
    {"integer", "quantity('1')", "kubernetes.Quantity(1) cost 1"},
    {"milli", "quantity('1.5')", "kubernetes.Quantity(1500m) cost 1"},
    {"binary", "quantity('1024Mi')", "kubernetes.Quantity(1Gi) cost 1"},
    {"half a binary", "quantity('0.5Gi')", "kubernetes.Quantity(512Mi) cost 1"},
    {"exponent", "quantity('12e-3')", "kubernetes.Quantity(12e-3) cost 1"},
    {"capital exponent", "quantity('1E+05')", "kubernetes.Quantity(100e3) cost 1"},
    {"plus is kept", "quantity('+1')", "kubernetes.Quantity(+1) cost 1"},
    {"zeros in front are kept", "quantity('0000001')", "kubernetes.Quantity(0000001) cost 1"},
    {"suffix alone", "quantity('Gi')", "kubernetes.Quantity(0) cost 1"},
    {"sign alone", "quantity('-')", "kubernetes.Quantity(0) cost 1"},
    {"point alone", "quantity('.')", "kubernetes.Quantity(0) cost 1"},
    {"rounded up to nano", "quantity('0.0000000001')", "kubernetes.Quantity(1n) cost 2"},
    {"rounded away from zero", "quantity('-0.0000000001')", "kubernetes.Quantity(-1n) cost 2"},
    {"capped", "quantity('123456789012345678901234567890Ei')",
     "kubernetes.Quantity(9223372036854775807) cost 4"},
    {"capped below", "quantity('-8Ei')", "kubernetes.Quantity(-9223372036854775807) cost 1"},
    {"not capped", "quantity('123456789012345678901234567890')",
     "kubernetes.Quantity(123456789012345678901234567890) cost 3"},
    {"tiny share of a binary", "quantity('0.000000000000000000001Ei')",
     "kubernetes.Quantity(1152922n) cost 3"},
    {"no suffix beyond E", "quantity('1000E')", "kubernetes.Quantity(1) cost 1"},
    {"exponents have no end", "quantity('1e1000')", "kubernetes.Quantity(10e999) cost 1"},
    {"exponent of int32", "quantity('1e4294967297')", "kubernetes.Quantity(10) cost 2"},
    {"exponent beyond int64", "quantity('1e9223372036854775808')",
     "eval: unable to parse quantity's suffix"},
    {"empty", "quantity('')",
     "eval: quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"two points", "quantity('1.5.5')",
     "eval: quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"blank", "quantity(' 1')",
     "eval: quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"unknown suffix", "quantity('1K')", "eval: unable to parse quantity's suffix"},
    {"digits behind the suffix", "quantity('1Ki5')", "eval: unable to parse quantity's suffix"},
    {"no number", "quantity('Pi')", "eval: unable to parse numeric part of quantity"},
    {"is one", "isQuantity('1.3Gi')", "true cost 1"},
    {"is none", "isQuantity('1,3Gi')", "false cost 1"},
    {"is none without digits", "isQuantity('+.Pi')", "false cost 1"},
    {"long text costs", "isQuantity('00000000000000000000000000001')", "true cost 3"},
    {"small is an integer", "quantity('50000000G').isInteger()", "true cost 2"},
    {"big is not", "quantity('9223372036854775808').isInteger()", "false cost 3"},
    {"fraction is not", "quantity('1.5Gi').isInteger()", "false cost 2"},
    {"as integer", "quantity('50k').asInteger()", "50000 cost 2"},
    {"too large", "quantity('10E').asInteger()", "eval: cannot convert value to integer"},
    {"fraction", "quantity('1m').asInteger()", "eval: cannot convert value to integer"},
    {"zero with an exponent", "quantity('0e2147483647').asInteger()", "0 cost 3"},
    {"double", "quantity('0.3').asApproximateFloat()", "0.30000000000000004 cost 2"},
    {"double of a big one", "quantity('123456789012345678901234567890').asApproximateFloat()",
     "123456789012345700000000000000.0 cost 4"},
    {"double out of range", "quantity('-1e309').asApproximateFloat()",
     "double(\"-Infinity\") cost 2"},
    {"zero times infinity", "quantity('0e500').asApproximateFloat()", "double(\"NaN\") cost 2"},
    {"sign", "[sign(quantity('-1m')), sign(quantity('0Ki')), sign(quantity('1e99'))]",
     "[-1, 0, 1] cost 16"},
    {"sign is no member", "quantity('1').sign()",
     "compile: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"},
    {"order", "quantity('50Mi').compareTo(quantity('50M'))", "1 cost 3"},
    {"order by scale", "quantity('200M').compareTo(quantity('0.2G'))", "0 cost 3"},
    {"order of far apart", "quantity('1e1000000').compareTo(quantity('-1e-9'))", "1 cost 3"},
    {"greater", "quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true cost 3"},
    {"less", "quantity('-1').isLessThan(quantity('-1.0000000001'))", "false cost 4"},
    {"equal", "quantity('1Gi') == quantity('1024Mi')", "true cost 3"},
    {"equal big and small", "quantity('1.50') == quantity('1500.0000000000000000m')",
     "true cost 5"},
    {"sum", "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
     "true cost 7"},
    {"sum has the left suffix", "quantity('1Ki').add(quantity('1k'))",
     "kubernetes.Quantity(2024) cost 3"},
    {"sum with zero has the right suffix", "quantity('0').add(quantity('1Ki'))",
     "kubernetes.Quantity(1Ki) cost 3"},
    {"sum beyond int64", "quantity('7Ei').add(quantity('7Ei'))",
     "kubernetes.Quantity(14Ei) cost 3"},
    {"sum at the edge", "quantity('-7Ei').sub(quantity('1Ei'))",
     "kubernetes.Quantity(-8Ei) cost 3"},
    {"sum of scales", "quantity('1').add(quantity('1e-9')).sub(quantity('1n'))",
     "kubernetes.Quantity(1) cost 5"},
    {"difference of the least int", "quantity('0').sub(-9223372036854775807 - 1)",
     "kubernetes.Quantity(-9223372036854775808) cost 3"},
    {"difference of big ones",
     "quantity('123456789012345678901').sub(quantity('123456789012345678900'))",
     "kubernetes.Quantity(1) cost 7"},
    {"sum on the right of equals", "quantity('2') == quantity('1').add(1)",
     "eval: no such overload"},
    {"sum on the left of equals", "quantity('1').add(1) == quantity('2')", "true cost 4"},
    {"sum unequal to anything on its right", "quantity('2') != quantity('1').add(1)",
     "true cost 4"},
    {"nothing else is equal", "dyn(quantity('1')) == 1", "eval: no such overload"},
    {"null is unequal", "dyn(quantity('1')) == null", "false cost 3"},
    {"adding changes a big one", "[quantity('1.5Gi')].map(q, [q.add(1), q, q.add(1)])",
     "[[kubernetes.Quantity(1610612738), kubernetes.Quantity(1610612738), "
     "kubernetes.Quantity(1610612738)]] cost 39"},
    {"adding leaves a small one", "[quantity('1Gi')].map(q, [q.add(1), q])",
     "[[kubernetes.Quantity(1073741825), kubernetes.Quantity(1Gi)]] cost 37"},
    {"comparing makes big",
     "[quantity('5')].map(q, [q.isInteger(), q.isLessThan(quantity('1.5Gi')), q.isInteger()])",
     "[[true, true, false]] cost 41"},
    {"equals does not", "[quantity('5')].map(q, [q == quantity('1.5Gi'), q.isInteger()])",
     "[[false, true]] cost 39"},
    {"add takes no text", "quantity('1').add('1')",
     "compile: found no matching overload for 'add' applied to 'kubernetes.Quantity.(string)'"},
    {"add of another type", "quantity('1').add(dyn('1'))",
     "eval: no such overload: add(kubernetes.Quantity, string)"},
    {"type", "type(quantity('1')) == type(quantity('1').add(1))", "true cost 6"},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_MUTATION, &rows[_i], NULL);
}
END_TEST

static char digits[5000];

/* A chain of sums of numbers too long for any register, against what must come out. */
START_TEST(long_digits)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_cel_eval eval = {.arena = arena};
    struct ek_cel_quantity nines, one, sum;
    const char *why;
    struct ek_buf out;

    memset(digits, '9', sizeof digits - 1);
    ck_assert_int_eq(ek_cel_quantity_parse(&eval, ek_str_from(digits), &nines, &why), 0);
    one = ek_cel_quantity_of_int(1);
    ck_assert(ek_cel_quantity_add(&eval, &nines, &one, &sum));
    ek_buf_init(&out, sizeof digits);
    ck_assert_int_eq(ek_cel_quantity_format(&sum, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), "10");                   /* 10^4999 has no suffix */
    ck_assert_int_eq(ek_cel_quantity_compare(&nines, &sum), 0); /* they share the number */
    ck_assert(ek_cel_quantity_sub(&eval, &sum, &one, &sum));
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_cel_quantity_format(&sum, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), digits);
    ek_buf_done(&out);
    ek_arena_free(arena);
}
END_TEST

/* An exponent that the reference works at for minutes, and one that no memory holds. */
START_TEST(far_exponents)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_cel_eval eval = {.arena = arena};
    struct ek_cel_quantity tiny, large, one = ek_cel_quantity_of_int(1), nano, sum;
    const char *why;

    ck_assert_int_eq(ek_cel_quantity_parse(&eval, EK_STR("3e-2147483647"), &tiny, &why), 0);
    ck_assert_int_eq(ek_cel_quantity_parse(&eval, EK_STR("1n"), &nano, &why), 0);
    ck_assert_int_eq(ek_cel_quantity_compare(&tiny, &nano), 0);
    ck_assert_int_eq(ek_cel_quantity_parse(&eval, EK_STR("1e2147483647"), &large, &why), 0);
    ck_assert_int_eq(ek_cel_quantity_compare(&large, &one), 1);
    ck_assert(!ek_cel_quantity_add(&eval, &large, &one, &sum));
    ck_assert_int_eq(
        ek_cel_quantity_parse(&eval, EK_STR("12345678901234567890e2000000000"), &large, &why),
        EK_E_NOMEM);
    ek_arena_free(arena);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_MUTATION,
                      "quantity('1.5Gi').add(quantity('1e30')).asApproximateFloat()");
    ek_celtest_starve(EK_CEL_ENV_MUTATION,
                      "quantity('5').isLessThan(quantity('12345678901234567890'))");
    ek_celtest_starve(EK_CEL_ENV_MUTATION,
                      "quantity('12345678901234567890123').sub(quantity('1n'))");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, long_digits);
    tcase_add_test(tcase, far_exponents);
    tcase_add_test(tcase, starved);
    return ek_test_run("cel_quantity", tcase);
}
