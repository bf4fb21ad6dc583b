/* SPDX-License-Identifier: Apache-2.0 */
/* What `evenkeel mutate` shows people. */
#include <string.h>

#include "api/base/quote.h"
#include "api/base/words.h"
#include "api/decode/gotext.h"
#include "api/yaml.h"
#include "controller/cli/output.h"
#include "controller/manifests/manifests-internal.h"

#define TEXT_MAX  ((size_t)64 << 20)
#define VALUE_MAX 60 /* characters of a value in a line */

/* Before the lines of a message, but the first. */
#define MORE_LINES "#     "

void ek_mutate_title(yyjson_val *object, struct ek_buf *out)
{
    const char *namespace = ek_json_text(object, "namespace");

    const char *subresource = ek_json_text(object, "subresource");

    ek_quote_printf(out, "%s %s %s%s%s", ek_json_text(object, "apiVersion"),
                    ek_json_text(object, "kind"), namespace, *namespace ? "/" : "",
                    ek_json_text(object, "name"));
    if (*subresource)
        ek_quote_printf(out, " /%s", subresource);
}

/* A value in a line: JSON, cut. */
static void put_value(yyjson_val *value, struct ek_buf *out)
{
    char *json = value ? yyjson_val_write_opts(value, 0, &ek_json_alc, NULL, NULL) : NULL;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    if (json)
        ek_go_numbers(json, &text);
    ek_free(json);
    struct ek_str shown = {text.len ? ek_buf_str(&text) : "-", text.len ? text.len : 1};
    size_t cut = shown.len > VALUE_MAX ? ek_utf8_cut(shown, VALUE_MAX) : shown.len;
    ek_quote_line(out, (struct ek_str){shown.p, cut});
    ek_buf_puts(out, cut < shown.len ? "..." : "");
}

/* "mutations[0], [2]": which of the policy's did it. */
static void put_mutations(yyjson_val *change, struct ek_buf *out)
{
    yyjson_val *index;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(change, "mutations"), i, n, index)
        ek_buf_printf(out, "%s[%u]", i ? ", " : "mutations", (unsigned)yyjson_get_uint(index));
}

/* A denial is printed once: a step does not repeat the reason that the headline has. */
static void put_step(yyjson_val *step, const char *headline, struct ek_buf *out)
{
    const char *param = ek_json_text(step, "param"), *message = ek_json_text(step, "message");
    uint64_t pass = yyjson_get_uint(yyjson_obj_get(step, "pass"));
    yyjson_val *change;
    size_t i, n;

    if (!strcmp(ek_json_text(step, "result"), "denied") && ek_ends_with(headline, message))
        message = "";
    ek_quote_printf(out, "#   %s", ek_json_text(step, "policy"));
    if (*param)
        ek_quote_printf(out, " with %s", param);
    if (pass > 1)
        ek_buf_printf(out, ", pass %u", (unsigned)pass);
    ek_buf_printf(out, ": %s%s", ek_json_text(step, "result"), *message ? ": " : "");
    ek_quote_lines(out, ek_str_from(message), MORE_LINES);
    ek_buf_puts(out, "\n");
    yyjson_arr_foreach(yyjson_obj_get(step, "changes"), i, n, change)
    {
        ek_quote_printf(out, "#     %s: ", ek_json_text(change, "path"));
        put_value(yyjson_obj_get(change, "before"), out);
        ek_buf_puts(out, " -> ");
        put_value(yyjson_obj_get(change, "after"), out);
        ek_buf_puts(out, " (");
        put_mutations(change, out);
        ek_buf_puts(out, ")\n");
    }
}

static void put_fights(yyjson_val *object, struct ek_buf *out)
{
    yyjson_val *fight, *party;
    size_t i, n, j, m;

    yyjson_arr_foreach(yyjson_obj_get(object, "fights"), i, n, fight)
    {
        ek_quote_printf(out, "#   fight over %s:", ek_json_text(fight, "path"));
        yyjson_arr_foreach(yyjson_obj_get(fight, "parties"), j, m, party)
        {
            ek_quote_printf(out, "%s %s sets ", j ? "," : "", ek_json_text(party, "policy"));
            put_value(yyjson_obj_get(party, "value"), out);
        }
        ek_buf_puts(out, "\n");
    }
}

/* What validating policies said: those that passed are not worth a line. */
static void put_validations(yyjson_val *object, struct ek_buf *out)
{
    yyjson_val *step, *key, *value;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(object, "validations"), i, n, step)
    {
        const char *result = ek_json_text(step, "result");
        if (strcmp(result, "passed") != 0 && strcmp(result, "skipped") != 0)
            put_step(step, ek_json_text(object, "message"), out);
    }
    ek_json_each_member(yyjson_obj_get(object, "auditAnnotations"), i, n, key, value)
    {
        ek_buf_puts(out, "#   audit annotation ");
        ek_quote_line(out, ek_str_from(yyjson_get_str(key)));
        ek_buf_puts(out, ": ");
        ek_quote_lines(out, ek_str_from(yyjson_get_str(value)), MORE_LINES);
        ek_buf_puts(out, "\n");
    }
}

int ek_mutate_diff(yyjson_val *object, bool as_stored, bool color, struct ek_buf *out)
{
    EK_AUTO(ek_buf) before;
    EK_AUTO(ek_buf) after;
    yyjson_val *step;
    size_t i, n;

    ek_buf_init(&before, TEXT_MAX);
    ek_buf_init(&after, TEXT_MAX);
    ek_buf_puts(out, "# ");
    ek_mutate_title(object, out);
    ek_quote_printf(out, " (%s): %s", ek_json_text(object, "source"),
                    ek_json_text(object, "result"));
    ek_buf_puts(out, *ek_json_text(object, "message") ? ": " : "");
    ek_quote_lines(out, ek_str_from(ek_json_text(object, "message")), MORE_LINES);
    ek_buf_puts(out, "\n");
    yyjson_arr_foreach(yyjson_obj_get(object, "policies"), i, n, step)
        put_step(step, ek_json_text(object, "message"), out);
    put_validations(object, out);
    put_fights(object, out);
    if (strcmp(ek_json_text(object, "result"), "changed") != 0)
        return out->failed;
    ek_yaml_write(&before, yyjson_obj_get(object, "before"), NULL);
    ek_yaml_write(&after, yyjson_obj_get(object, "object"), NULL);
    if (as_stored)
        ek_buf_puts(out, "--- as stored, without policies");
    else
        ek_quote_printf(out, "--- %s", ek_json_text(object, "source"));
    ek_buf_puts(out, as_stored ? "\n+++ as stored, mutated\n" : "\n+++ mutated\n");
    return ek_text_diff(ek_buf_str(&before), ek_buf_str(&after), color, out);
}

static void add_row(struct ek_text_table *table, yyjson_val *object, const char *result,
                    const char *policy, yyjson_val *change)
{
    EK_AUTO(ek_buf) title;
    EK_AUTO(ek_buf) mutations;
    EK_AUTO(ek_buf) before;
    EK_AUTO(ek_buf) after;

    ek_buf_init(&title, TEXT_MAX);
    ek_buf_init(&mutations, TEXT_MAX);
    ek_buf_init(&before, TEXT_MAX);
    ek_buf_init(&after, TEXT_MAX);
    ek_mutate_title(object, &title);
    if (change) {
        put_value(yyjson_obj_get(change, "before"), &before);
        put_value(yyjson_obj_get(change, "after"), &after);
        put_mutations(change, &mutations);
    }
    const char *cells[] = {ek_buf_str(&title),
                           result,
                           policy,
                           ek_buf_str(&mutations),
                           change ? ek_json_text(change, "path") : "",
                           ek_buf_str(&before),
                           ek_buf_str(&after)};
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 1,
                        !strcmp(result, "denied")    ? EK_CELL_BAD
                        : !strcmp(result, "changed") ? EK_CELL_GOOD
                                                     : EK_CELL_PLAIN);
}

struct ek_text_table *ek_mutate_table_new(void)
{
    static const char *const headers[] = {"object", "result", "policy", "by",
                                          "path",   "before", "after"};
    return ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
}

void ek_mutate_table_add(struct ek_text_table *table, yyjson_val *object)
{
    size_t rows = ek_text_table_size(table), j, m, k, l;
    yyjson_val *step, *change;

    yyjson_arr_foreach(yyjson_obj_get(object, "policies"), j, m, step)
    {
        yyjson_val *changes = yyjson_obj_get(step, "changes");
        yyjson_arr_foreach(changes, k, l, change) add_row(
            table, object, ek_json_text(step, "result"), ek_json_text(step, "policy"), change);
        if (!changes && strcmp(ek_json_text(step, "result"), "skipped") != 0)
            add_row(table, object, ek_json_text(step, "result"), ek_json_text(step, "policy"),
                    NULL);
    }
    yyjson_arr_foreach(yyjson_obj_get(object, "validations"), j, m, step)
    {
        const char *result = ek_json_text(step, "result");
        if (strcmp(result, "passed") != 0 && strcmp(result, "skipped") != 0)
            add_row(table, object, result, ek_json_text(step, "policy"), NULL);
    }
    if (ek_text_table_size(table) == rows)
        add_row(table, object, ek_json_text(object, "result"), "", NULL);
}
