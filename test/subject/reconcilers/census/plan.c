/* SPDX-License-Identifier: Apache-2.0 */
#include "test/subject/reconcilers/census/plan.h"

#include "reconcilers/webhooks/compare.h"

static const struct ek_resource censuses = {
    .group = "test.evenkeel.dev", .version = "v1", .resource = "censuses", .kind = "Census"};

void census_plan(const struct census_view *view, struct ek_intents *intents)
{
    const struct ek_apply_target target = {.resource = &censuses, .name = "configmaps"};
    yyjson_mut_doc *doc = ek_intents_doc(intents);
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_val *old = view->at ? ek_json_get(ek_obj_root(view->at), "status", "count", NULL) : NULL;

    if (yyjson_is_uint(old) && yyjson_get_uint(old) == view->n)
        return;
    if (!view->at)
        ek_intents_apply(intents, &target, NULL)->on_failure = EK_STOP;
    yyjson_mut_obj_add_uint(doc, status, "count", view->n);
    struct ek_intent *write = ek_intents_apply_status(intents, &target, status);
    if (!view->at)
        ek_intents_depend(write);
    ek_intents_depend(ek_intents_event(
        intents, &(struct ek_event){.regarding = {.api_version = "test.evenkeel.dev/v1",
                                                  .kind = "Census",
                                                  .name = "configmaps"},
                                    .reason = "Counted",
                                    .action = "Count",
                                    .note = "The number of ConfigMaps changed"}));
}

bool census_plan_registration(const struct ek_webhooks_options *options, const struct ek_obj *live,
                              const char *waits, struct ek_intents *intents)
{
    static const struct ek_resource resource = {.group = "admissionregistration.k8s.io",
                                                .version = "v1",
                                                .resource = "validatingwebhookconfigurations",
                                                .kind = "ValidatingWebhookConfiguration"};
    static const struct ek_webhooks_rule rule = {
        .group = "", .version = "v1", .scope = "Namespaced", .resources = {"configmaps"}};
    yyjson_mut_doc *doc = ek_intents_doc(intents);
    struct ek_webhooks webhooks;

    ek_webhooks_begin(&webhooks, options, doc);
    ek_webhooks_add(&webhooks, &(struct ek_webhooks_entry){.name = CENSUS_REGISTRATION,
                                                           .path = "/census",
                                                           .ignore_failures = true,
                                                           .timeout_s = 1,
                                                           .rules = ek_webhooks_rules(doc, &rule)});
    ek_webhooks_end(&webhooks);
    struct ek_webhooks_standing standing = ek_webhooks_compare(
        webhooks.content, live ? ek_obj_root(live) : NULL, options->ca_bundle, true);
    if (!standing.current && waits)
        ek_intents_again(intents, EK_WEBHOOKS_NOT_READY_MS);
    else if (!standing.current)
        ek_webhooks_apply(intents, &resource, CENSUS_REGISTRATION, webhooks.content);
    return standing.carries;
}
