/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission side of the guard for the way back: answers the reviews that API servers send while
 * the guard of a CompatibilityPlan is on. What reviews go by is decided on the control loop and
 * handed over as a value; what becomes of a write is reconcilers/plan/guard.h.
 *
 * A write is always answered: before the first rules, and where it cannot be judged for want of
 * time or memory, it is allowed with a warning, or denied where a plan denies.
 *
 * Threading: new, publish and free on one thread; reviews and counts on any.
 */
#ifndef CONTROLLER_PLAN_GUARD_H
#define CONTROLLER_PLAN_GUARD_H

#include "controller/telemetry/metrics.h"
#include "controller/webhook/webhook.h"
#include "reconcilers/plan/guard.h"

struct ek_plan_guard;

/* data is borrowed; metrics (may be NULL) gets evenkeel_plan_guard_writes_total. */
struct ek_plan_guard *ek_plan_guard_new(const struct ek_plan_data *data,
                                        struct ek_metrics *metrics);

/* Makes rules (copied) those that reviews go by from now on. */
void ek_plan_guard_publish(struct ek_plan_guard *guard, const struct ek_guard_rules *rules);

/* The handler for ek_webhook_add_handler, which borrows guard. */
struct ek_webhook_handler ek_plan_guard_handler(struct ek_plan_guard *guard);

/* How many writes had each result since the start. Dry runs, and reviews that may be forged, are
 * not counted. */
void ek_plan_guard_counts(const struct ek_plan_guard *guard, uint64_t ret[EK_GUARD_RESULT_MAX]);

/* When no review is under way any more. NULL is fine. */
void ek_plan_guard_free(struct ek_plan_guard *guard);

#endif
