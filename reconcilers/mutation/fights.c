/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/fights.h"

#include <string.h>

#include "api/base/hash.h"
#include "api/base/table.h"
#include "api/members.h"
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
    struct ek_work *work;
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

static struct ek_str key_text(yyjson_val *key)
{
    return (struct ek_str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
}

static void differ_members(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    struct ek_members befores, afters;
    size_t i, n, n_shared = 0;
    yyjson_val *key, *value;

    ek_members_init(&befores, before, d->work);
    ek_members_init(&afters, after, d->work);
    ek_json_each_member(d->failed ? NULL : before, i, n, key, value)
    {
        struct ek_str name = key_text(key);
        yyjson_val *other = ek_members_find(&afters, name);
        n_shared += other != NULL;
        ek_pointer_push(&d->path, name);
        differ_at(d, value, other);
    }
    ek_json_each_member(n_shared == afters.n ? NULL : after, i, n, key, value)
    {
        struct ek_str name = key_text(key);
        if (ek_members_find(&befores, name))
            continue;
        ek_pointer_push(&d->path, name);
        differ_at(d, NULL, value);
    }
    ek_members_done(&befores);
    ek_members_done(&afters);
}

/* ---- Lists of named items ---- */

/* The items of a list by the texts of their names. */
struct named {
    yyjson_val **items; /* owned; NULL when they have no names of their own */
    size_t n;
    struct ek_table table;
};

static size_t find_named(struct differences *d, const struct named *list, yyjson_val *name)
{
    struct ek_str text = key_text(name);
    struct ek_table_cursor at = ek_table_at(ek_hash(text.p, text.len));
    size_t i;

    while (ek_table_next(&list->table, &at, &i) && ek_work_octets(d->work, text.len))
        if (ek_str_eq(key_text(yyjson_obj_get(list->items[i], "name")), text))
            return i;
    return SIZE_MAX;
}

static void named_done(struct named *list)
{
    ek_free(list->items);
    ek_table_done(&list->table);
    list->items = NULL;
}

/* Adds an item; false when it has no name, or another's. */
static bool add_named(struct differences *d, struct named *list, yyjson_val *item)
{
    yyjson_val *name = yyjson_obj_get(item, "name");

    ek_work_do(d->work, 1 + yyjson_obj_size(item) / 8);
    if (!yyjson_is_str(name) || find_named(d, list, name) != SIZE_MAX)
        return false;
    list->items[list->n] = item;
    struct ek_str text = key_text(name);
    d->failed = d->failed || ek_table_add(&list->table, ek_hash(text.p, text.len), list->n);
    list->n++;
    return !d->failed;
}

/* Lists the items; false when not all have names of their own. */
static bool list_named(struct differences *d, yyjson_val *list, struct named *ret)
{
    size_t i, n, size = yyjson_arr_size(list);
    yyjson_val *item;

    *ret = (struct named){
        .items = ek_alloc((size + 1) * sizeof *ret->items)}; // NOLINT(*-sizeof-expression)
    d->failed = d->failed || !ret->items || ek_table_init(&ret->table, size);
    bool named = !d->failed;
    yyjson_arr_foreach(named ? list : NULL, i, n, item)
    {
        if (!(named = add_named(d, ret, item)))
            break;
    }
    if (!named)
        named_done(ret);
    return named;
}

static void differ_named(struct differences *d, const struct named *before,
                         const struct named *after, yyjson_val *whole_before,
                         yyjson_val *whole_after)
{
    size_t n_before = d->n, at;
    bool moved = false;

    for (size_t i = 0; i < after->n && !d->failed; i++) {
        at = find_named(d, before, yyjson_obj_get(after->items[i], "name"));
        moved = moved || at != i;
        ek_pointer_push_index(&d->path, i);
        differ_at(d, at == SIZE_MAX ? NULL : before->items[at], after->items[i]);
    }
    for (size_t i = 0; i < before->n && !d->failed; i++) {
        if (find_named(d, after, yyjson_obj_get(before->items[i], "name")) != SIZE_MAX)
            continue;
        ek_pointer_push_index(&d->path, i);
        differ_at(d, before->items[i], NULL);
    }
    if (moved && d->n == n_before) /* they only changed places */
        note(d, whole_before, whole_after);
}

/* ---- Lists ---- */

static void differ_placed(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    yyjson_val *a = yyjson_arr_get_first(before), *b = yyjson_arr_get_first(after);

    for (size_t i = 0; i < yyjson_arr_size(before) && !d->failed; i++) {
        ek_pointer_push_index(&d->path, i);
        differ_at(d, a, b);
        a = unsafe_yyjson_get_next(a);
        b = unsafe_yyjson_get_next(b);
    }
}

static void differ_lists(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    struct named befores = {0}, afters = {0};

    if (list_named(d, before, &befores) && list_named(d, after, &afters))
        differ_named(d, &befores, &afters, before, after);
    else if (yyjson_arr_size(before) == yyjson_arr_size(after))
        differ_placed(d, before, after);
    else
        note(d, before, after);
    named_done(&befores);
    named_done(&afters);
}

/* Each value is met once: whether two containers are equal is what comes of their parts. */
static void differ(struct differences *d, yyjson_val *before, yyjson_val *after)
{
    if (!ek_work_do(d->work, 1))
        d->failed = true;
    if (d->failed)
        return;
    if (yyjson_is_obj(before) && yyjson_is_obj(after))
        differ_members(d, before, after);
    else if (yyjson_is_arr(before) && yyjson_is_arr(after))
        differ_lists(d, before, after);
    else if (!ek_json_equal_within(before, after, d->work))
        note(d, before, after);
}

static const struct ek_change whole_object = {.path = ""};

size_t ek_changes_of(yyjson_val *before, yyjson_val *after, struct ek_work *work,
                     struct ek_arena *arena, const struct ek_change **ret)
{
    struct differences d = {.arena = arena, .work = work};

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
