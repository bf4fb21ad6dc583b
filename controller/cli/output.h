/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for people, in kubectl's look: upper-case headers, columns three blanks apart and as wide
 * as their widest cell, no trailing blanks, nothing wrapped. Cells come from the cluster, so
 * control characters are written as escapes and cannot reach the terminal; widths are counted in
 * terminal columns of UTF-8 text.
 *
 * Colour is a property of a cell and is only written when the caller requests it (the caller knows
 * whether the output is a terminal). Machines read JSON instead. Threading: one thread per table.
 */
#ifndef CONTROLLER_CLI_OUTPUT_H
#define CONTROLLER_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/buf.h"

struct ek_text_table;

enum ek_cell_style {
    EK_CELL_PLAIN,
    EK_CELL_GOOD,  /* green */
    EK_CELL_WARN,  /* yellow */
    EK_CELL_BAD,   /* red */
    EK_CELL_FAINT, /* dim */
    EK_CELL_STYLE_MAX,
};

/* Returns an owned table with n columns; headers are copied and shown in upper case. */
struct ek_text_table *ek_text_table_new(const char *const *headers, size_t n);
void ek_text_table_free(struct ek_text_table *table);
EK_CLEANUP_PTR(ek_text_table, ek_text_table_free)

/* Declares a table with the given headers, which is freed at the end of the block. */
#define EK_TEXT_TABLE(table, ...)                                                                  \
    static const char *const table##_headers[] = {__VA_ARGS__};                                    \
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =                                         \
        ek_text_table_new(table##_headers, EK_ARRAY_SIZE(table##_headers))

/* Adds a row of n cells (as many as columns; text is copied, NULL is shown as ""). */
void ek_text_table_row(struct ek_text_table *table, const char *const *cells);

/* Sets the style of a cell of the row that was added last. */
void ek_text_table_style(struct ek_text_table *table, size_t column, enum ek_cell_style style);

size_t ek_text_table_size(const struct ek_text_table *table);

/* For other forms of the same table: the columns, and a cell of a row (from 0; the headers are row
 * 0, the first row that was added is 1), printable as above, with its style. */
size_t ek_text_table_columns(const struct ek_text_table *table);
const char *ek_text_table_cell(const struct ek_text_table *table, size_t row, size_t column,
                               enum ek_cell_style *ret_style);

/* Appends the table, with colours when color is true. Returns 0 or the buffer's error. */
int ek_text_table_write(const struct ek_text_table *table, bool color, struct ek_buf *out);

/* Terminal columns that s takes. */
size_t ek_text_width(const char *s);

#endif
