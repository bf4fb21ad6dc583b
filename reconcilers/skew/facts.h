/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of each component instance, from which the skew reconciler judges.
 *
 * ek_skew_facts_collect makes the facts of a view. A fact has its source. A value that could not be
 * observed is unknown and has a reason; an assumed value is marked as assumed. Everything is
 * borrowed from the view or in the arena.
 */
#ifndef RECONCILERS_SKEW_FACTS_H
#define RECONCILERS_SKEW_FACTS_H

#include "reconcilers/peers/pod_flags.h"
#include "reconcilers/skew/view.h"

enum ek_component {
    EK_KUBE_APISERVER,
    EK_KUBE_CONTROLLER_MANAGER,
    EK_KUBE_SCHEDULER,
    EK_CLOUD_CONTROLLER_MANAGER,
    EK_KUBELET,
    EK_KUBE_PROXY,
    EK_COMPONENT_MAX,
};

/* "kube-apiserver" and so on. */
const char *ek_component_name(enum ek_component component);

/* The source of a version, best first (reconcilers/skew/README.md). */
enum ek_source {
    EK_SOURCE_VERSION_INFO,    /* version_info metric: all three versions */
    EK_SOURCE_VERSION,         /* GET /version */
    EK_SOURCE_OPENAPI,         /* OpenAPI info.version: emulation only */
    EK_SOURCE_LEASE_CANDIDATE, /* binary and emulation */
    EK_SOURCE_POD_FLAGS,       /* emulation and minimum compatibility: what the flags set, or the
                                  defaults where they were read and set nothing */
    EK_SOURCE_NODE,            /* nodeInfo */
    EK_SOURCE_POD_IMAGE,       /* image tag: binary only */
    EK_SOURCE_NONE,
    EK_SOURCE_MAX,
};
const char *ek_source_name(enum ek_source source); /* "VersionInfo", "Version", ... CamelCase */

/* The versions about which two answers from one address disagree: the named version, and those that
 * follow from it. The answers may be from different processes. */
enum ek_disputed {
    EK_DISPUTED_NONE,
    EK_DISPUTED_MIN_COMPAT,
    EK_DISPUTED_EMULATION, /* and minimum compatibility */
    EK_DISPUTED_BINARY,    /* all three */
};

/*
 * The versions of one instance.
 *
 * assumed_*: the version was not read from the running process, and the value is a guess for
 * display, which proves neither a violation nor compliance. A version that follows from the binary
 * version is not assumed: binaries up to 1.31 cannot emulate, and binaries before 1.35 have no
 * --min-compatibility-version.
 */
struct ek_versions {
    const char *binary_string; /* as reported, "v1.36.2-gke.1"; "" when unknown */
    struct ek_minor binary, emulation, min_compat;
    bool assumed_emulation;                             /* EV := BV, though it may be lower */
    bool assumed_min_compat;                            /* MCV := EV-1, not below max(BV-3, 1.31) */
    enum ek_source source;                              /* of binary */
    enum ek_source emulation_source, min_compat_source; /* EK_SOURCE_NONE: unknown or assumed */
    bool unproven; /* binary is from a pod that is not proven to be of the control plane
                      (ek_pod_is_proven) */
    bool no_pod;   /* no pod of the instance is visible: its image, flags and metrics cannot be
                      read */
    enum ek_disputed disputed; /* API servers; assumed_* is set for what is disputed, too */
    const char *unread; /* why no source reports the emulation version, a clause; may be "" or
                           NULL where it is known */
    const char *unknown_reason; /* CamelCase, "" when binary is known: "Absent" (reported empty),
                                   "Unparsable", "NotObservable" (no source reports it),
                                   "Forbidden", "NotProbed" (not yet), "TooMany" (folded, see
                                   groups), or an API server's unreachable_reason */
    const char *conflict;       /* sources disagree: one sentence naming both; "" otherwise */
};

/* One API server. */
struct ek_peer_fact {
    const char *name;           /* hostname where known, else the address, else the lease name */
    const char *server_id;      /* lease name; "" when no lease could be tied to it */
    const char *address;        /* "ip:port"; "" when nothing names one */
    const char *address_source; /* "EndpointSlice", "Static", "Configured", "Pod"; "" without an
                                   address */
    bool trusted;               /* the address may be contacted, and gets our credentials */
    const char *tied_by;        /* how lease and address were joined: "Annotation", "Pod", "Node",
                                   "Certificate", "Elimination"; "" when they were not */
    int64_t lease_age_ms;       /* since renewTime; -1 without a lease */
    bool lease_stale;           /* not renewed for more than 60 s */
    bool in_endpoints;          /* ready in the default/kubernetes EndpointSlice */
    bool live;                  /* counts for the rules: answers, is in the endpoints, or renews
                                   its lease (then without any version, if nothing else) */
    bool reachable;
    const char
        *unreachable_reason; /* CamelCase, "" when reachable: "NoAddress", "NotTrusted",
                                "LeaseStale", "NotProbed", or what the connection failed with */
    const char *unreachable_message;
    bool certificate_matches; /* the serving certificate has the IP of the address, or the name */
    bool flags_read;          /* the flags of its pod, or those of /flagz, were read */
    const struct ek_pod_gate *flag_gates; /* what its pod's flags set; not all that there are */
    size_t n_flag_gates;
    struct ek_pod_api_flags flag_apis; /* with flags_read */
    const struct ek_probe *probe;      /* NULL before the first probe */
    struct ek_versions versions;
};

/* One instance of another component (kubelets and kube-proxies are grouped, see below). */
struct ek_instance_fact {
    enum ek_component component;
    const char *name;         /* identity ("kcm-a_cc51..." gives "kcm-a"; the whole identity for
                                 all but the newest of one host), node or pod name; unique */
    bool leader;              /* holds the election lease, renewed within its duration */
    bool stale;               /* does not count for the rules: dead candidate, expired holder */
    const char *stale_reason; /* "PingUnanswered", "Expired", "Superseded", "NotRunning"; "" when
                                 live */
    int64_t age_ms;           /* of the newest sign of life, -1 unknown */
    const struct ek_probe *probe;         /* of its metrics; NULL: not probed */
    bool flags_read;                      /* as of struct ek_peer_fact */
    const struct ek_pod_gate *flag_gates; /* the same */
    size_t n_flag_gates;
    struct ek_versions versions;
};

/* At most this many groups per component, and pairs. Beyond it the smallest groups are folded into
 * one per minor ("1.33 (other builds)"), and what is still too much into one of unknown version
 * ("other"). */
#define EK_SKEW_GROUPS_MAX 64

/* Instances and API servers beyond these limits are ignored; problems reports that. */
#define EK_SKEW_INSTANCES_MAX 128
#define EK_SKEW_TARGETS_MAX   128

/* Nodes with the same kubelet (or kube-proxy) version. */
struct ek_node_group {
    enum ek_component component; /* EK_KUBELET or EK_KUBE_PROXY */
    const char *version;         /* as reported, cut at 128 bytes; "" when the node reports none */
    struct ek_versions versions;
    size_t count;
    const char **names; /* a few, in name order; at most 3 */
    size_t n_names;
};

/* Nodes whose kubelet and kube-proxy have these minors, both known: for the rule between the two
 * (kubernetes.io, "Version Skew Policy", kube-proxy). */
struct ek_node_pair {
    struct ek_minor kubelet, kube_proxy;
    size_t count;
    const char **names; /* a few, in name order; at most 3 */
    size_t n_names;
};

struct ek_skew_facts {
    struct ek_peer_fact *peers; /* by name */
    size_t n_peers;
    struct ek_instance_fact *instances; /* by component, name */
    size_t n_instances;
    struct ek_node_group *groups; /* by component, then version, newest first */
    size_t n_groups;
    struct ek_node_pair *pairs; /* by kubelet, then kube-proxy minor, newest first */
    size_t n_pairs;
    size_t n_nodes;
    const char **problems; /* sentences on what could not be observed and what would help (missing
                              permission, resource not served); in a fixed order */
    size_t n_problems;
    bool enumerated;            /* the list of API servers itself is known */
    const char *not_enumerated; /* why it is not, "" otherwise */
};

/*
 * Collects the facts of view. ret_targets gets the addresses that should be probed, at most
 * EK_SKEW_TARGETS_MAX, API servers first, each with what it may be shown
 * (reconcilers/peers/trust.h). Equal objects in another order give equal facts. Pure; never fails.
 */
void ek_skew_facts_collect(const struct ek_skew_view *view, struct ek_arena *arena,
                           struct ek_skew_facts *ret_facts, struct ek_probe_target **ret_targets,
                           size_t *ret_n_targets);

#endif
