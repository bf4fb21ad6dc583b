/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/relay.h"

#include <openssl/crypto.h>

struct ek_review_relay {
    struct ek_webhook_asker *asker;
    struct ek_webhook_inbox inbox;
    unsigned long long n_sent; /* each is a question of its own */
    size_t n_waiting;
};

/* What is known as struct ek_call outside. */
struct call {
    ek_response_fn on_done; /* NULL once it is canceled */
    void *ctx;
};

struct ek_review_relay *ek_review_relay_new(struct ek_webhook_asker *asker, uv_async_t *async)
{
    struct ek_review_relay *relay = ek_xalloc(sizeof *relay);

    relay->asker = asker;
    ek_webhook_inbox_init(&relay->inbox, async);
    return relay;
}

/* Each review is a request of its own; one document of an API server is read once for all who wait
 * for it. */
static char *key_of(struct ek_review_relay *relay, const struct ek_request *request)
{
    if (!request->connect_to)
        return ek_xasprintf("scrape %llu", ++relay->n_sent);
    /* No part has a line end, so that two requests with one key are equal. */
    return ek_xasprintf("document\n%s\n%s\n%s\n%s", request->connect_to, request->path,
                        request->accept ? request->accept : "",
                        request->if_none_match ? request->if_none_match : "");
}

static char *copy(const char *text)
{
    return text ? ek_xstrdup(text) : NULL;
}

static struct ek_call *send_review(void *ctx, const struct ek_request *request,
                                   ek_response_fn on_done, void *done_ctx)
{
    struct ek_review_relay *relay = ctx;
    struct call *call = ek_xalloc(sizeof *call);
    char *body = request->body ? ek_xstrndup(request->body, request->body_size) : NULL;
    struct ek_webhook_ask *ask = ek_webhook_ask_new(
        key_of(relay, request), ek_xstrdup(request->path), body, body ? request->body_size : 0);

    if (request->connect_to)
        ask->target = (struct ek_webhook_target){.address = ek_xstrdup(request->connect_to),
                                                 .host = copy(request->own_name),
                                                 .accept = copy(request->accept),
                                                 .if_none_match = copy(request->if_none_match),
                                                 .max_body = request->max_body};
    *call = (struct call){on_done, done_ctx};
    ask->timeout_ms = request->timeout_ms;
    ask->inbox = &relay->inbox;
    ask->owner = call;
    relay->n_waiting++;
    ek_webhook_asker_post(relay->asker, ask);
    return (struct ek_call *)call;
}

static void cancel_review(void *ctx, struct ek_call *call)
{
    (void)ctx;
    ((struct call *)call)->on_done = NULL;
}

struct ek_reviewer ek_review_relay_reviewer(struct ek_review_relay *relay)
{
    return (struct ek_reviewer){.send = send_review, .cancel = cancel_review, .ctx = relay};
}

static void hand_on(struct ek_webhook_ask *ask)
{
    struct call *call = ask->owner;
    const struct ek_response response = {.status = ask->status,
                                         .body = {ask->answer, ask->answer_size},
                                         .content_type = ask->content_type,
                                         .etag = ask->etag,
                                         .warning = ""};

    if (call->on_done)
        call->on_done(call->ctx, ask->status ? &response : NULL, ask->err.code ? &ask->err : NULL);
    ek_free(call);
}

void ek_review_relay_run(struct ek_review_relay *relay)
{
    for (struct ek_webhook_ask *ask = ek_webhook_inbox_take(&relay->inbox), *next; ask;
         ask = next) {
        next = ask->next;
        relay->n_waiting--;
        hand_on(ask);
        if (ask->body)
            OPENSSL_cleanse(ask->body, ask->body_size);
        ek_webhook_ask_free(ask);
    }
}

bool ek_review_relay_is_idle(const struct ek_review_relay *relay)
{
    return relay->n_waiting == 0;
}

void ek_review_relay_free(struct ek_review_relay *relay)
{
    if (!relay)
        return;
    ek_webhook_inbox_done(&relay->inbox);
    ek_free(relay);
}
