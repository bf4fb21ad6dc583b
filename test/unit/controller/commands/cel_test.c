/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel cel` as its users meet it: arguments and files in, an exit code and two streams out. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
    testdir_put(folder, "deploy.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
                "spec:\n  replicas: 3\n",
                0600);
    testdir_put(folder, "pod.json", "{\"kind\": \"Pod\", \"spec\": {\"nodeName\": \"n 1\"}}", 0600);
    testdir_put(folder, "expr.cel", "object.spec.replicas\n  > 2\n", 0600);
    testdir_put(folder, "bad.yaml", "a: [", 0600);
    testdir_put(folder, "empty", "", 0600);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

#define OBJECT "--object", "@/deploy.yaml"

static const struct command_row rows[] = {
    {"the manual's", {"eval", "object.spec.replicas > 2", OBJECT}, 0, "=true\n", ""},
    {"a string is raw", {"eval", "object.metadata.name + ' \"x\"'", OBJECT}, 0, "=web \"x\"\n", ""},
    {"a map is JSON", {"eval", "object.spec", OBJECT}, 0, "={\"replicas\":3}\n", ""},
    {"a list is JSON", {"eval", "[1, 2.5, 'a', null]"}, 1, "", "expected type 'int'"},
    {"a list of one kind", {"eval", "['a', 'b']"}, 0, "=[\"a\",\"b\"]\n", ""},
    {"null", {"eval", "null"}, 0, "=null\n", ""},
    {"a duration is text", {"eval", "duration('90m')"}, 0, "=5400s\n", ""},
    {"a time is text",
     {"eval", "timestamp('2024-01-01T00:00:00Z')"},
     0,
     "=2024-01-01T00:00:00Z\n",
     ""},
    {"bytes are base64", {"eval", "b'abc'"}, 0, "=YWJj\n", ""},
    {"an optional is CEL", {"eval", "optional.of(1)"}, 0, "=optional.of(1)\n", ""},
    {"a type is its name", {"eval", "type(1)"}, 0, "=int\n", ""},
    {"an object", {"eval", "Object{spec: Object.spec{a: 1}}"}, 0, "={\"spec\":{\"a\":1}}\n", ""},
    {"JSON",
     {"eval", "1 + 2", "-ojson"},
     0,
     "\"value\": 3,\n  \"type\": \"int\",\n  \"cost\": 1",
     ""},
    {"YAML", {"eval", "[1] + [2]", "-o", "yaml"}, 0, "value:\n- 1\n- 2\ntype: list(int)\n", ""},
    {"the cost", {"eval", "object.spec.replicas", "--cost", OBJECT}, 0, "=3\n", "=cost: 3\n"},
    {"the cost limit",
     {"eval", "object.spec.replicas", "--cost-limit=2", OBJECT},
     1,
     "",
     "cost limit exceeded"},
    {"no cost limit",
     {"eval", "lists.range(200000).map(x, x).size()", "--cost-limit=0"},
     0,
     "=200000\n",
     ""},
    {"the usual limit",
     {"eval", "lists.range(200000).map(x, x).size()"},
     1,
     "",
     "cost limit exceeded"},
    {"an expression in a file", {"eval", "--file", "@/expr.cel", OBJECT}, 0, "=true\n", ""},
    {"old object",
     {"eval", "oldObject.kind + object.kind", "--old-object=@/pod.json", OBJECT},
     0,
     "=PodDeployment\n",
     ""},
    {"no old object is null", {"eval", "oldObject == null", OBJECT}, 0, "=true\n", ""},
    {"no namespace is null", {"eval", "namespaceObject == null"}, 0, "=true\n", ""},
    {"params", {"eval", "params.kind", "--params", "@/pod.json"}, 0, "=Pod\n", ""},
    {"a variable", {"eval", "pod.spec.nodeName", "--var", "pod=@/pod.json"}, 0, "=n 1\n", ""},
    {"values", {"eval", "x.y[1] + z", "--set", "x={\"y\":[1,2]}", "--set=z=3"}, 0, "=5\n", ""},
    {"a word is a string",
     {"eval", "env + n", "--set=env=prod", "--set", "n=\"1\""},
     0,
     "=prod1\n",
     ""},
    {"the standard environment", {"eval", "math.greatest(1, 2)", "--env=standard"}, 0, "=2\n", ""},
    {"conditions know no Object",
     {"eval", "Object{}", "--env=kubernetes"},
     1,
     "",
     "undeclared reference to 'Object'"},
    {"too old for it",
     {"eval", "[2, 1].sort()", "--compat", "1.33"},
     1,
     "",
     "undeclared reference to 'sort'"},
    {"but stored",
     {"eval", "[2, 1].sort()", "--compat", "1.33", "--mode=stored"},
     0,
     "=[1,2]\n",
     ""},
    {"the type is demanded", {"eval", "1", "--type", "bool"}, 1, "", "must evaluate to bool"},

    {"a mistake has its place",
     {"eval", "1 +\n  nope(2)"},
     1,
     "",
     "ERROR: <input>:2:7: undeclared reference to 'nope' (in container '')\n |   nope(2)\n | "
     "......^"},
    {"so has a failure",
     {"eval", "object.spec.zzz > 1", OBJECT},
     1,
     "",
     "ERROR: <input>:1:12: no such key: zzz\n | object.spec.zzz > 1\n | ...........^"},
    {"in code points and lines",
     {"eval", "'é' +\n'日' + object.x", OBJECT},
     1,
     "",
     "ERROR: <input>:2:13: no such key: x"},
    {"mistakes as JSON",
     {"eval", "1 + 'a'", "-o", "json"},
     1,
     "\"kind\": \"type\",\n      \"line\": 1,\n      \"column\": 3",
     ""},
    {"failures as JSON", {"eval", "1 / 0", "-o", "json"}, 1, "\"kind\": \"evaluation\"", ""},
    {"no place, no line",
     {"eval", "1", "--type=bool", "-o", "yaml"},
     1,
     "=errors:\n- kind: type\n  message: must evaluate to bool\n",
     ""},

    {"check",
     {"check", "object.spec.replicas > 2", OBJECT},
     0,
     "=type:      bool\nvariables: object\nreads:     object.spec.replicas\ncost:      4 with the "
     "variables given, of 1000000 allowed\nneeds:     any version\n",
     ""},
    {"check without data",
     {"check", "params.a.all(x, x.b == object)"},
     0,
     "variables: object\n           params\nreads:     ",
     ""},
    {"what it needs", {"check", "[3, 1].sort()"}, 0, "needs:     at least 1.34\n", ""},
    {"optionals need", {"check", "object.?a"}, 0, "needs:     at least 1.28\n", ""},
    {"too new",
     {"check", "semver('1.2.3').major() > 1", "--compat", "1.30"},
     1,
     "",
     "It needs at least 1.33, and --compat is 1.30.\n"},
    {"too new to evaluate",
     {"eval", "[1, 2].all(i, v, v > i)", "--compat=1.31"},
     1,
     "",
     "It needs at least 1.32, and --compat is 1.31.\n"},
    {"too new, as JSON",
     {"check", "semver('1.2.3').major()", "--compat", "1.30", "-oyaml"},
     1,
     "\nneeds:\n  oldestCompat: \"1.33\"\n",
     ""},
    {"check as JSON",
     {"check", "semver('1.2.3').major()", "-o", "json"},
     0,
     "\"oldestCompat\": \"1.33\"",
     ""},
    {"the standard one has no versions",
     {"check", "1", "--env=standard", "-oyaml"},
     0,
     "perCallLimit: 1000000\n",
     ""},
    {"what does not compile", {"check", "object.("}, 1, "", "ERROR: <input>:1:8: Syntax error"},

    {"nothing to do", {NULL}, 2, "", "say what to do"},
    {"a verb that is none", {"run", "1"}, 2, "", "say what to do"},
    {"no expression", {"eval"}, 2, "", "an expression is needed"},
    {"two expressions", {"eval", "1", "--file=@/expr.cel"}, 2, "", "not both"},
    {"a stray argument", {"eval", "1", "2"}, 2, "", "unexpected argument \"2\""},
    {"a flag that is none", {"eval", "1", "--objet=x"}, 2, "", "did you mean --object?"},
    {"an environment that is none",
     {"eval", "1", "--env=x"},
     2,
     "",
     "kubernetes, mutation, standard"},
    {"a version that is none",
     {"eval", "1", "--compat=2.1"},
     2,
     "",
     "--compat: 2.1 is not a version"},
    {"a limit below zero", {"eval", "1", "--cost-limit=-1"}, 2, "", "-1 is below zero"},
    {"no such file", {"eval", "object.a", "--object=@/none"}, 2, "", "No such file"},
    {"a file that is no data", {"eval", "object.a", "--object=@/bad.yaml"}, 2, "", "bad.yaml: "},
    {"an empty file is null", {"eval", "object == null", "--object=@/empty"}, 0, "=true\n", ""},
    {"a variable that lacks",
     {"eval", "params.x"},
     2,
     "",
     "reads params, which was not given: use --params FILE"},
    {"lacks, and is not needed",
     {"eval", "true || params.x", "--params=@/pod.json"},
     0,
     "=true\n",
     ""},
    {"no authorizer here",
     {"eval", "authorizer.path('/').check('get').allowed()"},
     2,
     "",
     "only a server provides"},
    {"given twice", {"eval", "x", "--set=x=1", "--set=x=2"}, 2, "", "x is given twice"},
    {"no name", {"eval", "x", "--set", "=1"}, 2, "", "--set takes name=value"},
    {"no pair", {"eval", "x", "--var", "x"}, 2, "", "--var takes name=FILE"},
    {"JSON that is broken", {"eval", "x", "--set", "x={\"a\":"}, 2, "", "--set x: "},
    {"a name that is none", {"eval", "1", "--set", "a-b=1"}, 2, "", "a-b"},
    {"a type that is none", {"eval", "1", "--type", "list("}, 1, "", "list("},
    {"help", {"--help"}, 0, "Exit codes: 0 success", ""},
};

START_TEST(answers)
{
    command_expect_row(folder, "cel", &rows[_i]);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    command_expect_full_disk(folder, "cel", (const char *const[]){"eval", "1", NULL});
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cel_command");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, a_full_disk_is_a_failure);
    return ek_test_run("cel_command", tc);
}
