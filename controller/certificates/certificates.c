/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates/certificates.h"

#include <string.h>

#include "controller/certificates/certificates-internal.h"
#include "controller/http/cert_watcher.h"
#include "informers/client/file.h"

#define BUNDLE_FILE     "ca.crt"
#define BUNDLE_FILE_MAX ((size_t)1024 * 1024)

/* ---- What is known ---- */

void ek_webhook_certs_set_bundle__(struct ek_webhook_certs *certs, char *bundle)
{
    bool same = bundle && certs->bundle ? !strcmp(bundle, certs->bundle) : bundle == certs->bundle;

    if (same) {
        ek_free(bundle);
        return;
    }
    ek_free(certs->bundle);
    certs->bundle = bundle;
    ek_publication_renew(&certs->published);
    if (certs->config.changed)
        certs->config.changed(certs->config.ctx);
}

void ek_webhook_certs_serve__(struct ek_webhook_certs *certs, const struct ek_cert_pair *leaf)
{
    struct ssl_ctx_st *context = NULL;
    struct ek_err err;

    if (!leaf->cert || !leaf->key || (certs->serving && !strcmp(certs->serving, leaf->cert)))
        return;
    if (ek_tls_context_new(ek_str_from(leaf->cert), ek_str_from(leaf->key), certs->key, &context,
                           &err)) {
        ek_log_error_limited(certs->config.log, &err, 3, 60000,
                             "Serving certificate of the webhook not usable");
        return;
    }
    ek_tls_identity_set(certs->config.identity, context);
    ek_free(certs->serving);
    certs->serving = ek_xstrdup(leaf->cert);
    ek_log_info(certs->config.log, "Serving certificate of the webhook loaded",
                EK_S("secret", certs->key));
}

/* ---- Files ---- */

static void read_bundle(struct ek_webhook_certs *certs)
{
    char *text = NULL;
    size_t size;

    if (ek_file_read(certs->bundle_path, BUNDLE_FILE_MAX, &text, &size, NULL))
        text = NULL;
    ek_webhook_certs_set_bundle__(certs, text);
}

static void on_files(void *ctx, const struct ek_err *err, bool changed)
{
    struct ek_webhook_certs *certs = ctx;

    if (certs->config.standard)
        ek_standard_metrics_certificate_read(certs->config.standard, !err);
    if (err)
        ek_log_error_limited(certs->config.log, err, 3, 60000,
                             "Serving certificate of the webhook not read");
    else if (changed)
        ek_log_info(certs->config.log, "Serving certificate of the webhook loaded",
                    EK_S("file", certs->cert_path));
    read_bundle(certs);
}

static int start_files(struct ek_webhook_certs *certs, struct ek_err *err)
{
    struct ek_cert_watcher_config config = {.cert_path = certs->cert_path,
                                            .key_path = certs->key_path,
                                            .on_read = on_files,
                                            .ctx = certs};

    return ek_cert_watcher_new(certs->config.loop, &config, certs->config.identity, &certs->watcher,
                               err);
}

/* ---- Life ---- */

static int start(void *ctx, struct ek_err *err)
{
    return start_files(ctx, err);
}

static void stop(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_webhook_certs *certs = ctx;
    struct ek_cert_watcher *watcher = certs->watcher;

    certs->watcher = NULL;
    ek_cert_watcher_close(watcher, stopped, token);
}

bool ek_webhook_certs_runnable(struct ek_webhook_certs *certs, struct ek_runnable *ret_runnable)
{
    if (!certs->cert_path)
        return false;
    *ret_runnable = (struct ek_runnable){.name = "webhook certificate files",
                                         .group = EK_GROUP_WEBHOOKS,
                                         .start = start,
                                         .stop = stop,
                                         .ctx = certs};
    return true;
}

static char *in_folder(const char *folder, const char *name, const char *initial)
{
    return ek_xasprintf("%s/%s", folder, name && *name ? name : initial);
}

struct ek_webhook_certs *ek_webhook_certs_new(const struct ek_webhook_certs_config *config)
{
    struct ek_webhook_certs *certs = ek_xalloc(sizeof *certs);

    certs->config = *config;
    ek_publication_init(&certs->published);
    if (config->cert_path && *config->cert_path) {
        certs->cert_path = in_folder(config->cert_path, config->cert_name, "tls.crt");
        certs->key_path = in_folder(config->cert_path, config->key_name, "tls.key");
        certs->bundle_path = in_folder(config->cert_path, NULL, BUNDLE_FILE);
        return certs;
    }
    certs->namespace = ek_xstrdup(config->namespace);
    certs->secret = ek_xstrdup(config->secret);
    certs->key = ek_xasprintf("%s/%s", config->namespace, config->secret);
    if (certs->config.n_names > EK_WEBHOOK_CERT_NAMES_MAX)
        certs->config.n_names = EK_WEBHOOK_CERT_NAMES_MAX;
    for (size_t i = 0; i < certs->config.n_names; i++)
        certs->names[i] = ek_xstrdup(config->names[i]);
    return certs;
}

const char *ek_webhook_ca_bundle(const struct ek_webhook_certs *certs)
{
    return certs->bundle;
}

size_t ek_webhook_certs_expect(struct ek_webhook_certs *certs)
{
    return ek_publication_expect(&certs->published);
}

void ek_webhook_certs_published(struct ek_webhook_certs *certs, size_t publisher,
                                const char *bundle, bool everywhere)
{
    /* A publisher that reports another bundle has not seen this one yet, and will report again. */
    if (!certs->bundle || !bundle || strcmp(bundle, certs->bundle) != 0)
        return;
    if (ek_publication_report(&certs->published, publisher, everywhere, certs->config.now_ms()) &&
        certs->controller)
        ek_controller_observe(certs->controller);
}

void ek_webhook_certs_free(struct ek_webhook_certs *certs)
{
    if (!certs)
        return;
    for (size_t i = 0; i < certs->config.n_names && certs->names[i]; i++)
        ek_free(certs->names[i]);
    ek_free(certs->cert_path);
    ek_free(certs->key_path);
    ek_free(certs->bundle_path);
    ek_free(certs->namespace);
    ek_free(certs->secret);
    ek_free(certs->key);
    ek_free(certs->serving);
    ek_free(certs->bundle);
    ek_publication_done(&certs->published);
    ek_free(certs);
}
