/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook_serving.h"

#include <sys/time.h>

#include "controller/http_server.h"

#define NAMES_MAX 4

/* Until those who call us know that we are leaving: a Service loses an endpoint within a second or
 * two. */
#define LINGER_MS 3000

struct ek_webhook_serving {
    struct ek_webhook_serving_config config;
    struct ek_tls_identity *identity;
    struct ek_webhook *webhook;
    struct ek_webhook_certs *certs; /* NULL when it is off */
    char *namespace;
    char *host; /* of --webhook-url, NULL without */
    void (*changed)(void *ctx);
    void *changed_ctx;
};

static int64_t wall_ms(void)
{
    struct timeval tv;

    gettimeofday(&tv, NULL);
    return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

static bool may_write(void *ctx)
{
    const struct ek_webhook_serving *serving = ctx;

    return serving->config.may_write(serving->config.ctx);
}

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
        return ek_err_set(err, EK_E_INVAL, "--webhook-url: \"%s\" is no URL of a host", url);
    serving->host = ek_xstrndup(host, len);
    return 0;
}

static struct ek_webhook_certs *make_certs(struct ek_webhook_serving *serving)
{
    const struct ek_webhook_serving_config *config = &serving->config;
    const struct ek_run_options *o = config->options;
    EK_AUTOFREE char *service =
        ek_xasprintf("%s.%s.svc", o->webhook_service_name, serving->namespace);
    EK_AUTOFREE char *full = ek_xasprintf("%s.cluster.local", service);
    const char *names[NAMES_MAX];
    size_t n = 0;

    if (*serving->namespace) {
        names[n++] = service;
        names[n++] = full;
    }
    if (serving->host)
        names[n++] = serving->host;
    return ek_webhook_certs_new(&(struct ek_webhook_certs_config){.loop = config->loop,
                                                                  .client = config->client,
                                                                  .identity = serving->identity,
                                                                  .cert_path = o->webhook_cert_path,
                                                                  .cert_name = o->webhook_cert_name,
                                                                  .key_name = o->webhook_cert_key,
                                                                  .namespace = serving->namespace,
                                                                  .secret = o->webhook_secret_name,
                                                                  .names = names,
                                                                  .n_names = n,
                                                                  .now_ms = wall_ms,
                                                                  .may_write = may_write,
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
    if (!rc && (o->webhook_threads < 0 || o->webhook_threads > EK_WEBHOOK_THREADS_MAX))
        rc = ek_err_set(err, EK_E_INVAL, "--webhook-threads: use 0 to %d", EK_WEBHOOK_THREADS_MAX);
    if (rc) {
        ek_webhook_serving_free(serving);
        return rc;
    }
    if (!ek_http_address_is_off(address) && !has_certificates(serving)) {
        ek_log_info(config->log, "No admission webhook: outside a cluster it needs "
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
                                    .identity = serving->identity,
                                    .linger_ms = LINGER_MS,
                                    .reviewer = ek_metrics_auth_client(config->client),
                                    .metrics = config->metrics,
                                    .standard = config->standard,
                                    .log = config->log});
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

    if (!serving->certs)
        return;
    ek_webhook_certs_runnable(serving->certs, &certs);
    ek_webhook_runnable(serving->webhook, &webhook);
    ek_manager_add(manager, &certs);
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
    ek_free(serving->namespace);
    ek_free(serving->host);
    ek_free(serving);
}
