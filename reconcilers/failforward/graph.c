/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/graph.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/arena.h"
#include "api/base/line.h"
#include "api/base/map.h"
#include "api/semver.h"
#include "reconcilers/failforward/graph-internal.h"

static const char *text_or_empty(const char *s)
{
    return s ? s : "";
}

struct ek_ff_graph *ek_ff_graph_new(size_t limit)
{
    struct ek_ff_graph *graph = ek_xalloc(sizeof *graph);

    graph->arena = ek_arena_new(limit);
    graph->max = limit;
    return graph;
}

void ek_ff_graph_free(struct ek_ff_graph *graph)
{
    if (!graph)
        return;
    ek_arena_free(graph->arena);
    ek_free(graph->entries);
    ek_free(graph->packages);
    ek_free(graph);
}

size_t ek_ff_graph_bytes(const struct ek_ff_graph *graph)
{
    return ek_arena_used(graph->arena) + graph->entries_cap * sizeof *graph->entries +
           graph->packages_cap * sizeof *graph->packages;
}

size_t ek_ff_graph_entries(const struct ek_ff_graph *graph, const char *package)
{
    size_t n = 0;

    for (size_t i = 0; i < graph->n_entries; i++)
        n += !strcmp(graph->entries[i].package, package);
    return n;
}

/* Copies s as a C string; a NUL inside ends it, and no name has one. */
static char *copy(struct ek_ff_graph *graph, struct ek_str s)
{
    char *text = s.len < SIZE_MAX ? ek_arena_try(graph->arena, s.len + 1) : NULL;

    if (!text)
        return NULL;
    if (s.len > 0)
        memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    return text;
}

/* Makes room for one more item of size bytes in *list, which counts for the limit. */
static void *room(struct ek_ff_graph *graph, void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    size_t more = *cap ? *cap * 2 : 16;
    void *grown = more <= graph->max / size ? ek_realloc(list, more * size) : NULL;
    if (grown)
        *cap = more;
    return grown;
}

int ek_ff_graph_package(struct ek_ff_graph *graph, struct ek_str name,
                        struct ek_str default_channel)
{
    struct graph_package package = {copy(graph, name), copy(graph, default_channel)};
    void *list = room(graph, graph->packages, graph->n_packages, &graph->packages_cap,
                      sizeof *graph->packages);

    if (list)
        graph->packages = list;
    if (!list || !package.name || !package.default_channel)
        return EK_E_LIMIT;
    graph->packages[graph->n_packages++] = package;
    return 0;
}

int ek_ff_graph_entry(struct ek_ff_graph *graph, const struct ek_ff_entry *from)
{
    struct graph_entry entry = {
        .package = copy(graph, from->package),
        .channel = copy(graph, from->channel),
        .name = copy(graph, from->name),
        .version = copy(graph, from->version),
        .replaces = copy(graph, from->replaces),
        .skip_range = copy(graph, from->skip_range),
        .n_skips = from->n_skips,
        .deprecated = from->deprecated,
        .content = from->content,
    };
    void *list =
        room(graph, graph->entries, graph->n_entries, &graph->entries_cap, sizeof *graph->entries);

    if (list)
        graph->entries = list;
    if (!list || !entry.package || !entry.channel || !entry.name || !entry.version ||
        !entry.replaces || !entry.skip_range || from->n_skips > graph->max / sizeof(char *))
        return EK_E_LIMIT;
    entry.skips = ek_arena_try(graph->arena, (from->n_skips + 1) * sizeof *entry.skips);
    for (size_t i = 0; entry.skips && i < from->n_skips; i++) {
        entry.skips[i] = copy(graph, from->skips[i]);
        if (!entry.skips[i])
            return EK_E_LIMIT;
    }
    if (!entry.skips)
        return EK_E_LIMIT;
    graph->entries[graph->n_entries++] = entry;
    return 0;
}

/* The entries of one channel, and what they say of each other. */
struct channel {
    const char *name;
    bool is_default;
    struct graph_entry *const *entries; /* n of them */
    size_t n;
    struct graph_entry **chain; /* head first; n_chain of them */
    size_t n_chain;
};

/* What other entries of the channel say of an entry. */
struct standing {
    bool covered; /* replaced or skipped: not a head */
    bool skipped; /* left out of the chain */
    bool visited;
};

/* The entry of that name, of several the last one, as position and one; 0 for none. */
static size_t find(const struct ek_map *by_name, const char *name)
{
    return (size_t)(uintptr_t)ek_map_get(by_name, name);
}

static void judge(const struct channel *channel, const struct ek_map *by_name,
                  struct standing *standings)
{
    for (size_t i = 0; i < channel->n; i++) {
        const struct graph_entry *entry = channel->entries[i];
        size_t at = *entry->replaces ? find(by_name, entry->replaces) : 0;
        if (at)
            standings[at - 1].covered = true;
        for (size_t k = 0; k < entry->n_skips; k++) {
            at = find(by_name, entry->skips[k]);
            if (at)
                standings[at - 1].covered = standings[at - 1].skipped = true;
        }
    }
}

static bool broken(struct ek_ff_answer *answer, const struct channel *channel, const char *what)
{
    char name[128];

    ek_line_copy(channel->name, strlen(channel->name), name, sizeof name);
    snprintf(answer->why, sizeof answer->why, "channel \"%s\" %s", name, what);
    answer->reach = EK_FF_REACH_BROKEN;
    return false;
}

/* Walks from the only head to the tail (resolver.go:sortChannel). False for what is no chain. */
static bool walk(struct channel *channel, const struct ek_map *by_name, struct standing *standings,
                 struct ek_ff_answer *answer)
{
    size_t n_heads = 0, current = 0;

    for (size_t i = 0; i < channel->n; i++) {
        if (standings[i].covered)
            continue;
        n_heads++;
        current = i;
    }
    if (n_heads == 0)
        return broken(answer, channel, "has no head: each entry is replaced by another one");
    if (n_heads > 1)
        return broken(answer, channel, "has more than one head");
    for (;;) {
        struct graph_entry *entry = channel->entries[current];
        standings[current].visited = true;
        size_t same = find(by_name, entry->name);
        if (!standings[same - 1].skipped)
            channel->chain[channel->n_chain++] = entry;
        size_t next = *entry->replaces ? find(by_name, entry->replaces) : 0;
        if (!next)
            return true;
        if (standings[next - 1].visited)
            return broken(answer, channel, "has a cycle of replacements");
        current = next - 1;
    }
}

/* Sorts the channel into its chain. EK_E_NOMEM, or 0 with *ret_good. */
static int sort_channel(struct channel *channel, struct ek_ff_answer *answer, bool *ret_good)
{
    EK_AUTOFREE struct standing *standings = ek_alloc(channel->n * sizeof *standings);
    struct ek_map by_name;

    if (!standings)
        return EK_E_NOMEM;
    ek_map_init(&by_name);
    for (size_t i = 0; i < channel->n; i++)
        ek_map_put(&by_name, channel->entries[i]->name, (void *)(uintptr_t)(i + 1));
    judge(channel, &by_name, standings);
    *ret_good = walk(channel, &by_name, standings, answer);
    ek_map_done(&by_name);
    return 0;
}

static enum ek_ff_edge_kind edge_kind(const struct graph_entry *entry,
                                      const struct ek_ff_from *from,
                                      const struct ek_semver *version)
{
    bool within = false;

    if (from->name.len > 0 && ek_str_eq(ek_str_from(entry->replaces), from->name))
        return EK_FF_EDGE_REPLACES;
    for (size_t i = 0; i < entry->n_skips; i++)
        if (ek_str_eq(ek_str_from(entry->skips[i]), from->name))
            return EK_FF_EDGE_SKIPS;
    if (ek_semver_within(ek_str_from(entry->skip_range), version, &within))
        return EK_FF_EDGE_NONE; /* OLM, too, ignores a range that does not parse */
    return within ? EK_FF_EDGE_SKIP_RANGE : EK_FF_EDGE_NONE;
}

/* Adds the edges of a sorted channel. An entry of the installed name leads nowhere. */
static void collect(const struct channel *channel, const struct ek_ff_from *from,
                    const struct ek_semver *version, struct ek_ff_answer *answer)
{
    for (size_t i = 0; i < channel->n_chain; i++) {
        const struct graph_entry *entry = channel->chain[i];
        struct ek_str name = ek_str_from(entry->name);
        if (entry->deprecated || ek_str_eq(name, from->name) ||
            (from->except.len > 0 && ek_str_eq(name, from->except)))
            continue;
        enum ek_ff_edge_kind kind = edge_kind(entry, from, version);
        if (kind == EK_FF_EDGE_NONE)
            continue;
        if (answer->n++ > 0)
            continue;
        answer->reach = EK_FF_REACH_FOUND;
        answer->kind = kind;
        answer->next = entry->name;
        answer->next_version = entry->version;
    }
}

/* The default channel first, then by name; entries of one channel in the order of the catalog. */
static int by_channel(const void *a, const void *b)
{
    const struct graph_sorted *x = a, *y = b;

    if (x->is_default != y->is_default)
        return x->is_default ? -1 : 1;
    int order = strcmp(x->entry->channel, y->entry->channel);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static const struct graph_package *find_package(const struct ek_ff_graph *graph, struct ek_str name)
{
    for (size_t i = 0; i < graph->n_packages; i++)
        if (ek_str_eq(ek_str_from(graph->packages[i].name), name))
            return &graph->packages[i];
    return NULL;
}

/* The entries of the package in the channels asked for, sorted by channel. Returns their number. */
static size_t select_entries(const struct ek_ff_graph *graph, const struct ek_ff_from *from,
                             struct graph_sorted *sorted, bool *ret_package)
{
    const struct graph_package *package = find_package(graph, from->package);
    size_t n = 0;

    *ret_package = package != NULL;
    for (size_t i = 0; i < graph->n_entries; i++) {
        struct graph_entry *entry = &graph->entries[i];
        if (!ek_str_eq(ek_str_from(entry->package), from->package))
            continue;
        *ret_package = true;
        if (from->channel.len > 0 && !ek_str_eq(ek_str_from(entry->channel), from->channel))
            continue;
        sorted[n].is_default = package && !strcmp(package->default_channel, entry->channel);
        sorted[n].position = i;
        sorted[n++].entry = entry;
    }
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, by_channel);
    return n;
}

/* One channel after another: their heads, chains and edges. */
static int walk_channels(struct graph_entry *const *entries, size_t n,
                         const struct ek_ff_from *from, struct ek_ff_answer *answer)
{
    EK_AUTOFREE struct graph_entry **chain = ek_alloc(n * sizeof(struct graph_entry *));
    struct ek_semver version = {0};
    bool good = true;

    if (!chain)
        return EK_E_NOMEM;
    (void)ek_semver_parse(from->version, EK_SEMVER_STRICT, &version);
    for (size_t start = 0, end; start < n && good; start = end) {
        const char *name = entries[start]->channel;
        for (end = start + 1; end < n && !strcmp(entries[end]->channel, name); end++)
            ;
        struct channel channel = {.name = name, .entries = entries + start, .n = end - start};
        channel.chain = chain;
        int rc = sort_channel(&channel, answer, &good);
        if (rc)
            return rc;
        if (!good)
            break;
        if (start == 0 && channel.n_chain > 0) {
            answer->head = channel.chain[0]->name;
            answer->head_version = channel.chain[0]->version;
            answer->is_head = ek_str_eq(ek_str_from(answer->head), from->name);
        }
        collect(&channel, from, &version, answer);
    }
    return 0;
}

int ek_ff_graph_edges(const struct ek_ff_graph *graph, const struct ek_ff_from *from,
                      struct ek_ff_answer *ret_answer)
{
    struct ek_ff_answer answer = {.reach = EK_FF_REACH_NONE};
    EK_AUTOFREE struct graph_sorted *sorted = ek_alloc((graph->n_entries + 1) * sizeof *sorted);
    EK_AUTOFREE struct graph_entry **entries =
        ek_alloc((graph->n_entries + 1) * sizeof(struct graph_entry *));
    bool has_package;
    int rc = 0;

    if (!sorted || !entries)
        return EK_E_NOMEM;
    size_t n = select_entries(graph, from, sorted, &has_package);
    for (size_t i = 0; i < n; i++)
        entries[i] = sorted[i].entry;
    if (!has_package)
        answer.reach = EK_FF_REACH_NO_PACKAGE;
    else if (n == 0)
        answer.reach = EK_FF_REACH_NO_CHANNEL;
    else
        rc = walk_channels(entries, n, from, &answer);
    if (rc)
        return rc;
    if (answer.reach == EK_FF_REACH_BROKEN) {
        answer.next = answer.next_version = NULL;
        answer.n = 0;
        answer.kind = EK_FF_EDGE_NONE;
    }
    answer.next = text_or_empty(answer.next);
    answer.next_version = text_or_empty(answer.next_version);
    answer.head = text_or_empty(answer.head);
    answer.head_version = text_or_empty(answer.head_version);
    *ret_answer = answer;
    return 0;
}
