/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two values are compared and their arrays aligned. For the files of this folder.
 *
 * One side is immutable and the other mutable; members and items of both are listed in the same
 * form, with the side given by the caller.
 */
#ifndef API_PATCH_JSONDIFF_INTERNAL_H
#define API_PATCH_JSONDIFF_INTERNAL_H

#include "api/base/buf.h"
#include "api/patch/jsondiff.h"

/* Members and items of small containers are listed on the stack. */
#define EK_DIFF_SMALL 16u

/* A member of an object, or an item of an array (without a key). */
struct ek_diff_part {
    struct ek_str key;
    void *value; /* yyjson_val * of the old side, yyjson_mut_val * of the new */
};

/* The parts of one container. */
struct ek_diff_parts {
    size_t n;
    struct ek_diff_part *all; /* small, or owned */
    bool sorted;              /* by key; of objects that are not small */
    struct ek_diff_part small[EK_DIFF_SMALL];
};

/* Lists the parts but for the first skip of them. false without memory. */
bool ek_diff_parts_old(struct ek_diff_parts *ret, yyjson_val *container, size_t skip);
bool ek_diff_parts_new(struct ek_diff_parts *ret, yyjson_mut_val *container, size_t skip);
void ek_diff_parts_done(struct ek_diff_parts *parts);

/* The member with a key, searched from *cursor on; SIZE_MAX when there is none. The cursor is left
 * behind what was found. */
size_t ek_diff_find(const struct ek_diff_parts *parts, struct ek_str key, size_t *cursor);

/* True when two strings are equal. */
bool ek_diff_same_text(yyjson_val *a, yyjson_mut_val *b);

/* What comparisons share: their work, and the first error, 0 while there is none. */
struct ek_diff_state {
    struct ek_work *work; /* may be NULL */
    int rc;
};

/* Equality with a depth so far; state has the error where there was one. */
bool ek_diff_equal(yyjson_val *a, yyjson_mut_val *b, size_t depth, struct ek_diff_state *state);

/* How two runs of array items go together. */
struct ek_diff_run {
    const struct ek_diff_part *old, *new;
    size_t n_old, n_new;
};

enum ek_diff_match { EK_DIFF_EQUAL, EK_DIFF_AKIN };

/*
 * Finds a longest common subsequence: ret_match (n_old entries) gets, for each old item, the new
 * item it goes with, in rising order, or SIZE_MAX. cells, the work that is left, is lowered; when
 * it does not suffice nothing goes together. 0 or an error, which state has too.
 */
int ek_diff_align(const struct ek_diff_run *run, enum ek_diff_match match, size_t *cells,
                  struct ek_diff_state *state, size_t *ret_match);

#endif
