/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what happens when a time limit ends. The limit must be short, or the test would be slow;
 * on a busy machine a short limit may end before the test has come to the point of interest.
 *
 * Such a test runs once per limit, each four times as long as the one before, until it has seen
 * what it waits for. Only the last try, of PATIENCE_LAST_MS, is final: a failure there is no matter
 * of load.
 */
#ifndef TEST_SUPPORT_PATIENCE_H
#define TEST_SUPPORT_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_LAST_MS ((int64_t)60000)

/* Try with limit_ms set each time; leave the loop with break when the test has seen enough. */
#define PATIENCE_FOR(limit_ms, first_ms)                                                           \
    for (int64_t limit_ms = (first_ms);; limit_ms = patience_longer(limit_ms))

static inline int64_t patience_longer(int64_t limit_ms)
{
    return limit_ms * 4 < PATIENCE_LAST_MS ? limit_ms * 4 : PATIENCE_LAST_MS;
}

static inline bool patience_is_over(int64_t limit_ms)
{
    return limit_ms >= PATIENCE_LAST_MS;
}

#endif
