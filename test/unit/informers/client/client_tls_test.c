/* SPDX-License-Identifier: Apache-2.0 */
/* The API client over TLS: trusted servers, shown credentials, and messages of failures. */
#include <arpa/inet.h>
#include <check.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/base/time.h"
#include "test/support/clientbench.h"
#include "test/support/patience.h"
#include "test/support/suite.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

#define HOUR 3600L

/* As fast as the connection takes it; not for ever, so that a reader that never stops is found. */
static void reply_flood(struct testserver_conn *conn)
{
    enum { PIECE = 65536, PIECES = 1000 };
    char *piece = ek_xalloc(PIECE);
    char head[100];
    int n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                     PIECE * PIECES);

    testserver_write(conn, head, (size_t)n);
    for (int i = 0; i < PIECES; i++)
        testserver_write(conn, piece, PIECE);
    ek_free(piece);
}

static void serve(void *ctx, const struct testserver_request *request, struct testserver_conn *conn)
{
    char host[128], body[512];

    (void)ctx;
    if (!strcmp(request->target, "/stall")) {
        testserver_stall(conn);
        return;
    }
    if (!strcmp(request->target, "/flood")) {
        reply_flood(conn);
        return;
    }
    if (!strncmp(request->target, "/to/", 4)) {
        snprintf(body, sizeof body, "Location: %s\r\n", request->target + 4);
        testserver_reply(conn, 307, body, "");
        return;
    }
    if (!strcmp(request->target, "/headers")) {
        testserver_reply(conn, 200, "", request->headers);
        return;
    }
    testserver_header(request, "Host", host, sizeof host);
    snprintf(body, sizeof body, "%s|%s", request->client_name, host);
    testserver_reply(conn, 200, "", body);
}

/* An authority, a server with a certificate of it, and a configuration that trusts it. */
struct scene {
    struct testpki_cert authority, leaf, client;
    struct testserver *server;
    struct ek_client_config *config;
    struct clientbench bench;
};

static void scene_make(struct scene *scene, const struct testpki_spec *spec,
                       struct testserver_options options)
{
    scene->authority = testpki_authority("kubernetes");
    scene->leaf = testpki_issue(&scene->authority, spec);
    scene->client =
        testpki_issue(&scene->authority, &(struct testpki_spec){.common_name = "kubernetes-admin",
                                                                .organization = "admins"});
    options.handler = serve;
    options.cert = scene->leaf.cert;
    options.key = scene->leaf.key;
    options.client_ca = scene->authority.cert;
    scene->server = testserver_start(&options);
    scene->config = ek_client_config_new();
    scene->config->server = ek_xasprintf("https://127.0.0.1:%d", testserver_port(scene->server));
    scene->config->ca_data = ek_xstrdup(scene->authority.cert);
}

static void scene_done(struct scene *scene)
{
    testserver_stop(scene->server);
    ek_client_config_free(scene->config);
    testpki_done(&scene->authority);
    testpki_done(&scene->leaf);
    testpki_done(&scene->client);
}

#define GOOD_LEAF                                                                                  \
    {                                                                                              \
        .common_name = "kube-apiserver",                                                           \
        .names = "DNS:kubernetes.default.svc,DNS:cp-a,IP:127.0.0.1,IP:fd00::1"                     \
    }
static const struct testpki_spec good_leaf = GOOD_LEAF;

enum twist {
    NOTHING,
    OTHER_CA,    /* the client trusts another authority */
    SYSTEM_CA,   /* the client has none configured */
    INSECURE,    /* the client does not look */
    TLS_NAME,    /* tls-server-name cp-a */
    WRONG_NAME,  /* tls-server-name cp-z */
    CLIENT_CERT, /* the client has a certificate */
    WRONG_CLIENT_CERT,
    PLAIN_CLIENT, /* the client speaks no TLS */
};

static const struct {
    const char *name;
    struct testpki_spec leaf;
    enum twist twist;
    bool require_client;
    const char *connect_tls_name; /* with connect_to; "" means the default name */
    int code;
    const char *text; /* contained in the body, or in the error's message */
} rows[] = {
    {"good", GOOD_LEAF, NOTHING, false, NULL, 0, "|127.0.0.1:"},
    {"peer by address", GOOD_LEAF, NOTHING, false, "", 0, "|kubernetes.default.svc:"},
    {"peer by another name", GOOD_LEAF, NOTHING, false, "cp-a", EK_E_INVAL,
     "go to kubernetes.default.svc, not to cp-a"},
    {"configured server by address, without an authority", GOOD_LEAF, SYSTEM_CA, false, "",
     EK_E_TLS, "signed by an unknown authority"},
    {"tls-server-name", GOOD_LEAF, TLS_NAME, false, NULL, 0, "|127.0.0.1:"},
    {"client certificate", GOOD_LEAF, CLIENT_CERT, true, NULL, 0, "kubernetes-admin|"},
    {"client certificate to a peer", GOOD_LEAF, CLIENT_CERT, true, "", 0, "kubernetes-admin|"},
    {"insecure", {"x", NULL, "DNS:elsewhere", -2 * HOUR, -HOUR}, INSECURE, false, NULL, 0, "|"},
    {"expired",
     {"x", NULL, "IP:127.0.0.1", -2 * HOUR, -HOUR},
     NOTHING,
     false,
     NULL,
     EK_E_TLS,
     "the server's certificate has expired (20"},
    {"not yet valid",
     {"x", NULL, "IP:127.0.0.1", HOUR, 2 * HOUR},
     NOTHING,
     false,
     NULL,
     EK_E_TLS,
     "not valid yet"},
    {"unknown authority", GOOD_LEAF, OTHER_CA, false, NULL, EK_E_TLS,
     "signed by an unknown authority"},
    {"unknown to the system", GOOD_LEAF, SYSTEM_CA, false, NULL, EK_E_TLS,
     "signed by an unknown authority"},
    {"wrong address",
     {"x", NULL, "DNS:cp-a,IP:10.0.0.1", 0, 0},
     NOTHING,
     false,
     NULL,
     EK_E_TLS,
     "not valid for 127.0.0.1 (it is for cp-a, 10.0.0.1)"},
    {"wrong name", GOOD_LEAF, WRONG_NAME, false, NULL, EK_E_TLS,
     "not valid for cp-z (it is for kubernetes.default.svc, cp-a, 127.0.0.1, fd00::1)"},
    {"not an API server",
     {"x", NULL, "IP:127.0.0.1", 0, 0},
     NOTHING,
     false,
     "",
     EK_E_TLS,
     "not valid for kubernetes.default.svc (it is for 127.0.0.1)"},
    {"names beat the common name",
     {"127.0.0.1", NULL, "DNS:x", 0, 0},
     NOTHING,
     false,
     NULL,
     EK_E_TLS,
     "not valid for 127.0.0.1 (it is for x)"},
    {"certificate wanted", GOOD_LEAF, NOTHING, true, NULL, EK_E_TLS,
     "because of the client certificate"},
    {"certificate refused", GOOD_LEAF, WRONG_CLIENT_CERT, true, NULL, EK_E_TLS,
     "because of the client certificate"},
    {"http to https", GOOD_LEAF, PLAIN_CLIENT, false, NULL, EK_E_NET, "broke off"},
};

static void twist_config(struct scene *scene, enum twist twist)
{
    struct ek_client_config *config = scene->config;
    struct testpki_cert other = testpki_authority("kubernetes");
    struct testpki_cert stranger =
        testpki_issue(&other, &(struct testpki_spec){.common_name = "stranger"});

    if (twist == OTHER_CA || twist == SYSTEM_CA || twist == INSECURE) {
        ek_free(config->ca_data);
        config->ca_data = twist == OTHER_CA ? ek_xstrdup(other.cert) : NULL;
    }
    config->insecure_skip_tls_verify = twist == INSECURE;
    if (twist == TLS_NAME || twist == WRONG_NAME)
        config->tls_server_name = ek_xstrdup(twist == TLS_NAME ? "cp-a" : "cp-z");
    if (twist == CLIENT_CERT || twist == WRONG_CLIENT_CERT) {
        const struct testpki_cert *cert = twist == CLIENT_CERT ? &scene->client : &stranger;
        config->cert_data = ek_xstrdup(cert->cert);
        config->key_data = ek_xstrdup(cert->key);
    }
    if (twist == PLAIN_CLIENT)
        memmove(config->server + 4, config->server + 5, strlen(config->server + 4));
    testpki_done(&other);
    testpki_done(&stranger);
}

START_TEST(who_is_trusted)
{
    struct scene scene;
    struct outcome out;
    char address[64];
    const char *name = rows[_i].name, *tls_name = rows[_i].connect_tls_name;

    scene_make(&scene, &rows[_i].leaf,
               (struct testserver_options){.require_client = rows[_i].require_client});
    twist_config(&scene, rows[_i].twist);
    clientbench_start(&scene.bench, scene.config);
    snprintf(address, sizeof address, "127.0.0.1:%d", testserver_port(scene.server));
    clientbench_do(&scene.bench,
                   &(struct ek_request){.path = "/version",
                                        .connect_to = tls_name ? address : NULL,
                                        .tls_name = tls_name && *tls_name ? tls_name : NULL,
                                        .timeout_ms = PATIENCE_LAST_MS},
                   &out);
    ck_assert_msg(out.err.code == rows[_i].code, "%s: %d %s", name, out.err.code, out.err.message);
    ck_assert_msg(strstr(rows[_i].code ? out.err.message : out.body, rows[_i].text) != NULL,
                  "%s: %s", name, rows[_i].code ? out.err.message : out.body);
    ck_assert_msg((out.fingerprint[0] != 0) == (rows[_i].code == 0), "%s: certificate", name);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

/* Which parts of a full configuration reach which server. */
static const struct {
    const char *name;
    bool peer;
    const char *bearer, *tls_name;
    const char *there, *absent; /* parts of the headers */
} shown[] = {
    {"configured server", false, NULL, NULL,
     "Authorization: Bearer secret-token\r\nImpersonate-User: jane\r\nImpersonate-Uid: 42\r\n"
     "Impersonate-Group: devs\r\nImpersonate-Group: ops\r\n"
     "Impersonate-Extra-example.com%2Fscope: view\r\n",
     "other-token"},
    {"API server", true, NULL, NULL,
     "Authorization: Bearer secret-token\r\nImpersonate-User: jane\r\n", "other-token"},
    {"another process", true, "other-token", "127.0.0.1", "Authorization: Bearer other-token\r\n",
     "secret-token"},
    {"another process is not told whom we play", true, "other-token", "127.0.0.1",
     "Authorization: Bearer other-token\r\n", "Impersonate"},
};

START_TEST(who_sees_what)
{
    struct scene scene;
    struct outcome out;
    char address[64];

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    scene.config->token = ek_xstrdup("secret-token");
    scene.config->as_user = ek_xstrdup("jane");
    scene.config->as_uid = ek_xstrdup("42");
    ek_strings_add(&scene.config->as_groups, "devs");
    ek_strings_add(&scene.config->as_groups, "ops");
    ek_name_values_add(&scene.config->as_extra, "example.com/scope", "view");
    clientbench_start(&scene.bench, scene.config);
    snprintf(address, sizeof address, "127.0.0.1:%d", testserver_port(scene.server));
    clientbench_do(&scene.bench,
                   &(struct ek_request){.path = "/headers",
                                        .connect_to = shown[_i].peer ? address : NULL,
                                        .tls_name = shown[_i].tls_name,
                                        .bearer = shown[_i].bearer,
                                        .timeout_ms = 10000},
                   &out);
    ck_assert_msg(out.err.code == 0, "%s: %s", shown[_i].name, out.err.message);
    ck_assert_msg(strstr(out.body, shown[_i].there) != NULL, "%s: %s", shown[_i].name, out.body);
    ck_assert_msg(!strstr(out.body, shown[_i].absent), "%s: %s", shown[_i].name, out.body);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

/* Where the configured server redirects to, nobody is contacted, by TLS and without. */
START_TEST(nobody_is_followed)
{
    const char *scheme = _i ? "http" : "https";
    struct scene scene;
    struct outcome out;

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    scene.config->token = ek_xstrdup("secret");
    scene.config->cert_data = ek_xstrdup(scene.client.cert);
    scene.config->key_data = ek_xstrdup(scene.client.key);
    clientbench_start(&scene.bench, scene.config);
    struct testserver *trap = testserver_start(&(struct testserver_options){
        .handler = serve, .cert = _i ? NULL : scene.leaf.cert, .key = _i ? NULL : scene.leaf.key});
    EK_AUTOFREE char *path =
        ek_xasprintf("/to/%s://127.0.0.1:%d/headers", scheme, testserver_port(trap));
    clientbench_do(&scene.bench, &(struct ek_request){.path = path}, &out);
    ck_assert_uint_eq(testserver_connections(trap), 0);
    ck_assert_int_eq(out.err.code, EK_E_HTTP);
    ck_assert_int_eq(out.status, 307);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    testserver_stop(trap);
    scene_done(&scene);
}
END_TEST

START_TEST(the_certificate_is_reported_each_time)
{
    struct scene scene;
    struct outcome out;

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    clientbench_start(&scene.bench, scene.config);
    for (int i = 0; i < 3; i++) {
        clientbench_do(&scene.bench, &(struct ek_request){.path = "/version"}, &out);
        ck_assert_uint_eq(strlen(out.fingerprint), 64);
        ck_assert_uint_eq(strspn(out.fingerprint, "0123456789abcdef"), 64);
        ck_assert_str_eq(out.names, "kubernetes.default.svc,cp-a,127.0.0.1,fd00::1");
        ck_assert(out.not_after_ms > (int64_t)time(NULL) * 1000 + 3000 * 1000LL);
        ck_assert(out.not_after_ms < (int64_t)time(NULL) * 1000 + 3700 * 1000LL);
        outcome_done(&out);
    }
    ck_assert_uint_eq(testserver_connections(scene.server), 1);
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

/* Peers share the name and maybe the port: only the address differs. */
START_TEST(peers_are_not_mixed_up)
{
    struct scene scene;
    struct outcome out[2];
    char address[2][64];
    char fingerprints[2][65];
    struct testpki_cert second_leaf;
    struct testserver *second;

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    second_leaf = testpki_issue(&scene.authority, &good_leaf);
    second = testserver_start(&(struct testserver_options){.handler = serve,
                                                           .address = "127.0.0.2",
                                                           .port = testserver_port(scene.server),
                                                           .cert = second_leaf.cert,
                                                           .key = second_leaf.key});
    clientbench_start(&scene.bench, scene.config);
    for (int i = 0; i < 2; i++)
        snprintf(address[i], sizeof address[i], "127.0.0.%d:%d", i + 1,
                 testserver_port(scene.server));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            clientbench_send(&scene.bench,
                             &(struct ek_request){.path = "/version", .connect_to = address[i]},
                             &out[i]);
        for (int i = 0; i < 2; i++) {
            clientbench_run_until(&scene.bench, &out[i].n_done);
            ck_assert_msg(out[i].err.code == 0, "%s", out[i].err.message);
            if (round)
                ck_assert_str_eq(fingerprints[i], out[i].fingerprint);
            memcpy(fingerprints[i], out[i].fingerprint, sizeof fingerprints[i]);
            outcome_done(&out[i]);
        }
        ck_assert_str_ne(fingerprints[0], fingerprints[1]);
    }
    ck_assert_uint_eq(testserver_requests(second), 3);
    ck_assert_uint_eq(testserver_connections(second), 1);
    clientbench_stop(&scene.bench);
    testserver_stop(second);
    testpki_done(&second_leaf);
    scene_done(&scene);
}
END_TEST

START_TEST(a_proxy_is_not_used_for_peers)
{
    struct scene scene;
    struct outcome out;
    char address[64];

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    scene.config->proxy_url = ek_xstrdup("http://127.0.0.1:1");
    clientbench_start(&scene.bench, scene.config);
    snprintf(address, sizeof address, "127.0.0.1:%d", testserver_port(scene.server));
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/version", .connect_to = address},
                   &out);
    ck_assert_msg(out.err.code == 0, "%s", out.err.message);
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/version"}, &out);
    ck_assert_int_eq(out.err.code, EK_E_REFUSED);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

START_TEST(an_environment_proxy_is_left_alone)
{
    struct scene scene;
    struct outcome out;

    setenv("https_proxy", "http://127.0.0.1:1", 1);
    setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1);
    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    clientbench_start(&scene.bench, scene.config);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/version"}, &out);
    ck_assert_msg(out.err.code == 0, "%s", out.err.message);
    outcome_done(&out);
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

/* A server that accepts and says nothing, and one that breaks the handshake off. */
static const struct {
    const char *name;
    bool answers;
    int code;
    const char *message;
} mutes[] = {
    {"silent", false, EK_E_TIMEOUT, "connected, but no TLS handshake within "},
    {"another protocol", true, EK_E_TLS, "does not speak TLS"},
};

/* True when the client reports what the row says; with the longest timeout it must. */
static bool meets_mute(const struct ek_client_config *config, int listener, int64_t timeout_ms,
                       const char *name, bool answers, int code, const char *message)
{
    struct clientbench bench;
    struct outcome out;
    int fd = -1;

    clientbench_start(&bench, config);
    clientbench_send(&bench, &(struct ek_request){.path = "/version", .timeout_ms = timeout_ms},
                     &out);
    while (answers && fd < 0) {
        uv_run(&bench.loop, UV_RUN_NOWAIT);
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (fd >= 0)
            ck_assert_int_eq(write(fd, "SSH-2.0-OpenSSH_9.2\r\n", 21), 21);
    }
    clientbench_run_until(&bench, &out.n_done);
    bool met = out.err.code == code && strstr(out.err.message, message);
    ck_assert_msg(met || !patience_is_over(timeout_ms), "%s: %d %s", name, out.err.code,
                  out.err.message);
    outcome_done(&out);
    clientbench_stop(&bench);
    if (fd >= 0)
        close(fd);
    return met;
}

START_TEST(servers_without_tls)
{
    struct testpki_cert authority = testpki_authority("a");
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof addr;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 5), 0);
    getsockname(listener, (struct sockaddr *)&addr, &len);
    config->server = ek_xasprintf("https://127.0.0.1:%d", ntohs(addr.sin_port));
    config->ca_data = ek_xstrdup(authority.cert);
    PATIENCE_FOR(timeout_ms, mutes[_i].answers ? PATIENCE_LAST_MS : 200)
    if (meets_mute(config, listener, timeout_ms, mutes[_i].name, mutes[_i].answers, mutes[_i].code,
                   mutes[_i].message))
        break;
    close(listener);
    testpki_done(&authority);
}
END_TEST

START_TEST(many_at_once_and_a_close)
{
    enum { N = 40 };
    struct scene scene;
    struct outcome out[N];

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    clientbench_start(&scene.bench, scene.config);
    for (int i = 0; i < N; i++)
        clientbench_send(&scene.bench, &(struct ek_request){.path = i % 4 ? "/version" : "/stall"},
                         &out[i]);
    for (int i = 0; i < N; i++) {
        if (i % 4 == 0)
            continue;
        clientbench_run_until(&scene.bench, &out[i].n_done);
        ck_assert_msg(out[i].err.code == 0, "%s", out[i].err.message);
        outcome_done(&out[i]);
    }
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

START_TEST(closing_in_the_middle_of_handshakes)
{
    struct scene scene;
    struct outcome out[8];

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    clientbench_start(&scene.bench, scene.config);
    for (int i = 0; i < 8; i++)
        clientbench_send(&scene.bench, &(struct ek_request){.path = "/version"}, &out[i]);
    for (int i = 0; i < _i; i++)
        uv_run(&scene.bench.loop, UV_RUN_NOWAIT);
    clientbench_stop(&scene.bench);
    for (int i = 0; i < 8; i++)
        outcome_done(&out[i]);
    scene_done(&scene);
}
END_TEST

static const struct {
    const char *name;
    const char *ca_file, *ca_data, *cert_data, *key_data, *token_file;
    bool as_line_end, exec_always;
    int code;
    const char *message;
} births[] = {
    {"no such CA", .ca_file = "/nonexistent/ca.crt", .code = EK_E_NOENT,
     .message = "/nonexistent/ca.crt"},
    {"CA is no PEM", .ca_data = "hello", .code = EK_E_PARSE,
     .message = "certificate-authority-data holds no certificate"},
    {"certificate is no PEM", .cert_data = "x", .key_data = "K", .code = EK_E_PARSE,
     .message = "client-certificate-data holds no certificate"},
    {"key is no PEM", .cert_data = "C", .key_data = "x", .code = EK_E_PARSE,
     .message = "client-key-data holds no private key"},
    {"key of another", .cert_data = "C", .key_data = "O", .code = EK_E_INVAL,
     .message = "client-key-data does not belong to the certificate"},
    {"encrypted key", .cert_data = "C", .key_data = "E", .code = EK_E_INVAL,
     .message = "client-key-data is encrypted"},
    {"key alone", .key_data = "K", .code = EK_E_INVAL, .message = "come together"},
    {"no such token file", .token_file = "/nonexistent/token", .code = EK_E_NOENT,
     .message = "/nonexistent/token"},
    {"empty token file", .token_file = "/dev/null", .code = EK_E_PARSE,
     .message = "/dev/null is empty"},
    {"a directory as token file", .token_file = "/", .code = EK_E_IO, .message = "cannot read /"},
    {"line end in a header", .as_line_end = true, .code = EK_E_INVAL, .message = "control"},
    {"plugin that wants a terminal", .exec_always = true, .code = EK_E_INVAL,
     .message = "requires a terminal"},
};

/* The same key with a passphrase. */
static char *encrypt(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1), *out = BIO_new(BIO_s_mem());
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    char *data, *text;

    ck_assert_int_eq(
        PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), "pass", 4, NULL, NULL), 1);
    long len = BIO_get_mem_data(out, &data);
    text = ek_xstrndup(data, (size_t)len);
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(out);
    return text;
}

static char *pem_for(const char *what, const struct testpki_cert *cert,
                     const struct testpki_cert *other)
{
    if (!what)
        return NULL;
    if (!strcmp(what, "C"))
        return ek_xstrdup(cert->cert);
    if (!strcmp(what, "K"))
        return ek_xstrdup(cert->key);
    if (!strcmp(what, "O"))
        return ek_xstrdup(other->key);
    if (!strcmp(what, "E"))
        return encrypt(cert->key);
    return ek_xstrdup(what);
}

START_TEST(a_configuration_that_cannot_work)
{
    struct testpki_cert authority = testpki_authority("a");
    struct testpki_cert cert = testpki_issue(&authority, &good_leaf);
    struct testpki_cert other = testpki_issue(&authority, &good_leaf);
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct ek_client *client = NULL;
    struct ek_err err = {0};
    uv_loop_t loop;
    const char *name = births[_i].name;

    config->server = ek_xstrdup("https://127.0.0.1:1");
    config->source = ek_xstrdup("/home/jane/.kube/config");
    config->ca_file = ek_xstrdup(births[_i].ca_file);
    config->ca_data = ek_xstrdup(births[_i].ca_data);
    config->cert_data = pem_for(births[_i].cert_data, &cert, &other);
    config->key_data = pem_for(births[_i].key_data, &cert, &other);
    config->token_file = ek_xstrdup(births[_i].token_file);
    config->as_user = births[_i].as_line_end ? ek_xstrdup("jane\r\nX: y") : NULL;
    if (births[_i].exec_always) {
        config->exec = ek_xalloc(sizeof *config->exec);
        config->exec->command = ek_xstrdup("plugin");
        config->exec->interactive = EK_EXEC_ALWAYS;
    }
    uv_loop_init(&loop);
    int rc = ek_client_new(&loop, config, "x", &client, &err);
    ck_assert_msg(rc == births[_i].code, "%s: %d %s", name, rc, err.message);
    ck_assert_msg(strstr(err.message, births[_i].message) != NULL, "%s: %s", name, err.message);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    testpki_done(&authority);
    testpki_done(&cert);
    testpki_done(&other);
}
END_TEST

/* A reader that is slower than its server, with a clock beside it. */
struct flood {
    struct ek_call *call;
    int n_ticks, n_done;
    volatile unsigned sum;
};

static int on_flood(void *ctx, const char *data, size_t len)
{
    struct flood *flood = ctx;

    for (int round = 0; round < 60; round++)
        for (size_t i = 0; i < len; i++)
            flood->sum += (unsigned char)data[i];
    return 0;
}

static void on_flood_done(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct flood *flood = ctx;
    (void)resp;
    (void)err;
    flood->n_done = 1;
}

static void on_tick(uv_timer_t *timer)
{
    struct flood *flood = timer->data;

    if (++flood->n_ticks < 3)
        return;
    ek_call_cancel(flood->call);
    uv_close((uv_handle_t *)timer, NULL);
    flood->n_done++;
}

/* As long as TLS had more to read, libcurl's timer of 0 once kept the loop busy. */
START_TEST(a_fast_stream_leaves_others_their_turn)
{
    struct scene scene;
    struct flood flood = {0};
    uv_timer_t timer;

    scene_make(&scene, &good_leaf, (struct testserver_options){0});
    clientbench_start(&scene.bench, scene.config);
    uv_timer_init(&scene.bench.loop, &timer);
    timer.data = &flood;
    uv_timer_start(&timer, on_tick, 5, 5);
    flood.call = ek_client_send(scene.bench.client,
                                &(struct ek_request){.path = "/flood", .on_data = on_flood},
                                on_flood_done, &flood);
    clientbench_run_until(&scene.bench, &flood.n_done);
    ck_assert_int_eq(flood.n_ticks, 3); /* and not the flood's end */
    clientbench_stop(&scene.bench);
    scene_done(&scene);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client_tls");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, who_sees_what, 0, (int)EK_ARRAY_SIZE(shown));
    tcase_add_test(tcase, a_fast_stream_leaves_others_their_turn);
    tcase_add_loop_test(tcase, who_is_trusted, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, nobody_is_followed, 0, 2);
    tcase_add_test(tcase, the_certificate_is_reported_each_time);
    tcase_add_test(tcase, peers_are_not_mixed_up);
    tcase_add_test(tcase, a_proxy_is_not_used_for_peers);
    tcase_add_test(tcase, an_environment_proxy_is_left_alone);
    tcase_add_loop_test(tcase, servers_without_tls, 0, (int)EK_ARRAY_SIZE(mutes));
    tcase_add_test(tcase, many_at_once_and_a_close);
    tcase_add_loop_test(tcase, closing_in_the_middle_of_handshakes, 0, 12);
    tcase_add_loop_test(tcase, a_configuration_that_cannot_work, 0, (int)EK_ARRAY_SIZE(births));
    return ek_test_run("client_tls", tcase);
}
