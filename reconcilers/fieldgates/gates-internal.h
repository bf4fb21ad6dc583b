/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of gates share: an object of gates with its memory, its reader, and the trie while
 * it grows. Single-threaded, until the gates are given away.
 */
#ifndef RECONCILERS_FIELDGATES_GATES_INTERNAL_H
#define RECONCILERS_FIELDGATES_GATES_INTERNAL_H

#include <stdatomic.h>

#include "reconcilers/fieldgates/gates.h"

struct ek_gates_inner__ {
    struct ek_gates gates; /* first: the one is found from the other */
    atomic_size_t refs;
    struct ek_arena *arena; /* owned; has all else, this struct excepted */
};

/* A node as it is built: children in the order in which they came. */
struct ek_gates_growing__ {
    struct ek_str name;
    const char *each; /* as of ek_gate_node */
    const struct ek_gate *gate;
    const struct ek_field_path *path;
    struct ek_gates_growing__ *child, *next; /* first child; next sibling */
};

enum ek_gates_added__ {
    EK_GATES_ADDED__,
    EK_GATES_THERE__, /* already */
    EK_GATES_MIXED__, /* [*] where another path has a name, or the other way round */
};

/* Puts path into the trie below root, where it is neither there nor mixed. */
enum ek_gates_added__ ek_gates_trie_add__(struct ek_arena *arena, struct ek_gates_growing__ *root,
                                          const struct ek_field_path *path,
                                          const struct ek_gate *gate);

/* The trie for good, in arena, without the gates of refused (n names) and without what says
 * nothing. Never NULL. */
const struct ek_gate_node *ek_gates_trie_finish__(struct ek_arena *arena,
                                                  const struct ek_gates_growing__ *root,
                                                  const char *const *refused, size_t n);

/* Fills gates from obj and adds what is wrong to its problems; the trie grows below root. */
void ek_gates_read__(struct ek_gates_inner__ *inner, yyjson_val *obj,
                     struct ek_gates_growing__ *root);

/* "alpha", "beta", ..., NULL. */
extern const char *const ek_gate_stage_names__[];

#endif
