/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/wire.h"

/* Seconds of silence before TCP looks whether the other side is there (net.ListenConfig of Go: 15).
 */
#define KEEPALIVE_S 15

/* The ciphertext of a piece of plaintext. */
#define CIPHER_PIECE (EK_WIRE_PIECE + 4096)

/* The plaintext of a record (RFC 8446, 5.1). */
#define RECORD_MAX ((size_t)16 * 1024)

/* So much is handed to the system at once; what comes then waits for its turn in the loop, so that
 * one wire does not keep the others waiting. */
#define BURST_MAX ((size_t)64 * 1024)

/* What the system has not taken at once: an idle wire has none. */
struct sending {
    uv_write_t write;
    uv_timer_t timer; /* of what TLS itself sends; its data is NULL where it does not run */
    char data[];
};

struct ek_wire {
    uv_tcp_t tcp;
    const struct ek_wire_ops *ops;
    void *ctx;
    struct ek_tls_session *tls; /* owned; NULL for plain TCP */
    struct ek_tunnel *tunnel;   /* owned; NULL: there is none, or it is open */
    uint64_t own_ms;            /* for what TLS itself sends; 0: without a limit */
    size_t in_flight;           /* bytes of the owner's output that are being sent */
    size_t copied;              /* bytes of the copy that is being sent */
    size_t tls_held;            /* bytes that wait in TLS, when they were counted last */
    size_t burst;               /* bytes that were sent at once since the loop reported something */
    bool connected, ready, writing, reading;
    bool unread;    /* ciphertext has come that was not decrypted yet */
    bool tcp_eof;   /* the socket has ended */
    bool eof;       /* the owner knows that the stream has ended */
    bool ended;     /* we have ended ours */
    bool untrimmed; /* bytes have passed since TLS gave its buffers back */
    bool closing, running;
};

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void lose(struct ek_wire *wire, const char *why)
{
    if (!wire->closing)
        wire->ops->lost(wire->ctx, why);
}

/* ---- Sending ---- */

/* The system has taken what was in flight. */
static void report_sent(struct ek_wire *wire)
{
    size_t n = wire->in_flight;

    wire->in_flight = 0;
    if (n > 0)
        wire->ops->sent(wire->ctx, n);
}

static void on_sending_closed(uv_handle_t *timer)
{
    ek_free(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
    struct sending *sending = (struct sending *)(void *)write; /* its first member */
    struct ek_wire *wire = write->data;

    if (sending->timer.data)
        uv_close((uv_handle_t *)&sending->timer, on_sending_closed);
    else
        ek_free(sending);
    wire->writing = false;
    wire->copied = wire->burst = 0;
    if (wire->closing)
        return;
    if (status < 0) {
        lose(wire, uv_strerror(status));
        return;
    }
    report_sent(wire);
    ek_wire_go_on(wire);
}

static void on_late(uv_timer_t *timer)
{
    struct sending *sending = timer->data;

    lose(sending->write.data, "the other side reads nothing");
}

/* The owner sees to the time of its own output. Of what TLS sends beside it the owner knows
 * nothing. */
static void limit(struct ek_wire *wire, struct sending *sending)
{
    if (wire->in_flight > 0 || wire->own_ms == 0)
        return;
    uv_timer_init(wire->tcp.loop, &sending->timer);
    sending->timer.data = sending;
    uv_timer_start(&sending->timer, on_late, wire->own_ms, 0);
}

/* Sends a copy when the system takes more. */
static void put_later(struct ek_wire *wire, const char *data, size_t len)
{
    struct sending *sending = ek_xalloc(sizeof *sending + len);

    memcpy(sending->data, data, len);
    sending->write.data = wire;
    uv_buf_t piece = uv_buf_init(sending->data, (unsigned)len);
    wire->writing = true;
    wire->copied = len;
    int rc = uv_write(&sending->write, (uv_stream_t *)&wire->tcp, &piece, 1, on_written);
    if (rc) {
        ek_free(sending);
        wire->writing = false;
        wire->copied = 0;
        lose(wire, uv_strerror(rc));
        return;
    }
    limit(wire, sending);
}

/* Sends len bytes, which carry in_flight ones of the owner's output. True when the system has taken
 * all of them. */
static bool put(struct ek_wire *wire, const char *data, size_t len, size_t in_flight)
{
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
    int n = UV_EAGAIN;

    wire->in_flight = in_flight;
    if (wire->burst < BURST_MAX)
        n = uv_try_write((uv_stream_t *)&wire->tcp, &piece, 1);
    if (n < 0 && n != UV_EAGAIN) {
        lose(wire, uv_strerror(n));
        return false;
    }
    size_t taken = n > 0 ? (size_t)n : 0;
    wire->burst += taken;
    if (taken < len) {
        put_later(wire, data + taken, len - taken);
        return false;
    }
    report_sent(wire);
    return true;
}

/* Sends what TLS has, or plaintext of one piece. */
static bool put_tls(struct ek_wire *wire, struct ek_str out)
{
    static _Thread_local char
        cipher[CIPHER_PIECE]; /* of no use any more when put calls the owner */
    struct ek_err err;
    size_t len = 0;

    size_t n = ek_tls_session_output(wire->tls, cipher, sizeof cipher);
    if (n == 0 && wire->ready && !wire->ended && out.len > 0) {
        len = out.len < EK_WIRE_PIECE ? out.len : EK_WIRE_PIECE;
        if (ek_tls_session_write(wire->tls, out.p, len, &err)) {
            lose(wire, err.message);
            return false;
        }
        n = ek_tls_session_output(wire->tls, cipher, sizeof cipher);
    }
    wire->untrimmed = wire->untrimmed || n > 0;
    return n > 0 && put(wire, cipher, n, len);
}

/* Sends a piece. True when the system has taken it, so that there may be another one. */
static bool send_piece(struct ek_wire *wire)
{
    if (wire->writing || wire->closing || !wire->connected || wire->tunnel)
        return false;
    struct ek_str out = wire->ready ? wire->ops->output(wire->ctx) : (struct ek_str){"", 0};
    if (wire->tls)
        return put_tls(wire, out);
    size_t len = out.len < 4 * EK_WIRE_PIECE ? out.len : 4 * EK_WIRE_PIECE;
    return len > 0 && !wire->ended && put(wire, out.p, len, len);
}

/* True when something was sent. */
static bool send_more(struct ek_wire *wire)
{
    bool any = false;

    while (send_piece(wire))
        any = true;
    return any;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)status; /* the reading side sees what matters */
    ek_free(request);
}

/* Ends our stream when the owner says so and everything is sent. */
static void end_stream(struct ek_wire *wire)
{
    if (wire->ended || wire->writing || wire->closing || !wire->ready ||
        !wire->ops->ends(wire->ctx))
        return;
    wire->ended = true;
    if (wire->tls) {
        ek_tls_session_end(wire->tls);
        send_more(wire);
    }
    if (wire->closing)
        return;
    uv_shutdown_t *request = ek_xalloc(sizeof *request); /* waits for the write */
    if (uv_shutdown(request, (uv_stream_t *)&wire->tcp, on_shutdown))
        ek_free(request);
}

/* ---- Reading ---- */

static void report_eof(struct ek_wire *wire)
{
    if (wire->eof || wire->closing)
        return;
    wire->eof = true;
    if (!wire->ready)
        lose(wire, "the connection ended during the handshake");
    else
        wire->ops->eof(wire->ctx);
}

static void become_ready(struct ek_wire *wire)
{
    if (wire->ready || wire->closing)
        return;
    wire->ready = true;
    wire->ops->ready(wire->ctx);
    if (wire->tls) /* the owner has read what it needs of it */
        ek_tls_session_forget_certificate(wire->tls);
}

/* Reads whole records, as many as there are room for. Returns how many octets, or an error when
 * there is none before it. */
static int read_records(struct ek_wire *wire, char *plain, size_t size, bool *ret_end,
                        struct ek_err *err)
{
    size_t got = 0;
    int n;

    do {
        n = ek_tls_session_read(wire->tls, plain + got, size - got, ret_end, err);
        got += n > 0 ? (size_t)n : 0;
    } while (n > 0 && !*ret_end && wire->ready && size - got >= RECORD_MAX);
    wire->unread = n != 0 && !*ret_end; /* an error comes again */
    return n < 0 && got == 0 ? n : (int)got;
}

static void decrypt_into(struct ek_wire *wire, char *plain, size_t size)
{
    struct ek_err err;
    bool end;

    while (wire->unread && !wire->closing && !ek_tls_session_is_full(wire->tls) &&
           (!wire->ready || wire->ops->wants(wire->ctx))) {
        int n = read_records(wire, plain, size, &end, &err);
        if (n < 0) {
            send_more(wire); /* the alert */
            lose(wire, err.message);
            return;
        }
        if (ek_tls_session_ready(wire->tls))
            become_ready(wire);
        if (n > 0 && !wire->closing)
            wire->ops->input(wire->ctx, plain, (size_t)n);
        if (end)
            report_eof(wire);
    }
    /* Without TLS's own end the stream may be cut. */
    if (wire->tcp_eof && !wire->unread && !wire->eof && !wire->closing)
        lose(wire, "the connection ended without the end of its TLS session");
    wire->untrimmed = true;
}

/* Decrypts what has come, as far as the owner wants it. The owner may make another wire go on while
 * it reads its input, which that one must not overwrite. */
static void decrypt(struct ek_wire *wire)
{
    static _Thread_local char shared[EK_WIRE_PIECE];
    static _Thread_local bool taken;

    if (taken) {
        char *own = ek_xalloc(RECORD_MAX);
        decrypt_into(wire, own, RECORD_MAX);
        ek_free(own);
        return;
    }
    taken = true;
    decrypt_into(wire, shared, sizeof shared);
    taken = false;
}

/* The connection is up to the other side of TLS. */
static void begin(struct ek_wire *wire)
{
    if (wire->tls)
        wire->unread = true; /* the handshake begins with us */
    else
        become_ready(wire);
}

/* Bytes of the egress proxy. */
static void read_tunnel(struct ek_wire *wire, const char *data, size_t n)
{
    const char *why = "";

    switch (ek_tunnel_read(wire->tunnel, data, n, &why)) {
    case EK_TUNNEL_OPEN:
        ek_tunnel_free(wire->tunnel);
        wire->tunnel = NULL;
        begin(wire);
        break;
    case EK_TUNNEL_ENDED:
        lose(wire, why);
        break;
    default:
        break;
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static _Thread_local char piece[EK_WIRE_PIECE]; /* one loop per thread, one read at a time */

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(piece, sizeof piece);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_wire *wire = stream->data;

    if (n == 0 || wire->closing)
        return;
    wire->burst = 0;
    if (n == UV_EOF && wire->tunnel) {
        lose(wire, "the egress proxy ended the connection");
        return;
    }
    if (n == UV_EOF) {
        wire->tcp_eof = wire->unread = true;
        if (!wire->tls)
            report_eof(wire);
    } else if (n < 0) {
        lose(wire, uv_strerror((int)n));
        return;
    } else if (wire->tunnel) {
        read_tunnel(wire, buf->base, (size_t)n);
    } else if (wire->tls) {
        wire->unread = true;
        if (ek_tls_session_input(wire->tls, buf->base, (size_t)n))
            lose(wire, "no memory");
    } else {
        wire->ops->input(wire->ctx, buf->base, (size_t)n);
    }
    ek_wire_go_on(wire);
}

/* Before the handshake is over there is nothing that the owner could refuse. Nobody is read from
 * who reads none of what TLS itself answers. */
static void set_reading(struct ek_wire *wire)
{
    bool wanted = wire->connected && !wire->tcp_eof &&
                  !(wire->tls && (wire->unread || ek_tls_session_is_full(wire->tls))) &&
                  (!wire->ready || wire->ops->wants(wire->ctx));

    if (wanted == wire->reading || wire->closing)
        return;
    wire->reading = wanted;
    if (wanted)
        uv_read_start((uv_stream_t *)&wire->tcp, on_alloc, on_read);
    else
        uv_read_stop((uv_stream_t *)&wire->tcp);
}

void ek_wire_go_on(struct ek_wire *wire)
{
    if (wire->running || wire->closing)
        return;
    wire->running = true;
    do { /* what is sent makes room for what waits to be decrypted */
        if (wire->tls && wire->unread)
            decrypt(wire);
    } while (send_more(wire));
    end_stream(wire);
    set_reading(wire);
    if (wire->untrimmed && !wire->writing && !wire->closing) {
        wire->tls_held = ek_tls_session_trim(wire->tls);
        wire->untrimmed = false;
    }
    wire->running = false;
}

/* ---- Life ---- */

static struct ek_wire *new_wire(uv_loop_t *loop, struct ek_tls_session *tls,
                                const struct ek_wire_ops *ops, void *ctx)
{
    struct ek_wire *wire = ek_xalloc(sizeof *wire);

    wire->ops = ops;
    wire->ctx = ctx;
    wire->tls = tls;
    uv_tcp_init(loop, &wire->tcp);
    wire->tcp.data = wire;
    return wire;
}

static void on_discarded(uv_handle_t *handle)
{
    struct ek_wire *wire = handle->data;

    ek_tls_session_free(wire->tls);
    ek_tunnel_free(wire->tunnel);
    ek_free(wire);
}

static void connected(struct ek_wire *wire)
{
    wire->connected = true;
    uv_tcp_nodelay(&wire->tcp, 1);
    uv_tcp_keepalive(&wire->tcp, 1, KEEPALIVE_S);
}

struct ek_wire *ek_wire_accept(uv_stream_t *listener, struct ek_tls_session *tls,
                               const struct ek_wire_ops *ops, void *ctx)
{
    struct ek_wire *wire = new_wire(listener->loop, tls, ops, ctx);

    if (uv_accept(listener, (uv_stream_t *)&wire->tcp)) {
        uv_close((uv_handle_t *)&wire->tcp, on_discarded);
        return NULL;
    }
    connected(wire);
    wire->ready = !tls;
    return wire;
}

static void on_connect(uv_connect_t *request, int status)
{
    struct ek_wire *wire = request->data;

    ek_free(request);
    if (wire->closing)
        return;
    if (status < 0) {
        lose(wire, uv_strerror(status));
        return;
    }
    connected(wire);
    if (wire->tunnel) {
        struct ek_str text = ek_tunnel_request(wire->tunnel);
        put(wire, text.p, text.len, 0);
    } else {
        begin(wire);
    }
    ek_wire_go_on(wire);
}

struct ek_wire *ek_wire_dial_tunnel(uv_loop_t *loop, const struct sockaddr *addr,
                                    struct ek_tunnel *tunnel, struct ek_tls_session *tls,
                                    const struct ek_wire_ops *ops, void *ctx)
{
    struct ek_wire *wire = new_wire(loop, tls, ops, ctx);
    uv_connect_t *request = ek_xalloc(sizeof *request);

    wire->tunnel = tunnel;
    request->data = wire;
    int rc = uv_tcp_connect(request, &wire->tcp, addr, on_connect);
    if (rc == 0)
        return wire;
    ek_free(request);
    uv_close((uv_handle_t *)&wire->tcp, on_discarded);
    return NULL;
}

struct ek_wire *ek_wire_dial(uv_loop_t *loop, const struct sockaddr *addr,
                             struct ek_tls_session *tls, const struct ek_wire_ops *ops, void *ctx)
{
    return ek_wire_dial_tunnel(loop, addr, NULL, tls, ops, ctx);
}

void ek_wire_give(struct ek_wire *wire, const struct ek_wire_ops *ops, void *ctx)
{
    wire->ops = ops;
    wire->ctx = ctx;
}

void ek_wire_limit(struct ek_wire *wire, int64_t own_ms)
{
    wire->own_ms = (uint64_t)own_ms;
}

bool ek_wire_remote(const struct ek_wire *wire, struct sockaddr_storage *ret_addr)
{
    int len = sizeof *ret_addr;
    return uv_tcp_getpeername(&wire->tcp, (struct sockaddr *)ret_addr, &len) == 0;
}

const struct ek_tls_session *ek_wire_tls(const struct ek_wire *wire)
{
    return wire->tls;
}

bool ek_wire_is_ready(const struct ek_wire *wire)
{
    return wire->ready && !wire->eof;
}

size_t ek_wire_held(const struct ek_wire *wire)
{
    return wire->copied + wire->tls_held;
}

bool ek_wire_is_sending(const struct ek_wire *wire)
{
    return wire->writing;
}

static void on_closed(uv_handle_t *handle)
{
    struct ek_wire *wire = handle->data;
    const struct ek_wire_ops *ops = wire->ops;
    void *ctx = wire->ctx;

    ek_tls_session_free(wire->tls);
    ek_tunnel_free(wire->tunnel);
    ek_free(wire);
    ops->closed(ctx);
}

void ek_wire_close(struct ek_wire *wire, bool reset)
{
    if (wire->closing)
        return;
    wire->closing = true;
    /* A stream that was shut down cannot be reset. */
    if (!reset || !wire->connected || wire->ended || uv_tcp_close_reset(&wire->tcp, on_closed))
        uv_close((uv_handle_t *)&wire->tcp, on_closed);
}
