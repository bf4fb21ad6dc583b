/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the proxy. Where kube-apiserver has a metric of the same meaning, its name is used
 * (KEP-4020, "Monitoring Requirements"; apiserver 1.36, pkg/util/peerproxy/metrics/metrics.go and
 * pkg/endpoints/discovery/aggregated/metrics.go). Group, version and resource are labels only of
 * what an API server serves: clients choose their paths. Threading: any thread.
 */
#ifndef CONTROLLER_PROXY_METRICS_H
#define CONTROLLER_PROXY_METRICS_H

#include <stdint.h>

#include "controller/telemetry/metrics.h"
#include "reconcilers/skew/policy.h"

/* Why an API server did not answer: label "type" of apiserver_peer_proxy_errors_total. The first
 * two are kube-apiserver's, the others are ours. */
#define EK_PROXY_ERRORS(X)                                                                         \
    X(TRANSPORT, "proxy_transport")      /* no connection can be made for it */                    \
    X(RESOLUTION, "endpoint_resolution") /* it serves the type, and has no address */              \
    X(CONNECT, "connect")                /* no connection, or it ended before the request */       \
    X(LOST, "lost")                      /* it ended before a byte of the response */              \
    X(MIDWAY, "midway")                  /* it ended in the middle of the response */              \
    X(TYPE, "unknown_type")              /* it does not know the type */                           \
    X(REFUSED, "refused")                /* it starts or stops, and did nothing */

enum ek_proxy_error {
#define X(name, text) EK_PROXY_ERROR_##name,
    EK_PROXY_ERRORS(X)
#undef X
};

/* Which document: label of evenkeel_proxy_discovery_requests_total. */
enum ek_proxy_discovery { EK_PROXY_MERGED, EK_PROXY_NOPEER, EK_PROXY_PART };

/* What a request is about; "" for each where no API server serves it. */
struct ek_proxy_labels {
    const char *group, *version, *resource;
};

struct ek_proxy_metrics;

/* Registers the families; owned, to be freed before metrics. */
struct ek_proxy_metrics *ek_proxy_metrics_new(struct ek_metrics *metrics);
void ek_proxy_metrics_free(struct ek_proxy_metrics *metrics);

/* All take NULL for metrics, and do nothing. */

/* A request is over. peer: the name of the API server, "" when the proxy answered. code: of the
 * response, 0 when there was none. */
struct ek_proxy_outcome {
    const char *peer;
    int code;
    struct ek_proxy_labels labels;
    bool unrouted; /* the proxy answered because no API server could be asked; counts as rerouted,
                      as in kube-apiserver */
    uint64_t octets_up, octets_down;
    bool truncated;
};
void ek_proxy_metrics_request(struct ek_proxy_metrics *metrics,
                              const struct ek_proxy_outcome *outcome);
void ek_proxy_metrics_error(struct ek_proxy_metrics *metrics, enum ek_proxy_error error,
                            const struct ek_proxy_labels *labels);

/* From the head of a request to its first byte on the way to the API server, in seconds. */
void ek_proxy_metrics_forwarded(struct ek_proxy_metrics *metrics, double seconds);
void ek_proxy_metrics_repeated(struct ek_proxy_metrics *metrics);
/* Counts an answer to discovery by the permission of an API server. kept: the permission was given
 * for an earlier request (grants.h). */
void ek_proxy_metrics_permission(struct ek_proxy_metrics *metrics, bool kept);
void ek_proxy_metrics_discovery(struct ek_proxy_metrics *metrics, enum ek_proxy_discovery kind);

/* Counts a request that ended at wall_ms (wall clock). user_agent is the User-Agent of the client
 * (NULL: the request had none). The version in it is judged by bounds, the versions of the API
 * servers (reconcilers/proxy/client_version.h). */
void ek_proxy_metrics_client(struct ek_proxy_metrics *metrics, const char *user_agent,
                             struct ek_bounds bounds, int64_t wall_ms);

/* Gauges: n more (or fewer). */
void ek_proxy_metrics_in_flight(struct ek_proxy_metrics *metrics, const char *peer, int n);
void ek_proxy_metrics_connections(struct ek_proxy_metrics *metrics, int n);
void ek_proxy_metrics_rejected(struct ek_proxy_metrics *metrics, const char *limit);

/* The documents of the API servers were merged in so many seconds. */
void ek_proxy_metrics_merged(struct ek_proxy_metrics *metrics, double seconds);
/* Bytes of the document of /apis of a peer ("": the merged one). */
void ek_proxy_metrics_document(struct ek_proxy_metrics *metrics, const char *peer, size_t bytes);

/* Of a view: why no request may go to a peer (one of ek_view_reasons; "": they may), and the age of
 * its documents; age < 0: not known. */
void ek_proxy_metrics_peer(struct ek_proxy_metrics *metrics, const char *peer, const char *why_not,
                           double age_s);
/* certificate: "serving", "client" for the one by which the proxy hands on the users of client
 * certificates, or "kubeconfig" for that of the proxy's own account. not_after_ms: the end of its
 * validity, EK_TIME_UNSET when there is none. */
void ek_proxy_metrics_certificate(struct ek_proxy_metrics *metrics, const char *certificate,
                                  int64_t not_after_ms);
/* The peer is in no view any more: removes its series. */
void ek_proxy_metrics_peer_gone(struct ek_proxy_metrics *metrics, const char *peer);

#endif
