/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the webhook counts: requests under the names that controller-runtime gave them, and policies
 * under those of the API server with our prefix, with its buckets (mutation sheet, section 2.4).
 *
 *   controller_runtime_webhook_{latency_seconds,requests_total,requests_in_flight}{webhook="<path>"}
 *   evenkeel_mutating_admission_policy_check_{total,duration_seconds}{policy,policy_binding,error_type}
 *   evenkeel_mutating_admission_policy_safety_denials_total{policy,policy_binding}
 *   evenkeel_webhook_certificate_expiry_timestamp_seconds
 *
 * Threading: any thread.
 */
#ifndef CONTROLLER_WEBHOOK_METRICS_H
#define CONTROLLER_WEBHOOK_METRICS_H

#include "controller/standard_metrics.h"
#include "controller/tls.h"
#include "reconcilers/mutation/safety.h"

/* The policies. */
struct ek_webhook_metrics {
    struct ek_metric_family *checks, *check_time, *denials, *expiry;
    struct ek_tls_identity *identity;
};

/* The requests under one path and what is below it. */
struct ek_webhook_path_metrics {
    const char *path;
    struct ek_metric_family *requests;
    struct ek_metric *latency, *in_flight;
};

/* Registers what is ours. metrics NULL: nothing is counted. */
void ek_webhook_metrics_start(struct ek_webhook_metrics *webhook, struct ek_metrics *metrics);

/* Tells when what identity serves ends, whenever somebody asks; webhook must stay where it is as
 * long as metrics are written. metrics or identity NULL: nothing is told. */
void ek_webhook_metrics_certificate(struct ek_webhook_metrics *webhook, struct ek_metrics *metrics,
                                    struct ek_tls_identity *identity);

/* Makes the series of a path, which is borrowed. standard NULL: nothing is counted. */
void ek_webhook_path_metrics_start(struct ek_webhook_path_metrics *metrics,
                                   struct ek_standard_metrics *standard, const char *path);

/* A request has come in, and was answered with an HTTP status after seconds. */
void ek_webhook_path_metrics_begin(const struct ek_webhook_path_metrics *metrics);
void ek_webhook_path_metrics_end(const struct ek_webhook_path_metrics *metrics, int status,
                                 double seconds);

/* The policies that were run for a request. */
void ek_webhook_metrics_checks(const struct ek_webhook_metrics *webhook,
                               const struct ek_mutation_outcome *outcome);

/* What was denied because others have changed it: each policy and binding once for a request. */
void ek_webhook_metrics_denials(const struct ek_webhook_metrics *webhook,
                                const struct ek_safety_outcome *outcome);

#endif
