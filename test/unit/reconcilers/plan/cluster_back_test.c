/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of a cluster that the emulation version to go back to refuses. */
#include "reconcilers/plan/cluster.h"

#include <stdio.h>
#include <string.h>

#include "reconcilers/plan/route.h"
#include "test/support/plan_parts.h"
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

/* One step back: "to" and the binary of the API servers then. */
static const struct {
    const char *name, *parts;
    unsigned to, binary; /* 0: there is none */
} previous[] = {
    {"after an upgrade, the emulation version", "cp 36/36/35; kcm 36", 35, 36},
    {"before the minimum compatibility version was raised", "cp 36/36/34", 35, 36},
    {"after the new binary", "cp 36/35/34; kcm 36/35", 35, 35},
    {"after a new binary that skips a minor", "cp 36/34/33", 34, 34},
    {"after the emulation version of a skip", "cp 36/35/33", 34, 36},
    {"at the oldest emulation version of the binary", "cp 36/33/33", 33, 33},
    {"half way with the emulation version", "cp 36/36/35; cp 36/35/34", 35, 36},
    {"half way with the binary", "cp 36/35/34; cp 35/35/34", 35, 35},
    {"the minimum compatibility version is the emulation version", "cp 36/35/35", 35, 35},
    {"no way back", "cp 36/36/36", 35, 36},
    {"no API server", "kcm 36", 0, 0},
};

START_TEST(one_step_back)
{
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n = test_parts_parse(previous[_i].parts, parts);
    const struct ek_plan_cluster cluster = {.parts = parts, .n = n};
    struct ek_steps_goal goal = {.back = false};

    ck_assert_int_eq(ek_plan_cluster_previous(&cluster, &goal), previous[_i].to != 0);
    ck_assert_int_eq(goal.back, previous[_i].to != 0);
    ck_assert_msg(goal.version.minor == previous[_i].to && goal.binary.minor == previous[_i].binary,
                  "%s: %u with %u", previous[_i].name, (unsigned)goal.version.minor,
                  (unsigned)goal.binary.minor);
}
END_TEST

/* What the steps back break: "severity rule object: the beginning of the message". */
static const struct {
    const char *name, *parts, *gates;
    unsigned to, binary;
    const char *want;
} back_rows[] = {
    {"an API version that came with the version", "cp 34/34/33", "", 33, 34,
     "unknown api-use step 1: resource.k8s.io/v1 deviceclasses goes; whether clients still use it "
     "is not known"},
    {"a feature gate that came with the version", "cp 36/36/35", "DRAListTypeAttributes=true", 35,
     36,
     "error flag step 1: kube-apiserver 1.36 does not start: cannot set feature gate "
     "DRAListTypeAttributes to true, feature is PreAlpha"},
    {"alpha features become emulated", "cp 36/36/35", "NodeLogQuery=true", 35, 36, NULL},
    {"the binary alone", "cp 34/33/32", "", 33, 33, NULL},
    {"no way back", "cp 36/36/36", "", 35, 35,
     "error steps : there is no way back to 1.35: with the minimum compatibility version 1.36, the "
     "API server may have stored what 1.35 cannot read (rule ApiserverCompatibility)"},
    {"below what binaries emulate", "cp 31/31/30", "", 30, 30,
     "error steps : there is no way back to 1.30: no binary emulates a version below 1.31"},
};

START_TEST(losses)
{
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n = test_parts_parse(back_rows[_i].parts, parts);
    struct ek_plan_instance instance = {
        .gates = back_rows[_i].gates, .by_default = true, .flags_read = true};
    const struct ek_plan_cluster cluster = {
        .parts = parts, .instances = &instance, .n = n, .complete = true};
    struct ek_plan_report report = {.arena = ek_arena_new((size_t)4 << 20)};
    const char *want = back_rows[_i].want;
    const struct ek_steps_goal goal = {.version = EK_MINOR(1, back_rows[_i].to),
                                       .binary = EK_MINOR(1, back_rows[_i].binary),
                                       .back = true,
                                       .policy = &test_parts_defaults};
    struct ek_plan_data data;
    struct ek_steps steps;
    char got[512] = "";
    bool found = !want;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    ek_plan_route(&cluster, &goal, &data, &report, &steps);
    for (size_t i = 0; i < report.n && !found; i++) {
        const struct ek_plan_finding *f = &report.list[i];
        snprintf(got, sizeof got, "%s %s %s: %s", ek_plan_severity_name(f->severity), f->rule,
                 f->object, f->message);
        found = !strncmp(got, want, strlen(want));
    }
    ck_assert_msg(found, "%s: %s", back_rows[_i].name, got);
    ck_assert_msg(want || !ek_plan_report_count(&report, EK_PLAN_ERROR), "%s", back_rows[_i].name);
    ek_arena_free(report.arena);
    ek_plan_data_done(&data);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cluster back");

    tcase_add_loop_test(tcase, way_back, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, one_step_back, 0, EK_ARRAY_SIZE(previous));
    tcase_add_loop_test(tcase, losses, 0, EK_ARRAY_SIZE(back_rows));
    return ek_test_run("cluster back", tcase);
}
