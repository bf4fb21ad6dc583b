/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/syntax/parse.h"

#define MESSAGE_MAX 1024
#define ARENA_LIMIT ((size_t)512 * 1024)
#define SNIPPET_MAX 16384 /* a longer line is not shown (cel-go, common/error.go) */

void ek_cel_issues_done(struct ek_cel_issues *issues)
{
    ek_arena_free(issues->arena);
    *issues = (struct ek_cel_issues){0};
}

/* Room for one more issue, kept in order of position; NULL when it must be dropped. */
static struct ek_cel_issue *insert(struct ek_cel_issues *issues, uint32_t position)
{
    size_t at = issues->len;

    if (issues->len == EK_CEL_ISSUES_MAX)
        return NULL;
    if (!issues->arena)
        issues->arena = ek_arena_new(ARENA_LIMIT);
    if (!issues->list)
        issues->list = ek_arena_try(issues->arena, EK_CEL_ISSUES_MAX * sizeof *issues->list);
    if (!issues->list)
        return NULL;
    /* What is wrong as a whole comes first: its position is -1 in this sum. */
    while (at > 0 && issues->list[at - 1].position + 1 > position + 1)
        at--;
    memmove(issues->list + at + 1, issues->list + at, (issues->len - at) * sizeof *issues->list);
    issues->len++;
    return issues->list + at;
}

/* Keeps message to one line, in place. */
static void flatten(char *message)
{
    for (char *p = message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static void locate(struct ek_cel_issue *issue, const char *text, size_t len)
{
    uint32_t left = issue->position;

    if (issue->position == EK_CEL_NOWHERE)
        return;
    issue->line = issue->column = 1;
    for (size_t i = 0; i < len && left > 0; i++) {
        if (text[i] == '\n') {
            issue->line++;
            issue->column = 0;
        }
        if (i + 1 == len || starts_character(text[i + 1])) {
            issue->column++;
            left--;
        }
    }
}

void ek_cel_issue_add(struct ek_cel_issues *issues, enum ek_cel_error_kind kind, const char *text,
                      size_t len, uint32_t position, const char *fmt, ...)
{
    char message[MESSAGE_MAX];
    struct ek_cel_issue issue = {.kind = kind, .position = position};
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof message) /* may end within a character */
        message[ek_utf8_cut(ek_str_from(message), sizeof message - 4)] = '\0';
    flatten(message);
    struct ek_cel_issue *place = insert(issues, position);
    if (!place) {
        issues->dropped++;
        return;
    }
    size_t size = strlen(message) + 1;
    char *copy = ek_arena_try(issues->arena, size);
    issue.message = copy ? memcpy(copy, message, size) : "out of memory";
    locate(&issue, text, len);
    *place = issue;
}

/* The line of text with that number, without its end. */
static struct ek_str line_of(const char *text, size_t len, uint32_t number)
{
    const char *start = text, *end = text + len;

    for (; number > 1 && start < end; number--) {
        const char *newline = memchr(start, '\n', (size_t)(end - start));
        start = newline ? newline + 1 : end;
    }
    const char *stop = start < end ? memchr(start, '\n', (size_t)(end - start)) : NULL;
    return (struct ek_str){start, (size_t)((stop ? stop : end) - start)};
}

/* The line, and a caret under its column; dots and caret are as wide as what is above. */
static void format_excerpt(struct ek_str line, uint32_t column, struct ek_buf *out)
{
    size_t at = 0;

    ek_buf_puts(out, "\n | ");
    for (size_t i = 0; i < line.len; i++)
        ek_buf_append(out, line.p[i] == '\t' ? " " : &line.p[i], 1);
    ek_buf_puts(out, "\n | ");
    for (uint32_t i = 1; i <= column; i++) {
        size_t start = at;
        while (at < line.len && (at == start || !starts_character(line.p[at])))
            at++;
        bool wide = at - start > 1;
        if (i == column)
            ek_buf_puts(out, wide ? "\xef\xbc\xbe" : "^");
        else if (at > start)
            ek_buf_puts(out, wide ? "\xef\xbc\x8e" : ".");
    }
}

int ek_cel_issues_format(const struct ek_cel_issues *issues, const char *text, size_t len,
                         struct ek_buf *out)
{
    for (size_t i = 0; i < issues->len; i++) {
        const struct ek_cel_issue *issue = &issues->list[i];
        if (i > 0)
            ek_buf_puts(out, "\n");
        if (issue->line == 0) { /* as the reference writes a place that is none */
            ek_buf_printf(out, "ERROR: <input>:-1:0: %s", issue->message);
            continue;
        }
        ek_buf_printf(out, "ERROR: <input>:%u:%u: %s", issue->line, issue->column, issue->message);
        struct ek_str line = line_of(text, len, issue->line);
        if (len > 0 && line.len <= SNIPPET_MAX)
            format_excerpt(line, issue->column, out);
    }
    if (issues->dropped > 0)
        ek_buf_printf(out, "\n%zu more errors were truncated", issues->dropped);
    return out->failed;
}
