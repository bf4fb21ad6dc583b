/* SPDX-License-Identifier: Apache-2.0 */
/* What http_server.c (the listener) and http_peer.c (one client's socket) share. */
#ifndef CONTROLLER_HTTP_SERVER_INTERNAL_H
#define CONTROLLER_HTTP_SERVER_INTERNAL_H

#include "controller/http_conn.h"
#include "controller/http_server.h"

struct ek_http_peer;

struct ek_http_server {
    uv_loop_t *loop;
    struct ek_http_server_config config;
    struct ek_http_conn_config conn_config;
    char *bind_address; /* owned */
    char address[64];   /* where it listens */
    uv_tcp_t listener;
    uv_timer_t grace;
    bool listening; /* listener is open */
    bool lingering; /* to be closed, but still there for those who do not know yet */
    bool closing;
    int64_t rest_ms;            /* of the grace, after lingering */
    int n_handles;              /* of listener and grace that are not closed yet */
    struct ek_http_peer *peers; /* the one that was active last comes first */
    struct ek_http_peer *last;
    struct ek_http_server_stats stats;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

/* Accepts the client that waits at the listener. */
void ek_http_peer_accept__(struct ek_http_server *server);

/* Ends it after the next request. */
void ek_http_peer_last__(struct ek_http_peer *peer);

/* Lets the request under way finish, then closes; or closes at once. */
void ek_http_peer_drain__(struct ek_http_peer *peer);
void ek_http_peer_close__(struct ek_http_peer *peer);

/* The neighbours in the server's list. */
struct ek_http_peer *ek_http_peer_next__(const struct ek_http_peer *peer);

/* Closes the peer that has been idle the longest; false when none is. */
bool ek_http_peer_evict__(struct ek_http_server *server);

/* A peer is gone for good; frees a server that is closing once it was the last. */
void ek_http_server_released__(struct ek_http_server *server);

/* Text of an address, "127.0.0.1:80" or "[::1]:80". */
void ek_http_address_format__(const struct sockaddr_storage *addr, char *buf, size_t size);

#endif
