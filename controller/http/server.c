/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/server.h"

#include <stdio.h>
#include <sys/socket.h>

#include "controller/http/server-internal.h"

#define BACKLOG             512
#define DEFAULT_CONNECTIONS 256

bool ek_http_address_is_off(const char *address)
{
    return !*address || !strcmp(address, "0");
}

static int bad_address(const char *address, struct ek_err *err)
{
    return ek_err_set(err, EK_E_INVAL,
                      "invalid bind address \"%s\": use \":8080\", \"127.0.0.1:8080\" or "
                      "\"[::1]:8080\"",
                      address);
}

static int parse_port(const char *text)
{
    int port = 0, n = 0;

    for (; *text >= '0' && *text <= '9' && n < 5; text++, n++)
        port = port * 10 + (*text - '0');
    return n == 0 || *text || port > 65535 ? -1 : port;
}

int ek_http_address_parse(const char *address, struct sockaddr_storage *ret_addr,
                          struct ek_err *err)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    int port = colon ? parse_port(colon + 1) : -1;

    if (port < 0 || (size_t)(colon - address) >= sizeof host)
        return bad_address(address, err);
    size_t len = (size_t)(colon - address);
    memcpy(host, address, len);
    host[len] = '\0';
    memset(ret_addr, 0, sizeof *ret_addr);
    if (len == 0) /* IPv6's wildcard, which takes IPv4 clients too */
        return uv_ip6_addr("::", port, (struct sockaddr_in6 *)ret_addr);
    if (!strcmp(host, "localhost"))
        return uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)ret_addr);
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        if (uv_ip6_addr(host + 1, port, (struct sockaddr_in6 *)ret_addr) == 0)
            return 0;
    } else if (uv_ip4_addr(host, port, (struct sockaddr_in *)ret_addr) == 0) {
        return 0;
    }
    return bad_address(address, err);
}

int ek_http_address_check(const char *address, struct ek_err *err)
{
    struct sockaddr_storage ignored;
    struct ek_err why = {0};

    if (ek_http_address_is_off(address) || !ek_http_address_parse(address, &ignored, &why))
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s, or \"0\" for none", why.message);
}

void ek_http_address_format__(const struct sockaddr_storage *addr, char *buf, size_t size)
{
    char host[64] = "";

    if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
        uv_ip6_name(in6, host, sizeof host);
        snprintf(buf, size, "[%s]:%d", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
        uv_ip4_name(in, host, sizeof host);
        snprintf(buf, size, "%s:%d", host, ntohs(in->sin_port));
    }
}

void ek_http_server_excuse__(struct ek_http_server *server, int64_t ms)
{
    int64_t beyond_ms = ms - server->conn_config.limits.rate_grace_ms / 8;

    if (beyond_ms <= 0)
        return;
    for (struct ek_http_peer *peer = server->peers; peer; peer = peer->next) {
        if (peer->http)
            ek_http_conn_excuse(peer->http, beyond_ms);
        peer->alone_ms += peer->alone_ms ? beyond_ms : 0;
    }
}

/* All callbacks of the round have run, since the time that the loop knows: also those of others,
 * such as answers of the API server, with which policies are run again. Timers are next, and the
 * sockets of clients only then. */
static void on_callbacks(uv_check_t *check)
{
    struct ek_http_server *server = check->data;

    ek_http_server_excuse__(server,
                            (int64_t)(uv_hrtime() / 1000000) - (int64_t)uv_now(server->loop));
}

struct ek_http_server *ek_http_server_new(uv_loop_t *loop,
                                          const struct ek_http_server_config *config)
{
    struct ek_http_server *server = ek_xalloc(sizeof *server);

    server->loop = loop;
    server->config = *config;
    if (!server->config.max_connections)
        server->config.max_connections = DEFAULT_CONNECTIONS;
    server->bind_address = ek_xstrdup(config->bind_address);
    server->conn_config = (struct ek_http_conn_config){.limits = config->limits,
                                                       .routes = config->routes,
                                                       .n_routes = config->n_routes,
                                                       .wall_ms = config->wall_ms,
                                                       .wall_ctx = config->wall_ctx};
    ek_http_limits_default(&server->conn_config.limits);
    server->meter = config->meter ? config->meter : &server->own_meter;
    server->conn_config.handshake = config->identity != NULL;
    /* Replies may outlive the server, so its own meter is not for them. */
    server->conn_config.budget = config->meter ? &config->meter->budget : NULL;
    server->conn_config.base_bytes =
        sizeof(struct ek_http_peer) + (config->identity ? EK_TLS_SESSION_BYTES : 0);
    server->conn_config.make_room = ek_http_make_room__;
    server->conn_config.costly_bytes = EK_HTTP_COSTLY_BYTES;
    uv_timer_init(loop, &server->grace);
    uv_idle_init(loop, &server->idle);
    uv_check_init(loop, &server->check);
    server->grace.data = server->idle.data = server->check.data = server;
    server->n_handles = 3;
    uv_check_start(&server->check, on_callbacks);
    uv_unref((uv_handle_t *)&server->check);
    server->turns = ek_http_turns_new();
    return server;
}

/* ---- Turns ---- */

/* A turn of the loop: a bounded amount of work, connection by connection (turns.h). */
static void on_turn(uv_idle_t *idle)
{
    struct ek_http_server *server = idle->data;
    struct ek_http_turn *turn;

    ek_http_turns_begin(server->turns, (int64_t)uv_hrtime());
    while ((turn = ek_http_turns_next(server->turns, (int64_t)uv_hrtime())) != NULL)
        ek_http_peer_work__(turn->owner);
    if (server->arrived && server->listening && ek_http_turns_accept(server->turns)) {
        server->arrived = false;
        ek_http_peer_accept__(server); /* the loop looks for the next one */
    }
    if (!ek_http_turns_any(server->turns))
        uv_idle_stop(idle);
}

void ek_http_server_stir__(struct ek_http_server *server)
{
    uv_idle_start(&server->idle, on_turn);
}

void ek_http_server_pause_costly(struct ek_http_server *server, bool paused)
{
    ek_http_turns_pause(server->turns, paused);
    if (!paused && ek_http_turns_any(server->turns))
        ek_http_server_stir__(server);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct ek_http_server *server = listener->data;

    if (status < 0) {
        ek_log_info_limited(server->config.log, 1, 60000, "Cannot accept a connection",
                            EK_S("server", server->config.name),
                            EK_S("reason", uv_strerror(status)));
        return;
    }
    if (server->closing)
        return;
    /* What is not accepted stops the listener until it is. */
    server->arrived = !ek_http_turns_accept(server->turns);
    if (!server->arrived)
        ek_http_peer_accept__(server);
    ek_http_server_stir__(server);
}

static int io_error(const struct ek_http_server *server, int rc, struct ek_err *err)
{
    return ek_err_set(err, EK_E_IO, "cannot listen on \"%s\" for %s: %s", server->bind_address,
                      server->config.name, uv_strerror(rc));
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_http_server *server = handle->data;

    server->n_handles--;
    ek_http_server_released__(server);
}

static int listen_on(struct ek_http_server *server, const struct sockaddr_storage *addr)
{
    uv_os_fd_t fd = -1;
    int on = 1;

    int rc = uv_tcp_init_ex(server->loop, &server->listener, addr->ss_family);
    if (rc)
        return rc;
    server->listener.data = server;
    server->listening = true;
    server->n_handles++;
    rc = uv_fileno((const uv_handle_t *)&server->listener, &fd);
    if (rc)
        return rc;
    if (server->config.reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        return UV_ENOTSUP;
    rc = uv_tcp_bind(&server->listener, (const struct sockaddr *)addr, 0);
    return rc ? rc : uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection);
}

/* Without IPv6 in the kernel, all addresses are those of IPv4. */
static bool is_wildcard(const struct ek_http_server *server)
{
    return server->bind_address[0] == ':';
}

int ek_http_server_start(struct ek_http_server *server, struct ek_err *err)
{
    struct sockaddr_storage addr = {0};
    int len = sizeof addr;

    if (ek_http_address_is_off(server->bind_address))
        return 0;
    int rc = ek_http_address_parse(server->bind_address, &addr, err);
    if (rc)
        return rc;
    rc = listen_on(server, &addr);
    if (rc == UV_EAFNOSUPPORT && is_wildcard(server) && !server->listening) {
        int port = parse_port(server->bind_address + 1);
        uv_ip4_addr("0.0.0.0", port, (struct sockaddr_in *)&addr);
        rc = listen_on(server, &addr);
    }
    if (rc) {
        io_error(server, rc, err);
        if (server->listening)
            uv_close((uv_handle_t *)&server->listener, on_handle_closed);
        server->listening = false;
        return EK_E_IO;
    }
    uv_tcp_getsockname(&server->listener, (struct sockaddr *)&addr, &len);
    ek_http_address_format__(&addr, server->address, sizeof server->address);
    ek_log_info(server->config.log, "Serving", EK_S("server", server->config.name),
                EK_S("address", server->address), EK_B("tls", server->config.identity != NULL));
    return 0;
}

const char *ek_http_server_address(const struct ek_http_server *server)
{
    return server->address;
}

void ek_http_server_stats(const struct ek_http_server *server,
                          struct ek_http_server_stats *ret_stats)
{
    *ret_stats = server->stats;
}

static void close_handles(struct ek_http_server *server)
{
    if (uv_is_closing((const uv_handle_t *)&server->grace))
        return;
    uv_close((uv_handle_t *)&server->grace, on_handle_closed);
    uv_close((uv_handle_t *)&server->idle, on_handle_closed);
    uv_close((uv_handle_t *)&server->check, on_handle_closed);
}

void ek_http_server_released__(struct ek_http_server *server)
{
    if (!server->closing)
        return;
    if (server->stats.connections == 0)
        close_handles(server);
    if (server->stats.connections > 0 || server->n_handles > 0)
        return;
    void (*on_closed)(void *ctx) = server->on_closed;
    void *ctx = server->on_closed_ctx;
    ek_http_turns_free(server->turns);
    ek_free(server->candidates);
    ek_free(server->bind_address);
    ek_free(server);
    if (on_closed)
        on_closed(ctx);
}

static void on_grace_over(uv_timer_t *timer)
{
    struct ek_http_server *server = timer->data;

    if (server->peers)
        ek_log_info(server->config.log, "Closing connections that did not finish in time",
                    EK_S("server", server->config.name));
    while (server->peers)
        ek_http_peer_close__(server->peers);
}

static void drain(struct ek_http_server *server, int64_t grace_ms)
{
    server->lingering = false;
    server->closing = true;
    if (server->listening)
        uv_close((uv_handle_t *)&server->listener, on_handle_closed);
    server->listening = false;
    for (struct ek_http_peer *peer = server->peers, *next; peer; peer = next) {
        next = peer->next;
        ek_http_peer_drain__(peer);
    }
    if (server->stats.connections == 0)
        close_handles(server);
    else
        uv_timer_start(&server->grace, on_grace_over, grace_ms > 0 ? (uint64_t)grace_ms : 0, 0);
}

static void on_linger_over(uv_timer_t *timer)
{
    struct ek_http_server *server = timer->data;

    drain(server, server->rest_ms);
}

static void linger(struct ek_http_server *server, int64_t linger_ms)
{
    server->lingering = true;
    for (struct ek_http_peer *peer = server->peers; peer; peer = peer->next)
        ek_http_peer_last__(peer);
    uv_timer_start(&server->grace, on_linger_over, (uint64_t)linger_ms, 0);
}

void ek_http_server_close(struct ek_http_server *server, int64_t grace_ms,
                          void (*on_closed)(void *ctx), void *ctx)
{
    if (!server) {
        if (on_closed)
            on_closed(ctx);
        return;
    }
    int64_t linger_ms = server->config.linger_ms < grace_ms ? server->config.linger_ms : grace_ms;
    server->on_closed = on_closed;
    server->on_closed_ctx = ctx;
    server->rest_ms = grace_ms - linger_ms;
    if (linger_ms > 0 && server->listening && server->stats.accepted > 0)
        linger(server, linger_ms);
    else
        drain(server, grace_ms);
}
