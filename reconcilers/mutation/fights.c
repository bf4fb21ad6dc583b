/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/fights.h"

#include <string.h>

#include "api/obj.h"
#include "api/patch/pointer.h"

yyjson_val *ek_value_keep(yyjson_val *v, struct ek_arena *arena)
{
    /* A container's values follow it, and it knows the distance to its end, not addresses. */
    size_t n = (size_t)(unsafe_yyjson_get_next(v) - v);
    yyjson_val *copy = ek_arena_try(arena, n * sizeof *copy);

    if (!copy)
        return NULL;
    memcpy(copy, v, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        if (yyjson_is_str(&copy[i])) {
            size_t len = unsafe_yyjson_get_len(&copy[i]);
            char *text = ek_arena_try(arena, len + 1);
            if (!text)
                return NULL;
            memcpy(text, copy[i].uni.str, len);
            text[len] = '\0';
            copy[i].uni.str = text;
        }
    return copy;
}

/* ---- Differences ---- */

struct differences {
    struct ek_arena *arena;
    struct ek_buf path;
    struct ek_change *list;
    size_t n, cap;
    bool failed; /* too many, or no memory */
};

static void differ(struct differences *d, yyjson_val *before, yyjson_val *after);

static yyjson_val *keep(struct differences *d, yyjson_val *v)
{
    yyjson_val *copy = v ? ek_value_keep(v, d->arena) : NULL;

    d->failed = d->failed || (v && !copy);
    return copy;
}

static void note(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    if (d->n == d->cap && !d->failed) {
        size_t cap = d->cap ? d->cap * 2 : 4;
        struct ek_change *list = ek_arena_try(d->arena, cap * sizeof *list);
        d->failed = !list || cap > 2 * (size_t)EK_CHANGES_MAX;
        if (list && d->n)
            memcpy(list, d->list, d->n * sizeof *list);
        d->list = list;
        d->cap = cap;
    }
    if (d->failed)
        return;
    d->list[d->n++] = (struct ek_change){.path = ek_arena_strdup(d->arena, ek_buf_str(&d->path)),
                                         .before = keep(d, before),
                                         .after = keep(d, after)};
}

static void differ_at(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    if (before && after)
        differ(d, before, after);
    else
        note(d, before, after);
    ek_pointer_pop(&d->path);
}

static void differ_members(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    yyjson_val *key, *value;
    size_t i, n;

    yyjson_obj_foreach(before, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        ek_pointer_push(&d->path, name);
        differ_at(d, value, yyjson_obj_getn(after, name.p, name.len));
    }
    yyjson_obj_foreach(after, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        if (yyjson_obj_getn(before, name.p, name.len))
            continue;
        ek_pointer_push(&d->path, name);
        differ_at(d, NULL, value);
    }
}

static yyjson_val *named(yyjson_val *list, yyjson_val *name)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        if (ek_json_equal(yyjson_obj_get(item, "name"), name))
            return item;
    }
    return NULL;
}

#define NAMED_MAX 256 /* longer lists are not aligned */

static bool has_names(yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        yyjson_val *name = yyjson_obj_get(item, "name");
        if (!yyjson_is_str(name) || named(list, name) != item)
            return false;
    }
    return yyjson_arr_size(list) <= NAMED_MAX;
}

static void differ_named(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    yyjson_val *item;
    size_t i, n, n_before = d->n;

    yyjson_arr_foreach(after, i, n, item)
    {
        ek_pointer_push_index(&d->path, i);
        differ_at(d, named(before, yyjson_obj_get(item, "name")), item);
    }
    yyjson_arr_foreach(before, i, n, item)
    {
        if (named(after, yyjson_obj_get(item, "name")))
            continue;
        ek_pointer_push_index(&d->path, i);
        differ_at(d, item, NULL);
    }
    if (d->n == n_before) /* they only changed places */
        note(d, before, after);
}

static void differ_placed(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    yyjson_val *a = yyjson_arr_get_first(before), *b = yyjson_arr_get_first(after);

    for (size_t i = 0; i < yyjson_arr_size(before); i++) {
        ek_pointer_push_index(&d->path, i);
        differ_at(d, a, b);
        a = unsafe_yyjson_get_next(a);
        b = unsafe_yyjson_get_next(b);
    }
}

static void differ(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    if (d->failed || ek_json_equal(before, after))
        return;
    bool lists = yyjson_is_arr(before) && yyjson_is_arr(after);
    if (yyjson_is_obj(before) && yyjson_is_obj(after))
        differ_members(d, before, after);
    else if (lists && has_names(before) && has_names(after))
        differ_named(d, before, after);
    else if (lists && yyjson_arr_size(before) == yyjson_arr_size(after))
        differ_placed(d, before, after);
    else
        note(d, before, after);
}

static const struct ek_change whole_object = {.path = ""};

size_t ek_changes_of(yyjson_val *before, yyjson_val *after, struct ek_arena *arena,
                     const struct ek_change **ret)
{
    struct differences d = {.arena = arena};

    ek_buf_init(&d.path, (size_t)1 << 20);
    differ(&d, before, after);
    d.failed = d.failed || d.path.failed;
    ek_buf_done(&d.path);
    *ret = d.failed ? &whole_object : d.list;
    return d.failed ? 1 : d.n;
}

static bool is_above(const char *above, const char *path)
{
    size_t len = strlen(above);

    return !strncmp(above, path, len) && (path[len] == '\0' || path[len] == '/');
}

/* Whether a change at path is, wholly or in part, one of part's. */
static bool has_part(const struct ek_change_part *part, const char *path)
{
    for (size_t i = 0; i < part->n; i++)
        if (is_above(part->changes[i].path, path) || is_above(path, part->changes[i].path))
            return true;
    return false;
}

static void attribute(struct ek_change *change, const struct ek_change_part *parts, size_t n_parts,
                      size_t *indexes)
{
    change->mutations = indexes;
    for (size_t i = 0; i < n_parts; i++)
        if (has_part(&parts[i], change->path))
            indexes[change->n_mutations++] = i;
}

const struct ek_change *ek_changes_attribute(const struct ek_change *list, size_t n,
                                             const struct ek_change_part *parts, size_t n_parts,
                                             struct ek_arena *arena)
{
    struct ek_change *copy = ek_arena_try(arena, n * sizeof *copy);
    size_t *indexes = n_parts ? ek_arena_try(arena, n * n_parts * sizeof *indexes) : NULL;

    if (!copy || !indexes)
        return list;
    memcpy(copy, list, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        attribute(&copy[i], parts, n_parts, indexes + i * n_parts);
    return copy;
}

/* ---- Fights ---- */

struct fight {
    struct ek_fight pub;
    const struct ek_policy **parties;
    yyjson_val **values;
    size_t cap;
};

struct fights {
    struct ek_arena *arena;
    struct fight list[EK_FIGHTS_MAX];
    size_t n;
};

static void add_party(struct fights *fights, struct fight *f, const struct ek_policy *policy,
                      yyjson_val *value)
{
    for (size_t i = 0; i < f->pub.n; i++)
        if (f->parties[i] == policy) {
            f->values[i] = value;
            return;
        }
    if (f->pub.n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 4;
        const struct ek_policy **parties =
            ek_arena_alloc(fights->arena, cap * sizeof(const struct ek_policy *));
        yyjson_val **values = ek_arena_alloc(fights->arena, cap * sizeof(yyjson_val *));
        for (size_t i = 0; i < f->pub.n; i++) {
            parties[i] = f->parties[i];
            values[i] = f->values[i];
        }
        f->parties = parties;
        f->values = values;
        f->cap = cap;
    }
    f->parties[f->pub.n] = policy;
    f->values[f->pub.n++] = value;
}

static void add_change(struct fights *fights, const struct ek_policy *policy,
                       const struct ek_change *change)
{
    for (size_t i = 0; i < fights->n; i++) {
        struct fight *f = &fights->list[i];
        if (!is_above(f->pub.path, change->path) && !is_above(change->path, f->pub.path))
            continue;
        if (strlen(change->path) < strlen(f->pub.path))
            f->pub.path = change->path;
        add_party(fights, f, policy, change->after);
        return;
    }
    if (fights->n == EK_FIGHTS_MAX)
        return;
    struct fight *f = &fights->list[fights->n++];
    *f = (struct fight){.pub.path = change->path};
    add_party(fights, f, policy, change->after);
}

size_t ek_fights_of(const struct ek_step *steps, size_t n, unsigned first_pass, size_t least,
                    struct ek_arena *arena, const struct ek_fight **ret)
{
    struct fights fights = {.arena = arena};
    struct ek_fight *list = ek_arena_alloc(arena, EK_FIGHTS_MAX * sizeof *list);
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; steps[i].pass >= first_pass && c < steps[i].n_changes; c++)
            if (steps[i].bound->apply)
                add_change(&fights, steps[i].bound->policy, &steps[i].changes[c]);
    for (size_t i = 0; i < fights.n; i++) {
        struct fight *f = &fights.list[i];
        if (f->pub.n < least)
            continue;
        f->pub.parties = f->parties;
        f->pub.values = f->values;
        list[found++] = f->pub;
    }
    *ret = list;
    return found;
}
