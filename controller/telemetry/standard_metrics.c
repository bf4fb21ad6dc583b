/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/standard_metrics.h"

#include <stdio.h>
#include <stdlib.h>

/* controller-runtime's bounds for reconciles, requests and webhooks. */
static const double duration_buckets[] = {
    0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
    0.7,   0.8,  0.9,   1,    1.25, 1.5,  1.75, 2,    2.5, 3,    3.5, 4,    4.5, 5,
    6,     7,    8,     9,    10,   15,   20,   25,   30,  40,   50,  60};

#define QUEUE_BUCKETS 12

/* From 10 ns on, times 10, by repeated multiplication: the rounding shows in the bounds' text. */
static void make_queue_buckets(double buckets[QUEUE_BUCKETS])
{
    double bound = 10e-9;
    for (int i = 0; i < QUEUE_BUCKETS; i++, bound *= 10)
        buckets[i] = bound;
}

struct row {
    size_t offset; /* of the family's pointer in struct ek_standard_metrics */
    struct ek_metric_desc desc;
};

#define FAMILY(member, metric, kind, text, ...)                                                    \
    {                                                                                              \
        offsetof(struct ek_standard_metrics, member),                                              \
        {                                                                                          \
            .name = (metric), .help = (text), .type = EK_METRIC_##kind, .labels = { __VA_ARGS__ }  \
        }                                                                                          \
    }

static const struct row rows[] = {
    FAMILY(reconcile_total, "controller_runtime_reconcile_total", COUNTER,
           "Reconciles per controller and result.", "controller", "result"),
    FAMILY(reconcile_errors, "controller_runtime_reconcile_errors_total", COUNTER,
           "Reconciles that failed, per controller.", "controller"),
    FAMILY(reconcile_terminal_errors, "controller_runtime_terminal_reconcile_errors_total", COUNTER,
           "Reconciles that failed for good and are not retried, per controller.", "controller"),
    FAMILY(reconcile_panics, "controller_runtime_reconcile_panics_total", COUNTER,
           "Reconciles that panicked, per controller; always 0 in this program.", "controller"),
    FAMILY(reconcile_timeouts, "controller_runtime_reconcile_timeouts_total", COUNTER,
           "Reconciles that ran out of time, per controller.", "controller"),
    FAMILY(reconcile_time, "controller_runtime_reconcile_time_seconds", HISTOGRAM,
           "Duration of a reconcile, per controller.", "controller"),
    FAMILY(max_concurrent, "controller_runtime_max_concurrent_reconciles", GAUGE,
           "Reconciles that may run at once, per controller.", "controller"),
    FAMILY(active_workers, "controller_runtime_active_workers", GAUGE,
           "Reconciles that are running, per controller.", "controller"),
    FAMILY(queue_depth, "workqueue_depth", GAUGE, "Keys that wait in the work queue.", "name",
           "controller", "priority"),
    FAMILY(queue_adds, "workqueue_adds_total", COUNTER, "Keys that were added to the work queue.",
           "name", "controller"),
    FAMILY(queue_latency, "workqueue_queue_duration_seconds", HISTOGRAM,
           "Time that a key waited in the work queue.", "name", "controller"),
    FAMILY(queue_work, "workqueue_work_duration_seconds", HISTOGRAM,
           "Time that it took to process a key.", "name", "controller"),
    FAMILY(queue_unfinished, "workqueue_unfinished_work_seconds", GAUGE,
           "Time spent so far on keys that are still being processed; steady growth means that "
           "something is stuck.",
           "name", "controller"),
    FAMILY(queue_longest, "workqueue_longest_running_processor_seconds", GAUGE,
           "Time spent so far on the key that has been in processing the longest.", "name",
           "controller"),
    FAMILY(queue_retries, "workqueue_retries_total", COUNTER,
           "Keys that were added again after a failure.", "name", "controller"),
    FAMILY(rest_requests, "rest_client_requests_total", COUNTER,
           "HTTP requests to API servers by status code, method and host.", "code", "method",
           "host"),
    FAMILY(leader_status, "leader_election_master_status", GAUGE,
           "1 while this process holds the lease of that name, 0 while it waits for it.", "name"),
    FAMILY(leader_slowpath, "leader_election_slowpath_total", COUNTER,
           "Lease renewals that needed to read the lease first.", "name"),
    FAMILY(informer_version, "informer_store_resource_version", GAUGE,
           "The last 15 digits of the resourceVersion that an informer's store has reached.",
           "name", "group", "version", "resource"),
    FAMILY(webhook_latency, "controller_runtime_webhook_latency_seconds", HISTOGRAM,
           "Time that it took to answer an admission request.", "webhook"),
    FAMILY(webhook_requests, "controller_runtime_webhook_requests_total", COUNTER,
           "Admission requests by HTTP status code.", "webhook", "code"),
    FAMILY(webhook_in_flight, "controller_runtime_webhook_requests_in_flight", GAUGE,
           "Admission requests that are being answered.", "webhook"),
};

static bool is_queue_histogram(const struct row *row)
{
    return row->offset == offsetof(struct ek_standard_metrics, queue_latency) ||
           row->offset == offsetof(struct ek_standard_metrics, queue_work);
}

static struct ek_metric *counter(struct ek_metrics *metrics, const char *name, const char *help)
{
    return ek_metric_with(
        ek_metrics_register(
            metrics,
            &(struct ek_metric_desc){.name = name, .help = help, .type = EK_METRIC_COUNTER}),
        NULL);
}

void ek_standard_metrics_init(struct ek_standard_metrics *standard, struct ek_metrics *metrics)
{
    double queue_buckets[QUEUE_BUCKETS];

    *standard = (struct ek_standard_metrics){0};
    make_queue_buckets(queue_buckets);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_metric_desc desc = rows[i].desc;
        if (desc.type == EK_METRIC_HISTOGRAM) {
            bool queue = is_queue_histogram(&rows[i]);
            desc.buckets = queue ? queue_buckets : duration_buckets;
            desc.n_buckets = queue ? QUEUE_BUCKETS : EK_ARRAY_SIZE(duration_buckets);
        }
        struct ek_metric_family *family = ek_metrics_register(metrics, &desc);
        memcpy((char *)standard + rows[i].offset, &family, sizeof(struct ek_metric_family *));
    }
    standard->certificate_reads = counter(metrics, "certwatcher_read_certificate_total",
                                          "Times that a serving certificate was read.");
    standard->certificate_errors = counter(metrics, "certwatcher_read_certificate_errors_total",
                                           "Number of failed reads of a serving certificate.");
}

void ek_controller_metrics_init(struct ek_controller_metrics *controller,
                                struct ek_standard_metrics *standard, const char *name,
                                unsigned workers)
{
    static const char *const results[] = {"success", "requeue", "requeue_after", "error"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(results); i++)
        controller->results[i] = ek_metric_with(standard->reconcile_total, name, results[i], NULL);
    controller->errors = ek_metric_with(standard->reconcile_errors, name, NULL);
    /* Nothing counts here; controller-runtime has these series from the start. */
    ek_metric_with(standard->reconcile_terminal_errors, name, NULL);
    ek_metric_with(standard->reconcile_panics, name, NULL);
    ek_metric_with(standard->reconcile_timeouts, name, NULL);
    controller->time = ek_metric_with(standard->reconcile_time, name, NULL);
    controller->active = ek_metric_with(standard->active_workers, name, NULL);
    ek_metric_set(ek_metric_with(standard->max_concurrent, name, NULL), workers);
}

void ek_controller_metrics_begin(struct ek_controller_metrics *controller)
{
    ek_metric_add(controller->active, 1);
}

void ek_controller_metrics_end(struct ek_controller_metrics *controller, enum ek_reconciled outcome,
                               double seconds)
{
    ek_metric_add(controller->active, -1);
    ek_metric_observe(controller->time, seconds);
    ek_metric_add(controller->results[outcome], 1);
    if (outcome == EK_RECONCILED_ERROR)
        ek_metric_add(controller->errors, 1);
}

void ek_queue_metrics_init(struct ek_queue_metrics *queue, struct ek_standard_metrics *standard,
                           const char *name)
{
    queue->depth = standard->queue_depth;
    queue->name = name;
    ek_queue_metrics_depth(queue, 0, 0);
    queue->adds = ek_metric_with(standard->queue_adds, name, name, NULL);
    queue->latency = ek_metric_with(standard->queue_latency, name, name, NULL);
    queue->work = ek_metric_with(standard->queue_work, name, name, NULL);
    queue->unfinished = ek_metric_with(standard->queue_unfinished, name, name, NULL);
    queue->longest = ek_metric_with(standard->queue_longest, name, name, NULL);
    queue->retries = ek_metric_with(standard->queue_retries, name, name, NULL);
}

void ek_queue_metrics_added(struct ek_queue_metrics *queue)
{
    ek_metric_add(queue->adds, 1);
}

void ek_queue_metrics_depth(struct ek_queue_metrics *queue, int priority, size_t n)
{
    char text[16];

    snprintf(text, sizeof text, "%d", priority);
    ek_metric_set(ek_metric_with(queue->depth, queue->name, queue->name, text, NULL), (double)n);
}

void ek_queue_metrics_got(struct ek_queue_metrics *queue, double waited_seconds)
{
    ek_metric_observe(queue->latency, waited_seconds);
}

void ek_queue_metrics_done(struct ek_queue_metrics *queue, double worked_seconds)
{
    ek_metric_observe(queue->work, worked_seconds);
}

void ek_queue_metrics_retried(struct ek_queue_metrics *queue)
{
    ek_metric_add(queue->retries, 1);
}

void ek_queue_metrics_unfinished(struct ek_queue_metrics *queue, double sum_seconds,
                                 double longest_seconds)
{
    ek_metric_set(queue->unfinished, sum_seconds);
    ek_metric_set(queue->longest, longest_seconds);
}

void ek_standard_metrics_rest(struct ek_standard_metrics *standard, const char *method,
                              const char *code, const char *host)
{
    ek_metric_add(ek_metric_with(standard->rest_requests, code, method, host, NULL), 1);
}

void ek_standard_metrics_leader(struct ek_standard_metrics *standard, const char *name,
                                bool is_leader)
{
    ek_metric_set(ek_metric_with(standard->leader_status, name, NULL), is_leader ? 1 : 0);
    /* Present at 0 from the start, so that rates work. */
    ek_metric_with(standard->leader_slowpath, name, NULL);
}

void ek_standard_metrics_slowpath(struct ek_standard_metrics *standard, const char *name)
{
    ek_metric_add(ek_metric_with(standard->leader_slowpath, name, NULL), 1);
}

void ek_standard_metrics_certificate_read(struct ek_standard_metrics *standard, bool ok)
{
    ek_metric_add(standard->certificate_reads, 1);
    if (!ok)
        ek_metric_add(standard->certificate_errors, 1);
}

void ek_informer_metrics_remove(struct ek_standard_metrics *standard, const char *const *labels)
{
    ek_metric_remove(standard->informer_version, labels);
}

void ek_informer_metrics_store(struct ek_standard_metrics *standard, const char *const *labels,
                               const char *version)
{
    struct ek_metric *metric = ek_metric_with_values(standard->informer_version, labels);
    size_t n = strlen(version);
    char *end;

    if (n == 0 || strspn(version, "0123456789") != n)
        return;
    if (n > 15)
        version += n - 15;
    ek_metric_set(metric, (double)strtoull(version, &end, 10));
}

void ek_webhook_metrics_init(struct ek_standard_metrics *standard, const char *path)
{
    ek_metric_with(standard->webhook_latency, path, NULL);
    ek_metric_with(standard->webhook_requests, path, "200", NULL);
    ek_metric_with(standard->webhook_requests, path, "500", NULL);
    ek_metric_with(standard->webhook_in_flight, path, NULL);
}
