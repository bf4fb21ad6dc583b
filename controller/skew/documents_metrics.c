/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/documents_metrics.h"

enum {
    ERRORS,
    DOCUMENTS,
    MERGES,
    MERGE_SECONDS,
    N_FAMILIES,
    N_COMMON = MERGES, /* the families before are those of each process */
};

struct ek_documents_metrics {
    struct ek_metric_family *families[N_FAMILIES]; /* NULL: not registered */
    struct ek_view_counts counted;
};

static const double buckets[] = {0.0001, 0.001, 0.005, 0.01, 0.025, 0.05,
                                 0.1,    0.25,  0.5,   1,    2.5,   5};

static const struct ek_metric_desc descs[N_FAMILIES] = {
    [ERRORS] = {.name = "apiserver_peer_discovery_sync_errors_total",
                .help = "Total number of errors encountered while reading the discovery documents "
                        "of API servers, by type (fetch_discovery: no document; "
                        "hostport_resolution: no address)",
                .labels = {"type"}},
    [DOCUMENTS] = {.name = "aggregator_discovery_aggregation_count_total",
                   .help = "Counter of discovery documents of an API server that were new, or "
                           "unlike the ones before"},
    [MERGES] = {.name = "aggregator_discovery_peer_aggregated_cache_misses_total",
                .help = "Counter of merges of the discovery documents of API servers"},
    [MERGE_SECONDS] = {.name = "evenkeel_discovery_merge_duration_seconds",
                       .help = "Time in which the discovery documents of the API servers were "
                               "merged, encoded and compressed",
                       .type = EK_METRIC_HISTOGRAM,
                       .buckets = buckets,
                       .n_buckets = sizeof buckets / sizeof *buckets},
};

static void add(const struct ek_documents_metrics *m, int family, const char *type, uint64_t n)
{
    ek_metric_add(ek_metric_with(m->families[family], type, NULL), (double)n);
}

static void add_all(const struct ek_documents_metrics *m, uint64_t fetch, uint64_t address,
                    uint64_t documents)
{
    add(m, ERRORS, "fetch_discovery", fetch);
    add(m, ERRORS, "hostport_resolution", address);
    add(m, DOCUMENTS, NULL, documents);
}

struct ek_documents_metrics *ek_documents_metrics_new(struct ek_metrics *metrics, bool merges)
{
    struct ek_documents_metrics *m = ek_xalloc(sizeof *m);

    for (size_t i = 0; i < (merges ? N_FAMILIES : N_COMMON); i++)
        m->families[i] = ek_metrics_register(metrics, &descs[i]);
    /* Prometheus sees an increase of a series only that was there before. */
    add_all(m, 0, 0, 0);
    if (merges)
        add(m, MERGES, NULL, 0);
    return m;
}

void ek_documents_metrics_free(struct ek_documents_metrics *metrics)
{
    ek_free(metrics);
}

void ek_documents_metrics_count(struct ek_documents_metrics *m, const struct ek_view_counts *counts)
{
    if (!m)
        return;
    add_all(m, counts->fetch_errors - m->counted.fetch_errors,
            counts->address_errors - m->counted.address_errors,
            counts->documents - m->counted.documents);
    m->counted = *counts;
}

void ek_documents_metrics_merged(struct ek_documents_metrics *m, double seconds)
{
    if (!m || !m->families[MERGES])
        return;
    add(m, MERGES, NULL, 1);
    ek_metric_observe(ek_metric_with(m->families[MERGE_SECONDS], NULL), seconds);
}
