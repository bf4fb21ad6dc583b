/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/registrations.h"

#include "api/base/mem.h"
#include "reconcilers/webhooks/compare.h"

const enum ek_mutation_resource ek_registration_resources[EK_REGISTRATION_KINDS] = {
    [EK_REGISTRATION_MUTATING] = EK_MUTATION_MUTATING,
    [EK_REGISTRATION_VALIDATING] = EK_MUTATION_VALIDATING,
};

static const char *uid_of_namespace(const struct ek_mutation_watch *watch, const char *name)
{
    const struct ek_store *store = ek_mutation_watch_store(watch, EK_MUTATION_NAMESPACES);
    const struct ek_obj *obj = name ? ek_store_get(store, name) : NULL;

    return obj ? ek_obj_uid(obj) : NULL;
}

void ek_registration_write_plan(const struct ek_mutation_state *state,
                                const struct ek_mutation_watch *watch,
                                const struct ek_webhooks_options *options,
                                enum ek_registration_kind kind,
                                struct ek_registration_write *ret_write)
{
    const struct ek_store *store = ek_mutation_watch_store(watch, ek_registration_resources[kind]);
    const struct ek_obj *live = ek_store_get(store, EK_REGISTRATION_NAME);
    struct ek_webhooks_options all = *options;
    struct ek_registration_write *w = ret_write;

    all.own_namespace_uid = uid_of_namespace(watch, options->own_namespace);
    w->doc = ek_json_doc_new();
    w->content = ek_registration_write(&state->registrations[kind], state->bound, &all, w->doc);
    struct ek_webhooks_standing standing =
        ek_webhooks_compare(w->content, live ? ek_obj_root(live) : NULL, options->ca_bundle, true);
    w->current = standing.current;
    w->carries = standing.carries;
    w->withdraws = standing.empty;
}

void ek_registration_write_done(struct ek_registration_write *write)
{
    yyjson_mut_doc_free(write->doc);
}

void ek_registration_standing_read(const struct ek_mutation_state *state,
                                   const struct ek_mutation_watch *watch,
                                   const struct ek_webhooks_options *options,
                                   enum ek_registration_kind kind, yyjson_mut_doc *doc,
                                   struct ek_registration_standing *ret_standing)
{
    const struct ek_store *store = ek_mutation_watch_store(watch, ek_registration_resources[kind]);
    const struct ek_obj *live = ek_store_get(store, EK_REGISTRATION_NAME);
    struct ek_webhooks_options all = *options;

    all.ca_bundle = NULL;
    ret_standing->content =
        ek_registration_write(&state->registrations[kind], state->bound, &all, doc);
    ret_standing->live = live ? ek_obj_root(live) : NULL;
}
