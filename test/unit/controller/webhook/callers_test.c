/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are taken for API servers'. */
#include <check.h>

#include "api/base/mem.h"
#include "controller/webhook/callers.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

static const struct {
    const char *prefix, *remote;
    bool is_in;
} rows[] = {
    {"10.0.0.1", "10.0.0.1:40000", true},
    {"10.0.0.1:6443", "10.0.0.1:40000", true},
    {"10.0.0.1", "10.0.0.10:40000", false},
    {"10.0.0.1", "[::ffff:10.0.0.1]:40000", true},
    {"::ffff:10.0.0.1", "10.0.0.1:40000", true},
    {"10.0.0.0/8", "10.255.0.1:1", true},
    {"10.0.0.0/8", "[::ffff:10.255.0.1]:1", true},
    {"10.0.0.0/8", "11.0.0.1:1", false},
    {"10.0.0.0/15", "10.1.2.3:1", true},
    {"10.0.0.0/15", "10.2.0.0:1", false},
    {"0.0.0.0/0", "192.0.2.1:1", true},
    {"0.0.0.0/0", "[2001:db8::1]:1", false},
    {"::/0", "192.0.2.1:1", true},
    {"fd00::/8", "[fd12::1]:1", true},
    {"fd00::/8", "[fe00::1]:1", false},
    {"[fd00::1]:6443", "[fd00::1]:1", true},
    {"fd00::1", "[fd00::1]:1", true},
    {"10.0.0.1", "", false},
    {"0.0.0.0/0", "10.0.0.1.evil:1", false},
    {"::/0", "[::1", false},
};

START_TEST(addresses)
{
    struct ek_webhook_callers *callers = ek_webhook_callers_new();

    ck_assert_int_eq(ek_webhook_callers_add(callers, rows[_i].prefix), 0);
    ck_assert_msg(ek_webhook_callers_has(callers, rows[_i].remote) == rows[_i].is_in, "%s %s",
                  rows[_i].prefix, rows[_i].remote);
    ek_webhook_callers_unref(callers);
}
END_TEST

START_TEST(not_addresses)
{
    static const char *const wrong[] = {
        "",           "localhost",   "10.0.0",       "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/-1",
        "fd00::/129", "10.0.0.0/8x", "10.0.0.0/8/8", "[fd00::1",    "/8",        "10.0.0.1 ",
    };
    struct ek_webhook_callers *callers = ek_webhook_callers_new();

    for (size_t i = 0; i < EK_ARRAY_SIZE(wrong); i++)
        ck_assert_msg(ek_webhook_callers_add(callers, wrong[i]) == EK_E_INVAL, "%s", wrong[i]);
    for (int i = 0; i < EK_WEBHOOK_CALLERS_MAX; i++)
        ck_assert_int_eq(ek_webhook_callers_add(callers, "10.0.0.1"), 0);
    ck_assert_int_eq(ek_webhook_callers_add(callers, "10.0.0.1"), EK_E_LIMIT);
    ek_webhook_callers_unref(callers);
}
END_TEST

/* What a flag gives on a control plane of a slice, a spec, a Pod and a Lease. */
static const struct {
    const char *flag, *remote;
    bool is_in;
} flags[] = {
    {"apiservers", "10.0.0.11:1", true},  /* the EndpointSlice's */
    {"apiservers", "10.0.0.13:1", false}, /* a Pod's, which its kubelet has written */
    {"apiservers", "10.0.0.14:1", false}, /* a Lease's */
    {"apiservers", "10.0.0.99:1", false}, /* nobody's */
    {"apiservers", "127.0.0.1:1", true},  /* our own */
    {"10.0.0.0/28", "10.0.0.11:1", true},
    {"10.0.0.0/28", "10.0.0.99:1", false},
    {"192.0.2.0/24", "127.0.0.1:1", false},
    {"192.0.2.0/24,apiservers", "10.0.0.11:1", true},
    {"192.0.2.0/24,apiservers", "192.0.2.7:1", true},
};

START_TEST(control_plane)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_webhook_caller_rules rules;
    struct ek_err err;

    ek_view_fixture_script(fx, "slice 10.0.0.11\n"
                               "pod kube-apiserver cp-c ip=10.0.0.13\n"
                               "lease cp-d claim=10.0.0.14:6443\n");
    ck_assert_int_eq(ek_webhook_caller_rules_parse(flags[_i].flag, &rules, &err), 0);
    struct ek_arena *arena = ek_arena_new((size_t)64 << 20);
    struct ek_skew_plan plan;
    ek_skew_plan_make(ek_view_fixture_view(fx), arena, &plan);
    struct ek_webhook_callers *callers = ek_webhook_callers_make(&rules, plan.peers);
    struct ek_webhook_callers *again = ek_webhook_callers_make(&rules, plan.peers);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
    ck_assert_msg(ek_webhook_callers_has(callers, flags[_i].remote) == flags[_i].is_in, "%s %s",
                  flags[_i].flag, flags[_i].remote);
    ck_assert(ek_webhook_callers_equal(callers, again));
    ck_assert_int_eq(ek_webhook_callers_add(again, "198.51.100.1"), 0);
    ck_assert(!ek_webhook_callers_equal(callers, again));
    ek_webhook_callers_unref(callers);
    ek_webhook_callers_unref(again);
    ek_webhook_caller_rules_done(&rules);
}
END_TEST

START_TEST(rules)
{
    static const char *const wrong[] = {"", "nobody", "apiservers,10.0.0.0/99"};
    struct ek_webhook_caller_rules parsed;
    struct ek_err err;

    for (size_t i = 0; i < EK_ARRAY_SIZE(wrong); i++) {
        ck_assert_int_eq(ek_webhook_caller_rules_parse(wrong[i], &parsed, &err), EK_E_INVAL);
        ek_webhook_caller_rules_done(&parsed);
    }
    ck_assert_int_eq(ek_webhook_caller_rules_parse(wrong[2], &parsed, &err), EK_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "\"10.0.0.0/99\" is not any"));
    ek_webhook_caller_rules_done(&parsed);
    ck_assert_int_eq(ek_webhook_caller_rules_parse("any", &parsed, &err), 0);
    ck_assert_ptr_null(ek_webhook_callers_make(&parsed, NULL));
    ek_webhook_caller_rules_done(&parsed);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_callers");

    tcase_add_loop_test(tcase, addresses, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, not_addresses);
    tcase_add_loop_test(tcase, control_plane, 0, EK_ARRAY_SIZE(flags));
    tcase_add_test(tcase, rules);
    return ek_test_run("webhook_callers", tcase);
}
