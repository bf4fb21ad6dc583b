/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a field path in the schema of one version of a CustomResourceDefinition: whether the
 * field is declared, required, or set by a default. For this folder alone.
 *
 * These functions read openAPIV3Schema itself, because a compiled schema does not have all that
 * they need: required within allOf, defaults of parents, and whether unknown fields are kept. Pure;
 * any thread. Source: apiextensions.k8s.io/v1 on structural schemas.
 */
#ifndef RECONCILERS_FIELDGATES_PLACE_H
#define RECONCILERS_FIELDGATES_PLACE_H

#include <yyjson.h>

#include "reconcilers/fieldgates/path.h"

enum ek_place_kind {
    EK_PLACE_DECLARED,
    EK_PLACE_MISSING,
    EK_PLACE_UNKNOWN, /* not declared, but unknown fields are kept there */
    EK_PLACE_IN_LIST, /* the path goes on below a list, without [*] */
    EK_PLACE_KEY,     /* names a key of the items of a list */
};

/* Whether an object without the field is invalid. */
enum ek_place_need {
    EK_PLACE_FREE,
    EK_PLACE_PERHAPS, /* some branch of anyOf or oneOf requires it */
    EK_PLACE_REQUIRED,
};

struct ek_place {
    enum ek_place_kind kind;
    size_t depth;            /* number of names of the path up to the place that decided kind */
    bool map_key;            /* a name of the path is a key of additionalProperties */
    enum ek_place_need need; /* of the field in its parent */
    size_t default_depth;    /* number of names up to the first default that sets the field; 0: no
                                default does */
};

/*
 * Finds path in schema, an openAPIV3Schema (NULL: every field is unknown). keeps_unknown: the
 * definition keeps unknown fields (spec.preserveUnknownFields).
 */
void ek_place_find(yyjson_val *schema, bool keeps_unknown, const struct ek_field_path *path,
                   struct ek_place *ret_place);

/* The schema that the first n names of path lead to; NULL where none is declared. */
yyjson_val *ek_place_schema(yyjson_val *schema, const struct ek_field_path *path, size_t n);

/* The text of the first n names of path, in arena; "the root" for n = 0. */
const char *ek_place_prefix(const struct ek_field_path *path, size_t n, struct ek_arena *arena);

#endif
