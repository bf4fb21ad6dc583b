/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the policies (reconcilers/mutation/state.h), made of the stores of a watch.
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_STATE_H
#define CONTROLLER_MUTATION_STATE_H

#include "controller/mutation/watch.h"
#include "reconcilers/mutation/state.h"

/* Plans state again from the stores of watch; serving as in struct ek_mutation_inputs. */
void ek_mutation_state_update(struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch,
                              const struct ek_plugin_census *census, bool serving);

/* Has watch follow the params and schemas that the policies of state need. */
void ek_mutation_state_follow(const struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch);

/* Checks the types of the policies of state whose check is due. */
void ek_mutation_state_check_types(struct ek_mutation_state *state,
                                   const struct ek_mutation_watch *watch);

#endif
