/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded cases: files of one JSON value per line. For tests only: what cannot be read fails the
 * test. */
#ifndef TEST_SUPPORT_JSONLINES_H
#define TEST_SUPPORT_JSONLINES_H

#include <yyjson.h>

/* Calls fn with each line's value, borrowed, and its number from 1 on; returns how many there were.
 */
size_t jsonlines_read(const char *path, void (*fn)(void *ctx, size_t line, yyjson_val *value),
                      void *ctx);

/* Reads one document from a file, to be freed with yyjson_doc_free. */
yyjson_doc *jsonlines_document(const char *path);

/* Compact JSON of a value, owned (free). */
char *jsonlines_text(yyjson_val *value);
char *jsonlines_mut_text(yyjson_mut_val *value);

#endif
