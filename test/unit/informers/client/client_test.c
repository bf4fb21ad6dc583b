/* SPDX-License-Identifier: Apache-2.0 */
/* The API client over plain HTTP: what it sends, what it makes of answers, what it tries again. How
 * requests live and end is in client_life_test.c, TLS in client_tls_test.c. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/clientscene.h"
#include "test/support/patience.h"
#include "test/support/suite.h"

static struct clientscene scene;
static struct outcome out;

static void start(void)
{
    clientscene_start(&scene);
}

static void stop(void)
{
    outcome_done(&out);
    clientscene_stop(&scene);
}

/* Sends a request; out is the answer until the next one. */
static void do_request(const struct ek_request *request)
{
    outcome_done(&out);
    clientbench_do(&scene.bench, request, &out);
}

/* Over plain HTTP that is nothing of who we are; with TLS see client_tls_test.c. */
START_TEST(a_request_carries_what_it_should)
{
    clientscene_config(&scene);
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
    do_request(&(struct ek_request){.method = "PATCH",
                                    .path = "/echo?fieldManager=a%20b",
                                    .content_type = "application/apply-patch+yaml",
                                    .body = "a: 1\n",
                                    .body_size = 5,
                                    .if_none_match = "\"tag\"",
                                    .user_agent_suffix = "leader-election"});
    ck_assert_int_eq(out.err.code, 0);
    ck_assert_str_eq(out.body, "PATCH /prefix/echo?fieldManager=a%20b\n"
                               "Accept: application/json\n"
                               "Content-Type: application/apply-patch+yaml\n"
                               "User-Agent: evenkeel/test (linux/amd64)/leader-election\n"
                               "If-None-Match: \"tag\"\n"
                               "Authorization: \n"
                               "Accept-Encoding: gzip\n"
                               "Expect: \n"
                               "a: 1\n");
    stop();
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
    const char *name = methods[_i].name;

    do_request(&methods[_i].request);
    ck_assert_msg(out.err.code == 0, "%s: %s", name, out.err.message);
    ck_assert_msg(!strncmp(out.body, methods[_i].first_line, strlen(methods[_i].first_line)),
                  "%s: %s", name, out.body);
    size_t tail = strlen(methods[_i].last_line);
    ck_assert_msg(out.body_size >= tail &&
                      !strcmp(out.body + out.body_size - tail, methods[_i].last_line),
                  "%s: %s", name, out.body);
}
END_TEST

START_TEST(headers_of_the_final_answer_are_kept)
{
    do_request(&(struct ek_request){.path = "/headers"});
    ck_assert_str_eq(out.etag, "\"ABC\"");
    ck_assert_str_eq(out.content_type, "application/json;g=apidiscovery.k8s.io");
    ck_assert_str_eq(out.warning, "policy/v1beta1 is \"old\"");
    ck_assert_str_eq(out.fingerprint, "");
    do_request(&(struct ek_request){.path = "/etag", .if_none_match = "\"ABC\""});
    ck_assert_int_eq(out.status, 304);
    ck_assert_int_eq(out.err.code, 0);
    ck_assert_uint_eq(out.body_size, 0);
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
     {.path = "/e/429long", .timeout_ms = 29000},
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
     "connected, but no answer within ",
     1},
    {"no end",
     {.path = "/stall/headers", .timeout_ms = 100},
     EK_E_TIMEOUT,
     200,
     "",
     0,
     "the answer did not end within ",
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
     {.path = "/echo", .connect_to = "10.0.0.1:1", .tls_name = "a/b", .bearer = "x"},
     EK_E_INVAL,
     0,
     "",
     0,
     "host name",
     0},
    {"tls name in brackets",
     {.path = "/echo", .connect_to = "[::1]:1", .tls_name = "[::1]", .bearer = "x"},
     EK_E_INVAL,
     0,
     "",
     0,
     "host name",
     0},
    {"a token with a line end",
     {.path = "/echo", .connect_to = "10.0.0.1:1", .bearer = "s3cret\r\nX: y"},
     EK_E_INVAL,
     0,
     "",
     0,
     "control characters",
     0},
    {"a token for the configured server",
     {.path = "/echo", .bearer = "s3cret"},
     EK_E_INVAL,
     0,
     "",
     0,
     "needs an address",
     0},
    {"our credentials for another name",
     {.path = "/echo", .connect_to = "10.0.0.1:1", .tls_name = "10.0.0.1"},
     EK_E_INVAL,
     0,
     "",
     0,
     "go to kubernetes.default.svc",
     0},
    {"a server that nothing proves",
     {.path = "/echo", .connect_to = "10.0.0.1:1"},
     EK_E_TLS,
     0,
     "",
     0,
     "no certificate authority of the cluster is configured",
     0},
};

static bool is_said(const char *message, const char *want)
{
    return *want == '=' ? !strcmp(message, want + 1) : strstr(message, want) != NULL;
}

START_TEST(errors_say_what_and_where)
{
    struct ek_request request = errors[_i].request;
    const char *name = errors[_i].name, *message = errors[_i].message;
    bool times_out = errors[_i].code == EK_E_TIMEOUT && request.timeout_ms;

    PATIENCE_FOR(limit_ms, times_out ? request.timeout_ms : PATIENCE_LAST_MS)
    {
        if (times_out)
            request.timeout_ms = limit_ms;
        do_request(&request);
        if (is_said(out.err.message, message) || patience_is_over(limit_ms))
            break;
        stop();
        start();
    }
    ck_assert_msg(out.err.code == errors[_i].code, "%s: code %d (%s)", name, out.err.code,
                  out.err.message);
    ck_assert_msg(out.err.http_status == errors[_i].http_status, "%s: HTTP %d", name,
                  out.err.http_status);
    ck_assert_msg(!strcmp(out.err.reason, errors[_i].reason), "%s: reason %s", name,
                  out.err.reason);
    ck_assert_msg(out.err.retry_after_ms == errors[_i].retry_after_ms, "%s: retry after %lld", name,
                  (long long)out.err.retry_after_ms);
    ck_assert_msg(is_said(out.err.message, message), "%s: %s", name, out.err.message);
    ck_assert_msg(testserver_requests(scene.server) == errors[_i].n_requests, "%s: %u requests",
                  name, testserver_requests(scene.server));
}
END_TEST

static const struct {
    const char *name;
    struct ek_request request;
    const char *body;
    unsigned n_requests;
} recoveries[] = {
    {"429 twice", {.path = "/throttle"}, "ok", 3},
    {"503 twice", {.path = "/throttle/503", .timeout_ms = 600000}, "ok", 3},
    {"the body goes again",
     {.method = "POST", .path = "/throttle", .body = "again", .body_size = 5},
     "again",
     3},
    {"reset once", {.path = "/reset/once"}, "recovered", 2},
    {"end of file once", {.path = "/reset/once/eof"}, "recovered", 2},
};

START_TEST(what_may_pass_is_tried_again)
{
    const char *name = recoveries[_i].name;

    do_request(&recoveries[_i].request);
    ck_assert_msg(out.err.code == 0, "%s: %s", name, out.err.message);
    ck_assert_msg(!strcmp(out.body, recoveries[_i].body), "%s: %s", name, out.body);
    ck_assert_msg(testserver_requests(scene.server) == recoveries[_i].n_requests, "%s: %u", name,
                  testserver_requests(scene.server));
}
END_TEST

START_TEST(bodies_are_unpacked_and_whole)
{
    do_request(&(struct ek_request){.path = "/gzip"});
    ck_assert_uint_eq(out.body_size, 100000);
    do_request(&(struct ek_request){.path = "/big"});
    ck_assert_uint_eq(out.body_size, 5000000);
    do_request(&(struct ek_request){.path = "/big/hints", .max_body = 5000000});
    ck_assert_int_eq(out.err.code, 0);
}
END_TEST

START_TEST(nobody_listening_is_refused)
{
    clientscene_config(&scene);
    clientbench_start(&scene.bench, scene.config);
    testserver_stop(scene.server);
    do_request(&(struct ek_request){.path = "/version"});
    ck_assert_int_eq(out.err.code, EK_E_REFUSED);
    ck_assert_int_eq(out.status, 0);
    ck_assert_msg(strstr(out.err.message, "GET 127.0.0.1:") && strstr(out.err.message, "/version"),
                  "%s", out.err.message);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    ek_client_config_free(scene.config);
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
    EK_AUTO(ek_buf) escaped;
    EK_AUTO(ek_buf) small;

    ek_buf_init(&escaped, 1000);
    ck_assert_int_eq(ek_uri_escape(&escaped, "aZ09-._~ /?&=%+,\"\xc3\xa9"), 0);
    ck_assert_str_eq(ek_buf_str(&escaped), "aZ09-._~%20%2F%3F%26%3D%25%2B%2C%22%C3%A9");
    ek_buf_init(&small, 4);
    ck_assert_int_eq(ek_uri_escape(&small, "ab//"), EK_E_LIMIT);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client"), *configured = tcase_create("configured");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_loop_test(tcase, methods_and_bodies, 0, (int)EK_ARRAY_SIZE(methods));
    tcase_add_test(tcase, headers_of_the_final_answer_are_kept);
    tcase_add_loop_test(tcase, errors_say_what_and_where, 0, (int)EK_ARRAY_SIZE(errors));
    tcase_add_loop_test(tcase, what_may_pass_is_tried_again, 0, (int)EK_ARRAY_SIZE(recoveries));
    tcase_add_test(tcase, bodies_are_unpacked_and_whole);
    tcase_set_timeout(configured, 60);
    tcase_add_test(configured, a_request_carries_what_it_should);
    tcase_add_test(configured, nobody_listening_is_refused);
    tcase_add_loop_test(configured, server_addresses, 0, (int)EK_ARRAY_SIZE(servers));
    tcase_add_test(configured, uri_escape);
    return ek_test_run("client", tcase, configured);
}
