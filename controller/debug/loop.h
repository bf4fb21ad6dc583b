/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy the event loop is, and for how long at a stretch: a turn that takes long delays every
 * timer, watch and answer, and looks from outside like a controller that hangs.
 *
 * A turn's length is the time between two polls without what was waited in them (libuv's idle
 * time), so it counts callbacks and nothing else. Costs two clock readings per turn.
 *
 * Ownership: caller storage, which must last until the loop has run once more after the stop.
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_DEBUG_LOOP_H
#define CONTROLLER_DEBUG_LOOP_H

#include <stdint.h>
#include <uv.h>

/* Turns longer than this are counted as slow. */
#define EK_DEBUG_SLOW_TURN_MS 100

/* Members are to be read only. */
struct ek_debug_loop {
    uv_check_t check;
    uint64_t last_ns, last_idle_ns;
    unsigned long long turns, slow_turns;
    uint64_t busy_ns;      /* since the start */
    uint64_t longest_ns;   /* the longest turn, */
    int64_t longest_at_ms; /* when it ended, CLOCK_MONOTONIC */
    int64_t last_slow_ms;  /* when the last slow one ended; 0 before */
};

/* Starts measuring; it does not keep the loop alive. To be called before the loop runs. */
void ek_debug_loop_start(struct ek_debug_loop *meter, uv_loop_t *loop);

/* Stops; one that was not started is left alone. */
void ek_debug_loop_stop(struct ek_debug_loop *meter);

/* One turn of the given length ended; for ek_debug_loop_start's callback and for tests. */
void ek_debug_loop_count(struct ek_debug_loop *meter, uint64_t busy_ns, int64_t now_ms);

#endif
