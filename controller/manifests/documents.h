/* SPDX-License-Identifier: Apache-2.0 */
/* The documents in the text of a file, and the lines of what is in the documents. Pure. */
#ifndef CONTROLLER_MANIFESTS_DOCUMENTS_H
#define CONTROLLER_MANIFESTS_DOCUMENTS_H

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/yaml_place.h"

struct ek_manifest_document {
    struct ek_str text; /* of the document, within the text of the file */
    size_t first_line;  /* of the document, from 0 */
};

/* Handles a document. Returns 0 or an error, which ends the walk. */
typedef int (*ek_manifest_document_fn)(void *ctx, const struct ek_manifest_document *document,
                                       struct ek_err *err);

/* Calls fn for each document of a YAML text, also for those without a value: what stands behind a
 * separator on its line belongs to the document that starts there. Returns 0 or the error of fn. */
int ek_manifest_each_document(const char *text, size_t len, ek_manifest_document_fn fn, void *ctx,
                              struct ek_err *err);

/* The same for the values of a text of JSON values behind each other, on lines of their own or not.
 * A value ends where its brackets end, whether the text is JSON or not. */
int ek_manifest_each_value(const char *text, size_t len, ek_manifest_document_fn fn, void *ctx,
                           struct ek_err *err);

/* Finds lines in a text, for findings in the order of the documents. Zero-initialise with text, len
 * and json; ek_manifest_lines_done at the end. */
struct ek_manifest_lines {
    const char *text; /* borrowed */
    size_t len;
    bool json;
    struct ek_manifest_document *documents; /* owned: those with a value; NULL until needed */
    size_t n_documents;
    bool failed;                   /* the text cannot be taken apart: no line is known */
    struct ek_yaml_places *places; /* owned: of the document number at */
    size_t at;
};

/* The line (from 1) of a path in the document of that number (from 1, documents without a value not
 * counted), as ek_yaml_line; 0 where the line is not known. */
size_t ek_manifest_line(struct ek_manifest_lines *lines, size_t number, const char *path);
void ek_manifest_lines_done(struct ek_manifest_lines *lines);

#endif
