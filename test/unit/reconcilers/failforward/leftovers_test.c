/* SPDX-License-Identifier: Apache-2.0 */
/* What Subscriptions that are gone have left. */
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/report.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

/* An object; NULL without words. */
static struct ek_obj *parse(const char *format, const char *words)
{
    struct ek_obj *obj = NULL;

    if (!words)
        return NULL;
    EK_AUTOFREE char *json = ek_xasprintf(format, words);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &obj, NULL), 0);
    return obj;
}

/* What is taken back of a Subscription that is gone. The operator group is of generation 3. */
START_TEST(leftovers)
{
#define HOLD "Failed/InstallComponentFailedNoRetry '" EK_FF_PIN_MESSAGE "'; "
#define OURS "csv v1 Replacing ran; csv v2<v1 " HOLD
#define CSV  "clusterserviceversions/v2"
#define OG   "operatorgroups/og0"
    static const struct {
        const char *name, *scene, *mode, *episode, *wants;
    } cases[] = {
        {"both", "og on mark=3; " OURS, NULL, NULL, CSV " " OG},
        {"a mode that acts, for no Subscription", "og on mark=3; " OURS, "Assist", NULL,
         CSV " " OG},
        {"another Subscription consents", "og on mark=3; sub - -; " OURS, "Assist", "", CSV},
        {"another Subscription is observed", "og on mark=3; sub - -; " OURS, "Observe", "",
         CSV " " OG},
        {"it is remembered", "og on mark=3; sub v2 v2; " OURS, NULL,
         "\"held\":\"v2\",\"switched\":true", ""},
        {"the hold is remembered", "og on mark=3; sub v2 v2; " OURS, NULL, "\"held\":\"v2\"", OG},
        {"another hold is remembered", "og; sub v2 v2; " OURS, NULL, "\"held\":\"v1\"", CSV},
        {"a person changed the operator group since", "og on mark=2; ", NULL, NULL, ""},
        {"a person switched it on", "og on; ", NULL, NULL, ""},
        {"a person switched it off", "og mark=3; ", NULL, NULL, ""},
        {"a person holds the version",
         "og on; csv v2 Failed/InstallComponentFailedNoRetry 'by hand'", NULL, NULL, ""},
        {"a copy", "og; csv v2 Failed/X copied '" EK_FF_PIN_MESSAGE "'", NULL, NULL, ""},
        {"released", "og; csv v2 Replacing '" EK_FF_PIN_MESSAGE "'", NULL, NULL, ""},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_scene scene;
        EK_AUTO(ek_intents) intents;
        EK_AUTO(ek_buf) words;
        struct ek_obj *policy = parse(
            "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"%s\"}}", cases[i].mode);
        struct ek_obj *report = parse("{\"kind\":\"FailForwardStatus\",\"metadata\":{\"namespace\":"
                                      "\"ns\",\"name\":\"op\"},\"status\":{\"episode\":{%s}}}",
                                      cases[i].episode);
        const struct ek_ff_rules rules = {.policies = {&policy, policy ? 1 : 0}};
        const struct ek_ff_inputs inputs = {.world = &scene.world,
                                            .rules = &rules,
                                            .reports = {&report, report ? 1 : 0},
                                            .now_ms = EK_FF_NOW};
        ek_intents_init(&intents);
        ek_buf_init(&words, 4096);
        ek_ff_scene_init(&scene, cases[i].scene);
        ck_assert_uint_eq(ek_ff_plan_leftovers(&inputs, &intents), intents.n);
        for (size_t k = 0; k < intents.n; k++) {
            const struct ek_intent *intent = &intents.items[k];
            ck_assert(intent->verb == EK_PATCH || intent->verb == EK_PATCH_STATUS);
            ck_assert(*intent->uid && *intent->resource_version);
            ck_assert_int_eq(intent->on_failure, EK_GO_ON);
            ck_assert_int_eq(ek_ff_tag_kind(intent->tag), EK_FF_TAG_LEFTOVER);
            ek_buf_printf(&words, "%s%s/%s", k ? " " : "", intent->resource.resource, intent->name);
        }
        ck_assert_msg(!strcmp(ek_buf_str(&words), cases[i].wants), "%s: %s", cases[i].name,
                      ek_buf_str(&words));
        ek_ff_scene_done(&scene);
        ek_obj_unref(policy);
        ek_obj_unref(report);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, leftovers);
    return ek_test_run("leftovers", tc);
}
