/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to a tree that can be taken back. For the files of this folder. */
#ifndef API_PATCH_JSONPATCH_INTERNAL_H
#define API_PATCH_JSONPATCH_INTERNAL_H

#include <stdbool.h>

#include "api/patch/jsonpatch.h"

/* One change: a value (with its key, in an object) put into a container at a place, or taken out.
 */
struct ek_edit {
    yyjson_mut_val *container;
    yyjson_mut_val *key; /* NULL in an array */
    yyjson_mut_val *value;
    size_t at;
    bool put;
    bool marked; /* put while edits->mark was set */
};

struct ek_edits {
    struct ek_edit *log; /* owned */
    size_t n, cap;
    bool mark; /* for the values put next */
};

/* Makes room to note two more changes, which then cannot fail. 0 or EK_E_NOMEM. */
int ek_edits_reserve(struct ek_edits *edits);

/* Changes an array; at is at most, or less than, its size. */
void ek_edit_put_item(struct ek_edits *edits, yyjson_mut_val *array, yyjson_mut_val *value,
                      size_t at);
yyjson_mut_val *ek_edit_take_item(struct ek_edits *edits, yyjson_mut_val *array, size_t at);

/* Changes an object likewise; the member taken out is *ret_key (may be NULL) and the answer. */
void ek_edit_put_member(struct ek_edits *edits, yyjson_mut_val *object, yyjson_mut_val *key,
                        yyjson_mut_val *value, size_t at);
yyjson_mut_val *ek_edit_take_member(struct ek_edits *edits, yyjson_mut_val *object, size_t at,
                                    yyjson_mut_val **ret_key);

/* The place of the first member of a name, SIZE_MAX when there is none. */
size_t ek_edit_find(yyjson_mut_val *object, struct ek_str name, yyjson_mut_val **ret_value);

/* True when value was put into the tree with the mark set: itself, not as a part of another. */
bool ek_edits_marked(const struct ek_edits *edits, const yyjson_mut_val *value);

/* Takes all changes back, the last one first. */
void ek_edits_undo(struct ek_edits *edits);

void ek_edits_done(struct ek_edits *edits);

/* Appends why Go's quoting of s cannot be read as JSON; false when it can. */
bool ek_quoting_breaks(struct ek_str s, struct ek_buf *why);

/* True when a value of the tree passes a test for another: numbers by value, null like {} and,
 * where it is asked for, like []; the reference has it so. */
bool ek_jsonpatch_same(yyjson_mut_val *value, yyjson_mut_val *wanted);

/* True when a value nests deeper than levels. */
bool ek_jsonpatch_deeper(yyjson_mut_val *value, size_t levels);

#endif
