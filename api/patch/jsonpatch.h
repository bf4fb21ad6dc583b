/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Patch (RFC 6902): a list of operations carried out on a tree, all or none.
 *
 * The results, and the error texts, are those of the library that API servers use
 * (evanphx/json-patch v4), which is more lenient than the RFC: replace adds a member that is
 * absent, indexes may be negative and then count from the end, copying an absent member gives null,
 * "~" may stand unescaped, and what stands before the first "/" of a path is not looked at. Where
 * that library would crash there is an error here: an operation on the members of null, or on the
 * whole document without a value.
 *
 * Model: operations change the tree in place, and each change is noted; when an operation fails the
 * notes are read backwards and the tree is as it was, order of members included.
 *
 * Ownership: the tree belongs to doc, and what is added to it is copied there. Operations borrow
 * their strings and values. Functions keep no state; trees are the caller's to protect.
 */
#ifndef API_PATCH_JSONPATCH_H
#define API_PATCH_JSONPATCH_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/base/work.h"

/* What all copy operations of a patch together may add, in octets of JSON, as in API servers. */
#define EK_JSONPATCH_COPY_MAX ((size_t)3 * 1024 * 1024)

/* Longer patches in JSON are refused, as by API servers. */
#define EK_JSONPATCH_OPS_MAX 10000

/* Error texts are cut at this length. */
#define EK_JSONPATCH_TEXT_MAX ((size_t)16 * 1024)

/*
 * Flag: the strings of the operations come from a policy of the API server, which quotes them by
 * the rules of Go and reads them by those of JSON. Where the rules differ for a character (control
 * characters without an escape of their own, and unprintable characters beyond 16 bits), op is
 * unknown and a path cannot be decoded.
 */
#define EK_JSONPATCH_QUOTED 1u

/* One operation. p is NULL in strings that are absent. */
struct ek_jsonpatch_op {
    struct ek_str op;
    struct ek_str path;
    struct ek_str from;
    yyjson_mut_val *value; /* NULL when absent, which is not the same as null */
};

/*
 * Applies n operations to *root, which may become another value. text (may be NULL) gets the whole
 * message, of which err has the beginning. Returns 0, or an error, with the tree as before:
 *
 *   EK_E_CONFLICT  a test operation found another value; for policies this is no error
 *   EK_E_INVAL     an operation does not apply
 *   EK_E_LIMIT     the tree would nest deeper than EK_JSON_DEPTH_MAX, or too much is copied
 *   EK_E_CANCELED  the work (may be NULL) is over
 *   EK_E_NOMEM     without memory
 */
int ek_jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val **root,
                       const struct ek_jsonpatch_op *ops, size_t n, unsigned flags,
                       struct ek_work *work, struct ek_buf *text, struct ek_err *err);

/*
 * Reads a patch in JSON: an array of operations. *ret_ops (owned, ek_free) gets *ret_n of them;
 * strings are borrowed from patch, values are copied into doc. EK_E_PARSE names the operation and
 * what is wrong with its form; whether it applies is not judged. EK_E_LIMIT, EK_E_NOMEM.
 */
int ek_jsonpatch_parse(yyjson_val *patch, yyjson_mut_doc *doc, struct ek_jsonpatch_op **ret_ops,
                       size_t *ret_n, struct ek_err *err);

#endif
