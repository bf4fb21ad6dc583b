/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/typed.h"

#include <string.h>

#include "api/mem.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "reconcilers/mutation/builtin_defaults.h"
#include "reconcilers/mutation/go_fields.h"
#include "reconcilers/mutation/typed-internal.h"

/* Lists longer than this, as the product of both lengths, are compared by place. */
#define PAIRS_MAX 250000

static void settle(struct ek_settler *s, struct ek_place *place, yyjson_mut_val *value,
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
static bool vanishes(const struct ek_place *place, const struct ek_schema_type *t,
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

/* The value that a field has when nobody sets it, in object of the struct owner; NULL when it is
 * then absent. */
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

static void note_unknown(struct ek_settler *s, const struct ek_place *place)
{
    if (!s->decoded)
        return;
    ek_buf_puts(&s->unknown, s->unknown.len ? ", unknown field \"" : "unknown field \"");
    ek_place_print(&s->unknown, place, true);
    ek_buf_puts(&s->unknown, "\"");
}

/* Settles one member; true when it is to be left out, or to be what it is unset. */
static bool settle_member(struct ek_settler *s, const struct ek_place *up,
                          const struct ek_schema_type *t, yyjson_mut_val *key,
                          yyjson_mut_val *value, yyjson_val *base)
{
    struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
    struct ek_place place = {
        .up = up, .name = name, .index = SIZE_MAX, .owner = up->own, .package = up->own_package};
    const struct ek_schema_field *field = ek_schema_field(s->schema, t, name);

    if (!field) {
        note_unknown(s, &place);
        return false;
    }
    const struct ek_schema_type *its = ek_schema_type(s->schema, field->type);
    place.type = field->type;
    if (!yyjson_mut_is_null(value))
        settle(s, &place, value, base);
    return !s->rc && vanishes(&place, its, value);
}

/* Adds what a struct has without being told: in a new one all of it, else what was taken out. */
static void fill(struct ek_settler *s, const struct ek_schema_type *t, yyjson_mut_val *object,
                 yyjson_val *base, bool refill)
{
    const struct ek_schema_field *fields = ek_schema_fields(s->schema, t);
    struct ek_str package, owner = ek_settler_owner(s, t, &package);

    for (uint32_t i = 0; i < t->n_fields && !s->rc; i++) {
        struct ek_str name = ek_schema_text(s->schema, fields[i].name);
        bool due = !base || refill || yyjson_obj_getn(base, name.p, name.len) ||
                   ek_builtin_default_follows(owner, name);
        if (!due || yyjson_mut_obj_getn(object, name.p, name.len))
            continue;
        yyjson_mut_val *value = unset(s, owner, &fields[i], object);
        if (value &&
            !ek_settler_made(
                s, yyjson_mut_obj_add(object, yyjson_mut_strncpy(s->doc, name.p, name.len), value)
                       ? value
                       : NULL))
            return;
        if (value && is_struct(ek_schema_type(s->schema, fields[i].type)) && is_empty(value))
            fill(s, ek_schema_type(s->schema, fields[i].type), value, NULL, false);
    }
}

static void settle_struct(struct ek_settler *s, struct ek_place *place,
                          const struct ek_schema_type *t, yyjson_mut_val *object, yyjson_val *base)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_obj_iter old = yyjson_obj_iter_with(base);
    yyjson_mut_val *key;
    bool changed = yyjson_obj_size(base) != yyjson_mut_obj_size(object), refill = false;

    place->own = ek_settler_owner(s, t, &place->own_package);
    while (!s->rc && (key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        yyjson_val *before = base ? yyjson_obj_iter_getn(&old, unsafe_yyjson_get_str(key),
                                                         unsafe_yyjson_get_len(key))
                                  : NULL;
        if (before && ek_jsondiff_equal(before, value))
            continue;
        changed = true;
        if (settle_member(s, place, t, key, value, before)) {
            yyjson_mut_obj_iter_remove(&iter);
            refill = true;
        }
    }
    if ((changed || !base) && !s->rc)
        fill(s, t, object, base, refill);
}

/* ---- Lists and maps ---- */

static void settle_map(struct ek_settler *s, const struct ek_place *up,
                       const struct ek_schema_type *t, yyjson_mut_val *map, yyjson_val *base)
{
    yyjson_obj_iter old = yyjson_obj_iter_with(base);
    size_t i, n;
    yyjson_mut_val *key, *value;

    if (t->member == EK_SCHEMA_NONE)
        return;
    yyjson_mut_obj_foreach(map, i, n, key, value)
    {
        struct ek_place place = {.up = up,
                                 .name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)},
                                 .index = SIZE_MAX,
                                 .free = true,
                                 .type = t->member,
                                 .owner = up->owner,
                                 .package = up->package};
        yyjson_val *before = base ? yyjson_obj_iter_getn(&old, place.name.p, place.name.len) : NULL;
        if (s->rc || (before && ek_jsondiff_equal(before, value)))
            continue;
        settle(s, &place, value, before);
    }
}

/* Whether two items have the same key; without keys only equal ones are the same. */
static bool same_item(const struct ek_settler *s, const struct ek_schema_type *t, yyjson_val *old,
                      yyjson_mut_val *item)
{
    if (t->n_keys == 0 || !yyjson_is_obj(old) || !yyjson_mut_is_obj(item))
        return ek_jsondiff_equal(old, item);
    for (uint32_t i = 0; i < t->n_keys; i++) {
        struct ek_str key = ek_schema_key(s->schema, t, i);
        yyjson_val *a = yyjson_obj_getn(old, key.p, key.len);
        yyjson_mut_val *b = yyjson_mut_obj_getn(item, key.p, key.len);
        if (a != NULL || b != NULL)
            if (!a || !b || !ek_jsondiff_equal(a, b))
                return false;
    }
    return true;
}

static yyjson_val *find_item(const struct ek_settler *s, const struct ek_schema_type *t,
                             yyjson_val *base, yyjson_val *hint, yyjson_mut_val *item, bool search)
{
    size_t i, n;
    yyjson_val *old;

    if (hint && same_item(s, t, hint, item))
        return hint;
    if (search && base) {
        yyjson_arr_foreach(base, i, n, old)
        {
            if (same_item(s, t, old, item))
                return old;
        }
    }
    return NULL;
}

static void settle_list(struct ek_settler *s, const struct ek_place *up,
                        const struct ek_schema_type *t, yyjson_mut_val *list, yyjson_val *base)
{
    yyjson_arr_iter old = yyjson_arr_iter_with(base);
    bool search = yyjson_arr_size(base) * yyjson_mut_arr_size(list) < PAIRS_MAX;
    size_t i, n;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(list, i, n, item)
    {
        struct ek_place place = {
            .up = up, .index = i, .type = t->item, .owner = up->owner, .package = up->package};
        yyjson_val *hint = base ? yyjson_arr_iter_next(&old) : NULL;
        yyjson_val *before = find_item(s, t, base, hint, item, search);
        if (s->rc || (before && ek_jsondiff_equal(before, item)))
            continue;
        settle(s, &place, item, before);
    }
}

/* Settles a value that differs from base, which is what was there before, or NULL. */
static void settle(struct ek_settler *s, struct ek_place *place, yyjson_mut_val *value,
                   yyjson_val *base)
{
    const struct ek_schema_type *t = ek_schema_type(s->schema, place->type);

    if (++s->depth > EK_JSON_DEPTH_MAX)
        ek_settler_fail(s, "exceeded max depth");
    if (!s->rc && yyjson_mut_is_null(value))
        make_zero(s, t, value);
    if (s->rc || is_free(t) || yyjson_mut_is_null(value)) {
        /* as it is */
    } else if (is_scalar(t)) {
        ek_settle_scalar(s, place, t, value);
    } else if (t->map != EK_MAP_NONE) {
        if (!yyjson_mut_is_obj(value))
            ek_settler_mismatch(s, place, value);
        else if (is_struct(t))
            settle_struct(s, place, t, value, yyjson_is_obj(base) ? base : NULL);
        else
            settle_map(s, place, t, value, yyjson_is_obj(base) ? base : NULL);
    } else if (!yyjson_mut_is_arr(value)) {
        ek_settler_mismatch(s, place, value);
    } else {
        settle_list(s, place, t, value, yyjson_is_arr(base) ? base : NULL);
    }
    s->depth--;
}

int ek_typed_settle(const struct ek_typed *typed, yyjson_mut_val *object, yyjson_val *base,
                    const char **ret_error)
{
    struct ek_settler s = {.schema = typed->schema,
                           .doc = typed->doc,
                           .decoded = typed->decoded,
                           .arena = typed->arena};
    struct ek_place root = {.index = SIZE_MAX, .type = typed->type};

    ek_buf_init(&s.unknown, EK_SETTLER_TEXT_MAX);
    settle(&s, &root, object, base);
    if (!s.rc && s.unknown.len)
        ek_settler_fail(
            &s, ek_arena_printf(typed->arena, "strict decoding error: %s", ek_buf_str(&s.unknown)));
    ek_buf_done(&s.unknown);
    *ret_error = s.error;
    return s.rc;
}
