/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers with many nodes, ready for many operations. Objects have an entry for each name they
 * ever had, found by its hash and linked in the order of the members. Arrays have their items in
 * pieces, so that an item is found, added and taken out in the time of a piece.
 */
#include "api/base/hash.h"
#include "api/base/mem.h"
#include "api/patch/jsonpatch-internal.h"

#define NONE SIZE_MAX

#define PIECE_MAX 512u

struct entry {
    yyjson_mut_val *key; /* NULL while there is no such member */
    struct ek_str name;
    size_t prev, next;
};

struct piece {
    size_t n;
    yyjson_mut_val **items; /* owned; room for PIECE_MAX */
};

struct ek_opened {
    yyjson_mut_val *container;
    /* An object's */
    struct entry *entries; /* owned */
    size_t n, cap, first, last;
    struct ek_table table;
    /* An array's */
    struct piece *pieces; /* owned */
    size_t n_pieces, cap_pieces;
};

void ek_opened_free(struct ek_opened *opened)
{
    if (!opened)
        return;
    for (size_t i = 0; i < opened->n_pieces; i++)
        ek_free(opened->pieces[i].items);
    ek_free(opened->pieces);
    ek_free(opened->entries);
    ek_table_done(&opened->table);
    ek_free(opened);
}

yyjson_mut_val *ek_opened_container(const struct ek_opened *opened)
{
    return opened->container;
}

/* ---- Objects ---- */

/* The entry of a name, NONE when it never had one. */
static size_t find_entry(const struct ek_opened *o, struct ek_str name, struct ek_work *work)
{
    struct ek_table_cursor at = ek_table_at(ek_hash(name.p ? name.p : "", name.len));
    size_t i;

    ek_work_octets(work, name.len);
    while (ek_table_next(&o->table, &at, &i))
        if (ek_str_eq(o->entries[i].name, name))
            return i;
    return NONE;
}

/* Links an entry behind another. */
static void link_entry(struct ek_opened *o, size_t e, size_t prev)
{
    size_t next = prev == NONE ? o->first : o->entries[prev].next;

    o->entries[e].prev = prev;
    o->entries[e].next = next;
    *(prev == NONE ? &o->first : &o->entries[prev].next) = e;
    *(next == NONE ? &o->last : &o->entries[next].prev) = e;
}

static int put_entry(struct ek_opened *o, yyjson_mut_val *key, size_t prev)
{
    struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
    size_t e = find_entry(o, name, NULL);

    if (e == NONE) {
        if (o->n == o->cap) {
            size_t cap = o->cap ? o->cap * 2 : 16;
            struct entry *entries = ek_realloc(o->entries, cap * sizeof *entries);
            if (!entries)
                return EK_E_NOMEM;
            o->entries = entries;
            o->cap = cap;
        }
        e = o->n;
        if (ek_table_add(&o->table, ek_hash(name.p, name.len), e))
            return EK_E_NOMEM;
        o->n++;
    }
    o->entries[e] = (struct entry){.key = key, .name = name};
    link_entry(o, e, prev);
    return 0;
}

/* Of a name that stands twice the first counts: such an object is not opened. */
static int open_object(struct ek_opened *o)
{
    size_t i, n = unsafe_yyjson_get_len(o->container);
    yyjson_mut_val *key, *value;
    int rc = ek_table_init(&o->table, n);

    o->cap = n + n / 4;
    o->entries = ek_alloc(o->cap * sizeof *o->entries);
    rc = o->entries ? rc : EK_E_NOMEM;
    yyjson_mut_obj_foreach(rc ? NULL : o->container, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        if (find_entry(o, name, NULL) != NONE || put_entry(o, key, o->last))
            return EK_E_NOMEM;
    }
    return rc;
}

struct ek_patch_place ek_opened_find(struct ek_opened *opened, struct ek_str name,
                                     struct ek_work *work)
{
    size_t e = find_entry(opened, name, work);
    bool there = e != NONE && opened->entries[e].key;
    size_t prev = there ? opened->entries[e].prev : opened->last;

    return (struct ek_patch_place){.prev = prev == NONE ? NULL : opened->entries[prev].key,
                                   .node = there ? opened->entries[e].key : NULL,
                                   .at = {prev, e}};
}

static void take_entry(struct ek_opened *o, size_t e)
{
    size_t prev = o->entries[e].prev, next = o->entries[e].next;

    *(prev == NONE ? &o->first : &o->entries[prev].next) = next;
    *(next == NONE ? &o->last : &o->entries[next].prev) = prev;
    o->entries[e].key = NULL;
}

/* ---- Arrays ---- */

/* Makes a piece behind those at the place before; NULL without memory. */
static struct piece *add_piece(struct ek_opened *o, size_t at)
{
    yyjson_mut_val **items = ek_realloc(NULL, PIECE_MAX * sizeof(yyjson_mut_val *));

    if (items && o->n_pieces == o->cap_pieces) {
        size_t cap = o->cap_pieces ? o->cap_pieces * 2 : 16;
        struct piece *pieces = ek_realloc(o->pieces, cap * sizeof *pieces);
        if (!pieces) {
            ek_free(items);
            return NULL;
        }
        o->pieces = pieces;
        o->cap_pieces = cap;
    }
    if (!items)
        return NULL;
    memmove(&o->pieces[at + 1], &o->pieces[at], (o->n_pieces - at) * sizeof *o->pieces);
    o->pieces[at] = (struct piece){.items = items};
    o->n_pieces++;
    return &o->pieces[at];
}

static int open_array(struct ek_opened *o)
{
    struct piece *piece = add_piece(o, 0);
    size_t i, n;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(piece ? o->container : NULL, i, n, item)
    {
        if (piece->n == PIECE_MAX / 2 && !(piece = add_piece(o, o->n_pieces)))
            break;
        piece->items[piece->n++] = item;
    }
    return piece ? 0 : EK_E_NOMEM;
}

/* The item before the first of a piece. */
static yyjson_mut_val *last_before(const struct ek_opened *o, size_t piece)
{
    while (piece-- > 0)
        if (o->pieces[piece].n)
            return o->pieces[piece].items[o->pieces[piece].n - 1];
    return NULL;
}

struct ek_patch_place ek_opened_item(struct ek_opened *opened, size_t at, struct ek_work *work)
{
    size_t p = 0;

    while (at > opened->pieces[p].n || (at == opened->pieces[p].n && p + 1 < opened->n_pieces))
        at -= opened->pieces[p++].n;
    ek_work_do(work, 1 + p / 32);
    const struct piece *piece = &opened->pieces[p];
    return (struct ek_patch_place){.prev = at ? piece->items[at - 1] : last_before(opened, p),
                                   .node = at < piece->n ? piece->items[at] : NULL,
                                   .at = {p, at}};
}

static void take_item(struct ek_opened *o, const size_t at[2])
{
    struct piece *piece = &o->pieces[at[0]];

    piece->n--;
    memmove(&piece->items[at[1]], &piece->items[at[1] + 1],
            (piece->n - at[1]) * sizeof *piece->items); // NOLINT(*-sizeof-expression)
}

static int put_item(struct ek_opened *o, size_t p, size_t at, yyjson_mut_val *item)
{
    struct piece *piece = &o->pieces[p];

    if (piece->n == PIECE_MAX) {
        struct piece *half = add_piece(o, p + 1);
        if (!half)
            return EK_E_NOMEM;
        piece = &o->pieces[p];
        half->n = piece->n = PIECE_MAX / 2;
        memcpy(half->items, &piece->items[PIECE_MAX / 2],
               half->n * sizeof *half->items); // NOLINT(*-sizeof-expression)
        if (at > piece->n) {
            at -= piece->n;
            piece = half;
        }
    }
    memmove(&piece->items[at + 1], &piece->items[at],
            (piece->n - at) * sizeof *piece->items); // NOLINT(*-sizeof-expression)
    piece->items[at] = item;
    piece->n++;
    return 0;
}

/* ---- Both ---- */

struct ek_opened *ek_opened_new(yyjson_mut_val *container)
{
    struct ek_opened *o = ek_alloc(sizeof *o);

    if (!o)
        return NULL;
    *o = (struct ek_opened){.container = container, .first = NONE, .last = NONE};
    if (yyjson_mut_is_obj(container) ? open_object(o) : open_array(o)) {
        ek_opened_free(o);
        return NULL;
    }
    return o;
}

void ek_opened_take(struct ek_opened *opened, const struct ek_patch_place *place)
{
    if (opened->entries)
        take_entry(opened, place->at[1]);
    else
        take_item(opened, place->at);
}

int ek_opened_put(struct ek_opened *opened, const struct ek_patch_place *place,
                  yyjson_mut_val *node)
{
    if (opened->entries)
        return put_entry(opened, node, place->at[0]);
    return put_item(opened, place->at[0], place->at[1], node);
}
