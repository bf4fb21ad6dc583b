/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the readings of CompatibilityPlans (reconcilers/plan/scan.h): one reading for
 * each target version, one page at a time for all of them.
 *
 * Cost: a page begins at least 100 ms after the one before, and at most 1 MiB is read in a second.
 * A reading begins again 10 minutes after its end, or after nine times its own duration where that
 * is longer, and when a plan for the target has changed. A reading that failed is done again twice,
 * after 10 seconds each, before the result counts: a plan that is blocked must not turn safe
 * because an API server restarted.
 *
 * Threading: the loop thread; changed is called from the loop.
 */
#ifndef CONTROLLER_PLAN_SCANS_H
#define CONTROLLER_PLAN_SCANS_H

#include "informers/client/client.h"
#include "reconcilers/plan/scan.h"

/* Targets at a time: plans lead at most so many minor versions up (EK_COMPAT_MINORS_MAX). */
#define EK_PLAN_SCANS_MAX 8

/* What plans need. */
struct ek_plan_wish {
    struct ek_minor from, to;
    uint64_t mark; /* another one when plans for the target have changed */
};

/* Adds what a plan in a generation needs to wishes, n of at most EK_PLAN_SCANS_MAX, one for each
 * target: the oldest from counts. Returns the new n; without room the wish is left out. */
size_t ek_plan_wish_add(struct ek_plan_wish *wishes, size_t n, struct ek_minor from,
                        struct ek_minor to, int64_t generation);

struct ek_plan_scans;

/* data, client and now_ms (a clock that does not go back, informers/clock.h) are borrowed; changed
 * is called when a reading has ended. */
struct ek_plan_scans *ek_plan_scans_new(uv_loop_t *loop, struct ek_client *client,
                                        const struct ek_plan_data *data, int64_t (*now_ms)(void),
                                        void (*changed)(void *ctx), void *ctx);

/* Reads for these n wishes from now on. */
void ek_plan_scans_follow(struct ek_plan_scans *scans, const struct ek_plan_wish *wishes, size_t n);

/* The newest reading for a target; NULL: none has ended. Borrowed until the loop goes on. */
const struct ek_plan_seen *ek_plan_scans_of(const struct ek_plan_scans *scans, struct ek_minor to);

/* Stops and releases it; on_closed is called from the loop at the end. */
void ek_plan_scans_close(struct ek_plan_scans *scans, void (*on_closed)(void *ctx), void *ctx);

#endif
