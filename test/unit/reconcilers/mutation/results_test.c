/* SPDX-License-Identifier: Apache-2.0 */
/* What requests show of policies: what is counted, what is reported and when, and what is
 * forgotten. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "reconcilers/mutation/results.h"
#include "test/support/suite.h"

#define NOW 1763636289000

static struct ek_policy p = {.name = "p", .uid = "u-p", .generation = 1};
static struct ek_policy q = {.name = "q", .uid = "u-q", .generation = 1};
static const struct ek_binding binding = {.name = "b", .policy_name = "p"};
static const struct ek_bound bound_p = {.policy = &p, .binding = &binding, .apply = true};
static const struct ek_bound bound_q = {.policy = &q, .binding = &binding, .apply = true};
static const struct ek_admission_request request = {
    .kind = {.group = "apps", .version = "v1", .kind = "Deployment"}};
static const struct ek_admission_request dry_run = {
    .kind = {.group = "apps", .version = "v1", .kind = "Deployment"}, .dry_run = true};

static struct ek_results *o;
static struct ek_arena *arena;
static unsigned rung;

/* Other bytes for each key. */
static bool draw(unsigned char *bytes, size_t n)
{
    static unsigned char next;

    memset(bytes, ++next, n);
    return true;
}

static void setup(void)
{
    p.generation = q.generation = 1;
    rung = 0;
    o = ek_results_new(draw);
    arena = ek_arena_new((size_t)64 << 20);
}

static void teardown(void)
{
    ek_results_free(o);
    ek_arena_free(arena);
}

/* ---- Helpers ---- */

static void judge(const struct ek_admission_request *what, bool allowed,
                  const struct ek_step *steps, size_t n, int64_t now_ms)
{
    rung += ek_results_judged(
        o, what, &(struct ek_mutation_outcome){.allowed = allowed, .steps = steps, .n_steps = n},
        now_ms);
}

static void apply_once(int64_t now_ms)
{
    judge(&request, true, &(struct ek_step){.bound = &bound_p, .result = EK_STEP_APPLIED}, 1,
          now_ms);
}

static void fight_over(const struct ek_admission_request *what, const char *path, int64_t now_ms)
{
    const struct ek_policy *parties[] = {&p, &q};
    yyjson_doc *doc = yyjson_read("\"red\"", 5, 0);
    yyjson_val *values[] = {yyjson_doc_get_root(doc), NULL};
    struct ek_fight fight = {.path = path, .parties = parties, .values = values, .n = 2};

    rung += ek_results_judged(
        o, what, &(struct ek_mutation_outcome){.allowed = true, .fights = &fight, .n_fights = 1},
        now_ms);
    yyjson_doc_free(doc);
}

static void sync_with(bool with_p, bool bound)
{
    const struct ek_results_policy known[] = {{&q, true}, {&p, bound}};

    rung += ek_results_sync(o, known, with_p ? 2 : 1);
}

/* Takes; returns the notes of the news, "uid: note" each, and whether anything changed. */
static const char *take(int64_t now_ms, bool *ret_changed)
{
    EK_AUTO(ek_results_news) news;
    const char *text = "";

    *ret_changed = ek_results_take(o, now_ms, &news);
    for (size_t i = 0; i < news.n; i++)
        text = ek_arena_printf(arena, "%s[%s %s %s: %s]", text, news.items[i].uid,
                               news.items[i].action, news.items[i].reason, news.items[i].note);
    return text;
}

static struct ek_policy_facts told(const struct ek_policy *policy)
{
    struct ek_policy_facts facts = {.policy = policy};

    ek_results_read(o, arena, &facts);
    return facts;
}

static void expect_counts(const char *name, uint64_t applied, uint64_t ignored, uint64_t denied,
                          uint64_t observed)
{
    struct ek_policy_counts c = told(&p).counts;

    ck_assert_msg(c.applied == applied && c.ignored == ignored && c.denied == denied &&
                      c.observed == observed,
                  "%s: %llu %llu %llu %llu", name, (unsigned long long)c.applied,
                  (unsigned long long)c.ignored, (unsigned long long)c.denied,
                  (unsigned long long)c.observed);
    ck_assert_msg(c.known == (applied + ignored + denied + observed > 0), "%s", name);
}

/* ---- Counts ---- */

#define STEP(what)                                                                                 \
    {                                                                                              \
        .bound = &bound_p, .result = (what)                                                        \
    }

START_TEST(counting)
{
    static const struct {
        const char *name;
        const struct ek_admission_request *request;
        bool allowed;
        struct ek_step steps[4];
        size_t n;
        uint64_t applied, ignored, denied, observed;
    } rows[] = {
        {"applied", &request, true, {STEP(EK_STEP_APPLIED)}, 1, 1, 0, 0, 0},
        {"in two passes and for two bindings",
         &request,
         true,
         {STEP(EK_STEP_APPLIED), STEP(EK_STEP_APPLIED), STEP(EK_STEP_APPLIED)},
         3,
         1,
         0,
         0,
         0},
        {"skipped", &request, true, {STEP(EK_STEP_SKIPPED)}, 1, 0, 0, 0, 0},
        {"unmatched", &request, true, {STEP(EK_STEP_UNMATCHED)}, 1, 0, 0, 0, 0},
        {"ignored for one param",
         &request,
         true,
         {STEP(EK_STEP_APPLIED), STEP(EK_STEP_IGNORED), STEP(EK_STEP_APPLIED)},
         3,
         0,
         1,
         0,
         0},
        {"denied", &request, false, {STEP(EK_STEP_APPLIED), STEP(EK_STEP_DENIED)}, 2, 0, 0, 1, 0},
        {"denied by another",
         &request,
         false,
         {STEP(EK_STEP_APPLIED), {.bound = &bound_q, .result = EK_STEP_DENIED}},
         2,
         0,
         0,
         0,
         0},
        {"results", &request, true, {STEP(EK_STEP_OBSERVED)}, 1, 0, 0, 0, 1},
        {"with another between",
         &request,
         true,
         {STEP(EK_STEP_APPLIED),
          {.bound = &bound_q, .result = EK_STEP_APPLIED},
          STEP(EK_STEP_APPLIED)},
         3,
         1,
         0,
         0,
         0},
        {"a dry run", &dry_run, true, {STEP(EK_STEP_APPLIED)}, 1, 0, 0, 0, 0},
    };
    bool changed;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        teardown();
        setup();
        judge(rows[i].request, rows[i].allowed, rows[i].steps, rows[i].n, NOW);
        take(NOW, &changed);
        expect_counts(rows[i].name, rows[i].applied, rows[i].ignored, rows[i].denied,
                      rows[i].observed);
    }
}
END_TEST

/* Counts are reported at once after a quiet while, then once a minute. */
START_TEST(counts_at_their_pace)
{
    bool changed;

    ck_assert(ek_results_due(o, NOW) == EK_TIME_UNSET);
    apply_once(NOW);
    ck_assert_uint_eq(rung, 1);
    ck_assert(ek_results_due(o, NOW) == NOW);
    expect_counts("not taken", 0, 0, 0, 0);
    take(NOW, &changed);
    ck_assert(changed);
    expect_counts("taken", 1, 0, 0, 0);
    for (int i = 0; i < 5; i++)
        apply_once(NOW + i);
    ck_assert_uint_eq(rung, 2);
    ck_assert(ek_results_due(o, NOW + 5) == NOW + EK_RESULTS_COUNTS_MS);
    take(NOW + 5, &changed);
    ck_assert(!changed);
    expect_counts("too early", 1, 0, 0, 0);
    take(NOW + EK_RESULTS_COUNTS_MS, &changed);
    ck_assert(changed);
    expect_counts("a minute later", 6, 0, 0, 0);
    ck_assert(ek_results_due(o, NOW + EK_RESULTS_COUNTS_MS) == EK_TIME_UNSET);
    /* A clock that was set back holds nothing up. */
    apply_once(NOW - EK_RESULTS_FIGHT_MS);
    take(NOW - EK_RESULTS_FIGHT_MS, &changed);
    expect_counts("the clock was set back", 7, 0, 0, 0);
}
END_TEST

/* ---- Denials ---- */

/* A policy that did not come to rest stays so until the policy changes. */
START_TEST(restless)
{
    const struct ek_step step = {
        .bound = &bound_p, .result = EK_STEP_DENIED, .error = EK_STEP_RESTLESS};
    struct ek_policy changed_policy = p;
    bool changed;

    ck_assert(!told(&p).restless);
    judge(&request, false, &step, 1, NOW);
    const char *text = take(NOW, &changed);
    ck_assert_msg(strstr(text, "it changes its own result again") != NULL, "%s", text);
    ck_assert(told(&p).restless && !told(&q).restless);
    apply_once(NOW + 1);
    ck_assert(told(&p).restless);
    changed_policy.generation = p.generation + 1;
    ck_assert(!told(&changed_policy).restless);
}
END_TEST

START_TEST(denials)
{
    const struct ek_step step = {.bound = &bound_p,
                                 .result = EK_STEP_DENIED,
                                 .error = EK_STEP_INVALID_ERROR,
                                 .message = "cannot convert 'hunter2' to int"};
    const struct ek_safety_finding findings[] = {
        {.bound = &bound_q, .message = "found \"hunter2\"", .what = "was changed"},
        {.bound = &bound_q, .message = "found \"hunter3\"", .what = "and again"}};
    static const char failed[] =
        "[u-p Mutate PolicyDenied: denied a request for apps/v1, Kind=Deployment: a match "
        "condition or a mutation failed; the requester received the "
        "details]";
    bool changed;

    judge(&request, false, &step, 1, NOW);
    rung += ek_results_checked(o, &dry_run,
                               &(struct ek_safety_outcome){.findings = findings, .n_findings = 2});
    ck_assert_str_eq(take(NOW, &changed), failed);
    judge(&request, false, &step, 1, NOW + 1);
    rung += ek_results_checked(o, &request,
                               &(struct ek_safety_outcome){.findings = findings, .n_findings = 2});
    ck_assert(ek_results_due(o, NOW + 1) == NOW + EK_RESULTS_SOON_MS);
    ck_assert_str_eq(take(NOW + 1, &changed), "");
    const char *text = take(NOW + EK_RESULTS_SOON_MS, &changed);
    ck_assert_msg(strstr(text, failed) &&
                      strstr(text, "[u-q Validate SafetyViolated: denied a request for apps/v1, "
                                   "Kind=Deployment: was changed]"),
                  "%s", text);
    ck_assert_ptr_null(strstr(text, "hunter"));
    ck_assert_str_eq(take(NOW + 2 * EK_RESULTS_SOON_MS, &changed), "");
    take(NOW + EK_RESULTS_COUNTS_MS, &changed);
    ck_assert_uint_eq(told(&q).counts.denied, 1);
    ck_assert_uint_eq(told(&p).counts.denied, 2);
}
END_TEST

/* Told like a denial, and counted as none. */
START_TEST(undecided)
{
    bool changed;

    rung += ek_results_undecided(o, &dry_run, &p, "memory", false);
    ck_assert_str_eq(take(NOW, &changed), "");
    rung += ek_results_undecided(o, &request, &p, "memory", true);
    const char *text = take(NOW, &changed);
    ck_assert_msg(!strncmp(text, "[u-p Validate RequestUndecided: let a request for ", 50) &&
                      strstr(text, " pass without a decision (failurePolicy: Ignore): memory]"),
                  "%s", text);
    ck_assert_str_eq(take(NOW + 2 * EK_RESULTS_SOON_MS, &changed), "");
    ck_assert_uint_eq(told(&p).counts.denied, 0);
}
END_TEST

/* ---- Fights ---- */

START_TEST(fights)
{
    bool changed;

    fight_over(&dry_run, "/spec/paint", NOW);
    ck_assert_uint_eq(rung, 0);
    fight_over(&request, "/spec/paint", NOW);
    ck_assert_uint_eq(rung, 1);
    ck_assert_uint_eq(told(&p).n_fights, 0);
    const char *news = take(NOW, &changed);
    ck_assert(changed);
    ck_assert_str_eq(news, "[u-p Mutate PolicyFight: policies fight over /spec/paint of apps/v1, "
                           "Kind=Deployment: p, q]"
                           "[u-q Mutate PolicyFight: policies fight over /spec/paint of apps/v1, "
                           "Kind=Deployment: p, q]");
    struct ek_policy_facts facts = told(&q);
    ck_assert_uint_eq(facts.n_fights, 1);
    ck_assert_str_eq(facts.fights[0].path, "/spec/paint");
    ck_assert_str_eq(facts.fights[0].kind, "apps/v1, Kind=Deployment");
    ck_assert_uint_eq(facts.fights[0].n_parties, 2);
    ck_assert_str_eq(facts.fights[0].parties[0].policy, "p");
    ck_assert_uint_eq(strspn(facts.fights[0].parties[0].value_hash, "0123456789abcdef"), 8);
    ck_assert_uint_eq(strlen(facts.fights[0].parties[0].value_hash), 8);
    ck_assert_str_eq(facts.fights[0].parties[1].value_hash, "");
    ck_assert(facts.fights[0].since_ms == NOW);

    /* It is seen again, which is no news; another one is, when its time has come. */
    fight_over(&request, "/spec/paint", NOW + 1);
    ck_assert_uint_eq(rung, 1);
    fight_over(&request, "/spec/size", NOW + 2);
    ck_assert_str_eq(take(NOW + 2, &changed), "");
    ck_assert(ek_results_due(o, NOW + 2) == NOW + EK_RESULTS_SOON_MS);
    news = take(NOW + EK_RESULTS_SOON_MS, &changed);
    ck_assert_msg(strstr(news, "/spec/size") && !strstr(news, "/spec/paint"), "%s", news);
    ck_assert_uint_eq(told(&p).n_fights, 2);

    /* A fight of a policy that has changed since is another one. */
    p.generation++;
    fight_over(&request, "/spec/size", NOW + EK_RESULTS_SOON_MS + 1);
    news = take(NOW + 2 * EK_RESULTS_SOON_MS, &changed);
    ck_assert_msg(strstr(news, "/spec/size") != NULL, "%s", news);
}
END_TEST

/* The hashes of one fight, whose parties set the values; "" for an absent one. */
static void hashes_of(const char *path, const char *a, const char *b, const char *ret[2])
{
    static const struct ek_admission_request secret = {
        .kind = {.group = "", .version = "v1", .kind = "Secret"}};
    const struct ek_policy *parties[] = {&p, &q};
    yyjson_doc *docs[] = {yyjson_read(a, strlen(a), 0), yyjson_read(b, strlen(b), 0)};
    yyjson_val *values[] = {yyjson_doc_get_root(docs[0]), yyjson_doc_get_root(docs[1])};
    struct ek_fight fight = {.path = path, .parties = parties, .values = values, .n = 2};
    bool changed;
    static int64_t now_ms = NOW;

    rung += ek_results_judged(
        o, &secret, &(struct ek_mutation_outcome){.allowed = true, .fights = &fight, .n_fights = 1},
        now_ms);
    const char *news = take(now_ms += EK_RESULTS_SOON_MS, &changed);
    ck_assert_ptr_nonnull(strstr(news, path));
    ck_assert_ptr_null(strstr(news, "aHVudGVyMg"));
    struct ek_policy_facts facts = told(&p);
    const struct ek_fight_seen *last = &facts.fights[facts.n_fights - 1];
    ck_assert_str_eq(last->path, path);
    for (int i = 0; i < 2; i++) {
        ret[i] = last->parties[i].value_hash;
        yyjson_doc_free(docs[i]);
    }
}

/* Who can read statuses and make policies fight over values of choice learns nothing of the value
 * in a Secret: the same value has another hash in each fight. */
START_TEST(values_are_not_told)
{
    const char *same[2], *other[2], *again[2];

    hashes_of("/data/password", "\"aHVudGVyMg==\"", "\"aHVudGVyMg==\"", same);
    hashes_of("/data/guess", "\"aHVudGVyMg==\"", "\"bm90IGl0\"", other);
    hashes_of("/data/guess2", "\"aHVudGVyMg==\"", "\"aHVudGVyMg==\"", again);
    ck_assert_uint_eq(strlen(same[0]), 8);
    ck_assert_str_eq(same[0], same[1]);
    ck_assert_str_ne(other[0], other[1]);
    ck_assert_str_ne(same[0], other[0]);
    ck_assert_str_ne(same[0], again[0]);
}
END_TEST

/* Ends of fights: what happens after a report, and whether the fight is still reported then. */
START_TEST(ends_of_fights)
{
    static const struct {
        const char *name;
        bool without_p, unbound;
        int64_t generation; /* of p, from now on */
        bool goes_on;
    } rows[] = {
        {"nothing changes", false, false, 1, true},
        {"a party is gone", true, false, 1, false},
        {"a party is not bound any more", false, true, 1, false},
        {"a party has changed", false, false, 2, false},
    };
    bool changed;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        teardown();
        setup();
        fight_over(&request, "/spec/paint", NOW);
        sync_with(true, true);
        take(NOW, &changed);
        ck_assert_uint_eq(told(&q).n_fights, 1);
        p.generation = rows[i].generation;
        sync_with(!rows[i].without_p, !rows[i].unbound);
        ck_assert_msg(told(&q).n_fights == (rows[i].goes_on ? 1 : 0), "%s", rows[i].name);
        take(NOW + EK_RESULTS_SOON_MS, &changed);
        ck_assert_msg(changed == !rows[i].goes_on, "%s", rows[i].name);
    }
}
END_TEST

/* A request that was judged by an older form of a party proves nothing about the present one. */
START_TEST(fights_of_the_past)
{
    struct ek_policy old = p;
    const struct ek_policy *parties[] = {&old, &q};
    yyjson_val *values[] = {NULL, NULL};
    struct ek_fight fight = {.path = "/a", .parties = parties, .values = values, .n = 2};
    bool changed;

    apply_once(NOW);
    p.generation = 2;
    sync_with(true, true);
    rung += ek_results_judged(
        o, &request,
        &(struct ek_mutation_outcome){.allowed = true, .fights = &fight, .n_fights = 1}, NOW);
    take(NOW, &changed);
    ck_assert_uint_eq(told(&q).n_fights, 0);
}
END_TEST

START_TEST(fights_not_seen_any_more)
{
    bool changed;

    fight_over(&request, "/a", NOW);
    take(NOW, &changed);
    fight_over(&request, "/a", NOW + 1000);
    ck_assert(ek_results_due(o, NOW + 1000) == NOW + 1000 + EK_RESULTS_FIGHT_MS);
    take(NOW + EK_RESULTS_FIGHT_MS, &changed);
    ck_assert(!changed);
    ck_assert_uint_eq(told(&p).n_fights, 1);
    take(NOW + 1000 + EK_RESULTS_FIGHT_MS, &changed);
    ck_assert(changed);
    ck_assert_uint_eq(told(&p).n_fights, 0);
    ck_assert(ek_results_due(o, NOW + 1001 + EK_RESULTS_FIGHT_MS) == EK_TIME_UNSET);
}
END_TEST

/* ---- Bounds ---- */

START_TEST(bounds)
{
    char path[2 * EK_RESULTS_TEXT_MAX];
    bool changed;

    for (int i = 0; i < 2 * EK_RESULTS_FIGHTS_MAX; i++) {
        memset(path, 'x', sizeof path - 1);
        path[i % EK_RESULTS_TEXT_MAX] = '/';
        path[sizeof path - 1] = '\0';
        fight_over(&request, path, NOW);
    }
    take(NOW, &changed);
    ck_assert_uint_eq(told(&p).n_fights, EK_RESULTS_FIGHTS_MAX);
    ck_assert_uint_eq(strlen(told(&p).fights[0].path), EK_RESULTS_TEXT_MAX);
    for (int i = 0; i < EK_RESULTS_POLICIES_MAX + 100; i++) {
        EK_AUTOFREE char *uid = ek_xasprintf("u-%d", i);
        struct ek_policy policy = {.name = "many", .uid = uid};
        struct ek_bound bound = {.policy = &policy, .binding = &binding};
        judge(&request, true, &(struct ek_step){.bound = &bound, .result = EK_STEP_APPLIED}, 1,
              NOW);
    }
    take(NOW + EK_RESULTS_COUNTS_MS, &changed);
    struct ek_policy last = {.name = "many", .uid = "u-10090"};
    ck_assert(!told(&last).counts.known);
    sync_with(true, true); /* all others are forgotten, and there is room again */
    struct ek_bound bound = {.policy = &last, .binding = &binding};
    judge(&request, true, &(struct ek_step){.bound = &bound, .result = EK_STEP_APPLIED}, 1, NOW);
    take(NOW + 2 * EK_RESULTS_COUNTS_MS, &changed);
    ck_assert_uint_eq(told(&last).counts.applied, 1);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, counting);
    tcase_add_test(t, counts_at_their_pace);
    tcase_add_test(t, denials);
    tcase_add_test(t, restless);
    tcase_add_test(t, undecided);
    tcase_add_test(t, fights);
    tcase_add_test(t, values_are_not_told);
    tcase_add_test(t, ends_of_fights);
    tcase_add_test(t, fights_of_the_past);
    tcase_add_test(t, fights_not_seen_any_more);
    tcase_add_test(t, bounds);
    return ek_test_run("results", t);
}
