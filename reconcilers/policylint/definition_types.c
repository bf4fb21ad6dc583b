/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/policylint/definition_types.h"

#include <ctype.h>
#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/cel/text/field.h"
#include "api/obj.h"

#define DEPTH_MAX     200
#define TYPE_TEXT_MAX 200 /* octets of a type's name in messages; longer ones are cut */

/* apiserver/pkg/cel/limits.go. */
#define DURATION_MAX 32
#define DATE_SIZE    12
#define DATETIME_MAX 32
#define DATETIME_MIN 21
#define DURATION_MIN 3
#define STRING_MIN   2
#define BOOL_MIN     4
#define NUMBER_MIN   1

/* ---- Building ---- */

struct builder {
    struct ek_arena *arena;
    unsigned depth;
};

static const struct ek_decl *build(struct builder *b, yyjson_val *schema, bool is_root);

static struct ek_decl *new_decl(struct builder *b)
{
    return ek_arena_alloc(b->arena, sizeof(struct ek_decl));
}

static const struct ek_decl *scalar(struct builder *b, const char *type, uint64_t max_elements,
                                    uint64_t min_size)
{
    struct ek_decl *d = new_decl(b);

    d->form = EK_DECL_SCALAR;
    d->scalar = type;
    d->size.max_elements = max_elements;
    d->min_size = min_size;
    return d;
}

/* A bound of the schema, as a Go int64 that is at least 0; false when it has none. */
static bool bound_of(yyjson_val *schema, const char *name, uint64_t *ret)
{
    yyjson_val *v = yyjson_obj_get(schema, name);

    if (!yyjson_is_int(v))
        return false;
    *ret = yyjson_is_sint(v) && yyjson_get_sint(v) < 0 ? 0 : yyjson_get_uint(v);
    return true;
}

static uint64_t longest_enum(yyjson_val *list)
{
    yyjson_val *v;
    size_t i, n, longest = 0;

    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_is_str(v) && yyjson_get_len(v) > longest)
            longest = yyjson_get_len(v);
    }
    return longest;
}

static const struct ek_decl *string_decl(struct builder *b, yyjson_val *schema)
{
    const char *format = ek_json_text(schema, "format");
    yyjson_val *values = yyjson_obj_get(schema, "enum");
    uint64_t max = EK_REQUEST_MAX - 2, length;
    bool bounded = bound_of(schema, "maxLength", &length);

    if (!strcmp(format, "byte"))
        return scalar(b, "bytes", bounded ? length : max, STRING_MIN);
    if (!strcmp(format, "duration"))
        return scalar(b, "duration", DURATION_MAX, DURATION_MIN);
    if (!strcmp(format, "date"))
        return scalar(b, "timestamp", DATE_SIZE, DATE_SIZE);
    if (!strcmp(format, "date-time"))
        return scalar(b, "timestamp", DATETIME_MAX, DATETIME_MIN);
    if (bounded)
        max = length * 4; /* a code point has up to four octets */
    else if (yyjson_arr_size(values))
        max = longest_enum(values);
    return scalar(b, "string", max, STRING_MIN);
}

static const struct ek_decl *list_decl(struct builder *b, yyjson_val *schema)
{
    yyjson_val *items = yyjson_obj_get(schema, "items");
    const struct ek_decl *item =
        build(b, items, yyjson_is_true(yyjson_obj_get(items, "x-kubernetes-embedded-resource")));
    uint64_t max;

    if (!item)
        return NULL;
    struct ek_decl *d = new_decl(b);
    if (!bound_of(schema, "maxItems", &max))
        max = (EK_REQUEST_MAX - 2) / (item->min_size + 1);
    d->form = EK_DECL_LIST;
    d->size = (struct ek_cel_declared){.max_elements = max, .element = &item->size};
    d->min_size = 2;
    return d;
}

static const struct ek_decl *map_decl(struct builder *b, yyjson_val *schema, yyjson_val *values)
{
    static const struct ek_cel_declared key = {0};
    const struct ek_decl *value =
        build(b, values, yyjson_is_true(yyjson_obj_get(values, "x-kubernetes-embedded-resource")));
    uint64_t max;

    if (!value)
        return NULL;
    struct ek_decl *d = new_decl(b);
    if (!bound_of(schema, "maxProperties", &max))
        max = (EK_REQUEST_MAX - 2) / (value->min_size + 6);
    d->form = EK_DECL_MAP;
    d->size = (struct ek_cel_declared){.max_elements = max, .key = &key, .element = &value->size};
    d->min_size = 2;
    return d;
}

/* An object while its fields are added. */
struct fields {
    struct ek_cel_declared_field *list;
    const char **as_written;
    size_t n;
    uint64_t min_size;
    struct ek_map required; /* names */
};

static void read_required(struct fields *f, yyjson_val *schema)
{
    yyjson_val *list = yyjson_obj_get(schema, "required"), *v;
    size_t i, n;

    ek_map_reserve(&f->required, yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_is_str(v))
            ek_map_put(&f->required, yyjson_get_str(v), v);
    }
}

static bool is_required(const struct fields *f, const char *name)
{
    return ek_map_get(&f->required, name) != NULL;
}

static void add_field(struct builder *b, struct fields *f, const char *name,
                      const struct ek_decl *decl, bool counts)
{
    const char *escaped = ek_cel_escaped_name(ek_str_from(name), b->arena);

    if (escaped) {
        f->list[f->n] = (struct ek_cel_declared_field){escaped, &decl->size};
        f->as_written[f->n++] = name;
    }
    if (counts)
        f->min_size += strlen(name) + decl->min_size + 4;
}

static bool is_of_type(yyjson_val *schema, const char *property, const char *type)
{
    return !strcmp(ek_json_text(yyjson_obj_get(schema, property), "type"), type);
}

#define N_OF_RESOURCES 3
static const char *const of_resources[N_OF_RESOURCES + 1] = {"kind", "apiVersion", "metadata",
                                                             NULL};

/* Whether the schema says all that a resource has anyway
 * (apiextensions-apiserver/pkg/apiserver/schema/cel/model/schemas.go: WithTypeAndObjectMeta). */
static bool has_type_and_metadata(yyjson_val *properties)
{
    yyjson_val *metadata = ek_json_get(properties, "metadata", "properties", NULL);

    return is_of_type(properties, "kind", "string") &&
           is_of_type(properties, "apiVersion", "string") &&
           is_of_type(properties, "metadata", "object") && is_of_type(metadata, "name", "string") &&
           is_of_type(metadata, "generateName", "string");
}

static const struct ek_decl *finish(struct builder *b, const struct fields *f)
{
    struct ek_decl *d = new_decl(b);

    d->form = EK_DECL_OBJECT;
    d->size = (struct ek_cel_declared){.fields = f->list, .n_fields = f->n};
    d->as_written = f->as_written;
    d->min_size = f->min_size;
    return d;
}

static struct fields new_fields(struct builder *b, size_t n)
{
    return (struct fields){.list = ek_arena_alloc(b->arena, n * sizeof(*(struct fields){0}.list)),
                           .as_written = ek_arena_alloc(b->arena, n * sizeof(char *)),
                           .min_size = 2};
}

/* kind, apiVersion and metadata in the place of what the schema says of them. */
static void add_metadata(struct builder *b, struct fields *f)
{
    const struct ek_decl *text = scalar(b, "string", EK_REQUEST_MAX - 2, STRING_MIN);
    struct fields metadata = new_fields(b, 2);

    add_field(b, &metadata, "name", text, false);
    add_field(b, &metadata, "generateName", text, false);
    add_field(b, f, "kind", text, is_required(f, "kind"));
    add_field(b, f, "apiVersion", text, is_required(f, "apiVersion"));
    add_field(b, f, "metadata", finish(b, &metadata), is_required(f, "metadata"));
}

static const struct ek_decl *object_decl(struct builder *b, yyjson_val *schema, bool is_root)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties"), *key, *v;
    yyjson_val *values = yyjson_obj_get(schema, "additionalProperties");
    struct fields f = new_fields(b, yyjson_obj_size(properties) + N_OF_RESOURCES);
    bool replaced = is_root && !has_type_and_metadata(properties);
    size_t i, n;

    if (yyjson_is_obj(values))
        return map_decl(b, schema, values);
    read_required(&f, schema);
    ek_json_each_member(properties, i, n, key, v)
    {
        const char *name = yyjson_get_str(key);
        bool embedded = yyjson_is_true(yyjson_obj_get(v, "x-kubernetes-embedded-resource"));
        if (replaced && ek_is_one_of(name, of_resources))
            continue;
        const struct ek_decl *decl = build(b, v, embedded);
        if (decl)
            add_field(b, &f, name, decl, is_required(&f, name) && !yyjson_obj_get(v, "default"));
    }
    if (replaced)
        add_metadata(b, &f);
    ek_map_done(&f.required);
    return finish(b, &f);
}

static const struct ek_decl *build_known(struct builder *b, yyjson_val *schema, bool is_root)
{
    const char *type = ek_json_text(schema, "type");
    uint64_t length;

    if (yyjson_is_true(yyjson_obj_get(schema, "x-kubernetes-int-or-string")))
        return scalar(b, "dyn",
                      bound_of(schema, "maxLength", &length) ? length * 4 : EK_REQUEST_MAX - 2, 1);
    if (!strcmp(type, "array"))
        return list_decl(b, schema);
    if (!strcmp(type, "object"))
        return object_decl(b, schema, is_root);
    if (!strcmp(type, "string"))
        return string_decl(b, schema);
    if (!strcmp(type, "boolean"))
        return scalar(b, "bool", 0, BOOL_MIN);
    if (!strcmp(type, "number"))
        return scalar(b, "double", 0, NUMBER_MIN);
    if (!strcmp(type, "integer"))
        return scalar(b, "int", 0, NUMBER_MIN);
    return NULL;
}

static const struct ek_decl *build(struct builder *b, yyjson_val *schema, bool is_root)
{
    const struct ek_decl *decl = NULL;

    if (!yyjson_is_obj(schema) || b->depth >= DEPTH_MAX || ek_arena_exhausted(b->arena))
        return NULL;
    b->depth++;
    decl = build_known(b, schema, is_root);
    b->depth--;
    return decl;
}

const struct ek_decl *ek_decl_of(yyjson_val *schema, bool is_root, struct ek_arena *arena)
{
    struct builder b = {.arena = arena};

    return build(&b, schema, is_root);
}

/* ---- Reading ---- */

/* size is the first member. */
static const struct ek_decl *outer(const struct ek_cel_declared *size)
{
    return (const struct ek_decl *)size;
}

const struct ek_decl *ek_decl_property(const struct ek_decl *decl, const char *name, size_t *next)
{
    size_t n = decl && decl->form == EK_DECL_OBJECT ? decl->size.n_fields : 0;
    size_t at = *next;

    if (at >= n || strcmp(decl->as_written[at], name) != 0) {
        /* What a resource has anyway comes last. */
        at = n > N_OF_RESOURCES ? n - N_OF_RESOURCES : 0;
        while (at < n && strcmp(decl->as_written[at], name) != 0)
            at++;
        return at < n ? outer(decl->size.fields[at].type) : NULL;
    }
    *next = at + 1;
    return outer(decl->size.fields[at].type);
}

const struct ek_decl *ek_decl_element(const struct ek_decl *decl)
{
    return decl && decl->size.element ? outer(decl->size.element) : NULL;
}

/* ---- Declaring ---- */

struct declaration {
    struct ek_cel_env *env;
    struct ek_arena *arena;
    struct ek_err *err;
    size_t *left; /* fields that may still be declared */
    size_t n;     /* of types with a name that was cut */
};

static const char *declare(struct declaration *d, const struct ek_decl *decl, const char *name);

static const char *inner_name(struct declaration *d, const char *name, const char *part)
{
    size_t len = strlen(name);

    if (len + strlen(part) + 1 < TYPE_TEXT_MAX)
        return ek_arena_printf(d->arena, "%s.%s", name, part);
    len = len < TYPE_TEXT_MAX / 2 ? len : TYPE_TEXT_MAX / 2;
    while (len && name[len - 1] == '.')
        len--;
    return ek_arena_printf(d->arena, "%.*s.@cut%zu", (int)len, name, ++d->n);
}

static const char *declare_object(struct declaration *d, const struct ek_decl *decl,
                                  const char *name)
{
    /* A type without fields is declared by one that no expression can name. */
    if (ek_cel_env_declare_field(d->env, name, "@none", "dyn", d->err))
        return NULL;
    for (size_t i = 0; i < decl->size.n_fields; i++) {
        const struct ek_cel_declared_field *field = &decl->size.fields[i];
        const char *type = declare(d, outer(field->type), inner_name(d, name, field->name));
        if (!type || ek_cel_env_declare_field(d->env, name, field->name, type, d->err))
            return NULL;
    }
    return name;
}

static const char *declare(struct declaration *d, const struct ek_decl *decl, const char *name)
{
    const char *element;

    if (!*d->left || ek_arena_exhausted(d->arena)) {
        ek_err_set(d->err, EK_E_LIMIT, "the schema is too large");
        return NULL;
    }
    --*d->left;
    switch (decl->form) {
    case EK_DECL_OBJECT:
        return declare_object(d, decl, name);
    case EK_DECL_LIST:
        element = declare(d, ek_decl_element(decl), inner_name(d, name, "@idx"));
        return element ? ek_arena_printf(d->arena, "list(%s)", element) : NULL;
    case EK_DECL_MAP:
        element = declare(d, ek_decl_element(decl), inner_name(d, name, "@elem"));
        return element ? ek_arena_printf(d->arena, "map(string, %s)", element) : NULL;
    default:
        return decl->scalar;
    }
}

const char *ek_decl_declare(const struct ek_decl *decl, const char *name, struct ek_cel_env *env,
                            size_t *left, struct ek_arena *arena, struct ek_err *err)
{
    struct declaration d = {.env = env, .arena = arena, .err = err, .left = left};

    return declare(&d, decl, name);
}
