/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner: takes keys off a work queue and has them reconciled, at most one run per key at a
 * time. The runner has the retry policy, reconcile ids and memory limits, and knows nothing of the
 * subject.
 *
 * A run starts with reconcile(ctx, key, run) and ends, then or later, with ek_reconcile_done. The
 * rest follows controller-runtime (pkg/internal/controller/controller.go: reconcileHandler):
 *
 *   error           the key again, rate-limited; after the server's Retry-After if it was throttled
 *   requeue_after   back-off forgotten, the key again after that time
 *   requeue         the key again, rate-limited
 *   success         back-off forgotten
 *
 * Each run has a UUID and an arena with a limit; an exhausted arena makes the run an EK_E_LIMIT
 * error.
 *
 * Stopping finishes the runs under way and drops the keys that wait: the next start lists again.
 *
 * Ownership: the caller owns the runner until ek_runner_close; a run belongs to the runner and is
 * gone after ek_reconcile_done. Threading: the loop thread. reconcile and all other callbacks come
 * from the loop; of the functions below, only ek_runner_step calls them directly.
 */
#ifndef CONTROLLER_MANAGER_RUNNER_H
#define CONTROLLER_MANAGER_RUNNER_H

#include <uv.h>

#include "api/base/arena.h"
#include "api/base/err.h"
#include "controller/manager/manager.h"
#include "controller/telemetry/standard_metrics.h"
#include "informers/queue/queue.h"

#define EK_RUNNER_ARENA_LIMIT    ((size_t)64 << 20)
#define EK_RUNNER_RETRY_AFTER_MS 1000000 /* longer waits requested by a server are cut to this */

struct ek_runner;
struct ek_reconcile;

/* The result of a reconcile. Zero, without an error, means success. */
struct ek_outcome {
    bool requeue;
    int64_t requeue_after_ms; /* > 0: reconcile the key again after this time */
};

/* Callbacks for metrics and the log. Any member may be NULL. */
struct ek_runner_observer {
    void (*begin)(void *ctx);
    void (*end)(void *ctx, enum ek_reconciled result, int64_t duration_ms);
    /* A run failed; to be logged once, here. key and id are borrowed. */
    void (*failed)(void *ctx, const char *key, const char *id, enum ek_reconciled result,
                   const struct ek_err *err);
    void *ctx;
};

struct ek_runner_config {
    const char *name;                    /* constant text: the controller label */
    unsigned workers;                    /* runs at once; 0 means 1 */
    const struct ek_queue_config *queue; /* copied; NULL means EK_QUEUE_CONFIG_DEFAULT */
    void (*reconcile)(void *ctx, const char *key, struct ek_reconcile *run);
    void *ctx; /* of reconcile */
    struct ek_runner_observer observer;
    int64_t (*now_ms)(void *ctx); /* monotonic; NULL means the system's clock */
};

/* Makes a runner that is not started. loop NULL: the owner calls ek_runner_step (tests). */
struct ek_runner *ek_runner_new(uv_loop_t *loop, const struct ek_runner_config *config);

/* Wants key reconciled, now or delay_ms from now; before the start it waits. priority: see
 * informers/queue/queue.h. */
void ek_runner_add(struct ek_runner *runner, const char *key, int priority);
void ek_runner_add_after(struct ek_runner *runner, const char *key, int priority, int64_t delay_ms);

void ek_runner_start(struct ek_runner *runner);

/* Stops for good: stopped(token) is called when the last run has ended. */
void ek_runner_stop(struct ek_runner *runner, void (*stopped)(void *token), void *token);

/* Fills a runnable for the manager: start and stop are the two above. */
void ek_runner_runnable(struct ek_runner *runner, struct ek_runnable *ret_runnable);

/* Releases the runner, and with it runs that are still under way: to be called when they cannot end
 * any more. on_closed (may be NULL) is called from the loop, or at once without a loop. NULL runner
 * is fine. */
void ek_runner_close(struct ek_runner *runner, void (*on_closed)(void *ctx), void *ctx);

/* The queue, for its statistics; borrowed. */
struct ek_queue *ek_runner_queue(struct ek_runner *runner);

#define EK_RUNNER_HISTORY 16

/* One run as seen from outside; strings are borrowed. */
struct ek_run_info {
    const char *id, *key;
    int64_t since_ms;          /* by the runner's clock */
    int64_t took_ms;           /* so far while under way */
    bool under_way;            /* the rest is not known yet */
    enum ek_reconciled result; /* how it ended */
    int code;                  /* EK_E_* of its error, 0 for none */
    const char *error;         /* its message, maybe cut; "" for none */
};

/* Calls fn for the runs under way and then for the last EK_RUNNER_HISTORY that ended, newest
 * first; for debugging. */
void ek_runner_each(const struct ek_runner *runner,
                    void (*fn)(void *ctx, const struct ek_run_info *info), void *ctx);

/* Does what is due: ends and starts runs. Returns in how many milliseconds to call again,
 * -1 for not before something happens. With a loop this is called by the runner's own timer. */
int64_t ek_runner_step(struct ek_runner *runner);

/* The arena of a run; borrowed until ek_reconcile_done. */
struct ek_arena *ek_reconcile_arena(struct ek_reconcile *run);

/* Ends a run, once; err (NULL for none) is copied. The run must not be used afterwards. May be
 * called inside reconcile. */
void ek_reconcile_done(struct ek_reconcile *run, struct ek_outcome outcome,
                       const struct ek_err *err);

#endif
