/* SPDX-License-Identifier: Apache-2.0 */
/* The exposition formats: Prometheus text 0.0.4 and OpenMetrics 1.0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "api/base/quote.h"
#include "controller/telemetry/metrics-internal.h"

static const char *const content_types[EK_METRICS_FORMAT_MAX] = {
    [EK_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [EK_METRICS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

const char *ek_metrics_content_type(enum ek_metrics_format format)
{
    return content_types[format];
}

/* The shortest digits that read back as v, as "d.ddde+XX" in text; returns the exponent. */
static int shortest(double v, char text[40])
{
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, 40, "%.*e", precision, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/*
 * Bucket bounds are label values, and recording rules match them as text: so the form is that of
 * the Go client, Go's strconv 'g' with the shortest precision: an exponent below 1e-4 and from
 * 1e+06 on.
 */
void ek_metrics_put_number(struct ek_buf *out, double v)
{
    char text[40];

    if (isnan(v) || isinf(v)) {
        ek_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    int exponent = shortest(v, text);
    if (exponent < -4 || exponent >= 6) {
        ek_buf_puts(out, text);
        return;
    }
    int digits = (int)strspn(text + (*text == '-'), "0123456789.");
    int significant = strchr(text, '.') ? digits - 1 : digits;
    int decimals = significant - 1 - exponent;
    ek_buf_printf(out, "%.*f", decimals > 0 ? decimals : 0, v);
}

/* OpenMetrics wants numbers that look like floats wherever a float is meant. */
static void put_float(struct ek_buf *out, double v, enum ek_metrics_format format)
{
    size_t start = out->len;

    ek_metrics_put_number(out, v);
    if (format == EK_METRICS_OPENMETRICS && !strpbrk(ek_buf_str(out) + start, ".eN+I"))
        ek_buf_puts(out, ".0");
}

/*
 * Backslash and new line are escaped everywhere, quotes in label values and OpenMetrics help. One
 * byte that is no UTF-8 would make a scraper refuse everything: it becomes a readable \xNN.
 */
static void put_escaped(struct ek_buf *out, const char *s, bool quotes)
{
    size_t n = strlen(s), plain = 0, i = 0;

    while (i < n) {
        unsigned code = 0;
        size_t len = ek_utf8_decode((struct ek_str){s + i, n - i}, &code);
        if (len && code != '\\' && code != '\n' && (code != '"' || !quotes)) {
            i += len;
            continue;
        }
        ek_buf_append(out, s + plain, i - plain);
        if (!len)
            ek_buf_printf(out, "\\\\x%02x", (unsigned char)s[i]);
        else
            ek_buf_printf(out, "\\%c", code == '\n' ? 'n' : s[i]);
        plain = ++i;
    }
    ek_buf_append(out, s + plain, n - plain);
}

static void put_label(struct ek_buf *out, const char *name, const char *value, bool *first)
{
    ek_buf_puts(out, *first ? "{" : ",");
    *first = false;
    ek_buf_puts(out, name);
    ek_buf_puts(out, "=\"");
    put_escaped(out, value, true);
    ek_buf_puts(out, "\"");
}

/* name + suffix + labels + blank; le is NULL but for bucket lines. */
static void put_sample_head(struct ek_buf *out, const struct ek_metric *metric, const char *suffix,
                            const char *le)
{
    const struct ek_metric_family *family = metric->family;
    bool first = true;

    ek_buf_puts(out, family->name);
    ek_buf_puts(out, suffix);
    for (size_t i = 0; i < family->n_labels; i++)
        put_label(out, family->labels[i], metric->values[i], &first);
    if (le)
        put_label(out, "le", le, &first);
    ek_buf_puts(out, first ? " " : "} ");
}

static void put_histogram(struct ek_buf *out, const struct ek_metric *metric,
                          enum ek_metrics_format format)
{
    const struct ek_metric_family *family = metric->family;
    unsigned long long cumulated = 0;

    for (size_t i = 0; i <= family->n_buckets; i++) {
        EK_AUTO(ek_buf) le;
        ek_buf_init(&le, 64);
        put_float(&le, i < family->n_buckets ? family->buckets[i] : INFINITY, format);
        cumulated += metric->buckets[i];
        put_sample_head(out, metric, "_bucket", ek_buf_str(&le));
        ek_buf_printf(out, "%llu\n", cumulated);
    }
    put_sample_head(out, metric, "_sum", NULL);
    put_float(out, metric->value, format);
    ek_buf_puts(out, "\n");
    put_sample_head(out, metric, "_count", NULL);
    ek_buf_printf(out, "%llu\n", metric->count);
}

static void put_family(struct ek_buf *out, const struct ek_metric_family *family,
                       enum ek_metrics_format format)
{
    static const char *const types[EK_METRIC_TYPE_MAX] = {"counter", "gauge", "histogram"};
    size_t name_len = strlen(family->name);

    if (family->n_series == 0)
        return;
    /* OpenMetrics names a counter's family without the suffix of its samples. */
    if (format == EK_METRICS_OPENMETRICS && family->type == EK_METRIC_COUNTER)
        name_len -= strlen("_total");
    ek_buf_printf(out, "# HELP %.*s ", (int)name_len, family->name);
    put_escaped(out, family->help, format == EK_METRICS_OPENMETRICS);
    ek_buf_printf(out, "\n# TYPE %.*s %s\n", (int)name_len, family->name, types[family->type]);
    for (size_t i = 0; i < family->n_series; i++) {
        if (family->type == EK_METRIC_HISTOGRAM) {
            put_histogram(out, family->series[i], format);
            continue;
        }
        put_sample_head(out, family->series[i], "", NULL);
        put_float(out, family->series[i]->value, format);
        ek_buf_puts(out, "\n");
    }
}

/* The i-th family's name and drop count; false behind the last. Names live as long as the
 * registry, families may be added at any time. */
static bool dropped_at(struct ek_metrics *metrics, size_t i, const char **ret_name,
                       double *ret_dropped)
{
    pthread_mutex_lock(&metrics->lock);
    bool found = i < metrics->n_families;
    if (found) {
        *ret_name = metrics->families[i]->name;
        *ret_dropped = (double)metrics->families[i]->dropped;
    }
    pthread_mutex_unlock(&metrics->lock);
    return found;
}

static void refresh_dropped(struct ek_metrics *metrics)
{
    const char *name;
    double dropped;

    for (size_t i = 0; dropped_at(metrics, i, &name, &dropped); i++) {
        if (dropped > 0)
            ek_metric_set(ek_metric_with(metrics->dropped, name, NULL), dropped);
    }
}

static bool collector_at(struct ek_metrics *metrics, size_t i,
                         struct ek_metrics_collector *ret_collector)
{
    pthread_mutex_lock(&metrics->lock);
    bool found = i < metrics->n_collectors;
    if (found)
        *ret_collector = metrics->collectors[i];
    pthread_mutex_unlock(&metrics->lock);
    return found;
}

int ek_metrics_write(struct ek_metrics *metrics, enum ek_metrics_format format, struct ek_buf *out)
{
    struct ek_metrics_collector collector;

    /* Collectors record through the public functions: the lock must be free meanwhile. */
    for (size_t i = 0; collector_at(metrics, i, &collector); i++)
        collector.collect(collector.ctx);
    refresh_dropped(metrics);
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < metrics->n_families; i++)
        put_family(out, metrics->families[i], format);
    pthread_mutex_unlock(&metrics->lock);
    if (format == EK_METRICS_OPENMETRICS)
        ek_buf_puts(out, "# EOF\n");
    return out->failed;
}

/* The q parameter of one element of an Accept header, 1 when it has none. */
static double weight_of(const char *element, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (element[i] != ';')
            continue;
        size_t k = i + 1;
        while (k < len && (element[k] == ' ' || element[k] == '\t'))
            k++;
        if (k + 2 < len && strncasecmp(element + k, "q=", 2) == 0)
            return strtod(element + k + 2, NULL);
    }
    return 1;
}

enum ek_metrics_format ek_metrics_negotiate(const char *accept)
{
    static const char open_metrics[] = "application/openmetrics-text", text[] = "text/plain";
    double open_weight = 0, text_weight = 0;

    while (accept && *accept) {
        accept += strspn(accept, " \t,");
        size_t len = strcspn(accept, ",");
        size_t type = strcspn(accept, ";, \t");
        if (type == sizeof open_metrics - 1 && !strncasecmp(accept, open_metrics, type))
            open_weight = fmax(open_weight, weight_of(accept, len));
        if (type == sizeof text - 1 && !strncasecmp(accept, text, type))
            text_weight = fmax(text_weight, weight_of(accept, len));
        accept += len;
    }
    return open_weight > 0 && open_weight >= text_weight ? EK_METRICS_OPENMETRICS : EK_METRICS_TEXT;
}
