/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be done about the webhook's own certificates: a pure step from what the Secret holds,
 * the time, and whether API servers have our bundle, to one intent.
 *
 * A serving certificate (the leaf) lasts a year and is replaced at two thirds of its life by one of
 * the same authority (CA), which needs no publication. The authority lasts ten years; a new one
 * comes in three steps, so that at each instant every API server trusts what every replica serves:
 *
 *   STEADY    one authority. Its time comes -> ADD_CA: the next one is made, and trusted beside it
 *   TRUSTING  the bundle holds both. All registrations have had it for a while -> SWITCH_CA: the
 *             next one becomes the authority and issues the leaf; the old one stays in the bundle
 *   LEAVING   the bundle still holds both. A day later, when no replica serves a leaf of the old
 * one
 *             -> DROP_CA
 *
 * Where there is nothing to keep working (no Secret, or neither a leaf that can be served nor an
 * authority that can issue one), everything is made again at once: MAKE_ALL. A Secret that was
 * deleted or spoilt while replicas still serve from it is no such case: see ek_cert_plan_restore.
 *
 * Times are ms since the epoch. Any thread.
 */
#ifndef RECONCILERS_CERTIFICATES_PLAN_H
#define RECONCILERS_CERTIFICATES_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "reconcilers/intent.h"

#define EK_CERT_HOUR_MS      ((int64_t)3600 * 1000)
#define EK_CERT_DAY_MS       (24 * EK_CERT_HOUR_MS)
#define EK_CERT_LEAF_LIFE_MS (365 * EK_CERT_DAY_MS)
#define EK_CERT_CA_LIFE_MS   (3650 * EK_CERT_DAY_MS)
#define EK_CERT_BACKDATE_MS  EK_CERT_HOUR_MS      /* for clocks that are behind */
#define EK_CERT_OVERLAP_MS   ((int64_t)60 * 1000) /* from published to switched */
#define EK_CERT_LEAVING_MS   EK_CERT_DAY_MS       /* from switched to dropped */
#define EK_CERT_LOOK_MS      EK_CERT_HOUR_MS      /* the longest between two looks */

/* An authority, or a leaf. */
struct ek_cert_fact {
    bool present; /* a certificate that can be read */
    bool usable;  /* with the key that belongs to it; of a leaf: for all names that are wanted, and
                     issued by an authority of the bundle */
    int64_t not_before_ms, not_after_ms;
};

/* What the Secret holds. */
struct ek_cert_facts {
    struct ek_cert_fact ca, next_ca, old_ca, leaf; /* old_ca has no key any more */
    bool leaf_is_of_ca;                            /* not of next_ca or old_ca */
};

enum ek_cert_intent {
    EK_CERT_NOTHING,
    EK_CERT_MAKE_ALL,  /* a new authority and a leaf; keep nothing */
    EK_CERT_MAKE_LEAF, /* of the present authority */
    EK_CERT_ADD_CA,    /* make the next authority */
    EK_CERT_SWITCH_CA, /* ca becomes old_ca, next_ca becomes ca and issues the leaf */
    EK_CERT_DROP_CA,   /* forget old_ca */
    EK_CERT_RESTORE,   /* write it as it is remembered */
    EK_CERT_INTENT_MAX,
};

struct ek_cert_plan {
    enum ek_cert_intent intent;
    const char *why;    /* constant text, "" for nothing */
    int64_t look_at_ms; /* when to plan again at the latest */
};

/*
 * published_ms is when the present bundle was first seen in all registrations, EK_TIME_UNSET while
 * it is not.
 */
struct ek_cert_plan ek_cert_plan_make(const struct ek_cert_facts *facts, int64_t now_ms,
                                      int64_t published_ms);

/*
 * The same for facts that are remembered, because the Secret was deleted or spoilt: what API
 * servers trust and replicas serve is written again. A deletion is a request for new keys, so that,
 * where no authority is being replaced anyway, the next one is added on the way: ADD_CA. MAKE_ALL
 * when what is remembered is of no use either.
 */
struct ek_cert_plan ek_cert_plan_restore(const struct ek_cert_facts *facts, int64_t now_ms,
                                         int64_t published_ms);

/*
 * What to go by: the Secret as it is; or as it was when it was last of use (kept; NULL: it never
 * was), when nothing can be made of the present one. API servers trust no more than they were given
 * before. *ret_kept is true when the plan is for what is kept.
 */
struct ek_cert_plan ek_cert_plan_choose(const struct ek_cert_facts *facts,
                                        const struct ek_cert_facts *kept, int64_t now_ms,
                                        int64_t published_ms, bool *ret_kept);

/* The maximum time between a failed write and the next attempt. */
#define EK_CERT_RETRY_MS 5000

/*
 * Appends the write of the Secret called name in namespace. current is the Secret as it is known,
 * NULL when there is none: it is then created, and content should hold no data, because what a
 * creation sets no apply could take out again, and because the replica that did not create the
 * Secret should make no keys. Otherwise content is applied to just that state of the Secret.
 * content is a value of the list's document.
 */
void ek_cert_plan_write(const char *namespace, const char *name, const struct ek_obj *current,
                        yyjson_mut_val *content, struct ek_intents *intents);

/* Clears the failure of a write that is no failure: another replica was faster, and the informer
 * reports the Secret of that replica. */
void ek_cert_plan_answered(struct ek_err *err);

const char *ek_cert_intent_name(enum ek_cert_intent intent);

#endif
