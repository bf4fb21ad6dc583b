/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/served.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/view-internal.h"

/* The entries of all peers, as they are gathered. */
struct gather {
    struct ek_arena *arena;
    struct ek_served_entry *entries; /* room for all */
    size_t n;
    bool full; /* the arena is */
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in order with commas between: servers list the same set in any order. */
static const char *join(struct gather *g, const struct ek_api_names *names)
{
    size_t size = 1;

    if (!names->n)
        return "";
    const char **sorted = ek_arena_try(g->arena, names->n * sizeof *sorted);
    for (size_t i = 0; sorted && i < names->n; i++) {
        sorted[i] = names->items[i];
        size += strlen(sorted[i]) + 1;
    }
    char *text = sorted ? ek_arena_try(g->arena, size) : NULL, *end = text;
    if (!text) {
        g->full = true;
        return "";
    }
    qsort(sorted, names->n, sizeof *sorted, by_text);
    for (size_t i = 0; i < names->n; i++) {
        size_t len = strlen(sorted[i]);
        if (i)
            *end++ = ',';
        memcpy(end, sorted[i], len);
        end += len;
    }
    *end = '\0';
    return text;
}

static const char *kind_of(const struct ek_api_kind *kind)
{
    return kind ? kind->kind : "";
}

/* Adds a resource and its subresources; entry has what is common to the group version. */
static void add_resource(struct gather *g, struct ek_served_entry entry,
                         const struct ek_api_resource *resource)
{
    if (!*resource->name)
        return;
    entry.resource = resource->name;
    if (resource->kind) {
        g->entries[g->n] = entry;
        g->entries[g->n].facets[EK_DISCOVERY_KIND] = resource->kind->kind;
        g->entries[g->n].facets[EK_DISCOVERY_SCOPE] = resource->scope;
        g->entries[g->n].facets[EK_DISCOVERY_VERBS] = join(g, &resource->verbs);
        g->entries[g->n++].facets[EK_DISCOVERY_SHORT_NAMES] = join(g, &resource->short_names);
    }
    for (size_t i = 0; i < resource->subresources.n; i++) {
        const struct ek_api_subresource *sub = &resource->subresources.items[i];
        if (!*sub->name)
            continue;
        entry.sub = sub->name;
        g->entries[g->n] = entry;
        g->entries[g->n].facets[EK_DISCOVERY_KIND] = kind_of(sub->kind);
        g->entries[g->n++].facets[EK_DISCOVERY_VERBS] = join(g, &sub->verbs);
    }
}

static void add_version(struct gather *g, size_t peer, const char *group,
                        const struct ek_api_version *version)
{
    struct ek_served_entry entry = {.peer = peer,
                                    .group = group,
                                    .version = version->name,
                                    .resource = "",
                                    .sub = "",
                                    .stale = !strcmp(version->freshness, "Stale"),
                                    .n_resources = version->n};

    for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
        entry.facets[f] = "";
    g->entries[g->n++] = entry;
    for (size_t i = 0; i < version->n && !g->full; i++)
        add_resource(g, entry, &version->resources[i]);
}

static void add_list(struct gather *g, size_t peer, const struct ek_api_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t v = 0; v < list->groups[i].n && !g->full; v++)
            add_version(g, peer, list->groups[i].name, &list->groups[i].versions[v]);
}

/* By the name of the resource. */
static int by_name(const struct ek_served_entry *a, const struct ek_served_entry *b)
{
    int c = strcmp(a->group, b->group);

    if (!c)
        c = strcmp(a->version, b->version);
    if (!c)
        c = strcmp(a->resource, b->resource);
    return c ? c : strcmp(a->sub, b->sub);
}

static int by_entry(const void *a, const void *b)
{
    const struct ek_served_entry *x = a, *y = b;
    int c = by_name(x, y);

    return c ? c : (x->peer > y->peer) - (x->peer < y->peer);
}

/* Gathers the entries of all peers in order, one for each peer and name. */
static void gather_all(struct gather *g, const struct ek_view *view)
{
    size_t room = 0, kept = 0;

    for (size_t i = 0; i < view->n; i++)
        room += view->parts[i] ? view->parts[i]->n_entries : 0;
    g->entries = ek_arena_try(g->arena, (room + 1) * sizeof *g->entries);
    g->full = !g->entries;
    for (size_t i = 0; i < view->n && !g->full; i++) {
        if (!view->parts[i])
            continue;
        add_list(g, i, &view->parts[i]->core->list);
        add_list(g, i, &view->parts[i]->groups->list);
    }
    if (g->full || !g->n)
        return;
    qsort(g->entries, g->n, sizeof *g->entries, by_entry);
    for (size_t i = 0; i < g->n; i++)
        if (!i || g->entries[kept - 1].peer != g->entries[i].peer ||
            by_name(&g->entries[kept - 1], &g->entries[i]) != 0)
            g->entries[kept++] = g->entries[i];
    g->n = kept;
}

/* How many entries from the first on have its name. */
static size_t run_of(const struct ek_served_entry *first, const struct ek_served_entry *end)
{
    const struct ek_served_entry *e = first;

    while (e < end && by_name(first, e) == 0)
        e++;
    return (size_t)(e - first);
}

/* Whether the entries are a row: those of a group version are only one where nobody lists a
 * resource of it. */
static bool is_row(const struct ek_served_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!*entries[i].resource && entries[i].n_resources)
            return false;
    return true;
}

/* Where the resource is served. A server without an entry may serve it all the same: where its
 * group version is Stale and lists no resources (ek_view_serves). */
static void fill_at(const struct ek_view *view, const struct ek_served_row *row, unsigned char *at)
{
    const struct ek_served_entry *first = row->entries;
    size_t next = 0;

    for (size_t i = 0; i < view->n; i++) {
        enum ek_view_answer answer =
            ek_view_serves(view, i, first->group, first->version, first->resource, first->sub);
        if (next < row->n && row->entries[next].peer == i)
            at[i] = row->entries[next++].stale ? EK_SERVED_STALE : EK_SERVED_YES;
        else
            at[i] = answer == EK_VIEW_UNKNOWN ? EK_SERVED_UNKNOWN
                    : answer == EK_VIEW_YES   ? EK_SERVED_STALE
                                              : EK_SERVED_NO;
    }
}

static bool is_uneven(const unsigned char *at, size_t n)
{
    unsigned char seen = EK_SERVED_UNKNOWN;

    for (size_t i = 0; i < n; i++) {
        if (at[i] == EK_SERVED_UNKNOWN)
            continue;
        if (seen != EK_SERVED_UNKNOWN && at[i] != seen)
            return true;
        seen = at[i];
    }
    return false;
}

static unsigned compare_facets(const struct ek_served_row *row)
{
    unsigned differs = 0;

    for (size_t i = 1; i < row->n; i++)
        for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
            if (strcmp(row->entries[i].facets[f], row->entries[0].facets[f]) != 0)
                differs |= 1U << f;
    return differs;
}

/* Whether the subresource of a row is served exactly where its resource is, the newest row of a
 * resource being parent. */
static bool follows(const struct ek_served_row *row, const struct ek_served_row *parent, size_t n)
{
    return parent && *row->entries->sub &&
           !strcmp(row->entries->resource, parent->entries->resource) &&
           !strcmp(row->entries->version, parent->entries->version) &&
           !strcmp(row->entries->group, parent->entries->group) && !memcmp(row->at, parent->at, n);
}

int ek_served_rows(const struct ek_view *view, struct ek_arena *arena,
                   struct ek_served_row **ret_rows, size_t *ret_n)
{
    struct gather g = {.arena = arena};
    const struct ek_served_row *parent = NULL;
    size_t n = 0, n_rows = 0;

    gather_all(&g, view);
    const struct ek_served_entry *end = g.entries + g.n;
    for (const struct ek_served_entry *e = g.entries; !g.full && e < end; e += run_of(e, end))
        n++;
    struct ek_served_row *rows = g.full ? NULL : ek_arena_try(arena, (n + 1) * sizeof *rows);
    unsigned char *at = rows ? ek_arena_try(arena, n * view->n + 1) : NULL;
    if (!at)
        return EK_E_LIMIT;
    for (const struct ek_served_entry *e = g.entries; e < end; e += run_of(e, end)) {
        struct ek_served_row *row = &rows[n_rows];
        *row = (struct ek_served_row){.entries = e, .n = run_of(e, end), .at = at};
        if (!is_row(e, row->n))
            continue;
        fill_at(view, row, at);
        row->uneven = is_uneven(at, view->n) && !follows(row, parent, view->n);
        row->differs = compare_facets(row);
        parent = *e->sub ? parent : row;
        at += view->n;
        n_rows++;
    }
    *ret_rows = rows;
    *ret_n = n_rows;
    return 0;
}
