/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rehearsal: the API server of the target on a copy of a cluster's data, step by step.
 *
 * The process makes a temporary folder (folder.h), copies the live cluster into a file of the
 * folder where there is no snapshot (copy.h), enters a network and processes of its own (network.h,
 * apart.h), restores the snapshot or writes the copy to etcd, and starts one API server after the
 * other (servers.h). What the server refuses of the flags is taken out, one after the other, so
 * that the rest is rehearsed as well; each running server is surveyed (survey.h). Nothing is left
 * at the end, whatever the end is. Threading: the only thread of the process.
 */
#ifndef CONTROLLER_REHEARSE_REHEARSE_H
#define CONTROLLER_REHEARSE_REHEARSE_H

#include "controller/rehearse/copy.h"
#include "controller/rehearse/network.h"
#include "controller/rehearse/survey.h"
#include "reconcilers/rehearse/flags.h"

/* Where a rehearsal is; for people who wait. */
struct ek_rehearse_progress {
    size_t step, n_steps; /* from 0; n_steps 0 before the first */
    const char *what;     /* "restoring the snapshot", "starting kube-apiserver 1.36" */
    size_t done, total;   /* objects of the step; total 0 where it is not known */
    int64_t elapsed_ms;   /* since the start of the rehearsal */
};

struct ek_rehearse_options {
    const char *snapshot;                           /* a path; "" with cluster */
    const struct ek_rehearse_copy_options *cluster; /* NULL with snapshot */
    const char *apiserver;                          /* a path */
    const char *apiserver_old;                      /* a path; "" for none */
    const char *etcd;                               /* a folder; "" for none */
    const char *encryption;                         /* a path; "" for none */
    const char *const *args;                        /* of the API server that the cluster runs */
    size_t n_args;
    struct ek_minor from;            /* the version that the cluster runs; unknown: of args, of
                                        the cluster that is copied, of apiserver_old, else one
                                        minor below apiserver */
    int64_t start_timeout_ms;        /* of one start */
    int64_t timeout_ms;              /* of the whole rehearsal */
    size_t dry_runs;                 /* of each kind, at each step */
    bool host_network;               /* go on where the system permits no namespaces */
    const struct ek_plan_data *data; /* for predictions */
    void (*progress)(void *ctx, const struct ek_rehearse_progress *progress);
    void *ctx;
};

/* What a server refused of its flags, and what was taken out because of that. */
struct ek_rehearse_refused {
    const char *sentence, *dropped;
    bool predicted; /* plan has the sentence, too */
};

/* What happened at a step. */
struct ek_rehearse_outcome {
    struct ek_rehearse_step step;
    bool reached, started, ready;
    const char *failure; /* why the server does not run; "" */
    struct ek_rehearse_refused *refused;
    size_t n_refused;
    const char **log; /* the last lines of a server that does not run */
    size_t n_log;
    int64_t start_ms, survey_ms;
    struct ek_rehearse_counts counts;
    struct ek_rehearse_differences changes; /* from the step before that started */
    bool has_changes, predicted;
    struct ek_rehearse_differences plan; /* a is the prediction, b the server */
    const char *const *missed;           /* refusals that plan predicted, and that did not come */
    size_t n_missed;
    struct ek_rehearse_view view;
};

struct ek_rehearse_result {
    struct ek_arena *arena; /* owned; all texts */
    struct ek_rehearse_route route;
    const char *binary, *old_binary; /* "Kubernetes v1.36.2"; old: "" */
    struct ek_rehearse_flags flags;  /* as made from the arguments, for what was removed */
    struct ek_rehearse_outcome steps[EK_REHEARSE_STEPS_MAX];
    size_t n_steps;
    struct ek_rehearse_report report;
    struct ek_rehearse_copied copied; /* zeroed with a snapshot */
    size_t stored, n_folders;         /* objects and folders of the snapshot or copy */
    const char *left;                 /* the folder, where it could not be removed; "" */
    bool isolated;                    /* a network and processes of its own */
    const char *not_isolated;         /* why not; "" */
    struct ek_rehearse_traffic traffic;
    int64_t elapsed_ms;
};

/* Rehearses. Returns 0 with a result, which may say that a step was not reached; or an error with
 * err where nothing could be rehearsed: EK_E_NOENT, EK_E_IO, EK_E_INVAL for versions without a way,
 * EK_E_FORBIDDEN without namespaces and without host_network,
 * EK_E_CANCELED after a signal. ek_rehearse_result_done in any case. */
int ek_rehearse_run(const struct ek_rehearse_options *options,
                    struct ek_rehearse_result *ret_result, struct ek_err *err);
void ek_rehearse_result_done(struct ek_rehearse_result *result);

#endif
