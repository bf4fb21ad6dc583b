/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The made-up subject in the frame, against the test API server: what a subject needs is a folder
 * of decisions, a folder of glue and a row, and it gets informers, writes, Events, metrics and its
 * section of the debug answer.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/debug/debug.h"
#include "test/subject/subjects.h"
#include "test/support/apiworld.h"
#include "test/support/suite.h"

#define SUBJECTS_MAX 4
#define CM           "/api/v1/namespaces/default/configmaps"
#define CRDS         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CENSUS       "/apis/test.evenkeel.dev/v1/censuses/configmaps"
#define EVENTS       "/apis/events.k8s.io/v1/namespaces/default/events"

static const char crd[] =
    "{\"metadata\":{\"name\":\"censuses.test.evenkeel.dev\"},\"spec\":{\"group\":"
    "\"test.evenkeel.dev\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"censuses\",\"singular\":"
    "\"census\",\"kind\":\"Census\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":"
    "true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"status\":{\"type\":\"object\",\"properties\":{\"count\":{\"type\":"
    "\"integer\"}}}}}}}]}}";

static struct apiworld world;
static struct ek_metrics *metrics;
static struct ek_standard_metrics standard;
static struct ek_registry *registry;
static struct ek_recorder *recorder;
static struct ek_controller_row rows[SUBJECTS_MAX];
static struct ek_controller *controllers[SUBJECTS_MAX];
static size_t n_subjects;
static bool leads;

/* ---- The process ---- */

static bool may_write(void *ctx)
{
    (void)ctx;
    return leads;
}

static int64_t now_ms(void)
{
    return 1795172400000;
}

static void make_controllers(void)
{
    struct ek_subject_env env = {.loop = &world.bench.loop,
                                 .client = world.bench.client,
                                 .metrics = metrics,
                                 .recorder = recorder,
                                 .now_ms = now_ms,
                                 .may_write = may_write};

    for (size_t i = 0; i < n_subjects; i++) {
        struct ek_runnable watch, runner;
        struct ek_err err = {0};
        env.observer = ek_registry_observer(registry, i);
        env.queue = ek_registry_queue(registry, i);
        controllers[i] = ek_controller_new(test_subjects[i], &env);
        ek_registry_set(registry, i, controllers[i]);
        ek_controller_runnables(controllers[i], &watch, &runner);
        ck_assert_int_eq(watch.start(watch.ctx, &err), 0);
        ck_assert_int_eq(runner.start(runner.ctx, &err), 0);
    }
}

static void setup(void)
{
    apiworld_start(&world, NULL);
    leads = true;
    metrics = ek_metrics_new();
    ek_standard_metrics_init(&standard, metrics);
    recorder = ek_recorder_new(&world.bench.loop,
                               &(struct ek_recorder_config){.client = world.bench.client,
                                                            .instance = "test",
                                                            .may_record = may_write});
    for (n_subjects = 0; test_subjects[n_subjects]; n_subjects++)
        rows[n_subjects] = ek_subject_registry_row(test_subjects[n_subjects]);
    registry = ek_registry_new(rows, n_subjects, &standard, NULL);
}

static void teardown(void)
{
    for (size_t i = 0; i < n_subjects; i++)
        ek_controller_close(controllers[i], NULL, NULL);
    ek_recorder_close(recorder, NULL, NULL);
    apiworld_stop(&world);
    ek_metrics_free(metrics);
    ek_registry_free(registry);
}

/* ---- Requests ---- */

static void create(const char *name, bool labelled)
{
    EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"%s\"%s}}", name,
                                          labelled ? ",\"labels\":{\"census\":\"yes\"}" : "");
    ck_assert_int_eq(apiworld_request(&world, "POST", CM, body, NULL), 201);
}

/* Turns the loop, by requests, until text that write makes has piece in it. */
static void wait_for_text(void (*write)(struct ek_buf *out), const char *piece)
{
    for (bool found = false; !found;) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
        write(&out);
        found = strstr(ek_buf_str(&out), piece) != NULL;
        if (!found)
            apiworld_request(&world, "GET", "/version", NULL, NULL);
    }
}

static void write_metrics(struct ek_buf *out)
{
    ek_registry_collect(registry);
    ck_assert_int_eq(ek_metrics_write(metrics, EK_METRICS_TEXT, out), 0);
}

static void write_debug(struct ek_buf *out)
{
    const struct ek_debug debug = {.registry = registry};
    const struct ek_debug_now now = {0};

    ek_debug_answer(&debug, "all", 3, &now, NULL, out);
}

/* ---- Tests ---- */

START_TEST(a_subject_observes_writes_and_reports)
{
    ck_assert_int_eq(apiworld_request(&world, "POST", CRDS, crd, NULL), 201);
    create("a", true);
    create("b", true);
    create("c", false);
    make_controllers();
    apiworld_wait_for(&world, CENSUS, "\"count\":2");
    create("d", true);
    apiworld_wait_for(&world, CENSUS, "\"count\":3");
    apiworld_wait_for(&world, EVENTS, "\"reason\":\"Counted\"");
    wait_for_text(write_metrics, "\ncensus_config_maps 3\n");
    wait_for_text(write_metrics, "controller_runtime_reconcile_total{controller=\"census\","
                                 "result=\"success\"}");
    wait_for_text(write_metrics, "informer_store_resource_version{name=\"census-configmaps\"");
    wait_for_text(write_debug, "\"subjects\":{\"census\":{\"configMaps\":3}}");
    wait_for_text(write_debug, "{\"controller\":\"census\",\"resource\":\"censuses\"");
    wait_for_text(write_debug, "\"key\":\"write\"");
}
END_TEST

/* Only the leader writes; who becomes the leader writes what it has observed before. */
START_TEST(a_replica_that_does_not_lead_only_observes)
{
    leads = false;
    ck_assert_int_eq(apiworld_request(&world, "POST", CRDS, crd, NULL), 201);
    create("a", true);
    make_controllers();
    wait_for_text(write_metrics, "\ncensus_config_maps 1\n");
    create("b", true);
    wait_for_text(write_metrics, "\ncensus_config_maps 2\n");
    ck_assert_int_eq(apiworld_request(&world, "GET", CENSUS, NULL, NULL), 404);
    leads = true;
    for (size_t i = 0; i < n_subjects; i++)
        ek_controller_elected(controllers[i]);
    apiworld_wait_for(&world, CENSUS, "\"count\":2");
}
END_TEST

/* The kind is not served: the failure is the run's, and is tried again until the kind is there. */
START_TEST(a_failed_write_is_tried_again)
{
    create("a", true);
    make_controllers();
    wait_for_text(write_debug, "applying censuses.test.evenkeel.dev configmaps");
    ck_assert_int_eq(apiworld_request(&world, "POST", CRDS, crd, NULL), 201);
    apiworld_wait_for(&world, CENSUS, "\"count\":1");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("subject");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_subject_observes_writes_and_reports);
    tcase_add_test(tc, a_replica_that_does_not_lead_only_observes);
    tcase_add_test(tc, a_failed_write_is_tried_again);
    return ek_test_run("subject", tc);
}
