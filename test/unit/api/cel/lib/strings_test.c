/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/text/runes.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of a Kubernetes 1.36 API server. */
static const struct ek_celtest_row kubernetes_rows[] = {
    {"charAt", "'a😀b'.charAt(1)", "\"😀\" cost 1"},
    {"charAt the end", "'aé'.charAt(2)", "\"\" cost 1"},
    {"charAt behind the end", "'aé'.charAt(3)", "eval: index out of range: 3"},
    {"charAt before the start", "'aé'.charAt(-1)", "eval: index out of range: -1"},
    {"indexOf counts code points", "'日本語日本'.indexOf('日本', 1)", "3 cost 1"},
    {"indexOf nothing is where it began", "'abc'.indexOf('', 99)", "99 cost 0"},
    {"indexOf from behind", "'abc'.indexOf('a', 3)", "-1 cost 0"},
    {"indexOf from before", "'abc'.indexOf('a', -1)", "eval: index out of range: -1"},
    {"indexOf costs octets", "'ééééé'.indexOf('x')", "-1 cost 1"},
    {"lastIndexOf", "'hello mellow'.lastIndexOf('ello')", "7 cost 1"},
    {"lastIndexOf up to", "'hello mellow'.lastIndexOf('ello', 6)", "1 cost 1"},
    {"lastIndexOf right at", "'hello mellow'.lastIndexOf('ello', 7)", "7 cost 1"},
    {"lastIndexOf from behind", "'hello mellow'.lastIndexOf('ello', 20)", "-1 cost 1"},
    {"lastIndexOf nothing", "'aé'.lastIndexOf('')", "2 cost 0"},
    {"lastIndexOf more than there is", "'a'.lastIndexOf('aa')", "-1 cost 0"},
    {"lowerAscii", "'TacoCÆt'.lowerAscii()", "\"tacocÆt\" cost 1"},
    {"upperAscii", "'tacocæt'.upperAscii()", "\"TACOCæT\" cost 1"},
    {"replace", "'hello hello'.replace('he', 'we')", "\"wello wello\" cost 3"},
    {"replace some", "'hello hello'.replace('he', 'we', 1)", "\"wello hello\" cost 3"},
    {"replace none", "'hello'.replace('he', 'we', 0)", "\"hello\" cost 1"},
    {"replace nothing", "'aé'.replace('', '_')", "\"_a_é_\" cost 1"},
    {"replace nothing twice", "'aé'.replace('', '_', 2)", "\"_a_é\" cost 1"},
    {"replace by nothing", "'hello'.replace('l', '')", "\"heo\" cost 1"},
    {"split", "'a,b,,c'.split(',')", "[\"a\", \"b\", \"\", \"c\"] cost 2"},
    {"split in two", "'a,b,c'.split(',', 2)", "[\"a\", \"b,c\"] cost 1"},
    {"split in none", "'a,b'.split(',', 0)", "[] cost 1"},
    {"split in one", "'a,b'.split(',', 1)", "[\"a,b\"] cost 1"},
    {"split into characters", "'aé日'.split('')", "[\"a\", \"é\", \"日\"] cost 1"},
    {"split into two characters", "'aé日'.split('', 2)", "[\"a\", \"é日\"] cost 1"},
    {"split nothing into characters", "''.split('')", "[] cost 0"},
    {"split nothing", "''.split(',')", "[\"\"] cost 0"},
    {"substring", "'tacocat'.substring(4)", "\"cat\" cost 1"},
    {"substring of code points", "'日本語'.substring(1, 2)", "\"本\" cost 1"},
    {"substring the wrong way", "'abc'.substring(2, 1)",
     "eval: invalid substring range. start: 2, end: 1"},
    {"substring behind", "'abc'.substring(1, 4)", "eval: index out of range: 4"},
    {"substring before", "'abc'.substring(-1, 2)", "eval: index out of range: -1"},
    {"trim", "' \\t\\u00a0\\u3000a b\\u2028\\u0085'.trim()", "\"a b\" cost 1"},
    {"trim leaves a joiner", "'\\u200b '.trim().size()", "1 cost 2"},
    {"trim all", "' \\n '.trim()", "\"\" cost 1"},
    {"quote", "strings.quote('a\"\\\\\\n\\t\\u0001é') == '\"a\\\\\"\\\\\\\\\\\\n\\\\t\\u0001é\"'",
     "true cost 3"},
    {"join", "['a', 'é', ''].join('--')", "\"a--é--\" cost 2"},
    {"join without", "['a', 'b'].join()", "\"ab\" cost 1"},
    {"join what is no text", "dyn([1, 2]).join()", "eval: no such overload"},
    {"join a later number", "[dyn('a'), dyn(1)].join()", "eval: join: invalid input"},
    {"no reverse of a text", "'abc'.reverse()", "compile: found no matching overload"},
};

/* The same of its string.format. */
static const struct ek_celtest_row format_rows[] = {
    {"texts", "'%s %s%%'.format(['a', 1])", "\"a 1%\" cost 1"},
    {"numbers in groups", "'%f'.format([1234567.5])", "\"1,234,567.500000\" cost 1"},
    {"carry into a group", "'%.0f'.format([999.5])", "\"1,000\" cost 1"},
    {"half to even", "'%.0f %.0f'.format([0.5, 1.5])", "\"0 2\" cost 1"},
    {"less than nothing", "'%f %f'.format([-0.0, -0.00000001])", "\"0.000000 -0.000000\" cost 1"},
    {"precision in eight bits", "'%.256f %.300f'.format([1.5, 0.1])",
     "\"1.5 0.1000000000000000055511151231257827021181583404541015625\" cost 2"},
    {"precision in sixteen bits", "'%.32768f %.65536f'.format([1.2345678, 0.1])",
     "\"1.2345678 0\" cost 2"},
    {"precision of no number", "'%.10000010f'.format([1.5])", "\"%!(NOVERB)\" cost 2"},
    {"precision as a width", "'%e|%.16e'.format([9.99999951, 1e-310])",
     "\"1.000000×10⁰¹| 1.000000×10⁻³¹⁰\" cost 1"},
    {"no number", "'%f|%e|%.0e'.format([0.0/0.0, -1.0/0.0, 1.0/0.0])", "\"NaN|    -∞|∞\" cost 14"},
    {"names of no number", "'%f %f'.format(['NaN', '-Infinity'])", "\"NaN -∞\" cost 1"},
    {"bases", "'%b %o %x %X'.format([-5, 8u, 255, 255u])", "\"-101 10 ff FF\" cost 2"},
    {"octets", "'%x %X'.format(['é', b'\\xff\\x00'])", "\"c3a9 FF00\" cost 1"},
    {"truths", "'%b%b %s'.format([true, false, true])", "\"10 true\" cost 1"},
    {"doubles alone and in a list", "'%s %s'.format([1e21, [1e6, 0.0/0.0]])",
     "\"1e+21 [1000000.000000, \\\"NaN\\\"]\" cost 22"},
    {"times", "'%s %s'.format([duration('1h1m'), [duration('1ms'), timestamp(0)]])",
     "\"3660s [duration(\\\"0.001s\\\"), timestamp(\\\"1970-01-01T00:00:00Z\\\")]\" cost 1"},
    {"maps in order", "'%s'.format([{'b': [1, 'x'], 'a': b'\\n'}])",
     "\"{\\\"a\\\":b\\\"\\\\n\\\", \\\"b\\\":[1, \\\"x\\\"]}\" cost 1"},
    {"types and null", "'%s'.format([[type(1), null]])", "\"[int, null]\" cost 1"},
    {"what is not printable", "'%s'.format([['\\u200b\\x7f😀\\U0010ffff']])",
     "\"[\\\"\\\\u200b\\\\x7f😀\\\\U0010ffff\\\"]\" cost 1"},
    {"octets that are no text", "'%s'.format([b'\\xff'])",
     "eval: error during formatting: could not convert argument \"invalid UTF-8 in bytes"},
    {"too few", "'%s %s'.format(dyn(['a']))", "eval: index 1 out of range"},
    {"unfinished", "'a%'.format(dyn(['a']))", "eval: unexpected end of string"},
    {"of another kind", "'%d'.format(dyn(['x']))",
     "eval: error during formatting: decimal clause can only be used on integers, was given "
     "string"},
    {"key of another kind", "'%s'.format(dyn([{1.5: 1}]))",
     "eval: error during formatting: no formatting function for map key of type double"},
    {"nested of another kind", "'%s'.format(dyn([[optional.none()]]))",
     "eval: error during formatting: no formatting function for optional_type"},
    {"constant, too few", "'%s'.format([])", "compile: index 0 out of range"},
    {"constant, too many", "'%s'.format([1, 2])",
     "compile: too many arguments supplied to string.format (expected 1, got 2)"},
    {"constant, unfinished", "'%'.format([1])", "compile: unexpected end of string"},
    {"constant, unknown", "'%5d'.format([1])",
     "compile: could not parse formatting clause: unrecognized formatting clause \"5\""},
    {"constant, cut character", "'%é'.format([1])",
     "compile: could not parse formatting clause: unrecognized formatting clause \"Ã\""},
    {"constant, no precision", "'%.f'.format([1.0])",
     "compile: could not parse formatting clause: error while parsing precision: error while "
     "converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax"},
    {"constant, open precision", "'%.5'.format([1.0])",
     "compile: could not parse formatting clause: error while parsing precision: could not find "
     "end of precision specifier"},
    {"constant, huge precision", "'%.9223372036854775808f'.format([1.0])",
     "compile: could not parse formatting clause: error while parsing precision: error while "
     "converting precision to integer: strconv.Atoi: parsing \"9223372036854775808\": value out "
     "of range"},
    {"constant, of another type", "'%f'.format([1])",
     "compile: error during formatting: fixed-point clause can only be used on doubles, was given "
     "int"},
    {"constant, nested of another type", "'%s'.format([['a', optional.of(1)]])",
     "compile: error during formatting: string clause can only be used on"},
    {"constant with dyn", "'%d'.format([dyn('a')])", "eval: error during formatting: decimal"},
};

/* The newest version of the library. */
static const struct ek_celtest_row spec_rows[] = {
    {"reverse", "'a日😀'.reverse()", "\"😀日a\" cost 1"},
    {"reverse nothing", "''.reverse()", "\"\" cost 1"},
    {"no groups", "'%f'.format([1234567.5])", "\"1234567.500000\" cost 1"},
    {"ints as decimals", "'%f %.2f %.0f'.format([3u, -3, 4])", "\"3.000000 -3.00 4\" cost 2"},
    {"ints in scientific", "'%e'.format([3u])", "\"3.000000e+00\" cost 1"},
    {"scientific", "'%.2e %.0e'.format([-123456.0, 1.5])", "\"-1.23e+05 2e+00\" cost 1"},
    {"many digits", "'%.1100f'.format([0.1]).size()", "1102 cost 2"},
    {"no number", "'%d %f %e'.format([0.0/0.0, 1.0/0.0, -1.0/0.0])",
     "\"NaN Infinity -Infinity\" cost 14"},
    {"doubles as integers", "'%d'.format([1.5])", "\"1.5\" cost 1"},
    {"maps", "'%s'.format([{'b': [1, 'x'], true: 1.5}])", "\"{b: [1, x], true: 1.5}\" cost 1"},
    {"time in UTC", "'%s'.format([timestamp('2024-02-29T12:34:56.789+02:00')])",
     "\"2024-02-29T10:34:56.789Z\" cost 1"},
    {"time as a double", "'%s'.format([duration('9223372036.854775807s')])",
     "\"9223372036.854776s\" cost 1"},
    {"octets that are no text", "'%s'.format([b'a\\xff']).size()", "2 cost 2"},
    {"of another kind", "'%o'.format(dyn([1.5]))",
     "eval: error during formatting: octal clause can only be used on ints and uints, was given "
     "double"},
    {"constant, of another type", "'%x'.format([1.5])",
     "compile: error during formatting: only ints, uints, bytes, and strings can be formatted as "
     "hex, was given double"},
};

START_TEST(kubernetes)
{
    ek_celtest_begins(EK_CEL_ENV_KUBERNETES, &kubernetes_rows[_i], NULL);
}
END_TEST

START_TEST(format)
{
    ek_celtest_begins(EK_CEL_ENV_KUBERNETES, &format_rows[_i], NULL);
}
END_TEST

START_TEST(spec)
{
    ek_celtest_begins(EK_CEL_ENV_STANDARD, &spec_rows[_i], NULL);
}
END_TEST

/* What must not take quadratic time or more memory than there is. */
START_TEST(bounded)
{
    EK_AUTOFREE char *json = ek_xalloc(2000003), *got;

    memset(json, 'a', 2000002);
    json[0] = json[2000001] = '"';
    json[2000002] = '\0';
    got = ek_celtest(EK_CEL_ENV_KUBERNETES, "object.lastIndexOf('b' + object.substring(1000000))",
                     json);
    ck_assert_str_eq(got, "-1 cost 500003");
    free(got);
    got = ek_celtest(EK_CEL_ENV_KUBERNETES, "object.replace('', object)", json);
    ck_assert_str_eq(got, "eval: memory limit of the evaluation exceeded");
    free(got);
    got = ek_celtest(EK_CEL_ENV_KUBERNETES,
                     "[1, 2, 3].map(i, '%.60000e'.format([1.5])).join().size()", NULL);
    ck_assert_str_eq(got, "180000 cost 36041");
}
END_TEST

START_TEST(starved)
{
    static const char *const rows[] = {
        "'hello'.replace('', 'wörld').split('').join('--')",
        "('a,b,c' + '').split(',', 2)",
        "'Hello'.upperAscii() + 'Hello'.lowerAscii() + strings.quote('a\\n')",
        "'%s|%f|%.20e|%x'.format([{'b': [1.5, 'x'], 'a': b'y'}, 1e300, 1.5, 'hex'])",
        "('xy' + 'abcdefghijklmnopqrstuvwxyz').lastIndexOf('abcdefghijklmnopqrstuvwxyz')",
        "'abc'.charAt(7)",
        "'%d'.format(dyn(['x']))",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ek_celtest_starve(EK_CEL_ENV_KUBERNETES, rows[i]);
    ek_celtest_starve(EK_CEL_ENV_STANDARD, "'%s %.900f'.format([[1.5, {1: 2}], 0.1]).reverse()");
}
END_TEST

/* Offsets by counting, against offsets by blocks. */
START_TEST(offsets)
{
    static const char *const pieces[] = {"a", "é", "日", "😀"};
    char text[400];
    size_t at[101], len = 0;
    unsigned seed = 1;

    for (size_t round = 0; round < 200; round++) {
        len = 0;
        for (size_t i = 0; i < 100; i++) {
            const char *piece = pieces[(seed = seed * 1103515245u + 12345u) >> 16 & 3];
            size_t size = strlen(round % 3 ? piece : "a");

            at[i] = len;
            memcpy(text + len, round % 3 ? piece : "a", size);
            len += size;
        }
        at[100] = len;
        for (size_t i = 0; i <= 100; i++)
            ck_assert_uint_eq(ek_cel_rune_offset(text, len, i), at[i]);
        ck_assert_uint_eq(ek_cel_rune_offset(text, len, 101), SIZE_MAX);
        ck_assert_uint_eq(ek_cel_rune_offset(text, len, UINT64_MAX), SIZE_MAX);
    }
}
END_TEST

/* The long way to look for a last place, against the short one. */
START_TEST(last_places)
{
    char expr[512], text[64], needle[32];
    unsigned seed = 7;

    for (size_t round = 0; round < 60; round++) {
        EK_AUTOFREE char *got = NULL;
        size_t len = 40, m = 17 + round % 4, from;
        long want = -1;

        for (size_t i = 0; i < len; i++)
            text[i] = "ab"[((seed = seed * 1103515245u + 12345u) >> 16 & 7) == 0];
        text[len] = '\0';
        from = (seed >> 8) % (len - m);
        memcpy(needle, text + from, m);
        needle[m] = '\0';
        if (round % 5 == 0)
            needle[m / 2] = 'c';
        for (size_t i = 0; i + m <= len; i++)
            if (memcmp(text + i, needle, m) == 0)
                want = (long)i;
        snprintf(expr, sizeof expr, "'%s'.lastIndexOf('%s') == %ld", text, needle, want);
        got = ek_celtest(EK_CEL_ENV_KUBERNETES, expr, NULL);
        ck_assert_msg(strncmp(got, "true", 4) == 0, "%s: %s", expr, got);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, kubernetes, 0, sizeof kubernetes_rows / sizeof *kubernetes_rows);
    tcase_add_loop_test(tcase, format, 0, sizeof format_rows / sizeof *format_rows);
    tcase_add_loop_test(tcase, spec, 0, sizeof spec_rows / sizeof *spec_rows);
    tcase_add_test(tcase, bounded);
    tcase_add_test(tcase, starved);
    tcase_add_test(tcase, offsets);
    tcase_add_test(tcase, last_places);
    return ek_test_run("cel_strings", tcase);
}
