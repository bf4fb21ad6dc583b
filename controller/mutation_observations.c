/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_observations.h"

#include <pthread.h>
#include <string.h>

#include "api/mem.h"
#include "api/obj.h"
#include "api/quote.h"
#include "api/time.h"
#include "controller/mutation_fights.h"
#include "informers/map.h"

/* What was noted of one policy. */
struct entry {
    char *uid;
    int64_t generation; /* the newest that was seen */
    bool bound;
    unsigned long epoch; /* of the last sync that knew it, or of its making */
    struct ek_policy_counts counts, told;
    char *denial; /* not taken yet; NULL: none */
    bool validate;
    /* While one outcome is noted: */
    enum ek_step_result result;
    struct entry *touched; /* the next one that the outcome is about */
    unsigned long serial;
};

struct ek_observations {
    pthread_mutex_t lock; /* of all below */
    void (*rung)(void *ctx);
    void *ctx;
    struct ek_map entries; /* struct entry, by uid */
    struct ek_observed_fights fights;
    unsigned long epoch, serial;
    bool soon;                              /* a fight or a denial is waiting */
    bool counted;                           /* counts are waiting */
    int64_t soon_taken_ms, counts_taken_ms; /* when they last were; EK_TIME_UNSET: never */
};

/* ---- Life ---- */

struct ek_observations *ek_observations_new(void (*rung)(void *ctx), void *ctx)
{
    struct ek_observations *o = ek_xalloc(sizeof *o);

    pthread_mutex_init(&o->lock, NULL);
    o->rung = rung;
    o->ctx = ctx;
    o->soon_taken_ms = o->counts_taken_ms = EK_TIME_UNSET;
    return o;
}

static void free_entry(struct entry *e)
{
    ek_free(e->denial);
    ek_free(e->uid);
    ek_free(e);
}

void ek_observations_free(struct ek_observations *observations)
{
    void *value;

    if (!observations)
        return;
    for (size_t i = 0; ek_map_next(&observations->entries, &i, NULL, &value);)
        free_entry(value);
    ek_map_done(&observations->entries);
    ek_observed_fights_done(&observations->fights);
    pthread_mutex_destroy(&observations->lock);
    ek_free(observations);
}

/* ---- Noting ---- */

/* NULL when there are too many. */
static struct entry *need_entry(struct ek_observations *o, const struct ek_policy *policy)
{
    struct entry *e = ek_map_get(&o->entries, policy->uid);

    if (!e && o->entries.n < EK_OBSERVATIONS_POLICIES_MAX) {
        e = ek_xalloc(sizeof *e);
        e->uid = ek_xstrdup(policy->uid);
        e->epoch = o->epoch;
        e->bound = true;
        ek_map_put(&o->entries, e->uid, e);
    }
    if (e && policy->generation > e->generation)
        e->generation = policy->generation;
    return e;
}

static void set_denial(struct ek_observations *o, struct entry *e, const char *text, bool validate)
{
    struct ek_str all = ek_str_from(text ? text : "");

    ek_free(e->denial);
    e->denial = ek_xstrndup(all.p, ek_utf8_cut(all, EK_OBSERVATIONS_TEXT_MAX));
    e->validate = validate;
    o->soon = true;
}

/* A policy may have run several times for a request: by binding, param and pass. The request counts
 * once for it, by the worst that came of it. */
static int rank(enum ek_step_result result)
{
    static const int ranks[] = {
        [EK_STEP_OBSERVED] = 1, [EK_STEP_APPLIED] = 2, [EK_STEP_IGNORED] = 3, [EK_STEP_DENIED] = 4};

    return ranks[result];
}

static struct entry *gather(struct ek_observations *o, const struct ek_mutation_outcome *outcome)
{
    struct entry *first = NULL, *e = NULL;
    const struct ek_policy *last = NULL;

    o->serial++;
    for (size_t i = 0; i < outcome->n_steps; i++) {
        const struct ek_step *step = &outcome->steps[i];
        if (rank(step->result) == 0)
            continue;
        if (step->bound->policy != last)
            e = need_entry(o, step->bound->policy);
        last = step->bound->policy;
        if (e && e->serial != o->serial) {
            e->serial = o->serial;
            e->result = step->result;
            e->touched = first;
            first = e;
        } else if (e && rank(step->result) > rank(e->result)) {
            e->result = step->result;
        }
        if (e && step->result == EK_STEP_DENIED)
            set_denial(o, e, step->message, false);
    }
    return first;
}

/* What a denied request went through besides has not been applied. */
static void count_outcome(struct ek_observations *o, const struct ek_mutation_outcome *outcome)
{
    for (struct entry *e = gather(o, outcome); e; e = e->touched) {
        if (e->result == EK_STEP_APPLIED && !outcome->allowed)
            continue;
        e->counts.known = true;
        e->counts.applied += e->result == EK_STEP_APPLIED;
        e->counts.ignored += e->result == EK_STEP_IGNORED;
        e->counts.denied += e->result == EK_STEP_DENIED;
        e->counts.observed += e->result == EK_STEP_OBSERVED;
        o->counted = true;
    }
}

/* Parties that have changed since do not fight any more, as far as anybody knows. */
static bool is_of_the_past(struct ek_observations *o, const struct ek_fight *fight)
{
    for (size_t i = 0; i < fight->n; i++) {
        const struct entry *e = need_entry(o, fight->parties[i]);
        if (!e || fight->parties[i]->generation < e->generation)
            return true;
    }
    return false;
}

static void note_fights(struct ek_observations *o, const struct ek_admission_request *request,
                        const struct ek_mutation_outcome *outcome, int64_t now_ms)
{
    for (size_t i = 0; i < outcome->n_fights; i++)
        if (!is_of_the_past(o, &outcome->fights[i]) &&
            ek_observed_fights_note(&o->fights, &request->kind, &outcome->fights[i], now_ms))
            o->soon = true;
}

/* Whether the control loop is to be rung: it was waiting for nothing of the sort. */
struct bell {
    bool soon, counted;
};

static struct bell begin(struct ek_observations *o)
{
    pthread_mutex_lock(&o->lock);
    return (struct bell){o->soon, o->counted};
}

static void end(struct ek_observations *o, struct bell before)
{
    bool rings = (o->soon && !before.soon) || (o->counted && !before.counted);

    pthread_mutex_unlock(&o->lock);
    if (rings && o->rung)
        o->rung(o->ctx);
}

void ek_observations_judged(struct ek_observations *observations,
                            const struct ek_admission_request *request,
                            const struct ek_mutation_outcome *outcome, int64_t now_ms)
{
    if (request->dry_run)
        return;
    struct bell before = begin(observations);
    count_outcome(observations, outcome);
    note_fights(observations, request, outcome, now_ms);
    end(observations, before);
}

void ek_observations_checked(struct ek_observations *observations,
                             const struct ek_admission_request *request,
                             const struct ek_safety_outcome *outcome, int64_t now_ms)
{
    (void)now_ms;
    if (request->dry_run || outcome->n_findings == 0)
        return;
    struct bell before = begin(observations);
    unsigned long serial = ++observations->serial;
    for (size_t i = 0; i < outcome->n_findings; i++) {
        struct entry *e = need_entry(observations, outcome->findings[i].bound->policy);
        if (!e || e->serial == serial)
            continue;
        e->serial = serial;
        e->counts.known = true;
        e->counts.denied++;
        set_denial(observations, e, outcome->findings[i].message, true);
    }
    observations->counted = true;
    end(observations, before);
}

/* ---- Who there is ---- */

static void forget_unknown(struct ek_observations *o)
{
    struct entry *gone = NULL;
    void *value;

    for (size_t i = 0; ek_map_next(&o->entries, &i, NULL, &value);) {
        struct entry *e = value;
        if (e->epoch == o->epoch)
            continue;
        e->touched = gone;
        gone = e;
    }
    for (struct entry *next; gone; gone = next) {
        next = gone->touched;
        ek_map_take(&o->entries, gone->uid);
        free_entry(gone);
    }
}

static bool is_present(void *ctx, const char *uid, int64_t generation)
{
    const struct ek_observations *o = ctx;
    const struct entry *e = ek_map_get(&o->entries, uid);

    return e && e->generation == generation && e->bound;
}

void ek_observations_sync(struct ek_observations *observations,
                          const struct ek_observed_policy *policies, size_t n)
{
    struct ek_observations *o = observations;
    struct bell before = begin(o);

    o->epoch++;
    for (size_t i = 0; i < n; i++) {
        struct entry *e = ek_map_get(&o->entries, policies[i].policy->uid);
        if (!e)
            continue;
        e->epoch = o->epoch;
        e->generation = policies[i].policy->generation;
        e->bound = policies[i].bound;
    }
    forget_unknown(o);
    if (ek_observed_fights_end(&o->fights, is_present, o))
        o->soon = true;
    end(o, before);
}

/* ---- Taking over ---- */

/* A pace after it was last done, but not in the past, nor far away when the clock was set back. */
static int64_t at_pace(int64_t taken_ms, int64_t pace_ms, int64_t now_ms)
{
    if (taken_ms == EK_TIME_UNSET || taken_ms > now_ms || taken_ms + pace_ms < now_ms)
        return now_ms;
    return taken_ms + pace_ms;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a != EK_TIME_UNSET && (b == EK_TIME_UNSET || a < b) ? a : b;
}

static int64_t soon_due(const struct ek_observations *o, int64_t now_ms)
{
    int64_t due = ek_observed_fights_due(&o->fights);

    if (o->soon)
        due = now_ms;
    return due == EK_TIME_UNSET
               ? due
               : at_pace(o->soon_taken_ms, EK_OBSERVATIONS_SOON_MS, due > now_ms ? due : now_ms);
}

static int64_t counts_due(const struct ek_observations *o, int64_t now_ms)
{
    return o->counted ? at_pace(o->counts_taken_ms, EK_OBSERVATIONS_COUNTS_MS, now_ms)
                      : EK_TIME_UNSET;
}

int64_t ek_observations_due(struct ek_observations *observations, int64_t now_ms)
{
    pthread_mutex_lock(&observations->lock);
    int64_t due = earlier(soon_due(observations, now_ms), counts_due(observations, now_ms));
    pthread_mutex_unlock(&observations->lock);
    return due;
}

static struct ek_observed_news *add_news(struct ek_observations_news *news)
{
    news->items = ek_xrealloc(news->items, news->n + 1, sizeof *news->items);
    news->items[news->n] = (struct ek_observed_news){0};
    return &news->items[news->n++];
}

static void take_denials(struct ek_observations *o, struct ek_observations_news *news)
{
    void *value;

    for (size_t i = 0; ek_map_next(&o->entries, &i, NULL, &value);) {
        struct entry *e = value;
        if (!e->denial)
            continue;
        *add_news(news) = (struct ek_observed_news){
            .uid = ek_xstrdup(e->uid), .note = e->denial, .validate = e->validate};
        e->denial = NULL;
    }
}

static void on_new_fight(void *ctx, const char *uid, char *note)
{
    *add_news(ctx) = (struct ek_observed_news){.uid = ek_xstrdup(uid), .note = note, .fight = true};
}

static bool take_soon(struct ek_observations *o, int64_t now_ms, struct ek_observations_news *news)
{
    o->soon = false;
    o->soon_taken_ms = now_ms;
    take_denials(o, news);
    return ek_observed_fights_take(&o->fights, now_ms, on_new_fight, news);
}

static bool take_counts(struct ek_observations *o, int64_t now_ms)
{
    void *value;

    o->counted = false;
    o->counts_taken_ms = now_ms;
    for (size_t i = 0; ek_map_next(&o->entries, &i, NULL, &value);)
        ((struct entry *)value)->told = ((struct entry *)value)->counts;
    return true;
}

static bool is_due(int64_t due_ms, int64_t now_ms)
{
    return due_ms != EK_TIME_UNSET && due_ms <= now_ms;
}

bool ek_observations_take(struct ek_observations *observations, int64_t now_ms,
                          struct ek_observations_news *ret_news)
{
    struct ek_observations *o = observations;
    bool changed = false;

    *ret_news = (struct ek_observations_news){0};
    pthread_mutex_lock(&o->lock);
    if (is_due(soon_due(o, now_ms), now_ms))
        changed = take_soon(o, now_ms, ret_news);
    if (is_due(counts_due(o, now_ms), now_ms))
        changed = take_counts(o, now_ms) || changed;
    pthread_mutex_unlock(&o->lock);
    return changed;
}

void ek_observations_news_done(struct ek_observations_news *news)
{
    for (size_t i = 0; i < news->n; i++) {
        ek_free(news->items[i].uid);
        ek_free(news->items[i].note);
    }
    ek_free(news->items);
    *news = (struct ek_observations_news){0};
}

void ek_observations_tell(struct ek_observations *observations, struct ek_arena *arena,
                          struct ek_policy_facts *facts)
{
    struct ek_observations *o = observations;

    pthread_mutex_lock(&o->lock);
    const struct entry *e = ek_map_get(&o->entries, facts->policy->uid);
    if (e)
        facts->counts = e->told;
    facts->n_fights = ek_observed_fights_of(&o->fights, facts->policy->uid, arena, &facts->fights);
    pthread_mutex_unlock(&o->lock);
}
