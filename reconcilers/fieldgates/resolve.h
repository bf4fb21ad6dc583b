/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates against the CRD that they are for: do their paths exist, and can they be enforced at all?
 *
 * Some gates would do harm: a required field that is dropped fails every create, a default undoes
 * the drop, a key of a list cannot be taken from its items, and versions may disagree on /scale or
 * /status of the field. Such gates are refused: named, with why and what to
 * change, and left open. A served version that lacks the field does not open a gate that is off,
 * whatever else is in that version: a change of the CRD must not undo what the gate protects.
 * Updates through that version are denied (ek_gates_lack), for they would erase the field, also
 * those of subresources that it alone has. Pure. Source: README.md beside this file.
 */
#ifndef RECONCILERS_FIELDGATES_RESOLVE_H
#define RECONCILERS_FIELDGATES_RESOLVE_H

#include "reconcilers/fieldgates/decide.h"

#define EK_GATE_FINDINGS_KEPT 1024 /* more are not reported; the refused gates are complete */

enum ek_gate_finding_kind {
    EK_GATE_PATH_UNRESOLVED,     /* V13: no such field in the storage version; not refused */
    EK_GATE_PATH_UNVERIFIED,     /* V17: below preserve-unknown-fields; refused where it is not
                                    known whether [*] is of a list or of a map */
    EK_GATE_PATH_REQUIRED,       /* V14; not refused when only an alternative requires it */
    EK_GATE_PATH_DEFAULTED,      /* V15: its default, or that of an ancestor, sets it */
    EK_GATE_PATH_KEY,            /* V16: key field of a list-type=map */
    EK_GATE_PATH_IN_LIST,        /* goes through a list without [*] */
    EK_GATE_PATH_NOT_IN_VERSION, /* a served version lacks it: writes through it erase it. The gate
                                    stays closed, and updates through the version are denied. Where
                                    a webhook converts, the field is up to that webhook */
    EK_GATE_PATH_MAP_KEY,        /* V17: a key of additionalProperties; not refused */
    EK_GATE_SCALE_BY_VERSION,    /* versions disagree on specReplicasPath, or only another than the
                                    stored one has /scale: webhooks are not called for that */
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
    bool guarded;        /* the gate is closed, and updates through version are denied */
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
