/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients that proxies have seen, read from the metrics of the proxies, and judged by the
 * versions of the API servers (KEP-4330, "Skew"). Clients report their versions themselves, so that
 * a verdict of a client has no effect outside of the list.
 *
 * A page is text in the format of Prometheus, and is not trusted: only the names of clients and the
 * minor versions that client_version.h has are read. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_CLIENTS_SEEN_H
#define RECONCILERS_PROXY_CLIENTS_SEEN_H

#include "api/base/buf.h"
#include "reconcilers/proxy/client_version.h"

/* Further rows are dropped. There are seven clients, each with some 20 versions. */
#define EK_CLIENTS_SEEN_MAX 128

struct ek_client_seen {
    struct ek_client_version is;
    double requests;
    int64_t last_ms; /* wall clock of the last request; EK_TIME_UNSET where no page says */
};

struct ek_clients_seen {
    struct ek_client_seen rows[EK_CLIENTS_SEEN_MAX]; /* by client and version */
    size_t n;
};

/* Adds the clients of a page, judged by bounds, to *clients, which is zeroed at first. Returns 0,
 * or EK_E_PARSE when the page is not one of a proxy. */
int ek_clients_seen_read(struct ek_clients_seen *clients, struct ek_str page,
                         const struct ek_bounds *bounds);

#endif
