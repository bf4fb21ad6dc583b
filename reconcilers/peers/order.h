/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common order of names that several servers list in orders of their own
 * (apimachinery/pkg/util/sort/sort.go:MergePreservingRelativeOrder of Kubernetes 1.36).
 *
 * Neighbours in a list must keep their order. The first list that has every name once is the
 * result; otherwise names come as early as the lists allow, the lesser name first; and where lists
 * contradict each other, all names are sorted. Names compare by bytes. Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_ORDER_H
#define RECONCILERS_PEERS_ORDER_H

#include <stddef.h>

#include "api/base/arena.h"

struct ek_name_list {
    const char *const *names;
    size_t n;
};

/* Returns the order, *ret_n borrowed names in an array of the arena; each name once, or a list of
 * the input as it is. */
const char *const *ek_order_merge(const struct ek_name_list *lists, size_t n,
                                  struct ek_arena *arena, size_t *ret_n);

#endif
