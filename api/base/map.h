/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from strings to pointers: what stores, indexes and queues are made of.
 *
 * Open addressing with linear probing; removal shifts the run back, so there are no tombstones and
 * a map that shrank is as fast as a fresh one. Keys come from the network, so the hash is the keyed
 * one (api/base/hash.h): no client can choose keys that collide.
 *
 * Ownership: keys and values are borrowed; a key must live as long as its entry, which is easy when
 * it is part of the value. Iteration order means nothing; sort what people or tests get to see.
 * Threading: none; the owner of a map serializes access.
 */
#ifndef API_BASE_MAP_H
#define API_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ek_map_slot {
    const char *key; /* NULL in a free slot */
    void *value;
    uint64_t hash;
};

struct ek_map {
    struct ek_map_slot *slots;
    size_t n;   /* entries */
    size_t cap; /* slots: 0 or a power of two */
};

/* Makes an empty map; a zeroed struct is one too. Allocates nothing. */
void ek_map_init(struct ek_map *map);

/* Releases the slots; keys and values are the owner's affair. */
void ek_map_done(struct ek_map *map);

/* Makes room for n entries, so that as many puts move nothing. */
void ek_map_reserve(struct ek_map *map, size_t n);

/* The value under key, NULL when there is none. */
void *ek_map_get(const struct ek_map *map, const char *key);

/* Puts value (not NULL) under key and returns what was there before, or NULL. The new key pointer
 * replaces the old one. Aborts without memory: an entry is small and of fixed size. */
void *ek_map_put(struct ek_map *map, const char *key, void *value);

/* Takes the entry of key out and returns its value; NULL when there was none. */
void *ek_map_take(struct ek_map *map, const char *key);

/*
 * Walks the entries: start with *cursor = 0, ends with false. The map must not change meanwhile.
 * ret_key may be NULL.
 */
bool ek_map_next(const struct ek_map *map, size_t *cursor, const char **ret_key, void **ret_value);

#endif
