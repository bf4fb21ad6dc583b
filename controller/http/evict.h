/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connection makes room for another: a pure decision over a table of what a listener has.
 *
 * Connections are in classes; the first class that has a connection gives it up:
 *
 *   ENDING  everything is answered; only the end of the stream is awaited
 *   STALE   the client owes something (a handshake, the rest of a head or body, the reading of an
 *           answer) for longer than EK_HTTP_YOUNG_MS: what slowloris attacks consist of
 *   REST    all others but the busy ones: in the order NEW, IDLE, YOUNG (below)
 *   BUSY    a handler has the request: never given up
 *
 * Within a class, the source with the most bytes (or, when places are required, with the most
 * connections) in that class gives; of its connections the one that has been in that state the
 * longest, of equal ones the first in the table. Sources are addresses, of IPv6 the /64, because a
 * host has as many addresses of that as it likes.
 *
 * Of the connections of one source in REST, a NEW one goes first: nothing has been answered on it
 * yet. Where a network plug-in hides all clients behind one address, a flood of connections
 * therefore displaces its own, and not those that API servers keep alive. A flood that is to keep
 * an honest client from a handshake must fill all places within the time of one. An IDLE one, kept
 * alive between requests, goes next; then a YOUNG one, on which a further request has begun.
 */
#ifndef CONTROLLER_HTTP_EVICT_H
#define CONTROLLER_HTTP_EVICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define EK_HTTP_YOUNG_MS 1000

/* An address, IPv4 as IPv6, without what a host may choose. Zeroed: not known. */
struct ek_http_source {
    uint64_t prefix; /* the first half */
    uint64_t rest;   /* of an IPv4 address (mapped); else 0 */
};

struct ek_http_source ek_http_source_of(const struct sockaddr_storage *addr);
bool ek_http_source_is(const struct ek_http_source *a, const struct ek_http_source *b);

/* What a connection is doing. */
enum ek_http_progress {
    EK_HTTP_ENDING, /* nothing is due to anybody */
    EK_HTTP_OWED,   /* the client owes bytes, or reading */
    EK_HTTP_IDLE,   /* between requests */
    EK_HTTP_BUSY,   /* a handler works */
};

struct ek_http_candidate {
    void *owner; /* what the caller knows it by */
    enum ek_http_progress progress;
    bool served;      /* something has been answered on it */
    int64_t since_ms; /* that it is so */
    size_t bytes;     /* held for it */
    struct ek_http_source source;
    int turn;     /* set by the choice: the place in the order of REST */
    size_t order; /* set by the choice: where the candidate stood in the table */
};

/* The requirement and the candidates. */
struct ek_http_want {
    int64_t now_ms;
    bool bytes;                        /* bytes, else a place */
    bool spare;                        /* leave REST alone */
    const struct ek_http_source *only; /* from this source only; NULL: from any */
};

/* The owner of the candidate to give up; NULL for none. Candidates without bytes are passed over
 * when bytes are required. The table is overwritten. O(n log n). */
void *ek_http_evict_choose(struct ek_http_candidate *candidates, size_t n,
                           const struct ek_http_want *want);

/* Whether a source that has n_source of n connections (max allowed) may have another one only in
 * place of one of its own: when three quarters are taken and more than half of them by it. */
bool ek_http_source_is_greedy(size_t n_source, size_t n, size_t max);

#endif
