/* SPDX-License-Identifier: Apache-2.0 */
/* Replies: their text, and the life of the pair of request and reply. */
#include <stdio.h>
#include <time.h>

#include "api/base/err.h"
#include "controller/http/conn-internal.h"

#define EXTRA_MAX ((size_t)16 * 1024)

/* What the lines that every reply has come to at most. */
#define HEAD_MAX ((size_t)512)

struct ek_http_reply *ek_http_reply_new__(struct ek_http_conn *conn)
{
    struct ek_http_reply *reply = ek_xalloc(sizeof *reply);

    reply->conn = conn;
    ek_buf_init(&reply->head, conn->config->limits.max_head + 1024);
    ek_buf_init(&reply->body, conn->config->limits.max_body);
    ek_buf_init(&reply->extra, EXTRA_MAX);
    reply->request = (struct ek_http_request){.method = "",
                                              .path = "/",
                                              .query = "",
                                              .remote = conn->remote,
                                              .user = "",
                                              .body = {"", 0}};
    return reply;
}

void ek_http_reply_free__(struct ek_http_reply *reply)
{
    if (!reply)
        return;
    ek_buf_done(&reply->head);
    ek_buf_done(&reply->body);
    ek_buf_done(&reply->extra);
    ek_http_budget_give(reply->budget, reply->charged);
    ek_free(reply->user);
    ek_free(reply);
}

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Request Entity Too Large"},
        {414, "Request URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        if (rows[i].status == status)
            return rows[i].text;
    }
    return "Status";
}

/* RFC 9110, section 5.6.7; by hand because strftime speaks the locale's language. */
static void put_date(struct ek_http_conn *conn)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;

    if (!conn->config->wall_ms)
        return;
    time_t seconds = (time_t)(conn->config->wall_ms(conn->config->wall_ctx) / 1000);
    if (!gmtime_r(&seconds, &tm))
        return;
    ek_buf_printf(&conn->output, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday],
                  tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
                  tm.tm_sec);
}

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* Appends the whole reply to the output. with_body is false for HEAD. */
static void put_reply(struct ek_http_conn *conn, int status, const char *content_type,
                      const char *extra, const void *body, size_t size, bool keep_alive,
                      bool with_body)
{
    struct ek_buf *out = &conn->output;

    ek_buf_printf(out, "HTTP/1.1 %d %s\r\n", status, reason(status));
    put_date(conn);
    if (content_type && !has_no_body(status)) {
        ek_buf_puts(out, "Content-Type: ");
        ek_buf_puts(out, content_type);
        ek_buf_puts(out, "\r\n");
    }
    if (!has_no_body(status))
        ek_buf_printf(out, "Content-Length: %zu\r\n", size);
    ek_buf_puts(out, extra);
    if (!keep_alive)
        ek_buf_puts(out, "Connection: close\r\n");
    else if (conn->parser.http_minor == 0)
        ek_buf_puts(out, "Connection: keep-alive\r\n");
    ek_buf_puts(out, "\r\n");
    if (with_body && !has_no_body(status))
        ek_buf_append(out, body, size);
}

void ek_http_put_error__(struct ek_http_conn *conn, int status)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%s\n", reason(status));
    bool head = conn->reply && !strcmp(conn->reply->method, "HEAD");

    put_reply(conn, status, "text/plain; charset=utf-8",
              status == 503 ? "X-Content-Type-Options: nosniff\r\nRetry-After: 1\r\n"
                            : "X-Content-Type-Options: nosniff\r\n",
              text, (size_t)n, false, !head);
}

/* Adds a header's part; whatever could end the line becomes a blank. */
static void put_safe(struct ek_buf *out, const char *s)
{
    for (size_t n = 0; *s; s += n) {
        for (n = 0; (unsigned char)s[n] >= 0x20 && s[n] != 0x7f;)
            n++;
        ek_buf_append(out, n > 0 ? s : " ", n > 0 ? n : 1);
        n += n == 0;
    }
}

void ek_http_reply_user(struct ek_http_reply *reply, const char *user)
{
    ek_free(reply->user);
    reply->user = ek_xstrdup(user);
    reply->request.user = reply->user;
}

void ek_http_reply_vouch(struct ek_http_reply *reply)
{
    if (reply->conn)
        reply->conn->vouched = true;
}

void ek_http_reply_header(struct ek_http_reply *reply, const char *name, const char *value)
{
    size_t before = reply->extra.len;

    put_safe(&reply->extra, name);
    ek_buf_puts(&reply->extra, ": ");
    put_safe(&reply->extra, value);
    ek_buf_puts(&reply->extra, "\r\n");
    if (reply->extra.failed) { /* half a header is worse than none */
        reply->extra.len = before;
        if (reply->extra.data)
            reply->extra.data[before] = '\0';
        reply->extra.failed = 0;
    }
}

/* The bytes that are held for an answer until the client has read it. */
static size_t answer_bytes(const struct ek_http_reply *reply, size_t size)
{
    const struct ek_buf *output = &reply->conn->output;
    size_t len = HEAD_MAX + reply->extra.len + size;

    return ek_buf_grown(output, len) - output->cap + ek_http_sending__(len);
}

bool ek_http_reply_fits(struct ek_http_reply *reply, size_t size)
{
    return !reply->conn || ek_http_expect__(reply->conn, answer_bytes(reply, size));
}

static bool has_room(struct ek_http_conn *conn, const struct ek_http_reply *reply, size_t size)
{
    if (ek_http_room__(conn, answer_bytes(reply, size)))
        return true;
    conn->fault = EK_HTTP_FAULT_MEMORY;
    return false;
}

void ek_http_reply_send(struct ek_http_reply *reply, int status, const char *content_type,
                        const void *body, size_t size)
{
    struct ek_http_conn *conn = reply->conn;

    if (reply->sent)
        return;
    reply->sent = true;
    if (conn) {
        bool more = !conn->eof || conn->input.len > 0;
        bool keep_alive = reply->keep_alive && !conn->draining && !conn->last && more;
        size_t before = conn->output.len;
        bool room = has_room(conn, reply, size);
        reply->keep_alive = keep_alive && room;
        if (!room)
            ek_http_put_error__(conn, 503);
        else
            put_reply(conn, status, content_type, ek_buf_str(&reply->extra), body, size, keep_alive,
                      strcmp(reply->method, "HEAD") != 0);
        if (conn->output.failed) { /* larger than any output may be: answer with an error */
            conn->output.len = before;
            conn->output.failed = 0;
            reply->keep_alive = false;
            ek_http_put_error__(conn, 500);
        }
    }
    if (reply->in_handler)
        return; /* the caller of the handler goes on from here */
    if (conn)
        ek_http_replied__(conn);
    ek_http_reply_free__(reply);
}

void ek_http_reply_text(struct ek_http_reply *reply, int status, const char *text)
{
    EK_AUTOFREE char *line = ek_xasprintf("%s\n", text);

    ek_http_reply_header(reply, "X-Content-Type-Options", "nosniff");
    ek_http_reply_send(reply, status, "text/plain; charset=utf-8", line, strlen(line));
}

bool ek_http_reply_is_orphan(const struct ek_http_reply *reply)
{
    return atomic_load_explicit(&reply->orphan, memory_order_relaxed);
}
