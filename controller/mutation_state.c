/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_state.h"

#include <stdlib.h>
#include <string.h>

#include "api/mem.h"
#include "reconcilers/mutation/order.h"

/* ---- Compiling ---- */

static bool same_object(const struct ek_obj *a, const struct ek_obj *b)
{
    return a == b ||
           (!strcmp(ek_obj_name(a), ek_obj_name(b)) && !strcmp(ek_obj_uid(a), ek_obj_uid(b)) &&
            !strcmp(ek_obj_resource_version(a), ek_obj_resource_version(b)) &&
            !strcmp(ek_obj_api_version(a), ek_obj_api_version(b)));
}

static struct ek_policy_entry *known_policy(const struct ek_mutation_state *state,
                                            const struct ek_obj *obj, size_t *hint)
{
    for (size_t i = 0; i < state->n_policies; i++) {
        size_t at = (*hint + i) % state->n_policies;
        if (same_object(state->policies[at].obj, obj)) {
            *hint = at + 1;
            return &state->policies[at];
        }
    }
    return NULL;
}

static const struct ek_binding *known_binding(const struct ek_mutation_state *state,
                                              const struct ek_obj *obj, size_t *hint)
{
    for (size_t i = 0; i < state->n_bindings; i++) {
        size_t at = (*hint + i) % state->n_bindings;
        if (same_object(state->bindings[at].obj, obj)) {
            *hint = at + 1;
            return ek_binding_ref(state->bindings[at].binding);
        }
    }
    return NULL;
}

static void add_policies(struct ek_mutation_state *next, struct ek_mutation_state *old,
                         const struct ek_store *store)
{
    size_t n = 0, hint = next->n_policies;
    struct ek_obj **items = store ? ek_store_snapshot(store, &n) : NULL;

    next->policies = ek_xrealloc(next->policies, next->n_policies + n + 1, sizeof *next->policies);
    for (size_t i = 0; i < n; i++) {
        struct ek_policy_entry *known = known_policy(old, items[i], &hint);
        struct ek_policy_entry *e = &next->policies[next->n_policies++];
        *e = (struct ek_policy_entry){.obj = ek_obj_ref(items[i])};
        if (known) {
            e->policy = ek_policy_ref(known->policy);
            e->types = known->types;
            known->types = NULL;
        } else {
            e->policy = ek_policy_new(items[i], 0);
            old->compiled++;
        }
    }
    ek_snapshot_free(items, n);
}

static void add_bindings(struct ek_mutation_state *next, const struct ek_mutation_state *old,
                         const struct ek_store *store)
{
    size_t n = 0, hint = next->n_bindings;
    struct ek_obj **items = store ? ek_store_snapshot(store, &n) : NULL;

    next->bindings = ek_xrealloc(next->bindings, next->n_bindings + n + 1, sizeof *next->bindings);
    for (size_t i = 0; i < n; i++) {
        const struct ek_binding *binding = known_binding(old, items[i], &hint);
        next->bindings[next->n_bindings++] = (struct ek_binding_entry){
            .obj = ek_obj_ref(items[i]), .binding = binding ? binding : ek_binding_new(items[i])};
    }
    ek_snapshot_free(items, n);
}

/* ---- Joining ---- */

static struct ek_policy_entry *find_policy(const struct ek_mutation_state *state, bool native,
                                           const char *name)
{
    /* Both groups stand in the order of their names. */
    size_t low = 0, high = state->n_policies;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct ek_policy *p = state->policies[mid].policy;
        int order = p->native == native ? strcmp(p->name, name) : p->native ? 1 : -1;
        if (order == 0)
            return &state->policies[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static void decide(struct ek_mutation_state *state, const struct ek_plugin_census *census,
                   bool serving)
{
    for (size_t i = 0; i < state->n_policies; i++) {
        struct ek_policy_entry *e = &state->policies[i];
        e->shares_name = find_policy(state, !e->policy->native, e->policy->name) != NULL;
        ek_enforcement_decide(e->policy, census, &e->enforcement);
        if (serving || !e->enforcement.apply)
            continue;
        bool others = e->policy->native && census->runs;
        e->enforcement = (struct ek_enforcement){
            .enforcer = others ? EK_ENFORCER_API_SERVERS : EK_ENFORCER_NOBODY,
            .message = "Evenkeel's webhook is switched off (--webhook-bind-address=0)"};
    }
}

/* Gives each policy the bindings that name it. */
static void join_bindings(struct ek_mutation_state *state)
{
    const struct ek_binding **next;

    for (size_t i = 0; i < state->n_bindings; i++) {
        struct ek_binding_entry *b = &state->bindings[i];
        b->of = find_policy(state, b->binding->native, b->binding->policy_name);
        if (b->of)
            b->of->n_bindings++;
    }
    next = state->by_policy = ek_xalloc((state->n_bindings + 1) * sizeof(struct ek_binding *));
    for (size_t i = 0; i < state->n_policies; i++) {
        state->policies[i].bindings = next;
        next += state->policies[i].n_bindings;
        state->policies[i].n_bindings = 0;
    }
    for (size_t i = 0; i < state->n_bindings; i++) {
        struct ek_policy_entry *e = state->bindings[i].of;
        if (e)
            e->bindings[e->n_bindings++] = state->bindings[i].binding;
    }
}

/* Tells each policy its place; those with several bindings have one place. */
static void number(struct ek_mutation_state *state)
{
    for (size_t i = 0; i < state->n_bound; i++) {
        const struct ek_policy *policy = state->bound[i].policy;
        if (i == 0 || policy != state->bound[i - 1].policy)
            find_policy(state, policy->native, policy->name)->order = ++state->n_ordered;
    }
}

static void join(struct ek_mutation_state *state, bool serving)
{
    join_bindings(state);
    state->bound = ek_xrealloc(state->bound, state->n_bindings + 1, sizeof *state->bound);
    state->n_bound = 0;
    for (size_t i = 0; i < state->n_bindings; i++) {
        const struct ek_policy_entry *e = state->bindings[i].of;
        if (e)
            state->bound[state->n_bound++] =
                (struct ek_bound){.policy = e->policy,
                                  .binding = state->bindings[i].binding,
                                  .apply = e->enforcement.apply,
                                  .confirm = e->enforcement.confirm};
    }
    ek_order_sort(state->bound, state->n_bound);
    number(state);
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        ek_registration_plan(kind, state->bound, serving ? state->n_bound : 0,
                             &state->registrations[kind]);
}

void ek_mutation_state_update(struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch,
                              const struct ek_plugin_census *census, bool serving)
{
    struct ek_mutation_state next = {0};

    add_policies(&next, state, ek_mutation_watch_store(watch, EK_MUTATION_OWN_POLICIES));
    add_policies(&next, state, ek_mutation_watch_store(watch, EK_MUTATION_NATIVE_POLICIES));
    add_bindings(&next, state, ek_mutation_watch_store(watch, EK_MUTATION_OWN_BINDINGS));
    add_bindings(&next, state, ek_mutation_watch_store(watch, EK_MUTATION_NATIVE_BINDINGS));
    next.compiled = state->compiled;
    next.moved_ms = state->moved_ms;
    decide(&next, census, serving);
    join(&next, serving);
    ek_mutation_state_done(state);
    *state = next;
}

void ek_mutation_state_done(struct ek_mutation_state *state)
{
    for (size_t i = 0; i < state->n_policies; i++) {
        ek_types_memo_free(state->policies[i].types);
        ek_policy_unref(state->policies[i].policy);
        ek_obj_unref(state->policies[i].obj);
    }
    for (size_t i = 0; i < state->n_bindings; i++) {
        ek_binding_unref(state->bindings[i].binding);
        ek_obj_unref(state->bindings[i].obj);
    }
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        ek_registration_done(&state->registrations[kind]);
    ek_free(state->policies);
    ek_free(state->bindings);
    ek_free(state->by_policy);
    ek_free(state->bound);
    *state = (struct ek_mutation_state){0};
}

/* ---- What the policies need ---- */

struct wants {
    struct ek_schema_want *items;
    size_t n;
};

static void add_want(struct wants *wants, const char *group, const char *version)
{
    for (size_t i = 0; i < wants->n; i++)
        if (!strcmp(wants->items[i].group, group) && !strcmp(wants->items[i].version, version))
            return;
    wants->items = ek_xrealloc(wants->items, wants->n + 1, sizeof *wants->items);
    wants->items[wants->n++] = (struct ek_schema_want){.group = group, .version = version};
}

static void add_rule(struct wants *wants, yyjson_val *rule)
{
    yyjson_val *group, *version;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(rule, "apiGroups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(rule, "apiVersions"), k, m, version)
        {
            if (yyjson_is_str(group) && yyjson_is_str(version))
                add_want(wants, yyjson_get_str(group), yyjson_get_str(version));
        }
    }
}

static int compare_want(const void *a, const void *b)
{
    const struct ek_schema_want *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->version, y->version);
}

/* Policies without a binding, too: their types are checked. */
static void follow_schemas(const struct ek_mutation_state *state,
                           const struct ek_mutation_watch *watch)
{
    struct wants wants = {0};

    for (size_t i = 0; i < state->n_policies; i++) {
        const struct ek_rules *rules = state->policies[i].policy->rules;
        for (size_t k = 0; rules && k < ek_rules_len(rules); k++)
            add_rule(&wants, ek_rules_at(rules, k));
    }
    if (wants.n)
        qsort(wants.items, wants.n, sizeof *wants.items, compare_want);
    ek_mutation_schemas_want(ek_mutation_watch_schemas(watch), wants.items, wants.n);
    ek_free(wants.items);
}

void ek_mutation_state_follow(const struct ek_mutation_state *state,
                              const struct ek_mutation_watch *watch)
{
    struct ek_param_kind *kinds = ek_xalloc((state->n_bound + 1) * sizeof *kinds);
    size_t n = 0;

    for (size_t i = 0; i < state->n_bound; i++) {
        const struct ek_policy *p = state->bound[i].policy;
        if (p->has_params && state->bound[i].binding->has_param_ref)
            kinds[n++] =
                (struct ek_param_kind){.api_version = p->param_api_version, .kind = p->param_kind};
    }
    ek_mutation_params_want(ek_mutation_watch_params(watch), kinds, n);
    ek_free(kinds);
    follow_schemas(state, watch);
}
