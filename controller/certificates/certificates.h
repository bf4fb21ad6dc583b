/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's serving certificate, from one of two sources:
 *
 *   files    a mounted folder with tls.crt, tls.key and, for the bundle, ca.crt: cert-manager
 *   Secret   our own authority and leaf (reconcilers/certificates/plan.h); the leader writes the
 *            Secret, every replica watches the Secret and serves its certificate. When the Secret
 *            is deleted or damaged, its last content is still served, and written again
 *
 * The module keeps a TLS identity equal to the source, and provides the bundle of authorities that
 * clients must trust. The publishers, which write the bundle into webhook configurations, report
 * when they have: an authority is replaced only after every expected publisher has reported the
 * present bundle.
 *
 * The Secret is the affair of a subject in the frame (controller/certificates/subject.h).
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_CERTIFICATES_CERTIFICATES_H
#define CONTROLLER_CERTIFICATES_CERTIFICATES_H

#include "controller/http/tls.h"
#include "controller/manager/manager.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/standard_metrics.h"
#include "reconcilers/certificates/publication.h"

#define EK_WEBHOOK_CERT_NAMES_MAX 16

struct ek_webhook_certs;

/* Borrowed, and to outlive the certificates, unless it says copied. */
struct ek_webhook_certs_config {
    uv_loop_t *loop;
    struct ek_tls_identity *identity; /* kept true */
    const char *cert_path;            /* folder of the files; "" or NULL: the Secret. Copied */
    const char *cert_name, *key_name; /* in it; NULL means tls.crt and tls.key. Copied */
    const char *namespace, *secret;   /* where the Secret is; copied */
    const char *const *names;         /* that servers are called by; copied */
    size_t n_names;                   /* 1 to EK_WEBHOOK_CERT_NAMES_MAX, for the Secret */
    int64_t (*now_ms)(void);          /* the wall clock, ms since the epoch */
    void (*changed)(void *ctx);       /* the bundle is another one now; may be NULL */
    void *ctx;
    struct ek_standard_metrics *standard; /* counts readings of files; may be NULL */
    struct ek_log *log;                   /* may be NULL */
};

struct ek_webhook_certs *ek_webhook_certs_new(const struct ek_webhook_certs_config *config);

/* Fills the runnable that reads files (group WEBHOOKS; it is to be added before the webhook). False
 * for a Secret, which the subject reads (controller/certificates/subject.h). */
bool ek_webhook_certs_runnable(struct ek_webhook_certs *certs, struct ek_runnable *ret_runnable);

/* The authorities for caBundle, PEM; NULL while there are none, or when they are somebody else's
 * affair (files without ca.crt). Borrowed until the loop goes on: copy what is to be kept. */
const char *ek_webhook_ca_bundle(const struct ek_webhook_certs *certs);

/* Expects one more publisher, and returns its handle: no authority is replaced before its report.
 * To be called before the start, once for each configuration, or group of configurations, that is
 * reported as one. */
size_t ek_webhook_certs_expect(struct ek_webhook_certs *certs);

/* A publisher, by its handle, reports whether all of its registrations that it can see carry
 * bundle; true without registrations. To be called after each comparison. bundle is the bundle that
 * was compared (NULL: none); a report about any but the present one is ignored. */
void ek_webhook_certs_published(struct ek_webhook_certs *certs, size_t publisher,
                                const char *bundle, bool everywhere);

/* Releases it after its runnable has stopped and its subject's controller is closed, or if neither
 * was started. NULL is fine. */
void ek_webhook_certs_free(struct ek_webhook_certs *certs);

#endif
