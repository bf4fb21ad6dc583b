/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/page/page.h"

#include <openssl/sha.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "controller/page/page-internal.h"

/* A cell is for reading; json has the whole. */
#define TEXT_MAX ((size_t)4096)

/* A table of so many columns needs a large screen. */
#define WIDE_COLUMNS 6

/* ---- Text ---- */

void ek_page_text(struct ek_buf *out, const char *text)
{
    size_t all = strlen(text), n = ek_utf8_cut((struct ek_str){text, all}, TEXT_MAX);

    for (size_t i = 0; i < n;) {
        char escaped[EK_QUOTE_ESCAPE_SIZE];
        const char *name = ek_quote_reference(text[i]);
        size_t taken = 1, len = 0;
        if (name)
            ek_buf_puts(out, name);
        else if (text[i] == '\\')
            ek_buf_append(out, text + i, 1);
        else if ((len = ek_quote_escape((struct ek_str){text + i, n - i}, escaped, &taken)) > 0)
            ek_buf_append(out, escaped, len);
        else
            ek_buf_append(out, text + i, taken);
        i += taken;
    }
    if (n < all)
        ek_buf_puts(out, "...");
}

static void put_element(struct ek_buf *out, const char *tag, const char *text)
{
    ek_buf_printf(out, "<%s>", tag);
    ek_page_text(out, text);
    ek_buf_printf(out, "</%s>", tag);
}

/* "good", "warn", "bad", "faint", "". */
static const char *class_of(enum ek_cell_style style)
{
    static const char *const names[EK_CELL_STYLE_MAX] = {"", "good", "warn", "bad", "faint"};

    return style < EK_CELL_STYLE_MAX ? names[style] : "";
}

/* ---- Frame ---- */

/* 'sha256-...': the source expression that allows this text inline (CSP 3, "hash-source"). */
static void put_hash(struct ek_buf *out, const char *text)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char base64[EK_BASE64_LEN(sizeof digest)];

    SHA256((const unsigned char *)text, strlen(text), digest);
    ek_base64_write(digest, sizeof digest, base64);
    ek_buf_printf(out, "'sha256-%.*s'", (int)sizeof base64, base64);
}

void ek_page_policy(struct ek_buf *out)
{
    ek_buf_puts(out, "default-src 'none'; style-src ");
    put_hash(out, ek_page_style);
    ek_buf_puts(out, "; script-src ");
    put_hash(out, ek_page_script);
    /* The icon keeps browsers from a request for /favicon.ico. */
    ek_buf_puts(out, "; img-src data:; base-uri 'none'; form-action 'none'");
}

void ek_page_begin(struct ek_buf *out, const char *title)
{
    ek_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    ek_page_policy(out);
    ek_buf_puts(out, "\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n");
    put_element(out, "title", title);
    ek_buf_puts(out, "\n<style>");
    ek_buf_puts(out, ek_page_style);
    ek_buf_puts(out, "</style>\n</head>\n<body>\n");
}

void ek_page_end(struct ek_buf *out, const char *note, int64_t at_ms)
{
    char time[EK_TIME_SIZE];

    ek_buf_puts(out, "<footer>");
    put_element(out, "p", note);
    ek_buf_printf(out, "<p>Evenkeel " EK_VERSION ", %s</p></footer>\n<script>",
                  ek_time_format(at_ms, time));
    ek_buf_puts(out, ek_page_script);
    ek_buf_puts(out, "</script>\n</body>\n</html>\n");
}

void ek_page_banner(struct ek_buf *out, enum ek_cell_style style, const char *verdict,
                    const char *heading, const char *text)
{
    ek_buf_printf(out, "<header class=\"banner %s\"><p class=\"verdict\">", class_of(style));
    ek_page_text(out, verdict);
    ek_buf_puts(out, "</p><div>");
    put_element(out, "h1", heading);
    put_element(out, "p", text);
    ek_buf_puts(out, "</div></header>\n<div class=\"tools\" hidden></div>\n");
}

void ek_page_fold_begin(struct ek_buf *out, const char *id, const char *title, const char *count,
                        bool open)
{
    ek_buf_puts(out, "<details class=\"fold\"");
    if (*id)
        ek_buf_printf(out, " id=\"%s\"", id);
    ek_buf_printf(out, "%s><summary><h2>", open ? " open" : "");
    ek_page_text(out, title);
    if (count) {
        ek_buf_puts(out, "<span class=\"count\">");
        ek_page_text(out, count);
        ek_buf_puts(out, "</span>");
    }
    ek_buf_puts(out, "</h2></summary><div class=\"body\">\n");
}

void ek_page_fold_end(struct ek_buf *out)
{
    ek_buf_puts(out, "</div></details>\n");
}

/* ---- Tables ---- */

/* Roles are named because a narrow screen shows cells as blocks, which takes the roles away. */
void ek_page_table_begin(struct ek_buf *out, const struct ek_page_table *table)
{
    ek_buf_puts(out, "<div><div class=\"filter\" hidden></div><table role=\"table\" class=\"rows");
    ek_buf_printf(out, "%s%s\" aria-label=\"", table->has_kinds ? " kinds" : "",
                  table->n >= WIDE_COLUMNS ? " wide" : "");
    ek_page_text(out, table->label);
    ek_buf_puts(out, "\"><thead role=\"rowgroup\"><tr role=\"row\">");
    for (size_t i = 0; i < table->n; i++) {
        ek_buf_puts(out, "<th role=\"columnheader\" scope=\"col\">");
        ek_page_text(out, table->headers[i]);
        ek_buf_puts(out, "</th>");
    }
    ek_buf_puts(out, "</tr></thead><tbody role=\"rowgroup\">\n");
}

void ek_page_row(struct ek_buf *out, const struct ek_page_table *table, const char *const *cells,
                 size_t styled_column, enum ek_cell_style style)
{
    ek_buf_puts(out, "<tr role=\"row\">");
    for (size_t i = 0; i < table->n; i++) {
        ek_buf_puts(out, "<td role=\"cell\"");
        if (i == styled_column && style != EK_CELL_PLAIN)
            ek_buf_printf(out, " class=\"%s\"", class_of(style));
        ek_buf_puts(out, " data-name=\"");
        ek_page_text(out, table->headers[i]);
        ek_buf_puts(out, "\">");
        ek_page_text(out, cells[i]);
        ek_buf_puts(out, "</td>");
    }
    ek_buf_puts(out, "</tr>\n");
}

void ek_page_table_end(struct ek_buf *out, size_t written, size_t total)
{
    ek_buf_puts(out, "</tbody></table></div>\n");
    if (written < total)
        ek_buf_printf(out, "<p>%zu more are not shown: the format json has all.</p>\n",
                      total - written);
}

void ek_page_text_table(struct ek_buf *out, const char *title, const struct ek_text_table *table)
{
    size_t columns = ek_text_table_columns(table), rows = ek_text_table_size(table);
    EK_AUTOFREE const char **cells = ek_xalloc(2 * (columns + 1) * sizeof *cells);
    const char **headers = cells + columns + 1;
    EK_AUTOFREE char *count = ek_xasprintf("%zu", rows);
    const struct ek_page_table shape = {title, headers, columns, false};
    enum ek_cell_style style, styled;

    ek_page_fold_begin(out, "", title, count, true);
    for (size_t i = 0; i < columns; i++)
        headers[i] = ek_text_table_cell(table, 0, i, &style);
    ek_page_table_begin(out, &shape);
    for (size_t row = 1; row <= rows && row <= EK_PAGE_ROWS_MAX; row++) {
        size_t at = 0;
        styled = EK_CELL_PLAIN;
        for (size_t i = 0; i < columns; i++) {
            cells[i] = ek_text_table_cell(table, row, i, &style);
            if (style != EK_CELL_PLAIN) {
                at = i;
                styled = style;
            }
        }
        ek_page_row(out, &shape, cells, at, styled);
    }
    ek_page_table_end(out, rows < EK_PAGE_ROWS_MAX ? rows : EK_PAGE_ROWS_MAX, rows);
    ek_page_fold_end(out);
}
