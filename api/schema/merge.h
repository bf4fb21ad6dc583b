/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging by structure: a partial object put into a whole one, as its schema says.
 *
 * This is what an ApplyConfiguration of a mutating admission policy does (Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go: ApplyStructuredMergeDiff), with the
 * reference's results, blind spots and error texts; and, where the caller opts in, what the
 * reference refuses: replacing what is atomic, and removing. It knows no owners of fields and no
 * managedFields, and does no defaulting but that of list keys.
 *
 * Model: a patch is a value that names what should be there, and a list of removals that name what
 * should not. First everything is checked, and nothing has changed when a check fails. Then the
 * value is merged into the live tree in place: scalars are overwritten where they stand, members
 * and items are added at the end, lists are put in a new order only when the patch requires one.
 * Last the removals are carried out, so that a removal wins over a value.
 *
 *     scalar, atomic list, map or struct    the patch's value
 *     struct, granular map                  the union of members, merged one by one
 *     set                                   the union of items
 *     list with keys                        the union of items by key, merged one by one; a key
 * that the patch leaves out has the default that is declared order of items those that the patch
 * names are in its order null, {} or [] on what has members    nothing
 *
 * Members apiVersion and kind are merged as all others: the caller takes them out of a patch that
 * must not change them. No object may have two members of one name.
 *
 * Ownership: the live tree belongs to doc, and what is put into it is copied there; patch and live
 * may share nothing. Functions keep no state; trees are the caller's to protect from other threads.
 * Memory beyond doc's is proportional to the longest list and released on return.
 */
#ifndef API_SCHEMA_MERGE_H
#define API_SCHEMA_MERGE_H

#include "api/base/buf.h"
#include "api/base/work.h"
#include "api/schema/schema.h"

/* Flags of the functions below. */
#define EK_MERGE_DUPLICATES 1u /* validate: sets and keyed lists may hold an item twice */
#define EK_MERGE_ATOMIC     2u /* apply: what is atomic may be replaced, and removed from */

/* A patch with more removals is refused: each takes a walk through its lists. */
#define EK_MERGE_REMOVALS_MAX 1000

/* Error texts are cut at this length. */
#define EK_MERGE_TEXT_MAX ((size_t)16 * 1024)

/*
 * One step down a tree: to a member of a map by name, or to the items of a list that stand for the
 * same as a given one: items of a set that are equal to it, items of a keyed list with its key.
 */
struct ek_merge_step {
    struct ek_str field;  /* the member; not looked at when item is set */
    yyjson_mut_val *item; /* NULL for a member */
};

/* What is to be absent: the member or the items at the end of the steps. What is not there already
 * is fine. Borrowed, as all of a patch. */
struct ek_merge_removal {
    const struct ek_merge_step *steps;
    size_t n_steps; /* at least one */
};

struct ek_merge_patch {
    yyjson_mut_val *value; /* NULL when there are only removals */
    const struct ek_merge_removal *removals;
    size_t n_removals;    /* at most EK_MERGE_REMOVALS_MAX, or EK_E_LIMIT is the answer */
    struct ek_work *work; /* of its application; may be NULL */
};

/*
 * Checks that value fits type: fields that are not declared, scalars, lists and maps in each
 * other's place, items without a key, items twice. Nulls fit everywhere. 0, or EK_E_INVAL: then
 * text (may be NULL) gets what is wrong in the reference's words, all findings of it, ".spec.foo:
 * field not declared in schema" or "errors:\n  .a: ...\n  .b: ...", and err its start. Findings
 * come in the order of value's members, where the reference has none. EK_E_LIMIT beyond
 * EK_JSON_DEPTH_MAX levels, EK_E_NOMEM, EK_E_CANCELED when the work (may be NULL) is over.
 */
int ek_merge_validate(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                      unsigned flags, struct ek_work *work, struct ek_buf *text,
                      struct ek_err *err);

/*
 * Applies patch to live, an object of type in doc that passed ek_merge_validate with
 * EK_MERGE_DUPLICATES. Checks the patch first, by the two functions above; their findings are
 * prefixed as the reference does ("failed to convert patch object to typed object: ", "invalid
 * ApplyConfiguration: ").
 *
 * Removals are refused (EK_E_INVAL) where they name what is not declared, a key of a list, an item
 * of a list without keys, or, without EK_MERGE_ATOMIC, something within an atomic map.
 *
 * After EK_E_NOMEM and EK_E_CANCELED, or when live is not valid, the live tree may be half changed;
 * after all other errors it is as it was.
 */
int ek_merge_apply(const struct ek_schema *schema, uint32_t type, yyjson_mut_doc *doc,
                   yyjson_mut_val *live, const struct ek_merge_patch *patch, unsigned flags,
                   struct ek_buf *text, struct ek_err *err);

/*
 * Makes, in doc, a value that stands in a patch for something JSON has no form for, such as an
 * unsigned integer or a point in time. It fits no type, and ek_merge_validate reports that in the
 * reference's words, for which it needs the name of the Go type ("uint64"), the value in Go's
 * syntax
 * ("0x3") and as Go prints it ("3"). NULL without memory.
 */
yyjson_mut_val *ek_merge_foreign(yyjson_mut_doc *doc, const char *go_type, const char *go_syntax,
                                 const char *go_text);

#endif
