/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/hash.h"
#include "api/cel/values/account.h"
#include "api/cel/values/type.h"
#include "api/cel/values/value.h"

/* Maps of more entries have a hash index. */
#define LINEAR_MAX  8u
#define ENTRIES_MAX ((size_t)1 << 28)

/* ---- Keys ------------------------------------------------------------------------------------ */

/*
 * Keys of a map under construction are distinguished by kind and content: 1, 1u and 1.0 are three.
 * Values without content to compare (lists, maps, objects) are distinguished by their place, as the
 * reference does.
 */
static bool same_key(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        return ek_cel_same_octets(a, b);
    case EK_CEL_NULL:
        return true;
    case EK_CEL_BOOL:
        return a->b == b->b;
    case EK_CEL_DOUBLE:
        return a->d == b->d;
    case EK_CEL_TYPE:
        return strcmp(a->type->name, b->type->name) == 0;
    case EK_CEL_TIMESTAMP:
        return a->i == b->i && a->n == b->n && a->offset == b->offset;
    case EK_CEL_OPAQUE:
        return a->opaque == b->opaque ||
               (a->opaque->kind == b->opaque->kind && a->opaque->kind->hash &&
                a->opaque->kind->equal(a->opaque, b->opaque));
    default: /* by place, or all of the number */
        return a->u == b->u && a->n == b->n && a->form == b->form;
    }
}

static uint32_t hash_key(const struct ek_cel_val *key)
{
    uint64_t bits = key->u;

    switch (key->kind) {
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        return (uint32_t)ek_hash(key->s, key->n);
    case EK_CEL_NULL:
        bits = 0;
        break;
    case EK_CEL_BOOL:
        bits = key->b;
        break;
    case EK_CEL_DOUBLE:
        if (key->d == 0)
            bits = 0; /* 0.0 and -0.0 are one */
        break;
    case EK_CEL_TYPE:
        return (uint32_t)ek_hash(key->type->name, strlen(key->type->name));
    case EK_CEL_OPAQUE:
        if (key->opaque->kind->hash)
            bits = key->opaque->kind->hash(key->opaque);
        break;
    default:
        break;
    }
    return (uint32_t)ek_hash(&bits, sizeof bits) + (uint32_t)key->kind;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* The number of the entry with that very key, or -1. */
static int64_t find_same(const struct ek_cel_val *map, const struct ek_cel_val *key)
{
    const struct ek_cel_entries *e = map->entries;

    if (!e->index) {
        for (uint32_t i = 0; i < map->n; i++)
            if (same_key(&e->v[2 * (size_t)i], key))
                return i;
        return -1;
    }
    for (uint32_t at = hash_key(key);; at++) {
        uint32_t slot = e->index[at & e->index_mask];
        if (!slot)
            return -1;
        /* entries from n on belong to a longer map that shares these */
        if (slot <= map->n && same_key(&e->v[2 * (size_t)(slot - 1)], key))
            return slot - 1;
    }
}

static int64_t find_int(const struct ek_cel_val *map, int64_t i)
{
    struct ek_cel_val key = ek_cel_int(i);
    return find_same(map, &key);
}

static int64_t find_uint(const struct ek_cel_val *map, uint64_t u)
{
    struct ek_cel_val key = ek_cel_uint(u);
    return find_same(map, &key);
}

/* The entry that key finds: its own kind first, then the same number as int and as uint. */
static int64_t find_native(const struct ek_cel_val *map, const struct ek_cel_val *key)
{
    int64_t at;

    if (!map->n)
        return -1;
    at = find_same(map, key);
    if (at >= 0)
        return at;
    switch (key->kind) {
    case EK_CEL_INT:
        return key->i >= 0 ? find_uint(map, (uint64_t)key->i) : -1;
    case EK_CEL_UINT:
        return key->u <= INT64_MAX ? find_int(map, (int64_t)key->u) : -1;
    case EK_CEL_DOUBLE:
        if (key->d > -0x1p63 && key->d < 0x1p63 && (double)(int64_t)key->d == key->d)
            at = find_int(map, (int64_t)key->d);
        if (at < 0 && key->d >= 0 && key->d < 0x1p64 && (double)(uint64_t)key->d == key->d)
            at = find_uint(map, (uint64_t)key->d);
        return at;
    default:
        return -1;
    }
}

size_t ek_cel_json_index_size(yyjson_val *object)
{
    size_t slots = 16;

    while (slots < 2 * unsafe_yyjson_get_len(object))
        slots *= 2;
    return sizeof(struct ek_cel_json_index) + slots * sizeof(yyjson_val *);
}

void ek_cel_json_index_fill(struct ek_cel_json_index *index, yyjson_val *object)
{
    size_t slots =
        (ek_cel_json_index_size(object) - sizeof(struct ek_cel_json_index)) / sizeof(yyjson_val *);
    yyjson_val *key = unsafe_yyjson_get_first(object);

    *index = (struct ek_cel_json_index){.object = object, .mask = (uint32_t)slots - 1};
    memset(index->slots, 0, slots * sizeof(yyjson_val *));
    for (size_t n = unsafe_yyjson_get_len(object); n; n--) {
        size_t len = unsafe_yyjson_get_len(key);
        uint32_t at = (uint32_t)ek_hash(unsafe_yyjson_get_str(key), len);
        while (index->slots[at & index->mask])
            at++;
        index->slots[at & index->mask] = key;
        key = unsafe_yyjson_get_next(key + 1);
    }
}

yyjson_val *ek_cel_json_index_find(const struct ek_cel_json_index *index, const char *key,
                                   size_t len)
{
    for (uint32_t at = (uint32_t)ek_hash(key, len);; at++) {
        yyjson_val *k = index->slots[at & index->mask];
        if (!k)
            return NULL;
        if (unsafe_yyjson_get_len(k) == len && memcmp(unsafe_yyjson_get_str(k), key, len) == 0)
            return k + 1;
    }
}

static int find_host(const struct ek_cel_val *map, const struct ek_cel_val *key,
                     struct ek_cel_val *ret_value)
{
    uint64_t cost = 0;

    if (key->kind != EK_CEL_STRING)
        return 0;
    return map->host->get(map->host->arg, key->s, key->n, ret_value, &cost);
}

int ek_cel_map_find(const struct ek_cel_val *map, const struct ek_cel_val *key,
                    struct ek_cel_val *ret_value)
{
    if (map->form == EK_CEL_JSON) {
        yyjson_val *found =
            key->kind == EK_CEL_STRING ? ek_cel_json_find(map->json, key->s, key->n) : NULL;
        if (found)
            *ret_value = ek_cel_from_json(found);
        return found != NULL;
    }
    if (map->form == EK_CEL_HOST)
        return find_host(map, key, ret_value);

    int64_t at = find_native(map, key);
    if (at >= 0)
        *ret_value = map->entries->v[2 * at + 1];
    return at >= 0;
}

int ek_cel_map_get(struct ek_cel_eval *eval, const struct ek_cel_val *map,
                   const struct ek_cel_val *key, struct ek_cel_val *ret_value)
{
    if (map->form != EK_CEL_JSON || map->n <= EK_CEL_JSON_LINEAR_MAX || key->kind != EK_CEL_STRING)
        return ek_cel_map_find(map, key, ret_value);

    struct ek_cel_json_index **at = &eval->indexes, *index;
    while (*at && (*at)->object != map->json)
        at = &(*at)->next;
    index = *at;
    if (index) { /* the one used last is the one used next */
        *at = index->next;
    } else {
        index = ek_cel_alloc(eval, ek_cel_json_index_size(map->json));
        if (!index)
            return ek_cel_map_find(map, key, ret_value);
        ek_cel_json_index_fill(index, map->json);
    }
    index->next = eval->indexes;
    eval->indexes = index;

    yyjson_val *found = ek_cel_json_index_find(index, key->s, key->n);
    if (found)
        *ret_value = ek_cel_from_json(found);
    return found != NULL;
}

/* ---- Building -------------------------------------------------------------------------------- */

static size_t entries_size(size_t cap)
{
    return sizeof(struct ek_cel_entries) + 2 * cap * sizeof(struct ek_cel_val);
}

static bool index_make(struct ek_cel_eval *eval, struct ek_cel_entries *e)
{
    uint32_t slots = 16;

    e->index = NULL;
    if (e->cap <= LINEAR_MAX)
        return true;
    while (slots < 2 * e->cap)
        slots *= 2;
    e->index = ek_cel_alloc(eval, slots * sizeof *e->index);
    if (!e->index)
        return false;
    memset(e->index, 0, slots * sizeof *e->index);
    e->index_mask = slots - 1;
    return true;
}

static void index_add(struct ek_cel_entries *e, uint32_t entry)
{
    if (!e->index)
        return;
    uint32_t at = hash_key(&e->v[2 * (size_t)entry]);
    while (e->index[at & e->index_mask])
        at++;
    e->index[at & e->index_mask] = entry + 1;
}

static struct ek_cel_entries *entries_new(struct ek_cel_eval *eval, size_t cap)
{
    struct ek_cel_entries *e = cap > ENTRIES_MAX ? NULL : ek_cel_alloc(eval, entries_size(cap));

    if (e) {
        e->used = 0;
        e->cap = (uint32_t)cap;
        e->unset = NULL;
    }
    if (!e || !index_make(eval, e)) {
        ek_cel_no_memory(eval);
        return NULL;
    }
    return e;
}

static struct ek_cel_val map_of(const struct ek_cel_entries *e)
{
    return (struct ek_cel_val){.kind = EK_CEL_MAP, .n = e->used, .entries = e};
}

struct ek_cel_val ek_cel_map_new(struct ek_cel_eval *eval, uint32_t n)
{
    struct ek_cel_entries *e = entries_new(eval, n ? n : 1);

    return e ? map_of(e) : ek_cel_error(&eval->final);
}

/* The entries are the evaluation's own unless cap is 0: the cast gives back what was made. */
static struct ek_cel_entries *own(const struct ek_cel_entries *entries)
{
    union {
        const struct ek_cel_entries *c;
        struct ek_cel_entries *m;
    } u = {.c = entries};
    return u.m;
}

void ek_cel_map_set_unset(struct ek_cel_val *map, const struct ek_cel_unset *unset)
{
    own(map->entries)->unset = unset;
}

/* A copy of map's entries with room for cap. */
static struct ek_cel_entries *entries_copy(struct ek_cel_eval *eval, const struct ek_cel_val *map,
                                           size_t cap)
{
    struct ek_cel_entries *e = entries_new(eval, cap);
    struct ek_cel_iter iter;

    if (!e)
        return NULL;
    ek_cel_iter_init(&iter, map);
    while (e->used < map->n && ek_cel_iter_next(&iter)) {
        e->v[2 * (size_t)e->used] = iter.key;
        e->v[2 * (size_t)e->used + 1] = iter.value;
        index_add(e, e->used++);
    }
    return e;
}

static bool is_last_holder(const struct ek_cel_val *map)
{
    return map->form == EK_CEL_NATIVE && map->entries->cap && map->entries->used == map->n;
}

int ek_cel_map_put(struct ek_cel_eval *eval, struct ek_cel_val *map, const struct ek_cel_val *key,
                   const struct ek_cel_val *value, bool replace)
{
    struct ek_cel_entries *e;

    if (map->form != EK_CEL_NATIVE) {
        e = entries_copy(eval, map, (size_t)map->n + 8);
        if (!e)
            return -1;
        *map = map_of(e);
    }
    int64_t at = replace ? find_same(map, key) : find_native(map, key);
    if (at >= 0 && !replace)
        return 0;
    if (!is_last_holder(map) || (at < 0 && map->entries->cap == map->n)) {
        e = entries_copy(eval, map, map->n < 4 ? 8 : 2 * (size_t)map->n);
        if (!e)
            return -1;
    } else {
        e = own(map->entries);
    }
    if (at >= 0) {
        e->v[2 * at + 1] = *value;
    } else {
        e->v[2 * (size_t)e->used] = *key;
        e->v[2 * (size_t)e->used + 1] = *value;
        index_add(e, e->used++);
    }
    *map = map_of(e);
    return 1;
}
