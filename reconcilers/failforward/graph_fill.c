/* SPDX-License-Identifier: Apache-2.0 */
/* The edges that a decision about one subscription asks for. */
#include "api/base/hash.h"
#include "reconcilers/failforward/graph-internal.h"
#include "reconcilers/failforward/graph.h"

static void add_number(uint64_t *digest, uint64_t number)
{
    uint64_t pair[2] = {*digest, number};

    *digest = ek_hash(pair, sizeof pair);
}

static void add(uint64_t *digest, const char *text)
{
    add_number(digest, ek_hash(text, strlen(text)));
}

uint64_t ek_ff_graph_digest(const struct ek_ff_graph *graph)
{
    uint64_t digest = 0;

    for (size_t i = 0; i < graph->n_packages; i++) {
        add(&digest, graph->packages[i].name);
        add(&digest, graph->packages[i].default_channel);
    }
    for (size_t i = 0; i < graph->n_entries; i++) {
        const struct graph_entry *entry = &graph->entries[i];
        add(&digest, entry->package);
        add(&digest, entry->channel);
        add(&digest, entry->name);
        add(&digest, entry->version);
        add(&digest, entry->replaces);
        add(&digest, entry->skip_range);
        add(&digest, entry->deprecated ? "deprecated" : "");
        add_number(&digest, entry->content);
        for (size_t k = 0; k < entry->n_skips; k++)
            add(&digest, entry->skips[k]);
    }
    return digest;
}

/* spec.version of a CSV, "" for none. */
static struct ek_str version_of(const struct ek_obj *csv)
{
    const char *version = csv ? ek_json_str(ek_obj_root(csv), "spec", "version", NULL) : NULL;

    return ek_str_from(version ? version : "");
}

/* The version that the catalog gives an entry of the package, "" for none. */
static struct ek_str version_in_catalog(const struct ek_ff_graph *graph, const char *package,
                                        const char *name)
{
    for (size_t i = 0; i < graph->n_entries; i++)
        if (!strcmp(graph->entries[i].package, package) && !strcmp(graph->entries[i].name, name))
            return ek_str_from(graph->entries[i].version);
    return (struct ek_str){0};
}

static int fill_edge(const struct ek_ff_graph *graph, const struct ek_ff_from *from, bool *known,
                     struct ek_ff_edge *ret_edge, const char **ret_head)
{
    struct ek_ff_answer answer;

    int rc = ek_ff_graph_edges(graph, from, &answer);
    if (rc)
        return rc;
    *known = answer.reach == EK_FF_REACH_FOUND || answer.reach == EK_FF_REACH_NONE;
    *ret_head = *known && *answer.head ? answer.head : NULL;
    if (answer.reach == EK_FF_REACH_FOUND)
        *ret_edge =
            (struct ek_ff_edge){answer.next, *answer.next_version ? answer.next_version : NULL};
    return 0;
}

int ek_ff_graph_fill(const struct ek_ff_graph *graph, const struct ek_ff_edges_query *query,
                     struct ek_ff_edges *ret_edges)
{
    struct ek_str failing = ek_str_from(query->failing_name), package = ek_str_from(query->package),
                  channel = ek_str_from(query->channel);
    struct ek_ff_from from = {.package = package, .channel = channel};
    struct ek_ff_edge from_failing = {0}, from_running = {0};
    const char *head;
    bool known;

    from.name = failing;
    from.version = query->failing ? version_of(query->failing)
                                  : version_in_catalog(graph, query->package, query->failing_name);
    int rc = fill_edge(graph, &from, &known, &from_failing, &head);
    if (rc)
        return rc;
    if (failing.len == 0)
        from_failing = (struct ek_ff_edge){0};
    if (query->running) {
        from.name = ek_str_from(ek_obj_name(query->running));
        from.version = version_of(query->running);
        from.except = failing;
        rc = fill_edge(graph, &from, &known, &from_running, &head);
        if (rc)
            return rc;
    }
    ret_edges->known = known;
    ret_edges->head = head;
    ret_edges->from_failing = from_failing;
    ret_edges->from_running = from_running;
    return 0;
}
