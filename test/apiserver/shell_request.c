/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: faults first, then the core; watches become chunked streams. */
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "test/apiserver/shell-internal.h"

/* Answers beyond this go around the engine, which copies, and end the connection. */
#define LARGE ((size_t)8 * 1024 * 1024)

/* Frames per pull. */
#define FRAMES ((size_t)64 * 1024)

static void quote(struct ek_buf *out, const char *s)
{
    ek_buf_puts(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            ek_buf_append(out, "\\", 1);
        if ((unsigned char)*s >= 0x20)
            ek_buf_append(out, s, 1);
    }
    ek_buf_puts(out, "\"");
}

static void audit(struct ek_shell_conn *conn, const struct ek_http_request *request,
                  const struct ek_apiserver_response *response)
{
    struct ek_apishell *shell = conn->listener->shell;
    const char *agent = ek_http_request_header(request, "user-agent");
    char now[EK_TIME_SIZE];
    EK_AUTO(ek_buf) line = {0};

    shell->stats.requests++;
    if (!shell->config.audit)
        return;
    const struct {
        const char *name, *value;
    } members[] = {
        {"time", ek_time_format_micro(ek_shell_wall(shell), now)},
        {"peer", ek_apiserver_peer_name(conn->listener->peer)},
        {"user", response->user},
        {"verb", response->verb},
        {"resource", response->resource},
        {"namespace", response->name_space},
        {"name", response->name},
        {"userAgent", agent ? agent : ""},
    };
    ek_buf_init(&line, 65536);
    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++) {
        ek_buf_printf(&line, "%s\"%s\":", i ? "," : "{", members[i].name);
        quote(&line, members[i].value);
    }
    ek_buf_printf(&line, ",\"code\":%d}\n", response->status);
    fputs(ek_buf_str(&line), shell->config.audit);
    fflush(shell->config.audit);
}

static void reply_failure(struct ek_http_reply *reply, int code, const char *reason,
                          const char *message)
{
    char body[512];
    int n = snprintf(body, sizeof(body),
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                     "\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}\n",
                     message, reason, code);

    ek_http_reply_send(reply, code, "application/json", body, (size_t)n);
}

/* Faults that replace the answer; true when one did. */
static bool answer_by_fault(struct ek_shell_conn *conn, struct ek_http_reply *reply, bool watch)
{
    static const char garbage[] = "\x01\x02<html>{]\xff";
    char seconds[16];

    switch (conn->fault.kind) {
    case EK_FAULT_THROTTLE:
        snprintf(seconds, sizeof(seconds), "%d", conn->fault.seconds);
        ek_http_reply_header(reply, "Retry-After", seconds);
        reply_failure(reply, 429, "TooManyRequests", "Too many requests, please try again later.");
        return true;
    case EK_FAULT_UNAUTHORIZED:
        reply_failure(reply, 401, "Unauthorized", "Unauthorized");
        return true;
    case EK_FAULT_FORBIDDEN:
        reply_failure(reply, 403, "Forbidden", "forbidden: told so by a fault");
        return true;
    case EK_FAULT_BROKEN:
        reply_failure(reply, 500, "InternalError", "Internal error occurred: told so by a fault");
        return true;
    case EK_FAULT_GARBAGE:
        ek_http_reply_send(reply, 200, "application/json", garbage, sizeof(garbage) - 1);
        return true;
    case EK_FAULT_GONE:
        if (watch)
            return false;
        reply_failure(reply, 410, "Expired",
                      "The resourceVersion for the provided list is too old.");
        return true;
    default:
        return false;
    }
}

static void put_chunk(struct ek_buf *out, const struct ek_buf *frames)
{
    if (frames->len == 0)
        return;
    ek_buf_printf(out, "%zx\r\n", frames->len);
    ek_buf_append(out, frames->data, frames->len);
    ek_buf_puts(out, "\r\n");
}

void ek_shell_pull(struct ek_shell_conn *conn)
{
    struct ek_apishell *shell = conn->listener->shell;
    int64_t wall = ek_shell_wall(shell);
    EK_AUTO(ek_buf) frames;

    ek_buf_init(&frames, (size_t)1024 * 1024 * 1024);
    enum ek_watch_state state = ek_apiserver_watch_pull(conn->watch, wall, FRAMES, &frames);
    put_chunk(&conn->raw, &frames);
    if (state == EK_WATCH_STATE_OVER) {
        ek_buf_puts(&conn->raw, "0\r\n\r\n");
        conn->mode = EK_SHELL_LAST;
        return;
    }
    int64_t wait = ek_apiserver_watch_deadline(conn->watch) - wall;
    conn->wake_ms = ek_shell_now(shell) + (wait > 0 ? wait : 0);
}

static void put_head(struct ek_shell_conn *conn, const struct ek_apiserver_response *response)
{
    ek_buf_printf(&conn->raw,
                  "HTTP/1.1 %d OK\r\nContent-Type: %s\r\nCache-Control: no-cache, private\r\n",
                  response->status, response->content_type);
    for (size_t i = 0; i < response->n_headers; i++)
        ek_buf_printf(&conn->raw, "%s: %s\r\n", response->headers[i].name,
                      response->headers[i].value);
    ek_buf_puts(&conn->raw, "Connection: close\r\n");
}

static void begin_stream(struct ek_shell_conn *conn, struct ek_apiserver_response *response)
{
    const struct ek_watch_distortion how = {
        .no_end_bookmark = conn->fault.kind == EK_FAULT_NO_BOOKMARK,
        .duplicate = conn->fault.kind == EK_FAULT_DUPLICATE,
        .reverse = conn->fault.kind == EK_FAULT_REORDER,
    };

    conn->watch = response->watch;
    response->watch = NULL;
    conn->mode = EK_SHELL_STREAM;
    conn->listener->shell->stats.streams++;
    ek_apiserver_watch_distort(conn->watch, &how);
    put_head(conn, response);
    ek_buf_puts(&conn->raw, "Transfer-Encoding: chunked\r\n\r\n");
    if (conn->fault.kind == EK_FAULT_GONE) {
        EK_AUTO(ek_buf) frame;
        ek_buf_init(&frame, 4096);
        uint64_t rv = ek_apiserver_rv(conn->listener->shell->config.server);
        ek_apiserver_watch_put_gone(&frame, rv > 1 ? rv - 1 : 1, rv);
        put_chunk(&conn->raw, &frame);
        ek_buf_puts(&conn->raw, "0\r\n\r\n");
        conn->mode = EK_SHELL_LAST;
    }
}

/* Sends the core's response: through the engine, as a stream, or around the engine when large. */
static void deliver(struct ek_shell_conn *conn, struct ek_http_reply *reply,
                    struct ek_apiserver_response *response)
{
    conn->reply = reply;
    if (response->watch) {
        begin_stream(conn, response);
        return;
    }
    if (response->body.len > LARGE) {
        put_head(conn, response);
        ek_buf_printf(&conn->raw, "Content-Length: %zu\r\n\r\n", response->body.len);
        ek_buf_append(&conn->raw, response->body.data, response->body.len);
        conn->mode = EK_SHELL_LAST;
        return;
    }
    conn->reply = NULL;
    bool cached = false;
    for (size_t i = 0; i < response->n_headers; i++) {
        ek_http_reply_header(reply, response->headers[i].name, response->headers[i].value);
        cached = cached || strcmp(response->headers[i].name, "Cache-Control") == 0;
    }
    if (!cached)
        ek_http_reply_header(reply, "Cache-Control", "no-cache, private");
    ek_http_reply_send(reply, response->status, response->content_type, ek_buf_str(&response->body),
                       response->body.len);
}

void ek_shell_answer(struct ek_shell_conn *conn, const struct ek_http_request *request,
                     struct ek_http_reply *reply)
{
    if (!conn->admission && strcmp(request->method, "GET") != 0)
        conn->admission = ek_admission_new();
    const struct ek_apiserver_request asked = {
        .method = request->method,
        .path = request->path,
        .query = request->query,
        .accept = ek_http_request_header(request, "accept"),
        .content_type = ek_http_request_header(request, "content-type"),
        .user_agent = ek_http_request_header(request, "user-agent"),
        .authorization = ek_http_request_header(request, "authorization"),
        .if_none_match = ek_http_request_header(request, "if-none-match"),
        .body = request->body,
        .admission = conn->admission,
    };
    struct ek_apiserver_response response;

    ek_apiserver_handle(conn->listener->peer, &asked, ek_shell_wall(conn->listener->shell),
                        &response);
    if (ek_admission_due(conn->admission)) {
        ek_shell_webhook_call(conn, request, reply);
    } else {
        ek_admission_free(conn->admission);
        conn->admission = NULL;
        audit(conn, request, &response);
        deliver(conn, reply, &response);
    }
    ek_apiserver_response_done(&response);
}

void ek_shell_handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct ek_listener *listener = ctx;
    struct ek_apishell *shell = listener->shell;
    struct ek_shell_conn *conn = shell->current;
    bool watch = strstr(request->query, "watch=1") || strstr(request->query, "watch=true");

    if (ek_shell_control(conn, request, reply))
        return;
    conn->fault = ek_faults_take(&shell->faults, ek_apiserver_peer_name(listener->peer),
                                 request->path, watch);
    if (answer_by_fault(conn, reply, watch))
        return;
    if (conn->fault.kind == EK_FAULT_RESET || conn->fault.kind == EK_FAULT_TRUNCATE ||
        conn->fault.kind == EK_FAULT_STALL)
        conn->budget = conn->fault.bytes;
    if (conn->fault.kind == EK_FAULT_SLOW) {
        conn->mode = EK_SHELL_DELAY;
        conn->request = request;
        conn->reply = reply;
        conn->wake_ms = ek_shell_now(shell) + conn->fault.ms;
        return;
    }
    ek_shell_answer(conn, request, reply);
}
