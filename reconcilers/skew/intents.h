/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan of the skew reconciler (view.h) wants done to the cluster. Pure.
 */
#ifndef RECONCILERS_SKEW_INTENTS_H
#define RECONCILERS_SKEW_INTENTS_H

#include "reconcilers/intent.h"
#include "reconcilers/skew/view.h"

/* After the ControlPlane was created: until the plan that knows the object. */
#define EK_SKEW_CREATED_MS 50

/*
 * Appends the intents of plan, which was made of view: the ControlPlane where there is none, whose
 * status belongs to the next plan; or its status, where that has changed, and the Events of what
 * changed, which depend on the status. A ControlPlane that may not be read is a failure: whether
 * the object exists is not known. The list takes a copy of the status.
 */
void ek_skew_intents(const struct ek_skew_view *view, const struct ek_skew_plan *plan,
                     struct ek_intents *intents);

/* Rewords the failure of intent where the API server's text does not say what to do. */
void ek_skew_explain(const struct ek_intent *intent, struct ek_err *err);

#endif
