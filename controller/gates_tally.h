/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts that status shows: what this process has counted, on top of what status said when it
 * began to write it. They are taken over at a bounded pace, so that busy gates do not make busy
 * writers. Threading: the loop thread.
 */
#ifndef CONTROLLER_GATES_TALLY_H
#define CONTROLLER_GATES_TALLY_H

#include "controller/gates_counts.h"

#define EK_GATES_TALLY_PACE_MS 60000

struct ek_gates_tally;

/* counts is borrowed and must outlive it. */
struct ek_gates_tally *ek_gates_tally_new(struct ek_gates_counts *counts);
void ek_gates_tally_free(struct ek_gates_tally *tally);

/* Others may have written status since: what it says counts anew. */
void ek_gates_tally_restart(struct ek_gates_tally *tally);

/* In how many milliseconds counts may be taken over, 0: now. now_ms is any clock that does not go
 * back. */
int64_t ek_gates_tally_wait(const struct ek_gates_tally *tally, int64_t now_ms);

/* Takes over what has been counted, if it may. */
void ek_gates_tally_take(struct ek_gates_tally *tally, int64_t now_ms);

/* The counts of the gates of obj, a CustomFeatureGates that was read as gates, as its status is to
 * show them: an array in arena, in their order. */
const struct ek_gate_count *ek_gates_tally_of(struct ek_gates_tally *tally,
                                              const struct ek_obj *obj,
                                              const struct ek_gates *gates, struct ek_arena *arena);

#endif
