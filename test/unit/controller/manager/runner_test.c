/* SPDX-License-Identifier: Apache-2.0 */
/* The runner: outcomes, limits, one run per key, drain; with a clock that the test moves. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/manager/runner.h"
#include "test/support/queue.h"
#include "test/support/suite.h"

#define RUNS_MAX 300

struct world {
    struct ek_runner *runner;
    int64_t now;
    struct ek_reconcile *runs[RUNS_MAX]; /* as they were started */
    const char *keys[RUNS_MAX];
    size_t n_runs;
    bool at_once; /* end each run inside reconcile, with outcome and err */
    struct ek_outcome outcome;
    struct ek_err err;
    unsigned begun, ended, failures, stopped, most_active;
    enum ek_reconciled last;
    int64_t last_duration;
    char last_id[64], last_key[64];
    struct ek_err last_err;
};

static int64_t clock_now(void *ctx)
{
    struct world *world = ctx;
    return world->now;
}

static void count_active(void *ctx, const struct ek_run_info *info)
{
    *(unsigned *)ctx += info->under_way;
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct world *world = ctx;
    ck_assert_uint_lt(world->n_runs, RUNS_MAX);
    world->keys[world->n_runs] = key;
    world->runs[world->n_runs++] = run;
    unsigned active = 0;
    ek_runner_each(world->runner, count_active, &active);
    if (active > world->most_active)
        world->most_active = active;
    if (world->at_once)
        ek_reconcile_done(run, world->outcome, &world->err);
}

static void on_begin(void *ctx)
{
    struct world *world = ctx;
    world->begun++;
}

static void on_end(void *ctx, enum ek_reconciled result, int64_t duration_ms)
{
    struct world *world = ctx;
    world->ended++;
    world->last = result;
    world->last_duration = duration_ms;
}

static void on_failed(void *ctx, const char *key, const char *id, enum ek_reconciled result,
                      const struct ek_err *err)
{
    struct world *world = ctx;
    (void)result;
    world->failures++;
    snprintf(world->last_key, sizeof world->last_key, "%s", key);
    snprintf(world->last_id, sizeof world->last_id, "%s", id);
    world->last_err = *err;
}

static void on_stopped(void *token)
{
    struct world *world = token;
    world->stopped++;
}

static struct world w;

static void start(unsigned workers)
{
    w = (struct world){0};
    w.runner = ek_runner_new(
        NULL, &(struct ek_runner_config){
                  .name = "test",
                  .workers = workers,
                  .reconcile = reconcile,
                  .ctx = &w,
                  .observer = {.begin = on_begin, .end = on_end, .failed = on_failed, .ctx = &w},
                  .now_ms = clock_now});
    ek_runner_start(w.runner);
}

static void start_one_worker(void)
{
    start(1);
}

static void start_many_workers(void)
{
    start(3);
}

static void finish(void)
{
    ek_runner_close(w.runner, NULL, NULL);
}

/* Adds the keys, one letter each, and takes a step. Returns when the next one is due. */
static int64_t run(const char *keys)
{
    for (; *keys; keys++)
        ek_runner_add(w.runner, (const char[]){*keys, '\0'}, 0);
    return ek_runner_step(w.runner);
}

/* Ends the i-th run and takes a step. Returns when the next one is due. */
static int64_t end(size_t i, struct ek_outcome outcome)
{
    ek_reconcile_done(w.runs[i], outcome, NULL);
    return ek_runner_step(w.runner);
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
    unsigned requeues = test_queue_requeues(ek_runner_queue(w.runner), "a");
    ck_assert_msg(requeues == row->requeues, "%s: %u requeues", row->name, requeues);
    ck_assert_msg(w.failures == row->failures_before + (row->code != 0), "%s: %u failures",
                  row->name, w.failures);
}
END_TEST

START_TEST(one_run_per_key)
{
    run("a");
    run("ab");
    ck_assert_uint_eq(w.n_runs, 2);
    ck_assert_str_eq(w.keys[1], "b");
    end(0, (struct ek_outcome){0}); /* the event during the run is not lost */
    ck_assert_uint_eq(w.n_runs, 3);
    ck_assert_str_eq(w.keys[2], "a");
}
END_TEST

START_TEST(workers)
{
    run("abcdefgh");
    ck_assert_uint_eq(w.n_runs, 3);
    for (size_t i = 0; i < 8; i++)
        end(i, (struct ek_outcome){0});
    ck_assert_uint_eq(w.n_runs, 8);
    ck_assert_uint_eq(w.most_active, 3);
    ck_assert_uint_eq(w.begun, 8);
    ck_assert_uint_eq(w.ended, 8);
    unsigned active = 0;
    ek_runner_each(w.runner, count_active, &active);
    ck_assert_uint_eq(active, 0);
}
END_TEST

static void collect_id(void *ctx, const struct ek_run_info *info)
{
    const char ***next = ctx;
    *(*next)++ = info->id;
}

START_TEST(ids_differ)
{
    run("ab");
    const char *ids[3] = {0}, **next = ids;
    ek_runner_each(w.runner, collect_id, &next);
    const char *a = ids[0], *b = ids[1];
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(strlen(a), 36);
    ck_assert_str_ne(a, b);
    ck_assert_int_eq(a[14], '4'); /* version */
    ck_assert(strchr("89ab", a[19]) != NULL);
}
END_TEST

START_TEST(duration)
{
    run("a");
    w.now += 1234;
    end(0, (struct ek_outcome){0});
    ck_assert_int_eq(w.last_duration, 1234);
}
END_TEST

START_TEST(arena_limit)
{
    run("a");
    ek_arena_alloc(ek_reconcile_arena(w.runs[0]), EK_RUNNER_ARENA_LIMIT + 1);
    ck_assert_int_eq(end(0, (struct ek_outcome){0}), 5);
    ck_assert_int_eq(w.last, EK_RECONCILED_ERROR);
    ck_assert_int_eq(w.last_err.code, EK_E_LIMIT);
    ck_assert_str_eq(w.last_key, "a");
    ck_assert_uint_eq(strlen(w.last_id), 36);
}
END_TEST

START_TEST(waits_for_start)
{
    struct ek_runner *early = ek_runner_new(
        NULL, &(struct ek_runner_config){.name = "early", .reconcile = reconcile, .ctx = &w});
    ek_runner_add(early, "a", 0);
    ek_runner_step(early);
    ck_assert_uint_eq(w.n_runs, 0);
    ek_runner_start(early);
    ek_runner_step(early);
    ck_assert_uint_eq(w.n_runs, 1);
    ek_runner_close(early, NULL, NULL);
}
END_TEST

/* A stop waits for the current runs, starts no more, and drops the keys that wait. */
START_TEST(drain)
{
    run("ab");
    ek_runner_stop(w.runner, on_stopped, &w);
    run("");
    ck_assert_uint_eq(w.stopped, 0);
    end(0, (struct ek_outcome){.requeue = true});
    run("");
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(w.n_runs, 1);
}
END_TEST

/* Many short runs do not keep the loop to themselves. */
START_TEST(fair)
{
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
}
END_TEST

/* With a loop the timer does it all, also when a run ends later. */
static void end_later(uv_timer_t *timer)
{
    ek_reconcile_done(w.runs[0], (struct ek_outcome){0}, NULL);
    ek_runner_stop(w.runner, on_stopped, &w);
    uv_close((uv_handle_t *)timer, NULL);
}

static void reconcile_later(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct world *world = ctx;
    (void)key;
    world->runs[world->n_runs++] = run;
}

START_TEST(on_a_loop)
{
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
    uv_timer_start(&later, end_later, 0, 0);
    while (!w.stopped)
        uv_run(&loop, UV_RUN_ONCE);
    finish();
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

int main(void)
{
    TCase *one = tcase_create("one worker"), *many = tcase_create("many workers");
    TCase *shell = tcase_create("loop");

    tcase_add_checked_fixture(one, start_one_worker, finish);
    tcase_add_loop_test(one, outcomes, 0, (int)EK_ARRAY_SIZE(outcome_rows));
    tcase_add_test(one, duration);
    tcase_add_test(one, arena_limit);
    tcase_add_test(one, waits_for_start);
    tcase_add_test(one, drain);
    tcase_add_test(one, fair);
    tcase_add_checked_fixture(many, start_many_workers, finish);
    tcase_add_test(many, one_run_per_key);
    tcase_add_test(many, workers);
    tcase_add_test(many, ids_differ);
    tcase_add_test(shell, on_a_loop);
    return ek_test_run("runner", one, many, shell);
}
