/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What API servers don't agree on: resources that only some serve, gates that only some enable.
 *
 * Only live peers are compared, and of these only the ones whose answer is at hand and not older
 * than EK_DIFFERENCES_STALE_MS before their last attempt; the others are told as not compared.
 * A difference between servers of different emulation version is what versions are for; one between
 * servers of equal versions is drift: somebody set a flag on one and not on the other. The two are
 * told apart, because the remedies are different.
 *
 * Lists are bounded and sorted; counts are of everything. A group version that a server lacks as a
 * whole is one row, and a subresource is not told where its resource is missing too. Gates that
 * don't exist at a server's version are counted apart ("missing") and are no difference, unless a
 * server of the same versions knows them. Pure; all lives in the arena.
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
    const char *group_version; /* "apps/v1", "v1" */
    const char *resource;      /* "" when the whole group version is missing */
    size_t n_resources;        /* 1, or the resources of the group version */
    struct ek_some_peers served_by, missing_from;
};

struct ek_gate_difference {
    const char *gate;
    struct ek_some_peers enabled_by, disabled_by, missing_from;
};

/* One of the two comparisons as a whole. */
struct ek_comparison {
    size_t n_compared;                 /* peers */
    struct ek_some_peers not_compared; /* live, but without an answer */
    size_t n;                          /* differences in all */
    size_t n_rows;                     /* of them listed */
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
};

/* Compares the live peers of facts. */
void ek_skew_compare(const struct ek_skew_facts *facts, struct ek_arena *arena,
                     struct ek_differences *ret);

/* The gates' half of it, in differences_gates.c. */
void ek_skew_compare_gates__(const struct ek_skew_facts *facts, struct ek_arena *arena,
                             struct ek_differences *ret);

/* True when the answer may be compared: it was given, and recently as seen from the last attempt at
 * the question; and likewise the peer was reached. */
bool ek_skew_comparable__(const struct ek_probe *probe, const struct ek_probe_answer *answer);

/* True when both peers' binary and emulation versions are known and the same. */
bool ek_skew_same_versions__(const struct ek_peer_fact *a, const struct ek_peer_fact *b);

/* Adds a name. */
void ek_some_peers_add__(struct ek_some_peers *some, const char *name);

#endif
