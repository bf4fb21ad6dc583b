/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/schema/schema.h"

/* ---- Lists of objects ---- */

struct ek_object_list {
    atomic_uint refs;
    size_t n;
    struct ek_obj *items[]; /* by key */
};

struct ek_object_list *ek_object_list_new(struct ek_obj *const *items, size_t n)
{
    struct ek_object_list *list = ek_xalloc(sizeof *list + n * sizeof(struct ek_obj *));

    atomic_init(&list->refs, 1);
    list->n = n;
    for (size_t i = 0; i < n; i++)
        list->items[i] = ek_obj_ref(items[i]);
    if (n > 1)
        qsort(list->items, n, sizeof(struct ek_obj *), ek_obj_by_key);
    return list;
}

size_t ek_object_list_size(const struct ek_object_list *list)
{
    return list->n;
}

struct ek_object_list *ek_object_list_ref(const struct ek_object_list *list)
{
    struct ek_object_list *same = (struct ek_object_list *)(uintptr_t)list;

    if (same)
        atomic_fetch_add_explicit(&same->refs, 1, memory_order_relaxed);
    return same;
}

void ek_object_list_unref(struct ek_object_list *list)
{
    if (!list || atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < list->n; i++)
        ek_obj_unref(list->items[i]);
    ek_free(list);
}

size_t ek_object_list_seek(const struct ek_object_list *list, const char *key)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(ek_obj_key(list->items[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct ek_obj *ek_object_list_at(const struct ek_object_list *list, size_t i)
{
    return i < list->n ? list->items[i] : NULL;
}

const struct ek_obj *ek_object_list_find(const struct ek_object_list *list, const char *key)
{
    const struct ek_obj *obj = ek_object_list_at(list, ek_object_list_seek(list, key));

    return obj && !strcmp(ek_obj_key(obj), key) ? obj : NULL;
}

/* ---- Snapshots ---- */

struct named_set {
    char *name;
    struct ek_bound *bound;
    struct ek_policy_set set;
};

struct named_params {
    char *api_version, *kind;
    struct ek_webhook_params params;
};

struct named_schema {
    char *group, *version;
    struct ek_schema *schema;
};

struct ek_webhook_snapshot {
    atomic_uint refs;
    struct named_set *sets;
    struct named_params *params;
    struct named_schema *schemas;
    size_t n_sets, n_params, n_schemas;
    struct ek_object_list *namespaces;
    bool loading;
};

struct ek_webhook_snapshot *ek_webhook_snapshot_new(void)
{
    struct ek_webhook_snapshot *snapshot = ek_xalloc(sizeof *snapshot);

    atomic_init(&snapshot->refs, 1);
    return snapshot;
}

struct ek_webhook_snapshot *ek_webhook_snapshot_ref(const struct ek_webhook_snapshot *snapshot)
{
    struct ek_webhook_snapshot *same = (struct ek_webhook_snapshot *)(uintptr_t)snapshot;

    if (same)
        atomic_fetch_add_explicit(&same->refs, 1, memory_order_relaxed);
    return same;
}

static void free_set(struct named_set *set)
{
    for (size_t i = 0; i < set->set.n; i++) {
        ek_policy_unref(set->bound[i].policy);
        ek_binding_unref(set->bound[i].binding);
    }
    ek_free(set->bound);
    ek_free(set->name);
}

static void free_params(struct named_params *params)
{
    ek_object_list_unref((struct ek_object_list *)(uintptr_t)params->params.objects);
    ek_free(params->api_version);
    ek_free(params->kind);
}

static void free_schema(struct named_schema *schema)
{
    ek_schema_unref(schema->schema);
    ek_free(schema->group);
    ek_free(schema->version);
}

void ek_webhook_snapshot_unref(struct ek_webhook_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < snapshot->n_sets; i++)
        free_set(&snapshot->sets[i]);
    for (size_t i = 0; i < snapshot->n_params; i++)
        free_params(&snapshot->params[i]);
    for (size_t i = 0; i < snapshot->n_schemas; i++)
        free_schema(&snapshot->schemas[i]);
    ek_object_list_unref(snapshot->namespaces);
    ek_free(snapshot->sets);
    ek_free(snapshot->params);
    ek_free(snapshot->schemas);
    ek_free(snapshot);
}

/* ---- Filling ---- */

void ek_webhook_snapshot_add_policies(struct ek_webhook_snapshot *snapshot, const char *name,
                                      const struct ek_bound *bound, size_t n)
{
    struct named_set set = {.name = ek_xstrdup(name),
                            .bound = n ? ek_xalloc(n * sizeof *bound) : NULL};

    for (size_t i = 0; i < n; i++) {
        set.bound[i] = bound[i];
        ek_policy_ref(bound[i].policy);
        ek_binding_ref(bound[i].binding);
    }
    set.set = (struct ek_policy_set){set.bound, n};
    snapshot->sets = ek_xrealloc(snapshot->sets, snapshot->n_sets + 1, sizeof set);
    snapshot->sets[snapshot->n_sets++] = set;
}

void ek_webhook_snapshot_set_loading(struct ek_webhook_snapshot *snapshot)
{
    snapshot->loading = true;
}

bool ek_webhook_snapshot_is_loading(const struct ek_webhook_snapshot *snapshot)
{
    return snapshot->loading;
}

void ek_webhook_snapshot_set_namespaces(struct ek_webhook_snapshot *snapshot,
                                        const struct ek_object_list *list)
{
    ek_object_list_unref(snapshot->namespaces);
    snapshot->namespaces = ek_object_list_ref(list);
}

void ek_webhook_snapshot_add_params(struct ek_webhook_snapshot *snapshot, const char *api_version,
                                    const char *kind, bool namespaced,
                                    const struct ek_object_list *objects)
{
    struct named_params params = {ek_xstrdup(api_version), ek_xstrdup(kind), {0}};

    params.params = (struct ek_webhook_params){params.api_version, params.kind, namespaced,
                                               ek_object_list_ref(objects)};
    snapshot->params = ek_xrealloc(snapshot->params, snapshot->n_params + 1, sizeof params);
    snapshot->params[snapshot->n_params++] = params;
}

void ek_webhook_snapshot_add_schema(struct ek_webhook_snapshot *snapshot, const char *group,
                                    const char *version, const struct ek_schema *schema)
{
    snapshot->schemas =
        ek_xrealloc(snapshot->schemas, snapshot->n_schemas + 1, sizeof *snapshot->schemas);
    snapshot->schemas[snapshot->n_schemas++] =
        (struct named_schema){ek_xstrdup(group), ek_xstrdup(version), ek_schema_ref(schema)};
}

/* ---- Reading ---- */

const struct ek_policy_set *ek_webhook_snapshot_policies(const struct ek_webhook_snapshot *snapshot,
                                                         const char *name)
{
    for (size_t i = 0; i < snapshot->n_sets; i++)
        if (!strcmp(snapshot->sets[i].name, name))
            return &snapshot->sets[i].set;
    return NULL;
}

const struct ek_policy_set *
ek_webhook_snapshot_policies_at(const struct ek_webhook_snapshot *snapshot, size_t i,
                                const char **ret_name)
{
    if (i >= snapshot->n_sets)
        return NULL;
    *ret_name = snapshot->sets[i].name;
    return &snapshot->sets[i].set;
}

const struct ek_webhook_params *
ek_webhook_snapshot_params_at(const struct ek_webhook_snapshot *snapshot, size_t i)
{
    return i < snapshot->n_params ? &snapshot->params[i].params : NULL;
}

size_t ek_webhook_snapshot_n_schemas(const struct ek_webhook_snapshot *snapshot)
{
    return snapshot->n_schemas;
}

const struct ek_object_list *
ek_webhook_snapshot_namespaces(const struct ek_webhook_snapshot *snapshot)
{
    return snapshot->namespaces;
}

const struct ek_webhook_params *
ek_webhook_snapshot_params(const struct ek_webhook_snapshot *snapshot, const char *api_version,
                           const char *kind)
{
    for (size_t i = 0; i < snapshot->n_params; i++)
        if (!strcmp(snapshot->params[i].api_version, api_version) &&
            !strcmp(snapshot->params[i].kind, kind))
            return &snapshot->params[i].params;
    return NULL;
}

/* A group version that is known without the kind is still an answer: the engine then says, as the
 * API server does, that it has no type for it. */
const struct ek_schema *ek_webhook_snapshot_schema(const struct ek_webhook_snapshot *snapshot,
                                                   const struct ek_gvk *kind)
{
    const struct ek_schema *without = NULL;
    uint32_t type;

    for (size_t i = 0; i < snapshot->n_schemas; i++) {
        const struct named_schema *s = &snapshot->schemas[i];
        if (strcmp(s->group, kind->group) != 0 || strcmp(s->version, kind->version) != 0)
            continue;
        if (!ek_schema_find_kind(s->schema, kind->group, kind->version, kind->kind, &type, NULL))
            return s->schema;
        without = without ? without : s->schema;
    }
    return without;
}
