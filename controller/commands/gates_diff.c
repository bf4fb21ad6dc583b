/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a write, for people: by which gates, and a diff. */
#include <string.h>

#include "api/base/quote.h"
#include "api/yaml.h"
#include "controller/commands/gates-internal.h"

#define TEXT_MAX ((size_t)64 << 20)

static void put_title(yyjson_val *report, bool color, struct ek_buf *out)
{
    bool allowed = yyjson_is_true(yyjson_obj_get(report, "allowed"));
    const char *subresource = ek_json_text(report, "subresource");

    ek_quote_printf(out, "# %s %s %s%s%s: ", ek_json_text(report, "operation"),
                    ek_json_text(report, "kind"), ek_json_text(report, "object"),
                    *subresource ? "/" : "", subresource);
    ek_buf_printf(out, "%s%s%s", color ? allowed ? "\033[32m" : "\033[31m" : "",
                  allowed ? "allowed" : "denied", color ? "\033[0m" : "");
    if (!allowed) {
        ek_buf_puts(out, ": ");
        ek_quote_lines(out, ek_str_from(ek_json_text(report, "message")), "#   ");
        ek_quote_printf(out, " (%d %s)", (int)yyjson_get_int(yyjson_obj_get(report, "code")),
                        ek_json_text(report, "reason"));
    }
    ek_buf_puts(out, "\n");
}

static void put_fields(yyjson_val *report, struct ek_buf *out)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(report, "fields"), i, n, v)
        ek_quote_printf(out, "#   %s: %s by gate %s\n", ek_json_text(v, "path"),
                        ek_json_text(v, "result"), ek_json_text(v, "gate"));
    yyjson_arr_foreach(yyjson_obj_get(report, "warnings"), i, n, v)
        ek_quote_printf(out, "#   Warning: %s\n", yyjson_get_str(v));
}

static void put_generation(yyjson_val *report, struct ek_buf *out)
{
    yyjson_val *generation = yyjson_obj_get(report, "generation");
    yyjson_val *old = yyjson_obj_get(generation, "old"), *new = yyjson_obj_get(generation, "new");
    yyjson_val *moves = yyjson_obj_get(generation, "moves");

    if (!moves)
        ek_buf_puts(out, "#   generation: begins at 1\n");
    else if (!old)
        ek_buf_printf(out, "#   generation: %s\n", yyjson_is_true(moves) ? "moves" : "stays");
    else if (yyjson_is_true(moves))
        ek_buf_printf(out, "#   generation: moves from %lld to %lld\n",
                      (long long)yyjson_get_sint(old), (long long)yyjson_get_sint(new));
    else
        ek_buf_printf(out, "#   generation: stays at %lld\n", (long long)yyjson_get_sint(old));
}

/* Returns whether there is anything. */
static bool put_dropped(yyjson_val *report, struct ek_buf *out)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(report, "dropped"), i, n, v)
        ek_quote_printf(out, "%s%s", i ? ", " : "#   dropped by API servers: ", yyjson_get_str(v));
    ek_buf_puts(out, n ? "\n" : "");
    return n > 0;
}

int ek_gates_diff(void *ctx, yyjson_val *report, bool color, struct ek_buf *out)
{
    yyjson_val *without = yyjson_obj_get(report, "withoutGates");
    yyjson_val *stored = yyjson_obj_get(report, "stored");
    EK_AUTO(ek_buf) before;
    EK_AUTO(ek_buf) after;

    (void)ctx;
    ek_buf_init(&before, TEXT_MAX);
    ek_buf_init(&after, TEXT_MAX);
    put_title(report, color, out);
    put_fields(report, out);
    if (!stored)
        return out->failed;
    put_generation(report, out);
    bool dropped = put_dropped(report, out);
    if (ek_json_equal(without, stored))
        return ek_buf_printf(out, "#   %s\n",
                             dropped ? "the rest is stored as sent"
                             : yyjson_is_true(yyjson_obj_get(report, "decoded"))
                                 ? "stored as sent, but for defaults and nulls"
                                 : "stored as sent");
    ek_yaml_write(&before, without, NULL);
    ek_yaml_write(&after, stored, NULL);
    ek_buf_puts(out, "--- without gates\n+++ stored\n");
    return ek_text_diff(ek_buf_str(&before), ek_buf_str(&after), color, out);
}
