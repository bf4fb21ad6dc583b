/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/policylint/policy_types.h"

#include <ctype.h>
#include <string.h>

#include "api/base/mem.h"

#define PLURAL_SIZE   128
#define CHECK_LIMIT   ((size_t)16 << 20)
#define FINDING_LIMIT ((size_t)1 << 20)

/* The kinds of one policy, while they are searched. */
struct search {
    const struct ek_policy *policy;
    struct ek_arena *arena;
    struct ek_typecheck_kind *kinds;
    size_t n;
    const struct ek_schema *params_schema;
    struct ek_gvk params_kind;
};

/* restmapper.go:UnsafeGuessKindToResource: "NetworkPolicy" to "networkpolicies", "Ingress" to
 * "ingresses", "Endpoints" to itself. */
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

static void search_schema(struct search *s, const struct ek_types_schema *from)
{
    const char *group = from->group, *version = from->version;
    const struct ek_schema *schema = from->schema;
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

static void take_findings(const struct ek_type_findings *found, struct ek_policy_types *types)
{
    types->checked = true;
    if (found->n == 0)
        return;
    types->arena = ek_arena_new(FINDING_LIMIT);
    struct ek_policy_finding *list = ek_arena_alloc(types->arena, found->n * sizeof *list);
    for (size_t i = 0; i < found->n; i++)
        list[i] = (struct ek_policy_finding){
            .field = ek_arena_strdup(types->arena, found->list[i].field),
            .kind = ek_arena_strdup(types->arena, found->list[i].kinds),
            .message = ek_arena_strdup(types->arena, found->list[i].message),
            .warning = !found->list[i].all_kinds};
    types->findings = list;
    types->n_findings = found->n;
}

bool ek_policy_types_are_due(const struct ek_policy_types *types, unsigned long version)
{
    return !types->made || types->version != version;
}

void ek_policy_types_check(const struct ek_policy *policy, const struct ek_types_schemas *schemas,
                           struct ek_policy_types *types)
{
    struct ek_arena *arena = ek_arena_new(CHECK_LIMIT);
    struct search s = {
        .policy = policy,
        .arena = arena,
        .kinds = ek_arena_alloc(arena, EK_TYPECHECK_KINDS_MAX * sizeof(struct ek_typecheck_kind))};
    struct ek_type_findings found;

    ek_policy_types_done(types);
    types->made = true;
    types->version = schemas->version;
    for (size_t i = 0; i < schemas->n; i++)
        search_schema(&s, &schemas->items[i]);
    const struct ek_typecheck_kind params = {.kind = s.params_kind, .schema = s.params_schema};
    if (s.n &&
        !ek_typecheck_policy(policy, s.kinds, s.n, s.params_schema ? &params : NULL, arena, &found))
        take_findings(&found, types);
    ek_arena_free(arena);
}
