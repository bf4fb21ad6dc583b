/* SPDX-License-Identifier: Apache-2.0 */
/* Admission requests on a serving thread: from bytes to a review, and from a response to bytes. */
#include <string.h>

#include "api/time.h"
#include "controller/webhook-internal.h"

#define ARENA_MAX  ((size_t)64 << 20)
#define ARENA_KEEP ((size_t)4 << 20) /* what a thread keeps between requests */
#define ANSWER_MAX ((size_t)32 << 20)

/* The API server sends its own limit, at most 30 s (admissionregistration.k8s.io/v1). */
#define TIMEOUT_MS     10000
#define TIMEOUT_MAX_MS 30000

int64_t ek_webhook_now_ms__(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

bool ek_webhook_is_over__(const struct ek_webhook_exchange *exchange)
{
    return ek_webhook_now_ms__() >= exchange->deadline_ms ||
           (exchange->reply && ek_http_reply_is_orphan(exchange->reply));
}

struct ek_arena *ek_webhook_arena__(struct ek_webhook_thread *thread)
{
    if (thread->arena && ek_arena_used(thread->arena) > ARENA_KEEP) {
        ek_arena_free(thread->arena);
        thread->arena = NULL;
    }
    if (thread->arena)
        ek_arena_reset(thread->arena);
    else
        thread->arena = ek_arena_new(ARENA_MAX);
    return thread->arena;
}

/* ---- Answers ---- */

static void count(const struct ek_webhook_endpoint *endpoint, uint64_t start_ns, int status)
{
    ek_webhook_path_metrics_end(&endpoint->metrics, status, (double)(uv_hrtime() - start_ns) / 1e9);
}

void ek_webhook_refuse__(struct ek_webhook_exchange *exchange, int status, const char *text)
{
    struct ek_http_reply *reply = exchange->reply;

    exchange->reply = NULL;
    count(exchange->endpoint, exchange->start_ns, status);
    if (status == 503) /* with it, API servers repeat the review until its time is over */
        ek_http_reply_header(reply, "Retry-After", "1");
    ek_http_reply_text(reply, status, text);
}

void ek_webhook_answer__(struct ek_webhook_exchange *exchange,
                         const struct ek_admission_response *response)
{
    EK_AUTO(ek_buf) out;
    struct ek_http_reply *reply = exchange->reply;

    ek_buf_init(&out, ANSWER_MAX);
    if (ek_admission_response_write(response, &out)) {
        ek_webhook_refuse__(exchange, 500, "the answer is too large");
        return;
    }
    exchange->reply = NULL;
    count(exchange->endpoint, exchange->start_ns, 200);
    ek_http_reply_send(reply, 200, "application/json", ek_buf_str(&out), out.len);
}

void ek_webhook_exchange_done__(struct ek_webhook_exchange *exchange)
{
    ek_admission_review_done(&exchange->review);
    ek_free(exchange->name);
}

/* ---- Added handlers ---- */

void ek_webhook_handle__(struct ek_webhook_exchange *exchange)
{
    const struct ek_webhook_handler *handler = &exchange->endpoint->handler;
    struct ek_admission_response response = {0};
    struct ek_arena *arena = ek_webhook_arena__(exchange->thread);
    yyjson_mut_doc *patch = NULL;
    struct ek_err err = {0};

    int status = handler->review(handler->ctx, exchange->name, &exchange->review.request, arena,
                                 &response, &patch, &err);
    response.uid = exchange->review.request.uid;
    if (status)
        ek_webhook_refuse__(exchange, status, err.message);
    else if (ek_arena_exhausted(arena))
        ek_webhook_refuse__(exchange, 500, "the review takes too much memory");
    else if (ek_webhook_is_over__(exchange))
        ek_webhook_refuse__(exchange, 504, "the time for the request is over");
    else
        ek_webhook_answer__(exchange, &response);
    yyjson_mut_doc_free(patch);
    ek_webhook_exchange_done__(exchange);
}

/* ---- Requests ---- */

static void read_timeout(void *ctx, const char *name, const char *value)
{
    int64_t *timeout_ms = ctx;
    int64_t ms;

    if (!strcmp(name, "timeout") && !ek_duration_parse(value, &ms) && ms > 0)
        *timeout_ms = ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS;
}

/* With the path "/mutate", "/mutate" is "" and "/mutate/a" is "a". */
static char *name_of(const char *path, const struct ek_webhook_endpoint *endpoint)
{
    const char *rest = path + strlen(endpoint->path);

    return ek_xstrdup(*rest == '/' ? rest + 1 : rest);
}

static bool is_json(const struct ek_http_request *request)
{
    const char *type = ek_http_request_header(request, "content-type");
    size_t len = strlen("application/json");

    return type && !strncmp(type, "application/json", len) &&
           (!type[len] || type[len] == ';' || type[len] == ' ');
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
    if (!is_json(request)) {
        ek_webhook_refuse__(&exchange, 415, "the body must be application/json");
        return;
    }
    if (ek_admission_review_parse(request->body.p, request->body.len, &exchange.review, &err)) {
        ek_webhook_refuse__(&exchange, 400, err.message);
        return;
    }
    ek_http_query_each(request->query, read_timeout, &timeout_ms);
    exchange.deadline_ms = ek_webhook_now_ms__() + timeout_ms;
    exchange.name = name_of(request->path, gate->endpoint);
    gate->endpoint->serve(&exchange);
}
