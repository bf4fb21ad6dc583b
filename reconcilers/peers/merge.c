/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/merge.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"
#include "reconcilers/peers/order.h"

static bool same_names(const struct ek_name_list *a, const struct ek_name_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->names[i], b->names[i]) != 0)
            return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The sorted union; nothing at all when both are empty. */
static struct ek_api_names unite_names(const struct ek_api_names *a, const struct ek_api_names *b,
                                       struct ek_arena *arena)
{
    const char **items = ek_arena_alloc(arena, (a->n + b->n + 1) * sizeof *items);
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < a->n; i++)
        items[n++] = a->items[i];
    for (size_t i = 0; i < b->n; i++)
        items[n++] = b->items[i];
    qsort(items, n, sizeof *items, by_text);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(items[kept - 1], items[i]) != 0)
            items[kept++] = items[i];
    return (struct ek_api_names){.items = items, .n = kept, .set = kept > 0};
}

/* A subresource and its place among all of both resources: of one name the last one counts. */
struct placed_sub {
    const struct ek_api_subresource *sub;
    size_t at;
};

static int by_sub(const void *a, const void *b)
{
    const struct placed_sub *x = a, *y = b;
    int c = strcmp(x->sub->name, y->sub->name);
    return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static struct ek_api_subresources unite_subs(const struct ek_api_subresources *a,
                                             const struct ek_api_subresources *b,
                                             struct ek_arena *arena)
{
    struct placed_sub *all = ek_arena_alloc(arena, (a->n + b->n + 1) * sizeof *all);
    struct ek_api_subresource *items = ek_arena_alloc(arena, (a->n + b->n + 1) * sizeof *items);
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < a->n; i++, n++)
        all[n] = (struct placed_sub){&a->items[i], n};
    for (size_t i = 0; i < b->n; i++, n++)
        all[n] = (struct placed_sub){&b->items[i], n};
    qsort(all, n, sizeof *all, by_sub);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || strcmp(all[i].sub->name, all[i + 1].sub->name) != 0)
            items[kept++] = *all[i].sub;
    return (struct ek_api_subresources){.items = items, .n = kept, .set = kept > 0};
}

static const struct ek_api_resource *merge_resource(const struct ek_api_resource *a,
                                                    const struct ek_api_resource *b,
                                                    struct ek_arena *arena)
{
    struct ek_api_resource *merged = ek_arena_alloc(arena, sizeof *merged);

    *merged = *a->name ? *a : *b;
    merged->verbs = unite_names(&a->verbs, &b->verbs, arena);
    merged->subresources = unite_subs(&a->subresources, &b->subresources, arena);
    return merged;
}

static struct ek_name_list resource_names(const struct ek_api_version *version,
                                          struct ek_arena *arena)
{
    const char **names = ek_arena_alloc(arena, (version->n + 1) * sizeof *names);

    for (size_t i = 0; i < version->n; i++)
        names[i] = version->resources[i].name;
    return (struct ek_name_list){names, version->n};
}

/* An entry of a merge: const values are put into maps through it. */
struct entry {
    const void *value;
};

static void put(struct ek_map *map, const char *name, const void *value, struct ek_arena *arena)
{
    struct entry *entry = ek_map_get(map, name);

    if (!entry) {
        entry = ek_arena_alloc(arena, sizeof *entry);
        ek_map_put(map, name, entry);
    }
    entry->value = value;
}

/* The value of name, which is taken out of the map; NULL when there is none. */
static const void *take(struct ek_map *map, const char *name)
{
    const struct entry *entry = ek_map_take(map, name);
    return entry ? entry->value : NULL;
}

static const void *get(const struct ek_map *map, const char *name)
{
    const struct entry *entry = ek_map_get(map, name);
    return entry ? entry->value : NULL;
}

/* The order of two lists. */
static struct ek_name_list order_of(const struct ek_name_list lists[2], bool same,
                                    struct ek_arena *arena)
{
    struct ek_name_list order = lists[0];

    if (!same)
        order.names = ek_order_merge(lists, 2, arena, &order.n);
    return order;
}

/* True when *ret_merged is another version than a. */
static bool merge_version(const struct ek_api_version *a, const struct ek_api_version *b,
                          struct ek_arena *arena, const struct ek_api_version **ret_merged)
{
    struct ek_map map = {0};
    struct ek_name_list lists[] = {resource_names(a, arena), resource_names(b, arena)};
    bool same = same_names(&lists[0], &lists[1]), changed = false;

    for (size_t i = 0; i < a->n; i++)
        put(&map, a->resources[i].name, &a->resources[i], arena);
    for (size_t i = 0; i < b->n && !ek_arena_exhausted(arena); i++) {
        const struct ek_api_resource *resource = &b->resources[i];
        const struct ek_api_resource *base = get(&map, resource->name);
        if (base && ek_api_resource_equal(base, resource))
            continue;
        changed = changed || base;
        put(&map, resource->name, base ? merge_resource(base, resource, arena) : resource, arena);
    }
    *ret_merged = a;
    if (changed || !same) {
        struct ek_name_list order = order_of(lists, same, arena);
        struct ek_api_version *merged = ek_arena_alloc(arena, sizeof *merged);
        struct ek_api_resource *resources =
            ek_arena_alloc(arena, (order.n + 1) * sizeof *resources);
        *merged = *a;
        merged->resources = resources;
        merged->n = 0;
        merged->set = true;
        for (size_t i = 0; i < order.n; i++) {
            const struct ek_api_resource *resource = take(&map, order.names[i]);
            if (resource)
                resources[merged->n++] = *resource;
        }
        *ret_merged = merged;
    }
    ek_map_done(&map);
    return *ret_merged != a;
}

static struct ek_name_list version_names(const struct ek_api_group *group, struct ek_arena *arena)
{
    const char **names = ek_arena_alloc(arena, (group->n + 1) * sizeof *names);

    for (size_t i = 0; i < group->n; i++)
        names[i] = group->versions[i].name;
    return (struct ek_name_list){names, group->n};
}

static const struct ek_api_group *assemble_group(const struct ek_api_group *a, struct ek_map *map,
                                                 const struct ek_name_list *order,
                                                 struct ek_arena *arena)
{
    struct ek_api_group *merged = ek_arena_alloc(arena, sizeof *merged);
    struct ek_api_version *versions = ek_arena_alloc(arena, (order->n + 1) * sizeof *versions);

    *merged = *a;
    merged->versions = versions;
    merged->n = 0;
    merged->set = true;
    for (size_t i = 0; i < order->n; i++) {
        const struct ek_api_version *version = take(map, order->names[i]);
        if (version)
            versions[merged->n++] = *version;
    }
    return merged;
}

/* True when *ret_merged is another group than a. */
static bool merge_group(const struct ek_api_group *a, const struct ek_api_group *b,
                        struct ek_arena *arena, const struct ek_api_group **ret_merged)
{
    struct ek_map map = {0};
    struct ek_name_list lists[] = {version_names(a, arena), version_names(b, arena)};
    bool same = same_names(&lists[0], &lists[1]), changed = false;

    for (size_t i = 0; i < a->n; i++)
        put(&map, a->versions[i].name, &a->versions[i], arena);
    for (size_t i = 0; i < b->n && !ek_arena_exhausted(arena); i++) {
        const struct ek_api_version *version = &b->versions[i];
        const struct ek_api_version *base = get(&map, version->name), *merged = version;
        if (base && merge_version(base, version, arena, &merged))
            changed = true;
        put(&map, version->name, merged, arena);
    }
    *ret_merged = a;
    if (changed || !same) {
        struct ek_name_list order = order_of(lists, same, arena);
        *ret_merged = assemble_group(a, &map, &order, arena);
    }
    ek_map_done(&map);
    return *ret_merged != a;
}

/* Folds one server's groups in; true when something was merged. */
static bool fold(struct ek_map *map, const struct ek_api_list *list, struct ek_arena *arena)
{
    bool changed = false;

    for (size_t i = 0; i < list->n && !ek_arena_exhausted(arena); i++) {
        const struct ek_api_group *group = &list->groups[i];
        const struct ek_api_group *base = get(map, group->name), *merged = group;
        if (base && merge_group(base, group, arena, &merged))
            changed = true;
        put(map, group->name, merged, arena);
    }
    return changed;
}

static struct ek_name_list group_names(const struct ek_api_list *list, struct ek_arena *arena)
{
    const char **names = ek_arena_alloc(arena, (list->n + 1) * sizeof *names);

    for (size_t i = 0; i < list->n; i++)
        names[i] = list->groups[i].name;
    return (struct ek_name_list){names, list->n};
}

static int by_id(const void *a, const void *b)
{
    const struct ek_merge_server *x = a, *y = b;
    return strcmp(x->id, y->id);
}

/* All servers, by id; a peer of the local id stands for the local server. */
static struct ek_merge_server *all_servers(const char *local_id, struct ek_api_list local,
                                           const struct ek_merge_server *peers, size_t n,
                                           struct ek_arena *arena, size_t *ret_n)
{
    struct ek_merge_server *all = ek_arena_alloc(arena, (n + 1) * sizeof *all);
    bool has_local = false;

    for (size_t i = 0; i < n; i++) {
        all[i] = peers[i];
        has_local = has_local || !strcmp(peers[i].id, local_id);
    }
    if (!has_local)
        all[n++] = (struct ek_merge_server){.id = local_id, .list = local};
    qsort(all, n, sizeof *all, by_id);
    *ret_n = n;
    return all;
}

static struct ek_api_list assemble(const struct ek_map *map, const char *const *names, size_t n,
                                   struct ek_arena *arena)
{
    struct ek_api_group *groups = ek_arena_alloc(arena, (n + 1) * sizeof *groups);

    for (size_t i = 0; i < n; i++)
        groups[i] = *(const struct ek_api_group *)get(map, names[i]);
    return (struct ek_api_list){.groups = groups, .n = n, .set = true};
}

struct ek_api_list ek_merge_groups(const char *local_id, struct ek_api_list local,
                                   const struct ek_merge_server *peers, size_t n,
                                   struct ek_arena *arena)
{
    struct ek_merge_server *all = all_servers(local_id, local, peers, n, arena, &n);
    struct ek_name_list *lists = ek_arena_alloc(arena, n * sizeof *lists);
    const struct ek_name_list local_names = group_names(&local, arena);
    struct ek_api_list merged = local;
    struct ek_map map = {0};
    bool changed = false, same = true;

    if (n <= 1)
        return local;
    for (size_t i = 0; i < n; i++) {
        changed = fold(&map, &all[i].list, arena) || changed;
        lists[i] = group_names(&all[i].list, arena);
        same = same && same_names(&local_names, &lists[i]);
    }
    if (ek_arena_exhausted(arena)) {
        ek_map_done(&map);
        return local;
    }
    if (!same) {
        size_t n_names;
        const char *const *names = ek_order_merge(lists, n, arena, &n_names);
        merged = assemble(&map, names, n_names, arena);
    } else if (changed) {
        merged = assemble(&map, local_names.names, local_names.n, arena);
    }
    ek_map_done(&map);
    return merged;
}

/* True when the name was there already. */
static bool is_repeated(struct ek_map *seen, const char *name)
{
    return ek_map_put(seen, name, seen) != NULL;
}

static size_t resource_repeats(const struct ek_api_version *version)
{
    struct ek_map seen = {0};
    size_t n = 0;

    for (size_t i = 0; i < version->n; i++)
        n += is_repeated(&seen, version->resources[i].name);
    ek_map_done(&seen);
    return n;
}

static size_t version_repeats(const struct ek_api_group *group)
{
    struct ek_map seen = {0};
    size_t n = 0;

    for (size_t i = 0; i < group->n; i++)
        n += is_repeated(&seen, group->versions[i].name) + resource_repeats(&group->versions[i]);
    ek_map_done(&seen);
    return n;
}

size_t ek_merge_repeats(const struct ek_api_list *list)
{
    struct ek_map seen = {0};
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += is_repeated(&seen, list->groups[i].name) + version_repeats(&list->groups[i]);
    ek_map_done(&seen);
    return n;
}

struct ek_api_list ek_merge_kept(struct ek_api_list core, struct ek_api_list groups,
                                 struct ek_arena *arena)
{
    struct ek_api_group *kept = ek_arena_alloc(arena, (core.n + groups.n + 1) * sizeof *kept);
    struct ek_map seen = {0};
    size_t n = 0;

    for (size_t i = 0; i < core.n + groups.n; i++) {
        const struct ek_api_group *group =
            i < core.n ? &core.groups[i] : &groups.groups[i - core.n];
        if (!*group->name || ek_map_get(&seen, group->name))
            continue;
        kept[n] = *group;
        ek_map_put(&seen, group->name, &kept[n++]);
    }
    ek_map_done(&seen);
    return (struct ek_api_list){.groups = kept, .n = n, .set = true};
}

struct gv_key {
    const char *group, *version;
};

/* Compares "group/version" with a text, without making it. */
static int compare_gv(const void *a, const void *b)
{
    const struct gv_key *key = a;
    const char *gv = *(const char *const *)b;
    size_t len = strlen(key->group);

    if (len == 0)
        return strcmp(key->version, gv);
    int c = strncmp(key->group, gv, len);
    if (c)
        return c;
    if (gv[len] != '/')
        return '/' < (unsigned char)gv[len] ? -1 : 1;
    return strcmp(key->version, gv + len + 1);
}

bool ek_exclusions_has(const struct ek_exclusions *exclusions, const char *group,
                       const char *version)
{
    const struct gv_key key = {group, version};

    return exclusions->n && bsearch(&key, exclusions->group_versions, exclusions->n,
                                    sizeof *exclusions->group_versions, compare_gv) != NULL;
}

static bool excludes_resources(const struct ek_api_list *list,
                               const struct ek_exclusions *exclusions)
{
    for (size_t g = 0; g < list->n; g++)
        for (size_t v = 0; v < list->groups[g].n; v++)
            if (list->groups[g].versions[v].n > 0 &&
                ek_exclusions_has(exclusions, list->groups[g].name,
                                  list->groups[g].versions[v].name))
                return true;
    return false;
}

struct ek_api_list ek_merge_exclude(struct ek_api_list core, struct ek_api_list groups,
                                    struct ek_api_list kept, const struct ek_exclusions *exclusions,
                                    struct ek_arena *arena)
{
    size_t n = 0;

    if (!excludes_resources(&core, exclusions) && !excludes_resources(&groups, exclusions))
        return kept;
    struct ek_api_group *left = ek_arena_alloc(arena, (kept.n + 1) * sizeof *left);
    for (size_t g = 0; g < kept.n; g++) {
        const struct ek_api_group *group = &kept.groups[g];
        struct ek_api_version *versions = ek_arena_alloc(arena, (group->n + 1) * sizeof *versions);
        left[n] = *group;
        left[n].versions = versions;
        left[n].n = 0;
        for (size_t v = 0; v < group->n; v++)
            if (!ek_exclusions_has(exclusions, group->name, group->versions[v].name))
                versions[left[n].n++] = group->versions[v];
        n += left[n].n > 0;
    }
    return (struct ek_api_list){.groups = left, .n = n, .set = n > 0};
}
