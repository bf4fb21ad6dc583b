/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/lru.h"

#include <stdalign.h>

#include "api/base/mem.h"

struct ek_lru_node {
    struct ek_lru_node *newer, *older;
    char *key; /* owned */
    alignas(max_align_t) unsigned char payload[];
};

void ek_lru_init(struct ek_lru *lru, size_t max, size_t payload_size)
{
    *lru = (struct ek_lru){.max = max, .payload_size = payload_size};
}

static void detach(struct ek_lru *lru, struct ek_lru_node *node)
{
    *(node->newer ? &node->newer->older : &lru->newest) = node->older;
    *(node->older ? &node->older->newer : &lru->oldest) = node->newer;
    node->newer = node->older = NULL;
}

static void attach(struct ek_lru *lru, struct ek_lru_node *node)
{
    node->older = lru->newest;
    *(lru->newest ? &lru->newest->newer : &lru->oldest) = node;
    lru->newest = node;
}

static void drop_oldest(struct ek_lru *lru)
{
    struct ek_lru_node *node = lru->oldest;

    detach(lru, node);
    ek_map_take(&lru->map, node->key);
    ek_free(node->key);
    ek_free(node);
}

void ek_lru_done(struct ek_lru *lru)
{
    while (lru->oldest)
        drop_oldest(lru);
    ek_map_done(&lru->map);
}

void *ek_lru_get(struct ek_lru *lru, const char *key)
{
    struct ek_lru_node *node = ek_map_get(&lru->map, key);

    if (!node)
        return NULL;
    detach(lru, node);
    attach(lru, node);
    return node->payload;
}

void *ek_lru_need(struct ek_lru *lru, const char *key)
{
    void *payload = ek_lru_get(lru, key);

    if (payload)
        return payload;
    if (lru->map.n >= lru->max)
        drop_oldest(lru);
    struct ek_lru_node *node = ek_xalloc(sizeof *node + lru->payload_size);
    node->key = ek_xstrdup(key);
    ek_map_put(&lru->map, node->key, node);
    attach(lru, node);
    return node->payload;
}
