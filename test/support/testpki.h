/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates for tests, made in the process: an authority, and leaves with chosen names and
 * validity. All texts are PEM and owned by the struct; P-256 keys keep it fast.
 */
#ifndef TEST_SUPPORT_TESTPKI_H
#define TEST_SUPPORT_TESTPKI_H

#include <stdint.h>

struct testpki_cert {
    char *cert;
    char *key;
};

struct testpki_spec {
    const char *common_name;
    const char *organization;    /* NULL for none; each text behind a ";" is a UID (attribute
                                    1.3.6.1.4.1.57683.2) */
    const char *names;           /* subject alternative names as OpenSSL writes them:
                                    "DNS:a,IP:127.0.0.1"; NULL for none */
    long starts_in_s, ends_in_s; /* from now; both 0 mean an hour around now */
};

/* A self-signed authority. */
struct testpki_cert testpki_authority(const char *common_name);

/* A leaf signed by authority, good for servers and clients. */
struct testpki_cert testpki_issue(const struct testpki_cert *authority,
                                  const struct testpki_spec *spec);

void testpki_done(struct testpki_cert *cert);

#endif
