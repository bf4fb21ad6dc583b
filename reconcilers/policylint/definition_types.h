/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a schema declares to CEL: types, sizes, and how small a value may be written. Not for those
 * outside this folder. Source: Kubernetes 1.36, apiserver/pkg/cel/common/schemas.go:
 * SchemaDeclType; apiserver/pkg/cel/types.go: DeclType, MaybeAssignTypeName.
 */
#ifndef RECONCILERS_POLICYLINT_DEFINITION_TYPES_H
#define RECONCILERS_POLICYLINT_DEFINITION_TYPES_H

#include <yyjson.h>

#include "api/base/arena.h"
#include "api/cel/estimate.h"

#define EK_REQUEST_MAX ((uint64_t)3 << 20) /* octets of a request to an API server */

struct ek_decl {
    struct ek_cel_declared size; /* the first member: what the estimate sees */
    enum { EK_DECL_SCALAR, EK_DECL_LIST, EK_DECL_MAP, EK_DECL_OBJECT } form;
    const char *scalar;            /* the CEL type of a scalar */
    uint64_t min_size;             /* octets of the smallest value as JSON */
    const char *const *as_written; /* of an object: the names in the schema, beside size.fields */
};

/* The declaration of a schema; NULL for one that is not exposed to CEL, or nested more than 200
 * deep. is_root: of a resource, whose metadata is always there. In arena. */
const struct ek_decl *ek_decl_of(yyjson_val *schema, bool is_root, struct ek_arena *arena);

/* The declaration of a property; NULL when it is not exposed. Properties are read in the order of
 * the schema: *next, 0 at first, is the place of the next one. */
const struct ek_decl *ek_decl_property(const struct ek_decl *decl, const char *name, size_t *next);

/* The declaration of items or additionalProperties; NULL when it is not exposed. */
const struct ek_decl *ek_decl_element(const struct ek_decl *decl);

/* Declares the types of decl to env, the first of which is called name. *left is how many values
 * may still be declared; it is counted down. Returns the text of the type, in arena; NULL with err
 * filled. */
const char *ek_decl_declare(const struct ek_decl *decl, const char *name, struct ek_cel_env *env,
                            size_t *left, struct ek_arena *arena, struct ek_err *err);

#endif
