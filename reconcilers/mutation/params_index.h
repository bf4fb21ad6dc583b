/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of the params of one kind, for the paramRef of a binding: a name in any namespace, or a
 * selector. A PolicyStatus needs for each binding whether such params exist; without an index,
 * 1,000 bindings and 5,000 params are five million comparisons in one turn of the loop (0.4 s where
 * no params match).
 *
 * A search compares the objects that have the rarest of: the name, the namespace, and the labels
 * whose value the selector requires. For a selector without such a label, a search compares all
 * objects of the namespace. Pure; one thread at a time.
 */
#ifndef RECONCILERS_MUTATION_PARAMS_INDEX_H
#define RECONCILERS_MUTATION_PARAMS_INDEX_H

#include "api/obj.h"
#include "reconcilers/mutation/blocked.h"

/* An object, by the hash of its name, of its namespace or of a label. */
struct ek_params_posting {
    uint64_t hash;
    size_t object;
};

/* A zeroed struct is an index without objects. */
struct ek_params_index {
    struct ek_obj *const *objects; /* borrowed */
    size_t n_objects;
    struct ek_params_posting *postings; /* owned; by hash */
    size_t n_postings;
    uint64_t looked; /* objects that were compared so far */
};

/* Indexes n objects, which are borrowed for the lifetime of the index. */
void ek_params_index_init(struct ek_params_index *index, struct ek_obj *const *objects, size_t n);
void ek_params_index_done(struct ek_params_index *index);

/* Whether the index has an object that wanted selects. */
bool ek_params_index_holds(struct ek_params_index *index, const struct ek_params_wanted *wanted);

#endif
