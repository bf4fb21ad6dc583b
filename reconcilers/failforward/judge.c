/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/judge.h"

#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "reconcilers/failforward/memory.h"
#include "reconcilers/failforward/served.h"

/* Names of neighbors in a report, in bytes. */
#define NEIGHBORS_MAX 1024

/* Entries of catalogs that are walked for one namespace: whoever may write its CatalogSources and
 * Subscriptions chooses how many there are. 200 Subscriptions with 1000 entries each. */
#define WALK_MAX 200000

/* How often is looked whether the first read of a catalog has ended. */
#define FIRST_READ_MS 1000

void ek_ff_find_edges(const struct ek_ff_graph *graph, const struct ek_ff_state *state,
                      const struct ek_ff_finding *finding, struct ek_ff_edges *ret_edges)
{
    const char *current = state->offered ? state->head.name : state->current;
    const char *failing = *finding->failing ? finding->failing : current;
    const struct ek_ff_csv *csv = finding->is_stuck ? &state->stuck : &state->head;

    *ret_edges = (struct ek_ff_edges){0};
    if (!graph || !*failing)
        return;
    const char *channel = ek_json_str(ek_obj_root(state->sub), "spec", "channel", NULL);
    const struct ek_ff_edges_query query = {
        .package = state->package,
        .channel = channel ? channel : "",
        .failing = csv->obj,
        .failing_name = failing,
        .running = state->running.obj,
    };
    if (ek_ff_graph_fill(graph, &query, ret_edges))
        *ret_edges = (struct ek_ff_edges){0};
}

static bool owns(const struct ek_obj *subscription, const struct ek_obj *report)
{
    yyjson_val *owners = ek_json_get(ek_obj_root(report), "metadata", "ownerReferences", NULL);
    yyjson_val *owner = yyjson_arr_get_first(owners);

    return !strcmp(ek_json_text(owner, "kind"), "Subscription") &&
           !strcmp(ek_json_text(owner, "uid"), ek_obj_uid(subscription));
}

/* What is read once for all subscriptions of the namespace. */
struct common {
    const struct ek_ff_inputs *in;
    struct ek_ff_consented *consented; /* in the order of the subscriptions */
    const char *neighbors;             /* that do not consent, with commas */
    struct ek_map reports;             /* struct ek_obj by name */
    size_t n_walked;                   /* entries of catalogs */
};

/* A report of another incarnation of the subscription, or of nobody, is no memory of this one. */
static void find_report(const struct common *c, struct ek_ff_verdict *v)
{
    struct ek_obj *report = ek_map_get(&c->reports, ek_obj_name(v->subscription));

    if (!report)
        return;
    v->is_taken = !owns(v->subscription, report);
    v->report = v->is_taken ? NULL : report;
}

static void read_common(const struct ek_ff_inputs *in, struct ek_arena *arena, struct common *c)
{
    EK_AUTO(ek_buf) names;
    size_t n = in->world->subscriptions.n;

    *c = (struct common){.in = in};
    c->consented = ek_arena_alloc(arena, (n + 1) * sizeof *c->consented);
    for (size_t i = 0; i < n; i++)
        c->consented[i].source = "";
    ek_buf_init(&names, NEIGHBORS_MAX);
    ek_ff_consent_all(in->rules, in->world, c->consented, &names);
    c->neighbors = ek_arena_strdup(arena, ek_buf_str(&names));
    ek_map_init(&c->reports);
    for (size_t i = 0; i < in->reports.n; i++)
        ek_map_put(&c->reports, ek_obj_name(in->reports.items[i]), in->reports.items[i]);
}

static void take_consent(const struct common *c, const struct ek_ff_consented *consented,
                         struct ek_ff_verdict *v)
{
    v->consent = consented->consent;
    v->source = consented->source;
    v->given = v->consent.mode;
    v->is_gated =
        v->given >= EK_FF_ASSIST && !v->consent.any_olm && !ek_ff_olm_is_tried(c->in->olm_version);
    if (v->is_gated)
        v->consent.mode = EK_FF_OBSERVE;
    v->neighbors = v->given >= EK_FF_ASSIST ? c->neighbors : "";
}

static const struct ek_ff_kept *kept_of(const struct ek_ff_inputs *in,
                                        const struct ek_ff_verdict *v)
{
    return in->recall ? in->recall(in->ctx, v->subscription) : NULL;
}

static void recall(const struct ek_ff_inputs *in, struct ek_ff_verdict *v)
{
    const struct ek_ff_kept *kept = kept_of(in, v);
    yyjson_val *root = v->report ? ek_obj_root(v->report) : NULL;

    ek_ff_memory_read(ek_json_get(root, "status", "episode", NULL), in->now_ms, &v->before);
    if (kept && kept->undone)
        v->before = kept->memory;
    v->memory = v->before;
}

static void look(const struct common *c, size_t i, struct ek_ff_verdict *v)
{
    const struct ek_ff_inputs *in = c->in;

    v->subscription = in->world->subscriptions.items[i];
    find_report(c, v);
    take_consent(c, &c->consented[i], v);
    ek_ff_observe(in->world, v->subscription, in->now_ms, &v->state);
    ek_ff_classify(&v->state, in->now_ms, &v->finding);
    recall(in, v);
    if (v->given != EK_FF_OFF) /* without consent nothing is remembered */
        ek_ff_remember(&v->state, &v->finding, in->now_ms, &v->memory);
    if (v->given >= EK_FF_ASSIST && v->state.marked) /* also where the one who switched is gone */
        v->memory.switched = true;
    if (v->memory.since_ms > in->now_ms) /* whoever writes the object chooses its times */
        v->memory.since_ms = in->now_ms;
}

/* Without the edges the steps would be in another order. */
static void await_catalog(const struct ek_ff_inputs *in, const struct ek_ff_catalog *catalog,
                          struct ek_ff_verdict *v)
{
    if (!catalog->reading || v->next.act == EK_FF_NO_ACT || v->next.step == EK_FF_RESTORE)
        return;
    v->next =
        (struct ek_ff_next){.step = EK_FF_S0, .why = "the catalog is read for the first time"};
    v->finding.again_ms = in->now_ms + FIRST_READ_MS;
}

/* A write that was refused is due again after some time only. */
static void pause_writes(const struct ek_ff_inputs *in, struct ek_ff_verdict *v,
                         struct ek_arena *arena)
{
    const struct ek_ff_kept *kept = kept_of(in, v);

    if (!kept || !*kept->refused || kept->until_ms <= in->now_ms || v->next.act == EK_FF_NO_ACT)
        return;
    v->next = (struct ek_ff_next){.step = EK_FF_BLOCKED,
                                  .blocked = EK_FF_NOT_ALLOWED,
                                  .why = ek_arena_strdup(arena, kept->refused),
                                  .again_ms = kept->until_ms};
}

static bool is_held_by_us(const struct ek_ff_world *world, const char *name)
{
    for (size_t i = 0; *name && i < world->csvs.n; i++) {
        yyjson_val *status = ek_json_get(ek_obj_root(world->csvs.items[i]), "status", NULL);
        if (!strcmp(ek_obj_name(world->csvs.items[i]), name) &&
            !strcmp(ek_json_text(status, "message"), EK_FF_PIN_MESSAGE))
            return true;
    }
    return false;
}

/* Consent has ended, and nothing is left to take back. Without an operator group, or with two of
 * them, whether fail forward is on is not known. */
static void forget_changes(const struct ek_ff_inputs *in, struct ek_ff_verdict *v)
{
    if (v->consent.mode >= EK_FF_ASSIST || v->next.step == EK_FF_RESTORE)
        return;
    if (!is_held_by_us(in->world, v->memory.pinned))
        v->memory.pinned[0] = '\0';
    if (v->state.group && !v->state.switched_on)
        v->memory.switched = false;
}

static void keep_edge(struct ek_ff_edge *edge, struct ek_arena *arena)
{
    edge->next = ek_arena_strdup(arena, edge->next);
    edge->version = ek_arena_strdup(arena, edge->version);
}

/* The catalog is read again, or forgotten, while the verdict is written. */
static void keep_catalog(struct ek_ff_verdict *v, struct ek_arena *arena)
{
    v->catalog_error = ek_arena_strdup(arena, v->catalog_error);
    keep_edge(&v->edges.from_failing, arena);
    keep_edge(&v->edges.from_running, arena);
    v->edges.head = ek_arena_strdup(arena, v->edges.head);
}

/* A process knows of the changes that it has read. The memory knows of those of the processes
 * before. */
static void recall_change(const struct ek_ff_catalog *catalog, struct ek_ff_verdict *v)
{
    bool later = catalog->changed_ms > v->memory.changed_ms;

    v->edges.known_ms = catalog->known_ms;
    v->edges.changed_ms = later ? catalog->changed_ms : v->memory.changed_ms;
    v->memory.changed_ms = *v->memory.failing ? v->edges.changed_ms : 0;
}

/* The graph counts as not read once too much was walked. */
static void bound_walk(struct common *c, const struct ek_ff_verdict *v,
                       struct ek_ff_catalog *catalog)
{
    size_t n = catalog->graph ? ek_ff_graph_entries(catalog->graph, v->state.package) : 0;

    if (n <= WALK_MAX - c->n_walked) {
        c->n_walked += n;
        return;
    }
    catalog->graph = NULL;
    catalog->error = "the catalogs have too many versions for the Subscriptions of the namespace";
}

static void decide(struct common *c, struct ek_ff_verdict *v, struct ek_arena *arena)
{
    const struct ek_ff_inputs *in = c->in;
    struct ek_ff_catalog catalog = {.error = ""};

    if (in->catalog)
        in->catalog(in->ctx, v->subscription, &catalog);
    bound_walk(c, v, &catalog);
    v->catalog_error = catalog.error;
    ek_ff_find_edges(catalog.graph, &v->state, &v->finding, &v->edges);
    recall_change(&catalog, v);
    keep_catalog(v, arena);
    ek_ff_classify_edges(&v->state, &v->edges, in->now_ms, &v->finding);
    ek_ff_decide(&v->state, &v->finding, &v->edges, &v->consent, &v->memory, in->now_ms, &v->next);
    forget_changes(in, v);
    await_catalog(in, &catalog, v);
    pause_writes(in, v, arena);
}

/* It fails, or OLM has not deleted the old versions of an upgrade yet. */
static bool is_unfinished(const struct ek_ff_verdict *v)
{
    return v->finding.class != EK_FF_HEALTHY || !v->state.alone;
}

size_t ek_ff_judge(const struct ek_ff_inputs *inputs, struct ek_arena *arena,
                   struct ek_ff_verdict **ret_verdicts)
{
    const struct ek_ff_objs *subs = &inputs->world->subscriptions;
    struct ek_ff_verdict *all = ek_arena_alloc(arena, (subs->n + 1) * sizeof *all);
    size_t n = 0, n_unfinished = 0;
    struct common common;

    read_common(inputs, arena, &common);
    for (size_t i = 0; i < subs->n; i++) {
        look(&common, i, &all[i]);
        n_unfinished += is_unfinished(&all[i]);
    }
    for (size_t i = 0; i < subs->n; i++) {
        if (all[i].given == EK_FF_OFF && !all[i].report)
            continue;
        all[i].consent.others_unfinished = n_unfinished > is_unfinished(&all[i]);
        decide(&common, &all[i], arena);
        if (n != i)
            all[n] = all[i];
        n++;
    }
    ek_map_done(&common.reports);
    *ret_verdicts = all;
    return n;
}
