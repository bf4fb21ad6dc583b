/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: llhttp's callbacks, the limits, and what is refused. */
#include <stdio.h>
#include <strings.h>

#include "api/base/err.h"
#include "controller/http/conn-internal.h"

/* Bodies that are cut may be this many times too long. */
#define CUT_TIMES 16u

/* Ends the parsing; the connection answers with status. */
static int reject(struct ek_http_conn *conn, int status)
{
    if (!conn->reject)
        conn->reject = status;
    return -1;
}

/* The same when there is no room for what comes. API servers repeat after a 503 with Retry-After.
 */
static int reject_for_memory(struct ek_http_conn *conn)
{
    conn->fault = EK_HTTP_FAULT_MEMORY;
    return reject(conn, 503);
}

/* Counts bytes of the head (and of trailers and chunk extensions) against the limit. */
static int charge(struct ek_http_conn *conn, size_t len, int status)
{
    struct ek_http_reply *reply = conn->reply;

    if (len > conn->config->limits.max_head - reply->head_size)
        return reject(conn, status);
    reply->head_size += len;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_http_conn *conn = parser->data;

    for (size_t i = 0; i < len; i++) {
        if (at[i] <= 0x20 || at[i] >= 0x7f)
            return reject(conn, 400);
    }
    if (charge(conn, len, 414))
        return -1;
    return ek_buf_append(&conn->reply->head, at, len) ? reject(conn, 500) : 0;
}

static int on_url_complete(llhttp_t *parser)
{
    struct ek_http_conn *conn = parser->data;
    return ek_buf_append(&conn->reply->head, "", 1) ? reject(conn, 500) : 0;
}

/* Starts the next name or value in head; trailers are counted but not kept. */
static int start_piece(struct ek_http_conn *conn, bool value)
{
    struct ek_http_reply *reply = conn->reply;

    if (charge(conn, 2, 431))
        return -1;
    if (!value && reply->n_headers == EK_HTTP_HEADERS_MAX)
        return reject(conn, 431);
    reply->starts[2 * reply->n_headers + (value ? 1 : 0)] = reply->head.len;
    return 0;
}

static int add_piece(struct ek_http_conn *conn, const char *at, size_t len)
{
    if (charge(conn, len, 431))
        return -1;
    if (conn->in_body)
        return 0;
    return ek_buf_append(&conn->reply->head, at, len) ? reject(conn, 500) : 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_http_conn *conn = parser->data;

    if (!conn->in_body && !conn->in_name) {
        conn->in_name = true; /* a name may come in pieces */
        if (start_piece(conn, false))
            return -1;
    }
    return add_piece(conn, at, len);
}

static int on_header_field_complete(llhttp_t *parser)
{
    struct ek_http_conn *conn = parser->data;
    struct ek_http_reply *reply = conn->reply;

    conn->in_name = false;
    if (conn->in_body)
        return 0;
    for (char *p = reply->head.data + reply->starts[2 * reply->n_headers];
         p < reply->head.data + reply->head.len; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    }
    if (ek_buf_append(&reply->head, "", 1))
        return reject(conn, 500);
    return start_piece(conn, true);
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    return add_piece(parser->data, at, len);
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct ek_http_conn *conn = parser->data;
    struct ek_http_reply *reply = conn->reply;

    if (conn->in_body)
        return 0;
    while (reply->head.len > reply->starts[2 * reply->n_headers + 1] &&
           strchr(" \t", reply->head.data[reply->head.len - 1]))
        reply->head.len--;
    if (ek_buf_append(&reply->head, "", 1))
        return reject(conn, 500);
    reply->n_headers++;
    return 0;
}

static int on_chunk_extension(llhttp_t *parser, const char *at, size_t len)
{
    (void)at;
    return charge(parser->data, len, 431);
}

/* A body will have more octets: refuses a body that is too long, or cuts it where the route
 * requires that. */
static int expect_body(struct ek_http_conn *conn, uint64_t more)
{
    struct ek_http_reply *reply = conn->reply;
    uint64_t max = conn->body_max;

    if (more <= max && reply->body_size <= max - more)
        return 0;
    if (!reply->route || !reply->route->cut_body || more > CUT_TIMES * max ||
        reply->body_size > CUT_TIMES * max - more)
        return reject(conn, 413);
    reply->request.cut = true;
    if (reply->body.len > EK_HTTP_CUT_MAX) {
        struct ek_buf beginning;
        ek_buf_init(&beginning, EK_HTTP_CUT_MAX);
        int rc = ek_buf_append(&beginning, reply->body.data, EK_HTTP_CUT_MAX);
        ek_buf_done(&reply->body);
        reply->body = beginning;
        return rc ? reject(conn, 503) : 0;
    }
    reply->body.max = EK_HTTP_CUT_MAX;
    return 0;
}

static int on_chunk_header(llhttp_t *parser)
{
    return expect_body(parser->data, parser->content_length);
}

/* Splits the target into path and query; accepts the absolute form of RFC 9112, section 3.2.2. */
static int set_target(struct ek_http_conn *conn)
{
    struct ek_http_reply *reply = conn->reply;
    char *target = reply->head.data;
    size_t scheme = !strncasecmp(target, "http://", 7)    ? 7
                    : !strncasecmp(target, "https://", 8) ? 8
                                                          : 0;

    if (scheme) {
        target += scheme;
        target += strcspn(target, "/?#");
        if (!*target)
            target = memcpy(target - 1, "/", 2);
    }
    if (*target != '/')
        return reject(conn, 400);
    size_t path_len = strcspn(target, "?#");
    reply->request.query = "";
    if (target[path_len] == '?') {
        reply->request.query = target + path_len + 1;
        target[path_len + 1 + strcspn(target + path_len + 1, "#")] = '\0';
    }
    target[path_len] = '\0';
    reply->request.path = target;
    return 0;
}

static void set_headers(struct ek_http_reply *reply)
{
    for (size_t i = 0; i < reply->n_headers; i++)
        reply->headers[i] = (struct ek_http_header){reply->head.data + reply->starts[2 * i],
                                                    reply->head.data + reply->starts[2 * i + 1]};
    reply->request.headers = reply->headers;
    reply->request.n_headers = reply->n_headers;
}

/* RFC 9112, section 3.2: exactly one Host in HTTP/1.1. More than one is refused in any version. */
static bool host_is_fine(const struct ek_http_reply *reply, int minor)
{
    size_t n = 0;

    for (size_t i = 0; i < reply->n_headers; i++)
        n += !strcmp(reply->headers[i].name, "host");
    return n == 1 || (n == 0 && minor == 0);
}

/* Finds the route and its limit for the body. What has no body is refused later, by a reply that
 * keeps the connection. */
static int find_route(struct ek_http_conn *conn, bool has_body)
{
    struct ek_http_reply *reply = conn->reply;
    const struct ek_http_conn_config *config = conn->config;

    reply->route = ek_http_route_find(config->routes, config->n_routes, reply->request.path);
    if (reply->route && reply->route->max_body)
        reply->body.max = reply->route->max_body;
    if (!has_body)
        return 0;
    if (!reply->route)
        return reject(conn, 404);
    if (!ek_http_route_allows(reply->route, reply->method))
        return reject(conn, 405);
    return 0;
}

/* RFC 9110, section 10.1.1: requests the body once the headers are accepted. */
static int answer_expect(struct ek_http_conn *conn, int minor)
{
    const char *expect = ek_http_request_header(&conn->reply->request, "expect");

    if (!expect || minor == 0)
        return 0;
    if (strcasecmp(expect, "100-continue") != 0)
        return reject(conn, 417);
    ek_buf_puts(&conn->output, "HTTP/1.1 100 Continue\r\n\r\n");
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct ek_http_conn *conn = parser->data;
    struct ek_http_reply *reply = conn->reply;
    bool chunked = parser->flags & F_CHUNKED;
    bool has_body = chunked || parser->content_length > 0;

    conn->in_body = true;
    snprintf(reply->method, sizeof reply->method, "%s",
             llhttp_method_name((llhttp_method_t)parser->method));
    reply->request.method = reply->method;
    if (parser->http_major != 1 || parser->http_minor > 1)
        return reject(conn, 505);
    if (parser->method == HTTP_CONNECT)
        return reject(conn, 405);
    parser->upgrade = 0; /* no other protocol is offered: RFC 9110, section 7.8 lets us ignore it */
    set_headers(reply);
    if (!host_is_fine(reply, parser->http_minor) ||
        (parser->http_minor == 0 && (parser->flags & F_TRANSFER_ENCODING)))
        return reject(conn, 400);
    if (set_target(conn) || find_route(conn, has_body))
        return -1;
    conn->body_max = reply->body.max;
    if (!chunked && expect_body(conn, parser->content_length))
        return -1;
    if (!chunked && has_body && !reply->request.cut) {
        reply->body.max = (size_t)parser->content_length; /* allocates no more than that */
        if (!ek_http_expect__(conn, reply->body.max))
            return reject_for_memory(conn);
    }
    return has_body ? answer_expect(conn, parser->http_minor) : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_http_conn *conn = parser->data;
    struct ek_http_reply *reply = conn->reply;
    struct ek_buf *body = &reply->body;
    size_t room = body->max - body->len;

    reply->body_size += len;
    len = reply->request.cut && len > room ? room : len;
    if (len <= room && !ek_http_room__(conn, ek_buf_grown(body, len) - body->cap))
        return reject_for_memory(conn);
    int rc = ek_buf_append(body, at, len);
    return rc ? reject(conn, rc == EK_E_LIMIT ? 413 : 503) : 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct ek_http_conn *conn = parser->data;

    conn->reply->keep_alive = llhttp_should_keep_alive(parser);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_chunk_header = on_chunk_header,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void ek_http_parse_begin__(struct ek_http_conn *conn)
{
    llhttp_init(&conn->parser, HTTP_REQUEST, &settings);
    conn->parser.data = conn;
    conn->reply = ek_http_reply_new__(conn);
    conn->reject = 0;
    conn->in_name = false;
    conn->in_body = false;
}

size_t ek_http_parse__(struct ek_http_conn *conn, const char *data, size_t len, bool *ret_done)
{
    llhttp_errno_t rc = llhttp_execute(&conn->parser, data, len);

    *ret_done = rc == HPE_PAUSED && !conn->reject;
    if (rc == HPE_OK)
        return len;
    if (!*ret_done)
        reject(conn, rc == HPE_INVALID_VERSION || rc == HPE_PAUSED_H2_UPGRADE ? 505 : 400);
    const char *end = llhttp_get_error_pos(&conn->parser);
    return end >= data && end <= data + len ? (size_t)(end - data) : len;
}
