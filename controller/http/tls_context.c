/* SPDX-License-Identifier: Apache-2.0 */
/* Identities: contexts from PEM, self-signed certificates, and the swap. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <time.h>

#include "api/base/time.h"
#include "controller/http/tls-internal.h"

/* Certificates in a chain. */
#define CHAIN_MAX 16

/* Octets of the certificates of a client. OpenSSL makes room for them before they come. */
#define CLIENT_CHAIN_MAX (16L * 1024)

struct ek_tls_identity {
    pthread_mutex_t lock;           /* held only to take or replace the pointer */
    SSL_CTX *context;               /* NULL before the first set */
    struct ek_tls_clients *clients; /* NULL: everybody */
    bool h2;                        /* HTTP/2 is offered */
};

struct ek_tls_identity *ek_tls_identity_new(void)
{
    struct ek_tls_identity *identity = ek_xalloc(sizeof *identity);

    pthread_mutex_init(&identity->lock, NULL);
    return identity;
}

void ek_tls_identity_free(struct ek_tls_identity *identity)
{
    if (!identity)
        return;
    SSL_CTX_free(identity->context);
    ek_tls_clients_unref(identity->clients);
    pthread_mutex_destroy(&identity->lock);
    ek_free(identity);
}

void ek_tls_context_free(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

/* What we speak by ALPN (RFC 7301), as OpenSSL lists it: the first one that the client has. */
struct protocols {
    const unsigned char *list;
    unsigned len;
};
static struct protocols with_h2 = {(const unsigned char *)"\x02h2\x08http/1.1", 12};
static struct protocols without_h2 = {(const unsigned char *)"\x08http/1.1", 9};

/* A client that insists on something else is turned away. */
static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *in, unsigned in_len, void *arg)
{
    const struct protocols *ours = arg;
    unsigned char *chosen;

    (void)ssl;
    if (SSL_select_next_proto(&chosen, out_len, ours->list, ours->len, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

void ek_tls_identity_offer_h2(struct ek_tls_identity *identity)
{
    pthread_mutex_lock(&identity->lock);
    identity->h2 = true;
    if (identity->context)
        SSL_CTX_set_alpn_select_cb(identity->context, select_alpn, &with_h2);
    pthread_mutex_unlock(&identity->lock);
}

void ek_tls_identity_set(struct ek_tls_identity *identity, struct ssl_ctx_st *context)
{
    pthread_mutex_lock(&identity->lock);
    SSL_CTX *old = identity->context;
    identity->context = context;
    if (identity->h2 && context)
        SSL_CTX_set_alpn_select_cb(context, select_alpn, &with_h2);
    pthread_mutex_unlock(&identity->lock);
    SSL_CTX_free(old);
}

struct ssl_ctx_st *ek_tls_identity_ref__(struct ek_tls_identity *identity)
{
    pthread_mutex_lock(&identity->lock);
    SSL_CTX *context = identity->context;
    if (context)
        SSL_CTX_up_ref(context);
    pthread_mutex_unlock(&identity->lock);
    return context;
}

void ek_tls_identity_set_clients(struct ek_tls_identity *identity, struct ek_tls_clients *clients)
{
    pthread_mutex_lock(&identity->lock);
    struct ek_tls_clients *old = identity->clients;
    identity->clients = clients;
    pthread_mutex_unlock(&identity->lock);
    ek_tls_clients_unref(old);
}

struct ek_tls_clients *ek_tls_identity_clients__(struct ek_tls_identity *identity)
{
    pthread_mutex_lock(&identity->lock);
    struct ek_tls_clients *clients = ek_tls_clients_ref__(identity->clients);
    pthread_mutex_unlock(&identity->lock);
    return clients;
}

int64_t ek_tls_identity_not_after(struct ek_tls_identity *identity)
{
    SSL_CTX *context = ek_tls_identity_ref__(identity);
    struct tm tm;
    int64_t ms = EK_TIME_UNSET;

    if (context && ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context)), &tm))
        ms = (int64_t)timegm(&tm) * 1000;
    SSL_CTX_free(context);
    return ms;
}

int ek_tls_fail__(struct ek_err *err, int code, const char *what)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = error ? ERR_reason_error_string(error) : NULL;

    ERR_clear_error();
    return ek_err_set(err, code, "%s: %s", what, reason ? reason : "unknown TLS failure");
}

static SSL_CTX *new_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_MAX);
    /* TLS 1.2: forward secrecy and authenticated encryption only, as Go's secure suites. */
    if (!SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_alpn_select_cb(context, select_alpn, &without_h2);
    return context;
}

static int no_password(char *buf, int size, int rwflag, void *ctx)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)ctx;
    return -1;
}

/* Adds the leaf and what follows it; returns how many certificates there were. */
static int use_chain(SSL_CTX *context, struct ek_str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
    X509 *cert;
    int n = 0;

    while (n < CHAIN_MAX && (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        bool added = n == 0 ? SSL_CTX_use_certificate(context, cert) == 1
                            : SSL_CTX_add1_chain_cert(context, cert) == 1;
        X509_free(cert);
        if (!added)
            break;
        n++;
    }
    BIO_free(bio);
    /* The end of the file shows as "no start line". */
    if (n > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
        ERR_clear_error();
    return n > 0 && ERR_peek_last_error() ? 0 : n;
}

static EVP_PKEY *read_key(struct ek_str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);

    BIO_free(bio);
    return key;
}

int ek_tls_use_pair__(SSL_CTX *context, struct ek_str cert, struct ek_str key, const char *name,
                      struct ek_err *err)
{
    EVP_PKEY *private_key = NULL;
    int rc = 0;

    if (cert.len == 0 || use_chain(context, cert) == 0) {
        rc = ek_tls_fail__(err, EK_E_PARSE, name);
        ek_err_prefix(err, "no usable PEM certificate");
    } else if (key.len == 0 || (private_key = read_key(key)) == NULL) {
        rc = ek_tls_fail__(err, EK_E_PARSE, name);
        ek_err_prefix(err, "no usable PEM private key");
    } else if (SSL_CTX_use_PrivateKey(context, private_key) != 1 ||
               SSL_CTX_check_private_key(context) != 1) {
        rc = ek_tls_fail__(err, EK_E_TLS, name);
        ek_err_prefix(err, "certificate and key do not belong together");
    }
    EVP_PKEY_free(private_key);
    return rc;
}

int ek_tls_context_new(struct ek_str cert, struct ek_str key, const char *name,
                       struct ssl_ctx_st **ret_context, struct ek_err *err)
{
    SSL_CTX *context = new_context();

    if (!context)
        return ek_tls_fail__(err, EK_E_TLS, name);
    int rc = ek_tls_use_pair__(context, cert, key, name, err);
    if (rc) {
        SSL_CTX_free(context);
        return rc;
    }
    *ret_context = context;
    return 0;
}

static bool add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool added = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool fill_certificate(X509 *cert, EVP_PKEY *key, int64_t now_ms)
{
    static const unsigned char name[] = "localhost";
    unsigned char serial[8];
    BIGNUM *number = NULL;

    if (RAND_bytes(serial, sizeof serial) != 1)
        return false;
    serial[0] &= 0x7f; /* positive, as RFC 5280 wants it */
    number = BN_bin2bn(serial, sizeof serial, NULL);
    bool good = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    X509_NAME *subject = X509_get_subject_name(cert);
    time_t from = (time_t)(now_ms / 1000) - 3600, to = from + 365L * 24 * 3600;
    return good && X509_set_version(cert, 2) == 1 &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, subject) == 1 &&
           ASN1_TIME_set(X509_getm_notBefore(cert), from) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(cert), to) != NULL && X509_set_pubkey(cert, key) == 1 &&
           add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

int ek_tls_identity_self_signed(struct ek_tls_identity *identity, int64_t now_ms,
                                struct ek_err *err)
{
    SSL_CTX *context = new_context();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool good = context && key && cert && fill_certificate(cert, key, now_ms) &&
                SSL_CTX_use_certificate(context, cert) == 1 &&
                SSL_CTX_use_PrivateKey(context, key) == 1;

    X509_free(cert);
    EVP_PKEY_free(key);
    if (!good) {
        SSL_CTX_free(context);
        return ek_tls_fail__(err, EK_E_TLS, "making a self-signed certificate");
    }
    ek_tls_identity_set(identity, context);
    return 0;
}
