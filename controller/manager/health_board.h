/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health checks that run on the control loop, for a listener on another thread: the board runs them
 * every half second and keeps what came out; the listener's checks read that, and never wait.
 *
 * The board also knows when it ran last, which says whether the control loop turns at all. A turn
 * that takes long is no reason for a restart, and kubelets restart after three failures: the limit
 * is three times the renew deadline of the Lease, after which another replica leads anyway.
 *
 * Threading: the checks that are added run on the control loop; those that are added to an
 * ek_health may be called from any thread; the functions below are for the control loop.
 */
#ifndef CONTROLLER_MANAGER_HEALTH_BOARD_H
#define CONTROLLER_MANAGER_HEALTH_BOARD_H

#include <uv.h>

#include "controller/manager/health.h"

#define EK_HEALTH_BOARD_PERIOD_MS 500
#define EK_HEALTH_BOARD_STUCK_MS  30000

struct ek_health_board;

struct ek_health_board *ek_health_board_new(uv_loop_t *loop);

/* Runs fn from the start on, and adds a check of that name to health, which reports the result. */
void ek_health_board_add(struct ek_health_board *board, struct ek_health *health, const char *name,
                         ek_health_check_fn fn, void *ctx);

/* Adds the check "control-loop" to health: whether the board runs. */
void ek_health_board_watch(struct ek_health_board *board, struct ek_health *health);

/* Runs all checks, now and from now on. */
void ek_health_board_start(struct ek_health_board *board);

/* Stops. What came out last remains; call on_closed (may be NULL) from the loop. */
void ek_health_board_close(struct ek_health_board *board, void (*on_closed)(void *ctx), void *ctx);

/* Releases it, after it has been closed or when it was never started. NULL is fine. */
void ek_health_board_free(struct ek_health_board *board);

/* 0, or EK_E_TIMEOUT when the last run of the checks was age_ms ago and that is too long. Pure. */
int ek_health_board_judge(int64_t age_ms, struct ek_err *err);

#endif
