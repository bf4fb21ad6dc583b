/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/pool.h"

#include <netinet/in.h>

#include "controller/http/server.h"

/* Every API server's certificate has it (kubeadm: cmd/kubeadm/app/util/pkiutil,
 * GetAPIServerAltNames). */
#define SERVER_NAME "kubernetes.default.svc"

#define SWEEP_MS 5000

struct ek_pool_conn {
    struct ek_pool *pool;
    struct ek_pool_conn *prev, *next; /* in idle or taken */
    struct ek_wire *wire;
    char *address, *host;
    struct ek_tls_trust *trust; /* of its handshake, a reference; NULL: plain TCP */
    bool ours, idle;
    int64_t idle_ms; /* since when */
};

struct ek_pool {
    uv_loop_t *loop;
    struct ek_proxy_board *board;
    const struct ek_egress *egress; /* NULL: none */
    uv_timer_t sweep;
    struct ek_pool_conn *idle;
    size_t n; /* not closed yet */
    bool closing, swept;
    void (*on_closed)(void *ctx);
    void *ctx;
};

static void end_if_empty(struct ek_pool *pool)
{
    if (!pool->closing || !pool->swept || pool->n > 0)
        return;
    void (*on_closed)(void *ctx) = pool->on_closed;
    void *ctx = pool->ctx;
    ek_free(pool);
    on_closed(ctx);
}

static void unlink_idle(struct ek_pool_conn *conn)
{
    if (!conn->idle)
        return;
    conn->idle = false;
    *(conn->prev ? &conn->prev->next : &conn->pool->idle) = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    conn->prev = conn->next = NULL;
}

/* ---- Connections of which nobody has the bytes ---- */

static void drop(struct ek_pool_conn *conn)
{
    unlink_idle(conn);
    ek_wire_close(conn->wire, false);
}

static void idle_ready(void *ctx)
{
    (void)ctx;
}

static bool idle_wants(void *ctx)
{
    (void)ctx;
    return true;
}

/* What comes without a request is the answer to nothing. */
static void idle_input(void *ctx, const char *data, size_t n)
{
    (void)data;
    (void)n;
    drop(ctx);
}

static void idle_eof(void *ctx)
{
    drop(ctx);
}

static void idle_lost(void *ctx, const char *why)
{
    (void)why;
    drop(ctx);
}

static struct ek_str idle_output(void *ctx)
{
    (void)ctx;
    return (struct ek_str){"", 0};
}

static void idle_sent(void *ctx, size_t n)
{
    (void)ctx;
    (void)n;
}

static bool idle_ends(void *ctx)
{
    (void)ctx;
    return false;
}

static void idle_closed(void *ctx)
{
    struct ek_pool_conn *conn = ctx;
    struct ek_pool *pool = conn->pool;

    ek_free(conn->address);
    ek_free(conn->host);
    ek_tls_trust_unref(conn->trust);
    ek_free(conn);
    pool->n--;
    end_if_empty(pool);
}

static const struct ek_wire_ops idle_ops = {.ready = idle_ready,
                                            .wants = idle_wants,
                                            .input = idle_input,
                                            .eof = idle_eof,
                                            .lost = idle_lost,
                                            .output = idle_output,
                                            .sent = idle_sent,
                                            .ends = idle_ends,
                                            .closed = idle_closed};

/* ---- The pool ---- */

static void on_sweep(uv_timer_t *timer)
{
    struct ek_pool *pool = timer->data;
    int64_t now_ms = (int64_t)uv_now(pool->loop);

    for (struct ek_pool_conn *conn = pool->idle, *next; conn; conn = next) {
        next = conn->next;
        if (now_ms - conn->idle_ms >= EK_POOL_IDLE_MS)
            drop(conn);
    }
}

struct ek_pool *ek_pool_new(uv_loop_t *loop, struct ek_proxy_board *board,
                            const struct ek_egress *egress)
{
    struct ek_pool *pool = ek_xalloc(sizeof *pool);

    pool->loop = loop;
    pool->board = board;
    pool->egress = egress;
    uv_timer_init(loop, &pool->sweep);
    pool->sweep.data = pool;
    uv_timer_start(&pool->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    return pool;
}

static void on_sweep_closed(uv_handle_t *handle)
{
    struct ek_pool *pool = handle->data;

    pool->swept = true;
    end_if_empty(pool);
}

void ek_pool_close(struct ek_pool *pool, void (*on_closed)(void *ctx), void *ctx)
{
    pool->closing = true;
    pool->on_closed = on_closed;
    pool->ctx = ctx;
    while (pool->idle)
        drop(pool->idle);
    uv_close((uv_handle_t *)&pool->sweep, on_sweep_closed);
}

/* Whether authorities and our certificate are those of its handshake: API servers judge the
 * certificate of a connection at each request. */
static bool is_current(const struct ek_pool_conn *conn)
{
    struct ek_proxy_trusts trusts = ek_proxy_board_trusts(conn->pool->board);
    bool current = conn->trust == (conn->ours ? trusts.ours : trusts.bare);

    ek_proxy_trusts_done(&trusts);
    return current;
}

static struct ek_pool_conn *take_idle(struct ek_pool *pool, const struct ek_pool_target *target)
{
    for (struct ek_pool_conn *conn = pool->idle; conn; conn = conn->next) {
        if (conn->ours != target->ours || strcmp(conn->address, target->address) != 0 ||
            strcmp(conn->host, target->host) != 0 || !ek_wire_is_ready(conn->wire) ||
            !is_current(conn))
            continue;
        unlink_idle(conn);
        return conn;
    }
    return NULL;
}

/* A session for the target, and a reference to what it trusts; false when there must be one and is
 * none. */
static bool make_session(struct ek_pool *pool, const struct ek_pool_target *target,
                         const struct sockaddr *addr, struct ek_tls_session **ret,
                         struct ek_tls_trust **ret_trust, const char **ret_why)
{
    struct ek_proxy_trusts trusts = ek_proxy_board_trusts(pool->board);
    bool plain = !trusts.bare && !trusts.ours;
    struct ek_tls_trust *trust = target->ours ? trusts.ours : trusts.bare;
    char ip[INET6_ADDRSTRLEN] = "";

    *ret = NULL;
    uv_ip_name(addr, ip, sizeof ip);
    if (trust)
        *ret = ek_tls_session_connect(trust, SERVER_NAME, ip, target->host);
    *ret_trust = *ret ? ek_tls_trust_ref(trust) : NULL;
    ek_proxy_trusts_done(&trusts);
    *ret_why = trust ? "no memory for a TLS session" : "no certificate to show";
    return plain || *ret;
}

static struct ek_wire *dial_wire(struct ek_pool *pool, const char *address,
                                 const struct sockaddr *addr, struct ek_tls_session *tls,
                                 const struct ek_wire_ops *ops, void *ctx)
{
    const struct ek_egress *egress = pool->egress;

    if (!egress)
        return ek_wire_dial(pool->loop, addr, tls, ops, ctx);
    return ek_wire_dial_tunnel(pool->loop, (const struct sockaddr *)&egress->addr,
                               ek_tunnel_new(address), tls, ops, ctx);
}

static struct ek_pool_conn *dial(struct ek_pool *pool, const struct ek_pool_target *target,
                                 const struct ek_wire_ops *ops, void *ctx, const char **ret_why)
{
    struct sockaddr_storage addr;
    struct ek_tls_session *tls;
    struct ek_tls_trust *trust;
    struct ek_err err;

    if (ek_http_address_parse(target->address, &addr, &err)) {
        *ret_why = "not an address";
        return NULL;
    }
    if (!make_session(pool, target, (const struct sockaddr *)&addr, &tls, &trust, ret_why))
        return NULL;
    struct ek_wire *wire =
        dial_wire(pool, target->address, (const struct sockaddr *)&addr, tls, ops, ctx);
    if (!wire) {
        ek_tls_trust_unref(trust);
        *ret_why = "cannot connect";
        return NULL;
    }
    struct ek_pool_conn *conn = ek_xalloc(sizeof *conn);
    conn->pool = pool;
    conn->wire = wire;
    conn->trust = trust;
    conn->address = ek_xstrdup(target->address);
    conn->host = ek_xstrdup(target->host);
    conn->ours = target->ours;
    pool->n++;
    return conn;
}

struct ek_pool_conn *ek_pool_take(struct ek_pool *pool, const struct ek_pool_target *target,
                                  const struct ek_wire_ops *ops, void *ctx, bool *ret_ready,
                                  const char **ret_why)
{
    struct ek_pool_conn *conn = target->fresh ? NULL : take_idle(pool, target);

    *ret_ready = conn != NULL;
    if (!conn)
        return dial(pool, target, ops, ctx, ret_why);
    ek_wire_give(conn->wire, ops, ctx);
    return conn;
}

struct ek_wire *ek_pool_wire(const struct ek_pool_conn *conn)
{
    return conn->wire;
}

static size_t count_idle(const struct ek_pool *pool, const struct ek_pool_conn *like)
{
    size_t n = 0;

    for (const struct ek_pool_conn *conn = pool->idle; conn; conn = conn->next)
        n += conn->ours == like->ours && !strcmp(conn->address, like->address);
    return n;
}

void ek_pool_give(struct ek_pool_conn *conn, bool reusable)
{
    struct ek_pool *pool = conn->pool;

    ek_wire_give(conn->wire, &idle_ops, conn);
    if (!reusable || pool->closing || !ek_wire_is_ready(conn->wire) ||
        ek_wire_is_sending(conn->wire) || !is_current(conn) ||
        count_idle(pool, conn) >= EK_POOL_IDLE_MAX) {
        ek_wire_close(conn->wire, false);
        return;
    }
    conn->idle = true;
    conn->idle_ms = (int64_t)uv_now(pool->loop);
    conn->prev = NULL;
    conn->next = pool->idle;
    if (pool->idle)
        pool->idle->prev = conn;
    pool->idle = conn;
    ek_wire_go_on(conn->wire);
}

size_t ek_pool_size(const struct ek_pool *pool)
{
    return pool->n;
}
