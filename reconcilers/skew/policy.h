/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skew rules, as arithmetic on versions: no objects, no texts, no time.
 *
 * A rule compares one component instance with the set of live API servers. The set enters as
 * bounds: the extremes of emulation version (EV), minimum compatibility version (MCV) and binary
 * version (BV), each with the server that causes it, so that a message can name it. A server whose
 * version is not known makes the bounds incomplete; known servers only ever narrow what is
 * allowed, so a violation of incomplete bounds is proven, while compliance is not.
 *
 * Every rule has a name that is shown to users; README.md beside this file gives the meaning and
 * the source of each. Pure; nothing is owned or allocated.
 */
#ifndef RECONCILERS_SKEW_POLICY_H
#define RECONCILERS_SKEW_POLICY_H

#include "reconcilers/skew/spec.h"

/* The verdict on an instance. */
#define EK_VERDICTS(X)                                                                             \
    /* Within the rules, and still so after the next upgrade step. */                              \
    X(SUPPORTED, "Supported")                                                                      \
    /* Within the rules, but the next upgrade step of the API servers would break it. */           \
    X(AT_LIMIT, "AtLimit")                                                                         \
    /* Breaks a rule. */                                                                           \
    X(UNSUPPORTED, "Unsupported")                                                                  \
    /* Unknown; the reason says why. Neither compliance nor a violation. */                        \
    X(UNKNOWN, "Unknown")                                                                          \
    /* Left out: a dead candidate, an API server that is gone, or ignored by the spec. */          \
    X(NOT_JUDGED, "NotJudged")

enum ek_verdict {
#define X(name, text) EK_VERDICT_##name,
    EK_VERDICTS(X)
#undef X
        EK_VERDICT_MAX,
};

#define EK_RULES(X)                                                                                \
    X(CONTROLLER_RANGE, "ControllerRange")                                                         \
    X(CONTROLLER_BINARY, "ControllerBinary")                                                       \
    X(KUBELET_RANGE, "KubeletRange")                                                               \
    X(KUBE_PROXY_RANGE, "KubeProxyRange")                                                          \
    X(KUBE_PROXY_NODE_RANGE, "KubeProxyNodeRange")                                                 \
    X(APISERVER_EMULATION_SPREAD, "ApiserverEmulationSpread")                                      \
    X(APISERVER_COMPATIBILITY, "ApiserverCompatibility")                                           \
    X(APISERVER_BINARY_SPREAD, "ApiserverBinarySpread")                                            \
    X(APISERVER_SKIPS_MINOR, "ApiserverSkipsMinor")

enum ek_rule {
    EK_RULE_NONE,
#define X(name, text) EK_RULE_##name,
    EK_RULES(X)
#undef X
        EK_RULE_MAX,
};

const char *ek_verdict_name(enum ek_verdict verdict);
const char *ek_rule_name(enum ek_rule rule); /* "" for EK_RULE_NONE */

/* One live API server as the rules see it. */
struct ek_server {
    const char *name;
    struct ek_minor bv, ev, mcv; /* each may be unknown */
};

/* A bound and the server that sets it; unknown while no server's value is. */
struct ek_skew_bound {
    struct ek_minor at;
    const char *by;
};

struct ek_bounds {
    struct ek_skew_bound min_ev, max_ev, max_mcv, min_bv, max_bv;
    size_t n;      /* servers */
    bool complete; /* there is at least one server and every version of each is known */
};

/* The versions allowed for a component; either end may be unknown. */
struct ek_range {
    struct ek_skew_bound min, max;
};

/* v, or unknown where it cannot be a release: 0.x is what a build without a stamped version
 * reports ("0.0.0-master+$Format", component-base/version/base.go). */
struct ek_minor ek_policy_usable(struct ek_minor v);

/* The extremes of n servers. */
struct ek_bounds ek_policy_bounds(const struct ek_server *servers, size_t n);

/* The first releases with --emulated-version, which 1.31 takes with 1.31 alone, and with
 * --min-compatibility-version (kubernetes/kubernetes pull request 133980). */
#define EK_FIRST_EMULATION  EK_MINOR(1, 31)
#define EK_FIRST_MIN_COMPAT EK_MINOR(1, 35)

/* True when the metrics of a binary have its versions: version_info, since 1.34
 * (kubernetes/kubernetes pull request 131655). */
bool ek_policy_has_version_info(struct ek_minor bv);

/* The oldest version that a binary (known) emulates or is compatible with: three minors below, not
 * below 1.31; its own where it cannot emulate (apiserver/pkg/util/compatibility/version.go:
 * kubeEffectiveVersionFloors). */
struct ek_minor ek_policy_floor(struct ek_minor bv);

/* True when a binary can be started with --emulated-version=v, or with
 * --min-compatibility-version=v at an emulation version that is not below v. */
bool ek_policy_can_emulate(struct ek_minor bv, struct ek_minor v);
bool ek_policy_can_be_compatible(struct ek_minor bv, struct ek_minor v);

/* MCV of a server that does not report it: EV-1, not below the floor max(BV-3, 1.31) of binaries
 * after 1.31, never above EV (component-base/compatibility/version.go: SetEmulationVersion;
 * apiserver/pkg/util/compatibility/version.go: kubeEffectiveVersionFloors). */
struct ek_minor ek_policy_default_min_compat(struct ek_minor bv, struct ek_minor ev);

/* server once its EV has been raised to target (unchanged if it is there already): BV follows if
 * it has to, MCV becomes the default. */
struct ek_server ek_policy_raised(struct ek_server server, struct ek_minor target);

/*
 * The range for a component, KEP-4330 "Skew" with the intersection over all servers, narrowed by
 * the spec's skews. bv is the instance's binary version, which matters to kubelets and kube-proxies
 * below 1.25 only; it may be unknown.
 */
struct ek_range ek_policy_range(enum ek_component component, struct ek_minor bv,
                                const struct ek_bounds *bounds,
                                const struct ek_skew_policy *policy);

/* The range for kubectl, by the same section. Reported, never judged: kubectl is not observable. */
struct ek_range ek_policy_kubectl_range(const struct ek_bounds *bounds);

/* The version that a component is judged by: EV for those that emulate (kube-controller-manager and
 * kube-scheduler), unknown while that is; BV for all others. */
struct ek_minor ek_policy_judged_version(enum ek_component component, struct ek_minor bv,
                                         struct ek_minor ev);

/*
 * Judges one instance of a component that is no API server. bv and ev are what is known, without
 * assumptions. Returns UNSUPPORTED with *ret_rule set when a known server proves it (for an unknown
 * ev: when bv, the newest version it may be, is too old), UNKNOWN when one of the versions is not
 * known or the bounds are not complete, otherwise SUPPORTED (AT_LIMIT is the caller's: judge again
 * with raised servers).
 */
enum ek_verdict ek_policy_check(enum ek_component component, struct ek_minor bv, struct ek_minor ev,
                                const struct ek_bounds *bounds, const struct ek_skew_policy *policy,
                                enum ek_rule *ret_rule);

/*
 * Judges one API server against all (bounds includes it). rules (may be NULL) gets every broken
 * rule, at most EK_SERVER_RULES_MAX, and *ret_n their number. AT_LIMIT means that the newest
 * server cannot move on before this one has.
 */
#define EK_SERVER_RULES_MAX 3
enum ek_verdict ek_policy_check_server(const struct ek_server *server,
                                       const struct ek_bounds *bounds,
                                       const struct ek_skew_policy *policy, enum ek_rule *rules,
                                       size_t *ret_n);

/* The number of minor versions by which a kube-proxy (known) may differ from the kubelet of its
 * node: three, or two where kube-proxy is below 1.25. Version skew policy, "kube-proxy". */
int ek_policy_proxy_skew(struct ek_minor proxy);

/* True when kube-proxy and kubelet of one node, both known, differ by no more than that. */
bool ek_policy_proxy_fits_kubelet(struct ek_minor proxy, struct ek_minor kubelet);

/* True when going from one EV to another in one step leaves out a minor. */
bool ek_policy_skips_minor(struct ek_minor from, struct ek_minor to);

#endif
