/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for people, in kubectl's look: upper-case headers, columns three blanks apart and as wide
 * as their widest cell, no trailing blanks, nothing wrapped. Cells come from the cluster, so
 * control characters are written as escapes and cannot reach the terminal; widths are counted in
 * terminal columns of UTF-8 text.
 *
 * Colour is a property of a cell and is only written when the caller says so (it knows whether a
 * terminal listens). Not for machines: those get JSON. Threading: one thread per table.
 */
#ifndef CONTROLLER_OUTPUT_H
#define CONTROLLER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/buf.h"

struct ek_table;

enum ek_cell_style {
    EK_CELL_PLAIN,
    EK_CELL_GOOD,  /* green */
    EK_CELL_WARN,  /* yellow */
    EK_CELL_BAD,   /* red */
    EK_CELL_FAINT, /* dim */
    EK_CELL_STYLE_MAX,
};

/* Returns an owned table with n columns; headers are copied and shown in upper case. */
struct ek_table *ek_table_new(const char *const *headers, size_t n);
void ek_table_free(struct ek_table *table);
EK_CLEANUP_PTR(ek_table, ek_table_free)

/* Adds a row of n cells (as many as columns; text is copied, NULL is shown as ""). */
void ek_table_row(struct ek_table *table, const char *const *cells);

/* Sets the style of a cell of the row that was added last. */
void ek_table_style(struct ek_table *table, size_t column, enum ek_cell_style style);

size_t ek_table_size(const struct ek_table *table);

/* Appends the table, with colours when color is true. Returns 0 or the buffer's error. */
int ek_table_write(const struct ek_table *table, bool color, struct ek_buf *out);

/* Terminal columns that s takes. */
size_t ek_text_width(const char *s);

#endif
