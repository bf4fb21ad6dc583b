/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every decision, over random namespaces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/act.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define SECOND INT64_C(1000)
#define OFF    "og; cat; "
#define G1                                                                                         \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p1 v1 Complete; " \
    "plan p2 v2 Failed gen=2 ago=600 'C is invalid: x'; "
#define G2                                                                                         \
    "sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Failed gen=2 ago=600 'v2 is invalid: "    \
    "x'; "

/* Words that a random namespace is made of. */
static const char *const groups[] = {"og; ", "og on; ", "og on; og; ", ""};
static const char *const catalogs[] = {"cat; ", "cat; ", "cat IDLE; ", ""};
static const char *const subs[] = {
    "sub v2 v2; ",        "sub v2 v1; ",         "sub v3 v3; ", "sub v3 v2 ref=p9; ",
    "sub v2 v2 manual; ", "sub v1 - start=v1; ", "sub - -; "};
/* A CSV that we hold. */
static const char held[] = "Failed/InstallComponentFailedNoRetry '" EK_FF_PIN_MESSAGE "'";
static const char *const phases[] = {"Pending/RequirementsNotMet",
                                     "Pending/RequirementsNotMet ran account",
                                     "Pending/RequirementsNotMet ran rights definition=lost",
                                     "Pending/NeedsReinstall ran fails=3/ComponentUnhealthy",
                                     held,
                                     "Failed/InstallComponentFailedNoRetry ran 'exceeded quota'",
                                     "Failed/InstallCheckFailed ran ago=900",
                                     "Installing/InstallWaiting ran ago=900",
                                     "Succeeded ran ago=900",
                                     "Replacing ran ago=900",
                                     "Pending elsewhere",
                                     "Pending/RequirementsNotMet converts",
                                     "Failed/X copied"};
static const struct {
    const char *phase, *rest;
} plan_ends[] = {{"Failed", "ago=900 'C is invalid: x'"},
                 {"Failed", "ago=900 'failed calling webhook'"},
                 {"Failed", "ago=900 'updated validation is too restrictive'"},
                 {"Installing", "ago=900 'is forbidden: User x'"},
                 {"Installing", "ago=900 retried=900"},
                 {"RequiresApproval", ""},
                 {"Complete", "done=900"}};
static const char *const nexts[] = {NULL, "v2", "v3", "v4"};

#define PICK(list) (list)[(unsigned)rand_r(seed) % EK_ARRAY_SIZE(list)]

static void make_text(unsigned *seed, char *text, size_t size)
{
    if (rand_r(seed) % 16 == 0) { /* many words have to meet here */
        snprintf(
            text, size,
            "og on; cat; sub v%d v2 manual; csv v1 Replacing; csv v2<v1 %s; plan p2 v2 Complete "
            "gen=2 ours; plan p3 v3 RequiresApproval gen=3 ours",
            2 + rand_r(seed) % 2, PICK(phases));
        return;
    }
    if (rand_r(seed) % 16 == 0) {
        snprintf(text, size, "%s%s", rand_r(seed) % 2 ? OFF G1 : OFF G2,
                 rand_r(seed) % 2 ? "" : "csv v0 Succeeded converts");
        return;
    }
    size_t len = (size_t)snprintf(text, size, "%s%s%s", PICK(groups), PICK(catalogs), PICK(subs));

    for (int v = 1; v <= 4; v++) {
        if (rand_r(seed) % 3)
            len += (size_t)snprintf(text + len, size - len, "csv v%d<v%d %s; ", v, v - 1,
                                    PICK(phases));
        unsigned end = (unsigned)rand_r(seed) % EK_ARRAY_SIZE(plan_ends);
        if (rand_r(seed) % 2)
            len += (size_t)snprintf(text + len, size - len, "plan p%d v%d %s gen=%d ours %s; ", v,
                                    v, plan_ends[end].phase, v, plan_ends[end].rest);
    }
}

static void make_given(unsigned *seed, struct ek_ff_given *g)
{
    static const char *const names[] = {NULL, "v1", "v2", "v3"};
    *g = (struct ek_ff_given){.from_failing = PICK(nexts),
                              .from_running = PICK(nexts),
                              .head = PICK(nexts),
                              .changed_ago = rand_r(seed) % 2 ? 60 : 0,
                              .off = rand_r(seed) % 4 == 0,
                              .observe = rand_r(seed) % 4 == 0,
                              .mode = rand_r(seed) % 2 ? EK_FF_FORCE : EK_FF_ASSIST,
                              .approve = rand_r(seed) % 2,
                              .shared = rand_r(seed) % 5 == 0,
                              .denied = rand_r(seed) % 5 == 0 ? (unsigned)rand_r(seed) & 0xfff : 0,
                              .pinned = PICK(names),
                              .switched = rand_r(seed) % 3 == 0};
}

/* Every write goes to an object of the namespace, with the identity of the object that was read. */
static void check_intents(const struct ek_ff_scene *scene, const struct ek_ff_judged *j,
                          const char *text)
{
    EK_AUTO(ek_intents) intents;
    bool kept = false;

    ek_intents_init(&intents);
    ck_assert_msg(ek_ff_act(&scene->world, &j->state, &j->next, EK_FF_NOW, &intents), "%s", text);
    ck_assert_msg((intents.n > 0) == (j->next.act != EK_FF_NO_ACT), "%s", text);
    for (size_t i = 0; i < intents.n; i++) {
        const struct ek_intent *intent = &intents.items[i];
        bool makes = intent->verb == EK_CREATE || intent->verb == EK_APPLY;
        ck_assert_str_eq(intent->resource.namespace, "ns");
        ck_assert_msg(makes || (*intent->uid && *intent->resource_version), "%s", text);
        ck_assert_msg(intent->verb != EK_DELETE || (kept && intent->depends), "%s", text);
        ck_assert_int_eq(intent->on_failure, EK_STOP);
        kept = intent->verb == EK_APPLY;
    }
}

static void check_consent(const struct ek_ff_judged *j, const char *text)
{
    const struct ek_ff_next *next = &j->next;
    bool restores = next->step == EK_FF_RESTORE;

    if (next->act == EK_FF_NO_ACT)
        return;
    ck_assert_msg(restores || j->consent.mode >= EK_FF_ASSIST, "%s", text);
    ck_assert_msg(restores || !j->consent.shared, "%s", text);
    ck_assert_msg(restores || !(j->consent.denied & (1U << next->step)), "%s", text);
    if (next->act == EK_FF_DELETE) {
        ck_assert_msg(j->consent.mode == EK_FF_FORCE && !j->state.head.may_have_run, "%s", text);
        ck_assert_msg(!j->state.head.converts && !j->state.running.converts, "%s", text);
        ck_assert_msg(j->state.alone == (next->step == EK_FF_S4), "%s", text);
        ck_assert_msg(!strcmp(next->target, j->state.head.name), "%s", text);
        ck_assert_msg(!(j->consent.denied & (1U << EK_FF_S5)), "%s", text);
    }
    ck_assert_msg(next->act != EK_FF_STAND_IN || j->consent.mode == EK_FF_FORCE, "%s", text);
    ck_assert_msg(next->act != EK_FF_UNPIN || !strcmp(next->target, j->memory.pinned), "%s", text);
    ck_assert_msg(next->act != EK_FF_UNSWITCH || j->memory.switched, "%s", text);
    ck_assert_msg(next->act != EK_FF_APPROVE || j->consent.approve, "%s", text);
    /* a release that comes too early wedges the chain */
    ck_assert_msg(next->act != EK_FF_RELEASE || !strcmp(next->target, j->state.stuck.name), "%s",
                  text);
}

/* What is done once is not done again while OLM has seen nothing of it, nor more often than
 * allowed, whatever the objects do meanwhile. */
static void check_repeats(const struct ek_ff_scene *scene, struct ek_ff_judged *j, const char *text)
{
    int64_t now_ms = EK_FF_NOW;

    for (int i = 0; i < 12; i++, now_ms += i % 2 ? SECOND : EK_FF_VERIFY_MS) {
        ek_ff_decide(&j->state, &j->finding, &j->edges, &j->consent, &j->memory, now_ms, &j->next);
        enum ek_ff_act act = j->next.act;
        if (act == EK_FF_NO_ACT)
            continue;
        bool restores = j->next.step == EK_FF_RESTORE;
        ck_assert_msg(restores || j->memory.acts[act].n < j->consent.max_retries, "%s", text);
        ck_assert_msg(restores || !j->memory.acts[act].n ||
                          now_ms - j->memory.acts[act].last_ms >= 60 * SECOND,
                      "%s", text);
        check_consent(j, text);
        check_intents(scene, j, text);
        ek_ff_note(&j->next, now_ms, &j->memory);
    }
}

/* No sequence of observations makes the plan write without consent, twice the same, or to an object
 * of another namespace. */
START_TEST(property)
{
    unsigned state = 20260101, *seed = &state, acts = 0, steps = 0;
    char text[2048];

    for (int i = 0; i < 20000; i++) {
        struct ek_ff_scene scene;
        struct ek_ff_given g;
        struct ek_ff_judged j;
        make_text(seed, text, sizeof text);
        make_given(seed, &g);
        ek_ff_scene_init(&scene, text);
        ek_ff_scene_judge(&scene, &g, &j);
        acts |= 1U << j.next.act;
        steps |= 1U << j.next.step;
        check_repeats(&scene, &j, text);
        ek_ff_scene_done(&scene);
    }
    /* every write came up */
    for (int act = EK_FF_POKE; act < EK_FF_ACT_MAX; act++)
        ck_assert_msg(acts & (1U << act), "act %d never came up", act);
    ck_assert_msg(steps & (1U << EK_FF_S4), "S4 never came up");
}
END_TEST

/* What was written for each version of the episode. */
struct counts {
    unsigned n[5][EK_FF_ACT_MAX]; /* v0 to v4 */
};

/* One observation of a sequence. */
static void check_turn(const struct ek_ff_scene *scene, struct ek_ff_judged *j, int64_t now_ms,
                       struct ek_ff_memory *memory, struct counts *counts, const char *text)
{
    ek_ff_remember(&j->state, &j->finding, now_ms, memory);
    j->memory = *memory;
    ek_ff_decide(&j->state, &j->finding, &j->edges, &j->consent, memory, now_ms, &j->next);
    if (!*memory->failing)
        *counts = (struct counts){0};
    if (j->next.act == EK_FF_NO_ACT)
        return;
    check_consent(j, text);
    check_intents(scene, j, text);
    if (*memory->failing && j->next.step != EK_FF_RESTORE) {
        unsigned *n = &counts->n[memory->failing[1] - '0'][j->next.act];
        ck_assert_msg(++*n <= j->consent.max_retries, "%s: %s: act %d", text, memory->failing,
                      j->next.act);
    }
    ek_ff_note(&j->next, now_ms, memory);
}

/* Whatever is observed in turn, no write for a version is made more often than allowed before the
 * operator is healthy. */
START_TEST(sequences)
{
    unsigned state = 20260102, *seed = &state, turns = 0;
    char text[2048];

    for (int i = 0; i < 1000; i++) {
        struct ek_ff_memory memory = {0};
        struct counts counts = {0};
        int64_t now_ms = EK_FF_NOW;
        struct ek_ff_given g;
        make_given(seed, &g);
        g.off = g.observe = false;
        for (int k = 0; k < 24; k++) {
            struct ek_ff_scene scene;
            struct ek_ff_judged j;
            make_text(seed, text, sizeof text);
            g.from_failing = PICK(nexts);
            g.from_running = PICK(nexts);
            ek_ff_scene_init(&scene, text);
            ek_ff_scene_judge(&scene, &g, &j);
            char before[EK_FF_NAME_MAX];
            memcpy(before, memory.failing, sizeof before);
            now_ms += (1 + rand_r(seed) % 600) * SECOND;
            check_turn(&scene, &j, now_ms, &memory, &counts, text);
            turns += *before && *memory.failing && strcmp(before, memory.failing) != 0;
            ek_ff_scene_done(&scene);
        }
    }
    ck_assert_uint_gt(turns, 1000); /* versions failed in turn */
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, property);
    tcase_add_test(tc, sequences);
    return ek_test_run("ladder_property", tc);
}
