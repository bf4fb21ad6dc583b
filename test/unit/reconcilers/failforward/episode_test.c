/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an episode: what begins, continues and ends it, and what it counts. */
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/ladder.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define ON "og on; cat; "
/* v1 runs, v2 failed with its plan. */
#define G1                                                                                         \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p1 v1 Complete; " \
    "plan p2 v2 Failed gen=2 ago=600 'C is invalid: x'; "

/* An episode begins with a failure, keeps its counts through the failure, and ends with health. */
START_TEST(episodes)
{
    struct ek_ff_scene failing, healthy, other;
    struct ek_ff_memory memory = {0};
    struct ek_ff_state state;
    struct ek_ff_finding finding;
    struct ek_ff_scene *const order[] = {&failing, &failing, &other, &healthy};
    static const unsigned kept[] = {0, 1, 0, 0};

    ek_ff_scene_init(&failing, ON G1);
    ek_ff_scene_init(&other, ON "sub v3 v3; csv v3 Pending; plan p3 v3 Failed 'C is invalid: x'");
    ek_ff_scene_init(&healthy, ON "sub v3 v3; csv v3 Succeeded ran ago=900");
    for (size_t i = 0; i < EK_ARRAY_SIZE(order); i++) {
        ek_ff_observe(&order[i]->world, ek_ff_scene_sub(order[i], "op"), EK_FF_NOW, &state);
        ek_ff_classify(&state, EK_FF_NOW, &finding);
        ek_ff_remember(&state, &finding, EK_FF_NOW, &memory);
        ck_assert_uint_eq(memory.acts[EK_FF_PIN].n, kept[i]);
        ck_assert_str_eq(memory.failing, finding.failing);
        ck_assert(memory.recovered == (i == 3));
        const struct ek_ff_next pin = {
            .step = EK_FF_S3A, .act = EK_FF_PIN, .target = finding.failing};
        ek_ff_note(&pin, EK_FF_NOW, &memory);
    }
    ek_ff_scene_done(&failing);
    ek_ff_scene_done(&other);
    ek_ff_scene_done(&healthy);
}
END_TEST

/* Two versions of a chain fail in turn, because a person takes the release of one back: each has
 * the tries of one version. */
START_TEST(turns)
{
#define CHAIN(v2)                                                                                  \
    ON "sub v3 v3; csv v1 Replacing ran; csv v2<v1 " v2 "; csv v3<v2 "                             \
       "Pending/RequirementsNotMet; plan p2 v2 Failed gen=2 ago=700 'C is invalid: x'; "           \
       "plan p3 v3 Failed gen=3 ago=600 'C is invalid: x'"
    static const char *const scenes[] = {CHAIN("Pending/RequirementsNotMet"), CHAIN("Replacing")};
    struct ek_ff_memory memory = {0};
    unsigned releases = 0, holds = 0;

    for (int i = 0; i < 60; i++) {
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        const struct ek_ff_given given = {0};
        int64_t now_ms = EK_FF_NOW + i * INT64_C(150000);
        ek_ff_scene_init(&scene, scenes[i % 2]);
        ek_ff_scene_judge(&scene, &given, &j);
        j.consent.max_hops = 100;
        ek_ff_remember(&j.state, &j.finding, now_ms, &memory);
        ek_ff_decide(&j.state, &j.finding, &j.edges, &j.consent, &memory, now_ms, &j.next);
        releases += j.next.act == EK_FF_RELEASE;
        holds += j.next.act == EK_FF_PIN;
        ek_ff_note(&j.next, now_ms, &memory);
        ek_ff_scene_done(&scene);
    }
    ck_assert_uint_eq(releases, 3);
    ck_assert_uint_eq(holds, 1);
    ck_assert_uint_eq(memory.hops, 1);
}
END_TEST

/* The tries of a version are forgotten once the operator is healthy. */
START_TEST(turns_end)
{
    static const char *const scenes[] = {ON G1, CHAIN("Replacing"),
                                         ON "sub v3 v3; csv v3 Succeeded ran ago=900", ON G1};
    static const unsigned kept[] = {0, 0, 0, 0};
    struct ek_ff_memory memory = {0};

    for (size_t i = 0; i < EK_ARRAY_SIZE(scenes); i++) {
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        const struct ek_ff_given given = {0};
        ek_ff_scene_init(&scene, scenes[i]);
        ek_ff_scene_judge(&scene, &given, &j);
        ek_ff_remember(&j.state, &j.finding, EK_FF_NOW, &memory);
        ck_assert_uint_eq(memory.acts[EK_FF_PIN].n, kept[i]);
        const struct ek_ff_next pin = {.act = EK_FF_PIN, .target = "v2"};
        ek_ff_note(&pin, EK_FF_NOW, &memory);
        ek_ff_scene_done(&scene);
    }
}
END_TEST

/* Whatever came before, an operator that works after a failure has recovered; the version before
 * the one that failed is no recovery while its upgrade is not over. */
#define HELD                                                                                       \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Failed/InstallComponentFailedNoRetry; plan p2 v2 " \
    "Failed gen=2 ago=600 'C is invalid: x'; "
#define V3(v3)                                                                                     \
    ON "sub v3 v3; csv v1 Replacing ran; csv v2<v1 Replacing; csv v3<v2 " v3                       \
       "; plan p3 v3 Complete gen=3 ago=30"
#define V3_ALONE(v3) ON "sub v3 v3; csv v3<v2 " v3 "; plan p3 v3 Complete gen=3 ago=30"

START_TEST(recovers)
{
    static const struct {
        const char *scenes[8];
        bool recovered[8];
    } cases[] = {
        /* the version that fixes it comes and goes */
        {{ON G1, ON HELD, "og on; " HELD, ON HELD, V3("Pending/RequirementsNotMet"),
          V3("Installing/InstallWaiting ran ago=1"), V3("Succeeded ran ago=1"),
          V3_ALONE("Succeeded ran ago=9")},
         {false, false, false, false, false, false, true, true}},
        /* it is not healthy for a while, too */
        {{ON G1, ON HELD, V3("Installing/InstallWaiting ran ago=40"), V3("Succeeded ran ago=1"),
          V3_ALONE("Failed/ComponentUnhealthy ran ago=30"), V3_ALONE("Succeeded ran ago=9")},
         {false, false, false, true, false, true}},
        /* its CSV did not exist at first */
        {{ON "sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Failed gen=2 ago=600 'C is "
             "invalid: x'",
          ON G1, V3_ALONE("Succeeded ran ago=9")},
         {false, false, true}},
        /* a failure of no CSV begins no episode */
        {{"og on; og; cat; sub v1 v1; csv v1 Succeeded ran ago=900",
          ON "sub v1 v1; csv v1 Succeeded ran ago=900"},
         {false, false}},
    };
    const struct ek_ff_given given = {0};

    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_memory memory = {0};
        for (size_t k = 0; k < 8 && cases[i].scenes[k]; k++) {
            struct ek_ff_scene scene;
            struct ek_ff_judged j;
            ek_ff_scene_init(&scene, cases[i].scenes[k]);
            ek_ff_scene_judge(&scene, &given, &j);
            ek_ff_remember(&j.state, &j.finding, EK_FF_NOW, &memory);
            ck_assert_msg(memory.recovered == cases[i].recovered[k], "case %zu, scene %zu: %s", i,
                          k, ek_ff_class_name(j.finding.class));
            ck_assert(!memory.recovered || !*memory.failing);
            ek_ff_note(&j.next, EK_FF_NOW, &memory);
            ek_ff_scene_done(&scene);
        }
    }
}
END_TEST

/* A version that is left behind counts once for the day. */
START_TEST(hops)
{
    static const struct {
        enum ek_ff_act acts[4];
        unsigned hops;
    } cases[] = {
        {{EK_FF_POKE, EK_FF_REOPEN, EK_FF_SWITCH, EK_FF_PIN}, 0},
        {{EK_FF_PIN, EK_FF_RELEASE, EK_FF_RELEASE}, 1},
        {{EK_FF_STAND_IN, EK_FF_PIN, EK_FF_RELEASE}, 1},
        {{EK_FF_CLEAR, EK_FF_CLEAR}, 1},                   /* S5 */
        {{EK_FF_DELETE, EK_FF_REINSTATE, EK_FF_CLEAR}, 1}, /* S6 */
        {{EK_FF_DELETE, EK_FF_CLEAR}, 1},                  /* S4 */
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_memory memory = {0};
        for (size_t j = 0; j < 4 && cases[i].acts[j]; j++) {
            const struct ek_ff_next next = {.act = cases[i].acts[j], .target = "v2"};
            ek_ff_note(&next, EK_FF_NOW, &memory);
        }
        ck_assert_msg(memory.hops == cases[i].hops, "case %zu: %u", i, memory.hops);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, episodes);
    tcase_add_test(tc, turns);
    tcase_add_test(tc, turns_end);
    tcase_add_test(tc, recovers);
    tcase_add_test(tc, hops);
    return ek_test_run("episode", tc);
}
