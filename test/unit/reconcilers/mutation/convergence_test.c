/* SPDX-License-Identifier: Apache-2.0 */
/* Several policies on one object: their order, their running until they rest, and their fights. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/order.h"
#include "reconcilers/mutation/scopes.h"
#include "test/support/policies.h"
#include "test/support/suite.h"

#define W(spec)        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"spec\":{" spec "}}"
#define R(spec)        "{\"spec\":{" spec "}}"
#define SET(field, to) "Object{spec: Object.spec{" field ": " to "}}"
#define OPTION(k, v)   "Object{spec: Object.spec{options: {'" k "': " v "}}}"

/* A policy of a row. */
#define P(name_, ...)                                                                              \
    {                                                                                              \
        .name = (name_), .expression = __VA_ARGS__                                                 \
    }

#define POLICIES_MAX 12

struct row {
    const char *name;
    struct ek_policy_row policies[POLICIES_MAX];
    const char *object, *want;
    unsigned passes;
    const char *fights; /* "path: party=value, ...;"; "" when all came to rest */
};

static const struct row rows[] = {
    {"one policy runs once",
     {P("a", SET("size", "object.spec.size + 1"))},
     W("\"size\":1"),
     R("\"size\":2"),
     1,
     ""},
    {"in tree it runs twice",
     {P("a", SET("size", "object.spec.size + 1"), .in_tree = true)},
     W("\"size\":1"),
     R("\"size\":3"),
     2,
     ""},
    {"others elsewhere do not disturb it",
     {P("a", SET("size", "object.spec.size + 1")), P("b", SET("color", "'red'"))},
     W("\"size\":1"),
     R("\"size\":2,\"color\":\"red\""),
     1,
     ""},
    {"what one reads and another writes",
     {P("a", SET("size", "has(object.spec.color) ? 2 : 1")), P("b", SET("color", "'red'"))},
     W(""),
     R("\"size\":2,\"color\":\"red\""),
     2,
     ""},
    {"Never runs once, whatever others do",
     {P("a", SET("size", "has(object.spec.color) ? 2 : 1"), .once = true),
      P("b", SET("color", "'red'"))},
     W(""),
     R("\"size\":1,\"color\":\"red\""),
     1,
     ""},
    {"a condition that comes true",
     {P("a", SET("size", "2"), .condition = "has(object.spec.color)"),
      P("b", SET("color", "'red'"))},
     W(""),
     R("\"color\":\"red\",\"size\":2"),
     2,
     ""},
    {"in tree it does not run then",
     {P("a", SET("size", "2"), .condition = "has(object.spec.color)", .in_tree = true),
      P("b", SET("color", "'red'"), .in_tree = true)},
     W(""),
     R("\"color\":\"red\""),
     2,
     ""},
    {"a chain against the order",
     {P("a", OPTION("a", "object.spec.options['b']"),
        .condition = "'b' in object.spec.?options.orValue({})"),
      P("b", OPTION("b", "object.spec.options['c']"),
        .condition = "'c' in object.spec.?options.orValue({})"),
      P("c", OPTION("c", "object.spec.options['d']"),
        .condition = "'d' in object.spec.?options.orValue({})"),
      P("d", OPTION("d", "'x'"))},
     W(""),
     R("\"options\":{\"d\":\"x\",\"c\":\"x\",\"b\":\"x\",\"a\":\"x\"}"),
     4,
     ""},
    {"two fight",
     {P("a", SET("color", "'red'")), P("b", SET("color", "'blue'"))},
     W(""),
     R("\"color\":\"blue\""),
     2,
     "/spec/color: a=\"red\", b=\"blue\";"},
    {"two do not fight when one runs once",
     {P("a", SET("color", "'red'")), P("b", SET("color", "'blue'"), .once = true)},
     W(""),
     R("\"color\":\"red\""),
     2,
     ""},
    {"three fight",
     {P("a", SET("color", "'red'")), P("b", SET("color", "'blue'")),
      P("c", SET("color", "'green'"))},
     W(""),
     R("\"color\":\"green\""),
     2,
     "/spec/color: a=\"red\", b=\"blue\", c=\"green\";"},
    {"two fight, one stands aside",
     {P("a", SET("color", "'red'")), P("b", SET("color", "'blue'")), P("c", SET("size", "1"))},
     W(""),
     R("\"color\":\"blue\",\"size\":1"),
     2,
     "/spec/color: a=\"red\", b=\"blue\";"},
    {"one adds, one removes",
     {P("a", OPTION("x", "'1'")),
      P("b", "Object{spec: Object.spec{options: {?'x': optional.none()}}}")},
     W("\"options\":{\"y\":\"2\"}"),
     R("\"options\":{\"y\":\"2\"}"),
     2,
     "/spec/options/x: a=\"1\", b=nothing;"},
    {"two count each other up",
     {P("a", SET("size", "object.spec.size + 1")), P("b", SET("size", "object.spec.size + 1"))},
     W("\"size\":0"),
     R("\"size\":6"),
     3,
     "/spec/size: a=5, b=6;"},
    {"a circle of two",
     {P("a", SET("color", "object.spec.size == 0 ? 'red' : 'blue'")),
      P("b", SET("size", "object.spec.color == 'red' ? 1 : 0"))},
     W("\"size\":0,\"color\":\"red\""),
     R("\"size\":1,\"color\":\"red\""),
     3,
     "/spec/color: a=\"red\";/spec/size: b=1;"},
    {"in tree two fight too",
     {P("a", SET("color", "'red'"), .in_tree = true),
      P("b", SET("color", "'blue'"), .in_tree = true)},
     W(""),
     R("\"color\":\"blue\""),
     2,
     "/spec/color: a=\"red\", b=\"blue\";"},
    {"one of each fights",
     {P("a", SET("color", "'red'"), .in_tree = true), P("b", SET("color", "'blue'"))},
     W(""),
     R("\"color\":\"blue\""),
     2,
     "/spec/color: a=\"red\", b=\"blue\";"},
    {"a container's image, by place",
     {P("a",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'm', image: 'x'}]}}"),
      P("b",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'm', image: 'y'}]}}")},
     W("\"containers\":[{\"name\":\"l\"},{\"name\":\"m\"}]"),
     R("\"containers\":[{\"name\":\"l\"},{\"name\":\"m\",\"image\":\"y\"}]"),
     2,
     "/spec/containers/1/image: a=\"x\", b=\"y\";"},
};

static void write_fights(const struct ek_mutation_outcome *outcome, struct ek_buf *out)
{
    for (size_t i = 0; i < outcome->n_fights; i++) {
        const struct ek_fight *fight = &outcome->fights[i];
        ek_buf_printf(out, "%s:", fight->path);
        for (size_t p = 0; p < fight->n; p++) {
            yyjson_val *v = fight->values[p];
            EK_AUTOFREE char *text =
                v ? yyjson_val_write_opts(v, 0, &ek_json_alc, NULL, NULL) : NULL;
            ek_buf_printf(out, "%s %s=%s", p ? "," : "", fight->parties[p]->name,
                          text ? text : "nothing");
        }
        ek_buf_puts(out, ";");
    }
}

START_TEST(convergence_row)
{
    const struct row *row = &rows[_i];
    struct ek_policies policies;
    struct ek_policies_run run;
    EK_AUTO(ek_buf) fights;

    ek_buf_init(&fights, 4096);
    ek_policies_init(&policies, row->policies, POLICIES_MAX);
    ek_policies_run(&policies, row->object, true, &run);
    EK_AUTOFREE char *got = ek_policies_text(&run);
    write_fights(&run.outcome, &fights);
    ck_assert_msg(strcmp(got, row->want) == 0, "%s: %s, not %s", row->name, got, row->want);
    ck_assert_msg(strcmp(ek_buf_str(&fights), row->fights) == 0, "%s: %s, not %s", row->name,
                  ek_buf_str(&fights), row->fights);
    ck_assert_msg(run.outcome.passes == row->passes, "%s: %u passes, not %u", row->name,
                  run.outcome.passes, row->passes);
    ck_assert_msg(run.outcome.converged == !*row->fights, "%s: converged", row->name);
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
}
END_TEST

/* ---- Any policies on labels ---- */

static unsigned next(unsigned *state, unsigned n)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 16) % n;
}

/* Policies that set, copy or remove options of four names. */
static void make_policy(unsigned *seed, unsigned i, struct ek_policy_row *row, char text[256],
                        char condition[128], char name[8])
{
    static const char *const keys[] = {"a", "b", "c", "d"};
    const char *key = keys[next(seed, 4)], *other = keys[next(seed, 4)];

    snprintf(name, 8, "p%u", i);
    *row = (struct ek_policy_row){.name = name, .expression = text, .once = next(seed, 6) == 0};
    switch (next(seed, 4)) {
    case 0:
        snprintf(text, 256, "Object{spec: Object.spec{options: {?'%s': optional.none()}}}", key);
        break;
    case 1:
        snprintf(text, 256,
                 "Object{spec: Object.spec{options: {?'%s': object.spec.?options['%s']}}}", key,
                 other);
        break;
    default:
        snprintf(text, 256, "Object{spec: Object.spec{options: {'%s': '%u'}}}", key, next(seed, 3));
        break;
    }
    if (next(seed, 2)) {
        snprintf(condition, 128, "%s('%s' in object.spec.?options.orValue({}))",
                 next(seed, 2) ? "!" : "", other);
        row->condition = condition;
    }
}

/* Every applied policy that may run again, run on what came out, changes nothing. */
static void check_rest(const struct ek_policies *policies, const struct ek_policies_run *run,
                       unsigned seed)
{
    EK_AUTOFREE char *object = yyjson_write_opts(run->outcome.result, 0, &ek_json_alc, NULL, NULL);

    for (size_t i = 0; i < policies->n; i++) {
        struct ek_policies one = {.set = {&policies->bound[i], 1}};
        struct ek_policies_run again;
        if (!policies->bound[i].policy->reinvoke)
            continue;
        ek_policies_run(&one, object, true, &again);
        ck_assert_msg(again.outcome.patch == NULL, "seed %u: %s is not at rest", seed,
                      policies->bound[i].policy->name);
        ek_policies_run_done(&again);
    }
}

static unsigned rested, fought;

static void try_seed(unsigned seed)
{
    struct ek_policy_row policy_rows[6];
    char texts[6][256], conditions[6][128], names[6][8];
    unsigned state = seed, n = 2 + next(&state, 5);
    struct ek_policies policies;
    struct ek_policies_run run;

    for (unsigned i = 0; i < n; i++)
        make_policy(&state, i, &policy_rows[i], texts[i], conditions[i], names[i]);
    ek_policies_init(&policies, policy_rows, n);
    ek_policies_run(&policies, W("\"options\":{\"a\":\"0\",\"b\":\"1\"}"), false, &run);
    ck_assert_uint_le(run.outcome.passes, n + 1);
    ck_assert(run.outcome.allowed);
    ck_assert_msg(run.outcome.converged == (run.outcome.n_fights == 0), "seed %u", seed);
    if (run.outcome.converged)
        check_rest(&policies, &run, seed);
    rested += run.outcome.converged;
    fought += !run.outcome.converged;
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
}

START_TEST(random_policies)
{
    for (unsigned seed = 1; seed <= 300; seed++)
        try_seed(seed);
    ck_assert_uint_gt(rested, 30);
    ck_assert_uint_gt(fought, 30);
}
END_TEST

/* ---- Order and scopes ---- */

static const struct scope_row {
    const char *name;
    struct ek_policy_row policy;
    const char *writes, *reads, *scope;
} scope_rows[] = {
    {"a field", P("p", SET("size", "1")), "spec.size", "", "spec.size"},
    {"a label", P("p", "Object{metadata: Object.metadata{labels: {'app': 'x'}}}"),
     "metadata.labels.app", "", "metadata.labels.app"},
    {"labels", P("p", "Object{metadata: Object.metadata{labels: {'a': 'x', 'b/c.d': 'y'}}}"),
     "metadata.labels.a metadata.labels[\"b/c.d\"]", "", "metadata.labels"},
    {"a computed key",
     P("p", "Object{metadata: Object.metadata{labels: {object.spec.color: 'x'}}}"),
     "metadata.labels[*]", "object.spec.color", "metadata.labels[*]"},
    {"items",
     P("p", "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
            "Object.spec.containers{name: c.name, image: 'x'})}}"),
     "spec.containers[*].image spec.containers[*].name", "object.spec.containers[*].name",
     "spec.containers[*]"},
    {"a computed list",
     P("p", "Object{spec: Object.spec{tags: object.spec.tags.filter(t, t != 'x')}}"),
     "spec.tags[*]", "object.spec.tags[*]", "spec.tags[*]"},
    {"either", P("p", "object.spec.size > 1 ? " SET("size", "1") " : " SET("color", "'red'")),
     "spec.color spec.size", "object.spec.size", "spec"},
    {"what is read besides",
     P("p", SET("size", "variables.v"), .variable = "object.spec.replicas",
       .condition = "request.name == 'w'"),
     "spec.size", "object.spec.replicas request.name", "spec.size"},
    {"what is unset", P("p", "Object{spec: Object.spec{?size: optional.none()}}"), "spec.size", "",
     "spec.size"},
    {"an item that is removed", P("p", "Object{spec: Object.spec{tags: [objects.remove('x')]}}"),
     "spec.tags[*]", "", "spec.tags[*]"},
    {"nothing", P("p", "Object{}"), "", "", ""},
    {"a JSON patch", P("p", "[JSONPatch{op: 'add', path: '/spec/tags/-', value: 'x'}]"),
     "spec.tags[*]", "", "spec.tags[*]"},
    {"a JSON patch with an escaped key",
     P("p", "[JSONPatch{op: 'test', path: '/spec/size', value: 1}, JSONPatch{op: 'add', "
            "path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: 'x'}]"),
     "metadata.labels[\"a.b/c\"]", "", "metadata.labels[\"a.b/c\"]"},
    {"a JSON patch with a computed key",
     P("p", "[JSONPatch{op: 'remove', path: '/metadata/labels/' + object.spec.color}]"),
     "metadata.labels[*]", "object.spec.color", "metadata.labels[*]"},
    {"a JSON patch that moves",
     P("p", "[JSONPatch{op: 'move', from: '/spec/color', path: '/spec/size'}]"),
     "spec.color spec.size", "", "spec"},
    {"a JSON patch of which nothing is known",
     P("p", "[JSONPatch{op: 'add', path: object.spec.color, value: 1}]"), "(all)",
     "object.spec.color", ""},
};

static void join(const char *const *list, size_t n, struct ek_buf *out)
{
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "%s%s", i ? " " : "", *list[i] ? list[i] : "(all)");
}

START_TEST(scope_row)
{
    const struct scope_row *row = &scope_rows[_i];
    struct ek_policies policies;
    EK_AUTO(ek_buf) writes;
    EK_AUTO(ek_buf) reads;

    ek_buf_init(&writes, 4096);
    ek_buf_init(&reads, 4096);
    ek_policies_init(&policies, &row->policy, 1);
    const struct ek_scopes *scopes = policies.policies[0]->scopes;
    join(scopes->writes, scopes->n_writes, &writes);
    join(scopes->reads, scopes->n_reads, &reads);
    ck_assert_msg(strcmp(ek_buf_str(&writes), row->writes) == 0, "%s: writes %s, not %s", row->name,
                  ek_buf_str(&writes), row->writes);
    ck_assert_msg(strcmp(ek_buf_str(&reads), row->reads) == 0, "%s: reads %s, not %s", row->name,
                  ek_buf_str(&reads), row->reads);
    ck_assert_msg(strcmp(scopes->scope, row->scope) == 0, "%s: scope %s, not %s", row->name,
                  scopes->scope, row->scope);
    ek_policies_done(&policies);
}
END_TEST

START_TEST(scopes_nearer_to_the_root_run_first)
{
    static const struct ek_policy_row policy_rows[] = {
        P("a", "Object{spec: Object.spec{options: {'x': '1'}}}"),
        P("b", SET("size", "1")),
        P("d", "[JSONPatch{op: 'add', path: object.spec.color, value: 1}]"),
        P("c", SET("color", "'x'")),
    };
    static const char *const want[] = {"d", "b", "c", "a"};
    struct ek_policies policies;

    ek_policies_init(&policies, policy_rows, EK_ARRAY_SIZE(policy_rows));
    ck_assert_uint_eq(policies.n, EK_ARRAY_SIZE(want));
    for (size_t i = 0; i < policies.n; i++)
        ck_assert_str_eq(policies.bound[i].policy->name, want[i]);
    ek_policies_done(&policies);
}
END_TEST

START_TEST(paths_touch)
{
    static const struct {
        const char *a, *b;
        bool want;
    } touch_rows[] = {
        {"", "spec.size", true},
        {"spec", "spec.size", true},
        {"spec.size", "spec", true},
        {"spec.size", "spec.sizes", false},
        {"spec.containers[*].image", "spec.containers[*]", true},
        {"spec.containers[*].image", "spec.containers[*].name", false},
        {"metadata.labels[*]", "metadata.labels[\"a.b/c\"]", true},
        {"metadata.labels.a", "metadata.labels[*]", true},
        {"metadata.labels[\"a.b\"]", "metadata.labels[\"a.c\"]", false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(touch_rows); i++)
        ck_assert_msg(ek_scopes_touch(touch_rows[i].a, touch_rows[i].b) == touch_rows[i].want,
                      "%s and %s", touch_rows[i].a, touch_rows[i].b);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, convergence_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, scope_row, 0, (int)EK_ARRAY_SIZE(scope_rows));
    tcase_add_test(tcase, random_policies);
    tcase_add_test(tcase, scopes_nearer_to_the_root_run_first);
    tcase_add_test(tcase, paths_touch);
    return ek_test_run("convergence", tcase);
}
