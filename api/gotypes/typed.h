/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of an object of a built-in kind on its way through the API server's Go structs,
 * which it takes after every mutation: empty values that are left out, zeroes that are written,
 * numbers that are cut to their width, times and quantities in their one form; and what the structs
 * cannot hold. Not for those outside this folder.
 *
 * Only what differs from the object as the request brought it is looked at: that one came out of
 * the server's structs, or, where a tool brought it, is to stay as its author wrote it. Source:
 * Kubernetes 1.36, runtime.DefaultUnstructuredConverter and encoding/json, whose error texts are
 * kept.
 */
#ifndef API_GOTYPES_TYPED_H
#define API_GOTYPES_TYPED_H

#include "api/base/arena.h"
#include "api/base/work.h"
#include "api/schema/schema.h"

struct ek_typed {
    const struct ek_schema *schema;
    uint32_t type;
    yyjson_mut_doc *doc;
    /* How the object comes: read strictly from JSON (after a JSON Patch), or converted from
     * unstructured content that was checked by ek_merge_validate (after a merge). */
    bool decoded;
    struct ek_arena *arena; /* for errors */
    struct ek_work *work;   /* may be NULL */
};

/*
 * Settles object, a tree in typed->doc, in place; base is the object of the request. Returns 0;
 * EK_E_INVAL with *ret_error, in the arena, when it does not fit; EK_E_NOMEM;
 * EK_E_CANCELED when the work is over, object then being half converted.
 */
int ek_typed_settle(const struct ek_typed *typed, yyjson_mut_val *object, yyjson_val *base,
                    const char **ret_error);

#endif
