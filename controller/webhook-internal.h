/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's insides, shared by webhook.c (threads, snapshots), webhook_serve.c (requests, from
 * bytes to review and back) and webhook_rounds.c (the policies) only. */
#ifndef CONTROLLER_WEBHOOK_INTERNAL_H
#define CONTROLLER_WEBHOOK_INTERNAL_H

#include "api/arena.h"
#include "controller/http_server.h"
#include "controller/webhook.h"
#include "controller/webhook_asks.h"
#include "controller/webhook_metrics.h"
#include "controller/webhook_world.h"

/* API servers send objects of up to 3 MiB, an update both the old and the new one. */
#define EK_WEBHOOK_BODY_MAX ((size_t)10 << 20)

#define EK_WEBHOOK_ENDPOINTS_MAX (2 + EK_WEBHOOK_HANDLERS_MAX)

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

/* One serving thread. Its own but for what is guarded. */
struct ek_webhook_thread {
    struct ek_webhook *webhook;
    unsigned number;
    uv_thread_t id;
    uv_loop_t loop;
    uv_async_t async; /* something came in, or it is to stop */
    struct ek_webhook_inbox inbox;
    struct ek_webhook_gate gates[EK_WEBHOOK_ENDPOINTS_MAX];
    struct ek_http_route routes[EK_WEBHOOK_ENDPOINTS_MAX];
    struct ek_http_server *server;
    struct ek_lru reviews;
    struct ek_arena *arena;
    size_t n_waiting; /* requests that wait for answers of the API server */
    bool server_closed;
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
    bool stopping;                        /* guarded: threads are to close their servers */
    unsigned n_serving;                   /* guarded: threads whose server is not closed */
    struct ek_webhook_thread *threads;
    unsigned n_threads;
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

/* ---- Requests (webhook_serve.c) ---- */

/* One request that is a review, from its arrival to its answer. May be moved. */
struct ek_webhook_exchange {
    struct ek_webhook_thread *thread;
    const struct ek_webhook_endpoint *endpoint;
    struct ek_http_reply *reply; /* NULL once it is answered */
    struct ek_admission_review review;
    char *name; /* what follows the endpoint's path and "/", "" for nothing */
    uint64_t start_ns;
    int64_t deadline_ms; /* by ek_webhook_now_ms__ */
};

/* The handler of all routes; ctx is a gate. */
void ek_webhook_serve__(void *ctx, const struct ek_http_request *request,
                        struct ek_http_reply *reply);

/* The serve function of added handlers. */
void ek_webhook_handle__(struct ek_webhook_exchange *exchange);

/* Answer it: by an HTTP status and a line of text, or by a review. Once. */
void ek_webhook_refuse__(struct ek_webhook_exchange *exchange, int status, const char *text);
void ek_webhook_answer__(struct ek_webhook_exchange *exchange,
                         const struct ek_admission_response *response);

/* Releases what it holds; it has been answered. */
void ek_webhook_exchange_done__(struct ek_webhook_exchange *exchange);

/* True when nobody waits for the answer any more; on the way to it too. */
bool ek_webhook_is_over__(const struct ek_webhook_exchange *exchange);

/* The thread's clock, monotonic. */
int64_t ek_webhook_now_ms__(void);

/* An empty arena for one run: the thread's, which remembers its memory as long as that is little.
 * Good until the next call. */
struct ek_arena *ek_webhook_arena__(struct ek_webhook_thread *thread);

/* ---- Policies (webhook_rounds.c) ---- */

/* The serve functions of /mutate and /validate. */
void ek_webhook_mutate__(struct ek_webhook_exchange *exchange);
void ek_webhook_validate__(struct ek_webhook_exchange *exchange);

/* An ask has come back to its thread. Takes it. */
void ek_webhook_resume__(struct ek_webhook_thread *thread, struct ek_webhook_ask *ask);

/* ---- Threads (webhook.c) ---- */

/* The thread has nothing more to do for requests. */
void ek_webhook_idle__(struct ek_webhook_thread *thread);

#endif
