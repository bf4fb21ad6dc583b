/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for our listeners: which certificate is served, and one session without its socket.
 *
 * An identity holds the certificate and key that new connections are served with. It can be
 * swapped at any time; sessions that exist keep what they began with. Certificates come as PEM
 * (from files by controller/cert_watcher.h) or are made here, as controller-runtime does for
 * metrics without a certificate. TLS 1.2 and 1.3; HTTP/1.1 by ALPN; no HTTP/2 (rapid reset), no
 * renegotiation, no client certificates.
 *
 * A session turns ciphertext into plaintext and back through memory BIOs. Threading: identities
 * from any thread, a session on one.
 */
#ifndef CONTROLLER_TLS_H
#define CONTROLLER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/buf.h"
#include "api/err.h"

struct ek_tls_identity;
struct ek_tls_session;
struct ssl_ctx_st; /* OpenSSL's SSL_CTX */

/* Returns an owned identity that has no certificate yet. */
struct ek_tls_identity *ek_tls_identity_new(void);
void ek_tls_identity_free(struct ek_tls_identity *identity);
EK_CLEANUP_PTR(ek_tls_identity, ek_tls_identity_free)

/*
 * Makes a context from a PEM chain (leaf first) and its PEM key; owned by the caller, who hands it
 * to ek_tls_identity_set or releases it by ek_tls_context_free. name is for messages ("certificate
 * /certs/tls.crt"). Errors: EK_E_PARSE when either is unreadable, EK_E_TLS when they do not
 * belong together. Pure; any thread.
 */
int ek_tls_context_new(struct ek_str cert, struct ek_str key, const char *name,
                       struct ssl_ctx_st **ret_context, struct ek_err *err);
void ek_tls_context_free(struct ssl_ctx_st *context);

/* Makes the context the one for new sessions; takes it. */
void ek_tls_identity_set(struct ek_tls_identity *identity, struct ssl_ctx_st *context);

/*
 * Makes and sets a self-signed certificate (ECDSA P-256, valid for a year from an hour before
 * now_ms) for localhost, 127.0.0.1 and ::1. Clients cannot verify it; it keeps tokens off the
 * wire in clear text. Errors: EK_E_TLS.
 */
int ek_tls_identity_self_signed(struct ek_tls_identity *identity, int64_t now_ms,
                                struct ek_err *err);

/* End of validity of the leaf, ms since the epoch; EK_TIME_UNSET without one. */
int64_t ek_tls_identity_not_after(struct ek_tls_identity *identity);

/* Starts the server's side of a session; NULL while the identity has no certificate. */
struct ek_tls_session *ek_tls_session_new(struct ek_tls_identity *identity);
void ek_tls_session_free(struct ek_tls_session *session);

/* Takes ciphertext from the client. Returns 0 or EK_E_NOMEM. */
int ek_tls_session_input(struct ek_tls_session *session, const char *data, size_t len);

/*
 * Goes on with the handshake and reads plaintext into buf. Returns its length, 0 when more
 * ciphertext is needed or the client has ended the stream (*ret_end), or EK_E_TLS with a message
 * that is safe to log.
 */
int ek_tls_session_read(struct ek_tls_session *session, char *buf, size_t size, bool *ret_end,
                        struct ek_err *err);

/* Encrypts all of data; only once ek_tls_session_ready. Returns 0 or EK_E_TLS. */
int ek_tls_session_write(struct ek_tls_session *session, const char *data, size_t len,
                         struct ek_err *err);

/* Appends the close_notify alert to the output. */
void ek_tls_session_end(struct ek_tls_session *session);

/* True when the handshake is complete. */
bool ek_tls_session_ready(const struct ek_tls_session *session);

/* Takes up to size bytes of ciphertext to send; returns how many. */
size_t ek_tls_session_output(struct ek_tls_session *session, char *buf, size_t size);

#endif
