/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CustomFeatureGates are to be written: those whose status does not say what status.h says of
 * them; and which Events follow a written status (events.h).
 *
 * Pure. Threading: one thread.
 */
#ifndef RECONCILERS_FIELDGATES_REPORT_H
#define RECONCILERS_FIELDGATES_REPORT_H

#include "reconcilers/fieldgates/registrar.h"

/* What holds for all kinds. Borrowed. */
struct ek_gates_standing {
    bool serving; /* requests can reach this process */
    const struct ek_gates_registrar *registrar;
    enum ek_gates_canary canary;
    const char *canary_message;         /* NULL: none */
    const struct ek_resource *resource; /* of CustomFeatureGates */
};

/* The census of one kind (NULL: none here) and the counts of its gates (kind->defined), in their
 * order. */
struct ek_gates_counted {
    const struct ek_gates_census_state *census;
    const struct ek_gate_count *counts;
};

/*
 * Appends the apply of kind's status when it differs from the present one, and the Events that it
 * is worth, each recorded only when the status was written.
 */
void ek_gates_plan_status(const struct ek_gated_kind *kind,
                          const struct ek_gates_standing *standing,
                          const struct ek_gates_counted *counted, int64_t now_ms,
                          struct ek_intents *intents);

#endif
