/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cycles of policies. The result depends on the order of such policies, and reinvocation may never
 * end: policy a reads a path that b writes, and b, or a policy that reads the writes of b, writes a
 * path that a reads.
 * A read of a map or object that holds what is written does not count: it is nearly always the
 * guard of a policy, has(object.metadata.labels) or a key in that map, and all policies that add
 * labels with a guard would be in one cycle. The paths are the scopes of the policies
 * (reconcilers/mutation/scopes.h); a policy that reads or writes the whole object as far as its
 * text shows is left out, because it would be in a cycle with all.
 */
#include <string.h>

#include "reconcilers/mutation/scopes.h"
#include "reconcilers/policylint/lint-internal.h"

#define POLICIES_MAX 1000 /* of more, the first are looked at, which is reported */

/* The first path that to reads, or reads a part of, and from writes; NULL for none. */
static const char *passed(const struct ek_policy *from, const struct ek_policy *to,
                          struct ek_arena *arena)
{
    for (size_t i = 0; i < from->scopes->n_writes; i++) {
        const char *write = from->scopes->writes[i];
        if (!*write)
            continue;
        const char *read = ek_arena_printf(arena, "object.%s", write);
        for (size_t j = 0; j < to->scopes->n_reads; j++)
            if (strcmp(to->scopes->reads[j], "object") != 0 &&
                ek_scopes_touch(to->scopes->reads[j], read) &&
                !ek_scopes_is_above(to->scopes->reads[j], read))
                return write;
    }
    return NULL;
}

/* Edges between policies, and then paths of any length: one bit for each pair. */
struct graph {
    uint64_t *rows;
    size_t n, words;
};

static bool is_set(const struct graph *g, size_t i, size_t j)
{
    return g->rows[i * g->words + j / 64] >> (j % 64) & 1u;
}

static void draw(const struct ek_linter *l, struct graph *g)
{
    struct ek_arena *arena = ek_arena_new((size_t)256 << 20);

    for (size_t i = 0; i < g->n; i++)
        for (size_t j = 0; j < g->n; j++) {
            const struct ek_lint_policy *a = &l->input->policies[i], *b = &l->input->policies[j];
            if (i != j && ek_lint_share_kind(a, b) && passed(a->policy, b->policy, arena))
                g->rows[i * g->words + j / 64] |= (uint64_t)1 << (j % 64);
            ek_arena_reset(arena);
        }
    ek_arena_free(arena);
}

/* Warshall's closure. */
static void close_paths(struct graph *g)
{
    for (size_t k = 0; k < g->n; k++)
        for (size_t i = 0; i < g->n; i++)
            for (size_t w = 0; is_set(g, i, k) && w < g->words; w++)
                g->rows[i * g->words + w] |= g->rows[k * g->words + w];
}

/* One cycle: all policies that reach policy i and are reached from it. The first reports it. */
static void report(struct ek_linter *l, const struct graph *g, size_t i)
{
    const char *others = "", *field = "spec.mutations";

    for (size_t j = 0; j < g->n; j++) {
        if (j == i || !is_set(g, i, j) || !is_set(g, j, i))
            continue;
        if (j < i)
            return;
        others = ek_arena_printf(l->arena, "%s%s%s", others, *others ? ", " : "",
                                 l->input->policies[j].policy->name);
    }
    l->at = &l->input->policies[i];
    if (*others)
        ek_lint_add(l, EK_LINT_WARNING, "cycle", field, NULL, UINT32_MAX,
                    "this policy and %s read what the others write: the result depends on the "
                    "order, which API servers do not fix",
                    others);
}

void ek_lint_cycles(struct ek_linter *l)
{
    struct graph g = {.n = l->input->n_policies < POLICIES_MAX ? l->input->n_policies
                                                               : POLICIES_MAX};

    g.words = (g.n + 63) / 64;
    g.rows = ek_arena_try(l->arena, (g.n * g.words + 1) * sizeof *g.rows);
    if (!g.rows) {
        l->failed = true;
        return;
    }
    memset(g.rows, 0, (g.n * g.words + 1) * sizeof *g.rows);
    draw(l, &g);
    close_paths(&g);
    for (size_t i = 0; i < g.n; i++)
        report(l, &g, i);
    if (g.n == l->input->n_policies)
        return;
    l->at = &l->input->policies[g.n];
    ek_lint_add(l, EK_LINT_WARNING, "unchecked", "", NULL, UINT32_MAX,
                "cycles are looked for among the first %zu of the %zu policies only", g.n,
                l->input->n_policies);
}
