/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/authored.h"

#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/members.h"
#include "api/obj.h"
#include "reconcilers/mutation/fights.h"

/* One value; before and authored are NULL for one that is new. */
struct value {
    yyjson_val *authored, *before, *patched, *settled;
};

static yyjson_mut_val *author(yyjson_mut_doc *doc, const struct value *v);

/* ---- Members ---- */

static struct ek_str name_of(yyjson_val *key)
{
    return (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
}

/* NULL for a member that stays away. */
static yyjson_mut_val *author_member(yyjson_mut_doc *doc, const struct value *v)
{
    bool is_as_before = v->before && ek_json_equal(v->before, v->settled);

    if (is_as_before)
        return v->authored ? yyjson_val_mut_copy(doc, v->authored) : NULL;
    return v->patched ? author(doc, v) : NULL;
}

static yyjson_mut_val *author_members(yyjson_mut_doc *doc, const struct value *v)
{
    struct ek_members authored, before, patched;
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_val *key, *settled;
    size_t i, n;

    ek_members_init(&authored, yyjson_is_obj(v->authored) ? v->authored : NULL, NULL);
    ek_members_init(&before, yyjson_is_obj(v->before) ? v->before : NULL, NULL);
    ek_members_init(&patched, v->patched, NULL);
    ek_json_each_member(v->settled, i, n, key, settled)
    {
        struct ek_str name = name_of(key);
        const struct value member = {ek_members_find(&authored, name),
                                     ek_members_find(&before, name),
                                     ek_members_find(&patched, name), settled};
        yyjson_mut_val *value = author_member(doc, &member);
        if (value)
            yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, key), value);
    }
    ek_members_done(&authored);
    ek_members_done(&before);
    ek_members_done(&patched);
    return object;
}

/* ---- Items ---- */

/* The items of a list before, with what policies wrote of them. */
struct items {
    yyjson_val **before, **authored; /* owned */
    size_t n, n_after;
    size_t start, end;   /* items that are the same after */
    struct ek_map named; /* the place in `before` */
};

static void items_init(struct items *items, const struct value *v)
{
    bool known = yyjson_is_arr(v->before) && yyjson_is_arr(v->authored) &&
                 yyjson_arr_size(v->before) == yyjson_arr_size(v->authored);
    yyjson_val **after = ek_array_items(v->settled);

    *items = (struct items){.before = ek_array_items(known ? v->before : NULL),
                            .authored = ek_array_items(known ? v->authored : NULL),
                            .n = known ? yyjson_arr_size(v->before) : 0,
                            .n_after = yyjson_arr_size(v->settled)};
    size_t most = items->n < items->n_after ? items->n : items->n_after;
    while (items->start < most && ek_json_equal(items->before[items->start], after[items->start]))
        items->start++;
    while (items->end < most - items->start &&
           ek_json_equal(items->before[items->n - 1 - items->end],
                         after[items->n_after - 1 - items->end]))
        items->end++;
    for (size_t i = 0; i < items->n; i++)
        if (*ek_json_text(items->before[i], "name"))
            ek_map_put(&items->named, ek_json_text(items->before[i], "name"), &items->before[i]);
    ek_free(after);
}

static void items_done(struct items *items)
{
    ek_map_done(&items->named);
    ek_free(items->before);
    ek_free(items->authored);
}

/* What item i was before: the same, of the same name, or at the same place. False for a new one. */
static bool find_item(const struct items *items, size_t i, yyjson_val *item, size_t *ret)
{
    const char *name = ek_json_text(item, "name");
    yyjson_val **named = *name ? ek_map_get(&items->named, name) : NULL;

    if (i < items->start)
        *ret = i;
    else if (i >= items->n_after - items->end)
        *ret = i - items->n_after + items->n;
    else if (*name)
        *ret = named ? (size_t)(named - items->before) : items->n;
    else
        *ret = items->n == items->n_after ? i : items->n;
    return *ret < items->n;
}

static yyjson_mut_val *author_items(yyjson_mut_doc *doc, const struct value *v)
{
    yyjson_val **patched = ek_array_items(v->patched), *settled;
    yyjson_mut_val *array = yyjson_mut_arr(doc);
    struct items items;
    size_t i, n, was;

    items_init(&items, v);
    yyjson_arr_foreach(v->settled, i, n, settled)
    {
        struct value item = {.patched = patched[i], .settled = settled};
        if (find_item(&items, i, settled, &was)) {
            item.before = items.before[was];
            item.authored = items.authored[was];
        }
        yyjson_mut_arr_append(array, author(doc, &item));
    }
    items_done(&items);
    ek_free(patched);
    return array;
}

static yyjson_mut_val *author(yyjson_mut_doc *doc, const struct value *v)
{
    if (v->authored && v->before && ek_json_equal(v->before, v->settled))
        return yyjson_val_mut_copy(doc, v->authored);
    if (yyjson_is_obj(v->settled) && yyjson_is_obj(v->patched))
        return author_members(doc, v);
    if (yyjson_is_arr(v->settled) && yyjson_is_arr(v->patched) &&
        yyjson_arr_size(v->settled) == yyjson_arr_size(v->patched))
        return author_items(doc, v);
    return yyjson_val_mut_copy(doc, v->settled);
}

yyjson_val *ek_authored(yyjson_val *authored, const struct ek_authored_step *step,
                        struct ek_arena *arena)
{
    const struct value v = {authored, step->before, step->patched, step->settled};
    yyjson_mut_doc *doc = ek_json_doc_new();

    yyjson_doc *copy = yyjson_mut_val_imut_copy(author(doc, &v), &ek_json_xalc);
    yyjson_mut_doc_free(doc);
    yyjson_val *kept = ek_value_keep(yyjson_doc_get_root(copy), arena);
    yyjson_doc_free(copy);
    return kept;
}
