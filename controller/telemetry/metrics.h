/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics registry: families of counters, gauges and histograms, written in the Prometheus
 * text format 0.0.4 or as OpenMetrics 1.0. It decides nothing; which series exist and why is up
 * to controller/telemetry/standard_metrics.h and to the reconcilers' plans.
 *
 * A family is registered once with its name, help, label names and the largest number of series
 * it may have. Series beyond that are not kept; each attempt counts in
 * evenkeel_metrics_dropped_series_total{family}, so remote input cannot grow the exposition. A
 * family with a snapshot group is never written series by series: ek_metrics_replace hands over
 * the complete content of the group, and what is not in it vanishes.
 *
 * Output is in order of family name, then of label values. Names are checked at registration:
 * counters end in _total, everything matches Prometheus' name rules.
 *
 * Ownership: the registry owns families and series; pointers to families live as long as the
 * registry, pointers to series until they are removed. Threading: all functions may be called
 * from any thread; collectors run on the thread that writes the exposition.
 */
#ifndef CONTROLLER_TELEMETRY_METRICS_H
#define CONTROLLER_TELEMETRY_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/buf.h"

#define EK_METRIC_LABELS_MAX 8

struct ek_metrics;
struct ek_metric_family;
struct ek_metric; /* one series */

enum ek_metric_type {
    EK_METRIC_COUNTER,
    EK_METRIC_GAUGE,
    EK_METRIC_HISTOGRAM,
    EK_METRIC_TYPE_MAX,
};

enum ek_metrics_format {
    EK_METRICS_TEXT,        /* text/plain; version=0.0.4 */
    EK_METRICS_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
    EK_METRICS_FORMAT_MAX,
};

struct ek_metric_desc {
    const char *name; /* copied, like all strings here */
    const char *help;
    enum ek_metric_type type;
    const char *labels[EK_METRIC_LABELS_MAX]; /* names; ends at the first NULL */
    size_t max_series;                        /* 0 means 1000 */
    const double *buckets;                    /* histogram: upper bounds, rising, without +Inf */
    size_t n_buckets;
    const char *snapshot; /* name of the group that ek_metrics_replace fills; NULL for none */
};

/* One series of a snapshot: labels in any order, all that the family has. Borrowed. */
struct ek_metric_sample {
    const char *name;
    const char *labels[EK_METRIC_LABELS_MAX][2]; /* name, value; ends at the first NULL name */
    double value;
};

struct ek_metrics *ek_metrics_new(void);
void ek_metrics_free(struct ek_metrics *metrics);
EK_CLEANUP_PTR(ek_metrics, ek_metrics_free)

/*
 * Registers a family. A family without labels gets its one series at once, at 0. A bad or taken
 * name is a programming error and aborts with a message. A family is never removed.
 */
struct ek_metric_family *ek_metrics_register(struct ek_metrics *metrics,
                                             const struct ek_metric_desc *desc);

/*
 * The series with these label values (in the order of the family's labels; none for a family
 * without labels), made at 0 when it is new. NULL beyond the family's limit: every function
 * below takes NULL and does nothing.
 */
struct ek_metric *ek_metric_with(struct ek_metric_family *family, ...) __attribute__((sentinel));
struct ek_metric *ek_metric_with_values(struct ek_metric_family *family, const char *const *values);

/* Removes a series if it exists; its pointer is invalid afterwards. */
void ek_metric_remove(struct ek_metric_family *family, const char *const *values);

/* Counters: adds v (not below 0). Gauges: adds v. */
void ek_metric_add(struct ek_metric *metric, double v);
/* Gauges: sets v. Counters: sets v too, for collectors that read a counter kept elsewhere. */
void ek_metric_set(struct ek_metric *metric, double v);
/* Histograms: counts v. */
void ek_metric_observe(struct ek_metric *metric, double v);

/*
 * Makes the series of all families of a snapshot group exactly the n samples. Samples that name a
 * family outside the group, or whose labels are not the family's, are left out and count as
 * dropped, like those beyond a family's limit.
 */
void ek_metrics_replace(struct ek_metrics *metrics, const char *group,
                        const struct ek_metric_sample *samples, size_t n);

/* Adds a function that is called before each exposition, to set what is read on demand. */
void ek_metrics_add_collector(struct ek_metrics *metrics, void (*collect)(void *ctx), void *ctx);

/* Appends the exposition. Returns 0, or the error of the buffer. */
int ek_metrics_write(struct ek_metrics *metrics, enum ek_metrics_format format, struct ek_buf *out);

/* Picks the format that an Accept header (NULL: none sent) prefers: OpenMetrics only where it is
 * requested with at least the weight of text/plain (RFC 9110, section 12.5.1). */
enum ek_metrics_format ek_metrics_negotiate(const char *accept);

/* The Content-Type of a format. */
const char *ek_metrics_content_type(enum ek_metrics_format format);

/* Appends v as Prometheus clients print it (Go's shortest form, "1e-08", "+Inf"). */
void ek_metrics_put_number(struct ek_buf *out, double v);

#endif
