/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of one admission request (struct ek_mutation_world, struct ek_definition_world): the
 * snapshot, and beside it the answers of the API server to requests made for this review. It
 * decides nothing and sends nothing: what is not known becomes a pending answer and an ask, which
 * the caller posts and hands in again when it is answered. What the next snapshot will bring
 * (ek_webhook_snapshot_is_loading) is pending without an ask.
 *
 * Access reviews are remembered per serving thread under a hash of user and question, ten seconds
 * whatever the answer was; failures are not. A Namespace that the snapshot lacks is requested each
 * time, as API servers do; so are the policy and the resource that a definition names.
 *
 * Threading: one thread.
 */
#ifndef CONTROLLER_WEBHOOK_WORLD_H
#define CONTROLLER_WEBHOOK_WORLD_H

#include "api/base/lru.h"
#include "controller/webhook/asks.h"
#include "controller/webhook/snapshot.h"
#include "reconcilers/mutation/definition.h"

#define EK_WEBHOOK_REVIEWS_MAX   4096 /* remembered per thread */
#define EK_WEBHOOK_REVIEW_TTL_MS 10000
#define EK_WEBHOOK_WANTED_MAX    64 /* asks of one round */

struct ek_webhook_fact;

struct ek_webhook_world {
    struct ek_mutation_world callbacks;     /* what the engine gets */
    struct ek_definition_world definitions; /* what the check of policies and bindings gets */
    const struct ek_webhook_snapshot *snapshot;
    const struct ek_admission_request *request;
    struct ek_lru *reviews; /* the thread's */
    int64_t now_ms;         /* of the present round, monotonic */
    struct ek_webhook_fact *facts;
    struct ek_webhook_ask *wanted; /* data that the last run of the engine lacked */
    size_t n_wanted;
};

/* The thread's memory of access reviews. */
void ek_webhook_reviews_init(struct ek_lru *reviews);

/* All is borrowed for the life of the world, which must not move. */
void ek_webhook_world_init(struct ek_webhook_world *world,
                           const struct ek_admission_request *request, struct ek_lru *reviews);
void ek_webhook_world_done(struct ek_webhook_world *world);

/* Begins a round: the engine will be run over snapshot; NULL: only definitions are checked. */
void ek_webhook_world_begin(struct ek_webhook_world *world,
                            const struct ek_webhook_snapshot *snapshot, int64_t now_ms);

/* Takes a request out of wanted; NULL when there is none left. */
struct ek_webhook_ask *ek_webhook_world_want(struct ek_webhook_world *world);

/* Learns from an ask that came back; does not take it. */
void ek_webhook_world_learn(struct ek_webhook_world *world, const struct ek_webhook_ask *ask,
                            int64_t now_ms);

#endif
