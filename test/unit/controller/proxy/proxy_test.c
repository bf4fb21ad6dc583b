/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy over sockets, in front of two API servers that serve different resources. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

static struct proxy_fixture fixture;
static atomic_int fails;   /* connections that handlers of FAIL still break */
static atomic_int unknown; /* bit i: server i answers that it does not know the type */

static bool is(const struct testserver_request *request, const char *part)
{
    return strstr(request->target, part) != NULL;
}

static void stream(struct testserver_conn *conn)
{
    const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"a\"}\n\r\n";

    testserver_write(conn, head, sizeof head - 1);
    uv_sem_wait(&fixture.gate);
    testserver_write(conn, "6\r\n{\"b\"}\n\r\n", 11);
    testserver_stall(conn);
    uv_sem_post(&fixture.entered); /* the proxy has let go */
    testserver_close(conn);
}

static void upgrade(struct testserver_conn *conn)
{
    const char head[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                        "Upgrade: websocket\r\n\r\nhello";

    testserver_write(conn, head, sizeof head - 1);
    testserver_stall(conn);
    uv_sem_post(&fixture.entered);
    testserver_close(conn);
}

static void big(struct testserver_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n";
    static char piece[100000];

    memset(piece, 'x', sizeof piece);
    testserver_write(conn, head, sizeof head - 1);
    for (int i = 0; i < 200; i++)
        testserver_write(conn, piece, sizeof piece);
}

/* Answers with the server's name; what a path names happens. */
static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;
    char text[64];

    snprintf(text, sizeof text, "%s:%zu", server->name, request->body_size);
    if (atomic_load(&unknown) & (server->name[0] == 'b' ? 2 : 1))
        testserver_reply(conn, 404, "Content-Type: text/plain; charset=utf-8\r\n",
                         "404 page not found\n");
    else if (is(request, "fail") && atomic_fetch_sub(&fails, 1) > 0)
        testserver_reset(conn);
    else if (is(request, "watch"))
        stream(conn);
    else if (is(request, "exec"))
        upgrade(conn);
    else if (is(request, "big"))
        big(conn);
    else if (is(request, "cut")) {
        testserver_write(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 41);
        testserver_reset(conn);
    } else if (is(request, "gone"))
        testserver_reply(
            conn, 404, "Content-Type: application/json\r\n",
            "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"gone\","
            "\"kind\":\"pods\"}}");
    else if (is(request, "hang")) {
        uv_sem_post(&fixture.entered);
        testserver_stall(conn);
        testserver_close(conn);
    } else
        testserver_reply(conn, 200, "Content-Type: text/plain\r\n", text);
}

static void setup(void)
{
    atomic_store(&fails, 0);
    atomic_store(&unknown, 0);
    proxy_fixture_prepare(&fixture, handle);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
}

#define PODS "/api/v1/namespaces/n/pods"
#define JOBS "/apis/batch/v1/namespaces/n/jobs"
#define DEPL "/apis/apps/v1/namespaces/n/deployments"

static void expect_get(const char *path, const char *status, const char *body)
{
    char *got = proxy_fixture_get(&fixture, path);
    char line[64];

    snprintf(line, sizeof line, "HTTP/1.1 %s ", status);
    ck_assert_msg(!strncmp(got, line, strlen(line)), "%s: %s", path, got);
    ck_assert_msg(strstr(got, body) != NULL, "%s: %s", path, got);
    ek_free(got);
}

static int n_requests(size_t i)
{
    return atomic_load(&fixture.servers[i].requests);
}

/* ---- Routing ---- */

START_TEST(routes_to_the_holder)
{
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 3; i++) {
        expect_get(JOBS, "200", "b:0");
        expect_get(DEPL "/x", "200", "a:0");
    }
    ck_assert_int_eq(n_requests(0), 3);
    ck_assert_int_eq(n_requests(1), 3);
}
END_TEST

/* A 404 for what exists is the hazard: 503 while the one that serves it is away. */
START_TEST(answers_503_while_the_holder_is_away)
{
    proxy_fixture_start(&fixture);
    fixture.servers[1].routable = false;
    fixture.servers[1].down = true;
    proxy_fixture_publish(&fixture);
    expect_get(JOBS, "503", "\"kind\":\"Status\"");
    expect_get(JOBS, "503", "Retry-After: 1\r\n");
    ck_assert_int_eq(n_requests(0), 0);
    ck_assert_int_eq(atomic_load(&fixture.stale), 2); /* it is probed again at once */
}
END_TEST

START_TEST(answers_503_before_all_are_known)
{
    fixture.servers[1].unknown = true;
    fixture.servers[1].routable = false;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    expect_get("/apis/new/v1/things", "503", "\"reason\":\"ServiceUnavailable\"");
    expect_get(DEPL, "200", "a:0");
}
END_TEST

START_TEST(passes_on_what_nobody_knows)
{
    atomic_store(&unknown, 3);
    proxy_fixture_start(&fixture);
    expect_get("/apis/new/v1/things", "404", "404 page not found");
    ck_assert_int_eq(n_requests(0) + n_requests(1), 2);
}
END_TEST

/* The documents are behind: another one may know. */
START_TEST(goes_on_after_an_unknown_type)
{
    atomic_store(&unknown, 1 << _i);
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++)
        expect_get(PODS, "200", _i ? "a:0" : "b:0");
    ck_assert_int_gt(atomic_load(&fixture.stale), 0);
}
END_TEST

START_TEST(passes_on_that_an_object_is_gone)
{
    proxy_fixture_start(&fixture);
    expect_get(PODS "/gone", "404", "\"kind\":\"pods\"");
    ck_assert_int_eq(n_requests(0) + n_requests(1), 1);
}
END_TEST

START_TEST(keeps_the_peer_of_a_connection)
{
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *first = http_request(fd, "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        char *next = http_request(fd, "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert_str_eq(next, first);
        ek_free(next);
    }
    ek_free(first);
    close(fd);
    /* One connection to it served all. */
    ck_assert_uint_eq(testserver_connections(fixture.servers[0].server) +
                          testserver_connections(fixture.servers[1].server),
                      1);
}
END_TEST

/* ---- Failures ---- */

START_TEST(repeats_a_read_once)
{
    atomic_store(&fails, 1);
    proxy_fixture_start(&fixture);
    expect_get(PODS "/fail", "200", ":0");
    atomic_store(&fails, 2);
    expect_get(PODS "/fail", "503", "\"kind\":\"Status\"");
    ck_assert_int_eq(n_requests(0) + n_requests(1), 4);
}
END_TEST

/* A write that was sent may have been carried out: it is not sent again, and clients are not told
 * to.
 */
START_TEST(repeats_no_write)
{
    atomic_store(&fails, 1);
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got =
        http_request(fd, "POST " PODS "/fail HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab");
    ck_assert_msg(!strncmp(got, "HTTP/1.1 503 ", 13), "%s", got);
    ck_assert_ptr_null(strstr(got, "Retry-After"));
    ck_assert_int_eq(n_requests(0) + n_requests(1), 1);
    ek_free(got);
    close(fd);
}
END_TEST

/* Nothing was sent, so a write may go to the other one. */
START_TEST(dials_another_server)
{
    proxy_fixture_kill(&fixture, 0);
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        int fd = proxy_fixture_connect(&fixture);
        char *got =
            http_request(fd, "POST " PODS " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab");
        ck_assert_msg(strstr(got, "b:2") != NULL, "%s", got);
        ek_free(got);
        close(fd);
    }
    expect_get(DEPL, "503", "Retry-After: 1\r\n");
}
END_TEST

/* From the start, or while connections to the servers wait in the pool: those are of no use. */
START_TEST(trusts_proven_servers_only)
{
    struct testpki_cert other = testpki_authority("other");
    struct ek_proxy_trusts trusts = {0};
    struct ek_err err = {0};

    ck_assert_int_eq(
        ek_tls_trust_new(ek_str_from(other.cert), EK_STR(""), EK_STR(""), "ca", &trusts.bare, &err),
        0);
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4 * _i; i++)
        expect_get(PODS, "200", ":0");
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).peer_connections > 0, _i);
    int before = n_requests(0) + n_requests(1);
    ek_proxy_board_set_trusts(fixture.board, trusts);
    expect_get(PODS, "503", "Retry-After: 1\r\n");
    ck_assert_int_eq(n_requests(0) + n_requests(1), before);
    testpki_done(&other);
}
END_TEST

/* The client must see that something is missing: the connection is reset. */
START_TEST(breaks_a_truncated_response)
{
    char piece[4096];
    size_t got = 0;
    ssize_t n;

    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    const char text[] = "GET " PODS "/cut HTTP/1.1\r\nHost: h\r\n\r\n";
    ck_assert_int_eq(send(fd, text, sizeof text - 1, 0), sizeof text - 1);
    while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
        got += (size_t)n;
    ck_assert_int_eq(n, -1);
    ck_assert_uint_lt(got, 100);
    close(fd);
}
END_TEST

/* ---- Bytes ---- */

START_TEST(streams_bodies)
{
    char *body = ek_xalloc(3000001);
    char *text = ek_xalloc(3001000);

    memset(body, 'y', 3000000);
    snprintf(text, 3001000,
             "PUT " PODS "/x HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n%s", body);
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_request(fd, text);
    ck_assert_msg(strstr(got, ":3000000") != NULL, "%s", got);
    ek_free(got);
    close(fd);
    ek_free(body);
    ek_free(text);
}
END_TEST

/* 20 MB pass through buffers of 64 KiB, at the pace of the client. */
START_TEST(serves_a_slow_client)
{
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture), size = 256 * 1024;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    size_t len = 0;
    char *got = http_exchange(
        fd, "GET " PODS "/big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 64 << 20, &len);
    const char *body = strstr(got, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    ck_assert_uint_eq(len - (size_t)(body + 4 - got), 20000000);
    ek_free(got);
    close(fd);
}
END_TEST

static const char watch[] = "GET " PODS "?watch=true HTTP/1.1\r\nHost: h\r\n\r\n";

static char *expect(int fd, const char *send_text, size_t n)
{
    size_t len;
    char *got = http_exchange(fd, send_text, n, &len);

    ck_assert_msg(len == n, "%zu of %zu: %s", len, n, got);
    return got;
}

/* Each event is with the client before the next one exists. */
static int open_watch(void)
{
    int fd = proxy_fixture_connect(&fixture);
    const char first[] = "HTTP/1.1 200 \r\nContent-Type: application/json\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"a\"}\n\r\n";
    char *got = expect(fd, watch, sizeof first - 1);

    ck_assert_str_eq(got, first);
    ek_free(got);
    return fd;
}

START_TEST(streams_a_watch)
{
    proxy_fixture_start(&fixture);
    int fd = open_watch();
    uv_sem_post(&fixture.gate);
    char *got = expect(fd, "", 11);
    ck_assert_str_eq(got, "6\r\n{\"b\"}\n\r\n");
    ek_free(got);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).requests, 1);
    close(fd);
    uv_sem_wait(&fixture.entered); /* the client has gone: so has the request to the server */
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

START_TEST(tunnels)
{
    const char first[] = "HTTP/1.1 101 \r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";

    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got = expect(fd,
                       "GET " PODS "/x/exec HTTP/1.1\r\nHost: h\r\nConnection: "
                       "Upgrade\r\nUpgrade: websocket\r\n\r\n",
                       sizeof first - 1);
    ck_assert_str_eq(got, first);
    ek_free(got);
    close(fd);
    uv_sem_wait(&fixture.entered);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).peer_connections, 0);
}
END_TEST

START_TEST(lets_go_when_the_client_has_gone)
{
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    const char text[] = "GET " PODS "/hang HTTP/1.1\r\nHost: h\r\n\r\n";
    ck_assert_int_eq(send(fd, text, sizeof text - 1, 0), sizeof text - 1);
    uv_sem_wait(&fixture.entered);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_int_eq(n_requests(0) + n_requests(1), 1);
}
END_TEST

/* ---- Limits and life ---- */

/* Octets to and from API servers wait, and none is lost. A piece of a wire exceeds what may move at
 * once, so that the next piece waits. */
START_TEST(caps_octets)
{
    char body[50001];

    memset(body, 'u', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    EK_AUTOFREE char *request =
        ek_xasprintf("POST " PODS " HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n%s", body);
    fixture.config.options.peer_rate = 100000;
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_request(fd, request);
    ck_assert_msg(strstr(got, ":50000") != NULL, "%.200s", got);
    ck_assert_uint_gt(proxy_fixture_stats(&fixture).holds_up, 0);
    ck_assert_uint_gt(proxy_fixture_stats(&fixture).holds_down, 0);
    ek_free(got);
    close(fd);
}
END_TEST

START_TEST(limits_connections_of_a_client)
{
    fixture.config.options.connections_per_client = 2;
    proxy_fixture_start(&fixture);
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = proxy_fixture_connect(&fixture);
        char *got = http_request(fds[i], "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert_int_eq(*got != '\0', i < 2);
        ek_free(got);
    }
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).rejected, 1);
}
END_TEST

/* Of all connections the one that was idle the longest makes room. */
START_TEST(makes_room)
{
    char c;

    fixture.config.options.connections = 2;
    proxy_fixture_start(&fixture);
    int watching = open_watch(), idle = proxy_fixture_connect(&fixture);
    char *got = http_request(idle, "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n");
    ek_free(got);
    expect_get(PODS, "200", ":0");
    ck_assert_int_le(recv(idle, &c, 1, 0), 0);
    uv_sem_post(&fixture.gate);
    got = expect(watching, "", 11);
    ek_free(got);
    close(watching);
    close(idle);
}
END_TEST

START_TEST(limits_requests_of_a_client)
{
    fixture.config.options.requests_per_client = 1;
    proxy_fixture_start(&fixture);
    int fd = open_watch();
    expect_get(PODS, "429", "\"reason\":\"TooManyRequests\"");
    close(fd);
    uv_sem_post(&fixture.gate);
    uv_sem_wait(&fixture.entered);
    proxy_fixture_wait_idle(&fixture);
    expect_get(PODS, "200", ":0");
}
END_TEST

/* Of all clients, or of one. */
START_TEST(limits_the_heads_of_requests_under_way)
{
    char text[2500];
    const char *refusal = _i ? "HTTP/1.1 429 " : "HTTP/1.1 503 ";

    *(_i ? &fixture.config.options.head_octets_per_client : &fixture.config.options.head_octets) =
        3000;
    proxy_fixture_start(&fixture);
    int watching = proxy_fixture_connect(&fixture), second = proxy_fixture_connect(&fixture);
    snprintf(text, sizeof text,
             "GET " PODS "?watch=1 HTTP/1.1\r\nHost: h\r\nX-Pad: %01900d\r\n\r\n", 0);
    ek_free(expect(watching, text, 20));
    snprintf(text, sizeof text, "GET " PODS " HTTP/1.1\r\nHost: h\r\nX-Pad: %01900d\r\n\r\n", 0);
    char *got = http_request(second, text);
    ck_assert_msg(!strncmp(got, refusal, 13), "%s", got);
    ck_assert_ptr_nonnull(strstr(got, "Retry-After: 1"));
    ek_free(got);
    close(second);
    close(watching);
    uv_sem_post(&fixture.gate);
    uv_sem_wait(&fixture.entered);
    proxy_fixture_wait_idle(&fixture);
    second = proxy_fixture_connect(&fixture);
    got = http_request(second, text);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
    ek_free(got);
    close(second);
}
END_TEST

START_TEST(limits_upgrades)
{
    fixture.config.options.upgrades = 1;
    proxy_fixture_start(&fixture);
    const char text[] = "GET " PODS "/x/exec HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                        "Upgrade: websocket\r\n\r\n";
    int first = proxy_fixture_connect(&fixture), second = proxy_fixture_connect(&fixture);
    ek_free(expect(first, text, 20));
    char *got = http_request(second, text);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 429 ", 13), "%s", got);
    ek_free(got);
    close(first);
    close(second);
}
END_TEST

START_TEST(ends_slow_heads)
{
    fixture.config.options.head_ms = 1;
    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    char *got = http_exchange(fd, "GET /a", 65536, NULL);
    ck_assert_msg(!*got || !strncmp(got, "HTTP/1.1 408 ", 13), "%s", got);
    ek_free(got);
    close(fd);
}
END_TEST

/* A server that hangs costs a read its time once; then the other one answers. */
START_TEST(gives_up_on_a_hung_server)
{
    fixture.config.options.answer_ms = 1;
    proxy_fixture_start(&fixture);
    expect_get(PODS "/hang", "503", "\"kind\":\"Status\"");
}
END_TEST

static void declare_down(size_t i)
{
    fixture.servers[i].routable = false;
    fixture.servers[i].down = true;
    proxy_fixture_publish(&fixture);
}

/* A server that hangs and is declared down: its watches end between two events. */
START_TEST(ends_watches_of_a_server_that_is_down)
{
    fixture.config.options.look_ms = 1;
    proxy_fixture_start(&fixture);
    int fd = open_watch();
    declare_down(0);
    declare_down(1);
    char *got = http_exchange(fd, "", 65536, NULL);
    ck_assert_str_eq(got, "0\r\n\r\n");
    ek_free(got);
    close(fd);
    uv_sem_post(&fixture.gate);
}
END_TEST

/* A read that waits for it goes to another one; a write may have been carried out. */
START_TEST(leaves_a_server_that_is_down)
{
    static const struct {
        const char *request, *answer;
    } rows[] = {{"GET " DEPL "/hang", "HTTP/1.1 503 "}, {"DELETE " DEPL "/hang", "HTTP/1.1 503 "}};
    char text[200];

    fixture.config.options.look_ms = 1;
    proxy_fixture_start(&fixture);
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
             rows[_i].request);
    int fd = proxy_fixture_connect(&fixture);
    ck_assert_int_eq(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    uv_sem_wait(&fixture.entered);
    declare_down(0);
    char *got = http_exchange(fd, "", 65536, NULL);
    ck_assert_msg(!strncmp(got, rows[_i].answer, strlen(rows[_i].answer)), "%s", got);
    /* client-go repeats what has Retry-After. */
    ck_assert_msg((strstr(got, "Retry-After") != NULL) == (_i == 0), "%s", got);
    ek_free(got);
    close(fd);
}
END_TEST

/* A watch ends between two events, by the last chunk, and what is idle ends at once. */
START_TEST(drains)
{
    char c;

    proxy_fixture_start(&fixture);
    int fd = open_watch(), idle = proxy_fixture_connect(&fixture);
    ek_free(http_request(idle, "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n"));
    proxy_fixture_drain(&fixture, 600000);
    char *got = http_exchange(fd, "", 65536, NULL);
    ck_assert_str_eq(got, "0\r\n\r\n");
    ek_free(got);
    ck_assert_int_eq(recv(idle, &c, 1, 0), 0);
    close(fd);
    close(idle);
    uv_sem_post(&fixture.gate);
}
END_TEST

START_TEST(ends_after_the_grace)
{
    char c;

    proxy_fixture_start(&fixture);
    int fd = proxy_fixture_connect(&fixture);
    const char text[] = "GET " PODS "/hang HTTP/1.1\r\nHost: h\r\n\r\n";
    ck_assert_int_eq(send(fd, text, sizeof text - 1, 0), sizeof text - 1);
    uv_sem_wait(&fixture.entered);
    proxy_fixture_drain(&fixture, 1);
    ck_assert_int_le(recv(fd, &c, 1, 0), 0);
    close(fd);
}
END_TEST

START_TEST(counts)
{
    EK_AUTO(ek_buf) out;

    proxy_fixture_start(&fixture);
    expect_get(JOBS, "200", "b:0");
    atomic_store(&fails, 2);
    expect_get(PODS "/fail", "503", "");
    proxy_fixture_wait_idle(&fixture);
    ek_buf_init(&out, 1 << 20);
    ek_metrics_write(fixture.registry, EK_METRICS_TEXT, &out);
    const char *lines[] = {
        "apiserver_rerouted_request_total{code=\"200\",group=\"batch\",version=\"v1\","
        "resource=\"jobs\"} 1\n",
        "apiserver_rerouted_request_total{code=\"503\",group=\"\",version=\"v1\",resource=\"pods\"}"
        " 1",
        "apiserver_peer_proxy_errors_total{type=\"lost\",group=\"\",version=\"v1\","
        "resource=\"pods\"} 2\n",
        "evenkeel_proxy_requests_total{peer=\"b\",code=\"200\"} 1\n",
        "evenkeel_proxy_requests_total{peer=\"\",code=\"503\"} 1\n",
        "evenkeel_proxy_repeated_requests_total 1\n",
        "evenkeel_proxy_requests_in_flight{peer=\"b\"} 0\n",
        "evenkeel_proxy_connections 0\n",
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(lines); i++)
        ck_assert_msg(strstr(ek_buf_str(&out), lines[i]) != NULL, "no %s in\n%s", lines[i],
                      ek_buf_str(&out));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("proxy");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, routes_to_the_holder);
    tcase_add_test(tcase, answers_503_while_the_holder_is_away);
    tcase_add_test(tcase, answers_503_before_all_are_known);
    tcase_add_test(tcase, passes_on_what_nobody_knows);
    tcase_add_loop_test(tcase, goes_on_after_an_unknown_type, 0, 2);
    tcase_add_test(tcase, passes_on_that_an_object_is_gone);
    tcase_add_test(tcase, keeps_the_peer_of_a_connection);
    tcase_add_test(tcase, repeats_a_read_once);
    tcase_add_test(tcase, repeats_no_write);
    tcase_add_test(tcase, dials_another_server);
    tcase_add_loop_test(tcase, trusts_proven_servers_only, 0, 2);
    tcase_add_test(tcase, breaks_a_truncated_response);
    tcase_add_test(tcase, streams_bodies);
    tcase_add_test(tcase, serves_a_slow_client);
    tcase_add_test(tcase, streams_a_watch);
    tcase_add_test(tcase, tunnels);
    tcase_add_test(tcase, lets_go_when_the_client_has_gone);
    tcase_add_test(tcase, caps_octets);
    tcase_add_test(tcase, limits_connections_of_a_client);
    tcase_add_test(tcase, makes_room);
    tcase_add_test(tcase, limits_requests_of_a_client);
    tcase_add_loop_test(tcase, limits_the_heads_of_requests_under_way, 0, 2);
    tcase_add_test(tcase, limits_upgrades);
    tcase_add_test(tcase, ends_slow_heads);
    tcase_add_test(tcase, gives_up_on_a_hung_server);
    tcase_add_test(tcase, ends_watches_of_a_server_that_is_down);
    tcase_add_loop_test(tcase, leaves_a_server_that_is_down, 0, 2);
    tcase_add_test(tcase, drains);
    tcase_add_test(tcase, ends_after_the_grace);
    tcase_add_test(tcase, counts);
    return ek_test_run("proxy", tcase);
}
