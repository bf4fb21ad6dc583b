/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of gates on their way into status: whatever runs between a count and the time at which the
 * count may be shown, the count is shown. The runner, its queue and the tally are real; the clock
 * is the test's. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "controller/fieldgates/counts.h"
#include "controller/manager/runner.h"
#include "informers/queue/backoff.h"
#include "test/support/suite.h"

struct world {
    uv_loop_t loop; /* carries the counts' wake-up to on_counted */
    struct ek_gates_counts *counts;
    struct ek_gates_tally *tally;
    struct ek_runner *runner;
    int64_t now_ms;
    uint64_t added;
    unsigned runs, fails; /* fails: runs that are to fail from now on */
    struct ek_obj *obj;
    const struct ek_gates *gates;
};

static int64_t clock_now(void *ctx)
{
    return ((struct world *)ctx)->now_ms;
}

/* What the subject does with counts when it writes. */
static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct world *w = ctx;
    struct ek_outcome outcome = {0};
    struct ek_err err = {0};
    bool taken;

    (void)key;
    w->runs++;
    outcome.requeue_after_ms =
        ek_gates_tally_take(w->tally, w->now_ms, ek_gates_counts_are_waiting(w->counts), &taken);
    if (taken)
        ek_gates_counts_settle(w->counts);
    if (w->fails) {
        w->fails--;
        ek_err_set(&err, EK_E_SERVER, "no");
    }
    ek_reconcile_done(run, outcome, &err);
}

static void on_counted(void *ctx)
{
    struct world *w = ctx;
    ek_runner_add_after(w->runner, "write", 0, ek_gates_tally_wait(w->tally, w->now_ms));
}

static void set_up(struct world *w)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a.b.c\",\"uid\":\"u\"},\"spec\":{\"featureGates\":[{\"name\":"
        "\"X\",\"preRelease\":\"alpha\",\"fieldPaths\":[\".spec.x\"]}]}}";
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);

    *w = (struct world){.now_ms = 1000};
    w->obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    w->gates = ek_gates_new(ek_obj_root(w->obj), NULL, 0);
    uv_loop_init(&w->loop);
    w->counts = ek_gates_counts_new(&w->loop, NULL, on_counted, w);
    w->tally = ek_gates_tally_new();
    w->runner = ek_runner_new(
        NULL, &(struct ek_runner_config){
                  .name = "test", .reconcile = reconcile, .ctx = w, .now_ms = clock_now});
    ek_runner_start(w->runner);
}

static void tear_down(struct world *w)
{
    ek_runner_close(w->runner, NULL, NULL);
    ek_gates_tally_free(w->tally);
    ek_gates_counts_close(w->counts, NULL, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&w->loop), 0);
    ek_gates_unref(w->gates);
    ek_obj_unref(w->obj);
}

static void count(struct world *w)
{
    w->added++;
    ek_gates_counts_add(w->counts, "a.b.c", "X", "CREATE", false);
    uv_run(&w->loop, UV_RUN_NOWAIT);
}

static uint64_t shown(struct world *w)
{
    struct ek_arena *arena = ek_arena_new(1 << 16);
    struct ek_gate_count counted = ek_gates_counts_get(w->counts, "a.b.c", "X");
    uint64_t is = ek_gates_tally_of(w->tally, w->obj, w->gates, &counted, arena)->suppressed;

    ek_arena_free(arena);
    return is;
}

/* Lets the time pass as the loop does: the runner is stepped when it is due. */
static void pass(struct world *w, int64_t ms)
{
    int64_t end = w->now_ms + ms;

    for (;;) {
        int64_t next = ek_runner_step(w->runner);
        (void)shown(w); /* each write shows what was taken */
        if (next < 0 || w->now_ms + next > end)
            break;
        w->now_ms += next;
    }
    w->now_ms = end;
}

START_TEST(an_immediate_write_does_not_lose_a_delayed_one)
{
    struct world w;

    set_up(&w);
    ek_runner_add(w.runner, "write", 0); /* takes, so that the pace begins */
    pass(&w, 1000);
    for (int i = 0; i < 4; i++)
        count(&w);
    pass(&w, 1000);
    ck_assert_uint_eq(shown(&w), 0);
    ek_runner_add(w.runner, "write",
                  0); /* takes the place of the delayed write, and is too early */
    pass(&w, 1000);
    for (int i = 0; i < 205; i++)
        count(&w);
    pass(&w, EK_GATES_TALLY_PACE_MS);
    ck_assert_uint_eq(shown(&w), 209);
    unsigned runs = w.runs;
    pass(&w, 10 * EK_GATES_TALLY_PACE_MS);
    ck_assert_uint_eq(w.runs, runs); /* nothing to wait for */
    tear_down(&w);
}
END_TEST

/* Counts, immediate writes and failures in any order: after one pace without them all is shown. */
START_TEST(nothing_counted_is_ever_forgotten)
{
    struct ek_rand rand = {(uint64_t)_i + 1};
    struct world w;

    set_up(&w);
    for (int round = 0; round < 40; round++) {
        int steps = (int)(ek_rand_next(&rand) % 20);
        for (int i = 0; i < steps; i++) {
            switch (ek_rand_next(&rand) % 4) {
            case 0:
                ek_runner_add(w.runner, "write", 0);
                break;
            case 1:
                w.fails = (unsigned)(ek_rand_next(&rand) % 3);
                break;
            default:
                count(&w);
            }
            pass(&w, (int64_t)(ek_rand_next(&rand) % (EK_GATES_TALLY_PACE_MS / 2)));
        }
        /* A failed write is tried again within the longest of few back-offs. */
        pass(&w, EK_GATES_TALLY_PACE_MS + 1000);
        ck_assert_msg(shown(&w) == w.added, "round %d: %llu of %llu", round,
                      (unsigned long long)shown(&w), (unsigned long long)w.added);
    }
    tear_down(&w);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, an_immediate_write_does_not_lose_a_delayed_one);
    tcase_add_loop_test(tc, nothing_counted_is_ever_forgotten, 0, 50);
    return ek_test_run("gates tally", tc);
}
