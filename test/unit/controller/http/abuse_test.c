/* SPDX-License-Identifier: Apache-2.0 */
/* The listener under attack, over real sockets on loopback: what attackers hold, and whether
 * somebody else is served meanwhile. Nothing here waits for time to pass. */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/suite.h"

#define GET(path)   "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define CLOSE(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define ATTACKERS   64

static struct http_fixture fixture;
static struct ek_http_server_config config;
static struct ek_tls_identity *identity;
static int attackers[ATTACKERS];

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    config = (struct ek_http_server_config){.bind_address = "127.0.0.1:0", .max_connections = 16};
    identity = NULL;
}

static void stop(void)
{
    for (size_t i = 0; i < ATTACKERS; i++)
        close(attackers[i]);
    http_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

/* Connects attackers that each send the same bytes and no more. */
static void attack(const void *data, size_t len)
{
    for (size_t i = 0; i < ATTACKERS; i++) {
        attackers[i] = http_connect(&fixture);
        send(attackers[i], data, len, MSG_NOSIGNAL);
    }
}

static void expect_served(const char *name)
{
    int fd = http_connect(&fixture);
    EK_AUTOFREE char *got = http_exchange(fd, CLOSE("/ok"), 1 << 16, NULL);

    ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s: %s", name, got);
    close(fd);
}

/* Slowloris: whatever the attackers stop in, a newcomer is served, many times as many as there are
 * places. */
START_TEST(unfinished)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"silence", ""},
        {"one byte", "G"},
        {"half a head", "GET /ok HTTP/1.1\r\nHo"},
        {"half a body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"},
        {"half a chunk",
         "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"},
        {"an answer that is not read", GET("/big") GET("/big") GET("/big")},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        setup();
        http_fixture_start(&fixture, &config);
        attack(rows[i].text, strlen(rows[i].text));
        for (int k = 0; k < 20; k++)
            expect_served(rows[i].name);
        stop();
    }
}
END_TEST

/* The same before and inside of TLS: those who never shake hands, and those who stop in the middle.
 */
START_TEST(unfinished_over_tls)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
    } rows[] = {
        {"silence", "", 0},
        {"half a record", "\x16\x03\x01\x02", 4},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        setup();
        config.identity = identity = http_fixture_identity();
        http_fixture_start(&fixture, &config);
        attack(rows[i].bytes, rows[i].len);
        int fd = http_connect(&fixture);
        SSL *ssl = http_tls_connect(fd, NULL, 0);
        ck_assert_msg(ssl != NULL, "%s", rows[i].name);
        EK_AUTOFREE char *got = http_tls_exchange(ssl, CLOSE("/ok"), 1 << 16, NULL);
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s: %s", rows[i].name, got);
        http_tls_close(ssl);
        close(fd);
        stop();
    }
}
END_TEST

/* Hellos that announce more than any has: none stays, and none is room made for. */
START_TEST(announced_hellos)
{
    static const char hello[] = "\x16\x03\x01\x00\x0a\x01\x01\xff\xb8\x03\x03\x41\x41\x41\x41";
    char octet;

    config.identity = identity = http_fixture_identity();
    config.max_connections = 2 * (size_t)ATTACKERS;
    http_fixture_start(&fixture, &config);
    attack(hello, sizeof hello - 1);
    for (size_t i = 0; i < ATTACKERS; i++)
        ck_assert_int_le(recv(attackers[i], &octet, 1, 0), 0);
    struct ek_http_server_stats stats = http_fixture_stats(&fixture);
    ck_assert_uint_eq(stats.tls_errors, ATTACKERS);
    stop();
}
END_TEST

/* Leaves the system little room for what the server sends to that client and the client does not
 * read. The server's socket is one of this process. */
static void narrow(int client)
{
    struct sockaddr_in mine = {0}, other = {0};
    socklen_t len = sizeof mine;
    int room = 4096;

    ck_assert_int_eq(getsockname(client, (struct sockaddr *)&mine, &len), 0);
    setsockopt(client, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    for (int fd = 0; fd < 1024; fd++) {
        len = sizeof other;
        if (getpeername(fd, (struct sockaddr *)&other, &len) == 0 &&
            other.sin_port == mine.sin_port)
            setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
}

/* Sends what a client has, whose session writes to memory. False when the server has gone. */
static bool send_out(int fd, BIO *out)
{
    static char piece[65536];
    int n;

    while ((n = BIO_read(out, piece, sizeof piece)) > 0)
        for (ssize_t at = 0, sent; at < n; at += sent)
            if ((sent = send(fd, piece + at, (size_t)(n - at), MSG_NOSIGNAL)) <= 0)
                return false;
    return true;
}

/* Changes keys 30 times, each of which is to be answered, and sends an octet of a body. */
static void change_keys(SSL *ssl)
{
    for (int k = 0; k < 30; k++) {
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(ssl);
    }
    SSL_write(ssl, "x", 1);
}

static struct ek_http_meter meter_of_keys;

/* Connects a client that has begun a body, reads nothing, and writes to *ret_out. */
static SSL *open_keys(int *ret_fd, BIO **ret_out)
{
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";

    config.meter = &meter_of_keys;
    config.identity = identity = http_fixture_identity();
    http_fixture_start(&fixture, &config);
    *ret_fd = http_connect(&fixture);
    SSL *ssl = http_tls_connect(*ret_fd, NULL, 0);
    ck_assert(ssl && SSL_write(ssl, head, sizeof head - 1) > 0);
    narrow(*ret_fd);
    *ret_out = BIO_new(BIO_s_mem());
    SSL_set0_wbio(ssl, *ret_out);
    return ssl;
}

static void close_keys(SSL *ssl, int fd)
{
    SSL_free(ssl);
    close(fd);
    http_fixture_wait_empty(&fixture);
    http_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

/* Changes of keys from a client that reads no answer: the time to read answers is also that of what
 * TLS itself answers. */
START_TEST(key_updates)
{
    bool open = true;
    BIO *out;
    int fd;

    ek_http_budget_init(&meter_of_keys.budget, (size_t)1 << 20);
    config.limits.write_timeout_ms = 200;
    SSL *ssl = open_keys(&fd, &out);
    for (int i = 0; open && i < 20000; i++) { /* 17 MB, and as much in answers */
        change_keys(ssl);
        open = send_out(fd, out);
    }
    ck_assert(!open);
    close_keys(ssl, fd);
    ck_assert_uint_le(ek_http_budget_peak(&meter_of_keys.budget), (size_t)1 << 20);
    ck_assert_uint_eq(atomic_load(&meter_of_keys.rejected[EK_HTTP_FAULT_READER]), 1);
}
END_TEST

/* Sends what a client has. False when nobody takes it. */
static bool send_some(int fd, BIO *out)
{
    static char piece[65536];
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int n;

    while ((n = BIO_read(out, piece, sizeof piece)) > 0)
        for (ssize_t at = 0, sent; at<n; at += sent> 0 ? sent : 0) {
            if (poll(&writable, 1, 500) == 0)
                return false;
            sent = send(fd, piece + at, (size_t)(n - at), MSG_NOSIGNAL | MSG_DONTWAIT);
            ck_assert(sent > 0 || errno == EAGAIN);
        }
    return true;
}

/* Nor is it read from before that time is over, and little is held for it. */
START_TEST(key_updates_are_not_read)
{
    bool taken = true;
    BIO *out;
    int fd;

    ek_http_budget_init(&meter_of_keys.budget, (size_t)64 << 20);
    config.limits.write_timeout_ms = config.limits.rate_grace_ms = 3600000;
    config.limits.body_timeout_ms = 3600000;
    SSL *ssl = open_keys(&fd, &out);
    for (int i = 0; taken && i < 20000; i++) {
        change_keys(ssl);
        taken = send_some(fd, out);
    }
    ck_assert(!taken);
    close_keys(ssl, fd);
    ck_assert_uint_le(ek_http_budget_peak(&meter_of_keys.budget), (size_t)256 << 10);
}
END_TEST

/* Bodies that never end: what the server holds stays within its budget, all but the last attackers
 * get an answer to come back, and a small request is served at any time. */
START_TEST(unfinished_bodies)
{
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n";
    static struct ek_http_meter meter;
    static char zeros[1 << 20];

    ek_http_budget_init(&meter.budget, (size_t)16 << 20);
    config.meter = &meter;
    config.max_connections = 2 * (size_t)ATTACKERS;
    config.limits.max_body = 10000000;
    http_fixture_start(&fixture, &config);
    for (size_t i = 0; i < ATTACKERS; i++) {
        attackers[i] = http_connect(&fixture);
        send(attackers[i], head, sizeof head - 1, MSG_NOSIGNAL);
        for (int k = 0; k < 9; k++) /* as much as the server takes */
            send(attackers[i], zeros, sizeof zeros, MSG_NOSIGNAL | MSG_DONTWAIT);
        expect_served("beside unfinished bodies");
    }
    ck_assert_uint_le(ek_http_budget_peak(&meter.budget), (size_t)16 << 20);
    stop();
    ck_assert_uint_eq(ek_http_budget_used(&meter.budget), 0);
}
END_TEST

/* Requests without a pause and without reading an answer. */
START_TEST(pipelining)
{
    static struct ek_http_meter meter;
    EK_AUTO(ek_buf) flood;

    ek_buf_init(&flood, 1 << 22);
    for (int i = 0; i < 20000; i++)
        ek_buf_puts(&flood, GET("/ok"));
    ek_http_budget_init(&meter.budget, (size_t)4 << 20);
    config.meter = &meter;
    http_fixture_start(&fixture, &config);
    for (size_t i = 0; i < ATTACKERS; i++) {
        attackers[i] = http_connect(&fixture);
        send(attackers[i], flood.data, flood.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        expect_served("beside a flood of requests");
    }
    ck_assert_uint_le(ek_http_budget_peak(&meter.budget), (size_t)5 << 20);
    stop();
    ck_assert_uint_eq(ek_http_budget_used(&meter.budget), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_abuse");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, unfinished);
    tcase_add_test(tc, unfinished_over_tls);
    tcase_add_test(tc, announced_hellos);
    tcase_add_test(tc, key_updates);
    tcase_add_test(tc, key_updates_are_not_read);
    tcase_add_test(tc, unfinished_bodies);
    tcase_add_test(tc, pipelining);
    return ek_test_run("http_abuse", tc);
}
