/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http_conn.h"

#include <stdio.h>

#include "api/err.h"
#include "controller/http_conn-internal.h"

/* Input that may wait while a handler works; reads come in pieces of at most the second number. */
#define INPUT_ENOUGH ((size_t)16 * 1024)
#define INPUT_MAX    (INPUT_ENOUGH + (size_t)1024 * 1024)

/* No further request is begun while more than this is to be sent. */
#define OUTPUT_ENOUGH ((size_t)64 * 1024)
#define OUTPUT_MAX    ((size_t)256 * 1024 * 1024)

void ek_http_limits_default(struct ek_http_limits *limits)
{
    static const struct ek_http_limits defaults = {
        .max_head = (size_t)64 * 1024,
        .max_body = (size_t)1024 * 1024,
        .head_timeout_ms = 32000,
        .body_timeout_ms = 30000,
        .reply_timeout_ms = 60000,
        .idle_timeout_ms = 90000,
        .write_timeout_ms = 30000,
    };

#define SET(member) limits->member = limits->member ? limits->member : defaults.member
    SET(max_head);
    SET(max_body);
    SET(head_timeout_ms);
    SET(body_timeout_ms);
    SET(reply_timeout_ms);
    SET(idle_timeout_ms);
    SET(write_timeout_ms);
#undef SET
}

/* The only place where the state changes; sets the deadline that goes with it. */
static void transition(struct ek_http_conn *conn, enum ek_http_conn_state state)
{
    const struct ek_http_limits *limits = &conn->config->limits;
    const int64_t timeouts[EK_HTTP_CONN_STATE_MAX] = {
        [EK_HTTP_CONN_IDLE] = limits->idle_timeout_ms,
        [EK_HTTP_CONN_HEAD] = limits->head_timeout_ms,
        [EK_HTTP_CONN_BODY] = limits->body_timeout_ms,
        [EK_HTTP_CONN_HANDLER] = limits->reply_timeout_ms,
    };

    conn->state = state;
    conn->deadline_ms = timeouts[state] ? conn->now_ms + timeouts[state] : INT64_MAX;
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
    transition(conn, EK_HTTP_CONN_IDLE);
    /* Who has just connected (and may be shaking hands) has the head's time for the first byte. */
    conn->deadline_ms = now_ms + config->limits.head_timeout_ms;
    return conn;
}

/* Lets go of the request under way: whoever still has its reply owns it from now on. */
static void abandon(struct ek_http_conn *conn)
{
    struct ek_http_reply *reply = conn->reply;

    conn->reply = NULL;
    if (!reply)
        return;
    if (conn->state != EK_HTTP_CONN_HANDLER) {
        ek_http_reply_free__(reply);
        return;
    }
    reply->conn = NULL;
    reply->request.remote = "";
}

void ek_http_conn_free(struct ek_http_conn *conn)
{
    if (!conn)
        return;
    abandon(conn);
    ek_buf_done(&conn->input);
    ek_buf_done(&conn->output);
    ek_free(conn->remote);
    ek_free(conn);
}

static size_t pending(const struct ek_http_conn *conn)
{
    return conn->output.len - conn->n_sent;
}

/* Takes note of output that has just been appended. */
static void start_writing(struct ek_http_conn *conn)
{
    if (pending(conn) > 0 && conn->write_deadline_ms == 0)
        conn->write_deadline_ms = conn->now_ms + conn->config->limits.write_timeout_ms;
}

/* Refuses the request under way and ends the connection once that is sent. */
static void refuse(struct ek_http_conn *conn, int status)
{
    ek_http_put_error__(conn, status);
    abandon(conn);
    ek_buf_reset(&conn->input);
    transition(conn, conn->output.failed ? EK_HTTP_CONN_CLOSED : EK_HTTP_CONN_CLOSING);
    start_writing(conn);
}

/* After the reply to the request under way: the next one, or the end. */
static void finish(struct ek_http_conn *conn, bool keep_alive)
{
    conn->reply = NULL;
    transition(conn, keep_alive ? EK_HTTP_CONN_IDLE : EK_HTTP_CONN_CLOSING);
    start_writing(conn);
}

void ek_http_replied__(struct ek_http_conn *conn)
{
    finish(conn, conn->reply->keep_alive);
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

    transition(conn, EK_HTTP_CONN_HANDLER);
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

static bool may_parse(const struct ek_http_conn *conn)
{
    switch (conn->state) {
    case EK_HTTP_CONN_IDLE:
        return pending(conn) <= OUTPUT_ENOUGH;
    case EK_HTTP_CONN_HEAD:
    case EK_HTTP_CONN_BODY:
        return true;
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
            transition(conn, EK_HTTP_CONN_HEAD);
        }
        used += ek_http_parse__(conn, data + used, len - used, &done);
        if (conn->reject)
            refuse(conn, conn->reject);
        else if (done)
            dispatch(conn);
        else if (conn->state == EK_HTTP_CONN_HEAD && conn->in_body)
            transition(conn, EK_HTTP_CONN_BODY);
        start_writing(conn); /* perhaps "100 Continue" */
    }
    return used;
}

void ek_http_conn_input(struct ek_http_conn *conn, const char *data, size_t len, int64_t now_ms)
{
    conn->now_ms = now_ms;
    if (conn->state >= EK_HTTP_CONN_CLOSING || conn->eof)
        return;
    size_t used = conn->input.len == 0 ? parse(conn, data, len) : 0;
    if (conn->state >= EK_HTTP_CONN_CLOSING)
        return;
    if (ek_buf_append(&conn->input, data + used, len - used))
        transition(conn, EK_HTTP_CONN_CLOSED); /* the owner did not respect wants_input */
}

/* After everything that came has been parsed: is it the end? */
static void check_end(struct ek_http_conn *conn)
{
    if (conn->state == EK_HTTP_CONN_IDLE && conn->input.len == 0 && (conn->eof || conn->draining))
        transition(conn, pending(conn) ? EK_HTTP_CONN_CLOSING : EK_HTTP_CONN_CLOSED);
    if (conn->eof && conn->input.len == 0 &&
        (conn->state == EK_HTTP_CONN_HEAD || conn->state == EK_HTTP_CONN_BODY)) {
        abandon(conn);
        transition(conn, EK_HTTP_CONN_CLOSED);
    }
}

void ek_http_conn_run(struct ek_http_conn *conn, int64_t now_ms)
{
    conn->now_ms = now_ms;
    if (conn->input.len > 0 && may_parse(conn)) {
        /* Handlers may not add input, so data stays in place while it is parsed. */
        size_t used = parse(conn, conn->input.data, conn->input.len);
        ek_buf_consume(&conn->input, used);
    }
    check_end(conn);
}

void ek_http_conn_eof(struct ek_http_conn *conn, int64_t now_ms)
{
    conn->eof = true;
    ek_http_conn_run(conn, now_ms);
}

void ek_http_conn_drain(struct ek_http_conn *conn, int64_t now_ms)
{
    conn->draining = true;
    ek_http_conn_run(conn, now_ms);
}

void ek_http_conn_last(struct ek_http_conn *conn)
{
    conn->last = true;
}

void ek_http_conn_timeout(struct ek_http_conn *conn, int64_t now_ms)
{
    conn->now_ms = now_ms;
    if (pending(conn) > 0 && now_ms >= conn->write_deadline_ms) {
        abandon(conn);
        transition(conn, EK_HTTP_CONN_CLOSED);
        return;
    }
    if (now_ms < conn->deadline_ms)
        return;
    switch (conn->state) {
    case EK_HTTP_CONN_IDLE:
        transition(conn, pending(conn) ? EK_HTTP_CONN_CLOSING : EK_HTTP_CONN_CLOSED);
        break;
    case EK_HTTP_CONN_HEAD:
    case EK_HTTP_CONN_BODY:
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
}

struct ek_str ek_http_conn_output(const struct ek_http_conn *conn)
{
    if (pending(conn) == 0)
        return (struct ek_str){"", 0};
    return (struct ek_str){conn->output.data + conn->n_sent, pending(conn)};
}

void ek_http_conn_sent(struct ek_http_conn *conn, size_t n, int64_t now_ms)
{
    conn->now_ms = now_ms;
    conn->n_sent += n < pending(conn) ? n : pending(conn);
    conn->write_deadline_ms = 0;
    start_writing(conn);
    if (pending(conn) > 0)
        return;
    ek_buf_done(&conn->output); /* a large answer's memory is not kept */
    conn->n_sent = 0;
}

enum ek_http_conn_state ek_http_conn_state(const struct ek_http_conn *conn)
{
    return conn->state;
}

const char *ek_http_conn_state_name(enum ek_http_conn_state state)
{
    static const char *const names[EK_HTTP_CONN_STATE_MAX] = {
#define X(name) #name,
        EK_HTTP_CONN_STATES(X)
#undef X
    };
    return state < EK_HTTP_CONN_STATE_MAX ? names[state] : "?";
}

int64_t ek_http_conn_deadline(const struct ek_http_conn *conn)
{
    if (pending(conn) > 0 && conn->write_deadline_ms < conn->deadline_ms)
        return conn->write_deadline_ms;
    return conn->deadline_ms;
}

bool ek_http_conn_wants_input(const struct ek_http_conn *conn)
{
    return conn->state < EK_HTTP_CONN_CLOSING && !conn->eof && conn->input.len < INPUT_ENOUGH;
}
