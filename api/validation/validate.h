/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the schema of a version of a CustomResourceDefinition accepts an object.
 *
 * Two programs refuse objects by such a schema, with different rules, and a caller gets both
 * answers:
 *
 *   OLM v0         validates the objects that exist as they are, before it updates a definition:
 *                  the schema alone, without defaults and without CEL
 *                  (pkg/controller/operators/catalog/operator.go:validateExistingCRs at 992bb097)
 *   an API server  validates a create after it has pruned unknown fields and set defaults: the
 *                  schema, the keys of lists, then the rules of x-kubernetes-validations
 *                  (apiextensions-apiserver 1.36, pkg/registry/customresource/strategy.go:Validate)
 *
 * The schema is the structural subset of apiextensions.k8s.io/v1 (JSONSchemaProps without $ref,
 * definitions, dependencies and patternProperties, which that version forbids). Errors have the
 * words of the API server (kube-openapi pkg/validation, apimachinery pkg/util/validation/field).
 * What the functions here cannot decide as the API server does is `unknown`, never an error.
 *
 * Pure. A validator is immutable after its birth; it may be used by one thread at a time, as CEL
 * environments and the caller's arena are.
 */
#ifndef API_VALIDATION_VALIDATE_H
#define API_VALIDATION_VALIDATE_H

#include "api/base/err.h"
#include "api/base/work.h"
#include "api/fielderr.h"

struct ek_validator;

/*
 * Compiles the schema of a version of crd, a CustomResourceDefinition of apiextensions.k8s.io/v1,
 * which is borrowed and must outlive the validator. Returns 0 with an owned *ret_validator.
 * EK_E_NOENT: there is no such version. EK_E_PARSE: the schema cannot be read. EK_E_LIMIT,
 * EK_E_NOMEM.
 */
int ek_validator_new(yyjson_val *crd, const char *version, struct ek_validator **ret_validator,
                     struct ek_err *err);

/* Releases a validator; NULL is fine. */
void ek_validator_free(struct ek_validator *validator);

/* What is wrong with an object. Texts live in the arena of the call. */
struct ek_validation {
    struct ek_field_errors as_stored;  /* what OLM refuses; none: it accepts the object */
    struct ek_field_errors as_created; /* what an API server refuses; none: it accepts the object */
    const char *unknown;               /* why not all was decided, the first reason; NULL */
    size_t n_dropped;                  /* fields that the schema does not declare: pruned */
    const char *dropped;               /* the path of the first of these; NULL */
};

/*
 * Holds object, with its apiVersion, kind and metadata, against the schema. work bounds the walk
 * (NULL: no bound); when it is over, unknown says so. Rules of CEL have the budget of an API
 * server (apiserver/pkg/apis/cel/config.go) and memory of at most 16 MiB each. hides_values: errors
 * have `<value>` in the place of a value of the object, and the text of a rule in the place of its
 * messageExpression; keys of maps stand in paths all the same.
 */
void ek_validate(struct ek_validator *validator, yyjson_val *object, struct ek_arena *arena,
                 struct ek_work *work, bool hides_values, struct ek_validation *ret);

/* A write of a custom resource, decoded (api/decode/custom.h) and as the API server's strategy
 * leaves it: the status is not written by a create, and by an update only as a subresource. */
struct ek_custom_write {
    yyjson_val *object;
    yyjson_val *old; /* what is stored, decoded; NULL: a create */
    bool is_status;  /* an update of the subresource */
};

/*
 * Fills ret with all that an API server refuses a write for, in its order (422; one of its orders,
 * where that follows a map of Go): kind, metadata, the schema, embedded resources, lists, rules.
 * What the schema or a rule without oldSelf says of a value that an update leaves as it was is no
 * error (KEP-4008); rules see the value before as oldSelf. Texts live in the arena. *ret_unknown:
 * why not all was decided, NULL. work may be NULL.
 */
void ek_validate_write(struct ek_validator *validator, const struct ek_custom_write *write,
                       struct ek_arena *arena, struct ek_work *work, struct ek_field_errors *ret,
                       const char **ret_unknown);

#endif
