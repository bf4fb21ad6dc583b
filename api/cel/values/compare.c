/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "api/cel/values/value.h"

#define SIGN(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Numbers of different kinds are compared as doubles once both are in the other's range, as the
 * reference does it: 2^53 + 1 and 2.0^53 are equal.
 */
static int double_int(double d, int64_t i)
{
    if (d < -0x1p63)
        return -1;
    if (d > 0x1p63)
        return 1;
    return SIGN(d, (double)i);
}

static int double_uint(double d, uint64_t u)
{
    if (d < 0)
        return -1;
    if (d > 0x1p64)
        return 1;
    return SIGN(d, (double)u);
}

static int int_uint(int64_t i, uint64_t u)
{
    if (i < 0 || u > INT64_MAX)
        return -1;
    return SIGN(i, (int64_t)u);
}

static bool is_number(const struct ek_cel_val *v)
{
    return v->kind >= EK_CEL_INT && v->kind <= EK_CEL_DOUBLE;
}

/* Orders two numbers, neither of which is NaN. */
static int numbers(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    switch (a->kind * 8 + b->kind) {
    case EK_CEL_INT * 8 + EK_CEL_INT:
        return SIGN(a->i, b->i);
    case EK_CEL_UINT * 8 + EK_CEL_UINT:
        return SIGN(a->u, b->u);
    case EK_CEL_DOUBLE * 8 + EK_CEL_DOUBLE:
        return SIGN(a->d, b->d);
    case EK_CEL_INT * 8 + EK_CEL_UINT:
        return int_uint(a->i, b->u);
    case EK_CEL_UINT * 8 + EK_CEL_INT:
        return -int_uint(b->i, a->u);
    case EK_CEL_INT * 8 + EK_CEL_DOUBLE:
        return -double_int(b->d, a->i);
    case EK_CEL_DOUBLE * 8 + EK_CEL_INT:
        return double_int(a->d, b->i);
    case EK_CEL_UINT * 8 + EK_CEL_DOUBLE:
        return -double_uint(b->d, a->u);
    default:
        return double_uint(a->d, b->u);
    }
}

bool ek_cel_numbers_equal(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    if ((a->kind == EK_CEL_DOUBLE && isnan(a->d)) || (b->kind == EK_CEL_DOUBLE && isnan(b->d)))
        return false;
    return numbers(a, b) == 0;
}

static int octets(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    uint32_t n = a->n < b->n ? a->n : b->n;
    int order = n ? memcmp(a->s, b->s, n) : 0;

    return order ? SIGN(order, 0) : SIGN(a->n, b->n);
}

static bool compare_numbers(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                            const struct ek_cel_val *b, int *ret_order,
                            struct ek_cel_val *ret_error)
{
    bool nan = a->kind == EK_CEL_DOUBLE && isnan(a->d);

    if (!nan && !is_number(b)) {
        *ret_error = ek_cel_no_overload(eval, NULL, NULL, 0);
        return false;
    }
    if (nan || (b->kind == EK_CEL_DOUBLE && isnan(b->d))) {
        *ret_error = ek_cel_fail(eval, "NaN values cannot be ordered");
        return false;
    }
    *ret_order = numbers(a, b);
    return true;
}

bool ek_cel_compare(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                    const struct ek_cel_val *b, int *ret_order, struct ek_cel_val *ret_error)
{
    if (is_number(a))
        return compare_numbers(eval, a, b, ret_order, ret_error);
    if (a->kind == b->kind) {
        switch (a->kind) {
        case EK_CEL_STRING:
        case EK_CEL_BYTES:
            *ret_order = octets(a, b);
            return true;
        case EK_CEL_BOOL:
            *ret_order = a->b - b->b;
            return true;
        case EK_CEL_DURATION:
            *ret_order = SIGN(a->i, b->i);
            return true;
        case EK_CEL_TIMESTAMP:
            *ret_order = a->i != b->i ? SIGN(a->i, b->i) : SIGN(a->n, b->n);
            return true;
        default:
            break;
        }
    }
    *ret_error = ek_cel_no_overload(eval, NULL, NULL, 0);
    return false;
}
