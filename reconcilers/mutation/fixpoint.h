/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When policies that behave Extended run again. Not for those outside this folder.
 *
 * An invocation has come to rest when nothing that it reads or writes has been changed by another
 * since it last ran (scopes.h computes its reads and writes). One whose conditions were false runs
 * when they become true. With reinvocationPolicy Never it runs once. So a policy alone never runs
 * twice, and what does not depend on each other does not disturb each other; what does runs until
 * nothing changes.
 *
 * There are at most n + 1 passes for n invocations, so that each may depend on the one after it,
 * and at most ten. When an object comes up again that an earlier pass has ended with, more passes
 * would not help. In both cases the object stays as it is then: the request is not denied, for two
 * policies that fight over a label must not stop all deployments; their statuses report
 * the fight. Safety Exact turns it into a denial.
 *
 * Source: KEP-3962, "Reinvocation"; the bound is that of Gatekeeper's mutation system.
 */
#ifndef RECONCILERS_MUTATION_FIXPOINT_H
#define RECONCILERS_MUTATION_FIXPOINT_H

#include "reconcilers/mutation/invocation.h"

#define EK_PASSES_MAX 10

struct ek_fixpoint_state; /* of one invocation */

struct ek_fixpoint {
    const char **log; /* paths that were changed, in order, as scopes are written */
    size_t n_log, cap_log;
    struct ek_fixpoint_state *states;
    size_t n_states, cap_states;
    yyjson_val *ends[EK_PASSES_MAX + 1]; /* the object after each pass, where it was kept */
};

/* How many passes there may be for n invocations that are Extended. */
unsigned ek_fixpoint_limit(size_t n);

/* True when invocation has to run, for the first time or again. */
bool ek_fixpoint_wants(const struct ek_fixpoint *fixpoint, const struct ek_invocation *invocation);

/* Notes what a step of an invocation, Extended or not, came to. */
void ek_fixpoint_note(struct ek_run *run, struct ek_fixpoint *fixpoint,
                      const struct ek_invocation *invocation, const struct ek_step *step);

/* Keeps object as what pass ended with. */
void ek_fixpoint_keep(struct ek_run *run, struct ek_fixpoint *fixpoint, unsigned pass,
                      yyjson_val *object);

/* The earlier pass that ended with the same object, 0 for none. */
unsigned ek_fixpoint_seen(const struct ek_fixpoint *fixpoint, unsigned pass, yyjson_val *object);

#endif
