/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reviews of gated resources go by: kinds by the names of their CRDs, immutable and
 * refcounted. A set also remembers the kinds that sets before it had: they are known to be gated no
 * more. Any thread reads, references and releases a set.
 */
#ifndef CONTROLLER_FIELDGATES_REVIEW_SET_H
#define CONTROLLER_FIELDGATES_REVIEW_SET_H

#include "controller/fieldgates/review.h"

struct ek_gates_review_set;

struct ek_gates_review_kind {
    const char *name;
    const struct ek_gates *gates; /* NULL: gated no more */
    struct ek_gates_shape shape;
    const char *version; /* "" for any */
    int64_t gone_ms;     /* without gates: since when */
};

/* A set of n kinds; previous (NULL: none) contains what was gated until now_ms. One reference for
 * the caller. */
struct ek_gates_review_set *ek_gates_review_set_new(const struct ek_gates_reviewed *kinds, size_t n,
                                                    const struct ek_gates_review_set *previous,
                                                    int64_t now_ms);

/* NULL stays NULL. */
struct ek_gates_review_set *ek_gates_review_set_ref(struct ek_gates_review_set *set);
void ek_gates_review_set_unref(struct ek_gates_review_set *set);

/* Borrowed; NULL for a name that no set has had lately, and for a NULL set. */
const struct ek_gates_review_kind *ek_gates_review_set_find(const struct ek_gates_review_set *set,
                                                            const char *crd, int64_t now_ms);

#endif
