/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an upgrade, or of the way back: from the versions of every component to a target,
 * one change at a time, so that every state on the way is within the skew rules of
 * reconcilers/skew.
 *
 * The kinds of steps are those of KEP-4330: a new binary that emulates the version before, a higher
 * emulation version (one minor at a time), a higher minimum compatibility version. No step of an
 * upgrade lowers a version. The way back has the opposite steps: a lower emulation version, then an
 * older binary; the minimum compatibility version stays, because what was stored with it stays.
 * README.md describes the search and why the search is complete. Pure; everything lives in the
 * arena.
 */
#ifndef RECONCILERS_PLAN_STEPS_H
#define RECONCILERS_PLAN_STEPS_H

#include <stdint.h>

#include "api/base/arena.h"
#include "reconcilers/skew/policy.h"

/* The first version to which an API server can go back by its emulation version
 * (apiserver/pkg/util/compatibility/version.go:kubeEffectiveVersionFloors at 1.36). */
#define EK_STEPS_OLDEST_WAY_BACK EK_MINOR(1, 31)

/* The versions of a component. Those of a component that does not emulate are all the binary's. */
struct ek_part_versions {
    struct ek_minor binary, emulation, min_compat;
};

/* An instance, or several of the same versions that change one after the other. */
struct ek_part {
    enum ek_component component;
    const char *name;
    size_t count; /* at least 1 */
    struct ek_part_versions at;
    uint64_t nodes; /* of kubelets and kube-proxies: the sets of nodes that have some, a bit each;
                       a kubelet and a kube-proxy with a set in common are on the same nodes */
};

enum ek_upgrade_step_kind { EK_UPGRADE_BINARY, EK_UPGRADE_EMULATION, EK_UPGRADE_MIN_COMPAT };

struct ek_upgrade_step {
    enum ek_upgrade_step_kind kind;
    size_t part; /* position in the list of parts */
    struct ek_part_versions before, after;
    struct ek_minor lost; /* the newest version to which the API servers cannot go back any more
                             once the step is taken, and could before; unknown: none */
};

enum ek_steps_outcome {
    EK_STEPS_FOUND,       /* the list leads to the target; empty: all parts are there */
    EK_STEPS_OUTSIDE,     /* a rule is violated before the first step */
    EK_STEPS_IMPOSSIBLE,  /* no order keeps to the rules */
    EK_STEPS_BACK,        /* an API server has a newer emulation version than the target */
    EK_STEPS_NO_WAY_BACK, /* the way back ends above the target: by rule APISERVER_COMPATIBILITY of
                             the part, or because no binary emulates the target (no rule) */
    EK_STEPS_UNKNOWN,     /* a version is not known, or no API server is */
    EK_STEPS_TOO_LARGE,   /* the search ended at its limit */
};

struct ek_steps {
    enum ek_steps_outcome outcome;
    const struct ek_upgrade_step *list;
    size_t n;
    enum ek_rule rule; /* OUTSIDE, IMPOSSIBLE: the rule that stands in the way */
    size_t part;       /* OUTSIDE, IMPOSSIBLE, BACK, NO_WAY_BACK, UNKNOWN: the part that the rule
                          holds back */
};

struct ek_steps_goal {
    struct ek_minor version;    /* a newer binary stays, and emulates it */
    struct ek_minor min_compat; /* of API servers at the end; unknown: the default of version */
    bool back;                  /* lower versions, down to version; min_compat does not count */
    struct ek_minor binary;     /* with back: the newest binary of API servers and controllers at
                                   the end, not below version; unknown: version */
    bool keep_nodes;            /* kubelets and kube-proxies change only where a rule requires it */
    size_t max_states;          /* of the search; 0: 50,000 */
    const struct ek_skew_policy *policy;
};

/* Finds the steps for n parts. Nothing of them is kept but positions; the list lives in arena.
 * Pure (KEP-4330, "Upgrade / Downgrade Strategy"). */
void ek_steps_find(const struct ek_part *parts, size_t n, const struct ek_steps_goal *goal,
                   struct ek_arena *arena, struct ek_steps *ret_steps);

/* True when all parts are within the rules; else *ret_rule and *ret_part name the first that is
 * not. */
bool ek_steps_within(const struct ek_part *parts, size_t n, const struct ek_skew_policy *policy,
                     enum ek_rule *ret_rule, size_t *ret_part);

#endif
