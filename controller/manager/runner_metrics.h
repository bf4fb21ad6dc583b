/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics and the log lines of a runner: the families controller_runtime_* and workqueue_* with
 * the name of the controller (controller-runtime, pkg/internal/controller/metrics and
 * pkg/internal/metrics), and a line for each failed reconcile. Each runner logs at most ten of
 * these lines a minute, so that the failures of one controller do not hide those of another.
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_MANAGER_RUNNER_METRICS_H
#define CONTROLLER_MANAGER_RUNNER_METRICS_H

#include "controller/manager/runner.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/standard_metrics.h"

/* Must not move after ek_runner_metrics_init: the observer and the queue point to the struct. */
struct ek_runner_metrics {
    const char *controller, *kind; /* constant text: "controlplane", "ControlPlane" */
    struct ek_log *log;
    struct ek_controller_metrics runs;
    struct ek_queue_metrics keys;
    struct ek_queue_config queue; /* for the runner's configuration */
    struct ek_log_limit failures;
    uint64_t adds, retries; /* already counted */
};

/* Registers the series of a controller with workers workers in standard. All pointers are borrowed
 * for the lifetime of metrics; controller and kind are constant text. */
void ek_runner_metrics_init(struct ek_runner_metrics *metrics, struct ek_standard_metrics *standard,
                            struct ek_log *log, const char *controller, const char *kind,
                            unsigned workers);

/* The observer for the configuration of the runner; refers to metrics. */
struct ek_runner_observer ek_runner_metrics_observer(struct ek_runner_metrics *metrics);

/* Updates the series that have the state of runner's queue. Called before each scrape. */
void ek_runner_metrics_collect(struct ek_runner_metrics *metrics, struct ek_runner *runner);

#endif
