/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: one admission request through all policies.
 *
 *   match    which (policy, binding, param) invocations run       generic/policy_dispatcher.go
 *   invoke   conditions, then mutations in order on one tree      mutating/dispatcher.go
 *   again    reinvocation (InTree) or to a fixpoint (Extended)    mutating/reinvocationcontext.go
 *   answer   a minimal JSON Patch, or a denial                    mutating/dispatcher.go
 *
 * Source: Kubernetes 1.36, the files above in apiserver/pkg/admission/plugin/policy; KEP-3962.
 *
 * It is pure: struct ek_mutation_world gives access to the cluster, time is an argument, all
 * memory is the arena's. Some facts need a request to the API server; the engine then ends
 * with pending set, and is run again from the start once the world knows them. It may run on any
 * thread, many at once, over one policy set.
 */
#ifndef RECONCILERS_MUTATION_ENGINE_H
#define RECONCILERS_MUTATION_ENGINE_H

#include "api/admission.h"
#include "api/base/arena.h"
#include "api/base/work.h"
#include "api/cel/authorizer.h"
#include "reconcilers/mutation/policy.h"

struct ek_schema; /* api/schema/schema.h */

/* One bound policy. */
struct ek_bound {
    const struct ek_policy *policy;
    const struct ek_binding *binding;
    bool apply;   /* false: evaluate and report only (Observe, or enforced by the API servers) */
    bool confirm; /* an API server may have run it already: see confirm.h, which the engine leaves
                     that to */
    bool assumed; /* nobody wrote the binding: a tool made it up. The engine does not read this */
};

/* All bound policies, in the order they run. Immutable once published. */
struct ek_policy_set {
    const struct ek_bound *bound;
    size_t n;
};

enum ek_world_answer {
    EK_WORLD_FOUND,
    EK_WORLD_ABSENT,
    EK_WORLD_PENDING, /* not known yet; the world has noted that it is wanted */
    EK_WORLD_FAILED,  /* err says why: kind not known, not synced */
};

/* The engine's view of the cluster. Everything returned is borrowed until the run ends. */
struct ek_mutation_world {
    enum ek_world_answer (*namespace)(void *arg, const char *name, yyjson_val **ret_object,
                                      struct ek_err *err);
    /* Whether objects of a kind live in namespaces; EK_WORLD_FAILED for kinds not known. */
    enum ek_world_answer (*param_scope)(void *arg, const char *api_version, const char *kind,
                                        bool *ret_namespaced, struct ek_err *err);
    /* Params by name, or (name "") all that selector matches, in key order: calls add for each.
     * namespace "" is for cluster-scoped kinds, or all namespaces. */
    enum ek_world_answer (*params)(void *arg, const char *api_version, const char *kind,
                                   const char *namespace, const char *name,
                                   const struct ek_selector *selector,
                                   void (*add)(void *add_arg, yyjson_val *param), void *add_arg,
                                   struct ek_err *err);
    enum ek_world_answer (*schema)(void *arg, const struct ek_gvk *kind,
                                   const struct ek_schema **ret_schema, struct ek_err *err);
    /* Whether the request's user may do something; EK_WORLD_ABSENT and FAILED are answered in
     * *ret (its error). NULL: nobody may anything. */
    enum ek_world_answer (*authorize)(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret);
    const struct ek_equivalents *equivalents; /* may be NULL */
    void *arg;                                /* of the functions above */
};

struct ek_engine_options {
    bool trace;                   /* fill changes of each step: for tools and for fights */
    int64_t (*now_ns)(void *arg); /* monotonic, for durations; NULL: none are reported */
    void *now_arg;
    struct ek_work *work; /* over when the client has gone, or its time is up: EK_E_CANCELED. Counts
                             all that walks and expressions do. NULL: never */
};

enum ek_step_result {
    EK_STEP_UNMATCHED, /* reported with trace alone */
    EK_STEP_SKIPPED,   /* a match condition was false */
    EK_STEP_APPLIED,
    EK_STEP_IGNORED, /* failed, and failurePolicy is Ignore */
    EK_STEP_DENIED,
    EK_STEP_OBSERVED, /* would have been applied */
};

enum ek_step_error {
    EK_STEP_NO_ERROR,
    EK_STEP_COMPILE_ERROR,
    EK_STEP_INVALID_ERROR,
    EK_STEP_OUT_OF_BUDGET,
    EK_STEP_RESTLESS, /* denied by confirm.h: it changes its own result again */
};

/* One path that a step changed: JSON pointers and values, NULL for absent. */
struct ek_change {
    const char *path;
    yyjson_val *before, *after;
    const size_t
        *mutations;     /* with trace: which of the policy's spec.mutations had a part in it, */
    size_t n_mutations; /* in their order */
};

struct ek_step {
    const struct ek_bound *bound;
    const char *param; /* "namespace/name", "" without */
    unsigned pass;     /* from 1 */
    enum ek_step_result result;
    enum ek_step_error error;
    const char *message; /* of an error; NULL otherwise */
    int64_t duration_ns; /* 0 without a clock */
    uint64_t cost;
    const struct ek_change *changes; /* with trace; without the defaults that were added */
    size_t n_changes;
};

/* Two policies that undo each other's work on one path. */
struct ek_fight {
    const char *path;
    const struct ek_policy *const *parties;
    yyjson_val *const *values; /* what each party sets it to */
    size_t n;
};

struct ek_mutation_outcome {
    bool pending; /* run again when the world knows more; nothing else is meaningful */
    bool allowed;
    int code;            /* of a denial: HTTP status */
    const char *reason;  /* "Invalid" */
    const char *message; /* the first; all are in causes */
    const char *const *causes;
    size_t n_causes;
    yyjson_doc *result;    /* the object after all; NULL when there is none or it was denied. Owned:
                              ek_mutation_outcome_done */
    yyjson_val *authored;  /* with trace: result without the defaults that were added to what
                              policies wrote; NULL: there are none */
    yyjson_mut_doc *patch; /* its root is a JSON Patch from request.object; NULL when nothing
                              changes. Owned likewise */
    const struct ek_step *steps;
    size_t n_steps;
    unsigned passes;
    bool converged; /* false: the bound on passes was reached */
    const struct ek_fight *fights;
    size_t n_fights;
};

/* Runs request through set. arena bounds the memory; all of *ret lives in it but what is said to
 * be owned. Returns 0; EK_E_LIMIT when the arena is used up, EK_E_CANCELED, EK_E_NOMEM. */
int ek_engine_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                  const struct ek_mutation_world *world, const struct ek_engine_options *options,
                  struct ek_arena *arena, struct ek_mutation_outcome *ret);

void ek_mutation_outcome_done(struct ek_mutation_outcome *outcome);

#endif
