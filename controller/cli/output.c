/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/output.h"

#include "api/base/quote.h"

/* Between columns, as kubectl has it. */
#define GAP 3

/* A cell longer than this is cut: a table is for reading. */
#define CELL_MAX ((size_t)4096)

struct cell {
    char *text;   /* owned; safe to print */
    size_t width; /* in terminal columns */
    enum ek_cell_style style;
};

struct ek_text_table {
    size_t n_columns, n_rows, cap_rows; /* rows include the headers */
    struct cell *cells;
};

struct range {
    unsigned first, last;
};

static bool in_ranges(unsigned rune, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rune >= ranges[i].first && rune <= ranges[i].last)
            return true;
    }
    return false;
}

/* 0 for combining and invisible characters, 2 for wide East Asian ones and emoji, else 1; by
 * block (Unicode annexes 11 and 51). */
static size_t rune_width(unsigned rune)
{
    static const struct range none[] = {{0x300, 0x36f},   {0x483, 0x489},    {0x591, 0x5bd},
                                        {0x610, 0x61a},   {0x64b, 0x65f},    {0x200b, 0x200f},
                                        {0x2060, 0x2064}, {0x20d0, 0x20f0},  {0xfe00, 0xfe0f},
                                        {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
    static const struct range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                                        {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                        {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                        {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

    if (rune < 0x300)
        return 1;
    if (in_ranges(rune, none, EK_ARRAY_SIZE(none)))
        return 0;
    return in_ranges(rune, wide, EK_ARRAY_SIZE(wide)) ? 2 : 1;
}

size_t ek_text_width(const char *s)
{
    size_t n = strlen(s), width = 0;

    for (size_t i = 0; i < n;) {
        unsigned rune = 0;
        size_t len = ek_utf8_decode((struct ek_str){s + i, n - i}, &rune);
        width += len ? rune_width(rune) : 1;
        i += len ? len : 1;
    }
    return width;
}

/* Makes text that prints as a part of one line, behind before. */
static char *printable(const char *before, const char *s)
{
    EK_AUTO(ek_buf) text;
    size_t n = s ? ek_utf8_cut(ek_str_from(s), strnlen(s, CELL_MAX)) : 0, from = strlen(before);

    ek_buf_init(&text, from + CELL_MAX * EK_QUOTE_ESCAPE_SIZE);
    ek_buf_puts(&text, before);
    ek_quote_line(&text, (struct ek_str){s, n});
    return ek_xstrndup(ek_buf_str(&text) + from, text.len - from);
}

static struct cell *add_row(struct ek_text_table *table)
{
    if (table->n_rows == table->cap_rows) {
        table->cap_rows = table->cap_rows ? table->cap_rows * 2 : 8;
        table->cells =
            ek_xrealloc(table->cells, table->cap_rows * table->n_columns, sizeof(struct cell));
    }
    return table->cells + table->n_rows++ * table->n_columns;
}

struct ek_text_table *ek_text_table_new(const char *const *headers, size_t n)
{
    struct ek_text_table *table = ek_xalloc(sizeof *table);

    table->n_columns = n;
    ek_text_table_row(table, headers);
    for (size_t i = 0; i < n; i++) {
        for (char *p = table->cells[i].text; *p; p++) {
            if (*p >= 'a' && *p <= 'z')
                *p = (char)(*p - 'a' + 'A');
        }
    }
    return table;
}

void ek_text_table_free(struct ek_text_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
        ek_free(table->cells[i].text);
    ek_free(table->cells);
    ek_free(table);
}

void ek_text_table_row(struct ek_text_table *table, const char *const *cells)
{
    struct cell *row = add_row(table);
    const char *before = "";

    for (size_t i = 0; i < table->n_columns; i++) {
        char *text = printable(before, cells[i]);
        row[i] = (struct cell){text, ek_text_width(text), EK_CELL_PLAIN};
        if (text[strspn(text, " ")])
            before = "-"; /* no cell behind it begins the line */
    }
}

void ek_text_table_style(struct ek_text_table *table, size_t column, enum ek_cell_style style)
{
    if (column < table->n_columns)
        table->cells[(table->n_rows - 1) * table->n_columns + column].style = style;
}

size_t ek_text_table_size(const struct ek_text_table *table)
{
    return table->n_rows - 1;
}

size_t ek_text_table_columns(const struct ek_text_table *table)
{
    return table->n_columns;
}

const char *ek_text_table_cell(const struct ek_text_table *table, size_t row, size_t column,
                               enum ek_cell_style *ret_style)
{
    const struct cell *cell = &table->cells[row * table->n_columns + column];

    *ret_style = cell->style;
    return cell->text;
}

static void put_cell(struct ek_buf *out, const struct cell *cell, bool color)
{
    static const char *const styles[EK_CELL_STYLE_MAX] = {"", "\033[32m", "\033[33m", "\033[31m",
                                                          "\033[2m"};
    bool styled = color && cell->style != EK_CELL_PLAIN && cell->width > 0;

    ek_buf_puts(out, styled ? styles[cell->style] : "");
    ek_buf_puts(out, cell->text);
    ek_buf_puts(out, styled ? "\033[0m" : "");
}

static void put_row(const struct ek_text_table *table, const struct cell *row, const size_t *widths,
                    bool color, struct ek_buf *out)
{
    size_t pad = 0;

    for (size_t i = 0; i < table->n_columns; i++) {
        if (row[i].width > 0) { /* blanks are written only before text */
            ek_buf_printf(out, "%*s", (int)pad, "");
            put_cell(out, &row[i], color);
            pad = 0;
        }
        pad += widths[i] - row[i].width + GAP;
    }
    ek_buf_puts(out, "\n");
}

int ek_text_table_write(const struct ek_text_table *table, bool color, struct ek_buf *out)
{
    EK_AUTOFREE size_t *widths = ek_xalloc((table->n_columns + 1) * sizeof *widths);

    for (size_t i = 0; i < table->n_rows * table->n_columns; i++) {
        size_t column = i % table->n_columns;
        if (table->cells[i].width > widths[column])
            widths[column] = table->cells[i].width;
    }
    for (size_t r = 0; r < table->n_rows; r++)
        put_row(table, table->cells + r * table->n_columns, widths, color, out);
    return out->failed;
}
