/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/metrics_gather.h"

#include "api/base/mem.h"

/* Until a scrape does without. */
#define PATIENCE_MS 1000

/* A scrape that waits. */
struct scrape {
    struct scrape *next;
    const struct ek_http_request *request;
    struct ek_http_reply *reply;
};

struct ek_metrics_gather {
    uv_async_t wanted; /* on the control loop */
    uv_async_t done;   /* on the serving loop */
    uv_timer_t timer;  /* likewise */
    void (*collect)(void *ctx);
    void *ctx;
    struct ek_http_route inner;
    struct scrape *scrapes;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

/* On the control loop. */
static void on_wanted(uv_async_t *async)
{
    struct ek_metrics_gather *gather = async->data;

    gather->collect(gather->ctx);
    uv_async_send(&gather->done);
}

static void answer(struct ek_metrics_gather *gather)
{
    struct scrape *scrapes = gather->scrapes;

    gather->scrapes = NULL;
    for (struct scrape *next; scrapes; scrapes = next) {
        next = scrapes->next;
        gather->inner.handler(gather->inner.ctx, scrapes->request, scrapes->reply);
        ek_free(scrapes);
    }
}

static void on_done(uv_async_t *async)
{
    struct ek_metrics_gather *gather = async->data;

    uv_timer_stop(&gather->timer);
    answer(gather);
}

static void on_timer(uv_timer_t *timer)
{
    answer(timer->data);
}

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct ek_metrics_gather *gather = ctx;
    struct scrape *scrape = ek_xalloc(sizeof *scrape);

    *scrape = (struct scrape){gather->scrapes, request, reply};
    if (!gather->scrapes) {
        uv_async_send(&gather->wanted);
        uv_timer_start(&gather->timer, on_timer, PATIENCE_MS, 0);
    }
    gather->scrapes = scrape;
}

struct ek_metrics_gather *ek_metrics_gather_open(uv_loop_t *control, uv_loop_t *serving,
                                                 void (*collect)(void *ctx), void *ctx,
                                                 const struct ek_http_route *inner)
{
    struct ek_metrics_gather *gather = ek_xalloc(sizeof *gather);

    gather->collect = collect;
    gather->ctx = ctx;
    gather->inner = *inner;
    uv_async_init(control, &gather->wanted, on_wanted);
    uv_async_init(serving, &gather->done, on_done);
    uv_timer_init(serving, &gather->timer);
    uv_unref((uv_handle_t *)&gather->done); /* the control loop may send it to the very end */
    gather->wanted.data = gather->done.data = gather->timer.data = gather;
    return gather;
}

struct ek_http_route ek_metrics_gather_route(struct ek_metrics_gather *gather)
{
    struct ek_http_route route = gather->inner;

    route.handler = handle;
    route.ctx = gather;
    return route;
}

void ek_metrics_gather_end(struct ek_metrics_gather *gather)
{
    answer(gather);
    uv_close((uv_handle_t *)&gather->timer, NULL);
}

static void on_wanted_closed(uv_handle_t *handle)
{
    struct ek_metrics_gather *gather = handle->data;
    void (*on_closed)(void *ctx) = gather->on_closed;
    void *ctx = gather->on_closed_ctx;

    ek_free(gather);
    if (on_closed)
        on_closed(ctx);
}

void ek_metrics_gather_close(struct ek_metrics_gather *gather, void (*on_closed)(void *ctx),
                             void *ctx)
{
    gather->on_closed = on_closed;
    gather->on_closed_ctx = ctx;
    uv_close((uv_handle_t *)&gather->done, NULL);
    uv_close((uv_handle_t *)&gather->wanted, on_wanted_closed);
}
