/* SPDX-License-Identifier: Apache-2.0 */
/* The API client with fallbacks: which server a request goes to, and what each of them is shown. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "test/support/clientbench.h"
#include "test/support/patience.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

enum { CONFIGURED, FIRST, SECOND, SERVERS };

/* The servers have loopback addresses of their own and one port: the port of a stopped one stays
 * free for it. */
static const char *const ips[SERVERS] = {"127.0.0.2", "127.0.0.3", "127.0.0.4"};
static struct testpki_cert authority, leaf, stranger;
static struct testserver *servers[SERVERS];
static char addresses[SERVERS][64];
static struct ek_client_config *config;
static struct clientbench bench;
static unsigned short port;

static void serve(void *ctx, const struct testserver_request *request, struct testserver_conn *conn)
{
    const char *ip = ctx;
    EK_AUTOFREE char *body = ek_xasprintf("%s\n%s", ip, request->headers);

    testserver_reply(conn, 200, "", body);
}

static void start_server(int which, const struct testpki_cert *cert)
{
    servers[which] =
        testserver_start(&(struct testserver_options){.handler = serve,
                                                      .ctx = (void *)(uintptr_t)ips[which],
                                                      .address = ips[which],
                                                      .port = port,
                                                      .cert = cert->cert,
                                                      .key = cert->key});
    port = testserver_port(servers[which]);
    snprintf(addresses[which], sizeof addresses[which], "%s:%u", ips[which], port);
}

static void stop_server(int which)
{
    testserver_stop(servers[which]);
    servers[which] = NULL;
}

static void make(void)
{
    const char *names = "DNS:kubernetes.default.svc,IP:127.0.0.2";

    port = 0;
    authority = testpki_authority("kubernetes");
    leaf = testpki_issue(&authority,
                         &(struct testpki_spec){.common_name = "kube-apiserver", .names = names});
    stranger = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "kubelet", .names = "DNS:kubelet"});
    for (int i = 0; i < SERVERS; i++)
        start_server(i, &leaf);
    config = ek_client_config_new();
    config->server = ek_xasprintf("https://%s", addresses[CONFIGURED]);
    config->ca_data = ek_xstrdup(authority.cert);
    config->token = ek_xstrdup("secret-token");
}

static void set_fallbacks(void)
{
    const char *const list[] = {addresses[FIRST], addresses[SECOND]};
    struct ek_err err = {0};

    clientbench_start(&bench, config);
    ck_assert_msg(!ek_client_set_fallbacks(bench.client, list, 2, &err), "%s", err.message);
}

static void done(void)
{
    for (int i = 0; i < SERVERS; i++)
        if (servers[i])
            stop_server(i);
    ek_client_config_free(config);
    testpki_done(&authority);
    testpki_done(&leaf);
    testpki_done(&stranger);
}

/* The server that answers, -1 for none. */
static int ask(const struct ek_request *request)
{
    struct outcome out;
    int which = -1;

    clientbench_do(&bench, request, &out);
    for (int i = 0; i < SERVERS && out.status == 200; i++)
        if (!strncmp(out.body, ips[i], strlen(ips[i])))
            which = i;
    if (which >= 0)
        ck_assert_msg(strstr(out.body, "Bearer secret-token") != NULL, "%s", out.body);
    else
        ck_assert_int_ne(out.err.code, 0);
    outcome_done(&out);
    return which;
}

static const struct ek_request get = {
    .path = "/version", .no_retry = true, .timeout_ms = PATIENCE_LAST_MS};

START_TEST(the_next_one_is_asked)
{
    make();
    set_fallbacks();
    ck_assert_int_eq(ask(&get), CONFIGURED);
    stop_server(CONFIGURED);
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_int_eq(ask(&get), FIRST);
    start_server(CONFIGURED, &leaf); /* readers do not go back to it */
    ck_assert_int_eq(ask(&get), FIRST);
    stop_server(FIRST);
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_int_eq(ask(&get), SECOND);
    stop_server(SECOND);
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_int_eq(ask(&get), CONFIGURED);
    clientbench_stop(&bench);
    done();
}
END_TEST

/* Of requests that fail together, the first one moves on, and no other. */
START_TEST(many_failures_are_one)
{
    struct outcome out[3];

    make();
    set_fallbacks();
    stop_server(CONFIGURED);
    for (int i = 0; i < 3; i++)
        clientbench_send(&bench, &get, &out[i]);
    for (int i = 0; i < 3; i++) {
        clientbench_run_until(&bench, &out[i].n_done);
        ck_assert_int_eq(out[i].status, 0);
        outcome_done(&out[i]);
    }
    ck_assert_int_eq(ask(&get), FIRST);
    clientbench_stop(&bench);
    done();
}
END_TEST

/* A process that has not the name of API servers is shown nothing. */
START_TEST(a_stranger_is_passed_over)
{
    make();
    stop_server(CONFIGURED);
    stop_server(FIRST);
    start_server(FIRST, &stranger);
    set_fallbacks();
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_uint_eq(testserver_requests(servers[FIRST]), 0);
    ck_assert_int_eq(ask(&get), SECOND);
    clientbench_stop(&bench);
    done();
}
END_TEST

/* A request for a process does not move the others, and is not moved. */
START_TEST(requests_for_a_process_stay)
{
    struct ek_request named = get;

    make();
    set_fallbacks();
    stop_server(SECOND);
    named.connect_to = addresses[SECOND];
    ck_assert_int_eq(ask(&named), -1);
    ck_assert_int_eq(ask(&get), CONFIGURED);
    stop_server(CONFIGURED);
    ck_assert_int_eq(ask(&get), -1);
    ck_assert_int_eq(ask(&get), FIRST);
    ck_assert_int_eq(ask(&named), -1);
    ck_assert_int_eq(ask(&get), FIRST);
    clientbench_stop(&bench);
    done();
}
END_TEST

static const struct {
    bool insecure;
    const char *address, *says;
} refused[] = {
    {false, "cp-b", "\"cp-b\" is not an address of the form ip:port"},
    {false, "10.0.0.1:6443/x", "\"10.0.0.1:6443/x\" is not an address of the form ip:port"},
    {true, "127.0.0.3:6443", "no other API server can prove its identity"},
};

START_TEST(bad_ones_are_refused)
{
    struct ek_err err = {0};

    make();
    config->insecure_skip_tls_verify = refused[_i].insecure;
    if (refused[_i].insecure) {
        ek_free(config->ca_data);
        config->ca_data = NULL;
    }
    clientbench_start(&bench, config);
    ck_assert_int_eq(ek_client_set_fallbacks(bench.client, &refused[_i].address, 1, &err),
                     EK_E_INVAL);
    ck_assert_msg(strstr(err.message, refused[_i].says) != NULL, "%s", err.message);
    clientbench_stop(&bench);
    done();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client_fallback");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_next_one_is_asked);
    tcase_add_test(tcase, many_failures_are_one);
    tcase_add_test(tcase, a_stranger_is_passed_over);
    tcase_add_test(tcase, requests_for_a_process_stay);
    tcase_add_loop_test(tcase, bad_ones_are_refused, 0, (int)EK_ARRAY_SIZE(refused));
    return ek_test_run("client_fallback", tcase);
}
