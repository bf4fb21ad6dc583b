/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of JSON documents that is counted with an arena (api/base/arena.h): where its meter
 * has no room, there is no memory for the document either, and the arena is starved.
 *
 * Ownership: documents are the caller's, and are released before the arena. Threading: that of the
 * arena.
 */
#ifndef API_COUNTED_H
#define API_COUNTED_H

#include <yyjson.h>

#include "api/base/arena.h"

/* The allocator of such documents; ek_json_alc (obj.h) for an arena without a meter. */
yyjson_alc ek_json_alc_in(struct ek_arena *arena);

#endif
