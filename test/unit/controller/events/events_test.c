/* SPDX-License-Identifier: Apache-2.0 */
/* The event recorder on the wire. */
#include <check.h>
#include <stdio.h>

#include "api/base/mem.h"
#include "controller/events/events.h"
#include "test/support/apitest.h"
#include "test/support/suite.h"

#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"

static const struct ek_event event = {
    .regarding = {.api_version = "evenkeel.dev/v1alpha1",
                  .kind = "ControlPlane",
                  .name = "Cluster", /* no subdomain: keeps the Event's name in one piece */
                  .uid = "u-1"},
    .reason = "SkewSupported",
    .action = "Judge",
    .note = "all is well",
};

struct heard {
    struct ek_recorder *recorder;
    unsigned sent, lost, drained, closed;
    enum ek_event_loss why;
    int code;
    bool silent;
};

static bool may_record(void *ctx)
{
    struct heard *h = ctx;
    return !h->silent;
}

static void on_sent(void *ctx)
{
    struct heard *h = ctx;
    h->sent++;
}

static void on_lost(void *ctx, enum ek_event_loss why, const struct ek_err *err)
{
    struct heard *h = ctx;
    h->lost++;
    h->why = why;
    h->code = err ? err->code : 0;
}

static void on_drained(void *ctx)
{
    struct heard *h = ctx;
    h->drained++;
}

static void on_closed(void *ctx)
{
    struct heard *h = ctx;
    h->closed++;
}

static void begin(struct apitest *t, struct heard *h, const struct apitest_exchange *script,
                  size_t n)
{
    apitest_init(t, script, n);
    *h = (struct heard){0};
    h->recorder = ek_recorder_new(&t->loop, &(struct ek_recorder_config){.client = t->client,
                                                                         .instance = "me",
                                                                         .may_record = may_record,
                                                                         .sent = on_sent,
                                                                         .lost = on_lost,
                                                                         .ctx = h});
}

static void finish(struct apitest *t, struct heard *h)
{
    ek_recorder_close(h->recorder, on_closed, h);
    apitest_run_until(t, &h->closed);
    apitest_done(t);
}

START_TEST(creates)
{
    static const struct apitest_exchange script[] = {
        {"POST " EVENTS, "application/json", "\"note\":\"all is well\"", 201, "{}", NULL}};
    struct apitest t;
    struct heard h;

    begin(&t, &h, script, 1);
    ek_recorder_record(h.recorder, &event);
    apitest_run_until(&t, &h.sent);
    finish(&t, &h);
    ck_assert_uint_eq(h.lost, 0);
}
END_TEST

START_TEST(refused)
{
    static const struct apitest_exchange script[] = {
        {"POST " EVENTS, NULL, NULL, 403,
         "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403}", NULL}};
    struct apitest t;
    struct heard h;

    begin(&t, &h, script, 1);
    ek_recorder_record(h.recorder, &event);
    apitest_run_until(&t, &h.lost);
    ck_assert_int_eq(h.why, EK_EVENT_LOST_SERVER);
    ck_assert_int_eq(h.code, EK_E_FORBIDDEN);
    finish(&t, &h);
}
END_TEST

START_TEST(only_the_leader)
{
    struct apitest t;
    struct heard h;

    begin(&t, &h, NULL, 0);
    h.silent = true;
    ek_recorder_record(h.recorder, &event);
    ek_recorder_drain(h.recorder, on_drained, &h);
    apitest_run_until(&t, &h.drained);
    finish(&t, &h);
}
END_TEST

/* Leadership that ends between recording and sending: what is left is forgotten. */
START_TEST(deposed)
{
    struct apitest t;
    struct heard h;

    begin(&t, &h, NULL, 0);
    ek_recorder_record(h.recorder, &event);
    h.silent = true;
    ek_recorder_drain(h.recorder, on_drained, &h);
    apitest_run_until(&t, &h.drained);
    finish(&t, &h);
}
END_TEST

START_TEST(drains_once)
{
    static const struct apitest_exchange script[] = {
        {"POST " EVENTS, NULL, NULL, 500, "{}", NULL},
        {"POST " EVENTS, NULL, "\"note\":\"other\"", 201, "{}", NULL}};
    struct ek_event other = event;
    struct apitest t;
    struct heard h;

    begin(&t, &h, script, 2);
    other.note = "other";
    ek_recorder_record(h.recorder, &event);
    ek_recorder_record(h.recorder, &other);
    ek_recorder_drain(h.recorder, on_drained, &h);
    apitest_run_until(&t, &h.drained);
    ck_assert_uint_eq(h.lost, 1);
    ck_assert_uint_eq(h.sent, 1);
    finish(&t, &h);
}
END_TEST

START_TEST(over_budget)
{
    struct apitest t;
    struct heard h;

    begin(&t, &h, NULL, 0);
    for (int i = 0; i < 26; i++)
        ek_recorder_record(h.recorder, &event);
    ck_assert_uint_eq(h.lost, 1);
    ck_assert_int_eq(h.why, EK_EVENT_LOST_BUDGET);
    finish(&t, &h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("wire");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, creates);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, only_the_leader);
    tcase_add_test(tc, deposed);
    tcase_add_test(tc, drains_once);
    tcase_add_test(tc, over_budget);
    return ek_test_run("events", tc);
}
