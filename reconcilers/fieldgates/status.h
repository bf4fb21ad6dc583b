/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a CustomFeatureGates: per gate its effective state and the rule that decided it,
 * which paths resolve, what is refused and why, counts; and the conditions
 *
 *   Accepted       the definition is valid (V1-V12)
 *   CRDFound       the CRD exists and is established
 *   PathsResolved  every path is a field of the storage version, and no served version that lacks
 *                  a path of a closed gate can erase it
 *   Enforced       every gate that has something to do does it: registered, none refused, and a
 *                  canary has shown that the API servers call us
 *
 * each with observedGeneration. Built whole each time; nothing moves with the clock alone. Pure:
 * facts in, a value out. Fields are described in deploy/crd/evenkeel.dev_customfeaturegates.yaml; a
 * test walks one against the other. Source: README.md beside this file.
 */
#ifndef RECONCILERS_FIELDGATES_STATUS_H
#define RECONCILERS_FIELDGATES_STATUS_H

#include "reconcilers/fieldgates/census.h"

#define EK_GATES_STATUS_FINDINGS_MAX 64

/* What the canary came to. */
enum ek_gates_canary {
    EK_CANARY_PENDING, /* not tried since the registration changed, or not yet everywhere */
    EK_CANARY_ANSWERED,
    EK_CANARY_FAILED, /* an API server does not reach us; message says which and how */
};

struct ek_gate_count {
    const char *gate;
    uint64_t suppressed, deprecated_uses;
};

struct ek_gates_facts {
    const struct ek_gates *gates;                 /* as defined, nothing left out */
    const struct ek_gates_resolution *resolution; /* NULL: there is no CRD of that name, or ... */
    const char *crd_problem;                      /* it was not looked at, and why; else NULL */
    bool serving;                                 /* requests can reach us at all */
    bool registered;                              /* our configurations say what they should */
    const char *registration_message;             /* why they do not; NULL otherwise */
    enum ek_gates_canary canary;
    const char *canary_message; /* NULL for none */
    const struct ek_gate_count *counts;
    size_t n_counts;
    const struct ek_gates_census_state *census; /* NULL: none here; the old status stays */
    const char *const *exempt;                  /* namespaces whose objects are not gated */
    size_t n_exempt;
    const char *import_message; /* the annotation differs or cannot be read; NULL otherwise */
};

/*
 * The status of facts as a value of doc. old_status (NULL: none) decides transition times. Strings
 * are copied into doc. NULL without memory.
 */
yyjson_mut_val *ek_gates_status(const struct ek_gates_facts *facts, yyjson_val *old_status,
                                int64_t now_ms, struct ek_arena *arena, yyjson_mut_doc *doc);

#endif
