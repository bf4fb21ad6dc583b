/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CompatibilityPlans: keeps the verdict of each plan true while the cluster changes
 * (reconcilers/plan/compat.h).
 *
 * The subject reads no component of the control plane: what is known of them is what the skew
 * subject publishes (the row's facts). Threading: the loop thread.
 */
#ifndef CONTROLLER_PLAN_SUBJECT_H
#define CONTROLLER_PLAN_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject ek_plan_subject;

#endif
