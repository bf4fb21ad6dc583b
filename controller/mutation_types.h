/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type check of a policy against the schemas that are at hand, as facts for its PolicyStatus.
 *
 * A policy names resources, schemas know kinds: a kind is taken to be that of a resource by the
 * rule that Kubernetes makes plurals by. Kinds whose plural is their own are not checked, nor are
 * resources named by "*". Threading: the loop thread.
 */
#ifndef CONTROLLER_MUTATION_TYPES_H
#define CONTROLLER_MUTATION_TYPES_H

#include "controller/mutation_watch.h"
#include "reconcilers/mutation/status.h"

/* Fills types, types_message and findings of facts, whose policy is set; all is in arena. */
void ek_mutation_types_check(const struct ek_mutation_watch *watch, struct ek_arena *arena,
                             struct ek_policy_facts *facts);

#endif
