/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's insides, shared by webhook.c (threads, snapshots), serve.c (requests, from
 * bytes to review and back), parcel.c (reviews that change their thread) and rounds.c (the
 * policies) only. */
#ifndef CONTROLLER_WEBHOOK_WEBHOOK_INTERNAL_H
#define CONTROLLER_WEBHOOK_WEBHOOK_INTERNAL_H

#include "api/base/arena.h"
#include "controller/http/server.h"
#include "controller/webhook/asks.h"
#include "controller/webhook/memory.h"
#include "controller/webhook/metrics.h"
#include "controller/webhook/webhook.h"
#include "controller/webhook/world.h"

#define EK_WEBHOOK_ENDPOINTS_MAX (3 + EK_WEBHOOK_HANDLERS_MAX)

struct ek_webhook_exchange;

/* A path and who answers under it. Does not change after the start. */
struct ek_webhook_endpoint {
    const char *path;
    /* Answers now, or moves the exchange away and does so later. */
    void (*serve)(struct ek_webhook_exchange *exchange);
    struct ek_webhook_handler handler; /* for those that were added */
    struct ek_webhook_path_metrics metrics;
};

/* An endpoint on a thread: what a route leads to. */
struct ek_webhook_gate {
    struct ek_webhook_thread *thread;
    const struct ek_webhook_endpoint *endpoint;
};

/*
 * A thread. Its own but for what is guarded. Serving threads have a server each. The thread for
 * large reviews has none: a serving thread hands it one costly request (server.h) at a time, so
 * that a review of megabytes delays no other request of its serving thread.
 */
struct ek_webhook_thread {
    struct ek_webhook *webhook;
    unsigned number;
    uv_thread_t id;
    uv_loop_t loop;
    uv_async_t async; /* something came in, or it is to stop */
    struct ek_webhook_inbox inbox;
    struct ek_webhook_parcel *parcels; /* guarded by the lock of inbox: what came in */
    struct ek_webhook_gate gates[EK_WEBHOOK_ENDPOINTS_MAX];
    struct ek_http_route routes[EK_WEBHOOK_ENDPOINTS_MAX];
    struct ek_http_server *server; /* NULL: closed, or it has none */
    struct ek_lru reviews;
    struct ek_arena *arena;
    size_t taken;       /* bytes of the work budget that it has */
    size_t refused;     /* bytes that it was refused last */
    size_t n_waiting;   /* requests that wait for answers of the API server, or of another thread */
    bool stopping;      /* its server is being closed */
    bool server_closed; /* nothing new will come */
};

/* Not closed again by anybody: OPEN; DRAINING: requests under way are finished; STOPPED: the
 * threads have ended. */
enum ek_webhook_state { EK_WEBHOOK_NEW, EK_WEBHOOK_OPEN, EK_WEBHOOK_DRAINING, EK_WEBHOOK_STOPPED };

struct ek_webhook {
    struct ek_webhook_config config;
    char *bind_address;
    char address[128];
    enum ek_webhook_state state; /* the control loop's */
    pthread_mutex_t lock;        /* held to take or replace the pointer, and for n_serving */
    struct ek_webhook_snapshot *snapshot; /* guarded */
    struct ek_webhook_callers *callers;   /* guarded; NULL: everybody is proven */
    bool stopping;                        /* guarded: threads are to close their servers */
    bool served;                          /* guarded: serving threads have ended */
    unsigned n_serving;                   /* guarded: threads whose server is not closed */
    struct ek_webhook_memory memory;
    struct ek_http_budget work;                          /* for requests that are here */
    struct ek_http_meter meters[EK_WEBHOOK_THREADS_MAX]; /* of the threads' servers */
    struct ek_webhook_thread *threads; /* those that serve, then the one for large reviews */
    unsigned n_threads;                /* that serve */
    struct ek_webhook_asker *asker;
    struct ek_webhook_metrics metrics;
    struct ek_webhook_observer observer;
    struct ek_webhook_endpoint endpoints[EK_WEBHOOK_ENDPOINTS_MAX];
    size_t n_endpoints;
    uv_async_t ended; /* on the control loop: a thread's server is closed, or the thread ended */
    unsigned n_ended; /* guarded: threads that have left their loop */
    int n_closing;
    void (*stopped)(void *token);
    void *token;
};

/* The newest snapshot, a reference for the caller; NULL before the first. Any thread. */
struct ek_webhook_snapshot *ek_webhook_snapshot__(struct ek_webhook *webhook);

/* Whether the address of a connection is an API server's. Any thread. */
bool ek_webhook_is_proven__(struct ek_webhook *webhook, const char *remote);

/* ---- Requests (serve.c) ---- */

/* One request that is a review, from its arrival to its answer. May be moved. */
struct ek_webhook_exchange {
    struct ek_webhook_thread *thread;
    const struct ek_webhook_endpoint *endpoint;
    struct ek_http_reply *reply;      /* NULL once it is answered */
    struct ek_webhook_parcel *parcel; /* thread is not the reply's: how the answer goes there */
    struct ek_admission_review review;
    char *name;      /* what follows the endpoint's path and "/", "" for nothing */
    size_t reserved; /* bytes of the work budget, for what the body is parsed to and the answer */
    uint64_t start_ns;
    int64_t deadline_ms; /* for the answer; by ek_webhook_now_ms__ */
};

/* The handler of all routes; ctx is a gate. */
void ek_webhook_serve__(void *ctx, const struct ek_http_request *request,
                        struct ek_http_reply *reply);

/* Reads the review of a request and has it answered, on the thread of the exchange. */
void ek_webhook_take_up__(struct ek_webhook_exchange *exchange,
                          const struct ek_http_request *request);

/* The serve function of added handlers. */
void ek_webhook_handle__(struct ek_webhook_exchange *exchange);

/* Answer it: by an HTTP status and a line of text, after which failurePolicy decides; or by a
 * review. Once. A response that is too large to be written, or to be held for the client, becomes a
 * denial. */
void ek_webhook_refuse__(struct ek_webhook_exchange *exchange, int status, const char *text);
void ek_webhook_answer__(struct ek_webhook_exchange *exchange,
                         const struct ek_admission_response *response);

/* The first half of ek_webhook_answer__, for who counts what the answer says: writes it to out (an
 * empty buffer without memory), for ek_webhook_send__. False when something else has been answered
 * because there is no memory for it. */
bool ek_webhook_write__(struct ek_webhook_exchange *exchange,
                        const struct ek_admission_response *response, struct ek_buf *out);

/* The second half. Takes the content of out. */
void ek_webhook_send__(struct ek_webhook_exchange *exchange, struct ek_buf *out);

/* Denies the request of uid (NULL or "": of which nothing can be read; then an HTTP error is all
 * that can be said) because it cannot be decided, whatever its failurePolicy. Logs and counts it.
 */
void ek_webhook_deny__(struct ek_webhook_exchange *exchange, const char *uid,
                       enum ek_undecided reason, const char *why);

/* Releases what it holds; it has been answered. */
void ek_webhook_exchange_done__(struct ek_webhook_exchange *exchange);

/* True when it is time to answer, or the client has gone. */
bool ek_webhook_is_over__(const struct ek_webhook_exchange *exchange);

/* Logs and counts that a review was not decided for that reason, and what became of it. */
void ek_webhook_undecided__(const struct ek_webhook_exchange *exchange, const char *why, int code,
                            bool denied);

/* The thread's clock, monotonic. */
int64_t ek_webhook_now_ms__(void);

/* Why a review is denied, or let through by failurePolicy, that lacks memory whatever others do. */
#define EK_WEBHOOK_NO_ROOM "the review takes more memory than the webhook has"

/* Whether the run in the arena lacked memory that others have at the moment; then it is refused by
 * 503, whatever it came to. What is void although this is false (ek_arena_starved) takes more
 * memory than there ever is: asking again would be in vain, so the run has failed. */
bool ek_webhook_is_starved__(struct ek_webhook_exchange *exchange);

/* An empty arena for one run: the thread's. Good until ek_webhook_rest__. */
struct ek_arena *ek_webhook_arena__(struct ek_webhook_thread *thread);

/* After a run: gives its memory back, but for a little. */
void ek_webhook_rest__(struct ek_webhook_thread *thread);

/* ---- Reviews that change their thread (parcel.c) ---- */

/* Hands the exchange over to the thread for large reviews; no other costly request of this thread
 * follows until it is answered. request lives as long as the reply. */
void ek_webhook_hand_over__(struct ek_webhook_exchange *exchange,
                            const struct ek_http_request *request);

/* Sends the answer from whatever thread the exchange is on, and counts it: the last use of its
 * reply. Takes the content of body; without a type it is a line of text. If the listener cannot
 * hold it, the review of uid is denied; NULL: it is short. */
void ek_webhook_reply__(struct ek_webhook_exchange *exchange, const char *uid, int status,
                        const char *type, struct ek_buf *body);

/* Works on what has come to the thread: reviews, or answers of the thread for large ones. */
void ek_webhook_open_parcels__(struct ek_webhook_thread *thread);

/* ---- Policies (rounds.c) ---- */

/* The serve functions of /mutate, /validate and /policy-definition. */
void ek_webhook_mutate__(struct ek_webhook_exchange *exchange);
void ek_webhook_validate__(struct ek_webhook_exchange *exchange);
void ek_webhook_define__(struct ek_webhook_exchange *exchange);

/* An ask has come back to its thread. Takes it. */
void ek_webhook_resume__(struct ek_webhook_thread *thread, struct ek_webhook_ask *ask);

/* ---- Threads (webhook.c) ---- */

/* The thread has nothing more to do for requests. */
void ek_webhook_idle__(struct ek_webhook_thread *thread);

#endif
