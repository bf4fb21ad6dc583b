/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/olds.h"

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"

void ek_olds_init(struct ek_olds *olds, const struct ek_schema *schema,
                  const struct ek_schema_type *type, yyjson_val *list, struct ek_work *work)
{
    *olds = (struct ek_olds){.schema = schema,
                             .type = type,
                             .list = list,
                             .hint = yyjson_arr_get_first(list),
                             .n_left = yyjson_arr_size(list),
                             .work = work};
}

void ek_olds_done(struct ek_olds *olds)
{
    ek_free(olds->items);
    ek_table_done(&olds->table);
}

/* Whether items are identified by keys. */
static bool has_keys(const struct ek_olds *o, bool is_object)
{
    return is_object && o->type->n_keys > 0;
}

static uint64_t hash_old(const struct ek_olds *o, yyjson_val *item)
{
    uint64_t hash = 1;

    if (!has_keys(o, yyjson_is_obj(item)))
        return ek_jsondiff_hash(item, o->work);
    ek_work_do(o->work, 1 + yyjson_obj_size(item) / 4);
    for (uint32_t i = 0; i < o->type->n_keys; i++) {
        struct ek_str key = ek_schema_key(o->schema, o->type, i);
        yyjson_val *part = yyjson_obj_getn(item, key.p, key.len);
        hash = hash * 31 + (part ? ek_jsondiff_hash(part, o->work) : 0);
    }
    return hash;
}

static uint64_t hash_new(const struct ek_olds *o, yyjson_mut_val *item)
{
    uint64_t hash = 1;

    if (!has_keys(o, yyjson_mut_is_obj(item)))
        return ek_jsondiff_hash_mut(item, o->work);
    ek_work_do(o->work, 1 + yyjson_mut_obj_size(item) / 4);
    for (uint32_t i = 0; i < o->type->n_keys; i++) {
        struct ek_str key = ek_schema_key(o->schema, o->type, i);
        yyjson_mut_val *part = yyjson_mut_obj_getn(item, key.p, key.len);
        hash = hash * 31 + (part ? ek_jsondiff_hash_mut(part, o->work) : 0);
    }
    return hash;
}

/* Whether two items go together; without keys only equal ones do. */
static bool goes_with(const struct ek_olds *o, yyjson_val *old, yyjson_mut_val *item)
{
    if (!has_keys(o, yyjson_is_obj(old) && yyjson_mut_is_obj(item)))
        return ek_jsondiff_equal(old, item, o->work);
    ek_work_do(o->work, 1 + (yyjson_obj_size(old) + yyjson_mut_obj_size(item)) / 4);
    for (uint32_t i = 0; i < o->type->n_keys; i++) {
        struct ek_str key = ek_schema_key(o->schema, o->type, i);
        yyjson_val *a = yyjson_obj_getn(old, key.p, key.len);
        yyjson_mut_val *b = yyjson_mut_obj_getn(item, key.p, key.len);
        if ((a || b) && (!a || !b || !ek_jsondiff_equal(a, b, o->work)))
            return false;
    }
    return true;
}

/* The same among those before. */
static bool is_again(const struct ek_olds *o, yyjson_val *a, yyjson_val *b)
{
    if (!has_keys(o, yyjson_is_obj(a) && yyjson_is_obj(b)))
        return ek_json_equal_within(a, b, o->work);
    for (uint32_t i = 0; i < o->type->n_keys; i++) {
        struct ek_str key = ek_schema_key(o->schema, o->type, i);
        if (!ek_json_equal_within(yyjson_obj_getn(a, key.p, key.len),
                                  yyjson_obj_getn(b, key.p, key.len), o->work))
            return false;
    }
    return true;
}

/* Adds an item, unless one before it is the same. */
static int add(struct ek_olds *o, yyjson_val *old, size_t number)
{
    uint64_t hash = hash_old(o, old);
    struct ek_table_cursor at = ek_table_at(hash);
    size_t i;

    o->items[number] = old;
    while (ek_table_next(&o->table, &at, &i))
        if (is_again(o, o->items[i], old))
            return 0;
    return ek_table_add(&o->table, hash, number);
}

static int make_table(struct ek_olds *o)
{
    size_t i, n = yyjson_arr_size(o->list);
    yyjson_val *old;
    int rc = ek_table_init(&o->table, n);

    o->items = ek_alloc((n + 1) * sizeof *o->items); // NOLINT(*-sizeof-expression)
    rc = o->items ? rc : EK_E_NOMEM;
    yyjson_arr_foreach(rc ? NULL : o->list, i, n, old)
    {
        if ((rc = add(o, old, i)))
            break;
    }
    return rc;
}

static yyjson_val *search(struct ek_olds *o, yyjson_mut_val *item)
{
    size_t i;

    if (!o->items && !o->rc)
        o->rc = make_table(o);
    if (o->rc)
        return NULL;
    struct ek_table_cursor at = ek_table_at(hash_new(o, item));
    while (ek_table_next(&o->table, &at, &i))
        if (goes_with(o, o->items[i], item))
            return o->items[i];
    return NULL;
}

yyjson_val *ek_olds_find(struct ek_olds *olds, yyjson_mut_val *item, bool *ret_in_place,
                         bool *ret_equal)
{
    yyjson_val *found = olds->n_left ? olds->hint : NULL;

    if (olds->n_left && --olds->n_left)
        olds->hint = unsafe_yyjson_get_next(olds->hint);
    *ret_in_place = found && goes_with(olds, found, item);
    if (!*ret_in_place)
        found = olds->list ? search(olds, item) : NULL;
    *ret_equal = found && !has_keys(olds, yyjson_is_obj(found) && yyjson_mut_is_obj(item));
    return found;
}
