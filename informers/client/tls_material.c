/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/tls_material.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

int ek_tls_roots_parse(const char *pem, const char *what, X509_STORE **ret_store,
                       struct ek_err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509_STORE *store = X509_STORE_new();
    X509 *cert;
    size_t n = 0;

    while (bio && store && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        X509_STORE_add_cert(store, cert); /* a repeated certificate is no error */
        X509_free(cert);
        n++;
    }
    BIO_free(bio);
    ERR_clear_error();
    if (!n) {
        X509_STORE_free(store);
        return ek_err_set(err, EK_E_PARSE, "%s holds no certificate in PEM form", what);
    }
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
    *ret_store = store;
    return 0;
}

/* Without this OpenSSL would ask for a passphrase on the terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *ctx)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    *(bool *)ctx = true;
    return -1;
}

int ek_tls_pair_check(const char *cert, const char *cert_what, const char *key,
                      const char *key_what, struct ek_err *err)
{
    BIO *cert_bio = BIO_new_mem_buf(cert, -1);
    BIO *key_bio = BIO_new_mem_buf(key, -1);
    bool encrypted = false;
    X509 *x509 = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(key_bio, NULL, no_passphrase, &encrypted);
    int rc = 0;

    if (!x509)
        rc = ek_err_set(err, EK_E_PARSE, "%s holds no certificate in PEM form", cert_what);
    else if (encrypted)
        rc =
            ek_err_set(err, EK_E_INVAL, "%s is encrypted; give a key without passphrase", key_what);
    else if (!pkey)
        rc = ek_err_set(err, EK_E_PARSE, "%s holds no private key in PEM form", key_what);
    else if (X509_check_private_key(x509, pkey) != 1)
        rc = ek_err_set(err, EK_E_INVAL, "%s does not belong to the certificate in %s", key_what,
                        cert_what);
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(cert_bio);
    BIO_free(key_bio);
    ERR_clear_error();
    return rc;
}

int64_t ek_tls_not_after(const X509 *cert)
{
    const ASN1_TIME *end = X509_get0_notAfter(cert);
    struct tm tm;

    if (!end || !ASN1_TIME_to_tm(end, &tm))
        return EK_TIME_UNSET;
    return (int64_t)timegm(&tm) * 1000;
}

int64_t ek_tls_pem_not_after(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    int64_t end = cert ? ek_tls_not_after(cert) : EK_TIME_UNSET;

    X509_free(cert);
    BIO_free(bio);
    ERR_clear_error();
    return end;
}

void ek_tls_fingerprint(const X509 *cert, char hex[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    hex[0] = '\0';
    if (!X509_digest(cert, EVP_sha256(), digest, &size) || size != 32)
        return;
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void report_name(const GENERAL_NAME *name, void (*fn)(void *ctx, const char *name),
                        void *ctx)
{
    char text[256];
    int type;
    const void *value = GENERAL_NAME_get0_value(name, &type);

    if (type == GEN_DNS) {
        int len = ASN1_STRING_length(value);
        const unsigned char *data = ASN1_STRING_get0_data(value);
        if (len <= 0 || (size_t)len >= sizeof text || memchr(data, 0, (size_t)len))
            return;
        snprintf(text, sizeof text, "%.*s", len, (const char *)data);
        for (char *p = text; *p; p++)
            if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
                return;
        fn(ctx, text);
    } else if (type == GEN_IPADD) {
        int len = ASN1_STRING_length(value);
        int family = len == 4 ? AF_INET : len == 16 ? AF_INET6 : 0;
        if (family && inet_ntop(family, ASN1_STRING_get0_data(value), text, sizeof text))
            fn(ctx, text);
    }
}

void ek_tls_names(X509 *cert, void (*fn)(void *ctx, const char *name), void *ctx)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    int n = sk_GENERAL_NAME_num(names);

    for (int i = 0; i < n && i < EK_CERT_NAMES_MAX; i++)
        report_name(sk_GENERAL_NAME_value(names, i), fn, ctx);
    GENERAL_NAMES_free(names);
}
