/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static cost of an expression: what it may cost at most, given how large its variables may be.
 * API servers refuse rules of CustomResourceDefinitions by this estimate.
 *
 * Pure; any thread, with its own arena. Source: cel-go 0.26, checker/cost.go: Cost;
 * Kubernetes 1.36, apiserver/pkg/cel/library/cost.go: EstimateCallCost, and
 * apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go: EstimateSize. The numbers are
 * compared with those of kube-apiserver 1.36.2 (test/data/definitions).
 */
#ifndef API_CEL_ESTIMATE_H
#define API_CEL_ESTIMATE_H

#include "api/cel/cel.h"

struct ek_cel_declared_field;

/* How large a value is declared to be (apiserver/pkg/cel/types.go: DeclType). */
struct ek_cel_declared {
    uint64_t max_elements;                       /* of a string, list or map; 0 for all others */
    const struct ek_cel_declared *key, *element; /* of a map; of a list: element alone; else NULL */
    const struct ek_cel_declared_field *fields;  /* of an object */
    size_t n_fields;
};

struct ek_cel_declared_field {
    const char *name; /* as expressions write it: "a__dash__b" */
    const struct ek_cel_declared *type;
};

/*
 * Estimates len octets of text, which compiles in env; root is what each variable of env may be at
 * most. Returns 0 with the cost in *ret_cost, UINT64_MAX for one without a bound; EK_E_INVAL for a
 * text that does not compile; EK_E_LIMIT beyond the memory of a compilation.
 */
int ek_cel_estimate(struct ek_cel_env *env, const char *text, size_t len,
                    const struct ek_cel_declared *root, uint64_t *ret_cost);

#endif
