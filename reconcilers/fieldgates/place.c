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

/* The schema of the items of a list, or of the values of a map; NULL where it says nothing of them.
 */
static yyjson_val *each_of(yyjson_val *schema)
{
    yyjson_val *each =
        yyjson_obj_get(schema, is_type(schema, "array") ? "items" : "additionalProperties");

    return yyjson_is_obj(each) && yyjson_obj_size(each) ? each : NULL;
}

/* The schema of a member: of a field, of any key of a map, or of an item. */
static yyjson_val *child(yyjson_val *schema, struct ek_str name)
{
    if (ek_field_path_is_each(name))
        return each_of(schema);
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

/* Whether a value, which the first i names lead to, has the field. */
static bool has_field(yyjson_val *value, const struct ek_field_path *path, size_t i)
{
    yyjson_val *key, *part;
    size_t k, n;

    if (i == path->n)
        return true;
    if (!ek_field_path_is_each(path->names[i])) {
        part = yyjson_is_obj(value) ? member(value, path->names[i]) : NULL;
        return part && has_field(part, path, i + 1);
    }
    ek_json_each_member(value, k, n, key, part)
    {
        if (has_field(part, path, i + 1))
            return true;
    }
    yyjson_arr_foreach(value, k, n, part)
    {
        if (has_field(part, path, i + 1))
            return true;
    }
    return false;
}

/* A default above the field that does not have the field leaves it absent, and so does one below:
 * the field is not there to hold it. */
static bool sets_field(yyjson_val *schema, const struct ek_field_path *path, size_t i)
{
    yyjson_val *value = yyjson_obj_get(schema, "default");
    return value && has_field(value, path, i);
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

/* The same for [*]. */
static yyjson_val *step_each(struct ek_place *place, yyjson_val *schema, bool keeps_unknown)
{
    yyjson_val *each = each_of(schema);
    bool declared =
        yyjson_is_obj(yyjson_obj_get(schema, "properties")) ||
        (yyjson_obj_get(schema, "type") && !is_type(schema, "array") && !is_type(schema, "object"));

    if (!each)
        place->kind = !declared && (keeps_unknown || !schema ||
                                    yyjson_obj_get(schema, "additionalProperties") ||
                                    is_type(schema, "array") ||
                                    is_set(schema, "x-kubernetes-preserve-unknown-fields"))
                          ? EK_PLACE_UNKNOWN
                          : EK_PLACE_MISSING;
    return each;
}

/* Whether the path ends at a key of the items of the list that the names before [*] lead to. */
static bool is_key_of_items(yyjson_val *schema, const struct ek_field_path *path, size_t i)
{
    return i + 2 == path->n && is_type(schema, "array") &&
           in_list(schema, path, i + 1) == EK_PLACE_KEY;
}

/* Goes from schema, which the first i names lead to, to where name i leads; NULL at the end. */
static yyjson_val *step(struct ek_place *place, yyjson_val *schema, bool keeps_unknown,
                        const struct ek_field_path *path, size_t i)
{
    yyjson_val *field = member(yyjson_obj_get(schema, "properties"), path->names[i]);
    yyjson_val *free_members = yyjson_obj_get(schema, "additionalProperties");

    place->depth = i;
    if (ek_field_path_is_each(path->names[i])) {
        place->kind = is_key_of_items(schema, path, i) ? EK_PLACE_KEY : EK_PLACE_DECLARED;
        return place->kind == EK_PLACE_KEY ? NULL : step_each(place, schema, keeps_unknown);
    }
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
                   struct ek_place *ret_place)
{
    yyjson_val *at = schema;

    *ret_place = (struct ek_place){.need = need_of(schema, path, 0, 0)};
    for (size_t i = 0; i < path->n; i++) {
        at = step(ret_place, at, keeps_unknown, path, i);
        if (!at)
            return;
        ret_place->depth = i + 1;
        if (!ret_place->default_depth && sets_field(at, path, i + 1))
            ret_place->default_depth = i + 1;
    }
}

yyjson_val *ek_place_schema(yyjson_val *schema, const struct ek_field_path *path, size_t n)
{
    for (size_t i = 0; schema && i < n; i++)
        schema = child(schema, path->names[i]);
    return yyjson_is_obj(schema) ? schema : NULL;
}

/* Past one name of a canonical path. */
static const char *skip_name(const char *p)
{
    if (*p != '[')
        return p + 1 + strcspn(p + 1, ".[");
    if (p[1] == '*')
        return p + strlen("[*]");
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
