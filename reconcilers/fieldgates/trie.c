/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/fieldgates/gates-internal.h"
#include "reconcilers/fieldgates/place.h"

struct finishing {
    struct ek_arena *arena;
    const char *const *refused;
    size_t n_refused;
};

static struct ek_gates_growing__ *child_of(struct ek_arena *arena,
                                           struct ek_gates_growing__ *parent,
                                           const struct ek_field_path *path, size_t i)
{
    struct ek_gates_growing__ **slot = &parent->child;
    struct ek_str name = path->names[i];

    while (*slot && !ek_str_eq((*slot)->name, name))
        slot = &(*slot)->next;
    if (!*slot) {
        *slot = ek_arena_alloc(arena, sizeof **slot);
        (*slot)->name = name;
        if (ek_field_path_is_each(name))
            (*slot)->each = ek_place_prefix(path, i + 1, arena);
    }
    return *slot;
}

/* Whether path has [*] where another one has a name: a value of a map would have two rules. */
static bool is_mixed(const struct ek_gates_growing__ *node, const struct ek_field_path *path)
{
    for (size_t i = 0; node && i < path->n; i++) {
        const struct ek_gates_growing__ *next = node->child;
        if (next && (ek_field_path_is_each(path->names[i]) != (next->each != NULL)))
            return true;
        while (next && !ek_str_eq(next->name, path->names[i]))
            next = next->next;
        node = next;
    }
    return false;
}

enum ek_gates_added__ ek_gates_trie_add__(struct ek_arena *arena, struct ek_gates_growing__ *root,
                                          const struct ek_field_path *path,
                                          const struct ek_gate *gate)
{
    struct ek_gates_growing__ *node = root;

    if (is_mixed(root, path))
        return EK_GATES_MIXED__;
    for (size_t i = 0; i < path->n; i++)
        node = child_of(arena, node, path, i);
    if (node->gate)
        return EK_GATES_THERE__;
    node->gate = gate;
    node->path = path;
    return EK_GATES_ADDED__;
}

static int by_name(const void *a, const void *b)
{
    struct ek_str x = ((const struct ek_gate_node *)a)->name;
    struct ek_str y = ((const struct ek_gate_node *)b)->name;
    int order = memcmp(x.p, y.p, x.len < y.len ? x.len : y.len);

    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static bool is_refused(const struct finishing *f, const struct ek_gate *gate)
{
    for (size_t i = 0; i < f->n_refused; i++)
        if (!strcmp(f->refused[i], gate->name))
            return true;
    return false;
}

static size_t count_children(const struct ek_gates_growing__ *from)
{
    size_t n = 0;

    for (const struct ek_gates_growing__ *c = from->child; c; c = c->next)
        n++;
    return n;
}

/* Fills *to. above is the gate of the nearest path above that has one. */
static void finish(const struct finishing *f, const struct ek_gates_growing__ *from,
                   const struct ek_gate *above, struct ek_gate_node *to)
{
    size_t n = 0, max = count_children(from);
    struct ek_gate_node *children = ek_arena_alloc(f->arena, max * sizeof *children);

    *to = (struct ek_gate_node){.name = from->name, .each = from->each};
    if (from->gate && from->gate != above && !is_refused(f, from->gate)) {
        to->gate = above = from->gate;
        to->path = from->path;
    }
    for (const struct ek_gates_growing__ *c = from->child; c; c = c->next) {
        finish(f, c, above, &children[n]);
        if (children[n].gate || children[n].n_children)
            n++;
    }
    if (n)
        qsort(children, n, sizeof *children, by_name);
    to->children = children;
    to->n_children = n;
}

const struct ek_gate_node *ek_gates_trie_finish__(struct ek_arena *arena,
                                                  const struct ek_gates_growing__ *root,
                                                  const char *const *refused, size_t n)
{
    struct finishing f = {arena, refused, n};
    struct ek_gate_node *to = ek_arena_alloc(arena, sizeof *to);

    finish(&f, root, NULL, to);
    return to;
}
