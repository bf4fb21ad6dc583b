/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates/make.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/time.h"

#define CA_NAME "Evenkeel webhook CA"

/* X.520's limit for common names; longer ones are in the alternative names alone. */
#define COMMON_NAME_MAX 64

void ek_cert_pair_done(struct ek_cert_pair *pair)
{
    if (pair->key)
        OPENSSL_cleanse(pair->key, strlen(pair->key));
    ek_free(pair->key);
    ek_free(pair->cert);
    *pair = (struct ek_cert_pair){0};
}

static int tls_error(struct ek_err *err, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ek_err_set(err, EK_E_TLS, "%s: %s", what, reason ? reason : "OpenSSL failed");
    ERR_clear_error();
    return EK_E_TLS;
}

/* ---- Reading ---- */

/* Never prompts for a password. */
static int no_password(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static BIO *text_bio(const char *pem)
{
    return pem && strlen(pem) <= EK_CERT_PEM_MAX ? BIO_new_mem_buf(pem, -1) : NULL;
}

static X509 *read_cert(const char *pem)
{
    BIO *bio = text_bio(pem);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return cert;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = text_bio(pem);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return key;
}

static int64_t time_ms(const ASN1_TIME *t)
{
    struct tm tm;

    return t && ASN1_TIME_to_tm(t, &tm) ? (int64_t)timegm(&tm) * 1000 : EK_TIME_UNSET;
}

struct ek_cert_fact ek_cert_read(const char *cert_pem, const char *key_pem)
{
    struct ek_cert_fact fact = {0};
    X509 *cert = read_cert(cert_pem);
    EVP_PKEY *key = read_key(key_pem);

    if (cert) {
        fact.present = true;
        fact.usable = !key_pem || (key && X509_check_private_key(cert, key) == 1);
        fact.not_before_ms = time_ms(X509_get0_notBefore(cert));
        fact.not_after_ms = time_ms(X509_get0_notAfter(cert));
        if (fact.not_before_ms == EK_TIME_UNSET || fact.not_after_ms == EK_TIME_UNSET)
            fact.usable = false;
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return fact;
}

bool ek_cert_is_issued_by(const char *leaf_pem, const char *ca_pem)
{
    X509 *leaf = read_cert(leaf_pem), *ca = read_cert(ca_pem);
    bool issued = leaf && ca && X509_check_issued(ca, leaf) == X509_V_OK &&
                  X509_verify(leaf, X509_get0_pubkey(ca)) == 1;

    X509_free(leaf);
    X509_free(ca);
    ERR_clear_error();
    return issued;
}

static bool is_ip(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

bool ek_cert_has_names(const char *leaf_pem, const char *const *names, size_t n_names)
{
    X509 *leaf = read_cert(leaf_pem);
    bool all = leaf != NULL;

    for (size_t i = 0; i < n_names && all; i++)
        all = is_ip(names[i]) ? X509_check_ip_asc(leaf, names[i], 0) == 1
                              : X509_check_host(leaf, names[i], 0, 0, NULL) == 1;
    X509_free(leaf);
    ERR_clear_error();
    return all;
}

/* ---- Making ---- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool added = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool set_serial(X509 *cert)
{
    unsigned char serial[16];

    if (RAND_bytes(serial, sizeof serial) != 1)
        return false;
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40); /* positive, and of full length */
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return set;
}

static bool set_common_name(X509 *cert, const char *name)
{
    return strlen(name) > COMMON_NAME_MAX ||
           X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)name, -1, -1, 0) == 1;
}

/* What all certificates have: version, serial, validity, key. */
static bool fill(X509 *cert, EVP_PKEY *key, const char *name, int64_t from_ms, int64_t to_ms)
{
    return X509_set_version(cert, 2) == 1 && set_serial(cert) && set_common_name(cert, name) &&
           ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(from_ms / 1000)) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(to_ms / 1000)) != NULL &&
           X509_set_pubkey(cert, key) == 1;
}

static char *bio_text(BIO *bio)
{
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);

    return ek_xstrndup(data ? data : "", (size_t)(len > 0 ? len : 0));
}

static bool write_pair(X509 *cert, EVP_PKEY *key, struct ek_cert_pair *ret_pair)
{
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_secmem());
    bool written = cert_bio && key_bio && PEM_write_bio_X509(cert_bio, cert) == 1 &&
                   PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL) == 1;

    if (written)
        *ret_pair = (struct ek_cert_pair){bio_text(cert_bio), bio_text(key_bio)};
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return written;
}

int ek_cert_make_ca(int64_t now_ms, struct ek_cert_pair *ret_pair, struct ek_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    int64_t from_ms = now_ms - EK_CERT_BACKDATE_MS;

    bool made = key && cert && fill(cert, key, CA_NAME, from_ms, from_ms + EK_CERT_CA_LIFE_MS) &&
                X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
                add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
                X509_sign(cert, key, EVP_sha256()) > 0 && write_pair(cert, key, ret_pair);
    X509_free(cert);
    EVP_PKEY_free(key);
    return made ? 0 : tls_error(err, "making an authority");
}

/* "DNS:a,IP:127.0.0.1". OpenSSL reads commas and colons in it, which names cannot have: EK_E_INVAL
 * for those that do. */
static int put_names(const char *const *names, size_t n, struct ek_buf *out, struct ek_err *err)
{
    for (size_t i = 0; i < n; i++) {
        bool ip = is_ip(names[i]);
        if (!*names[i] || strlen(names[i]) > 253 || (!ip && strpbrk(names[i], ",:;\n ")))
            return ek_err_set(err, EK_E_INVAL, "\"%s\" is no name for a certificate", names[i]);
        ek_buf_printf(out, "%s%s:%s", i ? "," : "", ip ? "IP" : "DNS", names[i]);
    }
    return n && !out->failed
               ? 0
               : ek_err_set(err, EK_E_INVAL, "a certificate needs names, but not too many");
}

static bool set_organization(X509 *cert, const char *organization)
{
    return !organization ||
           X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "O", MBSTRING_UTF8,
                                      (const unsigned char *)organization, -1, -1, 0) == 1;
}

static bool fill_leaf(X509 *cert, X509 *ca, const char *usage, const char *names)
{
    return X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
           add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, ca, NID_ext_key_usage, usage) &&
           add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
           add_extension(cert, ca, NID_authority_key_identifier, "keyid:always") &&
           add_extension(cert, ca, NID_subject_alt_name, names);
}

/* organization NULL: a server that is no client. */
static int make_leaf(const struct ek_cert_pair *ca_pair, const char *organization,
                     const char *const *names, size_t n_names, int64_t now_ms,
                     struct ek_cert_pair *ret_pair, struct ek_err *err)
{
    const char *usage = organization ? "serverAuth,clientAuth" : "serverAuth";
    struct ek_cert_fact fact = ek_cert_read(ca_pair->cert, ca_pair->key);
    EK_AUTO(ek_buf) alternatives;

    ek_buf_init(&alternatives, EK_BUF_SMALL_MAX);
    if (!fact.usable || !ca_pair->key)
        return ek_err_set(err, EK_E_INVAL, "the authority cannot be used to issue certificates");
    int rc = put_names(names, n_names, &alternatives, err);
    if (rc)
        return rc;
    int64_t from_ms = now_ms - EK_CERT_BACKDATE_MS, to_ms = from_ms + EK_CERT_LEAF_LIFE_MS;
    X509 *ca = read_cert(ca_pair->cert), *cert = X509_new();
    EVP_PKEY *ca_key = read_key(ca_pair->key), *key = EVP_EC_gen("P-256");
    bool made =
        ca && ca_key && cert && key &&
        fill(cert, key, names[0], from_ms, to_ms < fact.not_after_ms ? to_ms : fact.not_after_ms) &&
        set_organization(cert, organization) &&
        fill_leaf(cert, ca, usage, ek_buf_str(&alternatives)) &&
        X509_sign(cert, ca_key, EVP_sha256()) > 0 && write_pair(cert, key, ret_pair);
    X509_free(ca);
    X509_free(cert);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
    return made ? 0 : tls_error(err, "making a serving certificate");
}

int ek_cert_make_leaf(const struct ek_cert_pair *ca_pair, const char *const *names, size_t n_names,
                      int64_t now_ms, struct ek_cert_pair *ret_pair, struct ek_err *err)
{
    return make_leaf(ca_pair, NULL, names, n_names, now_ms, ret_pair, err);
}

int ek_cert_make_member(const struct ek_cert_pair *ca_pair, const char *organization,
                        const char *const *names, size_t n_names, int64_t now_ms,
                        struct ek_cert_pair *ret_pair, struct ek_err *err)
{
    return make_leaf(ca_pair, organization, names, n_names, now_ms, ret_pair, err);
}
