/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward in the frame without one of its rights (deploy/components/failforward*): what names
 * the right. With all rights the same cluster gets the write.
 */
#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/subject.h"
#include "reconcilers/failforward/report.h"
#include "test/registry/catalog.h"
#include "test/support/ff_cluster.h"
#include "test/support/suite.h"

#define OLM FF_CLUSTER_OLM

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

/* ---- Clusters ---- */

#define FAILED   "\"phase\":\"Failed\",\"message\":\"C is invalid: x\""
#define PENDING  "\"phase\":\"Pending\",\"reason\":\"RequirementsNotMet\""
#define RAN      "\"phase\":\"Succeeded\",\"reason\":\"InstallSucceeded\""
#define REPLACED "\"phase\":\"Replacing\",\"reason\":\"BeingReplaced\""

static void switch_on(void)
{
    ff_cluster_patch(&bench, FF_CLUSTER_GROUPS "/og",
                     "{\"spec\":{\"upgradeStrategy\":\"TechPreviewUnsafeFailForward\"}}");
}

/* The webhook of version 1 was down. */
static void webhook(void)
{
    ff_cluster_make_failure(&bench);
}

/* The plan of the first version failed. */
static void first(void)
{
    ff_cluster_make_namespace(&bench);
    ff_cluster_make_csv(&bench, "v1", "", PENDING);
    ff_cluster_make_plan(&bench, "p1", 1, "v1", FAILED);
    ff_cluster_make_sub(&bench, "v1", "v1");
}

/* The plan of version 2 failed before its CSV was created. */
static void absent(void)
{
    ff_cluster_make_namespace(&bench);
    ff_cluster_make_csv(&bench, "v1", "", RAN);
    ff_cluster_make_plan(
        &bench, "p2", 2, "v2",
        FAILED ",\"plan\":[{\"resolving\":\"v2\",\"status\":\"Unknown\",\"resource\":{\"kind\":"
               "\"ClusterServiceVersion\",\"name\":\"v2\",\"manifest\":\"{\\\"metadata\\\":{"
               "\\\"name\\\":\\\"v2\\\",\\\"annotations\\\":{\\\"operatorframework.io/properties"
               "\\\":\\\"x\\\"}},\\\"spec\\\":{\\\"version\\\":\\\"2.0.0\\\"}}\"}}]");
    ff_cluster_make_sub(&bench, "v2", "v1");
}

/* The plan of version 2 failed after its CSV was created. */
static void failed(void)
{
    ff_cluster_make_namespace(&bench);
    ff_cluster_make_csv(&bench, "v1", "", REPLACED);
    ff_cluster_make_csv(&bench, "v2", "v1", PENDING);
    ff_cluster_make_plan(&bench, "p2", 2, "v2", FAILED);
    ff_cluster_make_sub(&bench, "v2", "v2");
}

static void failed_and_on(void)
{
    failed();
    switch_on();
}

/* The same, held, and the plan of version 3 waits for approval. */
static void waiting(void)
{
    failed_and_on();
    ff_cluster_patch(&bench, OLM "clusterserviceversions/v2/status",
                     "{\"status\":{\"phase\":\"Failed\",\"reason\":"
                     "\"InstallComponentFailedNoRetry\",\"message\":\"" EK_FF_PIN_MESSAGE "\"}}");
    ff_cluster_make_plan(&bench, "p3", 3, "v3", "\"phase\":\"RequiresApproval\"");
}

/* ---- The catalog ---- */

#define ENTRY(name, more) "{\"name\":\"" name "\"" more "}"
#define V1                ENTRY("v1", "")
#define V2                ENTRY("v2", ",\"replaces\":\"v1\"")
#define AFTER             V1 "," V2 "," ENTRY("v3", ",\"replaces\":\"v2\"")
#define PAST              V1 "," V2 "," ENTRY("v3", ",\"replaces\":\"v1\",\"skips\":[\"v2\"]")
#define BUNDLE(name)                                                                               \
    "{\"schema\":\"olm.bundle\",\"package\":\"op\",\"name\":\"" name "\",\"properties\":[]}\n"

static struct ek_h2 *registry;
static struct ek_catalog *content;

static void serve(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    (void)ctx;
    ek_catalog_serve(content, path, body, reply);
}

/* A READY catalog with these entries of a channel. */
static void make_catalog(const char *entries)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"schema\":\"olm.package\",\"name\":\"op\",\"defaultChannel\":\"stable\"}\n"
                     "{\"schema\":\"olm.channel\",\"package\":\"op\",\"name\":\"stable\","
                     "\"entries\":[%s]}\n" BUNDLE("v1") BUNDLE("v2") BUNDLE("v3"),
                     entries);

    content = ek_catalog_parse(text, strlen(text));
    registry = ek_h2_new(&bench.world.bench.loop, 0, serve, NULL);
    ck_assert_ptr_nonnull(registry);
    EK_AUTOFREE char *source =
        ek_xasprintf("{\"metadata\":{\"name\":\"cat\"},\"spec\":{\"address\":\"127.0.0.1:%d\"}}",
                     ek_h2_port(registry));
    subjectbench_post(&bench, OLM "catalogsources", source);
    ff_cluster_patch(&bench, OLM "catalogsources/cat/status",
                     "{\"status\":{\"connectionState\":{\"lastObservedState\":\"READY\"}}}");
}

static void end(void)
{
    if (registry)
        ek_h2_close(registry);
    subjectbench_stop(&bench);
    ek_catalog_free(content);
    registry = NULL;
    content = NULL;
}

/* ---- Tests ---- */

/* A right to act that is missing blocks the step, and the report names it. */
static const struct {
    const char *right;
    void (*make)(void);
    const char *entries, *mode;
    const char *write; /* that the right is for */
} acts[] = {
    {"patch subscriptions", first, V1 "," V2, "Assist", "Resolve"},
    {"patch subscriptions/status", absent, PAST, "Assist", "Clear"},
    {"patch installplans", waiting, AFTER, "Assist", "Approve"},
    {"patch installplans/status", webhook, V1 "," V2, "Assist", "Retry"},
    {"patch operatorgroups", failed, V1 "," V2, "Assist", "SwitchOn"},
    {"patch clusterserviceversions/status", failed_and_on, AFTER, "Assist", "Hold"},
    {"create clusterserviceversions", absent, AFTER, "Force", "StandIn"},
    {"delete clusterserviceversions", failed, PAST, "Force", "Delete"},
    {"patch configmaps", failed, PAST, "Force", "Delete"},
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
        acts[_i].make();
        make_catalog(acts[_i].entries);
        ff_cluster_consent(&bench, acts[_i].mode, "Any", ",\"approve\":true");
        subjectbench_run(&bench, 0, NULL);
        subjectbench_wait_for_metrics(&bench, count);
        if (denied) {
            apiworld_wait_for(&bench.world, FF_CLUSTER_REPORTS "/op",
                              "\"reason\":\"ActionNotAllowed\"");
            apiworld_wait_for(&bench.world, FF_CLUSTER_REPORTS "/op", named);
        }
        end();
    }
}
END_TEST

/* An Event is no step: the error of the Event that is lost names the right. */
START_TEST(a_right_to_record)
{
    begin_without("create events");
    webhook();
    ff_cluster_consent(&bench, "Observe", "Any", "");
    subjectbench_run(&bench, 0, NULL);
    while (!strstr(bench.slots[0].lost.message, "cannot create resource \"events\""))
        subjectbench_turn(&bench);
    end();
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
    end();
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
    webhook();
    ff_cluster_consent(&bench, "Observe", "Any", "");
    subjectbench_run(&bench, 0, NULL);
    subjectbench_wait_for_debug(&bench, cases[_i][1]);
    end();
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
