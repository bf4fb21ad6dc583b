/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as data and as a table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "controller/cli/output.h"
#include "controller/commands/plan-internal.h"
#include "informers/clock.h"

int ek_plan_exit(const struct ek_plan_report *report)
{
    if (ek_plan_report_count(report, EK_PLAN_ERROR))
        return EK_EXIT_VIOLATIONS;
    return ek_plan_report_count(report, EK_PLAN_UNKNOWN) ? EK_EXIT_UNKNOWN : EK_EXIT_OK;
}

/* ---- Data ---- */

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                     const char *text)
{
    if (*text)
        yyjson_mut_obj_add_strcpy(doc, object, name, text);
}

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list,
                        const struct ek_plan_finding *finding)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
    char since[EK_MINOR_SIZE];

    yyjson_mut_obj_add_str(doc, v, "severity", ek_plan_severity_name(finding->severity));
    yyjson_mut_obj_add_strcpy(doc, v, "rule", finding->rule);
    add_text(doc, v, "source", finding->source);
    if (finding->line)
        yyjson_mut_obj_add_uint(doc, v, "line", finding->line);
    add_text(doc, v, "object", finding->object);
    add_text(doc, v, "field", finding->field);
    add_text(doc, v, "message", finding->message);
    add_text(doc, v, "remedy", finding->remedy);
    add_text(doc, v, "apiVersion", finding->api_version);
    add_text(doc, v, "kind", finding->kind);
    add_text(doc, v, "what", ek_plan_what(finding));
    if (finding->since.known)
        yyjson_mut_obj_add_strcpy(doc, v, "since", ek_minor_format(finding->since, since));
    add_text(doc, v, "replacement", finding->replacement);
    add_text(doc, v, "fix", finding->fix);
}

static const char *verdict(const struct ek_plan_report *report)
{
    int code = ek_plan_exit(report);

    return code == EK_EXIT_VIOLATIONS ? "Blocked" : code == EK_EXIT_UNKNOWN ? "Unknown" : "Safe";
}

static void add_members(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_mut_val *steps)
{
    static const char *const names[] = {"wayBackTo", "components", "steps"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        yyjson_mut_val *v = yyjson_mut_obj_remove_key(steps, names[i]);
        if (v)
            yyjson_mut_obj_add_val(doc, root, names[i], v);
    }
}

/* What no finding can say: a plan that is Safe does not cover these. */
static void add_limits(yyjson_mut_doc *doc, yyjson_mut_val *root, bool files, bool logs)
{
    static const char *const of_files[] = {
        "values that only the validation of a newer version accepts",
        "references inside of objects, such as owners and targets of autoscalers",
        "custom resources, beyond their definitions",
        "values of flags, but for feature gates, versions and --runtime-config",
    };
    static const char *const of_clusters[] = {
        "values that only the validation of a newer version accepts",
        "fields and expressions of stored objects other than webhooks, admission policies, device "
        "classes, resource claims and definitions",
        "objects in etcd of resources that no API server serves",
        "flags, but for feature gates, versions and those about APIs",
    };
    const char *const *list = files ? of_files : of_clusters;
    size_t n = files ? EK_ARRAY_SIZE(of_files) : EK_ARRAY_SIZE(of_clusters);
    yyjson_mut_val *limits = yyjson_mut_obj_add_arr(doc, root, "notChecked");

    for (size_t i = 0; i < n; i++)
        yyjson_mut_arr_add_str(doc, limits, list[i]);
    if (logs)
        yyjson_mut_arr_add_str(doc, limits, "requests that the audit logs do not have");
}

yyjson_doc *ek_plan_document(const struct ek_plan_target *target,
                             const struct ek_plan_report *report,
                             const struct ek_plan_counts *counts, yyjson_mut_doc *doc,
                             yyjson_mut_val *steps, yyjson_mut_val *audit)
{
    yyjson_mut_val *root = yyjson_mut_obj(doc), *v;
    char text[EK_MINOR_SIZE];

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "verdict", verdict(report));
    if (target->from.known)
        yyjson_mut_obj_add_strcpy(doc, root, "from", ek_minor_format(target->from, text));
    yyjson_mut_obj_add_strcpy(doc, root, "to", ek_minor_format(target->to, text));
    v = yyjson_mut_obj_add_obj(doc, root, "data");
    yyjson_mut_obj_add_strcpy(doc, v, "version", target->data->binary_version);
    yyjson_mut_obj_add_strcpy(doc, v, "recorded", target->data->recorded);
    ek_plan_add_blocks(report, doc, yyjson_mut_obj_get(steps, "steps"));
    add_members(doc, root, steps);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "findings");
    for (size_t i = 0; i < report->n; i++)
        add_finding(doc, list, &report->list[i]);
    v = yyjson_mut_obj_add_obj(doc, root, "summary");
    for (size_t i = 0; i < EK_PLAN_SEVERITY_MAX; i++)
        yyjson_mut_obj_add_uint(doc, v, ek_plan_severity_name((enum ek_plan_severity)i),
                                ek_plan_report_count(report, (enum ek_plan_severity)i));
    if (audit)
        yyjson_mut_obj_add_val(doc, root, "audit", audit);
    add_limits(doc, root, counts != NULL, audit != NULL);
    if (counts) {
        yyjson_mut_obj_add_uint(doc, v, "objects", counts->objects);
        yyjson_mut_obj_add_uint(doc, v, "otherObjects", counts->others);
        yyjson_mut_obj_add_uint(doc, v, "skippedDocuments", counts->skipped);
    }
    return yyjson_mut_doc_imut_copy(doc, NULL);
}

/* ---- Text ---- */

static uint64_t number(yyjson_val *v, const char *name)
{
    return yyjson_get_uint(yyjson_obj_get(v, name));
}

char *ek_plan_place(yyjson_val *finding)
{
    const char *source = ek_json_text(finding, "source");
    uint64_t line = number(finding, "line");

    return line ? ek_xasprintf("%s:%u", source, (unsigned)line)
                : ek_xstrdup(*source ? source : "-");
}

static enum ek_cell_style style_of(const char *severity)
{
    return !strcmp(severity, "error")     ? EK_CELL_BAD
           : !strcmp(severity, "warning") ? EK_CELL_WARN
           : !strcmp(severity, "fixed")   ? EK_CELL_GOOD
                                          : EK_CELL_FAINT;
}

static void write_verdict(yyjson_val *root, struct ek_buf *out)
{
    yyjson_val *data = yyjson_obj_get(root, "data");
    const char *from = ek_json_text(root, "from");

    ek_quote_printf(out, "%s: %s%s%s (data of Kubernetes %s, recorded %s)\n",
                    ek_json_text(root, "verdict"), from, *from ? " to " : "to ",
                    ek_json_text(root, "to"), ek_json_text(data, "version"),
                    ek_json_text(data, "recorded"));
}

static void put_count(struct ek_buf *out, uint64_t n, const char *one, const char *many)
{
    bool first = !out->len || out->data[out->len - 1] == '\n';

    ek_buf_printf(out, "%s%" PRIu64 "%s", first ? "" : ", ", n, n == 1 ? one : many);
}

void ek_plan_put_summary(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *s = yyjson_obj_get(root, "summary");

    put_count(out, number(s, "error"), " error", " errors");
    put_count(out, number(s, "unknown"), " unknown", " unknown");
    put_count(out, number(s, "warning"), " warning", " warnings");
    if (number(s, "fixed"))
        put_count(out, number(s, "fixed"), " fixed", " fixed");
    if (yyjson_obj_get(s, "objects")) {
        put_count(out, number(s, "objects"), " object checked", " objects checked");
        put_count(out, number(s, "otherObjects"), " of another kind", " of other kinds");
        put_count(out, number(s, "skippedDocuments"), " document without a kind",
                  " documents without a kind");
    }
    if (yyjson_obj_get(root, "audit"))
        put_count(out, number(yyjson_obj_get(root, "audit"), "events"), " audit event",
                  " audit events");
    ek_buf_puts(out, "\n");
}

void ek_plan_put_limits(struct ek_buf *out, yyjson_val *root)
{
    yyjson_val *limit;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "notChecked"), i, n, limit)
    {
        ek_quote_printf(out, "%s%s", i ? "; " : "Not checked: ", yyjson_get_str(limit));
    }
    ek_buf_puts(out, ".");
}

static unsigned count(yyjson_val *changes, const char *name)
{
    return (unsigned)yyjson_arr_size(yyjson_obj_get(changes, name));
}

const char *ek_plan_changes_of(yyjson_val *step, char *buf, size_t size)
{
    yyjson_val *v = yyjson_obj_get(step, "changes");

    if (!v)
        return "";
    int n = snprintf(buf, size, "gates: %u, APIs served: +%u -%u", count(v, "featureGates"),
                     count(v, "served"), count(v, "notServed"));
    if (yyjson_obj_get(v, "stored") && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, ", storage versions: %u", count(v, "stored"));
    return buf;
}

static void write_steps(yyjson_val *root, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"step",    "component", "change",
                                          "from",    "to",        "ends the way back to",
                                          "changes", "findings",  "first"};
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *step;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "steps"), i, n, step)
    {
        char at[24], changes[128], blocks[64], first[512];
        snprintf(at, sizeof at, "%zu", i + 1);
        const char *cells[] = {at,
                               ek_json_text(step, "component"),
                               ek_json_text(step, "change"),
                               ek_json_text(step, "from"),
                               ek_json_text(step, "to"),
                               ek_json_text(step, "endsWayBackTo"),
                               ek_plan_changes_of(step, changes, sizeof changes),
                               ek_plan_blocks_of(step, blocks, sizeof blocks),
                               ek_plan_first_of(step, first, sizeof first)};
        ek_text_table_row(table, cells);
    }
    if (!ek_text_table_size(table))
        return;
    ek_buf_puts(out, "\n");
    ek_text_table_write(table, color, out);
}

static bool has_rule(yyjson_val *root, const char *rule)
{
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding)
    {
        if (!strcmp(ek_json_text(finding, "rule"), rule))
            return true;
    }
    return false;
}

void ek_plan_put_way_back(struct ek_buf *out, yyjson_val *root)
{
    struct ek_minor from = ek_minor_parse(ek_json_text(root, "from"));
    yyjson_val *steps = yyjson_obj_get(root, "steps"), *step;
    char at[EK_MINOR_SIZE], oldest[EK_MINOR_SIZE];
    size_t i, n;

    if (yyjson_obj_get(root, "wayBackTo")) {
        ek_buf_printf(out,
                      "The way back ends at %s, the highest minimum compatibility version "
                      "of the API servers.\n",
                      ek_json_text(root, "wayBackTo"));
        return;
    }
    if (!from.known || !yyjson_arr_size(steps))
        return;
    ek_minor_format(from, at);
    if (ek_minor_cmp(from, EK_STEPS_OLDEST_WAY_BACK) < 0) {
        ek_buf_printf(out,
                      "API servers have no way back to %s by their emulation version: no binary "
                      "emulates a version below %s.\n",
                      at, ek_minor_format(EK_STEPS_OLDEST_WAY_BACK, oldest));
        return;
    }
    yyjson_arr_foreach(steps, i, n, step)
    {
        struct ek_minor lost = ek_minor_parse(ek_json_text(step, "endsWayBackTo"));
        if (lost.known && ek_minor_cmp(lost, from) >= 0) {
            ek_buf_printf(out,
                          "Point of no return: after step %zu, API servers cannot go back to "
                          "%s.\n",
                          i + 1, at);
            return;
        }
    }
    ek_buf_printf(out, "API servers can go back to %s after the last step%s.\n", at,
                  has_rule(root, "flag-rollback")
                      ? ", once the flags of the findings flag-rollback are changed"
                      : "");
}

static int write_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"severity", "place",   "object",
                                          "field",    "message", "remedy"};
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
    yyjson_val *finding;
    size_t i, n;

    (void)ctx;
    write_verdict(root, out);
    write_steps(root, color, out);
    ek_plan_put_way_back(out, root);
    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding)
    {
        EK_AUTOFREE char *place = ek_plan_place(finding);
        const char *cells[] = {ek_json_text(finding, "severity"), place,
                               ek_json_text(finding, "object"),   ek_json_text(finding, "field"),
                               ek_json_text(finding, "message"),  ek_json_text(finding, "remedy")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 0, style_of(cells[0]));
    }
    if (ek_text_table_size(table)) {
        ek_buf_puts(out, "\n");
        ek_text_table_write(table, color, out);
    }
    ek_buf_puts(out, "\n");
    ek_plan_put_summary(out, root);
    ek_plan_put_limits(out, root);
    ek_buf_puts(out, "\n");
    return out->failed;
}

int ek_plan_print(const struct ek_plan_options *options, yyjson_val *root)
{
    struct ek_print_options print = options->print;

    if (!strcmp(print.output, "markdown"))
        return ek_print(&print, root, ek_plan_markdown, NULL);
    if (!strcmp(print.output, "html")) {
        int64_t now_ms = ek_wall_ms();
        return ek_print(&print, root, ek_plan_html, &now_ms);
    }
    if (strcmp(print.output, "sarif") != 0)
        return ek_print(&print, root, write_table, NULL);
    yyjson_doc *doc = ek_plan_sarif(root);
    print.output = "json";
    int code = ek_print(&print, yyjson_doc_get_root(doc), write_table, NULL);
    yyjson_doc_free(doc);
    return code;
}
