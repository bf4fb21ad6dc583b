/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the API version of an object can be replaced, and nothing else. */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/fields.h"
#include "reconcilers/plan/objects-internal.h"

/* ---- The schema ---- */

struct walk {
    const struct ek_schema *schema;
    struct ek_arena *arena;
    const char *why;
};

static bool refuse(struct walk *w, const struct ek_plan_place *place, const char *why)
{
    if (!w->why)
        w->why = ek_arena_printf(w->arena, "%s: %s",
                                 place ? ek_plan_place_text__(place, w->arena) : "the object", why);
    return false;
}

static bool check_value(struct walk *w, uint32_t type, yyjson_val *value,
                        const struct ek_plan_place *place);

static bool fits_scalar(const struct ek_schema_type *type, yyjson_val *value)
{
    if (type->flags & EK_SCHEMA_INT_OR_STRING)
        return yyjson_is_str(value) || yyjson_is_int(value);
    switch (type->scalar) {
    case EK_SCALAR_STRING:
        return yyjson_is_str(value);
    case EK_SCALAR_NUMERIC:
        return yyjson_is_num(value) || yyjson_is_str(value); /* quantities */
    case EK_SCALAR_BOOLEAN:
        return yyjson_is_bool(value);
    default:
        return true;
    }
}

static bool check_members(struct walk *w, const struct ek_schema_type *type, yyjson_val *value,
                          const struct ek_plan_place *place)
{
    const struct ek_schema_field *fields = ek_schema_fields(w->schema, type);
    size_t i, n;
    yyjson_val *key, *inner;

    ek_json_each_member(value, i, n, key, inner)
    {
        struct ek_str name = {yyjson_get_str(key), yyjson_get_len(key)};
        uint32_t member = ek_schema_member(w->schema, type, name);
        struct ek_plan_place at = {.up = place, .name = name.p, .len = strlen(name.p)};
        if (member == EK_SCHEMA_NONE) {
            if (type->flags & EK_SCHEMA_PRESERVE)
                continue;
            return refuse(w, &at, "the field does not exist");
        }
        if (!check_value(w, member, inner, &at))
            return false;
    }
    for (i = 0; i < type->n_fields; i++) {
        struct ek_str name = ek_schema_text(w->schema, fields[i].name);
        if ((fields[i].flags & EK_SCHEMA_REQUIRED) && fields[i].initial == EK_SCHEMA_NONE &&
            !yyjson_obj_getn(value, name.p, name.len))
            return refuse(w, &(struct ek_plan_place){.up = place, .name = name.p, .len = name.len},
                          "the field is required");
    }
    return true;
}

static bool check_value(struct walk *w, uint32_t type_at, yyjson_val *value,
                        const struct ek_plan_place *place)
{
    const struct ek_schema_type *type = ek_schema_type(w->schema, type_at);
    size_t i, n;
    yyjson_val *item;

    if (type->flags & EK_SCHEMA_MISSING)
        return refuse(w, place, "the schema does not describe the field");
    if (yyjson_is_null(value) || type->scalar == EK_SCALAR_ANY)
        return true;
    if (yyjson_is_obj(value))
        return type->map == EK_MAP_NONE ? refuse(w, place, "the field is no map")
                                        : check_members(w, type, value, place);
    if (!yyjson_is_arr(value))
        return fits_scalar(type, value) || refuse(w, place, "the field has another type");
    if (type->list == EK_LIST_NONE)
        return refuse(w, place, "the field is no list");
    yyjson_arr_foreach(value, i, n, item)
    {
        if (!check_value(w, type->item, item, &(struct ek_plan_place){.up = place, .index = i}))
            return false;
    }
    return true;
}

/* ---- Meaning ---- */

/* Up to this release, versions of an API had defaults of their own: the strategy and the history of
 * Deployments, the policies of webhooks ("Deprecated API Migration Guide" of Kubernetes, v1.16 to
 * v1.22). */
#define LAST_WITH_OTHER_DEFAULTS EK_MINOR(1, 22)

/* Objects that both versions accept, and that mean something else in each. */
static const char *changed_meaning(const struct ek_api_lifecycle *kind, yyjson_val *object)
{
    yyjson_val *selector = ek_json_get(object, "spec", "selector", NULL);
    yyjson_val *shares = ek_json_get(object, "spec", "limited", "nominalConcurrencyShares", NULL);

    if (kind->removed.known && ek_minor_cmp(kind->removed, LAST_WITH_OTHER_DEFAULTS) <= 0)
        return "the defaults of the versions differ";
    /* policy/v1beta1: "an empty selector matches no pods" (api/policy/v1beta1/types.go). */
    if (!strcmp(kind->kind, "PodDisruptionBudget") && !strcmp(kind->version, "v1beta1") &&
        !yyjson_obj_size(yyjson_obj_get(selector, "matchLabels")) &&
        !yyjson_arr_size(yyjson_obj_get(selector, "matchExpressions")))
        return "an empty selector matches no pods in policy/v1beta1 and all pods in policy/v1";
    /* flowcontrol v1beta3 replaces 0 by 30, v1 does not (api/flowcontrol/v1/types.go). */
    if (!strcmp(kind->kind, "PriorityLevelConfiguration") && shares && yyjson_get_num(shares) == 0)
        return "nominalConcurrencyShares 0 is replaced by a default before v1, and is a value in "
               "v1";
    return NULL;
}

/* ---- The decision ---- */

static void note_field(void *ctx, const struct ek_field_unknown *field)
{
    const char **why = ctx;

    if (!*why)
        *why = field->path;
}

/* A field of the object, as an object of the other version, that the target does not know. */
static const char *find_unknown(const struct ek_plan_target *target, yyjson_val *object,
                                const char *api_version, struct ek_arena *arena)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, object);
    const char *ret = NULL;

    yyjson_mut_obj_put(root, yyjson_mut_str(doc, "apiVersion"),
                       yyjson_mut_strcpy(doc, api_version));
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *other = yyjson_mut_doc_imut_copy(doc, NULL);
    ek_fields_unknown(target->data, yyjson_doc_get_root(other), target->to, arena, note_field,
                      &ret);
    yyjson_doc_free(other);
    yyjson_mut_doc_free(doc);
    return ret ? ek_arena_printf(arena, "%s: the target does not know the field", ret) : NULL;
}

/* Why the replacement cannot take the place of kind as it stands; NULL when it can. */
static const char *why_not(const struct ek_plan_target *target, const struct ek_api_lifecycle *kind,
                           const struct ek_api_lifecycle *other, struct ek_arena *arena)
{
    char from[EK_MINOR_SIZE];

    if (!other)
        return "Kubernetes names no replacement";
    if (strcmp(kind->kind, other->kind) != 0)
        return "the replacement is another kind";
    if (ek_api_state_at(other, target->to) != EK_API_SERVED)
        return "the target does not serve the replacement, or will remove the replacement";
    if (!ek_api_is_stable(other->version))
        return "API servers serve the replacement only with --runtime-config";
    if (target->from.known && ek_api_state_at(other, target->from) == EK_API_ABSENT)
        return ek_arena_printf(arena, "%s does not serve the replacement yet",
                               ek_minor_format(target->from, from));
    return NULL;
}

const char *ek_plan_rewrite(const struct ek_plan_target *target, const struct ek_schema *schema,
                            yyjson_val *object, struct ek_arena *arena, const char **ret_why)
{
    const struct ek_api_lifecycle *kind = ek_plan_lifecycle__(target->data, object, arena);
    const struct ek_api_lifecycle *other =
        kind ? ek_api_replacement(target->data, kind, target->to) : NULL;
    struct walk w = {schema, arena, NULL};
    uint32_t type;

    *ret_why = kind ? why_not(target, kind, other, arena) : "the kind is not known";
    if (!*ret_why)
        *ret_why = changed_meaning(kind, object);
    if (*ret_why)
        return NULL;
    const char *ret =
        ek_arena_printf(arena, "%s%s%s", other->group, *other->group ? "/" : "", other->version);
    if (!schema ||
        ek_schema_find_kind(schema, other->group, other->version, other->kind, &type, NULL))
        *ret_why = ek_arena_printf(arena, "the schema of %s %s is not known", ret, other->kind);
    else if (!check_value(&w, type, object, NULL))
        *ret_why = w.why;
    else
        *ret_why = find_unknown(target, object, ret, arena);
    return *ret_why ? NULL : ret;
}
