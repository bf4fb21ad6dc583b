/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/results.h"

#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "reconcilers/mutation/results_fights.h"

/* What was noted of one policy. */
struct entry {
    char *uid;
    int64_t generation; /* the newest that was seen */
    bool bound;
    unsigned long epoch; /* of the last sync that knew it, or of its making */
    struct ek_policy_counts counts, told;
    char *denial;             /* not taken yet; NULL: none */
    int64_t restless;         /* generation that was denied for not coming to rest; -1: none */
    bool validate, undecided; /* the denial is by the safety check; is none, see
                                 ek_results_undecided */
    /* While one outcome is noted: */
    enum ek_step_result result;
    struct entry *touched; /* the next one that the outcome is about */
    unsigned long serial;
};

struct ek_results {
    bool (*draw)(unsigned char *bytes, size_t n);
    struct ek_map entries; /* struct entry, by uid */
    struct ek_results_fights fights;
    unsigned long epoch, serial;
    bool soon;                              /* a fight or a denial is waiting */
    bool counted;                           /* counts are waiting */
    int64_t soon_taken_ms, counts_taken_ms; /* when they last were; EK_TIME_UNSET: never */
};

/* ---- Life ---- */

struct ek_results *ek_results_new(bool (*draw)(unsigned char *bytes, size_t n))
{
    struct ek_results *o = ek_xalloc(sizeof *o);

    o->draw = draw;
    o->soon_taken_ms = o->counts_taken_ms = EK_TIME_UNSET;
    return o;
}

static void free_entry(struct entry *e)
{
    ek_free(e->denial);
    ek_free(e->uid);
    ek_free(e);
}

void ek_results_free(struct ek_results *results)
{
    void *value;

    if (!results)
        return;
    for (size_t i = 0; ek_map_next(&results->entries, &i, NULL, &value);)
        free_entry(value);
    ek_map_done(&results->entries);
    ek_results_fights_done(&results->fights);
    ek_free(results);
}

/* ---- Noting ---- */

/* NULL when there are too many. */
static struct entry *need_entry(struct ek_results *o, const struct ek_policy *policy)
{
    struct entry *e = ek_map_get(&o->entries, policy->uid);

    if (!e && o->entries.n < EK_RESULTS_POLICIES_MAX) {
        e = ek_xalloc(sizeof *e);
        e->uid = ek_xstrdup(policy->uid);
        e->epoch = o->epoch;
        e->restless = -1;
        e->bound = true;
        ek_map_put(&o->entries, e->uid, e);
    }
    if (e && policy->generation > e->generation)
        e->generation = policy->generation;
    return e;
}

/* Takes text, which holds no values. */
static void set_denial(struct ek_results *o, struct entry *e, char *text, bool validate)
{
    struct ek_str all = ek_str_from(text);

    ek_free(e->denial);
    e->denial = ek_xstrndup(all.p, ek_utf8_cut(all, EK_RESULTS_TEXT_MAX));
    e->validate = validate;
    e->undecided = false;
    o->soon = true;
    ek_free(text);
}

/* Why a policy denied a request, without the message: messages of CEL, of patches and of schemas
 * quote values of objects and params. The requester has it. */
static char *denial_text(const struct ek_admission_request *request, enum ek_step_error error)
{
    static const char *const why[] = {
        [EK_STEP_NO_ERROR] = "the policy or a binding cannot be used",
        [EK_STEP_COMPILE_ERROR] = "an expression does not compile",
        [EK_STEP_INVALID_ERROR] = "a match condition or a mutation failed",
        [EK_STEP_OUT_OF_BUDGET] = "the cost budget was exceeded",
        [EK_STEP_RESTLESS] = "it changes its own result again, and only some API servers run it",
    };
    const struct ek_gvk *kind = &request->kind;

    return ek_xasprintf(
        "denied a request for %s%s%s, Kind=%s: %s; the requester received the details", kind->group,
        *kind->group ? "/" : "", kind->version, kind->kind, why[error]);
}

/* A policy may have run several times for a request: by binding, param and pass. The request counts
 * once for it, by the worst that came of it. */
static int rank(enum ek_step_result result)
{
    static const int ranks[] = {
        [EK_STEP_OBSERVED] = 1, [EK_STEP_APPLIED] = 2, [EK_STEP_IGNORED] = 3, [EK_STEP_DENIED] = 4};

    return ranks[result];
}

static struct entry *gather(struct ek_results *o, const struct ek_admission_request *request,
                            const struct ek_mutation_outcome *outcome)
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
        if (e && step->error == EK_STEP_RESTLESS)
            e->restless = step->bound->policy->generation;
        if (e && step->result == EK_STEP_DENIED)
            set_denial(o, e, denial_text(request, step->error), false);
    }
    return first;
}

/* What a denied request went through besides has not been applied. */
static void count_outcome(struct ek_results *o, const struct ek_admission_request *request,
                          const struct ek_mutation_outcome *outcome)
{
    for (struct entry *e = gather(o, request, outcome); e; e = e->touched) {
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
static bool is_of_the_past(struct ek_results *o, const struct ek_fight *fight)
{
    for (size_t i = 0; i < fight->n; i++) {
        const struct entry *e = need_entry(o, fight->parties[i]);
        if (!e || fight->parties[i]->generation < e->generation)
            return true;
    }
    return false;
}

static void note_fights(struct ek_results *o, const struct ek_admission_request *request,
                        const struct ek_mutation_outcome *outcome, int64_t now_ms)
{
    for (size_t i = 0; i < outcome->n_fights; i++)
        if (!is_of_the_past(o, &outcome->fights[i]) &&
            ek_results_fights_note(&o->fights, &request->kind, &outcome->fights[i], o->draw,
                                   now_ms))
            o->soon = true;
}

/* What the control loop is waiting for. */
struct waiting {
    bool soon, counted;
};

static struct waiting waiting_for(const struct ek_results *o)
{
    return (struct waiting){o->soon, o->counted};
}

/* True when there is something to take that was not there before. */
static bool has_more(const struct ek_results *o, struct waiting before)
{
    return (o->soon && !before.soon) || (o->counted && !before.counted);
}

bool ek_results_judged(struct ek_results *results, const struct ek_admission_request *request,
                       const struct ek_mutation_outcome *outcome, int64_t now_ms)
{
    if (request->dry_run)
        return false;
    struct waiting before = waiting_for(results);
    count_outcome(results, request, outcome);
    note_fights(results, request, outcome, now_ms);
    return has_more(results, before);
}

bool ek_results_checked(struct ek_results *results, const struct ek_admission_request *request,
                        const struct ek_safety_outcome *outcome)
{
    if (request->dry_run || outcome->n_findings == 0)
        return false;
    struct waiting before = waiting_for(results);
    const struct ek_gvk *kind = &request->kind;
    unsigned long serial = ++results->serial;
    for (size_t i = 0; i < outcome->n_findings; i++) {
        struct entry *e = need_entry(results, outcome->findings[i].bound->policy);
        if (!e || e->serial == serial)
            continue;
        e->serial = serial;
        e->counts.known = true;
        e->counts.denied++;
        set_denial(results, e,
                   ek_xasprintf("denied a request for %s%s%s, Kind=%s: %s", kind->group,
                                *kind->group ? "/" : "", kind->version, kind->kind,
                                outcome->findings[i].what),
                   true);
    }
    results->counted = true;
    return has_more(results, before);
}

bool ek_results_undecided(struct ek_results *results, const struct ek_admission_request *request,
                          const struct ek_policy *policy, const char *why, bool validate)
{
    if (request->dry_run)
        return false;
    struct waiting before = waiting_for(results);
    struct entry *e = need_entry(results, policy);
    if (e) {
        set_denial(
            results, e,
            ek_xasprintf("let a request for %s pass without a decision (failurePolicy: Ignore): "
                         "%s",
                         request->resource.resource, why),
            validate);
        e->undecided = true;
    }
    return has_more(results, before);
}

/* ---- The policies that exist ---- */

static void forget_unknown(struct ek_results *o)
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
    const struct ek_results *o = ctx;
    const struct entry *e = ek_map_get(&o->entries, uid);

    return e && e->generation == generation && e->bound;
}

bool ek_results_sync(struct ek_results *results, const struct ek_results_policy *policies, size_t n)
{
    struct ek_results *o = results;
    struct waiting before = waiting_for(o);

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
    if (ek_results_fights_end(&o->fights, is_present, o))
        o->soon = true;
    return has_more(o, before);
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

static int64_t soon_due(const struct ek_results *o, int64_t now_ms)
{
    int64_t due = ek_results_fights_due(&o->fights);

    if (o->soon)
        due = now_ms;
    return due == EK_TIME_UNSET
               ? due
               : at_pace(o->soon_taken_ms, EK_RESULTS_SOON_MS, due > now_ms ? due : now_ms);
}

static int64_t counts_due(const struct ek_results *o, int64_t now_ms)
{
    return o->counted ? at_pace(o->counts_taken_ms, EK_RESULTS_COUNTS_MS, now_ms) : EK_TIME_UNSET;
}

int64_t ek_results_due(const struct ek_results *results, int64_t now_ms)
{
    return earlier(soon_due(results, now_ms), counts_due(results, now_ms));
}

static struct ek_results_note *add_news(struct ek_results_news *news)
{
    news->items = ek_xrealloc(news->items, news->n + 1, sizeof *news->items);
    news->items[news->n] = (struct ek_results_note){0};
    return &news->items[news->n++];
}

static void take_denials(struct ek_results *o, struct ek_results_news *news)
{
    void *value;

    for (size_t i = 0; ek_map_next(&o->entries, &i, NULL, &value);) {
        struct entry *e = value;
        if (!e->denial)
            continue;
        *add_news(news) = (struct ek_results_note){.uid = ek_xstrdup(e->uid),
                                                   .note = e->denial,
                                                   .reason = e->undecided  ? "RequestUndecided"
                                                             : e->validate ? "SafetyViolated"
                                                                           : "PolicyDenied",
                                                   .action = e->validate ? "Validate" : "Mutate"};
        e->denial = NULL;
    }
}

static void on_new_fight(void *ctx, const char *uid, char *note)
{
    *add_news(ctx) = (struct ek_results_note){
        .uid = ek_xstrdup(uid), .note = note, .reason = "PolicyFight", .action = "Mutate"};
}

static bool take_soon(struct ek_results *o, int64_t now_ms, struct ek_results_news *news)
{
    o->soon = false;
    o->soon_taken_ms = now_ms;
    take_denials(o, news);
    return ek_results_fights_take(&o->fights, now_ms, on_new_fight, news);
}

static bool take_counts(struct ek_results *o, int64_t now_ms)
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

bool ek_results_take(struct ek_results *results, int64_t now_ms, struct ek_results_news *ret_news)
{
    struct ek_results *o = results;
    bool changed = false;

    *ret_news = (struct ek_results_news){0};
    if (is_due(soon_due(o, now_ms), now_ms))
        changed = take_soon(o, now_ms, ret_news);
    if (is_due(counts_due(o, now_ms), now_ms))
        changed = take_counts(o, now_ms) || changed;
    return changed;
}

void ek_results_news_done(struct ek_results_news *news)
{
    for (size_t i = 0; i < news->n; i++) {
        ek_free(news->items[i].uid);
        ek_free(news->items[i].note);
    }
    ek_free(news->items);
    *news = (struct ek_results_news){0};
}

void ek_results_read(const struct ek_results *results, struct ek_arena *arena,
                     struct ek_policy_facts *facts)
{
    const struct ek_results *o = results;
    const struct entry *e = ek_map_get(&o->entries, facts->policy->uid);

    if (e)
        facts->counts = e->told;
    facts->restless = e && e->restless == facts->policy->generation;
    facts->n_fights = ek_results_fights_of(&o->fights, facts->policy->uid, arena, &facts->fights);
}
