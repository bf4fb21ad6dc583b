/* SPDX-License-Identifier: Apache-2.0 */
/* Safety: mutations held against the object that all mutators have left. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/safety.h"
#include "test/support/policies.h"
#include "test/support/suite.h"

#define W(spec) "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"spec\":{" spec "}}"

#define P(...)                                                                                     \
    {                                                                                              \
        .name = "p", .expression = __VA_ARGS__                                                     \
    }
#define RED "Object{spec: Object.spec{color: 'red'}}"

struct row {
    const char *name;
    struct ek_policy_row policy;
    const char *final; /* the object that the validating webhook sees */
    const char *want;  /* within the denial's message; NULL: allowed */
};

static const struct row rows[] = {
    {"it is as it was set", P(RED, .safety = "Exact"), W("\"color\":\"red\",\"size\":1"), NULL},
    {"another has changed it", P(RED, .safety = "Exact"), W("\"color\":\"blue\""),
     "policy 'p' with binding 'p' denied request: spec.mutations[0]: what it set has been changed "
     "(safety Exact): /spec/color: expected \"red\", found \"blue\""},
    {"another has removed it", P(RED, .safety = "Exact"), W("\"size\":1"),
     "/spec/color: expected \"red\", found nothing"},
    {"another may", P(RED, .safety = "Overwritable"), W("\"color\":\"blue\""), NULL},
    {"nobody asked", P(RED), W("\"color\":\"blue\""), NULL},
    {"another has put back what it removed",
     P("Object{spec: Object.spec{?color: optional.none()}}", .safety = "Exact"),
     W("\"color\":\"blue\""), "/spec/color: expected nothing, found \"blue\""},
    {"it does not apply to the object as it is now",
     P(RED, .safety = "Exact", .condition = "object.spec.size == 1"),
     W("\"color\":\"blue\",\"size\":2"), NULL},
    {"it applies now", P(RED, .safety = "Exact", .condition = "object.spec.size == 1"),
     W("\"color\":\"blue\",\"size\":1"), "/spec/color"},
    {"a counter cannot be Exact",
     P("Object{spec: Object.spec{size: object.spec.size + 1}}", .safety = "Exact"), W("\"size\":2"),
     "/spec/size: expected 3, found 2"},
    {"a counter may have a condition",
     P("Object{spec: Object.spec{size: object.spec.size + 1}}", .safety = "object.spec.size > 1"),
     W("\"size\":2"), NULL},
    {"a condition that is not true",
     P("Object{spec: Object.spec{size: object.spec.size + 1}}", .safety = "object.spec.size > 2"),
     W("\"size\":2"), "spec.mutations[0]: its safety condition is not true: object.spec.size > 2"},
    {"a condition may use variables",
     P(RED, .safety = "object.spec.color == variables.v", .variable = "'blue'"),
     W("\"color\":\"blue\""), NULL},
    {"a condition that fails", P(RED, .safety = "object.spec.nothing"), W(""),
     "must evaluate to bool"},
    {"a condition that ends in an error", P(RED, .safety = "object.spec.nothing == 1"), W(""),
     "its safety cannot be checked: expression 'object.spec.nothing == 1' resulted in error"},
    {"an error that is ignored", P(RED, .safety = "object.spec.nothing == 1", .ignore = true),
     W(""), NULL},
    {"a mutation that fails",
     P("Object{spec: Object.spec{color: object.spec.nothing}}", .safety = "Exact"), W(""),
     "its safety cannot be checked: expression"},
    {"a sidecar that others may tune, but not take away",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 's', image: 'x'}]}}",
       .safety = "object.spec.containers.exists(c, c.name == 's')"),
     W("\"containers\":[{\"name\":\"s\",\"image\":\"y\"}]"), NULL},
    {"the sidecar is gone",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 's', image: 'x'}]}}",
       .safety = "object.spec.containers.exists(c, c.name == 's')"),
     W("\"containers\":[]"), "its safety condition is not true"},
    {"in tree too", P(RED, .safety = "Exact", .in_tree = true), W("\"color\":\"blue\""),
     "/spec/color"},
    {"one that is only observed", P(RED, .safety = "Exact", .spec = "\"enforcement\":\"Observe\""),
     W("\"color\":\"blue\""), NULL},
};

static bool compiles(const struct ek_policy_row *row)
{
    struct ek_obj *obj = ek_policy_row_obj(row);
    const struct ek_policy *policy = ek_policy_new(obj, 0);
    bool fine = policy->n_problems == 0;

    ek_policy_unref(policy);
    ek_obj_unref(obj);
    return fine;
}

START_TEST(safety_row)
{
    const struct row *row = &rows[_i];
    struct ek_policies policies;
    struct ek_policies_run run;
    struct ek_safety_outcome outcome;

    if (row->want && !strcmp(row->want, "must evaluate to bool")) {
        ck_assert_msg(!compiles(&row->policy), "%s: compiles", row->name);
        return;
    }
    ek_policies_init(&policies, &row->policy, 1);
    ek_policies_run(&policies, row->final, false, &run);
    ck_assert_int_eq(ek_safety_check(&policies.set, &run.request, ek_policies_world(),
                                     &(struct ek_engine_options){0}, run.arena, &outcome),
                     0);
    ck_assert_msg(!outcome.pending && outcome.allowed == !row->want, "%s: %s", row->name,
                  outcome.message ? outcome.message : "allowed");
    if (row->want) {
        ck_assert_msg(strstr(outcome.message, row->want) != NULL, "%s: %s, not %s", row->name,
                      outcome.message, row->want);
        ck_assert_int_eq(outcome.code, 403);
        ck_assert_str_eq(outcome.findings[0].bound->policy->name, "p");
    }
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
}
END_TEST

/* What comes to rest is safe: the check on the engine's own result allows it. */
START_TEST(what_the_engine_leaves_is_safe)
{
    static const struct ek_policy_row policy_rows[] = {
        {.name = "a", .expression = RED, .safety = "Exact"},
        {.name = "b",
         .expression = "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
                       "Object.spec.containers{name: c.name, image: 'x'})}}",
         .safety = "Exact"},
        {.name = "c",
         .expression = "Object{spec: Object.spec{options: {?'a': optional.none(), 'b': '1'}}}",
         .safety = "Exact"},
    };
    struct ek_policies policies;
    struct ek_policies_run run, check;
    struct ek_safety_outcome outcome;

    ek_policies_init(&policies, policy_rows, EK_ARRAY_SIZE(policy_rows));
    ek_policies_run(&policies, W("\"containers\":[{\"name\":\"a\"}],\"options\":{\"a\":\"x\"}"),
                    false, &run);
    EK_AUTOFREE char *text = yyjson_write_opts(run.outcome.result, 0, &ek_json_alc, NULL, NULL);
    ek_policies_run(&policies, text, false, &check);
    ck_assert_int_eq(ek_safety_check(&policies.set, &check.request, ek_policies_world(),
                                     &(struct ek_engine_options){0}, check.arena, &outcome),
                     0);
    ck_assert_msg(outcome.allowed, "%s", outcome.message ? outcome.message : "");
    ek_policies_run_done(&check);
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
}
END_TEST

static enum ek_world_answer broken_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                             struct ek_err *err)
{
    (void)arg;
    (void)name;
    (void)ret_object;
    ek_err_set(err, EK_E_IO, "connection refused");
    return EK_WORLD_FAILED;
}

/* What cannot be looked at is not safe, unless failures are ignored. */
START_TEST(unreadable_namespace)
{
#define SELECTOR                                                                                   \
    "\"matchConstraints\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}},"                 \
    "\"resourceRules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],"    \
    "\"resources\":[\"*\"]}]}"
    static const struct {
        struct ek_policy_row policy;
        int code; /* 0: allowed */
    } cases[] = {
        {P(RED, .safety = "Exact"), 403},
        {P(RED, .safety = "Exact", .ignore = true), 0},
        {P(RED, .safety = "Exact", .spec = SELECTOR), 500},
        {P(RED, .safety = "Exact", .spec = SELECTOR, .ignore = true), 0},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_mutation_world world = *ek_policies_world();
        struct ek_policies policies;
        struct ek_policies_run run;
        struct ek_safety_outcome outcome;

        world.namespace = broken_namespace;
        ek_policies_init(&policies, &cases[i].policy, 1);
        ek_policies_run(&policies, W("\"color\":\"red\""), false, &run);
        run.request.namespace = "shop";
        ck_assert_int_eq(ek_safety_check(&policies.set, &run.request, &world,
                                         &(struct ek_engine_options){0}, run.arena, &outcome),
                         0);
        ck_assert_msg(outcome.allowed == !cases[i].code && outcome.code == cases[i].code,
                      "%zu: %d %s", i, outcome.code, outcome.message ? outcome.message : "");
        if (cases[i].code)
            ck_assert_ptr_nonnull(strstr(outcome.message, "connection refused"));
        ek_policies_run_done(&run);
        ek_policies_done(&policies);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_add_loop_test(tcase, safety_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, unreadable_namespace);
    tcase_add_test(tcase, what_the_engine_leaves_is_safe);
    return ek_test_run("safety", tcase);
}
