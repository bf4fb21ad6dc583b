/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: a filter and a place in a resource's log. Nothing is queued: what a client has not read
 * stays in the log, or is gone when it comes for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/server-internal.h"

#define BOOKMARK_EVERY_MS      INT64_C(60000)
#define BOOKMARK_BEFORE_END_MS 2000
#define TIMEOUT_DEFAULT_MS     INT64_C(1800000)

struct ek_apiserver_watch {
    struct ek_apiserver *server;
    struct ek_filter filter;
    struct ek_render render;
    /* The initial events: the state at initial_rv, from the key after initial_key on. */
    bool in_initial, end_bookmark;
    uint64_t initial_rv;
    char initial_key[EK_KEY_SIZE];
    struct ek_watch_distortion distortion;
    /* Live events: those behind the log's position, and above from_rv. */
    uint64_t position, from_rv;
    uint64_t seen_rv; /* what the client knows: of the last event or bookmark sent */
    bool bookmarks;
    bool too_old; /* the stream is one ERROR frame */
    int64_t bookmark_ms, end_ms;
};

void ek_apiserver_watch_put_gone(struct ek_buf *out, uint64_t rv, uint64_t compacted)
{
    ek_buf_printf(out,
                  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                  "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: "
                  "%llu (%llu)\",\"reason\":\"Expired\",\"code\":410}}\n",
                  (unsigned long long)rv, (unsigned long long)compacted);
}

static void begin(struct ek_apiserver_watch *watch, uint64_t rv, bool set, bool initial)
{
    struct ek_mvcc *store = watch->server->store;
    int storage = watch->render.kind->storage;
    uint64_t current = ek_mvcc_rv(store);

    watch->in_initial = initial || !set || rv == 0;
    watch->end_bookmark = initial && watch->bookmarks;
    watch->initial_rv = current;
    watch->from_rv = watch->in_initial ? current : rv;
    watch->seen_rv = watch->in_initial ? 0 : rv;
    watch->too_old = !watch->in_initial && rv < ek_mvcc_compacted(store, storage);
    watch->position = ek_mvcc_log_after(store, storage, watch->from_rv);
}

void ek_ask_watch(struct ek_ask *call)
{
    struct ek_filter filter = {0};
    struct ek_render render;
    uint64_t rv;
    bool set, initial = ek_ask_flag(call, "sendInitialEvents");
    int64_t timeout = strtoll(ek_ask_param(call, "timeoutSeconds"), NULL, 10) * 1000;

    if (!ek_render_negotiate(call, &render) || !ek_ask_options(call, true) ||
        !ek_ask_rv(call, &rv, &set) || !ek_filter_read(call, &filter)) {
        ek_filter_done(&filter);
        return;
    }
    if (initial && rv > ek_mvcc_rv(call->server->store)) {
        ek_filter_done(&filter);
        ek_reply_future_rv(call, rv);
        return;
    }
    struct ek_apiserver_watch *watch = ek_xalloc(sizeof(*watch));
    watch->server = call->server;
    watch->filter = filter;
    watch->render = render;
    watch->bookmarks = ek_ask_flag(call, "allowWatchBookmarks");
    watch->end_ms = call->now_ms + (timeout > 0 ? timeout : TIMEOUT_DEFAULT_MS);
    watch->bookmark_ms = call->now_ms + BOOKMARK_EVERY_MS;
    if (watch->bookmark_ms > watch->end_ms - BOOKMARK_BEFORE_END_MS)
        watch->bookmark_ms = watch->end_ms - BOOKMARK_BEFORE_END_MS;
    begin(watch, rv, set, initial);
    ek_reply_type(call, 200, "application/json");
    call->response->watch = watch;
}

void ek_apiserver_watch_free(struct ek_apiserver_watch *watch)
{
    if (!watch)
        return;
    ek_filter_done(&watch->filter);
    ek_free(watch);
}

void ek_apiserver_watch_distort(struct ek_apiserver_watch *watch,
                                const struct ek_watch_distortion *how)
{
    watch->distortion = *how;
}

int64_t ek_apiserver_watch_deadline(const struct ek_apiserver_watch *watch)
{
    return watch->bookmarks && watch->bookmark_ms < watch->end_ms ? watch->bookmark_ms
                                                                  : watch->end_ms;
}

static void put_frame(struct ek_apiserver_watch *watch, const char *type,
                      const struct ek_mvcc_value *value, uint64_t rv, struct ek_buf *out)
{
    ek_buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
    ek_render_object(&watch->render, value, rv, out);
    ek_buf_puts(out, "}\n");
}

static void put_bookmark(struct ek_apiserver_watch *watch, uint64_t rv, bool initial_end,
                         struct ek_buf *out)
{
    ek_buf_puts(out, "{\"type\":\"BOOKMARK\",\"object\":");
    ek_render_bookmark(&watch->render, rv, initial_end, out);
    ek_buf_puts(out, "}\n");
    watch->seen_rv = rv;
}

static void end_initial(struct ek_apiserver_watch *watch, struct ek_buf *out)
{
    watch->in_initial = false;
    if (watch->end_bookmark && !watch->distortion.no_end_bookmark)
        put_bookmark(watch, watch->initial_rv, true, out);
}

/* The initial events in wrong order and twice, all in one go: a fault for small resources. */
static void pull_distorted(struct ek_apiserver_watch *watch, struct ek_buf *out)
{
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *value, **values = NULL;
    const char *key;
    size_t n = 0;

    ek_mvcc_seek(watch->server->store, watch->render.kind->storage, watch->filter.prefix,
                 watch->initial_rv, &iter);
    while ((value = ek_mvcc_next(&iter, &key)) != NULL) {
        if (!ek_filter_matches(&watch->filter, key, value))
            continue;
        values = ek_xrealloc(values, n + 1, sizeof(void *));
        values[n++] = value;
    }
    for (size_t i = 0; i < n; i++) {
        value = values[watch->distortion.reverse ? n - 1 - i : i];
        put_frame(watch, "ADDED", value, 0, out);
        if (watch->distortion.duplicate)
            put_frame(watch, "ADDED", value, 0, out);
    }
    ek_free(values);
    end_initial(watch, out);
}

/* The state at initial_rv, as far as out may grow. Returns false when out is full. */
static bool pull_initial(struct ek_apiserver_watch *watch, size_t max, struct ek_buf *out)
{
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *value;
    const char *key;
    size_t prefix_len = strlen(watch->filter.prefix);

    ek_mvcc_seek(watch->server->store, watch->render.kind->storage,
                 *watch->initial_key ? watch->initial_key : watch->filter.prefix, watch->initial_rv,
                 &iter);
    while ((value = ek_mvcc_next(&iter, &key)) != NULL &&
           strncmp(key, watch->filter.prefix, prefix_len) == 0) {
        if (strcmp(key, watch->initial_key) == 0 || !ek_filter_matches(&watch->filter, key, value))
            continue;
        put_frame(watch, "ADDED", value, 0, out);
        if (out->len >= max) {
            snprintf(watch->initial_key, sizeof(watch->initial_key), "%s", key);
            return false;
        }
    }
    end_initial(watch, out);
    return true;
}

/* One change, as this watch's filter sees it: what starts or stops to match comes or goes. */
static void put_event(struct ek_apiserver_watch *watch, const struct ek_mvcc_event *event,
                      struct ek_buf *out)
{
    bool is = event->type != EK_MVCC_DELETED &&
              ek_filter_matches(&watch->filter, event->key, event->value);
    bool was = event->prev && ek_filter_matches(&watch->filter, event->key, event->prev);

    if (event->rv <= watch->from_rv || (!is && !was))
        return;
    if (is)
        put_frame(watch, was ? "MODIFIED" : "ADDED", event->value, 0, out);
    else if (event->type == EK_MVCC_DELETED)
        put_frame(watch, "DELETED", event->value, 0, out);
    else
        put_frame(watch, "DELETED", event->prev, event->rv, out);
    watch->seen_rv = event->rv;
}

static bool has_lost_history(const struct ek_apiserver_watch *watch)
{
    struct ek_mvcc *store = watch->server->store;
    int storage = watch->render.kind->storage;

    return watch->position < ek_mvcc_log_first(store, storage) ||
           (watch->in_initial && watch->initial_rv < ek_mvcc_compacted(store, storage));
}

/* A bookmark that is due; skipped while the client has nothing to gain from it. */
static void pull_bookmark(struct ek_apiserver_watch *watch, int64_t now_ms, struct ek_buf *out)
{
    uint64_t rv = ek_mvcc_rv(watch->server->store);

    if (!watch->bookmarks || now_ms < watch->bookmark_ms)
        return;
    int64_t last = watch->end_ms - BOOKMARK_BEFORE_END_MS;
    watch->bookmark_ms += BOOKMARK_EVERY_MS;
    if (watch->bookmark_ms <= now_ms)
        watch->bookmark_ms = now_ms + BOOKMARK_EVERY_MS;
    if (watch->bookmark_ms > last)
        watch->bookmark_ms = now_ms < last ? last : INT64_MAX;
    if (rv > watch->seen_rv && rv >= watch->from_rv)
        put_bookmark(watch, rv, false, out);
}

enum ek_watch_state ek_apiserver_watch_pull(struct ek_apiserver_watch *watch, int64_t now_ms,
                                            size_t max, struct ek_buf *out)
{
    struct ek_mvcc *store = watch->server->store;
    int storage = watch->render.kind->storage;
    bool distorted = watch->distortion.duplicate || watch->distortion.reverse;

    if (watch->too_old) {
        ek_apiserver_watch_put_gone(out, watch->from_rv, ek_mvcc_compacted(store, storage));
        return EK_WATCH_STATE_OVER;
    }
    watch->render.now_ms = now_ms;
    /* Too slow: the stream just ends, and the next one learns that its revision is gone. */
    if (has_lost_history(watch))
        return EK_WATCH_STATE_OVER;
    if (watch->in_initial && distorted)
        pull_distorted(watch, out);
    else if (watch->in_initial && !pull_initial(watch, max, out))
        return EK_WATCH_STATE_MORE;
    while (watch->position < ek_mvcc_log_end(store, storage)) {
        if (out->len >= max)
            return EK_WATCH_STATE_MORE;
        put_event(watch, ek_mvcc_log_at(store, storage, watch->position++), out);
    }
    pull_bookmark(watch, now_ms, out);
    return now_ms >= watch->end_ms || watch->render.kind->gone ? EK_WATCH_STATE_OVER
                                                               : EK_WATCH_STATE_IDLE;
}
