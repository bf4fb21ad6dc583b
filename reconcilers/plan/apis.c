/* SPDX-License-Identifier: Apache-2.0 */
/* Which resources an API server lists at a version, and in which version it stores objects. */
#include "reconcilers/plan/apis.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/ascii.h"
#include "reconcilers/plan/runtime_config-internal.h"

/* ---- Versions of an API ---- */

/* "v1beta2": the rank orders as apimachinery/pkg/version/helpers.go:CompareKubeAwareVersionStrings
 * (stable above beta above alpha, then the numbers); 0 for another form. */
struct api_version {
    int level; /* 3 stable, 2 beta, 1 alpha, 0 another form */
    unsigned long major, minor;
};

static struct api_version parse_api_version(const char *s)
{
    struct api_version ret = {0};
    char *end;

    if (s[0] != 'v' || !ek_is_digit(s[1]))
        return ret;
    ret.major = strtoul(s + 1, &end, 10);
    ret.level = 3;
    if (!*end)
        return ret;
    ret.level = !strncmp(end, "beta", 4) ? 2 : !strncmp(end, "alpha", 5) ? 1 : 0;
    end += ret.level == 2 ? 4 : ret.level == 1 ? 5 : 0;
    if (!ret.level || !ek_is_digit(*end))
        return (struct api_version){0};
    ret.minor = strtoul(end, &end, 10);
    return *end ? (struct api_version){0} : ret;
}

static int compare_api_versions(const char *a, const char *b)
{
    struct api_version x = parse_api_version(a), y = parse_api_version(b);

    if (x.level != y.level)
        return x.level < y.level ? -1 : 1;
    if (x.major != y.major)
        return x.major < y.major ? -1 : 1;
    return x.minor < y.minor ? -1 : x.minor > y.minor;
}

enum ek_api_state ek_api_state_at(const struct ek_api_lifecycle *kind, struct ek_minor version)
{
    if (!kind)
        return EK_API_UNKNOWN;
    if (kind->introduced.known && ek_minor_cmp(kind->introduced, version) > 0)
        return EK_API_ABSENT;
    if (kind->removed.known && ek_minor_cmp(kind->removed, version) <= 0)
        return EK_API_REMOVED;
    if (kind->deprecated.known && ek_minor_cmp(kind->deprecated, version) <= 0)
        return EK_API_DEPRECATED;
    return EK_API_SERVED;
}

bool ek_api_is_stable(const char *version)
{
    return parse_api_version(version).level == 3;
}

/* ---- Replacements ---- */

#define REPLACEMENTS_MAX 8 /* in a row; Kubernetes declares at most 3 */

/* The newest version above that of kind which serves the same kind. */
static const struct ek_api_lifecycle *
newest_of(const struct ek_plan_data *data, const struct ek_api_lifecycle *kind, struct ek_minor at)
{
    const struct ek_api_lifecycle *ret = NULL;

    for (size_t i = 0; i < data->n_kinds; i++) {
        const struct ek_api_lifecycle *other = &data->kinds[i];
        enum ek_api_state state = ek_api_state_at(other, at);
        if (!strcmp(other->group, kind->group) && !strcmp(other->kind, kind->kind) &&
            (state == EK_API_SERVED || state == EK_API_DEPRECATED) &&
            compare_api_versions(other->version, (ret ? ret : kind)->version) > 0)
            ret = other;
    }
    return ret;
}

const struct ek_api_lifecycle *ek_api_replacement(const struct ek_plan_data *data,
                                                  const struct ek_api_lifecycle *kind,
                                                  struct ek_minor at)
{
    const struct ek_api_lifecycle *ret = NULL;

    for (int i = 0; i < REPLACEMENTS_MAX; i++) {
        const struct ek_api_lifecycle *next =
            kind->new_version
                ? ek_plan_find_kind(data, kind->new_group, kind->new_version, kind->new_kind)
                : newest_of(data, kind, at);
        if (!next)
            return ret;
        ret = kind = next;
        enum ek_api_state state = ek_api_state_at(next, at);
        if (state != EK_API_DEPRECATED && state != EK_API_REMOVED)
            return ret;
    }
    return ret;
}

/* ---- --runtime-config ---- */

struct serving {
    const struct ek_plan_data *data;
    const struct ek_api_config *config;
    struct ek_runtime_config flag;
    struct ek_arena *arena;
    bool *on;       /* enabled by configuration */
    bool *explicit; /* named by a group and version, or a resource */
};

static const char *group_version(struct ek_arena *arena, const char *group, const char *version)
{
    return *group ? ek_arena_printf(arena, "%s/%s", group, version) : version;
}

/* What the flag says of a version, and of the resource, which decides; -1 for nothing. */
static int setting(const struct serving *s, const struct ek_api_row *row)
{
    const char *key = ek_arena_printf(s->arena, "%s/%s", row->group, row->version);
    int resource =
        ek_runtime_config_get__(&s->flag, ek_arena_printf(s->arena, "%s/%s", key, row->resource));

    return resource >= 0 ? resource : ek_runtime_config_get__(&s->flag, key);
}

/* Groups, then versions, then resources: the last that says something decides. */
static void configure(struct serving *s, size_t i)
{
    const struct ek_api_row *row = &s->data->resources[i];
    static const char *const levels[] = {"", "api/alpha", "api/beta", "api/ga"};
    int level = parse_api_version(row->version).level;
    int all = ek_runtime_config_get__(&s->flag, "api/all");
    int of_level = level ? ek_runtime_config_get__(&s->flag, levels[level]) : -1;
    int named = setting(s, row);
    const char *key = ek_arena_printf(s->arena, "%s/%s", row->group, row->version);

    s->on[i] = level == 3;
    if (all >= 0)
        s->on[i] = all;
    if (of_level >= 0)
        s->on[i] = of_level;
    if (named >= 0)
        s->on[i] = named;
    s->explicit[i] = named > 0 || ek_runtime_config_get__(&s->flag, key) > 0;
}

static bool same_resource(const struct ek_api_row *a, const struct ek_api_row *b)
{
    return !strcmp(a->group, b->group) && !strcmp(a->resource, b->resource);
}

/* --emulation-forward-compatible enables all versions above an enabled one that is not alpha, but
 * for those that the flag switches off. */
static void enable_above(struct serving *s)
{
    const struct ek_plan_data *data = s->data;
    bool *before = ek_arena_alloc(s->arena, data->n_resources + 1);

    memcpy(before, s->on, data->n_resources);
    for (size_t i = 0; i < data->n_resources; i++) {
        const struct ek_api_row *low = &data->resources[i];
        if (!before[i] || parse_api_version(low->version).level < 2)
            continue;
        for (size_t k = 0; k < data->n_resources; k++) {
            const struct ek_api_row *high = &data->resources[k];
            if (strcmp(low->group, high->group) != 0 ||
                compare_api_versions(high->version, low->version) <= 0)
                continue;
            s->on[k] |= setting(s, high) != 0;
        }
    }
}

static bool is_introduced(const struct serving *s, size_t i)
{
    const struct ek_api_lifecycle *life = s->data->resources[i].lifecycle;

    return !life || !life->introduced.known ||
           ek_minor_cmp(life->introduced, s->config->emulation) <= 0;
}

static bool is_removed(const struct serving *s, size_t i)
{
    const struct ek_api_lifecycle *life = s->data->resources[i].lifecycle;

    return life && life->removed.known && ek_minor_cmp(life->removed, s->config->emulation) <= 0;
}

/* True when a lower version of the resource, not alpha, stays. */
static bool has_lower(const struct serving *s, size_t i, const bool *served)
{
    const struct ek_api_row *row = &s->data->resources[i];

    for (size_t k = 0; k < s->data->n_resources; k++) {
        const struct ek_api_row *other = &s->data->resources[k];
        if (served[k] && same_resource(row, other) && parse_api_version(other->version).level > 1 &&
            compare_api_versions(other->version, row->version) < 0)
            return true;
    }
    return false;
}

static bool gate_on(const struct serving *s, const char *name)
{
    const struct ek_feature *feature =
        name ? ek_feature_find(&s->data->features, ek_str_from(name)) : NULL;

    return !name ||
           (feature && s->config->features && ek_features_on(s->config->features, feature));
}

/* A version that is named, and of which nothing exists yet, stops the server. Resources behind a
 * gate that is off do not count: the server does not install them, and takes out nothing
 * (apiserver/pkg/server/deleted_kinds.go:removeUnintroducedKinds). */
static const char *find_empty_version(const struct serving *s, const bool *served)
{
    for (size_t i = 0; i < s->data->n_resources; i++) {
        const struct ek_api_row *row = &s->data->resources[i];
        bool any = false;
        if (!s->on[i] || !s->explicit[i] || served[i] || is_introduced(s, i) ||
            !gate_on(s, row->gate))
            continue;
        for (size_t k = 0; k < s->data->n_resources; k++)
            any |= s->on[k] && !is_removed(s, k) && (served[k] || is_introduced(s, k)) &&
                   gate_on(s, s->data->resources[k].gate) &&
                   !strcmp(s->data->resources[k].group, row->group) &&
                   !strcmp(s->data->resources[k].version, row->version);
        char at[EK_MINOR_SIZE];
        if (!any)
            return ek_arena_printf(
                s->arena,
                "cannot enable version %s in runtime-config because all the resources have been "
                "introduced after the current version %s. Consider setting "
                "--runtime-config-emulation-forward-compatible=true",
                group_version(s->arena, row->group, row->version),
                ek_minor_format(s->config->emulation, at));
    }
    return NULL;
}

/* Versions from the lowest on, so that a version knows what became of those below it. */
static void decide(const struct serving *s, bool *served)
{
    for (int level = 0; level <= 3; level++)
        for (size_t i = 0; i < s->data->n_resources; i++) { /* sorted by version within a level */
            if (parse_api_version(s->data->resources[i].version).level != level || !s->on[i] ||
                is_removed(s, i))
                continue;
            served[i] = is_introduced(s, i) ||
                        (s->config->forward_compatible && has_lower(s, i, served)) ||
                        (s->config->runtime_forward_compatible && s->explicit[i]);
        }
}

const char *ek_api_served(const struct ek_plan_data *data, const struct ek_api_config *config,
                          struct ek_arena *arena, bool *served)
{
    struct serving s = {.data = data,
                        .config = config,
                        .arena = arena,
                        .on = ek_arena_alloc(arena, data->n_resources + 1),
                        .explicit = ek_arena_alloc(arena, data->n_resources + 1)};

    memset(served, 0, data->n_resources);
    if (config->forward_compatible && !config->emulates)
        return "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation "
               "version is the same as the binary version";
    if (config->runtime_forward_compatible && !config->emulates)
        return "ServerRunOptions.RuntimeConfigEmulationForwardCompatible cannot be set to true if "
               "the emulation version is the same as the binary version";
    ek_runtime_config_read__(config->runtime_config, arena, &s.flag);
    const char *refusal = ek_runtime_config_refusal__(&s.flag, data, config->no_fairness, arena);
    for (size_t i = 0; i < data->n_resources; i++)
        configure(&s, i);
    if (config->forward_compatible)
        enable_above(&s);
    decide(&s, served);
    if (!refusal)
        refusal = find_empty_version(&s, served);
    for (size_t i = 0; i < data->n_resources; i++)
        served[i] = served[i] && gate_on(&s, data->resources[i].gate);
    return refusal;
}

/* ---- What a server reads of itself ---- */

enum own_reader { PLUGIN, POLICY_PLUGIN, NODE_AUTHORIZER };

static const struct own_read {
    const char *gate, *group, *version, *resource;
    enum own_reader reader;
} own_reads[] = {
    {"MutatingAdmissionPolicy", "admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies",
     POLICY_PLUGIN},
    {"DynamicResourceAllocation", "resource.k8s.io", "v1", "resourceslices", NODE_AUTHORIZER},
    {"PodCertificateRequest", "certificates.k8s.io", "v1beta1", "podcertificaterequests",
     NODE_AUTHORIZER},
    {"GenericWorkload", "scheduling.k8s.io", "v1alpha2", "podgroups", PLUGIN},
};

static bool reads(const struct own_read *r, const struct ek_api_config *config)
{
    const struct ek_feature *gate =
        ek_feature_find(config->features->registry, ek_str_from(r->gate));

    if ((r->reader == POLICY_PLUGIN && config->no_mutating_policies) ||
        (r->reader == NODE_AUTHORIZER && !config->authorizes_nodes))
        return false;
    return gate && ek_features_on(config->features, gate);
}

const char *ek_api_unserved(const struct ek_plan_data *data, const struct ek_api_config *config,
                            const bool *served, struct ek_arena *arena)
{
    char at[EK_MINOR_SIZE];

    for (size_t i = 0; i < data->n_resources && config->emulates; i++) {
        const struct ek_api_row *row = &data->resources[i];
        for (size_t k = 0; k < EK_ARRAY_SIZE(own_reads) && !served[i]; k++) {
            const struct own_read *r = &own_reads[k];
            if (!strcmp(row->resource, r->resource) && !strcmp(row->version, r->version) &&
                !strcmp(row->group, r->group) && reads(r, config))
                return ek_arena_printf(arena,
                                       "with the feature gate %s it reads %s of %s/%s, which it "
                                       "does not serve while it emulates %s",
                                       r->gate, r->resource, r->group, r->version,
                                       ek_minor_format(config->emulation, at));
        }
    }
    return NULL;
}

/* ---- Storage ---- */

const char *ek_api_storage(const struct ek_plan_data *data, const char *group, const char *resource,
                           struct ek_minor min_compat, struct ek_arena *arena)
{
    const struct ek_api_row *row = NULL;
    yyjson_val *versions = yyjson_obj_get(data->priority, group), *version;
    size_t i, n;

    for (i = 0; i < data->n_overrides; i++)
        if (!strcmp(data->overrides[i].group, group) &&
            !strcmp(data->overrides[i].resource, resource))
            return data->overrides[i].stored;
    for (i = 0; i < data->n_resources && !row; i++)
        if (data->resources[i].stored && !strcmp(data->resources[i].group, group) &&
            !strcmp(data->resources[i].resource, resource))
            row = &data->resources[i];
    if (!row || !yyjson_arr_size(versions))
        return NULL;
    yyjson_arr_foreach(versions, i, n, version)
    {
        const struct ek_api_lifecycle *kind =
            ek_plan_find_kind(data, group, yyjson_get_str(version), row->kind);
        if (kind && (!kind->introduced.known || ek_minor_cmp(kind->introduced, min_compat) <= 0))
            return group_version(arena, group, yyjson_get_str(version));
    }
    return group_version(arena, group, yyjson_get_str(yyjson_arr_get_first(versions)));
}
