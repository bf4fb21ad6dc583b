/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Events about changes of the status of a CustomFeatureGates, computed from the old status and
 * the new one. Few: all gates that were turned on make one Event, whatever their
 * number, and what is merely not known yet makes none.
 *
 * Pure; any thread, with its own arena. Source: README.md here.
 */
#ifndef RECONCILERS_FIELDGATES_EVENTS_H
#define RECONCILERS_FIELDGATES_EVENTS_H

#include <yyjson.h>

#include "api/base/arena.h"

#define EK_GATE_EVENTS_MAX 6

struct ek_gate_event {
    bool warning;
    const char *reason, *action; /* constant, CamelCase */
    const char *note;            /* in arena */
};

/*
 * Fills ret (room for EK_GATE_EVENTS_MAX) with what the change from old_status (NULL: there was
 * none) to status is worth, and returns how many: GateEnabled, GateDisabled, GateRefused,
 * UpdatesDenied, DefinitionInvalid, Enforced or NotEnforced.
 */
size_t ek_gate_events(yyjson_val *old_status, yyjson_val *status, struct ek_arena *arena,
                      struct ek_gate_event ret[EK_GATE_EVENTS_MAX]);

#endif
