/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/cel/values/quantity.h"
#include "api/gotypes/fields.h"
#include "api/gotypes/time.h"
#include "api/gotypes/typed-internal.h"
#include "api/obj.h"

#define NUMBER_TEXT_MAX 40

bool ek_settler_is(const struct ek_settler *s, const struct ek_schema_type *t, const char *name)
{
    return ek_str_eq(ek_schema_text(s->schema, t->name), ek_str_from(name));
}

bool ek_settler_is_zero(yyjson_mut_val *v)
{
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_NUM:
        return yyjson_mut_get_num(v) == 0.0;
    case YYJSON_TYPE_BOOL:
        return !unsafe_yyjson_get_bool(v);
    case YYJSON_TYPE_STR:
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        return unsafe_yyjson_get_len(v) == 0;
    default:
        return true;
    }
}

/* ---- Names ---- */

void ek_place_print(struct ek_buf *out, const struct ek_typed_place *place, bool strict)
{
    if (!place->up)
        return;
    ek_place_print(out, place->up, strict);
    if (place->index != SIZE_MAX) {
        if (strict)
            ek_buf_printf(out, "[%zu]", place->index);
        return;
    }
    if (place->free && !strict)
        return;
    ek_buf_printf(out, "%s%.*s", out->len && out->data[out->len - 1] != '"' ? "." : "",
                  (int)place->name.len, place->name.p);
}

static const char *scalar_name(const struct ek_schema_type *t)
{
    switch ((enum ek_schema_declared)t->declared) {
    case EK_SCHEMA_INTEGER:
        return t->flags & EK_SCHEMA_INT32 ? "int32" : "int64";
    case EK_SCHEMA_NUMBER:
        return "float64";
    case EK_SCHEMA_BOOLEAN:
        return "bool";
    default:
        return t->flags & EK_SCHEMA_BYTES ? "[]uint8" : "string";
    }
}

/* Appends a type as Go's reflection writes it: "[]v1.Container". */
static void print_type(struct ek_settler *s, const struct ek_typed_place *place, uint32_t type,
                       struct ek_buf *out)
{
    const struct ek_schema_type *t = ek_schema_type(s->schema, type);
    struct ek_str package, name = ek_settler_owner(s, t, &package);

    if (t->map == EK_MAP_NONE && t->list != EK_LIST_NONE) {
        ek_buf_puts(out, "[]");
        print_type(s, place, t->item, out);
    } else if (name.len && package.len) {
        ek_buf_printf(out, "%.*s.%.*s", (int)package.len, package.p, (int)name.len, name.p);
    } else if (t->map != EK_MAP_NONE && t->member != EK_SCHEMA_NONE) {
        if (ek_settler_is(s, ek_schema_type(s->schema, t->member), EK_QUANTITY)) {
            ek_buf_puts(out, "v1.ResourceList");
            return;
        }
        ek_buf_puts(out, "map[string]");
        print_type(s, place, t->member, out);
    } else {
        const char *own = t->declared == EK_SCHEMA_STRING && !(t->flags & EK_SCHEMA_BYTES)
                              ? ek_go_string_type(place->owner, place->name)
                              : NULL;
        if (own && !strchr(own, '.'))
            ek_buf_printf(out, "%.*s.%s", (int)place->package.len, place->package.p, own);
        else
            ek_buf_puts(out, own ? own : scalar_name(t));
    }
}

static size_t number_text(yyjson_mut_val *value, char out[NUMBER_TEXT_MAX])
{
    size_t len = 0;
    char *text = yyjson_mut_val_write(value, 0, &len);

    snprintf(out, NUMBER_TEXT_MAX, "%s", text ? text : "");
    ek_free(text);
    return len;
}

/* "json: cannot unmarshal number 1.5 into Go struct field A.b.c of type int32" */
static void fail_decoding(struct ek_settler *s, const struct ek_typed_place *place,
                          const char *kind, const char *number)
{
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) path;
    const struct ek_typed_place *named = place;

    while (named->up && (named->index != SIZE_MAX || named->free))
        named = named->up;
    ek_buf_init(&out, EK_SETTLER_TEXT_MAX);
    ek_buf_init(&path, EK_SETTLER_TEXT_MAX);
    ek_place_print(&path, place, false);
    ek_buf_printf(&out, "json: cannot unmarshal %s%s%s into Go struct field %.*s.%s", kind,
                  *number ? " " : "", number, (int)place->owner.len, place->owner.p,
                  ek_buf_str(&path));
    ek_buf_puts(&out, " of type ");
    struct ek_typed_place at = *place;
    at.name = named->name;
    print_type(s, &at, place->type, &out);
    ek_settler_fail(s, ek_arena_strdup(s->arena, ek_buf_str(&out)));
}

/* How reflection calls what unstructured content holds. */
static const char *go_kind(yyjson_mut_val *value)
{
    switch (unsafe_yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_NUM:
        return unsafe_yyjson_is_real(value) ? "float64" : "int64";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "slice";
    default:
        return "map";
    }
}

void ek_settler_mismatch(struct ek_settler *s, const struct ek_typed_place *place,
                         yyjson_mut_val *value)
{
    const struct ek_schema_type *t = ek_schema_type(s->schema, place->type);

    if (s->decoded) {
        fail_decoding(s, place, ek_json_kind(yyjson_mut_get_type(value)), "");
        return;
    }
    if (t->map != EK_MAP_NONE || t->list != EK_LIST_NONE) {
        bool list = t->map == EK_MAP_NONE;
        ek_settler_fail(s, ek_arena_printf(s->arena, "cannot restore %s %s",
                                           list              ? "slice from"
                                           : t->n_fields > 0 ? "struct from:"
                                                             : "map from",
                                           go_kind(value)));
        return;
    }
    ek_settler_fail(
        s, ek_arena_printf(s->arena, "cannot convert %s to %s", go_kind(value), scalar_name(t)));
}

/* ---- Scalars ---- */

static void settle_integer(struct ek_settler *s, const struct ek_typed_place *place,
                           const struct ek_schema_type *t, yyjson_mut_val *value)
{
    bool narrow = t->flags & EK_SCHEMA_INT32;
    char text[NUMBER_TEXT_MAX];

    if (!yyjson_mut_is_num(value)) {
        ek_settler_mismatch(s, place, value);
        return;
    }
    bool whole = yyjson_mut_is_int(value);
    double d = yyjson_mut_get_num(value);
    if (s->decoded) {
        bool fits = whole && (narrow ? d >= INT32_MIN && d <= INT32_MAX
                                     : !unsafe_yyjson_is_uint(value) || value->uni.i64 >= 0);
        if (!fits) {
            number_text(value, text);
            fail_decoding(s, place, "number", text);
        }
        return;
    }
    if (!whole && (d != trunc(d) || fabs(d) >= 9.3e18)) {
        ek_settler_mismatch(s, place, value);
        return;
    }
    int64_t i = whole ? yyjson_mut_get_sint(value) : (int64_t)d;
    yyjson_mut_set_sint(value, narrow ? (int32_t)(uint32_t)(uint64_t)i : i);
    if (yyjson_mut_get_sint(value) >= 0)
        yyjson_mut_set_uint(value, (uint64_t)yyjson_mut_get_sint(value));
}

static bool is_digit64(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

static size_t skip_breaks(const char *text, size_t at, size_t len)
{
    while (at < len && (text[at] == '\r' || text[at] == '\n'))
        at++;
    return at;
}

/* The place of the first octet that Go's decoder does not take, len when it takes all. */
static size_t wrong_base64(const char *text, size_t len)
{
    size_t at = 0, digits = 0;

    while ((at = skip_breaks(text, at, len)) < len && text[at] != '=') {
        if (!is_digit64(text[at]))
            return at;
        digits++;
        at++;
    }
    if (at == len)
        return digits % 4 ? len - digits % 4 : len;
    if (digits % 4 < 2)
        return at;
    if (digits % 4 == 2) {
        size_t second = skip_breaks(text, at + 1, len);
        if (second == len || text[second] != '=')
            return second == len ? len + 1 : second - 1;
        at = second;
    }
    return skip_breaks(text, at + 1, len);
}

static void settle_bytes(struct ek_settler *s, yyjson_mut_val *value)
{
    size_t len = unsafe_yyjson_get_len(value);
    size_t at = wrong_base64(unsafe_yyjson_get_str(value), len);

    if (at != len)
        ek_settler_fail(s, ek_arena_printf(s->arena, "%sillegal base64 data at input byte %zu",
                                           s->decoded ? "" : "error decoding from json: ",
                                           at > len ? len : at));
}

static void settle_quantity(struct ek_settler *s, yyjson_mut_val *value)
{
    EK_AUTO(ek_buf) out;
    char number[NUMBER_TEXT_MAX];
    struct ek_str text = {number, 0};
    const char *why = NULL;

    ek_buf_init(&out, EK_SETTLER_TEXT_MAX);
    if (yyjson_mut_is_str(value))
        text = (struct ek_str){unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value)};
    else if (yyjson_mut_is_num(value))
        text.len = number_text(value, number);
    else
        text = ek_str_from(unsafe_yyjson_get_bool(value) ? "true" : "false");
    int rc = ek_cel_quantity_canonical(text, s->arena, &out, &why);
    if (rc == EK_E_PARSE)
        ek_settler_fail(s, why);
    else if (rc)
        s->rc = rc;
    else if (!yyjson_mut_is_str(value) || !ek_str_eq(text, ek_str_from(ek_buf_str(&out)))) {
        yyjson_mut_val *copy = yyjson_mut_strncpy(s->doc, ek_buf_str(&out), out.len);
        if (ek_settler_made(s, copy))
            yyjson_mut_set_strn(value, unsafe_yyjson_get_str(copy), out.len);
    }
}

/* What is read by a method of its own: its errors name the field only after a JSON Patch. */
static void fail_method(struct ek_settler *s, const struct ek_typed_place *place, const char *kind,
                        const char *number, const char *type)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_SETTLER_TEXT_MAX);
    ek_place_print(&path, place, false);
    ek_settler_fail(
        s, s->decoded
               ? ek_arena_printf(s->arena,
                                 "json: cannot unmarshal %s%s%s into Go struct field %.*s.%s of "
                                 "type %s",
                                 kind, *number ? " " : "", number, (int)place->owner.len,
                                 place->owner.p, ek_buf_str(&path), type)
               : ek_arena_printf(s->arena, "json: cannot unmarshal %s%s%s into Go value of type %s",
                                 kind, *number ? " " : "", number, type));
}

static void settle_time(struct ek_settler *s, const struct ek_typed_place *place,
                        const struct ek_schema_type *t, yyjson_mut_val *value)
{
    const char *text = yyjson_mut_get_str(value);
    bool micro = ek_settler_is(s, t, EK_MICRO_TIME);
    char out[EK_TIME_SIZE];

    if (!text) {
        fail_method(s, place, ek_json_kind(yyjson_mut_get_type(value)), "", "string");
        return;
    }
    const char *error = ek_go_time_check(text, micro, s->arena);
    if (error) {
        ek_settler_fail(s, error);
        return;
    }
    size_t len = unsafe_yyjson_get_len(value);
    if (text[len - 1] == 'Z' && (micro || len == strlen("2026-01-01T00:00:00Z")))
        return;
    if (micro)
        ek_time_format_micro(ek_time_parse(text), out);
    else
        ek_time_format(ek_time_parse(text), out);
    yyjson_mut_val *copy = yyjson_mut_strcpy(s->doc, out);
    if (ek_settler_made(s, copy))
        yyjson_mut_set_str(value, unsafe_yyjson_get_str(copy));
}

static void settle_int_or_string(struct ek_settler *s, const struct ek_typed_place *place,
                                 yyjson_mut_val *value)
{
    char text[NUMBER_TEXT_MAX] = "";
    bool is_number = yyjson_mut_is_num(value);
    double d = yyjson_mut_get_num(value);

    if (yyjson_mut_is_str(value) || (yyjson_mut_is_int(value) && d >= INT32_MIN && d <= INT32_MAX))
        return;
    if (is_number)
        number_text(value, text);
    fail_method(s, place, ek_json_kind(yyjson_mut_get_type(value)), text, "int32");
}

/* Whether the JSON is of another kind than the type takes. */
static bool is_wrong(const struct ek_schema_type *t, yyjson_mut_val *value)
{
    switch ((enum ek_schema_declared)t->declared) {
    case EK_SCHEMA_NUMBER:
        return !yyjson_mut_is_num(value);
    case EK_SCHEMA_BOOLEAN:
        return !yyjson_mut_is_bool(value);
    case EK_SCHEMA_STRING:
        return !yyjson_mut_is_str(value);
    default:
        return unsafe_yyjson_is_ctn(value);
    }
}

void ek_settle_scalar(struct ek_settler *s, const struct ek_typed_place *place,
                      const struct ek_schema_type *t, yyjson_mut_val *value)
{
    bool container = unsafe_yyjson_is_ctn(value);

    if (t->flags & EK_SCHEMA_INT_OR_STRING)
        settle_int_or_string(s, place, value);
    else if (!container && ek_settler_is(s, t, EK_QUANTITY))
        settle_quantity(s, value);
    else if (!container && (ek_settler_is(s, t, EK_TIME) || ek_settler_is(s, t, EK_MICRO_TIME)))
        settle_time(s, place, t, value);
    else if (t->declared == EK_SCHEMA_INTEGER)
        settle_integer(s, place, t, value);
    else if (is_wrong(t, value))
        ek_settler_mismatch(s, place, value);
    else if (t->flags & EK_SCHEMA_BYTES)
        settle_bytes(s, value);
}
