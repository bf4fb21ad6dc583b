/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that came and went, looked up in an object. */
#include "reconcilers/plan/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/objects-internal.h"

#define PATHS_MAX 4096 /* places of one path in one object; a longer list is cut */

static const struct ek_field_kind *find(const struct ek_plan_data *data, const char *api_version,
                                        const char *kind)
{
    size_t low = 0, high = data->n_fields;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct ek_field_kind *row = &data->fields[mid];
        int sign = strcmp(row->api_version, api_version);
        sign = sign ? sign : strcmp(row->kind, kind);
        if (!sign)
            return row;
        if (sign < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool ek_fields_have(const struct ek_plan_data *data, struct ek_minor release)
{
    return release.known && ek_minor_cmp(release, data->oldest) >= 0 &&
           ek_minor_cmp(release, data->newest) <= 0;
}

struct ek_minor ek_fields_nearest(const struct ek_plan_data *data, struct ek_minor release)
{
    return !release.known                            ? release
           : ek_minor_cmp(release, data->newest) > 0 ? data->newest
           : ek_minor_cmp(release, data->oldest) < 0 ? data->oldest
                                                     : release;
}

/* ---- Places ---- */

struct search {
    struct ek_arena *arena;
    void (*fn)(void *ctx, const struct ek_field_unknown *field);
    void *ctx;
    struct ek_minor release, at;
    bool went;
    size_t n; /* places of the path */
};

struct walk {
    void (*fn)(void *ctx, yyjson_val *value, const struct ek_plan_place *place);
    void *ctx;
};

/* Follows the rest of a path from value, whose place in the object is at. */
static void follow(const struct walk *w, yyjson_val *value, const struct ek_plan_place *at,
                   const char *rest)
{
    size_t i, n, len = strcspn(rest, ".[{");
    struct ek_plan_place place = {.up = at};
    yyjson_val *key, *inner;

    if (!*rest) {
        w->fn(w->ctx, value, at);
    } else if (*rest == '.') {
        follow(w, value, at, rest + 1);
    } else if (*rest == '[') {
        yyjson_arr_foreach(value, i, n, inner)
        {
            place.index = i;
            follow(w, inner, &place, rest + 2);
        }
    } else if (*rest == '{') {
        ek_json_each_member(value, i, n, key, inner)
        {
            place.name = yyjson_get_str(key);
            place.len = strlen(place.name);
            place.is_key = true;
            follow(w, inner, &place, rest + 2);
        }
    } else {
        inner = yyjson_obj_getn(value, rest, len);
        place.name = rest;
        place.len = len;
        if (inner)
            follow(w, inner, &place, rest + len);
    }
}

void ek_plan_follow__(yyjson_val *value, const char *path,
                      void (*fn)(void *ctx, yyjson_val *value, const struct ek_plan_place *place),
                      void *ctx)
{
    follow(&(struct walk){fn, ctx}, value, NULL, path);
}

/* The octets of a part, with what stands around the name or the index. */
static size_t put_part(const struct ek_plan_place *part, char *text, size_t size)
{
    int n = !part->name ? snprintf(text, size, "[%zu]", part->index)
            : part->is_key
                ? snprintf(text, size, "[%.*s]", (int)part->len, part->name)
                : snprintf(text, size, "%s%.*s", part->up ? "." : "", (int)part->len, part->name);
    return n > 0 ? (size_t)n : 0;
}

const char *ek_plan_place_text__(const struct ek_plan_place *place, struct ek_arena *arena)
{
    size_t len = 0;

    for (const struct ek_plan_place *p = place; p; p = p->up)
        len += put_part(p, NULL, 0);
    char *text = ek_arena_alloc(arena, len + 1), *at = text + len;
    for (const struct ek_plan_place *p = place; p; p = p->up) {
        size_t n = put_part(p, NULL, 0);
        char after = *at; /* snprintf ends its text */
        at -= n;
        put_part(p, at, n + 1);
        at[n] = after;
    }
    return text;
}

static void found(void *ctx, yyjson_val *value, const struct ek_plan_place *place)
{
    struct search *s = ctx;

    if (yyjson_is_null(value)) /* absent, for API servers */
        return;
    if (s->n++ < PATHS_MAX && !ek_arena_exhausted(s->arena))
        s->fn(s->ctx, &(struct ek_field_unknown){.path = ek_plan_place_text__(place, s->arena),
                                                 .at = s->at,
                                                 .went = s->went,
                                                 .is_false = yyjson_is_false(value)});
}

/* True when path lies within another path of a list, which is then said in its place. */
static bool is_within(yyjson_val *list, const char *path)
{
    size_t i, n;
    yyjson_val *other;

    yyjson_arr_foreach(list, i, n, other)
    {
        const char *text = yyjson_get_str(other);
        size_t len = text ? strlen(text) : 0;
        if (len && !strncmp(path, text, len) && path[len] && strchr(".[{", path[len]))
            return true;
    }
    return false;
}

/* The same for all that the release does not know for the same reason. */
static bool is_said(const struct ek_field_kind *row, const struct search *s, const char *path)
{
    for (size_t i = 0; i < row->n_changes; i++) {
        bool went = ek_minor_cmp(row->changes[i].at, s->release) <= 0;
        if (went == s->went && is_within(went ? row->changes[i].went : row->changes[i].came, path))
            return true;
    }
    return false;
}

static void look(struct search *s, const struct ek_field_kind *row, yyjson_val *list,
                 yyjson_val *object)
{
    size_t i, n;
    yyjson_val *path;

    yyjson_arr_foreach(list, i, n, path)
    {
        const char *text = yyjson_get_str(path);
        s->n = 0;
        if (text && !is_said(row, s, text))
            ek_plan_follow__(object, text, found, s);
    }
}

void ek_fields_unknown(const struct ek_plan_data *data, yyjson_val *object, struct ek_minor release,
                       struct ek_arena *arena,
                       void (*fn)(void *ctx, const struct ek_field_unknown *field), void *ctx)
{
    const char *api_version = ek_json_str(object, "apiVersion", NULL);
    const char *kind = ek_json_str(object, "kind", NULL);
    const struct ek_field_kind *row = api_version && kind ? find(data, api_version, kind) : NULL;
    struct search s = {.arena = arena, .fn = fn, .ctx = ctx, .release = release};

    if (!row || !ek_fields_have(data, release))
        return;
    for (size_t i = 0; i < row->n_changes; i++) {
        const struct ek_field_change *change = &row->changes[i];
        s.at = change->at;
        s.went = ek_minor_cmp(change->at, release) <= 0;
        look(&s, row, s.went ? change->went : change->came, object);
    }
}

static bool came_beside_status(const struct ek_field_change *change)
{
    size_t i, n;
    yyjson_val *path;

    yyjson_arr_foreach(change->came, i, n, path)
    {
        const char *text = yyjson_get_str(path);
        if (text && strncmp(text, "status", 6) != 0)
            return true;
    }
    return false;
}

static bool lists(yyjson_val *list, const char *path)
{
    size_t i, n;
    yyjson_val *other;

    yyjson_arr_foreach(list, i, n, other)
    {
        if (yyjson_equals_str(other, path))
            return true;
    }
    return false;
}

bool ek_fields_are_newer(const struct ek_plan_data *data, const char *api_version, const char *kind,
                         struct ek_minor release, struct ek_minor *ret_came)
{
    const struct ek_field_kind *row = find(data, api_version, kind);
    bool newer = false;

    *ret_came = EK_MINOR_UNKNOWN;
    if (!row || !ek_fields_have(data, release))
        return false;
    for (size_t i = 0; i < row->n_changes; i++) {
        const struct ek_field_change *change = &row->changes[i];
        if (ek_minor_cmp(change->at, release) <= 0)
            continue;
        if (change->is_new)
            *ret_came = change->at;
        newer |= change->is_new || came_beside_status(change);
    }
    return newer;
}

bool ek_fields_find(const struct ek_plan_data *data, const char *api_version, const char *kind,
                    const char *path, struct ek_minor release, struct ek_field_unknown *ret)
{
    const struct ek_field_kind *row = find(data, api_version, kind);

    if (!row || !ek_fields_have(data, release))
        return false;
    for (size_t i = 0; i < row->n_changes; i++) {
        const struct ek_field_change *change = &row->changes[i];
        bool went = ek_minor_cmp(change->at, release) <= 0;
        if (!lists(went ? change->went : change->came, path))
            continue;
        *ret = (struct ek_field_unknown){.path = path, .at = change->at, .went = went};
        return true;
    }
    return false;
}
