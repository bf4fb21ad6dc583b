/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field gates as a subject (controller/manager/subject.h): the glue between what is watched and
 * reconcilers/fieldgates/.
 *
 *   observe   kinds.h: each CustomFeatureGates, held against its CRD
 *   publish   the gates for the webhook (review.h), and metrics; every replica
 *   stages    registrar.h: the two webhook configurations, written where they differ
 *             report.h: statuses and their Events
 *             imports.h: gates that CRDs bring along; then the ConfigMap that remembers them
 *   beside    the canary (canary.h) shows whether API servers act by the registration; counts
 *             (counts.h, tally.h) come from requests
 *
 * Nothing is registered before the webhook can answer; an entry is changed in place, and goes with
 * its CRD or its gates. Gates that are deleted leave their fields open, which log and Event report.
 *
 * CRDs may be thousands, and large. So of all of them only metadata is kept, for annotations; those
 * that gates are named after are followed one by one and kept whole.
 */
#ifndef CONTROLLER_FIELDGATES_SUBJECT_H
#define CONTROLLER_FIELDGATES_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject ek_gates_subject;

#endif
