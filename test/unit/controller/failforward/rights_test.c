/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward in the frame without one of its rights (deploy/components/failforward*): what names
 * the right. With all rights the same cluster gets the write.
 */
#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/subject.h"
#include "test/support/ff_cluster.h"
#include "test/support/suite.h"

static struct subjectbench bench;
static const struct ek_subject *subject = &ek_failforward_subject;

/* The rights of the mode Force, one of each in a row. */
static const char *const all_rights[] = {"get,list,watch *",
                                         "create failforwardstatuses",
                                         "patch failforwardstatuses/status",
                                         "create events",
                                         "patch events",
                                         "patch subscriptions",
                                         "patch subscriptions/status",
                                         "patch installplans",
                                         "patch installplans/status",
                                         "patch clusterserviceversions/status",
                                         "patch operatorgroups",
                                         "create clusterserviceversions",
                                         "delete clusterserviceversions",
                                         "patch configmaps"};

/* Starts the bench without the right; NULL: with all of them. */
static void begin_without(const char *right)
{
    EK_AUTO(ek_buf) rules;
    bool found = !right;

    ek_buf_init(&rules, 4096);
    for (size_t i = 0; i < EK_ARRAY_SIZE(all_rights); i++) {
        bool is = right && !strcmp(right, all_rights[i]);
        if (!is)
            ek_buf_printf(&rules, "%s;", all_rights[i]);
        found = found || is;
    }
    ck_assert_msg(found, "no such right: %s", right);
    subjectbench_start(&bench, ek_buf_str(&rules), &subject, 1);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
}

/* ---- Tests ---- */

/* A right to act that is missing blocks the step, and the report names it. */
static const struct {
    const char *right;
    void (*make)(struct subjectbench *bench);
    const char *entries, *mode;
    const char *write; /* that the right is for */
} acts[] = {
    {"patch subscriptions", ff_cluster_first, FF_CLUSTER_V1 "," FF_CLUSTER_V2, "Assist", "Resolve"},
    {"patch subscriptions/status", ff_cluster_absent, FF_CLUSTER_PAST, "Assist", "Clear"},
    {"patch installplans", ff_cluster_waiting, FF_CLUSTER_AFTER, "Assist", "Approve"},
    {"patch installplans/status", ff_cluster_make_failure, FF_CLUSTER_V1 "," FF_CLUSTER_V2,
     "Assist", "Retry"},
    {"patch operatorgroups", ff_cluster_failed, FF_CLUSTER_V1 "," FF_CLUSTER_V2, "Assist",
     "SwitchOn"},
    {"patch clusterserviceversions/status", ff_cluster_switched_on, FF_CLUSTER_AFTER, "Assist",
     "Hold"},
    {"create clusterserviceversions", ff_cluster_absent, FF_CLUSTER_AFTER, "Force", "StandIn"},
    {"delete clusterserviceversions", ff_cluster_failed, FF_CLUSTER_PAST, "Force", "Delete"},
    {"patch configmaps", ff_cluster_failed, FF_CLUSTER_PAST, "Force", "Delete"},
};

START_TEST(a_right_to_act)
{
    for (int denied = 0; denied < 2; denied++) {
        const char *what = strchr(acts[_i].right, ' ') + 1;
        EK_AUTOFREE char *named =
            ek_xasprintf("cannot %.*s resource \\\"%.*s\\\"", (int)(what - acts[_i].right - 1),
                         acts[_i].right, (int)strlen(what), what);
        EK_AUTOFREE char *count =
            ek_xasprintf("evenkeel_failforward_actions_total{action=\"%s\",result=\"%s\"} 1",
                         acts[_i].write, denied ? "denied" : "done");
        begin_without(denied ? acts[_i].right : NULL);
        acts[_i].make(&bench);
        ff_cluster_make_catalog(&bench, acts[_i].entries);
        ff_cluster_consent(&bench, acts[_i].mode, "Any", ",\"approve\":true");
        subjectbench_run(&bench, 0, NULL);
        subjectbench_wait_for_metrics(&bench, count);
        if (denied) {
            apiworld_wait_for(&bench.world, FF_CLUSTER_REPORTS "/op",
                              "\"reason\":\"ActionNotAllowed\"");
            apiworld_wait_for(&bench.world, FF_CLUSTER_REPORTS "/op", named);
        }
        ff_cluster_stop(&bench);
    }
}
END_TEST

/* An Event is no step: the error of the Event that is lost names the right. */
START_TEST(a_right_to_record)
{
    begin_without("create events");
    ff_cluster_make_failure(&bench);
    ff_cluster_consent(&bench, "Observe", "Any", "");
    subjectbench_run(&bench, 0, NULL);
    while (!strstr(bench.slots[0].lost.message, "cannot create resource \"events\""))
        subjectbench_turn(&bench);
    ff_cluster_stop(&bench);
}
END_TEST

static const char *const read_kinds[] = {"subscriptions",
                                         "installplans",
                                         "clusterserviceversions",
                                         "operatorgroups",
                                         "operatorconditions",
                                         "catalogsources",
                                         "namespaces",
                                         "failforwardpolicies",
                                         "failforwardstatuses",
                                         "validatingwebhookconfigurations",
                                         "mutatingwebhookconfigurations"};

/* A kind that may not be read is named. */
START_TEST(a_kind_that_may_not_be_read)
{
    EK_AUTO(ek_buf) rules;
    bool named = false, is_blind;

    ek_buf_init(&rules, 4096);
    for (int i = 0; i < (int)EK_ARRAY_SIZE(read_kinds); i++)
        if (i != _i)
            ek_buf_printf(&rules, "list,watch %s;", read_kinds[i]);
    ek_buf_puts(&rules, "create,patch failforwardstatuses");
    subjectbench_start(&bench, ek_buf_str(&rules), &subject, 1);
    ff_cluster_install_olm(&bench);
    ff_cluster_install_reports(&bench);
    subjectbench_run(&bench, 0, NULL);
    while (!named) {
        const struct ek_watchset *set = ek_controller_watchset(bench.slots[0].controller);
        EK_AUTOFREE char *problem = ek_watchset_problem(set, &is_blind);
        named = problem && !strncmp(problem, read_kinds[_i], strlen(read_kinds[_i]));
        ck_assert_msg(!problem || named, "%s: %s", read_kinds[_i], problem);
        subjectbench_turn(&bench);
    }
    ff_cluster_stop(&bench);
}
END_TEST

/* Without a right to report, the run fails with the right in its error. */
START_TEST(a_report_that_may_not_be_written)
{
    static const char *const cases[][2] = {
        {"create failforwardstatuses", "cannot create resource"},
        {"patch failforwardstatuses/status", "cannot patch resource"},
    };

    begin_without(cases[_i][0]);
    ff_cluster_make_failure(&bench);
    ff_cluster_consent(&bench, "Observe", "Any", "");
    subjectbench_run(&bench, 0, NULL);
    subjectbench_wait_for_debug(&bench, cases[_i][1]);
    ff_cluster_stop(&bench);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rights");

    tcase_add_loop_test(tc, a_right_to_act, 0, EK_ARRAY_SIZE(acts));
    tcase_add_test(tc, a_right_to_record);
    tcase_add_loop_test(tc, a_kind_that_may_not_be_read, 0, EK_ARRAY_SIZE(read_kinds));
    tcase_add_loop_test(tc, a_report_that_may_not_be_written, 0, 2);
    return ek_test_run("failforward_rights", tc);
}
