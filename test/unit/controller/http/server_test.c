/* SPDX-License-Identifier: Apache-2.0 */
/* The listener over real sockets on loopback: keep-alive, TLS, limits, slow clients, closing. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/patience.h"
#include "test/support/suite.h"

#define GET(path)   "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define CLOSE(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define BIG_SIZE    5000000UL

static struct http_fixture fixture;
static struct ek_http_server_config config;
static struct ek_tls_identity *identity;

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    config = (struct ek_http_server_config){.bind_address = "127.0.0.1:0"};
    identity = NULL;
}

static void stop(void)
{
    http_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

/* Sends text on a fresh connection and checks the whole answer's start and end. */
static void expect(const char *text, const char *start, const char *end)
{
    int fd = http_connect(&fixture);
    EK_AUTOFREE char *got = http_exchange(fd, text, 1 << 20, NULL);
    size_t n = strlen(got), m = strlen(end);

    ck_assert_msg(!strncmp(got, start, strlen(start)) && n >= m && !strcmp(got + n - m, end),
                  "%s\ngot: %s", text, got);
    close(fd);
}

START_TEST(addresses)
{
    static const struct {
        const char *address;
        int family; /* 0: refused */
        int port;
    } rows[] = {
        {":8080", AF_INET6, 8080},
        {"127.0.0.1:0", AF_INET, 0},
        {"0.0.0.0:1", AF_INET, 1},
        {"[::1]:8081", AF_INET6, 8081},
        {"[::]:65535", AF_INET6, 65535},
        {"localhost:80", AF_INET, 80},
        {"8080", 0, 0},
        {"", 0, 0},
        {"0", 0, 0},
        {":", 0, 0},
        {":65536", 0, 0},
        {":-1", 0, 0},
        {":80x", 0, 0},
        {"::1:80", 0, 0},
        {"[::1]", 0, 0},
        {"[]:80", 0, 0},
        {"example.com:80", 0, 0},
        {"256.0.0.1:80", 0, 0},
        {"111111111111111111111111111111111111111111111111111111111111111111111:80", 0, 0},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct sockaddr_storage addr;
        struct ek_err err = {0};
        int rc = ek_http_address_parse(rows[i].address, &addr, &err);
        ck_assert_msg((rc == 0) == (rows[i].family != 0), "%s: %s", rows[i].address, err.message);
        struct ek_err why = {0};
        bool usable = rc == 0 || ek_http_address_is_off(rows[i].address);
        ck_assert_msg((ek_http_address_check(rows[i].address, &why) == 0) == usable, "%s: %s",
                      rows[i].address, why.message);
        if (rc)
            continue;
        int port = ntohs(addr.ss_family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port
                                                   : ((struct sockaddr_in6 *)&addr)->sin6_port);
        ck_assert_msg(addr.ss_family == rows[i].family && port == rows[i].port, "%s",
                      rows[i].address);
    }
    ck_assert(ek_http_address_is_off("0"));
    ck_assert(ek_http_address_is_off(""));
    ck_assert(!ek_http_address_is_off(":0"));
}
END_TEST

START_TEST(plain)
{
    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    for (int i = 0; i < 3; i++) { /* one connection */
        EK_AUTOFREE char *got = http_request(fd, GET("/ok"));
        ck_assert_ptr_nonnull(strstr(got, "HTTP/1.1 200 OK\r\n"));
    }
    close(fd);
    expect(GET("/ok") CLOSE("/slow"), "HTTP/1.1 200 OK", "\r\n\r\nslow"); /* pipelined */
    expect("garbage\r\n\r\n", "HTTP/1.1 400 ", "Bad Request\n");
    ck_assert_uint_eq(http_fixture_stats(&fixture).accepted, 3);
    stop();
}
END_TEST

START_TEST(all_addresses)
{
    config.bind_address = ":0";
    http_fixture_start(&fixture, &config); /* reached by IPv4 */
    expect(CLOSE("/ok"), "HTTP/1.1 200 OK", "ok");
    stop();
}
END_TEST

START_TEST(off_and_taken)
{
    uv_loop_t loop;
    struct ek_err err;

    http_fixture_start(&fixture, &config);
    uv_loop_init(&loop);
    config.bind_address = ek_http_server_address(fixture.server);
    struct ek_http_server *second = ek_http_server_new(&loop, &config);
    ck_assert_int_eq(ek_http_server_start(second, &err), EK_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "address already in use"));
    ek_http_server_close(second, 0, NULL, NULL);
    config.bind_address = "0";
    struct ek_http_server *off = ek_http_server_new(&loop, &config);
    ck_assert_int_eq(ek_http_server_start(off, &err), 0);
    ck_assert_str_eq(ek_http_server_address(off), "");
    ek_http_server_close(off, 1000, NULL, NULL);
    ek_http_server_close(NULL, 1000, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    stop();
}
END_TEST

static void check_big(const char *got, size_t n)
{
    const char *body = strstr(got, "\r\n\r\n");

    ck_assert_ptr_nonnull(body);
    body += 4;
    ck_assert_uint_eq(n - (size_t)(body - got), BIG_SIZE);
    size_t i = 0;
    while (i < BIG_SIZE && body[i] == (char)('a' + i % 26))
        i++;
    ck_assert_msg(i == BIG_SIZE, "differs at %zu", i);
}

START_TEST(big_answers)
{
    size_t n;

    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    EK_AUTOFREE char *got = http_exchange(fd, CLOSE("/big"), 1 << 23, &n);
    check_big(got, n);
    close(fd);
    fd = http_connect(&fixture); /* one who leaves in the middle */
    ek_free(http_exchange(fd, GET("/big") GET("/big"), 1000, NULL));
    close(fd);
    expect(CLOSE("/ok"), "HTTP/1.1 200 OK", "ok");
    stop();
}
END_TEST

START_TEST(tls)
{
    static const struct {
        const char *name;
        const char *alpn;
        int max_version;
        bool works;
    } rows[] = {
        {"any", NULL, 0, true},
        {"TLS 1.2", NULL, TLS1_2_VERSION, true},
        {"TLS 1.1", NULL, TLS1_1_VERSION, false},
        {"http/1.1 offered", "\x08http/1.1", 0, true},
        {"both offered", "\x02h2\x08http/1.1", 0, true},
        {"only h2 offered", "\x02h2", 0, false},
    };
    size_t n;

    config.identity = identity = http_fixture_identity();
    http_fixture_start(&fixture, &config);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        int fd = http_connect(&fixture);
        SSL *ssl = http_tls_connect(fd, rows[i].alpn, rows[i].max_version);
        ck_assert_msg((ssl != NULL) == rows[i].works, "%s", rows[i].name);
        if (ssl) {
            EK_AUTOFREE char *got =
                http_tls_exchange(ssl, GET("/slow") CLOSE("/ok"), 1 << 20, NULL);
            ck_assert_msg(strstr(got, "slow") && !strcmp(got + strlen(got) - 2, "ok"), "%s: %s",
                          rows[i].name, got);
            ck_assert_msg(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN, "%s: no close_notify",
                          rows[i].name);
            http_tls_close(ssl);
        }
        close(fd);
    }
    int fd = http_connect(&fixture);
    SSL *ssl = http_tls_connect(fd, NULL, 0);
    EK_AUTOFREE char *got = http_tls_exchange(ssl, CLOSE("/big"), 1 << 23, &n);
    check_big(got, n);
    http_tls_close(ssl);
    close(fd);
    stop();
}
END_TEST

START_TEST(plain_text_on_a_tls_port)
{
    config.identity = identity = http_fixture_identity();
    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    EK_AUTOFREE char *got = http_exchange(fd, GET("/ok"), 1000, NULL);
    ck_assert_ptr_null(strstr(got, "200"));
    close(fd);
    ck_assert_uint_eq(http_fixture_stats(&fixture).tls_errors, 1);
    fd = http_connect(&fixture);
    SSL *ssl = http_tls_connect(fd, NULL, 0);
    ck_assert_ptr_nonnull(ssl);
    http_tls_close(ssl);
    close(fd);
    stop();
}
END_TEST

START_TEST(no_certificate_yet)
{
    identity = ek_tls_identity_new();
    config.identity = identity;
    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    ck_assert_ptr_null(http_tls_connect(fd, NULL, 0));
    close(fd);
    stop();
}
END_TEST

START_TEST(slow_clients)
{
    static const struct {
        const char *name;
        const char *text;
        const char *start;
        bool tls;
    } rows[] = {
        {"silence", "", "", false},
        {"half a head", "GET /ok HTTP/1.1\r\nHo", "HTTP/1.1 408 ", false},
        {"half a body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
         "HTTP/1.1 408 ", false},
        {"no handler's answer", GET("/never"), "HTTP/1.1 503 ", false},
        {"idle after an answer", GET("/ok"), "HTTP/1.1 200 ", false},
        {"half a handshake", "\x16\x03\x01\x02", "", true},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        PATIENCE_FOR(limit_ms, 30)
        {
            setup();
            config.limits = (struct ek_http_limits){.head_timeout_ms = limit_ms,
                                                    .body_timeout_ms = limit_ms,
                                                    .reply_timeout_ms = limit_ms,
                                                    .idle_timeout_ms = limit_ms};
            if (rows[i].tls)
                config.identity = identity = http_fixture_identity();
            http_fixture_start(&fixture, &config);
            int fd = http_connect(&fixture);
            EK_AUTOFREE char *got = http_exchange(fd, rows[i].text, 1 << 16, NULL);
            bool cut_off = !strncmp(got, rows[i].start, strlen(rows[i].start));
            ck_assert_msg(cut_off || !patience_is_over(limit_ms), "%s: %s", rows[i].name, got);
            close(fd);
            stop();
            if (cut_off)
                break;
        }
    }
}
END_TEST

/* A client that sends requests and does not read: the connection ends by the write time. */
START_TEST(deaf_client)
{
    int small = 4096;

    config.limits = (struct ek_http_limits){.write_timeout_ms = 50};
    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    static const char request[] = GET("/big");
    for (int i = 0; i < 20; i++) /* more than any buffer of the system takes */
        send(fd, request, sizeof request - 1, 0);
    http_fixture_wait_empty(&fixture);
    close(fd);
    stop();
}
END_TEST

/* True when a client that goes on is served. */
static bool is_served_by_tls(void)
{
    int fd = http_connect(&fixture);
    SSL *ssl = http_tls_connect(fd, NULL, 0);
    EK_AUTOFREE char *got = ssl ? http_tls_exchange(ssl, CLOSE("/ok"), 1 << 16, NULL) : NULL;

    if (ssl)
        http_tls_close(ssl);
    close(fd);
    return got && !strncmp(got, "HTTP/1.1 200 ", 13);
}

static const struct {
    const char *name, *text, *start;
} stalls[] = {
    {"silence", "", ""},
    {"half a head", "GET /ok HTTP/1.1\r\nHo", "HTTP/1.1 408 "},
    {"half a body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
     "HTTP/1.1 408 "},
    {"no handler's answer", GET("/never"), "HTTP/1.1 503 "},
};

/* True when the client of a row was cut off as the row says and others were served meanwhile. */
static bool is_cut_off(size_t row)
{
    int fd = http_connect(&fixture);
    SSL *ssl = http_tls_connect(fd, NULL, 0);

    if (ssl)
        SSL_write(ssl, stalls[row].text, (int)strlen(stalls[row].text));
    bool served = ssl && is_served_by_tls();
    EK_AUTOFREE char *got = ssl ? http_tls_exchange(ssl, "", 1 << 16, NULL) : NULL;

    if (ssl)
        http_tls_close(ssl);
    close(fd);
    return served && !strncmp(got, stalls[row].start, strlen(stalls[row].start));
}

static const char *stall_all(int64_t limit_ms)
{
    static const char hello[] = "\x16\x03\x01\x02", request[] = GET("/big");
    const char *failed = NULL;
    int small = 4096;

    setup();
    config.identity = identity = http_fixture_identity();
    config.limits = (struct ek_http_limits){.head_timeout_ms = limit_ms,
                                            .body_timeout_ms = limit_ms,
                                            .reply_timeout_ms = limit_ms,
                                            .write_timeout_ms = limit_ms};
    http_fixture_start(&fixture, &config);
    int shaking = http_connect(&fixture), deaf = http_connect(&fixture);
    send(shaking, hello, sizeof hello - 1, 0);
    setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    SSL *not_read = http_tls_connect(deaf, NULL, 0);
    for (int i = 0; not_read && i < 20; i++) /* more than any buffer of the system takes */
        SSL_write(not_read, request, sizeof request - 1);
    for (size_t i = 0; i < EK_ARRAY_SIZE(stalls); i++)
        if (!is_cut_off(i))
            failed = stalls[i].name;
    EK_AUTOFREE char *none = http_exchange(shaking, "", 10, NULL);
    if (*none || !is_served_by_tls())
        failed = "half a handshake";
    close(shaking);
    http_fixture_wait_empty(&fixture); /* although one of them still does not read */
    SSL_free(not_read);
    close(deaf);
    stop();
    return failed;
}

/* Clients of HTTPS that stop in the middle are cut off in time, whatever they stop in; others are
 * served meanwhile. */
START_TEST(stalled_over_tls)
{
    PATIENCE_FOR(limit_ms, 400)
    {
        const char *failed = stall_all(limit_ms);
        ck_assert_msg(!failed || !patience_is_over(limit_ms), "%s", failed);
        if (!failed)
            break;
    }
}
END_TEST

START_TEST(full)
{
    config.max_connections = 2;
    http_fixture_start(&fixture, &config);
    int a = http_connect(&fixture);
    ek_free(http_request(a, GET("/ok")));
    int b = http_connect(&fixture);
    ek_free(http_request(b, GET("/ok")));
    ek_free(http_request(a, GET("/ok"))); /* b has been idle longer now */
    int c = http_connect(&fixture);
    EK_AUTOFREE char *got = http_request(c, GET("/ok"));
    ck_assert_ptr_nonnull(strstr(got, "200 OK"));
    EK_AUTOFREE char *gone = http_exchange(b, "", 10, NULL);
    ck_assert_str_eq(gone, "");
    EK_AUTOFREE char *still = http_request(a, GET("/ok"));
    ck_assert_ptr_nonnull(strstr(still, "200 OK"));
    ck_assert_uint_eq(http_fixture_stats(&fixture).evicted, 1);
    static const char busy[] = GET("/never");
    send(a, busy, sizeof busy - 1, 0);
    send(c, busy, sizeof busy - 1, 0);
    uv_sem_wait(&fixture.entered);
    uv_sem_wait(&fixture.entered);
    int d = http_connect(&fixture);
    EK_AUTOFREE char *none = http_exchange(d, CLOSE("/ok"), 1000, NULL);
    ck_assert_str_eq(none, "");
    close(d);
    ck_assert_uint_eq(http_fixture_stats(&fixture).rejected, 1);
    close(a);
    close(b);
    close(c);
    stop();
}
END_TEST

START_TEST(close_lets_requests_finish)
{
    static const char slow[] = GET("/slow");

    http_fixture_start(&fixture, &config);
    int idle = http_connect(&fixture), busy = http_connect(&fixture);
    ek_free(http_request(idle, GET("/ok")));
    ek_free(http_request(busy, GET("/ok")));
    send(busy, slow, sizeof slow - 1, 0);
    uv_sem_wait(&fixture.entered);
    http_fixture_begin_close(&fixture, 10000);
    EK_AUTOFREE char *got = http_exchange(busy, "", 1 << 16, NULL);
    ck_assert_msg(strstr(got, "Connection: close\r\n\r\nslow") != NULL, "%s", got);
    EK_AUTOFREE char *none = http_exchange(idle, "", 10, NULL);
    ck_assert_str_eq(none, "");
    stop();
    close(idle);
    close(busy);
}
END_TEST

static bool lingers(int64_t linger_ms)
{
    bool served = true;

    setup();
    config.linger_ms = linger_ms;
    http_fixture_start(&fixture, &config);
    int known = http_connect(&fixture), idle = http_connect(&fixture);
    ek_free(http_request(known, GET("/ok")));
    ek_free(http_request(idle, GET("/ok")));
    http_fixture_begin_close(&fixture, 600000);
    int fds[] = {known, http_try_connect(&fixture)};
    for (size_t i = 0; i < EK_ARRAY_SIZE(fds); i++) {
        EK_AUTOFREE char *got =
            fds[i] < 0 ? NULL : http_exchange(fds[i], GET("/ok"), 1 << 16, NULL);
        served = served && got && strstr(got, "Connection: close\r\n\r\nok") != NULL;
        if (fds[i] >= 0)
            close(fds[i]);
    }
    EK_AUTOFREE char *none = http_exchange(idle, "", 10, NULL); /* to the end of the linger */
    ck_assert_str_eq(none, "");
    stop();
    close(idle);
    return served;
}

/* Those who do not know yet are served, each for the last time; then it closes as ever. */
START_TEST(close_lingers)
{
    PATIENCE_FOR(linger_ms, 1000)
    {
        bool served = lingers(linger_ms);
        ck_assert(served || !patience_is_over(linger_ms));
        if (served)
            break;
    }
}
END_TEST

/* The grace is the limit, and who was never called need not wait. */
START_TEST(lingers_no_longer_than_needed)
{
    config.linger_ms = INT64_MAX;
    http_fixture_start(&fixture, &config);
    http_fixture_begin_close(&fixture, INT64_MAX);
    stop();
    setup();
    config.linger_ms = INT64_MAX;
    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    ek_free(http_request(fd, GET("/ok")));
    http_fixture_begin_close(&fixture, 30);
    EK_AUTOFREE char *got = http_exchange(fd, "", 10, NULL);
    ck_assert_str_eq(got, "");
    stop();
    close(fd);
}
END_TEST

START_TEST(close_does_not_wait_forever)
{
    static const char hang[] = GET("/never");

    http_fixture_start(&fixture, &config);
    int fd = http_connect(&fixture);
    ek_free(http_request(fd, GET("/ok")));
    send(fd, hang, sizeof hang - 1, 0);
    uv_sem_wait(&fixture.entered);
    http_fixture_begin_close(&fixture, 30);
    EK_AUTOFREE char *got = http_exchange(fd, "", 10, NULL);
    ck_assert_str_eq(got, "");
    stop();
    close(fd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_server");

    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, addresses);
    tcase_add_test(tc, plain);
    tcase_add_test(tc, all_addresses);
    tcase_add_test(tc, off_and_taken);
    tcase_add_test(tc, big_answers);
    tcase_add_test(tc, tls);
    tcase_add_test(tc, plain_text_on_a_tls_port);
    tcase_add_test(tc, no_certificate_yet);
    tcase_add_test(tc, slow_clients);
    tcase_add_test(tc, deaf_client);
    tcase_add_test(tc, stalled_over_tls);
    tcase_add_test(tc, full);
    tcase_add_test(tc, close_lets_requests_finish);
    tcase_add_test(tc, close_lingers);
    tcase_add_test(tc, lingers_no_longer_than_needed);
    tcase_add_test(tc, close_does_not_wait_forever);
    return ek_test_run("http_server", tc);
}
