/* SPDX-License-Identifier: Apache-2.0 */
/* The frame for subjects: what each verb does to the cluster, what a conflict means, when the
 * next run is, and life: informers that never sync, two keys, early subjects, the end. */
#include <check.h>
#include <limits.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/skew/facts.h"
#include "reconcilers/skew/spec.h"
#include "test/support/fakesubject.h"
#include "test/support/suite.h"

#define FAR_MS  INT64_C(600000) /* no test waits for it */
#define WIDGETS "/apis/test.evenkeel.dev/v1/namespaces/default/widgets"

static const struct ek_resource widgets = {.group = "test.evenkeel.dev",
                                           .version = "v1",
                                           .resource = "widgets",
                                           .kind = "Widget",
                                           .namespace = "default"};

static const char definition[] =
    "{\"metadata\":{\"name\":\"widgets.test.evenkeel.dev\"},\"spec\":{\"group\":"
    "\"test.evenkeel.dev\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"singular\":"
    "\"widget\",\"kind\":\"Widget\",\"listKind\":\"WidgetList\"},\"versions\":[{\"name\":\"v1\","
    "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

/* ---- Verbs ---- */

/* The stored object has .spec.kept, .spec.lost and .spec.a = 0. */
#define BOTH "{\"spec\":{\"a\":\"1\"},\"status\":{\"b\":\"2\"}}"

static const struct {
    const char *name;
    enum fake_what what;
    bool is_there; /* the object, before */
    const char *content, *status, *version;
    const char *request; /* as the API server saw it */
    int code;            /* of a GET afterwards */
    const char *has[2], *lacks[2];
    const char *kind; /* of the answer; NULL: none */
} verbs[] = {
    {.name = "create",
     .what = FAKE_CREATE,
     .content = "{\"spec\":{\"a\":\"1\"}}",
     .request = "\"verb\":\"create\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 200,
     .has = {"\"a\":\"1\"", "\"operation\":\"Update\""},
     .kind = "Widget"},
    {.name = "create what is there",
     .what = FAKE_CREATE,
     .is_there = true,
     .content = "{\"spec\":{\"a\":\"1\"}}",
     .request = "\"verb\":\"create\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 200,
     .has = {"\"a\":\"0\""}},
    {.name = "apply",
     .what = FAKE_GOOD,
     .is_there = true,
     .content = BOTH,
     .request = "\"verb\":\"patch\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 200,
     .has = {"\"a\":\"1\"", "\"operation\":\"Apply\""},
     .lacks = {"\"b\":\"2\""},
     .kind = "Widget"},
    {.name = "apply what is not there",
     .what = FAKE_GOOD,
     .content = "{\"spec\":{\"a\":\"1\"}}",
     .request = "\"verb\":\"patch\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 200,
     .has = {"\"a\":\"1\"", "\"operation\":\"Apply\""},
     .kind = "Widget"},
    {.name = "apply the status",
     .what = FAKE_BAD,
     .is_there = true,
     .status = "{\"b\":\"2\"}",
     .request = "\"verb\":\"patch\",\"resource\":\"widgets.test.evenkeel.dev/status\"",
     .code = 200,
     .has = {"\"b\":\"2\"", "\"operation\":\"Apply\""},
     .kind = "Widget"},
    {.name = "patch",
     .what = FAKE_PATCH,
     .is_there = true,
     .content = "{\"spec\":{\"a\":\"1\",\"lost\":null},\"status\":{\"b\":\"2\"}}",
     .request = "\"verb\":\"patch\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 200,
     .has = {"\"a\":\"1\"", "\"kept\""},
     .lacks = {"\"lost\"", "\"operation\":\"Apply\""},
     .kind = "Widget"},
    {.name = "patch the status",
     .what = FAKE_PATCH_STATUS,
     .is_there = true,
     .content = BOTH,
     .request = "\"verb\":\"patch\",\"resource\":\"widgets.test.evenkeel.dev/status\"",
     .code = 200,
     .has = {"\"b\":\"2\"", "\"a\":\"0\""},
     .lacks = {"\"operation\":\"Apply\""},
     .kind = "Widget"},
    {.name = "delete",
     .what = FAKE_DELETE,
     .is_there = true,
     .request = "\"verb\":\"delete\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 404,
     .kind = "Status"},
    {.name = "delete what is gone",
     .what = FAKE_DELETE,
     .request = "\"verb\":\"delete\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 404},
    {.name = "list",
     .what = FAKE_LIST,
     .request = "\"verb\":\"list\",\"resource\":\"widgets.test.evenkeel.dev\"",
     .code = 404,
     .kind = "WidgetList"},
};

START_TEST(a_verb)
{
    EK_AUTOFREE char *body = NULL;
    EK_AUTOFREE char *trace = ek_xasprintf("follow observe publish first %s second ended ",
                                           fakesubject_word(verbs[_i].what));

    fake.resource = &widgets;
    fake.content = verbs[_i].content;
    fake.status = verbs[_i].status;
    fake.leads = false;
    fake.first[0].what = verbs[_i].what;
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    subjectbench_post(&fake.bench, SUBJECTBENCH_CRDS, definition);
    if (verbs[_i].is_there)
        subjectbench_post(&fake.bench, WIDGETS,
                          "{\"metadata\":{\"name\":\"made-0\"},\"spec\":{\"a\":\"0\",\"kept\":"
                          "\"yes\",\"lost\":\"yes\"}}");
    fakesubject_forget();
    fake.bench.slots[0].leads = true;
    ek_controller_write(fake.controller, 0);
    fakesubject_run(2);
    ck_assert_msg(!strcmp(fake.trace, trace), "%s: %s", verbs[_i].name, fake.trace);
    ck_assert_msg(fake.result == EK_RECONCILED_OK, "%s: %s", verbs[_i].name, fake.error);
    ck_assert_msg(!strcmp(fake.kind, verbs[_i].kind ? verbs[_i].kind : ""), "%s: %s",
                  verbs[_i].name, fake.kind);
    ck_assert_msg(strstr(fake.bench.world.requests, verbs[_i].request) != NULL, "%s: %s",
                  verbs[_i].name, fake.bench.world.requests);
    int code = apiworld_request(&fake.bench.world, "GET", WIDGETS "/made-0", NULL, &body);
    ck_assert_msg(code == verbs[_i].code, "%s: %d", verbs[_i].name, code);
    for (int i = 0; i < 2; i++) {
        const char *has = verbs[_i].has[i], *lacks = verbs[_i].lacks[i];
        ck_assert_msg(!has || strstr(body, has), "%s: %s", verbs[_i].name, body);
        ck_assert_msg(!lacks || !strstr(body, lacks), "%s: %s", verbs[_i].name, body);
    }
    fakesubject_stop();
}
END_TEST

/* Each write whose precondition does not hold. */
static const struct {
    enum fake_what what;
    const char *uid, *version;
} conflicts[] = {
    {FAKE_GOOD, "another", NULL}, {FAKE_GOOD, NULL, "1"},         {FAKE_PATCH, "another", NULL},
    {FAKE_PATCH, NULL, "1"},      {FAKE_DELETE, "another", NULL}, {FAKE_DELETE, NULL, "1"},
};

/* A conflict is the run's failure as any other: the rest goes on, and the next run, from what is
 * observed then, is rate-limited. */
START_TEST(a_conflict)
{
    EK_AUTOFREE char *trace = ek_xasprintf("follow observe publish first %s good second ended ",
                                           fakesubject_word(conflicts[_i].what));

    fake.leads = false;
    fake.uid = conflicts[_i].uid;
    fake.version = conflicts[_i].version;
    fake.content = "{\"data\":{\"a\":\"1\"}}";
    fake.first[0] = (struct fake_planned){.what = conflicts[_i].what, .guarded = true};
    fake.first[1].what = FAKE_GOOD;
    fake.queue.retry_base_ms = FAR_MS;
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    subjectbench_post(&fake.bench, FAKE_MAPS, "{\"metadata\":{\"name\":\"made-0\"}}");
    fakesubject_forget();
    fake.bench.slots[0].leads = true;
    ek_controller_write(fake.controller, 0);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, trace);
    ck_assert_int_eq(fake.result, EK_RECONCILED_ERROR);
    ck_assert_int_eq(fake.code, EK_E_CONFLICT);
    const struct ek_queue_entry key = fakesubject_key("all");
    ck_assert(key.waiting && !key.dirty);
    ck_assert_uint_eq(key.requeues, 1);
    ck_assert_int_gt(key.ready_ms, FAR_MS / 2);
    subjectbench_check_absent(&fake.bench, FAKE_MAPS "/made-0", "\"a\":\"1\"");
    apiworld_wait_for(&fake.bench.world, FAKE_MAPS "/made-1", "\"a\":\"1\"");
    fakesubject_stop();
}
END_TEST

/* `answered` may find that what depends on a write is not to be written. */
START_TEST(what_is_skipped)
{
    fake.skips = _i;
    fake.first[0].what = FAKE_LIST;
    fake.first[1] = (struct fake_planned){.what = FAKE_GOOD, .depends = true};
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    ck_assert_str_eq(fake.trace, _i ? "follow observe publish first list second ended "
                                    : "follow observe publish first list good second ended ");
    ck_assert_int_eq(fake.result, EK_RECONCILED_OK);
    fakesubject_stop();
}
END_TEST

/* ---- The next run ---- */

/* Of all times that a run names, the soonest counts. */
static const struct {
    int64_t observe_ms, first_ms, second_ms, soonest_ms;
} times[] = {
    {FAR_MS, 2 * FAR_MS, 3 * FAR_MS, FAR_MS},
    {2 * FAR_MS, FAR_MS, 3 * FAR_MS, FAR_MS},
    {3 * FAR_MS, 2 * FAR_MS, FAR_MS, FAR_MS},
    {0, 0, FAR_MS, FAR_MS},
};

START_TEST(again)
{
    fake.observe_again_ms = times[_i].observe_ms;
    fake.stage_again_ms = times[_i].first_ms;
    fake.second_again_ms = times[_i].second_ms;
    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    ck_assert_int_eq(fake.result, EK_RECONCILED_REQUEUE_AFTER);
    const struct ek_queue_entry key = fakesubject_key("all");
    ck_assert(key.waiting);
    ck_assert_int_le(key.ready_ms, times[_i].soonest_ms);
    ck_assert_int_gt(key.ready_ms, times[_i].soonest_ms / 2);
    fakesubject_stop();
}
END_TEST

/* A change waits until what changes with it has settled, and for the gap after the run before. */
static const struct ek_pace paces[] = {
    {.settle_ms = FAR_MS},
    {.gap_ms = FAR_MS},
    {.share = UINT_MAX, .max_gap_ms = FAR_MS},
};

START_TEST(a_change_waits)
{
    struct ek_subject paced = fakesubject_one_key;

    paced.pace = paces[_i];
    fakesubject_start(&paced, NULL);
    fakesubject_run(1);
    ck_assert(!fakesubject_key("all").key);
    ek_controller_observe(fake.controller);
    const struct ek_queue_entry key = fakesubject_key("all");
    ck_assert(key.waiting && !key.dirty);
    ck_assert_int_le(key.ready_ms, FAR_MS);
    ck_assert_int_gt(key.ready_ms, FAR_MS / 2);
    fakesubject_stop();
}
END_TEST

/* A write may be put off; one at once takes its place. */
START_TEST(a_write_that_is_put_off)
{
    fakesubject_start(&fakesubject_two_keys, NULL);
    fakesubject_run(2);
    fakesubject_forget();
    ek_controller_write(fake.controller, FAR_MS);
    const struct ek_queue_entry key = fakesubject_key("write");
    ck_assert(key.waiting && !key.dirty);
    ck_assert_int_gt(key.ready_ms, FAR_MS / 2);
    ek_controller_write(fake.controller, 0);
    fakesubject_run(3);
    ck_assert_str_eq(fake.trace, "first second ended ");
    ck_assert(!fakesubject_key("write").waiting);
    fakesubject_stop();
}
END_TEST

/* ---- Facts ---- */

START_TEST(facts_make_a_subject_observe_if_they_matter)
{
    const struct ek_skew_facts facts = {0};
    const struct ek_skew_spec spec = {0};

    fakesubject_start(&fakesubject_one_key, NULL);
    fakesubject_run(1);
    fakesubject_forget();
    ek_controller_facts(fake.controller, &facts, &spec);
    ck_assert_str_eq(fake.trace, "facts ");
    ck_assert(!fakesubject_key("all").key);
    fake.facts_matter = true;
    ek_controller_facts(fake.controller, &facts, &spec);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, "facts facts follow observe publish first second ended ");
    fakesubject_stop();
}
END_TEST

/* ---- Life ---- */

static void hold(const char *path)
{
    struct ek_fault fault = {.kind = EK_FAULT_STALL};

    snprintf(fault.path, sizeof fault.path, "%s", path);
    ck_assert_int_eq(
        ek_faults_add(ek_apishell_faults(fake.bench.world.shell), &fault, &(struct ek_err){0}), 0);
}

/* What was never listed is not observed, and nothing is planned from it. */
static const struct {
    const struct ek_subject *subject;
    const char *trace, *after_write;
} unsynced[] = {
    {&fakesubject_one_key, "start follow ended ", "start follow ended follow ended "},
    {&fakesubject_two_keys, "start follow ", "start follow ended "},
};

START_TEST(an_informer_never_syncs)
{
    fake.first[0].what = FAKE_GOOD;
    fakesubject_make(unsynced[_i].subject, NULL);
    hold(FAKE_MAPS);
    subjectbench_start_runnable(&fake.bench.slots[0].watch);
    subjectbench_start_runnable(&fake.bench.slots[0].runner);
    fakesubject_run(1);
    ck_assert_str_eq(fake.trace, unsynced[_i].trace);
    ek_controller_write(fake.controller, 0);
    fakesubject_run(2);
    ck_assert_str_eq(fake.trace, unsynced[_i].after_write);
    ck_assert_ptr_null(strstr(fake.bench.world.requests, "\"verb\":\"patch\""));
    fakesubject_stop();
}
END_TEST

/* With two keys, a write whose answer does not come does not hold up what is observed. */
START_TEST(observing_goes_on_during_a_write)
{
    fake.first[0].what = FAKE_GOOD;
    fakesubject_make(&fakesubject_two_keys, NULL);
    hold(FAKE_MAPS "/made-0");
    subjectbench_start_runnable(&fake.bench.slots[0].watch);
    subjectbench_start_runnable(&fake.bench.slots[0].runner);
    fakesubject_run_to_write();
    fakesubject_forget();
    ek_controller_observe(fake.controller);
    for (int i = 0; i < 50 && !strstr(fake.trace, "publish"); i++)
        subjectbench_turn(&fake.bench);
    ck_assert_str_eq(fake.trace, "follow observe publish ");
    ck_assert_uint_eq(fake.bench.rows[0].workers, 2);
    ck_assert_uint_eq(ek_subject_registry_row(&fakesubject_one_key).workers, 1);
    fakesubject_stop();
}
END_TEST

static bool is_synced(const void *ctx)
{
    (void)ctx;
    return ek_watchset_is_synced(ek_controller_watchset(fake.controller));
}

/* The next group waits for the informers, and for what the subject has besides. */
START_TEST(a_subject_is_ready)
{
    const struct subjectbench_slot *slot = &fake.bench.slots[0];

    fakesubject_make(&fakesubject_one_key, NULL);
    ck_assert_int_eq(slot->watch.group, EK_GROUP_CACHES);
    ck_assert_int_eq(slot->runner.group, EK_GROUP_OTHERS);
    subjectbench_start_runnable(&slot->watch);
    ck_assert(!slot->watch.ready(slot->watch.ctx));
    fake.is_ready = false;
    apiworld_run_until(&fake.bench.world, is_synced, NULL);
    ck_assert(!slot->watch.ready(slot->watch.ctx));
    fake.is_ready = true;
    ck_assert(slot->watch.ready(slot->watch.ctx));
    fakesubject_stop();
}
END_TEST

/* Nothing waits for an early subject, which starts with the webhook. */
START_TEST(an_early_subject)
{
    const struct subjectbench_slot *slot = &fake.bench.slots[0];
    struct ek_subject early = fakesubject_one_key;

    early.early = true;
    fake.is_ready = false;
    fakesubject_make(&early, NULL);
    ck_assert_int_eq(slot->watch.group, EK_GROUP_WEBHOOKS);
    ck_assert_int_eq(slot->runner.group, EK_GROUP_WEBHOOKS);
    subjectbench_start_runnable(&slot->watch);
    ck_assert(!is_synced(NULL));
    ck_assert(slot->watch.ready(slot->watch.ctx));
    fakesubject_stop();
}
END_TEST

static void on_closed(void *ctx)
{
    *(int *)ctx = 1;
}

/* Nobody reaches a subject that is closing. */
START_TEST(nothing_comes_after_the_close)
{
    const struct ek_peer peer = {
        .name = "cp-a", .server_id = "", .address = "", .address_source = ""};
    struct ek_peer_table *table = ek_peer_table_new(&peer, 1, true, true);
    const struct ek_skew_facts facts = {0};
    const struct ek_skew_spec spec = {0};
    int closed = 0;

    fakesubject_start(&fakesubject_two_keys, NULL);
    fakesubject_run(2);
    fakesubject_forget();
    fake.peers_matter = fake.facts_matter = true;
    ek_registry_set(fake.bench.registry, 0, NULL);
    ek_controller_close(fake.controller, on_closed, &closed);
    fake.bench.slots[0].controller = NULL;
    ck_assert_str_eq(fake.trace, "close ");
    ek_controller_observe(fake.controller);
    ek_controller_write(fake.controller, 0);
    ek_controller_write(fake.controller, 1);
    ek_controller_elected(fake.controller);
    ek_controller_peers(fake.controller, table);
    ek_controller_facts(fake.controller, &facts, &spec);
    ck_assert_str_eq(fake.trace, "close ");
    clientbench_run_until(&fake.bench.world.bench, &closed);
    ck_assert_str_eq(fake.trace, "close ");
    ek_peer_table_free(table);
    fakesubject_stop();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("subject_verbs");

    tcase_add_checked_fixture(tc, fakesubject_setup, NULL);
    tcase_add_loop_test(tc, a_verb, 0, EK_ARRAY_SIZE(verbs));
    tcase_add_loop_test(tc, a_conflict, 0, EK_ARRAY_SIZE(conflicts));
    tcase_add_loop_test(tc, what_is_skipped, 0, 2);
    tcase_add_loop_test(tc, again, 0, EK_ARRAY_SIZE(times));
    tcase_add_loop_test(tc, a_change_waits, 0, EK_ARRAY_SIZE(paces));
    tcase_add_test(tc, a_write_that_is_put_off);
    tcase_add_test(tc, facts_make_a_subject_observe_if_they_matter);
    tcase_add_loop_test(tc, an_informer_never_syncs, 0, EK_ARRAY_SIZE(unsynced));
    tcase_add_test(tc, observing_goes_on_during_a_write);
    tcase_add_test(tc, a_subject_is_ready);
    tcase_add_test(tc, an_early_subject);
    tcase_add_test(tc, nothing_comes_after_the_close);
    return ek_test_run("subject_verbs", tc);
}
