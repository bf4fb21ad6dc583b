/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/judge_text.h"

#include <string.h>

#include "reconcilers/skew/text.h"

/* Names shown before "and N more" (as OpenShift's kubelet check does: three). */
#define NAMES_SHOWN 3

const char *ek_judge_text_instance(struct ek_arena *arena, const struct ek_instance_fact *instance)
{
    return ek_arena_printf(arena, "%s %s", ek_component_name(instance->component),
                           ek_skew_clean(arena, instance->name));
}

const char *ek_judge_text_group(struct ek_arena *arena, const struct ek_node_group *group)
{
    const char *version = group->version[0] ? group->version : "without a version";
    return ek_arena_printf(
        arena, "%s %s on %zu node%s (%s)", ek_component_name(group->component),
        ek_skew_clean(arena, version), group->count, group->count == 1 ? "" : "s",
        ek_skew_names_text(arena, group->names, group->n_names, group->count, NAMES_SHOWN));
}

const char *ek_judge_text_incomplete(struct ek_arena *arena, const struct ek_skew_facts *facts,
                                     const char *const *unknown, size_t n_unknown,
                                     const struct ek_judgement *judgement)
{
    if (!facts->enumerated)
        return ek_arena_printf(arena, "the list of API servers is not known: %s",
                               ek_skew_clean_max(arena, facts->not_enumerated, 256));
    if (judgement->n_servers == 0)
        return "no live API server was found";
    if (n_unknown == 0)
        return "";
    return ek_arena_printf(arena, "the version of API server%s %s is not known",
                           n_unknown == 1 ? "" : "s",
                           ek_skew_names_text(arena, unknown, n_unknown, n_unknown, NAMES_SHOWN));
}

/* True for the components that take --emulated-version, API servers left out. */
static bool emulates(enum ek_component component)
{
    return component == EK_KUBE_CONTROLLER_MANAGER || component == EK_KUBE_SCHEDULER;
}

/* The server that sets a bound, which is known. */
static const struct ek_server *server_of(const struct ek_judgement *j,
                                         const struct ek_skew_bound *bound)
{
    size_t i = 0;

    while (i + 1 < j->n_servers && j->servers[i].name != bound->by)
        i++;
    return &j->servers[i];
}

/* "is at 1.36"; "emulates 1.35" of a binary that is newer. */
static const char *at_text(struct ek_arena *arena, const struct ek_server *s)
{
    bool emulates = s->bv.known && s->ev.known && ek_minor_cmp(s->ev, s->bv) < 0;
    return ek_arena_printf(arena, "%s %s", emulates ? "emulates" : "is at",
                           ek_skew_minor_text(arena, s->ev));
}

/* How a server at version from gets to version to: by its flag as far as its binary goes, else by
 * another binary. what precedes its name, when follows the version. */
static const char *raise_text(struct ek_arena *arena, const char *what, const struct ek_server *s,
                              struct ek_minor from, struct ek_minor to, const char *when)
{
    const char *how = ek_policy_can_emulate(s->bv, to) ? "raise --emulated-version of" : "upgrade";
    bool far = ek_policy_skips_minor(from, to);
    return ek_arena_printf(arena, "%s %s%s to %s%s%s", how, what, s->name,
                           ek_skew_minor_text(arena, to), when, far ? ", one minor at a time" : "");
}

static const char *raise_server(struct ek_arena *arena, const struct ek_server *s,
                                struct ek_minor to)
{
    return raise_text(arena, "", s, s->ev, to, "");
}

static struct ek_said said_spread(struct ek_arena *arena, const struct ek_server *s,
                                  const struct ek_bounds *b, int skew)
{
    return (struct ek_said){ek_arena_printf(arena,
                                            "API server %s %s, more than %d minor%s behind %s (%s)",
                                            s->name, at_text(arena, s), skew, skew == 1 ? "" : "s",
                                            b->max_ev.by, ek_skew_minor_text(arena, b->max_ev.at)),
                            raise_server(arena, s, ek_minor_offset(b->max_ev.at, -skew))};
}

static struct ek_said said_compatibility(struct ek_arena *arena, const struct ek_server *s,
                                         const struct ek_judgement *j)
{
    const struct ek_skew_bound *oldest = &j->bounds.min_ev;
    const struct ek_server *other = server_of(j, oldest);
    const char *mcv = ek_skew_minor_text(arena, s->mcv);
    const char *ev = ek_skew_minor_text(arena, oldest->at);
    const char *start =
        ek_policy_can_be_compatible(s->bv, oldest->at)
            ? ek_arena_printf(arena, ", or start %s with --min-compatibility-version=%s", s->name,
                              ev)
            : "";
    return (struct ek_said){
        ek_arena_printf(arena,
                        "API server %s is compatible with %s and later only, but %s %s: it may not "
                        "understand what %s stores",
                        s->name, mcv, oldest->by, at_text(arena, other), s->name),
        ek_arena_printf(arena, "%s%s", raise_server(arena, other, s->mcv), start)};
}

static struct ek_said said_binaries(struct ek_arena *arena, const struct ek_server *s,
                                    const struct ek_bounds *b)
{
    return (struct ek_said){
        ek_arena_printf(arena,
                        "the binary of API server %s (%s) is more than 3 minors behind %s "
                        "(%s)",
                        s->name, ek_skew_minor_text(arena, s->bv), b->max_bv.by,
                        ek_skew_minor_text(arena, b->max_bv.at)),
        ek_arena_printf(arena, "upgrade the binary of %s to %s or later", s->name,
                        ek_skew_minor_text(arena, ek_minor_offset(b->max_bv.at, -3)))};
}

struct ek_said ek_judge_text_server(struct ek_arena *arena, const struct ek_server *server,
                                    enum ek_rule rule, const struct ek_judgement *judgement,
                                    const struct ek_skew_policy *policy)
{
    if (rule == EK_RULE_APISERVER_EMULATION_SPREAD)
        return said_spread(arena, server, &judgement->bounds, policy->max_apiserver_skew);
    if (rule == EK_RULE_APISERVER_COMPATIBILITY)
        return said_compatibility(arena, server, judgement);
    return said_binaries(arena, server, &judgement->bounds);
}

struct ek_said ek_judge_text_server_limit(struct ek_arena *arena, const struct ek_server *server,
                                          const struct ek_judgement *judgement)
{
    const struct ek_skew_bound *newest = &judgement->bounds.max_ev;
    return (struct ek_said){ek_arena_printf(arena,
                                            "API server %s %s while %s is at %s: no API server can "
                                            "be upgraded further before it",
                                            server->name, at_text(arena, server), newest->by,
                                            ek_skew_minor_text(arena, newest->at)),
                            raise_server(arena, server, newest->at)};
}

static bool is_older(struct ek_minor a, struct ek_minor b)
{
    return a.known && b.known && ek_minor_cmp(a, b) < 0;
}

/* Up into the range, as far as the flag of its binary goes or with another binary; the upper end
 * of the range may be unknown. */
static const char *upgrade_text(struct ek_arena *arena, const struct ek_judge_subject *who,
                                const struct ek_range *range)
{
    bool by_flag = who->own.known && ek_policy_can_emulate(who->bv, range->min.at);
    const char *how = by_flag ? "raise its --emulated-version" : "upgrade it";
    const char *min = ek_skew_minor_text(arena, range->min.at);
    struct ek_minor max = range->max.at;
    if (by_flag && (!max.known || is_older(who->bv, max)))
        max = who->bv;
    if (!max.known)
        return ek_arena_printf(arena, "%s to %s or later", how, min);
    if (ek_minor_cmp(range->min.at, max) == 0)
        return ek_arena_printf(arena, "%s to %s", how, min);
    return ek_arena_printf(arena, "%s to %s or later, at most %s", how, min,
                           ek_skew_minor_text(arena, max));
}

/* Down into the range: by a flag where the binary may stay (EK_RULE_CONTROLLER_BINARY). */
static const char *return_text(struct ek_arena *arena, const struct ek_judge_subject *who,
                               struct ek_minor max, const struct ek_bounds *bounds)
{
    bool by_flag = emulates(who->component) && ek_policy_can_emulate(who->bv, max) &&
                   !is_older(bounds->min_bv.at, who->bv);
    return ek_arena_printf(arena, by_flag ? "start it with --emulated-version=%s" : "return to %s",
                           ek_skew_minor_text(arena, max));
}

struct ek_said ek_judge_text_range(struct ek_arena *arena, const struct ek_judge_subject *who,
                                   const struct ek_range *range, const struct ek_judgement *j)
{
    struct ek_minor own = who->own.known ? who->own : who->bv;
    const char *v = ek_skew_minor_text(arena, own);
    const char *min = ek_skew_minor_text(arena, range->min.at);
    const char *max = ek_skew_minor_text(arena, range->max.at);
    const char *note = who->own.known ? "" : " at most";
    if (is_older(range->max.at, range->min.at))
        return (struct ek_said){
            ek_arena_printf(arena,
                            "%s is at %s%s, but no version suits all API servers: %s needs "
                            "%s or later, %s %s or earlier",
                            who->label, v, note, range->min.by, min, range->max.by, max),
            ek_arena_printf(arena, "bring API servers %s and %s closer together first",
                            range->min.by, range->max.by)};
    if (is_older(own, range->min.at))
        return (struct ek_said){
            ek_arena_printf(arena, "%s is at %s%s, older than the %s that API server %s requires",
                            who->label, v, note, min, range->min.by),
            upgrade_text(arena, who, range)};
    return (struct ek_said){
        ek_arena_printf(arena, "%s is at %s%s, newer than the %s that API server %s allows",
                        who->label, v, note, max, range->max.by),
        ek_arena_printf(arena, "%s, or %s",
                        raise_text(arena, "API server ", server_of(j, &range->max), range->max.at,
                                   own, " first"),
                        return_text(arena, who, range->max.at, &j->bounds))};
}

struct ek_said ek_judge_text_limit(struct ek_arena *arena, const struct ek_judge_subject *who,
                                   const struct ek_range *now, const struct ek_range *later)
{
    const char *min = ek_skew_minor_text(arena, later->min.at);
    bool by_flag = ek_policy_can_emulate(who->bv, later->min.at) && is_older(who->own, who->bv);
    const char *how = ek_arena_printf(arena, "%s to %s",
                                      by_flag ? "raise its --emulated-version" : "upgrade it", min);
    return (struct ek_said){
        ek_arena_printf(arena,
                        "%s is at %s: supported now, but not after the API servers are upgraded by "
                        "one minor (they will require %s)",
                        who->label, ek_skew_minor_text(arena, who->own), min),
        is_older(now->max.at, later->min.at)
            ? ek_arena_printf(arena,
                              "%s once every API server is at %s, before one is upgraded further",
                              how, min)
            : ek_arena_printf(arena, "%s before the API servers are upgraded", how)};
}

struct ek_said ek_judge_text_binary(struct ek_arena *arena, const char *label, struct ek_minor bv,
                                    const struct ek_bounds *bounds)
{
    const char *v = ek_skew_minor_text(arena, bv);
    const char *server = ek_skew_minor_text(arena, bounds->min_bv.at);
    return (struct ek_said){
        ek_arena_printf(arena,
                        "the binary of %s (%s) is newer than that of API server %s (%s): it "
                        "may call APIs that %s lacks",
                        label, v, bounds->min_bv.by, server, bounds->min_bv.by),
        ek_arena_printf(arena, "upgrade API server %s to %s first, or return to %s",
                        bounds->min_bv.by, v, server)};
}

#define IN_POD    "run it from a pod with its program as the command and its flags as plain arguments"
#define SEE_PEERS "see the condition PeersReachable"
#define TAGGED    "run it from a pod whose image tag is its version"

/* What lets a version of an API server be read: grant, unless the server does not answer, or the
 * flags of its pod. */
static const char *server_remedy(struct ek_arena *arena, const struct ek_judge_subject *who,
                                 const char *grant)
{
    const char *why = who->unreachable ? who->unreachable : "";
    const char *const ways[] = {!*why ? grant
                                : strcmp(why, "NotTrusted") == 0
                                    ? "name its address in spec.peers.endpoints"
                                    : SEE_PEERS,
                                IN_POD};
    return ek_skew_or_text(arena, ways, EK_ARRAY_SIZE(ways));
}

/* What lets the emulation version of a component be read: its flags, its metrics where its release
 * reports the version there, LeaseCandidates where each API server serves them. */
static const char *emulation_remedy(struct ek_arena *arena, const struct ek_judge_subject *who,
                                    const struct ek_bounds *bounds)
{
    bool metrics = ek_policy_has_version_info(who->bv);
    const char *const ways[] = {IN_POD, metrics ? "make its metrics readable" : "",
                                ek_skew_candidates_text(arena, bounds->min_ev.at)};

    if (!emulates(who->component))
        return server_remedy(arena, who,
                             metrics ? "grant get on /openapi/v3/version and /metrics"
                                     : "grant get on /openapi/v3/version");
    return ek_skew_or_text(arena, ways, EK_ARRAY_SIZE(ways));
}

/* What has a version that no source reports. Of the other components only the image is read. */
static const char *observing_remedy(struct ek_arena *arena, enum ek_component component,
                                    const struct ek_versions *versions,
                                    const struct ek_bounds *bounds)
{
    if (component == EK_KUBE_APISERVER)
        return "check that it answers /version";
    if (versions->no_pod)
        return ek_skew_ignore_text(arena, component);
    bool metrics = emulates(component) && ek_policy_has_version_info(bounds->min_bv.at);
    return ek_arena_printf(arena, "%s, or %s", metrics ? "make its metrics readable" : TAGGED,
                           ek_skew_ignore_text(arena, component));
}

/* What helps against each reason; the reasons are those of struct ek_versions. */
static const char *remedy_for(struct ek_arena *arena, const struct ek_judge_subject *who,
                              const struct ek_versions *versions, const char *reason,
                              const struct ek_bounds *bounds)
{
    static const char *const remedies[][2] = {
        {"Absent", "check that the component reports its status"},
        {"Unparsable", "make it report a version such as v1.36.2"},
        {"NotProbed", "wait for the first probe"},
        {"TooMany", "reduce the number of different versions"},
        {"Forbidden", "grant get on /version and /metrics"},
        {"NodeUnproven", "if that node is of the control plane, give it the label "
                         "node-role.kubernetes.io/control-plane, which no kubelet can give itself; "
                         "otherwise remove the pod"},
        {"Contradiction", "read each API server by an address of its own: where Evenkeel is "
                          "installed, set spec.peers.discovery to Static and name the addresses in "
                          "spec.peers.endpoints; otherwise use a kubeconfig that names one server"},
    };
    if (strcmp(reason, "EmulationUnknown") == 0)
        return emulation_remedy(arena, who, bounds);
    if (strcmp(reason, "CompatibilityUnknown") == 0)
        return server_remedy(arena, who, "grant get on /version and /metrics");
    if (strcmp(reason, "NotObservable") == 0)
        return observing_remedy(arena, who->component, versions, bounds);
    if (strcmp(reason, "Unparsable") == 0 && versions->source == EK_SOURCE_POD_IMAGE)
        return TAGGED;
    for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
        if (strcmp(remedies[i][0], reason) == 0)
            return remedies[i][1];
    return SEE_PEERS;
}

struct ek_said ek_judge_text_unknown(struct ek_arena *arena, const struct ek_judge_subject *who,
                                     const struct ek_versions *versions, const char *reason,
                                     const struct ek_bounds *bounds)
{
    const char *raw = ek_skew_clean(arena, versions->binary_string);
    const char *why = versions->unread ? versions->unread : "";
    const char *remedy = remedy_for(arena, who, versions, reason, bounds);
    if (strcmp(reason, "EmulationUnknown") == 0)
        return (struct ek_said){ek_arena_printf(arena, "%s: emulation version not known%s%s",
                                                who->label, why[0] ? ": " : "", why),
                                remedy};
    if (strcmp(reason, "CompatibilityUnknown") == 0)
        return (struct ek_said){
            ek_arena_printf(arena, "%s: minimum compatibility version not known: it was not read",
                            who->label),
            remedy};
    if (strcmp(reason, "NodeUnproven") == 0)
        return (struct ek_said){
            ek_arena_printf(arena,
                            "%s: only a static pod reports its version, and the pod's node is not "
                            "known to be of the control plane (no label "
                            "node-role.kubernetes.io/control-plane)",
                            who->label),
            remedy};
    if (strcmp(reason, "Contradiction") == 0)
        return (struct ek_said){ek_arena_printf(arena, "%s: %s", who->label,
                                                ek_skew_clean_max(arena, versions->conflict, 256)),
                                remedy};
    const char *got = raw[0] ? ek_arena_printf(arena, ", reported \"%s\"", raw) : "";
    return (struct ek_said){
        ek_arena_printf(arena, "%s: version not known (%s%s)", who->label, reason, got), remedy};
}

struct ek_said ek_judge_text_vendor(struct ek_arena *arena, const char *label, struct ek_minor own)
{
    return (struct ek_said){
        ek_arena_printf(arena,
                        "%s has an image tag of %s, which is outside of what the API servers "
                        "allow but may be its vendor's own numbering",
                        label, ek_skew_minor_text(arena, own)),
        ek_arena_printf(arena, "check the vendor's compatibility table, or %s",
                        ek_skew_ignore_text(arena, EK_CLOUD_CONTROLLER_MANAGER))};
}

struct ek_said ek_judge_text_proxy(struct ek_arena *arena, const struct ek_node_pair *pair)
{
    return (struct ek_said){
        ek_arena_printf(
            arena, "kube-proxy %s runs with kubelet %s on %s: more than %s minors apart",
            ek_skew_minor_text(arena, pair->kube_proxy), ek_skew_minor_text(arena, pair->kubelet),
            ek_skew_names_text(arena, pair->names, pair->n_names, pair->count, NAMES_SHOWN),
            ek_policy_proxy_skew(pair->kube_proxy) == 2 ? "two" : "three"),
        "upgrade the older of the two"};
}

struct ek_said ek_judge_text_stale(const char *reason)
{
    static const char *const texts[][2] = {
        {"PingUnanswered", "does not count: it did not answer the election's ping"},
        {"Expired", "does not count: its lease has expired"},
        {"Superseded", "does not count: a newer instance has taken its place"},
        {"NotRunning", "does not count: its pod is not running"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(texts[i][0], reason) == 0)
            return (struct ek_said){texts[i][1], ""};
    return (struct ek_said){"does not count: no sign of life", ""};
}

struct ek_said ek_judge_text_absent(struct ek_arena *arena, enum ek_component component)
{
    const char *name = ek_component_name(component);
    if (component == EK_KUBELET)
        return (struct ek_said){"nodes cannot be listed: no kubelet version is known",
                                "grant list and watch on nodes"};
    return (struct ek_said){
        ek_arena_printf(
            arena, "no live %s was seen: no LeaseCandidate, election Lease or pod names one", name),
        ek_arena_printf(arena, "if the provider hides it, %s",
                        ek_skew_ignore_text(arena, component))};
}
