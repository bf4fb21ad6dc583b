/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's serving certificate, from one of two sources:
 *
 *   files    a mounted folder with tls.crt, tls.key and, for the bundle, ca.crt: cert-manager
 *   Secret   our own authority and leaf (controller/webhook_cert_plan.h); the leader writes the
 *            Secret, every replica watches it and serves what it holds. When it is deleted or
 *            spoilt, what it held is served on and written again
 *
 * It keeps a TLS identity true to the source and tells which authorities clients are to trust.
 * Those who write that into webhook configurations, the publishers, tell back when they have: an
 * authority is replaced only when every publisher that is expected has told so of the present
 * bundle.
 *
 * It is the thin shell around the plan: an informer, a timer, and writes. Writes carry the
 * resourceVersion that they were planned from. Threading: the loop's thread.
 */
#ifndef CONTROLLER_WEBHOOK_CERTS_H
#define CONTROLLER_WEBHOOK_CERTS_H

#include "controller/log.h"
#include "controller/manager.h"
#include "controller/standard_metrics.h"
#include "controller/tls.h"
#include "controller/webhook_publication.h"
#include "informers/client.h"

#define EK_WEBHOOK_CERT_NAMES_MAX 16

struct ek_webhook_certs;

/* Borrowed, and to outlive the certificates, unless it says copied. */
struct ek_webhook_certs_config {
    uv_loop_t *loop;
    struct ek_client *client;         /* of the Secret */
    struct ek_tls_identity *identity; /* kept true */
    const char *cert_path;            /* folder of the files; "" or NULL: the Secret. Copied */
    const char *cert_name, *key_name; /* in it; NULL means tls.crt and tls.key. Copied */
    const char *namespace, *secret;   /* where the Secret is; copied */
    const char *const *names;         /* that servers are called by; copied */
    size_t n_names;                   /* 1 to EK_WEBHOOK_CERT_NAMES_MAX, for the Secret */
    int64_t (*now_ms)(void);          /* the wall clock, ms since the epoch */
    bool (*may_write)(void *ctx);     /* asked before each write */
    void (*changed)(void *ctx);       /* the bundle is another one now; may be NULL */
    void *ctx;
    struct ek_standard_metrics *standard; /* counts readings of files; may be NULL */
    struct ek_log *log;                   /* may be NULL */
};

struct ek_webhook_certs *ek_webhook_certs_new(const struct ek_webhook_certs_config *config);

/* The runnable (group WEBHOOKS; it is to be added before the webhook). It does not wait for a
 * certificate: the first one is made by a leader, which is elected later. */
void ek_webhook_certs_runnable(struct ek_webhook_certs *certs, struct ek_runnable *ret_runnable);

/* The authorities for caBundle, PEM; NULL while there are none, or when they are somebody else's
 * affair (files without ca.crt). Borrowed until the loop goes on: copy what is to be kept. */
const char *ek_webhook_ca_bundle(const struct ek_webhook_certs *certs);

/* Has publisher be waited for: until it has told, no authority is replaced. Before the start. */
void ek_webhook_certs_expect(struct ek_webhook_certs *certs, enum ek_webhook_publisher publisher);

/* A publisher, which is expected from now on, tells whether all that it has registered carries
 * bundle, as far as it can see; so it is when it has registered nothing. To be called whenever that
 * has been looked at. bundle is what was compared with; any but the present one is ignored. */
void ek_webhook_certs_published(struct ek_webhook_certs *certs, enum ek_webhook_publisher publisher,
                                const char *bundle, bool everywhere);

/* Has everything looked at again: leadership was gained. */
void ek_webhook_certs_poke(struct ek_webhook_certs *certs);

/* The informer of the Secret, for metrics and debugging; NULL while there is none. Borrowed. */
struct ek_informer *ek_webhook_certs_informer(const struct ek_webhook_certs *certs);

/* Releases it after its runnable has stopped, or if it was never started. NULL is fine. */
void ek_webhook_certs_free(struct ek_webhook_certs *certs);

#endif
