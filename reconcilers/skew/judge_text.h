/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge's messages and remedies. One function per finding, so that all texts are in one place.
 * Pure; results live in the arena.
 */
#ifndef RECONCILERS_SKEW_JUDGE_TEXT_H
#define RECONCILERS_SKEW_JUDGE_TEXT_H

#include "reconcilers/skew/judge.h"

/* A finding and its remedy; never NULL, the remedy may be "". */
struct ek_said {
    const char *message;
    const char *remedy;
};

/* "kube-scheduler sched-a", "kubelet v1.32.9 on 3 nodes (n1, n2 and n3)". */
const char *ek_judge_text_instance(struct ek_arena *arena, const struct ek_instance_fact *instance);
const char *ek_judge_text_group(struct ek_arena *arena, const struct ek_node_group *group);

/* Why the API servers are not all known; "" when they are. */
const char *ek_judge_text_incomplete(struct ek_arena *arena, const struct ek_skew_facts *facts,
                                     const char *const *unknown, size_t n_unknown,
                                     const struct ek_judgement *judgement);

/* Texts of a violation by an API server, and of an API server whose version blocks the upgrade of
 * the others. */
struct ek_said ek_judge_text_server(struct ek_arena *arena, const struct ek_server *server,
                                    enum ek_rule rule, const struct ek_judgement *judgement,
                                    const struct ek_skew_policy *policy);
struct ek_said ek_judge_text_server_limit(struct ek_arena *arena, const struct ek_server *server,
                                          const struct ek_judgement *judgement);

/* An instance that is no API server, or a group of nodes. */
struct ek_judge_subject {
    const char *label; /* ek_judge_text_instance or _group */
    enum ek_component component;
    struct ek_minor bv, own; /* own: the version that it is judged by; unknown: bv or older */
    const char *unreachable; /* of an API server that does not answer, its unreachable_reason */
};

/* The subject is outside of range. */
struct ek_said ek_judge_text_range(struct ek_arena *arena, const struct ek_judge_subject *subject,
                                   const struct ek_range *range,
                                   const struct ek_judgement *judgement);

/* The subject is within now, but outside of later, the range after the next upgrade. */
struct ek_said ek_judge_text_limit(struct ek_arena *arena, const struct ek_judge_subject *subject,
                                   const struct ek_range *now, const struct ek_range *later);

/* A controller's binary is newer than a server's. */
struct ek_said ek_judge_text_binary(struct ek_arena *arena, const char *label, struct ek_minor bv,
                                    const struct ek_bounds *bounds);

/* A version of the subject, which may be an API server here, is not known for reason. */
struct ek_said ek_judge_text_unknown(struct ek_arena *arena, const struct ek_judge_subject *subject,
                                     const struct ek_versions *versions, const char *reason,
                                     const struct ek_bounds *bounds);

/* A cloud provider's image tag that does not look like a Kubernetes version. */
struct ek_said ek_judge_text_vendor(struct ek_arena *arena, const char *label, struct ek_minor own);

/* kube-proxy and kubelet of the same nodes are too far apart. */
struct ek_said ek_judge_text_proxy(struct ek_arena *arena, const struct ek_node_pair *pair);

/* The instance does not count, for a reason of struct ek_instance_fact. */
struct ek_said ek_judge_text_stale(const char *reason);

/* Nothing of the component was seen. */
struct ek_said ek_judge_text_absent(struct ek_arena *arena, enum ek_component component);

#endif
