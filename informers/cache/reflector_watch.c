/* SPDX-License-Identifier: Apache-2.0 */
/* How a run stays up to date: watches, one after the other. */
#include "informers/cache/reflector-internal.h"

#include <string.h>

#define SHORT_WATCH_MS        1000  /* rule 8 */
#define INTERNAL_FORGOTTEN_MS 60000 /* as client-go: a later InternalError begins a new row */

void ek_reflector_request_watch__(struct ek_reflector_step__ *s, const char *rv, bool initial)
{
    struct ek_reflector *r = s->r;
    int64_t min = r->config.watch_timeout_min_s;
    int64_t timeout_s = min + (int64_t)(ek_rand_unit(&r->random) * (double)min);

    ek_reflector_emit__(s, EK_ACTION_START_WATCH)->watch = (struct ek_watch_query){
        .resource_version = rv,
        .send_initial_events = initial,
        .timeout_s = timeout_s,
    };
    r->started_ms = s->now_ms; /* rule 5: proxies may hold the headers back */
    r->deadline_ms = s->now_ms + 1000 * timeout_s + r->config.watch_grace_ms;
    r->stream_events = 0;
    r->watches++;
}

void ek_reflector_start_watch__(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    r->rv_ordered = *r->last_rv && strcmp(r->last_rv, "0") != 0; /* rule 6 */
    ek_reflector_request_watch__(s, r->last_rv, false);
    ek_reflector_set_timer__(s, r->deadline_ms - s->now_ms);
    ek_reflector_transition__(s, EK_REFLECTOR_OPENING);
}

void ek_reflector_continue_stream__(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    r->rv_ordered = true;
    r->started_ms = s->now_ms;
    r->stream_events = 0;
    ek_reflector_set_timer__(s, r->deadline_ms - s->now_ms);
    ek_reflector_transition__(s, EK_REFLECTOR_WATCHING);
}

bool ek_reflector_was_short__(const struct ek_reflector_step__ *s, struct ek_err *err)
{
    int64_t lasted_ms = s->now_ms - s->r->started_ms;

    if (s->r->stream_events > 0 || lasted_ms >= SHORT_WATCH_MS)
        return false;
    ek_err_set(err, EK_E_NET, "the server ended a watch after %lld ms without an event",
               (long long)lasted_ms);
    return true;
}

/* True for a stream that broke, as opposed to one that said something wrong. */
static bool is_broken(const struct ek_err *err)
{
    return err->code == EK_E_NET || err->code == EK_E_IO || err->code == EK_E_REFUSED ||
           err->code == EK_E_TIMEOUT;
}

/* The stream is over without a word from the server: watch on from where it was. */
static void watch_ended(struct ek_reflector_step__ *s)
{
    struct ek_err err;

    if (ek_reflector_was_short__(s, &err))
        ek_reflector_end_run__(s, &err);
    else
        ek_reflector_start_watch__(s);
}

static void watch_broke(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    if (!is_broken(err)) {
        ek_reflector_end_run__(s, err);
        return;
    }
    ek_reflector_failed__(s, err);
    watch_ended(s);
}

/* True while InternalErrors in a row are young enough to just watch again (rule 7). */
static bool may_retry_internal(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    if (r->internal_first_ms == EK_REFLECTOR_NEVER ||
        s->now_ms - r->internal_last_ms >= INTERNAL_FORGOTTEN_MS)
        r->internal_first_ms = s->now_ms;
    r->internal_last_ms = s->now_ms;
    if (r->config.internal_retry_ms > 0 &&
        s->now_ms - r->internal_first_ms <= r->config.internal_retry_ms)
        return true;
    r->internal_first_ms = EK_REFLECTOR_NEVER;
    return false;
}

static bool is_internal(const struct ek_err *err)
{
    return err->code == EK_E_SERVER && err->http_status == 500;
}

/* Rule 7: the stream carried a Status. Expired ends the run like any other; the next one lists at
 * last_rv, not at "", because a list is "not older than". */
static void watch_error(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
    if (err->code == EK_E_THROTTLED || (is_internal(err) && may_retry_internal(s))) {
        ek_reflector_failed__(s, err);
        ek_reflector_back_off__(s, EK_REFLECTOR_WATCH_BACKOFF);
    } else {
        ek_reflector_end_run__(s, err);
    }
}

/* Rule 6. */
static void take_rv(struct ek_reflector_step__ *s, const struct ek_watch_frame *frame)
{
    struct ek_reflector *r = s->r;
    const char *rv = ek_obj_resource_version(frame->obj);

    if (frame->type != EK_WATCH_ADDED)
        r->rv_ordered = true;
    if (!r->rv_ordered || !*rv)
        return;
    ek_reflector_set_str__(&r->last_rv, rv);
    ek_reflector_emit__(s, EK_ACTION_SET_RV)->rv = r->last_rv;
}

static void watch_frame(struct ek_reflector_step__ *s, const struct ek_watch_frame *frame)
{
    s->r->events++;
    s->r->stream_events++;
    switch (frame->type) {
    case EK_WATCH_ADDED:
    case EK_WATCH_MODIFIED:
        ek_reflector_emit__(s, EK_ACTION_PUT)->obj = frame->obj;
        break;
    case EK_WATCH_DELETED:
        ek_reflector_emit__(s, EK_ACTION_REMOVE)->obj = frame->obj;
        break;
    case EK_WATCH_BOOKMARK:
        break;
    case EK_WATCH_ERROR:
        watch_error(s, &frame->status);
        return;
    default:
        return;
    }
    take_rv(s, frame);
}

static void watch_overdue(struct ek_reflector_step__ *s)
{
    struct ek_err err;

    ek_err_set(&err, EK_E_TIMEOUT,
               "the server did not end a watch in time: the connection is dead");
    ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
    ek_reflector_failed__(s, &err);
    ek_reflector_start_watch__(s);
}

static void opened(struct ek_reflector_step__ *s)
{
    ek_reflector_succeeded__(s);
    ek_reflector_transition__(s, EK_REFLECTOR_WATCHING);
}

static void open_failed(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    if (ek_reflector_is_busy__(err)) { /* rule 8 */
        ek_reflector_failed__(s, err);
        ek_reflector_back_off__(s, EK_REFLECTOR_WATCH_BACKOFF);
    } else if (err->code == EK_E_NOENT && s->r->config.optional) {
        ek_reflector_not_served__(s);
    } else {
        ek_reflector_end_run__(s, err);
    }
}

void ek_reflector_on_opening__(struct ek_reflector_step__ *s)
{
    switch (s->event->kind) {
    case EK_EVENT_WATCH_OPEN:
        opened(s);
        return;
    case EK_EVENT_WATCH_FRAME:
        opened(s);
        watch_frame(s, s->event->frame);
        return;
    case EK_EVENT_WATCH_EOF:
        opened(s);
        watch_ended(s);
        return;
    case EK_EVENT_WATCH_FAILED:
        open_failed(s, s->event->err);
        return;
    case EK_EVENT_TIMER:
        watch_overdue(s);
        return;
    default:
        ek_reflector_illegal__(s);
    }
}

void ek_reflector_on_watching__(struct ek_reflector_step__ *s)
{
    switch (s->event->kind) {
    case EK_EVENT_WATCH_OPEN:
        return;
    case EK_EVENT_WATCH_FRAME:
        watch_frame(s, s->event->frame);
        return;
    case EK_EVENT_WATCH_EOF:
        watch_ended(s);
        return;
    case EK_EVENT_WATCH_FAILED:
        watch_broke(s, s->event->err);
        return;
    case EK_EVENT_TIMER:
        watch_overdue(s);
        return;
    default:
        ek_reflector_illegal__(s);
    }
}
