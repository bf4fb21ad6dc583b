/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a file-based catalog (operator-registry alpha/declcfg/load.go:LoadReader): JSON
 * values one after another, or YAML documents, each a blob with a schema; or a ConfigMap, each of
 * whose values is such a text. For the files of this folder.
 */
#ifndef RECONCILERS_FAILFORWARD_FBC_INTERNAL_H
#define RECONCILERS_FAILFORWARD_FBC_INTERNAL_H

#include <yyjson.h>

#include "api/base/err.h"

struct ek_fbc {
    yyjson_doc **docs; /* owned: each a blob or an array of blobs */
    size_t n, cap;
};

/* Reads len octets of text into *fbc, zero before. limit bounds the text and, once more, what
 * aliases of YAML add. EK_E_PARSE, EK_E_LIMIT, EK_E_NOMEM. After success or failure: ek_fbc_done.
 */
int ek_fbc_read(struct ek_fbc *fbc, const char *text, size_t len, size_t limit, struct ek_err *err);

void ek_fbc_done(struct ek_fbc *fbc);

/* Calls fn for each blob of a schema until it fails; returns what fn returned last, or 0. */
int ek_fbc_each(const struct ek_fbc *fbc, const char *schema,
                int (*fn)(void *ctx, yyjson_val *blob), void *ctx);

#endif
