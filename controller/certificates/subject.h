/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Secret with the webhook's own certificates, as a subject: its row in the table of subjects.
 *
 * Every replica watches the Secret, serves the leaf that the Secret holds and trusts its
 * authorities; the leader makes certificates (reconcilers/certificates/plan.h) and writes the
 * Secret. Without a webhook, and where certificates come from files, nothing is watched. Threading:
 * the loop thread.
 */
#ifndef CONTROLLER_CERTIFICATES_SUBJECT_H
#define CONTROLLER_CERTIFICATES_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject ek_certificates_subject;

#endif
