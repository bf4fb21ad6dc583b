/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates controller: makes of the CustomFeatureGates in the cluster what the webhook judges
 * writes by (every replica), and what API servers and users are told (the replica that may write).
 *
 *   something changed -> read what is new, hold it against its CRD
 *                     -> the gates for the webhook, published at once
 *                     -> the two webhook configurations, then the statuses, then imports, each
 *                        written by server-side apply where it differs; Events for what changed
 *   they are there    -> the canary asks each API server whether it acts by them
 *
 * Nothing is registered before our endpoint can answer; an entry is changed in place, and goes with
 * its CRD or its gates. Gates that are deleted leave their fields open, which is told by log and
 * Event.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_GATES_CONTROLLER_H
#define CONTROLLER_GATES_CONTROLLER_H

#include "controller/events.h"
#include "controller/gates_review.h"
#include "controller/gates_state.h"
#include "controller/log.h"
#include "controller/metrics.h"
#include "controller/runner.h"
#include "controller/webhook.h"
#include "controller/webhook_certs.h"
#include "reconcilers/skew/view.h"

struct ek_gates_controller;

/* Everything that is pointed to must outlive the controller. */
struct ek_gates_controller_config {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_webhook *webhook;     /* NULL: requests do not reach us, nothing is registered */
    struct ek_webhook_certs *certs; /* whose bundle is registered; NULL: none is */
    bool needs_bundle;              /* nothing is registered before certs has one */
    struct ek_gates_registration_options options; /* strings are borrowed; the bundle is certs' */
    struct ek_metrics *metrics;                   /* gets the evenkeel_gate* families; NULL: none */
    struct ek_recorder *recorder;                 /* NULL: no Events */
    struct ek_log *log;                           /* may be NULL */
    bool (*may_write)(void *ctx);                 /* asked before each write */
    struct ek_runner_observer observer;           /* for the standard metrics */
    const struct ek_queue_config *queue;          /* of the runner */
    int64_t (*now_ms)(void);                      /* wall clock, ms since the epoch */
    void *ctx;                                    /* of may_write */
};

/* Adds its handlers to the webhook, so it is to be made before that starts. */
struct ek_gates_controller *
ek_gates_controller_new(const struct ek_gates_controller_config *config);

/* Releases it after both of its runnables and the webhook have stopped; on_closed (may be NULL) is
 * called from the loop when nothing of it is left. */
void ek_gates_controller_close(struct ek_gates_controller *controller, void (*on_closed)(void *ctx),
                               void *ctx);

/* Its two parts for the manager: the informers (group caches), and the runner. */
void ek_gates_controller_runnables(struct ek_gates_controller *controller,
                                   struct ek_runnable *ret_watch, struct ek_runnable *ret_runner);

/* Has everything looked at again: the bundle has changed. elected: leadership was gained. */
void ek_gates_controller_poke(struct ek_gates_controller *controller, bool elected);

/* What is known of the API servers: whom the canary asks. */
void ek_gates_controller_observe(struct ek_gates_controller *controller,
                                 const struct ek_skew_view *view);

/* For metrics, tests and debugging; borrowed. */
const struct ek_gates_state *
ek_gates_controller_state(const struct ek_gates_controller *controller);
struct ek_gates_watch *ek_gates_controller_watch(const struct ek_gates_controller *controller);
struct ek_runner *ek_gates_controller_runner(struct ek_gates_controller *controller);

#endif
