/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/value.h"

#include "api/cel/values/type.h"

void ek_cel_iter_init(struct ek_cel_iter *iter, const struct ek_cel_val *container)
{
    iter->container = *container;
    iter->at = 0;
    if (container->form != EK_CEL_JSON)
        return;
    if (container->kind == EK_CEL_LIST)
        yyjson_arr_iter_init(container->json, &iter->arr);
    else
        yyjson_obj_iter_init(container->json, &iter->obj);
}

static bool next_json(struct ek_cel_iter *iter)
{
    if (iter->container.kind == EK_CEL_LIST) {
        iter->key = ek_cel_int(iter->at);
        iter->value = ek_cel_from_json(yyjson_arr_iter_next(&iter->arr));
    } else {
        yyjson_val *key = yyjson_obj_iter_next(&iter->obj);
        iter->key = ek_cel_from_json(key);
        iter->value = ek_cel_from_json(yyjson_obj_iter_get_val(key));
    }
    iter->at++;
    return true;
}

bool ek_cel_iter_next(struct ek_cel_iter *iter)
{
    const struct ek_cel_val *c = &iter->container;

    if (iter->at >= c->n || c->form == EK_CEL_HOST)
        return false;
    if (c->form == EK_CEL_JSON)
        return next_json(iter);
    if (c->kind == EK_CEL_LIST) {
        iter->key = ek_cel_int(iter->at);
        iter->value = c->items->v[iter->at];
    } else {
        iter->key = c->entries->v[2 * (size_t)iter->at];
        iter->value = c->entries->v[2 * (size_t)iter->at + 1];
    }
    iter->at++;
    return true;
}

struct ek_cel_val ek_cel_list_at(const struct ek_cel_val *list, uint32_t index)
{
    if (list->form == EK_CEL_JSON)
        return ek_cel_from_json(yyjson_arr_get(list->json, index));
    return list->items->v[index];
}

const char *ek_cel_struct_type(const struct ek_cel_val *object)
{
    return object->object->type;
}

static const struct ek_cel_unset *unset_of(const struct ek_cel_val *value)
{
    if (value->kind == EK_CEL_STRUCT)
        return value->object->unset;
    if (value->kind == EK_CEL_MAP && value->form == EK_CEL_NATIVE)
        return value->entries->unset;
    return NULL;
}

size_t ek_cel_unset_len(const struct ek_cel_val *value)
{
    const struct ek_cel_unset *unset = unset_of(value);

    return unset ? unset->n : 0;
}

struct ek_cel_val ek_cel_unset_at(const struct ek_cel_val *value, size_t i)
{
    return unset_of(value)->keys[i];
}

size_t ek_cel_struct_len(const struct ek_cel_val *object)
{
    return object->object->n;
}

void ek_cel_struct_at(const struct ek_cel_val *object, size_t index, const char **ret_name,
                      struct ek_cel_val *ret_value)
{
    *ret_name = object->object->fields[index].name;
    *ret_value = object->object->fields[index].value;
}

int ek_cel_struct_find(const struct ek_cel_val *object, const char *name, size_t len,
                       struct ek_cel_val *ret_value)
{
    const struct ek_cel_struct *s = object->object;

    for (uint32_t i = 0; i < s->n; i++) {
        if (strncmp(s->fields[i].name, name, len) == 0 && s->fields[i].name[len] == '\0') {
            *ret_value = s->fields[i].value;
            return 1;
        }
    }
    return 0;
}

const char *ek_cel_type_name(const struct ek_cel_val *value)
{
    static const char *const names[EK_CEL_KIND_MAX] = {
        [EK_CEL_ERROR] = "error",
        [EK_CEL_NULL] = "null_type",
        [EK_CEL_BOOL] = "bool",
        [EK_CEL_INT] = "int",
        [EK_CEL_UINT] = "uint",
        [EK_CEL_DOUBLE] = "double",
        [EK_CEL_STRING] = "string",
        [EK_CEL_BYTES] = "bytes",
        [EK_CEL_LIST] = "list",
        [EK_CEL_MAP] = "map",
        [EK_CEL_TIMESTAMP] = "google.protobuf.Timestamp",
        [EK_CEL_DURATION] = "google.protobuf.Duration",
        [EK_CEL_TYPE] = "type",
        [EK_CEL_OPTIONAL] = "optional_type",
    };

    if (value->kind == EK_CEL_STRUCT)
        return value->object->type;
    if (value->kind == EK_CEL_OPAQUE)
        return value->opaque->kind->name;
    return names[value->kind];
}

/* Octets that begin no code point among the eight of w: those of the form 10xxxxxx. */
static size_t continuations(uint64_t w)
{
    uint64_t high = w >> 7, next = ~w >> 6;

    return (size_t)((((high & next) & 0x0101010101010101u) * 0x0101010101010101u) >> 56);
}

size_t ek_cel_runes(const char *s, size_t len)
{
    size_t runes = len, i = 0;
    uint64_t w;

    for (; len - i >= sizeof w; i += sizeof w) {
        memcpy(&w, s + i, sizeof w);
        if (w & 0x8080808080808080u)
            runes -= continuations(w);
    }
    for (; i < len; i++)
        runes -= ((unsigned char)s[i] & 0xC0) == 0x80;
    return runes;
}

uint64_t ek_cel_cost_size(const struct ek_cel_val *value)
{
    while (value->kind == EK_CEL_OPTIONAL && value->some)
        value = value->some;
    switch (value->kind) {
    case EK_CEL_STRING:
        return ek_cel_runes(value->s, value->n);
    case EK_CEL_BYTES:
    case EK_CEL_LIST:
    case EK_CEL_MAP:
        return value->n;
    case EK_CEL_OPAQUE:
        return value->opaque->kind->cost_size ? value->opaque->kind->cost_size(value->opaque) : 1;
    default:
        return 1;
    }
}
