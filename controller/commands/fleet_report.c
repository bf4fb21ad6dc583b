/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/fleet_report.h"

#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/output.h"
#include "controller/page/page.h"
#include "controller/skew/report.h"

/* The classes of clusters, the worst first. */
static const struct class
{
    int code;
    enum ek_cell_style style;
    const char *verdict; /* of the whole, for the page */
    const char *text;    /* behind the number of clusters */
} classes[] = {
    {EK_EXIT_VIOLATIONS, EK_CELL_BAD, "Unsupported", "with violations"},
    {EK_EXIT_FAILED, EK_CELL_BAD, "NotRead", "not read"},
    {EK_EXIT_UNKNOWN, EK_CELL_WARN, "Unknown", "with unknown versions"},
    {EK_EXIT_OK, EK_CELL_GOOD, "Supported", "supported"},
};

#define FAILED 1 /* the class of a code that is none */

static size_t class_of(int code)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(classes); i++)
        if (classes[i].code == code)
            return i;
    return FAILED;
}

int ek_fleet_exit_code(const struct ek_fleet_cluster *clusters, size_t n)
{
    size_t worst = class_of(EK_EXIT_OK);

    for (size_t i = 0; i < n; i++)
        if (class_of(clusters[i].exit_code) < worst)
            worst = class_of(clusters[i].exit_code);
    return classes[worst].code;
}

struct ek_obj *ek_fleet_object(const struct ek_fleet_cluster *clusters, size_t n)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_int(doc, root, "exitCode", ek_fleet_exit_code(clusters, n));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "clusters");
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, row, "cluster", clusters[i].name);
        yyjson_mut_obj_add_int(doc, row, "exitCode", clusters[i].exit_code);
        if (*clusters[i].error)
            yyjson_mut_obj_add_str(doc, row, "error", clusters[i].error);
        if (clusters[i].control_plane)
            yyjson_mut_obj_add_val(
                doc, row, "controlPlane",
                yyjson_val_mut_copy(doc, ek_obj_root(clusters[i].control_plane)));
    }
    struct ek_obj *object = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return object;
}

/* ---- Forms ---- */

static const char *or_dash(const char *s)
{
    return *s ? s : "-";
}

/* What a row's Ready says besides the verdict on its skew: EK_CELL_BAD that the control plane is
 * not ready, EK_CELL_WARN that this is not known, EK_CELL_PLAIN nothing. */
static enum ek_cell_style readiness_of(yyjson_val *row)
{
    EK_AUTO(ek_skew_headline)
    headline = ek_skew_headline(ek_json_get(row, "controlPlane", "status", NULL));
    return *headline.why ? headline.style : EK_CELL_PLAIN;
}

/* "1 with violations, 1 not read, 2 supported (1 not ready)"; what no cluster is, is left out. */
static char *summary_of(yyjson_val *root)
{
    EK_AUTO(ek_buf) out;
    size_t counts[EK_ARRAY_SIZE(classes)] = {0}, unready[EK_ARRAY_SIZE(classes)] = {0};
    yyjson_val *row;
    size_t i, n;

    ek_buf_init(&out, 512);
    yyjson_arr_foreach(yyjson_obj_get(root, "clusters"), i, n, row)
    {
        size_t class = class_of((int)yyjson_get_int(yyjson_obj_get(row, "exitCode")));
        counts[class]++;
        unready[class] += readiness_of(row) == EK_CELL_BAD;
    }
    for (size_t c = 0; c < EK_ARRAY_SIZE(classes); c++) {
        if (counts[c])
            ek_buf_printf(&out, "%s%zu %s", out.len ? ", " : "", counts[c], classes[c].text);
        if (unready[c])
            ek_buf_printf(&out, " (%zu not ready)", unready[c]);
    }
    return ek_xstrdup(out.len ? ek_buf_str(&out) : "none");
}

/* Why a row is as it is: the error, what Ready says, or the first of what could not be seen. */
static const char *reason_of(yyjson_val *row, yyjson_val *status, int code, const char *why)
{
    const char *problem = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(status, "problems")));

    if (*ek_json_text(row, "error"))
        return ek_json_text(row, "error");
    return *why ? why : code == EK_EXIT_UNKNOWN && problem ? problem : "";
}

static const char *number(yyjson_val *summary, const char *name, char buf[32])
{
    yyjson_val *value = yyjson_obj_get(summary, name);

    snprintf(buf, 32, "%lld", (long long)yyjson_get_sint(value));
    return value ? buf : "-";
}

static void fill_clusters(struct ek_text_table *table, yyjson_val *root)
{
    yyjson_val *row;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "clusters"), i, n, row)
    {
        char violations[32], unknown[32], code_text[32];
        int code = (int)yyjson_get_int(yyjson_obj_get(row, "exitCode"));
        const struct class *class = &classes[class_of(code)];
        yyjson_val *status = ek_json_get(row, "controlPlane", "status", NULL);
        yyjson_val *summary = yyjson_obj_get(status, "summary");
        EK_AUTO(ek_skew_headline) headline = ek_skew_headline(status);
        snprintf(code_text, sizeof code_text, "%d", code);
        const char *cells[] = {
            ek_json_text(row, "cluster"),
            summary ? headline.words : class->verdict,
            or_dash(ek_json_text(summary, "peers")),
            or_dash(ek_json_text(summary, "versions")),
            number(summary, "violations", violations),
            number(summary, "unknown", unknown),
            code_text,
            or_dash(reason_of(row, status, code, headline.why)),
        };
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 1, summary ? headline.style : class->style);
    }
}

static void fill_violations(struct ek_text_table *table, yyjson_val *root)
{
    yyjson_val *row, *one;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(root, "clusters"), i, n, row)
    {
        yyjson_arr_foreach(ek_json_get(row, "controlPlane", "status", "violations", NULL), k, m,
                           one)
        {
            const char *cells[] = {ek_json_text(row, "cluster"), ek_json_text(one, "rule"),
                                   ek_json_text(one, "instance"), ek_json_text(one, "message")};
            ek_text_table_row(table, cells);
            ek_text_table_style(table, 1, EK_CELL_BAD);
        }
    }
}

/* The verdict on all clusters, the worst of them. */
static struct class class_of_all(yyjson_val *root)
{
    struct class worst = classes[class_of((int)yyjson_get_int(yyjson_obj_get(root, "exitCode")))];
    yyjson_val *row;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "clusters"), i, n, row)
    {
        enum ek_cell_style readiness = readiness_of(row);
        if (worst.code != EK_EXIT_OK || worst.style == EK_CELL_BAD || readiness == EK_CELL_PLAIN)
            continue;
        worst = (struct class){EK_EXIT_OK, readiness,
                               readiness == EK_CELL_BAD ? "Not ready" : "Readiness unknown", ""};
    }
    return worst;
}

#define CLUSTER_COLUMNS                                                                            \
    "cluster", "verdict", "peers", "versions", "violations", "unknown", "exit code", "reason"
#define VIOLATION_COLUMNS "cluster", "rule", "instance", "message"

int ek_fleet_report(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(clusters, CLUSTER_COLUMNS);
    EK_TEXT_TABLE(violations, VIOLATION_COLUMNS);
    EK_AUTOFREE char *summary = summary_of(root);

    (void)ctx;
    fill_clusters(clusters, root);
    fill_violations(violations, root);
    ek_buf_printf(out, "Clusters: %s\n\n", summary);
    ek_text_table_write(clusters, color, out);
    if (ek_text_table_size(violations)) {
        ek_buf_puts(out, "\nVIOLATIONS\n");
        ek_text_table_write(violations, color, out);
    }
    return out->failed;
}

int ek_fleet_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(clusters, CLUSTER_COLUMNS);
    EK_TEXT_TABLE(violations, VIOLATION_COLUMNS);
    const struct class class = class_of_all(root);
    const int64_t *at_ms = ctx;
    EK_AUTOFREE char *summary = summary_of(root);
    EK_AUTOFREE char *title = ek_xasprintf("%s: version skew of clusters", class.verdict);

    (void)color;
    fill_clusters(clusters, root);
    fill_violations(violations, root);
    ek_page_begin(out, title);
    ek_page_banner(out, class.style, class.verdict, "Version skew of clusters", summary);
    ek_page_text_table(out, "Clusters", clusters);
    if (ek_text_table_size(violations))
        ek_page_text_table(out, "Violations", violations);
    ek_page_end(out, "", *at_ms);
    return out->failed;
}
