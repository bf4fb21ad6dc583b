/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster for a plan: the parts of the search for steps, what is not known of them, and what each
 * step changes for the flags of its component and the APIs that an API server serves.
 *
 * The observations are those of reconcilers/skew. Pure; what is returned is borrowed from the facts
 * or lives in the arena of the report.
 */
#ifndef RECONCILERS_PLAN_CLUSTER_H
#define RECONCILERS_PLAN_CLUSTER_H

#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/data.h"
#include "reconcilers/plan/report.h"
#include "reconcilers/plan/steps.h"
#include "reconcilers/skew/spec.h"

/* What is known of a part beside its versions. */
struct ek_plan_instance {
    const char *gates; /* the feature gates that the flags of an API server or a controller set,
                          "A=true,B=false" */
    bool flags_read;   /* of an API server */
    struct ek_pod_api_flags apis; /* of an API server whose flags were read; else the defaults */
    const struct ek_discovery *served; /* by an API server; NULL: not known */
    const struct ek_probe *probe;      /* of an API server; NULL: not known */
    bool by_default; /* the APIs that are on by default are served, in place of served */
};

struct ek_plan_cluster {
    struct ek_part *parts;
    struct ek_plan_instance *instances; /* as many, in the same order */
    size_t n;
    bool complete; /* the versions of all API servers and controllers are known */
};

/* How an API server at these versions decides which APIs it serves; features are those at its
 * emulation version. */
struct ek_api_config ek_plan_api_config(const struct ek_plan_instance *server,
                                        const struct ek_part_versions *at,
                                        const struct ek_features *features);

/* Makes the parts of facts; what is not known becomes a finding. */
void ek_plan_cluster_read(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          const struct ek_plan_data *data, struct ek_plan_report *report,
                          struct ek_plan_cluster *ret_cluster);

/* The target when none is given: the newest binary of the API servers while a component has an
 * older version, emulates one, or an API server has a lower minimum compatibility version than the
 * default, so that an upgrade that was begun is completed; else one minor above. Unknown without an
 * API server. */
struct ek_minor ek_plan_cluster_next(const struct ek_plan_cluster *cluster);

/*
 * One step back of the API servers, the opposite of the last step that they took (KEP-4330): sets
 * back, version and binary of goal. Where they differ in a version, back to the older one; else the
 * binary, while they emulate with the default minimum compatibility version or a higher one; else
 * the emulation version, by one minor. False without an API server, with goal as it was.
 */
bool ek_plan_cluster_previous(const struct ek_plan_cluster *cluster, struct ek_steps_goal *goal);

/* The newest emulation version and binary of the API servers; unknown without one. */
void ek_plan_cluster_newest(const struct ek_plan_cluster *cluster, struct ek_minor *ret_emulation,
                            struct ek_minor *ret_binary);

/* The oldest emulation version of the API servers; unknown without one. */
struct ek_minor ek_plan_cluster_oldest(const struct ek_plan_cluster *cluster);

/* Reports the flags with which an API server or a controller does not start, or does not become
 * ready, when it goes back to the emulation version: what the component takes today and refuses
 * then (component-base/featuregate, apiserver/pkg/server/resourceconfig at 1.36). */
void ek_plan_cluster_check_back(const struct ek_plan_cluster *cluster, struct ek_minor back,
                                const struct ek_plan_data *data, struct ek_plan_report *report);

/* Reports the feature gates with which an API server or a controller does not start after a step,
 * the alpha features of components that emulate, the APIs that a server serves before a step, up or
 * back, and not after it, and those of them that clients requested of any server. */
void ek_plan_cluster_check(const struct ek_plan_cluster *cluster, const struct ek_steps *steps,
                           const struct ek_plan_data *data, struct ek_plan_report *report);

#endif
