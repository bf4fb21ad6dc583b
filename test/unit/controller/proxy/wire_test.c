/* SPDX-License-Identifier: Apache-2.0 */
/* Wires of TLS against each other on one loop. */
#include "controller/proxy/wire.h"

#include <check.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/support/suite.h"
#include "test/support/testdir.h"
#include "test/support/testpki.h"

#define RECORD  1000
#define RECORDS 30

/* One side of a connection. */
struct side {
    struct ek_wire *wire;
    char letter;    /* what it sends */
    size_t to_send; /* octets, in pieces of at most piece */
    size_t piece;
    size_t sent, came;
    size_t wrong; /* octets that are not the other side's letter */
    char theirs;
    bool ready, wants, closed, lost;
    struct side *wakes; /* made to go on from within its input */
    bool stops;         /* wants no more after its next input */
};

static struct testpki_cert authority, leaf;
static struct ek_tls_identity *identity;
static struct ek_tls_trust *trust;
static uv_loop_t loop;
static uv_tcp_t listener;
static struct sockaddr_in address;
static uv_pipe_t local_listener; /* for the client that is no wire */
static struct sockaddr_un local;
static char dir[TESTDIR_SIZE];
static struct side clients[2], servers[3]; /* the last one of a client that is no wire */
static int n_accepted;
static int64_t own_ms; /* of servers */
static char text[1 << 20];

static void on_ready(void *ctx)
{
    ((struct side *)ctx)->ready = true;
}

static bool wants(void *ctx)
{
    return ((struct side *)ctx)->wants;
}

static void on_input(void *ctx, const char *data, size_t n)
{
    struct side *side = ctx;

    side->came += n;
    if (side->stops)
        side->wants = false;
    side->stops = false;
    if (side->wakes) {
        side->wakes->wants = true;
        ek_wire_go_on(side->wakes->wire);
    }
    for (size_t i = 0; i < n; i++)
        side->wrong += data[i] != side->theirs;
}

static void on_eof(void *ctx)
{
    (void)ctx;
}

static void on_lost(void *ctx, const char *why)
{
    (void)why;
    ((struct side *)ctx)->lost = true;
}

static struct ek_str output(void *ctx)
{
    struct side *side = ctx;
    size_t left = side->to_send - side->sent;

    if (left > 0)
        memset(text, side->letter, left < side->piece ? left : side->piece);
    return (struct ek_str){text, left < side->piece ? left : side->piece};
}

static void on_sent(void *ctx, size_t n)
{
    ((struct side *)ctx)->sent += n;
}

static bool ends(void *ctx)
{
    (void)ctx;
    return false;
}

static void on_closed(void *ctx)
{
    ((struct side *)ctx)->closed = true;
}

static const struct ek_wire_ops ops = {.ready = on_ready,
                                       .wants = wants,
                                       .input = on_input,
                                       .eof = on_eof,
                                       .lost = on_lost,
                                       .output = output,
                                       .sent = on_sent,
                                       .ends = ends,
                                       .closed = on_closed};

static void on_connection(uv_stream_t *stream, int status)
{
    struct side *side = &servers[n_accepted++];

    ck_assert_int_eq(status, 0);
    side->wire = ek_wire_accept(stream, ek_tls_session_new(identity), &ops, side);
    ck_assert_ptr_nonnull(side->wire);
    ek_wire_limit(side->wire, own_ms);
    ek_wire_go_on(side->wire);
}

static void turn(void)
{
    ck_assert_int_eq(uv_run(&loop, UV_RUN_ONCE) >= 0, 1);
    for (int i = 0; i < 2; i++)
        ck_assert(!clients[i].lost && !servers[i].lost);
}

static void setup(void)
{
    struct ssl_ctx_st *context;
    struct ek_err err;
    int len = sizeof address;

    n_accepted = 0;
    own_ms = 0;
    authority = testpki_authority("ca");
    leaf = testpki_issue(&authority, &(struct testpki_spec){.common_name = "server",
                                                            .names = "DNS:server,IP:127.0.0.1"});
    identity = ek_tls_identity_new();
    ck_assert_int_eq(
        ek_tls_context_new(ek_str_from(leaf.cert), ek_str_from(leaf.key), "server", &context, &err),
        0);
    ek_tls_identity_set(identity, context);
    ck_assert_int_eq(
        ek_tls_trust_new(ek_str_from(authority.cert), EK_STR(""), EK_STR(""), "ca", &trust, &err),
        0);
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &address);
    ck_assert_int_eq(uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&listener, 8, on_connection), 0);
    uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &len);
    testdir_make(dir);
    local.sun_family = AF_UNIX;
    snprintf(local.sun_path, sizeof local.sun_path, "%s/socket", dir);
    uv_pipe_init(&loop, &local_listener, 0);
    ck_assert_int_eq(uv_pipe_bind(&local_listener, local.sun_path), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&local_listener, 8, on_connection), 0);
    for (int i = 0; i < 2; i++) { /* one after the other: accepted in this order */
        clients[i] = (struct side){.wants = true, .letter = (char)('a' + i), .theirs = 's'};
        servers[i] = (struct side){.wants = true, .letter = 's', .theirs = (char)('a' + i)};
        clients[i].wire = ek_wire_dial(&loop, (const struct sockaddr *)&address,
                                       ek_tls_session_connect(trust, "server", "127.0.0.1", NULL),
                                       &ops, &clients[i]);
        while (!clients[i].ready || n_accepted <= i || !servers[i].ready)
            turn();
    }
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) {
        ek_wire_close(clients[i].wire, false);
        ek_wire_close(servers[i].wire, false);
    }
    uv_close((uv_handle_t *)&listener, NULL);
    uv_close((uv_handle_t *)&local_listener, NULL);
    testdir_remove(dir);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(clients[0].closed && clients[1].closed && servers[0].closed && servers[1].closed);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ek_tls_trust_unref(trust);
    ek_tls_identity_free(identity);
    testpki_done(&authority);
    testpki_done(&leaf);
}

static void send_octets(struct side *side, size_t octets, size_t piece)
{
    side->to_send = side->sent + octets;
    side->piece = piece;
    ek_wire_go_on(side->wire);
}

/* A wire that reads its input makes another one go on, of which octets wait to be decrypted: the
 * input stays what it was. */
START_TEST(input_is_not_overwritten)
{
    struct side *a = &servers[0], *b = &servers[1];

    b->wants = false;
    ek_wire_go_on(b->wire);
    send_octets(&clients[1], (size_t)RECORDS * RECORD, RECORD);
    while (clients[1].sent < clients[1].to_send)
        turn();
    b->wants = b->stops = true; /* takes a part of what comes at once */
    ek_wire_go_on(b->wire);
    while (b->came == 0)
        turn();
    ck_assert_uint_lt(b->came, (size_t)RECORDS * RECORD);
    a->wakes = b;
    send_octets(&clients[0], RECORD, RECORD);
    while (a->came < RECORD || b->came < (size_t)RECORDS * RECORD)
        turn();
    ck_assert_uint_eq(a->wrong, 0);
    ck_assert_uint_eq(b->wrong, 0);
}
END_TEST

/* What the system takes is sent within the call. What is more waits for the loop, and all of it
 * arrives. */
START_TEST(sends_at_once_within_bounds)
{
    const size_t much = sizeof text;

    send_octets(&clients[0], RECORD, RECORD);
    ck_assert_uint_eq(clients[0].sent, RECORD);
    send_octets(&clients[0], much, much);
    ck_assert_uint_lt(clients[0].sent, much / 4);
    while (servers[0].came < RECORD + much)
        turn();
    ck_assert_uint_eq(clients[0].sent, RECORD + much);
    ck_assert_uint_eq(servers[0].wrong, 0);
    for (int i = 0; i < 300; i++) { /* many small ones: none is kept for good */
        size_t before = servers[0].came;
        send_octets(&clients[0], RECORD, RECORD);
        while (servers[0].came < before + RECORD)
            turn();
    }
}
END_TEST

/* Who does not want input gets none, and all of it later. */
START_TEST(holds_back)
{
    const size_t much = sizeof text;

    servers[0].wants = false;
    ek_wire_go_on(servers[0].wire);
    send_octets(&clients[0], much, much);
    send_octets(&clients[1], RECORD, RECORD); /* the loop goes on */
    while (servers[1].came < RECORD)
        turn();
    ck_assert_uint_eq(servers[0].came, 0);
    servers[0].wants = true;
    ek_wire_go_on(servers[0].wire);
    while (servers[0].came < much)
        turn();
    ck_assert_uint_eq(servers[0].wrong, 0);
}
END_TEST

/* ---- A client that is no wire ---- */

struct raw {
    int fd;   /* no TCP: what the system takes depends on the two sides alone */
    SSL *ssl; /* owns the BIOs */
    BIO *in, *out;
    char piece[1 << 16];
    int at, n; /* of the piece */
    size_t sent;
};

/* Sends what the client has, as far as the system takes it. */
static void put_raw(struct raw *raw)
{
    if (raw->at == raw->n) {
        raw->at = 0;
        raw->n = BIO_read(raw->out, raw->piece, sizeof raw->piece);
        raw->n = raw->n > 0 ? raw->n : 0;
    }
    ssize_t n = send(raw->fd, raw->piece + raw->at, (size_t)(raw->n - raw->at),
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    raw->at += n > 0 ? (int)n : 0;
    raw->sent += n > 0 ? (size_t)n : 0;
}

static void open_raw(struct raw *raw)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    char piece[8192];

    *raw = (struct raw){.fd = socket(AF_UNIX, SOCK_STREAM, 0),
                        .ssl = SSL_new(context),
                        .in = BIO_new(BIO_s_mem()),
                        .out = BIO_new(BIO_s_mem())};
    SSL_CTX_free(context);
    SSL_set_bio(raw->ssl, raw->in, raw->out);
    SSL_set_connect_state(raw->ssl);
    ck_assert_int_eq(connect(raw->fd, (struct sockaddr *)&local, sizeof local), 0);
    servers[2] = (struct side){.wants = true, .theirs = 'x'};
    while (!servers[2].ready) {
        SSL_do_handshake(raw->ssl);
        put_raw(raw);
        uv_run(&loop, UV_RUN_NOWAIT);
        ssize_t n = recv(raw->fd, piece, sizeof piece, MSG_DONTWAIT);
        if (n > 0)
            BIO_write(raw->in, piece, (int)n);
    }
}

/* Turns in which the system takes nothing: the server reads nothing. */
#define STUCK 10
/* More octets than the system keeps for both sides. */
#define SENT_MAX ((size_t)16 << 20)

/* Has the client change its keys and want ours changed: until the server is lost, or until it waits
 * with an answer and reads no more. A server that reads on ends it, too. */
static void flood(struct raw *raw, bool until_lost)
{
    struct side *server = &servers[2];
    int stuck = 0;

    while (!server->lost && raw->sent < SENT_MAX &&
           (until_lost || stuck < STUCK || !ek_wire_is_sending(server->wire))) {
        size_t before = raw->sent;
        for (int k = 0; raw->at == raw->n && k < 30; k++) {
            SSL_key_update(raw->ssl, SSL_KEY_UPDATE_REQUESTED);
            SSL_do_handshake(raw->ssl);
        }
        if (raw->at == raw->n)
            SSL_write(raw->ssl, "x", 1);
        put_raw(raw);
        uv_run(&loop, UV_RUN_NOWAIT);
        stuck = raw->sent == before ? stuck + 1 : 0;
    }
    ck_assert_uint_lt(raw->sent, SENT_MAX);
}

static void close_raw(struct raw *raw)
{
    SSL_free(raw->ssl);
    close(raw->fd);
    ek_wire_close(servers[2].wire, false);
    while (!servers[2].closed)
        turn();
}

/* A client that changes its keys, wants ours changed, and reads nothing: in the end nothing is read
 * from it any more, and little waits for it. */
START_TEST(answers_to_changes_of_keys_are_bounded)
{
    static struct raw raw;

    open_raw(&raw);
    flood(&raw, false);
    ck_assert(!servers[2].lost && ek_wire_is_sending(servers[2].wire));
    close_raw(&raw);
}
END_TEST

/* Its owner has nothing to send, and so no time of its own for a client that reads nothing. */
START_TEST(answers_that_nobody_reads_end_the_wire)
{
    static struct raw raw;

    own_ms = 50;
    open_raw(&raw);
    flood(&raw, true);
    ck_assert(servers[2].lost);
    close_raw(&raw);
}
END_TEST

/* The time is that of one piece, and goes with it. */
START_TEST(answers_that_are_read_end_nothing)
{
    static struct raw raw;
    char piece[8192];

    own_ms = 3600000;
    open_raw(&raw);
    flood(&raw, false);
    while (ek_wire_is_sending(servers[2].wire)) {
        while (recv(raw.fd, piece, sizeof piece, MSG_DONTWAIT) > 0)
            ;
        put_raw(&raw);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    ck_assert(!servers[2].lost);
    close_raw(&raw);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("wire");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, input_is_not_overwritten);
    tcase_add_test(tcase, sends_at_once_within_bounds);
    tcase_add_test(tcase, holds_back);
    tcase_add_test(tcase, answers_to_changes_of_keys_are_bounded);
    tcase_add_test(tcase, answers_that_nobody_reads_end_the_wire);
    tcase_add_test(tcase, answers_that_are_read_end_nothing);
    return ek_test_run("wire", tcase);
}
