/* SPDX-License-Identifier: Apache-2.0 */
/* How a run gets the content: by a streaming list, or by pages. */
#include "informers/cache/reflector-internal.h"

#include <string.h>

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

static int too_many(const struct ek_reflector *r, struct ek_err *err)
{
    if (ek_gather_size(&r->fresh) <= r->config.max_objects)
        return 0;
    return ek_err_set(err, EK_E_LIMIT,
                      "more than %zu objects: narrow the selection or raise "
                      "the limit",
                      r->config.max_objects);
}

/* ---- pages ---- */

static void request_page(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;
    bool first = !*r->next;

    /* Rule 3: a later page is requested by its token alone. */
    ek_reflector_emit__(s, EK_ACTION_START_LIST)->list = (struct ek_list_query){
        .resource_version = first ? r->list_rv : "",
        .resource_version_match = "",
        .next = r->next,
        .limit = r->limit,
        .timeout_ms = r->config.list_timeout_ms,
    };
    r->lists++;
}

/* Starts a list at list_rv from its first page. */
static void restart_list(struct ek_reflector_step__ *s, const char *rv, bool full)
{
    struct ek_reflector *r = s->r;
    bool cached = *rv && strcmp(rv, "0") != 0;

    ek_reflector_drop_fresh__(r);
    if (rv != r->list_rv)
        ek_reflector_set_str__(&r->list_rv, rv);
    ek_reflector_set_str__(&r->next, "");
    r->pages = 0;
    r->full = full;
    /* Rule 2: a limit would make the server bypass its watch cache. */
    r->limit = full || (cached && !r->paginated_result) ? 0 : r->config.page_size;
    request_page(s);
}

static void start_list(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;
    const char *rv = r->rv_unavailable ? "" : *r->last_rv ? r->last_rv : "0"; /* rule 1 */

    r->paged = false;
    r->retried = false;
    restart_list(s, rv, false);
    ek_reflector_set_timer__(s, -1);
    ek_reflector_transition__(s, EK_REFLECTOR_LISTING);
}

static void finish_list(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    if (r->paged && !strcmp(r->list_rv, "0"))
        r->paginated_result = true;
    r->rv_unavailable = false;
    r->served = true;
    ek_reflector_replace__(s, r->first_page_rv);
    ek_reflector_start_watch__(s);
}

static void take_page(struct ek_reflector_step__ *s, const struct ek_list_page *page)
{
    struct ek_reflector *r = s->r;
    struct ek_err err;

    for (size_t i = 0; i < page->n; i++)
        ek_gather_put(&r->fresh, page->items[i]);
    if (r->pages++ == 0)
        ek_reflector_set_str__(&r->first_page_rv, page->resource_version);
    if (too_many(r, &err)) {
        ek_reflector_end_run__(s, &err);
    } else if (!*page->next) {
        finish_list(s);
    } else if (r->pages == EK_REFLECTOR_PAGES_MAX) {
        ek_err_set(&err, EK_E_LIMIT, "the list does not end within %d pages",
                   EK_REFLECTOR_PAGES_MAX);
        ek_reflector_end_run__(s, &err);
    } else {
        r->paged = true;
        ek_reflector_set_str__(&r->next, page->next);
        request_page(s);
    }
}

void ek_reflector_not_served__(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;
    bool news = !r->synced || r->served;
    int64_t retry_ms = r->config.not_served_retry_ms;
    int64_t wait_ms = r->absent_ms && r->absent_ms < retry_ms ? r->absent_ms : retry_ms;

    ek_reflector_drop_fresh__(r);
    r->rv_unavailable = false;
    r->served = false;
    if (news)
        ek_reflector_replace__(s, "");
    ek_reflector_succeeded__(s);
    r->absent_ms = wait_ms < retry_ms ? 2 * wait_ms : 0;
    ek_reflector_set_timer__(s, wait_ms);
    ek_reflector_transition__(s, EK_REFLECTOR_NOT_SERVED);
}

static void list_failed(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    struct ek_reflector *r = s->r;

    if (ek_reflector_is_expired__(err) && r->pages > 0 && !r->full) {
        restart_list(s, r->list_rv, true); /* rule 3 */
    } else if (ek_reflector_is_rv_unavailable__(err) && !r->retried) {
        r->retried = true; /* rule 1 */
        r->rv_unavailable = true;
        r->paged = false;
        restart_list(s, "", false);
    } else if (err->code == EK_E_NOENT && r->config.optional) {
        ek_reflector_not_served__(s);
    } else {
        ek_reflector_end_run__(s, err);
    }
}

void ek_reflector_on_listing__(struct ek_reflector_step__ *s)
{
    if (s->event->kind == EK_EVENT_LIST_PAGE)
        take_page(s, s->event->page);
    else if (s->event->kind == EK_EVENT_LIST_FAILED)
        list_failed(s, s->event->err);
    else
        ek_reflector_illegal__(s);
}

/* ---- streaming list ---- */

void ek_reflector_start_run__(struct ek_reflector_step__ *s)
{
    if (s->r->config.streaming && !s->r->stream_refused)
        ek_reflector_start_stream__(s);
    else
        start_list(s);
}

void ek_reflector_start_stream__(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    ek_reflector_drop_fresh__(r);
    r->progress_ms = s->now_ms;
    ek_reflector_request_watch__(s, r->rv_unavailable ? "" : r->last_rv, true);
    ek_reflector_set_timer__(s, r->config.initial_idle_ms);
    ek_reflector_transition__(s, EK_REFLECTOR_STREAMING);
}

/* Rule 11: what becomes of an error in place of the initial objects. */
static void stream_failed(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    struct ek_reflector *r = s->r;

    ek_reflector_drop_fresh__(r);
    if (ek_reflector_is_busy__(err)) {
        ek_reflector_failed__(s, err);
        ek_reflector_back_off__(s, EK_REFLECTOR_STREAM_BACKOFF);
    } else if (ek_reflector_is_rv_unavailable__(err) && !r->rv_unavailable) {
        r->rv_unavailable = true;
        ek_reflector_start_stream__(s);
    } else {
        /* 404 is for the list to judge: where it is an answer, it is not worth a report. */
        if (err->code != EK_E_NOENT || !r->config.optional)
            ek_reflector_failed__(s, err);
        start_list(s);
    }
}

/* Rule 12: the stream ended, or its deadline passed, without the end bookmark. */
static void stream_unfinished(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    struct ek_reflector *r = s->r;

    ek_reflector_failed__(s, err);
    if (++r->stream_attempts < EK_REFLECTOR_STREAM_ATTEMPTS) {
        ek_reflector_start_stream__(s);
        return;
    }
    r->stream_refused = true;
    start_list(s);
}

static void finish_stream(struct ek_reflector_step__ *s, const char *rv)
{
    struct ek_reflector *r = s->r;

    r->rv_unavailable = false;
    r->stream_attempts = 0;
    r->served = true;
    ek_reflector_replace__(s, rv);
    ek_reflector_continue_stream__(s);
}

static void collect(struct ek_reflector_step__ *s, const struct ek_watch_frame *frame)
{
    struct ek_err err;

    if (frame->type == EK_WATCH_DELETED)
        ek_gather_remove(&s->r->fresh, frame->obj);
    else
        ek_gather_put(&s->r->fresh, frame->obj);
    if (frame->type == EK_WATCH_ADDED)
        s->r->progress_ms = s->now_ms;
    if (too_many(s->r, &err)) {
        ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
        ek_reflector_end_run__(s, &err);
    }
}

static void stream_frame(struct ek_reflector_step__ *s, const struct ek_watch_frame *frame)
{
    s->r->events++;
    s->r->stream_events++;
    switch (frame->type) {
    case EK_WATCH_ADDED:
    case EK_WATCH_MODIFIED:
    case EK_WATCH_DELETED:
        collect(s, frame);
        return;
    case EK_WATCH_BOOKMARK: {
        const char *end = ek_obj_annotation(frame->obj, INITIAL_EVENTS_END);
        if (end && !strcmp(end, "true"))
            finish_stream(s, ek_obj_resource_version(frame->obj));
        return;
    }
    case EK_WATCH_ERROR:
        ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
        stream_failed(s, &frame->status);
        return;
    default:
        return;
    }
}

static void stream_timer(struct ek_reflector_step__ *s)
{
    const struct ek_reflector *r = s->r;
    int64_t idle = r->progress_ms + r->config.initial_idle_ms;
    int64_t total = r->started_ms + r->config.initial_total_ms;
    int64_t deadline = idle < total ? idle : total;
    struct ek_err err;

    if (s->now_ms < deadline) {
        ek_reflector_set_timer__(s, deadline - s->now_ms);
        return;
    }
    ek_err_set(&err, EK_E_TIMEOUT,
               "streaming list: no end bookmark after %lld s (%zu objects received)",
               (long long)(s->now_ms - r->started_ms) / 1000, ek_gather_size(&r->fresh));
    ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
    stream_unfinished(s, &err);
}

static void stream_eof(struct ek_reflector_step__ *s)
{
    struct ek_err err;

    if (ek_reflector_was_short__(s, &err)) {
        stream_failed(s, &err);
        return;
    }
    ek_err_set(&err, EK_E_NET,
               "streaming list: the server ended the stream before the end "
               "bookmark");
    stream_unfinished(s, &err);
}

void ek_reflector_on_streaming__(struct ek_reflector_step__ *s)
{
    switch (s->event->kind) {
    case EK_EVENT_WATCH_OPEN:
        return;
    case EK_EVENT_WATCH_FRAME:
        stream_frame(s, s->event->frame);
        return;
    case EK_EVENT_WATCH_EOF:
        stream_eof(s);
        return;
    case EK_EVENT_WATCH_FAILED:
        stream_failed(s, s->event->err);
        return;
    case EK_EVENT_TIMER:
        stream_timer(s);
        return;
    default:
        ek_reflector_illegal__(s);
    }
}
