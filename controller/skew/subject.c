/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/subject.h"

#include <string.h>

#include "controller/skew/documents_metrics.h"
#include "controller/skew/watch.h"
#include "controller/telemetry/section.h"
#include "reconcilers/peers/view_source.h"
#include "reconcilers/skew/intents.h"
#include "reconcilers/skew/metrics.h"

#define METRICS_GROUP "skew"

struct skew {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_skew_watch *watch;
    struct ek_view_source *views;                   /* what each API server serves */
    struct ek_documents_metrics *documents_metrics; /* NULL: there are no metrics */
    int64_t excluded_ms;              /* when time changes what is left out; 0: never */
    bool planned;                     /* the two below are of the run under way */
    struct ek_skew_plan plan;         /* owns its document; the rest is in the run's arena */
    struct ek_skew_snapshot snapshot; /* owns what it shows */
    /* Of the last plan, for debugging. */
    size_t n_peers, n_targets;
    bool enumerated, probed;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static void on_probed(void *ctx)
{
    const struct skew *skew = ctx;
    ek_controller_observe(skew->controller);
}

static void register_metrics(struct ek_metrics *metrics)
{
    size_t n;
    const struct ek_skew_family *families = ek_skew_families(&n);

    for (size_t i = 0; metrics && i < n; i++) {
        struct ek_metric_desc desc = {.name = families[i].name,
                                      .help = families[i].help,
                                      .type = EK_METRIC_GAUGE,
                                      .snapshot = METRICS_GROUP};
        memcpy(desc.labels, families[i].labels, sizeof desc.labels);
        ek_metrics_register(metrics, &desc);
    }
}

static bool publishes_metrics(const struct ek_subject_env *env)
{
    return env->documents_ms == 0;
}

static void *skew_new(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct skew *skew = ek_xalloc(sizeof *skew);

    skew->controller = controller;
    skew->env = env;
    skew->views = ek_view_source_new();
    if (publishes_metrics(env))
        register_metrics(env->metrics);
    if (env->metrics)
        skew->documents_metrics = ek_documents_metrics_new(env->metrics, publishes_metrics(env));
    skew->watch =
        ek_skew_watch_new(&(struct ek_skew_watch_config){.loop = env->loop,
                                                         .client = env->client,
                                                         .set = ek_controller_watchset(controller),
                                                         .account = env->account,
                                                         .now = env->now_ms,
                                                         .documents_ms = env->documents_ms,
                                                         .changed = on_probed,
                                                         .ctx = skew});
    return skew;
}

static void skew_ended(void *subject)
{
    struct skew *skew = subject;

    if (!skew->planned)
        return;
    ek_skew_plan_done(&skew->plan);
    ek_skew_snapshot_done(&skew->snapshot);
    skew->planned = false;
}

/* Makes the next view of the documents, for the plan and for those who route by it. */
static const struct ek_view *make_documents(void *ctx, const struct ek_peer_table *peers)
{
    static const struct ek_exclusions none = {0};
    struct skew *skew = ctx;
    const struct ek_subject_env *env = skew->env;
    int64_t now_ms = skew->snapshot.view.now_ms;

    skew->excluded_ms = 0;
    const struct ek_exclusions *exclusions =
        env->exclusions ? env->exclusions(env->ctx, now_ms, &skew->excluded_ms) : &none;
    EK_AUTOPTR(ek_view, ek_view_unref) *before = NULL;
    if (ek_view_source_view(skew->views))
        before = ek_view_ref(ek_view_source_view(skew->views));
    uint64_t begin_ns = uv_hrtime();
    const struct ek_view *view = ek_view_source_update(skew->views, peers, exclusions, now_ms);
    uint64_t took_ns = uv_hrtime() - begin_ns;
    if (view && ek_view_is_complete(view) && !ek_view_shares_merged(before, view))
        ek_documents_metrics_merged(skew->documents_metrics, (double)took_ns / 1e9);
    const struct ek_view_counts counts = ek_view_source_counts(skew->views);
    ek_documents_metrics_count(skew->documents_metrics, &counts);
    if (view && env->publish_view)
        env->publish_view(env->ctx, view, took_ns);
    return ek_view_source_view(skew->views);
}

static void sooner(int64_t *again_ms, int64_t ms)
{
    if (ms && ms < *again_ms)
        *again_ms = ms;
}

/* In how many milliseconds time alone will change something. */
static int64_t again_in(const struct skew *skew)
{
    int64_t again_ms = skew->plan.requeue_after_ms;

    /* A plan that waits for probes of other components waits in vain: probes make the next one. */
    if (again_ms < skew->env->documents_ms)
        again_ms = skew->env->documents_ms;
    sooner(&again_ms, ek_view_source_again_ms(skew->views, skew->snapshot.view.now_ms));
    sooner(&again_ms, skew->excluded_ms);
    return again_ms;
}

static enum ek_observed skew_observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct skew *skew = subject;

    ek_skew_watch_snapshot(skew->watch, &skew->snapshot);
    skew->snapshot.view.make_documents = make_documents;
    skew->snapshot.view.documents_ctx = skew;
    ek_skew_plan_make(&skew->snapshot.view, arena, &skew->plan);
    skew->planned = true;
    skew->n_peers = skew->plan.peers->n;
    skew->n_targets = skew->plan.n_targets;
    skew->enumerated = skew->plan.peers->enumerated;
    skew->probed = skew->plan.peers->probed;
    ek_skew_watch_set_targets(skew->watch, &skew->plan, true);
    if (skew->env->publish_bounds)
        skew->env->publish_bounds(skew->env->ctx, skew->plan.bounds);
    *ret_again_ms = again_in(skew);
    return EK_OBSERVED_ALL;
}

static void replace_metrics(struct ek_metrics *metrics, const struct ek_skew_plan *plan)
{
    struct ek_metric_sample *samples =
        ek_xalloc((plan->n_metrics + 1) * sizeof(struct ek_metric_sample));

    for (size_t i = 0; i < plan->n_metrics; i++) {
        samples[i].name = plan->metrics[i].name;
        samples[i].value = plan->metrics[i].value;
        memcpy(samples[i].labels, plan->metrics[i].labels, sizeof samples[i].labels);
    }
    ek_metrics_replace(metrics, METRICS_GROUP, samples, plan->n_metrics);
    ek_free(samples);
}

static void skew_publish(void *subject)
{
    const struct skew *skew = subject;

    if (publishes_metrics(skew->env))
        replace_metrics(skew->env->metrics, &skew->plan);
    if (skew->env->publish_peers)
        skew->env->publish_peers(skew->env->ctx, skew->plan.peers);
    if (skew->env->publish_facts && skew->plan.probed)
        skew->env->publish_facts(skew->env->ctx, skew->plan.facts, skew->plan.spec);
}

static bool skew_write(void *subject, int64_t now_ms, struct ek_arena *arena,
                       struct ek_intents *intents)
{
    const struct skew *skew = subject;

    (void)now_ms;
    (void)arena;
    ek_skew_intents(&skew->snapshot.view, &skew->plan, intents);
    return false;
}

static void skew_answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                          struct ek_err *err)
{
    const struct skew *skew = subject;

    if (obj)
        ek_skew_watch_wrote(skew->watch, obj);
    /* The object came and went while the informer saw nothing, and will not report its end. */
    else if (intent->verb == EK_APPLY_STATUS && ek_apply_classify(err) == EK_APPLY_ABSENT)
        ek_skew_watch_wrote(skew->watch, NULL);
    ek_skew_explain(intent, err);
}

static struct ek_prober *skew_prober(const void *subject)
{
    const struct skew *skew = subject;
    return ek_skew_watch_prober(skew->watch);
}

static void debug_tag(const struct ek_debug_doc *doc, const char *name,
                      const struct ek_view_document *document)
{
    if (document)
        ek_debug_put(doc, name, document->etag);
}

/* Whether requests may go to the i-th API server of the view. */
static void debug_routable(const struct skew *skew, const struct ek_debug_doc *doc, size_t i)
{
    size_t n = 0;
    const struct ek_view_peer *peer = &ek_view_peers(ek_view_source_view(skew->views), &n)[i];

    ek_debug_put(doc, "name", peer->name);
    ek_debug_put_bool(doc, "routable", peer->routable);
    ek_debug_put_some(doc, "reason", ek_view_source_why_not(skew->views, i));
    ek_debug_put_bool(doc, "down", peer->down);
    ek_debug_put_wall(doc, "documentsTime", peer->fetched_ms);
}

static const char *skew_debug_peer(const void *subject, const char *address,
                                   const struct ek_debug_doc *doc)
{
    const struct skew *skew = subject;
    const struct ek_view *view = ek_view_source_view(skew->views);
    size_t n = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(peers[i].address, address) != 0)
            continue;
        debug_routable(skew, doc, i);
        return peers[i].name;
    }
    return NULL;
}

/* A Lease alone names it, or nothing any more: its absence holds answers back all the same. */
static size_t skew_debug_unprobed(const void *subject, const struct ek_debug_doc *doc,
                                  yyjson_mut_val *list)
{
    const struct skew *skew = subject;
    const struct ek_view *view = ek_view_source_view(skew->views);
    size_t n = 0, count = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;

    for (size_t i = 0; i < n; i++) {
        if (*peers[i].address)
            continue;
        struct ek_debug_doc item = ek_debug_item(doc, list);
        ek_debug_put(&item, "component", "kube-apiserver");
        debug_routable(skew, &item, i);
        count++;
    }
    return count;
}

/* What each API server serves: whether requests may go there, and its documents. */
static void debug_views(const struct skew *skew, const struct ek_debug_doc *doc)
{
    const struct ek_view *view = ek_view_source_view(skew->views);
    size_t n = 0;

    if (!view)
        return;
    ek_view_peers(view, &n);
    ek_debug_put_bool(doc, "discoveryComplete", ek_view_is_complete(view));
    debug_tag(doc, "mergedApiTag", ek_view_merged(view, EK_VIEW_API, EK_VIEW_V2));
    debug_tag(doc, "mergedApisTag", ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc->doc, doc->at, "discovery");
    for (size_t i = 0; i < n; i++) {
        struct ek_debug_doc item = ek_debug_item(doc, list);
        debug_routable(skew, &item, i);
        debug_tag(&item, "apiTag", ek_view_own(view, i, EK_VIEW_API, EK_VIEW_V2));
        debug_tag(&item, "apisTag", ek_view_own(view, i, EK_VIEW_APIS, EK_VIEW_V2));
    }
}

static void skew_debug(const void *subject, const struct ek_debug_doc *doc)
{
    const struct skew *skew = subject;

    ek_debug_put_count(doc, "apiServers", skew->n_peers);
    ek_debug_put_bool(doc, "allApiServersKnown", skew->enumerated);
    ek_debug_put_count(doc, "probeTargets", skew->n_targets);
    ek_debug_put_bool(doc, "allProbed", skew->probed);
    debug_views(skew, doc);
}

static void on_watch_closed(void *ctx)
{
    struct skew *skew = ctx;

    skew->on_closed(skew->closed_ctx);
    ek_documents_metrics_free(skew->documents_metrics);
    ek_view_source_free(skew->views);
    ek_free(skew);
}

static void skew_close(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct skew *skew = subject;

    skew_ended(skew);
    skew->on_closed = done;
    skew->closed_ctx = ctx;
    ek_skew_watch_close(skew->watch, on_watch_closed, skew);
}

const struct ek_subject ek_skew_subject = {
    .name = "controlplane",
    .option = "skew",
    .kind = "ControlPlane",
    .part = "skew informers",
    .observe_key = "cluster", /* there is one ControlPlane */
    .rows = ek_skew_rows,
    .n_rows = EK_SKEW_ROWS,
    /* What changes nearly at once (the nodes of a list) makes one plan; changes without end make
     * one each 25 ms, and in a cluster so big that a plan takes long the next one waits longer. */
    .pace = {.settle_ms = 5, .gap_ms = 25, .share = 3, .max_gap_ms = 1000},
    .new = skew_new,
    .observe = skew_observe,
    .publish = skew_publish,
    .stages = {skew_write},
    .answered = skew_answered,
    .ended = skew_ended,
    .prober = skew_prober,
    .debug = skew_debug,
    .debug_peer = skew_debug_peer,
    .debug_unprobed = skew_debug_unprobed,
    .close = skew_close,
};
