/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/metrics.h"

#define GROUP "plan"

const struct ek_metric_desc ek_plan_metrics[EK_PLAN_METRICS] = {
    {.name = "evenkeel_plan_verdict",
     .help = "Whether a CompatibilityPlan has the verdict (1) or not (0).",
     .type = EK_METRIC_GAUGE,
     .labels = {"plan", "verdict"},
     .max_series = (size_t)EK_COMPAT_PLANS_MAX * EK_COMPAT_VERDICT_MAX,
     .snapshot = GROUP},
    {.name = "evenkeel_plan_guard_active",
     .help = "Whether the guard for the way back of a CompatibilityPlan is on (1) or not (0).",
     .type = EK_METRIC_GAUGE,
     .labels = {"plan"},
     .max_series = EK_COMPAT_PLANS_MAX,
     .snapshot = GROUP},
};

void ek_plan_metrics_show(struct ek_metrics *metrics, const struct ek_plan_shown *plans, size_t n)
{
    struct ek_metric_sample samples[EK_COMPAT_PLANS_MAX * (EK_COMPAT_VERDICT_MAX + 1)];
    size_t k = 0;

    for (size_t i = 0; i < n && i < EK_COMPAT_PLANS_MAX; i++) {
        for (int v = 0; v < EK_COMPAT_VERDICT_MAX; v++)
            samples[k++] = (struct ek_metric_sample){
                .name = ek_plan_metrics[0].name,
                .labels = {{"plan", plans[i].name},
                           {"verdict", ek_compat_verdict_name((enum ek_compat_verdict)v)}},
                .value = (int)plans[i].verdict == v};
        samples[k++] = (struct ek_metric_sample){.name = ek_plan_metrics[1].name,
                                                 .labels = {{"plan", plans[i].name}},
                                                 .value = plans[i].guarded};
    }
    if (metrics)
        ek_metrics_replace(metrics, GROUP, samples, k);
}
