/* SPDX-License-Identifier: Apache-2.0 */
/* CEL's optional types: functions, macros, syntax, and their costs. */
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
    {"of", "optional.of(1)", "optional.of(1) cost 1"},
    {"of null", "optional.of(null)", "optional.of(null) cost 1"},
    {"none", "optional.none()", "optional.none() cost 1"},
    {"ofNonZeroValue of zero",
     "[optional.ofNonZeroValue(0), optional.ofNonZeroValue(0.0).optMap(x, 1), "
     "optional.ofNonZeroValue(0u).optMap(x, 1)]",
     "[optional.none(), optional.none(), optional.none()] cost 17"},
    {"ofNonZeroValue of empty",
     "[dyn(optional.ofNonZeroValue('')), dyn(optional.ofNonZeroValue(b'')), "
     "dyn(optional.ofNonZeroValue([])), dyn(optional.ofNonZeroValue({})), "
     "dyn(optional.ofNonZeroValue(false))].all(o, !o.hasValue())",
     "true cost 51"},
    {"ofNonZeroValue of null", "optional.ofNonZeroValue(null).hasValue()", "false cost 2"},
    {"ofNonZeroValue of something", "optional.ofNonZeroValue('a').value()", "\"a\" cost 2"},
    {"ofNonZeroValue of the epoch", "optional.ofNonZeroValue(timestamp(0)).hasValue()",
     "true cost 2"},
    {"ofNonZeroValue of Go's first moment",
     "optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()", "false cost 2"},
    {"ofNonZeroValue of an object", "optional.ofNonZeroValue(Object{}).hasValue()",
     "false cost 42"},
    {"ofNonZeroValue of a patch", "optional.ofNonZeroValue(JSONPatch{}).hasValue()",
     "true cost 42"},
    {"ofNonZeroValue of none", "optional.ofNonZeroValue(optional.none()).hasValue()",
     "true cost 3"},
    {"value", "optional.of(1).value()", "1 cost 2"},
    {"value of none", "optional.none().value()", "eval: optional.none() dereference"},
    {"value of no optional", "dyn(5).value()", "eval: no such overload: value(int)"},
    {"hasValue", "optional.none().hasValue()", "false cost 2"},
    {"or", "optional.none().or(optional.of(2))", "optional.of(2) cost 2"},
    {"or is not needed", "optional.of(1).or(optional.of(1 / 0))", "optional.of(1) cost 1"},
    {"or of no optional", "dyn(5).or(optional.of(3))", "5 cost 0"},
    {"orValue", "optional.none().orValue(3)", "3 cost 1"},
    {"orValue is not needed", "optional.of(1).orValue(1 / 0)", "1 cost 1"},
    {"orValue of no optional", "dyn(5).orValue(3)", "5 cost 0"},
    {"orValue of an error", "optional.of(1 / 0).orValue(3)", "eval: division by zero"},
    {"field", "object.?n", "optional.of(5) cost 2"},
    {"no field", "object.?zzz", "optional.none() cost 1"},
    {"field of none", "object.?zzz.?a.b", "optional.none() cost 1"},
    {"index", "object.ints[?0]", "optional.of(3) cost 3"},
    {"no index", "object.ints[?9]", "optional.none() cost 2"},
    {"in a list", "[dyn(1), ?optional.none(), ?object.?n]", "[1, 5] cost 13"},
    {"in a map", "{?'a': object.?n, ?'b': object.?zzz}", "{\"a\": 5} cost 33"},
    {"optMap", "object.?n.optMap(x, x + 1)", "optional.of(6) cost 9"},
    {"optMap of none", "object.?zzz.optMap(x, x + 1)", "optional.none() cost 3"},
    {"optMap unused", "optional.of(1).optMap(x, 5)", "optional.of(5) cost 3"},
    {"optMap fails", "optional.of(0).optMap(x, 1 / x)", "eval: division by zero"},
    {"optMap by no name", "optional.of(1).optMap(x.y, 1)",
     "compile: optMap() variable name must be a simple identifier"},
    {"optMap of no optional", "dyn(1).optMap(x, x)", "eval: no such overload: hasValue(int)"},
    {"optFlatMap", "object.?map.optFlatMap(m, m.?a)", "optional.of(2) cost 8"},
    {"optFlatMap to none", "object.?map.optFlatMap(m, m.?zzz)", "optional.none() cost 7"},
    {"optFlatMap by no name", "optional.of(1).optFlatMap(1, optional.of(1))",
     "compile: optFlatMap() variable name must be a simple identifier"},
    {"first", "object.ints.first()", "optional.of(3) cost 3"},
    {"last", "[1,2,3].last().value()", "3 cost 2"},
    {"first of nothing", "[].first()", "optional.none() cost 1"},
    {"last of nothing", "object.empty.last()", "optional.none() cost 3"},
    {"first of no list", "dyn(5).first()", "eval: no such overload: first(int)"},
    {"unwrap", "optional.unwrap([optional.of(1), optional.none()])", "[1] cost 13"},
    {"unwrapOpt", "[optional.of(1), optional.none()].unwrapOpt()", "[1] cost 13"},
    {"unwrap what is none", "[dyn(1)].unwrapOpt()", "eval: no such overload: unwrapOpt(list)"},
    {"equal", "optional.of(1) == optional.of(1) && optional.none() != optional.of(1)",
     "true cost 6"},
    {"type", "type(optional.none()) == optional_type", "true cost 3"},
};

START_TEST(rows_answer)
{
    ek_celtest_is(EK_CEL_ENV_MUTATION, &rows[_i], object);
}
END_TEST

/* Each with ever more memory, until it is enough. */
static const char *const hungry[] = {
    "[optional.of(1), optional.none()].unwrapOpt()",
    "[1, 2].last().optMap(x, [x, x])",
};

START_TEST(starve)
{
    ek_celtest_starve(EK_CEL_ENV_STANDARD, hungry[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cel_optional");

    tcase_add_loop_test(tc, rows_answer, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, starve, 0, EK_ARRAY_SIZE(hungry));
    return ek_test_run("cel_optional", tc);
}
