/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Secret that our own certificates are kept in, and how it changes by one intent of
 * reconcilers/certificates/plan.h:
 *
 *   tls.crt, tls.key            what is served
 *   ca.crt, ca.key              the authority
 *   next-ca.crt, next-ca.key    the next one, while one is being replaced
 *   old-ca.crt                  the one before, until nothing of it is served
 *
 * Values; nothing is sent. Any thread.
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

/* Reads a Secret (NULL: there is none). What is missing or no base64 is absent. */
void ek_cert_secret_read(const struct ek_obj *obj, struct ek_cert_secret *ret_secret);

/* The facts about the Secret for a server that is known by names. */
void ek_cert_secret_facts(const struct ek_cert_secret *secret, const char *const *names,
                          size_t n_names, struct ek_cert_facts *ret_facts);

/* Carries out intent on secret. Errors of ek_cert_make_*; then secret is as it was. */
int ek_cert_secret_change(struct ek_cert_secret *secret, enum ek_cert_intent intent,
                          const char *const *names, size_t n_names, int64_t now_ms,
                          struct ek_err *err);

/* All authorities that clients are to trust, PEM, owned; NULL when there is none. */
char *ek_cert_secret_bundle(const struct ek_cert_secret *secret);

/* The Secret's content: {"metadata": {"labels"}, "data": {...}}, a value of doc. */
yyjson_mut_val *ek_cert_secret_content(const struct ek_cert_secret *secret, yyjson_mut_doc *doc);

#endif
