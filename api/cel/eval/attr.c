/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qualifiers: what a field or an index finds in a value, as an access or as a question whether it
 * is there.
 *
 * Source: cel-go 0.26, interpreter/attributes.go (applyQualifiers, refQualify); Kubernetes' object
 * types, apiserver/pkg/cel/mutation.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/text/number.h"
#include "api/cel/values/value.h"

const char *ek_cel_go_type(const struct ek_cel_val *v)
{
    static const char *const names[] = {
        [EK_CEL_NULL] = "types.Null",         [EK_CEL_BOOL] = "types.Bool",
        [EK_CEL_INT] = "types.Int",           [EK_CEL_UINT] = "types.Uint",
        [EK_CEL_DOUBLE] = "types.Double",     [EK_CEL_STRING] = "types.String",
        [EK_CEL_BYTES] = "types.Bytes",       [EK_CEL_LIST] = "*types.baseList",
        [EK_CEL_MAP] = "*types.baseMap",      [EK_CEL_TIMESTAMP] = "types.Timestamp",
        [EK_CEL_DURATION] = "types.Duration", [EK_CEL_TYPE] = "*types.Type",
        [EK_CEL_OPTIONAL] = "*types.Optional"};

    if (v->kind < sizeof names / sizeof *names && names[v->kind])
        return names[v->kind];
    return ek_cel_type_name(v);
}

/* What finding may come to. */
enum found { FOUND_ERROR = -1, FOUND_NOT, FOUND };

static bool usable_key(const struct ek_cel_val *key)
{
    return key->kind == EK_CEL_STRING || (key->kind >= EK_CEL_BOOL && key->kind <= EK_CEL_DOUBLE);
}

static enum found find_in_host(struct ek_cel_eval *e, const struct ek_cel_val *map,
                               const struct ek_cel_val *key, struct ek_cel_val *ret)
{
    uint64_t cost = 0;
    int r;

    if (key->kind != EK_CEL_STRING)
        return FOUND_NOT;
    r = map->host->get(map->host->arg, key->s, key->n, ret, &cost);
    if (__builtin_add_overflow(e->cost, cost, &e->cost))
        e->cost = UINT64_MAX;
    if (e->cost > e->cost_limit) {
        *ret = ek_cel_cost_exceeded(e);
        return FOUND_ERROR;
    }
    return r < 0 ? FOUND_ERROR : r > 0 ? FOUND : FOUND_NOT;
}

/* The number that a list is indexed with. */
static bool list_index(struct ek_cel_eval *e, const struct ek_cel_val *key, int64_t *ret,
                       struct ek_cel_val *ret_error)
{
    char number[EK_CEL_DOUBLE_TEXT_MAX];

    switch (key->kind) {
    case EK_CEL_INT:
        *ret = key->i;
        return true;
    case EK_CEL_UINT:
        if (key->u <= INT64_MAX) {
            *ret = (int64_t)key->u;
            return true;
        }
        *ret_error = ek_cel_fail(e, "unsupported index value %" PRIu64 " in list", key->u);
        return false;
    case EK_CEL_DOUBLE:
        if (key->d > -0x1p63 && key->d < 0x1p63 && trunc(key->d) == key->d) {
            *ret = (int64_t)key->d;
            return true;
        }
        ek_cel_double_g(key->d, number);
        *ret_error = ek_cel_fail(e, "unsupported index value %s in list", number);
        return false;
    default:
        *ret_error = ek_cel_fail(e, "unsupported index type '%s' in list", ek_cel_type_name(key));
        return false;
    }
}

/* The elements of a JSON array, which are not of one size, by number. */
struct ek_cel_json_items {
    struct ek_cel_json_items *next;
    const yyjson_val *array;
    yyjson_val *at[];
};

/* Walking to an element below this one is as good as a table. */
#define WALK_MAX 32u

/* The table for an array, the last used one first; NULL without memory. */
static const struct ek_cel_json_items *items_of(struct ek_cel_eval *e,
                                                const struct ek_cel_val *list)
{
    struct ek_cel_json_items **at = &ek_cel_frame_of(e)->arrays, *items;
    yyjson_arr_iter iter;

    while (*at && (*at)->array != list->json)
        at = &(*at)->next;
    items = *at;
    if (items) {
        *at = items->next;
    } else {
        items = ek_cel_alloc(e, sizeof *items + list->n * sizeof(yyjson_val *));
        if (!items)
            return NULL;
        items->array = list->json;
        yyjson_arr_iter_init(list->json, &iter);
        for (uint32_t i = 0; i < list->n; i++)
            items->at[i] = yyjson_arr_iter_next(&iter);
    }
    items->next = ek_cel_frame_of(e)->arrays;
    ek_cel_frame_of(e)->arrays = items;
    return items;
}

static struct ek_cel_val item_at(struct ek_cel_eval *e, const struct ek_cel_val *list,
                                 uint32_t index)
{
    const struct ek_cel_json_items *items;

    if (list->form != EK_CEL_JSON || index < WALK_MAX || unsafe_yyjson_arr_is_flat(list->json) ||
        !(items = items_of(e, list)))
        return ek_cel_list_at(list, index);
    return ek_cel_from_json(items->at[index]);
}

static enum found find_in_list(struct ek_cel_eval *e, const struct ek_cel_val *list,
                               const struct ek_cel_val *key, struct ek_cel_val *ret)
{
    int64_t index;

    if (!list_index(e, key, &index, ret))
        return FOUND_ERROR;
    if (index < 0 || index >= list->n)
        return FOUND_NOT;
    *ret = item_at(e, list, (uint32_t)index);
    return FOUND;
}

static bool is_patch(const struct ek_cel_val *object)
{
    return !strcmp(object->object->type, "JSONPatch");
}

/* A patch operation has all four fields; those not written are empty. */
static enum found find_in_patch(struct ek_cel_eval *e, const struct ek_cel_val *patch,
                                const struct ek_cel_val *key, bool test, struct ek_cel_val *ret)
{
    static const char *const names[] = {"op", "path", "from", "value"};
    size_t i = 0;

    while (i < 4 && (key->kind != EK_CEL_STRING || key->n != strlen(names[i]) ||
                     memcmp(key->s, names[i], key->n) != 0))
        i++;
    if (i == 4) {
        *ret = ek_cel_fail(e, "unsupported %s: %.*s", test ? "field" : "indexer",
                           key->kind == EK_CEL_STRING && key->n < 1024 ? (int)key->n : 0,
                           key->kind == EK_CEL_STRING ? key->s : "");
        return FOUND_ERROR;
    }
    if (!ek_cel_struct_find(patch, names[i], key->n, ret))
        *ret = i < 3 ? ek_cel_string("", 0) : ek_cel_null();
    else if (i == 3)
        return FOUND;
    return !test || (i < 3 && ret->n) ? FOUND : FOUND_NOT;
}

/* Finds key in value. test: it is a question, which what has no fields answers with no. */
static enum found find(struct ek_cel_eval *e, const struct ek_cel_val *value,
                       const struct ek_cel_val *key, bool test, struct ek_cel_val *ret)
{
    switch (value->kind) {
    case EK_CEL_MAP:
        if (value->form == EK_CEL_HOST)
            return find_in_host(e, value, key, ret);
        return ek_cel_map_get(e, value, key, ret) ? FOUND : FOUND_NOT;
    case EK_CEL_LIST:
        return find_in_list(e, value, key, ret);
    case EK_CEL_STRUCT:
        return is_patch(value) ? find_in_patch(e, value, key, test, ret) : FOUND_NOT;
    case EK_CEL_ERROR:
        *ret = *value;
        return FOUND_ERROR;
    default:
        return FOUND_NOT;
    }
}

/* The error of a key that is not there. */
static struct ek_cel_val missing(struct ek_cel_eval *e, const struct ek_cel_val *value,
                                 const struct ek_cel_val *key)
{
    const char *what = value->kind == EK_CEL_LIST ? "index out of bounds" : "no such key";
    char number[EK_CEL_DOUBLE_TEXT_MAX];

    switch (key->kind) {
    case EK_CEL_STRING:
        return ek_cel_fail(e, "%s: %.*s", what, key->n < 1024 ? (int)key->n : 1024, key->s);
    case EK_CEL_BOOL:
        return ek_cel_fail(e, "%s: %s", what, key->b ? "true" : "false");
    case EK_CEL_INT:
        return ek_cel_fail(e, "%s: %" PRId64, what, key->i);
    case EK_CEL_UINT:
        return ek_cel_fail(e, "%s: %" PRIu64, what, key->u);
    default:
        ek_cel_double_g(key->d, number);
        return ek_cel_fail(e, "%s: %s", what, number);
    }
}

/* ---- Object types ---------------------------------------------------------------------------- */

static struct ek_cel_val plain(struct ek_cel_eval *e, const struct ek_cel_val *value,
                               unsigned depth);

static struct ek_cel_val plain_object(struct ek_cel_eval *e, const struct ek_cel_val *object,
                                      unsigned depth)
{
    struct ek_cel_val map = ek_cel_map_new(e, object->object->n);

    for (size_t i = 0; i < ek_cel_struct_len(object) && map.kind == EK_CEL_MAP; i++) {
        struct ek_cel_val field, key;
        const char *name;
        ek_cel_struct_at(object, i, &name, &field);
        field = plain(e, &field, depth);
        if (field.kind == EK_CEL_ERROR)
            return field;
        key = ek_cel_string(name, strlen(name));
        if (ek_cel_map_put(e, &map, &key, &field, true) < 0)
            return ek_cel_no_memory(e);
    }
    return map;
}

static struct ek_cel_val plain_list(struct ek_cel_eval *e, const struct ek_cel_val *from,
                                    unsigned depth)
{
    struct ek_cel_val list = ek_cel_list_new(e, from->n);
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, from);
    while (list.kind == EK_CEL_LIST && ek_cel_iter_next(&iter)) {
        struct ek_cel_val item = plain(e, &iter.value, depth);
        if (item.kind == EK_CEL_ERROR)
            return item;
        if (!ek_cel_list_append(e, &list, &item))
            return ek_cel_no_memory(e);
    }
    return list;
}

/* A field of an object as plain data: the reference converts the whole object before it looks. */
static struct ek_cel_val plain(struct ek_cel_eval *e, const struct ek_cel_val *value,
                               unsigned depth)
{
    if (!depth)
        return ek_cel_fail(e, "object is nested too deep");
    switch (value->kind) {
    case EK_CEL_OPTIONAL:
        return value->some ? plain(e, value->some, depth - 1) : ek_cel_null();
    case EK_CEL_STRUCT:
        return is_patch(value) ? *value : plain_object(e, value, depth - 1);
    case EK_CEL_LIST:
        return value->form == EK_CEL_NATIVE ? plain_list(e, value, depth - 1) : *value;
    case EK_CEL_OPAQUE:
        return ek_cel_fail(e, "unsupported conversion to ref.Val: %s", value->opaque->kind->name);
    default:
        return *value;
    }
}

#define PLAIN_DEPTH_MAX 100u

/* A field of a value whose static type is an object: one that was not set is null. */
static enum found find_in_object(struct ek_cel_eval *e, const struct ek_cel_val *value,
                                 const struct ek_cel_qual *q, bool test, struct ek_cel_val *ret)
{
    if (value->kind != EK_CEL_STRUCT || is_patch(value))
        return find(e, value, &q->key, test, ret);
    if (!ek_cel_struct_find(value, q->key.s, q->key.n, ret)) {
        *ret = ek_cel_null();
        return test ? FOUND_NOT : FOUND;
    }
    *ret = plain(e, ret, PLAIN_DEPTH_MAX);
    return ret->kind == EK_CEL_ERROR ? FOUND_ERROR : FOUND;
}

/*
 * What is in an optional, as an attribute reads it: the reference takes the Go value out and makes
 * a CEL value of it again, in which optionals of optionals collapse, objects become maps and opaque
 * values are lost. An error that comes of it stays within the optional until it is read.
 */
static struct ek_cel_val content(struct ek_cel_eval *e, const struct ek_cel_val *optional)
{
    const struct ek_cel_val *v = optional->some;

    while (v->kind == EK_CEL_OPTIONAL) {
        if (!v->some)
            return ek_cel_null();
        v = v->some;
    }
    switch (v->kind) {
    case EK_CEL_TYPE:
        return ek_cel_string(v->type->name, strlen(v->type->name));
    case EK_CEL_STRUCT:
        return is_patch(v) ? *v : plain(e, v, PLAIN_DEPTH_MAX);
    case EK_CEL_OPAQUE:
        if (!strcmp(v->opaque->kind->name, "kubernetes.NamedFormat"))
            return *v;
        return ek_cel_fail(e, "unsupported conversion to ref.Val: %s", v->opaque->kind->name);
    default:
        return *v;
    }
}

/* True when reading an optional gives its value another form. */
static bool changes(const struct ek_cel_val *some)
{
    return some->kind >= EK_CEL_TYPE && some->kind <= EK_CEL_OPAQUE;
}

/* ---- Qualifiers ------------------------------------------------------------------------------ */

/* The key of a qualifier that is computed. False with *ret an error. */
static bool key_of(struct ek_cel_eval *e, const struct ek_cel_qual *q, struct ek_cel_val *ret)
{
    *ret = q->resolve ? ek_cel_resolve(e, &ek_cel_frame_of(e)->ops[q->op]) : ek_cel_run(e, q->op);
    if (ret->kind == EK_CEL_ERROR)
        return false;
    if (usable_key(ret))
        return true;
    e->position = q->missing.position;
    *ret = ek_cel_fail(e, "invalid qualifier type: %s", ek_cel_go_type(ret));
    return false;
}

static enum found qualify_one(struct ek_cel_eval *e, const struct ek_cel_val *value,
                              const struct ek_cel_qual *q, bool test, struct ek_cel_val *ret)
{
    struct ek_cel_val key;
    enum found found;

    e->position = q->missing.position;
    if (q->kind == EK_CEL_Q_OBJECT)
        return find_in_object(e, value, q, test, ret);
    if (q->kind != EK_CEL_Q_OP) {
        found = find(e, value, &q->key, test, ret);
        if (found != FOUND_NOT || test)
            return found;
        if (value->kind == EK_CEL_LIST)
            *ret = missing(e, value, &q->key);
        else
            *ret = ek_cel_error(&q->missing);
        return FOUND_ERROR;
    }
    if (!key_of(e, q, &key)) {
        *ret = key;
        return FOUND_ERROR;
    }
    found = find(e, value, &key, test, ret);
    if (found != FOUND_NOT || test)
        return found;
    *ret = missing(e, value, &key);
    return FOUND_ERROR;
}

struct ek_cel_val ek_cel_qualify(struct ek_cel_eval *e, struct ek_cel_val value, uint32_t first)
{
    const struct ek_cel_qual *q;
    bool optional = false;

    if (value.kind == EK_CEL_ERROR)
        return value;
    if (value.kind == EK_CEL_OPTIONAL) {
        if (!value.some || (!first && !changes(value.some)))
            return value;
        value = content(e, &value);
        optional = true;
    }
    for (; first; first = q->next) {
        struct ek_cel_val next = {.kind = EK_CEL_NULL};
        q = &ek_cel_frame_of(e)->program->quals[first - 1];
        optional |= q->optional;
        enum found found = qualify_one(e, &value, q, optional || q->test, &next);
        /* Without optionals each step costs, whatever comes of it; else those that find something.
         */
        if (!optional || found == FOUND)
            e->cost++;
        if (found == FOUND_ERROR)
            return next;
        if (!optional && q->test)
            next = ek_cel_bool(found == FOUND);
        else if (found == FOUND_NOT)
            return ek_cel_optional(e, NULL);
        value = next;
    }
    return optional ? ek_cel_optional(e, &value) : value;
}
