/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a FailForwardStatus, whole, out of a verdict: class, versions, what was tried, what
 * happens next and when, what a person must do, and the conditions
 *
 *   Failing    the installation or the upgrade failed; the reason is the class
 *   Blocked    a reason keeps the next step from being taken
 *   Recovered  the last failure ended with a healthy operator
 *
 * Nothing moves with the clock alone. Fields are described in
 * deploy/crd/failforward/evenkeel.dev_failforwardstatuses.yaml. Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_STATUS_H
#define RECONCILERS_FAILFORWARD_STATUS_H

#include "reconcilers/failforward/judge.h"

/* The status as a value of doc; strings are copied. The memory is v->memory. */
yyjson_mut_val *ek_ff_status(const struct ek_ff_verdict *v, int64_t now_ms, yyjson_mut_doc *doc);

/* Appends what a person must do before the operator can become healthy; nothing where nobody must
 * do anything. finding and next are of one decision. */
void ek_ff_required(const struct ek_ff_finding *finding, const struct ek_ff_next *next,
                    struct ek_buf *out);

/* What a person must do for a reason; "" where nobody must do anything. Constant. */
const char *ek_ff_remedy(enum ek_ff_blocked blocked);

#endif
