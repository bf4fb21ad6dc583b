/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the decision share: notes of what the walk has found, in the order of the trie,
 * and what is made of them. Single-threaded.
 */
#ifndef RECONCILERS_FIELDGATES_DECIDE_INTERNAL_H
#define RECONCILERS_FIELDGATES_DECIDE_INTERNAL_H

#include "reconcilers/fieldgates/decide.h"

enum ek_gates_note_kind__ {
    EK_GATES_DROPPED__,   /* nothing was there, nothing is */
    EK_GATES_UNCHANGED__, /* another value was requested */
    EK_GATES_KEPT__,      /* its removal was requested */
    EK_GATES_UNMATCHED__, /* of an item of a list, and it is not known which item that is now */
    EK_GATES_LOST__,      /* removed with an open gate's field, or with an item of a list or a map;
                             the write is carried out */
    EK_GATES_USED__,      /* a deprecated field, and stored */
    EK_GATES_UNNOTED__,   /* no note */
};

struct ek_gates_note__ {
    enum ek_gates_note_kind__ kind;
    const struct ek_gate *gate;
    const struct ek_field_path *path;
    bool silent; /* below a path that has the warning */
};

struct ek_gates_walk__ {
    const struct ek_gates *gates;
    const struct ek_gates_shape *shape;
    const struct ek_admission_request *request;
    struct ek_arena *arena;
    struct ek_work *work;
    yyjson_mut_doc *doc; /* NULL: no patch is wanted */
    bool creating;
    yyjson_mut_val *patch; /* NULL while there is nothing to change */
    struct ek_buf pointer; /* to where the walk is */
    struct ek_gates_note__ *notes;
    size_t n_notes, cap;
    bool unmatched; /* there is such a note: the write can only be denied */
    int rc;         /* first failure */
};

/* Notes each path once for each kind. */
void ek_gates_note__(struct ek_gates_walk__ *walk, enum ek_gates_note_kind__ kind,
                     const struct ek_gate_node *node, bool silent);

/* Adds an operation at walk's pointer; value NULL for remove. */
void ek_gates_patch__(struct ek_gates_walk__ *walk, const char *op, yyjson_mut_val *value);

/* Decides a write of /scale. True when it can only be denied: there is no value to put back. */
bool ek_gates_walk_scale__(struct ek_gates_walk__ *walk);

/* The walk from node on, a path that new and old (NULL: none) are at. silent: a deprecated path
 * above has the warning. */
void ek_gates_visit__(struct ek_gates_walk__ *walk, const struct ek_gate_node *node,
                      yyjson_val *new, yyjson_val *old, bool silent);

/* True when new and old differ at most in what is frozen, and so will be the same: both have as
 * many members that are not frozen, and those of new are in old. */
bool ek_gates_is_same__(struct ek_gates_walk__ *walk, const struct ek_gate_node *node,
                        yyjson_val *new, yyjson_val *old);

/* Whether old, which is at node, has a value of a closed gate; each is noted as of kind (LOST: what
 * may be removed is not). */
bool ek_gates_holds__(struct ek_gates_walk__ *walk, const struct ek_gate_node *node,
                      yyjson_val *old, enum ek_gates_note_kind__ kind);

/* The same of old, a list or a map with values at each. */
bool ek_gates_holds_any__(struct ek_gates_walk__ *walk, const struct ek_gate_node *each,
                          yyjson_val *old, enum ek_gates_note_kind__ kind);

/* Closed, so that the walk ends there. */
static inline bool ek_gates_is_closed__(const struct ek_gate_node *node)
{
    return node->gate && !node->gate->on;
}

/* The node of [*], when that is below node; else NULL. */
static inline const struct ek_gate_node *ek_gates_each_of__(const struct ek_gate_node *node)
{
    return node->n_children && node->children[0].each ? &node->children[0] : NULL;
}

/* Visits each item of a list or each value of a map. new is the list or the map; the items are at
 * node, [*]. */
void ek_gates_visit_each__(struct ek_gates_walk__ *walk, const struct ek_gate_node *node,
                           yyjson_val *new, yyjson_val *old, bool silent);

/* As ek_gates_is_same__, of lists or maps with values at node, [*]. */
bool ek_gates_is_same_each__(struct ek_gates_walk__ *walk, const struct ek_gate_node *node,
                             yyjson_val *new, yyjson_val *old);

void ek_gates_fail__(struct ek_gates_walk__ *walk, int code);

/* True for the four kinds of a write that was not carried out. */
static inline bool ek_gates_is_suppressed__(const struct ek_gates_note__ *note)
{
    return note->kind <= EK_GATES_UNMATCHED__;
}

/* The warnings of all notes, in arena; their number in *ret_n. */
const char *const *ek_gates_warnings__(const struct ek_gates_walk__ *walk, size_t *ret_n);

/* The message of a denial, in arena. */
const char *ek_gates_denial__(const struct ek_gates_walk__ *walk);

#endif
