/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP or HTTPS listener on a uv loop: sockets and timers around the engines of http_conn.h and
 * tls.h. One object per listener; handlers and routes are those of http.h.
 *
 *     new -> start -> ... -> close (stops accepting, lets requests finish, frees)
 *
 * Bind addresses are those of controller-runtime's flags: ":8080" (all addresses, IPv6 and IPv4),
 * "127.0.0.1:0" (a free port), "[::1]:8081", "localhost:8080"; "0" means no listener at all.
 *
 * A server is full at max_connections: then the connection that has been idle the longest makes
 * room for a new one; if all are busy the new one is closed. Ownership: the server owns its
 * connections; config, routes, identity and log are borrowed. Threading: the loop's thread. With
 * reuse_port several loops may listen on one port.
 */
#ifndef CONTROLLER_HTTP_SERVER_H
#define CONTROLLER_HTTP_SERVER_H

#include <uv.h>

#include "api/err.h"
#include "controller/http.h"
#include "controller/log.h"
#include "controller/tls.h"

struct ek_http_server;

struct ek_http_server_config {
    const char *name;         /* for logs, "metrics" */
    const char *bind_address; /* see above; copied */
    const struct ek_http_route *routes;
    size_t n_routes;
    struct ek_http_limits limits;     /* zeros mean defaults */
    size_t max_connections;           /* 0 means 256 */
    struct ek_tls_identity *identity; /* NULL for plain HTTP */
    bool reuse_port;
    int64_t linger_ms;             /* when closing: see ek_http_server_close; 0: not at all */
    int64_t (*wall_ms)(void *ctx); /* wall clock for the Date header; NULL leaves it out */
    void *wall_ctx;
    struct ek_log *log; /* may be NULL */
};

/* Counters of one server, for metrics and tests. */
struct ek_http_server_stats {
    size_t connections; /* open now */
    unsigned long long accepted, rejected, evicted, tls_errors;
};

/* True when the address means "no listener" ("0" or ""). */
bool ek_http_address_is_off(const char *address);

/* Reads a bind address; EK_E_INVAL with a message that names it and shows what is allowed. */
int ek_http_address_parse(const char *address, struct sockaddr_storage *ret_addr,
                          struct ek_err *err);

/* Returns an owned server that does nothing yet. */
struct ek_http_server *ek_http_server_new(uv_loop_t *loop,
                                          const struct ek_http_server_config *config);

/* Binds and listens. An address that is off is success without a listener. Errors: EK_E_INVAL for
 * the address, EK_E_IO with the system's reason ("address already in use"). */
int ek_http_server_start(struct ek_http_server *server, struct ek_err *err);

/* Where it listens, "127.0.0.1:43017"; "" when it does not. Borrowed. */
const char *ek_http_server_address(const struct ek_http_server *server);

void ek_http_server_stats(const struct ek_http_server *server,
                          struct ek_http_server_stats *ret_stats);

/*
 * Stops accepting, closes idle connections, lets the rest finish for at most grace_ms (0: not at
 * all), then frees the server and calls on_closed (may be NULL) from the loop. NULL server: only
 * calls on_closed, at once.
 *
 * A client may just be sending a request on an idle connection that is being closed, or connect
 * because nobody has told it otherwise yet; HTTP/1.1 (RFC 9112, section 9.5) has it repeat the
 * request, which not all clients do for a POST. With linger_ms the server goes on serving for that
 * long, counted into the grace, and ends each connection by an answer that says so. A server that
 * nobody ever connected to does not linger.
 */
void ek_http_server_close(struct ek_http_server *server, int64_t grace_ms,
                          void (*on_closed)(void *ctx), void *ctx);

#endif
