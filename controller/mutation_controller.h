/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutation controller: makes of the policies in the cluster what the webhook judges requests by
 * (every replica), and what API servers and users are told (the replica that may write).
 *
 *   something changed -> compile what is new, join, order, decide who enforces
 *                     -> a snapshot for the webhook, published at once
 *                     -> the webhook configurations and one PolicyStatus per policy, written by
 *                        server-side apply where they differ
 *
 * The two halves run on their own: writing to a slow server never delays what requests are judged
 * by. Changes without end make one snapshot each 250 ms. Nothing is registered before our endpoint
 * can answer, and everything is withdrawn when no policy needs it.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_CONTROLLER_H
#define CONTROLLER_MUTATION_CONTROLLER_H

#include "controller/events.h"
#include "controller/log.h"
#include "controller/mutation_state.h"
#include "controller/runner.h"
#include "controller/webhook.h"
#include "controller/webhook_certs.h"
#include "reconcilers/skew/view.h"

struct ek_mutation_controller;

/* Everything that is pointed to must outlive the controller. */
struct ek_mutation_controller_config {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_webhook *webhook;             /* not started yet; NULL: requests do not reach us,
                                               nothing is applied */
    struct ek_webhook_certs *certs;         /* whose bundle is registered; NULL: none is */
    bool needs_bundle;                      /* nothing is registered before certs has one */
    struct ek_registration_options options; /* strings are borrowed; the bundle is certs' */
    struct ek_recorder *recorder;           /* NULL: no Events */
    struct ek_log *log;                     /* may be NULL */
    bool (*may_write)(void *ctx);           /* asked before each write */
    struct ek_runner_observer observer;     /* for the standard metrics */
    const struct ek_queue_config *queue;    /* of the runner */
    int64_t (*now_ms)(void);                /* wall clock, ms since the epoch; any thread */
    void *ctx;                              /* of may_write */
};

struct ek_mutation_controller *
ek_mutation_controller_new(const struct ek_mutation_controller_config *config);

/* Releases it after both of its runnables have stopped; on_closed (may be NULL) is called from the
 * loop when nothing of it is left. */
void ek_mutation_controller_close(struct ek_mutation_controller *controller,
                                  void (*on_closed)(void *ctx), void *ctx);

/* Its two parts for the manager: the informers (group caches; ready with the first snapshot), and
 * the runner. */
void ek_mutation_controller_runnables(struct ek_mutation_controller *controller,
                                      struct ek_runnable *ret_watch,
                                      struct ek_runnable *ret_runner);

/* Has everything looked at again: leadership was gained, the bundle has changed. */
void ek_mutation_controller_poke(struct ek_mutation_controller *controller);

/* What is known of the API servers: who runs the plug-in decides who enforces. */
void ek_mutation_controller_observe(struct ek_mutation_controller *controller,
                                    const struct ek_skew_view *view);

/* For metrics, tests and debugging; borrowed. */
const struct ek_mutation_state *
ek_mutation_controller_state(const struct ek_mutation_controller *controller);
struct ek_mutation_watch *
ek_mutation_controller_watch(const struct ek_mutation_controller *controller);
struct ek_runner *ek_mutation_controller_runner(struct ek_mutation_controller *controller);

#endif
