/* SPDX-License-Identifier: Apache-2.0 */
/* Which statuses are written, and which Events follow: by row. */
#include <check.h>
#include <stdio.h>

#include "reconcilers/fieldgates/report.h"
#include "test/support/gates_kinds.h"
#include "test/support/json_text.h"
#include "test/support/suite.h"

#define NAME   "crontabs.stable.example.com"
#define NOW_MS 1760000000000
#define A      TEST_ALPHA("A", ".spec.a")

static const struct ek_webhooks_options options = TEST_WEBHOOKS;
static const struct ek_resource resource = {.resource = "customfeaturegates"};

struct scene {
    const char *gates;
    bool crd;               /* there is one */
    const char *annotation; /* of the CRD; "" for none */
    bool registered;        /* the cluster has the configurations */
    enum ek_gates_canary canary;
    uint64_t suppressed;
};

/* What the kind of a scene, with that status, makes. */
static void report(const struct scene *scene, const char *status, struct ek_intents *intents)
{
    EK_AUTOFREE char *more = status ? ek_xasprintf(", status: %s", status) : ek_xstrdup("");
    struct ek_obj *obj = test_gates(NAME, "u", 1, scene->gates, more);
    struct ek_obj *crd = scene->crd ? test_crd("crontabs", "c", "1", scene->annotation) : NULL;
    struct ek_obj *written[EK_GATES_CONFIGURATIONS] = {NULL};
    yyjson_val *live[EK_GATES_CONFIGURATIONS] = {NULL};
    const struct ek_gate_count counts[] = {{"A", scene->suppressed, 0}, {"B", 0, 0}};
    const struct ek_obj *crds[] = {crd};
    struct ek_gates_registrar registrar = {0};
    struct ek_gated_kinds kinds = {0};
    const struct ek_gates_standing standing = {
        .serving = true, .registrar = &registrar, .canary = scene->canary, .resource = &resource};

    ek_gated_kinds_update(&kinds, &obj, crds, 1);
    ek_gates_registrar_make(&registrar, &kinds, live, &options, true);
    for (size_t k = 0; scene->registered && k < EK_GATES_CONFIGURATIONS; k++) {
        written[k] = ek_obj_from_mut(registrar.contents[k]);
        live[k] = ek_obj_root(written[k]);
    }
    ek_gates_registrar_make(&registrar, &kinds, live, &options, true);
    ek_gates_plan_status(&kinds.kinds[0], &standing, &(struct ek_gates_counted){.counts = counts},
                         NOW_MS, intents);
    ek_gates_registrar_done(&registrar);
    ek_gated_kinds_done(&kinds);
    for (size_t k = 0; k < EK_GATES_CONFIGURATIONS; k++)
        ek_obj_unref(written[k]);
    ek_obj_unref(obj);
    ek_obj_unref(crd);
}

/* The status that a scene leads to, as JSON. Owned. */
static char *status_of(const struct scene *scene)
{
    struct ek_intents intents;

    ek_intents_init(&intents);
    report(scene, NULL, &intents);
    ck_assert_uint_gt(intents.n, 0);
    struct ek_obj *content = ek_obj_from_mut(intents.items[0].content);
    struct ek_obj *status = ek_obj_from_val(yyjson_obj_get(ek_obj_root(content), "status"));
    char *text = test_json_text(status, NULL);
    ek_obj_unref(status);
    ek_obj_unref(content);
    ek_intents_done(&intents);
    return text;
}

#define WELL                                                                                       \
    {                                                                                              \
        A, true, "", true, EK_CANARY_ANSWERED, 0                                                   \
    }

static const struct {
    const char *name;
    struct scene before, now;
    bool first;       /* there is no status yet */
    const char *want; /* "status" and reasons of Events */
} rows[] = {
    {"nothing changed", WELL, WELL, false, ""},
    {"the first status", WELL, WELL, true, "status Enforced"},
    {"not proven yet", WELL, {A, true, "", true, EK_CANARY_PENDING, 0}, true, "status"},
    {"proven now", {A, true, "", true, EK_CANARY_PENDING, 0}, WELL, false, "status Enforced"},
    {"a server does not reach us",
     WELL,
     {A, true, "", true, EK_CANARY_FAILED, 0},
     false,
     "status NotEnforced"},
    {"the CRD is gone",
     WELL,
     {A, false, "", true, EK_CANARY_ANSWERED, 0},
     false,
     "status NotEnforced"},
    {"counted", WELL, {A, true, "", true, EK_CANARY_ANSWERED, 5}, false, "status"},
    {"turned on",
     WELL,
     {TEST_ON("A", ".spec.a"), true, "", true, EK_CANARY_ANSWERED, 0},
     false,
     "status GateEnabled"},
    {"refused",
     WELL,
     {A "," TEST_ALPHA("B", ".spec.must"), true, "", true, EK_CANARY_ANSWERED, 0},
     false,
     "status GateRefused NotEnforced"},
    {"an annotation that differs",
     WELL,
     {A, true, "evenkeel.dev/custom-feature-gates: '{featureGates: []}'", true, EK_CANARY_ANSWERED,
      0},
     false,
     "status"},
};

START_TEST(writes_what_differs)
{
    EK_AUTOFREE char *before = rows[_i].first ? NULL : status_of(&rows[_i].before);
    struct ek_intents intents;
    char got[100] = "";

    ek_intents_init(&intents);
    report(&rows[_i].now, before, &intents);
    for (size_t i = 0; i < intents.n; i++) {
        const struct ek_intent *intent = &intents.items[i];
        bool is_event = intent->verb == EK_EVENT;
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s%s", i ? " " : "",
                 is_event ? intent->event.reason : "status");
        ck_assert_msg(intent->depends == is_event, "%s: %zu", rows[_i].name, i);
        ck_assert_str_eq(is_event ? intent->event.regarding.name : intent->name, NAME);
        if (is_event)
            ck_assert_str_eq(intent->event.regarding.resource_version, "7");
        else
            ck_assert_int_eq(intent->tag, EK_GATES_TAG_STATUS);
    }
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: %s", rows[_i].name, got);
    ek_intents_done(&intents);
}
END_TEST

START_TEST(shows_what_was_counted)
{
    const struct scene scene = {A, true, "", true, EK_CANARY_ANSWERED, 5};
    EK_AUTOFREE char *text = status_of(&scene);

    ck_assert_msg(strstr(text, "\"suppressed\":5") != NULL, "%s", text);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, writes_what_differs, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, shows_what_was_counted);
    return ek_test_run("gates report", tc);
}
