/* SPDX-License-Identifier: Apache-2.0 */
/* The lock around the results of requests, and the ring. What is counted and reported:
 * test/unit/reconcilers/mutation/results_test.c. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "controller/mutation/observations.h"
#include "test/support/suite.h"

#define NOW 1763636289000

static const struct ek_policy p = {.name = "p", .uid = "u-p", .generation = 1};
static const struct ek_policy q = {.name = "q", .uid = "u-q", .generation = 1};
static const struct ek_binding binding = {.name = "b", .policy_name = "p"};
static const struct ek_bound bound = {.policy = &p, .binding = &binding, .apply = true};
static const struct ek_admission_request request = {
    .kind = {.group = "apps", .version = "v1", .kind = "Deployment"}};

static struct ek_observations *o;
static struct ek_arena *arena;
static atomic_uint rung;

static void on_rung(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&rung, 1);
}

static void setup(void)
{
    atomic_store(&rung, 0);
    o = ek_observations_new(on_rung, NULL);
    arena = ek_arena_new((size_t)64 << 20);
}

static void teardown(void)
{
    ek_observations_free(o);
    ek_arena_free(arena);
}

static void apply_once(int64_t now_ms)
{
    const struct ek_step step = {.bound = &bound, .result = EK_STEP_APPLIED};

    ek_observations_judged(
        o, &request, &(struct ek_mutation_outcome){.allowed = true, .steps = &step, .n_steps = 1},
        now_ms);
}

static void fight_over(const char *path, int64_t now_ms)
{
    const struct ek_policy *parties[] = {&p, &q};
    yyjson_doc *doc = yyjson_read("\"red\"", 5, 0);
    yyjson_val *values[] = {yyjson_doc_get_root(doc), NULL};
    struct ek_fight fight = {.path = path, .parties = parties, .values = values, .n = 2};

    ek_observations_judged(
        o, &request,
        &(struct ek_mutation_outcome){.allowed = true, .fights = &fight, .n_fights = 1}, now_ms);
    yyjson_doc_free(doc);
}

static void sync_policies(void)
{
    const struct ek_results_policy known[] = {{&q, true}, {&p, true}};

    ek_observations_sync(o, known, 2);
}

static void take(int64_t now_ms)
{
    EK_AUTO(ek_results_news) news;

    ek_observations_take(o, now_ms, &news);
}

static struct ek_policy_facts told(void)
{
    struct ek_policy_facts facts = {.policy = &p};

    ek_observations_read(o, arena, &facts);
    return facts;
}

/* Each function that notes something rings, once, until the control loop takes it over. */
START_TEST(rings)
{
    const struct ek_safety_finding finding = {.bound = &bound, .what = "was changed"};
    const struct ek_safety_outcome unsafe = {.findings = &finding, .n_findings = 1};

    sync_policies();
    ck_assert_uint_eq(rung, 0);
    ck_assert(ek_observations_due(o, NOW) == EK_TIME_UNSET);
    apply_once(NOW);
    apply_once(NOW);
    ck_assert_uint_eq(rung, 1);
    ck_assert(ek_observations_due(o, NOW) == NOW);
    ek_observations_checked(o, &request, &unsafe);
    ck_assert_uint_eq(rung, 2);
    take(NOW);
    ek_observations_undecided(o, &request, &p, "memory", false);
    ck_assert_uint_eq(rung, 3);
    take(NOW + EK_RESULTS_SOON_MS);
    fight_over("/a", NOW);
    ck_assert_uint_eq(rung, 4);
    take(NOW + 2 * EK_RESULTS_SOON_MS);
    ck_assert_uint_eq(told().n_fights, 1);
    /* A fight that has been reported ends. */
    ek_observations_sync(o, NULL, 0);
    ck_assert_uint_eq(rung, 5);
}
END_TEST

/* Keys are random: the value of a fight does not have the same hash in the next one. */
START_TEST(keys_are_random)
{
    fight_over("/a", NOW);
    fight_over("/b", NOW);
    take(NOW);
    struct ek_policy_facts facts = told();
    ck_assert_uint_eq(facts.n_fights, 2);
    ck_assert_uint_eq(strlen(facts.fights[0].parties[0].value_hash), 8);
    ck_assert_str_ne(facts.fights[0].parties[0].value_hash, facts.fights[1].parties[0].value_hash);
}
END_TEST

static void *note_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5000; i++) {
        apply_once(NOW + i);
        fight_over(i % 2 ? "/a" : "/b", NOW + i);
    }
    return NULL;
}

START_TEST(many_threads)
{
    pthread_t threads[4];

    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, note_many, NULL), 0);
    for (int i = 0; i < 200; i++) {
        take(NOW + i * EK_RESULTS_SOON_MS);
        sync_policies();
        told();
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    take(NOW + EK_RESULTS_FIGHT_MS);
    ck_assert_uint_eq(told().counts.applied, 20000);
    ck_assert_uint_eq(told().n_fights, 2);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rings);
    tcase_add_test(t, keys_are_random);
    tcase_add_test(t, many_threads);
    return ek_test_run("mutation_observations", t);
}
