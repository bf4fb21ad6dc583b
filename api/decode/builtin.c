/* SPDX-License-Identifier: Apache-2.0 */
#include "api/decode/builtin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/decode/builtin-internal.h"
#include "api/obj.h"
#include "api/patch/pointer.h"

/* Bytes of a problem's pointer and of its text; what is longer is cut. */
#define POINTER_MAX ((size_t)4096)
#define WHY_MAX     512

/* Bytes for one quantity: many times the longest text that a request may hold. */
#define SCRATCH_MAX ((size_t)64 << 20)

/* ---- The tables ---- */

static const struct ek_go_kind *find_kind(const struct ek_gvk *kind, uint8_t minor)
{
    for (size_t i = 0; i < ek_go_n_kinds; i++) {
        const struct ek_go_kind *k = &ek_go_kinds[i];
        if ((k->minors & minor) && !strcmp(k->kind, kind->kind) &&
            !strcmp(k->version, kind->version) && !strcmp(k->group, kind->group))
            return k;
    }
    return NULL;
}

static int compare(struct ek_str name, const char *other)
{
    int order = strncmp(name.p, other, name.len);

    return order ? order : other[name.len] ? -1 : 0;
}

/* The field of that name in the reader's version; NULL when there is none. */
static const struct ek_go_field *find_field(const struct ek_go_reader *r,
                                            const struct ek_go_struct *s, struct ek_str name)
{
    size_t low = s->first, high = low + s->n, end = high;

    if (name.len == 0 || memchr(name.p, '\0', name.len))
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(name, ek_go_fields[middle].name) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && compare(name, ek_go_fields[low].name) == 0; low++)
        if (ek_go_fields[low].minors & r->minor)
            return &ek_go_fields[low];
    return NULL;
}

/* ---- Problems ---- */

static void push(struct ek_buf *pointer, const struct ek_go_place *place)
{
    if (!place || !place->up)
        return;
    push(pointer, place->up);
    if (place->index == SIZE_MAX)
        ek_pointer_push(pointer, place->name);
    else
        ek_pointer_push_index(pointer, place->index);
}

void ek_go_fail(struct ek_go_reader *r, const struct ek_go_place *place, const char *fmt, ...)
{
    EK_AUTO(ek_buf) pointer = {0};
    char why[WHY_MAX];
    va_list args;

    if (r->rc)
        return;
    r->rc = EK_E_INVAL;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    ek_buf_init(&pointer, POINTER_MAX);
    push(&pointer, place);
    r->problem.pointer = ek_arena_strdup(r->arena, ek_buf_str(&pointer));
    r->problem.why = ek_arena_strdup(r->arena, why);
}

yyjson_mut_val *ek_go_made(struct ek_go_reader *r, yyjson_mut_val *value)
{
    if (!value && !r->rc)
        r->rc = EK_E_NOMEM;
    return value;
}

/* ---- Unknown fields ---- */

static void put_path(struct ek_buf *out, const struct ek_go_place *place)
{
    if (!place->up)
        return;
    put_path(out, place->up);
    if (place->index != SIZE_MAX) {
        ek_buf_printf(out, "[%zu]", place->index);
        return;
    }
    ek_buf_puts(out, out->len ? "." : "");
    ek_buf_append(out, place->name.p, place->name.len);
}

static void note_unknown(struct ek_go_reader *r, const struct ek_go_place *place)
{
    EK_AUTO(ek_buf) path = {0};

    if (!r->unknown)
        return;
    bool full = r->unknown->n == EK_PATHS_MAX || ek_arena_exhausted(r->arena);
    ek_buf_init(&path, POINTER_MAX);
    if (!full)
        put_path(&path, place);
    ek_paths_add__(r->unknown, r->arena, full ? "" : ek_arena_strdup(r->arena, ek_buf_str(&path)));
}

static bool step(struct ek_go_reader *r)
{
    if (!r->rc && !ek_work_do(r->work, 1))
        r->rc = EK_E_CANCELED;
    return r->rc == 0;
}

/* ---- Reading ---- */

static yyjson_mut_val *read_value(struct ek_go_reader *r, const struct ek_go_place *place,
                                  const struct ek_go_type *type, yyjson_val *value);

/* An element or a member of a map that is null. */
static yyjson_mut_val *zero_of(struct ek_go_reader *r, const struct ek_go_type *type)
{
    switch ((enum ek_go_form)type->form) {
    case EK_GO_BOOL:
        return yyjson_mut_bool(r->doc, false);
    case EK_GO_INT32:
    case EK_GO_INT64:
    case EK_GO_INTSTR:
        return yyjson_mut_uint(r->doc, 0);
    case EK_GO_STRING:
        return yyjson_mut_str(r->doc, "");
    case EK_GO_QUANTITY:
        return yyjson_mut_str(r->doc, "0");
    case EK_GO_STRUCT:
        return yyjson_mut_obj(r->doc);
    default:
        return yyjson_mut_null(r->doc);
    }
}

static yyjson_mut_val *read_slice(struct ek_go_reader *r, const struct ek_go_place *place,
                                  const struct ek_go_type *of, yyjson_val *value)
{
    yyjson_mut_val *list;
    yyjson_val *element;
    size_t i, n;

    if (!yyjson_is_arr(value)) {
        ek_go_fail(r, place, "a list is wanted here, not %s", ek_json_kind(yyjson_get_type(value)));
        return NULL;
    }
    list = ek_go_made(r, yyjson_mut_arr(r->doc));
    yyjson_arr_foreach(value, i, n, element)
    {
        struct ek_go_place at = {place, {"", 0}, i};
        yyjson_mut_val *read = read_value(r, &at, of, element);
        if (!r->rc && !read)
            read = ek_go_made(r, zero_of(r, of));
        if (r->rc)
            return NULL;
        yyjson_mut_arr_append(list, read);
    }
    return list;
}

static bool add(struct ek_go_reader *r, yyjson_mut_val *object, yyjson_val *key,
                yyjson_mut_val *value)
{
    yyjson_mut_val *name =
        ek_go_made(r, yyjson_mut_strncpy(r->doc, yyjson_get_str(key), yyjson_get_len(key)));

    return name && yyjson_mut_obj_add(object, name, value);
}

static bool is_object(struct ek_go_reader *r, const struct ek_go_place *place, yyjson_val *value)
{
    if (!yyjson_is_obj(value))
        ek_go_fail(r, place, "an object is wanted here, not %s",
                   ek_json_kind(yyjson_get_type(value)));
    return yyjson_is_obj(value);
}

static yyjson_mut_val *read_map(struct ek_go_reader *r, const struct ek_go_place *place,
                                const struct ek_go_type *type, yyjson_val *value)
{
    const struct ek_go_type *of = &ek_go_types[type->of];
    yyjson_mut_val *map;
    yyjson_val *key, *member;
    size_t i, n;

    if (!is_object(r, place, value))
        return NULL;
    map = ek_go_made(r, yyjson_mut_obj(r->doc));
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_go_place at = {place, {yyjson_get_str(key), yyjson_get_len(key)}, SIZE_MAX};
        yyjson_mut_val *read = read_value(r, &at, of, member);
        if (!r->rc && !read)
            read = ek_go_made(r, zero_of(r, of));
        if (r->rc || !add(r, map, key, read))
            return NULL;
    }
    return map;
}

/* Whether a field that is no pointer is as it is without the value. */
static bool is_zero_field(const struct ek_go_type *type, yyjson_mut_val *value)
{
    return type->form <= EK_GO_STRING && ek_go_is_empty(value);
}

static yyjson_mut_val *read_struct(struct ek_go_reader *r, const struct ek_go_place *place,
                                   const struct ek_go_type *type, yyjson_val *value)
{
    const struct ek_go_struct *s = &ek_go_structs[type->of];
    yyjson_mut_val *object;
    yyjson_val *key, *member;
    size_t i, n;

    if (!is_object(r, place, value))
        return NULL;
    object = ek_go_made(r, yyjson_mut_obj(r->doc));
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_go_place at = {place, {yyjson_get_str(key), yyjson_get_len(key)}, SIZE_MAX};
        const struct ek_go_field *field = step(r) ? find_field(r, s, at.name) : NULL;
        if (!r->rc && !field) {
            note_unknown(r, &at);
            continue;
        }
        const struct ek_go_type *of = field ? &ek_go_types[field->type] : NULL;
        yyjson_mut_val *read = of ? read_value(r, &at, of, member) : NULL;
        if (r->rc)
            return NULL;
        if (read && !is_zero_field(of, read) &&
            !yyjson_mut_obj_add(object, ek_go_made(r, yyjson_mut_str(r->doc, field->name)), read))
            return NULL;
    }
    return object;
}

/* What is of one type or another, as its JSON says; what is neither is nil, if a pointer to it is
 * not. Source: apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go. */
static yyjson_mut_val *read_either(struct ek_go_reader *r, const struct ek_go_place *place,
                                   const struct ek_go_type *type, yyjson_val *value)
{
    static const struct ek_go_type string = {EK_GO_STRING, 0};
    const struct ek_go_type *of = &ek_go_types[type->of];

    if (yyjson_is_obj(value))
        return read_value(r, place, of, value);
    if (type->form == EK_GO_BOOL_OR) {
        if (yyjson_is_bool(value))
            return ek_go_read_scalar(r, place, EK_GO_BOOL, value);
        ek_go_fail(r, place, "true, false or an object is wanted here, not %s",
                   ek_json_kind(yyjson_get_type(value)));
        return NULL;
    }
    if (yyjson_is_arr(value) && yyjson_arr_size(value) > 0)
        return read_slice(r, place, type->form == EK_GO_LIST_OR ? of : &string, value);
    return ek_go_made(r, yyjson_mut_null(r->doc));
}

/* These types decode themselves, and not strictly. */
static yyjson_mut_val *read_union(struct ek_go_reader *r, const struct ek_go_place *place,
                                  const struct ek_go_type *type, yyjson_val *value)
{
    struct ek_paths *unknown = r->unknown;

    r->unknown = NULL;
    yyjson_mut_val *read = read_either(r, place, type, value);
    r->unknown = unknown;
    return read;
}

static yyjson_mut_val *read_value(struct ek_go_reader *r, const struct ek_go_place *place,
                                  const struct ek_go_type *type, yyjson_val *value)
{
    if (!step(r) || yyjson_is_null(value))
        return NULL;
    switch ((enum ek_go_form)type->form) {
    case EK_GO_POINTER:
        return read_value(r, place, &ek_go_types[type->of], value);
    case EK_GO_STRUCT:
        return read_struct(r, place, type, value);
    case EK_GO_SLICE:
        return read_slice(r, place, &ek_go_types[type->of], value);
    case EK_GO_MAP:
    case EK_GO_RESOURCES:
        return read_map(r, place, type, value);
    case EK_GO_BOOL_OR:
    case EK_GO_LIST_OR:
    case EK_GO_STRINGS_OR:
        return read_union(r, place, type, value);
    default:
        return ek_go_read_scalar(r, place, (enum ek_go_form)type->form, value);
    }
}

/* ---- Writing ---- */

bool ek_go_is_empty(yyjson_mut_val *value)
{
    switch (yyjson_mut_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        return !yyjson_mut_get_bool(value);
    case YYJSON_TYPE_NUM:
        return yyjson_mut_get_uint(value) == 0;
    case YYJSON_TYPE_STR:
        return yyjson_mut_get_len(value) == 0;
    case YYJSON_TYPE_ARR:
        return yyjson_mut_arr_size(value) == 0;
    case YYJSON_TYPE_OBJ:
        return yyjson_mut_obj_size(value) == 0;
    default:
        return true;
    }
}

static yyjson_mut_val *write_value(struct ek_go_reader *r, const struct ek_go_type *type,
                                   yyjson_mut_val *value);

/* True when the field is left out. value may be NULL. */
static bool is_omitted(const struct ek_go_field *field, yyjson_mut_val *value)
{
    enum ek_go_form form = (enum ek_go_form)ek_go_types[field->type].form;
    bool nil = !value || yyjson_mut_is_null(value);

    if ((field->flags & EK_GO_OMITZERO) && nil)
        return true;
    if (!(field->flags & EK_GO_OMITEMPTY))
        return false;
    switch (form) {
    case EK_GO_POINTER:
        return !value;
    case EK_GO_TIME:
    case EK_GO_MICROTIME:
    case EK_GO_QUANTITY:
    case EK_GO_INTSTR:
    case EK_GO_RAW:
    case EK_GO_STRUCT:
        return false;
    default:
        return nil || ek_go_is_empty(value);
    }
}

/* Writes a struct; object may be NULL for one of zeros. */
static yyjson_mut_val *write_struct(struct ek_go_reader *r, const struct ek_go_struct *s,
                                    yyjson_mut_val *object)
{
    yyjson_mut_val *out = ek_go_made(r, yyjson_mut_obj(r->doc));

    for (size_t i = s->first; i < (size_t)s->first + s->n && step(r); i++) {
        const struct ek_go_field *field = &ek_go_fields[i];
        if (!(field->minors & r->minor))
            continue;
        yyjson_mut_val *value = yyjson_mut_obj_get(object, field->name);
        if (is_omitted(field, value))
            continue;
        yyjson_mut_val *written = write_value(r, &ek_go_types[field->type], value);
        yyjson_mut_val *name = ek_go_made(r, yyjson_mut_str(r->doc, field->name));
        if (r->rc || !yyjson_mut_obj_add(out, name, written))
            return NULL;
    }
    return r->rc ? NULL : out;
}

static yyjson_mut_val *write_map(struct ek_go_reader *r, const struct ek_go_type *of,
                                 yyjson_mut_val *map)
{
    yyjson_mut_val *out = ek_go_made(r, yyjson_mut_obj(r->doc)), *key, *value;
    size_t i, n;

    yyjson_mut_obj_foreach(map, i, n, key, value)
    {
        yyjson_mut_val *written = write_value(r, of, value);
        yyjson_mut_val *name = ek_go_made(
            r, yyjson_mut_strn(r->doc, yyjson_mut_get_str(key), yyjson_mut_get_len(key)));
        if (r->rc || !yyjson_mut_obj_add(out, name, written))
            return NULL;
    }
    return out;
}

static yyjson_mut_val *write_slice(struct ek_go_reader *r, const struct ek_go_type *of,
                                   yyjson_mut_val *list)
{
    yyjson_mut_val *out = ek_go_made(r, yyjson_mut_arr(r->doc)), *value;
    size_t i, n;

    yyjson_mut_arr_foreach(list, i, n, value)
    {
        yyjson_mut_val *written = write_value(r, of, value);
        if (r->rc || !yyjson_mut_arr_append(out, written))
            return NULL;
    }
    return out;
}

/* A value for another tree, with the text and the members of the one it is made from. */
static yyjson_mut_val *copy_node(struct ek_go_reader *r, yyjson_mut_val *value)
{
    yyjson_mut_val *copy = ek_go_made(r, yyjson_mut_null(r->doc));

    if (copy) {
        copy->tag = value->tag;
        copy->uni = value->uni;
    }
    return copy;
}

/* value may be NULL for nil or zero. */
static yyjson_mut_val *write_value(struct ek_go_reader *r, const struct ek_go_type *type,
                                   yyjson_mut_val *value)
{
    if (!step(r))
        return NULL;
    if (type->form == EK_GO_STRUCT && (!value || yyjson_mut_is_obj(value)))
        return write_struct(r, &ek_go_structs[type->of], value);
    if (!value)
        return ek_go_made(r, zero_of(r, type));
    if (yyjson_mut_is_null(value))
        return copy_node(r, value);
    switch ((enum ek_go_form)type->form) {
    case EK_GO_POINTER:
        return write_value(r, &ek_go_types[type->of], value);
    case EK_GO_SLICE:
        return write_slice(r, &ek_go_types[type->of], value);
    case EK_GO_MAP:
    case EK_GO_RESOURCES:
        return write_map(r, &ek_go_types[type->of], value);
    case EK_GO_BOOL_OR:
    case EK_GO_LIST_OR:
    case EK_GO_STRINGS_OR:
        if (yyjson_mut_is_obj(value))
            return write_value(r, &ek_go_types[type->of], value);
        if (yyjson_mut_is_arr(value) && type->form == EK_GO_LIST_OR)
            return write_slice(r, &ek_go_types[type->of], value);
        return copy_node(r, value);
    default:
        return copy_node(r, value);
    }
}

int ek_decode_builtin(const struct ek_gvk *kind, int minor, yyjson_val *object,
                      struct ek_work *work, struct ek_arena *arena, yyjson_mut_doc *doc,
                      yyjson_mut_val **ret, struct ek_paths *unknown,
                      struct ek_decode_problem *ret_problem)
{
    bool known = minor >= EK_BUILTIN_MINOR_MIN && minor <= EK_BUILTIN_MINOR_MAX;
    struct ek_go_reader r = {
        .minor = (uint8_t)(known ? 1u << (minor - EK_BUILTIN_MINOR_MIN) : 0u),
        .doc = doc,
        .arena = arena,
        .work = work,
        .unknown = unknown,
    };
    const struct ek_go_place root = {NULL, {"", 0}, SIZE_MAX};

    r.kind = known ? find_kind(kind, r.minor) : NULL;
    if (!r.kind)
        return EK_E_NOENT;
    const struct ek_go_type type = {EK_GO_STRUCT, r.kind->of};
    yyjson_mut_val *read = NULL;
    r.scratch = ek_arena_new(SCRATCH_MAX);
    if (is_object(&r, &root, object))
        read = read_struct(&r, &root, &type, object);
    if (!r.rc)
        ek_go_default(&r, read);
    if (!r.rc)
        ek_go_convert(&r, read);
    if (!r.rc)
        *ret = write_value(&r, &type, read);
    ek_arena_free(r.scratch);
    if (r.rc == EK_E_INVAL)
        *ret_problem = r.problem;
    return r.rc;
}
