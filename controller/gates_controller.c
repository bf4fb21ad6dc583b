/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_controller.h"

#include "api/mem.h"
#include "controller/apply.h"
#include "controller/gates_canary.h"
#include "controller/gates_imports.h"
#include "controller/gates_statuses.h"
#include "reconcilers/skew/facts.h"

/* The two keys: what requests are judged by, and what is written. */
#define BUILD "gates"
#define WRITE "registration"

/* At most one build per PACE_MS; what changes in one turn of the loop or nearly so makes one. */
#define PACE_MS   250
#define SETTLE_MS 5

/* Until our endpoint is ready, or the bundle there, writing looks again this often. */
#define NOT_READY_MS 1000

#define FACTS_ARENA ((size_t)64 << 20)

struct ek_gates_controller {
    struct ek_gates_controller_config config;
    struct ek_gates_watch *watch;
    struct ek_runner *runner;
    struct ek_gates_state state;
    struct ek_gates_registrar registrar;
    struct ek_gates_review *review;
    struct ek_gates_counts *counts;
    struct ek_gates_tally *tally;
    struct ek_gates_imports *imports;
    struct ek_canary *canary;
    uint64_t next_build_ms;
    bool published;
    /* Of the write under way. */
    struct ek_reconcile *run;
    struct ek_apply *apply;
    struct ek_gates_status_writes writes;
    struct ek_err failure; /* the first; code 0 for none */
    int64_t again_ms;      /* when to write again, 0 for not before something changes */
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Building ---- */

static void on_change(void *ctx)
{
    struct ek_gates_controller *c = ctx;
    if (!c->runner)
        return;
    uint64_t now = uv_now(c->config.loop);
    uint64_t due = c->next_build_ms > now + SETTLE_MS ? c->next_build_ms : now + SETTLE_MS;
    ek_runner_add_after(c->runner, BUILD, 0, (int64_t)(due - now));
}

static void publish_metrics(const struct ek_gates_controller *c)
{
    struct ek_metric_sample *samples = NULL;
    size_t n = 0;

    if (!c->config.metrics)
        return;
    for (size_t i = 0; i < c->state.n; i++) {
        const struct ek_gates *gates = c->state.kinds[i].defined;
        samples = ek_xrealloc(samples, n + gates->n_gates + 1, sizeof *samples);
        for (size_t k = 0; k < gates->n_gates; k++)
            samples[n++] = (struct ek_metric_sample){
                .name = "evenkeel_gate_enabled",
                .labels = {{"crd", gates->name},
                           {"gate", gates->gates[k].name},
                           {"stage", ek_gate_stage_name(gates->gates[k].stage)}},
                .value = gates->gates[k].on};
    }
    ek_metrics_replace(c->config.metrics, "gates", samples, n);
    ek_free(samples);
}

/* A kind that cannot be enforced, its CRD being gone, is gated no more. */
static void publish(struct ek_gates_controller *c)
{
    struct ek_gates_reviewed *kinds = ek_xalloc((c->state.n + 1) * sizeof *kinds);
    size_t n = 0;

    for (size_t i = 0; i < c->state.n; i++) {
        const struct ek_gated_kind *kind = &c->state.kinds[i];
        if (kind->enforced)
            kinds[n++] = (struct ek_gates_reviewed){.gates = kind->enforced,
                                                    .shape = &kind->resolution.crd.shape,
                                                    .version = kind->resolution.crd.storage};
    }
    ek_gates_review_publish(c->review, kinds, n);
    ek_free(kinds);
}

/* A CRD that is followed from now on is not settled yet; it will be heard of. */
static void follow_crds(struct ek_gates_controller *c)
{
    size_t n;
    struct ek_obj **items = ek_store_snapshot(ek_gates_watch_store(c->watch, EK_GATES_OBJECTS), &n);
    const char **names = ek_xalloc((n + 1) * sizeof *names);

    if (n > EK_GATES_REGISTERED_MAX)
        n = EK_GATES_REGISTERED_MAX;
    for (size_t i = 0; i < n; i++)
        names[i] = ek_obj_name(items[i]);
    ek_gates_watch_follow(c->watch, names, n);
    ek_free(names);
    ek_snapshot_free(items, n);
}

static void build(struct ek_gates_controller *c, struct ek_reconcile *run)
{
    follow_crds(c);
    if (ek_gates_watch_is_settled(c->watch)) {
        c->next_build_ms = uv_now(c->config.loop) + PACE_MS;
        ek_gates_state_update(&c->state, c->watch);
        publish(c);
        publish_metrics(c);
        c->published = true;
        ek_runner_add(c->runner, WRITE, 0);
    }
    ek_reconcile_done(run, (struct ek_outcome){0}, NULL);
}

/* ---- Writing ---- */

static void note_failure(struct ek_gates_controller *c, const struct ek_err *err)
{
    if (err && !c->failure.code)
        c->failure = *err;
}

static void end_writing(struct ek_gates_controller *c)
{
    struct ek_reconcile *run = c->run;
    struct ek_err failure = c->failure;
    struct ek_outcome outcome = {.requeue_after_ms = failure.code ? 0 : c->again_ms};

    c->run = NULL;
    ek_gates_status_writes_done(&c->writes);
    ek_reconcile_done(run, outcome, failure.code ? &failure : NULL);
}

static void on_imported(void *ctx, const struct ek_err *err)
{
    note_failure(ctx, err);
    end_writing(ctx);
}

static void import_gates(struct ek_gates_controller *c)
{
    if (!c->config.may_write(c->config.ctx) || !ek_gates_imports_run(c->imports, on_imported, c))
        end_writing(c);
}

/* --- statuses --- */

static void write_next_status(struct ek_gates_controller *c);

static void on_status_written(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_gates_controller *c = ctx;

    (void)obj;
    c->apply = NULL;
    /* Gates that were deleted meanwhile have no status. */
    if (ek_apply_classify(err) != EK_APPLY_ABSENT)
        note_failure(c, err);
    if (!err)
        ek_gates_status_write_record(&c->writes.items[c->writes.next - 1], c->config.recorder);
    write_next_status(c);
}

static void write_next_status(struct ek_gates_controller *c)
{
    struct ek_gates_status_write *w = ek_gates_status_writes_next(&c->writes);

    if (!w || !c->config.may_write(c->config.ctx)) {
        import_gates(c);
        return;
    }
    struct ek_apply_target target = {.resource =
                                         ek_gates_watch_resource(c->watch, EK_GATES_OBJECTS),
                                     .name = ek_obj_name(w->obj)};
    c->apply = ek_apply_status(c->config.client, &target, w->content, on_status_written, c);
}

static void write_statuses(struct ek_gates_controller *c)
{
    struct ek_gates_standing standing = {.serving = c->config.webhook != NULL,
                                         .registrar = &c->registrar,
                                         .tally = c->tally,
                                         .now_ms = c->config.now_ms()};

    standing.canary = ek_canary_result(c->canary, &standing.canary_message);
    ek_gates_tally_take(c->tally, (int64_t)uv_now(c->config.loop));
    ek_gates_status_writes_plan(&c->state, &standing, &c->writes);
    write_next_status(c);
}

/* --- the registration --- */

static void register_next(struct ek_gates_controller *c);

static void on_registered(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_gates_controller *c = ctx;

    (void)obj;
    c->apply = NULL;
    note_failure(c, err);
    if (err)
        ek_gates_registrar_fail(&c->registrar, err->message);
    register_next(c);
}

static void apply_configuration(struct ek_gates_controller *c, enum ek_gates_resource resource,
                                const char *name, yyjson_mut_val *content)
{
    struct ek_apply_target target = {.resource = ek_gates_watch_resource(c->watch, resource),
                                     .name = name};
    c->apply = ek_apply_object(c->config.client, &target, content, on_registered, c);
}

/* One configuration after the other, each tried once; then the statuses. */
static void register_next(struct ek_gates_controller *c)
{
    struct ek_gates_registrar *r = &c->registrar;

    if (!c->config.may_write(c->config.ctx)) {
        end_writing(c);
    } else if (!r->mutating_is_current && !r->mutating_is_tried) {
        r->mutating_is_tried = true;
        apply_configuration(c, EK_GATES_MUTATING, EK_GATES_MUTATING_NAME, r->mutating);
    } else if (!r->validating_is_current && !r->validating_is_tried) {
        r->validating_is_tried = true;
        apply_configuration(c, EK_GATES_VALIDATING, EK_GATES_VALIDATING_NAME, r->validating);
    } else {
        write_statuses(c);
    }
}

/* True when requests can be answered; otherwise statuses will say why nothing is registered. */
static bool is_ready(struct ek_gates_controller *c, const char *bundle)
{
    struct ek_err err = {0};

    if (!bundle && c->config.needs_bundle)
        ek_err_set(&err, EK_E_TIMEOUT, "the webhook has no certificate yet");
    else if (c->config.webhook)
        ek_webhook_check_ready(c->config.webhook, &err);
    ek_gates_registrar_fail(&c->registrar, err.code ? err.message : NULL);
    return c->config.webhook && !err.code;
}

static void tell_orphan(void *arg, const char *crd)
{
    struct ek_gates_controller *c = arg;
    const struct ek_obj *obj = ek_store_get(ek_gates_watch_store(c->watch, EK_GATES_CRDS), crd);

    if (c->config.log)
        ek_log_info(c->config.log, "CustomFeatureGates are gone: their fields are open now",
                    EK_S("crd", crd));
    if (!obj || !c->config.recorder)
        return;
    ek_recorder_record(
        c->config.recorder,
        &(struct ek_event){
            .regarding = {.api_version = "apiextensions.k8s.io/v1",
                          .kind = "CustomResourceDefinition",
                          .namespace = "",
                          .name = ek_obj_name(obj),
                          .uid = ek_obj_uid(obj),
                          .resource_version = ek_obj_resource_version(obj)},
            .warning = true,
            .reason = "GatesRemoved",
            .action = "Withdraw",
            .note = "The CustomFeatureGates of this kind was deleted: no field is gated any more, "
                    "and what was frozen may be written"});
}

/* What may be believed of the canary's hash, once the configurations are there. */
static void ask_canary(struct ek_gates_controller *c)
{
    const struct ek_gates_registrar *r = &c->registrar;
    const char *message;

    if (r->mutating_is_current && r->validating_is_current)
        ek_canary_expect(c->canary, r->hash);
    if (r->mutating_is_current && r->validating_is_current &&
        ek_canary_result(c->canary, &message) == EK_CANARY_ANSWERED)
        ek_gates_registrar_prove(&c->registrar, &c->state);
}

static void register_gates(struct ek_gates_controller *c)
{
    const struct ek_obj *namespace = ek_gates_watch_only(c->watch, EK_GATES_NAMESPACE);
    const char *borrowed = c->config.certs ? ek_webhook_ca_bundle(c->config.certs) : NULL;
    EK_AUTOFREE char *bundle = ek_xstrdup(borrowed);
    struct ek_gates_registration_options options = c->config.options;
    struct ek_gates_registrar *r = &c->registrar;

    options.ca_bundle = bundle;
    options.own_namespace_uid = namespace ? ek_obj_uid(namespace) : NULL;
    options.with_definitions = c->config.webhook && ek_gates_watch_is_served(c->watch);
    ek_gates_registrar_make(r, &c->state, c->watch, &options, c->config.webhook != NULL);
    bool current = r->mutating_is_current && r->validating_is_current;
    if (c->config.certs && bundle)
        ek_webhook_certs_published(c->config.certs, EK_PUBLISHER_GATES, bundle,
                                   r->bundle_is_everywhere);
    ask_canary(c);
    if (!current && !r->empty && !is_ready(c, bundle)) {
        c->again_ms = NOT_READY_MS;
        write_statuses(c);
        return;
    }
    if (!r->mutating_is_current)
        ek_gates_registrar_each_orphan(&c->state, c->watch, tell_orphan, c);
    register_next(c);
}

/* Tells what may not be read. False while gates or CRDs were never seen: what is registered of them
 * must not be withdrawn for that. */
static bool may_conclude(struct ek_gates_controller *c)
{
    struct ek_err err;
    bool blind;
    EK_AUTOFREE char *problem = ek_gates_watch_problem(c->watch, &blind);

    if (problem) {
        ek_err_set(&err, EK_E_FORBIDDEN, "%s", problem);
        note_failure(c, &err);
    }
    return !blind;
}

static void write_all(struct ek_gates_controller *c, struct ek_reconcile *run)
{
    c->run = run;
    c->failure = (struct ek_err){0};
    c->again_ms = 0;
    if (!c->config.may_write(c->config.ctx))
        ek_canary_expect(c->canary, "");
    if (!c->published || !c->config.may_write(c->config.ctx) || !may_conclude(c))
        end_writing(c);
    else
        register_gates(c);
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    if (!strcmp(key, BUILD))
        build(ctx, run);
    else
        write_all(ctx, run);
}

/* ---- What others tell ---- */

static void on_canary(void *ctx)
{
    struct ek_gates_controller *c = ctx;
    if (c->runner)
        ek_runner_add(c->runner, WRITE, 0);
}

/* Counts are shown by and by. */
static void on_counted(void *ctx)
{
    struct ek_gates_controller *c = ctx;
    if (c->runner)
        ek_runner_add_after(c->runner, WRITE, 0,
                            ek_gates_tally_wait(c->tally, (int64_t)uv_now(c->config.loop)));
}

void ek_gates_controller_poke(struct ek_gates_controller *controller, bool elected)
{
    if (elected)
        ek_gates_tally_restart(controller->tally);
    ek_runner_add(controller->runner, WRITE, 0);
}

void ek_gates_controller_observe(struct ek_gates_controller *controller,
                                 const struct ek_skew_view *view)
{
    struct ek_skew_view peers = *view;
    struct ek_arena *arena = ek_arena_new(FACTS_ARENA);
    struct ek_canary_server servers[EK_CANARY_SERVERS_MAX];
    struct ek_probe_target *targets;
    struct ek_skew_facts facts;
    size_t n = 0, ignored;

    /* Nodes, of which there may be thousands, tell nothing about API servers. */
    peers.nodes = (struct ek_objs){.available = true, .why = ""};
    ek_skew_facts_collect(&peers, arena, &facts, &targets, &ignored);
    for (size_t i = 0; i < facts.n_peers && n < EK_CANARY_SERVERS_MAX; i++)
        if (facts.peers[i].live)
            servers[n++] = (struct ek_canary_server){.name = facts.peers[i].name,
                                                     .address = facts.peers[i].address};
    /* Without any address the configured one is all that can be asked. */
    bool addressed = false;
    for (size_t i = 0; i < n; i++)
        addressed = addressed || *servers[i].address;
    ek_canary_set_servers(controller->canary, servers, addressed ? n : 0);
    ek_arena_free(arena);
}

/* ---- Life ---- */

static void register_metrics(struct ek_metrics *metrics)
{
    ek_metrics_register(metrics, &(struct ek_metric_desc){
                                     .name = "evenkeel_gate_enabled",
                                     .help = "Whether a gate is on (1) or off (0), by its stage.",
                                     .type = EK_METRIC_GAUGE,
                                     .labels = {"crd", "gate", "stage"},
                                     .max_series = EK_GATES_COUNTED_MAX,
                                     .snapshot = "gates"});
}

static void on_hit(void *ctx, const char *crd, const char *gate, const char *operation,
                   bool deprecated)
{
    struct ek_gates_controller *c = ctx;
    ek_gates_counts_add(c->counts, crd, gate, operation, deprecated);
}

static void make_review(struct ek_gates_controller *c)
{
    struct ek_webhook_handler handlers[EK_GATES_REVIEW_HANDLERS];

    c->review = ek_gates_review_new(&(struct ek_gates_review_config){.hit = on_hit, .ctx = c});
    ek_gates_review_handlers(c->review, handlers);
    for (size_t i = 0; c->config.webhook && i < EK_GATES_REVIEW_HANDLERS; i++)
        ek_webhook_add_handler(c->config.webhook, &handlers[i]);
}

struct ek_gates_controller *ek_gates_controller_new(const struct ek_gates_controller_config *config)
{
    struct ek_gates_controller *c = ek_xalloc(sizeof *c);

    c->config = *config;
    if (config->metrics)
        register_metrics(config->metrics);
    if (config->certs)
        ek_webhook_certs_expect(config->certs, EK_PUBLISHER_GATES);
    c->watch = ek_gates_watch_new(config->loop, config->client, config->options.own_namespace,
                                  on_change, c);
    c->counts = ek_gates_counts_new(config->loop, config->metrics, on_counted, c);
    c->tally = ek_gates_tally_new(c->counts);
    make_review(c);
    c->canary = ek_canary_new(config->loop, config->client, on_canary, c);
    c->imports = ek_gates_imports_new(config->client, c->watch, config->recorder, config->log);
    struct ek_runner_config runner = {
        .name = "customfeaturegates",
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
    struct ek_gates_controller *c = ctx;
    (void)err;
    ek_gates_watch_start(c->watch);
    return 0;
}

static bool watch_ready(void *ctx)
{
    const struct ek_gates_controller *c = ctx;
    return ek_gates_watch_is_settled(c->watch);
}

void ek_gates_controller_runnables(struct ek_gates_controller *controller,
                                   struct ek_runnable *ret_watch, struct ek_runnable *ret_runner)
{
    *ret_watch = (struct ek_runnable){.name = "gate informers",
                                      .group = EK_GROUP_CACHES,
                                      .start = start_watch,
                                      .ready = watch_ready,
                                      .ctx = controller};
    ek_runner_runnable(controller->runner, ret_runner);
    ek_runner_add(controller->runner, BUILD, 0);
}

const struct ek_gates_state *ek_gates_controller_state(const struct ek_gates_controller *controller)
{
    return &controller->state;
}

struct ek_gates_watch *ek_gates_controller_watch(const struct ek_gates_controller *controller)
{
    return controller->watch;
}

struct ek_runner *ek_gates_controller_runner(struct ek_gates_controller *controller)
{
    return controller->runner;
}

static void on_part_closed(void *ctx)
{
    struct ek_gates_controller *c = ctx;

    if (--c->n_closing > 0)
        return;
    ek_gates_review_free(c->review);
    ek_gates_tally_free(c->tally);
    ek_gates_registrar_done(&c->registrar);
    ek_gates_state_done(&c->state);
    if (c->on_closed)
        c->on_closed(c->closed_ctx);
    ek_free(c);
}

void ek_gates_controller_close(struct ek_gates_controller *controller, void (*on_closed)(void *ctx),
                               void *ctx)
{
    struct ek_gates_controller *c = controller;

    if (!c)
        return;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    c->n_closing = 4;
    ek_apply_cancel(c->apply);
    ek_gates_imports_free(c->imports);
    ek_gates_status_writes_done(&c->writes);
    struct ek_runner *runner = c->runner;
    c->runner = NULL;
    ek_gates_watch_close(c->watch, on_part_closed, c);
    ek_canary_close(c->canary, on_part_closed, c);
    ek_gates_counts_close(c->counts, on_part_closed, c);
    ek_runner_close(runner, on_part_closed, c);
}
