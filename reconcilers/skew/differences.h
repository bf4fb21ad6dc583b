/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between API servers: resources that only some serve, gates that only some enable.
 *
 * Only live peers are compared, and of these only the ones whose last answer is at most
 * EK_DIFFERENCES_STALE_MS older than their last attempt; the others are reported as not compared.
 * A difference between servers of different emulation versions is expected. A difference between
 * servers of equal versions is drift: a flag is set on one and not on the other. The report
 * distinguishes the two, because the remedies differ.
 *
 * Lists are bounded and sorted; counts are of everything. A group version that a server lacks as a
 * whole is one row, and a subresource is not reported where its resource is missing too. Gates that
 * don't exist at a server's version are counted apart ("missing") and are no difference, unless a
 * server of the same versions knows them. Where a server's gates were not read, what the flags of
 * its pod set may show a difference; it is not compared all the same, because flags are not all
 * gates. Pure; all lives in the arena.
 */
#ifndef RECONCILERS_SKEW_DIFFERENCES_H
#define RECONCILERS_SKEW_DIFFERENCES_H

#include "reconcilers/skew/facts.h"

#define EK_DIFFERENCES_MAX       40 /* rows of each list */
#define EK_DIFFERENCES_NAMES_MAX 4  /* peer names in a row */
#define EK_DIFFERENCES_STALE_MS  60000

/* Some peers: how many, and the first few by name. */
struct ek_some_peers {
    const char *names[EK_DIFFERENCES_NAMES_MAX];
    size_t n_names; /* shown, <= n */
    size_t n;
};

struct ek_discovery_difference {
    const char *group_version; /* "apps/v1", "v1"; "apps" where the order of versions differs */
    const char *resource;      /* "" when the whole group version is missing */
    size_t n_resources;        /* 1, or the resources of the group version */
    bool custom;               /* a group of custom resources or of an aggregated API server */
    int64_t since_ms;          /* custom: when first seen; set by ek_skew_conclude */
    /* Served everywhere with other facets: which, as "verbs, short names"; of a group "version
     * priorities"; "" where a peer lacks the resource. served_by are then the peers that agree with
     * the first one, and differs_at the others. */
    const char *differs;
    struct ek_some_peers served_by, missing_from, differs_at;
};

/* A difference of a custom group that is younger is still spreading: API servers learn of a CRD or
 * an APIService one by one, and each answer is up to a probe interval old. */
#define EK_SPREADING_MS 60000

struct ek_gate_difference {
    const char *gate;
    struct ek_some_peers enabled_by, disabled_by, missing_from;
    struct ek_some_peers by_flags; /* those of the first two that only the pod's flags prove */
};

/*
 * A feature gate that a controller manager or a scheduler sets differently from an API server or
 * another such component of the same binary and emulation versions, where neither version is
 * assumed. Components of one version have the same defaults, so that a flag makes the difference.
 * Names are "COMPONENT/INSTANCE". Kubelets are not compared: reading their gates (/metrics, /flagz)
 * takes the right to call the kubelet's API.
 */
struct ek_component_gate {
    const char *gate;
    struct ek_some_peers enabled_by, disabled_by;
    struct ek_some_peers by_flags; /* those of the two that only the pod's flags prove */
};

/* An alpha feature gate that is on, or an alpha group version of Kubernetes that is served, by a
 * component that emulates an older version than its binary's: kubernetes warns about both
 * (component-base compatibility/registry.go, apiserver options/api_enablement.go, 1.36), and
 * KEP-4330 ("Feature Gates") forbids them. Names are "COMPONENT/INSTANCE". */
struct ek_alpha_use {
    const char *name; /* of the gate, or of the group version */
    bool api;
    struct ek_some_peers by;
};

/*
 * A static admission plug-in whose manifests differ between API servers (KEP-5793). Manifests are
 * files of each API server: the API does not show them, and nothing brings them to the same state.
 * What an API server lacks, it does not enforce, whichever of its versions is the reason.
 */
struct ek_manifests_difference {
    const char *plugin;
    struct ek_some_peers loaded_by, differs_at; /* the same as the first one has, and others */
    struct ek_some_peers missing_from;          /* these have none */
};

/* One of the comparisons as a whole. */
struct ek_comparison {
    size_t n_compared;                 /* peers */
    struct ek_some_peers not_compared; /* live, but without an answer */
    size_t n;                          /* differences in all */
    size_t n_rows;                     /* of them listed */
    size_t n_custom;                   /* of n, in custom groups: they follow from objects of the
                                          cluster, and are no drift */
    size_t n_stale;                    /* group versions that a compared peer marks Stale */
    const char *stale_example;         /* the first of these; "" without any */
    bool drift;                        /* peers of equal versions differ */
    const char *drift_example;         /* the first such resource or gate, "" without drift */
};

struct ek_differences {
    struct ek_comparison discovery;
    struct ek_discovery_difference *discovery_rows;
    size_t *missing_resources; /* per facts->peers: resources that others serve and it does not;
                                  SIZE_MAX when it was not compared */
    struct ek_comparison gates;
    struct ek_gate_difference *gate_rows;
    size_t n_gates_missing; /* gates that only some know, values aside */
    struct ek_component_gate *component_gates;
    size_t n_component_gates, n_component_gate_rows; /* in all, and of them listed */
    struct ek_alpha_use *alpha;
    size_t n_alpha, n_alpha_rows;
    struct ek_comparison manifests;
    struct ek_manifests_difference *manifests_rows;
    bool has_manifests; /* an API server that lives has reported any */
};

/* Compares the live peers of facts. */
void ek_skew_compare(const struct ek_skew_facts *facts, struct ek_arena *arena,
                     struct ek_differences *ret);

/* The gates' half of it, in differences_gates.c. */
void ek_skew_compare_gates__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                             struct ek_differences *ret);

/* The gates of other components, and alpha under emulation, in differences_components.c. */
void ek_skew_compare_components__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                                  struct ek_differences *ret);

/* The static admission manifests, in differences_manifests.c. */
void ek_skew_compare_manifests__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                                 struct ek_differences *ret);

/* True when the answer may be compared: it was given, and recently as seen from the last attempt at
 * the question; and likewise the peer was reached. */
bool ek_skew_comparable__(const struct ek_probe *probe, const struct ek_probe_answer *answer);

/* True when both peers' binary and emulation versions are known and the same. */
bool ek_skew_same_versions__(const struct ek_peer_fact *a, const struct ek_peer_fact *b);

/* Adds a name. */
void ek_some_peers_add__(struct ek_some_peers *some, const char *name);

#endif
