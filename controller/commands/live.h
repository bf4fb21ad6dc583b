/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control plane for a command: watched and probed until everything was seen or the time is up,
 * or read from a recording. Threading: one thread; blocks until the end.
 */
#ifndef CONTROLLER_COMMANDS_LIVE_H
#define CONTROLLER_COMMANDS_LIVE_H

#include "controller/cli/commands.h"
#include "controller/skew/watch.h"

struct ek_live_options {
    struct ek_cluster_options cluster;
    const char *recording; /* a folder that is read in place of the cluster; "" for none */
    const char *record;    /* a folder that gets a recording of what was read; "" or NULL: none */
    const char *probe_account;
    int64_t timeout_ms;
    bool flagz;          /* /flagz of API servers is read */
    bool documents_only; /* API servers alone are probed, for /version, /readyz and discovery */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member take none. */
#define EK_LIVE_FLAGS(holder, member)                                                              \
    EK_CLUSTER_FLAGS(holder, member.cluster),                                                      \
        {.name = "probe-service-account",                                                          \
         .type = EK_FLAG_STRING,                                                                   \
         .offset = offsetof(holder, member.probe_account),                                         \
         .initial = EK_PROBE_ACCOUNT_DEFAULT,                                                      \
         .help = EK_PROBE_ACCOUNT_HELP,                                                            \
         .check = ek_probe_account_check},                                                         \
        EK_LIVE_TIMEOUT_FLAG(holder, member)

/* For a command that probes API servers alone. */
#define EK_LIVE_TIMEOUT_FLAG(holder, member)                                                       \
    {                                                                                              \
        .name = "timeout", .type = EK_FLAG_DURATION,                                               \
        .offset = offsetof(holder, member.timeout_ms), .initial = "30s",                           \
        .help = "How long to wait for responses", .check = ek_live_timeout_check                   \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* The checks of flags: a duration above zero, the name of a folder. */
int ek_live_timeout_check(const char *value, struct ek_err *err);
int ek_live_folder_check(const char *value, struct ek_err *err);

/*
 * Looks at a view, which is good for the call. Makes the plan of the view, and lets the watch
 * (NULL for a recording) probe its targets (ek_skew_watch_set_targets). Called more than once; the
 * last look has seen most.
 */
typedef void (*ek_live_look_fn)(void *ctx, struct ek_skew_view *view, struct ek_skew_watch *watch);

/* Calls look until everything was seen. Returns 0, or an error with err where the cluster or the
 * recording could not be read, or the new recording could not be written. */
int ek_live_read(const struct ek_live_options *options, ek_live_look_fn look, void *ctx,
                 struct ek_err *err);

/* A cluster among several. */
struct ek_live_job {
    const struct ek_live_options *options;
    ek_live_look_fn look;
    void *ctx;
    struct ek_err err; /* after the reading; code 0: the cluster was read */
};

/* As ek_live_read for n clusters (none a recording), at_once of them at the same time. The time of
 * options->timeout_ms begins for each cluster when its reading begins. */
void ek_live_read_all(struct ek_live_job *jobs, size_t n, size_t at_once);

#endif
