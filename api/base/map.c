/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/map.h"

#include <string.h>

#include "api/base/hash.h"
#include "api/base/mem.h"

#define CAP_MIN 8

static uint64_t hash_of(const char *key)
{
    return ek_hash(key, strlen(key));
}

void ek_map_init(struct ek_map *map)
{
    *map = (struct ek_map){0};
}

void ek_map_done(struct ek_map *map)
{
    ek_free(map->slots);
    ek_map_init(map);
}

/* The slot of key, or the free one where it would go. There is always a free one. */
static struct ek_map_slot *probe(const struct ek_map *map, const char *key, uint64_t hash)
{
    size_t mask = map->cap - 1;
    size_t i = hash & mask;

    while (map->slots[i].key && (map->slots[i].hash != hash || strcmp(map->slots[i].key, key) != 0))
        i = (i + 1) & mask;
    return &map->slots[i];
}

static void resize(struct ek_map *map, size_t cap)
{
    struct ek_map old = *map;

    map->cap = cap;
    map->slots = ek_xrealloc(NULL, map->cap, sizeof *map->slots);
    memset(map->slots, 0, map->cap * sizeof *map->slots);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].key)
            *probe(map, old.slots[i].key, old.slots[i].hash) = old.slots[i];
    ek_free(old.slots);
}

/* True when n entries need more slots than there are: a quarter stays free. */
static bool is_small(const struct ek_map *map, size_t n)
{
    return n > map->cap / 4 * 3;
}

void ek_map_reserve(struct ek_map *map, size_t n)
{
    size_t cap = map->cap ? map->cap : CAP_MIN;

    if (!n || !is_small(map, n))
        return;
    while (n > cap / 4 * 3)
        cap *= 2;
    resize(map, cap);
}

void *ek_map_get(const struct ek_map *map, const char *key)
{
    return map->n ? probe(map, key, hash_of(key))->value : NULL;
}

void *ek_map_put(struct ek_map *map, const char *key, void *value)
{
    if (is_small(map, map->n + 1))
        resize(map, map->cap ? map->cap * 2 : CAP_MIN);
    uint64_t hash = hash_of(key);
    struct ek_map_slot *slot = probe(map, key, hash);
    void *before = slot->value;
    if (!slot->key)
        map->n++;
    *slot = (struct ek_map_slot){key, value, hash};
    return before;
}

/* Empties slot i and moves back the entries behind it that probing would no longer find. */
static void close_gap(struct ek_map *map, size_t i)
{
    size_t mask = map->cap - 1;

    for (size_t j = (i + 1) & mask; map->slots[j].key; j = (j + 1) & mask) {
        size_t home = map->slots[j].hash & mask;
        if (((j - home) & mask) < ((j - i) & mask))
            continue; /* its home lies behind the gap */
        map->slots[i] = map->slots[j];
        i = j;
    }
    map->slots[i] = (struct ek_map_slot){0};
}

void *ek_map_take(struct ek_map *map, const char *key)
{
    if (!map->n)
        return NULL;
    struct ek_map_slot *slot = probe(map, key, hash_of(key));
    void *value = slot->value;
    if (!slot->key)
        return NULL;
    close_gap(map, (size_t)(slot - map->slots));
    map->n--;
    return value;
}

bool ek_map_next(const struct ek_map *map, size_t *cursor, const char **ret_key, void **ret_value)
{
    for (; *cursor < map->cap; ++*cursor) {
        const struct ek_map_slot *slot = &map->slots[*cursor];
        if (!slot->key)
            continue;
        if (ret_key)
            *ret_key = slot->key;
        *ret_value = slot->value;
        ++*cursor;
        return true;
    }
    return false;
}
