/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match conditions: whether an invocation runs on an object. Not for those outside this folder.
 * Source: Kubernetes 1.36, apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go:
 * Match.
 */
#ifndef RECONCILERS_MUTATION_CONDITIONS_H
#define RECONCILERS_MUTATION_CONDITIONS_H

#include "reconcilers/mutation/evaluate.h"

enum ek_conditions {
    EK_CONDITIONS_TRUE,
    EK_CONDITIONS_FALSE,
    EK_CONDITIONS_FAILED,
};

/*
 * A condition that is false skips, whatever the others are; else an error counts, and is reported
 * in step->message and step->error. Costs are added to step. namespaceObject is null here, as it is
 * in the API server. Where run->error or run->pending is set, the verdict says nothing.
 */
enum ek_conditions ek_judge_conditions(struct ek_run *run, const struct ek_invocation *invocation,
                                       yyjson_val *object, struct ek_step *step);

#endif
