/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/metrics_auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <strings.h>
#include <yyjson.h>

#include "api/base/lru.h"
#include "api/base/quote.h"
#include "api/obj.h"
#include "controller/http/evict.h"
#include "controller/http/server.h"

#define ALLOW_MS   60000
#define REFUSE_MS  30000
#define REVIEW_MS  10000
#define MEMORY_MAX 256
#define REVIEW_MAX 16 /* under way at once, */
#define SOURCE_MAX 4  /* and for one source */
#define ANSWER_MAX ((size_t)1024 * 1024)
#define USER_SIZE  192
#define KEY_SIZE   65 /* SHA-256 in hexadecimal digits */

/* A decision that is remembered. */
struct decision {
    int64_t until_ms;
    int status;
    char user[USER_SIZE];
};

/* A route behind the filter. */
struct guard {
    struct ek_metrics_auth *auth;
    struct guard *next;
    struct ek_http_route inner;
};

/* A request that waits for its reviews. */
struct review {
    struct ek_metrics_auth *auth;
    const struct guard *guard;
    struct review *next;
    const struct ek_http_request *request;
    struct ek_http_reply *reply;
    struct ek_call *call;
    struct ek_http_source source;
    char key[KEY_SIZE];
    char verb[24];
    char user[USER_SIZE]; /* for messages; "" before the first review is answered */
};

struct ek_metrics_auth {
    struct ek_metrics_auth_config config;
    struct guard *guards;
    struct ek_lru allowed, refused; /* of struct decision */
    struct review *reviews;
    size_t n_reviews;
};

struct ek_metrics_auth *ek_metrics_auth_new(const struct ek_metrics_auth_config *config)
{
    struct ek_metrics_auth *auth = ek_xalloc(sizeof *auth);

    auth->config = *config;
    ek_lru_init(&auth->allowed, MEMORY_MAX, sizeof(struct decision));
    ek_lru_init(&auth->refused, MEMORY_MAX, sizeof(struct decision));
    return auth;
}

static void unlink_review(struct review *review)
{
    struct review **slot = &review->auth->reviews;

    while (*slot != review)
        slot = &(*slot)->next;
    *slot = review->next;
    review->auth->n_reviews--;
}

void ek_metrics_auth_free(struct ek_metrics_auth *auth)
{
    if (!auth)
        return;
    while (auth->reviews) {
        struct review *review = auth->reviews;
        unlink_review(review);
        auth->config.reviewer.cancel(auth->config.reviewer.ctx, review->call);
        ek_http_reply_text(review->reply, 503, "shutting down");
        ek_free(review);
    }
    for (struct guard *next, *guard = auth->guards; guard; guard = next) {
        next = guard->next;
        ek_free(guard);
    }
    ek_lru_done(&auth->allowed);
    ek_lru_done(&auth->refused);
    ek_free(auth);
}

/* Answers a request that is not let through. */
static void refuse(struct ek_http_reply *reply, int status, const char *user)
{
    char text[USER_SIZE + 64];

    switch (status) {
    case 401:
        ek_http_reply_header(reply, "WWW-Authenticate", "Bearer");
        snprintf(text, sizeof text, "Unauthorized");
        break;
    case 403:
        snprintf(text, sizeof text, "Authorization denied for user %s", user);
        break;
    case 503:
        snprintf(text, sizeof text, "too many reviews at once, try again");
        break;
    default:
        if (*user)
            snprintf(text, sizeof text, "Authorization for user %s failed", user);
        else
            snprintf(text, sizeof text, "Authentication failed");
    }
    ek_http_reply_text(reply, status, text);
}

static void pass(const struct guard *guard, const struct ek_http_request *request, const char *user,
                 struct ek_http_reply *reply)
{
    ek_http_reply_user(reply, user);
    guard->inner.handler(guard->inner.ctx, request, reply);
}

static void remember(struct ek_metrics_auth *auth, const struct review *review, int status)
{
    struct decision *decision =
        ek_lru_need(status == 200 ? &auth->allowed : &auth->refused, review->key);

    decision->until_ms =
        auth->config.now_ms(auth->config.now_ctx) + (status == 200 ? ALLOW_MS : REFUSE_MS);
    decision->status = status;
    snprintf(decision->user, sizeof decision->user, "%s", review->user);
}

/* A decision that is still good; NULL when a request to the API server is required. */
static const struct decision *recall(struct ek_metrics_auth *auth, const char *key)
{
    int64_t now_ms = auth->config.now_ms(auth->config.now_ctx);
    const struct decision *decision = ek_lru_get(&auth->allowed, key);

    if (!decision || now_ms >= decision->until_ms)
        decision = ek_lru_get(&auth->refused, key);
    return decision && now_ms < decision->until_ms ? decision : NULL;
}

/* The review is over: 200 lets the request through, 500 is not remembered. */
static void decide(struct review *review, int status)
{
    struct ek_metrics_auth *auth = review->auth;

    unlink_review(review);
    if (status != 500)
        remember(auth, review, status);
    if (status == 200)
        pass(review->guard, review->request, review->user, review->reply);
    else
        refuse(review->reply, status, review->user);
    ek_free(review);
}

static void fail(struct review *review, const char *what, const struct ek_err *err)
{
    ek_log_error_limited(review->auth->config.log, err, 5, 60000, "Cannot review a request",
                         EK_S("review", what));
    decide(review, 500);
}

/* Sends an object for review; wipes the text, which may hold the token. */
static void post(struct review *review, const char *path, yyjson_mut_doc *doc,
                 ek_response_fn on_done)
{
    const struct ek_reviewer *reviewer = &review->auth->config.reviewer;
    size_t size = 0;
    char *json = yyjson_mut_write(doc, 0, &size);

    yyjson_mut_doc_free(doc);
    review->call = reviewer->send(reviewer->ctx,
                                  &(struct ek_request){.method = "POST",
                                                       .path = path,
                                                       .content_type = "application/json",
                                                       .body = json ? json : "",
                                                       .body_size = size,
                                                       .timeout_ms = REVIEW_MS,
                                                       .max_body = ANSWER_MAX},
                                  on_done, review);
    if (json)
        OPENSSL_cleanse(json, size);
    ek_free(json);
}

/* A document with apiVersion and kind; *ret_spec is its empty spec. */
static yyjson_mut_doc *new_review(const char *api_version, const char *kind,
                                  yyjson_mut_val **ret_spec)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", api_version);
    yyjson_mut_obj_add_str(doc, root, "kind", kind);
    *ret_spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    return doc;
}

/* Parses an answer's body; NULL, with err set, when it is no JSON. */
static yyjson_doc *parse_answer(const struct ek_response *resp, struct ek_err *err)
{
    return ek_json_parse(resp->body.p ? resp->body.p : "", resp->body.len, err);
}

static void on_access_reviewed(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct review *review = ctx;
    struct ek_err parse_err;

    review->call = NULL;
    if (err) {
        fail(review, "SubjectAccessReview", err);
        return;
    }
    yyjson_doc *doc = parse_answer(resp, &parse_err);
    if (!doc) {
        fail(review, "SubjectAccessReview", &parse_err);
        return;
    }
    yyjson_val *allowed = ek_json_get(yyjson_doc_get_root(doc), "status", "allowed", NULL);
    int status = yyjson_get_bool(allowed) ? 200 : 403;
    yyjson_doc_free(doc);
    decide(review, status);
}

/* Copies a member of the reviewed user into the spec, as it is. */
static void copy_member(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *to, yyjson_val *user,
                        const char *from)
{
    yyjson_val *value = yyjson_obj_get(user, from);

    if (value)
        yyjson_mut_obj_add_val(doc, spec, to, yyjson_val_mut_copy(doc, value));
}

static void review_access(struct review *review, yyjson_val *user)
{
    yyjson_mut_val *spec;
    yyjson_mut_doc *doc = new_review("authorization.k8s.io/v1", "SubjectAccessReview", &spec);

    copy_member(doc, spec, "user", user, "username");
    copy_member(doc, spec, "groups", user, "groups");
    copy_member(doc, spec, "uid", user, "uid");
    copy_member(doc, spec, "extra", user, "extra");
    yyjson_mut_val *attributes = yyjson_mut_obj_add_obj(doc, spec, "nonResourceAttributes");
    yyjson_mut_obj_add_str(doc, attributes, "path", review->request->path);
    yyjson_mut_obj_add_str(doc, attributes, "verb", review->verb);
    post(review, "/apis/authorization.k8s.io/v1/subjectaccessreviews", doc, on_access_reviewed);
}

/* Keeps the user's name in a form that is fit for a line of text. */
static void note_user(struct review *review, const char *name)
{
    EK_AUTO(ek_buf) text;
    struct ek_str s = ek_str_from(name ? name : "");

    ek_buf_init(&text, sizeof(review->user) - 1);
    s.len = ek_utf8_cut(s, USER_SIZE - 32);
    if (ek_quote_inner(&text, s))
        ek_buf_reset(&text);
    snprintf(review->user, sizeof review->user, "%s", text.len ? ek_buf_str(&text) : "?");
}

static void on_token_reviewed(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct review *review = ctx;
    struct ek_err parse_err;

    review->call = NULL;
    if (err) {
        fail(review, "TokenReview", err);
        return;
    }
    yyjson_doc *doc = parse_answer(resp, &parse_err);
    if (!doc) {
        fail(review, "TokenReview", &parse_err);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *user = ek_json_get(root, "status", "user", NULL);
    if (yyjson_get_bool(ek_json_get(root, "status", "authenticated", NULL))) {
        note_user(review, ek_json_str(user, "username", NULL));
        review_access(review, user);
    } else {
        decide(review, 401);
    }
    yyjson_doc_free(doc);
}

/* The token of "Authorization: Bearer <token>" (the scheme in any case), NULL without one. */
static const char *bearer_token(const struct ek_http_request *request)
{
    const char *value = ek_http_request_header(request, "authorization");

    if (!value || strncasecmp(value, "bearer ", 7) != 0)
        return NULL;
    value += 7;
    value += strspn(value, " ");
    return *value && !strchr(value, ' ') ? value : NULL;
}

static bool make_key(const char *token, const char *verb, const char *path, char key[KEY_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32] = {0};
    unsigned size = 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
                EVP_DigestUpdate(ctx, token, strlen(token) + 1) &&
                EVP_DigestUpdate(ctx, verb, strlen(verb) + 1) &&
                EVP_DigestUpdate(ctx, path, strlen(path) + 1) &&
                EVP_DigestFinal_ex(ctx, digest, &size) && size == sizeof digest;

    EVP_MD_CTX_free(ctx);
    for (size_t i = 0; i < sizeof digest; i++) {
        key[2 * i] = digits[digest[i] >> 4];
        key[2 * i + 1] = digits[digest[i] & 15];
    }
    key[KEY_SIZE - 1] = '\0';
    return good;
}

static void lower(const char *s, char *buf, size_t size)
{
    size_t i = 0;

    for (; s[i] && i < size - 1; i++)
        buf[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 0x20 : s[i]);
    buf[i] = '\0';
}

static void start_review(struct ek_metrics_auth *auth, struct review *review, const char *token)
{
    yyjson_mut_val *spec;
    yyjson_mut_doc *doc = new_review("authentication.k8s.io/v1", "TokenReview", &spec);

    review->auth = auth;
    review->next = auth->reviews;
    auth->reviews = review;
    auth->n_reviews++;
    yyjson_mut_obj_add_str(doc, spec, "token", token); /* borrowed, written out by post */
    post(review, "/apis/authentication.k8s.io/v1/tokenreviews", doc, on_token_reviewed);
}

static struct ek_http_source source_of(const struct ek_http_request *request)
{
    struct sockaddr_storage addr = {0};

    if (ek_http_address_parse(request->remote, &addr, NULL))
        return (struct ek_http_source){0}; /* all that are not known are one */
    return ek_http_source_of(&addr);
}

/* Each review costs the API server one or two requests, and anybody may ask for some. */
static bool may_review(const struct ek_metrics_auth *auth, const struct ek_http_source *source)
{
    size_t n = 0;

    for (const struct review *review = auth->reviews; review; review = review->next)
        n += ek_http_source_is(&review->source, source);
    return auth->n_reviews < REVIEW_MAX && n < SOURCE_MAX;
}

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    const struct guard *guard = ctx;
    struct ek_metrics_auth *auth = guard->auth;
    const char *token = bearer_token(request);
    struct review review = {.guard = guard, .request = request, .reply = reply};

    if (!token) {
        refuse(reply, 401, "");
        return;
    }
    lower(request->method, review.verb, sizeof review.verb);
    if (!make_key(token, review.verb, request->path, review.key)) {
        refuse(reply, 500, "");
        return;
    }
    const struct decision *decision = recall(auth, review.key);
    if (decision && decision->status == 200) {
        pass(guard, request, decision->user, reply);
        return;
    }
    if (decision) {
        refuse(reply, decision->status, decision->user);
        return;
    }
    review.source = source_of(request);
    if (!may_review(auth, &review.source)) {
        ek_http_reply_header(reply, "Retry-After", "1");
        refuse(reply, 503, "");
    } else {
        struct review *started = ek_xalloc(sizeof *started);
        *started = review;
        start_review(auth, started, token);
    }
}

struct ek_http_route ek_metrics_auth_route(struct ek_metrics_auth *auth,
                                           const struct ek_http_route *inner)
{
    struct ek_http_route route = *inner;
    struct guard *guard = ek_xalloc(sizeof *guard);

    *guard = (struct guard){.auth = auth, .next = auth->guards, .inner = *inner};
    auth->guards = guard;
    route.handler = handle;
    route.ctx = guard;
    return route;
}
