/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/registration.h"

#include "api/base/mem.h"
#include "controller/webhook/registration.h"

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
    EK_AUTOFREE char *bundle = ek_webhook_registration_bundle(s);
    struct ek_webhooks_options options = ek_webhook_registration_options(s, bundle);

    options.own_namespace_uid = namespace ? ek_obj_uid(namespace) : NULL;
    yyjson_mut_doc_free(r->doc);
    r->doc = ek_json_doc_new();
    r->on = s->webhook && ek_guard_is_on(rules);
    r->content = ek_guard_registration(r->on ? rules : &none, data, &options, r->doc);
    r->standing = ek_webhooks_compare(r->content, live ? ek_obj_root(live) : NULL, bundle, false);
    ek_webhook_registration_report(s, r->publisher, bundle, r->standing.carries);
    if (r->standing.current)
        set_problem(r, NULL);
}

bool ek_plan_registration_is_on(const struct ek_plan_registration *registration)
{
    return registration->on && registration->standing.current;
}

void ek_plan_registration_plan(struct ek_plan_registration *registration,
                               const struct ek_resource *resource, const struct ek_subject_env *env,
                               struct ek_intents *intents)
{
    struct ek_plan_registration *r = registration;
    EK_AUTOFREE char *bundle = ek_webhook_registration_bundle(&env->serving);
    struct ek_err err = {0};

    if (!r->content || r->standing.current)
        return;
    if (r->on && ek_webhook_registration_waits(&env->serving, bundle, &err)) {
        set_problem(r, err.message);
        ek_intents_again(intents, EK_WEBHOOKS_NOT_READY_MS);
        return;
    }
    ek_webhooks_apply(intents, resource, EK_GUARD_NAME, r->content)->tag = EK_PLAN_TAG_REGISTRATION;
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
