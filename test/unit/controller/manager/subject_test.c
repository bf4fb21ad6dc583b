/* SPDX-License-Identifier: Apache-2.0 */
/* The frame for subjects, with a subject that does what each test says: which functions are called
 * in which order, what becomes of intents, failures and requeues, who writes. Against the test API
 * server. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/subjectbench.h"
#include "test/support/suite.h"

#define CM "/api/v1/namespaces/default/configmaps"

enum { MAPS, ROWS };

static const struct ek_watch_row rows[ROWS] = {
    [MAPS] = {.resource = {.group = "",
                           .version = "v1",
                           .resource = "configmaps",
                           .kind = "ConfigMap",
                           .namespace = "default",
                           .label_selector = "watched=yes"},
              .flags = EK_WATCH_BLIND},
};

/* ---- The subject ---- */

/* One intent that a stage plans: a letter says what. */
enum what {
    NONE,
    GOOD,   /* applies a ConfigMap */
    BAD,    /* applies the status of one, which does not exist: 404 */
    CREATE, /* creates a ConfigMap */
    EVENT,
};

struct planned {
    enum what what;
    bool depends, stops;
};

static struct {
    char trace[4096]; /* of calls, by words */
    enum ek_observed observed;
    int64_t observe_again_ms, stage_again_ms;
    struct planned first[6], second[6];
    unsigned batches; /* of the first stage */
    unsigned planned; /* batches of it so far in this run */
    struct ek_err failure;
    bool forgives, rewords; /* in answered */
    bool peers_matter;
    int lose_after; /* leads no more after so many answers; 0: never */
    int n_answers;
    bool leads; /* at the start */
    int n_runs, n_failed;
    enum ek_reconciled result;
    char error[sizeof((struct ek_err *)0)->message];
} fake;

static struct subjectbench bench;
static struct ek_controller *controller;
static int n_named; /* objects, so that each has a name of its own */

static void trace(const char *word)
{
    size_t n = strlen(fake.trace);
    snprintf(fake.trace + n, sizeof fake.trace - n, "%s ", word);
}

static void *fake_new(struct ek_controller *c, const struct ek_subject_env *env)
{
    ck_assert_ptr_nonnull(ek_controller_watchset(c));
    ck_assert_ptr_eq(env->loop, &bench.world.bench.loop);
    return &fake;
}

static void fake_start(void *subject)
{
    ck_assert_ptr_eq(subject, &fake);
    trace("start");
}

static void fake_follow(void *subject)
{
    (void)subject;
    trace("follow");
}

static enum ek_observed fake_observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    (void)subject;
    ck_assert_ptr_nonnull(arena);
    *ret_again_ms = fake.observe_again_ms;
    trace("observe");
    return fake.observed;
}

static void fake_publish(void *subject)
{
    (void)subject;
    trace("publish");
}

static void fake_standby(void *subject)
{
    (void)subject;
    trace("standby");
}

static void append(struct ek_intents *intents, const struct planned *p)
{
    EK_AUTOFREE char *name = ek_xasprintf("made-%d", n_named++);
    const struct ek_resource maps = {.group = "",
                                     .version = "v1",
                                     .resource = "configmaps",
                                     .kind = "ConfigMap",
                                     .namespace = "default"};
    const struct ek_apply_target target = {.resource = &maps, .name = name};
    const struct ek_event event = {.regarding = {.api_version = "v1",
                                                 .kind = "ConfigMap",
                                                 .namespace = "default",
                                                 .name = name},
                                   .reason = "Noted",
                                   .action = "Note",
                                   .note = name};
    struct ek_intent *intent =
        p->what == EVENT    ? ek_intents_event(intents, &event)
        : p->what == CREATE ? ek_intents_create(intents, &target, NULL)
        : p->what == BAD
            ? ek_intents_apply_status(intents, &target, yyjson_mut_obj(ek_intents_doc(intents)))
            : ek_intents_apply(intents, &target, NULL);

    intent->depends = p->depends;
    intent->on_failure = p->stops ? EK_STOP : EK_GO_ON;
    intent->tag = p->what;
}

static void append_all(struct ek_intents *intents, const struct planned *list)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(fake.first) && list[i].what != NONE; i++)
        append(intents, &list[i]);
    ek_intents_again(intents, fake.stage_again_ms);
    ek_intents_fail(intents, &fake.failure);
}

static bool first_stage(void *subject, int64_t now_ms, struct ek_arena *arena,
                        struct ek_intents *intents)
{
    (void)subject;
    ck_assert_int_eq(now_ms, 77);
    ck_assert_ptr_nonnull(arena);
    trace("first");
    append_all(intents, fake.first);
    return ++fake.planned < fake.batches;
}

static bool second_stage(void *subject, int64_t now_ms, struct ek_arena *arena,
                         struct ek_intents *intents)
{
    (void)subject;
    (void)now_ms;
    (void)arena;
    trace("second");
    append_all(intents, fake.second);
    return false;
}

static void fake_answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                          struct ek_err *err)
{
    static const char *const words[] = {"none", "good", "bad", "create", "event"};

    (void)subject;
    ck_assert(!obj || !err->code);
    trace(words[intent->tag]);
    if (fake.forgives)
        *err = (struct ek_err){0};
    else if (fake.rewords && err->code)
        ek_err_set(err, err->code, "reworded");
    if (fake.lose_after && ++fake.n_answers == fake.lose_after)
        bench.slots[0].leads = false;
}

static void fake_ended(void *subject)
{
    (void)subject;
    trace("ended");
}

static void fake_elected(void *subject)
{
    (void)subject;
    trace("elected");
}

static bool fake_peers(void *subject, const struct ek_peer_table *table)
{
    (void)subject;
    ck_assert_uint_eq(table->n, 1);
    trace("peers");
    return fake.peers_matter;
}

static void fake_close(void *subject, void (*done)(void *ctx), void *ctx)
{
    (void)subject;
    trace("close");
    done(ctx);
}

#define FUNCTIONS                                                                                  \
    .rows = rows, .n_rows = ROWS, .new = fake_new, .start = fake_start, .follow = fake_follow,     \
    .observe = fake_observe, .publish = fake_publish, .standby = fake_standby,                     \
    .stages = {first_stage, second_stage}, .answered = fake_answered, .ended = fake_ended,         \
    .elected = fake_elected, .peers = fake_peers, .close = fake_close

static const struct ek_subject one_key = {
    .name = "fake", .kind = "Fake", .part = "fake informers", .observe_key = "all", FUNCTIONS};
static const struct ek_subject two_keys = {.name = "fake",
                                           .kind = "Fake",
                                           .part = "fake informers",
                                           .observe_key = "see",
                                           .write_key = "write",
                                           FUNCTIONS};

/* ---- The process ---- */

static void on_end(void *ctx, enum ek_reconciled result, int64_t duration_ms)
{
    (void)ctx;
    (void)duration_ms;
    fake.n_runs++;
    fake.result = result;
}

static void on_failed(void *ctx, const char *key, const char *id, enum ek_reconciled result,
                      const struct ek_err *err)
{
    (void)ctx;
    (void)key;
    (void)id;
    (void)result;
    fake.n_failed++;
    snprintf(fake.error, sizeof fake.error, "%.200s", err->message);
}

static void setup(void)
{
    memset(&fake, 0, sizeof fake);
    fake.observed = EK_OBSERVED_ALL;
    fake.leads = true;
    fake.batches = 1;
    n_named = 0;
    controller = NULL;
}

static void start_with(const struct ek_subject *subject, const char *permissions)
{
    struct ek_subject_env env;

    subjectbench_start(&bench, permissions, &subject, 1);
    bench.slots[0].leads = fake.leads;
    subjectbench_now = 77;
    env = subjectbench_env(&bench, 0);
    env.observer = (struct ek_runner_observer){.end = on_end, .failed = on_failed};
    controller = subjectbench_make(&bench, 0, &env);
    const struct ek_runnable *watch = &bench.slots[0].watch, *runner = &bench.slots[0].runner;
    ck_assert_str_eq(watch->name, "fake informers");
    ck_assert_str_eq(runner->name, "fake");
    subjectbench_start_runnable(watch);
    ck_assert(!watch->ready(watch->ctx));
    while (!watch->ready(watch->ctx))
        uv_run(&bench.world.bench.loop, UV_RUN_ONCE);
    ck_assert_str_eq(fake.trace, "start ");
    fake.trace[0] = '\0';
    subjectbench_start_runnable(runner);
}

static bool runs_ended(const void *n)
{
    return fake.n_runs >= *(const int *)n;
}

static void run(int n)
{
    apiworld_run_until(&bench.world, runs_ended, &n);
}

static void stop(void)
{
    subjectbench_stop(&bench);
}

/* ---- One run ---- */

/* A run of the subject with one key, by what it plans. */
static const struct {
    const char *name, *trace, *error;
    struct planned first[6], second[6];
    unsigned batches;
    int lose_after, failure;
    int64_t observe_again_ms, stage_again_ms;
    enum ek_reconciled result;
    bool nothing, part; /* was observed */
    bool forgives, rewords, standby;
} runs[] = {
    {.name = "nothing to do", .trace = "follow observe publish first second ended "},
    {.name = "intents in order, stage by stage",
     .first = {{.what = GOOD}, {.what = CREATE}},
     .second = {{.what = GOOD}},
     .trace = "follow observe publish first good create second good ended "},
    {.name = "parts of a stage",
     .first = {{.what = GOOD}},
     .second = {{.what = CREATE}},
     .batches = 3,
     .trace = "follow observe publish first good first good first good second create ended "},
    {.name = "the first failure is the run's, and the rest goes on",
     .first = {{.what = BAD}, {.what = GOOD}, {.what = BAD}},
     .second = {{.what = GOOD}},
     .trace = "follow observe publish first bad good bad second good ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "configmaps default/made-0"},
    {.name = "a failure that stops ends the run",
     .first = {{.what = BAD, .stops = true}, {.what = GOOD}},
     .second = {{.what = GOOD}},
     .trace = "follow observe publish first bad ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "configmaps default/made-0"},
    {.name = "what depends on a failed write is skipped",
     .first = {{.what = BAD},
               {.what = GOOD, .depends = true},
               {.what = GOOD, .depends = true},
               {.what = GOOD}},
     .trace = "follow observe publish first bad good second ended ",
     .result = EK_RECONCILED_ERROR},
    {.name = "what depends on a write that succeeded is carried out",
     .first = {{.what = GOOD}, {.what = GOOD, .depends = true}},
     .trace = "follow observe publish first good good second ended "},
    {.name = "nothing depends across stages",
     .first = {{.what = GOOD}},
     .second = {{.what = GOOD, .depends = true}},
     .trace = "follow observe publish first good second ended "},
    {.name = "a failure that the subject takes away",
     .first = {{.what = BAD}, {.what = GOOD}},
     .forgives = true,
     .trace = "follow observe publish first bad good second ended "},
    {.name = "a failure that the subject rewords",
     .first = {{.what = BAD}},
     .rewords = true,
     .trace = "follow observe publish first bad second ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "reworded"},
    {.name = "a plan that fails carries out its intents",
     .first = {{.what = GOOD}},
     .failure = EK_E_FORBIDDEN,
     .trace = "follow observe publish first good second ended ",
     .result = EK_RECONCILED_ERROR,
     .error = "planned"},
    {.name = "leadership is lost between two intents",
     .first = {{.what = GOOD}, {.what = GOOD}},
     .lose_after = 1,
     .trace = "follow observe publish first good ended "},
    {.name = "leadership is lost between two stages",
     .first = {{.what = GOOD}},
     .second = {{.what = GOOD}},
     .lose_after = 1,
     .trace = "follow observe publish first good ended "},
    {.name = "a replica that does not lead",
     .first = {{.what = GOOD}},
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
     .first = {{.what = BAD}},
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
    start_with(&one_key, NULL);
    run(1);
    enum ek_reconciled want = runs[_i].result;
    ck_assert_msg(!strcmp(fake.trace, runs[_i].trace), "%s: %s", runs[_i].name, fake.trace);
    ck_assert_msg(fake.result == want, "%s: %d %s", runs[_i].name, fake.result, fake.error);
    ck_assert_int_eq(fake.n_failed, want == EK_RECONCILED_ERROR);
    if (runs[_i].error)
        ck_assert_msg(strstr(fake.error, runs[_i].error) != NULL, "%s: %s", runs[_i].name,
                      fake.error);
    stop();
}
END_TEST

/* ---- Events ---- */

START_TEST(events_follow_the_writes_they_depend_on)
{
    char *body = NULL;

    fake.first[0] = (struct planned){.what = GOOD};
    fake.first[1] = (struct planned){.what = EVENT, .depends = true};
    fake.first[2] = (struct planned){.what = BAD};
    fake.first[3] = (struct planned){.what = EVENT, .depends = true};
    fake.first[4] = (struct planned){.what = EVENT};
    start_with(&one_key, NULL);
    run(1);
    apiworld_wait_for(&bench.world, SUBJECTBENCH_EVENTS, "\"made-4\"");
    apiworld_request(&bench.world, "GET", SUBJECTBENCH_EVENTS, NULL, &body);
    ck_assert_ptr_nonnull(strstr(body, "\"note\":\"made-1\""));
    ck_assert_ptr_null(strstr(body, "\"made-3\""));
    ck_assert_ptr_nonnull(strstr(body, "\"note\":\"made-4\""));
    ek_free(body);
    /* The Event names the object as the API server returned it for the write. */
    apiworld_request(&bench.world, "GET", CM "/made-0", NULL, &body);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
    ck_assert_int_eq(ek_obj_parse(body, strlen(body), &obj, NULL), 0);
    ek_free(body);
    EK_AUTOFREE char *uid = ek_xasprintf("\"uid\":\"%s\"", ek_obj_uid(obj));
    apiworld_request(&bench.world, "GET", SUBJECTBENCH_EVENTS, NULL, &body);
    ck_assert_msg(strstr(body, uid) != NULL, "%s in %s", uid, body);
    ek_free(body);
    stop();
}
END_TEST

/* ---- Keys, changes and others ---- */

START_TEST(two_keys_observe_and_write_apart)
{
    fake.first[0] = (struct planned){.what = GOOD};
    start_with(&two_keys, NULL);
    run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish first good second ended ");
    fake.trace[0] = '\0';
    ek_controller_write(controller, 0);
    run(3);
    ck_assert_str_eq(fake.trace, "first good second ended ");
    stop();
}
END_TEST

START_TEST(nothing_is_written_before_something_was_observed)
{
    fake.observed = EK_OBSERVED_NOTHING;
    fake.first[0] = (struct planned){.what = GOOD};
    start_with(&two_keys, NULL);
    run(1);
    ek_controller_write(controller, 0);
    run(2);
    ck_assert_str_eq(fake.trace, "follow observe ended ");
    stop();
}
END_TEST

START_TEST(a_change_is_observed)
{
    start_with(&one_key, NULL);
    run(1);
    fake.trace[0] = '\0';
    ck_assert_int_eq(apiworld_request(&bench.world, "POST", CM,
                                      "{\"metadata\":{\"name\":\"a\",\"labels\":{\"watched\":"
                                      "\"yes\"}}}",
                                      NULL),
                     201);
    run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish first second ended ");
    stop();
}
END_TEST

START_TEST(who_is_elected_writes)
{
    fake.leads = false;
    start_with(&two_keys, NULL);
    run(2);
    ck_assert_str_eq(fake.trace, "follow observe publish standby ended ");
    fake.trace[0] = '\0';
    bench.slots[0].leads = true;
    ek_controller_elected(controller);
    run(3);
    ck_assert_str_eq(fake.trace, "elected first second ended ");
    stop();
}
END_TEST

START_TEST(peers_make_a_subject_observe_if_they_matter)
{
    const struct ek_peer peer = {
        .name = "cp-a", .server_id = "", .address = "", .address_source = ""};
    struct ek_peer_table *table = ek_peer_table_new(&peer, 1, true, true);

    start_with(&one_key, NULL);
    run(1);
    fake.trace[0] = '\0';
    ek_controller_peers(controller, table);
    ck_assert_str_eq(fake.trace, "peers ");
    fake.peers_matter = true;
    ek_controller_peers(controller, table);
    run(2);
    ck_assert_str_eq(fake.trace, "peers peers follow observe publish first second ended ");
    ek_peer_table_free(table);
    stop();
}
END_TEST

START_TEST(what_was_never_listed_is_not_concluded_from)
{
    fake.first[0] = (struct planned){.what = GOOD};
    start_with(&two_keys, "create,patch configmaps");
    const char expected[] = "follow observe publish ended ";
    run(2);
    /* A machine that is slow has retried already. */
    ck_assert_msg(!strncmp(fake.trace, expected, sizeof expected - 1), "%s", fake.trace);
    ck_assert_str_eq(fake.error, "configmaps could not be read: forbidden: grant list and watch");
    stop();
}
END_TEST

static bool is_writing(const void *ctx)
{
    (void)ctx;
    return strstr(fake.trace, "first") != NULL;
}

START_TEST(a_controller_closes_during_a_write)
{
    fake.first[0] = (struct planned){.what = GOOD};
    start_with(&one_key, NULL);
    apiworld_run_until(&bench.world, is_writing, NULL);
    ck_assert_int_eq(fake.n_runs, 0);
    subjectbench_close(&bench, 0);
    /* Nothing of this reaches the subject, or what is closing. */
    ck_assert_str_eq(fake.trace, "follow observe publish first close ");
    stop();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("subject");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, a_run, 0, EK_ARRAY_SIZE(runs));
    tcase_add_test(tc, events_follow_the_writes_they_depend_on);
    tcase_add_test(tc, two_keys_observe_and_write_apart);
    tcase_add_test(tc, nothing_is_written_before_something_was_observed);
    tcase_add_test(tc, a_change_is_observed);
    tcase_add_test(tc, who_is_elected_writes);
    tcase_add_test(tc, peers_make_a_subject_observe_if_they_matter);
    tcase_add_test(tc, what_was_never_listed_is_not_concluded_from);
    tcase_add_test(tc, a_controller_closes_during_a_write);
    return ek_test_run("subject", tc);
}
