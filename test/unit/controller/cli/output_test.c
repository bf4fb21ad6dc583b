/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: alignment, colour, and text that would break a terminal. */
#include <check.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "controller/cli/output.h"
#include "test/support/suite.h"

static const char *const headers[] = {"Component", "Instance", "Verdict"};

START_TEST(tables)
{
    static const struct {
        const char *name;
        const char *cells[2][3];
        bool color;
        const char *expected;
    } rows[] = {
        {"aligned",
         {{"kube-apiserver", "cp-a", "Supported"}, {"kubelet", "node-1", "Unsupported"}},
         false,
         "COMPONENT        INSTANCE   VERDICT\n"
         "kube-apiserver   cp-a       Supported\n"
         "kubelet          node-1     Unsupported\n"},
        {"no trailing blanks",
         {{"a", "b", ""}, {"", NULL, "c"}},
         false,
         "COMPONENT   INSTANCE   VERDICT\n"
         "a           b\n"
         "                       c\n"},
        {"colour does not count as width",
         {{"a", "b", "c"}, {"d", "e", "f"}},
         true,
         "COMPONENT   INSTANCE   VERDICT\n"
         "a           b          c\n"
         "d           \033[31me\033[0m          f\n"},
        {"hostile and wide text",
         {{"a\033[31m\n", "x\xff", "\"q\\\""}, {"\xe6\xbc\xa2\xe5\xad\x97", "e\xcc\x81", "z"}},
         false,
         "COMPONENT     INSTANCE   VERDICT\n"
         "a\\x1b[31m\\n   x\\xff      \"q\\\"\n"
         "\xe6\xbc\xa2\xe5\xad\x97          e\xcc\x81          z\n"},
        {"commands of CI systems",
         {{"::error::a", "::b", "##[c]"}, {"", "::error::d", "::e"}},
         false,
         "COMPONENT       INSTANCE        VERDICT\n"
         "\\x3a:error::a   ::b             \\x23#[c]\n"
         "                \\x3a:error::d   ::e\n"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, 10000);
        struct ek_text_table *table = ek_text_table_new(headers, 3);
        ek_text_table_row(table, rows[i].cells[0]);
        ek_text_table_row(table, rows[i].cells[1]);
        ek_text_table_style(table, 1, EK_CELL_BAD);
        ek_text_table_style(table, 7, EK_CELL_BAD); /* no such column */
        ck_assert_int_eq(ek_text_table_write(table, rows[i].color, &out), 0);
        ck_assert_msg(!strcmp(ek_buf_str(&out), rows[i].expected), "%s:\n%s", rows[i].name,
                      ek_buf_str(&out));
        ck_assert_uint_eq(ek_text_table_size(table), 2);
        ek_text_table_free(table);
    }
}
END_TEST

START_TEST(many_rows)
{
    EK_AUTO(ek_buf) out, small;
    ek_buf_init(&out, 1 << 20);
    ek_buf_init(&small, 100);
    struct ek_text_table *table = ek_text_table_new(headers, 3);

    for (int i = 0; i < 1000; i++)
        ek_text_table_row(table, headers);
    ck_assert_int_eq(ek_text_table_write(table, false, &out), 0);
    ck_assert_uint_eq(out.len, 1001 * (sizeof "Component   Instance   Verdict\n" - 1));
    ck_assert_int_eq(ek_text_table_write(table, false, &small), EK_E_LIMIT);
    ek_text_table_free(table);
    table = ek_text_table_new(headers, 3);
    char *huge = ek_xalloc(100000);
    memset(huge, 'x', 99999);
    ek_text_table_row(table, (const char *const[]){huge, "", ""});
    ek_buf_reset(&out);
    ek_text_table_write(table, false, &out);
    ck_assert_uint_lt(out.len, 10000);
    ek_free(huge);
    ek_text_table_free(table);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("output");

    tcase_add_test(tc, tables);
    tcase_add_test(tc, many_rows);
    return ek_test_run("output", tc);
}
