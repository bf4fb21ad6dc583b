/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that leaps: the soak's clock, and the two loops that live by it.
 *
 * What it is: this file defines clock_gettime, gettimeofday, time, epoll_wait, epoll_pwait, connect
 * and bind for the whole program, libuv, libcurl and OpenSSL included. The clock stands still while
 * anybody has something to do and leaps to the next timer when nobody has; so hours of back-off
 * take seconds, and every delay can be asserted to the millisecond. What it is not: a simulation.
 * Sockets, TLS, HTTP, timers and the controller are the real ones.
 *
 * Model. Two loops: the driver's (API server, observers) in the main thread, and the controller's
 * in a thread of its own. Only one of the two runs at a time; the controller hands the turn over
 * when its loop would sleep. Work on libuv's worker threads is waited for before time leaps, and so
 * are the controller's further loops (health and metrics), which run whenever they have work.
 *
 * Addresses 10.99.x.y are those of API servers, as a cluster would have them; connect and bind turn
 * them into 127.99.x.y, because loopback addresses are, rightly, never called on the word of an
 * object.
 *
 * Threading: all functions below are for the main thread.
 */
#ifndef TEST_FAULT_SOAK_TIME_H
#define TEST_FAULT_SOAK_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* From now on time is ours; wall_ms is what the wall clock shows at the start. */
void soak_time_begin(int64_t wall_ms);

/* The two clocks in milliseconds: since the beginning, and since the epoch. */
int64_t soak_now(void);
int64_t soak_wall(void);

/* Runs body in a thread as the controller, until its loop sleeps for the first time. */
void soak_controller_start(int (*body)(void));

/* False once body has returned; *ret_code (may be NULL) is what it returned. */
bool soak_controller_runs(int *ret_code);

/* Waits for the thread's end, after body has returned. */
void soak_controller_join(void);

/* Lets everybody live for so many milliseconds; own is the driver's loop. */
void soak_live(uv_loop_t *own, int64_t ms);

/* How often the controller's loop has turned. More than SOAK_SPIN_MAX turns without time passing
 * end the program: that is a busy loop. */
#define SOAK_SPIN_MAX 20000
unsigned long long soak_turns(void);

#endif
