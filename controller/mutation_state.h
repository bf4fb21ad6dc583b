/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a cluster, compiled, joined with their bindings, put in order and decided upon:
 * what the mutation controller makes of the stores each time something has changed.
 *
 * An update compiles only what is new: an object whose resourceVersion is the same keeps its
 * policy. Threading: the loop thread; policies and bindings themselves are shared with others.
 */
#ifndef CONTROLLER_MUTATION_STATE_H
#define CONTROLLER_MUTATION_STATE_H

#include "controller/mutation_types.h"
#include "controller/mutation_watch.h"
#include "reconcilers/mutation/enforcement.h"
#include "reconcilers/mutation/registration.h"

struct ek_policy_entry {
    struct ek_obj *obj;
    const struct ek_policy *policy;
    bool shares_name; /* a policy of the other group has the same name */
    struct ek_enforcement enforcement;
    const struct ek_binding **bindings; /* those that name it, by their names */
    size_t n_bindings;
    unsigned order;              /* its place among the bound policies, from 1; 0: it has none */
    struct ek_types_memo *types; /* of its type check, which is made elsewhere; NULL: not yet */
};

struct ek_binding_entry {
    struct ek_obj *obj;
    const struct ek_binding *binding;
    struct ek_policy_entry *of; /* the policy that it names; NULL: there is none */
};

/* Zero is the state of a cluster without policies. Everything is owned. */
struct ek_mutation_state {
    struct ek_policy_entry *policies; /* those of evenkeel.dev first, then by name */
    size_t n_policies;
    struct ek_binding_entry *bindings;
    size_t n_bindings;
    const struct ek_binding **by_policy; /* what the policies' bindings point into */
    unsigned n_ordered;                  /* policies that have a place in the order */
    struct ek_bound *bound;              /* in the order in which they run */
    size_t n_bound;
    struct ek_registration registrations[EK_REGISTRATION_KINDS];
    unsigned long compiled; /* how many policies were compiled so far */
    int64_t moved_ms; /* when places in the order were last written, see mutation_statuses.h */
};

/* Makes state true to the stores of watch. serving: requests can reach us at all; otherwise nothing
 * is applied, nor registered. */
void ek_mutation_state_update(struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch,
                              const struct ek_plugin_census *census, bool serving);
void ek_mutation_state_done(struct ek_mutation_state *state);

/* Has watch follow the params and schemas that the policies of state need. */
void ek_mutation_state_follow(const struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch);

#endif
