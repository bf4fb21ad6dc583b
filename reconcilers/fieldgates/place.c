/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/place.h"

#include <string.h>

#include "api/obj.h"

#define DEPTH_MAX 64 /* of nested schemas that are searched */

static yyjson_val *member(yyjson_val *object, struct ek_str name)
{
    return yyjson_obj_getn(object, name.p, name.len);
}

static bool is_set(yyjson_val *schema, const char *key)
{
    return yyjson_is_true(yyjson_obj_get(schema, key));
}

static bool holds(yyjson_val *list, struct ek_str name)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_equals_strn(v, name.p, name.len))
            return true;
    }
    return false;
}

static bool is_type(yyjson_val *schema, const char *type)
{
    return yyjson_equals_str(yyjson_obj_get(schema, "type"), type);
}

/* The schema of a member: of a field, or of any key of a map. */
static yyjson_val *child(yyjson_val *schema, struct ek_str name)
{
    yyjson_val *field = member(yyjson_obj_get(schema, "properties"), name);
    return field ? field : yyjson_obj_get(schema, "additionalProperties");
}

/* ---- Required ---- */

static enum ek_place_need need_of(yyjson_val *schema, const struct ek_field_path *path, size_t i,
                                  int depth);

/* Alternatives require what each of them does; what some of them do, they may. */
static enum ek_place_need need_of_any(yyjson_val *branches, const struct ek_field_path *path,
                                      size_t i, int depth)
{
    enum ek_place_need least = EK_PLACE_REQUIRED, most = EK_PLACE_FREE;
    yyjson_val *branch;
    size_t k, n;

    yyjson_arr_foreach(branches, k, n, branch)
    {
        enum ek_place_need need = need_of(branch, path, i, depth);
        least = need < least ? need : least;
        most = need > most ? need : most;
    }
    if (most == EK_PLACE_FREE)
        return EK_PLACE_FREE;
    return least == EK_PLACE_REQUIRED ? EK_PLACE_REQUIRED : EK_PLACE_PERHAPS;
}

/* Of the field at path's end; schema is that of the object which name i is a member of. */
static enum ek_place_need need_of(yyjson_val *schema, const struct ek_field_path *path, size_t i,
                                  int depth)
{
    enum ek_place_need need = EK_PLACE_FREE, other;
    yyjson_val *branch;
    size_t k, n;

    if (depth > DEPTH_MAX || !yyjson_is_obj(schema))
        return EK_PLACE_FREE;
    if (i + 1 == path->n && holds(yyjson_obj_get(schema, "required"), path->names[i]))
        return EK_PLACE_REQUIRED;
    if (i + 1 < path->n)
        need = need_of(child(schema, path->names[i]), path, i + 1, depth + 1);
    yyjson_arr_foreach(yyjson_obj_get(schema, "allOf"), k, n, branch)
    {
        other = need_of(branch, path, i, depth + 1);
        need = other > need ? other : need;
    }
    other = need_of_any(yyjson_obj_get(schema, "anyOf"), path, i, depth + 1);
    need = other > need ? other : need;
    other = need_of_any(yyjson_obj_get(schema, "oneOf"), path, i, depth + 1);
    return other > need ? other : need;
}

/* ---- Defaults ---- */

static const char *default_below(yyjson_val *schema, int depth, struct ek_arena *arena);

static const char *default_in_fields(yyjson_val *fields, int depth, struct ek_arena *arena)
{
    yyjson_val *key, *field;
    size_t i, n;

    yyjson_obj_foreach(fields, i, n, key, field)
    {
        const char *rest =
            yyjson_obj_get(field, "default") ? "" : default_below(field, depth, arena);
        if (rest)
            return ek_arena_printf(arena, ".%s%s", yyjson_get_str(key), rest);
    }
    return NULL;
}

/* The rest of the path of a default below a field: not in lists, whose items come and go with the
 * list. NULL when there is none. */
static const char *default_below(yyjson_val *schema, int depth, struct ek_arena *arena)
{
    yyjson_val *fields = yyjson_obj_get(schema, "properties");
    yyjson_val *members = yyjson_obj_get(schema, "additionalProperties");
    const char *rest = NULL;

    if (depth > DEPTH_MAX)
        return NULL;
    if (fields)
        rest = default_in_fields(fields, depth + 1, arena);
    if (rest || !yyjson_is_obj(members))
        return rest;
    rest = default_below(members, depth + 1, arena);
    return rest ? ek_arena_printf(arena, "['*']%s", rest) : NULL;
}

/* ---- The way ---- */

static enum ek_place_kind in_list(yyjson_val *schema, const struct ek_field_path *path, size_t i)
{
    yyjson_val *type = yyjson_obj_get(schema, "x-kubernetes-list-type");
    bool is_key = i + 1 == path->n && yyjson_equals_str(type, "map") &&
                  holds(yyjson_obj_get(schema, "x-kubernetes-list-map-keys"), path->names[i]);

    return is_key ? EK_PLACE_KEY : EK_PLACE_IN_LIST;
}

/* What every object has that is embedded, declared or not. */
static bool is_embedded_meta(yyjson_val *schema, struct ek_str name)
{
    return is_set(schema, "x-kubernetes-embedded-resource") &&
           (ek_str_eq(name, EK_STR("apiVersion")) || ek_str_eq(name, EK_STR("kind")) ||
            ek_str_eq(name, EK_STR("metadata")));
}

/* The path ends at, or goes on below, apiVersion, kind or metadata of an embedded object. */
static void enter_embedded(struct ek_place *place, const struct ek_field_path *path, size_t i)
{
    bool is_metadata = ek_str_eq(path->names[i], EK_STR("metadata"));

    place->depth = i + 1;
    if (i + 1 < path->n)
        place->kind = is_metadata ? EK_PLACE_UNKNOWN : EK_PLACE_MISSING;
    else
        place->need = is_metadata ? place->need : EK_PLACE_REQUIRED;
}

/* Goes from schema, which the first i names lead to, to where name i leads; NULL at the end. */
static yyjson_val *step(struct ek_place *place, yyjson_val *schema, bool keeps_unknown,
                        const struct ek_field_path *path, size_t i)
{
    yyjson_val *field = member(yyjson_obj_get(schema, "properties"), path->names[i]);
    yyjson_val *free_members = yyjson_obj_get(schema, "additionalProperties");

    place->depth = i;
    if (is_type(schema, "array")) {
        place->kind = in_list(schema, path, i);
        return NULL;
    }
    if (field)
        return field;
    if (is_embedded_meta(schema, path->names[i])) {
        enter_embedded(place, path, i);
        return NULL;
    }
    place->map_key = place->map_key || free_members;
    if (yyjson_is_obj(free_members) && yyjson_obj_size(free_members))
        return free_members;
    place->kind = keeps_unknown || !schema || yyjson_is_true(free_members) ||
                          yyjson_is_obj(free_members) ||
                          is_set(schema, "x-kubernetes-preserve-unknown-fields")
                      ? EK_PLACE_UNKNOWN
                      : EK_PLACE_MISSING;
    return NULL;
}

void ek_place_find(yyjson_val *schema, bool keeps_unknown, const struct ek_field_path *path,
                   struct ek_arena *arena, struct ek_place *ret_place)
{
    yyjson_val *at = schema;

    *ret_place = (struct ek_place){.need = need_of(schema, path, 0, 0)};
    for (size_t i = 0; i < path->n; i++) {
        at = step(ret_place, at, keeps_unknown, path, i);
        if (!at)
            return;
        ret_place->depth = i + 1;
        if (!ret_place->default_depth && yyjson_obj_get(at, "default"))
            ret_place->default_depth = i + 1;
    }
    const char *rest = default_below(at, 0, arena);
    if (rest)
        ret_place->default_below = ek_arena_printf(arena, "%s%s", path->text, rest);
}

/* Past one name of a canonical path. */
static const char *skip_name(const char *p)
{
    if (*p != '[')
        return p + 1 + strcspn(p + 1, ".[");
    for (p += 2; *p && *p != '\''; p++)
        p += *p == '\\' && p[1];
    return *p ? p + 2 : p;
}

const char *ek_place_prefix(const struct ek_field_path *path, size_t n, struct ek_arena *arena)
{
    const char *end = path->text;

    for (size_t i = 0; i < n && *end; i++)
        end = skip_name(end);
    return n ? ek_arena_strndup(arena, path->text, (size_t)(end - path->text)) : "the root";
}
