/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/cel/lib/standard.h"
#include "api/cel/regex/regex.h"
#include "api/cel/syntax/ast.h"
#include "api/cel/values/account.h"
#include "api/cel/values/list.h"
#include "api/cel/values/value.h"

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* Fills *ret_order, or *ret_error and returns false. */
static bool order(struct ek_cel_eval *eval, const char *function, const struct ek_cel_val *args,
                  int *ret_order, struct ek_cel_val *ret_error)
{
    if (ek_cel_has_order(&args[0]))
        return ek_cel_compare(eval, &args[0], &args[1], ret_order, ret_error);
    *ret_error = ek_cel_no_trait(eval, function, &args[0]);
    return false;
}

struct ek_cel_val ek_cel_op_less(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    struct ek_cel_val error;
    int o;

    (void)n;
    return order(eval, EK_CEL_OP_LT, args, &o, &error) ? ek_cel_bool(o < 0) : error;
}

struct ek_cel_val ek_cel_op_less_equals(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                        uint32_t n)
{
    struct ek_cel_val error;
    int o;

    (void)n;
    return order(eval, EK_CEL_OP_LE, args, &o, &error) ? ek_cel_bool(o <= 0) : error;
}

struct ek_cel_val ek_cel_op_greater(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_val error;
    int o;

    (void)n;
    return order(eval, EK_CEL_OP_GT, args, &o, &error) ? ek_cel_bool(o > 0) : error;
}

struct ek_cel_val ek_cel_op_greater_equals(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                           uint32_t n)
{
    struct ek_cel_val error;
    int o;

    (void)n;
    return order(eval, EK_CEL_OP_GE, args, &o, &error) ? ek_cel_bool(o >= 0) : error;
}

struct ek_cel_val ek_cel_op_equals(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_cel_val error;
    int equal = ek_cel_try_equal(eval, &args[0], &args[1], &error);

    (void)n;
    return equal < 0 ? error : ek_cel_bool(equal);
}

struct ek_cel_val ek_cel_op_not_equals(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint32_t n)
{
    enum ek_cel_equality e = ek_cel_equal_within(&args[0], &args[1], &eval->compare_steps);

    (void)n;
    if (e == EK_CEL_EQ_LIMIT)
        return ek_cel_too_large(eval);
    return ek_cel_bool(e != EK_CEL_EQUAL);
}

/* ---- Truth ----------------------------------------------------------------------------------- */

struct ek_cel_val ek_cel_op_not(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    if (args[0].kind != EK_CEL_BOOL)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_bool(!args[0].b);
}

struct ek_cel_val ek_cel_op_not_strictly_false(struct ek_cel_eval *eval,
                                               const struct ek_cel_val *args, uint32_t n)
{
    (void)eval, (void)n;
    return ek_cel_bool(args[0].kind != EK_CEL_BOOL || args[0].b);
}

struct ek_cel_val ek_cel_op_none(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)args, (void)n;
    return ek_cel_no_overload(eval, NULL, NULL, 0);
}

/* ---- Containers ------------------------------------------------------------------------------ */

static struct ek_cel_val in_list(struct ek_cel_eval *eval, const struct ek_cel_val *item,
                                 const struct ek_cel_val *list)
{
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, list);
    while (ek_cel_iter_next(&iter)) {
        enum ek_cel_equality e = ek_cel_equal_within(item, &iter.value, &eval->compare_steps);
        if (e == EK_CEL_EQUAL)
            return ek_cel_bool(true);
        if (e == EK_CEL_EQ_LIMIT)
            return ek_cel_too_large(eval);
    }
    return ek_cel_bool(false);
}

struct ek_cel_val ek_cel_op_in(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const struct ek_cel_val *item = &args[0], *container = &args[1];
    struct ek_cel_val value;

    (void)n;
    if (container->kind == EK_CEL_LIST)
        return in_list(eval, item, container);
    if (container->kind != EK_CEL_MAP)
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    if (ek_cel_unhashable(item) && container->form == EK_CEL_NATIVE && container->n)
        return ek_cel_fail(eval, "internal error: hash of unhashable type %s",
                           ek_cel_unhashable(item));
    int found = ek_cel_map_get(eval, container, item, &value);
    return found < 0 ? value : ek_cel_bool(found);
}

struct ek_cel_val ek_cel_fn_size(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)n;
    switch (args[0].kind) {
    case EK_CEL_STRING:
        return ek_cel_int((int64_t)ek_cel_runes(args[0].s, args[0].n));
    case EK_CEL_BYTES:
    case EK_CEL_LIST:
    case EK_CEL_MAP:
        return ek_cel_int(args[0].n);
    default:
        return ek_cel_no_trait(eval, "size", &args[0]);
    }
}

/* ---- Strings --------------------------------------------------------------------------------- */

static bool two_strings(const struct ek_cel_val *args)
{
    return args[0].kind == EK_CEL_STRING && args[1].kind == EK_CEL_STRING;
}

struct ek_cel_val ek_cel_fn_contains(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    if (!two_strings(args))
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_bool(!args[1].n ||
                       (args[0].n && memmem(args[0].s, args[0].n, args[1].s, args[1].n)));
}

struct ek_cel_val ek_cel_fn_starts_with(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                        uint32_t n)
{
    const struct ek_cel_val *s = &args[0], *start = &args[1];

    (void)n;
    if (!two_strings(args))
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_bool(!start->n || (s->n >= start->n && memcmp(s->s, start->s, start->n) == 0));
}

struct ek_cel_val ek_cel_fn_ends_with(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    const struct ek_cel_val *s = &args[0], *end = &args[1];

    (void)n;
    if (!two_strings(args))
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    return ek_cel_bool(!end->n ||
                       (s->n >= end->n && memcmp(s->s + (s->n - end->n), end->s, end->n) == 0));
}

struct ek_cel_val ek_cel_fn_matches(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_val error;

    (void)n;
    if (!two_strings(args))
        return ek_cel_no_overload(eval, NULL, NULL, 0);
    const struct ek_cel_regex *regex = ek_cel_regex_of(eval, &args[1], &error);
    if (!regex)
        return error;
    return ek_cel_bool(ek_cel_regex_matches(regex, args[0].s, args[0].n));
}
