/* SPDX-License-Identifier: Apache-2.0 */
/* One client's socket: moves bytes between libuv, TLS and the connection engine. */
#include "controller/http_server-internal.h"

/* Bytes per read and per write. */
#define PIECE ((size_t)64 * 1024)

/* Plaintext per TLS write: with its records it still fits into one piece. */
#define TLS_PIECE (PIECE - 4096)

/* How long a closed connection still reads, so that the last answer is not lost to a reset. */
#define LINGER_MS 1000

struct ek_http_peer {
    struct ek_http_server *server;
    struct ek_http_peer *prev, *next; /* in the server's list */
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct ek_http_conn *http;
    struct ek_tls_session *tls; /* NULL for plain HTTP */
    char *out;                  /* owned; what the write under way sends */
    size_t in_flight;           /* bytes of the engine's output that are in it */
    bool writing, reading;
    bool ending;   /* everything is sent; only lingers */
    bool eof;      /* the client has ended its side */
    bool closing;  /* handles are being closed */
    int n_handles; /* not closed yet */
    int64_t linger_until_ms;
};

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

struct ek_http_peer *ek_http_peer_next__(const struct ek_http_peer *peer)
{
    return peer->next;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_http_peer *peer = handle->data;
    struct ek_http_server *server = peer->server;

    if (--peer->n_handles > 0)
        return;
    ek_http_conn_free(peer->http);
    ek_tls_session_free(peer->tls);
    ek_free(peer->out);
    ek_free(peer);
    server->stats.connections--;
    ek_http_server_released__(server);
}

void ek_http_peer_close__(struct ek_http_peer *peer)
{
    if (peer->closing)
        return;
    peer->closing = true;
    unlink_peer(peer);
    uv_close((uv_handle_t *)&peer->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&peer->timer, on_handle_closed);
}

static void on_written(uv_write_t *write, int status)
{
    struct ek_http_peer *peer = write->data;

    peer->writing = false;
    ek_free(peer->out);
    peer->out = NULL;
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

/* Sends what is in buf; takes it. */
static void write_piece(struct ek_http_peer *peer, char *buf, size_t len)
{
    uv_buf_t piece = uv_buf_init(buf, (unsigned)len);

    peer->out = buf;
    peer->write.data = peer;
    if (uv_write(&peer->write, (uv_stream_t *)&peer->tcp, &piece, 1, on_written) < 0) {
        ek_free(buf);
        peer->out = NULL;
        ek_http_peer_close__(peer);
        return;
    }
    peer->writing = true;
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
    size_t len;

    if (peer->writing || peer->closing)
        return;
    char *buf = ek_alloc(PIECE);
    if (!buf) {
        ek_http_peer_close__(peer);
        return;
    }
    if (peer->tls) {
        len = ek_tls_session_output(peer->tls, buf, PIECE);
        if (len == 0) {
            encrypt(peer);
            len = peer->closing ? 0 : ek_tls_session_output(peer->tls, buf, PIECE);
        }
    } else {
        struct ek_str out = ek_http_conn_output(peer->http);
        len = out.len < PIECE ? out.len : PIECE;
        memcpy(buf, out.p, len);
        peer->in_flight = len;
    }
    if (len > 0)
        write_piece(peer, buf, len);
    else
        ek_free(buf);
}

/* Decrypts what has come, as far as the engine wants it. False when the session has failed. */
static bool decrypt(struct ek_http_peer *peer)
{
    char plain[16 * 1024];
    struct ek_err err;

    while (ek_http_conn_wants_input(peer->http)) {
        bool end;
        int n = ek_tls_session_read(peer->tls, plain, sizeof plain, &end, &err);
        if (n < 0) {
            tls_failed(peer, &err);
            return false;
        }
        if (end || (n == 0 && peer->eof))
            ek_http_conn_eof(peer->http, now_of(peer));
        if (n == 0)
            return true;
        ek_http_conn_input(peer->http, plain, (size_t)n, now_of(peer));
    }
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static _Thread_local char piece[PIECE]; /* one loop per thread, one read at a time */

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(piece, sizeof piece);
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
    if (n == UV_EOF) {
        peer->eof = true;
        if (!peer->tls) /* ciphertext that has come may hold more */
            ek_http_conn_eof(peer->http, now_of(peer));
    } else if (!peer->tls) {
        ek_http_conn_input(peer->http, buf->base, (size_t)n, now_of(peer));
    } else if (ek_tls_session_input(peer->tls, buf->base, (size_t)n)) {
        ek_http_peer_close__(peer);
        return;
    }
    /* Whoever was active last goes to the front: the end of the list is the next to be evicted. */
    unlink_peer(peer);
    link_peer(peer);
    pump(peer);
}

static void set_reading(struct ek_http_peer *peer)
{
    bool wanted = !peer->eof && (peer->ending || ek_http_conn_wants_input(peer->http));

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

static void on_timer(uv_timer_t *timer)
{
    struct ek_http_peer *peer = timer->data;
    int64_t now_ms = now_of(peer);

    if (peer->ending && now_ms >= peer->linger_until_ms) {
        ek_http_peer_close__(peer);
        return;
    }
    ek_http_conn_timeout(peer->http, now_ms);
    pump(peer);
}

static void arm_timer(struct ek_http_peer *peer)
{
    int64_t due = peer->ending ? peer->linger_until_ms : ek_http_conn_deadline(peer->http);
    int64_t now_ms = now_of(peer);

    if (due == INT64_MAX)
        uv_timer_stop(&peer->timer);
    else
        uv_timer_start(&peer->timer, on_timer, due > now_ms ? (uint64_t)(due - now_ms) : 0, 0);
}

/* A reply has come outside of pump: go on at the next turn of the loop, because the caller may be
 * anywhere. */
static void on_wake(void *ctx)
{
    struct ek_http_peer *peer = ctx;

    if (!peer->closing)
        uv_timer_start(&peer->timer, on_timer, 0, 0);
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

/* Moves everything that can move, then sees to reading, time and the end. */
static void pump(struct ek_http_peer *peer)
{
    bool alive = peer->ending || !peer->tls || decrypt(peer);

    if (!peer->ending)
        ek_http_conn_run(peer->http, now_of(peer));
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
    set_reading(peer);
    arm_timer(peer);
}

void ek_http_peer_last__(struct ek_http_peer *peer)
{
    ek_http_conn_last(peer->http);
}

void ek_http_peer_drain__(struct ek_http_peer *peer)
{
    if (peer->closing)
        return;
    ek_http_conn_drain(peer->http, now_of(peer));
    pump(peer);
}

bool ek_http_peer_evict__(struct ek_http_server *server)
{
    for (struct ek_http_peer *peer = server->last; peer; peer = peer->prev) {
        if (ek_http_conn_state(peer->http) == EK_HTTP_CONN_IDLE || peer->ending) {
            server->stats.evicted++;
            ek_http_peer_close__(peer);
            return true;
        }
    }
    return false;
}

static void set_remote(struct ek_http_peer *peer, char *buf, size_t size)
{
    struct sockaddr_storage addr = {0};
    int len = sizeof addr;

    buf[0] = '\0';
    if (uv_tcp_getpeername(&peer->tcp, (struct sockaddr *)&addr, &len) == 0)
        ek_http_address_format__(&addr, buf, size);
}

/* Gives an accepted client its engines; false when it must be closed. */
static bool welcome(struct ek_http_peer *peer)
{
    struct ek_http_server *server = peer->server;
    char remote[64];

    set_remote(peer, remote, sizeof remote);
    peer->http = ek_http_conn_new(&server->conn_config, remote, on_wake, peer, now_of(peer));
    if (!server->config.identity)
        return true;
    peer->tls = ek_tls_session_new(server->config.identity);
    if (peer->tls)
        return true;
    ek_log_info_limited(server->config.log, 1, 60000, "No certificate to serve with",
                        EK_S("server", server->config.name));
    return false;
}

void ek_http_peer_accept__(struct ek_http_server *server)
{
    struct ek_http_peer *peer = ek_xalloc(sizeof *peer);
    bool full = server->stats.connections >= server->config.max_connections;

    peer->server = server;
    uv_tcp_init(server->loop, &peer->tcp);
    uv_timer_init(server->loop, &peer->timer);
    peer->tcp.data = peer->timer.data = peer;
    peer->n_handles = 2;
    server->stats.connections++;
    link_peer(peer);
    bool accepted = uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&peer->tcp) == 0;
    uv_tcp_nodelay(&peer->tcp, 1);
    bool welcomed = welcome(peer);
    if (full) {
        unlink_peer(peer); /* not itself */
        full = !ek_http_peer_evict__(server);
        link_peer(peer);
    }
    if (!accepted || !welcomed || full) {
        server->stats.rejected += full;
        ek_http_peer_close__(peer);
        return;
    }
    server->stats.accepted++;
    if (server->lingering)
        ek_http_conn_last(peer->http);
    pump(peer);
}
