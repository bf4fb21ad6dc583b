/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy reads and writes, found in its expressions without running them.
 *
 * Paths are written as ek_cel_program_reads does: "spec.containers[*].image",
 * `metadata.labels["a.b/c"]`. A path stands for all that is below it. What is written is found in
 * the literals of ApplyConfigurations and in the paths of JSON patches as far as those are
 * constant; where they are not, the path ends early, at worst at "", the whole object. So both
 * lists may say too much, never too little.
 *
 * The scope of a policy is the path that all its writes have in common: a policy that sets one
 * label is scoped to that label, one that sets two to metadata.labels. Policies run in the order of
 * their scopes, those nearer to the root first (KEP-3962, "Order"): see order.h. Pure.
 */
#ifndef RECONCILERS_MUTATION_SCOPES_H
#define RECONCILERS_MUTATION_SCOPES_H

#include "reconcilers/mutation/policy.h"

#define EK_SCOPES_MAX 1000 /* paths of each list; what is beyond makes the list just "" */

struct ek_scopes {
    const char *const *writes; /* below the object, sorted; none is covered by another */
    size_t n_writes;
    const char *const *reads; /* begin with the variable: "object.spec.replicas"; likewise */
    size_t n_reads;
    const char *scope; /* what all writes have in common; "" is the whole object */
    unsigned depth;    /* steps in scope */
};

/* Finds the scopes of policy; all of *ret is in arena. */
void ek_scopes_of(const struct ek_policy *policy, struct ek_arena *arena, struct ek_scopes *ret);

/* True when the two paths are one, or one is above the other. "[*]" is any step. */
bool ek_scopes_touch(const char *a, const char *b);

/* True when a is above b, and not b itself. "[*]" is any step. */
bool ek_scopes_is_above(const char *a, const char *b);

/* A JSON pointer as a path: "/spec/containers/0/image" is "spec.containers[*].image". */
const char *ek_scopes_of_pointer(const char *pointer, struct ek_arena *arena);

#endif
