/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGTERM and SIGINT on a loop (controller-runtime, pkg/manager/signals: SetupSignalHandler): the
 * first one requests the stop, the second one, of either kind, ends the process. SIGPIPE is ignored
 * from the first use on, because a peer that went away is an error of one write.
 *
 * Threading: the loop thread; one instance per process.
 */
#ifndef CONTROLLER_MANAGER_SIGNALS_H
#define CONTROLLER_MANAGER_SIGNALS_H

#include <uv.h>

struct ek_signals {
    uv_signal_t term, interrupt;
    int count;
    void (*on_signal)(void *ctx, int count);
    void (*on_closed)(void *ctx);
    void *ctx;
    int open; /* handles that are not closed yet */
};

/* Starts to listen; on_signal is called from the loop with how many came so far. signals is caller
 * storage until ek_signals_close has called back. */
void ek_signals_open(struct ek_signals *signals, uv_loop_t *loop,
                     void (*on_signal)(void *ctx, int count), void *ctx);

/* Stops to listen: from now on signals have their default effect. on_closed is called from the
 * loop, with the ctx given at the opening, when the storage may go. */
void ek_signals_close(struct ek_signals *signals, void (*on_closed)(void *ctx));

#endif
