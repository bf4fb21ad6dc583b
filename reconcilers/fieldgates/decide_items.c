/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of lists and the values of maps: which old one a new one is.
 *
 * Values of maps are matched by their keys, and items of a list of type map by theirs. An item of
 * another list, which is atomic, has no identity but its place and its value. So have the items of
 * a list of type map of which one has no keys, or two have the same. Such items are matched as
 * follows, and a write that is none of this is denied:
 *
 *   1. Items that are equal to old ones at the start and at the end of the list are these.
 *   2. By value: of the rest, an item that is equal to an old one is this one, each old one once.
 *      That is the answer when no other items are left, and when no old item is left that holds a
 *      closed field: the other items are new.
 *   3. By index: there are as many items as before, and each of them differs from the old one in
 *      closed fields alone, or has the closed fields of the old one.
 *
 * So no item gets a closed value that was not there before, each old value is used once at most,
 * and the value of an item that is otherwise the same stays. Applying the decision to its result
 * changes nothing (property_items_test.c).
 */
#include <string.h>

#include "api/base/table.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "api/patch/pointer.h"
#include "reconcilers/fieldgates/decide-internal.h"

#define NEW_ITEM  ((size_t)-1) /* no old item is this one */
#define UNCHANGED ((size_t)-2) /* an old item is equal: nothing is to be looked at */

/* Two lists, and which item of the one is which of the other. */
struct items {
    struct ek_gates_walk__ *w;
    const struct ek_gate_node *node; /* [*] */
    yyjson_val **new, **old;
    size_t n_new, n_old;
    size_t start, end; /* items of old that are matched at its start; and the index where those at
                          its end begin */
    size_t *old_of;    /* for each new item: an index of old, or one of the above */
    size_t *left;      /* for each old item: how many like it are not matched. Of items that are
                          equal the first one has the number */
};

/* ---- Maps ---- */

static void visit_values(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                         yyjson_val *new, yyjson_val *old, bool silent)
{
    struct ek_members news, olds;
    yyjson_val *key, *value;
    size_t i, n;

    ek_members_init(&news, new, w->work);
    ek_members_init(&olds, old, w->work);
    ek_json_each_member(new, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        if (w->rc || ek_work_is_over(w->work))
            break;
        ek_pointer_push(&w->pointer, name);
        ek_gates_visit__(w, node, value, ek_members_find(&olds, name), silent);
        ek_pointer_pop(&w->pointer);
    }
    ek_json_each_member(old, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        if (!ek_members_find(&news, name))
            ek_gates_holds__(w, node, value, EK_GATES_LOST__);
        if (ek_work_is_over(w->work))
            break;
    }
    ek_members_done(&news);
    ek_members_done(&olds);
}

/* ---- Lists ---- */

/* Zeroes for n and one more. */
static void *room(struct ek_gates_walk__ *w, size_t n, size_t size)
{
    void *p = ek_arena_try(w->arena, (n + 1) * size);

    if (p)
        memset(p, 0, (n + 1) * size);
    else
        ek_gates_fail__(w, EK_E_NOMEM);
    return p;
}

/* The items of a list; none of what is no list. */
static yyjson_val **items_of(struct ek_gates_walk__ *w, yyjson_val *list, size_t *ret_n)
{
    yyjson_val **items = room(w, yyjson_arr_size(list), sizeof(yyjson_val *)), *item;
    size_t i, n;

    yyjson_arr_foreach(items ? list : NULL, i, n, item)
    {
        items[i] = item;
    }
    *ret_n = items ? yyjson_arr_size(list) : 0;
    return items;
}

static bool open_items(struct items *it, yyjson_val *new, yyjson_val *old)
{
    it->new = items_of(it->w, new, &it->n_new);
    it->old = items_of(it->w, old, &it->n_old);
    it->old_of = room(it->w, it->n_new, sizeof *it->old_of);
    it->left = room(it->w, it->n_old, sizeof *it->left);
    return it->new && it->old && it->old_of && it->left;
}

/* ---- By keys ---- */

static const struct ek_gates_keyed_list *find_keyed(const struct items *it)
{
    const struct ek_gates_shape *shape = it->w->shape;

    ek_work_do(it->w->work, shape->n_lists);
    for (size_t i = 0; i < shape->n_lists; i++)
        if (!strcmp(shape->lists[i].each, it->node->each))
            return &shape->lists[i];
    return NULL;
}

static uint64_t hash_keys(const struct items *it, const struct ek_gates_keyed_list *list,
                          yyjson_val *item)
{
    uint64_t hash = 1;

    ek_work_do(it->w->work, list->n_keys * yyjson_obj_size(item));
    for (size_t i = 0; i < list->n_keys; i++) {
        yyjson_val *key = yyjson_obj_get(item, list->keys[i]);
        hash = hash * 31 + (key ? ek_jsondiff_hash(key, it->w->work) : 0);
    }
    return hash;
}

static bool has_same_keys(const struct items *it, const struct ek_gates_keyed_list *list,
                          yyjson_val *a, yyjson_val *b)
{
    ek_work_do(it->w->work, list->n_keys * (yyjson_obj_size(a) + yyjson_obj_size(b)));
    for (size_t i = 0; i < list->n_keys; i++) {
        yyjson_val *x = yyjson_obj_get(a, list->keys[i]), *y = yyjson_obj_get(b, list->keys[i]);
        if (!x || !y || !ek_json_equal_within(x, y, it->w->work))
            return false;
    }
    return true;
}

/* Each key is a scalar that is there: a default would have been set before. */
static bool has_keys(const struct ek_gates_keyed_list *list, yyjson_val *item)
{
    for (size_t i = 0; i < list->n_keys; i++) {
        yyjson_val *key = yyjson_obj_get(item, list->keys[i]);
        if (!key || yyjson_is_ctn(key) || yyjson_is_null(key))
            return false;
    }
    return list->n_keys > 0;
}

/* The item of the first n of list that has the keys of item, from the table; NEW_ITEM for none. */
static size_t find_item(const struct items *it, const struct ek_gates_keyed_list *list,
                        const struct ek_table *table, yyjson_val **among, uint64_t hash,
                        yyjson_val *item)
{
    struct ek_table_cursor at = ek_table_at(hash);
    size_t i;

    while (ek_table_next(table, &at, &i))
        if (has_same_keys(it, list, among[i], item))
            return i;
    return NEW_ITEM;
}

/* Fills table with items by their keys. False when an item has no keys, or those of another. */
static bool index_by_keys(struct items *it, const struct ek_gates_keyed_list *list,
                          yyjson_val **items, size_t n, struct ek_table *table)
{
    if (ek_table_init(table, n)) {
        ek_gates_fail__(it->w, EK_E_NOMEM);
        return false;
    }
    for (size_t i = 0; i < n && !ek_work_is_over(it->w->work); i++) {
        uint64_t hash = hash_keys(it, list, items[i]);
        if (!has_keys(list, items[i]) ||
            find_item(it, list, table, items, hash, items[i]) != NEW_ITEM)
            return false;
        if (ek_table_add(table, hash, i))
            ek_gates_fail__(it->w, EK_E_NOMEM);
    }
    return true;
}

static bool match_by_keys(struct items *it)
{
    const struct ek_gates_keyed_list *list = find_keyed(it);
    struct ek_table olds = {0}, news = {0};
    bool fine = list && index_by_keys(it, list, it->old, it->n_old, &olds) &&
                index_by_keys(it, list, it->new, it->n_new, &news);

    for (size_t i = 0; fine && i < it->n_old; i++)
        it->left[i] = 1;
    for (size_t i = 0; fine && i < it->n_new; i++) {
        uint64_t hash = hash_keys(it, list, it->new[i]);
        it->old_of[i] = find_item(it, list, &olds, it->old, hash, it->new[i]);
        if (it->old_of[i] != NEW_ITEM)
            it->left[it->old_of[i]] = 0;
    }
    ek_table_done(&olds);
    ek_table_done(&news);
    return fine;
}

/* ---- By value ---- */

static bool is_equal(const struct items *it, size_t new, size_t old)
{
    return ek_json_equal_within(it->new[new], it->old[old], it->w->work);
}

/* The items at the start and at the end that are as they were. */
static void match_ends(struct items *it)
{
    size_t least = it->n_new < it->n_old ? it->n_new : it->n_old, n = 0, m = 0;

    while (n < least && is_equal(it, n, n))
        it->old_of[n++] = UNCHANGED;
    while (m < least - n && is_equal(it, it->n_new - m - 1, it->n_old - m - 1))
        it->old_of[it->n_new - ++m] = UNCHANGED;
    it->start = n;
    it->end = it->n_old - m;
}

/* The index where the items at the end of the new list begin. */
static size_t new_end(const struct items *it)
{
    return it->n_new - (it->n_old - it->end);
}

static size_t find_equal(const struct items *it, const struct ek_table *table, uint64_t hash,
                         yyjson_val *item)
{
    struct ek_table_cursor at = ek_table_at(hash);
    size_t i;

    while (ek_table_next(table, &at, &i))
        if (ek_json_equal_within(it->old[i], item, it->w->work))
            return i;
    return NEW_ITEM;
}

static void count_olds(struct items *it, struct ek_table *table)
{
    for (size_t i = it->start; i < it->end && !ek_work_is_over(it->w->work); i++) {
        uint64_t hash = ek_jsondiff_hash(it->old[i], it->w->work);
        size_t first = find_equal(it, table, hash, it->old[i]);
        it->left[first == NEW_ITEM ? i : first]++;
        if (first == NEW_ITEM && ek_table_add(table, hash, i))
            ek_gates_fail__(it->w, EK_E_NOMEM);
    }
}

/* Whether an old item that no new one is equal to has a value of a closed gate. */
static bool holds_left(const struct items *it, enum ek_gates_note_kind__ kind)
{
    bool any = false;

    for (size_t i = 0; i < it->n_old && !(any && kind == EK_GATES_UNNOTED__); i++)
        any |= it->left[i] && ek_gates_holds__(it->w, it->node, it->old[i], kind);
    return any;
}

static bool match_by_value(struct items *it)
{
    struct ek_table table;
    bool any_new = false;

    if (ek_table_init(&table, it->end - it->start)) {
        ek_gates_fail__(it->w, EK_E_NOMEM);
        return false;
    }
    count_olds(it, &table);
    for (size_t i = it->start; i < new_end(it); i++) {
        size_t old = find_equal(it, &table, ek_jsondiff_hash(it->new[i], it->w->work), it->new[i]);
        bool is_left = old != NEW_ITEM && it->left[old];
        if (is_left)
            it->left[old]--;
        it->old_of[i] = is_left ? UNCHANGED : NEW_ITEM;
        any_new |= !is_left;
    }
    ek_table_done(&table);
    return !any_new || !holds_left(it, EK_GATES_UNNOTED__);
}

/* ---- By index ---- */

/* Whether nothing would be suppressed in an item: it has the closed fields of the old one. */
static bool has_closed_of(struct items *it, size_t new, size_t old)
{
    struct ek_gates_walk__ *w = it->w, saved = *w;
    bool any = false;

    w->doc = NULL;
    w->notes = NULL;
    w->n_notes = w->cap = 0;
    ek_gates_visit__(w, it->node, it->new[new], it->old[old], true);
    for (size_t i = 0; i < w->n_notes; i++)
        any |= ek_gates_is_suppressed__(&w->notes[i]);
    saved.rc = w->rc;
    saved.pointer = w->pointer;
    *w = saved;
    return !any;
}

static bool match_by_index(struct items *it)
{
    bool fine = it->n_new == it->n_old;

    for (size_t i = it->start; fine && i < it->end && !ek_work_is_over(it->w->work); i++) {
        fine =
            ek_gates_is_same__(it->w, it->node, it->new[i], it->old[i]) || has_closed_of(it, i, i);
        it->old_of[i] = i;
        it->left[i] = 0;
    }
    return fine;
}

static bool has_closed(const struct ek_gate_node *node)
{
    for (size_t i = 0; i < node->n_children; i++)
        if (ek_gates_is_closed__(&node->children[i]) || has_closed(&node->children[i]))
            return true;
    return false;
}

/* Nothing is closed in the items, and they matter to the uses of deprecated fields alone. */
static void match_open(struct items *it)
{
    for (size_t i = it->start; i < new_end(it); i++)
        it->old_of[i] = it->n_new == it->n_old ? i : NEW_ITEM;
}

static bool match(struct items *it)
{
    if (match_by_keys(it))
        return true;
    if (it->w->rc)
        return false;
    memset(it->left, 0, it->n_old * sizeof *it->left);
    match_ends(it);
    if (!has_closed(it->node)) {
        match_open(it);
        return true;
    }
    if (match_by_value(it))
        return true;
    /* What by value has found is what a denial names. */
    size_t *left = it->left;
    it->left = room(it->w, it->n_old, sizeof *it->left);
    if (it->left && match_by_index(it))
        return true;
    it->left = left;
    return false;
}

/* ---- The whole ---- */

static void visit_matched(struct items *it, bool silent)
{
    struct ek_gates_walk__ *w = it->w;

    for (size_t i = 0; i < it->n_new && !w->rc && ek_work_do(w->work, 1); i++) {
        size_t old = it->old_of[i];
        if (old == UNCHANGED)
            continue;
        ek_pointer_push_index(&w->pointer, i);
        ek_gates_visit__(w, it->node, it->new[i], old == NEW_ITEM ? NULL : it->old[old], silent);
        ek_pointer_pop(&w->pointer);
    }
    holds_left(it, EK_GATES_LOST__);
}

static void visit_items(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                        yyjson_val *old, bool silent)
{
    struct items it = {.w = w, .node = node};

    if (!open_items(&it, new, old))
        return;
    if (match(&it)) {
        visit_matched(&it, silent);
    } else if (!w->rc) {
        w->unmatched = true;
        holds_left(&it, EK_GATES_UNMATCHED__);
    }
}

void ek_gates_visit_each__(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                           yyjson_val *new, yyjson_val *old, bool silent)
{
    bool values = yyjson_is_obj(new);

    if (yyjson_is_ctn(old) && yyjson_is_obj(old) != values) {
        ek_gates_holds_any__(w, node, old, EK_GATES_LOST__);
        old = NULL;
    }
    if (values)
        visit_values(w, node, new, old, silent);
    else
        visit_items(w, node, new, old, silent);
}

bool ek_gates_is_same_each__(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                             yyjson_val *new, yyjson_val *old)
{
    bool values = yyjson_is_obj(new);
    struct ek_members olds;
    yyjson_val *key, *value;
    size_t i, n;

    if (!yyjson_is_ctn(new) || unsafe_yyjson_get_type(new) != (old ? yyjson_get_type(old) : 0) ||
        unsafe_yyjson_get_len(new) != unsafe_yyjson_get_len(old))
        return ek_json_equal_within(new, old, w->work);
    bool same = true;
    ek_members_init(&olds, values ? old : NULL, w->work);
    ek_json_each_member(new, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_val *other = ek_members_find(&olds, name);
        same = same && other && ek_gates_is_same__(w, node, value, other);
    }
    yyjson_val *other = yyjson_arr_get_first(old);
    yyjson_arr_foreach(new, i, n, value)
    {
        same = same && ek_gates_is_same__(w, node, value, other);
        other = unsafe_yyjson_get_next(other);
    }
    ek_members_done(&olds);
    return same;
}
