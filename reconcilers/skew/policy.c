/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/policy.h"

/* Kubelets and kube-proxies below this may be two minors behind instead of three. */
#define NARROW_BELOW EK_MINOR(1, 25)

#define BINARY_SPREAD_MAX 3

static const char *const verdict_names[] = {
#define X(name, text) text,
    EK_VERDICTS(X)
#undef X
};

static const char *const rule_names[] = {"",
#define X(name, text) text,
                                         EK_RULES(X)
#undef X
};

const char *ek_verdict_name(enum ek_verdict verdict)
{
    return (unsigned)verdict < EK_VERDICT_MAX ? verdict_names[verdict] : "";
}

const char *ek_rule_name(enum ek_rule rule)
{
    return (unsigned)rule < EK_RULE_MAX ? rule_names[rule] : "";
}

struct ek_minor ek_policy_usable(struct ek_minor v)
{
    return v.major == 0 ? EK_MINOR_UNKNOWN : v;
}

static void lower(struct ek_skew_bound *bound, struct ek_minor v, const char *by)
{
    if (v.known && (!bound->at.known || ek_minor_cmp(v, bound->at) < 0))
        *bound = (struct ek_skew_bound){v, by};
}

static void raise(struct ek_skew_bound *bound, struct ek_minor v, const char *by)
{
    if (v.known && (!bound->at.known || ek_minor_cmp(v, bound->at) > 0))
        *bound = (struct ek_skew_bound){v, by};
}

struct ek_bounds ek_policy_bounds(const struct ek_server *servers, size_t n)
{
    struct ek_bounds b = {.n = n, .complete = n > 0};
    for (size_t i = 0; i < n; i++) {
        const struct ek_server *s = &servers[i];
        lower(&b.min_ev, s->ev, s->name);
        raise(&b.max_ev, s->ev, s->name);
        raise(&b.max_mcv, s->mcv, s->name);
        lower(&b.min_bv, s->bv, s->name);
        raise(&b.max_bv, s->bv, s->name);
        if (!s->ev.known || !s->mcv.known || !s->bv.known)
            b.complete = false;
    }
    return b;
}

static struct ek_minor later(struct ek_minor a, struct ek_minor b)
{
    if (!a.known || !b.known)
        return a.known ? a : b;
    return ek_minor_cmp(a, b) >= 0 ? a : b;
}

bool ek_policy_has_version_info(struct ek_minor bv)
{
    return bv.known && ek_minor_cmp(bv, EK_MINOR(1, 34)) >= 0;
}

struct ek_minor ek_policy_floor(struct ek_minor bv)
{
    if (ek_minor_cmp(bv, EK_FIRST_EMULATION) <= 0)
        return bv;
    return later(ek_minor_offset(bv, -3), EK_FIRST_EMULATION);
}

static bool reaches(struct ek_minor bv, struct ek_minor first, struct ek_minor v)
{
    return bv.known && v.known && ek_minor_cmp(bv, first) >= 0 && ek_minor_cmp(v, bv) <= 0 &&
           ek_minor_cmp(v, ek_policy_floor(bv)) >= 0;
}

bool ek_policy_can_emulate(struct ek_minor bv, struct ek_minor v)
{
    return reaches(bv, EK_FIRST_EMULATION, v);
}

bool ek_policy_can_be_compatible(struct ek_minor bv, struct ek_minor v)
{
    return reaches(bv, EK_FIRST_MIN_COMPAT, v);
}

struct ek_minor ek_policy_default_min_compat(struct ek_minor bv, struct ek_minor ev)
{
    if (!ev.known)
        return EK_MINOR_UNKNOWN;
    struct ek_minor mcv = ek_minor_offset(ev, -1);
    struct ek_minor floor = later(ek_minor_offset(bv, -3), EK_FIRST_EMULATION);
    /* No binary up to 1.31 can emulate, and none of them knows the floor: plain EV-1. */
    bool no_floor = bv.known && ek_minor_cmp(bv, EK_FIRST_EMULATION) <= 0;
    if (no_floor || ek_minor_cmp(ev, floor) < 0)
        return mcv;
    return later(mcv, floor);
}

struct ek_server ek_policy_raised(struct ek_server s, struct ek_minor target)
{
    if (!s.ev.known || !target.known || ek_minor_cmp(s.ev, target) >= 0)
        return s;
    s.ev = target;
    if (s.bv.known)
        s.bv = later(s.bv, target);
    s.mcv = ek_policy_default_min_compat(s.bv, s.ev);
    return s;
}

static bool is_node_component(enum ek_component component)
{
    return component == EK_KUBELET || component == EK_KUBE_PROXY;
}

static bool emulates(enum ek_component component)
{
    return component == EK_KUBE_CONTROLLER_MANAGER || component == EK_KUBE_SCHEDULER;
}

static struct ek_skew_bound offset(struct ek_skew_bound bound, int n)
{
    return (struct ek_skew_bound){ek_minor_offset(bound.at, n), bound.by};
}

struct ek_range ek_policy_range(enum ek_component component, struct ek_minor bv,
                                const struct ek_bounds *bounds, const struct ek_skew_policy *policy)
{
    bool node = is_node_component(component);
    int skew = node ? policy->max_kubelet_skew : policy->max_controller_skew;
    int behind = 0;
    if (node)
        behind = bv.known && ek_minor_cmp(bv, NARROW_BELOW) < 0 ? 1 : 2;
    struct ek_range range = {offset(bounds->max_mcv, -behind), bounds->min_ev};
    if (skew != EK_SKEW_UNSET && bounds->max_ev.at.known)
        raise(&range.min, ek_minor_offset(bounds->max_ev.at, -skew), bounds->max_ev.by);
    /* A kubelet may not be newer than any API server's binary either: it matters only where a
     * server's EV is not known. */
    if (node)
        lower(&range.max, bounds->min_bv.at, bounds->min_bv.by);
    return range;
}

struct ek_range ek_policy_kubectl_range(const struct ek_bounds *bounds)
{
    return (struct ek_range){bounds->max_mcv, offset(bounds->min_ev, 1)};
}

struct ek_minor ek_policy_judged_version(enum ek_component component, struct ek_minor bv,
                                         struct ek_minor ev)
{
    if (is_node_component(component))
        return bv;
    return ev.known || emulates(component) ? ev : bv;
}

static enum ek_rule range_rule(enum ek_component component)
{
    if (component == EK_KUBELET)
        return EK_RULE_KUBELET_RANGE;
    return component == EK_KUBE_PROXY ? EK_RULE_KUBE_PROXY_RANGE : EK_RULE_CONTROLLER_RANGE;
}

static bool below(struct ek_minor v, const struct ek_range *range)
{
    return range->min.at.known && ek_minor_cmp(v, range->min.at) < 0;
}

static bool outside(struct ek_minor v, const struct ek_range *range)
{
    return below(v, range) || (range->max.at.known && ek_minor_cmp(v, range->max.at) > 0);
}

/* A newer controller binary may call APIs that an older server's binary lacks, even at equal EV.
 * Cloud controller managers are built from other repositories and not held to it. */
static bool binary_too_new(enum ek_component component, struct ek_minor bv,
                           const struct ek_bounds *bounds)
{
    return emulates(component) && bv.known && bounds->min_bv.at.known &&
           ek_minor_cmp(bv, bounds->min_bv.at) > 0;
}

enum ek_verdict ek_policy_check(enum ek_component component, struct ek_minor bv, struct ek_minor ev,
                                const struct ek_bounds *bounds, const struct ek_skew_policy *policy,
                                enum ek_rule *ret_rule)
{
    struct ek_minor v = ek_policy_judged_version(component, bv, ev);
    struct ek_range range = ek_policy_range(component, bv, bounds, policy);
    *ret_rule = EK_RULE_NONE;
    /* None emulates a version newer than its binary: an old binary is too old at any version. */
    if (v.known ? outside(v, &range) : bv.known && below(bv, &range))
        *ret_rule = range_rule(component);
    else if (binary_too_new(component, bv, bounds))
        *ret_rule = EK_RULE_CONTROLLER_BINARY;
    if (*ret_rule != EK_RULE_NONE)
        return EK_VERDICT_UNSUPPORTED;
    return v.known && bv.known && bounds->complete ? EK_VERDICT_SUPPORTED : EK_VERDICT_UNKNOWN;
}

/* True when v is more than n minors below bound. */
static bool far_below(struct ek_minor v, const struct ek_skew_bound *bound, int n)
{
    return v.known && bound->at.known && ek_minor_cmp(v, ek_minor_offset(bound->at, -n)) < 0;
}

enum ek_verdict ek_policy_check_server(const struct ek_server *server,
                                       const struct ek_bounds *bounds,
                                       const struct ek_skew_policy *policy, enum ek_rule *rules,
                                       size_t *ret_n)
{
    enum ek_rule broken[EK_SERVER_RULES_MAX];
    size_t n = 0;
    if (far_below(server->ev, &bounds->max_ev, policy->max_apiserver_skew))
        broken[n++] = EK_RULE_APISERVER_EMULATION_SPREAD;
    if (server->mcv.known && bounds->min_ev.at.known &&
        ek_minor_cmp(server->mcv, bounds->min_ev.at) > 0)
        broken[n++] = EK_RULE_APISERVER_COMPATIBILITY;
    if (far_below(server->bv, &bounds->max_bv, BINARY_SPREAD_MAX))
        broken[n++] = EK_RULE_APISERVER_BINARY_SPREAD;
    for (size_t i = 0; rules && i < n; i++)
        rules[i] = broken[i];
    if (ret_n)
        *ret_n = n;
    if (n > 0)
        return EK_VERDICT_UNSUPPORTED;
    if (!bounds->complete)
        return EK_VERDICT_UNKNOWN;
    return far_below(server->ev, &bounds->max_ev, 0) ? EK_VERDICT_AT_LIMIT : EK_VERDICT_SUPPORTED;
}

int ek_policy_proxy_skew(struct ek_minor proxy)
{
    return ek_minor_cmp(proxy, NARROW_BELOW) < 0 ? 2 : 3;
}

bool ek_policy_proxy_fits_kubelet(struct ek_minor proxy, struct ek_minor kubelet)
{
    int n = ek_policy_proxy_skew(proxy);
    return ek_minor_cmp(proxy, ek_minor_offset(kubelet, -n)) >= 0 &&
           ek_minor_cmp(proxy, ek_minor_offset(kubelet, n)) <= 0;
}

bool ek_policy_skips_minor(struct ek_minor from, struct ek_minor to)
{
    return from.known && to.known && ek_minor_cmp(to, ek_minor_offset(from, 1)) > 0;
}
