/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/webhook_serving.h"

#include "controller/http/cert_watcher.h"
#include "controller/http/server.h"
#include "controller/webhook/memory.h"
#include "informers/clock.h"

/* Beside two names of the Service and that of --webhook-url. */
#define HOSTS_MAX        (EK_WEBHOOK_CERT_NAMES_MAX - 3)
#define CLIENT_NAMES_MAX 64

/* Until those who call us know that we are leaving: a Service loses an endpoint within a second or
 * two. */
#define LINGER_MS 3000

struct ek_webhook_serving {
    struct ek_webhook_serving_config config;
    struct ek_tls_identity *identity;
    struct ek_webhook *webhook;
    struct ek_webhook_certs *certs;  /* NULL when it is off */
    struct ek_cert_watcher *clients; /* of the client authorities; NULL without, or not started */
    char *client_names[CLIENT_NAMES_MAX];
    size_t n_client_names;
    struct ek_webhook_caller_rules rules;
    struct ek_webhook_callers *callers; /* as the webhook has them */
    char *namespace;
    char *host; /* of --webhook-url, NULL without */
    void (*changed)(void *ctx);
    void *changed_ctx;
};

static void on_changed(void *ctx)
{
    struct ek_webhook_serving *serving = ctx;

    if (serving->changed)
        serving->changed(serving->changed_ctx);
}

/* The host of "https://host:port/..." or "https://[::1]:port". */
static int read_url(struct ek_webhook_serving *serving, struct ek_err *err)
{
    const char *url = serving->config.options->webhook_url;
    const char *host = url + strlen("https://");

    if (!*url)
        return 0;
    if (strncmp(url, "https://", strlen("https://")) != 0)
        return ek_err_set(err, EK_E_INVAL, "--webhook-url: \"%s\" does not start with https://",
                          url);
    bool bracket = *host == '[';
    size_t len = bracket ? strcspn(++host, "]") : strcspn(host, ":/");
    if (len == 0 || (bracket && host[len] != ']') || strpbrk(url, "?#@"))
        return ek_err_set(err, EK_E_INVAL, "--webhook-url: \"%s\" is not a URL with a host", url);
    serving->host = ek_xstrndup(host, len);
    return 0;
}

/* ---- Callers ---- */

static bool asks_for_certificates(const struct ek_webhook_serving *serving)
{
    return *serving->config.options->webhook_client_ca_file != '\0';
}

static int read_client_names(struct ek_webhook_serving *serving, struct ek_err *err)
{
    const char *list = serving->config.options->webhook_client_names;

    if (*list && !asks_for_certificates(serving))
        return ek_err_set(err, EK_E_INVAL,
                          "--webhook-client-names: needs --webhook-client-ca-file");
    while (*list) {
        size_t len = strcspn(list, ",");
        if (!len || serving->n_client_names == CLIENT_NAMES_MAX)
            return ek_err_set(err, EK_E_INVAL,
                              "--webhook-client-names: an empty name, or more "
                              "than %d",
                              CLIENT_NAMES_MAX);
        serving->client_names[serving->n_client_names++] = ek_xstrndup(list, len);
        list += len + (list[len] == ',');
    }
    return 0;
}

static int read_callers(struct ek_webhook_serving *serving, struct ek_err *err)
{
    int rc = read_client_names(serving, err);

    if (rc)
        return rc;
    rc = ek_webhook_caller_rules_parse(serving->config.options->webhook_callers, &serving->rules,
                                       err);
    return rc ? ek_err_prefix(err, "--webhook-callers") : 0;
}

void ek_webhook_serving_observe_peers(struct ek_webhook_serving *serving,
                                      const struct ek_peer_table *peers)
{
    if (!serving->certs || asks_for_certificates(serving) || serving->rules.any)
        return;
    struct ek_webhook_callers *callers = ek_webhook_callers_make(&serving->rules, peers);
    if (ek_webhook_callers_equal(callers, serving->callers)) {
        ek_webhook_callers_unref(callers);
        return;
    }
    ek_webhook_callers_unref(serving->callers);
    serving->callers = callers;
    ek_webhook_set_callers(serving->webhook, ek_webhook_callers_ref(callers));
}

static void on_authorities(void *ctx, const struct ek_err *err, bool changed)
{
    const struct ek_webhook_serving *serving = ctx;

    if (err)
        ek_log_error_limited(serving->config.log, err, 3, 60000,
                             "Cannot read the certificate authorities of the webhook's clients");
    else if (changed)
        ek_log_info(serving->config.log,
                    "Loaded the certificate authorities of the webhook's clients",
                    EK_S("file", serving->config.options->webhook_client_ca_file));
}

static int start_clients(void *ctx, struct ek_err *err)
{
    struct ek_webhook_serving *serving = ctx;
    const struct ek_cert_watcher_config config = {
        .cert_path = serving->config.options->webhook_client_ca_file,
        .client_names = (const char *const *)serving->client_names,
        .n_client_names = serving->n_client_names,
        .on_read = on_authorities,
        .ctx = serving};

    return ek_cert_watcher_new(serving->config.loop, &config, serving->identity, &serving->clients,
                               err);
}

static void stop_clients(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_webhook_serving *serving = ctx;
    struct ek_cert_watcher *clients = serving->clients;

    serving->clients = NULL;
    ek_cert_watcher_close(clients, stopped, token);
}

/* ---- Certificates ---- */

static int check_hosts(const struct ek_flag_list *hosts, struct ek_err *err)
{
    bool empty = false;

    for (size_t i = 0; i < hosts->n; i++)
        empty = empty || !*hosts->items[i];
    if (!empty && hosts->n <= HOSTS_MAX)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "--webhook-cert-hosts: an empty name, or more than %d",
                      HOSTS_MAX);
}

static struct ek_webhook_certs *make_certs(struct ek_webhook_serving *serving)
{
    const struct ek_webhook_serving_config *config = &serving->config;
    const struct ek_run_options *o = config->options;
    EK_AUTOFREE char *service =
        ek_xasprintf("%s.%s.svc", o->webhook_service_name, serving->namespace);
    EK_AUTOFREE char *full = ek_xasprintf("%s.cluster.local", service);
    const char *names[EK_WEBHOOK_CERT_NAMES_MAX];
    size_t n = 0;

    if (*serving->namespace) {
        names[n++] = service;
        names[n++] = full;
    }
    if (serving->host)
        names[n++] = serving->host;
    for (size_t i = 0; i < o->webhook_cert_hosts.n; i++)
        names[n++] = o->webhook_cert_hosts.items[i];
    return ek_webhook_certs_new(&(struct ek_webhook_certs_config){.loop = config->loop,
                                                                  .identity = serving->identity,
                                                                  .cert_path = o->webhook_cert_path,
                                                                  .cert_name = o->webhook_cert_name,
                                                                  .key_name = o->webhook_cert_key,
                                                                  .namespace = serving->namespace,
                                                                  .secret = o->webhook_secret_name,
                                                                  .names = names,
                                                                  .n_names = n,
                                                                  .now_ms = ek_wall_ms,
                                                                  .changed = on_changed,
                                                                  .ctx = serving,
                                                                  .standard = config->standard,
                                                                  .log = config->log});
}

/* Our own certificates need a place; without one there is nothing to serve with. */
static bool has_certificates(const struct ek_webhook_serving *serving)
{
    return *serving->config.options->webhook_cert_path || *serving->namespace;
}

int ek_webhook_serving_new(const struct ek_webhook_serving_config *config,
                           struct ek_webhook_serving **ret_serving, struct ek_err *err)
{
    const struct ek_run_options *o = config->options;
    struct ek_webhook_serving *serving = ek_xalloc(sizeof *serving);
    const char *address = o->webhook_address;

    serving->config = *config;
    serving->namespace = ek_xstrdup(*o->webhook_namespace ? o->webhook_namespace
                                    : config->namespace   ? config->namespace
                                                          : "");
    int rc = read_url(serving, err);
    if (!rc)
        rc = check_hosts(&o->webhook_cert_hosts, err);
    if (!rc)
        rc = read_callers(serving, err);
    if (!rc && (o->webhook_threads < 0 || o->webhook_threads > EK_WEBHOOK_THREADS_MAX))
        rc = ek_err_set(err, EK_E_INVAL, "--webhook-threads: use 0 to %d", EK_WEBHOOK_THREADS_MAX);
    size_t memory = ek_webhook_memory_default("/sys/fs/cgroup");
    if (!rc && *o->webhook_memory) {
        rc = ek_webhook_memory_parse(o->webhook_memory, &memory, err);
        if (rc)
            ek_err_prefix(err, "--webhook-memory-budget");
    }
    if (rc) {
        ek_webhook_serving_free(serving);
        return rc;
    }
    if (!ek_http_address_is_off(address) && !has_certificates(serving)) {
        ek_log_info(config->log, "The admission webhook is off: outside of a cluster it requires "
                                 "--webhook-namespace or --webhook-cert-path");
        address = "0";
    }
    serving->identity = ek_tls_identity_new();
    if (!ek_http_address_is_off(address))
        serving->certs = make_certs(serving);
    serving->webhook = ek_webhook_new(
        &(struct ek_webhook_config){.loop = config->loop,
                                    .bind_address = address,
                                    .threads = (unsigned)o->webhook_threads,
                                    .memory = memory,
                                    .http = config->http,
                                    .identity = serving->identity,
                                    .linger_ms = LINGER_MS,
                                    .refuse_unproven = o->webhook_refuse_unproven,
                                    .reviewer = ek_metrics_auth_client(config->client),
                                    .metrics = config->metrics,
                                    .standard = config->standard,
                                    .log = config->log});
    ek_webhook_serving_observe_peers(serving, NULL);
    *ret_serving = serving;
    return 0;
}

bool ek_webhook_serving_is_on(const struct ek_webhook_serving *serving)
{
    return serving->certs != NULL;
}

void ek_webhook_serving_observe(struct ek_webhook_serving *serving, void (*changed)(void *ctx),
                                void *ctx)
{
    serving->changed = changed;
    serving->changed_ctx = ctx;
}

void ek_webhook_serving_add(struct ek_webhook_serving *serving, struct ek_manager *manager)
{
    struct ek_runnable certs, webhook;
    const struct ek_runnable clients = {.name = "webhook client authorities",
                                        .group = EK_GROUP_WEBHOOKS,
                                        .start = start_clients,
                                        .stop = stop_clients,
                                        .ctx = serving};

    if (!serving->certs)
        return;
    if (asks_for_certificates(serving)) /* before anybody can connect */
        ek_manager_add(manager, &clients);
    if (ek_webhook_certs_runnable(serving->certs, &certs))
        ek_manager_add(manager, &certs);
    ek_webhook_runnable(serving->webhook, &webhook);
    ek_manager_add(manager, &webhook);
}

struct ek_webhook *ek_webhook_serving_webhook(struct ek_webhook_serving *serving)
{
    return serving->webhook;
}

struct ek_webhook_certs *ek_webhook_serving_certs(struct ek_webhook_serving *serving)
{
    return serving->certs;
}

const char *ek_webhook_serving_namespace(const struct ek_webhook_serving *serving)
{
    return serving->namespace;
}

void ek_webhook_serving_free(struct ek_webhook_serving *serving)
{
    if (!serving)
        return;
    ek_webhook_free(serving->webhook);
    ek_webhook_certs_free(serving->certs);
    ek_tls_identity_free(serving->identity);
    for (size_t i = 0; i < serving->n_client_names; i++)
        ek_free(serving->client_names[i]);
    ek_webhook_caller_rules_done(&serving->rules);
    ek_webhook_callers_unref(serving->callers);
    ek_free(serving->namespace);
    ek_free(serving->host);
    ek_free(serving);
}
