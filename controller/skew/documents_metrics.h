/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the documents of API servers: what fails when they are read, and how often and for how
 * long they are merged. Where kube-apiserver has a metric of the same meaning, its name is used
 * (KEP-4020, "Monitoring Requirements"; apiserver 1.36, pkg/util/peerproxy/metrics/metrics.go and
 * pkg/endpoints/discovery/aggregated/metrics.go). Threading: one thread at a time.
 */
#ifndef CONTROLLER_SKEW_DOCUMENTS_METRICS_H
#define CONTROLLER_SKEW_DOCUMENTS_METRICS_H

#include "controller/telemetry/metrics.h"
#include "reconcilers/peers/view_source.h"

struct ek_documents_metrics;

/* Registers the families; owned, to be freed before metrics. merges: also those of merges, which a
 * proxy counts itself (controller/proxy/metrics.h). */
struct ek_documents_metrics *ek_documents_metrics_new(struct ek_metrics *metrics, bool merges);
void ek_documents_metrics_free(struct ek_documents_metrics *metrics); /* NULL is fine */

/* Adds what has happened since the last call. metrics may be NULL. */
void ek_documents_metrics_count(struct ek_documents_metrics *metrics,
                                const struct ek_view_counts *counts);

/* The documents were merged in so many seconds. metrics may be NULL. */
void ek_documents_metrics_merged(struct ek_documents_metrics *metrics, double seconds);

#endif
