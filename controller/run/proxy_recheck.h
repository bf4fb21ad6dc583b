/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When `evenkeel proxy` looks at API servers again before the next regular round, because a request
 * was not served as it should be.
 *
 * A look at the API servers that are not ready costs those that are ready nothing, and may follow
 * the last look soon: a client that was asked to retry after a second is to find an API server that
 * was back at the time of that response. A look at all of them may not.
 *
 * Pure: the time is an argument, in monotonic milliseconds. Threading: one thread at a time.
 */
#ifndef CONTROLLER_RUN_PROXY_RECHECK_H
#define CONTROLLER_RUN_PROXY_RECHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Time between two checks of all API servers, in milliseconds. */
#define EK_PROXY_RECHECK_ALL_MS 1000

/* Time between two checks of the API servers that are not ready, in milliseconds. A client that
 * waits a second leaves half of it for the probe. */
#define EK_PROXY_RECHECK_ABSENT_MS 250

/* A zeroed struct is at its beginning. */
struct ek_proxy_recheck {
    bool began;                /* the times are set */
    int64_t all_ms, absent_ms; /* of the last looks */
    bool want_all, want_absent;
};

enum ek_proxy_look {
    EK_PROXY_LOOK_NONE,
    EK_PROXY_LOOK_ABSENT, /* at the API servers that are not ready */
    EK_PROXY_LOOK_ALL,
};

/* Something was not served as it should be. */
void ek_proxy_recheck_want(struct ek_proxy_recheck *recheck);

/* All API servers are to be looked at once more after the last look. */
void ek_proxy_recheck_want_again(struct ek_proxy_recheck *recheck);

/* What is due at now_ms, which the caller does then. *ret_in_ms: in how many milliseconds the next
 * call is due; -1: not before something is wanted. */
enum ek_proxy_look ek_proxy_recheck_next(struct ek_proxy_recheck *recheck, int64_t now_ms,
                                         int64_t *ret_in_ms);

#endif
