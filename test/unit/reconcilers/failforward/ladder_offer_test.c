/* SPDX-License-Identifier: Apache-2.0 */
/* What OLM offers: plans that wait for approval, and versions that it offers again. */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/ladder.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define ON  "og on; cat; "
#define OFF "og; cat; "

/* Case 8: a plan waits for approval, with and without leave to approve; and a plan that is not its
 * own. The version of the plan is the current one at once; before, for a moment, it is not. */
START_TEST(manual)
{
#define OLD     "csv v1 Replacing ran; "
#define BROKEN  "csv v2<v1 Failed/InstallComponentFailedNoRetry 'x'; "
#define FREED   "csv v2<v1 Pending/RequirementsNotMet 'x'; "
#define P2      "plan p2 v2 Failed gen=2 ago=600 'C is invalid: x'; "
#define P3      "plan p3 v3 RequiresApproval gen=3 ours"
#define BEFORE  "sub v2 v2 manual; " OLD BROKEN P2
#define OFFERED "sub v3 v2 manual; "
#define IDLE    OFFERED "csv v2 Succeeded ran ago=900; "
    static const struct {
        const char *scene;
        bool approve;
        enum ek_ff_blocked blocked;
        enum ek_ff_act act;
    } cases[] = {
        {ON BEFORE P3, false, EK_FF_MANUAL_APPROVAL, 0},
        {ON BEFORE P3, true, 0, EK_FF_APPROVE},
        {ON BEFORE "plan p3 v3 RequiresApproval gen=3", true, 0, EK_FF_POKE},
        {ON BEFORE "plan p3 v4 RequiresApproval gen=3 ours", true, EK_FF_MANUAL_APPROVAL, 0},
        {ON BEFORE "plan p1 v3 RequiresApproval gen=1 ours; plan p4 v4 Complete gen=4 ours", true,
         0, EK_FF_POKE},
        {ON OFFERED OLD BROKEN P2 P3, false, EK_FF_MANUAL_APPROVAL, 0},
        {ON OFFERED OLD BROKEN P2 P3, true, 0, EK_FF_APPROVE},
        {ON OFFERED OLD FREED P2 P3, true, 0, EK_FF_APPROVE},
        {OFF OFFERED OLD FREED P2 P3, true, 0, EK_FF_SWITCH},
        {OFF OFFERED BROKEN P2 P3, true, 0, EK_FF_APPROVE},
        {ON "sub v3 v2; " OLD BROKEN P2 P3, true, 0, EK_FF_APPROVE}, /* a neighbor is Manual */
        {ON "sub v4 v2 manual; " OLD BROKEN P2 "plan p3 v4 RequiresApproval gen=3 ours", true,
         EK_FF_MANUAL_APPROVAL, 0},
        {ON IDLE P3, true, 0, EK_FF_NO_ACT},
        {ON "sub v3 v2 manual unresolved=10; csv v2 Succeeded ran ago=900; " P3, true, 0,
         EK_FF_NO_ACT},
        {ON OFFERED OLD FREED P2 "plan p3 v3 Installing gen=3 ours", true, 0, EK_FF_NO_ACT},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        const struct ek_ff_given g = {.from_failing = "v3", .approve = cases[i].approve};
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        ek_ff_scene_init(&scene, cases[i].scene);
        ek_ff_scene_judge(&scene, &g, &j);
        ck_assert_msg(j.next.blocked == cases[i].blocked, "case %zu: %s", i, j.next.why);
        ck_assert_msg(j.next.act == cases[i].act, "case %zu: %s", i, j.next.why);
        ek_ff_scene_done(&scene);
    }
}
END_TEST

/* v2 never came to exist, v1 runs on, and v3 is offered: the episode is open until v3 runs. */
START_TEST(the_version_before_is_no_recovery)
{
    static const struct {
        const char *scene, *failing;
        bool approve, recovered;
        enum ek_ff_blocked blocked;
        enum ek_ff_act act;
        int cleared; /* S5 so many seconds ago; 0: not taken */
    } cases[] = {
        {ON "sub v3 v1; csv v1 Succeeded ran made=900; " P2 P3, "v2", true, false, 0, EK_FF_APPROVE,
         0},
        {ON "sub v3 v1; csv v1 Succeeded ran made=900; " P2 P3, "v2", false, false,
         EK_FF_MANUAL_APPROVAL, 0, 0},
        {ON "sub v3 v1; csv v1 Succeeded ran made=900; " P3, "", true, false, 0, 0, 0},
        /* v2 was repaired, or replaced already: this offer is another upgrade. */
        {ON "sub v3 v2; csv v2 Succeeded ran made=900; " P3, "v2", true, true, 0, 0, 0},
        {ON "sub v3 v2b; csv v2b Succeeded ran made=60; " P3, "v2", true, true, 0, 0, 0},
        {ON "sub v1 v1; csv v1 Succeeded ran made=900; " P2, "v2", true, false, 0, 0, 5},
        {ON "sub v3 v3; csv v3 Succeeded ran made=5; " P2, "v2", true, true, 0, 0, 5},
        /* The clock of the API server is behind ours. */
        {ON "sub v3 v3; csv v3 Succeeded ran made=9; " P2, "v2", true, true, 0, 0, 5},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_memory memory = {.since_ms = EK_FF_NOW - 600000};
        const struct ek_ff_edges edges = {.known = true, .from_failing.next = "v3"};
        const struct ek_ff_consent consent = {
            .mode = EK_FF_ASSIST, .max_retries = 3, .max_hops = 5, .approve = cases[i].approve};
        struct ek_ff_scene scene;
        struct ek_ff_state state;
        struct ek_ff_finding finding;
        struct ek_ff_next next;
        snprintf(memory.failing, sizeof memory.failing, "%s", cases[i].failing);
        memory.acts[EK_FF_CLEAR].n = cases[i].cleared > 0;
        memory.acts[EK_FF_CLEAR].last_ms = EK_FF_NOW - cases[i].cleared * 1000;
        ek_ff_scene_init(&scene, cases[i].scene);
        ek_ff_observe(&scene.world, ek_ff_scene_sub(&scene, "op"), EK_FF_NOW, &state);
        ek_ff_classify(&state, EK_FF_NOW, &finding);
        ek_ff_remember(&state, &finding, EK_FF_NOW, &memory);
        ek_ff_decide(&state, &finding, &edges, &consent, &memory, EK_FF_NOW, &next);
        ck_assert_msg(memory.recovered == cases[i].recovered, "case %zu", i);
        ck_assert_msg(next.blocked == cases[i].blocked, "case %zu: %s", i, next.why);
        ck_assert_msg(next.act == cases[i].act, "case %zu: %s", i, next.why);
        ek_ff_scene_done(&scene);
    }
}
END_TEST

/* The plan of v2 failed and was deleted, S5 clears the Subscription, and OLM offers v2 again: no
 * version is approved that failed, unless the catalog has changed since. */
START_TEST(the_version_that_failed_is_offered_again)
{
#define GONE ON "sub v2 v1 manual ref=p2; csv v1 Succeeded ran made=900 ago=900"
#define AGAIN                                                                                      \
    ON "sub %s v1 manual; csv v1 Succeeded ran made=900 ago=900; plan p3 %s "                      \
       "RequiresApproval gen=3 ours"
    static const struct {
        const char *next, *offer;
        int changed_ago, approved_ago; /* seconds; 0: never */
        enum ek_ff_act act;
    } cases[] = {
        {"v2", "v2", 0, 0, EK_FF_NO_ACT},
        {"v2", "v2", 700, 0, EK_FF_NO_ACT},
        {"v2", "v2", 600, 0, EK_FF_NO_ACT}, /* in the second of the failure */
        {"v2", "v2", 60, 0, EK_FF_APPROVE},
        {"v2", "v2", 300, 200, EK_FF_NO_ACT}, /* the changed version was approved already */
        {"v2", "v2", 200, 300, EK_FF_APPROVE},
        {"v3", "v3", 0, 0, EK_FF_APPROVE},
        {"v3", "v2", 60, 0, EK_FF_NO_ACT},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_memory memory = {.failing = "v2", .since_ms = EK_FF_NOW - 600000};
        const struct ek_ff_edges edges = {
            .known = true,
            .from_failing.next = cases[i].next,
            .changed_ms = cases[i].changed_ago ? EK_FF_NOW - cases[i].changed_ago * 1000 : 0};
        const struct ek_ff_consent consent = {
            .mode = EK_FF_ASSIST, .max_retries = 3, .max_hops = 5, .approve = true};
        EK_AUTOFREE char *again = ek_xasprintf(AGAIN, cases[i].offer, cases[i].offer);
        const char *const scenes[] = {GONE, again};
        const enum ek_ff_act acts[] = {EK_FF_CLEAR, cases[i].act};
        if (cases[i].approved_ago)
            memory.acts[EK_FF_APPROVE].n = 1;
        if (cases[i].approved_ago)
            memory.acts[EK_FF_APPROVE].last_ms = EK_FF_NOW - cases[i].approved_ago * 1000;
        for (size_t k = 0; k < EK_ARRAY_SIZE(scenes); k++) {
            struct ek_ff_scene scene;
            struct ek_ff_state state;
            struct ek_ff_finding finding;
            struct ek_ff_next next;
            ek_ff_scene_init(&scene, scenes[k]);
            ek_ff_observe(&scene.world, ek_ff_scene_sub(&scene, "op"), EK_FF_NOW, &state);
            ek_ff_classify(&state, EK_FF_NOW, &finding);
            ek_ff_remember(&state, &finding, EK_FF_NOW, &memory);
            ek_ff_decide(&state, &finding, &edges, &consent, &memory, EK_FF_NOW, &next);
            ck_assert_msg(next.act == acts[k], "case %zu: %zu: %s", i, k, next.why);
            ck_assert_msg((next.blocked == EK_FF_MANUAL_APPROVAL) == !acts[k], "case %zu", i);
            ck_assert_str_eq(memory.failing, "v2");
            ek_ff_note(&next, EK_FF_NOW, &memory);
            ek_ff_scene_done(&scene);
        }
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, manual);
    tcase_add_test(tc, the_version_before_is_no_recovery);
    tcase_add_test(tc, the_version_that_failed_is_offered_again);
    return ek_test_run("ladder_offer", tc);
}
