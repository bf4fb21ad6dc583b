/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a serving thread does for others before a client gets its turn. The loop, the server and
 * all clients are in one thread: everything that clients have sent is there before the loop runs,
 * and what is counted is work, not time.
 */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "controller/http/server.h"
#include "test/support/suite.h"

#define OTHERS_MAX 100
#define ROUNDS     100000 /* of the loop, until a test is taken to hang */

#define HIDDEN "127.0.0.2" /* behind one address with the attackers */
#define APART  "127.0.0.3"

struct client {
    int fd;
    SSL *tls; /* NULL for plain HTTP */
};

static uv_loop_t loop;
static struct ek_http_server *server;
static struct ek_tls_identity *identity;
static struct client victim, others[OTHERS_MAX];
static size_t n_others;
static size_t n_before; /* requests of others that were handled before the victim's */
static size_t n_slow;   /* requests that took long */
static bool handled;    /* the victim's */

static const char get[] = "GET /victim HTTP/1.1\r\nHost: x\r\n\r\n"; /* the victim's */

static void on_other(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    n_before += !handled;
    ek_http_reply_send(reply, 200, "text/plain", "ok", 2);
}

static void on_victim(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    handled = true;
    ek_http_reply_send(reply, 200, "text/plain", "ok", 2);
}

/* Longer than ctest gives this program, and short enough for the times that Check keeps. */
#define HEAD_TIMEOUT_S 900

static time_t passed_s; /* added to what the kernel says, for this program and libuv */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);

    ts->tv_sec += passed_s;
    return rc;
}

/* Takes until the time for the first requests of all connections is over. */
static void on_slow(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    passed_s += HEAD_TIMEOUT_S + 1;
    n_slow++;
    on_other(ctx, request, reply);
}

#define BIG_SIZE                                                                                   \
    ((size_t)16 << 20) /* more than the kernel takes for a client that reads nothing               \
                        */

static void on_big(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    char *body = ek_xalloc(BIG_SIZE);

    (void)ctx;
    (void)request;
    ek_http_reply_send(reply, 200, "text/plain", body, BIG_SIZE);
    ek_free(body);
}

static const struct ek_http_route routes[] = {
    {.path = "/big", .handler = on_big},
    {.path = "/other", .handler = on_other},
    {.path = "/slow", .handler = on_slow},
    {.path = "/victim", .handler = on_victim},
};

static void start(bool tls)
{
    struct ek_err err;
    struct ek_http_server_config config = {.name = "test",
                                           .bind_address = "127.0.0.1:0",
                                           .limits = {.head_timeout_ms = HEAD_TIMEOUT_S * 1000LL},
                                           .routes = routes,
                                           .n_routes = EK_ARRAY_SIZE(routes)};

    signal(SIGPIPE, SIG_IGN);
    identity = tls ? ek_tls_identity_new() : NULL;
    if (tls)
        ck_assert_int_eq(ek_tls_identity_self_signed(identity, 1763636289000, &err), 0);
    config.identity = identity;
    uv_loop_init(&loop);
    server = ek_http_server_new(&loop, &config);
    ck_assert_int_eq(ek_http_server_start(server, &err), 0);
    n_before = n_others = n_slow = 0;
    handled = false;
}

static void hang_up(struct client *client)
{
    SSL_free(client->tls);
    close(client->fd);
    *client = (struct client){.fd = -1};
}

static void stop(void)
{
    while (n_others > 0)
        hang_up(&others[--n_others]);
    hang_up(&victim);
    ek_http_server_close(server, 0, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ek_tls_identity_free(identity);
}

static size_t n_accepted(void)
{
    struct ek_http_server_stats stats;

    ek_http_server_stats(server, &stats);
    return (size_t)stats.accepted;
}

/* Connects; the server accepts when the loop runs. */
static void call(struct client *client, const char *from)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    const char *port = strrchr(ek_http_server_address(server), ':') + 1;

    client->tls = NULL;
    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, from, &addr.sin_addr);
    ck_assert_int_eq(bind(client->fd, (struct sockaddr *)&addr, sizeof addr), 0);
    inet_pton(AF_INET, "127.0.0.1", &addr.sin_addr);
    addr.sin_port = htons((uint16_t)strtol(port, NULL, 10));
    ck_assert_int_eq(connect(client->fd, (struct sockaddr *)&addr, sizeof addr), 0);
    fcntl(client->fd, F_SETFL, fcntl(client->fd, F_GETFL) | O_NONBLOCK);
}

/* Connects a client that the server has accepted. */
static void join(struct client *client, const char *from)
{
    size_t n = n_accepted();

    call(client, from);
    for (int i = 0; i < ROUNDS && n_accepted() == n; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT); /* from now on events come in the order in which they happen */
}

static void join_others(size_t n, const char *from)
{
    while (n_others < n)
        join(&others[n_others++], from);
}

/* Begins a handshake: the first flight is sent. */
static void greet(struct client *client)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    client->tls = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_fd(client->tls, client->fd);
    SSL_connect(client->tls);
}

static void shake(struct client *client)
{
    greet(client);
    for (int i = 0; i < ROUNDS && SSL_connect(client->tls) != 1; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    for (int i = 0; i < 10; i++) /* the server reads the last flight */
        uv_run(&loop, UV_RUN_NOWAIT);
}

/* Sends all of the text while the loop stands still: the kernel takes what the server has not read.
 * On a busy machine the kernel's buffer is full for a moment. */
static void say(struct client *client, const char *text, size_t len)
{
    struct pollfd writable = {.fd = client->fd, .events = POLLOUT};
    size_t sent = 0;

    for (int i = 0; i < ROUNDS && sent < len; i++) {
        ssize_t n = client->tls ? SSL_write(client->tls, text + sent, (int)(len - sent))
                                : send(client->fd, text + sent, len - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else
            poll(&writable, 1, 1);
    }
    ck_assert_uint_eq(sent, len);
}

/* Sends n requests of others, each with a body of that size. */
static void flood(struct client *client, size_t n, size_t body)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)1 << 24);
    for (size_t i = 0; i < n; i++) {
        ek_buf_printf(&text, "POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                      body);
        for (size_t k = 0; k < body; k++)
            ek_buf_append(&text, " ", 1);
    }
    say(client, text.data, text.len);
}

/* Sends the victim's request after all the others, and waits until it is handled. */
static void expect_turn(const char *name, size_t most)
{
    say(&victim, get, sizeof get - 1);
    for (int i = 0; i < ROUNDS && !handled; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_msg(handled, "%s: not handled", name);
    ck_assert_msg(n_before <= most, "%s: %zu requests of others before", name, n_before);
}

static const struct {
    const char *name;
    size_t n, requests, body;
    const char *victim;
    bool tls;
    size_t most; /* requests that may go before the victim's */
} floods[] = {
    {"one that pipelines", 1, 1000, 1, APART, false, 1},
    {"one behind the same address", 1, 1000, 1, HIDDEN, false, 1},
    {"one by TLS", 1, 1000, 1, APART, true, 1},
    {"one by TLS behind the same address", 1, 1000, 1, HIDDEN, true, 1},
    {"a source of many", 50, 20, 1, APART, false, 1},
    {"a source of many by TLS", 20, 50, 1, APART, true, 1},
    {"costly ones", 10, 1, 100000, APART, false, 0},
    {"costly ones by TLS behind the same address", 10, 1, 100000, HIDDEN, true, 0},
};

/* Requests that are there before the victim's, which nobody has begun. */
START_TEST(requests)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(floods); i++) {
        start(floods[i].tls);
        join(&victim, floods[i].victim);
        join_others(floods[i].n, HIDDEN);
        if (floods[i].tls) {
            shake(&victim);
            for (size_t k = 0; k < n_others; k++)
                shake(&others[k]);
        }
        for (size_t k = 0; k < n_others; k++)
            flood(&others[k], floods[i].requests, floods[i].body);
        expect_turn(floods[i].name, floods[i].most);
        stop();
    }
}
END_TEST

/* Costly requests that are complete are handled one a turn. */
START_TEST(costly)
{
    start(false);
    join(&victim, APART);
    join_others(10, HIDDEN);
    for (size_t i = 0; i < n_others; i++)
        flood(&others[i], 1, 100000);
    for (size_t n = 1; n <= n_others; n++) {
        for (int i = 0; i < ROUNDS && n_before < n; i++)
            uv_run(&loop, UV_RUN_NOWAIT);
        ck_assert_uint_eq(n_before, n);
    }
    stop();
}
END_TEST

static size_t count_answered(void)
{
    size_t n = 0;
    char c;

    for (size_t i = 0; i < n_others; i++)
        n += recv(others[i].fd, &c, 1, MSG_PEEK) == 1;
    return n;
}

/* Handshakes that are there before the victim's handshake. */
START_TEST(handshakes)
{
    char c;

    start(true);
    join(&victim, APART);
    join_others(50, HIDDEN);
    for (size_t i = 0; i < n_others; i++)
        greet(&others[i]);
    greet(&victim);
    for (int i = 0; i < ROUNDS && recv(victim.fd, &c, 1, MSG_PEEK) != 1; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_ge(count_answered(), 1);
    ck_assert_uint_le(count_answered(), 2);
    for (int i = 0; i < ROUNDS && count_answered() < n_others; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(count_answered(), n_others); /* nobody is forgotten */
    stop();
}
END_TEST

/* Handshakes that are there before a request on a connection of old. */
START_TEST(handshakes_before_a_request)
{
    start(true);
    join(&victim, HIDDEN);
    shake(&victim);
    join_others(50, HIDDEN);
    for (size_t i = 0; i < n_others; i++)
        greet(&others[i]);
    expect_turn("handshakes", 0);
    ck_assert_uint_le(count_answered(), 2);
    stop();
}
END_TEST

/* Connections that nobody has accepted yet. */
START_TEST(newcomers)
{
    start(false);
    join(&victim, HIDDEN);
    size_t n = n_accepted();
    while (n_others < 100)
        call(&others[n_others++], HIDDEN);
    expect_turn("newcomers", 0);
    ck_assert_uint_le(n_accepted() - n, 16);
    for (int i = 0; i < ROUNDS && n_accepted() < n + n_others; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(n_accepted(), n + n_others);
    stop();
}
END_TEST

/* A request that has come, and waits for its turn, is answered when the server drains. */
START_TEST(drained_before_its_turn)
{
    char answer[4096] = "";

    start(true);
    join(&victim, APART);
    shake(&victim);
    say(&victim, get, sizeof get - 1);
    uv_run(&loop, UV_RUN_NOWAIT); /* reads at its end */
    ck_assert(!handled);
    ek_http_server_close(server, 600000, NULL, NULL);
    for (int i = 0; i < ROUNDS && SSL_read(victim.tls, answer, sizeof answer - 1) <= 0; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_msg(!strncmp(answer, "HTTP/1.1 200 ", 13), "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "Connection: close"));
    hang_up(&victim);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ek_tls_identity_free(identity);
}
END_TEST

/* The time of a connection ends while its request waits for its turn: the turn still comes, and the
 * loop goes on meanwhile. */
START_TEST(overdue)
{
    start(_i == 1);
    join(&victim, APART);
    if (identity)
        shake(&victim);
    say(&victim, get, sizeof get - 1);
    uv_run(&loop, UV_RUN_NOWAIT); /* reads at its end */
    ck_assert(!handled);
    passed_s += HEAD_TIMEOUT_S + 1;
    for (int i = 0; i < ROUNDS && !handled; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert(handled);
    stop();
}
END_TEST

static void expect_answer(const char *name)
{
    char answer[4096] = "";
    ssize_t n = -1;

    for (int i = 0; i < ROUNDS && n < 0; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        n = victim.tls ? SSL_read(victim.tls, answer, sizeof answer - 1)
                       : recv(victim.fd, answer, sizeof answer - 1, 0);
    }
    ck_assert_msg(!strncmp(answer, "HTTP/1.1 200 ", 13), "%s: %s", name, answer);
}

/* A request that takes long is handled before the loop says that the victim's answer is sent, or
 * while the victim has begun something: that time is not the victim's. */
START_TEST(others_take_long)
{
    static const char slow[] = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
    static const struct {
        const char *name;
        size_t before; /* octets of the victim's request that come before the other one */
    } rows[] = {
        {"an answer", sizeof get - 1},
        {"half a head", 20},
        {"nothing", 0},
    };
    const char *name = rows[_i / 2].name;
    size_t before = rows[_i / 2].before;

    start(_i % 2 == 1);
    join(&victim, APART);
    join_others(1, HIDDEN);
    if (identity) {
        shake(&victim);
        shake(&others[0]);
    }
    if (before > 0)
        say(&victim, get, before);
    say(&others[0], slow, sizeof slow - 1);
    for (int i = 0; i < ROUNDS && n_slow == 0; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    if (before < sizeof get - 1)
        say(&victim, get + before, sizeof get - 1 - before);
    expect_answer(name);
    say(&victim, get, sizeof get - 1);
    expect_answer(name);
    stop();
}
END_TEST

static int signals[2]; /* to a callback that is no client's */

static void on_signal(uv_poll_t *poll, int status, int events)
{
    char octet;

    (void)status;
    (void)events;
    ck_assert_int_eq(read(signals[0], &octet, 1), 1);
    passed_s += HEAD_TIMEOUT_S + 1;
    uv_poll_stop(poll);
}

/* A callback takes long while the client makes room for more of its answer: timers come before the
 * loop learns that. */
START_TEST(callbacks_take_long)
{
    static const char big[] = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
    static char piece[1 << 20];
    uv_poll_t callback;
    size_t came = 0;

    start(false);
    ck_assert_int_eq(pipe(signals), 0);
    uv_poll_init(&loop, &callback, signals[0]);
    uv_poll_start(&callback, UV_READABLE, on_signal);
    join(&victim, APART);
    struct pollfd readable = {.fd = victim.fd, .events = POLLIN};
    say(&victim, big, sizeof big - 1);
    for (int i = 0; i < 1000; i++) /* until the system takes no more */
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(write(signals[1], "x", 1), 1);
    uv_run(&loop, UV_RUN_NOWAIT); /* calls back at its end */
    ck_assert_int_eq(uv_is_active((uv_handle_t *)&callback), 0);
    for (int i = 0; i < ROUNDS && came < BIG_SIZE; i++) {
        ssize_t n = recv(victim.fd, piece, sizeof piece, 0);
        ck_assert_int_ne(n, 0);
        came += n > 0 ? (size_t)n : 0;
        if (n < 0)
            poll(&readable, 1, 1);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    ck_assert_uint_ge(came, BIG_SIZE);
    uv_close((uv_handle_t *)&callback, NULL);
    stop();
    close(signals[0]);
    close(signals[1]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_fairness");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, requests);
    tcase_add_test(tc, costly);
    tcase_add_loop_test(tc, overdue, 0, 2);
    tcase_add_loop_test(tc, others_take_long, 0, 6);
    tcase_add_test(tc, callbacks_take_long);
    tcase_add_test(tc, handshakes);
    tcase_add_test(tc, handshakes_before_a_request);
    tcase_add_test(tc, newcomers);
    tcase_add_test(tc, drained_before_its_turn);
    return ek_test_run("http_fairness", tc);
}
