/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates/subject.h"

#include <string.h>

#include "controller/certificates/certificates-internal.h"
#include "controller/certificates/secret.h"
#include "controller/telemetry/section.h"

enum { SECRET, ROWS };

struct keeper {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_webhook_certs *certs; /* NULL: there is no Secret to keep */
    struct ek_obj *current;         /* the newest Secret that is known, NULL for none */
    struct ek_obj *good;            /* the newest one that was of use */
    /* Of the run under way. */
    bool planned;
    struct ek_cert_plan plan;
    struct ek_cert_secret secret; /* what plan is for */
};

/* ---- Observing ---- */

/* What was written here may be newer than what the informer reports. */
static void set_current(struct keeper *k, const struct ek_obj *obj)
{
    struct ek_obj *old = k->current;
    int order = 0;

    if (obj && old && !strcmp(ek_obj_uid(obj), ek_obj_uid(old)) &&
        !ek_resource_version_compare(ek_obj_resource_version(obj), ek_obj_resource_version(old),
                                     &order) &&
        order < 0)
        return;
    k->current = ek_obj_ref(obj);
    ek_obj_unref(old);
}

static void on_secret(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct keeper *k = ctx;

    (void)initial;
    if (!strcmp(ek_obj_key(obj ? obj : old), k->certs->key))
        set_current(k, change == EK_STORE_DELETED ? NULL : obj);
}

/* The Secret is watched by name, which its field selector says. */
static const struct ek_watch_row rows[ROWS] = {
    [SECRET] = {.resource = {.group = "", .version = "v1", .resource = "secrets", .kind = "Secret"},
                .flags = EK_WATCH_LATER | EK_WATCH_BLIND,
                .seen = on_secret},
};

static void watch_secret(const struct keeper *k)
{
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", k->certs->secret);
    struct ek_watchset *set = ek_controller_watchset(k->controller);
    struct ek_resource resource = rows[SECRET].resource;

    resource.namespace = k->certs->namespace;
    resource.field_selector = selector;
    ek_watchset_set(set, SECRET, &resource, NULL);
}

static void *certificates_new(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct keeper *k = ek_xalloc(sizeof *k);

    k->controller = controller;
    k->env = env;
    ek_watchset_set_seen(ek_controller_watchset(controller), k);
    if (!env->serving.certs || env->serving.certs->cert_path)
        return k;
    k->certs = env->serving.certs;
    k->certs->controller = controller;
    watch_secret(k);
    return k;
}

/* Nothing waits for the Secret, so the log says what keeps it from being read. */
static void report_failure(void *subject)
{
    const struct keeper *k = subject;
    struct ek_informer_status status;

    if (!k->certs)
        return;
    ek_watchset_status(ek_controller_watchset(k->controller), SECRET, &status);
    if (*status.last_error)
        ek_log_error_limited(k->env->log, NULL, 3, 60000, "Cannot watch the webhook's certificates",
                             EK_S("secret", k->certs->key), EK_S("reason", status.last_error));
}

static void find_facts(const struct keeper *k, const struct ek_cert_secret *secret,
                       struct ek_cert_facts *ret_facts)
{
    ek_cert_secret_facts(secret, (const char *const *)k->certs->names, k->certs->config.n_names,
                         ret_facts);
}

static void keep_good(struct keeper *k)
{
    struct ek_obj *old = k->good;

    k->good = ek_obj_ref(k->current);
    ek_obj_unref(old);
}

static void choose(struct keeper *k, int64_t now_ms)
{
    EK_AUTO(ek_cert_secret) kept = {0};
    struct ek_cert_facts facts, kept_facts;
    bool use_kept;

    ek_cert_secret_read(k->current, &k->secret);
    find_facts(k, &k->secret, &facts);
    ek_cert_secret_read(k->good, &kept);
    find_facts(k, &kept, &kept_facts);
    k->plan = ek_cert_plan_choose(&facts, k->good ? &kept_facts : NULL, now_ms,
                                  k->certs->published.since_ms, &use_kept);
    if (use_kept) {
        struct ek_cert_secret useless = k->secret;
        k->secret = kept;
        kept = useless;
    } else if (k->plan.intent != EK_CERT_MAKE_ALL) {
        keep_good(k);
    }
}

static void certificates_ended(void *subject)
{
    struct keeper *k = subject;

    ek_cert_secret_done(&k->secret);
    k->secret = (struct ek_cert_secret){0};
    k->planned = false;
}

static enum ek_observed certificates_observe(void *subject, struct ek_arena *arena,
                                             int64_t *ret_again_ms)
{
    struct keeper *k = subject;
    struct ek_informer_status status;
    int64_t now_ms = k->env->now_ms();

    (void)arena;
    if (!k->certs)
        return EK_OBSERVED_NOTHING;
    ek_watchset_status(ek_controller_watchset(k->controller), SECRET, &status);
    if (!status.synced)
        return EK_OBSERVED_NOTHING;
    choose(k, now_ms);
    k->planned = true;
    *ret_again_ms = k->plan.look_at_ms > now_ms + 1 ? k->plan.look_at_ms - now_ms : 1;
    return EK_OBSERVED_ALL;
}

static void certificates_publish(void *subject)
{
    const struct keeper *k = subject;

    ek_webhook_certs_serve__(k->certs, &k->secret.leaf);
    ek_webhook_certs_set_bundle__(k->certs, ek_cert_secret_bundle(&k->secret));
}

/* ---- Writing ---- */

static void make_and_write(struct keeper *k, int64_t now_ms, struct ek_intents *intents)
{
    const struct ek_webhook_certs *certs = k->certs;
    struct ek_err err = {0};

    if (ek_cert_secret_change(&k->secret, k->plan.intent, (const char *const *)certs->names,
                              certs->config.n_names, now_ms, &err)) {
        ek_err_prefix(&err, "making the webhook's certificates");
        ek_intents_fail(intents, &err);
        return;
    }
    ek_log_info(k->env->log, "Changing the webhook's certificates",
                EK_S("change", ek_cert_intent_name(k->plan.intent)), EK_S("reason", k->plan.why),
                EK_S("secret", certs->key));
    ek_cert_plan_write(certs->namespace, certs->secret, k->current,
                       ek_cert_secret_content(&k->secret, ek_intents_doc(intents)), intents);
}

static bool certificates_write(void *subject, int64_t now_ms, struct ek_arena *arena,
                               struct ek_intents *intents)
{
    static const struct ek_cert_secret empty = {0};
    struct keeper *k = subject;

    (void)arena;
    if (k->plan.intent == EK_CERT_NOTHING)
        return false;
    if (k->current)
        make_and_write(k, now_ms, intents);
    else
        ek_cert_plan_write(k->certs->namespace, k->certs->secret, NULL,
                           ek_cert_secret_content(&empty, ek_intents_doc(intents)), intents);
    return false;
}

static void certificates_answered(void *subject, const struct ek_intent *intent,
                                  const struct ek_obj *obj, struct ek_err *err)
{
    struct keeper *k = subject;

    (void)intent;
    ek_cert_plan_answered(err);
    if (obj) {
        set_current(k, obj);
        ek_controller_observe(k->controller);
    } else if (err->code) {
        /* Sooner than by back-off: without certificates nothing is served. */
        ek_controller_write(k->controller, EK_CERT_RETRY_MS);
    }
}

/* ---- The rest ---- */

static void certificates_debug(const void *subject, const struct ek_debug_doc *doc)
{
    const struct keeper *k = subject;

    ek_debug_put_bool(doc, "keepsSecret", k->certs != NULL);
    if (!k->certs)
        return;
    ek_debug_put(doc, "secret", k->certs->key);
    ek_debug_put_bool(doc, "exists", k->current != NULL);
    ek_debug_put_wall(doc, "publishedTime", k->certs->published.since_ms);
}

static void certificates_close(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct keeper *k = subject;

    if (k->certs)
        k->certs->controller = NULL;
    certificates_ended(k);
    ek_obj_unref(k->current);
    ek_obj_unref(k->good);
    ek_free(k);
    done(ctx);
}

const struct ek_subject ek_certificates_subject = {
    .name = "webhookcertificates",
    .kind = "Secret",
    .part = "webhook certificates",
    .observe_key = "secret",
    .early = true,
    .rows = rows,
    .n_rows = ROWS,
    .pace = {.settle_ms = 1},
    .new = certificates_new,
    .follow = report_failure,
    .observe = certificates_observe,
    .publish = certificates_publish,
    .stages = {certificates_write},
    .answered = certificates_answered,
    .ended = certificates_ended,
    .debug = certificates_debug,
    .close = certificates_close,
};
