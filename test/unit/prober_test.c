/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/prober.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informers/kubeconfig.h"
#include "test/support/clientbench.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

/* A peer that answers like an API server of some version, or not at all. */
struct peer {
    struct testserver *server;
    char address[64];
    atomic_int minor; /* what it emulates */
    atomic_bool stalled;
    atomic_uint metrics_asked;
};

struct scene {
    struct testpki_cert authority, leaf, other_leaf;
    struct ek_client_config *config;
    struct clientbench bench;
    struct ek_prober *prober;
    int rounds; /* seen by the observer */
    int closed;
};

static int64_t test_clock(void)
{
    static int64_t now_ms = 1000;
    return now_ms++;
}

static void serve_peer(void *ctx, const struct testserver_request *request,
                       struct testserver_conn *conn)
{
    struct peer *peer = ctx;
    char body[256];

    if (atomic_load(&peer->stalled)) {
        testserver_stall(conn);
    } else if (!strcmp(request->target, "/version")) {
        snprintf(body, sizeof body,
                 "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\","
                 "\"emulationMajor\":\"1\",\"emulationMinor\":\"%d\"}",
                 atomic_load(&peer->minor));
        testserver_reply(conn, 200, "Content-Type: application/json\r\n", body);
    } else if (!strcmp(request->target, "/metrics")) {
        atomic_fetch_add(&peer->metrics_asked, 1);
        testserver_reply(conn, 200, "",
                         "version_info{binary=\"1.36.2\",component=\"kube\",emulation=\"1.34\","
                         "min_compat=\"1.33\"} 1\n");
    } else if (!strncmp(request->target, "/readyz", 7)) {
        testserver_reply(conn, 200, "", "[+]ping ok\n");
    } else if (!strcmp(request->target, "/api") || !strcmp(request->target, "/apis")) {
        testserver_reply(conn, 200, "Content-Type: application/json\r\nETag: \"E\"\r\n",
                         "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}");
    } else {
        testserver_reply(conn, 404, "", "404 page not found\n");
    }
}

static void start_peer(struct scene *scene, struct peer *peer, const struct testpki_cert *leaf)
{
    atomic_init(&peer->minor, 34);
    peer->server = testserver_start(&(struct testserver_options){
        .handler = serve_peer, .ctx = peer, .cert = leaf->cert, .key = leaf->key});
    snprintf(peer->address, sizeof peer->address, "127.0.0.1:%d", testserver_port(peer->server));
    (void)scene;
}

static void on_round(void *ctx)
{
    struct scene *scene = ctx;
    scene->rounds++;
}

static void start(struct scene *scene)
{
    *scene = (struct scene){0};
    scene->authority = testpki_authority("cluster");
    scene->leaf = testpki_issue(&scene->authority,
                                &(struct testpki_spec){.common_name = "kube-apiserver",
                                                       .names = "DNS:kubernetes.default.svc,"
                                                                "DNS:cp-a"});
    scene->other_leaf = testpki_issue(&scene->authority,
                                      &(struct testpki_spec){.common_name = "kube-scheduler",
                                                             .names = "DNS:sched-a,IP:127.0.0.1"});
    scene->config = ek_client_config_new();
    scene->config->server = ek_xstrdup("https://127.0.0.1:1");
    scene->config->ca_data = ek_xstrdup(scene->authority.cert);
    clientbench_start(&scene->bench, scene->config);
    scene->prober =
        ek_prober_new(&scene->bench.loop, scene->bench.client, test_clock, on_round, scene);
}

static void on_closed(void *ctx)
{
    struct scene *scene = ctx;
    scene->closed = 1;
}

static void stop(struct scene *scene)
{
    ek_prober_close(scene->prober, on_closed, scene);
    while (!scene->closed)
        uv_run(&scene->bench.loop, UV_RUN_ONCE);
    clientbench_stop(&scene->bench);
    ek_client_config_free(scene->config);
    testpki_done(&scene->authority);
    testpki_done(&scene->leaf);
    testpki_done(&scene->other_leaf);
}

static void run_rounds(struct scene *scene, int n)
{
    int until = scene->rounds + n;
    while (scene->rounds < until)
        uv_run(&scene->bench.loop, UV_RUN_ONCE);
}

static const struct ek_probe *probe_of(struct scene *scene, const char *address)
{
    for (size_t i = 0; i < ek_prober_size(scene->prober); i++) {
        const char *at;
        const struct ek_probe *probe = ek_prober_at(scene->prober, i, &at);
        if (!strcmp(at, address))
            return probe;
    }
    return NULL;
}

START_TEST(asks_each_target_once)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    start(&scene);
    start_peer(&scene, &a, &scene.leaf);
    start_peer(&scene, &b, &scene.leaf);
    atomic_store(&b.minor, 35);
    struct ek_prober_target targets[] = {{"kube-apiserver", a.address},
                                         {"kube-apiserver", b.address}};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, targets, 2, &options);
    ck_assert(!ek_prober_is_settled(scene.prober));
    run_rounds(&scene, 2);
    ck_assert(ek_prober_is_settled(scene.prober));
    const struct ek_probe *pa = probe_of(&scene, a.address), *pb = probe_of(&scene, b.address);
    ck_assert_uint_eq(pa->emulation.minor, 34);
    ck_assert_uint_eq(pb->emulation.minor, 35);
    ck_assert_str_eq(pa->info_binary, "1.36.2");
    ck_assert_int_eq(pa->reach.error.code, 0);
    ck_assert_uint_eq(pa->n_cert_names, 2);
    ck_assert_str_eq(pa->cert_names[1], "cp-a");
    stop(&scene);
    testserver_stop(a.server);
    testserver_stop(b.server);
}
END_TEST

/* The one that hangs delays nobody, and is told as timed out with what it said before. */
START_TEST(a_peer_that_hangs_delays_nobody)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    start(&scene);
    start_peer(&scene, &a, &scene.leaf);
    start_peer(&scene, &b, &scene.leaf);
    struct ek_prober_target targets[] = {{"kube-apiserver", a.address},
                                         {"kube-apiserver", b.address}};
    struct ek_prober_options options = {
        .timeout_ms = 10000, .full_interval_ms = 60000, .interval_ms = 20};
    ek_prober_set(scene.prober, targets, 2, &options);
    while (!ek_prober_is_settled(scene.prober))
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    atomic_store(&a.stalled, true);
    options.timeout_ms = 200;
    ek_prober_set(scene.prober, targets, 2, &options);
    while (probe_of(&scene, a.address)->reach.error.code == 0)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    const struct ek_probe *pa = probe_of(&scene, a.address);
    ck_assert_int_eq(pa->reach.error.code, EK_E_TIMEOUT);
    ck_assert_str_eq(pa->git_version, "v1.36.2");
    ck_assert_int_gt(pa->reach.tried_at_ms, pa->reach.good_at_ms);
    ck_assert_int_eq(probe_of(&scene, b.address)->reach.error.code, 0);
    stop(&scene);
    testserver_stop(a.server);
    testserver_stop(b.server);
}
END_TEST

START_TEST(light_rounds_follow_and_a_kick_is_full)
{
    struct scene scene;
    struct peer a = {0};

    start(&scene);
    start_peer(&scene, &a, &scene.leaf);
    struct ek_prober_target target = {"kube-apiserver", a.address};
    struct ek_prober_options options = {
        .timeout_ms = 10000, .full_interval_ms = 3600000, .interval_ms = 5};
    ek_prober_set(scene.prober, &target, 1, &options);
    run_rounds(&scene, 4);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 1);
    ek_prober_kick(scene.prober);
    run_rounds(&scene, 2);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 2);
    /* Another version is noticed by a light round, which then asks everything. */
    atomic_store(&a.minor, 36);
    while (probe_of(&scene, a.address)->emulation.minor != 36)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 3);
    stop(&scene);
    testserver_stop(a.server);
}
END_TEST

START_TEST(targets_come_and_go)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    start(&scene);
    start_peer(&scene, &a, &scene.leaf);
    start_peer(&scene, &b, &scene.leaf);
    struct ek_prober_target both[] = {{"kube-apiserver", a.address}, {"kube-apiserver", b.address}};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, both, 1, &options);
    run_rounds(&scene, 1);
    int64_t first = probe_of(&scene, a.address)->reach.good_at_ms;
    ek_prober_set(scene.prober, both, 2, &options);
    run_rounds(&scene, 1);
    ck_assert_int_eq(probe_of(&scene, a.address)->reach.good_at_ms, first);
    ck_assert_ptr_nonnull(probe_of(&scene, b.address));
    /* Dropped while its round is under way: nothing is heard of it any more. */
    ek_prober_kick(scene.prober);
    ek_prober_set(scene.prober, &both[1], 1, &options);
    run_rounds(&scene, 1);
    ck_assert_uint_eq(ek_prober_size(scene.prober), 1);
    ck_assert_ptr_null(probe_of(&scene, a.address));
    ek_prober_set(scene.prober, NULL, 0, &options);
    ck_assert(ek_prober_is_settled(scene.prober));
    stop(&scene);
    testserver_stop(a.server);
    testserver_stop(b.server);
}
END_TEST

/* Another component must prove the address it was called by; an API server's certificate, which
 * names kubernetes.default.svc, does not do for it, and the other way round. */
START_TEST(each_kind_proves_its_own_name)
{
    struct scene scene;
    struct peer server = {0}, scheduler = {0};

    start(&scene);
    start_peer(&scene, &server, &scene.leaf);
    start_peer(&scene, &scheduler, &scene.other_leaf);
    struct ek_prober_target targets[] = {{"kube-scheduler", scheduler.address},
                                         {"kube-scheduler", server.address},
                                         {"kube-apiserver", scheduler.address}};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    for (size_t i = 0; i < EK_ARRAY_SIZE(targets); i++) {
        ek_prober_set(scene.prober, &targets[i], 1, &options);
        run_rounds(&scene, 1);
        ck_assert_int_eq(probe_of(&scene, targets[i].address)->reach.error.code,
                         i == 0 ? 0 : EK_E_TLS);
    }
    stop(&scene);
    testserver_stop(server.server);
    testserver_stop(scheduler.server);
}
END_TEST

START_TEST(closes_with_rounds_under_way)
{
    struct scene scene;
    struct peer a = {0};

    start(&scene);
    start_peer(&scene, &a, &scene.leaf);
    atomic_store(&a.stalled, true);
    struct ek_prober_target target = {"kube-apiserver", a.address};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    uv_run(&scene.bench.loop, UV_RUN_NOWAIT);
    stop(&scene);
    ck_assert_int_eq(scene.rounds, 0);
    testserver_stop(a.server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prober");
    TCase *tc = tcase_create("prober");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, asks_each_target_once);
    tcase_add_test(tc, a_peer_that_hangs_delays_nobody);
    tcase_add_test(tc, light_rounds_follow_and_a_kick_is_full);
    tcase_add_test(tc, targets_come_and_go);
    tcase_add_test(tc, each_kind_proves_its_own_name);
    tcase_add_test(tc, closes_with_rounds_under_way);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
