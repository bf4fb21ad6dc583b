/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/peers/view-internal.h"

/* Twice what is merged is made of it at most: each peer may change each list that it has. */
#define MERGE_ARENA (EK_VIEW_MERGE_MAX * 4)

/* The server as which is merged: of those whose documents are known the one with the least id, one
 * that is routable before all others. */
static size_t choose_local(const struct ek_view *view)
{
    size_t best = (size_t)-1;

    for (size_t i = 0; i < view->n; i++) {
        if (!view->parts[i])
            continue;
        if (best == (size_t)-1 || view->peers[i].routable > view->peers[best].routable ||
            (view->peers[i].routable == view->peers[best].routable &&
             strcmp(ek_view_merge_id(view, i), ek_view_merge_id(view, best)) < 0))
            best = i;
    }
    return best;
}

static bool is_small(const struct ek_view *view)
{
    size_t total = 1, n_repeats = 0;

    for (size_t i = 0; i < view->n; i++) {
        const struct ek_view_part *part = view->parts[i];
        if (!part)
            continue;
        total += part->core->size + part->groups->size;
        n_repeats += part->n_repeats;
    }
    return total <= EK_VIEW_MERGE_MAX && n_repeats <= EK_VIEW_REPEATED_MAX / total;
}

/* The merged list of one place, in the arena. */
static struct ek_api_list merge_place(const struct ek_view *view, size_t local,
                                      enum ek_view_place place,
                                      const struct ek_exclusions *exclusions,
                                      struct ek_arena *arena)
{
    struct ek_merge_server *peers = ek_arena_alloc(arena, (view->n + 1) * sizeof *peers);
    size_t n = 0;

    for (size_t i = 0; i < view->n; i++) {
        const struct ek_view_part *part = view->parts[i];
        if (!part || i == local)
            continue;
        struct ek_api_list core = part->core->list, groups = part->groups->list;
        peers[n].id = ek_view_merge_id(view, i);
        peers[n].list = core;
        if (place == EK_VIEW_APIS)
            peers[n].list = ek_merge_exclude(core, groups, ek_merge_kept(core, groups, arena),
                                             exclusions, arena);
        n++;
    }
    const struct ek_view_part *own = view->parts[local];
    return ek_merge_groups(ek_view_merge_id(view, local),
                           place == EK_VIEW_API ? own->core->list : own->groups->list, peers, n,
                           arena);
}

static struct ek_view_page *add_named(struct ek_view_merge *merge, char *key)
{
    struct ek_view_named *named = &merge->named[merge->n_named++];

    named->key = key;
    ek_map_put(&merge->by_key, key, named);
    return &named->page;
}

static void make_pages_of(struct ek_view_merge *merge, const struct ek_api_group *group)
{
    struct ek_buf out;

    ek_buf_init(&out, EK_DOCUMENT_MAX);
    if (*group->name && group->n) {
        ek_api_write_group(&out, group);
        ek_view_page_make(add_named(merge, ek_xstrdup(group->name)), &out, NULL);
    }
    for (size_t v = 0; v < group->n; v++) {
        const struct ek_api_version *version = &group->versions[v];
        ek_buf_init(&out, EK_DOCUMENT_MAX);
        ek_api_write_resources(&out, group, version);
        ek_view_page_make(add_named(merge, ek_xasprintf("%s/%s", group->name, version->name)), &out,
                          NULL);
    }
}

static size_t count_named(const struct ek_api_list *list)
{
    size_t n = list->n;

    for (size_t g = 0; g < list->n; g++)
        n += list->groups[g].n;
    return n;
}

/* The core group is that of /api, all others are those of /apis. */
static void make_named(struct ek_view_merge *merge, const struct ek_api_list *core,
                       const struct ek_api_list *groups)
{
    size_t n = count_named(core) + count_named(groups);

    merge->named = ek_xrealloc(NULL, n + 1, sizeof *merge->named);
    memset(merge->named, 0, (n + 1) * sizeof *merge->named);
    for (size_t g = 0; g < core->n; g++)
        if (!*core->groups[g].name)
            make_pages_of(merge, &core->groups[g]);
    for (size_t g = 0; g < groups->n; g++)
        if (*groups->groups[g].name)
            make_pages_of(merge, &groups->groups[g]);
}

/* True when a merge of the same documents in the same way is there. */
static bool is_same(const struct ek_view_merge *merge, const struct ek_view *view, size_t local,
                    const struct ek_exclusions *exclusions)
{
    if (merge->n != view->n || merge->n_excluded != exclusions->n ||
        strcmp(merge->as_id, ek_view_merge_id(view, local)) != 0)
        return false;
    for (size_t i = 0; i < view->n; i++)
        if (merge->parts[i] != view->parts[i] ||
            strcmp(merge->ids[i], ek_view_merge_id(view, i)) != 0)
            return false;
    for (size_t i = 0; i < exclusions->n; i++)
        if (strcmp(merge->excluded[i], exclusions->group_versions[i]) != 0)
            return false;
    return true;
}

/* Notes of what is merged. */
static struct ek_view_merge *begin(const struct ek_view *view, size_t local,
                                   const struct ek_exclusions *exclusions)
{
    struct ek_view_merge *merge = ek_xalloc(sizeof *merge);

    atomic_init(&merge->refs, 1);
    merge->n = view->n;
    merge->parts = ek_xrealloc(NULL, view->n + 1, sizeof(struct ek_view_part *));
    merge->ids = ek_xrealloc(NULL, view->n + 1, sizeof *merge->ids);
    for (size_t i = 0; i < view->n; i++) {
        merge->parts[i] = ek_view_part_ref(view->parts[i]);
        merge->ids[i] = ek_xstrdup(ek_view_merge_id(view, i));
    }
    merge->as_id = ek_xstrdup(ek_view_merge_id(view, local));
    merge->excluded = ek_xrealloc(NULL, exclusions->n + 1, sizeof *merge->excluded);
    for (size_t i = 0; i < exclusions->n; i++)
        merge->excluded[merge->n_excluded++] = ek_xstrdup(exclusions->group_versions[i]);
    return merge;
}

struct ek_view_merge *ek_view_merge_new(const struct ek_view *view,
                                        const struct ek_exclusions *exclusions,
                                        struct ek_view_merge *previous)
{
    size_t local = choose_local(view);

    if (local == (size_t)-1 || !is_small(view))
        return NULL;
    if (previous && is_same(previous, view, local, exclusions)) {
        atomic_fetch_add_explicit(&previous->refs, 1, memory_order_relaxed);
        return previous;
    }
    struct ek_view_merge *merge = begin(view, local, exclusions);
    struct ek_arena *arena = ek_arena_new(MERGE_ARENA);
    const struct ek_api_list core = merge_place(view, local, EK_VIEW_API, exclusions, arena);
    const struct ek_api_list groups = merge_place(view, local, EK_VIEW_APIS, exclusions, arena);

    if (ek_arena_exhausted(arena)) {
        ek_arena_free(arena);
        ek_view_merge_unref(merge);
        return NULL;
    }
    ek_view_pages_fill(merge->pages[EK_VIEW_API], EK_VIEW_API, &core);
    ek_view_pages_fill(merge->pages[EK_VIEW_APIS], EK_VIEW_APIS, &groups);
    make_named(merge, &core, &groups);
    ek_arena_free(arena);
    return merge;
}

void ek_view_merge_unref(struct ek_view_merge *merge)
{
    if (!merge || atomic_fetch_sub_explicit(&merge->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < merge->n; i++) {
        ek_view_part_unref(merge->parts[i]);
        ek_free(merge->ids[i]);
    }
    for (size_t i = 0; i < merge->n_excluded; i++)
        ek_free(merge->excluded[i]);
    for (int place = 0; place < EK_VIEW_PLACE_MAX; place++)
        for (int form = 0; form < EK_VIEW_FORM_MAX; form++)
            ek_view_page_done(&merge->pages[place][form]);
    for (size_t i = 0; i < merge->n_named; i++) {
        ek_view_page_done(&merge->named[i].page);
        ek_free(merge->named[i].key);
    }
    ek_map_done(&merge->by_key);
    ek_free(merge->named);
    ek_free(merge->parts);
    ek_free(merge->ids);
    ek_free(merge->as_id);
    ek_free(merge->excluded);
    ek_free(merge);
}

size_t ek_view_merges_as(const struct ek_view *view)
{
    return choose_local(view);
}

const struct ek_view_document *ek_view_merged(const struct ek_view *view, enum ek_view_place place,
                                              enum ek_view_form form)
{
    const struct ek_view_page *page = view->merge ? &view->merge->pages[place][form] : NULL;

    return page && page->shown.body.len ? &page->shown : NULL;
}

static const struct ek_view_document *named_page(const struct ek_view *view, const char *key)
{
    const struct ek_view_named *named = view->merge ? ek_map_get(&view->merge->by_key, key) : NULL;

    return named && named->page.shown.body.len ? &named->page.shown : NULL;
}

const struct ek_view_document *ek_view_group(const struct ek_view *view, const char *group)
{
    return strchr(group, '/') ? NULL : named_page(view, group);
}

const struct ek_view_document *ek_view_resources(const struct ek_view *view, const char *group,
                                                 const char *version)
{
    char *key = ek_xasprintf("%s/%s", group, version);
    const struct ek_view_document *document = named_page(view, key);

    ek_free(key);
    return document;
}

static bool is_excluded(const struct ek_view_merge *merge, const char *key)
{
    for (size_t i = 0; i < merge->n_excluded; i++)
        if (!strcmp(merge->excluded[i], key))
            return true;
    return false;
}

/* Whether a server that takes requests serves the group version of a key. */
static bool is_served(const struct ek_view *view, const char *key)
{
    EK_AUTOFREE char *group = ek_xstrdup(key);
    char *slash = strchr(group, '/');
    bool served = false;

    *slash = '\0';
    for (size_t i = 0; i < view->n && !served; i++)
        served = view->peers[i].routable &&
                 ek_view_serves(view, i, group, slash + 1, "", "") == EK_VIEW_YES;
    return served;
}

const char *ek_view_group_version(const struct ek_view *view, size_t *cursor)
{
    const struct ek_view_merge *merge = view->merge;

    while (merge && *cursor < merge->n_named) {
        const char *key = merge->named[(*cursor)++].key;
        if (strchr(key, '/') && !is_excluded(merge, key) && is_served(view, key))
            return key;
    }
    return NULL;
}
