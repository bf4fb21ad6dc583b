/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of the public conformance cases, as JSON: values (cel.expr.Value), types
 * (cel.expr.Type) and declarations (cel.expr.Decl).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/cel/library.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/type.h"
#include "api/obj.h"
#include "test/vectors/cel.h"

#define TYPE_MAX ((size_t)4096)

/* ---- Values ---- */

/* What stands for a value that is none of ours (messages, enumerations) or is not well formed. */
static struct ek_cel_val unreadable(void)
{
    static const struct ek_cel_fault fault = {.message =
                                                  "the case binds a value that is not understood"};

    return ek_cel_error(&fault);
}

static struct ek_cel_val list_of(struct ek_arena *arena, yyjson_val *values)
{
    size_t n = yyjson_arr_size(values), i, max;
    struct ek_cel_items *items =
        ek_arena_alloc(arena, sizeof(*items) + n * sizeof(struct ek_cel_val));
    yyjson_val *value;

    yyjson_arr_foreach(values, i, max, value)
    {
        items->v[i] = ek_cel_spec_value(arena, value);
    }
    items->used = (uint32_t)n;
    return (struct ek_cel_val){.kind = EK_CEL_LIST, .n = items->used, .items = items};
}

/* Without an index, which small maps do not need. */
static struct ek_cel_val map_of(struct ek_arena *arena, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list), i, max;
    struct ek_cel_entries *entries =
        ek_arena_alloc(arena, sizeof(*entries) + 2 * n * sizeof(struct ek_cel_val));
    yyjson_val *entry;

    yyjson_arr_foreach(list, i, max, entry)
    {
        entries->v[2 * i] = ek_cel_spec_value(arena, yyjson_obj_get(entry, "key"));
        entries->v[2 * i + 1] = ek_cel_spec_value(arena, yyjson_obj_get(entry, "value"));
    }
    entries->used = (uint32_t)n;
    return (struct ek_cel_val){.kind = EK_CEL_MAP, .n = entries->used, .entries = entries};
}

static struct ek_cel_val bytes_of(struct ek_arena *arena, const char *text)
{
    EK_AUTOFREE char *data = NULL;
    size_t size = 0;

    if (!text || ek_base64_decode(text, &data, &size))
        return unreadable();
    return ek_cel_bytes(ek_arena_strndup(arena, data ? data : "", size), size);
}

static double double_of(yyjson_val *json)
{
    if (!yyjson_is_str(json))
        return yyjson_get_num(json);
    double d = NAN;
    ek_cel_parse_double(yyjson_get_str(json), yyjson_get_len(json), &d);
    return d;
}

static struct ek_cel_val int_of(yyjson_val *json)
{
    int64_t i = yyjson_get_sint(json);

    if (yyjson_is_str(json))
        ek_cel_parse_int(yyjson_get_str(json), yyjson_get_len(json), &i);
    return ek_cel_int(i);
}

static struct ek_cel_val uint_of(yyjson_val *json)
{
    uint64_t u = yyjson_get_uint(json);

    if (yyjson_is_str(json))
        ek_cel_parse_uint(yyjson_get_str(json), yyjson_get_len(json), &u);
    return ek_cel_uint(u);
}

/* The well-known messages that are values of CEL. */
static struct ek_cel_val message_of(struct ek_arena *arena, yyjson_val *json)
{
    const char *type = ek_json_str(json, "@type", NULL);
    const char *name = type && strrchr(type, '.') ? strrchr(type, '.') + 1 : "";
    yyjson_val *value = yyjson_obj_get(json, "value");
    struct ek_cel_val out = unreadable();
    int64_t ns;

    if (!strcmp(name, "Timestamp") && yyjson_is_str(value))
        ek_cel_time_parse(yyjson_get_str(value), yyjson_get_len(value), &out);
    else if (!strcmp(name, "Duration") && yyjson_is_str(value) &&
             ek_cel_duration_parse(yyjson_get_str(value), yyjson_get_len(value), &ns))
        out = ek_cel_duration(ns);
    else if (!strcmp(name, "BytesValue"))
        out = bytes_of(arena, yyjson_get_str(value));
    else if (!strncmp(name, "Int", 3))
        out = int_of(value);
    else if (!strncmp(name, "UInt", 4))
        out = uint_of(value);
    else if (!strcmp(name, "DoubleValue") || !strcmp(name, "FloatValue"))
        out = ek_cel_double(double_of(value));
    else if (value)
        out = ek_cel_from_json(value);
    return out;
}

static struct ek_cel_val type_of(struct ek_arena *arena, const char *name)
{
    return (struct ek_cel_val){
        .kind = EK_CEL_TYPE,
        .type = ek_cel_type_make(arena, EK_CEL_T_OPAQUE, ek_arena_strdup(arena, name), NULL, 0)};
}

struct ek_cel_val ek_cel_spec_value(struct ek_arena *arena, yyjson_val *json)
{
    yyjson_obj_iter iter = yyjson_obj_iter_with(json);
    yyjson_val *key = yyjson_obj_iter_next(&iter);
    const char *kind = yyjson_get_str(key);
    yyjson_val *value = yyjson_obj_iter_get_val(key);

    if (!kind)
        return unreadable();
    if (!strcmp(kind, "null_value"))
        return ek_cel_null();
    if (!strcmp(kind, "bool_value"))
        return ek_cel_bool(yyjson_get_bool(value));
    if (!strcmp(kind, "int64_value"))
        return int_of(value);
    if (!strcmp(kind, "uint64_value"))
        return uint_of(value);
    if (!strcmp(kind, "double_value"))
        return ek_cel_double(double_of(value));
    if (!strcmp(kind, "string_value") && yyjson_is_str(value))
        return ek_cel_string(yyjson_get_str(value), yyjson_get_len(value));
    if (!strcmp(kind, "bytes_value"))
        return bytes_of(arena, yyjson_get_str(value));
    if (!strcmp(kind, "list_value"))
        return list_of(arena, yyjson_obj_get(value, "values"));
    if (!strcmp(kind, "map_value"))
        return map_of(arena, yyjson_obj_get(value, "entries"));
    if (!strcmp(kind, "type_value") && yyjson_is_str(value))
        return type_of(arena, yyjson_get_str(value));
    if (!strcmp(kind, "object_value"))
        return message_of(arena, value);
    return unreadable();
}

/* ---- Types ---- */

static void put_type(struct ek_buf *out, yyjson_val *type);

static void put_primitive(struct ek_buf *out, const char *name)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"BOOL", "bool"},
        {"INT64", "int"},
        {"UINT64", "uint"},
        {"DOUBLE", "double"},
        {"STRING", "string"},
        {"BYTES", "bytes"},
        {"TIMESTAMP", "google.protobuf.Timestamp"},
        {"DURATION", "google.protobuf.Duration"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        if (name && !strcmp(name, rows[i].name)) {
            ek_buf_puts(out, rows[i].text);
            return;
        }
    }
    ek_buf_puts(out, "dyn"); /* ANY, and what we do not know */
}

static void put_types(struct ek_buf *out, yyjson_val *types)
{
    yyjson_val *type;
    size_t i, n;

    yyjson_arr_foreach(types, i, n, type)
    {
        ek_buf_puts(out, i ? ", " : "");
        put_type(out, type);
    }
}

static void put_abstract(struct ek_buf *out, yyjson_val *abstract)
{
    yyjson_val *parameters = yyjson_obj_get(abstract, "parameter_types");

    ek_buf_puts(out, yyjson_get_str(yyjson_obj_get(abstract, "name")));
    if (!yyjson_arr_size(parameters))
        return;
    ek_buf_puts(out, "(");
    put_types(out, parameters);
    ek_buf_puts(out, ")");
}

/* A type as declarations write it. */
static void put_type(struct ek_buf *out, yyjson_val *type)
{
    yyjson_val *list = yyjson_obj_get(type, "list_type"), *map = yyjson_obj_get(type, "map_type");
    const char *simple = ek_json_str(type, "primitive", NULL);
    const char *message = ek_json_str(type, "message_type", NULL);
    const char *param = ek_json_str(type, "type_param", NULL);

    if (list) {
        ek_buf_puts(out, "list(");
        put_type(out, yyjson_obj_get(list, "elem_type"));
        ek_buf_puts(out, ")");
    } else if (map) {
        ek_buf_puts(out, "map(");
        put_type(out, yyjson_obj_get(map, "key_type"));
        ek_buf_puts(out, ", ");
        put_type(out, yyjson_obj_get(map, "value_type"));
        ek_buf_puts(out, ")");
    } else if (yyjson_obj_get(type, "abstract_type")) {
        put_abstract(out, yyjson_obj_get(type, "abstract_type"));
    } else if (yyjson_obj_get(type, "type")) {
        ek_buf_puts(out, "type(");
        put_type(out, yyjson_obj_get(type, "type"));
        ek_buf_puts(out, ")");
    } else if (yyjson_obj_get(type, "null")) {
        ek_buf_puts(out, "null_type");
    } else if (message || param) {
        ek_buf_puts(out, message ? message : param);
    } else {
        put_primitive(out, simple ? simple : ek_json_str(type, "well_known", NULL));
    }
}

/* ---- Declarations ---- */

static struct ek_cel_val not_there(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    (void)args;
    (void)n;
    return ek_cel_fail(eval, "the function is only declared");
}

/* The opaque types that a type names, as kinds of a library. */
static size_t collect_kinds(yyjson_val *type, struct ek_arena *arena,
                            const struct ek_cel_opaque_kind **kinds, size_t n, size_t max)
{
    const char *name = ek_json_str(type, "abstract_type", "name", NULL);

    if (!name || !strcmp(name, "optional_type") || n == max)
        return n;
    struct ek_cel_opaque_kind *kind = ek_arena_alloc(arena, sizeof(*kind));
    kind->name = ek_arena_strdup(arena, name);
    kinds[n] = kind;
    return n + 1;
}

static int declare_function(struct ek_cel_env *env, const char *name, yyjson_val *overloads,
                            struct ek_arena *arena, struct ek_err *err)
{
    size_t n = yyjson_arr_size(overloads), i, max, kinds = 0;
    struct ek_cel_overload *table = ek_arena_alloc(arena, (n + 1) * sizeof(*table));
    struct ek_cel_function *function = ek_arena_alloc(arena, 2 * sizeof(*function));
    struct ek_cel_library *library = ek_arena_alloc(arena, sizeof(*library));
    const struct ek_cel_opaque_kind **types =
        ek_arena_alloc(arena, (n + 1) * sizeof(struct ek_cel_opaque_kind *));
    yyjson_val *overload;

    yyjson_arr_foreach(overloads, i, max, overload)
    {
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, TYPE_MAX);
        put_types(&text, yyjson_obj_get(overload, "params"));
        ek_buf_puts(&text, " -> ");
        put_type(&text, yyjson_obj_get(overload, "result_type"));
        kinds = collect_kinds(yyjson_obj_get(overload, "result_type"), arena, types, kinds, n);
        bool member = yyjson_get_bool(yyjson_obj_get(overload, "is_instance_function"));
        table[i] = (struct ek_cel_overload){
            .id = ek_arena_strdup(arena, ek_json_str(overload, "overload_id", NULL)),
            .signature = ek_arena_strdup(arena, ek_buf_str(&text)),
            .flags = member ? EK_CEL_MEMBER : 0,
            .fn = not_there,
        };
    }
    function->name = ek_arena_strdup(arena, name);
    function->overloads = table;
    library->name = "test";
    library->functions = function;
    library->types = types;
    return ek_cel_env_add_library(env, library, 0, err);
}

int ek_cel_spec_declare(struct ek_cel_env *env, yyjson_val *type_env, struct ek_arena *arena,
                        struct ek_err *err)
{
    yyjson_val *decl;
    size_t i, n;
    int rc = 0;

    yyjson_arr_foreach(type_env, i, n, decl)
    {
        const char *name = ek_json_str(decl, "name", NULL);
        yyjson_val *type = ek_json_get(decl, "ident", "type", NULL);
        if (type) {
            EK_AUTO(ek_buf) text;
            ek_buf_init(&text, TYPE_MAX);
            put_type(&text, type);
            rc = ek_cel_env_declare(env, name, ek_buf_str(&text), err);
        } else {
            rc = declare_function(env, name, ek_json_get(decl, "function", "overloads", NULL),
                                  arena, err);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}
