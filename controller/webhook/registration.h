/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of subjects that register webhooks. A subject decides which webhooks to register; these
 * functions have the parts that depend on the process: its address and certificate authorities for
 * the writer of configurations (reconcilers/webhooks/configuration.h), whether the process can
 * answer requests, and the report to the certificates of the webhook, which authorities the cluster
 * has registered. Threading: the loop thread.
 */
#ifndef CONTROLLER_WEBHOOK_REGISTRATION_H
#define CONTROLLER_WEBHOOK_REGISTRATION_H

#include "controller/manager/subject.h"
#include "reconcilers/webhooks/configuration.h"

/* Returns a handle for ek_webhook_registration_report. A subject calls this function in its new,
 * once for each group of configurations that are reported together. The handle has no meaning where
 * the process has no certificates. */
size_t ek_webhook_registration_expect(const struct ek_subject_serving *serving);

/* The authorities to register, PEM; NULL: none are known. Owned by the caller (ek_free). */
char *ek_webhook_registration_bundle(const struct ek_subject_serving *serving);

/* The options of this process: the address, the bundle, and the exempt namespaces. Borrowed from
 * serving and from bundle (NULL: none). The caller adds the UID of the owner. */
struct ek_webhooks_options ek_webhook_registration_options(const struct ek_subject_serving *serving,
                                                           const char *bundle);

/* The reason why a registration must not be written yet, because the process could not answer
 * requests; NULL: the registration can be written. err (zeroed by the caller) holds the text. The
 * removal of a registration never has to wait. */
const char *ek_webhook_registration_waits(const struct ek_subject_serving *serving,
                                          const char *bundle, struct ek_err *err);

/* Reports to the certificates whether all registrations of the subject in the cluster have bundle.
 * Nothing is reported when bundle is NULL or the process has no certificates. publisher: from
 * ek_webhook_registration_expect. */
void ek_webhook_registration_report(const struct ek_subject_serving *serving, size_t publisher,
                                    const char *bundle, bool carries);

#endif
