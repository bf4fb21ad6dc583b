/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the webhook's certificates: certificates.c (what is served and trusted, files) and
 * subject.c (the Secret). For these files only.
 */
#ifndef CONTROLLER_CERTIFICATES_CERTIFICATES_INTERNAL_H
#define CONTROLLER_CERTIFICATES_CERTIFICATES_INTERNAL_H

#include "controller/certificates/certificates.h"
#include "controller/certificates/make.h"
#include "controller/manager/subject.h"

struct ek_webhook_certs {
    struct ek_webhook_certs_config config;
    char *cert_path, *key_path, *bundle_path; /* of files; NULL for the Secret */
    char *namespace, *secret, *key;           /* key is that of the store */
    char *names[EK_WEBHOOK_CERT_NAMES_MAX];
    struct ek_cert_watcher *watcher;  /* of files */
    struct ek_controller *controller; /* of the Secret's subject; NULL while there is none */
    char *serving;                    /* the leaf in use, PEM */
    char *bundle;
    struct ek_publication published; /* of bundle */
};

/* Trusts bundle (owned, may be NULL) from now on. */
void ek_webhook_certs_set_bundle__(struct ek_webhook_certs *certs, char *bundle);

/* Serves the leaf from now on; one that does not fit its key is left alone. */
void ek_webhook_certs_serve__(struct ek_webhook_certs *certs, const struct ek_cert_pair *leaf);

#endif
