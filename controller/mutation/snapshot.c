/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/snapshot.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/served_sets.h"

static void drop(struct ek_mutation_list *item)
{
    ek_object_list_unref(item->list);
    ek_free(item->key);
}

void ek_mutation_lists_done(struct ek_mutation_lists *lists)
{
    for (size_t i = 0; i < lists->n; i++)
        drop(&lists->items[i]);
    ek_free(lists->items);
    *lists = (struct ek_mutation_lists){0};
}

static struct ek_object_list *find(const struct ek_mutation_lists *lists, const char *key,
                                   const struct ek_param_state *kind)
{
    for (size_t i = 0; i < lists->n; i++) {
        const struct ek_mutation_list *item = &lists->items[i];
        if (item->store == kind->store && item->version == kind->version && !strcmp(item->key, key))
            return ek_object_list_ref(item->list);
    }
    return NULL;
}

static struct ek_object_list *list_of(const struct ek_param_state *kind)
{
    size_t n;
    struct ek_obj **items = ek_store_snapshot(kind->store, &n);
    struct ek_object_list *list = ek_object_list_new(items, n);

    ek_snapshot_free(items, n);
    return list;
}

/* Moves to a fresh set of lists, so that kinds that are gone are forgotten. */
static void add_params(struct ek_webhook_snapshot *snapshot, const struct ek_mutation_watch *watch,
                       struct ek_mutation_lists *lists)
{
    struct ek_mutation_lists next = {0};
    struct ek_param_state kind;

    for (size_t i = 0; ek_mutation_params_at(ek_mutation_watch_params(watch), i, &kind); i++) {
        if (!kind.known)
            continue;
        struct ek_object_list *list = NULL;
        if (kind.store) {
            char *key = ek_xasprintf("%s %s", kind.api_version, kind.kind);
            list = find(lists, key, &kind);
            if (!list)
                list = list_of(&kind);
            next.items = ek_xrealloc(next.items, next.n + 1, sizeof *next.items);
            next.items[next.n++] = (struct ek_mutation_list){
                .key = key, .store = kind.store, .version = kind.version, .list = list};
        }
        ek_webhook_snapshot_add_params(snapshot, kind.api_version, kind.kind, kind.namespaced,
                                       list);
    }
    ek_mutation_lists_done(lists);
    *lists = next;
}

static void add_set(struct ek_webhook_snapshot *snapshot, const struct ek_mutation_state *state,
                    const struct ek_served_set *set)
{
    struct ek_bound *bound = ek_xalloc((set->n_bound + 1) * sizeof *bound);

    for (size_t i = 0; i < set->n_bound; i++)
        bound[i] = state->bound[set->bound[i]];
    ek_webhook_snapshot_add_policies(snapshot, set->name, set->all ? state->bound : bound,
                                     set->all ? state->n_bound : set->n_bound);
    ek_free(bound);
}

static void add_sets(struct ek_webhook_snapshot *snapshot, const struct ek_mutation_state *state)
{
    EK_AUTOFREE struct ek_served_set *sets = NULL;
    size_t n = ek_served_sets(state, &sets);

    for (size_t i = 0; i < n; i++)
        add_set(snapshot, state, &sets[i]);
}

static void add_schema(void *ctx, const char *group, const char *version,
                       const struct ek_schema *schema)
{
    ek_webhook_snapshot_add_schema(ctx, group, version, schema);
}

struct ek_webhook_snapshot *ek_mutation_snapshot_make(const struct ek_mutation_state *state,
                                                      struct ek_mutation_watch *watch,
                                                      struct ek_mutation_lists *lists, bool loading)
{
    struct ek_webhook_snapshot *snapshot = ek_webhook_snapshot_new();
    struct ek_object_list *namespaces = ek_mutation_watch_namespaces(watch);

    if (loading)
        ek_webhook_snapshot_set_loading(snapshot);
    ek_webhook_snapshot_set_namespaces(snapshot, namespaces);
    ek_object_list_unref(namespaces);
    add_sets(snapshot, state);
    add_params(snapshot, watch, lists);
    ek_mutation_schemas_each(ek_mutation_watch_schemas(watch), add_schema, snapshot);
    return snapshot;
}
