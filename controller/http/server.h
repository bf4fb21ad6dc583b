/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP or HTTPS listener on a uv loop: sockets and timers around the engines of conn.h and
 * tls.h. One object per listener; handlers and routes are those of handler.h.
 *
 *     new -> start -> ... -> close (stops accepting, lets requests finish, frees)
 *
 * Bind addresses are those of controller-runtime's flags: ":8080" (all addresses, IPv6 and IPv4),
 * "127.0.0.1:0" (a free port), "[::1]:8081", "localhost:8080"; "0" means no listener at all.
 *
 * A server is full at max_connections, or when the budget of its meter is used up: then a
 * connection makes room as controller/http/evict.h says; if all have requests under way, the new
 * one is closed. A request whose bytes do not fit is answered by 503 with Retry-After. One source
 * that has more than half of all places may have more than three quarters of them only in place of
 * its own.
 *
 * Clients take turns, source by source (controller/http/turns.h): what one client sends, however
 * much it is, delays another by a bounded amount of work.
 *
 * Ownership: the server owns its connections; config, routes, identity, meter and log are borrowed,
 * the meter until the last reply has been sent, too.
 * Threading: the loop's thread. With reuse_port several loops may listen on one port.
 */
#ifndef CONTROLLER_HTTP_SERVER_H
#define CONTROLLER_HTTP_SERVER_H

#include <uv.h>

#include "api/base/err.h"
#include "controller/http/handler.h"
#include "controller/http/meter.h"
#include "controller/http/tls.h"
#include "controller/telemetry/log.h"

/* A request whose body has at least this many octets is costly: requests with smaller bodies go
 * first. */
#define EK_HTTP_COSTLY_BYTES ((size_t)64 * 1024)

struct ek_http_server;

struct ek_http_server_config {
    const char *name;         /* for logs, "metrics" */
    const char *bind_address; /* see above; copied */
    const struct ek_http_route *routes;
    size_t n_routes;
    struct ek_http_limits limits;     /* zeros mean defaults */
    size_t max_connections;           /* 0 means 256 */
    struct ek_http_meter *meter;      /* counts, and has the budget; NULL: one without a limit */
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

/* Reads a bind address; EK_E_INVAL with a message that names it and shows what is allowed. Pure. */
int ek_http_address_parse(const char *address, struct sockaddr_storage *ret_addr,
                          struct ek_err *err);

/* Check of a flag (controller/cli/flags.h) whose value is a bind address or means "no listener".
 * Returns 0, or EK_E_INVAL with the message of ek_http_address_parse. Pure; any thread. */
int ek_http_address_check(const char *address, struct ek_err *err);

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

/* Hands no costly request to its handler from now on, or does so again: for a handler that has
 * another thread work on one at a time. Requests that wait keep their connections. */
void ek_http_server_pause_costly(struct ek_http_server *server, bool paused);

/*
 * Stops accepting, closes idle connections, lets the rest finish for at most grace_ms (0: not at
 * all), then frees the server and calls on_closed (may be NULL) from the loop. NULL server: only
 * calls on_closed, at once.
 *
 * A client may just be sending a request on an idle connection that is being closed, or connect
 * because the server has not announced the close yet; HTTP/1.1 (RFC 9112, section 9.5) has it
 * repeat the request, which not all clients do for a POST. With linger_ms the server goes on
 * serving for that long, counted into the grace, and ends each connection by an answer that says
 * so. A server that never had a connection does not linger.
 */
void ek_http_server_close(struct ek_http_server *server, int64_t grace_ms,
                          void (*on_closed)(void *ctx), void *ctx);

#endif
