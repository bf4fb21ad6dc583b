/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: the facts and findings of one plan, and the conditions that sum them up.
 *
 * Conditions are computed once, here; status, events and metrics only format them. A message names
 * the culprit and the remedy, and is the same as long as the facts are. README.md beside this file
 * describes each condition. Pure; all lives in the arena.
 */
#ifndef RECONCILERS_SKEW_CONDITIONS_H
#define RECONCILERS_SKEW_CONDITIONS_H

#include "reconcilers/peers/view.h"
#include "reconcilers/skew/differences.h"
#include "reconcilers/skew/judge.h"

#define EK_SKEW_CONDITIONS(X)                                                                      \
    /* The summary: API servers reachable and ready, skew supported, spec valid. */                \
    X(READY, "Ready")                                                                              \
    /* Every API server that should be there answers. */                                           \
    X(PEERS_REACHABLE, "PeersReachable")                                                           \
    /* No rule is broken (or only for less than the grace period). */                              \
    X(SKEW_SUPPORTED, "SkewSupported")                                                             \
    /* All API servers serve the same resources. */                                                \
    X(DISCOVERY_CONSISTENT, "DiscoveryConsistent")                                                 \
    /* All API servers set the feature gates that they share alike. */                             \
    X(FEATURE_GATES_CONSISTENT, "FeatureGatesConsistent")                                          \
    /* An upgrade to the next version breaks no rule. */                                           \
    X(NEXT_VERSION_SAFE, "NextVersionSafe")                                                        \
    /* The discovery documents of all API servers can be merged. It and what is behind it are left \
       out where the documents are not known. */                                                   \
    X(DISCOVERY_MERGED, "DiscoveryMerged")                                                         \
    /* All API servers have loaded the same static admission manifests. This condition is the last \
       one, because it is left out if no API server has such manifests. */                         \
    X(ADMISSION_MANIFESTS_CONSISTENT, "AdmissionManifestsConsistent")

enum ek_skew_condition {
#define X(name, text) EK_SKEW_COND_##name,
    EK_SKEW_CONDITIONS(X)
#undef X
        EK_SKEW_CONDITION_MAX,
};

const char *ek_skew_condition_name(enum ek_skew_condition condition);

/* Longest condition message written. */
#define EK_SKEW_MESSAGE_MAX 2000

struct ek_skew_cond {
    enum ek_cond_status status;
    const char *reason;
    const char *message;
};

struct ek_skew_report {
    const struct ek_skew_view *view;
    yyjson_val *old_status; /* of view->control_plane; NULL when there is none */
    struct ek_skew_facts facts;
    struct ek_skew_spec spec;
    struct ek_judgement judgement;
    struct ek_differences differences;
    int64_t *last_seen;   /* per peer, see ek_skew_remember */
    int64_t forget_ms;    /* when a departed peer is forgotten, EK_TIME_UNSET without any */
    size_t n_reachable;   /* peers */
    size_t n_young;       /* violations younger than the grace period */
    int64_t grace_end_ms; /* when the first of these gets too old, EK_TIME_UNSET without any */
    size_t n_spread; /* listed differences of custom groups that last EK_SPREADING_MS or longer */
    int64_t spreading_ms; /* when the first younger one gets too old, EK_TIME_UNSET without any */
    struct ek_skew_cond conditions[EK_SKEW_CONDITION_MAX];
};

/* Whether one API server answers: UNKNOWN while it has not been probed or has no address. */
enum ek_cond_status ek_skew_peer_reachable(const struct ek_peer_fact *peer);

/* Whether the API server's /readyz succeeds; UNKNOWN when the server does not answer. */
enum ek_cond_status ek_skew_peer_ready(const struct ek_peer_fact *peer);

/* The peer's place in the documents of the view; NULL when the documents have no such peer. */
const struct ek_view_peer *ek_skew_documents_of(const struct ek_skew_report *report,
                                                const struct ek_peer_fact *peer);

/* How many conditions there are: the last ones are left out where they are about nothing. */
int ek_skew_n_conditions(const struct ek_skew_report *report);

/* Fills in since when each violation is known (from old_status, otherwise now), n_reachable,
 * n_young, since when each difference of a custom group is known, and the conditions; the rest of
 * report is complete already. */
void ek_skew_conclude(struct ek_skew_report *report, struct ek_arena *arena);

#endif
