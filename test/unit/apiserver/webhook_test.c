/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that admission webhooks allow, deny, change or fail to answer: over real sockets, with a
 * scripted TLS server as all the webhooks. The path of the URL selects the behaviour. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "test/apiserver/shell.h"
#include "test/support/clientbench.h"
#include "test/support/shellbench.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

#define CM      "/api/v1/namespaces/default/configmaps"
#define CONFIGS "/apis/admissionregistration.k8s.io/v1/"

static struct ek_apiserver *core;
static struct ek_apishell *shell;
static struct ek_client_config *config;
static struct clientbench bench;
static struct testserver *hooks;
static struct testpki_cert authority, leaf;
static char *bundle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char asked[512];      /* paths of the calls, in order */
static char last_body[8192]; /* of the last call */

static void note(const struct testserver_request *request)
{
    pthread_mutex_lock(&lock);
    size_t len = strlen(asked);
    snprintf(asked + len, sizeof(asked) - len, "%.*s ", (int)strcspn(request->target, "?"),
             request->target);
    snprintf(last_body, sizeof(last_body), "%.*s", (int)request->body_size, request->body);
    pthread_mutex_unlock(&lock);
}

/* What was noted, copied for the test's thread. */
static const char *calls(void)
{
    static char copy[sizeof(asked)];

    pthread_mutex_lock(&lock);
    memcpy(copy, asked, sizeof(copy));
    pthread_mutex_unlock(&lock);
    return copy;
}

static const char *review(void)
{
    static char copy[sizeof(last_body)];

    pthread_mutex_lock(&lock);
    memcpy(copy, last_body, sizeof(copy));
    pthread_mutex_unlock(&lock);
    return copy;
}

static void forget(void)
{
    pthread_mutex_lock(&lock);
    *asked = '\0';
    pthread_mutex_unlock(&lock);
}

/* Answers a review; rest follows the uid. */
static void reply_review(struct testserver_conn *conn, const char *uid, const char *rest)
{
    char body[2048];

    snprintf(body, sizeof(body),
             "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{"
             "\"uid\":\"%s\",%s}}",
             uid, rest);
    testserver_reply(conn, 200, "Content-Type: application/json\r\n", body);
}

static void reply_patch(struct testserver_conn *conn, const char *uid, const char *patch)
{
    char rest[1024], *coded = ek_base64_encode(patch, strlen(patch));

    snprintf(rest, sizeof(rest), "\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"%s\"",
             coded);
    reply_review(conn, uid, rest);
    ek_free(coded);
}

static void on_request(void *ctx, const struct testserver_request *request,
                       struct testserver_conn *conn)
{
    static const struct {
        const char *path, *rest;
    } rows[] = {
        {"/allow", "\"allowed\":true,\"warnings\":[\"soon gone\"]"},
        {"/deny", "\"allowed\":false,\"status\":{\"message\":\"not \\\"today\\\"\"}"},
        {"/teapot", "\"allowed\":false,\"status\":{\"code\":418,\"reason\":\"Teapot\"}"},
        {"/mute", "\"allowed\":false"},
        {"/untyped", "\"allowed\":true,\"patch\":\"W10=\""},
    };
    const char *target = request->target;
    const char *at = strstr(request->body, "\"request\":{\"uid\":\"");
    char uid[64];

    (void)ctx;
    note(request);
    snprintf(uid, sizeof(uid), "%.36s", at ? at + 18 : "");
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        if (strncmp(target, rows[i].path, strlen(rows[i].path)) == 0)
            reply_review(conn, uid, rows[i].rest);
    }
    if (strncmp(target, "/one", 4) == 0)
        reply_patch(conn, uid, "[{\"op\":\"add\",\"path\":\"/data/order\",\"value\":\"one\"}]");
    else if (strncmp(target, "/two", 4) == 0)
        reply_patch(conn, uid,
                    "[{\"op\":\"test\",\"path\":\"/data/order\",\"value\":\"one\"},{\"op\":"
                    "\"replace\",\"path\":\"/data/order\",\"value\":\"two\"}]");
    else if (strncmp(target, "/rename", 7) == 0)
        reply_patch(conn, uid,
                    "[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"other\"}]");
    else if (strncmp(target, "/nopatch", 8) == 0)
        reply_patch(conn, uid, "[{\"op\":\"remove\",\"path\":\"/data/missing\"}]");
    else if (strncmp(target, "/other-uid", 10) == 0)
        reply_review(conn, "somebody", "\"allowed\":true");
    else if (strncmp(target, "/garbage", 8) == 0)
        testserver_reply(conn, 200, "", "\x01{]");
    else if (strncmp(target, "/broken", 7) == 0)
        testserver_reply(conn, 500, "", "no");
    else if (strncmp(target, "/empty", 6) == 0)
        testserver_reply(conn, 200, "", "{}");
    else if (strncmp(target, "/stall", 6) == 0)
        testserver_stall(conn);
}

static void start_server(struct ek_apiserver_peer **ret_peer)
{
    const struct ek_apiserver_config cc = {.seed = 1};
    const struct ek_apiserver_peer_config cp_a = {
        .name = "cp-a", .address = "127.0.0.1", .binary = "1.36.2"};

    core = ek_apiserver_new(&cc, 0);
    ek_apiserver_add_token(core, "secret", "admin", "system:masters", NULL);
    ck_assert_int_eq(ek_apiserver_add_peer(core, &cp_a, ret_peer, NULL), 0);
}

static void setup(void)
{
    const struct testpki_spec spec = {.common_name = "hooks", .names = "IP:127.0.0.1"};
    struct ek_apiserver_peer *peer;

    authority = testpki_authority("hooks-ca");
    leaf = testpki_issue(&authority, &spec);
    bundle = ek_base64_encode(authority.cert, strlen(authority.cert));
    const struct testserver_options options = {
        .handler = on_request, .cert = leaf.cert, .key = leaf.key};
    hooks = testserver_start(&options);
    start_server(&peer);
    config = ek_client_config_new();
    config->server = ek_xstrdup("https://127.0.0.1:1");
    config->token = ek_xstrdup("secret");
    shell = shellbench_start(&bench, config, core, peer, NULL);
}

static void teardown(void)
{
    if (shell)
        ek_apishell_close(shell, NULL, NULL);
    clientbench_stop(&bench);
    testserver_stop(hooks);
    ek_apiserver_free(core);
    ek_client_config_free(config);
    testpki_done(&leaf);
    testpki_done(&authority);
    ek_free(bundle);
}

static int send_json(const char *method, const char *path, const char *body, struct outcome *out)
{
    memset(out, 0, sizeof(*out));
    clientbench_do(&bench,
                   &(struct ek_request){.method = method,
                                        .path = path,
                                        .content_type = body ? "application/json" : NULL,
                                        .body = body,
                                        .body_size = body ? strlen(body) : 0,
                                        .no_retry = true},
                   out);
    return out->status;
}

static int ask(const char *method, const char *path, const char *body)
{
    struct outcome out;
    int status = send_json(method, path, body, &out);

    outcome_done(&out);
    return status;
}

/* Registers one webhook "<name>.example.com" for ConfigMaps, at path or (NULL) behind a Service;
 * more is put in. */
static void hook(bool mutating, const char *name, const char *path, const char *more)
{
    char *url = ek_xasprintf("\"url\":\"https://127.0.0.1:%u%s\",\"caBundle\":\"%s\"",
                             testserver_port(hooks), path ? path : "", bundle);
    char *body = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s\"},\"webhooks\":[{\"name\":\"%s.example.com\","
        "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"],\"clientConfig\":{%s},"
        "\"rules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],"
        "\"resources\":[\"configmaps\"]}]%s}]}",
        name, name, path ? url : "\"service\":{\"name\":\"a\",\"namespace\":\"default\"}", more);

    ck_assert_int_eq(ask("POST",
                         mutating ? CONFIGS "mutatingwebhookconfigurations"
                                  : CONFIGS "validatingwebhookconfigurations",
                         body),
                     201);
    ek_free(url);
    ek_free(body);
}

#define SIMPLE "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"k\":\"v\"}}"
#define RULE(ops, groups, versions, resources)                                                     \
    ",\"rules\":[{\"operations\":[\"" ops "\"],\"apiGroups\":[\"" groups                           \
    "\"],\"apiVersions\":[\"" versions "\"],\"resources\":[\"" resources "\"]}]"
#define IGNORE ",\"failurePolicy\":\"Ignore\""
#define FAILED "failed calling webhook \\\"w.example.com\\\": "

static const struct {
    const char *name;
    bool mutating;
    const char *path, *more;
    int status;
    const char *says; /* part of the answer */
    bool called;
} creates[] = {
    {"allow", false, "/allow", "", 201, "\"k\":\"v\"", true},
    {"deny", false, "/deny", "", 403,
     "admission webhook \\\"w.example.com\\\" denied the request: not \\\"today\\\"", true},
    {"deny in phase one", true, "/deny", "", 403, "\"reason\":\"Forbidden\"", true},
    {"deny with a code", false, "/teapot", "", 418, "the request: Teapot\",\"reason\":\"Teapot\"",
     true},
    {"deny without a word", false, "/mute", "", 403, "denied the request without explanation",
     true},
    {"deny heeds no policy", false, "/mute", IGNORE, 403, "denied", true},
    {"mutate", true, "/one", "", 201, "\"order\":\"one\"", true},
    {"a validating one changes nothing", false, "/one", "", 201, "\"data\":{\"k\":\"v\"}", true},
    {"names stay", true, "/rename", "", 201, "\"name\":\"a\"", true},
    {"a patch that does not apply", true, "/nopatch", IGNORE, 500, "Internal error occurred", true},
    {"a patch without type", true, "/untyped", "", 500, "but not response.patchType", true},
    {"timeout", false, "/stall", ",\"timeoutSeconds\":1", 500,
     FAILED "failed to call webhook: ", true},
    {"timeout ignored", true, "/stall", ",\"timeoutSeconds\":1" IGNORE, 201, "\"k\":\"v\"", true},
    {"wrong uid", false, "/other-uid", "", 500,
     FAILED "received invalid webhook response: expected response.uid=", true},
    {"wrong uid ignored", false, "/other-uid", IGNORE, 201, "", true},
    {"garbage", false, "/garbage", "", 500, FAILED "failed to call webhook: ", true},
    {"garbage ignored", true, "/garbage", IGNORE, 201, "", true},
    {"no review", false, "/empty", "", 500, "expected webhook response of admission.k8s.io/v1",
     true},
    {"broken", false, "/broken", "", 500, FAILED "failed to call webhook: ", true},
    {"service", false, NULL, "", 500, FAILED "failed to call webhook: ", false},
    {"service ignored", false, NULL, IGNORE, 201, "", false},
};

START_TEST(a_create_meets_a_webhook)
{
    const char *name = creates[_i].name;
    struct outcome out;

    hook(creates[_i].mutating, "w", creates[_i].path, creates[_i].more);
    int status = send_json("POST", CM, SIMPLE, &out);
    ck_assert_msg(status == creates[_i].status, "%s: %d %s", name, status, out.body);
    ck_assert_msg(strstr(out.body, creates[_i].says), "%s: %s", name, out.body);
    ck_assert_msg((*calls() != '\0') == creates[_i].called, "%s: asked %s", name, calls());
    outcome_done(&out);
    /* What was refused is not there. */
    ck_assert_msg(ask("GET", CM "/a", NULL) == (status == 201 ? 200 : 404), "%s", name);
}
END_TEST

/* Rules and selectors of a webhook that denies, and whether a create of SIMPLE gets there. */
static const struct {
    const char *name, *rules, *more;
    bool called;
} matches[] = {
    {"all stars", RULE("*", "*", "*", "*"), "", true},
    {"both stars", RULE("*", "*", "*", "*/*"), "", true},
    {"exact", RULE("CREATE", "", "v1", "configmaps"), "", true},
    {"other operation", RULE("UPDATE", "*", "*", "*"), "", false},
    {"other group", RULE("*", "apps", "*", "*"), "", false},
    {"other version", RULE("*", "*", "v2", "*"), "", false},
    {"other resource", RULE("*", "*", "*", "secrets"), "", false},
    {"longer name", RULE("*", "*", "*", "configmapsets"), "", false},
    {"subresource", RULE("*", "*", "*", "configmaps/status"), "", false},
    {"subresources", RULE("*", "*", "*", "configmaps/*"), "", true},
    {"objects", RULE("*", "*", "*", "*"), ",\"objectSelector\":{\"matchLabels\":{\"l\":\"1\"}}",
     true},
    {"other objects", RULE("*", "*", "*", "*"),
     ",\"objectSelector\":{\"matchLabels\":{\"l\":\"2\"}}", false},
    {"namespace", RULE("*", "*", "*", "*"),
     ",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"default\"}}",
     true},
    {"other namespace", RULE("*", "*", "*", "*"),
     ",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"x\"}}", false},
};

START_TEST(only_matching_writes_are_told)
{
    char *body = ek_xasprintf(
        "{\"metadata\":{\"name\":\"w\"},\"webhooks\":[{\"name\":\"w.example.com\",\"clientConfig\":"
        "{\"url\":\"https://127.0.0.1:%u/deny\",\"caBundle\":\"%s\"}%s%s}]}",
        testserver_port(hooks), bundle, matches[_i].rules, matches[_i].more);

    ck_assert_int_eq(ask("POST", CONFIGS "validatingwebhookconfigurations", body), 201);
    ek_free(body);
    int status = ask("POST", CM, SIMPLE);
    ck_assert_msg(status == (matches[_i].called ? 403 : 201), "%s: %d", matches[_i].name, status);
    ck_assert_msg((*calls() != '\0') == matches[_i].called, "%s", matches[_i].name);
    /* The configuration itself can be taken away, whatever it says. */
    ck_assert_int_eq(ask("DELETE", CONFIGS "validatingwebhookconfigurations/w", NULL), 200);
    ck_assert_msg(ask("POST", CM, "{\"metadata\":{\"name\":\"b\"}}") == 201, "%s",
                  matches[_i].name);
}
END_TEST

START_TEST(names_give_the_order_and_mutating_comes_first)
{
    struct outcome out;

    hook(false, "a", "/allow", "");
    hook(true, "c", "/two", "");
    hook(true, "b", "/one", "");
    ck_assert_int_eq(send_json("POST", CM, SIMPLE, &out), 201);
    ck_assert_ptr_nonnull(strstr(out.body, "\"order\":\"two\""));
    ck_assert_str_eq(out.warning, "soon gone");
    ck_assert_str_eq(calls(), "/one /two /allow ");
    /* The last one has seen what the others made of it. */
    ck_assert_ptr_nonnull(strstr(review(), "\"order\":\"two\""));
    outcome_done(&out);
}
END_TEST

START_TEST(a_review_tells_the_whole_write)
{
    static const char *const updated[] = {
        "\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"ConfigMap\"}",
        "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"configmaps\"}",
        "\"name\":\"a\",\"namespace\":\"default\",\"operation\":\"UPDATE\"",
        "\"userInfo\":{\"username\":\"admin\",\"groups\":[\"system:masters\"",
        "\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"",
        "\"data\":{\"k\":\"w\"}",
        "\"oldObject\":{\"kind\":\"ConfigMap\"",
        "\"data\":{\"k\":\"v\"}",
        "\"dryRun\":true",
    };

    ck_assert_int_eq(ask("POST", CM, SIMPLE), 201);
    hook(false, "w", "/allow", "");
    ck_assert_int_eq(
        ask("PUT", CM "/a?dryRun=All", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"w\"}}"),
        200);
    for (size_t i = 0; i < EK_ARRAY_SIZE(updated); i++)
        ck_assert_msg(strstr(review(), updated[i]), "no %s in %s", updated[i], review());
    ck_assert_int_eq(ask("DELETE", CM "/a", NULL), 200);
    ck_assert_ptr_nonnull(strstr(review(), "\"operation\":\"DELETE\""));
    ck_assert_ptr_nonnull(strstr(review(), "\"object\":null,\"oldObject\":{"));
    ck_assert_int_eq(ask("GET", CM "/a", NULL), 404);
}
END_TEST

START_TEST(a_denied_delete_deletes_nothing)
{
    ck_assert_int_eq(ask("POST", CM, SIMPLE), 201);
    ck_assert_int_eq(ask("POST", CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
    hook(false, "w", "/deny", "");
    ck_assert_int_eq(ask("DELETE", CM "/a", NULL), 403);
    ck_assert_int_eq(ask("DELETE", CM, NULL), 403);
    ck_assert_int_eq(ask("GET", CM "/a", NULL), 200);
    ck_assert_int_eq(ask("DELETE", CONFIGS "validatingwebhookconfigurations/w", NULL), 200);
    hook(false, "w", "/allow", "");
    forget();
    ck_assert_int_eq(ask("DELETE", CM, NULL), 200);
    ck_assert_str_eq(calls(), "/allow /allow ");
    ck_assert_int_eq(ask("GET", CM "/b", NULL), 404);
}
END_TEST

START_TEST(an_unknown_authority_is_not_trusted)
{
    ek_free(bundle);
    bundle = ek_base64_encode(ek_apishell_ca(shell), strlen(ek_apishell_ca(shell)));
    hook(false, "w", "/allow", "");
    ck_assert_int_eq(ask("POST", CM, SIMPLE), 500);
    ck_assert_str_eq(calls(), "");
}
END_TEST

/* While one write waits, others go on; the server may end meanwhile. */
START_TEST(others_go_on_and_closing_ends_the_wait)
{
    struct outcome waiting = {0};

    hook(false, "w", "/stall", ",\"objectSelector\":{\"matchLabels\":{\"l\":\"1\"}}");
    clientbench_send(&bench,
                     &(struct ek_request){.method = "POST",
                                          .path = CM,
                                          .content_type = "application/json",
                                          .body = SIMPLE,
                                          .body_size = strlen(SIMPLE),
                                          .no_retry = true},
                     &waiting);
    while (testserver_requests(hooks) == 0)
        ck_assert_int_eq(ask("GET", CM, NULL), 200);
    ck_assert_int_eq(ask("POST", CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
    ck_assert_int_eq(waiting.n_done, 0);
    ek_apishell_close(shell, NULL, NULL);
    shell = NULL;
    clientbench_run_until(&bench, &waiting.n_done);
    ck_assert_int_eq(waiting.status, 0);
    outcome_done(&waiting);
}
END_TEST

/* The object changes while the webhook works: it gets another review, of the present object. */
START_TEST(an_overtaken_write_is_asked_about_anew)
{
    static const char patch[] = "{\"data\":{\"mine\":\"1\"}}";
    struct outcome waiting = {0}, out;

    ck_assert_int_eq(ask("POST", CM, SIMPLE), 201);
    hook(true, "w", "/stall", ",\"timeoutSeconds\":1" IGNORE);
    hook(true, "x", "/allow", "");
    clientbench_send(&bench,
                     &(struct ek_request){.method = "PATCH",
                                          .path = CM "/a",
                                          .content_type = "application/merge-patch+json",
                                          .body = patch,
                                          .body_size = strlen(patch),
                                          .no_retry = true},
                     &waiting);
    while (testserver_requests(hooks) == 0)
        ck_assert_int_eq(ask("GET", CM, NULL), 200);
    static const char other[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\","
        "\"resourceVersion\":\"900\"},\"data\":{\"theirs\":\"1\"}}";
    ck_assert_int_eq(ek_apiserver_seed(core, "", "v1", "configmaps", other, strlen(other), NULL),
                     0);
    clientbench_run_until(&bench, &waiting.n_done);
    ck_assert_int_eq(waiting.status, 200);
    ck_assert_ptr_nonnull(strstr(waiting.body, "\"data\":{\"theirs\":\"1\",\"mine\":\"1\"}"));
    ck_assert_str_eq(calls(), "/stall /stall /allow ");
    outcome_done(&waiting);
    ck_assert_int_eq(send_json("GET", CM "/a", NULL, &out), 200);
    outcome_done(&out);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_create_meets_a_webhook, 0, (int)EK_ARRAY_SIZE(creates));
    tcase_add_loop_test(tcase, only_matching_writes_are_told, 0, (int)EK_ARRAY_SIZE(matches));
    tcase_add_test(tcase, names_give_the_order_and_mutating_comes_first);
    tcase_add_test(tcase, a_review_tells_the_whole_write);
    tcase_add_test(tcase, a_denied_delete_deletes_nothing);
    tcase_add_test(tcase, an_unknown_authority_is_not_trusted);
    tcase_add_test(tcase, others_go_on_and_closing_ends_the_wait);
    tcase_add_test(tcase, an_overtaken_write_is_asked_about_anew);
    return ek_test_run("apiserver_webhook", tcase);
}
