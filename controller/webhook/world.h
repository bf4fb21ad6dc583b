/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data for one admission request (struct ek_mutation_world, struct ek_definition_world): the
 * snapshot, and the answers of the API server to requests that were made for this review. These
 * functions decide nothing and send no requests. Data that is not known is pending, and the world
 * has an ask (asks.h) for it; the caller sends the ask and returns it with the answer to
 * ek_webhook_world_learn. Data that the next snapshot will contain (ek_webhook_snapshot_is_loading)
 * is pending without an ask.
 *
 * The result of an access review is kept for ten seconds, for each serving thread, by a hash of the
 * user and the attributes; failed reviews are not kept. A Namespace that the snapshot lacks is
 * requested each time, as API servers do, and so are the policy and the resource that a definition
 * names.
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

/* Initializes the access reviews that a thread keeps. */
void ek_webhook_reviews_init(struct ek_lru *reviews);

/* All is borrowed for the life of the world, which must not move. */
void ek_webhook_world_init(struct ek_webhook_world *world,
                           const struct ek_admission_request *request, struct ek_lru *reviews);
void ek_webhook_world_done(struct ek_webhook_world *world);

/* Begins a round: the engine will be run over snapshot; NULL: only definitions are checked. */
void ek_webhook_world_begin(struct ek_webhook_world *world,
                            const struct ek_webhook_snapshot *snapshot, int64_t now_ms);

/* Removes an ask from wanted and returns it, owned; NULL when wanted is empty. */
struct ek_webhook_ask *ek_webhook_world_want(struct ek_webhook_world *world);

/* Adds the answer of ask to the data; ask stays the caller's. */
void ek_webhook_world_learn(struct ek_webhook_world *world, const struct ek_webhook_ask *ask,
                            int64_t now_ms);

#endif
