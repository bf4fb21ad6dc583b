/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "controller/manager/manager.h"
#include "controller/manager/signals.h"
#include "informers/clock.h"

/* The shell around the manager: a timer that steps it, and signals that stop it. */
struct shell {
    struct ek_manager *manager;
    uv_loop_t *loop;
    uv_timer_t timer;
    struct ek_signals signals;
};

static void on_timer(uv_timer_t *timer)
{
    struct shell *shell = timer->data;
    int64_t now = ek_monotonic_ms();
    int64_t next = ek_manager_step(shell->manager, now);

    if (ek_manager_phase(shell->manager) == EK_MANAGER_FINISHED)
        uv_stop(shell->loop);
    else if (next >= 0 && !(uv_is_active((uv_handle_t *)timer) && uv_timer_get_due_in(timer) == 0))
        uv_timer_start(timer, on_timer, next > now ? (uint64_t)(next - now) : 0, 0);
}

/* Steps in the next turn of the loop, never inside the caller. */
static void wake(void *ctx)
{
    struct shell *shell = ctx;
    uv_timer_start(&shell->timer, on_timer, 0, 0);
}

static void on_signal(void *ctx, int count)
{
    struct shell *shell = ctx;

    if (count > 1)
        _exit(1); /* a second signal ends the process at once */
    ek_manager_stop(shell->manager);
}

static void on_timer_closed(uv_handle_t *handle)
{
    ek_free(handle->data);
}

static void on_signals_closed(void *ctx)
{
    struct shell *shell = ctx;
    uv_close((uv_handle_t *)&shell->timer, on_timer_closed);
}

int ek_manager_run(struct ek_manager *manager, uv_loop_t *loop)
{
    struct shell *shell = ek_xalloc(sizeof *shell);

    shell->manager = manager;
    shell->loop = loop;
    uv_timer_init(loop, &shell->timer);
    shell->timer.data = shell;
    ek_signals_open(&shell->signals, loop, on_signal, shell);
    ek_manager_set_wake(manager, wake, shell);
    wake(shell);
    while (ek_manager_phase(manager) != EK_MANAGER_FINISHED)
        uv_run(loop, UV_RUN_DEFAULT);
    ek_manager_set_wake(manager, NULL, NULL);
    uv_timer_stop(&shell->timer);
    ek_signals_close(&shell->signals, on_signals_closed);
    return ek_manager_exit_code(manager);
}
