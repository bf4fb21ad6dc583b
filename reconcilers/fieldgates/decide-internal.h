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
    EK_GATES_UNCHANGED__, /* another value was asked for */
    EK_GATES_KEPT__,      /* its removal was asked for */
    EK_GATES_LOST__,      /* removed with an open gate's field; the write is carried out */
    EK_GATES_USED__,      /* a deprecated field, and stored */
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
    yyjson_mut_doc *doc; /* NULL: no patch is wanted */
    bool creating;
    yyjson_mut_val *patch; /* NULL while there is nothing to change */
    struct ek_buf pointer; /* to where the walk is */
    struct ek_gates_note__ *notes;
    size_t n_notes, cap;
    int rc; /* first failure */
};

void ek_gates_note__(struct ek_gates_walk__ *walk, enum ek_gates_note_kind__ kind,
                     const struct ek_gate_node *node, bool silent);

/* Adds an operation at walk's pointer; value NULL for remove. */
void ek_gates_patch__(struct ek_gates_walk__ *walk, const char *op, yyjson_mut_val *value);

/* Decides a write of /scale. True when it can only be denied: there is no value to put back. */
bool ek_gates_walk_scale__(struct ek_gates_walk__ *walk);

/* True for the three kinds of a write that was not carried out. */
static inline bool ek_gates_is_suppressed__(const struct ek_gates_note__ *note)
{
    return note->kind <= EK_GATES_KEPT__;
}

/* The warnings of all notes, in arena; their number in *ret_n. */
const char *const *ek_gates_warnings__(const struct ek_gates_walk__ *walk, size_t *ret_n);

/* The message of a denial, in arena. */
const char *ek_gates_denial__(const struct ek_gates_walk__ *walk);

#endif
