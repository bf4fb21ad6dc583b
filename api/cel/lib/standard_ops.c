/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/cel/lib/standard.h"
#include "api/cel/syntax/ast.h"
#include "api/cel/text/time.h"

#define PAIR(a, b) ((a)*EK_CEL_KIND_MAX + (b))
#define NS         INT64_C(1000000000)

/* Kinds that can be on the left of an operator, as a set of bits. */
#define BIT(kind) (1u << (kind))
#define NUMBERS   (BIT(EK_CEL_INT) | BIT(EK_CEL_UINT) | BIT(EK_CEL_DOUBLE))
#define TIMES     (BIT(EK_CEL_DURATION) | BIT(EK_CEL_TIMESTAMP))
#define TEXTS     (BIT(EK_CEL_STRING) | BIT(EK_CEL_BYTES))
#define RECEIVERS (BIT(EK_CEL_STRING) | TIMES)

struct ek_cel_val ek_cel_no_trait(struct ek_cel_eval *eval, const char *function,
                                  const struct ek_cel_val *left)
{
    if (BIT(left->kind) & RECEIVERS)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_fail(eval, "no such overload: %s", function);
}

/* No pair of kinds fits: because of the left side, or because of the right. */
static struct ek_cel_val refuse(struct ek_cel_eval *eval, const char *function, unsigned left,
                                const struct ek_cel_val *args)
{
    if (BIT(args[0].kind) & left)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_no_trait(eval, function, &args[0]);
}

static struct ek_cel_val int_overflow(struct ek_cel_eval *eval)
{
    return ek_cel_fail(eval, "integer overflow");
}

static struct ek_cel_val uint_overflow(struct ek_cel_eval *eval)
{
    return ek_cel_fail(eval, "unsigned integer overflow");
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static struct ek_cel_val concat(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                                const struct ek_cel_val *b)
{
    if (!b->n)
        return *a;
    if (!a->n)
        return *b;

    size_t len = (size_t)a->n + b->n;
    char *s = len > UINT32_MAX / 2 ? NULL : ek_cel_alloc(eval, len);
    if (!s)
        return ek_cel_no_memory(eval);
    memcpy(s, a->s, a->n);
    memcpy(s + a->n, b->s, b->n);
    return (struct ek_cel_val){.kind = a->kind, .n = (uint32_t)len, .s = s};
}

static struct ek_cel_val add_lists(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                                   const struct ek_cel_val *b)
{
    struct ek_cel_val sum = *a;

    if (!ek_cel_list_extend(eval, &sum, b))
        return ek_cel_no_memory(eval);
    if (a->n && b->n)
        sum.offset = EK_CEL_LIST_SUM;
    return sum;
}

/* ns more than a timestamp, which keeps its offset. */
static struct ek_cel_val add_time(struct ek_cel_eval *eval, const struct ek_cel_val *time,
                                  int64_t ns)
{
    int64_t seconds = time->i + ns / NS, rest = time->n + ns % NS;
    struct ek_cel_val sum = *time;

    if (rest < 0) {
        rest += NS;
        seconds--;
    } else if (rest >= NS) {
        rest -= NS;
        seconds++;
    }
    if (seconds < EK_CEL_SECONDS_MIN || seconds > EK_CEL_SECONDS_MAX)
        return ek_cel_fail(eval, "timestamp overflow");
    sum.i = seconds;
    sum.n = (uint32_t)rest;
    return sum;
}

struct ek_cel_val ek_cel_op_add(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const struct ek_cel_val *a = &args[0], *b = &args[1];
    struct ek_cel_val sum = *a;

    (void)n;
    switch (PAIR(a->kind, b->kind)) {
    case PAIR(EK_CEL_INT, EK_CEL_INT):
    case PAIR(EK_CEL_DURATION, EK_CEL_DURATION):
        return __builtin_add_overflow(a->i, b->i, &sum.i) ? int_overflow(eval) : sum;
    case PAIR(EK_CEL_UINT, EK_CEL_UINT):
        return __builtin_add_overflow(a->u, b->u, &sum.u) ? uint_overflow(eval) : sum;
    case PAIR(EK_CEL_DOUBLE, EK_CEL_DOUBLE):
        return ek_cel_double(a->d + b->d);
    case PAIR(EK_CEL_STRING, EK_CEL_STRING):
    case PAIR(EK_CEL_BYTES, EK_CEL_BYTES):
        return concat(eval, a, b);
    case PAIR(EK_CEL_LIST, EK_CEL_LIST):
        return add_lists(eval, a, b);
    case PAIR(EK_CEL_TIMESTAMP, EK_CEL_DURATION):
        return add_time(eval, a, b->i);
    case PAIR(EK_CEL_DURATION, EK_CEL_TIMESTAMP):
        return add_time(eval, b, a->i);
    default:
        return refuse(eval, EK_CEL_OP_ADD, NUMBERS | TEXTS | TIMES | BIT(EK_CEL_LIST), args);
    }
}

static struct ek_cel_val between(struct ek_cel_eval *eval, const struct ek_cel_val *a,
                                 const struct ek_cel_val *b)
{
    int64_t ns;

    if (__builtin_mul_overflow(a->i - b->i, NS, &ns) ||
        __builtin_add_overflow(ns, (int64_t)a->n - b->n, &ns))
        return int_overflow(eval);
    return ek_cel_duration(ns);
}

struct ek_cel_val ek_cel_op_subtract(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    const struct ek_cel_val *a = &args[0], *b = &args[1];
    struct ek_cel_val rest = *a;

    (void)n;
    switch (PAIR(a->kind, b->kind)) {
    case PAIR(EK_CEL_INT, EK_CEL_INT):
    case PAIR(EK_CEL_DURATION, EK_CEL_DURATION):
        return __builtin_sub_overflow(a->i, b->i, &rest.i) ? int_overflow(eval) : rest;
    case PAIR(EK_CEL_UINT, EK_CEL_UINT):
        return __builtin_sub_overflow(a->u, b->u, &rest.u) ? uint_overflow(eval) : rest;
    case PAIR(EK_CEL_DOUBLE, EK_CEL_DOUBLE):
        return ek_cel_double(a->d - b->d);
    case PAIR(EK_CEL_TIMESTAMP, EK_CEL_DURATION):
        return b->i == INT64_MIN ? int_overflow(eval) : add_time(eval, a, -b->i);
    case PAIR(EK_CEL_TIMESTAMP, EK_CEL_TIMESTAMP):
        return between(eval, a, b);
    default:
        return refuse(eval, EK_CEL_OP_SUB, NUMBERS | TIMES, args);
    }
}

/* ---- Products -------------------------------------------------------------------------------- */

struct ek_cel_val ek_cel_op_multiply(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    const struct ek_cel_val *a = &args[0], *b = &args[1];
    struct ek_cel_val product = *a;

    (void)n;
    switch (PAIR(a->kind, b->kind)) {
    case PAIR(EK_CEL_INT, EK_CEL_INT):
        return __builtin_mul_overflow(a->i, b->i, &product.i) ? int_overflow(eval) : product;
    case PAIR(EK_CEL_UINT, EK_CEL_UINT):
        return __builtin_mul_overflow(a->u, b->u, &product.u) ? uint_overflow(eval) : product;
    case PAIR(EK_CEL_DOUBLE, EK_CEL_DOUBLE):
        return ek_cel_double(a->d * b->d);
    default:
        return refuse(eval, EK_CEL_OP_MUL, NUMBERS, args);
    }
}

struct ek_cel_val ek_cel_op_divide(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    const struct ek_cel_val *a = &args[0], *b = &args[1];

    (void)n;
    switch (PAIR(a->kind, b->kind)) {
    case PAIR(EK_CEL_INT, EK_CEL_INT):
        if (!b->i)
            return ek_cel_fail(eval, "division by zero");
        if (a->i == INT64_MIN && b->i == -1)
            return int_overflow(eval);
        return ek_cel_int(a->i / b->i);
    case PAIR(EK_CEL_UINT, EK_CEL_UINT):
        return b->u ? ek_cel_uint(a->u / b->u) : ek_cel_fail(eval, "division by zero");
    case PAIR(EK_CEL_DOUBLE, EK_CEL_DOUBLE):
        return ek_cel_double(a->d / b->d);
    default:
        return refuse(eval, EK_CEL_OP_DIV, NUMBERS, args);
    }
}

struct ek_cel_val ek_cel_op_modulo(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    const struct ek_cel_val *a = &args[0], *b = &args[1];

    (void)n;
    switch (PAIR(a->kind, b->kind)) {
    case PAIR(EK_CEL_INT, EK_CEL_INT):
        if (!b->i)
            return ek_cel_fail(eval, "modulus by zero");
        if (a->i == INT64_MIN && b->i == -1)
            return int_overflow(eval);
        return ek_cel_int(a->i % b->i);
    case PAIR(EK_CEL_UINT, EK_CEL_UINT):
        return b->u ? ek_cel_uint(a->u % b->u) : ek_cel_fail(eval, "modulus by zero");
    default:
        return refuse(eval, EK_CEL_OP_MOD, BIT(EK_CEL_INT) | BIT(EK_CEL_UINT), args);
    }
}

struct ek_cel_val ek_cel_op_negate(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_cel_val v = args[0];

    (void)n;
    switch (v.kind) {
    case EK_CEL_INT:
    case EK_CEL_DURATION:
        if (v.i == INT64_MIN)
            return int_overflow(eval);
        v.i = -v.i;
        return v;
    case EK_CEL_DOUBLE:
        return ek_cel_double(-v.d);
    default:
        return refuse(eval, EK_CEL_OP_NEGATE, BIT(EK_CEL_BOOL), args);
    }
}
