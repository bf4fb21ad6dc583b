/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/metrics.h"

#include "api/base/mem.h"
#include "controller/telemetry/condition_samples.h"

#define GROUP      "policies"
#define SERIES_MAX 5000

static const char *const types[] = {"Compiled", "TypesChecked", "Bound",
                                    "Enforced", "Converging",   "Ready"};

const struct ek_metric_desc ek_mutation_metrics[EK_MUTATION_METRICS] = {
    {.name = "evenkeel_policy_condition",
     .help = "1 for the current status of each condition of a PolicyStatus.",
     .type = EK_METRIC_GAUGE,
     .labels = {"policy", "enforcement", "type", "status"},
     .max_series = SERIES_MAX,
     .snapshot = GROUP},
    {.name = "evenkeel_policy_fights",
     .help = "Number of fights of a policy with other policies.",
     .type = EK_METRIC_GAUGE,
     .labels = {"policy"},
     .max_series = SERIES_MAX,
     .snapshot = GROUP},
};

static size_t add(const struct ek_policy_shown *shown, struct ek_metric_sample *samples)
{
    const char *name = shown->policy->name;
    const struct ek_metric_sample model = {
        .name = ek_mutation_metrics[0].name,
        .labels = {{"policy", name},
                   {"enforcement", ek_policy_enforcement_name(shown->policy->enforcement)}}};
    yyjson_val *fights = yyjson_obj_get(yyjson_obj_get(shown->status, "summary"), "fights");
    size_t n = ek_condition_samples(&model, shown->status, types, EK_ARRAY_SIZE(types), samples);

    samples[n] = (struct ek_metric_sample){.name = ek_mutation_metrics[1].name,
                                           .labels = {{"policy", name}},
                                           .value = (double)yyjson_get_uint(fights)};
    return n + 1;
}

void ek_mutation_metrics_show(struct ek_metrics *metrics, const struct ek_policy_shown *policies,
                              size_t n)
{
    size_t n_samples = 0;

    if (!metrics)
        return;
    EK_AUTOFREE struct ek_metric_sample *samples =
        ek_xalloc((n + 1) * (EK_ARRAY_SIZE(types) + 1) * sizeof *samples);
    for (size_t i = 0; i < n; i++)
        if (policies[i].status)
            n_samples += add(&policies[i], samples + n_samples);
    ek_metrics_replace(metrics, GROUP, samples, n_samples);
}
