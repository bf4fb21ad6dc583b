/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/debug/loop.h"

void ek_debug_loop_count(struct ek_debug_loop *meter, uint64_t busy_ns, int64_t now_ms)
{
    meter->turns++;
    meter->busy_ns += busy_ns;
    if (busy_ns > meter->longest_ns) {
        meter->longest_ns = busy_ns;
        meter->longest_at_ms = now_ms;
    }
    if (busy_ns / 1000000 >= EK_DEBUG_SLOW_TURN_MS) {
        meter->slow_turns++;
        meter->last_slow_ms = now_ms;
    }
}

static void on_check(uv_check_t *check)
{
    struct ek_debug_loop *meter = check->data;
    uint64_t now = uv_hrtime();
    uint64_t idle = uv_metrics_idle_time(check->loop);
    uint64_t passed = now - meter->last_ns, waited = idle - meter->last_idle_ns;

    meter->last_ns = now;
    meter->last_idle_ns = idle;
    ek_debug_loop_count(meter, passed > waited ? passed - waited : 0, (int64_t)(now / 1000000));
}

void ek_debug_loop_start(struct ek_debug_loop *meter, uv_loop_t *loop)
{
    *meter = (struct ek_debug_loop){0};
    uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    uv_check_init(loop, &meter->check);
    meter->check.data = meter;
    meter->last_ns = uv_hrtime();
    meter->last_idle_ns = uv_metrics_idle_time(loop);
    uv_check_start(&meter->check, on_check);
    uv_unref((uv_handle_t *)&meter->check);
}

void ek_debug_loop_stop(struct ek_debug_loop *meter)
{
    if (meter->check.data && !uv_is_closing((uv_handle_t *)&meter->check))
        uv_close((uv_handle_t *)&meter->check, NULL);
}
