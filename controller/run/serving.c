/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/serving.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/http/cert_watcher.h"
#include "controller/http/meter_metrics.h"
#include "controller/http/metrics_auth.h"
#include "controller/http/metrics_gather.h"
#include "controller/http/metrics_route.h"
#include "controller/http/server.h"
#include "controller/http/tls.h"
#include "controller/manager/health_board.h"
#include "controller/webhook/relay.h"
#include "informers/clock.h"

/* How long a request may continue after the stop of the listener. */
#define GRACE_MS 5000

/* Of each listener. Probes and scrapers are few. */
#define CONNECTIONS_MAX  64
#define HEALTH_MEMORY    ((size_t)1 << 20)
#define METRICS_MEMORY   ((size_t)24 << 20) /* for the largest exposition */
#define DOCUMENTS_MEMORY ((size_t)24 << 20) /* a document of 1 MB is an uncommonly large one */

enum { HEALTH, METRICS, DISCOVERY, N_SERVERS };

/* Until start_serving and from on_ended on, all of it is the control loop's. */
struct ek_serving {
    struct ek_serving_config config;
    struct ek_health *healthz, *readyz;
    struct ek_health_board *board;
    struct ek_http_meter meters[N_SERVERS];
    struct ek_tls_identity *identity;
    struct ek_cert_watcher *watcher;
    struct ek_webhook_asker *asker;
    uv_async_t ended; /* on the control loop: the thread has left its loop */
    int n_stopping;
    void (*stopped)(void *token);
    void *token;

    /* The thread's, while it runs. */
    uv_thread_t thread;
    uv_loop_t loop;
    uv_async_t wake; /* a review came back, or it is to stop */
    atomic_bool stopping;
    bool closing;
    int n_open; /* servers */
    struct ek_http_route health_routes[2];
    struct ek_http_route metrics_routes[2]; /* /metrics and /debug/ui */
    size_t n_metrics_routes;
    struct ek_http_route discovery_route;
    struct ek_review_relay *relay;
    struct ek_metrics_auth *auth; /* NULL when /metrics is open to all */
    /* Has a memory of its own: there are many paths. NULL when discovery is not served. */
    struct ek_metrics_auth *discovery_auth;
    struct ek_metrics_gather *gather; /* NULL when there is nothing to collect */
    struct ek_metrics_gather *facts;  /* of /debug/ui; NULL when that is not served */
    struct ek_http_server *servers[N_SERVERS];
    char addresses[N_SERVERS][128];
};

static int64_t wall_clock(void *ctx)
{
    (void)ctx;
    return ek_wall_ms();
}

static int64_t loop_clock(void *ctx)
{
    return (int64_t)uv_now(ctx);
}

static void on_certificate(void *ctx, const struct ek_err *err, bool changed)
{
    struct ek_serving *s = ctx;

    ek_standard_metrics_certificate_read(s->config.standard, !err);
    if (err)
        ek_log_error_limited(s->config.log, err, 3, 60000, "Serving certificate not read");
    else if (changed)
        ek_log_info(s->config.log, "Serving certificate loaded");
}

static int make_identity(struct ek_serving *s, struct ek_err *err)
{
    const struct ek_run_options *o = s->config.options;

    s->identity = ek_tls_identity_new();
    if (!*o->metrics_cert_path)
        return ek_tls_identity_self_signed(s->identity, wall_clock(NULL), err);
    EK_AUTOFREE char *cert = ek_xasprintf("%s/%s", o->metrics_cert_path, o->metrics_cert_name);
    EK_AUTOFREE char *key = ek_xasprintf("%s/%s", o->metrics_cert_path, o->metrics_cert_key);
    struct ek_cert_watcher_config config = {
        .cert_path = cert, .key_path = key, .on_read = on_certificate, .ctx = s};
    return ek_cert_watcher_new(s->config.loop, &config, s->identity, &s->watcher, err);
}

struct ek_serving *ek_serving_new(const struct ek_serving_config *config)
{
    struct ek_serving *s = ek_xalloc(sizeof *s);

    s->config = *config;
    s->healthz = ek_health_new("/healthz", config->log);
    s->readyz = ek_health_new("/readyz", config->log);
    s->board = ek_health_board_new(config->loop);
    ek_health_board_watch(s->board, s->healthz);
    ek_http_budget_init(&s->meters[HEALTH].budget, HEALTH_MEMORY);
    ek_http_budget_init(&s->meters[METRICS].budget, METRICS_MEMORY);
    ek_http_budget_init(&s->meters[DISCOVERY].budget, DOCUMENTS_MEMORY);
    if (config->http) {
        ek_http_metrics_add(config->http, "health", &s->meters[HEALTH], 1, NULL);
        ek_http_metrics_add(config->http, "metrics", &s->meters[METRICS], 1, NULL);
    }
    if (config->http && config->discovery)
        ek_http_metrics_add(config->http, "discovery", &s->meters[DISCOVERY], 1, NULL);
    return s;
}

void ek_serving_add_healthz(struct ek_serving *serving, const char *name, ek_health_check_fn fn,
                            void *ctx)
{
    ek_health_board_add(serving->board, serving->healthz, name, fn, ctx);
}

void ek_serving_add_readyz(struct ek_serving *serving, const char *name, ek_health_check_fn fn,
                           void *ctx)
{
    ek_health_board_add(serving->board, serving->readyz, name, fn, ctx);
}

const char *ek_serving_health_address(const struct ek_serving *serving)
{
    return serving->addresses[HEALTH];
}

const char *ek_serving_metrics_address(const struct ek_serving *serving)
{
    return serving->addresses[METRICS];
}

const char *ek_serving_discovery_address(const struct ek_serving *serving)
{
    return serving->addresses[DISCOVERY];
}

/* ---- The thread ---- */

/* The loop ends when nothing is left on it. */
static void end_if_idle(struct ek_serving *s)
{
    if (!s->closing || s->n_open > 0 || uv_is_closing((uv_handle_t *)&s->wake))
        return;
    if (s->relay && !ek_review_relay_is_idle(s->relay))
        return;
    uv_close((uv_handle_t *)&s->wake, NULL);
}

static void on_server_closed(void *ctx)
{
    struct ek_serving *s = ctx;

    if (--s->n_open > 0)
        return;
    ek_metrics_auth_free(s->auth);
    ek_metrics_auth_free(s->discovery_auth);
    s->auth = s->discovery_auth = NULL;
    if (s->gather)
        ek_metrics_gather_end(s->gather);
    if (s->facts)
        ek_metrics_gather_end(s->facts);
    end_if_idle(s);
}

static void on_wake(uv_async_t *async)
{
    struct ek_serving *s = async->data;

    if (s->relay)
        ek_review_relay_run(s->relay);
    if (atomic_load(&s->stopping) && !s->closing) {
        s->closing = true;
        for (int i = 0; i < N_SERVERS; i++)
            ek_http_server_close(s->servers[i], GRACE_MS, on_server_closed, s);
    }
    end_if_idle(s);
}

static void run_thread(void *arg)
{
    struct ek_serving *s = arg;

    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_async_send(&s->ended);
}

/* ---- Start ---- */

/* What differs between the listeners. */
struct listener {
    const char *name, *address;
    const struct ek_http_route *routes;
    size_t n_routes;
    struct ek_tls_identity *identity;
    struct ek_http_limits limits;
};

static struct ek_http_server *make_server(struct ek_serving *s, const struct listener *listener,
                                          struct ek_http_meter *meter)
{
    const struct ek_http_server_config config = {.name = listener->name,
                                                 .bind_address = listener->address,
                                                 .routes = listener->routes,
                                                 .n_routes = listener->n_routes,
                                                 .limits = listener->limits,
                                                 .max_connections = CONNECTIONS_MAX,
                                                 .meter = meter,
                                                 .identity = listener->identity,
                                                 .wall_ms = wall_clock,
                                                 .log = s->config.log};

    return ek_http_server_new(&s->loop, &config);
}

/* No request here has a body; those of kubelets have small heads and are there at once. */
static void make_servers(struct ek_serving *s)
{
    static const struct ek_http_limits health = {.max_head = 4096,
                                                 .max_body = 1,
                                                 .head_timeout_ms = 2000,
                                                 .reply_timeout_ms = 5000,
                                                 .idle_timeout_ms = 30000,
                                                 .write_timeout_ms = 5000};
    static const struct ek_http_limits secure = {.max_head = (size_t)32 * 1024, /* with a token */
                                                 .max_body = 1,
                                                 .handshake_timeout_ms = 5000,
                                                 .head_timeout_ms = 5000};
    const struct ek_run_options *o = s->config.options;
    const struct listener listeners[N_SERVERS] = {
        [HEALTH] = {"health", o->health_address, s->health_routes, EK_ARRAY_SIZE(s->health_routes),
                    NULL, health},
        [METRICS] = {"metrics", o->metrics_address, s->metrics_routes, s->n_metrics_routes,
                     s->auth ? s->identity : NULL, secure},
        [DISCOVERY] = {"discovery", s->config.discovery ? o->discovery_address : "0",
                       &s->discovery_route, 1, s->identity, secure}};

    for (int i = 0; i < N_SERVERS; i++)
        s->servers[i] = make_server(s, &listeners[i], &s->meters[i]);
    s->n_open = N_SERVERS;
}

static void collect_facts(void *ctx)
{
    const struct ek_serving *s = ctx;
    const struct ek_debug_now now = ek_debug_clock();

    ek_ui_collect(s->config.ui, &now);
}

static void add_ui(struct ek_serving *s)
{
    const struct ek_http_route inner = ek_ui_route(s->config.ui);

    s->facts = ek_metrics_gather_open(s->config.loop, &s->loop, collect_facts, s, &inner);
    s->metrics_routes[s->n_metrics_routes++] = ek_metrics_gather_route(s->facts);
}

static struct ek_metrics_auth *make_auth(struct ek_serving *s)
{
    return ek_metrics_auth_new(
        &(struct ek_metrics_auth_config){.reviewer = ek_review_relay_reviewer(s->relay),
                                         .now_ms = loop_clock,
                                         .now_ctx = &s->loop,
                                         .log = s->config.log});
}

/* Only who the API server knows and allows gets to the routes. */
static void guard_routes(struct ek_serving *s, bool metrics)
{
    const struct ek_reviewer client = ek_metrics_auth_client(s->config.client);

    s->asker = ek_webhook_asker_new(s->config.loop, &client);
    s->relay = ek_review_relay_new(s->asker, &s->wake);
    if (metrics)
        s->auth = make_auth(s);
    for (size_t i = 0; i < s->n_metrics_routes && metrics; i++) {
        const struct ek_http_route open = s->metrics_routes[i];
        s->metrics_routes[i] = ek_metrics_auth_route(s->auth, &open);
    }
    if (!s->config.discovery)
        return;
    const struct ek_reviewer sender = ek_review_relay_reviewer(s->relay);
    const struct ek_http_route open =
        ek_discovery_endpoint_route(s->config.discovery, &sender, &s->loop);
    s->discovery_auth = make_auth(s);
    s->discovery_route = ek_metrics_auth_route(s->discovery_auth, &open);
}

static void make_routes(struct ek_serving *s, bool secure)
{
    s->health_routes[0] = ek_health_route(s->healthz);
    s->health_routes[1] = ek_health_route(s->readyz);
    s->metrics_routes[0] = ek_metrics_route(s->config.metrics);
    s->n_metrics_routes = 1;
    if (s->config.collect) {
        struct ek_http_route inner = s->metrics_routes[0];
        s->gather = ek_metrics_gather_open(s->config.loop, &s->loop, s->config.collect,
                                           s->config.ctx, &inner);
        s->metrics_routes[0] = ek_metrics_gather_route(s->gather);
    }
    if (secure && s->config.ui)
        add_ui(s);
    if (secure || s->config.discovery)
        guard_routes(s, secure);
}

static int listen_all(struct ek_serving *s, struct ek_err *err)
{
    for (int i = 0; i < N_SERVERS; i++) {
        int rc = ek_http_server_start(s->servers[i], err);
        if (rc)
            return rc;
        snprintf(s->addresses[i], sizeof s->addresses[i], "%s",
                 ek_http_server_address(s->servers[i]));
    }
    return 0;
}

static void on_ended(uv_async_t *async);
static void clear(struct ek_serving *s, void (*on_closed)(void *ctx));

static int start_serving(void *ctx, struct ek_err *err)
{
    struct ek_serving *s = ctx;
    const struct ek_run_options *o = s->config.options;
    bool secure = o->metrics_secure && !ek_http_address_is_off(o->metrics_address);

    int rc = secure || s->config.discovery ? make_identity(s, err) : 0;
    if (rc)
        return rc;
    uv_loop_init(&s->loop);
    uv_async_init(&s->loop, &s->wake, on_wake);
    uv_async_init(s->config.loop, &s->ended, on_ended);
    s->wake.data = s->ended.data = s;
    make_routes(s, secure);
    make_servers(s);
    ek_health_board_start(s->board);
    rc = listen_all(s, err);
    if (rc) { /* what could not start will not be stopped either */
        atomic_store(&s->stopping, true);
        on_wake(&s->wake);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        clear(s, NULL);
        return rc;
    }
    if (uv_thread_create(&s->thread, run_thread, s))
        abort(); /* no threads at the start of the process: nothing sensible is left to do */
    return 0;
}

/* ---- Stop ---- */

static void on_part_stopped(void *ctx)
{
    struct ek_serving *s = ctx;

    if (--s->n_stopping == 0)
        s->stopped(s->token);
}

static void on_ended_closed(uv_handle_t *handle)
{
    struct ek_serving *s = handle->data;

    if (s->stopped)
        on_part_stopped(s);
}

/* Releases what the thread has left. */
static void clear(struct ek_serving *s, void (*on_closed)(void *ctx))
{
    s->n_stopping = 3 + (s->asker != NULL) + (s->gather != NULL) + (s->facts != NULL);
    ek_review_relay_free(s->relay);
    s->relay = NULL;
    if (s->gather)
        ek_metrics_gather_close(s->gather, on_closed, s);
    s->gather = NULL;
    if (s->facts)
        ek_metrics_gather_close(s->facts, on_closed, s);
    s->facts = NULL;
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    if (s->asker)
        ek_webhook_asker_close(s->asker, on_closed, s);
    s->asker = NULL;
    ek_cert_watcher_close(s->watcher, on_closed, s);
    ek_health_board_close(s->board, on_closed, s);
    uv_close((uv_handle_t *)&s->ended, on_ended_closed);
}

static void on_ended(uv_async_t *async)
{
    struct ek_serving *s = async->data;

    uv_thread_join(&s->thread);
    clear(s, on_part_stopped);
}

static void stop_serving(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_serving *s = ctx;

    s->stopped = stopped;
    s->token = token;
    if (s->asker) /* ends the reviews that wait, so that the thread need not wait */
        ek_webhook_asker_cancel(s->asker);
    atomic_store(&s->stopping, true);
    uv_async_send(&s->wake);
}

void ek_serving_runnable(struct ek_serving *serving, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){.name = "HTTP servers",
                                         .group = EK_GROUP_HTTP,
                                         .start = start_serving,
                                         .stop = stop_serving,
                                         .ctx = serving};
}

void ek_serving_free(struct ek_serving *serving)
{
    if (!serving)
        return;
    ek_health_free(serving->healthz);
    ek_health_free(serving->readyz);
    ek_health_board_free(serving->board);
    ek_tls_identity_free(serving->identity);
    ek_free(serving);
}
