/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a subject that registers webhooks and the rest of the process: the options that the
 * writer (reconcilers/webhooks/configuration.h) takes from how this process is reached, whether
 * requests could be answered, and the report to the webhook's certificates. What is registered is
 * the subject's decision. Threading: the loop thread.
 */
#ifndef CONTROLLER_WEBHOOK_REGISTRATION_H
#define CONTROLLER_WEBHOOK_REGISTRATION_H

#include "controller/manager/subject.h"
#include "reconcilers/webhooks/configuration.h"

/* A handle for ek_webhook_registration_report, for each configuration, or group of them, that is
 * reported as one. To be called in the subject's new. Without certificates it means nothing. */
size_t ek_webhook_registration_expect(const struct ek_subject_serving *serving);

/* The authorities to register, PEM; NULL: none are known. Owned by the caller (ek_free). */
char *ek_webhook_registration_bundle(const struct ek_subject_serving *serving);

/* The options of this process: the address, the bundle, and what is exempt. Borrowed from serving
 * and from bundle (NULL: none). The owner's uid is not among them. */
struct ek_webhooks_options ek_webhook_registration_options(const struct ek_subject_serving *serving,
                                                           const char *bundle);

/* The reason why a registration must wait, because requests could not be answered; NULL: it may be
 * written. err (zero before) is the room for the text. A withdrawal does not wait. */
const char *ek_webhook_registration_waits(const struct ek_subject_serving *serving,
                                          const char *bundle, struct ek_err *err);

/* Reports whether all that the cluster has registered for the subject carries bundle, the one that
 * was compared (NULL, or without certificates: nothing is reported). publisher: from
 * ek_webhook_registration_expect. */
void ek_webhook_registration_report(const struct ek_subject_serving *serving, size_t publisher,
                                    const char *bundle, bool carries);

#endif
