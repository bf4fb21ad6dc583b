/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    struct ek_str text;
    const char *want;
} rows[] = {
    {"plain", {"a b", 3}, "\"a b\""},
    {"empty", {"", 0}, "\"\""},
    {"quote and backslash", {"\"\\", 2}, "\"\\\"\\\\\""},
    {"controls", {"\a\b\f\n\r\t\v", 7}, "\"\\a\\b\\f\\n\\r\\t\\v\""},
    {"other controls", {"\0\x1f\x7f", 3}, "\"\\x00\\x1f\\x7f\""},
    {"letters", {"\xc3\xa4\xef\xbc\x91", 5}, "\"\xc3\xa4\xef\xbc\x91\""},
    {"emoji", {"\xf0\x9f\x98\x80", 4}, "\"\xf0\x9f\x98\x80\""},
    {"C1 control", {"\xc2\x85", 2}, "\"\\u0085\""},
    {"no-break space", {"\xc2\xa0", 2}, "\"\\u00a0\""},
    {"line separator", {"\xe2\x80\xa8", 3}, "\"\\u2028\""},
    {"byte order mark", {"\xef\xbb\xbf", 3}, "\"\\ufeff\""},
    {"private use", {"\xee\x80\x80", 3}, "\"\\ue000\""},
    {"last of all", {"\xf4\x8f\xbf\xbf", 4}, "\"\\U0010ffff\""},
    {"variation selector", {"\xef\xb8\x8f", 3}, "\"\xef\xb8\x8f\""},
    {"lone byte", {"\xff", 1}, "\"\\xff\""},
    {"cut short", {"\xe2\x80", 2}, "\"\\xe2\\x80\""},
    {"overlong", {"\xc0\x80", 2}, "\"\\xc0\\x80\""},
    {"surrogate", {"\xed\xa0\x80", 3}, "\"\\xed\\xa0\\x80\""},
    {"beyond Unicode", {"\xf4\x90\x80\x80", 4}, "\"\\xf4\\x90\\x80\\x80\""},
};

START_TEST(text_is_quoted)
{
    EK_AUTO(ek_buf) out;
    char small[EK_QUOTE_SIZE];

    ek_buf_init(&out, 100);
    ck_assert_int_eq(ek_quote(&out, rows[_i].text), 0);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].want), "%s: %s", rows[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(!strcmp(ek_quote_short(rows[_i].text, small), rows[_i].want), "%s: %s",
                  rows[_i].name, small);
}
END_TEST

START_TEST(long_text_is_cut)
{
    char text[1000], quoted[EK_QUOTE_SIZE];

    memset(text, 'a', sizeof text);
    ck_assert_uint_eq(strlen(ek_quote_short((struct ek_str){text, sizeof text}, quoted)), 205);
    ck_assert_str_eq(quoted + 200, "a\"...");
    memset(text, '\1', sizeof text);
    ck_assert_uint_lt(strlen(ek_quote_short((struct ek_str){text, sizeof text}, quoted)),
                      sizeof quoted);
    ck_assert_str_eq(quoted + strlen(quoted) - 5, "1\"...");
}
END_TEST

static const struct {
    const char *name;
    const char *before, *text, *want;
} line_rows[] = {
    {"plain", "", "prod/web \xc3\xa4", "prod/web \xc3\xa4"},
    {"quotes and backslashes", "", "a\"b\\n", "a\"b\\n"},
    {"line feed", "", "a\nb", "a\\nb"},
    {"carriage return, escape, C1", "", "a\r\033[31m\xc2\x9b", "a\\r\\x1b[31m\\u009b"},
    {"breaks of YAML", "", "a\xc2\x85\xe2\x80\xa8", "a\\u0085\\u2028"},
    {"no UTF-8", "", "\xff", "\\xff"},
    {"a command at the beginning", "", "::error::x", "\\x3a:error::x"},
    {"a command behind blanks", "a\n  ", " ::error::x", " \\x3a:error::x"},
    {"colons within a line", "# ", "::error::x a::b", "::error::x a::b"},
    {"a command anywhere", "# ", "a ##[error]x", "a \\x23#[error]x"},
    {"another command anywhere", "# ", "##vso[task.x]", "\\x23#vso[task.x]"},
    {"two signs", "", "## a", "## a"},
};

START_TEST(lines_stay_lines)
{
    const char *before = line_rows[_i].before;
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) again;
    EK_AUTO(ek_buf) printed;

    ek_buf_init(&out, 1000);
    ek_buf_init(&again, 1000);
    ek_buf_init(&printed, 1000);
    ek_buf_puts(&out, before);
    ck_assert_int_eq(ek_quote_line(&out, ek_str_from(line_rows[_i].text)), 0);
    const char *got = ek_buf_str(&out) + strlen(before);
    ck_assert_msg(!strcmp(got, line_rows[_i].want), "%s: %s", line_rows[_i].name, got);
    ek_buf_puts(&again, before);
    ek_quote_line(&again, ek_str_from(got));
    ck_assert_msg(!strcmp(ek_buf_str(&again), ek_buf_str(&out)), "%s, twice: %s",
                  line_rows[_i].name, ek_buf_str(&again));
    ek_buf_puts(&printed, before);
    ck_assert_int_eq(ek_quote_printf(&printed, "%s!\n", line_rows[_i].text), 0);
    ek_buf_puts(&out, "!\n");
    ck_assert_str_eq(ek_buf_str(&printed), ek_buf_str(&out));
}
END_TEST

START_TEST(lines_stand_behind_a_prefix)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1000);
    ek_quote_lines(&out, EK_STR("a\r\n::b\n\n  \033c\n"), "  ");
    ck_assert_str_eq(ek_buf_str(&out), "a\n  \\x3a:b\n  \n    \\x1bc\n  ");
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_quote_lines(&out, EK_STR(""), "  "), 0);
    ck_assert_int_eq(ek_quote_printf(&out, "%s", ""), 0);
    ck_assert_str_eq(ek_buf_str(&out), "");
}
END_TEST

START_TEST(a_full_buffer_is_told)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 3);
    ck_assert_int_eq(ek_quote(&out, EK_STR("\n\n")), EK_E_LIMIT);
}
END_TEST

static const struct {
    const char *name;
    const char *text;
    size_t max, want;
} cut_rows[] = {
    {"fits", "abc", 3, 3},
    {"ASCII", "abcd", 3, 3},
    {"inside two bytes", "a\xc3\xa4", 2, 1},
    {"behind two bytes", "a\xc3\xa4z", 3, 3},
    {"inside three bytes", "\xe2\x82\xac", 2, 0},
    {"inside four bytes", "a\xf0\x9f\x98\x80", 4, 1},
    {"nothing", "abc", 0, 0},
};

START_TEST(cuts_keep_characters_whole)
{
    size_t got = ek_utf8_cut(ek_str_from(cut_rows[_i].text), cut_rows[_i].max);
    ck_assert_msg(got == cut_rows[_i].want, "%s: %zu", cut_rows[_i].name, got);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("quote");

    tcase_add_loop_test(tcase, text_is_quoted, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, long_text_is_cut);
    tcase_add_loop_test(tcase, lines_stay_lines, 0, EK_ARRAY_SIZE(line_rows));
    tcase_add_test(tcase, lines_stand_behind_a_prefix);
    tcase_add_test(tcase, a_full_buffer_is_told);
    tcase_add_loop_test(tcase, cuts_keep_characters_whole, 0, EK_ARRAY_SIZE(cut_rows));
    return ek_test_run("quote", tcase);
}
