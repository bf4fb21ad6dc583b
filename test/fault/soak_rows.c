/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_rows.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/cli/commands.h"
#include "informers/cache/informer.h"
#include "informers/cache/reflector.h"
#include "informers/client/kubeconfig.h"
#include "test/fault/soak_truth.h"

#define TRIES_MAX 64

/* One client that watches Nodes and notes when each of its exchanges ended, and how. */
struct watcher {
    struct ek_client_config *config;
    struct ek_client *client;
    struct ek_informer *informer;
    struct {
        int64_t at_ms;
        char code[16];
    } tries[TRIES_MAX];
    size_t n_tries;
    bool stopped, closed;
};

static void on_exchange(void *ctx, const char *method, const char *code, const char *host,
                        double seconds)
{
    struct watcher *w = ctx;
    int64_t now = soak_now();

    (void)method;
    (void)host;
    (void)seconds;
    /* One try may be two requests: a stream and then a list, a token and then a newer one. */
    if (w->n_tries == TRIES_MAX || (w->n_tries && now - w->tries[w->n_tries - 1].at_ms < 20))
        return;
    w->tries[w->n_tries].at_ms = now;
    snprintf(w->tries[w->n_tries++].code, sizeof w->tries[0].code, "%s", code);
}

static void on_done(void *ctx)
{
    *(bool *)ctx = true;
}

static const struct ek_resource nodes = {
    .group = "", .version = "v1", .resource = "nodes", .kind = "Node"};

static void open_watcher(struct soak_world *world, struct watcher *w, bool streaming)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    struct ek_err err = {0};

    config.streaming = streaming;
    config.seed = 1 + soak_pick(world, 1000);
    if (ek_kubeconfig_load(world->kubeconfig, NULL, NULL, &w->config, &err) ||
        ek_client_new(&world->loop, w->config, ek_user_agent(), &w->client, &err)) {
        printf("%s\n", err.message);
        return;
    }
    ek_client_set_observer(w->client, on_exchange, w);
    w->informer = ek_informer_new_configured(&world->loop, w->client, &nodes, &config);
    ek_informer_start(w->informer);
}

static void close_watcher(struct soak_world *world, struct watcher *w)
{
    ek_informer_stop(w->informer, on_done, &w->stopped);
    while (!w->stopped)
        soak_live(&world->loop, 1);
    ek_informer_free(w->informer);
    ek_client_close(w->client, on_done, &w->closed);
    while (!w->closed)
        soak_live(&world->loop, 1);
    ek_client_config_free(w->config);
}

/* --- what happens besides requests -------------------------------------------------------- */

static void crash(struct soak_world *world)
{
    ek_apishell_stop_peer(world->shell, world->peers[0].peer, true);
    world->peers[0].running = false;
}

static void hang(struct soak_world *world)
{
    ek_apishell_hang_peer(world->shell, world->peers[0].peer, true);
    world->peers[0].hung = true;
}

static void expire(struct soak_world *world)
{
    ek_apishell_expire_certificate(world->shell, world->peers[0].peer, true, NULL);
    ek_apishell_cut(world->shell, world->peers[0].peer);
    world->peers[0].expired = true;
}

static void take_token(struct soak_world *world)
{
    char text[32];

    snprintf(text, sizeof text, "soak-%u", world->token);
    ek_apiserver_revoke_token(world->server, text);
    snprintf(text, sizeof text, "soak-%u", ++world->token);
    ek_apiserver_add_token(world->server, text, "evenkeel", "", "*");
}

/* --- the rows ----------------------------------------------------------------------------- */

static const struct row {
    const char *name;
    struct ek_fault fault; /* kind NONE: none */
    void (*happen)(struct soak_world *world);
    bool streaming;
    int64_t live_ms;                /* under the fault */
    const char *text;               /* part of the failure; NULL: nothing may fail */
    size_t min_tries, max_tries;    /* that ended in that time */
    bool backs_off;                 /* client-go's sequence lies between the tries */
    int64_t wait_ms;                /* the least time between two tries */
    int64_t heal_ms, controller_ms; /* the most, for the watcher and for the published status */
} rows[] = {
    {"nothing", {.kind = EK_FAULT_NONE}, NULL, true, 5000, NULL, 0, 0, false, 0, 1000, 20000},
    {"410 for lists",
     {.kind = EK_FAULT_GONE},
     NULL,
     false,
     60000,
     "The resourceVersion for the provided list is too old",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"410 in watches",
     {.kind = EK_FAULT_GONE, .watch_only = true},
     NULL,
     false,
     60000,
     "too old resource version",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"reset at once",
     {.kind = EK_FAULT_RESET},
     NULL,
     false,
     60000,
     "the connection broke off before an answer",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"reset in the body",
     {.kind = EK_FAULT_RESET, .bytes = 300},
     NULL,
     false,
     60000,
     "broke off in the middle of the answer",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"a chunk cut short",
     {.kind = EK_FAULT_TRUNCATE, .bytes = 400, .watch_only = true},
     NULL,
     true,
     60000,
     "broke off in the middle of the answer",
     1,
     4,
     false,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"429 with Retry-After",
     {.kind = EK_FAULT_THROTTLE, .seconds = 7},
     NULL,
     false,
     60000,
     "Too many requests, please try again later",
     5,
     8,
     false,
     7000,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"429 without",
     {.kind = EK_FAULT_THROTTLE, .seconds = 0},
     NULL,
     false,
     60000,
     "Too many requests, please try again later",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"a list that stalls",
     {.kind = EK_FAULT_STALL, .bytes = 100},
     NULL,
     false,
     300000,
     "the answer did not end within 90s",
     3,
     3,
     false,
     90000,
     91000,
     700000},
    {"a watch that stalls",
     {.kind = EK_FAULT_STALL, .bytes = 300, .watch_only = true},
     NULL,
     false,
     900000,
     "the server did not end a watch in time",
     1,
     3,
     false,
     60000,
     700000,
     900000},
    {"slow",
     {.kind = EK_FAULT_SLOW, .ms = 3000},
     NULL,
     false,
     8000,
     NULL,
     1,
     2,
     false,
     0,
     5000,
     120000},
    {"no end bookmark",
     {.kind = EK_FAULT_NO_BOOKMARK, .watch_only = true},
     NULL,
     true,
     120000,
     "no end bookmark after 30 s",
     1,
     3,
     false,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"initial events twice",
     {.kind = EK_FAULT_DUPLICATE, .watch_only = true},
     NULL,
     true,
     5000,
     NULL,
     0,
     1,
     false,
     0,
     1000,
     120000},
    {"initial events reversed",
     {.kind = EK_FAULT_REORDER, .watch_only = true},
     NULL,
     true,
     5000,
     NULL,
     0,
     1,
     false,
     0,
     1000,
     120000},
    {"garbage",
     {.kind = EK_FAULT_GARBAGE},
     NULL,
     false,
     60000,
     "malformed JSON at line 1 column 1",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     360000},
    {"garbage for streams",
     {.kind = EK_FAULT_GARBAGE},
     NULL,
     true,
     60000,
     "malformed JSON at line 1 column 1",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     360000},
    {"401",
     {.kind = EK_FAULT_UNAUTHORIZED},
     NULL,
     false,
     60000,
     "Unauthorized",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"403",
     {.kind = EK_FAULT_FORBIDDEN},
     NULL,
     false,
     60000,
     "forbidden: told so by a fault",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"500",
     {.kind = EK_FAULT_BROKEN},
     NULL,
     false,
     60000,
     "Internal error occurred: told so by a fault",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"500 for streams",
     {.kind = EK_FAULT_BROKEN},
     NULL,
     true,
     60000,
     "Internal error occurred: told so by a fault",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"the server is down",
     {.kind = EK_FAULT_NONE},
     crash,
     false,
     60000,
     "refused",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"the server hangs",
     {.kind = EK_FAULT_NONE},
     hang,
     false,
     200000,
     "connected, but no TLS handshake within 30s",
     5,
     6,
     false,
     30000,
     91000,
     300000},
    {"an expired certificate",
     {.kind = EK_FAULT_NONE},
     expire,
     false,
     60000,
     "the server's certificate has expired",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
    {"a revoked token",
     {.kind = EK_FAULT_NONE},
     take_token,
     false,
     60000,
     "Unauthorized",
     5,
     7,
     true,
     0,
     121000, /* a back-off of a minute at most, then a bookmark within a minute */
     120000},
};

static void tell(const struct row *row, const struct watcher *w, const char *what)
{
    printf("FAILED: %s: %s\n  tries:", row->name, what);
    for (size_t i = 0; i < w->n_tries; i++)
        printf(" %s", w->tries[i].code);
    printf("\n  after:");
    for (size_t i = 1; i < w->n_tries; i++)
        printf(" %lld", (long long)(w->tries[i].at_ms - w->tries[i - 1].at_ms));
    printf(" ms\n");
}

/* 0.8 s, doubled each time up to 30 s, and up to as much again at random. */
static bool backed_off(const struct watcher *w)
{
    int64_t delay = 800;

    for (size_t i = 1; i < w->n_tries; i++) {
        int64_t gap = w->tries[i].at_ms - w->tries[i - 1].at_ms;
        if (gap < delay || gap > 2 * delay + 100)
            return false;
        delay = delay * 2 > 30000 ? 30000 : delay * 2;
    }
    return true;
}

static bool waited(const struct watcher *w, int64_t least_ms)
{
    for (size_t i = 1; i < w->n_tries; i++)
        if (w->tries[i].at_ms - w->tries[i - 1].at_ms < least_ms - 5)
            return false;
    return true;
}

static const char *judge(const struct row *row, const struct watcher *w)
{
    static char text[512];
    struct ek_reflector_status status;

    ek_reflector_status(ek_informer_reflector(w->informer), &status);
    if (row->text ? !strstr(status.failure->message, row->text) : status.failures > 0) {
        snprintf(text, sizeof text, "expected \"%s\", got \"%.300s\"", row->text ? row->text : "",
                 status.failure->message);
        return text;
    }
    if (w->n_tries < row->min_tries || w->n_tries > row->max_tries) {
        snprintf(text, sizeof text, "expected %zu to %zu tries", row->min_tries, row->max_tries);
        return text;
    }
    if (row->backs_off && !backed_off(w))
        return "the back-off is not as specified";
    return waited(w, row->wait_ms) ? NULL : "it does not wait as long as it was told to";
}

static bool is_healed(const struct soak_world *world, const struct watcher *w)
{
    struct ek_informer_status status;
    size_t n = 0;

    for (size_t i = 0; i < SOAK_NODES_MAX; i++)
        n += world->nodes[i];
    ek_informer_status(w->informer, &status);
    /* A watch counts as open when its first frame has come, which may be a minute away. */
    return status.synced && !*status.last_error && strstr("OPENING WATCHING", status.state) &&
           ek_store_size(ek_informer_store(w->informer)) == n;
}

static const char *heal(struct soak_world *world, const struct row *row, const struct watcher *w)
{
    int64_t begin = soak_now();

    soak_world_lift(world);
    while (!is_healed(world, w)) {
        if (soak_now() - begin > row->heal_ms)
            return "it does not recover in time";
        soak_live(&world->loop, 20);
    }
    return NULL;
}

static void begin(struct soak_world *world, const struct row *row, const char *path)
{
    struct ek_fault fault = row->fault;

    snprintf(fault.path, sizeof fault.path, "%s", path);
    if (fault.kind != EK_FAULT_NONE)
        ek_faults_add(ek_apishell_faults(world->shell), &fault, NULL);
    if (row->happen)
        row->happen(world);
}

static bool run_watcher(struct soak_world *world, const struct row *row)
{
    struct watcher w = {0};

    begin(world, row, "/api/v1/nodes");
    open_watcher(world, &w, row->streaming);
    soak_live(&world->loop, row->live_ms);
    const char *wrong = judge(row, &w);
    if (!wrong)
        wrong = heal(world, row, &w);
    if (wrong)
        tell(row, &w, wrong);
    soak_world_lift(world);
    close_watcher(world, &w);
    return !wrong;
}

/* The controller meets the same: on all paths, with its connections cut. */
static bool run_controller(struct soak_world *world, const struct row *row)
{
    static char why[4096];

    begin(world, row, "");
    ek_apishell_cut(world->shell, NULL);
    soak_live(&world->loop, 30000);
    soak_world_lift(world);
    int64_t took = soak_converge(world, row->controller_ms, why);
    if (took >= 0) {
        printf("t=%llds %s: healed after %lld ms\n", (long long)soak_now() / 1000, row->name,
               (long long)took);
        return true;
    }
    printf("FAILED: %s: the controller does not tell the truth after %lld ms: %s\n", row->name,
           (long long)row->controller_ms, why);
    return false;
}

unsigned soak_rows(struct soak_world *world)
{
    unsigned failed = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        bool good = run_watcher(world, &rows[i]);
        good = run_controller(world, &rows[i]) && good;
        failed += !good;
    }
    printf("%zu single faults, %u failed\n", EK_ARRAY_SIZE(rows), failed);
    return failed;
}
