/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates against the CRD that they are for: do their paths exist, and can they be enforced at all?
 *
 * Some gates would do harm: a required field that is dropped fails every create, a default undoes
 * the drop, a key of a list cannot be taken from its items, and a version that lacks the field
 * erases it on conversion. Such gates are refused: named, with why and what to change, and left
 * open. Pure. Source: fieldgates sheet, V13-V17 and section 7.
 */
#ifndef RECONCILERS_FIELDGATES_RESOLVE_H
#define RECONCILERS_FIELDGATES_RESOLVE_H

#include "reconcilers/fieldgates/decide.h"

#define EK_GATE_FINDINGS_KEPT 1024 /* more are not told; what is refused is known all the same */

enum ek_gate_finding_kind {
    EK_GATE_PATH_UNRESOLVED,     /* V13: no such field in the storage version; not refused */
    EK_GATE_PATH_UNVERIFIED,     /* V17: below preserve-unknown-fields; not refused */
    EK_GATE_PATH_REQUIRED,       /* V14; not refused when only an alternative requires it */
    EK_GATE_PATH_DEFAULTED,      /* V15: it, an ancestor or a descendant has a default */
    EK_GATE_PATH_KEY,            /* V16: key field of a list-type=map */
    EK_GATE_PATH_IN_LIST,        /* goes through a list */
    EK_GATE_PATH_NOT_IN_VERSION, /* a served version lacks it: writes through it erase it, unless
                                    a webhook converts; then it is up to that, and not refused */
    EK_GATE_PATH_MAP_KEY,        /* V17: a key of additionalProperties; not refused */
    EK_GATE_SCALE_BY_VERSION,    /* versions disagree on specReplicasPath, or only another than the
                                    stored one has /scale: webhooks are not asked about that */
    EK_GATE_STATUS_BY_VERSION,   /* versions disagree on whether .status is written apart */
    EK_GATE_FINDINGS_MAX,
};

struct ek_gate_finding {
    enum ek_gate_finding_kind kind;
    const struct ek_gate *gate;
    const struct ek_field_path *path;
    const char *version; /* of the CRD that it is about */
    const char *message; /* one line: what, why, what to change */
    bool refused;        /* the gate must not be enforced; never for stable, which is open */
};

/* The CRD as gates see it. Strings live in the arena. */
struct ek_gates_crd {
    const char *group, *plural, *kind, *storage; /* storage: its version */
    bool namespaced;
    bool established; /* condition Established */
    bool converts;    /* strategy Webhook */
    struct ek_gates_shape shape;
    const char *const *served; /* versions */
    size_t n_served;
};

struct ek_gates_resolution {
    struct ek_gates_crd crd;
    const struct ek_gate_finding *findings; /* those that refuse come first */
    size_t n_findings;
    const char *const *refused; /* names of gates, for ek_gates_new */
    size_t n_refused;
};

/*
 * Lints gates against crd, a CustomResourceDefinition of apiextensions.k8s.io/v1. All of *ret lives
 * in arena or is borrowed from gates. EK_E_PARSE when crd is none; EK_E_LIMIT.
 */
int ek_gates_resolve(const struct ek_gates *gates, yyjson_val *crd, struct ek_arena *arena,
                     struct ek_gates_resolution *ret, struct ek_err *err);

/* "Unresolved", "Required", ...: for conditions and reports. */
const char *ek_gate_finding_name(enum ek_gate_finding_kind kind);

#endif
