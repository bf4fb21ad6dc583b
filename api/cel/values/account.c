/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/values/account.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The largest reported cost of a refused call: sums of such costs cannot wrap. */
#define COST_REPORTED_MAX ((uint64_t)1 << 56)

struct ek_cel_val ek_cel_end(struct ek_cel_eval *e, enum ek_cel_error_kind kind,
                             const char *message)
{
    if (!e->ended) {
        e->ended = true;
        e->final = (struct ek_cel_fault){kind, e->position, message};
    }
    return ek_cel_error(&e->final);
}

struct ek_cel_val ek_cel_cost_exceeded(struct ek_cel_eval *e)
{
    return ek_cel_end(e, EK_CEL_E_COST, "operation cancelled: actual cost limit exceeded");
}

struct ek_cel_val ek_cel_stopped(struct ek_cel_eval *e)
{
    return e->ended ? ek_cel_error(&e->final) : ek_cel_cost_exceeded(e);
}

static bool canceled(struct ek_cel_eval *e)
{
    if (!e->limits || !e->limits->canceled || !e->limits->canceled(e->limits->canceled_arg))
        return false;
    ek_cel_end(e, EK_CEL_E_CANCELED, "operation interrupted");
    return true;
}

bool ek_cel_step(struct ek_cel_eval *e)
{
    if (UNLIKELY(e->ended))
        return false;
    if (UNLIKELY(e->cost > e->cost_limit)) {
        ek_cel_cost_exceeded(e);
        return false;
    }
    return ++e->steps % EK_CEL_CHECK_FREQUENCY != 0 || !canceled(e);
}

bool ek_cel_work(struct ek_cel_eval *e, uint64_t steps)
{
    if (e->ended)
        return false;
    if (e->cost > e->cost_limit || steps > e->cost_limit - e->cost) {
        /* The cost of the refused call. */
        e->cost += steps < COST_REPORTED_MAX ? steps : COST_REPORTED_MAX;
        ek_cel_cost_exceeded(e);
        return false;
    }
    return steps < EK_CEL_CHECK_FREQUENCY || !canceled(e);
}
