/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a page: the verdict, what to do next, components against versions, the steps from left
 * to right, the findings, and what each step changes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "controller/commands/plan-internal.h"
#include "controller/page/page.h"

/* Findings that are shown in a list; the table has all. */
#define NEXT_MAX 8
#define WHY_MAX  3

#define STEP_SIZE 32

static enum ek_cell_style style_of(const char *severity)
{
    return !strcmp(severity, "error")     ? EK_CELL_BAD
           : !strcmp(severity, "warning") ? EK_CELL_WARN
           : !strcmp(severity, "fixed")   ? EK_CELL_GOOD
                                          : EK_CELL_PLAIN;
}

static bool is_severity(yyjson_val *finding, const char *severity)
{
    return !strcmp(ek_json_text(finding, "severity"), severity);
}

/* "step 3" where a finding is about a step. A finding about an object of a file has a line, and
 * names the object; the rule distinguishes them. */
static const char *step_of(yyjson_val *finding)
{
    const char *object = ek_json_text(finding, "object"), *rule = ek_json_text(finding, "rule");
    bool is_step =
        !yyjson_obj_get(finding, "line") && !strncmp(object, "step ", 5) &&
        (!strcmp(rule, "flag") || !strncmp(rule, "api-use", 7) || !strcmp(rule, "api-requested"));

    return is_step ? object : "";
}

static void put_count(struct ek_buf *out, uint64_t n, const char *one, const char *many)
{
    ek_buf_printf(out, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

/* ---- The verdict ---- */

static void put_banner(struct ek_buf *out, yyjson_val *root)
{
    const char *verdict = ek_json_text(root, "verdict"), *from = ek_json_text(root, "from");
    enum ek_cell_style style = !strcmp(verdict, "Safe")      ? EK_CELL_GOOD
                               : !strcmp(verdict, "Blocked") ? EK_CELL_BAD
                                                             : EK_CELL_WARN;
    EK_AUTOFREE char *heading =
        ek_xasprintf("Kubernetes %s%s%s", from, *from ? " to " : "", ek_json_text(root, "to"));
    EK_AUTOFREE char *title = ek_xasprintf("%s: %s", verdict, heading);
    EK_AUTO(ek_buf) summary;

    ek_buf_init(&summary, EK_BUF_SMALL_MAX);
    ek_plan_put_summary(&summary, root);
    while (summary.len && summary.data[summary.len - 1] == '\n')
        summary.data[--summary.len] = '\0';
    ek_page_begin(out, title);
    ek_page_banner(out, style, verdict, heading, ek_buf_str(&summary));
}

/* "place object: message", and what to do. */
static void put_finding(struct ek_buf *out, yyjson_val *finding)
{
    EK_AUTOFREE char *place = ek_plan_place(finding);
    const char *object = *step_of(finding) ? "" : ek_json_text(finding, "object");
    const char *remedy = ek_json_text(finding, "remedy");
    EK_AUTOFREE char *where = ek_xasprintf("%s%s%s", strcmp(place, "-") != 0 ? place : "",
                                           *object && strcmp(place, "-") != 0 ? " " : "", object);

    if (*where) {
        ek_buf_puts(out, "<b>");
        ek_page_text(out, where);
        ek_buf_puts(out, "</b>: ");
    }
    ek_page_text(out, ek_json_text(finding, "message"));
    if (*remedy) {
        ek_buf_puts(out, " <span class=\"remedy\">&rarr; ");
        ek_page_text(out, remedy);
        ek_buf_puts(out, "</span>");
    }
}

static void put_errors(struct ek_buf *out, yyjson_val *root, uint64_t errors)
{
    yyjson_val *finding;
    size_t i, n, shown = 0;

    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding)
    {
        if (!is_severity(finding, "error") || shown == NEXT_MAX)
            continue;
        const char *step = step_of(finding);
        ek_buf_puts(out, "<li>");
        if (*step) {
            ek_buf_puts(out, "Before ");
            ek_page_text(out, step);
            ek_buf_puts(out, ": ");
        }
        put_finding(out, finding);
        ek_buf_puts(out, "</li>\n");
        shown++;
    }
    if (errors > shown)
        ek_buf_printf(out, "<li><a href=\"#findings\">%" PRIu64 " more %s</a></li>\n",
                      errors - shown, errors - shown == 1 ? "error" : "errors");
}

static void put_first_step(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *steps = yyjson_obj_get(root, "steps"), *step = yyjson_arr_get_first(steps);

    if (!yyjson_obj_get(root, "components"))
        return;
    ek_buf_puts(out, "<li>");
    if (!steps) {
        ek_buf_puts(out, "No order of the steps is known.");
    } else if (!step) {
        ek_buf_puts(out, "No step is left: all components are at the target.");
    } else {
        EK_AUTOFREE char *text = ek_xasprintf(
            "Step 1: %s, %s %s to %s", ek_json_text(step, "component"),
            ek_json_text(step, "change"), ek_json_text(step, "from"), ek_json_text(step, "to"));
        ek_page_text(out, text);
    }
    ek_buf_puts(out, "</li>\n");
}

static void put_next(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *summary = yyjson_obj_get(root, "summary");
    uint64_t errors = yyjson_get_uint(yyjson_obj_get(summary, "error"));
    uint64_t unknown = yyjson_get_uint(yyjson_obj_get(summary, "unknown"));
    uint64_t warnings = yyjson_get_uint(yyjson_obj_get(summary, "warning"));
    EK_AUTO(ek_buf) way;

    ek_page_fold_begin(out, "next", "What to do, in this order", NULL, true);
    ek_buf_puts(out, "<ol class=\"next\">");
    put_errors(out, root, errors);
    if (unknown) {
        ek_buf_puts(out, "<li>Check what is not known: <a href=\"#findings\">");
        put_count(out, unknown, "finding", "findings");
        ek_buf_puts(out, "</a></li>\n");
    }
    if (warnings) {
        ek_buf_puts(out, "<li>Read the <a href=\"#findings\">");
        put_count(out, warnings, "warning", "warnings");
        ek_buf_puts(out, "</a></li>\n");
    }
    put_first_step(out, root);
    ek_buf_puts(out, "</ol>");
    ek_buf_init(&way, EK_BUF_SMALL_MAX);
    ek_plan_put_way_back(&way, root);
    if (way.len) {
        ek_buf_puts(out, "<p>");
        way.data[way.len - 1] = '\0'; /* the line feed */
        ek_page_text(out, ek_buf_str(&way));
        ek_buf_puts(out, "</p>");
    }
    ek_page_fold_end(out);
}

/* ---- Components ---- */

static struct ek_minor minor_of(yyjson_val *object, const char *name)
{
    return ek_minor_parse(ek_json_text(object, name));
}

/* The rows at one time; false when the document has none. */
static bool read_rows(yyjson_val *components, const char *when, struct ek_page_component *rows)
{
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(components, i, n, one)
    {
        yyjson_val *at = yyjson_obj_get(one, when), *window = yyjson_obj_get(at, "window");
        if (!at)
            return false;
        rows[i] = (struct ek_page_component){
            .name = ek_json_text(one, "name"),
            .from = minor_of(window, "from"),
            .to = minor_of(window, "to"),
            .binary = minor_of(at, "binary"),
            .emulation = minor_of(at, "emulation"),
            .min_compat = minor_of(at, "minCompatibility"),
        };
    }
    return true;
}

static void put_components(struct ek_buf *out, yyjson_val *root)
{
    static const struct {
        const char *name, *label;
    } times[] = {{"before", "Before the first step"}, {"after", "After the last step"}};
    yyjson_val *components = yyjson_obj_get(root, "components");
    size_t n = yyjson_arr_size(components);
    bool has_steps = yyjson_arr_size(yyjson_obj_get(root, "steps"));

    if (!n)
        return;
    EK_AUTOFREE struct ek_page_component *rows = ek_xalloc(n * sizeof *rows);
    ek_page_fold_begin(out, "components", "Components and versions", NULL, true);
    ek_page_matrix_legend(out);
    ek_buf_puts(out, "<div class=\"matrices\">");
    for (size_t i = 0; i < EK_ARRAY_SIZE(times) && (!i || has_steps); i++)
        if (read_rows(components, times[i].name, rows))
            ek_page_matrix(out, &(struct ek_page_matrix){
                                    .label = times[i].label,
                                    .rows = rows,
                                    .n = n,
                                    .target = minor_of(root, "to"),
                                    .target_name = "target",
                                });
    ek_buf_puts(out, "</div>");
    ek_page_fold_end(out);
}

/* ---- Steps ---- */

/* The first step with the same change and the same consequences, by the position from 0. */
static size_t same_step(yyjson_val *steps, size_t at)
{
    yyjson_val *step = yyjson_arr_get(steps, at), *other;
    size_t i, n;

    yyjson_arr_foreach(steps, i, n, other)
    {
        if (i >= at)
            break;
        if (!strcmp(ek_json_text(step, "change"), ek_json_text(other, "change")) &&
            !strcmp(ek_json_text(step, "from"), ek_json_text(other, "from")) &&
            !strcmp(ek_json_text(step, "to"), ek_json_text(other, "to")) &&
            yyjson_equals(yyjson_obj_get(step, "changes"), yyjson_obj_get(other, "changes")))
            return i;
    }
    return at;
}

static void put_undo(struct ek_buf *out, yyjson_val *step)
{
    const char *lost = ek_json_text(step, "endsWayBackTo");
    yyjson_val *undo = yyjson_obj_get(step, "canBeUndone");

    if (*lost) {
        ek_buf_puts(out, "<span class=\"chip warn\">ends the way back to ");
        ek_page_text(out, lost);
        ek_buf_puts(out, "</span>");
    } else if (yyjson_get_bool(undo)) {
        ek_buf_puts(out, "<span class=\"chip good\">can be undone</span>");
    }
}

/* The errors of a step. */
static void put_why(struct ek_buf *out, yyjson_val *findings, const char *name, size_t errors)
{
    yyjson_val *finding;
    size_t i, n, shown = 0;

    ek_buf_puts(out, "<ul class=\"why\">");
    yyjson_arr_foreach(findings, i, n, finding)
    {
        if (!is_severity(finding, "error") || strcmp(step_of(finding), name) != 0 ||
            shown++ == WHY_MAX)
            continue;
        ek_buf_puts(out, "<li class=\"bad\">");
        ek_page_text(out, ek_json_text(finding, "message"));
        ek_buf_puts(out, "</li>");
    }
    if (errors > WHY_MAX)
        ek_buf_printf(out, "<li><a href=\"#findings\">%zu more</a></li>", errors - WHY_MAX);
    ek_buf_puts(out, "</ul>");
}

static size_t count_of(yyjson_val *findings, const char *name, const char *severity)
{
    yyjson_val *finding;
    size_t i, n, count = 0;

    yyjson_arr_foreach(findings, i, n, finding)
    {
        count += is_severity(finding, severity) && !strcmp(step_of(finding), name);
    }
    return count;
}

/* The data has the changes, and there are some. */
static bool has_changes(yyjson_val *step)
{
    static const char *const names[] = {"featureGates", "served", "notServed", "stored"};
    size_t n = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        n += yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(step, "changes"), names[i]));
    return n > 0;
}

static void put_step(struct ek_buf *out, yyjson_val *root, yyjson_val *step, size_t i, size_t same)
{
    yyjson_val *findings = yyjson_obj_get(root, "findings");
    char name[STEP_SIZE], changes[128];

    snprintf(name, sizeof name, "step %zu", i + 1);
    size_t errors = count_of(findings, name, "error"),
           unknown = count_of(findings, name, "unknown");
    ek_buf_printf(out, "<li%s><span class=\"number\">%zu</span><h3>",
                  errors ? " class=\"bad\"" : "", i + 1);
    ek_page_text(out, ek_json_text(step, "component"));
    ek_buf_puts(out, "</h3><p class=\"move\">");
    ek_page_text(out, ek_json_text(step, "change"));
    ek_buf_puts(out, " <b>");
    ek_page_text(out, ek_json_text(step, "from"));
    ek_buf_puts(out, " &rarr; ");
    ek_page_text(out, ek_json_text(step, "to"));
    ek_buf_puts(out, "</b></p>");
    put_undo(out, step);
    if (errors)
        put_why(out, findings, name, errors);
    if (unknown) {
        ek_buf_puts(out, "<p><a href=\"#findings\">");
        put_count(out, unknown, "unknown", "unknown");
        ek_buf_puts(out, "</a></p>");
    }
    if (has_changes(step)) {
        ek_plan_changes_of(step, changes, sizeof changes);
        ek_buf_printf(out, "<p><a href=\"#changes-%zu\">", same + 1);
        ek_page_text(out, changes);
        ek_buf_puts(out, "</a></p>");
    }
    ek_buf_puts(out, "</li>\n");
}

static void put_steps(struct ek_buf *out, yyjson_val *root, const size_t *same)
{
    yyjson_val *steps = yyjson_obj_get(root, "steps"), *step;
    EK_AUTOFREE char *count = ek_xasprintf("%zu", yyjson_arr_size(steps));
    size_t i, n;

    if (!yyjson_arr_size(steps))
        return;
    ek_page_fold_begin(out, "steps", "Steps", count, true);
    ek_buf_puts(out, "<ol class=\"line\" aria-label=\"steps\">\n");
    yyjson_arr_foreach(steps, i, n, step)
    {
        put_step(out, root, step, i, same[i]);
    }
    ek_buf_puts(out, "</ol>\n");
    ek_page_fold_end(out);
}

/* ---- Findings ---- */

static const char *const finding_headers[] = {"severity", "place",  "object and field",
                                              "message",  "remedy", "rule"};
static const struct ek_page_table finding_table = {"findings", finding_headers,
                                                   EK_ARRAY_SIZE(finding_headers), true};

/* Appends those of a severity; returns how many rows there are then. */
static size_t put_severity(struct ek_buf *out, yyjson_val *findings, const char *severity,
                           size_t rows)
{
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(findings, i, n, finding)
    {
        if (!is_severity(finding, severity) || rows == EK_PAGE_ROWS_MAX)
            continue;
        EK_AUTOFREE char *place = ek_plan_place(finding);
        const char *object = ek_json_text(finding, "object");
        const char *field = ek_json_text(finding, "field");
        EK_AUTOFREE char *what =
            ek_xasprintf("%s%s%s", object, *object && *field ? " " : "", field);
        const char *cells[] = {severity,
                               strcmp(place, "-") != 0 ? place : "",
                               what,
                               ek_json_text(finding, "message"),
                               ek_json_text(finding, "remedy"),
                               ek_json_text(finding, "rule")};
        ek_page_row(out, &finding_table, cells, 0, style_of(severity));
        rows++;
    }
    return rows;
}

static void put_findings(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *findings = yyjson_obj_get(root, "findings");
    size_t total = yyjson_arr_size(findings), rows = 0;
    EK_AUTOFREE char *count = ek_xasprintf("%zu", total);

    ek_page_fold_begin(out, "findings", "Findings", count, true);
    if (!total) {
        ek_buf_puts(out, "<p>None.</p>");
    } else {
        ek_page_table_begin(out, &finding_table);
        for (size_t i = 0; i < EK_PLAN_SEVERITY_MAX; i++)
            rows =
                put_severity(out, findings, ek_plan_severity_name((enum ek_plan_severity)i), rows);
        ek_page_table_end(out, rows, total);
    }
    ek_page_fold_end(out);
}

/* ---- What changes ---- */

static const char *const change_headers[] = {"what", "name", "before", "after", "note"};
static const struct ek_page_table change_table = {"changes", change_headers,
                                                  EK_ARRAY_SIZE(change_headers), true};

static void put_change(struct ek_buf *out, const char *what, const char *name, const char *before,
                       const char *after, const char *note)
{
    const char *cells[] = {what, name, before, after, note};

    ek_page_row(out, &change_table, cells, 0, EK_CELL_PLAIN);
}

static const char *on(yyjson_val *gate, const char *name)
{
    return yyjson_get_bool(yyjson_obj_get(gate, name)) ? "on" : "off";
}

static void put_changes(struct ek_buf *out, yyjson_val *changes)
{
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(changes, "featureGates"), i, n, one)
    {
        EK_AUTOFREE char *note =
            ek_xasprintf("%s%s", ek_json_text(one, "stage"),
                         yyjson_get_bool(yyjson_obj_get(one, "locked")) ? ", locked" : "");
        put_change(out, "feature gate", ek_json_text(one, "name"), on(one, "wasOn"), on(one, "on"),
                   note);
    }
    yyjson_arr_foreach(yyjson_obj_get(changes, "notServed"), i, n, one)
    {
        put_change(out, "API", yyjson_get_str(one), "served", "not served", "");
    }
    yyjson_arr_foreach(yyjson_obj_get(changes, "served"), i, n, one)
    {
        put_change(out, "API", yyjson_get_str(one), "not served", "served", "");
    }
    yyjson_arr_foreach(yyjson_obj_get(changes, "stored"), i, n, one)
    {
        put_change(out, "storage version", ek_json_text(one, "resource"), ek_json_text(one, "from"),
                   ek_json_text(one, "to"), "");
    }
}

static void put_group(struct ek_buf *out, yyjson_val *steps, const size_t *same, size_t first)
{
    yyjson_val *step = yyjson_arr_get(steps, first), *changes = yyjson_obj_get(step, "changes");
    char id[STEP_SIZE], text[128];
    EK_AUTO(ek_buf) title;

    ek_buf_init(&title, EK_BUF_SMALL_MAX);
    ek_buf_printf(&title, "%s %s to %s: step", ek_json_text(step, "change"),
                  ek_json_text(step, "from"), ek_json_text(step, "to"));
    for (size_t i = first; i < yyjson_arr_size(steps); i++)
        if (same[i] == first)
            ek_buf_printf(&title, "%s %zu", i > first ? "," : "", i + 1);
    snprintf(id, sizeof id, "changes-%zu", first + 1);
    ek_plan_changes_of(step, text, sizeof text);
    ek_page_fold_begin(out, id, ek_buf_str(&title), text, false);
    ek_page_table_begin(out, &change_table);
    put_changes(out, changes);
    ek_page_table_end(out, 0, 0);
    ek_page_fold_end(out);
}

static void put_all_changes(struct ek_buf *out, yyjson_val *root, const size_t *same)
{
    yyjson_val *steps = yyjson_obj_get(root, "steps"), *step;
    bool any = false;
    size_t i, n;

    yyjson_arr_foreach(steps, i, n, step)
    {
        if (same[i] != i || !has_changes(step))
            continue;
        if (!any)
            ek_page_fold_begin(out, "changes", "What changes on API servers at each step", NULL,
                               true);
        any = true;
        put_group(out, steps, same, i);
    }
    if (any)
        ek_page_fold_end(out);
}

int ek_plan_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const int64_t *at_ms = ctx;
    yyjson_val *steps = yyjson_obj_get(root, "steps"), *data = yyjson_obj_get(root, "data");
    size_t n = yyjson_arr_size(steps);
    EK_AUTOFREE size_t *same = ek_xalloc((n + 1) * sizeof *same);
    EK_AUTO(ek_buf) limits;

    (void)color;
    ek_buf_init(&limits, EK_BUF_SMALL_MAX);
    ek_plan_put_limits(&limits, root);
    EK_AUTOFREE char *note = ek_xasprintf(
        "Data of Kubernetes %s, recorded %s. What is not known is reported as "
        "unknown. %s",
        ek_json_text(data, "version"), ek_json_text(data, "recorded"), ek_buf_str(&limits));
    for (size_t i = 0; i < n; i++)
        same[i] = same_step(steps, i);
    put_banner(out, root);
    put_next(out, root);
    put_components(out, root);
    put_steps(out, root, same);
    put_findings(out, root);
    put_all_changes(out, root, same);
    ek_page_end(out, note, *at_ms);
    return out->failed;
}
