/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_statuses.h"

#include <string.h>

#include "api/mem.h"
#include "reconcilers/mutation/status.h"

#define ARENA_LIMIT ((size_t)16 << 20)

/* ---- Facts ---- */

/* What keeps the params of a policy from being read; NULL for nothing. */
static const char *params_error(const struct ek_mutation_watch *watch,
                                const struct ek_policy *policy)
{
    struct ek_param_state kind;

    for (size_t i = 0; ek_mutation_params_at(ek_mutation_watch_params(watch), i, &kind); i++)
        if (policy->has_params && !strcmp(kind.kind, policy->param_kind) &&
            !strcmp(kind.api_version, policy->param_api_version) && *kind.error)
            return ek_xasprintf("params: %s", kind.error);
    return NULL;
}

static yyjson_mut_val *make_status(const struct ek_mutation_state *state,
                                   const struct ek_mutation_watch *watch,
                                   struct ek_mutation_reporter *reporter,
                                   struct ek_policy_entry *entry, yyjson_val *old, int64_t now_ms,
                                   struct ek_arena *arena, yyjson_mut_doc *doc)
{
    EK_AUTOFREE char *missing = (char *)(uintptr_t)params_error(watch, entry->policy);
    struct ek_policy_facts facts = {
        .policy = entry->policy,
        .bindings = entry->bindings,
        .n_bindings = entry->n_bindings,
        .order = entry->order,
        .orders = state->n_ordered,
        .enforcer = entry->enforcement.enforcer,
        .enforcer_message = missing                       ? missing
                            : *entry->enforcement.message ? entry->enforcement.message
                                                          : NULL,
        .shadows_native = entry->shares_name && !entry->policy->native,
    };
    ek_mutation_types_check(watch, &entry->types, &facts);
    ek_mutation_reporter_tell(reporter, arena, &facts);
    return ek_policy_status(&facts, old, now_ms, arena, doc);
}

/* ---- Writes ---- */

static struct ek_status_write *add(struct ek_status_writes *writes,
                                   const struct ek_policy_entry *entry, bool creates)
{
    writes->items = ek_xrealloc(writes->items, writes->n + 1, sizeof *writes->items);
    struct ek_status_write *w = &writes->items[writes->n++];

    *w = (struct ek_status_write){.name = ek_xstrdup(entry->policy->name),
                                  .doc = ek_json_doc_new(),
                                  .creates = creates,
                                  .policy = ek_obj_ref(entry->obj)};
    w->content = yyjson_mut_obj(w->doc);
    return w;
}

static void add_creation(struct ek_status_writes *writes, const struct ek_policy_entry *entry)
{
    struct ek_status_write *w = add(writes, entry, true);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(w->doc, w->content, "metadata");
    yyjson_mut_val *owners = yyjson_mut_obj_add_arr(w->doc, metadata, "ownerReferences");
    yyjson_mut_val *owner = yyjson_mut_arr_add_obj(w->doc, owners);

    yyjson_mut_obj_add_strcpy(w->doc, owner, "apiVersion", ek_obj_api_version(entry->obj));
    yyjson_mut_obj_add_strcpy(w->doc, owner, "kind", ek_obj_kind(entry->obj));
    yyjson_mut_obj_add_strcpy(w->doc, owner, "name", ek_obj_name(entry->obj));
    yyjson_mut_obj_add_strcpy(w->doc, owner, "uid", ek_obj_uid(entry->obj));
}

static const char *ready_of(yyjson_val *status)
{
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        if (yyjson_equals_str(yyjson_obj_get(condition, "type"), "Ready"))
            return ek_json_str(condition, "status", NULL);
    }
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

/* True when status is old but for the place in the order; it is changed for that. */
static bool only_moves(yyjson_mut_val *status, yyjson_mut_doc *doc, yyjson_val *old)
{
    yyjson_mut_val *summary = yyjson_mut_obj_get(status, "summary");
    const char *was = ek_json_str(yyjson_obj_get(old, "summary"), "order", NULL);

    if (!was || !yyjson_mut_obj_get(summary, "order"))
        return false;
    yyjson_mut_obj_put(summary, yyjson_mut_str(doc, "order"), yyjson_mut_str(doc, was));
    EK_AUTOPTR(ek_obj, ek_obj_unref) *moved = ek_obj_from_mut(status);
    return moved && ek_json_equal(ek_obj_root(moved), old);
}

static void add_status(struct ek_status_writes *writes, const struct ek_mutation_state *state,
                       const struct ek_mutation_watch *watch, struct ek_mutation_reporter *reporter,
                       struct ek_policy_entry *entry, const struct ek_obj *live, int64_t now_ms)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_val *old = live ? yyjson_obj_get(ek_obj_root(live), "status") : NULL;
    yyjson_mut_val *status = make_status(state, watch, reporter, entry, old, now_ms, arena, doc);
    struct ek_obj *wanted = ek_obj_from_mut(status);

    if (wanted && !(old && ek_json_equal(ek_obj_root(wanted), old))) {
        struct ek_status_write *w = add(writes, entry, false);
        yyjson_mut_obj_add_val(w->doc, w->content, "status",
                               yyjson_val_mut_copy(w->doc, ek_obj_root(wanted)));
        w->moves = old && only_moves(status, doc, old);
        w->told = !same_text(ready_of(ek_obj_root(wanted)), ready_of(old));
    }
    ek_obj_unref(wanted);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
}

static void drop(struct ek_status_write *w)
{
    ek_free(w->name);
    yyjson_mut_doc_free(w->doc);
    ek_obj_unref(w->policy);
}

/* Puts those that tell of moved places behind all others, and off beyond the first few. */
static void put_off_moves(struct ek_status_writes *writes, struct ek_mutation_state *state,
                          int64_t now_ms)
{
    struct ek_status_write *items = ek_xalloc((writes->n + 1) * sizeof *items);
    bool due = now_ms < state->moved_ms || now_ms >= state->moved_ms + EK_STATUS_MOVES_MS;
    size_t n = 0, n_moves = 0, max = due ? EK_STATUS_MOVES_MAX : 0;

    for (size_t i = 0; i < writes->n; i++)
        if (!writes->items[i].moves)
            items[n++] = writes->items[i];
    for (size_t i = 0; i < writes->n; i++) {
        if (!writes->items[i].moves)
            continue;
        if (n_moves++ < max)
            items[n++] = writes->items[i];
        else
            drop(&writes->items[i]);
    }
    if (n_moves && due)
        state->moved_ms = now_ms;
    writes->again_ms = n_moves > max ? EK_STATUS_MOVES_MS : 0;
    ek_free(writes->items);
    writes->items = items;
    writes->n = n;
}

void ek_status_writes_plan(struct ek_mutation_state *state, const struct ek_mutation_watch *watch,
                           struct ek_mutation_reporter *reporter, int64_t now_ms,
                           struct ek_status_writes *ret_writes)
{
    const struct ek_store *store = ek_mutation_watch_store(watch, EK_MUTATION_STATUSES);

    *ret_writes = (struct ek_status_writes){0};
    for (size_t i = 0; i < state->n_policies; i++) {
        struct ek_policy_entry *entry = &state->policies[i];
        const struct ek_obj *live = ek_store_get(store, entry->policy->name);
        if (!ek_policy_has_status(entry->policy, entry->shares_name))
            continue;
        if (!live)
            add_creation(ret_writes, entry);
        add_status(ret_writes, state, watch, reporter, entry, live, now_ms);
    }
    put_off_moves(ret_writes, state, now_ms);
}

void ek_status_writes_done(struct ek_status_writes *writes)
{
    for (size_t i = 0; i < writes->n; i++)
        drop(&writes->items[i]);
    ek_free(writes->items);
    *writes = (struct ek_status_writes){0};
}

struct ek_status_write *ek_status_writes_next(struct ek_status_writes *writes)
{
    return writes->next < writes->n ? &writes->items[writes->next++] : NULL;
}

static void record(const struct ek_status_write *w, yyjson_val *status,
                   struct ek_recorder *recorder)
{
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        const char *state = ek_json_str(condition, "status", NULL);
        if (!state || !yyjson_equals_str(yyjson_obj_get(condition, "type"), "Ready"))
            continue;
        const char *reason = ek_json_str(condition, "reason", NULL);
        const char *message = ek_json_str(condition, "message", NULL);
        struct ek_event event = {
            .regarding = {.api_version = ek_obj_api_version(w->policy),
                          .kind = ek_obj_kind(w->policy),
                          .namespace = "",
                          .name = ek_obj_name(w->policy),
                          .uid = ek_obj_uid(w->policy),
                          .resource_version = ek_obj_resource_version(w->policy)},
            .warning = !strcmp(state, "False"),
            .reason = reason ? reason : "Ready",
            .action = "Judge",
            .note = message && *message ? message : "The policy is in force",
        };
        ek_recorder_record(recorder, &event);
    }
}

void ek_status_writes_answer(struct ek_status_writes *writes, const struct ek_obj *obj,
                             const struct ek_err *err, struct ek_recorder *recorder)
{
    const struct ek_status_write *w = &writes->items[writes->next - 1];

    if (err && w->creates)
        writes->next++;
    else if (!err && obj && !w->creates && w->told && recorder)
        record(w, yyjson_obj_get(ek_obj_root(obj), "status"), recorder);
}
