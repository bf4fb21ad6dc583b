/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a request as Go reads JSON: what our own clients never send, and recorded cases do.
 * Source: Go's encoding/json, scanner.go, and sigs.k8s.io/json, whose texts are kept.
 */
#ifndef TEST_VECTORS_GOJSON_H
#define TEST_VECTORS_GOJSON_H

#include <yyjson.h>

#include "api/base/arena.h"
#include "api/base/buf.h"

/* Copies text to out with what no text may have, half a surrogate pair or an octet that is no
 * UTF-8, replaced as Go does. Returns NULL, or why text is no JSON, in the arena. *ret_number: a
 * number that is too large, as an error; NULL. */
const char *gojson_read(struct ek_str text, struct ek_buf *out, struct ek_arena *arena,
                        const char **ret_number);

/* Adds `duplicate field "PATH"` for each name that stands in an object again, ", " between, in the
 * order of the text. */
void gojson_duplicates(yyjson_val *value, struct ek_buf *out);

/* A value as Python's json.dumps writes it. */
void gojson_dumps(yyjson_val *value, struct ek_buf *out);

#endif
