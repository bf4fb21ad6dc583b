/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The informer against a scripted server: each row is a conversation over HTTP, request by request,
 * and where the store and the status must be after it. The machine's rules have scripts of their
 * own (reflector_test.c); here it is about what goes over the wire.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informers/cache/informer.h"
#include "informers/cache/reflector.h"
#include "informers/client/kubeconfig.h"
#include "test/support/suite.h"
#include "test/support/testserver.h"

#define GUARD_MS  600000 /* a test that takes this long has failed */
#define TICK_MS   10
#define STEPS_MAX 8

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define META(n, v)                                                                                 \
    "\"metadata\":{\"namespace\":\"kube-system\",\"name\":\"" n "\",\"resourceVersion\":\"" v "\"" \
    "}"
#define OBJECT(n, v)   "{" META(n, v) "}"
#define EVENT(t, n, v) "{\"type\":\"" t "\",\"object\":{\"kind\":\"Lease\"," META(n, v) "}}\n"
#define BOOKMARK(v)                                                                                \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"" v \
    "\"}}}\n"
#define END_BOOKMARK(v)                                                                            \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"" v \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define LIST(v, more, items)                                                                       \
    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"             \
    "\"resourceVersion\":\"" v "\"" more "},\"items\":[" items "]}"
#define STATUS(code, reason, message)                                                              \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message     \
    "\",\"reason\":\"" reason "\",\"code\":" #code "}"
#define ERROR(code, reason) "{\"type\":\"ERROR\",\"object\":" STATUS(code, reason, "no") "}\n"

/* How a stream ends after its body. */
enum end {
    WHOLE,  /* no stream: an answer with a length */
    STAYS,  /* open until the client goes away */
    ENDS,   /* in good order */
    RESETS, /* by a TCP reset */
};

struct step {
    const char *query; /* what follows the path; timeoutSeconds is written as T */
    int status;
    enum end end;
    const char *body;
};

#define STREAM_QUERY "?watch=1&allowWatchBookmarks=true&timeoutSeconds=T"
#define INITIAL      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
#define SELECTOR     "&labelSelector=a%2Fb%3Dc%2Cd&fieldSelector=metadata.name%3Dx"

struct row {
    const char *name;
    struct step steps[STEPS_MAX];
    const char *store; /* "name@rv ..." */
    const char *rv;
    const char *state;
    int error;        /* last_error_code */
    const char *says; /* part of last_error */
    bool optional, selectors, unserved, unsynced, classic;
    size_t max_objects;
    int64_t backoff_ms; /* 0: 1 */
};

static const struct row rows[] = {
    {.name = "streaming list and live events",
     .selectors = true,
     .steps = {{STREAM_QUERY INITIAL SELECTOR, 200, STAYS,
                EVENT("ADDED", "b", "5") EVENT("ADDED", "a", "3") END_BOOKMARK("7")
                    EVENT("MODIFIED", "b", "8") EVENT("DELETED", "a", "9") EVENT("ADDED", "c", "10")
                        BOOKMARK("12")}},
     .store = "b@8 c@10 ",
     .rv = "12",
     .state = "WATCHING"},
    {.name = "a server that cannot stream is listed in pages",
     .steps = {{STREAM_QUERY INITIAL, 422, WHOLE, STATUS(422, "Invalid", "no streams here")},
               {"?limit=500&resourceVersion=0", 200, WHOLE,
                LIST("20", ",\"continue\":\"t/+=\"", OBJECT("a", "3"))},
               {"?limit=500&continue=t%2F%2B%3D", 200, WHOLE, LIST("20", "", OBJECT("b", "4"))},
               {STREAM_QUERY "&resourceVersion=20", 200, STAYS, EVENT("ADDED", "c", "21")}},
     .store = "a@3 b@4 c@21 ",
     .rv = "21",
     .state = "WATCHING"},
    {.name = "an expired watch lists again at its version",
     .classic = true,
     .selectors = true,
     .steps = {{"?limit=500&resourceVersion=0" SELECTOR, 200, WHOLE,
                LIST("20", "", OBJECT("a", "3") "," OBJECT("b", "4"))},
               {STREAM_QUERY "&resourceVersion=20" SELECTOR, 200, STAYS,
                EVENT("MODIFIED", "a", "21") ERROR(410, "Expired")},
               {"?resourceVersion=21" SELECTOR, 200, WHOLE, LIST("90", "", OBJECT("a", "80"))},
               {STREAM_QUERY "&resourceVersion=90" SELECTOR, 200, STAYS, BOOKMARK("91")}},
     .store = "a@80 ",
     .rv = "91",
     .state = "WATCHING"},
    {.name = "an expired list is repeated consistently",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 410, WHOLE, STATUS(410, "Expired", "too old")},
               {"?limit=500", 200, WHOLE, LIST("9", "", OBJECT("a", "3"))},
               {STREAM_QUERY "&resourceVersion=9", 200, STAYS, BOOKMARK("10")}},
     .store = "a@3 ",
     .rv = "10",
     .state = "WATCHING"},
    {.name = "a version that is too large is recognised from the answer",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 504, WHOLE,
                STATUS(504, "Timeout", "Timeout: Too large resource version: 9, current: 1")},
               {"?limit=500", 200, WHOLE, LIST("9", "", "")},
               {STREAM_QUERY "&resourceVersion=9", 200, STAYS, BOOKMARK("10")}},
     .store = "",
     .rv = "10",
     .state = "WATCHING"},
    {.name = "a reset stream is watched on",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", OBJECT("a", "3"))},
               {STREAM_QUERY "&resourceVersion=20", 200, RESETS, EVENT("ADDED", "b", "21")},
               {STREAM_QUERY "&resourceVersion=21", 200, ENDS, EVENT("ADDED", "c", "22")},
               {STREAM_QUERY "&resourceVersion=22", 200, STAYS, BOOKMARK("23")}},
     .store = "a@3 b@21 c@22 ",
     .rv = "23",
     .state = "WATCHING"},
    {.name = "a stream cut in the middle of a frame is watched on",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", "")},
               {STREAM_QUERY "&resourceVersion=20", 200, ENDS,
                EVENT("ADDED", "b", "21") "{\"type\":\"ADDED\",\"obj"},
               {STREAM_QUERY "&resourceVersion=21", 200, STAYS, BOOKMARK("23")}},
     .store = "b@21 ",
     .rv = "23",
     .state = "WATCHING"},
    {.name = "garbage in a stream ends the run",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", "")},
               {STREAM_QUERY "&resourceVersion=20", 200, STAYS,
                EVENT("ADDED", "b", "21") "<html>upstream error</html>"},
               {"?resourceVersion=21", 502, WHOLE, "bad gateway\n"},
               {"?resourceVersion=21", 200, WHOLE, LIST("30", "", OBJECT("b", "21"))},
               {STREAM_QUERY "&resourceVersion=30", 200, STAYS, BOOKMARK("31")}},
     .store = "b@21 ",
     .rv = "31",
     .state = "WATCHING"},
    {.name = "an undecodable event ends the run",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", "")},
               {STREAM_QUERY "&resourceVersion=20", 200, STAYS,
                "{\"type\":\"ADDED\",\"object\":7}"},
               {"?resourceVersion=20", 403, WHOLE, STATUS(403, "Forbidden", "not any more")},
               {"?resourceVersion=20", 403, STAYS, ""}},
     .store = "",
     .rv = "20",
     .state = "LISTING",
     .error = EK_E_FORBIDDEN,
     .says = "not any more"},
    {.name = "a throttled watch is tried again without a list",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", "")},
               {STREAM_QUERY "&resourceVersion=20", 429, WHOLE,
                STATUS(429, "TooManyRequests", "slow down")},
               {STREAM_QUERY "&resourceVersion=20", 200, STAYS, BOOKMARK("21")}},
     .store = "",
     .rv = "21",
     .state = "WATCHING"},
    {.name = "what is not a list is refused",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, "{\"kind\":\"Table\"}"},
               {"?limit=500&resourceVersion=0", 200, STAYS, ""}},
     .store = "",
     .rv = "",
     .state = "LISTING",
     .error = EK_E_UNSUPPORTED,
     .says = "listing " LEASES ": requested a list of Lease, got a Table",
     .unsynced = true},
    {.name = "no permission",
     .steps = {{STREAM_QUERY INITIAL, 403, WHOLE, STATUS(403, "Forbidden", "cannot watch")},
               {"?limit=500&resourceVersion=0", 403, WHOLE,
                STATUS(403, "Forbidden", "leases is forbidden: cannot list resource")},
               {STREAM_QUERY INITIAL, 200, STAYS, ""}},
     .store = "",
     .rv = "",
     .state = "STREAMING",
     .error = EK_E_FORBIDDEN,
     .says = "cannot list resource",
     .unsynced = true},
    {.name = "a message that does not say what it is about",
     .classic = true,
     .steps = {{"?limit=500&resourceVersion=0", 401, WHOLE,
                STATUS(401, "Unauthorized", "Unauthorized")},
               {"?limit=500&resourceVersion=0", 200, STAYS, ""}},
     .store = "",
     .rv = "",
     .state = "LISTING",
     .error = EK_E_UNAUTHORIZED,
     .says = "listing " LEASES ": Unauthorized",
     .unsynced = true},
    {.name = "an optional resource that is not served",
     .optional = true,
     .steps = {{STREAM_QUERY INITIAL, 404, WHOLE, "404 page not found\n"},
               {"?limit=500&resourceVersion=0", 404, WHOLE, "404 page not found\n"}},
     .store = "",
     .rv = "",
     .state = "NOT_SERVED",
     .unserved = true},
    {.name = "a watch that grows beyond the limit",
     .classic = true,
     .max_objects = 2,
     .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", OBJECT("a", "3"))},
               {STREAM_QUERY "&resourceVersion=20", 200, STAYS,
                EVENT("ADDED", "b", "21") EVENT("ADDED", "c", "22")},
               {"?resourceVersion=22", 200, STAYS, ""}},
     .store = "a@3 b@21 c@22 ",
     .rv = "22",
     .state = "LISTING",
     .error = EK_E_LIMIT,
     .says = "more than 2 objects"},
};

struct bench {
    const struct row *row;
    struct testserver *server;
    uv_loop_t loop;
    uv_timer_t guard;
    struct ek_client *client;
    struct ek_informer *informer;
    pthread_mutex_t lock;
    size_t n_targets;                 /* under lock, as what follows */
    char targets[STEPS_MAX + 1][512]; /* with timeoutSeconds=T */
    bool stopped, closed, timed_out;
    int ticks; /* of the guard */
    int observed;
};

/* Notes a request; returns its kind. */
static size_t note_target(struct bench *bench, const char *target)
{
    const char *timeout = strstr(target, "timeoutSeconds=");
    size_t before = timeout ? (size_t)(timeout - target) + 15 : strlen(target);
    const char *after = target + before + (timeout ? strspn(target + before, "0123456789") : 0);

    pthread_mutex_lock(&bench->lock);
    size_t n = bench->n_targets < STEPS_MAX ? bench->n_targets++ : STEPS_MAX;
    snprintf(bench->targets[n], sizeof bench->targets[n], "%.*s%s%s", (int)before, target,
             timeout ? "T" : "", after);
    pthread_mutex_unlock(&bench->lock);
    return n;
}

static void write_stream(struct testserver_conn *conn, const struct step *step)
{
    char head[160];
    size_t len = strlen(step->body);

    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n",
                     step->status);
    testserver_write(conn, head, (size_t)n);
    for (size_t at = 0; at < len; at += 50) { /* chunks that end anywhere */
        size_t size = len - at < 50 ? len - at : 50;
        n = snprintf(head, sizeof head, "%zx\r\n%.*s\r\n", size, (int)size, step->body + at);
        testserver_write(conn, head, (size_t)n);
    }
    if (step->end == STAYS)
        testserver_stall(conn);
    else if (step->end == RESETS)
        testserver_close(conn); /* no last chunk: the answer is cut */
    else
        testserver_write(conn, "0\r\n\r\n", 5);
}

static void answer(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    struct bench *bench = ctx;
    size_t n = note_target(bench, request->target);

    if (n >= STEPS_MAX || !bench->row->steps[n].query)
        testserver_stall(conn);
    else if (bench->row->steps[n].end == WHOLE)
        testserver_reply(conn, bench->row->steps[n].status, "Content-Type: application/json\r\n",
                         bench->row->steps[n].body);
    else
        write_stream(conn, &bench->row->steps[n]);
}

/* Also turns the loop: what the server's thread counts wakes nobody here. */
static void on_guard(uv_timer_t *guard)
{
    struct bench *bench = guard->data;
    bench->timed_out = ++bench->ticks > GUARD_MS / TICK_MS;
}

static void on_change(void *ctx)
{
    ((struct bench *)ctx)->observed++;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static void bench_init(struct bench *bench, const struct row *row)
{
    struct ek_client_config *config = ek_client_config_new();
    struct ek_reflector_config reflector = ek_reflector_config_default();
    struct ek_resource resource = {.group = "coordination.k8s.io",
                                   .version = "v1",
                                   .resource = "leases",
                                   .kind = "Lease",
                                   .namespace = "kube-system",
                                   .optional = row->optional};
    struct ek_err err;

    *bench = (struct bench){.row = row};
    pthread_mutex_init(&bench->lock, NULL);
    bench->server = testserver_start(&(struct testserver_options){.handler = answer, .ctx = bench});
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    uv_timer_init(&bench->loop, &bench->guard);
    bench->guard.data = bench;
    uv_timer_start(&bench->guard, on_guard, TICK_MS, TICK_MS);
    config->server = ek_xasprintf("http://127.0.0.1:%u", testserver_port(bench->server));
    ck_assert_msg(ek_client_new(&bench->loop, config, "test/1", &bench->client, &err) == 0, "%s",
                  err.message);
    ek_client_config_free(config);
    reflector.streaming = !row->classic;
    int64_t backoff_ms = row->backoff_ms ? row->backoff_ms : 1;
    reflector.backoff =
        (struct ek_backoff_config){.initial_ms = backoff_ms, .max_ms = backoff_ms, .factor = 1};
    if (row->max_objects)
        reflector.max_objects = row->max_objects;
    if (row->selectors) {
        resource.label_selector = "a/b=c,d";
        resource.field_selector = "metadata.name=x";
    }
    bench->informer =
        ek_informer_new_configured(&bench->loop, bench->client, &resource, &reflector);
    ek_informer_set_observer(bench->informer, on_change, bench);
}

static void close_walk(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Releases everything; what the loop still holds then is a leak of handles. */
static void bench_done(struct bench *bench)
{
    ek_informer_free(bench->informer);
    ek_client_close(bench->client, on_closed, &bench->closed);
    while (!bench->closed && !bench->timed_out)
        uv_run(&bench->loop, UV_RUN_ONCE);
    ck_assert_msg(!bench->timed_out, "the client does not close");
    uv_close((uv_handle_t *)&bench->guard, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    uv_walk(&bench->loop, close_walk, NULL);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    testserver_stop(bench->server);
    pthread_mutex_destroy(&bench->lock);
}

static char *store_text(const struct bench *bench)
{
    struct ek_buf buf;
    size_t n;
    struct ek_obj **items = ek_store_snapshot(ek_informer_store(bench->informer), &n);

    ek_buf_init(&buf, 4096);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&buf, "%s@%s ", ek_obj_name(items[i]), ek_obj_resource_version(items[i]));
    ek_snapshot_free(items, n);
    return ek_buf_steal(&buf);
}

static size_t n_steps(const struct row *row)
{
    size_t n = 0;
    while (n < STEPS_MAX && row->steps[n].query)
        n++;
    return n;
}

static size_t count_targets(struct bench *bench)
{
    pthread_mutex_lock(&bench->lock);
    size_t n = bench->n_targets;
    pthread_mutex_unlock(&bench->lock);
    return n;
}

/* True when the conversation has come to its end and all of it has been taken in. */
static bool settled(struct bench *bench)
{
    struct ek_informer_status status;

    ek_informer_status(bench->informer, &status);
    return count_targets(bench) >= n_steps(bench->row) &&
           !strcmp(status.state, bench->row->state) &&
           !strcmp(ek_store_resource_version(ek_informer_store(bench->informer)), bench->row->rv);
}

static void check_targets(const struct bench *bench)
{
    for (size_t i = 0; i < n_steps(bench->row); i++) {
        EK_AUTOFREE char *want = ek_xasprintf(LEASES "%s", bench->row->steps[i].query);
        ck_assert_msg(!strcmp(bench->targets[i], want), "%s: request %zu is %s", bench->row->name,
                      i + 1, bench->targets[i]);
    }
    ck_assert_msg(bench->n_targets == n_steps(bench->row), "%s: %zu requests", bench->row->name,
                  bench->n_targets);
}

START_TEST(a_conversation_fills_the_store)
{
    const struct row *row = &rows[_i];
    struct ek_informer_status status;
    static struct bench bench;

    bench_init(&bench, row);
    ek_informer_start(bench.informer);
    while (!settled(&bench) && !bench.timed_out)
        uv_run(&bench.loop, UV_RUN_ONCE);
    EK_AUTOFREE char *store = store_text(&bench);
    ek_informer_status(bench.informer, &status);
    check_targets(&bench);
    ck_assert_msg(!bench.timed_out, "%s: does not get there; %s, %s at %s", row->name, status.state,
                  store, ek_store_resource_version(ek_informer_store(bench.informer)));
    ck_assert_msg(!strcmp(store, row->store), "%s: %s", row->name, store);
    ck_assert_msg(status.synced == !row->unsynced, "%s: synced", row->name);
    ck_assert_msg(status.served == !row->unserved, "%s: served", row->name);
    ck_assert_msg(status.last_error_code == row->error, "%s: %s", row->name, status.last_error);
    ck_assert_msg(strstr(status.last_error, row->says ? row->says : "") != NULL, "%s: %s",
                  row->name, status.last_error);
    ck_assert_int_gt(bench.observed, 0);
    bench_done(&bench);
}
END_TEST

/* ---- hurrying ---- */

#define LONG_MS ((int64_t)GUARD_MS * 100)

/* Each conversation backs off for longer than the test may take. */
static const struct {
    struct row row;    /* until it backs off: state and rv */
    const char *after; /* the state after the hurry */
} hurries[] = {
    {{.name = "a list that broke off",
      .classic = true,
      .steps = {{"?limit=500&resourceVersion=0", 200, RESETS, LIST("20", "", "")}},
      .rv = "",
      .state = "BACKOFF",
      .backoff_ms = LONG_MS},
     "LISTING"},
    {{.name = "a list that the API server throttles",
      .classic = true,
      .steps = {{"?limit=500&resourceVersion=0", 429, WHOLE,
                 STATUS(429, "TooManyRequests", "slow down")}},
      .rv = "",
      .state = "BACKOFF",
      .backoff_ms = LONG_MS},
     "BACKOFF"},
    {{.name = "a list that takes too long, as the API server says",
      .classic = true,
      .steps = {{"?limit=500&resourceVersion=0", 504, WHOLE, STATUS(504, "Timeout", "too slow")}},
      .rv = "",
      .state = "BACKOFF",
      .backoff_ms = LONG_MS},
     "BACKOFF"},
    {{.name = "a list that is forbidden",
      .classic = true,
      .steps = {{"?limit=500&resourceVersion=0", 403, WHOLE, STATUS(403, "Forbidden", "no")}},
      .rv = "",
      .state = "BACKOFF",
      .backoff_ms = LONG_MS},
     "BACKOFF"},
    {{.name = "a watch that is open",
      .classic = true,
      .steps = {{"?limit=500&resourceVersion=0", 200, WHOLE, LIST("20", "", "")},
                {STREAM_QUERY "&resourceVersion=20", 200, STAYS, EVENT("ADDED", "b", "21")}},
      .rv = "21",
      .state = "WATCHING",
      .backoff_ms = LONG_MS},
     "WATCHING"},
};

START_TEST(waits_for_the_network_end_in_a_hurry)
{
    const struct row *row = &hurries[_i].row;
    struct ek_informer_status status;
    static struct bench bench;

    bench_init(&bench, row);
    ek_informer_start(bench.informer);
    while (!settled(&bench) && !bench.timed_out)
        uv_run(&bench.loop, UV_RUN_ONCE);
    ck_assert_msg(!bench.timed_out, "%s: does not get there", row->name);
    ek_informer_hurry(bench.informer);
    ek_informer_status(bench.informer, &status);
    ck_assert_msg(!strcmp(status.state, hurries[_i].after), "%s: %s", row->name, status.state);
    bench_done(&bench);
}
END_TEST

/* ---- stopping ---- */

static void stop_in_handler(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                            const struct ek_obj *obj, bool initial)
{
    struct bench *bench = ctx;

    (void)change;
    (void)old;
    (void)initial;
    if (obj && !strcmp(ek_obj_name(obj), "b"))
        ek_informer_stop(bench->informer, on_closed, &bench->stopped);
}

/* A stop from inside a handler, in the middle of a chunk with more events: none of them comes, the
 * store stays readable. */
START_TEST(a_handler_may_stop_the_informer)
{
    static const struct row row = {.name = "stop",
                                   .steps = {{STREAM_QUERY INITIAL, 200, STAYS,
                                              EVENT("ADDED", "a", "3") END_BOOKMARK("7") EVENT(
                                                  "ADDED", "b", "8") EVENT("ADDED", "c", "9")}}};
    struct ek_informer_status status;
    static struct bench bench;

    bench_init(&bench, &row);
    ek_store_add_handler(ek_informer_store(bench.informer), stop_in_handler, &bench);
    ek_informer_start(bench.informer);
    while (!bench.stopped && !bench.timed_out)
        uv_run(&bench.loop, UV_RUN_ONCE);
    ck_assert(bench.stopped);
    EK_AUTOFREE char *store = store_text(&bench);
    ck_assert_str_eq(store, "a@3 b@8 ");
    ek_informer_status(bench.informer, &status);
    ck_assert_str_eq(status.state, "STOPPED");
    bench_done(&bench);
}
END_TEST

/* When is stop or free called? At each of these points nothing may leak or come later. */
START_TEST(stopping_is_clean_at_any_time)
{
    static const struct row row = {
        .name = "stop", .steps = {{STREAM_QUERY INITIAL, 200, STAYS, EVENT("ADDED", "a", "3")}}};
    static struct bench bench;

    bench_init(&bench, &row);
    if (_i >= 1)
        ek_informer_start(bench.informer);
    while (_i >= 2 && !count_targets(&bench) && !bench.timed_out)
        uv_run(&bench.loop, UV_RUN_NOWAIT);
    if (_i != 3) {
        ek_informer_stop(bench.informer, on_closed, &bench.stopped);
        ck_assert_msg(!bench.stopped, "on_stopped is called from inside stop");
        while (!bench.stopped && !bench.timed_out)
            uv_run(&bench.loop, UV_RUN_ONCE);
        ck_assert(bench.stopped);
    }
    bench_done(&bench);
}
END_TEST

static const struct {
    struct ek_resource resource;
    const char *path;
} paths[] = {
    {{.group = "", .version = "v1", .resource = "nodes"}, "/api/v1/nodes"},
    {{.group = "", .version = "v1", .resource = "pods", .namespace = "kube-system"},
     "/api/v1/namespaces/kube-system/pods"},
    {{.group = "apps", .version = "v1", .resource = "deployments", .namespace = ""},
     "/apis/apps/v1/deployments"},
    {{.group = "a.b", .version = "v1", .resource = "cs", .namespace = "d/../e"},
     "/apis/a.b/v1/namespaces/d%2F..%2Fe/cs"},
};

START_TEST(a_resource_has_a_path)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 256);
    ck_assert_int_eq(ek_resource_path(&paths[_i].resource, &path), 0);
    ck_assert_str_eq(ek_buf_str(&path), paths[_i].path);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("informer");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_conversation_fills_the_store, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, waits_for_the_network_end_in_a_hurry, 0,
                        (int)EK_ARRAY_SIZE(hurries));
    tcase_add_test(tcase, a_handler_may_stop_the_informer);
    tcase_add_loop_test(tcase, stopping_is_clean_at_any_time, 0, 4);
    tcase_add_loop_test(tcase, a_resource_has_a_path, 0, (int)EK_ARRAY_SIZE(paths));
    return ek_test_run("informer", tcase);
}
