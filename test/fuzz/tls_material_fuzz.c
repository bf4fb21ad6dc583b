/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEM texts, as kubeconfigs and servers bring them: authorities, certificates with keys, and what
 * is read off a certificate. An error is one line that quotes nothing of the text; names are text.
 */
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "informers/client/tls_material.h"
#include "test/fuzz/fuzz.h"

static void check_error(int rc, const struct ek_err *err)
{
    fuzz_require(rc == err->code && (rc == 0) == !*err->message && !strchr(err->message, '\n'));
    fuzz_require(!rc || strstr(err->message, "the-file"));
}

static void on_name(void *ctx, const char *name)
{
    size_t *n = ctx;

    fuzz_require(++*n <= EK_CERT_NAMES_MAX && *name);
    for (; *name; name++)
        fuzz_require((unsigned char)*name > 0x20 && (unsigned char)*name != 0x7f);
}

static void check_certificate(const char *text, size_t size)
{
    BIO *bio = BIO_new_mem_buf(text, (int)size);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    char hex[65], time[EK_TIME_SIZE];
    size_t n = 0;

    BIO_free(bio);
    if (!cert)
        return;
    ek_tls_fingerprint(cert, hex);
    fuzz_require(strlen(hex) == 64);
    ek_tls_names(cert, on_name, &n);
    ek_time_format(ek_tls_not_after(cert), time);
    X509_free(cert);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data, size);
    X509_STORE *roots = NULL;
    struct ek_err err = {0};

    int rc = ek_tls_roots_parse(text, "the-file", &roots, &err);
    check_error(rc, &err);
    fuzz_require((rc == 0) == (roots != NULL));
    X509_STORE_free(roots);
    err = (struct ek_err){0};
    check_error(ek_tls_pair_check(text, "the-file", text, "the-file", &err), &err);
    check_certificate(text, size);
    return 0;
}
