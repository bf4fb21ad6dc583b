/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /readyz, /metrics and discovery of the process: they answer whatever the control loop
 * does, and even while clients hold their connections. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/manager/health_board.h"
#include "controller/run/serving.h"
#include "test/support/http_fixture.h"
#include "test/support/suite.h"

#define CLOSE(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define ATTACKERS   ((size_t)200)

static uv_loop_t control;
static uv_thread_t thread;
static uv_async_t async;
static uv_sem_t done, go_on;
static void (*task)(void);
static struct ek_run_options options;
static struct ek_metrics *metrics;
static struct ek_metric *collected;
static struct ek_discovery_endpoint *discovery;
static struct ek_serving *serving;
static struct ek_runnable runnable;
static int check_rc;

static void on_async(uv_async_t *handle)
{
    void (*fn)(void) = task;

    (void)handle;
    task = NULL;
    if (!fn)
        return;
    fn();
    uv_sem_post(&done);
}

static void run_control(void *arg)
{
    (void)arg;
    uv_run(&control, UV_RUN_DEFAULT);
}

/* On the control loop. */
static void run(void (*fn)(void))
{
    task = fn;
    uv_async_send(&async);
    uv_sem_wait(&done);
}

static int check(void *ctx, struct ek_err *err)
{
    (void)ctx;
    return check_rc ? ek_err_set(err, check_rc, "not yet") : 0;
}

static void collect(void *ctx)
{
    (void)ctx;
    ek_metric_add(collected, 1);
}

static void start(void)
{
    struct ek_err err;

    ck_assert_msg(runnable.start(runnable.ctx, &err) == 0, "%s", err.message);
}

static void on_stopped(void *token)
{
    (void)token;
    uv_close((uv_handle_t *)&async, NULL);
}

static void stop(void)
{
    runnable.stop(runnable.ctx, on_stopped, NULL);
}

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    check_rc = 0;
    options = (struct ek_run_options){.health_address = "127.0.0.1:0",
                                      .metrics_address = "127.0.0.1:0",
                                      .metrics_cert_path = "",
                                      .discovery_address = "127.0.0.1:0"};
    uv_loop_init(&control);
    uv_async_init(&control, &async, on_async);
    uv_sem_init(&done, 0);
    uv_sem_init(&go_on, 0);
    metrics = ek_metrics_new();
    collected = ek_metric_with(
        ek_metrics_register(metrics, &(struct ek_metric_desc){.name = "collected",
                                                              .help = "How often.",
                                                              .type = EK_METRIC_GAUGE}),
        NULL);
    discovery = ek_discovery_endpoint_new();
    serving = ek_serving_new(&(struct ek_serving_config){.loop = &control,
                                                         .options = &options,
                                                         .metrics = metrics,
                                                         .collect = collect,
                                                         .discovery = discovery});
    ek_serving_add_readyz(serving, "test", check, NULL);
    ek_serving_runnable(serving, &runnable);
    ck_assert_int_eq(uv_thread_create(&thread, run_control, NULL), 0);
    run(start);
}

static void teardown(void)
{
    run(stop);
    uv_thread_join(&thread);
    ck_assert_int_eq(uv_loop_close(&control), 0);
    ek_serving_free(serving);
    ek_discovery_endpoint_free(discovery);
    ek_metrics_free(metrics);
    uv_sem_destroy(&done);
    uv_sem_destroy(&go_on);
}

static int connect_to(const char *address)
{
    struct http_fixture fixture = {0};

    snprintf(fixture.address, sizeof fixture.address, "%s", address);
    return http_connect(&fixture);
}

static void expect(const char *address, const char *text, const char *status, const char *part)
{
    int fd = connect_to(address);
    EK_AUTOFREE char *got = http_exchange(fd, text, 1 << 20, NULL);

    ck_assert_msg(strstr(got, status) && strstr(got, part), "%s\n%s", text, got);
    close(fd);
}

START_TEST(serves)
{
    const char *health = ek_serving_health_address(serving);

    expect(health, CLOSE("/healthz"), " 200 ", "ok");
    expect(health, CLOSE("/healthz/control-loop"), " 200 ", "ok");
    expect(health, CLOSE("/readyz?verbose"), " 200 ", "[+]test ok");
    expect(ek_serving_metrics_address(serving), CLOSE("/metrics"), " 200 ", "collected 1\n");
    expect(ek_serving_metrics_address(serving), CLOSE("/metrics"), " 200 ", "collected 2\n");
}
END_TEST

/* Discovery is for clients with a token, by TLS, also where /metrics is open to all. */
START_TEST(guards_discovery)
{
    static const char *const paths[] = {"/api", "/apis", "/apis/apps/v1", "/version", "/metrics"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(paths); i++) {
        EK_AUTOFREE char *text =
            ek_xasprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", paths[i]);
        int fd = connect_to(ek_serving_discovery_address(serving));
        SSL *ssl = http_tls_connect(fd, NULL, 0);
        ck_assert_msg(ssl != NULL, "%s: no TLS", paths[i]);
        EK_AUTOFREE char *got = http_tls_exchange(ssl, text, 1 << 20, NULL);
        ck_assert_msg(strstr(got, " 401 ") && strstr(got, "WWW-Authenticate: Bearer"), "%s: %s",
                      paths[i], got);
        http_tls_close(ssl);
        close(fd);
    }
    int fd = connect_to(ek_serving_discovery_address(serving));
    EK_AUTOFREE char *got = http_exchange(fd, CLOSE("/apis"), 1 << 20, NULL);
    ck_assert_msg(!strstr(got, "HTTP/1.1 200"), "%s", got);
    close(fd);
}
END_TEST

static void block(void)
{
    uv_sem_post(&done);
    uv_sem_wait(&go_on);
}

/* The control loop hangs: probes and scrapers are answered by what is known. */
START_TEST(control_loop_hangs)
{
    run(block);
    for (int i = 0; i < 10; i++)
        expect(ek_serving_health_address(serving), CLOSE("/healthz"), " 200 ", "ok");
    expect(ek_serving_health_address(serving), CLOSE("/readyz"), " 200 ", "ok");
    expect(ek_serving_metrics_address(serving), CLOSE("/metrics"), " 200 ", "collected 0\n");
    uv_sem_post(&go_on);
    uv_sem_wait(&done); /* of the end of block */
}
END_TEST

/* Half a head, or no handshake, on each of many connections, to all ports. */
START_TEST(half_open_heads)
{
    static const char half[] = "GET /healthz HTTP/1.1\r\nHo";
    int fds[3 * ATTACKERS];

    for (size_t i = 0; i < ATTACKERS; i++) {
        fds[i] = connect_to(ek_serving_health_address(serving));
        fds[ATTACKERS + i] = connect_to(ek_serving_metrics_address(serving));
        fds[2 * ATTACKERS + i] = connect_to(ek_serving_discovery_address(serving));
        send(fds[i], half, sizeof half - 1, MSG_NOSIGNAL);
        send(fds[ATTACKERS + i], half, sizeof half - 1, MSG_NOSIGNAL);
        if (i % 10 == 0)
            expect(ek_serving_health_address(serving), CLOSE("/healthz"), " 200 ", "ok");
    }
    expect(ek_serving_metrics_address(serving), CLOSE("/metrics"), " 200 ", "collected 1\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

START_TEST(stuck)
{
    static const struct {
        int64_t age_ms;
        bool good;
    } rows[] = {{0, true}, {29999, true}, {30000, true}, {30001, false}, {INT64_MAX, false}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_err err = {0};
        ck_assert_msg((ek_health_board_judge(rows[i].age_ms, &err) == 0) == rows[i].good, "%zu", i);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("serving");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, serves);
    tcase_add_test(tc, guards_discovery);
    tcase_add_test(tc, control_loop_hangs);
    tcase_add_test(tc, half_open_heads);
    tcase_add_test(tc, stuck);
    return ek_test_run("serving", tc);
}
