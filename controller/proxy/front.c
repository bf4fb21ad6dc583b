/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a connection of HTTP/1.1, or the one of a stream of HTTP/2: the relay, its time,
 * and the wire of the API server that it uses. */
#include "controller/proxy/proxy-internal.h"

/* How long a connection still reads after the last response, so that it is not lost to a reset. */
#define LINGER_MS 1000

static int64_t now_of(const struct ek_proxy_front *front)
{
    return ek_proxy_now__(front->proxy);
}

/* ---- The end ---- */

static void released(struct ek_proxy_front *front)
{
    struct ek_proxy_conn *conn = front->conn;

    if (--front->n_open > 0)
        return;
    ek_relay_free(front->relay);
    *(front->prev ? &front->prev->next : &conn->fronts) = front->next;
    if (front->next)
        front->next->prev = front->prev;
    conn->client->streams -= front->stream != NULL;
    conn->proxy->streams -= front->stream != NULL;
    ek_free(front);
    ek_conn_released__(conn);
}

static void on_timer_closed(uv_handle_t *handle)
{
    released(handle->data);
}

void ek_front_close__(struct ek_proxy_front *front, bool reset)
{
    if (front->closing)
        return;
    front->closing = true;
    ek_relay_abort(front->relay, now_of(front)); /* gives the API server back */
    ek_proxy_count_heads__(front->proxy, front->conn->client, &front->head_octets, 0);
    ek_proxy_count_body__(front, 0);
    ek_proxy_count_waiting__(front->conn, &front->waiting, 0);
    if (front->stream)
        ek_h2_stream_close(front->stream);
    else
        ek_conn_close__(front->conn, reset);
    uv_close((uv_handle_t *)&front->timer, on_timer_closed);
}

/* Goes on with the client's side. */
static void client_go_on(struct ek_proxy_front *front)
{
    if (front->stream)
        ek_h2_stream_go_on(front->stream);
    else
        ek_wire_go_on(front->conn->wire);
}

/* Goes on with both sides; after any change of the relay. */
static void go_on(struct ek_proxy_front *front);

/* ---- Time ---- */

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A server that hangs keeps its connections: without this a watch at it would be silent for good,
 * while its client believes in a connection that answers (KEP-4020 allows minutes at most). */
static void look(struct ek_proxy_front *front, int64_t now_ms)
{
    const struct ek_proxy_request *request = &front->exchange.request;

    front->look_due_ms = now_ms + front->proxy->options.look_ms;
    if ((request->long_running && !front->watch) || front->exchange.identity.upgrade ||
        !ek_exchange_peer_is_down__(front))
        return;
    if (front->watch)
        ek_relay_end_stream(front->relay, now_ms);
    /* What did not end so waits for a response, or for the rest of an event or a body. */
    if (front->peer)
        ek_relay_peer_lost(front->relay, "the API server was declared down", now_ms);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_proxy_front *front = timer->data;
    int64_t now_ms = now_of(front);

    if (now_ms >= front->linger_due_ms) {
        ek_front_close__(front, false);
        return;
    }
    if (front->peer && now_ms >= front->dial_due_ms) {
        front->dial_due_ms = INT64_MAX;
        ek_relay_peer_lost(front->relay, "no connection in time", now_ms);
    }
    if (front->peer && now_ms >= front->answer_due_ms && ek_proxy_holds__(front->proxy, false)) {
        front->answer_due_ms = now_ms + 1000; /* the response may be here */
    } else if (front->peer && now_ms >= front->answer_due_ms) {
        front->answer_due_ms = INT64_MAX;
        ek_relay_peer_lost(front->relay, "no response in time", now_ms);
    }
    if (front->peer && now_ms >= front->look_due_ms)
        look(front, now_ms);
    ek_relay_timeout(front->relay, now_ms);
    go_on(front);
}

static void arm_timer(struct ek_proxy_front *front)
{
    int64_t due = earliest(ek_relay_deadline(front->relay), front->linger_due_ms);
    int64_t now_ms = now_of(front);

    if (front->peer)
        due = earliest(
            due, earliest(front->look_due_ms, earliest(front->dial_due_ms, front->answer_due_ms)));
    if (due == INT64_MAX)
        uv_timer_stop(&front->timer);
    else
        uv_timer_start(&front->timer, on_timer, due > now_ms ? (uint64_t)(due - now_ms) : 1, 0);
}

/* ---- Going on ---- */

/* The last response is sent: ends the stream, then waits for the client's end. A stream of HTTP/2
 * ends with its response. */
static void check_end(struct ek_proxy_front *front)
{
    enum ek_relay_state state = ek_relay_state(front->relay);

    if (state == EK_RELAY_CLOSED) {
        ek_front_close__(front, ek_relay_is_broken(front->relay));
    } else if (state == EK_RELAY_CLOSING && !front->stream && front->linger_due_ms == INT64_MAX &&
               ek_relay_client_output(front->relay).len == 0) {
        front->linger_due_ms = now_of(front) + LINGER_MS;
    }
}

/* Counts the octets of heads that are not complete; the client that brings too many of them is
 * refused. */
static void count_heads(struct ek_proxy_front *front)
{
    struct ek_proxy_client *client = front->conn->client;

    if (front->stream || ek_proxy_count_heads__(front->proxy, client, &front->head_octets,
                                                ek_relay_head_octets(front->relay)))
        return;
    if (ek_relay_state(front->relay) == EK_RELAY_HEAD)
        ek_relay_refuse(front->relay, 503, now_of(front));
    else /* what comes behind a request */
        ek_front_close__(front, true);
    if (!front->closing)
        ek_proxy_count_heads__(front->proxy, client, &front->head_octets, 0);
}

/* Counts the octets that wait in both directions, but for those of heads and of documents, which
 * have limits of their own. */
static void count_waiting(struct ek_proxy_front *front)
{
    size_t out = ek_relay_client_output(front->relay).len, in = ek_relay_waiting(front->relay);

    out -= out < front->body_octets ? out : front->body_octets;
    in -= in < front->head_octets ? in : front->head_octets;
    if (front->peer && front->peer_ready)
        in += ek_wire_held(ek_pool_wire(front->peer));
    ek_proxy_count_waiting__(front->conn, &front->waiting, out + in);
    if (!front->stream)
        ek_conn_count_waiting__(front->conn);
}

/* One round over both wires; what they bring may require another one. */
static void go_round(struct ek_proxy_front *front)
{
    count_heads(front);
    if (!front->closing)
        check_end(front);
    if (!front->closing)
        client_go_on(front);
    if (!front->closing && front->peer && front->peer_ready)
        ek_wire_go_on(ek_pool_wire(front->peer));
    if (!front->closing)
        check_end(front);
}

static void go_on(struct ek_proxy_front *front)
{
    front->again = true;
    if (front->running || front->closing)
        return;
    front->running = true;
    do {
        front->again = false;
        go_round(front);
        if (!front->again && !front->closing)
            client_go_on(front); /* the API server's bytes may be in the output */
    } while (front->again && !front->closing);
    if (!front->closing) {
        count_waiting(front);
        arm_timer(front);
    }
    front->running = false;
    if (front->stream)
        ek_conn_go_on__(front->conn);
}

void ek_front_go_on__(struct ek_proxy_front *front)
{
    go_on(front);
}

/* ---- The client's wire ---- */

/* The streams of a connection share a limit: those that hold octets get no more then. */
static bool bodies_are_full(const struct ek_proxy_conn *conn)
{
    size_t n = 0;

    for (const struct ek_proxy_front *f = conn->fronts; f && n < EK_H2_WAITING_MAX; f = f->next)
        n += ek_relay_waiting(f->relay);
    return n >= EK_H2_WAITING_MAX;
}

static bool client_wants(void *ctx)
{
    struct ek_proxy_front *front = ctx;

    if (front->linger_due_ms != INT64_MAX)
        return true;
    if (ek_relay_waiting(front->relay) > 0 && ek_proxy_is_filled__(front->proxy))
        return false;
    return ek_relay_wants_client(front->relay) &&
           (!front->stream || ek_relay_waiting(front->relay) == 0 || !bodies_are_full(front->conn));
}

static void client_input(void *ctx, const char *data, size_t n)
{
    struct ek_proxy_front *front = ctx;

    if (front->linger_due_ms == INT64_MAX)
        ek_relay_client_input(front->relay, data, n, now_of(front));
    go_on(front);
}

static void client_eof(void *ctx)
{
    struct ek_proxy_front *front = ctx;

    if (front->linger_due_ms != INT64_MAX) {
        ek_front_close__(front, false);
        return;
    }
    ek_relay_client_eof(front->relay, now_of(front));
    go_on(front);
}

static void client_lost(void *ctx, const char *why)
{
    (void)why;
    ek_front_close__(ctx, false);
}

static struct ek_str client_output(void *ctx)
{
    struct ek_proxy_front *front = ctx;
    return ek_relay_client_output(front->relay);
}

static void client_sent(void *ctx, size_t n)
{
    struct ek_proxy_front *front = ctx;

    front->conn->moved_ms = now_of(front);
    ek_relay_client_sent(front->relay, n, now_of(front));
    /* In SEND, only an informational response was sent. */
    if (ek_relay_client_output(front->relay).len == 0 &&
        ek_relay_state(front->relay) != EK_RELAY_SEND)
        ek_proxy_count_body__(front, 0);
    go_on(front);
}

static bool client_ends(void *ctx)
{
    struct ek_proxy_front *front = ctx;
    return front->linger_due_ms != INT64_MAX || ek_relay_client_ends(front->relay);
}

/* Of a connection of HTTP/1.1. */
static void client_closed(void *ctx)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_conn *conn = front->conn;

    released(front);
    ek_conn_released__(conn);
}

const struct ek_wire_ops ek_front_client_ops__ = {.wants = client_wants,
                                                  .input = client_input,
                                                  .eof = client_eof,
                                                  .lost = client_lost,
                                                  .output = client_output,
                                                  .sent = client_sent,
                                                  .ends = client_ends,
                                                  .closed = client_closed};

/* ---- The API server's wire ---- */

/* The request goes out now: the response is awaited from here on. */
static void begin_sending(struct ek_proxy_front *front)
{
    const struct ek_proxy_exchange *x = &front->exchange;
    bool bounded = !x->request.long_running && !x->identity.upgrade;

    front->peer_ready = true;
    front->dial_due_ms = INT64_MAX;
    front->answer_due_ms = bounded ? now_of(front) + front->proxy->options.answer_ms : INT64_MAX;
    ek_exchange_sent__(front);
}

static void peer_ready(void *ctx)
{
    begin_sending(ctx);
    arm_timer(ctx);
}

static bool peer_wants(void *ctx)
{
    struct ek_proxy_front *front = ctx;

    if (!ek_relay_wants_peer(front->relay) || ek_proxy_holds__(front->proxy, false))
        return false;
    if (ek_relay_client_output(front->relay).len == 0)
        return true;
    /* All clients share a limit, and the streams of a connection. */
    return !ek_proxy_is_filled__(front->proxy) &&
           (!front->stream || !ek_h2_is_full(front->conn->h2));
}

static void peer_input(void *ctx, const char *data, size_t n)
{
    struct ek_proxy_front *front = ctx;

    ek_cap_count(&front->proxy->cap, n, now_of(front));
    ek_relay_peer_input(front->relay, data, n, now_of(front));
    go_on(front);
}

static void peer_eof(void *ctx)
{
    struct ek_proxy_front *front = ctx;

    ek_relay_peer_eof(front->relay, now_of(front));
    go_on(front);
}

static void peer_lost(void *ctx, const char *why)
{
    struct ek_proxy_front *front = ctx;

    ek_relay_peer_lost(front->relay, why, now_of(front));
    go_on(front);
}

static struct ek_str peer_output(void *ctx)
{
    struct ek_proxy_front *front = ctx;
    struct ek_str out = ek_relay_peer_output(front->relay);

    return out.len > 0 && ek_proxy_holds__(front->proxy, true) ? (struct ek_str){"", 0} : out;
}

static void peer_sent(void *ctx, size_t n)
{
    struct ek_proxy_front *front = ctx;

    front->conn->moved_ms = now_of(front);
    ek_cap_count(&front->proxy->cap, n, now_of(front));
    ek_relay_peer_sent(front->relay, n, now_of(front));
    go_on(front);
}

static bool peer_ends(void *ctx)
{
    struct ek_proxy_front *front = ctx;
    return ek_relay_peer_ends(front->relay);
}

static void peer_closed(void *ctx)
{
    (void)ctx; /* the pool's */
}

static const struct ek_wire_ops peer_ops = {.ready = peer_ready,
                                            .wants = peer_wants,
                                            .input = peer_input,
                                            .eof = peer_eof,
                                            .lost = peer_lost,
                                            .output = peer_output,
                                            .sent = peer_sent,
                                            .ends = peer_ends,
                                            .closed = peer_closed};

bool ek_front_connect__(struct ek_proxy_front *front, const struct ek_pool_target *target,
                        const char **ret_why)
{
    struct ek_proxy *proxy = front->proxy;

    front->peer = ek_pool_take(proxy->pool, target, &peer_ops, front, &front->peer_ready, ret_why);
    front->dial_due_ms = now_of(front) + proxy->options.dial_ms;
    front->look_due_ms = now_of(front) + proxy->options.look_ms;
    front->answer_due_ms = INT64_MAX;
    if (front->peer && front->peer_ready)
        begin_sending(front);
    return front->peer != NULL;
}

/* ---- Begin ---- */

void ek_front_drain__(struct ek_proxy_front *front)
{
    if (front->closing)
        return;
    ek_relay_drain(front->relay, now_of(front));
    if (front->watch)
        ek_relay_end_stream(front->relay, now_of(front));
    go_on(front);
}

void ek_front_refuse__(void *ctx, int status)
{
    struct ek_proxy_front *front = ctx;

    ek_relay_refuse(front->relay, status, now_of(front));
    go_on(front);
}

struct ek_proxy_front *ek_front_new__(struct ek_proxy_conn *conn, struct ek_h2_stream *stream)
{
    struct ek_proxy *proxy = conn->proxy;
    struct ek_proxy_front *front = ek_xalloc(sizeof *front);

    front->proxy = proxy;
    front->conn = conn;
    front->stream = stream;
    front->relay =
        ek_relay_new(&proxy->relay_config, &ek_exchange_ops__, front, ek_proxy_now__(proxy));
    front->dial_due_ms = front->answer_due_ms = front->linger_due_ms = INT64_MAX;
    uv_timer_init(proxy->loop, &front->timer);
    front->timer.data = front;
    front->n_open = stream ? 1 : 2; /* the timer, and the connection's wire */
    front->next = conn->fronts;
    if (front->next)
        front->next->prev = front;
    conn->fronts = front;
    conn->n_open++;
    conn->client->streams += stream != NULL;
    conn->proxy->streams += stream != NULL;
    arm_timer(front);
    return front;
}
