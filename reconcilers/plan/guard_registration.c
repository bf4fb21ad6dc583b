/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook configuration of the guard. */
#include "api/base/buf.h"
#include "reconcilers/plan/guard.h"

/* An API server waits no longer for a guard that does not answer. */
#define TIMEOUT_S 3

struct writer {
    yyjson_mut_doc *doc;
    yyjson_mut_val *rules;
};

static void add_rule(void *ctx, const struct ek_api_row *row)
{
    struct writer *w = ctx;
    yyjson_mut_val *rule =
        ek_webhooks_rules(w->doc, &(struct ek_webhooks_rule){.group = row->group,
                                                             .version = "*",
                                                             .scope = "*",
                                                             .update = true,
                                                             .resources = {row->resource}});

    yyjson_mut_arr_append(w->rules, yyjson_mut_arr_remove_first(rule));
}

yyjson_mut_val *ek_guard_registration(const struct ek_guard_rules *rules,
                                      const struct ek_plan_data *data,
                                      const struct ek_webhooks_options *options,
                                      yyjson_mut_doc *doc)
{
    struct writer w = {doc, yyjson_mut_arr(doc)};
    struct ek_webhooks webhooks;

    ek_webhooks_begin(&webhooks, options, doc);
    if (ek_guard_is_on(rules)) {
        ek_guard_resources(data, ek_guard_lowest(rules), true, add_rule, &w);
        ek_webhooks_add(&webhooks,
                        &(struct ek_webhooks_entry){.name = "way-back.plans.evenkeel.dev",
                                                    .path = EK_GUARD_PATH,
                                                    .ignore_failures = true,
                                                    .exact = true,
                                                    .timeout_s = TIMEOUT_S,
                                                    .rules = w.rules});
    }
    ek_webhooks_end(&webhooks);
    return webhooks.content;
}
