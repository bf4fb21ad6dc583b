/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a plan change for the parts of a cluster. */
#include "reconcilers/plan/cluster.h"

#include <string.h>

#include "api/discovery.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects-internal.h"

struct checker {
    const struct ek_plan_cluster *cluster;
    const struct ek_plan_data *data;
    struct ek_plan_report *report;
};

/* True when a finding about the source with the same message or, where given, field is there. */
static bool is_reported(const struct ek_plan_report *report, const char *source,
                        const char *message)
{
    for (size_t i = 0; i < report->n; i++)
        if (!strcmp(report->list[i].source, source) && !strcmp(report->list[i].message, message))
            return true;
    return false;
}

struct ek_api_config ek_plan_api_config(const struct ek_plan_instance *server,
                                        const struct ek_part_versions *at,
                                        const struct ek_features *features)
{
    const struct ek_pod_api_flags *flags = &server->apis;

    return (struct ek_api_config){
        .emulation = at->emulation,
        .emulates = ek_minor_cmp(at->emulation, at->binary) < 0,
        .runtime_config = flags->runtime_config ? flags->runtime_config : "",
        .forward_compatible = flags->forward,
        .runtime_forward_compatible = flags->runtime_forward,
        .features = features,
        .no_fairness = flags->no_fairness,
        .no_mutating_policies = flags->no_mutating_policies,
        .authorizes_nodes = flags->authorizes_nodes,
    };
}

static void check_gates(const struct checker *c, const struct ek_upgrade_step *step, size_t number)
{
    const struct ek_plan_data *data = ek_plan_data_at(c->data, step->after.binary);
    struct ek_arena *arena = c->report->arena;
    const char *name = c->cluster->parts[step->part].name;
    const char *gates = c->cluster->instances[step->part].gates;
    struct ek_feature_problems problems;
    struct ek_features features;

    if (!*gates || ek_minor_cmp(step->after.emulation, data->oldest) < 0)
        return;
    ek_features_init(&features, &data->features, arena, step->after.emulation,
                     step->after.min_compat);
    ek_features_set(&features, ek_str_from(gates), &problems);
    for (size_t i = 0; i < problems.n; i++) {
        struct ek_plan_finding f;
        if (!ek_plan_gate_problem__(data, c->cluster->parts[step->part].component,
                                    step->after.binary, &problems.list[i], arena, &f) ||
            is_reported(c->report, name, f.message))
            continue;
        f.source = name;
        f.object = ek_arena_printf(arena, "step %zu", number);
        ek_plan_report_add(c->report, &f);
    }
}

static bool has_api_flags(const struct ek_pod_api_flags *flags)
{
    return flags->runtime_config || flags->forward || flags->runtime_forward;
}

/* Why a server with its flags is of no use at some versions. */
struct refusal {
    const char *why; /* NULL: it is ready */
    const char *what, *remedy;
};

static struct refusal refusal(const struct checker *c, const struct ek_plan_instance *server,
                              const struct ek_part_versions *at)
{
    const struct ek_plan_data *data = ek_plan_data_at(c->data, at->binary);
    struct ek_arena *arena = c->report->arena;
    struct ek_feature_problems problems; /* findings of their own */
    struct ek_features features;

    ek_features_init(&features, &data->features, arena, at->emulation, at->min_compat);
    ek_features_set(&features, ek_str_from(server->gates), &problems);
    struct ek_api_config config = ek_plan_api_config(server, at, &features);
    bool *served = ek_arena_alloc(arena, data->n_resources + 1);
    const char *why = ek_api_served(data, &config, arena, served);
    if (why || problems.n || !server->flags_read)
        return (struct refusal){why, "start", "correct the flag with the step, not later"};
    return (struct refusal){ek_api_unserved(data, &config, served, arena), "become ready",
                            EK_PLAN_UNSERVED_REMEDY};
}

/* A version of --runtime-config that a server does not have any more; a flag that only a server
 * that emulates may have; a gate whose feature the server reads in a version that it does not serve
 * while it emulates. A server that runs has not refused what the data refuses before the step; the
 * data does not have the binary before a step to another binary. */
static void check_served(const struct checker *c, const struct ek_upgrade_step *step, size_t number)
{
    const char *name = c->cluster->parts[step->part].name;
    const struct ek_plan_instance *server = &c->cluster->instances[step->part];
    const struct ek_plan_data *data = ek_plan_data_at(c->data, step->after.binary);
    struct ek_arena *arena = c->report->arena;
    bool is_binary = step->kind == EK_UPGRADE_BINARY;
    char version[EK_MINOR_SIZE];

    if ((!has_api_flags(&server->apis) && !*server->gates) || step->kind == EK_UPGRADE_MIN_COMPAT ||
        ek_minor_cmp(step->after.binary, data->binary) != 0 ||
        (!is_binary && refusal(c, server, &step->before).why))
        return;
    const struct refusal r = refusal(c, server, &step->after);
    if (!r.why)
        return;
    ek_minor_format(is_binary ? step->after.binary : step->after.emulation, version);
    ek_plan_report_add(
        c->report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_ERROR,
            .rule = "flag",
            .source = name,
            .object = ek_arena_printf(arena, "step %zu", number),
            .message =
                is_binary
                    ? ek_arena_printf(arena, "kube-apiserver %s does not %s: %s", version, r.what,
                                      r.why)
                    : ek_arena_printf(
                          arena, "kube-apiserver does not %s with the emulation version %s: %s",
                          r.what, version, r.why),
            .remedy = r.remedy});
}

/* Alpha features of a component that emulates, at the start (number 0) or after a step: the first
 * state alone, because the others have them as well. */
static void check_alpha(const struct checker *c, size_t part, const struct ek_part_versions *at,
                        size_t number)
{
    const char *name = c->cluster->parts[part].name;
    const struct ek_plan_instance *instance = &c->cluster->instances[part];
    const struct ek_plan_data *data = ek_plan_data_at(c->data, at->binary);
    struct ek_arena *arena = c->report->arena;
    struct ek_feature_problems problems; /* findings of their own: such a server does not start */
    struct ek_features features;
    bool *served = NULL;
    char binary[EK_MINOR_SIZE], emulation[EK_MINOR_SIZE];

    if (ek_minor_cmp(at->emulation, at->binary) >= 0 ||
        ek_minor_cmp(at->binary, data->binary) > 0 || ek_minor_cmp(at->emulation, data->oldest) < 0)
        return;
    for (size_t i = 0; i < c->report->n; i++)
        if (!strcmp(c->report->list[i].rule, "alpha-emulated") &&
            !strcmp(c->report->list[i].source, name))
            return;
    ek_features_init(&features, &data->features, arena, at->emulation, at->min_compat);
    ek_features_set(&features, ek_str_from(instance->gates), &problems);
    if (problems.n)
        return;
    if (has_api_flags(&instance->apis) && !ek_minor_cmp(at->binary, data->binary)) {
        served = ek_arena_alloc(arena, data->n_resources + 1);
        struct ek_api_config config = ek_plan_api_config(instance, at, &features);
        ek_api_served(data, &config, arena, served);
    }
    const char *names = ek_plan_alpha__(data, &features, served, arena);
    if (!names)
        return;
    ek_plan_report_add(
        c->report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_WARNING,
            .rule = "alpha-emulated",
            .source = name,
            .object = number ? ek_arena_printf(arena, "step %zu", number) : "",
            .message = ek_arena_printf(
                arena,
                "%s %s emulates %s with alpha features, which Kubernetes does not support: %s",
                ek_component_name(c->cluster->parts[part].component),
                ek_minor_format(at->binary, binary), ek_minor_format(at->emulation, emulation),
                names),
            .remedy = EK_PLAN_ALPHA_REMEDY});
}

/* True when the step leads to the release, or past it. */
static bool reaches(const struct ek_upgrade_step *step, struct ek_minor release)
{
    return release.known && ek_minor_cmp(release, step->before.emulation) > 0 &&
           ek_minor_cmp(release, step->after.emulation) <= 0;
}

/* True when the step leads back to a version that does not have what the release brought. */
static bool leaves(const struct ek_upgrade_step *step, struct ek_minor release)
{
    return release.known && ek_minor_cmp(release, step->before.emulation) <= 0 &&
           ek_minor_cmp(release, step->after.emulation) > 0;
}

static bool goes(const struct ek_api_lifecycle *life, const struct ek_upgrade_step *step)
{
    return life && (reaches(step, life->removed) || leaves(step, life->introduced));
}

/* What may be served counts. */
static bool may_serve(const struct ek_plan_instance *server, const struct ek_api_row *row)
{
    if (server->by_default)
        return ek_api_is_stable(row->version);
    return !server->served ||
           ek_discovery_has(server->served, row->group, row->version, row->resource);
}

static bool is_row(const struct ek_api_row *row, const struct ek_deprecated_use *use)
{
    return !strcmp(row->group, use->group) && !strcmp(row->version, use->version) &&
           !strcmp(row->resource, use->resource);
}

/* True when clients requested the resource of any API server. With a step: only where check_uses
 * reports the request, because the server as well has the version go with the step. */
static bool is_used(const struct checker *c, const struct ek_api_row *row,
                    const struct ek_upgrade_step *step)
{
    for (size_t i = 0; i < c->cluster->n; i++) {
        const struct ek_probe *probe = c->cluster->instances[i].probe;
        for (size_t u = 0; probe && u < probe->n_uses; u++)
            if (is_row(row, &probe->uses[u]) && (!step || reaches(step, probe->uses[u].removed)))
                return true;
    }
    return false;
}

/* True when each API server reports the requests for the resource. A server counts requests for
 * what its binary, not its emulation version, declares deprecated
 * (apiserver/pkg/endpoints/installer.go at 1.36). */
static bool is_counted(const struct checker *c, const struct ek_api_row *row)
{
    for (size_t i = 0; i < c->cluster->n; i++) {
        const struct ek_part *part = &c->cluster->parts[i];
        const struct ek_probe *probe = c->cluster->instances[i].probe;
        if (part->component == EK_KUBE_APISERVER &&
            (!probe || probe->metrics_answer.good_at_ms == EK_TIME_UNSET ||
             probe->metrics_answer.error.code || !row->lifecycle->deprecated.known ||
             ek_minor_cmp(row->lifecycle->deprecated, part->at.binary) > 0))
            return false;
    }
    return true;
}

/* ", and use apps/v1", or nothing. */
static const char *and_use(const struct checker *c, const struct ek_api_lifecycle *life,
                           struct ek_minor at)
{
    const struct ek_api_lifecycle *other = life ? ek_api_replacement(c->data, life, at) : NULL;

    return other ? ek_arena_printf(c->report->arena, ", and use %s%s%s", other->group,
                                   *other->group ? "/" : "", other->version)
                 : "";
}

static void check_apis(const struct checker *c, const struct ek_upgrade_step *step, size_t number)
{
    struct ek_arena *arena = c->report->arena;
    const struct ek_plan_instance *server = &c->cluster->instances[step->part];
    bool known = server->served || server->by_default;

    for (size_t i = 0; i < c->data->n_resources; i++) {
        const struct ek_api_row *row = &c->data->resources[i];
        if (!goes(row->lifecycle, step) || !may_serve(server, row) || is_used(c, row, step))
            continue;
        bool counted = known && is_counted(c, row) && !is_used(c, row, NULL);
        const char *message = ek_arena_printf(
            arena, "%s/%s %s goes; %s", row->group, row->version, row->resource,
            counted ? "no API server has counted a request for the version since its start; "
                      "whether other clients still use it is not known"
            : known ? "whether clients still use it is not known"
                    : "whether the API server serves the version, and clients use the version, is "
                      "not known");
        if (is_reported(c->report, "", message))
            continue;
        ek_plan_report_add(
            c->report,
            &(struct ek_plan_finding){
                .severity = EK_PLAN_UNKNOWN,
                .rule = "api-use",
                .object = ek_arena_printf(arena, "step %zu", number),
                .message = message,
                .remedy = ek_arena_printf(
                    arena, "%s%s",
                    counted ? "turn the version off with --runtime-config, which can be undone"
                    : leaves(step, row->lifecycle->introduced)
                        ? "look for requests with the version in the audit logs"
                        : "look at apiserver_requested_deprecated_apis of every API server",
                    and_use(c, row->lifecycle, step->after.emulation)),
            });
    }
}

static const struct ek_api_lifecycle *lifecycle_of(const struct ek_plan_data *data,
                                                   const struct ek_deprecated_use *use)
{
    for (size_t i = 0; i < data->n_resources; i++)
        if (is_row(&data->resources[i], use))
            return data->resources[i].lifecycle;
    return NULL;
}

/* The release that removes the version is the server's own word: the data may not have the API. */
static void check_uses(const struct checker *c, const struct ek_upgrade_step *step, size_t number)
{
    struct ek_arena *arena = c->report->arena;
    const struct ek_probe *probe = c->cluster->instances[step->part].probe;
    const char *name = c->cluster->parts[step->part].name;
    char at[EK_MINOR_SIZE];

    for (size_t i = 0; probe && i < probe->n_uses; i++) {
        const struct ek_deprecated_use *use = &probe->uses[i];
        if (!reaches(step, use->removed))
            continue;
        const char *message = ek_arena_printf(
            arena, "%s%s%s %s is removed in %s, and clients requested it since the server started",
            use->group, *use->group ? "/" : "", use->version, use->resource,
            ek_minor_format(use->removed, at));
        if (is_reported(c->report, name, message))
            continue;
        ek_plan_report_add(
            c->report,
            &(struct ek_plan_finding){
                .severity = EK_PLAN_ERROR,
                .rule = "api-requested",
                .source = name,
                .object = ek_arena_printf(arena, "step %zu", number),
                .message = message,
                .remedy = ek_arena_printf(
                    arena,
                    "find the clients: audit events for the version have the annotation "
                    "k8s.io/deprecated; change the clients%s; the server forgets the requests when "
                    "it starts again",
                    and_use(c, lifecycle_of(c->data, use), step->after.emulation)),
            });
    }
}

void ek_plan_cluster_check(const struct ek_plan_cluster *cluster, const struct ek_steps *steps,
                           const struct ek_plan_data *data, struct ek_plan_report *report)
{
    const struct checker c = {cluster, data, report};

    for (size_t i = 0; i < cluster->n; i++)
        check_alpha(&c, i, &cluster->parts[i].at, 0);
    for (size_t i = 0; i < steps->n; i++) {
        check_gates(&c, &steps->list[i], i + 1);
        check_alpha(&c, steps->list[i].part, &steps->list[i].after, i + 1);
        if (cluster->parts[steps->list[i].part].component != EK_KUBE_APISERVER)
            continue;
        check_served(&c, &steps->list[i], i + 1);
        check_uses(&c, &steps->list[i], i + 1);
        check_apis(&c, &steps->list[i], i + 1);
    }
}

/* ---- The way back ---- */

static void say_back(const struct checker *c, size_t part, struct ek_minor back, const char *what,
                     const char *why)
{
    const struct ek_part *p = &c->cluster->parts[part];
    char at[EK_MINOR_SIZE];

    ek_plan_report_add(
        c->report, &(struct ek_plan_finding){
                       .severity = EK_PLAN_ERROR,
                       .rule = "flag-rollback",
                       .source = p->name,
                       .message = ek_arena_printf(
                           c->report->arena, "%s does not %s with the emulation version %s: %s",
                           ek_component_name(p->component), what, ek_minor_format(back, at), why),
                       .remedy = EK_PLAN_BACK_REMEDY});
}

static void check_back(const struct checker *c, size_t part, struct ek_minor back)
{
    const struct ek_part *p = &c->cluster->parts[part];
    const struct ek_plan_instance *instance = &c->cluster->instances[part];
    const struct ek_plan_data *data = ek_plan_data_at(c->data, p->at.binary);
    struct ek_part_versions at = {p->at.binary, back, back};
    struct ek_feature_problems problems;
    struct ek_features features;

    if (ek_minor_cmp(back, p->at.emulation) >= 0 || ek_minor_cmp(back, data->oldest) < 0 ||
        ek_minor_cmp(p->at.binary, data->binary) > 0)
        return;
    ek_features_init(&features, &data->features, c->report->arena, at.emulation, at.min_compat);
    ek_features_set(&features, ek_str_from(instance->gates), &problems);
    for (size_t i = 0; i < problems.n; i++)
        say_back(c, part, back, "start", problems.list[i].text);
    if (problems.n || p->component != EK_KUBE_APISERVER ||
        ek_minor_cmp(p->at.binary, data->binary) != 0)
        return;
    const struct refusal now = refusal(c, instance, &p->at), then = refusal(c, instance, &at);
    if (!now.why && then.why)
        say_back(c, part, back, then.what, then.why);
}

void ek_plan_cluster_check_back(const struct ek_plan_cluster *cluster, struct ek_minor back,
                                const struct ek_plan_data *data, struct ek_plan_report *report)
{
    const struct checker c = {cluster, data, report};

    for (size_t i = 0; i < cluster->n && back.known; i++)
        if (cluster->parts[i].component <= EK_KUBE_SCHEDULER)
            check_back(&c, i, back);
}
