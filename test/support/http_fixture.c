/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/http_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_SIZE (5 * 1000 * 1000)

static void on_ok(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    ek_http_reply_send(reply, 200, "text/plain", "ok", 2);
}

static void on_echo(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    ek_http_reply_send(reply, 200, "text/plain", request->body.p, request->body.len);
}

static void on_big(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    char *body = ek_xalloc(BIG_SIZE);

    (void)ctx;
    (void)request;
    for (size_t i = 0; i < BIG_SIZE; i++)
        body[i] = (char)('a' + i % 26);
    ek_http_reply_send(reply, 200, "text/plain", body, BIG_SIZE);
    ek_free(body);
}

static void on_slow_closed(uv_handle_t *timer)
{
    ek_free(timer);
}

static void on_slow_timer(uv_timer_t *timer)
{
    ek_http_reply_send(timer->data, 200, "text/plain", "slow", 4);
    uv_close((uv_handle_t *)timer, on_slow_closed);
}

static void on_slow(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct http_fixture *fixture = ctx;
    uv_timer_t *timer = ek_xalloc(sizeof *timer);

    (void)request;
    uv_timer_init(&fixture->loop, timer);
    timer->data = reply;
    uv_timer_start(timer, on_slow_timer, 50, 0);
    uv_sem_post(&fixture->entered);
}

static struct ek_http_reply *never[64];
static size_t n_never;

static void on_never(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct http_fixture *fixture = ctx;

    (void)request;
    ck_assert_uint_lt(n_never, EK_ARRAY_SIZE(never));
    never[n_never++] = reply;
    uv_sem_post(&fixture->entered);
}

static struct ek_http_route table[] = {
    {.path = "/ok", .handler = on_ok},       {.path = "/echo", .handler = on_echo},
    {.path = "/big", .handler = on_big},     {.path = "/slow", .handler = on_slow},
    {.path = "/never", .handler = on_never},
};

static void on_async(uv_async_t *async)
{
    struct http_fixture *fixture = async->data;
    void (*task)(struct http_fixture *) = fixture->task;

    if (!task)
        return;
    fixture->task = NULL;
    task(fixture);
    uv_sem_post(&fixture->done);
}

static void on_turn(uv_prepare_t *watch)
{
    struct http_fixture *fixture = watch->data;
    struct ek_http_server_stats stats;

    if (!fixture->waiting)
        return;
    ek_http_server_stats(fixture->server, &stats);
    if (stats.accepted == 0 || stats.connections > 0)
        return;
    fixture->waiting = false;
    uv_sem_post(&fixture->empty);
}

static void wait_task(struct http_fixture *fixture)
{
    fixture->waiting = true;
}

void http_fixture_wait_empty(struct http_fixture *fixture)
{
    http_fixture_run(fixture, wait_task);
    uv_sem_wait(&fixture->empty);
}

static void run_loop(void *ctx)
{
    struct http_fixture *fixture = ctx;
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
}

void http_fixture_start(struct http_fixture *fixture, struct ek_http_server_config *config)
{
    struct ek_err err;

    memset(fixture, 0, sizeof *fixture);
    uv_loop_init(&fixture->loop);
    uv_async_init(&fixture->loop, &fixture->async, on_async);
    fixture->async.data = fixture;
    uv_prepare_init(&fixture->loop, &fixture->watch);
    fixture->watch.data = fixture;
    uv_prepare_start(&fixture->watch, on_turn);
    uv_sem_init(&fixture->empty, 0);
    uv_sem_init(&fixture->done, 0);
    uv_sem_init(&fixture->closed, 0);
    uv_sem_init(&fixture->entered, 0);
    table[3].ctx = table[4].ctx = fixture;
    if (!config->routes) {
        config->routes = table;
        config->n_routes = EK_ARRAY_SIZE(table);
    }
    if (!config->name)
        config->name = "test";
    fixture->server = ek_http_server_new(&fixture->loop, config);
    ck_assert_msg(ek_http_server_start(fixture->server, &err) == 0, "%s", err.message);
    snprintf(fixture->address, sizeof fixture->address, "%s",
             ek_http_server_address(fixture->server));
    ck_assert_int_eq(uv_thread_create(&fixture->thread, run_loop, fixture), 0);
}

void http_fixture_run(struct http_fixture *fixture, void (*task)(struct http_fixture *fixture))
{
    fixture->task = task;
    uv_async_send(&fixture->async);
    uv_sem_wait(&fixture->done);
}

static void on_server_closed(void *ctx)
{
    struct http_fixture *fixture = ctx;

    uv_close((uv_handle_t *)&fixture->async, NULL);
    uv_close((uv_handle_t *)&fixture->watch, NULL);
    uv_sem_post(&fixture->closed);
}

static void close_task(struct http_fixture *fixture)
{
    ek_http_server_close(fixture->server, fixture->grace_ms, on_server_closed, fixture);
    fixture->server = NULL;
}

void http_fixture_begin_close(struct http_fixture *fixture, int64_t grace_ms)
{
    fixture->grace_ms = grace_ms;
    http_fixture_run(fixture, close_task);
}

void http_fixture_stop(struct http_fixture *fixture)
{
    if (fixture->server)
        http_fixture_begin_close(fixture, 0);
    uv_sem_wait(&fixture->closed);
    uv_thread_join(&fixture->thread);
    ck_assert_int_eq(uv_loop_close(&fixture->loop), 0);
    uv_sem_destroy(&fixture->done);
    uv_sem_destroy(&fixture->closed);
    uv_sem_destroy(&fixture->entered);
    uv_sem_destroy(&fixture->empty);
    while (n_never > 0)
        ek_http_reply_text(never[--n_never], 200, "too late");
}

static void stats_task(struct http_fixture *fixture)
{
    ek_http_server_stats(fixture->server, &fixture->stats);
}

struct ek_http_server_stats http_fixture_stats(struct http_fixture *fixture)
{
    http_fixture_run(fixture, stats_task);
    return fixture->stats;
}

int http_try_connect(const struct http_fixture *fixture)
{
    const char *address = fixture->address;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 600};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_port = htons((uint16_t)strtol(strrchr(address, ':') + 1, NULL, 10));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    close(fd);
    return -1;
}

int http_connect(const struct http_fixture *fixture)
{
    int fd = http_try_connect(fixture);

    ck_assert_msg(fd >= 0, "connect %s", fixture->address);
    return fd;
}

static void send_all(int fd, const char *text)
{
    for (size_t n = strlen(text); n > 0;) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        text += sent;
        n -= (size_t)sent;
    }
}

/* With a time limit on the socket a read ends with EINTR on anything that looks like a signal, such
 * as a completion of the io_uring that newer libuv hands descriptors to the kernel by. */
static ssize_t receive(int fd, void *buf, size_t size)
{
    return TEMP_FAILURE_RETRY(recv(fd, buf, size, 0));
}

char *http_exchange(int fd, const char *text, size_t limit, size_t *ret_len)
{
    EK_AUTO(ek_buf) got;
    char piece[65536];

    ek_buf_init(&got, limit);
    send_all(fd, text);
    while (got.len < limit) {
        size_t want = limit - got.len < sizeof piece ? limit - got.len : sizeof piece;
        ssize_t n = receive(fd, piece, want);
        if (n <= 0)
            break;
        ek_buf_append(&got, piece, (size_t)n);
    }
    if (ret_len)
        *ret_len = got.len;
    return ek_buf_steal(&got);
}

char *http_request(int fd, const char *text)
{
    EK_AUTO(ek_buf) got;
    char c;

    ek_buf_init(&got, 1 << 20);
    send_all(fd, text);
    while (!strstr(ek_buf_str(&got), "\r\n\r\n") && receive(fd, &c, 1) == 1)
        ek_buf_append(&got, &c, 1);
    const char *length = strcasestr(ek_buf_str(&got), "\r\ncontent-length: ");
    long n = length ? strtol(length + 18, NULL, 10) : 0;
    for (; n > 0 && receive(fd, &c, 1) == 1; n--)
        ek_buf_append(&got, &c, 1);
    return ek_buf_steal(&got);
}

SSL *http_tls_connect(int fd, const char *alpn, int max_version)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl;

    SSL_CTX_set_security_level(context, 0); /* lets old versions be offered */
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    if (max_version)
        SSL_CTX_set_max_proto_version(context, max_version);
    ssl = SSL_new(context);
    SSL_CTX_free(context);
    if (alpn)
        SSL_set_alpn_protos(ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

char *http_tls_exchange(SSL *ssl, const char *text, size_t limit, size_t *ret_len)
{
    EK_AUTO(ek_buf) got;
    char piece[16384];
    int n;

    ek_buf_init(&got, limit);
    SSL_write(ssl, text, (int)strlen(text));
    while (got.len < limit && (n = SSL_read(ssl, piece, sizeof piece)) > 0)
        ek_buf_append(&got, piece, (size_t)n < limit - got.len ? (size_t)n : limit - got.len);
    if (ret_len)
        *ret_len = got.len;
    return ek_buf_steal(&got);
}

void http_tls_close(SSL *ssl)
{
    SSL_shutdown(ssl);
    SSL_free(ssl);
}

struct ek_tls_identity *http_fixture_identity(void)
{
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_err err;

    ck_assert_msg(ek_tls_identity_self_signed(identity, 1763636289000, &err) == 0, "%s",
                  err.message);
    return identity;
}
