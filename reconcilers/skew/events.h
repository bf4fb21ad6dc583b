/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events for what changed between the ControlPlane's old status and a new report.
 *
 * The old status is the only memory: a restart repeats no Event, and a first status without
 * problems records none. A Warning requires attention; Normal reports an improvement or an expected
 * change (differences between different versions). Pure; all lives in the arena.
 */
#ifndef RECONCILERS_SKEW_EVENTS_H
#define RECONCILERS_SKEW_EVENTS_H

#include "reconcilers/skew/conditions.h"

#define EK_SKEW_EVENTS_MAX 32

/* Fills ret_events (an array in the arena) and ret_n with at most EK_SKEW_EVENTS_MAX events. */
void ek_skew_events(const struct ek_skew_report *report, struct ek_arena *arena,
                    struct ek_skew_event **ret_events, size_t *ret_n);

#endif
