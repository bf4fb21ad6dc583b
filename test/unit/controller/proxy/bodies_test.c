/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of HTTP/2 that have large answers of the proxy made, and do not take them. */
#include <stdio.h>
#include <unistd.h>

#include "controller/proxy/h2.h"
#include "controller/proxy/relay.h"
#include "test/support/h2_client.h"
#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

#define ALPN_H2 "\x02h2\x08http/1.1"

#define CLIENTS 6

/* Of an index of OpenAPI. */
#define INDEX_SIZE ((size_t)900000)

struct session {
    struct h2_client client;
    SSL *ssl;
    int fd;
};

static struct proxy_fixture fixture;
static struct ek_tls_identity *identity;
static struct session sessions[CLIENTS];
static atomic_bool chunked;

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    EK_AUTO(ek_buf) text;
    bool in_chunks = atomic_load(&chunked);

    (void)ctx;
    (void)request;
    ek_buf_init(&text, 2 * INDEX_SIZE);
    ek_buf_printf(&text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
    if (in_chunks)
        ek_buf_printf(&text, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", INDEX_SIZE);
    else
        ek_buf_printf(&text, "Content-Length: %zu\r\n\r\n", INDEX_SIZE);
    ek_buf_printf(&text, "{\"paths\":{},\"info\":\"%0*d\"}", (int)INDEX_SIZE - 22, 0);
    if (in_chunks)
        ek_buf_puts(&text, "\r\n0\r\n\r\n");
    testserver_write(conn, text.data, text.len);
}

static void setup(void)
{
    atomic_store(&chunked, false);
    proxy_fixture_prepare(&fixture, handle);
    identity = http_fixture_identity();
    fixture.config.options.identity = identity;
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

/* The client takes heads, and one octet of a body. */
static void begin(struct session *session)
{
    h2_client_init(&session->client, 1);
    session->client.forget_bodies = true;
    session->fd = proxy_fixture_connect(&fixture);
    session->ssl = http_tls_connect(session->fd, ALPN_H2, 0);
    ck_assert_ptr_nonnull(session->ssl);
}

static void finish(struct session *session)
{
    http_tls_close(session->ssl);
    close(session->fd);
    h2_client_done(&session->client);
}

static void turn(struct session *session)
{
    struct h2_client *client = &session->client;
    char piece[16384];

    h2_client_output(client);
    if (client->out.len > 0)
        ck_assert_int_gt(SSL_write(session->ssl, client->out.data, (int)client->out.len), 0);
    ek_buf_reset(&client->out);
    int n = SSL_read(session->ssl, piece, sizeof piece);
    ck_assert(n > 0 && h2_client_input(client, piece, (size_t)n));
}

static size_t count(const struct session *session, int status)
{
    size_t n = 0;

    for (size_t i = 0; i < session->client.n_streams; i++)
        n += session->client.streams[i].status == status;
    return n;
}

#define STREAMS 60

/* Whichever way the length of the index is announced. */
START_TEST(limits_documents_of_a_connection)
{
    const size_t most = EK_H2_WAITING_MAX + EK_RELAY_COLLECT_MAX + STREAMS * (EK_WIRE_PIECE);
    struct session *one = &sessions[0];

    atomic_store(&chunked, _i == 1);
    proxy_fixture_start(&fixture);
    begin(one);
    for (int i = 0; i < STREAMS; i++)
        h2_client_request(&one->client, "GET", "/openapi/v3", "", 0);
    while (count(one, 0) > 0) {
        struct ek_proxy_stats stats = proxy_fixture_stats(&fixture);
        ck_assert_uint_le(stats.waiting, most);
        ck_assert_uint_le(stats.body_octets, (size_t)64 << 20);
        turn(one);
    }
    ck_assert_uint_ge(count(one, 200), 1);
    ck_assert_uint_eq(count(one, 200) + count(one, 429), STREAMS);
    ck_assert_uint_le(proxy_fixture_stats(&fixture).waiting, most);
    finish(one);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).body_octets, 0);
}
END_TEST

/* Of many connections, for all clients and for one of them. */
START_TEST(limits_documents_of_many_connections)
{
    const size_t limit = (size_t)3 << 20;
    struct ek_proxy_options *o = &fixture.config.options;
    size_t n_200 = 0, n_429 = 0;

    *(_i ? &o->body_octets_per_client : &o->body_octets) = limit;
    proxy_fixture_start(&fixture);
    for (int i = 0; i < CLIENTS; i++) {
        begin(&sessions[i]);
        h2_client_request(&sessions[i].client, "GET", "/openapi/v3", "", 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        while (count(&sessions[i], 0) > 0) {
            ck_assert_uint_le(proxy_fixture_stats(&fixture).body_octets, limit);
            turn(&sessions[i]);
        }
        n_200 += count(&sessions[i], 200);
        n_429 += count(&sessions[i], 429);
    }
    ck_assert_uint_ge(n_200, 1);
    ck_assert_uint_le(n_200, limit / INDEX_SIZE);
    ck_assert_uint_eq(n_200 + n_429, CLIENTS);
    ck_assert_uint_ge(proxy_fixture_stats(&fixture).waiting, n_200 * (INDEX_SIZE / 2));
    for (int i = 0; i < CLIENTS; i++)
        finish(&sessions[i]);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).body_octets, 0);
}
END_TEST

/* A client that takes its documents gets all of them, one after the other, on one connection. */
START_TEST(serves_documents_that_are_taken)
{
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        char *got = proxy_fixture_get(&fixture, "/openapi/v3");
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%.100s", got);
        ck_assert_uint_gt(strlen(got), INDEX_SIZE);
        ek_free(got);
    }
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).body_octets, 0);
}
END_TEST

static void setup_plain(void)
{
    setup();
    fixture.config.options.identity = NULL;
}

int main(void)
{
    TCase *tcase = tcase_create("bodies"), *plain = tcase_create("plain");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, limits_documents_of_a_connection, 0, 2);
    tcase_add_loop_test(tcase, limits_documents_of_many_connections, 0, 2);
    tcase_set_timeout(plain, 600);
    tcase_add_checked_fixture(plain, setup_plain, teardown);
    tcase_add_test(plain, serves_documents_that_are_taken);
    return ek_test_run("bodies", tcase, plain);
}
