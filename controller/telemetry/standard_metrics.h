/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series that users' dashboards and alerts expect of every controller, under the names that
 * controller-runtime and client-go gave them (controller-runtime, pkg/internal/controller/metrics,
 * pkg/internal/metrics and pkg/metrics). This module registers them and turns "a reconcile ended"
 * into the right increments; it measures nothing itself: durations are arguments, in seconds.
 *
 * One struct ek_standard_metrics per registry; per controller and queue a small
 * struct of series handles, initialised to 0 so that rates work from the first scrape on. All
 * structs are caller storage, borrow the registry and need no release. Threads: as the registry.
 */
#ifndef CONTROLLER_TELEMETRY_STANDARD_METRICS_H
#define CONTROLLER_TELEMETRY_STANDARD_METRICS_H

#include "controller/telemetry/metrics.h"

struct ek_standard_metrics {
    struct ek_metric_family *reconcile_total, *reconcile_errors, *reconcile_terminal_errors,
        *reconcile_panics, *reconcile_timeouts, *reconcile_time, *max_concurrent, *active_workers;
    struct ek_metric_family *queue_depth, *queue_adds, *queue_latency, *queue_work,
        *queue_unfinished, *queue_longest, *queue_retries;
    struct ek_metric_family *rest_requests;
    struct ek_metric_family *leader_status, *leader_slowpath;
    struct ek_metric_family *informer_version;
    struct ek_metric_family *webhook_latency, *webhook_requests, *webhook_in_flight;
    struct ek_metric *certificate_reads, *certificate_errors;
};

/* Registers all families. */
void ek_standard_metrics_init(struct ek_standard_metrics *standard, struct ek_metrics *metrics);

/* How a reconcile ended; the label result and the error counters follow from it. */
enum ek_reconciled {
    EK_RECONCILED_OK,
    EK_RECONCILED_REQUEUE,
    EK_RECONCILED_REQUEUE_AFTER,
    EK_RECONCILED_ERROR,
    EK_RECONCILED_MAX,
};

struct ek_controller_metrics {
    struct ek_metric *results[4]; /* success, requeue, requeue_after, error */
    struct ek_metric *errors, *time, *active;
};

/* workers is how many reconciles may run at once. */
void ek_controller_metrics_init(struct ek_controller_metrics *controller,
                                struct ek_standard_metrics *standard, const char *name,
                                unsigned workers);
void ek_controller_metrics_begin(struct ek_controller_metrics *controller);
void ek_controller_metrics_end(struct ek_controller_metrics *controller, enum ek_reconciled outcome,
                               double seconds);

struct ek_queue_metrics {
    struct ek_metric_family *depth;
    const char *name; /* borrowed */
    struct ek_metric *adds, *latency, *work, *unfinished, *longest, *retries;
};

/* name is that of the controller and of its queue; it must outlive the struct. */
void ek_queue_metrics_init(struct ek_queue_metrics *queue, struct ek_standard_metrics *standard,
                           const char *name);
void ek_queue_metrics_added(struct ek_queue_metrics *queue);
/* How many keys wait at a priority (0, -100 for the initial list). */
void ek_queue_metrics_depth(struct ek_queue_metrics *queue, int priority, size_t n);
/* A key was taken after waiting for seconds; was done after being worked on for seconds. */
void ek_queue_metrics_got(struct ek_queue_metrics *queue, double waited_seconds);
void ek_queue_metrics_done(struct ek_queue_metrics *queue, double worked_seconds);
void ek_queue_metrics_retried(struct ek_queue_metrics *queue);
/* The sum and the longest of the times that present work has taken; refreshed every 500 ms. */
void ek_queue_metrics_unfinished(struct ek_queue_metrics *queue, double sum_seconds,
                                 double longest_seconds);

/* One finished HTTP exchange with an API server: code is the status or "<error>". */
void ek_standard_metrics_rest(struct ek_standard_metrics *standard, const char *method,
                              const char *code, const char *host);

/* Leader election of that name: held by this process or not; a fast update that failed. */
void ek_standard_metrics_leader(struct ek_standard_metrics *standard, const char *name,
                                bool is_leader);
void ek_standard_metrics_slowpath(struct ek_standard_metrics *standard, const char *name);

/* A serving certificate was read from its files, with success or not. */
void ek_standard_metrics_certificate_read(struct ek_standard_metrics *standard, bool ok);

/* The resourceVersion that the store of an informer has reached; the series shows the last 15
 * digits, which a double holds exactly, and 0 without a number. labels are the name, group, version
 * and resource of the informer. client-go's informer_queued_items and
 * informer_processing_latency_seconds (tools/cache) have no counterpart: this program's informers
 * call handlers directly, without a queue. */
void ek_informer_metrics_store(struct ek_standard_metrics *standard, const char *const *labels,
                               const char *version);
/* Removes the series of an informer that is gone. */
void ek_informer_metrics_remove(struct ek_standard_metrics *standard, const char *const *labels);

/* Makes the series of a webhook path appear at 0. */
void ek_webhook_metrics_init(struct ek_standard_metrics *standard, const char *path);

#endif
