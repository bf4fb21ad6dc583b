/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners and time of the test API server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/base/mem.h"
#include "test/apiserver/shell-internal.h"

#define BACKLOG    512
#define DAY_MS     INT64_C(86400000)
#define FOREVER_MS (365 * DAY_MS)

int64_t ek_shell_wall(const struct ek_apishell *shell)
{
    struct timespec now;

    if (shell->config.now_ms)
        return shell->config.now_ms(shell->config.now_ctx);
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t ek_shell_now(const struct ek_apishell *shell)
{
    return (int64_t)uv_now(shell->config.loop);
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_apishell *shell = timer->data;
    int64_t wall = ek_shell_wall(shell);

    shell->armed_ms = INT64_MAX;
    if (wall >= shell->tick_ms)
        shell->tick_ms = ek_apiserver_tick(shell->config.server, wall);
    if (shell->tick_ms < INT64_MAX)
        ek_shell_schedule(shell, ek_shell_now(shell) + shell->tick_ms - wall);
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next)
        ek_shell_conn_wake(conn, ek_shell_now(shell));
}

void ek_shell_schedule(struct ek_apishell *shell, int64_t at_ms)
{
    int64_t now = ek_shell_now(shell);

    if (at_ms >= shell->armed_ms || shell->closing)
        return;
    shell->armed_ms = at_ms;
    /* At least one turn from now: a timer of 0 that is set in its own callback never lets go. */
    uv_timer_start(&shell->timer, on_timer, (uint64_t)(at_ms > now ? at_ms - now : 1), 0);
}

void ek_apishell_poke(struct ek_apishell *shell)
{
    ek_shell_schedule(shell, ek_shell_now(shell));
}

static void on_change(void *ctx)
{
    struct ek_apishell *shell = ctx;

    shell->dirty = true;
}

/* Streams look at the log once per turn of the loop, however much was written in it. */
static void serve_streams(struct ek_apishell *shell)
{
    if (!shell->dirty)
        return;
    shell->dirty = false;
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next) {
        if (conn->mode == EK_SHELL_STREAM && !conn->closing)
            ek_shell_conn_pump(conn);
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    serve_streams(prepare->data);
}

static void on_check(uv_check_t *check)
{
    serve_streams(check->data);
}

int ek_apishell_new(const struct ek_apishell_config *config, struct ek_apishell **ret_shell,
                    struct ek_err *err)
{
    struct ek_apishell *shell = ek_xalloc(sizeof(*shell));

    shell->config = *config;
    shell->faults.random = config->seed;
    shell->armed_ms = INT64_MAX;
    int code = ek_pki_new(ek_shell_wall(shell), &shell->pki, err);
    if (code < 0) {
        ek_free(shell);
        return code;
    }
    uv_timer_init(config->loop, &shell->timer);
    uv_prepare_init(config->loop, &shell->prepare);
    uv_check_init(config->loop, &shell->check);
    shell->timer.data = shell->prepare.data = shell->check.data = shell;
    shell->n_handles = 3;
    uv_prepare_start(&shell->prepare, on_prepare);
    uv_check_start(&shell->check, on_check);
    ek_apiserver_on_change(config->server, on_change, shell);
    *ret_shell = shell;
    return 0;
}

const char *ek_apishell_ca(const struct ek_apishell *shell)
{
    return ek_pki_ca(shell->pki);
}

struct ek_faults *ek_apishell_faults(struct ek_apishell *shell)
{
    return &shell->faults;
}

void ek_apishell_stats(const struct ek_apishell *shell, struct ek_apishell_stats *ret_stats)
{
    *ret_stats = shell->stats;
    for (const struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next) {
        ret_stats->open_connections++;
        ret_stats->open_streams += conn->mode == EK_SHELL_STREAM;
    }
}

char *ek_apishell_url(const struct ek_apiserver_peer *peer)
{
    return ek_xasprintf("https://%s:%u", ek_apiserver_peer_address(peer),
                        ek_apiserver_peer_port(peer));
}

struct ek_listener *ek_shell_find(const struct ek_apishell *shell,
                                  const struct ek_apiserver_peer *peer)
{
    struct ek_listener *listener = shell->listeners;

    while (listener && listener->peer != peer)
        listener = listener->next;
    return listener;
}

static struct ek_listener *add_listener(struct ek_apishell *shell, struct ek_apiserver_peer *peer)
{
    struct ek_listener *listener = ek_xalloc(sizeof(*listener));

    listener->shell = shell;
    listener->peer = peer;
    listener->identity = ek_tls_identity_new();
    listener->route = (struct ek_http_route){
        .path = "/", .subtree = true, .handler = ek_shell_handle, .ctx = listener};
    listener->http = (struct ek_http_conn_config){
        .limits = {.max_body = (size_t)4 * 1024 * 1024,
                   .reply_timeout_ms = FOREVER_MS,
                   .write_timeout_ms = FOREVER_MS},
        .routes = &listener->route,
        .n_routes = 1,
    };
    ek_http_limits_default(&listener->http.limits);
    listener->next = shell->listeners;
    shell->listeners = listener;
    return listener;
}

static int serve_certificate(struct ek_listener *listener, bool expired, struct ek_err *err)
{
    struct ek_apishell *shell = listener->shell;
    int64_t now = ek_shell_wall(shell);
    char *cert = NULL, *key = NULL;
    struct ssl_ctx_st *context = NULL;
    int code =
        ek_pki_sign(shell->pki, ek_apiserver_peer_name(listener->peer),
                    ek_apiserver_peer_address(listener->peer), expired ? now - 2 * DAY_MS : now,
                    expired ? now - DAY_MS : now + FOREVER_MS, &cert, &key, err);

    if (code == 0)
        code = ek_tls_context_new(ek_str_from(cert), ek_str_from(key), "serving certificate",
                                  &context, err);
    if (code == 0)
        ek_tls_identity_set(listener->identity, context);
    ek_free(cert);
    ek_free(key);
    return code;
}

int ek_apishell_expire_certificate(struct ek_apishell *shell, struct ek_apiserver_peer *peer,
                                   bool expired, struct ek_err *err)
{
    struct ek_listener *listener = ek_shell_find(shell, peer);

    return listener ? serve_certificate(listener, expired, err)
                    : ek_err_set(err, EK_E_NOENT, "the peer has never listened");
}

static void on_connection(uv_stream_t *stream, int status)
{
    if (status == 0)
        ek_shell_accept(stream->data);
}

/* A peer without a port takes that of the others, because one EndpointSlice holds one port. */
static uint16_t choose_port(const struct ek_listener *listener)
{
    uint16_t port = ek_apiserver_peer_port(listener->peer);

    for (const struct ek_listener *l = listener->shell->listeners; l && port == 0; l = l->next)
        port = ek_apiserver_peer_port(l->peer);
    return port;
}

static int bind_listener(struct ek_listener *listener, struct ek_err *err)
{
    const char *address = ek_apiserver_peer_address(listener->peer);
    struct sockaddr_in bound = {0}, addr;
    int len = sizeof(bound);
    int code = uv_ip4_addr(address, choose_port(listener), &addr);

    uv_tcp_init(listener->shell->config.loop, &listener->tcp);
    listener->tcp.data = listener;
    listener->listening = true;
    listener->shell->n_handles++;
    if (code == 0)
        code = uv_tcp_bind(&listener->tcp, (const struct sockaddr *)&addr, 0);
    if (code == 0)
        code = uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection);
    if (code == 0)
        code = uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&bound, &len);
    if (code < 0)
        return ek_err_set(err, EK_E_IO, "listening on %s:%u: %s", address, choose_port(listener),
                          uv_strerror(code));
    ek_apiserver_peer_listening(listener->peer, ntohs(bound.sin_port));
    return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct ek_listener *listener = handle->data;

    listener->listening = false;
    ek_shell_released(listener->shell);
}

static void close_listener(struct ek_listener *listener)
{
    if (listener->listening && !uv_is_closing((uv_handle_t *)&listener->tcp))
        uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
}

int ek_apishell_start_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer,
                           struct ek_err *err)
{
    struct ek_listener *listener = ek_shell_find(shell, peer);

    if (!listener)
        listener = add_listener(shell, peer);
    if (listener->listening)
        return ek_err_set(err, EK_E_EXIST, "peer %s listens already, or is still closing",
                          ek_apiserver_peer_name(peer));
    int code = serve_certificate(listener, false, err);
    if (code == 0) {
        code = bind_listener(listener, err);
        if (code < 0)
            close_listener(listener);
    }
    if (code < 0)
        return code;
    listener->hung = false;
    ek_apiserver_peer_start(peer, ek_shell_wall(shell));
    shell->tick_ms = 0;
    ek_shell_schedule(shell, ek_shell_now(shell));
    return 0;
}

void ek_apishell_stop_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer, bool crash)
{
    struct ek_listener *listener = ek_shell_find(shell, peer);

    if (!listener)
        return;
    close_listener(listener);
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next) {
        if (conn->listener != listener)
            continue;
        if (crash)
            ek_shell_conn_reset(conn);
        else
            ek_shell_conn_close(conn);
    }
    ek_apiserver_peer_stop(peer, crash, ek_shell_wall(shell));
}

void ek_apishell_hang_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer, bool hangs)
{
    struct ek_listener *listener = ek_shell_find(shell, peer);

    if (!listener)
        return;
    listener->hung = hangs;
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next) {
        if (conn->listener == listener)
            ek_shell_conn_pump(conn);
    }
}

/* --- the end --- */

static void free_shell(struct ek_apishell *shell)
{
    void (*on_closed)(void *ctx) = shell->on_closed;
    void *ctx = shell->on_closed_ctx;

    while (shell->listeners) {
        struct ek_listener *listener = shell->listeners;
        shell->listeners = listener->next;
        ek_tls_identity_free(listener->identity);
        ek_free(listener);
    }
    ek_pki_free(shell->pki);
    ek_free(shell);
    if (on_closed)
        on_closed(ctx);
}

void ek_shell_released(struct ek_apishell *shell)
{
    if (--shell->n_handles == 0 && shell->closing)
        free_shell(shell);
}

static void on_handle_closed(uv_handle_t *handle)
{
    ek_shell_released(handle->data);
}

void ek_apishell_close(struct ek_apishell *shell, void (*on_closed)(void *ctx), void *ctx)
{
    shell->on_closed = on_closed;
    shell->on_closed_ctx = ctx;
    shell->closing = true;
    ek_apiserver_on_change(shell->config.server, NULL, NULL);
    for (struct ek_listener *listener = shell->listeners; listener; listener = listener->next)
        close_listener(listener);
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next)
        ek_shell_conn_close(conn);
    uv_close((uv_handle_t *)&shell->timer, on_handle_closed);
    uv_close((uv_handle_t *)&shell->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&shell->check, on_handle_closed);
}
