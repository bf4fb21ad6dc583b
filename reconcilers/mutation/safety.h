/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safety: whether what policies set is still there when all mutators have run (KEP-3962, "Safety").
 *
 * The check runs in a validating webhook, which sees the final object. The webhook knows the
 * policies, so that the mutating side hands nothing over: a mutation that is Exact is run once
 * more, alone, on the final object, and must not change it; one with a condition must find it true.
 * Whether a policy applies to the request is decided on the final object too, match conditions
 * included.
 *
 * So a mutation that does not come to rest by itself (a counter, an append by JSON Patch without a
 * test) can never be Exact. Policies that are only observed are not checked; those that API servers
 * enforce are. Pure, as the engine is.
 */
#ifndef RECONCILERS_MUTATION_SAFETY_H
#define RECONCILERS_MUTATION_SAFETY_H

#include "reconcilers/mutation/engine.h"

/* One mutation that does not hold. */
struct ek_safety_finding {
    const struct ek_bound *bound;
    const char *param; /* "namespace/name", "" without */
    size_t mutation;   /* of spec.mutations */
    const char *path;  /* JSON pointer of the first difference; "" for a condition or an error */
    yyjson_val *expected, *found; /* there; NULL for absent. In the arena */
    const char *message;          /* the denial, with its policy and binding: for the requester */
    const char *what; /* the same without any value, neither of the object nor of an error's text:
                         for Events, whose readers may lack the right to read the object */
};

struct ek_safety_outcome {
    bool pending; /* as in ek_mutation_outcome */
    bool allowed;
    int code;            /* of a denial: HTTP status */
    const char *reason;  /* "Invalid"; "InternalError" when matching fails */
    const char *message; /* the first; all are in findings */
    const struct ek_safety_finding *findings;
    size_t n_findings;
};

/* True when a mutation of policy is Exact or has a condition, so that it has to be checked. */
bool ek_safety_wanted(const struct ek_policy *policy);

/*
 * Checks request, whose object is the final one, against the policies of set. All of *ret lives in
 * arena. A check that fails to run is a finding, unless the policy's failurePolicy is Ignore.
 * Returns as ek_engine_run does.
 */
int ek_safety_check(const struct ek_policy_set *set, const struct ek_admission_request *request,
                    const struct ek_mutation_world *world, const struct ek_engine_options *options,
                    struct ek_arena *arena, struct ek_safety_outcome *ret);

#endif
