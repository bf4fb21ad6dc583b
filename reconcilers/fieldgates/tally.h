/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts in the status of CustomFeatureGates: the counts of this process, added to those that
 * the status had when this process became the writer. New counts are taken over at a bounded pace,
 * so that a gate with many writes does not cause many updates of the status. Pure: counts and time
 * are arguments. Threading: one thread.
 */
#ifndef RECONCILERS_FIELDGATES_TALLY_H
#define RECONCILERS_FIELDGATES_TALLY_H

#include "reconcilers/fieldgates/status.h"

#define EK_GATES_TALLY_PACE_MS 60000

#define EK_GATES_TALLY_MAX 4096 /* gates; the counts of more are not shown */

struct ek_gates_tally;

struct ek_gates_tally *ek_gates_tally_new(void);
void ek_gates_tally_free(struct ek_gates_tally *tally);

/* Begins again from the counts in the status, because another process may have written it. */
void ek_gates_tally_restart(struct ek_gates_tally *tally);

/* The time in milliseconds until counts may be taken over; 0: now. now_ms is any clock that does
 * not go back. */
int64_t ek_gates_tally_wait(const struct ek_gates_tally *tally, int64_t now_ms);

/*
 * Takes over what has been counted, if the pace allows it (*ret_taken). waiting: something was
 * counted since counts were taken. Returns in how many milliseconds to take again, for what was
 * counted and had to wait; 0: not before something is counted. Each write must follow the answer,
 * because a write at once may have replaced one that was put off.
 */
int64_t ek_gates_tally_take(struct ek_gates_tally *tally, int64_t now_ms, bool waiting,
                            bool *ret_taken);

/* The counts of the gates of obj, a CustomFeatureGates that was read as gates, as its status is to
 * show them: an array in arena, in their order. counted has what this process has counted of each
 * by now, in the same order. */
const struct ek_gate_count *ek_gates_tally_of(struct ek_gates_tally *tally,
                                              const struct ek_obj *obj,
                                              const struct ek_gates *gates,
                                              const struct ek_gate_count *counted,
                                              struct ek_arena *arena);

#endif
