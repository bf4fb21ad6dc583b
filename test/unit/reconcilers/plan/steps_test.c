/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of steps: rows for the stories of KEP-4330, and random clusters against all orders. */
#include "reconcilers/plan/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/plan_parts.h"
#include "test/support/suite.h"

static const struct {
    const char *name, *parts;
    unsigned to, min_compat; /* 0: default */
    bool keep_nodes;
    struct ek_skew_policy policy; /* all zero: defaults */
    enum ek_steps_outcome outcome;
    enum ek_rule rule;
    const char *want;
} rows[] = {
    {"story 1: the smallest steps",
     "cp 35/35/34; kcm 35; sched 35; kubelet 35",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36, kcm-1 b36, sched-2 b36, cp-0 e36, kcm-1 e36, sched-2 e36, cp-0 m35!34, kubelet-3 "
     "b36"},
    {"story 1, two API servers",
     "cp 35/35/34; cp 35/35/34; kcm 35",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36, cp-1 b36, kcm-2 b36, cp-0 e36, cp-1 e36, kcm-2 e36, cp-0 m35!34, cp-1 m35"},
    {"binaries that do not emulate have no way back to end",
     "cp 29/29/28; kcm 29",
     32,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b30, kcm-1 b30, cp-0 b31, kcm-1 b31, cp-0 b32, kcm-1 b32, cp-0 e32, kcm-1 e32"},
    {"story 2: after the emulation went back",
     "cp 36/35/34; kcm 36/35",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 e36, kcm-1 e36, cp-0 m35!34"},
    {"story 3: no way back is needed",
     "cp 36/36/35; kcm 36; kubelet 36",
     36,
     36,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 m36!35"},
    {"story 3 with an old kubelet",
     "cp 36/36/35; kcm 35; kubelet 33",
     36,
     36,
     true,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "kcm-1 b36, kcm-1 e36, kubelet-2 b36, cp-0 m36!35"},
    {"skip level: three minors with one binary",
     "cp 33/33/32; kcm 33; kubelet 33",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36!32, kcm-1 b36, cp-0 e34, kcm-1 e34, cp-0 e35, kcm-1 e35, cp-0 e36, kcm-1 e36, cp-0 "
     "m34!33, cp-0 m35!34, kubelet-2 b36"},
    {"four minors need two binaries",
     "cp 32/32/31",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b35!31, cp-0 e33, cp-0 b36!32, cp-0 e34, cp-0 e35, cp-0 e36, cp-0 m34!33, cp-0 m35!34"},
    {"twenty minors",
     "cp 16/16/15; kubelet 16",
     36,
     0,
     true,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b17, cp-0 b18, kubelet-1 b18, cp-0 b19, cp-0 b20, kubelet-1 b20, cp-0 b21, cp-0 b22, "
     "kubelet-1 b22, cp-0 b23, cp-0 b24, kubelet-1 b24, cp-0 b25, cp-0 b26, kubelet-1 b26, cp-0 "
     "b27, cp-0 b28, cp-0 b29, kubelet-1 b29, cp-0 b30, cp-0 b31, cp-0 b34, cp-0 e32, kubelet-1 "
     "b32, cp-0 b35!31, cp-0 e33, cp-0 b36!32, cp-0 e34, cp-0 e35, cp-0 e36, cp-0 m34!33, "
     "kubelet-1 b36, cp-0 m35!34"},
    {"nothing to do",
     "cp 36/36/35; kcm 36; kubelet 36",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     ""},
    {"only nodes are behind",
     "cp 36/36/35; kcm 36; kubelet 33; proxy 33",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "kubelet-2 b36, proxy-3 b36"},
    {"kube-proxies follow the kubelets of their nodes",
     "cp 36/36/33; kcm 36; kubelet 32; proxy 32",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 m34!33, kubelet-2 b35, proxy-3 b36, cp-0 m35!34, kubelet-2 b36"},
    {"a kube-proxy that is too far from the kubelet of its nodes",
     "cp 36/36/33; kcm 36; kubelet 32; proxy 36",
     36,
     0,
     false,
     {0},
     EK_STEPS_OUTSIDE,
     EK_RULE_KUBE_PROXY_NODE_RANGE,
     ""},
    {"nodes stay",
     "cp 36/36/35; kcm 36; kubelet 33",
     36,
     0,
     true,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     ""},
    {"an old kubelet goes before the minimum compatibility",
     "cp 35/35/34; kubelet 32",
     36,
     0,
     true,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36, cp-0 e36, kubelet-1 b36, cp-0 m35!34"},
    {"a group of API servers",
     "cp*3 35/35/34; kcm 35",
     36,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36, kcm-1 b36, cp-0 e36, kcm-1 e36, cp-0 m35!34"},
    {"no spread is allowed",
     "cp 35/35/34; cp 35/35/34",
     36,
     0,
     false,
     {0, -1, -1, 0, 1},
     EK_STEPS_IMPOSSIBLE,
     EK_RULE_APISERVER_EMULATION_SPREAD,
     ""},
    {"no spread is allowed, a group",
     "cp*2 35/35/34",
     36,
     0,
     false,
     {0, -1, -1, 0, 1},
     EK_STEPS_IMPOSSIBLE,
     EK_RULE_APISERVER_EMULATION_SPREAD,
     ""},
    {"no spread, one API server",
     "cp 35/35/34",
     36,
     0,
     false,
     {0, -1, -1, 0, 1},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 b36, cp-0 e36, cp-0 m35!34"},
    {"kubelets may not be behind",
     "cp 35/35/34; cp 35/35/34; kubelet 35",
     36,
     0,
     false,
     {1, -1, 0, 0, 1},
     EK_STEPS_IMPOSSIBLE,
     EK_RULE_KUBELET_RANGE,
     ""},
    {"outside before the first step",
     "cp 36/36/35; kubelet 32",
     36,
     0,
     false,
     {0},
     EK_STEPS_OUTSIDE,
     EK_RULE_KUBELET_RANGE,
     ""},
    {"back is no upgrade", "cp 36/36/35", 35, 0, false, {0}, EK_STEPS_BACK, EK_RULE_NONE, ""},
    {"the next emulation version of a newer binary",
     "cp 36/33/33; kcm 36/33; kubelet 33",
     34,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     "cp-0 e34, kcm-1 e34, kubelet-2 b34"},
    {"a newer binary that emulates the target",
     "cp 36/35/34; kcm 36/35",
     35,
     0,
     false,
     {0},
     EK_STEPS_FOUND,
     EK_RULE_NONE,
     ""},
    {"no API server", "kcm 36", 36, 0, false, {0}, EK_STEPS_UNKNOWN, EK_RULE_NONE, ""},
};

static const struct ek_skew_policy *policy_of(size_t i)
{
    return rows[i].policy.grace_ms ? &rows[i].policy : &test_parts_defaults;
}

START_TEST(orders)
{
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n = test_parts_parse(rows[_i].parts, parts);
    struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
    struct ek_steps_goal goal = {.version = EK_MINOR(1, rows[_i].to),
                                 .keep_nodes = rows[_i].keep_nodes,
                                 .policy = policy_of((size_t)_i)};
    struct ek_steps steps;
    EK_AUTO(ek_buf) text;

    if (rows[_i].min_compat)
        goal.min_compat = EK_MINOR(1, rows[_i].min_compat);
    ek_steps_find(parts, n, &goal, arena, &steps);
    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    test_parts_print(parts, &steps, &text);
    ck_assert_msg(steps.outcome == rows[_i].outcome, "%s: outcome %d", rows[_i].name,
                  steps.outcome);
    ck_assert_msg(steps.rule == rows[_i].rule, "%s: rule %s", rows[_i].name,
                  ek_rule_name(steps.rule));
    ck_assert_msg(!strcmp(ek_buf_str(&text), rows[_i].want), "%s: %s", rows[_i].name,
                  ek_buf_str(&text));
    ek_arena_free(arena);
}
END_TEST

/* A state that several orders lead to counts once. These servers have 10 states. */
START_TEST(the_limit_of_states)
{
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n = test_parts_parse("cp 35/35/34; cp 35/35/34", parts);
    struct ek_skew_policy policy = test_parts_defaults;

    policy.max_apiserver_skew = 0;
    for (size_t max = 9; max <= 10; max++) {
        const struct ek_steps_goal goal = {
            .version = EK_MINOR(1, 36), .max_states = max, .policy = &policy};
        struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
        struct ek_steps steps;
        ek_steps_find(parts, n, &goal, arena, &steps);
        ck_assert_int_eq(steps.outcome, max < 10 ? EK_STEPS_TOO_LARGE : EK_STEPS_IMPOSSIBLE);
        ek_arena_free(arena);
    }
}
END_TEST

/* ---- Random clusters ---- */

/* Takes each step, instance by instance, and looks at the rules after each. */
static void walk(const struct ek_part *parts, size_t n, const struct ek_steps *steps,
                 const struct ek_steps_goal *goal)
{
    struct ek_part now[TEST_PARTS_MAX + 1];
    enum ek_rule rule;
    size_t part;

    memcpy(now, parts, n * sizeof *now);
    for (size_t i = 0; i < steps->n; i++) {
        const struct ek_upgrade_step *step = &steps->list[i];
        struct ek_part old = now[step->part];
        now[step->part].at = step->after;
        now[n] = old;
        ck_assert_msg(ek_steps_within(now, n + (old.count > 1), goal->policy, &rule, &part) &&
                          ek_steps_within(now, n, goal->policy, &rule, &part),
                      "step %zu breaks %s", i, ek_rule_name(rule));
        ck_assert_int_ge(ek_minor_cmp(step->after.binary, old.at.binary), 0);
        ck_assert_int_ge(ek_minor_cmp(step->after.emulation, old.at.emulation), 0);
        ck_assert(test_parts_is_node(&old) ||
                  step->after.emulation.minor <= old.at.emulation.minor + 1);
        ck_assert(step->after.emulation.minor + 3 >= step->after.binary.minor);
        ck_assert_int_le(ek_minor_cmp(step->after.emulation, step->after.binary), 0);
        if (step->kind == EK_UPGRADE_BINARY)
            ck_assert_int_eq(ek_minor_cmp(step->after.emulation, old.at.emulation),
                             test_parts_is_node(&old) || step->after.binary.minor <= 31
                                 ? ek_minor_cmp(step->after.binary, old.at.emulation)
                                 : 0);
        else
            ck_assert_int_eq(ek_minor_cmp(step->after.binary, old.at.binary), 0);
    }
    for (size_t i = 0; i < n; i++) {
        bool server = now[i].component == EK_KUBE_APISERVER;
        ck_assert_int_eq(ek_minor_cmp(now[i].at.binary, goal->version), 0);
        ck_assert_int_eq(ek_minor_cmp(now[i].at.emulation, goal->version), 0);
        ck_assert(!server || now[i].at.min_compat.minor + 1 >= goal->version.minor);
    }
}

/* ---- All pairs of versions ---- */

#define OLDEST_FROM 16
#define NEWEST_TO   41

/* The cluster that `evenkeel plan --from -f` assumes, between any two versions. */
START_TEST(uniform_clusters)
{
    const struct ek_skew_policy policy = test_parts_defaults;

    for (unsigned from = OLDEST_FROM; from <= NEWEST_TO; from++)
        for (unsigned to = from; to <= NEWEST_TO; to++) {
            struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
            struct ek_steps_goal goal = {.version = EK_MINOR(1, to), .policy = &policy};
            struct ek_part parts[TEST_PARTS_MAX] = {0};
            struct ek_steps steps;
            char text[128];
            snprintf(text, sizeof text, "cp*2 %u; kcm*2 %u; sched*2 %u; kubelet*2 %u; proxy*2 %u",
                     from, from, from, from, from);
            size_t n = test_parts_parse(text, parts);
            parts[0].at.min_compat =
                ek_policy_default_min_compat(parts[0].at.binary, parts[0].at.emulation);
            ek_steps_find(parts, n, &goal, arena, &steps);
            ck_assert_msg(steps.outcome == EK_STEPS_FOUND, "1.%u to 1.%u: outcome %d, rule %s",
                          from, to, steps.outcome, ek_rule_name(steps.rule));
            walk(parts, n, &steps, &goal);
            ek_arena_free(arena);
        }
}
END_TEST

/* ---- All orders ---- */

/* What one instance may become in one step, up or down. */
static bool may_become(const struct ek_part *p, const struct ek_part_versions *to,
                       struct ek_minor target)
{
    unsigned bv = (unsigned)p->at.binary.minor, ev = (unsigned)p->at.emulation.minor;
    unsigned mcv = (unsigned)p->at.min_compat.minor, b = (unsigned)to->binary.minor;
    unsigned e = (unsigned)to->emulation.minor, m = (unsigned)to->min_compat.minor;
    unsigned floor = b > 34 ? b - 3 : 31, derived = e > floor ? e - 1 : floor;
    int changes = (b != bv) + (e != ev) + (m != mcv);
    bool clamp = b > bv && e == ev && mcv + 3 < b && m + 3 == b;
    bool with_emulation = b < 35 && b == bv && e != ev;

    if (b > target.minor || b < 32 || e < 32)
        return false;
    if (test_parts_is_node(p))
        return e == b;
    if (changes == 0 || (e > ev ? e - ev : ev - e) > 1 || e < floor)
        return false;
    if (p->component != EK_KUBE_APISERVER)
        return changes == 1;
    return m >= 32 && m <= e && m >= floor && (b >= 35 || m == derived) &&
           (changes == 1 || clamp || with_emulation);
}

static bool arrived(const struct ek_part *parts, size_t n, struct ek_minor target)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].component == EK_KUBE_APISERVER &&
            (ek_minor_cmp(parts[i].at.binary, target) ||
             ek_minor_cmp(parts[i].at.emulation, target) ||
             parts[i].at.min_compat.minor + 1 != target.minor))
            return false;
    return true;
}

static const struct test_moves moves = {may_become, arrived};

#define CLUSTERS       3000
#define IMPOSSIBLE_MAX 40 /* all orders of a cluster are many */

START_TEST(random_clusters)
{
    size_t n_found = 0, n_impossible = 0, n_outside = 0;

    test_parts_seed(4330);
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct ek_part parts[TEST_PARTS_MAX];
        size_t n = test_parts_random(parts);
        struct ek_skew_policy policy = test_parts_random_policy();
        struct ek_steps_goal goal = {.version = EK_MINOR(1, 36), .policy = &policy};
        struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
        struct ek_steps steps;
        enum ek_rule rule;
        size_t part;

        ek_steps_find(parts, n, &goal, arena, &steps);
        bool within = ek_steps_within(parts, n, &policy, &rule, &part);
        ck_assert_int_eq(within, steps.outcome != EK_STEPS_OUTSIDE);
        if (steps.outcome == EK_STEPS_FOUND) {
            walk(parts, n, &steps, &goal);
            n_found++;
        } else if (within) {
            ck_assert_int_eq(steps.outcome, EK_STEPS_IMPOSSIBLE);
            if (n_impossible++ < IMPOSSIBLE_MAX)
                ck_assert_msg(!test_parts_reachable(parts, n, &goal, &moves),
                              "cluster %zu has an order", i);
        } else {
            n_outside++;
        }
        ek_arena_free(arena);
    }
    ck_assert_uint_gt(n_found, 100);
    ck_assert_uint_gt(n_impossible, 20);
    ck_assert_uint_gt(n_outside, 100);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("steps");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, orders, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, the_limit_of_states);
    tcase_add_test(tcase, uniform_clusters);
    tcase_add_test(tcase, random_clusters);
    return ek_test_run("steps", tcase);
}
