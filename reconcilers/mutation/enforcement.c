/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/enforcement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP    "admissionregistration.k8s.io"
#define RESOURCE "mutatingadmissionpolicies"
#define GATE     "MutatingAdmissionPolicy"

static int compare_gate(const void *name, const void *gate)
{
    return strcmp(name, ((const struct ek_feature_gate *)gate)->name);
}

const char *ek_plugin_version(const struct ek_probe *probe)
{
    static const char *const versions[] = {"v1", "v1beta1", "v1alpha1"};

    for (size_t i = 0; probe && probe->discovery && i < EK_ARRAY_SIZE(versions); i++)
        if (ek_discovery_has(probe->discovery, GROUP, versions[i], RESOURCE))
            return versions[i];
    return NULL;
}

enum ek_plugin ek_plugin_of(const struct ek_probe *probe)
{
    const struct ek_feature_gate *gate = NULL;
    const char *version = ek_plugin_version(probe);

    if (!probe)
        return EK_PLUGIN_UNKNOWN;
    if (probe->gates)
        gate = bsearch(GATE, probe->gates, probe->n_gates, sizeof *probe->gates, compare_gate);
    /* A server that reports its gates without this one is older than the gate. */
    if (probe->n_gates && !(gate && gate->enabled))
        return EK_PLUGIN_ABSENT;
    if (!probe->discovery)
        return EK_PLUGIN_UNKNOWN;
    if (!version)
        return EK_PLUGIN_ABSENT;
    if (gate || !strcmp(version, "v1"))
        return EK_PLUGIN_RUNS;
    return EK_PLUGIN_UNKNOWN;
}

void ek_plugin_census_add(struct ek_plugin_census *census, enum ek_plugin plugin)
{
    census->runs += plugin == EK_PLUGIN_RUNS;
    census->absent += plugin == EK_PLUGIN_ABSENT;
    census->unknown += plugin == EK_PLUGIN_UNKNOWN;
}

/* What Auto comes to for a policy that API servers may run themselves. */
static void decide_auto(const struct ek_plugin_census *census, struct ek_enforcement *ret)
{
    unsigned all = census->runs + census->absent + census->unknown;

    if (census->complete && all && census->runs == all) {
        ret->enforcer = EK_ENFORCER_API_SERVERS;
    } else if (census->complete && all && census->absent == all) {
        ret->apply = true;
        ret->enforcer = EK_ENFORCER_EVENKEEL;
    } else {
        ret->apply = ret->confirm = true;
        ret->enforcer = census->runs ? EK_ENFORCER_MIXED : EK_ENFORCER_UNKNOWN;
        snprintf(ret->message, sizeof ret->message,
                 "%u of %u API servers run the plug-in%s; Evenkeel applies it where running it "
                 "twice is the same as once",
                 census->runs, all,
                 census->unknown || !census->complete ? ", not all are known" : "");
    }
}

void ek_enforcement_decide(const struct ek_policy *policy, const struct ek_plugin_census *census,
                           struct ek_enforcement *ret_enforcement)
{
    struct ek_enforcement e = {.enforcer = EK_ENFORCER_EVENKEEL};

    if (policy->enforcement == EK_POLICY_OBSERVE) {
        e.enforcer = policy->native && census->runs ? EK_ENFORCER_API_SERVERS : EK_ENFORCER_NOBODY;
        snprintf(e.message, sizeof e.message,
                 "Evenkeel observes the policy, because enforcement is Observe%s",
                 policy->native && census->runs && census->absent
                     ? "; some API servers run it and some do not"
                     : "");
    } else if (!policy->native) {
        e.apply = true;
    } else if (policy->enforcement == EK_POLICY_ENFORCE) {
        e.apply = true;
        e.enforcer = census->runs ? EK_ENFORCER_MIXED : EK_ENFORCER_EVENKEEL;
        if (census->runs)
            snprintf(
                e.message, sizeof e.message,
                "Evenkeel applies the policy, because enforcement is Enforce, and %u API server%s "
                "it, too",
                census->runs, census->runs == 1 ? " runs" : "s run");
    } else {
        decide_auto(census, &e);
    }
    *ret_enforcement = e;
}
