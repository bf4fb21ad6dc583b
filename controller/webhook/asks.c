/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/asks.h"

#include "api/base/map.h"

#define ANSWER_MAX ((size_t)1024 * 1024)

/* A request under way, and who waits for it. */
struct flight {
    struct ek_webhook_asker *asker;
    struct ek_call *call;
    char *key; /* in flights */
    bool unproven;
    struct ek_webhook_ask *asks;
};

struct ek_webhook_asker {
    struct ek_reviewer reviewer;
    uv_async_t async;
    pthread_mutex_t lock;
    struct ek_webhook_ask *posted; /* guarded; newest first */
    struct ek_map flights;         /* by key and sort of sender */
    size_t n_unproven;             /* of them */
    bool canceled;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

/* ---- Asks and inboxes ---- */

struct ek_webhook_ask *ek_webhook_ask_new(char *key, char *path, char *body, size_t body_size)
{
    struct ek_webhook_ask *ask = ek_xalloc(sizeof *ask);

    ask->key = key;
    ask->path = path;
    ask->body = body;
    ask->body_size = body_size;
    return ask;
}

void ek_webhook_ask_free(struct ek_webhook_ask *ask)
{
    if (!ask)
        return;
    ek_free(ask->key);
    ek_free(ask->path);
    ek_free(ask->body);
    ek_free(ask->target.address);
    ek_free(ask->target.host);
    ek_free(ask->target.accept);
    ek_free(ask->target.if_none_match);
    ek_free(ask->content_type);
    ek_free(ask->etag);
    ek_free(ask->answer);
    ek_free(ask);
}

void ek_webhook_inbox_init(struct ek_webhook_inbox *inbox, uv_async_t *async)
{
    *inbox = (struct ek_webhook_inbox){.async = async};
    pthread_mutex_init(&inbox->lock, NULL);
}

void ek_webhook_inbox_done(struct ek_webhook_inbox *inbox)
{
    pthread_mutex_destroy(&inbox->lock);
}

struct ek_webhook_ask *ek_webhook_inbox_take(struct ek_webhook_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    struct ek_webhook_ask *asks = inbox->first;
    inbox->first = NULL;
    pthread_mutex_unlock(&inbox->lock);
    return asks;
}

/* The async is sent under the lock: once the ask is taken, its thread may end and close it. */
static void give_back(struct ek_webhook_ask *ask)
{
    struct ek_webhook_inbox *inbox = ask->inbox;

    pthread_mutex_lock(&inbox->lock);
    ask->next = inbox->first;
    inbox->first = ask;
    uv_async_send(inbox->async);
    pthread_mutex_unlock(&inbox->lock);
}

static void fail(struct ek_webhook_ask *ask, int code, const char *why)
{
    ek_err_set(&ask->err, code, "%s", why);
    give_back(ask);
}

/* ---- Requests ---- */

/* Takes the flight out of the air and returns who waits for it. */
static struct ek_webhook_ask *land(struct flight *flight)
{
    struct ek_webhook_ask *asks = flight->asks;

    ek_map_take(&flight->asker->flights, flight->key);
    flight->asker->n_unproven -= flight->unproven;
    ek_free(flight->key);
    ek_free(flight);
    return asks;
}

static void keep(struct ek_webhook_ask *ask, const struct ek_response *resp)
{
    ask->status = resp->status;
    ask->content_type = ek_xstrdup(resp->content_type ? resp->content_type : "");
    ask->etag = ek_xstrdup(resp->etag ? resp->etag : "");
    ask->answer_size = resp->body.len;
    ask->answer = ek_xstrndup(resp->body.p ? resp->body.p : "", resp->body.len);
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_webhook_ask *asks = land(ctx);

    for (struct ek_webhook_ask *ask = asks, *next; ask; ask = next) {
        next = ask->next;
        if (err)
            ask->err = *err;
        if (resp && resp->status > 0)
            keep(ask, resp);
        give_back(ask);
    }
}

/* Who forges reviews decides on the time of such a flight: nobody else goes with it. */
static char *flight_key(const struct ek_webhook_ask *ask)
{
    return ek_xasprintf("%s %s", ask->unproven ? "unproven" : "proven", ask->key);
}

static void take_off(struct ek_webhook_asker *asker, struct ek_webhook_ask *ask)
{
    struct flight *flight = ek_xalloc(sizeof *flight);
    const struct ek_webhook_target *target = &ask->target;

    ask->next = NULL;
    *flight = (struct flight){
        .asker = asker, .key = flight_key(ask), .unproven = ask->unproven, .asks = ask};
    ek_map_put(&asker->flights, flight->key, flight);
    asker->n_unproven += ask->unproven;
    flight->call = asker->reviewer.send(
        asker->reviewer.ctx,
        &(struct ek_request){.method = ask->body ? "POST" : "GET",
                             .path = ask->path,
                             .content_type = ask->body ? "application/json" : NULL,
                             .body = ask->body,
                             .body_size = ask->body_size,
                             .timeout_ms = ask->timeout_ms,
                             .accept = target->accept,
                             .if_none_match = target->if_none_match,
                             .connect_to = target->address,
                             .own_name = target->host,
                             .no_retry = target->address != NULL,
                             .max_body = target->address ? target->max_body : ANSWER_MAX},
        on_answer, flight);
}

static void ask_server(struct ek_webhook_asker *asker, struct ek_webhook_ask *ask)
{
    EK_AUTOFREE char *key = flight_key(ask);
    struct flight *flight = ek_map_get(&asker->flights, key);

    if (asker->canceled) {
        fail(ask, EK_E_CANCELED, "shutting down");
    } else if (flight) {
        ask->next = flight->asks->next;
        flight->asks->next = ask;
    } else if (!asker->reviewer.send) {
        fail(ask, EK_E_UNSUPPORTED, "no API server is configured for this request");
    } else if (asker->flights.n >= EK_WEBHOOK_ASKS_MAX ||
               (ask->unproven && asker->n_unproven >= EK_WEBHOOK_ASKS_UNPROVEN_MAX)) {
        fail(ask, EK_E_LIMIT, "too many concurrent requests to the API server");
    } else {
        take_off(asker, ask);
    }
}

static void on_posted(uv_async_t *async)
{
    struct ek_webhook_asker *asker = async->data;

    pthread_mutex_lock(&asker->lock);
    struct ek_webhook_ask *asks = asker->posted;
    asker->posted = NULL;
    pthread_mutex_unlock(&asker->lock);
    for (struct ek_webhook_ask *next; asks; asks = next) {
        next = asks->next;
        ask_server(asker, asks);
    }
}

struct ek_webhook_asker *ek_webhook_asker_new(uv_loop_t *loop, const struct ek_reviewer *reviewer)
{
    struct ek_webhook_asker *asker = ek_xalloc(sizeof *asker);

    asker->reviewer = *reviewer;
    pthread_mutex_init(&asker->lock, NULL);
    ek_map_init(&asker->flights);
    uv_async_init(loop, &asker->async, on_posted);
    asker->async.data = asker;
    return asker;
}

void ek_webhook_asker_post(struct ek_webhook_asker *asker, struct ek_webhook_ask *ask)
{
    pthread_mutex_lock(&asker->lock);
    ask->next = asker->posted;
    asker->posted = ask;
    uv_async_send(&asker->async);
    pthread_mutex_unlock(&asker->lock);
}

void ek_webhook_asker_cancel(struct ek_webhook_asker *asker)
{
    void *value;

    asker->canceled = true;
    for (size_t cursor = 0; ek_map_next(&asker->flights, &cursor, NULL, &value); cursor = 0) {
        struct flight *flight = value;
        asker->reviewer.cancel(asker->reviewer.ctx, flight->call);
        for (struct ek_webhook_ask *ask = land(flight), *next; ask; ask = next) {
            next = ask->next;
            fail(ask, EK_E_CANCELED, "shutting down");
        }
    }
}

static void on_async_closed(uv_handle_t *handle)
{
    struct ek_webhook_asker *asker = handle->data;
    void (*on_closed)(void *ctx) = asker->on_closed;
    void *ctx = asker->on_closed_ctx;

    ek_map_done(&asker->flights);
    pthread_mutex_destroy(&asker->lock);
    ek_free(asker);
    if (on_closed)
        on_closed(ctx);
}

void ek_webhook_asker_close(struct ek_webhook_asker *asker, void (*on_closed)(void *ctx), void *ctx)
{
    asker->on_closed = on_closed;
    asker->on_closed_ctx = ctx;
    uv_close((uv_handle_t *)&asker->async, on_async_closed);
}
