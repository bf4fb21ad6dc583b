/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validation rules of a CustomResourceDefinition (x-kubernetes-validations), as an API server
 * looks at them when the definition is created: fields, compilation with the types of the schema,
 * transition rules, and the limits on what a rule and all rules together may cost.
 *
 * Labels, annotations, owners and finalizers are checked as well. The schema itself is not
 * validated: its errors are found by the API server alone.
 *
 * Pure; any thread, with its own arena. Source: Kubernetes 1.36, apiextensions-apiserver:
 * pkg/apis/apiextensions/validation/validation.go: ValidateCustomResourceDefinitionOpenAPISchema,
 * and pkg/apiserver/schema/cel/compilation.go: Compile. The texts and the costs were compared with
 * those of kube-apiserver 1.36.2 (test/data/definitions).
 */
#ifndef RECONCILERS_POLICYLINT_DEFINITION_H
#define RECONCILERS_POLICYLINT_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "api/base/arena.h"

#define EK_DEFINITION_PROBLEMS_MAX 500

struct ek_definition_problem {
    const char *field;   /* "spec.versions[0].schema.openAPIV3Schema.properties[spec]..." */
    const char *message; /* without the field: "Invalid value: ..." */
    bool unchecked;      /* a rule that this program cannot check, the reason being the message */
};

struct ek_definition_report {
    const struct ek_definition_problem *list; /* of each version: fields first, then expressions */
    size_t n;
    size_t rules; /* that there are */
};

/*
 * Looks at the labels, annotations, owners and finalizers, and at the rules of all versions, of crd
 * (apiextensions.k8s.io/v1). compat_minor: rules are new at the compatibility version 1.NN; 0:
 * stored. Versions with the same schema count once. All of *ret is in arena. Returns 0, or
 * EK_E_LIMIT at the arena's end.
 */
int ek_definition_lint(yyjson_val *crd, int compat_minor, struct ek_arena *arena,
                       struct ek_definition_report *ret);

#endif
