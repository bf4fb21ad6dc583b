/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the upgrade graph share: graph.c answers, graph_read.c reads file-based
 * catalogs.
 */
#ifndef RECONCILERS_FAILFORWARD_GRAPH_INTERNAL_H
#define RECONCILERS_FAILFORWARD_GRAPH_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/arena.h"

/* Strings are in the arena of the graph and never NULL. */
struct graph_package {
    const char *name, *default_channel;
};

struct graph_entry {
    const char *package, *channel, *name, *version, *replaces, *skip_range;
    const char **skips;
    size_t n_skips;
    bool deprecated;
    uint64_t content;
};

struct graph_sorted {
    struct graph_entry *entry;
    size_t position;
    bool is_default;
};

struct ek_ff_graph {
    struct ek_arena *arena;
    size_t max;
    struct graph_package *packages; /* owned */
    size_t n_packages, packages_cap;
    struct graph_entry *entries; /* owned */
    size_t n_entries, entries_cap;
};

#endif
