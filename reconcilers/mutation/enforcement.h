/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The enforcer of a policy: the API servers' own plug-in, Evenkeel, or both in turns.
 *
 * An API server either runs the plug-in MutatingAdmissionPolicy or does not, by its feature gates
 * and discovery. A census counts the API servers that run the plug-in, and decides for the policies
 * of admissionregistration.k8s.io. Policies of evenkeel.dev are enforced by Evenkeel alone. The
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
 * Whether the API server of a probe (NULL: never probed) runs the plug-in: the feature gate
 * MutatingAdmissionPolicy is on, and the resource is served. If the feature gates were not read, an
 * API server that serves v1 runs the plug-in, because the gate is on by default in these versions;
 * an API server that serves no version does not run it. Source: KEP-3962.
 */
enum ek_plugin ek_plugin_of(const struct ek_probe *probe);

/* The API servers that take requests, counted. */
struct ek_plugin_census {
    unsigned runs, absent, unknown;
    bool complete; /* all servers are counted */
};

void ek_plugin_census_add(struct ek_plugin_census *census, enum ek_plugin plugin);

/* The newest version of mutatingadmissionpolicies that the API server of a probe serves: "v1",
 * "v1beta1" or "v1alpha1"; NULL for none. Constant. */
const char *ek_plugin_version(const struct ek_probe *probe);

struct ek_enforcement {
    bool apply;   /* Evenkeel applies the policy */
    bool confirm; /* with confirmation: see confirm.h */
    enum ek_enforcer enforcer;
    char message[200]; /* for the condition Enforced: the API servers and the remedy; "" where the
                          text of the enforcer is enough */
};

/* Decides for one policy. */
void ek_enforcement_decide(const struct ek_policy *policy, const struct ek_plugin_census *census,
                           struct ek_enforcement *ret_enforcement);

#endif
