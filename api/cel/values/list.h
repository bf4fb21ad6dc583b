/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the list libraries share: lists as arrays, and the reference's way of ordering. Not for
 * hosts. Pure but for the evaluation's arena; one thread per evaluation.
 */
#ifndef API_CEL_VALUES_LIST_H
#define API_CEL_VALUES_LIST_H

#include "api/cel/library.h"
#include "api/cel/values/value.h"

/* The elements of list as an array, borrowed from the list or made in the evaluation's arena; NULL
 * without memory. An empty list gives a pointer that must not be read. */
const struct ek_cel_val *ek_cel_list_elements(struct ek_cel_eval *eval,
                                              const struct ek_cel_val *list);

/* Room for a list of exactly n elements, for the caller to fill; NULL without memory. */
struct ek_cel_items *ek_cel_list_room(struct ek_cel_eval *eval, uint32_t n);

/* The list that room has become once it is filled. */
struct ek_cel_val ek_cel_list_of(const struct ek_cel_items *room);

/* True when a equals b. Each comparison lowers *steps. At 0 the comparison ends, and the caller
 * fails with ek_cel_too_large. */
static inline bool ek_cel_same(const struct ek_cel_val *a, const struct ek_cel_val *b,
                               uint64_t *steps)
{
    return ek_cel_equal_within(a, b, steps) == EK_CEL_EQUAL;
}

/* True for kinds that have an order at all, which is what min, sort and isSorted ask first. */
bool ek_cel_has_order(const struct ek_cel_val *value);

/* -1, 0 or 1; EK_CEL_UNORDERED for kinds that don't compare with each other, and for NaN. */
#define EK_CEL_UNORDERED 2
int ek_cel_order(const struct ek_cel_val *a, const struct ek_cel_val *b);

/*
 * Fills order with the numbers 0..n-1 in the order of their keys, equal keys as the reference
 * leaves them (Go's sort.Slice: pattern-defeating quicksort, which is not stable beyond 12
 * elements). Returns false when keys are not all of the first one's kind. O(n log n).
 */
bool ek_cel_sort_order(const struct ek_cel_val *keys, uint32_t n, uint32_t *order);

#endif
