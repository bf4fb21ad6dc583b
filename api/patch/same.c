/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/quote.h"
#include "api/members.h"
#include "api/patch/jsonpatch-internal.h"

bool ek_jsonpatch_deeper(yyjson_mut_val *value, size_t levels, struct ek_work *work)
{
    size_t i, max;
    yyjson_mut_val *key, *val;

    if (!unsafe_yyjson_is_ctn(value) || !ek_work_do(work, 1 + unsafe_yyjson_get_len(value)))
        return false;
    if (levels == 0)
        return true;
    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        if (ek_jsonpatch_deeper(val, levels - 1, work))
            return true;
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        if (ek_jsonpatch_deeper(val, levels - 1, work))
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

static bool same(yyjson_mut_val *a, yyjson_mut_val *b, struct ek_work *work);

static bool same_items(yyjson_mut_val *a, yyjson_mut_val *b, struct ek_work *work)
{
    size_t i, max;
    yyjson_mut_val *item, *other = yyjson_mut_arr_get_first(b);

    if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
        return false;
    yyjson_mut_arr_foreach(a, i, max, item)
    {
        if (!same(item, other, work))
            return false;
        other = other->next;
    }
    return true;
}

static bool same_members(yyjson_mut_val *a, yyjson_mut_val *b, struct ek_work *work)
{
    bool equal = unsafe_yyjson_get_len(a) == unsafe_yyjson_get_len(b);
    struct ek_members members;
    yyjson_mut_val *key, *val;
    size_t i, max;

    ek_members_init_mut(&members, a, work);
    yyjson_mut_obj_foreach(equal ? b : NULL, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_mut_val *own = ek_members_find_mut(&members, name);
        equal = own && same(own, val, work);
        if (!equal)
            break;
    }
    ek_members_done(&members);
    return equal;
}

/* True when two values are equal; recursion is bounded, for trees and patches nest so far only. */
static bool same(yyjson_mut_val *a, yyjson_mut_val *b, struct ek_work *work)
{
    yyjson_type type = unsafe_yyjson_get_type(a);

    if (!ek_work_octets(work, yyjson_mut_get_len(a)) || type != unsafe_yyjson_get_type(b))
        return false;
    switch (type) {
    case YYJSON_TYPE_NUM:
        return same_number(a, b);
    case YYJSON_TYPE_ARR:
        return same_items(a, b, work);
    case YYJSON_TYPE_OBJ:
        return same_members(a, b, work);
    default:
        return yyjson_mut_equals(a, b);
    }
}

bool ek_jsonpatch_same(yyjson_mut_val *value, yyjson_mut_val *wanted, struct ek_work *work)
{
    if (!yyjson_mut_is_null(value) && !yyjson_mut_is_null(wanted))
        return same(value, wanted, work);
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
