/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/review_set.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Far more than the names and the replicas paths of as many CRDs as there can be. */
#define MEMORY_MAX ((size_t)64 * 1024 * 1024)

struct ek_gates_review_set {
    atomic_size_t refs;
    struct ek_arena *arena;
    struct ek_gates_review_kind *kinds; /* by name; each name once */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    const struct ek_gates_review_kind *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static bool has(const struct ek_gates_review_set *set, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(set->kinds[i].name, name))
            return true;
    return false;
}

/* A path that outlives the one that it was read from. */
static const struct ek_field_path *dup_path(struct ek_arena *arena,
                                            const struct ek_field_path *path)
{
    struct ek_field_path *copy = path ? ek_arena_alloc(arena, sizeof *copy) : NULL;

    return copy && ek_field_path_parse(path->text, arena, copy, NULL) == 0 ? copy : NULL;
}

static void dup_lacks(struct ek_arena *arena, const struct ek_gates_shape *from,
                      struct ek_gates_shape *to)
{
    struct ek_gates_lack *lacks = ek_arena_alloc(arena, (from->n_lacks + 1) * sizeof *lacks);

    for (size_t i = 0; i < from->n_lacks; i++)
        lacks[i] = (struct ek_gates_lack){.version = ek_arena_strdup(arena, from->lacks[i].version),
                                          .gate = ek_arena_strdup(arena, from->lacks[i].gate),
                                          .path = ek_arena_strdup(arena, from->lacks[i].path),
                                          .status = from->lacks[i].status,
                                          .scale = from->lacks[i].scale};
    to->lacks = lacks;
    to->n_lacks = from->n_lacks;
}

static void dup_lists(struct ek_arena *arena, const struct ek_gates_shape *from,
                      struct ek_gates_shape *to)
{
    struct ek_gates_keyed_list *lists = ek_arena_alloc(arena, (from->n_lists + 1) * sizeof *lists);

    for (size_t i = 0; i < from->n_lists; i++) {
        const struct ek_gates_keyed_list *list = &from->lists[i];
        const char **keys = ek_arena_alloc(arena, (list->n_keys + 1) * sizeof *keys);
        for (size_t k = 0; k < list->n_keys; k++)
            keys[k] = ek_arena_strdup(arena, list->keys[k]);
        lists[i] =
            (struct ek_gates_keyed_list){ek_arena_strdup(arena, list->each), keys, list->n_keys};
    }
    to->lists = lists;
    to->n_lists = from->n_lists;
}

static void add(struct ek_gates_review_set *set, const struct ek_gates_reviewed *kind)
{
    if (has(set, set->n, kind->gates->name))
        return;
    const struct ek_gates *gates = ek_gates_ref(kind->gates);
    set->kinds[set->n++] = (struct ek_gates_review_kind){
        .name = gates->name,
        .gates = gates,
        .shape = {.has_status = kind->shape->has_status,
                  .replicas = dup_path(set->arena, kind->shape->replicas)},
        .version = ek_arena_strdup(set->arena, kind->version ? kind->version : ""),
    };
    dup_lacks(set->arena, kind->shape, &set->kinds[set->n - 1].shape);
    dup_lists(set->arena, kind->shape, &set->kinds[set->n - 1].shape);
}

static bool is_forgotten(const struct ek_gates_review_kind *kind, int64_t now_ms)
{
    return !kind->gates && now_ms - kind->gone_ms >= EK_GATES_REVIEW_GONE_MS;
}

/* Remembers what previous had, the newest losses first. */
static void remember(struct ek_gates_review_set *set, const struct ek_gates_review_set *previous,
                     int64_t now_ms)
{
    size_t now = set->n, gone = 0;

    for (int lost_now = 1; lost_now >= 0; lost_now--)
        for (size_t i = 0; i < previous->n && gone < EK_GATES_REVIEW_GONE_MAX; i++) {
            const struct ek_gates_review_kind *kind = &previous->kinds[i];
            if ((kind->gates != NULL) != lost_now || is_forgotten(kind, now_ms) ||
                has(set, now, kind->name))
                continue;
            set->kinds[set->n++] = (struct ek_gates_review_kind){
                .name = ek_arena_strdup(set->arena, kind->name),
                .version = "",
                .gone_ms = lost_now ? now_ms : kind->gone_ms,
            };
            gone++;
        }
}

struct ek_gates_review_set *ek_gates_review_set_new(const struct ek_gates_reviewed *kinds, size_t n,
                                                    const struct ek_gates_review_set *previous,
                                                    int64_t now_ms)
{
    struct ek_gates_review_set *set = ek_xalloc(sizeof *set);

    atomic_init(&set->refs, 1);
    set->arena = ek_arena_new(MEMORY_MAX);
    set->kinds =
        ek_xrealloc(NULL, n + EK_GATES_REVIEW_GONE_MAX, sizeof(struct ek_gates_review_kind));
    for (size_t i = 0; i < n; i++)
        add(set, &kinds[i]);
    if (previous)
        remember(set, previous, now_ms);
    if (set->n)
        qsort(set->kinds, set->n, sizeof *set->kinds, by_name);
    return set;
}

struct ek_gates_review_set *ek_gates_review_set_ref(struct ek_gates_review_set *set)
{
    if (set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void ek_gates_review_set_unref(struct ek_gates_review_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < set->n; i++)
        ek_gates_unref(set->kinds[i].gates);
    ek_arena_free(set->arena);
    ek_free(set->kinds);
    ek_free(set);
}

const struct ek_gates_review_kind *ek_gates_review_set_find(const struct ek_gates_review_set *set,
                                                            const char *crd, int64_t now_ms)
{
    struct ek_gates_review_kind key = {.name = crd}, *kind = NULL;

    if (set && set->n)
        kind = bsearch(&key, set->kinds, set->n, sizeof key, by_name);
    return kind && !is_forgotten(kind, now_ms) ? kind : NULL;
}
