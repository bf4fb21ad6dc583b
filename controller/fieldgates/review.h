/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission side of field gates: answers the reviews that API servers send for gated resources,
 * for the definitions themselves, and for the canary. What is gated is decided elsewhere, on the
 * control loop, and handed over as a set; what becomes of a write is
 * reconcilers/fieldgates/decide.h.
 *
 *   /gates/<crd>          mutating: patch, warnings, or a denial
 *   /gates-verify/<crd>   validating: the backstop
 *   /gates-canary/<hash>  denies, with EK_GATES_CANARY_TEXT and the hash
 *   /gates-definition     validating: V1-V12 of a CustomFeatureGates whose spec is new or changed
 *
 * Never is a write let through for want of knowledge: a CRD that is not in the set, and one whose
 * storage version is another, are refused with 503, which API servers repeat and which makes
 * failurePolicy decide in the end. Only a CRD that an earlier set had, and this one does not, is
 * known to be gated no more: for a minute, in which the API servers learn it too, its writes are
 * allowed. After the minute, Evenkeel's own set would be the stale one.
 *
 * A write that cannot be judged for want of time or memory is denied with code 500, in an answer,
 * so that no failurePolicy of the registration applies.
 *
 * Audit annotations of answers: "generation", that of the CustomFeatureGates that decided, so that
 * an answer shows which generation the replica used; "suppressed", the paths.
 *
 * Model: a set is immutable and refcounted; a review takes a reference under a mutex that is held
 * for no more than that. Threading: new, publish and free on one thread; reviews on any.
 * Source: reconcilers/fieldgates/README.md; KEP-2608.
 */
#ifndef CONTROLLER_FIELDGATES_REVIEW_H
#define CONTROLLER_FIELDGATES_REVIEW_H

#include "controller/webhook/webhook.h"
#include "reconcilers/fieldgates/decide.h"

#define EK_GATES_REVIEW_HANDLERS 4
#define EK_GATES_REVIEW_GONE_MAX 512 /* CRDs remembered as gated no more */
#define EK_GATES_REVIEW_GONE_MS  60000

struct ek_gates_review;

struct ek_gates_review_config {
    /*
     * Called for each use of a gate that a review has found, unless it was a dry run or may be
     * forged: a write that was suppressed or denied, or a deprecated field's. operation is "CREATE"
     * or "UPDATE". Called on serving threads, many at once; everything is borrowed. May be NULL.
     * ek_gates_counts_add fits.
     */
    void (*hit)(void *ctx, const char *crd, const char *gate, const char *operation,
                bool deprecated);
    void *ctx;
    int64_t (*now_ms)(void); /* a clock that does not go back; NULL: the system's. For tests */
};

/* A kind to be gated. Borrowed for the call; gates is referenced, the rest copied. */
struct ek_gates_reviewed {
    const struct ek_gates *gates; /* without what is refused; its name is the key */
    const struct ek_gates_shape *shape;
    const char *version; /* the storage version, that reviews must come in; NULL or "": any */
};

/* config is copied. Before the first set all but definitions are refused with 503. */
struct ek_gates_review *ek_gates_review_new(const struct ek_gates_review_config *config);

/* Makes n kinds the ones that reviews go by from now on. Later ones of the same name are left out.
 */
void ek_gates_review_publish(struct ek_gates_review *review, const struct ek_gates_reviewed *kinds,
                             size_t n);

/* The handlers for ek_webhook_add_handler, which borrow review. */
void ek_gates_review_handlers(struct ek_gates_review *review,
                              struct ek_webhook_handler ret[EK_GATES_REVIEW_HANDLERS]);

/* When no review is under way any more. NULL is fine. */
void ek_gates_review_free(struct ek_gates_review *review);

#endif
