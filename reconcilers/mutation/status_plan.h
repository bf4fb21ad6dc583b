/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which PolicyStatuses are written: those that differ from status.h. A PolicyStatus that does not
 * exist is created first, with its policy as owner, so that the garbage collector of the cluster
 * deletes the status with the policy. A Ready condition that changes is an Event, too.
 *
 * A policy that comes or goes changes the status of the policy that runs directly behind it, and of
 * no other: see summary.order of status.h.
 *
 * A run through the policies may take several parts (reconcilers/intent.h). The state may be
 * replaced between two parts: a policy that is then passed over is written in the run that follows
 * each new state. Pure: objects and now in, intents out.
 */
#ifndef RECONCILERS_MUTATION_STATUS_PLAN_H
#define RECONCILERS_MUTATION_STATUS_PLAN_H

#include "reconcilers/intent.h"
#include "reconcilers/mutation/state.h"

/* What is the same for all policies. Borrowed. */
struct ek_status_inputs {
    const struct ek_mutation_state *state;
    const struct ek_resource *resource; /* PolicyStatuses */
    const struct ek_params_source *params;
    size_t n_params;
    const struct ek_params_source *beyond; /* of a kind that is not among params, because Evenkeel
                                              reads no more kinds; NULL: it may come yet */
    const struct ek_refusal_servers *servers; /* the live API servers; NULL: not known */
    const char *schemas_error;                /* why schemas are missing; "" for nothing */
    /* By the index of the policy (registered.h); NULL: all are registered. */
    const struct ek_policy_unregistered *unregistered;
    int64_t now_ms; /* wall clock */
};

/*
 * Appends the intents of the i-th policy of the state. live is its PolicyStatus in the cluster,
 * NULL for none. observed has counts and fights of the policy (results.h) and nothing else; NULL
 * for none. arena: for the call.
 */
void ek_status_plan(const struct ek_status_inputs *inputs, size_t i, const struct ek_obj *live,
                    const struct ek_policy_facts *observed, struct ek_arena *arena,
                    struct ek_intents *intents);

#endif
