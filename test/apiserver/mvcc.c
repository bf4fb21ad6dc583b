/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/mvcc.h"

#include <string.h>
#include <yyjson.h>

#include "api/base/map.h"
#include "api/base/mem.h"

#define LEVELS 16

struct revision {
    struct revision *older;
    struct ek_mvcc_value *value; /* NULL: deleted at rv */
    uint64_t rv;
};

struct node {
    struct revision *newest;
    char *key; /* points behind next[] */
    unsigned n_levels;
    struct node *next[];
};

/* An event keeps its node alive by the node's chain: a node goes only when its last event does. */
struct entry {
    struct ek_mvcc_event event;
    struct node *node;
};

struct resource {
    struct ek_map nodes;
    struct node *head; /* holds LEVELS next pointers and no key */
    size_t n_live;
    struct entry *ring;
    size_t ring_cap;     /* 0 or a power of two */
    uint64_t first, end; /* positions of the log */
    uint64_t compacted;
};

struct ek_mvcc {
    struct resource *resources;
    int n_resources;
    size_t window;
    uint64_t rv;
    uint64_t random;
    void (*on_change)(void *ctx, int resource);
    void *on_change_ctx;
};

struct ek_mvcc_value *ek_mvcc_value_new(const char *json, size_t len, uint64_t rv)
{
    static const char member[] = "\"resourceVersion\":\"";
    struct ek_mvcc_value *value = ek_xalloc(sizeof(*value) + len + 1);

    value->refs = 1;
    value->rv = rv;
    value->len = len;
    memcpy(value->json, json, len);
    char *found = strstr(value->json, member);
    value->rv_off = found ? (size_t)(found - value->json) + sizeof(member) - 1 : 0;
    return value;
}

struct ek_mvcc_value *ek_mvcc_value_ref(struct ek_mvcc_value *value)
{
    if (value)
        value->refs++;
    return value;
}

void ek_mvcc_value_unref(struct ek_mvcc_value *value)
{
    if (!value || --value->refs > 0)
        return;
    yyjson_doc_free(value->labels);
    ek_free(value);
}

struct ek_mvcc *ek_mvcc_new(size_t window)
{
    struct ek_mvcc *store = ek_xalloc(sizeof(*store));

    store->window = window ? window : 1;
    store->random = 0x9e3779b97f4a7c15U;
    return store;
}

static void free_node(struct node *node)
{
    while (node->newest) {
        struct revision *rev = node->newest;
        node->newest = rev->older;
        ek_mvcc_value_unref(rev->value);
        ek_free(rev);
    }
    ek_free(node);
}

static void drop_entry(struct entry *entry)
{
    ek_mvcc_value_unref(entry->event.value);
    ek_mvcc_value_unref(entry->event.prev);
}

static struct entry *entry_at(const struct resource *r, uint64_t position)
{
    return &r->ring[position & (r->ring_cap - 1)];
}

void ek_mvcc_free(struct ek_mvcc *store)
{
    if (!store)
        return;
    for (int i = 0; i < store->n_resources; i++) {
        struct resource *r = &store->resources[i];
        for (uint64_t p = r->first; p < r->end; p++)
            drop_entry(entry_at(r, p));
        for (struct node *node = r->head, *next; node; node = next) {
            next = node->next[0];
            free_node(node);
        }
        ek_map_done(&r->nodes);
        ek_free(r->ring);
    }
    ek_free(store->resources);
    ek_free(store);
}

static struct node *new_node(const char *key, unsigned n_levels)
{
    size_t len = strlen(key);
    size_t links = n_levels * sizeof(struct node *);
    struct node *node = ek_xalloc(sizeof(*node) + links + len + 1);

    node->n_levels = n_levels;
    node->key = (char *)node + sizeof(*node) + links;
    memcpy(node->key, key, len);
    return node;
}

int ek_mvcc_add_resource(struct ek_mvcc *store)
{
    store->resources =
        ek_xrealloc(store->resources, (size_t)store->n_resources + 1, sizeof(store->resources[0]));
    struct resource *r = &store->resources[store->n_resources];
    memset(r, 0, sizeof(*r));
    r->head = new_node("", LEVELS);
    return store->n_resources++;
}

void ek_mvcc_on_change(struct ek_mvcc *store, void (*fn)(void *ctx, int resource), void *ctx)
{
    store->on_change = fn;
    store->on_change_ctx = ctx;
}

uint64_t ek_mvcc_rv(const struct ek_mvcc *store)
{
    return store->rv;
}

void ek_mvcc_set_rv(struct ek_mvcc *store, uint64_t rv)
{
    if (rv > store->rv)
        store->rv = rv;
}

static struct node *find_node(const struct ek_mvcc *store, int resource, const char *key)
{
    return ek_map_get(&store->resources[resource].nodes, key);
}

struct ek_mvcc_value *ek_mvcc_get(const struct ek_mvcc *store, int resource, const char *key)
{
    const struct node *node = find_node(store, resource, key);

    return node ? node->newest->value : NULL;
}

size_t ek_mvcc_count(const struct ek_mvcc *store, int resource)
{
    return store->resources[resource].n_live;
}

/* Fills before[] with the last node below key on each level. */
static struct node *seek(const struct resource *r, const char *key, struct node *before[LEVELS])
{
    struct node *node = r->head;

    for (int level = LEVELS - 1; level >= 0; level--) {
        while (node->next[level] && strcmp(node->next[level]->key, key) < 0)
            node = node->next[level];
        if (before)
            before[level] = node;
    }
    return node->next[0];
}

static unsigned random_level(struct ek_mvcc *store)
{
    unsigned n = 1;

    store->random ^= store->random << 13;
    store->random ^= store->random >> 7;
    store->random ^= store->random << 17;
    for (uint64_t bits = store->random; n < LEVELS && (bits & 3) == 0; bits >>= 2)
        n++;
    return n;
}

static struct node *insert_node(struct ek_mvcc *store, struct resource *r, const char *key)
{
    struct node *before[LEVELS];
    struct node *node = new_node(key, random_level(store));

    seek(r, key, before);
    for (unsigned i = 0; i < node->n_levels; i++) {
        node->next[i] = before[i]->next[i];
        before[i]->next[i] = node;
    }
    ek_map_put(&r->nodes, node->key, node);
    return node;
}

static void remove_node(struct resource *r, struct node *node)
{
    struct node *before[LEVELS];

    seek(r, node->key, before);
    for (unsigned i = 0; i < node->n_levels; i++)
        before[i]->next[i] = node->next[i];
    ek_map_take(&r->nodes, node->key);
    free_node(node);
}

/* Drops the revisions of node that no read at or after rv can reach; the node itself when nothing
 * is left of it. */
static void trim_node(struct resource *r, struct node *node, uint64_t rv)
{
    struct revision *rev = node->newest;

    while (rev && rev->rv > rv)
        rev = rev->older;
    if (!rev)
        return;
    while (rev->older) {
        struct revision *old = rev->older;
        rev->older = old->older;
        ek_mvcc_value_unref(old->value);
        ek_free(old);
    }
    if (rev == node->newest && !rev->value)
        remove_node(r, node);
}

static void forget_oldest(struct resource *r)
{
    struct entry *entry = entry_at(r, r->first++);
    struct node *node = entry->node;

    r->compacted = entry->event.rv;
    drop_entry(entry);
    trim_node(r, node, r->compacted);
}

static void grow_ring(struct resource *r)
{
    size_t cap = r->ring_cap ? r->ring_cap * 2 : 16;
    struct entry *ring = ek_xalloc(cap * sizeof(*ring));

    for (uint64_t p = r->first; p < r->end; p++)
        ring[p & (cap - 1)] = *entry_at(r, p);
    ek_free(r->ring);
    r->ring = ring;
    r->ring_cap = cap;
}

/* Adds a revision to node and an event to the log; value may be NULL (deleted). */
static void commit(struct ek_mvcc *store, int resource, struct node *node,
                   struct ek_mvcc_value *value, struct ek_mvcc_value *shown)
{
    struct resource *r = &store->resources[resource];
    struct revision *rev = ek_xalloc(sizeof(*rev));
    /* Referenced at once: what follows may forget the revision that holds it. */
    struct ek_mvcc_value *prev = ek_mvcc_value_ref(node->newest ? node->newest->value : NULL);

    store->rv = shown->rv;
    rev->rv = store->rv;
    rev->value = value;
    rev->older = node->newest;
    node->newest = rev;
    r->n_live += (size_t)(value != NULL) - (size_t)(prev != NULL);
    if (r->end - r->first == r->ring_cap && r->ring_cap < store->window)
        grow_ring(r);
    while (r->end - r->first >= store->window || r->end - r->first == r->ring_cap)
        forget_oldest(r);
    *entry_at(r, r->end++) = (struct entry){
        .event = {.type = !value ? EK_MVCC_DELETED
                          : prev ? EK_MVCC_MODIFIED
                                 : EK_MVCC_ADDED,
                  .rv = store->rv,
                  .key = node->key,
                  .value = ek_mvcc_value_ref(shown),
                  .prev = prev},
        .node = node,
    };
    if (store->on_change)
        store->on_change(store->on_change_ctx, resource);
}

void ek_mvcc_put(struct ek_mvcc *store, int resource, const char *key, struct ek_mvcc_value *value)
{
    struct node *node = find_node(store, resource, key);

    if (!node)
        node = insert_node(store, &store->resources[resource], key);
    commit(store, resource, node, value, value);
}

bool ek_mvcc_delete(struct ek_mvcc *store, int resource, const char *key,
                    struct ek_mvcc_value *value)
{
    struct node *node = find_node(store, resource, key);
    bool exists = node && node->newest->value;

    if (exists)
        commit(store, resource, node, NULL, value);
    ek_mvcc_value_unref(value);
    return exists;
}

uint64_t ek_mvcc_compacted(const struct ek_mvcc *store, int resource)
{
    return store->resources[resource].compacted;
}

void ek_mvcc_compact(struct ek_mvcc *store, int resource, uint64_t rv)
{
    for (int i = 0; i < store->n_resources; i++) {
        struct resource *r = &store->resources[i];
        if (resource >= 0 && i != resource)
            continue;
        while (r->first < r->end && entry_at(r, r->first)->event.rv <= rv)
            forget_oldest(r);
        if (rv > r->compacted)
            r->compacted = rv < store->rv ? rv : store->rv;
    }
}

void ek_mvcc_seek(const struct ek_mvcc *store, int resource, const char *from, uint64_t rv,
                  struct ek_mvcc_iter *ret_iter)
{
    *ret_iter = (struct ek_mvcc_iter){
        .store = store,
        .resource = resource,
        .rv = rv,
        .node = seek(&store->resources[resource], from, NULL),
    };
}

struct ek_mvcc_value *ek_mvcc_next(struct ek_mvcc_iter *iter, const char **ret_key)
{
    while (iter->node) {
        const struct node *node = iter->node;
        const struct revision *rev = node->newest;
        iter->node = node->next[0];
        while (rev && rev->rv > iter->rv)
            rev = rev->older;
        if (!rev || !rev->value)
            continue;
        *ret_key = node->key;
        return rev->value;
    }
    return NULL;
}

uint64_t ek_mvcc_log_first(const struct ek_mvcc *store, int resource)
{
    return store->resources[resource].first;
}

uint64_t ek_mvcc_log_end(const struct ek_mvcc *store, int resource)
{
    return store->resources[resource].end;
}

uint64_t ek_mvcc_log_after(const struct ek_mvcc *store, int resource, uint64_t rv)
{
    const struct resource *r = &store->resources[resource];
    uint64_t low = r->first, high = r->end;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (entry_at(r, middle)->event.rv <= rv)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct ek_mvcc_event *ek_mvcc_log_at(const struct ek_mvcc *store, int resource,
                                           uint64_t position)
{
    return &entry_at(&store->resources[resource], position)->event;
}
