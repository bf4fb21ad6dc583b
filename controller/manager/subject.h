/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame for subjects. A subject observes a part of the cluster, plans, has the plan applied and
 * reports; the frame does all of that but the observing and the planning.
 *
 *   a watched object changed
 *     -> paced -> follow -> all is listed? -> observe -> publish       every replica
 *     -> may this replica write? -> stage, its intents one by one,
 *        the same stage again or the next one, ...                     the leader
 *     -> the first failure, or the time after which to look again, is the result of the run
 *
 * A subject is one constant row: struct ek_subject. What it decides is in reconcilers/<subject>/,
 * pure and tested by rows; the row's functions are the glue that reads stores and hands what was
 * observed to those decisions. controller/README.md, "A subject", says how to add one, and
 * controller/manager/README.md why the frame is as it is.
 *
 * With a write key, observing and writing are two keys of the work queue and run beside each other:
 * what serving threads read is published while a write waits for its answer. A subject whose plan
 * and writes belong together has one key: each run observes, publishes and then writes.
 *
 * Threading: the loop thread. All functions of a row are called from the loop.
 */
#ifndef CONTROLLER_MANAGER_SUBJECT_H
#define CONTROLLER_MANAGER_SUBJECT_H

#include "controller/events/events.h"
#include "controller/manager/registry.h"
#include "controller/manager/watchset.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/metrics.h"
#include "reconcilers/intent.h"
#include "reconcilers/pace.h"
#include "reconcilers/peers/table.h"

#define EK_SUBJECT_STAGES_MAX 8

struct ek_bounds;     /* reconcilers/skew/policy.h */
struct ek_controller; /* a subject at work */
struct ek_debug_doc;  /* controller/telemetry/section.h */
struct ek_exclusions; /* reconcilers/peers/merge.h */
struct ek_probe_account;
struct ek_prober;
struct ek_skew_facts; /* reconcilers/skew/facts.h */
struct ek_skew_spec;  /* reconcilers/skew/spec.h */
struct ek_view;       /* reconcilers/peers/view.h */
struct ek_webhook;
struct ek_webhook_certs;

/* How API servers reach the webhook of this process, for subjects that register webhooks. */
struct ek_subject_serving {
    struct ek_webhook *webhook;     /* NULL: requests do not reach this process */
    struct ek_webhook_certs *certs; /* whose bundle is registered; NULL: none is */
    bool needs_bundle;              /* nothing is registered before certs has a bundle */
    bool with_kube_system;          /* kube-system is not exempt */
    const char *url;                /* "" or NULL: the Service */
    const char *namespace;          /* of the Service and of this process; "": not known */
    const char *service;            /* name of the Service */
};

/* What the process gives to its subjects. All is borrowed and outlives the controllers; recorder,
 * log and metrics may be NULL. */
struct ek_subject_env {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_metrics *metrics;
    struct ek_recorder *recorder;
    struct ek_log *log;
    const struct ek_probe_account *account; /* whose tokens probes show */
    struct ek_subject_serving serving;
    int64_t (*now_ms)(void);      /* wall clock, ms since the epoch */
    bool (*may_write)(void *ctx); /* called before each intent */
    /* Publishes the table of peers to all subjects: called by skew alone. table is borrowed. NULL:
     * nobody reads it. */
    void (*publish_peers)(void *ctx, const struct ek_peer_table *table);
    /* Publishes what API servers serve, when that has changed: called by skew alone. view is
     * borrowed; who keeps it takes a reference. took_ns: the time in which the view was made. NULL:
     * nobody reads it. */
    void (*publish_view)(void *ctx, const struct ek_view *view, uint64_t took_ns);
    /* Publishes the versions of the API servers, borrowed: called by skew alone. NULL: nobody reads
     * them. */
    void (*publish_bounds)(void *ctx, const struct ek_bounds *bounds);
    /* Publishes what is known of every component and the spec of the ControlPlane, borrowed for the
     * call, once all was probed: called by skew alone. NULL: nobody reads them. */
    void (*publish_facts)(void *ctx, const struct ek_skew_facts *facts,
                          const struct ek_skew_spec *spec);
    /* For skew alone: the group versions that are left out of the documents of peers before they
     * are merged, borrowed until the next call. Sets *ret_again_ms to be called again after that
     * time. NULL: none are left out. */
    const struct ek_exclusions *(*exclusions)(void *ctx, int64_t now_ms, int64_t *ret_again_ms);
    void *ctx; /* of the functions above */
    /* For skew alone: above 0, only what the proxy needs of API servers is probed, and so often
     * (ms); metrics of skew are not published, because that is the part of `evenkeel run`. */
    int64_t documents_ms;
    /* Of the runner: ek_registry_observer and ek_registry_queue. */
    struct ek_runner_observer observer;
    const struct ek_queue_config *queue;
};

enum ek_observed {
    EK_OBSERVED_NOTHING, /* nothing to go by yet: neither published nor written */
    EK_OBSERVED_PART,    /* publish, but write nothing yet: more is on its way */
    EK_OBSERVED_ALL,     /* publish and write */
};

/*
 * Plans a stage: appends intents. Returns true to be called again, for the rest, once these intents
 * were carried out; false when the next stage follows. A stage that has no intents and nothing left
 * returns false. arena lives as long as the run.
 */
typedef bool ek_stage_fn(void *subject, int64_t now_ms, struct ek_arena *arena,
                         struct ek_intents *intents);

/* A subject: constant. Functions may be NULL unless "required" is said; subject is what new made.
 */
struct ek_subject {
    const char *name;   /* of metrics, queues and debugging: "controlplane" */
    const char *kind;   /* that it reconciles, for the log: "ControlPlane" */
    const char *option; /* its name in `evenkeel run --subjects`. NULL: no choice of its own; the
                           subject runs with those that register webhooks */
    const char *part;   /* its informers among the manager's parts: "skew informers" */
    const char *observe_key, *write_key; /* see above; write_key NULL: one key */
    bool early;     /* informers and runner start before the webhook, and nothing waits for them */
    bool registers; /* writes webhook registrations: a new bundle makes it write */
    bool joins;     /* the same, but only where a subject that registers has the webhook served */
    const struct ek_watch_row *rows; /* by the subject's own enum */
    size_t n_rows;
    const struct ek_metric_desc *metrics; /* registered by the frame */
    size_t n_metrics;
    struct ek_pace pace;

    /* Makes the subject (required). The watch set exists: rows of EK_WATCH_LATER are set here. env
     * is borrowed. */
    void *(*new)(struct ek_controller *controller, const struct ek_subject_env *env);
    /* The informers are started: so should be what the subject has of its own. */
    void (*start)(void *subject);
    /* What besides the watch set must be there before the next group starts. */
    bool (*is_ready)(const void *subject);
    /* Names the objects to follow (ek_watchset_follow), before the frame checks whether all is
     * listed.
     */
    void (*follow)(void *subject);
    /* Reads what there is (required). Sets *ret_again_ms to observe again after that time. */
    enum ek_observed (*observe)(void *subject, struct ek_arena *arena, int64_t *ret_again_ms);
    /* Publishes what was observed: snapshots for serving threads, samples for metrics. */
    void (*publish)(void *subject);
    /* Called in place of the stages while this replica may not write. */
    void (*standby)(void *subject);
    ek_stage_fn *stages[EK_SUBJECT_STAGES_MAX]; /* up to the first NULL */
    /* A write was answered: obj is the object as the API server has it (NULL when a create found
     * one, and after a failure). err has code 0 or the failure, which the subject may reword; code
     * 0 takes the failure away. */
    void (*answered)(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                     struct ek_err *err);
    /* The run that writes is over (with one key: each run): what was kept for its stages may go.
     * The run's arena is still there. Not called when the controller closes during the run. */
    void (*ended)(void *subject);
    /* This replica leads from now on; a write follows. */
    void (*elected)(void *subject);
    /* The API servers, as just found. Returns true when the subject should observe again. */
    bool (*peers)(void *subject, const struct ek_peer_table *table);
    /* What is known of every component, as just found; borrowed for the call. Returns true when the
     * subject should observe again. */
    bool (*facts)(void *subject, const struct ek_skew_facts *facts,
                  const struct ek_skew_spec *spec);
    /* The prober, which debugging shows and the proxy kicks: of skew alone. */
    struct ek_prober *(*prober)(const void *subject);
    /* Informers beside the watch set's, by name. */
    void (*informers)(void *subject,
                      void (*fn)(void *arg, const char *name, struct ek_informer *informer),
                      void *arg);
    /* Its section of `evenkeel debug`: members of an object. */
    void (*debug)(const void *subject, const struct ek_debug_doc *doc);
    /* Adds what is known of the API server at that address to its part of `evenkeel debug peers`,
     * and returns its name (borrowed until the next run), NULL for none: of skew alone. */
    const char *(*debug_peer)(const void *subject, const char *address,
                              const struct ek_debug_doc *doc);
    /* Appends each API server that has no address to probe to list, an array of doc; returns how
     * many: of skew alone. */
    size_t (*debug_unprobed)(const void *subject, const struct ek_debug_doc *doc,
                             yyjson_mut_val *list);
    /* Ends and releases the subject (required); done is called from the loop, or at once. The watch
     * set is closing and must not be read any more. */
    void (*close)(void *subject, void (*done)(void *ctx), void *ctx);
};

/* Makes the controller of a subject, its informers and its runner; nothing runs before the
 * runnables are started. subject is borrowed; env is copied. */
struct ek_controller *ek_controller_new(const struct ek_subject *subject,
                                        const struct ek_subject_env *env);

/* Releases it after its runnables (and the webhook) have stopped, or if they were never started.
 * on_closed (may be NULL) is called from the loop when nothing is left. NULL is fine. */
void ek_controller_close(struct ek_controller *controller, void (*on_closed)(void *ctx), void *ctx);

/* Its two parts for the manager: the informers, and the runner. */
void ek_controller_runnables(struct ek_controller *controller, struct ek_runnable *ret_watch,
                             struct ek_runnable *ret_runner);

/* For `answered`: what depends on the write that was answered is not carried out. */
void ek_controller_skip(struct ek_controller *controller);

/* Enqueues: to observe, as after a change; to write, delay_ms from now (a subject with one key
 * observes). Ignored while it is closing. */
void ek_controller_observe(struct ek_controller *controller);
void ek_controller_write(struct ek_controller *controller, int64_t delay_ms);

/* This replica leads from now on. Ignored while it is closing, as are the two below. */
void ek_controller_elected(struct ek_controller *controller);

/* There is a new table of peers. */
void ek_controller_peers(struct ek_controller *controller, const struct ek_peer_table *table);

/* There are new facts. */
void ek_controller_facts(struct ek_controller *controller, const struct ek_skew_facts *facts,
                         const struct ek_skew_spec *spec);

/* The parts, borrowed; prober is NULL for subjects without one. */
struct ek_watchset *ek_controller_watchset(const struct ek_controller *controller);
struct ek_prober *ek_controller_prober(const struct ek_controller *controller);

/* As debug_peer of its subject; NULL for subjects without it. */
const char *ek_controller_debug_peer(const struct ek_controller *controller, const char *address,
                                     const struct ek_debug_doc *doc);

/* As debug_unprobed of its subject; 0 for subjects without it. */
size_t ek_controller_debug_unprobed(const struct ek_controller *controller,
                                    const struct ek_debug_doc *doc, yyjson_mut_val *list);

/* The row of the registry for a subject; ek_registry_set takes its controller. */
struct ek_controller_row ek_subject_registry_row(const struct ek_subject *subject);

#endif
