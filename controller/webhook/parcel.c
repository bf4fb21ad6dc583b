/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews on their way to the thread for large ones, and their answers on the way back. */
#include "controller/webhook/webhook-internal.h"

struct ek_webhook_parcel {
    struct ek_webhook_exchange exchange; /* on the way there */
    const struct ek_http_request *request;
    struct ek_webhook_thread *home; /* of the reply */
    struct ek_http_reply *reply;
    int status; /* of the answer, on the way back */
    const char *type;
    struct ek_buf body;
    char *uid;      /* of the review, owned; NULL: the body is short */
    size_t charged; /* bytes of the work budget, for body */
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

/* On the thread of the reply. */
static void send_answer(struct ek_webhook_exchange *exchange, const char *uid, int status,
                        const char *type, const struct ek_buf *body)
{
    struct ek_http_reply *reply = exchange->reply;

    if (uid && !ek_http_reply_fits(reply, body->len)) {
        ek_webhook_deny__(exchange, uid, EK_UNDECIDED_TOO_LARGE,
                          "the answer is too large for the connection");
        return;
    }
    exchange->reply = NULL;
    ek_webhook_path_metrics_end(&exchange->endpoint->metrics, status,
                                (double)(uv_hrtime() - exchange->start_ns) / 1e9);
    if (status == 503) /* with it, API servers repeat the review until its time is over */
        ek_http_reply_header(reply, "Retry-After", "1");
    if (type)
        ek_http_reply_send(reply, status, type, ek_buf_str(body), body->len);
    else
        ek_http_reply_text(reply, status, ek_buf_str(body));
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

void ek_webhook_reply__(struct ek_webhook_exchange *exchange, const char *uid, int status,
                        const char *type, struct ek_buf *body)
{
    struct ek_webhook_parcel *parcel = exchange->parcel;

    if (!parcel) {
        send_answer(exchange, uid, status, type, body);
        return;
    }
    exchange->reply = NULL;
    exchange->parcel = NULL;
    parcel->uid = uid ? ek_xstrdup(uid) : NULL;
    parcel->status = status;
    parcel->type = type;
    parcel->body = *body;
    ek_buf_init(body, 0);
    /* The exchange has taken them for its answer, and gives them back before this one arrives. */
    parcel->charged = parcel->body.cap;
    ek_http_budget_force(&parcel->home->webhook->work, parcel->charged);
    post(parcel->home, parcel);
}

/* On the thread of the reply: the next large review of the thread may go. */
static void deliver(struct ek_webhook_parcel *parcel)
{
    struct ek_webhook_thread *home = parcel->home;
    struct ek_webhook_exchange exchange = {.thread = home,
                                           .endpoint = parcel->exchange.endpoint,
                                           .reply = parcel->reply,
                                           .start_ns = parcel->exchange.start_ns};

    send_answer(&exchange, parcel->uid, parcel->status, parcel->type, &parcel->body);
    ek_buf_done(&parcel->body);
    ek_http_budget_give(&home->webhook->work, parcel->charged);
    ek_free(parcel->uid);
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
