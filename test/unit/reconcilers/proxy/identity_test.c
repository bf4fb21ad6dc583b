/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/proxy/identity.h"
#include "test/support/suite.h"

#define FIELDS_MAX 64

/* "Name: value|Name: value" as pairs; text is changed. */
static size_t split(char *text, struct ek_identity_pair *ret)
{
    size_t n = 0;

    for (char *line = text; line && *line && n < FIELDS_MAX; n++) {
        char *next = strchr(line, '|');
        if (next)
            *next++ = '\0';
        char *colon = strchr(line, ':');
        ck_assert_ptr_nonnull(colon);
        *colon = '\0';
        ret[n] = (struct ek_identity_pair){line, colon[1] == ' ' ? colon + 2 : colon + 1};
        line = next;
    }
    return n;
}

static const char *const configured[] = {"X-Auth-User", "X-Auth-Group"};
static const char *const prefixes[] = {"X-Auth-Extra-"};

static const char *const masters[] = {"system:masters", "dev", ""};
static const struct ek_identity_pair scopes[] = {
    {"scopes", "a"}, {"scopes", "b"}, {"example.com/Key%", "c"}};

static const struct ek_identity_user users[] = {
    ['u'] = {"jane", "", masters, 0, NULL, 0},
    ['g'] = {"jane", "7", masters, 3, scopes, 3},
    ['e'] = {"", "", masters, 1, NULL, 0},
    ['b'] = {" jane", "", NULL, 0, NULL, 0},
    ['t'] = {"jane\t", "", NULL, 0, NULL, 0},
    ['n'] = {"jane\r\nX-Remote-Group: system:masters", "", NULL, 0, NULL, 0},
    ['c'] = {"jane", "", (const char *const[]){"a\nb"}, 1, NULL, 0},
    ['i'] = {"jane", "1\n", NULL, 0, NULL, 0},
    ['x'] = {"jane", "", NULL, 0, (const struct ek_identity_pair[]){{"k", "v\n"}}, 1},
    ['k'] = {"jane", "", NULL, 0, (const struct ek_identity_pair[]){{"", "v"}}, 1},
    ['8'] = {"j\xC3\xA4ne", "", NULL, 0, NULL, 0},
    ['s'] = {"system:serviceaccount:n:a", "", NULL, 0, NULL, 0},
    ['a'] = {"system:anonymous", "", NULL, 0, NULL, 0},
    ['o'] = {"jane", "", (const char *const[]){"dev", "system:unauthenticated"}, 2, NULL, 0},
};

/* What API servers write; in the second one nothing that the proxy sends. */
static const char config_map[] =
    "{\"data\":{\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\","
    "\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\",\\\"X-Custom-Uid\\\"]\","
    "\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\",\\\"X-Custom-Group\\\"]\","
    "\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\",\\\"X-Custom.\\\"]\"}}";
static const char others[] = "{\"data\":{\"requestheader-username-headers\":\"[\\\"X-User\\\"]\","
                             "\"requestheader-group-headers\":\"[\\\"X-Remote-User\\\"]\"}}";

static struct ek_identity_names *names_of(const char *json)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;

    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &object, NULL), 0);
    return ek_identity_names_read(object, NULL);
}

/* As text: the lines without those that stand in each, joined by "|"; or "code why". */
static char *forward(char mode, char user, int version, const char *fields,
                     struct ek_identity_result *ret)
{
    EK_AUTOPTR(ek_identity_names, ek_identity_names_unref) *servers =
        mode == 'f'   ? names_of(config_map)
        : mode == 'o' ? names_of(others)
                      : NULL;
    const struct ek_identity_policy policy = {
        .mode = mode == 't'   ? EK_IDENTITY_TOKENS
                : mode == 'i' ? EK_IDENTITY_IMPERSONATE
                              : EK_IDENTITY_FRONT_PROXY,
        .servers = servers,
        .names = configured,
        .n_names = EK_ARRAY_SIZE(configured),
        .prefixes = prefixes,
        .n_prefixes = EK_ARRAY_SIZE(prefixes),
    };
    const char *head = "Host: 10.0.0.1:6443\r\n";
    EK_AUTOFREE char *copy = ek_xstrdup(fields);
    struct ek_identity_pair pairs[FIELDS_MAX];
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 64 * 1024);
    const struct ek_identity_request request = {.version = version,
                                                .method = "GET",
                                                .authority = "",
                                                .headers = pairs,
                                                .n_headers = split(copy, pairs),
                                                .user =
                                                    user && user != '!' ? &users[(int)user] : NULL,
                                                .unverified = user == '!',
                                                .host = "10.0.0.1:6443",
                                                .remote_ip = "192.0.2.7"};
    ck_assert_int_eq(ek_identity_forward(&policy, &request, ret, &out), 0);
    if (ret->refusal.code)
        return ek_xasprintf("%d %s", ret->refusal.code, ret->refusal.message);
    ck_assert(!strncmp(ek_buf_str(&out), head, strlen(head)));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "X-Forwarded-For: 192.0.2.7\r\n"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&out), "X-Kubernetes-Peer-Proxied: true\r\n"));
    EK_AUTO(ek_buf) text;
    ek_buf_init(&text, 64 * 1024);
    for (const char *s = strchr(ek_buf_str(&out), '\n') + 1; *s;) {
        size_t len = strcspn(s, "\r\n");
        ck_assert(s[len] == '\r' && s[len + 1] == '\n');
        if (strncmp(s, "X-Forwarded-For: 192.0.2.7\r", 27) != 0 &&
            strncmp(s, "X-Kubernetes-Peer-Proxied: true\r", 32) != 0)
            ek_buf_printf(&text, "%s%.*s", text.len ? "|" : "", (int)len, s);
        s += len + 2;
    }
    return ek_buf_steal(&text);
}

#define H     "Host: api"
#define TOKEN "Authorization: Bearer t"
#define JANE  "X-Remote-User: jane"

/* mode: 't'okens, 'f'ront-proxy, 'i'mpersonate; 'n' and 'o': front-proxy, while what the API
 * servers take an identity from is not known, or is nothing that the proxy sends. user: 0 without a
 * certificate, '!' with one that is not verified. Expected text that begins with a digit is a
 * refusal, of which the beginning of the reason is compared. */
static const struct {
    const char *name;
    char mode, user;
    const char *fields, *expected;
} rows[] = {
    /* tokens pass through in each mode, on connections without our credentials */
    {"a token", 't', 0, H "|" TOKEN, TOKEN},
    {"a token, front-proxy", 'f', 0, H "|" TOKEN, TOKEN},
    {"a token, impersonation", 'i', 0, H "|" TOKEN, TOKEN},
    {"nobody", 't', 0, H, ""},
    {"nobody, impersonation", 'i', 0, H, ""},
    {"other headers", 't', 0, H "|Accept: a|User-Agent: kubectl|Audit-ID: 1",
     "Accept: a|User-Agent: kubectl|Audit-ID: 1"},
    {"impersonation by a client, which the API server judges", 't', 0,
     H "|" TOKEN "|Impersonate-User: joe|Impersonate-Group: g",
     TOKEN "|Impersonate-User: joe|Impersonate-Group: g"},
    {"the same, impersonation", 'i', 0, H "|" TOKEN "|Impersonate-User: joe",
     TOKEN "|Impersonate-User: joe"},
    {"a token of a WebSocket", 't', 0,
     H "|Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.dA, v5.channel.k8s.io",
     "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.dA, v5.channel.k8s.io"},
    {"a certificate that cannot pass", 't', 'u', H, "401 client certificates are not passed on"},
    {"a token beside it", 't', 'u', H "|" TOKEN, TOKEN},
    /* front-proxy */
    {"a certificate", 'f', 'u', H, JANE},
    {"groups, uid and extra", 'f', 'g', H,
     JANE "|X-Remote-Uid: 7|X-Remote-Group: system:masters|X-Remote-Group: dev|"
          "X-Remote-Extra-scopes: a|X-Remote-Extra-scopes: b|"
          "X-Remote-Extra-example.com%2FKey%25: c"},
    {"the certificate goes before a token", 'f', 'u', H "|" TOKEN, JANE},
    {"impersonation by a client", 'f', 'u', H "|Impersonate-User: joe",
     "Impersonate-User: joe|" JANE},
    {"a token of a WebSocket is dropped", 'f', 'u',
     H "|Sec-WebSocket-Protocol: v5.channel.k8s.io,base64url.bearer.authorization.k8s.io.dA",
     "Sec-WebSocket-Protocol: v5.channel.k8s.io|" JANE},
    {"and it alone", 'f', 'u', H "|Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.x",
     JANE},
    {"a name beyond ASCII", 'f', '8', H, "X-Remote-User: j\xC3\xA4ne"},
    /* impersonation */
    {"impersonated", 'i', 'u', H "|" TOKEN, "Impersonate-User: jane"},
    {"impersonated with all", 'i', 'g', H,
     "Impersonate-User: jane|Impersonate-Uid: 7|Impersonate-Group: system:masters|"
     "Impersonate-Group: dev|Impersonate-Extra-scopes: a|Impersonate-Extra-scopes: b|"
     "Impersonate-Extra-example.com%2FKey%25: c"},
    {"impersonation over impersonation", 'i', 'u', H "|Impersonate-User: joe", "403 "},
    {"any header of it", 'i', 'u', H "|impersonate-extra-x: joe", "403 "},
    {"every other header of a client with a certificate", 'i', 'u',
     H "|" TOKEN "|X-Remote-User: admin|X-REMOTE-GROUP: g|X-Remote-Uid: 1|X-Remote-Extra-a: b|"
       "X-Auth-User: admin|X-Auth-Group: g|X-Auth-Extra-a: b|X-Kubernetes-Peer-Proxied: false|"
       "Forwarded: for=1|X-Forwarded-For: 10.0.0.9|X-Forwarded-Host: x|X-Real-IP: 10.0.0.9|"
       "Connection: close, X-A|X-A: 1|Keep-Alive: 5|TE: trailers|Trailer: x|"
       "Proxy-Authorization: Basic x|HTTP2-Settings: x|Audit-ID: 1",
     "Audit-ID: 1|Impersonate-User: jane"},
    {"a token of a WebSocket beside a certificate, impersonation", 'i', 'u',
     H "|Sec-WebSocket-Protocol: v5.channel.k8s.io,base64url.bearer.authorization.k8s.io.dA",
     "Sec-WebSocket-Protocol: v5.channel.k8s.io|Impersonate-User: jane"},
    {"SPDY, and who it is, impersonation", 'i', 'u', H "|Connection: upgrade|Upgrade: SPDY/3.1",
     "Impersonate-User: jane|Connection: Upgrade|"
     "Upgrade: SPDY/3.1"},
    {"a body, impersonation", 'i', 'u', H "|Transfer-Encoding: chunked",
     "Impersonate-User: jane|Transfer-Encoding: chunked"},
    /* an API server would give an impersonated user other groups */
    {"a ServiceAccount by certificate, impersonation", 'i', 's', H,
     "403 impersonation would change the user"},
    {"the anonymous user by certificate, impersonation", 'i', 'a', H,
     "403 impersonation would change the user"},
    {"the unauthenticated by certificate, impersonation", 'i', 'o', H,
     "403 impersonation would change the user"},
    {"a ServiceAccount by certificate, front-proxy", 'f', 's', H,
     "X-Remote-User: system:serviceaccount:n:a"},
    /* a request that would run as the account of the proxy */
    {"no user, front-proxy", 'f', 'e', H, "401 the client certificate names no user"},
    {"no user, impersonation", 'i', 'e', H, "401 the client certificate names no user"},
    {"no user, and a token", 'i', 'e', H "|" TOKEN, TOKEN},
    {"not verified, front-proxy", 'f', '!', H, "401 the client certificate cannot be verified"},
    {"not verified, impersonation", 'i', '!', H, "401 the client certificate cannot be verified"},
    {"not verified, and a token", 'f', '!', H "|" TOKEN, TOKEN},
    {"not verified, a token, X-Remote-User", 'f', '!', H "|" TOKEN "|X-Remote-User: admin", TOKEN},
    {"not verified, and a token that impersonates", 'f', '!', H "|" TOKEN "|Impersonate-User: bob",
     TOKEN "|Impersonate-User: bob"},
    {"Connection names what impersonates", 'i', 'u', H "|Connection: Impersonate-User",
     "400 its Connection header names a protected"},
    {"Connection names X-Remote-User", 'f', 'u', H "|Connection: close, x-remote-user",
     "400 its Connection header names a protected"},
    {"a user with a line feed", 'f', 'n', H, "401 the client certificate names a user that"},
    {"a user with a blank before", 'f', 'b', H, "401 the client certificate names a user that"},
    {"a user with a tab behind", 'i', 't', H, "401 the client certificate names a user that"},
    {"a group with a line feed", 'i', 'c', H, "401 the client certificate names a user that"},
    {"a uid with a line feed", 'i', 'i', H, "401 the client certificate names a user that"},
    {"an extra with a line feed", 'f', 'x', H, "401 the client certificate names a user that"},
    {"an extra without a key", 'f', 'k', H, "401 the client certificate names a user that"},
    /* spoofing: what clients may not say */
    {"X-Remote-User", 't', 0, H "|X-Remote-User: admin", ""},
    {"in any case", 't', 0, H "|x-rEMOTE-uSER: admin", ""},
    {"X-Remote-Uid, -Group, -Extra", 'f', 'u',
     H "|X-Remote-Uid: 1|X-Remote-Group: system:masters|X-Remote-Extra-a: b", JANE},
    {"configured names", 't', 0, H "|X-Auth-User: admin|X-AUTH-GROUP: g|X-Auth-Extra-a: b", ""},
    {"names of the API servers", 'f', 'u',
     H "|X-Custom-Group: system:masters|x-custom-UID: 1|X-Custom.scopes: a|X-Custom: b",
     "X-Custom: b|" JANE},
    {"names of the API servers beside a token", 'f', 0, H "|" TOKEN "|X-Custom-Group: g", TOKEN},
    {"Connection names one of them", 'f', 'u', H "|Connection: X-Custom-Group",
     "400 its Connection header names"},
    {"what imitates one of them", 'f', 'u', H "|X_Custom_Group: g",
     "400 a header imitates a protected"},
    {"names that are not known", 'n', 'u', H,
     "503 no client certificate is passed on before the ConfigMap "
     "kube-system/extension-apiserver-authentication has been read"},
    {"names that are not known, and a token", 'n', 0, H "|" TOKEN, TOKEN},
    {"API servers that take no user from us", 'o', 'u', H,
     "503 no client certificate is passed on, because the API servers do not take users from"},
    {"a name that only begins so", 't', 0, H "|X-Auth-Users: a", "X-Auth-Users: a"},
    {"underscores elsewhere", 't', 0, H "|My_Header: x", "My_Header: x"},
    {"the marker is not passed on", 't', 0, H "|x-kubernetes-peer-proxied: false", ""},
    {"forwarded", 't', 0,
     H "|Forwarded: for=1|X-Forwarded-For: 10.0.0.9|X-Forwarded-Host: x|X-Real-IP: 10.0.0.9", ""},
    /* hop-by-hop */
    {"of this connection", 't', 0,
     H "|Connection: keep-alive|Keep-Alive: 5|TE: trailers|Trailer: x|Proxy-Connection: close|"
       "Proxy-Authorization: Basic x|HTTP2-Settings: x",
     ""},
    {"named by Connection", 't', 0, H "|Connection: X-A , ,x-b|X-A: 1|X-B: 2|X-C: 3", "X-C: 3"},
    {"named before", 't', 0, H "|X-A: 1|Connection: x-a", ""},
    {"named by a second Connection", 't', 0, H "|Connection: close|Connection: X-A|X-A: 1", ""},
    {"Connection names a configured name", 'f', 'u', H "|Connection: X-Auth-User",
     "400 its Connection header names"},
    {"Connection names a look-alike", 'f', 'u', H "|Connection: X_Remote_User",
     "400 its Connection header names"},
    {"Connection is no list of names", 't', 0, H "|Connection: a b",
     "400 its Connection header is"},
    /* framing */
    {"a length", 't', 0, H "|Content-Length: 12", "Content-Length: 12"},
    {"the longest length", 't', 0, H "|Content-Length: 999999999999999999",
     "Content-Length: 999999999999999999"},
    {"no octets", 't', 0, H "|Content-Length: 0", "Content-Length: 0"},
    {"chunks", 't', 0, H "|Transfer-Encoding: Chunked", "Transfer-Encoding: chunked"},
    {"another coding", 't', 0, H "|Transfer-Encoding: gzip, chunked", "400 its Transfer-Encoding"},
    {"a coding in quotes", 't', 0, H "|Transfer-Encoding: \"chunked\"",
     "400 its Transfer-Encoding"},
    {"a vertical tab", 't', 0,
     H "|Transfer-Encoding: \x0b"
       "chunked",
     "400 a header has an invalid"},
    {"100-continue", 't', 0, H "|Content-Length: 1|Expect: 100-Continue", "Content-Length: 1"},
    {"another expectation", 't', 0, H "|Expect: 200-ok", "417 "},
    /* characters */
    {"a tab within a value", 't', 0, H "|X-A: a\tb", "X-A: a\tb"},
    /* Host */
    {"no Host", 't', 0, "X-A: 1", "400 it has no Host"},
    {"an empty Host", 't', 0, "Host:", "400 its Host is malformed"},
    {"a Host with a path", 't', 0, "Host: a/b", "400 its Host is malformed"},
    {"a Host with a user", 't', 0, "Host: admin@a", "400 its Host is malformed"},
    {"a list of Hosts", 't', 0, "Host: a, b", "400 its Host is malformed"},
    {"an address", 't', 0, "Host: [fd00::1]:6443", ""},
    /* upgrades */
    {"a WebSocket", 't', 0, H "|Connection: Upgrade|Upgrade: WebSocket|Sec-WebSocket-Key: k",
     "Sec-WebSocket-Key: k|Connection: Upgrade|Upgrade: websocket"},
    {"SPDY, and who it is", 'f', 'u',
     H "|Connection: keep-alive, upgrade|Upgrade: SPDY/3.1|X-Stream-Protocol-Version: v4",
     "X-Stream-Protocol-Version: v4|" JANE "|Connection: Upgrade|Upgrade: SPDY/3.1"},
    {"SPDY with an empty body", 't', 0,
     H "|Connection: Upgrade|Upgrade: SPDY/3.1|Content-Length: 0",
     "Content-Length: 0|Connection: Upgrade|Upgrade: SPDY/3.1"},
    {"h2c", 't', 0, H "|Connection: Upgrade, HTTP2-Settings|Upgrade: h2c|HTTP2-Settings: x", ""},
    {"another protocol", 't', 0, H "|Connection: Upgrade|Upgrade: TLS/1.0", ""},
    {"a list of protocols", 't', 0, H "|Connection: Upgrade|Upgrade: websocket, h2c", ""},
    {"Connection does not name it", 't', 0, H "|Upgrade: websocket", ""},
    {"nothing to upgrade to", 't', 0, H "|Connection: Upgrade", ""},
    {"an upgrade with a body", 't', 0,
     H "|Connection: Upgrade|Upgrade: websocket|Content-Length: 5", "400 an upgrade has no body"},
    {"an upgrade with chunks", 't', 0,
     H "|Connection: Upgrade|Upgrade: websocket|Transfer-Encoding: chunked",
     "400 an upgrade has no body"},
};

/* Header fields beside Host that are refused for the same reason. */
static const struct {
    const char *expected, *fields[8];
} refused[] = {
    {"400 a header imitates a protected header",
     {"X_Remote_User: admin", "X-Remote_User: admin", "X_Auth_User: admin", "Impersonate_User: x",
      "Content_Length: 5"}},
    {"400 its Connection header names a protected header",
     {"Connection: X-Kubernetes-Peer-Proxied", "Connection: Host", "Connection: Impersonate-Uid",
      "Connection: impersonate-extra-a", "Connection: authorization|" TOKEN,
      "Connection: content-length|Content-Length: 3"}},
    {"400 it has both Content-Length and Transfer-Encoding",
     {"Content-Length: 5|Transfer-Encoding: chunked",
      "Transfer-Encoding: chunked|Content-Length: 5"}},
    {"400 a header occurs twice that may occur once",
     {"Content-Length: 5|Content-Length: 6", "Content-Length: 5|content-length: 5",
      "Transfer-Encoding: chunked|Transfer-Encoding: identity", TOKEN "|" TOKEN, "Host: other"}},
    {"400 its Content-Length is malformed",
     {"Content-Length: 5, 5", "Content-Length: +5", "Content-Length: -1", "Content-Length: 0x5",
      "Content-Length:", "Content-Length: 1000000000000000000",
      "Content-Length: 18446744073709551617"}},
    {"400 a header has an invalid character",
     {"X-A: a\r\n b", "X-A: a\nX-Remote-User: admin", "X-A: a\x01", "X-A: a\x7f",
      "X-Remote-User : admin", ": x", "X-\xC3\xA4: x"}},
};

static void expect(const char *name, const char *text, const char *expected)
{
    static const char between[] = "the request is refused: ";
    EK_AUTOFREE char *reason = NULL;

    if (*expected >= '4' && *expected <= '5') {
        reason = ek_xasprintf("%.4s%s%s", expected, between, expected + 4);
        ck_assert_msg(!strncmp(text, reason, strlen(reason)), "%s: %s", name, text);
    } else {
        ck_assert_msg(!strcmp(text, expected), "%s: %s", name, text);
    }
}

START_TEST(headers)
{
    struct ek_identity_result ret;
    EK_AUTOFREE char *text = forward(rows[_i].mode, rows[_i].user, 11, rows[_i].fields, &ret);

    expect(rows[_i].name, text, rows[_i].expected);
    /* Our credentials go with a certificate that is passed on, and with nothing else. */
    bool named = rows[_i].user && !strchr("e!", rows[_i].user);
    if (!ret.refusal.code)
        ck_assert_msg(ret.ours == (named && rows[_i].mode != 't'), "%s", rows[_i].name);
    else
        ck_assert(!ret.ours || ret.refusal.code);
}
END_TEST

START_TEST(refusals)
{
    for (size_t i = 0; refused[_i].fields[i]; i++) {
        struct ek_identity_result ret;
        EK_AUTOFREE char *fields = ek_xasprintf(H "|%s", refused[_i].fields[i]);
        EK_AUTOFREE char *text = forward('t', 0, 11, fields, &ret);
        expect(fields, text, refused[_i].expected);
        EK_AUTOFREE char *front_proxy = forward('f', 'u', 11, fields, &ret);
        expect(fields, front_proxy, refused[_i].expected);
        EK_AUTOFREE char *impersonated = forward('i', 'u', 11, fields, &ret);
        expect(fields, impersonated, refused[_i].expected);
    }
}
END_TEST

/* ---- Other versions ---- */

static const struct {
    const char *name;
    int version;
    const char *authority;
    bool ended;
    const char *fields, *expected;
    enum ek_identity_body body;
} versions[] = {
    {"HTTP/1.0", 10, "", false, "X-A: 1", "", EK_IDENTITY_NO_BODY},
    {"HTTP/1.0 with chunks", 10, "", false, "Transfer-Encoding: chunked", "400 Transfer-Encoding",
     0},
    {"HTTP/1.0 does not upgrade", 10, "", false, "Connection: Upgrade|Upgrade: websocket", "",
     EK_IDENTITY_NO_BODY},
    {"HTTP/1.1, which has no end of a header", 11, "", true, "Host: a|Content-Length: 3", "",
     EK_IDENTITY_LENGTH},
    {"HTTP/2", 20, "api", true, "x-a: 1", "", EK_IDENTITY_NO_BODY},
    {"HTTP/2 with a body", 20, "api", false, "x-a: 1", "", EK_IDENTITY_CHUNKED},
    {"HTTP/2 with a length", 20, "api", false, "content-length: 3", "", EK_IDENTITY_LENGTH},
    {"HTTP/2 that ends before its length", 20, "api", true, "content-length: 3",
     "400 its Content-Length and its end", 0},
    {"HTTP/2 without authority", 20, "", true, "x-a: 1", "400 it has no authority", 0},
    {"HTTP/2 with a Host", 20, "", true, "host: api", "", EK_IDENTITY_NO_BODY},
    {"HTTP/2 with an equal Host", 20, "API:443", true, "host: api:443", "", EK_IDENTITY_NO_BODY},
    {"HTTP/2 with another Host", 20, "api", true, "host: other", "400 its Host and its authority",
     0},
    {"HTTP/2 with a bad authority", 20, "a@b", true, "x-a: 1", "400 its Host is malformed", 0},
    {"HTTP/2 with chunks", 20, "api", false, "transfer-encoding: chunked", "400 Transfer-Encoding",
     0},
    {"HTTP/2 with Connection", 20, "api", true, "connection: x-a", "400 it has headers of", 0},
    {"HTTP/2 with Upgrade", 20, "api", true, "upgrade: websocket", "400 it has headers of", 0},
};

START_TEST(version)
{
    static const struct ek_identity_policy policy = {0};
    EK_AUTOFREE char *copy = ek_xstrdup(versions[_i].fields);
    struct ek_identity_pair pairs[FIELDS_MAX];
    struct ek_identity_result ret;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    const struct ek_identity_request request = {.version = versions[_i].version,
                                                .method = "POST",
                                                .authority = versions[_i].authority,
                                                .ended = versions[_i].ended,
                                                .headers = pairs,
                                                .n_headers = split(copy, pairs),
                                                .host = "h",
                                                .remote_ip = ""};
    ck_assert_int_eq(ek_identity_forward(&policy, &request, &ret, &out), 0);
    EK_AUTOFREE char *text = ret.refusal.code
                                 ? ek_xasprintf("%d %s", ret.refusal.code, ret.refusal.message)
                                 : ek_xstrdup("");
    expect(versions[_i].name, text, versions[_i].expected);
    ck_assert(ret.refusal.code || ret.body == versions[_i].body);
    ck_assert_ptr_null(ret.upgrade);
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "X-Forwarded-For"));
}
END_TEST

START_TEST(result)
{
    struct ek_identity_result ret;

    ek_free(forward('t', 0, 11, H "|X-Kubernetes-Peer-Proxied: true", &ret));
    ck_assert(ret.marked && !ret.refusal.code);
    ek_free(forward('t', 0, 11, H "|X-Kubernetes-Peer-Proxied: false", &ret));
    ck_assert(!ret.marked);
    ek_free(forward('t', 0, 11, H "|Expect: 100-continue|Content-Length: 4", &ret));
    ck_assert(ret.expects_continue);
    ck_assert_uint_eq(ret.length, 4);
    ek_free(forward('t', 0, 11, H "|Expect: 100-continue", &ret));
    ck_assert(!ret.expects_continue);
    ek_free(forward('t', 0, 11, H "|Connection: Upgrade|Upgrade: spdy/3.1", &ret));
    ck_assert_str_eq(ret.upgrade, "SPDY/3.1");
}
END_TEST

/* Names that are more or longer than what is looked at would let one through. */
START_TEST(long_names)
{
    struct ek_identity_result ret;
    EK_AUTO(ek_buf) fields;

    ek_buf_init(&fields, 4096);
    ek_buf_puts(&fields, H "|Connection: a");
    for (int i = 0; i < 40; i++)
        ek_buf_puts(&fields, ",a");
    EK_AUTOFREE char *text = forward('t', 0, 11, ek_buf_str(&fields), &ret);
    expect("many", text, "400 its Connection header is too long");
    ek_buf_reset(&fields);
    ek_buf_puts(&fields, H "|Connection: ");
    for (int i = 0; i < 300; i++)
        ek_buf_puts(&fields, "a");
    EK_AUTOFREE char *other = forward('t', 0, 11, ek_buf_str(&fields), &ret);
    expect("long", other, "400 its Connection header is too long");
    ek_buf_reset(&fields);
    ek_buf_puts(&fields, H "|A_");
    for (int i = 0; i < 300; i++)
        ek_buf_puts(&fields, "a");
    ek_buf_puts(&fields, ": 1");
    EK_AUTOFREE char *name = forward('t', 0, 11, ek_buf_str(&fields), &ret);
    expect("a long name", name, "400 a header imitates a protected header");
}
END_TEST

START_TEST(full)
{
    static const struct ek_identity_policy policy = {0};
    const struct ek_identity_pair pair = {"Host", "a"};
    const struct ek_identity_request request = {.version = 11,
                                                .method = "GET",
                                                .authority = "",
                                                .headers = &pair,
                                                .n_headers = 1,
                                                .host = "h",
                                                .remote_ip = ""};
    struct ek_identity_result ret;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 20);
    ck_assert_int_ne(ek_identity_forward(&policy, &request, &ret, &out), 0);
}
END_TEST

/* ---- Answers ---- */

static const struct {
    const char *name, *connection;
    bool upgraded, dropped;
} answers[] = {
    {"Content-Type", NULL, false, false},
    {"connection", "close", false, true},
    {"Connection", "Upgrade", true, false},
    {"Upgrade", "Upgrade", true, false},
    {"Upgrade", NULL, false, true},
    {"Keep-Alive", NULL, false, true},
    {"Transfer-Encoding", NULL, false, true},
    {"Trailer", NULL, false, true},
    {"TE", NULL, false, true},
    {"Proxy-Authenticate", NULL, false, true},
    {"X-A", "close, x-a", false, true},
    {"X-A", "close, x-ab", false, false},
    {"Audit-Id", NULL, false, false},
    {"Warning", "close", false, false},
    {"Retry-After", "", false, false},
    {"Content-Length", NULL, false, false},
};

START_TEST(answer)
{
    ck_assert_msg(ek_identity_drops_from_answer(answers[_i].name, answers[_i].connection,
                                                answers[_i].upgraded) == answers[_i].dropped,
                  "%s", answers[_i].name);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("identity");

    tcase_add_loop_test(tcase, headers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, refusals, 0, EK_ARRAY_SIZE(refused));
    tcase_add_loop_test(tcase, version, 0, EK_ARRAY_SIZE(versions));
    tcase_add_test(tcase, result);
    tcase_add_test(tcase, long_names);
    tcase_add_test(tcase, full);
    tcase_add_loop_test(tcase, answer, 0, EK_ARRAY_SIZE(answers));
    return ek_test_run("proxy_identity", tcase);
}
