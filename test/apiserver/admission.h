/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission webhooks: the reviews of a write, and their answers.
 *
 * The core makes no calls. A write that a webhook has to see is evaluated up to that point and
 * stops with nothing stored; its owner makes the call that is due, adds the answer, and handles
 * the same request again, which then comes further:
 *
 *     admission = new; do { handle(request with admission); } while (call is due: make it, answer)
 *
 * An answer counts only for the review that it was given to. When another write has changed the
 * stored object meanwhile, the review is another one, and the webhook is called again: so nothing
 * is stored that a webhook has not seen. Names, uids and times of a request are the same each time.
 *
 * What it is not: match conditions, match policies and reinvocation are not looked at; a webhook
 * behind a Service counts as one that cannot be called, because there is no network of Services.
 * Reviews (TokenReview...), tokens and the peers' own writes are admitted unasked.
 *
 * Ownership: belongs to the sender of the request. Not thread safe.
 */
#ifndef TEST_APISERVER_ADMISSION_H
#define TEST_APISERVER_ADMISSION_H

#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/mem.h"

struct ek_admission;

/* A call that is due: a POST of JSON. Borrowed from the admission until it is answered. */
struct ek_admission_call {
    const char *url; /* complete, with its timeout as a parameter */
    const char *ca;  /* PEM; NULL: the system's authorities */
    int64_t timeout_ms;
    struct ek_str body;
};

/* Returns an owned, empty admission, for one request. */
struct ek_admission *ek_admission_new(void);
void ek_admission_free(struct ek_admission *admission);
EK_CLEANUP_PTR(ek_admission, ek_admission_free)

/* The call that the last handling of the request stopped for; NULL when it got its answer. */
const struct ek_admission_call *ek_admission_due(const struct ek_admission *admission);

/* Answers the call that is due: with the body of a 2xx answer, or with what went wrong (error not
 * NULL). Both are copied. */
void ek_admission_answer(struct ek_admission *admission, struct ek_str body, const char *error);

#endif
