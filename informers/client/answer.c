/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt's outcome means: another attempt, a good answer, or one clear line of error. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/base/line.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "informers/client/client-internal.h"

static bool mentions(const struct ek_call *call, const char *words)
{
    return strcasestr(call->answer.curl_text, words) != NULL;
}

/* True when the connection was lost, as against refused or answered with nonsense. */
static bool is_reset(const struct ek_call *call, CURLcode result)
{
    switch (result) {
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    case CURLE_SSL_CONNECT_ERROR: /* in the middle of the handshake */
        return mentions(call, "reset by peer") || mentions(call, "SSL_ERROR_SYSCALL") ||
               mentions(call, "unexpected eof");
    default:
        return false;
    }
}

static struct next_step retry_in(const struct ek_call *call, int64_t wait_ms)
{
    uint64_t now = uv_now(call->client->loop);

    if (call->tries >= EK_CLIENT_TRIES_MAX || wait_ms > EK_CLIENT_RETRY_AFTER_MAX ||
        (call->deadline != EK_NEVER && now + (uint64_t)wait_ms >= call->deadline))
        return (struct next_step){STEP_FINISH, 0};
    return (struct next_step){STEP_RETRY, wait_ms};
}

struct next_step answer_next_step__(const struct ek_call *call, CURLcode result)
{
    const struct call_answer *answer = &call->answer;
    int status = answer->status;

    if (answer->stream_rc || answer->too_large)
        return (struct next_step){STEP_FINISH, 0};
    if (result == CURLE_OK && status == 401 && !call->reauthenticated &&
        call_shows_credentials__(call))
        return (struct next_step){STEP_REAUTHENTICATE, 0};
    if (call->request.no_retry)
        return (struct next_step){STEP_FINISH, 0};
    if (result == CURLE_OK && (status == 429 || status / 100 == 5) && answer->retry_after_ms >= 0)
        return retry_in(call, answer->retry_after_ms);
    if (is_reset(call, result) && !strcmp(call->request.method, "GET") && !answer->got_body &&
        !call->reset_retried)
        return retry_in(call, 0);
    return (struct next_step){STEP_FINISH, 0};
}

/* "GET https://10.0.0.1:6443/version": method and address of the request, without the query; and by
 * which egress proxy. */
static void describe(const struct ek_call *call, char *out, size_t size)
{
    const char *path = call->request.path;
    const char *egress = call->request.connect_to ? call->client->egress : NULL;

    snprintf(out, size, "%s %s%.*s%s%.70s", call->request.method, call->host ? call->host : "",
             (int)(strcspn(path, "?") < 200 ? strcspn(path, "?") : 200), path,
             egress ? " by the egress proxy " : "", egress ? egress : "");
}

/* The causes of a Status that has no message of its own. */
static void join_causes(yyjson_val *status, char *out, size_t size)
{
    yyjson_arr_iter iter;
    yyjson_val *cause;
    size_t n = 0;

    out[0] = '\0';
    yyjson_arr_iter_init(ek_json_get(status, "details", "causes", NULL), &iter);
    while ((cause = yyjson_arr_iter_next(&iter)) && n + 1 < size) {
        const char *field = ek_json_str(cause, "field", NULL);
        const char *message = ek_json_str(cause, "message", NULL);
        int added = snprintf(out + n, size - n, "%s%s%s%s", n ? ", " : "", field ? field : "",
                             field ? ": " : "", message ? message : "invalid");
        n += added > 0 ? (size_t)added : 0;
    }
}

/* Fills err from a metav1.Status; false when root is none. */
static bool read_status(const struct ek_call *call, yyjson_val *root, struct ek_err *err)
{
    const char *kind = ek_json_str(root, "kind", NULL);
    const char *reason = ek_json_str(root, "reason", NULL);
    const char *message = ek_json_str(root, "message", NULL);
    yyjson_val *seconds = ek_json_get(root, "details", "retryAfterSeconds", NULL);
    char causes[512], line[sizeof err->message];

    if (!kind || strcmp(kind, "Status") != 0)
        return false;
    join_causes(root, causes, sizeof causes);
    if (!message || !*message)
        message = causes[0] ? causes : reason && *reason ? reason : "no message";
    ek_line_copy(message, strlen(message), line, sizeof line);
    ek_err_set(err, ek_err_from_status(call->answer.status, reason), "%s", line);
    if (reason)
        ek_line_copy(reason, strlen(reason), err->reason, sizeof err->reason);
    if (yyjson_is_uint(seconds) && yyjson_get_uint(seconds) < 1000000)
        err->retry_after_ms = (int64_t)yyjson_get_uint(seconds) * 1000;
    return true;
}

static void read_text(const struct ek_call *call, struct ek_err *err)
{
    const struct call_answer *answer = &call->answer;
    char what[400], line[200];

    describe(call, what, sizeof what);
    ek_line_copy(ek_buf_str(&answer->body), answer->body.len, line, sizeof line);
    if (answer->status / 100 == 3)
        ek_err_set(err, EK_E_HTTP,
                   "%s: the server redirects (HTTP %d) to %.150s, which is not followed; "
                   "correct the server's address",
                   what, answer->status, answer->location ? answer->location : "nowhere");
    else
        ek_err_set(err, ek_err_from_status(answer->status, NULL), "%s: HTTP %d%s%s", what,
                   answer->status, *line ? ": " : "", line);
}

static int http_error(const struct ek_call *call, struct ek_err *err)
{
    const struct call_answer *answer = &call->answer;
    int status = answer->status;

    if (status / 100 == 2 || status == 304)
        return 0;
    yyjson_doc *doc = answer->body.len && ek_buf_str(&answer->body)[0] == '{'
                          ? ek_json_parse(answer->body.data, answer->body.len, NULL)
                          : NULL;
    if (!doc || !read_status(call, yyjson_doc_get_root(doc), err))
        read_text(call, err);
    yyjson_doc_free(doc);
    if (answer->retry_after_ms >= 0)
        err->retry_after_ms = answer->retry_after_ms;
    return err->code;
}

/* The name that the server's certificate had to be valid for. */
static const char *expected_name(const struct ek_call *call)
{
    const struct ek_request *request = &call->request;
    const struct ek_client *client = call->client;

    if (request->connect_to)
        return request->tls_name ? request->tls_name : API_SERVER_NAME;
    return client->config->tls_server_name ? client->config->tls_server_name : client->server.host;
}

/* " (it is for a, b, ...)", or "" when no name was seen. */
static void list_names(const struct cert_info *seen, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; seen && i < seen->n_names && i < 6 && n + 1 < size; i++) {
        int added =
            snprintf(out + n, size - n, "%s%.80s", i ? ", " : " (it is for ", seen->names[i]);
        n += added > 0 ? (size_t)added : 0;
    }
    if (n && n + 6 < size)
        snprintf(out + n, size - n, "%s)", seen->n_names > 6 ? ", ..." : "");
}

static int verify_error(const struct ek_call *call, const char *what, struct ek_err *err)
{
    const struct tls_note *note = call->answer.note;
    const struct cert_info *seen = note ? note->seen : NULL;
    char text[512], when[EK_TIME_SIZE] = "an unknown time";

    if (seen && seen->shown.not_after_ms != EK_TIME_UNSET)
        ek_time_format(seen->shown.not_after_ms, when);
    switch (note ? note->verify_error : X509_V_OK) {
    case X509_V_OK:
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        list_names(seen, text, sizeof text);
        return ek_err_set(err, EK_E_TLS,
                          "%s: the server's certificate is not valid for %.100s%s; correct the "
                          "address or set tls-server-name",
                          what, expected_name(call), text);
    case X509_V_ERR_APPLICATION_VERIFICATION:
        list_names(seen, text, sizeof text);
        return ek_err_set(err, EK_E_TLS,
                          "%s: another API server answers at this address: its certificate has not "
                          "the address%s%.100s%s",
                          what, *note->own_name ? ", and not the host name " : "", note->own_name,
                          text);
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return ek_err_set(err, EK_E_TLS,
                          "%s: the server's certificate has expired (%s); renew it, or correct "
                          "this machine's clock",
                          what, when);
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return ek_err_set(err, EK_E_TLS,
                          "%s: the server's certificate is not valid yet; correct the clocks",
                          what);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return ek_err_set(err, EK_E_TLS,
                          "%s: the server's certificate is signed by an unknown authority; check "
                          "the kubeconfig's certificate-authority",
                          what);
    default:
        return ek_err_set(err, EK_E_TLS, "%s: the server's certificate is refused: %s", what,
                          X509_verify_cert_error_string(note->verify_error));
    }
}

/* libcurl's own words, one line. */
static const char *curl_words(const struct ek_call *call, CURLcode result, char *out, size_t size)
{
    const char *text = call->answer.curl_text;

    ek_line_copy(text, strlen(text), out, size);
    return *out ? out : curl_easy_strerror(result);
}

/* A TLS failure that is not about the server's certificate. */
static int handshake_error(const struct ek_call *call, CURLcode result, const char *what,
                           struct ek_err *err)
{
    char words[200];

    /* Of several errors libcurl reports the first, which need not be the verification's. */
    if (call->answer.note && call->answer.note->verify_error != X509_V_OK)
        return verify_error(call, what, err);
    if (mentions(call, "wrong version number") || mentions(call, "http request") ||
        mentions(call, "packet length too long"))
        return ek_err_set(err, EK_E_TLS, "%s: the server does not speak TLS on this port", what);
    if (mentions(call, "alert"))
        return ek_err_set(err, EK_E_TLS,
                          "%s: the server refused the TLS handshake, most likely because of the "
                          "client certificate: %s",
                          what, curl_words(call, result, words, sizeof words));
    return ek_err_set(err, EK_E_TLS, "%s: no TLS connection: %s", what,
                      curl_words(call, result, words, sizeof words));
}

static int connect_error(const struct ek_call *call, CURLcode result, const char *what,
                         struct ek_err *err)
{
    char words[200];
    long os_error = 0;

    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_error);
    if (os_error == ECONNREFUSED)
        return ek_err_set(err, EK_E_REFUSED,
                          "%s: connection refused; is the server running at this address?", what);
    if (os_error == ETIMEDOUT)
        return ek_err_set(err, EK_E_TIMEOUT,
                          "%s: the operating system gave up the connection attempt", what);
    if (os_error)
        return ek_err_set(err, EK_E_NET, "%s: cannot connect: %s", what, strerror((int)os_error));
    return ek_err_set(err, EK_E_NET, "%s: cannot connect: %s", what,
                      curl_words(call, result, words, sizeof words));
}

static int timeout_error(const struct ek_call *call, const char *what, struct ek_err *err)
{
    char limit[EK_TIME_SIZE] = "its time";
    int64_t limit_ms = call->request.timeout_ms;
    curl_off_t ready = 0;

    curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
    /* Until the connection stands, its own limit counts too. */
    if (!ready && !call->answer.status && (limit_ms <= 0 || limit_ms > EK_CLIENT_CONNECT_MS))
        limit_ms = EK_CLIENT_CONNECT_MS;
    if (limit_ms > 0 && limit_ms < 1000)
        snprintf(limit, sizeof limit, "%d ms", (int)limit_ms);
    else if (limit_ms > 0)
        ek_duration_human(limit_ms, limit);
    if (call->answer.status)
        return ek_err_set(err, EK_E_TIMEOUT, "%s: the answer did not end within %s", what, limit);
    if (ready)
        return ek_err_set(err, EK_E_TIMEOUT, "%s: connected, but no answer within %s", what, limit);
    if (call->answer.note)
        return ek_err_set(err, EK_E_TIMEOUT, "%s: connected, but no TLS handshake within %s", what,
                          limit);
    return ek_err_set(err, EK_E_TIMEOUT, "%s: no connection within %s; is the address reachable?",
                      what, limit);
}

static int reset_error(const struct ek_call *call, CURLcode result, const char *what,
                       struct ek_err *err)
{
    char words[200];

    /* With TLS 1.3 the server judges our certificate after our side of the handshake has ended. */
    if (mentions(call, "alert"))
        return handshake_error(call, result, what, err);
    if (call->answer.got_body)
        return ek_err_set(err, EK_E_NET, "%s: the connection broke off in the middle of the answer",
                          what);
    return ek_err_set(err, EK_E_NET, "%s: the connection broke off before an answer: %s", what,
                      curl_words(call, result, words, sizeof words));
}

static int transport_error(const struct ek_call *call, CURLcode result, struct ek_err *err)
{
    char what[400], words[200];
    long connect_code = 0;

    describe(call, what, sizeof what);
    curl_easy_getinfo(call->easy, CURLINFO_HTTP_CONNECTCODE, &connect_code);
    if (connect_code && connect_code / 100 != 2)
        return ek_err_set(err, EK_E_NET, "%s: CONNECT was answered with %ld", what, connect_code);
    if (is_reset(call, result))
        return reset_error(call, result, what, err);
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
        return timeout_error(call, what, err);
    case CURLE_COULDNT_CONNECT:
        return connect_error(call, result, what, err);
    case CURLE_COULDNT_RESOLVE_HOST:
        return ek_err_set(err, EK_E_NET, "%s: the host name cannot be resolved", what);
    case CURLE_COULDNT_RESOLVE_PROXY:
        return ek_err_set(err, EK_E_NET, "%s: the proxy's name cannot be resolved", what);
    case CURLE_PEER_FAILED_VERIFICATION:
        return verify_error(call, what, err);
    case CURLE_SSL_CONNECT_ERROR:
        return handshake_error(call, result, what, err);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
        return ek_err_set(err, EK_E_TLS, "%s: the client's certificates are not usable: %s", what,
                          curl_words(call, result, words, sizeof words));
    case CURLE_BAD_CONTENT_ENCODING:
        return ek_err_set(err, EK_E_PARSE, "%s: the answer's compression is damaged", what);
    case CURLE_OUT_OF_MEMORY:
        return ek_err_set(err, EK_E_NOMEM, "%s: out of memory", what);
    default:
        return ek_err_set(err, EK_E_NET, "%s: %s", what,
                          curl_words(call, result, words, sizeof words));
    }
}

int answer_error__(const struct ek_call *call, CURLcode result, struct ek_err *err)
{
    const struct call_answer *answer = &call->answer;
    bool good_status = answer->status / 100 == 2;
    char what[400];

    describe(call, what, sizeof what);
    int rc;
    if (result == CURLE_OK || (answer->too_large && !good_status))
        rc = http_error(call, err);
    else if (answer->stream_rc)
        rc = ek_err_set(err, answer->stream_rc, "%s: the reader ended the stream", what);
    else if (answer->too_large && answer->body.failed == EK_E_NOMEM)
        rc = ek_err_set(err, EK_E_NOMEM, "%s: no memory for the answer", what);
    else if (answer->too_large)
        rc = ek_err_set(err, EK_E_LIMIT, "%s: the answer is larger than %zu bytes", what,
                        answer->body.max);
    else
        rc = transport_error(call, result, err);
    if (!rc)
        return 0;
    err->http_status = answer->status;
    ek_line_clean(err->message);
    return rc;
}
