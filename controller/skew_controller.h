/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skew controller: runs the skew reconciler whenever something changed and carries out its
 * plans. Observe (controller/skew_watch.h), plan (reconcilers/skew/view.h), apply, report.
 *
 * Every replica observes, plans and fills its metrics; only the one that may write creates the
 * ControlPlane, applies its status and records Events. After a write the object that the server
 * returned is used until the informer has seen it, so that no stale cache makes a second write
 * (ecosystem sheet, section 5, read-your-own-writes).
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_SKEW_CONTROLLER_H
#define CONTROLLER_SKEW_CONTROLLER_H

#include "controller/events.h"
#include "controller/log.h"
#include "controller/metrics.h"
#include "controller/runner.h"
#include "controller/skew_watch.h"

struct ek_skew_controller;

struct ek_skew_controller_config {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_metrics *metrics;         /* gets the evenkeel_* families */
    struct ek_recorder *recorder;       /* NULL: no Events */
    struct ek_log *log;                 /* borrowed; NULL: silent */
    bool (*may_write)(void *ctx);       /* asked before each write */
    struct ek_runner_observer observer; /* for the standard metrics */
    const struct ek_queue_config *queue;
    /* Shown each view after its plan was made, for those who decide by the same facts. May be
     * NULL. */
    void (*planned)(void *ctx, const struct ek_skew_view *view);
    void *ctx; /* of may_write and planned */
};

/* Everything in config that is pointed to must outlive the controller. */
struct ek_skew_controller *ek_skew_controller_new(const struct ek_skew_controller_config *config);

/* Releases it after both of its runnables have stopped; on_closed (may be NULL) is called from the
 * loop when nothing of it is left. */
void ek_skew_controller_close(struct ek_skew_controller *controller, void (*on_closed)(void *ctx),
                              void *ctx);

/* Its two parts for the manager: the informers and the prober (group caches), and the runner. */
void ek_skew_controller_runnables(struct ek_skew_controller *controller,
                                  struct ek_runnable *ret_watch, struct ek_runnable *ret_runner);

/* Has everything judged again soon: leadership was gained. */
void ek_skew_controller_poke(struct ek_skew_controller *controller);

/* For metrics and debugging; borrowed. */
struct ek_skew_watch *ek_skew_controller_watch(struct ek_skew_controller *controller);
struct ek_runner *ek_skew_controller_runner(struct ek_skew_controller *controller);

#endif
