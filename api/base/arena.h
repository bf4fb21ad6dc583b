/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: allocations of one reconcile or one evaluation, released together.
 *
 * It has a byte limit given at birth. Beyond it, allocations still return zeroed memory of the
 * requested size from an overflow block that is released with the rest, but the arena is marked
 * exhausted; the runner checks ek_arena_exhausted once after a plan and turns it into EK_E_LIMIT.
 * This keeps plan functions free of error paths that no test can reach. A hard stop at twice the
 * limit aborts: a plan that ignores its bound is a bug. Not thread safe.
 */
#ifndef API_BASE_ARENA_H
#define API_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct ek_arena;

/* Returns an owned arena that is good for limit bytes. */
struct ek_arena *ek_arena_new(size_t limit);

/* Where the memory of an arena is counted; take says whether there is room for so many bytes. */
struct ek_arena_meter {
    bool (*take)(void *ctx, size_t n);
    void (*give)(void *ctx, size_t n);
    void *ctx;
};

/* Counts the arena's blocks from now on; before the first allocation. Without room ek_arena_try
 * returns NULL, ek_arena_alloc allocates uncounted, and the arena is starved. */
void ek_arena_set_meter(struct ek_arena *arena, const struct ek_arena_meter *meter);

/* True when the meter has refused something since the birth or the last reset: whatever was
 * computed is void, because it may be for that reason only. */
bool ek_arena_starved(const struct ek_arena *arena);

/* Releases the arena and all that was taken from it; NULL is fine. */
void ek_arena_free(struct ek_arena *arena);

/* Returns size zeroed bytes, aligned for any type, borrowed from the arena. */
void *ek_arena_alloc(struct ek_arena *arena, size_t size);

/*
 * Returns size octets, not zeroed, aligned for any type, borrowed from the arena; NULL when that
 * would take more than the limit, or without memory. For what is sized by an expression or by
 * remote input, whose callers turn NULL into an error. The arena is not marked exhausted.
 */
void *ek_arena_try(struct ek_arena *arena, size_t size);

/*
 * Makes the allocation p of old_size octets (from ek_arena_try) larger in place. False when it is
 * not the newest, or does not fit its block or the limit: then make another and copy.
 */
bool ek_arena_extend(struct ek_arena *arena, void *p, size_t old_size, size_t new_size);

/* Takes back all allocations, but keeps the newest block for the next ones. */
void ek_arena_reset(struct ek_arena *arena);

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
