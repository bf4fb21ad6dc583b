/* SPDX-License-Identifier: Apache-2.0 */
/* What tls_context.c and tls_session.c share. */
#ifndef CONTROLLER_HTTP_TLS_INTERNAL_H
#define CONTROLLER_HTTP_TLS_INTERNAL_H

#include "controller/http/tls.h"

struct ssl_st;        /* OpenSSL's SSL */
struct x509_store_st; /* OpenSSL's X509_STORE */
struct x509_st;       /* OpenSSL's X509 */
struct ek_tls_note;

/* A reference to the present context, NULL when there is none; released by SSL_CTX_free. */
struct ssl_ctx_st *ek_tls_identity_ref__(struct ek_tls_identity *identity);

/* Sets err to "<what>: <OpenSSL's last reason>" and clears OpenSSL's queue; returns code. */
int ek_tls_fail__(struct ek_err *err, int code, const char *what);

/* ---- Shared by both sides (tls_context.c) ---- */

/* Uses a PEM chain (leaf first) and its PEM key. Errors as ek_tls_context_new. */
int ek_tls_use_pair__(struct ssl_ctx_st *context, struct ek_str cert, struct ek_str key,
                      const char *name, struct ek_err *err);

/* ---- Trust (tls_trust.c) ---- */

/* Makes ssl the client's side of a session, as ek_tls_session_connect describes. The note is owned
 * by the session, and freed by ek_free. NULL without memory. */
struct ek_tls_note *ek_tls_trust_require__(struct ssl_st *ssl, const char *name, const char *ip,
                                           const char *host);
struct ssl_ctx_st *ek_tls_trust_context__(struct ek_tls_trust *trust);

/* Reads the subject of a certificate into *ret, which is zeroed. */
void ek_tls_subject_read__(struct x509_st *cert, struct ek_tls_subject *ret);

/* ---- Clients (tls_clients.c) ---- */

/* Adds every certificate of a PEM text to a store; returns how many, 0 when one is bad. */
int ek_tls_add_authorities__(struct x509_store_st *store, struct ek_str pem);

struct ek_tls_clients *ek_tls_clients_ref__(struct ek_tls_clients *clients);

/* A reference to the clients of an identity; NULL for everybody. */
struct ek_tls_clients *ek_tls_identity_clients__(struct ek_tls_identity *identity);

/* Has a session, which borrows clients, verify its client. False without memory. */
bool ek_tls_clients_require__(struct ek_tls_clients *clients, struct ssl_st *ssl);

#endif
