/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the skew reconciler sees of a cluster: its informers and its prober, and the view made
 * of them at one instant. `run` keeps one for its life, `check` for one verdict, and a recording
 * gives the same view without a cluster.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_SKEW_WATCH_H
#define CONTROLLER_SKEW_WATCH_H

#include "informers/informer.h"
#include "informers/prober.h"
#include "informers/recording.h"
#include "reconcilers/skew/view.h"

/* A view that owns what it shows. */
struct ek_skew_snapshot {
    struct ek_skew_view view;
    struct ek_obj **lists[8]; /* as many as there are resources */
    size_t n[8];
    struct ek_obj **pods; /* borrowed pointers of both pod lists, in key order */
    struct ek_probe_at *probes;
    size_t n_probes;
    struct ek_objs objs[8];
    char **whys; /* owned texts of unavailable lists */
    size_t n_whys;
};

void ek_skew_snapshot_done(struct ek_skew_snapshot *snapshot);

struct ek_skew_watch;

/*
 * Makes the informers and the prober; nothing runs before ek_skew_watch_start. now is the wall
 * clock. changed is called from the loop, with ctx, whenever the view may have changed.
 */
struct ek_skew_watch *ek_skew_watch_new(uv_loop_t *loop, struct ek_client *client,
                                        int64_t (*now)(void), void (*changed)(void *ctx),
                                        void *ctx);
void ek_skew_watch_start(struct ek_skew_watch *watch);

/* Stops everything; on_stopped (may be NULL) is called from the loop, after which the watch is
 * gone. */
void ek_skew_watch_close(struct ek_skew_watch *watch, void (*on_stopped)(void *ctx), void *ctx);

/* True when every informer has listed, or has been told why it may not. */
bool ek_skew_watch_is_settled(const struct ek_skew_watch *watch);

/* True when, besides, every target of the last plan has been asked. */
bool ek_skew_watch_is_probed(const struct ek_skew_watch *watch);

/* The first failure that keeps everything from working (no connection, bad certificate, not
 * authenticated), NULL while there is none; borrowed. */
const char *ek_skew_watch_failure(const struct ek_skew_watch *watch);

/* Takes a view of now; release with ek_skew_snapshot_done. */
void ek_skew_watch_snapshot(struct ek_skew_watch *watch, struct ek_skew_snapshot *ret_snapshot);

/* Has the prober ask what the plan names, at the pace it names. interval false: once. */
void ek_skew_watch_set_targets(struct ek_skew_watch *watch, const struct ek_skew_plan *plan,
                               bool repeat);

/* The informers, for metrics, health and debugging: the i-th, or NULL beyond the last. */
struct ek_informer *ek_skew_watch_informer(const struct ek_skew_watch *watch, size_t i,
                                           const struct ek_resource **ret_resource);

/* The prober, for debugging; borrowed. */
const struct ek_prober *ek_skew_watch_prober(const struct ek_skew_watch *watch);

/* The same view of a recording. Its "now" is the newest time that any lease or candidate in it
 * tells, because a recording's ages must not grow in the drawer. */
void ek_skew_snapshot_from_recording(struct ek_recording *recording,
                                     struct ek_skew_snapshot *ret_snapshot);

#endif
