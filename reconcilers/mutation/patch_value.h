/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the expressions of mutations evaluate to, as data: the patch of an ApplyConfiguration, the
 * operations of a JSONPatch. Not for those outside this folder.
 *
 * The API server takes some values of CEL and refuses others in ways that come from how its
 * conversions are written; in-tree behaviour has the same outcome
 * (apiserver/pkg/cel/mutation/dynamic/objects.go: ConvertToNative). Extended behaviour converts
 * everything that JSON has a form for.
 */
#ifndef RECONCILERS_MUTATION_PATCH_VALUE_H
#define RECONCILERS_MUTATION_PATCH_VALUE_H

#include "api/base/arena.h"
#include "api/base/work.h"
#include "api/cel/cel.h"
#include "api/patch/jsonpatch.h"

/*
 * Checks that the names of struct types in value follow the fields they stand in ("Object.spec" at
 * spec), from the type's own name down. Returns NULL, or all findings, one per line, in arena.
 */
const char *ek_patch_check_type_names(const struct ek_cel_val *value, struct ek_arena *arena);

/*
 * Makes, in doc, the patch that an Object value is. extended: nested lists and maps, unsigned
 * numbers, bytes and times are converted as JSON would have them; else they become values that fit
 * no schema (ek_merge_foreign). Returns NULL with err filled for keys that are no strings, values
 * that nest too deeply, when the work (may be NULL) is over, or without memory.
 */
yyjson_mut_val *ek_patch_from_object(const struct ek_cel_val *value, bool extended,
                                     yyjson_mut_doc *doc, struct ek_work *work, struct ek_err *err);

/* Makes the operations that a list(JSONPatch) value is: *ret_n of them in *ret_ops, both in arena,
 * their values in doc. Returns 0 or EK_E_*, with errors as the API server words them; EK_E_CANCELED
 * when the work (may be NULL) is over. */
int ek_patch_from_operations(const struct ek_cel_val *value, bool extended, yyjson_mut_doc *doc,
                             struct ek_arena *arena, struct ek_work *work,
                             struct ek_jsonpatch_op **ret_ops, size_t *ret_n, struct ek_err *err);

#endif
