/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a cluster to a target: the steps and what they break, as `evenkeel plan` and a
 * CompatibilityPlan report them. Pure.
 */
#ifndef RECONCILERS_PLAN_ROUTE_H
#define RECONCILERS_PLAN_ROUTE_H

#include "reconcilers/plan/cluster.h"

/* Adds what is not known of a version outside of the data. */
void ek_plan_say_beyond(const struct ek_plan_data *data, struct ek_minor version,
                        struct ek_plan_report *report);

/*
 * Finds the steps of a cluster to goal, and adds what they break to report; ret_steps
 * lives in the arena of the report. False when the cluster is not complete, or, with a finding,
 * when no order was found.
 */
bool ek_plan_route(const struct ek_plan_cluster *cluster, const struct ek_steps_goal *goal,
                   const struct ek_plan_data *data, struct ek_plan_report *report,
                   struct ek_steps *ret_steps);

/* "binary", "emulation version", "minimum compatibility version". */
const char *ek_upgrade_step_name(enum ek_upgrade_step_kind kind);

/* Of at, the version that a step of the kind changes. */
struct ek_minor ek_upgrade_step_version(const struct ek_part_versions *at,
                                        enum ek_upgrade_step_kind kind);

/* Whether it is known that a step of the part can be undone: then step->lost says what is lost. Not
 * known for API servers below the versions that can be emulated. */
bool ek_upgrade_step_is_marked(const struct ek_part *part, const struct ek_upgrade_step *step);

#endif
