/* SPDX-License-Identifier: Apache-2.0 */
/* What the world of a request gives to whom. */
#include <check.h>
#include <string.h>

#include "controller/webhook/world.h"
#include "test/support/suite.h"

static void count(void *arg, yyjson_val *param)
{
    (void)param;
    ++*(int *)arg;
}

static const struct {
    const char *kind;
    bool unproven;
    enum ek_world_answer answer;
} rows[] = {
    {"ConfigMap", false, EK_WORLD_FOUND},
    {"ConfigMap", true, EK_WORLD_FOUND},
    {"Secret", false, EK_WORLD_FOUND},
    {"Secret", true, EK_WORLD_FAILED},
};

/* The Secrets that policies take as params are not for whoever forges reviews. */
START_TEST(secrets)
{
    static const char object[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\"}}";
    const struct ek_admission_request request = {.unproven = rows[_i].unproven};
    struct ek_obj *obj = NULL;
    struct ek_webhook_world world;
    struct ek_err err = {0};
    int found = 0;

    ck_assert_int_eq(ek_obj_parse(object, strlen(object), &obj, &err), 0);
    struct ek_object_list *list = ek_object_list_new(&obj, 1);
    struct ek_webhook_snapshot *snapshot = ek_webhook_snapshot_new();
    ek_webhook_snapshot_add_params(snapshot, "v1", rows[_i].kind, true, list);
    ek_webhook_world_init(&world, &request, NULL);
    ek_webhook_world_begin(&world, snapshot, 0);
    enum ek_world_answer answer =
        world.callbacks.params(&world, "v1", rows[_i].kind, "ns", "a", NULL, count, &found, &err);
    ck_assert_msg(answer == rows[_i].answer, "%s: %d %s", rows[_i].kind, answer, err.message);
    ck_assert_int_eq(found, answer == EK_WORLD_FOUND);
    if (answer == EK_WORLD_FAILED)
        ck_assert_str_eq(err.message, "paramKind kind `/v1, Kind=Secret` is read for verified API "
                                      "servers only (--webhook-client-ca-file)");
    ek_webhook_world_done(&world);
    ek_webhook_snapshot_unref(snapshot);
    ek_object_list_unref(list);
    ek_obj_unref(obj);
}
END_TEST

/* Nor is what users may do. */
START_TEST(permissions)
{
    const char *user = "{\"username\":\"alice\"}";
    yyjson_doc *doc = ek_json_parse(user, strlen(user), NULL);
    const struct ek_admission_request request = {.unproven = _i == 1,
                                                 .user_info = yyjson_doc_get_root(doc)};
    const struct ek_cel_authz_attributes what = {.path = EK_STR("/x"), .verb = EK_STR("get")};
    struct ek_cel_authz_decision decision = {0};
    struct ek_webhook_world world;
    struct ek_lru reviews;

    ek_webhook_reviews_init(&reviews);
    ek_webhook_world_init(&world, &request, &reviews);
    ek_webhook_world_begin(&world, NULL, 0);
    ck_assert_int_eq(world.callbacks.authorize(&world, &what, &decision),
                     request.unproven ? EK_WORLD_FAILED : EK_WORLD_PENDING);
    struct ek_webhook_ask *ask = ek_webhook_world_want(&world);
    ck_assert((ask != NULL) == !request.unproven);
    ck_assert(!decision.allowed && (decision.error.p != NULL) == request.unproven);
    if (request.unproven)
        ck_assert_ptr_nonnull(strstr(decision.error.p, "verified API servers only"));
    ek_webhook_ask_free(ask);
    ek_webhook_world_done(&world);
    ek_lru_done(&reviews);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_world");

    tcase_add_loop_test(tcase, secrets, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, permissions, 0, 2);
    return ek_test_run("webhook_world", tcase);
}
