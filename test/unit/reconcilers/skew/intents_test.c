/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to intents: what is written for which view. */
#include <check.h>
#include <string.h>

#include "reconcilers/skew/intents.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

static struct ek_obj *make_object(void)
{
    static const char json[] =
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\","
        "\"metadata\":{\"name\":\"cluster\",\"uid\":\"u-7\","
        "\"resourceVersion\":\"9\"}}";
    struct ek_obj *obj = NULL;

    ck_assert_int_eq(ek_obj_parse(json, sizeof json - 1, &obj, NULL), 0);
    return obj;
}

static const struct {
    const char *why; /* the ControlPlane may not be read */
    bool exists, changed;
    size_t n_events;
    /* What is wanted. */
    size_t n;
    enum ek_verb verb; /* of the first */
    int64_t again_ms;
    const char *failure;
} rows[] = {
    {.n = 1, .verb = EK_CREATE, .again_ms = EK_SKEW_CREATED_MS},
    {.changed = true, .n_events = 2, .n = 1, .verb = EK_CREATE, .again_ms = EK_SKEW_CREATED_MS},
    {.exists = true},
    {.exists = true, .n_events = 2},
    {.exists = true, .changed = true, .n = 1, .verb = EK_APPLY_STATUS},
    {.exists = true, .changed = true, .n_events = 2, .n = 3, .verb = EK_APPLY_STATUS},
    {.why = "forbidden: grant it",
     .failure = "controlplanes.evenkeel.dev could not be read: forbidden: grant it"},
    {.why = "forbidden: grant it",
     .exists = true,
     .changed = true,
     .failure = "controlplanes.evenkeel.dev could not be read: forbidden: grant it"},
};

START_TEST(intents_of_a_plan)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = make_object();
    struct ek_skew_event events[] = {{true, "SkewFound", "Judge", "one"},
                                     {false, "SkewGone", "Judge", "two"}};
    const struct ek_skew_view view = {.control_plane = rows[_i].exists ? obj : NULL,
                                      .control_plane_why = rows[_i].why};
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_skew_plan plan = {.doc = doc,
                                .status = yyjson_mut_obj(doc),
                                .create = !rows[_i].exists,
                                .status_changed = rows[_i].changed,
                                .events = events,
                                .n_events = rows[_i].n_events};
    EK_AUTO(ek_intents) list;

    yyjson_mut_obj_add_int(doc, plan.status, "n", 5);
    ek_intents_init(&list);
    ek_skew_intents(&view, &plan, &list);
    ek_skew_plan_done(&plan); /* the list has its own copy */
    ck_assert_uint_eq(list.n, rows[_i].n);
    ck_assert_int_eq(list.again_ms, rows[_i].again_ms);
    ck_assert_str_eq(list.failure.message, rows[_i].failure ? rows[_i].failure : "");
    for (size_t i = 0; i < list.n; i++) {
        const struct ek_intent *intent = &list.items[i];
        ck_assert_int_eq(intent->verb, i ? EK_EVENT : rows[_i].verb);
        ck_assert(intent->depends == (i > 0));
        if (i) {
            ck_assert_str_eq(intent->event.note, i == 1 ? "one" : "two");
            ck_assert(intent->event.warning == (i == 1));
            ck_assert_ptr_null(intent->event.regarding.uid);
            ck_assert_ptr_null(intent->event.regarding.resource_version);
            ck_assert_str_eq(intent->event.regarding.name, "cluster");
            continue;
        }
        ck_assert_str_eq(intent->name, "cluster");
        ck_assert_str_eq(intent->resource.resource, "controlplanes");
        if (intent->verb == EK_CREATE) {
            ck_assert_ptr_nonnull(yyjson_mut_obj_get(intent->content, "spec"));
            continue;
        }
        ck_assert_str_eq(intent->uid, "u-7");
        ck_assert_int_eq(yyjson_mut_get_int(yyjson_mut_obj_get(
                             yyjson_mut_obj_get(intent->content, "status"), "n")),
                         5);
    }
}
END_TEST

START_TEST(a_kind_that_is_not_served_is_explained)
{
    static const struct {
        enum ek_verb verb;
        int code;
        bool explained;
    } failures[] = {
        {EK_CREATE, EK_E_NOENT, true},
        {EK_CREATE, EK_E_FORBIDDEN, false},
        {EK_APPLY_STATUS, EK_E_NOENT, false},
        {EK_CREATE, 0, false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(failures); i++) {
        const struct ek_intent intent = {.verb = failures[i].verb};
        struct ek_err err = {.code = failures[i].code, .message = "as it came"};
        ek_skew_explain(&intent, &err);
        ck_assert_int_eq(err.code, failures[i].code);
        ck_assert((strstr(err.message, "kubectl apply -k deploy") != NULL) ==
                  failures[i].explained);
        ck_assert((strcmp(err.message, "as it came") == 0) == !failures[i].explained);
    }
}
END_TEST

/* The table of peers says what the facts say, and outlives the plan's arena and view. */
START_TEST(a_plan_has_the_table_of_peers)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new((size_t)64 << 20);
    struct ek_skew_plan plan;

    ek_view_fixture_script(fx, "slice 10.0.0.11\nslice 10.0.0.12\n");
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    view.probing_done = false;
    ek_skew_plan_make(&view, arena, &plan);
    struct ek_peer_table *table = plan.peers;
    plan.peers = NULL;
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
    ck_assert_uint_eq(table->n, 2);
    ck_assert(table->enumerated);
    ck_assert(!table->probed);
    ck_assert_str_eq(table->peers[0].address, "10.0.0.11:6443");
    ck_assert_str_eq(table->peers[1].address, "10.0.0.12:6443");
    ck_assert_str_eq(table->peers[0].address_source, "EndpointSlice");
    ck_assert(table->peers[0].trusted);
    ck_assert(table->peers[0].in_endpoints);
    ck_assert(table->peers[0].live);
    ek_peer_table_free(table);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("skew_intents");

    tcase_add_loop_test(tc, intents_of_a_plan, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, a_kind_that_is_not_served_is_explained);
    tcase_add_test(tc, a_plan_has_the_table_of_peers);
    return ek_test_run("skew_intents", tc);
}
