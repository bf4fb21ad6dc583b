/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's insides, shared by webhook.c (threads, snapshots) and webhook_serve.c (requests)
 * only. */
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

/* One serving thread. Its own but for what is guarded. */
struct ek_webhook_thread {
    struct ek_webhook *webhook;
    unsigned number;
    uv_thread_t id;
    uv_loop_t loop;
    uv_async_t async; /* something came in, or it is to stop */
    struct ek_webhook_inbox inbox;
    struct ek_http_route routes[1];
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
    uv_async_t ended; /* on the control loop: a thread's server is closed, or the thread ended */
    unsigned n_ended; /* guarded: threads that have left their loop */
    int n_closing;
    void (*stopped)(void *token);
    void *token;
};

/* The newest snapshot, a reference for the caller; NULL before the first. Any thread. */
struct ek_webhook_snapshot *ek_webhook_snapshot__(struct ek_webhook *webhook);

/* The handler of the route; ctx is the thread. */
void ek_webhook_serve__(void *ctx, const struct ek_http_request *request,
                        struct ek_http_reply *reply);

/* An ask has come back to its thread. Takes it. */
void ek_webhook_resume__(struct ek_webhook_thread *thread, struct ek_webhook_ask *ask);

/* The thread has nothing more to do for requests. */
void ek_webhook_idle__(struct ek_webhook_thread *thread);

#endif
