/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fights between policies as they are kept between requests: as texts, because the objects of the
 * requests are gone, and each fight once, however often requests show it. Internal to results.c.
 *
 * Two fights are the same when path, kind and parties are the same; the hashes are those of the
 * values of the first request. A value is kept as a hash only, because users who may not read the
 * object can read statuses and Events. The key of the hash is random, new for each fight, and
 * erased at once: a user who makes policies fight over chosen values cannot compare the hashes with
 * those of another fight (README.md, "Who may read values"). Pure: time and randomness are
 * arguments. Threading: none.
 */
#ifndef RECONCILERS_MUTATION_RESULTS_FIGHTS_H
#define RECONCILERS_MUTATION_RESULTS_FIGHTS_H

#include "reconcilers/mutation/status.h"

#define EK_RESULTS_KEY_SIZE 32 /* bytes */

/* A party: the policy, its form, and the value that it gives to the path. All owned. */
struct ek_results_party {
    char *uid, *name;
    char *value_hash; /* by the fight's key; "" for absent */
    int64_t generation;
};

struct ek_results_fight {
    char *path, *kind; /* owned */
    struct ek_results_party *parties;
    size_t n_parties;
    int64_t since_ms, seen_ms; /* first and last */
    bool taken;                /* it may be reported */
};

/* Zero is none. */
struct ek_results_fights {
    struct ek_results_fight *items;
    size_t n;
    bool ended; /* a reported one is over since */
};

void ek_results_fights_done(struct ek_results_fights *fights);

/* Notes a fight over an object of kind; true when it was not known. Nothing is noted beyond
 * EK_RESULTS_FIGHTS_MAX fights. draw fills n random bytes, false without randomness: the hashes
 * are empty then. */
bool ek_results_fights_note(struct ek_results_fights *fights, const struct ek_gvk *kind,
                            const struct ek_fight *fight,
                            bool (*draw)(unsigned char *bytes, size_t n), int64_t now_ms);

/* Drops the fights that have a party which is not present any more, in that form; true when one of
 * them had been reported. */
bool ek_results_fights_end(struct ek_results_fights *fights,
                           bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                           void *ctx);

/* When the next one will not have been seen for too long; EK_TIME_UNSET without any. */
int64_t ek_results_fights_due(const struct ek_results_fights *fights);

/* Lets all present fights be reported, and drops those not seen for too long. added is called for
 * each party of a new one, and takes ownership of the note, a text for users. Returns whether
 * anything has changed. */
bool ek_results_fights_take(struct ek_results_fights *fights, int64_t now_ms,
                            void (*added)(void *ctx, const char *uid, char *note), void *ctx);

/* Lists the fights that may be reported and that the policy is a party of; copies, in arena. */
size_t ek_results_fights_of(const struct ek_results_fights *fights, const char *uid,
                            struct ek_arena *arena, const struct ek_fight_seen **ret);

#endif
