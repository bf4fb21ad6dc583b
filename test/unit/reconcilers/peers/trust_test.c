/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/trust.h"
#include "test/support/suite.h"

#include <check.h>
#include <stdlib.h>

#define API   "kube-apiserver"
#define SCHED "kube-scheduler"
#define KCM   "kube-controller-manager"
#define CCM   "cloud-controller-manager"
#define NONE  EK_PROBE_NOT_CONTACTED

/* The table in deploy/README.md, "Who gets which credential", row by row. */
static const struct {
    const char *name;
    struct ek_trust_input input;
    enum ek_probe_credential credential;
} rows[] = {
    {"API server, slice", {API, "10.0.0.1:6443", EK_ADDRESS_SLICE, false, false}, EK_PROBE_OWN},
    {"API server, spec", {API, "10.0.0.1:6443", EK_ADDRESS_SPEC, false, true}, EK_PROBE_OWN},
    {"API server, kubeconfig",
     {API, "10.0.0.1:6443", EK_ADDRESS_CONFIGURED, false, false},
     EK_PROBE_OWN},
    {"API server, a static pod alone", {API, "10.0.0.1:6443", EK_ADDRESS_POD, false, false}, NONE},
    {"API server, a static pod where another has proven itself: the port is the pod's word",
     {API, "10.0.0.1:7443", EK_ADDRESS_POD, true, false},
     NONE},
    {"API server, a static pod at an IP of the spec: another port",
     {API, "10.0.0.1:7443", EK_ADDRESS_POD, false, true},
     NONE},
    {"scheduler, nothing proven", {SCHED, "10.0.0.1:10259", EK_ADDRESS_POD, false, false}, NONE},
    {"scheduler beside an API server",
     {SCHED, "10.0.0.1:10259", EK_ADDRESS_POD, true, false},
     EK_PROBE_METRICS},
    {"scheduler at an IP of the spec",
     {SCHED, "10.0.0.1:10259", EK_ADDRESS_POD, false, true},
     EK_PROBE_METRICS},
    {"controller manager beside an API server",
     {KCM, "[fd00::1]:10257", EK_ADDRESS_POD, true, false},
     EK_PROBE_METRICS},
    {"controller manager, nothing proven",
     {KCM, "[fd00::1]:10257", EK_ADDRESS_POD, false, false},
     NONE},
    {"cloud controller", {CCM, "10.0.0.1:10258", EK_ADDRESS_POD, true, true}, NONE},
    {"unknown component", {"kube-apiserver2", "10.0.0.1:6443", EK_ADDRESS_SLICE, true, true}, NONE},
    {"no component", {"", "10.0.0.1:6443", EK_ADDRESS_SLICE, true, true}, NONE},
    {"a name is no address", {API, "cp-a:6443", EK_ADDRESS_SLICE, false, false}, NONE},
    {"no port", {API, "10.0.0.1", EK_ADDRESS_SLICE, false, false}, NONE},
    {"metadata service, slice", {API, "169.254.169.254:443", EK_ADDRESS_SLICE, false, false}, NONE},
    {"metadata service, spec", {API, "169.254.169.254:443", EK_ADDRESS_SPEC, false, true}, NONE},
    {"loopback, slice", {API, "127.0.0.1:6443", EK_ADDRESS_SLICE, false, false}, NONE},
    {"loopback, spec", {API, "127.0.0.1:6443", EK_ADDRESS_SPEC, false, true}, EK_PROBE_OWN},
    {"loopback, kubeconfig",
     {API, "[::1]:6443", EK_ADDRESS_CONFIGURED, false, false},
     EK_PROBE_OWN},
    {"loopback, a scheduler's pod", {SCHED, "127.0.0.1:10259", EK_ADDRESS_POD, true, true}, NONE},
    {"IPv6, slice", {API, "[fd00::1]:6443", EK_ADDRESS_SLICE, false, false}, EK_PROBE_OWN},
    {"IPv6, link-local", {API, "[fe80::1]:6443", EK_ADDRESS_SLICE, false, false}, NONE},
    {"IPv6 without brackets", {API, "fd00::1:6443", EK_ADDRESS_SLICE, false, false}, NONE},
};

START_TEST(who_gets_which)
{
    enum ek_probe_credential got = ek_trust_decide(&rows[_i].input);
    ck_assert_msg(got == rows[_i].credential, "%s: %d", rows[_i].name, (int)got);
}
END_TEST

START_TEST(an_ip_is_proven_by_an_api_server_only)
{
    struct ek_probe *proven = ek_probe_new(), *other = ek_probe_new();
    const struct ek_trust_server servers[] = {
        {"10.0.0.1:6443", EK_ADDRESS_SLICE, proven},
        {"[fd00:0:0::1]:6443", EK_ADDRESS_SPEC, proven},
        {"10.0.0.2:6443", EK_ADDRESS_SLICE, other},
        {"10.0.0.3:6443", EK_ADDRESS_SLICE, NULL},
        /* The Service's IP, or that of a load balancer: who is at other ports there? */
        {"10.96.0.1:443", EK_ADDRESS_CONFIGURED, proven},
        {"10.0.0.4:6443", EK_ADDRESS_POD, proven},
        {"", EK_ADDRESS_SLICE, NULL},
    };
    static const struct {
        const char *ip;
        bool proven;
    } ips[] = {{"10.0.0.1", true},  {"fd00::1", true},    {"10.0.0.2", false}, {"10.0.0.3", false},
               {"10.0.0.4", false}, {"10.0.0.11", false}, {"10.96.0.1", false}};

    proven->proven = true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(ips); i++)
        ck_assert_msg(ek_trust_is_proven(servers, EK_ARRAY_SIZE(servers), ips[i].ip) ==
                          ips[i].proven,
                      "%s", ips[i].ip);
    ck_assert(!ek_trust_is_proven(servers, 0, "10.0.0.1"));
    ek_probe_unref(proven);
    ek_probe_unref(other);
}
END_TEST

START_TEST(the_spec_names_ips)
{
    static const char *const list[] = {"10.0.0.1:6443", "[fd00:0:0::1]:6443", "cp-a:6443"};

    ck_assert(ek_trust_names_ip(list, 3, "10.0.0.1"));
    ck_assert(ek_trust_names_ip(list, 3, "fd00::1"));
    ck_assert(!ek_trust_names_ip(list, 3, "10.0.0.2"));
    ck_assert(!ek_trust_names_ip(list, 3, "cp-a"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("trust");
    tcase_add_loop_test(tc, who_gets_which, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, an_ip_is_proven_by_an_api_server_only);
    tcase_add_test(tc, the_spec_names_ips);
    return ek_test_run("trust", tc);
}
