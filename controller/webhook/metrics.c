/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/metrics.h"

#include <stdio.h>

#include "api/base/time.h"

/* Policies, times bindings, times outcomes that were seen. */
#define SERIES_MAX 5000

void ek_webhook_metrics_start(struct ek_webhook_metrics *webhook, struct ek_metrics *metrics)
{
    static const double buckets[] = {0.0000005, 0.001, 0.01, 0.1, 1};

    *webhook = (struct ek_webhook_metrics){0};
    if (!metrics)
        return;
    webhook->checks = ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "evenkeel_mutating_admission_policy_check_total",
                     .help = "Number of evaluations of mutating admission policies, by outcome.",
                     .type = EK_METRIC_COUNTER,
                     .labels = {"policy", "policy_binding", "error_type"},
                     .max_series = SERIES_MAX});
    webhook->check_time = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "evenkeel_mutating_admission_policy_check_duration_seconds",
            .help = "Duration of the evaluation of a mutating admission policy, in seconds.",
            .type = EK_METRIC_HISTOGRAM,
            .labels = {"policy", "policy_binding", "error_type"},
            .max_series = SERIES_MAX,
            .buckets = buckets,
            .n_buckets = EK_ARRAY_SIZE(buckets)});
    webhook->denials = ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "evenkeel_mutating_admission_policy_safety_denials_total",
                     .help = "Number of requests denied because a value that a mutating admission "
                             "policy had set was missing after all mutators had run.",
                     .type = EK_METRIC_COUNTER,
                     .labels = {"policy", "policy_binding"},
                     .max_series = SERIES_MAX});
    webhook->unproven = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "evenkeel_webhook_unproven_requests_total",
            .help = "Number of requests whose sender was not verified to be an API server.",
            .type = EK_METRIC_COUNTER,
            .labels = {"webhook"}});
    webhook->undecided = ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "evenkeel_webhook_undecided_total",
                     .help = "Number of admission reviews that could not be decided, by reason and "
                             "by answer: denied, refused (failurePolicy decides) or allowed.",
                     .type = EK_METRIC_COUNTER,
                     .labels = {"webhook", "reason", "answer"},
                     .max_series = SERIES_MAX});
}

void ek_webhook_metrics_unproven(const struct ek_webhook_metrics *webhook, const char *path)
{
    if (webhook->unproven)
        ek_metric_add(ek_metric_with(webhook->unproven, path, NULL), 1);
}

const char *ek_undecided_reason(enum ek_undecided reason)
{
    static const char *const words[EK_UNDECIDED_MAX] = {
        [EK_UNDECIDED_UNREADABLE] = "unreadable", [EK_UNDECIDED_TOO_DEEP] = "too_deep",
        [EK_UNDECIDED_TOO_LARGE] = "too_large",   [EK_UNDECIDED_MEMORY] = "memory",
        [EK_UNDECIDED_TIMEOUT] = "timeout",       [EK_UNDECIDED_UNKNOWN] = "unknown",
        [EK_UNDECIDED_ERROR] = "error",
    };

    return words[reason];
}

void ek_webhook_metrics_undecided(const struct ek_webhook_metrics *webhook, const char *path,
                                  enum ek_undecided reason, enum ek_undecided_answer answer)
{
    static const char *const answers[EK_UNDECIDED_ANSWER_MAX] = {
        [EK_UNDECIDED_DENIED] = "denied",
        [EK_UNDECIDED_REFUSED] = "refused",
        [EK_UNDECIDED_ALLOWED] = "allowed",
    };

    if (webhook->undecided)
        ek_metric_add(ek_metric_with(webhook->undecided, path, ek_undecided_reason(reason),
                                     answers[answer], NULL),
                      1);
}

static void collect_certificate(void *ctx)
{
    struct ek_webhook_metrics *webhook = ctx;
    int64_t not_after_ms = ek_tls_identity_not_after(webhook->identity);

    if (not_after_ms != EK_TIME_UNSET)
        ek_metric_set(ek_metric_with(webhook->expiry, NULL), (double)not_after_ms / 1000);
}

void ek_webhook_metrics_certificate(struct ek_webhook_metrics *webhook, struct ek_metrics *metrics,
                                    struct ek_tls_identity *identity)
{
    if (!metrics || !identity)
        return;
    webhook->identity = identity;
    webhook->expiry = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "evenkeel_webhook_certificate_expiry_timestamp_seconds",
            .help = "Expiry time of the webhook's serving certificate, in seconds since the epoch.",
            .type = EK_METRIC_GAUGE});
    ek_metrics_add_collector(metrics, collect_certificate, webhook);
}

/* One label value for all sub-paths: whoever calls chooses them. */
void ek_webhook_path_metrics_start(struct ek_webhook_path_metrics *metrics,
                                   struct ek_standard_metrics *standard, const char *path)
{
    *metrics = (struct ek_webhook_path_metrics){.path = path};
    if (!standard)
        return;
    ek_webhook_metrics_init(standard, path);
    metrics->requests = standard->webhook_requests;
    metrics->latency = ek_metric_with(standard->webhook_latency, path, NULL);
    metrics->in_flight = ek_metric_with(standard->webhook_in_flight, path, NULL);
}

void ek_webhook_path_metrics_begin(const struct ek_webhook_path_metrics *metrics)
{
    ek_metric_add(metrics->in_flight, 1);
}

void ek_webhook_path_metrics_end(const struct ek_webhook_path_metrics *metrics, int status,
                                 double seconds)
{
    char code[16];

    if (!metrics->requests)
        return;
    snprintf(code, sizeof code, "%d", status);
    ek_metric_add(metrics->in_flight, -1);
    ek_metric_add(ek_metric_with(metrics->requests, metrics->path, code, NULL), 1);
    ek_metric_observe(metrics->latency, seconds);
}

static const char *error_type(enum ek_step_error error)
{
    switch (error) {
    case EK_STEP_COMPILE_ERROR:
        return "compile_error";
    case EK_STEP_INVALID_ERROR:
        return "invalid_error";
    case EK_STEP_OUT_OF_BUDGET:
        return "out_of_budget";
    case EK_STEP_RESTLESS: /* no error of the policy's own */
    case EK_STEP_NO_ERROR:
        break;
    }
    return "no_error";
}

void ek_webhook_metrics_checks(const struct ek_webhook_metrics *webhook,
                               const struct ek_mutation_outcome *outcome)
{
    for (size_t i = 0; webhook->checks && i < outcome->n_steps; i++) {
        const struct ek_step *step = &outcome->steps[i];
        const char *policy = step->bound->policy->name, *binding = step->bound->binding->name;
        const char *type = error_type(step->error);
        if (step->result == EK_STEP_UNMATCHED || step->result == EK_STEP_SKIPPED)
            continue;
        ek_metric_add(ek_metric_with(webhook->checks, policy, binding, type, NULL), 1);
        ek_metric_observe(ek_metric_with(webhook->check_time, policy, binding, type, NULL),
                          (double)step->duration_ns / 1e9);
    }
}

void ek_webhook_metrics_denials(const struct ek_webhook_metrics *webhook,
                                const struct ek_safety_outcome *outcome)
{
    const struct ek_bound *last = NULL;

    /* The findings of one bound policy, with all its params, stand together. */
    for (size_t i = 0; webhook->denials && i < outcome->n_findings; i++) {
        const struct ek_bound *bound = outcome->findings[i].bound;
        if (bound != last)
            ek_metric_add(
                ek_metric_with(webhook->denials, bound->policy->name, bound->binding->name, NULL),
                1);
        last = bound;
    }
}
