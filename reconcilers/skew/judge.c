/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/judge.h"

#include "api/base/time.h"
#include "reconcilers/skew/judge_text.h"
#include "reconcilers/skew/text.h"

struct judge {
    const struct ek_skew_facts *facts;
    const struct ek_skew_spec *spec;
    struct ek_arena *arena;
    struct ek_judgement *out;
    struct ek_bounds raised; /* every server one minor further */
};

static struct ek_minor unless(bool doubted, struct ek_minor v)
{
    return doubted ? EK_MINOR_UNKNOWN : ek_policy_usable(v);
}

struct ek_known ek_skew_known__(const struct ek_versions *v)
{
    /* The others are worked out from the binary then. */
    bool unproven = v->unproven || v->disputed == EK_DISPUTED_BINARY;
    return (struct ek_known){unless(unproven, v->binary),
                             unless(unproven || v->assumed_emulation, v->emulation),
                             unless(unproven || v->assumed_min_compat, v->min_compat)};
}

static struct ek_server as_server(struct ek_arena *arena, const struct ek_peer_fact *peer)
{
    struct ek_known known = ek_skew_known__(&peer->versions);
    return (struct ek_server){ek_skew_clean(arena, peer->name), known.bv, known.ev, known.mcv};
}

/* The server's name and, where it is not the whole version, which of them is not known. */
static const char *with_missing(struct ek_arena *arena, const struct ek_server *s)
{
    if (!s->bv.known)
        return s->name;
    return ek_arena_printf(arena, "%s (%s)", s->name,
                           s->ev.known ? "minimum compatibility" : "emulation");
}

static void collect_servers(struct judge *j)
{
    struct ek_judgement *out = j->out;
    const char **unknown = ek_arena_alloc(j->arena, (j->facts->n_peers + 1) * sizeof(*unknown));
    size_t n_unknown = 0;
    out->servers = ek_arena_alloc(j->arena, (j->facts->n_peers + 1) * sizeof(*out->servers));
    struct ek_server *next =
        ek_arena_alloc(j->arena, (j->facts->n_peers + 1) * sizeof(struct ek_server));
    for (size_t i = 0; i < j->facts->n_peers; i++) {
        if (!j->facts->peers[i].live)
            continue;
        struct ek_server s = as_server(j->arena, &j->facts->peers[i]);
        if (!s.bv.known || !s.ev.known || !s.mcv.known)
            unknown[n_unknown++] = with_missing(j->arena, &s);
        next[out->n_servers] = ek_policy_raised(s, ek_minor_offset(s.ev, 1));
        out->servers[out->n_servers++] = s;
    }
    out->bounds = ek_policy_bounds(out->servers, out->n_servers);
    j->raised = ek_policy_bounds(next, out->n_servers);
    out->incomplete = ek_judge_text_incomplete(j->arena, j->facts, unknown, n_unknown, out);
    if (out->incomplete[0])
        out->bounds.complete = j->raised.complete = false;
}

static void add_violation(struct judge *j, enum ek_component component, enum ek_rule rule,
                          const char *instance, struct ek_said said)
{
    j->out->violations[j->out->n_violations++] =
        (struct ek_violation){component,    rule,        ek_skew_clean(j->arena, instance),
                              said.message, said.remedy, EK_TIME_UNSET};
}

static struct ek_judged judged(enum ek_verdict verdict, enum ek_rule rule, const char *reason,
                               struct ek_said said)
{
    return (struct ek_judged){verdict, rule, reason, said.message, said.remedy};
}

static struct ek_judged ignored(void)
{
    return judged(EK_VERDICT_NOT_JUDGED, EK_RULE_NONE, "Ignored",
                  (struct ek_said){"left out by spec.skewPolicy.ignoredComponents", ""});
}

/* The verdict where the rules could not decide: which version is missing? The MCV matters for API
 * servers alone. */
static struct ek_judged undecided(struct judge *j, const struct ek_judge_subject *who,
                                  const struct ek_versions *versions)
{
    bool is_server = who->component == EK_KUBE_APISERVER;
    struct ek_known known = ek_skew_known__(versions);
    const char *reason = "";
    if (versions->unproven)
        reason = "NodeUnproven";
    else if (versions->disputed != EK_DISPUTED_NONE)
        reason = "Contradiction";
    else if (!known.bv.known)
        reason = versions->unknown_reason[0] ? versions->unknown_reason : "NotObservable";
    else if (!who->own.known)
        reason = "EmulationUnknown";
    else if (is_server && !known.mcv.known)
        reason = "CompatibilityUnknown";
    if (!reason[0])
        return judged(EK_VERDICT_UNKNOWN, EK_RULE_NONE, "ApiserverUnknown",
                      (struct ek_said){j->out->incomplete, ""});
    return judged(EK_VERDICT_UNKNOWN, EK_RULE_NONE, reason,
                  ek_judge_text_unknown(j->arena, who, versions, reason, &j->out->bounds));
}

static struct ek_judged judge_peer(struct judge *j, const struct ek_peer_fact *peer)
{
    enum ek_rule rules[EK_SERVER_RULES_MAX];
    size_t n = 0;
    if (ek_skew_ignored(j->spec, EK_KUBE_APISERVER))
        return ignored();
    if (!peer->live)
        return judged(EK_VERDICT_NOT_JUDGED, EK_RULE_NONE, "NotLive",
                      (struct ek_said){"not live: the skew rules do not count it", ""});
    struct ek_server s = as_server(j->arena, peer);
    enum ek_verdict verdict =
        ek_policy_check_server(&s, &j->out->bounds, &j->spec->policy, rules, &n);
    for (size_t i = 0; i < n; i++)
        add_violation(j, EK_KUBE_APISERVER, rules[i], peer->name,
                      ek_judge_text_server(j->arena, &s, rules[i], j->out, &j->spec->policy));
    if (verdict == EK_VERDICT_UNSUPPORTED) {
        const struct ek_violation *first = &j->out->violations[j->out->n_violations - n];
        return judged(verdict, rules[0], ek_rule_name(rules[0]),
                      (struct ek_said){first->message, first->remedy});
    }
    if (verdict == EK_VERDICT_UNKNOWN)
        return undecided(j,
                         &(struct ek_judge_subject){
                             ek_arena_printf(j->arena, "API server %s", s.name), EK_KUBE_APISERVER,
                             s.bv, s.ev, peer->reachable ? NULL : peer->unreachable_reason},
                         &peer->versions);
    if (verdict == EK_VERDICT_AT_LIMIT)
        return judged(verdict, EK_RULE_NONE, "NextUpgradeBreaks",
                      ek_judge_text_server_limit(j->arena, &s, j->out));
    return judged(verdict, EK_RULE_NONE, "WithinRange", (struct ek_said){"", ""});
}

/* Judges a controller instance or a node group alike. */
static struct ek_judged judge_component(struct judge *j, enum ek_component component,
                                        const char *instance, const char *label,
                                        const struct ek_versions *versions)
{
    enum ek_rule rule, later;
    struct ek_known known = ek_skew_known__(versions);
    struct ek_minor bv = known.bv, ev = known.ev;
    struct ek_minor own = ek_policy_judged_version(component, bv, ev);
    const struct ek_skew_policy *policy = &j->spec->policy;
    enum ek_verdict verdict = ek_policy_check(component, bv, ev, &j->out->bounds, policy, &rule);
    struct ek_range range = ek_policy_range(component, bv, &j->out->bounds, policy);
    const struct ek_judge_subject subject = {label, component, bv, own, NULL};
    if (verdict == EK_VERDICT_UNSUPPORTED && component == EK_CLOUD_CONTROLLER_MANAGER &&
        versions->source == EK_SOURCE_POD_IMAGE)
        return judged(EK_VERDICT_UNKNOWN, EK_RULE_NONE, "VendorVersion",
                      ek_judge_text_vendor(j->arena, label, own));
    if (verdict == EK_VERDICT_UNSUPPORTED) {
        struct ek_said said = rule == EK_RULE_CONTROLLER_BINARY
                                  ? ek_judge_text_binary(j->arena, label, bv, &j->out->bounds)
                                  : ek_judge_text_range(j->arena, &subject, &range, j->out);
        add_violation(j, component, rule, instance, said);
        return judged(verdict, rule, ek_rule_name(rule), said);
    }
    if (verdict == EK_VERDICT_UNKNOWN)
        return undecided(j, &subject, versions);
    if (ek_policy_check(component, bv, ev, &j->raised, policy, &later) == EK_VERDICT_UNSUPPORTED) {
        struct ek_range raised = ek_policy_range(component, bv, &j->raised, policy);
        return judged(EK_VERDICT_AT_LIMIT, EK_RULE_NONE, "NextUpgradeBreaks",
                      ek_judge_text_limit(j->arena, &subject, &range, &raised));
    }
    return judged(EK_VERDICT_SUPPORTED, EK_RULE_NONE, "WithinRange", (struct ek_said){"", ""});
}

static struct ek_judged judge_instance(struct judge *j, const struct ek_instance_fact *instance)
{
    if (instance->stale)
        return judged(EK_VERDICT_NOT_JUDGED, EK_RULE_NONE,
                      instance->stale_reason[0] ? instance->stale_reason : "Stale",
                      ek_judge_text_stale(instance->stale_reason));
    if (ek_skew_ignored(j->spec, instance->component))
        return ignored();
    return judge_component(j, instance->component, instance->name,
                           ek_judge_text_instance(j->arena, instance), &instance->versions);
}

/* KubeProxyNodeRange: the kube-proxies of this group against the kubelets of their nodes. */
static struct ek_judged judge_proxy_nodes(struct judge *j, const struct ek_node_group *proxy,
                                          struct ek_judged before)
{
    struct ek_minor own = ek_policy_usable(proxy->versions.binary);
    const enum ek_rule rule = EK_RULE_KUBE_PROXY_NODE_RANGE;
    for (size_t i = 0; own.known && i < j->facts->n_pairs; i++) {
        const struct ek_node_pair *pair = &j->facts->pairs[i];
        struct ek_minor kubelet = ek_policy_usable(pair->kubelet);
        if (!kubelet.known || !pair->kube_proxy.known || ek_minor_cmp(pair->kube_proxy, own) != 0 ||
            ek_policy_proxy_fits_kubelet(own, kubelet))
            continue;
        struct ek_said said = ek_judge_text_proxy(j->arena, pair);
        add_violation(j, EK_KUBE_PROXY, rule, proxy->version, said);
        return judged(EK_VERDICT_UNSUPPORTED, rule, ek_rule_name(rule), said);
    }
    return before;
}

static struct ek_judged judge_group(struct judge *j, const struct ek_node_group *group)
{
    if (ek_skew_ignored(j->spec, group->component))
        return ignored();
    struct ek_judged verdict =
        judge_component(j, group->component, group->version, ek_judge_text_group(j->arena, group),
                        &group->versions);
    if (group->component == EK_KUBE_PROXY && verdict.verdict != EK_VERDICT_UNSUPPORTED)
        verdict = judge_proxy_nodes(j, group, verdict);
    return verdict;
}

static bool seen_live(const struct ek_skew_facts *facts, enum ek_component component)
{
    for (size_t i = 0; i < facts->n_instances; i++)
        if (facts->instances[i].component == component && !facts->instances[i].stale)
            return true;
    return false;
}

/* What every cluster has but was not seen is unknown, not fine. */
static void judge_absent(struct judge *j, bool nodes_available)
{
    static const enum ek_component expected[] = {EK_KUBE_CONTROLLER_MANAGER, EK_KUBE_SCHEDULER,
                                                 EK_KUBELET};
    struct ek_judgement *out = j->out;
    out->absent =
        ek_arena_alloc(j->arena, sizeof(expected) / sizeof(*expected) * sizeof(*out->absent));
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        enum ek_component c = expected[i];
        if (ek_skew_ignored(j->spec, c) ||
            (c == EK_KUBELET ? nodes_available : seen_live(j->facts, c)))
            continue;
        out->absent[out->n_absent++] =
            (struct ek_absent){c, judged(EK_VERDICT_UNKNOWN, EK_RULE_NONE, "NotObserved",
                                         ek_judge_text_absent(j->arena, c))};
        out->counts[c][EK_VERDICT_UNKNOWN]++;
    }
}

static void judge_all(struct judge *j)
{
    const struct ek_skew_facts *facts = j->facts;
    struct ek_judgement *out = j->out;
    for (size_t i = 0; i < facts->n_peers; i++) {
        out->peers[i] = judge_peer(j, &facts->peers[i]);
        out->counts[EK_KUBE_APISERVER][out->peers[i].verdict]++;
    }
    for (size_t i = 0; i < facts->n_instances; i++) {
        out->instances[i] = judge_instance(j, &facts->instances[i]);
        out->counts[facts->instances[i].component][out->instances[i].verdict]++;
    }
    for (size_t i = 0; i < facts->n_groups; i++) {
        out->groups[i] = judge_group(j, &facts->groups[i]);
        out->counts[facts->groups[i].component][out->groups[i].verdict] += facts->groups[i].count;
    }
}

void ek_skew_judge(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                   bool nodes_available, struct ek_arena *arena, struct ek_judgement *ret)
{
    *ret = (struct ek_judgement){0};
    struct judge j = {.facts = facts, .spec = spec, .arena = arena, .out = ret};
    size_t n_violations =
        facts->n_peers * EK_SERVER_RULES_MAX + facts->n_instances + facts->n_groups;
    ret->peers = ek_arena_alloc(arena, (facts->n_peers + 1) * sizeof(*ret->peers));
    ret->instances = ek_arena_alloc(arena, (facts->n_instances + 1) * sizeof(*ret->instances));
    ret->groups = ek_arena_alloc(arena, (facts->n_groups + 1) * sizeof(*ret->groups));
    ret->violations = ek_arena_alloc(arena, (n_violations + 1) * sizeof(*ret->violations));
    collect_servers(&j);
    judge_all(&j);
    judge_absent(&j, nodes_available);
    ek_skew_judge_next__(facts, spec, arena, ret);
}
