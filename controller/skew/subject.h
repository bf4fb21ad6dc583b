/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skew subject: its row in the table of subjects (controller/manager/subject.h). Observe
 * (controller/skew/watch.h), plan (reconcilers/skew/view.h), apply (reconcilers/skew/intents.h).
 *
 * Every replica observes, plans and fills its metrics, and publishes the table of peers; the leader
 * creates the ControlPlane, applies its status and records Events. After a write the object that
 * the API server returned is used until the informer has seen it, so that no stale cache leads to a
 * second write.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_SKEW_SUBJECT_H
#define CONTROLLER_SKEW_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject ek_skew_subject;

#endif
