/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/signals.h"

#include <signal.h>

static void on_signal(uv_signal_t *handle, int signum)
{
    struct ek_signals *signals = handle->data;

    (void)signum;
    signals->count++;
    signals->on_signal(signals->ctx, signals->count);
}

static void listen_to(struct ek_signals *signals, uv_signal_t *handle, uv_loop_t *loop, int signum)
{
    uv_signal_init(loop, handle);
    handle->data = signals;
    uv_signal_start(handle, on_signal, signum);
    signals->open++;
}

void ek_signals_open(struct ek_signals *signals, uv_loop_t *loop,
                     void (*callback)(void *ctx, int count), void *ctx)
{
    *signals = (struct ek_signals){.on_signal = callback, .ctx = ctx};
    signal(SIGPIPE, SIG_IGN);
    listen_to(signals, &signals->term, loop, SIGTERM);
    listen_to(signals, &signals->interrupt, loop, SIGINT);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_signals *signals = handle->data;
    if (--signals->open == 0)
        signals->on_closed(signals->ctx);
}

void ek_signals_close(struct ek_signals *signals, void (*on_closed)(void *ctx))
{
    signals->on_closed = on_closed;
    uv_close((uv_handle_t *)&signals->term, on_handle_closed);
    uv_close((uv_handle_t *)&signals->interrupt, on_handle_closed);
}
