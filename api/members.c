/* SPDX-License-Identifier: Apache-2.0 */
#include "api/members.h"

#include "api/base/hash.h"
#include "api/base/mem.h"

/* Keys of both kinds of objects begin with the same two words. */
static struct ek_str name_of(const void *key)
{
    const yyjson_val *k = key;

    return (struct ek_str){k->uni.str, (size_t)(k->tag >> YYJSON_TAG_BIT)};
}

static void *value_of(const struct ek_members *m, void *key)
{
    return m->is_mutable ? (void *)((yyjson_mut_val *)key)->next : (void *)((yyjson_val *)key + 1);
}

static void *key_after(const struct ek_members *m, void *key)
{
    if (m->is_mutable)
        return ((yyjson_mut_val *)key)->next->next;
    return unsafe_yyjson_get_next((yyjson_val *)key + 1);
}

void ek_members_init(struct ek_members *members, yyjson_val *object, struct ek_work *work)
{
    *members = (struct ek_members){.object = object, .n = yyjson_obj_size(object), .work = work};
    if (members->n == 0)
        return;
    members->first = members->next = unsafe_yyjson_get_first(object);
    members->end = unsafe_yyjson_get_next(object);
}

void ek_members_init_mut(struct ek_members *members, yyjson_mut_val *object, struct ek_work *work)
{
    *members = (struct ek_members){
        .object = object, .is_mutable = true, .n = yyjson_mut_obj_size(object), .work = work};
    if (members->n) /* the object knows its last key, behind whose value is the first */
        members->first = members->next = ((yyjson_mut_val *)object->uni.ptr)->next->next;
}

void ek_members_done(struct ek_members *members)
{
    ek_free(members->slots);
    members->slots = NULL;
}

/* The slot of a name, or the free one where it would go. */
static void **probe(struct ek_members *m, struct ek_str name)
{
    size_t at = (size_t)ek_hash(name.p, name.len) & m->mask, tries = 1;

    for (; m->slots[at] && !ek_str_eq(name_of(m->slots[at]), name); tries++)
        at = (at + 1) & m->mask;
    ek_work_do(m->work, tries + name.len / 64);
    return &m->slots[at];
}

static void make_index(struct ek_members *m)
{
    size_t cap = (size_t)4 * EK_MEMBERS_SMALL;
    void *key = m->first;

    while (cap < 2 * m->n)
        cap *= 2;
    m->slots = ek_alloc(cap * sizeof *m->slots);
    m->failed = !m->slots;
    m->mask = cap - 1;
    for (size_t i = 0; m->slots && i < m->n; i++, key = key_after(m, key)) {
        void **slot = probe(m, name_of(key));
        if (!*slot)
            *slot = key;
    }
}

static void *search(struct ek_members *m, struct ek_str name)
{
    void *key = m->first;

    for (size_t i = 0; i < m->n && ek_work_do(m->work, 1); i++, key = key_after(m, key))
        if (ek_str_eq(name_of(key), name))
            return key;
    return NULL;
}

static void *find(struct ek_members *m, struct ek_str name)
{
    void *key = m->next;

    if (m->n == 0)
        return NULL;
    if (!m->strict && key != m->end && ek_str_eq(name_of(key), name)) {
        ek_work_octets(m->work, name.len);
    } else {
        if (m->n > EK_MEMBERS_SMALL && !m->slots && !m->failed)
            make_index(m);
        key = m->slots ? *probe(m, name) : search(m, name);
    }
    if (!key)
        return NULL;
    m->next = key_after(m, key);
    return value_of(m, key);
}

yyjson_val *ek_members_find(struct ek_members *members, struct ek_str name)
{
    return find(members, name);
}

yyjson_mut_val *ek_members_find_mut(struct ek_members *members, struct ek_str name)
{
    return find(members, name);
}

yyjson_val **ek_array_items(yyjson_val *array)
{
    yyjson_val **items = ek_xalloc((yyjson_arr_size(array) + 1) * sizeof(void *)), *item;
    size_t i, n;

    yyjson_arr_foreach(array, i, n, item)
    {
        items[i] = item;
    }
    return items;
}
