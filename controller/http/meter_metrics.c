/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/meter_metrics.h"

#include <stdlib.h>

struct listener {
    const char *server;
    struct ek_http_meter *meters;
    size_t n_meters;
    struct ek_http_budget *work;
};

struct ek_http_metrics {
    struct ek_metric_family *connections, *rejected, *bytes, *peak, *limit;
    struct listener listeners[EK_HTTP_METRICS_MAX];
    size_t n;
};

static void collect_rejected(const struct ek_http_metrics *http, const struct listener *listener)
{
    for (size_t fault = EK_HTTP_FAULT_NONE + 1; fault < EK_HTTP_FAULT_MAX; fault++) {
        unsigned long long n = 0;
        for (size_t i = 0; i < listener->n_meters; i++)
            n += atomic_load_explicit(&listener->meters[i].rejected[fault], memory_order_relaxed);
        ek_metric_set(ek_metric_with(http->rejected, listener->server,
                                     ek_http_fault_name((enum ek_http_fault)fault), NULL),
                      (double)n);
    }
}

/* What budgets come to together. */
struct sum {
    size_t used, peak, limit;
};

static void add(struct sum *sum, struct ek_http_budget *budget)
{
    sum->used += ek_http_budget_used(budget);
    sum->peak += ek_http_budget_peak(budget);
    sum->limit += budget->limit;
}

static void set_memory(const struct ek_http_metrics *http, const char *server, const char *use,
                       const struct sum *sum)
{
    ek_metric_set(ek_metric_with(http->bytes, server, use, NULL), (double)sum->used);
    ek_metric_set(ek_metric_with(http->peak, server, use, NULL), (double)sum->peak);
    ek_metric_set(ek_metric_with(http->limit, server, use, NULL), (double)sum->limit);
}

static void collect(void *ctx)
{
    const struct ek_http_metrics *http = ctx;

    for (size_t k = 0; k < http->n; k++) {
        const struct listener *listener = &http->listeners[k];
        struct sum held = {0}, work = {0};
        size_t connections = 0;
        for (size_t i = 0; i < listener->n_meters; i++) {
            struct ek_http_meter *meter = &listener->meters[i];
            connections += atomic_load_explicit(&meter->connections, memory_order_relaxed);
            add(&held, &meter->budget);
        }
        ek_metric_set(ek_metric_with(http->connections, listener->server, NULL),
                      (double)connections);
        set_memory(http, listener->server, "connections", &held);
        if (listener->work) {
            add(&work, listener->work);
            set_memory(http, listener->server, "work", &work);
        }
        collect_rejected(http, listener);
    }
}

struct ek_http_metrics *ek_http_metrics_new(struct ek_metrics *metrics)
{
    struct ek_http_metrics *http = ek_xalloc(sizeof *http);

    http->connections = ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "evenkeel_http_connections",
                                          .help = "Number of open connections of clients.",
                                          .type = EK_METRIC_GAUGE,
                                          .labels = {"server"}});
    http->rejected = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "evenkeel_http_connections_rejected_total",
            .help =
                "Number of connections of clients that were refused or closed early, by reason.",
            .type = EK_METRIC_COUNTER,
            .labels = {"server", "reason"}});
    http->bytes = ek_metrics_register(
        metrics, &(struct ek_metric_desc){.name = "evenkeel_http_memory_bytes",
                                          .help = "Memory held for clients and requests, in bytes.",
                                          .type = EK_METRIC_GAUGE,
                                          .labels = {"server", "use"}});
    http->peak = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){
            .name = "evenkeel_http_memory_peak_bytes",
            .help =
                "Largest amount of memory held for clients and requests since the start, in bytes.",
            .type = EK_METRIC_GAUGE,
            .labels = {"server", "use"}});
    http->limit = ek_metrics_register(
        metrics, &(struct ek_metric_desc){
                     .name = "evenkeel_http_memory_limit_bytes",
                     .help = "Limit of the memory held for clients and requests, in bytes.",
                     .type = EK_METRIC_GAUGE,
                     .labels = {"server", "use"}});
    ek_metrics_add_collector(metrics, collect, http);
    return http;
}

void ek_http_metrics_free(struct ek_http_metrics *http)
{
    ek_free(http);
}

void ek_http_metrics_add(struct ek_http_metrics *http, const char *server,
                         struct ek_http_meter *meters, size_t n, struct ek_http_budget *work)
{
    if (http->n == EK_HTTP_METRICS_MAX)
        abort(); /* the caller's mistake: a listener would go unseen */
    http->listeners[http->n++] = (struct listener){server, meters, n, work};
}
