/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of peers: the API servers of the cluster, as the skew subject has found them. Skew
 * publishes a new table in each of its cycles; every other subject, and the serving of webhooks,
 * read that table and collect no facts themselves.
 *
 * A table is immutable. Ownership: the plan of skew owns the table; subjects copy what outlives the
 * call. Threading: the loop thread.
 */
#ifndef RECONCILERS_PEERS_TABLE_H
#define RECONCILERS_PEERS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "informers/probe/probe.h"

/* One API server. Strings are never NULL. */
struct ek_peer {
    const char *name;           /* hostname where known, else the address, else the lease's name */
    const char *server_id;      /* name of the identity lease, "" for none */
    const char *address;        /* "ip:port", "" when nothing names one */
    const char *address_source; /* "EndpointSlice", "Static", "Configured", "Pod", "" */
    bool trusted;               /* the address may be requested, and shown our credentials */
    bool in_endpoints;          /* ready in the EndpointSlice default/kubernetes */
    bool live;                  /* takes requests, as far as is known */
    bool lease_stale;           /* there is a lease, and it is not renewed */
    int64_t lease_age_ms; /* since the last renewal that was seen; -1 when that is not known */
    bool reachable;       /* the last probe was answered */
    bool mismatched;      /* the certificate of what answered last has neither the address nor the
                             name: it is another API server */
    const struct ek_probe *probe; /* the last probe; NULL before the first */
};

struct ek_peer_table {
    const struct ek_peer *peers; /* by name */
    size_t n;
    bool enumerated; /* these are all API servers that there are */
    bool probed;     /* every address that may be probed was tried once at least */
};

/* Returns a table with copies of the n peers, owned by the caller. Never NULL. */
struct ek_peer_table *ek_peer_table_new(const struct ek_peer *peers, size_t n, bool enumerated,
                                        bool probed);

/* Releases the table; NULL is fine. */
void ek_peer_table_free(struct ek_peer_table *table);

#endif
