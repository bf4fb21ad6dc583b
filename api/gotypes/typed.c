/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/typed.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/gotypes/builtin_defaults.h"
#include "api/gotypes/fields.h"
#include "api/gotypes/olds.h"
#include "api/gotypes/typed-internal.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"

static bool settle(struct ek_settler *s, struct ek_typed_place *place, yyjson_mut_val *value,
                   yyjson_val *base);

bool ek_settler_fail(struct ek_settler *s, const char *error)
{
    if (!s->rc) {
        s->rc = EK_E_INVAL;
        s->error = error;
    }
    return false;
}

bool ek_settler_made(struct ek_settler *s, const void *p)
{
    if (!p && !s->rc)
        s->rc = EK_E_NOMEM;
    return p != NULL;
}

/* Whether value is unchanged. */
static bool is_same(struct ek_settler *s, yyjson_val *before, yyjson_mut_val *value)
{
    return before && ek_jsondiff_equal(before, value, s->work);
}

static bool is_struct(const struct ek_schema_type *t)
{
    return t->map != EK_MAP_NONE && t->n_fields > 0;
}

/* What may be anything: raw extensions, and what has no schema. */
static bool is_free(const struct ek_schema_type *t)
{
    return t->map != EK_MAP_NONE && t->scalar != EK_SCALAR_NONE &&
           !(t->flags & EK_SCHEMA_INT_OR_STRING);
}

static bool is_scalar(const struct ek_schema_type *t)
{
    return (t->flags & EK_SCHEMA_INT_OR_STRING) ||
           (t->map == EK_MAP_NONE && t->list == EK_LIST_NONE);
}

static bool is_empty(yyjson_mut_val *v)
{
    return unsafe_yyjson_is_ctn(v) && unsafe_yyjson_get_len(v) == 0;
}

/* ---- Zero values ---- */

/* Makes value the zero of a type that is no pointer, where it stands: what null comes to. */
static void make_zero(struct ek_settler *s, const struct ek_schema_type *t, yyjson_mut_val *value)
{
    if (is_struct(t))
        yyjson_mut_set_obj(value);
    else if (t->declared == EK_SCHEMA_STRING && t->scalar != EK_SCALAR_NONE && t->list == 0)
        yyjson_mut_set_str(value, ek_settler_is(s, t, EK_QUANTITY) ? "0" : "");
    else if (t->declared == EK_SCHEMA_INTEGER || t->declared == EK_SCHEMA_NUMBER)
        yyjson_mut_set_int(value, 0);
    else if (t->declared == EK_SCHEMA_BOOLEAN)
        yyjson_mut_set_bool(value, false);
}

/* Whether the encoder leaves out this value of an optional field. */
static bool vanishes(const struct ek_typed_place *place, const struct ek_schema_type *t,
                     yyjson_mut_val *value)
{
    if (is_free(t))
        return yyjson_mut_is_null(value);
    if ((t->flags & EK_SCHEMA_INT_OR_STRING) && !yyjson_mut_is_null(value))
        return ek_builtin_default_replaces(place->owner, place->name) && ek_settler_is_zero(value);
    switch (unsafe_yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL:
        return true;
    case YYJSON_TYPE_ARR:
        return is_empty(value) && !ek_go_writes_null(place->owner, place->name);
    case YYJSON_TYPE_OBJ:
        return is_empty(value) && !is_struct(t);
    case YYJSON_TYPE_STR:
        return unsafe_yyjson_get_len(value) == 0 &&
               !ek_go_keeps_empty_string(place->owner, place->name);
    case YYJSON_TYPE_BOOL:
        return yyjson_mut_is_false(value) && ek_go_drops_zero(place->owner, place->name);
    case YYJSON_TYPE_NUM:
        return yyjson_mut_get_num(value) == 0.0 && ek_go_drops_zero(place->owner, place->name);
    default:
        return false;
    }
}

/* The value of an unset field, in object of the struct owner; NULL when it is then absent. */
static yyjson_mut_val *unset(struct ek_settler *s, struct ek_str owner,
                             const struct ek_schema_field *field, yyjson_mut_val *object)
{
    const struct ek_schema_type *t = ek_schema_type(s->schema, field->type);
    struct ek_str name = ek_schema_text(s->schema, field->name);
    yyjson_mut_val *value;
    int rc = ek_builtin_default(owner, name, object, s->doc, &value);

    if (rc && !s->rc)
        s->rc = rc;
    if (value || rc)
        return value;
    if (field->initial != EK_SCHEMA_NONE) {
        value = ek_schema_initial(s->schema, field, s->doc);
        ek_settler_made(s, value);
        return value;
    }
    bool pointer = t->list != EK_LIST_NONE || t->map != EK_MAP_NONE;
    bool written = (field->flags & EK_SCHEMA_REQUIRED) || ek_go_writes_null(owner, name);
    return written && pointer ? yyjson_mut_null(s->doc) : NULL;
}

/* ---- Structs ---- */

struct ek_str ek_settler_owner(const struct ek_settler *s, const struct ek_schema_type *t,
                               struct ek_str *ret_package)
{
    struct ek_str name = ek_schema_text(s->schema, t->name);
    const char *dot = name.len ? memrchr(name.p, '.', name.len) : NULL;

    *ret_package = EK_STR("");
    if (!dot)
        return name;
    size_t head = (size_t)(dot - name.p);
    const char *before = memrchr(name.p, '.', head);
    const char *start = before ? before + 1 : name.p;
    *ret_package = (struct ek_str){start, (size_t)(dot - start)};
    return (struct ek_str){dot + 1, name.len - head - 1};
}

static void note_unknown(struct ek_settler *s, const struct ek_typed_place *place)
{
    if (!s->decoded || s->unknown.failed)
        return;
    ek_buf_puts(&s->unknown, s->unknown.len ? ", unknown field \"" : "unknown field \"");
    ek_place_print(&s->unknown, place, true);
    ek_buf_puts(&s->unknown, "\"");
}

/* Settles one member, which was before, or NULL. Returns whether it is the same; *ret_gone: it is
 * to be left out, or to have its zero value. */
static bool settle_member(struct ek_settler *s, const struct ek_typed_place *up,
                          const struct ek_schema_type *t, struct ek_str name, yyjson_mut_val *value,
                          yyjson_val *before, bool *ret_gone)
{
    struct ek_typed_place place = {
        .up = up, .name = name, .index = SIZE_MAX, .owner = up->own, .package = up->own_package};
    const struct ek_schema_field *field = ek_schema_field(s->schema, t, name);
    bool same;

    *ret_gone = false;
    if (!field) {
        same = is_same(s, before, value);
        if (!same)
            note_unknown(s, &place);
        return same;
    }
    const struct ek_schema_type *its = ek_schema_type(s->schema, field->type);
    place.type = field->type;
    if (yyjson_mut_is_null(value))
        same = before && yyjson_is_null(before);
    else
        same = settle(s, &place, value, before);
    *ret_gone = !same && !s->rc && vanishes(&place, its, value);
    return same;
}

/* Adds the default members of a struct: in a new one all of it, else what was taken out. */
static void fill(struct ek_settler *s, const struct ek_schema_type *t, yyjson_mut_val *object,
                 yyjson_val *base, bool refill)
{
    const struct ek_schema_field *fields = ek_schema_fields(s->schema, t);
    struct ek_str package, owner = ek_settler_owner(s, t, &package);
    struct ek_members members, olds;

    ek_members_init_mut(&members, object, s->work);
    ek_members_init(&olds, base, s->work);
    for (uint32_t i = 0; i < t->n_fields && !s->rc; i++) {
        struct ek_str name = ek_schema_text(s->schema, fields[i].name);
        bool due = !base || refill || ek_members_find(&olds, name) ||
                   ek_builtin_default_follows(owner, name);
        if (!due || ek_members_find_mut(&members, name))
            continue;
        yyjson_mut_val *value = unset(s, owner, &fields[i], object);
        if (value &&
            !ek_settler_made(
                s, yyjson_mut_obj_add(object, yyjson_mut_strncpy(s->doc, name.p, name.len), value)
                       ? value
                       : NULL))
            break;
        if (value && is_struct(ek_schema_type(s->schema, fields[i].type)) && is_empty(value))
            fill(s, ek_schema_type(s->schema, fields[i].type), value, NULL, false);
    }
    ek_members_done(&members);
    ek_members_done(&olds);
}

static bool settle_struct(struct ek_settler *s, struct ek_typed_place *place,
                          const struct ek_schema_type *t, yyjson_mut_val *object, yyjson_val *base)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *key;
    struct ek_members olds;
    bool same = base && yyjson_obj_size(base) == yyjson_mut_obj_size(object), refill = false;

    place->own = ek_settler_owner(s, t, &place->own_package);
    ek_members_init(&olds, base, s->work);
    while (!s->rc && (key = yyjson_mut_obj_iter_next(&iter))) {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        yyjson_val *before = ek_members_find(&olds, name);
        bool gone;
        if (!settle_member(s, place, t, name, yyjson_mut_obj_iter_get_val(key), before, &gone))
            same = false;
        if (gone) {
            yyjson_mut_obj_iter_remove(&iter);
            refill = true;
        }
    }
    ek_members_done(&olds);
    if (!same && !s->rc)
        fill(s, t, object, base, refill);
    return same;
}

/* ---- Lists and maps ---- */

static bool settle_map(struct ek_settler *s, const struct ek_typed_place *up,
                       const struct ek_schema_type *t, yyjson_mut_val *map, yyjson_val *base)
{
    bool same = base && yyjson_obj_size(base) == yyjson_mut_obj_size(map);
    struct ek_members olds;
    size_t i, n;
    yyjson_mut_val *key, *value;

    if (t->member == EK_SCHEMA_NONE)
        return is_same(s, base, map);
    ek_members_init(&olds, base, s->work);
    yyjson_mut_obj_foreach(map, i, n, key, value)
    {
        struct ek_typed_place place = {
            .up = up,
            .name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)},
            .index = SIZE_MAX,
            .free = true,
            .type = t->member,
            .owner = up->owner,
            .package = up->package};
        if (s->rc)
            break;
        if (!settle(s, &place, value, ek_members_find(&olds, place.name)))
            same = false;
    }
    ek_members_done(&olds);
    return same;
}

static bool settle_list(struct ek_settler *s, const struct ek_typed_place *up,
                        const struct ek_schema_type *t, yyjson_mut_val *list, yyjson_val *base)
{
    struct ek_olds olds;
    bool same = base && yyjson_arr_size(base) == yyjson_mut_arr_size(list);
    size_t i, n;
    yyjson_mut_val *item;

    ek_olds_init(&olds, s->schema, t, base, s->work);
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        struct ek_typed_place place = {
            .up = up, .index = i, .type = t->item, .owner = up->owner, .package = up->package};
        bool in_place, equal;
        if (s->rc)
            break;
        yyjson_val *before = ek_olds_find(&olds, item, &in_place, &equal);
        if (!equal && !settle(s, &place, item, before))
            in_place = false;
        same = same && in_place;
    }
    if (olds.rc && !s->rc)
        s->rc = olds.rc;
    ek_olds_done(&olds);
    return same;
}

static bool settle_kind(struct ek_settler *s, struct ek_typed_place *place,
                        const struct ek_schema_type *t, yyjson_mut_val *value, yyjson_val *base)
{
    bool scalar = is_scalar(t), map = t->map != EK_MAP_NONE;

    if (!is_free(t) && !scalar && map && yyjson_mut_is_obj(value)) {
        yyjson_val *before = yyjson_is_obj(base) ? base : NULL;
        return is_struct(t) ? settle_struct(s, place, t, value, before)
                            : settle_map(s, place, t, value, before);
    }
    if (!is_free(t) && !scalar && !map && yyjson_mut_is_arr(value))
        return settle_list(s, place, t, value, yyjson_is_arr(base) ? base : NULL);
    if (is_same(s, base, value))
        return true;
    if (scalar && !is_free(t))
        ek_settle_scalar(s, place, t, value);
    else if (!is_free(t))
        ek_settler_mismatch(s, place, value);
    return false;
}

/*
 * Settles a value; base is what was there before, or NULL. Returns whether the two are the same:
 * then nothing was done. Each value is visited once, because the result for a container follows
 * from its parts.
 */
static bool settle(struct ek_settler *s, struct ek_typed_place *place, yyjson_mut_val *value,
                   yyjson_val *base)
{
    const struct ek_schema_type *t = ek_schema_type(s->schema, place->type);
    bool same = base && yyjson_is_null(base) && yyjson_mut_is_null(value);

    if (same)
        return true;
    if (++s->depth > EK_JSON_DEPTH_MAX && !(same = is_same(s, base, value)))
        ek_settler_fail(s, "exceeded max depth");
    if (!ek_work_do(s->work, 1) && !s->rc)
        s->rc = EK_E_CANCELED;
    bool was_null = yyjson_mut_is_null(value);
    if (!s->rc && !same && was_null)
        make_zero(s, t, value);
    if (!s->rc && !same && !yyjson_mut_is_null(value))
        same = settle_kind(s, place, t, value, was_null ? NULL : base);
    s->depth--;
    return same && !was_null;
}

int ek_typed_settle(const struct ek_typed *typed, yyjson_mut_val *object, yyjson_val *base,
                    const char **ret_error)
{
    struct ek_settler s = {.schema = typed->schema,
                           .doc = typed->doc,
                           .decoded = typed->decoded,
                           .arena = typed->arena,
                           .work = typed->work};
    struct ek_typed_place root = {.index = SIZE_MAX, .type = typed->type};

    ek_buf_init(&s.unknown, EK_SETTLER_TEXT_MAX);
    settle(&s, &root, object, base);
    if (ek_work_is_over(s.work))
        s.rc = EK_E_CANCELED;
    if (!s.rc && s.unknown.len)
        ek_settler_fail(
            &s, ek_arena_printf(typed->arena, "strict decoding error: %s", ek_buf_str(&s.unknown)));
    ek_buf_done(&s.unknown);
    *ret_error = s.error;
    return s.rc;
}
