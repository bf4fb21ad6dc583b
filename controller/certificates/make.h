/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes certificates, and reads them: ECDSA P-256, an authority that may only sign leaves, and
 * leaves for servers and clients (RFC 5280). Texts are PEM. Time is an argument; keys come from
 * OpenSSL's random numbers. Any thread.
 */
#ifndef CONTROLLER_CERTIFICATES_MAKE_H
#define CONTROLLER_CERTIFICATES_MAKE_H

#include "api/base/err.h"
#include "api/base/mem.h"
#include "reconcilers/certificates/plan.h"

#define EK_CERT_PEM_MAX ((size_t)64 * 1024) /* of one text that is read */

/* Owned PEM texts, NULL where absent. */
struct ek_cert_pair {
    char *cert, *key;
};

/* Releases the texts and wipes the key. */
void ek_cert_pair_done(struct ek_cert_pair *pair);
EK_CLEANUP(ek_cert_pair, ek_cert_pair_done)

/* An authority that is valid for EK_CERT_CA_LIFE_MS. Returns 0 or EK_E_TLS. */
int ek_cert_make_ca(int64_t now_ms, struct ek_cert_pair *ret_pair, struct ek_err *err);

/*
 * A leaf of ca for names: DNS names, or IP addresses. It is valid for EK_CERT_LEAF_LIFE_MS, but
 * not longer than its authority. Returns 0; EK_E_INVAL for an authority that cannot be read or
 * does not have its key, and for bad names; EK_E_TLS.
 */
int ek_cert_make_leaf(const struct ek_cert_pair *ca, const char *const *names, size_t n_names,
                      int64_t now_ms, struct ek_cert_pair *ret_pair, struct ek_err *err);

/*
 * As ek_cert_make_leaf, for a process that is a server and a client at once: as a client, the user
 * names[0] of the group organization (subject of the certificate, apiserver
 * pkg/authentication/request/x509/x509.go:CommonNameUserConversion).
 */
int ek_cert_make_member(const struct ek_cert_pair *ca, const char *organization,
                        const char *const *names, size_t n_names, int64_t now_ms,
                        struct ek_cert_pair *ret_pair, struct ek_err *err);

/* What a certificate says; usable when key is its private key. key NULL: usable means only that
 * the certificate can be read. */
struct ek_cert_fact ek_cert_read(const char *cert, const char *key);

/* True when ca issued leaf; when leaf is for each of the names. */
bool ek_cert_is_issued_by(const char *leaf, const char *ca);
bool ek_cert_has_names(const char *leaf, const char *const *names, size_t n_names);

#endif
