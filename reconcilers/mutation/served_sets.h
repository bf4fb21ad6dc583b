/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sets of policies that the webhook serves, by name: requests to /mutate/<name> run the set.
 * Pure.
 */
#ifndef RECONCILERS_MUTATION_SERVED_SETS_H
#define RECONCILERS_MUTATION_SERVED_SETS_H

#include "reconcilers/mutation/state.h"

/* Borrowed from the state. */
struct ek_served_set {
    const char *name;
    const size_t *bound; /* indexes of the state's bound policies, ascending; NULL with all */
    size_t n_bound;
    bool all; /* all bound policies of the state */
};

/*
 * Lists the sets of state; returns how many. *ret is owned (ek_free). There is one set for each
 * entry of the registrations; an empty one for each other name that an entry usually has, because
 * an API server may still call for an entry that has just been withdrawn, or that another replica
 * has just registered, and a name without a set is refused; and "", which is all policies.
 */
size_t ek_served_sets(const struct ek_mutation_state *state, struct ek_served_set **ret);

#endif
