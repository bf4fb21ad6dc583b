/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/metrics.h"

#include "api/base/mem.h"
#include "controller/telemetry/condition_samples.h"
#include "reconcilers/fieldgates/tally.h"

#define GROUP "gates"

static const char *const types[] = {"Accepted", "CRDFound", "PathsResolved", "Enforced"};

const struct ek_metric_desc ek_gates_metrics[EK_GATES_METRICS] = {
    {.name = "evenkeel_gate_enabled",
     .help = "Whether a gate is on (1) or off (0), by its stage.",
     .type = EK_METRIC_GAUGE,
     .labels = {"crd", "gate", "stage"},
     .max_series = EK_GATES_TALLY_MAX,
     .snapshot = GROUP},
    {.name = "evenkeel_gates_condition",
     .help = "1 for the current status of each condition of a CustomFeatureGates.",
     .type = EK_METRIC_GAUGE,
     .labels = {"crd", "type", "status"},
     .max_series = EK_GATES_TALLY_MAX,
     .snapshot = GROUP},
};

static size_t add(const struct ek_gated_kind *kind, struct ek_metric_sample *samples)
{
    const struct ek_gates *gates = kind->defined;
    const struct ek_metric_sample model = {.name = ek_gates_metrics[1].name,
                                           .labels = {{"crd", gates->name}}};
    size_t n = ek_condition_samples(&model, yyjson_obj_get(ek_obj_root(kind->obj), "status"), types,
                                    EK_ARRAY_SIZE(types), samples);

    for (size_t i = 0; i < gates->n_gates; i++)
        samples[n++] = (struct ek_metric_sample){
            .name = ek_gates_metrics[0].name,
            .labels = {{"crd", gates->name},
                       {"gate", gates->gates[i].name},
                       {"stage", ek_gate_stage_name(gates->gates[i].stage)}},
            .value = gates->gates[i].on};
    return n;
}

void ek_gates_metrics_show(struct ek_metrics *metrics, const struct ek_gated_kinds *kinds)
{
    size_t room = 1, n = 0;

    if (!metrics)
        return;
    for (size_t i = 0; i < kinds->n; i++)
        room += EK_ARRAY_SIZE(types) + kinds->kinds[i].defined->n_gates;
    EK_AUTOFREE struct ek_metric_sample *samples = ek_xalloc(room * sizeof *samples);
    for (size_t i = 0; i < kinds->n; i++)
        n += add(&kinds->kinds[i], samples + n);
    ek_metrics_replace(metrics, GROUP, samples, n);
}
