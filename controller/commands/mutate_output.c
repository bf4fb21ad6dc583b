/* SPDX-License-Identifier: Apache-2.0 */
/* Results of `evenkeel mutate` on stdout, as they come. */
#include <errno.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/decode/gotext.h"
#include "api/yaml.h"
#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"

#define RESULT_MAX ((size_t)256 << 20) /* octets of one result as text */
#define HELD_MAX   ((size_t)1 << 30)   /* octets of all results that are kept back */

static bool is(const struct ek_mutate_output *out, const char *format)
{
    return !strcmp(out->options->output, format);
}

static bool fails_on_denials(const struct ek_mutate_output *out)
{
    return is(out, "yaml") && !strcmp(out->options->denied, "fail");
}

static int unwritten(struct ek_err *err)
{
    return ek_err_set(err, EK_E_NET, "the answer could not be written: %s", strerror(errno));
}

static int put(struct ek_mutate_output *out, const struct ek_buf *text, struct ek_err *err)
{
    if (text->failed)
        return ek_err_set(err, text->failed, "the answer cannot be written: %s",
                          ek_strerror(text->failed));
    if (!fails_on_denials(out))
        return fwrite(ek_buf_str(text), 1, text->len, stdout) == text->len ? 0 : unwritten(err);
    int rc = ek_buf_append(&out->held, ek_buf_str(text), text->len);
    return rc ? ek_err_set(err, rc, "the answer cannot be kept: %s", ek_strerror(rc)) : 0;
}

int ek_mutate_output_open(struct ek_mutate_output *out, const struct ek_mutate_options *options,
                          struct ek_err *err)
{
    *out = (struct ek_mutate_output){.options = options};
    ek_buf_init(&out->held, HELD_MAX);
    if (is(out, "table"))
        out->table = ek_mutate_table_new();
    if (ek_mutate_is_checks(options))
        out->checks = ek_mutate_checks_new(options->output);
    return is(out, "json") && fputs("{\n  \"objects\": [", stdout) < 0 ? unwritten(err) : 0;
}

/* JSON as yyjson writes the whole, with numbers as API servers write them, this many blanks to the
 * right. Texts in JSON have no line feed. */
static int put_json(char *json, unsigned blanks, struct ek_buf *out)
{
    EK_AUTO(ek_buf) text = {0};
    char prefix[16];

    if (!json)
        return EK_E_NOMEM;
    ek_buf_init(&text, RESULT_MAX);
    int rc = ek_go_numbers(json, &text);
    ek_free(json);
    if (rc)
        return rc;
    snprintf(prefix, sizeof prefix, "%*s", (int)blanks, "");
    for (const char *line = ek_buf_str(&text); *line;) {
        size_t len = strcspn(line, "\n");
        ek_buf_append(out, line, len);
        ek_buf_printf(out, "%s%s", line[len] ? "\n" : "", line[len] ? prefix : "");
        line += len + (line[len] == '\n');
    }
    return 0;
}

static void put_denial(yyjson_val *result, struct ek_buf *out)
{
    ek_mutate_title(result, out);
    ek_quote_printf(out, " (%s): denied: ", ek_json_text(result, "source"));
}

static void put_yaml(struct ek_mutate_output *out, yyjson_val *result, bool denied,
                     struct ek_buf *text)
{
    yyjson_val *object = yyjson_obj_get(result, "object");

    if (!denied && !object)
        return;
    ek_buf_puts(text, out->n++ ? "---\n" : "");
    if (!denied) {
        ek_yaml_write(text, object, NULL);
        return;
    }
    ek_buf_puts(text, "# ");
    put_denial(result, text);
    ek_quote_lines(text, ek_str_from(ek_json_text(result, "message")), "#   ");
    ek_buf_puts(text, "\n");
}

/* A denial on stderr, for formats that only programs read, and for tables, which have no reasons.
 */
static void report_denial(yyjson_val *result)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, RESULT_MAX);
    put_denial(result, &text);
    ek_print_stderr("evenkeel: ", "%s%s", ek_buf_str(&text), ek_json_text(result, "message"));
}

static void report_warnings(yyjson_val *result)
{
    EK_AUTO(ek_buf) text;
    yyjson_val *warning;
    size_t i, n;

    ek_buf_init(&text, RESULT_MAX);
    ek_mutate_title(result, &text);
    ek_quote_printf(&text, " (%s)", ek_json_text(result, "source"));
    yyjson_arr_foreach(yyjson_obj_get(result, "warnings"), i, n, warning) ek_print_stderr(
        "evenkeel: ", "%s: warning: %s", ek_buf_str(&text), yyjson_get_str(warning));
}

int ek_mutate_output_add(struct ek_mutate_output *out, yyjson_val *result,
                         const struct ek_golden *golden, struct ek_err *err)
{
    bool denied = !strcmp(ek_json_text(result, "result"), "denied");
    EK_AUTO(ek_buf) text;
    int rc = 0;

    ek_buf_init(&text, RESULT_MAX);
    out->denied += denied;
    if (!is(out, "diff"))
        report_warnings(result);
    if (denied && !is(out, "diff"))
        report_denial(result);
    if (out->table) {
        ek_mutate_table_add(out->table, result);
        return 0;
    }
    if (out->checks) {
        ek_mutate_checks_add(out->checks, result, golden);
        return 0;
    }
    if (is(out, "json")) {
        ek_buf_puts(&text, out->n++ ? ",\n    " : "\n    ");
        rc = put_json(
            yyjson_val_write_opts(result, YYJSON_WRITE_PRETTY_TWO_SPACES, &ek_json_alc, NULL, NULL),
            4, &text);
    } else if (is(out, "yaml")) {
        put_yaml(out, result, denied, &text);
    } else {
        ek_buf_puts(&text, out->n++ ? "\n" : "");
        ek_mutate_diff(result, out->options->as_stored, ek_print_wants_color(out->options->color),
                       &text);
    }
    return rc ? ek_err_set(err, rc, "no memory") : put(out, &text, err);
}

void ek_mutate_output_stale(void *ctx, const char *path, const char *text)
{
    const struct ek_mutate_output *out = ctx;

    if (out->checks)
        ek_mutate_checks_stale(out->checks, path, text);
}

/* What was kept back until it was known that nothing is denied. */
static int release(const struct ek_mutate_output *out, struct ek_err *err)
{
    if (out->denied) {
        fprintf(
            stderr,
            "evenkeel: nothing is printed, because %zu object%s denied; --denied=comment leaves "
            "denied objects out\n",
            out->denied, out->denied == 1 ? " is" : "s are");
        return 0;
    }
    size_t len = out->held.len;
    return fwrite(ek_buf_str(&out->held), 1, len, stdout) == len ? 0 : unwritten(err);
}

int ek_mutate_output_end(struct ek_mutate_output *out, yyjson_mut_val *notes, struct ek_err *err)
{
    EK_AUTO(ek_buf) text;
    int rc = 0;

    ek_buf_init(&text, RESULT_MAX);
    if (is(out, "json")) {
        ek_buf_puts(&text, out->n ? "\n  ],\n  \"notes\": " : "],\n  \"notes\": ");
        rc = put_json(yyjson_mut_val_write_opts(notes, YYJSON_WRITE_PRETTY_TWO_SPACES, &ek_json_alc,
                                                NULL, NULL),
                      2, &text);
        ek_buf_puts(&text, "\n}\n");
    } else if (out->table) {
        ek_text_table_write(out->table, ek_print_wants_color(out->options->color), &text);
    } else if (out->checks) {
        rc = ek_mutate_checks_write(out->checks, &text);
    } else if (fails_on_denials(out)) {
        rc = release(out, err);
        return rc || !fflush(stdout) ? rc : unwritten(err);
    }
    if (rc)
        return ek_err_set(err, rc, "the answer cannot be written: %s", ek_strerror(rc));
    rc = put(out, &text, err);
    return rc || !fflush(stdout) ? rc : unwritten(err);
}

void ek_mutate_output_done(struct ek_mutate_output *out)
{
    ek_buf_done(&out->held);
    ek_text_table_free(out->table);
    ek_mutate_checks_free(out->checks);
    *out = (struct ek_mutate_output){0};
}
