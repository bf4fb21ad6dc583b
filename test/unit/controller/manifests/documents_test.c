/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manifests/documents.h"

#include <string.h>

#include "test/support/suite.h"

static const struct {
    const char *name, *text;
    bool json;
    size_t number;
    const char *path;
    size_t line;
} rows[] = {
    {"the first line", "a: 1\n", false, 1, "a", 1},
    {"a second document", "a: 1\n---\nb: 1\na: 2\n", false, 2, "a", 4},
    {"documents without a value", "# x\n---\n# y\n\n---\na: 1\n", false, 1, "a", 6},
    {"a document on the line of the separator", "a: 1\n--- {a: 2}\n", false, 2, "a", 2},
    {"an item", "a:\n- b: 1\n- b: 2\n", false, 1, "a[1].b", 3},
    {"no such document", "a: 1\n", false, 2, "a", 0},
    {"no document", "a: 1\n", false, 0, "a", 0},
    {"lines end with CR", "a: 1\r---x: 1\r\n---\na: 2\n", false, 2, "a", 4},
    {"no YAML", "a: [\n", false, 1, "a", 0},
    {"JSON values", "\n{\"a\": 1}\n\n{\n\"a\": 2}", true, 2, "a", 5},
    {"JSON values on one line", "{\"a\": 1} {\"a\": 2}", true, 2, "a", 1},
    {"brackets in a JSON text", "{\"a\": \"}\\\"{\"}\n{\"a\": 2}", true, 2, "a", 2},
    {"a list of JSON", "[{\"a\": 1}]", true, 1, "a", 0},
};

START_TEST(lines_are_found)
{
    struct ek_manifest_lines lines = {
        .text = rows[_i].text, .len = strlen(rows[_i].text), .json = rows[_i].json};

    ck_assert_msg(ek_manifest_line(&lines, rows[_i].number, rows[_i].path) == rows[_i].line,
                  "%s: %zu", rows[_i].name,
                  ek_manifest_line(&lines, rows[_i].number, rows[_i].path));
    ek_manifest_lines_done(&lines);
}
END_TEST

static int stop(void *ctx, const struct ek_manifest_document *document, struct ek_err *err)
{
    size_t *n = ctx;

    (void)document;
    return ++*n < 2 ? 0 : ek_err_set(err, EK_E_INVAL, "enough");
}

START_TEST(an_error_ends_the_walk)
{
    struct ek_err err = {0};
    size_t n = 0, m = 0;

    ck_assert_int_eq(ek_manifest_each_document("a\n---\nb\n---\nc", 13, stop, &n, &err),
                     EK_E_INVAL);
    ck_assert_int_eq(ek_manifest_each_value("{}{}{}", 6, stop, &m, &err), EK_E_INVAL);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(m, 2);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("documents");

    tcase_add_loop_test(tcase, lines_are_found, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, an_error_ends_the_walk);
    return ek_test_run("documents", tcase);
}
