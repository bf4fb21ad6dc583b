/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/subject.h"

#include "api/base/mem.h"
#include "controller/fieldgates/canary.h"
#include "controller/fieldgates/census.h"
#include "controller/fieldgates/counts.h"
#include "controller/fieldgates/metrics.h"
#include "controller/fieldgates/review.h"
#include "controller/telemetry/section.h"
#include "controller/webhook/registration.h"
#include "controller/webhook/webhook.h"
#include "informers/clock.h"
#include "reconcilers/fieldgates/imports.h"
#include "reconcilers/fieldgates/report.h"
#include "reconcilers/fieldgates/tally.h"

#define ADMISSION "admissionregistration.k8s.io"
#define CRD                                                                                        \
    .group = "apiextensions.k8s.io", .version = "v1", .resource = "customresourcedefinitions",     \
    .kind = "CustomResourceDefinition"

/* What is watched; deploy/components/gates grants exactly this. */
enum {
    OBJECTS,
    CRDS,       /* metadata of all */
    MUTATING,   /* our MutatingWebhookConfiguration alone */
    VALIDATING, /* our ValidatingWebhookConfiguration alone */
    NAMESPACE,  /* ours alone; not watched where it is not known */
    IMPORTS,    /* likewise: the ConfigMap that remembers imports */
    FOLLOWED,   /* CRDs that gates are named after, whole */
    ROWS,
};

static const struct ek_watch_row rows[ROWS] = {
    [OBJECTS] = {.resource = {.group = "evenkeel.dev",
                              .version = "v1alpha1",
                              .resource = "customfeaturegates",
                              .kind = "CustomFeatureGates",
                              .optional = true},
                 .flags = EK_WATCH_BLIND | EK_WATCH_DEFINED},
    [CRDS] = {.resource = {CRD, .metadata_only = true}, .flags = EK_WATCH_BLIND},
    [MUTATING] = {.resource = {.group = ADMISSION,
                               .version = "v1",
                               .resource = "mutatingwebhookconfigurations",
                               .kind = "MutatingWebhookConfiguration",
                               .field_selector = "metadata.name=" EK_GATES_MUTATING_NAME}},
    [VALIDATING] = {.resource = {.group = ADMISSION,
                                 .version = "v1",
                                 .resource = "validatingwebhookconfigurations",
                                 .kind = "ValidatingWebhookConfiguration",
                                 .field_selector = "metadata.name=" EK_GATES_VALIDATING_NAME}},
    [NAMESPACE] =
        {.resource = {.group = "", .version = "v1", .resource = "namespaces", .kind = "Namespace"},
         .flags = EK_WATCH_LATER},
    [IMPORTS] = {.resource = {.group = "",
                              .version = "v1",
                              .resource = "configmaps",
                              .kind = "ConfigMap",
                              .field_selector = "metadata.name=" EK_GATES_IMPORTS_NAME},
                 .flags = EK_WATCH_LATER},
    [FOLLOWED] = {.resource = {CRD}, .flags = EK_WATCH_FOLLOWED},
};

struct gates {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_watchset *watch;
    struct ek_gated_kinds kinds;
    struct ek_gates_registrar registrar;
    size_t publisher; /* of the webhook's certificates */
    struct ek_gates_review *review;
    struct ek_gates_counts *counts;
    struct ek_gates_tally *tally;
    struct ek_gates_imports *imports;
    struct ek_canary *canary;
    struct ek_gates_censuses *censuses;
    size_t next;    /* kind to report, in the run under way */
    bool importing; /* the run under way has begun to import */
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Reading ---- */

/* The one object of a row; NULL when it is not there. */
static const struct ek_obj *only(const struct gates *g, size_t row)
{
    EK_AUTOFREE char *import = ek_xasprintf("%s/" EK_GATES_IMPORTS_NAME, g->env->serving.namespace);
    const char *const names[ROWS] = {
        [MUTATING] = EK_GATES_MUTATING_NAME,
        [VALIDATING] = EK_GATES_VALIDATING_NAME,
        [NAMESPACE] = g->env->serving.namespace,
        [IMPORTS] = import,
    };
    return ek_watchset_get(g->watch, row, names[row]);
}

static yyjson_val *root_of(const struct ek_obj *obj)
{
    return obj ? ek_obj_root(obj) : NULL;
}

/* True when CustomFeatureGates are served. */
static bool is_served(const struct gates *g)
{
    struct ek_informer_status status;

    ek_watchset_status(g->watch, OBJECTS, &status);
    return status.synced && status.served;
}

/* ---- Observing ---- */

static void follow(void *subject)
{
    struct gates *g = subject;
    size_t n;
    struct ek_obj **items = ek_store_snapshot(ek_watchset_store(g->watch, OBJECTS), &n);
    const char **names = ek_xalloc((n + 1) * sizeof *names);
    size_t n_followed = ek_gated_kinds_followed(n);

    for (size_t i = 0; i < n_followed; i++)
        names[i] = ek_obj_name(items[i]);
    ek_watchset_follow(g->watch, FOLLOWED, names, n_followed);
    ek_free(names);
    ek_snapshot_free(items, n);
}

static enum ek_observed observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct gates *g = subject;
    size_t n;
    struct ek_obj **items = ek_store_snapshot(ek_watchset_store(g->watch, OBJECTS), &n);
    const struct ek_obj **crds = ek_xalloc((n + 1) * sizeof(struct ek_obj *));

    (void)arena;
    (void)ret_again_ms;
    for (size_t i = 0; i < n; i++)
        crds[i] = ek_watchset_get(g->watch, FOLLOWED, ek_obj_name(items[i]));
    ek_gated_kinds_update(&g->kinds, items, crds, n);
    ek_free(crds);
    ek_snapshot_free(items, n);
    return EK_OBSERVED_ALL;
}

/* A kind that cannot be enforced, its CRD being gone, is gated no more. */
static void publish(void *subject)
{
    struct gates *g = subject;
    struct ek_gates_reviewed *kinds = ek_xalloc((g->kinds.n + 1) * sizeof *kinds);
    size_t n = 0;

    for (size_t i = 0; i < g->kinds.n; i++) {
        const struct ek_gated_kind *kind = &g->kinds.kinds[i];
        if (kind->enforced)
            kinds[n++] = (struct ek_gates_reviewed){.gates = kind->enforced,
                                                    .shape = &kind->resolution.crd.shape,
                                                    .version = kind->resolution.crd.storage};
    }
    ek_gates_review_publish(g->review, kinds, n);
    ek_free(kinds);
    ek_gates_metrics_show(g->env->metrics, &g->kinds);
}

/* ---- The registration ---- */

static void standby(void *subject)
{
    struct gates *g = subject;
    ek_canary_expect(g->canary, "");
    ek_gates_censuses_follow(g->censuses, NULL);
}

static void report_orphans(struct gates *g, struct ek_arena *arena, struct ek_intents *intents)
{
    size_t n;
    const char *const *names = ek_gates_orphans(&g->kinds, root_of(only(g, MUTATING)), arena, &n);

    for (size_t i = 0; i < n; i++) {
        const struct ek_obj *crd = ek_watchset_get(g->watch, CRDS, names[i]);
        if (g->env->log)
            ek_log_info(g->env->log, "CustomFeatureGates deleted: the fields can be written",
                        EK_S("crd", names[i]));
        if (crd)
            ek_gates_plan_orphan(crd, intents);
    }
}

static void make_registration(struct gates *g, const char *bundle)
{
    const struct ek_subject_serving *s = &g->env->serving;
    const struct ek_obj *namespace = only(g, NAMESPACE);
    yyjson_val *const live[] = {[EK_GATES_MUTATING] = root_of(only(g, MUTATING)),
                                [EK_GATES_VALIDATING] = root_of(only(g, VALIDATING))};
    struct ek_webhooks_options options = ek_webhook_registration_options(s, bundle);

    options.own_namespace_uid = namespace ? ek_obj_uid(namespace) : NULL;
    options.with_definitions = s->webhook && is_served(g);
    ek_gates_registrar_make(&g->registrar, &g->kinds, live, &options, s->webhook != NULL);
}

static bool stage_registration(void *subject, int64_t now_ms, struct ek_arena *arena,
                               struct ek_intents *intents)
{
    struct gates *g = subject;
    const struct ek_resource *const resources[] = {
        [EK_GATES_MUTATING] = ek_watchset_resource(g->watch, MUTATING),
        [EK_GATES_VALIDATING] = ek_watchset_resource(g->watch, VALIDATING)};
    const struct ek_subject_serving *serving = &g->env->serving;
    EK_AUTOFREE char *bundle = ek_webhook_registration_bundle(serving);
    struct ek_err err = {0};
    const char *message;

    (void)now_ms;
    g->next = 0;
    g->importing = false;
    make_registration(g, bundle);
    ek_webhook_registration_report(serving, g->publisher, bundle, g->registrar.carries);
    const char *hash = ek_gates_registrar_expects(&g->registrar);
    if (hash)
        ek_canary_expect(g->canary, hash);
    ek_gates_registrar_prove(&g->registrar, &g->kinds, ek_canary_look(g->canary, &message));
    if (ek_gates_registrar_plan(&g->registrar, resources,
                                ek_webhook_registration_waits(serving, bundle, &err), intents) &&
        !g->registrar.standings[EK_GATES_MUTATING].current)
        report_orphans(g, arena, intents);
    return false;
}

/* ---- Statuses ---- */

static void report_one(struct gates *g, const struct ek_gated_kind *kind,
                       const struct ek_gates_standing *standing, int64_t now_ms,
                       struct ek_intents *intents)
{
    const struct ek_gates *gates = kind->defined;
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_gate_count *counted = ek_arena_alloc(arena, (gates->n_gates + 1) * sizeof *counted);

    for (size_t i = 0; i < gates->n_gates; i++)
        counted[i] = ek_gates_counts_get(g->counts, ek_obj_name(kind->obj), gates->gates[i].name);
    const struct ek_gates_counted both = {
        .census = ek_gates_censuses_of(g->censuses, gates->name),
        .counts = ek_gates_tally_of(g->tally, kind->obj, gates, counted, arena)};
    ek_gates_plan_status(kind, standing, &both, now_ms, intents);
    ek_arena_free(arena);
}

static void take_counts(struct gates *g, struct ek_intents *intents)
{
    bool taken;

    ek_intents_again(intents, ek_gates_tally_take(g->tally, (int64_t)uv_now(g->env->loop),
                                                  ek_gates_counts_are_waiting(g->counts), &taken));
    if (taken)
        ek_gates_counts_settle(g->counts);
}

static bool stage_statuses(void *subject, int64_t now_ms, struct ek_arena *arena,
                           struct ek_intents *intents)
{
    struct gates *g = subject;
    struct ek_gates_standing standing = {.serving = g->env->serving.webhook != NULL,
                                         .registrar = &g->registrar,
                                         .resource = ek_watchset_resource(g->watch, OBJECTS)};

    (void)arena;
    standing.canary = ek_canary_look(g->canary, &standing.canary_message);
    if (g->next == 0)
        ek_gates_censuses_follow(g->censuses, &g->kinds);
    take_counts(g, intents);
    while (g->next < g->kinds.n && !ek_intents_is_full(intents))
        report_one(g, &g->kinds.kinds[g->next++], &standing, now_ms, intents);
    return g->next < g->kinds.n;
}

/* ---- Imports ---- */

static yyjson_val *known_marks(const struct gates *g)
{
    return yyjson_obj_get(root_of(only(g, IMPORTS)), "data");
}

/* What was done must be known, or it would be done again. */
static bool may_import(const struct gates *g)
{
    struct ek_informer_status status;

    ek_watchset_status(g->watch, IMPORTS, &status);
    return status.synced && is_served(g);
}

static void log_import(const struct gates *g, const struct ek_event *event)
{
    if (g->env->log)
        ek_log_info(g->env->log, "Importing gates of an annotation",
                    EK_S("crd", event->regarding.name), EK_S("reason", event->reason),
                    EK_S("note", event->note));
}

static bool stage_imports(void *subject, int64_t now_ms, struct ek_arena *arena,
                          struct ek_intents *intents)
{
    struct gates *g = subject;
    size_t n;

    (void)now_ms;
    (void)arena;
    if (!g->importing && !may_import(g))
        return false;
    if (!g->importing) {
        struct ek_obj **crds = ek_store_snapshot(ek_watchset_store(g->watch, CRDS), &n);
        ek_gates_imports_begin(g->imports, crds, n, &g->kinds, known_marks(g));
        ek_snapshot_free(crds, n);
        g->importing = true;
    }
    return ek_gates_imports_plan(g->imports, ek_watchset_resource(g->watch, OBJECTS), intents);
}

static bool stage_marks(void *subject, int64_t now_ms, struct ek_arena *arena,
                        struct ek_intents *intents)
{
    struct gates *g = subject;

    (void)now_ms;
    (void)arena;
    if (!g->importing)
        return false;
    g->importing = false;
    ek_gates_imports_finish(g->imports, ek_watchset_resource(g->watch, IMPORTS), known_marks(g),
                            intents);
    for (size_t i = 0; i < intents->n; i++)
        if (intents->items[i].verb == EK_EVENT)
            log_import(g, &intents->items[i].event);
    return false;
}

/* ---- Answers ---- */

static void answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                     struct ek_err *err)
{
    struct gates *g = subject;

    switch (intent->tag) {
    case EK_GATES_TAG_REGISTRATION:
        if (err->code)
            ek_gates_registrar_fail(&g->registrar, err->message);
        break;
    case EK_GATES_TAG_STATUS:
        /* Gates that were deleted meanwhile have no status. */
        if (ek_apply_classify(err) == EK_APPLY_ABSENT)
            *err = (struct ek_err){0};
        break;
    case EK_GATES_TAG_IMPORT:
        ek_gates_imports_answered(g->imports, intent->name, err);
        if (obj) /* the Event of the import comes next */
            log_import(g, &intent[1].event);
        break;
    default:
        break;
    }
}

static void elected(void *subject)
{
    struct gates *g = subject;
    ek_gates_tally_restart(g->tally);
}

static bool peers(void *subject, const struct ek_peer_table *table)
{
    struct gates *g = subject;
    struct ek_canary_server servers[EK_CANARY_SERVERS_MAX];

    ek_canary_set_servers(g->canary, servers, ek_canary_choose(table, servers));
    return false;
}

/* ---- Life ---- */

static void on_canary(void *ctx)
{
    struct gates *g = ctx;
    ek_controller_write(g->controller, 0);
}

static void on_census(void *ctx)
{
    struct gates *g = ctx;
    ek_controller_write(g->controller, 0);
}

/* Counts are shown by and by. */
static void on_counted(void *ctx)
{
    struct gates *g = ctx;
    ek_controller_write(g->controller,
                        ek_gates_tally_wait(g->tally, (int64_t)uv_now(g->env->loop)));
}

static void on_hit(void *ctx, const char *crd, const char *gate, const char *operation,
                   bool deprecated)
{
    struct gates *g = ctx;
    ek_gates_counts_add(g->counts, crd, gate, operation, deprecated);
}

static void make_review(struct gates *g)
{
    struct ek_webhook_handler handlers[EK_GATES_REVIEW_HANDLERS];
    struct ek_webhook *webhook = g->env->serving.webhook;

    g->review = ek_gates_review_new(&(struct ek_gates_review_config){.hit = on_hit, .ctx = g});
    ek_gates_review_handlers(g->review, handlers);
    for (size_t i = 0; webhook && i < EK_GATES_REVIEW_HANDLERS; i++)
        ek_webhook_add_handler(webhook, &handlers[i]);
}

static void watch_own(struct gates *g, const char *namespace)
{
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", namespace);
    struct ek_resource own = rows[NAMESPACE].resource, imports = rows[IMPORTS].resource;

    if (!namespace || !*namespace)
        return;
    own.field_selector = selector;
    imports.namespace = namespace;
    ek_watchset_set(g->watch, NAMESPACE, &own, NULL);
    ek_watchset_set(g->watch, IMPORTS, &imports, NULL);
}

static void *new_gates(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct gates *g = ek_xalloc(sizeof *g);

    g->controller = controller;
    g->env = env;
    g->watch = ek_controller_watchset(controller);
    g->publisher = ek_webhook_registration_expect(&env->serving);
    watch_own(g, env->serving.namespace);
    g->counts = ek_gates_counts_new(env->loop, env->metrics, on_counted, g);
    g->tally = ek_gates_tally_new();
    make_review(g);
    g->canary = ek_canary_new(env->loop, env->client, on_canary, g);
    g->censuses = ek_gates_censuses_new(env->loop, env->client, ek_monotonic_ms, on_census, g);
    g->imports = ek_gates_imports_new();
    return g;
}

static void on_part_closed(void *ctx)
{
    struct gates *g = ctx;

    if (--g->n_closing > 0)
        return;
    ek_gates_review_free(g->review);
    ek_gates_tally_free(g->tally);
    ek_gates_imports_free(g->imports);
    ek_gates_registrar_done(&g->registrar);
    ek_gated_kinds_done(&g->kinds);
    g->on_closed(g->closed_ctx);
    ek_free(g);
}

static void close_gates(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct gates *g = subject;

    g->on_closed = done;
    g->closed_ctx = ctx;
    g->n_closing = 3;
    ek_gates_censuses_close(g->censuses, on_part_closed, g);
    ek_canary_close(g->canary, on_part_closed, g);
    ek_gates_counts_close(g->counts, on_part_closed, g);
}

static void debug_gates(const void *subject, const struct ek_debug_doc *doc)
{
    const struct gates *g = subject;
    const char *message;
    size_t enforced = 0;

    for (size_t i = 0; i < g->kinds.n; i++)
        enforced += g->kinds.kinds[i].enforced != NULL;
    ek_debug_put_count(doc, "kinds", g->kinds.n);
    ek_debug_put_count(doc, "enforcedKinds", enforced);
    ek_debug_put_count(doc, "provenKinds", g->registrar.n_proofs);
    ek_debug_put_bool(doc, "registrationCurrent", g->registrar.current);
    ek_debug_put_some(doc, "registrationProblem", g->registrar.failure);
    ek_debug_put_bool(doc, "canaryAnswered",
                      ek_canary_look(g->canary, &message) == EK_CANARY_ANSWERED);
    ek_debug_put_some(doc, "canaryMessage", message);
}

const struct ek_subject ek_gates_subject = {
    .name = "customfeaturegates",
    .option = "gates",
    .kind = "CustomFeatureGates",
    .part = "gate informers",
    .observe_key = "gates",
    .write_key = "registration",
    .registers = true,
    .rows = rows,
    .n_rows = ROWS,
    .metrics = ek_gates_metrics,
    .n_metrics = EK_GATES_METRICS,
    .pace = {.settle_ms = 5, .gap_ms = 250},
    .new = new_gates,
    .follow = follow,
    .observe = observe,
    .publish = publish,
    .standby = standby,
    .stages = {stage_registration, stage_statuses, stage_imports, stage_marks},
    .answered = answered,
    .elected = elected,
    .peers = peers,
    .debug = debug_gates,
    .close = close_gates,
};
