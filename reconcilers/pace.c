/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/pace.h"

int64_t ek_pace_gap_ms(const struct ek_pace *pace, int64_t took_ns)
{
    int64_t gap_ms = took_ns * pace->share / 1000000;

    if (gap_ms > pace->max_gap_ms)
        gap_ms = pace->max_gap_ms;
    return gap_ms < pace->gap_ms ? pace->gap_ms : gap_ms;
}

int64_t ek_pace_delay_ms(const struct ek_pace *pace, int64_t now_ms, int64_t next_ms)
{
    int64_t left_ms = next_ms - now_ms;

    return left_ms > pace->settle_ms ? left_ms : pace->settle_ms;
}
