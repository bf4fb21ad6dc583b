/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/registered.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/webhooks/compare.h"

static const char *const kind_names[EK_REGISTRATION_KINDS] = {
    [EK_REGISTRATION_MUTATING] = "MutatingWebhookConfiguration",
    [EK_REGISTRATION_VALIDATING] = "ValidatingWebhookConfiguration",
};

static const char *const consequences[EK_REGISTRATION_KINDS] = {
    [EK_REGISTRATION_MUTATING] = "Evenkeel does not apply the policy",
    [EK_REGISTRATION_VALIDATING] = "the safety of the policy is not checked",
};

/* A search. */
struct search {
    const struct ek_mutation_state *state;
    const struct ek_registration *registration;
    struct ek_arena *arena;
    struct ek_policy_unregistered *blocks; /* owned; NULL: nothing was found */
};

/* The first finding counts: the mutating registration comes first. */
static void add(struct search *s, size_t bound, const struct ek_policy_unregistered *block)
{
    const struct ek_policy *policy = s->state->bound[bound].policy;
    const struct ek_policy_entry *entry =
        ek_mutation_state_find(s->state, policy->native, policy->name);

    if (!s->blocks)
        s->blocks = ek_xalloc(s->state->n_policies * sizeof *s->blocks);
    struct ek_policy_unregistered *mine = &s->blocks[entry - s->state->policies];
    if (!mine->reason)
        *mine = *block;
}

/* ---- No room ---- */

static void find_left_out(struct search *s)
{
    const struct ek_registration *r = s->registration;
    EK_AUTOFREE bool *has_room = ek_xalloc((s->state->n_bound + 1) * sizeof *has_room);
    const struct ek_policy_unregistered block = {
        .reason = "TooManyWebhooks",
        .message = ek_arena_printf(
            s->arena,
            "%s %s has %d webhooks, which is the limit, and none of them has room for the policy; "
            "%s; match each resource in the apiVersions in which other policies match it",
            kind_names[r->kind], EK_REGISTRATION_NAME, EK_REGISTRATION_ENTRIES_MAX,
            consequences[r->kind])};

    for (size_t i = 0; i < r->n_entries; i++)
        for (size_t k = 0; k < r->entries[i].n_bound; k++)
            has_room[r->entries[i].bound[k]] = true;
    for (size_t i = 0; i < s->state->n_bound; i++)
        if (!has_room[i] && ek_registration_is_wanted(r->kind, &s->state->bound[i]))
            add(s, i, &block);
}

/* ---- Not in the cluster ---- */

static struct ek_policy_unregistered unwritten(const struct search *s,
                                               const struct ek_registration_standing *standing)
{
    enum ek_registration_kind kind = s->registration->kind;

    return (struct ek_policy_unregistered){
        .reason = "NotRegistered",
        .unknown = standing->waits,
        .message = ek_arena_printf(s->arena,
                                   "%s %s does not have the webhook of the policy: %s; %s; "
                                   "Evenkeel tries again",
                                   kind_names[kind], EK_REGISTRATION_NAME, standing->error,
                                   consequences[kind])};
}

/* The entry whose webhook it is; NULL: that of no entry. */
static const struct ek_registration_entry *entry_of(const struct ek_registration *r,
                                                    yyjson_mut_val *webhook)
{
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(webhook, "name"));

    for (size_t i = 0; i < r->n_entries; i++) {
        size_t len = strlen(r->entries[i].name);
        if (!strncmp(name, r->entries[i].name, len) && name[len] == '.')
            return &r->entries[i];
    }
    return NULL;
}

static void find_unwritten(struct search *s, const struct ek_registration_standing *standing)
{
    const struct ek_policy_unregistered block = unwritten(s, standing);
    yyjson_mut_val *webhook;
    size_t i, n;

    yyjson_mut_arr_foreach(yyjson_mut_obj_get(standing->content, "webhooks"), i, n, webhook)
    {
        const struct ek_registration_entry *entry = entry_of(s->registration, webhook);
        if (!entry || ek_webhooks_has(standing->live, webhook))
            continue;
        for (size_t k = 0; k < entry->n_bound; k++)
            add(s, entry->bound[k], &block);
    }
}

struct ek_policy_unregistered *
ek_policies_unregistered(const struct ek_mutation_state *state,
                         const struct ek_registration_standing standings[EK_REGISTRATION_KINDS],
                         struct ek_arena *arena)
{
    struct search s = {.state = state, .arena = arena};

    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++) {
        s.registration = &state->registrations[kind];
        if (s.registration->left_out)
            find_left_out(&s);
        if (standings[kind].content)
            find_unwritten(&s, &standings[kind]);
    }
    return s.blocks;
}
