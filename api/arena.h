/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: allocations of one reconcile, released together.
 *
 * It has a byte limit given at birth. Beyond it, allocations still return zeroed memory of the
 * requested size from an overflow block that is released with the rest, but the arena is marked
 * exhausted; the runner checks ek_arena_exhausted once after a plan and turns it into EK_E_LIMIT.
 * This keeps plan functions free of error paths that no test can reach. A hard stop at twice the
 * limit aborts: a plan that ignores its bound is a bug. Not thread safe.
 */
#ifndef API_ARENA_H
#define API_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct ek_arena;

/* Returns an owned arena that is good for limit bytes. */
struct ek_arena *ek_arena_new(size_t limit);

/* Releases the arena and all that was taken from it; NULL is fine. */
void ek_arena_free(struct ek_arena *arena);

/* Returns size zeroed bytes, aligned for any type, borrowed from the arena. */
void *ek_arena_alloc(struct ek_arena *arena, size_t size);

/* Returns a copy of s (NULL stays NULL), borrowed from the arena. */
char *ek_arena_strdup(struct ek_arena *arena, const char *s);
char *ek_arena_strndup(struct ek_arena *arena, const char *s, size_t len);

/* Returns text by printf rules, borrowed from the arena. */
char *ek_arena_printf(struct ek_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* True when more than the limit has been taken. */
bool ek_arena_exhausted(const struct ek_arena *arena);

/* Bytes taken so far. */
size_t ek_arena_used(const struct ek_arena *arena);

#endif
