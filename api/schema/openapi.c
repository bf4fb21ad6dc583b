/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/obj.h"
#include "api/schema/schema-internal.h"

#define QUANTITY      "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define RAW_EXTENSION "io.k8s.apimachinery.pkg.runtime.RawExtension"

/* The first types of every schema; those of the components follow, sorted by name. */
enum {
    DEDUCED, /* what has no schema: maps are granular, lists atomic */
    OPAQUE,  /* what is under such a list: one value, whatever it is */
    FIRST_COMPONENT,
};

/* How many of the latest overrides are searched for an equal one. */
#define OVERRIDES_SEARCHED 16u

struct component {
    struct ek_str name;
    yyjson_val *schema;
};

/* A reference to a component that says otherwise about its map or list. */
struct override {
    uint32_t type;   /* the type to fill */
    uint32_t target; /* the component's */
    bool atomic;
};

struct conversion {
    struct ek_schema_builder builder;
    struct component *components; /* owned, sorted */
    uint32_t n_components;
    struct ek_schema_vec overrides;
    struct ek_str current; /* the component being read, for messages */
    struct ek_err *err;
};

/* The members of one schema object that matter here; NULL where absent. */
struct spec {
    yyjson_val *type, *format, *properties, *additional, *items, *ref, *all_of, *required;
    yyjson_val *nullable, *initial, *list_type, *list_keys, *map_type, *preserve, *embedded;
    yyjson_val *int_or_string, *strategy, *merge_key, *kinds;
};

static const struct {
    const char *name;
    size_t len, at;
} members[] = {
#define MEMBER(text, field)                                                                        \
    {                                                                                              \
        text, sizeof(text) - 1, offsetof(struct spec, field)                                       \
    }
    MEMBER("type", type),
    MEMBER("format", format),
    MEMBER("properties", properties),
    MEMBER("additionalProperties", additional),
    MEMBER("items", items),
    MEMBER("$ref", ref),
    MEMBER("allOf", all_of),
    MEMBER("required", required),
    MEMBER("nullable", nullable),
    MEMBER("default", initial),
    MEMBER("x-kubernetes-list-type", list_type),
    MEMBER("x-kubernetes-list-map-keys", list_keys),
    MEMBER("x-kubernetes-map-type", map_type),
    MEMBER("x-kubernetes-preserve-unknown-fields", preserve),
    MEMBER("x-kubernetes-embedded-resource", embedded),
    MEMBER("x-kubernetes-int-or-string", int_or_string),
    MEMBER("x-kubernetes-patch-strategy", strategy),
    MEMBER("x-kubernetes-patch-merge-key", merge_key),
    MEMBER("x-kubernetes-group-version-kind", kinds),
#undef MEMBER
};

/* Where in a document something stands: what is inherited, and how deep. */
struct place {
    bool preserve; /* this or a schema around it keeps unknown fields */
    size_t depth;
};

static int position(struct conversion *c, yyjson_val *schema, struct place place,
                    uint32_t *ret_type);

static __attribute__((format(printf, 2, 3))) int refuse(struct conversion *c, const char *fmt, ...)
{
    char text[256], name[EK_QUOTE_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ek_err_set(c->err, EK_E_PARSE, "schema %s: %s", ek_quote_short(c->current, name), text);
}

static struct ek_str str_of(yyjson_val *v)
{
    return (struct ek_str){yyjson_get_str(v), yyjson_get_len(v)};
}

static bool is_str(yyjson_val *v, const char *s)
{
    return yyjson_equals_str(v, s);
}

static int read_spec(struct conversion *c, yyjson_val *schema, struct spec *ret)
{
    size_t i, max;
    yyjson_val *key, *val;

    *ret = (struct spec){0};
    if (!yyjson_is_obj(schema))
        return refuse(c, "a schema must be an object");
    ek_json_each_member(schema, i, max, key, val)
    {
        size_t len = yyjson_get_len(key);
        for (size_t m = 0; m < EK_ARRAY_SIZE(members); m++)
            if (members[m].len == len && memcmp(members[m].name, yyjson_get_str(key), len) == 0)
                *(yyjson_val **)((char *)ret + members[m].at) = val;
    }
    if (yyjson_is_arr(ret->type)) /* as OpenAPI 2 has it: the first one counts */
        ret->type = yyjson_arr_get_first(ret->type);
    if ((ret->type && !yyjson_is_str(ret->type)) || (ret->ref && !yyjson_is_str(ret->ref)) ||
        (ret->properties && !yyjson_is_obj(ret->properties)))
        return refuse(c, "a member of a schema has the wrong type");
    return 0;
}

static int compare_components(const void *a, const void *b)
{
    const struct component *x = a, *y = b;
    return ek_schema_compare(x->name, y->name);
}

/* The index of a component's type, EK_SCHEMA_NONE when there is none, or it is a mere reference. */
static uint32_t component_type(const struct conversion *c, struct ek_str name)
{
    struct component key = {name, NULL};
    const struct component *found = c->n_components ? bsearch(&key, c->components, c->n_components,
                                                              sizeof key, compare_components)
                                                    : NULL;

    if (!found || yyjson_obj_get(found->schema, "$ref"))
        return EK_SCHEMA_NONE;
    return FIRST_COMPONENT + (uint32_t)(found - c->components);
}

static struct ek_schema_type blank(struct conversion *c)
{
    return (struct ek_schema_type){.name = ek_schema_intern(&c->builder, EK_STR("")),
                                   .item = EK_SCHEMA_NONE,
                                   .member = EK_SCHEMA_NONE};
}

static struct ek_schema_type missing(struct conversion *c, struct ek_str name)
{
    struct ek_schema_type type = blank(c);

    type.name = ek_schema_intern(&c->builder, name);
    type.flags = EK_SCHEMA_MISSING;
    return type;
}

static int map_relation(struct conversion *c, const struct spec *spec, enum ek_schema_map *ret)
{
    *ret = EK_MAP_GRANULAR;
    if (is_str(spec->map_type, "atomic"))
        *ret = EK_MAP_ATOMIC;
    else if (spec->map_type && !is_str(spec->map_type, "granular"))
        return refuse(c, "x-kubernetes-map-type is neither atomic nor granular");
    return 0;
}

/* Adds a key field to a list; keys of one list are added in a row. */
static int add_key(struct conversion *c, yyjson_val *name, struct ek_schema_type *type)
{
    if (!yyjson_is_str(name))
        return 0;
    if (type->n_keys == EK_SCHEMA_KEYS_MAX)
        return refuse(c, "a list has more than %d keys", EK_SCHEMA_KEYS_MAX);
    uint32_t text = ek_schema_intern(&c->builder, str_of(name));
    uint32_t key = ek_schema_push(&c->builder, &c->builder.keys, sizeof text, &text);
    if (type->n_keys++ == 0)
        type->keys = key;
    type->list = EK_LIST_MAP;
    return 0;
}

/* What x-kubernetes-list-type, or else the older patch strategy, says of a list's items. */
static int list_relation(struct conversion *c, const struct spec *spec, struct ek_schema_type *type)
{
    size_t i, max;
    yyjson_val *key;
    int rc = 0;

    type->list = EK_LIST_ATOMIC;
    if (is_str(spec->list_type, "set")) {
        type->list = EK_LIST_SET;
    } else if (is_str(spec->list_type, "map")) {
        if (!yyjson_is_arr(spec->list_keys))
            return refuse(c, "a list of type map lacks x-kubernetes-list-map-keys");
        type->list = EK_LIST_SET;
        yyjson_arr_foreach(spec->list_keys, i, max, key)
        {
            rc = rc ? rc : add_key(c, key, type);
        }
    } else if (spec->list_type) {
        if (!is_str(spec->list_type, "atomic"))
            rc = refuse(c, "x-kubernetes-list-type is none of atomic, set and map");
    } else if (is_str(spec->strategy, "merge") || is_str(spec->strategy, "merge,retainKeys")) {
        type->list = EK_LIST_SET;
        if (spec->merge_key && !yyjson_is_str(spec->merge_key))
            return refuse(c, "x-kubernetes-patch-merge-key is not a string");
        rc = add_key(c, spec->merge_key, type);
    } else if (spec->strategy && !is_str(spec->strategy, "retainKeys")) {
        rc = refuse(c, "x-kubernetes-patch-strategy is unknown");
    }
    return rc;
}

static int read_list(struct conversion *c, const struct spec *spec, struct place place,
                     struct ek_schema_type *type)
{
    int rc = list_relation(c, spec, type);

    if (rc)
        return rc;
    if (spec->items && !yyjson_is_obj(spec->items))
        return refuse(c, "items of an array must be one schema");
    if (spec->items)
        return position(c, spec->items, place, &type->item);
    if (spec->type)
        return refuse(c, "an array has no items");
    type->item = OPAQUE;
    return 0;
}

static bool is_true(yyjson_val *v)
{
    return yyjson_is_true(v);
}

/* The default and nullability of a property, which stand beside a reference too. */
static void read_field(struct conversion *c, yyjson_val *schema, struct ek_schema_field *field)
{
    field->initial = ek_schema_add_value(&c->builder, yyjson_obj_get(schema, "default"));
    if (is_true(yyjson_obj_get(schema, "nullable")))
        field->flags |= EK_SCHEMA_NULLABLE;
}

static void mark_required(struct conversion *c, const struct spec *spec,
                          const struct ek_schema_type *type)
{
    size_t i, max;
    yyjson_val *name;
    struct ek_schema_field *fields = c->builder.fields.data;
    struct ek_schema view = {.fields = fields, .strings = c->builder.strings.data};

    if (type->n_fields == 0 || !yyjson_is_arr(spec->required))
        return;
    yyjson_arr_foreach(spec->required, i, max, name)
    {
        const struct ek_schema_field *found = ek_schema_field(&view, type, str_of(name));
        if (found)
            fields[found - fields].flags |= EK_SCHEMA_REQUIRED;
    }
}

static int read_fields(struct conversion *c, const struct spec *spec, struct place place,
                       struct ek_schema_type *type)
{
    uint32_t base = c->builder.pending.n;
    size_t i, max;
    yyjson_val *key, *val;

    if (!spec->properties)
        return 0;
    ek_json_each_member(spec->properties, i, max, key, val)
    {
        struct ek_schema_field field = {0};
        int rc = position(c, val, place, &field.type);
        if (rc)
            return rc;
        field.name = ek_schema_intern(&c->builder, str_of(key));
        read_field(c, val, &field);
        ek_schema_push(&c->builder, &c->builder.pending, sizeof field, &field);
    }
    ek_schema_close_fields(&c->builder, base, type);
    if (!c->builder.failed)
        mark_required(c, spec, type);
    return 0;
}

static int read_map(struct conversion *c, const struct spec *spec, struct place place,
                    struct ek_schema_type *type)
{
    enum ek_schema_map relation = EK_MAP_GRANULAR;
    int rc = map_relation(c, spec, &relation);

    if (!rc)
        rc = read_fields(c, spec, place, type);
    if (rc)
        return rc;
    type->map = (uint8_t)relation;
    if (yyjson_is_obj(spec->additional))
        return position(c, spec->additional, place, &type->member);
    if (is_true(spec->additional) ||
        (!spec->additional && (place.preserve || yyjson_obj_size(spec->properties) == 0)))
        type->member = DEDUCED;
    return 0;
}

static enum ek_schema_scalar string_scalar(const struct spec *spec)
{
    bool plain = !spec->format || is_str(spec->format, "") || is_str(spec->format, "byte");
    return plain ? EK_SCALAR_STRING : EK_SCALAR_ANY;
}

static int read_forms(struct conversion *c, const struct spec *spec, struct place place,
                      struct ek_schema_type *type)
{
    int rc = 0;

    if (!spec->type || is_str(spec->type, "")) {
        type->scalar = EK_SCALAR_ANY;
        rc = read_list(c, spec, place, type);
        return rc ? rc : read_map(c, spec, place, type);
    }
    if (is_str(spec->type, "object")) {
        type->declared = EK_SCHEMA_OBJECT;
        return read_map(c, spec, place, type);
    }
    if (is_str(spec->type, "array")) {
        type->declared = EK_SCHEMA_ARRAY;
        return read_list(c, spec, place, type);
    }
    if (is_str(spec->type, "string")) {
        type->declared = EK_SCHEMA_STRING;
        type->scalar = (uint8_t)string_scalar(spec);
    } else if (is_str(spec->type, "boolean")) {
        type->declared = EK_SCHEMA_BOOLEAN;
        type->scalar = EK_SCALAR_BOOLEAN;
    } else if (is_str(spec->type, "integer") || is_str(spec->type, "number")) {
        type->declared = is_str(spec->type, "integer") ? EK_SCHEMA_INTEGER : EK_SCHEMA_NUMBER;
        type->scalar = EK_SCALAR_NUMERIC;
    } else {
        char name[EK_QUOTE_SIZE];
        rc = refuse(c, "unrecognized type %s", ek_quote_short(str_of(spec->type), name));
    }
    return rc;
}

/* Reads a schema that is no reference. */
static int read_type(struct conversion *c, const struct spec *spec, struct place place,
                     struct ek_schema_type *type)
{
    if (++place.depth > EK_SCHEMA_DEPTH_MAX)
        return ek_err_set(c->err, EK_E_LIMIT, "a schema nests deeper than %d levels",
                          EK_SCHEMA_DEPTH_MAX);
    if (is_true(spec->preserve)) {
        place.preserve = true;
        type->flags |= EK_SCHEMA_PRESERVE;
    }
    if (is_true(spec->nullable))
        type->flags |= EK_SCHEMA_NULLABLE;
    if (is_true(spec->embedded))
        type->flags |= EK_SCHEMA_EMBEDDED;
    if (is_true(spec->int_or_string) || is_str(spec->format, "int-or-string"))
        type->flags |= EK_SCHEMA_INT_OR_STRING;
    if (is_str(spec->format, "int32"))
        type->flags |= EK_SCHEMA_INT32;
    if (is_str(spec->format, "byte"))
        type->flags |= EK_SCHEMA_BYTES;
    return read_forms(c, spec, place, type);
}

/* The name of the component that a schema refers to, alone or as the one member of allOf; empty
 * when it does not. */
static struct ek_str reference(const struct spec *spec)
{
    yyjson_val *ref = spec->ref;

    if (!ref && yyjson_arr_size(spec->all_of) == 1)
        ref = yyjson_obj_get(yyjson_arr_get_first(spec->all_of), "$ref");
    struct ek_str path = str_of(ref);
    const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;
    if (slash) {
        path.len -= (size_t)(slash + 1 - path.p);
        path.p = slash + 1;
    }
    return path;
}

static uint32_t overridden(struct conversion *c, uint32_t target, bool atomic)
{
    const struct override *all = c->overrides.data;
    uint32_t n = c->overrides.n, from = n > OVERRIDES_SEARCHED ? n - OVERRIDES_SEARCHED : 0;
    struct ek_schema_type type = blank(c);

    for (uint32_t i = from; i < n; i++)
        if (all[i].target == target && all[i].atomic == atomic)
            return all[i].type;
    struct override o = {0, target, atomic};
    o.type = ek_schema_push(&c->builder, &c->builder.types, sizeof type, &type);
    ek_schema_push(&c->builder, &c->overrides, sizeof o, &o);
    return o.type;
}

/* Reads a schema where a type is required: a reference, or a type declared in place. */
static int position(struct conversion *c, yyjson_val *schema, struct place place,
                    uint32_t *ret_type)
{
    struct spec spec;
    enum ek_schema_map relation;
    int rc = read_spec(c, schema, &spec);
    struct ek_str name = rc ? EK_STR("") : reference(&spec);
    struct ek_schema_type type = blank(c);

    if (rc || (name.len == 0 && (rc = read_type(c, &spec, place, &type))))
        return rc;
    if (name.len == 0) {
        *ret_type = type.n_fields || type.n_keys
                        ? ek_schema_push(&c->builder, &c->builder.types, sizeof type, &type)
                        : ek_schema_share(&c->builder, &type);
        return 0;
    }
    uint32_t target = component_type(c, name);
    rc = map_relation(c, &spec, &relation);
    if (target == EK_SCHEMA_NONE) {
        type = missing(c, name);
        *ret_type = ek_schema_share(&c->builder, &type);
    } else {
        *ret_type = spec.map_type ? overridden(c, target, relation == EK_MAP_ATOMIC) : target;
    }
    return rc;
}

/* Gives the overriding types their content, now that all components have theirs. */
static void apply_overrides(struct conversion *c)
{
    const struct override *all = c->overrides.data;
    struct ek_schema_type *types = c->builder.types.data;

    for (uint32_t i = 0; !c->builder.failed && i < c->overrides.n; i++) {
        struct ek_schema_type type = types[all[i].target];
        if (type.map != EK_MAP_NONE) {
            type.map = all[i].atomic ? EK_MAP_ATOMIC : EK_MAP_GRANULAR;
        } else if (type.list != EK_LIST_NONE) {
            type.list = all[i].atomic ? (uint8_t)EK_LIST_ATOMIC : type.list;
        } else { /* the reference finds no type either */
            uint32_t name = type.name;
            type = blank(c);
            type.name = name;
            type.flags = EK_SCHEMA_MISSING;
        }
        types[all[i].type] = type;
    }
}

static void add_kinds(struct conversion *c, yyjson_val *kinds, uint32_t type)
{
    size_t i, max;
    yyjson_val *entry;

    if (!yyjson_is_arr(kinds))
        return;
    yyjson_arr_foreach(kinds, i, max, entry)
    {
        yyjson_val *group = yyjson_obj_get(entry, "group");
        yyjson_val *version = yyjson_obj_get(entry, "version");
        yyjson_val *kind = yyjson_obj_get(entry, "kind");
        if (!yyjson_is_str(group) || !yyjson_is_str(version) || yyjson_get_len(kind) == 0 ||
            !yyjson_is_str(kind))
            continue;
        struct ek_schema_kind k = {ek_schema_intern(&c->builder, str_of(group)),
                                   ek_schema_intern(&c->builder, str_of(version)),
                                   ek_schema_intern(&c->builder, str_of(kind)), type};
        ek_schema_push(&c->builder, &c->builder.kinds, sizeof k, &k);
    }
}

static int read_component(struct conversion *c, uint32_t i)
{
    struct spec spec;
    struct ek_schema_type type;

    c->current = c->components[i].name;
    int rc = read_spec(c, c->components[i].schema, &spec);
    if (rc)
        return rc;
    if (spec.ref) {
        type = missing(c, c->current);
    } else {
        type = blank(c);
        type.name = ek_schema_intern(&c->builder, c->current);
        if (ek_str_eq(c->current, EK_STR(QUANTITY))) {
            type.scalar = EK_SCALAR_ANY;
            type.declared = EK_SCHEMA_STRING;
        } else if (ek_str_eq(c->current, EK_STR(RAW_EXTENSION))) {
            type.scalar = EK_SCALAR_ANY;
            type.list = EK_LIST_ATOMIC;
            type.map = EK_MAP_ATOMIC;
            type.item = type.member = OPAQUE;
        } else {
            rc = read_type(c, &spec, (struct place){0}, &type);
        }
    }
    if (rc || c->builder.failed)
        return rc;
    ((struct ek_schema_type *)c->builder.types.data)[FIRST_COMPONENT + i] = type;
    add_kinds(c, spec.kinds, FIRST_COMPONENT + i);
    return 0;
}

/* Adds the two types without a schema, and an empty one for each component. */
static void reserve_types(struct conversion *c)
{
    struct ek_schema_type type = blank(c);
    struct ek_schema_vec *types = &c->builder.types;

    type.scalar = EK_SCALAR_ANY;
    type.list = EK_LIST_ATOMIC;
    type.map = EK_MAP_GRANULAR;
    type.item = OPAQUE;
    type.member = DEDUCED;
    ek_schema_push(&c->builder, types, sizeof type, &type);
    type.map = EK_MAP_ATOMIC;
    type.member = OPAQUE;
    ek_schema_push(&c->builder, types, sizeof type, &type);
    type = blank(c);
    for (uint32_t i = 0; i < c->n_components; i++)
        ek_schema_push(&c->builder, types, sizeof type, &type);
}

static int list_components(struct conversion *c, yyjson_val *schemas)
{
    size_t i, max, n = yyjson_obj_size(schemas);
    yyjson_val *key, *val;

    if (n > EK_SCHEMA_PARTS_MAX)
        return ek_err_set(c->err, EK_E_LIMIT, "the document has %zu schemas, %u are the most", n,
                          EK_SCHEMA_PARTS_MAX);
    c->components = ek_alloc((n + 1) * sizeof *c->components);
    if (!c->components)
        return ek_err_set(c->err, EK_E_NOMEM, "no memory for %zu schemas", n);
    ek_json_each_member(schemas, i, max, key, val)
    {
        c->components[c->n_components++] = (struct component){str_of(key), val};
    }
    qsort(c->components, c->n_components, sizeof *c->components, compare_components);
    return 0;
}

static int convert(struct conversion *c, yyjson_val *document, struct ek_schema **ret_schema)
{
    yyjson_val *schemas = ek_json_get(document, "components", "schemas", NULL);
    int rc;

    if (!yyjson_is_obj(schemas))
        return ek_err_set(c->err, EK_E_PARSE,
                          "the document has no components.schemas: it is no "
                          "OpenAPI v3 document");
    rc = list_components(c, schemas);
    if (!rc)
        reserve_types(c);
    for (uint32_t i = 0; !rc && !c->builder.failed && i < c->n_components; i++)
        rc = read_component(c, i);
    if (rc)
        return rc;
    apply_overrides(c);
    return ek_schema_finish(&c->builder, ret_schema, c->err);
}

int ek_schema_compile(yyjson_val *document, struct ek_schema **ret_schema, struct ek_err *err)
{
    struct conversion c = {.err = err};

    ek_schema_builder_init(&c.builder);
    int rc = convert(&c, document, ret_schema);
    ek_schema_builder_done(&c.builder);
    ek_free(c.overrides.data);
    ek_free(c.components);
    return rc;
}
