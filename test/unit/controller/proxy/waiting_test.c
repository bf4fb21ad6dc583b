/* SPDX-License-Identifier: Apache-2.0 */
/* What clients that do not read have the proxy hold, which connections end at the limit, and what
 * is left of connections that have ended. */
#include <check.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/proxy/relay.h"
#include "controller/proxy/wire.h"
#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

#define PODS "/api/v1/namespaces/n/pods"

/* More than the system takes for a connection of which nobody reads. */
#define PIECE  ((size_t)100000)
#define PIECES 200

#define CLIENTS 16

static struct proxy_fixture fixture;
static int fds[CLIENTS];

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n";
    static char piece[PIECE];

    (void)ctx;
    (void)request;
    testserver_write(conn, head, sizeof head - 1);
    for (int i = 0; i < PIECES; i++)
        testserver_write(conn, piece, sizeof piece);
}

static void setup(void)
{
    proxy_fixture_prepare(&fixture, handle);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
}

/* Opens a connection whose client reads nothing of a large response. */
static int begin(void)
{
    static const char text[] = "GET " PODS " HTTP/1.1\r\nHost: h\r\n\r\n";
    int fd = proxy_fixture_connect(&fixture);

    ck_assert_int_eq(send(fd, text, sizeof text - 1, 0), sizeof text - 1);
    return fd;
}

static void begin_all(void)
{
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = begin();
}

static void end_all(void)
{
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).waiting_octets, 0);
}

/* A client that reads gets the whole response. */
static void expect_whole(void)
{
    int fd = proxy_fixture_connect(&fixture);
    size_t len = 0;
    char *got = http_exchange(fd, "GET " PODS " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                              (size_t)64 << 20, &len);
    const char *body = strstr(got, "\r\n\r\n");

    ck_assert_ptr_nonnull(body);
    ck_assert_uint_eq(len - (size_t)(body + 4 - got), PIECE * PIECES);
    ek_free(got);
    close(fd);
}

/* Connections end as soon as more octets wait than may, and who reads is served meanwhile. */
START_TEST(ends_who_does_not_read)
{
    const size_t limit = (size_t)512 * 1024;
    struct ek_proxy_stats stats;

    fixture.config.options.waiting_octets = limit;
    proxy_fixture_start(&fixture);
    begin_all();
    do
        stats = proxy_fixture_stats(&fixture);
    while (stats.rejected == 0 || stats.waiting_octets > limit);
    expect_whole();
    ck_assert_uint_lt(proxy_fixture_stats(&fixture).connections, CLIENTS + 1);
    end_all();
}
END_TEST

/* Below the limit none ends: 64 KiB and a piece in the relay, as much again that is being sent, and
 * what the wire of the API server has read. */
START_TEST(keeps_who_does_not_read_below_the_limit)
{
    const size_t each = 2 * (EK_RELAY_HIGH + EK_WIRE_PIECE) + 2 * EK_WIRE_PIECE;
    struct ek_proxy_stats stats;

    fixture.config.options.waiting_octets = (CLIENTS + 1) * each;
    proxy_fixture_start(&fixture);
    begin_all();
    while (proxy_fixture_stats(&fixture).waiting_octets < CLIENTS * EK_WIRE_PIECE)
        ;
    expect_whole();
    stats = proxy_fixture_stats(&fixture);
    ck_assert_uint_eq(stats.rejected, 0);
    ck_assert_uint_le(stats.waiting_octets, (CLIENTS + 1) * each);
    end_all();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("waiting");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, ends_who_does_not_read);
    tcase_add_test(tcase, keeps_who_does_not_read_below_the_limit);
    return ek_test_run("waiting", tcase);
}
