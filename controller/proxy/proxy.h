/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy in front of API servers of different versions: one listener on one loop.
 *
 * How a request goes:
 *
 *   1. A front connection (front.c) has a wire (wire.h: socket and TLS) and a relay (relay.h: the
 *      states, the framing, back-pressure). The relay reads the head of a request, and nothing else
 *      is held.
 *   2. The decisions of reconcilers/proxy are made about that head: what it is about
 *      (request.h), whose it is (identity.h), and which API server gets it (route.h), by the view
 * of all API servers (reconcilers/peers/view.h).
 *   3. A connection to the API server is taken from the pool (pool.h) or dialled, and the relay
 *      streams both ways. For an upgrade it is dialled, and never used again.
 *   4. An API server that is lost before the first byte of its response, does not know the type, or
 *      refuses the request as it starts or stops, makes route.h decide again. One that is lost
 * later breaks the client's connection. So does one that the view declares down while it has the
 * request: a watch ends between two events, other requests as if the connection were lost. Streams
 * that are no watches (exec, logs) stay.
 *   5. Discovery is answered from the view, after the connection's API server has granted it to the
 *      client (negotiate.h), now or a moment ago (grants.h).
 *
 * Nothing but a board (board.h) is shared between the loops of several proxies, and each has its
 * limits for itself.
 *
 * Ownership: config and what it points to are borrowed for the proxy's life. Threading: the loop's
 * thread.
 */
#ifndef CONTROLLER_PROXY_PROXY_H
#define CONTROLLER_PROXY_PROXY_H

#include <uv.h>

#include "api/base/err.h"
#include "controller/http/tls.h"
#include "controller/proxy/board.h"
#include "controller/proxy/egress.h"
#include "controller/proxy/metrics.h"
#include "controller/telemetry/log.h"
#include "reconcilers/proxy/identity.h"

/* The 0 of a member means the default in brackets. */
struct ek_proxy_options {
    const char *address;              /* where to listen, "ip:port" */
    struct ek_tls_identity *identity; /* NULL: plain HTTP, for tests */
    struct ek_identity_policy policy;
    size_t connections;            /* at once [10000]; then the longest idle one is closed */
    size_t connections_per_client; /* by IP address [1000] */
    size_t requests_per_client;    /* at once, watches included, by IP address [2000]; then 429 */
    size_t streams;     /* of HTTP/2, at once, of all clients [10000]; then REFUSED_STREAM */
    size_t head_octets; /* of the heads of all requests that are under way, or not complete
                           [64 MiB]; then 503 */
    size_t head_octets_per_client; /* of these, by IP address [8 MiB]; then 429 or 503 */
    size_t body_octets; /* of bodies that are collected whole, or wait for a client whole [128 MiB];
                           then 429 */
    size_t body_octets_per_client; /* of these, by IP address [64 MiB]; then 429 */
    size_t waiting_octets; /* of requests and responses that wait for the other side, of all clients
                              [96 MiB]; from half of that on, who has some gets no more, and
                              beyond it connections end (room.h) */
    size_t upgrades;       /* at once [1000]; then 429 */
    size_t max_head;       /* bytes of a head [256 KiB] */
    int64_t head_ms;       /* from the first byte to the end of a head [10 s] */
    int64_t idle_ms;       /* between requests [90 s] */
    int64_t body_ms;       /* credit of a client that owes octets of a body (relay.h) [30 s] */
    int64_t body_rate;     /* octets of a body a second, at least [512] */
    int64_t write_ms;      /* without progress to a client that does not read [60 s] */
    int64_t dial_ms;       /* for a connection to an API server [5 s] */
    int64_t answer_ms;     /* for the head of a response, long-running requests excluded [75 s,
                              more than API servers give themselves: --request-timeout] */
    int64_t look_ms; /* between two looks whether the API server of a request under way was declared
                        down [5 s] */
    const struct ek_egress *egress; /* by which API servers are reached; NULL: directly */
    int64_t peer_rate; /* octets a second to and from API servers together [0: no cap] */
    int64_t
        grant_ms; /* how long an API server's permission for discovery holds (grants.h) [0: not] */
    int64_t (*wall_ms)(void); /* the wall clock, by which client certificates expire [ek_wall_ms] */
    bool access_log;          /* a line for each request at level info; else at level 2 */
};

struct ek_proxy_config {
    struct ek_proxy_options options;
    struct ek_proxy_board *board;
    struct ek_proxy_metrics *metrics; /* may be NULL */
    struct ek_log *log;               /* may be NULL */
};

struct ek_proxy;

/* Listens. Errors: EK_E_INVAL for the address, EK_E_IO with the system's reason; then there is no
 * proxy, once the loop has run. */
int ek_proxy_new(uv_loop_t *loop, const struct ek_proxy_config *config, struct ek_proxy **ret_proxy,
                 struct ek_err *err);

/* Where it listens, "127.0.0.1:43017"; borrowed. */
const char *ek_proxy_address(const struct ek_proxy *proxy);

/* Counters, for tests and metrics. */
struct ek_proxy_stats {
    size_t connections;      /* of clients, open now */
    size_t peer_connections; /* to API servers, open now */
    size_t requests;         /* in flight */
    unsigned long long accepted, rejected;
    unsigned long long holds_up, holds_down; /* times that peer_rate has held octets back */
    size_t waiting;        /* octets of responses that clients have not taken yet */
    size_t waiting_up;     /* octets of requests that API servers have not taken yet */
    size_t head_octets;    /* see options */
    size_t body_octets;    /* see options */
    size_t waiting_octets; /* see options */
};
void ek_proxy_stats(const struct ek_proxy *proxy, struct ek_proxy_stats *ret_stats);

/* Of one API server, for debugging. */
struct ek_proxy_peer_stats {
    unsigned long long requests; /* that were sent to it, repeated ones included */
    size_t in_flight;
};
void ek_proxy_peer_stats(const struct ek_proxy *proxy, const char *name,
                         struct ek_proxy_peer_stats *ret_stats);

/* The authorities of client certificates have changed: ends the connections of clients with one, as
 * ek_proxy_close does, and refuses further requests on them. Connections to come are verified by
 * the new authorities. */
void ek_proxy_end_users(struct ek_proxy *proxy);

/*
 * Ends it: refuses new connections; closes idle ones; ends watches between two events, so that
 * clients resume elsewhere after the last one they have seen; has responses say that they are the
 * last. After grace_ms what is left is closed. on_closed is called from the loop when nothing is
 * left of it.
 */
void ek_proxy_close(struct ek_proxy *proxy, int64_t grace_ms, void (*on_closed)(void *ctx),
                    void *ctx);

#endif
