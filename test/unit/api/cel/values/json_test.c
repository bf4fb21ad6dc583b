/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/library.h"
#include "test/support/suite.h"

static const char object[] =
    "{\"a\": [1, {\"b\": null}], \"big\": 9007199254740993, \"half\": 0.5, "
    "\"none\": null, \"map\": {\"k\": [\"v\"]}}";

/* What each rule makes of an expression's value: JSON, or "!" and a part of the refusal. */
static const struct {
    const char *name, *expr, *plain, *apply, *patch;
} rows[] = {
    {"null", "null", "null", "!null cannot be set", "null"},
    {"truth", "true", "true", "true", "true"},
    {"int", "-7", "-7", "-7", "-7"},
    {"largest int", "9223372036854775807", "9223372036854775807", "9223372036854775807",
     "\"9223372036854775807\""},
    {"2 to 53, less 1", "9007199254740991", "9007199254740991", "9007199254740991",
     "9007199254740991"},
    {"uint", "7u", "7", "!type uint", "7"},
    {"large uint", "18446744073709551615u", "18446744073709551615", "!type uint",
     "\"18446744073709551615\""},
    {"double", "1.5", "1.5", "1.5", "1.5"},
    {"whole double", "3.0", "3", "3", "3"},
    {"NaN", "0.0 / 0.0", "!NaN", "!NaN", "!NaN"},
    {"infinite", "-1.0 / 0.0", "!NaN", "!NaN", "!NaN"},
    {"text", "'a\"b\\u0000'", "\"a\\\"b\\u0000\"", "\"a\\\"b\\u0000\"", "\"a\\\"b\\u0000\""},
    {"bytes", "b'\\xff\\x00'", "\"/wA=\"", "!type bytes", "\"/wA=\""},
    {"timestamp", "timestamp('2024-01-01T00:00:00.5+01:00')", "\"2024-01-01T00:00:00.5+01:00\"",
     "!type google.protobuf.Timestamp", "\"2024-01-01T00:00:00.5+01:00\""},
    {"duration", "duration('90m')", "\"5400s\"", "!type google.protobuf.Duration", "\"5400s\""},
    {"type", "int", "!type type", "\"int\"", "!type conversion not supported for 'type'"},
    {"opaque", "quantity('1')", "!kubernetes.Quantity", "!kubernetes.Quantity",
     "!type conversion error from 'Quantity' to '*structpb.Value'"},
    {"list", "[1, 2]", "[1,2]", "[1,2]", "[1,2]"},
    {"list in a list", "[[1]]", "[[1]]", "![0]: a list made by the expression", "[[1]]"},
    {"map", "{'a': 1}", "{\"a\":1}", "{\"a\":1}", "{\"a\":1}"},
    {"map of numbers", "{1: 'a', 2: 'b'}", "{\"1\":\"a\",\"2\":\"b\"}",
     "!the keys of maps must be strings", "!the keys of maps must be strings"},
    {"map of truth", "{true: 1}", "{\"true\":1}", "!the keys", "!the keys"},
    {"map of numbers and their texts",
     "{dyn(1): 'a', dyn('x'): 'b', dyn('1'): 'c', dyn(2): 'd', dyn(2u): 'e'}",
     "{\"1\":\"c\",\"x\":\"b\",\"2\":\"e\"}", "!the keys", "!the keys"},
    {"map of texts and their truth",
     "{dyn('true'): dyn(1), dyn('b'): dyn(2), dyn(true): dyn([3]), dyn('c'): dyn(4)}",
     "{\"true\":[3],\"b\":2,\"c\":4}", "!the keys", "!the keys"},
    {"list in a map", "{'a': [1]}", "{\"a\":[1]}", "!.a: a list made by", "{\"a\":[1]}"},
    {"map in a list", "[{'a': 1}]", "[{\"a\":1}]", "![0]: a map made by", "[{\"a\":1}]"},
    {"what was read", "object.a", "[1,{\"b\":null}]", "[1,{\"b\":null}]", "[1,{\"b\":null}]"},
    {"what was read, in a list", "[object.map]", "[{\"k\":[\"v\"]}]", "[{\"k\":[\"v\"]}]",
     "[{\"k\":[\"v\"]}]"},
    {"large int that was read", "object.big", "9007199254740993", "9007199254740993",
     "\"9007199254740993\""},
    {"null that was read", "object.none", "null", "!null cannot be set", "null"},
    {"optional", "optional.of('x')", "\"x\"", "\"x\"", "\"x\""},
    {"no optional", "optional.none()", "null", "null", "!optional.none() dereference"},
    {"object", "Object{spec: Object.spec{n: 1, ?m: optional.none(), l: optional.none()}}",
     "{\"spec\":{\"n\":1,\"l\":null}}", "{\"spec\":{\"n\":1,\"l\":null}}",
     "{\"spec\":{\"n\":1,\"l\":null}}"},
    {"objects in a list", "Object{a: [Object.a{b: 1}]}", "{\"a\":[{\"b\":1}]}",
     "{\"a\":[{\"b\":1}]}", "{\"a\":[{\"b\":1}]}"},
    {"bytes in an object", "Object{a: b'a'}", "{\"a\":\"YQ==\"}", "!.a: a value of type bytes",
     "{\"a\":\"YQ==\"}"},
    {"uint in an object", "Object{a: 1u}", "{\"a\":1}", "!.a: a value of type uint", "{\"a\":1}"},
    {"large int in an object", "Object{a: 9007199254740993}", "{\"a\":9007199254740993}",
     "{\"a\":9007199254740993}", "{\"a\":9007199254740992}"},
    {"null in an object", "Object{a: null}", "{\"a\":null}", "!.a: null cannot be set",
     "!invalid type: structpb.NullValue"},
    {"time in an object", "Object{a: {'b': timestamp(0)}}",
     "{\"a\":{\"b\":\"1970-01-01T00:00:00Z\"}}", "!.a.b: a value of type google",
     "!invalid type: time.Time"},
    {"map in a list of an object", "Object{a: [{'b': 1}]}", "{\"a\":[{\"b\":1}]}",
     "!.a[0]: a map made by", "!invalid type: map[ref.Val]ref.Val"},
    {"object in a list", "[Object.a{}]", "[{}]", "[{}]", "!an object in a list or map"},
    /* The rows below are what kube-apiserver 1.36.2 made of the value of a JSONPatch. */
    {"object added to a list", "object.a + [dyn(Object.a{b: 1})]", "[1,{\"b\":null},{\"b\":1}]",
     "[1,{\"b\":null},{\"b\":1}]", "[1,{\"b\":null},{\"b\":1}]"},
    {"objects added to objects", "[Object.a{b: 1}] + [Object.a{b: 2}]", "[{\"b\":1},{\"b\":2}]",
     "[{\"b\":1},{\"b\":2}]", "[{\"b\":1},{\"b\":2}]"},
    {"object added to no list", "[dyn(1)].filter(x, false) + [dyn(Object.a{b: 1})]", "[{\"b\":1}]",
     "[{\"b\":1}]", "!an object in a list or map"},
    {"no list added to objects", "[Object.a{}] + []", "[{}]", "[{}]",
     "!an object in a list or map"},
    {"object added to an optional list",
     "object.?a.optMap(l, l + [dyn(Object.a{b: 1})]).orValue([])", "[1,{\"b\":null},{\"b\":1}]",
     "[1,{\"b\":null},{\"b\":1}]", "[1,{\"b\":null},{\"b\":1}]"},
    {"object added to an optional list that is empty",
     "optional.of([dyn(1)].filter(x, false)).optMap(l, l + [dyn(Object.a{b: 1})]).value()",
     "[{\"b\":1}]", "[{\"b\":1}]", "!an object in a list or map"},
    {"objects made in a loop", "object.a.map(x, Object.a{})", "[{},{}]", "[{},{}]",
     "!an object in a list or map"},
    {"elements of a sum", "(object.a + [dyn(Object.a{b: 1})]).filter(x, true)",
     "[1,{\"b\":null},{\"b\":1}]", "[1,{\"b\":null},{\"b\":1}]", "!an object in a list or map"},
    {"a sum in a map", "{'l': object.a + [dyn(Object.a{b: 1})]}",
     "{\"l\":[1,{\"b\":null},{\"b\":1}]}", "!.l: a list made by",
     "{\"l\":[1,{\"b\":null},{\"b\":1}]}"},
    {"fields of an object in a sum",
     "object.a + [dyn(Object.a{n: null, t: duration('1s'), u: 7u, i: 9007199254740993, "
     "y: type(1), o: Object.a.o{}, l: [Object.a.l{}], m: [{'b': 2}], x: optional.none(), "
     "s: b'abc'})]",
     "!type", "!null cannot be set",
     "[1,{\"b\":null},{\"n\":null,\"t\":\"1s\",\"u\":7,\"i\":\"9007199254740993\",\"y\":\"int\","
     "\"o\":{},\"l\":[{}],\"m\":[{\"b\":2}],\"x\":null,\"s\":\"YWJj\"}]"},
    {"another name in a sum", "object.a + [dyn(Object.foo{b: 1})]", "[1,{\"b\":null},{\"b\":1}]",
     "[1,{\"b\":null},{\"b\":1}]", "[1,{\"b\":null},{\"b\":1}]"},
    {"a list of objects in a sum", "object.a + [dyn([Object.a{}])]", "[1,{\"b\":null},[{}]]",
     "![2]: a list made by", "!an object in a list or map"},
    {"nothing in a sum", "object.a + [dyn(optional.none())]", "[1,{\"b\":null},null]",
     "[1,{\"b\":null},null]", "[1,{\"b\":null},null]"},
    {"a type in a sum", "object.a + [dyn(int)]", "!type type", "[1,{\"b\":null},\"int\"]",
     "[1,{\"b\":null},\"int\"]"},
    {"a quantity in a sum", "object.a + [dyn(quantity('1'))]", "!kubernetes.Quantity",
     "!kubernetes.Quantity", "!unsupported conversion to ref.Val: (*resource.Quantity)1"},
    {"a patch in a sum", "object.a + [dyn(JSONPatch{op: 'add'})]",
     "[1,{\"b\":null},{\"op\":\"add\"}]", "[1,{\"b\":null},{\"op\":\"add\"}]",
     "!cannot convert to native type: *structpb.Value"},
    {"a number for a key in a sum", "object.a + [dyn(Object.a{l: {1: '1'}})]",
     "[1,{\"b\":null},{\"l\":{\"1\":\"1\"}}]", "!the keys of maps must be strings",
     "!fail to convert field \"l\": map key '\\x01' is of type types.Int, not string"},
    {"name of another path", "Object{spec: Object.wrong{}}", "{\"spec\":{}}",
     "!unexpected type name \"Object.wrong\", expected \"Object.spec\"",
     "!unexpected type name \"Object.wrong\", expected \"Object.spec\""},
    {"name of an item", "Object{a: [Object.a.item{}]}", "{\"a\":[{}]}", "!expected \"Object.a\"",
     "!expected \"Object.a\""},
    {"name under its own root", "Object.x{y: Object.x.y{}}", "{\"y\":{}}", "{\"y\":{}}",
     "{\"y\":{}}"},
};

static void check_rule(size_t row, const struct ek_cel_val *value, enum ek_cel_json_rules rules,
                       const char *want)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_err err = {0};
    yyjson_mut_val *json = ek_cel_to_json(value, rules, doc, NULL, &err);
    char *text = json ? yyjson_mut_val_write(json, YYJSON_WRITE_NOFLAG, NULL) : NULL;

    if (*want == '!')
        ck_assert_msg(!json && strstr(err.message, want + 1), "%s, rules %d: %s%s, not %s",
                      rows[row].name, rules, text ? text : "", err.message, want);
    else
        ck_assert_msg(text && !strcmp(text, want), "%s, rules %d: %s%s, not %s", rows[row].name,
                      rules, text ? text : "", err.message, want);
    free(text);
    yyjson_mut_doc_free(doc);
}

START_TEST(values_become_json_by_each_rule)
{
    const char *expr = rows[_i].expr;
    struct ek_err err = {0};
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_env *env =
        ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, &err);
    yyjson_doc *doc = yyjson_read(object, sizeof object - 1, 0);
    struct ek_cel_val vars[1] = {ek_cel_from_json(yyjson_doc_get_root(doc))};
    struct ek_arena *arena = ek_arena_new(1000000);
    struct ek_cel_result r;

    ck_assert_msg(env && ek_cel_env_declare(env, "object", "dyn", &err) == 0, "%s", err.message);
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, &issues);
    ck_assert_msg(program != NULL, "%s: %s", expr, issues.len ? issues.list[0].message : "");
    ck_assert(ek_cel_eval(program, vars, arena, &(struct ek_cel_limits){0}, &r));
    check_rule((size_t)_i, &r.value, EK_CEL_JSON_PLAIN, rows[_i].plain);
    check_rule((size_t)_i, &r.value, EK_CEL_JSON_APPLY, rows[_i].apply);
    check_rule((size_t)_i, &r.value, EK_CEL_JSON_JSONPATCH, rows[_i].patch);
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    ek_arena_free(arena);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(large_values_are_refused)
{
    static char text[1000000];
    struct ek_cel_val item = ek_cel_string(text, sizeof text);
    struct {
        struct ek_cel_items items;
        struct ek_cel_val v[100];
    } many = {.items = {.used = 100}};
    struct ek_cel_val list = {.kind = EK_CEL_LIST, .n = 100, .items = &many.items};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_err err = {0};

    memset(text, 'x', sizeof text);
    for (int i = 0; i < 100; i++)
        many.v[i] = item;
    ck_assert(!ek_cel_to_json(&list, EK_CEL_JSON_PLAIN, doc, NULL, &err));
    ck_assert_msg(strstr(err.message, "too large") != NULL, "%s", err.message);
    ck_assert(ek_cel_to_json(&item, EK_CEL_JSON_PLAIN, doc, NULL, &err));
    yyjson_mut_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cel_json");

    tcase_add_loop_test(tcase, values_become_json_by_each_rule, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tcase, large_values_are_refused);
    return ek_test_run("cel_json", tcase);
}
