/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager: starts and stops the parts of the process in the order that controller-runtime has
 * (pkg/manager/internal.go: Start, engageStopProcedure).
 *
 *   start   HTTP servers -> webhooks -> caches -> others -> leader election -> leader-elected; a
 *           group is started when all of the one before are ready, within 2 minutes
 *   stop    others -> leader-elected -> caches -> webhooks -> HTTP servers, 30 s in all; then the
 *           lease is given back, if this process holds it and release is configured
 *   lost    a lost lease ends the process at once: no grace, because another leads already
 *
 * The manager has no clock and no loop: ek_manager_step does whatever is due at the time it is
 * given and says when it wants to be called again. ek_manager_run
 * (controller/manager/manager_run.c) is the shell around it, with a loop timer and signals.
 *
 * Ownership: the caller owns the manager and everything the runnables point to, which must outlive
 * it. Threading: the loop thread.
 */
#ifndef CONTROLLER_MANAGER_MANAGER_H
#define CONTROLLER_MANAGER_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "api/base/err.h"

#define EK_MANAGER_SYNC_LIMIT_MS 120000
#define EK_MANAGER_GRACE_MS      30000

enum ek_manager_group {
    EK_GROUP_HTTP,     /* health, metrics */
    EK_GROUP_WEBHOOKS, /* before caches: listing may need conversion */
    EK_GROUP_CACHES,
    EK_GROUP_OTHERS, /* run on every replica */
    EK_GROUP_LEADER, /* run on the leader only */
    EK_GROUP_MAX,
};

/* One part of the process. Names are constant text. */
struct ek_runnable {
    const char *name;
    enum ek_manager_group group;
    /* Starts; a failure (EK_E_*, err filled) stops the manager. */
    int (*start)(void *ctx, struct ek_err *err);
    /* Stops after finishing what is under way, then calls stopped(token), once; it may do so
     * before returning. Never called for what was not started. NULL: nothing to stop. */
    void (*stop)(void *ctx, void (*stopped)(void *token), void *token);
    /* True once the next group may start. NULL: as soon as it is started. */
    bool (*ready)(void *ctx);
    void *ctx;
};

/* How the manager reaches the election. start may be NULL: everybody leads. */
struct ek_manager_election {
    void (*start)(void *ctx);
    /* Leaves; release: give the lease back. ek_manager_election_ended must follow. */
    void (*stop)(void *ctx, bool release);
    void *ctx;
    bool release_on_cancel;
};

/* NEW; STARTING: a group is being started; ELECTING: all but the last group run; RUNNING: all run;
 * STOPPING: groups are being stopped; RELEASING: all is stopped but the election; FINISHED. */
#define EK_MANAGER_PHASES(X)                                                                       \
    X(NEW, "new")                                                                                  \
    X(STARTING, "starting")                                                                        \
    X(ELECTING, "electing")                                                                        \
    X(RUNNING, "running")                                                                          \
    X(STOPPING, "stopping")                                                                        \
    X(RELEASING, "releasing")                                                                      \
    X(FINISHED, "finished")

enum ek_manager_phase {
#define X(name, text) EK_MANAGER_##name,
    EK_MANAGER_PHASES(X)
#undef X
        EK_MANAGER_PHASE_MAX,
};

struct ek_manager;

struct ek_manager_config {
    int64_t sync_limit_ms; /* 0 means EK_MANAGER_SYNC_LIMIT_MS */
    int64_t grace_ms;      /* 0 means EK_MANAGER_GRACE_MS; below 0 means none */
    struct ek_manager_election election;
    /* Called, for the log, when the phase changes. May be NULL. */
    void (*on_phase)(void *ctx, enum ek_manager_phase phase);
    void *ctx;
};

struct ek_manager *ek_manager_new(const struct ek_manager_config *config);
void ek_manager_free(struct ek_manager *manager);

/* Adds a runnable, before the start only (EK_E_INVAL afterwards). The struct is copied; within a
 * group, what was added first is started first. */
int ek_manager_add(struct ek_manager *manager, const struct ek_runnable *runnable);

/* Does all work that is due. Returns the time of the next call at the latest, or -1 when no call is
 * due before another function below was called. */
int64_t ek_manager_step(struct ek_manager *manager, int64_t now_ms);

/* Begins to stop, without error: on SIGTERM. A second call ends everything at once, with exit code
 * 1. */
void ek_manager_stop(struct ek_manager *manager);

/* A runnable cannot go on: begins to stop; the first error is the manager's. err is copied. */
void ek_manager_fail(struct ek_manager *manager, const char *name, const struct ek_err *err);

/* Called by the election: this process leads now; or it no longer leads. lost: nobody has requested
 * a stop. */
void ek_manager_elected(struct ek_manager *manager);
void ek_manager_election_ended(struct ek_manager *manager, bool lost);

enum ek_manager_phase ek_manager_phase(const struct ek_manager *manager);
const char *ek_manager_phase_name(enum ek_manager_phase phase);
const char *ek_manager_group_name(enum ek_manager_group group);

/* One runnable as it is right now; name is borrowed. */
struct ek_manager_part {
    const char *name;
    enum ek_manager_group group;
    bool started, ready, stopping, stopped;
};

/* Calls fn for each runnable in the order of addition; for debugging. */
void ek_manager_each(const struct ek_manager *manager,
                     void (*fn)(void *ctx, const struct ek_manager_part *part), void *ctx);

/* For /readyz: 0 when all caches are started and synced, else EK_E_TIMEOUT naming the others. */
int ek_manager_check_ready(const struct ek_manager *manager, struct ek_err *err);

/* Of a finished manager: 0 clean, 1 after an error or a lost lease. */
int ek_manager_exit_code(const struct ek_manager *manager);

/* The error that ended it; NULL when there was none. Borrowed. */
const struct ek_err *ek_manager_error(const struct ek_manager *manager);

/* True when it ended at once, and runnables may still be doing things: the process should exit
 * without releasing what they use. */
bool ek_manager_is_abrupt(const struct ek_manager *manager);

/*
 * Runs the manager on loop until it is finished: handles SIGTERM and SIGINT (the first one drains;
 * after the second one the process exits with 1 at once), starts, steps. Returns the exit code; the
 * loop then still holds closing handles, and handles that the runnables left.
 */
int ek_manager_run(struct ek_manager *manager, uv_loop_t *loop);

/* For ek_manager_run: wake(ctx) is called whenever ek_manager_step should be. */
void ek_manager_set_wake(struct ek_manager *manager, void (*wake)(void *ctx), void *ctx);

#endif
