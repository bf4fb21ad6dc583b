/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/state.h"

#include <string.h>

#include "api/base/mem.h"
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
                         const struct ek_mutation_objects *from)
{
    size_t hint = next->n_policies;

    next->policies =
        ek_xrealloc(next->policies, next->n_policies + from->n + 1, sizeof *next->policies);
    for (size_t i = 0; i < from->n; i++) {
        struct ek_policy_entry *known = known_policy(old, from->items[i], &hint);
        struct ek_policy_entry *e = &next->policies[next->n_policies++];
        *e = (struct ek_policy_entry){.obj = ek_obj_ref(from->items[i])};
        if (known) {
            e->policy = ek_policy_ref(known->policy);
            e->types = known->types;
            known->types = (struct ek_policy_types){0};
            e->refusal = known->refusal;
            known->refusal = (struct ek_policy_refusal){0};
        } else {
            e->policy = ek_policy_new(from->items[i], 0);
            next->compiled++;
        }
    }
}

static void add_bindings(struct ek_mutation_state *next, const struct ek_mutation_state *old,
                         const struct ek_mutation_objects *from)
{
    size_t hint = next->n_bindings;

    next->bindings =
        ek_xrealloc(next->bindings, next->n_bindings + from->n + 1, sizeof *next->bindings);
    for (size_t i = 0; i < from->n; i++) {
        const struct ek_binding *binding = known_binding(old, from->items[i], &hint);
        next->bindings[next->n_bindings++] = (struct ek_binding_entry){
            .obj = ek_obj_ref(from->items[i]),
            .binding = binding ? binding : ek_binding_new(from->items[i])};
    }
}

/* ---- Joining ---- */

struct ek_policy_entry *ek_mutation_state_find(const struct ek_mutation_state *state, bool native,
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
        e->shares_name = ek_mutation_state_find(state, !e->policy->native, e->policy->name) != NULL;
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
        b->of = ek_mutation_state_find(state, b->binding->native, b->binding->policy_name);
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

/* Notes which policy runs before each; the bindings of one policy follow each other. */
static void note_order(struct ek_mutation_state *state)
{
    const struct ek_policy *before = NULL;

    for (size_t i = 0; i < state->n_bound; i++) {
        const struct ek_policy *policy = state->bound[i].policy;
        if (policy == before)
            continue;
        ek_mutation_state_find(state, policy->native, policy->name)->after =
            before ? before->name : "";
        before = policy;
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
    note_order(state);
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        ek_registration_plan(kind, state->bound, serving ? state->n_bound : 0,
                             &state->registrations[kind]);
}

void ek_mutation_state_plan(struct ek_mutation_state *state,
                            const struct ek_mutation_inputs *inputs)
{
    struct ek_mutation_state next = {.compiled = state->compiled};

    add_policies(&next, state, &inputs->own_policies);
    add_policies(&next, state, &inputs->native_policies);
    add_bindings(&next, state, &inputs->own_bindings);
    add_bindings(&next, state, &inputs->native_bindings);
    decide(&next, &inputs->census, inputs->serving);
    join(&next, inputs->serving);
    ek_mutation_state_done(state);
    *state = next;
}

void ek_mutation_state_done(struct ek_mutation_state *state)
{
    for (size_t i = 0; i < state->n_policies; i++) {
        ek_policy_types_done(&state->policies[i].types);
        ek_policy_refusal_done(&state->policies[i].refusal);
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
