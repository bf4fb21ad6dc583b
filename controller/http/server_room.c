/* SPDX-License-Identifier: Apache-2.0 */
/* Places and bytes for newcomers, at the cost of other connections, which evict.h chooses. */
#include "controller/http/server-internal.h"

/* Puts all peers but one into the server's table, the last active one at the end; returns their
 * number. */
static size_t gather(struct ek_http_server *server, const struct ek_http_peer *but)
{
    size_t n = 0;

    if (server->n_candidates < server->stats.connections) {
        server->n_candidates = server->stats.connections + server->stats.connections / 2;
        server->candidates =
            ek_xrealloc(server->candidates, server->n_candidates, sizeof *server->candidates);
    }
    for (struct ek_http_peer *peer = server->last; peer; peer = peer->prev) {
        if (peer == but || !peer->http)
            continue;
        struct ek_http_candidate *candidate = &server->candidates[n++];
        ek_http_conn_candidate(peer->http, candidate);
        candidate->owner = peer;
        candidate->source = peer->source;
        if (peer->ending) {
            candidate->progress = EK_HTTP_ENDING;
        } else if (peer->alone_ms && candidate->progress == EK_HTTP_IDLE) {
            candidate->progress = EK_HTTP_OWED; /* the reading of what TLS has to say */
            candidate->since_ms = peer->alone_ms;
        }
        if (candidate->progress == EK_HTTP_IDLE && ek_http_turn_waits(&peer->turn)) {
            candidate->progress = EK_HTTP_OWED; /* a request has come */
            candidate->since_ms = (int64_t)uv_now(server->loop);
        }
    }
    return n;
}

bool ek_http_make_room__(void *ctx, size_t n, size_t held)
{
    struct ek_http_peer *peer = ctx;
    struct ek_http_server *server = peer->server;
    struct ek_http_want want = {
        .now_ms = (int64_t)uv_now(server->loop), .bytes = true, .spare = held > EK_HTTP_SMALL};

    (void)n;
    if (server->closing) /* walks over its connections; they end soon enough */
        return false;
    struct ek_http_peer *other =
        ek_http_evict_choose(server->candidates, gather(server, peer), &want);
    if (!other)
        return false;
    ek_http_conn_shed(other->http, want.now_ms);
    if (ek_http_conn_state(other->http) == EK_HTTP_CONN_CLOSED)
        ek_http_peer_close__(other); /* with what TLS holds for it */
    else
        ek_http_peer_wake__(other);
    return true;
}

static size_t count_source(const struct ek_http_server *server, const struct ek_http_source *source)
{
    size_t n = 0;

    for (const struct ek_http_peer *peer = server->peers; peer; peer = peer->next)
        n += ek_http_source_is(&peer->source, source);
    return n;
}

/* Closes the peer that is the first to go; false when all have requests under way. */
static bool evict(struct ek_http_peer *newcomer, const struct ek_http_source *only)
{
    struct ek_http_server *server = newcomer->server;
    struct ek_http_want want = {.now_ms = (int64_t)uv_now(server->loop), .only = only};
    struct ek_http_peer *other =
        ek_http_evict_choose(server->candidates, gather(server, newcomer), &want);

    if (!other)
        return false;
    other->fault = EK_HTTP_FAULT_EVICTED;
    server->stats.evicted++;
    ek_http_peer_close__(other);
    return true;
}

/* Connections whose handles are being closed hold nothing any more, but are counted. */
static size_t count_open(const struct ek_http_server *server)
{
    size_t n = 0;

    for (const struct ek_http_peer *peer = server->peers; peer; peer = peer->next)
        n++;
    return n;
}

static bool refuse(struct ek_http_peer *newcomer, enum ek_http_fault fault)
{
    atomic_fetch_add_explicit(&newcomer->server->meter->rejected[fault], 1, memory_order_relaxed);
    return false;
}

bool ek_http_room_for__(struct ek_http_peer *peer)
{
    struct ek_http_server *server = peer->server;
    size_t max = server->config.max_connections, n = count_open(server);

    if (n > max - max / 4 &&
        ek_http_source_is_greedy(count_source(server, &peer->source), n - 1, max))
        return evict(peer, &peer->source) || refuse(peer, EK_HTTP_FAULT_SOURCE);
    return n <= max || evict(peer, NULL) || refuse(peer, EK_HTTP_FAULT_FULL);
}
