/* SPDX-License-Identifier: Apache-2.0 */
/* The listener under attack, over real sockets on loopback: what attackers hold, and whether
 * somebody else is served meanwhile. Nothing here waits for time to pass. */
#include <check.h>
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

/* Bodies that never end: what the server holds stays within its budget, all but the last attackers
 * get an answer to come back, and a small request is served at any time. */
START_TEST(unfinished_bodies)
{
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n";
    static struct ek_http_meter meter;
    static char zeros[1 << 20];

    ek_http_budget_init(&meter.budget, (size_t)16 << 20);
    config.meter = &meter;
    config.max_connections = 2 * ATTACKERS;
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
    tcase_add_test(tc, unfinished_bodies);
    tcase_add_test(tc, pipelining);
    return ek_test_run("http_abuse", tc);
}
