/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which bound policies run: by scope, nearer to the root first, then by the policy's
 * name, then by the binding's. It depends on nothing else, so all replicas have the same, and
 * adding a policy does not change how the others follow each other. API servers run policies in a
 * random order (mutation sheet, section 2.3), so any order is right for policies that behave
 * InTree. Pure.
 *
 * Source: KEP-3962, "Order"; for equal scopes, what webhooks do.
 */
#ifndef RECONCILERS_MUTATION_ORDER_H
#define RECONCILERS_MUTATION_ORDER_H

#include "reconcilers/mutation/engine.h"

/* Sorts n bound policies, which is the order of a set. */
void ek_order_sort(struct ek_bound *bound, size_t n);

/* The place of policy among the policies (not bindings) of a sorted set, from 1; 0 when it is not
 * there. *ret_n (may be NULL) is how many policies there are. */
unsigned ek_order_of(const struct ek_policy_set *set, const struct ek_policy *policy,
                     unsigned *ret_n);

#endif
