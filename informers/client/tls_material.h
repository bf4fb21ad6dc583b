/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEM texts checked and parsed: authorities, client certificates and keys; and the reading of what
 * a server's certificate says. Pure functions over OpenSSL; may be called from any thread.
 */
#ifndef INFORMERS_CLIENT_TLS_MATERIAL_H
#define INFORMERS_CLIENT_TLS_MATERIAL_H

#include <openssl/x509.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/err.h"

#define EK_CERT_NAMES_MAX 256 /* subject alternative names kept of one certificate */

/* Parses the certificates of pem into a store that trusts each of them, also one that another
 * authority signed (as Go's verifier does). EK_E_PARSE; what names the file or field. */
int ek_tls_roots_parse(const char *pem, const char *what, X509_STORE **ret_store,
                       struct ek_err *err);

/* Checks that cert holds a certificate, key an unencrypted private key, and that they belong
 * together. EK_E_PARSE or EK_E_INVAL; the message never quotes the key. */
int ek_tls_pair_check(const char *cert, const char *cert_what, const char *key,
                      const char *key_what, struct ek_err *err);

/* End of validity in milliseconds since the epoch, EK_TIME_UNSET when it is unknown. */
int64_t ek_tls_not_after(const X509 *cert);

/* The same of the first certificate of pem. */
int64_t ek_tls_pem_not_after(const char *pem);

/* Writes the SHA-256 of the certificate's DER as lower-case hex; "" when it cannot be computed. */
void ek_tls_fingerprint(const X509 *cert, char hex[65]);

/* Calls fn with each DNS name and IP address that the certificate is valid for. */
void ek_tls_names(X509 *cert, void (*fn)(void *ctx, const char *name), void *ctx);

#endif
