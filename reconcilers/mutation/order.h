/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which bound policies run: by scope, nearer to the root first, then by the policy's
 * name, then by the binding's. It depends on nothing else, so all replicas have the same, and
 * adding a policy does not change how the others follow each other. API servers run policies in no
 * defined order, so any order is right for policies that behave InTree. Pure.
 *
 * Source: KEP-3962, "Order"; for equal scopes, what webhooks do.
 */
#ifndef RECONCILERS_MUTATION_ORDER_H
#define RECONCILERS_MUTATION_ORDER_H

#include "reconcilers/mutation/engine.h"

/* Sorts n bound policies, which is the order of a set. */
void ek_order_sort(struct ek_bound *bound, size_t n);

#endif
