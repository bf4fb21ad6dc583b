/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/proberscene.h"

#include <stdio.h>
#include <string.h>

#include <check.h>

#include "informers/client/kubeconfig.h"

#define OWN_TOKEN   "own-token"
#define PROBE_TOKEN "probe-token-"
#define TOKEN_PATH  "/api/v1/namespaces/evenkeel-system/serviceaccounts/evenkeel-probe/token"

int64_t proberscene_now_ms = 1000;

static int64_t test_clock(void)
{
    return proberscene_now_ms++;
}

static void serve_issuer(void *ctx, const struct testserver_request *request,
                         struct testserver_conn *conn)
{
    struct issuer *issuer = ctx;
    const char *own = atomic_load(&issuer->body);
    char body[256], authorization[64];
    int n = atomic_fetch_add(&issuer->n_issued, 1) + 1;

    testserver_header(request, "Authorization", authorization, sizeof authorization);
    if (strcmp(request->method, "POST") != 0 || strcmp(request->target, TOKEN_PATH) != 0 ||
        strcmp(authorization, "Bearer " OWN_TOKEN) != 0 ||
        strcmp(request->body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":"
                              "\"TokenRequest\",\"spec\":{\"expirationSeconds\":600}}") != 0)
        atomic_store(&issuer->strange, true);
    snprintf(body, sizeof body,
             "{\"kind\":\"TokenRequest\",\"spec\":{\"expirationSeconds\":%d},\"status\":{"
             "\"token\":\"" PROBE_TOKEN "%d\"}}",
             atomic_load(&issuer->seconds), n);
    testserver_reply(conn, atomic_load(&issuer->status), "Content-Type: application/json\r\n",
                     own ? own : body);
}

static void serve_peer(void *ctx, const struct testserver_request *request,
                       struct testserver_conn *conn)
{
    struct peer *peer = ctx;
    char body[256], authorization[256];

    atomic_fetch_add(&peer->requests, 1);
    testserver_header(request, "Authorization", authorization, sizeof authorization);
    if (strstr(authorization, OWN_TOKEN) || strstr(request->headers, "Impersonate-"))
        atomic_fetch_add(&peer->own, 1);
    if (!strncmp(authorization, "Bearer " PROBE_TOKEN, 7 + strlen(PROBE_TOKEN)))
        atomic_fetch_add(&peer->probe, 1);
    if (*request->client_name)
        atomic_fetch_add(&peer->client_certs, 1);

    if (atomic_load(&peer->stalled)) {
        testserver_stall(conn);
    } else if (!strcmp(request->target, "/version") && !atomic_load(&peer->redirects)) {
        snprintf(body, sizeof body,
                 "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\","
                 "\"emulationMajor\":\"1\",\"emulationMinor\":\"%d\"}",
                 atomic_load(&peer->minor));
        testserver_reply(conn, 200, "Content-Type: application/json\r\n", body);
    } else if (atomic_load(&peer->redirects)) {
        char location[128];
        snprintf(location, sizeof location, "Location: https://%s%s\r\n", peer->elsewhere,
                 request->target);
        testserver_reply(conn, 302, location, "");
    } else if (!strcmp(request->target, "/metrics") && atomic_load(&peer->refuses)) {
        testserver_reply(conn, 401, "", "Unauthorized\n");
    } else if (!strcmp(request->target, "/metrics")) {
        atomic_fetch_add(&peer->metrics_asked, 1);
        snprintf(body, sizeof body,
                 "version_info{binary=\"1.36.2\",component=\"kube\",emulation=\"1.%d\","
                 "min_compat=\"1.33\"} 1\n",
                 atomic_load(&peer->minor));
        testserver_reply(conn, 200, "", body);
    } else if (!strncmp(request->target, "/readyz", 7)) {
        bool starting = atomic_load(&peer->starting);
        testserver_reply(conn, starting ? 500 : 200, "",
                         starting ? "[-]etcd failed\n" : "[+]ping ok\n");
    } else if (!strcmp(request->target, "/api") || !strcmp(request->target, "/apis")) {
        testserver_reply(conn, 200, "Content-Type: application/json\r\nETag: \"E\"\r\n",
                         "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}");
    } else {
        testserver_reply(conn, 404, "", "404 page not found\n");
    }
}

void proberscene_start_peer(struct scene *scene, struct peer *peer, const struct testpki_cert *leaf,
                            const char *address)
{
    atomic_init(&peer->minor, 34);
    peer->server =
        testserver_start(&(struct testserver_options){.handler = serve_peer,
                                                      .address = address,
                                                      .ctx = peer,
                                                      .cert = leaf->cert,
                                                      .key = leaf->key,
                                                      .client_ca = scene->authority.cert});
    snprintf(peer->address, sizeof peer->address,
             address && strchr(address, ':') ? "[%s]:%d" : "%s:%d", address ? address : "127.0.0.1",
             testserver_port(peer->server));
}

static void on_round(void *ctx)
{
    struct scene *scene = ctx;
    scene->rounds++;
}

void proberscene_prepare(struct scene *scene)
{
    *scene = (struct scene){0};
    scene->authority = testpki_authority("cluster");
    scene->leaf = testpki_issue(&scene->authority,
                                &(struct testpki_spec){.common_name = "kube-apiserver",
                                                       .names = "DNS:kubernetes.default.svc,"
                                                                "DNS:cp-a"});
    scene->other_leaf = testpki_issue(&scene->authority,
                                      &(struct testpki_spec){.common_name = "kube-scheduler",
                                                             .names = "DNS:sched-a,IP:127.0.0.1"});
    scene->config = ek_client_config_new();
    scene->client =
        testpki_issue(&scene->authority, &(struct testpki_spec){.common_name = "kubernetes-admin"});
    atomic_init(&scene->issuer.status, 201);
    atomic_init(&scene->issuer.seconds, 600);
    scene->issuer.server =
        testserver_start(&(struct testserver_options){.handler = serve_issuer,
                                                      .ctx = &scene->issuer,
                                                      .cert = scene->other_leaf.cert,
                                                      .key = scene->other_leaf.key});
    scene->config->server =
        ek_xasprintf("https://127.0.0.1:%d", testserver_port(scene->issuer.server));
    scene->config->ca_data = ek_xstrdup(scene->authority.cert);
    scene->config->token = ek_xstrdup(OWN_TOKEN);
}

void proberscene_start_prober(struct scene *scene)
{
    clientbench_start(&scene->bench, scene->config);
    scene->prober = ek_prober_new(&scene->bench.loop, scene->bench.client, "evenkeel-system",
                                  "evenkeel-probe", test_clock, on_round, scene);
}

void proberscene_start(struct scene *scene)
{
    proberscene_prepare(scene);
    proberscene_start_prober(scene);
}

static void on_closed(void *ctx)
{
    struct scene *scene = ctx;
    scene->closed = 1;
}

void proberscene_stop(struct scene *scene)
{
    ek_prober_close(scene->prober, on_closed, scene);
    while (!scene->closed)
        uv_run(&scene->bench.loop, UV_RUN_ONCE);
    clientbench_stop(&scene->bench);
    ek_client_config_free(scene->config);
    testpki_done(&scene->authority);
    testpki_done(&scene->leaf);
    testpki_done(&scene->other_leaf);
    testpki_done(&scene->client);
    ck_assert(!atomic_load(&scene->issuer.strange));
    testserver_stop(scene->issuer.server);
}

void proberscene_run_rounds(struct scene *scene, int n)
{
    int until = scene->rounds + n;
    while (scene->rounds < until)
        uv_run(&scene->bench.loop, UV_RUN_ONCE);
}

const struct ek_probe *proberscene_probe(struct scene *scene, const char *address)
{
    for (size_t i = 0; i < ek_prober_size(scene->prober); i++) {
        const char *at;
        const struct ek_probe *probe = ek_prober_at(scene->prober, i, &at);
        if (!strcmp(at, address))
            return probe;
    }
    return NULL;
}
