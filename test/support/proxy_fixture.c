/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/proxy_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reconcilers/peers/view_build.h"
#include "test/support/groups_fixture.h"
#include "test/support/http_fixture.h"

#define RESOURCE(name)                                                                             \
    "{\"resource\":\"" name                                                                        \
    "s\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"" name                       \
    "\"},\"scope\":\"Namespaced\",\"singularResource\":\"" name "\",\"verbs\":[\"get\"]}"
#define GROUP(name, version, resource)                                                             \
    "{\"items\":[{\"metadata\":{\"name\":\"" name "\"},\"versions\":[{\"version\":\"" version      \
    "\",\"resources\":[" resource "],\"freshness\":\"Current\"}]}]}"

static const char core[] = GROUP("", "v1", RESOURCE("pod"));
static const char *const groups[] = {GROUP("apps", "v1", RESOURCE("deployment")),
                                     GROUP("batch", "v1", RESOURCE("job"))};

/* The document with n more resources. */
static struct ek_api_groups *read_many(const char *text, int n)
{
    const char *first = strstr(text, "{\"resource\":");
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, (size_t)8 << 20);
    ek_buf_append(&out, text, (size_t)(first - text));
    for (int i = 0; i < n; i++)
        ek_buf_printf(&out, RESOURCE("more%d") ",", i, i, i);
    ek_buf_puts(&out, first);
    return ek_test_groups(ek_buf_str(&out));
}

void proxy_fixture_publish(struct proxy_fixture *f)
{
    struct ek_view_input_peer peers[2] = {0};
    const struct ek_view_input input = {.peers = peers, .n = 2};
    struct ek_api_groups *read[4];

    for (size_t i = 0; i < 2; i++) {
        const struct proxy_fixture_server *server = &f->servers[i];
        read[2 * i] = ek_test_groups(core);
        read[2 * i + 1] = read_many(groups[f->alike ? 0 : i], f->n_more);
        peers[i].peer = (struct ek_view_peer){.name = server->name,
                                              .server_id = server->name,
                                              .address = server->address,
                                              .routable = server->routable,
                                              .down = server->down};
        if (!server->unknown) {
            peers[i].core = read[2 * i];
            peers[i].groups = read[2 * i + 1];
        }
    }
    ek_proxy_board_set_view(f->board, ek_view_build(&input));
    for (size_t i = 0; i < 4; i++)
        ek_api_groups_unref(read[i]);
}

static void on_request(void *ctx, const struct testserver_request *request,
                       struct testserver_conn *conn)
{
    struct proxy_fixture_server *server = ctx;

    atomic_fetch_add(&server->requests, 1);
    server->fixture->handler(server, request, conn);
}

static void on_stale(void *ctx)
{
    struct proxy_fixture *f = ctx;
    atomic_fetch_add(&f->stale, 1);
}

static void start_server(struct proxy_fixture *f, size_t i)
{
    struct proxy_fixture_server *server = &f->servers[i];
    const struct testserver_options options = {.handler = on_request,
                                               .ctx = server,
                                               .cert = f->leaf.cert,
                                               .key = f->leaf.key,
                                               .client_ca = f->authority.cert};

    server->fixture = f;
    server->name = i ? "b" : "a";
    server->routable = true;
    server->server = testserver_start(&options);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%u",
             testserver_port(server->server));
}

/* A machine may be slow: no result depends on a limit that a test does not set. */
#define NO_LIMIT_MS ((int64_t)24 * 60 * 60 * 1000)

void proxy_fixture_prepare(struct proxy_fixture *f, testserver_fn handler)
{
    struct ek_proxy_trusts trusts = {0};
    struct ek_err err = {0};

    memset(f, 0, sizeof *f);
    f->handler = handler;
    f->authority = testpki_authority("ca");
    f->leaf = testpki_issue(
        &f->authority, &(struct testpki_spec){.common_name = "kube-apiserver",
                                              .names = "DNS:kubernetes.default.svc,IP:127.0.0.1"});
    f->board = ek_proxy_board_new(on_stale, f);
    ck_assert_msg(ek_tls_trust_new(ek_str_from(f->authority.cert), EK_STR(""), EK_STR(""), "ca",
                                   &trusts.bare, &err) == 0,
                  "%s", err.message);
    ek_proxy_board_set_trusts(f->board, trusts);
    uv_sem_init(&f->gate, 0);
    uv_sem_init(&f->entered, 0);
    uv_sem_init(&f->done, 0);
    uv_sem_init(&f->closed, 0);
    uv_sem_init(&f->idle, 0);
    start_server(f, 0);
    start_server(f, 1);
    proxy_fixture_publish(f);
    f->registry = ek_metrics_new();
    f->metrics = ek_proxy_metrics_new(f->registry);
    f->config = (struct ek_proxy_config){.options = {.address = "127.0.0.1:0",
                                                     .head_ms = NO_LIMIT_MS,
                                                     .body_ms = NO_LIMIT_MS,
                                                     .write_ms = NO_LIMIT_MS,
                                                     .dial_ms = NO_LIMIT_MS,
                                                     .answer_ms = NO_LIMIT_MS},
                                         .board = f->board,
                                         .metrics = f->metrics};
}

/* ---- The loop ---- */

static void on_async(uv_async_t *async)
{
    struct proxy_fixture *f = async->data;
    void (*task)(struct proxy_fixture *) = f->task;

    if (!task)
        return;
    f->task = NULL;
    task(f);
    uv_sem_post(&f->done);
}

static void on_tick(uv_timer_t *timer)
{
    struct proxy_fixture *f = timer->data;
    struct ek_proxy_stats stats;

    if (!f->waiting)
        return;
    ek_proxy_stats(f->proxy, &stats);
    if (stats.connections > 0 || stats.requests > 0)
        return;
    f->waiting = false;
    uv_timer_stop(timer);
    uv_sem_post(&f->idle);
}

static void run_loop(void *ctx)
{
    struct proxy_fixture *f = ctx;
    uv_run(&f->loop, UV_RUN_DEFAULT);
}

void proxy_fixture_start(struct proxy_fixture *f)
{
    struct ek_err err = {0};

    uv_loop_init(&f->loop);
    uv_async_init(&f->loop, &f->async, on_async);
    uv_timer_init(&f->loop, &f->tick);
    f->async.data = f->tick.data = f;
    ck_assert_msg(ek_proxy_new(&f->loop, &f->config, &f->proxy, &err) == 0, "%s", err.message);
    snprintf(f->address, sizeof f->address, "%s", ek_proxy_address(f->proxy));
    ck_assert_int_eq(uv_thread_create(&f->thread, run_loop, f), 0);
}

static void run_task(struct proxy_fixture *f, void (*task)(struct proxy_fixture *))
{
    f->task = task;
    uv_async_send(&f->async);
    uv_sem_wait(&f->done);
}

static void stats_task(struct proxy_fixture *f)
{
    ek_proxy_stats(f->proxy, &f->stats);
}

struct ek_proxy_stats proxy_fixture_stats(struct proxy_fixture *f)
{
    run_task(f, stats_task);
    return f->stats;
}

static void wait_task(struct proxy_fixture *f)
{
    f->waiting = true;
    uv_timer_start(&f->tick, on_tick, 0, 1);
}

void proxy_fixture_wait_idle(struct proxy_fixture *f)
{
    run_task(f, wait_task);
    uv_sem_wait(&f->idle);
}

static void on_closed(void *ctx)
{
    struct proxy_fixture *f = ctx;

    uv_close((uv_handle_t *)&f->async, NULL);
    uv_close((uv_handle_t *)&f->tick, NULL);
    uv_sem_post(&f->closed);
}

static void close_task(struct proxy_fixture *f)
{
    ek_proxy_close(f->proxy, f->grace_ms, on_closed, f);
    f->proxy = NULL;
}

void proxy_fixture_drain(struct proxy_fixture *f, int64_t grace_ms)
{
    f->grace_ms = grace_ms;
    run_task(f, close_task);
}

static void end_users_task(struct proxy_fixture *f)
{
    ek_proxy_end_users(f->proxy);
}

void proxy_fixture_end_users(struct proxy_fixture *f)
{
    run_task(f, end_users_task);
}

void proxy_fixture_kill(struct proxy_fixture *f, size_t i)
{
    testserver_stop(f->servers[i].server);
    f->servers[i].server = NULL;
}

void proxy_fixture_stop(struct proxy_fixture *f)
{
    if (f->proxy)
        proxy_fixture_drain(f, 0);
    uv_sem_wait(&f->closed);
    uv_thread_join(&f->thread);
    ck_assert_int_eq(uv_loop_close(&f->loop), 0);
    for (size_t i = 0; i < 2; i++)
        if (f->servers[i].server)
            testserver_stop(f->servers[i].server);
    ek_proxy_board_free(f->board);
    ek_proxy_metrics_free(f->metrics);
    ek_metrics_free(f->registry);
    testpki_done(&f->authority);
    testpki_done(&f->leaf);
    uv_sem_destroy(&f->gate);
    uv_sem_destroy(&f->entered);
    uv_sem_destroy(&f->done);
    uv_sem_destroy(&f->closed);
    uv_sem_destroy(&f->idle);
}

/* ---- Clients ---- */

int proxy_fixture_connect(const struct proxy_fixture *f)
{
    struct http_fixture target = {0};

    snprintf(target.address, sizeof target.address, "%s", f->address);
    return http_connect(&target);
}

char *proxy_fixture_get(const struct proxy_fixture *f, const char *path)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", path);
    int fd = proxy_fixture_connect(f);
    char *got = http_exchange(fd, text, 64 << 20, NULL);

    close(fd);
    return got;
}
