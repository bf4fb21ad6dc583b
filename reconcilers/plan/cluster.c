/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a cluster, and what is not known of them. */
#include "reconcilers/plan/cluster.h"

#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
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

static void say_flags_unread(struct reader *r, enum ek_component component, const char *name,
                             const struct ek_probe *probe)
{
    struct ek_arena *arena = r->report->arena;
    const char *flagz =
        probe && probe->flagz_answer.error.code
            ? ek_arena_printf(arena, " (/flagz: %s)", probe->flagz_answer.error.message)
            : "";
    const char *what = component == EK_KUBE_APISERVER ? "API server" : ek_component_name(component);

    say(r->report, EK_PLAN_UNKNOWN, "flags-unread", name,
        ek_arena_printf(arena,
                        "the flags of the %s cannot be read%s: a feature gate that is set to its "
                        "default is not seen, and a version without that gate does not start",
                        what, flagz),
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
    bool hidden = !strcmp(why, "NotObservable");

    say(r->report, EK_PLAN_UNKNOWN, "version-unknown", name,
        ek_arena_printf(r->report->arena, "the version is not known: %s",
                        *why && !hidden ? why : "no source reports it"),
        hidden ? "evenkeel check reports what could not be read; where a provider hides the "
                 "component, add it to spec.skewPolicy.ignoredComponents of the ControlPlane"
               : "evenkeel check reports what could not be read");
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
            say_flags_unread(r, EK_KUBE_APISERVER, name, peer->probe);
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
                say_flags_unread(r, one->component, name, NULL);
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

/* The oldest and newest versions of the API servers. */
struct extremes {
    struct ek_minor min_ev, max_ev, min_bv, max_bv, max_mcv;
};

static bool find_extremes(const struct ek_plan_cluster *cluster, struct extremes *ret)
{
    EK_AUTOFREE struct ek_server *servers = ek_xalloc((cluster->n + 1) * sizeof *servers);
    size_t n = 0;

    for (size_t i = 0; i < cluster->n; i++) {
        const struct ek_part *part = &cluster->parts[i];
        if (part->component == EK_KUBE_APISERVER)
            servers[n++] = (struct ek_server){part->name, part->at.binary, part->at.emulation,
                                              part->at.min_compat};
    }
    const struct ek_bounds b = ek_policy_bounds(servers, n);
    *ret = (struct extremes){b.min_ev.at, b.max_ev.at, b.min_bv.at, b.max_bv.at, b.max_mcv.at};
    return n > 0;
}

void ek_plan_cluster_newest(const struct ek_plan_cluster *cluster, struct ek_minor *ret_emulation,
                            struct ek_minor *ret_binary)
{
    struct extremes all;

    find_extremes(cluster, &all);
    *ret_emulation = all.max_ev;
    *ret_binary = all.max_bv;
}

bool ek_plan_cluster_previous(const struct ek_plan_cluster *cluster, struct ek_steps_goal *goal)
{
    struct extremes all;

    if (!find_extremes(cluster, &all))
        return false;
    struct ek_minor below = ek_minor_offset(all.max_ev, -1);
    bool raised = ek_minor_cmp(all.max_mcv, below) < 0 &&
                  ek_minor_cmp(below, ek_policy_floor(all.max_bv)) >= 0;
    goal->back = true;
    goal->version = all.min_ev;
    goal->binary = all.max_bv;
    if (ek_minor_cmp(all.min_ev, all.max_ev) < 0)
        return true;
    if (ek_minor_cmp(all.min_bv, all.max_bv) < 0)
        goal->binary = all.min_bv;
    else if (ek_minor_cmp(all.max_bv, all.max_ev) > 0 && !raised)
        goal->binary = all.max_ev;
    else
        goal->version = below;
    return true;
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
