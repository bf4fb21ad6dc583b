/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources against their structural schema: pruning, defaults, and the checks that need no
 * expression language (patterns and CEL rules are not evaluated). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define DEPTH_MAX 64

static yyjson_val *member_schema(yyjson_val *schema, const char *name)
{
    yyjson_val *found = yyjson_obj_get(yyjson_obj_get(schema, "properties"), name);

    if (!found)
        found = yyjson_obj_get(schema, "additionalProperties");
    return yyjson_is_obj(found) ? found : NULL;
}

static bool preserves(yyjson_val *schema)
{
    return yyjson_get_bool(yyjson_obj_get(schema, "x-kubernetes-preserve-unknown-fields")) ||
           (!yyjson_obj_get(schema, "properties") && !yyjson_obj_get(schema, "items") &&
            !yyjson_obj_get(schema, "additionalProperties"));
}

static bool is_typemeta(const char *name)
{
    return strcmp(name, "metadata") == 0 || strcmp(name, "kind") == 0 ||
           strcmp(name, "apiVersion") == 0;
}

static void prune_list(yyjson_mut_val *list, yyjson_val *schema, struct ek_buf *path,
                       struct ek_buf *unknown)
{
    size_t index, max, len = path->len;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(list, index, max, item)
    {
        ek_buf_printf(path, "[%zu]", index);
        ek_schema_prune(item, yyjson_obj_get(schema, "items"), false, path, unknown);
        path->len = len;
    }
}

void ek_schema_prune(yyjson_mut_val *value, yyjson_val *schema, bool root, struct ek_buf *path,
                     struct ek_buf *unknown)
{
    size_t index, max, n = 0, len = path->len;
    yyjson_mut_val *key, *member, *gone[256];

    if (yyjson_mut_is_arr(value))
        prune_list(value, schema, path, unknown);
    if (!yyjson_mut_is_obj(value) || (preserves(schema) && !root))
        return;
    yyjson_mut_obj_foreach(value, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_val *next = member_schema(schema, name);
        if (root && is_typemeta(name))
            continue;
        ek_buf_printf(path, "%s%s", len ? "." : "", name);
        if (next) {
            ek_schema_prune(member, next, false, path, unknown);
        } else if (!preserves(schema) && n < EK_ARRAY_SIZE(gone)) {
            gone[n++] = key;
            ek_buf_printf(unknown, "%sunknown field \"%.*s\"", unknown->len ? ", " : "",
                          (int)path->len, ek_buf_str(path));
        }
        path->len = len;
    }
    for (size_t i = 0; i < n; i++)
        yyjson_mut_obj_remove(value, gone[i]);
}

void ek_schema_default(yyjson_mut_doc *doc, yyjson_mut_val *value, yyjson_val *schema)
{
    size_t index, max;
    yyjson_val *key, *member;

    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_val *item;
        yyjson_mut_arr_foreach(value, index, max, item)
        {
            ek_schema_default(doc, item, yyjson_obj_get(schema, "items"));
        }
    }
    if (!yyjson_mut_is_obj(value))
        return;
    ek_json_each_member(yyjson_obj_get(schema, "properties"), index, max, key, member)
    {
        const char *name = yyjson_get_str(key);
        yyjson_val *fallback = yyjson_obj_get(member, "default");
        if (fallback && !yyjson_mut_obj_get(value, name))
            yyjson_mut_obj_add(value, yyjson_mut_strcpy(doc, name),
                               yyjson_val_mut_copy(doc, fallback));
        ek_schema_default(doc, yyjson_mut_obj_get(value, name), member);
    }
    yyjson_val *extra = yyjson_obj_get(schema, "additionalProperties");
    yyjson_mut_val *mut_key, *mut_member;
    if (!yyjson_is_obj(extra))
        return;
    yyjson_mut_obj_foreach(value, index, max, mut_key, mut_member)
    {
        (void)mut_key;
        ek_schema_default(doc, mut_member, extra);
    }
}

struct check {
    struct ek_buf *causes, *message;
    char path[1024];
    size_t n;
};

__attribute__((format(printf, 3, 4))) static void complain(struct check *check, const char *reason,
                                                           const char *fmt, ...)
{
    char text[4096];
    va_list args;
    const char *field = *check->path ? check->path : "<nil>";

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ek_buf_printf(check->causes, "%s{\"reason\":\"%s\",\"message\":", check->n ? "," : "", reason);
    ek_json_quote(check->causes, text);
    ek_buf_puts(check->causes, ",\"field\":");
    ek_json_quote(check->causes, field);
    ek_buf_puts(check->causes, "}");
    ek_buf_printf(check->message, "%s%s: %s", check->n ? ", " : "", field, text);
    check->n++;
}

static const char *type_name(yyjson_mut_val *value)
{
    if (yyjson_mut_is_obj(value))
        return "object";
    if (yyjson_mut_is_arr(value))
        return "array";
    if (yyjson_mut_is_str(value))
        return "string";
    if (yyjson_mut_is_bool(value))
        return "boolean";
    if (yyjson_mut_is_int(value))
        return "integer";
    return yyjson_mut_is_real(value) ? "number" : "null";
}

/* Returns false when the type is wrong, so that nothing more is said about the value. */
static bool check_type(struct check *check, yyjson_mut_val *value, yyjson_val *schema)
{
    const char *type = ek_json_str(schema, "type", NULL), *is = type_name(value);
    bool int_or_string = yyjson_get_bool(yyjson_obj_get(schema, "x-kubernetes-int-or-string"));

    if (int_or_string ? yyjson_mut_is_int(value) || yyjson_mut_is_str(value)
                      : !type || strcmp(type, is) == 0)
        return true;
    if (type && strcmp(type, "number") == 0 && yyjson_mut_is_num(value))
        return true;
    if (yyjson_mut_is_null(value) && yyjson_get_bool(yyjson_obj_get(schema, "nullable")))
        return true;
    complain(check, "FieldValueTypeInvalid",
             "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", is, check->path,
             int_or_string ? "integer,string" : type, is);
    return false;
}

static void check_enum(struct check *check, yyjson_mut_val *value, yyjson_val *allowed)
{
    size_t index, max;
    yyjson_val *item;
    EK_AUTO(ek_buf) text = {0};

    if (!allowed || !yyjson_mut_is_str(value))
        return;
    ek_buf_init(&text, 4096);
    ek_buf_printf(&text,
                  "Unsupported value: \"%s\": supported values: ", yyjson_mut_get_str(value));
    yyjson_arr_foreach(allowed, index, max, item)
    {
        if (yyjson_equals_str(item, yyjson_mut_get_str(value)))
            return;
        ek_buf_printf(&text, "%s\"%s\"", index ? ", " : "", yyjson_get_str(item));
    }
    complain(check, "FieldValueNotSupported", "%s", ek_buf_str(&text));
}

static void check_bounds(struct check *check, yyjson_mut_val *value, yyjson_val *schema)
{
    yyjson_val *min = yyjson_obj_get(schema, "minimum"), *max = yyjson_obj_get(schema, "maximum");
    yyjson_val *least = yyjson_obj_get(schema, "minLength");
    yyjson_val *most = yyjson_obj_get(schema, "maxLength");
    yyjson_val *items = yyjson_obj_get(schema, "maxItems");

    if (min && yyjson_mut_is_num(value) && yyjson_mut_get_num(value) < yyjson_get_num(min)) {
        complain(check, "FieldValueInvalid",
                 "Invalid value: %g: %s in body should be greater than or equal to %g",
                 yyjson_mut_get_num(value), check->path, yyjson_get_num(min));
    }
    if (max && yyjson_mut_is_num(value) && yyjson_mut_get_num(value) > yyjson_get_num(max)) {
        complain(check, "FieldValueInvalid",
                 "Invalid value: %g: %s in body should be less than or equal to %g",
                 yyjson_mut_get_num(value), check->path, yyjson_get_num(max));
    }
    if (least && yyjson_mut_is_str(value) && yyjson_mut_get_len(value) < yyjson_get_uint(least)) {
        complain(check, "FieldValueInvalid",
                 "Invalid value: \"%s\": %s in body should be at least %u chars long",
                 yyjson_mut_get_str(value), check->path, (unsigned)yyjson_get_uint(least));
    }
    if (most && yyjson_mut_is_str(value) && yyjson_mut_get_len(value) > yyjson_get_uint(most)) {
        complain(check, "FieldValueTooLong", "Too long: may not be more than %u bytes",
                 (unsigned)yyjson_get_uint(most));
    }
    if (items && yyjson_mut_is_arr(value) && yyjson_mut_get_len(value) > yyjson_get_uint(items)) {
        complain(check, "FieldValueTooMany", "Too many: %zu: must have at most %u items",
                 yyjson_mut_get_len(value), (unsigned)yyjson_get_uint(items));
    }
}

static void check_required(struct check *check, yyjson_mut_val *value, yyjson_val *schema)
{
    size_t index, max, len = strlen(check->path);
    yyjson_val *item;

    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), index, max, item)
    {
        const char *name = yyjson_get_str(item);
        if (!name || yyjson_mut_obj_get(value, name))
            continue;
        snprintf(check->path + len, sizeof(check->path) - len, "%s%s", len ? "." : "", name);
        complain(check, "FieldValueRequired", "Required value");
        check->path[len] = '\0';
    }
}

static void check_value(struct check *check, yyjson_mut_val *value, yyjson_val *schema, int depth)
{
    size_t index, max, len = strlen(check->path);
    yyjson_mut_val *key, *member;

    if (!schema || depth > DEPTH_MAX || (depth > 0 && !check_type(check, value, schema)))
        return;
    check_enum(check, value, yyjson_obj_get(schema, "enum"));
    check_bounds(check, value, schema);
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, index, max, member)
        {
            snprintf(check->path + len, sizeof(check->path) - len, "[%zu]", index);
            check_value(check, member, yyjson_obj_get(schema, "items"), depth + 1);
            check->path[len] = '\0';
        }
    }
    if (!yyjson_mut_is_obj(value))
        return;
    check_required(check, value, schema);
    yyjson_mut_obj_foreach(value, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        if (depth == 0 && is_typemeta(name))
            continue;
        snprintf(check->path + len, sizeof(check->path) - len, "%s%s", len ? "." : "", name);
        check_value(check, member, member_schema(schema, name), depth + 1);
        check->path[len] = '\0';
    }
}

size_t ek_schema_check(yyjson_mut_val *value, yyjson_val *schema, struct ek_buf *causes,
                       struct ek_buf *message)
{
    struct check check = {.causes = causes, .message = message};

    check_value(&check, value, schema, 0);
    return check.n;
}
