/* SPDX-License-Identifier: Apache-2.0 */
/* The server's certificate: verified against our roots alone, and remembered for the answer. */
#include <openssl/x509v3.h>
#include <pthread.h>

#include "informers/client/client-internal.h"
#include "informers/client/tls_material.h"

static void add_name(void *ctx, const char *name)
{
    struct cert_info *info = ctx;

    info->names = ek_xrealloc(info->names, info->n_names + 1, sizeof *info->names);
    info->names[info->n_names++] = ek_xstrdup(name);
}

struct cert_info *cert_info_new__(X509 *cert)
{
    struct cert_info *info = ek_xalloc(sizeof *info);

    ek_tls_fingerprint(cert, info->fingerprint);
    ek_tls_names(cert, add_name, info);
    info->shown = (struct ek_server_cert){
        .fingerprint = info->fingerprint,
        .names = (const char **)(void *)info->names,
        .n_names = info->n_names,
        .not_after_ms = ek_tls_not_after(cert),
    };
    return info;
}

void cert_info_free__(struct cert_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->n_names; i++)
        ek_free(info->names[i]);
    ek_free(info->names);
    ek_free(info);
}

void tls_note_unref__(struct tls_note *note)
{
    if (!note || --note->refs)
        return;
    cert_info_free__(note->seen);
    ek_free(note->own_ip);
    ek_free(note->own_name);
    ek_free(note);
}

static void free_slot(void *parent, void *note, CRYPTO_EX_DATA *data, int index, long arg,
                      void *pointer)
{
    (void)parent;
    (void)data;
    (void)index;
    (void)arg;
    (void)pointer;
    tls_note_unref__(note);
}

static int note_index = -1; /* where an SSL_CTX keeps its note */

static void make_index(void)
{
    note_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_slot);
}

/* Whether the certificate is of the very server that was called: the rule of
 * controller/http/tls_trust.c. */
static bool is_own(const struct tls_note *note, X509 *cert)
{
    return !note->own_ip || X509_check_ip_asc(cert, note->own_ip, 0) == 1 ||
           (*note->own_name && X509_check_host(cert, note->own_name, 0,
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1);
}

/* Sees each certificate of the chain during the handshake, the server's own last, when all else has
 * been verified. */
static int on_verify(int good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_note *note = ssl ? SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), note_index) : NULL;
    X509 *leaf = X509_STORE_CTX_get0_cert(store);

    if (!note)
        return good;
    if (good && leaf && X509_STORE_CTX_get_error_depth(store) == 0 && !is_own(note, leaf)) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        good = 0;
    }
    if (!good)
        note->verify_error = X509_STORE_CTX_get_error(store);
    if (leaf && !note->seen)
        note->seen = cert_info_new__(leaf);
    return good;
}

/* Makes the name part of the verification of the chain. libcurl looks at it after the handshake
 * only, when our client certificate has been shown already. */
static bool require_name(SSL_CTX *ctx, const char *name)
{
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);

    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_ip_asc(param, name) ||
           X509_VERIFY_PARAM_set1_host(param, name, 0);
}

/* What the server must prove besides the name. */
static void require_own(struct tls_note *note, const struct ek_request *request)
{
    char *port = NULL;

    if (!request->connect_to || !request->own_name ||
        host_port_split__(request->connect_to, &note->own_ip, &port, NULL))
        return;
    size_t len = strlen(note->own_ip);
    if (note->own_ip[0] == '[') { /* an IPv6 address in its brackets */
        memmove(note->own_ip, note->own_ip + 1, len - 2);
        note->own_ip[len - 2] = '\0';
    }
    /* A server without a known host name goes by its address. */
    note->own_name =
        ek_xstrdup(strcmp(request->own_name, request->connect_to) ? request->own_name : "");
    ek_free(port);
}

CURLcode cert_on_ssl_ctx__(CURL *easy, void *ssl_ctx, void *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ek_call *call = ctx;
    const struct ek_request *request = &call->request;
    X509_STORE *roots = call->auth->roots;

    (void)easy;
    pthread_once(&once, make_index);
    tls_note_unref__(call->answer.note);
    call->answer.note = ek_xalloc(sizeof *call->answer.note);
    call->answer.note->refs = 1;
    require_own(call->answer.note, request);
    if (SSL_CTX_set_ex_data(ssl_ctx, note_index, call->answer.note))
        call->answer.note->refs++;
    if (call->client->config->insecure_skip_tls_verify)
        return CURLE_OK;
    if (roots) {
        /* libcurl would also trust the distribution's directory of authorities, which is more
         * than a cluster's CA allows. */
        X509_STORE_up_ref(roots);
        SSL_CTX_set_cert_store(ssl_ctx, roots);
    }
    SSL_CTX_set_verify(ssl_ctx, SSL_VERIFY_PEER, on_verify);
    if (request->connect_to &&
        !require_name(ssl_ctx, request->tls_name ? request->tls_name : API_SERVER_NAME))
        return CURLE_OUT_OF_MEMORY;
    return CURLE_OK;
}
