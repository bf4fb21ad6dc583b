/* SPDX-License-Identifier: Apache-2.0 */
/* The user of a client certificate, in both versions of HTTP. */
#include <openssl/pem.h>
#include <stdio.h>
#include <unistd.h>

#include "informers/clock.h"
#include "test/support/h2_client.h"
#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

#define JOBS "/apis/batch/v1/namespaces/n/jobs"

#define ALPN_H2   "\x02h2\x08http/1.1"
#define ALPN_HTTP "\x08http/1.1"

static struct proxy_fixture fixture;
static struct ek_tls_identity *identity;
static struct h2_client client;
static SSL *ssl;
static int fd;

/* Whom the request runs as: what impersonates, whose token, whose certificate. */
static void show_account(const struct testserver_request *request, struct testserver_conn *conn)
{
    char text[512], user[64], group[64], authorization[64];

    testserver_header(request, "Impersonate-User", user, sizeof user);
    testserver_header(request, "Impersonate-Group", group, sizeof group);
    testserver_header(request, "Authorization", authorization, sizeof authorization);
    snprintf(text, sizeof text, "%s/%s %s %s", user, group, authorization, request->client_name);
    testserver_reply(conn, strstr(request->target, "401") ? 401 : 200,
                     "Content-Type: text/plain\r\n", text);
}

/* The name of the server, the octets of the body, and the user and the group of the request. */
static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;
    char text[512], user[64], group[64], custom[64], uid[64], id[128];

    if (fixture.config.options.policy.mode == EK_IDENTITY_IMPERSONATE) {
        show_account(request, conn);
        return;
    }
    testserver_header(request, "X-Remote-User", user, sizeof user);
    testserver_header(request, "X-Remote-Group", group, sizeof group);
    testserver_header(request, "X-Custom-Group", custom, sizeof custom);
    testserver_header(request, "X-Remote-Uid", uid, sizeof uid);
    testserver_header(request, "X-Remote-Extra-authentication.kubernetes.io%2Fcredential-id", id,
                      sizeof id);
    bool known = !strncmp(id, "X509SHA256=", 11) && strlen(id) == 75;
    snprintf(text, sizeof text, "%s:%zu:%s%s%s%s%s%s%s", server->name, request->body_size, user,
             *group ? "/" : "", group, custom, *uid ? "#" : "", uid, known ? "+" : id);
    testserver_reply(conn, 200, "Content-Type: text/plain\r\nConnection: close\r\n", text);
}

static void setup(void)
{
    proxy_fixture_prepare(&fixture, handle);
    identity = http_fixture_identity();
    fixture.config.options.identity = identity;
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
    ek_tls_identity_free(identity);
}

static void finish(void)
{
    http_tls_close(ssl);
    close(fd);
    h2_client_done(&client);
}

static void run_until_closed(const struct h2_client_stream *one)
{
    char piece[16384];

    while (!one->closed) {
        h2_client_output(&client);
        if (client.out.len > 0)
            ck_assert_int_gt(SSL_write(ssl, client.out.data, (int)client.out.len), 0);
        ek_buf_reset(&client.out);
        int n = SSL_read(ssl, piece, sizeof piece);
        ck_assert(n > 0 && h2_client_input(&client, piece, (size_t)n));
    }
}

/* Has the proxy verify certificates of clients, and hand on their users. */
static void hand_on_users(void)
{
    struct ek_proxy_trusts trusts = {0};
    struct ek_tls_clients *clients = NULL;
    struct ek_err err = {0};
    struct ek_str authorities = ek_str_from(fixture.authority.cert);

    ck_assert_int_eq(ek_tls_clients_new(authorities, NULL, 0, "ca", &clients, &err), 0);
    ek_tls_clients_optional(clients);
    ek_tls_identity_set_clients(identity, clients);
    ck_assert_int_eq(
        ek_tls_trust_new(authorities, EK_STR(""), EK_STR(""), "ca", &trusts.bare, &err), 0);
    ck_assert_int_eq(ek_tls_trust_new(authorities, ek_str_from(fixture.leaf.cert),
                                      ek_str_from(fixture.leaf.key), "ca", &trusts.ours, &err),
                     0);
    ek_proxy_board_set_trusts(fixture.board, trusts);
    fixture.config.options.policy.mode = EK_IDENTITY_FRONT_PROXY;
}

/* The API servers take groups from X-Custom-Group, too. */
static void know_names(void)
{
    static const char config_map[] =
        "{\"data\":{\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\","
        "\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\",\\\"X-Custom-Group\\\"]\"}}";
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;

    ck_assert_int_eq(ek_obj_parse(config_map, sizeof config_map - 1, &object, NULL), 0);
    ek_proxy_board_set_names(fixture.board, ek_identity_names_read(object, NULL));
}

/* A session of a client with that certificate; NULL: with none. */
static SSL *connect_as(const struct testpki_cert *cert, const char *alpn)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *session = SSL_new(context);

    SSL_CTX_free(context);
    if (cert) {
        BIO *text = BIO_new_mem_buf(cert->cert, -1), *key_text = BIO_new_mem_buf(cert->key, -1);
        X509 *x509 = PEM_read_bio_X509(text, NULL, NULL, NULL);
        EVP_PKEY *key = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
        ck_assert_int_eq(SSL_use_certificate(session, x509), 1);
        ck_assert_int_eq(SSL_use_PrivateKey(session, key), 1);
        X509_free(x509);
        EVP_PKEY_free(key);
        BIO_free(text);
        BIO_free(key_text);
    }
    SSL_set_alpn_protos(session, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    SSL_set_fd(session, fd);
    ck_assert_int_eq(SSL_connect(session), 1);
    return session;
}

/* Starts the proxy and connects a client, whose certificate may be NULL. */
static void begin(const struct testpki_cert *cert, const char *alpn)
{
    proxy_fixture_start(&fixture);
    h2_client_init(&client, 0);
    fd = proxy_fixture_connect(&fixture);
    ssl = connect_as(cert, alpn);
}

/* Sends a request over HTTP/2 and reads the whole answer. */
static const struct h2_client_stream *list_jobs(void)
{
    const struct h2_client_stream *one = h2_client_request(&client, "GET", JOBS, "", 0);

    run_until_closed(one);
    return one;
}

static const struct {
    const char *alpn, *common_name, *organization, *body;
} users[] = {
    {ALPN_HTTP, "jane", "dev", "b:0:jane/dev+"},
    {ALPN_H2, "jane", "dev", "b:0:jane/dev+"},
    {ALPN_HTTP, NULL, NULL, "b:0:"},
    {ALPN_H2, NULL, NULL, "b:0:"},
    {ALPN_H2, "jane", NULL, "b:0:jane+"},
    {ALPN_H2, "jane", "dev;uid-7", "b:0:jane/dev#uid-7+"},
};

/* The user of a client certificate, in both versions of HTTP, and never one of the client's own
 * making. */
START_TEST(hands_on_the_user_of_a_certificate)
{
    const char *name = users[_i].common_name;
    struct testpki_cert cert = {0};

    hand_on_users();
    know_names();
    if (name)
        cert = testpki_issue(
            &fixture.authority,
            &(struct testpki_spec){.common_name = name, .organization = users[_i].organization});
    begin(name ? &cert : NULL, users[_i].alpn);
    if (!strcmp(users[_i].alpn, ALPN_H2)) {
        for (int i = 0; i < 2; i++) {
            const struct h2_client_stream *one = h2_client_request(
                &client, "GET", JOBS,
                "x-remote-user: admin\nx-remote-group: system:masters\nx-custom-group: a\n", 0);
            run_until_closed(one);
            ck_assert_str_eq(ek_buf_str(&one->body), users[_i].body);
        }
    } else {
        char *got = http_tls_exchange(ssl,
                                      "GET " JOBS " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                                      "X-Remote-User: admin\r\nX-Remote-Group: g\r\n"
                                      "X-CUSTOM-GROUP: system:masters\r\n\r\n",
                                      65536, NULL);
        const char *body = strstr(got, "\r\n\r\n");
        ck_assert_msg(body && !strcmp(body + 4, users[_i].body), "%s", got);
        ek_free(got);
    }
    finish();
    if (name)
        testpki_done(&cert);
}
END_TEST

/* Until it is known what the API servers take an identity from, a client could send it. */
START_TEST(refuses_certificates_until_the_names_are_known)
{
    struct testpki_cert cert = testpki_issue(
        &fixture.authority, &(struct testpki_spec){.common_name = "jane", .organization = "dev"});

    hand_on_users();
    begin(&cert, ALPN_H2);
    const struct h2_client_stream *one = list_jobs();
    ck_assert_int_eq(one->status, 503);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&one->body), "extension-apiserver-authentication"));
    know_names();
    one = list_jobs();
    ck_assert_str_eq(ek_buf_str(&one->body), "b:0:jane/dev+");
    finish();
    testpki_done(&cert);
}
END_TEST

/* Two UIDs, or an empty one: no user, as to an API server. */
START_TEST(refuses_strange_uids)
{
    const struct testpki_spec specs[] = {
        {.common_name = "jane", .organization = ";a;b"},
        {.common_name = "jane", .organization = ";"},
    };
    struct testpki_cert cert = testpki_issue(&fixture.authority, &specs[_i]);

    hand_on_users();
    know_names();
    begin(&cert, ALPN_H2);
    const struct h2_client_stream *one = list_jobs();
    ck_assert_int_eq(one->status, 401);
    finish();
    testpki_done(&cert);
}
END_TEST

static atomic_bool is_late;

static int64_t wall_clock(void)
{
    return ek_wall_ms() + (atomic_load(&is_late) ? (int64_t)24 * 3600 * 1000 : 0);
}

/* A request of a connection whose certificate was good when it began: 1 after the certificate has
 * expired, 2 after the authorities of clients have changed. */
START_TEST(looks_at_the_certificate_at_each_request)
{
    struct testpki_cert cert =
        testpki_issue(&fixture.authority, &(struct testpki_spec){.common_name = "jane"});

    hand_on_users();
    know_names();
    atomic_store(&is_late, false);
    fixture.config.options.wall_ms = wall_clock;
    begin(&cert, ALPN_H2);
    const struct h2_client_stream *one = list_jobs();
    ck_assert_str_eq(ek_buf_str(&one->body), "b:0:jane+");
    if (_i)
        proxy_fixture_end_users(&fixture);
    else
        atomic_store(&is_late, true);
    one = list_jobs();
    ck_assert_int_eq(one->status, _i ? 503 : 401);
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&one->body), _i ? "connect again" : "certificate has expired"));
    finish();
    testpki_done(&cert);
}
END_TEST

/* ---- Impersonation ---- */

#define TOKEN "Bearer proxy" /* of the account of the proxy */

static const struct {
    const char *alpn, *common_name, *fields, *path;
    const char *account; /* NULL: not known; "": a certificate */
    int status;
    const char *body; /* its beginning */
} impersonated[] = {
    {ALPN_H2, "jane", "", JOBS, TOKEN, 200, "jane/dev " TOKEN " "},
    {ALPN_HTTP, "jane", "", JOBS, TOKEN, 200, "jane/dev " TOKEN " "},
    {ALPN_H2, "jane", "", JOBS, "", 200, "jane/dev  account"},
    /* what a client says of itself: the certificate goes before the token */
    {ALPN_H2, "jane", "authorization: Bearer own\n", JOBS, TOKEN, 200, "jane/dev " TOKEN " "},
    {ALPN_H2, "jane", "x-remote-user: admin\n", JOBS, TOKEN, 200, "jane/dev " TOKEN " "},
    {ALPN_H2, "jane", "impersonate-user: admin\n", JOBS, TOKEN, 403, "{\"kind\":\"Status\""},
    {ALPN_H2, "jane", "impersonate-extra-a: b\n", JOBS, TOKEN, 403, "{\"kind\":\"Status\""},
    {ALPN_HTTP, "jane", "connection: impersonate-user\n", JOBS, TOKEN, 400, "{\"kind\":\"Status\""},
    {ALPN_HTTP, "jane", "connection: authorization\n", JOBS, TOKEN, 400, "{\"kind\":\"Status\""},
    {ALPN_HTTP, "jane", "impersonate_user: admin\n", JOBS, TOKEN, 400, "{\"kind\":\"Status\""},
    /* clients without a certificate run as themselves, and without anything of the proxy */
    {ALPN_H2, NULL, "authorization: Bearer own\n", JOBS, TOKEN, 200, "/ Bearer own "},
    {ALPN_H2, NULL, "authorization: Bearer own\n", JOBS, "", 200, "/ Bearer own "},
    {ALPN_H2, NULL, "authorization: Bearer own\nimpersonate-user: joe\n", JOBS, "", 200,
     "joe/ Bearer own "},
    {ALPN_H2, NULL, "", JOBS, TOKEN, 200, "/  "},
    {ALPN_H2, NULL, "impersonate-user: admin\n", JOBS, "", 200, "admin/  "},
    /* nobody who would be the account of the proxy */
    {ALPN_H2, "system:serviceaccount:n:a", "", JOBS, TOKEN, 403, "{\"kind\":\"Status\""},
    {ALPN_H2, "jane", "", JOBS, NULL, 503, "{\"kind\":\"Status\""},
    {ALPN_H2, "jane", "", "/api", NULL, 503, "{\"kind\":\"Status\""},
    {ALPN_H2, "jane", "", JOBS, "Bearer a\r\nImpersonate-Group: system:masters", 503,
     "{\"kind\":\"Status\""},
    {ALPN_H2, NULL, "authorization: Bearer own\n", JOBS, NULL, 200, "/ Bearer own "},
    /* an account that API servers do not accept is no fault of the client */
    {ALPN_H2, "jane", "", JOBS "/401", TOKEN, 503, "{\"kind\":\"Status\""},
    {ALPN_H2, "jane", "", "/apis?401", TOKEN, 503, "{\"kind\":\"Status\""},
    {ALPN_H2, NULL, "authorization: Bearer own\n", JOBS "/401", TOKEN, 401, "/ Bearer own "},
};

static void impersonate(const char *account)
{
    struct testpki_cert cert =
        testpki_issue(&fixture.authority, &(struct testpki_spec){.common_name = "account"});
    struct ek_proxy_trusts trusts = {0};
    struct ek_str authorities = ek_str_from(fixture.authority.cert);
    bool certified = account && !*account;
    struct ek_err err = {0};

    hand_on_users();
    fixture.config.options.policy.mode = EK_IDENTITY_IMPERSONATE;
    ck_assert_int_eq(
        ek_tls_trust_new(authorities, EK_STR(""), EK_STR(""), "ca", &trusts.bare, &err), 0);
    ck_assert_int_eq(ek_tls_trust_new(authorities, ek_str_from(certified ? cert.cert : ""),
                                      ek_str_from(certified ? cert.key : ""), "ca", &trusts.ours,
                                      &err),
                     0);
    ek_proxy_board_set_trusts(fixture.board, trusts);
    ek_proxy_board_set_account(fixture.board, account);
    testpki_done(&cert);
}

/* In HTTP/1.1: the response, owned. fields have the form of h2_client_request. */
static char *exchange_h1(const char *fields)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    ek_buf_puts(&text, "GET " JOBS " HTTP/1.1\r\nHost: h\r\n");
    for (const char *s = fields; *s; s += strcspn(s, "\n") + 1)
        ek_buf_printf(&text, "%.*s\r\n", (int)strcspn(s, "\n"), s);
    ek_buf_puts(&text, strstr(fields, "connection") ? "\r\n" : "Connection: close\r\n\r\n");
    return http_tls_exchange(ssl, ek_buf_str(&text), 65536, NULL);
}

START_TEST(impersonates)
{
    const char *name = impersonated[_i].common_name, *expected = impersonated[_i].body;
    struct testpki_cert cert = {0};

    impersonate(impersonated[_i].account);
    if (name)
        cert = testpki_issue(&fixture.authority,
                             &(struct testpki_spec){.common_name = name, .organization = "dev"});
    fixture.config.options.idle_ms = 1000;
    begin(name ? &cert : NULL, impersonated[_i].alpn);
    if (!strcmp(impersonated[_i].alpn, ALPN_HTTP)) {
        char *got = exchange_h1(impersonated[_i].fields);
        const char *body = strstr(got, "\r\n\r\n");
        EK_AUTOFREE char *line = ek_xasprintf("HTTP/1.1 %d ", impersonated[_i].status);
        ck_assert_msg(!strncmp(got, line, strlen(line)), "%s", got);
        ck_assert_msg(body && !strncmp(body + 4, expected, strlen(expected)), "%s", got);
        ek_free(got);
    } else {
        const struct h2_client_stream *one =
            h2_client_request(&client, "GET", impersonated[_i].path, impersonated[_i].fields, 0);
        run_until_closed(one);
        ck_assert_msg(one->status == impersonated[_i].status, "%d %s", one->status,
                      ek_buf_str(&one->body));
        ck_assert_msg(!strncmp(ek_buf_str(&one->body), expected, strlen(expected)), "%s",
                      ek_buf_str(&one->body));
        /* No certificate of the proxy where it does not belong. */
        ck_assert(strstr(expected, "account") || !strstr(ek_buf_str(&one->body), " account"));
    }
    finish();
    if (name)
        testpki_done(&cert);
}
END_TEST

/* A certificate that is not verified is nobody's: the token decides, and without one the client is
 * unauthorized. */
START_TEST(goes_by_the_token_beside_a_bad_certificate)
{
    static const struct testpki_spec specs[] = {
        {.common_name = "jane", .organization = "system:masters"}, /* of another authority */
        {.common_name = "jane", .starts_in_s = -7200, .ends_in_s = -3600},
        {.common_name = "jane", .starts_in_s = 3600, .ends_in_s = 7200},
    };
    static const struct {
        const char *fields, *body;
        int status;
    } rows[] = {
        {"authorization: Bearer own\n", "/ Bearer own ", 200},
        {"authorization: Bearer own\nx-remote-user: admin\n", "/ Bearer own ", 200},
        {"", "{\"kind\":\"Status\"", 401},
        {"impersonate-user: admin\n", "{\"kind\":\"Status\"", 401},
        {"sec-websocket-protocol: base64url.bearer.authorization.k8s.io.dA\n",
         "{\"kind\":\"Status\"", 401},
    };
    struct testpki_cert other = testpki_authority("kubernetes");
    struct testpki_cert cert = testpki_issue(_i ? &fixture.authority : &other, &specs[_i]);

    impersonate(TOKEN);
    begin(&cert, ALPN_H2);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        const struct h2_client_stream *one =
            h2_client_request(&client, "GET", JOBS, rows[i].fields, 0);
        run_until_closed(one);
        const char *body = ek_buf_str(&one->body);
        ck_assert_msg(one->status == rows[i].status, "%zu: %d %s", i, one->status, body);
        ck_assert_msg(!strncmp(body, rows[i].body, strlen(rows[i].body)), "%zu: %s", i, body);
        ck_assert_msg(one->status != 401 || strstr(body, "cannot be verified"), "%s", body);
    }
    finish();
    testpki_done(&cert);
    testpki_done(&other);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("connection_users");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, hands_on_the_user_of_a_certificate, 0, (int)EK_ARRAY_SIZE(users));
    tcase_add_test(tcase, refuses_certificates_until_the_names_are_known);
    tcase_add_loop_test(tcase, refuses_strange_uids, 0, 2);
    tcase_add_loop_test(tcase, looks_at_the_certificate_at_each_request, 0, 2);
    tcase_add_loop_test(tcase, goes_by_the_token_beside_a_bad_certificate, 0, 3);
    tcase_add_loop_test(tcase, impersonates, 0, (int)EK_ARRAY_SIZE(impersonated));
    return ek_test_run("connection_users", tcase);
}
