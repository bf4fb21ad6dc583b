/* SPDX-License-Identifier: Apache-2.0 */
/* The runner: outcomes, limits, one run per key, drain; with a clock that the test moves. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/mem.h"
#include "controller/runner.h"

#define RUNS_MAX 300

struct world {
    struct ek_runner *runner;
    int64_t now;
    struct ek_reconcile *runs[RUNS_MAX]; /* as they were started */
    size_t n_runs;
    bool at_once; /* end each run inside reconcile, with outcome and err */
    struct ek_outcome outcome;
    struct ek_err err;
    bool forbidden;
    unsigned begun, ended, failures, abandoned, stopped, most_active;
    enum ek_reconciled last;
    int64_t last_duration;
    char last_id[64], last_key[64];
    struct ek_err last_err;
};

static int64_t clock_now(void *ctx)
{
    struct world *w = ctx;
    return w->now;
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct world *w = ctx;
    ck_assert_str_eq(key, ek_reconcile_key(run));
    ck_assert_uint_lt(w->n_runs, RUNS_MAX);
    w->runs[w->n_runs++] = run;
    if (ek_runner_active(w->runner) > w->most_active)
        w->most_active = ek_runner_active(w->runner);
    if (w->at_once)
        ek_reconcile_done(run, w->outcome, &w->err);
}

static void abandon(void *ctx, struct ek_reconcile *run)
{
    struct world *w = ctx;
    (void)run;
    w->abandoned++;
}

static bool may_run(void *ctx)
{
    struct world *w = ctx;
    return !w->forbidden;
}

static void on_begin(void *ctx)
{
    struct world *w = ctx;
    w->begun++;
}

static void on_end(void *ctx, enum ek_reconciled result, int64_t duration_ms)
{
    struct world *w = ctx;
    w->ended++;
    w->last = result;
    w->last_duration = duration_ms;
}

static void on_failed(void *ctx, const char *key, const char *id, enum ek_reconciled result,
                      const struct ek_err *err)
{
    struct world *w = ctx;
    (void)result;
    w->failures++;
    snprintf(w->last_key, sizeof w->last_key, "%s", key);
    snprintf(w->last_id, sizeof w->last_id, "%s", id);
    w->last_err = *err;
}

static void on_stopped(void *token)
{
    struct world *w = token;
    w->stopped++;
}

static void world_init(struct world *w, unsigned workers, int64_t timeout_ms)
{
    *w = (struct world){0};
    w->runner = ek_runner_new(
        NULL, &(struct ek_runner_config){
                  .name = "test",
                  .workers = workers,
                  .arena_limit = 1000,
                  .timeout_ms = timeout_ms,
                  .reconcile = reconcile,
                  .abandon = abandon,
                  .may_run = may_run,
                  .ctx = w,
                  .observer = {.begin = on_begin, .end = on_end, .failed = on_failed, .ctx = w},
                  .now_ms = clock_now});
    ek_runner_start(w->runner);
}

static void world_done(struct world *w)
{
    ek_runner_close(w->runner, NULL, NULL);
}

static const struct outcome_row {
    const char *name;
    struct ek_outcome outcome;
    int code;
    int64_t retry_after_ms;
    unsigned failures_before; /* rate-limited failures of the key before */
    enum ek_reconciled result;
    int64_t next_ms; /* until the key is ready again, -1: never */
    unsigned requeues;
} outcome_rows[] = {
    {"success", {0}, 0, 0, 0, EK_RECONCILED_OK, -1, 0},
    {"success forgets", {0}, 0, 0, 3, EK_RECONCILED_OK, -1, 0},
    {"first error", {0}, EK_E_SERVER, 0, 0, EK_RECONCILED_ERROR, 5, 1},
    {"fourth error", {0}, EK_E_SERVER, 0, 3, EK_RECONCILED_ERROR, 40, 4},
    {"conflict is an error", {0}, EK_E_CONFLICT, 0, 0, EK_RECONCILED_ERROR, 5, 1},
    {"an error wins over requeue_after",
     {.requeue_after_ms = 60000},
     EK_E_NET,
     0,
     0,
     EK_RECONCILED_ERROR,
     5,
     1},
    {"terminal", {.terminal = true}, EK_E_INVAL, 0, 0, EK_RECONCILED_TERMINAL, -1, 0},
    {"terminal without an error is success", {.terminal = true}, 0, 0, 0, EK_RECONCILED_OK, -1, 0},
    {"throttled", {0}, EK_E_THROTTLED, 7000, 0, EK_RECONCILED_ERROR, 7000, 0},
    {"throttled without a time", {0}, EK_E_THROTTLED, 0, 0, EK_RECONCILED_ERROR, 5, 1},
    {"throttled for ever", {0}, EK_E_THROTTLED, INT64_MAX, 0, EK_RECONCILED_ERROR, 1000000, 0},
    {"requeue_after forgets",
     {.requeue_after_ms = 30000},
     0,
     0,
     3,
     EK_RECONCILED_REQUEUE_AFTER,
     30000,
     0},
    {"requeue_after wins over requeue",
     {.requeue = true, .requeue_after_ms = 30000},
     0,
     0,
     0,
     EK_RECONCILED_REQUEUE_AFTER,
     30000,
     0},
    {"requeue", {.requeue = true}, 0, 0, 0, EK_RECONCILED_REQUEUE, 5, 1},
    {"requeue again", {.requeue = true}, 0, 0, 2, EK_RECONCILED_REQUEUE, 20, 3},
};

START_TEST(outcomes)
{
    const struct outcome_row *row = &outcome_rows[_i];
    struct world w;

    world_init(&w, 1, 0);
    ek_runner_add(w.runner, "a", 0);
    w.at_once = true;
    for (unsigned i = 0; i < row->failures_before; i++) {
        ek_err_set(&w.err, EK_E_NET, "broken");
        w.now += 100000;
        ek_runner_step(w.runner);
    }
    w.outcome = row->outcome;
    w.err = (struct ek_err){.code = row->code, .retry_after_ms = row->retry_after_ms};
    w.now += 100000;
    int64_t next = ek_runner_step(w.runner);
    ck_assert_msg(w.last == row->result, "%s: result %d", row->name, w.last);
    ck_assert_msg(next == row->next_ms, "%s: next in %" PRId64, row->name, next);
    unsigned requeues = ek_queue_num_requeues(ek_runner_queue(w.runner), "a");
    ck_assert_msg(requeues == row->requeues, "%s: %u requeues", row->name, requeues);
    ck_assert_msg(w.failures == row->failures_before + (row->code != 0), "%s: %u failures",
                  row->name, w.failures);
    world_done(&w);
}
END_TEST

START_TEST(one_run_per_key)
{
    struct world w;
    world_init(&w, 4, 0);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_step(w.runner);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_add(w.runner, "b", 0);
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.n_runs, 2);
    ck_assert_str_eq(ek_reconcile_key(w.runs[1]), "b");
    ek_reconcile_done(w.runs[0], (struct ek_outcome){0}, NULL);
    ek_runner_step(w.runner); /* the event during the run is not lost */
    ck_assert_uint_eq(w.n_runs, 3);
    ck_assert_str_eq(ek_reconcile_key(w.runs[2]), "a");
    world_done(&w);
}
END_TEST

START_TEST(workers)
{
    struct world w;
    world_init(&w, 3, 0);
    for (char key[] = "a"; *key <= 'h'; (*key)++)
        ek_runner_add(w.runner, key, 0);
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.n_runs, 3);
    for (size_t i = 0; i < 8; i++) {
        ek_reconcile_done(w.runs[i], (struct ek_outcome){0}, NULL);
        ek_runner_step(w.runner);
    }
    ck_assert_uint_eq(w.n_runs, 8);
    ck_assert_uint_eq(w.most_active, 3);
    ck_assert_uint_eq(w.begun, 8);
    ck_assert_uint_eq(w.ended, 8);
    ck_assert_uint_eq(ek_runner_active(w.runner), 0);
    world_done(&w);
}
END_TEST

START_TEST(ids_differ)
{
    struct world w;
    world_init(&w, 2, 0);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_add(w.runner, "b", 0);
    ek_runner_step(w.runner);
    const char *a = ek_reconcile_id(w.runs[0]), *b = ek_reconcile_id(w.runs[1]);
    ck_assert_uint_eq(strlen(a), 36);
    ck_assert_str_ne(a, b);
    ck_assert_int_eq(a[14], '4'); /* version */
    ck_assert(strchr("89ab", a[19]) != NULL);
    world_done(&w);
}
END_TEST

START_TEST(duration)
{
    struct world w;
    world_init(&w, 1, 0);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_step(w.runner);
    w.now += 1234;
    ek_reconcile_done(w.runs[0], (struct ek_outcome){0}, NULL);
    ek_runner_step(w.runner);
    ck_assert_int_eq(w.last_duration, 1234);
    world_done(&w);
}
END_TEST

START_TEST(timeout)
{
    struct world w;
    world_init(&w, 1, 5000);
    ek_runner_add(w.runner, "a", 0);
    ck_assert_int_eq(ek_runner_step(w.runner), 5000);
    w.now += 4999;
    ck_assert_int_eq(ek_runner_step(w.runner), 1);
    ck_assert_uint_eq(w.abandoned, 0);
    w.now += 1;
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.abandoned, 1);
    w.now += 60000;
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.abandoned, 1); /* once, and the key stays taken until the run ends */
    ek_runner_add(w.runner, "a", 0);
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.n_runs, 1);
    ek_reconcile_done(w.runs[0], (struct ek_outcome){.requeue_after_ms = 1}, NULL);
    ek_runner_step(w.runner);
    ck_assert_int_eq(w.last, EK_RECONCILED_TIMEOUT);
    ck_assert_int_eq(w.last_err.code, EK_E_TIMEOUT);
    ck_assert_str_eq(w.last_err.message, "took longer than 5000 ms");
    ck_assert_str_eq(w.last_key, "a");
    ck_assert_uint_eq(w.n_runs, 2);
    world_done(&w);
}
END_TEST

START_TEST(arena_limit)
{
    struct world w;
    world_init(&w, 1, 0);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_step(w.runner);
    ek_arena_alloc(ek_reconcile_arena(w.runs[0]), 1001);
    ek_reconcile_done(w.runs[0], (struct ek_outcome){0}, NULL);
    ck_assert_int_eq(ek_runner_step(w.runner), 5);
    ck_assert_int_eq(w.last, EK_RECONCILED_ERROR);
    ck_assert_int_eq(w.last_err.code, EK_E_LIMIT);
    ck_assert_uint_eq(strlen(w.last_id), 36);
    world_done(&w);
}
END_TEST

START_TEST(gate)
{
    struct world w;
    world_init(&w, 1, 0);
    w.forbidden = true;
    ek_runner_add(w.runner, "a", 0);
    ck_assert_int_eq(ek_runner_step(w.runner), -1);
    ck_assert_uint_eq(w.n_runs, 0);
    w.forbidden = false;
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.n_runs, 1);
    world_done(&w);
}
END_TEST

START_TEST(waits_for_start)
{
    struct world w;
    world_init(&w, 1, 0);
    struct ek_runner *early = ek_runner_new(
        NULL, &(struct ek_runner_config){.name = "early", .reconcile = reconcile, .ctx = &w});
    ek_runner_add(early, "a", 0);
    ek_runner_step(early);
    ck_assert_uint_eq(w.n_runs, 0);
    ek_runner_start(early);
    ek_runner_step(early);
    ck_assert_uint_eq(w.n_runs, 1);
    ek_runner_close(early, NULL, NULL);
    world_done(&w);
}
END_TEST

/* A stop waits for the runs under way, starts no more and forgets what waits. */
START_TEST(drain)
{
    struct world w;
    world_init(&w, 1, 0);
    ek_runner_add(w.runner, "a", 0);
    ek_runner_add(w.runner, "b", 0);
    ek_runner_step(w.runner);
    ek_runner_stop(w.runner, on_stopped, &w);
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.stopped, 0);
    ek_reconcile_done(w.runs[0], (struct ek_outcome){.requeue = true}, NULL);
    ek_runner_step(w.runner);
    ek_runner_step(w.runner);
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(w.n_runs, 1);
    world_done(&w);
}
END_TEST

/* Many short runs do not keep the loop to themselves. */
START_TEST(fair)
{
    struct world w;
    world_init(&w, 1, 0);
    w.at_once = true;
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        ek_runner_add(w.runner, key, 0);
    }
    int steps = 1;
    while (ek_runner_step(w.runner) == 0)
        steps++;
    ck_assert_uint_eq(w.n_runs, 200);
    ck_assert_int_eq(steps, 4);
    world_done(&w);
}
END_TEST

/* With a loop the timer does it all, also when a run ends later. */
static void end_later(uv_timer_t *timer)
{
    struct world *w = timer->data;
    ek_reconcile_done(w->runs[0], (struct ek_outcome){0}, NULL);
    ek_runner_stop(w->runner, on_stopped, w);
    uv_close((uv_handle_t *)timer, NULL);
}

static void close_runner(void *token)
{
    struct world *w = token;
    w->stopped++;
    ek_runner_close(w->runner, NULL, NULL);
}

static void reconcile_later(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct world *w = ctx;
    (void)key;
    w->runs[w->n_runs++] = run;
}

START_TEST(on_a_loop)
{
    struct world w = {0};
    uv_loop_t loop;
    uv_timer_t later;

    uv_loop_init(&loop);
    w.runner = ek_runner_new(
        &loop, &(struct ek_runner_config){.name = "loop", .reconcile = reconcile_later, .ctx = &w});
    ek_runner_start(w.runner);
    ek_runner_add(w.runner, "a", 0);
    ck_assert_uint_eq(w.n_runs, 0);
    while (!w.n_runs)
        uv_run(&loop, UV_RUN_ONCE);
    uv_timer_init(&loop, &later);
    later.data = &w;
    uv_timer_start(&later, end_later, 0, 0);
    while (!w.stopped)
        uv_run(&loop, UV_RUN_ONCE);
    close_runner(&w);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runner");
    TCase *tc = tcase_create("runs");
    tcase_add_loop_test(tc, outcomes, 0, (int)EK_ARRAY_SIZE(outcome_rows));
    tcase_add_test(tc, one_run_per_key);
    tcase_add_test(tc, workers);
    tcase_add_test(tc, ids_differ);
    tcase_add_test(tc, duration);
    tcase_add_test(tc, timeout);
    tcase_add_test(tc, arena_limit);
    tcase_add_test(tc, gate);
    tcase_add_test(tc, waits_for_start);
    tcase_add_test(tc, drain);
    tcase_add_test(tc, fair);
    tcase_add_test(tc, on_a_loop);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
