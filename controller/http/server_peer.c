/* SPDX-License-Identifier: Apache-2.0 */
/* One client's socket: moves bytes between libuv, TLS and the connection engine. */
#include "controller/http/server-internal.h"

/* Plaintext per TLS write: with its records it still fits into one piece. */
#define TLS_PIECE (EK_HTTP_PIECE - 4096)

/* How long a closed connection still reads, so that the last answer is not lost to a reset. */
#define LINGER_MS 1000

static void pump(struct ek_http_peer *peer);

static int64_t now_of(const struct ek_http_peer *peer)
{
    return (int64_t)uv_now(peer->server->loop);
}

static void unlink_peer(struct ek_http_peer *peer)
{
    struct ek_http_server *server = peer->server;

    *(peer->prev ? &peer->prev->next : &server->peers) = peer->next;
    *(peer->next ? &peer->next->prev : &server->last) = peer->prev;
    peer->prev = peer->next = NULL;
}

static void link_peer(struct ek_http_peer *peer)
{
    struct ek_http_server *server = peer->server;

    peer->next = server->peers;
    *(server->peers ? &server->peers->prev : &server->last) = peer;
    server->peers = peer;
}

/* Counts why it ends, once. */
static void note_fault(struct ek_http_peer *peer)
{
    struct ek_http_meter *meter = peer->server->meter;

    if (peer->noted || !peer->http)
        return;
    if (!peer->fault)
        peer->fault = ek_http_conn_fault(peer->http);
    peer->noted = peer->fault != EK_HTTP_FAULT_NONE;
    if (peer->noted)
        atomic_fetch_add_explicit(&meter->rejected[peer->fault], 1, memory_order_relaxed);
}

/* Releases the memory of a peer. Not while the peer is on the stack. */
static void release(struct ek_http_peer *peer)
{
    if (!peer->http)
        return;
    note_fault(peer);
    ek_http_conn_free(peer->http);
    ek_tls_session_free(peer->tls);
    peer->http = NULL;
    peer->tls = NULL;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_http_peer *peer = handle->data;
    struct ek_http_server *server = peer->server;

    if (--peer->n_handles > 0)
        return;
    release(peer);
    ek_free(peer->out);
    ek_free(peer);
    server->stats.connections--;
    atomic_fetch_sub_explicit(&server->meter->connections, 1, memory_order_relaxed);
    ek_http_server_released__(server);
}

void ek_http_peer_close__(struct ek_http_peer *peer)
{
    if (peer->closing)
        return;
    peer->closing = true;
    ek_http_turn_leave(&peer->turn);
    unlink_peer(peer);
    uv_close((uv_handle_t *)&peer->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&peer->timer, on_handle_closed);
    if (!peer->pumping)
        release(peer);
}

static void on_written(uv_write_t *write, int status)
{
    struct ek_http_peer *peer = write->data;

    peer->writing = false;
    ek_free(peer->out);
    peer->out = NULL;
    peer->n_out = 0;
    peer->alone_ms = 0;
    if (peer->closing)
        return;
    /* Only now: while the client does not read, the engine's write time runs. */
    ek_http_conn_sent(peer->http, peer->in_flight, now_of(peer));
    peer->in_flight = 0;
    if (status < 0)
        ek_http_peer_close__(peer);
    else
        pump(peer);
}

/* Sends a copy of what is in buf. */
static void write_piece(struct ek_http_peer *peer, const char *buf, size_t len)
{
    peer->out = ek_alloc(len);
    peer->write.data = peer;
    uv_buf_t piece = uv_buf_init(peer->out, (unsigned)len);
    if (peer->out)
        memcpy(peer->out, buf, len);
    if (!peer->out ||
        uv_write(&peer->write, (uv_stream_t *)&peer->tcp, &piece, 1, on_written) < 0) {
        ek_free(peer->out);
        peer->out = NULL;
        ek_http_peer_close__(peer);
        return;
    }
    peer->writing = true;
    peer->n_out = len;
    peer->alone_ms = peer->in_flight ? 0 : now_of(peer);
}

static void tls_failed(struct ek_http_peer *peer, const struct ek_err *err)
{
    peer->server->stats.tls_errors++;
    ek_log_info_limited(peer->server->config.log, 5, 60000, "TLS error",
                        EK_S("server", peer->server->config.name), EK_S("reason", err->message));
}

/* Encrypts the next piece of the engine's output, when the handshake is done. */
static void encrypt(struct ek_http_peer *peer)
{
    struct ek_str out = ek_http_conn_output(peer->http);
    size_t n = out.len < TLS_PIECE ? out.len : TLS_PIECE;
    struct ek_err err;

    if (n == 0 || !ek_tls_session_ready(peer->tls))
        return;
    if (ek_tls_session_write(peer->tls, out.p, n, &err)) {
        tls_failed(peer, &err);
        ek_http_peer_close__(peer);
        return;
    }
    peer->in_flight = n;
}

/* Starts one write, unless one is under way or there is nothing to send. */
static void flush(struct ek_http_peer *peer)
{
    static _Thread_local char cipher[EK_HTTP_PIECE];
    struct ek_str out;

    if (peer->writing || peer->closing)
        return;
    if (peer->tls) {
        out = (struct ek_str){cipher, ek_tls_session_output(peer->tls, cipher, EK_HTTP_PIECE)};
        if (out.len == 0) {
            encrypt(peer);
            out.len = peer->closing ? 0 : ek_tls_session_output(peer->tls, cipher, EK_HTTP_PIECE);
        }
    } else {
        out = ek_http_conn_output(peer->http);
        out.len = out.len < EK_HTTP_PIECE ? out.len : EK_HTTP_PIECE;
        peer->in_flight = out.len;
    }
    if (out.len > 0)
        write_piece(peer, out.p, out.len);
}

/* ---- Turns ---- */

/* A client that reads none of what TLS itself answers is not read from. */
static bool wants_input(const struct ek_http_peer *peer)
{
    return ek_http_conn_wants_input(peer->http) &&
           !(peer->tls && ek_tls_session_is_full(peer->tls));
}

static bool has_work(const struct ek_http_peer *peer)
{
    return !peer->ending && !peer->closing &&
           (ek_http_conn_work(peer->http) > EK_HTTP_WORK_LATER ||
            (peer->unread && wants_input(peer)));
}

static enum ek_http_lane lane_of(const struct ek_http_peer *peer)
{
    if (ek_http_conn_state(peer->http) == EK_HTTP_CONN_HANDSHAKE)
        return EK_HTTP_LANE_HANDSHAKE;
    return ek_http_conn_work(peer->http) == EK_HTTP_WORK_COSTLY ? EK_HTTP_LANE_COSTLY
                                                                : EK_HTTP_LANE_CHEAP;
}

/* Has the peer wait for its turn, when it has work. */
static void await_turn(struct ek_http_peer *peer)
{
    struct ek_http_server *server = peer->server;

    if (!has_work(peer))
        return;
    peer->turn.owner = peer;
    ek_http_turns_add(server->turns, &peer->turn, &peer->source, lane_of(peer), peer->again,
                      now_of(peer));
    ek_http_server_stir__(server);
}

/* Decrypts about a piece of what has come, as far as the engine wants it. False when the session
 * has failed. */
static bool decrypt(struct ek_http_peer *peer)
{
    char plain[16 * 1024];
    struct ek_err err;

    for (size_t got = 0; got < EK_HTTP_PIECE && peer->unread;) {
        bool end;
        if (!wants_input(peer))
            break;
        int n = ek_tls_session_read(peer->tls, plain, sizeof plain, &end, &err);
        if (n < 0) {
            tls_failed(peer, &err);
            return false;
        }
        if (ek_tls_session_ready(peer->tls))
            ek_http_conn_shaken(peer->http, now_of(peer));
        peer->unread = n > 0 && (peer->eof || ek_tls_session_waits(peer->tls));
        if (end || (n == 0 && peer->eof))
            ek_http_conn_eof(peer->http, now_of(peer));
        if (n > 0)
            ek_http_conn_input(peer->http, plain, (size_t)n, now_of(peer));
        got += (size_t)n;
    }
    return true;
}

/* One piece of work: what the engine has, else what TLS has. */
static bool work(struct ek_http_peer *peer)
{
    if (peer->tls && ek_http_conn_work(peer->http) <= EK_HTTP_WORK_LATER)
        return decrypt(peer);
    ek_http_conn_run(peer->http, now_of(peer));
    return true;
}

/* How much is read at once: it waits for the peer's turn. A request that has begun makes room for
 * more, or is refused. */
static size_t piece_of(const struct ek_http_peer *peer)
{
    enum ek_http_conn_state state =
        peer->ending ? EK_HTTP_CONN_CLOSING : ek_http_conn_state(peer->http);

    return state == EK_HTTP_CONN_HEAD || state == EK_HTTP_CONN_BODY ? EK_HTTP_PIECE
                                                                    : EK_HTTP_PIECE / 4;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static _Thread_local char piece[EK_HTTP_PIECE]; /* one loop per thread, one read at a time */
    const struct ek_http_peer *peer = handle->data;

    (void)suggested;
    *buf = uv_buf_init(piece, (unsigned)piece_of(peer));
}

/* What TLS holds: bytes that wait, and the copy of those that are being sent. */
static void hold(struct ek_http_peer *peer)
{
    ek_http_conn_hold(peer->http,
                      ek_tls_session_trim(peer->tls) + (peer->alone_ms ? peer->n_out : 0));
}

/* Keeps what has come until it is the peer's turn. False when there is no memory for it. */
static bool take(struct ek_http_peer *peer, const char *data, ssize_t n)
{
    peer->eof = n == UV_EOF;
    if (peer->tls) {
        ek_http_conn_came(peer->http, "", 0, now_of(peer));
        peer->unread = true; /* at the end, too: ciphertext that has come may hold more */
        if (n > 0 && ek_tls_session_input(peer->tls, data, (size_t)n))
            return false;
        hold(peer);
    } else if (n > 0) {
        ek_http_conn_came(peer->http, data, (size_t)n, now_of(peer));
    } else {
        ek_http_conn_eof(peer->http, now_of(peer));
    }
    return true;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_http_peer *peer = stream->data;

    if (n == 0)
        return;
    if (n < 0 && (n != UV_EOF || peer->ending)) {
        ek_http_peer_close__(peer);
        return;
    }
    if (peer->ending)
        return;
    bool waits = ek_http_turn_waits(&peer->turn), full = n == (ssize_t)piece_of(peer);
    if (!take(peer, buf->base, n)) {
        ek_http_peer_close__(peer);
        return;
    }
    if (peer->closing)
        return;
    /* Whoever was active last goes to the front: the end of the list is the next to be evicted. */
    unlink_peer(peer);
    link_peer(peer);
    if (has_work(peer) && !waits && !full)
        await_turn(peer);
    else
        pump(peer); /* reads no more until it has had its turn */
}

static void set_reading(struct ek_http_peer *peer)
{
    bool wanted = !peer->eof && (peer->ending || (!has_work(peer) && wants_input(peer)));

    if (wanted == peer->reading)
        return;
    peer->reading = wanted;
    if (wanted)
        uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
    else
        uv_read_stop((uv_stream_t *)&peer->tcp);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct ek_http_peer *peer = request->data;

    if (!peer->closing && (status < 0 || peer->eof))
        ek_http_peer_close__(peer);
}

/* The last byte has been handed to the system: ends our side, then waits for the client's end. */
static void begin_linger(struct ek_http_peer *peer)
{
    peer->ending = true;
    peer->linger_until_ms = now_of(peer) + LINGER_MS;
    peer->shutdown.data = peer;
    if (uv_shutdown(&peer->shutdown, (uv_stream_t *)&peer->tcp, on_shutdown) < 0)
        ek_http_peer_close__(peer);
}

/* Whether its turn comes soon, whatever the time is: the time is looked at after the turn. */
static bool has_turn(const struct ek_http_peer *peer)
{
    return has_work(peer) && ek_http_turn_waits(&peer->turn) &&
           lane_of(peer) != EK_HTTP_LANE_COSTLY;
}

/* When TLS's own output must have been taken. */
static int64_t alone_due(const struct ek_http_peer *peer)
{
    return peer->alone_ms ? peer->alone_ms + peer->server->conn_config.limits.write_timeout_ms
                          : INT64_MAX;
}

/* Acts upon the times that are over. */
static void look_at_time(struct ek_http_peer *peer)
{
    ek_http_conn_timeout(peer->http, now_of(peer));
    if (now_of(peer) < alone_due(peer))
        return;
    peer->fault = EK_HTTP_FAULT_READER;
    ek_http_peer_close__(peer);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_http_peer *peer = timer->data;
    int64_t now_ms = now_of(peer);

    if (peer->ending && now_ms >= peer->linger_until_ms) {
        ek_http_peer_close__(peer);
        return;
    }
    if (!peer->ending && !has_turn(peer))
        look_at_time(peer);
    if (!peer->closing)
        pump(peer);
}

/* Never for now: the loop goes on only when no timer is due, so that a time that is over and not
 * acted upon would be the end of the thread. */
static void arm_timer(struct ek_http_peer *peer)
{
    int64_t due = peer->ending ? peer->linger_until_ms : ek_http_conn_deadline(peer->http);
    int64_t now_ms = now_of(peer);

    if (!peer->ending && alone_due(peer) < due)
        due = alone_due(peer);

    if (due == INT64_MAX || has_turn(peer))
        uv_timer_stop(&peer->timer);
    else
        uv_timer_start(&peer->timer, on_timer, due > now_ms ? (uint64_t)(due - now_ms) : 1, 0);
}

void ek_http_peer_wake__(struct ek_http_peer *peer)
{
    if (!peer->closing)
        uv_timer_start(&peer->timer, on_timer, 0, 0);
}

/* A reply has come outside of pump. */
static void on_wake(void *ctx)
{
    ek_http_peer_wake__(ctx);
}

/* Everything is sent: ends the TLS session (whose last words are sent first), then the stream. */
static void end(struct ek_http_peer *peer)
{
    if (peer->tls) {
        ek_tls_session_end(peer->tls);
        flush(peer);
    }
    if (!peer->closing && !peer->ending)
        begin_linger(peer); /* uv_shutdown waits for the write */
}

/* Sends what there is to send, then sees to reading, time and the end. */
static void move(struct ek_http_peer *peer, bool alive)
{
    flush(peer); /* also the alert of a failed handshake */
    if (peer->closing)
        return;
    bool broken = !alive || ek_http_conn_state(peer->http) == EK_HTTP_CONN_CLOSED;
    if (broken && !peer->ending) {
        if (peer->writing)
            begin_linger(peer); /* lets the alert, or the last answer, out */
        else
            ek_http_peer_close__(peer);
    } else if (!peer->ending && !peer->writing &&
               ek_http_conn_state(peer->http) == EK_HTTP_CONN_CLOSING) {
        end(peer);
    }
    if (peer->closing)
        return;
    if (peer->tls)
        hold(peer);
    set_reading(peer);
    await_turn(peer);
    arm_timer(peer);
}

/* Whatever can go on now goes on, but for work. */
static void go_on(struct ek_http_peer *peer, bool alive)
{
    peer->pumping = true;
    move(peer, alive);
    peer->pumping = false;
    note_fault(peer);
    if (peer->closing)
        release(peer);
}

static void pump(struct ek_http_peer *peer)
{
    go_on(peer, true);
}

/* A client that does not stop sending is always waiting for its turn, so its time is looked at
 * here. */
void ek_http_peer_work__(struct ek_http_peer *peer)
{
    int64_t begin_ms = now_of(peer);

    peer->pumping = true;
    bool alive = peer->ending || work(peer);
    uv_update_time(peer->server->loop); /* a handler may have taken long */
    ek_http_server_excuse__(peer->server, now_of(peer) - begin_ms);
    if (!peer->ending)
        look_at_time(peer);
    if (ek_http_conn_vouched(peer->http))
        ek_http_turns_vouch(peer->server->turns, &peer->source, now_of(peer));
    peer->again = peer->unread || ek_http_conn_work(peer->http) > EK_HTTP_WORK_NONE;
    if (peer->draining)
        ek_http_conn_drain(peer->http, now_of(peer));
    go_on(peer, alive);
}

void ek_http_peer_last__(struct ek_http_peer *peer)
{
    ek_http_conn_last(peer->http);
}

void ek_http_peer_drain__(struct ek_http_peer *peer)
{
    if (peer->closing)
        return;
    peer->draining = ek_http_turn_waits(&peer->turn);
    if (peer->draining) /* a request may have come */
        ek_http_conn_last(peer->http);
    else
        ek_http_conn_drain(peer->http, now_of(peer));
    pump(peer);
}

/* Gives an accepted client its engines; false when it must be closed. */
static bool welcome(struct ek_http_peer *peer, const char *remote)
{
    struct ek_http_server *server = peer->server;

    peer->http = ek_http_conn_new(&server->conn_config, remote, on_wake, peer, now_of(peer));
    if (ek_http_conn_state(peer->http) == EK_HTTP_CONN_CLOSED)
        return false;
    if (!server->config.identity)
        return true;
    peer->tls = ek_tls_session_new(server->config.identity);
    if (peer->tls)
        return true;
    ek_log_info_limited(server->config.log, 1, 60000, "No serving certificate is available",
                        EK_S("server", server->config.name));
    return false;
}

void ek_http_peer_accept__(struct ek_http_server *server)
{
    struct ek_http_peer *peer = ek_xalloc(sizeof *peer);
    struct sockaddr_storage addr = {0};
    char remote[64] = "";
    int len = sizeof addr;

    peer->server = server;
    uv_tcp_init(server->loop, &peer->tcp);
    uv_timer_init(server->loop, &peer->timer);
    peer->tcp.data = peer->timer.data = peer;
    peer->n_handles = 2;
    server->stats.connections++;
    atomic_fetch_add_explicit(&server->meter->connections, 1, memory_order_relaxed);
    link_peer(peer);
    bool accepted = uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&peer->tcp) == 0;
    uv_tcp_nodelay(&peer->tcp, 1);
    if (uv_tcp_getpeername(&peer->tcp, (struct sockaddr *)&addr, &len) == 0)
        ek_http_address_format__(&addr, remote, sizeof remote);
    peer->source = ek_http_source_of(&addr);
    bool placed = accepted && ek_http_room_for__(peer);
    if (!placed || !welcome(peer, remote)) {
        server->stats.rejected += accepted;
        ek_http_peer_close__(peer);
        return;
    }
    server->stats.accepted++;
    if (server->lingering)
        ek_http_conn_last(peer->http);
    pump(peer);
}
