/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/client_version.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

/* Two API servers of binary version bv, which emulate old_ev and new_ev; both are compatible with
 * one minor below old_ev. */
static struct ek_bounds bounds_of(unsigned old_ev, unsigned new_ev, unsigned bv)
{
    const struct ek_server servers[] = {
        {"a", EK_MINOR(1, bv), EK_MINOR(1, old_ev), EK_MINOR(1, old_ev - 1)},
        {"b", EK_MINOR(1, bv), EK_MINOR(1, new_ev), EK_MINOR(1, old_ev - 1)}};

    return ek_policy_bounds(servers, 2);
}

static const struct {
    const char *user_agent, *client, *version;
    enum ek_verdict verdict;
} rows[] = {
    /* kubectl: one minor around the API servers, by the oldest emulation and the newest minimum. */
    {"kubectl/v1.35.1 (linux/amd64) kubernetes/0123456", "kubectl", "1.35", EK_VERDICT_SUPPORTED},
    {"kubectl/v1.34.0", "kubectl", "1.34", EK_VERDICT_SUPPORTED},
    {"kubectl/v1.33.9 (darwin/arm64) kubernetes/abc", "kubectl", "1.33", EK_VERDICT_SUPPORTED},
    {"kubectl/v1.32.0", "kubectl", "1.32", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.36.0", "kubectl", "1.36", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.36.2-gke.1 (linux/amd64)", "kubectl", "1.36", EK_VERDICT_UNSUPPORTED},
    /* kubelets: at most the oldest emulation version, at least two below the newest minimum. */
    {"kubelet/v1.34.2 (linux/amd64) kubernetes/x", "kubelet", "1.34", EK_VERDICT_SUPPORTED},
    {"kubelet/v1.33.2", "kubelet", "1.33", EK_VERDICT_SUPPORTED},
    {"kubelet/v1.31.2", "kubelet", "1.31", EK_VERDICT_SUPPORTED},
    {"kubelet/v1.30.2", "kubelet", "1.30", EK_VERDICT_UNSUPPORTED},
    {"kubelet/v1.36.2", "kubelet", "1.36", EK_VERDICT_UNSUPPORTED},
    {"kube-proxy/v1.34.2", "kube-proxy", "1.34", EK_VERDICT_SUPPORTED},
    /* Those that emulate: the binary alone proves only what is too old or too new. */
    {"kube-controller-manager/v1.36.2 (linux/amd64) kubernetes/x/leader-election",
     "kube-controller-manager", "1.36", EK_VERDICT_UNKNOWN},
    {"kube-controller-manager/v1.30.0", "kube-controller-manager", "1.30", EK_VERDICT_UNSUPPORTED},
    {"kube-scheduler/v1.37.0", "kube-scheduler", "1.37", EK_VERDICT_UNSUPPORTED},
    {"cloud-controller-manager/v1.34.0", "cloud-controller-manager", "1.34", EK_VERDICT_SUPPORTED},
    /* Few values, whatever comes. */
    {"kubectl/v1.999.0", "kubectl", "other", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.26.0", "kubectl", "1.26", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.25.0", "kubectl", "other", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.46.0", "kubectl", "1.46", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v1.47.0", "kubectl", "other", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v2.36.0", "kubectl", "other", EK_VERDICT_UNSUPPORTED},
    {"kubectl/v0.0.0-master+$Format:%H$", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl 1.36", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/latest", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v1.36", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/1.36.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/vv1.36.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v1.036.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v1.36.0.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v1.36.0\tx", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v1.-36.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    {"kubectl/v99999999999999999999.36.0", "kubectl", "", EK_VERDICT_UNKNOWN},
    /* A library: no rule judges it. */
    {"client-go/v0.34.1 (linux/amd64)", "client-go", "1.34", EK_VERDICT_NOT_JUDGED},
    {"client-go/v0.999.1", "client-go", "other", EK_VERDICT_NOT_JUDGED},
    {"client-go/v11.0.0", "client-go", "", EK_VERDICT_NOT_JUDGED},
    {"kubectl-argo/v1.36.0", "other", "", EK_VERDICT_NOT_JUDGED},
    {"KUBECTL/v1.36.0", "other", "", EK_VERDICT_NOT_JUDGED},
    {"curl/8.5.0", "other", "", EK_VERDICT_NOT_JUDGED},
    {"/v1.36.0", "other", "", EK_VERDICT_NOT_JUDGED},
    {"", "other", "", EK_VERDICT_NOT_JUDGED},
    {NULL, "other", "", EK_VERDICT_NOT_JUDGED},
};

START_TEST(clients)
{
    const struct ek_bounds bounds = bounds_of(34, 36, 36);
    struct ek_client_version v = ek_client_version_judge(rows[_i].user_agent, &bounds);

    ck_assert_str_eq(v.client, rows[_i].client);
    ck_assert_str_eq(v.version, rows[_i].version);
    ck_assert_str_eq(ek_verdict_name(v.verdict), ek_verdict_name(rows[_i].verdict));
}
END_TEST

START_TEST(unknown_api_servers_support_nothing)
{
    const struct ek_bounds none = {0};
    const struct ek_server half[] = {{"a", EK_MINOR(1, 36), EK_MINOR(1, 36), EK_MINOR(1, 35)},
                                     {"b", EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN}};
    const struct ek_bounds some = ek_policy_bounds(half, 2);
    struct ek_client_version v = ek_client_version_judge("kubectl/v1.36.0", &none);

    ck_assert_str_eq(v.version, "other");
    ck_assert_int_eq(v.verdict, EK_VERDICT_UNKNOWN);
    v = ek_client_version_judge("kubectl/v1.36.0", &some);
    ck_assert_int_eq(v.verdict, EK_VERDICT_UNKNOWN);
    /* What one server does not support is not supported by all. */
    v = ek_client_version_judge("kubectl/v1.33.0", &some);
    ck_assert_int_eq(v.verdict, EK_VERDICT_UNSUPPORTED);
}
END_TEST

START_TEST(a_long_version_is_none)
{
    const struct ek_bounds bounds = bounds_of(34, 36, 36);
    char text[1024];

    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "kubectl/v1.35.0-", 16);
    ck_assert_str_eq(ek_client_version_judge(text, &bounds).version, "");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client version");

    tcase_add_loop_test(tcase, clients, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, unknown_api_servers_support_nothing);
    tcase_add_test(tcase, a_long_version_is_none);
    return ek_test_run("client_version", tcase);
}
