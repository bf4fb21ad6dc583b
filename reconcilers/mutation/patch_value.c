/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/patch_value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/cel/values/native.h"
#include "api/obj.h"
#include "api/schema/merge.h"

/* How much of a value a message shows. */
#define FOREIGN_TEXT_MAX 4096

/* ---- Type names ---- */

struct names {
    struct ek_arena *arena;
    const char *findings; /* NULL while there are none */
};

static void check_names(struct names *names, const struct ek_cel_val *value, const char *path,
                        unsigned depth);

static void check_fields(struct names *names, const struct ek_cel_val *value, const char *path,
                         unsigned depth)
{
    for (size_t i = 0; i < ek_cel_struct_len(value); i++) {
        const char *name;
        struct ek_cel_val field;
        ek_cel_struct_at(value, i, &name, &field);
        check_names(names, &field, ek_arena_printf(names->arena, "%s.%s", path, name), depth);
    }
}

static void check_names(struct names *names, const struct ek_cel_val *value, const char *path,
                        unsigned depth)
{
    struct ek_cel_iter iter;

    if (depth == EK_JSON_DEPTH_MAX)
        return;
    if (value->kind == EK_CEL_STRUCT) {
        const char *type = ek_cel_struct_type(value);
        if (strcmp(type, path) != 0)
            names->findings = ek_arena_printf(
                names->arena,
                "%s%sunexpected type name \"%s\", expected \"%s\", which matches field name path "
                "from root Object type",
                names->findings ? names->findings : "", names->findings ? "\n" : "", type, path);
        check_fields(names, value, path, depth + 1);
    } else if ((value->kind == EK_CEL_LIST || value->kind == EK_CEL_MAP) &&
               value->form == EK_CEL_NATIVE) {
        ek_cel_iter_init(&iter, value);
        while (ek_cel_iter_next(&iter))
            check_names(names, &iter.value, path, depth + 1);
    }
}

const char *ek_patch_check_type_names(const struct ek_cel_val *value, struct ek_arena *arena)
{
    struct names names = {arena, NULL};

    check_names(&names, value, ek_cel_struct_type(value), 0);
    return names.findings;
}

/* ---- Values ---- */

/* How a value is reached decides what the API server can do with it: it converts the fields of
 * Objects, and the items of one list or map in them, but not lists and maps within those. */
enum place {
    PLACE_FIELD, /* of an Object */
    PLACE_ITEM,  /* of a list or map that is such a field */
};

struct conversion {
    yyjson_mut_doc *doc;
    bool extended;
    unsigned depth;
    struct ek_work *work;
    struct ek_err *err;
};

static yyjson_mut_val *convert(struct conversion *c, const struct ek_cel_val *value,
                               enum place place);

static yyjson_mut_val *no_memory(struct conversion *c)
{
    ek_err_set(c->err, EK_E_NOMEM, "out of memory");
    return NULL;
}

static yyjson_mut_val *checked(struct conversion *c, yyjson_mut_val *made)
{
    return made ? made : no_memory(c);
}

/* A value that no schema takes, as Go prints it. */
static yyjson_mut_val *foreign(struct conversion *c, const struct ek_cel_val *value)
{
    EK_AUTO(ek_buf) syntax;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&syntax, FOREIGN_TEXT_MAX);
    ek_buf_init(&text, FOREIGN_TEXT_MAX);
    ek_cel_native_syntax(value, &syntax);
    ek_cel_native_text(value, &text);
    return checked(c, ek_merge_foreign(c->doc, ek_cel_native_type(value), ek_buf_str(&syntax),
                                       ek_buf_str(&text)));
}

/* The server keeps a double as a float64, also a whole one, which rules of definitions and the
 * scale subresource then do not take for an integer. */
static yyjson_mut_val *convert_double(struct conversion *c, double d)
{
    return checked(c, isfinite(d) ? yyjson_mut_real(c->doc, d)
                                  : yyjson_mut_strcpy(c->doc, isnan(d) ? "NaN"
                                                              : d > 0  ? "Infinity"
                                                                       : "-Infinity"));
}

/* Stands for an object that could not be converted. */
static yyjson_mut_val *failed_field(struct conversion *c)
{
    yyjson_mut_val *error =
        ek_merge_foreign(c->doc, "*types.Err", c->err->message, c->err->message);

    *c->err = (struct ek_err){0};
    return checked(c, error);
}

static yyjson_mut_val *convert_struct(struct conversion *c, const struct ek_cel_val *value)
{
    yyjson_mut_val *object = yyjson_mut_obj(c->doc);

    for (size_t i = 0; object && i < ek_cel_struct_len(value); i++) {
        const char *name;
        struct ek_cel_val field;
        ek_cel_struct_at(value, i, &name, &field);
        yyjson_mut_val *made = convert(c, &field, PLACE_FIELD);
        if (!made) {
            if (c->err->code == EK_E_INVAL)
                ek_err_prefix(c->err, "fail to convert field \"%s\"", name);
            return c->extended || c->depth == 0 || c->err->code != EK_E_INVAL ? NULL
                                                                              : failed_field(c);
        }
        if (!yyjson_mut_obj_add(object, yyjson_mut_strcpy(c->doc, name), made))
            return no_memory(c);
    }
    return checked(c, object);
}

static yyjson_mut_val *convert_list(struct conversion *c, const struct ek_cel_val *value)
{
    yyjson_mut_val *list = yyjson_mut_arr(c->doc);
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, value);
    while (list && ek_cel_iter_next(&iter)) {
        yyjson_mut_val *made = convert(c, &iter.value, PLACE_ITEM);
        if (!made)
            return NULL;
        if (!yyjson_mut_arr_append(list, made))
            return no_memory(c);
    }
    return checked(c, list);
}

/* A key that is no text breaks the conversion of the object that it is in; where that is itself a
 * field, the server takes the error for the field's value. */
static yyjson_mut_val *wrong_key(struct conversion *c, const struct ek_cel_val *key)
{
    ek_cel_native_key_error(key, c->err);
    return NULL;
}

static yyjson_mut_val *convert_map(struct conversion *c, const struct ek_cel_val *value)
{
    yyjson_mut_val *object = yyjson_mut_obj(c->doc);
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, value);
    while (object && ek_cel_iter_next(&iter)) {
        if (iter.key.kind != EK_CEL_STRING) {
            return wrong_key(c, &iter.key);
        }
        yyjson_mut_val *made = convert(c, &iter.value, PLACE_ITEM);
        if (!made)
            return NULL;
        if (!yyjson_mut_obj_add(object, yyjson_mut_strncpy(c->doc, iter.key.s, iter.key.n), made))
            return no_memory(c);
    }
    return checked(c, object);
}

/* Kinds that JSON has no form for. */
static yyjson_mut_val *convert_other(struct conversion *c, const struct ek_cel_val *value)
{
    return c->extended ? ek_cel_to_json(value, EK_CEL_JSON_PLAIN, c->doc, c->work, c->err)
                       : foreign(c, value);
}

static yyjson_mut_val *convert_container(struct conversion *c, const struct ek_cel_val *value,
                                         enum place place)
{
    if (value->form == EK_CEL_JSON)
        return checked(c, yyjson_val_mut_copy(c->doc, value->json));
    if (place == PLACE_ITEM && !c->extended)
        return foreign(c, value);
    return value->kind == EK_CEL_LIST ? convert_list(c, value) : convert_map(c, value);
}

static yyjson_mut_val *convert_kind(struct conversion *c, const struct ek_cel_val *value,
                                    enum place place)
{
    switch ((enum ek_cel_kind)value->kind) {
    case EK_CEL_NULL: /* the server knows it as a protobuf value, which nothing takes */
        return c->extended ? checked(c, yyjson_mut_null(c->doc)) : foreign(c, value);
    case EK_CEL_BOOL:
        return checked(c, yyjson_mut_bool(c->doc, value->b));
    case EK_CEL_INT:
        return checked(c, yyjson_mut_sint(c->doc, value->i));
    case EK_CEL_UINT:
        return c->extended ? checked(c, yyjson_mut_uint(c->doc, value->u)) : foreign(c, value);
    case EK_CEL_DOUBLE:
        return convert_double(c, value->d);
    case EK_CEL_STRING:
        return checked(c, yyjson_mut_strncpy(c->doc, value->s, value->n));
    case EK_CEL_LIST:
    case EK_CEL_MAP:
        return convert_container(c, value, place);
    case EK_CEL_TYPE: /* its name */
        return ek_cel_to_json(value, EK_CEL_JSON_APPLY, c->doc, c->work, c->err);
    case EK_CEL_OPTIONAL: /* without `?`: nothing is an explicit null */
        return value->some ? convert(c, value->some, place) : checked(c, yyjson_mut_null(c->doc));
    case EK_CEL_STRUCT:
        return !strncmp(ek_cel_struct_type(value), "Object", 6) ? convert_struct(c, value)
                                                                : convert_other(c, value);
    default:
        return convert_other(c, value);
    }
}

static yyjson_mut_val *convert(struct conversion *c, const struct ek_cel_val *value,
                               enum place place)
{
    if (c->depth == EK_JSON_DEPTH_MAX) {
        ek_err_set(c->err, EK_E_LIMIT, "the patch nests deeper than %d levels", EK_JSON_DEPTH_MAX);
        return NULL;
    }
    if (!ek_work_do(c->work, 1)) {
        ek_err_set(c->err, EK_E_CANCELED, "the time is over");
        return NULL;
    }
    c->depth++;
    yyjson_mut_val *made = convert_kind(c, value, place);
    c->depth--;
    return made;
}

yyjson_mut_val *ek_patch_from_object(const struct ek_cel_val *value, bool extended,
                                     yyjson_mut_doc *doc, struct ek_work *work, struct ek_err *err)
{
    struct conversion c = {.doc = doc, .extended = extended, .work = work, .err = err};

    return convert_struct(&c, value);
}

/* ---- Operations ---- */

/* A string field of an operation; absent ones are "", as the server's struct has them. */
static struct ek_str text_of(const struct ek_cel_val *value, const char *name)
{
    struct ek_cel_val field;

    if (ek_cel_struct_find(value, name, strlen(name), &field) != 1 || field.kind != EK_CEL_STRING)
        return (struct ek_str){"", 0};
    return (struct ek_str){field.n ? field.s : "", field.n};
}

static int read_value(const struct ek_cel_val *value, bool extended, yyjson_mut_doc *doc,
                      struct ek_arena *arena, struct ek_work *work, yyjson_mut_val **ret_value,
                      struct ek_err *err)
{
    struct ek_cel_val field;

    if (ek_cel_struct_find(value, "value", 5, &field) != 1)
        return 0;
    const char *names =
        field.kind == EK_CEL_STRUCT ? ek_patch_check_type_names(&field, arena) : NULL;
    if (names)
        return ek_err_set(err, EK_E_INVAL, "type mismatch: %s", names);
    *ret_value = ek_cel_to_json(&field, extended ? EK_CEL_JSON_PLAIN : EK_CEL_JSON_JSONPATCH, doc,
                                work, err);
    if (*ret_value)
        return 0;
    ek_err_prefix(err, "JSONPath valueExpression evaluated to a type that could not marshal to "
                       "JSON");
    return err->code ? err->code : EK_E_INVAL;
}

static int read_operation(const struct ek_cel_val *value, bool extended, yyjson_mut_doc *doc,
                          struct ek_arena *arena, struct ek_work *work, struct ek_jsonpatch_op *op,
                          struct ek_err *err)
{
    if (value->kind != EK_CEL_STRUCT) /* it is null: the compiler lets no other type pass */
        return ek_err_set(err, EK_E_INVAL,
                          "type mismatch: JSONPatchType.expression should evaluate to array of "
                          "JSONPatch: type conversion error from '%s' to "
                          "'*mutation.JSONPatchVal'",
                          ek_cel_type_name(value));
    op->op = text_of(value, "op");
    op->path = text_of(value, "path");
    op->from = text_of(value, "from");
    if (!op->from.len)
        op->from.p = NULL; /* an empty one is not sent */
    return read_value(value, extended, doc, arena, work, &op->value, err);
}

int ek_patch_from_operations(const struct ek_cel_val *value, bool extended, yyjson_mut_doc *doc,
                             struct ek_arena *arena, struct ek_work *work,
                             struct ek_jsonpatch_op **ret_ops, size_t *ret_n, struct ek_err *err)
{
    struct ek_jsonpatch_op *ops = ek_arena_try(arena, (value->n + 1) * sizeof *ops);
    struct ek_cel_iter iter;
    size_t n = 0;
    int rc = 0;

    if (!ops)
        return ek_err_set(err, EK_E_LIMIT, "out of memory for the patch");
    ek_cel_iter_init(&iter, value);
    while (!rc && ek_cel_iter_next(&iter)) {
        ops[n] = (struct ek_jsonpatch_op){0};
        rc = read_operation(&iter.value, extended, doc, arena, work, &ops[n++], err);
    }
    *ret_ops = ops;
    *ret_n = n;
    return rc;
}
