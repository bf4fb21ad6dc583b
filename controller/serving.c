/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/serving.h"

#include <sys/time.h>

#include "controller/cert_watcher.h"
#include "controller/http_server.h"
#include "controller/metrics_auth.h"
#include "controller/metrics_http.h"
#include "controller/tls.h"

/* How long a request may go on after the listener was told to stop. */
#define GRACE_MS 5000

struct ek_serving {
    struct ek_serving_config config;
    struct ek_health *healthz, *readyz;
    struct ek_http_route health_routes[2];
    struct ek_http_route metrics_routes[1];
    struct ek_tls_identity *identity;
    struct ek_cert_watcher *watcher;
    struct ek_metrics_auth *auth; /* NULL when /metrics is open to all */
    struct ek_http_server *health_server, *metrics_server;
    int n_stopping;
    void (*stopped)(void *token);
    void *token;
};

static int64_t wall_clock(void *ctx)
{
    struct timeval tv;
    (void)ctx;
    gettimeofday(&tv, NULL);
    return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
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
    return s;
}

struct ek_health *ek_serving_healthz(struct ek_serving *serving)
{
    return serving->healthz;
}

struct ek_health *ek_serving_readyz(struct ek_serving *serving)
{
    return serving->readyz;
}

static struct ek_http_server *make_server(struct ek_serving *s, const char *name,
                                          const char *address, struct ek_http_route *routes,
                                          size_t n, struct ek_tls_identity *identity)
{
    struct ek_http_server_config config = {.name = name,
                                           .bind_address = address,
                                           .routes = routes,
                                           .n_routes = n,
                                           .identity = identity,
                                           .wall_ms = wall_clock,
                                           .log = s->config.log};
    return ek_http_server_new(s->config.loop, &config);
}

/* Only who the API server knows and allows gets to the route. */
static void guard_metrics(struct ek_serving *s)
{
    struct ek_metrics_auth_config config = {.reviewer = ek_metrics_auth_client(s->config.client),
                                            .now_ms = loop_clock,
                                            .now_ctx = s->config.loop,
                                            .log = s->config.log};
    struct ek_http_route open = s->metrics_routes[0];

    s->auth = ek_metrics_auth_new(&config);
    s->metrics_routes[0] = ek_metrics_auth_route(s->auth, &open);
}

static void close_servers(struct ek_serving *s, void (*on_closed)(void *ctx))
{
    ek_http_server_close(s->health_server, GRACE_MS, on_closed, s);
    ek_http_server_close(s->metrics_server, GRACE_MS, on_closed, s);
    ek_cert_watcher_close(s->watcher, on_closed, s);
}

static int start_serving(void *ctx, struct ek_err *err)
{
    struct ek_serving *s = ctx;
    const struct ek_run_options *o = s->config.options;
    bool secure = o->metrics_secure && !ek_http_address_is_off(o->metrics_address);

    s->health_routes[0] = ek_health_route(s->healthz);
    s->health_routes[1] = ek_health_route(s->readyz);
    s->metrics_routes[0] = ek_metrics_route(s->config.metrics);
    int rc = secure ? make_identity(s, err) : 0;
    if (rc)
        return rc;
    if (secure)
        guard_metrics(s);
    s->health_server = make_server(s, "health", o->health_address, s->health_routes, 2, NULL);
    s->metrics_server =
        make_server(s, "metrics", o->metrics_address, s->metrics_routes, 1, s->identity);
    rc = ek_http_server_start(s->health_server, err);
    if (!rc)
        rc = ek_http_server_start(s->metrics_server, err);
    if (rc) /* what could not start will not be stopped either */
        close_servers(s, NULL);
    return rc;
}

static void on_part_stopped(void *ctx)
{
    struct ek_serving *s = ctx;
    if (--s->n_stopping > 0)
        return;
    ek_metrics_auth_free(s->auth);
    s->auth = NULL;
    s->stopped(s->token);
}

static void stop_serving(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_serving *s = ctx;

    s->stopped = stopped;
    s->token = token;
    s->n_stopping = 3;
    close_servers(s, on_part_stopped);
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
    ek_metrics_auth_free(serving->auth);
    ek_health_free(serving->healthz);
    ek_health_free(serving->readyz);
    ek_tls_identity_free(serving->identity);
    ek_free(serving);
}
