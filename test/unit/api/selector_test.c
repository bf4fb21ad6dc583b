/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/selector.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    const char *text;
    const char *want; /* as printed; "!" and a part of the message where it is an error */
} parse_rows[] = {
    {"equals", "a=b", "a=b"},
    {"double equals", "a==b", "a==b"},
    {"not equals", "c!=d", "c!=d"},
    {"in", "e in (x,y)", "e in (x,y)"},
    {"notin", "f notin (z)", "f notin (z)"},
    {"exists", "g", "g"},
    {"not exists", "!h", "!h"},
    {"all of them", "a=b,c!=d,e in (x,y),f notin (z),g,!h", "a=b,c!=d,e in (x,y),f notin (z),g,!h"},
    {"blanks", " \ta = b ,\n! h , e\tin( y , x ) ", "a=b,e in (x,y),!h"},
    {"everything", "", ""},
    {"only blanks", "  ", ""},
    {"absent", NULL, ""},
    {"sorted by key, values once", "b=1,a in (y,x,y)", "a in (x,y),b=1"},
    {"empty value", "a=", "a="},
    {"empty value before a comma", "a=,b", "a=,b"},
    {"empty list is the empty value", "a in ()", "a in ()"},
    {"empty values in a list", "a in (,x,)", "a in (,x)"},
    {"in as a key", "in in (in,notin)", "in in (in,notin)"},
    {"in as a value", "a=in,b!=notin", "a=in,b!=notin"},
    {"greater, less", "a>1,b<2", "a>1,b<2"},
    {"prefix", "app.kubernetes.io/name=x", "app.kubernetes.io/name=x"},
    {"comma in front", ",a", "!expected \"!\" or a label key at column 1, found \",\" in"},
    {"comma at the end", "a,", "!expected \"!\" or a label key at column 3, found the end in"},
    {"no list", "a in x", "!expected \"(\" at column 6, found \"x\" in \"a in x\""},
    {"open list", "a in (x", "!expected \",\", \")\" or a value"},
    {"two words in a list", "a in (x y)", "!expected \",\", \")\" or a value"},
    {"two words", "a b", "!expected one of in, notin, =, ==, !=, >, <"},
    {"three equals", "a===b", "!expected a value at column 4"},
    {"not with a value", "!a=b", "!expected \",\" or the end"},
    {"only not", "!", "!expected a label key at column 2, found the end"},
    {"bad key", "a//b=c", "!\"a//b\" is not a label key"},
    {"bad key character", "a\xff=c", "!\"a\\xff\" is not a label key"},
    {"capital prefix", "A.b/c", "!\"A.b/c\" is not a label key"},
    {"prefix with two dots", "a..b/c", "!\"a..b/c\" is not a label key"},
    {"prefix with a dash at the end", "a-.b/c", "!\"a-.b/c\" is not a label key"},
    {"bad value", "a=-b", "!\"-b\" is not a valid value of label a"},
    {"long value", "a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "!is not a valid value of label a"},
    {"greater than a word", "a>b", "!a is compared with \"b\", which is not an integer"},
    {"greater than nothing", "a>", "!a is compared with \"\", which is not an integer"},
};

START_TEST(strings_parse)
{
    struct ek_selector *selector = NULL;
    struct ek_err err = {0};
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 1000);
    int rc = ek_selector_parse(parse_rows[_i].text, &selector, &err);
    if (*parse_rows[_i].want == '!' && rc) {
        ck_assert_int_eq(rc, err.code);
        ck_assert_msg(strstr(err.message, parse_rows[_i].want + 1) != NULL, "%s: %s",
                      parse_rows[_i].name, err.message);
        return;
    }
    ck_assert_msg(rc == 0, "%s: %s", parse_rows[_i].name, err.message);
    ck_assert_int_eq(ek_selector_format(selector, &got), 0);
    ck_assert_msg(!strcmp(ek_buf_str(&got), parse_rows[_i].want), "%s: %s", parse_rows[_i].name,
                  ek_buf_str(&got));
    ck_assert_int_eq(ek_selector_is_empty(selector), got.len == 0);
    ek_selector_free(selector);
}
END_TEST

static const struct {
    const char *name;
    const char *selector;
    const char *labels;
    bool want;
} match_rows[] = {
    {"everything", "", "{}", true},
    {"equals", "a=b", "{\"a\":\"b\"}", true},
    {"equals another", "a=b", "{\"a\":\"c\"}", false},
    {"equals, absent", "a=b", "{}", false},
    {"no labels at all", "a=b", NULL, false},
    {"not equals", "a!=b", "{\"a\":\"c\"}", true},
    {"not equals, absent", "a!=b", "{}", true},
    {"not equals, the same", "a!=b", "{\"a\":\"b\"}", false},
    {"in", "a in (x,y)", "{\"a\":\"y\"}", true},
    {"in, another", "a in (x,y)", "{\"a\":\"z\"}", false},
    {"notin", "a notin (x,y)", "{\"a\":\"z\"}", true},
    {"notin, absent", "a notin (x,y)", "{}", true},
    {"notin, there", "a notin (x,y)", "{\"a\":\"x\"}", false},
    {"exists", "a", "{\"a\":\"\"}", true},
    {"exists, absent", "a", "{\"b\":\"\"}", false},
    {"not exists", "!a", "{\"b\":\"\"}", true},
    {"not exists, there", "!a", "{\"a\":\"\"}", false},
    {"empty value", "a=", "{\"a\":\"\"}", true},
    {"empty value, absent", "a=", "{}", false},
    {"greater", "a>5", "{\"a\":\"6\"}", true},
    {"greater, same", "a>5", "{\"a\":\"5\"}", false},
    {"greater, by value", "a>9", "{\"a\":\"10\"}", true},
    {"greater, a word", "a>5", "{\"a\":\"x\"}", false},
    {"less", "a<5", "{\"a\":\"-6\"}", true},
    {"less, absent", "a<5", "{}", false},
    {"all must hold", "a=b,c", "{\"a\":\"b\"}", false},
    {"all hold", "a=b,c", "{\"a\":\"b\",\"c\":\"d\"}", true},
    {"a value that is no string", "a", "{\"a\":1}", false},
};

START_TEST(selectors_match)
{
    struct ek_selector *selector = NULL;
    const char *labels = match_rows[_i].labels;
    yyjson_doc *doc = labels ? ek_json_parse(labels, strlen(labels), NULL) : NULL;

    ck_assert_int_eq(ek_selector_parse(match_rows[_i].selector, &selector, NULL), 0);
    ck_assert_msg(ek_selector_matches(selector, yyjson_doc_get_root(doc)) == match_rows[_i].want,
                  "%s", match_rows[_i].name);
    ek_selector_free(selector);
    yyjson_doc_free(doc);
}
END_TEST

static const struct {
    const char *name;
    const char *json;
    const char *want; /* as in parse_rows; "-" for one that selects nothing */
} json_rows[] = {
    {"empty", "{}", ""},
    {"null", "null", "-"},
    {"labels", "{\"matchLabels\":{\"b\":\"1\",\"a\":\"2\"}}", "a=2,b=1"},
    {"expressions",
     "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"y\",\"x\"]},"
     "{\"key\":\"b\",\"operator\":\"NotIn\",\"values\":[\"z\"]},"
     "{\"key\":\"c\",\"operator\":\"Exists\"},"
     "{\"key\":\"d\",\"operator\":\"DoesNotExist\",\"values\":[]}]}",
     "a in (x,y),b notin (z),c,!d"},
    {"nulls", "{\"matchLabels\":null,\"matchExpressions\":null}", ""},
    {"no object", "[]", "!label selector: must be an object"},
    {"labels no object", "{\"matchLabels\":[]}", "!matchLabels: must be an object of strings"},
    {"label no string", "{\"matchLabels\":{\"a\":1}}", "!matchLabels[\"a\"]: must be a string"},
    {"bad label", "{\"matchLabels\":{\"a b\":\"\"}}", "!\"a b\" is not a label key"},
    {"expressions no list", "{\"matchExpressions\":{}}", "!matchExpressions: must be a list"},
    {"expression no object", "{\"matchExpressions\":[1]}", "!matchExpressions[0]: key: must be"},
    {"operator", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}",
     "!matchExpressions[0]: operator: \"Gt\" is not one of"},
    {"in nothing", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}",
     "!matchExpressions[0]: values: must not be empty for operator In"},
    {"exists with values",
     "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]}]}",
     "!matchExpressions[0]: values: must be empty for operator Exists"},
    {"values no list", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":1}]}",
     "!matchExpressions[0]: values: must be a list"},
    {"value no string",
     "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[1]}]}",
     "!matchExpressions[0]: values[0]: must be a string"},
};

START_TEST(objects_are_read)
{
    struct ek_selector *selector = NULL;
    struct ek_err err = {0};
    EK_AUTO(ek_buf) got;
    const char *json = json_rows[_i].json, *want = json_rows[_i].want;
    yyjson_doc *doc = ek_json_parse(json, strlen(json), NULL);

    ek_buf_init(&got, 1000);
    int rc = ek_selector_from_json(yyjson_doc_get_root(doc), &selector, &err);
    if (rc) {
        ck_assert_msg(*want == '!' && strstr(err.message, want + 1), "%s: %s", json_rows[_i].name,
                      err.message);
    } else {
        bool nothing = !ek_selector_matches(selector, NULL) && !*want;
        ck_assert_msg(!nothing, "%s: selects nothing", json_rows[_i].name);
        ek_buf_puts(&got, *want == '-' && !ek_selector_is_empty(selector) ? "-" : "");
        ck_assert_int_eq(ek_selector_format(selector, &got), 0);
        ck_assert_msg(!strcmp(ek_buf_str(&got), want), "%s: %s", json_rows[_i].name,
                      ek_buf_str(&got));
        ck_assert(*want != '-' || !ek_selector_matches(selector, NULL));
        ek_selector_free(selector);
    }
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(sizes_are_bounded)
{
    struct ek_selector *selector = NULL;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)2 * EK_SELECTOR_TEXT_MAX);
    for (int i = 0; i <= EK_SELECTOR_REQUIREMENTS_MAX; i++)
        ek_buf_puts(&text, i ? ",a" : "a");
    ck_assert_int_eq(ek_selector_parse(ek_buf_str(&text), &selector, NULL), EK_E_LIMIT);
    ek_buf_reset(&text);
    ek_buf_puts(&text, "a in (");
    for (int i = 0; i < EK_SELECTOR_VALUES_MAX; i++)
        ek_buf_puts(&text, ",b");
    ek_buf_puts(&text, ")");
    ck_assert_int_eq(ek_selector_parse(ek_buf_str(&text), &selector, NULL), EK_E_LIMIT);
    while (text.len <= EK_SELECTOR_TEXT_MAX)
        ek_buf_puts(&text, " ");
    ck_assert_int_eq(ek_selector_parse(ek_buf_str(&text), &selector, NULL), EK_E_LIMIT);
    ck_assert_ptr_null(selector);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("selector");

    tcase_add_loop_test(tcase, strings_parse, 0, EK_ARRAY_SIZE(parse_rows));
    tcase_add_loop_test(tcase, selectors_match, 0, EK_ARRAY_SIZE(match_rows));
    tcase_add_loop_test(tcase, objects_are_read, 0, EK_ARRAY_SIZE(json_rows));
    tcase_add_test(tcase, sizes_are_bounded);
    return ek_test_run("selector", tcase);
}
