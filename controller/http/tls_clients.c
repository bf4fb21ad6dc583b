/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients may shake hands. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>

#include "controller/http/tls-internal.h"

#define AUTHORITIES_MAX 64

struct ek_tls_clients {
    atomic_uint refs;
    X509_STORE *store;
    char **names;
    size_t n_names;
    bool optional; /* a client need not show a certificate, or a good one */
};

int ek_tls_add_authorities__(X509_STORE *store, struct ek_str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
    X509 *cert;
    int n = 0;

    while (n < AUTHORITIES_MAX && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        bool added = X509_STORE_add_cert(store, cert) == 1;
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

int ek_tls_clients_new(struct ek_str authorities, const char *const *names, size_t n_names,
                       const char *what, struct ek_tls_clients **ret_clients, struct ek_err *err)
{
    X509_STORE *store = X509_STORE_new();

    ERR_clear_error();
    if (!store || authorities.len == 0 || ek_tls_add_authorities__(store, authorities) == 0) {
        X509_STORE_free(store);
        ek_tls_fail__(err, EK_E_PARSE, what);
        return ek_err_prefix(err, "no usable PEM certificate of an authority");
    }
    struct ek_tls_clients *clients = ek_xalloc(sizeof *clients);
    atomic_init(&clients->refs, 1);
    clients->store = store;
    clients->names = ek_xalloc((n_names + 1) * sizeof(char *));
    for (size_t i = 0; i < n_names; i++)
        clients->names[clients->n_names++] = ek_xstrdup(names[i]);
    *ret_clients = clients;
    return 0;
}

void ek_tls_clients_optional(struct ek_tls_clients *clients)
{
    clients->optional = true;
}

struct ek_tls_clients *ek_tls_clients_ref__(struct ek_tls_clients *clients)
{
    if (clients)
        atomic_fetch_add_explicit(&clients->refs, 1, memory_order_relaxed);
    return clients;
}

void ek_tls_clients_unref(struct ek_tls_clients *clients)
{
    if (!clients || atomic_fetch_sub_explicit(&clients->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < clients->n_names; i++)
        ek_free(clients->names[i]);
    ek_free(clients->names);
    X509_STORE_free(clients->store);
    ek_free(clients);
}

/* ---- Names ---- */

static bool is_allowed(const struct ek_tls_clients *clients, const ASN1_STRING *name)
{
    size_t len = name ? (size_t)ASN1_STRING_length(name) : 0;

    for (size_t i = 0; i < clients->n_names; i++)
        if (len == strlen(clients->names[i]) &&
            !memcmp(ASN1_STRING_get0_data(name), clients->names[i], len))
            return true;
    return false;
}

/* Compared octet by octet: names of clients are identities, not addresses. */
static bool has_allowed_name(const struct ek_tls_clients *clients, X509 *cert)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    bool found = false;

    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
        found = found ||
                is_allowed(clients, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        found = found || (name->type == GEN_DNS && is_allowed(clients, name->d.dNSName));
    }
    GENERAL_NAMES_free(names);
    return found;
}

/* Called for each certificate of the chain, the client's own last. What is wrong stays the result
 * of the session (SSL_get_verify_result), also where the handshake goes on. */
static int verify(int good, X509_STORE_CTX *ctx)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(ctx, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct ek_tls_clients *clients = SSL_get_app_data(ssl);

    if (!good || X509_STORE_CTX_get_error_depth(ctx) > 0 || !clients->n_names)
        return good || clients->optional;
    if (has_allowed_name(clients, X509_STORE_CTX_get_current_cert(ctx)))
        return 1;
    X509_STORE_CTX_set_error(ctx, X509_V_ERR_APPLICATION_VERIFICATION);
    return clients->optional;
}

bool ek_tls_clients_require__(struct ek_tls_clients *clients, struct ssl_st *ssl)
{
    SSL_set_app_data(ssl, clients);
    SSL_set_verify(ssl, SSL_VERIFY_PEER | (clients->optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
                   verify);
    return SSL_set1_verify_cert_store(ssl, clients->store) == 1;
}
