/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of a cluster that the emulation version to go back to refuses. */
#include "reconcilers/plan/cluster.h"

#include <string.h>

#include "test/support/suite.h"

/* A component of the binary 1.36; want: "component does not ... : the beginning", "" for nothing.
 */
static const struct {
    const char *name;
    enum ek_component component;
    unsigned emulation, back;
    const char *gates, *want;
    struct ek_pod_api_flags apis;
    bool unread;
} rows[] = {
    {"a gate that came with the new version", EK_KUBE_APISERVER, 36, 35,
     "DRAListTypeAttributes=true",
     "kube-apiserver does not start with the emulation version 1.35: cannot set feature gate "
     "DRAListTypeAttributes to true, feature is PreAlpha at emulated version 1.35",
     .unread = true},
    {"the same of a scheduler", EK_KUBE_SCHEDULER, 36, 35, "DRAListTypeAttributes=true",
     "kube-scheduler does not start with the emulation version 1.35: cannot set feature gate ",
     .unread = false},
    {"a gate that the version before has", EK_KUBE_APISERVER, 36, 35, "NodeLogQuery=true", "",
     .unread = false},
    {"a server that is there", EK_KUBE_APISERVER, 35, 35, "DRAListTypeAttributes=true", "",
     .unread = false},
    {"an API version that came since", EK_KUBE_APISERVER, 36, 33, "",
     "kube-apiserver does not start with the emulation version 1.33: cannot enable version "
     "resource.k8s.io/v1 in ",
     .apis = {.runtime_config = "resource.k8s.io/v1=true"}},
    {"what the server reads", EK_KUBE_APISERVER, 36, 35, "MutatingAdmissionPolicy=true",
     "kube-apiserver does not become ready with the emulation version 1.35: with the feature gate "
     "MutatingAdmissionPolicy it reads mutatingadmissionpolicies",
     .unread = false},
    {"of flags that are not read", EK_KUBE_APISERVER, 36, 35, "MutatingAdmissionPolicy=true", "",
     .unread = true},
    {"a kubelet does not emulate", EK_KUBELET, 36, 35, "DRAListTypeAttributes=true", "",
     .unread = false},
    {"beyond the data", EK_KUBE_APISERVER, 36, 32, "DRAListTypeAttributes=true", "",
     .unread = false},
};

START_TEST(way_back)
{
    struct ek_part part = {
        .component = rows[_i].component,
        .name = "a",
        .at = {EK_MINOR(1, 36), EK_MINOR(1, rows[_i].emulation), EK_MINOR(1, rows[_i].back)}};
    struct ek_plan_instance instance = {
        .gates = rows[_i].gates, .apis = rows[_i].apis, .flags_read = !rows[_i].unread};
    const struct ek_plan_cluster cluster = {.parts = &part, .instances = &instance, .n = 1};
    struct ek_plan_report report = {.arena = ek_arena_new((size_t)1 << 20)};
    const char *want = rows[_i].want;
    struct ek_plan_data data;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    ek_plan_cluster_check_back(&cluster, EK_MINOR(1, rows[_i].back), &data, &report);
    ck_assert_msg(report.n == (*want != '\0'), "%s: %d findings", rows[_i].name, (int)report.n);
    for (size_t i = 0; i < report.n; i++) {
        ck_assert_str_eq(report.list[i].rule, "flag-rollback");
        ck_assert_int_eq(report.list[i].severity, EK_PLAN_ERROR);
        ck_assert_msg(!strncmp(report.list[i].message, want, strlen(want)), "%s: %s", rows[_i].name,
                      report.list[i].message);
    }
    ek_plan_cluster_check_back(&cluster, EK_MINOR_UNKNOWN, &data, &report);
    ck_assert_uint_eq(report.n, *want != '\0');
    ek_arena_free(report.arena);
    ek_plan_data_done(&data);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cluster back");

    tcase_add_loop_test(tcase, way_back, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("cluster back", tcase);
}
