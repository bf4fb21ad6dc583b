/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of intents: what is appended belongs to the list, and what a plan says besides. */
#include <check.h>
#include <string.h>

#include "reconcilers/intent.h"
#include "test/support/suite.h"

static const struct ek_resource things = {.group = "test.example",
                                          .version = "v1",
                                          .resource = "things",
                                          .kind = "Thing",
                                          .namespace = "space"};

/* A target in memory that is overwritten once it was passed on. */
struct texts {
    char group[32], name[32], uid[32], version[32];
    struct ek_resource resource;
    struct ek_apply_target target;
};

static void texts_init(struct texts *t)
{
    *t = (struct texts){"test.example", "one", "u-1", "7", things, {0}};
    t->resource.group = t->group;
    t->target = (struct ek_apply_target){
        .resource = &t->resource, .name = t->name, .uid = t->uid, .resource_version = t->version};
}

static void texts_spoil(struct texts *t)
{
    memset(t->group, 'x', 31);
    memset(t->name, 'x', 31);
    memset(t->uid, 'x', 31);
    memset(t->version, 'x', 31);
}

START_TEST(a_write_belongs_to_its_list)
{
    EK_AUTO(ek_intents) list;
    struct texts t;

    ek_intents_init(&list);
    texts_init(&t);
    yyjson_mut_val *content = yyjson_mut_obj(ek_intents_doc(&list));
    ek_intents_create(&list, &t.target, content)->tag = 3;
    ek_intents_apply(&list, &t.target, NULL)->on_failure = EK_STOP;
    yyjson_mut_val *status = yyjson_mut_str(ek_intents_doc(&list), "fine");
    ek_intents_depend(ek_intents_apply_status(&list, &t.target, status));
    ek_intents_patch(&list, &t.target, NULL);
    ek_intents_patch_status(&list, &t.target, NULL);
    ek_intents_delete(&list, &t.target);
    texts_spoil(&t);

    ck_assert_uint_eq(list.n, 6);
    for (size_t i = 0; i < list.n; i++) {
        ck_assert_str_eq(list.items[i].resource.group, "test.example");
        ck_assert_str_eq(list.items[i].resource.resource, "things");
        ck_assert_str_eq(list.items[i].resource.kind, "Thing");
        ck_assert_str_eq(list.items[i].resource.namespace, "space");
        ck_assert_str_eq(list.items[i].name, "one");
        ck_assert_str_eq(list.items[i].uid, "u-1");
        ck_assert_str_eq(list.items[i].resource_version, "7");
        ck_assert(list.items[i].depends == (i == 2));
        ck_assert_int_eq(list.items[i].on_failure, i == 1 ? EK_STOP : EK_GO_ON);
        ck_assert_int_eq(list.items[i].tag, i == 0 ? 3 : 0);
    }
    ck_assert_int_eq(list.items[0].verb, EK_CREATE);
    ck_assert_ptr_eq(list.items[0].content, content);
    ck_assert_int_eq(list.items[1].verb, EK_APPLY);
    ck_assert_uint_eq(yyjson_mut_obj_size(list.items[1].content), 0);
    ck_assert_int_eq(list.items[2].verb, EK_APPLY_STATUS);
    ck_assert_int_eq(list.items[3].verb, EK_PATCH);
    ck_assert_int_eq(list.items[4].verb, EK_PATCH_STATUS);
    ck_assert_int_eq(list.items[5].verb, EK_DELETE);
    ck_assert_ptr_eq(yyjson_mut_obj_get(list.items[2].content, "status"), status);
}
END_TEST

START_TEST(an_event_belongs_to_its_list)
{
    EK_AUTO(ek_intents) list;
    char note[] = "a note", uid[] = "u-1";

    ek_intents_init(&list);
    ek_intents_event(&list, &(struct ek_event){.regarding = {.kind = "Thing", .uid = uid},
                                               .warning = true,
                                               .reason = "Counted",
                                               .action = "Count",
                                               .note = note});
    memset(note, 'x', sizeof note - 1);
    memset(uid, 'x', sizeof uid - 1);
    ck_assert_uint_eq(list.n, 1);
    const struct ek_intent *intent = &list.items[0];
    ck_assert_int_eq(intent->verb, EK_EVENT);
    ck_assert_str_eq(intent->event.note, "a note");
    ck_assert_str_eq(intent->event.reason, "Counted");
    ck_assert_str_eq(intent->event.action, "Count");
    ck_assert_str_eq(intent->event.regarding.kind, "Thing");
    ck_assert_str_eq(intent->event.regarding.uid, "u-1");
    ck_assert_ptr_null(intent->event.regarding.resource_version);
    ck_assert(intent->event.warning);
    ck_assert(!intent->depends);
}
END_TEST

START_TEST(an_object_names_itself)
{
    static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
                               "\"n\",\"uid\":\"u\",\"resourceVersion\":\"9\"}}";
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;

    ck_assert_int_eq(ek_obj_parse(json, sizeof json - 1, &obj, NULL), 0);
    struct ek_event_regarding about = ek_event_about(obj);
    ck_assert_str_eq(about.api_version, "v1");
    ck_assert_str_eq(about.kind, "Node");
    ck_assert_str_eq(about.namespace, "");
    ck_assert_str_eq(about.name, "n");
    ck_assert_str_eq(about.uid, "u");
    ck_assert_str_eq(about.resource_version, "9");
}
END_TEST

START_TEST(the_soonest_look_and_the_first_failure_count)
{
    static const struct {
        int64_t ms[3], want;
    } rows[] = {
        {{0, 0, 0}, 0}, {{5, 0, 0}, 5}, {{5, 9, 0}, 5}, {{9, 5, 7}, 5}, {{-1, 0, 3}, 3},
    };
    struct ek_err first = {.code = EK_E_FORBIDDEN, .message = "first"};
    struct ek_err second = {.code = EK_E_NET, .message = "second"}, none = {0};
    EK_AUTO(ek_intents) list;

    ek_intents_init(&list);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        list.again_ms = 0;
        for (size_t k = 0; k < 3; k++)
            ek_intents_again(&list, rows[i].ms[k]);
        ck_assert_int_eq(list.again_ms, rows[i].want);
    }
    ek_intents_fail(&list, NULL);
    ek_intents_fail(&list, &none);
    ck_assert_int_eq(list.failure.code, 0);
    ek_intents_fail(&list, &first);
    ek_intents_fail(&list, &second);
    ck_assert_str_eq(list.failure.message, "first");
}
END_TEST

START_TEST(a_list_is_full_by_number_or_by_size)
{
    const struct ek_apply_target target = {.resource = &things, .name = "one"};
    EK_AUTO(ek_intents) list;

    ek_intents_init(&list);
    for (int i = 0; i < EK_INTENTS_MAX; i++) {
        ck_assert(!ek_intents_is_full(&list));
        ek_intents_apply(&list, &target, NULL);
    }
    ck_assert(ek_intents_is_full(&list));
    ek_intents_done(&list);
    ek_intents_init(&list);
    ek_intents_weigh(&list, EK_INTENTS_BYTES - 1);
    ck_assert(!ek_intents_is_full(&list));
    ek_intents_weigh(&list, 1);
    ck_assert(ek_intents_is_full(&list));
}
END_TEST

START_TEST(failures_have_a_class)
{
    static const struct {
        int code, status;
        enum ek_apply_class want;
    } rows[] = {
        {0, 0, EK_APPLY_DONE},
        {EK_E_CONFLICT, 409, EK_APPLY_CONFLICT},
        {EK_E_EXIST, 409, EK_APPLY_CONFLICT},
        {EK_E_NOENT, 404, EK_APPLY_ABSENT},
        {EK_E_FORBIDDEN, 403, EK_APPLY_DENIED},
        {EK_E_UNAUTHORIZED, 401, EK_APPLY_DENIED},
        {EK_E_INVAL, 422, EK_APPLY_TERMINAL},
        {EK_E_HTTP, 413, EK_APPLY_TERMINAL},
        {EK_E_HTTP, 418, EK_APPLY_LATER},
        {EK_E_THROTTLED, 429, EK_APPLY_LATER},
        {EK_E_NET, 0, EK_APPLY_LATER},
    };

    ck_assert_int_eq(ek_apply_classify(NULL), EK_APPLY_DONE);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        const struct ek_err err = {.code = rows[i].code, .http_status = rows[i].status};
        ck_assert_int_eq(ek_apply_classify(&err), rows[i].want);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("intent");

    tcase_add_test(tc, a_write_belongs_to_its_list);
    tcase_add_test(tc, an_event_belongs_to_its_list);
    tcase_add_test(tc, an_object_names_itself);
    tcase_add_test(tc, the_soonest_look_and_the_first_failure_count);
    tcase_add_test(tc, a_list_is_full_by_number_or_by_size);
    tcase_add_test(tc, failures_have_a_class);
    return ek_test_run("intent", tc);
}
