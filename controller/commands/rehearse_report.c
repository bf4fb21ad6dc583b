/* SPDX-License-Identifier: Apache-2.0 */
/* A rehearsal as data and as tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/line.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "controller/cli/output.h"
#include "controller/commands/rehearse-internal.h"

int ek_rehearse_exit(const struct ek_rehearse_result *result)
{
    bool whole = !result->report.dropped;

    for (size_t i = 0; i < result->n_steps; i++)
        whole = whole && result->steps[i].reached;
    for (size_t i = 0; i < result->report.n; i++)
        whole = whole && !ek_rehearse_is_gap(&result->report.list[i]);
    if (ek_rehearse_report_count(&result->report, EK_REHEARSE_ERROR))
        return EK_EXIT_VIOLATIONS;
    return whole ? EK_EXIT_OK : EK_EXIT_FAILED;
}

/* ---- Data ---- */

static void add_version(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *name,
                        struct ek_minor version)
{
    char text[EK_MINOR_SIZE];

    yyjson_mut_obj_add_strcpy(doc, v, name, ek_minor_format(version, text));
}

static void add_size(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *name, size_t n)
{
    yyjson_mut_obj_add_uint(doc, v, name, n);
}

static void add_differences(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *name,
                            const struct ek_rehearse_differences *list, const char *a,
                            const char *b)
{
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, v, name);

    for (size_t i = 0; i < list->n; i++) {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, array);
        yyjson_mut_obj_add_str(doc, one, "what", list->list[i].what);
        yyjson_mut_obj_add_str(doc, one, "name", list->list[i].name);
        yyjson_mut_obj_add_str(doc, one, a, list->list[i].a);
        yyjson_mut_obj_add_str(doc, one, b, list->list[i].b);
    }
}

static void add_refused(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_rehearse_outcome *o)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, v, "refused");

    for (size_t i = 0; i < o->n_refused; i++) {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, one, "message", o->refused[i].sentence);
        yyjson_mut_obj_add_str(doc, one, "takenOut", o->refused[i].dropped);
        yyjson_mut_obj_add_bool(doc, one, "predicted", o->refused[i].predicted);
    }
}

static void add_plan(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_rehearse_outcome *o)
{
    yyjson_mut_val *plan = yyjson_mut_obj_add_obj(doc, v, "plan");
    yyjson_mut_val *missed = yyjson_mut_obj_add_arr(doc, plan, "refusalsThatDidNotCome");

    yyjson_mut_obj_add_bool(doc, plan, "compared", o->predicted);
    for (size_t i = 0; i < o->n_missed; i++)
        yyjson_mut_arr_add_str(doc, missed, o->missed[i]);
    add_size(doc, plan, "same", o->plan.same);
    add_differences(doc, plan, "differences", &o->plan, "plan", "server");
}

static void add_counts(yyjson_mut_doc *doc, yyjson_mut_val *v,
                       const struct ek_rehearse_counts *counts)
{
    add_size(doc, v, "kinds", counts->kinds);
    add_size(doc, v, "objects", counts->objects);
    add_size(doc, v, "updates", counts->updates);
    add_size(doc, v, "creates", counts->creates);
    add_size(doc, v, "rewritten", counts->rewritten);
    add_size(doc, v, "notTried", counts->not_tried);
    add_size(doc, v, "encrypted", counts->encrypted);
    add_size(doc, v, "notShown", counts->not_shown);
}

static void add_step(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_rehearse_outcome *o)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list), *log;

    yyjson_mut_obj_add_str(doc, v, "change", ek_rehearse_change_name(o->step.change));
    yyjson_mut_obj_add_bool(doc, v, "oldBinary", o->step.old_binary);
    add_version(doc, v, "binary", o->step.binary);
    add_version(doc, v, "emulation", o->step.emulation);
    add_version(doc, v, "minCompatibility", o->step.min_compat);
    yyjson_mut_obj_add_bool(doc, v, "reached", o->reached);
    yyjson_mut_obj_add_bool(doc, v, "started", o->started);
    yyjson_mut_obj_add_bool(doc, v, "ready", o->ready);
    yyjson_mut_obj_add_str(doc, v, "failure", o->failure);
    yyjson_mut_obj_add_int(doc, v, "startMilliseconds", o->start_ms);
    yyjson_mut_obj_add_int(doc, v, "surveyMilliseconds", o->survey_ms);
    add_refused(doc, v, o);
    log = yyjson_mut_obj_add_arr(doc, v, "log");
    for (size_t i = 0; i < o->n_log; i++)
        yyjson_mut_arr_add_str(doc, log, o->log[i]);
    add_counts(doc, v, &o->counts);
    add_differences(doc, v, "changes", &o->changes, "before", "after");
    add_plan(doc, v, o);
}

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list,
                        const struct ek_rehearse_finding *f)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list), *steps;

    yyjson_mut_obj_add_str(doc, v, "severity", ek_rehearse_severity_name(f->severity));
    yyjson_mut_obj_add_str(doc, v, "rule", f->rule);
    yyjson_mut_obj_add_str(doc, v, "object", f->object);
    yyjson_mut_obj_add_str(doc, v, "message", f->message);
    yyjson_mut_obj_add_bool(doc, v, "soBefore", f->before);
    steps = yyjson_mut_obj_add_arr(doc, v, "steps");
    for (unsigned i = 0; i < EK_REHEARSE_STEPS_MAX; i++)
        if (f->steps & (1U << i))
            yyjson_mut_arr_add_uint(doc, steps, i + 1);
}

static void add_findings(yyjson_mut_doc *doc, yyjson_mut_val *root,
                         const struct ek_rehearse_report *report)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "findings"), *summary;

    for (int severity = 0; severity < EK_REHEARSE_SEVERITY_MAX; severity++)
        for (size_t i = 0; i < report->n; i++)
            if (report->list[i].severity == (enum ek_rehearse_severity)severity)
                add_finding(doc, list, &report->list[i]);
    summary = yyjson_mut_obj_add_obj(doc, root, "summary");
    for (int severity = 0; severity < EK_REHEARSE_SEVERITY_MAX; severity++)
        add_size(doc, summary, ek_rehearse_severity_name((enum ek_rehearse_severity)severity),
                 ek_rehearse_report_count(report, (enum ek_rehearse_severity)severity));
    add_size(doc, summary, "dropped", report->dropped);
}

static void add_network(yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct ek_rehearse_result *result)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, root, "network");

    yyjson_mut_obj_add_bool(doc, v, "ownNamespace", result->isolated);
    yyjson_mut_obj_add_str(doc, v, "why", result->not_isolated);
    if (!result->isolated)
        return;
    add_size(doc, v, "interfaces", result->traffic.interfaces);
    add_size(doc, v, "packetsSent", result->traffic.sent);
    add_size(doc, v, "attemptsWithoutRoute", result->traffic.no_route);
}

static void add_removed(yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct ek_rehearse_flags *flags)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "removedFlags");

    for (size_t i = 0; i < flags->n_removed; i++) {
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, v, "flag", flags->removed[i].flag);
        yyjson_mut_obj_add_str(doc, v, "why", flags->removed[i].why);
    }
}

static void add_limits(yyjson_mut_doc *doc, yyjson_mut_val *root,
                       const struct ek_rehearse_result *result)
{
    static const char *const limits[] = {
        "admission and conversion webhooks, and aggregated API servers: none is called",
        "controllers, schedulers, kubelets and other clients: none runs",
        "the load of the cluster, and how long its API servers take",
        "flags that were removed, and files that they name",
        "objects beyond the sample of --dry-runs, in updates and creations",
    };
    static const char *const of_copy[] = {
        "changes after a kind was read, and while the kinds were read one after the other",
        "how objects are stored: each is in the version in which the cluster's API returned it",
        "objects that the cluster's API does not return",
        "resources that --resources does not name",
        "the values of Secrets, without --secret-values",
    };
    static const char *const of_snapshot = "changes after the snapshot was taken";
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "cannotShow");

    for (size_t i = 0; i < EK_ARRAY_SIZE(limits); i++)
        yyjson_mut_arr_add_str(doc, list, limits[i]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(of_copy) && *result->copied.server; i++)
        yyjson_mut_arr_add_str(doc, list, of_copy[i]);
    if (!*result->copied.server)
        yyjson_mut_arr_add_str(doc, list, of_snapshot);
}

yyjson_doc *ek_rehearse_document(const struct ek_rehearse_result *result)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *steps;
    int code = ek_rehearse_exit(result);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "verdict",
                           code == EK_EXIT_VIOLATIONS ? "Breaks"
                           : code                     ? "Incomplete"
                                                      : "Clean");
    add_version(doc, root, "from", result->route.from);
    add_version(doc, root, "to", result->route.binary);
    yyjson_mut_obj_add_str(doc, root, "kubeAPIServer", result->binary);
    yyjson_mut_obj_add_str(doc, root, "kubeAPIServerOld", result->old_binary);
    yyjson_mut_obj_add_str(doc, root, "cluster", result->copied.server);
    add_size(doc, root, "storedObjects", result->stored);
    add_size(doc, root, "storedKinds", result->n_folders);
    yyjson_mut_obj_add_int(doc, root, "milliseconds", result->elapsed_ms);
    add_network(doc, root, result);
    steps = yyjson_mut_obj_add_arr(doc, root, "steps");
    for (size_t i = 0; i < result->n_steps; i++)
        add_step(doc, steps, &result->steps[i]);
    add_findings(doc, root, &result->report);
    add_removed(doc, root, &result->flags);
    add_limits(doc, root, result);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, &ek_json_xalc);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* ---- Tables ---- */

static uint64_t number(yyjson_val *v, const char *name)
{
    return yyjson_get_uint(yyjson_obj_get(v, name));
}

static bool is_true(yyjson_val *v, const char *name)
{
    return yyjson_get_bool(yyjson_obj_get(v, name));
}

static enum ek_cell_style style_of(const char *severity)
{
    return !strcmp(severity, "error")     ? EK_CELL_BAD
           : !strcmp(severity, "warning") ? EK_CELL_WARN
                                          : EK_CELL_FAINT;
}

const char *ek_rehearse_plan_text(yyjson_val *step, char *buf, size_t size)
{
    yyjson_val *plan = yyjson_obj_get(step, "plan");
    size_t differences = yyjson_arr_size(yyjson_obj_get(plan, "differences")) +
                         yyjson_arr_size(yyjson_obj_get(plan, "refusalsThatDidNotCome"));

    if (!is_true(plan, "compared"))
        return "not compared";
    snprintf(buf, size, "%" PRIu64 " same, %zu different", number(plan, "same"), differences);
    return buf;
}

static void write_steps(yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "step", "change", "binary", "emulation", "min compatibility", "server",
                  "objects", "updates", "creates", "changes", "plan");
    yyjson_val *step;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "steps"), i, n, step)
    {
        char at[24], objects[24], updates[24], creates[24], changes[24], plan[80];
        const char *state = !is_true(step, "reached")   ? "not reached"
                            : !is_true(step, "started") ? "does not start"
                            : !is_true(step, "ready")   ? "not ready"
                            : yyjson_arr_size(yyjson_obj_get(step, "refused"))
                                ? "starts with fewer flags"
                                : "ready";
        snprintf(at, sizeof at, "%zu", i + 1);
        snprintf(objects, sizeof objects, "%" PRIu64, number(step, "objects"));
        snprintf(updates, sizeof updates, "%" PRIu64, number(step, "updates"));
        snprintf(creates, sizeof creates, "%" PRIu64, number(step, "creates"));
        snprintf(changes, sizeof changes, "%zu", yyjson_arr_size(yyjson_obj_get(step, "changes")));
        const char *cells[] = {at,
                               ek_json_text(step, "change"),
                               ek_json_text(step, "binary"),
                               ek_json_text(step, "emulation"),
                               ek_json_text(step, "minCompatibility"),
                               state,
                               objects,
                               updates,
                               creates,
                               changes,
                               ek_rehearse_plan_text(step, plan, sizeof plan)};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 5, strcmp(state, "ready") != 0 ? EK_CELL_BAD : EK_CELL_GOOD);
    }
    ek_buf_puts(out, "\n");
    ek_text_table_write(table, color, out);
}

static void write_findings(yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "severity", "rule", "steps", "object", "message");
    yyjson_val *f, *step;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, f)
    {
        EK_AUTO(ek_buf) steps;
        ek_buf_init(&steps, EK_BUF_SMALL_MAX);
        yyjson_arr_foreach(yyjson_obj_get(f, "steps"), k, m, step)
        {
            ek_buf_printf(&steps, "%s%" PRIu64, k ? "," : "", yyjson_get_uint(step));
        }
        const char *cells[] = {ek_json_text(f, "severity"), ek_json_text(f, "rule"),
                               ek_buf_str(&steps), ek_json_text(f, "object"),
                               ek_json_text(f, "message")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 0, style_of(cells[0]));
    }
    if (!ek_text_table_size(table))
        return;
    ek_buf_puts(out, "\n");
    ek_text_table_write(table, color, out);
}

static void write_differences(yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "step", "what", "name", "plan", "server");
    yyjson_val *step, *d;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(root, "steps"), i, n, step)
    {
        yyjson_val *plan = yyjson_obj_get(step, "plan");
        char at[24];
        snprintf(at, sizeof at, "%zu", i + 1);
        yyjson_arr_foreach(yyjson_obj_get(plan, "refusalsThatDidNotCome"), k, m, d)
        {
            const char *cells[] = {at, "start", yyjson_get_str(d), "refused", "not refused"};
            ek_text_table_row(table, cells);
        }
        yyjson_arr_foreach(yyjson_obj_get(plan, "differences"), k, m, d)
        {
            const char *cells[] = {at, ek_json_text(d, "what"), ek_json_text(d, "name"),
                                   ek_json_text(d, "plan"), ek_json_text(d, "server")};
            ek_text_table_row(table, cells);
        }
    }
    if (!ek_text_table_size(table))
        return;
    ek_buf_puts(out, "\nWhere evenkeel plan and the server differ:\n");
    ek_text_table_write(table, color, out);
}

static void write_removed(yyjson_val *root, bool color, struct ek_buf *out)
{
    EK_TEXT_TABLE(table, "removed flag", "why");
    yyjson_val *f;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "removedFlags"), i, n, f)
    {
        const char *cells[] = {ek_json_text(f, "flag"), ek_json_text(f, "why")};
        ek_text_table_row(table, cells);
    }
    if (!ek_text_table_size(table))
        return;
    ek_buf_puts(out, "\n");
    ek_text_table_write(table, color, out);
}

static void write_logs(yyjson_val *root, struct ek_buf *out)
{
    yyjson_val *step, *line;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(root, "steps"), i, n, step)
    {
        yyjson_val *log = yyjson_obj_get(step, "log");
        if (yyjson_arr_size(log))
            ek_buf_printf(out, "\nThe last lines of the server of step %zu:\n", i + 1);
        yyjson_arr_foreach(log, k, m, line)
        {
            char text[EK_REHEARSE_LINE_MAX];
            ek_line_copy(yyjson_get_str(line), yyjson_get_len(line), text, sizeof text);
            ek_quote_printf(out, "    %s\n", text);
        }
    }
}

static void write_end(yyjson_val *root, struct ek_buf *out)
{
    yyjson_val *summary = yyjson_obj_get(root, "summary"), *limit;
    yyjson_val *network = yyjson_obj_get(root, "network");
    size_t i, n;

    ek_buf_printf(out, "\n%" PRIu64 " errors, %" PRIu64 " warnings, %" PRIu64 " unknown\n",
                  number(summary, "error"), number(summary, "warning"), number(summary, "unknown"));
    if (number(summary, "dropped"))
        ek_buf_printf(out, "%" PRIu64 " more findings are not shown.\n",
                      number(summary, "dropped"));
    if (is_true(network, "ownNamespace"))
        ek_buf_printf(out,
                      "The servers ran in a network namespace of their own: %" PRIu64
                      " packets left it, %" PRIu64 " attempts had no route.\n",
                      number(network, "packetsSent"), number(network, "attemptsWithoutRoute"));
    else
        ek_quote_printf(out,
                        "The servers listened on the loopback address alone; the system "
                        "permits no network namespace (%s).\n",
                        ek_json_text(network, "why"));
    ek_buf_puts(out, "A rehearsal cannot show:\n");
    yyjson_arr_foreach(yyjson_obj_get(root, "cannotShow"), i, n, limit)
    {
        ek_buf_printf(out, "    %s\n", yyjson_get_str(limit));
    }
}

int ek_rehearse_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    char time[EK_TIME_SIZE];

    (void)ctx;
    const char *cluster = ek_json_text(root, "cluster");

    ek_quote_printf(out, "%s: %s to %s (%s, %" PRIu64 " stored objects%s%s, %s)\n",
                    ek_json_text(root, "verdict"), ek_json_text(root, "from"),
                    ek_json_text(root, "to"), ek_json_text(root, "kubeAPIServer"),
                    number(root, "storedObjects"), *cluster ? " of " : "", cluster,
                    ek_duration_human(yyjson_get_sint(yyjson_obj_get(root, "milliseconds")), time));
    write_steps(root, color, out);
    write_findings(root, color, out);
    write_logs(root, out);
    write_differences(root, color, out);
    write_removed(root, color, out);
    write_end(root, out);
    return out->failed;
}
