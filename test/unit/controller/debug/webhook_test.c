/* SPDX-License-Identifier: Apache-2.0 */
/* The report about the webhook: its certificates, and the snapshot that it answers by. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/certificates/make.h"
#include "controller/debug/debug-internal.h"
#include "test/support/suite.h"

/* 2026-11-20T10:00:00Z */
static const struct ek_debug_now now = {.wall_ms = INT64_C(1795168800000)};

static void check(const struct ek_webhook_status *status, const char *bundle, const char *expected)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_debug_doc d = {doc, yyjson_mut_obj(doc), now};

    yyjson_mut_doc_set_root(doc, d.at);
    ek_debug_webhook__(&d, status, bundle);
    char *json = yyjson_mut_write(doc, 0, NULL);
    ck_assert_str_eq(json, expected);
    free(json);
    yyjson_mut_doc_free(doc);
}

/* An authority is being replaced, and between the two something cannot be read. */
START_TEST(what_it_answers_by)
{
    EK_AUTO(ek_cert_pair) first = {0}, second = {0};
    EK_AUTOPTR(ek_webhook_snapshot, ek_webhook_snapshot_unref) *snapshot =
        ek_webhook_snapshot_new();
    EK_AUTOPTR(ek_object_list, ek_object_list_unref) *none = ek_object_list_new(NULL, 0);
    const struct ek_bound bound[] = {{.apply = true}, {.apply = false}};
    struct ek_webhook_status status = {.address = "[::]:9443",
                                       .threads = 2,
                                       .cert_not_after_ms = now.wall_ms + 60000,
                                       .snapshot = snapshot};

    ck_assert_int_eq(ek_cert_make_ca(now.wall_ms, &first, NULL), 0);
    ck_assert_int_eq(ek_cert_make_ca(now.wall_ms - EK_CERT_DAY_MS, &second, NULL), 0);
    EK_AUTOFREE char *bundle =
        ek_xasprintf("%s-----BEGIN CERTIFICATE-----\n%s", first.cert, second.cert);
    ek_webhook_snapshot_add_policies(snapshot, "mutate", bound, 2);
    ek_webhook_snapshot_set_namespaces(snapshot, none);
    ek_webhook_snapshot_add_params(snapshot, "v1", "ConfigMap", true, none);
    ek_webhook_snapshot_add_params(snapshot, "v1", "Secret", true, NULL);
    check(&status, bundle,
          "{\"address\":\"[::]:9443\",\"threads\":2,\"ready\":true,"
          "\"certificate\":{\"notAfter\":\"2026-11-20T10:01:00.000000Z\"},\"authorities\":["
          "{\"readable\":true,\"notBefore\":\"2026-11-20T09:00:00.000000Z\","
          "\"notAfter\":\"2036-11-17T09:00:00.000000Z\"},{\"readable\":false},"
          "{\"readable\":true,\"notBefore\":\"2026-11-19T09:00:00.000000Z\","
          "\"notAfter\":\"2036-11-16T09:00:00.000000Z\"}],"
          "\"snapshot\":{\"sets\":[{\"name\":\"mutate\",\"policies\":2,\"applied\":1}],"
          "\"params\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"listed\":true,"
          "\"objects\":0},{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"listed\":false}],"
          "\"namespaces\":0,\"schemas\":0}}");
}
END_TEST

START_TEST(one_that_is_not_ready)
{
    struct ek_webhook_status status = {
        .address = "", .threads = 4, .cert_not_after_ms = EK_TIME_UNSET};

    ek_err_set(&status.not_ready, EK_E_TIMEOUT, "the webhook is not listening");
    check(&status, NULL,
          "{\"threads\":4,\"ready\":false,\"error\":{\"reason\":\"timed out\",\"message\":\"the "
          "webhook is not listening\"}}");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("debug_webhook");

    tcase_add_test(tc, what_it_answers_by);
    tcase_add_test(tc, one_that_is_not_ready);
    return ek_test_run("debug_webhook", tc);
}
