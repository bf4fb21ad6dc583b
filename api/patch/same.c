/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/mem.h"
#include "api/patch/jsonpatch-internal.h"
#include "api/quote.h"

bool ek_jsonpatch_deeper(yyjson_mut_val *value, size_t levels)
{
    size_t i, max;
    yyjson_mut_val *key, *val;

    if (!unsafe_yyjson_is_ctn(value))
        return false;
    if (levels == 0)
        return true;
    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        if (ek_jsonpatch_deeper(val, levels - 1))
            return true;
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        if (ek_jsonpatch_deeper(val, levels - 1))
            return true;
    }
    return false;
}

static bool same_number(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (unsafe_yyjson_is_real(a) || unsafe_yyjson_is_real(b))
        return yyjson_mut_get_num(a) == yyjson_mut_get_num(b);
    /* both are integers; a negative one equals no unsigned one */
    return a->uni.u64 == b->uni.u64 &&
           (a->uni.i64 >= 0 || unsafe_yyjson_is_uint(a) == unsafe_yyjson_is_uint(b));
}

static bool same(yyjson_mut_val *a, yyjson_mut_val *b);

static bool same_items(yyjson_mut_val *a, yyjson_mut_val *b)
{
    size_t i, max;
    yyjson_mut_val *item, *other = yyjson_mut_arr_get_first(b);

    if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
        return false;
    yyjson_mut_arr_foreach(a, i, max, item)
    {
        if (!same(item, other))
            return false;
        other = other->next;
    }
    return true;
}

/* Larger objects are sorted, so that comparing them takes no longer in another order. */
#define SEARCHED_MAX 64

struct member {
    struct ek_str key;
    yyjson_mut_val *value;
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = memcmp(x->key.p, y->key.p, len);

    return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

static void sort_members(yyjson_mut_val *object, struct member *ret_members)
{
    size_t i, max;
    yyjson_mut_val *key, *val;

    yyjson_mut_obj_foreach(object, i, max, key, val)
    {
        ret_members[i] =
            (struct member){{unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)}, val};
    }
    qsort(ret_members, unsafe_yyjson_get_len(object), sizeof *ret_members, by_key);
}

static bool same_sorted(const struct member *a, const struct member *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!ek_str_eq(a[i].key, b[i].key) || !same(a[i].value, b[i].value))
            return false;
    return true;
}

static bool same_searched(yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(a);
    size_t i, max;
    yyjson_mut_val *key, *val;

    yyjson_mut_obj_foreach(b, i, max, key, val)
    {
        yyjson_mut_val *own =
            yyjson_mut_obj_iter_getn(&iter, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (!own || !same(own, val))
            return false;
    }
    return true;
}

static bool same_members(yyjson_mut_val *a, yyjson_mut_val *b)
{
    size_t n = unsafe_yyjson_get_len(a);

    if (n != unsafe_yyjson_get_len(b))
        return false;
    struct member *members = n > SEARCHED_MAX ? ek_realloc(NULL, 2 * n * sizeof *members) : NULL;
    if (!members) /* small, or no memory: then it takes long */
        return same_searched(a, b);
    sort_members(a, members);
    sort_members(b, members + n);
    bool equal = same_sorted(members, members + n, n);
    ek_free(members);
    return equal;
}

/* True when two values are equal; recursion is bounded, for trees and patches nest so far only. */
static bool same(yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_type type = unsafe_yyjson_get_type(a);

    if (type != unsafe_yyjson_get_type(b))
        return false;
    switch (type) {
    case YYJSON_TYPE_NUM:
        return same_number(a, b);
    case YYJSON_TYPE_ARR:
        return same_items(a, b);
    case YYJSON_TYPE_OBJ:
        return same_members(a, b);
    default:
        return yyjson_mut_equals(a, b);
    }
}

bool ek_jsonpatch_same(yyjson_mut_val *value, yyjson_mut_val *wanted)
{
    if (!yyjson_mut_is_null(value) && !yyjson_mut_is_null(wanted))
        return same(value, wanted);
    if (!yyjson_mut_is_null(value))
        return unsafe_yyjson_is_ctn(value) && unsafe_yyjson_get_len(value) == 0;
    return yyjson_mut_is_null(wanted) ||
           (yyjson_mut_is_obj(wanted) && unsafe_yyjson_get_len(wanted) == 0);
}

static bool is_plain(struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return true;
}

bool ek_quoting_breaks(struct ek_str s, struct ek_buf *why)
{
    EK_AUTO(ek_buf) quoted;
    char bad = '\0';

    ek_buf_init(&quoted, EK_JSONPATCH_TEXT_MAX);
    if (is_plain(s))
        return false;
    ek_quote_inner(&quoted, s);
    for (size_t i = 0; !bad && i + 1 < quoted.len; i++) {
        if (quoted.data[i] != '\\')
            continue;
        if (!strchr("\"\\/bfnrtu", quoted.data[++i]))
            bad = quoted.data[i];
    }
    if (bad)
        ek_buf_printf(why, "invalid character '%c' in string escape code", bad);
    return bad != '\0';
}
