/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection holds, and the budget that it takes it from. */
#include "controller/http/conn-internal.h"

/* The bytes that a reply holds. */
static size_t reply_bytes(const struct ek_http_reply *reply)
{
    return sizeof *reply + reply->head.cap + reply->body.cap + reply->extra.cap;
}

size_t ek_http_sending__(size_t pending)
{
    return pending < EK_HTTP_PIECE ? pending : EK_HTTP_PIECE;
}

/* What the connection has no say in. */
static size_t fixed(const struct ek_http_conn *conn)
{
    return sizeof *conn + conn->config->base_bytes;
}

static size_t footprint(const struct ek_http_conn *conn)
{
    size_t pending = conn->output.len - conn->n_sent;

    return fixed(conn) + conn->outside + conn->input.cap + conn->output.cap +
           ek_http_sending__(pending) + (conn->reply ? reply_bytes(conn->reply) : 0);
}

/* Takes n bytes, from others if need be. */
static bool take(struct ek_http_conn *conn, size_t n)
{
    const struct ek_http_conn_config *config = conn->config;
    size_t held = conn->charged + n;

    while (!ek_http_budget_take(config->budget, n, held)) {
        if (!ek_http_budget_could(config->budget, n, held) || !config->make_room ||
            !config->make_room(conn->ctx, n, held))
            return false;
    }
    return true;
}

bool ek_http_room__(struct ek_http_conn *conn, size_t n)
{
    if (!take(conn, n))
        return false;
    conn->charged += n;
    return true;
}

bool ek_http_expect__(struct ek_http_conn *conn, size_t n)
{
    if (!take(conn, n))
        return false;
    ek_http_budget_give(conn->config->budget, n); /* taken again as it comes */
    return true;
}

bool ek_http_settle__(struct ek_http_conn *conn)
{
    size_t now = footprint(conn);
    bool fits = true;

    if (now < conn->charged) {
        ek_http_budget_give(conn->config->budget, conn->charged - now);
    } else if (now > conn->charged) {
        fits = take(conn, now - conn->charged);
        if (!fits)
            ek_http_budget_force(conn->config->budget, now - conn->charged);
    }
    conn->charged = now;
    return fits;
}

void ek_http_part__(struct ek_http_conn *conn, struct ek_http_reply *reply)
{
    size_t n = reply_bytes(reply);

    /* The connection has taken them already, but for what came since its last update. */
    if (n > conn->charged) {
        ek_http_budget_force(conn->config->budget, n - conn->charged);
        conn->charged = n;
    }
    conn->charged -= n;
    reply->budget = conn->config->budget;
    reply->charged = n;
}

void ek_http_conn_hold(struct ek_http_conn *conn, size_t n)
{
    if (conn->outside == n)
        return;
    conn->outside = n;
    bool fits = ek_http_settle__(conn); /* what does not fit exists already, and is bounded */
    if (!fits && (conn->state == EK_HTTP_CONN_HEAD || conn->state == EK_HTTP_CONN_BODY))
        ek_http_conn_shed(conn, conn->now_ms);
}

void ek_http_conn_candidate(const struct ek_http_conn *conn, struct ek_http_candidate *ret)
{
    /* Once it is closing, the owner is about to free what it holds: shedding frees no more of that.
     */
    size_t kept = conn->state >= EK_HTTP_CONN_CLOSING ? conn->outside : 0;
    size_t bytes = footprint(conn) - fixed(conn) - kept;
    bool sending = conn->output.len > conn->n_sent;

    *ret = (struct ek_http_candidate){
        .bytes = bytes, .since_ms = conn->since_ms, .served = conn->served};
    if (conn->state == EK_HTTP_CONN_HANDLER) {
        ret->progress = EK_HTTP_BUSY;
    } else if (sending) {
        ret->progress = EK_HTTP_OWED;
        ret->since_ms = conn->write_deadline_ms ? conn->write_ms : INT64_MAX; /* not even sent */
    } else if (conn->state >= EK_HTTP_CONN_CLOSING) {
        ret->progress = EK_HTTP_ENDING;
    } else if (conn->state == EK_HTTP_CONN_IDLE && conn->served) {
        ret->progress = EK_HTTP_IDLE;
    } else {
        ret->progress = EK_HTTP_OWED;
    }
}

const char *ek_http_fault_name(enum ek_http_fault fault)
{
    static const char *const names[EK_HTTP_FAULT_MAX] = {
#define X(name, text) text,
        EK_HTTP_FAULTS(X)
#undef X
    };
    return fault < EK_HTTP_FAULT_MAX ? names[fault] : "";
}
