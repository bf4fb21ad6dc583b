/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of TLS: which servers are trusted, and what each must prove. */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <string.h>

#include "api/base/time.h"
#include "controller/http/tls-internal.h"
#include "informers/client/tls_material.h"

struct ek_tls_trust {
    atomic_uint refs;
    SSL_CTX *context;
};

/* What one server must prove besides the name. */
struct ek_tls_note {
    const char *host; /* behind ip */
    char ip[];
};

static SSL_CTX *new_context(void)
{
    static const unsigned char alpn[] = "\x08http/1.1";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, alpn, sizeof alpn - 1);
    return context;
}

int ek_tls_trust_new(struct ek_str authorities, struct ek_str cert, struct ek_str key,
                     const char *what, struct ek_tls_trust **ret_trust, struct ek_err *err)
{
    SSL_CTX *context = new_context();
    int rc = 0;

    ERR_clear_error();
    if (!context || authorities.len == 0 ||
        ek_tls_add_authorities__(SSL_CTX_get_cert_store(context), authorities) == 0) {
        ek_tls_fail__(err, EK_E_PARSE, what);
        rc = ek_err_prefix(err, "no usable PEM certificate of an authority");
    } else if (cert.len > 0) {
        rc = ek_tls_use_pair__(context, cert, key, what, err);
    }
    if (rc) {
        SSL_CTX_free(context);
        return rc;
    }
    struct ek_tls_trust *trust = ek_xalloc(sizeof *trust);
    atomic_init(&trust->refs, 1);
    trust->context = context;
    *ret_trust = trust;
    return 0;
}

struct ek_tls_trust *ek_tls_trust_ref(struct ek_tls_trust *trust)
{
    atomic_fetch_add_explicit(&trust->refs, 1, memory_order_relaxed);
    return trust;
}

void ek_tls_trust_unref(struct ek_tls_trust *trust)
{
    if (!trust || atomic_fetch_sub_explicit(&trust->refs, 1, memory_order_acq_rel) != 1)
        return;
    SSL_CTX_free(trust->context);
    ek_free(trust);
}

int64_t ek_tls_trust_not_after(const struct ek_tls_trust *trust)
{
    const X509 *cert = SSL_CTX_get0_certificate(trust->context);

    return cert ? ek_tls_not_after(cert) : EK_TIME_UNSET;
}

struct ssl_ctx_st *ek_tls_trust_context__(struct ek_tls_trust *trust)
{
    return trust->context;
}

/* Called for each certificate of the chain, the server's own last: during the handshake, so that
 * nothing of ours is shown to another server. */
static int verify(int good, X509_STORE_CTX *ctx)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(ctx, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct ek_tls_note *note = SSL_get_app_data(ssl);

    if (!good || X509_STORE_CTX_get_error_depth(ctx) > 0 || (!note->ip[0] && !note->host[0]))
        return good;
    X509 *cert = X509_STORE_CTX_get_current_cert(ctx);
    if ((note->ip[0] && X509_check_ip_asc(cert, note->ip, 0) == 1) ||
        (note->host[0] &&
         X509_check_host(cert, note->host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1))
        return 1;
    X509_STORE_CTX_set_error(ctx, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

struct ek_tls_note *ek_tls_trust_require__(SSL *ssl, const char *name, const char *ip,
                                           const char *host)
{
    size_t ip_size = strlen(ip ? ip : "") + 1, host_size = strlen(host ? host : "") + 1;
    struct ek_tls_note *note = ek_xalloc(sizeof *note + ip_size + host_size);
    void *sni = (void *)(uintptr_t)name; /* which OpenSSL copies */

    memcpy(note->ip, ip ? ip : "", ip_size);
    note->host = memcpy(note->ip + ip_size, host ? host : "", host_size);
    SSL_set_app_data(ssl, note);
    SSL_set_verify(ssl, SSL_VERIFY_PEER, verify);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(ssl, name) == 1 &&
        SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sni) == 1)
        return note;
    ek_free(note);
    return NULL;
}

/* ---- Subjects ---- */

static char *text_of(const X509_NAME *subject, int at)
{
    const ASN1_STRING *value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, value);

    /* A NUL would cut a name into another one. */
    char *text =
        n < 0 || memchr(utf8, 0, (size_t)n) ? NULL : ek_xstrndup((const char *)utf8, (size_t)n);
    OPENSSL_free(utf8);
    return text;
}

/* The attribute of a user's UID (apiserver 1.36, pkg/authentication/request/x509/x509.go: uidOID).
 */
static bool is_uid(const X509_NAME_ENTRY *entry)
{
    char oid[32];

    OBJ_obj2txt(oid, sizeof oid, X509_NAME_ENTRY_get_object(entry), 1);
    return !strcmp(oid, "1.3.6.1.4.1.57683.2");
}

/* As parseUIDFromCert there: one UID that is not empty, or none; else the certificate is no user's.
 */
static void read_uid(const X509_NAME *subject, struct ek_tls_subject *ret)
{
    bool good = true;

    for (int i = 0; i < X509_NAME_entry_count(subject); i++) {
        if (!is_uid(X509_NAME_get_entry(subject, i)))
            continue;
        good = good && !ret->uid;
        ek_free(ret->uid);
        ret->uid = text_of(subject, i);
        good = good && ret->uid && *ret->uid;
    }
    if (!ret->uid)
        ret->uid = ek_xstrdup("");
    if (!good)
        ret->name[0] = '\0';
}

void ek_tls_subject_read__(X509 *cert, struct ek_tls_subject *ret)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int n = X509_NAME_entry_count(subject);

    ek_tls_fingerprint(cert, ret->fingerprint);
    ret->not_after_ms = ek_tls_not_after(cert);
    ret->groups = ek_xalloc((size_t)(n + 1) * sizeof(char *));
    for (int i = 0; i < n; i++) {
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(X509_NAME_get_entry(subject, i)));
        char *text =
            nid == NID_commonName || nid == NID_organizationName ? text_of(subject, i) : NULL;
        if (!text)
            continue;
        if (nid == NID_organizationName) {
            ret->groups[ret->n_groups++] = text;
        } else {
            ek_free(ret->name);
            ret->name = text;
        }
    }
    if (!ret->name)
        ret->name = ek_xstrdup("");
    read_uid(subject, ret);
}

void ek_tls_subject_done(struct ek_tls_subject *subject)
{
    for (size_t i = 0; i < subject->n_groups; i++)
        ek_free(subject->groups[i]);
    ek_free(subject->groups);
    ek_free(subject->uid);
    ek_free(subject->name);
    memset(subject, 0, sizeof *subject);
}
