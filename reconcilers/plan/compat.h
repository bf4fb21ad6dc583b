/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CompatibilityPlan: the verdict on one target version, as the status of an object that a user
 * wrote (deploy/crd/evenkeel.dev_compatibilityplans.yaml), and the Event of a change.
 *
 * The verdict is that of `evenkeel plan`, but for the unknown findings that the spec accepts. Pure.
 */
#ifndef RECONCILERS_PLAN_COMPAT_H
#define RECONCILERS_PLAN_COMPAT_H

#include "api/obj.h"
#include "reconcilers/intent.h"
#include "reconcilers/plan/guard.h"
#include "reconcilers/plan/scan.h"
#include "reconcilers/plan/world.h"

/* Findings in a list of the status; the status counts those left out. */
#define EK_COMPAT_FINDINGS_MAX 16

/* Plans that are evaluated, the oldest first: whoever may create plans decides about their number,
 * and each has a price. */
#define EK_COMPAT_PLANS_MAX 20

/* Minors from the oldest emulation version to the target. */
#define EK_COMPAT_MINORS_MAX 8

enum ek_compat_verdict {
    EK_COMPAT_UNKNOWN,
    EK_COMPAT_SAFE,
    EK_COMPAT_BLOCKED,
    EK_COMPAT_VERDICT_MAX,
};

/* "Unknown", "Safe", "Blocked". */
const char *ek_compat_verdict_name(enum ek_compat_verdict verdict);

/* What became of the guard of the plans, for the status. */
struct ek_compat_guard {
    bool registered;                    /* API servers have the registration that is needed */
    const char *problem;                /* why not; "" or NULL: not known yet */
    uint64_t n_of[EK_GUARD_RESULT_MAX]; /* writes that this process has judged */
};

/* A plan with its verdict. */
struct ek_compat {
    enum ek_compat_verdict verdict;
    struct ek_guard guard;
    struct ek_obj *status; /* an object with the whole status as its root; owned */
    bool held;             /* the verdict that is written stays until the objects were read */
};

/* The versions that objects are read for: from the oldest version of the API servers to the target
 * of plan. False when there is nothing to read for. */
bool ek_compat_window(const struct ek_obj *plan, const struct ek_plan_world *world,
                      struct ek_minor *ret_from, struct ek_minor *ret_to);

/*
 * Judges plan, an object of the cluster, by the world at now_ms (ms since the epoch). seen: what
 * was read of the objects for the target (NULL: not yet; a plan whose status has a reading for the
 * target is held then, so that a restart changes no verdict). guard: for the status (NULL: nothing
 * is registered). *ret is released with ek_compat_done.
 */
void ek_compat_judge(const struct ek_obj *plan, const struct ek_plan_world *world,
                     const struct ek_plan_seen *seen, const struct ek_compat_guard *guard,
                     int64_t now_ms, struct ek_compat *ret);
void ek_compat_done(struct ek_compat *compat);

/* Orders n plans in place: those to be evaluated first, by age and then by name. */
void ek_compat_sort(struct ek_obj **plans, size_t n);

/* Appends the status of plan where the status differs from that of the object, and an Event when
 * the verdict is another one. */
void ek_compat_intents(const struct ek_obj *plan, const struct ek_compat *compat,
                       struct ek_intents *intents);

/* The same for a plan that is one too many: the verdict is Unknown. Costs next to nothing when the
 * status says so already. */
void ek_compat_refuse(const struct ek_obj *plan, int64_t now_ms, struct ek_intents *intents);

#endif
