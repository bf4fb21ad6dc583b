/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one HTML page that needs nothing else: the style and the script are in the page, and
 * the page's own Content-Security-Policy (W3C CSP 3, "meta") allows these two and no request.
 * A command writes the parts in order between ek_page_begin and ek_page_end.
 *
 * Names come from the cluster, so that each of them may be written by an enemy: ek_page_text is the
 * only way for a text to become HTML. The other functions use it for each of their texts; ids,
 * classes and labels are constants of the caller. Errors stay in the buffer (out->failed). Pure;
 * one thread for each buffer.
 */
#ifndef CONTROLLER_PAGE_PAGE_H
#define CONTROLLER_PAGE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/version.h"
#include "controller/cli/output.h"

/* Rows that a table gets at most: a browser filters as many without a delay. */
#define EK_PAGE_ROWS_MAX 5000

/* Appends text: markup is escaped, and control, invisible and bidirectional characters and invalid
 * UTF-8 become the escapes of ek_quote_inner. Of a text above 4 KiB the beginning is shown. */
void ek_page_text(struct ek_buf *out, const char *text);

/* Appends the Content-Security-Policy of each page. The page has the policy in its head; a server
 * sends the policy as a header, too. */
void ek_page_policy(struct ek_buf *out);

/* The start and the end of a page; at_ms is the time in the footer (milliseconds since the epoch).
 */
void ek_page_begin(struct ek_buf *out, const char *title);
void ek_page_end(struct ek_buf *out, const char *note, int64_t at_ms);

/* The verdict with a heading and one line of text, and the place for the buttons. */
void ek_page_banner(struct ek_buf *out, enum ek_cell_style style, const char *verdict,
                    const char *heading, const char *text);

/* A part that folds; id may be "", count is shown behind the title, NULL for none. Folds may lie
 * within folds. */
void ek_page_fold_begin(struct ek_buf *out, const char *id, const char *title, const char *count,
                        bool open);
void ek_page_fold_end(struct ek_buf *out);

/* A table with a filter. */
struct ek_page_table {
    const char *label;          /* of the table, for assistive technology: "findings" */
    const char *const *headers; /* as they are shown */
    size_t n;                   /* columns */
    bool has_kinds; /* the first column has few values: the filter has a button for each */
};
void ek_page_table_begin(struct ek_buf *out, const struct ek_page_table *table);

/* Appends a row of table->n cells; the cell of a column gets a style (columns from 0). */
void ek_page_row(struct ek_buf *out, const struct ek_page_table *table, const char *const *cells,
                 size_t styled_column, enum ek_cell_style style);

/* total: the rows that there are, where not all were written. */
void ek_page_table_end(struct ek_buf *out, size_t written, size_t total);

/* Appends a table of text as a part that folds, open. */
void ek_page_text_table(struct ek_buf *out, const char *title, const struct ek_text_table *table);

/* A component in the matrix; unknown versions are not marked. */
struct ek_page_component {
    const char *name;
    const char *group;        /* before the name; NULL or "": none */
    struct ek_minor from, to; /* the window; one of them unknown: open */
    struct ek_minor binary, emulation, min_compat;
};

struct ek_page_matrix {
    const char *label; /* above the matrix */
    const struct ek_page_component *rows;
    size_t n;
    struct ek_minor target;  /* unknown: none */
    const char *target_name; /* a word for the column: "target" */
};

/* Appends the legend of a matrix: the meaning of its marks, and of its windows. The window of an
 * API server has the versions that the binary can emulate; that of another component has the
 * versions that the skew policy allows. */
void ek_page_matrix_legend(struct ek_buf *out);

/* Appends components against versions, the versions from left to right; nothing without a known
 * version. */
void ek_page_matrix(struct ek_buf *out, const struct ek_page_matrix *matrix);

#endif
