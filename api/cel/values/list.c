/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/list.h"

#include <math.h>
#include <string.h>

#include "api/cel/values/type.h"

struct ek_cel_items *ek_cel_list_room(struct ek_cel_eval *eval, uint32_t n)
{
    struct ek_cel_items *room =
        ek_cel_alloc(eval, sizeof(*room) + (size_t)n * sizeof(struct ek_cel_val));
    if (room)
        room->used = room->cap = n;
    return room;
}

struct ek_cel_val ek_cel_list_of(const struct ek_cel_items *room)
{
    return (struct ek_cel_val){.kind = EK_CEL_LIST, .n = room->used, .items = room};
}

const struct ek_cel_val *ek_cel_list_elements(struct ek_cel_eval *eval,
                                              const struct ek_cel_val *list)
{
    if (list->form == EK_CEL_NATIVE)
        return list->items->v;
    struct ek_cel_items *room = ek_cel_list_room(eval, list->n);
    struct ek_cel_iter iter;
    uint32_t n = 0;

    if (!room)
        return NULL;
    ek_cel_iter_init(&iter, list);
    while (n < list->n && ek_cel_iter_next(&iter))
        room->v[n++] = iter.value;
    return room->v;
}

bool ek_cel_has_order(const struct ek_cel_val *value)
{
    switch (value->kind) {
    case EK_CEL_BOOL:
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DOUBLE:
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
    case EK_CEL_TIMESTAMP:
    case EK_CEL_DURATION:
        return true;
    default:
        return false;
    }
}

static int order_octets(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    uint32_t shorter = a->n < b->n ? a->n : b->n;
    int sign = shorter ? memcmp(a->s, b->s, shorter) : 0;

    return sign ? (sign > 0) - (sign < 0) : (a->n > b->n) - (a->n < b->n);
}

static int order_same_kind(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    switch (a->kind) {
    case EK_CEL_BOOL:
        return a->b - b->b;
    case EK_CEL_INT:
    case EK_CEL_DURATION:
        return (a->i > b->i) - (a->i < b->i);
    case EK_CEL_UINT:
        return (a->u > b->u) - (a->u < b->u);
    case EK_CEL_DOUBLE:
        if (isnan(a->d) || isnan(b->d))
            return EK_CEL_UNORDERED;
        return (a->d > b->d) - (a->d < b->d);
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        return order_octets(a, b);
    case EK_CEL_TIMESTAMP:
        return a->i != b->i ? (a->i > b->i) - (a->i < b->i) : (a->n > b->n) - (a->n < b->n);
    default:
        return EK_CEL_UNORDERED;
    }
}

/* A whole number against a double, exact although not every int64 or uint64 is a double. */
static int order_whole_double(const struct ek_cel_val *whole, double d)
{
    double lowest = whole->kind == EK_CEL_INT ? -0x1p63 : 0;
    double beyond = whole->kind == EK_CEL_INT ? 0x1p63 : 0x1p64;

    if (isnan(d))
        return EK_CEL_UNORDERED;
    if (d < lowest)
        return 1;
    if (d >= beyond)
        return -1;
    struct ek_cel_val cut = *whole;
    double rest = d - floor(d);
    if (whole->kind == EK_CEL_INT)
        cut.i = (int64_t)floor(d);
    else
        cut.u = (uint64_t)floor(d);
    int sign = order_same_kind(whole, &cut);
    return sign == 0 && rest > 0 ? -1 : sign;
}

int ek_cel_order(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    if (a->kind == b->kind)
        return order_same_kind(a, b);
    bool a_whole = a->kind == EK_CEL_INT || a->kind == EK_CEL_UINT;
    bool b_whole = b->kind == EK_CEL_INT || b->kind == EK_CEL_UINT;
    if (a_whole && b_whole) {
        const struct ek_cel_val *i = a->kind == EK_CEL_INT ? a : b;
        const struct ek_cel_val *u = i == a ? b : a;
        int sign = i->i < 0 || (uint64_t)i->i < u->u ? -1 : (uint64_t)i->i > u->u;
        return i == a ? sign : -sign;
    }
    if (a_whole && b->kind == EK_CEL_DOUBLE)
        return order_whole_double(a, b->d);
    if (b_whole && a->kind == EK_CEL_DOUBLE) {
        int sign = order_whole_double(b, a->d);
        return sign == EK_CEL_UNORDERED ? sign : -sign;
    }
    return EK_CEL_UNORDERED;
}
