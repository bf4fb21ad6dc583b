/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for our listeners: what is accepted, self-signed ones, and files that change. */
#include <arpa/inet.h>
#include <check.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/base/time.h"
#include "controller/http/cert_watcher.h"
#include "controller/http/tls.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"

static struct testpki_cert authority, first, second;
static char dir[] = "/tmp/ek-tls-XXXXXX";
static char cert_path[64], key_path[64];

static void setup(void)
{
    authority = testpki_authority("ca");
    first = testpki_issue(&authority, &(struct testpki_spec){.common_name = "first"});
    second = testpki_issue(&authority, &(struct testpki_spec){.common_name = "second"});
    memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(cert_path, sizeof cert_path, "%s/tls.crt", dir);
    snprintf(key_path, sizeof key_path, "%s/tls.key", dir);
}

static void teardown(void)
{
    unlink(cert_path);
    unlink(key_path);
    rmdir(dir);
    testpki_done(&authority);
    testpki_done(&first);
    testpki_done(&second);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* Moves bytes between a client without a socket and a session until nothing moves any more. */
static void shuttle(SSL *client, BIO *to, BIO *from, struct ek_tls_session *session)
{
    char piece[65536], plain[1024];
    struct ek_err err;
    bool end, moved = true;

    while (moved) {
        moved = false;
        if (!SSL_is_init_finished(client))
            SSL_do_handshake(client);
        int n = BIO_read(from, piece, sizeof piece);
        if (n > 0) {
            ck_assert_int_eq(ek_tls_session_input(session, piece, (size_t)n), 0);
            moved = true;
        }
        ek_tls_session_read(session, plain, sizeof plain, &end, &err);
        size_t out = ek_tls_session_output(session, piece, sizeof piece);
        if (out > 0) {
            BIO_write(to, piece, (int)out);
            moved = true;
        }
    }
}

/* A handshake with identity; the client's side, NULL when it failed. It trusts the authority only
 * when it is given. */
static SSL *handshake(struct ek_tls_identity *identity, struct ek_tls_session **ret_session)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *client = SSL_new(context);
    BIO *to = BIO_new(BIO_s_mem()), *from = BIO_new(BIO_s_mem());

    SSL_CTX_free(context);
    SSL_set_bio(client, to, from);
    SSL_set_connect_state(client);
    *ret_session = ek_tls_session_new(identity);
    ck_assert_ptr_nonnull(*ret_session);
    shuttle(client, to, from, *ret_session);
    if (SSL_is_init_finished(client) && ek_tls_session_ready(*ret_session))
        return client;
    SSL_free(client);
    return NULL;
}

/* The common name that identity serves. */
static const char *served(struct ek_tls_identity *identity, char buf[64])
{
    struct ek_tls_session *session;
    SSL *client = handshake(identity, &session);

    ck_assert_ptr_nonnull(client);
    X509 *cert = SSL_get1_peer_certificate(client);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, buf, 64);
    X509_free(cert);
    SSL_free(client);
    ek_tls_session_free(session);
    return buf;
}

START_TEST(pairs)
{
    EK_AUTOFREE char *chain = ek_xasprintf("%s%s", first.cert, authority.cert);
    EK_AUTOFREE char *cut = ek_xstrndup(first.cert, strlen(first.cert) / 2);
    EK_AUTOFREE char *half_chain = ek_xasprintf("%s%s", first.cert, cut);
    EK_AUTOFREE char *commented = ek_xasprintf("# mine\n%s\n", first.cert);
    const struct {
        const char *name;
        const char *cert, *key;
        int rc;
        const char *message;
    } rows[] = {
        {"leaf", first.cert, first.key, 0, ""},
        {"chain", chain, first.key, 0, ""},
        {"text around it", commented, first.key, 0, ""},
        {"no certificate", "", first.key, EK_E_PARSE, "no usable PEM certificate: tls.crt"},
        {"garbage", "garbage", first.key, EK_E_PARSE, "no usable PEM certificate"},
        {"cut certificate", cut, first.key, EK_E_PARSE, "no usable PEM certificate"},
        {"cut chain", half_chain, first.key, EK_E_PARSE, "no usable PEM certificate"},
        {"key instead of certificate", first.key, first.key, EK_E_PARSE, "certificate"},
        {"no key", first.cert, "", EK_E_PARSE, "no usable PEM private key"},
        {"certificate instead of key", first.cert, first.cert, EK_E_PARSE, "private key"},
        {"another's key", first.cert, second.key, EK_E_TLS, "do not belong together"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ssl_ctx_st *context = NULL;
        struct ek_err err = {0};
        int rc = ek_tls_context_new(ek_str_from(rows[i].cert), ek_str_from(rows[i].key), "tls.crt",
                                    &context, &err);
        ck_assert_msg(rc == rows[i].rc && strstr(err.message, rows[i].message), "%s: %d %s",
                      rows[i].name, rc, err.message);
        ck_assert_msg(strstr(err.message, "BEGIN") == NULL, "%s: %s", rows[i].name, err.message);
        ck_assert_int_eq(context != NULL, rc == 0);
        ek_tls_context_free(context);
    }
}
END_TEST

START_TEST(self_signed)
{
    int64_t now_ms = ek_time_parse("2026-11-20T10:00:00Z");
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_tls_session *session;
    struct ek_err err;

    ck_assert_ptr_null(ek_tls_session_new(identity));
    ck_assert(ek_tls_identity_not_after(identity) == EK_TIME_UNSET);
    ck_assert_int_eq(ek_tls_identity_self_signed(identity, now_ms, &err), 0);
    ck_assert_int_eq(ek_tls_identity_not_after(identity), ek_time_parse("2027-11-20T09:00:00Z"));
    SSL *client = handshake(identity, &session);
    X509 *cert = SSL_get1_peer_certificate(client);
    ck_assert_int_eq(X509_check_host(cert, "localhost", 0, 0, NULL), 1);
    ck_assert_int_eq(X509_check_ip_asc(cert, "127.0.0.1", 0), 1);
    ck_assert_int_eq(X509_check_ip_asc(cert, "::1", 0), 1);
    ck_assert_int_eq(X509_check_host(cert, "example.com", 0, 0, NULL), 0);
    X509_free(cert);
    SSL_free(client);
    ek_tls_session_free(session);
    ek_tls_identity_free(identity);
}
END_TEST

START_TEST(sessions_keep_their_certificate)
{
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_tls_session *session;
    struct ssl_ctx_st *context;
    struct ek_err err;
    char name[64], plain[64];
    bool end;

    ek_tls_context_new(ek_str_from(first.cert), ek_str_from(first.key), "", &context, &err);
    ek_tls_identity_set(identity, context);
    SSL *client = handshake(identity, &session);
    ek_tls_context_new(ek_str_from(second.cert), ek_str_from(second.key), "", &context, &err);
    ek_tls_identity_set(identity, context);
    ck_assert_str_eq(served(identity, name), "second");
    ek_tls_identity_free(identity); /* sessions outlive even the identity */
    ck_assert_int_eq(ek_tls_session_write(session, "hello", 5, &err), 0);
    shuttle(client, SSL_get_rbio(client), SSL_get_wbio(client), session);
    ck_assert_int_eq(SSL_read(client, plain, sizeof plain), 5);
    SSL_shutdown(client);
    int n = BIO_read(SSL_get_wbio(client), plain, sizeof plain);
    ek_tls_session_input(session, plain, (size_t)n);
    ck_assert_int_eq(ek_tls_session_read(session, plain, sizeof plain, &end, &err), 0);
    ck_assert(end);
    SSL_free(client);
    ek_tls_session_free(session);
}
END_TEST

START_TEST(hostile_bytes)
{
    static const char *const rows[] = {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x02\x01\x00",
                                       "\x80\x2e\x01\x03\x01", "\x15\x03\x01\x00\x02\x02\x28",
                                       "\xff\xff\xff\xff\xff\xff"};
    struct ek_tls_identity *identity = ek_tls_identity_new();
    char plain[64];
    bool end;

    ek_tls_identity_self_signed(identity, 0, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_tls_session *session = ek_tls_session_new(identity);
        struct ek_err err = {0};
        ek_tls_session_input(session, rows[i], strlen(rows[i]));
        int rc = ek_tls_session_read(session, plain, sizeof plain, &end, &err);
        ck_assert_msg(rc == EK_E_TLS || rc == 0, "row %zu: %d", i, rc);
        if (rc)
            ck_assert_msg(!strncmp(err.message, "TLS handshake: ", 15), "row %zu: %s", i,
                          err.message);
        ck_assert(!ek_tls_session_ready(session));
        ck_assert_int_eq(ek_tls_session_write(session, "x", 1, NULL), EK_E_TLS);
        ck_assert_int_eq(ek_tls_session_read(session, plain, sizeof plain, &end, NULL), EK_E_TLS);
        ek_tls_session_end(session);
        ek_tls_session_free(session);
    }
    ek_tls_identity_free(identity);
}
END_TEST

/* The last report of the watcher. */
static struct {
    uv_loop_t loop;
    int n_good, n_bad, n_changed;
    char message[256];
} told;

static void on_read(void *ctx, const struct ek_err *err, bool changed)
{
    (void)ctx;
    *(err ? &told.n_bad : &told.n_good) += 1;
    told.n_changed += changed;
    if (err)
        snprintf(told.message, sizeof told.message, "%.255s", err->message);
    uv_stop(&told.loop);
}

/* Runs the loop, one reading after the other (file events add some), until condition holds. */
#define RUN_UNTIL(condition)                                                                       \
    while (!(condition))                                                                           \
    uv_run(&told.loop, UV_RUN_DEFAULT)

static int watch(int64_t poll_ms, struct ek_tls_identity *identity,
                 struct ek_cert_watcher **ret_watcher, struct ek_err *err)
{
    struct ek_cert_watcher_config config = {
        .cert_path = cert_path, .key_path = key_path, .poll_ms = poll_ms, .on_read = on_read};

    memset(&told, 0, sizeof told);
    uv_loop_init(&told.loop);
    return ek_cert_watcher_new(&told.loop, &config, identity, ret_watcher, err);
}

static void finish(struct ek_cert_watcher *watcher)
{
    ek_cert_watcher_close(watcher, NULL, NULL);
    uv_run(&told.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&told.loop), 0);
}

START_TEST(watcher_reads)
{
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_cert_watcher *watcher;
    struct ek_err err;
    char name[64];

    put(cert_path, first.cert);
    put(key_path, first.key);
    ck_assert_int_eq(watch(3600000, identity, &watcher, &err), 0);
    ck_assert_int_eq(told.n_good, 1);
    ck_assert_str_eq(served(identity, name), "first");
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_good == 2);
    ck_assert_int_eq(told.n_changed, 1); /* the same pair is not loaded again */
    put(cert_path, second.cert);         /* only half of the new pair */
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_bad >= 1);
    ck_assert_ptr_nonnull(strstr(told.message, "do not belong together"));
    ck_assert_ptr_nonnull(strstr(told.message, cert_path));
    ck_assert_str_eq(served(identity, name), "first");
    put(key_path, second.key);
    ek_cert_watcher_enqueue(watcher);
    ek_cert_watcher_enqueue(watcher); /* while one is under way */
    RUN_UNTIL(told.n_changed == 2);
    ck_assert_str_eq(served(identity, name), "second");
    unlink(key_path);
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(strstr(told.message, key_path));
    ck_assert_str_eq(served(identity, name), "second");
    ek_cert_watcher_enqueue(watcher); /* closed while reading */
    finish(watcher);
    ek_tls_identity_free(identity);
}
END_TEST

/* Files that change are noticed by themselves: by an event, and by polling. */
START_TEST(watcher_notices)
{
    static const int64_t polls_ms[] = {3600000, 20};

    for (size_t i = 0; i < EK_ARRAY_SIZE(polls_ms); i++) {
        struct ek_tls_identity *identity = ek_tls_identity_new();
        struct ek_cert_watcher *watcher;
        struct ek_err err;
        char name[64];
        put(cert_path, first.cert);
        put(key_path, first.key);
        ck_assert_int_eq(watch(polls_ms[i], identity, &watcher, &err), 0);
        put(cert_path, second.cert);
        put(key_path, second.key);
        RUN_UNTIL(told.n_changed == 2);
        ck_assert_str_eq(served(identity, name), "second");
        finish(watcher);
        ek_tls_identity_free(identity);
    }
}
END_TEST

START_TEST(watcher_without_files)
{
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_cert_watcher *watcher = NULL;
    struct ek_err err;

    ck_assert_int_eq(watch(0, identity, &watcher, &err), EK_E_NOENT);
    ck_assert_ptr_nonnull(strstr(err.message, cert_path));
    ck_assert_ptr_null(watcher);
    ck_assert_int_eq(told.n_bad, 1);
    finish(NULL);
    ek_tls_identity_free(identity);
}
END_TEST

/* ---- Clients ---- */

/* A handshake of a client with leaf (NULL: without a certificate), after which bytes were sent: TLS
 * 1.3 clients learn of a refusal only then. Both versions of TLS. */
static bool is_welcome(struct ek_tls_identity *identity, const struct testpki_cert *leaf,
                       int version)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    struct ek_tls_session *session = ek_tls_session_new(identity);

    ck_assert_ptr_nonnull(session);
    SSL_CTX_set_max_proto_version(context, version);
    if (leaf) {
        put(cert_path, leaf->cert);
        put(key_path, leaf->key);
        ck_assert_int_eq(SSL_CTX_use_certificate_file(context, cert_path, SSL_FILETYPE_PEM), 1);
        ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM), 1);
    }
    SSL *client = SSL_new(context);
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client);
    shuttle(client, SSL_get_rbio(client), SSL_get_wbio(client), session);
    bool ready = ek_tls_session_ready(session);
    SSL_free(client);
    SSL_CTX_free(context);
    ek_tls_session_free(session);
    return ready;
}

START_TEST(clients)
{
    static const char *const names[] = {"front-proxy-client", "kube-apiserver"};
    struct testpki_cert other = testpki_authority("other");
    struct testpki_cert foreign =
        testpki_issue(&other, &(struct testpki_spec){.common_name = "front-proxy-client"});
    struct testpki_cert proxy =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "front-proxy-client"});
    struct testpki_cert longer =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "front-proxy-client2"});
    struct testpki_cert wild =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "x", .names = "DNS:*"});
    struct testpki_cert by_name = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "x", .names = "DNS:kube-apiserver"});
    struct testpki_cert expired =
        testpki_issue(&authority, &(struct testpki_spec){.common_name = "front-proxy-client",
                                                         .starts_in_s = -7200,
                                                         .ends_in_s = -3600});
    const struct {
        const char *what;
        const struct testpki_cert *leaf;
        bool any, named; /* welcome without and with names */
    } wants[] = {
        {"none", NULL, false, false},        {"another authority's", &foreign, false, false},
        {"expired", &expired, false, false}, {"without a name", &first, true, false},
        {"common name", &proxy, true, true}, {"longer", &longer, true, false},
        {"a pattern", &wild, true, false},   {"DNS name", &by_name, true, true},
    };
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct ek_err err;

    ek_tls_identity_self_signed(identity, 0, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(wants) * 4; i++) {
        bool named = i & 1;
        int version = versions[i >> 1 & 1];
        struct ek_tls_clients *allowed;
        ck_assert_int_eq(ek_tls_clients_new(ek_str_from(authority.cert), names, named ? 2 : 0, "ca",
                                            &allowed, &err),
                         0);
        ek_tls_identity_set_clients(identity, allowed);
        ck_assert_msg(is_welcome(identity, wants[i >> 2].leaf, version) ==
                          (named ? wants[i >> 2].named : wants[i >> 2].any),
                      "%s, named %d", wants[i >> 2].what, named);
    }
    ek_tls_identity_set_clients(identity, NULL);
    ck_assert(is_welcome(identity, NULL, TLS1_3_VERSION));
    ek_tls_identity_free(identity);
    struct testpki_cert *const all[] = {&other, &foreign, &proxy,  &longer,
                                        &wild,  &by_name, &expired};
    for (size_t i = 0; i < EK_ARRAY_SIZE(all); i++)
        testpki_done(all[i]);
}
END_TEST

START_TEST(useless_authorities)
{
    EK_AUTOFREE char *cut = ek_xstrndup(authority.cert, strlen(authority.cert) / 2);
    EK_AUTOFREE char *half = ek_xasprintf("%s%s", authority.cert, cut);
    const char *const texts[] = {"", "no certificate", cut, half, authority.key};
    struct ek_tls_clients *made = NULL;
    struct ek_err err;

    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++) {
        ck_assert_int_eq(ek_tls_clients_new(ek_str_from(texts[i]), NULL, 0, "ca.crt", &made, &err),
                         EK_E_PARSE);
        ck_assert_ptr_nonnull(strstr(err.message, "ca.crt"));
        ck_assert_ptr_null(made);
    }
}
END_TEST

/* The authority of the clients is replaced: first both are there, then the new one alone; and a
 * file that is spoilt changes nothing. */
START_TEST(watcher_of_clients)
{
    static const char *const names[] = {"first", "new"};
    struct ek_tls_identity *identity = ek_tls_identity_new();
    struct testpki_cert next = testpki_authority("next");
    struct testpki_cert leaf = testpki_issue(&next, &(struct testpki_spec){.common_name = "new"});
    EK_AUTOFREE char *both = ek_xasprintf("%s%s", authority.cert, next.cert);
    EK_AUTOFREE char *ca_path = ek_xasprintf("%s/ca.crt", dir);
    struct ek_cert_watcher_config config = {.cert_path = ca_path,
                                            .client_names = names,
                                            .n_client_names = 2,
                                            .poll_ms = 3600000,
                                            .on_read = on_read};
    struct ek_cert_watcher *watcher;
    struct ek_err err;

    ek_tls_identity_self_signed(identity, 0, NULL);
    memset(&told, 0, sizeof told);
    uv_loop_init(&told.loop);
    put(ca_path, authority.cert);
    ck_assert_int_eq(ek_cert_watcher_new(&told.loop, &config, identity, &watcher, &err), 0);
    ck_assert(is_welcome(identity, &first, TLS1_3_VERSION));
    ck_assert(!is_welcome(identity, &second, TLS1_3_VERSION));
    ck_assert(!is_welcome(identity, &leaf, TLS1_3_VERSION));
    put(ca_path, both);
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_changed == 2);
    ck_assert(is_welcome(identity, &first, TLS1_3_VERSION));
    ck_assert(is_welcome(identity, &leaf, TLS1_3_VERSION));
    put(ca_path, "spoilt");
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_bad >= 1);
    ck_assert(is_welcome(identity, &leaf, TLS1_3_VERSION));
    ck_assert(!is_welcome(identity, NULL, TLS1_3_VERSION));
    put(ca_path, next.cert);
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_changed == 3);
    ck_assert(!is_welcome(identity, &first, TLS1_3_VERSION));
    ck_assert(is_welcome(identity, &leaf, TLS1_3_VERSION));
    finish(watcher);
    unlink(ca_path);
    ek_tls_identity_free(identity);
    testpki_done(&leaf);
    testpki_done(&next);
}
END_TEST

/* What the watcher of a caller's own making has: "<cert>+<key>+<authorities>", or an error. */
static char *own;

static int make_own(const void *ctx, const struct ek_cert_texts *texts, void **ret_made,
                    struct ek_err *err)
{
    ck_assert_ptr_eq(ctx, &own);
    if (!strcmp(texts->authorities.p, "spoilt"))
        return ek_err_set(err, EK_E_PARSE, "spoilt");
    *ret_made = ek_xasprintf("%s+%s+%s", texts->cert.p, texts->key.p, texts->authorities.p);
    return 0;
}

static void use_own(void *ctx, void *made)
{
    ck_assert_ptr_eq(ctx, &own);
    ek_free(own);
    own = made;
}

/* Three files, or the authorities alone; each change is used, and a bad one changes nothing. */
START_TEST(watcher_of_own)
{
    EK_AUTOFREE char *ca_path = ek_xasprintf("%s/ca.crt", dir);
    struct ek_cert_watcher_config config = {.cert_path = _i ? NULL : cert_path,
                                            .key_path = _i ? NULL : key_path,
                                            .authorities_path = ca_path,
                                            .make = make_own,
                                            .use = use_own,
                                            .drop = ek_free,
                                            .poll_ms = 3600000,
                                            .on_read = on_read,
                                            .ctx = &own};
    struct ek_cert_watcher *watcher;
    struct ek_err err;

    memset(&told, 0, sizeof told);
    uv_loop_init(&told.loop);
    put(cert_path, "c");
    put(key_path, "k");
    put(ca_path, "a");
    ck_assert_int_eq(ek_cert_watcher_new(&told.loop, &config, NULL, &watcher, &err), 0);
    ck_assert_str_eq(own, _i ? "++a" : "c+k+a");
    put(ca_path, "spoilt");
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_bad >= 1);
    ck_assert_str_eq(own, _i ? "++a" : "c+k+a");
    put(ca_path, "b");
    ek_cert_watcher_enqueue(watcher);
    RUN_UNTIL(told.n_changed == 2);
    ck_assert_str_eq(own, _i ? "++b" : "c+k+b");
    put(key_path, "l");
    ek_cert_watcher_enqueue(watcher);
    if (!_i) {
        RUN_UNTIL(told.n_changed == 3);
        ck_assert_str_eq(own, "c+l+b");
    }
    finish(watcher); /* a reading may be under way */
    unlink(ca_path);
    ek_free(own);
    own = NULL;
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tls");

    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pairs);
    tcase_add_test(tc, self_signed);
    tcase_add_test(tc, sessions_keep_their_certificate);
    tcase_add_test(tc, hostile_bytes);
    tcase_add_test(tc, watcher_reads);
    tcase_add_test(tc, watcher_notices);
    tcase_add_test(tc, watcher_without_files);
    tcase_add_test(tc, clients);
    tcase_add_test(tc, useless_authorities);
    tcase_add_test(tc, watcher_of_clients);
    tcase_add_loop_test(tc, watcher_of_own, 0, 2);
    return ek_test_run("tls", tc);
}
