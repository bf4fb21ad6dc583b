/* SPDX-License-Identifier: Apache-2.0 */
/* A client for the `admission` script: creates one Deployment over and over, as a dry run, at
 * several API servers in turn, and prints how they differ. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "informers/client/file.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/poster.h"

#define SERVERS_MAX 4
#define CONNECTIONS 4
#define WARM_UP     30 /* requests that do not count */
#define SERIAL      400
#define ROUNDS      6
#define ROUND_MS    1000.0
#define SAMPLES_MAX 100000
#define PATH        "/apis/apps/v1/namespaces/default/deployments?dryRun=All&fieldManager=bench"

struct server {
    const char *name, *at; /* owned, for the whole run */
    bool mutates;          /* the first one does not */
    double *serial_ms, *loaded_ms;
    size_t n_serial, n_loaded;
    double loaded_wall_ms;
    double p50, p99, each_us, rate;
};

struct bench {
    struct bench_identity identity;
    const char *body;
    char label[64]; /* what the last policy sets, as JSON */
    unsigned policies;
    struct server servers[SERVERS_MAX];
    size_t n_servers;
};

/* One connection to a server. */
struct connection {
    const struct bench *bench;
    struct server *server;
    struct bench_poster poster;
    pthread_t thread;
    double end_ms;
    double *ms;
    size_t n;
};

static void connection_open(struct connection *c, const struct bench *bench, struct server *server)
{
    *c = (struct connection){.bench = bench, .server = server};
    bench_poster_open(&c->poster, &bench->identity, server->name, server->at, bench->body);
}

static void connection_close(struct connection *c)
{
    bench_poster_close(&c->poster);
}

/* One creation: how long it took. What comes back must be what the policies make of it. */
static double create_one(struct connection *c)
{
    double took = bench_poster_post(&c->poster);

    if ((strstr(ek_buf_str(&c->poster.got), c->bench->label) != NULL) != c->server->mutates)
        bench_fail("%s: %s is %s", c->server->name, c->bench->label,
                   c->server->mutates ? "missing" : "there");
    return took;
}

/* One connection to each server, used in turn. */
static void measure_serial(struct bench *b)
{
    struct connection connections[SERVERS_MAX];

    for (size_t i = 0; i < b->n_servers; i++)
        connection_open(&connections[i], b, &b->servers[i]);
    for (size_t round = 0; round < WARM_UP + SERIAL; round++)
        for (size_t i = 0; i < b->n_servers; i++) {
            double ms = create_one(&connections[i]);
            if (round >= WARM_UP)
                b->servers[i].serial_ms[b->servers[i].n_serial++] = ms;
        }
    for (size_t i = 0; i < b->n_servers; i++)
        connection_close(&connections[i]);
}

static void *run_loaded(void *arg)
{
    struct connection *c = arg;

    while (bench_now_ms() < c->end_ms && c->n < SAMPLES_MAX / CONNECTIONS)
        c->ms[c->n++] = create_one(c);
    return NULL;
}

static void load_one(const struct bench *b, struct server *server)
{
    struct connection connections[CONNECTIONS];
    double start_ms;

    for (size_t i = 0; i < CONNECTIONS; i++) {
        connection_open(&connections[i], b, server);
        connections[i].ms = ek_xalloc(SAMPLES_MAX / CONNECTIONS * sizeof(double));
        create_one(&connections[i]); /* connects */
    }
    start_ms = bench_now_ms();
    for (size_t i = 0; i < CONNECTIONS; i++) {
        connections[i].end_ms = start_ms + ROUND_MS;
        if (pthread_create(&connections[i].thread, NULL, run_loaded, &connections[i]))
            bench_fail("no thread");
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        pthread_join(c->thread, NULL);
        for (size_t k = 0; k < c->n && server->n_loaded < SAMPLES_MAX; k++)
            server->loaded_ms[server->n_loaded++] = c->ms[k];
        ek_free(c->ms);
        connection_close(c);
    }
    server->loaded_wall_ms += bench_now_ms() - start_ms;
}

static void report(struct bench *b)
{
    for (size_t i = 0; i < b->n_servers; i++) {
        struct server *s = &b->servers[i];
        s->p50 = bench_median(s->serial_ms, s->n_serial);
        s->p99 = bench_percentile(s->serial_ms, s->n_serial, 99);
        s->rate = (double)s->n_loaded / s->loaded_wall_ms * 1000;
        s->each_us = (s->p50 - b->servers[0].p50) / b->policies * 1000;
        printf("%8u  %-10s %8.2f %8.2f  %12.1f  %10.0f  %8.2f %8.2f\n", b->policies, s->name,
               s->p50, s->p99, s->each_us, s->rate, bench_median(s->loaded_ms, s->n_loaded),
               bench_percentile(s->loaded_ms, s->n_loaded, 99));
    }
    if (b->n_servers == 3)
        printf("%8u  %s takes %.2f x the time of %s, adds %.2f x as much, and lets %.2f x as "
               "many requests through\n",
               b->policies, b->servers[2].name, b->servers[2].p50 / b->servers[1].p50,
               b->servers[1].name, b->servers[2].each_us / b->servers[1].each_us,
               b->servers[2].rate / b->servers[1].rate);
}

static void add_server(struct bench *b, const char *arg)
{
    const char *url = strchr(arg, '=');
    struct server *s = &b->servers[b->n_servers];

    if (!url || b->n_servers == SERVERS_MAX)
        bench_fail("not NAME=URL, or too many: %s", arg);
    s->name = ek_xstrndup(arg, (size_t)(url - arg));
    s->at = ek_xasprintf("%s%s", url + 1, PATH);
    s->mutates = b->n_servers > 0;
    s->serial_ms = ek_xalloc(SERIAL * sizeof(double));
    s->loaded_ms = ek_xalloc(SAMPLES_MAX * sizeof(double));
    b->n_servers++;
}

int bench_admission_main(const char *const *args)
{
    static struct bench b;
    char *body = NULL;
    struct ek_err err;

    for (int i = 0; i < 6; i++)
        if (!args[i])
            bench_fail("--admission POLICIES AUTHORITY CERT KEY BODY LABEL NAME=URL...");
    if (ek_file_read(args[4], BENCH_RESPONSE_MAX, &body, NULL, &err))
        bench_fail("%s", err.message);
    b.policies = (unsigned)strtoul(args[0], NULL, 10);
    b.identity = (struct bench_identity){args[1], args[2], args[3]};
    b.body = body;
    snprintf(b.label, sizeof b.label, "\"%.48s\":", args[5]);
    for (size_t i = 6; args[i]; i++)
        add_server(&b, args[i]);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (b.policies == 1)
        printf("policies  server       p50 ms   p99 ms  us per policy  requests/s  p50 (4)  p99 "
               "(4)\n");
    measure_serial(&b);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < b.n_servers; i++)
            load_one(&b, &b.servers[(round + i) % b.n_servers]);
    report(&b);
    return 0;
}
