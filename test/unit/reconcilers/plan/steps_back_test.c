/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the way back: rows for the steps of KEP-4330, and random clusters against all orders.
 */
#include <stdio.h>
#include <string.h>

#include "reconcilers/plan/steps.h"
#include "test/support/plan_parts.h"
#include "test/support/suite.h"

static const struct {
    const char *name, *parts;
    unsigned to, binary;          /* 0: the same */
    struct ek_skew_policy policy; /* all zero: defaults */
    enum ek_steps_outcome outcome;
    enum ek_rule rule;
    const char *want;
} rows[] = {
    {"the emulation version, then the binary", "cp 36/36/35; kcm 36; sched 36; kubelet 36", 35, 0,
     .want = "kcm-1 e35, sched-2 e35, kubelet-3 b35, cp-0 e35, kcm-1 b35, sched-2 b35, cp-0 b35"},
    {"the emulation version alone", "cp 36/36/35; kcm 36; kubelet 35", 35, 36,
     .want = "kcm-1 e35, cp-0 e35"},
    {"the binary alone", "cp 36/35/34; kcm 36/35; kubelet 35", 35, 0,
     .want = "kcm-1 b35, cp-0 b35"},
    {"two API servers, one after the other", "cp 36/36/35; cp 36/36/35; kcm 36", 35, 0,
     .want = "kcm-2 e35, cp-0 e35, cp-1 e35, kcm-2 b35, cp-0 b35, cp-1 b35"},
    {"half way back", "cp 36/36/35; cp 36/35/35; kcm 36/35", 35, 0,
     .want = "cp-0 e35, kcm-2 b35, cp-0 b35, cp-1 b35"},
    {"three minors with one binary", "cp 36/36/33; kcm 36; kubelet 33", 33, 0,
     .want = "kcm-1 e35, cp-0 e35, kcm-1 e34, cp-0 e34, kcm-1 e33, cp-0 e33, kcm-1 b33, cp-0 b33"},
    {"the minimum compatibility version follows where there is no flag", "cp 36/34/34; kcm 34", 34,
     0, .want = "cp-0 b34"},
    {"nothing to do", "cp 35/35/34; kcm 35", 35, 0, .want = ""},
    {"a kube-proxy goes with the kubelet of its nodes", "cp 36/36/33; kubelet 36; proxy 36", 33, 0,
     .want = "kubelet-1 b33, proxy-2 b33, cp-0 e35, cp-0 e34, cp-0 e33, cp-0 b33"},
    {"the minimum compatibility version was raised", "cp 36/36/36; kcm 36", 35, 0,
     .outcome = EK_STEPS_NO_WAY_BACK, .rule = EK_RULE_APISERVER_COMPATIBILITY, .want = ""},
    {"that of one API server alone", "cp 36/36/34; cp 36/36/35", 34, 0,
     .outcome = EK_STEPS_NO_WAY_BACK, .rule = EK_RULE_APISERVER_COMPATIBILITY, .want = ""},
    {"a binary that does not emulate", "cp 31/31/30; kcm 31", 30, 0,
     .outcome = EK_STEPS_NO_WAY_BACK, .want = ""},
    {"the oldest version that can be emulated", "cp 32/32/31; kcm 32", 31, 0,
     .want = "kcm-1 e31, cp-0 e31, kcm-1 b31, cp-0 b31"},
    {"no spread is allowed",
     "cp 36/36/35; cp 36/36/35",
     35,
     0,
     {0, -1, -1, 0, 1},
     EK_STEPS_IMPOSSIBLE,
     EK_RULE_APISERVER_EMULATION_SPREAD,
     ""},
    {"kubelets may not be behind",
     "cp 36/36/35; kubelet 36",
     35,
     0,
     {1, -1, 0, 0, 1},
     EK_STEPS_IMPOSSIBLE,
     EK_RULE_KUBELET_RANGE,
     ""},
    {"outside before the first step", "cp 36/36/35; kubelet 32", 35, 0, .outcome = EK_STEPS_OUTSIDE,
     .rule = EK_RULE_KUBELET_RANGE, .want = ""},
};

START_TEST(orders)
{
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n = test_parts_parse(rows[_i].parts, parts);
    struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
    struct ek_steps_goal goal = {.version = EK_MINOR(1, rows[_i].to),
                                 .back = true,
                                 .policy = rows[_i].policy.grace_ms ? &rows[_i].policy
                                                                    : &test_parts_defaults};
    struct ek_steps steps;
    EK_AUTO(ek_buf) text;

    if (rows[_i].binary)
        goal.binary = EK_MINOR(1, rows[_i].binary);
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

/* ---- Random clusters ---- */

/* The way back of one instance in one step, without regard to the rules of skew: one emulation
 * version, or an older binary that keeps it. The minimum compatibility version may be lowered by
 * its flag, which helps nobody; without the flag it follows the emulation version. */
static bool may_become(const struct ek_part *p, const struct ek_part_versions *to,
                       struct ek_minor target)
{
    unsigned bv = (unsigned)p->at.binary.minor, ev = (unsigned)p->at.emulation.minor;
    unsigned mcv = (unsigned)p->at.min_compat.minor, b = (unsigned)to->binary.minor;
    unsigned e = (unsigned)to->emulation.minor, m = (unsigned)to->min_compat.minor;
    unsigned floor = b > 34 ? b - 3 : 31, derived = e > floor || b < 32 ? e - 1 : floor;
    bool server = p->component == EK_KUBE_APISERVER;

    if (b > bv || e > ev || (b < bv && b < target.minor) || (e < ev && e < target.minor))
        return false;
    if (test_parts_is_node(p))
        return b < bv && e == b && m == mcv;
    if (e > b || e < floor || (b < bv) + (e < ev) > 1 || e + 1 < ev)
        return false;
    if (!server)
        return m == mcv && b + e < bv + ev;
    if (b < 35)
        return m == derived && b + e < bv + ev;
    return m >= floor && m <= mcv && m <= e && (b < bv) + (e < ev) + (m < mcv) == 1;
}

static bool is_back(const struct ek_part *parts, size_t n, struct ek_minor target)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].component == EK_KUBE_APISERVER &&
            (ek_minor_cmp(parts[i].at.binary, target) > 0 ||
             ek_minor_cmp(parts[i].at.emulation, target) > 0))
            return false;
    return true;
}

static const struct test_moves moves = {may_become, is_back};

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
        struct ek_part *its = &now[step->part];
        struct ek_part_versions to = step->after;
        now[n] = *its;
        if (its->component != EK_KUBE_APISERVER) /* theirs counts for nothing */
            to.min_compat = its->at.min_compat;
        ck_assert_msg(may_become(its, &to, goal->version), "step %zu is no step back: %s", i,
                      its->name);
        ck_assert(!step->lost.known);
        its->at = step->after;
        ck_assert_msg(ek_steps_within(now, n + (its->count > 1), goal->policy, &rule, &part) &&
                          ek_steps_within(now, n, goal->policy, &rule, &part),
                      "step %zu breaks %s", i, ek_rule_name(rule));
    }
    ck_assert(is_back(now, n, goal->version));
    for (size_t i = 0; i < n; i++) /* all parts, or the rules would not hold */
        ck_assert_int_le(ek_minor_cmp(now[i].at.binary, goal->version), 0);
}

/* The highest minimum compatibility version of the API servers. */
static struct ek_minor highest(const struct ek_part *parts, size_t n)
{
    struct ek_minor ret = EK_MINOR(1, 0);

    for (size_t i = 0; i < n; i++)
        if (parts[i].component == EK_KUBE_APISERVER &&
            ek_minor_cmp(parts[i].at.min_compat, ret) > 0)
            ret = parts[i].at.min_compat;
    return ret;
}

#define CLUSTERS 6000

START_TEST(random_clusters)
{
    size_t n_found = 0, n_impossible = 0, n_ended = 0;

    test_parts_seed(4330);
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct ek_part parts[TEST_PARTS_MAX];
        size_t n = test_parts_random(parts);
        struct ek_skew_policy policy = test_parts_random_policy();
        struct ek_steps_goal goal = {
            .version = EK_MINOR(1, 33 + i % 3), .back = true, .policy = &policy};
        struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
        struct ek_steps steps;
        enum ek_rule rule;
        size_t part;

        ek_steps_find(parts, n, &goal, arena, &steps);
        bool within = ek_steps_within(parts, n, &policy, &rule, &part);
        bool ended = ek_minor_cmp(highest(parts, n), goal.version) > 0;
        ck_assert_int_eq(ended, steps.outcome == EK_STEPS_NO_WAY_BACK);
        n_ended += ended;
        if (ended) {
            ck_assert_int_eq(steps.rule, EK_RULE_APISERVER_COMPATIBILITY);
        } else if (!within) {
            ck_assert_int_eq(steps.outcome, EK_STEPS_OUTSIDE);
        } else if (steps.outcome == EK_STEPS_FOUND) {
            walk(parts, n, &steps, &goal);
            n_found++;
        } else {
            ck_assert_int_eq(steps.outcome, EK_STEPS_IMPOSSIBLE);
            ck_assert_msg(!test_parts_reachable(parts, n, &goal, &moves),
                          "cluster %zu has an order", i);
            n_impossible++;
        }
        ek_arena_free(arena);
    }
    ck_assert_msg(n_found > 50 && n_impossible > 10 && n_ended > 100, "%zu, %zu, %zu", n_found,
                  n_impossible, n_ended);
}
END_TEST

/* The way up and the way back, between any two versions that can be emulated. */
START_TEST(uniform_clusters)
{
    for (unsigned from = 32; from <= 41; from++)
        for (unsigned to = 31; to <= from; to++) {
            struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
            struct ek_steps_goal goal = {
                .version = EK_MINOR(1, to), .back = true, .policy = &test_parts_defaults};
            struct ek_part parts[TEST_PARTS_MAX] = {0};
            struct ek_steps steps;
            char text[128];
            snprintf(text, sizeof text, "cp*2 %u; kcm*2 %u; sched*2 %u; kubelet*2 %u; proxy*2 %u",
                     from, from, from, from, from);
            size_t n = test_parts_parse(text, parts);
            parts[0].at.min_compat =
                ek_policy_default_min_compat(parts[0].at.binary, parts[0].at.emulation);
            ek_steps_find(parts, n, &goal, arena, &steps);
            ck_assert_msg(steps.outcome == (to + 1 >= from ? EK_STEPS_FOUND : EK_STEPS_NO_WAY_BACK),
                          "1.%u to 1.%u: outcome %d", from, to, steps.outcome);
            if (steps.outcome == EK_STEPS_FOUND)
                walk(parts, n, &steps, &goal);
            ek_arena_free(arena);
        }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("steps back");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, orders, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, random_clusters);
    tcase_add_test(tcase, uniform_clusters);
    return ek_test_run("steps back", tcase);
}
