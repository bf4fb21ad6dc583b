/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reloads a TLS identity from files (a certificate and its key, or the authorities of clients), or
 * whatever the caller makes of such files, which cert-manager or a mounted volume replaces at any
 * time: file events for speed, a poll every 10 seconds for certainty (controller-runtime,
 * pkg/certwatcher/certwatcher.go: CertWatcher). A pair that does not fit together yet is left
 * alone: the last good one stays in use.
 *
 * Reading is done on uv's thread pool. Ownership: the identity is borrowed, paths are copied.
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_HTTP_CERT_WATCHER_H
#define CONTROLLER_HTTP_CERT_WATCHER_H

#include <uv.h>

#include "api/base/err.h"
#include "controller/http/tls.h"

struct ek_cert_watcher;

/* Contents of the files; empty for a file that is not named. */
struct ek_cert_texts {
    struct ek_str cert, key, authorities;
};

struct ek_cert_watcher_config {
    const char *cert_path;        /* NULL only where make is set */
    const char *key_path;         /* NULL: cert_path has the authorities of clients */
    const char *authorities_path; /* of servers; only where make is set, NULL for none */
    /* With make, the watcher makes an object of the caller from the files, in place of an identity.
     * make runs on any thread and must not write to ctx; its errors are reported as those of the
     * files. use takes the object, on the loop's thread; drop releases an object that is not used.
     * */
    int (*make)(const void *ctx, const struct ek_cert_texts *texts, void **ret_made,
                struct ek_err *err);
    void (*use)(void *ctx, void *made);
    void (*drop)(void *made);
    const char *const *client_names; /* then the names of ek_tls_clients_new; borrowed */
    size_t n_client_names;
    bool clients_optional; /* then a client without a good certificate is accepted, too */
    int64_t poll_ms;       /* 0 means 10 s */
    /* Called after each read, for metrics and logs: err is NULL on success; changed is true
     * if another certificate than before is in use now. May be NULL. */
    void (*on_read)(void *ctx, const struct ek_err *err, bool changed);
    void *ctx;
};

/* Reads the files for the first time (blocking, on_read included) into identity (NULL where make is
 * set), then watches them. Errors: those of ek_file_read, ek_tls_context_new, ek_tls_clients_new
 * and make; then there is no watcher. */
int ek_cert_watcher_new(uv_loop_t *loop, const struct ek_cert_watcher_config *config,
                        struct ek_tls_identity *identity, struct ek_cert_watcher **ret_watcher,
                        struct ek_err *err);

/* Enqueues a read of the files now instead of at the next poll; on_read reports the outcome. */
void ek_cert_watcher_enqueue(struct ek_cert_watcher *watcher);

/* Ends and frees it; on_closed (may be NULL) is called from the loop, at once for NULL. */
void ek_cert_watcher_close(struct ek_cert_watcher *watcher, void (*on_closed)(void *ctx),
                           void *ctx);

#endif
