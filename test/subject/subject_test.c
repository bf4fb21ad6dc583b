/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The made-up subject in the frame, against the test API server: what a subject needs is a folder
 * of decisions, a folder of glue and a row, and it gets informers, writes, Events, metrics and its
 * section of the debug answer.
 */
#include <check.h>

#include "api/base/mem.h"
#include "controller/certificates/certificates.h"
#include "controller/certificates/subject.h"
#include "test/subject/subjects.h"
#include "test/support/subjectbench.h"
#include "test/support/suite.h"
#include "test/support/webhook_fixture.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define REGISTRATION                                                                               \
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/"                       \
    "census.test.evenkeel.dev"
#define CENSUS "/apis/test.evenkeel.dev/v1/censuses/configmaps"

static const char crd[] =
    "{\"metadata\":{\"name\":\"censuses.test.evenkeel.dev\"},\"spec\":{\"group\":"
    "\"test.evenkeel.dev\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"censuses\",\"singular\":"
    "\"census\",\"kind\":\"Census\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":"
    "true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"status\":{\"type\":\"object\",\"properties\":{\"count\":{\"type\":"
    "\"integer\"}}}}}}}]}}";

static struct subjectbench bench;

static void setup(void)
{
    size_t n = 0;

    while (test_subjects[n])
        n++;
    subjectbench_start(&bench, NULL, test_subjects, n);
}

static void teardown(void)
{
    subjectbench_stop(&bench);
}

static void make_controllers(void)
{
    for (size_t i = 0; i < bench.n; i++)
        subjectbench_run(&bench, i, NULL);
}

static void create(const char *name, bool labelled)
{
    EK_AUTOFREE char *body = ek_xasprintf("{\"metadata\":{\"name\":\"%s\"%s}}", name,
                                          labelled ? ",\"labels\":{\"census\":\"yes\"}" : "");
    subjectbench_post(&bench, CM, body);
}

/* The Secret's subject runs beside those of the table, as in `evenkeel run`. */
static void start_with_certificates(void)
{
    const struct ek_subject *subjects[SUBJECTBENCH_MAX] = {&ek_certificates_subject};
    size_t n = 1;

    for (; test_subjects[n - 1]; n++)
        subjects[n] = test_subjects[n - 1];
    subjectbench_start(&bench, NULL, subjects, n);
    subjectbench_serve(&bench);
    make_controllers();
    subjectbench_start_runnable(&bench.serving);
}

/* ---- Tests ---- */

START_TEST(a_subject_observes_writes_and_reports)
{
    subjectbench_post(&bench, SUBJECTBENCH_CRDS, crd);
    create("a", true);
    create("b", true);
    create("c", false);
    make_controllers();
    apiworld_wait_for(&bench.world, CENSUS, "\"count\":2");
    create("d", true);
    apiworld_wait_for(&bench.world, CENSUS, "\"count\":3");
    apiworld_wait_for(&bench.world, SUBJECTBENCH_EVENTS, "\"reason\":\"Counted\"");
    subjectbench_wait_for_metrics(&bench, "\ncensus_config_maps 3\n");
    subjectbench_wait_for_metrics(&bench,
                                  "controller_runtime_reconcile_total{controller=\"census\","
                                  "result=\"success\"}");
    subjectbench_wait_for_metrics(&bench,
                                  "informer_store_resource_version{name=\"census-configmaps\"");
    subjectbench_wait_for_debug(&bench, "\"subjects\":{\"census\":{\"configMaps\":3}}");
    subjectbench_wait_for_debug(&bench, "{\"controller\":\"census\",\"resource\":\"censuses\"");
    subjectbench_wait_for_debug(&bench, "\"key\":\"write\"");
}
END_TEST

/* Only the leader writes; who becomes the leader writes what it has observed before. */
START_TEST(a_replica_that_does_not_lead_only_observes)
{
    bench.slots[0].leads = false;
    subjectbench_post(&bench, SUBJECTBENCH_CRDS, crd);
    create("a", true);
    make_controllers();
    subjectbench_wait_for_metrics(&bench, "\ncensus_config_maps 1\n");
    create("b", true);
    subjectbench_wait_for_metrics(&bench, "\ncensus_config_maps 2\n");
    ck_assert_int_eq(apiworld_request(&bench.world, "GET", CENSUS, NULL, NULL), 404);
    bench.slots[0].leads = true;
    ek_controller_elected(bench.slots[0].controller);
    apiworld_wait_for(&bench.world, CENSUS, "\"count\":2");
}
END_TEST

/* The kind is not served: the failure is the run's, and is tried again until the kind is there. */
START_TEST(a_failed_write_is_tried_again)
{
    create("a", true);
    make_controllers();
    subjectbench_wait_for_debug(&bench, "applying censuses.test.evenkeel.dev configmaps");
    subjectbench_post(&bench, SUBJECTBENCH_CRDS, crd);
    apiworld_wait_for(&bench.world, CENSUS, "\"count\":1");
}
END_TEST

/* A subject that registers a webhook waits until the webhook answers, gets the authorities and
 * reports where they are: neither the process nor the certificates know it by name. */
START_TEST(a_subject_registers_a_webhook)
{
    start_with_certificates();
    apiworld_wait_for(&bench.world, SUBJECTBENCH_SECRET, "\"ca.crt\":\"");
    while (!ek_webhook_ca_bundle(bench.certs))
        subjectbench_turn(&bench);
    subjectbench_write_registrations(&bench);
    for (int i = 0; i < 3; i++)
        subjectbench_turn(&bench);
    ck_assert_int_eq(apiworld_request(&bench.world, "GET", REGISTRATION, NULL, NULL), 404);
    ek_webhook_publish(bench.webhook, webhook_snapshot(0, NULL));
    subjectbench_write_registrations(&bench);
    apiworld_wait_for(&bench.world, REGISTRATION, "\"caBundle\":\"");
    apiworld_wait_for(&bench.world, REGISTRATION, "\"url\":\"https://127.0.0.1:1/census\"");
    subjectbench_wait_for_debug(&bench, "\"publishedTime\":\"2026-11-20T11:00:00");
    subjectbench_stop(&bench);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("subject"), *alone = tcase_create("webhook");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_subject_observes_writes_and_reports);
    tcase_add_test(tc, a_replica_that_does_not_lead_only_observes);
    tcase_add_test(tc, a_failed_write_is_tried_again);
    tcase_add_test(alone, a_subject_registers_a_webhook);
    return ek_test_run("subject", tc, alone);
}
