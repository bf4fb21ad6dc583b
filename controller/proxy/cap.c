/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/cap.h"

/* What may move at once. */
#define BURST_MS 100

static int64_t level_at(const struct ek_cap *cap, int64_t now_ms)
{
    int64_t level = cap->level - (now_ms - cap->at_ms) * cap->rate;

    return level > 0 ? level : 0;
}

void ek_cap_count(struct ek_cap *cap, size_t n, int64_t now_ms)
{
    if (cap->rate <= 0)
        return;
    cap->level = level_at(cap, now_ms) + (int64_t)n * 1000;
    cap->at_ms = now_ms;
}

int64_t ek_cap_wait(const struct ek_cap *cap, int64_t now_ms)
{
    if (cap->rate <= 0)
        return 0;
    int64_t over = level_at(cap, now_ms) - BURST_MS * cap->rate;
    return over > 0 ? (over + cap->rate - 1) / cap->rate : 0;
}
