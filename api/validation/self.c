/* SPDX-License-Identifier: Apache-2.0 */
/* The values that rules see: apiserver 1.36,
 * pkg/cel/common/valuesunstructured.go:UnstructuredToVal, schemas.go:SchemaDeclType. */
#include <ctype.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/cel/library.h"
#include "api/cel/text/field.h"
#include "api/cel/text/time.h"
#include "api/obj.h"
#include "api/validation/validation-internal.h"

struct making {
    struct ek_vwalk walk; /* whose arena is the scratch */
    bool compares;
    struct ek_arena *arena;
    struct ek_work *work;
    const char *why;
};

static struct ek_cel_val make(struct making *m, yyjson_val *schema, yyjson_val *value,
                              bool is_root);

static bool flag(yyjson_val *schema, const char *name)
{
    return yyjson_is_true(yyjson_obj_get(schema, name));
}

bool ek_vexposed__(yyjson_val *schema)
{
    const char *type = ek_json_text(schema, "type");
    yyjson_val *more = yyjson_obj_get(schema, "additionalProperties");

    if (!strcmp(type, "array"))
        return yyjson_is_obj(yyjson_obj_get(schema, "items")) &&
               ek_vexposed__(yyjson_obj_get(schema, "items"));
    if (!strcmp(type, "object"))
        return !yyjson_is_obj(more) || ek_vexposed__(more);
    return *type || flag(schema, "x-kubernetes-int-or-string") ||
           flag(schema, "x-kubernetes-embedded-resource");
}

/* ---- Containers ---- */

static struct ek_cel_val no_memory(struct making *m)
{
    m->why = "the value does not fit the memory of a rule";
    return ek_cel_null();
}

static struct ek_cel_entries *room_for(struct making *m, size_t n)
{
    struct ek_cel_entries *e =
        n < UINT32_MAX / 2 ? ek_arena_try(m->arena, sizeof *e + 2 * n * sizeof e->v[0]) : NULL;

    if (e)
        *e = (struct ek_cel_entries){0};
    return e;
}

static void put(struct ek_cel_entries *e, const char *name, size_t len, struct ek_cel_val value)
{
    e->v[2 * (size_t)e->used] = ek_cel_string(name, len);
    e->v[2 * (size_t)e->used + 1] = value;
    e->used++;
}

static struct ek_cel_val map_of(const struct ek_cel_entries *e)
{
    return (struct ek_cel_val){
        .kind = EK_CEL_MAP, .form = EK_CEL_NATIVE, .n = e->used, .entries = e};
}

/* Of metadata rules see the name and its prefix. */
static struct ek_cel_val make_metadata(struct making *m, yyjson_val *metadata)
{
    static const char *const names[] = {"name", "generateName"};
    struct ek_cel_entries *e = room_for(m, EK_ARRAY_SIZE(names));

    if (!e)
        return no_memory(m);
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        yyjson_val *value = yyjson_obj_get(metadata, names[i]);
        if (value)
            put(e, names[i], strlen(names[i]), ek_cel_from_json(value));
    }
    return map_of(e);
}

/* apiVersion, kind and metadata, which every resource has. */
static bool put_identity(struct making *m, struct ek_cel_entries *e, const char *name,
                         yyjson_val *value)
{
    if (!strcmp(name, "apiVersion") || !strcmp(name, "kind"))
        put(e, name, strlen(name), ek_cel_from_json(value));
    else if (!strcmp(name, "metadata"))
        put(e, name, strlen(name), make_metadata(m, value));
    else
        return false;
    return true;
}

static struct ek_cel_val make_object(struct making *m, yyjson_val *schema, yyjson_val *object,
                                     bool is_root)
{
    struct ek_cel_entries *e = room_for(m, yyjson_obj_size(object));
    bool is_resource = is_root || flag(schema, "x-kubernetes-embedded-resource");
    yyjson_val *key, *value;
    size_t i, n;

    if (!e)
        return no_memory(m);
    ek_json_each_member(object, i, n, key, value)
    {
        struct ek_str name = {yyjson_get_str(key), yyjson_get_len(key)};
        bool is_key;
        if (is_resource && put_identity(m, e, name.p, value))
            continue;
        yyjson_val *of = ek_vmember__(m->work, schema, name, &is_key);
        const char *as = !of || !ek_vexposed__(of) ? NULL
                         : is_key                  ? name.p
                                                   : ek_cel_escaped_name(name, m->arena);
        if (as)
            put(e, as, is_key ? name.len : strlen(as), make(m, of, value, false));
    }
    return map_of(e);
}

/* What identifies an item of a set or a map: ek_videntity__; nothing for what is no item of a map.
 */
static struct ek_cel_val identity(struct making *m, yyjson_val *schema, yyjson_val *item,
                                  bool is_map)
{
    const char *text = ek_videntity__(&m->walk, schema, item, is_map, true);

    return text ? ek_cel_string(text, strlen(text)) : ek_cel_string("", 0);
}

static struct ek_cel_val make_list(struct making *m, yyjson_val *schema, yyjson_val *list)
{
    const char *type = ek_json_text(schema, "x-kubernetes-list-type");
    bool is_map = !strcmp(type, "map");
    bool is_unordered = m->compares && (is_map || !strcmp(type, "set"));
    size_t size = yyjson_arr_size(list), i, n, n_values = is_unordered ? 2 * size : size;
    struct ek_cel_items *items =
        size < UINT32_MAX / 2
            ? ek_arena_try(m->arena, sizeof *items + n_values * sizeof items->v[0])
            : NULL;
    yyjson_val *item;

    if (!items)
        return no_memory(m);
    *items = (struct ek_cel_items){.used = (uint32_t)size};
    yyjson_arr_foreach(list, i, n, item)
    {
        items->v[i] = make(m, yyjson_obj_get(schema, "items"), item, false);
        if (is_unordered)
            items->v[size + i] = identity(m, schema, item, is_map);
    }
    return (struct ek_cel_val){.kind = EK_CEL_LIST,
                               .form = EK_CEL_NATIVE,
                               .offset = is_unordered ? EK_CEL_LIST_UNORDERED : EK_CEL_LIST_PLAIN,
                               .n = (uint32_t)size,
                               .items = items};
}

/* ---- Scalars ---- */

static struct ek_cel_val make_bytes(struct making *m, yyjson_val *text)
{
    EK_AUTOFREE char *data = NULL;
    size_t size;

    if (ek_base64_decode(yyjson_get_str(text), &data, &size)) {
        m->why = "a text is no base64";
        return ek_cel_null();
    }
    return ek_cel_bytes(ek_arena_strndup(m->arena, data, size), size);
}

static struct ek_cel_val make_time(struct making *m, yyjson_val *text, bool is_date)
{
    const char *s = yyjson_get_str(text);
    struct ek_cel_val v = ek_cel_null();

    if (is_date)
        s = ek_arena_printf(m->arena, "%sT00:00:00Z", s);
    if (!ek_cel_time_parse(s, strlen(s), &v))
        m->why = "a text is no time";
    return v;
}

static struct ek_cel_val make_duration(struct making *m, yyjson_val *text)
{
    int64_t ns = 0;

    if (!ek_cel_duration_parse(yyjson_get_str(text), yyjson_get_len(text), &ns))
        m->why = "a text is no duration";
    return ek_cel_duration(ns);
}

static struct ek_cel_val make_string(struct making *m, yyjson_val *schema, yyjson_val *text)
{
    const char *format = ek_json_text(schema, "format");

    if (!strcmp(format, "byte"))
        return make_bytes(m, text);
    if (!strcmp(format, "date") || !strcmp(format, "date-time"))
        return make_time(m, text, !strcmp(format, "date"));
    if (!strcmp(format, "duration"))
        return make_duration(m, text);
    return ek_cel_from_json(text);
}

/* A double in the place of an integer is an error of each expression that reads the value, also a
 * whole one: Go has it as a float64. */
static struct ek_cel_val make_number(const char *type, yyjson_val *value)
{
    static const struct ek_cel_fault no_int = {
        .kind = EK_CEL_E_EVAL, .message = "invalid data, expected int, got float64"};
    struct ek_cel_val made = ek_cel_from_json(value);

    if (!strcmp(type, "number"))
        return ek_cel_double(yyjson_get_num(value));
    return made.kind == EK_CEL_DOUBLE && !strcmp(type, "integer") ? ek_cel_error(&no_int) : made;
}

static struct ek_cel_val make_int_or_string(yyjson_val *value)
{
    static const struct ek_cel_fault neither = {
        .kind = EK_CEL_E_EVAL,
        .message = "invalid data, expected XIntOrString value to be either a string or integer"};
    struct ek_cel_val made = ek_cel_from_json(value);

    return made.kind == EK_CEL_DOUBLE ? ek_cel_error(&neither) : made;
}

static struct ek_cel_val make(struct making *m, yyjson_val *schema, yyjson_val *value, bool is_root)
{
    const char *type = ek_json_text(schema, "type");

    if (!ek_work_do(m->work, 1))
        m->why = "the object takes too long to validate";
    if (flag(schema, "x-kubernetes-int-or-string") || m->why)
        return make_int_or_string(value);
    if (yyjson_is_obj(value))
        return make_object(m, schema, value, is_root);
    if (yyjson_is_arr(value))
        return make_list(m, schema, value);
    if (yyjson_is_str(value))
        return make_string(m, schema, value);
    return yyjson_is_num(value) ? make_number(type, value) : ek_cel_from_json(value);
}

struct ek_cel_val ek_vself__(struct ek_vwalk *w, const struct ek_vnode *node, yyjson_val *value,
                             bool is_root, const char **ret_why)
{
    struct making m = {
        .walk = *w, .compares = node->compares, .arena = w->scratch, .work = w->work};

    m.walk.arena = w->scratch;
    struct ek_cel_val self = make(&m, node->schema, value, is_root);

    *ret_why =
        ek_arena_exhausted(w->scratch) ? "the value does not fit the memory of a rule" : m.why;
    return self;
}
