/* SPDX-License-Identifier: Apache-2.0 */
/* The test API server over real sockets, with the project's own client: streams, faults,
 * certificates, peers that stop and hang. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/shell.h"
#include "test/support/clientbench.h"
#include "test/support/shellbench.h"
#include "test/support/suite.h"

#define CM "/api/v1/namespaces/default/configmaps"

static struct ek_apiserver *server;
static struct ek_apiserver_peer *peer;
static struct ek_apishell *shell;
static struct ek_client_config *config;
static struct clientbench bench;
static char *audit_text;
static size_t audit_size;
static FILE *audit;

static void setup(void)
{
    const struct ek_apiserver_config core = {.seed = 1};
    const struct ek_apiserver_peer_config cp_a = {
        .name = "cp-a", .address = "127.0.0.1", .binary = "1.36.2"};
    struct ek_err err = {0};

    config = ek_client_config_new();
    config->server = ek_xstrdup("https://127.0.0.1:1");
    config->token = ek_xstrdup("secret");
    server = ek_apiserver_new(&core, 0);
    ek_apiserver_add_token(server, "secret", "admin", "system:masters", NULL);
    ck_assert_int_eq(ek_apiserver_add_peer(server, &cp_a, &peer, &err), 0);
    memset(&bench, 0, sizeof(bench));
    audit = open_memstream(&audit_text, &audit_size);
}

/* The client needs to know the server, whose loop is the client's: so a first loop is made with
 * the client, and the client is made anew when the server's port is known. */
static void start(void)
{
    shell = shellbench_start(&bench, config, server, peer, audit);
}

static void stop(void)
{
    ek_apishell_close(shell, NULL, NULL);
    clientbench_stop(&bench);
    ek_apiserver_free(server);
    ek_client_config_free(config);
    fclose(audit);
    free(audit_text);
}

static void ask(const struct ek_request *request, struct outcome *out)
{
    memset(out, 0, sizeof(*out));
    clientbench_do(&bench, request, out);
}

static int create(const char *name)
{
    struct outcome out;
    char body[256];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"k\":\"v\"}}", name);
    ask(&(struct ek_request){.method = "POST",
                             .path = CM,
                             .content_type = "application/json",
                             .body = body,
                             .body_size = strlen(body)},
        &out);
    int status = out.status;
    outcome_done(&out);
    return status;
}

START_TEST(requests_are_answered_and_written_down)
{
    struct outcome out;

    start();
    ck_assert_int_eq(create("a"), 201);
    ck_assert_int_eq(create("a"), 409);
    ask(&(struct ek_request){.path = CM "/a"}, &out);
    ck_assert_int_eq(out.status, 200);
    ck_assert_ptr_nonnull(strstr(out.body, "\"k\":\"v\""));
    ck_assert_ptr_nonnull(strstr(out.names, "kubernetes.default.svc"));
    ck_assert_ptr_nonnull(strstr(out.names, "cp-a"));
    outcome_done(&out);
    fflush(audit);
    ck_assert_ptr_nonnull(strstr(audit_text, "\"user\":\"admin\",\"verb\":\"create\",\"resource\":"
                                             "\"configmaps\",\"namespace\":\"default\",\"name\":"
                                             "\"a\",\"userAgent\":\"test/1.0\",\"code\":409"));
    stop();
}
END_TEST

struct stream {
    char text[65536];
    size_t len, want; /* lines to wait for */
    int enough;
    struct outcome out;
};

static int on_data(void *ctx, const char *data, size_t len)
{
    struct stream *stream = ctx;

    if (stream->len + len < sizeof(stream->text)) {
        memcpy(stream->text + stream->len, data, len);
        stream->len += len;
    }
    size_t lines = 0;
    for (size_t i = 0; i < stream->len; i++)
        lines += stream->text[i] == '\n';
    stream->enough = lines >= stream->want;
    return 0;
}

static void on_done(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct stream *stream = ctx;

    outcome_keep(&stream->out, resp, err);
    stream->enough = 1;
}

static struct ek_call *watch(struct stream *stream, const char *path)
{
    memset(stream, 0, sizeof(*stream));
    return ek_client_send(bench.client,
                          &(struct ek_request){.path = path, .on_data = on_data, .no_retry = true},
                          on_done, stream);
}

static void wait_lines(struct stream *stream, size_t n)
{
    stream->want = n;
    stream->enough = 0;
    on_data(stream, "", 0);
    clientbench_run_until(&bench, &stream->enough);
}

#define WATCHLIST                                                                                  \
    CM "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks="    \
       "true"

START_TEST(a_stream_tells_what_others_write)
{
    static struct stream stream;

    start();
    create("a");
    struct ek_call *call = watch(&stream, WATCHLIST);
    wait_lines(&stream, 2);
    ck_assert_ptr_nonnull(strstr(stream.text, "initial-events-end"));
    ck_assert_int_eq(create("b"), 201);
    wait_lines(&stream, 3);
    ck_assert_ptr_nonnull(strstr(stream.text, "\"name\":\"b\""));
    ck_assert_int_eq(stream.out.n_done, 0);
    ek_call_cancel(call);
    stop();
}
END_TEST

START_TEST(a_stream_ends_in_order)
{
    static struct stream stream;

    start();
    watch(&stream, CM "?watch=1&timeoutSeconds=1");
    clientbench_run_until(&bench, &stream.out.n_done);
    ck_assert_int_eq(stream.out.status, 200);
    ck_assert_int_eq(stream.out.err.code, 0);
    outcome_done(&stream.out);
    stop();
}
END_TEST

/* One fault, one request for the ConfigMap "a" (or a watch), and what the client makes of it. */
static const struct {
    const char *name;
    struct ek_fault fault;
    bool watch;
    int status, code;
} fault_rows[] = {
    {"none", {.kind = EK_FAULT_NONE}, false, 200, 0},
    {"reset before the answer", {.kind = EK_FAULT_RESET}, false, 0, EK_E_NET},
    {"reset in the answer", {.kind = EK_FAULT_RESET, .bytes = 250}, false, 200, EK_E_NET},
    {"a short answer", {.kind = EK_FAULT_TRUNCATE, .bytes = 250}, false, 200, EK_E_NET},
    {"a short chunk", {.kind = EK_FAULT_TRUNCATE, .bytes = 300}, true, 200, EK_E_NET},
    {"throttled", {.kind = EK_FAULT_THROTTLE, .seconds = 3}, false, 429, EK_E_THROTTLED},
    {"stalled", {.kind = EK_FAULT_STALL}, false, 0, EK_E_TIMEOUT},
    {"stalled midway", {.kind = EK_FAULT_STALL, .bytes = 250}, false, 200, EK_E_TIMEOUT},
    {"slow", {.kind = EK_FAULT_SLOW, .ms = 50}, false, 200, 0},
    {"too slow", {.kind = EK_FAULT_SLOW, .ms = 60000}, false, 0, EK_E_TIMEOUT},
    {"garbage", {.kind = EK_FAULT_GARBAGE}, false, 200, 0},
    {"unauthorized", {.kind = EK_FAULT_UNAUTHORIZED}, false, 401, EK_E_UNAUTHORIZED},
    {"forbidden", {.kind = EK_FAULT_FORBIDDEN}, false, 403, EK_E_FORBIDDEN},
    {"broken", {.kind = EK_FAULT_BROKEN}, false, 500, EK_E_SERVER},
    {"gone", {.kind = EK_FAULT_GONE}, false, 410, EK_E_GONE},
};

START_TEST(faults_reach_the_client)
{
    static struct stream stream;
    struct ek_err err;
    const struct ek_fault *fault = &fault_rows[_i].fault;

    start();
    create("a");
    if (fault->kind != EK_FAULT_NONE)
        ek_faults_add(ek_apishell_faults(shell), fault, &err);
    memset(&stream, 0, sizeof(stream));
    ek_client_send(
        bench.client,
        &(struct ek_request){.path = fault_rows[_i].watch ? WATCHLIST : CM "/a",
                             .on_data = fault_rows[_i].watch ? on_data : NULL,
                             .no_retry = true,
                             .timeout_ms = fault_rows[_i].code == EK_E_TIMEOUT ? 400 : 600000},
        on_done, &stream);
    clientbench_run_until(&bench, &stream.out.n_done);
    ck_assert_msg(stream.out.err.code == fault_rows[_i].code &&
                      (fault_rows[_i].code == EK_E_NET || fault_rows[_i].code == EK_E_TIMEOUT ||
                       stream.out.status == fault_rows[_i].status),
                  "%s: status %d, code %d (%s)", fault_rows[_i].name, stream.out.status,
                  stream.out.err.code, stream.out.err.message);
    if (fault->kind == EK_FAULT_THROTTLE)
        ck_assert_int_eq(stream.out.err.retry_after_ms, 3000);
    ek_faults_clear(ek_apishell_faults(shell));
    outcome_done(&stream.out);
    ck_assert_msg(create("b") == 201, "%s: the server does not recover", fault_rows[_i].name);
    stop();
}
END_TEST

START_TEST(an_expired_certificate_is_refused_and_renewed)
{
    struct outcome out;
    struct ek_err err;

    start();
    ck_assert_int_eq(ek_apishell_expire_certificate(shell, peer, true, &err), 0);
    ask(&(struct ek_request){.path = CM, .no_retry = true}, &out);
    ck_assert_int_eq(out.err.code, EK_E_TLS);
    outcome_done(&out);
    ck_assert_int_eq(ek_apishell_expire_certificate(shell, peer, false, &err), 0);
    ask(&(struct ek_request){.path = CM, .no_retry = true}, &out);
    ck_assert_int_eq(out.status, 200);
    outcome_done(&out);
    stop();
}
END_TEST

START_TEST(a_hung_peer_says_nothing_until_it_resumes)
{
    struct outcome out;

    start();
    ek_apishell_hang_peer(shell, peer, true);
    ask(&(struct ek_request){.path = CM, .no_retry = true, .timeout_ms = 200}, &out);
    ck_assert_int_eq(out.err.code, EK_E_TIMEOUT);
    outcome_done(&out);
    ek_apishell_hang_peer(shell, peer, false);
    ask(&(struct ek_request){.path = CM, .no_retry = true}, &out);
    ck_assert_int_eq(out.status, 200);
    outcome_done(&out);
    stop();
}
END_TEST

/* Runs the loop until the peer's socket is closed, so that its port can be bound again. */
static void restart(const char *emulation)
{
    const struct ek_apiserver_peer_config change = {.emulation = ek_minor_parse(emulation)};
    struct ek_err err;

    ck_assert_int_eq(ek_apiserver_peer_change(peer, &change, &err), 0);
    int code = EK_E_EXIST;
    for (int i = 0; i < 100 && code == EK_E_EXIST; i++) {
        uv_run(&bench.loop, UV_RUN_NOWAIT);
        code = ek_apishell_start_peer(shell, peer, &err);
    }
    ck_assert_msg(code == 0, "%s", err.message);
}

START_TEST(a_crashed_peer_breaks_its_streams_and_comes_back_with_another_version)
{
    static struct stream stream;
    struct outcome out;

    start();
    watch(&stream, WATCHLIST);
    wait_lines(&stream, 1);
    ek_apishell_stop_peer(shell, peer, true);
    clientbench_run_until(&bench, &stream.out.n_done);
    ck_assert_int_eq(stream.out.err.code, EK_E_NET);
    outcome_done(&stream.out);
    restart("1.34");
    ask(&(struct ek_request){.path = "/version", .no_retry = true}, &out);
    ck_assert_ptr_nonnull(strstr(out.body, "\"emulationMinor\": \"34\""));
    outcome_done(&out);
    stop();
}
END_TEST

START_TEST(large_lists_arrive_whole)
{
    struct outcome out;
    char json[4096], filler[3000];

    start();
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    for (int i = 0; i < 4000; i++) {
        int n = snprintf(json, sizeof(json),
                         "{\"metadata\":{\"name\":\"m%d\",\"namespace\":\"default\"},\"data\":{"
                         "\"x\":\"%s\"}}",
                         i, filler);
        ek_apiserver_seed(server, "", "v1", "configmaps", json, (size_t)n, NULL);
    }
    ask(&(struct ek_request){.path = CM}, &out);
    ck_assert_int_eq(out.status, 200);
    ck_assert_uint_gt(out.body_size, (size_t)12 * 1000 * 1000);
    ck_assert_str_eq(out.body + out.body_size - 4, "}]}\n");
    outcome_done(&out);
    stop();
}
END_TEST

static const struct {
    const char *name, *method, *path, *body;
    int status;
} control_rows[] = {
    {"a fault", "POST", "/_faults", "{\"kind\":\"error\",\"count\":1}", 200},
    {"no such fault", "POST", "/_faults", "{\"kind\":\"odd\"}", 400},
    {"no faults", "DELETE", "/_faults", NULL, 200},
    {"compaction", "POST", "/_compact", NULL, 200},
    {"no such peer", "POST", "/_peers", "{\"peer\":\"x\",\"action\":\"stop\"}", 404},
    {"no such action", "POST", "/_peers", "{\"peer\":\"cp-a\",\"action\":\"odd\"}", 400},
    {"a certificate", "POST", "/_peers", "{\"peer\":\"cp-a\",\"action\":\"expire\"}", 200},
    {"nothing", "GET", "/_nothing", NULL, 404},
};

START_TEST(it_is_driven_from_outside)
{
    struct outcome out;
    const char *body = control_rows[_i].body;

    start();
    ask(&(struct ek_request){.method = control_rows[_i].method,
                             .path = control_rows[_i].path,
                             .content_type = body ? "application/json" : NULL,
                             .body = body,
                             .body_size = body ? strlen(body) : 0,
                             .no_retry = true},
        &out);
    ck_assert_msg(out.status == control_rows[_i].status, "%s: %d %s", control_rows[_i].name,
                  out.status, out.body);
    outcome_done(&out);
    stop();
}
END_TEST

START_TEST(only_masters_drive_it)
{
    struct outcome out;

    ek_apiserver_add_token(server, "weak", "weak", "", "*");
    ek_free(config->token);
    config->token = ek_xstrdup("weak");
    start();
    ask(&(struct ek_request){.path = "/_faults", .no_retry = true}, &out);
    ck_assert_int_eq(out.status, 403);
    outcome_done(&out);
    stop();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("shell");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, requests_are_answered_and_written_down);
    tcase_add_test(tcase, a_stream_tells_what_others_write);
    tcase_add_test(tcase, a_stream_ends_in_order);
    tcase_add_loop_test(tcase, faults_reach_the_client, 0, EK_ARRAY_SIZE(fault_rows));
    tcase_add_test(tcase, an_expired_certificate_is_refused_and_renewed);
    tcase_add_test(tcase, a_hung_peer_says_nothing_until_it_resumes);
    tcase_add_test(tcase, a_crashed_peer_breaks_its_streams_and_comes_back_with_another_version);
    tcase_add_test(tcase, large_lists_arrive_whole);
    tcase_add_loop_test(tcase, it_is_driven_from_outside, 0, EK_ARRAY_SIZE(control_rows));
    tcase_add_test(tcase, only_masters_drive_it);
    return ek_test_run("apiserver_shell", tcase);
}
