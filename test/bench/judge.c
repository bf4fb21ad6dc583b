/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for a big cluster: 5,000 nodes, 7 API servers with the discovery of real ones. */
#include "test/bench/bench.h"

#include <check.h>
#include <stdio.h>

#include "test/bench/measure.h"
#include "test/support/view_fixture.h"

#define NODES  5000
#define PEERS  7
#define ROUNDS 50
#define ARENA  ((size_t)64 << 20)

static void add_peer(struct ek_view_fixture *fx, int i)
{
    char line[400];

    snprintf(line, sizeof line,
             "lease m%d claim=10.0.0.%d:6443\n"
             "node m%d ip=10.0.0.%d kubelet=v1.36.2\n"
             "pod kube-apiserver m%d ip=10.0.0.%d\n"
             "pod kube-controller-manager m%d ip=10.0.0.%d\n"
             "pod kube-scheduler m%d ip=10.0.0.%d\n"
             "probe 10.0.0.%d:6443 version=v1.3%d.2 ev=1.3%d mcv=1.3%d\n",
             i, i, i, i, i, i, i, i, i, i, i, i % 3 + 4, i % 3 + 4, i % 3 + 3);
    ek_view_fixture_script(fx, line);
}

static struct ek_view_fixture *make_view(void)
{
    struct ek_view_fixture *fx = ek_view_fixture_new("2026-11-20T12:00:00Z");
    char line[200];

    for (int i = 1; i <= PEERS; i++)
        add_peer(fx, i);
    ek_view_fixture_script(fx, "slice 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 "
                               "10.0.0.7\ncontrolplane\n");
    for (int i = 0; i < NODES; i++) {
        snprintf(line, sizeof line, "node worker-%05d ip=10.%d.%d.%d kubelet=v1.3%d.%d\n", i,
                 1 + (i >> 16), i >> 8 & 255, i & 255, 2 + i % 5, i % 7);
        ek_view_fixture_script(fx, line);
    }
    return fx;
}

/* Fixtures check what they make, which Check lets only tests do. */
START_TEST(judge)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = make_view();
    const struct ek_skew_view *view = ek_view_fixture_view(fx);
    double ms[ROUNDS];
    size_t n_violations = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct ek_skew_plan plan;
        double start = bench_now_ms();
        struct ek_arena *arena = ek_arena_new(ARENA);
        ek_skew_plan_make(view, arena, &plan);
        ms[i] = bench_now_ms() - start;
        n_violations = yyjson_mut_arr_size(yyjson_mut_obj_get(plan.status, "violations"));
        ek_skew_plan_done(&plan);
        ek_arena_free(arena);
    }
    printf("%d nodes, %d peers judged (%zu violations): best %.2f ms, median %.2f ms, worst %.2f "
           "ms of %d\n",
           NODES, PEERS, n_violations, bench_percentile(ms, ROUNDS, 0), bench_median(ms, ROUNDS),
           bench_percentile(ms, ROUNDS, 100), ROUNDS);
}
END_TEST

int bench_judge(const struct bench_options *options)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("judge");
    SRunner *runner = srunner_create(suite);

    (void)options;
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, judge);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed;
}
