/* SPDX-License-Identifier: Apache-2.0 */
#include "api/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/arena.h"
#include "api/base/hash.h"

/* Room for the names of EK_DISCOVERY_ENTRIES_MAX entries; shared prefixes are stored once. */
#define NAMES_MAX ((size_t)32 * 1024 * 1024)
#define NAME_CUT  512

struct ek_discovery {
    struct ek_arena *names;
    struct ek_discovery_entry *entries;
    size_t n, cap;
};

struct ek_discovery *ek_discovery_new(void)
{
    struct ek_discovery *set = ek_xalloc(sizeof *set);
    set->names = ek_arena_new(NAMES_MAX);
    return set;
}

void ek_discovery_free(struct ek_discovery *set)
{
    if (!set)
        return;
    ek_arena_free(set->names);
    ek_free(set->entries);
    ek_free(set);
}

/* Called before each group, version and resource: none of them takes more than a few kB of
 * names, so that the arena is never driven far beyond its limit. */
static int check_room(const struct ek_discovery *set, struct ek_err *err)
{
    if (set->n < EK_DISCOVERY_ENTRIES_MAX && !ek_arena_exhausted(set->names))
        return 0;
    return ek_err_set(err, EK_E_LIMIT, "discovery names more than %d resources",
                      EK_DISCOVERY_ENTRIES_MAX);
}

/* Adds an entry, whose strings are the set's. */
static int add(struct ek_discovery *set, const struct ek_discovery_entry *entry, struct ek_err *err)
{
    int rc = check_room(set, err);

    if (rc)
        return rc;
    if (set->n == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 256;
        set->entries = ek_xrealloc(set->entries, set->cap, sizeof *set->entries);
    }
    set->entries[set->n++] = *entry;
    return 0;
}

static uint64_t digest(const char *s)
{
    return s && *s ? ek_hash(s, strlen(s)) : 0;
}

/* Of a list of texts, in any order. */
static uint64_t digest_set(yyjson_val *list)
{
    uint64_t sum = 0;
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item) sum += digest(yyjson_get_str(item));
    return sum;
}

/* The facets of a resource; scope is "Namespaced", "Cluster", or NULL for a subresource. */
static void set_facets(struct ek_discovery_entry *entry, const char *kind, const char *scope,
                       yyjson_val *resource)
{
    entry->facets[EK_DISCOVERY_KIND] = digest(kind);
    entry->facets[EK_DISCOVERY_SCOPE] = digest(scope);
    entry->facets[EK_DISCOVERY_VERBS] = digest_set(yyjson_obj_get(resource, "verbs"));
    entry->facets[EK_DISCOVERY_SHORT_NAMES] =
        scope ? digest_set(yyjson_obj_get(resource, "shortNames")) : 0;
}

/* Names longer than the 253 characters that any Kubernetes name may have are cut: the arena's
 * bound then follows from the number of entries. */
static char *keep(struct ek_discovery *set, const char *s)
{
    return ek_arena_strndup(set->names, s, strnlen(s, NAME_CUT));
}

/* A resource and its subresources; entry has the group version. Without a responseKind only the
 * subresources exist (client-go/discovery/aggregated_discovery.go: SplitGroupsAndResources). */
static int add_resource(struct ek_discovery *set, struct ek_discovery_entry *entry,
                        yyjson_val *resource, struct ek_err *err)
{
    const char *plural = ek_json_str(resource, "resource", NULL);
    yyjson_val *sub;
    size_t i, n;
    int rc = 0;

    if (!plural)
        return 0;
    if (yyjson_obj_get(resource, "responseKind")) {
        const char *scope = ek_json_str(resource, "scope", NULL);
        entry->resource = keep(set, plural);
        set_facets(entry, ek_json_str(resource, "responseKind", "kind", NULL), scope ? scope : "",
                   resource);
        rc = add(set, entry, err);
    }
    yyjson_arr_foreach(yyjson_obj_get(resource, "subresources"), i, n, sub)
    {
        const char *name = ek_json_str(sub, "subresource", NULL);
        if (!name || rc)
            continue;
        entry->resource = ek_arena_printf(set->names, "%.512s/%.512s", plural, name);
        set_facets(entry, ek_json_str(sub, "responseKind", "kind", NULL), NULL, sub);
        rc = add(set, entry, err);
    }
    return rc;
}

static int add_version(struct ek_discovery *set, const char *group, yyjson_val *version,
                       unsigned rank, struct ek_err *err)
{
    const char *name = ek_json_str(version, "version", NULL);
    const char *freshness = ek_json_str(version, "freshness", NULL);
    bool stale = freshness && !strcmp(freshness, "Stale");
    bool empty = yyjson_arr_size(yyjson_obj_get(version, "resources")) == 0;
    yyjson_val *resource;
    size_t i, n;

    if (!name || (empty && !stale))
        return 0;
    int room = check_room(set, err);
    if (room)
        return room;
    name = keep(set, name);
    struct ek_discovery_entry entry = {
        .group = group, .version = name, .resource = "", .stale = stale, .rank = rank};
    if (empty)
        return add(set, &entry, err);
    yyjson_arr_foreach(yyjson_obj_get(version, "resources"), i, n, resource)
    {
        int rc = add_resource(set, &entry, resource, err);
        if (rc)
            return rc;
    }
    return 0;
}

int ek_discovery_add_aggregated(struct ek_discovery *set, yyjson_val *document,
                                enum ek_discovery_form *ret_form, struct ek_err *err)
{
    const char *kind = ek_json_str(document, "kind", NULL);
    const char *api_version = ek_json_str(document, "apiVersion", NULL);
    yyjson_val *group, *version;
    size_t i, n, j, m;

    if (kind && (!strcmp(kind, "APIVersions") || !strcmp(kind, "APIGroupList")))
        return ek_err_set(err, EK_E_UNSUPPORTED, "the server answers unaggregated discovery (%s)",
                          kind);
    /* A missing kind is tolerated, another one is not a discovery document. */
    if ((kind && strcmp(kind, "APIGroupDiscoveryList") != 0) ||
        !yyjson_is_arr(yyjson_obj_get(document, "items")))
        return ek_err_set(err, EK_E_PARSE, "not a discovery document (kind \"%.64s\")",
                          kind ? kind : "");
    yyjson_arr_foreach(yyjson_obj_get(document, "items"), i, n, group)
    {
        const char *name = ek_json_str(group, "metadata", "name", NULL);
        if (!yyjson_arr_size(yyjson_obj_get(group, "versions")))
            continue;
        int room = check_room(set, err);
        if (room)
            return room;
        const char *kept = keep(set, name ? name : "");
        yyjson_arr_foreach(yyjson_obj_get(group, "versions"), j, m, version)
        {
            int rc = add_version(set, kept, version, (unsigned)j, err);
            if (rc)
                return rc;
        }
    }
    if (ret_form)
        *ret_form =
            api_version && strstr(api_version, "/v2beta1") ? EK_DISCOVERY_V2BETA1 : EK_DISCOVERY_V2;
    return 0;
}

int ek_discovery_add_resource_list(struct ek_discovery *set, yyjson_val *document,
                                   struct ek_err *err)
{
    const char *gv = ek_json_str(document, "groupVersion", NULL);
    yyjson_val *resource;
    size_t i, n;

    if (!gv || !yyjson_is_arr(yyjson_obj_get(document, "resources")))
        return ek_err_set(err, EK_E_PARSE, "not an APIResourceList");
    int room = check_room(set, err);
    if (room)
        return room;
    const char *slash = strchr(gv, '/');
    size_t group_len = slash ? (size_t)(slash - gv) : 0;
    const char *group =
        ek_arena_strndup(set->names, gv, group_len < NAME_CUT ? group_len : NAME_CUT);
    const char *version = keep(set, slash ? slash + 1 : gv);
    yyjson_arr_foreach(yyjson_obj_get(document, "resources"), i, n, resource)
    {
        const char *name = ek_json_str(resource, "name", NULL);
        bool is_namespaced = yyjson_get_bool(yyjson_obj_get(resource, "namespaced"));
        struct ek_discovery_entry entry = {
            .group = group, .version = version, .rank = EK_DISCOVERY_NO_RANK};
        if (!name)
            continue;
        entry.resource = keep(set, name);
        set_facets(&entry, ek_json_str(resource, "kind", NULL),
                   strchr(name, '/') ? NULL
                   : is_namespaced   ? "Namespaced"
                                     : "Cluster",
                   resource);
        int rc = add(set, &entry, err);
        if (rc)
            return rc;
    }
    return 0;
}

int ek_discovery_legacy_paths(yyjson_val *document, void (*fn)(void *ctx, const char *path),
                              void *ctx, struct ek_err *err)
{
    yyjson_val *versions = yyjson_obj_get(document, "versions");
    yyjson_val *groups = yyjson_obj_get(document, "groups");
    yyjson_val *version, *group;
    size_t i, n, j, m;
    char path[600];

    if (!yyjson_is_arr(versions) && !yyjson_is_arr(groups))
        return ek_err_set(err, EK_E_PARSE, "neither an APIVersions nor an APIGroupList");
    yyjson_arr_foreach(versions, i, n, version)
    {
        if (!yyjson_is_str(version))
            continue;
        snprintf(path, sizeof path, "/api/%.512s", yyjson_get_str(version));
        fn(ctx, path);
    }
    yyjson_arr_foreach(groups, i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(group, "versions"), j, m, version)
        {
            const char *gv = ek_json_str(version, "groupVersion", NULL);
            if (!gv)
                continue;
            snprintf(path, sizeof path, "/apis/%.512s", gv);
            fn(ctx, path);
        }
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct ek_discovery_entry *x = a, *y = b;
    int c = strcmp(x->group, y->group);
    if (!c)
        c = strcmp(x->version, y->version);
    return c ? c : strcmp(x->resource, y->resource);
}

int ek_discovery_add_from(struct ek_discovery *set, const struct ek_discovery *from, bool core,
                          struct ek_err *err)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct ek_discovery_entry *e = &from->entries[i];
        if ((*e->group == '\0') != core)
            continue;
        struct ek_discovery_entry entry = *e;
        entry.group = keep(set, e->group);
        entry.version = keep(set, e->version);
        entry.resource = ek_arena_strdup(set->names, e->resource);
        int rc = add(set, &entry, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Of a version that is listed twice, the first place counts. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ek_discovery_entry *x = a, *y = b;
    int c = compare(a, b);
    return c ? c : x->rank < y->rank ? -1 : x->rank > y->rank;
}

void ek_discovery_seal(struct ek_discovery *set)
{
    size_t kept = 0;

    if (set->n)
        qsort(set->entries, set->n, sizeof *set->entries, compare_ranked);
    for (size_t i = 0; i < set->n; i++)
        if (i == 0 || compare(&set->entries[kept - 1], &set->entries[i]) != 0)
            set->entries[kept++] = set->entries[i];
    set->n = kept;
}

const struct ek_discovery_entry *ek_discovery_entries(const struct ek_discovery *set, size_t *ret_n)
{
    *ret_n = set->n;
    return set->entries;
}

bool ek_discovery_has(const struct ek_discovery *set, const char *group, const char *version,
                      const char *resource)
{
    struct ek_discovery_entry key = {.group = group, .version = version, .resource = resource};
    return set->n && bsearch(&key, set->entries, set->n, sizeof key, compare) != NULL;
}
