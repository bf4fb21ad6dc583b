/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/validation.h"

#include <ctype.h>
#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/names.h"
#include "api/obj.h"

const char *const ek_failure_policies[] = {"Fail", "Ignore", NULL};
const char *const ek_reinvocation_policies[] = {"IfNeeded", "Never", NULL};
const char *const ek_patch_types[] = {"ApplyConfiguration", "JSONPatch", NULL};

static const char *const match_policies[] = {"Equivalent", "Exact", NULL};
static const char *const operations[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL};
static const char *const mutating_operations[] = {"*", "CONNECT", "CREATE", "UPDATE", NULL};
static const char *const scopes[] = {"*", "Cluster", "Namespaced", NULL};

static bool is_one_of(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, s))
            return true;
    return false;
}

static const char *text_at(yyjson_val *list, size_t i)
{
    const char *s = yyjson_get_str(yyjson_arr_get(list, i));

    return s ? s : "";
}

static bool has_text(yyjson_val *list, const char *s)
{
    for (size_t i = 0; i < yyjson_arr_size(list); i++)
        if (!strcmp(text_at(list, i), s))
            return true;
    return false;
}

static void check_name(struct ek_field_errors *errors, enum ek_name_format format, const char *name,
                       const char *path)
{
    const char *wrong[EK_NAME_ERRORS_MAX];
    size_t n = ek_name_check(format, ek_str_from(name), wrong);

    for (size_t i = 0; i < n; i++)
        ek_field_invalid(errors, ek_field_quote(errors, name), wrong[i], "%s", path);
}

/* The same for an item of the list at path. */
static void check_item_name(struct ek_field_errors *errors, enum ek_name_format format,
                            const char *name, const char *path, size_t index)
{
    const char *wrong[EK_NAME_ERRORS_MAX];
    size_t n = ek_name_check(format, ek_str_from(name), wrong);

    for (size_t i = 0; i < n; i++)
        ek_field_invalid(errors, ek_field_quote(errors, name), wrong[i], "%s[%zu]", path, index);
}

void ek_validate_name(struct ek_field_errors *errors, const char *name, const char *path)
{
    check_name(errors, EK_NAME_DNS1123_SUBDOMAIN, name, path);
}

void ek_validate_qualified_name(struct ek_field_errors *errors, const char *name, const char *path)
{
    check_name(errors, EK_NAME_LABEL_KEY, name, path);
}

/* ---- Selectors ---- */

static void check_match_labels(struct ek_field_errors *errors, yyjson_val *labels, const char *path)
{
    yyjson_val *key, *value;
    size_t i, n;

    path = ek_arena_printf(errors->arena, "%s.matchLabels", path);
    if (!yyjson_is_obj(labels))
        return;
    ek_json_each_member(labels, i, n, key, value)
    {
        check_name(errors, EK_NAME_LABEL_KEY, yyjson_get_str(key), path);
        check_name(errors, EK_NAME_LABEL_VALUE, yyjson_is_str(value) ? yyjson_get_str(value) : "",
                   path);
    }
}

static void check_requirement(struct ek_field_errors *errors, yyjson_val *requirement,
                              const char *path)
{
    const char *op = ek_json_str(requirement, "operator", NULL);
    const char *key = ek_json_str(requirement, "key", NULL);
    yyjson_val *values = yyjson_obj_get(requirement, "values");

    op = op ? op : "";
    if (!strcmp(op, "In") || !strcmp(op, "NotIn")) {
        if (yyjson_arr_size(values) == 0)
            ek_field_required(errors, "must be specified when `operator` is 'In' or 'NotIn'",
                              "%s.values", path);
    } else if (!strcmp(op, "Exists") || !strcmp(op, "DoesNotExist")) {
        if (yyjson_arr_size(values) > 0)
            ek_field_forbidden(errors,
                               "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                               "%s.values", path);
    } else {
        ek_field_invalid(errors, ek_field_quote(errors, op), "not a valid selector operator",
                         "%s.operator", path);
    }
    check_name(errors, EK_NAME_LABEL_KEY, key ? key : "",
               ek_arena_printf(errors->arena, "%s.key", path));
    path = ek_arena_printf(errors->arena, "%s.values", path);
    for (size_t i = 0; i < yyjson_arr_size(values) && !ek_field_errors_full(errors); i++)
        check_item_name(errors, EK_NAME_LABEL_VALUE, text_at(values, i), path, i);
}

static void check_selector(struct ek_field_errors *errors, yyjson_val *selector, const char *path)
{
    yyjson_val *v;
    size_t i, n;

    check_match_labels(errors, yyjson_obj_get(selector, "matchLabels"), path);
    yyjson_arr_foreach(yyjson_obj_get(selector, "matchExpressions"), i, n, v)
    {
        if (ek_field_errors_full(errors))
            return;
        check_requirement(errors, v,
                          ek_arena_printf(errors->arena, "%s.matchExpressions[%zu]", path, i));
    }
}

/* ---- Rules ---- */

const char *ek_validation_list_text(struct ek_field_errors *errors, yyjson_val *list)
{
    char *json = yyjson_val_write_opts(list, YYJSON_WRITE_NOFLAG, &ek_json_xalc, NULL, NULL);
    const char *copy = ek_arena_strdup(errors->arena, json ? json : "[]");

    ek_free(json);
    return copy;
}

static void check_wildcard(struct ek_field_errors *errors, yyjson_val *list, const char *detail,
                           const char *path)
{
    if (yyjson_arr_size(list) > 1 && has_text(list, "*"))
        ek_field_invalid(errors, ek_validation_list_text(errors, list), detail, "%s", path);
}

static void check_operations(struct ek_field_errors *errors, yyjson_val *list, const char *path)
{
    if (yyjson_arr_size(list) == 0)
        ek_field_required(errors, "", "%s.operations", path);
    check_wildcard(errors, list, "if '*' is present, must not specify other operations",
                   ek_arena_printf(errors->arena, "%s.operations", path));
    for (size_t i = 0; i < yyjson_arr_size(list) && !ek_field_errors_full(errors); i++)
        if (!is_one_of(text_at(list, i), operations))
            ek_field_unsupported(errors, text_at(list, i), operations, "%s.operations[%zu]", path,
                                 i);
}

/* The resource s with a subresource, item i. earlier: the items before. */
static void check_subresource(struct ek_field_errors *errors, const struct ek_map *earlier,
                              const char *s, size_t i, const char *path)
{
    const char *slash = strchr(s, '/');
    struct ek_arena *arena = errors->arena;

    const char *resource = ek_arena_strndup(arena, s, (size_t)(slash - s)), *sub = slash + 1;
    if (ek_map_get(earlier, ek_arena_printf(arena, "%s/*", resource)))
        ek_field_invalid(
            errors, ek_field_quote(errors, s),
            ek_arena_printf(arena, "if '%s/*' is present, must not specify %s", resource, s),
            "%s[%zu]", path, i);
    if (ek_map_get(earlier, ek_arena_printf(arena, "*/%s", sub)))
        ek_field_invalid(
            errors, ek_field_quote(errors, s),
            ek_arena_printf(arena, "if '*/%s' is present, must not specify %s", sub, s), "%s[%zu]",
            path, i);
}

static void check_resources(struct ek_field_errors *errors, yyjson_val *list, const char *path)
{
    struct ek_map earlier = {0};
    bool last_is_plain = false; /* the reference remembers the last one without a slash only */

    if (yyjson_arr_size(list) == 0)
        ek_field_required(errors, "", "%s", path);
    for (size_t i = 0; i < yyjson_arr_size(list) && !ek_field_errors_full(errors); i++) {
        const char *s = text_at(list, i);
        if (!*s)
            ek_field_required(errors, "", "%s[%zu]", path, i);
        else if (!strchr(s, '/'))
            last_is_plain = strcmp(s, "*") != 0;
        else
            check_subresource(errors, &earlier, s, i, path);
        ek_map_put(&earlier, s, (void *)(uintptr_t)s);
    }
    ek_map_done(&earlier);
    if (yyjson_arr_size(list) > 1 && has_text(list, "*/*"))
        ek_field_invalid(errors, ek_validation_list_text(errors, list),
                         "if '*/*' is present, must not specify other resources", "%s", path);
    if (has_text(list, "*") && last_is_plain)
        ek_field_invalid(errors, ek_validation_list_text(errors, list),
                         "if '*' is present, must not specify other resources without subresources",
                         "%s", path);
}

static void check_group_versions(struct ek_field_errors *errors, yyjson_val *rule, const char *path)
{
    yyjson_val *groups = yyjson_obj_get(rule, "apiGroups");
    yyjson_val *versions = yyjson_obj_get(rule, "apiVersions");

    if (yyjson_arr_size(groups) == 0)
        ek_field_required(errors, "", "%s.apiGroups", path);
    check_wildcard(errors, groups, "if '*' is present, must not specify other API groups",
                   ek_arena_printf(errors->arena, "%s.apiGroups", path));
    if (yyjson_arr_size(versions) == 0)
        ek_field_required(errors, "", "%s.apiVersions", path);
    check_wildcard(errors, versions, "if '*' is present, must not specify other API versions",
                   ek_arena_printf(errors->arena, "%s.apiVersions", path));
    for (size_t i = 0; i < yyjson_arr_size(versions) && !ek_field_errors_full(errors); i++)
        if (!*text_at(versions, i))
            ek_field_required(errors, "", "%s.apiVersions[%zu]", path, i);
}

static void check_resource_names(struct ek_field_errors *errors, yyjson_val *names,
                                 const char *path)
{
    struct ek_map earlier = {0};

    path = ek_arena_printf(errors->arena, "%s.resourceNames", path);
    for (size_t i = 0; i < yyjson_arr_size(names) && !ek_field_errors_full(errors); i++) {
        const char *name = text_at(names, i);
        check_item_name(errors, EK_NAME_PATH_SEGMENT, name, path, i);
        if (ek_map_put(&earlier, name, (void *)(uintptr_t)name))
            ek_field_duplicate(errors, name, "%s[%zu]", path, i);
    }
    ek_map_done(&earlier);
}

static void check_rules(struct ek_field_errors *errors, yyjson_val *rules, const char *path)
{
    yyjson_val *rule;
    size_t i, n;

    yyjson_arr_foreach(rules, i, n, rule)
    {
        if (ek_field_errors_full(errors))
            return;
        const char *at = ek_arena_printf(errors->arena, "%s[%zu]", path, i);
        const char *scope = ek_json_str(rule, "scope", NULL);
        check_resource_names(errors, yyjson_obj_get(rule, "resourceNames"), at);
        check_operations(errors, yyjson_obj_get(rule, "operations"), at);
        check_group_versions(errors, rule, at);
        check_resources(errors, yyjson_obj_get(rule, "resources"),
                        ek_arena_printf(errors->arena, "%s.resources", at));
        if (scope && !is_one_of(scope, scopes))
            ek_field_unsupported(errors, scope, scopes, "%s.scope", at);
    }
}

void ek_validate_match_resources(struct ek_field_errors *errors, yyjson_val *match_resources,
                                 const char *path)
{
    const char *policy = ek_json_str(match_resources, "matchPolicy", NULL);

    if (policy && !is_one_of(policy, match_policies))
        ek_field_unsupported(errors, policy, match_policies, "%s.matchPolicy", path);
    check_selector(errors, yyjson_obj_get(match_resources, "namespaceSelector"),
                   ek_arena_printf(errors->arena, "%s.namespaceSelector", path));
    check_selector(errors, yyjson_obj_get(match_resources, "objectSelector"),
                   ek_arena_printf(errors->arena, "%s.objectSelector", path));
    check_rules(errors, yyjson_obj_get(match_resources, "resourceRules"),
                ek_arena_printf(errors->arena, "%s.resourceRules", path));
    check_rules(errors, yyjson_obj_get(match_resources, "excludeResourceRules"),
                ek_arena_printf(errors->arena, "%s.excludeResourceRules", path));
}

void ek_validate_mutating_operations(struct ek_field_errors *errors, yyjson_val *match_resources,
                                     const char *path)
{
    yyjson_val *rule;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(match_resources, "resourceRules"), i, n, rule)
    {
        yyjson_val *list = yyjson_obj_get(rule, "operations");
        for (size_t j = 0; j < yyjson_arr_size(list) && !ek_field_errors_full(errors); j++)
            if (!is_one_of(text_at(list, j), mutating_operations))
                ek_field_unsupported(errors, text_at(list, j), mutating_operations,
                                     "%s.resourceRules.operations", path);
    }
}

/* ---- Params ---- */

static const char *joined(struct ek_field_errors *errors, enum ek_name_format format,
                          const char *name)
{
    const char *wrong[EK_NAME_ERRORS_MAX], *text = NULL;
    size_t n = ek_name_check(format, ek_str_from(name), wrong);

    for (size_t i = 0; i < n; i++)
        text = text ? ek_arena_printf(errors->arena, "%s,%s", text, wrong[i]) : wrong[i];
    return text;
}

static void check_api_version(struct ek_field_errors *errors, const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    const char *quoted = ek_field_quote(errors, api_version);

    if (slash && strchr(slash + 1, '/')) {
        ek_field_invalid(
            errors, quoted,
            ek_arena_printf(errors->arena, "unexpected GroupVersion string: %s", api_version),
            "spec.paramKind.apiVersion");
        return;
    }
    const char *group =
        slash ? ek_arena_strndup(errors->arena, api_version, (size_t)(slash - api_version)) : "";
    const char *version = slash ? slash + 1 : api_version;
    const char *wrong = *group ? joined(errors, EK_NAME_DNS1123_SUBDOMAIN, group) : NULL;
    if (wrong)
        ek_field_invalid(errors, ek_field_quote(errors, group), wrong, "spec.paramKind.apiVersion");
    if (!*version) {
        ek_field_invalid(errors, quoted, "version must be specified", "spec.paramKind.apiVersion");
        return;
    }
    wrong = joined(errors, EK_NAME_DNS1035_LABEL, version);
    if (wrong)
        ek_field_invalid(errors, ek_field_quote(errors, version), wrong,
                         "spec.paramKind.apiVersion");
}

void ek_validate_param_kind(struct ek_field_errors *errors, yyjson_val *param_kind)
{
    const char *api_version = ek_json_str(param_kind, "apiVersion", NULL);
    const char *kind = ek_json_str(param_kind, "kind", NULL);

    if (!api_version || !*api_version)
        ek_field_required(errors, "", "spec.paramKind.apiVersion");
    else
        check_api_version(errors, api_version);
    if (!kind || !*kind) {
        ek_field_required(errors, "", "spec.paramKind.kind");
        return;
    }
    char *lower = ek_arena_strdup(errors->arena, kind);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *wrong = joined(errors, EK_NAME_DNS1035_LABEL, lower);
    if (wrong)
        ek_field_invalid(errors, ek_field_quote(errors, kind),
                         ek_arena_printf(errors->arena,
                                         "may have mixed case, but should otherwise match: %s",
                                         wrong),
                         "spec.paramKind.kind");
}

void ek_validate_param_ref(struct ek_field_errors *errors, yyjson_val *param_ref)
{
    static const char exclusive[] = "name and selector are mutually exclusive";
    static const char *const actions[] = {"Deny", "Allow", NULL};
    const char *name = ek_json_str(param_ref, "name", NULL);
    const char *action = ek_json_str(param_ref, "parameterNotFoundAction", NULL);
    yyjson_val *selector = yyjson_obj_get(param_ref, "selector");
    bool has_name = name && *name, has_selector = yyjson_is_obj(selector);

    if (has_name)
        check_name(errors, EK_NAME_PATH_SEGMENT, name, "spec.paramRef.name");
    if (has_name && has_selector)
        ek_field_forbidden(errors, exclusive, "spec.paramRef.name");
    if (has_selector)
        check_selector(errors, selector, "spec.paramRef.selector");
    if (has_name && has_selector)
        ek_field_forbidden(errors, exclusive, "spec.paramRef.selector");
    if (!has_name && !has_selector)
        ek_field_required(errors, "one of name or selector must be specified", "spec.paramRef");
    if (!action || !*action)
        ek_field_required(errors, "", "spec.paramRef.parameterNotFoundAction");
    else if (!is_one_of(action, actions))
        ek_field_unsupported(errors, action, actions, "spec.paramRef.parameterNotFoundAction");
}

/* ---- Names ---- */

bool ek_is_cel_identifier(const char *name)
{
    static const char *const reserved[] = {
        "true",      "false",  "null",     "in",   "as",     "break", "const", "continue",
        "else",      "for",    "function", "if",   "import", "let",   "loop",  "package",
        "namespace", "return", "var",      "void", "while",  NULL};

    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return !is_one_of(name, reserved);
}
