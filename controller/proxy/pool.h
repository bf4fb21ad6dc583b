/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to API servers, of one loop: idle ones are kept for a while, new ones are dialled. A
 * connection belongs to one request at a time. Connections with a certificate of ours and those
 * without one are kept apart: a token never travels on a connection that could run it as somebody
 * else. A connection whose authorities or certificate have been replaced is not kept.
 *
 * An API server proves kubernetes.default.svc by the cluster's authority, and the dialled address
 * or its hostname. Threading: the loop's thread.
 */
#ifndef CONTROLLER_PROXY_POOL_H
#define CONTROLLER_PROXY_POOL_H

#include "controller/proxy/board.h"
#include "controller/proxy/wire.h"

/* An idle connection is closed after that; API servers close theirs later (net/http:Server of Go
 * without IdleTimeout: never; kubelets' and most balancers': after a minute or more). */
#define EK_POOL_IDLE_MS ((int64_t)30000)

/* Idle connections that are kept for one API server and kind. */
#define EK_POOL_IDLE_MAX 32

struct ek_pool;
struct ek_pool_conn;

/* egress (borrowed): all connections go by it; NULL: to the API servers directly. */
struct ek_pool *ek_pool_new(uv_loop_t *loop, struct ek_proxy_board *board,
                            const struct ek_egress *egress);

/* Closes what is idle; connections that are taken must have been given back. on_closed is called
 * from the loop. */
void ek_pool_close(struct ek_pool *pool, void (*on_closed)(void *ctx), void *ctx);

struct ek_pool_target {
    const char *address; /* "ip:port" */
    const char *host;    /* the name that its certificate may have in place of the IP */
    bool ours;           /* show our certificate */
    bool fresh;          /* dial, for an upgrade */
};

/* Takes or opens a connection for a request. ops gets the bytes of the connection from now on;
 * ops->ready is called later, unless *ret_ready is set. ops->closed is never called. Returns NULL,
 * with the reason for the log in *ret_why, when no connection can be made. */
struct ek_pool_conn *ek_pool_take(struct ek_pool *pool, const struct ek_pool_target *target,
                                  const struct ek_wire_ops *ops, void *ctx, bool *ret_ready,
                                  const char **ret_why);

struct ek_wire *ek_pool_wire(const struct ek_pool_conn *conn);

/* The request is over. reusable: the connection is at the start of a request again. */
void ek_pool_give(struct ek_pool_conn *conn, bool reusable);

/* Connections that exist, taken or idle. */
size_t ek_pool_size(const struct ek_pool *pool);

#endif
