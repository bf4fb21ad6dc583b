/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' quantity library: quantity("1.5Gi") and its methods. */
#include "api/cel/lib/opaque.h"
#include "api/cel/values/quantity.h"

/* Sums change what they are made of (api/cel/values/quantity.h), hence the pointer. */
struct quantity_val {
    struct ek_cel_opaque opaque;
    struct ek_cel_quantity *quantity;
};

static struct ek_cel_quantity *quantity_of(const struct ek_cel_opaque *opaque)
{
    return ((const struct quantity_val *)opaque)->quantity;
}

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    return ek_cel_quantity_compare(quantity_of(a), quantity_of(b)) == 0;
}

static int format(const struct ek_cel_opaque *value, struct ek_buf *out)
{
    return ek_cel_quantity_format(quantity_of(value), out);
}

static const struct ek_cel_opaque_kind quantity_kind = {
    .name = "kubernetes.Quantity",
    .equal = equal,
    .format = format,
};

/* The reference's sums are pointers to quantities, which its == does not know on the right. */
const struct ek_cel_opaque_kind ek_cel_quantity_sum_kind = {
    .name = "kubernetes.Quantity",
    .equal = equal,
    .format = format,
    .peer = &quantity_kind,
};

static struct ek_cel_quantity *receive(const struct ek_cel_val *value)
{
    bool known = ek_cel_is_opaque(value, &quantity_kind) ||
                 ek_cel_is_opaque(value, &ek_cel_quantity_sum_kind);

    return known ? quantity_of(value->opaque) : NULL;
}

static struct ek_cel_val make(struct ek_cel_eval *eval, const struct ek_cel_opaque_kind *kind,
                              const struct ek_cel_quantity *quantity)
{
    struct made {
        struct quantity_val value;
        struct ek_cel_quantity quantity;
    } *made = ek_cel_alloc(eval, sizeof *made);

    if (!made)
        return ek_cel_no_memory(eval);
    made->quantity = *quantity;
    made->value = (struct quantity_val){{kind}, &made->quantity};
    return ek_cel_opaque_val(&made->value.opaque);
}

static struct ek_cel_val quantity(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    struct ek_cel_quantity q;
    const char *why;

    (void)n;
    switch (ek_cel_quantity_parse(eval, ek_cel_text_of(&args[0]), &q, &why)) {
    case 0:
        return make(eval, &quantity_kind, &q);
    case EK_E_PARSE:
        return ek_cel_fail(eval, "%s", why);
    default:
        return ek_cel_no_memory(eval);
    }
}

static struct ek_cel_val is_quantity(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_bool(ek_cel_quantity_check(ek_cel_text_of(&args[0])) == NULL);
}

static struct ek_cel_val sign(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_quantity *q = receive(&args[0]);

    return q ? ek_cel_int(ek_cel_quantity_sign(q)) : ek_cel_no_overload(eval, NULL, args, n);
}

static struct ek_cel_val is_integer(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_quantity *q = receive(&args[0]);
    int64_t ignored;

    return q ? ek_cel_bool(ek_cel_quantity_int(q, &ignored))
             : ek_cel_no_overload(eval, NULL, args, n);
}

static struct ek_cel_val as_integer(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_quantity *q = receive(&args[0]);
    int64_t value;

    if (!q)
        return ek_cel_no_overload(eval, NULL, args, n);
    if (!ek_cel_quantity_int(q, &value))
        return ek_cel_fail(eval, "cannot convert value to integer");
    return ek_cel_int(value);
}

static struct ek_cel_val as_double(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_cel_quantity *q = receive(&args[0]);
    double value;

    if (!q)
        return ek_cel_no_overload(eval, NULL, args, n);
    return ek_cel_quantity_double(eval, q, &value) ? ek_cel_double(value) : ek_cel_no_memory(eval);
}

/* Fills *ret_order; else returns the error. */
static bool order_of(struct ek_cel_eval *eval, const struct ek_cel_val *args, int *ret_order,
                     struct ek_cel_val *ret_error)
{
    struct ek_cel_quantity *a = receive(&args[0]), *b = receive(&args[1]);

    if (!a || !b)
        *ret_error = ek_cel_no_overload(eval, NULL, args, 2);
    else if (!ek_cel_quantity_meet(eval, a, b))
        *ret_error = ek_cel_no_memory(eval);
    else
        *ret_order = ek_cel_quantity_compare(a, b);
    return ret_error->kind == EK_CEL_NULL;
}

static struct ek_cel_val is_greater(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_val error = ek_cel_null();
    int order = 0;

    (void)n;
    return order_of(eval, args, &order, &error) ? ek_cel_bool(order > 0) : error;
}

static struct ek_cel_val is_less(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    struct ek_cel_val error = ek_cel_null();
    int order = 0;

    (void)n;
    return order_of(eval, args, &order, &error) ? ek_cel_bool(order < 0) : error;
}

static struct ek_cel_val compare_to(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    struct ek_cel_val error = ek_cel_null();
    int order = 0;

    (void)n;
    return order_of(eval, args, &order, &error) ? ek_cel_int(order) : error;
}

static struct ek_cel_val combine(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 bool subtract)
{
    struct ek_cel_quantity *a = receive(&args[0]), *b = receive(&args[1]), number, sum;

    if (a && !b && args[1].kind == EK_CEL_INT) {
        number = ek_cel_quantity_of_int(args[1].i);
        b = &number;
    }
    if (!a || !b)
        return ek_cel_no_overload(eval, NULL, args, 2);
    if (!(subtract ? ek_cel_quantity_sub : ek_cel_quantity_add)(eval, a, b, &sum))
        return ek_cel_no_memory(eval);
    return make(eval, &ek_cel_quantity_sum_kind, &sum);
}

static struct ek_cel_val add(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return combine(eval, args, false);
}

static struct ek_cel_val sub(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    return combine(eval, args, true);
}

#define Q "kubernetes.Quantity"
#define MEMBER(name, id, signature, fn)                                                            \
    EK_CEL_FUNCTION(name, NULL, EK_CEL_OVERLOAD(id, signature, EK_CEL_MEMBER, fn))

static const struct ek_cel_function functions[] = {
    EK_CEL_FUNCTION("quantity", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("string_to_quantity", "string -> " Q, 0, quantity)),
    EK_CEL_FUNCTION("isQuantity", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("is_quantity_string", "string -> bool", 0, is_quantity)),
    EK_CEL_FUNCTION("sign", NULL, EK_CEL_OVERLOAD("quantity_sign", Q " -> int", 0, sign)),
    MEMBER("isGreaterThan", "quantity_is_greater_than", Q ", " Q " -> bool", is_greater),
    MEMBER("isLessThan", "quantity_is_less_than", Q ", " Q " -> bool", is_less),
    MEMBER("compareTo", "quantity_compare_to", Q ", " Q " -> int", compare_to),
    MEMBER("asApproximateFloat", "quantity_get_float", Q " -> double", as_double),
    MEMBER("asInteger", "quantity_get_int", Q " -> int", as_integer),
    MEMBER("isInteger", "quantity_is_integer", Q " -> bool", is_integer),
    EK_CEL_FUNCTION("add", NULL,
                    EK_CEL_OVERLOAD("quantity_add", Q ", " Q " -> " Q, EK_CEL_MEMBER, add),
                    EK_CEL_OVERLOAD("quantity_add_int", Q ", int -> " Q, EK_CEL_MEMBER, add)),
    EK_CEL_FUNCTION("sub", NULL,
                    EK_CEL_OVERLOAD("quantity_sub", Q ", " Q " -> " Q, EK_CEL_MEMBER, sub),
                    EK_CEL_OVERLOAD("quantity_sub_int", Q ", int -> " Q, EK_CEL_MEMBER, sub)),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&quantity_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_quantity = {
    .name = "kubernetes.quantity",
    .functions = functions,
    .types = types,
};
