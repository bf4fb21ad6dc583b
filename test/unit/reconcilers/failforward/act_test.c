/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/act.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define NOW "2026-01-01T00:00:00Z"
#define SCENE                                                                                      \
    "og; cat; sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 "  \
    "Failed gen=2 'x'"

/* The bodies are those of the recorded remedies (test/data/failforward). */
static const struct {
    enum ek_ff_act act;
    const char *target;
    enum ek_verb verb;
    const char *resource, *content;
} rows[] = {
    {EK_FF_POKE, "op", EK_PATCH, "subscriptions",
     "{\"metadata\":{\"annotations\":{\"failforward.evenkeel.dev/resolve\":\"" NOW "\"}}}"},
    {EK_FF_REOPEN, "p2", EK_PATCH_STATUS, "installplans",
     "{\"status\":{\"phase\":\"Installing\",\"message\":\"retried by failforward.evenkeel.dev "
     "at " NOW "\","
     "\"startTime\":null}}"},
    {EK_FF_SWITCH, "og0", EK_PATCH, "operatorgroups",
     "{\"spec\":{\"upgradeStrategy\":\"TechPreviewUnsafeFailForward\"},\"metadata\":{"
     "\"annotations\":{\"failforward.evenkeel.dev/switched\":\"1\"}}}"},
    {EK_FF_UNSWITCH, "og0", EK_PATCH, "operatorgroups",
     "{\"spec\":{\"upgradeStrategy\":\"Default\"},\"metadata\":{\"annotations\":{"
     "\"failforward.evenkeel.dev/switched\":null}}}"},
    {EK_FF_PIN, "v2", EK_PATCH_STATUS, "clusterserviceversions",
     "{\"status\":{\"phase\":\"Failed\",\"reason\":\"InstallComponentFailedNoRetry\",\"message\":"
     "\"" EK_FF_PIN_MESSAGE "\",\"lastUpdateTime\":\"" NOW "\",\"lastTransitionTime\":\"" NOW
     "\"}}"},
    {EK_FF_RELEASE, "v2", EK_PATCH_STATUS, "clusterserviceversions",
     "{\"status\":{\"phase\":\"Replacing\",\"reason\":\"BeingReplaced\",\"message\":"
     "\"released by failforward.evenkeel.dev to the version that replaces it\",\"lastUpdateTime\":"
     "\"" NOW "\",\"lastTransitionTime\":\"" NOW "\"}}"},
    {EK_FF_REINSTATE, "v1", EK_PATCH_STATUS, "clusterserviceversions",
     "{\"status\":{\"phase\":\"Succeeded\",\"reason\":\"InstallSucceeded\",\"message\":"
     "\"the upgrade was undone by failforward.evenkeel.dev\",\"lastUpdateTime\":\"" NOW
     "\",\"lastTransitionTime\":\"" NOW "\"}}"},
    {EK_FF_APPROVE, "p2", EK_PATCH, "installplans", "{\"spec\":{\"approved\":true}}"},
    {EK_FF_CLEAR, "op", EK_PATCH_STATUS, "subscriptions",
     "{\"status\":{\"state\":\"\",\"currentCSV\":\"v1\",\"installPlanRef\":null,\"installplan\":"
     "null}}"},
};

static void observe(const struct ek_ff_scene *scene, struct ek_ff_state *state)
{
    ek_ff_observe(&scene->world, ek_ff_scene_sub(scene, "op"), EK_FF_NOW, state);
}

static char *written(const struct ek_intent *intent)
{
    return yyjson_mut_val_write(intent->content, YYJSON_WRITE_NOFLAG, NULL);
}

START_TEST(bodies)
{
    EK_AUTO(ek_intents) intents;
    struct ek_ff_scene scene;
    struct ek_ff_state state;
    const struct ek_ff_next next = {.act = rows[_i].act, .target = rows[_i].target};

    ek_intents_init(&intents);
    ek_ff_scene_init(&scene, SCENE);
    observe(&scene, &state);
    ck_assert(ek_ff_act(&scene.world, &state, &next, EK_FF_NOW, &intents));
    ck_assert_uint_eq(intents.n, 1);
    const struct ek_intent *intent = &intents.items[0];
    ck_assert_int_eq(intent->verb, rows[_i].verb);
    ck_assert_str_eq(intent->resource.resource, rows[_i].resource);
    ck_assert_str_eq(intent->resource.namespace, "ns");
    ck_assert_str_eq(intent->resource_version, "7");
    char *content = written(intent);
    ck_assert_str_eq(content, rows[_i].content);
    free(content);
    /* an object that is gone is not written */
    const struct ek_ff_next gone = {.act = rows[_i].act, .target = "gone"};
    ck_assert(!ek_ff_act(&scene.world, &state, &gone, EK_FF_NOW, &intents));
    ck_assert_uint_eq(intents.n, 1);
    ek_ff_scene_done(&scene);
}
END_TEST

/* S1 on a plan that is complete: only the steps of the lost objects run again. Steps: the CSV, a
 * ServiceAccount, a Role, a definition. */
START_TEST(steps_run_again)
{
    static const struct {
        enum ek_ff_act act;
        const char *lost, *steps[4];
    } cases[] = {
        {EK_FF_REDO_LOST, "account", {"Created", "Unknown", "Created", "Present"}},
        {EK_FF_REDO_LOST, "rights", {"Created", "Created", "Unknown", "Present"}},
        {EK_FF_REDO_LOST, "definition=lost", {"Created", "Created", "Created", "Unknown"}},
        {EK_FF_REDO_LOST, "rights definition=lost", {"Created", "Created", "Unknown", "Unknown"}},
        {EK_FF_REDO_LOST,
         "account definition=unserved",
         {"Created", "Unknown", "Created", "Present"}},
        {EK_FF_REDO_CSV, "account", {"Unknown", "Created", "Created", "Present"}},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        EK_AUTO(ek_intents) intents;
        EK_AUTOFREE char *text = ek_xasprintf(
            "og on; cat; sub v2 v2; csv v2 Pending/RequirementsNotMet ran %s; plan p2 v2 Complete",
            cases[i].lost);
        struct ek_ff_scene scene;
        struct ek_ff_state state;
        const struct ek_ff_next next = {.act = cases[i].act, .target = "p2"};
        ek_intents_init(&intents);
        ek_ff_scene_init(&scene, text);
        observe(&scene, &state);
        ck_assert(ek_ff_act(&scene.world, &state, &next, EK_FF_NOW, &intents));
        EK_AUTOPTR(ek_obj, ek_obj_unref) *patch = ek_obj_from_mut(intents.items[0].content);
        yyjson_val *plan = ek_json_get(ek_obj_root(patch), "status", "plan", NULL);
        ck_assert_uint_eq(yyjson_arr_size(plan), 4);
        for (size_t j = 0; j < 4; j++)
            ck_assert_msg(
                !strcmp(ek_json_str(yyjson_arr_get(plan, j), "status", NULL), cases[i].steps[j]),
                "case %zu, step %zu", i, j);
        ek_ff_scene_done(&scene);
    }
}
END_TEST

/* The manifest is kept first, in an object of the subscription, and the deletion depends on it. */
START_TEST(deletion)
{
    EK_AUTO(ek_intents) intents;
    struct ek_ff_scene scene;
    struct ek_ff_state state;
    const struct ek_ff_next next = {.act = EK_FF_DELETE, .target = "v2"};

    ek_intents_init(&intents);
    ek_ff_scene_init(&scene, SCENE);
    observe(&scene, &state);
    ck_assert(ek_ff_act(&scene.world, &state, &next, EK_FF_NOW, &intents));
    ck_assert_uint_eq(intents.n, 2);
    ck_assert_int_eq(intents.items[0].verb, EK_APPLY);
    ck_assert_str_eq(intents.items[0].resource.resource, "configmaps");
    ck_assert_str_eq(intents.items[0].name, "failforward-v2-uid");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *kept = ek_obj_from_mut(intents.items[0].content);
    const char *manifest =
        ek_json_str(ek_obj_root(kept), "data", "clusterserviceversion.json", NULL);
    struct ek_err err = {0};
    struct ek_obj *csv = NULL;
    ck_assert(!ek_obj_parse(manifest, strlen(manifest), &csv, &err));
    ck_assert(ek_json_equal(ek_obj_root(csv), ek_obj_root(state.head.obj)));
    ek_obj_unref(csv);
    yyjson_val *owner =
        yyjson_arr_get(ek_json_get(ek_obj_root(kept), "metadata", "ownerReferences", NULL), 0);
    ck_assert_str_eq(ek_json_str(owner, "uid", NULL), "op-uid");
    ck_assert_int_eq(intents.items[1].verb, EK_DELETE);
    ck_assert(intents.items[1].depends);
    ck_assert_str_eq(intents.items[1].uid, "v2-uid");
    ck_assert_str_eq(intents.items[1].resource_version, "7");
    ek_ff_scene_done(&scene);
}
END_TEST

START_TEST(stand_in)
{
    EK_AUTO(ek_intents) intents;
    struct ek_ff_scene scene;
    struct ek_ff_state state;
    const struct ek_ff_next next = {.act = EK_FF_STAND_IN, .target = "v2"};

    ek_intents_init(&intents);
    ek_ff_scene_init(&scene, "og on; cat; sub v2 v1; csv v1 Succeeded ran; plan p2 v2 Failed 'x'");
    observe(&scene, &state);
    ck_assert(ek_ff_act(&scene.world, &state, &next, EK_FF_NOW, &intents));
    ck_assert_int_eq(intents.items[0].verb, EK_CREATE);
    ck_assert_str_eq(intents.items[0].name, "v2");
    char *content = written(&intents.items[0]);
    ck_assert_str_eq(
        content, "{\"metadata\":{\"annotations\":{\"operatorframework.io/properties\":\"p\","
                 "\"failforward.evenkeel.dev/stand-in\":\"true\"}},\"spec\":{\"version\":\"2.0.0\","
                 "\"replaces\":\"v1\",\"minKubeVersion\":\"99.0.0\"}}");
    free(content);
    ek_ff_scene_done(&scene);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, bodies, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, steps_run_again);
    tcase_add_test(tc, deletion);
    tcase_add_test(tc, stand_in);
    return ek_test_run("act", tc);
}
