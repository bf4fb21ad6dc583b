/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/blocked.h"

#include <string.h>

#include "api/base/words.h"
#include "api/obj.h"
#include "api/schema/builtin.h"

const char *ek_policy_consequence(const struct ek_policy *policy)
{
    return policy->ignore_failures ? "matching requests are answered without the policy"
                                   : "matching requests are denied";
}

static struct ek_policy_block block_by_trouble(const struct ek_policy *policy,
                                               const struct ek_params_source *source,
                                               struct ek_arena *arena)
{
    static const struct {
        const char *reason, *remedy;
    } troubles[] = {
        [EK_PARAMS_FORBIDDEN] = {"ParamsForbidden",
                                 "allow Evenkeel to list and watch the params, by a ClusterRole "
                                 "with the label evenkeel.dev/aggregate-to-params: 'true'"},
        [EK_PARAMS_NOT_SERVED] = {"ParamKindNotServed",
                                  "install the kind, or correct spec.paramKind"},
        [EK_PARAMS_UNREADABLE] = {"ParamsNotRead", "Evenkeel tries again"},
        [EK_PARAMS_NO_ROOM] = {"TooManyParamKinds",
                               "use a kind of params that another policy uses, or unbind policies"},
    };

    return (struct ek_policy_block){troubles[source->trouble].reason,
                                    ek_arena_printf(arena, "params: %s; %s; %s", source->error,
                                                    ek_policy_consequence(policy),
                                                    troubles[source->trouble].remedy)};
}

/* Where a binding looks: as param_namespace of invocation.c, as far as that is known without a
 * request. False when every request fails. */
static bool find_params(const struct ek_binding *binding, const struct ek_params_source *source)
{
    const struct ek_params_wanted wanted = {
        .namespace = binding->param_namespace,
        .name = binding->param_name,
        .selector = binding->param_selector,
    };

    return source->holds(source->ctx, &wanted);
}

/* Whether a kind that Kubernetes brings is in no namespace, in all versions. */
static bool is_cluster_scoped(const char *group, const char *resource)
{
    size_t n, found = 0;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].group, group) != 0 || strcmp(all[i].resource, resource) != 0)
            continue;
        if (all[i].namespaced)
            return false;
        found++;
    }
    return found > 0;
}

static bool are_cluster_scoped(yyjson_val *groups, const char *resource)
{
    yyjson_val *group;
    size_t i, n;

    yyjson_arr_foreach(groups, i, n, group)
    {
        if (!yyjson_is_str(group) || !is_cluster_scoped(yyjson_get_str(group), resource))
            return false;
    }
    return true;
}

/* Whether all that a rule matches is known to be in no namespace. A Namespace is in the namespace
 * of its own name. */
static bool is_cluster_rule(yyjson_val *rule)
{
    yyjson_val *resources = yyjson_obj_get(rule, "resources"), *resource;
    const char *scope = ek_json_str(rule, "scope", NULL);
    bool by_scope = scope && !strcmp(scope, "Cluster");
    size_t i, n;

    yyjson_arr_foreach(resources, i, n, resource)
    {
        const char *s = yyjson_is_str(resource) ? yyjson_get_str(resource) : "*";
        if (*s == '*' || !strncmp(s, "namespaces", strlen("namespaces")) ||
            (!by_scope && !are_cluster_scoped(yyjson_obj_get(rule, "apiGroups"), s)))
            return false;
    }
    return yyjson_arr_size(resources) > 0;
}

static bool are_cluster_rules(const struct ek_rules *rules)
{
    yyjson_val *rule = NULL;

    for (size_t i = 0; rules && (rule = ek_rules_at(rules, i)) && is_cluster_rule(rule); i++)
        ;
    return rules && ek_rules_len(rules) > 0 && !rule;
}

static const char *wanted_text(const struct ek_policy *policy, const struct ek_binding *binding,
                               struct ek_arena *arena)
{
    const char *where = ek_is_given(binding->param_namespace)
                            ? ek_arena_printf(arena, " in namespace %s", binding->param_namespace)
                            : "";

    if (ek_is_given(binding->param_name))
        return ek_arena_printf(arena, "no %s %s%s", policy->param_kind, binding->param_name, where);
    return ek_arena_printf(arena, "no %s that its selector matches%s", policy->param_kind, where);
}

static struct ek_policy_block block_by_binding(const struct ek_policy *policy,
                                               const struct ek_binding *binding,
                                               const struct ek_params_source *source,
                                               struct ek_arena *arena)
{
    if (!binding->has_param_ref || binding->n_problems)
        return (struct ek_policy_block){0};
    if (!source->namespaced && ek_is_given(binding->param_namespace))
        return (struct ek_policy_block){
            "InvalidParamRef",
            ek_arena_printf(arena,
                            "binding %s has a paramRef.namespace, and %s is cluster-scoped; %s of "
                            "the binding; remove the namespace",
                            binding->name, policy->param_kind, ek_policy_consequence(policy))};
    if (source->holds && source->namespaced && !ek_is_given(binding->param_namespace) &&
        (are_cluster_rules(policy->rules) || are_cluster_rules(binding->rules)))
        return (struct ek_policy_block){
            "ClusterScoped",
            ek_arena_printf(arena,
                            "binding %s has a paramRef without a namespace, %s is namespaced, and "
                            "the matched resources are cluster-scoped; %s; set "
                            "paramRef.namespace",
                            binding->name, policy->param_kind, ek_policy_consequence(policy))};
    if (binding->allow_missing_params || !source->holds || find_params(binding, source))
        return (struct ek_policy_block){0};
    return (struct ek_policy_block){
        "ParamsNotFound",
        ek_arena_printf(arena,
                        "binding %s: there is %s, and parameterNotFoundAction is Deny; %s; create "
                        "the object, or set parameterNotFoundAction to Allow",
                        binding->name, wanted_text(policy, binding, arena),
                        ek_policy_consequence(policy))};
}

struct ek_policy_block ek_policy_blocked(const struct ek_policy *policy,
                                         const struct ek_binding *const *bindings, size_t n,
                                         const struct ek_params_source *source, bool restless,
                                         struct ek_arena *arena)
{
    struct ek_policy_block block = {0};

    if (source && policy->has_params && source->trouble != EK_PARAMS_FINE)
        return block_by_trouble(policy, source, arena);
    for (size_t i = 0; source && policy->has_params && i < n && !block.reason; i++)
        block = block_by_binding(policy, bindings[i], source, arena);
    if (!block.reason && restless)
        block = (struct ek_policy_block){
            "NeverRests",
            "a request was denied because the policy changes its own result again, and only some "
            "API servers run the policy themselves; make it change nothing on its own result (a "
            "match condition does), or use a policy of evenkeel.dev"};
    return block;
}
