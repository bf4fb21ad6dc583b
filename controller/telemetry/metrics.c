/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/metrics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/words.h"
#include "controller/telemetry/metrics-internal.h"

#define DEFAULT_MAX_SERIES 1000

static void free_series(struct ek_metric *metric)
{
    for (size_t i = 0; i < metric->family->n_labels; i++)
        ek_free(metric->values[i]);
    ek_free(metric);
}

static void clear_series(struct ek_metric_family *family)
{
    for (size_t i = 0; i < family->n_series; i++)
        free_series(family->series[i]);
    family->n_series = 0;
}

static void free_family(struct ek_metric_family *family)
{
    clear_series(family);
    for (size_t i = 0; i < family->n_labels; i++)
        ek_free(family->labels[i]);
    ek_free(family->series);
    ek_free(family->buckets);
    ek_free(family->name);
    ek_free(family->help);
    ek_free(family->snapshot);
    ek_free(family);
}

struct ek_metrics *ek_metrics_new(void)
{
    struct ek_metrics *metrics = ek_xalloc(sizeof *metrics);

    pthread_mutex_init(&metrics->lock, NULL);
    metrics->dropped = ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "evenkeel_metrics_dropped_series_total",
                     .help = "Series that were not kept because their family was full.",
                     .type = EK_METRIC_COUNTER,
                     .labels = {"family"},
                 });
    return metrics;
}

void ek_metrics_free(struct ek_metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->n_families; i++)
        free_family(metrics->families[i]);
    ek_free(metrics->families);
    ek_free(metrics->collectors);
    pthread_mutex_destroy(&metrics->lock);
    ek_free(metrics);
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*, without colons for labels, which may not start with "__" either. */
static bool is_name(const char *s, bool label)
{
    if (!*s || (*s >= '0' && *s <= '9') || (label && !strncmp(s, "__", 2)))
        return false;
    for (; *s; s++) {
        bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' ||
                    (*s >= '0' && *s <= '9');
        if (!word && (label || *s != ':'))
            return false;
    }
    return true;
}

static const char *problem_of(const struct ek_metric_desc *desc)
{
    if (!desc->name || !is_name(desc->name, false))
        return "bad name";
    if (!desc->help || !*desc->help)
        return "no help";
    if ((desc->type == EK_METRIC_COUNTER) != ek_ends_with(desc->name, "_total"))
        return "counters, and nothing else, end in _total";
    if ((desc->type == EK_METRIC_HISTOGRAM) != (desc->n_buckets > 0))
        return "histograms, and nothing else, have buckets";
    for (size_t i = 1; i < desc->n_buckets; i++) {
        if (!(desc->buckets[i] > desc->buckets[i - 1]))
            return "buckets do not rise";
    }
    for (size_t i = 0; i < EK_METRIC_LABELS_MAX && desc->labels[i]; i++) {
        if (!is_name(desc->labels[i], true) || !strcmp(desc->labels[i], "le"))
            return "bad label name";
    }
    return NULL;
}

static void die(const char *name, const char *problem)
{
    fprintf(stderr, "evenkeel: metric %s: %s\n", name ? name : "(null)", problem);
    abort();
}

static struct ek_metric_family *new_family(struct ek_metrics *metrics,
                                           const struct ek_metric_desc *desc)
{
    struct ek_metric_family *family = ek_xalloc(sizeof *family);

    family->metrics = metrics;
    family->name = ek_xstrdup(desc->name);
    family->help = ek_xstrdup(desc->help);
    family->snapshot = ek_xstrdup(desc->snapshot);
    family->type = desc->type;
    family->max_series = desc->max_series ? desc->max_series : DEFAULT_MAX_SERIES;
    for (; family->n_labels < EK_METRIC_LABELS_MAX && desc->labels[family->n_labels];
         family->n_labels++)
        family->labels[family->n_labels] = ek_xstrdup(desc->labels[family->n_labels]);
    if (desc->n_buckets) {
        family->n_buckets = desc->n_buckets;
        family->buckets = ek_xalloc(desc->n_buckets * sizeof *desc->buckets);
        memcpy(family->buckets, desc->buckets, desc->n_buckets * sizeof *desc->buckets);
    }
    return family;
}

/* Index of the family of that name, or its place; *ret_found is true when it exists. */
static size_t family_index(const struct ek_metrics *metrics, const char *name, bool *ret_found)
{
    size_t low = 0, high = metrics->n_families;

    *ret_found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(metrics->families[mid]->name, name);
        if (order == 0) {
            *ret_found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct ek_metric_family *ek_metrics_register(struct ek_metrics *metrics,
                                             const struct ek_metric_desc *desc)
{
    const char *problem = problem_of(desc);
    bool found;

    if (problem)
        die(desc->name, problem);
    struct ek_metric_family *family = new_family(metrics, desc);
    pthread_mutex_lock(&metrics->lock);
    size_t at = family_index(metrics, desc->name, &found);
    if (found)
        die(desc->name, "registered twice");
    metrics->families =
        ek_xrealloc(metrics->families, metrics->n_families + 1, sizeof(struct ek_metric_family *));
    memmove(metrics->families + at + 1, metrics->families + at,
            (metrics->n_families - at) * sizeof(struct ek_metric_family *));
    metrics->families[at] = family;
    metrics->n_families++;
    pthread_mutex_unlock(&metrics->lock);
    if (family->n_labels == 0 && !family->snapshot)
        ek_metric_with(family, NULL);
    return family;
}

static int compare_values(const struct ek_metric_family *family, char *const *a,
                          const char *const *b)
{
    for (size_t i = 0; i < family->n_labels; i++) {
        int order = strcmp(a[i], b[i]);
        if (order)
            return order;
    }
    return 0;
}

/* As family_index, for a series. */
static size_t series_index(const struct ek_metric_family *family, const char *const *values,
                           bool *ret_found)
{
    size_t low = 0, high = family->n_series;

    *ret_found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_values(family, family->series[mid]->values, values);
        if (order == 0) {
            *ret_found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct ek_metric *new_series(struct ek_metric_family *family, const char *const *values)
{
    size_t n_counts = family->type == EK_METRIC_HISTOGRAM ? family->n_buckets + 1 : 0;
    struct ek_metric *metric = ek_xalloc(sizeof *metric + n_counts * sizeof metric->buckets[0]);

    metric->family = family;
    for (size_t i = 0; i < family->n_labels; i++)
        metric->values[i] = ek_xstrdup(values[i]);
    return metric;
}

static void insert_series(struct ek_metric_family *family, size_t at, struct ek_metric *metric)
{
    if (family->n_series == family->cap_series) {
        family->cap_series = family->cap_series ? family->cap_series * 2 : 4;
        family->series =
            ek_xrealloc(family->series, family->cap_series, sizeof(struct ek_metric *));
    }
    memmove(family->series + at + 1, family->series + at,
            (family->n_series - at) * sizeof(struct ek_metric *));
    family->series[at] = metric;
    family->n_series++;
}

/* Finds or makes a series; the lock is held. */
static struct ek_metric *series_locked(struct ek_metric_family *family, const char *const *values)
{
    bool found;
    size_t at = series_index(family, values, &found);

    if (found)
        return family->series[at];
    if (family->n_series >= family->max_series) {
        family->dropped++;
        return NULL;
    }
    struct ek_metric *metric = new_series(family, values);
    insert_series(family, at, metric);
    return metric;
}

struct ek_metric *ek_metric_with_values(struct ek_metric_family *family, const char *const *values)
{
    pthread_mutex_lock(&family->metrics->lock);
    struct ek_metric *metric = series_locked(family, values);
    pthread_mutex_unlock(&family->metrics->lock);
    return metric;
}

struct ek_metric *ek_metric_with(struct ek_metric_family *family, ...)
{
    const char *values[EK_METRIC_LABELS_MAX];
    size_t n = 0;
    va_list args;

    va_start(args, family);
    for (const char *value; (value = va_arg(args, const char *)) != NULL; n++) {
        if (n < EK_METRIC_LABELS_MAX)
            values[n] = value;
    }
    va_end(args);
    if (n != family->n_labels)
        die(family->name, "wrong number of label values");
    return ek_metric_with_values(family, values);
}

void ek_metric_remove(struct ek_metric_family *family, const char *const *values)
{
    bool found;

    pthread_mutex_lock(&family->metrics->lock);
    size_t at = series_index(family, values, &found);
    if (found) {
        free_series(family->series[at]);
        family->n_series--;
        memmove(family->series + at, family->series + at + 1,
                (family->n_series - at) * sizeof(struct ek_metric *));
    }
    pthread_mutex_unlock(&family->metrics->lock);
}

void ek_metric_add(struct ek_metric *metric, double v)
{
    if (!metric || isnan(v) || (metric->family->type == EK_METRIC_COUNTER && v < 0))
        return;
    pthread_mutex_lock(&metric->family->metrics->lock);
    metric->value += v;
    pthread_mutex_unlock(&metric->family->metrics->lock);
}

void ek_metric_set(struct ek_metric *metric, double v)
{
    if (!metric)
        return;
    pthread_mutex_lock(&metric->family->metrics->lock);
    metric->value = v;
    pthread_mutex_unlock(&metric->family->metrics->lock);
}

void ek_metric_observe(struct ek_metric *metric, double v)
{
    if (!metric || metric->family->type != EK_METRIC_HISTOGRAM || isnan(v))
        return;
    const struct ek_metric_family *family = metric->family;
    size_t i = 0;
    while (i < family->n_buckets && v > family->buckets[i])
        i++;
    pthread_mutex_lock(&family->metrics->lock);
    metric->buckets[i]++;
    metric->count++;
    metric->value += v;
    pthread_mutex_unlock(&family->metrics->lock);
}

/* Puts the sample's label values into the family's order; false unless both have the same names. */
static bool order_labels(const struct ek_metric_family *family,
                         const struct ek_metric_sample *sample, const char **ret_values)
{
    size_t n = 0;

    while (n < EK_METRIC_LABELS_MAX && sample->labels[n][0])
        n++;
    if (n != family->n_labels)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n && strcmp(sample->labels[k][0], family->labels[i]) != 0)
            k++;
        if (k == n || !sample->labels[k][1])
            return false;
        ret_values[i] = sample->labels[k][1];
    }
    return true;
}

void ek_metrics_replace(struct ek_metrics *metrics, const char *group,
                        const struct ek_metric_sample *samples, size_t n)
{
    const char *values[EK_METRIC_LABELS_MAX];
    bool found;

    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < metrics->n_families; i++) {
        if (metrics->families[i]->snapshot && !strcmp(metrics->families[i]->snapshot, group))
            clear_series(metrics->families[i]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = family_index(metrics, samples[i].name, &found);
        struct ek_metric_family *family = found ? metrics->families[at] : metrics->dropped;
        if (!family->snapshot || strcmp(family->snapshot, group) != 0 ||
            !order_labels(family, &samples[i], values)) {
            family->dropped++;
            continue;
        }
        struct ek_metric *metric = series_locked(family, values);
        if (metric)
            metric->value = samples[i].value;
    }
    pthread_mutex_unlock(&metrics->lock);
}

void ek_metrics_add_collector(struct ek_metrics *metrics, void (*collect)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->collectors = ek_xrealloc(metrics->collectors, metrics->n_collectors + 1,
                                      sizeof(struct ek_metrics_collector));
    metrics->collectors[metrics->n_collectors++] = (struct ek_metrics_collector){collect, ctx};
    pthread_mutex_unlock(&metrics->lock);
}
