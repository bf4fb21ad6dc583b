/* SPDX-License-Identifier: Apache-2.0 */
/* What is planned, which Secret a plan goes by, and how the Secret is written. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "reconcilers/certificates/plan.h"
#include "test/support/suite.h"

#define NOW  1763636289000
#define DAY  EK_CERT_DAY_MS
#define YEAR (365 * DAY)

/* ---- The plan ---- */

/* A certificate that began that long ago and ends that long from now. */
#define FROM_TO(ago, left)                                                                         \
    {                                                                                              \
        .present = true, .usable = true, .not_before_ms = NOW - (ago),                             \
        .not_after_ms = NOW + (left)                                                               \
    }
#define CA   .ca = FROM_TO(DAY, 3649 * DAY)
#define LEAF .leaf = FROM_TO(DAY, 364 * DAY), .leaf_is_of_ca = true

static const struct {
    const char *name;
    struct ek_cert_facts facts;
    int64_t published_ms;
    enum ek_cert_intent want;
    int64_t look_in_ms; /* 0: not looked at */
} plan_rows[] = {
    {"nothing", {.leaf_is_of_ca = false}, EK_TIME_UNSET, EK_CERT_MAKE_ALL, 0},
    {"all is well", {CA, LEAF}, NOW, EK_CERT_NOTHING, EK_CERT_LOOK_MS},
    {"all is well, not published", {CA, LEAF}, EK_TIME_UNSET, EK_CERT_NOTHING, 0},
    {"the leaf is a minute from two thirds",
     {CA, .leaf = FROM_TO(200 * DAY - 60000, 100 * DAY + 60000), .leaf_is_of_ca = true},
     NOW,
     EK_CERT_NOTHING,
     60000},
    {"the leaf is at two thirds",
     {CA, .leaf = FROM_TO(200 * DAY, 100 * DAY), .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_LEAF,
     0},
    {"the leaf has ended",
     {CA, .leaf = FROM_TO(366 * DAY, -DAY), .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_LEAF,
     0},
    {"the leaf has not begun",
     {CA, .leaf = FROM_TO(-DAY, YEAR), .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_LEAF,
     0},
    {"no leaf", {CA}, NOW, EK_CERT_MAKE_LEAF, 0},
    {"other names",
     {CA, .leaf = {true, false, NOW - DAY, NOW + DAY}, .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_LEAF,
     0},
    {"somebody else's leaf", {CA, .leaf = FROM_TO(DAY, YEAR)}, NOW, EK_CERT_MAKE_LEAF, 0},
    {"the authority is at two thirds",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY), LEAF},
     NOW,
     EK_CERT_ADD_CA,
     0},
    {"the leaf comes first",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY),
      .leaf = FROM_TO(300 * DAY, DAY),
      .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_LEAF,
     0},
    {"the authority lost its key",
     {.ca = {true, false, NOW - DAY, NOW + YEAR}, LEAF},
     NOW,
     EK_CERT_ADD_CA,
     0},
    {"the authority lost its key, and there is no leaf",
     {.ca = {true, false, NOW - DAY, NOW + YEAR}},
     NOW,
     EK_CERT_MAKE_ALL,
     0},
    {"everything has ended",
     {.ca = FROM_TO(4000 * DAY, -DAY), .leaf = FROM_TO(YEAR, -DAY), .leaf_is_of_ca = true},
     NOW,
     EK_CERT_MAKE_ALL,
     0},
    {"the authority ends now, and there is no leaf",
     {.ca = FROM_TO(YEAR, 0)},
     NOW,
     EK_CERT_MAKE_ALL,
     0},
    {"trusting, and the old one has ended before its leaf",
     {.ca = FROM_TO(4000 * DAY, -DAY), .next_ca = FROM_TO(DAY, 3649 * DAY), LEAF},
     EK_TIME_UNSET,
     EK_CERT_NOTHING,
     EK_CERT_LOOK_MS},
    {"trusting, not published",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY), .next_ca = FROM_TO(DAY, 3649 * DAY), LEAF},
     EK_TIME_UNSET,
     EK_CERT_NOTHING,
     EK_CERT_LOOK_MS},
    {"trusting, just published",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY), .next_ca = FROM_TO(DAY, 3649 * DAY), LEAF},
     NOW - 1000,
     EK_CERT_NOTHING,
     EK_CERT_OVERLAP_MS - 1000},
    {"trusting, published for long enough",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY), .next_ca = FROM_TO(DAY, 3649 * DAY), LEAF},
     NOW - EK_CERT_OVERLAP_MS,
     EK_CERT_SWITCH_CA,
     0},
    {"trusting, and a leaf is due",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY),
      .next_ca = FROM_TO(DAY, 3649 * DAY),
      .leaf = FROM_TO(300 * DAY, DAY),
      .leaf_is_of_ca = true},
     EK_TIME_UNSET,
     EK_CERT_MAKE_LEAF,
     0},
    {"trusting, and too late for the old",
     {.ca = FROM_TO(4000 * DAY, -DAY), .next_ca = FROM_TO(DAY, 3649 * DAY)},
     EK_TIME_UNSET,
     EK_CERT_SWITCH_CA,
     0},
    {"the next authority has ended meanwhile",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY), .next_ca = FROM_TO(DAY, -1), LEAF},
     NOW - DAY,
     EK_CERT_ADD_CA,
     0},
    {"leaving, too early",
     {CA, .old_ca = FROM_TO(2000 * DAY, DAY), .leaf = FROM_TO(3600000, YEAR),
      .leaf_is_of_ca = true},
     NOW,
     EK_CERT_NOTHING,
     0},
    {"leaving, a minute too early",
     {CA, .old_ca = FROM_TO(2000 * DAY, DAY),
      .leaf = FROM_TO(EK_CERT_BACKDATE_MS + EK_CERT_LEAVING_MS - 60000, YEAR),
      .leaf_is_of_ca = true},
     NOW,
     EK_CERT_NOTHING,
     0},
    {"leaving, after a day",
     {CA, .old_ca = FROM_TO(2000 * DAY, DAY), .leaf = FROM_TO(3600000 + DAY, YEAR),
      .leaf_is_of_ca = true},
     NOW,
     EK_CERT_DROP_CA,
     0},
    {"no third authority before the first has left",
     {.ca = FROM_TO(2000 * DAY, 1000 * DAY),
      .old_ca = FROM_TO(DAY, DAY),
      .leaf = FROM_TO(3600000, YEAR),
      .leaf_is_of_ca = true},
     NOW,
     EK_CERT_NOTHING,
     0},
};

START_TEST(plans)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(plan_rows); i++) {
        struct ek_cert_plan plan =
            ek_cert_plan_make(&plan_rows[i].facts, NOW, plan_rows[i].published_ms);
        ck_assert_msg(plan.intent == plan_rows[i].want, "%s: %s (%s)", plan_rows[i].name,
                      ek_cert_intent_name(plan.intent), plan.why);
        ck_assert_msg((plan.intent == EK_CERT_NOTHING) == !*plan.why, "%s", plan_rows[i].name);
        ck_assert_msg(plan.look_at_ms > NOW && plan.look_at_ms <= NOW + EK_CERT_LOOK_MS, "%s",
                      plan_rows[i].name);
        ck_assert_msg(!plan_rows[i].look_in_ms || plan.look_at_ms == NOW + plan_rows[i].look_in_ms,
                      "%s: %lld", plan_rows[i].name, (long long)(plan.look_at_ms - NOW));
    }
}
END_TEST

/* What was there when the Secret got lost. */
START_TEST(restores)
{
    static const struct {
        const char *name;
        struct ek_cert_facts facts;
        int64_t published_ms;
        enum ek_cert_intent want;
    } rows[] = {
        {"all was well", {CA, LEAF}, NOW, EK_CERT_ADD_CA},
        {"the next authority was being published",
         {CA, LEAF, .next_ca = FROM_TO(DAY, 3649 * DAY)},
         EK_TIME_UNSET,
         EK_CERT_RESTORE},
        {"its time had come",
         {CA, LEAF, .next_ca = FROM_TO(DAY, 3649 * DAY)},
         NOW - EK_CERT_OVERLAP_MS,
         EK_CERT_SWITCH_CA},
        {"the old one was leaving",
         {CA, .leaf = FROM_TO(3600000, YEAR), .leaf_is_of_ca = true,
          .old_ca = FROM_TO(2000 * DAY, DAY)},
         NOW,
         EK_CERT_RESTORE},
        {"a leaf was due",
         {CA, .leaf = FROM_TO(200 * DAY, 100 * DAY), .leaf_is_of_ca = true},
         NOW,
         EK_CERT_MAKE_LEAF},
        {"it is too late",
         {.ca = FROM_TO(4000 * DAY, -DAY), .leaf = FROM_TO(YEAR, -DAY), .leaf_is_of_ca = true},
         NOW,
         EK_CERT_MAKE_ALL},
        {"there was nothing", {.leaf_is_of_ca = false}, EK_TIME_UNSET, EK_CERT_MAKE_ALL},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_cert_plan plan = ek_cert_plan_restore(&rows[i].facts, NOW, rows[i].published_ms);
        ck_assert_msg(plan.intent == rows[i].want && *plan.why, "%s: %s (%s)", rows[i].name,
                      ek_cert_intent_name(plan.intent), plan.why);
    }
}
END_TEST

/* ---- The Secret ---- */

#define GOOD                                                                                       \
    {                                                                                              \
        .present = true, .usable = true, .not_before_ms = NOW - DAY,                               \
        .not_after_ms = NOW + 364 * DAY                                                            \
    }

static const struct ek_cert_facts fine = {.ca = GOOD, .leaf = GOOD, .leaf_is_of_ca = true};
static const struct ek_cert_facts nothing = {0};

static const struct {
    const char *name;
    const struct ek_cert_facts *facts, *kept;
    enum ek_cert_intent want;
    bool use_kept;
} choices[] = {
    {"nothing, and nothing is kept", &nothing, NULL, EK_CERT_MAKE_ALL, false},
    {"nothing, and what is kept is of no use", &nothing, &nothing, EK_CERT_MAKE_ALL, false},
    {"nothing, and what is kept is fine", &nothing, &fine, EK_CERT_ADD_CA, true},
    {"what is there is fine", &fine, NULL, EK_CERT_NOTHING, false},
    {"what is there is fine, and so is what is kept", &fine, &fine, EK_CERT_NOTHING, false},
    {"what is there is fine, and what is kept is not", &fine, &nothing, EK_CERT_NOTHING, false},
};

START_TEST(the_secret_to_go_by)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(choices); i++) {
        bool kept = !choices[i].use_kept;
        struct ek_cert_plan plan =
            ek_cert_plan_choose(choices[i].facts, choices[i].kept, NOW, EK_TIME_UNSET, &kept);
        ck_assert_msg(plan.intent == choices[i].want && kept == choices[i].use_kept, "%s: %s",
                      choices[i].name, ek_cert_intent_name(plan.intent));
    }
}
END_TEST

START_TEST(the_secret_is_written_in_the_state_that_was_seen)
{
    static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":"
                               "\"certs\",\"namespace\":\"space\",\"uid\":\"u-1\","
                               "\"resourceVersion\":\"7\"}}";
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
    EK_AUTO(ek_intents) list;

    ck_assert_int_eq(ek_obj_parse(json, sizeof json - 1, &obj, NULL), 0);
    ek_intents_init(&list);
    yyjson_mut_val *content = yyjson_mut_obj(ek_intents_doc(&list));
    ek_cert_plan_write("space", "certs", NULL, content, &list);
    ek_cert_plan_write("space", "certs", obj, content, &list);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_int_eq(list.again_ms, EK_CERT_RETRY_MS);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(list.items[i].resource.resource, "secrets");
        ck_assert_str_eq(list.items[i].resource.namespace, "space");
        ck_assert_str_eq(list.items[i].name, "certs");
        ck_assert_ptr_eq(list.items[i].content, content);
    }
    ck_assert_int_eq(list.items[0].verb, EK_CREATE);
    ck_assert_ptr_null(list.items[0].uid);
    ck_assert_ptr_null(list.items[0].resource_version);
    ck_assert_int_eq(list.items[1].verb, EK_APPLY);
    ck_assert_str_eq(list.items[1].uid, "u-1");
    ck_assert_str_eq(list.items[1].resource_version, "7");
}
END_TEST

START_TEST(a_conflict_is_no_failure)
{
    static const struct {
        int code, want;
    } rows[] = {{0, 0},
                {EK_E_CONFLICT, 0},
                {EK_E_EXIST, 0},
                {EK_E_FORBIDDEN, EK_E_FORBIDDEN},
                {EK_E_NOENT, EK_E_NOENT},
                {EK_E_NET, EK_E_NET}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_err err = {.code = rows[i].code};
        ek_cert_plan_answered(&err);
        ck_assert_int_eq(err.code, rows[i].want);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("certificates_plan");

    tcase_add_test(tc, plans);
    tcase_add_test(tc, restores);
    tcase_add_test(tc, the_secret_to_go_by);
    tcase_add_test(tc, the_secret_is_written_in_the_state_that_was_seen);
    tcase_add_test(tc, a_conflict_is_no_failure);
    return ek_test_run("certificates_plan", tc);
}
