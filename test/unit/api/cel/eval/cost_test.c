/* SPDX-License-Identifier: Apache-2.0 */
/* What CEL expressions cost, as the engine of a Kubernetes 1.36 API server counts it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

#define OBJECT                                                                                     \
    "{\"spec\":{\"replicas\":3},\"name\":\"web\",\"key\":\"replicas\",\"none\":null,\"list\":[10," \
    "11,12]}"

static const struct ek_celtest_row rows[] = {
    {"a constant", "1", "1 cost 0"},
    {"a list of constants", "[1, 2, 3]", "[1, 2, 3] cost 0"},
    {"a map of constants", "{'a': [1]}", "{\"a\": [1]} cost 0"},
    {"a variable", "object",
     "{\"spec\": {\"replicas\": 3}, \"name\": \"web\", \"key\": \"replicas\", \"none\": null, "
     "\"list\": [10, 11, 12]} cost 1"},
    {"a field of a field", "object.spec.replicas", "3 cost 3"},
    {"a list", "[object.key]", "[\"replicas\"] cost 12"},
    {"a map", "{object.key: 1}", "{\"replicas\": 1} cost 32"},
    {"a struct", "Object{a: 1}", "Object{a: 1} cost 40"},
    {"has", "has(object.spec.replicas)", "true cost 2"},
    {"has, absent", "has(object.spec.nope)", "false cost 2"},
    {"has in a ternary", "true ? has(object.spec.replicas) : false", "true cost 2"},
    {"a ternary resolves its branch", "true ? object.key : ''", "\"replicas\" cost 1"},
    {"a ternary over calls", "object.spec.replicas > 1 ? size(object.list) : 0", "3 cost 7"},
    {"a field behind a ternary", "(true ? object : object).spec.replicas", "3 cost 2"},
    {"has behind a ternary", "has((true ? object : object).spec.replicas)", "true cost 1"},
    {"a ternary among ternaries", "true ? (false ? object.key : object.name) : ''",
     "\"web\" cost 1"},
    {"an index that is an attribute", "object.spec[object.key]", "3 cost 4"},
    {"an index that is a call", "object.list[size('a')]", "11 cost 4"},
    {"an index that is a ternary", "object.spec[true ? object.key : 'x']", "3 cost 4"},
    {"an index of a constant", "[1, 2][1]", "2 cost 2"},
    {"a field of a call's result", "[object].map(o, o)[0].spec.replicas", "3 cost 29"},
    {"an optional select", "object.?spec.?replicas", "optional.of(3) cost 3"},
    {"an optional select of nothing", "object.?nope.a.b", "optional.none() cost 1"},
    {"an optional index of nothing", "object.list[?9]", "optional.none() cost 2"},
    {"orValue", "object.?spec.?replicas.orValue(1)", "3 cost 3"},
    {"orValue of nothing", "object.?nope.orValue(object.key)", "\"replicas\" cost 3"},
    {"logic", "true && (object.key == 'a' || true)", "true cost 3"},
    {"and stops", "false && object.key == 'a'", "false cost 0"},
    {"and goes on behind an error", "(object.nope == 1 && object.key == 'replicas') || true",
     "true cost 6"},
    {"both operands, though the first fails", "(object.nope == object.key) || true", "true cost 5"},
    {"a failing operand of a concatenation", "(object.nope + object.key == 'a') || true",
     "true cost 6"},
    {"three arguments, the first fails", "'a'.replace(object.nope, object.key) == '' || true",
     "true cost 2"},
    {"three arguments, the last fails", "'a'.replace(object.key, object.nope) == '' || true",
     "true cost 5"},
    {"a function of several overloads", "dyn('a').indexOf(object.nope) == 1 || true",
     "true cost 3"},
    {"a list with a failing item", "[object.nope, object.key] == [] || true", "true cost 12"},
    {"a map with a failing value", "{object.key: object.nope} == {} || true", "true cost 34"},
    {"a struct with a failing field", "Object{a: object.nope} == Object{} || true", "true cost 83"},
    {"in constants", "object.key in ['a', 'b']", "false cost 2"},
    {"in a list", "object.key in [object.key, 'b']",
     "compile: expected type 'dyn' but found 'string'"},
    {"in a map", "'spec' in object", "true cost 2"},
    {"a constant pattern", "object.name.matches('^w.*$')", "true cost 4"},
    {"a constant pattern on a failure", "object.nope.matches('^w.*$') || true", "true cost 2"},
    {"a computed pattern", "object.name.matches('^' + 'w')", "true cost 4"},
    {"all", "[1, 2, 3].all(x, x > 0)", "true cost 16"},
    {"all stops", "[1, 2, 3].all(x, x > 1)", "false cost 8"},
    {"exists stops", "[1, 2, 3].exists(x, x == 1)", "true cost 10"},
    {"exists_one", "[1, 2, 3].exists_one(x, x == 1)", "true cost 10"},
    {"map", "[1, 2, 3].map(x, x)", "[1, 2, 3] cost 40"},
    {"a map that goes on behind its error", "[1, 2, 3].map(x, x / 0) == [] || true",
     "true cost 43"},
    {"filter", "[1, 2, 3].filter(x, x > 1)", "[2, 3] cost 33"},
    {"nested maps", "[1, 2].map(x, [1, 2].map(y, x * y))", "[[1, 2], [2, 4]] cost 87"},
    {"transformMap", "['a', 'b'].transformMap(i, v, v)", "{0: \"a\", 1: \"b\"} cost 9"},
    {"optMap", "object.?list.optMap(l, size(l))", "optional.of(3) cost 9"},
    {"equal strings", "'abcdefghijklmnopqrstuvwxyz' == object.name", "false cost 3"},
    {"conversions of constants", "string(1) + string(dyn(2))", "\"12\" cost 1"},
    {"a conversion", "string(object.spec.replicas)", "\"3\" cost 4"},
    {"sorting an error ends it all", "[object.nope].sort() == [] || true", "true cost 13"},
    {"has behind a failing ternary", "has((dyn(1) ? object : object).spec) || true",
     "eval: operation cancelled: actual cost limit exceeded"},
};

START_TEST(test_row)
{
    ek_celtest_is(EK_CEL_ENV_MUTATION, &rows[_i], OBJECT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rows");
    tcase_add_loop_test(tc, test_row, 0, sizeof rows / sizeof *rows);
    return ek_test_run("cel_cost", tc);
}
