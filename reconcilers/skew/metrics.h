/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as metrics. All are gauges; the families and their help texts are one table, so that
 * the exporter decides nothing. Cardinality is bounded by the maxima below and by those of the
 * facts; no two samples have the same name and labels. Pure.
 */
#ifndef RECONCILERS_SKEW_METRICS_H
#define RECONCILERS_SKEW_METRICS_H

#include "reconcilers/skew/conditions.h"

#define EK_SKEW_METRIC_PEERS_MAX     100
#define EK_SKEW_METRIC_INSTANCES_MAX 100
#define EK_SKEW_METRIC_NODES_MAX     64

struct ek_skew_family {
    const char *name;
    const char *help;
    const char *labels[8]; /* names; ends at the first NULL */
};

/* All families, *ret_n of them, in the order in which ek_skew_metrics writes them. */
const struct ek_skew_family *ek_skew_families(size_t *ret_n);

/* Fills ret_metrics (an array in the arena, families one after another) and ret_n. */
void ek_skew_metrics(const struct ek_skew_report *report, struct ek_arena *arena,
                     struct ek_skew_metric **ret_metrics, size_t *ret_n);

#endif
