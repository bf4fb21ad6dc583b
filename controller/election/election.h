/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election: performs the actions of the state machine (controller/election/fsm.h) with an
 * API client and a timer of the loop. All decisions are in the state machine.
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

/* Callbacks for the rest of the process; any member may be NULL. */
struct ek_election_observer {
    void (*started)(void *ctx);                          /* this process leads */
    void (*stopped)(void *ctx, bool lost);               /* once, also if the process never led */
    void (*new_leader)(void *ctx, const char *identity); /* "" without a leader */
    void (*slowpath)(void *ctx);                         /* a fast renewal failed */
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

/* Starts to acquire the Lease. */
void ek_election_start(struct ek_election *election);

/*
 * Ends the candidacy; call this function after all work that needs leadership has stopped. release:
 * also release the Lease, which takes at most the renew deadline. The observer's stopped is called
 * afterwards. May be called inside a callback. A second call without release ends a release that is
 * under way.
 */
void ek_election_stop(struct ek_election *election, bool release);

/* Closes and frees the election without releasing the Lease; on_closed (may be NULL) is called from
 * the loop afterwards. NULL election is fine. */
void ek_election_close(struct ek_election *election, void (*on_closed)(void *ctx), void *ctx);

/* True while this process leads and its Lease has not expired by the clock. Call this function
 * before every write: the result is right also after the process or the machine was suspended. */
bool ek_election_leads(const struct ek_election *election);

/* The state of an election, for debugging; everything is borrowed. Times of machine are of
 * CLOCK_BOOTTIME. */
struct ek_election_status {
    const struct ek_election_fsm *machine;
    const char *namespace, *name;  /* of the Lease */
    const struct ek_err *failure;  /* of the last request that failed, code 0 before */
    int64_t failure_ms;            /* time of that failure */
    unsigned long long n_failures; /* number of failed requests since the start */
};
void ek_election_status(const struct ek_election *election, struct ek_election_status *ret_status);

/* For /healthz: EK_E_TIMEOUT when this process leads and its Lease expired more than tolerance_ms
 * ago. */
int ek_election_check(const struct ek_election *election, int64_t tolerance_ms, struct ek_err *err);

#endif
