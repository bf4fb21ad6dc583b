/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one run of the engine, and the invocations of a request: (policy, binding, param).
 * For this folder alone. Source: Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go: Dispatch, CollectParams.
 */
#ifndef RECONCILERS_MUTATION_INVOCATION_H
#define RECONCILERS_MUTATION_INVOCATION_H

#include "reconcilers/mutation/engine.h"

#define EK_PARAMS_MAX      10000 /* of one binding */
#define EK_INVOCATIONS_MAX 100000

struct ek_kind_view; /* views.h */

struct ek_invocation {
    const struct ek_bound *bound;
    yyjson_val *param;      /* NULL: none, or null */
    const char *key;        /* "namespace/name" of the param, "" without */
    struct ek_gvr resource; /* what the object is matched as */
    struct ek_gvk kind;
    const struct ek_kind_view *view; /* NULL: seen in the version of the request */
    bool reinvocable;                /* ran in an earlier pass with reinvocationPolicy IfNeeded */
};

/* The denial by a policy that could not run, or that failed. */
struct ek_denial {
    const char *message;
    const char *reason;
};

/* The schema of the last lookup. */
struct ek_known_schema {
    struct ek_gvk kind;
    const struct ek_schema *schema; /* NULL: none was */
    uint32_t type;
};

struct ek_run {
    const struct ek_policy_set *set;
    const struct ek_admission_request *request;
    const struct ek_mutation_world *world;
    const struct ek_engine_options *options;
    struct ek_arena *arena;

    yyjson_val *namespace_object;    /* NULL for cluster-scoped objects and Namespaces */
    struct ek_err namespace_failure; /* why it could not be read; code 0: it was, or is absent */
    struct ek_known_schema schema;
    bool pending; /* the world must request a fact first */
    int error;    /* EK_E_* that ends the run */

    struct ek_denial *denials;
    size_t n_denials, cap_denials;
    struct ek_step *steps;
    size_t n_steps, cap_steps;
    struct ek_err status; /* an error that no failurePolicy covers: code 0 while there is none */
};

/*
 * Adds a denial: the policy of bound cannot run or fails. The request is denied, unless the
 * failurePolicy is Ignore or the policy is only observed. The reason of a validating policy is
 * always Invalid. whole_policy: the text does not name the binding. reason is constant.
 */
void ek_run_deny(struct ek_run *run, const struct ek_bound *bound, bool whole_policy,
                 const char *reason, const char *message);

/* Adds a step of bound and pass; NULL when the arena is exhausted. */
struct ek_step *ek_run_step(struct ek_run *run, const struct ek_bound *bound, const char *param,
                            unsigned pass);

/* True for requests that no policy may see: reviews of access and tokens, and policies themselves.
 */
bool ek_run_is_reserved(const struct ek_admission_request *request);

/* The same, or a deletion, which mutating policies do not see. */
bool ek_run_is_exempt(const struct ek_admission_request *request);

/* Finds the Namespace of the request, for selectors and expressions. Sets run->pending while the
 * Namespace is not known, and run->namespace_failure when it cannot be read. */
void ek_run_find_namespace(struct ek_run *run);

/* True when the Namespace of the object does not exist or could not be read. */
bool ek_run_lacks_namespace(const struct ek_run *run);

/*
 * For a bound policy that needs the Namespace to match or to run. Returns true when the Namespace
 * could not be read and the run ends with a status of 500. A policy whose failurePolicy is Ignore,
 * or that is only observed, is skipped instead, and does not end the run.
 */
bool ek_run_needs_namespace(struct ek_run *run, const struct ek_bound *bound);

/*
 * Lists the invocations of request in the order of the set. Policies and bindings that match but
 * are misconfigured are denials. Returns how many, in *ret (the run's arena).
 */
size_t ek_run_invocations(struct ek_run *run, const struct ek_admission_request *request,
                          struct ek_invocation **ret);

/* Grows an array in the arena: returns it with room for one more, or NULL at the arena's end. */
void *ek_run_grow(struct ek_run *run, void *array, size_t n, size_t *cap, size_t size);

#endif
