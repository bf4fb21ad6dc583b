/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict on a CompatibilityPlan while the verdict is made. */
#ifndef RECONCILERS_PLAN_COMPAT_INTERNAL_H
#define RECONCILERS_PLAN_COMPAT_INTERNAL_H

#include "api/cond.h"
#include "reconcilers/plan/compat.h"
#include "reconcilers/plan/route.h"

struct ek_compat_draft {
    const struct ek_plan_world *world; /* NULL: the plan was not evaluated */
    yyjson_val *spec;
    const struct ek_plan_seen *seen; /* NULL: the objects were not read yet */
    struct ek_minor from, to;        /* unknown: without a target */
    struct ek_plan_report report;    /* owns its arena */
    struct ek_steps steps;
    bool routed; /* steps were found */
    const struct ek_plan_finding **blockers, **unknowns;
    size_t n_blockers, n_unknowns, n_accepted, n_warnings;
    enum ek_compat_verdict verdict;
    struct ek_guard guard;
    const struct ek_compat_guard *guarding; /* NULL: nothing is registered */
    const char *reason, *message; /* of the condition Safe; the message may hold foreign text */
};

/* True when the status of plan says that its guard is on. */
bool ek_compat_was_guarded__(const struct ek_obj *plan);

/* The status of the draft for plan, as the root of an object; owned. */
struct ek_obj *ek_compat_status__(const struct ek_compat_draft *draft, const struct ek_obj *plan,
                                  int64_t now_ms);

#endif
