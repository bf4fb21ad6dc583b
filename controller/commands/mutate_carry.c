/* SPDX-License-Identifier: Apache-2.0 */
/* What policies changed, in the object as its author wrote it. */
#include <string.h>

#include "api/members.h"
#include "controller/manifests/manifests-internal.h"

static struct ek_str name_of(yyjson_val *key)
{
    return (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
}

static yyjson_mut_val *carry(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                             yyjson_val *after);

static void add(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *key, yyjson_mut_val *value)
{
    yyjson_mut_obj_add(to, yyjson_val_mut_copy(doc, key), value);
}

/* Members that the decoder dropped stay as they are written, those that it added stay away.
 * written: NULL where the decoder added the whole of it. */
static yyjson_mut_val *carry_members(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                                     yyjson_val *after)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    struct ek_members befores, afters, writtens;
    yyjson_val *key, *value;
    size_t i, n;

    ek_members_init(&befores, before, NULL);
    ek_members_init(&afters, after, NULL);
    ek_members_init(&writtens, written, NULL);
    ek_json_each_member(written, i, n, key, value)
    {
        yyjson_val *was = ek_members_find(&befores, name_of(key));
        yyjson_val *is = ek_members_find(&afters, name_of(key));
        if (was && is)
            add(doc, object, key, carry(doc, value, was, is));
        else if (!was)
            add(doc, object, key, yyjson_val_mut_copy(doc, is ? is : value));
    }
    ek_json_each_member(after, i, n, key, value)
    {
        yyjson_val *was = ek_members_find(&befores, name_of(key));
        if (!ek_members_find(&writtens, name_of(key)) && (!was || !ek_json_equal(was, value)))
            add(doc, object, key, carry(doc, NULL, was, value));
    }
    ek_members_done(&befores);
    ek_members_done(&afters);
    ek_members_done(&writtens);
    return object;
}

/* An array of another length than before: items are the same at its start and at its end, and by
 * their name between. */
struct alignment {
    yyjson_val **written, **before, **after; /* owned */
    size_t n_before, n_after;
    size_t start, end;   /* items that are the same */
    struct ek_map named; /* of before: the place of the item in `before` */
};

static void align(struct alignment *a, yyjson_val *written, yyjson_val *before, yyjson_val *after)
{
    *a = (struct alignment){.written = ek_array_items(written),
                            .before = ek_array_items(before),
                            .after = ek_array_items(after),
                            .n_before = yyjson_arr_size(before),
                            .n_after = yyjson_arr_size(after)};
    size_t most = a->n_before < a->n_after ? a->n_before : a->n_after;
    while (a->start < most && ek_json_equal(a->before[a->start], a->after[a->start]))
        a->start++;
    while (a->end < most - a->start &&
           ek_json_equal(a->before[a->n_before - 1 - a->end], a->after[a->n_after - 1 - a->end]))
        a->end++;
    for (size_t i = a->start; i < a->n_before - a->end; i++)
        if (*ek_json_text(a->before[i], "name"))
            ek_map_put(&a->named, ek_json_text(a->before[i], "name"), &a->before[i]);
}

static void align_done(struct alignment *a)
{
    ek_map_done(&a->named);
    ek_free(a->written);
    ek_free(a->before);
    ek_free(a->after);
}

static yyjson_mut_val *carry_item(yyjson_mut_doc *doc, struct alignment *a, size_t i)
{
    if (i < a->start)
        return yyjson_val_mut_copy(doc, a->written[i]);
    if (i >= a->n_after - a->end)
        return yyjson_val_mut_copy(doc, a->written[i - a->n_after + a->n_before]);
    yyjson_val **was = ek_map_get(&a->named, ek_json_text(a->after[i], "name"));
    return was ? carry(doc, a->written[was - a->before], *was, a->after[i])
               : yyjson_val_mut_copy(doc, a->after[i]);
}

static yyjson_mut_val *carry_items(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                                   yyjson_val *after)
{
    bool same_length = yyjson_arr_size(before) == yyjson_arr_size(after);
    yyjson_mut_val *array = yyjson_mut_arr(doc);
    struct alignment a;

    align(&a, written, before, after);
    for (size_t i = 0; i < a.n_after; i++)
        yyjson_mut_arr_append(array, same_length ? carry(doc, a.written[i], a.before[i], a.after[i])
                                                 : carry_item(doc, &a, i));
    align_done(&a);
    return array;
}

/* written: NULL for what is not in the file; before: NULL for what a policy added. */
static yyjson_mut_val *carry(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                             yyjson_val *after)
{
    bool is_absent = !written || yyjson_is_null(written);

    if (written && ek_json_equal(before, after))
        return yyjson_val_mut_copy(doc, written);
    if ((is_absent || yyjson_is_obj(written)) && yyjson_is_obj(before) && yyjson_is_obj(after))
        return carry_members(doc, written, before, after);
    if (yyjson_is_arr(written) && yyjson_is_arr(before) && yyjson_is_arr(after) &&
        yyjson_arr_size(written) == yyjson_arr_size(before))
        return carry_items(doc, written, before, after);
    return yyjson_val_mut_copy(doc, after);
}

/* Takes the keys out of stringData whose data a policy changed: an API server writes stringData
 * over data. */
static void settle_string_data(yyjson_mut_val *object, yyjson_val *before, yyjson_val *after)
{
    yyjson_mut_val *strings = yyjson_mut_obj_get(object, "stringData"), *key;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(strings);
    struct ek_members befores, afters;

    ek_members_init(&befores, yyjson_obj_get(before, "data"), NULL);
    ek_members_init(&afters, yyjson_obj_get(after, "data"), NULL);
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        struct ek_str name = {yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
        if (!ek_json_equal(ek_members_find(&befores, name), ek_members_find(&afters, name)))
            yyjson_mut_obj_iter_remove(&iter);
    }
    ek_members_done(&befores);
    ek_members_done(&afters);
    if (strings && !yyjson_mut_obj_size(strings))
        yyjson_mut_obj_remove_key(object, "stringData");
}

yyjson_mut_val *ek_mutate_carry(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                                yyjson_val *after)
{
    yyjson_mut_val *object = carry(doc, written, before, after);

    if (!strcmp(ek_json_text(before, "apiVersion"), "v1") &&
        !strcmp(ek_json_text(before, "kind"), "Secret"))
        settle_string_data(object, before, after);
    return object;
}
