/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/spaces.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

static void free_briefs(struct ek_ff_space *space)
{
    for (size_t i = 0; i < space->n_briefs; i++)
        ek_free(space->briefs[i].name);
    ek_free(space->briefs);
    space->briefs = NULL;
    space->n_briefs = 0;
}

static void free_space(struct ek_ff_space *space)
{
    for (size_t i = 0; i < EK_FF_SPACE_ROWS; i++)
        ek_free(space->written[i]);
    free_briefs(space);
    ek_free(space->name);
    ek_free(space);
}

static int by_name(const void *a, const void *b)
{
    const struct ek_ff_space *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

struct ek_ff_space *ek_ff_spaces_find(const struct ek_ff_spaces *spaces, const char *name)
{
    const struct ek_ff_space key = {.name = (char *)(uintptr_t)name}, *wanted = &key;
    struct ek_ff_space **found = spaces->n ? bsearch(&wanted, spaces->items, spaces->n,
                                                     sizeof(struct ek_ff_space *), by_name)
                                           : NULL;

    return found ? *found : NULL;
}

static struct ek_ff_space *make(const char *name)
{
    struct ek_ff_space *space = ek_xalloc(sizeof *space);

    space->name = ek_xstrdup(name);
    space->dirty = true;
    return space;
}

static bool names_changed_source(const struct ek_ff_spaces *spaces,
                                 const struct ek_obj *subscription)
{
    yyjson_val *spec = ek_json_get(ek_obj_root(subscription), "spec", NULL);
    EK_AUTOFREE char *source =
        ek_xasprintf("%s/%s", ek_json_text(spec, "sourceNamespace"), ek_json_text(spec, "source"));

    return ek_map_get(&spaces->sources, source) != NULL;
}

static void forget_sources(struct ek_ff_spaces *spaces)
{
    void *source;

    for (size_t cursor = 0; ek_map_next(&spaces->sources, &cursor, NULL, &source);)
        ek_free(source);
    ek_map_done(&spaces->sources);
}

void ek_ff_spaces_list(struct ek_ff_spaces *spaces, struct ek_obj *const *subscriptions, size_t n)
{
    struct ek_ff_space **next = ek_xalloc((n + 1) * sizeof(struct ek_ff_space *));
    size_t count = 0;

    for (size_t i = 0; i < spaces->n; i++)
        spaces->items[i]->listed = false;
    for (size_t i = 0; i < n; i++) {
        const char *name = ek_obj_namespace(subscriptions[i]);
        if (!count || strcmp(next[count - 1]->name, name) != 0) {
            struct ek_ff_space *known = ek_ff_spaces_find(spaces, name);
            next[count] = known ? known : make(name);
            next[count++]->listed = true;
        }
        if (spaces->sources.n && names_changed_source(spaces, subscriptions[i]))
            next[count - 1]->dirty = true;
    }
    forget_sources(spaces);
    for (size_t i = 0; i < spaces->n; i++)
        if (!spaces->items[i]->listed)
            free_space(spaces->items[i]);
    ek_free(spaces->items);
    /* Keys are in the order of "namespace/name": "a-b/x" is before "a/x". */
    qsort(next, count, sizeof(struct ek_ff_space *), by_name);
    spaces->items = next;
    spaces->n = count;
}

void ek_ff_spaces_done(struct ek_ff_spaces *spaces)
{
    for (size_t i = 0; i < spaces->n; i++)
        free_space(spaces->items[i]);
    ek_free(spaces->items);
    ek_free(spaces->first);
    forget_sources(spaces);
    *spaces = (struct ek_ff_spaces){0};
}

size_t ek_ff_spaces_first(const struct ek_ff_spaces *spaces)
{
    for (size_t i = 0; spaces->first && i < spaces->n; i++)
        if (strcmp(spaces->items[i]->name, spaces->first) >= 0)
            return i;
    return 0;
}

void ek_ff_spaces_begin_with(struct ek_ff_spaces *spaces, const struct ek_ff_space *space)
{
    ek_free(spaces->first);
    spaces->first = ek_xstrdup(space->name);
}

static void touch(struct ek_ff_space *space, bool consent)
{
    space->dirty = true;
    space->is_stale |= consent;
}

void ek_ff_spaces_touch(struct ek_ff_spaces *spaces, const char *name, bool consent)
{
    struct ek_ff_space *space = name ? ek_ff_spaces_find(spaces, name) : NULL;

    if (space)
        touch(space, consent);
    for (size_t i = 0; !name && i < spaces->n; i++)
        touch(spaces->items[i], consent);
}

void ek_ff_spaces_touch_source(struct ek_ff_spaces *spaces, const char *source)
{
    char *key;

    if (ek_map_get(&spaces->sources, source))
        return;
    key = ek_xstrdup(source);
    ek_map_put(&spaces->sources, key, key);
}

bool ek_ff_space_is_due(const struct ek_ff_space *space, int64_t now_ms)
{
    return space->dirty || (space->again_ms && space->again_ms <= now_ms);
}

void ek_ff_space_wrote(struct ek_ff_space *space, size_t row, const char *version, int64_t now_ms)
{
    char *copy = ek_xstrdup(version);

    ek_free(space->written[row]);
    space->written[row] = copy;
    if (copy)
        space->written_ms = now_ms;
}

void ek_ff_space_keep(struct ek_ff_space *space, const struct ek_ff_verdict *verdicts, size_t n)
{
    free_briefs(space);
    space->briefs = ek_xalloc((n + 1) * sizeof *space->briefs);
    space->n_briefs = n;
    space->dirty = space->is_stale = false;
    space->again_ms = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ek_ff_verdict *v = &verdicts[i];
        int64_t again_ms = v->next.again_ms ? v->next.again_ms : v->finding.again_ms;
        space->briefs[i] =
            (struct ek_ff_brief){ek_xstrdup(ek_obj_name(v->subscription)), v->consent.mode,
                                 v->finding.class, v->next.blocked, v->next.step};
        if (again_ms && (!space->again_ms || again_ms < space->again_ms))
            space->again_ms = again_ms;
    }
}
