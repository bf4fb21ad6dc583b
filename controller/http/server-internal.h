/* SPDX-License-Identifier: Apache-2.0 */
/* What server.c (the listener) and server_peer.c (one client's socket) share. */
#ifndef CONTROLLER_HTTP_SERVER_INTERNAL_H
#define CONTROLLER_HTTP_SERVER_INTERNAL_H

#include "controller/http/conn.h"
#include "controller/http/server.h"
#include "controller/http/turns.h"

/* One client's socket. */
struct ek_http_peer {
    struct ek_http_server *server;
    struct ek_http_peer *prev, *next; /* in the server's list */
    struct ek_http_source source;
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct ek_http_conn *http;  /* NULL once it is closed and off the stack */
    struct ek_tls_session *tls; /* NULL for plain HTTP, and with http */
    char *out;                  /* owned; what the write under way sends */
    size_t n_out;               /* its length */
    size_t in_flight;           /* bytes of the engine's output that are in it */
    int64_t alone_ms;           /* since when out is TLS's own alone; 0: it is not */
    bool writing, reading;
    struct ek_http_turn turn; /* its place among those that have work */
    bool unread;              /* ciphertext has come that was not decrypted yet */
    bool again;               /* work was left after its last turn */
    bool draining;            /* to be drained after its turn */
    bool pumping;             /* on the stack */
    bool ending;              /* everything is sent; only lingers */
    bool eof;                 /* the client has ended its side */
    bool closing;             /* handles are being closed */
    int n_handles;            /* not closed yet */
    int64_t linger_until_ms;
    enum ek_http_fault fault; /* why the server closed it */
    bool noted;               /* it has been counted */
};

struct ek_http_server {
    uv_loop_t *loop;
    struct ek_http_server_config config;
    struct ek_http_conn_config conn_config;
    char *bind_address; /* owned */
    char address[64];   /* where it listens */
    uv_tcp_t listener;
    uv_timer_t grace;
    uv_idle_t idle;   /* while a connection has work, or waits to be accepted */
    uv_check_t check; /* behind all callbacks of a round of the loop */
    struct ek_http_turns *turns;
    bool arrived;   /* the listener has a connection that is not accepted yet */
    bool listening; /* listener is open */
    bool lingering; /* to be closed; clients that do not know yet are still served */
    bool closing;
    int64_t rest_ms;            /* of the grace, after lingering */
    int n_handles;              /* of listener, grace, idle and check that are not closed */
    struct ek_http_peer *peers; /* the one that was active last comes first */
    struct ek_http_peer *last;
    struct ek_http_server_stats stats;
    struct ek_http_meter own_meter; /* for owners without a meter */
    struct ek_http_meter *meter;
    struct ek_http_candidate *candidates; /* of the size below, for choosing */
    size_t n_candidates;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

/* ---- Turns (server.c decides when, server_peer.c does the work) ---- */

/* Goes on with the peer, whose turn it is. */
void ek_http_peer_work__(struct ek_http_peer *peer);

/* The thread was busy for so long, with what no client is to blame for: what of it is beyond an
 * eighth of the shortest time that clients have is not theirs. */
void ek_http_server_excuse__(struct ek_http_server *server, int64_t ms);

/* Has the loop take turns. */
void ek_http_server_stir__(struct ek_http_server *server);

/* Accepts the client that waits at the listener. */
void ek_http_peer_accept__(struct ek_http_server *server);

/* Ends it after the next request. */
void ek_http_peer_last__(struct ek_http_peer *peer);

/* Lets the request under way finish, then closes; or closes at once. */
void ek_http_peer_drain__(struct ek_http_peer *peer);
void ek_http_peer_close__(struct ek_http_peer *peer);

/* Schedules the peer for the next turn of the loop. The caller may be in a callback of the peer. */
void ek_http_peer_wake__(struct ek_http_peer *peer);

/* ---- Room (server_room.c) ---- */

/* Finds a place for a peer that has just come, which is in the list already: closes another one if
 * need be. False when there is none, and the peer's fault says why. */
bool ek_http_room_for__(struct ek_http_peer *peer);

/* make_room of the server's engines; ctx is a peer. */
bool ek_http_make_room__(void *ctx, size_t n, size_t held);

/* A peer is gone for good; frees a server that is closing once it was the last. */
void ek_http_server_released__(struct ek_http_server *server);

/* Text of an address, "127.0.0.1:80" or "[::1]:80". */
void ek_http_address_format__(const struct sockaddr_storage *addr, char *buf, size_t size);

#endif
