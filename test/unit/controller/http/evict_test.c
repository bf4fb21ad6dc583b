/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes room, and what fits into a budget. */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "controller/http/budget.h"
#include "controller/http/evict.h"
#include "test/support/suite.h"

#define NOW 100000

#define OWED EK_HTTP_OWED
#define IDLE EK_HTTP_IDLE
#define BUSY EK_HTTP_BUSY
#define DONE EK_HTTP_ENDING

#define AGAIN (EK_HTTP_BUSY + 1)

static const struct {
    const char *name;
    struct {
        int progress; /* AGAIN: OWED, where something was answered before */
        int64_t age_ms;
        size_t bytes;
        unsigned source; /* 0 ends the list */
    } candidates[8];
    bool bytes, spare;
    unsigned only;
    int chosen; /* -1: none */
} choice_rows[] = {
    {"nobody", {{0}}, false, false, 0, -1},
    {"requests under way are never given up", {{BUSY, 9000, 9, 1}}, false, false, 0, -1},
    {"who has been answered goes first",
     {{OWED, 9000, 9, 1}, {IDLE, 9000, 9, 1}, {DONE, 1, 9, 1}},
     false,
     false,
     0,
     2},
    {"slowloris goes before those kept alive",
     {{IDLE, 80000, 9, 1}, {OWED, 1001, 9, 1}},
     false,
     false,
     0,
     1},
    {"who has never been answered before those kept alive: a flood displaces its own",
     {{IDLE, 80000, 9, 1}, {OWED, 2, 9, 1}, {OWED, 1, 9, 1}},
     false,
     false,
     0,
     1},
    {"those kept alive before who has begun another request",
     {{AGAIN, 1000, 9, 1}, {IDLE, 1, 9, 1}},
     false,
     false,
     0,
     1},
    {"the source with most places gives, though another has a new one",
     {{OWED, 9, 9, 1}, {IDLE, 10, 9, 2}, {IDLE, 20, 9, 2}},
     false,
     false,
     0,
     2},
    {"at last who has just begun, the oldest",
     {{OWED, 10, 9, 1}, {OWED, 20, 9, 1}, {BUSY, 9000, 9, 1}},
     false,
     false,
     0,
     1},
    {"the oldest",
     {{OWED, 2000, 9, 1}, {OWED, 4000, 9, 1}, {OWED, 3000, 9, 1}},
     false,
     false,
     0,
     1},
    {"equally old: the first in the table", {{IDLE, 5, 9, 1}, {IDLE, 5, 9, 1}}, false, false, 0, 0},
    {"the source with most places gives, though another waits longer",
     {{OWED, 9000, 9, 1}, {OWED, 2000, 9, 2}, {OWED, 3000, 9, 2}},
     false,
     false,
     0,
     2},
    {"places of the class count only",
     {{BUSY, 9, 9, 1}, {BUSY, 9, 9, 1}, {OWED, 2000, 9, 1}, {OWED, 3000, 9, 2}},
     false,
     false,
     0,
     3},
    {"bytes: the source that holds most",
     {{OWED, 9000, 10, 1}, {OWED, 8000, 10, 1}, {OWED, 2000, 30, 2}},
     true,
     false,
     0,
     2},
    {"bytes: who has none is of no use", {{OWED, 9000, 0, 1}, {IDLE, 1, 0, 1}}, true, false, 0, -1},
    {"bytes for a large one: at the cost of the slow only",
     {{OWED, 1000, 9, 1}, {IDLE, 9000, 9, 1}},
     true,
     true,
     0,
     -1},
    {"bytes for a large one", {{OWED, 1000, 9, 1}, {OWED, 1001, 9, 1}}, true, true, 0, 1},
    {"of one source only",
     {{OWED, 9000, 9, 1}, {OWED, 8000, 9, 1}, {IDLE, 1, 9, 2}},
     false,
     false,
     2,
     2},
    {"of one source that has none", {{OWED, 9000, 9, 1}}, false, false, 2, -1},
};

START_TEST(choices)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(choice_rows); i++) {
        struct ek_http_candidate table[8] = {0};
        int owners[8];
        size_t n = 0;
        struct ek_http_source only = {.rest = choice_rows[i].only};
        for (; choice_rows[i].candidates[n].source; n++) {
            int progress = choice_rows[i].candidates[n].progress;
            table[n] = (struct ek_http_candidate){
                .owner = &owners[n],
                .progress = progress == AGAIN ? OWED : (enum ek_http_progress)progress,
                .since_ms = NOW - choice_rows[i].candidates[n].age_ms,
                .bytes = choice_rows[i].candidates[n].bytes,
                .source = {.rest = choice_rows[i].candidates[n].source},
                .served = progress == AGAIN || progress == IDLE,
            };
        }
        const struct ek_http_want want = {.now_ms = NOW,
                                          .bytes = choice_rows[i].bytes,
                                          .spare = choice_rows[i].spare,
                                          .only = choice_rows[i].only ? &only : NULL};
        int *chosen = ek_http_evict_choose(table, n, &want);
        ck_assert_msg((chosen ? (int)(chosen - owners) : -1) == choice_rows[i].chosen, "%s: %d",
                      choice_rows[i].name, chosen ? (int)(chosen - owners) : -1);
    }
}
END_TEST

static struct ek_http_source source_of(const char *text)
{
    struct sockaddr_storage addr = {.ss_family = AF_INET6};

    if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&addr)->sin6_addr) != 1) {
        addr.ss_family = AF_INET;
        ck_assert_int_eq(inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr), 1);
    }
    return ek_http_source_of(&addr);
}

START_TEST(sources)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
        {"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
        {"::1", "10.0.0.1", false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_http_source a = source_of(rows[i].a), b = source_of(rows[i].b);
        ck_assert_msg(ek_http_source_is(&a, &b) == rows[i].same, "%s %s", rows[i].a, rows[i].b);
    }
}
END_TEST

START_TEST(greed)
{
    static const struct {
        size_t n_source, n, max;
        bool greedy;
    } rows[] = {
        {100, 100, 256, false}, /* far from full: one source may have all */
        {191, 191, 256, false}, {192, 192, 256, true},
        {128, 192, 256, false}, /* half of the places is its share */
        {129, 192, 256, true},  {10, 250, 256, false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        ck_assert_msg(ek_http_source_is_greedy(rows[i].n_source, rows[i].n, rows[i].max) ==
                          rows[i].greedy,
                      "%zu", i);
}
END_TEST

START_TEST(budgets)
{
    struct ek_http_budget budget;
    const size_t mib = (size_t)1 << 20;

    ek_http_budget_init(&budget, 8 * mib);
    ck_assert(ek_http_budget_take(&budget, 6 * mib, 6 * mib));
    ck_assert(!ek_http_budget_take(&budget, 1, 6 * mib)); /* the rest is for small ones */
    ck_assert(ek_http_budget_take(&budget, 2 * mib, EK_HTTP_SMALL));
    ck_assert(!ek_http_budget_take(&budget, 1, 1));
    ek_http_budget_force(&budget, 10);
    ck_assert(!ek_http_budget_take(&budget, 1, 1));
    ck_assert_uint_eq(ek_http_budget_used(&budget), 8 * mib + 10);
    ek_http_budget_give(&budget, 8 * mib + 10);
    ck_assert_uint_eq(ek_http_budget_used(&budget), 0);
    ck_assert_uint_eq(ek_http_budget_peak(&budget), 8 * mib + 10);
    ck_assert(ek_http_budget_could(&budget, 6 * mib, 6 * mib));
    ck_assert(!ek_http_budget_could(&budget, 6 * mib + 1, 6 * mib));
    ek_http_budget_init(&budget, 0); /* counts only */
    ck_assert(ek_http_budget_take(&budget, 100 * mib, 100 * mib));
    ck_assert_uint_eq(ek_http_budget_used(&budget), 100 * mib);
    ck_assert(ek_http_budget_take(NULL, 1, 1));
    ek_http_budget_give(NULL, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_evict");

    tcase_add_test(tc, choices);
    tcase_add_test(tc, sources);
    tcase_add_test(tc, greed);
    tcase_add_test(tc, budgets);
    return ek_test_run("http_evict", tc);
}
