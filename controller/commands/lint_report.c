/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, as data and for people. */
#include <string.h>

#include "api/base/quote.h"
#include "controller/cli/output.h"
#include "controller/commands/lint-internal.h"

#define LINE_MAX_SHOWN 400 /* octets of an expression's line; a longer one is cut */

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_lint_finding *f)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, v, "severity", ek_lint_severity_name(f->severity));
    yyjson_mut_obj_add_str(doc, v, "rule", f->rule);
    if (f->object)
        yyjson_mut_obj_add_strcpy(doc, v, "object", f->object);
    else
        yyjson_mut_obj_add_strcpy(doc, v,
                                  f->binding      ? "binding"
                                  : f->definition ? "definition"
                                                  : "policy",
                                  f->policy);
    if (f->source)
        yyjson_mut_obj_add_strcpy(doc, v, "source", f->source);
    if (f->source_line)
        yyjson_mut_obj_add_uint(doc, v, "sourceLine", f->source_line);
    if (*f->field)
        yyjson_mut_obj_add_strcpy(doc, v, "field", f->field);
    if (f->line) {
        yyjson_mut_obj_add_uint(doc, v, "line", f->line);
        yyjson_mut_obj_add_uint(doc, v, "column", f->column);
    }
    yyjson_mut_obj_add_strcpy(doc, v, "message", f->message);
    if (f->text && f->line)
        yyjson_mut_obj_add_strcpy(doc, v, "expression", f->text);
}

yyjson_doc *ek_lint_document(const struct ek_lint_report *report)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "findings");
    for (size_t i = 0; i < report->n; i++)
        add_finding(doc, list, &report->list[i]);
    yyjson_mut_obj_add_uint(doc, root, "errors", report->n_severity[EK_LINT_ERROR]);
    yyjson_mut_obj_add_uint(doc, root, "warnings", report->n_severity[EK_LINT_WARNING]);
    if (report->n_dropped)
        yyjson_mut_obj_add_uint(doc, root, "dropped", report->n_dropped);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* The line of the expression, and a caret below the place. */
static void put_place(yyjson_val *finding, struct ek_buf *out)
{
    const char *p = ek_json_text(finding, "expression");
    uint64_t line = yyjson_get_uint(yyjson_obj_get(finding, "line"));
    uint64_t column = yyjson_get_uint(yyjson_obj_get(finding, "column"));

    if (!line)
        return;
    while (line > 1 && *p) {
        p += strcspn(p, "\n");
        p += *p == '\n';
        line--;
    }
    size_t len = strcspn(p, "\r\n");
    if (len > LINE_MAX_SHOWN)
        return;
    struct ek_str shown = {p, len}, before = {p, 0};
    for (uint64_t i = 1; i < column && before.len < len; i++) {
        unsigned rune;
        size_t taken = ek_utf8_decode((struct ek_str){p + before.len, len - before.len}, &rune);
        before.len += taken ? taken : 1;
    }
    EK_AUTO(ek_buf) text;
    ek_buf_init(&text, ((size_t)LINE_MAX_SHOWN + 4) * EK_QUOTE_ESCAPE_SIZE);
    ek_buf_puts(out, "   | ");
    ek_quote_line(out, shown);
    ek_buf_puts(out, "\n   | ");
    ek_buf_puts(&text, "| "); /* where the line begins, too */
    ek_quote_line(&text, before);
    for (size_t i = ek_text_width(ek_buf_str(&text)); i > 2; i--)
        ek_buf_puts(out, ".");
    ek_buf_puts(out, "^\n");
}

/* Texts of several lines stay below one another. */
static void put_lines(const char *message, struct ek_buf *out)
{
    while (*message) {
        size_t len = strcspn(message, "\n");
        ek_buf_puts(out, "   ");
        ek_quote_printf(out, "%.*s\n", (int)len, message);
        message += len + (message[len] == '\n');
    }
}

/* " (policy.yaml)", " (web.yaml:12)" */
static void put_source(yyjson_val *f, struct ek_buf *out)
{
    uint64_t line = yyjson_get_uint(yyjson_obj_get(f, "sourceLine"));

    if (!*ek_json_text(f, "source"))
        return;
    ek_quote_printf(out, " (%s", ek_json_text(f, "source"));
    if (line)
        ek_buf_printf(out, ":%u", (unsigned)line);
    ek_buf_puts(out, ")");
}

void ek_lint_put_finding(yyjson_val *f, bool color, struct ek_buf *out)
{
    const char *severity = ek_json_text(f, "severity"), *policy = ek_json_text(f, "policy");
    const char *definition = ek_json_text(f, "definition");
    const char *paint = *severity == 'e' ? "\033[31m" : *severity == 'w' ? "\033[33m" : "\033[2m";
    uint64_t line = yyjson_get_uint(yyjson_obj_get(f, "line"));

    ek_buf_printf(out, "%s%s%s: ", color ? paint : "", severity, color ? "\033[0m" : "");
    if (*ek_json_text(f, "binding"))
        ek_quote_printf(out, "binding %s", ek_json_text(f, "binding"));
    else
        ek_quote_printf(out, "%s",
                        *policy       ? policy
                        : *definition ? definition
                                      : ek_json_text(f, "object"));
    put_source(f, out);
    if (*ek_json_text(f, "field"))
        ek_quote_printf(out, " %s", ek_json_text(f, "field"));
    if (line)
        ek_buf_printf(out, ":%u:%u", (unsigned)line,
                      (unsigned)yyjson_get_uint(yyjson_obj_get(f, "column")));
    ek_buf_printf(out, " [%s]\n", ek_json_text(f, "rule"));
    put_lines(ek_json_text(f, "message"), out);
    put_place(f, out);
}

int ek_lint_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    yyjson_val *finding;
    size_t i, n;
    unsigned errors = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "errors"));
    unsigned warnings = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "warnings"));
    unsigned dropped = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "dropped"));

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding)
        ek_lint_put_finding(finding, color, out);
    if (dropped)
        ek_buf_printf(out, "%u more finding%s not shown\n", dropped,
                      dropped == 1 ? " is" : "s are");
    return ek_buf_printf(out, "%u error%s, %u warning%s\n", errors, errors == 1 ? "" : "s",
                         warnings, warnings == 1 ? "" : "s");
}
