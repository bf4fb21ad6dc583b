/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's threads, and the snapshot that they share. */
#include "controller/webhook/webhook.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/base/stack.h"
#include "api/base/time.h"
#include "controller/webhook/webhook-internal.h"
#include "informers/clock.h"
#include "reconcilers/mutation/registration.h"

#define THREADS_DEFAULT  4
#define GRACE_MS         25000
#define CONNECTIONS_MAX  1024 /* of all threads */
#define CONNECTION_SIZE  ((size_t)64 * 1024)
#define REPLY_TIMEOUT_MS 35000

static int64_t wall_clock(void *ctx)
{
    (void)ctx;
    return ek_wall_ms();
}

static bool is_off(const struct ek_webhook *webhook)
{
    return ek_http_address_is_off(webhook->bind_address);
}

/* ---- The snapshot ---- */

struct ek_webhook_snapshot *ek_webhook_snapshot__(struct ek_webhook *webhook)
{
    pthread_mutex_lock(&webhook->lock);
    struct ek_webhook_snapshot *snapshot = ek_webhook_snapshot_ref(webhook->snapshot);
    pthread_mutex_unlock(&webhook->lock);
    return snapshot;
}

void ek_webhook_publish(struct ek_webhook *webhook, struct ek_webhook_snapshot *snapshot)
{
    pthread_mutex_lock(&webhook->lock);
    struct ek_webhook_snapshot *old = webhook->snapshot;
    webhook->snapshot = snapshot;
    pthread_mutex_unlock(&webhook->lock);
    ek_webhook_snapshot_unref(old);
}

/* ---- Callers ---- */

void ek_webhook_set_callers(struct ek_webhook *webhook, struct ek_webhook_callers *callers)
{
    pthread_mutex_lock(&webhook->lock);
    struct ek_webhook_callers *old = webhook->callers;
    webhook->callers = callers;
    pthread_mutex_unlock(&webhook->lock);
    ek_webhook_callers_unref(old);
}

bool ek_webhook_is_proven__(struct ek_webhook *webhook, const char *remote)
{
    pthread_mutex_lock(&webhook->lock);
    struct ek_webhook_callers *callers = ek_webhook_callers_ref(webhook->callers);
    pthread_mutex_unlock(&webhook->lock);
    bool proven = !callers || ek_webhook_callers_has(callers, remote);
    ek_webhook_callers_unref(callers);
    return proven;
}

/* ---- A thread ---- */

/* Whether nothing new will come to the thread: its server is to be closed, or, for the thread for
 * large reviews, no other thread is left. */
static bool is_to_stop(const struct ek_webhook_thread *thread)
{
    struct ek_webhook *webhook = thread->webhook;
    bool serves = thread->number < webhook->n_threads;

    pthread_mutex_lock(&webhook->lock);
    bool stop = serves ? webhook->stopping : webhook->served;
    pthread_mutex_unlock(&webhook->lock);
    return stop && !thread->stopping;
}

/* Notifies the control loop; under the lock, because it may then release everything. */
static void notify_control(struct ek_webhook *webhook, unsigned *counter, int by)
{
    pthread_mutex_lock(&webhook->lock);
    *counter += (unsigned)by;
    uv_async_send(&webhook->ended);
    pthread_mutex_unlock(&webhook->lock);
}

void ek_webhook_idle__(struct ek_webhook_thread *thread)
{
    if (thread->server_closed && thread->n_waiting == 0 &&
        !uv_is_closing((uv_handle_t *)&thread->async))
        uv_close((uv_handle_t *)&thread->async, NULL);
}

static void on_server_closed(void *ctx)
{
    struct ek_webhook_thread *thread = ctx;

    thread->server = NULL;
    thread->server_closed = true;
    notify_control(thread->webhook, &thread->webhook->n_serving, -1);
    ek_webhook_idle__(thread);
}

static void on_thread_wake(uv_async_t *async)
{
    struct ek_webhook_thread *thread = async->data;
    const struct ek_webhook_config *config = &thread->webhook->config;

    for (struct ek_webhook_ask *ask = ek_webhook_inbox_take(&thread->inbox), *next; ask;
         ask = next) {
        next = ask->next;
        ek_webhook_resume__(thread, ask);
    }
    ek_webhook_open_parcels__(thread);
    if (!is_to_stop(thread))
        return;
    thread->stopping = true;
    if (thread->server) {
        ek_http_server_close(thread->server, config->grace_ms ? config->grace_ms : GRACE_MS,
                             on_server_closed, thread);
    } else {
        thread->server_closed = true;
        ek_webhook_idle__(thread);
    }
}

static void run_thread(void *arg)
{
    struct ek_webhook_thread *thread = arg;

    uv_run(&thread->loop, UV_RUN_DEFAULT);
    notify_control(thread->webhook, &thread->webhook->n_ended, 1);
}

static void add_routes(struct ek_webhook *webhook, struct ek_webhook_thread *thread)
{
    for (size_t i = 0; i < webhook->n_endpoints; i++) {
        thread->gates[i] =
            (struct ek_webhook_gate){.thread = thread, .endpoint = &webhook->endpoints[i]};
        thread->routes[i] = (struct ek_http_route){.path = webhook->endpoints[i].path,
                                                   .subtree = true,
                                                   .methods = "POST",
                                                   .max_body = EK_WEBHOOK_BODY_MAX,
                                                   .cut_body = true,
                                                   .handler = ek_webhook_serve__,
                                                   .ctx = &thread->gates[i]};
    }
}

/* Of a thread: its part, and no more than leave room for heads and bodies when all are open. */
static size_t max_connections(const struct ek_webhook_memory *memory)
{
    size_t part = CONNECTIONS_MAX / memory->threads, fit = memory->connections / CONNECTION_SIZE;

    return part < fit ? part : fit;
}

static void open_thread(struct ek_webhook *webhook, unsigned number)
{
    struct ek_webhook_thread *thread = &webhook->threads[number];

    thread->webhook = webhook;
    thread->number = number;
    uv_loop_init(&thread->loop);
    uv_async_init(&thread->loop, &thread->async, on_thread_wake);
    thread->async.data = thread;
    ek_webhook_inbox_init(&thread->inbox, &thread->async);
    ek_webhook_reviews_init(&thread->reviews);
}

static int open_server(struct ek_webhook *webhook, struct ek_webhook_thread *thread,
                       const char *address, struct ek_err *err)
{
    add_routes(webhook, thread);
    const struct ek_http_server_config config = {
        .name = "webhook",
        .bind_address = address,
        .routes = thread->routes,
        .n_routes = webhook->n_endpoints,
        .limits = {.max_body = EK_WEBHOOK_BODY_MAX, .reply_timeout_ms = REPLY_TIMEOUT_MS},
        .max_connections = max_connections(&webhook->memory),
        .meter = &webhook->meters[thread->number],
        .identity = webhook->config.identity,
        .reuse_port = true,
        .linger_ms = webhook->config.linger_ms,
        .wall_ms = wall_clock,
        .log = thread->number == 0 ? webhook->config.log : NULL,
    };
    thread->server = ek_http_server_new(&thread->loop, &config);
    return ek_http_server_start(thread->server, err);
}

/* Of a thread that has ended, or was never started. */
static void close_thread(struct ek_webhook_thread *thread)
{
    if (thread->server)
        ek_http_server_close(thread->server, 0, NULL, NULL);
    if (!uv_is_closing((uv_handle_t *)&thread->async))
        uv_close((uv_handle_t *)&thread->async, NULL);
    uv_run(&thread->loop, UV_RUN_DEFAULT);
    uv_loop_close(&thread->loop);
    ek_webhook_inbox_done(&thread->inbox);
    ek_lru_done(&thread->reviews);
    ek_arena_free(thread->arena);
}

/* ---- Start ---- */

/* Threads that serve and the one for large reviews: n of them are open. */
static void close_threads(struct ek_webhook *webhook, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close_thread(&webhook->threads[i]);
    ek_free(webhook->threads);
    webhook->threads = NULL;
    webhook->n_threads = 0;
}

/* Listens for all threads; none runs yet, so a failure undoes all of it. */
static int open_threads(struct ek_webhook *webhook, struct ek_err *err)
{
    unsigned n = webhook->config.threads;
    const char *address = webhook->bind_address;

    webhook->threads = ek_xalloc((n + 1) * sizeof *webhook->threads);
    webhook->n_threads = n;
    for (unsigned i = 0; i < n; i++) {
        struct ek_webhook_thread *thread = &webhook->threads[i];
        open_thread(webhook, i);
        int rc = open_server(webhook, thread, address, err);
        if (rc) {
            close_threads(webhook, i + 1);
            return rc;
        }
        /* With port 0 the first one's port is everybody's. */
        snprintf(webhook->address, sizeof webhook->address, "%s",
                 ek_http_server_address(thread->server));
        address = webhook->address;
    }
    open_thread(webhook, n);
    return 0;
}

static void on_thread_ended(uv_async_t *async);

static int start(void *ctx, struct ek_err *err)
{
    struct ek_webhook *webhook = ctx;

    if (is_off(webhook))
        return 0;
    int rc = open_threads(webhook, err);
    if (rc)
        return rc;
    webhook->asker = ek_webhook_asker_new(webhook->config.loop, &webhook->config.reviewer);
    uv_async_init(webhook->config.loop, &webhook->ended, on_thread_ended);
    webhook->ended.data = webhook;
    webhook->state = EK_WEBHOOK_OPEN;
    webhook->n_serving = webhook->n_threads;
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE,
                                         .stack_size = EK_STACK_SIZE};
    for (unsigned i = 0; i <= webhook->n_threads; i++) {
        struct ek_webhook_thread *thread = &webhook->threads[i];
        if (uv_thread_create_ex(&thread->id, &options, run_thread, thread))
            abort(); /* no threads at the start of the process: nothing sensible is left to do */
    }
    return 0;
}

/* ---- Stop ---- */

static void on_part_closed(struct ek_webhook *webhook)
{
    if (--webhook->n_closing > 0)
        return;
    webhook->state = EK_WEBHOOK_STOPPED;
    webhook->stopped(webhook->token);
}

static void on_asker_closed(void *ctx)
{
    on_part_closed(ctx);
}

static void on_ended_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

static void end_threads(struct ek_webhook *webhook)
{
    for (unsigned i = 0; i <= webhook->n_threads; i++)
        uv_thread_join(&webhook->threads[i].id);
    close_threads(webhook, webhook->n_threads + 1);
    webhook->address[0] = '\0';
    webhook->n_closing = 2;
    ek_webhook_asker_close(webhook->asker, on_asker_closed, webhook);
    webhook->asker = NULL;
    uv_close((uv_handle_t *)&webhook->ended, on_ended_closed);
}

static void on_thread_ended(uv_async_t *async)
{
    struct ek_webhook *webhook = async->data;

    pthread_mutex_lock(&webhook->lock);
    unsigned n_serving = webhook->n_serving, n_ended = webhook->n_ended;
    bool served = n_ended == webhook->n_threads && !webhook->served;
    webhook->served = webhook->served || served;
    pthread_mutex_unlock(&webhook->lock);
    /* Once no thread serves, none waits for the requests under way. */
    if (n_serving == 0)
        ek_webhook_asker_cancel(webhook->asker);
    if (served) /* the thread for large reviews is the last */
        uv_async_send(&webhook->threads[webhook->n_threads].async);
    if (n_ended > webhook->n_threads && !uv_is_closing((uv_handle_t *)async))
        end_threads(webhook);
}

static void stop(void *ctx, void (*stopped)(void *token), void *token)
{
    struct ek_webhook *webhook = ctx;

    if (webhook->state != EK_WEBHOOK_OPEN) {
        stopped(token);
        return;
    }
    webhook->state = EK_WEBHOOK_DRAINING;
    webhook->stopped = stopped;
    webhook->token = token;
    pthread_mutex_lock(&webhook->lock);
    webhook->stopping = true;
    pthread_mutex_unlock(&webhook->lock);
    for (unsigned i = 0; i < webhook->n_threads; i++)
        uv_async_send(&webhook->threads[i].async);
}

void ek_webhook_runnable(struct ek_webhook *webhook, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){.name = "admission webhook",
                                         .group = EK_GROUP_WEBHOOKS,
                                         .start = start,
                                         .stop = stop,
                                         .ctx = webhook};
}

/* ---- The whole ---- */

static void add_endpoint(struct ek_webhook *webhook, const char *path,
                         void (*serve)(struct ek_webhook_exchange *exchange),
                         const struct ek_webhook_handler *handler)
{
    struct ek_webhook_endpoint *endpoint = &webhook->endpoints[webhook->n_endpoints++];

    *endpoint = (struct ek_webhook_endpoint){.path = path, .serve = serve};
    if (handler)
        endpoint->handler = *handler;
    ek_webhook_path_metrics_start(&endpoint->metrics, webhook->config.standard, path);
}

static void plan_memory(struct ek_webhook *webhook)
{
    struct ek_webhook_memory *memory = &webhook->memory;
    unsigned asked = webhook->config.threads;

    ek_webhook_memory_plan(webhook->config.memory, asked, memory);
    webhook->config.threads = memory->threads;
    ek_http_budget_init(&webhook->work, memory->work);
    for (unsigned i = 0; i < memory->threads; i++)
        ek_http_budget_init(&webhook->meters[i].budget, memory->connections);
    if (memory->threads < asked)
        ek_log_info(webhook->config.log,
                    "Serving admission requests on fewer threads than requested: the memory limit "
                    "is too low",
                    EK_I("threads", memory->threads), EK_I("requested", asked));
    if (webhook->config.http && !is_off(webhook))
        ek_http_metrics_add(webhook->config.http, "webhook", webhook->meters, memory->threads,
                            &webhook->work);
}

struct ek_webhook *ek_webhook_new(const struct ek_webhook_config *config)
{
    struct ek_webhook *webhook = ek_xalloc(sizeof *webhook);
    unsigned cores = uv_available_parallelism();

    webhook->config = *config;
    webhook->bind_address = ek_xstrdup(config->bind_address);
    if (!webhook->config.threads)
        webhook->config.threads = cores < THREADS_DEFAULT ? cores : THREADS_DEFAULT;
    if (webhook->config.threads > EK_WEBHOOK_THREADS_MAX)
        webhook->config.threads = EK_WEBHOOK_THREADS_MAX;
    plan_memory(webhook);
    pthread_mutex_init(&webhook->lock, NULL);
    ek_webhook_metrics_start(&webhook->metrics, config->metrics);
    ek_webhook_metrics_certificate(&webhook->metrics, config->metrics, config->identity);
    add_endpoint(webhook, "/mutate", ek_webhook_mutate__, NULL);
    add_endpoint(webhook, "/validate", ek_webhook_validate__, NULL);
    add_endpoint(webhook, EK_REGISTRATION_DEFINITION_PATH, ek_webhook_define__, NULL);
    return webhook;
}

void ek_webhook_set_observer(struct ek_webhook *webhook, const struct ek_webhook_observer *observer)
{
    webhook->observer = *observer;
}

void ek_webhook_add_handler(struct ek_webhook *webhook, const struct ek_webhook_handler *handler)
{
    if (webhook->state != EK_WEBHOOK_NEW || webhook->n_endpoints == EK_WEBHOOK_ENDPOINTS_MAX)
        abort(); /* the caller's mistake: a path without a handler would go unnoticed */
    add_endpoint(webhook, handler->path, ek_webhook_handle__, handler);
}

const char *ek_webhook_address(const struct ek_webhook *webhook)
{
    return webhook->address;
}

int ek_webhook_check_ready(void *ctx, struct ek_err *err)
{
    struct ek_webhook *webhook = ctx;

    if (is_off(webhook))
        return 0;
    if (webhook->state != EK_WEBHOOK_OPEN)
        return ek_err_set(err, EK_E_TIMEOUT, "the webhook is not listening");
    if (webhook->config.identity &&
        ek_tls_identity_not_after(webhook->config.identity) == EK_TIME_UNSET)
        return ek_err_set(err, EK_E_TIMEOUT, "the webhook has no serving certificate yet");
    pthread_mutex_lock(&webhook->lock);
    bool known = webhook->snapshot != NULL;
    pthread_mutex_unlock(&webhook->lock);
    return known ? 0 : ek_err_set(err, EK_E_TIMEOUT, "the webhook has no policies yet");
}

void ek_webhook_status(struct ek_webhook *webhook, struct ek_webhook_status *ret_status)
{
    *ret_status = (struct ek_webhook_status){
        .address = webhook->address,
        .threads = webhook->config.threads,
        .cert_not_after_ms = webhook->config.identity
                                 ? ek_tls_identity_not_after(webhook->config.identity)
                                 : EK_TIME_UNSET,
        .snapshot = ek_webhook_snapshot__(webhook),
    };
    ek_webhook_check_ready(webhook, &ret_status->not_ready);
}

void ek_webhook_status_done(struct ek_webhook_status *status)
{
    ek_webhook_snapshot_unref(status->snapshot);
    status->snapshot = NULL;
}

void ek_webhook_free(struct ek_webhook *webhook)
{
    if (!webhook)
        return;
    ek_webhook_snapshot_unref(webhook->snapshot);
    ek_webhook_callers_unref(webhook->callers);
    pthread_mutex_destroy(&webhook->lock);
    ek_free(webhook->bind_address);
    ek_free(webhook);
}
