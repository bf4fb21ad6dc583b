/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of CompatibilityPlans. Threading: the loop thread. */
#ifndef CONTROLLER_PLAN_METRICS_H
#define CONTROLLER_PLAN_METRICS_H

#include "controller/telemetry/metrics.h"
#include "reconcilers/plan/compat.h"

#define EK_PLAN_METRICS 2
extern const struct ek_metric_desc ek_plan_metrics[EK_PLAN_METRICS];

/* A plan in the metrics. */
struct ek_plan_shown {
    const char *name;
    enum ek_compat_verdict verdict;
    bool guarded; /* its guard for the way back is on */
};

/* Shows the n plans (at most EK_COMPAT_PLANS_MAX), and no others. */
void ek_plan_metrics_show(struct ek_metrics *metrics, const struct ek_plan_shown *plans, size_t n);

#endif
