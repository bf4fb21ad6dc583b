/* SPDX-License-Identifier: Apache-2.0 */
/* status.guard of a CompatibilityPlan, by row, against the schema of deploy/crd. */
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "reconcilers/plan/compat.h"
#include "test/support/skew_facts.h"
#include "test/support/statustest.h"
#include "test/support/suite.h"

static struct statustest schema;
static struct ek_plan_data data;
static const struct ek_plan_seen nothing = {.at_ms = EK_TEST_NOW};

static void open_all(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    statustest_load(&schema, "evenkeel.dev_compatibilityplans.yaml", "CompatibilityPlan");
}

static void close_all(void)
{
    statustest_free(&schema);
    ek_plan_data_done(&data);
}

static struct ek_plan_world *make_world(const char *script)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    EK_AUTO(ek_test_facts) facts;
    struct ek_skew_spec spec;

    ek_test_facts_init(&facts, script);
    ek_skew_spec_parse(NULL, arena, &spec);
    struct ek_plan_world *world = ek_plan_world_new(&facts.facts, &spec, &data);
    ek_arena_free(arena);
    return world;
}

#define TAKEN  "peer a 1.36.2/1.35/1.34\n"
#define BEFORE "peer a 1.35.2/1.35/1.34\n"
#define OLD    "\"since\":\"2026-11-20T00:00:00Z\""

/* spec: members besides the target 1.36. old: status.guard of before. problem: of the registration
 * that is not there; "-": it is there; NULL: no webhook is served. */
static const struct {
    const char *name, *facts, *spec, *old, *problem;
    bool absent, active;
    const char *mode, *reason, *way_back, *message; /* message: a part */
    bool since_old;
} rows[] = {
    {"off: there is no member", TAKEN, "\"guard\":\"Off\"", NULL, "-", true, false, NULL, NULL,
     NULL, NULL, false},
    {"not in the spec", TAKEN, "\"a\":1", NULL, "-", true, false, NULL, NULL, NULL, NULL, false},
    {"a step is taken, and the webhook is registered", TAKEN, "\"guard\":\"Warn\"", NULL, "-",
     false, true, "Warn", "StepTaken", "1.34",
     "writes that use what 1.34 does not know are warned of; look for what was stored before",
     false},
    {"writes are denied", TAKEN, "\"guard\":\"Deny\"", NULL, "-", false, true, "Deny", "StepTaken",
     "1.34", "writes that use what 1.34 does not know are denied", false},
    {"on since before", TAKEN, "\"guard\":\"Warn\"", "{\"active\":true," OLD "}", "-", false, true,
     "Warn", "StepTaken", "1.34", "warned of", true},
    {"off meanwhile: the time is a new one", TAKEN, "\"guard\":\"Warn\"",
     "{\"active\":false," OLD "}", "-", false, true, "Warn", "StepTaken", "1.34", "warned of",
     false},
    {"not registered yet", TAKEN, "\"guard\":\"Warn\"", NULL, "", false, false, "Warn",
     "NotRegistered", "", "the webhook is not registered yet", false},
    {"not registered, with the reason", TAKEN, "\"guard\":\"Warn\"", NULL, "no certificate", false,
     false, "Warn", "NotRegistered", "", "the webhook is not registered yet: no certificate",
     false},
    {"Evenkeel serves no webhook", TAKEN, "\"guard\":\"Warn\"", NULL, NULL, false, false, "Warn",
     "NotRegistered", "", "Evenkeel serves no webhook", false},
    {"before the first step", BEFORE, "\"guard\":\"Deny\"", NULL, "-", false, false, "Deny",
     "NoStepTaken", "", "no step is taken yet", false},
    {"confirmed", TAKEN, "\"guard\":\"Deny\",\"confirmedVersion\":\"1.36\"",
     "{\"active\":true," OLD "}", "-", false, false, "Deny", "Confirmed", "",
     "the API servers need not go back below 1.36", false},
    {"confirmed in part", "peer a 1.36.2/1.36/1.34\n",
     "\"guard\":\"Deny\",\"confirmedVersion\":\"1.35\"", NULL, "-", false, true, "Deny",
     "StepTaken", "1.35", "writes that use what 1.35 does not know are denied", false},
    {"at rest at the new version, and not confirmed", "peer a 1.36.2/1.36/1.35\n",
     "\"guard\":\"Warn\"", "{\"active\":true," OLD "}", "-", false, true, "Warn", "StepTaken",
     "1.35", "warned of", true},
    {"beyond the data", "peer a 1.35.2/1.33/1.32\n", "\"guard\":\"Deny\"", NULL, "-", false, false,
     "Deny", "BeyondData", "", "what 1.32 does not know is not in the data", false},
    {"a newer binary than the data", "peer a 1.37.0/1.36/1.35\n", "\"guard\":\"Warn\"", NULL, "-",
     false, true, "Warn", "StepTaken", "1.35",
     "what is newer than the data of Evenkeel is not seen", false},
    {"versions that are not known", "peer a ?/?/?\n", "\"guard\":\"Warn\"", NULL, "-", false, false,
     "Warn", "VersionsUnknown", "", "the versions of the API servers are not known", false},
};

static struct ek_obj *make_plan(size_t i)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"CompatibilityPlan\",\"metadata\":{"
        "\"name\":\"next\",\"uid\":\"u\",\"generation\":1},\"spec\":{\"targetVersion\":\"1.36\",%s}"
        ",\"status\":{\"guard\":%s}}",
        rows[i].spec, rows[i].old ? rows[i].old : "{}");
    struct ek_obj *obj = NULL;

    ck_assert_msg(ek_obj_parse(text, strlen(text), &obj, NULL) == 0, "%s", text);
    return obj;
}

static void check_active(const char *row, yyjson_val *guard, bool since_old)
{
    char now[EK_TIME_SIZE];
    yyjson_val *writes = yyjson_obj_get(guard, "writes");

    ek_time_format(EK_TEST_NOW, now);
    ck_assert_msg(!strcmp(ek_json_text(guard, "since"), since_old ? "2026-11-20T00:00:00Z" : now),
                  "%s: %s", row, ek_json_text(guard, "since"));
    ck_assert_uint_eq(yyjson_obj_size(writes), 3); /* clean ones are not of interest */
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(writes, "warned")), 3);
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(writes, "denied")), 5);
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(writes, "undecided")), 7);
}

START_TEST(status)
{
    const char *row = rows[_i].name, *problem = rows[_i].problem;
    const struct ek_compat_guard guarding = {
        .registered = problem && !strcmp(problem, "-"),
        .problem = problem && strcmp(problem, "-") != 0 ? problem : NULL,
        .n_of = {[EK_GUARD_CLEAN] = 9,
                 [EK_GUARD_WARNED] = 3,
                 [EK_GUARD_DENIED] = 5,
                 [EK_GUARD_UNDECIDED] = 7}};
    struct ek_plan_world *world = make_world(rows[_i].facts);
    struct ek_obj *plan = make_plan((size_t)_i);
    struct ek_compat compat;

    ek_compat_judge(plan, world, &nothing, problem ? &guarding : NULL, EK_TEST_NOW, &compat);
    yyjson_val *guard = yyjson_obj_get(ek_obj_root(compat.status), "guard");
    ck_assert_msg(!guard == rows[_i].absent, "%s", row);
    if (guard) {
        ck_assert_msg(!strcmp(ek_json_text(guard, "mode"), rows[_i].mode), "%s", row);
        ck_assert_msg(yyjson_get_bool(yyjson_obj_get(guard, "active")) == rows[_i].active, "%s: %s",
                      row, ek_json_text(guard, "reason"));
        ck_assert_msg(!strcmp(ek_json_text(guard, "reason"), rows[_i].reason), "%s: %s", row,
                      ek_json_text(guard, "reason"));
        ck_assert_msg(!strcmp(ek_json_text(guard, "wayBackTo"), rows[_i].way_back), "%s: %s", row,
                      ek_json_text(guard, "wayBackTo"));
        ck_assert_msg(strstr(ek_json_text(guard, "message"), rows[_i].message) != NULL, "%s: %s",
                      row, ek_json_text(guard, "message"));
        ck_assert_msg(!yyjson_obj_get(guard, "since") == !rows[_i].active, "%s", row);
    }
    if (rows[_i].active)
        check_active(row, guard, rows[_i].since_old);
    statustest_schema(&schema, row, yyjson_val_mut_copy(schema.doc, ek_obj_root(compat.status)));
    ek_compat_done(&compat);
    ek_obj_unref(plan);
    ek_plan_world_free(world);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("compat_guard");

    tcase_add_unchecked_fixture(tc, open_all, close_all);
    tcase_add_loop_test(tc, status, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("compat_guard", tc);
}
