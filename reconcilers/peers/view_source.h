/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where views come from: the cache of the documents of API servers. Each new table of peers gives
 * the next view; a table in which nothing has changed gives none.
 *
 * The last good documents of a server are kept as long as the table has the server, also when its
 * address has gone and it is probed no more, and for EK_VIEW_FORGET_AFTER_MS after that: what only
 * that server serves is unavailable then, and not unknown (KEP-4020: 503 and never 404). An API
 * server takes its Lease and its endpoint with it when it stops (kubernetes/kubernetes#134514),
 * also for a restart. The README beside this file has the rules for "routable" and "down".
 *
 * The time is an argument. Threading: one thread at a time.
 */
#ifndef RECONCILERS_PEERS_VIEW_SOURCE_H
#define RECONCILERS_PEERS_VIEW_SOURCE_H

#include "reconcilers/peers/table.h"
#include "reconcilers/peers/view_build.h"

/* A server that has not answered for so long is declared down. */
#define EK_VIEW_DOWN_AFTER_MS 30000

/* A Lease counts as not renewed only while the newest renewal of the Lease of another server is
 * later than its own by more than this time. API servers renew every 10 s
 * (pkg/controlplane/apiserver/server.go:IdentityLeaseRenewIntervalPeriod of Kubernetes 1.36). */
#define EK_VIEW_LEASE_LAG_MS 30000

/* A server that nothing in the cluster names any more stays in views for so long, as down. A server
 * whose address was a part of the configuration does not: the configuration has changed. Nor does
 * one whose address another server has now: it is the same server, known by its address before it
 * has a Lease, and has the documents. */
#define EK_VIEW_FORGET_AFTER_MS 600000

struct ek_view_source;

struct ek_view_source *ek_view_source_new(void);
void ek_view_source_free(struct ek_view_source *source); /* NULL is fine */

/* Takes the table and the exclusions of now. Returns the new view, borrowed until the next call, or
 * NULL when it would be the same as before. */
const struct ek_view *ek_view_source_update(struct ek_view_source *source,
                                            const struct ek_peer_table *table,
                                            const struct ek_exclusions *exclusions, int64_t now_ms);

/* The newest view, borrowed; NULL before the first table. */
const struct ek_view *ek_view_source_view(const struct ek_view_source *source);

/*
 * What happened since the source was made. An API server counts the same, as the metrics
 * apiserver_peer_discovery_sync_errors_total and aggregator_discovery_aggregation_count_total
 * (util/peerproxy/metrics/metrics.go, endpoints/discovery/aggregated/metrics.go, 1.36): there a
 * failed fetch counts once for each of two paths, here once for both.
 */
struct ek_view_counts {
    uint64_t fetch_errors;   /* rounds in which the documents of a server were not read */
    uint64_t address_errors; /* servers that were found without an address, or lost it */
    uint64_t documents;      /* documents of a server that replaced others, or came first */
};

struct ek_view_counts ek_view_source_counts(const struct ek_view_source *source);

/* In how many milliseconds time alone will change the view; 0 for never. */
int64_t ek_view_source_again_ms(const struct ek_view_source *source, int64_t now_ms);

/*
 * Why the i-th peer of the newest view is not routable, one word for debugging: "NoAddress",
 * "NotTrusted", "LeaseStale", "CertificateMismatch", "Unreachable", "NotReady", "NoDocuments",
 * "Gone"; "" for one that is.
 */
const char *ek_view_source_why_not(const struct ek_view_source *source, size_t i);

#endif
