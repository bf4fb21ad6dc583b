/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that a probe takes from GET /metrics of a component: versions, feature gates, requests
 * for deprecated API versions, and static admission manifests. Names and labels are those of
 * kube-apiserver 1.36. Pure; one thread at a time for one probe.
 */
#ifndef INFORMERS_PROBE_METRICS_H
#define INFORMERS_PROBE_METRICS_H

#include "api/promtext.h"
#include "informers/probe/probe.h"

/* The metrics that a round reads, NULL at the end. */
extern const char *const ek_probe_metrics[];

/* Adds a sample of one of ek_probe_metrics to a probe (struct ek_probe, ctx). */
void ek_probe_metrics_take(void *ctx, const struct ek_prom_sample *sample);

/* Adds the facts of another probe. */
void ek_probe_metrics_copy(struct ek_probe *to, const struct ek_probe *from);

#endif
