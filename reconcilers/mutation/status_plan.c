/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/status_plan.h"

#include <string.h>

#include "api/base/mem.h"

/* ---- Facts ---- */

/* Params are read for bindings that name some. */
static bool wants_params(const struct ek_policy_entry *entry)
{
    for (size_t i = 0; i < entry->n_bindings; i++)
        if (entry->bindings[i]->has_param_ref)
            return true;
    return false;
}

/* The kind of params of a policy; NULL: none is known. A policy without params names the kind "".
 */
static const struct ek_params_source *source_of(const struct ek_status_inputs *inputs,
                                                const struct ek_policy_entry *entry)
{
    const struct ek_policy *policy = entry->policy;

    for (size_t i = 0; i < inputs->n_params; i++) {
        const struct ek_params_source *source = &inputs->params[i];
        if (!strcmp(source->kind, policy->param_kind) &&
            !strcmp(source->api_version, policy->param_api_version))
            return source;
    }
    return wants_params(entry) ? inputs->beyond : NULL;
}

static void set_types(const struct ek_policy_types *types, const char *error,
                      struct ek_policy_facts *facts)
{
    facts->types = types->checked ? EK_TYPES_CHECKED : EK_TYPES_PENDING;
    facts->types_message = types->checked ? NULL
                           : *error       ? error
                                          : "no schema of a kind that it matches is known";
    facts->findings = types->findings;
    facts->n_findings = types->n_findings;
}

static struct ek_policy_facts facts_of(const struct ek_status_inputs *inputs,
                                       const struct ek_policy_entry *entry,
                                       const struct ek_policy_facts *observed,
                                       struct ek_arena *arena)
{
    bool restless = observed && observed->restless && entry->enforcement.confirm;
    struct ek_policy_facts facts = {
        .policy = entry->policy,
        .bindings = entry->bindings,
        .n_bindings = entry->n_bindings,
        .after = entry->after,
        .enforcer = entry->enforcement.enforcer,
        .enforcer_message = *entry->enforcement.message ? entry->enforcement.message : NULL,
        .block = ek_policy_blocked(entry->policy, entry->bindings, entry->n_bindings,
                                   source_of(inputs, entry), restless, arena),
        .shadows_native = entry->shares_name && !entry->policy->native,
    };

    if (inputs->unregistered)
        facts.unregistered = inputs->unregistered[entry - inputs->state->policies];
    if (inputs->servers && entry->refusal.tried) {
        facts.refusal = &entry->refusal;
        facts.servers = inputs->servers;
    }
    set_types(&entry->types, inputs->schemas_error, &facts);
    if (observed) {
        facts.counts = observed->counts;
        facts.fights = observed->fights;
        facts.n_fights = observed->n_fights;
    }
    return facts;
}

/* ---- Intents ---- */

static struct ek_apply_target target_of(const struct ek_status_inputs *inputs, const char *name)
{
    return (struct ek_apply_target){.resource = inputs->resource, .name = name};
}

static void add_creation(const struct ek_status_inputs *inputs, const struct ek_policy_entry *entry,
                         struct ek_intents *intents)
{
    const struct ek_apply_target target = target_of(inputs, entry->policy->name);
    yyjson_mut_doc *doc = ek_intents_doc(intents);
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, content, "metadata");
    yyjson_mut_val *owners = yyjson_mut_obj_add_arr(doc, metadata, "ownerReferences");
    yyjson_mut_val *owner = yyjson_mut_arr_add_obj(doc, owners);

    yyjson_mut_obj_add_strcpy(doc, owner, "apiVersion", ek_obj_api_version(entry->obj));
    yyjson_mut_obj_add_strcpy(doc, owner, "kind", ek_obj_kind(entry->obj));
    yyjson_mut_obj_add_strcpy(doc, owner, "name", ek_obj_name(entry->obj));
    yyjson_mut_obj_add_strcpy(doc, owner, "uid", ek_obj_uid(entry->obj));
    ek_intents_apply(intents, &target, content);
}

/* Bytes that a copy of value takes, roughly. The values of a document are one array. */
static size_t weight_of(yyjson_val *value)
{
    const yyjson_val *end = unsafe_yyjson_get_next(value);
    size_t bytes = 0;

    for (yyjson_val *v = value; v < end; v++)
        bytes += sizeof(yyjson_mut_val) + yyjson_get_len(v);
    return bytes;
}

static struct ek_intent *add_status(const struct ek_status_inputs *inputs, const char *name,
                                    yyjson_val *status, struct ek_intents *intents)
{
    const struct ek_apply_target target = target_of(inputs, name);
    yyjson_mut_val *copy = yyjson_val_mut_copy(ek_intents_doc(intents), status);

    ek_intents_weigh(intents, weight_of(status));
    return ek_intents_apply_status(intents, &target, copy);
}

static yyjson_val *ready_of(yyjson_val *status)
{
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        if (yyjson_equals_str(yyjson_obj_get(condition, "type"), "Ready"))
            return condition;
    }
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

/* True when the Ready condition says another thing than before: another status, or another reason
 * for not being ready. */
static bool is_news(yyjson_val *ready, yyjson_val *before)
{
    const char *state = ek_json_str(ready, "status", NULL);

    if (!state)
        return false;
    if (!same_text(state, ek_json_str(before, "status", NULL)))
        return true;
    return !strcmp(state, "False") &&
           !same_text(ek_json_str(ready, "reason", NULL), ek_json_str(before, "reason", NULL));
}

/* An Event when the Ready condition is news. */
static void add_event(const struct ek_policy_entry *entry, yyjson_val *status, yyjson_val *old,
                      struct ek_intents *intents)
{
    yyjson_val *ready = ready_of(status);
    const char *state = ek_json_str(ready, "status", NULL);
    const char *message = ek_json_str(ready, "message", NULL);
    const char *reason = ek_json_str(ready, "reason", NULL);

    if (!is_news(ready, ready_of(old)))
        return;
    const struct ek_event event = {
        .regarding = ek_event_about(entry->obj),
        .warning = !strcmp(state, "False"),
        .reason = reason ? reason : "Ready",
        .action = "Judge",
        .note = message && *message ? message : "The policy is in effect",
    };
    ek_intents_depend(ek_intents_event(intents, &event));
}

/* ---- One policy ---- */

void ek_status_plan(const struct ek_status_inputs *inputs, size_t i, const struct ek_obj *live,
                    const struct ek_policy_facts *observed, struct ek_arena *arena,
                    struct ek_intents *intents)
{
    const struct ek_policy_entry *entry = &inputs->state->policies[i];
    yyjson_val *old = live ? yyjson_obj_get(ek_obj_root(live), "status") : NULL;

    if (!ek_policy_has_status(entry->policy, entry->shares_name))
        return;
    if (!live)
        add_creation(inputs, entry, intents);
    struct ek_policy_facts facts = facts_of(inputs, entry, observed, arena);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *status = ek_policy_status(&facts, old, inputs->now_ms, arena, doc);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *next = status ? ek_obj_from_mut(status) : NULL;
    if (next && !(old && ek_json_equal(ek_obj_root(next), old))) {
        add_status(inputs, entry->policy->name, ek_obj_root(next), intents)->depends = !live;
        add_event(entry, ek_obj_root(next), old, intents);
    }
    yyjson_mut_doc_free(doc);
}
