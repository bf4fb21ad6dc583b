/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one runner reports to metrics and the log: the families controller_runtime_* and workqueue_*
 * under its name (controller-runtime, pkg/internal/controller/metrics and pkg/internal/metrics),
 * and one line per failure, at most ten a minute for each runner: many failures of one controller
 * hide none of another one. Threading: the loop thread.
 */
#ifndef CONTROLLER_MANAGER_RUNNER_METRICS_H
#define CONTROLLER_MANAGER_RUNNER_METRICS_H

#include "controller/manager/runner.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/standard_metrics.h"

/* Stays where it is once it was initialised: observer and queue point to it. */
struct ek_runner_metrics {
    const char *controller, *kind; /* constant text: "controlplane", "ControlPlane" */
    struct ek_log *log;
    struct ek_controller_metrics runs;
    struct ek_queue_metrics keys;
    struct ek_queue_config queue; /* for the runner's configuration */
    struct ek_log_limit failures;
    uint64_t adds, retries; /* already counted */
};

void ek_runner_metrics_init(struct ek_runner_metrics *metrics, struct ek_standard_metrics *standard,
                            struct ek_log *log, const char *controller, const char *kind,
                            unsigned workers);

/* For the runner's configuration. */
struct ek_runner_observer ek_runner_metrics_observer(struct ek_runner_metrics *metrics);

/* Takes what is read when somebody scrapes. */
void ek_runner_metrics_collect(struct ek_runner_metrics *metrics, struct ek_runner *runner);

#endif
