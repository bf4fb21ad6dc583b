/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew_controller.h"

#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "controller/apply.h"
#include "reconcilers/skew/metrics.h"

/* The one key: there is one ControlPlane. */
#define KEY "cluster"

/* What changes in one turn of the loop or nearly so (the nodes of a list) makes one plan. */
#define SETTLE_MS 5

/* Changes without end make one plan each PACE_MS; in a cluster so big that a plan takes long, the
 * next one waits for PACE_SHARE times its CPU time. */
#define PACE_MS     25
#define PACE_SHARE  3
#define PACE_MAX_MS 1000

/* Before the second plan, whose object must have come back through the informer. */
#define CREATED_MS 50

#define METRICS_GROUP "skew"

static const struct ek_resource control_planes = {.group = "evenkeel.dev",
                                                  .version = "v1alpha1",
                                                  .resource = "controlplanes",
                                                  .kind = "ControlPlane"};

struct ek_skew_controller {
    struct ek_skew_controller_config config;
    struct ek_skew_watch *watch;
    struct ek_runner *runner;
    struct ek_obj *written;           /* what the server returned last, NULL before */
    struct ek_apply *apply;           /* under way, NULL otherwise */
    struct ek_reconcile *run;         /* whose apply it is */
    struct ek_skew_plan plan;         /* of that run; owns its document */
    struct ek_skew_snapshot snapshot; /* likewise */
    uint64_t next_plan_ms;            /* uv_now before which changes wait, see PACE_MS */
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static int64_t wall_clock(void)
{
    struct timeval tv;
    gettimeofday(&tv, NULL);
    return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

static void on_change(void *ctx)
{
    struct ek_skew_controller *c = ctx;
    if (!c->runner)
        return;
    uint64_t now = uv_now(c->config.loop);
    uint64_t due = c->next_plan_ms > now + SETTLE_MS ? c->next_plan_ms : now + SETTLE_MS;
    ek_runner_add_after(c->runner, KEY, 0, (int64_t)(due - now));
}

static void forget_written(struct ek_skew_controller *c)
{
    ek_obj_unref(c->written);
    c->written = NULL;
}

/* Deleted by somebody: what was written is no longer there, and will be made anew. */
static void on_control_plane(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                             const struct ek_obj *obj, bool initial)
{
    (void)old;
    (void)obj;
    (void)initial;
    if (change == EK_STORE_DELETED)
        forget_written(ctx);
}

/* True when what was written is newer than what the informer has. Not so when the object came and
 * went while the informer saw neither, or when versions cannot be compared. */
static bool is_ahead(struct ek_skew_controller *c, const struct ek_obj *seen)
{
    const struct ek_resource *resource;
    const char *written = ek_obj_resource_version(c->written);
    int order = 0;

    if (!seen)
        return !ek_store_has_reached(
            ek_informer_store(ek_skew_watch_informer(c->watch, 0, &resource)), written);
    return !ek_resource_version_compare(written, ek_obj_resource_version(seen), &order) &&
           order > 0;
}

static void use_written(struct ek_skew_controller *c, struct ek_skew_view *view)
{
    if (!c->written)
        return;
    if (is_ahead(c, view->control_plane))
        view->control_plane = c->written;
    else
        forget_written(c);
}

static void export_metrics(struct ek_skew_controller *c)
{
    struct ek_metric_sample *samples =
        ek_xalloc((c->plan.n_metrics + 1) * sizeof(struct ek_metric_sample));

    for (size_t i = 0; i < c->plan.n_metrics; i++) {
        samples[i].name = c->plan.metrics[i].name;
        samples[i].value = c->plan.metrics[i].value;
        memcpy(samples[i].labels, c->plan.metrics[i].labels, sizeof samples[i].labels);
    }
    ek_metrics_replace(c->config.metrics, METRICS_GROUP, samples, c->plan.n_metrics);
    ek_free(samples);
}

static void record_events(struct ek_skew_controller *c, const struct ek_obj *object)
{
    for (size_t i = 0; c->config.recorder && i < c->plan.n_events; i++) {
        const struct ek_skew_event *e = &c->plan.events[i];
        struct ek_event event = {
            .regarding = {.api_version = "evenkeel.dev/v1alpha1",
                          .kind = "ControlPlane",
                          .namespace = "",
                          .name = KEY,
                          .uid = ek_obj_uid(object),
                          .resource_version = ek_obj_resource_version(object)},
            .warning = e->warning,
            .reason = e->reason,
            .action = e->action,
            .note = e->note,
        };
        ek_recorder_record(c->config.recorder, &event);
    }
}

/* Ends the run and releases what it worked on. */
static void finish(struct ek_skew_controller *c, const struct ek_err *err)
{
    struct ek_reconcile *run = c->run;
    struct ek_outcome outcome = {.requeue_after_ms = err ? 0 : c->plan.requeue_after_ms};

    c->run = NULL;
    ek_skew_plan_done(&c->plan);
    ek_skew_snapshot_done(&c->snapshot);
    ek_reconcile_done(run, outcome, err);
}

static void take_written(struct ek_skew_controller *c, const struct ek_obj *object)
{
    forget_written(c);
    c->written = ek_obj_ref(object);
}

static void on_status_applied(void *ctx, const struct ek_obj *object, const struct ek_err *err)
{
    struct ek_skew_controller *c = ctx;

    c->apply = NULL;
    if (!err) {
        take_written(c, object);
        record_events(c, object);
    } else if (ek_apply_classify(err) == EK_APPLY_ABSENT) {
        /* It came and went while the informer saw nothing, which then never tells of its end. */
        forget_written(c);
    }
    finish(c, err);
}

static void on_created(void *ctx, const struct ek_obj *object, const struct ek_err *err)
{
    struct ek_skew_controller *c = ctx;
    struct ek_err told;

    c->apply = NULL;
    if (!err) {
        if (object)
            take_written(c, object);
        /* The status belongs to a plan that knows the object. */
        c->plan.requeue_after_ms = CREATED_MS;
        finish(c, NULL);
        return;
    }
    told = *err;
    if (ek_apply_classify(err) == EK_APPLY_ABSENT)
        ek_err_set(&told, err->code,
                   "the cluster does not serve controlplanes.evenkeel.dev: install the "
                   "CustomResourceDefinition (kubectl apply -k deploy)");
    finish(c, &told);
}

static void create(struct ek_skew_controller *c)
{
    struct ek_apply_target target = {.resource = &control_planes, .name = KEY};
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *content = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_obj(doc, content, "spec");
    c->apply = ek_apply_create(c->config.client, &target, content, on_created, c);
    yyjson_mut_doc_free(doc);
}

static void apply_status(struct ek_skew_controller *c)
{
    struct ek_apply_target target = {.resource = &control_planes,
                                     .name = KEY,
                                     .uid = ek_obj_uid(c->snapshot.view.control_plane)};
    yyjson_mut_val *content = yyjson_mut_obj(c->plan.doc);

    yyjson_mut_obj_add_val(c->plan.doc, content, "status", c->plan.status);
    c->apply = ek_apply_status(c->config.client, &target, content, on_status_applied, c);
}

/* Whether the ControlPlane exists is not known: creating it again and again would tell nobody. */
static void finish_unreadable(struct ek_skew_controller *c)
{
    struct ek_err err;

    ek_err_set(&err, EK_E_FORBIDDEN, "controlplanes.evenkeel.dev could not be read: %s",
               c->snapshot.view.control_plane_why);
    finish(c, &err);
}

/* Not wall time: what others take from us says nothing about a plan. */
static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Sets when the next change may be planned for, by how long this plan took. */
static void pace(struct ek_skew_controller *c, int64_t begun_ns)
{
    uint64_t gap_ms = (uint64_t)(cpu_ns() - begun_ns) * PACE_SHARE / 1000000;

    gap_ms = gap_ms < PACE_MS ? PACE_MS : gap_ms > PACE_MAX_MS ? PACE_MAX_MS : gap_ms;
    c->next_plan_ms = uv_now(c->config.loop) + gap_ms;
}

static void make_plan(struct ek_skew_controller *c)
{
    int64_t begun_ns = cpu_ns();

    ek_skew_watch_snapshot(c->watch, &c->snapshot);
    use_written(c, &c->snapshot.view);
    ek_skew_plan_make(&c->snapshot.view, ek_reconcile_arena(c->run), &c->plan);
    ek_skew_watch_set_targets(c->watch, &c->plan, true);
    export_metrics(c);
    if (c->config.planned)
        c->config.planned(c->config.ctx, &c->snapshot.view);
    pace(c, begun_ns);
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct ek_skew_controller *c = ctx;

    (void)key;
    c->run = run;
    make_plan(c);
    bool writes = c->config.may_write(c->config.ctx);
    if (writes && c->snapshot.view.control_plane_why)
        finish_unreadable(c);
    else if (writes && c->plan.create)
        create(c);
    else if (writes && c->plan.status_changed)
        apply_status(c);
    else
        finish(c, NULL);
}

static void register_metrics(struct ek_metrics *metrics)
{
    size_t n;
    const struct ek_skew_family *families = ek_skew_families(&n);

    for (size_t i = 0; i < n; i++) {
        struct ek_metric_desc desc = {.name = families[i].name,
                                      .help = families[i].help,
                                      .type = EK_METRIC_GAUGE,
                                      .snapshot = METRICS_GROUP};
        memcpy(desc.labels, families[i].labels, sizeof desc.labels);
        ek_metrics_register(metrics, &desc);
    }
}

struct ek_skew_controller *ek_skew_controller_new(const struct ek_skew_controller_config *config)
{
    struct ek_skew_controller *c = ek_xalloc(sizeof *c);
    const struct ek_resource *resource;

    c->config = *config;
    register_metrics(config->metrics);
    c->watch = ek_skew_watch_new(config->loop, config->client, wall_clock, on_change, c);
    ek_store_add_handler(ek_informer_store(ek_skew_watch_informer(c->watch, 0, &resource)),
                         on_control_plane, c);
    struct ek_runner_config runner = {
        .name = "controlplane",
        .workers = 1,
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
    struct ek_skew_controller *c = ctx;
    (void)err;
    ek_skew_watch_start(c->watch);
    return 0;
}

static bool watch_ready(void *ctx)
{
    struct ek_skew_controller *c = ctx;
    return ek_skew_watch_is_settled(c->watch);
}

void ek_skew_controller_runnables(struct ek_skew_controller *controller,
                                  struct ek_runnable *ret_watch, struct ek_runnable *ret_runner)
{
    *ret_watch = (struct ek_runnable){.name = "skew informers",
                                      .group = EK_GROUP_CACHES,
                                      .start = start_watch,
                                      .ready = watch_ready,
                                      .ctx = controller};
    ek_runner_runnable(controller->runner, ret_runner);
    ek_runner_add(controller->runner, KEY, 0);
}

void ek_skew_controller_poke(struct ek_skew_controller *controller)
{
    ek_runner_add(controller->runner, KEY, 0);
}

struct ek_skew_watch *ek_skew_controller_watch(struct ek_skew_controller *controller)
{
    return controller->watch;
}

struct ek_runner *ek_skew_controller_runner(struct ek_skew_controller *controller)
{
    return controller->runner;
}

static void on_part_closed(void *ctx)
{
    struct ek_skew_controller *c = ctx;

    if (--c->n_closing > 0)
        return;
    if (c->on_closed)
        c->on_closed(c->closed_ctx);
    ek_free(c);
}

void ek_skew_controller_close(struct ek_skew_controller *controller, void (*on_closed)(void *ctx),
                              void *ctx)
{
    struct ek_skew_controller *c = controller;

    if (!c)
        return;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    c->n_closing = 2;
    if (c->run) {
        ek_apply_cancel(c->apply);
        ek_skew_plan_done(&c->plan);
        ek_skew_snapshot_done(&c->snapshot);
    }
    forget_written(c);
    struct ek_runner *runner = c->runner;
    c->runner = NULL;
    ek_skew_watch_close(c->watch, on_part_closed, c);
    ek_runner_close(runner, on_part_closed, c);
}
