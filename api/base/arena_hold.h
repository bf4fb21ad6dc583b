/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that the user of an arena has besides, counted by the arena's meter. Without a meter
 * nothing is counted, and there is room for all. Threading: that of the arena.
 */
#ifndef API_BASE_ARENA_HOLD_H
#define API_BASE_ARENA_HOLD_H

#include "api/base/arena.h"

bool ek_arena_is_metered(const struct ek_arena *arena);

/* Counts n bytes; false without room, and then the arena is starved. */
bool ek_arena_hold(struct ek_arena *arena, size_t n);

/* Gives bytes back, before the arena is released. */
void ek_arena_give(struct ek_arena *arena, size_t n);

#endif
