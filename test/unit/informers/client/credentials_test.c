/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that change: token and certificate files, and credential plugins, alone by an
 * injected clock and together with the client. */
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "api/base/time.h"
#include "informers/client/credentials.h"
#include "informers/client/exec_credential.h"
#include "test/support/clientbench.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

#define V1   "client.authentication.k8s.io/v1"
#define NOW  1700000000000LL
#define KIND "\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\""

static char dir[TESTDIR_SIZE];

static void setup(void)
{
    testdir_make(dir);
}

static void teardown(void)
{
    testdir_remove(dir);
}

/* Writes a file of the test's folder; returns its path, owned. */
static char *put(const char *name, const char *text, int mode)
{
    testdir_put(dir, name, text, mode);
    return ek_xasprintf("%s/%s", dir, name);
}

static void replace(const char *name, const char *text)
{
    ek_free(put(name, text, 0600));
}

/* Credentials on a loop. */
struct stand {
    uv_loop_t loop;
    struct ek_client_config *config;
    struct ek_credentials *credentials;
    int n_changes, closed;
};

static void on_change(void *ctx)
{
    struct stand *stand = ctx;
    stand->n_changes++;
}

static void on_closed(void *ctx)
{
    struct stand *stand = ctx;
    stand->closed = 1;
}

static void stand_start(struct stand *stand)
{
    struct ek_err err = {0};

    uv_loop_init(&stand->loop);
    stand->n_changes = stand->closed = 0;
    ck_assert_msg(ek_credentials_new(&stand->loop, stand->config, NOW, &stand->credentials, &err) ==
                      0,
                  "%s", err.message);
    ek_credentials_set_observer(stand->credentials, on_change, stand);
}

static void stand_stop(struct stand *stand)
{
    ek_credentials_close(stand->credentials, on_closed, stand);
    ck_assert_int_eq(stand->closed, 0); /* not before the loop */
    uv_run(&stand->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(stand->closed, 1);
    ck_assert_int_eq(uv_loop_close(&stand->loop), 0);
    ek_client_config_free(stand->config);
}

static void wait_change(struct stand *stand)
{
    int before = stand->n_changes;

    while (stand->n_changes == before)
        ck_assert_msg(uv_run(&stand->loop, UV_RUN_ONCE) || stand->n_changes > before, "ran dry");
}

/* What get says at a time: the Authorization header, or "pending", or the error's message. */
static const char *ask(struct stand *stand, int64_t now_ms)
{
    static char text[1024];
    struct ek_auth *auth = NULL;
    struct ek_err err = {0};

    switch (ek_credentials_get(stand->credentials, now_ms, &auth, &err)) {
    case EK_CREDENTIALS_READY:
        snprintf(text, sizeof text, "%s", auth->authorization ? auth->authorization : "none");
        ek_auth_unref(auth);
        return text;
    case EK_CREDENTIALS_PENDING:
        return "pending";
    default:
        snprintf(text, sizeof text, "%s", err.message);
        return text;
    }
}

static const struct {
    const char *name;
    const char *token, *username, *password, *want;
} statics[] = {
    {"nothing", NULL, NULL, NULL, "none"},
    {"token", "abc", NULL, NULL, "Bearer abc"},
    {"basic", NULL, "user", "pass", "Basic dXNlcjpwYXNz"},
    {"basic without password", NULL, "user", NULL, "Basic dXNlcjo="},
};

START_TEST(what_never_changes)
{
    struct stand stand = {.config = ek_client_config_new()};

    stand.config->token = ek_xstrdup(statics[_i].token);
    stand.config->username = ek_xstrdup(statics[_i].username);
    stand.config->password = ek_xstrdup(statics[_i].password);
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW + 86400000), statics[_i].want);
    stand_stop(&stand);
}
END_TEST

START_TEST(a_token_file_is_read_again)
{
    struct stand stand = {.config = ek_client_config_new()};

    stand.config->token_file = put("token", "one\n", 0600);
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "Bearer one");
    replace("token", "  two\n");
    ck_assert_str_eq(ask(&stand, NOW + 49999), "Bearer one");
    ck_assert_int_eq(uv_run(&stand.loop, UV_RUN_NOWAIT), 0);  /* nothing was started */
    ck_assert_str_eq(ask(&stand, NOW + 50000), "Bearer one"); /* good until there is a better one */
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, NOW + 50000), "Bearer two");
    /* A failure keeps what there is, and is tried again soon. */
    replace("token", "");
    ck_assert_str_eq(ask(&stand, NOW + 100000), "Bearer two");
    wait_change(&stand);
    replace("token", "three");
    ck_assert_str_eq(ask(&stand, NOW + 109999), "Bearer two");
    ck_assert_int_eq(uv_run(&stand.loop, UV_RUN_NOWAIT), 0);
    ck_assert_str_eq(ask(&stand, NOW + 110000), "Bearer two");
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, NOW + 110000), "Bearer three");
    /* A clock set back is no reason to wait. */
    replace("token", "four");
    ck_assert_str_eq(ask(&stand, NOW - 3600000), "Bearer three");
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, NOW - 3600000), "Bearer four");
    stand_stop(&stand);
}
END_TEST

static const struct {
    const char *name, *text;
} odd_tokens[] = {
    {"empty", ""},         {"blank", " \n"},
    {"two words", "a b"},  {"two lines", "a\r\nX-Injected: b"},
    {"control", "a\001b"}, {"not ASCII", "a\xc3\xa9"},
};

START_TEST(odd_token_files_are_refused)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct ek_credentials *credentials;
    struct ek_err err = {0};
    uv_loop_t loop;

    config->token_file = put("token", odd_tokens[_i].text, 0600);
    uv_loop_init(&loop);
    int rc = ek_credentials_new(&loop, config, NOW, &credentials, &err);
    ck_assert_msg(rc == EK_E_PARSE, "%s: %d", odd_tokens[_i].name, rc);
    ck_assert_msg(strstr(err.message, "/token") != NULL, "%s: %s", odd_tokens[_i].name,
                  err.message);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

static uint64_t generation(struct stand *stand, int64_t now_ms)
{
    struct ek_auth *auth = NULL;

    ck_assert_int_eq(ek_credentials_get(stand->credentials, now_ms, &auth, NULL),
                     EK_CREDENTIALS_READY);
    uint64_t value = auth->tls_generation;
    ek_auth_unref(auth);
    return value;
}

START_TEST(certificate_files_are_read_again)
{
    struct testpki_cert authority = testpki_authority("a"), other = testpki_authority("b");
    struct testpki_cert one =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "one"});
    struct testpki_cert two =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "two", .ends_in_s = 86400});
    struct stand stand = {.config = ek_client_config_new()};

    stand.config->ca_file = put("ca", authority.cert, 0600);
    stand.config->cert_file = put("cert", one.cert, 0600);
    stand.config->key_file = put("key", one.key, 0600);
    stand_start(&stand);
    int64_t end_ms = ek_credentials_not_after(stand.credentials);
    ck_assert_int_gt(end_ms, 0);
    uint64_t first = generation(&stand, NOW);
    ck_assert_uint_eq(generation(&stand, NOW + 299999), first);
    ck_assert_int_eq(uv_run(&stand.loop, UV_RUN_NOWAIT), 0);
    /* Unchanged files change nothing. */
    generation(&stand, NOW + 300000);
    wait_change(&stand);
    ck_assert_uint_eq(generation(&stand, NOW + 300000), first);
    /* Half a rotation is not taken. */
    replace("cert", two.cert);
    generation(&stand, NOW + 600000);
    wait_change(&stand);
    ck_assert_uint_eq(generation(&stand, NOW + 600000), first);
    replace("key", two.key);
    generation(&stand, NOW + 610000);
    wait_change(&stand);
    uint64_t second = generation(&stand, NOW + 610000);
    ck_assert_uint_ne(second, first);
    ck_assert_int_gt(ek_credentials_not_after(stand.credentials), end_ms + 3600000);
    replace("ca", other.cert);
    generation(&stand, NOW + 910000);
    wait_change(&stand);
    ck_assert_uint_ne(generation(&stand, NOW + 910000), second);
    stand_stop(&stand);
    testpki_done(&authority);
    testpki_done(&other);
    testpki_done(&one);
    testpki_done(&two);
}
END_TEST

START_TEST(closing_while_files_are_read)
{
    struct stand stand = {.config = ek_client_config_new()};

    stand.config->token_file = put("token", "one", 0600);
    stand_start(&stand);
    ask(&stand, NOW + 60000);
    stand_stop(&stand);
}
END_TEST

/* A plugin of the given shell lines. */
static struct ek_client_config *plugin_config(const char *lines)
{
    struct ek_client_config *config = ek_client_config_new();
    EK_AUTOFREE char *script = ek_xasprintf("#!/bin/sh\n%s\n", lines);

    config->server = ek_xstrdup("https://10.0.0.1:6443");
    config->exec = ek_xalloc(sizeof *config->exec);
    config->exec->command = put("plugin", script, 0700);
    config->exec->api_version = ek_xstrdup(V1);
    return config;
}

#define PRINT(status) "echo '{" KIND ",\"status\":" status "}'"

static const struct {
    const char *name, *lines, *want; /* contained in what get says in the end */
} plugins[] = {
    {"token", PRINT("{\"token\":\"abc\"}"), "Bearer abc"},
    {"arguments and environment",
     "printf '{" KIND ",\"status\":{\"token\":\"%s-%s-%s\"}}' $1 $EXTRA $PATH_KEPT",
     "Bearer x-y-z"},
    {"standard input is empty", "cat; echo '{" KIND ",\"status\":{\"token\":\"abc\"}}'",
     "Bearer abc"},
    {"background child", "sleep 100 >/dev/null 2>&1 & " PRINT("{\"token\":\"abc\"}"), "Bearer abc"},
    {"exit code", "echo 'could not\n get\ttoken: login' >&2; exit 3",
     "plugin: it failed with exit code 3: could not get token: login"},
    {"exit code without words", "exit 255", "plugin: it failed with exit code 255"},
    {"signal", "kill -9 $$", "ended by signal 9"},
    {"nothing", "true", "not JSON"},
    {"not JSON", "echo secret-token", "not JSON"},
    {"not an ExecCredential", "echo '{\"kind\":\"Pod\"}'", "not of kind ExecCredential"},
    {"another version",
     "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
     "has apiVersion client.authentication.k8s.io/v1beta1, the kubeconfig requires " V1},
    {"no status", "echo '{" KIND "}'", "has no status"},
    {"empty status", PRINT("{}"), "neither a token nor a certificate"},
    {"token of another type", PRINT("{\"token\":7}"), "status.token is not a string"},
    {"certificate alone", PRINT("{\"clientCertificateData\":\"x\"}"),
     "only one of certificate and key"},
    {"certificate is no PEM",
     PRINT("{\"clientCertificateData\":\"secret-\",\"clientKeyData\":\"secret-\"}"),
     "its certificate holds no certificate in PEM form"},
    {"token that breaks out", PRINT("{\"token\":\"secret- y\"}"), "not allowed in a bearer token"},
    {"odd expiry", PRINT("{\"token\":\"secret-\",\"expirationTimestamp\":\"tomorrow\"}"),
     "not an RFC 3339 time"},
    {"too much", "head -c 3000000 /dev/zero", "more than 1048576 bytes"},
};

START_TEST(what_plugins_say)
{
    struct stand stand = {.config = plugin_config(plugins[_i].lines)};
    const char *name = plugins[_i].name;

    setenv("PATH_KEPT", "z", 1);
    setenv("EXTRA", "replaced", 1);
    ek_strings_add(&stand.config->exec->args, "x");
    ek_name_values_add(&stand.config->exec->env, "EXTRA", "y");
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    ck_assert_str_eq(ask(&stand, NOW), "pending"); /* one run for all who ask */
    wait_change(&stand);
    const char *said = ask(&stand, NOW);
    ck_assert_msg(strstr(said, plugins[_i].want) != NULL, "%s: %s", name, said);
    ck_assert_msg(!strstr(said, "secret-"), "%s: %s", name, said);
    ck_assert_msg(!strchr(said, '\n'), "%s: %s", name, said);
    stand_stop(&stand);
}
END_TEST

static const struct {
    const char *name, *command, *hint, *want;
} absents[] = {
    {"by name", "ek-no-such-plugin", "brew install it", "was not found: brew install it"},
    {"by path", "/nonexistent/plugin", NULL, "was not found; install it or correct exec.command"},
    {"not a program", "/dev/null", NULL, "cannot start it: permission denied"},
};

START_TEST(plugins_that_do_not_start)
{
    struct stand stand = {.config = plugin_config("true")};

    /* A folder that may not be searched makes the error another one. */
    setenv("PATH", "/usr/bin:/bin", 1);
    ek_free(stand.config->exec->command);
    stand.config->exec->command = ek_xstrdup(absents[_i].command);
    stand.config->exec->install_hint = ek_xstrdup(absents[_i].hint);
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    wait_change(&stand);
    const char *said = ask(&stand, NOW);
    ck_assert_msg(strstr(said, absents[_i].want) != NULL, "%s: %s", absents[_i].name, said);
    ck_assert_msg(strstr(said, absents[_i].command) != NULL, "%s: %s", absents[_i].name, said);
    stand_stop(&stand);
}
END_TEST

/* Each run gives the next number. */
#define COUNT                                                                                      \
    "n=$(cat $DIR/n 2>/dev/null || echo 0); n=$((n+1)); echo $n >$DIR/n.new; "                     \
    "mv $DIR/n.new $DIR/n; "

START_TEST(a_plugin_is_run_again_when_needed)
{
    struct stand stand = {
        .config = plugin_config(COUNT "echo '{" KIND ",\"status\":{\"token\":\"'$n'\","
                                      "\"expirationTimestamp\":\"2023-11-14T22:23:20Z\"}}'")};
    int64_t expiry = ek_time_parse("2023-11-14T22:23:20Z");
    struct ek_auth *used = NULL;

    setenv("DIR", dir, 1);
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, expiry - 1), "Bearer 1");
    ck_assert_str_eq(ask(&stand, expiry), "pending");
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, expiry - 1), "Bearer 2");
    /* A refusal leads to a run, and one that is late to none. */
    ck_assert_int_eq(ek_credentials_get(stand.credentials, NOW, &used, NULL), EK_CREDENTIALS_READY);
    ck_assert(ek_credentials_refused(stand.credentials, used));
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    wait_change(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "Bearer 3");
    ck_assert(ek_credentials_refused(stand.credentials, used));
    ck_assert_str_eq(ask(&stand, NOW), "Bearer 3");
    ek_auth_unref(used);
    stand_stop(&stand);
}
END_TEST

START_TEST(a_failed_plugin_is_not_run_at_once_again)
{
    struct stand stand = {.config = plugin_config(COUNT "echo $n >&2; exit 1")};

    setenv("DIR", dir, 1);
    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    wait_change(&stand);
    ck_assert_msg(strstr(ask(&stand, NOW), "code 1: 1"), "%s", ask(&stand, NOW));
    ck_assert_msg(strstr(ask(&stand, NOW + 5000), "code 1: 1"), "%s", ask(&stand, NOW + 5000));
    ck_assert_str_eq(ask(&stand, NOW + 120000), "pending");
    wait_change(&stand);
    ck_assert_msg(strstr(ask(&stand, NOW + 120000), "code 1: 2"), "%s", ask(&stand, NOW + 120000));
    stand_stop(&stand);
}
END_TEST

START_TEST(closing_while_a_plugin_runs)
{
    struct stand stand = {.config = plugin_config("sleep 1000")};

    stand_start(&stand);
    ck_assert_str_eq(ask(&stand, NOW), "pending");
    for (int i = 0; i < _i; i++)
        uv_run(&stand.loop, UV_RUN_NOWAIT);
    stand_stop(&stand);
}
END_TEST

struct run_result {
    int n_done, closed;
    struct ek_err err;
};

static void on_run(void *ctx, const struct ek_exec_credential *credential, const struct ek_err *err)
{
    struct run_result *result = ctx;

    result->n_done++;
    ck_assert_int_eq(credential == NULL, err != NULL);
    if (err)
        result->err = *err;
}

static void on_run_closed(void *ctx)
{
    struct run_result *result = ctx;
    result->closed = 1;
}

/* Also when a child of the plugin keeps the pipes open, and when it closes them and stays. */
static const char *const slow_plugins[] = {"sleep 1000", "sleep 1000 & wait",
                                           "exec >/dev/null 2>&1; sleep 1000"};

START_TEST(a_slow_plugin_is_ended)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = plugin_config(slow_plugins[_i]);
    struct run_result result = {0};
    uv_loop_t loop;

    uv_loop_init(&loop);
    struct ek_exec_run *run = ek_exec_run_start(&loop, config, NULL, 100, on_run, &result);
    while (!result.n_done)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(result.err.code, EK_E_TIMEOUT);
    ck_assert_msg(strstr(result.err.message, "did not finish in time"), "%s", result.err.message);
    ek_exec_run_close(run, on_run_closed, &result);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(result.closed, 1);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

START_TEST(what_plugins_are_told)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = plugin_config("true");
    EK_AUTOFREE char *plain = ek_exec_info_format(config, "PEM");

    ck_assert_str_eq(plain, "{" KIND ",\"spec\":{\"interactive\":false}}");
    config->exec->provide_cluster_info = true;
    config->exec->cluster_config = ek_xstrdup("{\"region\":\"x\"}");
    config->tls_server_name = ek_xstrdup("api");
    EK_AUTOFREE char *full = ek_exec_info_format(config, "PEM");
    ck_assert_str_eq(full, "{" KIND ",\"spec\":{\"cluster\":{\"server\":\"https://10.0.0.1:6443\","
                           "\"tls-server-name\":\"api\",\"certificate-authority-data\":\"UEVN\","
                           "\"config\":{\"region\":\"x\"}},\"interactive\":false}}");
}
END_TEST

/* A server that lets one token in: the one in *ctx. */
struct door {
    char token[64];
    atomic_int n_refused;
};

static void serve(void *ctx, const struct testserver_request *request, struct testserver_conn *conn)
{
    struct door *door = ctx;
    char given[256], want[128];

    snprintf(want, sizeof want, "Bearer %s", door->token);
    testserver_header(request, "Authorization", given, sizeof given);
    if (!strcmp(given, want)) {
        testserver_reply(conn, 200, "", request->client_name);
        return;
    }
    atomic_fetch_add(&door->n_refused, 1);
    testserver_reply(
        conn, 401, "",
        "{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}");
}

static const struct {
    const char *name;
    bool plugin;
    const char
        *second; /* what the file or plugin gives after the first token; NULL: a static one */
    int code, n_refused;
} doors[] = {
    {"a rotated token file", false, "open", 0, 1},
    {"a token file that stays wrong", false, "shut", EK_E_UNAUTHORIZED, 2},
    {"a plugin's second token", true, "open", 0, 1},
    {"a plugin that stays wrong", true, "shut", EK_E_UNAUTHORIZED, 2},
    {"a fixed token", false, NULL, EK_E_UNAUTHORIZED, 1},
};

START_TEST(a_refused_token_is_renewed_once)
{
    struct testpki_cert authority = testpki_authority("a");
    struct testpki_cert leaf = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "s", .names = "IP:127.0.0.1"});
    struct door door = {.token = "open"};
    struct testserver *server = testserver_start(&(struct testserver_options){
        .handler = serve, .ctx = &door, .cert = leaf.cert, .key = leaf.key});
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    EK_AUTOFREE char *lines = ek_xasprintf(COUNT "t=old; [ $n -gt 1 ] && t=%s; echo '{" KIND
                                                 ",\"status\":{\"token\":\"'$t'\"}}'",
                                           doors[_i].second);
    struct clientbench bench;
    struct outcome out;

    setenv("DIR", dir, 1);
    config = doors[_i].plugin ? plugin_config(lines) : ek_client_config_new();
    ek_free(config->server);
    config->server = ek_xasprintf("https://127.0.0.1:%d", testserver_port(server));
    config->ca_data = ek_xstrdup(authority.cert);
    if (!doors[_i].plugin && doors[_i].second)
        config->token_file = put("token", "old", 0600);
    else if (!doors[_i].plugin)
        config->token = ek_xstrdup("old");
    clientbench_start(&bench, config);
    if (config->token_file)
        replace("token", doors[_i].second);
    clientbench_do(&bench, &(struct ek_request){.path = "/version"}, &out);
    ck_assert_msg(out.err.code == doors[_i].code, "%s: %d %s", doors[_i].name, out.err.code,
                  out.err.message);
    ck_assert_msg(atomic_load(&door.n_refused) == doors[_i].n_refused, "%s: %d", doors[_i].name,
                  atomic_load(&door.n_refused));
    outcome_done(&out);
    clientbench_stop(&bench);
    testserver_stop(server);
    testpki_done(&authority);
    testpki_done(&leaf);
}
END_TEST

START_TEST(a_failing_plugin_fails_the_requests)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config =
        plugin_config("echo not logged in >&2; exit 1");
    struct clientbench bench;
    struct outcome out[3];

    clientbench_start(&bench, config);
    for (int i = 0; i < 3; i++)
        clientbench_send(&bench, &(struct ek_request){.path = "/version"}, &out[i]);
    for (int i = 0; i < 3; i++) {
        clientbench_run_until(&bench, &out[i].n_done);
        ck_assert_int_eq(out[i].err.code, EK_E_UNAUTHORIZED);
        ck_assert_msg(strstr(out[i].err.message, "not logged in"), "%s", out[i].err.message);
        outcome_done(&out[i]);
    }
    clientbench_stop(&bench);
}
END_TEST

START_TEST(a_request_does_not_wait_for_ever_for_a_plugin)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = plugin_config("sleep 1000");
    struct clientbench bench;
    struct outcome out, cancelled;

    clientbench_start(&bench, config);
    ek_call_cancel(clientbench_send(&bench, &(struct ek_request){.path = "/x"}, &cancelled));
    clientbench_do(&bench, &(struct ek_request){.path = "/version", .timeout_ms = 100}, &out);
    ck_assert_int_eq(out.err.code, EK_E_TIMEOUT);
    ck_assert_msg(strstr(out.err.message, "no credentials in time"), "%s", out.err.message);
    ck_assert_int_eq(cancelled.n_done, 0);
    outcome_done(&out);
    clientbench_stop(&bench);
}
END_TEST

START_TEST(a_plugins_certificate_is_shown)
{
    struct testpki_cert authority = testpki_authority("a");
    struct testpki_cert leaf = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "s", .names = "IP:127.0.0.1"});
    struct testpki_cert jane =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "jane"});
    struct door door = {.token = "open"};
    struct testserver *server =
        testserver_start(&(struct testserver_options){.handler = serve,
                                                      .ctx = &door,
                                                      .cert = leaf.cert,
                                                      .key = leaf.key,
                                                      .client_ca = authority.cert,
                                                      .require_client = true});
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *status = yyjson_mut_obj(doc);
    struct clientbench bench;
    struct outcome out;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "ExecCredential");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", V1);
    yyjson_mut_obj_add_val(doc, root, "status", status);
    yyjson_mut_obj_add_str(doc, status, "token", "open");
    yyjson_mut_obj_add_str(doc, status, "clientCertificateData", jane.cert);
    yyjson_mut_obj_add_str(doc, status, "clientKeyData", jane.key);
    char *json = yyjson_mut_write(doc, 0, NULL);
    EK_AUTOFREE char *document = put("document", json, 0600);
    EK_AUTOFREE char *lines = ek_xasprintf("cat %s", document);
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = plugin_config(lines);
    ek_free(config->server);
    config->server = ek_xasprintf("https://127.0.0.1:%d", testserver_port(server));
    config->ca_data = ek_xstrdup(authority.cert);
    clientbench_start(&bench, config);
    clientbench_do(&bench, &(struct ek_request){.path = "/version"}, &out);
    ck_assert_msg(out.err.code == 0, "%s", out.err.message);
    ck_assert_str_eq(out.body, "jane");
    outcome_done(&out);
    clientbench_stop(&bench);
    testserver_stop(server);
    free(json);
    yyjson_mut_doc_free(doc);
    testpki_done(&authority);
    testpki_done(&leaf);
    testpki_done(&jane);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("credentials");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, what_never_changes, 0, (int)EK_ARRAY_SIZE(statics));
    tcase_add_test(tcase, a_token_file_is_read_again);
    tcase_add_loop_test(tcase, odd_token_files_are_refused, 0, (int)EK_ARRAY_SIZE(odd_tokens));
    tcase_add_test(tcase, certificate_files_are_read_again);
    tcase_add_test(tcase, closing_while_files_are_read);
    tcase_add_loop_test(tcase, what_plugins_say, 0, (int)EK_ARRAY_SIZE(plugins));
    tcase_add_loop_test(tcase, plugins_that_do_not_start, 0, (int)EK_ARRAY_SIZE(absents));
    tcase_add_test(tcase, a_plugin_is_run_again_when_needed);
    tcase_add_test(tcase, a_failed_plugin_is_not_run_at_once_again);
    tcase_add_loop_test(tcase, closing_while_a_plugin_runs, 0, 3);
    tcase_add_loop_test(tcase, a_slow_plugin_is_ended, 0, (int)EK_ARRAY_SIZE(slow_plugins));
    tcase_add_test(tcase, what_plugins_are_told);
    tcase_add_loop_test(tcase, a_refused_token_is_renewed_once, 0, (int)EK_ARRAY_SIZE(doors));
    tcase_add_test(tcase, a_failing_plugin_fails_the_requests);
    tcase_add_test(tcase, a_request_does_not_wait_for_ever_for_a_plugin);
    tcase_add_test(tcase, a_plugins_certificate_is_shown);
    return ek_test_run("credentials", tcase);
}
