/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates of a cluster, read, and held against the CRDs that they are for: what the gates
 * controller makes of the stores each time something has changed.
 *
 * An update reads only what is new: a kind whose two objects are the same is kept as it is.
 * Threading: the loop thread; gates themselves are shared with others.
 */
#ifndef CONTROLLER_GATES_STATE_H
#define CONTROLLER_GATES_STATE_H

#include "controller/gates_watch.h"
#include "reconcilers/fieldgates/registration.h"

/* One CustomFeatureGates. Everything is owned. */
struct ek_gated_kind {
    struct ek_obj *obj, *crd;        /* crd NULL: there is none of that name */
    const struct ek_gates *defined;  /* nothing left out */
    const struct ek_gates *enforced; /* without what is refused; NULL: nothing can be enforced */
    struct ek_arena *arena;          /* of resolution */
    struct ek_gates_resolution resolution; /* when crd could be read */
    bool resolved;
    struct ek_err problem; /* why it could not, or is not looked at; code 0 for nothing */
};

/* Zero is the state of a cluster without gates. */
struct ek_gates_state {
    struct ek_gated_kind *kinds; /* by name */
    size_t n;
    unsigned long read; /* how many kinds were read so far */
};

/* Makes state true to the stores of watch. */
void ek_gates_state_update(struct ek_gates_state *state, const struct ek_gates_watch *watch);
void ek_gates_state_done(struct ek_gates_state *state);

/* The kind of a name (that of its CRD), borrowed; NULL for none. */
const struct ek_gated_kind *ek_gates_state_find(const struct ek_gates_state *state,
                                                const char *name);

/* What is to be registered: an owned array (ek_free) of *ret_n, borrowing from state. */
struct ek_gates_registered *ek_gates_state_registered(const struct ek_gates_state *state,
                                                      size_t *ret_n);

#endif
