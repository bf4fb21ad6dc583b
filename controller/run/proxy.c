/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `evenkeel proxy`: the proxy in front of the API servers, on one loop.
 *
 * The skew subject finds and probes the API servers as in `evenkeel run`, but never writes. Each
 * view that the subject publishes goes onto the board, from which the proxy routes. The prober
 * reads documents again when an API server does not know a type or does not answer, when none may
 * be asked, and when a CRD or an APIService changes (fresh_documents.h).
 */
#include "controller/proxy/proxy.h"

#include <malloc.h>

#include "api/base/time.h"
#include "controller/http/cert_watcher.h"
#include "controller/run/fresh_documents.h"
#include "controller/run/process.h"
#include "controller/run/proxy_account.h"
#include "controller/run/proxy_config.h"
#include "controller/run/proxy_debug.h"
#include "controller/run/proxy_kubeconfig.h"
#include "controller/run/proxy_names.h"
#include "controller/run/proxy_options.h"
#include "controller/run/serving.h"
#include "controller/skew/probe_account.h"
#include "controller/skew/subject.h"
#include "controller/telemetry/process_metrics.h"
#include "informers/client/file.h"
#include "informers/clock.h"
#include "reconcilers/peers/view_build.h"

/* What the other parts get to stop in, after the delay and the drain. */
#define STOP_MS 20000

struct process {
    const struct ek_proxy_command_options *options;
    uv_loop_t loop;
    struct ek_log *log;
    struct ek_client_config *config;
    struct ek_client *client;
    struct ek_probe_account account;
    struct ek_metrics *metrics;
    struct ek_standard_metrics standard;
    struct ek_process_metrics *process_metrics;
    struct ek_proxy_metrics *proxy_metrics;
    struct ek_registry *registry;
    struct ek_controller_row row;
    struct ek_controller *controller;
    struct ek_fresh_documents fresh;
    struct ek_serving *serving;
    struct ek_manager *manager;
    struct ek_tls_identity *identity;
    struct ek_cert_watcher *cert, *clients; /* clients NULL: certificates are not requested */
    struct ek_cert_watcher *trust;          /* NULL: no file has a part of it */
    struct ek_proxy_board *board;
    struct ek_proxy_account *impersonator; /* NULL: nobody is impersonated */
    struct ek_proxy_names *names;          /* NULL: the front-proxy certificate is not used */
    struct ek_egress egress;               /* with --egress-proxy */
    struct ek_proxy_debug debug;
    struct ek_proxy_config proxy_config;
    struct ek_proxy *proxy; /* NULL: not started */
    bool stopping;          /* readiness has ended */
    uv_timer_t delay;       /* until the proxy drains */
    void (*stopped)(void *token);
    void *token;
    uv_async_t stale; /* from the proxy */
};

/* ---- The view ---- */

/* Only the leader of `evenkeel run` writes. */
static bool may_write(void *ctx)
{
    (void)ctx;
    return false;
}

static bool has_peer(const struct ek_view *view, const char *name)
{
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(view, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(peers[i].name, name))
            return true;
    return false;
}

/* More than the age of documents has changed. */
static bool is_news(const struct ek_view *before, const struct ek_view *view)
{
    size_t n = 0, m = 0;
    const struct ek_view_peer *a = before ? ek_view_peers(before, &n) : NULL;
    const struct ek_view_peer *b = ek_view_peers(view, &m);

    if (!before || n != m || ek_view_is_complete(before) != ek_view_is_complete(view) ||
        !ek_view_shares_merged(before, view))
        return true;
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].address, b[i].address) != 0 ||
            a[i].routable != b[i].routable || a[i].down != b[i].down)
            return true;
    return false;
}

static void forget_gone(struct process *p, const struct ek_view *before, const struct ek_view *view)
{
    size_t n = 0;
    const struct ek_view_peer *peers = before ? ek_view_peers(before, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (!has_peer(view, peers[i].name))
            ek_proxy_metrics_peer_gone(p->proxy_metrics, peers[i].name);
}

/* The API servers that take no requests, each with the reason. */
static void log_view(const struct process *p, const struct ek_view *view, size_t routable)
{
    EK_AUTO(ek_buf) others;
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(view, &n);

    ek_buf_init(&others, (size_t)16 * 1024);
    for (size_t i = 0; i < n; i++)
        if (!peers[i].routable)
            ek_buf_printf(&others, "%s%.100s (%s)", others.len ? ", " : "", peers[i].name,
                          peers[i].why_not);
    ek_log_info(p->log, "New view of the API servers", EK_U("apiServers", n),
                EK_U("routable", routable), EK_S("notRoutable", ek_buf_str(&others)),
                EK_B("complete", ek_view_is_complete(view)));
}

static void on_bounds(void *ctx, const struct ek_bounds *bounds)
{
    struct process *p = ctx;
    ek_proxy_board_set_bounds(p->board, bounds);
}

static void on_view(void *ctx, const struct ek_view *view, uint64_t took_ns)
{
    struct process *p = ctx;
    EK_AUTOPTR(ek_view, ek_view_unref) *before = ek_proxy_board_view(p->board);
    size_t n = 0, routable = 0;
    const struct ek_view_peer *peers = ek_view_peers(view, &n);

    for (size_t i = 0; i < n; i++)
        routable += peers[i].routable;
    forget_gone(p, before, view);
    if (ek_view_is_complete(view) && !ek_view_shares_merged(before, view))
        ek_proxy_metrics_merged(p->proxy_metrics, (double)took_ns / 1e9);
    ek_proxy_board_set_view(p->board, ek_view_ref(view));
    if (is_news(before, view))
        log_view(p, view, routable);
}

static int check_view(void *ctx, struct ek_err *err)
{
    struct process *p = ctx;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_proxy_board_view(p->board);

    if (view && ek_view_is_complete(view))
        return 0;
    return ek_err_set(err, EK_E_TIMEOUT, "not all API servers have been read");
}

static int check_shutdown(void *ctx, struct ek_err *err)
{
    const struct process *p = ctx;
    return p->stopping ? ek_err_set(err, EK_E_CANCELED, "the process is stopping") : 0;
}

static int check_synced(void *ctx, struct ek_err *err)
{
    const struct process *p = ctx;
    return ek_manager_check_ready(p->manager, err);
}

static void on_stale_loop(uv_async_t *async)
{
    struct process *p = async->data;
    ek_fresh_documents_want(&p->fresh);
}

static void on_stale(void *ctx)
{
    struct process *p = ctx;
    uv_async_send(&p->stale);
}

static const struct ek_exclusions *exclusions(void *ctx, int64_t now_ms, int64_t *ret_again_ms)
{
    struct process *p = ctx;
    return ek_fresh_documents_exclusions(&p->fresh, now_ms, ret_again_ms);
}

/* ---- Metrics ---- */

static void put_document(const struct process *p, const char *peer,
                         const struct ek_view_document *document)
{
    if (document)
        ek_proxy_metrics_document(p->proxy_metrics, peer, document->body.len);
}

static void put_certificates(struct process *p)
{
    struct ek_proxy_trusts trusts = ek_proxy_board_trusts(p->board);

    ek_proxy_metrics_certificate(p->proxy_metrics, "serving",
                                 ek_tls_identity_not_after(p->identity));
    if (trusts.ours)
        ek_proxy_metrics_certificate(p->proxy_metrics, "client",
                                     ek_tls_trust_not_after(trusts.ours));
    ek_proxy_metrics_certificate(p->proxy_metrics, "kubeconfig",
                                 ek_client_cert_not_after(p->client));
    ek_proxy_trusts_done(&trusts);
}

static void on_scrape(void *ctx)
{
    struct process *p = ctx;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_proxy_board_view(p->board);
    size_t n = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;
    int64_t now_ms = ek_wall_ms();

    ek_registry_collect(p->registry);
    put_certificates(p);
    for (size_t i = 0; i < n; i++) {
        ek_proxy_metrics_peer(
            p->proxy_metrics, peers[i].name, peers[i].routable ? "" : peers[i].why_not,
            peers[i].fetched_ms == EK_TIME_UNSET ? -1
                                                 : (double)(now_ms - peers[i].fetched_ms) / 1000);
        put_document(p, peers[i].name, ek_view_own(view, i, EK_VIEW_APIS, EK_VIEW_V2));
    }
    if (view)
        put_document(p, "", ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2));
}

static void make_metrics(struct process *p)
{
    p->metrics = ek_metrics_new();
    ek_standard_metrics_init(&p->standard, p->metrics);
    p->row = ek_subject_registry_row(&ek_skew_subject);
    p->registry = ek_registry_new(&p->row, 1, &p->standard, p->log);
    p->process_metrics = ek_process_metrics_new(p->metrics, "/proc");
    p->proxy_metrics = ek_proxy_metrics_new(p->metrics);
    ek_build_info_register(p->metrics, EK_VERSION, "");
}

/* ---- Certificates ---- */

/* The file with the authorities of the API servers; NULL: the configuration has their text. */
static const char *peer_authorities(const struct process *p)
{
    return *p->options->peer_ca_file ? p->options->peer_ca_file : p->config->ca_file;
}

static void drop_trusts(void *made)
{
    ek_proxy_trusts_done(made);
    ek_free(made);
}

/* As ek_cert_watcher_config wants it; what is made is struct ek_proxy_trusts. */
static int make_trusts(const void *ctx, const struct ek_cert_texts *texts, void **ret_made,
                       struct ek_err *err)
{
    const struct process *p = ctx;
    struct ek_proxy_trusts *trusts = ek_xalloc(sizeof *trusts);
    struct ek_str ca = peer_authorities(p) ? texts->authorities : ek_str_from(p->config->ca_data);
    struct ek_str cert = texts->cert, key = texts->key;

    if (p->options->impersonate && p->config->cert_data) {
        cert = ek_str_from(p->config->cert_data);
        key = ek_str_from(p->config->key_data);
    }

    int rc = ek_tls_trust_new(ca, EK_STR(""), EK_STR(""),
                              "certificate authority of the API servers", &trusts->bare, err);
    if (!rc && *p->options->proxy_client_cert_file && (texts->cert.len == 0 || texts->key.len == 0))
        rc = ek_err_set(err, EK_E_PARSE, "the front-proxy certificate, or its key, is empty");
    if (!rc && *p->options->client_ca_file)
        rc = ek_tls_trust_new(ca, cert, key,
                              p->options->impersonate ? "client certificate"
                                                      : "front-proxy certificate",
                              &trusts->ours, err);
    if (rc)
        drop_trusts(trusts);
    else
        *ret_made = trusts;
    return rc;
}

static void use_trusts(void *ctx, void *made)
{
    const struct process *p = ctx;

    ek_proxy_board_set_trusts(p->board, *(struct ek_proxy_trusts *)made);
    ek_free(made);
}

static void on_read(void *ctx, const struct ek_err *err, bool changed)
{
    struct process *p = ctx;

    ek_standard_metrics_certificate_read(&p->standard, err == NULL);
    if (err)
        ek_log_error_limited(p->log, err, 1, 60000, "Cannot read a certificate of the proxy");
    else if (changed)
        ek_log_info(p->log, "Read a certificate of the proxy");
}

static void on_clients_read(void *ctx, const struct ek_err *err, bool changed)
{
    struct process *p = ctx;

    on_read(ctx, err, changed);
    if (!err && changed && p->proxy)
        ek_proxy_end_users(p->proxy);
}

/* Connections that exist keep the trust that they began with. */
static int trust_peers(struct process *p, struct ek_err *err)
{
    const struct ek_proxy_command_options *o = p->options;
    const struct ek_cert_watcher_config config = {
        .cert_path = *o->proxy_client_cert_file ? o->proxy_client_cert_file
                     : o->impersonate           ? p->config->cert_file
                                                : NULL,
        .key_path = *o->proxy_client_key_file ? o->proxy_client_key_file
                    : o->impersonate          ? p->config->key_file
                                              : NULL,
        .authorities_path = peer_authorities(p),
        .make = make_trusts,
        .use = use_trusts,
        .drop = drop_trusts,
        .on_read = on_read,
        .ctx = p};
    void *made = NULL;

    if (!config.authorities_path && !p->config->ca_data)
        return ek_err_set(err, EK_E_INVAL,
                          "--peer-ca-file is required: the client configuration names no "
                          "certificate authority");
    if (config.cert_path || config.authorities_path)
        return ek_cert_watcher_new(&p->loop, &config, NULL, &p->trust, err);
    int rc = make_trusts(p, &(struct ek_cert_texts){0}, &made, err);
    if (!rc)
        use_trusts(p, made);
    return rc;
}

static int make_identity(struct process *p, struct ek_err *err)
{
    const struct ek_proxy_command_options *o = p->options;
    struct ek_cert_watcher_config cert = {.cert_path = o->tls_cert_file,
                                          .key_path = o->tls_private_key_file,
                                          .on_read = on_read,
                                          .ctx = p};
    struct ek_cert_watcher_config clients = {.cert_path = o->client_ca_file,
                                             .clients_optional = true,
                                             .on_read = on_clients_read,
                                             .ctx = p};

    p->identity = ek_tls_identity_new();
    int rc = ek_cert_watcher_new(&p->loop, &cert, p->identity, &p->cert, err);
    if (rc)
        return ek_err_prefix(err, "--tls-cert-file");
    if (!*o->client_ca_file)
        return 0;
    rc = ek_cert_watcher_new(&p->loop, &clients, p->identity, &p->clients, err);
    return rc ? ek_err_prefix(err, "--client-ca-file") : 0;
}

/* ---- The proxy as a part of the process ---- */

static int start_proxy(void *ctx, struct ek_err *err)
{
    struct process *p = ctx;
    return ek_proxy_new(&p->loop, &p->proxy_config, &p->proxy, err);
}

static void drain_proxy(struct process *p)
{
    struct ek_proxy *proxy = p->proxy;

    p->proxy = NULL;
    ek_proxy_close(proxy, p->options->drain_ms, p->stopped, p->token);
}

static void on_delay_closed(uv_handle_t *handle)
{
    drain_proxy(handle->data);
}

static void on_delay(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, on_delay_closed);
}

/* First readiness ends, and clients go to others (k8s.io/apiserver 1.36, pkg/server/options/
 * server_run_options.go: ShutdownDelayDuration); then the proxy takes no more connections. */
static void stop_proxy(void *ctx, void (*stopped)(void *token), void *token)
{
    struct process *p = ctx;

    p->stopping = true;
    p->stopped = stopped;
    p->token = token;
    if (p->options->delay_ms == 0) {
        drain_proxy(p);
        return;
    }
    ek_log_info(p->log, "Serving until load balancers have seen the end of readiness",
                EK_I("milliseconds", p->options->delay_ms));
    uv_timer_init(&p->loop, &p->delay);
    p->delay.data = p;
    uv_timer_start(&p->delay, on_delay, (uint64_t)p->options->delay_ms, 0);
}

static void make_proxy(struct process *p)
{
    const struct ek_proxy_command_options *o = p->options;
    const struct ek_flag_list *names = &o->identity_headers;
    const struct ek_flag_list *prefixes = &o->identity_header_prefixes;

    p->proxy_config = (struct ek_proxy_config){
        .options = {.address = o->bind_address,
                    .identity = p->identity,
                    .policy = {.mode = o->impersonate       ? EK_IDENTITY_IMPERSONATE
                                       : *o->client_ca_file ? EK_IDENTITY_FRONT_PROXY
                                                            : EK_IDENTITY_TOKENS,
                               .names = (const char *const *)names->items,
                               .n_names = names->n,
                               .prefixes = (const char *const *)prefixes->items,
                               .n_prefixes = prefixes->n},
                    .egress = *o->egress_proxy ? &p->egress : NULL,
                    .peer_rate = o->peer_rate,
                    .connections_per_client = (size_t)o->client_connections,
                    .requests_per_client = (size_t)o->client_requests,
                    .answer_ms = o->answer_ms,
                    .grant_ms = o->grant_ms,
                    .access_log = o->access_log},
        .board = p->board,
        .metrics = p->proxy_metrics,
        .log = p->log};
}

/* ---- Wiring ---- */

static void make_controller(struct process *p)
{
    struct ek_subject_env env = {.loop = &p->loop,
                                 .client = p->client,
                                 .metrics = p->metrics,
                                 .log = p->log,
                                 .account = &p->account,
                                 .now_ms = ek_wall_ms,
                                 .may_write = may_write,
                                 .publish_view = on_view,
                                 .publish_bounds = on_bounds,
                                 .exclusions = exclusions,
                                 .ctx = p,
                                 .documents_ms = p->options->discovery_ms,
                                 .observer = ek_registry_observer(p->registry, 0),
                                 .queue = ek_registry_queue(p->registry, 0)};

    /* The flag was checked when it was read. */
    ek_probe_account_parse(p->options->run.probe_account, ek_process_namespace(p->config),
                           &p->account, NULL);
    ek_fresh_documents_watch(&p->fresh, p->client, p->log);
    p->controller = ek_controller_new(&ek_skew_subject, &env);
    ek_fresh_documents_set_reader(&p->fresh, p->controller);
    ek_registry_set(p->registry, 0, p->controller);
}

static void make_manager(struct process *p)
{
    struct ek_manager_config config = {.grace_ms =
                                           p->options->delay_ms + p->options->drain_ms + STOP_MS,
                                       .on_phase = ek_process_on_phase,
                                       .ctx = p->log};
    struct ek_serving_config serving = {.loop = &p->loop,
                                        .options = &p->options->run,
                                        .client = p->client,
                                        .metrics = p->metrics,
                                        .standard = &p->standard,
                                        .collect = on_scrape,
                                        .ctx = p,
                                        .log = p->log};
    struct ek_runnable proxy = {.name = "proxy",
                                .group = EK_GROUP_OTHERS,
                                .start = start_proxy,
                                .stop = stop_proxy,
                                .ctx = p};
    struct ek_runnable watch, custom, names, runner, health;

    p->manager = ek_manager_new(&config);
    p->serving = ek_serving_new(&serving);
    ek_serving_runnable(p->serving, &health);
    ek_controller_runnables(p->controller, &watch, &runner);
    ek_fresh_documents_runnable(&p->fresh, &custom);
    /* Views are made until the proxy has drained. */
    runner.group = EK_GROUP_CACHES;
    ek_manager_add(p->manager, &health);
    ek_manager_add(p->manager, &watch);
    ek_manager_add(p->manager, &custom);
    if (p->names) {
        ek_proxy_names_runnable(p->names, &names);
        ek_manager_add(p->manager, &names);
    }
    ek_manager_add(p->manager, &runner);
    ek_manager_add(p->manager, &proxy);
    ek_serving_add_readyz(p->serving, "informer-sync", check_synced, p);
    ek_serving_add_readyz(p->serving, "view", check_view, p);
    ek_serving_add_readyz(p->serving, "shutdown", check_shutdown, p);
}

static int set_fallbacks(const struct process *p, struct ek_err *err)
{
    const struct ek_flag_list *list = &p->options->fallback_servers;
    int rc = ek_client_set_fallbacks(p->client, (const char *const *)list->items, list->n, err);
    return rc ? ek_err_prefix(err, "--fallback-servers") : 0;
}

static int make(struct process *p, struct ek_err *err)
{
    int rc = ek_run_options_log(&p->options->run, &p->log, err);
    if (!rc)
        rc = ek_proxy_options_check(p->options, err);
    if (rc)
        return rc;
    make_metrics(p);
    rc = ek_process_client(&p->loop, &p->options->run.cluster, p->log, &p->standard, &p->config,
                           &p->client, err);
    if (!rc && p->options->fallback_servers.n > 0)
        rc = set_fallbacks(p, err);
    if (!rc && *p->options->egress_proxy) {
        rc = ek_egress_parse(p->options->egress_proxy, &p->egress, err);
        ek_client_set_egress(p->client, p->options->egress_proxy);
    }
    if (!rc && p->options->impersonate)
        rc = ek_proxy_account_new(&p->loop, p->config, p->board, p->log, &p->impersonator, err);
    if (!rc)
        rc = trust_peers(p, err);
    if (!rc)
        rc = make_identity(p, err);
    if (rc)
        return rc;
    make_proxy(p);
    if (p->proxy_config.options.policy.mode == EK_IDENTITY_FRONT_PROXY)
        p->names = ek_proxy_names_new(&p->loop, p->client, p->board, p->log);
    make_controller(p);
    make_manager(p);
    const struct ek_proxy_debug_config debug = {.loop = &p->loop,
                                                .socket = p->options->run.debug_socket,
                                                .server = ek_client_server(p->client),
                                                .log = p->log,
                                                .registry = p->registry,
                                                .manager = p->manager,
                                                .controller = p->controller,
                                                .proxy = &p->proxy};
    return ek_proxy_debug_start(&p->debug, &debug, err);
}

static void destroy(struct process *p)
{
    ek_proxy_debug_stop(&p->debug);
    uv_close((uv_handle_t *)&p->stale, NULL);
    ek_proxy_account_close(p->impersonator);
    ek_proxy_names_close(p->names);
    ek_cert_watcher_close(p->clients, NULL, NULL);
    ek_cert_watcher_close(p->trust, NULL, NULL);
    ek_cert_watcher_close(p->cert, NULL, NULL);
    ek_controller_close(p->controller, NULL, NULL);
    ek_fresh_documents_close(&p->fresh);
    ek_process_end(&p->loop, p->client);
    ek_serving_free(p->serving);
    ek_manager_free(p->manager);
    ek_proxy_board_free(p->board);
    ek_tls_identity_free(p->identity);
    ek_proxy_metrics_free(p->proxy_metrics);
    ek_process_metrics_free(p->process_metrics);
    ek_metrics_free(p->metrics);
    ek_registry_free(p->registry);
    ek_client_config_free(p->config);
    ek_log_free(p->log);
}

static int run(void *options, char **args, int n_args)
{
    struct process p = {.options = options};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)args;
    (void)n_args;
    ek_process_begin(&p.loop);
    /* Responses come and go in pieces of 32 kB: their pages do not go back to the system each time.
     */
    mallopt(M_TRIM_THRESHOLD, 2 << 20);
    uv_async_init(&p.loop, &p.stale, on_stale_loop);
    ek_fresh_documents_init(&p.fresh, &p.loop);
    p.stale.data = &p;
    p.board = ek_proxy_board_new(on_stale, &p);
    if (make(&p, &err)) {
        ek_complain(&err);
    } else {
        ek_log_info(p.log, "Starting the proxy", EK_S("version", EK_VERSION),
                    EK_S("server", ek_client_server(p.client)));
        code = ek_process_run(p.manager, &p.loop, p.log);
    }
    destroy(&p);
    return code;
}

/* ---- The command line ---- */

static int read_config(const char *path, int argc, char **argv, struct ek_proxy_arguments *ret_all,
                       struct ek_err *err)
{
    char *text = NULL;
    size_t len = 0;

    int rc = ek_file_read(path, EK_PROXY_CONFIG_MAX, &text, &len, err);
    if (!rc)
        rc = ek_proxy_config_merge(&ek_proxy_command, path, text, len, argc, argv, ret_all, err);
    ek_free(text);
    return rc ? ek_err_prefix(err, "--config") : 0;
}

/* Adds the file of --config to the command line; mistakes of the command line are left to who
 * parses it. */
static int expand(int argc, char **argv, struct ek_proxy_arguments *ret_all, struct ek_err *err)
{
    struct ek_proxy_command_options options = {0};
    struct ek_flags_result result = {0};

    int bad = ek_flags_parse(&ek_proxy_command, argc, argv, &options, &result, NULL);
    int rc = !bad && !result.help && *options.config
                 ? read_config(options.config, argc, argv, ret_all, err)
                 : 0;
    ek_flags_done(&ek_proxy_command, &options, &result);
    return rc;
}

static int run_proxy(void *unused, int argc, char **argv)
{
    struct ek_proxy_command_options options = {0};
    struct ek_proxy_arguments all = {0};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)unused;
    if (argc > 0 && !strcmp(argv[0], "kubeconfig"))
        return ek_proxy_kubeconfig_command.run(NULL, argc - 1, argv + 1);
    if (expand(argc, argv, &all, &err))
        ek_complain(&err);
    else
        code = ek_command_run(&ek_proxy_command, all.items ? all.n : argc,
                              all.items ? all.items : argv, &options, run);
    ek_proxy_arguments_done(&all);
    return code;
}

const struct ek_command ek_proxy_command = {
    .name = "proxy",
    .usage = "[kubeconfig]",
    .sub = &ek_proxy_kubeconfig_command,
    .summary = "Run the proxy: route each request to an API server that serves the type",
    .text = "Finds the API servers of the cluster and reads what each of them serves. Routes each "
            "request to an API server that serves the type, and answers discovery for all of them. "
            "Never writes to the cluster of its own accord. Until all API servers have been read, "
            "requests are answered by 503.\n\nThe kubeconfig must name an API server or a load "
            "balancer, and not the proxy. `evenkeel proxy kubeconfig` prints a kubeconfig for "
            "clients of the proxy; see its --help. Exit codes: 0 after a clean stop (SIGTERM or "
            "SIGINT), 1 "
            "after an error. A second signal ends the process at once.",
    .groups = ek_proxy_flag_groups,
    .n_groups = EK_PROXY_FLAG_GROUPS,
    .max_args = 0,
    .run = run_proxy,
};
