/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt of a call: its libcurl transfer, and what the transfer brings. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "informers/client/client-internal.h"

/* A dead peer is noticed within this time, whether we wait for it or send to it. libcurl's HTTP/2
 * pings are no help: it does not miss the answers. */
#define DEAD_PEER_MS 30000

static size_t body_max(const struct ek_call *call)
{
    return call->request.max_body ? call->request.max_body : EK_CLIENT_BODY_MAX;
}

void call_answer_reset__(struct ek_call *call)
{
    struct call_answer *answer = &call->answer;

    ek_buf_done(&answer->body);
    ek_free(answer->content_type);
    ek_free(answer->etag);
    ek_free(answer->warning);
    ek_free(answer->location);
    cert_info_free__(answer->cert);
    tls_note_unref__(answer->note);
    *answer = (struct call_answer){.retry_after_ms = -1};
    ek_buf_init(&answer->body, body_max(call));
}

void call_attempt_done__(struct ek_call *call)
{
    if (call->easy)
        curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_list);
    ek_auth_unref(call->auth);
    call->easy = NULL;
    call->headers = call->connect_list = NULL;
    call->auth = NULL;
    call->http = NULL;
}

/* The request's strings are const to callers, but ours. */
static void drop(const char *s)
{
    ek_free((void *)(uintptr_t)s);
}

void call_free__(struct ek_call *call)
{
    struct ek_request *request = &call->request;

    call_attempt_done__(call);
    call_answer_reset__(call);
    drop(request->method);
    drop(request->path);
    drop(request->accept);
    drop(request->content_type);
    drop(request->body);
    drop(request->if_none_match);
    drop(request->connect_to);
    drop(request->tls_name);
    drop(request->own_name);
    ek_secret_free((char *)(uintptr_t)request->bearer);
    drop(request->user_agent_suffix);
    ek_free(call->host);
    ek_free(call);
}

/* True for what may stand in a header's value. */
static bool is_header_text(const char *s)
{
    for (; s && *s; s++)
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

static bool is_path(const char *s)
{
    if (!s || *s != '/')
        return false;
    for (; *s; s++)
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f || *s == '#')
            return false;
    return true;
}

static bool is_token(const char *s)
{
    size_t len = s ? strlen(s) : 0;
    return len && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == len;
}

/* A host name, or an IP without brackets. */
static bool is_tls_name(const char *s)
{
    char address[16];
    size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_");

    return (len && !s[len]) || inet_pton(AF_INET6, s, address) == 1;
}

int call_check__(const struct ek_request *request, struct ek_err *err)
{
    char *host = NULL, *port = NULL;
    int rc = 0;

    if (!is_path(request->path))
        return ek_err_set(err, EK_E_INVAL, "the request's path is not an encoded absolute path");
    if (request->method && !is_token(request->method))
        return ek_err_set(err, EK_E_INVAL, "the request's method is not a method");
    if (!is_header_text(request->accept) || !is_header_text(request->content_type) ||
        !is_header_text(request->if_none_match) || !is_header_text(request->bearer) ||
        !is_header_text(request->user_agent_suffix))
        return ek_err_set(err, EK_E_INVAL, "a header of the request holds control characters");
    if (request->connect_to) {
        rc = host_port_split__(request->connect_to, &host, &port, err);
        if (!rc && request->tls_name && !is_tls_name(request->tls_name))
            rc = ek_err_set(err, EK_E_INVAL,
                            "the TLS name \"%.100s\" is neither a host name nor an IP",
                            request->tls_name);
    }
    ek_free(host);
    ek_free(port);
    return rc;
}

/* Keeps a header's value, bounded and without its surrounding blanks. */
static void keep(char **slot, const char *value, size_t len)
{
    if (*slot)
        return;
    *slot = ek_xstrndup(value, len < EK_CLIENT_HEADER_MAX ? len : EK_CLIENT_HEADER_MAX);
}

/* Retry-After in seconds; the form with a date is left alone, as client-go does. */
static int64_t parse_seconds(const char *value, size_t len)
{
    int64_t seconds = 0;

    if (!len || len > 9)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return -1;
        seconds = seconds * 10 + (value[i] - '0');
    }
    return seconds * 1000;
}

/* The text of a Warning header, 299 - "text", without its quotes (RFC 7234, section 5.5). */
static char *warning_text(const char *value, size_t len)
{
    const char *p = memchr(value, '"', len), *end = value + len;
    char *text = ek_xstrndup(value, len < EK_CLIENT_HEADER_MAX ? len : EK_CLIENT_HEADER_MAX);
    char *out = text;

    if (!p)
        return text;
    for (p++; p < end && *p != '"' && out < text + EK_CLIENT_HEADER_MAX - 1; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        *out++ = *p;
    }
    *out = '\0';
    return text;
}

static void read_header(struct call_answer *answer, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : 0;

    if (!colon)
        return;
    const char *value = colon + 1, *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (unsigned char)end[-1] <= ' ')
        end--;
    size_t value_len = (size_t)(end - value);
    if (name_len == 12 && !strncasecmp(line, "content-type", 12))
        keep(&answer->content_type, value, value_len);
    else if (name_len == 4 && !strncasecmp(line, "etag", 4))
        keep(&answer->etag, value, value_len);
    else if (name_len == 8 && !strncasecmp(line, "location", 8))
        keep(&answer->location, value, value_len);
    else if (name_len == 11 && !strncasecmp(line, "retry-after", 11))
        answer->retry_after_ms = parse_seconds(value, value_len);
    else if (name_len == 7 && !strncasecmp(line, "warning", 7) && !answer->warning)
        answer->warning = warning_text(value, value_len);
}

/* The certificate of the connection that this answer comes over, new or reused. */
static void note_cert(struct ek_call *call)
{
    struct curl_tlssessioninfo *info = NULL;
    X509 *cert;

    if (call->answer.cert || curl_easy_getinfo(call->easy, CURLINFO_TLS_SSL_PTR, &info) || !info ||
        info->backend != CURLSSLBACKEND_OPENSSL || !info->internals)
        return;
    cert = SSL_get0_peer_certificate(info->internals);
    if (!cert)
        return;
    call->answer.cert = cert_info_new__(cert);
    call->answer.cert->shown.verified = !call->client->config->insecure_skip_tls_verify;
}

static void forget_headers(struct call_answer *answer)
{
    char **const slots[] = {&answer->content_type, &answer->etag, &answer->warning,
                            &answer->location};

    for (size_t i = 0; i < EK_ARRAY_SIZE(slots); i++) {
        ek_free(*slots[i]);
        *slots[i] = NULL;
    }
    answer->retry_after_ms = -1;
}

/* The three digits of a status line. */
static int parse_status(const char *p, const char *end)
{
    int status = 0;

    for (; p < end && *p >= '0' && *p <= '9' && status < 100; p++)
        status = status * 10 + (*p - '0');
    return status;
}

size_t call_on_header__(char *line, size_t size, size_t n, void *ctx)
{
    struct ek_call *call = ctx;
    size_t len = size * n;

    if (len > 5 && !strncmp(line, "HTTP/", 5)) {
        const char *blank = memchr(line, ' ', len);
        forget_headers(&call->answer); /* those of an interim answer do not count */
        call->answer.status = blank ? parse_status(blank + 1, line + len) : 0;
        note_cert(call);
        call->answer.body.max =
            call->answer.status / 100 == 2 ? body_max(call) : EK_CLIENT_ERROR_BODY_MAX;
    } else {
        read_header(&call->answer, line, len);
    }
    return len;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct ek_call *call = ctx;
    struct ek_client *client = call->client;
    size_t len = size * n;
    bool streamed = call->request.on_data && call->answer.status / 100 == 2;

    if (call->list == &client->doomed || client->closing)
        return 0;
    call->answer.got_body = call->answer.got_body || len;
    if (streamed) {
        client->n_inside++;
        call->answer.stream_rc = call->request.on_data(call->ctx, data, len);
        client->n_inside--;
        /* on_data may have cancelled this very call; it stays allocated while inside. */
        return call->answer.stream_rc || call->list == &client->doomed ? 0 : len;
    }
    if (!ek_buf_append(&call->answer.body, data, len))
        return len;
    call->answer.too_large = true;
    return 0;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    unsigned timeout = DEAD_PEER_MS;

    (void)ctx;
    (void)purpose;
    /* Bounds how long sent bytes and keepalive probes may go unanswered; best effort. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    return CURL_SOCKOPT_OK;
}

static void add_header(struct ek_call *call, const char *name, const char *value)
{
    if (!value)
        return;
    EK_AUTOFREE char *line = ek_xasprintf("%s: %s", name, value);
    struct curl_slist *list = curl_slist_append(call->headers, line);
    explicit_bzero(line, strlen(line));
    if (!list)
        abort();
    call->headers = list;
}

static void add_bearer(struct ek_call *call, const char *token)
{
    char *value = ek_xasprintf("Bearer %s", token);

    add_header(call, "Authorization", value);
    ek_secret_free(value);
}

/* The client's identity, for the configured server and for API servers. */
static void add_credentials(struct ek_call *call)
{
    const struct ek_client_config *config = call->client->config;

    add_header(call, "Authorization", call->auth->authorization);
    add_header(call, "Impersonate-User", config->as_user);
    add_header(call, "Impersonate-Uid", config->as_uid);
    for (size_t i = 0; i < config->as_groups.n; i++)
        add_header(call, "Impersonate-Group", config->as_groups.items[i]);
    for (size_t i = 0; i < config->as_extra.n; i++) {
        EK_AUTO(ek_buf) name;
        ek_buf_init(&name, 4096);
        ek_buf_puts(&name, "Impersonate-Extra-");
        ek_uri_escape(&name, config->as_extra.items[i].name);
        add_header(call, ek_buf_str(&name), config->as_extra.items[i].value);
    }
}

static void set_headers(struct ek_call *call)
{
    const struct ek_request *request = &call->request;

    add_header(call, "Accept", request->accept ? request->accept : "application/json");
    add_header(call, "Content-Type", request->content_type);
    add_header(call, "If-None-Match", request->if_none_match);
    if (request->bearer)
        add_bearer(call, request->bearer);
    else if (call_shows_credentials__(call))
        add_credentials(call);
    call->headers = curl_slist_append(call->headers, "Expect:"); /* no waiting for 100 Continue */
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_body(struct ek_call *call)
{
    const struct ek_request *request = &call->request;
    const char *method = request->method;

    if (request->body || !strcmp(method, "POST") || !strcmp(method, "PUT") ||
        !strcmp(method, "PATCH")) {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    }
    if (!strcmp(method, "HEAD"))
        curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
    struct curl_blob blob = {(void *)(uintptr_t)text, text ? strlen(text) : 0, CURL_BLOB_COPY};

    if (text)
        curl_easy_setopt(easy, option, &blob);
}

static void set_tls(struct ek_call *call)
{
    CURL *easy = call->easy;
    long verify = call->client->config->insecure_skip_tls_verify ? 0 : 1;

    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify * 2);
    /* A resumed session would show the certificate of an earlier handshake. */
    curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (call->auth->ca) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        set_blob(easy, CURLOPT_CAINFO_BLOB, call->auth->ca);
    }
    if (call->auth->cert && call_shows_credentials__(call)) {
        set_blob(easy, CURLOPT_SSLCERT_BLOB, call->auth->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, call->auth->key);
        curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
        curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    }
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, cert_on_ssl_ctx__);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, call);
}

/* One process of the cluster is reached directly, whatever the environment says, or by the egress
 * proxy, whose CONNECT carries no header of the request. */
static void set_egress(struct ek_call *call)
{
    const char *egress = call->client->egress;

    curl_easy_setopt(call->easy, CURLOPT_PROXY, egress ? egress : "");
    curl_easy_setopt(call->easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(call->easy, CURLOPT_HTTPPROXYTUNNEL, egress ? 1L : 0L);
    curl_easy_setopt(call->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
}

/* Sets the URL, and CURLOPT_CONNECT_TO if the connection goes to another address than that of the
 * URL. */
static int set_address(struct ek_call *call, struct ek_err *err)
{
    const struct ek_request *request = &call->request;
    const struct ek_client_config *config = call->client->config;
    const struct server_address *server = &call->client->server;
    EK_AUTOFREE char *url = NULL;
    EK_AUTOFREE char *to = NULL;
    EK_AUTOFREE char *host = NULL;
    EK_AUTOFREE char *port = NULL;

    if (request->connect_to) {
        int rc = host_port_split__(request->connect_to, &host, &port, err);
        if (rc)
            return rc;
        const char *name = request->tls_name ? request->tls_name : API_SERVER_NAME;
        url = ek_xasprintf(strchr(name, ':') ? "https://[%s]:%s%s" : "https://%s:%s%s", name, port,
                           request->path);
        to = ek_xasprintf("::%s", request->connect_to);
        set_egress(call);
    } else if (server->tls && config->tls_server_name) {
        url = ek_xasprintf("https://%s:%s%s%s", config->tls_server_name, server->port,
                           server->prefix, request->path);
        to = ek_xasprintf("::%s", server->host_port);
        add_header(call, "Host", server->host_port);
    } else {
        url = ek_xasprintf("%s%s%s", server->origin, server->prefix, request->path);
    }
    if (!request->connect_to) {
        curl_easy_setopt(call->easy, CURLOPT_PROXY, config->proxy_url ? config->proxy_url : "");
        curl_easy_setopt(call->easy, CURLOPT_NOPROXY, config->no_proxy ? config->no_proxy : "");
    }
    if (to)
        call->connect_list = curl_slist_append(NULL, to);
    curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_list);
    if (curl_easy_setopt(call->easy, CURLOPT_URL, url))
        return ek_err_set(err, EK_E_NOMEM, "out of memory");
    return 0;
}

static void set_transport(struct ek_call *call)
{
    CURL *easy = call->easy;
    uint64_t now = uv_now(call->client->loop);

    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* Waiting to share a connection needs the protocol's name from the TLS handshake; without TLS
     * a request would wait for the end of the first answer, maybe a watch. */
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT,
                     call->client->server.tls || call->request.connect_to ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* cancelling does not wait for the resolver */
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, EK_CLIENT_CONNECT_MS);
    if (call->deadline != EK_NEVER)
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                         call->deadline > now ? (long)(call->deadline - now) : 1L);
    if (!call->client->config->disable_compression)
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
}

static void set_callbacks(struct ek_call *call)
{
    CURL *easy = call->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->answer.curl_text);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call_on_header__);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

/* Makes the transfer of the next attempt with the credentials in call->auth. */
int call_attempt__(struct ek_call *call, struct ek_err *err)
{
    const char *suffix = call->request.user_agent_suffix;
    EK_AUTOFREE char *agent =
        ek_xasprintf("%s%s%s", call->client->user_agent, suffix ? "/" : "", suffix ? suffix : "");

    call_answer_reset__(call);
    call->easy = curl_easy_init();
    if (!call->easy)
        return ek_err_set(err, EK_E_NOMEM, "out of memory");
    int rc = call_trust__(call, err);
    if (!rc)
        rc = set_address(call, err);
    if (rc)
        return rc;
    curl_easy_setopt(call->easy, CURLOPT_USERAGENT, agent);
    set_transport(call);
    set_callbacks(call);
    set_tls(call);
    set_headers(call);
    set_body(call);
    call->started_ns = uv_hrtime();
    return 0;
}
