/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of cel-go 0.26 with ext.Math and ext.Encoders. */
static const struct ek_celtest_row rows[] = {
    {"least of one", "math.least(-1.5)", "-1.5 cost 1"},
    {"least of two kinds", "math.least(3u, 2)", "2 cost 1"},
    {"least of many", "math.least(5.4, 10, 3u, -5.0)", "-5.0 cost 1"},
    {"least of a list", "math.least([dyn(2), dyn(1.5), dyn(3u)])", "1.5 cost 1"},
    {"greatest keeps the first of equals", "math.greatest(dyn(1), 1.0)", "1 cost 1"},
    {"greatest at the edge of doubles", "math.greatest(9007199254740993, 9007199254740992.0)",
     "9007199254740993 cost 1"},
    {"greatest of nothing", "math.greatest()",
     "compile: math.greatest() requires at least one argument"},
    {"greatest of a text", "math.greatest('a')",
     "compile: math.greatest() invalid single argument value"},
    {"greatest of no number", "math.greatest(1, 'a')",
     "compile: math.greatest() simple literal arguments must be numeric"},
    {"greatest of an empty list", "math.greatest([])",
     "compile: math.greatest() invalid single argument value"},
    {"somebody else's least", "[1].map(x, x).least(1)", "compile: undeclared"},
    {"no order with NaN", "math.least(0.0/0.0, 1.0)",
     "eval: NaN values cannot be ordered: math.@min"},
    {"ceil", "math.ceil(-1.2)", "-1.0 cost 1"},
    {"floor", "math.floor(-1.2)", "-2.0 cost 1"},
    {"round half away", "[math.round(2.5), math.round(-2.5), math.round(0.49)]",
     "[3.0, -3.0, 0.0] cost 13"},
    {"trunc", "math.trunc(-1.9)", "-1.0 cost 1"},
    {"infinite", "math.isInf(-1.0/0.0) && !math.isFinite(1.0/0.0)", "true cost 5"},
    {"no number", "math.isNaN(0.0/0.0) && !math.isFinite(0.0/0.0)", "true cost 5"},
    {"ceil of an int", "math.ceil(1)", "compile: found no matching overload"},
    {"abs", "[math.abs(-3), 3]", "[3, 3] cost 11"},
    {"abs of the least int", "math.abs(-9223372036854775808)", "eval: integer overflow"},
    {"abs of a double", "math.abs(-0.5)", "0.5 cost 1"},
    {"sign", "[math.sign(-7), math.sign(0), math.sign(7)]", "[-1, 0, 1] cost 13"},
    {"sign of a double", "[math.sign(-0.5), math.sign(-0.0)]", "[-1.0, 0.0] cost 12"},
    {"sign of a uint", "math.sign(7u)", "1u cost 1"},
    {"sign of NaN", "math.isNaN(math.sign(0.0/0.0))", "true cost 3"},
    {"and", "math.bitAnd(1, -1)", "1 cost 1"},
    {"or", "math.bitOr(1u, 4u)", "5u cost 1"},
    {"xor", "math.bitXor(4, -2)", "-6 cost 1"},
    {"not", "math.bitNot(0u)", "18446744073709551615u cost 1"},
    {"not of an int", "math.bitNot(1)", "-2 cost 1"},
    {"left", "math.bitShiftLeft(1, 63)", "-9223372036854775808 cost 1"},
    {"left out", "math.bitShiftLeft(1u, 64)", "0u cost 1"},
    {"right brings zeros", "math.bitShiftRight(-1024, 3)", "2305843009213693824 cost 1"},
    {"right out", "math.bitShiftRight(-1, 200)", "0 cost 1"},
    {"left by less than nothing", "math.bitShiftLeft(1, -1)",
     "eval: math.bitShiftLeft() negative offset: -1"},
    {"right by less than nothing", "math.bitShiftRight(1u, -2)",
     "eval: math.bitShiftRight() negative offset: -2"},
    {"roots", "[math.sqrt(81), math.sqrt(2u) * math.sqrt(2.0), math.sqrt(0.0)]",
     "[9.0, 2.0000000000000004, 0.0] cost 15"},
    {"root of less than nothing", "math.isNaN(math.sqrt(-1))", "true cost 2"},
    {"unknown at run time", "math.isFinite(dyn(true))", "eval: no such overload"},
    {"base64", "base64.encode(b'hello')", "\"aGVsbG8=\" cost 1"},
    {"base64 of nothing", "base64.encode(b'')", "\"\" cost 1"},
    {"from base64", "base64.decode('aGVsbG8=') == b'hello'", "true cost 2"},
    {"from base64 without padding", "base64.decode('aGVsbG8') == b'hello'", "true cost 2"},
    {"from base64 in lines", "base64.decode('aGVs\\r\\nbG8=\\n') == b'hello'", "true cost 2"},
    {"from half of a group", "base64.decode('aGVsb')", "eval: illegal base64 data at input byte"},
    {"from no base64", "base64.decode('aG-s')", "eval: illegal base64 data at input byte 2"},
    {"from too much padding", "base64.decode('aGVsbG8==')",
     "eval: illegal base64 data at input byte 7"},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_STANDARD, &rows[_i], NULL);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_STANDARD, "math.greatest([1, 2].map(x, dyn(x) * 2))");
    ek_celtest_starve(EK_CEL_ENV_STANDARD, "base64.decode(base64.encode(b'hello' + b'world'))");
    ek_celtest_starve(EK_CEL_ENV_STANDARD, "math.bitShiftLeft(1, -size('a'))");
}
END_TEST

START_TEST(kubernetes_has_none)
{
    EK_AUTOFREE char *sqrt = ek_celtest(EK_CEL_ENV_KUBERNETES, "math.sqrt(4)", NULL);
    EK_AUTOFREE char *least = ek_celtest(EK_CEL_ENV_KUBERNETES, "math.least(4, 5)", NULL);
    EK_AUTOFREE char *base64 = ek_celtest(EK_CEL_ENV_KUBERNETES, "base64.encode(b'')", NULL);

    ck_assert_ptr_nonnull(strstr(sqrt, "compile: undeclared reference to 'math'"));
    ck_assert_ptr_nonnull(strstr(least, "compile: undeclared reference to 'math'"));
    ck_assert_ptr_nonnull(strstr(base64, "compile: undeclared reference to 'base64'"));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tcase, starved);
    tcase_add_test(tcase, kubernetes_has_none);
    return ek_test_run("cel_math", tcase);
}
