/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types as the environment and the checker make them: where their memory comes from, and what a
 * type variable is. Nothing else needs it.
 */
#ifndef API_CEL_VALUES_TYPE_INTERNAL_H
#define API_CEL_VALUES_TYPE_INTERNAL_H

#include "api/cel/values/type.h"

/* Memory for makers of types: an arena of a compilation, a pool of an environment. */
struct ek_cel_taker {
    void *(*take)(void *arg, size_t size); /* aligned for anything; NULL without memory */
    void *arg;
};

/* What every type of kind EK_CEL_T_PARAM is. */
struct ek_cel_type_var {
    struct ek_cel_type type;
    uint32_t index; /* of a free one: number of the variable; else its ordinal in a signature */
    bool free;      /* made by the checker, which may bind it */
};

static inline const struct ek_cel_type_var *ek_cel_type_var_of(const struct ek_cel_type *type)
{
    return (const struct ek_cel_type_var *)type;
}

/* As ek_cel_type_make, for any source of memory. Name and parameters' types are borrowed. */
const struct ek_cel_type *ek_cel_type_build(const struct ek_cel_taker *taker,
                                            enum ek_cel_type_kind kind, const char *name,
                                            const struct ek_cel_type *const *params, uint32_t n);

#endif
