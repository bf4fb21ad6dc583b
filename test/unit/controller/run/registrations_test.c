/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every subject of `evenkeel run` that registers webhooks reports to the webhook's certificates:
 * one that is expected and does not would keep the authority from being replaced for ever. Each
 * beside the subject of certificates, in a cluster without objects of either.
 */
#include <check.h>

#include "controller/certificates/certificates.h"
#include "controller/certificates/subject.h"
#include "controller/run/subjects.h"
#include "test/support/subjectbench.h"
#include "test/support/suite.h"
#include "test/support/webhook_fixture.h"

static struct subjectbench bench;

static void run_beside_certificates(const struct ek_subject *subject)
{
    const struct ek_subject *const subjects[] = {&ek_certificates_subject, subject};

    subjectbench_start(&bench, NULL, subjects, EK_ARRAY_SIZE(subjects));
    subjectbench_serve(&bench);
    for (size_t i = 0; i < bench.n; i++)
        subjectbench_run(&bench, i, NULL);
    subjectbench_start_runnable(&bench.serving);
    ek_webhook_publish(bench.webhook, webhook_snapshot(0, NULL));
    subjectbench_wait_for_debug(&bench, "\"publishedTime\":\"2026-11-20T11:00:00");
    subjectbench_stop(&bench);
}

START_TEST(each_reports)
{
    int n = 0;

    for (size_t i = 0; ek_subjects[i]; i++) {
        if (!ek_subjects[i]->registers && !ek_subjects[i]->joins)
            continue;
        run_beside_certificates(ek_subjects[i]);
        n++;
    }
    ck_assert_int_ge(n, 3); /* policies, gates, plans */
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("registrations");

    tcase_add_test(tc, each_reports);
    return ek_test_run("registrations", tc);
}
