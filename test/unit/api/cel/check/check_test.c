/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/check/check.h"
#include "api/cel/syntax/parse.h"
#include "test/support/suite.h"

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)

/* ---- Environments as the reference's admission plugin makes them ------------------------------
 */

static const struct variable {
    const char *name, *type;
} admission[] = {
    {"object", "dyn"},
    {"oldObject", "dyn"},
    {"params", "dyn"},
    {"request", "kubernetes.AdmissionRequest"},
    {"namespaceObject", "kubernetes.Namespace"},
    {"variables", "kubernetes.variables"},
    {"authorizer", "kubernetes.authorization.Authorizer"},
    {"authorizer.requestResource", "kubernetes.authorization.ResourceCheck"},
};

static struct ek_cel_env *env_of(enum ek_cel_env_set set, enum ek_cel_env_mode mode, int minor)
{
    struct ek_cel_env_options options = {.set = set, .mode = mode, .compat_minor = minor};
    struct ek_err err = {0};
    struct ek_cel_env *env = ek_cel_env_new(&options, &err);

    ck_assert_msg(env != NULL, "%s", err.message);
    for (size_t i = 0; i < EK_ARRAY_SIZE(admission); i++)
        ck_assert_msg(ek_cel_env_declare(env, admission[i].name, admission[i].type, &err) >= 0,
                      "%s", err.message);
    return env;
}

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    return ek_cel_env_macro(arg, name, member, n);
}

/* The type of text, or "column: message" of the first issue. Owned. */
static char *checked(struct ek_cel_env *env, const char *text)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(env);
    struct ek_cel_parse_options options = {find_macro, env, rules->optional_syntax,
                                           rules->backticks};
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};
    struct ek_buf out;
    int rc = ek_cel_parse(text, strlen(text), &options, arena, &ast, &issues);

    if (!rc)
        rc = ek_cel_check(env, &ast, arena, &issues);
    if (!rc)
        rc = ek_cel_validate(env, &ast, &issues);
    ck_assert_int_eq(rc != 0, issues.len > 0);
    ek_buf_init(&out, (size_t)1024 * 1024);
    if (rc)
        ek_buf_printf(&out, "%u: %s", issues.list[0].column, issues.list[0].message);
    else
        ek_cel_type_format(ast.root->type, &out);
    ek_arena_free(arena);
    return ek_buf_steal(&out);
}

static void expect(struct ek_cel_env *env, const char *text, const char *want)
{
    EK_AUTOFREE char *got = checked(env, text);

    ck_assert_msg(strcmp(got, want) == 0, "%s\n  want %s\n  got  %s", text, want, got);
}

struct row {
    const char *text, *want;
};

static void expect_rows(enum ek_cel_env_set set, const struct row *rows, size_t n)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_of(set, EK_CEL_STORED, 0);

    for (size_t i = 0; i < n; i++)
        expect(env, rows[i].text, rows[i].want);
}

/* ---- Rows: what cel-go 0.26 says in a Kubernetes 1.36 API server ------------------------------
 */

static const struct row types[] = {
    {"1", "int"},
    {"[1u, 2u]", "list(uint)"},
    {"[]", "list(dyn)"},
    {"{}", "map(dyn, dyn)"},
    {"{'a': [1.5]}", "map(string, list(double))"},
    {"[[], [1]]", "list(list(int))"},
    {"type(1)", "type(int)"},
    {"type(type(1))", "type(type(int))"},
    {"list", "type(list(dyn))"},
    {"google.protobuf.Duration", "type(google.protobuf.Duration)"},
    {"net.IP", "type(net.IP)"},
    {"duration('1s') + duration('2s')", "google.protobuf.Duration"},
    {"dyn(1) + 1", "int"},
    {"object.a + 1", "int"},
    {"object + object", "dyn"},
    {"object.a.b[0].c", "dyn"},
    {"true ? 1 : dyn('a')", "dyn"},
    {"true ? null : duration('1s')", "null_type"},
    {"true ? duration('1s') : null", "google.protobuf.Duration"},
    {"true ? optional.of(1) : null", "optional_type(int)"},
    {"true ? [] : [JSONPatch{op: 'test', path: '/a', value: 1}]", "list(JSONPatch)"},
    {"[1].map(x, [x])", "list(list(int))"},
    {"{1: 'a'}.map(k, k)", "list(int)"},
    {"[].map(x, x)", "list(dyn)"},
    {"[].map(x, x.foo + x)", "list(dyn)"},
    {"{'a': 1}.transformMap(k, v, k)", "map(string, string)"},
    {"['a'].transformList(i, v, i)", "list(int)"},
    {"[1].all(x, x > 0)", "bool"},
    {"[1].all(x, x < 2.5)", "bool"},
    {"[1].map(int, int)", "list(int)"},
    {"[1].map(x, ['a'].map(x, x))", "list(list(string))"},
    {"optional.none()", "optional_type(dyn)"},
    {"optional.none().optMap(x, 1)", "optional_type(int)"},
    {"[optional.none(), optional.of(1)]", "list(optional_type(int))"},
    {"object.?a.b.c", "optional_type(dyn)"},
    {"{'a': 1}.?a", "optional_type(int)"},
    {"optional.of({'a': 1}).a", "optional_type(int)"},
    {"[1][?0]", "optional_type(int)"},
    {"[?optional.of(1), 2]", "list(int)"},
    {"[?object.?a]", "list(dyn)"},
    {"{?'a': optional.of(1)}", "map(string, int)"},
    {"Object{spec: Object.spec{replicas: 1, ?a: optional.none()}}", "Object"},
    {"Object.spec{}.a", "dyn"},
    {"JSONPatch{op: 'add', path: '/a', value: [1]}", "JSONPatch"},
    {"JSONPatch{}.op", "string"},
    {"JSONPatch{}.value", "dyn"},
    {"request", "kubernetes.AdmissionRequest"},
    {"request.kind.group", "string"},
    {"request.namespace", "string"},
    {"request.userInfo.groups", "list(string)"},
    {"request.userInfo.extra", "map(string, list(string))"},
    {"request.userInfo.extra['a'][0]", "string"},
    {"request.options.a", "dyn"},
    {"request.?kind.?group", "optional_type(string)"},
    {"has(request.dryRun)", "bool"},
    {"namespaceObject.metadata.labels", "map(string, string)"},
    {"namespaceObject.metadata.labels.?a", "optional_type(string)"},
    {"namespaceObject.metadata.creationTimestamp.getFullYear()", "int"},
    {"namespaceObject.metadata.UID", "string"},
    {"namespaceObject.status.conditions.map(c, c.type)", "list(string)"},
    {"namespaceObject.spec.finalizers.exists(f, f == 'kubernetes')", "bool"},
    {"authorizer", "kubernetes.authorization.Authorizer"},
    {"authorizer.requestResource", "kubernetes.authorization.ResourceCheck"},
    {"variables", "kubernetes.variables"},
    {"sets.contains([1], [])", "bool"},
    {"strings.quote('a')", "string"},
    {"optional.unwrap([optional.of(1)])", "list(int)"},
    {"1 in [1]", "bool"},
    {"'a' in {'a': 1}", "bool"},
    {"1 < 2.5", "bool"},
    {"object == null", "bool"},
    {"duration('1s') == null", "bool"},
    {"'%s %d'.format(['a', 1])", "string"},
    {".size([])", "int"},
};

static const struct row errors[] = {
    {"1 + 'a'", "3: found no matching overload for '_+_' applied to '(int, string)'"},
    {"'a'.foo()", "8: undeclared reference to 'foo' (in container '')"},
    {"1.size()", "7: found no matching overload for 'size' applied to 'int.()'"},
    {"'a'.contains(1)", "13: found no matching overload for 'contains' applied to 'string.(int)'"},
    {"size()", "5: found no matching overload for 'size' applied to '()'"},
    {"foo(1)", "4: undeclared reference to 'foo' (in container '')"},
    {"foo.bar(1)", "1: undeclared reference to 'foo' (in container '')"},
    {"x.y.z", "1: undeclared reference to 'x' (in container '')"},
    {"dyn", "1: undeclared reference to 'dyn' (in container '')"},
    {"sets.contains", "1: undeclared reference to 'sets' (in container '')"},
    {"kubernetes.Quantity", "1: undeclared reference to 'kubernetes' (in container '')"},
    {"1 == 1.0", "3: found no matching overload for '_==_' applied to '(int, double)'"},
    {"1 == null", "3: found no matching overload for '_==_' applied to '(int, null)'"},
    {"true ? 1 : 'a'",
     "6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"},
    {"true ? [] : {}",
     "6: found no matching overload for '_?_:_' applied to '(bool, list(dyn), map(dyn, dyn))'"},
    {"timestamp('2024-01-01T00:00:00Z') + 1",
     "35: found no matching overload for '_+_' applied to '(timestamp, int)'"},
    {"1 && true", "1: expected type 'bool' but found 'int'"},
    {"[] && true", "1: expected type 'bool' but found 'list(_var0)'"},
    {"list || true", "1: expected type 'bool' but found 'type(list(A))'"},
    {"1.map(x, x)", "1: expression of type 'int' cannot be range of a comprehension (must be list, "
                    "map, or dynamic)"},
    {"[1].all(x, 'a')", "12: expected type 'bool' but found 'string'"},
    {"[1].filter(x, 1)",
     "11: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'"},
    {"[1].map(x, y)", "12: undeclared reference to 'y' (in container '')"},
    {"[1].map(x, x) + [x]", "18: undeclared reference to 'x' (in container '')"},
    {"1.a", "2: type 'int' does not support field selection"},
    {"(1).a", "4: type 'int' does not support field selection"},
    {"type(1).a", "8: type 'type(int)' does not support field selection"},
    {"optional.of(1).a", "15: type 'int' does not support field selection"},
    {"ip('::').x", "9: type 'net.IP' does not support field selection"},
    {"quantity('1').x", "14: unexpected failed resolution of 'kubernetes.Quantity'"},
    {"authorizer.foo", "11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'"},
    {"request.foo", "8: undefined field 'foo'"},
    {"has(request.foo)", "4: undefined field 'foo'"},
    {"request.?foo", "8: undefined field 'foo'"},
    {"request.uid", "8: undefined field 'uid'"},
    {"request.object", "8: undefined field 'object'"},
    {"request['kind']",
     "8: found no matching overload for '_[_]' applied to '(kubernetes.AdmissionRequest, string)'"},
    {"variables.x", "10: undefined field 'x'"},
    {"namespaceObject.metadata.uid", "25: undefined field 'uid'"},
    {"object{}", "7: 'dyn' is not a type"},
    {"int{}", "4: 'int' is not a message type"},
    {"Foo{a: 1 + 'a'}", "4: undeclared reference to 'Foo' (in container '')"},
    {"JSONPatch{op: 1}", "13: expected type of field 'op' is 'string' but provided type is 'int'"},
    {"JSONPatch{opp: 'a'}", "14: expected type of field 'opp' is '' but provided type is 'string'"},
    {"JSONPatch{}.foo", "12: undefined field 'foo'"},
    {"kubernetes.Namespace{metadata: 1}", "30: expected type of field 'metadata' is "
                                          "'kubernetes.NamespaceMetadata' but provided type is "
                                          "'int'"},
    {"Object", "1: reference to undefined type: Object"},
    {"type(request) == kubernetes.AdmissionRequest",
     "28: reference to undefined type: kubernetes.AdmissionRequest"},
    {"Object.spec{} == Object{}",
     "15: found no matching overload for '_==_' applied to '(Object.spec, Object)'"},
    {"[?1]", "3: expected type 'optional_type(int)' but found 'int'"},
    {"sets.foo(1)", "1: undeclared reference to 'sets' (in container '')"},
    {"'a' + 1 + true", "5: found no matching overload for '_+_' applied to '(string, int)'"},
};

static const struct row literals[] = {
    {"[1, 'a']", "5: expected type 'int' but found 'string'"},
    {"[1, [2, [3]]]", "5: expected type 'int' but found 'list(dyn)'"},
    {"[dyn(1), 'a']", "10: expected type 'dyn' but found 'string'"},
    {"[dyn(1), dyn('a')]", "list(dyn)"},
    {"[1, 2.5].size()", "5: expected type 'int' but found 'double'"},
    {"[null, duration('1s')]", "16: expected type 'null' but found 'duration'"},
    {"{'a': 1, 1: 1}", "10: expected type 'string' but found 'int'"},
    {"{'a': 1, 'b': 'x'}", "15: expected type 'int' but found 'string'"},
    {"{'a': 1, 'b': 2}", "map(string, int)"},
    {"[[], [1]]", "list(list(int))"},
    {"[?optional.of(1), 'x']", "19: expected type 'int' but found 'string'"},
    {"{?'a': optional.of(1), 'b': 'x'}", "29: expected type 'int' but found 'string'"},
    {"optional.of([1, 'a'])", "17: expected type 'int' but found 'string'"},
    {"[Object{}, Object.spec{}]", "23: expected type 'Object' but found 'Object.spec'"},
    {"duration(null)", "10: invalid duration argument"},
    {"'%s %s'.format([1, 'a'])", "string"},
    {"'%s'.format([[1, 'a']])", "string"},
    {"'%d'.format(['a'])", "14: error during formatting: decimal clause can only be used on "
                           "integers, was given string"},
    {"'%s'.format([1, 2])", "12: too many arguments supplied to string.format (expected 1, got 2)"},
    {"duration('x')", "10: invalid duration argument"},
    {"duration('1')", "10: invalid duration argument"},
    {"duration(5)", "10: invalid duration argument"},
    {"duration(object.x)", "google.protobuf.Duration"},
    {"timestamp('x')", "11: invalid timestamp argument"},
    {"timestamp(5)", "google.protobuf.Timestamp"},
    {"timestamp(253402300799)", "google.protobuf.Timestamp"},
    {"timestamp(253402300800)", "11: invalid timestamp argument"},
    {"timestamp('0000-01-01T00:00:00Z')", "11: invalid timestamp argument"},
    {"'a'.matches('b(')", "13: invalid matches argument"},
    {"matches('a(', 'b')", "9: invalid matches argument"},
    {"'a'.matches(object.x)", "bool"},
    {"[1].map(x, duration('x'))", "21: invalid duration argument"},
};

START_TEST(test_types)
{
    expect_rows(EK_CEL_ENV_MUTATION, types, EK_ARRAY_SIZE(types));
}
END_TEST

START_TEST(test_errors)
{
    expect_rows(EK_CEL_ENV_MUTATION, errors, EK_ARRAY_SIZE(errors));
}
END_TEST

START_TEST(test_literals)
{
    expect_rows(EK_CEL_ENV_MUTATION, literals, EK_ARRAY_SIZE(literals));
}
END_TEST

/* ---- Other environments -----------------------------------------------------------------------
 */

/* "Would this compile on 1.31?" since is the first compatibility version whose new expressions may
 * be this, until the first again that they may not; 0 is always or never. */
static const struct version_row {
    const char *text;
    int since, until;
} versions[] = {
    {"1 + 1", 0, 0},
    {"url('/a').getHost()", 0, 0},
    {"'a'.find('a')", 0, 0},
    {"[1].sum()", 0, 0},
    {"[1].indexOf(1)", 0, 0},
    {"'a'.trim()", 0, 0},
    {"'ab'.substring(1)", 0, 0},
    {"object.metadata.namespace", 0, 0},
    {"request.namespace", 0, 0},
    {"authorizer", 0, 0},
    {"authorizer.path('/').check('get').allowed()", 27, 0},
    {"1 < 2.5", 28, 0},
    {"1u >= 2", 28, 0},
    {"1 < 2", 0, 0},
    {"[1].all(x, x < 2.5)", 0, 0},
    {"object.?a", 28, 0},
    {"[?optional.none()]", 28, 0},
    {"optional.of(1).hasValue()", 28, 0},
    {"optional_type", 28, 0},
    {"[1].first()", 28, 0},
    {"object.?a.optMap(x, x)", 28, 0},
    {"quantity('1')", 28, 0},
    {"sets.contains([1], [1])", 29, 0},
    {"'%s'.format([1])", 29, 0},
    {"strings.quote('a')", 29, 0},
    {"duration('x')", 0, 29},
    {"timestamp('x')", 0, 29},
    {"'a'.matches('(')", 0, 29},
    {"[1, 'a']", 99, 0},
    {"ip('::1')", 30, 0},
    {"net.IP", 30, 0},
    {"cidr('::/1').ip()", 30, 0},
    {"format.named('uri')", 31, 0},
    {"[1].all(i, v, true)", 32, 0},
    {"[1].transformList(i, v, v)", 32, 0},
    {"semver('1.0.0')", 33, 0},
    {"isSemver('v1', true)", 33, 0},
    {"[1].distinct()", 34, 0},
    {"lists.range(3)", 34, 0},
    {"[1].sortBy(x, x)", 34, 0},
    {"'a'.reverse()", 99, 0},
    {"math.abs(1)", 99, 0},
    {"base64.encode(b'a')", 99, 0},
    {"cel.bind(x, 1, x)", 99, 0},
    {"object.`a-b`", 99, 0},
    {"[1].existsOne(x, true)", 99, 0},
    {"jsonpatch.escapeKey('a')", 99, 0},
    {"Object{}", 99, 0},
};

START_TEST(test_versions)
{
    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
        EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env =
            env_of(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, minor);
        for (size_t i = 0; i < EK_ARRAY_SIZE(versions); i++) {
            const struct version_row *v = &versions[i];
            EK_AUTOFREE char *got = checked(env, v->text);
            bool want = minor >= v->since && (!v->until || minor < v->until);
            ck_assert_msg(want == (strstr(got, ": ") == NULL), "%s on 1.%d: %s", v->text, minor,
                          got);
        }
    }
}
END_TEST

/* Stored expressions may be all that the server knows, whatever its compatibility version. */
START_TEST(test_stored)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env =
        env_of(EK_CEL_ENV_KUBERNETES, EK_CEL_STORED, 27);

    for (size_t i = 0; i < EK_ARRAY_SIZE(versions); i++) {
        EK_AUTOFREE char *got = checked(env, versions[i].text);
        bool want = versions[i].since < 99 && !versions[i].until;
        ck_assert_msg(want == (strstr(got, ": ") == NULL), "%s: %s", versions[i].text, got);
    }
}
END_TEST

static const struct row standard[] = {
    {"[1, 'a']", "list(dyn)"},
    {"{'a': 1, 1: 1}", "map(dyn, int)"},
    {"duration('x')", "google.protobuf.Duration"},
    {"'abc'.reverse()", "string"},
    {"math.greatest(1, 2.5)", "dyn"},
    {"base64.encode(b'a')", "string"},
    {"cel.bind(x, [1], x + x)", "list(int)"},
    {"type(ip('::1')) == net.IP", "bool"},
    {"cidr('10.0.0.0/8').containsIP('10.1.1.1')", "bool"},
    {"object.`a-b`", "dyn"},
    {"Object{a: 1}", "Object"},
    {"[1].all(i, v, v < 2.5)", "bool"},
};

START_TEST(test_standard)
{
    expect_rows(EK_CEL_ENV_STANDARD, standard, EK_ARRAY_SIZE(standard));
}
END_TEST

/* ---- Names, containers and scopes -------------------------------------------------------------
 */

static const struct scope_row {
    const char *name;
    enum ek_cel_env_set set;
    const char *container, *text, *want;
} scopes[] = {
    {"root", EK_CEL_ENV_KUBERNETES, "", "a", "int"},
    {"dotted", EK_CEL_ENV_KUBERNETES, "", "x.y", "bool"},
    {"container", EK_CEL_ENV_KUBERNETES, "x", "y", "bool"},
    {"outer container", EK_CEL_ENV_KUBERNETES, "x.q.r", "y", "bool"},
    {"container's name hides", EK_CEL_ENV_KUBERNETES, "x", "a", "string"},
    {"leading dot", EK_CEL_ENV_KUBERNETES, "x", ".a", "int"},
    {"longest of dotted names", EK_CEL_ENV_KUBERNETES, "", "x.y.z", "double"},
    {"field of a dotted name", EK_CEL_ENV_KUBERNETES, "", "x.m.k", "uint"},
    {"function in a container", EK_CEL_ENV_KUBERNETES, "sets", "contains([1], [1])", "bool"},
    {"message tells the container", EK_CEL_ENV_KUBERNETES, "x.q", "nope",
     "1: undeclared reference to 'nope' (in container 'x.q')"},
    {"fold's variable hides", EK_CEL_ENV_KUBERNETES, "", "['a'].map(a, a)", "list(string)"},
    {"dotted name hides fold's variable", EK_CEL_ENV_KUBERNETES, "", "[{'y': 1}].map(x, x.y)",
     "list(bool)"},
    {"container's name hides fold's variable", EK_CEL_ENV_KUBERNETES, "x", "[1.5].map(a, a)",
     "list(string)"},
    {"standard: fold's variable first", EK_CEL_ENV_STANDARD, "", "[{'y': 1}].map(x, x.y)",
     "list(int)"},
    {"standard: and in a container", EK_CEL_ENV_STANDARD, "x", "[1.5].map(a, a)", "list(double)"},
    {"standard: leading dot is no fold's", EK_CEL_ENV_STANDARD, "", "['s'].map(a, .a)",
     "list(int)"},
    {"standard: dotted name outside", EK_CEL_ENV_STANDARD, "", "x.y", "bool"},
};

START_TEST(test_scopes)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(scopes); i++) {
        struct ek_cel_env_options options = {.set = scopes[i].set,
                                             .container = scopes[i].container};
        EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = ek_cel_env_new(&options, NULL);
        ck_assert_int_eq(ek_cel_env_declare(env, "a", "int", NULL), 0);
        ck_assert_int_eq(ek_cel_env_declare(env, "x.y", "bool", NULL), 1);
        ck_assert_int_eq(ek_cel_env_declare(env, "x.a", "string", NULL), 2);
        ck_assert_int_eq(ek_cel_env_declare(env, "x.y.z", "double", NULL), 3);
        ck_assert_int_eq(ek_cel_env_declare(env, "x.m", "map(string, uint)", NULL), 4);
        EK_AUTOFREE char *got = checked(env, scopes[i].text);
        ck_assert_msg(strcmp(got, scopes[i].want) == 0, "%s: %s\n  want %s\n  got  %s",
                      scopes[i].name, scopes[i].text, scopes[i].want, got);
    }
}
END_TEST

static bool collect(void *arg, const char *candidate)
{
    ek_buf_puts(arg, candidate);
    ek_buf_puts(arg, " ");
    return false;
}

START_TEST(test_candidates)
{
    static const struct {
        const char *container, *name, *want;
    } rows[] = {
        {"", "x", "x "},         {"", ".x", "x "},
        {"a", "x", "a.x x "},    {"a.b.c", "R.s", "a.b.c.R.s a.b.R.s a.R.s R.s "},
        {"a.b", ".x.y", "x.y "},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, 1024);
        ck_assert(!ek_cel_candidates(rows[i].container, rows[i].name, collect, &out));
        ck_assert_str_eq(ek_buf_str(&out), rows[i].want);
    }
}
END_TEST

/* ---- References -------------------------------------------------------------------------------
 */

static struct ek_cel_node *check_tree(struct ek_cel_env *env, const char *text,
                                      struct ek_arena *arena)
{
    struct ek_cel_parse_options options = {find_macro, env, true, false};
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast;

    ck_assert_int_eq(ek_cel_parse(text, strlen(text), &options, arena, &ast, &issues), 0);
    ck_assert_int_eq(ek_cel_check(env, &ast, arena, &issues), 0);
    ck_assert_int_eq(ek_cel_validate(env, &ast, &issues), 0);
    ck_assert_int_eq(ast.root->mark, 0);
    return ast.root;
}

START_TEST(test_refs)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_of(EK_CEL_ENV_MUTATION, EK_CEL_STORED, 0);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_cel_node *n = check_tree(env, "authorizer.requestResource", arena);

    ck_assert_int_eq(n->kind, EK_CEL_N_SELECT);
    ck_assert_int_eq(n->ref->kind, EK_CEL_REF_VARIABLE);
    ck_assert_str_eq(n->ref->variable->name, "authorizer.requestResource");
    ck_assert_uint_eq(n->ref->variable->slot, 7);

    n = check_tree(env, "sets.contains([1], [2])", arena);
    ck_assert(n->ref->namespaced);
    ck_assert_uint_eq(n->ref->n, 1);
    ck_assert_str_eq(n->ref->function->def->name, "sets.contains");

    n = check_tree(env, "net.CIDR", arena);
    ck_assert_int_eq(n->ref->kind, EK_CEL_REF_TYPE);
    ck_assert_str_eq(n->ref->type->name, "net.CIDR");

    n = check_tree(env, "1 + 2", arena);
    ck_assert_uint_eq(n->ref->n, 1);
    ck_assert_str_eq(n->ref->overloads[0]->def->id, "add_int64");

    n = check_tree(env, "object + 2", arena);
    ck_assert_uint_eq(n->ref->n, 1);

    n = check_tree(env, "object + object", arena);
    ck_assert_uint_gt(n->ref->n, 5);
    ck_assert_uint_eq(n->ref->n, n->ref->function->n);

    n = check_tree(env, "Object.a{b: 1}", arena);
    ck_assert_int_eq(n->ref->kind, EK_CEL_REF_STRUCT);
    ck_assert_str_eq(n->ref->type->name, "Object.a");

    n = check_tree(env, "[1].all(x, x > 0)", arena);
    ck_assert_int_eq(n->kind, EK_CEL_N_FOLD);
    ek_arena_free(arena);
}
END_TEST

/* ---- Bounds -----------------------------------------------------------------------------------
 */

/* Types that double with each call are refused before they take long. */
START_TEST(test_large_types)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_of(EK_CEL_ENV_KUBERNETES, EK_CEL_STORED, 0);
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)64 * 1024);
    ek_buf_puts(&text, "[1]");
    for (int i = 0; i < 40; i++)
        ek_buf_puts(&text, ".map(x, {x: x})");
    expect(env, ek_buf_str(&text), "593: a type in the expression is too large");
}
END_TEST

/* Every variable is bound to the next. */
START_TEST(test_many_variables)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_of(EK_CEL_ENV_KUBERNETES, EK_CEL_STORED, 0);
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)256 * 1024);
    ek_buf_puts(&text, "[[]");
    for (int i = 0; i < 20000; i++)
        ek_buf_puts(&text, ", []");
    ek_buf_puts(&text, "]");
    expect(env, ek_buf_str(&text), "list(list(dyn))");
}
END_TEST

/* Lack of memory is an error at every place. */
START_TEST(test_memory)
{
    static const char text[] =
        "[{'a': [1]}].map(x, x.a.map(y, [y, size(x)])).filter(z, z == [[2]]) + "
        "[?optional.of([[1u == 2u ? 1 : 2]])] == [] && Object.a{b: request.kind.group}.b == 'x'";
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_of(EK_CEL_ENV_MUTATION, EK_CEL_STORED, 0);
    struct ek_cel_parse_options options = {find_macro, env, true, false};
    int rc = -1;

    for (size_t limit = 4000; rc != 0; limit += 16) {
        struct ek_arena *arena = ek_arena_new(limit);
        EK_AUTO(ek_cel_issues) issues = {0};
        struct ek_cel_ast ast;
        ck_assert_uint_lt(limit, 100000);
        rc = ek_cel_parse(text, strlen(text), &options, arena, &ast, &issues);
        if (!rc)
            rc = ek_cel_check(env, &ast, arena, &issues);
        ek_arena_free(arena);
    }
}
END_TEST

int main(void)
{
    TCase *rows = tcase_create("rows");
    TCase *bounds = tcase_create("bounds");

    tcase_add_test(rows, test_types);
    tcase_add_test(rows, test_errors);
    tcase_add_test(rows, test_literals);
    tcase_add_test(rows, test_versions);
    tcase_add_test(rows, test_stored);
    tcase_add_test(rows, test_standard);
    tcase_add_test(rows, test_scopes);
    tcase_add_test(rows, test_candidates);
    tcase_add_test(rows, test_refs);
    tcase_add_test(bounds, test_large_types);
    tcase_add_test(bounds, test_many_variables);
    tcase_add_test(bounds, test_memory);
    tcase_set_timeout(bounds, 30);
    return ek_test_run("cel_check", rows, bounds);
}
