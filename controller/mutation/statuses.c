/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/statuses.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/params_index.h"

#define ARENA_LIMIT ((size_t)16 << 20)

void ek_mutation_statuses_begin(struct ek_mutation_statuses *statuses)
{
    statuses->next = 0;
}

/* The objects of one kind of params; the index is made when a binding needs it. */
struct listed {
    const struct ek_store *store;
    bool namespaced;
    struct ek_obj **items; /* owned */
    size_t n;
    struct ek_params_index index;
};

struct params {
    struct ek_params_source sources[EK_MUTATION_PARAMS_MAX];
    struct listed listed[EK_MUTATION_PARAMS_MAX];
    size_t n;
};

static bool holds(void *ctx, const struct ek_params_wanted *wanted)
{
    struct listed *listed = ctx;

    if (*wanted->name && (*wanted->namespace || !listed->namespaced)) {
        EK_AUTOFREE char *key =
            ek_xasprintf("%s%s%s", wanted->namespace, *wanted->namespace ? "/" : "", wanted->name);
        return ek_store_get(listed->store, key) != NULL;
    }
    if (!listed->items) {
        listed->items = ek_store_snapshot(listed->store, &listed->n);
        ek_params_index_init(&listed->index, listed->items, listed->n);
    }
    return ek_params_index_holds(&listed->index, wanted);
}

/* What was listed serves while the watch is away; a permission that was withdrawn does not. */
static enum ek_params_trouble trouble_of(const struct ek_param_state *kind)
{
    if (!*kind->error)
        return EK_PARAMS_FINE;
    if (kind->error_code == EK_E_FORBIDDEN)
        return EK_PARAMS_FORBIDDEN;
    if (kind->store)
        return EK_PARAMS_FINE;
    return kind->error_code == EK_E_NOENT ? EK_PARAMS_NOT_SERVED : EK_PARAMS_UNREADABLE;
}

static void read_params(const struct ek_mutation_watch *watch, struct params *params)
{
    const struct ek_mutation_params *all = ek_mutation_watch_params(watch);
    struct ek_param_state kind;
    size_t n = 0;

    for (; n < EK_MUTATION_PARAMS_MAX && ek_mutation_params_at(all, n, &kind); n++) {
        params->listed[n] = (struct listed){.store = kind.store, .namespaced = kind.namespaced};
        params->sources[n] = (struct ek_params_source){.api_version = kind.api_version,
                                                       .kind = kind.kind,
                                                       .trouble = trouble_of(&kind),
                                                       .error = kind.error,
                                                       .namespaced = kind.namespaced || !kind.known,
                                                       .holds = kind.store ? holds : NULL,
                                                       .ctx = &params->listed[n]};
    }
    params->n = n;
}

static void params_done(struct params *params)
{
    for (size_t i = 0; i < params->n; i++) {
        ek_params_index_done(&params->listed[i].index);
        if (params->listed[i].items)
            ek_snapshot_free(params->listed[i].items, params->listed[i].n);
    }
}

static void add(const struct ek_status_inputs *inputs, const struct ek_store *store,
                struct ek_mutation_reporter *reporter, size_t i, struct ek_intents *intents)
{
    const struct ek_policy *policy = inputs->state->policies[i].policy;
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_policy_facts observed = {.policy = policy};

    ek_mutation_reporter_read(reporter, arena, &observed);
    ek_status_plan(inputs, i, ek_store_get(store, policy->name), &observed, arena, intents);
    ek_arena_free(arena);
}

/* API servers know policies of their own group alone. */
static void check_refusal(struct ek_policy_entry *entry, const struct ek_refusal_servers *servers)
{
    if (entry->policy->native && !entry->policy->n_problems &&
        ek_policy_has_status(entry->policy, entry->shares_name))
        ek_policy_refusal_check(entry->obj, servers, &entry->refusal);
}

static bool plan(struct ek_mutation_statuses *statuses, struct ek_mutation_state *state,
                 const struct ek_status_inputs *inputs, const struct ek_store *store,
                 struct ek_mutation_reporter *reporter, struct ek_intents *intents)
{
    while (statuses->next < state->n_policies) {
        if (ek_intents_is_full(intents))
            return true;
        check_refusal(&state->policies[statuses->next], inputs->servers);
        add(inputs, store, reporter, statuses->next++, intents);
    }
    return false;
}

/* What is said of a kind of params that is not read. */
static const struct ek_params_source *beyond(const struct params *params)
{
    static const struct ek_params_source no_room = {
        .trouble = EK_PARAMS_NO_ROOM,
        .error = "Evenkeel reads params of 64 kinds at most, which other policies use"};
    _Static_assert(EK_MUTATION_PARAMS_MAX == 64, "the text has the number");

    return params->n == EK_MUTATION_PARAMS_MAX ? &no_room : NULL;
}

bool ek_mutation_statuses_plan(struct ek_mutation_statuses *statuses,
                               struct ek_mutation_state *state,
                               const struct ek_mutation_watch *watch,
                               struct ek_mutation_reporter *reporter,
                               const struct ek_refusal_servers *servers,
                               const struct ek_policy_unregistered *unregistered, int64_t now_ms,
                               struct ek_intents *intents)
{
    struct params *params = ek_xalloc(sizeof *params);

    read_params(watch, params);
    const struct ek_status_inputs inputs = {
        .state = state,
        .resource = ek_mutation_watch_resource(watch, EK_MUTATION_STATUSES),
        .params = params->sources,
        .n_params = params->n,
        .beyond = beyond(params),
        .servers = servers,
        .schemas_error = ek_mutation_schemas_error(ek_mutation_watch_schemas(watch)),
        .unregistered = unregistered,
        .now_ms = now_ms,
    };
    ek_mutation_state_check_types(state, watch);
    bool more = plan(statuses, state, &inputs, ek_mutation_watch_store(watch, EK_MUTATION_STATUSES),
                     reporter, intents);
    params_done(params);
    ek_free(params);
    return more;
}
