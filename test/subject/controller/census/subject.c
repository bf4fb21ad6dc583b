/* SPDX-License-Identifier: Apache-2.0 */
#include "test/subject/controller/census/subject.h"

#include "api/base/mem.h"
#include "controller/telemetry/section.h"
#include "controller/webhook/registration.h"
#include "test/subject/reconcilers/census/plan.h"

enum { CONFIG_MAPS, CENSUSES, REGISTRATION };

static const struct ek_watch_row rows[] = {
    [CONFIG_MAPS] = {.resource = {.group = "",
                                  .version = "v1",
                                  .resource = "configmaps",
                                  .kind = "ConfigMap",
                                  .label_selector = "census=yes"},
                     .flags = EK_WATCH_BLIND},
    [CENSUSES] = {.resource = {.group = "test.evenkeel.dev",
                               .version = "v1",
                               .resource = "censuses",
                               .kind = "Census",
                               .optional = true}},
    [REGISTRATION] = {.resource = {.group = "admissionregistration.k8s.io",
                                   .version = "v1",
                                   .resource = "validatingwebhookconfigurations",
                                   .kind = "ValidatingWebhookConfiguration",
                                   .field_selector = "metadata.name=" CENSUS_REGISTRATION}},
};

static const struct ek_metric_desc metrics[] = {{.name = "census_config_maps",
                                                 .help = "ConfigMaps with the label.",
                                                 .type = EK_METRIC_GAUGE,
                                                 .snapshot = "census"}};

struct census {
    struct ek_controller *controller;
    const struct ek_subject_serving *serving;
    struct ek_metrics *metrics;
    size_t publisher; /* of the webhook's certificates */
    size_t n;
};

static void *census_new(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct census *census = ek_xalloc(sizeof *census);

    *census = (struct census){
        .controller = controller, .serving = &env->serving, .metrics = env->metrics};
    census->publisher = ek_webhook_registration_expect(&env->serving);
    return census;
}

static enum ek_observed census_observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct census *census = subject;

    (void)arena;
    (void)ret_again_ms;
    census->n =
        ek_store_size(ek_watchset_store(ek_controller_watchset(census->controller), CONFIG_MAPS));
    return EK_OBSERVED_ALL;
}

static void census_publish(void *subject)
{
    const struct census *census = subject;
    const struct ek_metric_sample sample = {.name = "census_config_maps",
                                            .value = (double)census->n};

    ek_metrics_replace(census->metrics, "census", &sample, 1);
}

static bool census_write(void *subject, int64_t now_ms, struct ek_arena *arena,
                         struct ek_intents *intents)
{
    const struct census *census = subject;

    (void)now_ms;
    (void)arena;
    census_plan(
        &(struct census_view){.n = census->n,
                              .at = ek_watchset_get(ek_controller_watchset(census->controller),
                                                    CENSUSES, "configmaps")},
        intents);
    return false;
}

static bool census_register(void *subject, int64_t now_ms, struct ek_arena *arena,
                            struct ek_intents *intents)
{
    const struct census *census = subject;
    const struct ek_subject_serving *serving = census->serving;
    EK_AUTOFREE char *bundle = ek_webhook_registration_bundle(serving);
    const struct ek_webhooks_options options = ek_webhook_registration_options(serving, bundle);
    const struct ek_obj *live = ek_watchset_get(ek_controller_watchset(census->controller),
                                                REGISTRATION, CENSUS_REGISTRATION);
    struct ek_err err = {0};

    (void)now_ms;
    (void)arena;
    if (!serving->webhook)
        return false;
    bool carries = census_plan_registration(
        &options, live, ek_webhook_registration_waits(serving, bundle, &err), intents);
    ek_webhook_registration_report(serving, census->publisher, bundle, carries);
    return false;
}

static void census_debug(const void *subject, const struct ek_debug_doc *doc)
{
    const struct census *census = subject;
    ek_debug_put_count(doc, "configMaps", census->n);
}

static void census_close(void *subject, void (*done)(void *ctx), void *ctx)
{
    ek_free(subject);
    done(ctx);
}

const struct ek_subject census_subject = {
    .name = "census",
    .kind = "Census",
    .part = "census informers",
    .observe_key = "census",
    .write_key = "write",
    .registers = true,
    .rows = rows,
    .n_rows = EK_ARRAY_SIZE(rows),
    .metrics = metrics,
    .n_metrics = EK_ARRAY_SIZE(metrics),
    .pace = {.settle_ms = 1, .gap_ms = 5},
    .new = census_new,
    .observe = census_observe,
    .publish = census_publish,
    .stages = {census_register, census_write},
    .debug = census_debug,
    .close = census_close,
};
