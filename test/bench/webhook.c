/* SPDX-License-Identifier: Apache-2.0 */
/* The admission webhook by HTTPS, clients and server in one process: requests a second, and how
 * long one takes, by the number of policies that each set one label. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/support/webhook_fixture.h"

#define CONNECTIONS_MAX 32
#define ROUND_MS        2000.0
#define SAMPLES_MAX     200000

static struct webhook_fixture fixture;

struct client {
    uv_thread_t thread;
    const char *review;
    double end_ms;
    double *ms; /* one per request */
    size_t n, n_failed;
};

static void run_client(void *arg)
{
    struct client *c = arg;
    struct webhook_client client;

    if (!webhook_connect(&fixture, &client))
        bench_fail("cannot connect");
    for (double now = bench_now_ms(); now < c->end_ms && c->n < SAMPLES_MAX;) {
        char *answer = webhook_post(&client, "/mutate?timeout=10s", c->review);
        double after = bench_now_ms();
        c->n_failed += !answer || !strstr(answer, "\"allowed\":true");
        c->ms[c->n++] = after - now;
        now = after;
        ek_free(answer);
    }
    webhook_disconnect(&client);
}

static void measure(size_t policies, size_t connections, const char *review)
{
    struct client clients[CONNECTIONS_MAX] = {0};
    double *all = malloc(SAMPLES_MAX * connections * sizeof *all);
    double start_ms = bench_now_ms(), cpu_ms = bench_cpu_ms();
    size_t n = 0, n_failed = 0;

    for (size_t i = 0; i < connections; i++) {
        clients[i] = (struct client){.review = review,
                                     .end_ms = start_ms + ROUND_MS,
                                     .ms = malloc(SAMPLES_MAX * sizeof(double))};
        uv_thread_create(&clients[i].thread, run_client, &clients[i]);
    }
    for (size_t i = 0; i < connections; i++) {
        uv_thread_join(&clients[i].thread);
        memcpy(all + n, clients[i].ms, clients[i].n * sizeof *all);
        n += clients[i].n;
        n_failed += clients[i].n_failed;
        free(clients[i].ms);
    }
    double wall_ms = bench_now_ms() - start_ms;
    cpu_ms = bench_cpu_ms() - cpu_ms;
    if (n_failed > 0 || n == 0)
        bench_fail("%zu of %zu requests failed", n_failed, n);
    printf("%8zu  %11zu  %10.0f  %7.0f us  %7.0f us  %9.0f us\n", policies, connections,
           (double)n / wall_ms * 1000, bench_median(all, n) * 1000,
           bench_percentile(all, n, 99) * 1000, cpu_ms / (double)n * 1000);
    free(all);
}

/* A review of an object with a pod template of three containers, 3 kB. */
static char *make_review(void)
{
    char *plain = webhook_review("ns", "705ab4f5-6393-11e8-b7cc-42010a800002");
    char *at = strstr(plain, "\"size\":1");
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    ek_buf_append(&out, plain, (size_t)(at - plain));
    ek_buf_puts(&out, "\"template\":{\"spec\":{\"containers\":[");
    for (int i = 0; i < 3; i++)
        ek_buf_printf(
            &out,
            "%s{\"name\":\"c%d\",\"image\":\"registry.local/team/app:v1.2.%d\","
            "\"imagePullPolicy\":\"IfNotPresent\",\"ports\":[{\"containerPort\":8080,"
            "\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"A\",\"value\":\"one\"},{\"name\":"
            "\"B\",\"value\":\"two\"},{\"name\":\"C\",\"valueFrom\":{\"fieldRef\":{"
            "\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"limits\":{\"cpu\":"
            "\"500m\",\"memory\":\"256Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":"
            "\"64Mi\"}},\"readinessProbe\":{\"httpGet\":{\"path\":\"/ready\",\"port\":"
            "8080},\"periodSeconds\":5},\"volumeMounts\":[{\"name\":\"data\","
            "\"mountPath\":\"/data\"}]}",
            i ? "," : "", i, i);
    ek_buf_puts(&out, "]}},");
    ek_buf_puts(&out, at);
    ek_free(plain);
    return ek_buf_steal(&out);
}

/* Fixtures check what they make, which Check lets only tests do. */
START_TEST(webhook)
{
    static const size_t policies[] = {0, 1, 10, 50, 100}, connections[] = {1, 8};
    EK_AUTOFREE char *review = make_review();

    signal(SIGPIPE, SIG_IGN);
    webhook_fixture_start(&fixture, 0, true, 0);
    printf("policies  connections  requests/s         p50         p99  CPU/request\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(policies); i++) {
        webhook_fixture_publish(&fixture, webhook_snapshot(policies[i], NULL));
        for (size_t k = 0; k < EK_ARRAY_SIZE(connections); k++)
            measure(policies[i], connections[k], review);
    }
    webhook_fixture_stop(&fixture);
}
END_TEST

int bench_webhook(const struct bench_options *options)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("webhook");
    SRunner *runner = srunner_create(suite);

    (void)options;
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, webhook);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed;
}
