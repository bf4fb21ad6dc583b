/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a session, with the certificates of both: what is known of the other side, and that
 * a session works on when its certificate is forgotten. */
#include <malloc.h>
#include <openssl/ssl.h>
#include <string.h>

#include "controller/http/tls.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"

static struct testpki_cert authority, server, client;
static struct ek_tls_identity *identity;
static struct ek_tls_trust *trust;
static struct ek_tls_session *near, *far; /* of the client, of the server */

static void setup(void)
{
    struct ssl_ctx_st *context;
    struct ek_tls_clients *clients;
    struct ek_err err;

    authority = testpki_authority("ca");
    server = testpki_issue(&authority,
                           &(struct testpki_spec){.common_name = "kube-apiserver",
                                                  .names = "DNS:kubernetes.default.svc,DNS:cp-a"});
    client = testpki_issue(&authority, &(struct testpki_spec){.common_name = "admin"});
    identity = ek_tls_identity_new();
    ck_assert_int_eq(ek_tls_context_new(ek_str_from(server.cert), ek_str_from(server.key), "server",
                                        &context, &err),
                     0);
    ek_tls_identity_set(identity, context);
    ck_assert_int_eq(ek_tls_clients_new(ek_str_from(authority.cert), NULL, 0, "ca", &clients, &err),
                     0);
    ek_tls_identity_set_clients(identity, clients);
    ck_assert_int_eq(ek_tls_trust_new(ek_str_from(authority.cert), ek_str_from(client.cert),
                                      ek_str_from(client.key), "client", &trust, &err),
                     0);
    far = ek_tls_session_new(identity);
    near = NULL;
}

static void teardown(void)
{
    ek_tls_session_free(near);
    ek_tls_session_free(far);
    ek_tls_trust_unref(trust);
    ek_tls_identity_free(identity);
    testpki_done(&authority);
    testpki_done(&server);
    testpki_done(&client);
}

/* Moves ciphertext from one to the other; appends the plaintext. True when something moved. */
static bool move(struct ek_tls_session *from, struct ek_tls_session *to, struct ek_buf *plain)
{
    char piece[65536];
    struct ek_err err;
    bool end;

    size_t n = ek_tls_session_output(from, piece, sizeof piece);
    ck_assert_int_eq(ek_tls_session_input(to, piece, n), 0);
    for (int got; (got = ek_tls_session_read(to, piece, sizeof piece, &end, &err)) != 0;) {
        ck_assert_msg(got > 0, "%s", err.message);
        ek_buf_append(plain, piece, (size_t)got);
    }
    return n > 0;
}

static void shake_hands(const char *host)
{
    EK_AUTO(ek_buf) none;
    char piece[1];
    struct ek_err err;
    bool end;

    ek_buf_init(&none, 1);
    near = ek_tls_session_connect(trust, "kubernetes.default.svc", NULL, host);
    ck_assert_int_eq(ek_tls_session_read(near, piece, 1, &end, &err), 0);
    while (move(near, far, &none) || move(far, near, &none))
        ;
    ck_assert(ek_tls_session_ready(near) && ek_tls_session_ready(far));
}

static void say(struct ek_tls_session *from, struct ek_tls_session *to, size_t len)
{
    EK_AUTO(ek_buf) plain;
    struct ek_err err;
    char *text = ek_xalloc(len);

    ek_buf_init(&plain, 1 << 20);
    memset(text, 'x', len);
    ck_assert_int_eq(ek_tls_session_write(from, text, len, &err), 0);
    while (move(from, to, &plain))
        ;
    ck_assert_uint_eq(plain.len, len);
    ck_assert_int_eq(memcmp(plain.data, text, len), 0);
    ek_free(text);
    ek_tls_session_trim(from);
    ek_tls_session_trim(to);
}

START_TEST(forgets_certificates)
{
    struct ek_tls_subject subject;

    shake_hands("cp-a");
    ck_assert(ek_tls_session_subject(far, &subject));
    ck_assert_str_eq(subject.name, "admin");
    ek_tls_subject_done(&subject);
    say(near, far, 10);
    for (int i = 0; i < 2; i++) {
        ek_tls_session_forget_certificate(near);
        ek_tls_session_forget_certificate(far);
        ck_assert(!ek_tls_session_subject(far, &subject));
        say(near, far, 100);
        say(far, near, 300000);
        say(near, far, 100000);
    }
}
END_TEST

/* What is forgotten belongs to one session: the next handshake verifies as before. */
START_TEST(forgets_its_own_alone)
{
    struct ek_tls_subject subject;

    for (int i = 0; i < 3; i++) {
        shake_hands("cp-a");
        ck_assert(ek_tls_session_subject(far, &subject));
        ck_assert_str_eq(subject.name, "admin");
        ek_tls_subject_done(&subject);
        ek_tls_session_forget_certificate(near);
        ek_tls_session_forget_certificate(far);
        ek_tls_session_free(near);
        ek_tls_session_free(far);
        near = NULL;
        far = ek_tls_session_new(identity);
    }
}
END_TEST

#define SESSIONS 20

/* Octets that the server's side of a session takes once its certificate is forgotten. */
static size_t octets_of_a_session(void)
{
    struct ek_tls_session *sessions[SESSIONS];
    size_t before = 0;

    for (int i = -1; i < SESSIONS; i++) { /* the first one makes what all share */
        shake_hands("cp-a");
        say(near, far, 10);
        ek_tls_session_free(near);
        ek_tls_session_forget_certificate(far);
        if (i < 0) {
            ek_tls_session_free(far);
            before = mallinfo2().uordblks;
        } else {
            sessions[i] = far;
        }
        near = NULL;
        far = i + 1 < SESSIONS ? ek_tls_session_new(identity) : NULL;
    }
    size_t octets = (mallinfo2().uordblks - before) / SESSIONS;
    for (int i = 0; i < SESSIONS; i++)
        ek_tls_session_free(sessions[i]);
    far = ek_tls_session_new(identity);
    return octets;
}

/* A client may send many certificates beside its own, of some 4 kB each: a session does not keep
 * them. What the allocator keeps moves by a few kB. Sanitizers count no octets, and then this says
 * nothing. */
START_TEST(keeps_no_chain)
{
    EK_AUTO(ek_buf) chain;
    struct ek_err err;

    size_t plain = octets_of_a_session();
    ek_buf_init(&chain, 1 << 20);
    ek_buf_puts(&chain, client.cert);
    for (int i = 0; i < 14; i++) {
        struct testpki_cert other = testpki_authority("other");
        ek_buf_puts(&chain, other.cert);
        testpki_done(&other);
    }
    ek_tls_trust_unref(trust);
    ck_assert_int_eq(ek_tls_trust_new(ek_str_from(authority.cert), ek_str_from(ek_buf_str(&chain)),
                                      ek_str_from(client.key), "client", &trust, &err),
                     0);
    size_t chained = octets_of_a_session();
    ck_assert_msg(chained < plain + 8192, "%zu octets, and %zu with a chain", plain, chained);
}
END_TEST

/* A client that changes the keys of the session, and wants the other side to. */
START_TEST(changes_keys_without_a_certificate)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    EK_AUTO(ek_buf) plain;
    char piece[65536];
    struct ek_err err;
    bool end;

    ek_buf_init(&plain, 1 << 20);
    ek_tls_identity_set_clients(identity, NULL);
    ek_tls_session_free(far);
    far = ek_tls_session_new(identity);
    SSL *ssl = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    SSL_set_connect_state(ssl);
    for (int round = 0; round < 12; round++) {
        if (round == 6) {
            ck_assert(ek_tls_session_ready(far));
            ek_tls_session_forget_certificate(far);
            ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        }
        if (round >= 6) {
            ck_assert_int_eq(SSL_write(ssl, "up", 2), 2);
            ck_assert_int_eq(ek_tls_session_write(far, "down", 4, &err), 0);
        } else {
            SSL_do_handshake(ssl);
        }
        int n = BIO_read(out, piece, sizeof piece);
        ck_assert_int_eq(ek_tls_session_input(far, piece, n > 0 ? (size_t)n : 0), 0);
        for (int got; (got = ek_tls_session_read(far, piece, sizeof piece, &end, &err)) != 0;) {
            ck_assert_msg(got > 0, "%s", err.message);
            ek_buf_append(&plain, piece, (size_t)got);
        }
        size_t m = ek_tls_session_output(far, piece, sizeof piece);
        BIO_write(in, piece, (int)m);
        for (int got = 0; round >= 6 && (got = SSL_read(ssl, piece, sizeof piece)) > 0;)
            ck_assert_int_eq(memcmp(piece, "down", 4), 0);
    }
    ck_assert_str_eq(ek_buf_str(&plain), "upupupupupup");
    SSL_free(ssl);
    SSL_CTX_free(context);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tls_session");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, forgets_certificates);
    tcase_add_test(tc, forgets_its_own_alone);
    tcase_add_test(tc, keeps_no_chain);
    tcase_add_test(tc, changes_keys_without_a_certificate);
    return ek_test_run("tls_session", tc);
}
