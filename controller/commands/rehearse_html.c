/* SPDX-License-Identifier: Apache-2.0 */
/* A rehearsal as a page: the verdict, the steps, the findings, what each step changes, where plan
 * and the server differ, and what a rehearsal cannot show. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "controller/commands/rehearse-internal.h"
#include "controller/page/page.h"

static enum ek_cell_style style_of(const char *severity)
{
    return !strcmp(severity, "error")     ? EK_CELL_BAD
           : !strcmp(severity, "warning") ? EK_CELL_WARN
                                          : EK_CELL_PLAIN;
}

static uint64_t number(yyjson_val *v, const char *name)
{
    return yyjson_get_uint(yyjson_obj_get(v, name));
}

static void put_banner(struct ek_buf *out, yyjson_val *root)
{
    const char *verdict = ek_json_text(root, "verdict");
    yyjson_val *summary = yyjson_obj_get(root, "summary");
    EK_AUTOFREE char *heading = ek_xasprintf("Rehearsal of Kubernetes %s to %s",
                                             ek_json_text(root, "from"), ek_json_text(root, "to"));
    const char *cluster = ek_json_text(root, "cluster");
    EK_AUTOFREE char *title = ek_xasprintf("%s: %s", verdict, heading);
    EK_AUTOFREE char *text =
        ek_xasprintf("%" PRIu64 " errors, %" PRIu64 " warnings, %" PRIu64 " unknown; %" PRIu64
                     " stored objects%s%s; %s",
                     number(summary, "error"), number(summary, "warning"),
                     number(summary, "unknown"), number(root, "storedObjects"),
                     *cluster ? " of " : "", cluster, ek_json_text(root, "kubeAPIServer"));

    ek_page_begin(out, title);
    ek_page_banner(out,
                   !strcmp(verdict, "Clean")    ? EK_CELL_GOOD
                   : !strcmp(verdict, "Breaks") ? EK_CELL_BAD
                                                : EK_CELL_WARN,
                   verdict, heading, text);
}

static void put_findings(struct ek_buf *out, yyjson_val *root)
{
    static const char *const headers[] = {"severity", "rule", "steps", "object", "message"};
    const struct ek_page_table table = {"findings", headers, EK_ARRAY_SIZE(headers), true};
    yyjson_val *list = yyjson_obj_get(root, "findings"), *f, *step;
    size_t i, n, k, m, written = 0;
    char count[24];

    snprintf(count, sizeof count, "%zu", yyjson_arr_size(list));
    ek_page_fold_begin(out, "findings", "Findings", count, true);
    ek_page_table_begin(out, &table);
    yyjson_arr_foreach(list, i, n, f)
    {
        EK_AUTO(ek_buf) steps;
        if (written == EK_PAGE_ROWS_MAX)
            break;
        ek_buf_init(&steps, EK_BUF_SMALL_MAX);
        yyjson_arr_foreach(yyjson_obj_get(f, "steps"), k, m, step)
        {
            ek_buf_printf(&steps, "%s%" PRIu64, k ? "," : "", yyjson_get_uint(step));
        }
        const char *cells[] = {ek_json_text(f, "severity"), ek_json_text(f, "rule"),
                               ek_buf_str(&steps), ek_json_text(f, "object"),
                               ek_json_text(f, "message")};
        ek_page_row(out, &table, cells, 0, style_of(cells[0]));
        written++;
    }
    ek_page_table_end(out, written, yyjson_arr_size(list));
    ek_page_fold_end(out);
}

/* The differences of one list as rows; a and b name the members of the two sides. */
static size_t put_rows(struct ek_buf *out, const struct ek_page_table *table, yyjson_val *list,
                       const char *a, const char *b)
{
    yyjson_val *d;
    size_t i, n, written = 0;

    yyjson_arr_foreach(list, i, n, d)
    {
        if (written == EK_PAGE_ROWS_MAX)
            break;
        const char *cells[] = {ek_json_text(d, "what"), ek_json_text(d, "name"), ek_json_text(d, a),
                               ek_json_text(d, b)};
        ek_page_row(out, table, cells, 0, EK_CELL_PLAIN);
        written++;
    }
    return written;
}

static void put_list(struct ek_buf *out, yyjson_val *list, const char *title, const char *a,
                     const char *b)
{
    const char *const headers[] = {"what", "name", a, b};
    const struct ek_page_table table = {title, headers, EK_ARRAY_SIZE(headers), true};
    size_t n = yyjson_arr_size(list);
    char count[24];

    if (!n)
        return;
    snprintf(count, sizeof count, "%zu", n);
    ek_page_fold_begin(out, "", title, count, false);
    ek_page_table_begin(out, &table);
    ek_page_table_end(out, put_rows(out, &table, list, a, b), n);
    ek_page_fold_end(out);
}

static void put_refused(struct ek_buf *out, yyjson_val *step)
{
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(step, "refused"), i, n, one)
    {
        ek_buf_puts(out, "<p>Refused: ");
        ek_page_text(out, ek_json_text(one, "message"));
        ek_buf_puts(out, " (taken out: ");
        ek_page_text(out, ek_json_text(one, "takenOut"));
        ek_buf_puts(out, ")</p>\n");
    }
    yyjson_arr_foreach(yyjson_obj_get(step, "log"), i, n, one)
    {
        ek_buf_puts(out, i ? "<br>" : "<p>");
        ek_page_text(out, yyjson_get_str(one));
    }
    if (yyjson_arr_size(yyjson_obj_get(step, "log")))
        ek_buf_puts(out, "</p>\n");
}

static void put_steps(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *step;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "steps"), i, n, step)
    {
        char plan[80];
        EK_AUTOFREE char *title =
            ek_xasprintf("Step %zu: %s (binary %s, emulation %s, minimum compatibility %s)", i + 1,
                         ek_json_text(step, "change"), ek_json_text(step, "binary"),
                         ek_json_text(step, "emulation"), ek_json_text(step, "minCompatibility"));
        const char *state = !yyjson_get_bool(yyjson_obj_get(step, "reached"))   ? "not reached"
                            : !yyjson_get_bool(yyjson_obj_get(step, "started")) ? "does not start"
                            : !yyjson_get_bool(yyjson_obj_get(step, "ready"))   ? "not ready"
                                                                                : "ready";
        EK_AUTOFREE char *text = ek_xasprintf(
            "%s; %" PRIu64 " objects, %" PRIu64 " updates, %" PRIu64 " creations; plan: %s", state,
            number(step, "objects"), number(step, "updates"), number(step, "creates"),
            ek_rehearse_plan_text(step, plan, sizeof plan));
        ek_page_fold_begin(out, "", title, state, strcmp(state, "ready") != 0);
        ek_buf_puts(out, "<p>");
        ek_page_text(out, text);
        ek_buf_puts(out, "</p>\n");
        put_refused(out, step);
        put_list(out, yyjson_obj_get(step, "changes"), "changes from the step before", "before",
                 "after");
        put_list(out, yyjson_obj_get(yyjson_obj_get(step, "plan"), "differences"),
                 "differences from the plan", "plan", "server");
        ek_page_fold_end(out);
    }
}

static void put_limits(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *one;
    size_t i, n;

    ek_page_fold_begin(out, "", "What a rehearsal cannot show", NULL, true);
    ek_buf_puts(out, "<ul>\n");
    yyjson_arr_foreach(yyjson_obj_get(root, "cannotShow"), i, n, one)
    {
        ek_buf_puts(out, "<li>");
        ek_page_text(out, yyjson_get_str(one));
        ek_buf_puts(out, "</li>\n");
    }
    yyjson_arr_foreach(yyjson_obj_get(root, "removedFlags"), i, n, one)
    {
        ek_buf_puts(out, "<li>");
        ek_page_text(out, ek_json_text(one, "flag"));
        ek_buf_puts(out, " was removed: ");
        ek_page_text(out, ek_json_text(one, "why"));
        ek_buf_puts(out, "</li>\n");
    }
    ek_buf_puts(out, "</ul>\n");
    ek_page_fold_end(out);
}

int ek_rehearse_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    (void)color;
    put_banner(out, root);
    put_findings(out, root);
    put_steps(out, root);
    put_limits(out, root);
    ek_page_end(out, "evenkeel rehearse", *(const int64_t *)ctx);
    return out->failed;
}
