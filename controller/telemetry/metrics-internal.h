/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's data, shared by metrics.c (content) and metrics_text.c (exposition) only. */
#ifndef CONTROLLER_TELEMETRY_METRICS_INTERNAL_H
#define CONTROLLER_TELEMETRY_METRICS_INTERNAL_H

#include <pthread.h>

#include "controller/telemetry/metrics.h"

struct ek_metric {
    struct ek_metric_family *family;
    char *values[EK_METRIC_LABELS_MAX]; /* owned */
    double value;                       /* of a histogram: the sum */
    unsigned long long count;           /* histogram: observations */
    unsigned long long buckets[];       /* histogram: per bucket, not cumulative; +Inf last */
};

struct ek_metric_family {
    struct ek_metrics *metrics;
    char *name, *help, *snapshot; /* owned; snapshot may be NULL */
    char *labels[EK_METRIC_LABELS_MAX];
    size_t n_labels;
    enum ek_metric_type type;
    size_t max_series;
    double *buckets;
    size_t n_buckets;
    struct ek_metric **series; /* sorted by label values */
    size_t n_series, cap_series;
    unsigned long long dropped;
};

struct ek_metrics_collector {
    void (*collect)(void *ctx);
    void *ctx;
};

struct ek_metrics {
    pthread_mutex_t lock;               /* guards all that follows */
    struct ek_metric_family **families; /* sorted by name */
    size_t n_families;
    struct ek_metrics_collector *collectors;
    size_t n_collectors;
    struct ek_metric_family *dropped; /* evenkeel_metrics_dropped_series_total */
};

#endif
