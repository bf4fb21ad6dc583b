/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluating a policy's expressions over one request: bindings, lazy variables, budgets, and the
 * error texts around them. Not for those outside this folder. Source: Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/cel/{condition,composition,mutation}.go: ForInput.
 */
#ifndef RECONCILERS_MUTATION_EVALUATE_H
#define RECONCILERS_MUTATION_EVALUATE_H

#include "reconcilers/mutation/invocation.h"
#include "reconcilers/mutation/objects.h"

/* Expressions of variables may use one another this deep. */
#define EK_VARIABLE_DEPTH_MAX 100

/* What expressions of one mutation see. A new one forgets the values of variables, which are
 * computed on the object as it was then (apiserver/pkg/admission/plugin/cel/composition.go:
 * CreateContext). */
struct ek_scope {
    struct ek_run *run;
    const struct ek_policy *policy;
    struct ek_cel_val vars[EK_SLOT_MAX];
    struct ek_cel_host variables;
    struct ek_cel_authorizer authorizer;
    struct ek_objects objects; /* filled for a mutation that is Extended */
    struct ek_cel_val *memo;   /* one per variable; kind EK_CEL_KIND_MAX while not computed */
    uint64_t variable_cost;    /* of the variables computed since it was last taken */
    unsigned depth;
};

/* Fills scope for an invocation over object (NULL: null). namespace_object NULL is null. */
void ek_scope_init(struct ek_scope *scope, struct ek_run *run,
                   const struct ek_invocation *invocation, yyjson_val *object,
                   yyjson_val *namespace_object);

struct ek_evaluation {
    struct ek_cel_val value;
    const char *error; /* NULL when it went well; in the run's arena */
    enum ek_step_error kind;
    bool ends;     /* the budget is used up: the API server evaluates no further expression */
    uint64_t cost; /* with its variables */
};

/* Evaluates e and subtracts the cost from *budget; EK_STEP_OUT_OF_BUDGET when there was less. A
 * fact that the world must request first sets run->pending. */
void ek_scope_evaluate(struct ek_scope *scope, const struct ek_expression *e, uint64_t *budget,
                       struct ek_evaluation *ret);

#endif
