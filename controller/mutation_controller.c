/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_controller.h"

#include <string.h>

#include "api/mem.h"
#include "controller/apply.h"
#include "controller/mutation_registrations.h"
#include "controller/mutation_snapshot.h"
#include "controller/mutation_statuses.h"
#include "reconcilers/skew/facts.h"

/* The two keys: what requests are judged by, and what is written. */
#define BUILD "policies"
#define WRITE "registration"

/* At most one build per PACE_MS; what changes in one turn of the loop or nearly so makes one. */
#define PACE_MS   250
#define SETTLE_MS 5

/* How long params and schemas are waited for. */
#define PATIENCE_MS 10000

/* Until our endpoint is ready, or the bundle there, writing looks again this often. */
#define NOT_READY_MS 1000

#define CENSUS_ARENA ((size_t)64 << 20)

struct ek_mutation_controller {
    struct ek_mutation_controller_config config;
    struct ek_mutation_watch *watch;
    struct ek_runner *runner;
    struct ek_mutation_reporter *reporter; /* NULL without a webhook */
    struct ek_mutation_state state;
    struct ek_mutation_lists lists;
    struct ek_plugin_census census;
    uint64_t next_build_ms;
    uint64_t loading_ms;     /* since when params or schemas are being read; 0: all are there */
    bool published;          /* a snapshot has been made */
    bool without_conditions; /* a server did not take the policies' own */
    /* Of the write under way. */
    struct ek_reconcile *run;
    struct ek_apply *apply;
    int next_kind; /* of the registrations, to be looked at */
    struct ek_status_writes writes;
    struct ek_err failure; /* the first; code 0 for none */
    int64_t again_ms;      /* when to write again, 0 for not before something changes */
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Building ---- */

static void on_change(void *ctx)
{
    struct ek_mutation_controller *c = ctx;
    if (!c->runner)
        return;
    uint64_t now = uv_now(c->config.loop);
    uint64_t due = c->next_build_ms > now + SETTLE_MS ? c->next_build_ms : now + SETTLE_MS;
    ek_runner_add_after(c->runner, BUILD, 0, (int64_t)(due - now));
}

/* Whether params or schemas will be there soon: not forever, for nothing may come of it. */
static bool is_loading(struct ek_mutation_controller *c)
{
    uint64_t now = uv_now(c->config.loop);
    bool settled = ek_mutation_params_are_settled(ek_mutation_watch_params(c->watch)) &&
                   ek_mutation_schemas_are_settled(ek_mutation_watch_schemas(c->watch));

    if (settled)
        c->loading_ms = 0;
    else if (!c->loading_ms)
        c->loading_ms = now;
    return !settled && now < c->loading_ms + PATIENCE_MS;
}

static void build(struct ek_mutation_controller *c, struct ek_reconcile *run)
{
    if (!ek_mutation_watch_is_settled(c->watch)) {
        ek_reconcile_done(run, (struct ek_outcome){0}, NULL);
        return;
    }
    c->next_build_ms = uv_now(c->config.loop) + PACE_MS;
    ek_mutation_state_update(&c->state, c->watch, &c->census, c->config.webhook != NULL);
    ek_mutation_state_follow(&c->state, c->watch);
    if (c->reporter)
        ek_mutation_reporter_sync(c->reporter);
    bool loading = is_loading(c);
    struct ek_outcome outcome = {.requeue_after_ms = loading ? PACE_MS : 0};
    /* The first snapshot is what readiness waits for, so it should be able to judge. */
    if (c->published || !loading) {
        if (c->config.webhook)
            ek_webhook_publish(c->config.webhook,
                               ek_mutation_snapshot_make(&c->state, c->watch, &c->lists, loading));
        c->published = true;
    }
    /* API servers are told of a policy when we can carry it out. */
    if (!loading)
        ek_runner_add(c->runner, WRITE, 0);
    ek_reconcile_done(run, outcome, NULL);
}

/* ---- Writing ---- */

static void write_next_status(struct ek_mutation_controller *c);

static void note_failure(struct ek_mutation_controller *c, const struct ek_err *err)
{
    if (err && !c->failure.code)
        c->failure = *err;
}

static void end_writing(struct ek_mutation_controller *c)
{
    struct ek_reconcile *run = c->run;
    struct ek_err failure = c->failure;
    struct ek_outcome outcome = {.requeue_after_ms = failure.code ? 0 : c->again_ms};

    c->run = NULL;
    ek_status_writes_done(&c->writes);
    ek_reconcile_done(run, outcome, failure.code ? &failure : NULL);
}

static void on_status_written(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_mutation_controller *c = ctx;

    c->apply = NULL;
    note_failure(c, err);
    ek_status_writes_answer(&c->writes, obj, err, c->config.recorder);
    write_next_status(c);
}

static void write_next_status(struct ek_mutation_controller *c)
{
    struct ek_status_write *w = ek_status_writes_next(&c->writes);

    if (!w || !c->config.may_write(c->config.ctx)) {
        end_writing(c);
        return;
    }
    struct ek_apply_target target = {
        .resource = ek_mutation_watch_resource(c->watch, EK_MUTATION_STATUSES), .name = w->name};
    c->apply = (w->creates ? ek_apply_object : ek_apply_status)(c->config.client, &target,
                                                                w->content, on_status_written, c);
}

static void write_statuses(struct ek_mutation_controller *c)
{
    ek_status_writes_plan(&c->state, c->watch, c->reporter, c->config.now_ms(), &c->writes);
    if (!c->again_ms)
        c->again_ms = c->writes.again_ms;
    write_next_status(c);
}

static void register_next(struct ek_mutation_controller *c);

static void on_registered(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_mutation_controller *c = ctx;

    (void)obj;
    c->apply = NULL;
    /* Written again without them; and if that was not it, the error is told then. */
    if (err && ek_apply_classify(err) == EK_APPLY_TERMINAL && !c->without_conditions) {
        c->without_conditions = true;
        c->again_ms = SETTLE_MS;
        if (c->config.log)
            ek_log_error(c->config.log, err,
                         "Registering webhooks without the policies' match conditions");
    } else {
        note_failure(c, err);
    }
    register_next(c);
}

static bool is_ready(const struct ek_mutation_controller *c, const char *bundle)
{
    return c->config.webhook && !ek_webhook_check_ready(c->config.webhook, NULL) &&
           (bundle || !c->config.needs_bundle);
}

/* Writes the configuration of kind where it differs; true when that is under way. */
static bool register_one(struct ek_mutation_controller *c, enum ek_registration_kind kind)
{
    const struct ek_registration_place *place = &ek_registration_places[kind];
    const char *borrowed = c->config.certs ? ek_webhook_ca_bundle(c->config.certs) : NULL;
    EK_AUTOFREE char *bundle = ek_xstrdup(borrowed);
    struct ek_registration_options options = c->config.options;
    EK_AUTO(ek_registration_write) w;

    options.ca_bundle = bundle;
    options.without_conditions = c->without_conditions;
    ek_registration_write_plan(&c->state, c->watch, &options, kind, &w);
    if (c->config.certs && bundle)
        ek_webhook_certs_published(c->config.certs, place->publisher, bundle, w.carries);
    if (w.current)
        return false;
    if (!w.withdraws && !is_ready(c, bundle)) {
        c->again_ms = NOT_READY_MS;
        return false;
    }
    struct ek_apply_target target = {.resource =
                                         ek_mutation_watch_resource(c->watch, place->resource),
                                     .name = EK_REGISTRATION_NAME};
    c->apply = ek_apply_object(c->config.client, &target, w.content, on_registered, c);
    return true;
}

/* One configuration after the other, then the statuses. */
static void register_next(struct ek_mutation_controller *c)
{
    while (c->next_kind < EK_REGISTRATION_KINDS && c->config.may_write(c->config.ctx))
        if (register_one(c, c->next_kind++))
            return;
    write_statuses(c);
}

/* Tells what may not be read. False while policies were never seen: what is registered of them
 * must not be withdrawn for that. */
static bool may_conclude(struct ek_mutation_controller *c)
{
    struct ek_err err;
    bool blind;
    EK_AUTOFREE char *problem = ek_mutation_watch_problem(c->watch, &blind);

    if (problem) {
        ek_err_set(&err, EK_E_FORBIDDEN, "%s", problem);
        note_failure(c, &err);
    }
    return !blind;
}

static void write_all(struct ek_mutation_controller *c, struct ek_reconcile *run)
{
    c->run = run;
    c->failure = (struct ek_err){0};
    c->again_ms = 0;
    if (!c->published || !c->config.may_write(c->config.ctx)) {
        end_writing(c);
        return;
    }
    c->next_kind = 0;
    if (may_conclude(c))
        register_next(c);
    else
        end_writing(c);
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    if (!strcmp(key, BUILD))
        build(ctx, run);
    else
        write_all(ctx, run);
}

/* ---- The API servers ---- */

static bool same_census(const struct ek_plugin_census *a, const struct ek_plugin_census *b)
{
    return a->runs == b->runs && a->absent == b->absent && a->unknown == b->unknown &&
           a->complete == b->complete;
}

/* One of the peers that serve version, and stays it while it does; NULL when all of them do. */
static const char *server_of(const struct ek_mutation_controller *c,
                             const struct ek_skew_facts *facts, const char *version)
{
    const char *current = ek_mutation_watch_server(c->watch), *server = NULL;
    bool everywhere = true;

    for (size_t i = 0; version && i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        const char *has = ek_plugin_version(peer->probe);
        if (!peer->live)
            continue;
        if (!has || strcmp(has, version) != 0 || !*peer->address)
            everywhere = false;
        else if (current && !strcmp(peer->address, current))
            return peer->address;
        else if (!server)
            server = peer->address;
    }
    return everywhere ? NULL : server;
}

void ek_mutation_controller_observe(struct ek_mutation_controller *controller,
                                    const struct ek_skew_view *view)
{
    struct ek_mutation_controller *c = controller;
    struct ek_skew_view peers = *view;
    struct ek_arena *arena = ek_arena_new(CENSUS_ARENA);
    struct ek_probe_target *targets;
    struct ek_skew_facts facts;
    struct ek_plugin_census census = {0};
    const char *version = NULL;
    size_t n;

    /* Nodes, of which there may be thousands, tell nothing about API servers' plug-ins. */
    peers.nodes = (struct ek_objs){.available = true, .why = ""};
    ek_skew_facts_collect(&peers, arena, &facts, &targets, &n);
    census.complete = facts.enumerated && view->probing_done;
    for (size_t i = 0; i < facts.n_peers; i++) {
        const char *has = ek_plugin_version(facts.peers[i].probe);
        if (!facts.peers[i].live)
            continue;
        ek_plugin_census_add(&census, ek_plugin_of(facts.peers[i].probe));
        /* "v1" sorts before "v1alpha1" and "v1beta1", which is better than "v1alpha1". */
        if (has && (!version || !strcmp(has, "v1") ||
                    (strcmp(version, "v1") != 0 && !strcmp(has, "v1beta1"))))
            version = has;
    }
    bool all = census.complete && !census.unknown && census.runs + census.absent > 0;
    bool changed = !same_census(&census, &c->census);
    c->census = census;
    ek_mutation_watch_set_version(c->watch, version, all, server_of(c, &facts, version));
    ek_arena_free(arena);
    if (changed)
        on_change(c);
}

/* ---- Life ---- */

static void on_observed(void *ctx)
{
    struct ek_mutation_controller *c = ctx;
    if (c->runner)
        ek_runner_add(c->runner, WRITE, 0);
}

static struct ek_mutation_reporter *make_reporter(struct ek_mutation_controller *c)
{
    return ek_mutation_reporter_new(
        &(struct ek_mutation_reporter_config){.loop = c->config.loop,
                                              .webhook = c->config.webhook,
                                              .state = &c->state,
                                              .recorder = c->config.recorder,
                                              .now_ms = c->config.now_ms,
                                              .changed = on_observed,
                                              .ctx = c});
}

struct ek_mutation_controller *
ek_mutation_controller_new(const struct ek_mutation_controller_config *config)
{
    struct ek_mutation_controller *c = ek_xalloc(sizeof *c);

    c->config = *config;
    for (int i = 0; config->certs && i < EK_REGISTRATION_KINDS; i++)
        ek_webhook_certs_expect(config->certs, ek_registration_places[i].publisher);
    c->watch = ek_mutation_watch_new(config->loop, config->client, on_change, c);
    if (config->webhook)
        c->reporter = make_reporter(c);
    struct ek_runner_config runner = {
        .name = "mutatingadmissionpolicy",
        .workers = 2,
        .queue = config->queue,
        .reconcile = reconcile,
        .ctx = c,
        .observer = config->observer,
    };
    c->runner = ek_runner_new(config->loop, &runner);
    return c;
}

static int start_watch(void *ctx, struct ek_err *err)
{
    struct ek_mutation_controller *c = ctx;
    (void)err;
    ek_mutation_watch_start(c->watch);
    return 0;
}

static bool watch_ready(void *ctx)
{
    const struct ek_mutation_controller *c = ctx;
    return ek_mutation_watch_is_settled(c->watch);
}

void ek_mutation_controller_runnables(struct ek_mutation_controller *controller,
                                      struct ek_runnable *ret_watch, struct ek_runnable *ret_runner)
{
    *ret_watch = (struct ek_runnable){.name = "policy informers",
                                      .group = EK_GROUP_CACHES,
                                      .start = start_watch,
                                      .ready = watch_ready,
                                      .ctx = controller};
    ek_runner_runnable(controller->runner, ret_runner);
    ek_runner_add(controller->runner, BUILD, 0);
}

void ek_mutation_controller_poke(struct ek_mutation_controller *controller)
{
    ek_runner_add(controller->runner, WRITE, 0);
}

const struct ek_mutation_state *
ek_mutation_controller_state(const struct ek_mutation_controller *controller)
{
    return &controller->state;
}

struct ek_mutation_watch *
ek_mutation_controller_watch(const struct ek_mutation_controller *controller)
{
    return controller->watch;
}

struct ek_runner *ek_mutation_controller_runner(struct ek_mutation_controller *controller)
{
    return controller->runner;
}

static void on_part_closed(void *ctx)
{
    struct ek_mutation_controller *c = ctx;

    if (--c->n_closing > 0)
        return;
    ek_mutation_state_done(&c->state);
    ek_mutation_lists_done(&c->lists);
    if (c->on_closed)
        c->on_closed(c->closed_ctx);
    ek_free(c);
}

void ek_mutation_controller_close(struct ek_mutation_controller *controller,
                                  void (*on_closed)(void *ctx), void *ctx)
{
    struct ek_mutation_controller *c = controller;

    if (!c)
        return;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    c->n_closing = c->reporter ? 3 : 2;
    ek_apply_cancel(c->apply);
    ek_status_writes_done(&c->writes);
    struct ek_runner *runner = c->runner;
    c->runner = NULL;
    if (c->reporter)
        ek_mutation_reporter_close(c->reporter, on_part_closed, c);
    ek_mutation_watch_close(c->watch, on_part_closed, c);
    ek_runner_close(runner, on_part_closed, c);
}
