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

#include "controller/manager/watchset.h"
#include "controller/skew/probe_account.h"
#include "informers/cache/recording.h"
#include "informers/probe/prober.h"
#include "reconcilers/skew/view.h"

/* The rows that are watched. Their seen is called with a struct ek_skew_watch. */
#define EK_SKEW_ROWS 8
extern const struct ek_watch_row ek_skew_rows[EK_SKEW_ROWS];

/* A view that owns what it shows. */
struct ek_skew_snapshot {
    struct ek_skew_view view;
    struct ek_obj **lists[EK_SKEW_ROWS];
    size_t n[EK_SKEW_ROWS];
    struct ek_obj
        *written; /* the ControlPlane of ek_skew_watch_wrote; NULL: the informer's is shown */
    struct ek_obj **pods; /* borrowed pointers of both pod lists, in key order */
    struct ek_probe_at *probes;
    size_t n_probes;
    struct ek_objs objs[EK_SKEW_ROWS];
    int codes[EK_SKEW_ROWS]; /* why a list is not available: EK_E_FORBIDDEN, EK_E_NOENT where the
                                cluster does not serve the resource, or another; 0 where it is */
    char **whys;             /* owned texts of unavailable lists */
    size_t n_whys;
};

void ek_skew_snapshot_done(struct ek_skew_snapshot *snapshot);

struct ek_skew_watch;

/* What a watch is made of. */
struct ek_skew_watch_config {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_watchset *set; /* of ek_skew_rows, borrowed; NULL: the watch makes its own */
    const struct ek_probe_account *account; /* whose tokens schedulers and controller managers are
                                               shown; copied */
    int64_t (*now)(void);                   /* wall clock, milliseconds */
    int64_t documents_ms; /* above 0: API servers alone are probed, for what the proxy needs of
                             them, and so often; 0: all that a plan names, as often as it says */
    bool flagz;           /* /flagz of API servers is read: flags of servers without a Pod */
    void (*changed)(void *ctx); /* called from the loop whenever what the watch has made may give
                                   another view: probes, and objects of a set of its own */
    void *ctx;
};

/* Makes the prober, and the informers where there is no set; nothing runs before the set is
 * started. */
struct ek_skew_watch *ek_skew_watch_new(const struct ek_skew_watch_config *config);

/* Starts a set of its own. */
void ek_skew_watch_start(struct ek_skew_watch *watch);

/* Stops everything that the watch has made; on_stopped (may be NULL) is called from the loop, after
 * which the watch is gone. */
void ek_skew_watch_close(struct ek_skew_watch *watch, void (*on_stopped)(void *ctx), void *ctx);

/* The informers; borrowed. */
const struct ek_watchset *ek_skew_watch_set(const struct ek_skew_watch *watch);

/* True when every target of the last plan was probed. */
bool ek_skew_watch_is_probed(const struct ek_skew_watch *watch);

/* The ControlPlane as the API server returned it for a write: shown by views until the informer has
 * seen it. NULL: there is none any more. */
void ek_skew_watch_wrote(struct ek_skew_watch *watch, const struct ek_obj *control_plane);

/* Takes a view of now; release with ek_skew_snapshot_done. */
void ek_skew_watch_snapshot(struct ek_skew_watch *watch, struct ek_skew_snapshot *ret_snapshot);

/* Has the prober ask what the plan names, at the pace it names. interval false: once. */
void ek_skew_watch_set_targets(struct ek_skew_watch *watch, const struct ek_skew_plan *plan,
                               bool repeat);

/* The prober; borrowed. */
struct ek_prober *ek_skew_watch_prober(const struct ek_skew_watch *watch);

/* The same view of a recording. Its "now" is the time that it names, or the newest time that any
 * lease or candidate in it has, because a recording's ages must not grow in the drawer. */
void ek_skew_snapshot_from_recording(struct ek_recording *recording,
                                     struct ek_skew_snapshot *ret_snapshot);

#endif
