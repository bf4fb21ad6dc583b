/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches what adds resources to API servers at run time, for those who serve discovery
 * (controller/run/fresh_documents.h): APIServices, and the metadata of CRDs. A change means that
 * the discovery documents will change, and APIServices give the group versions that are left out of
 * a merge (reconcilers/peers/custom_groups.h).
 *
 * An account that may not list and watch these resources is no failure: then changes are noticed by
 * the next probe, and nothing is left out. ek_custom_watch_problem reports it.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_SKEW_CUSTOM_WATCH_H
#define CONTROLLER_SKEW_CUSTOM_WATCH_H

#include "controller/manager/manager.h"
#include "controller/manager/watchset.h"
#include "reconcilers/peers/custom_groups.h"

struct ek_custom_watch;

struct ek_custom_watch_config {
    uv_loop_t *loop;
    struct ek_client *client; /* borrowed until the watch is gone */
    /* Called from the loop: an object came, went or has changed (changed true), or the state of an
     * informer has. */
    void (*on_change)(void *ctx, bool changed);
    void *ctx;
};

/* Nothing runs before the runnable is started. */
struct ek_custom_watch *ek_custom_watch_new(const struct ek_custom_watch_config *config);

/* The informers as a part of the process. */
void ek_custom_watch_runnable(struct ek_custom_watch *watch, struct ek_runnable *ret_runnable);

/* The group versions to leave out, as struct ek_subject_env has it; borrowed until the next call.
 */
const struct ek_exclusions *ek_custom_watch_exclusions(struct ek_custom_watch *watch,
                                                       int64_t now_ms, int64_t *ret_again_ms);

/* The first resource that may not be read, in one line with what to do; NULL for none. Owned. */
char *ek_custom_watch_problem(const struct ek_custom_watch *watch);

/* Stops and releases it; the loop has to run afterwards. NULL is fine. */
void ek_custom_watch_close(struct ek_custom_watch *watch);

#endif
