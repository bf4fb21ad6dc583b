/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage that writes PolicyStatuses: reads stores and hands them to
 * reconcilers/mutation/status_plan.h, policy by policy. Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_STATUSES_H
#define CONTROLLER_MUTATION_STATUSES_H

#include "controller/mutation/reporter.h"
#include "controller/mutation/state.h"
#include "reconcilers/mutation/status_plan.h"

/* The progress of a run; zero at first. */
struct ek_mutation_statuses {
    size_t next; /* policy of the state */
};

/* Begins a run. */
void ek_mutation_statuses_begin(struct ek_mutation_statuses *statuses);

/* Appends the intents of a part of the run; true when there is more. Policies whose type check is
 * due are checked, and policies that are new to the lowest version of servers are compiled for it.
 * unregistered is that of the state (reconcilers/mutation/registered.h). reporter may be NULL. */
bool ek_mutation_statuses_plan(struct ek_mutation_statuses *statuses,
                               struct ek_mutation_state *state,
                               const struct ek_mutation_watch *watch,
                               struct ek_mutation_reporter *reporter,
                               const struct ek_refusal_servers *servers,
                               const struct ek_policy_unregistered *unregistered, int64_t now_ms,
                               struct ek_intents *intents);

#endif
