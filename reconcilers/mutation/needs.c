/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/needs.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

static void add_schema(struct ek_mutation_needs *needs, const char *group, const char *version)
{
    for (size_t i = 0; i < needs->n_schemas; i++)
        if (!strcmp(needs->schemas[i].group, group) && !strcmp(needs->schemas[i].version, version))
            return;
    needs->schemas = ek_xrealloc(needs->schemas, needs->n_schemas + 1, sizeof *needs->schemas);
    needs->schemas[needs->n_schemas++] =
        (struct ek_schema_want){.group = group, .version = version};
}

static void add_rule(struct ek_mutation_needs *needs, yyjson_val *rule)
{
    yyjson_val *group, *version;
    size_t i, n, k, m;

    yyjson_arr_foreach(yyjson_obj_get(rule, "apiGroups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(rule, "apiVersions"), k, m, version)
        {
            if (yyjson_is_str(group) && yyjson_is_str(version))
                add_schema(needs, yyjson_get_str(group), yyjson_get_str(version));
        }
    }
}

static int compare_want(const void *a, const void *b)
{
    const struct ek_schema_want *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->version, y->version);
}

static void add_params(struct ek_mutation_needs *needs, const struct ek_bound *bound)
{
    const struct ek_policy *p = bound->policy;

    if (p->has_params && bound->binding->has_param_ref)
        needs->params[needs->n_params++] =
            (struct ek_param_kind){.api_version = p->param_api_version, .kind = p->param_kind};
}

void ek_mutation_needs_plan(const struct ek_mutation_state *state,
                            struct ek_mutation_needs *ret_needs)
{
    struct ek_mutation_needs *needs = ret_needs;

    *needs = (struct ek_mutation_needs){
        .params = ek_xalloc((state->n_bound + 1) * sizeof *needs->params)};
    for (size_t i = 0; i < state->n_bound; i++)
        add_params(needs, &state->bound[i]);
    for (size_t i = 0; i < state->n_policies; i++) {
        const struct ek_rules *rules = state->policies[i].policy->rules;
        for (size_t k = 0; rules && k < ek_rules_len(rules); k++)
            add_rule(needs, ek_rules_at(rules, k));
    }
    if (needs->n_schemas)
        qsort(needs->schemas, needs->n_schemas, sizeof *needs->schemas, compare_want);
}

void ek_mutation_needs_done(struct ek_mutation_needs *needs)
{
    ek_free(needs->params);
    ek_free(needs->schemas);
    *needs = (struct ek_mutation_needs){0};
}
