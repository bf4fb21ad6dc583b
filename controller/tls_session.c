/* SPDX-License-Identifier: Apache-2.0 */
/* One TLS session over memory BIOs. */
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "controller/tls-internal.h"

struct ek_tls_session {
    SSL *ssl; /* owns the BIOs */
    BIO *in, *out;
    bool failed; /* after a fatal error the library must not be called again */
};

struct ek_tls_session *ek_tls_session_new(struct ek_tls_identity *identity)
{
    SSL_CTX *context = ek_tls_identity_ref__(identity);

    if (!context)
        return NULL;
    struct ek_tls_session *session = ek_xalloc(sizeof *session);
    session->ssl = SSL_new(context); /* holds a reference of its own */
    session->in = BIO_new(BIO_s_mem());
    session->out = BIO_new(BIO_s_mem());
    SSL_CTX_free(context);
    if (!session->ssl || !session->in || !session->out) {
        SSL_free(session->ssl);
        BIO_free(session->in);
        BIO_free(session->out);
        ek_free(session);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_bio(session->ssl, session->in, session->out);
    SSL_set_accept_state(session->ssl);
    return session;
}

void ek_tls_session_free(struct ek_tls_session *session)
{
    if (!session)
        return;
    SSL_free(session->ssl);
    ek_free(session);
}

int ek_tls_session_input(struct ek_tls_session *session, const char *data, size_t len)
{
    return len == 0 || BIO_write(session->in, data, (int)len) == (int)len ? 0 : EK_E_NOMEM;
}

int ek_tls_session_read(struct ek_tls_session *session, char *buf, size_t size, bool *ret_end,
                        struct ek_err *err)
{
    *ret_end = false;
    if (session->failed)
        return ek_err_set(err, EK_E_TLS, "TLS session has failed");
    ERR_clear_error();
    int n = SSL_read(session->ssl, buf, (int)size);
    if (n > 0)
        return n;
    switch (SSL_get_error(session->ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        *ret_end = true;
        return 0;
    default:
        session->failed = true;
        return ek_tls_fail__(err, EK_E_TLS,
                             SSL_is_init_finished(session->ssl) ? "TLS" : "TLS handshake");
    }
}

int ek_tls_session_write(struct ek_tls_session *session, const char *data, size_t len,
                         struct ek_err *err)
{
    if (len == 0)
        return 0;
    ERR_clear_error();
    if (!session->failed && SSL_write(session->ssl, data, (int)len) == (int)len)
        return 0;
    session->failed = true;
    return ek_tls_fail__(err, EK_E_TLS, "TLS");
}

void ek_tls_session_end(struct ek_tls_session *session)
{
    if (!session->failed && SSL_is_init_finished(session->ssl))
        SSL_shutdown(session->ssl);
    ERR_clear_error();
}

bool ek_tls_session_ready(const struct ek_tls_session *session)
{
    return !session->failed && SSL_is_init_finished(session->ssl);
}

size_t ek_tls_session_output(struct ek_tls_session *session, char *buf, size_t size)
{
    int n = BIO_read(session->out, buf, (int)size);
    return n > 0 ? (size_t)n : 0;
}
