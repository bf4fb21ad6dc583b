/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/pool.h"

#include <stdlib.h>

#include "api/base/mem.h"

/* Idle connections that a pool keeps open. */
#define IDLE_CONNECTIONS_MAX 64L

/* Connections to one address. With HTTP/2 one is enough for a hundred streams, but libcurl opens
 * one per transfer beyond that; without HTTP/2 each watch holds one, and every request beyond the
 * last waits for ever. All subjects watch dozens of resources, and one for each gated kind. */
#define HOST_CONNECTIONS_MAX 256L

struct watched_socket {
    uv_poll_t poll;
    struct ek_http *http;
    curl_socket_t fd;
    int events; /* UV_* that libcurl wants */
    bool failed;
};

struct ek_http {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t timer;
    struct ek_http_hooks hooks;
    size_t n_transfers;
    size_t n_handles;  /* uv handles not yet closed */
    CURL *nudge;       /* never sent, see wake_waiting */
    bool connected;    /* a transfer has got a connection since the last look */
    unsigned n_driven; /* drive() frames on the stack */
    bool timing;       /* inside on_timer */
    bool retired, closing;
};

static void maybe_close(struct ek_http *http);

static void read_messages(struct ek_http *http)
{
    CURLMsg *message;
    int left;

    while (!http->closing && (message = curl_multi_info_read(http->multi, &left))) {
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        char *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        ek_http_remove(http, easy);
        http->hooks.done(transfer, result);
    }
}

static int on_connected(void *ctx, char *remote, char *local, int remote_port, int local_port)
{
    struct ek_http *http = ctx;

    (void)remote, (void)local, (void)remote_port, (void)local_port;
    http->connected = true;
    return CURL_PREREQFUNC_OK;
}

/* A transfer that would rather share a connection waits until the handshake of one that is being
 * made shows whether it can (CURLOPT_PIPEWAIT). Up to 7.88 libcurl looked at those that wait after
 * each handshake; 8.14 does so only when the answer was HTTP/2, and otherwise leaves them until an
 * exchange on that connection gets on, which with a server that hangs is never. The removal of any
 * handle makes it look. */
static void wake_waiting(struct ek_http *http)
{
    if (!http->connected)
        return;
    http->connected = false;
    if (http->n_transfers > 1 && !curl_multi_add_handle(http->multi, http->nudge))
        curl_multi_remove_handle(http->multi, http->nudge);
}

static void drive(struct ek_http *http, curl_socket_t fd, int events)
{
    int n_running;

    http->n_driven++;
    curl_multi_socket_action(http->multi, fd, events, &n_running);
    http->hooks.left(http->hooks.ctx);
    read_messages(http);
    wake_waiting(http);
    http->n_driven--;
    maybe_close(http);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watched_socket *socket = poll->data;
    int flags = 0;

    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    if (status < 0) {
        /* A reset. What came before it, a TLS alert with the reason maybe, is still to be read;
         * so the first time libcurl is sent to look for itself. */
        flags = socket->failed ? CURL_CSELECT_ERR : CURL_CSELECT_IN | CURL_CSELECT_OUT;
        socket->failed = true;
    }
    drive(socket->http, socket->fd, flags);
    if (status < 0 && !uv_is_closing((uv_handle_t *)poll)) /* libuv has stopped it */
        uv_poll_start(poll, socket->events, on_poll);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_http *http = timer->data;

    http->timing = true;
    drive(http, CURL_SOCKET_TIMEOUT, 0);
    http->timing = false;
}

static void handle_closed(struct ek_http *http)
{
    if (--http->n_handles)
        return;
    http->hooks.closed(http->hooks.ctx);
    ek_free(http);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct watched_socket *socket = handle->data;
    struct ek_http *http = socket->http;

    ek_free(socket);
    handle_closed(http);
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static struct watched_socket *watch_socket(struct ek_http *http, curl_socket_t fd)
{
    struct watched_socket *socket = ek_xalloc(sizeof *socket);

    if (uv_poll_init_socket(http->loop, &socket->poll, fd)) {
        ek_free(socket);
        return NULL;
    }
    socket->poll.data = socket;
    socket->http = http;
    socket->fd = fd;
    http->n_handles++;
    curl_multi_assign(http->multi, fd, socket);
    return socket;
}

/* libcurl reports the events of a socket that it needs. */
static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *assigned)
{
    struct ek_http *http = ctx;
    struct watched_socket *socket = assigned;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket) {
            /* Stopped at once: libcurl closes the descriptor next, and its number comes back. */
            uv_poll_stop(&socket->poll);
            uv_close((uv_handle_t *)&socket->poll, on_poll_closed);
            curl_multi_assign(http->multi, fd, NULL);
        }
        return 0;
    }
    if (!socket)
        socket = watch_socket(http, fd);
    if (!socket)
        return -1;
    socket->events =
        (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    uv_poll_start(&socket->poll, socket->events, on_poll);
    return 0;
}

/* libcurl says when it wants to be called; never called from here, it would be inside. */
static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct ek_http *http = ctx;

    (void)multi;
    if (http->closing || timeout_ms < 0)
        uv_timer_stop(&http->timer);
    else if (timeout_ms == 0 && http->timing)
        /* libuv runs timers until none is due: one of 0 that is set in its own callback, as libcurl
         * does while a fast stream goes on, would leave no other stream a turn. */
        uv_timer_start(&http->timer, on_timer, 1, 0);
    else
        uv_timer_start(&http->timer, on_timer, (uint64_t)timeout_ms, 0);
    return 0;
}

struct ek_http *ek_http_new(uv_loop_t *loop, const struct ek_http_hooks *hooks)
{
    struct ek_http *http = ek_xalloc(sizeof *http);

    http->loop = loop;
    http->hooks = *hooks;
    uv_timer_init(loop, &http->timer);
    http->timer.data = http;
    http->n_handles = 1;
    http->multi = curl_multi_init();
    http->nudge = curl_easy_init();
    if (!http->multi || !http->nudge)
        abort();
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS, HOST_CONNECTIONS_MAX);
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    return http;
}

bool ek_http_add(struct ek_http *http, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, http);
    if (http->retired || curl_multi_add_handle(http->multi, easy))
        return false;
    http->n_transfers++;
    return true;
}

void ek_http_remove(struct ek_http *http, CURL *easy)
{
    curl_multi_remove_handle(http->multi, easy);
    http->n_transfers--;
    maybe_close(http);
}

static void maybe_close(struct ek_http *http)
{
    if (!http->retired || http->n_transfers || http->n_driven || http->closing)
        return;
    http->closing = true;
    curl_easy_cleanup(http->nudge);
    curl_multi_cleanup(http->multi); /* closes connections, which takes their sockets off us */
    uv_close((uv_handle_t *)&http->timer, on_timer_closed);
}

void ek_http_retire(struct ek_http *http)
{
    http->retired = true;
    maybe_close(http);
}
