/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Electors against a Lease that lives here, in virtual time: messages are delayed, lost on either
 * way and refused, electors are stopped like a process by SIGSTOP, replaced by new ones, and every
 * one has clocks of its own. Whatever happens, no two may believe at once that they lead; and once
 * the faults end, somebody must lead.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/election/fsm.h"
#include "test/support/suite.h"

#define ELECTORS      3
#define MESSAGES_MAX  64
#define FAULTS_END_MS 1200000
#define RUN_END_MS    1300000
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SEEDS 8
#else
#define SEEDS 24
#endif

enum message_type { TO_SERVER, TO_ELECTOR };

struct message {
    bool used;
    enum message_type type;
    int64_t at;
    size_t elector;
    unsigned request; /* answers to a cancelled request are dropped */
    enum ek_election_action_type verb;
    struct ek_election_record record;
    int code; /* of an answer, 0 for good ones */
};

struct elector {
    struct ek_election_fsm fsm;
    int64_t mono_offset, wall_offset;
    int64_t timer_at;     /* virtual time, -1 off */
    int64_t paused_until; /* 0: running */
    unsigned request;     /* the one under way */
    bool stopped;         /* its end was reported */
    unsigned lives;
    bool led;
};

struct world {
    uint64_t rng;
    int64_t now;
    struct elector electors[ELECTORS];
    struct message messages[MESSAGES_MAX];
    bool exists;
    struct ek_election_record lease;
    unsigned version;
    unsigned terms, losses;
    int64_t led_ms;
};

static uint64_t next_random(struct world *w)
{
    w->rng ^= w->rng << 13;
    w->rng ^= w->rng >> 7;
    w->rng ^= w->rng << 17;
    return w->rng;
}

static int64_t below(struct world *w, int64_t n)
{
    return (int64_t)(next_random(w) % (uint64_t)n);
}

static bool faults(const struct world *w)
{
    return w->now < FAULTS_END_MS;
}

static bool chance(struct world *w, int64_t percent)
{
    return faults(w) && below(w, 100) < percent;
}

/* Mostly quick, sometimes slow, seldom longer than the request may take. */
static int64_t latency(struct world *w)
{
    if (!faults(w))
        return 1 + below(w, 20);
    int64_t dice = below(w, 100);
    return dice < 80 ? below(w, 50) : dice < 95 ? below(w, 3000) : below(w, 30000);
}

static void post(struct world *w, struct message m)
{
    m.used = true;
    m.at = w->now + latency(w);
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        if (w->messages[i].used)
            continue;
        w->messages[i] = m;
        return;
    }
    ck_abort_msg("too many messages");
}

static void feed(struct world *w, size_t i, const struct ek_election_event *event);

/* A new process in the place of one that has ended. */
static void birth(struct world *w, size_t i)
{
    struct elector *e = &w->electors[i];
    struct ek_election_settings s = {.duration_ms = EK_ELECTION_DURATION_MS,
                                     .deadline_ms = EK_ELECTION_DEADLINE_MS,
                                     .retry_ms = EK_ELECTION_RETRY_MS,
                                     .seed = next_random(w)};
    unsigned lives = e->lives + 1, request = e->request;

    snprintf(s.identity, sizeof s.identity, "elector-%zu-life-%u", i, lives);
    *e = (struct elector){.lives = lives,
                          .request = request + 1,
                          .timer_at = -1,
                          .mono_offset = below(w, 1000000),
                          .wall_offset = below(w, 1000000000) - 500000000};
    ek_election_fsm_init(&e->fsm, &s);
    feed(w, i, &(struct ek_election_event){.type = EK_ELECTION_START});
}

static void perform(struct world *w, size_t i, const struct ek_election_action *a)
{
    struct elector *e = &w->electors[i];

    switch (a->type) {
    case EK_ELECTION_DO_GET:
    case EK_ELECTION_DO_CREATE:
    case EK_ELECTION_DO_UPDATE: {
        e->request++;
        struct message m = {.type = TO_SERVER,
                            .elector = i,
                            .request = e->request,
                            .verb = a->type,
                            .record = a->record};
        if (!chance(w, 10)) /* lost on the way: nothing ever comes back */
            post(w, m);
        return;
    }
    case EK_ELECTION_DO_CANCEL:
        e->request++;
        return;
    case EK_ELECTION_DO_SET_TIMER:
        e->timer_at = a->at_ms < 0 ? -1 : a->at_ms - e->mono_offset;
        return;
    case EK_ELECTION_DO_STARTED:
        ck_assert(!e->led);
        e->led = true;
        w->terms++;
        return;
    case EK_ELECTION_DO_STOPPED:
        ck_assert(!e->stopped);
        e->stopped = true;
        return;
    case EK_ELECTION_DO_END:
        ck_assert(e->stopped);
        e->timer_at = w->now + 1000; /* when it is born again */
        w->losses += e->fsm.lost;
        return;
    default:
        return;
    }
}

static void feed(struct world *w, size_t i, const struct ek_election_event *event)
{
    struct elector *e = &w->electors[i];
    struct ek_election_actions actions;
    struct ek_election_now now = {w->now + e->mono_offset, w->now + e->wall_offset};

    ek_election_fsm_step(&e->fsm, event, now, &actions);
    for (size_t k = 0; k < actions.n; k++)
        perform(w, i, &actions.items[k]);
}

/* What an API server does: optimistic concurrency on one object. */
static int serve(struct world *w, const struct message *m)
{
    if (chance(w, 5))
        return EK_E_SERVER;
    if (m->verb == EK_ELECTION_DO_GET)
        return w->exists ? 0 : EK_E_NOENT;
    if (m->verb == EK_ELECTION_DO_CREATE && w->exists)
        return EK_E_EXIST;
    if (m->verb == EK_ELECTION_DO_UPDATE && !w->exists)
        return EK_E_NOENT;
    if (m->verb == EK_ELECTION_DO_UPDATE &&
        strcmp(m->record.resource_version, w->lease.resource_version) != 0)
        return EK_E_CONFLICT;
    w->exists = true;
    w->lease = m->record;
    snprintf(w->lease.resource_version, sizeof w->lease.resource_version, "%u", ++w->version);
    return 0;
}

static void deliver(struct world *w, struct message *m)
{
    struct message copy = *m;
    struct elector *e = &w->electors[m->elector];

    if (copy.type == TO_ELECTOR && e->paused_until > w->now) {
        m->at = e->paused_until; /* waits in the socket */
        return;
    }
    m->used = false;
    if (copy.type == TO_SERVER) {
        copy.type = TO_ELECTOR;
        copy.code = serve(w, &copy);
        copy.record = w->lease;
        if (!chance(w, 10))
            post(w, copy);
        return;
    }
    if (copy.request != e->request)
        return;
    bool get = copy.verb == EK_ELECTION_DO_GET;
    feed(w, copy.elector,
         &(struct ek_election_event){.type = copy.code ? EK_ELECTION_FAILED
                                             : get     ? EK_ELECTION_GOT
                                                       : EK_ELECTION_WRITTEN,
                                     .record = &copy.record,
                                     .code = copy.code});
}

static void tick_elector(struct world *w, size_t i)
{
    struct elector *e = &w->electors[i];

    if (e->paused_until > w->now)
        return;
    e->paused_until = 0;
    if (e->timer_at >= 0 && e->timer_at <= w->now) {
        e->timer_at = -1;
        if (e->fsm.state == EK_ELECTION_ENDED)
            birth(w, i);
        else
            feed(w, i, &(struct ek_election_event){.type = EK_ELECTION_TIMER});
    }
    if (!faults(w))
        return;
    int64_t dice = below(w, 100000);
    if (dice < 4)
        e->paused_until = w->now + below(w, 60000);
    else if (dice < 6)
        feed(w, i, &(struct ek_election_event){.type = EK_ELECTION_STOP, .release = dice == 5});
    else if (dice < 7)
        birth(w, i); /* SIGKILL: no goodbye */
}

static void check_one_leader(struct world *w, uint64_t seed)
{
    size_t leaders = 0;
    for (size_t i = 0; i < ELECTORS; i++)
        leaders += ek_election_fsm_leads(&w->electors[i].fsm, w->now + w->electors[i].mono_offset);
    ck_assert_msg(leaders <= 1, "seed %" PRIu64 ": %zu leaders at %" PRId64 " ms", seed, leaders,
                  w->now);
    w->led_ms += 10 * (int64_t)leaders;
}

static void run(struct world *w, uint64_t seed)
{
    w->rng = seed * 2654435761u + 1;
    for (size_t i = 0; i < ELECTORS; i++)
        birth(w, i);
    for (; w->now < RUN_END_MS; w->now += 10) {
        bool timers_first = below(w, 2);
        for (size_t i = 0; timers_first && i < ELECTORS; i++)
            tick_elector(w, i);
        for (size_t i = 0; i < MESSAGES_MAX; i++)
            if (w->messages[i].used && w->messages[i].at <= w->now)
                deliver(w, &w->messages[i]);
        for (size_t i = 0; !timers_first && i < ELECTORS; i++)
            tick_elector(w, i);
        check_one_leader(w, seed);
    }
}

START_TEST(never_two)
{
    unsigned terms = 0, losses = 0;
    int64_t led_ms = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world w = {0};
        run(&w, seed);
        size_t leaders = 0;
        for (size_t i = 0; i < ELECTORS; i++)
            leaders += w.electors[i].fsm.leading;
        ck_assert_msg(leaders == 1, "seed %" PRIu64 ": nobody leads after the faults", seed);
        terms += w.terms;
        losses += w.losses;
        led_ms += w.led_ms;
    }
    /* The runs must have been eventful, and leading must still be the rule. */
    ck_assert_msg(terms > SEEDS * 10, "only %u terms", terms);
    ck_assert_msg(losses > SEEDS * 5, "only %u losses", losses);
    ck_assert_msg(led_ms > (int64_t)SEEDS * RUN_END_MS / 3, "led for %" PRId64 " ms only", led_ms);
    if (getenv("EK_SIM_PRINT"))
        printf("%u terms, %u losses, led %" PRId64 " %%\n", terms, losses,
               led_ms / SEEDS * 100 / RUN_END_MS);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("virtual time");
    tcase_set_timeout(tc, 100);
    tcase_add_test(tc, never_two);
    return ek_test_run("election_sim", tc);
}
