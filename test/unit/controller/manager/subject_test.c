/* SPDX-License-Identifier: Apache-2.0 */
/* The frame for subjects, with a subject that does what each test says: which functions are called
 * in which order, what becomes of intents, failures and requeues, who writes. Against the test API
 * server. subject_verbs_test.c has what becomes of each verb, and life. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/fakesubject.h"
#include "test/support/suite.h"

/* ---- One run ---- */

/* A run of the subject with one key, by what it plans. */
static const struct {
    const char *name, *trace, *error;
    struct fake_planned first[6], second[6];
    unsigned batches;
    int lose_after, failure;
    int64_t observe_again_ms, stage_again_ms;
    enum ek_reconciled result;
    bool nothing, part; /* was observed */
    bool forgives, rewords, standby;
} runs[] = {
    {.name = "nothing to do", .trace = "follow observe publish first second ended "},
    {.name = "intents in order, stage by stage",
     .first = {{.what = FAKE_GOOD}, {.what = FAKE_CREATE}},
     .second = {{.what = FAKE_GOOD}},
     .trace = "follow observe publish first good create second good ended "},
    {.name = "parts of a stage",
     .first = {{.what = FAKE_GOOD}},
     .second = {{.what = FAKE_CREATE}},
     .batches = 3,
     .trace = "follow observe publish first good first good first good second create ended "},
    {.name = "the first failure is the run's, and the rest goes on",
     .first = {{.what = FAKE_BAD}, {.what = FAKE_GOOD}, {.what = FAKE_BAD}},
     .second = {{.what = FAKE_GOOD}},
     .trace = "follow observe publish first bad good bad second good ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "configmaps default/made-0"},
    {.name = "a failure that stops ends the run",
     .first = {{.what = FAKE_BAD, .stops = true}, {.what = FAKE_GOOD}},
     .second = {{.what = FAKE_GOOD}},
     .trace = "follow observe publish first bad ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "configmaps default/made-0"},
    {.name = "a failure that stops ends the run, also when the subject takes it away",
     .first = {{.what = FAKE_BAD, .stops = true}, {.what = FAKE_GOOD}},
     .second = {{.what = FAKE_GOOD}},
     .forgives = true,
     .trace = "follow observe publish first bad ended "},
    {.name = "what depends on a failed write is skipped",
     .first = {{.what = FAKE_BAD},
               {.what = FAKE_GOOD, .depends = true},
               {.what = FAKE_GOOD, .depends = true},
               {.what = FAKE_GOOD}},
     .trace = "follow observe publish first bad good second ended ",
     .result = EK_RECONCILED_ERROR},
    {.name = "what depends on a write that succeeded is carried out",
     .first = {{.what = FAKE_GOOD}, {.what = FAKE_GOOD, .depends = true}},
     .trace = "follow observe publish first good good second ended "},
    {.name = "nothing depends across stages",
     .first = {{.what = FAKE_GOOD}},
     .second = {{.what = FAKE_GOOD, .depends = true}},
     .trace = "follow observe publish first good second ended "},
    {.name = "a failure that the subject takes away",
     .first = {{.what = FAKE_BAD}, {.what = FAKE_GOOD}},
     .forgives = true,
     .trace = "follow observe publish first bad good second ended "},
    {.name = "a failure that the subject rewords",
     .first = {{.what = FAKE_BAD}},
     .rewords = true,
     .trace = "follow observe publish first bad second ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "reworded"},
    {.name = "a plan that fails carries out its intents",
     .first = {{.what = FAKE_GOOD}},
     .failure = EK_E_FORBIDDEN,
     .trace = "follow observe publish first good second ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "planned"},
    {.name = "leadership is lost between two intents",
     .first = {{.what = FAKE_GOOD}, {.what = FAKE_GOOD}},
     .lose_after = 1,
     .trace = "follow observe publish first good ended "},
    {.name = "leadership is lost between two stages",
     .first = {{.what = FAKE_GOOD}},
     .second = {{.what = FAKE_GOOD}},
     .lose_after = 1,
     .trace = "follow observe publish first good ended "},
    {.name = "a replica that does not lead",
     .first = {{.what = FAKE_GOOD}},
     .standby = true,
     .trace = "follow observe publish standby ended "},
    {.name = "nothing to go by yet", .nothing = true, .trace = "follow observe ended "},
    {.name = "a part to go by", .part = true, .trace = "follow observe publish ended "},
    {.name = "again, as observed",
     .observe_again_ms = 600000,
     .result = EK_RECONCILED_REQUEUE_AFTER,
     .trace = "follow observe publish first second ended "},
    {.name = "again, as planned",
     .stage_again_ms = 600000,
     .result = EK_RECONCILED_REQUEUE_AFTER,
     .trace = "follow observe publish first second ended "},
    {.name = "a failure comes before a time",
     .first = {{.what = FAKE_BAD}},
     .stage_again_ms = 600000,
     .observe_again_ms = 600000,
     .result = EK_RECONCILED_ERROR,
     .trace = "follow observe publish first bad second ended "},
};

START_TEST(a_run)
{
    memcpy(fake.first, runs[_i].first, sizeof fake.first);
    memcpy(fake.second, runs[_i].second, sizeof fake.second);
    if (runs[_i].batches)
        fake.batches = runs[_i].batches;
    fake.lose_after = runs[_i].lose_after;
    if (runs[_i].failure)
        ek_err_set(&fake.failure, runs[_i].failure, "planned");
    fake.observe_again_ms = runs[_i].observe_again_ms;
    fake.stage_again_ms = runs[_i].stage_again_ms;
    fake.forgives = runs[_i].forgives;
    fake.rewords = runs[_i].rewords;
    fake.leads = !runs[_i].standby;
    fake.observed = runs[_i].nothing ? EK_OBSERVED_NOTHING
                    : runs[_i].part  ? EK_OBSERVED_PART
                                     : EK_OBSERVED_ALL;
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    enum ek_reconciled want = runs[_i].result;
    ck_assert_msg(!strcmp(fake.trace, runs[_i].trace), "%s: %s", runs[_i].name, fake.trace);
    ck_assert_msg(fake.result == want, "%s: %d %s", runs[_i].name, fake.result, fake.error);
    ck_assert_int_eq(fake.n_failed, want == EK_RECONCILED_ERROR);
    if (runs[_i].error)
        ck_assert_msg(strstr(fake.error, runs[_i].error) != NULL, "%s: %s", runs[_i].name,
                      fake.error);
    fakesubject_stop();
}
END_TEST

/* ---- Events ---- */

/* What a GET of path returns; owned. */
static struct ek_obj *get(const char *path)
{
    EK_AUTOFREE char *body = NULL;
    struct ek_obj *obj = NULL;

    ck_assert_int_eq(apiworld_request(&fake.bench.world, "GET", path, NULL, &body), 200);
    ck_assert_int_eq(ek_obj_parse(body, strlen(body), &obj, NULL), 0);
    return obj;
}

/* The object of the Event with that note, borrowed from list; NULL: there is no such Event. */
static yyjson_val *regarding(const struct ek_obj *list, const char *note)
{
    yyjson_val *event;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(ek_obj_root(list), "items"), i, n, event)
    {
        if (!strcmp(ek_json_str(event, "note", NULL), note))
            return yyjson_obj_get(event, "regarding");
    }
    return NULL;
}

/* An Event that depends on a write names the object as the API server returned it for the write;
 * another one names what the plan named. */
START_TEST(events_follow_the_writes_they_depend_on)
{
    fake.first[0] = (struct fake_planned){.what = FAKE_GOOD};
    fake.first[1] = (struct fake_planned){.what = FAKE_EVENT, .depends = true};
    fake.first[2] = (struct fake_planned){.what = FAKE_EVENT};
    fake.first[3] = (struct fake_planned){.what = FAKE_BAD};
    fake.first[4] = (struct fake_planned){.what = FAKE_EVENT, .depends = true};
    fake.first[5] = (struct fake_planned){.what = FAKE_EVENT};
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    apiworld_wait_for(&fake.bench.world, SUBJECTBENCH_EVENTS, "\"made-5\"");
    struct ek_obj *list = get(SUBJECTBENCH_EVENTS), *made = get(FAKE_MAPS "/made-0");
    yyjson_val *depends = regarding(list, "made-1"), *alone = regarding(list, "made-2");
    ck_assert_str_eq(ek_json_str(depends, "uid", NULL), ek_obj_uid(made));
    ck_assert_str_eq(ek_json_str(depends, "resourceVersion", NULL), ek_obj_resource_version(made));
    ck_assert_str_eq(ek_json_str(alone, "name", NULL), "made-2");
    ck_assert_ptr_null(yyjson_obj_get(alone, "uid"));
    ck_assert_ptr_null(yyjson_obj_get(alone, "resourceVersion"));
    ck_assert_ptr_null(regarding(list, "made-4"));
    ek_obj_unref(list);
    ek_obj_unref(made);
    fakesubject_stop();
}
END_TEST

START_TEST(events_without_a_recorder_are_dropped)
{
    fake.without_recorder = true;
    fake.first[0] = (struct fake_planned){.what = FAKE_EVENT};
    fake.first[1] = (struct fake_planned){.what = FAKE_GOOD};
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    ck_assert_str_eq(fake.trace, "follow observe publish first good second ended ");
    fakesubject_stop();
}
END_TEST

/* ---- Stages ---- */

START_TEST(as_many_stages_as_there_can_be)
{
    struct ek_subject full = fakesubject_one_key;

    for (size_t i = 2; i < EK_SUBJECT_STAGES_MAX; i++)
        full.stages[i] = full.stages[1];
    fakesubject_start(&full, NULL);
    fakesubject_run(1);
    ck_assert_str_eq(fake.trace, "follow observe publish first second second second second second "
                                 "second second ended ");
    fakesubject_stop();
}
END_TEST

/* ---- Keys, changes and others ---- */

START_TEST(two_keys_observe_and_write_apart)
{
    fake.first[0] = (struct fake_planned){.what = FAKE_GOOD};
    fakesubject_start(&fakesubject_two_keys, NULL);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish first good second ended ");
    fake.trace[0] = '\0';
    ek_controller_write(fake.controller, 0);
    fakesubject_run(3);
    ck_assert_str_eq(fake.trace, "first good second ended ");
    fakesubject_stop();
}
END_TEST

START_TEST(nothing_is_written_before_something_was_observed)
{
    fake.observed = EK_OBSERVED_NOTHING;
    fake.first[0] = (struct fake_planned){.what = FAKE_GOOD};
    fakesubject_start(&fakesubject_two_keys, NULL);
    fakesubject_run(1);
    ek_controller_write(fake.controller, 0);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "follow observe ended ");
    fakesubject_stop();
}
END_TEST

START_TEST(a_change_is_observed)
{
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    fake.trace[0] = '\0';
    ck_assert_int_eq(apiworld_request(&fake.bench.world, "POST", FAKE_MAPS,
                                      "{\"metadata\":{\"name\":\"a\",\"labels\":{\"watched\":"
                                      "\"yes\"}}}",
                                      NULL),
                     201);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish first second ended ");
    fakesubject_stop();
}
END_TEST

START_TEST(who_is_elected_writes)
{
    fake.leads = false;
    fakesubject_start(&fakesubject_two_keys, NULL);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish standby ended ");
    fake.trace[0] = '\0';
    fake.bench.slots[0].leads = true;
    ek_controller_elected(fake.controller);
    fakesubject_run(3);
    ck_assert_str_eq(fake.trace, "elected first second ended ");
    fakesubject_stop();
}
END_TEST

START_TEST(peers_make_a_subject_observe_if_they_matter)
{
    const struct ek_peer peer = {
        .name = "cp-a", .server_id = "", .address = "", .address_source = ""};
    struct ek_peer_table *table = ek_peer_table_new(&peer, 1, true, true);

    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    fake.trace[0] = '\0';
    ek_controller_peers(fake.controller, table);
    ck_assert_str_eq(fake.trace, "peers ");
    fake.peers_matter = true;
    ek_controller_peers(fake.controller, table);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "peers peers follow observe publish first second ended ");
    ek_peer_table_free(table);
    fakesubject_stop();
}
END_TEST

/* The leader reports what may not be read, and no other replica does. */
START_TEST(what_was_never_listed_is_not_concluded_from)
{
    static const char *const traces[] = {"follow observe publish standby ended ",
                                         "follow observe publish ended "};

    fake.leads = _i;
    fake.first[0] = (struct fake_planned){.what = FAKE_GOOD};
    fakesubject_start(&fakesubject_two_keys, "create,patch configmaps");
    fakesubject_run(2);
    /* A machine that is slow has retried already. */
    ck_assert_msg(!strncmp(fake.trace, traces[_i], strlen(traces[_i])), "%s", fake.trace);
    ck_assert_str_eq(fake.error,
                     _i ? "configmaps could not be read: forbidden: grant list and watch" : "");
    fakesubject_stop();
}
END_TEST

START_TEST(a_controller_closes_during_a_write)
{
    fake.first[0] = (struct fake_planned){.what = FAKE_GOOD};
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run_to_write();
    ck_assert_int_eq(fake.n_runs, 0);
    subjectbench_close(&fake.bench, 0);
    /* Nothing of this reaches the subject, or what is closing. */
    ck_assert_str_eq(fake.trace, "follow observe publish first close ");
    /* Nor does the answer, which comes after the controller is gone. */
    apiworld_wait_for(&fake.bench.world, FAKE_MAPS "/made-0", "made-0");
    for (int i = 0; i < 3; i++)
        subjectbench_turn(&fake.bench);
    ck_assert_str_eq(fake.trace, "follow observe publish first close ");
    fakesubject_stop();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("subject");

    tcase_add_checked_fixture(tc, fakesubject_setup, NULL);
    tcase_add_loop_test(tc, a_run, 0, EK_ARRAY_SIZE(runs));
    tcase_add_test(tc, events_follow_the_writes_they_depend_on);
    tcase_add_test(tc, events_without_a_recorder_are_dropped);
    tcase_add_test(tc, as_many_stages_as_there_can_be);
    tcase_add_test(tc, two_keys_observe_and_write_apart);
    tcase_add_test(tc, nothing_is_written_before_something_was_observed);
    tcase_add_test(tc, a_change_is_observed);
    tcase_add_test(tc, who_is_elected_writes);
    tcase_add_test(tc, peers_make_a_subject_observe_if_they_matter);
    tcase_add_loop_test(tc, what_was_never_listed_is_not_concluded_from, 0, 2);
    tcase_add_test(tc, a_controller_closes_during_a_write);
    return ek_test_run("subject", tc);
}
