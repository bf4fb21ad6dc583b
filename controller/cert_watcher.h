/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a TLS identity true to a certificate and key in files, which cert-manager or a mounted
 * Secret replace at any time: file events for speed, a look every 10 seconds for certainty
 * (ecosystem sheet, section 1, "Webhooks"). A pair that does not fit together yet is left alone:
 * the last good one stays in use.
 *
 * Reading is done on uv's thread pool. Ownership: the identity is borrowed, paths are copied.
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_CERT_WATCHER_H
#define CONTROLLER_CERT_WATCHER_H

#include <uv.h>

#include "api/err.h"
#include "controller/tls.h"

struct ek_cert_watcher;

struct ek_cert_watcher_config {
    const char *cert_path, *key_path;
    int64_t poll_ms; /* 0 means 10 s */
    /* Told of each reading, for metrics and logs: err is NULL when it was good; changed tells
     * whether another certificate than before is in use now. May be NULL. */
    void (*on_read)(void *ctx, const struct ek_err *err, bool changed);
    void *ctx;
};

/* Reads the pair for the first time (blocking, on_read included) into identity, then watches it.
 * Errors: those of ek_file_read and ek_tls_context_new; then there is no watcher. */
int ek_cert_watcher_new(uv_loop_t *loop, const struct ek_cert_watcher_config *config,
                        struct ek_tls_identity *identity, struct ek_cert_watcher **ret_watcher,
                        struct ek_err *err);

/* Has the files read now rather than at the next poll; on_read tells the outcome. */
void ek_cert_watcher_poke(struct ek_cert_watcher *watcher);

/* Ends and frees it; on_closed (may be NULL) is called from the loop, at once for NULL. */
void ek_cert_watcher_close(struct ek_cert_watcher *watcher, void (*on_closed)(void *ctx),
                           void *ctx);

#endif
