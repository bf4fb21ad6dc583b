/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of a controller about itself: each part from facts that the test makes, requests, and
 * the log level; and that the reflector, the queue and the runner keep the facts of their
 * reports. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/debug/debug-internal.h"
#include "test/support/suite.h"

/* 2026-11-20T10:00:00Z, at other times by the other clocks. */
static const struct ek_debug_now now = {
    .wall_ms = INT64_C(1795168800000), .mono_ms = 50000, .boot_ms = 90000};

/* An object that a part was put into, read again. */
struct made {
    yyjson_mut_doc *mut;
    yyjson_doc *doc;
    struct ek_debug_doc d;
};

static void made_init(struct made *m)
{
    m->mut = ek_json_doc_new();
    m->d = (struct ek_debug_doc){m->mut, yyjson_mut_obj(m->mut), now};
    yyjson_mut_doc_set_root(m->mut, m->d.at);
    m->doc = NULL;
}

static yyjson_val *made_read(struct made *m)
{
    size_t len;
    char *json = yyjson_mut_write(m->mut, 0, &len);
    struct ek_err err = {0};

    ck_assert_ptr_nonnull(json);
    m->doc = ek_json_parse(json, len, &err);
    ck_assert_msg(m->doc != NULL, "%s", err.message);
    free(json);
    return yyjson_doc_get_root(m->doc);
}

static void made_done(struct made *m)
{
    yyjson_doc_free(m->doc);
    yyjson_mut_doc_free(m->mut);
}

/* The value at a path "a/b/0/c" as text: strings as they are, others as JSON; "" when absent. */
static const char *at(yyjson_val *root, const char *path)
{
    static char texts[8][1024];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    char pointer[128];

    snprintf(pointer, sizeof pointer, "/%s", path);
    yyjson_val *v = yyjson_ptr_get(root, pointer);
    text[0] = '\0';
    if (yyjson_is_str(v)) {
        snprintf(text, 1024, "%s", yyjson_get_str(v));
    } else if (v) {
        char *json = yyjson_val_write(v, 0, NULL);
        snprintf(text, 1024, "%s", json);
        free(json);
    }
    return text;
}

#define CHECK_AT(root, path, expected) ck_assert_str_eq(at((root), (path)), (expected))

/* --- informers ---------------------------------------------------------------------------- */

static const struct ek_resource nodes = {
    .group = "", .version = "v1", .resource = "nodes", .kind = "Node"};

static void step(struct ek_reflector *r, int64_t at_ms, enum ek_reflector_event_kind kind,
                 const struct ek_err *err)
{
    struct ek_reflector_actions actions;
    char rv[] = "7", next[] = "";
    struct ek_list_page page = {.resource_version = rv, .next = next};

    ek_reflector_step(
        r, at_ms,
        &(struct ek_reflector_event){
            .kind = kind, .page = kind == EK_EVENT_LIST_PAGE ? &page : NULL, .err = err},
        &actions);
}

static struct ek_reflector *make_reflector(void)
{
    struct ek_reflector_config config = ek_reflector_config_default();

    config.streaming = false;
    config.backoff.jitter = 0;
    return ek_reflector_new(&config, 1000);
}

START_TEST(an_informer_that_fails)
{
    struct ek_reflector *r = make_reflector();
    struct ek_err err;
    struct made m;
    char history[2048] = "";
    struct ek_reflector_status status;

    ek_err_set(&err, EK_E_FORBIDDEN, "nodes is forbidden");
    err.http_status = 403;
    step(r, 40000, EK_EVENT_START, NULL);
    step(r, 41000, EK_EVENT_LIST_FAILED, &err);
    step(r, 42000, EK_EVENT_WATCH_EOF, NULL); /* not expected in this state */
    made_init(&m);
    ek_debug_informer__(&m.d, &nodes, r, NULL, 0);
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "resource", "nodes");
    CHECK_AT(root, "state", "BACKOFF");
    CHECK_AT(root, "since", "2026-11-20T09:59:51.000000Z"); /* nine seconds before now */
    ek_reflector_status(r, &status);
    ck_assert_int_gt(status.timer_ms, 41000);
    ck_assert_str_ne(at(root, "nextTryTime"), "");
    CHECK_AT(root, "deadlineTime", "");
    CHECK_AT(root, "synced", "false");
    CHECK_AT(root, "error/reason", "forbidden");
    CHECK_AT(root, "error/message", "nodes is forbidden");
    CHECK_AT(root, "error/httpStatus", "403");
    CHECK_AT(root, "lastFailureTime", "2026-11-20T09:59:51.000000Z");
    CHECK_AT(root, "failures", "1");
    CHECK_AT(root, "unexpectedEvents", "1");
    CHECK_AT(root, "lastEventTime", "");
    for (size_t i = 0; i < 3; i++) {
        char path[32];
        for (const char *const *p = (const char *const[]){"from", "to", "cause", "message", NULL};
             *p; p++) {
            snprintf(path, sizeof path, "history/%zu/%s", i, *p);
            snprintf(history + strlen(history), sizeof history - strlen(history), "%s ",
                     at(root, path));
        }
    }
    ck_assert_str_eq(history, "LISTING BACKOFF LIST_FAILED nodes is forbidden "
                              "IDLE LISTING START      ");
    made_done(&m);
    ek_reflector_free(r);
}
END_TEST

START_TEST(an_informer_that_recovered)
{
    struct ek_reflector *r = make_reflector();
    struct ek_store *store = ek_store_new();
    struct ek_err err;
    struct made m;

    ek_err_set(&err, EK_E_NET, "reset");
    step(r, 40000, EK_EVENT_START, NULL);
    step(r, 41000, EK_EVENT_LIST_FAILED, &err);
    step(r, 45000, EK_EVENT_TIMER, NULL);
    step(r, 45100, EK_EVENT_LIST_PAGE, NULL);
    step(r, 45200, EK_EVENT_WATCH_OPEN, NULL);
    made_init(&m);
    ek_debug_informer__(&m.d, &nodes, r, store, 48000);
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "state", "WATCHING");
    CHECK_AT(root, "synced", "true");
    CHECK_AT(root, "resourceVersion", "7");
    CHECK_AT(root, "objects", "0");
    CHECK_AT(root, "error/message", "");
    CHECK_AT(root, "lastFailure/message", "reset");
    CHECK_AT(root, "lastFailureTime", "2026-11-20T09:59:51.000000Z");
    CHECK_AT(root, "lastEventTime", "2026-11-20T09:59:58.000000Z");
    CHECK_AT(root, "nextTryTime", "");
    ck_assert_str_ne(at(root, "deadlineTime"), "");
    made_done(&m);
    ek_store_free(store);
    ek_reflector_free(r);
}
END_TEST

START_TEST(a_history_keeps_the_newest)
{
    struct ek_reflector *r = make_reflector();
    const struct ek_reflector_transition *t;
    struct ek_err err;
    char text[300];

    /* 159 letters, of which the last is half a character: it must not be left in half. */
    memset(text, 'x', sizeof text);
    memcpy(text + 158, "\xc3\xa9", 3);
    ek_err_set(&err, EK_E_SERVER, "%s", text);
    step(r, 0, EK_EVENT_START, NULL);
    for (int64_t i = 1; i <= 50; i++) {
        step(r, i * 10, EK_EVENT_LIST_FAILED, &err);
        step(r, i * 10 + 5, EK_EVENT_TIMER, NULL);
    }
    for (size_t i = 0; i < EK_REFLECTOR_HISTORY; i++) {
        t = ek_reflector_transition_at(r, i);
        ck_assert_ptr_nonnull(t);
        ck_assert_int_eq(t->at_ms, 505 - (int64_t)i * 5);
        ck_assert_int_eq(t->to, i % 2 ? EK_REFLECTOR_BACKOFF : EK_REFLECTOR_LISTING);
        ck_assert_int_eq(t->cause, i % 2 ? EK_EVENT_LIST_FAILED : EK_EVENT_TIMER);
        ck_assert_int_eq(t->code, i % 2 ? EK_E_SERVER : 0);
        ck_assert_uint_eq(strlen(t->why), i % 2 ? 158 : 0);
    }
    ck_assert_ptr_null(ek_reflector_transition_at(r, EK_REFLECTOR_HISTORY));
    ek_reflector_free(r);
}
END_TEST

/* --- queue -------------------------------------------------------------------------------- */

struct work {
    struct ek_runner *runner;
    int64_t now;
    struct ek_reconcile *run;
    struct ek_err err;
    bool later;
};

static int64_t work_now(void *ctx)
{
    struct work *w = ctx;
    return w->now;
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct work *w = ctx;

    (void)key;
    w->run = run;
    if (!w->later)
        ek_reconcile_done(run, (struct ek_outcome){0}, w->err.code ? &w->err : NULL);
}

static void make_work(struct work *w)
{
    *w = (struct work){.now = 20000};
    w->runner = ek_runner_new(
        NULL, &(struct ek_runner_config){
                  .name = "test", .reconcile = reconcile, .ctx = w, .now_ms = work_now});
    ek_runner_start(w->runner);
}

static void id_under_way(void *ctx, const struct ek_run_info *info)
{
    if (info->under_way)
        *(const char **)ctx = info->id;
}

START_TEST(a_queue_and_its_runs)
{
    struct work w;
    struct made m;

    make_work(&w);
    ek_runner_add(w.runner, "good", 0);
    ek_runner_step(w.runner);
    ek_err_set(&w.err, EK_E_SERVER, "no leader");
    ek_runner_add(w.runner, "bad", 3);
    for (w.now = 30000; w.now <= 32000; w.now += 1000)
        ek_runner_step(w.runner);
    w.later = true;
    w.now = 40000;
    ek_runner_add(w.runner, "slow", 0);
    ek_runner_add_after(w.runner, "later", -100, 20000);
    /* The failed key comes first by its priority, and waits once more. */
    ek_runner_step(w.runner);
    ek_reconcile_done(w.run, (struct ek_outcome){0}, &w.err);
    ek_runner_step(w.runner);
    made_init(&m);
    ek_debug_queue__(&m.d, w.runner);
    yyjson_val *root = made_read(&m), *key;
    CHECK_AT(root, "keysTotal", "3");
    CHECK_AT(root, "waiting", "2");
    CHECK_AT(root, "processing", "1");
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(root, "keys"), i, n, key)
    {
        const char *name = at(key, "key");
        if (!strcmp(name, "bad")) {
            CHECK_AT(key, "state", "waiting");
            CHECK_AT(key, "requeues", "4");
            CHECK_AT(key, "priority", "3");
            CHECK_AT(key, "dueTime", "2026-11-20T09:59:50.040000Z");
        } else if (!strcmp(name, "slow")) {
            CHECK_AT(key, "state", "processing");
            CHECK_AT(key, "processingSince", "2026-11-20T09:59:50.000000Z");
        } else {
            CHECK_AT(key, "key", "later");
            CHECK_AT(key, "state", "waiting");
            CHECK_AT(key, "dueTime", "2026-11-20T10:00:10.000000Z");
        }
    }
    CHECK_AT(root, "runs/0/key", "slow");
    CHECK_AT(root, "runs/0/result", "running");
    const char *id = NULL;
    ek_runner_each(w.runner, id_under_way, &id);
    CHECK_AT(root, "runs/0/id", id);
    CHECK_AT(root, "runs/1/key", "bad");
    CHECK_AT(root, "runs/1/result", "error");
    CHECK_AT(root, "runs/1/error/reason", "server error");
    CHECK_AT(root, "runs/1/error/message", "no leader");
    CHECK_AT(root, "runs/5/key", "good");
    CHECK_AT(root, "runs/5/result", "ok");
    CHECK_AT(root, "runs/5/error", "");
    CHECK_AT(root, "runs/5/startTime", "2026-11-20T09:59:30.000000Z");
    CHECK_AT(root, "runs/6", "");
    made_done(&m);
    ek_runner_close(w.runner, NULL, NULL);
}
END_TEST

START_TEST(lists_are_bounded)
{
    struct work w;
    struct made m;
    char key[32];

    make_work(&w);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "run-%d", i);
        ek_runner_add(w.runner, key, 0);
        ek_runner_step(w.runner);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "wait-%d", i);
        ek_runner_add_after(w.runner, key, 0, 100000);
    }
    made_init(&m);
    ek_debug_queue__(&m.d, w.runner);
    yyjson_val *root = made_read(&m);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(root, "keys")), EK_DEBUG_LIST_MAX);
    CHECK_AT(root, "keysTotal", "300");
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(root, "runs")), EK_RUNNER_HISTORY);
    CHECK_AT(root, "runs/0/key", "run-19");
    CHECK_AT(root, "runs/15/key", "run-4");
    made_done(&m);
    ek_runner_close(w.runner, NULL, NULL);
}
END_TEST

/* --- leader ------------------------------------------------------------------------------- */

static void elect(struct ek_election_fsm *fsm, enum ek_election_event_type type, int64_t boot_ms,
                  const struct ek_election_record *record, int code)
{
    struct ek_election_actions actions;

    ek_election_fsm_step(
        fsm, &(struct ek_election_event){.type = type, .record = record, .code = code},
        (struct ek_election_now){boot_ms, now.wall_ms - (now.boot_ms - boot_ms)}, &actions);
}

START_TEST(a_leader)
{
    struct ek_election_settings settings = {
        .identity = "me", .duration_ms = 15000, .deadline_ms = 10000, .retry_ms = 2000, .seed = 1};
    struct ek_election_record record = {.holder = "me", .duration_s = 15, .transitions = 4};
    struct ek_election_fsm fsm;
    struct ek_err failure;
    struct made m;

    ek_err_set(&failure, EK_E_TIMEOUT, "lease a/b: timed out");
    ek_election_fsm_init(&fsm, &settings);
    elect(&fsm, EK_ELECTION_START, 80000, NULL, 0);
    elect(&fsm, EK_ELECTION_FAILED, 80100, NULL, EK_E_NOENT);
    elect(&fsm, EK_ELECTION_WRITTEN, 80200, &record, 0);
    made_init(&m);
    ek_debug_leader__(&m.d, "me",
                      &(struct ek_election_status){.machine = &fsm,
                                                   .namespace = "a",
                                                   .name = "b",
                                                   .failure = &failure,
                                                   .failure_ms = 85000,
                                                   .n_failures = 2},
                      true);
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "election", "true");
    CHECK_AT(root, "identity", "me");
    CHECK_AT(root, "holder", "me");
    CHECK_AT(root, "leads", "true");
    CHECK_AT(root, "mayWrite", "true");
    CHECK_AT(root, "state", "waiting");
    CHECK_AT(root, "lease/namespace", "a");
    CHECK_AT(root, "lease/name", "b");
    CHECK_AT(root, "transitions", "4");
    CHECK_AT(root, "heldSince", "2026-11-20T09:59:50.100000Z");
    CHECK_AT(root, "leadsUntil", "2026-11-20T10:00:05.100000Z"); /* 15 s after the write was sent */
    ck_assert_str_ne(at(root, "nextTryTime"), "");
    CHECK_AT(root, "failures", "2");
    CHECK_AT(root, "lastFailure/reason", "timed out");
    CHECK_AT(root, "lastFailureTime", "2026-11-20T09:59:55.000000Z");
    made_done(&m);
}
END_TEST

START_TEST(without_an_election)
{
    struct made m;

    made_init(&m);
    ek_debug_leader__(&m.d, "me", NULL, true);
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "election", "false");
    CHECK_AT(root, "mayWrite", "true");
    CHECK_AT(root, "lease", "");
    CHECK_AT(root, "state", "");
    made_done(&m);
}
END_TEST

/* --- probe targets ------------------------------------------------------------------------ */

static struct ek_probe *make_probe(void)
{
    struct ek_probe *probe = ek_probe_new();

    probe->reach = (struct ek_probe_answer){.good_at_ms = now.wall_ms - 1000,
                                            .tried_at_ms = now.wall_ms - 1000};
    probe->version_answer = probe->reach;
    probe->ready_answer = probe->reach;
    probe->metrics_answer.tried_at_ms = now.wall_ms - 1000;
    ek_err_set(&probe->metrics_answer.error, EK_E_FORBIDDEN, "forbidden: metrics");
    memcpy(probe->git_version, "v1.36.2\xff\x1b[31m", 14);
    probe->emulation = EK_MINOR(1, 34);
    memcpy(probe->not_ready, "etcd", 5);
    memcpy(probe->cert_fingerprint, "00aa", 5);
    probe->cert_not_after_ms = now.wall_ms + 86400000;
    probe->discovery = ek_discovery_new();
    ek_discovery_seal(probe->discovery);
    probe->discovery_form = EK_DISCOVERY_V2BETA1;
    return probe;
}

START_TEST(a_probe_target)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *probe = make_probe();
    struct made m;

    made_init(&m);
    ek_debug_peer__(&m.d, &(struct ek_prober_state){.component = "kube-apiserver",
                                                    .address = "10.0.0.1:6443",
                                                    .probe = probe,
                                                    .rounds = 12,
                                                    .round_ms = now.wall_ms - 1000,
                                                    .took_ms = 41,
                                                    .full_ms = now.wall_ms - 60000,
                                                    .next_in_ms = 29000});
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "address", "10.0.0.1:6443");
    CHECK_AT(root, "reachable", "true");
    CHECK_AT(root, "ready", "false");
    CHECK_AT(root, "failingChecks", "etcd");
    CHECK_AT(root, "gitVersion", "v1.36.2\\xff\\x1b[31m");
    CHECK_AT(root, "emulation", "1.34");
    CHECK_AT(root, "minCompatibility", "");
    CHECK_AT(root, "discovery/form", "v2beta1");
    CHECK_AT(root, "discovery/resources", "0");
    CHECK_AT(root, "certificate/notAfter", "2026-11-21T10:00:00.000000Z");
    CHECK_AT(root, "roundTime", "2026-11-20T09:59:59.000000Z");
    CHECK_AT(root, "tookMs", "41");
    CHECK_AT(root, "fullRoundTime", "2026-11-20T09:59:00.000000Z");
    CHECK_AT(root, "nextRoundTime", "2026-11-20T10:00:29.000000Z");
    CHECK_AT(root, "answers/version/goodTime", "2026-11-20T09:59:59.000000Z");
    CHECK_AT(root, "answers/version/error", "");
    CHECK_AT(root, "answers/metrics/goodTime", "");
    CHECK_AT(root, "answers/metrics/error/message", "forbidden: metrics");
    CHECK_AT(root, "answers/openapi", ""); /* never requested */
    made_done(&m);
}
END_TEST

START_TEST(a_target_not_asked_yet)
{
    struct made m;

    made_init(&m);
    ek_debug_peer__(&m.d, &(struct ek_prober_state){.component = "kube-scheduler",
                                                    .address = "[::1]:10259",
                                                    .asking = true,
                                                    .round_ms = now.wall_ms,
                                                    .full_ms = now.wall_ms,
                                                    .next_in_ms = -1});
    yyjson_val *root = made_read(&m);
    CHECK_AT(root, "asking", "true");
    CHECK_AT(root, "answers", "");
    CHECK_AT(root, "reachable", "");
    CHECK_AT(root, "nextRoundTime", "");
    made_done(&m);
}
END_TEST

/* --- requests ----------------------------------------------------------------------------- */

static int never_ready_start(void *ctx, struct ek_err *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

static bool never_ready(void *ctx)
{
    (void)ctx;
    return false;
}

static const struct {
    const char *name;
    const char *request;
    const char *path; /* in the answer */
    const char *value;
    int level; /* of the log afterwards */
} request_rows[] = {
    {"all has the process", "all", "process/version", "1.2.3", 0},
    {"all has the manager", "all", "manager/phase", "starting", 0},
    {"all has the leader", "all", "leader/mayWrite", "true", 0},
    {"all has the log", "all", "log/level", "info", 0},
    {"all has its time", "all", "time", "2026-11-20T10:00:00.000000Z", 0},
    {"a topic is alone", "process", "log", "", 0},
    {"start time", "process", "process/startTime", "2026-11-20T09:59:20.000000Z", 0},
    {"parts", "manager", "manager/parts/0/name", "stuck", 0},
    {"their group", "manager", "manager/parts/0/group", "caches", 0},
    {"and what keeps the manager", "manager", "manager/parts/0/state", "not ready", 0},
    {"a part that waits for it", "manager", "manager/parts/1/state", "not started", 0},
    {"what is not there is left out", "queue", "queues", "", 0},
    {"a webhook that is off, too", "all", "webhook", "", 0},
    {"reading the level", "log-level", "log/level", "info", 0},
    {"switching it up", "log-level debug", "log/level", "debug", 1},
    {"far up", "log-level 5", "log/level", "5", 5},
    {"down", "log-level error", "log/level", "error", EK_LOG_LEVEL_ERROR},
    {"off", "log-level panic", "log/level", "panic", EK_LOG_LEVEL_PANIC},
    {"no level", "log-level loud", "error",
     "invalid log level \"loud\": use debug, info, error, panic or an integer from 1 to 127", 0},
    {"two levels", "log-level debug info", "error",
     "invalid log level \"debug info\": use debug, info, error, panic or an integer from 1 to 127",
     0},
    {"an unknown topic", "secrets\x1b", "error",
     "unknown topic \"secrets\\x1b\": use all, process, manager, leader, informers, queue, "
     "subjects, peers, webhook or log-level",
     0},
    {"nothing", "", "error",
     "unknown topic \"\": use all, process, manager, leader, informers, queue, "
     "subjects, peers, webhook or log-level",
     0},
    {"an argument too many", "queue all", "error", "topic queue takes no argument", 0},
    {"errors stand alone", "queue all", "time", "", 0},
};

START_TEST(requests)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    struct ek_log *log =
        ek_log_new(&(struct ek_log_config){.fd = fds[1], .now_ns = ek_log_wall_clock});
    struct ek_manager *manager = ek_manager_new(&(struct ek_manager_config){0});
    ek_manager_add(manager, &(struct ek_runnable){.name = "stuck",
                                                  .group = EK_GROUP_CACHES,
                                                  .start = never_ready_start,
                                                  .ready = never_ready});
    ek_manager_add(manager, &(struct ek_runnable){.name = "next",
                                                  .group = EK_GROUP_OTHERS,
                                                  .start = never_ready_start});
    ek_manager_step(manager, 0);
    struct ek_debug debug = {
        .version = "1.2.3", .identity = "me", .started_ms = 10000, .log = log, .manager = manager};
    EK_AUTO(ek_buf) out;
    struct ek_err err = {0};

    ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
    ek_debug_answer(&debug, request_rows[_i].request, strlen(request_rows[_i].request), &now,
                    &(struct ek_debug_peer){.uid = 7, .pid = 9}, &out);
    ck_assert_int_eq(out.data[out.len - 1], '\n');
    yyjson_doc *doc = ek_json_parse(out.data, out.len, &err);
    ck_assert_msg(doc != NULL, "%s: %s", request_rows[_i].name, err.message);
    const char *value = at(yyjson_doc_get_root(doc), request_rows[_i].path);
    ck_assert_msg(!strcmp(value, request_rows[_i].value), "%s: %s", request_rows[_i].name, value);
    ck_assert_msg(ek_log_level(log) == request_rows[_i].level, "%s: level %d",
                  request_rows[_i].name, ek_log_level(log));
    yyjson_doc_free(doc);
    ek_manager_free(manager);
    ek_log_free(log);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(a_change_of_level_is_logged)
{
    int fds[2];
    char line[512] = "";
    ck_assert_int_eq(pipe(fds), 0);
    struct ek_log *log = ek_log_new(&(struct ek_log_config){
        .fd = fds[1], .level = EK_LOG_LEVEL_PANIC, .now_ns = ek_log_wall_clock});
    struct ek_debug debug = {.version = "1.2.3", .log = log};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
    ek_debug_answer(&debug, "log-level error", 15, &now,
                    &(struct ek_debug_peer){.uid = 7, .pid = 9}, &out);
    ck_assert_int_gt(read(fds[0], line, sizeof line - 1), 0);
    ck_assert_ptr_nonnull(strstr(line, "\"level\":\"error\",\"before\":-4,\"uid\":7,\"pid\":9"));
    ck_assert_int_eq(ek_log_level(log), EK_LOG_LEVEL_ERROR);
    ek_log_free(log);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(an_answer_too_large_is_an_error)
{
    struct ek_debug debug = {.version = "1.2.3"};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 60);
    ek_debug_answer(&debug, "process", 7, &now, NULL, &out);
    ck_assert_str_eq(ek_buf_str(&out), "{\"error\":\"the answer is too large\"}\n");
}
END_TEST

/* --- loop --------------------------------------------------------------------------------- */

START_TEST(turns_are_counted)
{
    struct ek_debug_loop meter = {0};

    ek_debug_loop_count(&meter, 5000000, 100);
    ek_debug_loop_count(&meter, UINT64_C(250000000), 400);
    ek_debug_loop_count(&meter, UINT64_C(120000000), 600);
    ck_assert_uint_eq(meter.turns, 3);
    ck_assert_uint_eq(meter.busy_ns, 375000000);
    ck_assert_uint_eq(meter.longest_ns, 250000000);
    ck_assert_int_eq(meter.longest_at_ms, 400);
    ck_assert_uint_eq(meter.slow_turns, 2);
    ck_assert_int_eq(meter.last_slow_ms, 600);
}
END_TEST

static void on_busy(uv_timer_t *timer)
{
    uint64_t from = uv_hrtime();
    while (uv_hrtime() - from < 3000000)
        ;
    if (uv_metrics_idle_time(timer->loop) > 0)
        uv_close((uv_handle_t *)timer, NULL);
    else /* a busy machine has run the loop only after the time */
        uv_timer_start(timer, on_busy, 60, 0);
}

START_TEST(waiting_is_not_work)
{
    struct ek_debug_loop meter;
    uv_loop_t loop;
    uv_timer_t timer;
    uint64_t from = uv_hrtime();

    uv_loop_init(&loop);
    ek_debug_loop_start(&meter, &loop);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, on_busy, 60, 0);
    uv_run(&loop, UV_RUN_DEFAULT); /* which the meter does not keep alive */
    uint64_t passed = uv_hrtime() - from, idle = uv_metrics_idle_time(&loop);
    ek_debug_loop_stop(&meter);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_gt(meter.turns, 0);
    ck_assert_uint_gt(idle, 0);
    ck_assert_uint_le(meter.busy_ns, passed - idle);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("debug");

    tcase_add_test(tc, an_informer_that_fails);
    tcase_add_test(tc, an_informer_that_recovered);
    tcase_add_test(tc, a_history_keeps_the_newest);
    tcase_add_test(tc, a_queue_and_its_runs);
    tcase_add_test(tc, lists_are_bounded);
    tcase_add_test(tc, a_leader);
    tcase_add_test(tc, without_an_election);
    tcase_add_test(tc, a_probe_target);
    tcase_add_test(tc, a_target_not_asked_yet);
    tcase_add_loop_test(tc, requests, 0, EK_ARRAY_SIZE(request_rows));
    tcase_add_test(tc, a_change_of_level_is_logged);
    tcase_add_test(tc, an_answer_too_large_is_an_error);
    tcase_add_test(tc, turns_are_counted);
    tcase_add_test(tc, waiting_is_not_work);
    return ek_test_run("debug", tc);
}
