/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says that a person must do. */
#include "reconcilers/failforward/status.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define GOOD "og; cat; sub v1 v1; csv v1 Succeeded ran ago=900"

/* What is required where the resolution fails, or does not take what follows. */
START_TEST(what_a_resolution_requires)
{
#define BLAME(name)                                                                                \
    "unresolved=60 'no operators found in package x in the catalog referenced by "                 \
    "subscription " name ", subscription " name " exists'; "
    static const struct {
        const char *scene, *words;
        struct ek_ff_given given;
    } cases[] = {
        {GOOD, "", {0}},
        {GOOD, "owns a kind", {.from_failing = "v2"}},
        {"og; cat; sub v2 v1; csv v1 Succeeded ran; plan p2 v2 RequiresApproval ours ago=60",
         "Delete the InstallPlan",
         {.from_failing = "v3"}},
        {"og; cat; neighbor; csv v1 Succeeded ran; sub v1 v1 " BLAME("other"),
         "Subscription that the message names",
         {0}},
        {"og; cat; sub - - " BLAME("op"), "Correct the package", {0}},
        {"og on; cat; csv v2 Failed/UnsupportedOperatorGroup; csv v3<v2 Succeeded ran ago=60; sub "
         "v3 "
         "v3 unresolved=30 'csv ns/v2 in phase Failed instead of Replacing'",
         "Delete the ClusterServiceVersion",
         {0}},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, 4096);
        ek_ff_scene_init(&scene, cases[i].scene);
        ek_ff_scene_judge(&scene, &cases[i].given, &j);
        ek_ff_required(&j.finding, &j.next, &text);
        ck_assert_msg(strstr(ek_buf_str(&text), cases[i].words) && !*cases[i].words == !text.len,
                      "case %zu: %s", i, ek_buf_str(&text));
        ek_ff_scene_done(&scene);
    }
}
END_TEST

START_TEST(remedies)
{
    for (int blocked = EK_FF_NOT_BLOCKED; blocked < EK_FF_BLOCKED_MAX; blocked++)
        ck_assert((*ek_ff_remedy((enum ek_ff_blocked)blocked) != '\0') ==
                  (blocked != EK_FF_NOT_BLOCKED));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("status");

    tcase_add_test(tc, what_a_resolution_requires);
    tcase_add_test(tc, remedies);
    return ek_test_run("status", tc);
}
