/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: what text becomes, the frame, tables and the matrix. test/page opens whole pages in a
 * browser. */
#include "controller/page/page.h"

#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/base64.h"
#include "test/support/suite.h"

#define PAGE_MAX ((size_t)4 << 20)

/* ---- Text ---- */

static const struct {
    const char *name, *text, *want;
} texts[] = {
    {"plain", "kube-apiserver 10.0.0.1:6443", "kube-apiserver 10.0.0.1:6443"},
    {"nothing", "", ""},
    {"an element", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
    {"the end of an attribute", "\" onload='x", "&quot; onload=&#39;x"},
    {"a character reference", "&lt;b&#62;", "&amp;lt;b&amp;#62;"},
    {"a comment", "--><!--", "--&gt;&lt;!--"},
    {"a backslash", "a\\b", "a\\b"},
    {"lines", "a\r\n\tb", "a\\r\\n\\tb"},
    {"an escape of a terminal", "\033[2J", "\\x1b[2J"},
    {"C1 control characters", "\xc2\x9b", "\\u009b"},
    {"an override of the direction",
     "\xe2\x80\xae"
     "gpj",
     "\\u202egpj"},
    {"an isolate", "\xe2\x81\xa6", "\\u2066"},
    {"the mark of Arabic letters", "\xd8\x9c", "\\u061c"},
    {"nothing to see",
     "a\xe2\x80\x8b"
     "b\xef\xbb\xbf",
     "a\\u200bb\\ufeff"},
    {"a separator of lines", "\xe2\x80\xa8", "\\u2028"},
    {"a tag character", "\xf3\xa0\x80\xbc", "\\U000e003c"},
    {"letters", "\xd7\x90\xd7\x91 \xc3\xa9 \xf0\x9f\x98\x80",
     "\xd7\x90\xd7\x91 \xc3\xa9 \xf0\x9f\x98\x80"},
    {"no UTF-8", "\xff<", "\\xff&lt;"},
    {"an overlong <", "\xc0\xbc", "\\xc0\\xbc"},
    {"half a character", "a\xe2\x80", "a\\xe2\\x80"},
    {"half a character before markup", "\xf0\x9f<b>", "\\xf0\\x9f&lt;b&gt;"},
};

START_TEST(writes_text)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, PAGE_MAX);
    ek_page_text(&out, texts[_i].text);
    ck_assert_msg(!strcmp(ek_buf_str(&out), texts[_i].want), "%s: %s", texts[_i].name,
                  ek_buf_str(&out));
}
END_TEST

/* The cut is between characters. */
START_TEST(cuts_long_text)
{
    EK_AUTO(ek_buf) out;
    char text[8192];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "\xc3\xa9"[i % 2];
    text[0] = 'a';
    text[1] = '<';
    text[sizeof text - 1] = '\0';
    ek_buf_init(&out, PAGE_MAX);
    ek_page_text(&out, text);
    ck_assert_uint_eq(out.len, 4096 + strlen("&lt;...") - 1);
    ck_assert_str_eq(ek_buf_str(&out) + out.len - 5, "\xc3\xa9...");
    ek_buf_reset(&out);
    text[4096] = '\0';
    ek_page_text(&out, text);
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "..."));
}
END_TEST

/* ---- Frame ---- */

/* Fails unless the policy allows what stands between the two marks. */
static void check_allowed(const char *page, const char *start, const char *end)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const char *from = strstr(page, start);
    ck_assert_ptr_nonnull(from);
    from += strlen(start);
    const char *to = strstr(from, end);
    ck_assert_ptr_nonnull(to);
    ck_assert_ptr_null(strstr(to + 1, start)); /* the only one */
    SHA256((const unsigned char *)from, (size_t)(to - from), digest);
    EK_AUTOFREE char *base64 = ek_base64_encode(digest, sizeof digest);
    EK_AUTOFREE char *source = ek_xasprintf("'sha256-%s'", base64);
    ck_assert_msg(strstr(page, source) && strstr(page, source) < from, "%s is not allowed", start);
}

START_TEST(writes_the_frame)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, PAGE_MAX);
    ek_page_begin(&out, "Safe: </title><b>");
    ek_page_banner(&out, EK_CELL_GOOD, "Safe", "1.35 & 1.36", "\"0\" errors");
    ek_page_fold_begin(&out, "a", "Steps <i>", "3", true);
    ek_page_fold_end(&out);
    ek_page_end(&out, "<p>", 1760000000000);
    ck_assert_int_eq(out.failed, 0);
    const char *page = ek_buf_str(&out);
    check_allowed(page, "<style>", "</style>");
    check_allowed(page, "<script>", "</script>");
    ck_assert_ptr_nonnull(strstr(page, "content=\"default-src 'none'; style-src 'sha256-"));
    ck_assert_ptr_nonnull(strstr(page, "<title>Safe: &lt;/title&gt;&lt;b&gt;</title>"));
    ck_assert_ptr_nonnull(strstr(page, "<header class=\"banner good\"><p class=\"verdict\">Safe</p>"
                                       "<div><h1>1.35 &amp; 1.36</h1><p>&quot;0&quot; errors</p>"));
    ck_assert_ptr_nonnull(strstr(page, "<details class=\"fold\" id=\"a\" open><summary><h2>Steps "
                                       "&lt;i&gt;<span class=\"count\">3</span></h2></summary>"));
    ck_assert_ptr_nonnull(
        strstr(page, "<p>&lt;p&gt;</p><p>Evenkeel " EK_VERSION ", 2025-10-09T08:53:20Z</p>"));
    ck_assert_ptr_null(strstr(page, "http:"));
    ck_assert_ptr_null(strstr(page, "https:"));
    ck_assert_ptr_null(strstr(page, "url("));
}
END_TEST

START_TEST(says_what_is_left_out)
{
    static const char *const headers[] = {"a", "b\""};
    static const struct ek_page_table table = {"x", headers, 2, true};
    static const char *const cells[] = {"<1>", ""};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, PAGE_MAX);
    ek_page_table_begin(&out, &table);
    ek_page_row(&out, &table, cells, 0, EK_CELL_BAD);
    ek_page_table_end(&out, 1, 1);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "class=\"rows kinds\" aria-label=\"x\""));
    ck_assert_ptr_nonnull(strstr(
        ek_buf_str(&out), "<tr role=\"row\"><td role=\"cell\" class=\"bad\" data-name=\"a\">"
                          "&lt;1&gt;</td><td role=\"cell\" data-name=\"b&quot;\"></td></tr>"));
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "not shown"));
    ek_page_table_end(&out, 1, 8);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "<p>7 more are not shown"));
}
END_TEST

/* A page that does not fit is an error, not a part of a page. */
START_TEST(keeps_to_the_limit)
{
    struct ek_buf out;

    ek_buf_init(&out, 2000);
    ek_page_begin(&out, "a");
    ck_assert_int_eq(out.failed, EK_E_LIMIT);
    ek_buf_done(&out);
}
END_TEST

/* ---- Matrix ---- */

#define V(minor)                                                                                   \
    {                                                                                              \
        true, 1, (minor)                                                                           \
    }

/* want: the columns, then a word for each cell: "i" within the window, "o" outside, "-" neither;
 * "B", "E", "C" the marks. */
static const struct {
    const char *name;
    struct ek_minor target;
    struct ek_page_component row;
    const char *want;
} matrices[] = {
    {"an API server",
     V(36),
     {"a", NULL, V(32), V(35), V(35), V(34), V(33)},
     "1.32 1.33 1.34 1.35 1.36: i iC iE iB -"},
    {"all at one version", V(35), {"a", NULL, V(35), V(35), V(35), V(35), V(35)}, "1.35: iBEC"},
    {"above the window",
     V(35),
     {"a", NULL, V(34), V(35), V(36), V(36), {0}},
     "1.34 1.35 1.36: i i oBE"},
    {"the binary does not count where a component emulates",
     V(35),
     {"a", NULL, V(34), V(35), V(36), V(35), {0}},
     "1.34 1.35 1.36: i iE -B"},
    {"a node below the window",
     V(36),
     {"a", NULL, V(35), V(36), V(34), {0}, {0}},
     "1.34 1.35 1.36: oB i i"},
    {"an open end", V(36), {"a", NULL, V(35), {0}, V(35), {0}, {0}}, "1.35 1.36: iB i"},
    {"no window", V(36), {"a", NULL, {0}, {0}, V(35), {0}, {0}}, "1.35 1.36: -B -"},
    {"no version", V(36), {"a", NULL, {0}, {0}, {0}, {0}, {0}}, "1.36: -"},
    {"no target", {0}, {"a", NULL, {0}, {0}, V(35), {0}, {0}}, "1.35: -B"},
    {"nothing", {0}, {"a", NULL, {0}, {0}, {0}, {0}, {0}}, ""},
    {"a version far away", V(36), {"a", NULL, V(35), V(36), V(900), {0}, {0}}, "1.35 1.36: i i"},
    {"the largest number", {0}, {"a", NULL, {0}, {0}, V(UINT64_MAX), {0}, {0}}, ""},
    {"another major version", V(36), {"a", NULL, {0}, {0}, {true, 2, 36}, {0}, {0}}, "1.36: -"},
};

/* Reads the cells back. */
static void read_matrix(const char *html, struct ek_buf *got)
{
    const char *p = html;

    while ((p = strstr(p, "class=\"version")) != NULL) {
        p = strchr(p, '>') + 1;
        ek_buf_printf(got, "%s%.*s", got->len ? " " : "", (int)strcspn(p, "<"), p);
    }
    if (got->len)
        ek_buf_puts(got, ":");
    for (p = html; (p = strstr(p, "<td")) != NULL; p++) {
        const char *end = strstr(p, "</td>");
        ek_buf_printf(got, " %s",
                      !strncmp(p, "<td class=\"in\"", 14)    ? "i"
                      : !strncmp(p, "<td class=\"out\"", 15) ? "o"
                                                             : "-");
        for (const char *m = p; (m = strstr(m, "aria-hidden=\"true\">")) != NULL && m < end; m++)
            ek_buf_append(got, m + strlen("aria-hidden=\"true\">"), 1);
    }
}

START_TEST(draws_windows)
{
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&out, PAGE_MAX);
    ek_buf_init(&got, PAGE_MAX);
    ek_page_matrix(
        &out, &(struct ek_page_matrix){"now", &matrices[_i].row, 1, matrices[_i].target, "target"});
    read_matrix(ek_buf_str(&out), &got);
    ck_assert_msg(!strcmp(ek_buf_str(&got), matrices[_i].want), "%s: %s", matrices[_i].name,
                  ek_buf_str(&got));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("page");

    tcase_add_loop_test(tcase, writes_text, 0, EK_ARRAY_SIZE(texts));
    tcase_add_test(tcase, cuts_long_text);
    tcase_add_test(tcase, writes_the_frame);
    tcase_add_test(tcase, says_what_is_left_out);
    tcase_add_test(tcase, keeps_to_the_limit);
    tcase_add_loop_test(tcase, draws_windows, 0, EK_ARRAY_SIZE(matrices));
    return ek_test_run("page", tcase);
}
