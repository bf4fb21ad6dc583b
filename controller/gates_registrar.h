/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registration of gated kinds beside what the cluster has of it: what is to be written, whether
 * it is there, and for which kinds API servers have been shown to act by it.
 *
 * A kind whose entries are those that a canary was answered for stays proven while other kinds come
 * and go: otherwise each change would put all of them in doubt. Threading: the loop thread.
 */
#ifndef CONTROLLER_GATES_REGISTRAR_H
#define CONTROLLER_GATES_REGISTRAR_H

#include "controller/gates_state.h"
#include "reconcilers/fieldgates/status.h"

struct ek_gates_proof {
    char *crd;
    uint64_t digest;
};

/* Zero before the first ek_gates_registrar_make. Everything is owned. */
struct ek_gates_registrar {
    yyjson_mut_doc *doc;
    yyjson_mut_val *mutating, *validating; /* contents */
    bool mutating_is_current, validating_is_current;
    bool bundle_is_everywhere;                   /* all that is registered has our authorities */
    bool mutating_is_tried, validating_is_tried; /* writing, since make: its user's marks */
    bool empty;                                  /* nothing is to be registered */
    const char *hash;                            /* of the canary */
    char *failure; /* why it could not be written; NULL: nothing is known to be wrong */
    struct ek_gates_proof *proofs;
    size_t n_proofs;
};

/* Makes the contents for state, or without serving those of no gates, and compares them with what
 * watch has. */
void ek_gates_registrar_make(struct ek_gates_registrar *registrar,
                             const struct ek_gates_state *state, const struct ek_gates_watch *watch,
                             const struct ek_gates_registration_options *options, bool serving);
void ek_gates_registrar_done(struct ek_gates_registrar *registrar);

/* It cannot be written: why is copied. Holds until it is seen to be written, or NULL is said. */
void ek_gates_registrar_fail(struct ek_gates_registrar *registrar, const char *why);

/* The canary was answered by all: what is registered now is proven. */
void ek_gates_registrar_prove(struct ek_gates_registrar *registrar,
                              const struct ek_gates_state *state);

/* Fills in of facts, for kind, what the registration says: registered, registration_message, canary
 * and canary_message. The canary is what was asked for all; strings are borrowed. */
void ek_gates_registrar_facts(const struct ek_gates_registrar *registrar,
                              const struct ek_gated_kind *kind, enum ek_gates_canary canary,
                              const char *canary_message, struct ek_gates_facts *facts);

/* Calls fn with the name of each kind that the cluster's registration still has, and for which
 * there is no CustomFeatureGates any more. */
void ek_gates_registrar_each_orphan(const struct ek_gates_state *state,
                                    const struct ek_gates_watch *watch,
                                    void (*fn)(void *arg, const char *crd), void *arg);

#endif
