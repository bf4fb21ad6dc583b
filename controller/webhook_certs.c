/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook_certs.h"

#include <string.h>

#include "api/time.h"
#include "controller/apply.h"
#include "controller/cert_watcher.h"
#include "controller/webhook_cert_secret.h"
#include "informers/file.h"

#define RETRY_MS        5000
#define BUNDLE_FILE     "ca.crt"
#define BUNDLE_FILE_MAX ((size_t)1024 * 1024)

struct ek_webhook_certs {
    struct ek_webhook_certs_config config;
    char *cert_path, *key_path, *bundle_path; /* of files; NULL for the Secret */
    char *namespace, *secret, *key;           /* key is that of the store */
    char *names[EK_WEBHOOK_CERT_NAMES_MAX];
    struct ek_resource resource;

    struct ek_cert_watcher *watcher;
    struct ek_informer *informer;
    uv_timer_t timer;
    bool started, stopping;

    struct ek_obj *current; /* the newest Secret that is known, NULL for none */
    struct ek_obj *good;    /* the newest one that was of use */
    char *serving;          /* the leaf in use, PEM */
    char *bundle;
    struct ek_publication published; /* of bundle */
    struct ek_apply *write;
    bool told; /* the informer has told something since the write began */

    int n_stopping;
    void (*stopped)(void *token);
    void *token;
};

/* ---- What is known ---- */

static void set_bundle(struct ek_webhook_certs *certs, char *bundle)
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

/* Serves the leaf from now on; one that does not fit its key is left alone. */
static void serve(struct ek_webhook_certs *certs, const struct ek_cert_pair *leaf)
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

static void set_current(struct ek_webhook_certs *certs, const struct ek_obj *obj)
{
    int order = 0;

    /* What we wrote may be newer than what the informer tells. */
    if (obj && certs->current && !strcmp(ek_obj_uid(obj), ek_obj_uid(certs->current)) &&
        !ek_resource_version_compare(ek_obj_resource_version(obj),
                                     ek_obj_resource_version(certs->current), &order) &&
        order < 0)
        return;
    struct ek_obj *old = certs->current;
    certs->current = ek_obj_ref(obj);
    ek_obj_unref(old);
}

/* ---- The Secret ---- */

static void look(struct ek_webhook_certs *certs);

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

static void look_in(struct ek_webhook_certs *certs, int64_t ms)
{
    if (!certs->stopping)
        uv_timer_start(&certs->timer, on_timer, ms > 1 ? (uint64_t)ms : 1, 0);
}

static void on_written(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_webhook_certs *certs = ctx;

    certs->write = NULL;
    if (err && ek_apply_classify(err) != EK_APPLY_CONFLICT)
        ek_log_error_limited(certs->config.log, err, 3, 60000,
                             "Cannot write the webhook's certificates", EK_S("secret", certs->key));
    if (obj)
        set_current(certs, obj);
    /* After a conflict, or when it exists already, the informer tells what there is, or has. */
    look_in(certs, obj || certs->told ? 1 : RETRY_MS);
}

static void write_secret(struct ek_webhook_certs *certs, const struct ek_cert_secret *secret)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *content = ek_cert_secret_content(secret, doc);
    struct ek_apply_target target = {.resource = &certs->resource, .name = certs->secret};

    certs->told = false;
    if (certs->current) {
        target.uid = ek_obj_uid(certs->current);
        target.resource_version = ek_obj_resource_version(certs->current);
        certs->write = ek_apply_object(certs->config.client, &target, content, on_written, certs);
    } else {
        certs->write = ek_apply_create(certs->config.client, &target, content, on_written, certs);
    }
    yyjson_mut_doc_free(doc);
}

static void carry_out(struct ek_webhook_certs *certs, struct ek_cert_secret *secret,
                      const struct ek_cert_plan *plan, int64_t now_ms)
{
    static const struct ek_cert_secret empty = {0};
    struct ek_err err;

    if (!certs->config.may_write(certs->config.ctx))
        return;
    /* What a creation sets no apply could take out again, so it sets nothing; and who was not the
     * first to create it makes no keys. */
    if (!certs->current) {
        write_secret(certs, &empty);
        return;
    }
    if (ek_cert_secret_change(secret, plan->intent, (const char *const *)certs->names,
                              certs->config.n_names, now_ms, &err)) {
        ek_log_error_limited(certs->config.log, &err, 3, 60000,
                             "Cannot make the webhook's certificates");
        look_in(certs, RETRY_MS);
        return;
    }
    ek_log_info(certs->config.log, "Changing the webhook's certificates",
                EK_S("change", ek_cert_intent_name(plan->intent)), EK_S("reason", plan->why),
                EK_S("secret", certs->key));
    write_secret(certs, secret);
}

static struct ek_cert_plan plan_for(const struct ek_webhook_certs *certs,
                                    const struct ek_cert_secret *secret, int64_t now_ms,
                                    bool restore)
{
    struct ek_cert_facts facts;

    ek_cert_secret_facts(secret, (const char *const *)certs->names, certs->config.n_names, &facts);
    return (restore ? ek_cert_plan_restore : ek_cert_plan_make)(&facts, now_ms,
                                                                certs->published.since_ms);
}

/* What to go by: the Secret; or the last one that was of use, when nothing can be made of this one.
 * API servers trust no more than they were told before. */
static struct ek_cert_plan choose(struct ek_webhook_certs *certs, int64_t now_ms,
                                  struct ek_cert_secret *ret_secret)
{
    EK_AUTO(ek_cert_secret) kept = {0};

    ek_cert_secret_read(certs->current, ret_secret);
    struct ek_cert_plan plan = plan_for(certs, ret_secret, now_ms, false);
    if (plan.intent != EK_CERT_MAKE_ALL) {
        struct ek_obj *old = certs->good;
        certs->good = ek_obj_ref(certs->current);
        ek_obj_unref(old);
        return plan;
    }
    if (!certs->good)
        return plan;
    ek_cert_secret_read(certs->good, &kept);
    struct ek_cert_plan restored = plan_for(certs, &kept, now_ms, true);
    if (restored.intent == EK_CERT_MAKE_ALL)
        return plan;
    struct ek_cert_secret useless = *ret_secret;
    *ret_secret = kept;
    kept = useless;
    return restored;
}

/* Serves what there is, and does what is due. */
static void look(struct ek_webhook_certs *certs)
{
    EK_AUTO(ek_cert_secret) secret = {0};
    struct ek_informer_status status;
    int64_t now_ms = certs->config.now_ms();

    ek_informer_status(certs->informer, &status);
    if (!status.synced || certs->write || certs->stopping)
        return;
    struct ek_cert_plan plan = choose(certs, now_ms, &secret);
    serve(certs, &secret.leaf);
    set_bundle(certs, ek_cert_secret_bundle(&secret));
    look_in(certs, plan.look_at_ms - now_ms);
    if (plan.intent != EK_CERT_NOTHING)
        carry_out(certs, &secret, &plan, now_ms);
}

static void on_secret(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct ek_webhook_certs *certs = ctx;

    (void)initial;
    if (strcmp(ek_obj_key(obj ? obj : old), certs->key) != 0)
        return;
    if (change == EK_STORE_DELETED)
        set_current(certs, NULL);
    else
        set_current(certs, obj);
    certs->told = true;
    look_in(certs, 1);
}

static void on_status(void *ctx)
{
    struct ek_webhook_certs *certs = ctx;
    struct ek_informer_status status;

    ek_informer_status(certs->informer, &status);
    if (*status.last_error)
        ek_log_error_limited(certs->config.log, NULL, 3, 60000,
                             "Cannot watch the webhook's certificates", EK_S("secret", certs->key),
                             EK_S("reason", status.last_error));
    look_in(certs, 1);
}

static void start_secret(struct ek_webhook_certs *certs)
{
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", certs->secret);

    certs->resource = (struct ek_resource){.group = "",
                                           .version = "v1",
                                           .resource = "secrets",
                                           .kind = "Secret",
                                           .namespace = certs->namespace,
                                           .field_selector = selector};
    certs->informer = ek_informer_new(certs->config.loop, certs->config.client, &certs->resource);
    certs->resource.field_selector = NULL;
    ek_store_add_handler(ek_informer_store(certs->informer), on_secret, certs);
    ek_informer_set_observer(certs->informer, on_status, certs);
    ek_informer_start(certs->informer);
}

/* ---- Files ---- */

static void read_bundle(struct ek_webhook_certs *certs)
{
    char *text = NULL;
    size_t size;

    if (ek_file_read(certs->bundle_path, BUNDLE_FILE_MAX, &text, &size, NULL))
        text = NULL;
    set_bundle(certs, text);
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
    struct ek_webhook_certs *certs = ctx;
    int rc = certs->cert_path ? start_files(certs, err) : 0;

    if (rc)
        return rc;
    uv_timer_init(certs->config.loop, &certs->timer);
    certs->timer.data = certs;
    certs->started = true;
    if (!certs->cert_path)
        start_secret(certs);
    return 0;
}

static void on_part_stopped(void *ctx)
{
    struct ek_webhook_certs *certs = ctx;

    if (--certs->n_stopping > 0)
        return;
    certs->started = false;
    certs->stopped(certs->token);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_stopped(handle->data);
}

static void stop(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_webhook_certs *certs = ctx;

    certs->stopped = stopped;
    certs->token = token;
    certs->stopping = true;
    certs->n_stopping = 2;
    ek_apply_cancel(certs->write);
    certs->write = NULL;
    uv_close((uv_handle_t *)&certs->timer, on_timer_closed);
    if (certs->informer)
        ek_informer_stop(certs->informer, on_part_stopped, certs);
    else
        ek_cert_watcher_close(certs->watcher, on_part_stopped, certs);
    certs->watcher = NULL;
}

void ek_webhook_certs_runnable(struct ek_webhook_certs *certs, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){.name = "webhook certificates",
                                         .group = EK_GROUP_WEBHOOKS,
                                         .start = start,
                                         .stop = stop,
                                         .ctx = certs};
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

void ek_webhook_certs_expect(struct ek_webhook_certs *certs, enum ek_webhook_publisher publisher)
{
    ek_publication_expect(&certs->published, publisher);
}

void ek_webhook_certs_published(struct ek_webhook_certs *certs, enum ek_webhook_publisher publisher,
                                const char *bundle, bool everywhere)
{
    /* Who tells of another bundle has not seen this one yet, and will tell again. */
    if (!certs->bundle || !bundle || strcmp(bundle, certs->bundle) != 0)
        return;
    if (ek_publication_tell(&certs->published, publisher, everywhere, certs->config.now_ms()) &&
        certs->informer)
        look_in(certs, 1);
}

void ek_webhook_certs_poke(struct ek_webhook_certs *certs)
{
    if (certs->informer)
        look_in(certs, 1);
}

struct ek_informer *ek_webhook_certs_informer(const struct ek_webhook_certs *certs)
{
    return certs->informer;
}

void ek_webhook_certs_free(struct ek_webhook_certs *certs)
{
    if (!certs)
        return;
    ek_informer_free(certs->informer);
    ek_obj_unref(certs->current);
    ek_obj_unref(certs->good);
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
    ek_free(certs);
}
