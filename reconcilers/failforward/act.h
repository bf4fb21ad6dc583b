/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes of a step, as intents. Every write names the object that was read by uid and
 * resourceVersion: an object that changed since is read again before. The bodies are the ones that
 * were played against operator-lifecycle-manager at 992bb097 (test/data/failforward).
 *
 * Pure: time is an argument. Threading: none.
 */
#ifndef RECONCILERS_FAILFORWARD_ACT_H
#define RECONCILERS_FAILFORWARD_ACT_H

#include "reconcilers/failforward/ladder.h"
#include "reconcilers/intent.h"

/*
 * Appends the writes of next->act; nothing where there is none. world and state are those that next
 * was decided from. Before a CSV is deleted, its manifest is kept in a ConfigMap that the
 * subscription owns, and the deletion depends on that write. Returns false where an object of the
 * write does not exist: nothing is appended then.
 */
bool ek_ff_act(const struct ek_ff_world *world, const struct ek_ff_state *state,
               const struct ek_ff_next *next, int64_t now_ms, struct ek_intents *intents);

#endif
