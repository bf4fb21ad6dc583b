/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running policies that an API server may already have run on the object at hand.
 *
 * On a control plane where some servers run the plug-in and some do not, a review does not show
 * which kind of server sent it. A policy that is bound with confirm set is then applied only when
 * that cannot be wrong:
 *
 *   it changes nothing              the object is as the policy requires, by any writer
 *   it changes the object, and      the policy rests on its own result, so a server would have
 *   not once more when run again    brought the object to rest: none has run it; it is applied
 *   it changes it again             it is unknown whether it has run: the request is denied, or,
 *                                   where the policy says failurePolicy: Ignore, goes without it
 *
 * The rest is the engine's. Why this is sound, and for which policies it is not: README.md, "Who
 * enforces". Pure.
 */
#ifndef RECONCILERS_MUTATION_CONFIRM_H
#define RECONCILERS_MUTATION_CONFIRM_H

#include "reconcilers/mutation/engine.h"

/* As ek_engine_run, and the same without policies to confirm; takes twice as long when one of those
 * has changed something. */
int ek_confirm_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                   const struct ek_mutation_world *world, const struct ek_engine_options *options,
                   struct ek_arena *arena, struct ek_mutation_outcome *ret);

#endif
