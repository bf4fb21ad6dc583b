/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: facts and rules in, a verdict with its reason, sentence and remedy per instance out.
 *
 * Three passes over the facts: the servers that count are reduced to bounds (policy.h); every
 * instance is checked against them; then the servers are raised hypothetically, by one minor for
 * AtLimit and to the next version for NextVersionSafe, and everything is checked again. Texts are
 * the same for the same facts: they hold no ages and no times, so that a status changes only when
 * something did.
 *
 * Everything lives in the arena or is borrowed from the facts. Pure.
 */
#ifndef RECONCILERS_SKEW_JUDGE_H
#define RECONCILERS_SKEW_JUDGE_H

#include "api/cond.h"
#include "reconcilers/skew/policy.h"

/* The verdict on one instance. Strings are never NULL. */
struct ek_judged {
    enum ek_verdict verdict;
    enum ek_rule rule;  /* the first broken rule, EK_RULE_NONE otherwise */
    const char *reason; /* CamelCase: a rule's name, "WithinRange", "NextUpgradeBreaks", ... */
    const char *message;
    const char *remedy; /* what to do; "" when there is nothing to do */
};

struct ek_violation {
    enum ek_component component;
    enum ek_rule rule;
    const char *instance; /* peer or instance name; for node groups the version */
    const char *message;
    const char *remedy;
    int64_t since_ms; /* first seen; EK_TIME_UNSET as the judge leaves it (status.h fills it) */
};

/* A component that every control plane has, of which no live instance was seen. */
struct ek_absent {
    enum ek_component component;
    struct ek_judged judged;
};

/* Whether the API servers may be upgraded to this version. */
struct ek_next {
    struct ek_minor version; /* unknown when there is nothing to derive it from */
    enum ek_cond_status safe;
    const char *reason;
    const char *message;
    size_t n_blockers;
};

struct ek_judgement {
    struct ek_judged *peers;     /* as facts->peers */
    struct ek_judged *instances; /* as facts->instances */
    struct ek_judged *groups;    /* as facts->groups */
    struct ek_absent *absent;
    size_t n_absent;
    struct ek_server *servers; /* the API servers that count */
    size_t n_servers;
    struct ek_bounds bounds;
    const char *incomplete;          /* why the bounds are incomplete, "" when they are complete */
    struct ek_violation *violations; /* API servers first, then as the facts are ordered */
    size_t n_violations;
    size_t counts[EK_COMPONENT_MAX][EK_VERDICT_MAX]; /* instances; for node groups, nodes */
    struct ek_next next;
};

/* What of an instance's versions may prove something: releases that were read, not assumed, not
 * disputed, and not on the word of a pod that proves nothing. The rest is unknown here. */
struct ek_known {
    struct ek_minor bv, ev, mcv;
};
struct ek_known ek_skew_known__(const struct ek_versions *versions);

/* Judges facts by the policy of spec. nodes_available is false when nodes could not be listed,
 * which makes the kubelets unknown instead of absent. */
void ek_skew_judge(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                   bool nodes_available, struct ek_arena *arena, struct ek_judgement *ret);

/* The last pass of ek_skew_judge, in next.c: fills judgement->next from the rest. */
void ek_skew_judge_next__(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          struct ek_arena *arena, struct ek_judgement *judgement);

#endif
