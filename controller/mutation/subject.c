/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/subject.h"

#include <stdio.h>

#include "api/base/mem.h"
#include "controller/mutation/metrics.h"
#include "controller/mutation/registrations.h"
#include "controller/mutation/snapshot.h"
#include "controller/mutation/statuses.h"
#include "controller/telemetry/section.h"
#include "controller/webhook/registration.h"
#include "controller/webhook/webhook.h"
#include "reconcilers/mutation/loading.h"

/* What changes in one turn of the loop or nearly so makes one snapshot, and at most one in GAP_MS
 * is made. */
#define SETTLE_MS 5
#define GAP_MS    250

#define NAME_SIZE 256

/* Intents of the first stage, by kind; those of statuses have none. */
#define TAG_REGISTRATION(kind) ((int)(kind) + 1)

struct mutation {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_mutation_watch *watch;
    struct ek_mutation_reporter *reporter; /* NULL without a webhook */
    struct ek_mutation_state state;
    struct ek_mutation_lists lists;
    struct ek_mutation_statuses statuses;
    struct ek_plugin_census census;
    struct ek_refusal_servers servers;
    struct ek_loading loading;
    size_t publishers[EK_REGISTRATION_KINDS];       /* of the webhook's certificates */
    struct ek_err unwritten[EK_REGISTRATION_KINDS]; /* why the last run did not write; code 0: it
                                                       did, or had nothing to write */
    bool waits[EK_REGISTRATION_KINDS];              /* unwritten because requests could not be
                                                       answered yet */
    bool is_loading;         /* params or schemas, in the state as observed last */
    bool published;          /* there is a snapshot */
    bool without_conditions; /* an API server refused the match conditions of policies */
    int n_closing;
    void (*done)(void *ctx);
    void *done_ctx;
};

struct ek_mutation_watch *ek_mutation_subject_watch(void *subject)
{
    const struct mutation *m = subject;
    return m->watch;
}

/* ---- Observing ---- */

static bool peers(void *subject, const struct ek_peer_table *table)
{
    struct mutation *m = subject;
    struct ek_refusal_servers servers;
    struct ek_native_peers now;

    ek_native_peers_read(table, ek_mutation_watch_server(m->watch), &now);
    bool changed = !ek_plugin_census_is_same(&now.census, &m->census);
    m->census = now.census;
    ek_refusal_servers_read(table, &servers);
    changed = !ek_refusal_servers_are_same(&servers, &m->servers) || changed;
    ek_refusal_servers_done(&m->servers);
    m->servers = servers;
    ek_mutation_watch_set_peers(m->watch, &now);
    return changed;
}

static bool is_ready(const void *subject)
{
    const struct mutation *m = subject;
    return ek_mutation_watch_is_known(m->watch);
}

static enum ek_observed observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct mutation *m = subject;
    struct ek_loading_plan plan;

    (void)arena;
    if (!ek_mutation_watch_is_known(m->watch))
        return EK_OBSERVED_NOTHING;
    ek_mutation_state_update(&m->state, m->watch, &m->census, m->env->serving.webhook != NULL);
    ek_mutation_state_follow(&m->state, m->watch);
    if (m->reporter)
        ek_mutation_reporter_sync(m->reporter);
    bool synced = ek_mutation_params_are_settled(ek_mutation_watch_params(m->watch)) &&
                  ek_mutation_schemas_are_settled(ek_mutation_watch_schemas(m->watch));
    ek_loading_plan(&m->loading, synced, m->published, (int64_t)uv_now(m->env->loop), &plan);
    m->is_loading = plan.loading;
    *ret_again_ms = plan.again_ms;
    if (!plan.publish)
        return EK_OBSERVED_NOTHING;
    return plan.write ? EK_OBSERVED_ALL : EK_OBSERVED_PART;
}

static void show(const struct mutation *m)
{
    const struct ek_store *statuses = ek_mutation_watch_store(m->watch, EK_MUTATION_STATUSES);
    EK_AUTOFREE struct ek_policy_shown *shown =
        ek_xalloc((m->state.n_policies + 1) * sizeof *shown);
    size_t n = 0;

    for (size_t i = 0; i < m->state.n_policies; i++) {
        const struct ek_policy_entry *entry = &m->state.policies[i];
        if (!ek_policy_has_status(entry->policy, entry->shares_name))
            continue;
        const struct ek_obj *obj = ek_store_get(statuses, entry->policy->name);
        shown[n++] = (struct ek_policy_shown){
            entry->policy, obj ? yyjson_obj_get(ek_obj_root(obj), "status") : NULL};
    }
    ek_mutation_metrics_show(m->env->metrics, shown, n);
}

static void publish(void *subject)
{
    struct mutation *m = subject;

    if (m->env->serving.webhook)
        ek_webhook_publish(
            m->env->serving.webhook,
            ek_mutation_snapshot_make(&m->state, m->watch, &m->lists, m->is_loading));
    m->published = true;
    show(m);
}

/* ---- Writing ---- */

static struct ek_webhooks_options options_of(const struct mutation *m, const char *bundle)
{
    struct ek_webhooks_options options = ek_webhook_registration_options(&m->env->serving, bundle);

    options.without_conditions = m->without_conditions;
    options.with_definitions = m->env->serving.webhook != NULL;
    return options;
}

static void plan_registration(struct mutation *m, enum ek_registration_kind kind,
                              struct ek_intents *intents)
{
    const struct ek_subject_serving *serving = &m->env->serving;
    const struct ek_resource *resource =
        ek_mutation_watch_resource(m->watch, ek_registration_resources[kind]);
    EK_AUTOFREE char *bundle = ek_webhook_registration_bundle(serving);
    const struct ek_webhooks_options options = options_of(m, bundle);
    EK_AUTO(ek_registration_write) w;

    m->unwritten[kind] = (struct ek_err){0};
    m->waits[kind] = false;
    ek_registration_write_plan(&m->state, m->watch, &options, kind, &w);
    ek_webhook_registration_report(serving, m->publishers[kind], bundle, w.carries);
    if (w.current)
        return;
    m->waits[kind] =
        !w.withdraws && ek_webhook_registration_waits(serving, bundle, &m->unwritten[kind]) != NULL;
    if (m->waits[kind])
        ek_intents_again(intents, EK_WEBHOOKS_NOT_READY_MS);
    else
        ek_webhooks_apply(intents, resource, EK_REGISTRATION_NAME, w.content)->tag =
            TAG_REGISTRATION(kind);
}

static bool plan_registrations(void *subject, int64_t now_ms, struct ek_arena *arena,
                               struct ek_intents *intents)
{
    struct mutation *m = subject;

    (void)now_ms;
    (void)arena;
    ek_mutation_statuses_begin(&m->statuses);
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        plan_registration(m, kind, intents);
    return false;
}

static struct ek_policy_unregistered *find_unregistered(const struct mutation *m,
                                                        struct ek_arena *arena)
{
    struct ek_registration_standing standings[EK_REGISTRATION_KINDS] = {0};
    const struct ek_webhooks_options options = options_of(m, NULL);
    yyjson_mut_doc *doc = ek_json_doc_new();

    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++) {
        if (!m->unwritten[kind].code)
            continue;
        ek_registration_standing_read(&m->state, m->watch, &options, kind, doc, &standings[kind]);
        standings[kind].error = m->unwritten[kind].message;
        standings[kind].waits = m->waits[kind];
    }
    struct ek_policy_unregistered *blocks = ek_policies_unregistered(&m->state, standings, arena);
    yyjson_mut_doc_free(doc);
    return blocks;
}

static bool plan_statuses(void *subject, int64_t now_ms, struct ek_arena *arena,
                          struct ek_intents *intents)
{
    struct mutation *m = subject;
    EK_AUTOFREE struct ek_policy_unregistered *unregistered = find_unregistered(m, arena);

    return ek_mutation_statuses_plan(&m->statuses, &m->state, m->watch, m->reporter, &m->servers,
                                     unregistered, now_ms, intents);
}

/* A refused registration is written again without match conditions; if they were not the reason,
 * the failure is reported then. */
static void answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                     struct ek_err *err)
{
    struct mutation *m = subject;
    int kind = 0;

    (void)obj;
    while (kind < EK_REGISTRATION_KINDS && intent->tag != TAG_REGISTRATION(kind))
        kind++;
    if (kind == EK_REGISTRATION_KINDS)
        return;
    if (m->without_conditions || ek_apply_classify(err) != EK_APPLY_TERMINAL) {
        m->unwritten[kind] = *err;
        return;
    }
    if (m->env->log)
        ek_log_error(m->env->log, err,
                     "Registering webhooks without the policies' match conditions");
    m->without_conditions = true;
    *err = (struct ek_err){0};
    ek_controller_write(m->controller, SETTLE_MS);
}

/* ---- Life ---- */

static void on_part(void *ctx)
{
    const struct mutation *m = ctx;
    ek_controller_observe(m->controller);
}

static void on_results(void *ctx)
{
    const struct mutation *m = ctx;
    ek_controller_write(m->controller, 0);
}

static struct ek_mutation_reporter *make_reporter(struct mutation *m)
{
    return ek_mutation_reporter_new(
        &(struct ek_mutation_reporter_config){.loop = m->env->loop,
                                              .webhook = m->env->serving.webhook,
                                              .state = &m->state,
                                              .recorder = m->env->recorder,
                                              .now_ms = m->env->now_ms,
                                              .changed = on_results,
                                              .ctx = m});
}

static void *make(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct mutation *m = ek_xalloc(sizeof *m);

    m->controller = controller;
    m->env = env;
    for (int i = 0; i < EK_REGISTRATION_KINDS; i++)
        m->publishers[i] = ek_webhook_registration_expect(&env->serving);
    m->watch = ek_mutation_watch_new(
        &(struct ek_mutation_watch_config){.loop = env->loop,
                                           .client = env->client,
                                           .set = ek_controller_watchset(controller),
                                           .changed = on_part,
                                           .ctx = m});
    ek_watchset_set_seen(ek_controller_watchset(controller), m);
    if (env->serving.webhook)
        m->reporter = make_reporter(m);
    return m;
}

static void start(void *subject)
{
    const struct mutation *m = subject;
    ek_mutation_watch_start(m->watch);
}

/* Objects of any kind may be params: of one that is watched otherwise, too. */
static void informers(void *subject,
                      void (*fn)(void *arg, const char *name, struct ek_informer *informer),
                      void *arg)
{
    const struct mutation *m = subject;
    const struct ek_mutation_params *params = ek_mutation_watch_params(m->watch);
    bool end = false;

    for (size_t i = 0; !end; i++) {
        struct ek_informer *informer = ek_mutation_params_informer(params, i, &end);
        char name[NAME_SIZE];
        if (!informer)
            continue;
        snprintf(name, sizeof name, "params-%s", ek_informer_resource(informer)->resource);
        fn(arg, name, informer);
    }
}

static void on_part_closed(void *ctx)
{
    struct mutation *m = ctx;

    if (--m->n_closing > 0)
        return;
    ek_mutation_state_done(&m->state);
    ek_mutation_lists_done(&m->lists);
    ek_refusal_servers_done(&m->servers);
    m->done(m->done_ctx);
    ek_free(m);
}

static void end(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct mutation *m = subject;

    m->done = done;
    m->done_ctx = ctx;
    m->n_closing = m->reporter ? 2 : 1;
    if (m->reporter)
        ek_mutation_reporter_close(m->reporter, on_part_closed, m);
    ek_mutation_watch_close(m->watch, on_part_closed, m);
}

static void debug(const void *subject, const struct ek_debug_doc *doc)
{
    const struct mutation *m = subject;

    ek_debug_put_count(doc, "policies", m->state.n_policies);
    ek_debug_put_count(doc, "bindings", m->state.n_bindings);
    ek_debug_put_count(doc, "boundPolicies", m->state.n_bound);
    ek_debug_put_count(doc, "compiledSinceStart", m->state.compiled);
    ek_debug_put_bool(doc, "snapshotPublished", m->published);
    ek_debug_put_bool(doc, "readingParamsOrSchemas", m->is_loading);
    ek_debug_put_bool(doc, "matchConditionsRefused", m->without_conditions);
    ek_debug_put_count(doc, "apiServersWithPlugin", m->census.runs);
    ek_debug_put_count(doc, "apiServersWithoutPlugin", m->census.absent);
    ek_debug_put_count(doc, "apiServersUnknown", m->census.unknown);
}

const struct ek_subject ek_mutation_subject = {
    .name = "mutatingadmissionpolicy",
    .option = "policies",
    .kind = "MutatingAdmissionPolicy",
    .part = "policy informers",
    .observe_key = "policies",
    .write_key = "registration",
    .registers = true,
    .rows = ek_mutation_rows,
    .n_rows = EK_ARRAY_SIZE(ek_mutation_rows),
    .metrics = ek_mutation_metrics,
    .n_metrics = EK_MUTATION_METRICS,
    .pace = {.settle_ms = SETTLE_MS, .gap_ms = GAP_MS},
    .new = make,
    .start = start,
    .is_ready = is_ready,
    .observe = observe,
    .publish = publish,
    .stages = {plan_registrations, plan_statuses},
    .answered = answered,
    .peers = peers,
    .informers = informers,
    .debug = debug,
    .close = end,
};
