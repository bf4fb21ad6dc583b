/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_recheck.h"

void ek_proxy_recheck_want(struct ek_proxy_recheck *recheck)
{
    recheck->want_all = recheck->want_absent = true;
}

void ek_proxy_recheck_want_again(struct ek_proxy_recheck *recheck)
{
    recheck->want_all = true;
}

static int64_t left(int64_t last_ms, int64_t gap_ms, int64_t now_ms)
{
    int64_t due_ms = last_ms + gap_ms;
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

enum ek_proxy_look ek_proxy_recheck_next(struct ek_proxy_recheck *recheck, int64_t now_ms,
                                         int64_t *ret_in_ms)
{
    struct ek_proxy_recheck *r = recheck;
    int64_t all_ms = r->began ? left(r->all_ms, EK_PROXY_RECHECK_ALL_MS, now_ms) : 0;
    int64_t absent_ms = r->began ? left(r->absent_ms, EK_PROXY_RECHECK_ABSENT_MS, now_ms) : 0;
    enum ek_proxy_look look = EK_PROXY_LOOK_NONE;

    if (r->want_all && all_ms == 0) {
        look = EK_PROXY_LOOK_ALL;
        r->all_ms = r->absent_ms = now_ms;
        r->want_all = r->want_absent = false;
        r->began = true;
    } else if (r->want_absent && absent_ms == 0) {
        look = EK_PROXY_LOOK_ABSENT;
        r->absent_ms = now_ms;
        r->want_absent = false;
    }
    *ret_in_ms = r->want_absent && absent_ms < all_ms ? absent_ms : r->want_all ? all_ms : -1;
    return look;
}
