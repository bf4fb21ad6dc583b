/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for a big cluster: 5,000 nodes, 7 API servers with the discovery of real ones. */
#include "test/bench/bench.h"

#include <check.h>
#include <stdio.h>

#include "test/bench/measure.h"
#include "test/support/view_fixture.h"

#define NODES  5000
#define ROUNDS 50
#define ARENA  ((size_t)64 << 20)

/* The recorded control plane has six API servers with their discovery; a seventh joins them. */
static struct ek_view_fixture *make_view(void)
{
    struct ek_view_fixture *fx = ek_view_fixture_new(NULL);
    char line[200];

    ek_view_fixture_add_recording(fx);
    ek_view_fixture_script(fx, "lease cp-g claim=10.99.0.17:7443\n"
                               "slice 10.99.0.17 port=7443\n"
                               "probe 10.99.0.17:7443 version=v1.35.2 ev=1.35 mcv=1.34\n"
                               "controlplane\n");
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
    size_t n_violations = 0, n_peers = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct ek_skew_plan plan;
        double start = bench_now_ms();
        struct ek_arena *arena = ek_arena_new(ARENA);
        ek_skew_plan_make(view, arena, &plan);
        ms[i] = bench_now_ms() - start;
        n_violations = yyjson_mut_arr_size(yyjson_mut_obj_get(plan.status, "violations"));
        n_peers = yyjson_mut_arr_size(yyjson_mut_obj_get(plan.status, "peers"));
        ek_skew_plan_done(&plan);
        ek_arena_free(arena);
    }
    printf("%d nodes, %zu peers judged (%zu violations): best %.2f ms, median %.2f ms, worst %.2f "
           "ms of %d\n",
           NODES, n_peers, n_violations, bench_percentile(ms, ROUNDS, 0), bench_median(ms, ROUNDS),
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
    if (!ek_view_fixture_has_recording()) {
        srunner_free(runner);
        return 77;
    }
    srunner_run_all(runner, CK_SILENT);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed;
}
