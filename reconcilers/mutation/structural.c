/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/structural.h"

#include "api/obj.h"
#include "api/patch/jsondiff.h"

struct defaulting {
    const struct ek_schema *schema;
    yyjson_mut_doc *doc;
    unsigned depth;
};

static int give(struct defaulting *d, uint32_t type, yyjson_mut_val *value, yyjson_val *base);

static bool is_nullable(const struct ek_schema_type *t, const struct ek_schema_field *field)
{
    return (t->flags | field->flags) & EK_SCHEMA_NULLABLE;
}

/* The field's default in its place, if it is missing there. */
static int give_field(struct defaulting *d, const struct ek_schema_field *field,
                      yyjson_mut_val *object, yyjson_val *base)
{
    struct ek_str name = ek_schema_text(d->schema, field->name);
    yyjson_mut_val *value = yyjson_mut_obj_getn(object, name.p, name.len);
    bool was_absent = base && !yyjson_obj_getn(base, name.p, name.len);

    if (value ? !yyjson_mut_is_null(value) ||
                    is_nullable(ek_schema_type(d->schema, field->type), field)
              : was_absent)
        return 0;
    yyjson_mut_val *initial = ek_schema_initial(d->schema, field, d->doc);
    if (!initial)
        return EK_E_NOMEM;
    if (value) {
        value->tag = initial->tag;
        value->uni = initial->uni;
        return 0;
    }
    return yyjson_mut_obj_add(object, yyjson_mut_strncpy(d->doc, name.p, name.len), initial)
               ? 0
               : EK_E_NOMEM;
}

static int give_members(struct defaulting *d, const struct ek_schema_type *t,
                        yyjson_mut_val *object, yyjson_val *base)
{
    const struct ek_schema_field *fields = ek_schema_fields(d->schema, t);
    yyjson_obj_iter old = yyjson_obj_iter_with(base);
    size_t i, n;
    yyjson_mut_val *key, *value;
    int rc = 0;

    for (uint32_t f = 0; f < t->n_fields && !rc; f++)
        if (fields[f].initial != EK_SCHEMA_NONE)
            rc = give_field(d, &fields[f], object, base);
    yyjson_mut_obj_foreach(object, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        uint32_t type = ek_schema_member(d->schema, t, name);
        yyjson_val *before = base ? yyjson_obj_iter_getn(&old, name.p, name.len) : NULL;
        if (rc || type == EK_SCHEMA_NONE || !unsafe_yyjson_is_ctn(value) ||
            (before && ek_jsondiff_equal(before, value)))
            continue;
        rc = give(d, type, value, before);
    }
    return rc;
}

/* Items have no names to be known by: those that were there as they are keep what they have. */
static int give_items(struct defaulting *d, const struct ek_schema_type *t, yyjson_mut_val *list,
                      yyjson_val *base)
{
    size_t i, n, j, m;
    yyjson_mut_val *item;
    yyjson_val *old;
    int rc = 0;

    yyjson_mut_arr_foreach(list, i, n, item)
    {
        bool same = false;
        if (base && yyjson_mut_arr_size(list) * yyjson_arr_size(base) < 250000) {
            yyjson_arr_foreach(base, j, m, old)
            {
                same = same || ek_jsondiff_equal(old, item);
            }
        }
        if (!rc && !same)
            rc = give(d, t->item, item, NULL);
    }
    return rc;
}

static int give(struct defaulting *d, uint32_t type, yyjson_mut_val *value, yyjson_val *base)
{
    const struct ek_schema_type *t = ek_schema_type(d->schema, type);
    int rc = 0;

    if (++d->depth > EK_JSON_DEPTH_MAX)
        rc = EK_E_LIMIT;
    else if (yyjson_mut_is_obj(value) && t->map != EK_MAP_NONE)
        rc = give_members(d, t, value, yyjson_is_obj(base) ? base : NULL);
    else if (yyjson_mut_is_arr(value) && t->list != EK_LIST_NONE)
        rc = give_items(d, t, value, yyjson_is_arr(base) ? base : NULL);
    d->depth--;
    return rc;
}

int ek_structural_defaults(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                           yyjson_mut_val *object, yyjson_val *base)
{
    struct defaulting d = {schema, doc, 0};

    return give(&d, type, object, base);
}
