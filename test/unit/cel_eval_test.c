/* SPDX-License-Identifier: Apache-2.0 */
/* What CEL expressions come to, as the engine of a Kubernetes 1.36 API server evaluates them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/mem.h"
#include "test/support/celtest.h"

#define OBJECT                                                                                     \
    "{\"spec\":{\"replicas\":3},\"name\":\"web\",\"key\":\"replicas\",\"none\":null,\"list\":[10," \
    "11,12]}"

static const struct {
    const char *name, *expr, *want;
} rows[] = {
    {"and decided by the right side", "1/0 == 1 && false", "false cost 2"},
    {"and decided by the left side", "false && 1/0 == 1", "false cost 0"},
    {"and with an error and true", "true && 1/0 == 1", "eval: division by zero"},
    {"or decided by the right side", "1/0 == 1 || true", "true cost 2"},
    {"or with an error and false", "false || 1/0 == 1", "eval: division by zero"},
    {"the first error wins", "(1/0 == 1) || [1][2] == 1", "eval: division by zero"},
    {"many operands", "false || 1/0 == 1 || false || true", "true cost 2"},
    {"no bool on the left", "dyn(1) && true", "eval: no such overload"},
    {"no bool, absorbed", "dyn('a') && false", "false cost 0"},
    {"no bool, decided before", "false && dyn(1)", "false cost 0"},
    {"not of no bool", "!dyn(1)", "eval: no such overload"},
    {"not of an error", "!(1/0 == 1)", "eval: division by zero"},
    {"ternary takes one branch", "true ? 1 : 1/0", "1 cost 0"},
    {"ternary with a failing test", "(1/0 == 1) ? 1 : 2", "eval: division by zero"},
    {"ternary on no bool", "dyn(1) ? 1 : 2", "eval: no such overload"},
    {"all absorbs", "[1, 0, 2].all(x, 2/x < 2)", "false cost 9"},
    {"exists absorbs", "[0, 1].exists(x, 2/x == 2)", "true cost 15"},
    {"exists with errors alone", "[0, 1].exists(x, 2/x == 3)", "eval: division by zero"},
    {"exists_one does not absorb", "[0, 1].exists_one(x, 2/x == 2)", "eval: division by zero"},
    {"map does not absorb", "[1, 0].map(x, 1/x)", "eval: division by zero"},
    {"filter wants bool", "[1].filter(x, dyn(x))", "eval: no such overload"},
    {"map with a condition", "[1, 2, 3].map(x, x > 1, x * x)", "[4, 9] cost 37"},
    {"over a map: keys", "{'a': 1}.all(k, k == 'a')", "true cost 6"},
    {"two variables over a list", "['a', 'b'].all(i, v, i == 0 ? v == 'a' : v == 'b')",
     "true cost 15"},
    {"two variables over a map", "{'a': 1}.exists(k, v, k == 'a' && v == 1)", "true cost 9"},
    {"transformList", "[5, 6].transformList(i, v, i + v)", "[5, 7] cost 31"},
    {"transformMap", "['a', 'b'].transformMap(i, v, v + v)", "{0: \"aa\", 1: \"bb\"} cost 13"},
    {"transformMapEntry", "['a', 'b'].transformMapEntry(i, v, {v: i})",
     "{\"a\": 0, \"b\": 1} cost 69"},
    {"transformMapEntry with a key twice", "['a', 'a'].transformMapEntry(i, v, {v: i})",
     "eval: insert failed: key a already exists"},
    {"shadowed variable", "[1].map(x, [2].map(x, x + 1)[0] + x)", "[4] cost 32"},
    {"a variable of the host is shadowed", "[1].map(object, object + 1)", "[2] cost 15"},
    {"range is no container", "dyn(1).all(x, x)", "eval: got 'types.Int', expected iterable type"},
    {"range is no container, two variables", "dyn('a').all(i, x, x)",
     "eval: unsupported comprehension range type: types.String"},
    {"range fails", "[1/0].all(x, x == 1)", "eval: division by zero"},
    {"nested loops over a shared list", "[1, 2].map(x, [1, 2].map(y, x * y))",
     "[[1, 2], [2, 4]] cost 87"},
    {"empty range", "[].exists(x, 1/0 == 1)", "false cost 1"},
    {"a field", "object.spec.replicas", "3 cost 3"},
    {"no such field", "object.spec.nope", "eval: no such key: nope"},
    {"no such parent", "object.nope.replicas", "eval: no such key: nope"},
    {"has", "has(object.spec.replicas)", "true cost 2"},
    {"has not", "has(object.spec.nope)", "false cost 2"},
    {"has of a null field", "has(object.none)", "true cost 1"},
    {"has without a parent", "has(object.nope.a)", "eval: no such key: nope"},
    {"has of no container", "has(object.name.a)", "false cost 2"},
    {"select of no container", "object.name.a", "eval: no such key: a"},
    {"select of null", "object.none.a", "eval: no such key: a"},
    {"index of a map", "object['name']", "\"web\" cost 2"},
    {"index of a map by a number", "object[1]", "eval: no such key: 1"},
    {"index by an attribute", "object.spec[object.key]", "3 cost 4"},
    {"index by a ternary", "object.spec[true ? 'replicas' : 'x']", "3 cost 3"},
    {"index by a call", "object.list[size('a')]", "11 cost 4"},
    {"index of a list", "object.list[2]", "12 cost 3"},
    {"index by a uint", "object.list[1u]", "11 cost 3"},
    {"index by a whole double", "object.list[1.0]", "11 cost 3"},
    {"index by a fraction", "object.list[1.5]", "eval: unsupported index value 1.5 in list"},
    {"index by a string", "object.list['1']", "eval: unsupported index type 'string' in list"},
    {"index behind the end", "object.list[3]", "eval: index out of bounds: 3"},
    {"index below zero", "object.list[-1]", "eval: index out of bounds: -1"},
    {"a constant that is no key", "object[null]",
     "compile: program instantiation failed: invalid qualifier type: types.Null"},
    {"a value that is no key", "object[object.none]", "eval: invalid qualifier type: types.Null"},
    {"a number of another kind finds", "{1: 'a'}[dyn(1.0)]", "\"a\" cost 2"},
    {"a uint finds an int", "{1: 'a'}[dyn(1u)]", "\"a\" cost 2"},
    {"no such number", "{1: 'a'}[2]", "eval: no such key: 2"},
    {"a bool key", "{true: 1}[true]", "1 cost 2"},
    {"keys of three kinds", "{dyn(1): 'i', dyn(1u): 'u', dyn(1.0): 'd'}.size()", "3 cost 1"},
    {"a key twice", "{'a': 1, 'a': 2}", "{\"a\": 2} cost 0"},
    {"optional select", "object.?spec.?replicas", "optional.of(3) cost 3"},
    {"optional select of nothing", "object.?nope.a.b", "optional.none() cost 1"},
    {"virality", "object.?spec.nope", "optional.none() cost 2"},
    {"optional index", "object.list[?1]", "optional.of(11) cost 3"},
    {"optional index behind the end", "object.list[?9]", "optional.none() cost 2"},
    {"has behind an optional", "has(object.?spec.replicas)", "true cost 2"},
    {"has behind nothing", "has(object.?nope.replicas)", "false cost 0"},
    {"orValue takes the value", "object.?spec.?replicas.orValue(1/0)", "3 cost 3"},
    {"orValue takes the other", "object.?nope.orValue(7)", "7 cost 1"},
    {"or takes the other", "optional.none().or(optional.of(1))", "optional.of(1) cost 2"},
    {"value of nothing", "optional.none().value()", "eval: optional.none() dereference"},
    {"select of an optional variable", "[optional.of({'a': 1})].map(o, o.a)",
     "[optional.of(1)] cost 26"},
    {"an optional item", "[?object.?nope, 1]", "compile: expected type 'dyn' but found 'int'"},
    {"an item that is no optional", "[?dyn(1)]",
     "eval: cannot initialize optional list element from non-optional value 1"},
    {"an optional entry", "{?'a': optional.none(), 'b': 1}", "{\"b\": 1} cost 31"},
    {"an entry removes one before it", "{'a': 1, ?'a': optional.none()}", "{} cost 31"},
    {"an entry that is no optional", "{?'a': dyn(1)}",
     "eval: cannot initialize optional entry 'a' from non-optional value 1"},
    {"optMap", "object.?list.optMap(l, size(l))", "optional.of(3) cost 9"},
    {"optMap of nothing", "object.?nope.optMap(l, size(l))", "optional.none() cost 3"},
    {"a quantity does not survive", "optional.of('1').optMap(s, quantity(s)).value()",
     "eval: unsupported conversion to ref.Val: kubernetes.Quantity"},
    {"optionals of optionals collapse", "true ? optional.of(optional.of(1)) : optional.none()",
     "optional.of(1) cost 2"},
    {"an object", "Object{spec: Object.spec{replicas: 3}}",
     "Object{spec: Object.spec{replicas: 3}} cost 80"},
    {"a field of an object", "Object{spec: Object.spec{replicas: 3}}.spec.replicas", "3 cost 83"},
    {"a field not set is null", "Object{a: 1}.b", "null cost 42"},
    {"has of an object", "has(Object{a: 1}.a) && !has(Object{a: 1}.b)", "true cost 83"},
    {"dyn hides the fields", "dyn(Object{a: 1}).a", "eval: no such key: a"},
    {"an optional field", "Object{?a: optional.none(), ?b: optional.of(1)}",
     "Object{b: 1} cost 42"},
    {"an explicit none reads as null", "Object{a: optional.none()}.a", "null cost 43"},
    {"a patch", "JSONPatch{op: 'add', path: '/a', value: 1}",
     "JSONPatch{op: \"add\", path: \"/a\", value: 1} cost 40"},
    {"fields of a patch", "[JSONPatch{op: 'add', path: '/a'}].map(p, p.op + p.path + p.from)",
     "[\"add/a\"] cost 71"},
    {"has of a patch",
     "[has(JSONPatch{op: 'a'}.op), has(JSONPatch{op: 'a'}.path), has(JSONPatch{op: 'a'}.value)]",
     "[true, false, false] cost 133"},
    {"a patch's op is a string", "JSONPatch{op: dyn(1)}",
     "eval: unexpected type int64 for JSONPatchType 'op' field"},
    {"overload found at run time", "dyn('a') + dyn('b')", "\"ab\" cost 1"},
    {"no overload for these", "dyn('a') + dyn(1)", "eval: no such overload"},
    {"one overload, another value", "size(dyn(1))", "eval: no such overload: size"},
    {"overflow", "9223372036854775807 + 1", "eval: integer overflow"},
    {"equal across kinds", "dyn(1) == dyn(1.0) && dyn(1) == dyn(1u)", "true cost 2"},
    {"unequal kinds", "dyn(1) == dyn('1')", "false cost 1"},
    {"in a list of constants", "2 in [1, 2, 3]", "true cost 0"},
    {"not in a list of constants", "4 in [1, 2, 3]", "false cost 0"},
    {"another kind in constants", "dyn(2.0) in [1, 2, 3]", "true cost 0"},
    {"in nothing", "1 in []", "false cost 0"},
    {"in, with an error", "1/0 in [1, 2]", "eval: division by zero"},
    {"a bad constant pattern", "'a'.matches('[')", "compile: invalid matches argument"},
    {"a bad computed pattern", "'a'.matches('[' + '')",
     "eval: error parsing regexp: missing closing ]: `[`"},
    {"a bad constant", "int('x')",
     "compile: program instantiation failed: type conversion error from 'string' to 'int'"},
    {"a bad computed number", "int('x' + '')",
     "eval: type conversion error from 'string' to 'int'"},
    {"types are values", "type(1) == int && type([]) == list", "true cost 2"},
    {"a loop within what is bound",
     "optional.of([1].exists_one(x, x == 2)).optMap(b, ['a'].map(y, b, 1))",
     "optional.of([]) cost 15"},
    {"loops within bindings within loops",
     "[1, 2].map(x, optional.of([x].map(y, y + 1)).optMap(b, [3].map(z, [z].map(w, w + b[0] + "
     "x)))).map(o, o.value())",
     "[[[6]], [[8]]] cost 254"},
};

START_TEST(test_row)
{
    EK_AUTOFREE char *have = ek_celtest(EK_CEL_ENV_MUTATION, rows[_i].expr, OBJECT);

    ck_assert_msg(strcmp(have, rows[_i].want) == 0, "%s: %s: %s, not %s", rows[_i].name,
                  rows[_i].expr, have, rows[_i].want);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cel_eval");
    TCase *tc = tcase_create("rows");
    tcase_add_loop_test(tc, test_row, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
