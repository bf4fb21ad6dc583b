/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for our listeners: which certificate is served, and one session without its socket.
 *
 * An identity holds the certificate and key that new connections are served with. It can be
 * swapped at any time; sessions that exist keep what they began with. Certificates come as PEM
 * (from files by controller/http/cert_watcher.h) or are made here, as controller-runtime does for
 * metrics without a certificate. TLS 1.2 and 1.3; HTTP/1.1 by ALPN, HTTP/2 only where it is offered
 * (the proxy, whose limits cover rapid reset); no renegotiation. Client certificates are requested
 * where an identity has clients set.
 *
 * A session turns ciphertext into plaintext and back through memory BIOs. Threading: identities
 * from any thread, a session on one.
 */
#ifndef CONTROLLER_HTTP_TLS_H
#define CONTROLLER_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

struct ek_tls_identity;
struct ek_tls_clients;
struct ek_tls_session;
struct ssl_ctx_st; /* OpenSSL's SSL_CTX */

/* Returns an owned identity that has no certificate yet. */
struct ek_tls_identity *ek_tls_identity_new(void);
void ek_tls_identity_free(struct ek_tls_identity *identity);
EK_CLEANUP_PTR(ek_tls_identity, ek_tls_identity_free)

/*
 * Makes a context from a PEM chain (leaf first) and its PEM key; owned by the caller, which hands
 * it to ek_tls_identity_set or releases it by ek_tls_context_free. name is for messages
 * ("certificate /certs/tls.crt"). Errors: EK_E_PARSE when either is unreadable, EK_E_TLS when they
 * do not belong together. Pure; any thread.
 */
int ek_tls_context_new(struct ek_str cert, struct ek_str key, const char *name,
                       struct ssl_ctx_st **ret_context, struct ek_err *err);
void ek_tls_context_free(struct ssl_ctx_st *context);

/* Makes the context the one for new sessions; takes it. */
void ek_tls_identity_set(struct ek_tls_identity *identity, struct ssl_ctx_st *context);

/*
 * The clients that may connect: those that show a certificate of one of the authorities (PEM), for
 * client authentication, whose common name or one of whose DNS names is one of n_names; with
 * n_names 0, any. what is for messages ("certificate /certs/ca.crt"). One reference for the caller,
 * which hands it to ek_tls_identity_set_clients or releases it. Errors: EK_E_PARSE. Any thread.
 */
int ek_tls_clients_new(struct ek_str authorities, const char *const *names, size_t n_names,
                       const char *what, struct ek_tls_clients **ret_clients, struct ek_err *err);
void ek_tls_clients_unref(struct ek_tls_clients *clients); /* NULL is fine */

/* Accepts also clients without a certificate, and clients whose certificate cannot be verified;
 * such a session has no subject (see ek_tls_session_subject). API servers do the same: the user may
 * be known by a token (apiserver 1.36, pkg/server/secure_serving.go:tlsConfig, RequestClientCert).
 * To be called before the clients are passed on. */
void ek_tls_clients_optional(struct ek_tls_clients *clients);

/* Has new sessions prefer HTTP/2 by ALPN. To be called before the first session. */
void ek_tls_identity_offer_h2(struct ek_tls_identity *identity);

/* Makes new sessions accept these clients only: the handshake of any other client fails, before a
 * byte of HTTP is read. Takes the reference. NULL: sessions accept all clients and request no
 * certificate. */
void ek_tls_identity_set_clients(struct ek_tls_identity *identity, struct ek_tls_clients *clients);

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

/* ---- The client's side (tls_trust.c) ---- */

struct ek_tls_trust;

/*
 * Whom we connect to, and as who: servers with a certificate of one of the authorities (PEM), and
 * our certificate and key (PEM), both empty for none. what is for messages. One reference for the
 * caller. Errors: EK_E_PARSE, EK_E_TLS. Pure; any thread.
 */
int ek_tls_trust_new(struct ek_str authorities, struct ek_str cert, struct ek_str key,
                     const char *what, struct ek_tls_trust **ret_trust, struct ek_err *err);
struct ek_tls_trust *ek_tls_trust_ref(struct ek_tls_trust *trust);
void ek_tls_trust_unref(struct ek_tls_trust *trust); /* NULL is fine */

/* End of validity of the certificate that is shown to servers, ms since the epoch; EK_TIME_UNSET
 * for none. */
int64_t ek_tls_trust_not_after(const struct ek_tls_trust *trust);

/*
 * Starts the client's side of a session, in HTTP/1.1. The server's certificate must have name (sent
 * as SNI), and also ip or host: all servers of a kind share a name, and the second one names which
 * server it is. ip and host may be NULL; with both NULL the name is enough. The handshake fails
 * before our certificate is shown. NULL without memory.
 */
struct ek_tls_session *ek_tls_session_connect(struct ek_tls_trust *trust, const char *name,
                                              const char *ip, const char *host);

/* The subject of the other side's verified certificate; strings are owned. */
struct ek_tls_subject {
    char *name;    /* CN; of several the last (crypto/x509/pkix:Name.FillFromRDNSequence of Go) */
    char **groups; /* each O, in order */
    size_t n_groups;
    char *uid;            /* "" for none */
    char fingerprint[65]; /* SHA-256 of the certificate, lower-case hex; "" when not known */
    int64_t not_after_ms; /* end of validity by the wall clock; EK_TIME_UNSET when not known */
};

/* Fills *ret, to be released by ek_tls_subject_done; false when the other side has shown no
 * certificate, one that could not be verified, or one that was forgotten. *ret_unverified (may be
 * NULL): the other side has shown one that could not be verified (see ek_tls_clients_optional). */
bool ek_tls_session_subject(const struct ek_tls_session *session, struct ek_tls_subject *ret,
                            bool *ret_unverified);
void ek_tls_subject_done(struct ek_tls_subject *subject);

/* Releases most of what the session keeps of the other side's certificate, and all that came with
 * it, once the handshake is complete: an idle session then takes about 3 kB less, and 4 kB less for
 * each further certificate. There is no subject any more. */
void ek_tls_session_forget_certificate(struct ek_tls_session *session);

/* Takes ciphertext from the other side. Returns 0 or EK_E_NOMEM. A client that announces a message
 * of the handshake beyond 16 KiB has its session fail, and read says so. */
int ek_tls_session_input(struct ek_tls_session *session, const char *data, size_t len);

/*
 * Goes on with the handshake and reads plaintext into buf. Returns its length, 0 when more
 * ciphertext is needed or the client has ended the stream (*ret_end), or EK_E_TLS with a message
 * that is safe to log. More than 32 records without data, one after the other, end a session, and
 * so does a second handshake.
 */
int ek_tls_session_read(struct ek_tls_session *session, char *buf, size_t size, bool *ret_end,
                        struct ek_err *err);

/* True when ciphertext waits that read has not gone through yet. */
bool ek_tls_session_waits(const struct ek_tls_session *session);

/* True when so much waits to be sent (16 KiB) that the owner should neither read from the session
 * nor from its socket: what the other side sends may have to be answered. */
bool ek_tls_session_is_full(const struct ek_tls_session *session);

/* Encrypts all of data; only once ek_tls_session_ready. Returns 0 or EK_E_TLS. */
int ek_tls_session_write(struct ek_tls_session *session, const char *data, size_t len,
                         struct ek_err *err);

/* Appends the close_notify alert to the output. */
void ek_tls_session_end(struct ek_tls_session *session);

/* The maximum memory of a session, without the bytes that wait in it: the state of the library, and
 * its buffers for records and messages during a handshake. A session without a handshake to do
 * holds 16 kB. */
#define EK_TLS_SESSION_BYTES ((size_t)62 * 1024)

/* Releases memory of bytes that have gone through; returns how much the bytes that wait still take,
 * in both directions. Up to 512 bytes each are part of EK_TLS_SESSION_BYTES. */
size_t ek_tls_session_trim(struct ek_tls_session *session);

/* True when the handshake has agreed on HTTP/2. */
bool ek_tls_session_is_h2(const struct ek_tls_session *session);

/* True when the handshake is complete. */
bool ek_tls_session_ready(const struct ek_tls_session *session);

/* Takes up to size bytes of ciphertext to send; returns how many. */
size_t ek_tls_session_output(struct ek_tls_session *session, char *buf, size_t size);

#endif
