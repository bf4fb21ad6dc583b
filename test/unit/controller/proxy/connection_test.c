/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy over TLS: which version of HTTP a client gets, and HTTP/2 in front of two API servers.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/proxy/h2.h"
#include "test/support/h2_client.h"
#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

#define PODS "/api/v1/namespaces/n/pods"
#define JOBS "/apis/batch/v1/namespaces/n/jobs"

#define ALPN_H2   "\x02h2\x08http/1.1"
#define ALPN_HTTP "\x08http/1.1"

static struct proxy_fixture fixture;
static struct ek_tls_identity *identity;
static struct h2_client client;
static SSL *ssl;
static int fd;

static bool is(const struct testserver_request *request, const char *part)
{
    return strstr(request->target, part) != NULL;
}

/* An event, the next one when the test says so, and the end when the proxy lets go. */
static void stream(struct testserver_conn *conn)
{
    const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"a\"}\n\r\n";

    testserver_write(conn, head, sizeof head - 1);
    uv_sem_wait(&fixture.gate);
    testserver_write(conn, "6\r\n{\"b\"}\n\r\n", 11);
    testserver_stall(conn);
    uv_sem_post(&fixture.entered);
    testserver_close(conn);
}

static void big(struct testserver_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n";
    static const char piece[100000];

    testserver_write(conn, head, sizeof head - 1);
    for (int i = 0; i < 200; i++)
        testserver_write(conn, piece, sizeof piece);
}

/* A head within the limit of the proxy, and beyond the limit of nghttp2, which counts 8 octets more
 * for each field. */
static void wide(struct testserver_conn *conn)
{
    EK_AUTO(ek_buf) head;

    ek_buf_init(&head, (size_t)128 * 1024);
    ek_buf_puts(&head, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    for (int i = 0; i < 120; i++)
        ek_buf_printf(&head, "X-%03d: %0530d\r\n", i, i);
    ek_buf_puts(&head, "\r\n");
    testserver_write(conn, head.data, head.len);
}

/* The name of the server, the octets of the body, and the user and the group of the request. */
static void echo(const struct proxy_fixture_server *server,
                 const struct testserver_request *request, struct testserver_conn *conn)
{
    char text[256], user[64], group[64];

    testserver_header(request, "X-Remote-User", user, sizeof user);
    testserver_header(request, "X-Remote-Group", group, sizeof group);
    snprintf(text, sizeof text, "%s:%zu:%s%s%s", server->name, request->body_size, user,
             *group ? "/" : "", group);
    testserver_reply(conn, 200, "Content-Type: text/plain\r\nConnection: close\r\n", text);
}

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;

    if (is(request, "watch")) {
        stream(conn);
    } else if (is(request, "big")) {
        big(conn);
    } else if (is(request, "cut")) {
        testserver_write(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 41);
        testserver_reset(conn);
    } else if (is(request, "hang")) {
        testserver_stall(conn);
        testserver_close(conn);
    } else if (is(request, "wide")) {
        wide(conn);
    } else {
        echo(server, request, conn);
    }
}

static void setup(void)
{
    proxy_fixture_prepare(&fixture, handle);
    identity = http_fixture_identity();
    fixture.config.options.identity = identity;
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

static void start(uint32_t window)
{
    proxy_fixture_start(&fixture);
    h2_client_init(&client, window);
    fd = proxy_fixture_connect(&fixture);
    ssl = http_tls_connect(fd, ALPN_H2, 0);
    ck_assert_ptr_nonnull(ssl);
}

static void finish(void)
{
    http_tls_close(ssl);
    close(fd);
    h2_client_done(&client);
}

/* A write fails when the proxy has ended the connection. The read that follows reports the end. */
static void send_all(void)
{
    h2_client_output(&client);
    if (client.out.len > 0)
        SSL_write(ssl, client.out.data, (int)client.out.len);
    ek_buf_reset(&client.out);
}

/* Sends what is to be sent, and reads once; false at the end of the connection. */
static bool turn(void)
{
    char piece[16384];

    send_all();
    int n = SSL_read(ssl, piece, sizeof piece);
    return n > 0 && h2_client_input(&client, piece, (size_t)n);
}

static void run_until_closed(const struct h2_client_stream *one)
{
    while (!one->closed)
        ck_assert(turn());
}

static void run_until_body(const struct h2_client_stream *one, size_t size)
{
    while (one->body_size < size)
        ck_assert(turn());
}

/* ---- Versions ---- */

static const struct {
    const char *alpn;
    const char *chosen;
} versions[] = {{ALPN_H2, "h2"}, {"\x08http/1.1\x02h2", "h2"}, {ALPN_HTTP, "http/1.1"}, {NULL, ""}};

START_TEST(agrees_on_a_version)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    proxy_fixture_start(&fixture);
    fd = proxy_fixture_connect(&fixture);
    ssl = http_tls_connect(fd, versions[_i].alpn, 0);
    ck_assert_ptr_nonnull(ssl);
    SSL_get0_alpn_selected(ssl, &name, &len);
    ck_assert_uint_eq(len, strlen(versions[_i].chosen));
    ck_assert_mem_eq(name ? (const char *)name : "", versions[_i].chosen, len);
    if (len != 2) {
        char *got = http_tls_exchange(
            ssl, "GET " JOBS " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 65536, NULL);
        ck_assert_msg(strstr(got, "b:0:") != NULL, "%s", got);
        ek_free(got);
    }
    http_tls_close(ssl);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* A client that never shakes hands. */
START_TEST(ends_slow_handshakes)
{
    char c;

    fixture.config.options.head_ms = 1;
    proxy_fixture_start(&fixture);
    fd = proxy_fixture_connect(&fixture);
    ck_assert_int_le(recv(fd, &c, 1, 0), 0);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* ---- Requests ---- */

START_TEST(routes_each_stream)
{
    start(0);
    const struct h2_client_stream *streams[] = {
        h2_client_request(&client, "GET", JOBS, "", 0),
        h2_client_request(&client, "GET", "/apis/apps/v1/namespaces/n/deployments", "", 0),
        h2_client_request(&client, "GET", "/apis/none/v1/things/../x", "", 0)};
    for (size_t i = 0; i < 3; i++)
        run_until_closed(streams[i]);
    ck_assert_str_eq(ek_buf_str(&streams[0]->body), "b:0:");
    ck_assert_str_eq(ek_buf_str(&streams[1]->body), "a:0:");
    ck_assert_str_eq(h2_client_field(streams[0], "connection"), "");
    ck_assert_int_eq(streams[2]->status, 400);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&streams[2]->body), "\"kind\":\"Status\""));
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).connections, 1);
    finish();
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* Identities of the client's making are dropped, as they are in HTTP/1.1. */
START_TEST(drops_identities)
{
    start(0);
    const struct h2_client_stream *one =
        h2_client_request(&client, "GET", JOBS, "x-remote-user: admin\n", 0);
    run_until_closed(one);
    ck_assert_str_eq(ek_buf_str(&one->body), "b:0:");
    finish();
}
END_TEST

/* A head that nghttp2 does not send: the client learns that, and the connection goes on. */
START_TEST(resets_a_head_that_is_too_large)
{
    start(0);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS "/wide", "", 0);
    run_until_closed(one);
    ck_assert_int_eq(one->status, 0);
    ck_assert_uint_eq(one->code, NGHTTP2_INTERNAL_ERROR);
    const struct h2_client_stream *next = h2_client_request(&client, "GET", JOBS, "", 0);
    run_until_closed(next);
    ck_assert_str_eq(ek_buf_str(&next->body), "b:0:");
    finish();
}
END_TEST

/* Not a byte of the response may be missing, or come too early for the client's window. */
START_TEST(serves_a_slow_client)
{
    size_t read = 0;

    start(30000);
    client.forget_bodies = true;
    const struct h2_client_stream *one = h2_client_request(&client, "GET", PODS "/big", "", 0);
    while (!one->closed) {
        ck_assert(turn());
        ck_assert_uint_le(one->body_size - read, 65535);
        nghttp2_session_consume(client.session, one->id, one->body_size - read);
        read = one->body_size;
    }
    ck_assert(one->ended);
    ck_assert_uint_eq(one->body_size, 20000000);
    finish();
}
END_TEST

#define LISTS 60

/* Responses that a client does not take are bounded for the connection, not for each stream. */
START_TEST(limits_responses_that_wait)
{
    const size_t most = EK_H2_WAITING_MAX + LISTS * (2 * EK_WIRE_PIECE);
    size_t waiting = 0;

    start(1);
    client.forget_bodies = true;
    for (int i = 0; i < LISTS; i++)
        h2_client_request(&client, "GET", PODS "/big", "", 0);
    send_all();
    while (waiting < EK_H2_WAITING_MAX)
        waiting = proxy_fixture_stats(&fixture).waiting;
    for (int i = 0; i < 1000; i++) { /* turns of the loop, in which more would come */
        waiting = proxy_fixture_stats(&fixture).waiting;
        ck_assert_uint_le(waiting, most);
    }
    finish();
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* A server that never answers the handshake: bodies of requests wait for it. */
static int mute_server(size_t i)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof addr;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 512), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    snprintf(fixture.servers[i].address, sizeof fixture.servers[i].address, "127.0.0.1:%u",
             ntohs(addr.sin_port));
    proxy_fixture_publish(&fixture);
    return listener;
}

/* Bodies that no API server takes are bounded for the connection, not for each stream. */
START_TEST(limits_bodies_that_wait)
{
    const size_t most = EK_H2_WAITING_MAX + EK_H2_WINDOW + EK_H2_STREAM_WINDOW;
    int listener = mute_server(1);

    fixture.config.options.dial_ms = 600000;
    start(0);
    for (int i = 0; i < LISTS; i++)
        h2_client_request(&client, "POST", JOBS, "content-length: 1000000\n", 1000000);
    while (proxy_fixture_stats(&fixture).waiting_up < EK_H2_WAITING_MAX)
        ck_assert(turn());
    for (int i = 0; i < 1000; i++) { /* turns of the loop, in which more would come */
        send_all();
        ck_assert_uint_le(proxy_fixture_stats(&fixture).waiting_up, most);
    }
    finish();
    proxy_fixture_wait_idle(&fixture);
    close(listener);
}
END_TEST

#define PART 2000

/* The begin of a head: a frame HEADERS with END_STREAM and without END_HEADERS, of the stream 1:
 * GET https://h/, and one field (RFC 7541, 6.2.2: literal without indexing). */
static void send_part_of_a_head(void)
{
    static const char frame[] = {0,
                                 (PART + 12) >> 8,
                                 (char)((PART + 12) & 0xff),
                                 1,
                                 1,
                                 0,
                                 0,
                                 0,
                                 1,
                                 (char)0x82,
                                 (char)0x87,
                                 (char)0x84,
                                 1,
                                 1,
                                 'h',
                                 0,
                                 1,
                                 'x',
                                 0x7f,
                                 (char)(0x80 | ((PART - 127) & 0x7f)),
                                 (PART - 127) >> 7};
    char text[sizeof frame + PART];

    memcpy(text, frame, sizeof frame);
    memset(text + sizeof frame, 'v', PART);
    send_all();
    ck_assert_int_eq(SSL_write(ssl, text, sizeof text), (int)sizeof text);
}

static void read_all(unsigned char *to, size_t n)
{
    for (int got; n > 0; to += got, n -= (size_t)got) {
        got = SSL_read(ssl, to, (int)n);
        ck_assert_int_gt(got, 0);
    }
}

/* The end of the head, and the frames of the answer: the stream is refused with that status or the
 * other one, and the connection goes on. */
static void expect_refusal_of_stream(const char *status, const char *other)
{
    static const char end[] = {0, 0, 0, 9, 4, 0, 0, 0, 1};
    unsigned char head[9], payload[16384];
    size_t len;

    ck_assert_int_eq(SSL_write(ssl, end, sizeof end), (int)sizeof end);
    do {
        read_all(head, sizeof head);
        len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        ck_assert_uint_le(len, sizeof payload);
        read_all(payload, len);
        ck_assert_uint_ne(head[3], 7); /* GOAWAY */
    } while (head[3] != 1);
    ck_assert_uint_eq(head[8], 1);
    ck_assert(memmem(payload, len, status, 3) || memmem(payload, len, other, 3));
}

/* Beyond the limit of all clients, or of one. */
START_TEST(counts_heads_that_are_not_complete)
{
    fixture.config.options.head_octets = _i == 1 ? PART - 1 : 4 * PART;
    fixture.config.options.head_octets_per_client = _i == 2 ? PART - 1 : 4 * PART;
    start(0);
    send_part_of_a_head();
    if (_i) { /* the end may come with the part: then the head is complete */
        expect_refusal_of_stream("503", _i == 2 ? "429" : "503");
    } else {
        while (proxy_fixture_stats(&fixture).head_octets < PART)
            ;
    }
    finish();
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).head_octets, 0);
}
END_TEST

START_TEST(streams_an_upload)
{
    start(0);
    const struct h2_client_stream *one =
        h2_client_request(&client, "POST", JOBS, "content-length: 5000000\n", 5000000);
    run_until_closed(one);
    ck_assert_str_eq(ek_buf_str(&one->body), "b:5000000:");
    finish();
}
END_TEST

#define WATCHES 100

START_TEST(streams_watches_on_one_connection)
{
    const struct h2_client_stream *watches[WATCHES];

    start(0);
    for (size_t i = 0; i < WATCHES; i++)
        watches[i] = h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    for (size_t i = 0; i < WATCHES; i++)
        run_until_body(watches[i], 6);
    struct ek_proxy_stats stats = proxy_fixture_stats(&fixture);
    ck_assert_uint_eq(stats.connections, 1);
    ck_assert_uint_eq(stats.requests, WATCHES);
    for (size_t i = 0; i < WATCHES; i++)
        uv_sem_post(&fixture.gate);
    for (size_t i = 0; i < WATCHES; i++) {
        run_until_body(watches[i], 12);
        ck_assert_str_eq(ek_buf_str(&watches[i]->body), "{\"a\"}\n{\"b\"}\n");
    }
    finish();
    for (size_t i = 0; i < WATCHES; i++)
        uv_sem_wait(&fixture.entered);
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* The API server learns that nobody listens; the connection goes on. */
START_TEST(lets_go_of_a_stream_that_is_reset)
{
    start(0);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    run_until_body(one, 6);
    uv_sem_post(&fixture.gate);
    run_until_body(one, 12);
    nghttp2_submit_rst_stream(client.session, 0, one->id, NGHTTP2_CANCEL);
    send_all();
    uv_sem_wait(&fixture.entered);
    const struct h2_client_stream *next = h2_client_request(&client, "GET", JOBS, "", 0);
    run_until_closed(next);
    ck_assert_str_eq(ek_buf_str(&next->body), "b:0:");
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).requests, 0);
    finish();
}
END_TEST

START_TEST(resets_a_truncated_response)
{
    start(0);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS "/cut", "", 0);
    run_until_closed(one);
    ck_assert_str_eq(ek_buf_str(&one->body), "abc");
    ck_assert(!one->ended);
    ck_assert_uint_eq(one->code, NGHTTP2_INTERNAL_ERROR);
    finish();
}
END_TEST

/* ---- Limits and life ---- */

START_TEST(limits_requests_of_a_client)
{
    fixture.config.options.requests_per_client = 1;
    start(0);
    const struct h2_client_stream *watch =
        h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    run_until_body(watch, 6);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS, "", 0);
    run_until_closed(one);
    ck_assert_int_eq(one->status, 429);
    uv_sem_post(&fixture.gate);
    finish();
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* Responses that the client does not take: their requests are over, and their streams are not. */
START_TEST(limits_streams_of_a_client)
{
    const struct h2_client_stream *streams[5];

    fixture.config.options.requests_per_client = 2;
    start(1);
    for (size_t i = 0; i < 5; i++)
        streams[i] = h2_client_request(&client, "GET", "/none/../x", "", 0);
    run_until_closed(streams[4]);
    ck_assert_uint_eq(streams[4]->code, NGHTTP2_REFUSED_STREAM);
    for (size_t i = 0; i < 4; i++)
        ck_assert(!streams[i]->closed);
    finish();
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

START_TEST(limits_streams_of_all_clients)
{
    fixture.config.options.streams = 1;
    start(0);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS, "", 0);
    run_until_closed(one);
    ck_assert_int_eq(one->status, 200);
    const struct h2_client_stream *watch =
        h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    run_until_body(watch, 6);
    one = h2_client_request(&client, "GET", JOBS, "", 0);
    run_until_closed(one);
    ck_assert_uint_eq(one->code, NGHTTP2_REFUSED_STREAM);
    uv_sem_post(&fixture.gate);
    finish();
    proxy_fixture_wait_idle(&fixture);
}
END_TEST

/* A connection of HTTP/2 without a stream makes room. */
START_TEST(makes_room)
{
    fixture.config.options.connections = 1;
    start(0);
    run_until_closed(h2_client_request(&client, "GET", JOBS, "", 0));
    int second = proxy_fixture_connect(&fixture);
    SSL *other = http_tls_connect(second, ALPN_H2, 0);
    ck_assert_ptr_nonnull(other);
    while (turn())
        ;
    http_tls_close(other);
    close(second);
    finish();
}
END_TEST

START_TEST(ends_idle_connections)
{
    fixture.config.options.idle_ms = 1;
    start(0);
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS, "", 0);
    while (turn())
        ;
    ck_assert_str_eq(ek_buf_str(&one->body), "b:0:");
    ck_assert(client.goaway);
    ck_assert_uint_eq(client.goaway_code, NGHTTP2_NO_ERROR);
    finish();
}
END_TEST

START_TEST(limits_resets)
{
    EK_AUTO(ek_buf) out;

    start(0);
    for (int i = 0; i < EK_H2_RESETS + 200; i++) {
        const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS "/hang", "", 0);
        send_all();
        nghttp2_submit_rst_stream(client.session, 0, one->id, NGHTTP2_CANCEL);
    }
    while (turn())
        ;
    ck_assert(client.goaway);
    ck_assert_uint_eq(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    finish();
    proxy_fixture_wait_idle(&fixture);
    ek_buf_init(&out, 1 << 20);
    ek_metrics_write(fixture.registry, EK_METRICS_TEXT, &out);
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&out), "evenkeel_proxy_rejected_total{limit=\"resets\"} 1\n"));
}
END_TEST

/* Watches end between two events, GOAWAY comes, and the connection ends. */
START_TEST(drains)
{
    start(0);
    const struct h2_client_stream *watch =
        h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    run_until_body(watch, 6);
    proxy_fixture_drain(&fixture, 600000);
    while (turn())
        ;
    ck_assert(client.goaway);
    ck_assert_uint_eq(client.goaway_code, NGHTTP2_NO_ERROR);
    ck_assert(watch->ended && watch->closed);
    ck_assert_str_eq(ek_buf_str(&watch->body), "{\"a\"}\n");
    finish();
    uv_sem_post(&fixture.gate);
}
END_TEST

START_TEST(ends_after_the_grace)
{
    start(0);
    h2_client_request(&client, "GET", JOBS "/hang", "", 0);
    const struct h2_client_stream *watch =
        h2_client_request(&client, "GET", JOBS "?watch=1", "", 0);
    run_until_body(watch, 6);
    proxy_fixture_drain(&fixture, 1);
    while (turn())
        ;
    finish();
    uv_sem_post(&fixture.gate);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("connection");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, agrees_on_a_version, 0, (int)EK_ARRAY_SIZE(versions));
    tcase_add_test(tcase, ends_slow_handshakes);
    tcase_add_test(tcase, routes_each_stream);
    tcase_add_test(tcase, drops_identities);
    tcase_add_test(tcase, resets_a_head_that_is_too_large);
    tcase_add_test(tcase, serves_a_slow_client);
    tcase_add_test(tcase, limits_responses_that_wait);
    tcase_add_test(tcase, limits_bodies_that_wait);
    tcase_add_loop_test(tcase, counts_heads_that_are_not_complete, 0, 3);
    tcase_add_test(tcase, streams_an_upload);
    tcase_add_test(tcase, streams_watches_on_one_connection);
    tcase_add_test(tcase, lets_go_of_a_stream_that_is_reset);
    tcase_add_test(tcase, resets_a_truncated_response);
    tcase_add_test(tcase, limits_requests_of_a_client);
    tcase_add_test(tcase, limits_streams_of_a_client);
    tcase_add_test(tcase, limits_streams_of_all_clients);
    tcase_add_test(tcase, makes_room);
    tcase_add_test(tcase, ends_idle_connections);
    tcase_add_test(tcase, limits_resets);
    tcase_add_test(tcase, drains);
    tcase_add_test(tcase, ends_after_the_grace);
    return ek_test_run("connection", tcase);
}
