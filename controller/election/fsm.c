/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/election/fsm.h"

#include <stdio.h>
#include <string.h>

/* A request that neither the server nor the client's own timeout ends is given up this much later.
 */
#define GUARD_EXTRA_MS 1000

/* A remote leaseDurationSeconds beyond this (11 days) is cut: it must not overflow arithmetic. */
#define LEASE_SECONDS_MAX 1000000

struct step {
    struct ek_election_fsm *fsm;
    const struct ek_election_event *event;
    struct ek_election_now now;
    struct ek_election_actions *out;
};

const char *ek_election_state_name(enum ek_election_state state)
{
    static const char *const names[] = {
#define X(name, text) text,
        EK_ELECTION_STATES(X)
#undef X
    };
    return (unsigned)state < EK_ELECTION_STATE_MAX ? names[state] : "?";
}

int ek_election_settings_check(const struct ek_election_settings *settings, struct ek_err *err)
{
    if (!*settings->identity)
        return ek_err_set(err, EK_E_INVAL, "leader election: identity is empty");
    if (settings->duration_ms < 1000)
        return ek_err_set(err, EK_E_INVAL, "leader election: lease duration must be at least 1s");
    if (settings->retry_ms <= 0 || settings->deadline_ms <= 0)
        return ek_err_set(err, EK_E_INVAL,
                          "leader election: renew deadline and retry period must be above zero");
    if (settings->duration_ms > (int64_t)LEASE_SECONDS_MAX * 1000)
        return ek_err_set(err, EK_E_INVAL, "leader election: lease duration must be below %ds",
                          LEASE_SECONDS_MAX);
    if (settings->duration_ms <= settings->deadline_ms)
        return ek_err_set(err, EK_E_INVAL,
                          "leader election: lease duration must be greater than renew deadline");
    if ((double)settings->deadline_ms <= EK_ELECTION_JITTER_FACTOR * (double)settings->retry_ms)
        return ek_err_set(
            err, EK_E_INVAL,
            "leader election: renew deadline must be greater than 1.2 times the retry period");
    return 0;
}

int64_t ek_election_request_timeout_ms(const struct ek_election_settings *settings)
{
    int64_t half = settings->deadline_ms / 2;
    return half > 1000 ? half : 1000;
}

void ek_election_fsm_init(struct ek_election_fsm *fsm, const struct ek_election_settings *settings)
{
    *fsm = (struct ek_election_fsm){
        .settings = *settings,
        .state = EK_ELECTION_IDLE,
        .round_at = EK_TIME_UNSET,
        .timer_at = -1,
        .random = {settings->seed},
    };
}

static struct ek_election_action *act(struct step *s, enum ek_election_action_type type)
{
    if (s->out->n == EK_ELECTION_ACTIONS_MAX)
        s->out->n--; /* no path emits as many; never write beyond the array */
    struct ek_election_action *a = &s->out->items[s->out->n++];
    *a = (struct ek_election_action){.type = type};
    return a;
}

static bool releasing(const struct ek_election_fsm *fsm)
{
    return fsm->state == EK_ELECTION_GIVING_GET || fsm->state == EK_ELECTION_GIVING_UPDATE ||
           fsm->state == EK_ELECTION_GIVING_WAIT;
}

static bool request_under_way(const struct ek_election_fsm *fsm)
{
    switch (fsm->state) {
    case EK_ELECTION_GETTING:
    case EK_ELECTION_CREATING:
    case EK_ELECTION_UPDATING:
    case EK_ELECTION_RENEWING:
    case EK_ELECTION_GIVING_GET:
    case EK_ELECTION_GIVING_UPDATE:
        return true;
    default:
        return false;
    }
}

static int64_t lease_ms(const struct ek_election_fsm *fsm)
{
    return fsm->settings.duration_ms / 1000 * 1000; /* the record holds whole seconds */
}

int64_t ek_election_fsm_lost_at(const struct ek_election_fsm *fsm)
{
    if (!fsm->leading)
        return EK_TIME_UNSET;
    int64_t by_lease = fsm->held_since + lease_ms(fsm);
    if (fsm->round_at == EK_TIME_UNSET)
        return by_lease;
    int64_t by_round = fsm->round_at + fsm->settings.deadline_ms;
    return by_round < by_lease ? by_round : by_lease;
}

bool ek_election_fsm_leads(const struct ek_election_fsm *fsm, int64_t now_ms)
{
    return fsm->leading && now_ms < ek_election_fsm_lost_at(fsm);
}

static bool mine(const struct ek_election_fsm *fsm)
{
    return fsm->seen && !strcmp(fsm->observed.holder, fsm->settings.identity);
}

bool ek_election_fsm_healthy(const struct ek_election_fsm *fsm, int64_t now_ms,
                             int64_t tolerance_ms)
{
    return !mine(fsm) || releasing(fsm) || fsm->state == EK_ELECTION_ENDED ||
           now_ms - fsm->observed_at <= fsm->settings.duration_ms + tolerance_ms;
}

/* By the record's own duration, since we saw it change: no clock but ours is involved. */
static bool observed_valid(const struct ek_election_fsm *fsm, int64_t now_ms)
{
    int64_t seconds = fsm->observed.duration_s;
    if (seconds < 0)
        seconds = 0;
    if (seconds > LEASE_SECONDS_MAX)
        seconds = LEASE_SECONDS_MAX;
    return fsm->observed_at + seconds * 1000 > now_ms;
}

static bool same_record(const struct ek_election_record *a, const struct ek_election_record *b)
{
    return !strcmp(a->holder, b->holder) && a->duration_s == b->duration_s &&
           !strcmp(a->acquire_time, b->acquire_time) && !strcmp(a->renew_time, b->renew_time) &&
           a->transitions == b->transitions && a->spec_hash == b->spec_hash;
}

static void observe(struct step *s, const struct ek_election_record *record)
{
    struct ek_election_fsm *fsm = s->fsm;
    if (!fsm->seen || !same_record(&fsm->observed, record))
        fsm->observed_at = s->now.now_ms;
    fsm->seen = true;
    fsm->observed = *record;
    if (!strcmp(fsm->reported, record->holder))
        return;
    memcpy(fsm->reported, record->holder, sizeof fsm->reported);
    act(s, EK_ELECTION_DO_NEW_LEADER)->record = *record;
}

static void end(struct step *s)
{
    s->fsm->state = EK_ELECTION_ENDED;
    s->fsm->leading = false;
    act(s, EK_ELECTION_DO_STOPPED);
    act(s, EK_ELECTION_DO_END);
}

static void lose(struct step *s)
{
    if (request_under_way(s->fsm))
        act(s, EK_ELECTION_DO_CANCEL);
    s->fsm->lost = true;
    end(s);
}

static void send_get(struct step *s, enum ek_election_state state)
{
    s->fsm->state = state;
    s->fsm->sent_at = s->now.now_ms;
    act(s, EK_ELECTION_DO_GET);
}

static struct ek_election_record *send_write(struct step *s, enum ek_election_action_type type,
                                             enum ek_election_state state)
{
    struct ek_election_record *record = &act(s, type)->record;

    s->fsm->state = state;
    s->fsm->sent_at = s->now.now_ms;
    s->fsm->write_pending = true;
    memcpy(record->holder, s->fsm->settings.identity, sizeof record->holder);
    record->duration_s = s->fsm->settings.duration_ms / 1000;
    ek_time_format_micro(s->now.wall_ms, record->renew_time);
    ek_time_format_micro(s->now.wall_ms, record->acquire_time);
    memcpy(record->resource_version, s->fsm->observed.resource_version,
           sizeof record->resource_version);
    return record;
}

static void send_update(struct step *s, enum ek_election_state state)
{
    const struct ek_election_record *old = &s->fsm->observed;
    struct ek_election_record *record = send_write(s, EK_ELECTION_DO_UPDATE, state);

    if (mine(s->fsm)) {
        if (*old->acquire_time)
            memcpy(record->acquire_time, old->acquire_time, sizeof record->acquire_time);
        record->transitions = old->transitions;
    } else {
        record->transitions = old->transitions < INT32_MAX ? old->transitions + 1 : INT32_MAX;
    }
    if (record->transitions < 0)
        record->transitions = 0;
}

static void start_try(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;

    fsm->try_at = s->now.now_ms;
    if (fsm->leading && fsm->round_at == EK_TIME_UNSET)
        fsm->round_at = s->now.now_ms;
    if (fsm->leading && mine(fsm))
        send_update(s, EK_ELECTION_RENEWING);
    else
        send_get(s, EK_ELECTION_GETTING);
}

/* A try failed: a leader starts its tries a period apart, a candidate waits a jittered period. */
static void wait_again(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    double retry = (double)fsm->settings.retry_ms;

    fsm->state = EK_ELECTION_WAITING;
    if (fsm->leading) {
        fsm->next_try_at = fsm->try_at + fsm->settings.retry_ms;
        return;
    }
    double wait = retry * (1 + EK_ELECTION_JITTER_FACTOR * ek_rand_unit(&fsm->random));
    fsm->next_try_at = s->now.now_ms + (int64_t)wait;
}

static void on_got(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    const struct ek_election_record *record = s->event->record;

    fsm->state = EK_ELECTION_WAITING;
    fsm->write_pending = false;
    observe(s, record);
    bool foreign = *record->holder && !mine(fsm);
    if (foreign && fsm->leading)
        lose(s);
    else if (foreign && observed_valid(fsm, s->now.now_ms))
        wait_again(s);
    else
        send_update(s, EK_ELECTION_UPDATING);
}

static void on_written(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    bool led = fsm->leading;

    fsm->write_pending = false;
    fsm->held_since = fsm->sent_at;
    fsm->round_at = EK_TIME_UNSET;
    fsm->leading = true;
    fsm->state = EK_ELECTION_WAITING;
    fsm->next_try_at = s->now.now_ms + fsm->settings.retry_ms;
    observe(s, s->event->record);
    fsm->observed_at = s->now.now_ms;
    /* An answer that took longer than the lease lasts proves nothing any more. */
    if (s->now.now_ms >= ek_election_fsm_lost_at(fsm)) {
        fsm->leading = led;
        if (led)
            lose(s);
        else
            wait_again(s);
        return;
    }
    if (!led)
        act(s, EK_ELECTION_DO_STARTED);
}

static void on_failed(struct step *s, int code)
{
    struct ek_election_fsm *fsm = s->fsm;

    /* These answers to a write say that it was not carried out; of others it is not known. */
    if (fsm->state == EK_ELECTION_GETTING)
        fsm->write_pending = fsm->write_pending && code != EK_E_NOENT;
    else if (code == EK_E_CONFLICT || code == EK_E_EXIST || code == EK_E_NOENT ||
             code == EK_E_FORBIDDEN || code == EK_E_UNAUTHORIZED || code == EK_E_INVAL)
        fsm->write_pending = false;
    if (fsm->state == EK_ELECTION_RENEWING) {
        act(s, EK_ELECTION_DO_SLOWPATH);
        send_get(s, EK_ELECTION_GETTING);
    } else if (fsm->state == EK_ELECTION_GETTING && code == EK_E_NOENT) {
        send_write(s, EK_ELECTION_DO_CREATE, EK_ELECTION_CREATING)->resource_version[0] = '\0';
    } else {
        wait_again(s);
    }
}

/* A write that is answered with another's name (by whatever stands between) won nothing. */
static void answered(struct step *s)
{
    if (!strcmp(s->event->record->holder, s->fsm->settings.identity))
        on_written(s);
    else
        on_failed(s, EK_E_HTTP);
}

static void send_release(struct step *s)
{
    struct ek_election_record *record =
        send_write(s, EK_ELECTION_DO_UPDATE, EK_ELECTION_GIVING_UPDATE);

    memset(record->holder, 0, sizeof record->holder);
    record->duration_s = 1;
    record->transitions = s->fsm->observed.transitions;
}

/* STOP: the leader, and a candidate whose request may have succeeded, gives the lease back. */
static void on_stop(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    bool give = s->event->release && !releasing(fsm) && (fsm->leading || fsm->write_pending);

    if (request_under_way(fsm))
        act(s, EK_ELECTION_DO_CANCEL);
    if (!give) {
        end(s);
        return;
    }
    fsm->leading = false;
    fsm->try_at = s->now.now_ms;
    fsm->give_up_at = s->now.now_ms + fsm->settings.deadline_ms;
    send_get(s, EK_ELECTION_GIVING_GET);
}

static void release_step(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;

    switch (s->event->type) {
    case EK_ELECTION_GOT:
        observe(s, s->event->record);
        if (mine(fsm)) {
            send_release(s);
            return;
        }
        end(s); /* somebody else holds it, or nobody: nothing to give */
        return;
    case EK_ELECTION_WRITTEN:
        observe(s, s->event->record);
        fsm->released = true;
        end(s);
        return;
    case EK_ELECTION_FAILED:
        if (s->event->code == EK_E_CONFLICT && s->now.now_ms < fsm->give_up_at) {
            fsm->try_at = s->now.now_ms;
            send_get(s, EK_ELECTION_GIVING_GET);
        } else if (ek_err_is_retryable(s->event->code)) {
            fsm->state = EK_ELECTION_GIVING_WAIT;
            fsm->next_try_at = fsm->try_at + fsm->settings.retry_ms;
        } else {
            end(s);
        }
        return;
    default:
        return;
    }
}

static void on_timer(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    int64_t now = s->now.now_ms;

    if (releasing(fsm) && now >= fsm->give_up_at) {
        if (request_under_way(fsm))
            act(s, EK_ELECTION_DO_CANCEL);
        end(s);
    } else if (fsm->state == EK_ELECTION_WAITING && now >= fsm->next_try_at) {
        start_try(s);
    } else if (fsm->state == EK_ELECTION_GIVING_WAIT && now >= fsm->next_try_at) {
        fsm->try_at = now;
        send_get(s, EK_ELECTION_GIVING_GET);
    } else if (request_under_way(fsm) && !releasing(fsm) &&
               now >=
                   fsm->sent_at + ek_election_request_timeout_ms(&fsm->settings) + GUARD_EXTRA_MS) {
        act(s, EK_ELECTION_DO_CANCEL);
        on_failed(s, EK_E_TIMEOUT);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void set_timer(struct step *s)
{
    struct ek_election_fsm *fsm = s->fsm;
    int64_t at = -1;

    if (fsm->state == EK_ELECTION_WAITING || fsm->state == EK_ELECTION_GIVING_WAIT)
        at = fsm->next_try_at;
    else if (request_under_way(fsm) && !releasing(fsm))
        at = fsm->sent_at + ek_election_request_timeout_ms(&fsm->settings) + GUARD_EXTRA_MS;
    if (releasing(fsm))
        at = earlier(at, fsm->give_up_at);
    else if (fsm->leading)
        at = earlier(at, ek_election_fsm_lost_at(fsm));
    if (at == fsm->timer_at && s->event->type != EK_ELECTION_TIMER)
        return;
    fsm->timer_at = at;
    act(s, EK_ELECTION_DO_SET_TIMER)->at_ms = at;
}

static void dispatch(struct step *s)
{
    enum ek_election_state state = s->fsm->state;

    switch (s->event->type) {
    case EK_ELECTION_START:
        if (state == EK_ELECTION_IDLE)
            start_try(s);
        return;
    case EK_ELECTION_STOP:
        on_stop(s);
        return;
    case EK_ELECTION_TIMER:
        on_timer(s);
        return;
    case EK_ELECTION_GOT:
        if (state == EK_ELECTION_GETTING)
            on_got(s);
        else if (state == EK_ELECTION_GIVING_GET)
            release_step(s);
        return;
    case EK_ELECTION_WRITTEN:
        if (state == EK_ELECTION_GIVING_UPDATE)
            release_step(s);
        else if (state == EK_ELECTION_CREATING || state == EK_ELECTION_UPDATING ||
                 state == EK_ELECTION_RENEWING)
            answered(s);
        return;
    case EK_ELECTION_FAILED:
        if (releasing(s->fsm))
            release_step(s);
        else if (request_under_way(s->fsm))
            on_failed(s, s->event->code);
        return;
    default:
        return;
    }
}

void ek_election_fsm_step(struct ek_election_fsm *fsm, const struct ek_election_event *event,
                          struct ek_election_now now, struct ek_election_actions *ret_actions)
{
    struct step s = {.fsm = fsm, .event = event, .now = now, .out = ret_actions};

    ret_actions->n = 0;
    if (fsm->state == EK_ELECTION_ENDED)
        return;
    /* Before all else, whatever woke us: time may have run out while we were not running. */
    if (fsm->leading && now.now_ms >= ek_election_fsm_lost_at(fsm))
        lose(&s);
    else
        dispatch(&s);
    if (fsm->state != EK_ELECTION_ENDED)
        set_timer(&s);
}
