/* SPDX-License-Identifier: Apache-2.0 */
/* Values before an update, found for those after it, and compared with them: kubernetes 1.36,
 * staging/src/k8s.io/apiserver/pkg/cel/common/equality.go. */
#include <string.h>

#include "api/obj.h"
#include "api/validation/validation-internal.h"

/* ---- Items ---- */

void ek_volds_init__(struct ek_volds *olds, struct ek_vwalk *w, yyjson_val *schema, yyjson_val *old)
{
    yyjson_val *item;
    size_t i, n;

    olds->schema = schema;
    olds->is_map = !strcmp(ek_json_text(schema, "x-kubernetes-list-type"), "map");
    ek_map_init(&olds->items);
    yyjson_arr_foreach(olds->is_map && yyjson_is_arr(old) ? old : NULL, i, n, item)
    {
        const char *id = yyjson_is_obj(item) ? ek_videntity__(w, schema, item, true, true) : NULL;
        if (!ek_work_do(w->work, 4) || ek_arena_exhausted(w->arena))
            break;
        if (id && !ek_map_get(&olds->items, id))
            ek_map_put(&olds->items, id, item);
    }
}

void ek_volds_done__(struct ek_volds *olds)
{
    ek_map_done(&olds->items);
}

yyjson_val *ek_volds_find__(struct ek_volds *olds, struct ek_vwalk *w, yyjson_val *item)
{
    const char *id = olds->items.n && yyjson_is_obj(item)
                         ? ek_videntity__(w, olds->schema, item, true, true)
                         : NULL;
    return id ? ek_map_get(&olds->items, id) : NULL;
}

/* ---- Equality ---- */

static bool are_same(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *old, yyjson_val *value);

/* The items of a map are found by their keys, in any order; all other lists are one value. */
static bool are_same_lists(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *old,
                           yyjson_val *value)
{
    yyjson_val *items = yyjson_obj_get(schema, "items"), *item;
    bool same = yyjson_arr_size(old) == yyjson_arr_size(value);
    struct ek_volds olds;
    size_t i, n;

    ek_volds_init__(&olds, w, schema, old);
    if (!olds.is_map)
        same = same && ek_json_equal_within(old, value, w->work);
    yyjson_arr_foreach(olds.is_map ? value : NULL, i, n, item)
    {
        yyjson_val *was = same ? ek_volds_find__(&olds, w, item) : NULL;
        same = was && are_same(w, items, was, item);
    }
    ek_volds_done__(&olds);
    return same;
}

/* A member that the schema does not have is never known to be the same. */
static bool are_same_objects(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *old,
                             yyjson_val *value)
{
    bool same = yyjson_obj_size(old) == yyjson_obj_size(value), is_key;
    struct ek_members olds;
    yyjson_val *key, *member;
    size_t i, n;

    ek_members_init(&olds, old, w->work);
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_str name = {yyjson_get_str(key), yyjson_get_len(key)};
        yyjson_val *was = same ? ek_members_find(&olds, name) : NULL;
        yyjson_val *of = was ? ek_vmember__(w->work, schema, name, &is_key) : NULL;
        same = of && are_same(w, of, was, member);
    }
    ek_members_done(&olds);
    return same;
}

static bool are_same(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *old, yyjson_val *value)
{
    if (!ek_work_do(w->work, 1))
        return false;
    if (yyjson_is_obj(old) && yyjson_is_obj(value))
        return are_same_objects(w, schema, old, value);
    if (yyjson_is_arr(old) && yyjson_is_arr(value))
        return are_same_lists(w, schema, old, value);
    return ek_json_equal_within(old, value, w->work);
}

bool ek_vsame__(struct ek_vwalk *w, struct ek_vbefore *before)
{
    if (!before)
        return false;
    if (before->same == EK_VSAME_UNKNOWN)
        before->same =
            are_same(w, before->schema, before->old, before->value) ? EK_VSAME_YES : EK_VSAME_NO;
    return before->same == EK_VSAME_YES;
}

bool ek_vis_type__(const struct ek_vpath *path)
{
    return path->up->step == EK_VSTEP_ROOT &&
           (ek_str_eq(path->name, EK_STR("apiVersion")) || ek_str_eq(path->name, EK_STR("kind")));
}

struct ek_vbefore *ek_vbefore_member__(struct ek_vwalk *w, const struct ek_vbefore *before,
                                       struct ek_members *olds, const struct ek_vpath *path,
                                       yyjson_val *value, struct ek_vbefore *ret)
{
    yyjson_val *old = before && !ek_vis_type__(path) ? ek_members_find(olds, path->name) : NULL;
    bool is_key;

    if (!old)
        return NULL;
    *ret = (struct ek_vbefore){.old = old, .value = value};
    ret->schema = ek_vmember__(w->work, before->schema, path->name, &is_key);
    return ret->schema ? ret : NULL;
}
