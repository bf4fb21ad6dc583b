/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/obj.h"
#include "api/schema/merge-internal.h"

/* Room for what is wrong with one item's key. */
#define WHY_MAX ((size_t)4096)

#define MANY "errors:\n  "

#define ATOMIC "may not mutate atomic arrays, maps or structs: "

struct checker {
    const struct ek_schema *schema;
    unsigned flags;
    struct ek_work *work;
    struct ek_buf *out;
    size_t n_found;
    int rc; /* EK_E_NOMEM, EK_E_LIMIT: stop */
};

static void check(struct checker *c, uint32_t type, yyjson_mut_val *value,
                  const struct ek_trail *at, size_t depth);

enum ek_type_form ek_type_form(const struct ek_schema_type *type, enum ek_value_form form)
{
    bool scalar = type->scalar != EK_SCALAR_NONE, list = type->list != EK_LIST_NONE;
    bool map = type->map != EK_MAP_NONE;

    if (map && form == EK_FORM_MAP)
        return EK_AS_MAP;
    if (list && form == EK_FORM_LIST)
        return EK_AS_LIST;
    if (scalar && form >= EK_FORM_BOOL && form <= EK_FORM_STRING)
        return EK_AS_SCALAR;
    return map ? EK_AS_MAP : scalar ? EK_AS_SCALAR : list ? EK_AS_LIST : EK_AS_NOTHING;
}

/* Begins a finding: its place, ready for its words. */
static struct ek_buf *found(struct checker *c, const struct ek_trail *at)
{
    ek_buf_puts(c->out, c->n_found++ ? "\n  " : MANY);
    ek_trail_print(c->out, c->schema, at);
    if (at)
        ek_buf_puts(c->out, ": ");
    return c->out;
}

static void check_scalar(struct checker *c, const struct ek_schema_type *type,
                         yyjson_mut_val *value, const struct ek_trail *at)
{
    enum ek_value_form form = ek_form_of(value);

    if (form == EK_FORM_NULL)
        return;
    switch ((enum ek_schema_scalar)type->scalar) {
    case EK_SCALAR_NUMERIC:
        if (form == EK_FORM_INT || form == EK_FORM_FLOAT)
            return;
        ek_buf_puts(found(c, at), "expected numeric (int or float), got ");
        ek_go_type(c->out, value);
        return;
    case EK_SCALAR_STRING:
        if (form == EK_FORM_STRING)
            return;
        ek_buf_puts(found(c, at), "expected string, got &value.valueUnstructured{Value:");
        ek_go_syntax(c->out, value);
        ek_buf_puts(c->out, "}");
        return;
    case EK_SCALAR_BOOLEAN:
        if (form == EK_FORM_BOOL)
            return;
        ek_buf_puts(found(c, at), "expected boolean, got &{");
        break;
    default:
        if (form <= EK_FORM_STRING)
            return;
        ek_buf_puts(found(c, at), "expected any scalar, got &{");
    }
    ek_go_text(c->out, value);
    ek_buf_puts(c->out, "}");
}

/* True when value is what a container must be; null is fine but has nothing to check. */
static bool is_container(struct checker *c, yyjson_mut_val *value, enum ek_value_form want,
                         const struct ek_trail *at)
{
    enum ek_value_form form = ek_form_of(value);

    if (form != want && form != EK_FORM_NULL) {
        ek_buf_printf(found(c, at), "expected %s, got &{", want == EK_FORM_MAP ? "map" : "list");
        ek_go_text(c->out, value);
        ek_buf_puts(c->out, "}");
    }
    return form == want;
}

/* The reference looks no further into a map once it found what is not declared. */
static void check_map(struct checker *c, const struct ek_schema_type *type, yyjson_mut_val *map,
                      const struct ek_trail *at, size_t depth)
{
    size_t i, max;
    yyjson_mut_val *key, *val;

    yyjson_mut_obj_foreach(map, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        struct ek_trail here = EK_TRAIL_FIELD(at, name);
        uint32_t member = ek_schema_member(c->schema, type, name);
        if (member == EK_SCHEMA_NONE) {
            ek_buf_puts(found(c, &here), "field not declared in schema");
            return;
        }
        check(c, member, val, &here, depth + 1);
        if (c->rc)
            return;
    }
}

static void check_items(struct checker *c, const struct ek_schema_type *type, yyjson_mut_val *list,
                        const struct ek_trail *at, size_t depth)
{
    size_t i, max;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(list, i, max, item)
    {
        struct ek_trail here = EK_TRAIL_INDEX(at, i);
        check(c, type->item, item, &here, depth + 1);
        if (c->rc)
            return;
    }
}

/* Items of a set or a keyed list, by their keys; one without a key ends the list. */
static void check_keyed(struct checker *c, const struct ek_schema_type *type, yyjson_mut_val *list,
                        const struct ek_trail *at, size_t depth)
{
    struct ek_list_index index = {0};
    EK_AUTO(ek_buf) why;

    ek_buf_init(&why, WHY_MAX);
    int rc = ek_list_index(c->schema, type, list, &index, &why);
    ek_work_do(c->work, 4 * yyjson_mut_arr_size(list));
    if (rc && rc != EK_E_INVAL)
        c->rc = rc;
    for (uint32_t i = 0; !c->rc && i < index.n; i++) {
        const yyjson_mut_val *parts = &index.parts[(size_t)i * index.n_parts];
        struct ek_trail here = EK_TRAIL_ITEM(at, type, parts);
        if (!(c->flags & EK_MERGE_DUPLICATES) && ek_list_find(&index, parts, NULL) != i) {
            ek_buf_puts(found(c, at), "duplicate entries for key ");
            ek_trail_print_step(c->out, c->schema, &here);
        }
        check(c, type->item, index.items[i], &here, depth + 1);
    }
    if (!c->rc && rc == EK_E_INVAL)
        ek_buf_printf(found(c, at), "element %u: %s", index.n, ek_buf_str(&why));
    ek_list_index_done(&index);
}

static void check(struct checker *c, uint32_t type, yyjson_mut_val *value,
                  const struct ek_trail *at, size_t depth)
{
    const struct ek_schema_type *t = ek_schema_type(c->schema, type);

    if (depth > EK_JSON_DEPTH_MAX)
        c->rc = EK_E_LIMIT;
    if (!ek_work_do(c->work, 1))
        c->rc = EK_E_CANCELED;
    if (c->rc)
        return;
    switch (ek_type_form(t, ek_form_of(value))) {
    case EK_AS_MAP:
        if (is_container(c, value, EK_FORM_MAP, at))
            check_map(c, t, value, at, depth);
        break;
    case EK_AS_SCALAR:
        check_scalar(c, t, value, at);
        break;
    case EK_AS_LIST:
        if (!is_container(c, value, EK_FORM_LIST, at))
            break;
        if (t->list == EK_LIST_ATOMIC)
            check_items(c, t, value, at, depth);
        else
            check_keyed(c, t, value, at, depth);
        break;
    case EK_AS_NOTHING:
        ek_buf_printf(found(c, at), "schema error: no type found matching: %s",
                      ek_schema_text(c->schema, t->name).p);
    }
}

int ek_check_value(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                   unsigned flags, struct ek_work *work, struct ek_buf *out)
{
    struct checker c = {.schema = schema, .flags = flags, .work = work, .out = out};

    check(&c, type, value, NULL, 0);
    if (c.n_found == 1)
        ek_buf_consume(out, sizeof MANY - 1);
    return c.rc ? c.rc : c.n_found ? EK_E_INVAL : 0;
}

/* Appends the places of atomic containers, as the reference's walk finds them. */
static void find_atomics(struct checker *c, uint32_t type, yyjson_mut_val *value,
                         const struct ek_trail *at, size_t depth)
{
    const struct ek_schema_type *t = ek_schema_type(c->schema, type);
    bool map = ek_form_of(value) == EK_FORM_MAP && t->map != EK_MAP_NONE;
    bool list = ek_form_of(value) == EK_FORM_LIST && t->list != EK_LIST_NONE;
    size_t i, max;
    yyjson_mut_val *key, *val;

    if (depth > EK_JSON_DEPTH_MAX)
        return;
    if ((map && t->map == EK_MAP_ATOMIC) || (list && t->list == EK_LIST_ATOMIC)) {
        ek_buf_puts(c->out, c->n_found++ ? ", " : ATOMIC);
        ek_trail_print(c->out, c->schema, at);
    }
    yyjson_mut_obj_foreach(map ? value : NULL, i, max, key, val)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        const struct ek_schema_field *field = ek_schema_field(c->schema, t, name);
        struct ek_trail here = EK_TRAIL_FIELD(at, name);
        if (field)
            find_atomics(c, field->type, val, &here, depth + 1);
    }
    yyjson_mut_arr_foreach(list ? value : NULL, i, max, val)
    {
        struct ek_trail here = EK_TRAIL_INDEX(at, i);
        find_atomics(c, t->item, val, &here, depth + 1);
    }
}

int ek_check_atomics(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                     struct ek_buf *out)
{
    struct checker c = {.schema = schema, .out = out};

    find_atomics(&c, type, value, NULL, 0);
    return c.n_found ? EK_E_INVAL : 0;
}

int ek_merge_say(int rc, const char *prefix, const struct ek_buf *found_text, struct ek_buf *text,
                 struct ek_err *err)
{
    if (rc == 0)
        return 0;
    if (rc == EK_E_LIMIT)
        return ek_err_set(err, rc,
                          "a value nests deeper than %d levels, a list is too long, or there are "
                          "more than %d removals",
                          EK_JSON_DEPTH_MAX, EK_MERGE_REMOVALS_MAX);
    if (rc == EK_E_CANCELED)
        return ek_err_set(err, rc, "the time to merge a patch is over");
    if (rc != EK_E_INVAL)
        return ek_err_set(err, rc, "no memory to merge a patch");
    if (text) {
        ek_buf_puts(text, prefix);
        ek_buf_append(text, ek_buf_str(found_text), found_text->len);
    }
    return ek_err_set(err, rc, "%s%s", prefix, ek_buf_str(found_text));
}

int ek_merge_validate(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                      unsigned flags, struct ek_work *work, struct ek_buf *text, struct ek_err *err)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_MERGE_TEXT_MAX);
    return ek_merge_say(ek_check_value(schema, type, value, flags, work, &out), "", &out, text,
                        err);
}
