/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field paths of gates: `.spec.replicas`, `.spec['k8s.io/tier'].mode`.
 *
 * A path names fields from the root of an object; it may end at a list, a set or a map, which it
 * then gates whole, and never goes into the items of a list. Two ways to write one path are told by
 * their canonical form: names that CEL takes as identifiers stand after a dot, all others in
 * brackets and single quotes, with \' and \\ escaped. So "object" and a canonical text together are
 * an expression of CEL.
 *
 * Pure; any thread. Source: fieldgates sheet, section 9 and V5, V6.
 */
#ifndef RECONCILERS_FIELDGATES_PATH_H
#define RECONCILERS_FIELDGATES_PATH_H

#include "api/arena.h"
#include "api/buf.h"
#include "api/err.h"

#define EK_FIELD_PATH_MAX       1024 /* octets as written */
#define EK_FIELD_PATH_NAMES_MAX 32

struct ek_field_path {
    const struct ek_str *names; /* from the root; at least one */
    size_t n;
    const char *text; /* canonical */
};

/*
 * Reads text into *ret_path, which lives in arena. EK_E_PARSE says what is wrong and where, in
 * octets from 0: `offset 5: the items of a list cannot be gated, gate the list`. EK_E_LIMIT: longer
 * or deeper than the limits above. What may not be gated at all (metadata, apiVersion, kind) is
 * EK_E_INVAL. Untouched *ret_path on failure. Source: fieldgates sheet, V5, V6, section 9.
 */
int ek_field_path_parse(const char *text, struct ek_arena *arena, struct ek_field_path *ret_path,
                        struct ek_err *err);

/* True when a is b, or a part of an object that has b in it: `.spec` covers `.spec.replicas`. */
bool ek_field_path_covers(const struct ek_field_path *a, const struct ek_field_path *b);

/* Appends the JSON pointer (RFC 6901) of path to out. Returns 0 or out's error. */
int ek_field_path_pointer(const struct ek_field_path *path, struct ek_buf *out);

#endif
