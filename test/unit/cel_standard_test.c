/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/mem.h"
#include "test/support/celtest.h"

static const char object[] = "{\"spec\": {\"replicas\": 3, \"ratio\": 0.5, \"list\": [1, \"a\", "
                             "null]}, \"ints\": [1, 2, 3]}";

/* Answers and costs of cel-go 0.26 as Kubernetes 1.36 embeds it. */
static const struct {
    const char *name, *expr, *want;
} rows[] = {
    {"sum of ints", "1 + 2", "3 cost 1"},
    {"sum too large", "[9223372036854775807].map(x, x + 1)", "eval: integer overflow"},
    {"difference too small", "[-9223372036854775808].map(x, x - 1)", "eval: integer overflow"},
    {"product too large", "[-9223372036854775808].map(x, x * -1)", "eval: integer overflow"},
    {"quotient", "[-7 / 2, -7 % 3]", "[-3, -1] cost 12"},
    {"quotient too large", "[-9223372036854775808].map(x, x / -1)", "eval: integer overflow"},
    {"remainder too large", "[-9223372036854775808].map(x, x % -1)", "eval: integer overflow"},
    {"division by zero", "1 / 0", "eval: division by zero"},
    {"modulus by zero", "1 % 0", "eval: modulus by zero"},
    {"uint below zero", "1u - 2u", "eval: unsigned integer overflow"},
    {"uint too large", "18446744073709551615u + 1u", "eval: unsigned integer overflow"},
    {"uint division by zero", "1u / 0u", "eval: division by zero"},
    {"uint remainder", "7u % 4u", "3u cost 1"},
    {"double division by zero", "1.0 / 0.0", "double(\"Infinity\") cost 1"},
    {"double remainder", "dyn(1.0) % dyn(2.0)", "eval: no such overload: _%_"},
    {"texts", "'a' + 'é'", "\"aé\" cost 1"},
    {"cost of texts", "'0123456789' + '0123456789a'", "\"01234567890123456789a\" cost 3"},
    {"bytes", "b'a' + b'\\xff'", "b\"a\\xff\" cost 1"},
    {"lists", "[1] + [2, 3] == [1, 2, 3]", "true cost 2"},
    {"empty lists", "[] + []", "[] cost 1"},
    {"time and duration", "timestamp('2024-01-01T00:00:00.9Z') + duration('-1.2s')",
     "timestamp(\"2023-12-31T23:59:59.7Z\") cost 1"},
    {"duration and time", "duration('1h') + timestamp('2024-01-01T00:00:00+05:30')",
     "timestamp(\"2024-01-01T01:00:00+05:30\") cost 1"},
    {"after the last time", "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
     "eval: timestamp overflow"},
    {"before the first time", "timestamp('0001-01-01T00:00:00Z') - duration('1ns')",
     "eval: timestamp overflow"},
    {"times apart", "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00.5Z')",
     "duration(\"86399.5s\") cost 1"},
    {"times too far apart", "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
     "eval: integer overflow"},
    {"durations too long", "duration('2562047h') + duration('2562047h')", "eval: integer overflow"},
    {"minus", "-(-3)", "3 cost 1"},
    {"minus the least", "[-9223372036854775808].map(x, -x)", "eval: integer overflow"},
    {"minus a duration", "-dyn(duration('1s'))", "duration(\"-1s\") cost 1"},
    {"minus a uint", "-dyn(1u)", "eval: no such overload: -_"},
    {"minus truth", "-dyn(true)", "eval: no such overload"},
    {"minus a text", "-dyn('a')", "eval: no such overload"},
    {"not", "!true", "false cost 1"},
    {"not a number", "!dyn(1)", "eval: no such overload"},
    {"another kind on the right", "dyn(1) + dyn('a')", "eval: no such overload"},
    {"no such operator on the left", "dyn(null) + dyn(1)", "eval: no such overload: _+_"},
    {"a receiver on the left", "dyn('a') * dyn(1)", "eval: no such overload"},
    {"a list on the left", "dyn([1]) - dyn([1])", "eval: no such overload: _-_"},
    {"mixed numbers do not add", "dyn(1) + dyn(1u)", "eval: no such overload"},
    {"less across kinds",
     "[1 < 2u, 1u < 1.5, 2.5 < 3, -1 < 0u, 18446744073709551615u > 9223372036854775807]",
     "[true, true, true, true, true] cost 15"},
    {"beyond 2 to 63", "9223372036854775807 < 9223372036854775808.0", "false cost 1"},
    {"at the edge of doubles",
     "[dyn(9007199254740993) == dyn(9007199254740992.0), 9007199254740993 <= 9007199254740992.0]",
     "[true, true] cost 12"},
    {"NaN on the left", "0.0 / 0.0 < 1.0", "eval: NaN values cannot be ordered"},
    {"NaN on the right", "1 < 0.0 / 0.0", "eval: NaN values cannot be ordered"},
    {"NaN before what it is compared with", "dyn(0.0 / 0.0) < dyn('a')",
     "eval: NaN values cannot be ordered"},
    {"texts in order", "['a' < 'b', 'a' < 'aa', 'z' < 'é', '' < 'a']",
     "[true, true, true, true] cost 13"},
    {"cost of texts in order", "'0123456789abc' < '0123456789abd'", "true cost 2"},
    {"bytes in order", "b'\\x7f' < b'\\x80'", "true cost 1"},
    {"truth in order", "false < true", "true cost 1"},
    {"times in order",
     "timestamp('2024-01-01T00:00:00Z') <= timestamp('2024-01-01T01:00:00+01:00')", "true cost 1"},
    {"durations in order", "duration('1h') > duration('3599s')", "true cost 1"},
    {"lists have no order", "dyn([1]) < dyn([2])", "eval: no such overload: _<_"},
    {"null has no order", "dyn(null) >= dyn(null)", "eval: no such overload: _>=_"},
    {"text and number have no order", "dyn('a') < dyn(1)", "eval: no such overload"},
    {"equal numbers", "[dyn(1) == dyn(1.0), dyn(1u) == dyn(1), dyn(1.5) == dyn(1)]",
     "[true, true, false] cost 13"},
    {"equal across kinds is false", "dyn('1') == dyn(1)", "false cost 1"},
    {"null is null", "[dyn(null) == dyn(null), dyn(null) == dyn(0)]", "[true, false] cost 12"},
    {"NaN is not NaN", "[0.0 / 0.0 == 0.0 / 0.0, 0.0 / 0.0 != 0.0 / 0.0]", "[false, true] cost 16"},
    {"lists by element", "dyn([1, 2]) == dyn([dyn(1.0), dyn(2u)])", "true cost 1"},
    {"maps by content", "dyn({'a': 1, 'b': 2}) == dyn({'b': dyn(2.0), 'a': dyn(1u)})",
     "true cost 1"},
    {"maps by key of another kind", "dyn({1: 'a'}) == dyn({1u: 'a'})", "true cost 1"},
    {"maps of different keys", "{'a': 1} == {'b': 1}", "false cost 1"},
    {"nested",
     "object.spec == {'replicas': dyn(3), 'ratio': dyn(0.5), 'list': dyn([dyn(1), dyn('a'), "
     "dyn(null)])}",
     "true cost 3"},
    {"times by instant",
     "timestamp('2024-01-01T00:00:00Z') == timestamp('2024-01-01T05:30:00+05:30')", "true cost 1"},
    {"optionals", "[optional.of(1) == optional.of(1), optional.of(1) == optional.none()]",
     "[true, false] cost 16"},
    {"types", "type(1) == int && type([1]) == type(['a'])", "true cost 2"},
    {"in a list", "[2 in [1, 2], 3 in [1, 2], dyn(2.0) in [1, 2]]", "[true, false, true] cost 10"},
    {"cost of a list", "object.spec.replicas in object.ints", "true cost 6"},
    {"in a map", "['a' in {'a': 1}, 'b' in {'a': 1}]", "[true, false] cost 12"},
    {"in an object", "'spec' in object", "true cost 2"},
    {"in nothing that has elements", "1 in dyn(1)", "eval: no such overload"},
    {"a number in an object", "dyn(1) in object", "false cost 2"},
    {"size", "[size(''), 'aé日😀'.size(), size(b'\\xff\\xfe'), [1, 2].size(), size({'a': 1})]",
     "[0, 4, 2, 2, 1] cost 15"},
    {"size of a number", "size(dyn(1))", "eval: no such overload: size"},
    {"size of a time", "size(dyn(timestamp(0)))", "eval: no such overload"},
    {"contains", "['abc'.contains('b'), 'abc'.contains(''), ''.contains('a')]",
     "[true, true, false] cost 11"},
    {"contains a number", "'a'.contains(dyn(1))", "eval: no such overload"},
    {"cost of contains", "'0123456789012345678901'.contains('01234567890')", "true cost 6"},
    {"starts", "['abc'.startsWith('ab'), 'a'.startsWith('ab'), 'a'.startsWith('')]",
     "[true, false, true] cost 13"},
    {"ends", "['abc'.endsWith('bc'), 'c'.endsWith('bc')]", "[true, false] cost 12"},
    {"matches", "['abc'.matches('^a.c$'), matches('xabc', 'b')]", "[true, true] cost 13"},
    {"matches what is made", "['b'].map(x, 'abc'.matches(x + '.'))", "[true] cost 16"},
    {"matches nothing valid", "['('].map(x, 'abc'.matches(x))",
     "eval: error parsing regexp: missing closing ): `(`"},
    {"to int",
     "[int('+7'), int(7u), int(-1.9), int(duration('1s')), "
     "int(timestamp('2024-01-01T00:00:00.9Z'))]",
     "[7, 7, -1, 1000000000, 1704067200] cost 0"},
    {"to int from a text", "['7 '].map(x, int(x))",
     "eval: type conversion error from 'string' to 'int'"},
    {"to int from a large double", "[9223372036854775807.0].map(x, int(x))",
     "eval: integer overflow"},
    {"to int from a large uint", "[9223372036854775808u].map(x, int(x))", "eval: integer overflow"},
    {"to int from NaN", "[0.0 / 0.0].map(x, int(x))", "eval: integer overflow"},
    {"to uint", "[uint(7), uint('7'), uint(7.9)]", "[7u, 7u, 7u] cost 0"},
    {"to uint from less", "[-1].map(x, uint(x))", "eval: unsigned integer overflow"},
    {"to uint from a large double", "[18446744073709551616.0].map(x, uint(x))",
     "eval: unsigned integer overflow"},
    {"to double", "[double(1), double(18446744073709551615u), double('1e-3')]",
     "[1.0, 18446744073709552000.0, 0.001] cost 0"},
    {"to double from a text", "['1e400'].map(x, double(x))",
     "eval: type conversion error from 'string' to 'double'"},
    {"to string",
     "[string(1), string(1u), string(1e6), string(true), string(b'\\xc3\\xa9'), "
     "string(duration('90m')), string(timestamp('2024-01-01T00:00:00.10+02:00'))]",
     "[\"1\", \"1\", \"1e+06\", \"true\", \"é\", \"5400s\", \"2024-01-01T00:00:00.1+02:00\"] cost "
     "0"},
    {"to string from octets", "[b'\\xff'].map(x, string(x))",
     "eval: invalid UTF-8 in bytes, cannot convert to string"},
    {"to bytes", "bytes('é')", "b\"\\xc3\\xa9\" cost 0"},
    {"to bool", "[bool('true'), bool('F'), bool(true)]", "[true, false, true] cost 0"},
    {"to bool from a text", "['yes'].map(x, bool(x))",
     "eval: type conversion error from 'string' to 'bool'"},
    {"to duration", "[duration('1.5h'), duration(duration('1s'))]",
     "[duration(\"5400s\"), duration(\"1s\")] cost 0"},
    {"to duration from a text", "['1d'].map(x, duration(x))",
     "eval: type conversion error from 'string' to 'google.protobuf.Duration'"},
    {"to duration from an int", "[dyn(5)].map(x, duration(x))",
     "eval: type conversion error from 'int' to 'google.protobuf.Duration'"},
    {"to timestamp", "[timestamp('2024-01-01T00:00:00Z'), timestamp(0)]",
     "[timestamp(\"2024-01-01T00:00:00Z\"), timestamp(\"1970-01-01T00:00:00Z\")] cost 0"},
    {"to timestamp from a text", "['2024-01-01'].map(x, timestamp(x))",
     "eval: type conversion error from 'string' to 'google.protobuf.Timestamp'"},
    {"to timestamp out of range", "[253402300800].map(x, timestamp(x))",
     "eval: timestamp overflow"},
    {"to timestamp before all", "['0001-01-01T00:00:00+01:00'].map(x, timestamp(x))",
     "eval: timestamp overflow"},
    {"no conversion", "[dyn(1.5)].map(x, bytes(x))", "eval: no such overload: bytes(double)"},
    {"to type",
     "[dyn(1), dyn('a'), dyn([]), dyn({}), dyn(null), dyn(int), dyn(timestamp(0))].map(x, type(x))",
     "[int, string, list(dyn), map(dyn, dyn), null_type, type, google.protobuf.Timestamp] cost 99"},
    {"to type of others", "[dyn(optional.none()), dyn(quantity('1'))].map(x, type(x))",
     "[optional_type, kubernetes.Quantity] cost 43"},
    {"parts of a time", "timestamp('2024-02-29T12:34:56.789Z')",
     "timestamp(\"2024-02-29T12:34:56.789Z\") cost 0"},
    {"year", "timestamp('2024-02-29T12:34:56.789Z').getFullYear()", "2024 cost 1"},
    {"month", "timestamp('2024-02-29T12:34:56.789Z').getMonth()", "1 cost 1"},
    {"day of year", "timestamp('2024-12-31T00:00:00Z').getDayOfYear()", "365 cost 1"},
    {"day of month", "timestamp('2024-02-29T12:34:56.789Z').getDayOfMonth()", "28 cost 1"},
    {"date", "timestamp('2024-02-29T12:34:56.789Z').getDate()", "29 cost 1"},
    {"day of week", "timestamp('2024-03-03T00:00:00Z').getDayOfWeek()", "0 cost 1"},
    {"hours", "timestamp('2024-02-29T12:34:56.789Z').getHours()", "12 cost 1"},
    {"minutes", "timestamp('2024-02-29T12:34:56.789Z').getMinutes()", "34 cost 1"},
    {"seconds", "timestamp('2024-02-29T12:34:56.789Z').getSeconds()", "56 cost 1"},
    {"milliseconds", "timestamp('2024-02-29T12:34:56.789Z').getMilliseconds()", "789 cost 1"},
    {"its own offset does not count", "timestamp('2024-01-01T00:00:00+05:30').getHours()",
     "18 cost 1"},
    {"in a zone", "timestamp('2024-07-01T00:00:00Z').getHours('America/New_York')", "20 cost 1"},
    {"in a zone twice", "[0, 1].map(x, timestamp('2024-07-01T00:00:00Z').getHours('Asia/Kolkata'))",
     "[5, 5] cost 27"},
    {"at an offset", "timestamp('2024-07-01T00:00:00Z').getHours('-08:30')", "15 cost 1"},
    {"at an offset without sign", "timestamp('2024-07-01T00:00:00Z').getMinutes('05:30')",
     "30 cost 1"},
    {"in UTC",
     "timestamp('2024-07-01T00:00:00Z').getHours('') + "
     "timestamp('2024-07-01T00:00:00Z').getHours('UTC') + "
     "timestamp('2024-07-01T00:00:00Z').getHours('Local')",
     "0 cost 5"},
    {"at a huge offset", "timestamp('2024-01-01T00:00:00Z').getFullYear('9999999999:00')",
     "1769 cost 1"},
    {"in no zone", "timestamp('2024-07-01T00:00:00Z').getHours('Nope')",
     "eval: unknown time zone Nope"},
    {"in a zone elsewhere", "timestamp('2024-07-01T00:00:00Z').getHours('../../etc/passwd')",
     "eval: time: invalid location name"},
    {"in a zone at the root", "timestamp('2024-07-01T00:00:00Z').getHours('/etc/passwd')",
     "eval: time: invalid location name"},
    {"at no offset", "timestamp('2024-07-01T00:00:00Z').getHours('a:b')",
     "eval: strconv.Atoi: parsing \"a\": invalid syntax"},
    {"at half an offset", "timestamp('2024-07-01T00:00:00Z').getHours('+05:')",
     "eval: strconv.Atoi: parsing \"\": invalid syntax"},
    {"in a zone that is a number", "timestamp('2024-07-01T00:00:00Z').getHours(dyn(1))",
     "eval: no such overload: getHours(google.protobuf.Timestamp, int)"},
    {"hours of a number", "dyn(1).getHours()", "eval: no such overload: getHours(int)"},
    {"hours of a duration", "duration('-90m').getHours()", "-1 cost 1"},
    {"minutes of a duration", "duration('90m').getMinutes()", "90 cost 1"},
    {"seconds of a duration", "duration('1m1.9s').getSeconds()", "61 cost 1"},
    {"milliseconds of a duration", "duration('1.5s').getMilliseconds()", "1500 cost 1"},
    {"unequal", "[1 != 2, dyn(1) != dyn('a'), [1] != [1]]", "[true, true, false] cost 13"},
    {"cost of unequal", "'0123456789ab' != '0123456789abc'", "true cost 2"},
};

START_TEST(expressions_come_to_what_the_reference_says)
{
    EK_AUTOFREE char *got = ek_celtest(EK_CEL_ENV_KUBERNETES, rows[_i].expr, object);

    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: %s: %s, not %s", rows[_i].name, rows[_i].expr,
                  got, rows[_i].want);
}
END_TEST

static const char *const hungry[] = {
    "['0123456789', 'a'].map(x, x + x + x + x).map(x, x + x)",
    "([1] + [2, 3] + [4]).map(x, [x] + [x])",
    "[1.5, 2.5].map(x, string(x) + string(duration('1s')))",
    "[1].map(x, timestamp(0).getHours('UTC')) + [1, 2, 3].map(x, timestamp(x).getDate())",
    "['1', '2'].map(x, [int(x), size(x)]) == [[1, 1], [2, 1]]",
};

START_TEST(little_memory_is_no_other_answer)
{
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, hungry[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cel_standard");
    TCase *tcase = tcase_create("cel_standard");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, expressions_come_to_what_the_reference_says, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, little_memory_is_no_other_answer, 0, sizeof hungry / sizeof *hungry);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
