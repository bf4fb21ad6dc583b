/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of the fields of policies and bindings that are not CEL: names, rules, selectors and
 * references. Rules and error texts are those of Kubernetes 1.36,
 * pkg/apis/admissionregistration/validation/validation.go: ValidateMutatingAdmissionPolicy. For
 * this folder alone. Each function appends to errors; path is the path of the value. Pure.
 */
#ifndef RECONCILERS_MUTATION_VALIDATION_H
#define RECONCILERS_MUTATION_VALIDATION_H

#include "api/fielderr.h"

extern const char *const ek_failure_policies[], *const ek_reinvocation_policies[],
                                                    *const ek_patch_types[];

/* The name of a cluster-scoped object: a DNS subdomain. */
void ek_validate_name(struct ek_field_errors *errors, const char *name, const char *path);

/* A MatchResources; NULL has no errors. */
void ek_validate_match_resources(struct ek_field_errors *errors, yyjson_val *match_resources,
                                 const char *path);

/* The operations of resourceRules: only operations that can be mutated are valid. */
void ek_validate_mutating_operations(struct ek_field_errors *errors, yyjson_val *match_resources,
                                     const char *path);

void ek_validate_param_kind(struct ek_field_errors *errors, yyjson_val *param_kind);
void ek_validate_param_ref(struct ek_field_errors *errors, yyjson_val *param_ref);

/* A qualified name, such as that of a match condition. */
void ek_validate_qualified_name(struct ek_field_errors *errors, const char *name, const char *path);

/* A list of strings as Go prints a slice in an error: JSON, in the errors' arena. */
const char *ek_validation_list_text(struct ek_field_errors *errors, yyjson_val *list);

/* True for a name that a CEL variable can have. */
bool ek_is_cel_identifier(const char *name);

#endif
