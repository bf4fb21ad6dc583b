/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy over sockets: answers of an API server that are no answer for the client, and heads
 * that are not complete. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

static struct proxy_fixture fixture;
static atomic_int unknown; /* bit i: server i answers that it does not know the type */
static atomic_int stops;   /* requests that servers still refuse as they stop */

/* The index of OpenAPI: what the server serves, whole. */
static void index_of(const struct proxy_fixture_server *server,
                     const struct testserver_request *request, struct testserver_conn *conn)
{
    char text[300], tag[64];
    const char *own = server->name[0] == 'b' ? "batch" : "apps";

    testserver_header(request, "If-None-Match", tag, sizeof tag);
    snprintf(text, sizeof text,
             "{\"paths\":{\"api/v1\":{\"serverRelativeURL\":\"/openapi/v3/api/v1?hash=%s\"},"
             "\"apis/%s/v1\":{\"serverRelativeURL\":\"/openapi/v3/apis/%s/v1?hash=H\"}}}",
             server->name, own, own);
    testserver_reply(conn, *tag ? 304 : 200, "Content-Type: application/json\r\nETag: \"own\"\r\n",
                     text);
}

static void stream(struct testserver_conn *conn)
{
    const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"a\"}\n\r\n";

    testserver_write(conn, head, sizeof head - 1);
    testserver_stall(conn);
    uv_sem_post(&fixture.entered); /* the proxy has let go */
    testserver_close(conn);
}

/* Answers with the name of the server. */
static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;
    char text[64];

    snprintf(text, sizeof text, "%s:%zu", server->name, request->body_size);
    if (atomic_load(&unknown) & (server->name[0] == 'b' ? 2 : 1))
        testserver_reply(conn, 404, "Content-Type: text/plain; charset=utf-8\r\n",
                         "404 page not found\n");
    else if (atomic_fetch_sub(&stops, 1) > 0)
        testserver_reply(conn, 503, "Content-Type: application/json\r\nRetry-After: 1\r\n",
                         "{\"kind\":\"Status\",\"message\":\"apiserver is shutting down\"}\n");
    else if (!strcmp(request->target, "/openapi/v3"))
        index_of(server, request, conn);
    else if (strstr(request->target, "watch"))
        stream(conn);
    else
        testserver_reply(conn, 200, "Content-Type: text/plain\r\n", text);
}

static void setup(void)
{
    atomic_store(&unknown, 0);
    atomic_store(&stops, 0);
    proxy_fixture_prepare(&fixture, handle);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
}

#define PODS "/api/v1/namespaces/n/pods"
#define JOBS "/apis/batch/v1/namespaces/n/jobs"

static const char watch[] = "GET " PODS "?watch=true HTTP/1.1\r\nHost: h\r\n\r\n";

static void expect_get(const char *path, const char *status, const char *body)
{
    char *got = proxy_fixture_get(&fixture, path);

    ck_assert_msg(!strncmp(got + 9, status, 3), "%s: %s", path, got);
    ck_assert_msg(strstr(got, body) != NULL, "%s: %s", path, got);
    ek_free(got);
}

static int n_requests(size_t i)
{
    return atomic_load(&fixture.servers[i].requests);
}

/* ---- OpenAPI ---- */

/* Whichever server is asked, the index has the documents of both; each comes from a holder. */
START_TEST(merges_the_index_of_openapi)
{
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        int fd = proxy_fixture_connect(&fixture);
        char *got =
            http_request(fd, "GET /openapi/v3 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n"
                             "If-None-Match: \"own\"\r\n\r\n");
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
        ck_assert_ptr_null(strstr(got, "ETag"));
        ck_assert_ptr_nonnull(strstr(got, "/openapi/v3/api/v1?hash="));
        ck_assert_ptr_nonnull(strstr(got, "\"/openapi/v3/apis/apps/v1"));
        ck_assert_ptr_nonnull(strstr(got, "\"/openapi/v3/apis/batch/v1"));
        ek_free(got);
        close(fd);
        expect_get("/openapi/v3/apis/batch/v1?hash=H", "200", "b:0");
        expect_get("/openapi/v3/apis/apps/v1", "200", "a:0");
        expect_get("/openapi/v3/apis/batch", "200", "b:0");
    }
    ck_assert_int_gt(n_requests(0), 4);
    ck_assert_int_gt(n_requests(1), 4);
}
END_TEST

START_TEST(answers_openapi_while_a_server_is_away)
{
    proxy_fixture_start(&fixture);
    fixture.servers[1].routable = false;
    fixture.servers[1].unknown = _i == 1;
    proxy_fixture_publish(&fixture);
    expect_get("/openapi/v3", _i ? "503" : "200", _i ? "\"kind\":\"Status\"" : "apis/apps/v1");
    expect_get("/openapi/v3/apis/batch/v1", "503", "Retry-After: 1\r\n");
    expect_get("/openapi/v3/apis/apps/v1", "200", "a:0");
    if (_i)
        return;
    char *got = proxy_fixture_get(&fixture, "/openapi/v3");
    ck_assert_msg(!strstr(got, "batch"), "%s", got); /* nobody can send the document */
    ek_free(got);
}
END_TEST

/* ---- Refusals ---- */

/* A server that stops has done nothing: any request whose octets are at hand goes to the other one.
 */
START_TEST(goes_on_after_a_refusal)
{
    static const struct {
        const char *request;
        int n_stops;
        const char *status, *says;
        int n_requests;
    } rows[] = {
        {"GET " PODS, 1, "200", ":0", 2},
        {"DELETE " PODS "/x", 1, "200", ":0", 2},
        {"GET " PODS, 2, "503", "apiserver is shutting down", 2},
        {"GET " JOBS, 1, "503", "Retry-After: 1\r\n", 1},
        {"GET /version", 1, "200", ":0", 2},
        {"GET /apis", 1, "200", "APIGroupList", 2},
    };
    char text[200];

    atomic_store(&stops, rows[_i].n_stops);
    proxy_fixture_start(&fixture);
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
             rows[_i].request);
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_exchange(fd, text, 65536, NULL);
    ck_assert_msg(!strncmp(got + 9, rows[_i].status, 3), "%s", got);
    ck_assert_msg(strstr(got, rows[_i].says) != NULL, "%s", got);
    ck_assert_int_eq(n_requests(0) + n_requests(1), rows[_i].n_requests);
    ck_assert_int_gt(atomic_load(&fixture.stale), 0);
    ek_free(got);
    close(fd);
}
END_TEST

/* The octets of its body have gone: the client gets the answer of the server that stops. */
START_TEST(passes_on_a_refusal)
{
    atomic_store(&stops, 1);
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got =
        http_request(fd, "POST " PODS " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab");
    ck_assert_msg(strstr(got, "apiserver is shutting down") != NULL, "%s", got);
    ck_assert_int_eq(n_requests(0) + n_requests(1), 1);
    ek_free(got);
    close(fd);
}
END_TEST

/* One says that it does not know the type, and the other one cannot be reached, before or after
 * that: the client gets the answer that is at hand, or 503. */
START_TEST(answers_after_an_unknown_type_and_a_failure)
{
    int n_503 = 0;

    atomic_store(&unknown, 1);
    proxy_fixture_kill(&fixture, 1);
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        char *got = proxy_fixture_get(&fixture, "/apis/new/v1/things");
        bool unavailable = !strncmp(got, "HTTP/1.1 503 ", 13);
        ck_assert_msg(strstr(got, unavailable ? "Retry-After: 1\r\n" : "404 page not found"), "%s",
                      got);
        n_503 += unavailable;
        ek_free(got);
    }
    ck_assert_int_gt(n_503, 0);
}
END_TEST

/* ---- Limits of a head ---- */

/* A request that is refused is told apart by the text, which has the limit. */
START_TEST(reports_the_limit_of_a_head)
{
    static const struct {
        int n_lines, line_len, target_len;
        const char *version, *status, *says;
    } rows[] = {
        {1000, 20, 100, "1.1", "200", ":0"},
        {1100, 20, 100, "1.1", "431", "more than 262144 octets or 1024 lines"},
        {3, 100000, 100, "1.1", "431", "more than 262144 octets or 1024 lines"},
        {2, 100000, 100, "1.1", "200", ":0"},
        {0, 0, 130000, "1.1", "200", ":0"},
        {0, 0, 132000, "1.1", "414", "its URL has more than 131072 octets"},
        {0, 0, 270000, "1.1", "414", "the URL of the request has more than 262144 octets"},
        {0, 0, 100, "1.2", "505", "the version of HTTP is neither 1.0 nor 1.1"},
        {0, 0, 100, "1.1\r\nno colon", "400", "the request is not valid HTTP"},
    };
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)1 << 20);
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    ek_buf_printf(&text, "GET " PODS "?x=%0*d HTTP/%s\r\nHost: h\r\nConnection: close\r\n",
                  rows[_i].target_len, 0, rows[_i].version);
    for (int i = 0; i < rows[_i].n_lines; i++)
        ek_buf_printf(&text, "Impersonate-Group: %0*d\r\n", rows[_i].line_len, i);
    ek_buf_puts(&text, "\r\n");
    char *got = http_exchange(fd, ek_buf_str(&text), 65536, NULL);
    ck_assert_msg(strlen(got) > 12 && !strncmp(got + 9, rows[_i].status, 3), "%s", got);
    ck_assert_msg(strstr(got, rows[_i].says) != NULL, "%s", got);
    ek_free(got);
    close(fd);
}
END_TEST

/* ---- Heads that are not complete ---- */

static void limit_heads(bool of_client)
{
    struct ek_proxy_options *o = &fixture.config.options;

    *(of_client ? &o->head_octets_per_client : &o->head_octets) = 3000;
}

/* Heads that do not end, of connections without a request. */
START_TEST(limits_heads_that_are_not_complete)
{
    char text[2500];

    limit_heads(_i);
    proxy_fixture_start(&fixture);
    int first = proxy_fixture_connect(&fixture), second = proxy_fixture_connect(&fixture);
    int len = snprintf(text, sizeof text, "GET " PODS " HTTP/1.1\r\nHost: h\r\nX-Pad: %01900d", 0);
    ck_assert_int_eq(send(first, text, (size_t)len, 0), len);
    while (proxy_fixture_stats(&fixture).head_octets < 1900)
        ;
    char *got = http_exchange(second, text, 65536, NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 503 ", 13), "%s", got);
    ck_assert_ptr_nonnull(strstr(got, "Retry-After: 1"));
    ek_free(got);
    close(second);
    ck_assert_uint_le(proxy_fixture_stats(&fixture).head_octets, 3000);
    got = http_request(first, "\r\n\r\n");
    ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
    ek_free(got);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).head_octets, 0);
    close(first);
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* Short lines take more memory than octets. */
START_TEST(limits_lines_of_a_head)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    limit_heads(_i);
    proxy_fixture_start(&fixture);
    ek_buf_puts(&text, "GET " PODS " HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 180; i++)
        ek_buf_puts(&text, "y:\r\n");
    ek_buf_puts(&text, "\r\n");
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_request(fd, ek_buf_str(&text));
    ck_assert_msg(!strncmp(got + 9, _i ? "429" : "503", 3), "%s", got);
    ek_free(got);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).head_octets, 0);
}
END_TEST

/* What comes behind a watch is held until that ends, which may be hours. */
START_TEST(limits_what_waits_behind_a_request)
{
    char text[4001], c;

    limit_heads(_i);
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    ck_assert_int_eq(send(fd, watch, sizeof watch - 1, 0), sizeof watch - 1);
    ck_assert_int_eq(recv(fd, &c, 1, MSG_PEEK), 1); /* the watch has begun */
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(send(fd, text, sizeof text, 0), sizeof text);
    while (recv(fd, &c, 1, 0) > 0)
        ;
    close(fd);
    uv_sem_wait(&fixture.entered);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).head_octets, 0);
    expect_get(PODS, "200", ":0");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("proxy_answers");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, merges_the_index_of_openapi);
    tcase_add_loop_test(tcase, answers_openapi_while_a_server_is_away, 0, 2);
    tcase_add_loop_test(tcase, goes_on_after_a_refusal, 0, 6);
    tcase_add_test(tcase, passes_on_a_refusal);
    tcase_add_test(tcase, answers_after_an_unknown_type_and_a_failure);
    tcase_add_loop_test(tcase, reports_the_limit_of_a_head, 0, 9);
    tcase_add_loop_test(tcase, limits_heads_that_are_not_complete, 0, 2);
    tcase_add_loop_test(tcase, limits_lines_of_a_head, 0, 2);
    tcase_add_loop_test(tcase, limits_what_waits_behind_a_request, 0, 2);
    return ek_test_run("proxy_answers", tcase);
}
