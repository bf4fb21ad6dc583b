/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the value files share: look-ups in JSON objects, equality with a bound. Not for hosts.
 *
 * Values may be nested by loops and shared within each other, so every walk over one is bounded in
 * depth and, where sharing could make it long, in steps.
 */
#ifndef API_CEL_VALUES_VALUE_H
#define API_CEL_VALUES_VALUE_H

#include <string.h>

#include "api/cel/library.h"
#include "api/obj.h"

/* Deeper values than this are not compared, formatted or converted: JSON of all the depth that it
 * may have (EK_JSON_DEPTH_MAX), in an expression of all the depth that it may have, fits. */
#define EK_CEL_VALUE_DEPTH_MAX (EK_JSON_DEPTH_MAX + EK_JSON_ENVELOPE_MAX + 500u)

/* Above this many keys a JSON object is looked up by an index where there is one. */
#define EK_CEL_JSON_LINEAR_MAX 128u

/* The value of a key (len octets) of a JSON object, or NULL. Linear. */
static inline yyjson_val *ek_cel_json_find(yyjson_val *object, const char *key, size_t len)
{
    yyjson_val *k = unsafe_yyjson_get_first(object);

    for (size_t n = unsafe_yyjson_get_len(object); n; n--) {
        if (unsafe_yyjson_get_len(k) == len && memcmp(unsafe_yyjson_get_str(k), key, len) == 0)
            return k + 1;
        k = unsafe_yyjson_get_next(k + 1);
    }
    return NULL;
}

/* A hash index over the keys of one JSON object: slots of key values, NULL is free. */
struct ek_cel_json_index {
    struct ek_cel_json_index *next; /* for owners of several */
    yyjson_val *object;
    uint32_t mask; /* slots less one, a power of two */
    yyjson_val *slots[];
};

/* The octets that an index over object needs. */
size_t ek_cel_json_index_size(yyjson_val *object);
/* Fills index, which has that size. */
void ek_cel_json_index_fill(struct ek_cel_json_index *index, yyjson_val *object);
yyjson_val *ek_cel_json_index_find(const struct ek_cel_json_index *index, const char *key,
                                   size_t len);

/* True when two strings or bytes are the same. */
static inline bool ek_cel_same_octets(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->s, b->s, a->n) == 0);
}

/* The name of the type of a value that cannot be a key, which the reference has no hash for; NULL
 * for all others. */
static inline const char *ek_cel_unhashable(const struct ek_cel_val *v)
{
    if (v->kind == EK_CEL_OPAQUE && v->opaque->kind->unhashable)
        return v->opaque->kind->name;
    return v->kind == EK_CEL_BYTES ? "bytes" : NULL;
}

/* True when two numbers of any kinds are equal, as the reference compares them; NaN never is. */
bool ek_cel_numbers_equal(const struct ek_cel_val *a, const struct ek_cel_val *b);

/* What an equality may be. */
enum ek_cel_equality {
    EK_CEL_UNEQUAL,
    EK_CEL_EQUAL,
    EK_CEL_EQ_OVERLOAD, /* the error "no such overload": opaque values of different kinds */
    EK_CEL_EQ_LIMIT,    /* deeper or longer than is compared */
};

/* Compares, lowering *steps by the work done; EK_CEL_EQ_LIMIT when *steps would pass zero. */
enum ek_cel_equality ek_cel_equal_within(const struct ek_cel_val *a, const struct ek_cel_val *b,
                                         uint64_t *steps);

/* The error when values are too large to compare, or together were so: that ends the evaluation. */
struct ek_cel_val ek_cel_too_large(struct ek_cel_eval *eval);

/* Steps that all comparisons of one evaluation may take, about a second; and a single one that
 * belongs to none. */
#define EK_CEL_COMPARE_STEPS_MAX ((uint64_t)30 * 1000 * 1000)
#define EK_CEL_EQUAL_STEPS_MAX   ((uint64_t)5 * 1000 * 1000)

#endif
