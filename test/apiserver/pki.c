/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/pki.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define YEAR_MS INT64_C(31536000000)
#define DAY_MS  INT64_C(86400000)

struct ek_pki {
    EVP_PKEY *key;
    X509 *cert;
    char *pem;
    long serial;
};

static int fail(struct ek_err *err)
{
    return ek_err_set(err, EK_E_TLS, "making a certificate failed");
}

/* The content of a memory BIO as an owned string; frees the BIO. */
static char *bio_text(BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    char *text = ek_xstrndup(data, len > 0 ? (size_t)len : 0);

    BIO_free(bio);
    return text;
}

static char *cert_pem(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());

    PEM_write_bio_X509(bio, cert);
    return bio_text(bio);
}

static char *key_pem(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());

    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    return bio_text(bio);
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool set_times(X509 *cert, int64_t from_ms, int64_t until_ms)
{
    return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(from_ms / 1000)) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(until_ms / 1000)) != NULL;
}

/* A certificate with key, serial, subject and times, not signed yet. */
static X509 *draft(EVP_PKEY *key, long serial, const char *name, int64_t from_ms, int64_t until_ms)
{
    X509 *cert = X509_new();
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;

    if (cert && X509_set_version(cert, 2) && X509_set_pubkey(cert, key) &&
        ASN1_INTEGER_set(X509_get_serialNumber(cert), serial) &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
                                   0) &&
        set_times(cert, from_ms, until_ms))
        return cert;
    X509_free(cert);
    return NULL;
}

int ek_pki_new(int64_t now_ms, struct ek_pki **ret_pki, struct ek_err *err)
{
    struct ek_pki *pki = ek_xalloc(sizeof(*pki));

    pki->serial = 1;
    pki->key = EVP_EC_gen("P-256");
    pki->cert = pki->key ? draft(pki->key, pki->serial++, "ek-apiserver-ca", now_ms - DAY_MS,
                                 now_ms + 10 * YEAR_MS)
                         : NULL;
    if (!pki->cert || !X509_set_issuer_name(pki->cert, X509_get_subject_name(pki->cert)) ||
        !add_extension(pki->cert, pki->cert, NID_basic_constraints, "critical,CA:TRUE") ||
        !add_extension(pki->cert, pki->cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !add_extension(pki->cert, pki->cert, NID_subject_key_identifier, "hash") ||
        !X509_sign(pki->cert, pki->key, EVP_sha256())) {
        ek_pki_free(pki);
        return fail(err);
    }
    pki->pem = cert_pem(pki->cert);
    *ret_pki = pki;
    return 0;
}

void ek_pki_free(struct ek_pki *pki)
{
    if (!pki)
        return;
    X509_free(pki->cert);
    EVP_PKEY_free(pki->key);
    ek_free(pki->pem);
    ek_free(pki);
}

const char *ek_pki_ca(const struct ek_pki *pki)
{
    return pki->pem;
}

int ek_pki_sign(struct ek_pki *pki, const char *host, const char *address, int64_t from_ms,
                int64_t until_ms, char **ret_cert, char **ret_key, struct ek_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert =
        key ? draft(key, pki->serial++, "kube-apiserver", from_ms - 3600000, until_ms) : NULL;
    char *names = ek_xasprintf("DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
                               "DNS:localhost,DNS:%s,IP:10.0.0.1,IP:%s",
                               host, address);
    bool ok = cert && X509_set_issuer_name(cert, X509_get_subject_name(pki->cert)) &&
              add_extension(cert, pki->cert, NID_basic_constraints, "CA:FALSE") &&
              add_extension(cert, pki->cert, NID_key_usage, "critical,digitalSignature") &&
              add_extension(cert, pki->cert, NID_ext_key_usage, "serverAuth") &&
              add_extension(cert, pki->cert, NID_authority_key_identifier, "keyid") &&
              add_extension(cert, pki->cert, NID_subject_alt_name, names) &&
              X509_sign(cert, pki->key, EVP_sha256());

    if (ok) {
        *ret_cert = cert_pem(cert);
        *ret_key = key_pem(key);
    }
    ek_free(names);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? 0 : fail(err);
}
