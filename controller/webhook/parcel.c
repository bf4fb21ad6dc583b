/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews on their way to the thread for large ones, and their answers on the way back. */
#include "controller/webhook/webhook-internal.h"

#define ANSWER_MAX ((size_t)32 << 20)

struct ek_webhook_parcel {
    struct ek_webhook_exchange exchange; /* on the way there */
    const struct ek_http_request *request;
    struct ek_webhook_thread *home; /* of the reply */
    struct ek_http_reply *reply;
    int status; /* of the answer, on the way back */
    const char *type;
    struct ek_buf body;
    struct ek_webhook_parcel *next;
};

static void post(struct ek_webhook_thread *thread, struct ek_webhook_parcel *parcel)
{
    struct ek_webhook_inbox *inbox = &thread->inbox;

    pthread_mutex_lock(&inbox->lock);
    parcel->next = thread->parcels;
    thread->parcels = parcel;
    uv_async_send(inbox->async);
    pthread_mutex_unlock(&inbox->lock);
}

/* Sends the answer of a request: type NULL is a line of plain text. On the thread of the reply. */
static void send_answer(struct ek_http_reply *reply, int status, const char *type, const char *body,
                        size_t size)
{
    if (status == 503) /* with it, API servers repeat the review until its time is over */
        ek_http_reply_header(reply, "Retry-After", "1");
    if (type)
        ek_http_reply_send(reply, status, type, body, size);
    else
        ek_http_reply_text(reply, status, body);
}

void ek_webhook_hand_over__(struct ek_webhook_exchange *exchange,
                            const struct ek_http_request *request)
{
    struct ek_webhook_thread *home = exchange->thread;
    struct ek_webhook *webhook = home->webhook;
    struct ek_webhook_parcel *parcel = ek_xalloc(sizeof *parcel);

    ek_http_server_pause_costly(home->server, true);
    home->n_waiting++;
    exchange->thread = &webhook->threads[webhook->n_threads];
    exchange->parcel = parcel;
    *parcel = (struct ek_webhook_parcel){
        .exchange = *exchange, .request = request, .home = home, .reply = exchange->reply};
    post(exchange->thread, parcel);
}

void ek_webhook_reply__(struct ek_webhook_exchange *exchange, int status, const char *type,
                        const char *body, size_t size)
{
    struct ek_webhook_parcel *parcel = exchange->parcel;
    struct ek_http_reply *reply = exchange->reply;

    exchange->reply = NULL;
    exchange->parcel = NULL;
    if (!parcel) {
        send_answer(reply, status, type, body, size);
        return;
    }
    parcel->status = status;
    parcel->type = type;
    ek_buf_init(&parcel->body, ANSWER_MAX);
    ek_buf_append(&parcel->body, body, size);
    post(parcel->home, parcel);
}

/* On the thread of the reply: the next large review of the thread may go. */
static void deliver(struct ek_webhook_parcel *parcel)
{
    struct ek_webhook_thread *home = parcel->home;
    struct ek_buf *body = &parcel->body;

    if (body->failed)
        send_answer(parcel->reply, 503, NULL, "no memory is available for the answer", 0);
    else
        send_answer(parcel->reply, parcel->status, parcel->type, ek_buf_str(body), body->len);
    ek_buf_done(body);
    ek_free(parcel);
    home->n_waiting--;
    if (home->server)
        ek_http_server_pause_costly(home->server, false);
    ek_webhook_idle__(home);
}

void ek_webhook_open_parcels__(struct ek_webhook_thread *thread)
{
    pthread_mutex_lock(&thread->inbox.lock);
    struct ek_webhook_parcel *parcels = thread->parcels;
    thread->parcels = NULL;
    pthread_mutex_unlock(&thread->inbox.lock);
    for (struct ek_webhook_parcel *parcel = parcels, *next; parcel; parcel = next) {
        next = parcel->next;
        if (parcel->home == thread) {
            deliver(parcel);
        } else {
            struct ek_webhook_exchange exchange = parcel->exchange;
            ek_webhook_take_up__(&exchange, parcel->request);
        }
    }
}
