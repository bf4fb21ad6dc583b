/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gated kinds of a cluster: each CustomFeatureGates, read, and compared with the
 * CustomResourceDefinition (CRD) of its name.
 *
 * An update reads only new objects: a kind whose two objects are the same stays as it is. Pure.
 * Threading: one thread; the gates themselves are shared with others.
 */
#ifndef RECONCILERS_FIELDGATES_KINDS_H
#define RECONCILERS_FIELDGATES_KINDS_H

#include "reconcilers/fieldgates/registration.h"

/* Tags of the intents that are planned here. */
enum ek_gates_tag {
    EK_GATES_TAG_REGISTRATION = 1, /* a webhook configuration */
    EK_GATES_TAG_STATUS,           /* of a CustomFeatureGates */
    EK_GATES_TAG_IMPORT,           /* a CustomFeatureGates made of an annotation */
    EK_GATES_TAG_MARKS,            /* the ConfigMap that remembers imports */
};

/* One CustomFeatureGates. Everything is owned. */
struct ek_gated_kind {
    struct ek_obj *obj, *crd;        /* crd NULL: there is none of that name */
    const struct ek_gates *defined;  /* nothing left out */
    const struct ek_gates *enforced; /* without what is refused; NULL: nothing can be enforced */
    struct ek_arena *arena;          /* of resolution */
    struct ek_gates_resolution resolution; /* when crd could be read */
    bool resolved;
    struct ek_err problem; /* why the CRD could not be read, or is not followed; code 0: nothing */
};

/* Zero is the state of a cluster without gates. */
struct ek_gated_kinds {
    struct ek_gated_kind *kinds; /* by name */
    size_t n;
    unsigned long read; /* how many kinds were read so far */
};

/* How many of n CustomFeatureGates, in the order of their names, have their CRDs followed. */
size_t ek_gated_kinds_followed(size_t n);

/* Makes kinds true to n objects, CustomFeatureGates in the order of their names, and to their CRDs
 * (of the same index; NULL: there is none, or it is not followed). Keeps references. */
void ek_gated_kinds_update(struct ek_gated_kinds *kinds, struct ek_obj *const *objects,
                           const struct ek_obj *const *crds, size_t n);
void ek_gated_kinds_done(struct ek_gated_kinds *kinds);

/* The kind of a name (that of its CRD), borrowed; NULL for none. */
const struct ek_gated_kind *ek_gated_kinds_find(const struct ek_gated_kinds *kinds,
                                                const char *name);

/* The kinds to register for the webhook: an owned array (ek_free) of *ret_n, borrowing from kinds.
 * */
struct ek_gates_registered *ek_gated_kinds_registered(const struct ek_gated_kinds *kinds,
                                                      size_t *ret_n);

#endif
