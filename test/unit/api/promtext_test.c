/* SPDX-License-Identifier: Apache-2.0 */
#include "api/promtext.h"
#include "test/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const wanted[] = {"version_info", "up", NULL};

/* Writes each sample as one line, so that a whole page is one expected text. */
static void write_sample(void *ctx, const struct ek_prom_sample *sample)
{
    struct ek_buf *out = ctx;
    ek_buf_puts(out, sample->name);
    for (size_t i = 0; i < sample->n_labels; i++)
        ek_buf_printf(out, " %s=[%s]", sample->labels[i].name, sample->labels[i].value);
    ek_buf_printf(out, " %g\n", sample->value);
}

static const struct {
    const char *name, *page, *expected;
    unsigned long n_bad;
} rows[] = {
    {"no labels", "up 1\n", "up 1\n", 0},
    {"labels", "version_info{binary=\"1.36.2\",emulation=\"1.34\"} 1\n",
     "version_info binary=[1.36.2] emulation=[1.34] 1\n", 0},
    {"last line without newline", "up 1", "up 1\n", 0},
    {"blanks everywhere", " up { a = \"x\" , b=\"y\" , } 2 1395066363000 \n", "up a=[x] b=[y] 2\n",
     0},
    {"empty label set", "up{} 3\n", "up 3\n", 0},
    {"escapes", "up{a=\"q\\\"b\\\\c\\nd\"} 1\n", "up a=[q\"b\\c\nd] 1\n", 0},
    {"brace and comma inside a value", "up{a=\"},{\"} 1\n", "up a=[},{] 1\n", 0},
    {"comments and blank lines", "# HELP up x\n\n# TYPE up gauge\nup 1\n", "up 1\n", 0},
    {"unwanted metric", "down{a=\"\xff\"} nonsense\nup 1\n", "up 1\n", 0},
    {"prefix of a wanted name", "upper 1\nu 1\n", "", 0},
    {"carriage return", "up 1\r\n", "up 1\n", 0},
    {"not a number", "up x\nup 1\n", "up 1\n", 1},
    {"no value", "up\nup{}\n", "", 2},
    {"unterminated value", "up{a=\"x} 1\nup 1\n", "up 1\n", 1},
    {"unterminated labels", "up{a=\"x\"\n", "", 1},
    {"missing comma", "up{a=\"x\"b=\"y\"} 1\n", "", 1},
    {"no label name", "up{=\"x\"} 1\n", "", 1},
    {"starts with a digit", "1up 1\n", "", 1},
    {"infinite", "up +Inf\n", "up inf\n", 0},
};

static void read_page(const char *page, size_t piece, struct ek_buf *out, unsigned long *ret_bad)
{
    EK_AUTO(ek_promtext) reader;
    ek_promtext_init(&reader, wanted, write_sample, out);
    for (size_t at = 0, len = strlen(page); at < len; at += piece)
        ck_assert_int_eq(ek_promtext_feed(&reader, page + at, at + piece < len ? piece : len - at),
                         0);
    ck_assert_int_eq(ek_promtext_finish(&reader), 0);
    *ret_bad = reader.n_bad;
}

START_TEST(reads_pages_in_any_pieces)
{
    for (size_t piece = 1; piece < 100; piece += 7) {
        EK_AUTO(ek_buf) out;
        unsigned long n_bad;
        ek_buf_init(&out, 4096);
        read_page(rows[_i].page, piece, &out, &n_bad);
        ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].expected), "%s: got %s", rows[_i].name,
                      ek_buf_str(&out));
        ck_assert_msg(n_bad == rows[_i].n_bad, "%s: %lu bad lines", rows[_i].name, n_bad);
    }
}
END_TEST

START_TEST(skips_a_line_that_is_too_long)
{
    EK_AUTO(ek_buf) page;
    EK_AUTO(ek_buf) out;
    unsigned long n_bad;

    ek_buf_init(&page, 1 << 20);
    ek_buf_init(&out, 4096);
    ek_buf_puts(&page, "up{a=\"");
    for (size_t i = 0; i < EK_PROMTEXT_LINE_MAX; i++)
        ek_buf_puts(&page, "x");
    ek_buf_puts(&page, "\"} 1\nup 7\n");
    read_page(ek_buf_str(&page), 1000, &out, &n_bad);
    ck_assert_str_eq(ek_buf_str(&out), "up 7\n");
    ck_assert_uint_eq(n_bad, 1);
}
END_TEST

START_TEST(skips_a_line_with_too_many_labels)
{
    EK_AUTO(ek_buf) page;
    EK_AUTO(ek_buf) out;
    unsigned long n_bad;

    ek_buf_init(&page, 1 << 20);
    ek_buf_init(&out, 4096);
    ek_buf_puts(&page, "up{");
    for (int i = 0; i <= EK_PROMTEXT_LABELS_MAX; i++)
        ek_buf_printf(&page, "l%d=\"\",", i);
    ek_buf_puts(&page, "} 1\n");
    read_page(ek_buf_str(&page), 4096, &out, &n_bad);
    ck_assert_str_eq(ek_buf_str(&out), "");
    ck_assert_uint_eq(n_bad, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("promtext");
    tcase_add_loop_test(tc, reads_pages_in_any_pieces, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, skips_a_line_that_is_too_long);
    tcase_add_test(tc, skips_a_line_with_too_many_labels);
    return ek_test_run("promtext", tc);
}
