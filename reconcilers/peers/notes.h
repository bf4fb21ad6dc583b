/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: a bounded list of sentences for people, gathered while something is worked out.
 *
 * A note that is already there is not added again; the one that would exceed the bound becomes
 * "further notes were left out". Everything lives in the arena. Not thread safe.
 */
#ifndef RECONCILERS_PEERS_NOTES_H
#define RECONCILERS_PEERS_NOTES_H

#include <stddef.h>

#include "api/base/arena.h"

#define EK_NOTES_MAX 32

struct ek_notes {
    struct ek_arena *arena;
    const char **items; /* NULL until the first; n of them */
    size_t n;
};

/* Makes an empty list that allocates from arena. */
void ek_notes_init(struct ek_notes *notes, struct ek_arena *arena);

/* Adds a sentence by printf rules; it is cut at about 1 kB. */
void ek_notes_add(struct ek_notes *notes, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns s, or a copy in arena of at most max bytes of it that ends with a whole character,
 * because half of one would make a document that no server accepts. */
const char *ek_notes_cut(struct ek_arena *arena, const char *s, size_t max);

/* "a", "a and b", "a, b and c", "a, b, c and 4 more" of the n names, each cut at 64 bytes, in
 * arena; "" for none. */
const char *ek_notes_names(struct ek_arena *arena, const char *const *names, size_t n);

#endif
