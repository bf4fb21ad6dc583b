/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/clientscene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"

#define STATUS(code, reason, message, details)                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message     \
    "\",\"reason\":\"" reason "\",\"code\":" #code details "}"

/* gzip of 100,000 times "z". */
static const unsigned char gzip_bomb[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xed, 0xc1, 0x31, 0x01, 0x00,
    0x00, 0x00, 0xc2, 0xa0, 0xde, 0x4b, 0x6f, 0x0d, 0x0f, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0x57, 0x03, 0x24, 0x97, 0xe1, 0xff, 0xa0, 0x86, 0x01, 0x00};

static atomic_int n_seen; /* requests to the scripts that count */

static void reply_echo(const struct testserver_request *request, struct testserver_conn *conn)
{
    static const char *const names[] = {"Accept",        "Content-Type",  "User-Agent",
                                        "If-None-Match", "Authorization", "Accept-Encoding",
                                        "Expect"};
    char value[512];
    struct ek_buf out;

    ek_buf_init(&out, 1 << 20);
    ek_buf_printf(&out, "%s %s\n", request->method, request->target);
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        ek_buf_printf(&out, "%s: %s\n", names[i],
                      testserver_header(request, names[i], value, sizeof value));
    for (const char *p = request->headers; (p = strstr(p, "Impersonate-")); p++)
        ek_buf_printf(&out, "%.*s\n", (int)strcspn(p, "\r"), p);
    ek_buf_append(&out, request->body, request->body_size);
    testserver_reply(conn, 200, "Content-Type: text/plain\r\n", ek_buf_str(&out));
    ek_buf_done(&out);
}

static void reply_headers(const struct testserver_request *request, struct testserver_conn *conn)
{
    (void)request;
    testserver_write(conn, "HTTP/1.1 103 Early Hints\r\nETag: early\r\n\r\n", 41);
    testserver_reply(conn, 200,
                     "Content-Type: application/json;g=apidiscovery.k8s.io\r\nETag: \"ABC\"\r\n"
                     "Warning: 299 - \"policy/v1beta1 is \\\"old\\\"\"\r\n"
                     "Warning: 299 - \"second\"\r\n",
                     "{}");
}

static void reply_not_modified(const struct testserver_request *request,
                               struct testserver_conn *conn)
{
    char tag[64];
    bool match = !strcmp(testserver_header(request, "If-None-Match", tag, sizeof tag), "\"ABC\"");

    if (match)
        testserver_write(conn, "HTTP/1.1 304 Not Modified\r\nETag: \"ABC\"\r\n\r\n", 43);
    else
        testserver_reply(conn, 200, "ETag: \"ABC\"\r\n", "fresh");
}

static void reply_chunks(const struct testserver_request *request, struct testserver_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    testserver_write(conn, head, sizeof head - 1);
    for (int i = 0; i < 5; i++)
        testserver_write(conn, "6\r\nevent\n\r\n", 11);
    if (strstr(request->target, "broken"))
        testserver_close(conn);
    else if (strstr(request->target, "endless"))
        testserver_stall(conn);
    else
        testserver_write(conn, "0\r\n\r\n", 5);
}

static void reply_big(const struct testserver_request *request, struct testserver_conn *conn)
{
    char *body = malloc(5000001);

    if (strstr(request->target, "hints"))
        testserver_write(conn, "HTTP/1.1 103 Early Hints\r\n\r\n", 28);
    memset(body, 'b', 5000000);
    body[5000000] = '\0';
    testserver_reply(conn, 200, "", body);
    free(body);
}

static void reply_gzip(const struct testserver_request *request, struct testserver_conn *conn)
{
    char head[128];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
                     sizeof gzip_bomb);

    (void)request;
    testserver_write(conn, head, (size_t)n);
    testserver_write(conn, gzip_bomb, sizeof gzip_bomb);
}

static void reply_truncated(const struct testserver_request *request, struct testserver_conn *conn)
{
    (void)request;
    testserver_write(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789", 50);
    testserver_close(conn);
}

static void reply_stall(const struct testserver_request *request, struct testserver_conn *conn)
{
    if (strstr(request->target, "headers"))
        testserver_write(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123", 44);
    testserver_stall(conn);
}

static void reply_reset(const struct testserver_request *request, struct testserver_conn *conn)
{
    int n = atomic_fetch_add(&n_seen, 1) + 1;

    if (strstr(request->target, "once") && n > 1)
        testserver_reply(conn, 200, "", "recovered");
    else if (strstr(request->target, "eof"))
        testserver_close(conn);
    else
        testserver_reset(conn);
}

/* 429 with Retry-After: 0 twice, then what the request was. */
static void reply_throttle(const struct testserver_request *request, struct testserver_conn *conn)
{
    int n = atomic_fetch_add(&n_seen, 1) + 1;
    bool unavailable = strstr(request->target, "503") != NULL;

    if (n <= 2 || strstr(request->target, "always"))
        testserver_reply(conn, unavailable ? 503 : 429, "Retry-After: 0\r\n", "Too many requests");
    else
        testserver_reply(conn, 200, "", request->body_size ? request->body : "ok");
}

static void reply_fixed(const struct testserver_request *request, struct testserver_conn *conn)
{
    static const struct {
        const char *target;
        int status;
        const char *headers, *body;
    } rows[] = {
        {"/e/403", 403, "",
         STATUS(
             403, "Forbidden",
             "leases.coordination.k8s.io is forbidden: User \\\"system:anonymous\\\" cannot list "
             "resource",
             "")},
        {"/e/404", 404, "", STATUS(404, "NotFound", "leases \\\"x\\\" not found", "")},
        {"/e/404text", 404, "", "404 page not found\n"},
        {"/e/409", 409, "", STATUS(409, "Conflict", "modified", "")},
        {"/e/409exists", 409, "", STATUS(409, "AlreadyExists", "there", "")},
        {"/e/410", 410, "", STATUS(410, "Expired", "too old resource version", "")},
        {"/e/422", 422, "",
         STATUS(422, "Invalid", "",
                ",\"details\":{\"causes\":[{\"field\":\"spec.x\",\"message\":\"Required value\"},"
                "{\"message\":\"odd\"}]}")},
        {"/e/429details", 429, "",
         STATUS(429, "TooManyRequests", "slow down", ",\"details\":{\"retryAfterSeconds\":7}")},
        {"/e/429long", 429, "Retry-After: 30\r\n", "Too many requests, please try again later."},
        {"/e/429huge", 429, "Retry-After: 86400\r\n", ""},
        {"/e/429date", 429, "Retry-After: Fri, 20 Nov 2026 10:00:00 GMT\r\n", ""},
        {"/e/500", 500, "", STATUS(500, "InternalError", "boom\\n\\tline two", "")},
        {"/e/502", 502, "Content-Type: text/html\r\n",
         "<html>\r\n<h1>502\tBad   Gateway</h1>\x01</html>"},
        {"/e/504", 504, "", STATUS(504, "Timeout", "request timed out", "")},
        {"/e/302", 302, "Location: https://elsewhere.example/login\r\n", ""},
        {"/e/badjson", 500, "", "{\"kind\":\"Status\",\"mess"},
        {"/e/notstatus", 400, "", "{\"kind\":\"Pod\",\"message\":\"no\"}"},
        {"/e/wrongtypes", 400, "",
         "{\"kind\":\"Status\",\"message\":7,\"reason\":[],\"details\":\"x\"}"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (strlen(rows[i].target) == strcspn(request->target, "?") &&
            !strncmp(request->target, rows[i].target, strlen(rows[i].target))) {
            testserver_reply(conn, rows[i].status, rows[i].headers, rows[i].body);
            return;
        }
    testserver_reply(conn, 200, "", "ok");
}

static void serve(void *ctx, const struct testserver_request *request, struct testserver_conn *conn)
{
    static const struct {
        const char *prefix;
        void (*reply)(const struct testserver_request *request, struct testserver_conn *conn);
    } routes[] = {
        {"/echo", reply_echo},
        {"/headers", reply_headers},
        {"/etag", reply_not_modified},
        {"/chunks", reply_chunks},
        {"/big", reply_big},
        {"/gzip", reply_gzip},
        {"/truncated", reply_truncated},
        {"/stall", reply_stall},
        {"/reset", reply_reset},
        {"/throttle", reply_throttle},
        {"/prefix/echo", reply_echo},
        {"/", reply_fixed},
    };

    (void)ctx;
    for (size_t i = 0; i < EK_ARRAY_SIZE(routes); i++)
        if (!strncmp(request->target, routes[i].prefix, strlen(routes[i].prefix))) {
            routes[i].reply(request, conn);
            return;
        }
}

void clientscene_config(struct clientscene *scene)
{
    atomic_store(&n_seen, 0);
    scene->server = testserver_start(&(struct testserver_options){.handler = serve});
    scene->config = ek_client_config_new();
    scene->config->server = ek_xasprintf("http://127.0.0.1:%d", testserver_port(scene->server));
}

void clientscene_start(struct clientscene *scene)
{
    clientscene_config(scene);
    clientbench_start(&scene->bench, scene->config);
}

void clientscene_stop(struct clientscene *scene)
{
    clientbench_stop(&scene->bench);
    testserver_stop(scene->server);
    ek_client_config_free(scene->config);
}
