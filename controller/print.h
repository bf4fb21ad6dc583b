/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How commands answer: one JSON value, as a table for people or as JSON or YAML for programs, by
 * the same two flags everywhere. The table's look is the command's business (controller/output.h);
 * which form, whether in colour, and what a failing write means are decided here.
 *
 * Threading: one thread; prints to stdout and stderr.
 */
#ifndef CONTROLLER_PRINT_H
#define CONTROLLER_PRINT_H

#include <yyjson.h>

#include "api/buf.h"
#include "controller/flags.h"

struct ek_print_options {
    const char *output; /* "table", "json", "yaml" */
    const char *color;  /* "auto", "always", "never" */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member's name */
#define EK_PRINT_FLAGS(holder, member)                                                             \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .type = EK_FLAG_STRING,                                                                       \
     .offset = offsetof(holder, member.output),                                                    \
     .initial = "table",                                                                           \
     .choices = {"table", "json", "yaml"},                                                         \
     .help = "`format` of the answer"},                                                            \
    {                                                                                              \
        .name = "color", .type = EK_FLAG_STRING, .offset = offsetof(holder, member.color),         \
        .initial = "auto", .choices = {"auto", "always", "never"},                                 \
        .help = "When to colour tables; auto means on a terminal, unless NO_COLOR is set"          \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Appends root as tables to out; returns 0 or the buffer's error. ctx is the command's own. */
typedef int (*ek_print_table_fn)(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Appends root in the format ("table" calls table). Returns 0, EK_E_LIMIT or EK_E_NOMEM. */
int ek_print_render(const char *format, yyjson_val *root, bool color, ek_print_table_fn table,
                    void *ctx, struct ek_buf *out);

/* Prints root on stdout as options say. Returns EK_EXIT_OK, or EK_EXIT_FAILED with a line on
 * stderr: an answer that did not arrive whole must not look like one. */
int ek_print(const struct ek_print_options *options, yyjson_val *root, ek_print_table_fn table,
             void *ctx);

#endif
