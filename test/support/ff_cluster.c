/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/ff_cluster.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/ladder.h"
#include "test/registry/catalog.h"

#define OLM FF_CLUSTER_OLM

static void install(struct subjectbench *bench, const char *group, const char *plural,
                    const char *kind, const char *version)
{
    EK_AUTOFREE char *crd = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s.%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"%s\",\"names\":"
        "{\"plural\":\"%s\",\"singular\":\"x%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"%s\","
        "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":"
        "true}}}]}}",
        plural, group, group, strcmp(kind, "FailForwardPolicy") == 0 ? "Cluster" : "Namespaced",
        plural, plural, kind, version);
    subjectbench_post(bench, SUBJECTBENCH_CRDS, crd);
}

void ff_cluster_install_olm(struct subjectbench *bench)
{
    static const char *const kinds[][3] = {
        {"subscriptions", "Subscription", "v1alpha1"},
        {"installplans", "InstallPlan", "v1alpha1"},
        {"clusterserviceversions", "ClusterServiceVersion", "v1alpha1"},
        {"catalogsources", "CatalogSource", "v1alpha1"},
        {"operatorgroups", "OperatorGroup", "v1"},
        {"operatorconditions", "OperatorCondition", "v2"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        install(bench, "operators.coreos.com", kinds[i][0], kinds[i][1], kinds[i][2]);
}

void ff_cluster_install_reports(struct subjectbench *bench)
{
    install(bench, "evenkeel.dev", "failforwardpolicies", "FailForwardPolicy", "v1alpha1");
    install(bench, "evenkeel.dev", "failforwardstatuses", "FailForwardStatus", "v1alpha1");
}

void ff_cluster_patch(struct subjectbench *bench, const char *path, const char *body)
{
    int status = apiworld_request(&bench->world, "PATCH", path, body, NULL);
    ck_assert_msg(status == 200, "%s: %d", path, status);
}

void ff_cluster_make_namespace(struct subjectbench *bench)
{
    subjectbench_post(bench, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns\"}}");
    subjectbench_post(bench, FF_CLUSTER_GROUPS, "{\"metadata\":{\"name\":\"og\"}}");
}

static void set_status(struct subjectbench *bench, const char *plural, const char *name,
                       const char *status)
{
    EK_AUTOFREE char *path = ek_xasprintf(OLM "%s/%s/status", plural, name);
    EK_AUTOFREE char *body = ek_xasprintf("{\"status\":{%s}}", status);

    ff_cluster_patch(bench, path, body);
}

void ff_cluster_make_sub(struct subjectbench *bench, const char *current, const char *installed)
{
    EK_AUTOFREE char *status =
        ek_xasprintf("\"currentCSV\":\"%s\",\"installedCSV\":\"%s\"", current, installed);

    subjectbench_post(bench, OLM "subscriptions",
                      "{\"metadata\":{\"name\":\"op\"},\"spec\":{\"name\":\"op\",\"source\":"
                      "\"cat\",\"sourceNamespace\":\"ns\"}}");
    set_status(bench, "subscriptions", "op", status);
}

void ff_cluster_make_csv(struct subjectbench *bench, const char *name, const char *replaces,
                         const char *status)
{
    EK_AUTOFREE char *body = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"replaces\":\"%s\"}}", name, replaces);

    subjectbench_post(bench, OLM "clusterserviceversions", body);
    set_status(bench, "clusterserviceversions", name, status);
}

void ff_cluster_make_plan(struct subjectbench *bench, const char *name, int generation,
                          const char *csv, const char *status)
{
    char *sub = NULL, *uid = NULL;

    if (apiworld_request(&bench->world, "GET", OLM "subscriptions/op", NULL, &sub) == 200)
        uid = strstr(sub, "\"uid\":\"");
    EK_AUTOFREE char *owner =
        ek_xasprintf(",\"ownerReferences\":[{\"apiVersion\":\"operators.coreos.com/v1alpha1\","
                     "\"kind\":\"Subscription\",\"name\":\"op\",%.44s}]",
                     uid ? uid : "");
    EK_AUTOFREE char *body =
        ek_xasprintf("{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"generation\":%d,"
                     "\"clusterServiceVersionNames\":[\"%s\"]}}",
                     name, uid ? owner : "", generation, csv);
    ek_free(sub);

    subjectbench_post(bench, OLM "installplans", body);
    set_status(bench, "installplans", name, status);
}

void ff_cluster_make_failure(struct subjectbench *bench)
{
    ff_cluster_make_namespace(bench);
    ff_cluster_make_csv(bench, "v1", "", "\"phase\":\"Replacing\"");
    ff_cluster_make_csv(bench, "v2", "v1",
                        "\"phase\":\"Pending\",\"reason\":\"RequirementsNotMet\"");
    ff_cluster_make_plan(bench, "p2", 2, "v2",
                         "\"phase\":\"Failed\",\"message\":\"failed calling webhook x\","
                         "\"startTime\":\"2026-11-20T10:00:00Z\"");
    ff_cluster_make_sub(bench, "v2", "v2");
}

void ff_cluster_consent(struct subjectbench *bench, const char *mode, const char *versions,
                        const char *more)
{
    EK_AUTOFREE char *policy = ek_xasprintf(
        "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"%s\",\"graceSeconds\":0,"
        "\"olmVersions\":\"%s\"%s}}",
        mode, versions, more);

    subjectbench_post(bench, "/apis/evenkeel.dev/v1alpha1/failforwardpolicies", policy);
}

/* ---- Failures ---- */

#define FAILED   "\"phase\":\"Failed\",\"message\":\"C is invalid: x\""
#define PENDING  "\"phase\":\"Pending\",\"reason\":\"RequirementsNotMet\""
#define RAN      "\"phase\":\"Succeeded\",\"reason\":\"InstallSucceeded\""
#define REPLACED "\"phase\":\"Replacing\",\"reason\":\"BeingReplaced\""

static void switch_on(struct subjectbench *bench)
{
    ff_cluster_patch(bench, FF_CLUSTER_GROUPS "/og",
                     "{\"spec\":{\"upgradeStrategy\":\"TechPreviewUnsafeFailForward\"}}");
}

void ff_cluster_first(struct subjectbench *bench)
{
    ff_cluster_make_namespace(bench);
    ff_cluster_make_csv(bench, "v1", "", PENDING);
    ff_cluster_make_plan(bench, "p1", 1, "v1", FAILED);
    ff_cluster_make_sub(bench, "v1", "v1");
}

void ff_cluster_absent(struct subjectbench *bench)
{
    ff_cluster_make_namespace(bench);
    ff_cluster_make_csv(bench, "v1", "", RAN);
    ff_cluster_make_plan(
        bench, "p2", 2, "v2",
        FAILED ",\"plan\":[{\"resolving\":\"v2\",\"status\":\"Unknown\",\"resource\":{\"kind\":"
               "\"ClusterServiceVersion\",\"name\":\"v2\",\"manifest\":\"{\\\"metadata\\\":{"
               "\\\"name\\\":\\\"v2\\\",\\\"annotations\\\":{\\\"operatorframework.io/properties"
               "\\\":\\\"x\\\"}},\\\"spec\\\":{\\\"version\\\":\\\"2.0.0\\\"}}\"}}]");
    ff_cluster_make_sub(bench, "v2", "v1");
}

void ff_cluster_failed(struct subjectbench *bench)
{
    ff_cluster_make_namespace(bench);
    ff_cluster_make_csv(bench, "v1", "", REPLACED);
    ff_cluster_make_csv(bench, "v2", "v1", PENDING);
    ff_cluster_make_plan(bench, "p2", 2, "v2", FAILED);
    ff_cluster_make_sub(bench, "v2", "v2");
}

void ff_cluster_switched_on(struct subjectbench *bench)
{
    ff_cluster_failed(bench);
    switch_on(bench);
}

void ff_cluster_waiting(struct subjectbench *bench)
{
    ff_cluster_switched_on(bench);
    ff_cluster_patch(bench, OLM "clusterserviceversions/v2/status",
                     "{\"status\":{\"phase\":\"Failed\",\"reason\":"
                     "\"InstallComponentFailedNoRetry\",\"message\":\"" EK_FF_PIN_MESSAGE "\"}}");
    ff_cluster_make_plan(bench, "p3", 3, "v3", "\"phase\":\"RequiresApproval\"");
}

void ff_cluster_replaced(struct subjectbench *bench)
{
    ff_cluster_switched_on(bench);
    ff_cluster_make_csv(bench, "v3", "v2", PENDING);
    ff_cluster_make_plan(bench, "p3", 3, "v3", "\"phase\":\"Complete\"");
    ff_cluster_patch(bench, OLM "subscriptions/op/status",
                     "{\"status\":{\"currentCSV\":\"v3\",\"installedCSV\":\"v3\"}}");
}

/* ---- The catalog ---- */

#define BUNDLE(name)                                                                               \
    "{\"schema\":\"olm.bundle\",\"package\":\"op\",\"name\":\"" name "\",\"properties\":[]}\n"

static struct ek_h2 *registry;
static struct ek_catalog *content;

static void serve(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    (void)ctx;
    ek_catalog_serve(content, path, body, reply);
}

void ff_cluster_make_catalog(struct subjectbench *bench, const char *entries)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"schema\":\"olm.package\",\"name\":\"op\",\"defaultChannel\":\"stable\"}\n"
                     "{\"schema\":\"olm.channel\",\"package\":\"op\",\"name\":\"stable\","
                     "\"entries\":[%s]}\n" BUNDLE("v1") BUNDLE("v2") BUNDLE("v3"),
                     entries);

    content = ek_catalog_parse(text, strlen(text));
    registry = ek_h2_new(&bench->world.bench.loop, 0, serve, NULL);
    ck_assert_ptr_nonnull(registry);
    EK_AUTOFREE char *source =
        ek_xasprintf("{\"metadata\":{\"name\":\"cat\"},\"spec\":{\"address\":\"127.0.0.1:%d\"}}",
                     ek_h2_port(registry));
    subjectbench_post(bench, OLM "catalogsources", source);
    ff_cluster_patch(bench, OLM "catalogsources/cat/status",
                     "{\"status\":{\"connectionState\":{\"lastObservedState\":\"READY\"}}}");
}

void ff_cluster_stop(struct subjectbench *bench)
{
    if (registry)
        ek_h2_close(registry);
    subjectbench_stop(bench);
    ek_catalog_free(content);
    registry = NULL;
    content = NULL;
}
