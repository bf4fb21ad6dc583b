/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials that stay fresh: tokens, certificates, authorities and plugin results of one
 * configuration.
 *
 * Model: ek_credentials_get hands out the current state as an immutable snapshot (struct ek_auth).
 * It is also where freshness is decided, by the time the caller gives: a token file is read again
 * after a minute less ten seconds, certificate, key and CA files after five minutes
 * (client-go/transport: NewCachedFileTokenSource, CertCallbackRefreshDuration), a plugin is run
 * again when its credential has expired. Files are read on libuv's worker threads and plugins are
 * child processes, so nothing here blocks the loop; while files are re-read the previous state
 * stays good, and it also does when reading fails, because a rotation that is half done is no
 * reason to stop. Only what was never known, has expired or was refused by the server
 * (ek_credentials_refused) makes callers wait.
 *
 * Ownership: a snapshot is refcounted. Threading: the loop thread.
 */
#ifndef INFORMERS_CLIENT_CREDENTIALS_H
#define INFORMERS_CLIENT_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "api/base/err.h"
#include "informers/client/kubeconfig.h"

#define EK_CREDENTIALS_TOKEN_MS INT64_C(50000)  /* a minute less ten seconds of leeway */
#define EK_CREDENTIALS_TLS_MS   INT64_C(300000) /* certificate, key and CA files */
#define EK_CREDENTIALS_RETRY_MS INT64_C(10000)  /* after a failed reading or plugin run */
#define EK_CREDENTIAL_FILE_MAX  ((size_t)1 << 20)

struct x509_store_st; /* OpenSSL's X509_STORE */

/* One state of the credentials. Strings are owned, NULL where there is none. */
struct ek_auth {
    unsigned refs;
    char *authorization;         /* the Authorization header's value; secret */
    char *cert;                  /* client certificate chain, PEM */
    char *key;                   /* its key, PEM; secret */
    char *ca;                    /* authorities, PEM; NULL means the system's */
    struct x509_store_st *roots; /* the same, parsed; NULL means the system's */
    uint64_t tls_generation;     /* another number than before whenever cert, key or ca changed */
};

void ek_auth_unref(struct ek_auth *auth);
EK_CLEANUP_PTR(ek_auth, ek_auth_unref)

struct ek_credentials;

/*
 * Reads all files once (blocking: this is start-up) and checks that certificates parse and match
 * their keys. config must outlive the credentials; now_ms is wall-clock time. Errors: EK_E_NOENT,
 * EK_E_IO, EK_E_PARSE, EK_E_INVAL; the message names the file or the field.
 */
int ek_credentials_new(uv_loop_t *loop, const struct ek_client_config *config, int64_t now_ms,
                       struct ek_credentials **ret_credentials, struct ek_err *err);

/* Calls fn from the loop when a refresh has ended, with success or failure. One observer. */
void ek_credentials_set_observer(struct ek_credentials *credentials, void (*fn)(void *ctx),
                                 void *ctx);

enum ek_credentials_state {
    EK_CREDENTIALS_READY,   /* *ret_auth is a reference for the caller */
    EK_CREDENTIALS_PENDING, /* ask again when the observer is called */
    EK_CREDENTIALS_FAILED,  /* err says why */
    EK_CREDENTIALS_STATE_MAX,
};

/* Gives the credentials to use at now_ms (wall clock), starting whatever refresh is due. */
enum ek_credentials_state ek_credentials_get(struct ek_credentials *credentials, int64_t now_ms,
                                             struct ek_auth **ret_auth, struct ek_err *err);

/* End of validity of the client certificate of the current credentials, in milliseconds since the
 * epoch; EK_TIME_UNSET without one. */
int64_t ek_credentials_not_after(const struct ek_credentials *credentials);

/*
 * Reports that the server answered 401 to the snapshot used. Returns true when another request may
 * succeed: a token file is being read or a plugin runs again, or either already gave something
 * newer.
 */
bool ek_credentials_refused(struct ek_credentials *credentials, const struct ek_auth *used);

/* Stops everything and releases the credentials; on_closed is called from the loop when nothing is
 * left. Snapshots stay valid. */
void ek_credentials_close(struct ek_credentials *credentials, void (*on_closed)(void *ctx),
                          void *ctx);

#endif
