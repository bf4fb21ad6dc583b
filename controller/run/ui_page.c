/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/ui_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "controller/page/page.h"
#include "controller/skew/report.h"
#include "informers/cache/store.h"

/* No row starts beyond, so that the end of the page has room for the largest one: a row has at most
 * 10 cells of 4 KiB, of which each octet may become six. */
#define ROWS_END (EK_UI_PAGE_MAX - ((size_t)512 << 10))

void ek_ui_facts_free(struct ek_ui_facts *facts)
{
    if (!facts)
        return;
    ek_obj_unref(facts->control_plane);
    ek_snapshot_free(facts->policies, facts->n_policies);
    ek_snapshot_free(facts->gates, facts->n_gates);
    ek_free(facts->leader);
    ek_free(facts->informers);
    ek_free(facts->events);
    ek_free(facts);
}

/* ---- Cells ---- */

static const char *text_of(yyjson_val *value, const char *name)
{
    const char *text = ek_json_text(value, name);
    return *text ? text : "-";
}

/* A number as text; "-" where there is none. */
struct number {
    char text[24];
};

static const char *number_of(yyjson_val *value, const char *name, struct number *number)
{
    yyjson_val *n = yyjson_obj_get(value, name);

    snprintf(number->text, sizeof number->text, yyjson_is_int(n) ? "%" PRId64 : "-",
             yyjson_get_sint(n));
    return number->text;
}

/* A time without its fraction of a second, which people do not need. */
struct instant {
    char text[EK_TIME_SIZE];
};

static const char *time_of(yyjson_val *value, const char *name, struct instant *instant)
{
    const char *text = text_of(value, name), *end = strchr(text, '.');
    int n = end ? (int)(end - text) : (int)strlen(text);

    snprintf(instant->text, sizeof instant->text, "%.*s%s", n, text, end ? "Z" : "");
    return instant->text;
}

static yyjson_val *status_of(const struct ek_obj *obj)
{
    return yyjson_obj_get(ek_obj_root(obj), "status");
}

static enum ek_cell_style style_of(const char *truth)
{
    if (!strcmp(truth, "True") || !strcmp(truth, "true"))
        return EK_CELL_GOOD;
    return !strcmp(truth, "False") || !strcmp(truth, "false") ? EK_CELL_BAD : EK_CELL_WARN;
}

/* ---- Tables ---- */

/* A table that counts the rows that it gets, and shows as many as there is room for. */
struct table {
    struct ek_buf *out;
    const struct ek_page_table *shape;
    const char *rest; /* where those that are not shown are */
    size_t shown, all;
};

static struct table table_begin(struct ek_buf *out, const struct ek_page_table *shape, size_t n,
                                const char *rest)
{
    struct number count;

    snprintf(count.text, sizeof count.text, "%zu", n);
    ek_page_fold_begin(out, "", shape->label, count.text, true);
    ek_page_table_begin(out, shape);
    return (struct table){.out = out, .shape = shape, .rest = rest};
}

static void table_row(struct table *table, const char *const *cells, size_t styled,
                      enum ek_cell_style style)
{
    table->all++;
    if (table->shown >= EK_UI_ROWS_MAX || table->out->len > ROWS_END)
        return;
    table->shown++;
    ek_page_row(table->out, table->shape, cells, styled, style);
}

static void table_end(const struct table *table)
{
    ek_page_table_end(table->out, table->shown, table->shown);
    if (table->shown < table->all) {
        ek_buf_printf(table->out, "<p>%zu more are not shown: ", table->all - table->shown);
        ek_page_text(table->out, table->rest);
        ek_buf_puts(table->out, "</p>\n");
    }
    ek_page_fold_end(table->out);
}

#define SHAPE(name, label, ...)                                                                    \
    static const char *const name##_headers[] = {__VA_ARGS__};                                     \
    static const struct ek_page_table name = {label, name##_headers,                               \
                                              EK_ARRAY_SIZE(name##_headers), false}

/* ---- The replica ---- */

static void put_replica(struct ek_buf *out, yyjson_val *leader)
{
    SHAPE(shape, "This replica", "REPLICA", "LEADER ELECTION", "MAY WRITE", "STATE", "HOLDER");
    bool election = yyjson_get_bool(yyjson_obj_get(leader, "election"));
    const char *may_write = yyjson_get_bool(yyjson_obj_get(leader, "mayWrite")) ? "true" : "false";
    const char *cells[] = {text_of(leader, "identity"), election ? "on" : "off", may_write,
                           text_of(leader, "state"), text_of(leader, "holder")};

    if (!leader)
        return;
    struct table table = table_begin(out, &shape, 1, "");
    table_row(&table, cells, 2, EK_CELL_PLAIN);
    table_end(&table);
}

/* ---- Admission policies ---- */

/* The name of the policy that runs directly before ("after NAME"), "" for the first one. NULL: the
 * policy does not run. */
static const char *before_of(const struct ek_obj *policy)
{
    static const char after[] = "after ";
    const char *order = text_of(yyjson_obj_get(status_of(policy), "summary"), "order");

    if (!strcmp(order, "first"))
        return "";
    return strncmp(order, after, sizeof after - 1) == 0 ? order + sizeof after - 1 : NULL;
}

/* Sorts policies as they run. The others follow by their names: those that do not run, and those
 * whose predecessor has no status yet. */
static void sort_policies(struct ek_obj **policies, size_t n)
{
    EK_AUTOFREE struct ek_obj **sorted = ek_xalloc((n + 1) * sizeof(struct ek_obj *));
    struct ek_obj *policy;
    struct ek_map next, placed; /* by the name of the policy before; by the own name */
    const char *name = "";
    size_t n_sorted = 0;

    ek_map_init(&next);
    ek_map_init(&placed);
    qsort(policies, n, sizeof(struct ek_obj *), ek_obj_by_key);
    for (size_t i = 0; i < n; i++)
        if (before_of(policies[i]))
            ek_map_put(&next, before_of(policies[i]), policies[i]);
    for (; (policy = ek_map_take(&next, name)); name = ek_obj_name(policy)) {
        sorted[n_sorted++] = policy;
        ek_map_put(&placed, ek_obj_name(policy), policy);
    }
    for (size_t i = 0; i < n; i++)
        if (!ek_map_get(&placed, ek_obj_name(policies[i])))
            sorted[n_sorted++] = policies[i];
    memcpy(policies, sorted, n * sizeof(struct ek_obj *));
    ek_map_done(&next);
    ek_map_done(&placed);
}

static void put_policy(struct table *table, const struct ek_obj *policy)
{
    yyjson_val *status = status_of(policy), *summary = yyjson_obj_get(status, "summary");
    yyjson_val *ready = ek_cond_find(yyjson_obj_get(status, "conditions"), "Ready");
    struct number bindings, findings, fights;
    const char *cells[] = {text_of(summary, "order"),
                           ek_obj_name(policy),
                           text_of(ready, "status"),
                           text_of(ready, "reason"),
                           text_of(summary, "enforcedBy"),
                           text_of(summary, "scope"),
                           number_of(summary, "bindings", &bindings),
                           number_of(summary, "findings", &findings),
                           number_of(summary, "fights", &fights),
                           text_of(ready, "message")};

    table_row(table, cells, 2, style_of(cells[2]));
}

static void put_policies(struct ek_buf *out, struct ek_obj **policies, size_t n)
{
    SHAPE(shape, "Admission policies", "ORDER", "POLICY", "READY", "REASON", "ENFORCED BY", "SCOPE",
          "BINDINGS", "FINDINGS", "FIGHTS", "MESSAGE");

    if (n == 0)
        return;
    struct table table = table_begin(out, &shape, n, "kubectl get ekps lists all.");
    for (size_t i = 0; i < n; i++)
        put_policy(&table, policies[i]);
    table_end(&table);
}

/* "a, b, c": the policies of a fight, which are at most 16. */
static void name_parties(yyjson_val *fight, struct ek_buf *out)
{
    yyjson_val *party;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(fight, "parties"), i, n, party)
    {
        ek_buf_printf(out, "%s%s", i ? ", " : "", ek_json_text(party, "policy"));
    }
}

static void put_fight(struct table *table, const struct ek_obj *policy, yyjson_val *fight)
{
    EK_AUTO(ek_buf) parties;

    ek_buf_init(&parties, 8192);
    name_parties(fight, &parties);
    const char *cells[] = {ek_obj_name(policy), text_of(fight, "path"), text_of(fight, "kind"),
                           text_of(fight, "since"), ek_buf_str(&parties)};
    table_row(table, cells, 1, EK_CELL_PLAIN);
}

static size_t count_in(struct ek_obj *const *objects, size_t n, const char *list)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += yyjson_arr_size(yyjson_obj_get(status_of(objects[i]), list));
    return count;
}

static void put_fights(struct ek_buf *out, struct ek_obj *const *policies, size_t n)
{
    SHAPE(shape, "Fights of admission policies", "POLICY", "PATH", "KIND", "SINCE", "PARTIES");
    size_t count = count_in(policies, n, "fights");
    yyjson_val *fight;

    if (count == 0)
        return;
    struct table table =
        table_begin(out, &shape, count, "kubectl get ekps -o yaml has all (.status.fights).");
    for (size_t i = 0; i < n; i++) {
        size_t k, n_fights;
        yyjson_arr_foreach(yyjson_obj_get(status_of(policies[i]), "fights"), k, n_fights, fight)
        {
            put_fight(&table, policies[i], fight);
        }
    }
    table_end(&table);
}

/* ---- Field gates ---- */

static void put_definition(struct table *table, const struct ek_obj *gates)
{
    yyjson_val *status = status_of(gates), *summary = yyjson_obj_get(status, "summary");
    yyjson_val *enforced = ek_cond_find(yyjson_obj_get(status, "conditions"), "Enforced");
    struct number all, on, suppressed, findings;
    const char *cells[] = {ek_obj_name(gates),
                           text_of(enforced, "status"),
                           text_of(enforced, "reason"),
                           number_of(summary, "gates", &all),
                           number_of(summary, "on", &on),
                           number_of(summary, "suppressed", &suppressed),
                           number_of(summary, "findings", &findings),
                           text_of(enforced, "message")};

    table_row(table, cells, 1, style_of(cells[1]));
}

static void put_gate(struct table *table, const struct ek_obj *gates, yyjson_val *gate)
{
    bool refused = yyjson_get_bool(yyjson_obj_get(gate, "refused"));
    const char *cells[] = {ek_obj_name(gates),      text_of(gate, "name"),
                           text_of(gate, "state"),  text_of(gate, "preRelease"),
                           text_of(gate, "reason"), refused ? "no" : "yes"};

    table_row(table, cells, 5, refused ? EK_CELL_BAD : EK_CELL_PLAIN);
}

static void put_gates(struct ek_buf *out, struct ek_obj *const *gates, size_t n)
{
    SHAPE(definitions, "Field gates", "DEFINITION", "ENFORCED", "REASON", "GATES", "ON",
          "SUPPRESSED", "FINDINGS", "MESSAGE");
    SHAPE(states, "States of field gates", "DEFINITION", "GATE", "STATE", "STAGE", "REASON",
          "ENFORCED");
    static const char rest[] = "kubectl get ekfg lists all.";
    size_t count = count_in(gates, n, "gates");
    yyjson_val *gate;

    if (n == 0)
        return;
    struct table table = table_begin(out, &definitions, n, rest);
    for (size_t i = 0; i < n; i++)
        put_definition(&table, gates[i]);
    table_end(&table);
    if (count == 0)
        return;
    table = table_begin(out, &states, count, "kubectl get ekfg -o yaml has all (.status.gates).");
    for (size_t i = 0; i < n; i++) {
        size_t k, n_gates;
        yyjson_arr_foreach(yyjson_obj_get(status_of(gates[i]), "gates"), k, n_gates, gate)
        {
            put_gate(&table, gates[i], gate);
        }
    }
    table_end(&table);
}

/* ---- Events and informers ---- */

static void put_events(struct ek_buf *out, yyjson_val *events)
{
    SHAPE(shape, "Events that this replica recorded", "LAST", "TYPE", "OBJECT", "REASON", "NOTE");
    yyjson_val *event;
    size_t i, n;

    if (yyjson_arr_size(events) == 0)
        return;
    struct table table = table_begin(out, &shape, yyjson_arr_size(events), "");
    yyjson_arr_foreach(events, i, n, event)
    {
        struct number count;
        struct instant last;
        char type[64];
        bool warning = !strcmp(text_of(event, "type"), "Warning");
        snprintf(type, sizeof type, "%.20s (%s)", text_of(event, "type"),
                 number_of(event, "count", &count));
        const char *cells[] = {time_of(event, "time", &last), type, text_of(event, "object"),
                               text_of(event, "reason"), text_of(event, "note")};
        table_row(&table, cells, 1, warning ? EK_CELL_WARN : EK_CELL_PLAIN);
    }
    table_end(&table);
}

static void put_informer(struct table *table, yyjson_val *one)
{
    const char *group = ek_json_text(one, "group");
    EK_AUTOFREE char *resource =
        ek_xasprintf("%s%s%s", text_of(one, "resource"), *group ? "." : "", group);
    bool synced = yyjson_get_bool(yyjson_obj_get(one, "synced"));
    struct number objects;
    struct instant since;
    const char *cells[] = {resource,
                           text_of(one, "namespace"),
                           text_of(one, "controller"),
                           synced ? "true" : "false",
                           text_of(one, "state"),
                           time_of(one, "since", &since),
                           number_of(one, "objects", &objects),
                           text_of(yyjson_obj_get(one, "error"), "message")};

    table_row(table, cells, 3, synced ? EK_CELL_PLAIN : EK_CELL_WARN);
}

static void put_informers(struct ek_buf *out, yyjson_val *answer)
{
    SHAPE(shape, "Informers", "RESOURCE", "NAMESPACE", "CONTROLLER", "SYNCED", "STATE", "SINCE",
          "OBJECTS", "ERROR");
    yyjson_val *list = yyjson_obj_get(answer, "informers"), *one;
    uint64_t total = yyjson_get_uint(yyjson_obj_get(answer, "informersTotal"));
    size_t i, n;

    if (yyjson_arr_size(list) == 0)
        return;
    struct table table =
        table_begin(out, &shape, (size_t)total, "evenkeel debug informers lists 256 of them.");
    yyjson_arr_foreach(list, i, n, one)
    {
        put_informer(&table, one);
    }
    table.all = (size_t)total;
    table_end(&table);
}

/* ---- The page ---- */

/* NULL where the text is none. */
static yyjson_doc *parse(const char *json)
{
    struct ek_err err = {0};
    return json ? ek_json_parse(json, strlen(json), &err) : NULL;
}

static void put_more(void *ctx, struct ek_buf *out)
{
    const struct ek_ui_facts *facts = ctx;
    yyjson_doc *leader = parse(facts->leader), *informers = parse(facts->informers);
    yyjson_doc *events = parse(facts->events);

    put_policies(out, facts->policies, facts->n_policies);
    put_fights(out, facts->policies, facts->n_policies);
    put_gates(out, facts->gates, facts->n_gates);
    put_events(out, yyjson_doc_get_root(events));
    put_replica(out, yyjson_obj_get(yyjson_doc_get_root(leader), "leader"));
    put_informers(out, yyjson_doc_get_root(informers));
    yyjson_doc_free(leader);
    yyjson_doc_free(informers);
    yyjson_doc_free(events);
}

int ek_ui_page(struct ek_ui_facts *facts, struct ek_buf *out)
{
    yyjson_val *root = facts->control_plane ? ek_obj_root(facts->control_plane) : NULL;

    if (facts->n_policies)
        sort_policies(facts->policies, facts->n_policies);
    return ek_skew_report_page(root, facts->at_ms, put_more, facts, out);
}
