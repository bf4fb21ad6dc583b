/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/type-internal.h"

#include <string.h>

#include "api/cel/library.h"

#define SIMPLE(id, kind_, text)                                                                    \
    const struct ek_cel_type ek_cel_type_##id = {.kind = (kind_), .name = (text)}

SIMPLE(dyn, EK_CEL_T_DYN, "dyn");
SIMPLE(null, EK_CEL_T_NULL, "null_type");
SIMPLE(bool, EK_CEL_T_BOOL, "bool");
SIMPLE(int, EK_CEL_T_INT, "int");
SIMPLE(uint, EK_CEL_T_UINT, "uint");
SIMPLE(double, EK_CEL_T_DOUBLE, "double");
SIMPLE(string, EK_CEL_T_STRING, "string");
SIMPLE(bytes, EK_CEL_T_BYTES, "bytes");
SIMPLE(timestamp, EK_CEL_T_TIMESTAMP, "google.protobuf.Timestamp");
SIMPLE(duration, EK_CEL_T_DURATION, "google.protobuf.Duration");
SIMPLE(type, EK_CEL_T_TYPE, "type");
SIMPLE(error, EK_CEL_T_ERROR, "!error!");
SIMPLE(none, EK_CEL_T_NONE, "");

static const struct ek_cel_type *const two_dyn[] = {&ek_cel_type_dyn, &ek_cel_type_dyn};

const struct ek_cel_type ek_cel_type_list_dyn = {EK_CEL_T_LIST, 1, "list", two_dyn, 2};
const struct ek_cel_type ek_cel_type_map_dyn = {EK_CEL_T_MAP, 2, "map", two_dyn, 3};
const struct ek_cel_type ek_cel_type_optional_dyn = {EK_CEL_T_OPTIONAL, 1, "optional_type", two_dyn,
                                                     2};

bool ek_cel_type_equal(const struct ek_cel_type *a, const struct ek_cel_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->n != b->n || strcmp(a->name, b->name) != 0)
        return false;
    if (a->kind == EK_CEL_T_PARAM && (ek_cel_type_var_of(a)->free || ek_cel_type_var_of(b)->free))
        return ek_cel_type_var_of(a)->free == ek_cel_type_var_of(b)->free &&
               ek_cel_type_var_of(a)->index == ek_cel_type_var_of(b)->index;
    for (uint32_t i = 0; i < a->n; i++)
        if (!ek_cel_type_equal(a->params[i], b->params[i]))
            return false;
    return true;
}

int ek_cel_type_format(const struct ek_cel_type *type, struct ek_buf *out)
{
    if (type->kind == EK_CEL_T_PARAM && ek_cel_type_var_of(type)->free)
        ek_buf_printf(out, "_var%u", (unsigned)ek_cel_type_var_of(type)->index);
    else
        ek_buf_puts(out, type->name);
    for (uint32_t i = 0; i < type->n; i++) {
        ek_buf_puts(out, i ? ", " : "(");
        ek_cel_type_format(type->params[i], out);
    }
    return type->n ? ek_buf_puts(out, ")") : out->failed;
}

const struct ek_cel_type *ek_cel_type_build(const struct ek_cel_taker *taker,
                                            enum ek_cel_type_kind kind, const char *name,
                                            const struct ek_cel_type *const *params, uint32_t n)
{
    size_t own = kind == EK_CEL_T_PARAM ? sizeof(struct ek_cel_type_var) : sizeof(**params);
    struct ek_cel_type *type = taker->take(taker->arg, own + n * sizeof(void *));
    const struct ek_cel_type **copy;
    uint64_t size = 1;

    if (!type)
        return NULL;
    memset(type, 0, own);
    copy = (const struct ek_cel_type **)((char *)type + own);
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = params[i];
        size += params[i]->size ? params[i]->size : 1;
    }
    *type = (struct ek_cel_type){.kind = kind,
                                 .n = n,
                                 .name = name,
                                 .params = copy,
                                 .size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size};
    return type;
}

static void *take_from_arena(void *arena, size_t size)
{
    return ek_arena_try(arena, size);
}

const struct ek_cel_type *ek_cel_type_make(struct ek_arena *arena, enum ek_cel_type_kind kind,
                                           const char *name,
                                           const struct ek_cel_type *const *params, uint32_t n)
{
    return ek_cel_type_build(&(struct ek_cel_taker){take_from_arena, arena}, kind, name, params, n);
}

/* The first element of a list, or the first entry of a map, stands for all of them. */
static bool admits_first(const struct ek_cel_type *type, const struct ek_cel_val *container)
{
    struct ek_cel_iter iter;

    if (!type->n || container->form == EK_CEL_HOST)
        return true;
    ek_cel_iter_init(&iter, container);
    if (!ek_cel_iter_next(&iter))
        return true;
    if (container->kind == EK_CEL_LIST)
        return ek_cel_type_admits(type->params[0], &iter.value);
    return ek_cel_type_admits(type->params[0], &iter.key) &&
           ek_cel_type_admits(type->params[1], &iter.value);
}

const uint8_t ek_cel_type_values[] = {
    [EK_CEL_T_NULL] = EK_CEL_NULL,         [EK_CEL_T_BOOL] = EK_CEL_BOOL,
    [EK_CEL_T_INT] = EK_CEL_INT,           [EK_CEL_T_UINT] = EK_CEL_UINT,
    [EK_CEL_T_DOUBLE] = EK_CEL_DOUBLE,     [EK_CEL_T_STRING] = EK_CEL_STRING,
    [EK_CEL_T_BYTES] = EK_CEL_BYTES,       [EK_CEL_T_TIMESTAMP] = EK_CEL_TIMESTAMP,
    [EK_CEL_T_DURATION] = EK_CEL_DURATION, [EK_CEL_T_LIST] = EK_CEL_LIST,
    [EK_CEL_T_MAP] = EK_CEL_MAP,           [EK_CEL_T_TYPE] = EK_CEL_TYPE,
    [EK_CEL_T_OPTIONAL] = EK_CEL_OPTIONAL,
};

bool ek_cel_type_admits(const struct ek_cel_type *type, const struct ek_cel_val *value)
{
    switch (type->kind) {
    case EK_CEL_T_DYN:
    case EK_CEL_T_PARAM:
    case EK_CEL_T_ERROR:
        return true;
    case EK_CEL_T_NONE:
        return false;
    case EK_CEL_T_OPAQUE:
        return value->kind == EK_CEL_OPAQUE && !strcmp(value->opaque->kind->name, type->name);
    case EK_CEL_T_STRUCT: /* typed variables of the host are maps at run time */
        return value->kind == EK_CEL_MAP ||
               (value->kind == EK_CEL_STRUCT && !strcmp(value->object->type, type->name));
    case EK_CEL_T_LIST:
    case EK_CEL_T_MAP:
        return value->kind == ek_cel_type_values[type->kind] && admits_first(type, value);
    default:
        return value->kind == ek_cel_type_values[type->kind];
    }
}
