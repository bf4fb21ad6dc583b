/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tally: how many things have each key, and the first few of their names.
 *
 * Made for thousands of nodes with a handful of versions, but safe where every node has a version
 * of its own: adding costs the same however many keys there are. Everything lives in the arena;
 * keys and names are borrowed. Pure, not thread safe.
 */
#ifndef RECONCILERS_SKEW_TALLY_H
#define RECONCILERS_SKEW_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "api/base/arena.h"

#define EK_TALLY_NAMES 3

struct ek_tally_entry {
    const char *key;
    uint64_t hash;
    size_t count;
    const char **names; /* the first EK_TALLY_NAMES in name order; n_names of them */
    size_t n_names;
};

struct ek_tally {
    struct ek_arena *arena;
    struct ek_tally_entry *entries; /* in the order in which keys came */
    size_t n, cap;
    uint32_t *slots; /* entry index + 1, 0 for empty; a power of two of them */
    size_t n_slots;
};

/* Makes an empty tally for at most max adds. */
void ek_tally_init(struct ek_tally *tally, struct ek_arena *arena, size_t max);

/* Counts one more of key, called name. Additions beyond the given maximum are left out. */
void ek_tally_add(struct ek_tally *tally, const char *key, const char *name);

/* Adds all of from's count and names to the entry of key in into. */
void ek_tally_fold(struct ek_tally *into, const char *key, const struct ek_tally_entry *from);

#endif
