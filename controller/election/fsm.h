/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election over one Lease, as a pure state machine.
 *
 * It holds the rules of client-go's elector (tools/leaderelection/leaderelection.go: LeaderElector)
 * and nothing else: no requests, no clock, no memory of its own. The shell
 * (controller/election/election.h) feeds events with two clocks and performs the actions that come
 * back. now_ms is monotonic and counts while the process or the machine sleeps; wall_ms is only
 * ever written into a record, never compared with anything.
 *
 *   candidate: every 2 s x (1 + rand x 1.2) a try: GET; absent -> CREATE; held by another and seen
 *              to change within its own duration -> wait; else UPDATE with the resourceVersion
 *   leader:    every 2 s a round: UPDATE without GET; when that fails (the slow path) GET, then
 *              UPDATE; tries start 2 s apart; a round that fails for 10 s ends leadership
 *   release:   once all work has stopped: GET, then UPDATE to an empty holder with duration 1 s,
 *              again after a conflict, until the renew deadline
 *
 * Stricter than client-go in two points, both towards never leading twice. Leadership also ends
 * when the last successful write was *sent* longer ago than the lease lasts, so that neither a
 * process that was stopped nor one with slow answers outlives its lease; this is looked at before
 * any event is. And a leader that reads another holder's name in the Lease has lost at once.
 *
 * Not a fence: a request that is already on its way may still arrive after leadership has ended.
 */
#ifndef CONTROLLER_ELECTION_FSM_H
#define CONTROLLER_ELECTION_FSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/err.h"
#include "api/base/time.h"
#include "informers/queue/backoff.h"

#define EK_ELECTION_DURATION_MS   15000
#define EK_ELECTION_DEADLINE_MS   10000
#define EK_ELECTION_RETRY_MS      2000
#define EK_ELECTION_JITTER_FACTOR 1.2
#define EK_ELECTION_NAME_SIZE     256

/*
 * IDLE       before START.
 * WAITING    for the timer that starts the next try; STOP ends or releases.
 * GETTING    a GET is under way; GOT, FAILED or the guard timer leads on.
 * CREATING   a CREATE is under way; WRITTEN (now leader) or FAILED (back to WAITING).
 * UPDATING   an UPDATE with a resourceVersion just read is under way; as CREATING.
 * RENEWING   an UPDATE with the resourceVersion of our own last write; FAILED goes to GETTING.
 * GIVING_GET, GIVING_UPDATE, GIVING_WAIT   the same three steps when releasing.
 * ENDED      nothing follows.
 */
#define EK_ELECTION_STATES(X)                                                                      \
    X(IDLE, "idle")                                                                                \
    X(WAITING, "waiting")                                                                          \
    X(GETTING, "getting")                                                                          \
    X(CREATING, "creating")                                                                        \
    X(UPDATING, "updating")                                                                        \
    X(RENEWING, "renewing")                                                                        \
    X(GIVING_GET, "giving-get")                                                                    \
    X(GIVING_UPDATE, "giving-update")                                                              \
    X(GIVING_WAIT, "giving-wait")                                                                  \
    X(ENDED, "ended")

enum ek_election_state {
#define X(name, text) EK_ELECTION_##name,
    EK_ELECTION_STATES(X)
#undef X
        EK_ELECTION_STATE_MAX,
};

/* What a Lease says. Times stay text: they are carried and compared, never interpreted. */
struct ek_election_record {
    char holder[EK_ELECTION_NAME_SIZE]; /* "" without a holder */
    int64_t duration_s;
    char acquire_time[EK_TIME_SIZE]; /* MicroTime */
    char renew_time[EK_TIME_SIZE];
    int64_t transitions;
    uint64_t spec_hash;        /* of the spec as received: any change counts as a sign of life */
    char resource_version[64]; /* of the Lease; no part of the comparison */
};

struct ek_election_settings {
    char identity[EK_ELECTION_NAME_SIZE];
    int64_t duration_ms, deadline_ms, retry_ms;
    uint64_t seed; /* of the jitter */
};

enum ek_election_event_type {
    EK_ELECTION_START,
    EK_ELECTION_TIMER,   /* the timer of SET_TIMER; too early or too often does no harm */
    EK_ELECTION_GOT,     /* GET answered with record */
    EK_ELECTION_WRITTEN, /* CREATE or UPDATE answered with record */
    EK_ELECTION_FAILED,  /* the request failed with code */
    EK_ELECTION_STOP,    /* all work has stopped; release: give the lease back if it is ours */
    EK_ELECTION_EVENT_MAX,
};

struct ek_election_event {
    enum ek_election_event_type type;
    const struct ek_election_record *record; /* borrowed */
    int code;                                /* EK_E_* */
    bool release;
};

enum ek_election_action_type {
    EK_ELECTION_DO_GET,
    EK_ELECTION_DO_CREATE,     /* of record */
    EK_ELECTION_DO_UPDATE,     /* to record, on condition of record.resource_version */
    EK_ELECTION_DO_CANCEL,     /* forget the request that is under way */
    EK_ELECTION_DO_SET_TIMER,  /* replaces the timer; at_ms < 0 switches it off */
    EK_ELECTION_DO_STARTED,    /* leading from now on */
    EK_ELECTION_DO_STOPPED,    /* exactly once in a life, also when it never led */
    EK_ELECTION_DO_NEW_LEADER, /* record.holder is the leader now; "" without one */
    EK_ELECTION_DO_SLOWPATH,   /* count one failed optimistic renewal */
    EK_ELECTION_DO_END,        /* nothing will follow, drop the timer; see lost and released */
    EK_ELECTION_ACTION_MAX,
};

struct ek_election_action {
    enum ek_election_action_type type;
    int64_t at_ms;
    struct ek_election_record record;
};

#define EK_ELECTION_ACTIONS_MAX 8

struct ek_election_actions {
    struct ek_election_action items[EK_ELECTION_ACTIONS_MAX];
    size_t n;
};

struct ek_election_now {
    int64_t now_ms;  /* monotonic, including sleep */
    int64_t wall_ms; /* since the epoch */
};

/* The machine. Members are to be read only. */
struct ek_election_fsm {
    struct ek_election_settings settings;
    enum ek_election_state state;
    bool leading;
    bool lost;          /* ENDED: leadership was taken or ran out */
    bool released;      /* ENDED: the lease was given back */
    bool write_pending; /* a write was sent whose outcome is not known */
    bool seen;          /* observed holds something */
    struct ek_election_record observed;
    int64_t observed_at; /* when observed last changed, as seen from here */
    int64_t held_since;  /* when the last successful write was sent */
    int64_t sent_at;     /* when the request under way was sent */
    int64_t try_at;      /* when the current or last try started */
    int64_t next_try_at; /* WAITING, GIVING_WAIT */
    int64_t round_at;    /* leader: start of the round, EK_TIME_UNSET between rounds */
    int64_t give_up_at;  /* releasing: no tries after this */
    int64_t timer_at;    /* last SET_TIMER */
    struct ek_rand random;
    char reported[EK_ELECTION_NAME_SIZE];
};

/*
 * Checks settings by client-go's rules: all above zero, duration at least one second, duration >
 * deadline > 1.2 x retry, identity not empty. Returns 0 or EK_E_INVAL with a message that names
 * the offending pair.
 */
int ek_election_settings_check(const struct ek_election_settings *settings, struct ek_err *err);

/* Prepares a machine in IDLE. settings is copied and must have passed the check. */
void ek_election_fsm_init(struct ek_election_fsm *fsm, const struct ek_election_settings *settings);

/* Takes one event at the given time; ret_actions is overwritten with what to do, in order. Pure. */
void ek_election_fsm_step(struct ek_election_fsm *fsm, const struct ek_election_event *event,
                          struct ek_election_now now, struct ek_election_actions *ret_actions);

/* True while this is the leader and its lease is good at now_ms: to be called right before acting,
 * because a process that has just been woken may not have had its timer yet. */
bool ek_election_fsm_leads(const struct ek_election_fsm *fsm, int64_t now_ms);

/* The last moment at which leadership holds without a further success; EK_TIME_UNSET when not
 * leading. */
int64_t ek_election_fsm_lost_at(const struct ek_election_fsm *fsm);

/*
 * client-go's healthz adaptor: false when the lease is recorded as ours but was last renewed
 * longer ago than its duration plus tolerance_ms.
 */
bool ek_election_fsm_healthy(const struct ek_election_fsm *fsm, int64_t now_ms,
                             int64_t tolerance_ms);

/* How long one request may take: half the renew deadline, at least a second. */
int64_t ek_election_request_timeout_ms(const struct ek_election_settings *settings);

const char *ek_election_state_name(enum ek_election_state state);

#endif
