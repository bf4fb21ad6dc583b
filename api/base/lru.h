/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of a fixed number of entries under string keys. A new entry displaces the entry that was
 * used longest ago. Each entry is a zeroed payload of one size, so that the memory for facts about
 * clients and objects is bounded. No clock: entries that expire need a time in the payload.
 *
 * Ownership: keys are copied, payloads live until they are evicted. Threading: none.
 */
#ifndef API_BASE_LRU_H
#define API_BASE_LRU_H

#include <stddef.h>

#include "api/base/map.h"

struct ek_lru_node;

struct ek_lru {
    struct ek_map map;
    struct ek_lru_node *newest, *oldest;
    size_t max, payload_size;
};

/* Makes an empty cache of at most max (> 0) entries. */
void ek_lru_init(struct ek_lru *lru, size_t max, size_t payload_size);
void ek_lru_done(struct ek_lru *lru);

/* The payload under key, used just now; NULL when there is none. */
void *ek_lru_get(struct ek_lru *lru, const char *key);

/* The payload under key, zeroed when it is new. Never NULL; evicts the oldest when full. */
void *ek_lru_need(struct ek_lru *lru, const char *key);

#endif
