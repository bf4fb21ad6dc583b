/* SPDX-License-Identifier: Apache-2.0 */
/* CEL's list libraries, cel-go's and Kubernetes', and sets: values, errors and costs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

static const char object[] =
    "{\"ints\":[3,1,2],\"floats\":[1.5,-2.0],\"mixed\":[1,\"a\"],\"nested\":[[1],[2,[3]],4],"
    "\"empty\":[],\"map\":{\"b\":1,\"a\":2},\"words\":[\"abcdefghijklmnop\",\"b\"],\"n\":5}";

/* Answers of cel-go 0.26 in the environment of Kubernetes 1.36. */
static const struct ek_celtest_row rows[] = {
    {"slice", "[1,2,3,4].slice(1, 3)", "[2, 3] cost 13"},
    {"slice of JSON", "object.ints.slice(1, 3)", "[1, 2] cost 15"},
    {"slice of nothing", "[1,2].slice(2, 2)", "[] cost 11"},
    {"slice below zero", "[1].slice(-1, 1)",
     "eval: cannot slice(-1, 1), negative indexes not supported"},
    {"slice backwards", "[1,2].slice(2, 1)",
     "eval: cannot slice(2, 1), start index must be less than or equal to end index"},
    {"slice beyond the end", "object.ints.slice(1, 4)",
     "eval: cannot slice(1, 4), list is length 3"},
    {"slice by a string", "[1].slice(dyn('a'), 1)",
     "eval: no such overload: slice(list, string, int)"},
    {"flatten", "[[1],[2,3],[]].flatten()", "[1, 2, 3] cost 14"},
    {"flatten under dyn", "object.nested.flatten()", "[1, 2, [3], 4] cost 16"},
    {"flatten deeper", "object.nested.flatten(2)", "[1, 2, 3, 4] cost 19"},
    {"flatten not at all", "[[1]].flatten(0)", "[[1]] cost 11"},
    {"flatten what is flat", "object.ints.flatten()", "[3, 1, 2] cost 16"},
    {"flatten below zero", "[[1]].flatten(-1)", "eval: level must be non-negative"},
    {"flatten a list of ints", "[1].flatten()",
     "compile: found no matching overload for 'flatten' applied to 'list(int).()'"},
    {"flatten no list", "dyn(1).flatten()", "eval: no such overload: int.flatten()"},
    {"flatten by no int", "dyn([1]).flatten(dyn('a'))",
     "eval: no such overload: list.flatten(string)"},
    {"sort", "[3,1,2].sort()", "[1, 2, 3] cost 29"},
    {"sort JSON", "object.ints.sort()", "[1, 2, 3] cost 3"},
    {"sort strings", "['b','a','ab'].sort()", "[\"a\", \"ab\", \"b\"] cost 29"},
    {"sort bools", "[true,false].sort()", "[false, true] cost 19"},
    {"sort bytes", "[b'b',b'a'].sort()", "[b\"a\", b\"b\"] cost 19"},
    {"sort durations", "[duration('2s'),duration('1s')].sort()",
     "[duration(\"1s\"), duration(\"2s\")] cost 19"},
    {"sort times", "[timestamp('2024-01-02T00:00:00Z'),timestamp('2024-01-01T00:00:00Z')].sort()",
     "[timestamp(\"2024-01-01T00:00:00Z\"), timestamp(\"2024-01-02T00:00:00Z\")] cost 19"},
    {"sort NaN", "[0.0/0.0, 1.0, 0.5].sort()", "[double(\"NaN\"), 0.5, 1.0] cost 40"},
    {"sort nothing", "[].sort()", "[] cost 11"},
    {"sort one of any kind", "[dyn(1)].sort()", "[1] cost 1"},
    {"sort two kinds", "object.mixed.sort()", "eval: list elements must have the same type"},
    {"sort lists", "object.nested.sort()", "eval: list elements must be comparable"},
    {"sort no list", "dyn('a').sort()", "eval: no such overload"},
    {"sortBy", "['bb','a','ccc'].sortBy(x, -size(x))", "[\"ccc\", \"bb\", \"a\"] cost 77"},
    {"sortBy a field", "[{'n':2},{'n':1}].sortBy(e, e.n)", "[{\"n\": 1}, {\"n\": 2}] cost 50"},
    {"sortBy keys of two kinds", "[3,1,2].sortBy(x, x > 1 ? dyn('a') : dyn(1))",
     "eval: list elements must have the same type"},
    {"sortBy what has no order", "[1,2].sortBy(x, [x])",
     "compile: found no matching overload for '@sortByAssociatedKeys' applied to "
     "'list(int).(list(list(int)))'"},
    {"sortBy a literal", "'a'.sortBy(x, x)",
     "compile: sortBy can only be applied to a list, identifier, comprehension, call or select "
     "expression"},
    {"sortBy a map", "{}.sortBy(x, x)",
     "compile: sortBy can only be applied to a list, identifier, comprehension, call or select "
     "expression"},
    {"sortBy no name", "[1].sortBy(x.y, x)", "compile: argument is not an identifier"},
    {"sortBy under dyn", "object.ints.sortBy(x, -x)", "[3, 2, 1] cost 48"},
    {"distinct", "[3,1,2,1,3].distinct()", "[3, 1, 2] cost 61"},
    {"distinct across kinds of number", "[dyn(1),dyn(1u),dyn(1.0),dyn('1')].distinct()",
     "[1, \"1\"] cost 43"},
    {"distinct lists", "[[1],[1],[2]].distinct()", "[[1], [2]] cost 29"},
    {"distinct nothing", "[].distinct()", "[] cost 11"},
    {"reverse", "[1,2,3].reverse()", "[3, 2, 1] cost 14"},
    {"reverse JSON", "object.words.reverse()", "[\"b\", \"abcdefghijklmnop\"] cost 15"},
    {"range", "lists.range(4)", "[0, 1, 2, 3] cost 15"},
    {"range of nothing", "lists.range(-1)", "[] cost 11"},
    {"range too long for the limit", "lists.range(2000000)",
     "eval: operation cancelled: actual cost limit exceeded"},
    {"isSorted", "[1,1,2].isSorted()", "true cost 3"},
    {"isSorted not", "['b','a'].isSorted()", "false cost 0"},
    {"isSorted of what does not compare", "dyn([dyn(1),dyn('a')]).isSorted()", "true cost 1"},
    {"isSorted of what has no order", "[dyn(1),dyn(null)].isSorted()", "eval: no such overload"},
    {"sum", "[1,2,3].sum()", "6 cost 3"},
    {"sum of JSON doubles", "object.floats.sum()", "-0.5 cost 4"},
    {"sum of nothing", "[].sum()", "0 cost 0"},
    {"sum of durations", "[duration('1m'),duration('1s')].sum()", "duration(\"61s\") cost 2"},
    {"sum too large", "[9223372036854775807,1].sum()", "eval: integer overflow"},
    {"sum of uints too large", "[18446744073709551615u,1u].sum()",
     "eval: unsigned integer overflow"},
    {"sum of two kinds", "object.mixed.sum()", "eval: no such overload"},
    {"sum of strings", "object.words.sum()", "eval: no such overload: sum(list)"},
    {"min", "[3,1,2].min()", "1 cost 3"},
    {"max of JSON", "object.ints.max()", "3 cost 5"},
    {"max across kinds of number", "[dyn(1),dyn(2.5),dyn(2u)].max()", "2.5 cost 3"},
    {"min skips what does not compare", "[dyn(2),dyn('a'),dyn(1)].min()", "1 cost 2"},
    {"min of nothing", "[].min()", "eval: min called on empty list"},
    {"max of lists", "object.nested.max()", "eval: no such overload: max(list)"},
    {"indexOf", "[1,2,2].indexOf(2)", "1 cost 3"},
    {"lastIndexOf", "[1,2,2].lastIndexOf(2)", "2 cost 3"},
    {"indexOf of another number", "[dyn(1u)].indexOf(dyn(1.0))", "0 cost 1"},
    {"not there", "object.words.indexOf('c')", "-1 cost 3"},
    {"a cost in octets", "['ééééé'].indexOf('b')", "-1 cost 1"},
    {"a cost below one", "['abc'].min()", "\"abc\" cost 0"},
    {"costs of maps", "[{'abcdefghijklm':'abcdefghijklmnopqrstuvwxyz'}].indexOf({'a':'b'})",
     "-1 cost 3"},
    {"sets.contains", "sets.contains([1,2,3],[2,2])", "true cost 7"},
    {"sets.contains not", "sets.contains([1],[dyn(1),dyn('a')])", "false cost 3"},
    {"sets.contains nothing", "sets.contains([],[])", "true cost 1"},
    {"sets.equivalent", "sets.equivalent([1,2],[2,1,1])", "true cost 13"},
    {"sets.equivalent numbers", "sets.equivalent([dyn(1)],[dyn(1u),dyn(1.0)])", "true cost 5"},
    {"sets.intersects", "sets.intersects([1,2],[3,2])", "true cost 5"},
    {"sets.intersects not", "sets.intersects([[1]],[[2]])", "false cost 2"},
    {"sets of no list", "sets.contains(dyn(1),[1])",
     "eval: no such overload: sets.contains(int, list)"},
    {"equal keys of many elements", "lists.range(20).sortBy(x, x % 5)",
     "[10, 5, 15, 0, 1, 16, 6, 11, 7, 12, 17, 2, 18, 8, 3, 13, 9, 14, 4, 19] cost 1125"},
    {"and of more", "lists.range(51).sortBy(x, x % 2)",
     "[12, 22, 2, 48, 4, 46, 6, 44, 8, 42, 10, 40, 50, 26, 18, 36, 16, 34, 14, 32, 20, 30, 38, 0, "
     "24, 28, 23, 27, 25, 29, 21, 31, 19, 33, 17, 35, 15, 37, 13, 39, 11, 41, 9, 43, 7, 45, 5, 47, "
     "3, 49, 1] cost 5992"},
    {"and backwards", "lists.range(60).sortBy(x, -x / 4)",
     "[59, 58, 57, 56, 55, 54, 53, 52, 48, 51, 50, 49, 46, 44, 47, 45, 41, 43, 42, 40, 39, 38, 37, "
     "36, 32, 35, 34, 33, 30, 29, 31, 28, 27, 26, 25, 24, 20, 23, 22, 21, 17, 18, 19, 16, 12, 15, "
     "14, 13, 11, 10, 9, 8, 7, 6, 5, 4, 0, 3, 2, 1] cost 8185"},
    {"and nearly sorted", "(lists.range(60) + [3]).sortBy(x, x / 2)",
     "[0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
     "24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, "
     "47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59] cost 8382"},
    {"and without a pattern", "lists.range(100).sortBy(x, x * 7919 % 13)",
     "[52, 91, 26, 65, 0, 78, 39, 13, 33, 59, 20, 46, 72, 7, 85, 98, 14, 40, 53, 92, 79, 27, 66, "
     "1, 34, 60, 73, 21, 86, 8, 99, 47, 67, 93, 2, 80, 41, 28, 54, 15, 87, 48, 22, 9, 74, 35, 61, "
     "3, 94, 81, 55, 68, 16, 29, 42, 36, 23, 10, 75, 88, 49, 62, 95, 82, 43, 56, 17, 4, 30, 69, "
     "24, 11, 89, 50, 63, 37, 76, 96, 57, 18, 5, 70, 44, 83, 31, 38, 51, 64, 77, 12, 90, 25, 45, "
     "19, 71, 84, 58, 97, 6, 32] cost 21625"},
};

START_TEST(rows_answer)
{
    ek_celtest_is(EK_CEL_ENV_MUTATION, &rows[_i], object);
}
END_TEST

/* Each with ever more memory, until it is enough. */
static const char *const hungry[] = {
    "lists.range(100).reverse().slice(10, 90).sortBy(x, x % 7).distinct()",
    "[[1, 2], [3]].flatten().map(x, [x])",
    "[3, 1, 2].sort().indexOf(2)",
};

START_TEST(starve)
{
    ek_celtest_starve(EK_CEL_ENV_STANDARD, hungry[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cel_lists");

    tcase_add_loop_test(tc, rows_answer, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, starve, 0, EK_ARRAY_SIZE(hungry));
    return ek_test_run("cel_lists", tc);
}
