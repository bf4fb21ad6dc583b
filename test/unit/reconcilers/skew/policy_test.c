/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/policy.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

static const struct ek_skew_policy defaults = {1, EK_SKEW_UNSET, EK_SKEW_UNSET, 0, 0};

/* "1.36", "" for unknown. */
static struct ek_minor m(const char *s)
{
    return ek_minor_parse(s);
}

static const char *show(struct ek_minor v)
{
    static char bufs[8][EK_MINOR_SIZE];
    static unsigned at;
    return ek_minor_format(v, bufs[at++ % 8]);
}

#define SERVERS_MAX 7

/* "1.36/1.35/1.34 1.36/1.36/1.35": binary/emulation/min-compat per server; "?" is unknown. */
static size_t parse_servers(const char *text, struct ek_server servers[SERVERS_MAX])
{
    static const char *const names[SERVERS_MAX] = {"cp-a", "cp-b", "cp-c", "cp-d",
                                                   "cp-e", "cp-f", "cp-g"};
    char copy[256], *save = NULL;
    size_t n = 0;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
        char bv[16], ev[16], mcv[16];
        ck_assert_int_eq(sscanf(s, "%15[^/]/%15[^/]/%15s", bv, ev, mcv), 3);
        servers[n] = (struct ek_server){names[n], m(bv), m(ev), m(mcv)};
        n++;
    }
    return n;
}

static struct ek_bounds bounds_of(const char *text)
{
    struct ek_server servers[SERVERS_MAX] = {0};
    return ek_policy_bounds(servers, parse_servers(text, servers));
}

static void check_range(const char *name, struct ek_range range, const char *min, const char *max)
{
    ck_assert_msg(strcmp(show(range.min.at), min) == 0 && strcmp(show(range.max.at), max) == 0,
                  "%s: %s..%s, want %s..%s", name, show(range.min.at), show(range.max.at), min,
                  max);
}

/* Section 3.2's table with N = 1.36, and the intersections of several servers. */
static const struct {
    const char *name, *servers;
    enum ek_component component;
    const char *min, *max;
} ranges[] = {
    {"controller, default", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.35", "1.36"},
    {"controller, MCV=EV", "1.36/1.36/1.36", EK_KUBE_SCHEDULER, "1.36", "1.36"},
    {"controller, EV=N-1", "1.36/1.35/1.34", EK_KUBE_CONTROLLER_MANAGER, "1.34", "1.35"},
    {"controller, EV at the floor", "1.36/1.33/1.33", EK_CLOUD_CONTROLLER_MANAGER, "1.33", "1.33"},
    {"controller, wide MCV", "1.36/1.36/1.33", EK_KUBE_SCHEDULER, "1.33", "1.36"},
    {"kubelet, default", "1.36/1.36/1.35", EK_KUBELET, "1.33", "1.36"},
    {"kubelet, MCV=EV narrows", "1.36/1.36/1.36", EK_KUBELET, "1.34", "1.36"},
    {"kubelet, EV=N-1", "1.36/1.35/1.34", EK_KUBELET, "1.32", "1.35"},
    {"kubelet, EV at the floor", "1.36/1.33/1.33", EK_KUBELET, "1.31", "1.33"},
    {"kube-proxy, default", "1.36/1.36/1.35", EK_KUBE_PROXY, "1.33", "1.36"},
    {"HA, half upgraded: controllers", "1.35/1.35/1.34 1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.35",
     "1.35"},
    {"HA, half upgraded: kubelets", "1.35/1.35/1.34 1.36/1.36/1.35", EK_KUBELET, "1.33", "1.35"},
    {"HA, order does not matter", "1.36/1.36/1.35 1.35/1.35/1.34", EK_KUBELET, "1.33", "1.35"},
    {"HA, empty intersection", "1.36/1.36/1.35 1.36/1.33/1.33", EK_KUBE_SCHEDULER, "1.35", "1.33"},
    {"HA, binaries only", "1.36/1.35/1.34 1.35/1.35/1.34", EK_KUBELET, "1.32", "1.35"},
    {"HA, one unknown still bounds", "1.36/1.36/1.35 ?/?/?", EK_KUBELET, "1.33", "1.36"},
    {"kubelet below an old binary of unknown EV", "1.35/?/? 1.36/1.36/1.35", EK_KUBELET, "1.33",
     "1.35"},
    {"no server", "", EK_KUBELET, "", ""},
};

START_TEST(range_row)
{
    struct ek_bounds bounds = bounds_of(ranges[_i].servers);
    check_range(ranges[_i].name,
                ek_policy_range(ranges[_i].component, EK_MINOR_UNKNOWN, &bounds, &defaults),
                ranges[_i].min, ranges[_i].max);
}
END_TEST

static const struct {
    const char *name, *servers, *min, *max;
} kubectl[] = {
    {"default", "1.36/1.36/1.35", "1.35", "1.37"},
    {"MCV=EV", "1.36/1.36/1.36", "1.36", "1.37"},
    {"EV=N-1", "1.36/1.35/1.34", "1.34", "1.36"},
    {"EV at the floor", "1.36/1.33/1.33", "1.33", "1.34"},
    {"HA", "1.35/1.35/1.34 1.36/1.36/1.35", "1.35", "1.36"},
};

START_TEST(kubectl_row)
{
    struct ek_bounds bounds = bounds_of(kubectl[_i].servers);
    check_range(kubectl[_i].name, ek_policy_kubectl_range(&bounds), kubectl[_i].min,
                kubectl[_i].max);
}
END_TEST

static const struct {
    const char *name, *servers;
    enum ek_component component;
    const char *bv, *ev;
    enum ek_verdict verdict;
    enum ek_rule rule;
} checks[] = {
    {"scheduler at N", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.36", "1.36", EK_VERDICT_SUPPORTED,
     EK_RULE_NONE},
    {"scheduler at N-1", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.35", "1.35", EK_VERDICT_SUPPORTED,
     EK_RULE_NONE},
    {"scheduler at N-2", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.34", "1.34",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"scheduler above", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.37", "1.37", EK_VERDICT_UNSUPPORTED,
     EK_RULE_CONTROLLER_RANGE},
    {"judged by EV where known", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.36", "1.34",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"EV fits where BV would not", "1.36/1.35/1.34", EK_KUBE_SCHEDULER, "1.36", "1.35",
     EK_VERDICT_SUPPORTED, EK_RULE_NONE},
    {"BV alone proves no violation", "1.36/1.35/1.34", EK_KUBE_SCHEDULER, "1.36", "?",
     EK_VERDICT_UNKNOWN, EK_RULE_NONE},
    {"BV alone proves no fit", "1.36/1.36/1.35", EK_KUBE_CONTROLLER_MANAGER, "1.36", "?",
     EK_VERDICT_UNKNOWN, EK_RULE_NONE},
    {"nothing emulates a newer version", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "1.34", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"BV too new at any EV", "1.35/1.35/1.34", EK_KUBE_SCHEDULER, "1.36", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_BINARY},
    {"EV alone proves no fit", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "?", "1.36", EK_VERDICT_UNKNOWN,
     EK_RULE_NONE},
    {"EV alone proves a violation", "1.36/1.36/1.35", EK_KUBE_SCHEDULER, "?", "1.34",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"a cloud controller does not emulate", "1.36/1.36/1.35", EK_CLOUD_CONTROLLER_MANAGER, "1.36",
     "?", EK_VERDICT_SUPPORTED, EK_RULE_NONE},
    {"binary newer than a server's at equal EV", "1.35/1.35/1.34", EK_KUBE_CONTROLLER_MANAGER,
     "1.36", "1.35", EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_BINARY},
    {"binary against the oldest server", "1.36/1.35/1.34 1.35/1.35/1.34",
     EK_KUBE_CONTROLLER_MANAGER, "1.36", "1.35", EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_BINARY},
    {"ccm's binary is its own affair", "1.35/1.35/1.34", EK_CLOUD_CONTROLLER_MANAGER, "1.36",
     "1.35", EK_VERDICT_SUPPORTED, EK_RULE_NONE},
    {"MCV=EV leaves N-1 out", "1.36/1.36/1.36", EK_KUBE_SCHEDULER, "1.35", "1.35",
     EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"kubelet at N-3", "1.36/1.36/1.35", EK_KUBELET, "1.33", "?", EK_VERDICT_SUPPORTED,
     EK_RULE_NONE},
    {"kubelet at N-3 with MCV=EV", "1.36/1.36/1.36", EK_KUBELET, "1.33", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_KUBELET_RANGE},
    {"kubelet at N-4", "1.36/1.36/1.35", EK_KUBELET, "1.32", "?", EK_VERDICT_UNSUPPORTED,
     EK_RULE_KUBELET_RANGE},
    {"kubelet at N while emulating N-1", "1.36/1.35/1.34", EK_KUBELET, "1.36", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_KUBELET_RANGE},
    {"kubelet's own EV says nothing", "1.36/1.36/1.35", EK_KUBELET, "1.37", "1.36",
     EK_VERDICT_UNSUPPORTED, EK_RULE_KUBELET_RANGE},
    {"kubelet below 1.25: two minors only", "1.27/1.27/1.26", EK_KUBELET, "1.24", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_KUBELET_RANGE},
    {"kubelet of 1.25: three minors", "1.28/1.28/1.27", EK_KUBELET, "1.25", "?",
     EK_VERDICT_SUPPORTED, EK_RULE_NONE},
    {"kube-proxy at N-4", "1.36/1.36/1.35", EK_KUBE_PROXY, "1.32", "?", EK_VERDICT_UNSUPPORTED,
     EK_RULE_KUBE_PROXY_RANGE},
    {"version unknown", "1.36/1.36/1.35", EK_KUBELET, "?", "?", EK_VERDICT_UNKNOWN, EK_RULE_NONE},
    {"unknown server, proven all the same", "1.36/1.36/1.35 ?/?/?", EK_KUBELET, "1.32", "?",
     EK_VERDICT_UNSUPPORTED, EK_RULE_KUBELET_RANGE},
    {"unknown server, not proven", "1.36/1.36/1.35 ?/?/?", EK_KUBELET, "1.33", "?",
     EK_VERDICT_UNKNOWN, EK_RULE_NONE},
    {"unknown server, scheduler too new for the known one", "1.35/1.35/1.34 ?/?/?",
     EK_KUBE_SCHEDULER, "1.36", "1.36", EK_VERDICT_UNSUPPORTED, EK_RULE_CONTROLLER_RANGE},
    {"no server at all", "", EK_KUBELET, "1.36", "?", EK_VERDICT_UNKNOWN, EK_RULE_NONE},
    {"another major", "1.36/1.36/1.35", EK_KUBELET, "2.0", "?", EK_VERDICT_UNSUPPORTED,
     EK_RULE_KUBELET_RANGE},
};

START_TEST(check_row)
{
    struct ek_bounds bounds = bounds_of(checks[_i].servers);
    enum ek_rule rule;
    enum ek_verdict verdict = ek_policy_check(checks[_i].component, m(checks[_i].bv),
                                              m(checks[_i].ev), &bounds, &defaults, &rule);
    ck_assert_msg(verdict == checks[_i].verdict && rule == checks[_i].rule, "%s: %s %s",
                  checks[_i].name, ek_verdict_name(verdict), ek_rule_name(rule));
}
END_TEST

/* Of the first server against all. */
static const struct {
    const char *name, *servers;
    int max_skew;
    enum ek_verdict verdict;
    const char *rules;
} servers_rows[] = {
    {"alone", "1.36/1.36/1.35", 1, EK_VERDICT_SUPPORTED, ""},
    {"alike", "1.36/1.36/1.35 1.36/1.36/1.35", 1, EK_VERDICT_SUPPORTED, ""},
    {"one behind", "1.35/1.35/1.34 1.36/1.36/1.35", 1, EK_VERDICT_AT_LIMIT, ""},
    {"one ahead", "1.36/1.36/1.35 1.35/1.35/1.34", 1, EK_VERDICT_SUPPORTED, ""},
    {"two behind", "1.34/1.34/1.33 1.36/1.36/1.35", 1, EK_VERDICT_UNSUPPORTED,
     "ApiserverEmulationSpread"},
    {"two ahead: writes what the other cannot read", "1.36/1.36/1.35 1.34/1.34/1.33", 1,
     EK_VERDICT_UNSUPPORTED, "ApiserverCompatibility"},
    {"two ahead with a low MCV", "1.36/1.36/1.34 1.34/1.34/1.33", 1, EK_VERDICT_SUPPORTED, ""},
    {"one ahead with MCV=EV", "1.36/1.36/1.36 1.35/1.35/1.34", 1, EK_VERDICT_UNSUPPORTED,
     "ApiserverCompatibility"},
    {"old binary", "1.32/1.32/1.31 1.36/1.33/1.33", 1, EK_VERDICT_UNSUPPORTED,
     "ApiserverBinarySpread"},
    {"binaries three apart, equal EV", "1.33/1.33/1.32 1.36/1.33/1.33", 1, EK_VERDICT_SUPPORTED,
     ""},
    {"all at once", "1.31/1.31/1.31 1.36/1.36/1.35", 1, EK_VERDICT_UNSUPPORTED,
     "ApiserverEmulationSpread ApiserverBinarySpread"},
    {"spread allowed by the spec", "1.34/1.34/1.33 1.36/1.36/1.33", 2, EK_VERDICT_AT_LIMIT, ""},
    {"no spread allowed by the spec", "1.35/1.35/1.34 1.36/1.36/1.35", 0, EK_VERDICT_UNSUPPORTED,
     "ApiserverEmulationSpread"},
    {"the other is unknown", "1.36/1.36/1.35 ?/?/?", 1, EK_VERDICT_UNKNOWN, ""},
    {"itself unknown", "?/?/? 1.36/1.36/1.35", 1, EK_VERDICT_UNKNOWN, ""},
    {"a third is unknown, broken all the same", "1.34/1.34/1.33 1.36/1.36/1.35 ?/?/?", 1,
     EK_VERDICT_UNSUPPORTED, "ApiserverEmulationSpread"},
    {"lower end of the minors", "1.0/1.0/1.0 1.1/1.1/1.0", 3, EK_VERDICT_AT_LIMIT, ""},
};

START_TEST(server_row)
{
    struct ek_server servers[SERVERS_MAX] = {0};
    size_t n = parse_servers(servers_rows[_i].servers, servers), n_rules = 99;
    struct ek_bounds bounds = ek_policy_bounds(servers, n);
    struct ek_skew_policy policy = defaults;
    enum ek_rule rules[EK_SERVER_RULES_MAX];
    char text[256] = "";
    policy.max_apiserver_skew = servers_rows[_i].max_skew;
    enum ek_verdict verdict =
        ek_policy_check_server(&servers[0], &bounds, &policy, rules, &n_rules);
    for (size_t i = 0; i < n_rules; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", ek_rule_name(rules[i]));
    }
    ck_assert_msg(verdict == servers_rows[_i].verdict && strcmp(text, servers_rows[_i].rules) == 0,
                  "%s: %s [%s]", servers_rows[_i].name, ek_verdict_name(verdict), text);
}
END_TEST

/* The spec's skews narrow, and never widen. */
static const struct {
    const char *name;
    enum ek_component component;
    int controller, kubelet;
    const char *min, *max;
} overrides[] = {
    {"kubelets one behind", EK_KUBELET, EK_SKEW_UNSET, 1, "1.35", "1.36"},
    {"kubelets none behind", EK_KUBELET, EK_SKEW_UNSET, 0, "1.36", "1.36"},
    {"five is no more than the rule", EK_KUBELET, EK_SKEW_UNSET, 5, "1.33", "1.36"},
    {"kube-proxies too", EK_KUBE_PROXY, EK_SKEW_UNSET, 2, "1.34", "1.36"},
    {"controllers are another matter", EK_KUBE_SCHEDULER, EK_SKEW_UNSET, 0, "1.35", "1.36"},
    {"controllers none behind", EK_KUBE_SCHEDULER, 0, EK_SKEW_UNSET, "1.36", "1.36"},
};

START_TEST(override_row)
{
    struct ek_server server = {"cp-a", m("1.36"), m("1.36"), m("1.35")};
    struct ek_bounds bounds = ek_policy_bounds(&server, 1);
    struct ek_skew_policy policy = defaults;
    policy.max_controller_skew = overrides[_i].controller;
    policy.max_kubelet_skew = overrides[_i].kubelet;
    check_range(overrides[_i].name,
                ek_policy_range(overrides[_i].component, EK_MINOR_UNKNOWN, &bounds, &policy),
                overrides[_i].min, overrides[_i].max);
}
END_TEST

/* Section 1: EV-1, raised to the floor; EV at the floor gives MCV=EV. */
static const struct {
    const char *name, *bv, *ev, *mcv;
} min_compats[] = {
    {"plain", "1.36", "1.36", "1.35"},
    {"emulating", "1.36", "1.34", "1.33"},
    {"at the floor", "1.36", "1.33", "1.33"},
    {"floor of the first release", "1.32", "1.31", "1.31"},
    {"before there was emulation", "1.30", "1.30", "1.29"},
    {"1.31 itself", "1.31", "1.31", "1.30"},
    {"binary unknown", "?", "1.36", "1.35"},
    {"emulation unknown", "1.36", "?", ""},
};

START_TEST(min_compat_row)
{
    struct ek_minor mcv =
        ek_policy_default_min_compat(m(min_compats[_i].bv), m(min_compats[_i].ev));
    ck_assert_msg(strcmp(show(mcv), min_compats[_i].mcv) == 0, "%s: %s", min_compats[_i].name,
                  show(mcv));
}
END_TEST

static const struct {
    const char *name, *server, *target, *after;
} raises[] = {
    {"one minor", "1.36/1.36/1.35", "1.37", "1.37/1.37/1.36"},
    {"within the binary", "1.36/1.34/1.33", "1.35", "1.36/1.35/1.34"},
    {"off the floor", "1.36/1.33/1.33", "1.34", "1.36/1.34/1.33"},
    {"there already: MCV stays", "1.36/1.36/1.33", "1.36", "1.36/1.36/1.33"},
    {"beyond already", "1.36/1.36/1.36", "1.35", "1.36/1.36/1.36"},
    {"unknown stays unknown", "?/?/?", "1.37", "//"},
};

START_TEST(raise_row)
{
    struct ek_server servers[SERVERS_MAX] = {0};
    char text[128];
    parse_servers(raises[_i].server, servers);
    struct ek_server after = ek_policy_raised(servers[0], m(raises[_i].target));
    snprintf(text, sizeof(text), "%s/%s/%s", show(after.bv), show(after.ev), show(after.mcv));
    ck_assert_msg(strcmp(text, raises[_i].after) == 0, "%s: %s", raises[_i].name, text);
}
END_TEST

static const struct {
    const char *name, *proxy, *kubelet;
    bool fits;
} pairs[] = {
    {"same", "1.36", "1.36", true},
    {"three older", "1.33", "1.36", true},
    {"three newer", "1.36", "1.33", true},
    {"four older", "1.32", "1.36", false},
    {"four newer", "1.36", "1.32", false},
    {"old proxy, two", "1.24", "1.26", true},
    {"old proxy, three", "1.24", "1.27", false},
    {"low minors", "1.0", "1.2", true},
};

START_TEST(pair_row)
{
    ck_assert_msg(ek_policy_proxy_fits_kubelet(m(pairs[_i].proxy), m(pairs[_i].kubelet)) ==
                      pairs[_i].fits,
                  "%s", pairs[_i].name);
}
END_TEST

/* Which versions a binary takes in its flags. */
static const struct {
    const char *bv, *v;
    bool emulates, is_compatible;
} taken[] = {
    {"1.36", "1.36", true, true},   {"1.36", "1.33", true, true},   {"1.36", "1.32", false, false},
    {"1.36", "1.37", false, false}, {"1.35", "1.32", true, true},   {"1.34", "1.33", true, false},
    {"1.34", "1.31", true, false},  {"1.33", "1.31", true, false},  {"1.33", "1.30", false, false},
    {"1.32", "1.31", true, false},  {"1.31", "1.31", true, false},  {"1.31", "1.30", false, false},
    {"1.30", "1.30", false, false}, {"1.26", "1.24", false, false}, {"?", "1.36", false, false},
    {"1.36", "?", false, false},
};

START_TEST(taken_row)
{
    struct ek_minor bv = m(taken[_i].bv), v = m(taken[_i].v);

    ck_assert_msg(ek_policy_can_emulate(bv, v) == taken[_i].emulates &&
                      ek_policy_can_be_compatible(bv, v) == taken[_i].is_compatible,
                  "%s at %s", taken[_i].bv, taken[_i].v);
}
END_TEST

START_TEST(skipping)
{
    ck_assert(ek_policy_skips_minor(m("1.34"), m("1.36")));
    ck_assert(!ek_policy_skips_minor(m("1.35"), m("1.36")));
    ck_assert(!ek_policy_skips_minor(m("1.36"), m("1.36")));
    ck_assert(!ek_policy_skips_minor(m("1.37"), m("1.36")));
    ck_assert(!ek_policy_skips_minor(m("?"), m("1.36")));
    ck_assert(ek_policy_skips_minor(m("1.36"), m("2.0")));
}
END_TEST

START_TEST(unstamped_builds_are_unknown)
{
    ck_assert(!ek_policy_usable(m("0.0.0-master+$Format")).known);
    ck_assert(!ek_policy_usable(m("garbage")).known);
    ck_assert(ek_policy_usable(m("v1.36.2-gke.1014001")).known);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(ek_verdict_name(EK_VERDICT_AT_LIMIT), "AtLimit");
    ck_assert_str_eq(ek_verdict_name(EK_VERDICT_MAX), "");
    ck_assert_str_eq(ek_rule_name(EK_RULE_NONE), "");
    ck_assert_str_eq(ek_rule_name(EK_RULE_APISERVER_SKIPS_MINOR), "ApiserverSkipsMinor");
    ck_assert_str_eq(ek_rule_name(EK_RULE_MAX), "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, range_row, 0, (int)EK_ARRAY_SIZE(ranges));
    tcase_add_loop_test(tc, kubectl_row, 0, (int)EK_ARRAY_SIZE(kubectl));
    tcase_add_loop_test(tc, check_row, 0, (int)EK_ARRAY_SIZE(checks));
    tcase_add_loop_test(tc, server_row, 0, (int)EK_ARRAY_SIZE(servers_rows));
    tcase_add_loop_test(tc, override_row, 0, (int)EK_ARRAY_SIZE(overrides));
    tcase_add_loop_test(tc, min_compat_row, 0, (int)EK_ARRAY_SIZE(min_compats));
    tcase_add_loop_test(tc, raise_row, 0, (int)EK_ARRAY_SIZE(raises));
    tcase_add_loop_test(tc, pair_row, 0, (int)EK_ARRAY_SIZE(pairs));
    tcase_add_loop_test(tc, taken_row, 0, (int)EK_ARRAY_SIZE(taken));
    tcase_add_test(tc, skipping);
    tcase_add_test(tc, unstamped_builds_are_unknown);
    tcase_add_test(tc, names);
    return ek_test_run("policy", tc);
}
