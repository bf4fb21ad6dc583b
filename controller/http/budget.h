/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets of bytes: what a listener may hold for its clients, and what the process may use to
 * answer them. A budget counts; nothing else. The owner of bytes takes them from the budget before
 * the allocation (or right after a small one of a bounded size), and gives them back with the
 * memory.
 *
 * The process has two kinds of budgets, and the memory for requests is their sum:
 *
 *   connection budgets   one per listener: all that is held as long as a client wants: the
 *                        connection, the TLS session, unfinished heads and bodies, answers that the
 *                        client has not read yet. A listener whose budget is used up makes room by
 *                        closing connections of its own (controller/http/evict.h), so an attack on
 *                        one serving thread does not reach into another.
 *   the work budget      one per process: all that is held as long as Evenkeel works: parsed
 *                        requests and the memory of evaluations. Clients cannot fill the work
 *                        budget with what is unfinished.
 *
 * Bytes that belong to a small holder (see EK_HTTP_SMALL) may use the whole budget, others all but
 * a quarter: a flood of large bodies leaves room for the small requests that admission mostly has.
 *
 * Threading: any thread; the counters are atomic.
 */
#ifndef CONTROLLER_HTTP_BUDGET_H
#define CONTROLLER_HTTP_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A connection that holds at most this many bytes is small. */
#define EK_HTTP_SMALL ((size_t)256 * 1024)

/* Members are to be read by the functions below only. Zeroed: a budget without a limit. */
struct ek_http_budget {
    size_t limit; /* bytes; 0: no limit, the bytes are only counted */
    atomic_size_t used, peak;
};

/* Makes an empty budget of limit bytes. */
void ek_http_budget_init(struct ek_http_budget *budget, size_t limit);

/* Takes n bytes for a holder that will have held bytes with them. False, and nothing is taken, when
 * they do not fit. NULL budget: true. */
bool ek_http_budget_take(struct ek_http_budget *budget, size_t n, size_t held);

/* Takes n bytes that exist already, also beyond the limit; they are small and bounded. */
void ek_http_budget_force(struct ek_http_budget *budget, size_t n);

/* Gives n bytes back. */
void ek_http_budget_give(struct ek_http_budget *budget, size_t n);

/* True when n bytes would fit into the empty budget, for a holder of held bytes. */
bool ek_http_budget_could(const struct ek_http_budget *budget, size_t n, size_t held);

/* Bytes taken now, and the most that ever were. NULL: 0. */
size_t ek_http_budget_used(struct ek_http_budget *budget);
size_t ek_http_budget_peak(struct ek_http_budget *budget);

#endif
