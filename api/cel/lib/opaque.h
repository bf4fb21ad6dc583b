/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opaque values of Kubernetes' libraries that more than one file deals in. Not for hosts.
 */
#ifndef API_CEL_LIB_OPAQUE_H
#define API_CEL_LIB_OPAQUE_H

#include "api/cel/library.h"
#include "api/cel/text/address.h"

/* kubernetes.Quantity of a sum: another kind than that of quantity(), of the same name, which ==
 * treats differently. */
extern const struct ek_cel_opaque_kind ek_cel_quantity_sum_kind;

struct ek_cel_ip_val {
    struct ek_cel_opaque opaque;
    struct ek_cel_address address;
};

/* An IP value for address; an error value without memory. */
struct ek_cel_val ek_cel_ip_make(struct ek_cel_eval *eval, const struct ek_cel_address *address);

/* The text of a string value. */
static inline struct ek_str ek_cel_text_of(const struct ek_cel_val *value)
{
    return (struct ek_str){value->s, value->n};
}

/* Defines an implementation that is one expression. */
#define EK_CEL_FN(name, expression)                                                                \
    static struct ek_cel_val name(struct ek_cel_eval *eval, const struct ek_cel_val *args,         \
                                  uint32_t n)                                                      \
    {                                                                                              \
        (void)eval;                                                                                \
        (void)n;                                                                                   \
        return expression;                                                                         \
    }

/* An overload, and a function of the overloads that follow; cost may be NULL. */
#define EK_CEL_OVERLOAD(id_, signature_, flags_, fn_)                                              \
    {                                                                                              \
        .id = (id_), .signature = (signature_), .flags = (flags_), .fn = (fn_)                     \
    }
#define EK_CEL_FUNCTION(name_, cost_, ...)                                                         \
    {                                                                                              \
        .name = (name_), .cost = (cost_), .overloads = (const struct ek_cel_overload[])            \
        {                                                                                          \
            __VA_ARGS__,                                                                           \
            {                                                                                      \
                .id = NULL                                                                         \
            }                                                                                      \
        }                                                                                          \
    }

/* ceil(0.1 n) of the first argument, what reading it costs. */
static inline uint64_t ek_cel_cost_of_reading(const struct ek_cel_val *args, uint32_t n,
                                              const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 1);
}

#endif
