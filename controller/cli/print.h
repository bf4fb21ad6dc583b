/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How commands answer: one JSON value, as a table for people or as JSON or YAML for programs, by
 * the same two flags everywhere. The table's look is the command's business
 * (controller/cli/output.h); which form, whether in colour, and what a failing write means are
 * decided here.
 *
 * Threading: one thread; prints to stdout and stderr.
 */
#ifndef CONTROLLER_CLI_PRINT_H
#define CONTROLLER_CLI_PRINT_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "controller/cli/flags.h"

struct ek_print_options {
    const char *output; /* "table", "json", "yaml"; others are the command's */
    const char *color;  /* "auto", "always", "never" */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member's name */
#define EK_PRINT_FLAGS(holder, member) EK_PRINT_FLAGS_MORE(holder, member, NULL)

/* With other formats, which the table's function of the command writes. */
#define EK_PRINT_FLAGS_MORE(holder, member, ...)                                                   \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .type = EK_FLAG_STRING,                                                                       \
     .offset = offsetof(holder, member.output),                                                    \
     .initial = "table",                                                                           \
     .choices = {"table", "json", "yaml", __VA_ARGS__},                                            \
     .help = "Output `format`"},                                                                   \
    {                                                                                              \
        .name = "color", .type = EK_FLAG_STRING, .offset = offsetof(holder, member.color),         \
        .initial = "auto", .choices = {"auto", "always", "never"},                                 \
        .help = "When to use colors in tables; auto means on a terminal, unless NO_COLOR is set"   \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Appends root as tables to out; returns 0 or the buffer's error. ctx is the command's own. */
typedef int (*ek_print_table_fn)(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Appends root in the format ("table" calls table). Returns 0, EK_E_LIMIT or EK_E_NOMEM. */
int ek_print_render(const char *format, yyjson_val *root, bool color, ek_print_table_fn table,
                    void *ctx, struct ek_buf *out);

/* Whether stdout gets colors: "auto", "always" or "never". */
bool ek_print_wants_color(const char *when);

/* Prints a text by printf rules, and a line feed, on stderr, behind head ("note: "). Lines from the
 * second on are indented; what a terminal or a CI log would obey is escaped (ek_quote_lines). */
void ek_print_stderr(const char *head, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints root on stdout as options say. Returns EK_EXIT_OK, or EK_EXIT_FAILED with a line on
 * stderr: an answer that did not arrive whole must not look like one. */
int ek_print(const struct ek_print_options *options, yyjson_val *root, ek_print_table_fn table,
             void *ctx);

/* Prints len octets of data on stdout as they are; returns as ek_print. */
int ek_print_bytes(const char *data, size_t len);

#endif
