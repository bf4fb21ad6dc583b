/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/testpki.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

static void must(int ok)
{
    if (!ok)
        abort();
}

static char *bio_text(BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    char *copy = ek_xstrndup(data, (size_t)len);

    BIO_free(bio);
    return copy;
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    must(extension != NULL && X509_add_ext(cert, extension, -1));
    X509_EXTENSION_free(extension);
}

static void add_text(X509_NAME *name, const char *type, const char *text)
{
    must(X509_NAME_add_entry_by_txt(name, type, MBSTRING_UTF8, (const unsigned char *)text, -1, -1,
                                    0));
}

static void set_name(X509 *cert, const struct testpki_spec *spec)
{
    X509_NAME *name = X509_get_subject_name(cert);
    EK_AUTOFREE char *copy = ek_xstrdup(spec->organization);
    char *rest = copy, *organization = strsep(&rest, ";"), *uid;

    if (organization && *organization)
        add_text(name, "O", organization);
    add_text(name, "CN", spec->common_name);
    while ((uid = strsep(&rest, ";")) != NULL)
        add_text(name, "1.3.6.1.4.1.57683.2", uid);
}

static struct testpki_cert make(const struct testpki_spec *spec, X509 *issuer, EVP_PKEY *issuer_key)
{
    X509 *cert = X509_new();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    bool window = spec->starts_in_s || spec->ends_in_s;
    uint64_t serial = 0;

    must(cert && key && RAND_bytes((unsigned char *)&serial, sizeof serial));
    must(X509_set_version(cert, 2));
    must(ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1));
    must(X509_gmtime_adj(X509_getm_notBefore(cert), window ? spec->starts_in_s : -3600) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(cert), window ? spec->ends_in_s : 3600) != NULL);
    must(X509_set_pubkey(cert, key));
    set_name(cert, spec);
    must(X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert)));
    add_extension(cert, issuer ? issuer : cert, NID_basic_constraints,
                  issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    add_extension(cert, issuer ? issuer : cert, NID_key_usage,
                  issuer ? "critical,digitalSignature" : "critical,keyCertSign,cRLSign");
    if (issuer)
        add_extension(cert, issuer, NID_ext_key_usage, "serverAuth,clientAuth");
    if (spec->names)
        add_extension(cert, issuer ? issuer : cert, NID_subject_alt_name, spec->names);
    must(X509_sign(cert, issuer ? issuer_key : key, EVP_sha256()));
    must(PEM_write_bio_X509(cert_bio, cert));
    must(PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL));
    X509_free(cert);
    EVP_PKEY_free(key);
    return (struct testpki_cert){bio_text(cert_bio), bio_text(key_bio)};
}

struct testpki_cert testpki_authority(const char *common_name)
{
    return make(&(struct testpki_spec){.common_name = common_name}, NULL, NULL);
}

struct testpki_cert testpki_issue(const struct testpki_cert *authority,
                                  const struct testpki_spec *spec)
{
    BIO *cert_bio = BIO_new_mem_buf(authority->cert, -1);
    BIO *key_bio = BIO_new_mem_buf(authority->key, -1);
    X509 *issuer = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);

    must(issuer && key);
    struct testpki_cert leaf = make(spec, issuer, key);
    X509_free(issuer);
    EVP_PKEY_free(key);
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return leaf;
}

void testpki_done(struct testpki_cert *cert)
{
    ek_free(cert->cert);
    ek_free(cert->key);
    *cert = (struct testpki_cert){NULL, NULL};
}
