/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of CustomFeatureGates, the same at every replica. Threading: the loop thread. */
#ifndef CONTROLLER_FIELDGATES_METRICS_H
#define CONTROLLER_FIELDGATES_METRICS_H

#include "controller/telemetry/metrics.h"
#include "reconcilers/fieldgates/kinds.h"

#define EK_GATES_METRICS 2
extern const struct ek_metric_desc ek_gates_metrics[EK_GATES_METRICS];

/* Shows the gates of the kinds and the conditions of their objects, and no others. metrics may be
 * NULL. */
void ek_gates_metrics_show(struct ek_metrics *metrics, const struct ek_gated_kinds *kinds);

#endif
