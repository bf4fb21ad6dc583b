/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_types.h"

#include <ctype.h>
#include <string.h>

#include "reconcilers/mutation/typecheck.h"

#define PLURAL_SIZE 128

/* What is being looked for, and what was found. */
struct search {
    const struct ek_policy *policy;
    struct ek_arena *arena;
    struct ek_typecheck_kind *kinds;
    size_t n;
    const struct ek_schema *params_schema;
    struct ek_gvk params_kind;
};

/* "NetworkPolicy" to "networkpolicies", "Ingress" to "ingresses", "Endpoints" to itself. */
static void make_plural(struct ek_str kind, char plural[PLURAL_SIZE])
{
    size_t n = kind.len < PLURAL_SIZE - 4 ? kind.len : PLURAL_SIZE - 4;
    const char *end = "s";

    for (size_t i = 0; i < n; i++)
        plural[i] = (char)tolower((unsigned char)kind.p[i]);
    plural[n] = '\0';
    if (!strcmp(plural, "endpoints"))
        return;
    if (n && plural[n - 1] == 's') {
        end = "es";
    } else if (n && plural[n - 1] == 'y') {
        n--;
        end = "ies";
    }
    memcpy(plural + n, end, strlen(end) + 1);
}

static bool names(yyjson_val *list, const char *item, bool star)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_equals_str(v, item) || (star && yyjson_equals_str(v, "*")))
            return true;
    }
    return false;
}

static bool is_matched(const struct ek_policy *policy, const char *group, const char *version,
                       const char *plural)
{
    for (size_t i = 0; policy->rules && i < ek_rules_len(policy->rules); i++) {
        yyjson_val *rule = ek_rules_at(policy->rules, i);
        if (names(yyjson_obj_get(rule, "apiGroups"), group, true) &&
            names(yyjson_obj_get(rule, "apiVersions"), version, true) &&
            names(yyjson_obj_get(rule, "resources"), plural, false))
            return true;
    }
    return false;
}

static void look_for_params(struct search *s, const char *group, const char *version,
                            struct ek_str kind, const struct ek_schema *schema)
{
    const char *api_version = *group ? ek_arena_printf(s->arena, "%s/%s", group, version) : version;

    if (!s->policy->has_params || strcmp(s->policy->param_api_version, api_version) != 0 ||
        strlen(s->policy->param_kind) != kind.len ||
        memcmp(s->policy->param_kind, kind.p, kind.len) != 0)
        return;
    s->params_schema = schema;
    s->params_kind = (struct ek_gvk){ek_arena_strdup(s->arena, group),
                                     ek_arena_strdup(s->arena, version), s->policy->param_kind};
}

static void on_schema(void *ctx, const char *group, const char *version,
                      const struct ek_schema *schema)
{
    struct search *s = ctx;
    size_t n;
    const struct ek_schema_kind *kinds = ek_schema_kinds(schema, &n);

    for (size_t i = 0; i < n; i++) {
        struct ek_str name = ek_schema_text(schema, kinds[i].kind);
        struct ek_str its_group = ek_schema_text(schema, kinds[i].group);
        char plural[PLURAL_SIZE];
        /* Options and the like are in every document, under groups of their own. */
        if (!ek_str_eq(its_group, ek_str_from(group)) ||
            !ek_str_eq(ek_schema_text(schema, kinds[i].version), ek_str_from(version)))
            continue;
        look_for_params(s, group, version, name, schema);
        make_plural(name, plural);
        if (s->n == EK_TYPECHECK_KINDS_MAX || !is_matched(s->policy, group, version, plural))
            continue;
        s->kinds[s->n++] = (struct ek_typecheck_kind){
            .kind = {ek_arena_strdup(s->arena, group), ek_arena_strdup(s->arena, version),
                     ek_arena_strndup(s->arena, name.p, name.len)},
            .schema = schema};
    }
}

static void take_findings(const struct ek_type_findings *found, struct ek_arena *arena,
                          struct ek_policy_facts *facts)
{
    struct ek_policy_finding *list = ek_arena_alloc(arena, (found->n + 1) * sizeof *list);

    for (size_t i = 0; i < found->n; i++)
        list[i] = (struct ek_policy_finding){.field = found->list[i].field,
                                             .kind = found->list[i].kinds,
                                             .message = found->list[i].message,
                                             .warning = !found->list[i].all_kinds};
    facts->types = EK_TYPES_CHECKED;
    facts->findings = list;
    facts->n_findings = found->n;
}

void ek_mutation_types_check(const struct ek_mutation_watch *watch, struct ek_arena *arena,
                             struct ek_policy_facts *facts)
{
    const struct ek_mutation_schemas *schemas = ek_mutation_watch_schemas(watch);
    const char *error = ek_mutation_schemas_error(schemas);
    struct search s = {
        .policy = facts->policy,
        .arena = arena,
        .kinds = ek_arena_alloc(arena, EK_TYPECHECK_KINDS_MAX * sizeof(struct ek_typecheck_kind))};
    struct ek_type_findings found;

    ek_mutation_schemas_each(schemas, on_schema, &s);
    const struct ek_typecheck_kind params = {.kind = s.params_kind, .schema = s.params_schema};
    facts->types = EK_TYPES_PENDING;
    facts->types_message = *error ? error : "no schema of a kind that it matches is known";
    if (s.n && !ek_typecheck_policy(facts->policy, s.kinds, s.n, s.params_schema ? &params : NULL,
                                    arena, &found)) {
        facts->types_message = NULL;
        take_findings(&found, arena, facts);
    }
}
