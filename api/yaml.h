/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML in and out, for values that are JSON: kubeconfigs, manifests, reports.
 *
 * Reading gives what kubectl would send for the same text (sigs.k8s.io/yaml over go-yaml v2, that
 * is YAML 1.1 on the way to JSON): plain yes/no/on/off/y/n are booleans in every usual spelling,
 * 0o17 and 017 are octal, 1_000 is a number, dates are strings, quoted text is always a string,
 * keys that are no strings become strings, "<<" merges. Stricter than kubectl on purpose: a key
 * that occurs twice in a mapping is an error, and so is what has no JSON form (.inf, .nan,
 * !!binary). Numbers that fit 64 bits stay exact.
 *
 * Writing gives kubectl's style, but keeps the order of members: two blanks per level, "- " at
 * the level of its parent, strings quoted where they would read as something else, "|" blocks for
 * text of several lines, long text wrapped at 80 columns.
 *
 * It is not a YAML library: comments, styles, tags of one's own and streams are not represented.
 * Pure; any thread.
 */
#ifndef API_YAML_H
#define API_YAML_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"

/*
 * Parses the one document in len bytes of text (UTF-8, or UTF-16 with a byte order mark) into
 * *ret_doc, which the caller frees with yyjson_doc_free. A text without any document gives null.
 *
 * max bounds the text in bytes and, once more, what aliases add to it by repeating anchored values
 * (each value counts its text and 16 bytes); EK_E_LIMIT beyond it, and beyond a nesting of
 * EK_JSON_DEPTH_MAX. EK_E_PARSE for all that is malformed, with line and column, and for a second
 * document; EK_E_UNSUPPORTED for what has no JSON form; EK_E_NOMEM. *ret_doc is untouched on error.
 */
int ek_yaml_parse(const char *text, size_t len, size_t max, yyjson_doc **ret_doc,
                  struct ek_err *err);

/* As ek_yaml_parse for any number of documents: the root is an array of them. Documents that are
 * empty or null are left out, as kubectl does. */
int ek_yaml_parse_all(const char *text, size_t len, size_t max, yyjson_doc **ret_doc,
                      struct ek_err *err);

/*
 * Appends value as one YAML document, ending in a line feed. Errors: EK_E_LIMIT (out is full or
 * value nests deeper than EK_JSON_DEPTH_MAX), EK_E_INVAL (a string is no UTF-8), EK_E_NOMEM; out
 * then holds a part of the document.
 */
int ek_yaml_write(struct ek_buf *out, yyjson_val *value, struct ek_err *err);

#endif
