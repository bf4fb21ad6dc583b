/* SPDX-License-Identifier: Apache-2.0 */
/* One TLS session over memory BIOs. */
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "controller/http/tls-internal.h"

/* What a direction keeps between records: a handshake leaves several kB, which an idle session
 * would keep for good. */
#define BUFFER_KEEP ((size_t)512)

/* Ciphertext that may wait to be sent before nothing is read any more: changes of keys (RFC 8446,
 * 4.6.3) are answered, and whoever sends them may read no answers. */
#define OUTPUT_ENOUGH ((size_t)16 * 1024)

/* Records without data, one after the other, that a session may read: changes of keys, tickets. */
#define BARREN_MAX 32

/* The longest record that is sent during the handshake, for which OpenSSL keeps a buffer as long as
 * the client is silent, and afterwards, when the buffer goes with each record. */
#define HANDSHAKE_RECORD 2048
#define RECORD           SSL3_RT_MAX_PLAIN_LENGTH

/* The longest message of a handshake: clients send some 2 kB. */
#define MESSAGE_MAX ((size_t)16 * 1024)

enum { CHANGE_CIPHER_SPEC = 20, HANDSHAKE = 22 }; /* types of records (RFC 8446, 5.1) */

/* How far the headers are read of what the other side sends in the clear: those of records (type,
 * version, length) and, within records of the handshake, those of messages (type, length). */
struct headers {
    unsigned char record[5], message[4];
    size_t n_record, n_message;       /* octets that have come of a header */
    size_t record_left, message_left; /* what follows the header */
    bool changed;                     /* a ChangeCipherSpec has come */
};

struct ek_tls_session {
    SSL *ssl; /* owns the BIOs */
    BIO *in, *out;
    struct ek_tls_clients *clients; /* who may shake hands; NULL: everybody */
    struct ek_tls_note *note;       /* of a client's side: what the server must prove */
    bool forgotten;                 /* the certificate of the other side */
    bool failed;                    /* after a fatal error the library must not be called again */
    bool refused;                   /* for the announced length of a message */
    bool is_server, shaken;         /* which side it is; the handshake was complete */
    struct headers headers;         /* of the client, during the handshake */
    unsigned barren;                /* records that were read since there was data */
    bool again;                     /* TLS 1.2: another handshake begins, with any lengths */
};

/* Counts the records that are read after the handshake, by their headers, before room is made for
 * what is in them. Behind one too many, OpenSSL finds no more. */
static void watch(int is_write, int version, int type, const void *data, size_t len, SSL *ssl,
                  void *arg)
{
    struct ek_tls_session *session = arg;
    const unsigned char *header = data;

    if (is_write || type != SSL3_RT_HEADER || len == 0)
        return;
    if (!session->shaken && !SSL_is_init_finished(ssl))
        return;
    session->barren++;
    session->again = session->again || (version == TLS1_2_VERSION && header[0] == HANDSHAKE);
    if (session->again || session->barren > BARREN_MAX + 1)
        BIO_reset(session->in);
}

static void begin(struct ek_tls_session *session)
{
    SSL_set_bio(session->ssl, session->in, session->out);
    SSL_set_max_send_fragment(session->ssl, HANDSHAKE_RECORD);
    SSL_set_msg_callback(session->ssl, watch);
    SSL_set_msg_callback_arg(session->ssl, session);
}

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
    session->clients = ek_tls_identity_clients__(identity);
    bool guarded = !session->clients || !session->ssl ||
                   ek_tls_clients_require__(session->clients, session->ssl);
    if (!session->ssl || !session->in || !session->out || !guarded) {
        SSL_free(session->ssl);
        ek_tls_clients_unref(session->clients);
        BIO_free(session->in);
        BIO_free(session->out);
        ek_free(session);
        ERR_clear_error();
        return NULL;
    }
    begin(session);
    SSL_set_accept_state(session->ssl);
    session->is_server = true;
    return session;
}

struct ek_tls_session *ek_tls_session_connect(struct ek_tls_trust *trust, const char *name,
                                              const char *ip, const char *host)
{
    struct ek_tls_session *session = ek_xalloc(sizeof *session);

    session->ssl = SSL_new(ek_tls_trust_context__(trust));
    session->in = BIO_new(BIO_s_mem());
    session->out = BIO_new(BIO_s_mem());
    if (session->ssl)
        session->note = ek_tls_trust_require__(session->ssl, name, ip, host);
    if (!session->note || !session->in || !session->out) {
        SSL_free(session->ssl);
        BIO_free(session->in);
        BIO_free(session->out);
        ek_free(session->note);
        ek_free(session);
        ERR_clear_error();
        return NULL;
    }
    begin(session);
    SSL_set_connect_state(session->ssl);
    return session;
}

bool ek_tls_session_subject(const struct ek_tls_session *session, struct ek_tls_subject *ret,
                            bool *ret_unverified)
{
    X509 *cert = SSL_get0_peer_certificate(session->ssl);
    bool unverified = cert && SSL_get_verify_result(session->ssl) != X509_V_OK;

    memset(ret, 0, sizeof *ret);
    if (ret_unverified)
        *ret_unverified = unverified;
    if (session->forgotten || !cert || unverified)
        return false;
    ek_tls_subject_read__(cert, ret);
    return true;
}

static EVP_PKEY
    *no_key; /* stands for the key of a certificate that was read; NULL: cannot be made */

static void make_no_key(void)
{
    static const unsigned char octets[32];

    no_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, octets, sizeof octets);
    ERR_clear_error();
}

/* What the other side sent beside its certificate, and what verified it. */
static void drop_chain(STACK_OF(X509) * chain)
{
    while (sk_X509_num(chain) > 0)
        X509_free(sk_X509_pop(chain));
}

/* OpenSSL keeps the certificate as long as the session, and has no call that releases it: what can
 * be taken out of it is taken out. The certificate is the one that came in this handshake, and
 * belongs to this session alone. */
void ek_tls_session_forget_certificate(struct ek_tls_session *session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    X509 *cert = SSL_get0_peer_certificate(session->ssl);
    X509_NAME *nobody = cert ? X509_NAME_new() : NULL;

    session->forgotten = true;
    drop_chain(SSL_get_peer_cert_chain(session->ssl));
    drop_chain(SSL_get0_verified_chain(session->ssl));
    if (!nobody)
        return;
    pthread_once(&once, make_no_key);
    if (no_key)
        X509_set_pubkey(cert, no_key);
    while (X509_get_ext_count(cert) > 0)
        X509_EXTENSION_free(X509_delete_ext(cert, 0));
    X509_set_subject_name(cert, nobody);
    X509_set_issuer_name(cert, nobody);
    X509_NAME_free(nobody);
    ERR_clear_error();
}

void ek_tls_session_free(struct ek_tls_session *session)
{
    if (!session)
        return;
    SSL_free(session->ssl);
    ek_free(session->note);
    ek_tls_clients_unref(session->clients);
    ek_free(session);
}

/* ---- Announced lengths ---- */

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Fills a header of size octets; returns how many were used. */
static size_t fill(unsigned char *header, size_t size, size_t *n, const char *data, size_t len)
{
    size_t used = lesser(size - *n, len);

    memcpy(header + *n, data, used);
    *n += used;
    return used;
}

/* Goes through octets of messages; false when one announces too much. */
static bool read_messages(struct headers *h, const char *data, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        if (h->message_left > 0) {
            n = lesser(h->message_left, len - at);
            h->message_left -= n;
            continue;
        }
        n = fill(h->message, sizeof h->message, &h->n_message, data + at, len - at);
        if (h->n_message < sizeof h->message)
            continue;
        h->n_message = 0;
        h->message_left = (size_t)h->message[1] << 16 | (size_t)h->message[2] << 8 | h->message[3];
        if (h->message_left > MESSAGE_MAX)
            return false;
    }
    return true;
}

/* Behind a ChangeCipherSpec messages of TLS 1.2 are encrypted (RFC 5246, 7.1), of TLS 1.3 those in
 * records of the handshake never are (RFC 8446, 5.2 and D.4). TLS 1.2 is agreed on before a client
 * sends a ChangeCipherSpec. */
static bool is_clear(const struct ek_tls_session *session)
{
    const struct headers *h = &session->headers;

    return h->record[0] == HANDSHAKE &&
           !(h->changed && SSL_version(session->ssl) == TLS1_2_VERSION);
}

/* OpenSSL makes room for a message, of up to 131,396 octets, when the header has come (statem.c:
 * read_state_machine, ssl_local.h: CLIENT_HELLO_MAX_LENGTH). False when the client announces a
 * message that no client needs. What is encrypted has limits in OpenSSL. */
static bool admits(struct ek_tls_session *session, const char *data, size_t len)
{
    struct headers *h = &session->headers;

    for (size_t at = 0, n; at < len; at += n) {
        if (h->record_left > 0) {
            n = lesser(h->record_left, len - at);
            h->record_left -= n;
            if (is_clear(session) && !read_messages(h, data + at, n))
                return false;
            continue;
        }
        n = fill(h->record, sizeof h->record, &h->n_record, data + at, len - at);
        if (h->n_record < sizeof h->record)
            continue;
        h->n_record = 0;
        h->record_left = (size_t)h->record[3] << 8 | h->record[4];
        h->changed = h->changed || h->record[0] == CHANGE_CIPHER_SPEC;
    }
    return true;
}

int ek_tls_session_input(struct ek_tls_session *session, const char *data, size_t len)
{
    if (session->is_server && !session->shaken && !session->failed && !admits(session, data, len))
        session->failed = session->refused = true;
    if (session->failed)
        return 0;
    return len == 0 || BIO_write(session->in, data, (int)len) == (int)len ? 0 : EK_E_NOMEM;
}

/* What the other side has done that it may not; NULL: nothing. */
static const char *excess_of(const struct ek_tls_session *session, bool has_data)
{
    if (session->again)
        return "a second handshake";
    return session->barren > BARREN_MAX + (unsigned)has_data ? "too many records without data"
                                                             : NULL;
}

static void become_shaken(struct ek_tls_session *session)
{
    session->shaken = true;
    SSL_set_max_send_fragment(session->ssl, RECORD);
    SSL_set_split_send_fragment(session->ssl, RECORD);
}

int ek_tls_session_read(struct ek_tls_session *session, char *buf, size_t size, bool *ret_end,
                        struct ek_err *err)
{
    *ret_end = false;
    if (session->failed)
        return ek_err_set(err, EK_E_TLS,
                          session->refused ? "TLS handshake: a message is too long"
                                           : "TLS session has failed");
    ERR_clear_error();
    int n = SSL_read(session->ssl, buf, (int)size);
    const char *excess = excess_of(session, n > 0);
    if (excess) {
        session->failed = true;
        return ek_err_set(err, EK_E_TLS, "TLS: %s", excess);
    }
    if (!session->shaken && SSL_is_init_finished(session->ssl))
        become_shaken(session);
    if (n > 0) {
        session->barren = 0;
        return n;
    }
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

bool ek_tls_session_waits(const struct ek_tls_session *session)
{
    return BIO_ctrl_pending(session->in) > 0 || SSL_has_pending(session->ssl);
}

bool ek_tls_session_is_full(const struct ek_tls_session *session)
{
    return BIO_ctrl_pending(session->out) > OUTPUT_ENOUGH;
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

/* Memory BIOs keep the size of the most that ever was in them. */
static size_t trim(BIO *bio)
{
    BUF_MEM *memory = NULL;

    BIO_get_mem_ptr(bio, &memory);
    if (memory && memory->length == 0 && memory->max > BUFFER_KEEP) {
        BUF_MEM *fresh = BUF_MEM_new();
        if (fresh) {
            BIO_set_mem_buf(bio, fresh, BIO_CLOSE); /* releases the old one */
            memory = fresh;
        }
    }
    return memory && memory->max > BUFFER_KEEP ? memory->max : 0;
}

size_t ek_tls_session_trim(struct ek_tls_session *session)
{
    /* SSL_MODE_RELEASE_BUFFERS leaves the 16 kB of a client's side for records after the handshake.
     * Does nothing while octets wait there. */
    SSL_free_buffers(session->ssl);
    return trim(session->in) + trim(session->out);
}

bool ek_tls_session_is_h2(const struct ek_tls_session *session)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    SSL_get0_alpn_selected(session->ssl, &name, &len);
    return len == 2 && !memcmp(name, "h2", 2);
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
