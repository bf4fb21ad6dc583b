/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/registry/registry.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/base/line.h"
#include "informers/client/pool.h"

#define CONNECT_MS 10000L

/* The heads and trailers of one answer, in bytes. */
#define HEAD_MAX ((size_t)32 * 1024)

/* google.golang.org/grpc/codes */
enum { GRPC_OK = 0, GRPC_NOT_FOUND = 5 };

struct ek_registry_read {
    struct ek_http *http;
    struct ek_registry_hooks hooks;
    char *address;
    char **packages; /* owned: n_packages of them */
    size_t n_packages;
    bool *known; /* of each package: the catalog has it */
    size_t next; /* of the calls: one for each package, then the bundles */
    uint64_t deadline;
    uv_loop_t *loop;
    size_t n_left; /* bytes that may still come */
    bool over;     /* on_done was called, or the read was cancelled */

    /* The call under way. */
    CURL *easy;
    struct curl_slist *headers;
    struct ek_grpc_reader reader;
    struct ek_buf request;
    size_t head_bytes;
    bool is_grpc;    /* the answer's content type */
    int status;      /* HTTP status, 0 before */
    int grpc_status; /* -1 before */
    char grpc_message[256];
    struct ek_err failure; /* why we ended it; code 0 otherwise */
};

static void call_done(struct ek_registry_read *read)
{
    if (read->easy)
        curl_easy_cleanup(read->easy);
    read->easy = NULL;
    curl_slist_free_all(read->headers);
    read->headers = NULL;
    ek_grpc_reader_done(&read->reader);
    ek_buf_done(&read->request);
}

static void on_pool_closed(void *ctx)
{
    struct ek_registry_read *read = ctx;
    void (*on_closed)(void *) = read->hooks.on_closed;
    void *hook_ctx = read->hooks.ctx;

    for (size_t i = 0; i < read->n_packages; i++)
        ek_free(read->packages[i]);
    ek_free(read->packages);
    ek_free(read->known);
    ek_free(read->address);
    ek_free(read);
    if (on_closed)
        on_closed(hook_ctx);
}

static void on_pool_left(void *ctx)
{
    (void)ctx;
}

static void finish(struct ek_registry_read *read, const struct ek_err *err)
{
    struct ek_err copy = {0};

    if (err)
        copy = *err;
    if (err)
        ek_err_prefix(&copy, "registry %.100s", read->address);
    call_done(read);
    read->over = true;
    read->hooks.on_done(read->hooks.ctx, err ? &copy : NULL);
    ek_http_retire(read->http);
}

/* True for the call that lists the bundles, the last one. */
static bool lists_bundles(const struct ek_registry_read *read)
{
    return read->next == read->n_packages;
}

static bool is_known(const struct ek_registry_read *read, struct ek_str package)
{
    for (size_t i = 0; i < read->n_packages; i++)
        if (read->known[i] && ek_str_eq(ek_str_from(read->packages[i]), package))
            return true;
    return false;
}

static int on_message(void *ctx, struct ek_str message, struct ek_err *err)
{
    struct ek_registry_read *read = ctx;
    struct ek_str channel;

    if (!lists_bundles(read)) {
        if (read->known[read->next])
            return ek_err_set(err, EK_E_PARSE, "the registry answers twice");
        int rc = ek_registry_package_read(message, &channel, err);
        if (rc)
            return rc;
        read->known[read->next] = true;
        rc = read->hooks.on_package(read->hooks.ctx, ek_str_from(read->packages[read->next]),
                                    channel);
        return rc ? ek_err_set(err, rc, "the catalog is not accepted: %s", ek_strerror(rc)) : 0;
    }
    EK_AUTO(ek_registry_bundle) bundle = {0};
    int rc = ek_registry_bundle_read(message, &bundle, err);
    if (rc || !is_known(read, bundle.package))
        return rc;
    rc = read->hooks.on_bundle(read->hooks.ctx, &bundle);
    return rc ? ek_err_set(err, rc, "the catalog is not accepted: %s", ek_strerror(rc)) : 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct ek_registry_read *read = ctx;
    size_t len = size * n;

    if (read->failure.code)
        return 0;
    if (len > read->n_left) {
        ek_err_set(&read->failure, EK_E_LIMIT, "the catalog is larger than what is read of it");
        return 0;
    }
    read->n_left -= len;
    if (read->status != 200 || !read->is_grpc)
        return len; /* an error page; counted, not kept */
    return ek_grpc_read(&read->reader, (struct ek_str){data, len}, on_message, read, &read->failure)
               ? 0
               : len;
}

/* The value of a header line if it is that header, without blanks around it. */
static bool header_is(struct ek_str line, const char *name, struct ek_str *ret_value)
{
    size_t len = strlen(name);

    if (line.len <= len || strncasecmp(line.p, name, len) != 0 || line.p[len] != ':')
        return false;
    struct ek_str value = {line.p + len + 1, line.len - len - 1};
    while (value.len > 0 && (*value.p == ' ' || *value.p == '\t'))
        value = (struct ek_str){value.p + 1, value.len - 1};
    while (value.len > 0 && (unsigned char)value.p[value.len - 1] <= ' ')
        value.len--;
    *ret_value = value;
    return true;
}

/* Up to three digits; -1 for anything else. */
static int read_code(struct ek_str s)
{
    int code = 0;

    if (s.len == 0 || s.len > 3)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        code = code * 10 + (s.p[i] - '0');
    }
    return code;
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
    struct ek_registry_read *read = ctx;
    struct ek_str text = {line, size * n}, value;

    read->head_bytes += text.len;
    if (read->head_bytes > HEAD_MAX) {
        ek_err_set(&read->failure, EK_E_LIMIT, "the head of an answer is larger than %zu bytes",
                   HEAD_MAX);
        return 0;
    }
    if (text.len >= 10 && !strncmp(line, "HTTP/2 ", 7)) {
        read->status = read_code((struct ek_str){line + 7, 3});
    } else if (header_is(text, "content-type", &value)) {
        read->is_grpc = value.len >= 16 && !strncasecmp(value.p, "application/grpc", 16);
    } else if (header_is(text, "grpc-status", &value)) {
        read->grpc_status = read_code(value);
    } else if (header_is(text, "grpc-message", &value)) {
        ek_line_copy(value.p, value.len, read->grpc_message, sizeof read->grpc_message);
    }
    return text.len;
}

static int transport_error(CURLcode result, struct ek_err *err)
{
    int code = EK_E_NET;

    if (result == CURLE_OPERATION_TIMEDOUT)
        return ek_err_set(err, EK_E_TIMEOUT, "no whole answer in time");
    if (result == CURLE_COULDNT_CONNECT)
        code = EK_E_REFUSED;
    return ek_err_set(err, code, "%s", curl_easy_strerror(result));
}

/* What the call brought. A package that is not there is no error. */
static int judge(const struct ek_registry_read *read, CURLcode result, struct ek_err *err)
{
    if (read->failure.code) {
        *err = read->failure;
        return err->code;
    }
    if (result != CURLE_OK)
        return transport_error(result, err);
    if (read->status != 200)
        return ek_err_set(err, EK_E_HTTP, "HTTP %d", read->status);
    if (!read->is_grpc)
        return ek_err_set(err, EK_E_HTTP, "the answer is no gRPC");
    if (read->grpc_status < 0)
        return ek_err_set(err, EK_E_HTTP, "the answer has no grpc-status");
    if (read->grpc_status == GRPC_NOT_FOUND && !lists_bundles(read))
        return 0;
    if (read->grpc_status != GRPC_OK)
        return ek_err_set(err, EK_E_SERVER, "gRPC status %d: %s", read->grpc_status,
                          read->grpc_message);
    if (!ek_grpc_is_complete(&read->reader))
        return ek_err_set(err, EK_E_PARSE, "the answer ends within a message");
    if (!lists_bundles(read) && !read->known[read->next])
        return ek_err_set(err, EK_E_PARSE, "the answer has no message");
    return 0;
}

static void start_call(struct ek_registry_read *read);

static void on_transfer_done(void *transfer, CURLcode result)
{
    struct ek_registry_read *read = transfer;
    struct ek_err err = {0};

    if (judge(read, result, &err)) {
        finish(read, &err);
        return;
    }
    if (lists_bundles(read)) {
        finish(read, NULL);
        return;
    }
    read->next++;
    start_call(read);
}

static void set_options(struct ek_registry_read *read, const char *url, uint64_t now)
{
    CURL *easy = read->easy;

    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    /* libcurl 7.88 fails on a second request over such a connection. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     read->deadline > now ? (long)(read->deadline - now) : 1L);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, read);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, read);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, read);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, read->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, read->request.data);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)read->request.len);
}

/* Starts the next call. Aborts without memory: what a call takes is small. */
static void start_call(struct ek_registry_read *read)
{
    static const char *const headers[] = {"Content-Type: application/grpc", "TE: trailers",
                                          "Accept:", "Expect:", "User-Agent: evenkeel"};
    bool last = lists_bundles(read);
    EK_AUTOFREE char *url = ek_xasprintf("http://%s/api.Registry/%s", read->address,
                                         last ? "ListBundles" : "GetPackage");

    call_done(read);
    read->easy = curl_easy_init();
    for (size_t i = 0; i < EK_ARRAY_SIZE(headers); i++)
        read->headers = curl_slist_append(read->headers, headers[i]);
    ek_grpc_reader_init(&read->reader);
    ek_buf_init(&read->request, EK_BUF_SMALL_MAX);
    ek_grpc_request(&read->request, 1,
                    last ? (struct ek_str){0} : ek_str_from(read->packages[read->next]));
    read->head_bytes = 0;
    read->is_grpc = false;
    read->status = 0;
    read->grpc_status = -1;
    read->grpc_message[0] = '\0';
    if (!read->easy || !read->headers)
        abort();
    set_options(read, url, uv_now(read->loop));
    if (!ek_http_add(read->http, read->easy))
        abort();
}

/* True for "host:port" of letters, digits, dots, dashes and an IPv6 address in brackets: nothing
 * else can reach into the URL. */
static bool is_address(const char *s)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t len = *s == '[' ? 1 + strspn(s + 1, "0123456789abcdefABCDEF:.") : strspn(s, name);
    long port = 0;

    if (len < 1 + (size_t)(*s == '[') || len > 253)
        return false;
    if (*s == '[' && s[len++] != ']')
        return false;
    if (s[len] != ':')
        return false;
    const char *digits = s + len + 1;
    size_t n = strspn(digits, "0123456789");
    for (size_t i = 0; i < n && i < 6; i++)
        port = port * 10 + (digits[i] - '0');
    return n > 0 && n < 6 && digits[n] == '\0' && port > 0 && port < 65536;
}

int ek_registry_read(uv_loop_t *loop, const struct ek_registry_query *query,
                     const struct ek_registry_hooks *hooks, struct ek_registry_read **ret_read,
                     struct ek_err *err)
{
    if (!is_address(query->address)) {
        char line[128];
        ek_line_copy(query->address, strlen(query->address), line, sizeof line);
        return ek_err_set(err, EK_E_INVAL, "the registry's address \"%s\" is no host:port", line);
    }
    struct ek_registry_read *read = ek_xalloc(sizeof *read);
    struct ek_http_hooks pool = {on_transfer_done, on_pool_left, on_pool_closed, read};

    read->loop = loop;
    read->hooks = *hooks;
    read->address = ek_xstrdup(query->address);
    read->packages = ek_xalloc((query->n_packages + 1) * sizeof(char *));
    read->known = ek_xalloc(query->n_packages + 1);
    read->n_packages = query->n_packages;
    for (size_t i = 0; i < query->n_packages; i++)
        read->packages[i] = ek_xstrdup(query->packages[i]);
    read->n_left = query->max_bytes;
    read->deadline = uv_now(loop) + (uint64_t)query->timeout_ms;
    read->http = ek_http_new(loop, &pool);
    *ret_read = read;
    start_call(read);
    return 0;
}

void ek_registry_read_cancel(struct ek_registry_read *read)
{
    if (!read || read->over)
        return;
    read->over = true;
    if (read->easy)
        ek_http_remove(read->http, read->easy);
    call_done(read);
    ek_http_retire(read->http);
}
