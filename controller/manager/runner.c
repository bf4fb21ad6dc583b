/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/runner.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "controller/manager/uuid.h"
#include "informers/clock.h"

/* Runs that one step starts at most, so that many short ones leave room for everything else. */
#define STARTS_PER_STEP 64

struct ek_reconcile {
    struct ek_runner *runner;
    struct ek_reconcile *next;
    char *key; /* owned */
    int priority;
    char id[EK_UUID_SIZE];
    struct ek_arena *arena;
    int64_t since_ms;
    bool finished, failed;
    struct ek_outcome outcome;
    struct ek_err err;
};

/* A run that ended. */
struct ended {
    char id[EK_UUID_SIZE];
    char *key; /* owned */
    int64_t since_ms, took_ms;
    enum ek_reconciled result;
    int code;
    char error[256];
};

struct ek_runner {
    struct ek_runner_config config;
    struct ek_queue *queue;
    struct ek_reconcile *runs; /* under way */
    unsigned active;
    struct ended ended[EK_RUNNER_HISTORY]; /* a ring */
    size_t n_ended;                        /* ever */
    bool started, stopping;
    void (*stopped)(void *token);
    void *stopped_token;
    bool has_timer;
    uv_timer_t timer;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static int64_t now_ms(const struct ek_runner *r)
{
    return r->config.now_ms ? r->config.now_ms(r->config.ctx) : ek_monotonic_ms();
}

struct ek_runner *ek_runner_new(uv_loop_t *loop, const struct ek_runner_config *config)
{
    struct ek_runner *r = ek_xalloc(sizeof *r);
    struct ek_queue_config defaults = EK_QUEUE_CONFIG_DEFAULT;

    r->config = *config;
    if (!r->config.workers)
        r->config.workers = 1;
    r->queue = ek_queue_new(config->queue ? config->queue : &defaults);
    r->config.queue = NULL;
    if (loop) {
        uv_timer_init(loop, &r->timer);
        r->timer.data = r;
        r->has_timer = true;
    }
    return r;
}

static void on_timer(uv_timer_t *timer)
{
    struct ek_runner *r = timer->data;
    int64_t next = ek_runner_step(r);

    /* A callback may have requested a step or closed the runner. */
    if (next >= 0 && !uv_is_active((uv_handle_t *)timer)) {
        uv_update_time(timer->loop);
        uv_timer_start(timer, on_timer, (uint64_t)next, 0);
    }
}

/* Steps in the next turn of the loop, never inside the caller. */
static void wake(struct ek_runner *r)
{
    if (r->has_timer)
        uv_timer_start(&r->timer, on_timer, 0, 0);
}

void ek_runner_add(struct ek_runner *runner, const char *key, int priority)
{
    ek_queue_add(runner->queue, key, priority, now_ms(runner));
    wake(runner);
}

void ek_runner_add_after(struct ek_runner *runner, const char *key, int priority, int64_t delay_ms)
{
    ek_queue_add_after(runner->queue, key, priority, delay_ms, now_ms(runner));
    wake(runner);
}

void ek_runner_start(struct ek_runner *runner)
{
    runner->started = true;
    wake(runner);
}

void ek_runner_stop(struct ek_runner *runner, void (*stopped)(void *token), void *token)
{
    runner->stopping = true;
    runner->stopped = stopped;
    runner->stopped_token = token;
    ek_queue_shutdown(runner->queue);
    wake(runner);
}

static int runnable_start(void *ctx, struct ek_err *err)
{
    (void)err;
    ek_runner_start(ctx);
    return 0;
}

static void runnable_stop(void *ctx, void (*stopped)(void *token), void *token)
{
    ek_runner_stop(ctx, stopped, token);
}

void ek_runner_runnable(struct ek_runner *runner, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){
        .name = runner->config.name,
        .group = EK_GROUP_OTHERS,
        .start = runnable_start,
        .stop = runnable_stop,
        .ctx = runner,
    };
}

static void free_run(struct ek_reconcile *run)
{
    ek_arena_free(run->arena);
    ek_free(run->key);
    ek_free(run);
}

static void release(struct ek_runner *r)
{
    void (*on_closed)(void *ctx) = r->on_closed;
    void *ctx = r->closed_ctx;

    while (r->runs) {
        struct ek_reconcile *next = r->runs->next;
        free_run(r->runs);
        r->runs = next;
    }
    for (size_t i = 0; i < EK_RUNNER_HISTORY; i++)
        ek_free(r->ended[i].key);
    ek_queue_free(r->queue);
    ek_free(r);
    if (on_closed)
        on_closed(ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    release(handle->data);
}

void ek_runner_close(struct ek_runner *runner, void (*on_closed)(void *ctx), void *ctx)
{
    if (!runner)
        return;
    runner->on_closed = on_closed;
    runner->closed_ctx = ctx;
    runner->stopping = true;
    runner->stopped = NULL;
    if (runner->has_timer)
        uv_close((uv_handle_t *)&runner->timer, on_timer_closed);
    else
        release(runner);
}

struct ek_queue *ek_runner_queue(struct ek_runner *runner)
{
    return runner->queue;
}

void ek_runner_each(const struct ek_runner *runner,
                    void (*fn)(void *ctx, const struct ek_run_info *info), void *ctx)
{
    int64_t now = now_ms(runner);

    for (const struct ek_reconcile *run = runner->runs; run; run = run->next)
        fn(ctx, &(struct ek_run_info){.id = run->id,
                                      .key = run->key,
                                      .since_ms = run->since_ms,
                                      .took_ms = now - run->since_ms,
                                      .under_way = true,
                                      .error = ""});
    for (size_t i = 0; i < EK_RUNNER_HISTORY && i < runner->n_ended; i++) {
        const struct ended *e = &runner->ended[(runner->n_ended - 1 - i) % EK_RUNNER_HISTORY];
        fn(ctx, &(struct ek_run_info){.id = e->id,
                                      .key = e->key,
                                      .since_ms = e->since_ms,
                                      .took_ms = e->took_ms,
                                      .result = e->result,
                                      .code = e->code,
                                      .error = e->error});
    }
}

struct ek_arena *ek_reconcile_arena(struct ek_reconcile *run)
{
    return run->arena;
}

void ek_reconcile_done(struct ek_reconcile *run, struct ek_outcome outcome,
                       const struct ek_err *err)
{
    if (run->finished)
        return;
    run->finished = true;
    run->outcome = outcome;
    if (err && err->code) {
        run->failed = true;
        run->err = *err;
    }
    wake(run->runner);
}

/* The limit has the last word on how a run ended. */
static void apply_limit(struct ek_reconcile *run)
{
    if (!run->failed && ek_arena_exhausted(run->arena))
        ek_err_set(&run->err, EK_E_LIMIT, "needed %zu bytes, more than the limit of %zu",
                   ek_arena_used(run->arena), EK_RUNNER_ARENA_LIMIT);
    run->failed = run->err.code != 0;
}

/* Puts the key back where its outcome wants it, by controller-runtime's table. */
static enum ek_reconciled settle(struct ek_reconcile *run, int64_t now)
{
    struct ek_queue *queue = run->runner->queue;

    if (run->failed) {
        int64_t after = run->err.retry_after_ms;
        if (run->err.code == EK_E_THROTTLED && after > 0)
            ek_queue_add_after(queue, run->key, run->priority,
                               after < EK_RUNNER_RETRY_AFTER_MS ? after : EK_RUNNER_RETRY_AFTER_MS,
                               now);
        else
            ek_queue_add_rate_limited(queue, run->key, run->priority, now);
        return EK_RECONCILED_ERROR;
    }
    if (run->outcome.requeue_after_ms > 0) {
        ek_queue_forget(queue, run->key);
        ek_queue_add_after(queue, run->key, run->priority, run->outcome.requeue_after_ms, now);
        return EK_RECONCILED_REQUEUE_AFTER;
    }
    if (run->outcome.requeue) {
        ek_queue_add_rate_limited(queue, run->key, run->priority, now);
        return EK_RECONCILED_REQUEUE;
    }
    ek_queue_forget(queue, run->key);
    return EK_RECONCILED_OK;
}

static void remember(const struct ek_reconcile *run, enum ek_reconciled result, int64_t now)
{
    struct ended *e = &run->runner->ended[run->runner->n_ended++ % EK_RUNNER_HISTORY];
    struct ek_str error = ek_str_from(run->failed ? run->err.message : "");

    ek_free(e->key);
    *e = (struct ended){.key = ek_xstrdup(run->key),
                        .since_ms = run->since_ms,
                        .took_ms = now - run->since_ms,
                        .result = result,
                        .code = run->err.code};
    memcpy(e->id, run->id, sizeof e->id);
    memcpy(e->error, error.p, ek_utf8_cut(error, sizeof e->error - 1));
}

static void end_run(struct ek_reconcile *run, int64_t now)
{
    struct ek_runner *r = run->runner;
    const struct ek_runner_observer *o = &r->config.observer;

    apply_limit(run);
    enum ek_reconciled result = settle(run, now);
    ek_queue_done(r->queue, run->key, now);
    remember(run, result, now);
    r->active--;
    if (o->end)
        o->end(o->ctx, result, now - run->since_ms);
    if (run->failed && o->failed)
        o->failed(o->ctx, run->key, run->id, result, &run->err);
    free_run(run);
}

static void end_finished(struct ek_runner *r, int64_t now)
{
    struct ek_reconcile **slot = &r->runs;

    while (*slot) {
        struct ek_reconcile *run = *slot;
        if (!run->finished) {
            slot = &run->next;
            continue;
        }
        *slot = run->next;
        end_run(run, now);
    }
}

static void start_run(struct ek_runner *r, const char *key, int priority, int64_t now)
{
    struct ek_reconcile *run = ek_xalloc(sizeof *run);

    run->runner = r;
    run->key = ek_xstrdup(key);
    run->priority = priority;
    ek_uuid_make(run->id);
    run->arena = ek_arena_new(EK_RUNNER_ARENA_LIMIT);
    run->since_ms = now;
    run->next = r->runs;
    r->runs = run;
    r->active++;
    if (r->config.observer.begin)
        r->config.observer.begin(r->config.observer.ctx);
    r->config.reconcile(r->config.ctx, run->key, run);
}

/* Starts what is ready; returns the delay until more may be, -1 for unknown. */
static int64_t start_ready(struct ek_runner *r, int64_t now)
{
    for (unsigned starts = 0; r->active < r->config.workers; starts++) {
        int priority = 0;
        if (!r->started || r->stopping)
            return -1;
        if (starts == STARTS_PER_STEP)
            return 0;
        const char *key = ek_queue_get(r->queue, now, &priority);
        if (!key)
            return ek_queue_next_ready_ms(r->queue, now);
        start_run(r, key, priority, now);
        end_finished(r, now); /* those that ended inside reconcile make room */
    }
    return -1;
}

int64_t ek_runner_step(struct ek_runner *runner)
{
    int64_t now = now_ms(runner);

    end_finished(runner, now);
    int64_t next = start_ready(runner, now);
    for (const struct ek_reconcile *run = runner->runs; run; run = run->next)
        if (run->finished)
            next = 0;
    if (runner->stopping && !runner->active && runner->stopped) {
        void (*stopped)(void *token) = runner->stopped;
        runner->stopped = NULL;
        stopped(runner->stopped_token);
    }
    return next;
}
