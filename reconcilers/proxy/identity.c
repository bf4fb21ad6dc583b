/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/identity.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "api/base/ascii.h"
#include "reconcilers/proxy/fields.h"

/* A token in a WebSocket's list of protocols (apiserver 1.36,
 * pkg/authentication/request/websocket/protocol.go:bearerProtocolPrefix). */
#define SOCKET_TOKEN "base64url.bearer.authorization.k8s.io."

/* Names in "Connection" that are looked at; a request with more is refused. */
#define NAMED_MAX 32

/* What is known of the request while its header is read. */
struct look {
    const struct ek_identity_policy *policy;
    const struct ek_identity_request *request;
    struct ek_identity_result *ret;
    struct ek_str named[NAMED_MAX]; /* dropped, because "Connection" names them */
    size_t n_named;
    bool named_upgrade;
    const char *host, *length, *coding, *upgrade, *expect, *authorization;
    bool impersonates;
};

static bool refuse(struct look *look, int code, const char *why)
{
    ek_proxy_answer_set(&look->ret->refusal, code, 0, "the request is refused: %s", why);
    return false;
}

/* ---- Reading ---- */

/* "X_Remote_User": some servers take "_" for "-". */
static bool is_look_alike(const struct look *look, const char *name)
{
    char dashed[256];
    size_t len = strlen(name);

    if (!strchr(name, '_'))
        return false;
    if (len >= sizeof dashed)
        return true;
    for (size_t i = 0; i <= len; i++)
        dashed[i] = (char)(name[i] == '_' ? '-' : name[i]);
    return ek_field_is_protected(ek_field_class_of(look->policy, dashed));
}

static bool read_connection(struct look *look, const char *value)
{
    struct ek_str list = ek_str_from(value), item;
    char name[256];

    while (ek_field_next(&list, &item)) {
        if (item.len >= sizeof name || look->n_named == NAMED_MAX)
            return refuse(look, 400, "its Connection header is too long");
        memcpy(name, item.p, item.len);
        name[item.len] = '\0';
        if (!ek_field_name_is_good(name))
            return refuse(look, 400, "its Connection header is malformed");
        if (ek_field_is_protected(ek_field_class_of(look->policy, name)) ||
            is_look_alike(look, name))
            return refuse(look, 400, "its Connection header names a protected header");
        look->named_upgrade = look->named_upgrade || !strcasecmp(name, "upgrade");
        look->named[look->n_named++] = item;
    }
    return true;
}

/* Keeps the value of a header that may occur once. */
static bool keep(struct look *look, const char **slot, const char *value)
{
    if (*slot)
        return refuse(look, 400, "a header occurs twice that may occur once");
    *slot = value;
    return true;
}

static bool read_field(struct look *look, const struct ek_identity_pair *field)
{
    enum ek_field_class class = ek_field_class_of(look->policy, field->name);

    if (!ek_field_name_is_good(field->name) || !ek_field_value_is_good(field->value))
        return refuse(look, 400, "a header has an invalid character");
    if (is_look_alike(look, field->name))
        return refuse(look, 400, "a header imitates a protected header");
    switch (class) {
    case EK_FIELD_HOST:
        return keep(look, &look->host, field->value);
    case EK_FIELD_LENGTH:
        return keep(look, &look->length, field->value);
    case EK_FIELD_CODING:
        return keep(look, &look->coding, field->value);
    case EK_FIELD_UPGRADE:
        return keep(look, &look->upgrade, field->value);
    case EK_FIELD_EXPECT:
        return keep(look, &look->expect, field->value);
    case EK_FIELD_AUTHORIZATION:
        return keep(look, &look->authorization, field->value);
    case EK_FIELD_CONNECTION:
        return read_connection(look, field->value);
    case EK_FIELD_IMPERSONATE:
        look->impersonates = true;
        return true;
    case EK_FIELD_MARKER:
        look->ret->marked = look->ret->marked || !strcmp(field->value, "true");
        return true;
    default:
        return true;
    }
}

/* ---- Judging ---- */

static bool is_host(const char *s)
{
    for (const char *c = s; *c; c++)
        if (!ek_is_digit(*c) && !(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
            !strchr(".-_:[]", *c))
            return false;
    return *s != '\0';
}

static bool judge_host(struct look *look)
{
    const char *authority = look->request->authority;

    if (look->request->version == 11 && !look->host)
        return refuse(look, 400, "it has no Host");
    if (look->request->version == 20 && !look->host && !*authority)
        return refuse(look, 400, "it has no authority");
    if ((look->host && !is_host(look->host)) || (*authority && !is_host(authority)))
        return refuse(look, 400, "its Host is malformed");
    if (look->host && *authority && strcasecmp(look->host, authority) != 0)
        return refuse(look, 400, "its Host and its authority differ");
    return true;
}

/* Digits alone, at most 18 of them. */
static bool read_length(const char *s, uint64_t *ret)
{
    size_t n = 0;

    *ret = 0;
    for (; ek_is_digit(s[n]) && n < 18; n++)
        *ret = *ret * 10 + (uint64_t)(s[n] - '0');
    return n > 0 && !s[n];
}

static bool judge_body(struct look *look)
{
    struct ek_identity_result *ret = look->ret;
    bool h2 = look->request->version == 20;

    if (look->coding && look->length)
        return refuse(look, 400, "it has both Content-Length and Transfer-Encoding");
    if (look->coding && look->request->version != 11)
        return refuse(look, 400, "Transfer-Encoding belongs to HTTP/1.1");
    if (look->coding && strcasecmp(look->coding, "chunked") != 0)
        return refuse(look, 400, "its Transfer-Encoding is not chunked");
    if (look->length && !read_length(look->length, &ret->length))
        return refuse(look, 400, "its Content-Length is malformed");
    if (h2 && look->request->ended && ret->length > 0)
        return refuse(look, 400, "its Content-Length and its end differ");
    ret->body = look->length                                    ? EK_IDENTITY_LENGTH
                : look->coding || (h2 && !look->request->ended) ? EK_IDENTITY_CHUNKED
                                                                : EK_IDENTITY_NO_BODY;
    if (look->expect && strcasecmp(look->expect, "100-continue") != 0)
        return refuse(look, 417, "its Expect is not 100-continue");
    ret->expects_continue = look->expect && ret->body != EK_IDENTITY_NO_BODY;
    return true;
}

/* Other protocols are not offered: their Upgrade is dropped, which RFC 9110, 7.8 allows. */
static bool judge_upgrade(struct look *look)
{
    static const char *const protocols[] = {"SPDY/3.1", "websocket"};
    struct ek_identity_result *ret = look->ret;

    if (look->request->version == 20 && (look->upgrade || look->n_named))
        return refuse(look, 400, "it has headers of an HTTP/1.1 connection");
    if (look->request->version != 11 || !look->upgrade || !look->named_upgrade)
        return true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(protocols); i++)
        if (!strcasecmp(look->upgrade, protocols[i]))
            ret->upgrade = protocols[i];
    if (ret->upgrade && (ret->body == EK_IDENTITY_CHUNKED || ret->length > 0))
        return refuse(look, 400, "an upgrade has no body");
    return true;
}

/* Text that arrives at the API server as it is: a header's value loses blanks at both ends. */
static bool is_exact(const char *s)
{
    size_t len = strlen(s);

    return ek_field_value_is_good(s) && !strchr(s, '\t') &&
           (len == 0 || (s[0] != ' ' && s[len - 1] != ' '));
}

static bool user_is_exact(const struct ek_identity_user *user)
{
    bool exact = is_exact(user->name) && is_exact(user->uid);

    for (size_t i = 0; i < user->n_groups; i++)
        exact = exact && is_exact(user->groups[i]);
    for (size_t i = 0; i < user->n_extra; i++)
        exact = exact && *user->extra[i].name && is_exact(user->extra[i].value);
    return exact;
}

/* An API server gives an impersonated user other groups than that of a certificate in these cases
 * (apiserver 1.36, pkg/endpoints/filters/impersonation/impersonation.go:WithImpersonation; all
 * other users are in system:authenticated both ways). */
static bool impersonation_changes(const struct ek_identity_user *user)
{
    bool changes = !strncmp(user->name, "system:serviceaccount:", 22) ||
                   !strcmp(user->name, "system:anonymous");

    for (size_t i = 0; i < user->n_groups; i++)
        changes = changes || !strcmp(user->groups[i], "system:unauthenticated");
    return changes;
}

/* The API server would judge the permissions of the proxy instead of the client's. */
static bool judge_impersonation(struct look *look)
{
    if (look->impersonates)
        return refuse(look, 403,
                      "a client with a certificate cannot impersonate: the proxy itself does");
    if (impersonation_changes(look->request->user))
        return refuse(look, 403, "impersonation would change the user of the client certificate");
    return true;
}

static bool refuse_for_now(struct look *look, const char *why)
{
    ek_proxy_answer_set(&look->ret->refusal, 503, 1, "the request is refused: %s", why);
    return false;
}

/* A client could send what an API server takes for its groups, or a request would run as the owner
 * of the front-proxy certificate. */
static bool judge_names(struct look *look)
{
    const struct ek_identity_names *servers = look->policy->servers;

    if (!servers)
        return refuse_for_now(look, "no client certificate is passed on before the ConfigMap "
                                    "kube-system/" EK_IDENTITY_CONFIG_MAP " has been read");
    if (!servers->takes_user)
        return refuse_for_now(look, "no client certificate is passed on, because the API servers "
                                    "do not take users from X-Remote-User "
                                    "(--requestheader-username-headers)");
    return true;
}

static bool judge_user(struct look *look)
{
    const struct ek_identity_user *user = look->request->user;

    /* As in an API server, a token counts beside a certificate that names nobody; without a token
     * the client is not anonymous either, but unauthorized (apiserver 1.36,
     * pkg/authentication/request/union/union.go:unionAuthRequestHandler.AuthenticateRequest). */
    if (look->request->unverified && !look->authorization)
        return refuse(look, 401, "the client certificate cannot be verified, or is not valid now");
    if (!user || (!*user->name && look->authorization))
        return true;
    if (look->policy->mode == EK_IDENTITY_TOKENS) {
        if (!look->authorization)
            return refuse(look, 401, "client certificates are not passed on; use a token");
        return true;
    }
    /* With our credentials and without a user the API server would see our account. */
    if (!*user->name)
        return refuse(look, 401, "the client certificate names no user");
    if (!user_is_exact(user))
        return refuse(look, 401, "the client certificate names a user that no header can carry");
    if (look->policy->mode == EK_IDENTITY_IMPERSONATE && !judge_impersonation(look))
        return false;
    if (look->policy->mode == EK_IDENTITY_FRONT_PROXY && !judge_names(look))
        return false;
    look->ret->ours = true;
    return true;
}

/* ---- Writing ---- */

static bool is_named(const struct look *look, const char *name)
{
    for (size_t i = 0; i < look->n_named; i++)
        if (strlen(name) == look->named[i].len &&
            !strncasecmp(name, look->named[i].p, look->named[i].len))
            return true;
    return false;
}

/* The protocols of a WebSocket without the tokens among them: ours is the identity. */
static void put_protocols(const char *value, struct ek_buf *out)
{
    struct ek_str list = ek_str_from(value), item;
    bool any = false;

    while (ek_field_next(&list, &item)) {
        if (item.len >= sizeof SOCKET_TOKEN - 1 &&
            !memcmp(item.p, SOCKET_TOKEN, sizeof SOCKET_TOKEN - 1))
            continue;
        ek_buf_puts(out, any ? ", " : "Sec-WebSocket-Protocol: ");
        ek_buf_append(out, item.p, item.len);
        any = true;
    }
    if (any)
        ek_buf_puts(out, "\r\n");
}

static bool passes(const struct look *look, enum ek_field_class class)
{
    switch (class) {
    case EK_FIELD_PLAIN:
    case EK_FIELD_IMPERSONATE: /* the API server decides; refused where the proxy impersonates */
    case EK_FIELD_SOCKET_PROTOCOL:
        return true;
    case EK_FIELD_AUTHORIZATION:
        return !look->ret->ours;
    default:
        return false;
    }
}

static void put_field(const char *name, const char *value, struct ek_buf *out)
{
    ek_buf_puts(out, name);
    ek_buf_puts(out, ": ");
    ek_buf_puts(out, value);
    ek_buf_puts(out, "\r\n");
}

static void put_fields(const struct look *look, struct ek_buf *out)
{
    for (size_t i = 0; i < look->request->n_headers; i++) {
        const struct ek_identity_pair *f = &look->request->headers[i];
        enum ek_field_class class = ek_field_class_of(look->policy, f->name);
        if (!passes(look, class) || is_named(look, f->name))
            continue;
        if (class == EK_FIELD_SOCKET_PROTOCOL && look->ret->ours)
            put_protocols(f->value, out);
        else
            put_field(f->name, f->value, out);
    }
}

/* client-go, round_trippers.go:headerKeyEscape */
static void put_key(const char *key, struct ek_buf *out)
{
    for (; *key; key++) {
        if (*key != '%' && ek_field_name_is_good((const char[]){*key, '\0'}))
            ek_buf_append(out, key, 1);
        else
            ek_buf_printf(out, "%%%02X", (unsigned char)*key);
    }
}

static void put_user(const struct look *look, struct ek_buf *out)
{
    const struct ek_identity_user *user = look->request->user;
    const char *prefix =
        look->policy->mode == EK_IDENTITY_FRONT_PROXY ? "X-Remote-" : "Impersonate-";

    ek_buf_printf(out, "%sUser: %s\r\n", prefix, user->name);
    if (*user->uid)
        ek_buf_printf(out, "%sUid: %s\r\n", prefix, user->uid);
    for (size_t i = 0; i < user->n_groups; i++)
        if (*user->groups[i])
            ek_buf_printf(out, "%sGroup: %s\r\n", prefix, user->groups[i]);
    for (size_t i = 0; i < user->n_extra; i++) {
        ek_buf_printf(out, "%sExtra-", prefix);
        put_key(user->extra[i].name, out);
        ek_buf_printf(out, ": %s\r\n", user->extra[i].value);
    }
}

static void put_framing(const struct ek_identity_result *ret, struct ek_buf *out)
{
    if (ret->body == EK_IDENTITY_LENGTH)
        ek_buf_printf(out, "Content-Length: %" PRIu64 "\r\n", ret->length);
    else if (ret->body == EK_IDENTITY_CHUNKED)
        ek_buf_puts(out, "Transfer-Encoding: chunked\r\n");
    if (ret->upgrade)
        ek_buf_printf(out, "Connection: Upgrade\r\nUpgrade: %s\r\n", ret->upgrade);
}

int ek_identity_forward(const struct ek_identity_policy *policy,
                        const struct ek_identity_request *request, struct ek_identity_result *ret,
                        struct ek_buf *out)
{
    struct look look = {.policy = policy, .request = request, .ret = ret};

    *ret = (struct ek_identity_result){0};
    for (size_t i = 0; i < request->n_headers; i++)
        if (!read_field(&look, &request->headers[i]))
            return 0;
    if (!judge_host(&look) || !judge_body(&look) || !judge_upgrade(&look) || !judge_user(&look))
        return 0;
    ek_buf_printf(out, "Host: %s\r\n", request->host);
    put_fields(&look, out);
    if (*request->remote_ip)
        ek_buf_printf(out, "X-Forwarded-For: %s\r\n", request->remote_ip);
    if (ret->ours)
        put_user(&look, out);
    ek_buf_puts(out, EK_IDENTITY_MARKER ": true\r\n");
    put_framing(ret, out);
    return out->failed;
}

bool ek_identity_drops_from_answer(const char *name, const char *connection, bool upgraded)
{
    static const struct ek_identity_policy none = {0};
    enum ek_field_class class = ek_field_class_of(&none, name);
    struct ek_str list = ek_str_from(connection), item;

    if (class == EK_FIELD_CONNECTION || class == EK_FIELD_UPGRADE)
        return !upgraded;
    if (class == EK_FIELD_HOP || class == EK_FIELD_CODING)
        return true;
    while (ek_field_next(&list, &item))
        if (strlen(name) == item.len && !strncasecmp(name, item.p, item.len))
            return true;
    return false;
}
