/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/token_request.h"

#include <string.h>

#include "api/base/time.h"
#include "api/obj.h"
#include "informers/client/kubeconfig.h"

#define TIMEOUT_MS 10000
#define ANSWER_MAX ((size_t)64 << 10)
#define TOKEN_MAX  ((size_t)32 << 10)

#define BODY                                                                                       \
    "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\","                      \
    "\"spec\":{\"expirationSeconds\":%d}}"

struct ek_token {
    struct ek_client *client;
    char *namespace, *name;
    int64_t (*now)(void);
    void (*changed)(void *ctx);
    void *ctx;
    struct ek_call *call; /* under way, or NULL */
    char *text;           /* NULL before the first; secret */
    int64_t asked_ms;     /* when the newest request began */
    int64_t taken_ms;     /* when the request for text began */
    int64_t expires_ms;   /* of text, by our clock */
    bool refused;         /* text was */
    bool failed;          /* the newest request did */
    struct ek_err err;    /* with what */
};

struct ek_token *ek_token_new(struct ek_client *client, const char *namespace, const char *name,
                              int64_t (*now)(void), void (*changed)(void *ctx), void *ctx)
{
    struct ek_token *token = ek_xalloc(sizeof *token);

    token->client = client;
    token->namespace = ek_xstrdup(namespace);
    token->name = ek_xstrdup(name);
    token->now = now;
    token->changed = changed;
    token->ctx = ctx;
    return token;
}

void ek_token_free(struct ek_token *token)
{
    if (!token)
        return;
    ek_call_cancel(token->call);
    ek_secret_free(token->text);
    ek_free(token->namespace);
    ek_free(token->name);
    ek_free(token);
}

/* Visible ASCII, as a header can carry. */
static bool is_token(const char *text)
{
    size_t len = text ? strnlen(text, TOKEN_MAX + 1) : 0;

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
            return false;
    return len > 0 && len <= TOKEN_MAX;
}

static int read_answer(struct ek_token *token, const struct ek_response *resp, struct ek_err *err)
{
    struct ek_err ignored = {0}; /* may quote the body */
    yyjson_doc *doc = ek_json_parse(resp->body.p ? resp->body.p : "", resp->body.len, &ignored);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *text = ek_json_str(root, "status", "token", NULL);
    int64_t seconds = yyjson_get_sint(ek_json_get(root, "spec", "expirationSeconds", NULL));
    int rc = 0;

    if (!is_token(text)) {
        rc = ek_err_set(err, EK_E_PARSE, "the answer to the TokenRequest holds no token");
    } else {
        ek_secret_free(token->text);
        token->text = ek_xstrdup(text);
        token->refused = false;
        token->taken_ms = token->asked_ms;
        /* One that lives longer is replaced as early as one that does not. */
        if (seconds <= 0 || seconds > EK_TOKEN_LIFE_S)
            seconds = EK_TOKEN_LIFE_S;
        token->expires_ms = token->asked_ms + seconds * 1000;
    }
    yyjson_doc_free(doc);
    return rc;
}

/* One line that names the ServiceAccount and what to do. */
static void explain(const struct ek_token *token, const struct ek_err *err, struct ek_err *ret_err)
{
    const char *ns = token->namespace, *name = token->name;

    if (err->code == EK_E_FORBIDDEN)
        ek_err_set(ret_err, err->code,
                   "no token of the ServiceAccount %.100s/%.100s: forbidden: grant create on "
                   "serviceaccounts/token named %.100s in namespace %.100s",
                   ns, name, name, ns);
    else if (err->code == EK_E_NOENT)
        ek_err_set(ret_err, err->code,
                   "no token of the ServiceAccount %.100s/%.100s: it does not exist (kubectl apply "
                   "-k deploy makes it; see --probe-service-account)",
                   ns, name);
    else
        ek_err_set(ret_err, err->code, "no token of the ServiceAccount %.100s/%.100s: %.400s", ns,
                   name, err->message);
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_token *token = ctx;
    struct ek_err failure = {0};

    token->call = NULL;
    if (err)
        failure = *err;
    else
        read_answer(token, resp, &failure);
    token->failed = failure.code != 0;
    if (token->failed)
        explain(token, &failure, &token->err);
    token->changed(token->ctx);
}

static void request_token(struct ek_token *token, int64_t now_ms)
{
    EK_AUTOFREE char *body = ek_xasprintf(BODY, EK_TOKEN_LIFE_S);
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 4096);
    ek_buf_puts(&path, "/api/v1/namespaces/");
    ek_uri_escape(&path, token->namespace);
    ek_buf_puts(&path, "/serviceaccounts/");
    ek_uri_escape(&path, token->name);
    ek_buf_puts(&path, "/token");
    const struct ek_request request = {.method = "POST",
                                       .path = ek_buf_str(&path),
                                       .content_type = "application/json",
                                       .body = body,
                                       .body_size = strlen(body),
                                       .timeout_ms = TIMEOUT_MS,
                                       .max_body = ANSWER_MAX};
    token->asked_ms = now_ms;
    token->call = ek_client_send(token->client, &request, on_answer, token);
}

/* True when so much time has passed since then, or the wall clock was set back. */
static bool has_passed(int64_t now_ms, int64_t then_ms, int64_t period_ms)
{
    return now_ms < then_ms || now_ms - then_ms >= period_ms;
}

/* True while text may be shown to somebody. */
static bool lives(const struct ek_token *token, int64_t now_ms)
{
    return token->text && !token->refused && now_ms >= token->taken_ms &&
           now_ms < token->expires_ms;
}

enum ek_credentials_state ek_token_get(struct ek_token *token, const char **ret_text,
                                       struct ek_err *err)
{
    int64_t now_ms = token->now();
    bool good = lives(token, now_ms);
    bool due = !good || token->expires_ms - now_ms < EK_TOKEN_RENEW_MS;

    if (due && !token->call &&
        (!token->failed || has_passed(now_ms, token->asked_ms, EK_TOKEN_RETRY_MS)))
        request_token(token, now_ms);
    if (good) {
        *ret_text = token->text;
        return EK_CREDENTIALS_READY;
    }
    if (token->call)
        return EK_CREDENTIALS_PENDING;
    if (err)
        *err = token->err;
    return EK_CREDENTIALS_FAILED;
}

void ek_token_refused(struct ek_token *token)
{
    if (token->text && has_passed(token->now(), token->taken_ms, EK_TOKEN_RETRY_MS))
        token->refused = true;
}
