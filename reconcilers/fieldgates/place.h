/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a field path leads in the schema of one version of a CustomResourceDefinition: whether the
 * field is declared, required, or has a default on its way. Not for those outside this folder.
 *
 * It reads openAPIV3Schema as it stands, for what matters here (required within allOf, defaults,
 * unknown fields that are kept) is what a compiled schema leaves out. Pure; any thread.
 * Source: apiextensions.k8s.io/v1 on structural schemas.
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

/* Whether objects without the field are refused. */
enum ek_place_need {
    EK_PLACE_FREE,
    EK_PLACE_PERHAPS, /* some branch of anyOf or oneOf requires it */
    EK_PLACE_REQUIRED,
};

struct ek_place {
    enum ek_place_kind kind;
    size_t depth;            /* names of the path that lead to where kind was found out */
    bool map_key;            /* a name on the way is a key of additionalProperties */
    enum ek_place_need need; /* of the field in its parent */
    size_t default_depth;    /* names that lead to the first default on the way that sets the field;
                                0: there is none */
};

/*
 * Looks path up in schema, an openAPIV3Schema (NULL: everything is unknown). keeps_unknown says
 * that the definition prunes nothing (spec.preserveUnknownFields).
 */
void ek_place_find(yyjson_val *schema, bool keeps_unknown, const struct ek_field_path *path,
                   struct ek_place *ret_place);

/* The schema that the first n names of path lead to; NULL where none is declared. */
yyjson_val *ek_place_schema(yyjson_val *schema, const struct ek_field_path *path, size_t n);

/* The first n names of path, as they are written in it; in arena. "the root" for none. */
const char *ek_place_prefix(const struct ek_field_path *path, size_t n, struct ek_arena *arena);

#endif
