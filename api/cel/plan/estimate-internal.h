/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate in progress; estimate.c and estimate_calls.c share it. Not for others. */
#ifndef API_CEL_PLAN_ESTIMATE_INTERNAL_H
#define API_CEL_PLAN_ESTIMATE_INTERNAL_H

#include "api/cel/env/ref.h"
#include "api/cel/estimate.h"
#include "api/cel/syntax/ast.h"

/* The size of a string, bytes, list or map; of all other values 1. */
struct ek_cel_size {
    uint64_t min, max;
};

/* The way from a variable to a value, as far as the declaration goes. */
struct ek_cel_way {
    bool known; /* there is a way; node NULL: it leads to what is not declared */
    const struct ek_cel_declared *node;
};

/* What is known of the keys and values of a container. */
struct ek_cel_entry_size {
    bool known, is_list;
    struct ek_cel_size key, value;
};

/* What is known of a node. */
struct ek_cel_facts {
    const struct ek_cel_node *node; /* NULL: a free place */
    bool sized;
    struct ek_cel_size size;
    struct ek_cel_way way;
    struct ek_cel_entry_size entry;
};

/* A variable of a fold. */
struct ek_cel_estimate_local {
    const char *name;
    struct ek_cel_way way;
    bool sized;
    struct ek_cel_size size;
    struct ek_cel_entry_size entry;
    const struct ek_cel_estimate_local *up;
};

struct ek_cel_estimate {
    const struct ek_cel_declared *root;
    struct ek_arena *arena;
    struct ek_cel_facts *facts; /* a hash table by node */
    size_t cap;                 /* a power of two */
    const struct ek_cel_estimate_local *locals;
    bool failed;
};

/* An argument of a call, or its target. */
struct ek_cel_estimate_arg {
    const struct ek_cel_node *node;
    struct ek_cel_way way;
    bool sized; /* its computed size is known */
    struct ek_cel_size size;
    uint64_t cost;
};

/* A call whose arguments have been estimated. */
struct ek_cel_estimate_call {
    const char *function, *overload;
    const struct ek_cel_estimate_arg *target; /* NULL: not a member call */
    const struct ek_cel_estimate_arg *args;
    size_t n;
};

struct ek_cel_call_cost {
    uint64_t cost; /* without that of the arguments */
    bool sized;    /* the size of the result is known */
    struct ek_cel_size size;
};

static inline uint64_t ek_cel_sat_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t ek_cel_sat_mul(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* x times factor, rounded up. */
uint64_t ek_cel_sat_scale(uint64_t x, double factor);

/* The size of an argument; 0 to UINT64_MAX for one that is not known. */
struct ek_cel_size ek_cel_size_of_arg(const struct ek_cel_estimate_arg *arg);

/* What a function of Kubernetes or of an extension costs; false for all others, which cost what the
 * core has for them. */
bool ek_cel_estimate_library(const struct ek_cel_estimate *e,
                             const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret);

/* The size that is declared for the items of a list; false when it is not. */
bool ek_cel_declared_item_size(const struct ek_cel_estimate *e,
                               const struct ek_cel_estimate_arg *list, struct ek_cel_size *ret);

#endif
