/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/events/events.h"

#include <string.h>

#include "api/base/mem.h"
#include "controller/events/queue.h"
#include "controller/events/recent.h"
#include "informers/clock.h"

#define REQUEST_TIMEOUT_MS 10000
#define ANSWER_MAX         ((size_t)1 << 20)

struct ek_recorder {
    struct ek_client *client;
    bool (*may_record)(void *ctx);
    void (*sent)(void *ctx);
    void (*lost)(void *ctx, enum ek_event_loss why, const struct ek_err *err);
    void *ctx;
    struct ek_event_correlator *correlator;
    struct ek_event_queue *queue;
    struct ek_recent_events *recent;
    uv_timer_t timer;
    struct ek_call *call;
    void (*on_drained)(void *ctx);
    void *drained_ctx;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

const char *ek_event_loss_name(enum ek_event_loss why)
{
    static const char *const names[EK_EVENT_LOSS_MAX] = {"budget", "queue", "server"};
    return (unsigned)why < EK_EVENT_LOSS_MAX ? names[why] : "?";
}

struct ek_recorder *ek_recorder_new(uv_loop_t *loop, const struct ek_recorder_config *config)
{
    struct ek_recorder *r = ek_xalloc(sizeof *r);

    r->client = config->client;
    r->may_record = config->may_record;
    r->sent = config->sent;
    r->lost = config->lost;
    r->ctx = config->ctx;
    r->correlator = ek_event_correlator_new(config->instance);
    r->queue = ek_event_queue_new();
    r->recent = ek_recent_events_new();
    uv_timer_init(loop, &r->timer);
    r->timer.data = r;
    return r;
}

static void on_turn(uv_timer_t *timer);

static void wake_at(struct ek_recorder *r, int64_t at_ms)
{
    int64_t delay = at_ms - ek_boot_ms();
    uv_update_time(r->timer.loop);
    uv_timer_start(&r->timer, on_turn, delay > 0 ? (uint64_t)delay : 0, 0);
}

static bool allowed(const struct ek_recorder *r)
{
    return !r->may_record || r->may_record(r->ctx);
}

static void report_lost(const struct ek_recorder *r, enum ek_event_loss why,
                        const struct ek_err *err)
{
    if (r->lost)
        r->lost(r->ctx, why, err);
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_recorder *r = ctx;
    int64_t now = ek_boot_ms();

    (void)resp;
    r->call = NULL;
    bool lost =
        ek_event_queue_result(r->queue, err ? err->code : 0, err ? err->retry_after_ms : 0, now);
    if (lost)
        report_lost(r, EK_EVENT_LOST_SERVER, err);
    else if (!err && r->sent)
        r->sent(r->ctx);
    wake_at(r, now);
}

static void send_write(struct ek_recorder *r, const struct ek_event_write *w)
{
    bool create = w->verdict == EK_EVENT_CREATE;
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 4096);
    ek_buf_puts(&path, "/apis/events.k8s.io/v1/namespaces/");
    ek_uri_escape(&path, w->namespace);
    ek_buf_puts(&path, "/events");
    if (!create) {
        ek_buf_puts(&path, "/");
        ek_uri_escape(&path, w->name);
    }
    const char *body = create ? w->create : w->update;
    r->call =
        ek_client_send(r->client,
                       &(struct ek_request){.method = create ? "POST" : "PATCH",
                                            .path = ek_buf_str(&path),
                                            .content_type = create ? "application/json"
                                                                   : "application/merge-patch+json",
                                            .body = body,
                                            .body_size = strlen(body),
                                            .timeout_ms = REQUEST_TIMEOUT_MS,
                                            .max_body = ANSWER_MAX,
                                            .no_retry = true},
                       on_answer, r);
}

/* A deposed leader keeps nothing to say later: by then it would be stale. */
static void forget_all(struct ek_recorder *r)
{
    ek_event_queue_free(r->queue);
    r->queue = ek_event_queue_new();
}

static void on_turn(uv_timer_t *timer)
{
    struct ek_recorder *r = timer->data;
    int64_t wake = -1;

    if (r->call)
        return;
    if (ek_event_queue_size(r->queue) && !allowed(r))
        forget_all(r);
    const struct ek_event_write *w = ek_event_queue_next(r->queue, ek_boot_ms(), &wake);
    if (w) {
        send_write(r, w);
    } else if (wake >= 0) {
        wake_at(r, wake);
    } else if (r->on_drained) {
        void (*on_drained)(void *ctx) = r->on_drained;
        r->on_drained = NULL;
        on_drained(r->drained_ctx);
    }
}

void ek_recorder_record(struct ek_recorder *recorder, const struct ek_event *event)
{
    struct ek_event_write write;
    int64_t now = ek_boot_ms();

    if (!allowed(recorder))
        return;
    ek_event_correlate(recorder->correlator, event, now, ek_wall_ms(), &write);
    if (write.verdict == EK_EVENT_DROP) {
        report_lost(recorder, EK_EVENT_LOST_BUDGET, NULL);
        return;
    }
    if (!ek_event_queue_offer(recorder->queue, &write)) {
        report_lost(recorder, EK_EVENT_LOST_QUEUE, NULL);
        return;
    }
    ek_recent_events_add(recorder->recent, event, ek_wall_ms());
    if (!recorder->call && !uv_is_active((uv_handle_t *)&recorder->timer))
        wake_at(recorder, now);
}

const struct ek_recent_events *ek_recorder_recent(const struct ek_recorder *recorder)
{
    return recorder->recent;
}

void ek_recorder_drain(struct ek_recorder *recorder, void (*on_drained)(void *ctx), void *ctx)
{
    recorder->on_drained = on_drained;
    recorder->drained_ctx = ctx;
    ek_event_queue_drain(recorder->queue);
    wake_at(recorder, ek_boot_ms());
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_recorder *r = handle->data;
    void (*on_closed)(void *ctx) = r->on_closed;
    void *ctx = r->closed_ctx;

    ek_recent_events_free(r->recent);
    ek_event_queue_free(r->queue);
    ek_event_correlator_free(r->correlator);
    ek_free(r);
    if (on_closed)
        on_closed(ctx);
}

void ek_recorder_close(struct ek_recorder *recorder, void (*on_closed)(void *ctx), void *ctx)
{
    if (!recorder)
        return;
    ek_call_cancel(recorder->call);
    recorder->call = NULL;
    recorder->on_closed = on_closed;
    recorder->closed_ctx = ctx;
    uv_close((uv_handle_t *)&recorder->timer, on_timer_closed);
}
