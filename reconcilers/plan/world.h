/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plans for a cluster are made of, as one value that outlives the facts: the parts of the
 * cluster, what is not known of them, and the skew policy.
 *
 * The skew subject publishes its facts many times a minute; a world compares with the one before,
 * so that only a change makes new plans. Immutable. Threading: none.
 */
#ifndef RECONCILERS_PLAN_WORLD_H
#define RECONCILERS_PLAN_WORLD_H

#include "reconcilers/plan/cluster.h"

struct ek_plan_world {
    const struct ek_plan_data *data; /* borrowed */
    struct ek_plan_report report;    /* what is not known of the parts; owns its arena */
    struct ek_plan_cluster cluster;
    struct ek_skew_policy policy;
    struct ek_probe **probes; /* references: the discovery of the parts is theirs */
    size_t n_probes;
    char *digest; /* of everything that a plan depends on; owned */
};

/* Makes a world of facts and spec, which are copied; data is borrowed. Owned. */
struct ek_plan_world *ek_plan_world_new(const struct ek_skew_facts *facts,
                                        const struct ek_skew_spec *spec,
                                        const struct ek_plan_data *data);

/* Releases the world; NULL is fine. */
void ek_plan_world_free(struct ek_plan_world *world);
EK_CLEANUP_PTR(ek_plan_world, ek_plan_world_free)

/* True when all plans of both worlds are the same; a may be NULL. */
bool ek_plan_world_equal(const struct ek_plan_world *a, const struct ek_plan_world *b);

/* True when the facts did not fit into the world, so that nothing is known. */
bool ek_plan_world_is_too_large(const struct ek_plan_world *world);

#endif
