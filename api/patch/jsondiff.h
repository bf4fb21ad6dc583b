/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two JSON values as a JSON Patch (RFC 6902): what an admission webhook answers.
 *
 * The patch uses add, remove and replace. It is small, not provably the smallest: members are
 * compared by name; items of arrays are first aligned where they are equal, then, between those,
 * where both are objects with the same name, key or type, and then one by one; a container is
 * replaced as a whole where that is shorter than to say what changed in it. Numbers are compared by
 * value (1 is 1.0), members in any order. No object may have two members of one name, which
 * ek_json_parse sees to.
 *
 * Operations are valid in the order given: indexes take what came before into account. Pure; any
 * thread, with its own document.
 */
#ifndef API_PATCH_JSONDIFF_H
#define API_PATCH_JSONDIFF_H

#include <yyjson.h>

#include "api/base/err.h"
#include "api/base/work.h"

/*
 * Sets *ret_patch to an array, a value of doc, of the operations that make to out of from; an empty
 * one when they are equal. from and to are only read; values are copied. The work is bounded: where
 * arrays are too long to be aligned, items are compared by their place. work may be NULL.
 * EK_E_LIMIT when one of the two nests deeper than EK_JSON_DEPTH_MAX, EK_E_CANCELED, EK_E_NOMEM.
 */
int ek_jsondiff(yyjson_val *from, yyjson_mut_val *to, yyjson_mut_doc *doc, struct ek_work *work,
                yyjson_mut_val **ret_patch, struct ek_err *err);

/* True when two values are the same JSON, as above. Values that nest too deep are not equal, and no
 * values are equal once the work (may be NULL) is over. */
bool ek_jsondiff_equal(yyjson_val *a, yyjson_mut_val *b, struct ek_work *work);

/* A number that values share which are the same JSON, and others by chance alone (api/base/hash.h).
 */
uint64_t ek_jsondiff_hash(yyjson_val *value, struct ek_work *work);
uint64_t ek_jsondiff_hash_mut(yyjson_mut_val *value, struct ek_work *work);

#endif
