/* SPDX-License-Identifier: Apache-2.0 */
/* Admission requests on a serving thread: from bytes to a review, and from a response to bytes. */
#include <string.h>

#include "api/base/stack.h"
#include "api/base/time.h"
#include "api/media_type.h"
#include "controller/webhook/webhook-internal.h"

#define ARENA_KEEP ((size_t)1 << 20) /* what a thread keeps between requests */
#define ANSWER_MAX ((size_t)32 << 20)

#define NO_MEMORY "no memory is available for the request"

/* The API server sends its own limit, at most 30 s (admissionregistration.k8s.io/v1). */
#define TIMEOUT_MS     10000
#define TIMEOUT_MAX_MS 30000

/* An answer has to be there before that: a quarter earlier, at most so much. */
#define MARGIN_MAX_MS 2000

int64_t ek_webhook_now_ms__(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

/* True when the client has gone. */
static bool is_orphan(const struct ek_webhook_exchange *exchange)
{
    return exchange->reply && ek_http_reply_is_orphan(exchange->reply);
}

bool ek_webhook_is_over__(const struct ek_webhook_exchange *exchange)
{
    return ek_webhook_now_ms__() >= exchange->deadline_ms || is_orphan(exchange);
}

static enum ek_undecided undecided_by(int code)
{
    return code == EK_E_LIMIT      ? EK_UNDECIDED_TOO_LARGE
           : code == EK_E_NOMEM    ? EK_UNDECIDED_MEMORY
           : code == EK_E_PARSE    ? EK_UNDECIDED_UNREADABLE
           : code == EK_E_CANCELED ? EK_UNDECIDED_TIMEOUT
                                   : EK_UNDECIDED_ERROR;
}

void ek_webhook_undecided__(const struct ek_webhook_exchange *exchange, const char *why, int code,
                            bool denied)
{
    const struct ek_webhook *webhook = exchange->thread->webhook;
    const struct ek_admission_request *request = &exchange->review.request;

    ek_webhook_metrics_undecided(&webhook->metrics, exchange->endpoint->path, undecided_by(code),
                                 denied ? EK_UNDECIDED_DENIED : EK_UNDECIDED_ALLOWED);
    ek_log_error_limited(
        webhook->config.log, NULL, 5, 60000, "Cannot evaluate an admission request",
        EK_S("path", exchange->endpoint->path), EK_S("reason", why),
        EK_S("resource", request->resource.resource), EK_S("namespace", request->namespace),
        EK_S("name", request->name), EK_B("denied", denied));
}

/* An arena's blocks are small, so evaluations may use all of the budget. */
static bool take(void *ctx, size_t n)
{
    struct ek_webhook_thread *thread = ctx;
    bool fits = ek_http_budget_take(&thread->webhook->work, n, 0);

    *(fits ? &thread->taken : &thread->refused) = fits ? thread->taken + n : n;
    return fits;
}

static void give(void *ctx, size_t n)
{
    struct ek_webhook_thread *thread = ctx;

    thread->taken -= n;
    ek_http_budget_give(&thread->webhook->work, n);
}

struct ek_arena *ek_webhook_arena__(struct ek_webhook_thread *thread)
{
    if (thread->arena) {
        ek_arena_reset(thread->arena);
        return thread->arena;
    }
    thread->arena = ek_arena_new(thread->webhook->memory.arena);
    ek_arena_set_meter(thread->arena,
                       &(struct ek_arena_meter){.take = take, .give = give, .ctx = thread});
    return thread->arena;
}

void ek_webhook_rest__(struct ek_webhook_thread *thread)
{
    bool large = thread->arena && ek_arena_used(thread->arena) > ARENA_KEEP;

    if (large || thread->taken > ARENA_KEEP) {
        ek_arena_free(thread->arena);
        thread->arena = NULL;
    }
    ek_stack_trim();
}

/* ---- Answers ---- */

static enum ek_undecided reason_of(int status)
{
    switch (status) {
    case 400:
    case 415:
        return EK_UNDECIDED_UNREADABLE;
    case 413:
        return EK_UNDECIDED_TOO_LARGE;
    case 503:
        return EK_UNDECIDED_UNKNOWN;
    case 504:
        return EK_UNDECIDED_TIMEOUT;
    default:
        return EK_UNDECIDED_ERROR;
    }
}

/* An HTTP error as the answer; counted as undecided by the caller. */
static void send_error(struct ek_webhook_exchange *exchange, int status, const char *text)
{
    EK_AUTO(ek_buf) body;

    ek_buf_init(&body, EK_BUF_SMALL_MAX);
    ek_buf_puts(&body, text);
    ek_webhook_reply__(exchange, NULL, status, NULL, &body);
}

static void refuse(struct ek_webhook_exchange *exchange, int status, enum ek_undecided reason,
                   const char *text)
{
    struct ek_webhook *webhook = exchange->thread->webhook;

    ek_webhook_metrics_undecided(&webhook->metrics, exchange->endpoint->path, reason,
                                 EK_UNDECIDED_REFUSED);
    ek_log_info_limited(webhook->config.log, 5, 60000, "Refused an admission review",
                        EK_S("path", exchange->endpoint->path),
                        EK_S("name", exchange->name ? exchange->name : ""), EK_I("status", status),
                        EK_S("reason", text));
    send_error(exchange, status, text);
}

void ek_webhook_refuse__(struct ek_webhook_exchange *exchange, int status, const char *text)
{
    refuse(exchange, status, reason_of(status), text);
}

/* Whether so many bytes more would not fit either if nobody else worked. */
static bool never_fits(const struct ek_webhook_exchange *exchange, size_t n)
{
    struct ek_webhook_thread *thread = exchange->thread;
    struct ek_webhook *webhook = thread->webhook;
    size_t kept = webhook->n_threads * ARENA_KEEP; /* by all threads but this one */

    return !ek_http_budget_could(&webhook->work, exchange->reserved + thread->taken + n + kept, 0);
}

bool ek_webhook_is_starved__(struct ek_webhook_exchange *exchange)
{
    struct ek_webhook_thread *thread = exchange->thread;

    /* What is too much at any time is no matter of the moment. */
    if (!ek_arena_starved(thread->arena) || ek_arena_exhausted(thread->arena) ||
        never_fits(exchange, thread->refused))
        return false;
    refuse(exchange, 503, EK_UNDECIDED_MEMORY, NO_MEMORY);
    return true;
}

static void log_denial(const struct ek_webhook_exchange *exchange, const char *uid,
                       enum ek_undecided reason, const char *why, bool denied)
{
    const struct ek_admission_request *request = &exchange->review.request;
    const char *resource = request->resource.resource;

    ek_log_error_limited(
        exchange->thread->webhook->config.log, NULL, 5, 60000, "Cannot decide an admission review",
        EK_S("path", exchange->endpoint->path), EK_S("name", exchange->name ? exchange->name : ""),
        EK_S("uid", uid), EK_S("reason", ek_undecided_reason(reason)), EK_S("error", why),
        EK_S("resource", resource ? resource : ""), EK_B("denied", denied));
}

/* A denial is short: it fails without memory alone, or where the listener is full. */
static bool send_denial(struct ek_webhook_exchange *exchange, const char *uid,
                        enum ek_undecided reason, const char *why)
{
    EK_AUTO(ek_buf) out;
    EK_AUTOFREE char *message =
        ek_xasprintf("evenkeel cannot decide this request, and denies it therefore: %s", why);
    const struct ek_admission_response response = {
        .uid = uid,
        .code = reason == EK_UNDECIDED_MEMORY || reason == EK_UNDECIDED_ERROR ? 500 : 413,
        .reason = reason == EK_UNDECIDED_MEMORY || reason == EK_UNDECIDED_ERROR
                      ? "InternalError"
                      : "RequestEntityTooLarge",
        .message = message};

    ek_buf_init(&out, ANSWER_MAX);
    if (ek_admission_response_write(&response, &out) ||
        (!exchange->parcel && !ek_http_reply_fits(exchange->reply, out.len)))
        return false;
    ek_webhook_reply__(exchange, NULL, 200, "application/json", &out);
    return true;
}

void ek_webhook_deny__(struct ek_webhook_exchange *exchange, const char *uid,
                       enum ek_undecided reason, const char *why)
{
    bool denied = uid && *uid && send_denial(exchange, uid, reason, why);

    log_denial(exchange, uid ? uid : "", reason, why, denied);
    ek_webhook_metrics_undecided(&exchange->thread->webhook->metrics, exchange->endpoint->path,
                                 reason, denied ? EK_UNDECIDED_DENIED : EK_UNDECIDED_REFUSED);
    if (!denied)
        send_error(exchange,
                   reason == EK_UNDECIDED_TOO_LARGE    ? 413
                   : reason == EK_UNDECIDED_UNREADABLE ? 400
                                                       : 500,
                   why);
}

/* Takes the memory for an answer before it is written. Without it the review is answered. */
static bool reserve_answer(struct ek_webhook_exchange *exchange,
                           const struct ek_admission_response *response)
{
    size_t cost = ek_admission_response_memory(response);

    if (!cost || ek_http_budget_take(&exchange->thread->webhook->work, cost, 0)) {
        exchange->reserved += cost;
        return true;
    }
    if (never_fits(exchange, cost))
        ek_webhook_deny__(exchange, response->uid, EK_UNDECIDED_MEMORY,
                          "the answer takes more memory than the webhook has");
    else
        refuse(exchange, 503, EK_UNDECIDED_MEMORY, NO_MEMORY);
    return false;
}

bool ek_webhook_write__(struct ek_webhook_exchange *exchange,
                        const struct ek_admission_response *response, struct ek_buf *out)
{
    ek_buf_init(out, ANSWER_MAX);
    if (!reserve_answer(exchange, response))
        return false;
    int rc = ek_admission_response_write(response, out);
    if (rc)
        ek_webhook_deny__(exchange, response->uid,
                          rc == EK_E_NOMEM ? EK_UNDECIDED_MEMORY : EK_UNDECIDED_TOO_LARGE,
                          "the answer is too large");
    return !rc;
}

void ek_webhook_send__(struct ek_webhook_exchange *exchange, struct ek_buf *out)
{
    ek_webhook_reply__(exchange, exchange->review.request.uid, 200, "application/json", out);
}

void ek_webhook_answer__(struct ek_webhook_exchange *exchange,
                         const struct ek_admission_response *response)
{
    EK_AUTO(ek_buf) out = {0};

    if (ek_webhook_write__(exchange, response, &out))
        ek_webhook_send__(exchange, &out);
}

void ek_webhook_exchange_done__(struct ek_webhook_exchange *exchange)
{
    ek_admission_review_done(&exchange->review);
    ek_http_budget_give(&exchange->thread->webhook->work, exchange->reserved);
    ek_free(exchange->name);
}

/* ---- Added handlers ---- */

static bool is_over(void *exchange)
{
    return ek_webhook_is_over__(exchange);
}

void ek_webhook_handle__(struct ek_webhook_exchange *exchange)
{
    const struct ek_webhook_handler *handler = &exchange->endpoint->handler;
    struct ek_admission_response response = {0};
    struct ek_arena *arena = ek_webhook_arena__(exchange->thread);
    struct ek_work work = {.is_over = is_over, .arg = exchange};
    yyjson_mut_doc *patch = NULL;
    struct ek_err err = {0};

    int status = handler->review(handler->ctx, exchange->name, &exchange->review.request, arena,
                                 &work, &response, &patch, &err);
    response.uid = exchange->review.request.uid;
    if (ek_webhook_is_starved__(exchange)) {
        ; /* refused */
    } else if (ek_arena_starved(arena)) {
        ek_webhook_deny__(exchange, response.uid, EK_UNDECIDED_MEMORY, EK_WEBHOOK_NO_ROOM);
    } else if (status == 500) {
        ek_webhook_deny__(exchange, response.uid, undecided_by(err.code), err.message);
    } else if (status) {
        ek_webhook_refuse__(exchange, status, err.message);
    } else if (ek_arena_exhausted(arena) && !err.code) {
        ek_webhook_deny__(exchange, response.uid, EK_UNDECIDED_MEMORY,
                          "the review takes too much memory");
    } else {
        if (err.code)
            ek_webhook_undecided__(exchange, err.message, err.code, !response.allowed);
        ek_webhook_answer__(exchange, &response);
    }
    yyjson_mut_doc_free(patch);
    struct ek_webhook_thread *thread = exchange->thread;
    ek_webhook_exchange_done__(exchange);
    ek_webhook_rest__(thread);
}

/* ---- Requests ---- */

static void read_timeout(void *ctx, const char *name, const char *value)
{
    int64_t *timeout_ms = ctx;
    int64_t ms;

    if (!strcmp(name, "timeout") && !ek_duration_parse(value, &ms) && ms > 0)
        *timeout_ms = ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS;
}

/* How long after the first byte of a request its answer has to be on its way. */
static int64_t answer_ms(int64_t timeout_ms)
{
    int64_t margin_ms = timeout_ms / 4 < MARGIN_MAX_MS ? timeout_ms / 4 : MARGIN_MAX_MS;

    return timeout_ms - margin_ms;
}

/* With the path "/mutate", "/mutate" is "" and "/mutate/a" is "a". */
static char *name_of(const char *path, const struct ek_webhook_endpoint *endpoint)
{
    const char *rest = path + strlen(endpoint->path);

    return ek_xstrdup(*rest == '/' ? rest + 1 : rest);
}

/* Whether the address of the sender is known to be an API server's. */
static bool is_proven(const struct ek_webhook_gate *gate, const struct ek_http_request *request)
{
    struct ek_webhook *webhook = gate->thread->webhook;

    if (ek_webhook_is_proven__(webhook, request->remote))
        return true;
    ek_webhook_metrics_unproven(&webhook->metrics, gate->endpoint->path);
    ek_log_info_limited(
        webhook->config.log, 3, 600000,
        "Reviews come from an address that is not known to be an API server's; conditions and "
        "counters ignore them: see --webhook-client-ca-file and --webhook-callers",
        EK_S("address", request->remote), EK_S("path", gate->endpoint->path),
        EK_B("refused", webhook->config.refuse_unproven));
    return false;
}

/* The write of a review that cannot be read is denied by its uid: an HTTP error would let it
 * through wherever failurePolicy is Ignore. API servers send such reviews: raw parts of objects
 * (RawExtension) may hold what our parser refuses, lone surrogates and numbers beyond a double.
 */
static void deny_unread(struct ek_webhook_exchange *exchange, const struct ek_http_request *request,
                        enum ek_undecided reason, const char *why)
{
    char uid[EK_ADMISSION_UID_SIZE];
    bool known = ek_admission_uid_find(request->body.p, request->body.len, uid);

    ek_webhook_deny__(exchange, known ? uid : NULL, reason, why);
}

/* Takes the memory that the body is worth, before a parser sees it. A body that never fits is
 * denied; while others have the memory, the API server may repeat the request. */
static bool reserve(struct ek_webhook_exchange *exchange, const struct ek_http_request *request)
{
    struct ek_http_budget *work = &exchange->thread->webhook->work;
    size_t cost = ek_webhook_memory_of(request->body);

    if (ek_http_budget_take(work, cost, cost)) {
        exchange->reserved = cost;
        return true;
    }
    if (ek_http_budget_could(work, cost, cost)) {
        refuse(exchange, 503, EK_UNDECIDED_MEMORY, NO_MEMORY);
        return false;
    }
    deny_unread(exchange, request, EK_UNDECIDED_TOO_LARGE, EK_WEBHOOK_NO_ROOM);
    return false;
}

void ek_webhook_take_up__(struct ek_webhook_exchange *exchange,
                          const struct ek_http_request *request)
{
    struct ek_err err;

    if (!reserve(exchange, request)) {
        ek_webhook_exchange_done__(exchange);
        return;
    }
    bool unproven = exchange->review.request.unproven;
    if (ek_admission_review_parse(request->body.p, request->body.len, &exchange->review, &err)) {
        deny_unread(exchange, request,
                    err.code == EK_E_LIMIT ? EK_UNDECIDED_TOO_DEEP : undecided_by(err.code),
                    err.message);
        ek_webhook_exchange_done__(exchange);
        return;
    }
    exchange->review.request.unproven = unproven;
    exchange->endpoint->serve(exchange);
}

void ek_webhook_serve__(void *ctx, const struct ek_http_request *request,
                        struct ek_http_reply *reply)
{
    const struct ek_webhook_gate *gate = ctx;
    struct ek_webhook_exchange exchange = {.thread = gate->thread,
                                           .endpoint = gate->endpoint,
                                           .reply = reply,
                                           .start_ns = uv_hrtime()};
    int64_t timeout_ms = TIMEOUT_MS;
    struct ek_err err;

    ek_webhook_path_metrics_begin(&gate->endpoint->metrics);
    ek_http_query_each(request->query, read_timeout, &timeout_ms);
    bool proven = is_proven(gate, request);
    if (!proven && gate->thread->webhook->config.refuse_unproven) {
        ek_webhook_refuse__(&exchange, 403, "only API servers may send reviews");
        return;
    }
    if (proven)
        ek_http_reply_vouch(reply);
    if (!ek_media_type_is(ek_http_request_header(request, "content-type"), "application/json")) {
        ek_webhook_refuse__(&exchange, 415, "the body must be application/json");
        return;
    }
    exchange.name = name_of(request->path, gate->endpoint);
    if (request->cut) {
        ek_err_set(&err, EK_E_LIMIT, "the review has more than %zu bytes", EK_WEBHOOK_BODY_MAX);
        deny_unread(&exchange, request, EK_UNDECIDED_TOO_LARGE, err.message);
        ek_webhook_exchange_done__(&exchange);
        return;
    }
    exchange.review.request.unproven = !proven;
    exchange.deadline_ms = request->began_ms + answer_ms(timeout_ms);
    if (request->body.len >= EK_HTTP_COSTLY_BYTES)
        ek_webhook_hand_over__(&exchange, request);
    else
        ek_webhook_take_up__(&exchange, request);
}
