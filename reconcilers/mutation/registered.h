/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which policies Evenkeel gets no requests for, although it should run them or check their safety:
 * a configuration of webhooks (registration.h) has no room for them, or the cluster does not have
 * the webhook and it could not be written. API servers then answer without the policy, whatever its
 * failurePolicy is.
 *
 * Pure. Threading: none. Source: README.md here, "What is registered".
 */
#ifndef RECONCILERS_MUTATION_REGISTERED_H
#define RECONCILERS_MUTATION_REGISTERED_H

#include "reconcilers/mutation/state.h"

/* A configuration that could not be written, beside that of the cluster. Zero: it was written, or
 * there was nothing to write. Borrowed. */
struct ek_registration_standing {
    yyjson_mut_val *content; /* as it should be (ek_registration_write), without a CA bundle: a
                                former bundle serves until the next one is written */
    yyjson_val *live;        /* of the cluster; NULL: there is none */
    const char *error;       /* why it could not be written, one line, with the remedy if any */
    bool waits;              /* it was not tried, because requests could not be answered yet */
};

/*
 * Judges the policies of state. standings: one for each kind of registration. The result (ek_free)
 * has an item for each policy, by its index in the state; its reason is NULL where nothing is
 * missing. NULL: nothing is missing for any policy. Messages are in arena.
 */
struct ek_policy_unregistered *
ek_policies_unregistered(const struct ek_mutation_state *state,
                         const struct ek_registration_standing standings[EK_REGISTRATION_KINDS],
                         struct ek_arena *arena);

#endif
