/* SPDX-License-Identifier: Apache-2.0 */
/* The API client by an egress proxy: which requests go by it, and what it is shown. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/clientbench.h"
#include "test/support/egress_fixture.h"
#include "test/support/patience.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

static struct testpki_cert authority, leaf;
static struct testserver *server;
static struct egress_fixture egress;
static struct clientbench bench;
static char address[64];

static void serve(void *ctx, const struct testserver_request *request, struct testserver_conn *conn)
{
    (void)ctx;
    testserver_reply(conn, 200, "", request->headers);
}

static void start(void)
{
    authority = testpki_authority("kubernetes");
    leaf = testpki_issue(&authority, &(struct testpki_spec){.common_name = "kube-apiserver",
                                                            .names = "DNS:kubernetes.default.svc"});
    server = testserver_start(
        &(struct testserver_options){.handler = serve, .cert = leaf.cert, .key = leaf.key});
    snprintf(address, sizeof address, "127.0.0.1:%u", testserver_port(server));
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    config->server = ek_xasprintf("https://%s", address);
    config->tls_server_name = ek_xstrdup("kubernetes.default.svc");
    config->ca_data = ek_xstrdup(authority.cert);
    config->token = ek_xstrdup("secret-token");
    egress_fixture_start(&egress);
    clientbench_start(&bench, config);
    ek_client_set_egress(bench.client, egress.url);
}

static void stop(void)
{
    clientbench_stop(&bench);
    egress_fixture_stop(&egress);
    testserver_stop(server);
    testpki_done(&authority);
    testpki_done(&leaf);
}

static void get(const char *connect_to, int64_t timeout_ms, struct outcome *out)
{
    clientbench_do(&bench,
                   &(struct ek_request){.path = "/version",
                                        .connect_to = connect_to,
                                        .no_retry = true,
                                        .timeout_ms = timeout_ms},
                   out);
}

START_TEST(processes_are_reached_by_it)
{
    struct outcome out;

    egress = (struct egress_fixture){0};
    setenv("NO_PROXY", "*", 1); /* the environment says nothing about it */
    setenv("no_proxy", "*", 1);
    start();
    get(NULL, PATIENCE_LAST_MS, &out); /* the configured server */
    ck_assert_msg(out.status == 200, "%s", out.err.message);
    outcome_done(&out);
    ck_assert_uint_eq(egress_fixture_count(&egress), 0);
    get(address, PATIENCE_LAST_MS, &out);
    ck_assert_msg(out.status == 200, "%s", out.err.message);
    ck_assert_msg(strstr(out.body, "secret-token") != NULL, "%s", out.body);
    ck_assert_uint_eq(strlen(out.fingerprint), 64);
    outcome_done(&out);
    ck_assert_uint_eq(egress_fixture_count(&egress), 1);
    EK_AUTOFREE char *request = egress_fixture_request(&egress);
    EK_AUTOFREE char *line = ek_xasprintf("CONNECT %s HTTP/1.1\r\n", address);
    ck_assert_msg(!strncmp(request, line, strlen(line)), "%s", request);
    ck_assert_msg(!strstr(request, "secret-token") && !strcasestr(request, "authorization"), "%s",
                  request);
    stop();
}
END_TEST

static const struct {
    const char *answer, *banner;
    bool ends;
    int64_t timeout_ms; /* 0: long */
    int code;
    const char *says; /* "": the words are libcurl's */
} refusals[] = {
    {.answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
     .code = EK_E_NET,
     .says = "CONNECT was answered with 403"},
    {.answer = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
               "Content-Length: 0\r\n\r\n",
     .code = EK_E_NET,
     .says = "CONNECT was answered with 407"},
    {.answer = "", .timeout_ms = 50, .code = EK_E_TIMEOUT, .says = "by the egress proxy http://"},
    {.ends = true, .code = EK_E_NET, .says = ""},
    {.banner = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .code = EK_E_TLS, .says = ""},
};

/* No answer of an egress proxy is one of the process. */
START_TEST(what_it_refuses_fails)
{
    struct outcome out;

    egress = (struct egress_fixture){
        .answer = refusals[_i].answer, .banner = refusals[_i].banner, .ends = refusals[_i].ends};
    start();
    get(address, refusals[_i].timeout_ms ? refusals[_i].timeout_ms : PATIENCE_LAST_MS, &out);
    ck_assert_int_eq(out.status, 0);
    ck_assert_msg(out.err.code == refusals[_i].code, "%d %s", out.err.code, out.err.message);
    ck_assert_msg(strstr(out.err.message, refusals[_i].says) != NULL, "%s", out.err.message);
    outcome_done(&out);
    stop();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client_egress");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, processes_are_reached_by_it);
    tcase_add_loop_test(tcase, what_it_refuses_fails, 0, (int)EK_ARRAY_SIZE(refusals));
    return ek_test_run("client_egress", tcase);
}
