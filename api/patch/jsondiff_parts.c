/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsondiff-internal.h"

static int compare(struct ek_str a, struct ek_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.p, b.p, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_key(const void *a, const void *b)
{
    const struct ek_diff_part *x = a, *y = b;
    return compare(x->key, y->key);
}

/* Makes room for n parts; false without memory. */
static bool reserve(struct ek_diff_parts *parts, size_t n)
{
    parts->n = n;
    parts->sorted = false;
    parts->all = parts->small;
    if (n > EK_DIFF_SMALL)
        parts->all = ek_realloc(NULL, n * sizeof *parts->all);
    return parts->all != NULL;
}

static void sort(struct ek_diff_parts *parts, bool members)
{
    parts->sorted = members && parts->n > EK_DIFF_SMALL;
    if (parts->sorted)
        qsort(parts->all, parts->n, sizeof *parts->all, by_key);
}

bool ek_diff_parts_old(struct ek_diff_parts *ret, yyjson_val *container, size_t skip)
{
    bool members = yyjson_is_obj(container);
    size_t n = unsafe_yyjson_get_len(container);
    yyjson_val *at = unsafe_yyjson_get_first(container);

    if (!reserve(ret, n - skip))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct ek_diff_part part = {{NULL, 0}, at};
        if (members)
            part = (struct ek_diff_part){{at->uni.str, unsafe_yyjson_get_len(at)}, at + 1};
        if (i >= skip)
            ret->all[i - skip] = part;
        at = unsafe_yyjson_get_next((yyjson_val *)part.value);
    }
    sort(ret, members);
    return true;
}

bool ek_diff_parts_new(struct ek_diff_parts *ret, yyjson_mut_val *container, size_t skip)
{
    bool members = yyjson_mut_is_obj(container);
    size_t i, max;
    yyjson_mut_val *key, *val;

    if (!reserve(ret, unsafe_yyjson_get_len(container) - skip))
        return false;
    yyjson_mut_obj_foreach(members ? container : NULL, i, max, key, val)
    {
        if (i >= skip)
            ret->all[i - skip] =
                (struct ek_diff_part){{key->uni.str, unsafe_yyjson_get_len(key)}, val};
    }
    yyjson_mut_arr_foreach(members ? NULL : container, i, max, val)
    {
        if (i >= skip)
            ret->all[i - skip] = (struct ek_diff_part){{NULL, 0}, val};
    }
    sort(ret, members);
    return true;
}

void ek_diff_parts_done(struct ek_diff_parts *parts)
{
    if (parts->all != parts->small)
        ek_free(parts->all);
}

static size_t find_sorted(const struct ek_diff_parts *parts, struct ek_str key)
{
    size_t low = 0, high = parts->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare(parts->all[mid].key, key);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return SIZE_MAX;
}

size_t ek_diff_find(const struct ek_diff_parts *parts, struct ek_str key, size_t *cursor)
{
    if (parts->sorted)
        return find_sorted(parts, key);
    for (size_t tries = 0; tries < parts->n; tries++) {
        size_t i = *cursor < parts->n ? *cursor : 0;
        *cursor = i + 1;
        if (ek_str_eq(parts->all[i].key, key))
            return i;
    }
    return SIZE_MAX;
}

static bool equal_numbers(yyjson_val *a, yyjson_mut_val *b)
{
    bool uint = unsafe_yyjson_is_uint(a), other = unsafe_yyjson_is_uint(b);

    if (unsafe_yyjson_is_real(a) || unsafe_yyjson_is_real(b))
        return yyjson_get_num(a) == yyjson_mut_get_num(b);
    return a->uni.u64 == b->uni.u64 && (uint == other || a->uni.i64 >= 0);
}

static bool equal_items(yyjson_val *a, yyjson_mut_val *b, size_t depth, struct ek_diff_state *state)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_mut_val *other = yyjson_mut_arr_get_first(b);

    yyjson_arr_foreach(a, i, max, item)
    {
        if (!ek_diff_equal(item, other, depth + 1, state))
            return false;
        other = other->next;
    }
    return true;
}

/* Compares the members from the skip-th on, in any order. */
static bool equal_rest(yyjson_val *a, yyjson_mut_val *b, size_t skip, size_t depth,
                       struct ek_diff_state *state)
{
    struct ek_diff_parts old, new;
    size_t cursor = 0;
    bool listed_old = ek_diff_parts_old(&old, a, skip);
    bool listed_new = ek_diff_parts_new(&new, b, skip);
    bool equal = listed_old && listed_new;

    if (!equal)
        state->rc = EK_E_NOMEM;
    ek_work_do(state->work, old.n + new.n);
    for (size_t i = 0; equal && i < new.n; i++) {
        size_t at = ek_diff_find(&old, new.all[i].key, &cursor);
        equal =
            at != SIZE_MAX && ek_diff_equal(old.all[at].value, new.all[i].value, depth + 1, state);
    }
    ek_diff_parts_done(&old);
    ek_diff_parts_done(&new);
    return equal;
}

bool ek_diff_same_text(yyjson_val *a, yyjson_mut_val *b)
{
    return ek_str_eq((struct ek_str){a->uni.str, unsafe_yyjson_get_len(a)},
                     (struct ek_str){b->uni.str, unsafe_yyjson_get_len(b)});
}

/* Members mostly come in the same order: as long as they do, nothing is searched. */
static bool equal_members(yyjson_val *a, yyjson_mut_val *b, size_t depth,
                          struct ek_diff_state *state)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(b);
    size_t i, max;
    yyjson_val *key, *val;

    ek_json_each_member(a, i, max, key, val)
    {
        yyjson_mut_val *other = yyjson_mut_obj_iter_next(&iter);
        if (!ek_diff_same_text(key, other))
            return equal_rest(a, b, i, depth, state);
        if (!ek_diff_equal(val, other->next, depth + 1, state))
            return false;
    }
    return true;
}

bool ek_diff_equal(yyjson_val *a, yyjson_mut_val *b, size_t depth, struct ek_diff_state *state)
{
    yyjson_type type = unsafe_yyjson_get_type(a);

    if (!ek_work_octets(state->work, unsafe_yyjson_is_str(a) ? unsafe_yyjson_get_len(a) : 0))
        state->rc = EK_E_CANCELED;
    if (state->rc || type != unsafe_yyjson_get_type(b))
        return false;
    switch (type) {
    case YYJSON_TYPE_BOOL:
        return unsafe_yyjson_get_subtype(a) == unsafe_yyjson_get_subtype(b);
    case YYJSON_TYPE_NUM:
        return equal_numbers(a, b);
    case YYJSON_TYPE_STR:
    case YYJSON_TYPE_RAW:
        return ek_diff_same_text(a, b);
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        break;
    default:
        return true;
    }
    if (unsafe_yyjson_get_len(a) != unsafe_yyjson_get_len(b))
        return false;
    if (depth >= EK_JSON_DEPTH_MAX) {
        state->rc = EK_E_LIMIT;
        return false;
    }
    return type == YYJSON_TYPE_ARR ? equal_items(a, b, depth, state)
                                   : equal_members(a, b, depth, state);
}

bool ek_jsondiff_equal(yyjson_val *a, yyjson_mut_val *b, struct ek_work *work)
{
    struct ek_diff_state state = {.work = work};
    return ek_diff_equal(a, b, 0, &state) && state.rc == 0;
}
