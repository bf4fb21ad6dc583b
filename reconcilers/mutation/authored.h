/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object as policies wrote it: between mutations, the API server adds defaults to what they add
 * (apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go of Kubernetes 1.36: dispatchOne),
 * and a tool must not show these as changes of the policy. Not for those outside this folder.
 */
#ifndef RECONCILERS_MUTATION_AUTHORED_H
#define RECONCILERS_MUTATION_AUTHORED_H

#include <yyjson.h>

#include "api/base/arena.h"

/* One mutation: the object before it, as the mutation left it, and with the defaults. */
struct ek_authored_step {
    yyjson_val *before, *patched, *settled;
};

/*
 * Returns what authored, which is step->before without the defaults of earlier mutations, becomes
 * with a further one: step->settled without the members that are neither in step->patched nor as
 * they were before. Lists are as long as in step->settled. It is in arena, with values of its
 * arguments copied; NULL at the arena's end. Pure.
 */
yyjson_val *ek_authored(yyjson_val *authored, const struct ek_authored_step *step,
                        struct ek_arena *arena);

#endif
