/* SPDX-License-Identifier: Apache-2.0 */
/* What a subject that registers webhooks takes from the process: when nothing may be registered
 * yet, and the options of the writer. */
#include "controller/webhook/registration.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"
#include "test/support/webhook_fixture.h"

static const struct {
    const char *name;
    bool serves, is_ready, needs_bundle;
    const char *bundle;
    const char *want; /* in the text; NULL: it may be registered */
} rows[] = {
    {"no webhook", false, false, false, "PEM", "serves no webhook"},
    {"no certificate", true, true, true, NULL, "no certificate yet"},
    {"a certificate", true, true, true, "PEM", NULL},
    {"the certificate is somebody else's affair", true, true, false, NULL, NULL},
    {"no snapshot", true, false, true, "PEM", ""},
    {"no snapshot, and no bundle is needed", true, false, false, NULL, ""},
};

START_TEST(waits)
{
    struct webhook_fixture fixture = {0};
    struct ek_err err = {0};

    webhook_fixture_start(&fixture, 1, true, 0);
    if (rows[_i].is_ready)
        webhook_fixture_publish(&fixture, webhook_snapshot(0, NULL));
    const struct ek_subject_serving serving = {.webhook = rows[_i].serves ? fixture.webhook : NULL,
                                               .needs_bundle = rows[_i].needs_bundle};
    const char *got = ek_webhook_registration_waits(&serving, rows[_i].bundle, &err);
    ck_assert_msg(!got == !rows[_i].want, "%s: %s", rows[_i].name, got ? got : "may");
    ck_assert_msg(!got || strstr(got, rows[_i].want), "%s: %s", rows[_i].name, got);
    webhook_fixture_stop(&fixture);
}
END_TEST

START_TEST(options)
{
    const struct ek_subject_serving serving = {
        .url = "https://a", .namespace = "ns", .service = "s", .with_kube_system = _i};
    const struct ek_webhooks_options o = ek_webhook_registration_options(&serving, "PEM");

    ck_assert_str_eq(o.url, "https://a");
    ck_assert_str_eq(o.service_namespace, "ns");
    ck_assert_str_eq(o.service_name, "s");
    ck_assert_str_eq(o.own_namespace, "ns");
    ck_assert_str_eq(o.ca_bundle, "PEM");
    ck_assert_int_eq(o.with_kube_system, _i);
}
END_TEST

/* A process whose bundle is not its own: nobody waits for a report. */
START_TEST(without_certificates)
{
    const struct ek_subject_serving serving = {0};

    ck_assert_uint_eq(ek_webhook_registration_expect(&serving), 0);
    ck_assert_ptr_null(ek_webhook_registration_bundle(&serving));
    ek_webhook_registration_report(&serving, 0, "PEM", true);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("registration");

    tcase_add_loop_test(tc, waits, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, options, 0, 2);
    tcase_add_test(tc, without_certificates);
    return ek_test_run("registration", tc);
}
