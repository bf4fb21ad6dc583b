/* SPDX-License-Identifier: Apache-2.0 */
/* Parts, and what steps change for them. */
#include "reconcilers/plan/cluster.h"

#include <string.h>

#include "api/base/buf.h"
#include "api/discovery.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects-internal.h"
#include "reconcilers/skew/judge.h"

struct reader {
    const struct ek_plan_data *data;
    struct ek_plan_report *report;
    struct ek_plan_cluster *cluster;
};

static void say(struct ek_plan_report *report, enum ek_plan_severity severity, const char *rule,
                const char *source, const char *message, const char *remedy)
{
    ek_plan_report_add(report, &(struct ek_plan_finding){.severity = severity,
                                                         .rule = rule,
                                                         .source = source,
                                                         .message = message,
                                                         .remedy = remedy});
}

/* ---- Gates that a server sets ---- */

static void put_gate(struct ek_buf *out, const char *name, bool on)
{
    ek_buf_printf(out, "%s%s=%s", out->len ? "," : "", name, on ? "true" : "false");
}

/* A gate of the metrics whose value is not the default was set. AllAlpha and AllBeta stand for the
 * gates of their stages that are on. */
static bool was_set(const struct ek_features *defaults, const struct ek_probe *probe,
                    const struct ek_feature_gate *gate)
{
    const struct ek_feature *known = ek_feature_find(defaults->registry, ek_str_from(gate->name));

    if (!known || ek_features_on(defaults, known) == gate->enabled)
        return false;
    if (!gate->enabled || !strncmp(gate->name, "All", 3))
        return true;
    const char *all = !strcmp(gate->stage, "ALPHA")  ? "AllAlpha"
                      : !strcmp(gate->stage, "BETA") ? "AllBeta"
                                                     : "";
    for (size_t i = 0; i < probe->n_gates; i++)
        if (!strcmp(probe->gates[i].name, all) && probe->gates[i].enabled)
            return false;
    return true;
}

/* The facts do not live as long as the parts of a CompatibilityPlan. */
static struct ek_pod_api_flags copy_flags(const struct ek_pod_api_flags *flags,
                                          struct ek_arena *arena)
{
    struct ek_pod_api_flags copy = *flags;

    if (copy.runtime_config)
        copy.runtime_config = ek_arena_strdup(arena, copy.runtime_config);
    return copy;
}

/* What is known of the flags of an instance. */
struct flags {
    bool read;
    const struct ek_pod_gate *gates;
    size_t n;
    const struct ek_probe *probe; /* NULL: not known */
    const struct ek_versions *at;
};

static void say_flags_unread(struct reader *r, enum ek_component component, const char *name)
{
    struct ek_arena *arena = r->report->arena;
    const char *what = component == EK_KUBE_APISERVER ? "API server" : ek_component_name(component);

    say(r->report, EK_PLAN_UNKNOWN, "flags-unread", name,
        ek_arena_printf(arena,
                        "the flags of the %s cannot be read: a feature gate that is set to its "
                        "default is not seen, and a version without that gate does not start",
                        what),
        ek_arena_printf(arena, "look for such gates in --feature-gates of the %s", what));
}

/* The gates that the flags set, "A=true,B=false"; where the flags cannot be read, those of the
 * metrics that are not the default. */
static const char *gates_of(const struct reader *r, const struct flags *flags)
{
    struct ek_arena *arena = r->report->arena;
    const struct ek_versions *at = flags->at;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < flags->n; i++)
        put_gate(&out, flags->gates[i].name, flags->gates[i].on);
    bool known = ek_minor_cmp(at->emulation, r->data->oldest) >= 0 &&
                 ek_minor_cmp(at->binary, r->data->binary) <= 0;
    if (!flags->read && flags->probe && known) {
        struct ek_features defaults;
        ek_features_init(&defaults, &ek_plan_data_at(r->data, at->binary)->features, arena,
                         at->emulation, at->min_compat);
        for (size_t i = 0; i < flags->probe->n_gates; i++)
            if (was_set(&defaults, flags->probe, &flags->probe->gates[i]))
                put_gate(&out, flags->probe->gates[i].name, flags->probe->gates[i].enabled);
    }
    return ek_arena_strdup(arena, ek_buf_str(&out));
}

static void say_nodes_unread(struct reader *r)
{
    say(r->report, EK_PLAN_UNKNOWN, "flags-unread", "nodes",
        "the flags and the configurations of the nodes are not read: a kubelet or kube-proxy does "
        "not start with a feature gate that the version does not have",
        "look for such gates in --feature-gates, and in featureGates of KubeletConfiguration and "
        "KubeProxyConfiguration");
}

/* ---- Parts ---- */

static void add_part(struct reader *r, enum ek_component component, const char *name, size_t count,
                     const struct ek_versions *at, struct ek_plan_instance instance)
{
    struct ek_plan_cluster *c = r->cluster;

    c->parts[c->n] =
        (struct ek_part){component, name, count, {at->binary, at->emulation, at->min_compat}, 0};
    c->instances[c->n++] = instance;
}

static void say_unknown(struct reader *r, const char *name, const char *why)
{
    say(r->report, EK_PLAN_UNKNOWN, "version-unknown", name,
        ek_arena_printf(r->report->arena, "the version is not known: %s",
                        *why ? why : "no source reports it"),
        "evenkeel check reports what could not be read");
}

/* The emulation version may be lower than assumed. */
static void say_assumed(struct reader *r, const char *name, const struct ek_versions *at)
{
    char text[EK_MINOR_SIZE];

    if (at->assumed_emulation || at->unproven)
        say(r->report, EK_PLAN_UNKNOWN, "version-assumed", name,
            ek_arena_printf(r->report->arena,
                            "the emulation version is not proven; the plan assumes %s",
                            ek_minor_format(at->emulation, text)),
            "evenkeel check reports what could not be read");
}

static void read_peers(struct reader *r, const struct ek_skew_facts *facts)
{
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *peer = &facts->peers[i];
        const struct ek_versions *at = &peer->versions;
        const char *name = ek_arena_printf(r->report->arena, "kube-apiserver %s", peer->name);
        if (!peer->live)
            continue;
        if (!at->binary.known || !at->emulation.known || !at->min_compat.known) {
            say_unknown(r, name, at->unknown_reason);
            r->cluster->complete = false;
            continue;
        }
        say_assumed(r, name, at);
        if (!peer->flags_read)
            say_flags_unread(r, EK_KUBE_APISERVER, name);
        const struct flags flags = {peer->flags_read, peer->flag_gates, peer->n_flag_gates,
                                    peer->probe, at};
        add_part(r, EK_KUBE_APISERVER, name, 1, at,
                 (struct ek_plan_instance){.gates = gates_of(r, &flags),
                                           .flags_read = peer->flags_read,
                                           .apis = copy_flags(&peer->flag_apis, r->report->arena),
                                           .served = peer->probe ? peer->probe->discovery : NULL,
                                           .probe = peer->probe});
    }
}

static void read_instances(struct reader *r, const struct ek_skew_facts *facts,
                           const struct ek_skew_spec *spec)
{
    bool seen[EK_COMPONENT_MAX] = {false};

    for (size_t i = 0; i < facts->n_instances; i++) {
        const struct ek_instance_fact *one = &facts->instances[i];
        const struct ek_versions *at = &one->versions;
        const char *name = ek_arena_printf(r->report->arena, "%s %s",
                                           ek_component_name(one->component), one->name);
        if (one->stale || ek_skew_ignored(spec, one->component))
            continue;
        seen[one->component] = true;
        if (one->component == EK_CLOUD_CONTROLLER_MANAGER) {
            say(r->report, EK_PLAN_WARNING, "not-planned", name,
                "the cloud controller manager has the versions of its provider: the plan has no "
                "step for it",
                "follow the documentation of the provider");
        } else if (!at->binary.known || !at->emulation.known) {
            say_unknown(r, name, at->unknown_reason);
            r->cluster->complete = false;
        } else {
            say_assumed(r, name, at);
            if (!one->flags_read)
                say_flags_unread(r, one->component, name);
            const struct flags flags = {one->flags_read, one->flag_gates, one->n_flag_gates,
                                        one->probe, at};
            add_part(r, one->component, name, 1, at,
                     (struct ek_plan_instance){.gates = gates_of(r, &flags)});
        }
    }
    for (int c = EK_KUBE_CONTROLLER_MANAGER; c <= EK_KUBE_SCHEDULER; c++)
        if (!seen[c] && !ek_skew_ignored(spec, (enum ek_component)c)) {
            say_unknown(r, ek_component_name((enum ek_component)c), "no instance was seen");
            r->cluster->complete = false;
        }
}

/* A bit for each pair of versions that some nodes have (EK_SKEW_GROUPS_MAX at most). */
static uint64_t nodes_of(const struct ek_skew_facts *facts, const struct ek_node_group *group)
{
    uint64_t ret = 0;

    for (size_t i = 0; i < facts->n_pairs && i < 64; i++) {
        const struct ek_node_pair *pair = &facts->pairs[i];
        struct ek_minor its = group->component == EK_KUBELET ? pair->kubelet : pair->kube_proxy;
        if (!ek_minor_cmp(its, group->versions.binary))
            ret |= UINT64_C(1) << i;
    }
    return ret;
}

static void read_nodes(struct reader *r, const struct ek_skew_facts *facts,
                       const struct ek_skew_spec *spec)
{
    struct ek_arena *arena = r->report->arena;
    bool kubelets = false, any = false;

    for (size_t i = 0; i < facts->n_groups; i++) {
        const struct ek_node_group *group = &facts->groups[i];
        const char *name =
            ek_arena_printf(arena, "%s %s (%zu)", ek_component_name(group->component),
                            group->version, group->count);
        if (ek_skew_ignored(spec, group->component))
            continue;
        any = true;
        kubelets |= group->component == EK_KUBELET;
        if (!group->versions.binary.known) {
            say_unknown(r, name, group->versions.unknown_reason);
            continue;
        }
        add_part(r, group->component, name, group->count, &group->versions,
                 (struct ek_plan_instance){.gates = ""});
        r->cluster->parts[r->cluster->n - 1].nodes = nodes_of(facts, group);
    }
    if (!kubelets && !ek_skew_ignored(spec, EK_KUBELET))
        say_unknown(r, "kubelet", "no node was seen");
    if (any)
        say_nodes_unread(r);
}

void ek_plan_cluster_read(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          const struct ek_plan_data *data, struct ek_plan_report *report,
                          struct ek_plan_cluster *ret_cluster)
{
    size_t max = facts->n_peers + facts->n_instances + facts->n_groups + 1;
    struct reader r = {data, report, ret_cluster};

    *ret_cluster = (struct ek_plan_cluster){
        .parts = ek_arena_alloc(report->arena, max * sizeof(struct ek_part)),
        .instances = ek_arena_alloc(report->arena, max * sizeof(struct ek_plan_instance)),
        .complete = facts->enumerated,
    };
    if (!facts->enumerated)
        say(report, EK_PLAN_UNKNOWN, "not-enumerated", "",
            ek_arena_printf(report->arena, "the list of API servers is not known: %s",
                            facts->not_enumerated),
            "evenkeel check reports what could not be read");
    read_peers(&r, facts);
    read_instances(&r, facts, spec);
    read_nodes(&r, facts, spec);
    if (!ek_plan_cluster_oldest(ret_cluster).known)
        ret_cluster->complete = false;
}

struct ek_minor ek_plan_cluster_oldest(const struct ek_plan_cluster *cluster)
{
    struct ek_minor ret = EK_MINOR_UNKNOWN;

    for (size_t i = 0; i < cluster->n; i++) {
        struct ek_minor at = cluster->parts[i].at.emulation;
        if (cluster->parts[i].component == EK_KUBE_APISERVER &&
            (!ret.known || ek_minor_cmp(at, ret) < 0))
            ret = at;
    }
    return ret;
}

/* True when a part has steps to take to a version that an API server's binary has. */
static bool is_behind(const struct ek_part *part, struct ek_minor version)
{
    struct ek_minor compat = ek_policy_default_min_compat(version, version);

    return ek_minor_cmp(part->at.binary, version) < 0 ||
           ek_minor_cmp(part->at.emulation, version) < 0 ||
           (part->component == EK_KUBE_APISERVER && ek_minor_cmp(part->at.min_compat, compat) < 0);
}

struct ek_minor ek_plan_cluster_next(const struct ek_plan_cluster *cluster)
{
    struct ek_minor newest = EK_MINOR_UNKNOWN;

    for (size_t i = 0; i < cluster->n; i++) {
        struct ek_minor at = cluster->parts[i].at.binary;
        if (cluster->parts[i].component == EK_KUBE_APISERVER &&
            (!newest.known || ek_minor_cmp(at, newest) > 0))
            newest = at;
    }
    for (size_t i = 0; i < cluster->n && newest.known; i++)
        if (is_behind(&cluster->parts[i], newest))
            return newest;
    return newest.known ? ek_minor_offset(newest, 1) : newest;
}

/* ---- Steps ---- */

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

static bool goes(const struct ek_api_lifecycle *life, const struct ek_upgrade_step *step)
{
    return life && reaches(step, life->removed);
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
