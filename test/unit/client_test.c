/* SPDX-License-Identifier: Apache-2.0 */
/* The API client over plain HTTP against a scripted server. TLS and credentials have tests of
 * their own (client_tls_test.c, credentials_test.c). */
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/buf.h"
#include "test/support/clientbench.h"
#include "test/support/testserver.h"

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

    (void)request;
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

/* A server and a client for it. */
struct scene {
    struct testserver *server;
    struct ek_client_config *config;
    struct clientbench bench;
};

static void scene_config(struct scene *scene)
{
    atomic_store(&n_seen, 0);
    scene->server = testserver_start(&(struct testserver_options){.handler = serve});
    scene->config = ek_client_config_new();
    scene->config->server = ek_xasprintf("http://127.0.0.1:%d", testserver_port(scene->server));
}

static void scene_start(struct scene *scene)
{
    scene_config(scene);
    clientbench_start(&scene->bench, scene->config);
}

static void scene_stop(struct scene *scene)
{
    clientbench_stop(&scene->bench);
    testserver_stop(scene->server);
    ek_client_config_free(scene->config);
}

START_TEST(a_request_carries_what_it_should)
{
    struct scene scene;
    struct outcome out;

    scene_config(&scene);
    ek_free(scene.config->server);
    scene.config->server =
        ek_xasprintf("http://127.0.0.1:%d/prefix/", testserver_port(scene.server));
    scene.config->token = ek_xstrdup("secret-token");
    scene.config->as_user = ek_xstrdup("jane");
    scene.config->as_uid = ek_xstrdup("42");
    ek_strings_add(&scene.config->as_groups, "devs");
    ek_strings_add(&scene.config->as_groups, "ops");
    ek_name_values_add(&scene.config->as_extra, "example.com/scope", "view");
    clientbench_start(&scene.bench, scene.config);
    ck_assert_msg(strstr(ek_client_server(scene.bench.client), "http://127.0.0.1:") != NULL, "%s",
                  ek_client_server(scene.bench.client));
    clientbench_do(&scene.bench,
                   &(struct ek_request){.method = "PATCH",
                                        .path = "/echo?fieldManager=a%20b",
                                        .content_type = "application/apply-patch+yaml",
                                        .body = "a: 1\n",
                                        .body_size = 5,
                                        .if_none_match = "\"tag\"",
                                        .user_agent_suffix = "leader-election"},
                   &out);
    ck_assert_int_eq(out.err.code, 0);
    ck_assert_str_eq(out.body, "PATCH /prefix/echo?fieldManager=a%20b\n"
                               "Accept: application/json\n"
                               "Content-Type: application/apply-patch+yaml\n"
                               "User-Agent: evenkeel/test (linux/amd64)/leader-election\n"
                               "If-None-Match: \"tag\"\n"
                               "Authorization: Bearer secret-token\n"
                               "Accept-Encoding: gzip\n"
                               "Expect: \n"
                               "Impersonate-User: jane\n"
                               "Impersonate-Uid: 42\n"
                               "Impersonate-Group: devs\n"
                               "Impersonate-Group: ops\n"
                               "Impersonate-Extra-example.com%2Fscope: view\n"
                               "a: 1\n");
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

static const struct {
    const char *name;
    struct ek_request request;
    const char *first_line, *last_line;
} methods[] = {
    {"get", {.path = "/echo"}, "GET /echo\n", "Expect: \n"},
    {"get with query", {.path = "/echo?a=b&c=%2F"}, "GET /echo?a=b&c=%2F\n", "Expect: \n"},
    {"dots stay", {.path = "/echo/../x/./y"}, "GET /echo/../x/./y\n", "Expect: \n"},
    {"post",
     {.method = "POST", .path = "/echo", .body = "{}", .body_size = 2},
     "POST /echo\n",
     "{}"},
    {"post without body", {.method = "POST", .path = "/echo"}, "POST /echo\n", "Expect: \n"},
    {"put",
     {.method = "PUT", .path = "/echo", .body = "xyz", .body_size = 3},
     "PUT /echo\n",
     "xyz"},
    {"delete", {.method = "DELETE", .path = "/echo"}, "DELETE /echo\n", "Expect: \n"},
    {"delete with body",
     {.method = "DELETE", .path = "/echo", .body = "{}", .body_size = 2},
     "DELETE /echo\n",
     "{}"},
};

START_TEST(methods_and_bodies)
{
    struct scene scene;
    struct outcome out;
    const char *name = methods[_i].name;

    scene_start(&scene);
    clientbench_do(&scene.bench, &methods[_i].request, &out);
    ck_assert_msg(out.err.code == 0, "%s: %s", name, out.err.message);
    ck_assert_msg(!strncmp(out.body, methods[_i].first_line, strlen(methods[_i].first_line)),
                  "%s: %s", name, out.body);
    size_t tail = strlen(methods[_i].last_line);
    ck_assert_msg(out.body_size >= tail &&
                      !strcmp(out.body + out.body_size - tail, methods[_i].last_line),
                  "%s: %s", name, out.body);
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

START_TEST(headers_of_the_final_answer_are_kept)
{
    struct scene scene;
    struct outcome out;

    scene_start(&scene);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/headers"}, &out);
    ck_assert_str_eq(out.etag, "\"ABC\"");
    ck_assert_str_eq(out.content_type, "application/json;g=apidiscovery.k8s.io");
    ck_assert_str_eq(out.warning, "policy/v1beta1 is \"old\"");
    ck_assert_str_eq(out.fingerprint, "");
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/etag", .if_none_match = "\"ABC\""},
                   &out);
    ck_assert_int_eq(out.status, 304);
    ck_assert_int_eq(out.err.code, 0);
    ck_assert_uint_eq(out.body_size, 0);
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

static const struct {
    const char *name;
    struct ek_request request;
    int code, http_status;
    const char *reason;
    int64_t retry_after_ms;
    const char *message; /* contained in the error's; a leading '=' means all of it */
    unsigned n_requests;
} errors[] = {
    {"forbidden, in the server's words",
     {.path = "/e/403"},
     EK_E_FORBIDDEN,
     403,
     "Forbidden",
     0,
     "=leases.coordination.k8s.io is forbidden: User \"system:anonymous\" cannot list resource",
     1},
    {"not found", {.path = "/e/404"}, EK_E_NOENT, 404, "NotFound", 0, "=leases \"x\" not found", 1},
    {"the query stays out of messages",
     {.path = "/e/404text?continue=x"},
     EK_E_NOENT,
     404,
     "",
     0,
     "/e/404text: HTTP 404",
     1},
    {"text", {.path = "/e/404text"}, EK_E_NOENT, 404, "", 0, ": HTTP 404: 404 page not found", 1},
    {"conflict", {.path = "/e/409"}, EK_E_CONFLICT, 409, "Conflict", 0, "=modified", 1},
    {"exists", {.path = "/e/409exists"}, EK_E_EXIST, 409, "AlreadyExists", 0, "=there", 1},
    {"expired", {.path = "/e/410"}, EK_E_GONE, 410, "Expired", 0, "=too old resource version", 1},
    {"causes",
     {.path = "/e/422"},
     EK_E_INVAL,
     422,
     "Invalid",
     0,
     "=spec.x: Required value, odd",
     1},
    {"retry in details is for the caller",
     {.path = "/e/429details"},
     EK_E_THROTTLED,
     429,
     "TooManyRequests",
     7000,
     "=slow down",
     1},
    {"retry after the deadline",
     {.path = "/e/429long", .timeout_ms = 5000},
     EK_E_THROTTLED,
     429,
     "",
     30000,
     "Too many requests",
     1},
    {"retry much later", {.path = "/e/429huge"}, EK_E_THROTTLED, 429, "", 86400000, "HTTP 429", 1},
    {"retry at a date", {.path = "/e/429date"}, EK_E_THROTTLED, 429, "", 0, "HTTP 429", 1},
    {"no retry wanted",
     {.path = "/throttle", .no_retry = true},
     EK_E_THROTTLED,
     429,
     "",
     0,
     "Too many",
     1},
    {"ten tries", {.path = "/throttle/always"}, EK_E_THROTTLED, 429, "", 0, "Too many", 10},
    {"one line", {.path = "/e/500"}, EK_E_SERVER, 500, "InternalError", 0, "=boom line two", 1},
    {"html",
     {.path = "/e/502"},
     EK_E_SERVER,
     502,
     "",
     0,
     "HTTP 502: <html> <h1>502 Bad Gateway</h1> </html>",
     1},
    {"server timeout",
     {.path = "/e/504"},
     EK_E_TIMEOUT,
     504,
     "Timeout",
     0,
     "=request timed out",
     1},
    {"redirect", {.path = "/e/302"}, EK_E_HTTP, 302, "", 0, "https://elsewhere.example/login", 1},
    {"half a Status", {.path = "/e/badjson"}, EK_E_SERVER, 500, "", 0, "HTTP 500: {\"kind\"", 1},
    {"another kind", {.path = "/e/notstatus"}, EK_E_INVAL, 400, "", 0, "HTTP 400: {\"kind\"", 1},
    {"a Status of wrong types",
     {.path = "/e/wrongtypes"},
     EK_E_INVAL,
     400,
     "",
     0,
     "=no message",
     1},
    {"too large",
     {.path = "/big", .max_body = 1000},
     EK_E_LIMIT,
     200,
     "",
     0,
     "larger than 1000 bytes",
     1},
    {"too large when unpacked",
     {.path = "/gzip", .max_body = 1000},
     EK_E_LIMIT,
     200,
     "",
     0,
     "larger than 1000 bytes",
     1},
    {"truncated", {.path = "/truncated"}, EK_E_NET, 200, "", 0, "broke off in the middle", 1},
    {"broken chunks", {.path = "/chunks/broken"}, EK_E_NET, 200, "", 0, "broke off", 1},
    {"no answer",
     {.path = "/stall", .timeout_ms = 100},
     EK_E_TIMEOUT,
     0,
     "",
     0,
     "connected, but no answer within 100 ms",
     1},
    {"no end",
     {.path = "/stall/headers", .timeout_ms = 100},
     EK_E_TIMEOUT,
     200,
     "",
     0,
     "the answer did not end within 100 ms",
     1},
    {"reset twice", {.path = "/reset"}, EK_E_NET, 0, "", 0, "broke off before an answer", 2},
    {"end of file twice", {.path = "/reset/eof"}, EK_E_NET, 0, "", 0, "broke off before", 2},
    {"reset of a post is not retried",
     {.method = "POST", .path = "/reset", .body = "{}", .body_size = 2},
     EK_E_NET,
     0,
     "",
     0,
     "POST 127.0.0.1",
     1},
    {"relative path", {.path = "echo"}, EK_E_INVAL, 0, "", 0, "path", 0},
    {"line end in the path", {.path = "/a\r\nX: y"}, EK_E_INVAL, 0, "", 0, "path", 0},
    {"line end in a header",
     {.path = "/echo", .accept = "a\r\nX: y"},
     EK_E_INVAL,
     0,
     "",
     0,
     "control",
     0},
    {"method", {.method = "GET /x", .path = "/echo"}, EK_E_INVAL, 0, "", 0, "method", 0},
    {"address", {.path = "/echo", .connect_to = "10.0.0.1"}, EK_E_INVAL, 0, "", 0, "ip:port", 0},
    {"address with more",
     {.path = "/echo", .connect_to = "10.0.0.1/x:1"},
     EK_E_INVAL,
     0,
     "",
     0,
     "ip:port",
     0},
    {"tls name",
     {.path = "/echo", .connect_to = "10.0.0.1:1", .tls_name = "a/b"},
     EK_E_INVAL,
     0,
     "",
     0,
     "host name",
     0},
};

START_TEST(errors_say_what_and_where)
{
    struct scene scene;
    struct outcome out;
    const char *name = errors[_i].name, *message = errors[_i].message;

    scene_start(&scene);
    clientbench_do(&scene.bench, &errors[_i].request, &out);
    ck_assert_msg(out.err.code == errors[_i].code, "%s: code %d (%s)", name, out.err.code,
                  out.err.message);
    ck_assert_msg(out.err.http_status == errors[_i].http_status, "%s: HTTP %d", name,
                  out.err.http_status);
    ck_assert_msg(!strcmp(out.err.reason, errors[_i].reason), "%s: reason %s", name,
                  out.err.reason);
    ck_assert_msg(out.err.retry_after_ms == errors[_i].retry_after_ms, "%s: retry after %lld", name,
                  (long long)out.err.retry_after_ms);
    ck_assert_msg(*message == '=' ? !strcmp(out.err.message, message + 1)
                                  : strstr(out.err.message, message) != NULL,
                  "%s: %s", name, out.err.message);
    ck_assert_msg(testserver_requests(scene.server) == errors[_i].n_requests, "%s: %u requests",
                  name, testserver_requests(scene.server));
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

static const struct {
    const char *name;
    struct ek_request request;
    const char *body;
    unsigned n_requests;
} recoveries[] = {
    {"429 twice", {.path = "/throttle"}, "ok", 3},
    {"503 twice", {.path = "/throttle/503", .timeout_ms = 20000}, "ok", 3},
    {"the body goes again",
     {.method = "POST", .path = "/throttle", .body = "again", .body_size = 5},
     "again",
     3},
    {"reset once", {.path = "/reset/once"}, "recovered", 2},
    {"end of file once", {.path = "/reset/once/eof"}, "recovered", 2},
};

START_TEST(what_may_pass_is_tried_again)
{
    struct scene scene;
    struct outcome out;
    const char *name = recoveries[_i].name;

    scene_start(&scene);
    clientbench_do(&scene.bench, &recoveries[_i].request, &out);
    ck_assert_msg(out.err.code == 0, "%s: %s", name, out.err.message);
    ck_assert_msg(!strcmp(out.body, recoveries[_i].body), "%s: %s", name, out.body);
    ck_assert_msg(testserver_requests(scene.server) == recoveries[_i].n_requests, "%s: %u", name,
                  testserver_requests(scene.server));
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

START_TEST(bodies_are_unpacked_and_whole)
{
    struct scene scene;
    struct outcome out;

    scene_start(&scene);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/gzip"}, &out);
    ck_assert_uint_eq(out.body_size, 100000);
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/big"}, &out);
    ck_assert_uint_eq(out.body_size, 5000000);
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/big", .max_body = 5000000}, &out);
    ck_assert_int_eq(out.err.code, 0);
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

START_TEST(nobody_listening_is_refused)
{
    struct scene scene;
    struct outcome out;

    scene_config(&scene);
    clientbench_start(&scene.bench, scene.config);
    testserver_stop(scene.server);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/version"}, &out);
    ck_assert_int_eq(out.err.code, EK_E_REFUSED);
    ck_assert_int_eq(out.status, 0);
    ck_assert_msg(strstr(out.err.message, "GET 127.0.0.1:") && strstr(out.err.message, "/version"),
                  "%s", out.err.message);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    ek_client_config_free(scene.config);
}
END_TEST

/* What a stream brought, and what its reader does after so many bytes. */
struct stream {
    struct outcome outcome; /* first: outcome_keep takes it */
    struct scene *scene;
    struct ek_buf text;
    size_t act_at;
    enum { READ_ON, REFUSE, CANCEL, CANCEL_OTHER, CLOSE, SEND } act;
    struct ek_call *call, *other;
    struct outcome other_outcome;
    int acted;
};

static int on_data(void *ctx, const char *data, size_t len)
{
    struct stream *stream = ctx;

    ek_buf_append(&stream->text, data, len);
    if (stream->acted || stream->text.len < stream->act_at)
        return 0;
    stream->acted = 1;
    switch (stream->act) {
    case REFUSE:
        return EK_E_GONE;
    case CANCEL:
        ek_call_cancel(stream->call);
        return 0;
    case CANCEL_OTHER:
        ek_call_cancel(stream->other);
        return 0;
    case CLOSE:
        clientbench_close(&stream->scene->bench);
        return 0;
    case SEND:
        clientbench_send(&stream->scene->bench, &(struct ek_request){.path = "/echo"},
                         &stream->other_outcome);
        return 0;
    case READ_ON:
    default:
        return 0;
    }
}

static void stream_start(struct stream *stream, struct scene *scene, const char *path)
{
    stream->scene = scene;
    ek_buf_init(&stream->text, 1 << 20);
    stream->call =
        ek_client_send(scene->bench.client, &(struct ek_request){.path = path, .on_data = on_data},
                       outcome_keep, stream);
}

static void stream_stop(struct stream *stream)
{
    outcome_done(&stream->outcome);
    outcome_done(&stream->other_outcome);
    ek_buf_done(&stream->text);
}

START_TEST(streams_come_in_pieces)
{
    struct scene scene;
    struct stream stream = {0};

    scene_start(&scene);
    stream_start(&stream, &scene, "/chunks");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, 0);
    ck_assert_str_eq(ek_buf_str(&stream.text), "event\nevent\nevent\nevent\nevent\n");
    ck_assert_uint_eq(stream.outcome.body_size, 0);
    stream_stop(&stream);
    scene_stop(&scene);
}
END_TEST

START_TEST(an_error_answer_is_not_streamed)
{
    struct scene scene;
    struct stream stream = {0};

    scene_start(&scene);
    stream_start(&stream, &scene, "/e/410");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, EK_E_GONE);
    ck_assert_uint_eq(stream.text.len, 0);
    ck_assert_uint_gt(stream.outcome.body_size, 0);
    stream_stop(&stream);
    scene_stop(&scene);
}
END_TEST

START_TEST(a_reader_may_end_its_stream)
{
    struct scene scene;
    struct stream stream = {.act = REFUSE, .act_at = 6};

    scene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, EK_E_GONE);
    ck_assert_int_eq(stream.outcome.n_done, 1);
    stream_stop(&stream);
    scene_stop(&scene);
}
END_TEST

START_TEST(cancelling_inside_a_callback_is_safe)
{
    struct scene scene;
    struct stream stream = {.act = CANCEL, .act_at = 6};
    struct outcome after;

    scene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &after);
    ck_assert_int_eq(after.err.code, 0);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    outcome_done(&after);
    stream_stop(&stream);
    scene_stop(&scene);
}
END_TEST

START_TEST(cancelling_another_inside_a_callback_is_safe)
{
    struct scene scene;
    struct stream stream = {.act = CANCEL_OTHER, .act_at = 30};

    scene_start(&scene);
    stream.other = clientbench_send(&scene.bench, &(struct ek_request){.path = "/stall"},
                                    &stream.other_outcome);
    stream_start(&stream, &scene, "/chunks");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.acted, 1);
    ck_assert_int_eq(stream.other_outcome.n_done, 0);
    ck_assert_int_eq(stream.outcome.err.code, 0);
    stream_stop(&stream);
    scene_stop(&scene);
}
END_TEST

START_TEST(closing_inside_a_callback_is_safe)
{
    struct scene scene;
    struct stream stream = {.act = CLOSE, .act_at = 6};

    scene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    scene_stop(&scene);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    stream_stop(&stream);
}
END_TEST

START_TEST(sending_inside_a_callback_is_safe)
{
    struct scene scene;
    struct stream stream = {.act = SEND, .act_at = 6};

    scene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    clientbench_run_until(&scene.bench, &stream.other_outcome.n_done);
    ck_assert_int_eq(stream.other_outcome.err.code, 0);
    scene_stop(&scene);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    stream_stop(&stream);
}
END_TEST

/* Each outcome starts the next request, cancels a neighbour, and at the end closes the client. */
struct chain {
    struct scene *scene;
    struct ek_call *neighbour;
    int n, over;
};

static void on_link(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct chain *chain = ctx;

    ck_assert(err == NULL);
    ck_assert_int_eq(resp->status, 200);
    ek_call_cancel(chain->neighbour);
    chain->neighbour = NULL;
    if (++chain->n == 20) {
        clientbench_close(&chain->scene->bench);
        chain->over = 1;
        return;
    }
    chain->neighbour = ek_client_send(chain->scene->bench.client,
                                      &(struct ek_request){.path = "/stall"}, NULL, NULL);
    ek_client_send(chain->scene->bench.client, &(struct ek_request){.path = "/echo"}, on_link,
                   chain);
}

START_TEST(outcomes_may_send_cancel_and_close)
{
    struct scene scene;
    struct chain chain = {.scene = &scene};

    scene_start(&scene);
    ek_client_send(scene.bench.client, &(struct ek_request){.path = "/echo"}, on_link, &chain);
    clientbench_run_until(&scene.bench, &chain.over);
    scene_stop(&scene);
    ck_assert_int_eq(chain.n, 20);
}
END_TEST

START_TEST(cancelling_before_the_start_is_safe)
{
    struct scene scene;
    struct outcome out, after;

    scene_start(&scene);
    ek_call_cancel(clientbench_send(&scene.bench, &(struct ek_request){.path = "/echo"}, &out));
    ek_call_cancel(NULL);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &after);
    ck_assert_int_eq(out.n_done, 0);
    ck_assert_uint_eq(testserver_requests(scene.server), 1);
    outcome_done(&after);
    scene_stop(&scene);
}
END_TEST

START_TEST(a_hundred_requests_at_once)
{
    enum { N = 100 };
    struct scene scene;
    struct outcome out[N];

    scene_start(&scene);
    for (int i = 0; i < N; i++)
        clientbench_send(&scene.bench, &(struct ek_request){.path = "/echo"}, &out[i]);
    for (int i = 0; i < N; i++) {
        clientbench_run_until(&scene.bench, &out[i].n_done);
        ck_assert_msg(out[i].err.code == 0, "%d: %s", i, out[i].err.message);
        outcome_done(&out[i]);
    }
    ck_assert_uint_eq(testserver_requests(scene.server), N);
    scene_stop(&scene);
}
END_TEST

START_TEST(closing_drops_what_is_under_way)
{
    enum { N = 30 };
    struct scene scene;
    struct outcome out[N];
    struct outcome first;

    scene_start(&scene);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &first);
    for (int i = 0; i < N; i++)
        clientbench_send(&scene.bench,
                         &(struct ek_request){.path = i % 2 ? "/stall" : "/stall/headers"},
                         &out[i]);
    while (testserver_requests(scene.server) < N / 2)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    scene_stop(&scene);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(out[i].n_done, 0);
    outcome_done(&first);
}
END_TEST

START_TEST(connections_are_kept_and_kept_apart)
{
    struct scene scene;
    struct outcome out;

    scene_start(&scene);
    for (int i = 0; i < 3; i++) {
        clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &out);
        outcome_done(&out);
    }
    ck_assert_uint_eq(testserver_connections(scene.server), 1);
    for (int i = 0; i < 3; i++) {
        clientbench_do(&scene.bench,
                       &(struct ek_request){.path = "/echo", .fresh_connection = true}, &out);
        outcome_done(&out);
    }
    ck_assert_uint_eq(testserver_connections(scene.server), 2);
    clientbench_do(
        &scene.bench,
        &(struct ek_request){.path = "/stall", .fresh_connection = true, .timeout_ms = 50}, &out);
    ck_assert_int_eq(out.err.code, EK_E_TIMEOUT);
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo", .fresh_connection = true},
                   &out);
    ck_assert_uint_eq(testserver_connections(scene.server), 3);
    outcome_done(&out);
    scene_stop(&scene);
}
END_TEST

struct observed {
    struct ek_buf text;
    char host[64];
};

static void on_observed(void *ctx, const char *method, const char *code, const char *host,
                        double seconds)
{
    struct observed *observed = ctx;

    ck_assert(seconds >= 0 && seconds < 30);
    snprintf(observed->host, sizeof observed->host, "%s", host);
    ek_buf_printf(&observed->text, "%s %s; ", method, code);
}

START_TEST(each_exchange_is_observed)
{
    static const struct ek_request requests[] = {
        {.path = "/throttle"},
        {.method = "PUT", .path = "/e/409"},
        {.path = "/stall", .timeout_ms = 50},
    };
    struct scene scene;
    struct outcome out;
    struct observed observed;
    char host[64];

    ek_buf_init(&observed.text, 4096);
    scene_start(&scene);
    ek_client_set_observer(scene.bench.client, on_observed, &observed);
    for (size_t i = 0; i < EK_ARRAY_SIZE(requests); i++) {
        clientbench_do(&scene.bench, &requests[i], &out);
        outcome_done(&out);
    }
    ck_assert_str_eq(ek_buf_str(&observed.text),
                     "GET 429; GET 429; GET 200; PUT 409; GET <error>; ");
    snprintf(host, sizeof host, "127.0.0.1:%d", testserver_port(scene.server));
    ck_assert_str_eq(observed.host, host);
    ek_buf_done(&observed.text);
    scene_stop(&scene);
}
END_TEST

static const struct {
    const char *name, *server;
    bool tls;
    const char *origin; /* NULL: refused */
} servers[] = {
    {"https", "https://10.0.0.1:6443", false, "https://10.0.0.1:6443"},
    {"default port", "https://api.example.com", false, "https://api.example.com:443"},
    {"http", "http://localhost:8080/", false, "http://localhost:8080"},
    {"prefix", "https://rancher/k8s/clusters/c-1/", false, "https://rancher:443"},
    {"v6", "https://[fd00::1]:6443", false, "https://[fd00::1]:6443"},
    {"no scheme", "10.0.0.1:6443", false, "http://10.0.0.1:6443"},
    {"no scheme, TLS", "10.0.0.1:6443", true, "https://10.0.0.1:6443"},
    {"another scheme", "ftp://10.0.0.1", false, NULL},
    {"a file", "file:///etc/hosts", false, NULL},
    {"user", "https://jane:pass@10.0.0.1", false, NULL},
    {"query", "https://10.0.0.1/?a=b", false, NULL},
    {"blank", "https://10.0.0.1/ x", false, NULL},
    {"empty", "", false, NULL},
    {"port", "https://10.0.0.1:99999", false, NULL},
};

START_TEST(server_addresses)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct clientbench bench = {0};
    struct ek_err err = {0};
    const char *name = servers[_i].name;

    config->server = ek_xstrdup(servers[_i].server);
    config->insecure_skip_tls_verify = servers[_i].tls;
    if (servers[_i].origin) {
        clientbench_start(&bench, config);
        ck_assert_msg(!strcmp(ek_client_server(bench.client), servers[_i].origin), "%s: %s", name,
                      ek_client_server(bench.client));
        clientbench_stop(&bench);
        return;
    }
    uv_loop_init(&bench.loop);
    ck_assert_msg(ek_client_new(&bench.loop, config, "x", &bench.client, &err) == EK_E_INVAL,
                  "%s: accepted", name);
    ck_assert_msg(!strstr(err.message, "pass"), "%s: %s", name, err.message);
    ck_assert_int_eq(uv_loop_close(&bench.loop), 0);
}
END_TEST

START_TEST(uri_escape)
{
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) small;

    ek_buf_init(&out, 1000);
    ck_assert_int_eq(ek_uri_escape(&out, "aZ09-._~ /?&=%+,\"\xc3\xa9"), 0);
    ck_assert_str_eq(ek_buf_str(&out), "aZ09-._~%20%2F%3F%26%3D%25%2B%2C%22%C3%A9");
    ek_buf_init(&small, 4);
    ck_assert_int_eq(ek_uri_escape(&small, "ab//"), EK_E_LIMIT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client");
    TCase *tcase = tcase_create("client");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_request_carries_what_it_should);
    tcase_add_loop_test(tcase, methods_and_bodies, 0, (int)EK_ARRAY_SIZE(methods));
    tcase_add_test(tcase, headers_of_the_final_answer_are_kept);
    tcase_add_loop_test(tcase, errors_say_what_and_where, 0, (int)EK_ARRAY_SIZE(errors));
    tcase_add_loop_test(tcase, what_may_pass_is_tried_again, 0, (int)EK_ARRAY_SIZE(recoveries));
    tcase_add_test(tcase, bodies_are_unpacked_and_whole);
    tcase_add_test(tcase, nobody_listening_is_refused);
    tcase_add_test(tcase, streams_come_in_pieces);
    tcase_add_test(tcase, an_error_answer_is_not_streamed);
    tcase_add_test(tcase, a_reader_may_end_its_stream);
    tcase_add_test(tcase, cancelling_inside_a_callback_is_safe);
    tcase_add_test(tcase, cancelling_another_inside_a_callback_is_safe);
    tcase_add_test(tcase, closing_inside_a_callback_is_safe);
    tcase_add_test(tcase, sending_inside_a_callback_is_safe);
    tcase_add_test(tcase, outcomes_may_send_cancel_and_close);
    tcase_add_test(tcase, cancelling_before_the_start_is_safe);
    tcase_add_test(tcase, a_hundred_requests_at_once);
    tcase_add_test(tcase, closing_drops_what_is_under_way);
    tcase_add_test(tcase, connections_are_kept_and_kept_apart);
    tcase_add_test(tcase, each_exchange_is_observed);
    tcase_add_loop_test(tcase, server_addresses, 0, (int)EK_ARRAY_SIZE(servers));
    tcase_add_test(tcase, uri_escape);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
