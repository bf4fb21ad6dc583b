/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election, the shell: performs the actions of the state machine (controller/election/fsm.h)
 * with an API client and a loop timer. It decides nothing.
 *
 * Requests use a connection of their own, the User-Agent suffix "leader-election" and a timeout of
 * max(1 s, renew deadline / 2), and are not retried below the machine
 * (client-go/tools/leaderelection/leaderelection.go: LeaderElectionConfig, and
 * resourcelock.NewFromKubeconfig). The clock is CLOCK_BOOTTIME, which also counts while the machine
 * sleeps.
 *
 * Ownership: the caller owns the election until ek_election_close; the client must outlive that.
 * Threading: the loop thread. Callbacks come from the loop, never from inside a function below.
 */
#ifndef CONTROLLER_ELECTION_ELECTION_H
#define CONTROLLER_ELECTION_ELECTION_H

#include "controller/election/fsm.h"
#include "informers/client/client.h"

struct ek_election;

/* What the rest of the process hears; any member may be NULL. */
struct ek_election_observer {
    void (*started)(void *ctx);                          /* this process leads */
    void (*stopped)(void *ctx, bool lost);               /* once, also if it never led */
    void (*new_leader)(void *ctx, const char *identity); /* "" without a leader */
    void (*slowpath)(void *ctx);                         /* count one failed fast renewal */
    void (*failed)(void *ctx, const struct ek_err *err); /* one request failed; not for the 404
                                                            that precedes a create */
};

struct ek_election_config {
    struct ek_client *client;
    const char *namespace; /* of the Lease; copied */
    const char *name;      /* copied */
    struct ek_election_settings settings;
    struct ek_election_observer observer;
    void *ctx;
};

/* Writes "<hostname>_<uuid>", the identity that client-go's users form; returns buf. */
const char *ek_election_identity(char buf[EK_ELECTION_NAME_SIZE]);

/* Makes an election that is not started. EK_E_INVAL for settings that client-go would refuse. */
int ek_election_new(uv_loop_t *loop, const struct ek_election_config *config,
                    struct ek_election **ret_election, struct ek_err *err);

/* Becomes a candidate. */
void ek_election_start(struct ek_election *election);

/*
 * Leaves, once all work that needs leadership has stopped. release: also give the lease back, which
 * takes up to the renew deadline. Afterwards the observer's stopped is called. May be called inside
 * a callback, and again without release to cut a release short.
 */
void ek_election_stop(struct ek_election *election, bool release);

/* Ends without goodbye and releases the election; on_closed (may be NULL) is called from the loop
 * when nothing of it is left. NULL election is fine. */
void ek_election_close(struct ek_election *election, void (*on_closed)(void *ctx), void *ctx);

/* True while this process leads and its lease is good by the clock right now. Ask before every
 * write: it is true knowledge even just after the process was stopped and woken. */
bool ek_election_leads(const struct ek_election *election);

/* How it goes, for debugging; everything is borrowed. The machine's times are CLOCK_BOOTTIME's. */
struct ek_election_status {
    const struct ek_election_fsm *machine;
    const char *namespace, *name;  /* of the Lease */
    const struct ek_err *failure;  /* of the last request that failed, code 0 before */
    int64_t failure_ms;            /* and when */
    unsigned long long n_failures; /* requests that failed, ever */
};
void ek_election_status(const struct ek_election *election, struct ek_election_status *ret_status);

/* For /healthz: EK_E_TIMEOUT when the lease is ours but overdue by more than tolerance_ms. */
int ek_election_check(const struct ek_election *election, int64_t tolerance_ms, struct ek_err *err);

#endif
