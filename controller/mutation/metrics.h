/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of PolicyStatuses, the same at every replica. Threading: the loop thread. */
#ifndef CONTROLLER_MUTATION_METRICS_H
#define CONTROLLER_MUTATION_METRICS_H

#include <yyjson.h>

#include "controller/telemetry/metrics.h"
#include "reconcilers/mutation/policy.h"

#define EK_MUTATION_METRICS 2
extern const struct ek_metric_desc ek_mutation_metrics[EK_MUTATION_METRICS];

/* A policy in the metrics. Borrowed. */
struct ek_policy_shown {
    const struct ek_policy *policy;
    yyjson_val *status; /* of its PolicyStatus; NULL: there is none */
};

/* Shows the conditions and the fights of the n policies, and of no others. metrics may be NULL. */
void ek_mutation_metrics_show(struct ek_metrics *metrics, const struct ek_policy_shown *policies,
                              size_t n);

#endif
