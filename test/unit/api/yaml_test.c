/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "test/support/deep.h"
#include "test/support/suite.h"

#define MAX 100000

static const struct {
    const char *name;
    const char *yaml;
    const char *json;
} read_rows[] = {
    {"mapping", "a: b\nc: d\n", "{\"a\":\"b\",\"c\":\"d\"}"},
    {"nested", "a:\n  b:\n  - 1\n  - c: 2\n    d: 3\n", "{\"a\":{\"b\":[1,{\"c\":2,\"d\":3}]}}"},
    {"flow", "{a: [1, {b: c}], 'd': \"e\"}", "{\"a\":[1,{\"b\":\"c\"}],\"d\":\"e\"}"},
    {"JSON", "{\"a\":[1,2.5,\"x\",true,null]}", "{\"a\":[1,2.5,\"x\",true,null]}"},
    {"empty", "", "null"},
    {"only a comment", "# nothing\n", "null"},
    {"a null document behind", "a: 1\n---\n", "{\"a\":1}"},
    {"scalar", "x", "\"x\""},
    {"booleans of YAML 1.1", "[y, Yes, on, TRUE, n, No, OFF, false]",
     "[true,true,true,true,false,false,false,false]"},
    {"no booleans", "[yEs, oN, t, f, \"yes\", 'no', tru]",
     "[\"yEs\",\"oN\",\"t\",\"f\",\"yes\",\"no\",\"tru\"]"},
    {"nulls", "[~, null, Null, NULL, ]", "[null,null,null,null]"},
    {"no nulls", "[nULL, \"\", '~']", "[\"nULL\",\"\",\"~\"]"},
    {"absent value", "a:\nb: 1", "{\"a\":null,\"b\":1}"},
    {"integers", "[0, 12, -7, +3, 1_000, 0x1F, 0o17, 017, 0b11, -0x10]",
     "[0,12,-7,3,1000,31,15,15,3,-16]"},
    {"large integers",
     "[9223372036854775807, -9223372036854775808, 9223372036854775808, 18446744073709551615]",
     "[9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551615]"},
    {"beyond 64 bits", "[18446744073709551616]", "[1.8446744073709552e19]"},
    {"no octal", "[08, 0o8, 0x, 0xg, 0b2]", "[8,\"0o8\",\"0x\",\"0xg\",\"0b2\"]"},
    {"reals", "[1.5, .5, 1., -2.5e-3, 1e3, 1E+2, +.5]", "[1.5,0.5,1,-0.0025,1000,100,0.5]"},
    {"no reals", "[1e, 1.2.3, e5, ., .e1, 1e999, -, +]",
     "[\"1e\",\"1.2.3\",\"e5\",\".\",\".e1\",\"1e999\",\"-\",\"+\"]"},
    {"dates are text", "[2026-11-20, 2026-11-20T10:58:09Z]",
     "[\"2026-11-20\",\"2026-11-20T10:58:09Z\"]"},
    {"base 60 is text", "[1:30, 1:30:00.5]", "[\"1:30\",\"1:30:00.5\"]"},
    {"quoted is text", "[\"1\", '2', \"true\", \"null\", \"1.5\"]",
     "[\"1\",\"2\",\"true\",\"null\",\"1.5\"]"},
    {"blocks are text", "a: |\n  1\nb: >-\n  2\n  3\n", "{\"a\":\"1\\n\",\"b\":\"2 3\"}"},
    {"tags", "[!!str 1, !!int \"2\", !!float 3, !!bool \"yes\", !!null \"\", !mine 4]",
     "[\"1\",2,3,true,null,\"4\"]"},
    {"keys that are no text", "1: a\n2.5: b\ntrue: c\n-1: d\n",
     "{\"1\":\"a\",\"2.5\":\"b\",\"true\":\"c\",\"-1\":\"d\"}"},
    {"long key", "? a\n: b\n", "{\"a\":\"b\"}"},
    {"alias", "a: &x {b: [1]}\nc: *x\nd: *x\n",
     "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":{\"b\":[1]}}"},
    {"alias of a scalar, as a key too", "&k a: &v 1\nb: *v\nc: {*k : *v}\n",
     "{\"a\":1,\"b\":1,\"c\":{\"a\":1}}"},
    {"the last anchor counts", "[&a 1, &a 2, *a]", "[1,2,2]"},
    {"merge", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n  e: 4\n",
     "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"e\":4,\"b\":1}}"},
    {"merge of several", "{<<: [{a: 1}, {a: 2, b: 3}], c: 4}", "{\"c\":4,\"a\":1,\"b\":3}"},
    {"no merge", "{\"<<\": 1}", "{\"<<\":1}"},
    {"escapes", "\"\\x41\\u00e4\\U0001F600\\t\\0\\\"\"",
     "\"A\xc3\xa4\xf0\x9f\x98\x80\\t\\u0000\\\"\""},
    {"UTF-16",
     "\xff\xfe"
     "a\0:\0 \0"
     "b\0",
     "{\"a\":\"b\"}"},
};

static void check_read(const char *name, const char *yaml, size_t len, const char *want)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    int rc = ek_yaml_parse(yaml, len, MAX, &doc, &err);
    ck_assert_msg(rc == 0, "%s: %s", name, err.message);
    EK_AUTOFREE char *json = yyjson_write(doc, YYJSON_WRITE_NOFLAG, NULL);
    yyjson_doc *wanted = ek_json_parse(want, strlen(want), NULL);
    EK_AUTOFREE char *normal = yyjson_write(wanted, YYJSON_WRITE_NOFLAG, NULL);
    ck_assert_msg(json && !strcmp(json, normal), "%s: %s", name, json);
    yyjson_doc_free(wanted);
    yyjson_doc_free(doc);
}

START_TEST(yaml_is_read)
{
    /* The row in UTF-16 is the only one with zero bytes. */
    const char *yaml = read_rows[_i].yaml;
    check_read(read_rows[_i].name, yaml, *yaml == '\xff' ? 10 : strlen(yaml), read_rows[_i].json);
}
END_TEST

static const struct {
    const char *name;
    const char *yaml;
    int code;
    const char *message;
} bad_rows[] = {
    {"key twice", "a: 1\nb: 2\n\"a\": 3\na: 4\n", EK_E_PARSE,
     "line 3 column 1: key \"a\" occurs twice"},
    {"key twice in other types", "1: a\n\"1\": b\n", EK_E_PARSE, "line 2 column 1: key \"1\""},
    {"open list", "a: [1", EK_E_PARSE, "line 2 column 1"},
    {"tab", "a:\n\tb: 1", EK_E_PARSE, "line 2 column 1"},
    {"two colons", "a: b: c", EK_E_PARSE, "line 1 column 5"},
    {"indentation", "a:\n   b: 1\n  c: 2\n", EK_E_PARSE, "line 3 column 3"},
    {"unknown alias", "a: *b", EK_E_PARSE, "line 1 column 4: alias \"b\" names no value"},
    {"alias of its own container", "&a [*a]", EK_E_PARSE, "line 1 column 5: alias \"a\""},
    {"alias of another document", "--- &a 1\n--- *a\n", EK_E_PARSE, "line 2 column 5"},
    {"second document", "a: 1\n---\nb: 2\n", EK_E_PARSE, "line 2 column 1: a second document"},
    {"infinity", "a: .inf", EK_E_UNSUPPORTED, "line 1 column 4"},
    {"not a number", "a: [1, .nan]", EK_E_UNSUPPORTED, "line 1 column 8"},
    {"binary", "a: !!binary aGk=", EK_E_UNSUPPORTED, "!!binary"},
    {"no integer", "a: !!int x", EK_E_PARSE, "\"x\" is no !!int"},
    {"no boolean", "a: !!bool 1", EK_E_PARSE, "\"1\" is no !!bool"},
    {"key is a list", "? [a]\n: b", EK_E_PARSE, "a key must be"},
    {"key is null", "~: b", EK_E_PARSE, "a key must be"},
    {"merge of a scalar", "<<: 1", EK_E_PARSE, "<< takes a mapping"},
    {"merge of scalars", "<<: [{a: 1}, 2]", EK_E_PARSE, "<< takes mappings only"},
    {"lone surrogate", "\"\\ud800\"", EK_E_PARSE, "line 1 column"},
    {"broken UTF-8", "a: b\n\xff", EK_E_PARSE, "invalid leading UTF-8 octet"},
    {"control character", "a: \x01", EK_E_PARSE, "control characters are not allowed"},
    {"reserved", "a: @b", EK_E_PARSE, "line 1 column 4"},
};

START_TEST(malformed_yaml_is_located)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    int rc = ek_yaml_parse(bad_rows[_i].yaml, strlen(bad_rows[_i].yaml), MAX, &doc, &err);
    ck_assert_msg(rc == bad_rows[_i].code && err.code == rc, "%s: %d %s", bad_rows[_i].name, rc,
                  err.message);
    ck_assert_msg(strstr(err.message, bad_rows[_i].message) != NULL, "%s: %s", bad_rows[_i].name,
                  err.message);
    ck_assert_ptr_null(doc);
}
END_TEST

START_TEST(many_documents_make_a_list)
{
    static const char text[] = "a: 1\n---\n# nothing\n---\n[2]\n...\n--- null\n--- x\n";
    yyjson_doc *doc = NULL;

    ck_assert_int_eq(ek_yaml_parse_all(text, sizeof text - 1, MAX, &doc, NULL), 0);
    EK_AUTOFREE char *json = yyjson_write(doc, YYJSON_WRITE_NOFLAG, NULL);
    ck_assert_str_eq(json, "[{\"a\":1},[2],\"x\"]");
    yyjson_doc_free(doc);
    ck_assert_int_eq(ek_yaml_parse_all("", 0, MAX, &doc, NULL), 0);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_doc_get_root(doc)), 0);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(size_is_bounded)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_yaml_parse("abcde", 5, 4, &doc, &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "5 bytes of YAML where at most 4 are taken");
    ck_assert_int_eq(ek_yaml_parse("abcd", 4, 4, &doc, &err), 0);
    yyjson_doc_free(doc);
}
END_TEST

static int depth_is_bounded_body(void *unused)
{
    char text[EK_JSON_DEPTH_MAX + 20];
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    (void)unused;
    memset(text, '[', sizeof text);
    ck_assert_int_eq(ek_yaml_parse(text, sizeof text, MAX, &doc, &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "YAML line 1 column 10001: nests deeper than 10000 levels");
    EK_AUTO(ek_buf) deep;
    ek_buf_init(&deep, MAX);
    for (int i = 0; i < EK_JSON_DEPTH_MAX - 56; i++)
        ek_buf_puts(&deep, "[");
    ek_buf_puts(&deep, "&a [[[[[[[[[[1]]]]]]]]]]");
    for (int i = 0; i < 50; i++)
        ek_buf_puts(&deep, i ? "[" : ",[");
    ek_buf_puts(&deep, "*a");
    /* Here an alias alone goes too deep: six levels fewer than fit around it, and 10 in it. */
    ck_assert_int_eq(ek_yaml_parse(deep.data, deep.len, MAX, &doc, &err), EK_E_LIMIT);
    return 0;
}

START_TEST(depth_is_bounded)
{
    EK_DEEP(depth_is_bounded_body);
}
END_TEST

START_TEST(aliases_cannot_blow_up)
{
    EK_AUTO(ek_buf) text;
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    ek_buf_init(&text, MAX);
    ek_buf_puts(&text, "a0: &a0 lol\n");
    for (int i = 1; i < 30; i++)
        ek_buf_printf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1,
                      i - 1);
    ck_assert_int_eq(ek_yaml_parse(text.data, text.len, MAX, &doc, &err), EK_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.message, "aliases make the document too large"));
}
END_TEST

START_TEST(lack_of_memory_is_an_error)
{
    static const char text[] = "a: &x {b: [1, 2]}\nc: {<<: *x, d: 3}\n";
    yyjson_doc *doc = NULL;
    int rc = EK_E_NOMEM;
    long n = 0;

    while (rc == EK_E_NOMEM && n < 100) {
        ek_alloc_fail_after(++n);
        rc = ek_yaml_parse(text, sizeof text - 1, MAX, &doc, NULL);
    }
    ek_alloc_fail_after(0);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(n, 5);
    yyjson_doc_free(doc);
}
END_TEST

static const struct {
    const char *name;
    const char *json;
    const char *yaml;
} write_rows[] = {
    {"mapping", "{\"b\":1,\"a\":\"x\"}", "b: 1\na: x\n"},
    {"lists at their parent's level", "{\"a\":[{\"b\":1,\"c\":[2]},3]}",
     "a:\n- b: 1\n  c:\n  - 2\n- 3\n"},
    {"list of lists", "[[1,2],[[3]]]", "- - 1\n  - 2\n- - - 3\n"},
    {"empty containers", "{\"a\":{},\"b\":[]}", "a: {}\nb: []\n"},
    {"scalars", "[null,true,false,-1,18446744073709551615]",
     "- null\n- true\n- false\n- -1\n- 18446744073709551615\n"},
    {"reals", "[1.5,1000.0,1e21,0.00001,1234567.5,0.1,-0.0]",
     "- 1.5\n- 1000\n- 1e+21\n- 1e-05\n- 1.2345675e+06\n- 0.1\n- -0\n"},
    {"whole reals",
     "[1000000.0,1.5e6,9223372036854775808.0,1e19,1e20,-9223372036854774784.0,"
     "-9223372036854775808.0,18446744073709551616.0]",
     "- 1000000\n- 1500000\n- 9223372036854776000\n- 10000000000000000000\n- 1e+20\n"
     "- -9223372036854775000\n- -9.223372036854776e+18\n- 1.8446744073709552e+19\n"},
    {"strings that read as something else",
     "[\"\",\"y\",\"No\",\"null\",\"~\",\"12\",\"0o17\",\"1e3\",\".inf\",\"2026-11-20\","
     "\"2026-11-20T10:58:09Z\",\"1:30\",\"+1\",\"1_0\"]",
     "- \"\"\n- \"y\"\n- \"No\"\n- \"null\"\n- \"~\"\n- \"12\"\n- \"0o17\"\n- \"1e3\"\n"
     "- \".inf\"\n- \"2026-11-20\"\n- \"2026-11-20T10:58:09Z\"\n- \"1:30\"\n- \"+1\"\n"
     "- \"1_0\"\n"},
    {"strings that read as strings",
     "[\"x y\",\"1.36.2\",\"v1\",\"it's\",\"say \\\"x\\\"\",\"<<\",\"?x\",\"a:b\",\"a#b\"]",
     "- x y\n- 1.36.2\n- v1\n- it's\n- say \"x\"\n- <<\n- ?x\n- a:b\n- a#b\n"},
    {"strings that need quotes",
     "[\" a\",\"a \",\"- a\",\"a: b\",\"a #b\",\"*x\",\"@x\",\"%x\",\"{}\",\"[\",\"---\"]",
     "- ' a'\n- 'a '\n- '- a'\n- 'a: b'\n- 'a #b'\n- '*x'\n- '@x'\n- '%x'\n- '{}'\n- '['\n"
     "- '---'\n"},
    {"characters that need escapes",
     "[\"a\\tb\",\"\\u0001\",\"\\u2028\",\"a\\u0085b\",\"a\\r\\nb\"]",
     "- \"a\\tb\"\n- \"\\x01\"\n- \"\\L\"\n- \"a\\Nb\"\n- \"a\\r\\nb\"\n"},
    {"letters", "\"\xc3\xa4\"", "\xc3\xa4\n"},
    {"lines", "{\"a\":\"x\\ny\\n\",\"b\":\"x\\n  y\"}", "a: |\n  x\n  y\nb: |-\n  x\n    y\n"},
    {"blank before a line's end", "{\"a\":\"x \\ny\"}", "a: \"x \\ny\"\n"},
    {"keys", "{\"true\":1,\"1\":2,\"\":3,\"a b\":4,\"<<\":5}",
     "\"true\": 1\n\"1\": 2\n\"\": 3\na b: 4\n\"<<\": 5\n"},
    {"long text",
     "{\"message\":\"one two three four five six seven eight nine ten eleven twelve thirteen "
     "fourteen fifteen\"}",
     "message: one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
     "  fifteen\n"},
};

START_TEST(yaml_is_written)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(write_rows[_i].json, strlen(write_rows[_i].json), &err);
    yyjson_doc *again = NULL;
    EK_AUTO(ek_buf) out;

    ck_assert_msg(doc != NULL, "%s: %s", write_rows[_i].name, err.message);
    ek_buf_init(&out, MAX);
    ck_assert_int_eq(ek_yaml_write(&out, yyjson_doc_get_root(doc), &err), 0);
    ck_assert_msg(!strcmp(ek_buf_str(&out), write_rows[_i].yaml), "%s:\n%s", write_rows[_i].name,
                  ek_buf_str(&out));
    int rc = ek_yaml_parse(out.data, out.len, MAX, &again, &err);
    ck_assert_msg(rc == 0, "%s: %s", write_rows[_i].name, err.message);
    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(doc), yyjson_doc_get_root(again)),
                  "%s: reads as something else", write_rows[_i].name);
    yyjson_doc_free(doc);
    yyjson_doc_free(again);
}
END_TEST

START_TEST(output_is_bounded)
{
    static const char json[] = "{\"a\":[1,2,3]}";
    yyjson_doc *doc = ek_json_parse(json, sizeof json - 1, NULL);
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};

    ek_buf_init(&out, 8);
    ck_assert_int_eq(ek_yaml_write(&out, yyjson_doc_get_root(doc), &err), EK_E_LIMIT);
    ck_assert_str_eq(err.message, "YAML: more than 8 bytes of output");
    yyjson_doc_free(doc);
}
END_TEST

static int output_is_no_deeper_than_input_may_be_body(void *unused)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = yyjson_mut_arr(doc);
    EK_AUTO(ek_buf) out;

    (void)unused;
    for (int i = 0; i < EK_JSON_DEPTH_MAX; i++) {
        yyjson_mut_val *outer = yyjson_mut_arr(doc);
        yyjson_mut_arr_append(outer, value);
        value = outer;
    }
    yyjson_doc *deep = yyjson_mut_val_imut_copy(value, NULL);
    ek_buf_init(&out, MAX);
    ck_assert_int_eq(ek_yaml_write(&out, yyjson_doc_get_root(deep), NULL), EK_E_LIMIT);
    ek_buf_reset(&out);
    yyjson_val *inner = yyjson_arr_get_first(yyjson_doc_get_root(deep));
    ck_assert_int_eq(ek_yaml_write(&out, inner, NULL), 0);
    yyjson_doc_free(deep);
    yyjson_mut_doc_free(doc);
    return 0;
}

START_TEST(output_is_no_deeper_than_input_may_be)
{
    EK_DEEP(output_is_no_deeper_than_input_may_be_body);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("yaml");

    tcase_add_loop_test(tcase, yaml_is_read, 0, EK_ARRAY_SIZE(read_rows));
    tcase_add_loop_test(tcase, malformed_yaml_is_located, 0, EK_ARRAY_SIZE(bad_rows));
    tcase_add_test(tcase, many_documents_make_a_list);
    tcase_add_test(tcase, size_is_bounded);
    tcase_add_test(tcase, depth_is_bounded);
    tcase_add_test(tcase, aliases_cannot_blow_up);
    tcase_add_test(tcase, lack_of_memory_is_an_error);
    tcase_add_loop_test(tcase, yaml_is_written, 0, EK_ARRAY_SIZE(write_rows));
    tcase_add_test(tcase, output_is_bounded);
    tcase_add_test(tcase, output_is_no_deeper_than_input_may_be);
    return ek_test_run("yaml", tcase);
}
