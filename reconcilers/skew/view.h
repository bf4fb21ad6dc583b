/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input and the output of the skew reconciler: struct ek_skew_view has all observations, as of
 * one time, and struct ek_skew_plan has all intents. ek_skew_plan_make is pure and total.
 *
 *   view  --roster-->  the API servers, and the addresses that may be called
 *         --facts--->  per component instance: versions, from which source, how fresh
 *         --judge--->  a verdict per instance, violations, differences between peers
 *         --status-->  the ControlPlane status and its conditions; Events for what changed
 *
 * All pointers in a view are borrowed for the call. The content of a plan is in its arena or owned
 * by the plan.
 */
#ifndef RECONCILERS_SKEW_VIEW_H
#define RECONCILERS_SKEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/arena.h"
#include "reconcilers/peers/objs.h"
#include "reconcilers/peers/table.h"

struct ek_view; /* reconcilers/peers/view.h */

struct ek_skew_view {
    int64_t now_ms;                     /* wall clock */
    const struct ek_obj *control_plane; /* the ControlPlane named "cluster"; NULL: not there yet */
    const char *control_plane_why;      /* error of reading the ControlPlane; NULL: none */
    struct ek_objs leases;              /* kube-system */
    struct ek_objs candidates;          /* LeaseCandidates, kube-system */
    struct ek_objs endpoint_slices;     /* default */
    struct ek_objs nodes;
    const char *configured;           /* canonical "ip:port" of the configured server; NULL when it
                                         is a name, or not reached over TLS */
    struct ek_objs pods;              /* kube-system: control plane and kube-proxy pods */
    const struct ek_probe_at *probes; /* of API servers and of other components' metrics ports */
    size_t n_probes;
    bool probing_done; /* every address of the last plan's targets has been tried at least once */
    /* Gives the documents of the API servers of a table (reconcilers/peers/view_source.h), borrowed
     * until the plan is made; called once, with the table of the plan. NULL, or NULL returned: the
     * documents are not known, and the status says nothing about them. */
    const struct ek_view *(*make_documents)(void *ctx, const struct ek_peer_table *peers);
    void *documents_ctx;
    const struct ek_view *documents; /* as returned; set by the plan */
};

/* An address to probe, and the credentials for it (reconcilers/peers/trust.h). */
struct ek_probe_target {
    const char *component; /* "kube-apiserver", "kube-controller-manager", "kube-scheduler" */
    const char *address;   /* "ip:port" */
    enum ek_probe_credential credential;
    const char *host; /* name of the API server; "" for other components */
};

struct ek_skew_event {
    bool warning;
    const char *reason; /* CamelCase */
    const char *action;
    const char *note; /* at most 1 kB */
};

/* A sample for /metrics. Borrowed from the plan. */
struct ek_skew_metric {
    const char *name;         /* full metric name */
    const char *labels[8][2]; /* name, value; ends at the first NULL name */
    double value;
};

struct ek_bounds;
struct ek_skew_facts;
struct ek_skew_spec;

struct ek_skew_plan {
    yyjson_mut_doc *doc;    /* owns status */
    yyjson_mut_val *status; /* the whole .status to be applied */
    bool create;            /* no ControlPlane exists: create the default one first */
    bool status_changed;    /* status differs from what control_plane holds */
    struct ek_probe_target *targets;
    size_t n_targets;
    struct ek_skew_event *events; /* only for what changed against control_plane's old status */
    size_t n_events;
    struct ek_skew_metric *metrics;
    size_t n_metrics;
    int64_t requeue_after_ms; /* time until the plan may change by itself, 0 for never */
    int64_t probe_interval_ms;
    int64_t probe_timeout_ms;       /* of each request */
    const struct ek_bounds *bounds; /* versions of the API servers (reconcilers/skew/policy.h) */
    struct ek_peer_table
        *peers; /* the API servers, for other subjects; the plan owns one reference */
    const struct ek_skew_facts *facts; /* facts from which the plan was made, for other subjects */
    const struct ek_skew_spec *spec;
    bool probed;   /* every target was probed once at least, other components included */
    int exit_code; /* for `evenkeel check`: 0 supported, 2 violations, 3 unknown only */
};

/* Makes the plan for view; everything in ret_plan is borrowed from arena but doc and
 * peers, which ek_skew_plan_done releases. Pure; never fails. */
void ek_skew_plan_make(const struct ek_skew_view *view, struct ek_arena *arena,
                       struct ek_skew_plan *ret_plan);
void ek_skew_plan_done(struct ek_skew_plan *plan);

#endif
