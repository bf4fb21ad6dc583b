/* SPDX-License-Identifier: Apache-2.0 */
/* Macros of two variables, cel.bind and cel.block. */
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
static const struct ek_celtest_row two_variables[] = {
    {"all of a list", "[1,2].all(i, v, v == i + 1)", "true cost 15"},
    {"all of a map", "object.map.all(k, v, k.size() == v)", "false cost 17"},
    {"all absorbs errors", "[1,0].all(i, v, 1 / v > 5)", "false cost 9"},
    {"all with an error", "[0].all(i, v, 1 / v > 5)", "eval: division by zero"},
    {"all of nothing", "[].all(i, v, false)", "true cost 1"},
    {"exists", "object.ints.exists(i, v, i == v)", "true cost 20"},
    {"exists absorbs errors", "[0,1].exists(i, v, 1 / v == 1)", "true cost 15"},
    {"existsOne", "[1,2,2].existsOne(i, v, v == 2)", "false cost 12"},
    {"exists_one", "[1,2,2].exists_one(i, v, v == 1)", "true cost 10"},
    {"existsOne fails", "[1,0].existsOne(i, v, 1 / v == 1)", "eval: division by zero"},
    {"transformList", "[5,6].transformList(i, v, i + v)", "[5, 7] cost 31"},
    {"transformList filtered", "[5,6,7].transformList(i, v, i > 0, v)", "[6, 7] cost 33"},
    {"transformList of a map", "{'a':1}.transformList(k, v, [k, string(v)])",
     "[[\"a\", \"1\"]] cost 26"},
    {"transformMap", "{'a':1,'b':2}.transformMap(k, v, v + 1)", "{\"a\": 2, \"b\": 3} cost 11"},
    {"transformMap filtered", "{'a':1,'b':2}.transformMap(k, v, k == 'a', v)", "{\"a\": 1} cost 9"},
    {"transformMap of a list", "object.ints.transformMap(i, v, v)", "{0: 3, 1: 1, 2: 2} cost 15"},
    {"transformMapEntry", "{'a':'x'}.transformMapEntry(k, v, {v: k})", "{\"x\": \"a\"} cost 35"},
    {"transformMapEntry filtered", "['x','y'].transformMapEntry(i, v, i == 1, {v: i})",
     "{\"y\": 1} cost 39"},
    {"transformMapEntry of many", "[1].transformMapEntry(i, v, {'a': i, 'b': v})",
     "{\"a\": 0, \"b\": 1} cost 35"},
    {"a key twice", "['x','x'].transformMapEntry(i, v, {v: i})",
     "eval: insert failed: key x already exists"},
    {"a number twice", "[1,1].transformMapEntry(i, v, {v: i})",
     "eval: insert failed: key 1 already exists"},
    {"a bool twice", "[true,true].transformMapEntry(i, v, {v: i})",
     "eval: insert failed: key true already exists"},
    {"a number of another kind twice", "[dyn(1),dyn(1u)].transformMapEntry(i, v, {v: i})",
     "eval: insert failed: key 1 already exists"},
    {"an entry that is no map", "[1].transformMapEntry(i, v, 5)",
     "compile: found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), int)'"},
    {"that is none at run time", "[1].transformMapEntry(i, v, dyn(5))",
     "eval: no such overload: cel.@mapInsert(map, int)"},
    {"no name", "[1].all(x.y, v, true)", "compile: argument must be a simple name"},
    {"the second no name", "[1].all(i, 1, true)", "compile: argument must be a simple name"},
    {"one name twice", "[1].exists(x, x, true)", "compile: duplicate variable name: x"},
    {"a name that is the macro's", "[1].transformList(i, __result__, true)",
     "compile: iteration variable overwrites accumulator variable"},
    {"no list", "object.n.all(i, v, true)",
     "eval: unsupported comprehension range type: types.Int"},
    {"no list to the checker", "'a'.all(i, v, true)",
     "compile: expression of type 'string' cannot be range of a comprehension (must be list, map, "
     "or dynamic)"},
    {"nested", "[[1],[2]].transformList(i, v, v.transformList(j, w, i + j + w))",
     "[[1], [3]] cost 63"},
};

START_TEST(two_variables_answer)
{
    ek_celtest_is(EK_CEL_ENV_MUTATION, &two_variables[_i], object);
}
END_TEST

/* What Kubernetes does not offer; costs are our own. */
static const struct ek_celtest_row bindings[] = {
    {"bind", "cel.bind(x, 2, x * x)", "4 cost 3"},
    {"bind is lazy", "cel.bind(x, 1 / 0, true)", "true cost 0"},
    {"bind in bind", "cel.bind(a, 1, cel.bind(b, a + 1, a + b))", "3 cost 5"},
    {"bind hides", "cel.bind(object, 1, object)", "1 cost 1"},
    {"bind by no name", "cel.bind(x.y, 1, 2)",
     "compile: cel.bind() variable names must be simple identifiers"},
    {"bind of something else", "optional.of(1).bind(x, 1, 2)",
     "compile: undeclared reference to 'bind' (in container '')"},
    {"block", "cel.block([1, cel.index(0) + 1, cel.index(1) * 2], cel.index(2) + cel.index(0))",
     "5 cost 9"},
    {"block is lazy", "cel.block([1 / 0, 2], cel.index(1))", "2 cost 1"},
    {"block of nothing", "cel.block([], 7)", "7 cost 0"},
    {"block with a loop",
     "cel.block([[1, 2]], cel.index(0).map(cel.iterVar(0, 0), cel.iterVar(0, 0) + 1))",
     "[2, 3] cost 30"},
    {"block of no list", "cel.block(1, 2)",
     "compile: cel.block requires the first arg to be a list literal"},
    {"index that is no number", "cel.block([1], cel.index('a'))",
     "compile: cel.index requires a single non-negative int constant arg"},
    {"index below zero", "cel.block([1], cel.index(-1))",
     "compile: cel.index requires a single non-negative int constant arg"},
    {"index beyond the end", "cel.block([1], cel.index(1))",
     "compile: undeclared reference to '@index1' (in container '')"},
    {"iterVar that is none", "[1].map(cel.iterVar('a', 0), 1)",
     "compile: argument is not an identifier"},
    {"accuVar", "[1].exists(cel.accuVar(0, 0), cel.accuVar(0, 0) == 1)", "true cost 7"},
};

START_TEST(bindings_answer)
{
    ek_celtest_is(EK_CEL_ENV_STANDARD, &bindings[_i], object);
}
END_TEST

/* Each with ever more memory, until it is enough. */
static const char *const hungry[] = {
    "[1, 2, 3].transformMap(i, v, v)",
    "['a', 'b'].transformMapEntry(i, v, {v: i})",
    "cel.block([[1, 2], cel.index(0)], cel.index(1))",
};

START_TEST(starve)
{
    ek_celtest_starve(EK_CEL_ENV_STANDARD, hungry[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cel_comprehensions");

    tcase_add_loop_test(tc, two_variables_answer, 0, EK_ARRAY_SIZE(two_variables));
    tcase_add_loop_test(tc, bindings_answer, 0, EK_ARRAY_SIZE(bindings));
    tcase_add_loop_test(tc, starve, 0, EK_ARRAY_SIZE(hungry));
    return ek_test_run("cel_comprehensions", tc);
}
