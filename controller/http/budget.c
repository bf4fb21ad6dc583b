/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/budget.h"

/* Of the limit, for small holders only. */
#define SMALL_SHARE 4

void ek_http_budget_init(struct ek_http_budget *budget, size_t limit)
{
    budget->limit = limit;
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
}

/* What a holder of held bytes may fill. */
static size_t limit_for(const struct ek_http_budget *budget, size_t held)
{
    return held <= EK_HTTP_SMALL ? budget->limit : budget->limit - budget->limit / SMALL_SHARE;
}

static void note_peak(struct ek_http_budget *budget, size_t used)
{
    size_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);

    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, used, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

bool ek_http_budget_take(struct ek_http_budget *budget, size_t n, size_t held)
{
    if (!budget)
        return true;
    size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    size_t limit = limit_for(budget, held);
    do {
        if (budget->limit && (used > limit || n > limit - used))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    note_peak(budget, used + n);
    return true;
}

void ek_http_budget_force(struct ek_http_budget *budget, size_t n)
{
    if (budget)
        note_peak(budget, atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed) + n);
}

void ek_http_budget_give(struct ek_http_budget *budget, size_t n)
{
    if (budget)
        atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
}

bool ek_http_budget_could(const struct ek_http_budget *budget, size_t n, size_t held)
{
    return !budget || !budget->limit || n <= limit_for(budget, held);
}

size_t ek_http_budget_used(struct ek_http_budget *budget)
{
    return budget ? atomic_load_explicit(&budget->used, memory_order_relaxed) : 0;
}

size_t ek_http_budget_peak(struct ek_http_budget *budget)
{
    return budget ? atomic_load_explicit(&budget->peak, memory_order_relaxed) : 0;
}
