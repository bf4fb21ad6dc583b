/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a subject observes: what changes within a short time makes one run, and runs that are
 * costly come less often. Pure: time is an argument. Threading: none.
 */
#ifndef RECONCILERS_PACE_H
#define RECONCILERS_PACE_H

#include <stdint.h>

struct ek_pace {
    int64_t settle_ms;  /* what changes within this time makes one run */
    int64_t gap_ms;     /* between two runs, at least */
    unsigned share;     /* not 0: the gap is this many times the CPU time of the run before, */
    int64_t max_gap_ms; /* at most this */
};

/* The time (ms) from a run that took took_ns (0 or more) of CPU time to the next one, at least. */
int64_t ek_pace_gap_ms(const struct ek_pace *pace, int64_t took_ns);

/* In how many milliseconds a change at now_ms is observed. next_ms: the end of the gap after the
 * run before, of the same clock. */
int64_t ek_pace_delay_ms(const struct ek_pace *pace, int64_t now_ms, int64_t next_ms);

#endif
