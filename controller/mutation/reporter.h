/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings what the webhook observes (controller/mutation/observations.h) to the control loop: an
 * async that serving threads ring, a timer for the pace, and Events for new fights and denials on
 * the policies that they are about. The writer of the statuses
 * reads the reports itself.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_REPORTER_H
#define CONTROLLER_MUTATION_REPORTER_H

#include "controller/events/events.h"
#include "controller/mutation/observations.h"
#include "controller/mutation/state.h"
#include "controller/webhook/webhook.h"

struct ek_mutation_reporter;

/* Borrowed, and to outlive the reporter. */
struct ek_mutation_reporter_config {
    uv_loop_t *loop;
    struct ek_webhook *webhook;            /* whose observer it becomes; not started yet */
    const struct ek_mutation_state *state; /* where policies are found */
    struct ek_recorder *recorder;          /* NULL: no Events */
    int64_t (*now_ms)(void);               /* the wall clock; any thread */
    void (*changed)(void *ctx);            /* the reports have changed: from the loop */
    void *ctx;
};

struct ek_mutation_reporter *
ek_mutation_reporter_new(const struct ek_mutation_reporter_config *config);

/* The state has changed: what is of the past is forgotten. */
void ek_mutation_reporter_sync(struct ek_mutation_reporter *reporter);

/* As ek_observations_read. NULL: nothing was observed. */
void ek_mutation_reporter_read(struct ek_mutation_reporter *reporter, struct ek_arena *arena,
                               struct ek_policy_facts *facts);

/* Releases it when the webhook has stopped; on_closed is called from the loop. */
void ek_mutation_reporter_close(struct ek_mutation_reporter *reporter, void (*on_closed)(void *ctx),
                                void *ctx);

#endif
