/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The enforcer of a policy: the API servers' own plug-in, Evenkeel, or both in turns.
 *
 * Each API server either runs the plug-in MutatingAdmissionPolicy or does not; what the prober has
 * read of them (feature gates, discovery) is counted into a census, and the census decides for each
 * policy of admissionregistration.k8s.io. Evenkeel alone knows policies of evenkeel.dev. The
 * rule, its reasons and its limits: README.md, "Who enforces". Pure.
 */
#ifndef RECONCILERS_MUTATION_ENFORCEMENT_H
#define RECONCILERS_MUTATION_ENFORCEMENT_H

#include "informers/probe/probe.h"
#include "reconcilers/mutation/policy.h"
#include "reconcilers/mutation/status.h"

/* Whether one API server runs the plug-in. */
enum ek_plugin {
    EK_PLUGIN_UNKNOWN,
    EK_PLUGIN_RUNS,
    EK_PLUGIN_ABSENT,
};

/*
 * Judges a probe (NULL: never probed). The gate MutatingAdmissionPolicy decides, and the resource
 * has to be served for the plug-in to know any policy. Without a sight of the gates, serving
 * version v1 means that it runs (the gate is on by default since then), and serving none of the
 * versions that it does not. Source: KEP-3962.
 */
enum ek_plugin ek_plugin_of(const struct ek_probe *probe);

/* The API servers that take requests, counted. */
struct ek_plugin_census {
    unsigned runs, absent, unknown;
    bool complete; /* all servers are counted */
};

void ek_plugin_census_add(struct ek_plugin_census *census, enum ek_plugin plugin);

/* The newest version of mutatingadmissionpolicies that a probe has found: "v1", "v1beta1",
 * "v1alpha1"; NULL for none. Constant. */
const char *ek_plugin_version(const struct ek_probe *probe);

struct ek_enforcement {
    bool apply;   /* we apply the policy */
    bool confirm; /* but only where running it once more changes nothing: see confirm.h */
    enum ek_enforcer enforcer;
    char message[200]; /* for people: which servers, what to do; "" for a general sentence */
};

/* Decides for one policy. */
void ek_enforcement_decide(const struct ek_policy *policy, const struct ek_plugin_census *census,
                           struct ek_enforcement *ret_enforcement);

#endif
