/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API versions that an object names: in the rules of webhooks and admission policies, as the kind
 * of parameters, as stored versions of a CustomResourceDefinition.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects-internal.h"

/* Where kinds have rules. */
static const struct {
    const char *kind, *path;
    bool excludes; /* what a rule matches is left out */
} places[] = {
    {"ValidatingWebhookConfiguration", "webhooks[].rules[]", false},
    {"MutatingWebhookConfiguration", "webhooks[].rules[]", false},
    {"ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules[]", false},
    {"ValidatingAdmissionPolicy", "spec.matchConstraints.excludeResourceRules[]", true},
    {"ValidatingAdmissionPolicyBinding", "spec.matchResources.resourceRules[]", false},
    {"ValidatingAdmissionPolicyBinding", "spec.matchResources.excludeResourceRules[]", true},
    {"MutatingAdmissionPolicy", "spec.matchConstraints.resourceRules[]", false},
    {"MutatingAdmissionPolicy", "spec.matchConstraints.excludeResourceRules[]", true},
    {"MutatingAdmissionPolicyBinding", "spec.matchResources.resourceRules[]", false},
    {"MutatingAdmissionPolicyBinding", "spec.matchResources.excludeResourceRules[]", true},
};

/* ---- Rules ---- */

static bool lists(yyjson_val *rule, const char *member, const char *name, bool any)
{
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach(yyjson_obj_get(rule, member), i, n, item)
    {
        if (yyjson_equals_str(item, name) || (any && yyjson_equals_str(item, "*")))
            return true;
    }
    return false;
}

/* True when the rule names the resource or one of its subresources, or all
 * (apiserver/pkg/admission/plugin/webhook/predicates/rules at 1.36). */
static bool lists_resource(yyjson_val *rule, const char *resource)
{
    size_t i, n, len = strlen(resource);
    yyjson_val *item;

    yyjson_arr_foreach(yyjson_obj_get(rule, "resources"), i, n, item)
    {
        const char *text = yyjson_get_str(item);
        if (text && (*text == '*' ||
                     (!strncmp(text, resource, len) && (text[len] == '\0' || text[len] == '/'))))
            return true;
    }
    return false;
}

static bool matches(yyjson_val *rule, const char *group, const char *version, const char *resource)
{
    return lists(rule, "apiGroups", group, true) && lists(rule, "apiVersions", version, true) &&
           lists_resource(rule, resource);
}

static bool goes(const struct ek_plan_target *target, const struct ek_api_lifecycle *life)
{
    return life && ek_api_state_at(life, target->to) == EK_API_REMOVED &&
           (!target->from.known || ek_api_state_at(life, target->from) != EK_API_REMOVED);
}

/* A kind that goes, what takes its place (NULL without), and the resource of both. */
struct gone {
    const struct ek_api_lifecycle *life, *other;
    const char *resource;
};

static bool is_of_group(const struct ek_api_row *row, const struct gone *gone)
{
    return !strcmp(row->group, gone->life->group) ||
           (gone->other && !strcmp(row->group, gone->other->group));
}

/* The resource of the kind in another version: the binary of the data does not have each version.
 * NULL for what is no resource, and for what has gone with all versions. */
static const char *resource_of(const struct ek_plan_data *data, const struct gone *gone)
{
    for (size_t i = 0; i < data->n_resources; i++)
        if (is_of_group(&data->resources[i], gone) &&
            !strcmp(data->resources[i].kind, gone->life->kind))
            return data->resources[i].resource;
    return NULL;
}

static bool is_served(const struct ek_api_row *row, struct ek_minor at)
{
    enum ek_api_state state = row->lifecycle ? ek_api_state_at(row->lifecycle, at) : EK_API_SERVED;

    return state == EK_API_SERVED || state == EK_API_DEPRECATED;
}

/* True when another version of the resource, which the target serves, matches the rule: API servers
 * match the rule then as before. */
static bool is_covered(const struct ek_plan_target *target, yyjson_val *rule,
                       const struct gone *gone)
{
    const struct ek_plan_data *data = target->data;

    for (size_t i = 0; i < data->n_resources; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (is_of_group(row, gone) && !strcmp(row->resource, gone->resource) &&
            matches(rule, row->group, row->version, row->resource) && is_served(row, target->to))
            return true;
    }
    return false;
}

struct references {
    const struct ek_plan_check *check;
    bool excludes;
};

static void say_rule(const struct references *r, const struct gone *gone,
                     const struct ek_plan_place *place)
{
    struct ek_arena *arena = r->check->scratch;
    const struct ek_api_lifecycle *life = gone->life, *other = gone->other;
    char at[EK_MINOR_SIZE];
    const char *what = ek_arena_printf(
        arena,
        "%s/%s %s is removed in %s, and the rule names no version that is served: ", life->group,
        life->version, gone->resource, ek_minor_format(life->removed, at));

    if (other)
        ek_plan_say__(r->check, EK_PLAN_ERROR, "rule-version", ek_plan_place_text__(place, arena),
                      ek_arena_printf(arena, "%s%s", what,
                                      r->excludes ? "requests are not excluded any more"
                                                  : "requests do not match the rule any more"),
                      ek_arena_printf(arena, "name %s%s%s in the rule as well", other->group,
                                      *other->group ? "/" : "", other->version));
    else
        ek_plan_say__(r->check, EK_PLAN_WARNING, "rule-version", ek_plan_place_text__(place, arena),
                      ek_arena_printf(arena, "%snothing matches the rule any more", what),
                      "remove the version from the rule");
}

/* An API version that is written out, and goes. The rule "*" matches what is there. */
static void check_rule(void *ctx, yyjson_val *rule, const struct ek_plan_place *place)
{
    const struct references *r = ctx;
    const struct ek_plan_target *target = r->check->target;
    const struct ek_plan_data *data = target->data;

    for (size_t i = 0; i < data->n_kinds; i++) {
        struct gone gone = {&data->kinds[i], NULL, NULL};
        if (!goes(target, gone.life) || !lists(rule, "apiVersions", gone.life->version, false) ||
            !lists(rule, "apiGroups", gone.life->group, true))
            continue;
        gone.other = ek_api_replacement(data, gone.life, target->to);
        gone.resource = resource_of(data, &gone);
        if (gone.resource && matches(rule, gone.life->group, gone.life->version, gone.resource) &&
            !is_covered(target, rule, &gone))
            say_rule(r, &gone, place);
    }
}

/* ---- The kind of parameters ---- */

static void check_params(const struct ek_plan_check *check)
{
    static const struct ek_plan_place spec = {.name = "spec", .len = 4};
    static const struct ek_plan_place place = {.up = &spec, .name = "paramKind", .len = 9};
    yyjson_val *kind = ek_json_get(check->object->value, "spec", "paramKind", NULL);
    const struct ek_api_lifecycle *life =
        ek_plan_lifecycle__(check->target->data, kind, check->scratch);
    struct ek_arena *arena = check->scratch;
    char at[EK_MINOR_SIZE];

    if (!goes(check->target, life))
        return;
    const struct ek_api_lifecycle *other =
        ek_api_replacement(check->target->data, life, check->target->to);
    ek_plan_say__(check, EK_PLAN_ERROR, "rule-version", ek_plan_place_text__(&place, arena),
                  ek_arena_printf(arena,
                                  "%s %s is removed in %s: API servers find no parameters, and "
                                  "the failure policy decides",
                                  ek_json_str(kind, "apiVersion", NULL),
                                  ek_json_str(kind, "kind", NULL),
                                  ek_minor_format(life->removed, at)),
                  other ? ek_arena_printf(arena, "use %s%s%s", other->group,
                                          *other->group ? "/" : "", other->version)
                        : "use another kind of parameters");
}

/* ---- Stored versions ---- */

static yyjson_val *find_version(yyjson_val *definition, const char *name)
{
    size_t i, n;
    yyjson_val *version;

    yyjson_arr_foreach(ek_json_get(definition, "spec", "versions", NULL), i, n, version)
    {
        if (yyjson_equals_str(yyjson_obj_get(version, "name"), name))
            return version;
    }
    return NULL;
}

static void check_stored(void *ctx, yyjson_val *value, const struct ek_plan_place *place)
{
    const struct references *r = ctx;
    struct ek_arena *arena = r->check->scratch;
    const char *name = yyjson_get_str(value);

    if (!name)
        return;
    yyjson_val *version = find_version(r->check->object->value, name);
    if (!version)
        ek_plan_say__(r->check, EK_PLAN_ERROR, "stored-version", ek_plan_place_text__(place, arena),
                      ek_arena_printf(arena,
                                      "objects may be stored as %s, which the definition does not "
                                      "have: API servers cannot read them",
                                      name),
                      "add the version with served: false, write each object again, and remove "
                      "the version from status.storedVersions");
    else if (!yyjson_is_true(yyjson_obj_get(version, "served")))
        ek_plan_say__(r->check, EK_PLAN_WARNING, "stored-version",
                      ek_plan_place_text__(place, arena),
                      ek_arena_printf(arena,
                                      "objects may be stored as %s, which is not served: the "
                                      "definition cannot drop the version",
                                      name),
                      "write each object again, and remove the version from "
                      "status.storedVersions");
}

void ek_plan_check_references__(const struct ek_plan_check *check)
{
    struct references r = {check, false};
    yyjson_val *object = check->object->value;

    for (size_t i = 0; i < EK_ARRAY_SIZE(places); i++)
        if (!strcmp(places[i].kind, check->kind)) {
            r.excludes = places[i].excludes;
            ek_plan_follow__(object, places[i].path, check_rule, &r);
        }
    if (!strcmp(check->kind, "ValidatingAdmissionPolicy") ||
        !strcmp(check->kind, "MutatingAdmissionPolicy"))
        check_params(check);
    if (!strcmp(check->kind, "CustomResourceDefinition"))
        ek_plan_follow__(object, "status.storedVersions[]", check_stored, &r);
}
