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
    ck_assert(ek_tls_session_subject(far, &subject, NULL));
    ck_assert_str_eq(subject.name, "admin");
    ek_tls_subject_done(&subject);
    say(near, far, 10);
    for (int i = 0; i < 2; i++) {
        ek_tls_session_forget_certificate(near);
        ek_tls_session_forget_certificate(far);
        ck_assert(!ek_tls_session_subject(far, &subject, NULL));
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
        ck_assert(ek_tls_session_subject(far, &subject, NULL));
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
        while (round >= 6 && SSL_read(ssl, piece, sizeof piece) > 0)
            ck_assert_int_eq(memcmp(piece, "down", 4), 0);
    }
    ck_assert_str_eq(ek_buf_str(&plain), "upupupupupup");
    SSL_free(ssl);
    SSL_CTX_free(context);
}
END_TEST

/* ---- What a stranger may have us hold ---- */

static size_t held;    /* octets that OpenSSL has allocated for the server's side */
static bool is_server; /* whose turn it is */

static void *count_alloc(size_t n, const char *file, int line)
{
    void *p = n > 0 ? ek_alloc(n) : NULL;

    (void)file;
    (void)line;
    held += is_server ? malloc_usable_size(p) : 0;
    return p;
}

static void count_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    held -= is_server ? malloc_usable_size(p) : 0;
    ek_free(p);
}

static void *count_realloc(void *p, size_t n, const char *file, int line)
{
    void *fresh = count_alloc(n, file, line);

    if (p && fresh)
        memcpy(fresh, p, n < malloc_usable_size(p) ? n : malloc_usable_size(p));
    count_free(p, file, line);
    return fresh;
}

static void renew(void)
{
    is_server = true;
    ek_tls_session_free(far);
    held = 0;
    far = ek_tls_session_new(identity);
    is_server = false;
}

#define RECORD ((size_t)16 * 1024)

/* A record of the handshake with so many octets in it, of which the first message announces
 * another number. Returns the length. */
static size_t put_hello(char *record, size_t announced, size_t len)
{
    const unsigned char head[] = {0x16,
                                  3,
                                  1,
                                  (unsigned char)(len >> 8),
                                  (unsigned char)len,
                                  1,
                                  (unsigned char)(announced >> 16),
                                  (unsigned char)(announced >> 8),
                                  (unsigned char)announced,
                                  3,
                                  3};

    memset(record, 'A', 5 + len);
    memcpy(record, head, len < 6 ? 5 + len : sizeof head);
    return 5 + len;
}

/* Has the server's side read so many octets at a time. Returns 0, or an error. */
static int feed(const char *data, size_t len, size_t step)
{
    char plain[1024];
    struct ek_err err;
    bool end;
    int n = 0;

    is_server = true;
    for (size_t at = 0; at < len && n >= 0; at += step) {
        n = ek_tls_session_input(far, data + at, step < len - at ? step : len - at);
        while (n >= 0 && (n = ek_tls_session_read(far, plain, sizeof plain, &end, &err)) > 0)
            ;
    }
    is_server = false;
    return n;
}

/* The announcement counts, not what comes: OpenSSL makes room for a message by its header. */
START_TEST(announced_messages)
{
    static const struct {
        const char *name;
        size_t announced, len, step;
        bool refused;
    } rows[] = {
        {"a hello of 300 octets", 300, 200, RECORD, false},
        {"the largest hello", RECORD, 200, RECORD, false},
        {"announced: an octet more", RECORD + 1, 200, RECORD, true},
        {"announced: 131,000", 131000, 200, RECORD, true},
        {"announced: 131,000, by the header alone", 131000, 4, RECORD, true},
        {"announced: 131,000, octet by octet", 131000, 200, 1, true},
        {"announced: all that 24 bits can say", 0xffffff, 200, RECORD, true},
    };
    static char record[RECORD + 5];

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        renew();
        size_t n = put_hello(record, rows[i].announced, rows[i].len);
        int rc = feed(record, n, rows[i].step);
        ck_assert_msg((rc == EK_E_TLS) == rows[i].refused, "%s: %d", rows[i].name, rc);
        ck_assert_msg(held <= EK_TLS_SESSION_BYTES, "%s: %zu octets", rows[i].name, held);
    }
}
END_TEST

/* The header of a message in several records, and behind another message. */
START_TEST(announced_in_pieces)
{
    static const struct {
        const char *name, *octets;
        size_t len;
    } rows[] = {
        {"two records",
         "\x16\3\1\0\1\x01"
         "\x16\3\1\0\3\x01\xff\xff",
         14},
        {"with a record of another kind",
         "\x16\3\1\0\2\x01\1"
         "\x14\3\1\0\1\x01"
         "\x16\3\1\0\2\xff\xff",
         20},
        {"behind a hello", "\x16\3\1\0\xa\x01\0\0\2\3\3\x01\1\xff\xff", 15},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        renew();
        int rc = feed(rows[i].octets, rows[i].len, 64);
        ck_assert_msg(rc == EK_E_TLS, "%s: %d", rows[i].name, rc);
    }
}
END_TEST

/* Brings what waits to the other side. Returns 0, or an error. */
static int carry(struct ek_tls_session *from, struct ek_tls_session *to)
{
    static char piece[65536];
    struct ek_err err;
    bool end;
    int n;

    size_t len = ek_tls_session_output(from, piece, sizeof piece);
    ck_assert_int_eq(ek_tls_session_input(to, piece, len), 0);
    while ((n = ek_tls_session_read(to, piece, sizeof piece, &end, &err)) > 0)
        ;
    return n;
}

/* A client with a certificate of so many names: the error of the server's side. */
static int show_names(unsigned n)
{
    EK_AUTO(ek_buf) names;
    struct ek_err err;
    int rc = 0;

    ek_buf_init(&names, 1 << 20);
    for (unsigned i = 0; i < n; i++)
        ek_buf_printf(&names, "%sDNS:name-%u.example.com", i ? "," : "", i);
    struct testpki_cert cert = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "admin", .names = ek_buf_str(&names)});
    ek_tls_trust_unref(trust);
    ck_assert_int_eq(ek_tls_trust_new(ek_str_from(authority.cert), ek_str_from(cert.cert),
                                      ek_str_from(cert.key), "client", &trust, &err),
                     0);
    ek_tls_session_free(near);
    near = ek_tls_session_connect(trust, "kubernetes.default.svc", NULL, "cp-a");
    renew();
    for (int i = 0; i < 4 && !rc; i++) {
        carry(far, near);
        rc = carry(near, far);
    }
    ck_assert(rc || ek_tls_session_ready(far));
    testpki_done(&cert);
    return rc;
}

/* Certificates have the limit of messages, also those of TLS 1.3, whose header is encrypted. */
START_TEST(long_certificates)
{
    ck_assert_int_eq(show_names(100), 0);
    ck_assert_int_eq(show_names(1000), EK_E_TLS);
}
END_TEST

struct client {
    SSL *ssl; /* owns the BIOs */
    BIO *in, *out;
};

static struct client open_client(int version)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    struct client c = {SSL_new(context), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};

    SSL_CTX_free(context);
    SSL_set_max_proto_version(c.ssl, version);
    SSL_set_bio(c.ssl, c.in, c.out);
    SSL_set_connect_state(c.ssl);
    return c;
}

/* Moves what the client has to the server, and the answers back. Returns 0, or an error. */
static int turn(struct client *c)
{
    static char piece[1 << 20];
    int n = BIO_read(c->out, piece, sizeof piece);
    int rc = n > 0 ? feed(piece, (size_t)n, 65536) : 0;

    is_server = true;
    while ((n = (int)ek_tls_session_output(far, piece, sizeof piece)) > 0)
        BIO_write(c->in, piece, n);
    is_server = false;
    return rc;
}

static void shake(struct client *c, int turns)
{
    for (int i = 0; i < turns; i++) {
        SSL_do_handshake(c->ssl);
        ck_assert_int_eq(turn(c), 0);
    }
}

/* A session holds EK_TLS_SESSION_BYTES and what waits in it, wherever its client stops. */
START_TEST(holds_what_is_counted)
{
    static const struct {
        const char *name;
        int version, turns; /* of the handshake */
        unsigned char type; /* of the record that stays incomplete; 0: there is none */
        bool hello;         /* half a hello comes first */
    } rows[] = {
        {"silence", TLS1_3_VERSION, 0, 0, false},
        {"half a record", TLS1_3_VERSION, 0, 22, false},
        {"half a hello", TLS1_3_VERSION, 0, 0, true},
        {"half a hello and half a record", TLS1_3_VERSION, 0, 22, true},
        {"the first flight", TLS1_3_VERSION, 1, 0, false},
        {"the first flight of 1.2", TLS1_2_VERSION, 1, 0, false},
        {"the first flight and half a record", TLS1_3_VERSION, 1, 23, false},
        {"the first flight of 1.2 and half a record", TLS1_2_VERSION, 1, 22, false},
        {"a session", TLS1_3_VERSION, 3, 0, false},
        {"a session of 1.2", TLS1_2_VERSION, 3, 0, false},
        {"a session and half a record", TLS1_3_VERSION, 3, 23, false},
        {"a session of 1.2 and half a record", TLS1_2_VERSION, 3, 23, false},
    };
    static char data[RECORD + 5];

    ek_tls_identity_set_clients(identity, NULL);
    for (size_t i = 0; i < 2 * EK_ARRAY_SIZE(rows); i++) { /* first, what all share is made */
        size_t at = i % EK_ARRAY_SIZE(rows);
        struct client c = open_client(rows[at].version);
        renew();
        shake(&c, rows[at].turns);
        if (rows[at].hello)
            ck_assert_int_eq(feed(data, put_hello(data, RECORD, 1000), RECORD), 0);
        put_hello(data, 300, rows[at].hello ? RECORD - 1000 : RECORD);
        data[0] = (char)rows[at].type;
        if (rows[at].turns)
            data[2] = 3; /* the version of records */
        if (rows[at].type)
            ck_assert_int_eq(feed(data, 5 + 300, RECORD), 0);
        is_server = true;
        size_t waits = ek_tls_session_trim(far);
        is_server = false;
        ck_assert_msg(i < EK_ARRAY_SIZE(rows) || held - waits <= EK_TLS_SESSION_BYTES,
                      "%s: %zu octets, %zu of which wait", rows[at].name, held, waits);
        SSL_free(c.ssl);
    }
}
END_TEST

/* ---- Changes of keys ---- */

/* Has the client change its keys n times and want ours changed, then say len octets. */
static void change_keys(struct client *c, int n, int len)
{
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(SSL_key_update(c->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        ck_assert_int_eq(SSL_do_handshake(c->ssl), 1);
    }
    if (len > 0)
        ck_assert_int_eq(SSL_write(c->ssl, "0123456789", len), len);
}

/* A client may change its keys as often as it likes, as long as it has something to say. */
START_TEST(changes_of_keys_without_data)
{
    static const struct {
        const char *name;
        int first, len, second;
        bool refused;
    } rows[] = {
        {"one", 1, 0, 0, false},
        {"as many as there may be", 32, 0, 0, false},
        {"one more", 33, 0, 0, true},
        {"many", 2000, 0, 0, true},
        {"many, then data", 2000, 1, 0, true},
        {"data between", 30, 1, 30, false},
        {"data, then many", 30, 1, 33, true},
    };

    ek_tls_identity_set_clients(identity, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct client c = open_client(TLS1_3_VERSION);
        renew();
        shake(&c, 3);
        change_keys(&c, rows[i].first, rows[i].len);
        change_keys(&c, rows[i].second, 0);
        int rc = turn(&c);
        ck_assert_msg((rc == EK_E_TLS) == rows[i].refused, "%s: %d", rows[i].name, rc);
        SSL_free(c.ssl);
    }
}
END_TEST

/* Each change is answered by one: whoever reads no answers is not read from any more. */
START_TEST(answers_to_changes_of_keys_are_bounded)
{
    static char piece[65536];
    struct client c = open_client(TLS1_3_VERSION);
    char plain[1024];
    struct ek_err err;
    bool end;
    int n = 1;

    ek_tls_identity_set_clients(identity, NULL);
    renew();
    shake(&c, 3);
    for (int i = 0; i < 1000; i++) {
        change_keys(&c, 20, 1);
        for (int got; (got = BIO_read(c.out, piece, sizeof piece)) > 0;)
            ck_assert_int_eq(ek_tls_session_input(far, piece, (size_t)got), 0);
    }
    while (n > 0 && !ek_tls_session_is_full(far))
        n = ek_tls_session_read(far, plain, sizeof plain, &end, &err);
    ck_assert_int_eq(n, 1);
    size_t waits = ek_tls_session_output(far, piece, sizeof piece);
    ck_assert_uint_gt(waits, RECORD);
    ck_assert_uint_lt(waits, RECORD + 1024);
    ck_assert(!ek_tls_session_is_full(far));
    SSL_free(c.ssl);
}
END_TEST

/* Nobody begins a second handshake in a session of TLS 1.2: it could announce as much as the
 * first. */
START_TEST(second_handshakes_end_a_session)
{
    struct client c = open_client(TLS1_2_VERSION);

    ek_tls_identity_set_clients(identity, NULL);
    renew();
    shake(&c, 3);
    ck_assert(ek_tls_session_ready(far));
    for (int i = 0; i < 40; i++)
        if (SSL_renegotiate(c.ssl) == 1)
            SSL_do_handshake(c.ssl);
    ck_assert_int_eq(turn(&c), EK_E_TLS);
    SSL_free(c.ssl);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tls_session");

    CRYPTO_set_mem_functions(count_alloc, count_realloc, count_free);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, forgets_certificates);
    tcase_add_test(tc, forgets_its_own_alone);
    tcase_add_test(tc, keeps_no_chain);
    tcase_add_test(tc, changes_keys_without_a_certificate);
    tcase_add_test(tc, announced_messages);
    tcase_add_test(tc, announced_in_pieces);
    tcase_add_test(tc, long_certificates);
    tcase_add_test(tc, holds_what_is_counted);
    tcase_add_test(tc, changes_of_keys_without_data);
    tcase_add_test(tc, answers_to_changes_of_keys_are_bounded);
    tcase_add_test(tc, second_handshakes_end_a_session);
    return ek_test_run("tls_session", tc);
}
