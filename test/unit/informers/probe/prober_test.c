/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informers/client/kubeconfig.h"
#include "test/support/proberscene.h"
#include "test/support/suite.h"

START_TEST(asks_each_target_once)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &b, &scene.leaf, NULL);
    atomic_store(&b.minor, 35);
    struct ek_prober_target targets[] = {{"kube-apiserver", a.address, EK_PROBE_OWN, NULL},
                                         {"kube-apiserver", b.address, EK_PROBE_OWN, NULL}};
    struct ek_prober_options options = {.timeout_ms = 600000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, targets, 2, &options);
    ck_assert(!ek_prober_is_synced(scene.prober));
    proberscene_run_rounds(&scene, 2);
    ck_assert(ek_prober_is_synced(scene.prober));
    const struct ek_probe *pa = proberscene_probe(&scene, a.address),
                          *pb = proberscene_probe(&scene, b.address);
    ck_assert_uint_eq(pa->emulation.minor, 34);
    ck_assert_uint_eq(pb->emulation.minor, 35);
    ck_assert_str_eq(pa->info_binary, "1.36.2");
    ck_assert_int_eq(pa->reach.error.code, 0);
    ck_assert_uint_eq(pa->n_cert_names, 2);
    ck_assert_str_eq(pa->cert_names[1], "cp-a");
    proberscene_stop(&scene);
    testserver_stop(a.server);
    testserver_stop(b.server);
}
END_TEST

/* The one that hangs delays nobody, and is told as timed out with what it said before. */
START_TEST(a_peer_that_hangs_delays_nobody)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &b, &scene.leaf, NULL);
    struct ek_prober_target targets[] = {{"kube-apiserver", a.address, EK_PROBE_OWN, NULL},
                                         {"kube-apiserver", b.address, EK_PROBE_OWN, NULL}};
    /* No second round begins with the long timeout, which a stalled peer would use up. */
    struct ek_prober_options options = {
        .timeout_ms = 600000, .full_interval_ms = 3600000, .interval_ms = 3600000};
    ek_prober_set(scene.prober, targets, 2, &options);
    while (!ek_prober_is_synced(scene.prober))
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    atomic_store(&a.stalled, true);
    options.timeout_ms = 200;
    options.interval_ms = 20;
    ek_prober_set(scene.prober, targets, 2, &options);
    ek_prober_kick(scene.prober);
    while (proberscene_probe(&scene, a.address)->reach.error.code == 0)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    const struct ek_probe *pa = proberscene_probe(&scene, a.address);
    ck_assert_int_eq(pa->reach.error.code, EK_E_TIMEOUT);
    ck_assert_str_eq(pa->git_version, "v1.36.2");
    ck_assert_int_gt(pa->reach.tried_at_ms, pa->reach.good_at_ms);
    /* A machine that is busy delays the other one, too, but not for ever. */
    const int64_t hung_ms = pa->reach.tried_at_ms;
    while (proberscene_probe(&scene, b.address)->reach.good_at_ms <= hung_ms)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    ck_assert_int_eq(proberscene_probe(&scene, a.address)->reach.error.code, EK_E_TIMEOUT);
    proberscene_stop(&scene);
    testserver_stop(a.server);
    testserver_stop(b.server);
}
END_TEST

START_TEST(light_rounds_follow_and_a_kick_is_full)
{
    struct scene scene;
    struct peer a = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    struct ek_prober_target target = {"kube-apiserver", a.address, EK_PROBE_OWN, NULL};
    struct ek_prober_options options = {
        .timeout_ms = 600000, .full_interval_ms = 3600000, .interval_ms = 5};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 4);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 1);
    ek_prober_kick(scene.prober);
    proberscene_run_rounds(&scene, 2);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 2);
    /* Another version is noticed by a light round, which then asks everything. */
    atomic_store(&a.minor, 36);
    while (proberscene_probe(&scene, a.address)->emulation.minor != 36)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    proberscene_run_rounds(&scene, 2);
    /* A round that was under way saw both versions, and the next one another change. */
    unsigned asked = atomic_load(&a.metrics_asked);
    ck_assert(asked == 3 || asked == 4);
    proberscene_run_rounds(&scene, 4);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), asked);
    proberscene_stop(&scene);
    testserver_stop(a.server);
}
END_TEST

static void note_asking(void *ctx, const struct ek_prober_state *state)
{
    *(int *)ctx += state->asking;
}

static int n_asking(const struct scene *scene)
{
    int n = 0;

    ek_prober_each(scene->prober, note_asking, &n);
    return n;
}

START_TEST(a_kick_for_those_that_are_absent)
{
    struct scene scene;
    struct peer a = {0}, b = {0}, c = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &b, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &c, &scene.leaf, NULL);
    struct ek_prober_target targets[] = {{"kube-apiserver", a.address, EK_PROBE_OWN, NULL},
                                         {"kube-apiserver", b.address, EK_PROBE_OWN, NULL},
                                         {"kube-apiserver", c.address, EK_PROBE_OWN, NULL}};
    struct ek_prober_options options = {
        .timeout_ms = 600000, .full_interval_ms = 3600000, .interval_ms = 3600000};
    ek_prober_set(scene.prober, targets, 3, &options);
    ek_prober_kick_absent(scene.prober); /* not known yet: one more round for each */
    proberscene_run_rounds(&scene, 6);
    ek_prober_kick_absent(scene.prober);
    ck_assert_int_eq(n_asking(&scene), 0);
    /* One starts, and one is gone. */
    atomic_store(&a.starting, true);
    testserver_stop(b.server);
    ek_prober_kick(scene.prober);
    proberscene_run_rounds(&scene, 3);
    unsigned asked = atomic_load(&c.requests);
    for (int i = 0; i < 3; i++) {
        ek_prober_kick_absent(scene.prober);
        ck_assert_int_eq(n_asking(&scene), 2);
        proberscene_run_rounds(&scene, 2);
        ck_assert_int_eq(n_asking(&scene), 0);
    }
    ck_assert(!ek_probe_is_ready(proberscene_probe(&scene, a.address)));
    ck_assert_int_ne(proberscene_probe(&scene, b.address)->reach.error.code, 0);
    /* It is ready while a round is under way: one more round sees so. */
    ek_prober_kick_absent(scene.prober);
    atomic_store(&a.starting, false);
    ek_prober_kick_absent(scene.prober);
    ek_prober_kick_absent(scene.prober);
    proberscene_run_rounds(&scene, 4);
    ck_assert(ek_probe_is_ready(proberscene_probe(&scene, a.address)));
    ek_prober_kick_absent(scene.prober);
    ck_assert_int_eq(n_asking(&scene), 1); /* the one that is gone */
    ck_assert_uint_eq(atomic_load(&c.requests), asked);
    proberscene_stop(&scene);
    testserver_stop(a.server);
    testserver_stop(c.server);
}
END_TEST

START_TEST(without_openapi_and_metrics)
{
    struct scene scene;
    struct peer a = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    struct ek_prober_target target = {"kube-apiserver", a.address, EK_PROBE_OWN, NULL};
    struct ek_prober_options options = {.timeout_ms = 600000,
                                        .full_interval_ms = 3600000,
                                        .interval_ms = 5,
                                        .documents_only = true};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 2);
    ek_prober_kick(scene.prober);
    atomic_store(&a.minor, 36);
    while (proberscene_probe(&scene, a.address)->emulation.minor != 36)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    ck_assert_uint_eq(atomic_load(&a.metrics_asked), 0);
    const struct ek_probe *probe = proberscene_probe(&scene, a.address);
    ck_assert_int_eq(probe->openapi_answer.tried_at_ms, EK_TIME_UNSET);
    ck_assert_int_ne(probe->version_answer.good_at_ms, EK_TIME_UNSET);
    ck_assert_int_ne(probe->discovery_answer.tried_at_ms, EK_TIME_UNSET);
    proberscene_stop(&scene);
    testserver_stop(a.server);
}
END_TEST

START_TEST(targets_come_and_go)
{
    struct scene scene;
    struct peer a = {0}, b = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &b, &scene.leaf, NULL);
    struct ek_prober_target both[] = {{"kube-apiserver", a.address, EK_PROBE_OWN, NULL},
                                      {"kube-apiserver", b.address, EK_PROBE_OWN, NULL}};
    struct ek_prober_options options = {.timeout_ms = 600000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, both, 1, &options);
    proberscene_run_rounds(&scene, 1);
    int64_t first = proberscene_probe(&scene, a.address)->reach.good_at_ms;
    ek_prober_set(scene.prober, both, 2, &options);
    proberscene_run_rounds(&scene, 1);
    ck_assert_int_eq(proberscene_probe(&scene, a.address)->reach.good_at_ms, first);
    ck_assert_ptr_nonnull(proberscene_probe(&scene, b.address));
    /* Dropped while its round is under way: nothing is heard of it any more. */
    ek_prober_kick(scene.prober);
    ek_prober_set(scene.prober, &both[1], 1, &options);
    proberscene_run_rounds(&scene, 1);
    ck_assert_uint_eq(ek_prober_size(scene.prober), 1);
    ck_assert_ptr_null(proberscene_probe(&scene, a.address));
    ek_prober_set(scene.prober, NULL, 0, &options);
    ck_assert(ek_prober_is_synced(scene.prober));
    proberscene_stop(&scene);
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

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &server, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &scheduler, &scene.other_leaf, NULL);
    struct ek_prober_target targets[] = {
        {"kube-scheduler", scheduler.address, EK_PROBE_METRICS, NULL},
        {"kube-scheduler", server.address, EK_PROBE_METRICS, NULL},
        {"kube-apiserver", scheduler.address, EK_PROBE_OWN, NULL}};
    struct ek_prober_options options = {.timeout_ms = 600000, .full_interval_ms = 60000};
    for (size_t i = 0; i < EK_ARRAY_SIZE(targets); i++) {
        ek_prober_set(scene.prober, &targets[i], 1, &options);
        proberscene_run_rounds(&scene, 1);
        ck_assert_int_eq(proberscene_probe(&scene, targets[i].address)->reach.error.code,
                         i == 0 ? 0 : EK_E_TLS);
    }
    proberscene_stop(&scene);
    testserver_stop(server.server);
    testserver_stop(scheduler.server);
}
END_TEST

START_TEST(closes_with_rounds_under_way)
{
    struct scene scene;
    struct peer a = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &a, &scene.leaf, NULL);
    atomic_store(&a.stalled, true);
    struct ek_prober_target target = {"kube-apiserver", a.address, EK_PROBE_OWN, NULL};
    struct ek_prober_options options = {.timeout_ms = 600000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    uv_run(&scene.bench.loop, UV_RUN_NOWAIT);
    proberscene_stop(&scene);
    ck_assert_int_eq(scene.rounds, 0);
    testserver_stop(a.server);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("prober");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, asks_each_target_once);
    tcase_add_test(tc, a_peer_that_hangs_delays_nobody);
    tcase_add_test(tc, light_rounds_follow_and_a_kick_is_full);
    tcase_add_test(tc, a_kick_for_those_that_are_absent);
    tcase_add_test(tc, without_openapi_and_metrics);
    tcase_add_test(tc, targets_come_and_go);
    tcase_add_test(tc, each_kind_proves_its_own_name);
    tcase_add_test(tc, closes_with_rounds_under_way);
    return ek_test_run("prober", tc);
}
