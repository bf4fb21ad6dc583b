/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/structural.h"

#include "api/gotypes/olds.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"

struct defaulting {
    const struct ek_schema *schema;
    yyjson_mut_doc *doc;
    struct ek_work *work;
    unsigned depth;
    int rc; /* the first failure */
};

static bool give(struct defaulting *d, uint32_t type, yyjson_mut_val *value, yyjson_val *base);

static bool is_nullable(const struct ek_schema_type *t, const struct ek_schema_field *field)
{
    return (t->flags | field->flags) & EK_SCHEMA_NULLABLE;
}

static void fail(struct defaulting *d, int rc)
{
    if (!d->rc)
        d->rc = rc;
}

/* The field's default in its place, if it is missing there: value is what stands there, before what
 * stood there in base. */
static void give_field(struct defaulting *d, const struct ek_schema_field *field,
                       yyjson_mut_val *object, yyjson_mut_val *value, yyjson_val *base,
                       yyjson_val *before)
{
    struct ek_str name = ek_schema_text(d->schema, field->name);

    if (value ? !yyjson_mut_is_null(value) ||
                    is_nullable(ek_schema_type(d->schema, field->type), field)
              : base && !before)
        return;
    yyjson_mut_val *initial = ek_schema_initial(d->schema, field, d->doc);
    if (initial && value) {
        value->tag = initial->tag;
        value->uni = initial->uni;
    } else if (!initial ||
               !yyjson_mut_obj_add(object, yyjson_mut_strncpy(d->doc, name.p, name.len), initial)) {
        fail(d, EK_E_NOMEM);
        return;
    }
    value = value ? value : initial;
    if (unsafe_yyjson_is_ctn(value))
        give(d, field->type, value, before);
}

static void give_fields(struct defaulting *d, const struct ek_schema_type *t,
                        yyjson_mut_val *object, yyjson_val *base)
{
    const struct ek_schema_field *fields = ek_schema_fields(d->schema, t);
    struct ek_members members, olds;

    ek_members_init_mut(&members, object, d->work);
    ek_members_init(&olds, base, d->work);
    for (uint32_t f = 0; f < t->n_fields && !d->rc; f++) {
        struct ek_str name = ek_schema_text(d->schema, fields[f].name);
        if (fields[f].initial != EK_SCHEMA_NONE)
            give_field(d, &fields[f], object, ek_members_find_mut(&members, name), base,
                       ek_members_find(&olds, name));
    }
    ek_members_done(&members);
    ek_members_done(&olds);
}

static bool give_members(struct defaulting *d, const struct ek_schema_type *t,
                         yyjson_mut_val *object, yyjson_val *base)
{
    bool same = base && yyjson_obj_size(base) == yyjson_mut_obj_size(object);
    struct ek_members olds;
    size_t i, n;
    yyjson_mut_val *key, *value;

    ek_members_init(&olds, base, d->work);
    yyjson_mut_obj_foreach(object, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_val *before = ek_members_find(&olds, name);
        if (d->rc)
            break;
        if (!give(d, ek_schema_member(d->schema, t, name), value, before))
            same = false;
    }
    ek_members_done(&olds);
    if (!same && !d->rc)
        give_fields(d, t, object, base);
    return same;
}

/* Items have no names to be known by: those that were there as they are keep what they have. */
static bool give_items(struct defaulting *d, const struct ek_schema_type *t, yyjson_mut_val *list,
                       yyjson_val *base)
{
    static const struct ek_schema_type without_keys;
    bool same = base && yyjson_arr_size(base) == yyjson_mut_arr_size(list);
    struct ek_olds olds;
    size_t i, n;
    yyjson_mut_val *item;

    ek_olds_init(&olds, d->schema, &without_keys, base, d->work);
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        bool in_place, equal;
        if (d->rc)
            break;
        ek_olds_find(&olds, item, &in_place, &equal);
        same = same && in_place;
        if (!equal)
            give(d, t->item, item, NULL);
    }
    if (olds.rc)
        fail(d, olds.rc);
    ek_olds_done(&olds);
    return same;
}

/* Gives a value, which was base before (or NULL), its defaults. Returns whether the two are the
 * same; then nothing was given. Each value is met once. */
static bool give(struct defaulting *d, uint32_t type, yyjson_mut_val *value, yyjson_val *base)
{
    const struct ek_schema_type *t =
        type == EK_SCHEMA_NONE ? NULL : ek_schema_type(d->schema, type);
    bool same = false;

    if (!ek_work_do(d->work, 1))
        fail(d, EK_E_CANCELED);
    bool object = t && yyjson_mut_is_obj(value) && t->map != EK_MAP_NONE;
    bool list = t && yyjson_mut_is_arr(value) && t->list != EK_LIST_NONE;
    bool deep = ++d->depth > EK_JSON_DEPTH_MAX;
    if (object && !deep)
        same = give_members(d, t, value, yyjson_is_obj(base) ? base : NULL);
    else if (list && !deep)
        same = give_items(d, t, value, yyjson_is_arr(base) ? base : NULL);
    else
        same = base && ek_jsondiff_equal(base, value, d->work);
    if (deep && !same && (object || list))
        fail(d, EK_E_LIMIT);
    d->depth--;
    return same;
}

int ek_structural_defaults(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                           yyjson_mut_val *object, yyjson_val *base, struct ek_work *work)
{
    struct defaulting d = {.schema = schema, .doc = doc, .work = work};

    give(&d, type, object, base);
    return d.rc || !ek_work_is_over(work) ? d.rc : EK_E_CANCELED;
}
