/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the admission webhook ask and expect, over connections of their own. */
#ifndef TEST_SUPPORT_WEBHOOK_ANSWERS_H
#define TEST_SUPPORT_WEBHOOK_ANSWERS_H

#include "test/support/webhook_fixture.h"

/* Posts body to target on a new connection; the whole answer, owned, NULL for none. */
char *webhook_exchange(const struct webhook_fixture *fixture, const char *target, const char *body);

/* Posts webhook_review for namespace, with the uid "u-1". */
char *webhook_ask(const struct webhook_fixture *fixture, const char *target, const char *namespace);

/* Of an answer; 0 for none. */
int webhook_status(const char *answer);

/* Checks an AdmissionReview's response to "u-1": allowed, and the patch ("" for none), or the
 * message. */
void webhook_expect_review(const char *answer, bool allowed, const char *want);

/* Checks that line is among the metrics. */
void webhook_expect_metric(const struct webhook_fixture *fixture, const char *line);

/* A member of a policy's spec that checks access, and an API server that allows it, and compares
 * the review. */
#define WEBHOOK_MAY_GET                                                                            \
    "\"matchConditions\":[{\"name\":\"c\",\"expression\":\"authorizer.group('').resource('pods')." \
    "namespace('ns').check('get').allowed()\"}]"
const char *webhook_allow(const char *path, const char *body, int *ret_status);

#endif
