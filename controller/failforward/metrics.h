/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of fail forward. Threading: the loop thread. */
#ifndef CONTROLLER_FAILFORWARD_METRICS_H
#define CONTROLLER_FAILFORWARD_METRICS_H

#include "controller/failforward/spaces.h"
#include "controller/telemetry/metrics.h"
#include "reconcilers/intent.h"

struct ek_ff_metrics {
    struct ek_metrics *all; /* NULL: nobody reads them */
    struct ek_metric_family *actions, *recovery;
};

/* metrics may be NULL, and is borrowed. */
void ek_ff_metrics_start(struct ek_ff_metrics *metrics, struct ek_metrics *all);

/* Shows the last verdicts. */
void ek_ff_metrics_show(const struct ek_ff_metrics *metrics, const struct ek_ff_spaces *spaces);

/* A write was answered. */
void ek_ff_metrics_wrote(const struct ek_ff_metrics *metrics, enum ek_ff_act act,
                         enum ek_apply_class result);

/* An operator is healthy again, ms after its failure. */
void ek_ff_metrics_recovered(const struct ek_ff_metrics *metrics, int64_t ms);

#endif
