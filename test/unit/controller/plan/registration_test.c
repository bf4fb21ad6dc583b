/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook registration of the guard: what is written when, against a webhook that is ready. */
#include "controller/plan/registration.h"

#include <string.h>

#include "test/support/suite.h"
#include "test/support/webhook_fixture.h"

static const struct ek_resource resource = {.group = "admissionregistration.k8s.io",
                                            .version = "v1",
                                            .resource = "validatingwebhookconfigurations",
                                            .kind = "ValidatingWebhookConfiguration"};
static struct ek_plan_data data;
static struct webhook_fixture fixture;
static struct ek_plan_registration registration;
static struct ek_subject_env env;

static void open_all(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    fixture = (struct webhook_fixture){0};
    webhook_fixture_start(&fixture, 1, true, 0);
    registration = (struct ek_plan_registration){0};
    env = (struct ek_subject_env){.serving = {.webhook = fixture.webhook,
                                              .url = "https://127.0.0.1:9443",
                                              .namespace = "e",
                                              .service = "s"}};
}

static void close_all(void)
{
    ek_plan_registration_done(&registration);
    webhook_fixture_stop(&fixture);
    ek_plan_data_done(&data);
}

static struct ek_guard_rules rules_of(bool on)
{
    struct ek_guard_rules rules = {.newest = EK_MINOR_UNKNOWN};
    const struct ek_guard guard = {EK_GUARD_DENY, on, "", EK_MINOR(1, 35), EK_MINOR(1, 36)};

    ek_guard_merge(&rules, &guard, "next");
    return rules;
}

static void make(bool on, const struct ek_obj *live)
{
    const struct ek_guard_rules rules = rules_of(on);

    ek_plan_registration_make(&registration, &rules, &data, &env, live, NULL);
}

/* The object that API servers have after the intent; owned. */
static struct ek_obj *write_of(const struct ek_intents *intents)
{
    struct ek_obj *obj;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *content = yyjson_mut_val_mut_copy(doc, intents->items[0].content);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(content, "metadata");

    if (!metadata)
        metadata = yyjson_mut_obj_add_obj(doc, content, "metadata");
    yyjson_mut_obj_add_str(doc, metadata, "name", EK_GUARD_NAME);
    obj = ek_obj_from_mut(content);
    yyjson_mut_doc_free(doc);
    return obj;
}

/* Plans; want: writes. */
static void plan(struct ek_intents *intents, size_t want)
{
    ek_plan_registration_plan(&registration, &resource, &env, intents);
    ck_assert_uint_eq(intents->n, want);
}

/* A snapshot of no policies: what API servers ask is answered. */
static void make_ready(void)
{
    struct ek_err err = {0};

    if (ek_webhook_check_ready(fixture.webhook, &err))
        webhook_fixture_publish(&fixture, webhook_snapshot(0, NULL));
    err = (struct ek_err){0};
    ck_assert_msg(!ek_webhook_check_ready(fixture.webhook, &err), "%s", err.message);
}

/* Registered, then there; withdrawn, then there again without webhooks. */
START_TEST(comes_and_goes)
{
    EK_AUTO(ek_intents) first;
    EK_AUTO(ek_intents) none;
    EK_AUTO(ek_intents) last;

    ek_intents_init(&first);
    ek_intents_init(&none);
    ek_intents_init(&last);
    make_ready();
    make(true, NULL);
    ck_assert(!ek_plan_registration_is_on(&registration));
    plan(&first, 1);
    ck_assert_int_eq(first.items[0].verb, EK_APPLY);
    ck_assert_str_eq(first.items[0].name, EK_GUARD_NAME);
    ck_assert_int_eq(first.items[0].tag, EK_PLAN_TAG_REGISTRATION);
    struct ek_obj *live = write_of(&first);
    make(true, live);
    ck_assert(ek_plan_registration_is_on(&registration));
    plan(&none, 0);
    make(false, live);
    ck_assert(!ek_plan_registration_is_on(&registration));
    plan(&last, 1);
    struct ek_obj *gone = write_of(&last);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(ek_obj_root(gone), "webhooks")), 0);
    make(false, gone);
    plan(&none, 0);
    ek_obj_unref(live);
    ek_obj_unref(gone);
}
END_TEST

/* Nothing is registered before there is a certificate that API servers can check; what is withdrawn
 * does not wait. */
START_TEST(not_before_requests_can_be_answered)
{
    EK_AUTO(ek_intents) intents;

    ek_intents_init(&intents);
    env.serving.needs_bundle = true;
    make(true, NULL);
    plan(&intents, 0);
    ck_assert_str_eq(registration.problem, "the webhook has no certificate yet");
    ck_assert_int_gt(intents.again_ms, 0);
    env.serving.needs_bundle = false;
    make_ready();
    make(true, NULL);
    plan(&intents, 1);
    struct ek_obj *live = write_of(&intents);
    env.serving.needs_bundle = true;
    make(false, live);
    EK_AUTO(ek_intents) withdrawn;
    ek_intents_init(&withdrawn);
    plan(&withdrawn, 1);
    ek_obj_unref(live);
}
END_TEST

/* A process without a webhook registers nothing, and withdraws what another one has registered. */
START_TEST(without_a_webhook)
{
    EK_AUTO(ek_intents) intents;
    EK_AUTO(ek_intents) withdrawn;

    ek_intents_init(&intents);
    ek_intents_init(&withdrawn);
    make_ready();
    make(true, NULL);
    plan(&intents, 1);
    struct ek_obj *live = write_of(&intents);
    env.serving.webhook = NULL;
    make(true, NULL);
    ck_assert(!ek_plan_registration_is_on(&registration));
    plan(&withdrawn, 0);
    make(true, live);
    ck_assert(!ek_plan_registration_is_on(&registration));
    plan(&withdrawn, 1);
    ek_obj_unref(live);
}
END_TEST

/* Why a write failed is kept until the registration is there. */
START_TEST(a_write_that_fails)
{
    EK_AUTO(ek_intents) intents;
    struct ek_err err = {.code = EK_E_FORBIDDEN, .message = "may not"};
    const struct ek_err done = {0};

    ek_intents_init(&intents);
    make_ready();
    make(true, NULL);
    plan(&intents, 1);
    ek_plan_registration_answered(&registration, &err);
    ck_assert_str_eq(registration.problem, "may not");
    ek_plan_registration_answered(&registration, &done);
    ck_assert_str_eq(registration.problem, "may not");
    struct ek_obj *live = write_of(&intents);
    make(true, live);
    ck_assert_ptr_null(registration.problem);
    ek_obj_unref(live);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("registration");

    tcase_add_checked_fixture(tc, open_all, close_all);
    tcase_add_test(tc, comes_and_goes);
    tcase_add_test(tc, not_before_requests_can_be_answered);
    tcase_add_test(tc, without_a_webhook);
    tcase_add_test(tc, a_write_that_fails);
    return ek_test_run("registration", tc);
}
