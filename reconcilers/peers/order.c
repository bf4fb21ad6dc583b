/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"

struct node {
    const char *name;
    size_t first_edge, n_edges; /* in graph.edges */
    size_t in_degree;
    size_t seen_in; /* the list, from 1, that had the name last */
};

struct edge {
    size_t from, to;
};

struct graph {
    struct node *nodes;
    size_t n;
    struct edge *edges;
    size_t n_edges;
    struct ek_map by_name;
};

static struct node *node_of(struct graph *graph, const char *name)
{
    struct node *node = ek_map_get(&graph->by_name, name);

    if (node)
        return node;
    node = &graph->nodes[graph->n++];
    node->name = name;
    ek_map_put(&graph->by_name, name, node);
    return node;
}

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Sorts the edges by their start and removes what is there twice. */
static void seal_edges(struct graph *graph)
{
    size_t kept = 0;

    if (graph->n_edges)
        qsort(graph->edges, graph->n_edges, sizeof *graph->edges, by_edge);
    for (size_t i = 0; i < graph->n_edges; i++) {
        if (kept && by_edge(&graph->edges[kept - 1], &graph->edges[i]) == 0)
            continue;
        struct node *from = &graph->nodes[graph->edges[i].from];
        if (from->n_edges++ == 0)
            from->first_edge = kept;
        graph->nodes[graph->edges[i].to].in_degree++;
        graph->edges[kept++] = graph->edges[i];
    }
    graph->n_edges = kept;
}

static void build(struct graph *graph, const struct ek_name_list *lists, size_t n,
                  struct ek_arena *arena)
{
    size_t total = 0;

    for (size_t l = 0; l < n; l++)
        total += lists[l].n;
    graph->nodes = ek_arena_alloc(arena, (total + 1) * sizeof *graph->nodes);
    graph->edges = ek_arena_alloc(arena, (total + 1) * sizeof *graph->edges);
    ek_map_reserve(&graph->by_name, total);
    for (size_t l = 0; l < n; l++) {
        for (size_t i = 0; i < lists[l].n; i++) {
            size_t from = (size_t)(node_of(graph, lists[l].names[i]) - graph->nodes);
            if (i + 1 == lists[l].n)
                break;
            size_t to = (size_t)(node_of(graph, lists[l].names[i + 1]) - graph->nodes);
            graph->edges[graph->n_edges++] = (struct edge){from, to};
        }
    }
    seal_edges(graph);
}

/* True when the list, the at-th from 1, has every name of the graph once. */
static bool is_whole(struct graph *graph, const struct ek_name_list *list, size_t at)
{
    if (list->n != graph->n)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        struct node *node = node_of(graph, list->names[i]);
        if (node->seen_in == at)
            return false;
        node->seen_in = at;
    }
    return true;
}

/* A heap of names, the least on top. */
static void heap_push(const char **heap, size_t *n, const char *name)
{
    size_t at = (*n)++;

    while (at > 0 && strcmp(name, heap[(at - 1) / 2]) < 0) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = name;
}

static const char *heap_pop(const char **heap, size_t *n)
{
    const char *top = heap[0], *last = heap[--(*n)];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < *n; at = child) {
        if (child + 1 < *n && strcmp(heap[child + 1], heap[child]) < 0)
            child++;
        if (strcmp(last, heap[child]) <= 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* Kahn's algorithm; returns how many names could be placed. */
static size_t place(struct graph *graph, const char **order, const char **heap)
{
    size_t n = 0, waiting = 0;

    for (size_t i = 0; i < graph->n; i++)
        if (graph->nodes[i].in_degree == 0)
            heap_push(heap, &waiting, graph->nodes[i].name);
    while (waiting > 0) {
        const char *name = heap_pop(heap, &waiting);
        const struct node *node = node_of(graph, name);
        order[n++] = name;
        for (size_t e = 0; e < node->n_edges; e++) {
            struct node *to = &graph->nodes[graph->edges[node->first_edge + e].to];
            if (--to->in_degree == 0)
                heap_push(heap, &waiting, to->name);
        }
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *const *sort_graph(struct graph *graph, struct ek_arena *arena)
{
    const char **order = ek_arena_alloc(arena, (graph->n + 1) * sizeof *order);
    const char **heap = ek_arena_alloc(arena, (graph->n + 1) * sizeof *heap);

    if (place(graph, order, heap) == graph->n)
        return order;
    /* A cycle. */
    for (size_t i = 0; i < graph->n; i++)
        order[i] = graph->nodes[i].name;
    qsort(order, graph->n, sizeof *order, by_name);
    return order;
}

const char *const *ek_order_merge(const struct ek_name_list *lists, size_t n,
                                  struct ek_arena *arena, size_t *ret_n)
{
    struct graph graph = {0};
    const char *const *order = NULL;

    build(&graph, lists, n, arena);
    for (size_t l = 0; l < n && !order; l++)
        if (is_whole(&graph, &lists[l], l + 1))
            order = lists[l].names;
    *ret_n = graph.n;
    if (!order || graph.n == 0)
        order = sort_graph(&graph, arena);
    ek_map_done(&graph.by_name);
    return order;
}
