/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each step changed, and which policies undo each other's work. Private to this folder; other
 * code reads the results in struct ek_mutation_outcome. Pure; everything is in the arena.
 */
#ifndef RECONCILERS_MUTATION_FIGHTS_H
#define RECONCILERS_MUTATION_FIGHTS_H

#include "reconcilers/mutation/engine.h"

/* Changes of one step; where there are more, the one change is that of the whole object. */
#define EK_CHANGES_MAX 1000
#define EK_FIGHTS_MAX  32 /* of one request; more are not listed */

/*
 * Lists in *ret what differs between two objects, by path: members one by one, items of lists whose
 * items have names by these, of others by their place where the lists are equally long, else as one
 * change of the list. Returns how many. Values are copies. When the work (may be NULL) is over the
 * answer means nothing.
 */
size_t ek_changes_of(yyjson_val *before, yyjson_val *after, struct ek_work *work,
                     struct ek_arena *arena, const struct ek_change **ret);

/* What one mutation of a step changed. */
struct ek_change_part {
    const struct ek_change *changes;
    size_t n;
};

/* The changes of a step, n in list, each with the mutations that had a part in it: parts holds what
 * each of the n_parts changed. Returns list when the arena is used up. */
const struct ek_change *ek_changes_attribute(const struct ek_change *list, size_t n,
                                             const struct ek_change_part *parts, size_t n_parts,
                                             struct ek_arena *arena);

/* A copy of v in the arena; NULL at the arena's end. */
yyjson_val *ek_value_keep(yyjson_val *v, struct ek_arena *arena);

/*
 * Lists in *ret the paths that steps of the passes from first_pass on have changed, each with the
 * policies that did and what each set it to last; paths above one another are one fight, at the
 * upper. least: a fight has at least so many parties. Returns how many.
 */
size_t ek_fights_of(const struct ek_step *steps, size_t n, unsigned first_pass, size_t least,
                    struct ek_arena *arena, const struct ek_fight **ret);

#endif
