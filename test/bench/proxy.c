/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the script `proxy` starts beside proxies: an API server of canned answers, clients that send
 * one request again and again, and a client that holds watches.
 */
#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "informers/client/file.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/poster.h"
#include "test/support/testserver.h"

#define PEM_MAX         ((size_t)1 << 20)
#define SMALL           2000              /* octets of an object */
#define LARGE           ((size_t)1 << 20) /* of a list */
#define CONNECTIONS_MAX 64
#define SAMPLES_MAX     400000
#define WARM_UP_MS      500.0
#define WATCHES_MAX     4000
#define BEGINNING_MAX   32 /* watches that wait for their first event */

static void require(const char *const *args, int n, const char *usage)
{
    for (int i = 0; i < n; i++)
        if (!args[i])
            bench_fail("%s", usage);
}

/* ---- The API server ---- */

#define DISCOVERY                                                                                  \
    "Content-Type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n"
#define JSON "Content-Type: application/json\r\n"
#define LIST(items)                                                                                \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","               \
    "\"metadata\":{},\"items\":[" items "]}\n"
#define CORE                                                                                       \
    "{\"metadata\":{\"name\":\"\"},\"versions\":[{\"version\":\"v1\",\"resources\":[{"             \
    "\"resource\":\"configmaps\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":"      \
    "\"ConfigMap\"},\"scope\":\"Namespaced\",\"singularResource\":\"configmap\",\"verbs\":["       \
    "\"get\",\"list\",\"watch\"]}],\"freshness\":\"Current\"}]}"

static const struct {
    const char *prefix, *headers, *body;
} answers[] = {
    {"/apis", DISCOVERY, LIST("")},
    {"/api?", DISCOVERY, LIST(CORE)},
    {"/readyz", "Content-Type: text/plain\r\n", "ok"},
    {"/version", JSON, "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\"}"},
};

static char *small_body, *large_body;

static char *filled(size_t size)
{
    char *text = malloc(size + 1);

    memset(text, 'x', size);
    memcpy(text, "{\"kind\":\"", 9);
    text[size - 2] = '"';
    text[size - 1] = '}';
    text[size] = 0;
    return text;
}

static void send_watch(struct testserver_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n" JSON "Transfer-Encoding: chunked\r\n\r\n"
                               "14\r\n{\"type\":\"BOOKMARK\"}\n\r\n";

    testserver_write(conn, head, sizeof head - 1);
    testserver_stall(conn);
    testserver_close(conn);
}

static void answer(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const char *target = request->target;

    (void)ctx;
    for (size_t i = 0; i < EK_ARRAY_SIZE(answers); i++)
        if (!strncmp(target, answers[i].prefix, strlen(answers[i].prefix)) ||
            (i == 1 && !strcmp(target, "/api"))) {
            testserver_reply(conn, 200, answers[i].headers, answers[i].body);
            return;
        }
    if (strstr(target, "watch=1"))
        send_watch(conn);
    else if (strstr(target, "/configmaps/"))
        testserver_reply(conn, 200, JSON, small_body);
    else if (strstr(target, "/configmaps"))
        testserver_reply(conn, 200, JSON, large_body);
    else
        testserver_reply(conn, 404, "Content-Type: text/plain\r\n", "404 page not found\n");
}

int bench_proxy_peer_main(const char *const *args)
{
    struct testserver_options options = {.handler = answer};
    char *cert = NULL, *key = NULL;
    struct ek_err err;

    require(args, 4, "--proxy-peer ADDRESS PORT CERT KEY");
    if (ek_file_read(args[2], PEM_MAX, &cert, NULL, &err) ||
        ek_file_read(args[3], PEM_MAX, &key, NULL, &err))
        bench_fail("%s", err.message);
    small_body = filled(SMALL);
    large_body = filled(LARGE);
    options.address = args[0];
    options.port = (unsigned short)strtoul(args[1], NULL, 10);
    options.cert = cert;
    options.key = key;
    signal(SIGPIPE, SIG_IGN);
    testserver_start(&options);
    for (;;)
        pause();
}

/* ---- Requests ---- */

struct client {
    pthread_t thread;
    const struct bench_identity *identity;
    const char *url, *accept, *tag; /* "-": none */
    long wanted;                    /* status */
    double begin_ms, end_ms;        /* of what counts */
    double *ms;
    size_t n;
};

static size_t swallow(char *data, size_t size, size_t n, void *ctx)
{
    (void)data;
    (void)ctx;
    return size * n;
}

/* With a client certificate, or with the key as a bearer token if the certificate is "-". */
static CURL *open_easy(const struct bench_identity *identity, const char *url)
{
    CURL *easy = curl_easy_init();

    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CAINFO, identity->authority);
    if (!strcmp(identity->cert, "-")) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, identity->key);
    } else {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, identity->cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, identity->key);
    }
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "ek-bench"); /* curl's would be sent indented JSON */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    return easy;
}

static struct curl_slist *add_field(struct curl_slist *list, const char *name, const char *value)
{
    char line[512];

    if (!strcmp(value, "-"))
        return list;
    snprintf(line, sizeof line, "%s: %s", name, value);
    return curl_slist_append(list, line);
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    CURL *easy = open_easy(c->identity, c->url);
    struct curl_slist *fields =
        add_field(add_field(NULL, "Accept", c->accept), "If-None-Match", c->tag);
    long status;

    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
    for (double now = bench_now_ms(); now < c->end_ms && c->n < SAMPLES_MAX;) {
        status = 0;
        CURLcode rc = curl_easy_perform(easy);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        double after = bench_now_ms();
        if (rc != CURLE_OK || status != c->wanted)
            bench_fail("%s: %s, status %ld", c->url, curl_easy_strerror(rc), status);
        if (now >= c->begin_ms)
            c->ms[c->n++] = after - now;
        now = after;
    }
    curl_easy_cleanup(easy);
    curl_slist_free_all(fields);
    return NULL;
}

int bench_proxy_load_main(const char *const *args)
{
    static struct client clients[CONNECTIONS_MAX];
    static double all[SAMPLES_MAX];
    size_t n = 0;

    require(args, 10,
            "--proxy-load AUTHORITY CERT KEY URL ACCEPT ETAG STATUS CONNECTIONS SECONDS PID");
    const struct bench_identity identity = {args[0], args[1], args[2]};
    size_t connections = strtoul(args[7], NULL, 10);
    pid_t pid = (pid_t)strtol(args[9], NULL, 10); /* of the proxy; 0: none */
    if (connections > CONNECTIONS_MAX)
        bench_fail("more than %d connections", CONNECTIONS_MAX);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    double begin_ms = bench_now_ms() + WARM_UP_MS;
    double end_ms = begin_ms + strtod(args[8], NULL) * 1000;
    for (size_t i = 0; i < connections; i++) {
        clients[i] = (struct client){.identity = &identity,
                                     .url = args[3],
                                     .accept = args[4],
                                     .tag = args[5],
                                     .wanted = strtol(args[6], NULL, 10),
                                     .begin_ms = begin_ms,
                                     .end_ms = end_ms,
                                     .ms = malloc(SAMPLES_MAX * sizeof(double))};
        pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
    }
    poll(NULL, 0, (int)WARM_UP_MS);
    double cpu_ms = pid ? bench_proc_cpu_ms(pid) : 0;
    for (size_t i = 0; i < connections; i++) {
        pthread_join(clients[i].thread, NULL);
        for (size_t k = 0; k < clients[i].n && n < SAMPLES_MAX; k++)
            all[n++] = clients[i].ms[k];
        free(clients[i].ms);
    }
    cpu_ms = pid ? bench_proc_cpu_ms(pid) - cpu_ms : 0;
    printf("%.0f %.0f %.0f %.1f\n", (double)n / (end_ms - begin_ms) * 1000,
           bench_median(all, n) * 1000, bench_percentile(all, n, 99) * 1000,
           n ? cpu_ms / (double)n * 1000 : 0);
    return 0;
}

/* ---- Watches ---- */

static size_t count_event(char *data, size_t size, size_t n, void *ctx)
{
    size_t *events = ctx;

    if (memchr(data, '\n', size * n))
        (*events)++;
    return size * n;
}

/* Holds the watches until nobody reads what it says any more. */
int bench_proxy_watches_main(const char *const *args)
{
    size_t events = 0, begun = 0;
    int running = 0;

    require(args, 5, "--proxy-watches AUTHORITY CERT KEY URL N");
    const struct bench_identity identity = {args[0], args[1], args[2]};
    size_t n = strtoul(args[4], NULL, 10);
    if (n > WATCHES_MAX)
        bench_fail("more than %d watches", WATCHES_MAX);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    while (events < n) {
        for (; begun < n && begun < events + BEGINNING_MAX; begun++) {
            CURL *easy = open_easy(&identity, args[3]);
            curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_event);
            curl_easy_setopt(easy, CURLOPT_WRITEDATA, &events);
            curl_multi_add_handle(multi, easy);
        }
        curl_multi_perform(multi, &running);
        if ((size_t)running < begun)
            bench_fail("only %d of %zu watches", running, begun);
        curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    printf("ready\n");
    fflush(stdout);
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
    poll(&end, 1, -1);
    return 0;
}
