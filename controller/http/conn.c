/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/conn.h"

#include <stdio.h>

#include "api/base/err.h"
#include "controller/http/conn-internal.h"

/* Input that may wait while a handler works; reads come in pieces of at most the second number. */
#define INPUT_ENOUGH ((size_t)16 * 1024)
#define INPUT_MAX    (INPUT_ENOUGH + (size_t)1024 * 1024)

#define OUTPUT_MAX ((size_t)256 * 1024 * 1024)

void ek_http_limits_default(struct ek_http_limits *limits)
{
    static const struct ek_http_limits defaults = {
        .max_head = (size_t)64 * 1024,
        .max_body = (size_t)1024 * 1024,
        .handshake_timeout_ms = 10000,
        .head_timeout_ms = 10000,
        .body_timeout_ms = 30000,
        .reply_timeout_ms = 60000,
        .idle_timeout_ms = 90000,
        .write_timeout_ms = 10000,
        .rate_grace_ms = 5000,
        .min_rate = (size_t)64 * 1024,
    };

#define SET(member) limits->member = limits->member ? limits->member : defaults.member
    SET(max_head);
    SET(max_body);
    SET(handshake_timeout_ms);
    SET(head_timeout_ms);
    SET(body_timeout_ms);
    SET(reply_timeout_ms);
    SET(idle_timeout_ms);
    SET(write_timeout_ms);
    SET(rate_grace_ms);
    SET(min_rate);
#undef SET
}

/* The only place where the state changes; sets the deadline that goes with it. */
static void transition(struct ek_http_conn *conn, enum ek_http_conn_state state)
{
    const struct ek_http_limits *limits = &conn->config->limits;
    const int64_t timeouts[EK_HTTP_CONN_STATE_MAX] = {
        [EK_HTTP_CONN_HANDSHAKE] = limits->handshake_timeout_ms,
        [EK_HTTP_CONN_IDLE] = limits->idle_timeout_ms,
        [EK_HTTP_CONN_HEAD] = limits->head_timeout_ms,
        [EK_HTTP_CONN_BODY] = limits->body_timeout_ms,
        [EK_HTTP_CONN_HANDLER] = limits->reply_timeout_ms,
    };

    if (state == EK_HTTP_CONN_BODY)
        conn->body_ms = conn->now_ms;
    else
        conn->since_ms = conn->now_ms;
    conn->state = state;
    conn->deadline_ms = timeouts[state] ? conn->now_ms + timeouts[state] : INT64_MAX;
}

/* A connection has the head's time for the first byte of its first request. */
static void await_first(struct ek_http_conn *conn)
{
    transition(conn, EK_HTTP_CONN_IDLE);
    conn->deadline_ms = conn->now_ms + conn->config->limits.head_timeout_ms;
}

struct ek_http_conn *ek_http_conn_new(const struct ek_http_conn_config *config, const char *remote,
                                      void (*wake)(void *ctx), void *ctx, int64_t now_ms)
{
    struct ek_http_conn *conn = ek_xalloc(sizeof *conn);

    conn->config = config;
    conn->remote = ek_xstrdup(remote);
    conn->wake = wake;
    conn->ctx = ctx;
    conn->now_ms = now_ms;
    ek_buf_init(&conn->input, INPUT_MAX);
    ek_buf_init(&conn->output, OUTPUT_MAX);
    if (config->handshake)
        transition(conn, EK_HTTP_CONN_HANDSHAKE);
    else
        await_first(conn);
    if (!ek_http_settle__(conn)) {
        conn->fault = EK_HTTP_FAULT_MEMORY;
        transition(conn, EK_HTTP_CONN_CLOSED);
    }
    return conn;
}

/* Releases the current request: the holder of its reply owns the request from now on. */
static void abandon(struct ek_http_conn *conn)
{
    struct ek_http_reply *reply = conn->reply;

    conn->reply = NULL;
    if (!reply)
        return;
    if (conn->state != EK_HTTP_CONN_HANDLER || conn->held) {
        conn->held = false;
        ek_http_reply_free__(reply);
        return;
    }
    ek_http_part__(conn, reply);
    reply->conn = NULL;
    reply->request.remote = "";
    atomic_store_explicit(&reply->orphan, true, memory_order_relaxed);
}

/* Ends it at once, with all that it holds. */
static void drop(struct ek_http_conn *conn)
{
    abandon(conn);
    ek_buf_done(&conn->input);
    ek_buf_done(&conn->output);
    conn->n_sent = 0;
    transition(conn, EK_HTTP_CONN_CLOSED);
    ek_http_settle__(conn);
}

void ek_http_conn_free(struct ek_http_conn *conn)
{
    if (!conn)
        return;
    abandon(conn);
    ek_http_budget_give(conn->config->budget, conn->charged);
    ek_buf_done(&conn->input);
    ek_buf_done(&conn->output);
    ek_free(conn->remote);
    ek_free(conn);
}

/* When a transfer that began at start_ms and has come to n bytes falls below the minimum rate. */
static int64_t rate_due(const struct ek_http_conn *conn, int64_t start_ms, size_t n)
{
    const struct ek_http_limits *limits = &conn->config->limits;

    if (!limits->min_rate)
        return INT64_MAX;
    return start_ms + limits->rate_grace_ms + (int64_t)(n * 1000 / limits->min_rate);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t pending(const struct ek_http_conn *conn)
{
    return conn->output.len - conn->n_sent;
}

/* The client has from now on to read what is to be sent. */
static void start_writing(struct ek_http_conn *conn)
{
    if (pending(conn) == 0 || conn->write_deadline_ms != 0)
        return;
    if (conn->n_sent == 0)
        conn->write_ms = conn->now_ms;
    conn->write_deadline_ms = conn->now_ms + conn->config->limits.write_timeout_ms;
}

/* A call begins, at a time that is not that of the call before: a handler may have answered since.
 * The times after its reply begin now. */
static void enter(struct ek_http_conn *conn, int64_t now_ms)
{
    conn->now_ms = now_ms;
    if (conn->deadline_ms == 0)
        transition(conn, conn->state);
    start_writing(conn);
}

/* Until when the client has to have read more. */
static int64_t write_due(const struct ek_http_conn *conn)
{
    return pending(conn) == 0
               ? INT64_MAX
               : earlier(conn->write_deadline_ms, rate_due(conn, conn->write_ms, conn->n_sent));
}

/* Until when the client has to have sent more, or the handler has to answer. */
static int64_t state_due(const struct ek_http_conn *conn)
{
    return conn->state != EK_HTTP_CONN_BODY
               ? conn->deadline_ms
               : earlier(conn->deadline_ms, rate_due(conn, conn->body_ms, conn->reply->body_size));
}

/* Refuses the request under way and ends the connection once that is sent. */
static void refuse(struct ek_http_conn *conn, int status)
{
    ek_http_put_error__(conn, status);
    abandon(conn);
    ek_buf_done(&conn->input);
    transition(conn, conn->output.failed ? EK_HTTP_CONN_CLOSED : EK_HTTP_CONN_CLOSING);
    start_writing(conn);
}

/* After the reply to the request under way: the next one, or the end. Nobody knows how long the
 * handler took: the next call has the client's times begin. */
static void finish(struct ek_http_conn *conn, bool keep_alive)
{
    conn->reply = NULL;
    conn->served = true;
    transition(conn, keep_alive ? EK_HTTP_CONN_IDLE : EK_HTTP_CONN_CLOSING);
    conn->deadline_ms = 0;
}

void ek_http_replied__(struct ek_http_conn *conn)
{
    finish(conn, conn->reply->keep_alive);
    ek_http_settle__(conn);
    if (conn->wake)
        conn->wake(conn->ctx);
}

static void call_handler(struct ek_http_reply *reply)
{
    char allow[128];

    if (!reply->route) {
        ek_http_reply_text(reply, 404, "404 page not found");
    } else if (!ek_http_route_allows(reply->route, reply->method)) {
        snprintf(allow, sizeof allow, "%s", reply->route->methods);
        for (char *p = strchr(allow, ' '); p; p = strchr(p, ' '))
            *p = ',';
        ek_http_reply_header(reply, "Allow", allow);
        ek_http_reply_text(reply, 405, "Method Not Allowed");
    } else {
        reply->route->handler(reply->route->ctx, &reply->request, reply);
    }
}

/* Hands a complete request over; afterwards it is answered, or the handler answers later. */
static void dispatch(struct ek_http_conn *conn)
{
    struct ek_http_reply *reply = conn->reply;

    conn->held = false;
    if (reply->body.len > 0)
        reply->request.body = (struct ek_str){reply->body.data, reply->body.len};
    reply->in_handler = true;
    call_handler(reply);
    reply->in_handler = false;
    if (!reply->sent)
        return;
    finish(conn, reply->keep_alive);
    ek_http_reply_free__(reply);
}

/* A complete request is handed over at once, but for costly ones. */
static void complete(struct ek_http_conn *conn)
{
    size_t costly = conn->config->costly_bytes;

    transition(conn, EK_HTTP_CONN_HANDLER);
    conn->held = costly && conn->reply->body.len >= costly;
    if (!conn->held)
        dispatch(conn);
}

/* No request is begun while the client has not taken the reply before. */
static bool may_parse(const struct ek_http_conn *conn)
{
    switch (conn->state) {
    case EK_HTTP_CONN_IDLE:
        return pending(conn) == 0;
    case EK_HTTP_CONN_HEAD:
    case EK_HTTP_CONN_BODY:
        return true;
    case EK_HTTP_CONN_HANDSHAKE:
    case EK_HTTP_CONN_HANDLER:
    case EK_HTTP_CONN_CLOSING:
    case EK_HTTP_CONN_CLOSED:
    case EK_HTTP_CONN_STATE_MAX:
        break;
    }
    return false;
}

/* Parses as much as the state allows; returns how many bytes were used. */
static size_t parse(struct ek_http_conn *conn, const char *data, size_t len)
{
    size_t used = 0;

    while (used < len && may_parse(conn)) {
        bool done = false;
        if (conn->state == EK_HTTP_CONN_IDLE) {
            ek_http_parse_begin__(conn);
            conn->reply->request.began_ms = conn->came_ms ? conn->came_ms : conn->now_ms;
            transition(conn, EK_HTTP_CONN_HEAD);
        }
        used += ek_http_parse__(conn, data + used, len - used, &done);
        if (conn->reject)
            refuse(conn, conn->reject);
        else if (done)
            complete(conn);
        else if (conn->state == EK_HTTP_CONN_HEAD && conn->in_body)
            transition(conn, EK_HTTP_CONN_BODY);
        if (conn->deadline_ms != 0)
            start_writing(conn); /* perhaps "100 Continue" */
    }
    return used;
}

/* After a call: what is held is taken from the budget, or the connection does without. */
static void settle(struct ek_http_conn *conn)
{
    if (!ek_http_settle__(conn) && conn->state != EK_HTTP_CONN_HANDLER &&
        conn->state < EK_HTTP_CONN_CLOSING)
        ek_http_conn_shed(conn, conn->now_ms);
}

void ek_http_conn_shaken(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    if (conn->state == EK_HTTP_CONN_HANDSHAKE)
        await_first(conn);
}

void ek_http_conn_came(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms)
{
    enter(conn, now_ms);
    conn->came_ms = now_ms;
    if (len == 0 || conn->state >= EK_HTTP_CONN_CLOSING || conn->eof)
        return;
    if (ek_buf_append(&conn->input, data, len))
        transition(conn, EK_HTTP_CONN_CLOSED); /* the owner did not respect wants_input */
    settle(conn);
}

void ek_http_conn_input(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms)
{
    enter(conn, now_ms);
    if (conn->state >= EK_HTTP_CONN_CLOSING || conn->eof)
        return;
    size_t used = conn->input.len == 0 ? parse(conn, data, len) : 0;
    if (conn->state < EK_HTTP_CONN_CLOSING && used < len &&
        ek_buf_append(&conn->input, data + used, len - used))
        transition(conn, EK_HTTP_CONN_CLOSED); /* the owner did not respect wants_input */
    settle(conn);
}

/* After everything that came has been parsed: is it the end? */
static void check_end(struct ek_http_conn *conn)
{
    if (conn->state == EK_HTTP_CONN_HANDSHAKE && (conn->eof || conn->draining))
        transition(conn, EK_HTTP_CONN_CLOSED);
    if (conn->state == EK_HTTP_CONN_IDLE && conn->input.len == 0 && (conn->eof || conn->draining))
        transition(conn, pending(conn) ? EK_HTTP_CONN_CLOSING : EK_HTTP_CONN_CLOSED);
    if (conn->eof && conn->input.len == 0 &&
        (conn->state == EK_HTTP_CONN_HEAD || conn->state == EK_HTTP_CONN_BODY)) {
        abandon(conn);
        transition(conn, EK_HTTP_CONN_CLOSED);
    }
}

enum ek_http_work ek_http_conn_work(const struct ek_http_conn *conn)
{
    if (conn->held)
        return EK_HTTP_WORK_COSTLY;
    if (conn->input.len == 0)
        return EK_HTTP_WORK_NONE;
    return may_parse(conn) ? EK_HTTP_WORK_CHEAP : EK_HTTP_WORK_LATER;
}

bool ek_http_conn_vouched(struct ek_http_conn *conn)
{
    bool vouched = conn->vouched;

    conn->vouched = false;
    return vouched;
}

void ek_http_conn_run(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    if (conn->held) {
        dispatch(conn);
    } else if (conn->input.len > 0 && may_parse(conn)) {
        /* Handlers may not add input, so data stays in place while it is parsed. */
        size_t used = parse(conn, conn->input.data, conn->input.len);
        ek_buf_consume(&conn->input, used);
        if (conn->input.len == 0)
            ek_buf_done(&conn->input);
    }
    check_end(conn);
    settle(conn);
}

void ek_http_conn_eof(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    conn->eof = true;
    check_end(conn);
    settle(conn);
}

void ek_http_conn_drain(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    conn->draining = true;
    check_end(conn);
    settle(conn);
}

void ek_http_conn_last(struct ek_http_conn *conn)
{
    conn->last = true;
}

void ek_http_conn_timeout(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    if (now_ms >= write_due(conn)) {
        conn->fault = EK_HTTP_FAULT_READER;
        drop(conn);
        return;
    }
    if (now_ms < state_due(conn))
        return;
    switch (conn->state) {
    case EK_HTTP_CONN_HANDSHAKE:
        conn->fault = EK_HTTP_FAULT_HANDSHAKE;
        drop(conn);
        break;
    case EK_HTTP_CONN_IDLE:
        transition(conn, pending(conn) ? EK_HTTP_CONN_CLOSING : EK_HTTP_CONN_CLOSED);
        break;
    case EK_HTTP_CONN_HEAD:
    case EK_HTTP_CONN_BODY:
        conn->fault = conn->state == EK_HTTP_CONN_HEAD ? EK_HTTP_FAULT_HEAD : EK_HTTP_FAULT_BODY;
        refuse(conn, 408);
        break;
    case EK_HTTP_CONN_HANDLER:
        refuse(conn, 503);
        break;
    case EK_HTTP_CONN_CLOSING:
    case EK_HTTP_CONN_CLOSED:
    case EK_HTTP_CONN_STATE_MAX:
        break;
    }
    settle(conn);
}

void ek_http_conn_excuse(struct ek_http_conn *conn, int64_t ms)
{
    if (conn->deadline_ms != 0 && conn->deadline_ms != INT64_MAX)
        conn->deadline_ms += ms;
    if (conn->write_deadline_ms != 0)
        conn->write_deadline_ms += ms;
    conn->write_ms += ms;
    conn->body_ms += ms;
}

void ek_http_conn_shed(struct ek_http_conn *conn, int64_t now_ms)
{
    enter(conn, now_ms);
    conn->fault = EK_HTTP_FAULT_MEMORY;
    if (conn->state != EK_HTTP_CONN_HEAD && conn->state != EK_HTTP_CONN_BODY) {
        drop(conn);
        return;
    }
    refuse(conn, 503);
    ek_http_settle__(conn);
}

struct ek_str ek_http_conn_output(const struct ek_http_conn *conn)
{
    if (pending(conn) == 0)
        return (struct ek_str){"", 0};
    return (struct ek_str){conn->output.data + conn->n_sent, pending(conn)};
}

void ek_http_conn_sent(struct ek_http_conn *conn, size_t n, int64_t now_ms)
{
    enter(conn, now_ms);
    conn->n_sent += n < pending(conn) ? n : pending(conn);
    conn->write_deadline_ms = 0;
    start_writing(conn);
    if (pending(conn) > 0)
        return;
    ek_buf_done(&conn->output); /* a large answer's memory is not kept */
    conn->n_sent = 0;
    settle(conn);
}

enum ek_http_conn_state ek_http_conn_state(const struct ek_http_conn *conn)
{
    return conn->state;
}

int64_t ek_http_conn_deadline(const struct ek_http_conn *conn)
{
    if (conn->deadline_ms == 0 || (pending(conn) > 0 && conn->write_deadline_ms == 0))
        return conn->now_ms; /* a time has to begin */
    return earlier(write_due(conn), state_due(conn));
}

enum ek_http_fault ek_http_conn_fault(const struct ek_http_conn *conn)
{
    return conn->fault;
}

bool ek_http_conn_wants_input(const struct ek_http_conn *conn)
{
    return conn->state < EK_HTTP_CONN_CLOSING && !conn->eof && conn->input.len < INPUT_ENOUGH;
}
