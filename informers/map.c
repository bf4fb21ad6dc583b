/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/map.h"

#include <string.h>
#include <sys/random.h>

#include "api/mem.h"

#define CAP_MIN 8

/* The key of the hash, drawn at the first use. Two threads that draw at once would disagree, so
 * the constructor does it before there is a second one. */
static uint64_t hash_key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

__attribute__((constructor)) static void draw_hash_key(void)
{
    uint64_t drawn[2];

    if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) == (ssize_t)sizeof drawn)
        memcpy(hash_key, drawn, sizeof hash_key);
}

static uint64_t rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein 2012), words read in the machine's own byte order. */
static uint64_t hash_of(const char *key)
{
    size_t len = strlen(key);
    uint64_t v[4] = {hash_key[0] ^ 0x736f6d6570736575u, hash_key[1] ^ 0x646f72616e646f6du,
                     hash_key[0] ^ 0x6c7967656e657261u, hash_key[1] ^ 0x7465646279746573u};
    uint64_t word;
    size_t left = len;

    for (; left >= sizeof word; left -= sizeof word, key += sizeof word) {
        memcpy(&word, key, sizeof word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56;
    memcpy(&word, key, left);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
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
