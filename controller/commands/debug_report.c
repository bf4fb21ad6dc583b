/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/debug_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/version.h"
#include "controller/cli/output.h"

struct report {
    yyjson_val *answer;
    const char *now;
    const char *only; /* NULL for everything */
    bool overview, color;
    struct ek_buf *out;
};

static const char *str(yyjson_val *v, const char *name)
{
    const char *s = ek_json_str(v, name, NULL);
    return s ? s : "";
}

static const char *or_dash(const char *s)
{
    return *s ? s : "-";
}

/* A cell made of a number or a truth. */
struct cell {
    char text[EK_TIME_SIZE];
};

static const char *number(yyjson_val *v, const char *name, struct cell *cell)
{
    yyjson_val *n = yyjson_obj_get(v, name);

    if (yyjson_is_sint(n))
        snprintf(cell->text, sizeof cell->text, "%" PRId64, yyjson_get_sint(n));
    else if (yyjson_is_uint(n))
        snprintf(cell->text, sizeof cell->text, "%" PRIu64, yyjson_get_uint(n));
    else
        snprintf(cell->text, sizeof cell->text, "-");
    return cell->text;
}

static const char *yes_no(yyjson_val *v, const char *name)
{
    yyjson_val *b = yyjson_obj_get(v, name);
    return yyjson_is_true(b) ? "yes" : yyjson_is_false(b) ? "no" : "-";
}

static const char *ago(const struct report *r, yyjson_val *v, const char *name, struct cell *cell)
{
    return ek_debug_age(str(v, name), r->now, cell->text, sizeof cell->text);
}

static const char *until(const struct report *r, yyjson_val *v, const char *name, struct cell *cell)
{
    return ek_debug_age(r->now, str(v, name), cell->text, sizeof cell->text);
}

static const char *mebibytes(yyjson_val *v, const char *name, struct cell *cell)
{
    double n = (double)yyjson_get_uint(yyjson_obj_get(v, name)) / (1 << 20);
    snprintf(cell->text, sizeof cell->text, "%.1f MiB", n);
    return cell->text;
}

static void put_table(const struct report *r, const char *title, const struct ek_text_table *table)
{
    if (ek_text_table_size(table) == 0)
        return;
    ek_buf_puts(r->out, r->out->len ? "\n" : "");
    ek_quote_printf(r->out, "%s\n", title);
    ek_text_table_write(table, r->color, r->out);
}

/* --- lists of names and values ------------------------------------------------------------ */

static void fact(struct ek_text_table *table, const char *name, const char *value)
{
    const char *cells[] = {name, value};

    if (strcmp(value, "-") != 0 && *value)
        ek_text_table_row(table, cells);
}

static struct ek_text_table *facts(void)
{
    static const char *const headers[] = {"what", "value"};
    return ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
}

static void report_process(const struct report *r)
{
    yyjson_val *p = yyjson_obj_get(r->answer, "process"), *loop = yyjson_obj_get(p, "loop");
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table = facts();
    struct cell c;
    char text[128];

    if (!p)
        return;
    fact(table, "version", str(p, "version"));
    fact(table, "identity", str(p, "identity"));
    fact(table, "server", str(p, "server"));
    fact(table, "pid", number(p, "pid", &c));
    fact(table, "up for", ago(r, p, "startTime", &c));
    fact(table, "resident", mebibytes(p, "residentBytes", &c));
    fact(table, "heap in use", mebibytes(p, "heapBytes", &c));
    snprintf(text, sizeof text, "%" PRIu64 " ms", yyjson_get_uint(yyjson_obj_get(p, "cpuMs")));
    fact(table, "processor time", text);
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64,
             yyjson_get_uint(yyjson_obj_get(p, "openFiles")),
             yyjson_get_uint(yyjson_obj_get(p, "maxFiles")));
    fact(table, "open files", text);
    if (loop) {
        snprintf(text, sizeof text, "%" PRIu64 " ms, %s ago",
                 yyjson_get_uint(yyjson_obj_get(loop, "longestTurnMs")),
                 ago(r, loop, "longestTurnTime", &c));
        fact(table, "longest loop turn", text);
        fact(table, "slow loop turns", number(loop, "slowTurns", &c));
    }
    put_table(r, "PROCESS", table);
}

static void report_leader(const struct report *r)
{
    yyjson_val *l = yyjson_obj_get(r->answer, "leader"), *lease = yyjson_obj_get(l, "lease");
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table = facts();
    struct cell c;
    char text[640];

    if (!l)
        return;
    fact(table, "election", yes_no(l, "election"));
    fact(table, "this replica", str(l, "identity"));
    fact(table, "leads", yes_no(l, "leads"));
    fact(table, "may write", yes_no(l, "mayWrite"));
    fact(table, "state", str(l, "state"));
    snprintf(text, sizeof text, "%s/%s", str(lease, "namespace"), str(lease, "name"));
    fact(table, "lease", lease ? text : "");
    fact(table, "holder", lease ? (*str(l, "holder") ? str(l, "holder") : "nobody") : "");
    fact(table, "lease changed", ago(r, l, "changeSeenTime", &c));
    fact(table, "leads for at least", until(r, l, "leadsUntil", &c));
    fact(table, "next try in", until(r, l, "nextTryTime", &c));
    fact(table, "transitions", number(l, "transitions", &c));
    fact(table, "failed requests", number(l, "failures", &c));
    snprintf(text, sizeof text, "%s ago: %.500s", ago(r, l, "lastFailureTime", &c),
             str(yyjson_obj_get(l, "lastFailure"), "message"));
    fact(table, "last failure", yyjson_obj_get(l, "lastFailure") ? text : "");
    put_table(r, "LEADER", table);
}

static void report_log(const struct report *r)
{
    yyjson_val *log = yyjson_obj_get(r->answer, "log");
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table = facts();
    struct cell c;

    if (!log)
        return;
    fact(table, "level", str(log, "level"));
    fact(table, "lines lost", number(log, "droppedLines", &c));
    put_table(r, "LOG", table);
}

/* --- manager ------------------------------------------------------------------------------ */

static void report_manager(const struct report *r)
{
    yyjson_val *manager = yyjson_obj_get(r->answer, "manager"), *part;
    EK_TEXT_TABLE(table, "part", "group", "state");
    char title[64];
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(manager, "parts"), i, n, part)
    {
        const char *cells[] = {str(part, "name"), str(part, "group"), str(part, "state")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 2, strcmp(cells[2], "running") ? EK_CELL_WARN : EK_CELL_GOOD);
    }
    snprintf(title, sizeof title, "MANAGER: %s", str(manager, "phase"));
    put_table(r, title, table);
}

/* --- informers ---------------------------------------------------------------------------- */

static enum ek_cell_style state_style(yyjson_val *informer)
{
    if (yyjson_obj_get(informer, "error"))
        return EK_CELL_BAD;
    return !strcmp(str(informer, "state"), "WATCHING") ? EK_CELL_GOOD : EK_CELL_WARN;
}

static bool is_asked_for(const struct report *r, yyjson_val *item, const char *name)
{
    return !r->only || !strcmp(r->only, str(item, name));
}

static void add_informer(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    struct cell in_state, next, objects, lists, watches, events, failures, last;
    char scope[200], api[160];

    snprintf(api, sizeof api, "%s%s%s", str(v, "group"), *str(v, "group") ? "/" : "",
             str(v, "version"));
    const char *of[] = {str(v, "namespace"), str(v, "labelSelector"), str(v, "fieldSelector")};
    scope[0] = '\0';
    for (size_t i = 0, len = 0; i < EK_ARRAY_SIZE(of); i++) {
        if (*of[i])
            len +=
                (size_t)snprintf(scope + len, sizeof scope - len, "%s%.60s", len ? " " : "", of[i]);
    }
    const char *cells[] = {str(v, "resource"),
                           or_dash(str(v, "controller")),
                           api,
                           or_dash(scope),
                           str(v, "state"),
                           ago(r, v, "since", &in_state),
                           until(r, v, "nextTryTime", &next),
                           yes_no(v, "synced"),
                           yes_no(v, "served"),
                           number(v, "objects", &objects),
                           or_dash(str(v, "resourceVersion")),
                           number(v, "lists", &lists),
                           number(v, "watches", &watches),
                           number(v, "events", &events),
                           number(v, "failures", &failures),
                           ago(r, v, "lastEventTime", &last)};
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 4, state_style(v));
}

static void add_failure(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    yyjson_val *failure = yyjson_obj_get(v, "lastFailure");
    struct cell when;

    /* What is wrong now stands above an overview already. */
    if (!failure || (r->overview && yyjson_obj_get(v, "error")))
        return;
    const char *cells[] = {str(v, "resource"), ago(r, v, "lastFailureTime", &when),
                           yyjson_obj_get(v, "error") ? "no" : "yes", str(failure, "reason"),
                           str(failure, "message")};
    ek_text_table_row(table, cells);
}

static void add_history(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    yyjson_val *t;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(v, "history"), i, n, t)
    {
        struct cell when;
        const char *cells[] = {str(v, "resource"), ago(r, t, "time", &when), str(t, "from"),
                               str(t, "to"),       str(t, "cause"),          str(t, "message")};
        ek_text_table_row(table, cells);
    }
}

static void report_informers(const struct report *r)
{
    EK_TEXT_TABLE(table, "resource", "controller", "version", "scope", "state", "for", "next try",
                  "synced", "served", "objects", "at", "lists", "watches", "events", "failures",
                  "last event");
    EK_TEXT_TABLE(failures, "resource", "ago", "over", "reason", "message");
    EK_TEXT_TABLE(history, "resource", "ago", "from", "to", "cause", "message");
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(r->answer, "informers"), i, n, v)
    {
        if (!is_asked_for(r, v, "resource"))
            continue;
        add_informer(r, v, table);
        add_failure(r, v, failures);
        /* The history is printed for informers with a failure, or on request by name. */
        if (!r->overview && (r->only || yyjson_obj_get(v, "error")))
            add_history(r, v, history);
    }
    put_table(r, "INFORMERS", table);
    put_table(r, "LAST FAILURES OF INFORMERS", failures);
    put_table(r, "HISTORY OF INFORMERS", history);
}

/* --- queue -------------------------------------------------------------------------------- */

static void add_keys(const struct report *r, yyjson_val *queue, struct ek_text_table *table)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(queue, "keys"), i, n, v)
    {
        struct cell since, due, priority, requeues;
        const char *from = yyjson_obj_get(v, "processingSince") ? "processingSince" : "readySince";
        const char *cells[] = {str(queue, "controller"),
                               str(v, "key"),
                               str(v, "state"),
                               ago(r, v, from, &since),
                               until(r, v, "dueTime", &due),
                               number(v, "priority", &priority),
                               number(v, "requeues", &requeues)};
        ek_text_table_row(table, cells);
    }
}

static void add_runs(const struct report *r, yyjson_val *queue, struct ek_text_table *table)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(queue, "runs"), i, n, v)
    {
        struct cell when, took;
        const char *error = ek_json_str(v, "error", "message", NULL);
        const char *cells[] = {str(queue, "controller"),
                               ago(r, v, "startTime", &when),
                               str(v, "key"),
                               str(v, "result"),
                               number(v, "tookMs", &took),
                               str(v, "id"),
                               error};
        if (r->overview && i == 5)
            break;
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 3, error ? EK_CELL_BAD : EK_CELL_GOOD);
    }
}

static void add_queue(yyjson_val *queue, struct ek_text_table *table)
{
    struct cell depth, waiting, processing, adds, retries;
    const char *cells[] = {
        str(queue, "controller"),           number(queue, "depth", &depth),
        number(queue, "waiting", &waiting), number(queue, "processing", &processing),
        number(queue, "adds", &adds),       number(queue, "retries", &retries)};

    if (yyjson_obj_get(queue, "depth"))
        ek_text_table_row(table, cells);
}

static void report_queues(const struct report *r)
{
    EK_TEXT_TABLE(table, "controller", "ready", "waiting", "processing", "adds", "delayed adds");
    EK_TEXT_TABLE(keys, "controller", "key", "state", "for", "due in", "priority", "failures");
    EK_TEXT_TABLE(runs, "controller", "ago", "key", "result", "ms", "id", "error");
    yyjson_val *queue;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(r->answer, "queues"), i, n, queue)
    {
        add_queue(queue, table);
        add_keys(r, queue, keys);
        add_runs(r, queue, runs);
    }
    if (!r->overview)
        put_table(r, "QUEUES", table);
    put_table(r, "KEYS IN THE QUEUES", keys);
    put_table(r, "LAST RECONCILES", runs);
}

/* --- the webhook -------------------------------------------------------------------------- */

static void report_authorities(const struct report *r, yyjson_val *webhook,
                               struct ek_text_table *table)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(webhook, "authorities"), i, n, v)
    {
        struct cell end;
        fact(table, "authority expires in", until(r, v, "notAfter", &end));
    }
}

static void report_snapshot(yyjson_val *snapshot, struct ek_text_table *table)
{
    yyjson_val *v;
    struct cell c;
    char name[128], text[64];
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(snapshot, "sets"), i, n, v)
    {
        snprintf(name, sizeof name, "policies of /%.100s", str(v, "name"));
        snprintf(text, sizeof text, "%" PRIu64 ", %" PRIu64 " applied",
                 yyjson_get_uint(yyjson_obj_get(v, "policies")),
                 yyjson_get_uint(yyjson_obj_get(v, "applied")));
        fact(table, name, text);
    }
    yyjson_arr_foreach(yyjson_obj_get(snapshot, "params"), i, n, v)
    {
        snprintf(name, sizeof name, "params %.50s %.60s", str(v, "apiVersion"), str(v, "kind"));
        fact(table, name,
             yyjson_obj_get(v, "objects") ? number(v, "objects", &c) : "not listed yet");
    }
    fact(table, "namespaces", number(snapshot, "namespaces", &c));
    fact(table, "schemas", number(snapshot, "schemas", &c));
}

static void report_webhook(const struct report *r)
{
    yyjson_val *webhook = yyjson_obj_get(r->answer, "webhook");
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table = facts();
    struct cell c;

    if (!webhook)
        return;
    fact(table, "ready", yes_no(webhook, "ready"));
    fact(table, "address", str(webhook, "address"));
    fact(table, "threads", number(webhook, "threads", &c));
    fact(table, "certificate expires in",
         until(r, yyjson_obj_get(webhook, "certificate"), "notAfter", &c));
    report_authorities(r, webhook, table);
    report_snapshot(yyjson_obj_get(webhook, "snapshot"), table);
    put_table(r, "WEBHOOK", table);
}

/* --- sections of subjects ----------------------------------------------------------------- */

/* A member of a section as it comes: texts plain, all else as JSON. */
static void fact_of_member(struct ek_text_table *table, yyjson_val *name, yyjson_val *value)
{
    if (yyjson_is_str(value)) {
        fact(table, yyjson_get_str(name), yyjson_get_str(value));
    } else if (yyjson_is_bool(value)) {
        fact(table, yyjson_get_str(name), yyjson_is_true(value) ? "yes" : "no");
    } else {
        char *json = yyjson_val_write_opts(value, 0, &ek_json_xalc, NULL, NULL);
        fact(table, yyjson_get_str(name), json ? json : "");
        ek_free(json);
    }
}

static void report_subjects(const struct report *r)
{
    yyjson_val *subject, *section, *name, *value;
    size_t i, n, k, m;

    ek_json_each_member(yyjson_obj_get(r->answer, "subjects"), i, n, subject, section)
    {
        EK_AUTOPTR(ek_text_table, ek_text_table_free) *table = facts();
        EK_AUTOFREE char *title = ek_xasprintf("SUBJECT %s", yyjson_get_str(subject));
        ek_json_each_member(section, k, m, name, value)
        {
            fact_of_member(table, name, value);
        }
        put_table(r, title, table);
    }
}

/* --- probe targets ------------------------------------------------------------------------ */

/* The version that a binary emulates: an older one than its own, as in the texts of check. "-" for
 * a binary that runs as itself, whether it reports so or, before 1.31, could do nothing else. */
static const char *emulated(yyjson_val *v)
{
    struct ek_minor binary = ek_minor_parse(str(v, "gitVersion"));
    struct ek_minor emulation = ek_minor_parse(str(v, "emulation"));
    bool older = binary.known && emulation.known && ek_minor_cmp(emulation, binary) < 0;

    return older ? str(v, "emulation") : "-";
}

static void add_peer(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    yyjson_val *discovery = yyjson_obj_get(v, "discovery");
    struct cell answered, round, took, next, certificate;
    char served[64] = "-";

    if (discovery)
        snprintf(served, sizeof served, "%s, %" PRIu64, str(discovery, "form"),
                 yyjson_get_uint(yyjson_obj_get(discovery, "resources")));
    const char *cells[] = {str(v, "component"),
                           str(v, "address"),
                           yes_no(v, "reachable"),
                           ago(r, ek_json_get(v, "answers", "reach", NULL), "goodTime", &answered),
                           yes_no(v, "ready"),
                           or_dash(str(v, "gitVersion")),
                           emulated(v),
                           served,
                           until(r, yyjson_obj_get(v, "certificate"), "notAfter", &certificate),
                           ago(r, v, "roundTime", &round),
                           number(v, "tookMs", &took),
                           until(r, v, "nextRoundTime", &next)};
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 2, strcmp(cells[2], "yes") ? EK_CELL_BAD : EK_CELL_GOOD);
}

static void add_questions(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    yyjson_val *name, *answer;
    size_t i, n;

    ek_json_each_member(yyjson_obj_get(v, "answers"), i, n, name, answer)
    {
        const char *error = ek_json_str(answer, "error", "message", NULL);
        struct cell good, tried;
        if (!error && !r->only)
            continue;
        const char *cells[] = {str(v, "address"), yyjson_get_str(name),
                               ago(r, answer, "goodTime", &good),
                               ago(r, answer, "triedTime", &tried), error};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 4, EK_CELL_BAD);
    }
}

/* What the controller, or the proxy, makes of the API server. */
static void add_api_server(const struct report *r, yyjson_val *v, struct ek_text_table *table)
{
    struct cell documents, requests, in_flight;

    if (!yyjson_obj_get(v, "routable"))
        return;
    const char *cells[] = {or_dash(str(v, "name")),
                           or_dash(str(v, "address")),
                           yes_no(v, "routable"),
                           or_dash(str(v, "reason")),
                           yes_no(v, "down"),
                           ago(r, v, "documentsTime", &documents),
                           number(v, "requests", &requests),
                           number(v, "inFlight", &in_flight)};
    ek_text_table_row(table, cells);
    ek_text_table_style(table, 2, strcmp(cells[2], "yes") ? EK_CELL_BAD : EK_CELL_GOOD);
}

static void report_peers(const struct report *r)
{
    EK_TEXT_TABLE(servers, "name", "address", "routable", "reason", "down", "documents", "requests",
                  "in flight");
    EK_TEXT_TABLE(table, "component", "address", "reachable", "answered", "ready", "version",
                  "emulates", "discovery", "certificate for", "round", "ms", "next round");
    EK_TEXT_TABLE(questions, "address", "question", "answered", "asked", "error");
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(r->answer, "peers"), i, n, v)
    {
        if (!is_asked_for(r, v, "address") && !is_asked_for(r, v, "name"))
            continue;
        add_api_server(r, v, servers);
        if (*str(v, "address")) /* else it is known and not probed */
            add_peer(r, v, table);
        add_questions(r, v, questions);
    }
    put_table(r, "API SERVERS", servers);
    put_table(r, "PROBE TARGETS", table);
    put_table(r, r->only ? "QUESTIONS" : "QUESTIONS WITHOUT AN ANSWER", questions);
}

int ek_debug_report(yyjson_val *answer, const char *only, bool overview, bool color,
                    struct ek_buf *out)
{
    struct report r = {.answer = answer,
                       .now = str(answer, "time"),
                       .only = only,
                       .overview = overview,
                       .color = color,
                       .out = out};

    report_process(&r);
    report_manager(&r);
    report_leader(&r);
    report_informers(&r);
    report_queues(&r);
    report_subjects(&r);
    report_peers(&r);
    report_webhook(&r);
    report_log(&r);
    return out->failed;
}
