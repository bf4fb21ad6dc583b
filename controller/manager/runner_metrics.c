/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/runner_metrics.h"

/* Lines per minute and controller. */
#define FAILURES_MAX 10

static void on_begin(void *ctx)
{
    struct ek_runner_metrics *m = ctx;
    ek_controller_metrics_begin(&m->runs);
}

static void on_end(void *ctx, enum ek_reconciled result, int64_t duration_ms)
{
    struct ek_runner_metrics *m = ctx;
    ek_controller_metrics_end(&m->runs, result, (double)duration_ms / 1000);
}

static void on_failed(void *ctx, const char *key, const char *id, enum ek_reconciled result,
                      const struct ek_err *err)
{
    struct ek_runner_metrics *m = ctx;
    (void)result;
    ek_log_error_within(m->log, err, &m->failures, "Reconciler error",
                        EK_S("controller", m->controller), EK_S("controllerGroup", "evenkeel.dev"),
                        EK_S("controllerKind", m->kind), EK_S("name", key),
                        EK_S("reconcileID", id));
}

static void on_get(void *ctx, int priority, int64_t waited_ms)
{
    struct ek_runner_metrics *m = ctx;
    (void)priority;
    ek_queue_metrics_got(&m->keys, (double)waited_ms / 1000);
}

static void on_done(void *ctx, int64_t worked_ms)
{
    struct ek_runner_metrics *m = ctx;
    ek_queue_metrics_done(&m->keys, (double)worked_ms / 1000);
}

void ek_runner_metrics_init(struct ek_runner_metrics *metrics, struct ek_standard_metrics *standard,
                            struct ek_log *log, const char *controller, const char *kind,
                            unsigned workers)
{
    *metrics = (struct ek_runner_metrics){.controller = controller,
                                          .kind = kind,
                                          .log = log,
                                          .queue = EK_QUEUE_CONFIG_DEFAULT,
                                          .failures = {.burst = FAILURES_MAX, .period_ms = 60000}};
    metrics->queue.on_get = on_get;
    metrics->queue.on_done = on_done;
    metrics->queue.ctx = metrics;
    ek_controller_metrics_init(&metrics->runs, standard, controller, workers);
    ek_queue_metrics_init(&metrics->keys, standard, controller);
}

struct ek_runner_observer ek_runner_metrics_observer(struct ek_runner_metrics *metrics)
{
    return (struct ek_runner_observer){
        .begin = on_begin, .end = on_end, .failed = on_failed, .ctx = metrics};
}

static void put_depth(void *ctx, int priority, size_t depth)
{
    struct ek_runner_metrics *m = ctx;
    ek_queue_metrics_depth(&m->keys, priority, depth);
}

void ek_runner_metrics_collect(struct ek_runner_metrics *metrics, struct ek_runner *runner)
{
    struct ek_queue *queue = ek_runner_queue(runner);
    struct ek_queue_stats stats;

    ek_queue_stats(queue, (int64_t)(uv_hrtime() / 1000000), &stats);
    ek_queue_metrics_depth(&metrics->keys, 0, 0);
    ek_queue_depths(queue, put_depth, metrics);
    for (; metrics->adds < stats.adds; metrics->adds++)
        ek_queue_metrics_added(&metrics->keys);
    for (; metrics->retries < stats.retries; metrics->retries++)
        ek_queue_metrics_retried(&metrics->keys);
    ek_queue_metrics_unfinished(&metrics->keys, (double)stats.unfinished_ms / 1000,
                                (double)stats.longest_ms / 1000);
}
