/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's snapshot, made of a mutation state and the stores of its watch. What has not
 * changed since the last one is shared with it. Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_SNAPSHOT_H
#define CONTROLLER_MUTATION_SNAPSHOT_H

#include "controller/mutation/state.h"

/* Lists of params that were made before; zero at first. */
struct ek_mutation_lists {
    struct ek_mutation_list {
        char *key; /* "apiVersion kind", owned */
        const struct ek_store *store;
        unsigned long version;
        struct ek_object_list *list;
    } * items;
    size_t n;
};

void ek_mutation_lists_done(struct ek_mutation_lists *lists);

/* One reference for the caller. The sets are those of reconcilers/mutation/served_sets.h. loading:
 * as in ek_webhook_snapshot_set_loading. */
struct ek_webhook_snapshot *ek_mutation_snapshot_make(const struct ek_mutation_state *state,
                                                      struct ek_mutation_watch *watch,
                                                      struct ek_mutation_lists *lists,
                                                      bool loading);

#endif
