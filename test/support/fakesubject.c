/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/fakesubject.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/manager/runner.h"
#include "informers/clock.h"

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

static const struct ek_resource maps = {.group = "",
                                        .version = "v1",
                                        .resource = "configmaps",
                                        .kind = "ConfigMap",
                                        .namespace = "default"};

/* ---- The subject ---- */

struct fake fake;

static void trace(const char *word)
{
    size_t n = strlen(fake.trace);
    snprintf(fake.trace + n, sizeof fake.trace - n, "%s ", word);
}

static void *fake_new(struct ek_controller *c, const struct ek_subject_env *env)
{
    ck_assert_ptr_nonnull(ek_controller_watchset(c));
    ck_assert_ptr_eq(env->loop, &fake.bench.world.bench.loop);
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

static yyjson_mut_val *read_json(struct ek_intents *intents, const char *json)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_mut_val *value = yyjson_val_mut_copy(ek_intents_doc(intents), yyjson_doc_get_root(doc));

    yyjson_doc_free(doc);
    return value;
}

static struct ek_intent *append_event(struct ek_intents *intents, const char *name)
{
    const struct ek_event event = {.regarding = {.api_version = "v1",
                                                 .kind = "ConfigMap",
                                                 .namespace = "default",
                                                 .name = name},
                                   .reason = "Noted",
                                   .action = "Note",
                                   .note = name};
    return ek_intents_event(intents, &event);
}

static struct ek_intent *append_write(struct ek_intents *intents, const struct fake_planned *p,
                                      const char *name)
{
    const struct ek_apply_target target = {.resource = fake.resource,
                                           .name = name,
                                           .uid = p->guarded ? fake.uid : NULL,
                                           .resource_version = p->guarded ? fake.version : NULL};
    yyjson_mut_val *content = fake.content ? read_json(intents, fake.content) : NULL;

    switch (p->what) {
    case FAKE_BAD:
        return ek_intents_apply_status(intents, &target,
                                       read_json(intents, fake.status ? fake.status : "{}"));
    case FAKE_CREATE:
        return ek_intents_create(intents, &target, content);
    case FAKE_PATCH:
        return ek_intents_patch(intents, &target, content);
    case FAKE_PATCH_STATUS:
        return ek_intents_patch_status(intents, &target, content);
    case FAKE_DELETE:
        return ek_intents_delete(intents, &target);
    case FAKE_LIST:
        return ek_intents_list(intents, fake.resource);
    default:
        return ek_intents_apply(intents, &target, content);
    }
}

static void append(struct ek_intents *intents, const struct fake_planned *p)
{
    EK_AUTOFREE char *name = ek_xasprintf("made-%d", fake.n_named++);
    struct ek_intent *intent =
        p->what == FAKE_EVENT ? append_event(intents, name) : append_write(intents, p, name);

    intent->depends = p->depends;
    intent->on_failure = p->stops ? EK_STOP : EK_GO_ON;
    intent->tag = p->what;
}

static void append_all(struct ek_intents *intents, const struct fake_planned *list)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(fake.first) && list[i].what != FAKE_NONE; i++)
        append(intents, &list[i]);
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
    if (fake.stage_again_ms)
        ek_intents_again(intents, fake.stage_again_ms);
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
    if (fake.second_again_ms)
        ek_intents_again(intents, fake.second_again_ms);
    return false;
}

const char *fakesubject_word(enum fake_what what)
{
    static const char *const words[] = {"none",  "good",         "bad",    "create", "event",
                                        "patch", "patch-status", "delete", "list"};
    return words[what];
}

static void fake_answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                          struct ek_err *err)
{
    (void)subject;
    ck_assert(!obj || !err->code);
    trace(fakesubject_word((enum fake_what)intent->tag));
    if (obj)
        snprintf(fake.kind, sizeof fake.kind, "%s", ek_json_str(ek_obj_root(obj), "kind", NULL));
    if (fake.skips)
        ek_controller_skip(fake.controller);
    if (fake.forgives)
        *err = (struct ek_err){0};
    else if (fake.rewords && err->code)
        ek_err_set(err, err->code, "reworded");
    if (fake.lose_after && ++fake.n_answers == fake.lose_after)
        fake.bench.slots[0].leads = false;
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

static bool fake_facts(void *subject, const struct ek_skew_facts *facts,
                       const struct ek_skew_spec *spec)
{
    (void)subject;
    ck_assert_ptr_nonnull(facts);
    ck_assert_ptr_nonnull(spec);
    trace("facts");
    return fake.facts_matter;
}

static bool fake_is_ready(const void *subject)
{
    (void)subject;
    return fake.is_ready;
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
    .elected = fake_elected, .peers = fake_peers, .facts = fake_facts, .is_ready = fake_is_ready,  \
    .close = fake_close

const struct ek_subject fakesubject_one_key = {
    .name = "fake", .kind = "Fake", .part = "fake informers", .observe_key = "all", FUNCTIONS};
const struct ek_subject fakesubject_two_keys = {.name = "fake",
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
    fake.code = err->code;
    snprintf(fake.error, sizeof fake.error, "%.200s", err->message);
}

void fakesubject_setup(void)
{
    fake = (struct fake){.observed = EK_OBSERVED_ALL,
                         .leads = true,
                         .is_ready = true,
                         .batches = 1,
                         .resource = &maps,
                         .queue = EK_QUEUE_CONFIG_DEFAULT};
}

void fakesubject_make(const struct ek_subject *subject, const char *rules)
{
    struct ek_subject_env env;

    subjectbench_start(&fake.bench, rules, &subject, 1);
    fake.bench.slots[0].leads = fake.leads;
    subjectbench_now = 77;
    env = subjectbench_env(&fake.bench, 0);
    env.observer = (struct ek_runner_observer){.end = on_end, .failed = on_failed};
    env.queue = &fake.queue;
    if (fake.without_recorder)
        env.recorder = NULL;
    fake.controller = subjectbench_make(&fake.bench, 0, &env);
}

static bool is_watch_ready(const void *ctx)
{
    const struct subjectbench_slot *slot = ctx;
    return slot->watch.ready(slot->watch.ctx);
}

static void check_names(const struct subjectbench_slot *slot)
{
    ck_assert_str_eq(slot->watch.name, "fake informers");
    ck_assert_str_eq(slot->runner.name, "fake");
}

void fakesubject_start(const struct ek_subject *subject, const char *rules)
{
    const struct subjectbench_slot *slot = &fake.bench.slots[0];

    fakesubject_make(subject, rules);
    check_names(slot);
    subjectbench_start_runnable(&slot->watch);
    ck_assert(!is_watch_ready(slot));
    apiworld_run_until(&fake.bench.world, is_watch_ready, slot);
    ck_assert_str_eq(fake.trace, "start ");
    fakesubject_forget();
    subjectbench_start_runnable(&slot->runner);
}

void fakesubject_forget(void)
{
    fake.trace[0] = '\0';
}

static bool runs_ended(const void *n)
{
    return fake.n_runs >= *(const int *)n;
}

void fakesubject_run(int n)
{
    apiworld_run_until(&fake.bench.world, runs_ended, &n);
}

static bool is_writing(const void *ctx)
{
    (void)ctx;
    return strstr(fake.trace, "first ") != NULL;
}

void fakesubject_run_to_write(void)
{
    apiworld_run_until(&fake.bench.world, is_writing, NULL);
}

struct search {
    const char *key;
    struct ek_queue_entry found;
};

static void compare_key(void *ctx, const struct ek_queue_entry *entry)
{
    struct search *search = ctx;

    if (!strcmp(entry->key, search->key))
        search->found = *entry;
}

struct ek_queue_entry fakesubject_key(const char *key)
{
    struct search search = {.key = key};
    struct ek_runner *runner = fake.bench.rows[0].runner(fake.controller);

    ek_queue_each(ek_runner_queue(runner), compare_key, &search);
    search.found.ready_ms -= ek_monotonic_ms();
    return search.found;
}

void fakesubject_stop(void)
{
    subjectbench_stop(&fake.bench);
}
