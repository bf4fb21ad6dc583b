/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fights as they are kept between requests: texts, because the objects on which they were seen are
 * gone, and each fight once, however often it is seen. Not for those outside
 * mutation_observations.c, which holds the lock and paces what is told.
 *
 * A fight is the same when path, kind and parties are; the values are those it was first seen with.
 * Threading: none.
 */
#ifndef CONTROLLER_MUTATION_FIGHTS_H
#define CONTROLLER_MUTATION_FIGHTS_H

#include "reconcilers/mutation/status.h"

/* A party: which policy, in which form, and what it sets the path to. All owned. */
struct ek_observed_party {
    char *uid, *name;
    char *value; /* JSON, cut; "" for absent */
    int64_t generation;
};

struct ek_observed_fight {
    char *path, *kind; /* owned */
    struct ek_observed_party *parties;
    size_t n_parties;
    int64_t since_ms, seen_ms; /* first and last */
    bool taken;                /* it may be told */
};

/* Zero is none. */
struct ek_observed_fights {
    struct ek_observed_fight *items;
    size_t n;
    bool ended; /* one that was told is over since */
};

void ek_observed_fights_done(struct ek_observed_fights *fights);

/* Notes what was seen on an object of kind; true when it was not known. Nothing is noted when
 * there are too many. */
bool ek_observed_fights_note(struct ek_observed_fights *fights, const struct ek_gvk *kind,
                             const struct ek_fight *fight, int64_t now_ms);

/* Drops the fights that have a party which is not present any more, in that form; true when one of
 * them had been told. */
bool ek_observed_fights_end(struct ek_observed_fights *fights,
                            bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                            void *ctx);

/* When the next one will not have been seen for too long; EK_TIME_UNSET without any. */
int64_t ek_observed_fights_due(const struct ek_observed_fights *fights);

/* Has all be told that there are now, and drops what was not seen for too long. added is called for
 * each party of a new one, with a note for people that it takes. Returns whether anything has
 * changed. */
bool ek_observed_fights_take(struct ek_observed_fights *fights, int64_t now_ms,
                             void (*added)(void *ctx, const char *uid, char *note), void *ctx);

/* Lists the fights that may be told and that the policy is a party of; copies, in arena. */
size_t ek_observed_fights_of(const struct ek_observed_fights *fights, const char *uid,
                             struct ek_arena *arena, const struct ek_fight_seen **ret);

#endif
