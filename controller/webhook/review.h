/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SubjectAccessReviews for expressions that use `authorizer`: the object of the request, and what
 * its answer means. Pure; any thread.
 */
#ifndef CONTROLLER_WEBHOOK_REVIEW_H
#define CONTROLLER_WEBHOOK_REVIEW_H

#include <yyjson.h>

#include "api/cel/authorizer.h"
#include "controller/webhook/asks.h"

#define EK_WEBHOOK_REASON_SIZE 512

struct ek_webhook_review {
    bool allowed;
    char reason[EK_WEBHOOK_REASON_SIZE]; /* cut to fit, at a character */
    char error[EK_WEBHOOK_REASON_SIZE];  /* "" for none */
};

/*
 * The ask for what the user of a request (user_info, or the service account that what names) may
 * do. Its key is a hash of the whole question, so it can be remembered under it. NULL without
 * memory.
 */
struct ek_webhook_ask *ek_webhook_review_ask(yyjson_val *user_info,
                                             const struct ek_cel_authz_attributes *what);

/* Reads the answer of such an ask, failures included (then error says so). Returns whether it is
 * an answer that may be remembered. */
bool ek_webhook_review_read(const struct ek_webhook_ask *ask, struct ek_webhook_review *ret_review);

#endif
