/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ek_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t ek_wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t ek_monotonic_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t ek_boot_ms(void)
{
    return read_ns(CLOCK_BOOTTIME) / 1000000;
}
