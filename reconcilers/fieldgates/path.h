/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field paths of gates: `.spec.replicas`, `.spec['k8s.io/tier'].mode`, `.spec.ports[*].mode`.
 *
 * A path names fields from the root of an object; it may end at a list, a set or a map, which it
 * then gates whole. `[*]` stands for all items of a list, or for all values of a map; a path
 * neither starts nor ends with it, and never names one item. Two texts of one path have the same
 * canonical form: names that CEL takes as identifiers stand after a dot, all others in
 * brackets and single quotes, with \' and \\ escaped. So "object" and a canonical text together are
 * an expression of CEL.
 *
 * Pure; any thread. Source: apiextensions-apiserver/pkg/apiserver/schema/cel: ValidFieldPath, which
 * the dialect follows.
 */
#ifndef RECONCILERS_FIELDGATES_PATH_H
#define RECONCILERS_FIELDGATES_PATH_H

#include "api/base/arena.h"
#include "api/base/buf.h"
#include "api/base/err.h"

#define EK_FIELD_PATH_MAX       1024 /* octets as written */
#define EK_FIELD_PATH_NAMES_MAX 32
#define EK_FIELD_PATH_EACH_MAX  3 /* [*] in one path */

struct ek_field_path {
    const struct ek_str *names; /* from the root; at least one. The empty one is [*] */
    size_t n;
    const char *text; /* canonical */
};

/*
 * Reads text into *ret_path, which lives in arena. EK_E_PARSE says what is wrong and where, in
 * octets from 0: `offset 5: the items of a list cannot be gated, gate the list`. EK_E_LIMIT: longer
 * or deeper than the limits above. What may not be gated at all (metadata, apiVersion, kind) is
 * EK_E_INVAL. Untouched *ret_path on failure. Source: as above.
 */
int ek_field_path_parse(const char *text, struct ek_arena *arena, struct ek_field_path *ret_path,
                        struct ek_err *err);

/* Whether a name of a path stands for all items of a list, or all values of a map. */
static inline bool ek_field_path_is_each(struct ek_str name)
{
    return name.len == 0;
}

/* True when a is b, or a part of an object that has b in it: `.spec` covers `.spec.replicas`. [*]
 * of a covers all names. */
bool ek_field_path_covers(const struct ek_field_path *a, const struct ek_field_path *b);

#endif
