/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of the Secret with the certificates that Evenkeel makes for its webhook, and the
 * changes that carry out an intent of reconcilers/certificates/plan.h:
 *
 *   tls.crt, tls.key            the serving certificate
 *   ca.crt, ca.key              the authority
 *   next-ca.crt, next-ca.key    the next authority, while the authority is being replaced
 *   old-ca.crt                  the authority before, while a replica serves a certificate of it
 *
 * These functions send no requests. Any thread.
 */
#ifndef CONTROLLER_CERTIFICATES_SECRET_H
#define CONTROLLER_CERTIFICATES_SECRET_H

#include "api/obj.h"
#include "controller/certificates/make.h"

struct ek_cert_secret {
    struct ek_cert_pair leaf, ca, next_ca, old_ca; /* old_ca has no key */
};

void ek_cert_secret_done(struct ek_cert_secret *secret);
EK_CLEANUP(ek_cert_secret, ek_cert_secret_done)

/* Reads a Secret (NULL: there is none). A key that is missing or not base64 is absent. */
void ek_cert_secret_read(const struct ek_obj *obj, struct ek_cert_secret *ret_secret);

/* The facts about the Secret; names: the DNS names and IP addresses of the webhook. */
void ek_cert_secret_facts(const struct ek_cert_secret *secret, const char *const *names,
                          size_t n_names, struct ek_cert_facts *ret_facts);

/* Carries out intent on secret. Returns 0, or an error of ek_cert_make_*; secret is unchanged after
 * an error. */
int ek_cert_secret_change(struct ek_cert_secret *secret, enum ek_cert_intent intent,
                          const char *const *names, size_t n_names, int64_t now_ms,
                          struct ek_err *err);

/* All authorities that clients have to trust, PEM, owned; NULL when there is none. */
char *ek_cert_secret_bundle(const struct ek_cert_secret *secret);

/* The Secret's content: {"metadata": {"labels"}, "data": {...}}, a value of doc. */
yyjson_mut_val *ek_cert_secret_content(const struct ek_cert_secret *secret, yyjson_mut_doc *doc);

#endif
