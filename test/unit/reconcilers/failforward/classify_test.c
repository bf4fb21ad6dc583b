/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/classify.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define OK "og on; cat; "

/* class, failing CSV, kind and name of the object that says so. */
static const struct {
    const char *name, *scene, *class, *failing, *kind, *object;
    enum ek_ff_cause cause;
} rows[] = {
    {"healthy", OK "sub v1 v1; csv v1 Succeeded ran ago=900; plan p1 v1 Complete", "", "", NULL,
     NULL, 0},
    {"an upgrade under way", OK "sub v2 v1; csv v1 Replacing ran; csv v2<v1 Installing ran ago=5",
     "", "v2", NULL, NULL, 0},
    {"F1: no CSV", OK "sub v2 v1; csv v1 Succeeded ran; plan p2 v2 Failed gen=2 'x is invalid: y'",
     "F1", "v2", "InstallPlan", "p2", EK_FF_PERMANENT},
    {"F1: the newest plan counts",
     OK "sub v2 v1; csv v1 Succeeded; plan p3 v2 Installing gen=3; plan p2 v2 Failed gen=2 'x'", "",
     "", NULL, NULL, 0},
    {"F1: the plan is gone", OK "sub v2 v1 ref=p2; csv v1 Succeeded ran", "F1", "v2",
     "Subscription", "op", EK_FF_PERMANENT},
    {"F1: the CSV is a copy",
     OK "sub v2 v1; csv v1 Succeeded; csv v2<v1 Succeeded copied; plan p2 v2 Failed 'x'", "F1",
     "v2", "InstallPlan", "p2", EK_FF_UNKNOWN},
    {"F1: the CSV is of another namespace",
     OK "sub v2 v1; csv v1 Succeeded; csv v2<v1 Succeeded elsewhere; plan p2 v2 Failed 'x'", "F1",
     "v2", "InstallPlan", "p2", EK_FF_UNKNOWN},
    {"F2: Pending after a failed plan",
     OK "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Failed "
        "'failed calling webhook'",
     "F2", "v2", "InstallPlan", "p2", EK_FF_TRANSIENT},
    {"F2: a hopeless retry is one at once",
     OK
     "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
     "'x is invalid: y'",
     "F2", "v2", "InstallPlan", "p2", EK_FF_PERMANENT},
    {"a retry that may help is none",
     OK
     "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
     "ago=30 'failed calling webhook'",
     "", "", NULL, NULL, 0},
    {"F2: not once the operator works",
     OK "sub v2 v2; csv v2 Succeeded ran ago=60; plan p2 v2 Failed 'x is invalid: y'", "", "", NULL,
     NULL, 0},
    {"F3: Failed", OK "sub v2 v2; csv v2 Failed/InstallCheckFailed ran ago=60; plan p2 v2 Complete",
     "F3", "v2", "ClusterServiceVersion", "v2", EK_FF_SLOW},
    {"F3: not healthy in time",
     OK
     "sub v2 v2; csv v2 Installing/InstallWaiting ran ago=21 'waiting for deployment'; plan p2 v2 "
     "Complete",
     "F3", "v2", "ClusterServiceVersion", "v2", EK_FF_SLOW},
    {"F2: behind a plan that waits for approval",
     OK "sub v3 v2; csv v1 Replacing ran; csv v2<v1 Failed/InstallComponentFailedNoRetry 'x'; "
        "plan p2 v2 Failed 'C is invalid: x'; plan p3 v3 RequiresApproval gen=3",
     "F2", "v2", "InstallPlan", "p2", EK_FF_PERMANENT},
    {"an old failure of the resolution, before the plan that waits",
     OK "sub v3 v2 unresolved=10; csv v2 Succeeded ran ago=900; plan p3 v3 RequiresApproval gen=3",
     "", "", NULL, NULL, 0},
    {"F3: not yet",
     OK "sub v2 v2; csv v2 Installing/InstallWaiting ran ago=19; plan p2 v2 Complete", "", "", NULL,
     NULL, 0},
    {"F3: Replacing without a replacement",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Replacing ago=60", "F3", "v2",
     "ClusterServiceVersion", "v2", EK_FF_PERMANENT},
    {"F4: counted, although the phase is young",
     OK
     "sub v2 v2; csv v2 Pending/NeedsReinstall ran fails=3/InstallComponentFailed 'D is invalid: "
     "x'; plan p2 v2 Complete",
     "F4", "v2", "ClusterServiceVersion", "v2", EK_FF_PERMANENT},
    {"F4: two are not enough",
     OK "sub v2 v2; csv v2 Pending/NeedsReinstall ran fails=2/InstallComponentFailed; plan p2 v2 "
        "Complete",
     "", "", NULL, NULL, 0},
    {"F5: held",
     OK
     "sub v2 v2; csv v2 Failed/InstallComponentFailedNoRetry ran 'is forbidden: exceeded quota'; "
     "plan p2 v2 Complete",
     "F5", "v2", "ClusterServiceVersion", "v2", EK_FF_SLOW},
    {"F5: an administrator",
     OK "sub v1 v1; csv v1 Failed/TooManyOperatorGroups ran; plan p1 v1 Complete", "F5", "v1",
     "ClusterServiceVersion", "v1", EK_FF_ADMIN},
    {"F6: a requirement",
     OK
     "sub v2 v2; csv v2 Pending/RequirementsNotMet unmet ago=60 'minKubeVersion (99.0.0) > server "
     "version (1.36.2)'; plan p2 v2 Complete done=60",
     "F6", "v2", "ClusterServiceVersion", "v2", EK_FF_PERMANENT},
    {"F6: OLM has not looked since the plan completed",
     OK "sub v2 v2; csv v2 Pending/RequirementsNotMet unmet ago=60 'x'; plan p2 v2 Complete done=3",
     "", "", NULL, NULL, 0},
    {"F6: a lost account",
     OK "sub v1 v1; csv v1 Pending/RequirementsNotMet ran account; plan p1 v1 Complete done=900",
     "F6", "v1", "ClusterServiceVersion", "v1", EK_FF_TRANSIENT},
    {"F6: not upgradeable",
     OK
     "sub v2 v2; csv v1 Succeeded; csv v2<v1 Pending/OperatorConditionNotUpgradeable; plan p2 v2 "
     "Complete",
     "F6", "v2", "ClusterServiceVersion", "v2", EK_FF_ADMIN},
    {"F7: forbidden never ends",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=30 'services is forbidden: User x cannot'",
     "F7", "v2", "InstallPlan", "p2", EK_FF_ADMIN},
    {"F7: a quota that is used up ends a retry no more than a right that is missing",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=30 'error creating x: services is forbidden: exceeded quota: few, requested: x'",
     "F7", "v2", "InstallPlan", "p2", EK_FF_ADMIN},
    {"F7: an admission policy",
     OK "sub v2 v1; csv v1 Succeeded; plan p2 v2 Installing ago=30 'services is forbidden: "
        "ValidatingAdmissionPolicy p with binding b denied request: no'",
     "F7", "v2", "InstallPlan", "p2", EK_FF_ADMIN},
    {"F7: a namespace that ends",
     OK "sub v2 v1; csv v1 Succeeded; plan p2 v2 Installing ago=30 'services is forbidden: unable "
        "to create new content in namespace ns because it is being terminated'",
     "F7", "v2", "InstallPlan", "p2", EK_FF_ADMIN},
    {"F7: the ServiceAccount of the operator group does not exist",
     OK "sub v1 -; plan p1 v1 Installing ago=30 check=30 'no operator group found that is managing "
        "this namespace'",
     "F7", "v1", "InstallPlan", "p1", EK_FF_ADMIN},
    {"an operator group that OLM has not looked at yet",
     OK "sub v1 -; plan p1 v1 Installing ago=30 check=5 'no operator group found that is managing "
        "this namespace'",
     "", "v1", NULL, NULL, 0},
    {"F7: the same after S1",
     OK "sub v1 -; plan p1 v1 Installing ago=30 retried=30 check=30 'please make sure the service "
        "account exists. sa=x operatorgroup=ns/og0'",
     "F7", "v1", "InstallPlan", "p1", EK_FF_ADMIN},
    {"F2: a plan that was given up on is retried, also after Forbidden",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Failed "
        "ago=30 'services is forbidden: exceeded quota: few'",
     "F2", "v2", "InstallPlan", "p2", EK_FF_SLOW},
    {"F7: ten minutes",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=600 'i/o timeout'",
     "F7", "v2", "InstallPlan", "p2", EK_FF_TRANSIENT},
    {"F7: OLM has not begun since the retry",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=600 retried=120",
     "F7", "v2", "InstallPlan", "p2", EK_FF_TRANSIENT},
    {"F7: the same without a CSV",
     OK "sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Installing ago=600 retried=120", "F7",
     "v2", "InstallPlan", "p2", EK_FF_TRANSIENT},
    {"a retry that OLM has time to begin with",
     OK "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=600 retried=119",
     "", "", NULL, NULL, 0},
    {"F9: younger than the installed version",
     OK "sub v1 v1 unresolved=60; csv v1 Succeeded ran ago=900", "F9", "", "Subscription", "op", 0},
    {"a resolution that failed before the upgrade ended proves nothing",
     OK "sub v2 v2 unresolved=60; csv v2 Succeeded ran ago=50", "", "", NULL, NULL, 0},
    {"F9: two operator groups", "og; og; cat; sub v1 v1; csv v1 Succeeded ran ago=900", "F9", "",
     "Subscription", "op", EK_FF_ADMIN},
    {"F9: the rest of a version without the install mode",
     OK "sub v3 v3 unresolved=30; csv v2 Failed/UnsupportedOperatorGroup; csv v3<v2 Succeeded ran "
        "ago=60",
     "F9", "", "Subscription", "op", EK_FF_ADMIN},
    {"F10: crashes",
     OK
     "sub v2 v2; csv v2 Pending/NeedsReinstall ran fails=2/ComponentUnhealthy; plan p2 v2 Complete",
     "F10", "v2", "ClusterServiceVersion", "v2", EK_FF_SLOW},
    {"F10: Succeeded for a moment",
     OK "sub v2 v2; csv v2 Succeeded ran ago=60 fails=2/ComponentUnhealthy; plan p2 v2 Complete",
     "F10", "v2", "ClusterServiceVersion", "v2", EK_FF_SLOW},
    {"F10: ends", OK "sub v2 v2; csv v2 Succeeded ran ago=361 fails=2/ComponentUnhealthy", "", "",
     NULL, NULL, 0},
    {"the blocked one of a chain",
     OK "sub v3 v3; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; csv v3<v2 Pending; "
        "plan p2 "
        "v2 Failed gen=2 'x is invalid: y'; plan p3 v3 Complete gen=3",
     "F2", "v2", "InstallPlan", "p2", EK_FF_PERMANENT},
    {"a loop of CSVs ends", OK "sub a a; csv a<b Succeeded ago=900; csv b<a Succeeded ago=900", "",
     "", NULL, NULL, 0},
};

START_TEST(classes)
{
    struct ek_ff_scene scene;
    struct ek_ff_state state;
    struct ek_ff_finding finding;

    ek_ff_scene_init(&scene, rows[_i].scene);
    ek_ff_observe(&scene.world, ek_ff_scene_sub(&scene, "op"), EK_FF_NOW, &state);
    ek_ff_classify(&state, EK_FF_NOW, &finding);
    const char *class = ek_ff_class_name(finding.class);
    ck_assert_msg(!strcmp(class, rows[_i].class), "%s: %s", rows[_i].name, class);
    if (*class) {
        ck_assert_msg(!strcmp(finding.failing, rows[_i].failing), "%s: %s", rows[_i].name,
                      finding.failing);
        ck_assert_str_eq(finding.kind, rows[_i].kind);
        ck_assert_str_eq(finding.name, rows[_i].object);
        ck_assert_msg(finding.cause == rows[_i].cause, "%s: %s", rows[_i].name,
                      ek_ff_cause_name(finding.cause));
        ck_assert_ptr_nonnull(finding.text);
        if (finding.class == EK_FF_F4 || finding.class == EK_FF_F10)
            ck_assert_str_eq(finding.phase, "Failed");
    }
    ek_ff_scene_done(&scene);
}
END_TEST

/* A state that passes is judged again when it stops to pass. */
START_TEST(again)
{
    struct ek_ff_scene scene;
    struct ek_ff_state state;
    struct ek_ff_finding finding;

    ek_ff_scene_init(&scene, OK "sub v2 v2; csv v2 Installing ran ago=5; plan p2 v2 Complete");
    ek_ff_observe(&scene.world, ek_ff_scene_sub(&scene, "op"), EK_FF_NOW, &state);
    ek_ff_classify(&state, EK_FF_NOW, &finding);
    ck_assert_int_eq(finding.again_ms, EK_FF_NOW + 15000);
    ek_ff_classify(&state, finding.again_ms, &finding);
    ck_assert_str_eq(ek_ff_class_name(finding.class), "F3");
    ek_ff_scene_done(&scene);
}
END_TEST

/* Failures are counted within half an hour. */
START_TEST(window)
{
    static const int64_t minutes[] = {0, 27, 28, 60};
    static const unsigned counts[] = {3, 3, 2, 0};
    struct ek_ff_scene scene;
    struct ek_ff_state state;

    ek_ff_scene_init(&scene, OK "sub v2 v2; csv v2 Pending/NeedsReinstall ran fails=3/X");
    for (size_t i = 0; i < EK_ARRAY_SIZE(minutes); i++) {
        ek_ff_observe(&scene.world, ek_ff_scene_sub(&scene, "op"), EK_FF_NOW + minutes[i] * 60000,
                      &state);
        ck_assert_uint_eq(state.head.n_failed, counts[i]);
    }
    ek_ff_scene_done(&scene);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, classes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, again);
    tcase_add_test(tc, window);
    return ek_test_run("classify", tc);
}
