/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutating admission as a subject (controller/manager/subject.h).
 *
 *   observe   compile what is new, join, order, decide who enforces   reconcilers/mutation/state.h
 *   publish   a snapshot for the webhook                              snapshot.h
 *   stages    the two webhook configurations, then one PolicyStatus   registrations.h, statuses.h
 *             for each policy, by server-side apply where they differ
 *
 * Observing and writing run beside each other: a slow API server never delays what requests are
 * judged by. Nothing is registered before the webhook can answer, and the registrations are emptied
 * when no policy needs them. Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_SUBJECT_H
#define CONTROLLER_MUTATION_SUBJECT_H

#include "controller/manager/subject.h"

struct ek_mutation_watch;

extern const struct ek_subject ek_mutation_subject;

/* The watch of the subject, the value that new of the row returned. Borrowed. */
struct ek_mutation_watch *ek_mutation_subject_watch(void *subject);

#endif
