/* SPDX-License-Identifier: Apache-2.0 */
/* One client's socket: bytes between libuv, TLS, the HTTP engine and a watch. */
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/shell-internal.h"

#define PIECE ((size_t)128 * 1024)

static void on_closed(uv_handle_t *handle)
{
    struct ek_shell_conn *conn = handle->data;
    struct ek_apishell *shell = conn->listener->shell;

    ek_shell_webhook_cancel(conn);
    *(conn->prev ? &conn->prev->next : &shell->conns) = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    ek_http_conn_free(conn->http);
    /* A reply that is still due is an orphan now, and has to be answered to be released. */
    if (conn->reply)
        ek_http_reply_send(conn->reply, 503, NULL, "", 0);
    ek_apiserver_watch_free(conn->watch);
    ek_tls_session_free(conn->tls);
    ek_buf_done(&conn->raw);
    ek_buf_done(&conn->out);
    ek_free(conn);
    ek_shell_released(shell);
}

void ek_shell_conn_close(struct ek_shell_conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

void ek_shell_conn_reset(struct ek_shell_conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    if (uv_tcp_close_reset(&conn->tcp, on_closed) < 0)
        uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char space[65536];

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(space, sizeof(space));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct ek_shell_conn *conn = stream->data;

    if (n == 0)
        return;
    if (n == UV_EOF && conn->mode == EK_SHELL_HTTP) {
        conn->eof = true;
        ek_http_conn_eof(conn->http, ek_shell_now(conn->listener->shell));
    } else if (n < 0 || ek_tls_session_input(conn->tls, buf->base, (size_t)n) < 0) {
        ek_shell_conn_close(conn);
        return;
    }
    ek_shell_conn_pump(conn);
}

static void set_reading(struct ek_shell_conn *conn)
{
    bool wanted = !conn->listener->hung && !conn->eof && ek_http_conn_wants_input(conn->http);

    if (wanted && !conn->reading)
        uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
    else if (!wanted && conn->reading)
        uv_read_stop((uv_stream_t *)&conn->tcp);
    conn->reading = wanted;
}

void ek_shell_accept(struct ek_listener *listener)
{
    struct ek_apishell *shell = listener->shell;
    struct ek_shell_conn *conn = ek_xalloc(sizeof(*conn));

    conn->listener = listener;
    conn->budget = SIZE_MAX;
    conn->wake_ms = INT64_MAX;
    ek_buf_init(&conn->raw, (size_t)2 * 1024 * 1024 * 1024);
    ek_buf_init(&conn->out, (size_t)64 * 1024 * 1024);
    uv_tcp_init(shell->config.loop, &conn->tcp);
    conn->tcp.data = conn->write.data = conn;
    conn->tls = ek_tls_session_new(listener->identity);
    conn->http = ek_http_conn_new(&listener->http, "", NULL, NULL, ek_shell_now(shell));
    conn->next = shell->conns;
    if (shell->conns)
        shell->conns->prev = conn;
    shell->conns = conn;
    shell->n_handles++;
    shell->stats.connections++;
    if (!conn->tls || uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&conn->tcp) < 0) {
        ek_shell_conn_close(conn);
        return;
    }
    uv_tcp_nodelay(&conn->tcp, 1);
    ek_shell_conn_pump(conn);
}

/* Reads what TLS has; false when the session is broken. */
static bool decrypt(struct ek_shell_conn *conn)
{
    static char plain[65536];
    int64_t now = ek_shell_now(conn->listener->shell);
    struct ek_err err;
    bool end = false;
    int n;

    while ((n = ek_tls_session_read(conn->tls, plain, sizeof(plain), &end, &err)) > 0)
        ek_http_conn_input(conn->http, plain, (size_t)n, now);
    if (end && !conn->eof) {
        conn->eof = true;
        ek_http_conn_eof(conn->http, now);
    }
    return n == 0 && !(end && conn->mode != EK_SHELL_HTTP);
}

static void on_written(uv_write_t *write, int status)
{
    struct ek_shell_conn *conn = write->data;

    conn->writing = false;
    ek_buf_reset(&conn->out);
    if (status < 0)
        ek_shell_conn_close(conn);
    else
        ek_shell_conn_pump(conn);
}

/* Plaintext to send next, within what a fault still allows. */
static struct ek_str pending(const struct ek_shell_conn *conn)
{
    bool raw = conn->mode == EK_SHELL_STREAM || conn->mode == EK_SHELL_LAST;
    struct ek_str text = raw ? (struct ek_str){ek_buf_str(&conn->raw) + conn->raw_sent,
                                               conn->raw.len - conn->raw_sent}
                             : ek_http_conn_output(conn->http);

    /* What the engine still holds was said before the stream began. */
    if (raw && ek_http_conn_output(conn->http).len > 0)
        text = ek_http_conn_output(conn->http);
    if (text.len > PIECE)
        text.len = PIECE;
    if (text.len > conn->budget)
        text.len = conn->budget;
    return text;
}

static void mark_sent(struct ek_shell_conn *conn, size_t n)
{
    if (ek_http_conn_output(conn->http).len > 0) {
        ek_http_conn_sent(conn->http, n, ek_shell_now(conn->listener->shell));
    } else {
        conn->raw_sent += n;
        if (conn->raw_sent == conn->raw.len) {
            ek_buf_reset(&conn->raw);
            conn->raw_sent = 0;
        }
    }
    if (conn->budget != SIZE_MAX)
        conn->budget -= n;
}

/* The bytes that a fault allows have been sent. */
static void strike(struct ek_shell_conn *conn)
{
    if (conn->fault.kind == EK_FAULT_RESET)
        ek_shell_conn_reset(conn);
    else if (conn->fault.kind == EK_FAULT_TRUNCATE)
        ek_shell_conn_close(conn);
    else
        conn->mode = EK_SHELL_STUCK;
}

/* Encrypts and sends one piece, unless one is under way. */
static void flush(struct ek_shell_conn *conn)
{
    char cipher[16384];
    struct ek_err err;
    size_t n;

    if (conn->writing || conn->closing)
        return;
    bool ready = ek_tls_session_ready(conn->tls);
    struct ek_str text =
        ready && conn->mode != EK_SHELL_STUCK ? pending(conn) : (struct ek_str){NULL, 0};
    if (text.len > 0) {
        if (ek_tls_session_write(conn->tls, text.p, text.len, &err) < 0) {
            ek_shell_conn_close(conn);
            return;
        }
        mark_sent(conn, text.len);
    }
    while ((n = ek_tls_session_output(conn->tls, cipher, sizeof(cipher))) > 0)
        ek_buf_append(&conn->out, cipher, n);
    if (conn->out.len > 0) {
        uv_buf_t buf = uv_buf_init(conn->out.data, (unsigned)conn->out.len);
        conn->writing = uv_write(&conn->write, (uv_stream_t *)&conn->tcp, &buf, 1, on_written) == 0;
        if (!conn->writing)
            ek_shell_conn_close(conn);
    } else if (conn->budget == 0 && ready && conn->mode != EK_SHELL_STUCK) {
        strike(conn);
    }
}

static bool is_done(const struct ek_shell_conn *conn)
{
    if (conn->writing || conn->mode == EK_SHELL_STUCK)
        return false;
    if (conn->mode == EK_SHELL_LAST)
        return conn->raw.len == 0;
    enum ek_http_conn_state state = ek_http_conn_state(conn->http);
    return state == EK_HTTP_CONN_CLOSED ||
           (state == EK_HTTP_CONN_CLOSING && ek_http_conn_output(conn->http).len == 0);
}

void ek_shell_conn_pump(struct ek_shell_conn *conn)
{
    struct ek_apishell *shell = conn->listener->shell;

    if (conn->closing)
        return;
    set_reading(conn);
    if (conn->listener->hung)
        return;
    shell->current = conn;
    bool alive = decrypt(conn);
    if (conn->mode == EK_SHELL_HTTP)
        ek_http_conn_run(conn->http, ek_shell_now(shell));
    shell->current = NULL;
    if (conn->mode == EK_SHELL_STREAM && !conn->writing && conn->raw.len == 0)
        ek_shell_pull(conn);
    flush(conn);
    if (conn->closing)
        return;
    if (!alive && !conn->writing) {
        ek_shell_conn_close(conn);
        return;
    }
    if (is_done(conn)) {
        ek_shell_conn_close(conn);
        return;
    }
    set_reading(conn);
    ek_shell_schedule(shell, ek_http_conn_deadline(conn->http));
    ek_shell_schedule(shell, conn->wake_ms);
}

void ek_shell_conn_wake(struct ek_shell_conn *conn, int64_t now_ms)
{
    struct ek_apishell *shell = conn->listener->shell;

    if (conn->closing)
        return;
    if (conn->mode == EK_SHELL_DELAY && now_ms >= conn->wake_ms) {
        struct ek_http_reply *reply = conn->reply;
        conn->mode = EK_SHELL_HTTP;
        conn->reply = NULL;
        conn->wake_ms = INT64_MAX;
        shell->current = conn;
        ek_shell_answer(conn, conn->request, reply);
        shell->current = NULL;
    }
    if (conn->mode == EK_SHELL_HTTP)
        ek_http_conn_timeout(conn->http, now_ms);
    else if (now_ms >= conn->wake_ms)
        conn->wake_ms = INT64_MAX; /* a stream that is pulled says anew when to come back */
    ek_shell_conn_pump(conn);
}
