/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of the webhook: requests under the names that controller-runtime gave them, and
 * policies under those of the API server with our prefix, with its buckets
 * (apiserver/pkg/admission/plugin/policy/mutating/metrics/metrics.go).
 *
 *   controller_runtime_webhook_{latency_seconds,requests_total,requests_in_flight}{webhook="<path>"}
 *   evenkeel_mutating_admission_policy_check_{total,duration_seconds}{policy,policy_binding,error_type}
 *   evenkeel_mutating_admission_policy_safety_denials_total{policy,policy_binding}
 *   evenkeel_webhook_unproven_requests_total{webhook="<path>"}
 *   evenkeel_webhook_undecided_total{webhook="<path>",reason,answer}
 *   evenkeel_webhook_certificate_expiry_timestamp_seconds
 *
 * Threading: any thread.
 */
#ifndef CONTROLLER_WEBHOOK_METRICS_H
#define CONTROLLER_WEBHOOK_METRICS_H

#include "controller/http/tls.h"
#include "controller/telemetry/standard_metrics.h"
#include "reconcilers/mutation/safety.h"

/* The policies. */
struct ek_webhook_metrics {
    struct ek_metric_family *checks, *check_time, *denials, *unproven, *undecided, *expiry;
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

/* Reports the expiry of the certificate that identity serves at each scrape; webhook must not move
 * as long as metrics are written. metrics or identity NULL: no report. */
void ek_webhook_metrics_certificate(struct ek_webhook_metrics *webhook, struct ek_metrics *metrics,
                                    struct ek_tls_identity *identity);

/* Why a review could not be decided. */
enum ek_undecided {
    EK_UNDECIDED_UNREADABLE, /* a body that is no review, or one that our parser refuses */
    EK_UNDECIDED_TOO_DEEP,   /* JSON of more levels than API servers take */
    EK_UNDECIDED_TOO_LARGE,  /* the body, or our answer */
    EK_UNDECIDED_MEMORY,     /* it takes more memory than there is now, or than a review may */
    EK_UNDECIDED_TIMEOUT,    /* the time that the API server gave is over */
    EK_UNDECIDED_UNKNOWN,    /* we do not know (yet) what to judge by */
    EK_UNDECIDED_ERROR,      /* anything else */
    EK_UNDECIDED_MAX,
};

/* The answer to the API server: to deny; an HTTP error, with which failurePolicy decides; or to
 * allow, because every policy concerned says failurePolicy: Ignore. */
enum ek_undecided_answer {
    EK_UNDECIDED_DENIED,
    EK_UNDECIDED_REFUSED,
    EK_UNDECIDED_ALLOWED,
    EK_UNDECIDED_ANSWER_MAX,
};

/* The word for the metric and the log: "too_deep". */
const char *ek_undecided_reason(enum ek_undecided reason);

/* A review under path (constant) that could not be decided. */
void ek_webhook_metrics_undecided(const struct ek_webhook_metrics *webhook, const char *path,
                                  enum ek_undecided reason, enum ek_undecided_answer answer);

/* Makes the series of a path, which is borrowed. standard NULL: nothing is counted. */
void ek_webhook_path_metrics_start(struct ek_webhook_path_metrics *metrics,
                                   struct ek_standard_metrics *standard, const char *path);

/* A request has come in, and was answered with an HTTP status after seconds. */
void ek_webhook_path_metrics_begin(const struct ek_webhook_path_metrics *metrics);
void ek_webhook_path_metrics_end(const struct ek_webhook_path_metrics *metrics, int status,
                                 double seconds);

/* A request whose sender was not proven to be an API server; path is that of an endpoint. */
void ek_webhook_metrics_unproven(const struct ek_webhook_metrics *webhook, const char *path);

/* The policies that were run for a request. */
void ek_webhook_metrics_checks(const struct ek_webhook_metrics *webhook,
                               const struct ek_mutation_outcome *outcome);

/* What was denied because others have changed it: each policy and binding once for a request. */
void ek_webhook_metrics_denials(const struct ek_webhook_metrics *webhook,
                                const struct ek_safety_outcome *outcome);

#endif
