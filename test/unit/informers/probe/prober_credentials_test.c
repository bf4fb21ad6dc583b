/* SPDX-License-Identifier: Apache-2.0 */
/* What the prober shows to whom, and where its tokens come from. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informers/client/kubeconfig.h"
#include "test/support/proberscene.h"
#include "test/support/suite.h"

enum proof { API_NAME, ITS_IP, FOREIGN_CA };

/* The table in deploy/README.md, "Who gets which credential": each row a server that notes what it
 * is shown. shown: "own", "probe", "" for a request without either; NULL for no request at all. */
static const struct {
    const char *name;
    const char *component;
    enum ek_probe_credential credential;
    enum proof proof;
    bool insecure, no_authority;
    const char *shown;
    int code; /* of reach */
    bool proven;
} rows[] = {
    {"an API server", "kube-apiserver", EK_PROBE_OWN, API_NAME, false, false, "own", 0, true},
    {"an API server that nothing trusted names", "kube-apiserver", EK_PROBE_NOT_CONTACTED, API_NAME,
     false, false, NULL, 0, false},
    {"a node's certificate at an API server's address", "kube-apiserver", EK_PROBE_OWN, ITS_IP,
     false, false, NULL, EK_E_TLS, false},
    {"another authority's kubernetes.default.svc", "kube-apiserver", EK_PROBE_OWN, FOREIGN_CA,
     false, false, NULL, EK_E_TLS, false},
    {"the attack: a mirror pod of a scheduler, with a node's certificate for its IP",
     "kube-scheduler", EK_PROBE_NOT_CONTACTED, ITS_IP, false, false, NULL, 0, false},
    {"a scheduler where an API server has proven itself", "kube-scheduler", EK_PROBE_METRICS,
     ITS_IP, false, false, "probe", 0, false},
    {"a controller manager, likewise", "kube-controller-manager", EK_PROBE_METRICS, ITS_IP, false,
     false, "probe", 0, false},
    {"an API server's certificate does not do for a scheduler", "kube-scheduler", EK_PROBE_METRICS,
     API_NAME, false, false, NULL, EK_E_TLS, false},
    {"a scheduler never gets our own, whoever asks for it", "kube-scheduler", EK_PROBE_OWN, ITS_IP,
     false, false, NULL, 0, false},
    {"insecure-skip-tls-verify: an API server read from the cluster", "kube-apiserver",
     EK_PROBE_OWN, API_NAME, true, false, NULL, EK_E_TLS, false},
    {"insecure-skip-tls-verify: a scheduler", "kube-scheduler", EK_PROBE_METRICS, ITS_IP, true,
     false, NULL, EK_E_TLS, false},
    {"no authority: a scheduler", "kube-scheduler", EK_PROBE_METRICS, ITS_IP, false, true, NULL,
     EK_E_TLS, false},
    {"no authority: the system's prove no API server", "kube-apiserver", EK_PROBE_OWN, API_NAME,
     false, true, NULL, EK_E_TLS, false},
};

static void make_row(struct scene *scene, struct peer *peer, size_t i)
{
    struct testpki_cert foreign = testpki_authority("cluster");
    struct testpki_cert foreign_leaf = testpki_issue(
        &foreign, &(struct testpki_spec){.common_name = "kube-apiserver",
                                         .names = "DNS:kubernetes.default.svc,IP:127.0.0.1"});

    proberscene_prepare(scene);
    proberscene_start_peer(scene, peer,
                           rows[i].proof == API_NAME ? &scene->leaf
                           : rows[i].proof == ITS_IP ? &scene->other_leaf
                                                     : &foreign_leaf,
                           NULL);
    /* A kubeconfig with everything that may be in one. */
    scene->config->cert_data = ek_xstrdup(scene->client.cert);
    scene->config->key_data = ek_xstrdup(scene->client.key);
    scene->config->as_user = ek_xstrdup("jane");
    if (rows[i].insecure || rows[i].no_authority) {
        ek_free(scene->config->ca_data);
        scene->config->ca_data = NULL;
    }
    scene->config->insecure_skip_tls_verify = rows[i].insecure;
    proberscene_start_prober(scene);
    testpki_done(&foreign);
    testpki_done(&foreign_leaf);
}

START_TEST(who_is_shown_what)
{
    const char *name = rows[_i].name, *shown = rows[_i].shown;
    struct scene scene;
    struct peer peer = {0};

    make_row(&scene, &peer, (size_t)_i);
    struct ek_prober_target target = {rows[_i].component, peer.address, rows[_i].credential, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    while (!ek_prober_is_synced(scene.prober))
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    unsigned requests = atomic_load(&peer.requests), own = atomic_load(&peer.own);
    ck_assert_msg((requests > 0) == (shown != NULL), "%s: %u requests", name, requests);
    ck_assert_msg(shown || !testserver_handshakes(peer.server), "%s: our certificate was shown",
                  name);
    ck_assert_msg(own == (shown && !strcmp(shown, "own") ? requests : 0), "%s: own %u", name, own);
    ck_assert_msg(atomic_load(&peer.client_certs) == own, "%s: our certificate", name);
    ck_assert_msg(atomic_load(&peer.probe) == (shown && !strcmp(shown, "probe") ? requests : 0),
                  "%s: probe token", name);
    bool useless =
        rows[_i].insecure || rows[_i].no_authority || rows[_i].credential == EK_PROBE_OWN;
    ck_assert_msg(!useless || !testserver_connections(scene.issuer.server),
                  "%s: a token was requested that nobody may be shown", name);
    const struct ek_probe *probe = proberscene_probe(&scene, peer.address);
    ck_assert_msg((probe ? probe->reach.error.code : 0) == rows[_i].code, "%s: %s", name,
                  probe ? probe->reach.error.message : "");
    ck_assert_msg((probe && probe->proven) == rows[_i].proven, "%s: proven", name);
    ck_assert_msg(!probe || !strstr(probe->reach.error.message, "token"), "%s: %s", name,
                  probe ? probe->reach.error.message : "");
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

/* Even where nothing is verified, the server that the configuration names gets its credentials, as
 * kubectl sends them; that it answers proves nothing. */
START_TEST(an_insecure_kubeconfig_names_one_server)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_prepare(&scene);
    proberscene_start_peer(&scene, &peer, &scene.other_leaf, NULL);
    ek_free(scene.config->ca_data);
    ek_free(scene.config->server);
    scene.config->ca_data = NULL;
    scene.config->server = ek_xasprintf("https://%s", peer.address);
    scene.config->insecure_skip_tls_verify = true;
    proberscene_start_prober(&scene);
    struct ek_prober_target target = {"kube-apiserver", peer.address, EK_PROBE_OWN, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    ck_assert_uint_gt(atomic_load(&peer.own), 0);
    ck_assert_int_eq(proberscene_probe(&scene, peer.address)->reach.error.code, 0);
    ck_assert(!proberscene_probe(&scene, peer.address)->proven);
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

/* Over plain HTTP, too, without an authority: the answer to a TokenRequest could be read by
 * everybody, and the token be shown to nobody. */
START_TEST(a_plain_kubeconfig_gets_no_token)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_prepare(&scene);
    proberscene_start_peer(&scene, &peer, &scene.other_leaf, NULL);
    ek_free(scene.config->ca_data);
    ek_free(scene.config->server);
    scene.config->ca_data = NULL;
    scene.config->server =
        ek_xasprintf("http://127.0.0.1:%d", testserver_port(scene.issuer.server));
    proberscene_start_prober(&scene);
    struct ek_prober_target target = {"kube-scheduler", peer.address, EK_PROBE_METRICS, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    ck_assert_int_eq(proberscene_probe(&scene, peer.address)->reach.error.code, EK_E_TLS);
    ck_assert_uint_eq(testserver_connections(scene.issuer.server), 0);
    ck_assert_uint_eq(testserver_connections(peer.server), 0);
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

/* What a server redirects to is not asked. Requests of a probe go to the address of the process in
 * any case, so that a redirect that is followed would show as one more request there. */
START_TEST(nobody_is_followed)
{
    struct scene scene;
    struct peer server = {0}, scheduler = {0}, trap = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &trap, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &server, &scene.leaf, NULL);
    proberscene_start_peer(&scene, &scheduler, &scene.other_leaf, NULL);
    server.elsewhere = scheduler.elsewhere = trap.address;
    atomic_store(&server.redirects, true);
    atomic_store(&scheduler.redirects, true);
    struct ek_prober_target targets[] = {
        {"kube-apiserver", server.address, EK_PROBE_OWN, NULL},
        {"kube-scheduler", scheduler.address, EK_PROBE_METRICS, NULL}};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, targets, 2, &options);
    proberscene_run_rounds(&scene, 2);
    ck_assert_uint_eq(atomic_load(&server.own), 6); /* what a full round asks */
    ck_assert_uint_eq(atomic_load(&scheduler.probe), 1);
    ck_assert_uint_eq(atomic_load(&server.requests) + atomic_load(&scheduler.requests), 7);
    ck_assert_uint_eq(testserver_connections(trap.server), 0);
    proberscene_stop(&scene);
    testserver_stop(server.server);
    testserver_stop(scheduler.server);
    testserver_stop(trap.server);
}
END_TEST

/* Without a token nobody is contacted, and what lacks is said; the token itself never is. */
static const struct {
    const char *name;
    int status;
    const char *body, *text;
} denials[] = {
    {"forbidden", 403,
     "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\",\"code\":403}",
     "grant create on serviceaccounts/token named evenkeel-probe in namespace evenkeel-system"},
    {"no such account", 404,
     "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"no\",\"code\":404}",
     "does not exist"},
    {"no token in it", 201, "{\"status\":{\"token\":\"\"}}", "holds no token"},
    {"not JSON", 201, "s3cret", "holds no token"},
    {"would break a header", 201, "{\"status\":{\"token\":\"s3cret\\r\\nX: y\"}}",
     "holds no token"},
};

START_TEST(without_a_token_nobody_is_contacted)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &peer, &scene.other_leaf, NULL);
    atomic_store(&scene.issuer.status, denials[_i].status);
    atomic_store(&scene.issuer.body, denials[_i].body);
    struct ek_prober_target target = {"kube-scheduler", peer.address, EK_PROBE_METRICS, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    const struct ek_probe *probe = proberscene_probe(&scene, peer.address);
    ck_assert(probe->no_token);
    ck_assert_msg(strstr(probe->reach.error.message, denials[_i].text) != NULL, "%s: %s",
                  denials[_i].name, probe->reach.error.message);
    ck_assert_msg(!strstr(probe->reach.error.message, "s3cret"), "%s", probe->reach.error.message);
    ck_assert_uint_eq(testserver_connections(peer.server), 0);
    /* Again at once: the refusal is remembered for a while, then the API server is asked anew. */
    ek_prober_kick(scene.prober);
    proberscene_run_rounds(&scene, 1);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 1);
    atomic_store(&scene.issuer.status, 201);
    atomic_store(&scene.issuer.body, NULL);
    proberscene_now_ms += EK_TOKEN_RETRY_MS;
    ek_prober_kick(scene.prober);
    proberscene_run_rounds(&scene, 1);
    ck_assert(!proberscene_probe(&scene, peer.address)->no_token);
    ck_assert_str_eq(proberscene_probe(&scene, peer.address)->info_binary, "1.36.2");
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

static void round_at(struct scene *scene, int64_t later_ms)
{
    proberscene_now_ms += later_ms;
    ek_prober_kick(scene->prober);
    proberscene_run_rounds(scene, 1);
}

static void wait_issued(struct scene *scene, int n)
{
    while (atomic_load(&scene->issuer.n_issued) < n)
        uv_run(&scene->bench.loop, UV_RUN_ONCE);
}

START_TEST(the_token_is_renewed_in_time)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &peer, &scene.other_leaf, NULL);
    struct ek_prober_target target = {"kube-scheduler", peer.address, EK_PROBE_METRICS, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    round_at(&scene, 470000);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 1);
    /* Less than two minutes are left: the old one serves once more while a new one is requested. */
    round_at(&scene, 15000);
    wait_issued(&scene, 2);
    round_at(&scene, 0);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 2);
    /* Expired: the round waits for a new one. */
    round_at(&scene, 700000);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 3);
    /* A server that grants more does not make it live longer here. */
    atomic_store(&scene.issuer.seconds, 86400);
    round_at(&scene, 700000);
    round_at(&scene, 590000);
    wait_issued(&scene, 5);
    /* The clock was set back: nothing is known of the token's age. */
    int n = atomic_load(&scene.issuer.n_issued);
    round_at(&scene, -5000000);
    ck_assert_int_gt(atomic_load(&scene.issuer.n_issued), n);
    ck_assert_uint_eq(atomic_load(&peer.probe), atomic_load(&peer.requests));
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

START_TEST(a_refused_token_is_replaced)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &peer, &scene.other_leaf, NULL);
    atomic_store(&peer.refuses, true);
    struct ek_prober_target target = {"kube-scheduler", peer.address, EK_PROBE_METRICS, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    /* A token that is just out is not the reason. */
    round_at(&scene, 0);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 1);
    round_at(&scene, EK_TOKEN_RETRY_MS);
    round_at(&scene, 0);
    ck_assert_int_eq(atomic_load(&scene.issuer.n_issued), 2);
    ck_assert_uint_eq(atomic_load(&peer.own), 0);
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

/* By IPv6 every kind of server is reached: its name has brackets in a URL and none in a
 * certificate. */
static const struct {
    const char *component, *names;
    enum ek_probe_credential credential;
    int code;
} v6[] = {
    {"kube-apiserver", "DNS:kubernetes.default.svc", EK_PROBE_OWN, 0},
    {"kube-scheduler", "DNS:sched-a,IP:::1", EK_PROBE_METRICS, 0},
    {"kube-controller-manager", "IP:0:0:0:0:0:0:0:1", EK_PROBE_METRICS, 0},
    {"kube-scheduler", "DNS:sched-a,IP:::2", EK_PROBE_METRICS, EK_E_TLS},
    {"kube-scheduler", "DNS:::1,DNS:[::1]", EK_PROBE_METRICS, EK_E_TLS},
};

START_TEST(ipv6_is_reached)
{
    struct scene scene;
    struct peer peer = {0};

    if (!testserver_has_ipv6())
        return;
    proberscene_start(&scene);
    struct testpki_cert leaf = testpki_issue(
        &scene.authority, &(struct testpki_spec){.common_name = "x", .names = v6[_i].names});
    proberscene_start_peer(&scene, &peer, &leaf, "::1");
    struct ek_prober_target target = {v6[_i].component, peer.address, v6[_i].credential, NULL};
    struct ek_prober_options options = {.timeout_ms = 10000, .full_interval_ms = 60000};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    const struct ek_probe *probe = proberscene_probe(&scene, peer.address);
    ck_assert_msg(probe->reach.error.code == v6[_i].code, "%s: %s", v6[_i].names,
                  probe->reach.error.message);
    ck_assert_str_eq(probe->info_binary, v6[_i].code ? "" : "1.36.2");
    proberscene_stop(&scene);
    testserver_stop(peer.server);
    testpki_done(&leaf);
}
END_TEST

/* own_only: the answer of another API server is no answer of the one that was called. */
static const struct {
    const char *address, *names, *host;
    bool reached;
} own[] = {
    {"127.0.0.1", "DNS:kubernetes.default.svc,IP:127.0.0.1", "cp-b", true},
    {"127.0.0.1", "DNS:kubernetes.default.svc,IP:127.0.0.1", NULL, true},
    {"127.0.0.1", "DNS:kubernetes.default.svc,DNS:cp-a", "cp-a", true},
    {"127.0.0.1", "DNS:kubernetes.default.svc,DNS:*.example.com", "cp-a.example.com", true},
    {"127.0.0.1", "DNS:kubernetes.default.svc,DNS:cp-a,IP:127.0.0.2", "cp-b", false},
    {"127.0.0.1", "DNS:kubernetes.default.svc,DNS:cp-a,IP:127.0.0.2", "127.0.0.1:6443", false},
    {"127.0.0.1", "DNS:kubernetes.default.svc,DNS:cp-a", NULL, false},
    {"127.0.0.1", "IP:127.0.0.1,DNS:cp-a", "cp-a", false},
    {"::1", "DNS:kubernetes.default.svc,IP:::1", "cp-b", true},
    {"::1", "DNS:kubernetes.default.svc,IP:::2", "cp-b", false},
};

START_TEST(another_api_server_gets_nothing)
{
    struct scene scene;
    struct peer peer = {0};
    bool v6_address = !strcmp(own[_i].address, "::1");

    if (v6_address && !testserver_has_ipv6())
        return;
    proberscene_prepare(&scene);
    scene.config->cert_data = ek_xstrdup(scene.client.cert);
    scene.config->key_data = ek_xstrdup(scene.client.key);
    proberscene_start_prober(&scene);
    struct testpki_cert leaf = testpki_issue(
        &scene.authority, &(struct testpki_spec){.common_name = "x", .names = own[_i].names});
    proberscene_start_peer(&scene, &peer, &leaf, v6_address ? "::1" : NULL);
    struct ek_prober_target target = {"kube-apiserver", peer.address, EK_PROBE_OWN, own[_i].host};
    struct ek_prober_options options = {
        .timeout_ms = 10000, .full_interval_ms = 60000, .own_only = true};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    const struct ek_probe *probe = proberscene_probe(&scene, peer.address);
    ck_assert_msg(probe->reach.error.code == (own[_i].reached ? 0 : EK_E_TLS), "%s: %s",
                  own[_i].names, probe->reach.error.message);
    ck_assert_int_eq(probe->proven, own[_i].reached);
    ck_assert_int_eq(probe->core != NULL, own[_i].reached);
    ck_assert_int_eq(atomic_load(&peer.requests) > 0, own[_i].reached);
    ck_assert_uint_eq(atomic_load(&peer.own), atomic_load(&peer.requests));
    ck_assert(own[_i].reached || testserver_handshakes(peer.server) == 0);
    /* Its names are known, by which its Lease may be found. */
    ck_assert(probe->n_cert_names > 0 || strstr(own[_i].names, "default") == NULL);
    proberscene_stop(&scene);
    testserver_stop(peer.server);
    testpki_done(&leaf);
}
END_TEST

static void serve_ok(void *ctx, const struct testserver_request *request,
                     struct testserver_conn *conn)
{
    (void)ctx;
    (void)request;
    testserver_reply(conn, 200, "", "ok");
}

/* The host name becomes known after the address; what was read stays when another server answers.
 */
START_TEST(documents_stay_while_another_server_answers)
{
    struct scene scene;
    struct peer peer = {0};

    proberscene_start(&scene);
    proberscene_start_peer(&scene, &peer, &scene.leaf, NULL);
    struct ek_prober_target target = {"kube-apiserver", peer.address, EK_PROBE_OWN, ""};
    struct ek_prober_options options = {
        .timeout_ms = 10000, .full_interval_ms = 60000, .own_only = true};
    ek_prober_set(scene.prober, &target, 1, &options);
    proberscene_run_rounds(&scene, 1);
    const char *message = proberscene_probe(&scene, peer.address)->reach.error.message;
    ck_assert_msg(strstr(message, "another API server answers at this address") &&
                      strstr(message, "(it is for kubernetes.default.svc, cp-a)"),
                  "%s", message);
    target.host = "cp-a";
    ek_prober_set(scene.prober, &target, 1, &options);
    round_at(&scene, 0);
    const struct ek_api_groups *core = proberscene_probe(&scene, peer.address)->core;
    ck_assert_ptr_nonnull(core);
    unsigned short port = testserver_port(peer.server);
    testserver_stop(peer.server);
    peer.server = testserver_start(&(struct testserver_options){
        .handler = serve_ok, .port = port, .cert = scene.leaf.cert, .key = scene.leaf.key});
    target.host = "cp-b";
    ek_prober_set(scene.prober, &target, 1, &options);
    round_at(&scene, 0);
    const struct ek_probe *probe = proberscene_probe(&scene, peer.address);
    ck_assert_int_eq(probe->reach.error.code, EK_E_TLS);
    ck_assert(!probe->proven && probe->core == core);
    proberscene_stop(&scene);
    testserver_stop(peer.server);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("prober_credentials");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, who_is_shown_what, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, an_insecure_kubeconfig_names_one_server);
    tcase_add_test(tc, a_plain_kubeconfig_gets_no_token);
    tcase_add_test(tc, nobody_is_followed);
    tcase_add_loop_test(tc, without_a_token_nobody_is_contacted, 0, (int)EK_ARRAY_SIZE(denials));
    tcase_add_test(tc, the_token_is_renewed_in_time);
    tcase_add_test(tc, a_refused_token_is_replaced);
    tcase_add_loop_test(tc, ipv6_is_reached, 0, (int)EK_ARRAY_SIZE(v6));
    tcase_add_loop_test(tc, another_api_server_gets_nothing, 0, (int)EK_ARRAY_SIZE(own));
    tcase_add_test(tc, documents_stay_while_another_server_answers);
    return ek_test_run("prober_credentials", tc);
}
