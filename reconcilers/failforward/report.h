/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written for one subscription: its FailForwardStatus, the writes of the next step, and
 * Events on the Subscription.
 *
 * The memory is written before the step that it remembers, at the version that was read, and the
 * step depends on that write. So a step that was carried out is always remembered, a memory that is
 * older than the last one leads to no step, and of two writers one is refused. Between the two,
 * what was consented to is read again, and the step depends on that, too. Pure: time is an
 * argument. Threading: none.
 */
#ifndef RECONCILERS_FAILFORWARD_REPORT_H
#define RECONCILERS_FAILFORWARD_REPORT_H

#include "reconcilers/failforward/judge.h"
#include "reconcilers/intent.h"

#define EK_FF_REPORTS_RESOURCE "failforwardstatuses"

/* What an intent is: intent->tag is one of these, and the index of the verdict (below). */
enum ek_ff_tag {
    EK_FF_TAG_REPORT = 1,
    EK_FF_TAG_STATUS,
    EK_FF_TAG_CONSENT, /* a read of what consent is read out of; see recheck.h */
    EK_FF_TAG_STEP,
    EK_FF_TAG_LEFTOVER, /* of ek_ff_plan_leftovers; without a verdict */
    EK_FF_TAG_MAX,
};

/* The parts of a tag. */
enum ek_ff_tag ek_ff_tag_kind(int tag);
size_t ek_ff_tag_index(int tag);

/*
 * Appends the intents for a verdict; index is for their tags. Nothing is appended when the report
 * says all of it already. v->memory becomes the memory that is written. world is that of the
 * verdict.
 */
void ek_ff_plan(struct ek_ff_verdict *v, size_t index, const struct ek_ff_world *world,
                int64_t now_ms, struct ek_intents *intents);

/*
 * Appends the intents that take back what was changed for Subscriptions that are gone, and their
 * reports with them: the hold of a CSV that no report remembers, and the switch of an operator
 * group that no report remembers, where no Subscription of the namespace consents to Assist.
 * Requires no consent, as every restoration. Returns how many there are. catalog and recall of
 * inputs are not called.
 */
size_t ek_ff_plan_leftovers(const struct ek_ff_inputs *inputs, struct ek_intents *intents);

#endif
