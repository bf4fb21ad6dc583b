/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Params of one kind, found by what a binding names: a name in any namespace, or a selector. A
 * status asks for every binding whether there are such params; without an index, 1,000 bindings and
 * 5,000 params are five million comparisons in one run of the loop (0.4 s where no params match).
 *
 * Objects are found by the rarest of: the name, the namespace, and the labels of which the selector
 * requires a value. Only a selector without such a label looks at all objects of the namespace.
 * Pure; one thread at a time.
 */
#ifndef RECONCILERS_MUTATION_PARAMS_INDEX_H
#define RECONCILERS_MUTATION_PARAMS_INDEX_H

#include "api/obj.h"
#include "reconcilers/mutation/blocked.h"

/* An object with a name, a namespace or a label, by the hash of that. */
struct ek_params_posting {
    uint64_t hash;
    size_t object;
};

/* Zero is the index of no objects. */
struct ek_params_index {
    struct ek_obj *const *objects; /* borrowed */
    size_t n_objects;
    struct ek_params_posting *postings; /* owned; by hash */
    size_t n_postings;
    uint64_t looked; /* objects that were compared so far */
};

/* Indexes n objects, which outlive the index. */
void ek_params_index_init(struct ek_params_index *index, struct ek_obj *const *objects, size_t n);
void ek_params_index_done(struct ek_params_index *index);

/* Whether an object is one of those wanted. */
bool ek_params_index_holds(struct ek_params_index *index, const struct ek_params_wanted *wanted);

#endif
