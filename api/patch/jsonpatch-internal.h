/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a tree that can be taken back. For the files of this folder.
 *
 * A patch may have as many operations as the tree has values, so none may cost a walk: containers
 * that are not small are opened when an operation first comes to them, which is then found in them
 * by an index. The tree itself always is as the operations have left it.
 */
#ifndef API_PATCH_JSONPATCH_INTERNAL_H
#define API_PATCH_JSONPATCH_INTERNAL_H

#include <stdbool.h>

#include "api/base/table.h"
#include "api/patch/jsonpatch.h"

/* A node of a container: the key of an object's member, behind which its value is, or an array's
 * item. */
struct ek_patch_place {
    yyjson_mut_val *prev; /* the node before; NULL at the start */
    yyjson_mut_val *node; /* NULL: there is none, and prev is the last */
    size_t at[2];         /* where an opened container has it */
};

/* One change: a node put into a container behind another (NULL: at its start), or taken out. */
struct ek_edit {
    yyjson_mut_val *container;
    yyjson_mut_val *prev;
    yyjson_mut_val *node;
    bool put;
};

/* A null of the tree, and whether it was put there while the mark was set. */
struct ek_marked {
    const yyjson_mut_val *value;
    bool marked;
};

struct ek_opened;

struct ek_edits {
    struct ek_edit *log; /* owned */
    size_t n, cap;
    bool mark;   /* for the values put next */
    bool failed; /* there was no memory for a mark */
    struct ek_work *work;
    struct ek_marked *nulls; /* owned */
    size_t n_nulls, cap_nulls;
    struct ek_table null_table;
    struct ek_opened **opened; /* owned, the containers too */
    size_t n_opened, cap_opened;
    struct ek_table opened_table;
};

int ek_edits_init(struct ek_edits *edits, struct ek_work *work);
void ek_edits_done(struct ek_edits *edits);

/* Makes room to note two more changes, which then cannot fail. 0 or EK_E_NOMEM. */
int ek_edits_reserve(struct ek_edits *edits);

/* The place of the first member of a name. */
struct ek_patch_place ek_edit_find(struct ek_edits *edits, yyjson_mut_val *object,
                                   struct ek_str name);

/* The place of an item; at is at most the array's size. */
struct ek_patch_place ek_edit_item(struct ek_edits *edits, yyjson_mut_val *array, size_t at);

/* The value of a place that was just found; NULL when there is none. */
yyjson_mut_val *ek_edit_value(const yyjson_mut_val *container, const struct ek_patch_place *place);

/* Takes the node out of a place that was just found. The place is then where to put another. */
void ek_edit_take(struct ek_edits *edits, yyjson_mut_val *container, struct ek_patch_place *place);

/* Puts a node (of an object: a key, with its value as next) into a place that was just found and
 * has none, or whose node was just taken. */
void ek_edit_put(struct ek_edits *edits, yyjson_mut_val *container,
                 const struct ek_patch_place *place, yyjson_mut_val *node);

/* True when value was put into the tree with the mark set: itself, not as a part of another. */
bool ek_edits_marked(const struct ek_edits *edits, const yyjson_mut_val *value);

/* Takes all changes back, the last one first. Nothing may be found or changed afterwards. */
void ek_edits_undo(struct ek_edits *edits);

/* ---- Opened containers (jsonpatch_open.c) ---- */

/* Containers of so many nodes are searched from their start. */
#define EK_OPENED_SMALL 64u

/* NULL without memory. */
struct ek_opened *ek_opened_new(yyjson_mut_val *container);
void ek_opened_free(struct ek_opened *opened);

yyjson_mut_val *ek_opened_container(const struct ek_opened *opened);

/* As ek_edit_find and ek_edit_item. */
struct ek_patch_place ek_opened_find(struct ek_opened *opened, struct ek_str name,
                                     struct ek_work *work);
struct ek_patch_place ek_opened_item(struct ek_opened *opened, size_t at, struct ek_work *work);

/* Update opened after the node was taken out of the tree, or put into it. */
void ek_opened_take(struct ek_opened *opened, const struct ek_patch_place *place);
int ek_opened_put(struct ek_opened *opened, const struct ek_patch_place *place,
                  yyjson_mut_val *node);

/* ---- */

/* Appends why Go's quoting of s cannot be read as JSON; false when it can. */
bool ek_quoting_breaks(struct ek_str s, struct ek_buf *why);

/* True when a value of the tree passes a test for another: numbers by value, null like {} and,
 * if the test is for [], like []; the reference does the same. False also when the work is over. */
bool ek_jsonpatch_same(yyjson_mut_val *value, yyjson_mut_val *wanted, struct ek_work *work);

/* True when a value nests deeper than levels. */
bool ek_jsonpatch_deeper(yyjson_mut_val *value, size_t levels, struct ek_work *work);

#endif
