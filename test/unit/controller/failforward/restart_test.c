/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leader that is killed between any two writes of its steps, against the built-in API server: the
 * next process carries the steps on, and nothing is written twice before OLM had its time to move.
 * The memory of the steps is the FailForwardStatus alone.
 */
#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/subject.h"
#include "reconcilers/failforward/classify.h"
#include "test/support/ff_cluster.h"
#include "test/support/suite.h"

#define OLM FF_CLUSTER_OLM

/* 2099-01-01T00:00:00Z: later than the creation times that the server gives to objects. */
#define LATER INT64_C(4070908800000)

static struct subjectbench bench;
static struct ek_metrics *metrics; /* of the next process */
static int n_left; /* writes until the process is killed; 0: it is dead, or lives on */

/* Version 1 has the label of its package, as OLM writes it. */
static void labeled(struct subjectbench *cluster)
{
    ff_cluster_failed(cluster);
    ff_cluster_patch(cluster, OLM "clusterserviceversions/v1",
                     "{\"metadata\":{\"labels\":{\"operators.coreos.com/op.ns\":\"\"}}}");
}

static const struct row {
    void (*make)(struct subjectbench *bench);
    const char *entries, *mode;
    const char *path, *piece; /* that the last step writes */
} rows[] = {
    {ff_cluster_make_failure, FF_CLUSTER_V1 "," FF_CLUSTER_V2, "Assist", OLM "installplans/p2",
     "\"phase\":\"Installing\""}, /* S1 */
    {ff_cluster_first, FF_CLUSTER_V1 "," FF_CLUSTER_V2, "Assist", OLM "subscriptions/op",
     "failforward.evenkeel.dev/resolve"}, /* S0 */
    {ff_cluster_failed, FF_CLUSTER_V1 "," FF_CLUSTER_V2, "Assist", FF_CLUSTER_GROUPS "/og",
     "TechPreviewUnsafeFailForward"}, /* S2 without an edge */
    {ff_cluster_failed, FF_CLUSTER_AFTER, "Assist", FF_CLUSTER_GROUPS "/og",
     "TechPreviewUnsafeFailForward"}, /* S3a, S2 */
    {ff_cluster_switched_on, FF_CLUSTER_AFTER, "Assist", OLM "subscriptions/op",
     "failforward.evenkeel.dev/resolve"}, /* S3a and the annotation */
    {ff_cluster_replaced, FF_CLUSTER_AFTER, "Assist", OLM "clusterserviceversions/v2",
     "\"phase\":\"Replacing\""}, /* S3b */
    {ff_cluster_waiting, FF_CLUSTER_AFTER, "Assist", OLM "installplans/p3",
     "\"approved\":true"}, /* S3c */
    {ff_cluster_absent, FF_CLUSTER_AFTER, "Force", OLM "clusterserviceversions/v2",
     "\"minKubeVersion\""}, /* S3d */
    {ff_cluster_absent, FF_CLUSTER_PAST, "Assist", OLM "subscriptions/op",
     "\"currentCSV\":\"v1\""}, /* S5 */
    {labeled, FF_CLUSTER_PAST, "Force", OLM "subscriptions/op",
     "\"currentCSV\":\"v1\""}, /* S6: a copy, the deletion, CSV v1, the Subscription */
};

static void dying_answered(void *data, const struct ek_intent *intent, const struct ek_obj *obj,
                           struct ek_err *err)
{
    if (intent->verb != EK_LIST && n_left && !--n_left)
        bench.slots[0].leads = false; /* it sends nothing more */
    ek_failforward_subject.answered(data, intent, obj, err);
}

static bool has_ended(const struct row *row)
{
    EK_AUTOFREE char *body = NULL;

    apiworld_request(&bench.world, "GET", row->path, NULL, &body);
    return strstr(body, row->piece) != NULL;
}

/* How often the write of a line was carried out up to that line; 0: the line is none of a step. */
static unsigned count(const char *line, size_t len)
{
    EK_AUTOFREE char *first = ek_xstrndup(line, len);
    const char *write = strstr(first, "\"user\":\"evenkeel\"");
    unsigned n = 0;

    if (!write || !strstr(first, "\"code\":20") || strstr(first, "\"verb\":\"list\"") ||
        strstr(first, "\"verb\":\"watch\"") || strstr(first, "\"verb\":\"get\"") ||
        strstr(first, "failforwardstatuses") || strstr(first, "\"resource\":\"events\""))
        return 0;
    char *end = strstr(write, ",\"userAgent\"");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    for (const char *at = bench.world.requests; at < line + len; n++) {
        at = strstr(at, write);
        if (!at || at >= line + len)
            break;
        at++;
    }
    return n;
}

/* No write of a step was carried out more often than that. */
static void check_writes(unsigned max, int n_writes)
{
    const char *line = bench.world.requests;

    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        unsigned n = count(line, (size_t)(end - line));
        ck_assert_msg(n <= max, "killed after %d writes: %u times: %.*s", n_writes, n,
                      (int)(end - line), line);
    }
}

/* The process at work. True when the steps were carried out before the process was killed. */
static bool work_until_killed(const struct row *row, int n_writes)
{
    bool ended = false;

    n_left = n_writes;
    subjectbench_run(&bench, 0, NULL);
    while (n_left && !ended) {
        subjectbench_turn(&bench);
        ended = has_ended(row);
    }
    n_left = 0;
    subjectbench_close(&bench, 0);
    return ended;
}

/* The next process. First it knows what was written a moment ago, later OLM has had its time. */
static void go_on(const struct row *row, int n_writes)
{
    struct ek_subject_env env = subjectbench_env(&bench, 0);

    env.metrics = metrics = ek_metrics_new();
    bench.slots[0].leads = true;
    subjectbench_run(&bench, 0, &env);
    subjectbench_wait_for_debug(&bench, "\"withConsent\":1");
    apiworld_wait_for(&bench.world, FF_CLUSTER_REPORTS "/op", "\"class\":\"F");
    for (int i = 0; i < 20; i++)
        subjectbench_turn(&bench);
    check_writes(1, n_writes);
    for (int i = 0; !has_ended(row); i++) {
        EK_AUTOFREE char *label = ek_xasprintf("{\"metadata\":{\"labels\":{\"n\":\"%d\"}}}", i);
        if (i % 1000 == 0)
            subjectbench_now += EK_FF_VERIFY_MS + 1000;
        ff_cluster_patch(&bench, "/api/v1/namespaces/ns", label); /* has the namespace judged */
    }
    check_writes(2, n_writes);
}

START_TEST(a_leader_is_killed)
{
    struct ek_subject dying = ek_failforward_subject;
    const struct ek_subject *subject = &dying;
    bool ended = false;

    dying.answered = dying_answered;
    for (int n_writes = 1; !ended; n_writes++) {
        subjectbench_start(&bench, NULL, &subject, 1);
        subjectbench_now = LATER;
        ff_cluster_install_olm(&bench);
        ff_cluster_install_reports(&bench);
        rows[_i].make(&bench);
        ff_cluster_make_catalog(&bench, rows[_i].entries);
        ff_cluster_consent(&bench, rows[_i].mode, "Any", ",\"approve\":true");
        ended = work_until_killed(&rows[_i], n_writes);
        if (!ended)
            go_on(&rows[_i], n_writes);
        check_writes(ended ? 1 : 2, n_writes);
        ck_assert_msg(!ended || n_writes > 2, "no write of a step was cut off");
        ff_cluster_stop(&bench);
        ek_metrics_free(metrics);
        metrics = NULL;
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("restart");

    tcase_add_loop_test(tc, a_leader_is_killed, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("failforward_restart", tc);
}
