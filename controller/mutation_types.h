/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type check of a policy against the schemas that are at hand, as facts for its PolicyStatus.
 *
 * A policy names resources, schemas know kinds: a kind is taken to be that of a resource by the
 * rule that Kubernetes makes plurals by. Kinds whose plural is their own are not checked, nor are
 * resources named by "*".
 *
 * A check is repeated only for what it rests on: the policy, which is immutable, and the schemas.
 * Between, its findings are kept in a memo that whoever has the policy keeps beside it. Threading:
 * the loop thread.
 */
#ifndef CONTROLLER_MUTATION_TYPES_H
#define CONTROLLER_MUTATION_TYPES_H

#include "controller/mutation_watch.h"
#include "reconcilers/mutation/status.h"

struct ek_types_memo;

/* Fills types, types_message and findings of facts, whose policy is set. *memo (NULL at first) is
 * of the same policy; it is made anew when schemas have changed since. All that is filled in is
 * borrowed: from *memo, and from watch. */
void ek_mutation_types_check(const struct ek_mutation_watch *watch, struct ek_types_memo **memo,
                             struct ek_policy_facts *facts);

void ek_types_memo_free(struct ek_types_memo *memo); /* NULL is fine */

#endif
