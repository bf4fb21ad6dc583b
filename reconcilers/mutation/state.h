/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a cluster: which are compiled again, which bindings belong to which policy, in
 * which order the bound policies run, the enforcer of each, and how they are registered.
 *
 * A plan compiles only what is new: an object with the same name, uid, resourceVersion and
 * apiVersion keeps its compiled policy or binding. Pure: objects in, a state out. Policies and
 * bindings are immutable and may be shared with other threads; the state itself belongs to one.
 */
#ifndef RECONCILERS_MUTATION_STATE_H
#define RECONCILERS_MUTATION_STATE_H

#include "api/obj.h"
#include "reconcilers/mutation/enforcement.h"
#include "reconcilers/mutation/refusals.h"
#include "reconcilers/mutation/registration.h"

struct ek_policy_entry {
    struct ek_obj *obj;
    const struct ek_policy *policy;
    bool shares_name; /* a policy of the other group has the same name */
    struct ek_enforcement enforcement;
    const struct ek_binding **bindings; /* those that name it, by their names */
    size_t n_bindings;
    const char *after; /* policy that runs directly before, borrowed; "": it is the first. NULL: the
                          policy is not bound, and does not run */
    /* Kept with the compiled policy; the plan does not fill them. */
    struct ek_policy_types types;
    struct ek_policy_refusal refusal;
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
    struct ek_binding_entry *bindings; /* likewise */
    size_t n_bindings;
    const struct ek_binding **by_policy; /* the memory of the entries' bindings */
    struct ek_bound *bound;              /* in the order in which they run */
    size_t n_bound;
    struct ek_registration registrations[EK_REGISTRATION_KINDS];
    unsigned long compiled; /* how many policies were compiled so far */
};

/* Objects of one kind in the order of their names; borrowed. */
struct ek_mutation_objects {
    struct ek_obj *const *items;
    size_t n;
};

struct ek_mutation_inputs {
    struct ek_mutation_objects own_policies, own_bindings; /* of evenkeel.dev */
    struct ek_mutation_objects native_policies,
        native_bindings; /* of admissionregistration.k8s.io */
    struct ek_plugin_census census;
    bool serving; /* requests can reach Evenkeel; otherwise it applies and registers nothing */
};

/* Replaces *state by the state of inputs. */
void ek_mutation_state_plan(struct ek_mutation_state *state,
                            const struct ek_mutation_inputs *inputs);
void ek_mutation_state_done(struct ek_mutation_state *state);

/* The policy of that name, of admissionregistration.k8s.io if native and else of evenkeel.dev; NULL
 * for none. Borrowed until the next plan. */
struct ek_policy_entry *ek_mutation_state_find(const struct ek_mutation_state *state, bool native,
                                               const char *name);

#endif
