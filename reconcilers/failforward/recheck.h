/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was consented to, read again right before a step. The watches may be behind, and an API
 * server has no write that depends on several objects: what these reads find is the newest that a
 * step can depend on. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_RECHECK_H
#define RECONCILERS_FAILFORWARD_RECHECK_H

#include "reconcilers/failforward/judge.h"
#include "reconcilers/intent.h"

/* What consent is read out of. */
enum ek_ff_fresh {
    EK_FF_FRESH_POLICIES,
    EK_FF_FRESH_NAMESPACES,
    EK_FF_FRESH_SUBSCRIPTIONS,
    EK_FF_FRESH_MAX,
};

/* Appends the reads for a namespace, in the order of enum ek_ff_fresh; each depends on the write
 * before it. */
void ek_ff_recheck(const char *namespace, struct ek_intents *intents);

/* Which of these a resource (plural) is; EK_FF_FRESH_MAX for none. */
enum ek_ff_fresh ek_ff_fresh_of(const char *resource);

/*
 * Whether the lists (answers to the reads, none NULL) allow the step of a verdict: the subscription
 * is still there, it consents to as much, and so do the others of its namespace.
 */
bool ek_ff_is_still_given(const struct ek_ff_verdict *v,
                          const struct ek_obj *const lists[EK_FF_FRESH_MAX]);

#endif
