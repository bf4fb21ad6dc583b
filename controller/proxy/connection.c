/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of a client: who it is, which version of HTTP it speaks, and the requests on it.
 */
#include <netinet/in.h>
#include <stdio.h>

#include "controller/proxy/proxy-internal.h"

/* How long a connection of HTTP/2 still reads after its last frame. */
#define LINGER_MS 1000

static int64_t now_of(const struct ek_proxy_conn *conn)
{
    return ek_proxy_now__(conn->proxy);
}

/* ---- The end ---- */

void ek_conn_released__(struct ek_proxy_conn *conn)
{
    if (--conn->n_open > 0)
        return;
    ek_h2_conn_free(conn->h2);
    ek_route_memory_done(&conn->memory);
    if (conn->has_subject)
        ek_tls_subject_done(&conn->subject);
    ek_proxy_gone__(conn->proxy, conn);
    ek_free(conn);
}

static void on_timer_closed(uv_handle_t *handle)
{
    ek_conn_released__(handle->data);
}

void ek_conn_close__(struct ek_proxy_conn *conn, bool reset)
{
    if (conn->closing)
        return;
    conn->closing = true;
    ek_proxy_count_heads__(conn->proxy, conn->client, &conn->head_octets, 0);
    if (conn->h2 && ek_h2_abuse(conn->h2))
        ek_proxy_metrics_rejected(conn->proxy->config->metrics, ek_h2_abuse(conn->h2));
    for (struct ek_proxy_front *front = conn->fronts, *next; front; front = next) {
        next = front->next;
        ek_front_close__(front, reset);
    }
    ek_proxy_count_waiting__(conn, &conn->own_waiting, 0);
    ek_wire_close(conn->wire, reset);
    uv_close((uv_handle_t *)&conn->timer, on_timer_closed);
}

/* ---- HTTP/2, and the time before the version is known ---- */

static void arm_timer(struct ek_proxy_conn *conn);

static void on_timer(uv_timer_t *timer)
{
    struct ek_proxy_conn *conn = timer->data;
    int64_t now_ms = now_of(conn);

    if (now_ms >= conn->due_ms) { /* of the handshake, or of the last frame */
        ek_conn_close__(conn, false);
        return;
    }
    if (conn->h2)
        ek_h2_timeout(conn->h2, now_ms);
    ek_conn_go_on__(conn);
}

static void arm_timer(struct ek_proxy_conn *conn)
{
    int64_t due = conn->h2 ? ek_h2_deadline(conn->h2) : INT64_MAX, now_ms = now_of(conn);

    due = due < conn->due_ms ? due : conn->due_ms;
    if (due == INT64_MAX)
        uv_timer_stop(&conn->timer);
    else
        uv_timer_start(&conn->timer, on_timer, due > now_ms ? (uint64_t)(due - now_ms) : 1, 0);
}

/* The last frame is sent: ends the stream of the socket, then waits for the client's end. */
static void check_end(struct ek_proxy_conn *conn)
{
    enum ek_h2_state state = ek_h2_state(conn->h2);

    if (state == EK_H2_CLOSED)
        ek_conn_close__(conn, true);
    else if (state == EK_H2_CLOSING && conn->due_ms == INT64_MAX &&
             ek_h2_output(conn->h2, now_of(conn)).len == 0)
        conn->due_ms = now_of(conn) + LINGER_MS;
}

void ek_conn_count_waiting__(struct ek_proxy_conn *conn)
{
    ek_proxy_count_waiting__(conn, &conn->own_waiting,
                             ek_wire_held(conn->wire) + (conn->h2 ? ek_h2_waiting(conn->h2) : 0));
}

void ek_conn_go_on__(struct ek_proxy_conn *conn)
{
    if (conn->closing)
        return;
    ek_wire_go_on(conn->wire);
    if (!conn->closing && conn->h2)
        check_end(conn);
    if (conn->closing)
        return;
    ek_wire_go_on(conn->wire);
    if (conn->closing)
        return;
    ek_conn_count_waiting__(conn);
    arm_timer(conn);
}

static void *open_stream(void *ctx, struct ek_h2_stream *stream)
{
    struct ek_proxy_conn *conn = ctx;
    struct ek_proxy *proxy = conn->proxy;

    conn->idle_since_ms = now_of(conn);
    /* A stream may outlive its request: the client has not taken the response. */
    if (conn->client->streams >= 2 * proxy->options.requests_per_client) {
        ek_proxy_metrics_rejected(proxy->config->metrics, "streams_per_client");
        return NULL;
    }
    if (proxy->streams >= proxy->options.streams) {
        ek_proxy_metrics_rejected(proxy->config->metrics, "streams");
        return NULL;
    }
    return proxy->draining ? NULL : ek_front_new__(conn, stream);
}

static const struct ek_h2_ops h2_ops = {
    .open = open_stream, .refuse = ek_front_refuse__, .stream = &ek_front_client_ops__};

/* The client's version is known. */
static void begin(struct ek_proxy_conn *conn, bool h2)
{
    conn->due_ms = INT64_MAX;
    if (!h2) {
        ek_wire_give(conn->wire, &ek_front_client_ops__, ek_front_new__(conn, NULL));
        return;
    }
    conn->h2 = ek_h2_conn_new(&conn->proxy->h2_config, &h2_ops, conn, now_of(conn));
    if (!conn->h2)
        ek_conn_close__(conn, true);
    else if (conn->proxy->draining)
        ek_h2_shutdown(conn->h2, now_of(conn));
}

static void wire_ready(void *ctx)
{
    struct ek_proxy_conn *conn = ctx;
    const struct ek_tls_session *tls = ek_wire_tls(conn->wire);

    if (conn->proxy->options.policy.mode != EK_IDENTITY_TOKENS)
        conn->has_subject = ek_tls_session_subject(tls, &conn->subject, &conn->unverified);
    begin(conn, ek_tls_session_is_h2(tls));
}

static bool wire_wants(void *ctx)
{
    struct ek_proxy_conn *conn = ctx;

    return conn->due_ms != INT64_MAX || (conn->h2 && ek_h2_wants(conn->h2));
}

static void wire_input(void *ctx, const char *data, size_t n)
{
    struct ek_proxy_conn *conn = ctx;

    ek_h2_input(conn->h2, data, n, now_of(conn));
    if (!ek_proxy_count_heads__(conn->proxy, conn->client, &conn->head_octets,
                                ek_h2_head_octets(conn->h2))) {
        ek_h2_refuse_head(conn->h2, 503);
        ek_proxy_count_heads__(conn->proxy, conn->client, &conn->head_octets, 0);
    }
    ek_conn_go_on__(conn);
}

static void wire_eof(void *ctx)
{
    ek_conn_close__(ctx, false);
}

static void wire_lost(void *ctx, const char *why)
{
    (void)why;
    ek_conn_close__(ctx, false);
}

static struct ek_str wire_output(void *ctx)
{
    struct ek_proxy_conn *conn = ctx;

    return ek_h2_output(conn->h2, now_of(conn));
}

static void wire_sent(void *ctx, size_t n)
{
    struct ek_proxy_conn *conn = ctx;

    conn->moved_ms = now_of(conn);
    ek_h2_sent(conn->h2, n, now_of(conn));
    ek_conn_go_on__(conn);
}

static bool wire_ends(void *ctx)
{
    struct ek_proxy_conn *conn = ctx;

    return conn->due_ms != INT64_MAX;
}

static void wire_closed(void *ctx)
{
    ek_conn_released__(ctx);
}

static const struct ek_wire_ops wire_ops = {.ready = wire_ready,
                                            .wants = wire_wants,
                                            .input = wire_input,
                                            .eof = wire_eof,
                                            .lost = wire_lost,
                                            .output = wire_output,
                                            .sent = wire_sent,
                                            .ends = wire_ends,
                                            .closed = wire_closed};

/* ---- Begin ---- */

void ek_conn_drain__(struct ek_proxy_conn *conn)
{
    if (conn->closing)
        return;
    if (conn->h2)
        ek_h2_shutdown(conn->h2, now_of(conn));
    for (struct ek_proxy_front *front = conn->fronts, *next; front; front = next) {
        next = front->next;
        ek_front_drain__(front);
    }
    if (!conn->closing && !conn->fronts && !conn->h2) /* in the handshake */
        ek_conn_close__(conn, false);
    else
        ek_conn_go_on__(conn);
}

static void name_client(struct ek_proxy_conn *conn)
{
    struct ek_proxy *proxy = conn->proxy;
    struct sockaddr_storage addr = {0};
    char ip[INET6_ADDRSTRLEN] = "";

    if (ek_wire_remote(conn->wire, &addr))
        uv_ip_name((struct sockaddr *)&addr, ip, sizeof ip);
    unsigned port = addr.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&addr)->sin6_port)
                                               : ntohs(((struct sockaddr_in *)&addr)->sin_port);
    snprintf(conn->remote, sizeof conn->remote, strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip, port);
    conn->client = ek_map_get(&proxy->clients, ip);
    if (!conn->client) {
        conn->client = ek_xalloc(sizeof *conn->client);
        conn->client->ip = ek_xstrdup(ip);
        ek_map_put(&proxy->clients, conn->client->ip, conn->client);
    }
    conn->client->connections++;
}

static bool is_idle(const struct ek_proxy_conn *conn)
{
    if (conn->closing)
        return false;
    return conn->h2 ? ek_h2_is_idle(conn->h2)
                    : !conn->fronts || ek_relay_state(conn->fronts->relay) <= EK_RELAY_HEAD;
}

/* Closes the connection that has been idle the longest; false when none is idle. */
static bool make_room(struct ek_proxy *proxy, const struct ek_proxy_conn *newcomer)
{
    struct ek_proxy_conn *oldest = NULL;

    for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
        if (conn != newcomer && is_idle(conn) &&
            (!oldest || conn->idle_since_ms < oldest->idle_since_ms))
            oldest = conn;
    if (oldest)
        ek_conn_close__(oldest, false);
    return oldest != NULL;
}

/* Finds a place for a client, at the cost of an idle one if need be. */
static bool is_admitted(struct ek_proxy_conn *conn)
{
    struct ek_proxy *proxy = conn->proxy;

    if (conn->client->connections > proxy->options.connections_per_client) {
        ek_proxy_metrics_rejected(proxy->config->metrics, "connections_per_client");
        return false;
    }
    if (proxy->stats.connections <= proxy->options.connections)
        return true;
    ek_proxy_metrics_rejected(proxy->config->metrics, "connections");
    return make_room(proxy, conn);
}

void ek_conn_accept__(struct ek_proxy *proxy)
{
    struct ek_tls_identity *identity = proxy->options.identity;
    struct ek_tls_session *tls = identity ? ek_tls_session_new(identity) : NULL;
    struct ek_proxy_conn *conn = ek_xalloc(sizeof *conn);

    conn->proxy = proxy;
    conn->wire = ek_wire_accept((uv_stream_t *)&proxy->listener, tls, &wire_ops, conn);
    if (!conn->wire) {
        ek_free(conn);
        return;
    }
    ek_wire_limit(conn->wire, proxy->options.write_ms);
    conn->idle_since_ms = now_of(conn);
    conn->due_ms = now_of(conn) + proxy->options.head_ms;
    uv_timer_init(proxy->loop, &conn->timer);
    conn->timer.data = conn;
    conn->n_open = 2; /* the wire and the timer */
    conn->next = proxy->conns;
    if (conn->next)
        conn->next->prev = conn;
    proxy->conns = conn;
    proxy->stats.connections++;
    ek_proxy_metrics_connections(proxy->config->metrics, 1);
    name_client(conn);
    if ((identity && !tls) || proxy->draining || !is_admitted(conn)) {
        proxy->stats.rejected++;
        ek_conn_close__(conn, true);
        return;
    }
    proxy->stats.accepted++;
    if (!tls)
        begin(conn, false);
    ek_conn_go_on__(conn);
}
