/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/debug/socket.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/base/quote.h"

/* Of a name as given: ".<pid>" must still fit. */
#define NAME_MAX_LEN 90

#define BACKLOG 8

struct conn {
    struct ek_debug_socket *socket;
    struct conn *next;
    uv_pipe_t pipe;
    uv_timer_t timer;
    unsigned n_handles; /* not closed yet */
    bool closing, counted;
    struct ek_debug_peer peer;
    char line[EK_DEBUG_REQUEST_MAX];
    size_t len;
    uv_write_t write;
    struct ek_buf answer;
};

struct ek_debug_socket {
    struct ek_debug_socket_config config;
    char name[EK_DEBUG_NAME_SIZE];
    uv_loop_t *loop;
    uv_pipe_t listener;
    struct conn *conns; /* all that are not closed yet */
    unsigned n_served;  /* those of them that were let in and are not closing */
    bool listener_closed, closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

int ek_debug_name_check(const char *name, struct ek_err *err)
{
    char quoted[EK_QUOTE_SIZE];
    size_t len = strlen(name);
    bool good = name[0] == '@' && len > 1 && len <= NAME_MAX_LEN;

    for (size_t i = 0; i < len && good; i++)
        good = name[i] > ' ' && name[i] < 0x7f;
    if (good)
        return 0;
    return ek_err_set(err, EK_E_INVAL,
                      "invalid debug socket %s: use an abstract name, \"@\" and up to %d printable "
                      "characters without blanks",
                      ek_quote_short(ek_str_from(name), quoted), NAME_MAX_LEN - 1);
}

bool ek_debug_uid_may_ask(unsigned uid, unsigned own)
{
    return uid == own || uid == 0;
}

unsigned ek_debug_address(const char *name, struct sockaddr_un *ret_addr)
{
    size_t len = strlen(name);

    *ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_addr->sun_path + 1, name + 1, len - 1); /* the NUL at its start makes it abstract */
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* --- connections -------------------------------------------------------------------------- */

static void release_if_done(struct ek_debug_socket *s)
{
    if (!s->closing || !s->listener_closed || s->conns)
        return;
    void (*on_closed)(void *ctx) = s->on_closed;
    void *ctx = s->closed_ctx;
    ek_free(s);
    if (on_closed)
        on_closed(ctx);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    struct ek_debug_socket *s = conn->socket;

    if (--conn->n_handles > 0)
        return;
    for (struct conn **slot = &s->conns; *slot; slot = &(*slot)->next) {
        if (*slot == conn) {
            *slot = conn->next;
            break;
        }
    }
    ek_buf_done(&conn->answer);
    ek_free(conn);
    release_if_done(s);
}

static void close_conn(struct conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    if (conn->counted)
        conn->socket->n_served--;
    uv_close((uv_handle_t *)&conn->pipe, on_handle_closed);
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
}

static void on_deadline(uv_timer_t *timer)
{
    close_conn(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    close_conn(write->data);
}

static void send_answer(struct conn *conn)
{
    uv_buf_t buf = uv_buf_init(conn->answer.data, (unsigned)conn->answer.len);

    uv_read_stop((uv_stream_t *)&conn->pipe);
    conn->write.data = conn;
    if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &buf, 1, on_written))
        close_conn(conn);
}

/* text is constant and needs no escapes. */
static void refuse(struct conn *conn, const char *text)
{
    ek_buf_printf(&conn->answer, "{\"error\":\"%s\"}\n", text);
    send_answer(conn);
}

static void answer(struct conn *conn, size_t len)
{
    const struct ek_debug_socket_config *config = &conn->socket->config;

    config->answer(config->ctx, conn->line, len, &conn->peer, &conn->answer);
    send_answer(conn);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct conn *conn = handle->data;

    (void)suggested;
    *buf = uv_buf_init(conn->line + conn->len, (unsigned)(sizeof conn->line - conn->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;

    (void)buf;
    if (n == UV_EOF && conn->len > 0) {
        answer(conn, conn->len); /* printf without a line feed is a request too */
        return;
    }
    if (n < 0) {
        close_conn(conn);
        return;
    }
    conn->len += (size_t)n;
    const char *end = memchr(conn->line, '\n', conn->len);
    if (end)
        answer(conn, (size_t)(end - conn->line));
    else if (conn->len == sizeof conn->line)
        refuse(conn, "the request is too long");
}

/* The kernel's word on who is at the other end, as of its connect(2). */
static int read_peer(struct conn *conn)
{
    struct ucred cred;
    socklen_t size = sizeof cred;
    uv_os_fd_t fd;
    int rc = uv_fileno((const uv_handle_t *)&conn->pipe, &fd);

    if (rc)
        return rc;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size))
        return -errno;
    conn->peer = (struct ek_debug_peer){.uid = cred.uid, .pid = cred.pid};
    return 0;
}

static bool may_ask(const struct conn *conn)
{
    const struct ek_debug_socket_config *config = &conn->socket->config;

    if (config->may_ask)
        return config->may_ask(config->ctx, &conn->peer);
    return ek_debug_uid_may_ask(conn->peer.uid, geteuid());
}

static void begin(struct conn *conn)
{
    struct ek_debug_socket *s = conn->socket;

    if (read_peer(conn)) {
        close_conn(conn);
    } else if (!may_ask(conn)) {
        refuse(conn,
               "permission denied: only the controller's own user and root may send requests");
    } else if (s->n_served == EK_DEBUG_CONNECTIONS_MAX) {
        refuse(conn, "too many connections");
    } else {
        conn->counted = true;
        s->n_served++;
        if (uv_read_start((uv_stream_t *)&conn->pipe, on_alloc, on_read))
            close_conn(conn);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct ek_debug_socket *s = stream->data;

    if (status)
        return;
    struct conn *conn = ek_xalloc(sizeof *conn);
    conn->socket = s;
    conn->n_handles = 2;
    conn->next = s->conns;
    s->conns = conn;
    ek_buf_init(&conn->answer, EK_DEBUG_ANSWER_MAX);
    uv_pipe_init(s->loop, &conn->pipe, 0);
    uv_timer_init(s->loop, &conn->timer);
    conn->pipe.data = conn;
    conn->timer.data = conn;
    uv_update_time(s->loop);
    uv_timer_start(&conn->timer, on_deadline, (uint64_t)s->config.deadline_ms, 0);
    if (uv_accept(stream, (uv_stream_t *)&conn->pipe))
        close_conn(conn);
    else
        begin(conn);
}

/* --- life --------------------------------------------------------------------------------- */

static int fail(struct ek_err *err, int number, const char *name)
{
    int code = number == EADDRINUSE ? EK_E_EXIST : EK_E_IO;
    return ek_err_set(err, code, "debug socket %s: %s", name, strerror(number));
}

/* Binds to the name or, when that is taken, to NAME.PID; s->name is the one it is. */
static int bind_name(struct ek_debug_socket *s, int fd)
{
    struct sockaddr_un addr;
    unsigned size;

    snprintf(s->name, sizeof s->name, "%s", s->config.name);
    size = ek_debug_address(s->name, &addr);
    if (bind(fd, (const struct sockaddr *)&addr, size) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return errno;
    snprintf(s->name, sizeof s->name, "%s.%d", s->config.name, (int)getpid());
    size = ek_debug_address(s->name, &addr);
    return bind(fd, (const struct sockaddr *)&addr, size) == 0 ? 0 : errno;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct ek_debug_socket *s = handle->data;

    s->listener_closed = true;
    release_if_done(s);
}

int ek_debug_socket_open(uv_loop_t *loop, const struct ek_debug_socket_config *config,
                         struct ek_debug_socket **ret_socket, struct ek_err *err)
{
    int rc = ek_debug_name_check(config->name, err);
    if (rc)
        return rc;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(err, errno, config->name);
    struct ek_debug_socket *s = ek_xalloc(sizeof *s);
    s->config = *config;
    if (!s->config.deadline_ms)
        s->config.deadline_ms = EK_DEBUG_DEADLINE_MS;
    int number = bind_name(s, fd);
    if (number) {
        fail(err, number, s->name);
        close(fd);
        ek_free(s);
        return number == EADDRINUSE ? EK_E_EXIST : EK_E_IO;
    }
    signal(SIGPIPE, SIG_IGN); /* clients may go before their answer comes */
    s->config.name = s->name;
    s->loop = loop;
    uv_pipe_init(loop, &s->listener, 0);
    s->listener.data = s;
    rc = uv_pipe_open(&s->listener, fd);
    if (rc)
        close(fd);
    else
        rc = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
    if (rc) {
        ek_err_set(err, EK_E_IO, "debug socket %s: %s", s->name, uv_strerror(rc));
        ek_debug_socket_close(s, NULL, NULL);
        return EK_E_IO;
    }
    *ret_socket = s;
    return 0;
}

const char *ek_debug_socket_name(const struct ek_debug_socket *socket)
{
    return socket->name;
}

void ek_debug_socket_close(struct ek_debug_socket *socket, void (*on_closed)(void *ctx), void *ctx)
{
    if (!socket)
        return;
    socket->closing = true;
    socket->on_closed = on_closed;
    socket->closed_ctx = ctx;
    uv_close((uv_handle_t *)&socket->listener, on_listener_closed);
    for (struct conn *conn = socket->conns; conn; conn = conn->next)
        close_conn(conn);
}
