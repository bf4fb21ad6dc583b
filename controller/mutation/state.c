/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/state.h"

#include "api/base/mem.h"
#include "reconcilers/mutation/needs.h"
#include "reconcilers/policylint/policy_types.h"

/* ---- Policies and bindings ---- */

static struct ek_mutation_objects objects_of(const struct ek_mutation_watch *watch,
                                             enum ek_mutation_resource resource)
{
    const struct ek_store *store = ek_mutation_watch_store(watch, resource);
    struct ek_mutation_objects objects = {0};

    if (store)
        objects.items = ek_store_snapshot(store, &objects.n);
    return objects;
}

static void release(struct ek_mutation_objects *objects)
{
    ek_snapshot_free((struct ek_obj **)(uintptr_t)objects->items, objects->n);
}

void ek_mutation_state_update(struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch,
                              const struct ek_plugin_census *census, bool serving)
{
    struct ek_mutation_inputs inputs = {
        .own_policies = objects_of(watch, EK_MUTATION_OWN_POLICIES),
        .own_bindings = objects_of(watch, EK_MUTATION_OWN_BINDINGS),
        .native_policies = objects_of(watch, EK_MUTATION_NATIVE_POLICIES),
        .native_bindings = objects_of(watch, EK_MUTATION_NATIVE_BINDINGS),
        .census = *census,
        .serving = serving,
    };

    ek_mutation_state_plan(state, &inputs);
    release(&inputs.own_policies);
    release(&inputs.own_bindings);
    release(&inputs.native_policies);
    release(&inputs.native_bindings);
}

void ek_mutation_state_follow(const struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch)
{
    EK_AUTO(ek_mutation_needs) needs;

    ek_mutation_needs_plan(state, &needs);
    ek_mutation_params_want(ek_mutation_watch_params(watch), needs.params, needs.n_params);
    ek_mutation_schemas_want(ek_mutation_watch_schemas(watch), needs.schemas, needs.n_schemas);
}

/* ---- Types ---- */

struct schemas {
    struct ek_types_schema items[EK_MUTATION_SCHEMAS_MAX];
    size_t n;
};

static void on_schema(void *ctx, const char *group, const char *version,
                      const struct ek_schema *schema)
{
    struct schemas *s = ctx;

    if (s->n < EK_MUTATION_SCHEMAS_MAX)
        s->items[s->n++] =
            (struct ek_types_schema){.group = group, .version = version, .schema = schema};
}

void ek_mutation_state_check_types(struct ek_mutation_state *state,
                                   const struct ek_mutation_watch *watch)
{
    const struct ek_mutation_schemas *schemas = ek_mutation_watch_schemas(watch);
    struct schemas all = {.n = 0};
    struct ek_types_schemas known = {.items = all.items,
                                     .version = ek_mutation_schemas_version(schemas)};

    ek_mutation_schemas_each(schemas, on_schema, &all);
    known.n = all.n;
    for (size_t i = 0; i < state->n_policies; i++) {
        struct ek_policy_entry *e = &state->policies[i];
        if (ek_policy_has_status(e->policy, e->shares_name) &&
            ek_policy_types_are_due(&e->types, known.version))
            ek_policy_types_check(e->policy, &known, &e->types);
    }
}
