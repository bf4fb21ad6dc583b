/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of serving threads to API servers, sent on the control loop, where the API client
 * lives.
 *
 * An ask travels: a thread fills it and posts it; the control loop sends it (one request for all
 * asks of the same key and sort of sender that are under way) and puts the outcome in; it comes
 * back to the inbox of the thread, whose async is sent. Each ask that was posted comes back,
 * exactly once, also when everything stops. Who holds it owns it.
 *
 * Threading: ek_webhook_asker_post from any thread, inboxes from their own thread, the rest on the
 * control loop.
 */
#ifndef CONTROLLER_WEBHOOK_ASKS_H
#define CONTROLLER_WEBHOOK_ASKS_H

#include <pthread.h>
#include <uv.h>

#include "controller/http/metrics_auth.h"

/* Requests under way at once, for all threads; further requests fail. The share of reviews that may
 * be forged leaves room for those of API servers. */
#define EK_WEBHOOK_ASKS_MAX          512
#define EK_WEBHOOK_ASKS_UNPROVEN_MAX 128

struct ek_webhook_ask;

struct ek_webhook_inbox {
    pthread_mutex_t lock;
    struct ek_webhook_ask *first; /* guarded */
    uv_async_t *async;            /* sent when something came in */
};

/* A GET of one API server, which must prove that it is the one at the address before it gets the
 * credentials (informers/client/client.h: own_name). Owned; a zeroed struct is none. */
struct ek_webhook_target {
    char *address, *host;         /* address NULL: the configured server, for any request */
    char *accept, *if_none_match; /* NULL for none */
    size_t max_body;
};

struct ek_webhook_ask {
    char *key;  /* requests with one key are the same request */
    char *path; /* of a GET, or of a POST when there is a body */
    char *body;
    size_t body_size;
    struct ek_webhook_target target;
    int64_t timeout_ms;
    bool unproven;                  /* for a review that may be forged */
    struct ek_webhook_inbox *inbox; /* where it comes back to */
    void *owner;                    /* the requester */
    struct ek_err err;              /* code 0: it was answered with 2xx or 304 */
    int status;                     /* of the answer; 0: there is none */
    char *content_type, *etag;      /* of the answer; NULL: there is none */
    char *answer;                   /* its body */
    size_t answer_size;
    struct ek_webhook_ask *next;
};

/* Takes the strings. */
struct ek_webhook_ask *ek_webhook_ask_new(char *key, char *path, char *body, size_t body_size);
void ek_webhook_ask_free(struct ek_webhook_ask *ask); /* NULL is fine */

void ek_webhook_inbox_init(struct ek_webhook_inbox *inbox, uv_async_t *async);
void ek_webhook_inbox_done(struct ek_webhook_inbox *inbox);

/* All that has come in, as a list linked by next. */
struct ek_webhook_ask *ek_webhook_inbox_take(struct ek_webhook_inbox *inbox);

struct ek_webhook_asker;

/* loop is the control loop; reviewer.send NULL: every ask fails. */
struct ek_webhook_asker *ek_webhook_asker_new(uv_loop_t *loop, const struct ek_reviewer *reviewer);

/* Hands the ask over. */
void ek_webhook_asker_post(struct ek_webhook_asker *asker, struct ek_webhook_ask *ask);

/* Cancels what is under way: it comes back with EK_E_CANCELED, as does all that is posted from now
 * on. */
void ek_webhook_asker_cancel(struct ek_webhook_asker *asker);

/* Releases it when no thread will post any more; on_closed is called from the loop. */
void ek_webhook_asker_close(struct ek_webhook_asker *asker, void (*on_closed)(void *ctx),
                            void *ctx);

#endif
