/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/metrics.h"

#include <stdio.h>

#include "api/base/time.h"
#include "reconcilers/peers/view.h"
#include "reconcilers/proxy/client_version.h"

enum {
    REROUTED,
    ERRORS,
    CACHE_HITS,
    CACHE_MISSES,
    NOPEER,
    REQUESTS,
    DISCOVERY,
    PERMISSIONS,
    SECONDS,
    REPEATED,
    TRUNCATED,
    OCTETS,
    IN_FLIGHT,
    CONNECTIONS,
    REJECTED,
    ROUTABLE,
    NOT_ROUTABLE,
    AGE,
    DOCUMENT,
    CERTIFICATE,
    MERGE_SECONDS,
    CLIENTS,
    CLIENTS_LAST,
    N_FAMILIES,
};

struct ek_proxy_metrics {
    struct ek_metric_family *families[N_FAMILIES];
};

static const double merge_buckets[] = {0.0001, 0.001, 0.005, 0.01, 0.025, 0.05,
                                       0.1,    0.25,  0.5,   1,    2.5,   5};

static const double buckets[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                 0.025,  0.05,    0.1,    0.25,  0.5,    1,     5};

static const struct ek_metric_desc descs[N_FAMILIES] = {
    [REROUTED] = {.name = "apiserver_rerouted_request_total",
                  .help = "Total number of requests that were rerouted to an API server; with 503 "
                          "also those for which none could be asked",
                  .labels = {"code", "group", "version", "resource"},
                  .max_series = 5000},
    [ERRORS] = {.name = "apiserver_peer_proxy_errors_total",
                .help =
                    "Total number of errors encountered while proxying requests to an API server",
                .labels = {"type", "group", "version", "resource"},
                .max_series = 5000},
    [CACHE_HITS] = {.name = "aggregator_discovery_peer_aggregated_cache_hits_total",
                    .help = "Counter of requests where discovery was served from the merged cache"},
    [CACHE_MISSES] = {.name = "aggregator_discovery_peer_aggregated_cache_misses_total",
                      .help = "Counter of merges of the discovery documents of API servers"},
    [NOPEER] = {.name = "aggregator_discovery_nopeer_requests_total",
                .help = "Counter of requests for discovery of one API server (profile=nopeer)"},
    [REQUESTS] = {.name = "evenkeel_proxy_requests_total",
                  .help =
                      "Requests by the API server that answered (empty: the proxy itself) and the "
                      "code (0: no response)",
                  .labels = {"peer", "code"}},
    [DISCOVERY] = {.name = "evenkeel_proxy_discovery_requests_total",
                   .help = "Discovery that the proxy answered, by document",
                   .labels = {"document"}},
    [PERMISSIONS] =
        {.name = "evenkeel_proxy_discovery_permissions_total",
         .help = "Permissions by which discovery was answered, by source (apiserver: an API server "
                 "gave it to this request; cache: to an equal one a moment before)",
         .labels = {"source"}},
    [SECONDS] = {.name = "evenkeel_proxy_forward_duration_seconds",
                 .help = "Time from the head of a request to its first byte on the way to an API "
                         "server: what the proxy adds, with connecting",
                 .type = EK_METRIC_HISTOGRAM,
                 .buckets = buckets,
                 .n_buckets = sizeof buckets / sizeof *buckets},
    [REPEATED] = {.name = "evenkeel_proxy_repeated_requests_total",
                  .help = "Requests that were sent to another API server after a failure"},
    [TRUNCATED] = {.name = "evenkeel_proxy_truncated_responses_total",
                   .help = "Responses whose API server was lost in the middle; the client's "
                           "connection was broken",
                   .labels = {"peer"}},
    [OCTETS] = {.name = "evenkeel_proxy_bytes_total",
                .help = "Bytes of requests and responses by API server and direction (up: to it)",
                .labels = {"peer", "direction"}},
    [IN_FLIGHT] = {.name = "evenkeel_proxy_requests_in_flight",
                   .help = "Requests under way by API server",
                   .type = EK_METRIC_GAUGE,
                   .labels = {"peer"}},
    [CONNECTIONS] = {.name = "evenkeel_proxy_connections",
                     .help = "Connections of clients that are open",
                     .type = EK_METRIC_GAUGE},
    [REJECTED] = {.name = "evenkeel_proxy_rejected_total",
                  .help = "Connections and requests that were refused or closed at a limit",
                  .labels = {"limit"}},
    [ROUTABLE] = {.name = "evenkeel_proxy_peer_routable",
                  .help = "1 while requests may go to the API server",
                  .type = EK_METRIC_GAUGE,
                  .labels = {"peer"}},
    [NOT_ROUTABLE] = {.name = "evenkeel_proxy_peer_not_routable",
                      .help = "1 for the reason for which no request goes to the API server",
                      .type = EK_METRIC_GAUGE,
                      .labels = {"peer", "reason"}},
    [AGE] = {.name = "evenkeel_proxy_discovery_age_seconds",
             .help = "Age of the discovery documents of an API server",
             .type = EK_METRIC_GAUGE,
             .labels = {"peer"}},
    [DOCUMENT] = {.name = "evenkeel_proxy_discovery_bytes",
                  .help = "Size of the document of /apis of an API server (empty: the merged one)",
                  .type = EK_METRIC_GAUGE,
                  .labels = {"peer"}},
    [CERTIFICATE] = {.name = "evenkeel_proxy_certificate_expiry_timestamp_seconds",
                     .help =
                         "Expiry time of a certificate of the proxy, in seconds since the epoch",
                     .type = EK_METRIC_GAUGE,
                     .labels = {"certificate"}},
    [MERGE_SECONDS] = {.name = "evenkeel_proxy_merge_duration_seconds",
                       .help =
                           "Time in which the documents of the API servers were merged, encoded "
                           "and compressed",
                       .type = EK_METRIC_HISTOGRAM,
                       .buckets = merge_buckets,
                       .n_buckets = sizeof merge_buckets / sizeof *merge_buckets},
    [CLIENTS] = {.name = "evenkeel_proxy_client_requests_total",
                 .help =
                     "Requests by the component and the minor version that the User-Agent names, "
                     "and whether the API servers support that version",
                 .labels = {"client", "version", "verdict"},
                 .max_series = 1000},
    [CLIENTS_LAST] = {.name = "evenkeel_proxy_client_last_request_timestamp_seconds",
                      .help = "When the last request of a component at a minor version ended, by "
                              "the User-Agent",
                      .type = EK_METRIC_GAUGE,
                      .labels = {"client", "version"},
                      .max_series = 1000},
};

/* The values of the label `limit`. */
static const char *const limits[] = {"connections",
                                     "connections_per_client",
                                     "requests_per_client",
                                     "streams",
                                     "streams_per_client",
                                     "head_octets",
                                     "head_octets_per_client",
                                     "upgrades",
                                     "slow_client",
                                     "continuations",
                                     "control_frames",
                                     "resets"};

struct ek_proxy_metrics *ek_proxy_metrics_new(struct ek_metrics *metrics)
{
    struct ek_proxy_metrics *m = ek_xalloc(sizeof *m);

    for (size_t i = 0; i < N_FAMILIES; i++)
        m->families[i] = ek_metrics_register(metrics, &descs[i]);
    /* Alerts recognize a proxy by this series, which is there before the first client. */
    ek_proxy_metrics_connections(m, 0);
    /* Prometheus sees an increase of a series only that was there before. */
    for (size_t i = 0; i < EK_ARRAY_SIZE(limits); i++)
        ek_metric_add(ek_metric_with(m->families[REJECTED], limits[i], NULL), 0);
    return m;
}

void ek_proxy_metrics_free(struct ek_proxy_metrics *metrics)
{
    ek_free(metrics);
}

void ek_proxy_metrics_request(struct ek_proxy_metrics *m, const struct ek_proxy_outcome *o)
{
    char code[16];

    if (!m)
        return;
    snprintf(code, sizeof code, "%d", o->code);
    ek_metric_add(ek_metric_with(m->families[REQUESTS], o->peer, code, NULL), 1);
    if (*o->peer || o->unrouted)
        ek_metric_add(ek_metric_with(m->families[REROUTED], code, o->labels.group,
                                     o->labels.version, o->labels.resource, NULL),
                      1);
    if (!*o->peer)
        return;
    ek_metric_add(ek_metric_with(m->families[OCTETS], o->peer, "up", NULL), (double)o->octets_up);
    ek_metric_add(ek_metric_with(m->families[OCTETS], o->peer, "down", NULL),
                  (double)o->octets_down);
    if (o->truncated)
        ek_metric_add(ek_metric_with(m->families[TRUNCATED], o->peer, NULL), 1);
}

void ek_proxy_metrics_error(struct ek_proxy_metrics *m, enum ek_proxy_error error,
                            const struct ek_proxy_labels *labels)
{
    static const char *const names[] = {
#define X(name, text) text,
        EK_PROXY_ERRORS(X)
#undef X
    };

    if (m)
        ek_metric_add(ek_metric_with(m->families[ERRORS], names[error], labels->group,
                                     labels->version, labels->resource, NULL),
                      1);
}

void ek_proxy_metrics_forwarded(struct ek_proxy_metrics *m, double seconds)
{
    if (m)
        ek_metric_observe(ek_metric_with(m->families[SECONDS], NULL), seconds);
}

void ek_proxy_metrics_repeated(struct ek_proxy_metrics *m)
{
    if (m)
        ek_metric_add(ek_metric_with(m->families[REPEATED], NULL), 1);
}

void ek_proxy_metrics_discovery(struct ek_proxy_metrics *m, enum ek_proxy_discovery kind)
{
    static const char *const names[] = {"merged", "nopeer", "part"};

    if (!m)
        return;
    ek_metric_add(ek_metric_with(m->families[DISCOVERY], names[kind], NULL), 1);
    if (kind != EK_PROXY_PART)
        ek_metric_add(
            ek_metric_with(m->families[kind == EK_PROXY_MERGED ? CACHE_HITS : NOPEER], NULL), 1);
}

void ek_proxy_metrics_permission(struct ek_proxy_metrics *m, bool kept)
{
    if (m)
        ek_metric_add(ek_metric_with(m->families[PERMISSIONS], kept ? "cache" : "apiserver", NULL),
                      1);
}

void ek_proxy_metrics_client(struct ek_proxy_metrics *m, const char *user_agent,
                             struct ek_bounds bounds, int64_t wall_ms)
{
    if (!m)
        return;
    const struct ek_client_version v = ek_client_version_judge(user_agent, &bounds);
    ek_metric_add(
        ek_metric_with(m->families[CLIENTS], v.client, v.version, ek_verdict_name(v.verdict), NULL),
        1);
    ek_metric_set(ek_metric_with(m->families[CLIENTS_LAST], v.client, v.version, NULL),
                  (double)wall_ms / 1000);
}

void ek_proxy_metrics_in_flight(struct ek_proxy_metrics *m, const char *peer, int n)
{
    if (m)
        ek_metric_add(ek_metric_with(m->families[IN_FLIGHT], peer, NULL), n);
}

void ek_proxy_metrics_connections(struct ek_proxy_metrics *m, int n)
{
    if (m)
        ek_metric_add(ek_metric_with(m->families[CONNECTIONS], NULL), n);
}

void ek_proxy_metrics_rejected(struct ek_proxy_metrics *m, const char *limit)
{
    if (m)
        ek_metric_add(ek_metric_with(m->families[REJECTED], limit, NULL), 1);
}

void ek_proxy_metrics_merged(struct ek_proxy_metrics *m, double seconds)
{
    if (!m)
        return;
    ek_metric_add(ek_metric_with(m->families[CACHE_MISSES], NULL), 1);
    ek_metric_observe(ek_metric_with(m->families[MERGE_SECONDS], NULL), seconds);
}

void ek_proxy_metrics_document(struct ek_proxy_metrics *m, const char *peer, size_t bytes)
{
    if (m)
        ek_metric_set(ek_metric_with(m->families[DOCUMENT], peer, NULL), (double)bytes);
}

void ek_proxy_metrics_certificate(struct ek_proxy_metrics *m, const char *certificate,
                                  int64_t not_after_ms)
{
    if (m && not_after_ms != EK_TIME_UNSET)
        ek_metric_set(ek_metric_with(m->families[CERTIFICATE], certificate, NULL),
                      (double)not_after_ms / 1000);
}

static void forget_reasons(struct ek_proxy_metrics *m, const char *peer)
{
    for (const char *const *reason = ek_view_reasons; *reason; reason++) {
        const char *const values[] = {peer, *reason, NULL};
        ek_metric_remove(m->families[NOT_ROUTABLE], values);
    }
}

void ek_proxy_metrics_peer(struct ek_proxy_metrics *m, const char *peer, const char *why_not,
                           double age_s)
{
    if (!m)
        return;
    ek_metric_set(ek_metric_with(m->families[ROUTABLE], peer, NULL), !*why_not);
    forget_reasons(m, peer);
    if (*why_not)
        ek_metric_set(ek_metric_with(m->families[NOT_ROUTABLE], peer, why_not, NULL), 1);
    if (age_s >= 0)
        ek_metric_set(ek_metric_with(m->families[AGE], peer, NULL), age_s);
}

void ek_proxy_metrics_peer_gone(struct ek_proxy_metrics *m, const char *peer)
{
    const char *const values[] = {peer, NULL};

    if (!m)
        return;
    ek_metric_remove(m->families[ROUTABLE], values);
    forget_reasons(m, peer);
    ek_metric_remove(m->families[AGE], values);
    ek_metric_remove(m->families[DOCUMENT], values);
}
