/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/registration.h"

#include "api/base/mem.h"
#include "controller/certificates/certificates.h"
#include "controller/webhook/webhook.h"

/* Until requests can be answered, the registration looks again this often. */
#define NOT_READY_MS 1000

static void set_problem(struct ek_plan_registration *r, const char *why)
{
    ek_free(r->problem);
    r->problem = ek_xstrdup(why);
}

void ek_plan_registration_make(struct ek_plan_registration *registration,
                               const struct ek_guard_rules *rules, const struct ek_plan_data *data,
                               const struct ek_subject_env *env, const struct ek_obj *live,
                               const struct ek_obj *namespace)
{
    static const struct ek_guard_rules none = {.newest = EK_MINOR_UNKNOWN};
    const struct ek_subject_serving *s = &env->serving;
    struct ek_plan_registration *r = registration;
    EK_AUTOFREE char *bundle = ek_xstrdup(s->certs ? ek_webhook_ca_bundle(s->certs) : NULL);
    const struct ek_webhooks_options options = {
        .url = s->url,
        .service_namespace = s->namespace,
        .service_name = s->service,
        .ca_bundle = bundle,
        .own_namespace = s->namespace,
        .own_namespace_uid = namespace ? ek_obj_uid(namespace) : NULL,
        .with_kube_system = s->with_kube_system,
    };

    yyjson_mut_doc_free(r->doc);
    r->doc = ek_json_doc_new();
    r->on = s->webhook && ek_guard_is_on(rules);
    r->content = ek_guard_registration(r->on ? rules : &none, data, &options, r->doc);
    r->standing = ek_webhooks_compare(r->content, live ? ek_obj_root(live) : NULL, bundle, false);
    if (s->certs && bundle)
        ek_webhook_certs_published(s->certs, r->publisher, bundle, r->standing.carries);
    if (r->standing.current)
        set_problem(r, NULL);
}

bool ek_plan_registration_is_on(const struct ek_plan_registration *registration)
{
    return registration->on && registration->standing.current;
}

/* Why requests cannot be answered yet; NULL: they can. err is the room for the text. */
static const char *not_ready(const struct ek_subject_serving *s, struct ek_err *err)
{
    if (s->needs_bundle && (!s->certs || !ek_webhook_ca_bundle(s->certs)))
        ek_err_set(err, EK_E_TIMEOUT, "the webhook has no certificate yet");
    else
        ek_webhook_check_ready(s->webhook, err);
    return err->code ? err->message : NULL;
}

void ek_plan_registration_plan(struct ek_plan_registration *registration,
                               const struct ek_resource *resource, const struct ek_subject_env *env,
                               struct ek_intents *intents)
{
    struct ek_plan_registration *r = registration;
    const struct ek_apply_target target = {.resource = resource, .name = EK_GUARD_NAME};
    struct ek_err err = {0};

    if (!r->content || r->standing.current)
        return;
    if (r->on && not_ready(&env->serving, &err)) {
        set_problem(r, err.message);
        ek_intents_again(intents, NOT_READY_MS);
        return;
    }
    yyjson_mut_val *content = yyjson_mut_val_mut_copy(ek_intents_doc(intents), r->content);
    ek_intents_apply(intents, &target, content)->tag = EK_PLAN_TAG_REGISTRATION;
}

void ek_plan_registration_answered(struct ek_plan_registration *registration,
                                   const struct ek_err *err)
{
    if (err->code)
        set_problem(registration, err->message);
}

void ek_plan_registration_done(struct ek_plan_registration *registration)
{
    yyjson_mut_doc_free(registration->doc);
    ek_free(registration->problem);
    *registration = (struct ek_plan_registration){0};
}
